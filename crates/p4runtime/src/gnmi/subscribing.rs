//! The Subscribe RPC in its three modes.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use futures_core::Stream;
use grpc::{Outbox, OutboxReader, QueueLimit, When};
use tokio::time::{Instant, timeout_at};
use tonic::{Request, Response, Status, Streaming, codegen::BoxFuture, server::StreamingService};

use super::{
    PortSource, Watch,
    form::Form,
    messages::{self, Mode, Path, SubscribeRequest, SubscribeResponse, SubscriptionList},
    sampling::{SHORTEST, Samples, is_sampled},
    seen,
    service::GnmiServer,
    tree,
};
use crate::{control::SwitchSource, status::refusal};

/// The limit of the messages and bytes that may wait to be sent to a gNMI subscriber. Its stream is
/// closed at twice these numbers.
const QUEUE: QueueLimit = QueueLimit { messages: 4096, bytes: 16 << 20 };

/// The RPC Subscribe, as a tonic service.
pub(super) struct Subscribe(pub(super) GnmiServer);

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

/// Serves a subscriber until it leaves.
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
    let mode = Mode::try_from(list.mode);
    let mut subscriber = Subscriber::new(server, &list, outbox)?;
    if mode == Ok(Mode::Stream) {
        requests.go_on_without = true;
        // The subscription starts before the initial values are sent, so that no change in between
        // is lost.
        subscriber.watch(&list);
    }
    subscriber.synchronize();
    if mode == Ok(Mode::Once) {
        return Ok(());
    }
    loop {
        let request = match subscriber.samples.next_due() {
            None => requests.next(outbox).await?,
            Some(due) => match timeout_at(due.into(), requests.next(outbox)).await {
                Ok(request) => request?,
                Err(_) => {
                    subscriber.sample();
                    continue;
                }
            },
        };
        let Some(request) = request else { return Ok(()) };
        match (request.request, mode) {
            (Some(messages::Request::Poll(_)), Ok(Mode::Poll)) => subscriber.synchronize(),
            _ => return Err(Status::invalid_argument("A second subscription is not possible.")),
        }
    }
}

/// A gNMI client and its subscriptions.
struct Subscriber<'a> {
    server: &'a GnmiServer,
    outbox: &'a Arc<Outbox<SubscribeResponse>>,
    ports: Arc<dyn PortSource>,
    queues: Option<Arc<dyn SwitchSource>>,
    /// The paths of the subscriptions, joined with their prefix.
    paths: Vec<Path>,
    form: Form,
    updates_only: bool,
    samples: Samples,
    _counted: Option<Counted>,
}

impl<'a> Subscriber<'a> {
    fn new(
        server: &'a GnmiServer,
        list: &SubscriptionList,
        outbox: &'a Arc<Outbox<SubscribeResponse>>,
    ) -> Result<Self, Status> {
        let form = Form::of_subscription(list).map_err(|error| refusal(&error))?;
        let whole = Path::default();
        let paths = list.subscription.iter().map(|one| one.path.as_ref().unwrap_or(&whole));
        let paths = server.selecting(list.prefix.as_ref(), paths)?;
        let device = server.find(&paths)?;
        let mut subscriber = Self {
            server,
            outbox,
            ports: device.ports(),
            queues: device.switch_source(),
            paths,
            form,
            updates_only: list.updates_only,
            samples: Samples::default(),
            _counted: None,
        };
        if Mode::try_from(list.mode) == Ok(Mode::Stream) {
            let now = Instant::now().into_std();
            subscriber.samples = Samples::of(&list.subscription, &subscriber.paths, now);
            if let Some(asked) = subscriber.samples.raised() {
                device.sample_interval_raised(asked, SHORTEST);
            }
            let is_sampled = !subscriber.samples.is_empty();
            subscriber._counted = is_sampled.then(|| Counted::new(&server.sampled));
        }
        Ok(subscriber)
    }

    /// Begins to send changes to the client: changes of leaves with an on-change subscription, and
    /// the removal of ports.
    fn watch(&self, list: &SubscriptionList) {
        let (sampled, paths) = list
            .subscription
            .iter()
            .zip(self.paths.clone())
            .partition::<Vec<_>, _>(|(subscription, _)| is_sampled(subscription));
        let alone = |paths: Vec<(_, Path)>| paths.into_iter().map(|(_, path)| path).collect();
        let watch = Watch { paths: alone(paths), sampled: alone(sampled), form: self.form.clone() };
        self.ports.watchers().add(self.outbox, watch);
    }

    /// Sends the client the current values, followed by the message that says that all have been
    /// sent.
    fn synchronize(&mut self) {
        if !self.updates_only {
            let ports = seen(&*self.ports, self.queues.as_deref());
            let timestamp = (self.server.now)();
            for notification in tree::select(&ports, &self.paths, &self.form, timestamp) {
                self.outbox.push_always(SubscribeResponse::update(notification));
            }
            self.samples.sent_all(&ports);
        }
        self.outbox.push_always(SubscribeResponse::sync());
    }

    /// Sends the client the samples whose time has come.
    fn sample(&mut self) {
        let now = Instant::now();
        let ports = seen(&*self.ports, self.queues.as_deref());
        let due = self.samples.take(&ports, &self.form, now.into_std(), (self.server.now)());
        // If a slow reader's queue is full, the values are sent with a later sample.
        self.outbox.push_all(due.into_iter().map(SubscribeResponse::update), When::InTurn);
        let took = now.elapsed();
        let streams = self.server.sampled.load(Ordering::Relaxed);
        self.samples.rest(took, streams, now.into_std() + took);
    }
}

/// A guard that counts a stream with sampled subscriptions. Dropping it decreases the count.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(streams: &Arc<AtomicUsize>) -> Self {
        streams.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(streams))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The incoming requests of a gNMI subscriber.
struct Requests {
    /// The stream of requests, or `None` if it has ended and the subscription continues.
    open: Option<Streaming<SubscribeRequest>>,
    /// Whether the subscription continues after the stream of requests has ended. Clients in Python
    /// send one request and end the stream.
    go_on_without: bool,
}

impl Requests {
    /// Returns the next request of the subscriber, or `None` when either direction of the stream
    /// has ended.
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
