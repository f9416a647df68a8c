//! `planimeter dut`: measures a switch from the controller's side.

mod commits;
mod conformance;
mod counters;
mod digests;
mod document;
mod effects;
mod fuzz;
mod groups;
mod meters;
mod roles;
pub(crate) mod slow_path;
mod sustained;
mod thresholds;
mod timeouts;
pub(crate) mod traffic;
mod updates;
mod wires;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ::dut::updates::{Load, OtherTables};
use ::dut::{
    BatchAtomicity, Device, DutError, FlowMatch, Listening, Plan, Target, Watch, capacity,
    commits as pipelines, counters as ages, digests as digest_lists, groups as spreading, live,
    measure, meters as policing, reads, roles as hand_overs, slow_path as slow,
    sustained as search, timeouts as expiry, updates as rates,
};
use clap::{Args, Parser, ValueEnum};
use controllers::openflow::{ServerTls, SwitchConnectionError, Version};
use p4runtime::client::ClientTls;
use packetio::PortSpec;
use statistics::Condition;

use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::invocation;
use crate::output::{self, ForPapers};
use crate::parsers::{List, decimal, duration, list_of, one_of, sizes_of};
use crate::program::{self, Sources};
use crate::progress::Steps;
use crate::threshold;
use crate::tls::{self, Pem};

/// The greatest number of packets per second that are sent through meters and to groups.
const METERED: u64 = 8_000;

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
written, and the shortest one that shows a fault is kept.";

/// The value of --table that stands for one table of each match kind. No table of a P4 program has
/// such a name.
const EACH_KIND: &str = "each-kind";

const EXAMPLES: &str = "\
Tests:
  updates   For each load (updates in a request, and requests that wait for answers): entries are inserted for --time, then \
all of them modified, then deleted. The rate of a round is that of accepted updates from the first request to the last answer; \
intervals are over rounds, in which loads come in random order. A load of single updates, one at a time, shows the latency. \
Further values of --occupancy, --atomicity and --table are measured with the largest batch up to 100, one at a time.
  sustained The highest rate of updates that the switch sustains when requests are due by a schedule, and the knee of the \
response time, by search; only if --plan names it. Insertions and deletions take turns, so the first --occupancy stays. It takes \
about a minute. With --quick, each rate is tried once, and no confidence is stated.
  reads     All entries of the table are read again and again. P4Runtime: with --program and --port, also the direct counter \
of an entry while packets are counted: how old its value is.
  capacity  Entries are inserted until the switch refuses them or --entries are there; then one is deleted and another inserted.
  effects   One rule, and then --rules rules in one request, are inserted, modified and deleted in --changes rounds, while \
packets are sent into port 1 of the switch and received on all ports of --port. Entries and packets are made from --program, \
which the switch must run; generated entries send packets to port 2, and modified ones to others if they can. Other values of --atomicity than \
continue-on-error are tried with all rules together. For OpenFlow, \
packets enter by the first --port; flows send them to the second, modified ones to the fourth or back to the first, and packets \
without a flow leave by the third, if there is one.
  slow-path  Packets that go to the controller, and packets that the controller sends, --window of them on their way, and then by \
a schedule at 10, 50 and 90 % of that rate; and the time from the first packet of a flow to the first that a new entry forwards. \
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

  Which rate of updates a switch sustains in a table that is half full:
    planimeter dut 127.0.0.1:9559 --plan sustained --occupancy 50

  How many entries a table holds, beyond the size that the program declares:
    planimeter dut 127.0.0.1:9559 --plan capacity --entries 2M

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

