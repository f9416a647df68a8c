//! The checked configuration: every value is in range, and every file that it names exists.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use openflow_switch::FlowTables;

use super::rfc8456::Tests;
use crate::topology::TopologySource;

/// The checked configuration of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The control protocol of the emulated switches.
    pub protocol: Protocol,
    /// The seed of every random choice. Two runs with the same seed offer the same packets at the
    /// same times.
    pub seed: u64,
    /// The number of engine threads, among which the switches are divided.
    pub threads: usize,
    /// Whether each engine thread has a core of its own.
    pub isolate: bool,
    /// The emulated switches.
    pub switches: Switches,
    /// The system under test: the controller.
    pub controller: Controller,
    /// The settings of the P4Runtime servers.
    pub p4runtime: P4Runtime,
    /// The settings of TLS on the control channel, for either protocol.
    pub tls: Option<Tls>,
    /// The traffic of the emulated switches.
    pub traffic: Traffic,
    /// The largest offered load in packet-ins per second over all switches, where it is known
    /// before the run.
    pub offered: Option<f64>,
    /// The phases of a trial.
    pub timing: Timing,
    /// The source of the topology that connects the switches.
    pub topology: TopologySource,
    /// The plan: the trials of the run.
    pub plan: Plan,
    /// The conditions on the results that decide the exit status, such as `rtt.p99 < 5ms`.
    pub thresholds: Vec<String>,
    /// The destinations of results.
    pub output: Output,
    /// The settings of [`PlanKind::Rfc8456`].
    pub rfc8456: Rfc8456,
}

impl Config {
    /// Returns the largest number of switches of any trial.
    pub fn most_switches(&self) -> u32 {
        match &self.plan.kind {
            PlanKind::Sweep { switches, .. } => switches.iter().copied().max().unwrap_or(0),
            PlanKind::Rfc8456(tests) if tests.search_switches() => {
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
    /// The number of switches.
    pub count: u32,
    /// The datapath id (OpenFlow) or device id (P4Runtime) of the first switch. The other ids count
    /// up from it.
    pub first_id: u64,
    /// The number of ports of each switch. Ports are numbered from 1.
    pub ports: u16,
    /// The number of packets that an OpenFlow switch can buffer. With 0, packet-ins carry the whole
    /// frame and no buffer id.
    pub buffers: u32,
    /// The flow table capacity of an OpenFlow switch.
    pub table_size: u32,
    /// The processing of packets that enter a port of an OpenFlow switch.
    pub flow_tables: FlowTables,
    /// The number of hosts behind each switch, spread over the ports without a link.
    pub hosts: u32,
    /// The maximum number of connection attempts per second.
    pub connect_rate: f64,
    /// The settings of single switches that differ from the general ones.
    pub overrides: Vec<SwitchOverride>,
}

/// The settings that differ for the switches with index `first..=last`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchOverride {
    /// The index of the first switch, from 0.
    pub first: u32,
    /// The index of the last switch.
    pub last: u32,
    /// The number of packet-ins per second of each switch to which the override applies.
    pub rate: Option<f64>,
    /// The distribution of inter-arrival times at the switches to which the override applies.
    pub arrivals: Option<Arrivals>,
    /// The time after the start of traffic at which the switches of the override begin to send,
    /// in addition to their [`Timing::start_stagger`].
    pub start_delay: Option<Duration>,
    /// The time before the end of traffic at which these switches stop sending.
    pub stop_delay: Option<Duration>,
    /// The file of captured frames that these switches send.
    pub replay: Option<PathBuf>,
}

/// The system under test.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The address that OpenFlow switches dial: host and port as given, resolved at the start of
    /// the run.
    pub address: String,
    /// The process whose CPU time and memory are sampled.
    pub process: Option<ProcessSelector>,
    /// The base address of the ONOS REST interface, such as `http://127.0.0.1:8181`, to which the
    /// generated netcfg is posted.
    pub onos_rest: Option<String>,
    /// The user name and the password for [`Controller::onos_rest`].
    pub onos_credentials: (String, String),
    /// The name of the ONOS driver in the generated netcfg, such as `bmv2`.
    pub onos_driver: String,
    /// The name of the ONOS pipeconf in the generated netcfg.
    pub onos_pipeconf: String,
    /// Whether ONOS is made to forget devices, hosts and netcfg before and after every trial.
    pub onos_forget: bool,
    /// The file that receives the generated netcfg JSON.
    pub netcfg_file: Option<PathBuf>,
    /// The file that receives a `faucet.yaml` for the OpenFlow switches.
    pub faucet_file: Option<PathBuf>,
    /// The file that receives one line per switch with its id and address.
    pub list_file: Option<PathBuf>,
}

/// A selection of the controller's processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessSelector {
    /// The process that holds the control channel: the one that listens on [`Controller::address`]
    /// (OpenFlow), or that dialled the probe's servers (P4Runtime). It must be on this host. A run
    /// that finds none continues without it and reports this.
    Listener,
    /// The process with this id on this host, including its threads.
    Pid(u32),
    /// Every process on this host whose name or command line contains this text.
    Name(String),
    /// A process selected by name or id on the host that `ssh TARGET` reaches.
    Ssh {
        /// The argument of `ssh`, such as `user@host`.
        target: String,
        /// The selection of the process on the remote host.
        process: Box<ProcessSelector>,
    },
}

