//! Support for tests of a running switch: a switch whose ports are in memory, a P4 program for it,
//! and a P4Runtime controller that connects over TCP.

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions, StreamReceiver, StreamSender};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, set_forwarding_pipeline_config_request::Action,
    write_request::Atomicity,
};
use packetio::{Burst, Frame, Port, memory};
use softswitch::{
    DeviceConfig, Durability, Log, Options, Segments, StartError, Switch, V1ModelSettings,
    Verbosity,
};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const DEVICE: u64 = 7;
pub(crate) const CPU_PORT: u32 = 255;
/// The time after which a test fails if an expected event has not happened.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A program that forwards packets by their first byte. For a byte without a table entry, it sends
/// a packet-in and a digest.
pub(crate) const PROGRAM: &str = r#"
#include <v1model.p4>
@controller_header("packet_in") header packet_in_t { bit<9> ingress_port; bit<7> _pad; }
@controller_header("packet_out") header packet_out_t { bit<9> egress_port; bit<7> _pad; }
header h_t { bit<8> to; bit<8> from; }
struct headers { packet_out_t packet_out; packet_in_t packet_in; h_t h; }
struct meta { }
struct seen_t { bit<8> from; bit<9> port; }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        transition select(s.ingress_port) { 255: from_controller; default: data; }
    }
    state from_controller { b.extract(h.packet_out); transition data; }
    state data { b.extract(h.h); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) hits;
    action forward(bit<9> port) { s.egress_spec = port; hits.count(); }
    action multicast(bit<16> group) { s.mcast_grp = group; hits.count(); }
    action ask() {
        s.egress_spec = 255;
        h.packet_in.setValid();
        h.packet_in.ingress_port = s.ingress_port;
        digest<seen_t>(1, { h.h.from, s.ingress_port });
        hits.count();
    }
    table stations {
        key = { h.h.to: exact; }
        actions = { forward; multicast; ask; }
        default_action = ask();
        size = 1048576;
        counters = hits;
    }
    apply {
        if (h.packet_out.isValid()) {
            s.egress_spec = h.packet_out.egress_port;
            h.packet_out.setInvalid();
        } else {
            stations.apply();
        }
    }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) {
    apply { b.emit(h.packet_in); b.emit(h.h); }
}
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

/// Compiles a program, and returns the configuration with which a controller pushes it. Its device
/// configuration is the source text.
pub(crate) fn pushed(source: &str) -> v1::ForwardingPipelineConfig {
    let program =
        p4lang::device_config::from_device_config(source.as_bytes()).expect("it compiles");
    let compiled = p4lang::device_config::to_pipeline_config(&program).expect("it has a P4Info");
    v1::ForwardingPipelineConfig { p4_device_config: source.to_owned().into(), ..compiled }
}

/// A running switch, and the ports at the other ends of the lines to its own ports.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) switch: Switch,
    /// The port that is connected to each port of the switch. The first is connected to port 1.
    pub(crate) lines: Vec<Port>,
}

impl Bench {
    pub(crate) fn new(ports: u32) -> Self {
        Self::start(ports, None, options())
    }

    /// Starts a switch that serves metrics to Prometheus.
    pub(crate) fn with_metrics(ports: u32) -> Self {
        let address = Some("127.0.0.1:0".parse().expect("an address"));
        Self::start(ports, None, Options { metrics: address, ..options() })
    }

    /// Starts a switch that serves metrics and Thrift clients, and returns it with its log.
    pub(crate) fn logging(ports: u32) -> (Self, CapturedLog) {
        let logged = CapturedLog::default();
        let log = Log::new(Verbosity::Info, Box::new(logged.clone())).showing_packets(2);
        let any = Some("127.0.0.1:0".parse().expect("an address"));
        let (metrics, thrift) = (any, any);
        (Self::start(ports, None, Options { metrics, thrift, log, ..options() }), logged)
    }

    /// Starts a switch that writes the trace of each packet as JSON, and returns it with the text.
    pub(crate) fn tracing(ports: u32) -> (Self, CapturedLog) {
        Self::tracing_with(ports, |log| log)
    }

