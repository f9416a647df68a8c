//! The command line of `planimeter dut`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ::dut::{BatchAtomicity, FlowMatch};
use clap::{Args, Parser, ValueEnum};
use controllers::openflow::{ServerTls, Version};
use p4runtime::client::ClientTls;
use packetio::PortSpec;
use statistics::Condition;

use super::own_entries::{self, Entries};
use super::thresholds;
use crate::failure::Failure;
use crate::output::ForPapers;
use crate::parsers::{List, decimal, duration, list_of, one_of, sizes_of};
use crate::program::Sources;
use crate::threshold;
use crate::tls::{self, Pem};

const ABOUT: &str = "Measure a P4Runtime or OpenFlow switch: updates, their effects on packets, reads, capacity, slow path, meters, groups";

const LONG_ABOUT: &str = "\
Measure a P4Runtime or OpenFlow switch from the controller's side.

Planimeter becomes the controller of the switch and measures one table: entries inserted, modified and deleted per second and \
the time until the switch answers, entries read per second, and how many entries the table accepts. The entries are removed at \
the end, also after Ctrl-C, and entries of others are not changed.

A P4Runtime switch is connected to, and its entries are made from its P4Info; a switch that has another primary controller is \
refused. With --openflow, Planimeter waits for an OpenFlow switch to connect. Its flows are in table 0, and their cookies begin \
with 0x504c414e. The answer to a request is the reply to a barrier behind its flow-mods.

An answer says that the switch has accepted an update. With --port, and for P4Runtime --program, packets on the ports of the \
switch show when they obey it, what happens to them meanwhile, how fast the switch passes packets to its controller, which rates meters have, and how \
groups distribute flows.

With --conformance, nothing is measured: the requirements of the specification are tried one after the other. --port lets \
it send packets to a P4Runtime switch, and --commit lets it commit pipelines. With --fuzz, random sequences of updates are \
written, with packets in between, and the shortest one that shows a fault is kept.";

/// The value of --table that stands for one table of each match kind. No table of a P4 program has
/// such a name.
pub(super) const EACH_KIND: &str = "each-kind";

const EXAMPLES: &str = "\
With a file of --entries, the tests of updates, the sustained rate, reads, capacity and effects use its entries of one table: that of \
--table, or the one with the most. Modified entries get the action of the next entry of the table with another action or \
other parameters. Entries that the switch has already are not touched, so the file must not have their keys.

Tests:
  updates   For each load (updates in a request, and requests that wait for answers): entries are inserted for --time, then \
all of them modified, then deleted. The rate of a round is that of accepted updates from the first request to the last answer; \
intervals are over rounds, in which loads come in random order. A load of single updates, one at a time, shows the latency. \
Further values of --window, --occupancy, --atomicity, --controllers and --table are measured with the largest batch up to 100, one at a time; with --port, and for \
P4Runtime --program, also while packets pass through the switch.
  sustained The highest rate of updates that the switch sustains when requests are due by a schedule, and the knee of the \
response time, by search; only if --plan names it. Insertions and deletions take turns, so the first --occupancy stays. It takes \
about a minute. With --quick, each rate is tried once, and no confidence is stated.
  reads     All entries of the table are read again and again. With --port, and for P4Runtime --program, also a counter while packets are \
counted: how old its value is (P4Runtime: the direct counter of the table; OpenFlow: the packets in the statistics of a flow), and what reads cost packets \
that pass through the switch.
  capacity  Entries are inserted until the switch refuses them or --entries are there; then one is deleted and another inserted. In the empty table, and at \
100, 90 and 50 % of what it took: how fast entries are replaced and, with --port, how packets fare meanwhile; and the memory of the switch, if it runs on this host.
  effects   One rule, and then --rules rules in one request, are inserted, modified and deleted in --changes rounds, while \
packets are sent into port 1 of the switch and received on all ports of --port. Entries and packets are made from --program, \
which the switch must run; generated entries send packets to port 2, and modified ones to others if they can. Other values of --atomicity than \
continue-on-error are tried with all rules together. For OpenFlow, \
packets enter by the first --port; flows send them to the second, modified ones to the fourth or back to the first, and packets \
without a flow leave by the third, if there is one.
  slow-path  Packets that go to the controller, and packets that the controller sends, --window of them on their way, and then by \