/// The settings of the P4Runtime servers.
#[derive(Clone, Debug)]
pub struct P4Runtime {
    /// The address that the servers bind to.
    pub listen: IpAddr,
    /// The address that the controller dials, if it differs from `listen`.
    pub advertise: Option<IpAddr>,
    /// The first port. The other ports count up from it.
    pub first_port: u16,
    /// The ports from `first_port` on that are left out because other processes use them, in
    /// ascending order. Empty until a run has searched for such ports.
    pub passed_over: Vec<u16>,
    /// The address that controllers dial for the switches of each process, in the order of the
    /// processes. Empty if one process runs all switches. A run determines the addresses when it
    /// begins.
    pub ranks: Vec<IpAddr>,
    /// The number of device ids behind each port.
    pub devices_per_port: u32,
    /// Whether every device has the first id, so that only ports tell devices apart.
    pub same_device_id: bool,
    /// The P4Info file in text format that switches report from the start. Without it, switches
    /// wait for the controller to push a pipeline.
    pub p4info: Option<PathBuf>,
    /// The file with the device configuration that belongs to `p4info`.
    pub device_config: Option<PathBuf>,
    /// The pipeline cookie that belongs to `p4info`.
    pub cookie: u64,
    /// The encoding of port numbers in packet-in metadata.
    pub port_form: PortForm,
    /// The name of the digest that switches send with [`Load::Digest`] (empty for the first digest
    /// of the pipeline).
    pub digest: String,
    /// The name of the table whose entries become idle with [`Load::IdleTimeout`] (empty for the
    /// first table of the pipeline that has idle time-outs).
    pub idle_table: String,
    /// The number of the port through which a P4 program exchanges packets with controllers. It is
    /// used if the switches run a program.
    pub cpu_port: u32,
}

/// The encoding of port numbers in packet-in metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortForm {
    /// The shortest encoding that holds the number, which the P4Runtime specification requires of
    /// servers.
    #[default]
    Canonical,
    /// The encoding in the full width of the field, with leading zeros.
    FullWidth,
}

/// The settings of TLS on the control channel.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The file of CA certificates to which the peer's certificate must chain. It is required where
    /// switches dial (OpenFlow), unless `insecure` is set; where switches listen (P4Runtime), it
    /// makes them request a client certificate.
    pub ca: Option<PathBuf>,
    /// The file of the probe's certificate chain.
    pub certificate: Option<PathBuf>,
    /// The file of the probe's private key.
    pub key: Option<PathBuf>,
    /// The name that the controller's certificate must have. By default, it is the host that is
    /// dialled.
    pub server_name: Option<String>,
    /// Whether any certificate of the controller is accepted.
    pub insecure: bool,
}

/// The traffic of the emulated switches.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The rule that determines when switches send.
    pub mode: Mode,
    /// The number of packet-ins per second and switch, in [`Mode::Open`].
    pub rate: f64,
    /// The distribution of inter-arrival times, in [`Mode::Open`].
    pub arrivals: Arrivals,
    /// The kind of message that a switch sends when one is due.
    pub load: Load,
    /// The frame inside a packet-in, or from which a digest is learned.
    pub frame: Frame,
    /// The frame length in bytes, without the FCS.
    pub frame_bytes: usize,
    /// The generators of source and destination addresses.
    pub addresses: Addresses,
    /// Whether hosts announce themselves by a gratuitous ARP before traffic starts.
    pub arp_first: bool,
    /// The rule by which an answer is matched to its packet-in.
    pub matching: Matching,
    /// The time after which an answer counts as late. Late answers are still counted and timed.
    pub late_after: Duration,
    /// The maximum number of packet-ins that are remembered while they wait for an answer, over all
    /// switches. Beyond this number the oldest ones are forgotten, which the result reports.
    pub outstanding_limit: usize,
}

