//! Tests of gNMI over loopback, with a client that sends raw messages.

mod encodings;
mod queues;
mod settings;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_core::Stream;
use tokio::net::TcpListener;
use tonic::{
    Code, Request, Status, Streaming, client::Grpc, codegen::http::uri::PathAndQuery,
    transport::Channel,
};
use tonic_prost::ProstCodec;

use super::{
    PortChange, PortSource, Watchers,
    messages::{
        Encoding, GetRequest, GetResponse, Mode, Path, PathElem, Poll, Request as Kind, Response,
        SetRequest, SetResponse, SubscribeRequest, SubscribeResponse, Subscription,
        SubscriptionList, SubscriptionMode, TypedValue, Update, Value,
    },
    port::{Port, PortCounters},
};
use crate::{
    server::{DeviceHandle, DeviceObserver, Server, ServerOptions},
    session::{Device, DeviceOptions},
    store::Nanos,
};

/// The number of a port that cannot be enabled or disabled.
const STUCK: u32 = 3;

/// A source of ports that change.
#[derive(Debug)]
struct Changing {
    ports: Mutex<Vec<Port>>,
    watchers: Watchers,
}

impl Changing {
    fn set(&self, number: u32, change: impl FnOnce(&mut Port)) -> bool {
        let mut ports = self.ports.lock().expect("no thread panics");
        let Some(port) = ports.iter_mut().find(|port| port.number == number) else { return false };
        let before = port.clone();
        change(port);
        self.watchers.notify(Some(&before), Some(port), Nanos(1));
        true
    }
}

impl PortSource for Changing {
    fn ports(&self) -> Vec<Port> {
        self.ports.lock().expect("no thread panics").clone()
    }

    fn watchers(&self) -> &Watchers {
        &self.watchers
    }

    fn counters(&self, port: u32) -> Option<PortCounters> {
        // The value exceeds what JSON readers that use floats can represent.
        let in_octets = u64::MAX - u64::from(port);
        Some(PortCounters { in_octets, in_pkts: 7, ..PortCounters::default() })
    }

    fn set_enabled(&self, port: u32, enabled: bool) -> bool {
        port != STUCK && self.set(port, |port| (port.up, port.enabled) = (enabled, enabled))
    }
}

struct Served {
    address: String,
    ports: Arc<Changing>,
    raised: Arc<Raised>,
    /// The device with the changing ports, whose id is 4.
    first: DeviceHandle,
    grpc: Grpc<Channel>,
}

/// An observer that records raised intervals.
#[derive(Debug, Default)]
struct Raised(Mutex<Vec<(u64, Duration, Duration)>>);

impl DeviceObserver for Raised {
    fn sample_interval_raised(&self, device: &DeviceHandle, asked: Duration, kept: Duration) {
        self.0.lock().expect("no thread panics").push((device.id(), asked, kept));
    }
}

impl Served {
    async fn new() -> Self {
        let raised = Arc::new(Raised::default());
        let device = |id: u64| {
            let device = Device::new(id, DeviceOptions::default(), Default::default());
            let device = DeviceHandle::new(device, Arc::clone(&raised) as Arc<dyn DeviceObserver>);
            let name = move |number| format!("d{id}-eth{number}");
            let port = |number| Port { number, name: name(number), up: true, enabled: true };
            (device, (1..=2).map(port).collect())
        };
        let ((first, ports), (other, fixed)) = (device(4), device(9));
        let ports = Arc::new(Changing { ports: Mutex::new(ports), watchers: Watchers::default() });
        first.set_port_source(Arc::clone(&ports) as Arc<dyn PortSource>);
        other.set_ports(fixed);
        let server =
            Server::new([first.clone(), other], ServerOptions::default()).expect("two ids");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(server.serve(listener, std::future::pending()));
        let channel = Channel::from_shared(format!("http://{address}")).expect("an address");
        let grpc = Grpc::new(channel.connect().await.expect("connected"));
        Self { address: address.to_string(), ports, raised, first, grpc }
    }

