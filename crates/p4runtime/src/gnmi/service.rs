//! The gNMI service: dispatches the RPCs Get, Set, Subscribe and Capabilities, and answers them
//! from the ports of a device. There are only four, so no code is generated for the dispatch.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    sync::{Arc, atomic::AtomicUsize},
    task::{Context, Poll},
};

use grpc::{Later, Method};
use prost::Message;
use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, Service, http},
    server::Grpc,
};
use tonic_prost::ProstCodec;

use super::{
    form::{ENCODINGS, Form, Written},
    json,
    leaf::Module,
    messages::{self, Path},
    paths, policy, seen, setting,
    subscribing::Subscribe,
    tree,
};
use crate::{
    control::QueueChange,
    server::DeviceHandle,
    status::{refusal, shortened},
};

/// The maximum size of a request in bytes. It is small, because a decoded request can be fifty
/// times as large: an empty path has two bytes on the wire and takes a hundred bytes in memory.
const REQUEST_LIMIT: usize = 256 << 10;
/// The maximum number of paths in a request. Each path is stored with a copy of the request's
/// prefix.
const PATHS: usize = 4096;
/// The maximum length of a request's prefix in bytes.
const PREFIX_LIMIT: usize = 4096;
/// The number of nodes in the answer to a Get beyond which further paths of the request are
/// refused.
const ANSWER_LIMIT: usize = 1 << 16;
/// The approximate size of a leaf in JSON, in bytes. The number of nodes in a JSON value is
/// estimated as the size of the value divided by this number.
const NODE_BYTES: usize = 32;

/// A function that returns the device that a gNMI target names by its id. For an empty target it
/// returns the first device.
pub(crate) type FindDevice = dyn Fn(&str) -> Option<DeviceHandle> + Send + Sync;

/// The gNMI service of a server.
#[derive(Clone)]
pub(crate) struct GnmiServer {
    devices: Arc<FindDevice>,
    /// A function that returns the time in nanoseconds since the Unix epoch.
    pub(super) now: fn() -> i64,
    /// The number of streams with sampled subscriptions.
    pub(super) sampled: Arc<AtomicUsize>,
}

impl GnmiServer {
    /// Creates the service. `now` returns nanoseconds since the Unix epoch.
    pub(crate) fn new(devices: Arc<FindDevice>, now: fn() -> i64) -> Self {
        Self { devices, now, sampled: Arc::default() }
    }

    /// Returns the device that a request's paths name as their target. Returns an error if the
    /// paths name different targets, or one that does not exist.
    pub(super) fn find(&self, paths: &[Path]) -> Result<DeviceHandle, Status> {
        let mut targets = paths.iter().map(|path| path.target.as_str());
        let target = targets.find(|target| !target.is_empty()).unwrap_or_default();
        if let Some(other) = targets.find(|other| !other.is_empty() && *other != target) {
            let message =
                format!("A request has one target, and this one has {target:?} and {other:?}.");
            return Err(Status::invalid_argument(shortened(message)));
        }
        (self.devices)(target)
            .ok_or_else(|| Status::not_found(shortened(format!("There is no target {target:?}."))))
    }