/// The rule that determines when switches send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// An open loop: every packet-in has a due time that is fixed before the run and does not
    /// depend on answers.
    Open,
    /// A closed loop: at most `window` packet-ins per switch wait for an answer, and each answer
    /// triggers the next packet-in. A packet-in without an answer for `give_up` leaves the window
    /// and counts as lost.
    Closed {
        /// The maximum number of outstanding packet-ins per switch.
        window: u32,
        /// The time after which an unanswered packet-in is given up.
        give_up: Duration,
    },
    /// Switches send as fast as the connection accepts data (OpenFlow only). Answers are counted,
    /// not matched.
    Flood,
}

/// The distribution of inter-arrival times, scaled so that its mean is one over the rate.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arrivals {
    /// Equal inter-arrival times. Switches of the same rate are staggered evenly.
    #[default]
    Constant,
    /// Equal inter-arrival times. Switches of the same rate all send at the same moments.
    InPhase,
    /// Exponentially distributed inter-arrival times, that is, a Poisson process.
    Exponential,
    /// Inter-arrival times uniform between `1 - spread` and `1 + spread` times the mean, where
    /// `spread` is in 0 to 1.
    Uniform {
        /// The ratio of half the width of the distribution to its mean.
        spread: f64,
    },
    /// Normally distributed inter-arrival times. Negative values are drawn again.
    Normal {
        /// The ratio of the standard deviation to the mean.
        deviation: f64,
    },
    /// Pareto distributed inter-arrival times. The parameter `shape` is above 1, so that the mean
    /// exists.
    Pareto {
        /// The tail index of the Pareto distribution.
        shape: f64,
    },
    /// Gamma distributed inter-arrival times. The parameter `shape` is above 0. Shape 1 is the
    /// exponential distribution.
    Gamma {
        /// The shape parameter k of the gamma distribution.
        shape: f64,
    },
    /// Inter-arrival times read from a file: one number of seconds per line, or the time stamps of
    /// a capture. The times are used unchanged (the rate is ignored), and repeat from the start at
    /// the end of the file.
    Replay {
        /// The path of the file.
        file: PathBuf,
    },
}

/// The frame inside a packet-in.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Frame {
    /// A TCP SYN segment in an IPv4 packet and an Ethernet frame.
    #[default]
    TcpSyn,
    /// A UDP datagram in an IPv4 packet and an Ethernet frame.
    Udp,
    /// The frames of a pcap or pcapng file in order, repeated from the start at the end.
    Replay(PathBuf),
}

/// The longest frame in bytes, without the FCS. An OpenFlow packet-in has at most 65,535 bytes,
/// including its own fields.
pub const MAX_FRAME_BYTES: usize = 65_000;

impl Frame {
    /// The length of Ethernet, IPv4 and TCP headers with the time stamp option.
    pub(crate) const SYN_BYTES: usize = 66;
    /// The length of the shortest Ethernet frame, which holds UDP headers and a packet id.
    pub(crate) const MIN_UDP_BYTES: usize = 60;

    /// Returns the least length in bytes, without the FCS, of a generated frame, or `None` for
    /// captured frames.
    pub(crate) fn least_bytes(&self) -> Option<usize> {
        match self {
            Self::TcpSyn => Some(Self::SYN_BYTES),
            Self::Udp => Some(Self::MIN_UDP_BYTES),
            Self::Replay(_) => None,
        }
    }
}

/// The generators of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The generator of MAC addresses.
    pub mac: Generator,
    /// The generator of IPv4 addresses.
    pub ip: Generator,
    /// The generator of TCP or UDP ports.
    pub port: Generator,
    /// Whether destinations are addresses of emulated hosts only.
    pub known_destinations: bool,
}

/// A generator of one kind of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Generator {
    /// The addresses of the emulated hosts, in turn.
    #[default]
    Hosts,
    /// Consecutive addresses, each one higher than the previous one.
    Serial,
    /// Each packet has a random address.
    Random,
}

/// The kind of message that a switch sends when one is due, and that the controller answers.
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

/// The rule by which an answer is matched to its packet-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Matching {
    /// Matches the buffer id if the packet-in had one, else the packet id in the payload.
    #[default]
    Auto,
    /// Matches the packet id in the payload alone.
    Payload,
    /// Matches the OpenFlow transaction id, for controllers that echo it. With other controllers,
    /// ids may match by accident.
    Xid,
    /// Matches the first flow-mod whose rule the packet matches, in the table that sent the
    /// packet-in and with at least the priority of the rule that sent it. This is for controllers
    /// that answer with rules instead of packet-outs.
    Rule,
    /// Matches by order: each answer belongs to the oldest packet-in of its switch that has no
    /// answer. This is for controllers that discard the payload.
    Order,
}

/// The wait for answers after the last packet-in of a trial, with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// A wait until every packet-in was answered, but at most for this duration.
    For(Duration),
    /// A wait until no packet-in remains at the controller, but at most for this duration. A
    /// packet-in no longer remains if it was answered, or if a later packet-in of its switch was
    /// answered.
    UntilEmpty(Duration),
}

