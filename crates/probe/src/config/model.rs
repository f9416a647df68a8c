//! The checked configuration: every value in range, every file named exists.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use openflow_switch::FlowTables;

use super::rfc8456::{Test, Tests};
use crate::topology::TopologySource;

/// A whole run, resolved.
#[derive(Clone, Debug)]
pub struct Config {
    /// How emulated switches talk to the controller.
    pub protocol: Protocol,
    /// Seeds every random choice; two runs with one seed offer the same packets at the same times.
    pub seed: u64,
    /// Engine threads; each owns its share of the switches.
    pub threads: usize,
    /// Each engine thread has a core of its own.
    pub isolate: bool,
    /// The emulated switches.
    pub switches: Switches,
    /// The system under test.
    pub controller: Controller,
    /// Where P4Runtime servers listen, and what they start with.
    pub p4runtime: P4Runtime,
    /// TLS on the control channel, for either protocol.
    pub tls: Option<Tls>,
    /// What is sent, and when.
    pub traffic: Traffic,
    /// The largest offered load in packet-ins per second over all switches, where it is known
    /// before the run.
    pub offered: Option<f64>,
    /// The phases of a trial.
    pub timing: Timing,
    /// How switches are wired to each other.
    pub topology: TopologySource,
    /// Which trials make up the run.
    pub plan: Plan,
    /// Conditions that decide the exit status, such as `rtt.p99 < 5ms`.
    pub thresholds: Vec<String>,
    /// Where results go.
    pub output: Output,
    /// For [`PlanKind::Rfc8456`].
    pub rfc8456: Rfc8456,
}

impl Config {
    /// The largest number of switches of any trial.
    pub fn most_switches(&self) -> u32 {
        match &self.plan.kind {
            PlanKind::Sweep { switches, .. } => switches.iter().copied().max().unwrap_or(0),
            PlanKind::Rfc8456(tests)
                if tests.contains(Test::ControlSessions) || tests.contains(Test::DiscoverySize) =>
            {
                self.switches.count.max(self.rfc8456.switches)
            }
            _ => self.switches.count,
        }
    }
}

/// The control protocol of the emulated switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Protocol {
    /// OpenFlow 1.0, wire version 0x01.
    OpenFlow10,
    /// OpenFlow 1.3, wire version 0x04.
    #[default]
    OpenFlow13,
    /// P4Runtime 1.x over gRPC.
    P4Runtime,
}

/// The emulated switches.
#[derive(Clone, Debug)]
pub struct Switches {
    /// How many.
    pub count: u32,
    /// Datapath id (OpenFlow) or device id (P4Runtime) of the first; the others count up.
    pub first_id: u64,
    /// Ports of each switch; ports are numbered from 1.
    pub ports: u16,
    /// Packets an OpenFlow switch can buffer. With 0, packet-ins carry the whole frame and no
    /// buffer id.
    pub buffers: u32,
    /// Flow table capacity of an OpenFlow switch.
    pub table_size: u32,
    /// What becomes of a packet that comes in by a port of an OpenFlow switch.
    pub flow_tables: FlowTables,
    /// Hosts behind each switch, spread over its ports that no link uses.
    pub hosts: u32,
    /// At most so many connection attempts are started per second.
    pub connect_rate: f64,
    /// Differences of single switches from the above.
    pub overrides: Vec<SwitchOverride>,
}

/// What differs for the switches with index `first..=last`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchOverride {
    /// Index of the first switch meant, from 0.
    pub first: u32,
    /// Index of the last switch meant.
    pub last: u32,
    /// Packet-ins per second.
    pub rate: Option<f64>,
    /// Inter-arrival times.
    pub arrivals: Option<Arrivals>,
    /// Time after the start of traffic at which this switch begins.
    pub start_delay: Option<Duration>,
    /// Time before the end of traffic at which this switch ceases.
    pub stop_delay: Option<Duration>,
    /// Capture whose frames this switch sends.
    pub replay: Option<PathBuf>,
}

