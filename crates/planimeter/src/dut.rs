//! `planimeter dut`: measures a switch from the controller's side.

mod conformance;
mod document;
mod effects;
mod fuzz;
mod groups;
mod meters;
mod roles;
mod slow_path;
mod timeouts;
mod traffic;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ::dut::updates::Load;
use ::dut::{
    Device, DutError, FlowMatch, Listening, Plan, Target, Watch, capacity, groups as spreading,
    live, measure, meters as policing, reads, roles as hand_overs, slow_path as slow,
    timeouts as expiry, updates,
};
use clap::{Args, Parser, ValueEnum};
use controllers::openflow::{SwitchConnectionError, Version};
use packetio::PortSpec;

use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::invocation;
use crate::output::{self, ForPapers};
use crate::parsers::{List, decimal, duration, list_of, one_of, sizes_of};
use crate::program::{self, Sources};
use crate::progress::Steps;
use crate::tls;

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
switch show when they obey it, what happens to them meanwhile, how fast an OpenFlow switch passes packets to its controller, which rates meters have, and how \
groups distribute flows.

With --conformance, nothing is measured: the requirements of the specification are tried one after the other. With \
--fuzz, random sequences of updates are written, and the shortest one that shows a fault is kept.";

const EXAMPLES: &str = "\
Tests:
  updates   For each load (updates in a request, and requests that wait for answers): entries are inserted for --time, then \
all of them modified, then deleted. The rate of a round is that of accepted updates from the first request to the last answer; \
intervals are over rounds, in which loads come in random order. A load of single updates, one at a time, shows the latency.
  reads     All entries of the table are read again and again.
  capacity  Entries are inserted until the switch refuses them or --entries are there; then one is deleted and another inserted.
  effects   One rule, and then --rules rules in one request, are inserted, modified and deleted in --changes rounds, while \
packets are sent into port 1 of the switch and received on all ports of --port. Entries and packets are made from --program, \
which the switch must run; generated entries send packets to port 2, and modified ones to others if they can. For OpenFlow, \
packets enter by the first --port; flows send them to the second, modified ones to the fourth or back to the first, and packets \
without a flow leave by the third, if there is one.
  slow-path  OpenFlow: packets that enter by the first --port and go to the controller, and packets that the controller sends to \
the second, --window of them on their way, and then by a schedule at 10, 50 and 90 % of that rate; and the time from the first packet \
of a flow to the first that a new flow entry forwards.
  roles     P4Runtime: a second controller with a higher election id displaces the primary, which writes meanwhile, and leaves \
again. How long it takes until the new primary may write, and whether the displaced one still can.
  timeouts  Entries with timeouts are inserted, and no packets are sent: how early or late the switch says that they timed out. \
P4Runtime: if the table has idle timeouts; OpenFlow: idle and hard ones.
  meters    Packets are sent at several times the rate of a meter: which rate and burst it has, compared with those that were configured. P4Runtime: meters of --program whose colours packets show; OpenFlow 1.3: meters that drop.
  groups    Random flows are sent to a group: their shares, compared with the weights of the members. P4Runtime: a group of an action selector of --program, whose members send packets to different ports; OpenFlow 1.3: a select group.

Examples:
  A switch of this host, and all tests that need no packets:
    planimeter switch programs/router.p4 --grpc-server-addr 127.0.0.1:9559 &
    planimeter dut 127.0.0.1:9559

  The update rate of one table of BMv2 in a few seconds:
    planimeter dut 127.0.0.1:9559 --table ipv4_lpm --plan updates --quick

  How many entries a table holds, beyond the size that the program declares:
    planimeter dut 127.0.0.1:9559 --plan capacity --entries 2M

  When packets obey updates, over virtual pairs that are connected to ports 1, 2 and 3 of the switch, as root:
    planimeter dut 127.0.0.1:9559 --plan effects --program programs/l2.p4 --port 1@veth1 --port 2@veth3 --port 3@veth5

  An OpenFlow switch that connects after `ovs-vsctl set-controller br0 tcp:127.0.0.1:6653`:
    planimeter dut --openflow 127.0.0.1:6653 --quick

  Whether a switch answers as the specification demands, for people and as JUnit XML:
    planimeter dut 127.0.0.1:9559 --conformance -o conformance

  Whether it keeps what is written, and refuses what it has to, over ten thousand random requests:
    planimeter dut 127.0.0.1:9559 --fuzz --requests 10k --seed 7

  Whether its barriers tell the truth, over virtual pairs that are connected to its ports 1, 2 and 3, as root:
    planimeter dut --openflow 127.0.0.1:6653 --plan effects --port 1@veth1 --port 2@veth3 --port 3@veth5