const THRESHOLD: &str = "\
Fail, with exit status 1, unless the condition holds: a figure, one of <, <=, >, >=, ==, !=, and a number (10k, 200us, 0). \
A figure that was not measured breaks its condition. Figures are insert-rate, modify-rate and delete-rate (updates per second, at \
the load with the highest rate), sustained-rate (the highest that is sustained, with --plan sustained), the same with -p50 and -p99 (time until a single update is answered), read-rate (entries per \
second), wrong-reads, capacity (entries), after (rules that packets obeyed only after the answer), lost, astray and twice \
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
    address: Option<String>,
    /// The device at the server
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    device_id: u64,
    /// The tests that are made [all but sustained and pipeline]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        hide_default_value = true,
        default_value = "updates,reads,capacity,effects,slow-path,digests,roles,timeouts,meters,groups"
    )]
    plan: Vec<Test>,
    /// The table that is measured [the largest one for which entries can be made]. Further tables,
    /// or with each-kind one table of each match kind, are compared in the test of updates
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    /// The most entries that are inserted
    #[arg(long, value_name = "COUNT", default_value = "100k", value_parser = decimal)]
    entries: u64,
    /// The numbers of updates in a request, such as 1,10,100 or 2^0..2^10
    #[arg(long, value_name = "LIST", default_value = "1,10,100,1000",
        value_parser = list_of("a count such as 100 or 2^7", sizes_of))]
    batch: List<usize>,
    /// The number of requests that wait for their answers at the same time
    #[arg(long, value_name = "COUNT", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=4096))]
    window: u16,
    /// The percentages of the table, or of --entries if they are fewer, that are filled before
    /// updates, such as 0,50,90
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0",
        value_parser = clap::value_parser!(u8).range(0..=99))]
    occupancy: Vec<u8>,
    /// P4Runtime: what becomes of a request of which an update is refused, as a list of
    /// continue-on-error, rollback-on-error and dataplane-atomic
    #[arg(long, value_name = "LIST", default_value = "continue-on-error", conflicts_with = "openflow",
        value_parser = list_of("continue-on-error, rollback-on-error or dataplane-atomic", atomicity_of))]
    atomicity: List<BatchAtomicity>,
    /// The number of rounds, over which intervals are computed
    #[arg(long, value_name = "COUNT", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The time for which entries are inserted, or read, for each load of a round
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    time: Duration,
    /// Make three rounds of 200 ms for each load, for a first look
    #[arg(long, conflicts_with_all = ["rounds", "time"])]
    quick: bool,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    openflow: OpenFlow,
    #[command(flatten)]
    packets: Packets,
    #[command(flatten)]
    tls: Tls,
    /// The run directory, new or empty [runs/<time>-dut]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Print result.json instead of the tables
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    /// Fail unless this condition holds, such as 'insert-rate >= 10k'; may be repeated
    #[arg(
        long,
        short,
        value_name = "CONDITION",
        conflicts_with = "judging",
        value_parser = threshold::condition(&thresholds::METRICS),
        long_help = THRESHOLD
    )]
    threshold: Vec<Condition>,
    #[command(flatten)]
    papers: ForPapers,
}

/// The flags with which a switch is judged instead of measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Conformance, instead of a measurement")]
#[group(id = "judging", multiple = true, conflicts_with_all = ["plan", "table", "program", "quick"])]
struct Judging {
    /// Try the requirements of the specification of P4Runtime, or of OpenFlow
    #[arg(long, conflicts_with_all = ["fuzz", "replay"])]
    conformance: bool,
    /// Also try requirements that commit the pipeline of a P4Runtime switch again, which deletes the
    /// entries of all controllers
    #[arg(long, requires = "conformance", conflicts_with = "openflow")]
    commit: bool,
    /// Commit this pipeline first, as --commit permits: a program in P4 source or BMv2 JSON, or a P4Info in text form and a
    /// device configuration, separated by a comma
    #[arg(long, value_name = "FILE[,FILE]", requires = "commit")]
    push: Option<String>,
    /// P4Runtime: write random sequences of valid and invalid updates, and compare the switch with
    /// a model
    #[arg(long, conflicts_with_all = ["replay", "openflow", "port"])]
    fuzz: bool,
    /// The seed of the random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "fuzz")]
    seed: u64,
    /// The number of requests
    #[arg(long, value_name = "COUNT", default_value = "1k", requires = "fuzz", value_parser = decimal)]
    requests: u64,
    /// P4Runtime: repeat the requests of a sequence.jsonl that --fuzz has left
    #[arg(long, value_name = "FILE", conflicts_with_all = ["openflow", "port"])]
    replay: Option<PathBuf>,
}