/// The system under test.
#[derive(Clone, Debug)]
pub struct Controller {
    /// Where OpenFlow switches dial: host and port as given, resolved at the start of the run.
    pub address: String,
    /// How the controller's CPU and memory are read.
    pub process: Option<ProcessSelector>,
    /// ONOS REST base such as `http://127.0.0.1:8181`, to which the generated netcfg is posted.
    pub onos_rest: Option<String>,
    /// User and password for [`Controller::onos_rest`].
    pub onos_credentials: (String, String),
    /// ONOS driver named in the generated netcfg, such as `bmv2`.
    pub onos_driver: String,
    /// ONOS pipeconf named in the generated netcfg.
    pub onos_pipeconf: String,
    /// ONOS is told to forget devices, hosts and netcfg before and after every trial.
    pub onos_forget: bool,
    /// File that receives the generated netcfg JSON.
    pub netcfg_file: Option<PathBuf>,
    /// File that receives a `faucet.yaml` for the OpenFlow switches.
    pub faucet_file: Option<PathBuf>,
    /// File that receives one line per switch: id and address.
    pub list_file: Option<PathBuf>,
}

/// Names the controller's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessSelector {
    /// The process that holds the control channel: the one that listens on
    /// [`Controller::address`] (OpenFlow), or that dialled our servers (P4Runtime). Only on this
    /// host; a run that finds none goes on without and says so.
    Listener,
    /// A process id on this host, its threads included.
    Pid(u32),
    /// Every process on this host whose name or command line contains the text.
    Name(String),
    /// As `Name` or `Pid`, but on the host that `ssh TARGET` reaches.
    Ssh {
        /// What is handed to `ssh`, such as `user@host`.
        target: String,
        /// The process there.
        process: Box<ProcessSelector>,
    },
}

/// P4Runtime servers.
#[derive(Clone, Debug)]
pub struct P4Runtime {
    /// Address that the servers bind to.
    pub listen: IpAddr,
    /// Address that the controller is told to dial, if it differs.
    pub advertise: Option<IpAddr>,
    /// First port; the others count up.
    pub first_port: u16,
    /// Ports from there on at which no switch listens, in order: somebody else uses them. None
    /// until a run has looked.
    pub passed_over: Vec<u16>,
    /// Where the switches of each rank are found, in their order; none for a process alone. Found out when a run begins.
    pub ranks: Vec<IpAddr>,
    /// Device ids behind each port.
    pub devices_per_port: u32,
    /// Every device has the first id; their ports tell them apart.
    pub same_device_id: bool,
    /// A P4Info in text format that switches report from the start; without it they wait for the
    /// controller to push a pipeline.
    pub p4info: Option<PathBuf>,
    /// Device configuration that goes with `p4info`.
    pub device_config: Option<PathBuf>,
    /// Cookie that goes with `p4info`.
    pub cookie: u64,
    /// How port numbers are written in packet-in metadata.
    pub port_form: PortForm,
    /// The digest that switches send with [`Load::Digest`]; empty for the first of the pipeline.
    pub digest: String,
    /// The table whose entries switches say are idle with [`Load::IdleTimeout`]; empty for the
    /// first of the pipeline that has idle time-outs.
    pub idle_table: String,
    /// The port by which a program sends packets to controllers and gets theirs, where programs are run.
    pub cpu_port: u32,
}

/// How port numbers are written in packet-in metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortForm {
    /// The fewest bytes that hold the number, as the P4Runtime specification asks of servers.
    #[default]
    Canonical,
    /// All bytes of the field's width.
    FullWidth,
}

/// TLS on the control channel.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Certificates of the authorities that the peer's certificate must chain to. Required where
    /// switches dial (OpenFlow); asks clients for a certificate where they listen (P4Runtime).
    pub ca: Option<PathBuf>,
    /// Our certificate chain.
    pub certificate: Option<PathBuf>,
    /// Our private key.
    pub key: Option<PathBuf>,
    /// Name expected in the controller's certificate; by default the host dialled.
    pub server_name: Option<String>,
    /// Accept any certificate of the controller.
    pub insecure: bool,
}

/// What is sent, and when.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Whether answers influence when the next packet-in is sent.
    pub mode: Mode,
    /// Packet-ins per second and switch, in [`Mode::Open`].
    pub rate: f64,
    /// Inter-arrival times, in [`Mode::Open`].
    pub arrivals: Arrivals,
    /// What a switch sends when something is due.
    pub load: Load,
    /// The frame inside a packet-in, or what a digest is learned from.
    pub frame: Frame,
    /// Frame length in bytes, FCS excluded.
    pub frame_bytes: usize,
    /// Source and destination addresses.
    pub addresses: Addresses,
    /// Hosts announce themselves by a gratuitous ARP before traffic starts.
    pub arp_first: bool,
    /// How an answer is tied to the packet-in that it answers.
    pub matching: Matching,
    /// An answer later than this counts as late; it is still counted and its time recorded.
    pub late_after: Duration,
    /// Packet-ins remembered while they wait for an answer, over all switches. Beyond it the
    /// oldest are forgotten, and the result says so.
    pub outstanding_limit: usize,
}

