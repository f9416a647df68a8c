//! The checked configuration. Every value in it is in range, and every input file that it names
//! exists.

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
    /// The seed of all random numbers. Two runs with the same seed send the same packets at the
    /// same times.
    pub seed: u64,
    /// The number of engine threads, among which the switches are divided.
    pub threads: usize,
    /// Whether each engine thread has a core for itself.
    pub isolate: bool,
    /// The emulated switches.
    pub switches: Switches,
    /// The system under test: the controller.
    pub controller: Controller,
    /// The settings of the P4Runtime servers.
    pub p4runtime: P4Runtime,
    /// The settings of TLS on the control channel, for either protocol, or `None` without TLS.
    pub tls: Option<Tls>,
    /// The traffic of the emulated switches.
    pub traffic: Traffic,
    /// The largest total rate of packet-ins per second over all switches, or `None` if it is not
    /// known before the run.
    pub offered: Option<f64>,
    /// The phases of a trial.
    pub timing: Timing,
    /// The way in which the links between the switches are specified.
    pub topology: TopologySource,
    /// The plan of the run: which trials it consists of.
    pub plan: Plan,
    /// The conditions on the results that decide the exit status, such as `rtt.p99 < 5ms`.
    pub thresholds: Vec<String>,
    /// The settings for where results are written.
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
    /// The datapath ID (OpenFlow) or device ID (P4Runtime) of the first switch. The other switches
    /// have the IDs that follow it.
    pub first_id: u64,
    /// The number of ports of each switch. Ports are numbered from 1.
    pub ports: u16,
    /// The number of packets that an OpenFlow switch can buffer. If it is 0, packet-ins carry the
    /// whole frame and no buffer ID.
    pub buffers: u32,
    /// The number of entries that the flow table of an OpenFlow switch can hold.
    pub table_size: u32,
    /// The treatment of packets that enter an OpenFlow switch: they pass its flow tables or bypass
    /// them.
    pub flow_tables: FlowTables,
    /// The number of hosts at each switch. They are distributed over the ports that carry no link.
    pub hosts: u32,
    /// The maximum number of connection attempts per second.
    pub connect_rate: f64,
    /// The settings of single switches that differ from the common ones.
    pub overrides: Vec<SwitchOverride>,
}

/// The settings of the switches with indices `first..=last` that differ from the common ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchOverride {
    /// The index of the first switch, from 0.
    pub first: u32,
    /// The index of the last switch.
    pub last: u32,
    /// The number of packet-ins per second of each of these switches.
    pub rate: Option<f64>,
    /// The distribution of the inter-arrival times of packet-ins at these switches.
    pub arrivals: Option<Arrivals>,
    /// The time from the start of traffic until these switches begin to send, in addition to their
    /// [`Timing::start_stagger`].
    pub start_delay: Option<Duration>,
    /// The time before the end of traffic at which these switches stop sending.
    pub stop_delay: Option<Duration>,
    /// The capture whose frames these switches send.
    pub replay: Option<PathBuf>,
}

/// The controller, which is the system under test.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The address to which OpenFlow switches connect, as the user wrote it. The host name is
    /// resolved at the start of the run.
    pub address: String,
    /// The process whose CPU time and memory are sampled.
    pub process: Option<ProcessSelector>,
    /// The base address of the ONOS REST interface, such as `http://127.0.0.1:8181`, to which the
    /// generated netcfg is posted.
    pub onos_rest: Option<String>,
    /// The user name and the password for [`Controller::onos_rest`].
    pub onos_credentials: (String, String),
    /// The name of ONOS's driver for the switches in the generated netcfg, such as `bmv2`.
    pub onos_driver: String,
    /// The name of ONOS's pipeline configuration (pipeconf) in the generated netcfg.
    pub onos_pipeconf: String,
    /// Whether devices, hosts and netcfg are deleted from ONOS before and after every trial.
    pub onos_forget: bool,
    /// The file to which the generated netcfg (ONOS's network configuration) is written.
    pub netcfg_file: Option<PathBuf>,
    /// The file to which a `faucet.yaml` for the OpenFlow switches is written.
    pub faucet_file: Option<PathBuf>,
    /// The file to which the ID and the address of each switch are written, one line for each.
    pub list_file: Option<PathBuf>,
}