a schedule at 10, 50 and 90 % of that rate, at 50 % also while an entry is updated; and the time from the first packet of a flow to the first that a new entry forwards. \
OpenFlow: packets enter by the first --port and leave by the second. P4Runtime: packets, entries and the metadata of packet-outs are \
found from --program; packets enter by port 1.
  digests   P4Runtime: packets of --program with distinct digests enter by port 1. When their digests arrive, with three \
configurations of max_timeout_ns and max_list_size, which are lost, and whether they come again too early or not at all, with and \
without acknowledgement.
  roles     P4Runtime: a second controller with a higher election id displaces the primary, which writes meanwhile, and leaves \
again. How long it takes until the new primary may write, and whether the displaced one still can.
  timeouts  Entries with timeouts are inserted, and no packets are sent: how early or late the switch says that they timed out. \
P4Runtime: if the table has idle timeouts; OpenFlow: idle and hard ones.
  meters    Packets are sent at several times the rate of a meter: which rate and burst it has, compared with those that were configured. P4Runtime: meters of --program whose colours packets show; OpenFlow 1.3: meters that drop.
  groups    Random flows are sent to a group: their shares, compared with the weights of the members. P4Runtime: a group of an action selector of --program, whose members send packets to different ports; OpenFlow 1.3: a select group.
  pipeline  P4Runtime: --program is committed --rounds times with VERIFY_AND_COMMIT and RECONCILE_AND_COMMIT: the time until the \
answer, the entries that are kept and, with --port, the packets that are lost and the time until one is forwarded again. Only if \
--plan names it, and if the switch has no entries, because a commit deletes them. The pipeline that ran before is put back.

Examples:
  A switch of this host, and all tests that need no packets:
    planimeter switch programs/router.p4 --grpc-server-addr 127.0.0.1:9559 &
    planimeter dut 127.0.0.1:9559

  The update rate of one table of BMv2 in a few seconds:
    planimeter dut 127.0.0.1:9559 --table ipv4_lpm --plan updates --quick

  How the update rate depends on the match kind, and on how full the table is:
    planimeter dut 127.0.0.1:9559 --plan updates --table each-kind --occupancy 0,50,90 --quick

  Whether four controllers together are faster than one:
    planimeter dut 127.0.0.1:9559 --plan updates --controllers 4

  Which rate of updates a switch sustains in a table that is half full:
    planimeter dut 127.0.0.1:9559 --plan sustained --occupancy 50

  How many entries a table holds, beyond the size that the program declares:
    planimeter dut 127.0.0.1:9559 --plan capacity --entries 2M

  How fast a switch takes the entries of a file:
    planimeter dut 127.0.0.1:9559 --plan updates,reads --entries entries.txtpb

  When packets obey updates, over virtual pairs that are connected to ports 1, 2 and 3 of the switch, as root:
    planimeter dut 127.0.0.1:9559 --plan effects --program programs/l2.p4 --port 1@veth1 --port 2@veth3 --port 3@veth5

  What a new pipeline costs, without packets:
    planimeter dut 127.0.0.1:9559 --plan pipeline --program programs/router.p4

  An OpenFlow switch that connects after `ovs-vsctl set-controller br0 tcp:127.0.0.1:6653`:
    planimeter dut --openflow 127.0.0.1:6653 --quick

  Whether a switch answers as the specification demands, for people and as JUnit XML:
    planimeter dut 127.0.0.1:9559 --conformance -o conformance

  Whether it keeps what is written, and refuses what it has to, over ten thousand random requests:
    planimeter dut 127.0.0.1:9559 --fuzz --requests 10k --seed 7

  Whether its barriers tell the truth, over virtual pairs that are connected to its ports 1, 2 and 3, as root:
    planimeter dut --openflow 127.0.0.1:6653 --plan effects --port 1@veth1 --port 2@veth3 --port 3@veth5

Exit status: 0 everything was measured and the switch is as it was; 1 something was not, a requirement is not met, or a threshold does not hold; 2 the arguments do not work; 3 the \
switch could not be reached; 130 interrupted.";

