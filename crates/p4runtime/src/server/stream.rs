//! Both directions of a `StreamChannel`.
//!
//! Outgoing: the encoder polls [`OutgoingStream`] until nothing is ready and sends what it has
//! encoded as one frame, so everything that waits in the outbox shares a frame. Incoming: one
//! task takes every message that has been received before it yields, and hands packet-outs over
//! in lists. The two directions are separate tasks, because a peer that stops reading must not
//! stop us from reading.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use tonic::{Status, Streaming};

use super::{
    Devices,
    handle::{DeviceHandle, Outgoing, PacketIn, PacketInMetadata},
};
use crate::{
    arbitration::StreamId,
    outbox::{Outbox, OutboxReader},
    proto::v1::{
        self, stream_message_request::Update as Request,
        stream_message_response::Update as Response,
    },
    session::Pipeline,
};

/// Packet-outs that are handed over together at most.
const PACKET_OUTS: usize = 256;
/// Messages after which the task lets others run, however many more are there.
const MESSAGES_PER_TURN: usize = 4096;

/// What a stream sends.
#[derive(Debug)]
pub(super) struct OutgoingStream {
    reader: OutboxReader<Outgoing>,
    device: Option<DeviceHandle>,
    pipeline: Option<Arc<Pipeline>>,
}

impl OutgoingStream {
    pub(super) fn new(reader: OutboxReader<Outgoing>) -> Self {
        Self { reader, device: None, pipeline: None }
    }

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

impl Stream for OutgoingStream {
    type Item = Result<v1::StreamMessageResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let Poll::Ready(item) = Pin::new(&mut this.reader).poll_next(context) else {
                return Poll::Pending;
            };
            let message = match item {
                None => return Poll::Ready(None),
                Some(Err(status)) => return Poll::Ready(Some(Err(status))),
                Some(Ok(Outgoing::Device(device))) => {
                    this.device = Some(device);
                    continue;
                }
                Some(Ok(Outgoing::Pipeline(pipeline))) => {
                    this.pipeline = Some(pipeline);
                    continue;
                }
                Some(Ok(Outgoing::Message(message))) => *message,
                Some(Ok(Outgoing::Packet(packet))) => this.packet_in(packet),
            };
            return Poll::Ready(Some(Ok(message)));
        }
    }
}

/// The task that reads what a stream sends us. It ends, and the stream with it, when either
/// direction does.
pub(super) struct IncomingTask {
    requests: Streaming<v1::StreamMessageRequest>,
    outbox: Arc<Outbox<Outgoing>>,
    devices: Arc<Devices>,
    stream: StreamId,
    device: Option<DeviceHandle>,
    packets: Vec<v1::PacketOut>,
}

impl IncomingTask {
    pub(super) fn new(
        requests: Streaming<v1::StreamMessageRequest>,
        outbox: Arc<Outbox<Outgoing>>,
        devices: Arc<Devices>,
        stream: StreamId,
    ) -> Self {
        Self { requests, outbox, devices, stream, device: None, packets: Vec::new() }
    }

    fn handle(&mut self, request: v1::StreamMessageRequest) {
        let Some(device) = &self.device else { return self.first(request) };
        match request.update {
            Some(Request::Packet(packet)) => {
                self.packets.push(packet);
                if self.packets.len() >= PACKET_OUTS {
                    device.packet_outs(self.stream, &mut self.packets);
                }
            }
            update => {
                device.packet_outs(self.stream, &mut self.packets);
                device.message(self.stream, v1::StreamMessageRequest { update });
            }
        }
    }

    fn first(&mut self, request: v1::StreamMessageRequest) {
        let status = match &request.update {
            Some(Request::Arbitration(update)) => match self.devices.find(update.device_id) {
                Ok(device) => {
                    device.timer().enter(tokio::runtime::Handle::current());
                    device.open(self.stream, &self.outbox, request);
                    self.device = Some(device);
                    return;
                }
                Err(status) => status,
            },
            _ => Status::failed_precondition(
                "The first message of a stream must be an arbitration update.",
            ),
        };
        self.outbox.end(Some(status));
    }

    fn flush(&mut self) {
        if let Some(device) = &self.device {
            device.packet_outs(self.stream, &mut self.packets);
        }
    }
}

impl Future for IncomingTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        for _ in 0..MESSAGES_PER_TURN {
            let status = match Pin::new(&mut this.requests).poll_next(context) {
                Poll::Ready(Some(Ok(request))) => {
                    this.handle(request);
                    continue;
                }
                Poll::Pending => {
                    this.flush();
                    return this.outbox.poll_closed(context);
                }
                Poll::Ready(None) => None,
                Poll::Ready(Some(Err(status))) => Some(status),
            };
            this.flush();
            this.outbox.end(status);
            return Poll::Ready(());
        }
        this.flush();
        if this.outbox.is_closed() {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for IncomingTask {
    fn drop(&mut self) {
        // Here and not at the end of `poll`, so that a runtime that is shut down tells as well.
        self.outbox.end(None);
        if let Some(device) = self.device.take() {
            device.closed(self.stream);
        }
    }
}
