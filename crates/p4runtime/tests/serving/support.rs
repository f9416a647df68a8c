//! Support for the tests: a server with devices, whose events are recorded.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use p4runtime::{
    arbitration::{ElectionId, RoleKey, StreamId},
    client::{Client, ClientOptions, StreamReceiver, StreamSender},
    p4info::text,
    proto::v1::{self, forwarding_pipeline_config::Cookie},
    server::{
        ConnectionObserver, DeviceHandle, DeviceObserver, PacketIn, PacketInMetadata, Server,
        ServerOptions,
    },
    session::{Device, DeviceOptions, Pipeline, PipelineRegistry},
    status::EntityError,
};
use tokio::{
    net::TcpListener,
    sync::{Notify, oneshot},
    task::JoinHandle,
};

pub(crate) const TABLE: u32 = 0x0200_0001;
pub(crate) const DIGEST: u32 = 0x1700_0001;
/// A time longer than any step takes. Only a failing test waits this long.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

const P4INFO: &str = r#"
    tables {
      preamble { id: 0x02000001 name: "ingress.hosts" alias: "hosts" }
      match_fields { id: 1 name: "address" bitwidth: 32 match_type: EXACT }
      action_refs { id: 0x01000001 }
      size: 5000
    }
    actions { preamble { id: 0x01000001 name: "ingress.drop" alias: "drop" } }
    digests {
      preamble { id: 0x17000001 name: "learn" alias: "learn" }
      type_spec { bitstring { bit { bitwidth: 48 } } }
    }
    controller_packet_metadata {
      preamble { id: 0x04000001 name: "packet_in" alias: "packet_in" }
      metadata { id: 1 name: "ingress_port" bitwidth: 9 }
      metadata { id: 2 name: "_pad" bitwidth: 7 }
    }
    controller_packet_metadata {
      preamble { id: 0x04000002 name: "packet_out" alias: "packet_out" }
      metadata { id: 1 name: "egress_port" bitwidth: 9 }
    }
"#;

pub(crate) fn pipeline(cookie: u64) -> v1::ForwardingPipelineConfig {
    v1::ForwardingPipelineConfig {
        p4info: Some(text::parse(P4INFO).expect("valid text")),
        p4_device_config: Bytes::from_static(b"device"),
        cookie: Some(Cookie { cookie }),
    }
}

pub(crate) fn host(address: u32) -> v1::Update {
    let value = Bytes::copy_from_slice(&(0x0a00_0000 + address).to_be_bytes());
    let exact = v1::field_match::Exact { value };
    let field = v1::FieldMatch {
        field_id: 1,
        field_match_type: Some(v1::field_match::FieldMatchType::Exact(exact)),
    };
    let action = v1::Action { action_id: 0x0100_0001, params: Vec::new() };
    let entry = v1::TableEntry {
        table_id: TABLE,
        r#match: vec![field],
        action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
        ..Default::default()
    };
    v1::Update {
        r#type: v1::update::Type::Insert as i32,
        entity: Some(v1::Entity { entity: Some(v1::entity::Entity::TableEntry(entry)) }),
    }
}

pub(crate) fn packet_in(payload: impl Into<Bytes>, tag: u64) -> PacketIn {
    PacketIn { payload: payload.into(), metadata: PacketInMetadata::IngressPort(5), tag }
}

/// The events that an observer receives, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    ConnectionOpened,
    ConnectionClosed,
    StreamOpened,
    StreamClosed,
    Primary(bool),
    Pipeline,
    /// The number of updates, and the number of those that succeeded.
    Written(usize, usize),
    PacketOut(v1::PacketOut),
    Sent(u64),
    ListSent(u64),
    /// A notification with this number of idle entries.
    IdleSent(usize),
    Acknowledged(u64),
}

#[derive(Default)]
pub(crate) struct Log {
    events: Mutex<Vec<Event>>,
    more: Notify,
}

impl Log {
    fn push(&self, event: Event) {
        self.events.lock().expect("lock").push(event);
        self.more.notify_one();
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().expect("lock").clone()
    }

    /// Waits until `wanted` returns a result for the recorded events.
    pub(crate) async fn wait<T>(&self, wanted: impl Fn(&[Event]) -> Option<T>) -> T {
        let waiting = async {
            loop {
                if let Some(found) = wanted(&self.events.lock().expect("lock")) {
                    return found;
                }
                self.more.notified().await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting)
            .await
            .unwrap_or_else(|_| panic!("{:?}", self.events()))
    }

    pub(crate) async fn wait_for(&self, event: Event) {
        self.wait(|all| all.contains(&event).then_some(())).await;
    }
}

impl DeviceObserver for Log {
    fn stream_opened(&self, _device: &DeviceHandle, _stream: StreamId) {
        self.push(Event::StreamOpened);
    }