/// The flags of OpenFlow switches.
#[derive(Debug, Args)]
#[command(next_help_heading = "OpenFlow")]
struct OpenFlow {
    /// Wait at this address for an OpenFlow switch to connect, instead of P4Runtime
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        conflicts_with_all = ["address", "device_id", "table", "program", "tls_server_name"]
    )]
    openflow: Option<SocketAddr>,
    /// The only version that is offered to the switch [1.0 and 1.3]
    #[arg(long, value_name = "VERSION", requires = "openflow", conflicts_with = "address",
        value_parser = one_of([("1.0", Version::V1_0), ("1.3", Version::V1_3)]))]
    openflow_version: Option<Version>,
    /// The fields that flows match: the Ethernet destination, or IPv4 destination and UDP port
    #[arg(long = "match", value_name = "NAME", default_value = "mac", requires = "openflow",
        conflicts_with = "address",
        value_parser = one_of([("mac", FlowMatch::Mac), ("udp", FlowMatch::Udp)]))]
    matching: FlowMatch,
}

/// The flags of the tests with packets.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tests with packets")]
struct Packets {
    /// The program that the switch runs, from which packets and their entries are made
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// A port of the switch, and the interface of this host that is connected to it
    #[arg(long, value_name = "NUMBER@INTERFACE")]
    port: Vec<PortSpec>,
    /// The port of the program by which packets go to the controller and come from it
    #[arg(long, value_name = "NUMBER", default_value_t = 255, requires = "program")]
    cpu_port: u32,
    /// The number of rules in a request, each with a flow of packets
    #[arg(long, value_name = "COUNT", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=256))]
    rules: u16,
    /// The number of rounds in which rules are inserted, modified and deleted
    #[arg(long, value_name = "COUNT", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    changes: u32,
    /// Packets per second, over all rules of a request, or at most 8k through a meter or to a
    /// group; halved until the switch forwards them
    #[arg(long, value_name = "RATE", default_value = "50k", value_parser = decimal)]
    probes: u64,
    #[command(flatten)]
    sources: Sources,
}

/// The flags that name the files with certificates and keys for TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS, with PEM files")]
struct Tls {
    /// The authorities that issue the switch's certificate; enables TLS with P4Runtime, and mutual
    /// TLS with OpenFlow
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The certificate that is shown to the switch, and those of its issuers; enables TLS with
    /// OpenFlow
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// The name in the switch's certificate, if it is not the host; for P4Runtime
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_server_name: Option<String>,
}

/// A test of the switch that `--plan` may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Test {
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
    /// Returns whether the test is made only if `--plan` names it.
    fn is_only_named(self) -> bool {
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

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let judging = &arguments.judging;
    if judging.conformance {
        return conformance::run(arguments);
    }
    if judging.fuzz {
        return fuzz::search(arguments);
    }
    if let Some(file) = &judging.replay {
        return fuzz::replay(arguments, file);
    }
    let mut plan = arguments.plan()?;
    let target = arguments.target(&mut plan)?;
    let directory = output::directory(arguments.output.as_deref(), "dut", arguments.papers)?;
    let interrupt = interrupt::flag();
    let started = invocation::start();
    let mut bar = Bar { steps: Steps::new(arguments.quiet), is_quiet: arguments.quiet };
    let outcome = measure(&target, &plan, &interrupt, &mut bar);
    drop(bar);
    let outcome = outcome.map_err(|error| failure(&error))?;
    let interrupted = interrupt.load(std::sync::atomic::Ordering::Relaxed);
    let mut document = document::of(&target, &outcome, interrupted, started.provenance());
    let broken = thresholds::broken(&outcome, &arguments.threshold, interrupted);
    document.findings.extend(broken.iter().cloned());
    if interrupted && document.sections.is_empty() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let status = output::leave_document(&directory, &document, arguments.json, interrupted)?;
    broken.iter().for_each(|text| eprintln!("planimeter: {text}"));
    Ok(if broken.is_empty() { status } else { ExitCode::from(1) })
}