/// A selector of the controller's processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessSelector {
    /// The process at the other end of the control channel: the one that listens on
    /// [`Controller::address`] (OpenFlow), or that has connected to the probe's servers
    /// (P4Runtime). It must be on this host. If there is none, the run continues without samples
    /// and reports this.
    Listener,
    /// The process with this process ID on this host, including its threads.
    Pid(u32),
    /// Every process on this host whose name or command line contains this text.
    Name(String),
    /// A process on another host, which is reached by `ssh TARGET`.
    Ssh {
        /// The argument of `ssh` that specifies the host, such as `user@host`.
        target: String,
        /// The selector of the process on that host.
        process: Box<ProcessSelector>,
    },
}

/// The settings of the P4Runtime servers.
#[derive(Clone, Debug)]
pub struct P4Runtime {
    /// The address on which the servers listen.
    pub listen: IpAddr,
    /// The address to which the controller connects, if it differs from `listen`.
    pub advertise: Option<IpAddr>,
    /// The port of the first server. The other servers use the ports that follow it.
    pub first_port: u16,
    /// The ports after `first_port` that are skipped because other processes use them, in ascending
    /// order. Empty until a run has reserved its ports.
    pub passed_over: Vec<u16>,
    /// The address to which controllers connect for the switches of each rank, in the order of the
    /// ranks (the processes of the run). Empty if one process runs all switches. A run determines
    /// the addresses when it begins.
    pub ranks: Vec<IpAddr>,
    /// The number of switches (device IDs) that share a port.
    pub devices_per_port: u32,
    /// Whether every device has the first ID, so that devices differ only in their ports.
    pub same_device_id: bool,
    /// The P4Info file, in text format, of the pipeline that switches have from the start. Without
    /// it, switches wait for the controller to push a pipeline.
    pub p4info: Option<PathBuf>,
    /// The file with the device configuration of that pipeline.
    pub device_config: Option<PathBuf>,
    /// The cookie of that pipeline.
    pub cookie: u64,
    /// The encoding of port numbers in packet-in metadata.
    pub port_form: PortForm,
    /// The name of the digest that switches send with [`Load::Digest`]. If it is empty, they send
    /// the first digest of the pipeline.
    pub digest: String,
    /// The name of the table whose entries become idle with [`Load::IdleTimeout`]. If it is empty,
    /// it is the first table of the pipeline with idle timeouts.
    pub idle_table: String,
    /// The number of the port through which a P4 program exchanges packets with controllers. It is
    /// used only if the switches run a program.
    pub cpu_port: u32,
}

/// The encoding of port numbers in packet-in metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortForm {
    /// The shortest encoding of the number, which the P4Runtime specification requires of servers.
    #[default]
    Canonical,
    /// The encoding in the full width of the field, with leading zeros.
    FullWidth,
}

/// The settings of TLS on the control channel.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The file with the certificates of the authorities (CA) that must have issued the peer's
    /// certificate. With OpenFlow, where switches connect, it is required unless `insecure` is set.
    /// With P4Runtime, where switches listen, it makes them request a client certificate.
    pub ca: Option<PathBuf>,
    /// The file with the probe's certificate chain.
    pub certificate: Option<PathBuf>,
    /// The file with the probe's private key.
    pub key: Option<PathBuf>,
    /// The name for which the controller's certificate must be valid. By default, it is the host to
    /// which the switches connect.
    pub server_name: Option<String>,
    /// Whether the probe accepts any certificate of the controller.
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
    /// The kind of message that a switch sends at each due time.
    pub load: Load,
    /// The frame in a packet-in, or the frame from which the data of a digest is taken.
    pub frame: Frame,
    /// The length of frames in bytes, without the FCS.
    pub frame_bytes: usize,
    /// The way in which source and destination addresses are generated.
    pub addresses: Addresses,
    /// Whether hosts announce themselves by a gratuitous ARP before traffic starts.
    pub arp_first: bool,
    /// The rule by which the probe finds the packet-in that an answer belongs to.
    pub matching: Matching,
    /// The time from which an answer counts as late. Late answers are still counted and timed.
    pub late_after: Duration,
    /// The maximum number of packet-ins whose times are remembered until they are answered, over
    /// all switches. Beyond this number, the times of the oldest packet-ins are forgotten, which
    /// the result reports.
    pub outstanding_limit: usize,
}

/// The rule that determines when switches send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// An open loop: every packet-in has a due time that is fixed before the run and does not
    /// depend on answers.
    Open,
    /// A closed loop: at most `window` packet-ins per switch are unanswered, and each answer
    /// triggers the next packet-in. A packet-in without an answer for `give_up` no longer counts as
    /// unanswered but as lost.
    Closed {
        /// The maximum number of unanswered packet-ins per switch.
        window: u32,
        /// The time after which an unanswered packet-in counts as lost.
        give_up: Duration,
    },
    /// Switches send as fast as their connections accept data (OpenFlow only). Answers are counted,
    /// but not matched to packet-ins.
    Flood,
}