Exit status: 0 everything was measured and the switch is as it was; 1 something was not, or a requirement is not met; 2 the arguments do not work; 3 the \
switch could not be reached; 130 interrupted.";

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
    /// The tests that are made [all]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        hide_default_value = true,
        default_value = "updates,reads,capacity,effects,slow-path,roles,timeouts,meters,groups"
    )]
    plan: Vec<Test>,
    /// The table that is measured [the largest one for which entries can be made]
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
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
    #[command(flatten)]
    papers: ForPapers,
}

/// The flags with which a switch is judged instead of measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Conformance, instead of a measurement")]
#[group(id = "judging", multiple = true, conflicts_with_all = ["plan", "table", "program", "port", "quick"])]
struct Judging {
    /// Try the requirements of the specification of P4Runtime, or of OpenFlow
    #[arg(long, conflicts_with_all = ["fuzz", "replay"])]
    conformance: bool,
    /// P4Runtime: write random sequences of valid and invalid updates, and compare the switch with
    /// a model
    #[arg(long, conflicts_with_all = ["replay", "openflow"])]
    fuzz: bool,
    /// The seed of the random choices
    #[arg(long, value_name = "NUMBER", default_value_t = 1, requires = "fuzz")]
    seed: u64,
    /// The number of requests
    #[arg(long, value_name = "COUNT", default_value = "1k", requires = "fuzz", value_parser = decimal)]
    requests: u64,
    /// P4Runtime: repeat the requests of a sequence.jsonl that --fuzz has left
    #[arg(long, value_name = "FILE", conflicts_with = "openflow")]
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
        conflicts_with_all = ["address", "device_id", "table", "program", "tls_ca", "tls_certificate"]
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
    #[arg(long, value_name = "FILE", requires = "port")]
    program: Option<PathBuf>,
    /// A port of the switch, and the interface of this host that is connected to it
    #[arg(long, value_name = "NUMBER@INTERFACE")]
    port: Vec<PortSpec>,
    /// The number of rules in a request, each with a flow of packets
    #[arg(long, value_name = "COUNT", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=256))]
    rules: u16,
    /// The number of rounds in which rules are inserted, modified and deleted
    #[arg(long, value_name = "COUNT", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    changes: u32,
    /// Packets per second, over all rules of a request, or at most 8k through a meter or to a group;
    /// halved until the switch forwards them
    #[arg(long, value_name = "RATE", default_value = "50k", value_parser = decimal)]
    probes: u64,
    #[command(flatten)]
    sources: Sources,
}

/// The flags that name the files with certificates and keys for TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS, with PEM files")]
struct Tls {
    /// The authorities that issue the switch's certificate; enables TLS
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The certificate that is shown to the switch, and those of its issuers
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// The name in the switch's certificate, if it is not the host
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_server_name: Option<String>,
}

/// A test of the switch that `--plan` may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Test {
    /// Rates and latencies of inserts, modifications and deletions.
    Updates,
    /// The rate of reads.
    Reads,
    /// The number of entries that the table accepts.
    Capacity,
    /// When packets obey updates, and what happens to them meanwhile.
    Effects,
    /// Packets between ports and the controller of an OpenFlow switch.
    SlowPath,
    /// Hand-overs between controllers of a P4Runtime switch.
    Roles,
    /// Whether entries time out early or late.
    Timeouts,
    /// Rates and bursts of meters.
    Meters,
    /// Shares of the members of groups.
    Groups,
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
    let document = document::of(&target, &outcome, interrupted, started.provenance());
    if interrupted && document.sections.is_empty() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    output::leave_document(&directory, &document, arguments.json, interrupted)
}