pub(super) const THRESHOLD: &str = "\
Fail, with exit status 1, unless the condition holds: a figure, one of <, <=, >, >=, ==, !=, and a number (10k, 200us, 0). \
A figure that was not measured breaks its condition. Figures are insert-rate, modify-rate and delete-rate (updates per second, at \
the load with the highest rate), sustained-rate (the highest that is sustained, with --plan sustained), the same with -p50 and -p99 (time until a single update is answered), read-rate (entries per \
second), counter-read-rate (direct counters per second), wrong-reads, stale-counters (values of a counter that are certainly older than their request), capacity (entries), forwarding-rate-empty and \
forwarding-rate-full (packets per second without loss, with an empty and with a full table), lost-beside (packets that were lost during updates, reads and the test of capacity), after (rules that packets obeyed only after the answer), lost, astray and twice \
(packets during changes), torn (requests that were visible in part), packet-in-rate and packet-out-rate, \
packets-lost-on-slow-path, writes-of-displaced (accepted writes of a displaced primary), early-timeouts, \
meter-deviations (rates, bursts and excesses of meters that certainly deviate) and group-faults (groups whose shares certainly differ from their weights).";

/// The arguments of `planimeter dut`.
#[derive(Debug, Parser)]
#[command(
    name = "dut",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_long_help = EXAMPLES,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// The address of the P4Runtime server, such as 127.0.0.1:9559
    #[arg(value_name = "HOST:PORT", required_unless_present = "openflow")]
    pub(super) address: Option<String>,
    /// The device at the server
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(super) device_id: u64,
    /// The tests that are made [all but sustained and pipeline]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        hide_default_value = true,
        default_value = "updates,reads,capacity,effects,slow-path,digests,roles,timeouts,meters,groups"
    )]
    pub(super) plan: Vec<Test>,
    /// The table that is measured [the largest one for which entries can be made]. Further tables,
    /// or with each-kind one table of each match kind, are compared in the tests of updates and
    /// capacity
    #[arg(long, value_name = "NAME")]
    pub(super) table: Vec<String>,
    /// The most entries that are made, or a file with the entries that are used instead. P4Runtime:
    /// a WriteRequest (text, JSON or binary), or a runtime.json of the p4lang tutorials; OpenFlow:
    /// flows as `ovs-ofctl dump-flows` prints them
    #[arg(long, value_name = "COUNT|FILE", default_value = "100k", value_parser = own_entries::entries)]
    pub(super) entries: Entries,
    /// The numbers of updates in a request, such as 1,10,100 or 2^0..2^10
    #[arg(long, value_name = "LIST", default_value = "1,10,100,1000",
        value_parser = list_of("a count such as 100 or 2^7", sizes_of))]
    pub(super) batch: List<usize>,
    /// The numbers of requests that wait for their answers at the same time, such as 8,1,32. All
    /// tests use the first one, and that of updates compares the others with it
    #[arg(long, value_name = "LIST", default_value = "8",
        value_parser = list_of("a number of requests from 1 to 4096", windows_of))]
    pub(super) window: List<usize>,
    /// The percentages of the table, or of --entries if they are fewer, that are filled before
    /// updates, such as 0,50,90
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0",
        value_parser = clap::value_parser!(u8).range(0..=99))]
    pub(super) occupancy: Vec<u8>,
    /// P4Runtime: what becomes of a request of which an update is refused, as a list of
    /// continue-on-error, rollback-on-error and dataplane-atomic
    #[arg(long, value_name = "LIST", default_value = "continue-on-error", conflicts_with = "openflow",
        value_parser = list_of("continue-on-error, rollback-on-error or dataplane-atomic", atomicity_of))]
    pub(super) atomicity: List<BatchAtomicity>,
    /// The numbers of controllers that send updates at the same time, such as 2,4, beside one.
    /// P4Runtime: primaries of different roles; OpenFlow: connections of the switch
    #[arg(long, value_name = "LIST", default_value = "1",
        value_parser = list_of("a number of controllers from 1 to 64", controllers_of))]
    pub(super) controllers: List<usize>,
    /// The process of the switch, whose memory is read while the table fills [the process of this
    /// host at the other end of the control channel]
    #[arg(long, value_name = "PID")]
    pub(super) switch_process: Option<u32>,
    /// The number of rounds, over which intervals are computed
    #[arg(long, value_name = "COUNT", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) rounds: u32,
    /// The time for which entries are inserted, or read, for each load of a round
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub(super) time: Duration,
    /// Make three rounds of 200 ms for each load, for a first look
    #[arg(long, conflicts_with_all = ["rounds", "time"])]
    pub(super) quick: bool,
    #[command(flatten)]
    pub(super) judging: Judging,
    #[command(flatten)]
    pub(super) openflow: OpenFlow,
    #[command(flatten)]
    pub(super) packets: Packets,
    #[command(flatten)]
    pub(super) tls: Tls,
    /// The run directory, new or empty [runs/<time>-dut]
    #[arg(long, short, value_name = "DIRECTORY")]
    pub(super) output: Option<PathBuf>,
    /// Print result.json instead of the tables
    #[arg(long)]
    pub(super) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Fail unless this condition holds, such as 'insert-rate >= 10k'; may be repeated
    #[arg(
        long,
        short,
        value_name = "CONDITION",
        conflicts_with = "judging",
        value_parser = threshold::condition(&thresholds::METRICS),
        long_help = THRESHOLD
    )]
    pub(super) threshold: Vec<Condition>,
    #[command(flatten)]
    pub(super) papers: ForPapers,
}