impl Arguments {
    fn plan(&self) -> Result<Plan, Failure> {
        let (rounds, time) = match self.quick {
            true => (3, Duration::from_millis(200)),
            false => (self.rounds, self.time),
        };
        let window = usize::from(self.window);
        if self.other_tables() == OtherTables::OfEachKind && self.table.len() > 2 {
            return Err(Failure::input(
                "--table each-kind chooses the other tables itself: name at most one table beside it, which all tests measure",
            ));
        }
        let has = |test| self.plan.contains(&test);
        let entries = usize::try_from(self.entries).unwrap_or(usize::MAX);
        let with_packets = self.has_packets()?;
        let effects = (with_packets && has(Test::Effects)).then(|| self.effects());
        let is_openflow = self.openflow.openflow.is_some();
        let slow_path = (with_packets && has(Test::SlowPath)).then_some(slow::Settings {
            rounds,
            time,
            window: usize::from(self.window),
            reactions: 20,
        });
        Ok(Plan {
            entries: self.entries,
            updates: has(Test::Updates).then(|| rates::Settings {
                loads: self.loads(),
                base: self.base_load(),
                tables: self.other_tables(),
                rounds,
                time,
                seed: crate::environment::SEED,
            }),
            sustained: has(Test::Sustained).then(|| search::Settings {
                batch: self.base_load().batch,
                window,
                occupancy: self.base_load().occupancy,
                time,
                is_rough: self.quick,
            }),
            reads: has(Test::Reads).then_some(reads::Settings { entries, rounds, time }),
            counters: (with_packets && !is_openflow && has(Test::Reads))
                .then_some(ages::Settings { readings: if self.quick { 50 } else { 500 } }),
            capacity: has(Test::Capacity).then_some(capacity::Settings { batch: 100, window }),
            effects,
            slow_path,
            digests: (with_packets && !is_openflow && has(Test::Digests))
                .then_some(digest_lists::Settings { rounds }),
            roles: (!is_openflow && has(Test::Roles))
                .then_some(hand_overs::Settings { rounds: if self.quick { 5 } else { 20 } }),
            timeouts: has(Test::Timeouts).then_some(expiry::Settings {
                entries: if self.quick { 10 } else { 50 },
                grace: Duration::from_secs(5),
            }),
            meters: (with_packets && has(Test::Meters)).then(|| policing::Settings {
                packets_per_second: self.packets.probes.min(METERED) as f64,
                time: Duration::from_millis(if self.quick { 500 } else { 2_000 }),
                traffic: None,
            }),
            groups: (with_packets && has(Test::Groups)).then(|| spreading::Settings {
                flows: if self.quick { 1_000 } else { 10_000 },
                packets_per_second: self.packets.probes.min(METERED) as f64,
                seed: crate::environment::SEED,
                traffic: None,
            }),
            commits: self.commits()?,
        })
    }

    /// Returns the load from which others differ in one property. Its requests have the largest
    /// number of updates up to 100, at which most switches are close to their highest rate.
    fn base_load(&self) -> Load {
        let batches = self.batch.0.iter().copied();
        let batch = batches.clone().filter(|batch| *batch <= 100).max().or(batches.min());
        Load {
            batch: batch.unwrap_or(1),
            window: usize::from(self.window),
            occupancy: self.occupancy.first().copied().unwrap_or(0),
            atomicity: self.atomicity.0.first().copied().unwrap_or_default(),
        }
    }