impl Arguments {
    fn plan(&self) -> Result<Plan, Failure> {
        let (rounds, time) = match self.quick {
            true => (3, Duration::from_millis(200)),
            false => (self.rounds, self.time),
        };
        let window = usize::from(self.window);
        // Single updates, one at a time, show the latency of an update.
        let mut loads = vec![Load { batch: 1, window: 1 }];
        for load in self.batch.0.iter().map(|batch| Load { batch: *batch, window }) {
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
        let has = |test| self.plan.contains(&test);
        let entries = usize::try_from(self.entries).unwrap_or(usize::MAX);
        let with_packets = self.has_packets()?;
        let effects = (with_packets && has(Test::Effects)).then(|| self.effects());
        let is_openflow = self.openflow.openflow.is_some();
        let slow_path =
            (with_packets && is_openflow && has(Test::SlowPath)).then_some(slow::Settings {
                rounds,
                time,
                window: usize::from(self.window),
                reactions: 20,
            });
        Ok(Plan {
            entries: self.entries,
            updates: has(Test::Updates).then_some(updates::Settings {
                loads,
                rounds,
                time,
                seed: crate::environment::SEED,
            }),
            reads: has(Test::Reads).then_some(reads::Settings { entries, rounds, time }),
            capacity: has(Test::Capacity).then_some(capacity::Settings { batch: 100, window }),
            effects,
            slow_path,
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
        })
    }

    /// Returns whether the user has given what tests with packets need: two ports of an OpenFlow
    /// switch, or the program of a P4Runtime switch. Without these, returns false if the plan has
    /// no such test, or if it is the default plan and no port was given; otherwise returns an
    /// error. Also returns an error if the user named a test that does not apply to the protocol of
    /// the switch.
    fn has_packets(&self) -> Result<bool, Failure> {
        let packets = &self.packets;
        let has = |test: &Test| self.plan.contains(test);
        let is_default = Test::value_variants().iter().all(has);
        let is_openflow = self.openflow.openflow.is_some();
        if has(&Test::SlowPath) && !is_openflow && !is_default {
            return Err(Failure::input(
                "the slow path is measured for OpenFlow switches: --openflow ADDRESS:PORT, or leave it out of --plan",
            ));
        }
        if has(&Test::Roles) && is_openflow && !is_default {
            return Err(Failure::input(
                "hand-overs between controllers are measured for P4Runtime switches: leave roles out of --plan",
            ));
        }
        let is_possible = match is_openflow {
            true => packets.port.len() >= 2,
            false => packets.program.is_some(),
        };
        let with_packets = [Test::Effects, Test::SlowPath, Test::Meters, Test::Groups];
        let is_wanted = with_packets.iter().any(has);
        if is_possible || !is_wanted || (is_default && packets.port.is_empty()) {
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

    /// Returns the settings of [`Test::Effects`], the test that sends probe packets through the
    /// switch to measure how updates of its rules affect packets.
    fn effects(&self) -> live::Settings {
        let packets = &self.packets;
        let rounds = if self.quick { 10 } else { packets.changes };
        live::Settings {
            rounds: usize::try_from(rounds).unwrap_or(usize::MAX),
            probes_per_second: packets.probes as f64,
            beside: Duration::from_millis(5),
        }
    }

    /// Returns the switch, with its ports and packets if the plan has a test with packets. Adds the
    /// packets of the tests of meters and groups to the plan.
    fn target(&self, plan: &mut Plan) -> Result<Target, Failure> {
        let has_packets = plan.effects.is_some()
            || plan.slow_path.is_some()
            || plan.meters.is_some()
            || plan.groups.is_some();
        let wires: Vec<live::Wire> = self.packets.port.iter().cloned().map(live::Wire).collect();
        let rules = usize::from(self.packets.rules);
        if let Some(address) = self.openflow.openflow {
            let versions = self.openflow.openflow_version.into_iter().collect();
            let listening = Listening { address, versions, matching: self.openflow.matching };
            let ports = has_packets.then_some(live::Ports { wires, rules });
            return Ok(Target::OpenFlow { listening, ports });
        }
        let traffic = match (&self.packets.program, has_packets) {
            (Some(file), true) => {
                let program = program::load(file, &self.packets.sources)?;
                let made = traffic::Made::of(program, rules)?;
                if let Some(settings) = &mut plan.meters {
                    settings.traffic = Some(made.meters(wires.clone()));
                }
                if let Some(settings) = &mut plan.groups {
                    settings.traffic = Some(made.groups(wires.clone(), settings.flows));
                }
                match plan.effects {
                    Some(_) => Some(Box::new(made.effects(wires, self.table.as_deref())?)),
                    None => None,
                }
            }
            _ => None,
        };
        let tls = &self.tls;
        let identity = tls::identity(tls.tls_certificate.as_deref(), tls.tls_key.as_deref())?;
        let name = tls.tls_server_name.clone();
        let device = Device {
            address: self.address.clone().unwrap_or_default(),
            device_id: self.device_id,
            tls: tls::client(tls.tls_ca.as_deref(), identity, name)?,
        };
        Ok(Target::P4Runtime { device, table: self.table.clone(), traffic })
    }
}

fn failure(error: &DutError) -> Failure {
    match error {
        DutError::Switch(SwitchConnectionError::Interrupted) => Failure::Interrupted,
        DutError::Connect { .. } | DutError::Switch(_) => Failure::OutOfReach(error.to_string()),
        DutError::Maker(_)
        | DutError::Controlled { .. }
        | DutError::NoDevice { .. }
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