    /// Starts a switch like [`Self::tracing`], with a log that `configure` has changed.
    pub(crate) fn tracing_with(
        ports: u32,
        configure: impl FnOnce(Log) -> Log,
    ) -> (Self, CapturedLog) {
        let written = CapturedLog::default();
        let log = Log::off().with_traces(traces::Format::Json, Box::new(written.clone()));
        (Self::start(ports, None, Options { log: configure(log), ..options() }), written)
    }

    /// Starts a switch that records its pipeline and entries in a state file.
    pub(crate) fn with_state(ports: u32, state: &Path) -> Self {
        Self::try_start(ports, state).expect("it starts")
    }

    pub(crate) fn try_start(ports: u32, state: &Path) -> Result<Self, StartError> {
        Self::started(ports, Some(state), Durability::default(), options())
    }

    pub(crate) fn start(ports: u32, state: Option<PathBuf>, options: Options) -> Self {
        let started = Self::started(ports, state.as_deref(), Durability::default(), options);
        started.expect("it starts")
    }

    pub(crate) fn started(
        ports: u32,
        state: Option<&Path>,
        durability: Durability,
        options: Options,
    ) -> Result<Self, StartError> {
        Self::configured(ports, options, |device| {
            device.state = state.map(Path::to_owned);
            device.durability = durability;
        })
    }

    /// Starts a switch whose device `configure` has changed.
    pub(crate) fn configured(
        ports: u32,
        options: Options,
        configure: impl FnOnce(&mut DeviceConfig),
    ) -> Result<Self, StartError> {
        let (far, near) = lines(ports);
        let mut device = DeviceConfig {
            queues: Default::default(),
            id: DEVICE,
            cpu_port: CPU_PORT,
            path: crate::PATH,
            v1model: V1ModelSettings::default(),
            pipeline: None,
            updates: Vec::new(),
            state: None,
            durability: Durability::default(),
            check_references: false,
            takes_injections: false,
            ports: near,
        };
        configure(&mut device);
        let switch = Switch::start(options, vec![device])?;
        Ok(Self { switch, lines: far })
    }

    pub(crate) fn send(&mut self, port: usize, packet: &[u8]) {
        let sent = self.lines[port - 1].queues[0].transmit(packet);
        assert_eq!(sent, packetio::Transmitted::Taken);
        self.lines[port - 1].queues[0].flush();
    }

    /// Waits for the next `count` packets that leave the switch by a port, and returns them.
    pub(crate) fn receive(&mut self, port: usize, count: usize) -> Vec<Vec<u8>> {
        let mut burst = Burst::new(count);
        let start = Instant::now();
        while burst.frames().len() < count {
            assert!(start.elapsed() < TIMEOUT, "{} of {count} packets", burst.frames().len());
            self.lines[port - 1].queues[0].receive(&mut burst).expect("a line is never down");
        }
        burst.frames().iter().map(|frame: &Frame| frame.bytes().to_vec()).collect()
    }
}

/// A log that is kept in memory. Its clones share one text.
#[derive(Clone, Debug, Default)]
pub(crate) struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no thread panics")).into_owned()
    }
}

impl Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no thread panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn options() -> Options {
    let address = "127.0.0.1:0".parse().expect("an address");
    Options {
        address,
        tls: None,
        workers: 1,
        metrics: None,
        thrift: None,
        limits: softswitch::SwitchLimits::default(),
        log: Log::off(),
        segments: Segments::default(),
        pushes: softswitch::Pushes::default(),
        numbers: softswitch::GivenNumbers::new(),
    }
}

/// Creates lines in memory. Returns their far ends, and their near ends with the numbers that they
/// have as ports of a switch, from 1.
pub(crate) fn lines(ports: u32) -> (Vec<Port>, Vec<(u32, Port)>) {
    let numbered = (1..=ports).map(|number| {
        let [near, far] = memory::line(&format!("port{number}-"), 1 << 20);
        (far, (number, near))
    });
    numbered.unzip()
}

/// A controller that is the primary of a device.
pub(crate) struct Controller {
    pub(crate) client: Client,
    pub(crate) sender: StreamSender,
    pub(crate) receiver: StreamReceiver,
}

impl Controller {
    pub(crate) async fn of(switch: &Switch, election_id: u128) -> Self {
        Self::of_device(switch, DEVICE, election_id).await
    }

    pub(crate) async fn of_device(switch: &Switch, device: u64, election_id: u128) -> Self {
        Self::at(&switch.address().to_string(), device, election_id).await
    }