    /// Returns the loads of the test of updates: each batch, and then each occupancy and atomicity
    /// with the batch of the base.
    fn loads(&self) -> Vec<Load> {
        let base = self.base_load();
        // Single updates, one at a time, show the latency of an update.
        let mut loads = vec![Load { batch: 1, window: 1, ..base }];
        let batches = self.batch.0.iter().map(|batch| Load { batch: *batch, ..base });
        let occupancies = self.occupancy.iter().map(|percent| Load { occupancy: *percent, ..base });
        let atomicities = self.atomicity.0.iter().map(|one| Load { atomicity: *one, ..base });
        for load in batches.chain(occupancies).chain(atomicities) {
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
        loads
    }

    /// Returns the name of the table that all tests measure; `None` for the largest one.
    fn first_table(&self) -> Option<&str> {
        self.table.iter().map(String::as_str).find(|name| *name != EACH_KIND)
    }

    /// Returns the tables that only the test of updates measures.
    fn other_tables(&self) -> OtherTables {
        match self.table.as_slice() {
            names if names.iter().any(|name| name == EACH_KIND) => OtherTables::OfEachKind,
            [] | [_] => OtherTables::None,
            [_, others @ ..] => OtherTables::Named(others.to_vec()),
        }
    }

    /// Returns whether the plan has all tests that a default plan has.
    fn has_default_plan(&self) -> bool {
        let mut by_default = Test::value_variants().iter().filter(|test| !test.is_only_named());
        by_default.all(|test| self.plan.contains(test))
    }

    /// Returns whether the user has given what tests with packets need: two ports of an OpenFlow
    /// switch, or the program of a P4Runtime switch. Without these, returns false if the plan has
    /// no such test, or if it is the default plan and no port was given; otherwise returns an
    /// error. Also returns an error if the user named a test that does not apply to the protocol of
    /// the switch.
    fn has_packets(&self) -> Result<bool, Failure> {
        let packets = &self.packets;
        let has = |test: &Test| self.plan.contains(test);
        let is_default = self.has_default_plan();
        let is_openflow = self.openflow.openflow.is_some();
        if has(&Test::Digests) && is_openflow && !is_default {
            return Err(Failure::input(
                "digests are measured for P4Runtime switches: leave digests out of --plan",
            ));
        }
        if has(&Test::Roles) && is_openflow && !is_default {
            return Err(Failure::input(
                "hand-overs between controllers are measured for P4Runtime switches: leave roles out of --plan",
            ));
        }
        let is_possible = match is_openflow {
            true => packets.port.len() >= 2,
            false => packets.program.is_some() && !packets.port.is_empty(),
        };
        let with_packets =
            [Test::Effects, Test::SlowPath, Test::Digests, Test::Meters, Test::Groups];
        let is_wanted = with_packets.iter().any(has);
        if is_possible
            || !is_wanted
            || (is_default && packets.port.is_empty() && packets.program.is_none())
        {
            return Ok(is_possible);
        }
        Err(Failure::input(match is_openflow {
            false => {
                "tests with packets need the program of the switch and its ports: --program FILE --port \
                 NUMBER@INTERFACE"
            }
            true => {
                "tests with packets need two ports of the switch or more, by which packets enter and \
                 leave: --port NUMBER@INTERFACE --port NUMBER@INTERFACE"
            }
        }))
    }

    /// Returns the settings of [`Test::Pipeline`]; `None` if the plan does not name it. Returns an
    /// error without a program, or for OpenFlow.
    fn commits(&self) -> Result<Option<pipelines::Settings>, Failure> {
        if !self.plan.contains(&Test::Pipeline) {
            return Ok(None);
        }
        let Some(file) = &self.packets.program else {
            return Err(Failure::input(
                "the test of the pipeline commits a program to a P4Runtime switch: name it with --program FILE",
            ));
        };
        let program = program::load(file, &self.packets.sources)?;
        let config = p4lang::device_config::to_pipeline_config(&program).map_err(Failure::input)?;
        let rounds = if self.quick { 3 } else { self.rounds };
        Ok(Some(pipelines::Settings { config, rounds, entries: 100 }))
    }

    /// Returns the settings of [`Test::Effects`], the test that sends probe packets through the
    /// switch to measure how updates of its rules affect packets.
    fn effects(&self) -> live::Settings {
        let packets = &self.packets;
        let rounds = if self.quick { 10 } else { packets.changes };
        live::Settings {
            rounds: usize::try_from(rounds).unwrap_or(usize::MAX),
            probes_per_second: packets.probes as f64,
            beside: Duration::from_millis(5),
            atomicities: self
                .atomicity
                .0
                .iter()
                .copied()
                .filter(|one| *one != BatchAtomicity::ContinueOnError)
                .collect(),
        }
    }

    /// Returns the switch, with its ports and packets if the plan has a test with packets. Adds the
    /// packets of the tests of meters and groups to the plan.
    fn target(&self, plan: &mut Plan) -> Result<Target, Failure> {
        let wires: Vec<live::Wire> = self.packets.port.iter().cloned().map(live::Wire).collect();
        let rules = usize::from(self.packets.rules);
        if let Some(address) = self.openflow.openflow {
            let versions = self.openflow.openflow_version.into_iter().collect();
            let matching = self.openflow.matching;
            let listening = Listening { address, versions, tls: self.tls.openflow()?, matching };
            let has_packets = plan.effects.is_some()
                || plan.slow_path.is_some()
                || plan.meters.is_some()
                || plan.groups.is_some();
            let ports = has_packets.then_some(live::Ports { wires, rules });
            return Ok(Target::OpenFlow { listening, ports });
        }
        let table = self.first_table();
        let (mut traffic, mut slow_path, mut digests) = (None, None, None);
        if let Some(file) = &self.packets.program {
            let program = program::load(file, &self.packets.sources)?;
            let is_beside = plan.counters.is_some() || plan.commits.is_some();
            let has_effects = plan.effects.is_some() || (is_beside && !wires.is_empty());
            if has_effects || plan.meters.is_some() || plan.groups.is_some() {
                let made = traffic::Made::of(program.clone(), rules)?;
                if has_effects {
                    traffic = Some(Box::new(made.effects(wires.clone(), table)?));
                }
                if let Some(settings) = &mut plan.meters {
                    settings.traffic = Some(made.meters(wires.clone()));
                }
                if let Some(settings) = &mut plan.groups {
                    settings.traffic = Some(made.groups(wires.clone(), settings.flows));
                }
            }
            if plan.slow_path.is_some() {
                let place = traffic::slow_path::Place { table, cpu_port: self.packets.cpu_port };
                let made = traffic::slow_path::make(program.clone(), wires.clone(), place)?;
                self.is_measurable(made.packets.is_empty(), &made.lacks)?;
                slow_path = Some(Box::new(made));
            }
            if plan.digests.is_some() {
                let made = traffic::digests::make(program, wires)?;
                let lack = made.packets.as_ref().err().cloned();
                self.is_measurable(lack.is_some(), lack.as_slice())?;
                digests = Some(Box::new(made));
            }
        }
        let device = Device {
            address: self.address.clone().unwrap_or_default(),
            device_id: self.device_id,
            tls: self.tls.p4runtime()?,
        };
        let table = table.map(str::to_owned);
        Ok(Target::P4Runtime { device, table, traffic, slow_path, digests })
    }

    /// Returns an error if the program shows nothing of a test that the user has named.
    fn is_measurable(&self, is_empty: bool, lacks: &[String]) -> Result<(), Failure> {
        match is_empty && !self.has_default_plan() {
            true => Err(Failure::input(lacks.join(" "))),
            false => Ok(()),
        }
    }
}

impl Tls {
    /// Returns the settings with which a P4Runtime switch is connected to.
    fn p4runtime(&self) -> Result<Option<ClientTls>, Failure> {
        tls::client(self.tls_ca.as_deref(), self.identity()?, self.tls_server_name.clone())
    }

