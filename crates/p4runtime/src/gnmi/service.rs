//! The RPCs of gNMI. They are few enough to be dispatched by hand.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use grpc::{Method, Outbox, OutboxReader, QueueLimit, When};
use prost::Message;
use tokio::time::timeout_at;
use tonic::{
    Request, Response, Status, Streaming,
    body::Body,
    codegen::{BoxFuture, Service, http},
    server::{Grpc, StreamingService},
};
use tonic_prost::ProstCodec;

use super::{
    PortSource, Seen,
    messages::{self, Mode, Path, SubscribeRequest, SubscribeResponse},
    sampling::Samples,
    seen, setting, tree,
};
use crate::status::{refusal, shortened};

/// What may wait for a subscriber, who is cut off at twice that.
const QUEUE: QueueLimit = QueueLimit { messages: 4096, bytes: 16 << 20 };
/// `gnmi.Encoding.PROTO`: scalars as typed values.
const PROTO: i32 = 2;
/// The largest request in bytes: an empty path of two bytes takes a hundred in memory.
const REQUEST_LIMIT: usize = 256 << 10;
/// The most paths of a request, each of which is kept with the prefix before it.
const PATHS: usize = 4096;
/// The longest prefix in bytes.
const PREFIX_LIMIT: usize = 4096;

/// Which ports a request is about: those of the device that its target names by id, or of the
/// first one.
pub(crate) type FindPorts = dyn Fn(&str) -> Option<Arc<dyn PortSource>> + Send + Sync;

/// The gNMI service of a server.
#[derive(Clone)]
pub(crate) struct GnmiServer {
    ports: Arc<FindPorts>,
    now: fn() -> i64,
}

impl GnmiServer {
    /// `now` is in nanoseconds since the Unix epoch.
    pub(crate) fn new(ports: Arc<FindPorts>, now: fn() -> i64) -> Self {
        Self { ports, now }
    }

    fn find(&self, paths: &[Path]) -> Result<Arc<dyn PortSource>, Status> {
        let target =
            paths.iter().map(|path| path.target.as_str()).find(|target| !target.is_empty());
        let target = target.unwrap_or_default();
        (self.ports)(target)
            .ok_or_else(|| Status::not_found(shortened(format!("There is no target {target:?}."))))
    }

    fn select(
        &self,
        ports: &[Seen],
        paths: &[Path],
    ) -> Result<Vec<messages::Notification>, Status> {
        tree::select(ports, paths, (self.now)()).ok_or_else(|| {
            Status::invalid_argument("A path leads nowhere; interfaces/interface is what there is.")
        })
    }

    fn get(&self, request: &messages::GetRequest) -> Result<messages::GetResponse, Status> {
        let paths = joined(request.prefix.as_ref(), request.path.iter())?;
        let ports = seen(&*self.find(&paths)?);
        Ok(messages::GetResponse { notification: self.select(&ports, &paths)? })
    }

    fn set(&self, request: &messages::SetRequest) -> Result<messages::SetResponse, Status> {
        let prefix = request.prefix.as_ref();
        let whole = Path::default();
        let updates = request.replace.iter().chain(&request.update);
        let named: Vec<&Path> = updates.map(|one| one.path.as_ref().unwrap_or(&whole)).collect();
        let paths = joined(prefix, named.into_iter())?;
        setting::set(&*self.find(&paths)?, request, &paths, (self.now)())
            .map_err(|error| refusal(&error))
    }

