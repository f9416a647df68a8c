//! Both directions of a `StreamChannel`.
//!
//! Outgoing: see [`Sending`]. Incoming: every message that has been received is taken before others have their turn, and
//! packet-outs are handed over in lists. Neither direction waits for the other, because a peer
//! that stops reading must not stop us from reading.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use h2::{RecvStream, SendStream, server::SendResponse};
use tonic::{Status, codegen::http};

use super::{
    Devices,
    handle::{DeviceHandle, Outgoing, PacketIn, PacketInMetadata},
};
use grpc::{Call, Encode, Held, Messages, Outbox, OutboxReader, Sending, When};

use crate::{
    arbitration::StreamId,
    decoding,
    proto::v1::{
        self, stream_message_request::Update as Request,
        stream_message_response::Update as Response,
    },
    session::{self, Pipeline},
};

/// Packet-outs that are handed over together at most.
const PACKET_OUTS: usize = 256;
/// Frames after which others have their turn, however many more are there.
const FRAMES_PER_TURN: usize = 1024;

/// A stream that a client has opened.
pub(super) struct Channel {
    /// `None` once there is nothing more to read.
    receiving: Option<Receiving>,
    sending: Sending<ToController>,
    outbox: Arc<Outbox<Outgoing>>,
}

impl Channel {
    /// Answers the request that opens a stream, which sends what `reader` finds.
    pub(super) fn open(
        requests: RecvStream,
        mut respond: SendResponse<Bytes>,
        to: Recipient,
        reader: OutboxReader<Outgoing>,
    ) -> Self {
        let mut head = http::Response::new(());
        let grpc = http::HeaderValue::from_static("application/grpc");
        head.headers_mut().insert(http::header::CONTENT_TYPE, grpc);
        // A stream that is reset already fails here.
        let stream = respond.send_response(head, false).ok();
        let encode = ToController { device: None, pipeline: None };
        Self {
            outbox: Arc::clone(&to.outbox),
            receiving: Some(Receiving::new(requests, to)),
            sending: Sending::new(stream, reader, encode),
        }
    }
}

impl Call for Channel {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(receiving) = &mut self.receiving
            && receiving.poll(context).is_ready()
        {
            self.receiving = None;
        }
        self.sending.poll(context)
    }

    fn poll_sending(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.sending.poll(context)
    }
}

impl grpc::server::Channel for Channel {
    fn end(&self, status: Status) {
        self.outbox.end(Some(status));
    }
}

/// Writes packet-ins in the form of the pipeline that the device runs when they leave.
struct ToController {
    device: Option<DeviceHandle>,
    pipeline: Option<Arc<Pipeline>>,
}

impl Encode for ToController {
    type Item = Outgoing;

    fn encode(&mut self, item: Outgoing, buffer: &mut BytesMut) {
        match item {
            Outgoing::Device(device) => self.device = Some(device),
            Outgoing::Pipeline(pipeline) => self.pipeline = Some(pipeline),
            Outgoing::Message(message) => {
                match (&message.update, &self.device) {
                    (Some(Response::Digest(list)), Some(device)) => {
                        device.digest_list_sent(list.list_id);
                    }
                    (Some(Response::IdleTimeoutNotification(told)), Some(device)) => {
                        device.idle_timeout_sent(told);
                    }
                    _ => {}
                }
                grpc::put(&*message, buffer);
            }
            Outgoing::Packet(packet) => grpc::put(&self.packet_in(packet), buffer),
        }
    }

    fn end(&mut self, stream: &mut SendStream<Bytes>, status: Status) -> Result<(), h2::Error> {
        let mut trailers = http::HeaderMap::new();
        // What a status holds can be said in a header: it was checked when it was made.
        let _ = status.add_header(&mut trailers);
        stream.send_trailers(trailers)
    }
}

impl ToController {
    fn packet_in(&self, packet: PacketIn) -> v1::StreamMessageResponse {
        let metadata = match packet.metadata {
            PacketInMetadata::Fields(fields) => fields,
            PacketInMetadata::IngressPort(port) => {
                let layout = self.pipeline.as_ref().and_then(|pipeline| pipeline.packet_in());
                layout.map(|layout| layout.metadata(port)).unwrap_or_default()
            }
        };
        if let Some(device) = &self.device {
            device.sent(packet.tag);
        }
        let packet = v1::PacketIn { payload: packet.payload, metadata };
        v1::StreamMessageResponse { update: Some(Response::Packet(packet)) }
    }
}