    /// Returns the settings with which an OpenFlow switch may connect.
    fn openflow(&self) -> Result<Option<ServerTls>, Failure> {
        tls::openflow(self.tls_ca.as_deref(), self.identity()?)
    }

    fn identity(&self) -> Result<Option<(Pem, Pem)>, Failure> {
        tls::identity(self.tls_certificate.as_deref(), self.tls_key.as_deref())
    }
}

/// Parses an atomicity. This is the parser of one word for [`list_of`].
fn atomicity_of(word: &str) -> Option<Vec<BatchAtomicity>> {
    let known = [
        BatchAtomicity::ContinueOnError,
        BatchAtomicity::RollbackOnError,
        BatchAtomicity::DataplaneAtomic,
    ];
    known.into_iter().find(|one| one.name() == word).map(|one| vec![one])
}

fn failure(error: &DutError) -> Failure {
    match error {
        DutError::Switch(SwitchConnectionError::Certificates(error)) => Failure::input(error),
        DutError::Switch(SwitchConnectionError::Interrupted) => Failure::Interrupted,
        DutError::Connect { .. } | DutError::Switch(_) => Failure::OutOfReach(error.to_string()),
        DutError::Maker(_)
        | DutError::Controlled { .. }
        | DutError::NoDevice { .. }
        | DutError::WouldLose { .. }
        | DutError::Listen { .. }
        | DutError::NoPipeline { .. } => Failure::input(error),
        _ => Failure::run(error),
    }
}

/// The progress bar of a measurement.
struct Bar {
    steps: Steps,
    is_quiet: bool,
}

impl Watch for Bar {
    fn step(&mut self, test: &'static str, done: u64, of: u64) {
        self.steps.show(done, of, test);
    }

    fn listens(&mut self, address: SocketAddr) {
        listens(address, self.is_quiet);
    }
}

/// Says where a switch is waited for.
fn listens(address: SocketAddr, is_quiet: bool) {
    if !is_quiet {
        eprintln!("planimeter: waiting for an OpenFlow switch at {address}");
    }
}
