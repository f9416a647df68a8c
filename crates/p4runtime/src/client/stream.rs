//! A client's ends of a `StreamChannel`, for sending and for receiving.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, ready},
};

use h2::RecvStream;
use prost::Message as _;
use prost_types::Any;
use tonic::{Code, Status};

use grpc::{Messages, Outbox, When};

use crate::{
    arbitration::ElectionId,
    proto::v1::{
        self, stream_message_request::Update as Request,
        stream_message_response::Update as Response,
    },
};

/// The standing of a client in its role, as the device's arbitration determined it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The client is the primary.
    Primary,
    /// Another controller is the primary.
    Backup {
        /// The election id of the primary.
        highest: Option<ElectionId>,
    },
    /// The role has no primary.
    NoPrimary {
        /// The highest election id that the device has seen for the role.
        highest: Option<ElectionId>,
    },
}

impl Standing {
    /// Returns whether the client that receives this arbitration update is the primary.
    #[must_use]
    pub fn of(update: &v1::MasterArbitrationUpdate) -> Self {
        let highest = update.election_id.as_ref().map(ElectionId::from);
        // Servers before version 1.0 omit the status when it is OK.
        match update.status.as_ref().map_or(Code::Ok, |status| Code::from_i32(status.code)) {
            Code::Ok => Self::Primary,
            Code::NotFound => Self::NoPrimary { highest },
            _ => Self::Backup { highest },
        }
    }
}

/// The sending end of a stream. Clones send on the same stream, which ends when the last clone is
/// dropped.
#[derive(Clone, Debug)]
pub struct StreamSender {
    ending: Arc<Ending>,
    device_id: u64,
    role: String,
    role_config: Option<Any>,
}

/// A guard that ends the stream when the last sender is dropped.
#[derive(Debug)]
struct Ending(Arc<Outbox<v1::StreamMessageRequest>>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

impl StreamSender {
    pub(super) fn new(
        outbox: Arc<Outbox<v1::StreamMessageRequest>>,
        device_id: u64,
        role: String,
        role_config: Option<Any>,
    ) -> Self {
        Self { ending: Arc::new(Ending(outbox)), device_id, role, role_config }
    }

    /// Arbitrates again with another election id, or with none to remain a backup. Calls of the
    /// [`super::Client`] keep using the id with which the stream was opened.
    pub fn arbitrate(&self, election_id: Option<ElectionId>) {
        let named = !self.role.is_empty() || self.role_config.is_some();
        let role = named.then(|| v1::Role {
            name: self.role.clone(),
            config: self.role_config.clone(),
            ..Default::default()
        });
        let update = v1::MasterArbitrationUpdate {
            device_id: self.device_id,
            role,
            election_id: election_id.map(Into::into),
            status: None,
        };
        self.outbox().push_always(request(Request::Arbitration(update)));
    }

    /// Queues packet-outs and returns the number of queued ones. The remaining ones did not fit
    /// into the queue and are lost. The whole batch is encoded together and written at once, as far
    /// as the connection accepts it. If other streams share the connection, the batch is written
    /// together with their data.
    pub fn packet_outs(&self, packets: impl IntoIterator<Item = v1::PacketOut>) -> usize {
        let requests = packets.into_iter().map(|packet| request(Request::Packet(packet)));
        self.outbox().push_all(requests, When::Alone)
    }

    /// Acknowledges a digest list that was received.
    pub fn acknowledge(&self, list: &v1::DigestList) {
        let ack = v1::DigestListAck { digest_id: list.digest_id, list_id: list.list_id };
        self.outbox().push_always(request(Request::DigestAck(ack)));
    }

    /// Queues a message of any kind to be sent on the stream.
    pub fn send(&self, message: v1::StreamMessageRequest) {
        self.outbox().push_always(message);
    }

    /// Returns the number of messages that wait to be sent.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.outbox().waiting()
    }

    /// Returns whether the stream has ended, so that no further message arrives.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.outbox().is_closed()
    }

    fn outbox(&self) -> &Outbox<v1::StreamMessageRequest> {
        &self.ending.0
    }
}