/// The flags with which a switch is judged instead of measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Conformance, instead of a measurement")]
#[group(id = "judging", multiple = true, conflicts_with_all = ["plan", "table", "program", "quick", "entries"])]
pub(super) struct Judging {
    /// Try the requirements of the specification of P4Runtime, or of OpenFlow
    #[arg(long, conflicts_with_all = ["fuzz", "replay"])]
    pub(super) conformance: bool,
    /// Also try requirements that commit the pipeline of a P4Runtime switch again, which deletes the
    /// entries of all controllers
    #[arg(long, requires = "conformance", conflicts_with = "openflow")]
    pub(super) commit: bool,
    /// Commit this pipeline first, as --commit permits: a program in P4 source or BMv2 JSON, or a P4Info in text form and a
    /// device configuration, separated by a comma
    #[arg(long, value_name = "FILE[,FILE]", requires = "commit")]
    pub(super) push: Option<String>,
    /// P4Runtime: write random sequences of valid and invalid updates, and compare the switch with
    /// a model
    #[arg(long, conflicts_with = "openflow", group = "random")]
    pub(super) fuzz: bool,
    /// The seed of the random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "fuzz")]
    pub(super) seed: u64,
    /// The number of requests
    #[arg(long, value_name = "COUNT", default_value = "1k", requires = "fuzz", value_parser = decimal)]
    pub(super) requests: u64,
    /// Do not demand that the switch checks the program's constraints (@entry_restriction, @action_restriction), and do not make
    /// entries that break them on purpose
    #[arg(long, requires = "random")]
    pub(super) ignore_constraints: bool,
    /// P4Runtime: repeat the requests of a sequence.jsonl that --fuzz has left
    #[arg(long, value_name = "FILE", conflicts_with = "openflow", group = "random")]
    pub(super) replay: Option<PathBuf>,
}

/// The flags of OpenFlow switches.
#[derive(Debug, Args)]
#[command(next_help_heading = "OpenFlow")]
pub(super) struct OpenFlow {
    /// Wait at this address for an OpenFlow switch to connect, instead of P4Runtime
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        conflicts_with_all = ["address", "device_id", "table", "program", "tls_server_name"]
    )]
    pub(super) openflow: Option<SocketAddr>,
    /// The only version that is offered to the switch [1.0 and 1.3]
    #[arg(long, value_name = "VERSION", requires = "openflow", conflicts_with = "address",
        value_parser = one_of([("1.0", Version::V1_0), ("1.3", Version::V1_3)]))]
    pub(super) openflow_version: Option<Version>,
    /// The fields that flows match: the Ethernet destination, or IPv4 destination and UDP port
    #[arg(long = "match", value_name = "NAME", default_value = "mac", requires = "openflow",
        conflicts_with = "address",
        value_parser = one_of([("mac", FlowMatch::Mac), ("udp", FlowMatch::Udp)]))]
    pub(super) matching: FlowMatch,
}