/// Whether answers influence when the next packet-in is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Every packet-in has a due time that is fixed before the run; answers change nothing.
    Open,
    /// At most `window` packet-ins per switch wait for an answer; each answer sends the next.
    /// One that is not answered within `give_up` frees its place and counts as lost.
    Closed {
        /// Most packet-ins outstanding per switch.
        window: u32,
        /// Patience with an unanswered packet-in.
        give_up: Duration,
    },
    /// As fast as the connection takes them (OpenFlow only). Answers are counted, not matched.
    Flood,
}

/// Inter-arrival times. Every distribution is scaled so that its mean is one over the rate.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arrivals {
    /// Equal times; switches are staggered evenly.
    #[default]
    Constant,
    /// Exponential times: a Poisson process.
    Exponential,
    /// Uniform between `1 - spread` and `1 + spread` times the mean; `spread` in 0 to 1.
    Uniform {
        /// Half the width over the mean.
        spread: f64,
    },
    /// Normal, negative values drawn again.
    Normal {
        /// Standard deviation over the mean.
        deviation: f64,
    },
    /// Pareto; `shape` above 1, so that the mean exists.
    Pareto {
        /// Tail index.
        shape: f64,
    },
    /// Gamma; `shape` above 0. Shape 1 is exponential.
    Gamma {
        /// Shape parameter k.
        shape: f64,
    },
    /// Inter-arrival times read from a file: one number of seconds per line, or the time stamps of
    /// a capture. Used as they are (the rate is ignored), from the start again at the end.
    Replay {
        /// The file.
        file: PathBuf,
    },
}

/// The frame inside a packet-in.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Frame {
    /// Ethernet, IPv4, TCP with the SYN flag.
    #[default]
    TcpSyn,
    /// Ethernet, IPv4, UDP.
    Udp,
    /// Frames of a pcap or pcapng file, in order, from the start again at the end.
    Replay(PathBuf),
}

/// Longest frame in bytes, FCS excluded: what an OpenFlow packet-in, of 65,535 bytes at most, holds with room for its own
/// fields.
pub const MAX_FRAME_BYTES: usize = 65_000;

impl Frame {
    /// Ethernet, IPv4 and TCP headers with the time stamp option.
    pub(crate) const SYN_BYTES: usize = 66;
    /// The shortest Ethernet frame; it holds UDP headers and an identity.
    pub(crate) const MIN_UDP_BYTES: usize = 60;

    /// Bytes, FCS excluded, of the shortest frame of a kind that is made; nothing for captured ones.
    pub(crate) fn least_bytes(&self) -> Option<usize> {
        match self {
            Self::TcpSyn => Some(Self::SYN_BYTES),
            Self::Udp => Some(Self::MIN_UDP_BYTES),
            Self::Replay(_) => None,
        }
    }
}

/// How addresses are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// MAC addresses.
    pub mac: Generator,
    /// IPv4 addresses.
    pub ip: Generator,
    /// TCP or UDP ports.
    pub port: Generator,
    /// Destinations are addresses of emulated hosts only.
    pub known_destinations: bool,
}

/// How one kind of address is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Generator {
    /// The addresses of the emulated hosts, in turn.
    #[default]
    Hosts,
    /// A new one each time, counting up.
    Serial,
    /// Drawn at random.
    Random,
}

/// What a switch sends when something is due, and what answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Load {
    /// A packet-in, answered by a packet-out or a rule.
    #[default]
    PacketIn,
    /// A list of one digest, answered by its acknowledgement (P4Runtime only).
    Digest,
    /// A notification that a table entry has been idle, answered by an update with its key
    /// (P4Runtime only).
    IdleTimeout,
}

/// How an answer is tied to its packet-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Matching {
    /// By buffer id if one was used, else by the id in the payload.
    #[default]
    Auto,
    /// By the id in the payload alone.
    Payload,
    /// By the OpenFlow transaction id, for controllers that echo it; controllers that do not can
    /// match by accident.
    Xid,
    /// By the rule that takes the place of the entry which sent the packet-in, for controllers that
    /// answer with rules alone.
    Rule,
    /// In order: each answer answers the oldest outstanding packet-in of its switch. For
    /// controllers that discard the payload.
    Order,
}