    async fn unary<Q, R>(&mut self, path: &'static str, request: Q) -> Result<R, Status>
    where
        Q: prost::Message + 'static,
        R: prost::Message + Default + 'static,
    {
        self.grpc.ready().await.expect("ready");
        let codec = ProstCodec::<Q, R>::new();
        let uri = PathAndQuery::from_static(path);
        Ok(soon(self.grpc.unary(Request::new(request), uri, codec)).await?.into_inner())
    }

    async fn get(&mut self, target: &str, path: &str) -> Result<GetResponse, Status> {
        let encoding = Encoding::Proto as i32;
        let path = vec![parse(target, path)];
        let request = GetRequest { path, encoding, ..GetRequest::default() };
        self.unary("/gnmi.gNMI/Get", request).await
    }

    async fn subscribe(
        &mut self,
        requests: impl IntoIterator<Item = Kind>,
    ) -> Streaming<SubscribeResponse> {
        let request = |request| SubscribeRequest { request: Some(request) };
        let messages = requests.into_iter().map(request).collect();
        self.subscribe_with(Requests { messages, ends: false }).await
    }

    async fn subscribe_with(&mut self, requests: Requests) -> Streaming<SubscribeResponse> {
        let codec = ProstCodec::<SubscribeRequest, SubscribeResponse>::new();
        let uri = PathAndQuery::from_static("/gnmi.gNMI/Subscribe");
        self.grpc.ready().await.expect("ready");
        let responses = soon(self.grpc.streaming(Request::new(requests), uri, codec)).await;
        responses.expect("a stream").into_inner()
    }
}

/// The requests that a client sends.
struct Requests {
    messages: VecDeque<SubscribeRequest>,
    /// Whether the client then ends its side of the stream.
    ends: bool,
}

impl Stream for Requests {
    type Item = SubscribeRequest;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        match self.messages.pop_front() {
            Some(request) => std::task::Poll::Ready(Some(request)),
            None if self.ends => std::task::Poll::Ready(None),
            None => std::task::Poll::Pending,
        }
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("in time")
}

fn parse(target: &str, text: &str) -> Path {
    let elem = |text: &str| match text.split_once('[') {
        Some((name, key)) => PathElem {
            name: name.to_owned(),
            key: [("name".to_owned(), key.trim_end_matches(']').to_owned())].into(),
        },
        None => PathElem { name: text.to_owned(), ..PathElem::default() },
    };
    Path { target: target.to_owned(), elem: text.split('/').map(elem).collect(), ..Path::default() }
}

#[tokio::test]
async fn the_client_receives_ports_and_their_changes() {
    let served = Served::new().await;
    let options = crate::client::ClientOptions::default();
    let client = soon(crate::client::Client::connect(&served.address, 4, &options)).await;
    let client = client.expect("connected");
    let mut watch = soon(client.watch_ports()).await.expect("a subscription");
    let mut changes = Vec::new();
    loop {
        match soon(watch.next()).await.expect("no error").expect("not the end") {
            PortChange::Synchronized => break,
            change => changes.push(change),
        }
    }
    assert_eq!(changes, [1, 2].map(|number| PortChange::Is { number, up: true }));
    served.ports.set(2, |port| port.up = false);
    let change = soon(watch.next()).await.expect("no error");
    assert_eq!(change, Some(PortChange::Is { number: 2, up: false }));
    let gone = served.ports.ports()[1].clone();
    assert_eq!(served.ports.watchers.notify(Some(&gone), None, Nanos(1)), 1);
    assert_eq!(soon(watch.next()).await.expect("no error"), Some(PortChange::Gone { number: 2 }));
    let other = soon(client.for_device(77).watch_ports()).await;
    let refused = match other {
        Ok(mut watch) => soon(watch.next()).await.expect_err("there is no such device"),
        Err(status) => status,
    };
    assert_eq!(refused.code(), Code::NotFound);
}

fn list(mode: Mode, path: &str) -> Kind {
    let subscription =
        vec![Subscription { path: Some(parse("", path)), ..Subscription::default() }];
    Kind::Subscribe(SubscriptionList { subscription, mode: mode as i32, ..Default::default() })
}

/// Returns the texts of the next update for a subscriber, or `None` for the sync message.
async fn next_texts(responses: &mut Streaming<SubscribeResponse>) -> Option<Vec<String>> {
    let message = soon(responses.message()).await.expect("no error").expect("not the end");
    match message.response.expect("a response") {
        Response::Sync(all) => {
            assert!(all);
            None
        }
        Response::Update(notification) => {
            assert!(notification.timestamp > 0);
            let text = |update: &super::messages::Update| match update.val.clone()?.value? {
                Value::Text(text) => Some(text),
                _ => None,
            };
            Some(notification.update.iter().filter_map(text).collect())
        }
    }
}

const STATUS: &str = "interfaces/interface/state/oper-status";

#[tokio::test]
async fn get_answers_for_the_device_that_is_the_target() {
    let mut served = Served::new().await;
    let first_name = |response: GetResponse| {
        let value = response.notification[0].update[0].val.clone().expect("a value").value;
        assert_eq!(response.notification.len(), 2);
        value
    };
    for (target, name) in [("", "d4-eth1"), ("4", "d4-eth1"), ("9", "d9-eth1")] {
        let response = served.get(target, "interfaces/interface/state/name").await;
        let name = Some(Value::Text(name.to_owned()));
        assert_eq!(first_name(response.expect("known")), name);
    }
    let status = served.get("5", "interfaces").await.expect_err("no such device");
    assert_eq!(status.code(), Code::NotFound);
    let status = served.get("", "system").await.expect_err("no such path");
    assert_eq!(status.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_stream_sends_changes() {
    let mut served = Served::new().await;
    let mut responses = served.subscribe([list(Mode::Stream, STATUS)]).await;
    let up = Some(vec!["UP".to_owned()]);
    let down = Some(vec!["DOWN".to_owned()]);
    assert_eq!(next_texts(&mut responses).await, up);
    assert_eq!(next_texts(&mut responses).await, up);
    assert_eq!(next_texts(&mut responses).await, None);
    for up in [false, false, true] {
        assert!(served.ports.set(2, |port| port.up = up));
    }
    assert_eq!(next_texts(&mut responses).await, down);
    assert_eq!(next_texts(&mut responses).await, up);
}

#[tokio::test]
async fn a_stream_continues_after_the_client_has_ended_its_requests() {
    let mut served = Served::new().await;
    let request = SubscribeRequest { request: Some(list(Mode::Stream, STATUS)) };
    let mut responses =
        served.subscribe_with(Requests { messages: [request].into(), ends: true }).await;
    for expected in [true, true, false] {
        assert_eq!(next_texts(&mut responses).await.is_some(), expected);
    }
    assert!(served.ports.set(2, |port| port.up = false));
    assert_eq!(next_texts(&mut responses).await, Some(vec!["DOWN".to_owned()]));
}

#[tokio::test]
async fn once_ends_and_poll_repeats() {
    let mut served = Served::new().await;
    let mut once = served.subscribe([list(Mode::Once, STATUS)]).await;
    for expected in [true, true, false] {
        assert_eq!(next_texts(&mut once).await.is_some(), expected);
    }
    assert_eq!(soon(once.message()).await.expect("no error"), None);

    let polls = [list(Mode::Poll, STATUS), Kind::Poll(Poll {})];
    let mut polled = served.subscribe(polls).await;
    for expected in [true, true, false, true, true, false] {
        assert_eq!(next_texts(&mut polled).await.is_some(), expected);
    }
}

#[tokio::test]
async fn an_invalid_subscription_is_refused() {
    let mut served = Served::new().await;
    let twice = [list(Mode::Stream, "interfaces/none"), list(Mode::Stream, STATUS)];
    for requests in [vec![Kind::Poll(Poll {})], twice.to_vec()] {
        let mut responses = served.subscribe(requests).await;
        let status = soon(responses.message()).await.expect_err("refused");
        assert_eq!(status.code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn a_short_request_does_not_become_many_long_paths() {
    let mut served = Served::new().await;
    let mut get = async |prefix: &str, paths| {
        let (prefix, path) = (Some(parse("", prefix)), vec![Path::default(); paths]);
        let encoding = Encoding::Proto as i32;
        let request = GetRequest { prefix, path, encoding, ..GetRequest::default() };
        served.unary::<_, GetResponse>("/gnmi.gNMI/Get", request).await
    };
    assert_eq!(get("interfaces", 4096).await.expect("many").notification.len(), 2);
    for (prefix, paths, expected) in [
        ("interfaces", 4097, "4097 paths"),
        (&*"interfaces/".repeat(400), 1, "The prefix has"),
        (&*"interfaces/".repeat(30_000), 1, "too large"),
    ] {
        let status = get(prefix, paths).await.expect_err("refused");
        let codes = [Code::ResourceExhausted, Code::OutOfRange];
        assert!(codes.contains(&status.code()), "{status:?}");
        assert!(status.message().contains(expected), "{status:?}");
    }
}

/// Sampled values are sent again at each interval, changed or not.
#[tokio::test]
async fn samples_are_sent_until_the_stream_ends() {
    let mut served = Served::new().await;
    let Kind::Subscribe(mut sampled) = list(Mode::Stream, STATUS) else { unreachable!() };
    sampled.subscription[0].mode = SubscriptionMode::Sample as i32;
    let mut responses = served.subscribe([Kind::Subscribe(sampled)]).await;
    let up = Some(vec!["UP".to_owned()]);
    for expected in [&up, &up, &None, &up, &up, &up, &up] {
        assert_eq!(next_texts(&mut responses).await, *expected);
    }
}

/// Clients of finsy request samples every 10 µs.
#[tokio::test]
async fn an_interval_that_is_too_short_is_raised_and_reported() {
    let mut served = Served::new().await;
    let sampled = |nanoseconds| {
        let Kind::Subscribe(mut list) = list(Mode::Stream, STATUS) else { unreachable!() };
        list.subscription[0].mode = SubscriptionMode::Sample as i32;
        list.subscription[0].sample_interval = nanoseconds;
        Kind::Subscribe(list)
    };
    let up = Some(vec!["UP".to_owned()]);
    for nanoseconds in [1, 10_000, 1_000_000, 2_000_000] {
        let mut responses = served.subscribe([sampled(nanoseconds)]).await;
        for expected in [&up, &up, &None, &up, &up, &up, &up] {
            assert_eq!(next_texts(&mut responses).await, *expected, "{nanoseconds}");
        }
    }
    let kept = Duration::from_millis(1);
    let raised = [1, 10_000].map(|asked| (4, Duration::from_nanos(asked), kept));
    assert_eq!(*served.raised.0.lock().expect("no thread panics"), raised);
}

/// A sampled leaf is sent only at its interval, but the removal of its port is sent immediately.
#[tokio::test]
async fn a_sampled_leaf_is_not_sent_when_it_changes() {
    let mut served = Served::new().await;
    let Kind::Subscribe(mut sampled) = list(Mode::Stream, STATUS) else { unreachable!() };
    sampled.subscription[0].mode = SubscriptionMode::Sample as i32;
    sampled.subscription[0].sample_interval = 3_600_000_000_000;
    let mut responses = served.subscribe([Kind::Subscribe(sampled)]).await;
    while next_texts(&mut responses).await.is_some() {}
    assert!(served.ports.set(2, |port| port.up = false));
    let gone = served.ports.ports()[1].clone();
    assert_eq!(served.ports.watchers.notify(Some(&gone), None, Nanos(1)), 1);
    let message = soon(responses.message()).await.expect("no error").expect("not the end");
    let Some(Response::Update(notification)) = message.response else { panic!("{message:?}") };
    assert_eq!((notification.update.len(), notification.delete.len()), (0, 1));
}

#[tokio::test]
async fn a_port_is_switched_off_and_on_by_set() {
    let mut served = Served::new().await;
    let mut responses =
        served.subscribe([list(Mode::Stream, "interfaces/interface/state/admin-status")]).await;
    while next_texts(&mut responses).await.is_some() {}
    let mut set = async |target: &str, path: &str, value: Value| {
        let val = Some(TypedValue { value: Some(value) });
        let update = vec![Update { path: Some(parse("", path)), val }];
        let prefix = Some(Path { target: target.to_owned(), ..Path::default() });
        let request = SetRequest { prefix, update, ..SetRequest::default() };
        served.unary::<_, SetResponse>("/gnmi.gNMI/Set", request).await
    };
    let enabled = "interfaces/interface[d4-eth2]/config/enabled";
    let answer = set("4", enabled, Value::Flag(false)).await.expect("it is a port");
    assert_eq!((answer.response.len(), answer.response[0].op), (1, 3));
    assert_eq!(next_texts(&mut responses).await, Some(vec!["DOWN".to_owned()]));
    set("4", enabled, Value::JsonIetf(b"true".to_vec())).await.expect("it is a port");
    assert_eq!(next_texts(&mut responses).await, Some(vec!["UP".to_owned()]));
    for (target, path, value, code) in [
        ("4", enabled, Value::Number(1), Code::InvalidArgument),
        ("4", "interfaces/interface[none]/config/enabled", Value::Flag(true), Code::NotFound),
        (
            "4",
            "interfaces/interface[d4-eth2]/state/ifindex",
            Value::Flag(true),
            Code::Unimplemented,
        ),
        (
            "9",
            "interfaces/interface[d9-eth2]/config/enabled",
            Value::Flag(false),
            Code::FailedPrecondition,
        ),
    ] {
        assert_eq!(set(target, path, value).await.expect_err("refused").code(), code, "{path}");
    }
}