impl Drain {
    /// Returns the limit of the wait.
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
    /// The time that all switches have to complete their handshakes.
    pub connect_timeout: Duration,
    /// Whether the trial continues with the connected switches when `connect_timeout` passes.
    pub allow_missing: bool,
    /// The time without traffic between the last handshake and the first packet, for topology
    /// discovery.
    pub settle: Duration,
    /// The duration of the traffic that is not measured.
    pub warm_up: Duration,
    /// The duration of the traffic that is measured.
    pub measure: Duration,
    /// The wait for answers after the last packet-in.
    pub drain: Drain,
    /// The delay of each switch's traffic after that of the previous switch.
    pub start_stagger: Duration,
    /// The time between two samples of outstanding packet-ins, CPU time and memory.
    pub sample: Duration,
}

/// The plan of a run: its trials.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kind of the plan, which says which parameters vary between trials.
    pub kind: PlanKind,
    /// The number of trials per point.
    pub repetitions: u32,
    /// A shell command that is run before every trial but the first, for example to restart the
    /// controller.
    pub between: Option<String>,
}

/// The parameters that a run varies.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanKind {
    /// One setting: a single rate and a single number of switches.
    Point,
    /// Every combination of rates and numbers of switches.
    Sweep {
        /// The rates in packet-ins per second.
        rates: SweepRates,
        /// The numbers of switches.
        switches: Vec<u32>,
    },
    /// A search for the highest rate per switch without loss, and for the knee of the response
    /// time.
    Search {
        /// The lowest rate that is tried.
        low: f64,
        /// The highest rate that is tried.
        high: f64,
        /// The largest distance of the two rates between which the search must locate the highest
        /// loss-free one, as a fraction of the rate.
        precision: f64,
        /// Whether the search stops once a rate that passed and a rate that failed are close
        /// enough, without further trials that show with which confidence the highest loss-free
        /// rate lies between them.
        rough: bool,
        /// The largest loss that counts as loss-free, as a fraction.
        loss: f64,
    },
    /// All tests of RFC 8456 in the given set.
    Rfc8456(Tests),
}

/// The rates of a sweep, in packet-ins per second.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepRates {
    /// The rates of each switch.
    PerSwitch(Vec<f64>),
    /// The total rates of all switches, shared equally among them.
    Total(Vec<f64>),
}

impl SweepRates {
    /// Returns the number of rates.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::PerSwitch(rates) | Self::Total(rates) => rates.len(),
        }
    }

    /// Returns the packet-ins per second of each of `switches` switches, for every rate of the
    /// sweep. Total rates are divided by `switches`. Rates per switch are returned as they are.
    pub fn per_switch(&self, switches: u32) -> impl Iterator<Item = f64> {
        let (rates, share) = match self {
            Self::PerSwitch(rates) => (rates, 1.0),
            Self::Total(rates) => (rates, f64::from(switches.max(1))),
        };
        rates.iter().map(move |rate| rate / share)
    }
}

/// The further settings of the tests of RFC 8456.
#[derive(Clone, Debug)]
pub struct Rfc8456 {
    /// The time between two queries of the northbound interface.
    pub interval: Duration,
    /// The rate of new paths, and of packets of a stream, per second.
    pub rate: f64,
    /// The maximum number of flows that a trial of the path provisioning time or of the forwarding
    /// table capacity offers.
    pub flows: u32,
    /// The maximum number of switches in tests that search for a capacity.
    pub switches: u32,
    /// The addresses of standby controllers, in the form of [`Controller::address`].
    pub standby: Vec<String>,
    /// The command that stops the active controller.
    pub fail: Option<String>,
    /// The northbound interface that the tests query and configure.
    pub northbound: Option<String>,
    /// The search for the rate of section 5.1.3.
    pub search: PlanKind,
}

/// The destinations of results.
#[derive(Clone, Debug)]
pub struct Output {
    /// The run directory. With `None`, it is a new directory under `runs/`.
    pub directory: Option<PathBuf>,
    /// Whether the progress bar is hidden.
    pub quiet: bool,
    /// Whether `result.json` is printed on standard output instead of the table.
    pub json: bool,
}

/// The addresses of a P4Runtime switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAddress {
    /// The P4Runtime device id of the switch.
    pub device_id: u64,
    /// The number of the switch, counted up from the first id. It equals the device id unless all
    /// devices share one id.
    pub number: u64,
    /// The address that the switch's server listens on.
    pub listen: SocketAddr,
    /// The address that the controller dials.
    pub dial: SocketAddr,
}