/// The wait for answers after the last packet-in of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Until everything was answered, and for this long at most.
    For(Duration),
    /// Until no packet-in waits at the controller any more: each was answered, or was passed over
    /// since a later packet-in of its switch was answered. For this long at most.
    UntilEmpty(Duration),
}

impl Drain {
    /// The longest time to wait.
    pub fn longest(self) -> Duration {
        match self {
            Self::For(longest) | Self::UntilEmpty(longest) => longest,
        }
    }
}

impl Default for Drain {
    fn default() -> Self {
        Self::For(Duration::ZERO)
    }
}

/// The phases of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Patience until every switch finished its handshake.
    pub connect_timeout: Duration,
    /// Go on with the switches that are connected when `connect_timeout` passes.
    pub allow_missing: bool,
    /// Quiet time between the last handshake and the first packet, for topology discovery.
    pub settle: Duration,
    /// Traffic whose packets count for nothing.
    pub warm_up: Duration,
    /// Traffic that is measured.
    pub measure: Duration,
    /// The wait for answers after the last packet-in.
    pub drain: Drain,
    /// Each further switch begins its traffic this much later.
    pub start_stagger: Duration,
    /// Spacing of samples of outstanding packet-ins, CPU and memory.
    pub sample: Duration,
}

/// Which trials make up the run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is varied.
    pub kind: PlanKind,
    /// Trials per point.
    pub repetitions: u32,
    /// Shell command run before every trial but the first, for instance to restart the controller.
    pub between: Option<String>,
}

/// What a run varies.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanKind {
    /// One point.
    Point,
    /// Every combination of rates and switch counts.
    Sweep {
        /// Packet-ins per second.
        rates: SweepRates,
        /// Numbers of switches.
        switches: Vec<u32>,
    },
    /// The highest rate per switch without loss, and the knee of the response time.
    Search {
        /// Lowest rate tried.
        low: f64,
        /// Highest rate tried.
        high: f64,
        /// Stop when the bracket is this narrow, as a fraction of the rate.
        precision: f64,
        /// Try each rate once, and state no confidence.
        rough: bool,
        /// Loss tolerated as "loss-free", as a fraction.
        loss: f64,
    },
    /// Tests of RFC 8456.
    Rfc8456(Tests),
}

/// The rates of a sweep, in packet-ins per second.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepRates {
    /// Of each switch.
    PerSwitch(Vec<f64>),
    /// Of all switches together, shared equally among them.
    Total(Vec<f64>),
}

impl SweepRates {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::PerSwitch(rates) | Self::Total(rates) => rates.len(),
        }
    }

    /// Each as the rate of one of so many switches.
    pub fn per_switch(&self, switches: u32) -> impl Iterator<Item = f64> {
        let (rates, share) = match self {
            Self::PerSwitch(rates) => (rates, 1.0),
            Self::Total(rates) => (rates, f64::from(switches.max(1))),
        };
        rates.iter().map(move |rate| rate / share)
    }
}

/// What the tests of RFC 8456 need to know beside all else.
#[derive(Clone, Debug)]
pub struct Rfc8456 {
    /// Time between two questions to the northbound interface.
    pub interval: Duration,
    /// New paths, and packets of a stream, per second.
    pub rate: f64,
    /// Most flows that a trial offers.
    pub flows: u32,
    /// Most switches of the tests that look for a capacity.
    pub switches: u32,
    /// Controllers that stand by, as [`Controller::address`].
    pub standby: Vec<String>,
    /// Ends the active controller.
    pub fail: Option<String>,
    /// What is asked and told beside the control channel.
    pub northbound: Option<String>,
    /// How the rate of section 5.1.3 is looked for.
    pub search: PlanKind,
}

/// Where results go.
#[derive(Clone, Debug)]
pub struct Output {
    /// The run directory; made anew under `runs/` if not given.
    pub directory: Option<PathBuf>,
    /// No progress bar.
    pub quiet: bool,
    /// Print `result.json` on standard output instead of the table.
    pub json: bool,
}

/// Where a P4Runtime switch listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAddress {
    /// Device id.
    pub device_id: u64,
    /// Number of the switch, which counts up from the first id: its device id, unless all devices
    /// share one.
    pub number: u64,
    /// Socket that its server listens on.
    pub listen: SocketAddr,
    /// Socket that the controller dials.
    pub dial: SocketAddr,
}
