//! Both directions of a `StreamChannel`.
//!
//! [`Sending`] handles the outgoing direction. In the incoming direction, all messages that have
//! arrived are handled in one turn, and packet-outs are passed on in lists. Neither direction waits
//! for the other: a peer that stops reading must not prevent the server from reading.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use h2::{RecvStream, SendStream, server::SendResponse};
use tonic::{Status, codegen::http};

use super::{
    devices::Devices,
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

/// The maximum number of packet-outs that are passed on to the device together.
const PACKET_OUTS: usize = 256;
/// The maximum number of frames that are received in one turn, after which other tasks run.
const FRAMES_PER_TURN: usize = 1024;

/// A `StreamChannel` that a client has opened.
pub(super) struct Channel {
    /// The incoming direction, or `None` once it has ended.
    receiving: Option<Receiving>,
    sending: Sending<ToController>,
    outbox: Arc<Outbox<Outgoing>>,
}

impl Channel {
    /// Accepts the stream that a client's request opens. From then on, the items of `reader` are
    /// sent on the stream.
    pub(super) fn open(
        requests: RecvStream,
        mut respond: SendResponse<Bytes>,
        to: Recipient,
        reader: OutboxReader<Outgoing>,
    ) -> Self {
        let mut head = http::Response::new(());
        let grpc = http::HeaderValue::from_static("application/grpc");
        head.headers_mut().insert(http::header::CONTENT_TYPE, grpc);
        // This fails if the stream has already been reset.
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

/// The outgoing direction of a stream. It encodes packet-ins when they are sent, with the header
/// fields of the pipeline that the device runs at that moment.
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
        // Adding the header cannot fail, because the contents of a status are checked on
        // construction.
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

/// The objects that receive a stream's incoming messages. The device is not known before the first
/// message, which names it.
pub(super) struct Recipient {
    pub(super) outbox: Arc<Outbox<Outgoing>>,
    pub(super) devices: Arc<Devices>,
    pub(super) stream: StreamId,
    /// The maximum size of a message in bytes.
    pub(super) request_limit: usize,
    /// The account of the memory that an incompletely received message takes.
    pub(super) held: Held,
}

/// The receiving side of a stream channel.
struct Receiving {
    requests: RecvStream,
    messages: Messages,
    to: Recipient,
    device: Option<DeviceHandle>,
    packets: Vec<v1::PacketOut>,
    /// Whether the server has refused the stream because of a mistake of the client. Later messages
    /// of the client are ignored.
    refused: bool,
}

impl Receiving {
    fn new(requests: RecvStream, to: Recipient) -> Self {
        let messages = Messages::new(to.request_limit);
        Self { requests, messages, to, device: None, packets: Vec::new(), refused: false }
    }

    /// Polls the incoming direction of the stream. Returns `Ready` once the incoming or the
    /// outgoing direction has ended.
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

    /// Handles the messages of one frame. Returns false at the end of the stream.
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Result<bool, Status>> {
        let frame = match ready!(self.requests.poll_data(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Err(Status::cancelled(error.to_string()))),
            None if self.messages.is_inside() => {
                return Poll::Ready(Err(Status::internal("The stream ends inside a message.")));
            }
            None => return Poll::Ready(Ok(false)),
        };
        // Releasing capacity fails if the stream was reset. The next frame reports that.
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
                // No device is known yet whose options could disable the error message.
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
        // This happens on drop and not at the end of `poll`, so that it also runs when the runtime
        // shuts down.
        self.to.outbox.end(None);
        if let Some(device) = self.device.take() {
            device.closed(self.to.stream);
        }
    }
}
