//! Bodies of unary calls and of streamed answers, as tonic reads and writes them.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::{RecvStream, SendStream};
use tonic::{
    Status,
    body::Body,
    codegen::{Body as HttpBody, http::HeaderMap},
};

use super::{status, too_long, without_unreadable_details};

/// What the peer sends.
pub struct ReceivedBody {
    stream: RecvStream,
    lengths: Lengths,
    /// What goes on being sent meanwhile.
    sending: Option<SendingBody>,
}

/// A body that is being sent.
pub(crate) type SendingBody = Pin<Box<dyn Future<Output = Result<(), h2::Error>> + Send>>;

impl ReceivedBody {
    /// A body of messages of at most `limit` bytes.
    pub(crate) fn new(stream: RecvStream, limit: usize) -> Self {
        Self { stream, lengths: Lengths { limit, prefix: Vec::new(), rest: 0 }, sending: None }
    }

    /// The same, for a peer that has begun to answer before all of `sending` was sent.
    pub(crate) fn while_sending(self, sending: Option<SendingBody>) -> Self {
        Self { sending, ..self }
    }
}

/// Watches over the lengths of messages. tonic does so as well, but has OUT_OF_RANGE for what is
/// RESOURCE_EXHAUSTED to everybody else ("Status codes and their use in gRPC").
struct Lengths {
    limit: usize,
    /// The beginning of a message, as far as it is there.
    prefix: Vec<u8>,
    /// Bytes of a message that are still to come.
    rest: usize,
}

impl Lengths {
    fn check(&mut self, mut data: &[u8]) -> Result<(), Status> {
        loop {
            let skipped = self.rest.min(data.len());
            self.rest -= skipped;
            let Some((&byte, rest)) = data.get(skipped..).and_then(<[u8]>::split_first) else {
                return Ok(());
            };
            data = rest;
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

impl HttpBody for ReceivedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        let Self { stream, lengths, sending } = self.get_mut();
        if let Some(body) = sending
            && body.as_mut().poll(context).is_ready()
        {
            *sending = None;
        }
        let failed = |error| status(&error);
        let frame = match ready!(stream.poll_data(context)) {
            Some(data) => {
                let data = data.map_err(failed)?;
                lengths.check(&data)?;
                stream.flow_control().release_capacity(data.len()).map_err(failed)?;
                Some(http_body::Frame::data(data))
            }
            None => {
                let mut trailers = ready!(stream.poll_trailers(context)).map_err(failed)?;
                trailers.as_mut().into_iter().for_each(without_unreadable_details);
                trailers.map(http_body::Frame::trailers)
            }
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }
}

/// Sends a body as the peer takes it, and its trailers once `fit` has seen to them.
///
/// # Errors
///
/// When the peer has gone or does not want it any more.
pub(crate) async fn send_body(
    mut stream: SendStream<Bytes>,
    body: Body,
    fit: impl FnOnce(&mut HeaderMap),
) -> Result<(), h2::Error> {
    let mut body = pin!(body);
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(frame) = frame else {
            stream.send_reset(h2::Reason::INTERNAL_ERROR);
            return Ok(());
        };
        match frame.into_data() {
            Ok(data) => send_data(&mut stream, data).await?,
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