    /// Connects to a switch that may be in another process, and becomes the primary of a device.
    pub(crate) async fn at(address: &str, device: u64, election_id: u128) -> Self {
        let controller = Self::try_at(address, device, election_id).await;
        controller.expect("it listens, and nobody else is there")
    }

    /// Connects to a switch and becomes the primary of a device. If the switch refuses, returns its
    /// error as text.
    pub(crate) async fn try_at(
        address: &str,
        device: u64,
        election_id: u128,
    ) -> Result<Self, String> {
        let connected = Client::connect(address, device, &ClientOptions::default()).await;
        let mut client = connected.map_err(|error| format!("{error:?}"))?;
        let stream = client.become_primary("", ElectionId(election_id), TIMEOUT).await;
        let (sender, receiver) = stream.map_err(|error| format!("{error:?}"))?;
        Ok(Self { client, sender, receiver })
    }

    /// Connects to a switch and becomes the primary of a device, and tries again while the switch
    /// refuses. A switch may refuse at first if a test has opened hostile connections from the same
    /// address.
    pub(crate) async fn at_last(address: SocketAddr, device: u64, election_id: u128) -> Self {
        let (address, start) = (address.to_string(), Instant::now());
        loop {
            match Self::try_at(&address, device, election_id).await {
                Ok(controller) => return controller,
                Err(refused) => assert!(start.elapsed() < TIMEOUT, "{refused}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Connects a primary controller and pushes the program with this source.
    pub(crate) async fn with(switch: &Switch, source: &str) -> Self {
        let mut controller = Self::of(switch, 1).await;
        controller.push(source).await;
        controller
    }

    pub(crate) async fn push(&mut self, source: &str) {
        let outcome = self.client.set_pipeline(Action::VerifyAndCommit, Some(pushed(source))).await;
        outcome.expect("the switch runs it");
    }

    pub(crate) async fn insert(&mut self, kinds: impl IntoIterator<Item = Kind>) {
        let updates = kinds.into_iter().map(|kind| v1::Update {
            r#type: v1::update::Type::Insert as i32,
            entity: Some(v1::Entity { entity: Some(kind) }),
        });
        let outcome = self.client.write(updates.collect(), Atomicity::ContinueOnError).await;
        outcome.expect("all of it is right");
    }
}

/// The P4Runtime ids of a program's tables, actions and digests, by name.
pub(crate) struct Names {
    schema: Arc<Schema>,
}

impl Names {
    pub(crate) fn new() -> Self {
        Self::of(PROGRAM)
    }

    pub(crate) fn of(program: &str) -> Self {
        let p4info = pushed(program).p4info.expect("it has one");
        Self { schema: Schema::new(p4info).expect("it is right") }
    }

    pub(crate) fn action(&self, name: &str) -> u32 {
        let actions = &self.schema.p4info().actions;
        let named = |preamble: &p4runtime::proto::config::Preamble| preamble.alias == name;
        let found = actions
            .iter()
            .filter_map(|action| action.preamble.as_ref())
            .find(|preamble| named(preamble));
        found.expect("the program has it").id
    }

    pub(crate) fn table(&self) -> u32 {
        let table = self.schema.p4info().tables.first().expect("there is one");
        table.preamble.as_ref().expect("it has one").id
    }

    pub(crate) fn digest(&self) -> u32 {
        let digest = self.schema.p4info().digests.first().expect("there is one");
        digest.preamble.as_ref().expect("it has one").id
    }

    /// Returns an entry of the program's first table. `to` is the value of its key, and `parameter`
    /// is the argument of its action, or empty if the action has none.
    pub(crate) fn entry(&self, to: u8, action: &str, parameter: &[u8]) -> Kind {
        let params = (!parameter.is_empty())
            .then(|| v1::action::Param { param_id: 1, value: parameter.to_vec().into() });
        let action =
            v1::Action { action_id: self.action(action), params: params.into_iter().collect() };
        let exact = v1::field_match::Exact { value: vec![to].into() };
        let field = v1::FieldMatch {
            field_id: 1,
            field_match_type: Some(v1::field_match::FieldMatchType::Exact(exact)),
        };
        Kind::TableEntry(v1::TableEntry {
            table_id: self.table(),
            r#match: vec![field],
            action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) }),
            ..Default::default()
        })
    }
}