fn request(update: Request) -> v1::StreamMessageRequest {
    v1::StreamMessageRequest { update: Some(update) }
}

/// The receiving end of a stream.
#[derive(Debug)]
pub struct StreamReceiver {
    responses: RecvStream,
    messages: Messages,
    /// The result with which the stream ended, or `None` while it is open. It is kept because the
    /// transport reports the end only once, whereas messages before the end may still have to be
    /// returned and every later call must report the end.
    ended: Option<Result<(), Status>>,
}

impl StreamReceiver {
    pub(super) fn new(responses: RecvStream, limit: usize) -> Self {
        Self { responses, messages: Messages::new(limit), ended: None }
    }

    /// Polls for the next message. The result is `None` at the end of the stream.
    fn poll_message(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<v1::StreamMessageResponse>, Status>> {
        loop {
            if let Some(message) = self.messages.next_message() {
                let message = v1::StreamMessageResponse::decode(message?)
                    .map_err(|error| Status::internal(format!("A message is malformed: {error}.")));
                return Poll::Ready(message.map(Some));
            }
            match ready!(self.responses.poll_data(context)) {
                Some(Ok(frame)) => {
                    // Releasing capacity fails if the stream was reset. The next frame reports
                    // that.
                    let _ = self.responses.flow_control().release_capacity(frame.len());
                    self.messages.push(frame);
                }
                Some(Err(error)) => return Poll::Ready(Err(grpc::status(&error))),
                None => return self.poll_end(context),
            }
        }
    }

    fn poll_end(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<v1::StreamMessageResponse>, Status>> {
        let trailers = ready!(self.responses.poll_trailers(context));
        let mut trailers = trailers.map_err(|error| grpc::status(&error))?;
        trailers.as_mut().into_iter().for_each(grpc::without_unreadable_details);
        let status = trailers.as_ref().and_then(Status::from_header_map);
        let missing = || Status::unknown("The stream ended without a status.");
        let status = status.unwrap_or_else(missing);
        Poll::Ready(if status.code() == Code::Ok { Ok(None) } else { Err(status) })
    }

    /// Waits for a message, then appends it and all others that have arrived to a list, at most
    /// `most` in total. Returns the number of appended messages; zero means that the server has
    /// ended the stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream failed.
    pub async fn next_batch(
        &mut self,
        messages: &mut Vec<Response>,
        most: usize,
    ) -> Result<usize, Status> {
        let mut taken = 0;
        poll_fn(|context| {
            while taken < most && self.ended.is_none() {
                match self.poll_message(context) {
                    Poll::Ready(Ok(Some(message))) => {
                        // An unset update is a message of a later version of the specification, and
                        // is skipped.
                        if let Some(update) = message.update {
                            messages.push(update);
                            taken += 1;
                        }
                    }
                    Poll::Ready(Ok(None)) => self.ended = Some(Ok(())),
                    Poll::Ready(Err(status)) => self.ended = Some(Err(status)),
                    Poll::Pending if taken == 0 => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(match &self.ended {
                Some(Err(status)) if taken == 0 => Err(status.clone()),
                _ => Ok(taken),
            })
        })
        .await
    }

    /// Returns the next message, or `None` when the server has ended the stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the stream failed.
    pub async fn next(&mut self) -> Result<Option<Response>, Status> {
        let mut messages = Vec::with_capacity(1);
        self.next_batch(&mut messages, 1).await?;
        Ok(messages.pop())
    }

    /// Waits for the answer to an arbitration and returns whether the client is primary. Messages
    /// of other kinds that arrive before the answer are dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if the server ends the stream.
    pub async fn arbitrated(&mut self) -> Result<Standing, Status> {
        loop {
            match self.next().await? {
                Some(Response::Arbitration(update)) => return Ok(Standing::of(&update)),
                Some(_) => {}
                None => return Err(Status::unavailable("The server ended the stream.")),
            }
        }
    }
}