/// The flags of the tests with packets.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tests with packets")]
pub(super) struct Packets {
    /// The program that the switch runs, from which packets and their entries are made
    #[arg(long, value_name = "FILE")]
    pub(super) program: Option<PathBuf>,
    /// A port of the switch, and the interface of this host that is connected to it
    #[arg(long, value_name = "NUMBER@INTERFACE")]
    pub(super) port: Vec<PortSpec>,
    /// The port of the program by which packets go to the controller and come from it
    #[arg(long, value_name = "NUMBER", default_value_t = 255, requires = "program")]
    pub(super) cpu_port: u32,
    /// The number of rules in a request, each with a flow of packets
    #[arg(long, value_name = "COUNT", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(super) rules: u16,
    /// The number of rounds in which rules are inserted, modified and deleted
    #[arg(long, value_name = "COUNT", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) changes: u32,
    /// Packets per second, over all rules of a request, or at most 8k through a meter, to a group or
    /// beside updates and reads; halved until the switch forwards them
    #[arg(long, value_name = "RATE", default_value = "50k", value_parser = decimal)]
    pub(super) probes: u64,
    #[command(flatten)]
    pub(super) sources: Sources,
}

/// The flags that name the files with certificates and keys for TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS, with PEM files")]
pub(super) struct Tls {
    /// The authorities that issue the switch's certificate; enables TLS with P4Runtime, and mutual
    /// TLS with OpenFlow
    #[arg(long, value_name = "FILE")]
    pub(super) tls_ca: Option<PathBuf>,
    /// The certificate that is shown to the switch, and those of its issuers; enables TLS with
    /// OpenFlow
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(super) tls_key: Option<PathBuf>,
    /// The name in the switch's certificate, if it is not the host; for P4Runtime
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    pub(super) tls_server_name: Option<String>,
}

/// A test of the switch that `--plan` may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Test {
    /// Rates and latencies of inserts, modifications and deletions.
    Updates,
    /// The highest rate of updates that the switch sustains, by search. Only if it is named.
    Sustained,
    /// The rate of reads.
    Reads,
    /// The number of entries that the table accepts.
    Capacity,
    /// When packets obey updates, and what happens to them meanwhile.
    Effects,
    /// Packets between ports and the controller.
    SlowPath,
    /// When and how often a P4Runtime switch sends the digests of packets.
    Digests,
    /// Hand-overs between controllers of a P4Runtime switch.
    Roles,
    /// Whether entries time out early or late.
    Timeouts,
    /// Rates and bursts of meters.
    Meters,
    /// Shares of the members of groups.
    Groups,
    /// How long the commit of a pipeline takes, and what survives it. Only if it is named.
    Pipeline,
}

impl Test {
    /// Returns whether the test runs only if `--plan` names it.
    pub(super) fn is_only_named(self) -> bool {
        match self {
            Self::Sustained | Self::Pipeline => true,
            Self::Updates
            | Self::Reads
            | Self::Capacity
            | Self::Effects
            | Self::SlowPath
            | Self::Digests
            | Self::Roles
            | Self::Timeouts
            | Self::Meters
            | Self::Groups => false,
        }
    }
}

impl Tls {
    /// Returns the settings of the connection to a P4Runtime switch.
    pub(super) fn p4runtime(&self) -> Result<Option<ClientTls>, Failure> {
        tls::client(self.tls_ca.as_deref(), self.identity()?, self.tls_server_name.clone())
    }

    /// Returns the settings with which an OpenFlow switch may connect.
    pub(super) fn openflow(&self) -> Result<Option<ServerTls>, Failure> {
        tls::openflow(self.tls_ca.as_deref(), self.identity()?)
    }

    fn identity(&self) -> Result<Option<(Pem, Pem)>, Failure> {
        tls::identity(self.tls_certificate.as_deref(), self.tls_key.as_deref())
    }
}

/// Parses one word of the list of window sizes, for [`list_of`]. A window is the number of requests
/// that wait for their answers at the same time.
fn windows_of(word: &str) -> Option<Vec<usize>> {
    word.parse().ok().filter(|count| (1..=4096).contains(count)).map(|count| vec![count])
}

/// Parses one word of the list of numbers of controllers, for [`list_of`].
fn controllers_of(word: &str) -> Option<Vec<usize>> {
    word.parse().ok().filter(|count| (1..=64).contains(count)).map(|count| vec![count])
}

/// Parses one word of the list of atomicities, for [`list_of`].
fn atomicity_of(word: &str) -> Option<Vec<BatchAtomicity>> {
    let known = [
        BatchAtomicity::ContinueOnError,
        BatchAtomicity::RollbackOnError,
        BatchAtomicity::DataplaneAtomic,
    ];
    known.into_iter().find(|one| one.name() == word).map(|one| vec![one])
}