/// For whom a stream is, once it has said so.
pub(super) struct Recipient {
    pub(super) outbox: Arc<Outbox<Outgoing>>,
    pub(super) devices: Arc<Devices>,
    pub(super) stream: StreamId,
    /// The largest message in bytes.
    pub(super) request_limit: usize,
    /// What is held of the message that has begun.
    pub(super) held: Held,
}

struct Receiving {
    requests: RecvStream,
    messages: Messages,
    to: Recipient,
    device: Option<DeviceHandle>,
    packets: Vec<v1::PacketOut>,
    /// What the client has sent after a mistake that ends its stream has no effect.
    refused: bool,
}

impl Receiving {
    fn new(requests: RecvStream, to: Recipient) -> Self {
        let messages = Messages::new(to.request_limit);
        Self { requests, messages, to, device: None, packets: Vec::new(), refused: false }
    }

    /// Ready when either direction has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for _ in 0..FRAMES_PER_TURN {
            match self.poll_frame(context) {
                Poll::Ready(Ok(true)) => {}
                Poll::Ready(ended) => {
                    self.flush();
                    self.to.outbox.end(ended.err());
                    return Poll::Ready(());
                }
                Poll::Pending => {
                    self.flush();
                    return self.to.outbox.poll_closed(context);
                }
            }
        }
        self.flush();
        if self.to.outbox.is_closed() {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Handles the messages of one frame; false at the end of the stream.
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Result<bool, Status>> {
        let frame = match ready!(self.requests.poll_data(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Err(Status::cancelled(error.to_string()))),
            None if self.messages.is_inside() => {
                return Poll::Ready(Err(Status::internal("The stream ends inside a message.")));
            }
            None => return Poll::Ready(Ok(false)),
        };
        // It fails for a stream that was reset, which the next frame tells.
        let _ = self.requests.flow_control().release_capacity(frame.len());
        self.messages.push(frame);
        while let Some(message) = self.messages.next_message() {
            let request = decoding::decode(message?, self.to.request_limit)?;
            self.handle(request);
            if self.refused {
                return Poll::Ready(Ok(false));
            }
        }
        self.to.held.set(self.messages.begun()).map_err(|limit| {
            Status::resource_exhausted(format!("The stream is ended, since {limit}."))
        })?;
        Poll::Ready(Ok(true))
    }

    fn handle(&mut self, request: v1::StreamMessageRequest) {
        let Some(device) = &self.device else { return self.first(request) };
        match request.update {
            Some(Request::Packet(packet)) => {
                self.packets.push(packet);
                if self.packets.len() >= PACKET_OUTS {
                    device.packet_outs(self.to.stream, &mut self.packets);
                }
            }
            update => {
                device.packet_outs(self.to.stream, &mut self.packets);
                device.message(self.to.stream, v1::StreamMessageRequest { update });
                self.refused = self.to.outbox.is_closed();
            }
        }
    }

    fn first(&mut self, request: v1::StreamMessageRequest) {
        let found = match request.update {
            Some(Request::Arbitration(ref update)) => self.to.devices.find(update.device_id),
            update => {
                // There is no device yet whose options could forbid the answer.
                let error = update.and_then(session::not_arbitrated);
                let answer = error.map(|error| {
                    let message = v1::StreamMessageResponse { update: Some(error) };
                    Outgoing::Message(Box::new(message))
                });
                self.to.outbox.push_all(answer, When::InTurn);
                return;
            }
        };
        match found {
            Ok(device) => {
                self.to.held.message_arrived();
                device.timer().enter(tokio::runtime::Handle::current());
                device.open(self.to.stream, &self.to.outbox, request);
                self.device = Some(device);
            }
            Err(status) => self.to.outbox.end(Some(status)),
        }
        self.refused = self.to.outbox.is_closed();
    }

    fn flush(&mut self) {
        if let Some(device) = &self.device {
            device.packet_outs(self.to.stream, &mut self.packets);
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // Here and not at the end of `poll`, so that a runtime that is shut down tells as well.
        self.to.outbox.end(None);
        if let Some(device) = self.device.take() {
            device.closed(self.to.stream);
        }
    }
}