/// The distribution of inter-arrival times. It is scaled so that its mean is the inverse of the
/// rate.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arrivals {
    /// Equal inter-arrival times. Switches with the same rate are staggered evenly.
    #[default]
    Constant,
    /// Equal inter-arrival times. All switches with the same rate send at the same moments.
    InPhase,
    /// Exponentially distributed inter-arrival times, that is, a Poisson process.
    Exponential,
    /// Inter-arrival times that are uniformly distributed between `1 - spread` and `1 + spread`
    /// times the mean. `spread` is from 0 to 1.
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
    /// Inter-arrival times that are read from a file: one number of seconds per line, or the time
    /// stamps of a capture. The times are used unchanged, so the rate is ignored. At the end of the
    /// file, they start over.
    Replay {
        /// The path of the file.
        file: PathBuf,
    },
}

/// The frame in a packet-in.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Frame {
    /// A TCP SYN segment in an IPv4 packet and an Ethernet frame.
    #[default]
    TcpSyn,
    /// A UDP datagram in an IPv4 packet and an Ethernet frame.
    Udp,
    /// The frames of a pcap or pcapng file in order. At the end of the file, they start over.
    Replay(PathBuf),
}

/// The maximum length of a frame in bytes, without the FCS. An OpenFlow packet-in has at most
/// 65,535 bytes, including its own fields.
pub const MAX_FRAME_BYTES: usize = 65_000;

impl Frame {
    /// The length in bytes of the Ethernet, IPv4 and TCP headers with the time stamp option.
    pub(crate) const SYN_BYTES: usize = 66;
    /// The length in bytes of the shortest Ethernet frame, which has space for UDP headers and a
    /// packet ID.
    pub(crate) const MIN_UDP_BYTES: usize = 60;

    /// Returns the least length in bytes, without the FCS, that a generated frame can have. Returns
    /// `None` for captured frames.
    pub(crate) fn least_bytes(&self) -> Option<usize> {
        match self {
            Self::TcpSyn => Some(Self::SYN_BYTES),
            Self::Udp => Some(Self::MIN_UDP_BYTES),
            Self::Replay(_) => None,
        }
    }
}

/// The way in which the addresses in frames are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The way in which MAC addresses are generated.
    pub mac: Generator,
    /// The way in which IPv4 addresses are generated.
    pub ip: Generator,
    /// The way in which TCP or UDP ports are generated.
    pub port: Generator,
    /// Whether all destinations are addresses of emulated hosts.
    pub known_destinations: bool,
}

/// The way in which one kind of address is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Generator {
    /// The addresses are those of the emulated hosts, in turn.
    #[default]
    Hosts,
    /// Each address is one higher than the previous one.
    Serial,
    /// Each address is random.
    Random,
}

/// The kind of message that a switch sends at each due time, and that the controller answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Load {
    /// A packet-in, which is answered by a packet-out or a rule.
    #[default]
    PacketIn,
    /// A list of one digest, which is answered by its acknowledgement (P4Runtime only).
    Digest,
    /// A notification that a table entry has been idle. It is answered by an update with the key of
    /// the entry (P4Runtime only).
    IdleTimeout,
}

/// The rule by which the probe finds the packet-in that an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Matching {
    /// An answer is matched by the buffer ID if the packet-in had one, and otherwise by the packet
    /// ID in the payload.
    #[default]
    Auto,
    /// An answer is matched by the packet ID in the payload.
    Payload,
    /// An answer is matched by the OpenFlow transaction ID, for controllers that copy it from the
    /// packet-in. With other controllers, IDs may match by accident.
    Xid,
    /// The answer is the first flow-mod whose rule matches the packet. The rule must be in the
    /// table that sent the packet-in, and have at least the priority of the rule that sent it. This
    /// is for controllers that answer with rules instead of packet-outs.
    Rule,
    /// An answer is matched by order: it belongs to the oldest packet-in of its switch that has no
    /// answer yet. This is for controllers that discard the payload.
    Order,
}

/// The condition under which a trial stops waiting for answers after its last packet-in, with a
/// time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// The trial waits until every packet-in has been answered, but at most for this duration.
    For(Duration),
    /// The trial waits until the controller has processed every packet-in, but at most for this
    /// duration. It has processed a packet-in if it answered this packet-in or a later one of the
    /// same switch.
    UntilEmpty(Duration),
}

