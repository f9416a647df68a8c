//! The methods of the service, each a thin wrapper around the device's [`SwitchSource`].

use std::{convert::Infallible, sync::Arc};

use grpc::{Later, Streaming};
use prost::Message;
use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, http},
    server::Grpc,
};

use super::{About, QueueChange, SwitchSource, form, injecting::Inject, watching::Watch};
use crate::{
    decoding::{Request, RequestCodec},
    proto::switch,
    server::DeviceHandle,
    status::refusal,
};

/// The full name of the service, as it is in the paths of requests.
pub(crate) const SERVICE: &str = "planimeter.switch.v1.SwitchControl";

/// The maximum size of a request in bytes. It suffices for the queues of a thousand ports.
const REQUEST_LIMIT: usize = 4 << 20;

/// A function that returns the device with an id, or the error NOT_FOUND.
pub(crate) type FindDevice = dyn Fn(u64) -> Result<DeviceHandle, Status> + Send + Sync;

/// The service of one server.
#[derive(Clone)]
pub(crate) struct ControlServer {
    devices: Arc<FindDevice>,
    /// A function that returns the time in nanoseconds since the Unix epoch.
    pub(super) now: fn() -> i64,
}

impl ControlServer {
    /// Creates the service. `now` returns nanoseconds since the Unix epoch.
    pub(crate) fn new(devices: Arc<FindDevice>, now: fn() -> i64) -> Self {
        Self { devices, now }
    }

    /// Returns the owner of a device's queues. Returns the error UNIMPLEMENTED if the device has
    /// none.
    pub(super) fn source(&self, device_id: u64) -> Result<Arc<dyn SwitchSource>, Status> {
        let none = || {
            let message = format!(
                "Device {device_id} has no queues that can be set, and runs no injected packets."
            );
            Status::unimplemented(message)
        };
        (self.devices)(device_id)?.switch_source().ok_or_else(none)
    }

    /// Serves an RPC, selected by the name of its method.
    pub(crate) fn call(
        &self,
        method: &str,
        request: http::Request<Body>,
    ) -> BoxFuture<http::Response<Body>, Infallible> {
        let server = self.clone();
        match method {
            "GetSwitch" => Box::pin(async move {
                let about = Later(move |request| about(server.clone(), request));
                Ok(grpc().unary(about, request).await)
            }),
            "GetQueues" => Box::pin(async move {
                let get = Later(move |request| get(server.clone(), request));
                Ok(grpc().unary(get, request).await)
            }),
            "SetQueues" => Box::pin(async move {
                let set = Later(move |request| set(server.clone(), request));
                Ok(grpc().unary(set, request).await)
            }),
            "WatchQueues" => Box::pin(async move {
                let watch = Streaming(move |request| Watch::open(&server, request));
                Ok(grpc().server_streaming(watch, request).await)
            }),
            "Inject" => {
                Box::pin(async move { Ok(grpc().streaming(Inject(server), request).await) })
            }
            _ => {
                let message = format!("SwitchControl has no method {method}.");
                Box::pin(async { Ok(Status::unimplemented(message).into_http()) })
            }
        }
    }
}

fn grpc<A: Message + Send + 'static, Q: Request>() -> Grpc<RequestCodec<A, Q>> {
    Grpc::new(RequestCodec::new(REQUEST_LIMIT)).max_decoding_message_size(REQUEST_LIMIT)
}

async fn about(
    server: ControlServer,
    request: switch::GetSwitchRequest,
) -> Result<switch::GetSwitchResponse, Status> {
    let About { version, elapsed, cpu_port, workers } = server.source(request.device_id)?.about();
    Ok(switch::GetSwitchResponse {
        version,
        timestamp_ns: (server.now)(),
        elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        cpu_port,
        workers,
    })
}

async fn get(
    server: ControlServer,
    request: switch::GetQueuesRequest,
) -> Result<switch::GetQueuesResponse, Status> {
    let queues = server.source(request.device_id)?.queues().await;
    let queues = queues.map_err(|error| refusal(&error))?;
    Ok(switch::GetQueuesResponse {
        ports: form::configured(&queues, &request.ports),
        states: form::states(&queues, &request.ports),
        revision: queues.revision,
    })
}

async fn set(
    server: ControlServer,
    request: switch::SetQueuesRequest,
) -> Result<switch::SetQueuesResponse, Status> {
    let source = server.source(request.device_id)?;
    let change = QueueChange {
        ports: form::changes(&request.ports).map_err(|error| refusal(&error))?,
        validate_only: request.validate_only,
        expected_revision: request.expected_revision,
    };
    let set = source.set_queues(change).await.map_err(|error| refusal(&error))?;
    Ok(switch::SetQueuesResponse { dropped: set.dropped, revision: set.revision })
}