    fn stream_closed(&self, _device: &DeviceHandle, _stream: StreamId) {
        self.push(Event::StreamClosed);
    }

    fn primary_changed(&self, _device: &DeviceHandle, _role: &RoleKey, stream: Option<StreamId>) {
        self.push(Event::Primary(stream.is_some()));
    }

    fn pipeline_committed(&self, _device: &DeviceHandle, _pipeline: &Arc<Pipeline>) {
        self.push(Event::Pipeline);
    }

    fn written(
        &self,
        _device: &DeviceHandle,
        request: &v1::WriteRequest,
        outcomes: &[Result<(), EntityError>],
    ) {
        let succeeded = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        self.push(Event::Written(request.updates.len(), succeeded));
    }

    fn packet_outs(
        &self,
        _device: &DeviceHandle,
        _stream: StreamId,
        packets: &mut Vec<v1::PacketOut>,
    ) {
        packets.drain(..).for_each(|packet| self.push(Event::PacketOut(packet)));
    }

    fn packet_in_sent(&self, tag: u64) {
        self.push(Event::Sent(tag));
    }

    fn digest_list_sent(&self, list_id: u64) {
        self.push(Event::ListSent(list_id));
    }

    fn idle_timeout_sent(&self, notification: &v1::IdleTimeoutNotification) {
        self.push(Event::IdleSent(notification.table_entry.len()));
    }

    fn digest_acknowledged(&self, _device: &DeviceHandle, ack: &v1::DigestListAck) {
        assert_eq!(ack.digest_id, DIGEST);
        self.push(Event::Acknowledged(ack.list_id));
    }
}

impl ConnectionObserver for Log {
    fn connection_opened(&self, _peer: SocketAddr) {
        self.push(Event::ConnectionOpened);
    }

    fn connection_closed(&self, _peer: SocketAddr) {
        self.push(Event::ConnectionClosed);
    }
}

/// A server with its devices, which are numbered from 1.
pub(crate) struct Served {
    pub(crate) address: String,
    pub(crate) devices: Vec<DeviceHandle>,
    pub(crate) log: Arc<Log>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

impl Served {
    pub(crate) async fn new(count: u64, options: ServerOptions) -> Self {
        let registry = Arc::new(PipelineRegistry::new());
        let device = |id| Device::new(id, DeviceOptions::default(), Arc::clone(&registry));
        Self::with(1..=count, device, options).await
    }

    /// Starts a server with the devices that `device` creates for these numbers.
    pub(crate) async fn with(
        numbers: impl Iterator<Item = u64>,
        device: impl Fn(u64) -> Device,
        options: ServerOptions,
    ) -> Self {
        let log = Arc::new(Log::default());
        let handle = |number| DeviceHandle::new(device(number), Arc::clone(&log) as _);
        let devices: Vec<_> = numbers.map(handle).collect();
        let options = ServerOptions { observer: Some(Arc::clone(&log) as _), ..options };
        let server = Server::new(devices.clone(), options).expect("distinct ids");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            // If the test has failed, the sender is dropped and the server is dropped with its
            // runtime.
            if stopped.await.is_err() {
                std::future::pending().await
            }
        };
        let running = tokio::spawn(server.serve(listener, stopped));
        Self { address, devices, log, stop: Some(stop), running }
    }

    pub(crate) async fn client(&self) -> Client {
        let options = ClientOptions::default();
        Client::connect(&self.address, 1, &options).await.expect("connected")
    }

    /// Connects a client that is primary and has pushed the pipeline.
    pub(crate) async fn primary(&self) -> (Client, StreamSender, StreamReceiver) {
        let mut client = self.client().await;
        let (sender, receiver) =
            client.become_primary("", ElectionId(1), TIMEOUT).await.expect("primary");
        client.ensure_pipeline(pipeline(1)).await.expect("pushed");
        self.log.wait_for(Event::Pipeline).await;
        (client, sender, receiver)
    }

    /// Tells the server to stop.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).expect("the server runs");
        }
    }

    pub(crate) async fn stopped(self) {
        let running = tokio::time::timeout(TIMEOUT, self.running);
        running.await.expect("in time").expect("no panic");
    }
}

/// Awaits a future, and fails the test if it takes too long.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.expect("in time")
}
