//! The RPCs, each a few lines around the state machine.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use futures_core::Stream;
use tonic::{Request, Response, Status, Streaming};

use super::{
    Devices,
    shutdown::Streams,
    stream::{IncomingTask, OutgoingStream},
};
use crate::{
    arbitration::StreamId,
    outbox::Outbox,
    proto::v1::{self, p4_runtime_server::P4Runtime},
    session::{Device, ReadOutcome},
    status,
};

/// Stream ids are unique in the process, so that a device may be served by several servers.
static NEXT_STREAM: AtomicU64 = AtomicU64::new(1);

/// The service of one server.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) devices: Arc<Devices>,
    pub(super) streams: Arc<Streams>,
    pub(super) queue_limit: usize,
}

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = ReadStream;
    type StreamChannelStream = OutgoingStream;

    async fn write(
        &self,
        request: Request<v1::WriteRequest>,
    ) -> Result<Response<v1::WriteResponse>, Status> {
        let request = request.get_ref();
        self.devices.find(request.device_id)?.write(request)?;
        Ok(Response::new(v1::WriteResponse {}))
    }

    async fn read(
        &self,
        request: Request<v1::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.get_ref();
        let outcome = self.devices.find(request.device_id)?.read(request)?;
        Ok(Response::new(ReadStream::new(outcome)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<v1::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        self.devices.find(request.device_id)?.set_pipeline(request)?;
        Ok(Response::new(v1::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<v1::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::GetForwardingPipelineConfigResponse>, Status> {
        let request = request.get_ref();
        self.devices.find(request.device_id)?.get_pipeline(request).map(Response::new)
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<v1::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (outbox, reader) = Outbox::new(self.queue_limit);
        let stream = StreamId(NEXT_STREAM.fetch_add(1, Ordering::Relaxed));
        self.streams.enter(&outbox);
        let devices = Arc::clone(&self.devices);
        tokio::spawn(IncomingTask::new(request.into_inner(), outbox, devices, stream));
        Ok(Response::new(OutgoingStream::new(reader)))
    }

    async fn capabilities(
        &self,
        _request: Request<v1::CapabilitiesRequest>,
    ) -> Result<Response<v1::CapabilitiesResponse>, Status> {
        Ok(Response::new(Device::capabilities()))
    }
}

/// The answer to a Read request on its way.
#[derive(Debug)]
pub(super) struct ReadStream {
    responses: VecDeque<v1::ReadResponse>,
    status: Option<Status>,
}

impl ReadStream {
    fn new(outcome: ReadOutcome) -> Self {
        let status = status::batch_status(&outcome.outcomes).err();
        Self {
            responses: outcome.responses.into(),
            status: status.map(|status| status::to_grpc(&status)),
        }
    }
}

impl Stream for ReadStream {
    type Item = Result<v1::ReadResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let response = this.responses.pop_front().map(Ok);
        Poll::Ready(response.or_else(|| this.status.take().map(Err)))
    }
}