    /// Sends the current values and says that these were all.
    fn synchronize(
        &self,
        ports: &dyn PortSource,
        paths: &[Path],
        updates_only: bool,
        outbox: &Outbox<SubscribeResponse>,
    ) -> Result<(), Status> {
        if !updates_only {
            for notification in self.select(&seen(ports), paths)? {
                outbox.push_always(SubscribeResponse::update(notification));
            }
        }
        outbox.push_always(SubscribeResponse::sync());
        Ok(())
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
                let set = Method(move |request| server.set(&request));
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

/// The paths with the prefix before them.
fn joined<'a>(
    prefix: Option<&Path>,
    paths: impl ExactSizeIterator<Item = &'a Path>,
) -> Result<Vec<Path>, Status> {
    let count = paths.len();
    if count > PATHS {
        let said = format!("The request has {count} paths; {PATHS} are allowed.");
        return Err(Status::resource_exhausted(said));
    }
    let length = prefix.map_or(0, Message::encoded_len);
    if length > PREFIX_LIMIT {
        let said = format!("The prefix has {length} bytes; {PREFIX_LIMIT} are allowed.");
        return Err(Status::resource_exhausted(said));
    }
    Ok(paths.map(|path| tree::join(prefix, path)).collect())
}

fn capabilities() -> messages::CapabilityResponse {
    let model = |name: &str, version: &str| messages::ModelData {
        name: name.to_owned(),
        organization: "OpenConfig working group".to_owned(),
        version: version.to_owned(),
    };
    messages::CapabilityResponse {
        supported_models: vec![
            model("openconfig-interfaces", "2.4.1"),
            model("openconfig-p4rt", "0.1.0"),
        ],
        supported_encodings: vec![PROTO],
        version: "0.7.0".to_owned(),
    }
}

struct Subscribe(GnmiServer);

impl StreamingService<SubscribeRequest> for Subscribe {
    type Response = SubscribeResponse;
    type ResponseStream = OutboxReader<SubscribeResponse>;
    type Future = BoxFuture<Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: Request<Streaming<SubscribeRequest>>) -> Self::Future {
        let (outbox, reader) = Outbox::new(QUEUE);
        let server = self.0.clone();
        tokio::spawn(async move {
            let ended = subscribed(&server, request.into_inner(), &outbox).await;
            outbox.end(ended.err());
        });
        Box::pin(std::future::ready(Ok(Response::new(reader))))
    }
}

/// Reads what a subscriber sends until it leaves.
async fn subscribed(
    server: &GnmiServer,
    requests: Streaming<SubscribeRequest>,
    outbox: &Arc<Outbox<SubscribeResponse>>,
) -> Result<(), Status> {
    let mut requests = Requests { open: Some(requests), go_on_without: false };
    let first = requests.next(outbox).await?.and_then(|request| request.request);
    let Some(messages::Request::Subscribe(list)) = first else {
        return Err(Status::invalid_argument("The first message must be a subscription list."));
    };
    let whole = Path::default();
    let paths = list.subscription.iter().map(|one| one.path.as_ref().unwrap_or(&whole));
    let paths = joined(list.prefix.as_ref(), paths)?;
    let ports = server.find(&paths)?;
    let mode = Mode::try_from(list.mode);
    let mut samples = Samples::default();
    if mode == Ok(Mode::Stream) {
        requests.go_on_without = true;
        samples = Samples::of(&list.subscription, &paths, tokio::time::Instant::now().into_std())
            .map_err(|error| refusal(&error))?;
        // First, so that no change is lost between the two.
        ports.watchers().add(outbox, paths.clone());
    }
    server.synchronize(&*ports, &paths, list.updates_only, outbox)?;
    if mode == Ok(Mode::Once) {
        return Ok(());
    }
    loop {
        let due = samples.next_due();
        let request = match due {
            None => requests.next(outbox).await?,
            Some(due) => match timeout_at(due.into(), requests.next(outbox)).await {
                Ok(request) => request?,
                Err(_) => {
                    let now = tokio::time::Instant::now().into_std();
                    for notification in samples.take(&seen(&*ports), now, (server.now)()) {
                        // What does not fit waits for the next sample: a reader is slow.
                        outbox.push_all([SubscribeResponse::update(notification)], When::InTurn);
                    }
                    continue;
                }
            },
        };
        let Some(request) = request else { return Ok(()) };
        match (request.request, mode) {
            (Some(messages::Request::Poll(_)), Ok(Mode::Poll)) => {
                server.synchronize(&*ports, &paths, list.updates_only, outbox)?;
            }
            _ => return Err(Status::invalid_argument("A second subscription is not possible.")),
        }
    }
}

/// What a subscriber sends.
struct Requests {
    /// Until it has said that no more comes.
    open: Option<Streaming<SubscribeRequest>>,
    /// Whether it is still to be told then: clients in Python hand over one request and no more.
    go_on_without: bool,
}

impl Requests {
    /// The next request, or `None` when either side of the stream has ended.
    async fn next(
        &mut self,
        outbox: &Outbox<SubscribeResponse>,
    ) -> Result<Option<SubscribeRequest>, Status> {
        std::future::poll_fn(|context| {
            if let Some(requests) = &mut self.open
                && let Poll::Ready(request) = Pin::new(requests).poll_next(context)
            {
                match request.transpose() {
                    Ok(None) if self.go_on_without => self.open = None,
                    other => return Poll::Ready(other),
                }
            }
            outbox.poll_closed(context).map(|()| Ok(None))
        })
        .await
    }
}
