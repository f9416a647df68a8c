//! The RPCs of P4Runtime, each a thin wrapper around the state machine.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;
use grpc::{Later, Link, Method, Outbox, QueueLimit, Streaming};
use h2::{RecvStream, server::SendResponse};
use prost::Message;
use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, http},
    server::Grpc,
};

use super::{
    channel::{Channel, Recipient},
    devices::Devices,
    pushing,
};
use crate::{
    arbitration::StreamId,
    decoding::{ReadCodec, ReceivedWrite, Request, RequestCodec, WriteCodec},
    proto::v1,
    session::{Device, ReadAnswer, ReadMessage, ReadStep},
    status,
};

/// The next stream id. Ids are unique in the process, so that several servers can serve the same
/// device.
static NEXT_STREAM: AtomicU64 = AtomicU64::new(1);

/// The P4Runtime service of one server.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) devices: Arc<Devices>,
    pub(super) queue_limit: QueueLimit,
    pub(super) request_limit: usize,
}

impl Service {
    /// Serves an RPC, selected by the name of its method.
    pub(super) fn call(
        &self,
        method: &str,
        request: http::Request<Body>,
    ) -> BoxFuture<http::Response<Body>, std::convert::Infallible> {
        let devices = Arc::clone(&self.devices);
        macro_rules! unary {
            ($method:expr) => {{
                let mut grpc = self.grpc();
                Box::pin(async move { Ok(grpc.unary(Method($method), request).await) })
            }};
        }
        macro_rules! later {
            ($method:expr) => {{
                let mut grpc = self.grpc();
                Box::pin(async move { Ok(grpc.unary(Later($method), request).await) })
            }};
        }
        match method {
            "Write" => {
                let codec = WriteCodec { request_limit: self.request_limit };
                let mut grpc = Grpc::new(codec).max_decoding_message_size(self.request_limit);
                let write = Later(move |received: ReceivedWrite| {
                    let device = devices.find(received.request.device_id);
                    let answer = device.and_then(|device| device.write(&received));
                    async { answer?.kept().await.map(|()| v1::WriteResponse {}) }
                });
                Box::pin(async move { Ok(grpc.unary(write, request).await) })
            }
            "SetForwardingPipelineConfig" => {
                later!(move |request: v1::SetForwardingPipelineConfigRequest| {
                    let device = devices.find(request.device_id);
                    let answer = device.map(|device| pushing::set_pipeline(device, request));
                    async {
                        let answer = answer?.await?;
                        answer.kept().await.map(|()| v1::SetForwardingPipelineConfigResponse {})
                    }
                })
            }
            "GetForwardingPipelineConfig" => {
                unary!(move |request: v1::GetForwardingPipelineConfigRequest| {
                    devices.find(request.device_id)?.get_pipeline(&request)
                })
            }
            "Capabilities" => {
                unary!(|_: v1::CapabilitiesRequest| Ok(Device::capabilities()))
            }
            "Read" => {
                let request_limit = self.request_limit;
                let mut grpc =
                    Grpc::new(ReadCodec { request_limit }).max_decoding_message_size(request_limit);
                let read = Streaming(move |request: v1::ReadRequest| {
                    let answer = devices.find(request.device_id)?.read(request)?;
                    Ok(ReadStream { answer: Some(answer) })
                });
                Box::pin(async move { Ok(grpc.server_streaming(read, request).await) })
            }
            "StreamChannel" => Box::pin(async { Ok(no_compression().into_http()) }),
            _ => {
                let message = format!("P4Runtime has no method {method}.");
                Box::pin(async { Ok(Status::unimplemented(message).into_http()) })
            }
        }
    }

    fn grpc<A: Message + Send + 'static, Q: Request>(&self) -> Grpc<RequestCodec<A, Q>> {
        let limit = self.request_limit;
        Grpc::new(RequestCodec::new(limit)).max_decoding_message_size(limit)
    }

    /// Opens a `StreamChannel`, the stream between a controller and the device that its first
    /// message names.
    pub(super) fn stream_channel(
        &self,
        requests: RecvStream,
        respond: SendResponse<Bytes>,
        link: Link,
    ) -> Channel {
        let held = link.held();
        let (outbox, reader) = Outbox::on(self.queue_limit, Some(link));
        let stream = StreamId(NEXT_STREAM.fetch_add(1, Ordering::Relaxed));
        let devices = Arc::clone(&self.devices);
        let request_limit = self.request_limit;
        let to = Recipient { outbox, devices, stream, request_limit, held };
        Channel::open(requests, respond, to, reader)
    }
}

/// Returns the status for a stream with compressed messages, which [`Service::stream_channel`] does
/// not accept.
fn no_compression() -> Status {
    let mut status = Status::unimplemented("Compressed messages are not supported.");
    let identity = tonic::metadata::MetadataValue::from_static("identity");
    status.metadata_mut().insert("grpc-accept-encoding", identity);
    status
}

/// The response of a Read request, which is sent in several messages.
#[derive(Debug)]
struct ReadStream {
    /// The part of the response that is still to be sent, or `None` after its end.
    answer: Option<ReadAnswer>,
}

impl Stream for ReadStream {
    type Item = Result<ReadMessage, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(answer) = &mut this.answer else { return Poll::Ready(None) };
        match answer.step() {
            ReadStep::Message(message) => Poll::Ready(Some(Ok(message))),
            ReadStep::Busy => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            ReadStep::End(outcomes) => {
                this.answer = None;
                let status = status::batch_status(&outcomes).err();
                Poll::Ready(status.map(|status| Err(status::to_grpc(&status))))
            }
        }
    }
}
