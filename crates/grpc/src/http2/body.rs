//! The bodies of unary calls and of streamed responses, as tonic reads and writes them.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use h2::{RecvStream, SendStream};
use tonic::{
    Status,
    body::Body,
    codegen::{Body as HttpBody, http::HeaderMap},
};

use super::{status, too_long, too_much, without_unreadable_details};
use crate::{admission::Held, window::SEND_BUFFER};

/// The body of a request or response that the peer sends.
pub struct ReceivedBody {
    stream: RecvStream,
    lengths: Lengths,
    /// The incomplete message of an untrusted client's body. `None` for the body of a trusted
    /// server, whose frames are passed on individually.
    gathered: Option<Gathered>,
    /// The rest of the request body, if it is still being sent while the response arrives.
    sending: Option<SendingBody>,
}

/// The largest response, in bytes, whose memory is not accounted separately, because the memory
/// charged for its call includes it.
const SMALL: usize = 16 << 10;

/// A future that sends a body.
pub(crate) type SendingBody = Pin<Box<dyn Future<Output = Result<(), h2::Error>> + Send>>;

impl ReceivedBody {
    /// Creates a body of messages of at most `limit` bytes, which is passed on frame by frame.
    pub(crate) fn new(stream: RecvStream, limit: usize) -> Self {
        let lengths = Lengths { limit, prefix: Vec::new(), rest: 0 };
        Self { stream, lengths, gathered: None, sending: None }
    }

    /// Makes the body pass on only complete messages. This is needed for an untrusted client,
    /// because tonic allocates the announced length of a message. `held` is the account of the
    /// incomplete message.
    pub(crate) fn in_whole_messages(self, held: Held) -> Self {
        Self { gathered: Some(Gathered { begun: BytesMut::new(), held }), ..self }
    }

    /// Makes the body also send the rest of the request while the response is read, for servers
    /// that respond before they have received the whole request.
    pub(crate) fn while_sending(self, sending: Option<SendingBody>) -> Self {
        Self { sending, ..self }
    }
}

/// A check of the lengths of messages in a body. tonic also checks the lengths, but fails with
/// OUT_OF_RANGE, whereas other implementations fail with RESOURCE_EXHAUSTED ("Status codes and
/// their use in gRPC").
struct Lengths {
    limit: usize,
    /// The part of a message's five-byte prefix that has been received.
    prefix: Vec<u8>,
    /// The number of bytes of the current message that are still to come.
    rest: usize,
}

impl Lengths {
    /// Checks the messages in `data`, and returns the number of bytes up to the end of the last
    /// message that ends in it.
    fn check(&mut self, data: &[u8]) -> Result<usize, Status> {
        let (mut at, mut whole) = (0, 0);
        loop {
            let skipped = self.rest.min(data.len() - at);
            self.rest -= skipped;
            at += skipped;
            if self.rest == 0 && self.prefix.is_empty() {
                whole = at;
            }
            let Some(&byte) = data.get(at) else { return Ok(whole) };
            at += 1;
            self.prefix.push(byte);
            if let &[_, a, b, c, d] = self.prefix.as_slice() {
                self.rest = u32::from_be_bytes([a, b, c, d]) as usize;
                self.prefix.clear();
                if self.rest > self.limit {
                    return Err(too_long(self.rest, self.limit));
                }
            }
        }
    }
}

/// A message that has not arrived completely, with the account of its memory.
struct Gathered {
    begun: BytesMut,
    held: Held,
}

impl Gathered {
    /// Adds a frame whose first `whole` bytes complete a message. Returns the messages that are
    /// complete.
    fn add(&mut self, mut data: Bytes, whole: usize) -> Result<Option<Bytes>, Status> {
        let mut ready = None;
        if whole > 0 {
            self.held.message_arrived();
            let end = data.split_to(whole);
            ready = Some(if self.begun.is_empty() {
                end
            } else {
                self.begun.extend_from_slice(&end);
                self.begun.split().freeze()
            });
        }
        self.held.set(self.begun.len() + data.len()).map_err(too_much)?;
        // The buffer grows with the received bytes, independently of the announced length.
        self.begun.extend_from_slice(&data);
        Ok(ready)
    }
}

impl HttpBody for ReceivedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        let Self { stream, lengths, gathered, sending } = self.get_mut();
        if let Some(body) = sending
            && body.as_mut().poll(context).is_ready()
        {
            *sending = None;
        }
        let failed = |error| status(&error);
        loop {
            let Some(data) = ready!(stream.poll_data(context)) else { break };
            let data = data.map_err(failed)?;
            let whole = lengths.check(&data)?;
            stream.flow_control().release_capacity(data.len()).map_err(failed)?;
            let ready = match gathered {
                None => Some(data),
                Some(gathered) => gathered.add(data, whole)?,
            };
            if let Some(data) = ready {
                return Poll::Ready(Some(Ok(http_body::Frame::data(data))));
            }
        }
        if gathered.as_ref().is_some_and(|gathered| !gathered.begun.is_empty()) {
            let message = "The request ends inside a message.";
            return Poll::Ready(Some(Err(Status::internal(message))));
        }
        let mut trailers = ready!(stream.poll_trailers(context)).map_err(failed)?;
        trailers.as_mut().into_iter().for_each(without_unreadable_details);
        Poll::Ready(trailers.map(http_body::Frame::trailers).map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        let is_inside = |gathered: &Gathered| !gathered.begun.is_empty();
        self.stream.is_end_stream() && !self.gathered.as_ref().is_some_and(is_inside)
    }
}

/// Sends a body as fast as the peer accepts it, and then its trailers. Before they are sent, `fit`
/// may shorten the trailers. `held` accounts for the data that the peer has not accepted yet.
///
/// # Errors
///
/// Returns an error if the peer is gone or has cancelled the call.
pub(crate) async fn send_body(
    mut stream: SendStream<Bytes>,
    body: Body,
    mut held: Held,
    fit: impl FnOnce(&mut HeaderMap),
) -> Result<(), h2::Error> {
    let mut body = pin!(body);
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(frame) = frame else {
            stream.send_reset(h2::Reason::INTERNAL_ERROR);
            return Ok(());
        };
        match frame.into_data() {
            Ok(data) => {
                // Data of earlier frames may still be buffered in h2.
                let waiting = if data.len() > SMALL { data.len() + SEND_BUFFER } else { 0 };
                if held.set(waiting).is_err() {
                    stream.send_reset(h2::Reason::ENHANCE_YOUR_CALM);
                    return Ok(());
                }
                send_data(&mut stream, data).await?;
            }
            Err(frame) => {
                if let Ok(mut trailers) = frame.into_trailers() {
                    fit(&mut trailers);
                    return stream.send_trailers(trailers);
                }
            }
        }
    }
    stream.send_data(Bytes::new(), true)
}

async fn send_data(stream: &mut SendStream<Bytes>, mut data: Bytes) -> Result<(), h2::Error> {
    while !data.is_empty() {
        stream.reserve_capacity(data.len());
        match poll_fn(|context| stream.poll_capacity(context)).await {
            Some(capacity) => {
                let room = capacity?.min(data.len());
                stream.send_data(data.split_to(room), false)?;
            }
            None => return Err(h2::Reason::CANCEL.into()),
        }
    }
    Ok(())
}