    /// Returns the paths of a request, each appended to the request's prefix. Returns an error if a
    /// path has an unsupported origin or cannot select anything on any port.
    pub(super) fn selecting<'a>(
        &self,
        prefix: Option<&Path>,
        paths: impl ExactSizeIterator<Item = &'a Path>,
    ) -> Result<Vec<Path>, Status> {
        let paths = joined(prefix, paths)?;
        paths.iter().try_for_each(tree::check).map_err(|error| refusal(&error))?;
        Ok(paths)
    }

    fn get(&self, request: &messages::GetRequest) -> Result<messages::GetResponse, Status> {
        let form = Form::of_get(request).map_err(|error| refusal(&error))?;
        let paths = self.selecting(request.prefix.as_ref(), request.path.iter())?;
        let device = self.find(&paths)?;
        let ports = seen(&*device.ports(), device.switch_source().as_deref());
        let timestamp = (self.now)();
        let mut seen_before = BTreeSet::new();
        let mut nodes = 0;
        let mut notification = Vec::new();
        // Duplicate paths are answered once, and each path has its own notifications (section
        // 3.3.2).
        for path in paths.iter().filter(|path| seen_before.insert(path.encode_to_vec())) {
            if nodes >= ANSWER_LIMIT {
                let message = format!(
                    "The answer has more than {ANSWER_LIMIT} nodes; ask for less, or use Subscribe with ONCE."
                );
                return Err(Status::resource_exhausted(message));
            }
            let found = match form.written {
                Written::Scalars => {
                    tree::select(&ports, std::slice::from_ref(path), &form, timestamp)
                }
                Written::Json | Written::JsonIetf => json::select(&ports, path, &form, timestamp),
            };
            nodes += match form.written {
                Written::Scalars => found.iter().map(|one| one.update.len()).sum(),
                Written::Json | Written::JsonIetf => {
                    found.iter().map(Message::encoded_len).sum::<usize>() / NODE_BYTES
                }
            };
            notification.extend(found);
        }
        Ok(messages::GetResponse { notification })
    }

    async fn set(self, request: messages::SetRequest) -> Result<messages::SetResponse, Status> {
        let whole = Path::default();
        let updates = request.replace.iter().chain(&request.update);
        let named: Vec<&Path> = updates.map(|one| one.path.as_ref().unwrap_or(&whole)).collect();
        let paths = joined(request.prefix.as_ref(), named.into_iter())?;
        paths.iter().try_for_each(paths::check_origin).map_err(|error| refusal(&error))?;
        let device = self.find(&paths)?;
        let ports = device.ports();
        if !paths.iter().any(policy::is_of_model) {
            let set = setting::set(&*ports, &request, &paths, (self.now)());
            return set.map_err(|error| refusal(&error));
        }
        let Some(queues) = device.switch_source() else {
            return Err(Status::unimplemented("The device has no queues that can be set."));
        };
        setting::check_operations(&request).map_err(|error| refusal(&error))?;
        // A request is carried out as a whole or not at all, and one change cannot cover both
        // models.
        if !paths.iter().all(policy::is_of_model) {
            let message = "A request sets either interfaces or scheduler policies; send two.";
            return Err(Status::unimplemented(message));
        }
        let before = queues.published_queues();
        let configured = |port| before.configuration.0.get(&port).cloned();
        let change = policy::change(&request, &paths, &ports.ports(), configured);
        let change = QueueChange {
            // Settings that the model lacks are those of the current queues.
            expected_revision: Some(before.revision),
            ..change.map_err(|error| refusal(&error))?
        };
        queues.set_queues(change).await.map_err(|error| refusal(&error))?;
        Ok(setting::response(&request, &paths, (self.now)()))
    }
}

impl Service<http::Request<Body>> for GnmiServer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let server = self.clone();
        match request.uri().path() {
            "/gnmi.gNMI/Get" => Box::pin(async {
                let get = Method(move |request| server.get(&request));
                Ok(grpc().unary(get, request).await)
            }),
            "/gnmi.gNMI/Set" => Box::pin(async {
                let set = Later(move |request| server.clone().set(request));
                Ok(grpc().unary(set, request).await)
            }),
            "/gnmi.gNMI/Subscribe" => {
                Box::pin(async { Ok(grpc().streaming(Subscribe(server), request).await) })
            }
            "/gnmi.gNMI/Capabilities" => Box::pin(async {
                let tell = Method(|_: messages::CapabilityRequest| Ok(capabilities()));
                Ok(grpc().unary(tell, request).await)
            }),
            _ => Box::pin(async { Ok(Status::unimplemented("").into_http()) }),
        }
    }
}

fn grpc<A, Q>() -> Grpc<ProstCodec<A, Q>>
where
    A: Message + Send + 'static,
    Q: Message + Default + Send + 'static,
{
    Grpc::new(ProstCodec::new()).max_decoding_message_size(REQUEST_LIMIT)
}

/// Returns the paths of a request, each appended to the request's prefix. Returns an error if there
/// are too many, or if the prefix is too long.
fn joined<'a>(
    prefix: Option<&Path>,
    named: impl ExactSizeIterator<Item = &'a Path>,
) -> Result<Vec<Path>, Status> {
    let count = named.len();
    if count > PATHS {
        let message = format!("The request has {count} paths; {PATHS} are allowed.");
        return Err(Status::resource_exhausted(message));
    }
    let length = prefix.map_or(0, Message::encoded_len);
    if length > PREFIX_LIMIT {
        let message = format!("The prefix has {length} bytes; {PREFIX_LIMIT} are allowed.");
        return Err(Status::resource_exhausted(message));
    }
    Ok(named.map(|path| paths::join(prefix, path)).collect())
}

fn capabilities() -> messages::CapabilityResponse {
    let model = |module: Module| messages::ModelData {
        name: module.name().to_owned(),
        organization: "OpenConfig working group".to_owned(),
        version: module.version().to_owned(),
    };
    messages::CapabilityResponse {
        supported_models: Module::ALL.map(model).into(),
        supported_encodings: ENCODINGS.map(i32::from).into(),
        version: "0.7.0".to_owned(),
    }
}