impl Drain {
    /// Returns the time limit.
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

/// The durations of the phases of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The time within which all switches must complete their handshakes.
    pub connect_timeout: Duration,
    /// Whether the trial continues with the switches that are connected if others are not within
    /// `connect_timeout`.
    pub allow_missing: bool,
    /// The time between the last handshake and the first packet. It has no traffic, so that the
    /// controller can discover the topology.
    pub settle: Duration,
    /// The duration of the traffic before the measurement.
    pub warm_up: Duration,
    /// The duration of the measurement.
    pub measure: Duration,
    /// The condition under which the trial stops waiting for answers after the last packet-in.
    pub drain: Drain,
    /// The time by which each switch begins to send later than the previous one.
    pub start_stagger: Duration,
    /// The time between two samples of the number of unanswered packet-ins, the CPU time and the
    /// memory.
    pub sample: Duration,
}

/// The plan of a run, which determines its trials.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kind of plan, which determines in what the trials differ.
    pub kind: PlanKind,
    /// The number of trials with the same parameters.
    pub repetitions: u32,
    /// A shell command that is run before every trial but the first, for example to restart the
    /// controller.
    pub between: Option<String>,
}

/// The kind of plan, which determines in what the trials of a run differ.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanKind {
    /// Trials with one rate and one number of switches.
    Point,
    /// Every combination of rates and numbers of switches.
    Sweep {
        /// The rates in packet-ins per second.
        rates: SweepRates,
        /// The numbers of switches.
        switches: Vec<u32>,
    },
    /// A search for the highest loss-free rate per switch, and for the knee of the response time.
    Search {
        /// The lowest rate that is tried.
        low: f64,
        /// The highest rate that is tried.
        high: f64,
        /// The largest distance between the two ends of the interval in which the search locates
        /// the highest loss-free rate, as a fraction of the rate.
        precision: f64,
        /// Whether the search is rough. A rough search stops once a rate that passed and a rate
        /// that failed are close enough. Any other search makes further trials, from which it
        /// derives the confidence that the highest loss-free rate lies between the two.
        rough: bool,
        /// The largest share of packet-ins that may stay unanswered at a rate that still counts as
        /// loss-free.
        loss: f64,
    },
    /// The tests of RFC 8456 in the given set.
    Rfc8456(Tests),
}

/// The rates of a sweep, in packet-ins per second.
#[derive(Clone, Debug, PartialEq)]
pub enum SweepRates {
    /// The rates apply to each switch.
    PerSwitch(Vec<f64>),
    /// The rates are totals over all switches, which share them equally.
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

    /// Returns the rate per switch, in packet-ins per second, for every rate of the sweep. Total
    /// rates are divided by the number of switches, `switches`.
    pub fn per_switch(&self, switches: u32) -> impl Iterator<Item = f64> {
        let (rates, share) = match self {
            Self::PerSwitch(rates) => (rates, 1.0),
            Self::Total(rates) => (rates, f64::from(switches.max(1))),
        };
        rates.iter().map(move |rate| rate / share)
    }
}

/// Settings that only the tests of RFC 8456 use.
#[derive(Clone, Debug)]
pub struct Rfc8456 {
    /// The time between two queries of the controller's northbound interface.
    pub interval: Duration,
    /// The rate per second at which new paths are requested, and at which packets are sent in tests
    /// that interrupt a stream.
    pub rate: f64,
    /// The maximum number of flows that a trial creates to measure the path provisioning time or
    /// the forwarding table capacity.
    pub flows: u32,
    /// The maximum number of switches in tests that search for a capacity.
    pub switches: u32,
    /// The addresses of standby controllers, in the form of [`Controller::address`].
    pub standby: Vec<String>,
    /// The command that stops the active controller.
    pub fail: Option<String>,
    /// The controller's northbound interface, which the tests query and by which they request
    /// paths.
    pub northbound: Option<String>,
    /// The search by which the rate of section 5.1.3 is found.
    pub search: PlanKind,
}

/// The settings for where results are written.
#[derive(Clone, Debug)]
pub struct Output {
    /// The directory of the run. If it is `None`, the run creates a new directory under `runs/`.
    pub directory: Option<PathBuf>,
    /// Whether the progress bar is hidden.
    pub quiet: bool,
    /// Whether `result.json` is printed on standard output instead of a table.
    pub json: bool,
}

/// The addresses of a P4Runtime switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAddress {
    /// The P4Runtime device id of the switch.
    pub device_id: u64,
    /// The number of the switch, counted up from the first ID. It equals the device ID unless all
    /// devices have the same ID.
    pub number: u64,
    /// The address on which the switch's server listens.
    pub listen: SocketAddr,
    /// The address to which the controller connects.
    pub dial: SocketAddr,
}
