//! Measurements of an OpenFlow switch of known behaviour.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use openflow::{MacAddress, PortNumber, Version, Xid, v1_0, v1_3};

use crate::capacity::{self, Ending};
use crate::flows::FlowMatch;
use crate::plan::{Outcome, Plan, Protocol, measure};
use crate::session::{Channel, Listening, OpenFlowChannel};
use crate::target::Target;
use crate::testing::made_switch::{Connects, Faults, MadeSwitch};
use crate::timeouts::{self, Timed};
use crate::updates::{self, Limit, Load, OtherTables};
use crate::watch::Watch;
use crate::window::{Operation, Shape, Work};
use crate::{reads, sustained};

mod others;
mod own;

const VERSIONS: [Version; 2] = [Version::V1_0, Version::V1_3];

fn target(version: Version, matching: FlowMatch) -> Target {
    let address = ([127, 0, 0, 1], 0).into();
    let listening =
        Listening { address, versions: vec![version], tls: None, matching, flows: None };
    Target::OpenFlow { listening, ports: None }
}

fn updates_of(loads: Vec<Load>, rounds: u32, time: Duration) -> updates::Settings {
    let (base, tables) = (Load::new(10, 4), OtherTables::None);
    updates::Settings { loads, base, tables, rounds, time, seed: 1 }
}

fn short_plan() -> Plan {
    let loads = vec![Load::new(1, 1), Load::new(10, 4)];
    let time = Duration::from_millis(50);
    Plan {
        entries: 3_000,
        updates: Some(updates_of(loads, 3, time)),
        reads: Some(reads::Settings { entries: 500, rounds: 3, time }),
        capacity: Some(capacity::Settings {
            batch: 100,
            window: 2,
            trial: Duration::ZERO,
            time: Duration::ZERO,
            process: None,
            tables: OtherTables::None,
        }),
        ..Plan::default()
    }
}

/// Measures a switch. Returns the outcome and the number of flows that the switch has in the end.
fn measured(made: MadeSwitch, plan: &Plan) -> (Outcome, usize) {
    let target = target(made.version, FlowMatch::Mac);
    let mut connects = Connects::new(made);
    let found = measure(&target, plan, &AtomicBool::new(false), &mut connects);
    (found.expect("it can be measured"), connects.flows_left())
}

#[test]
fn all_tests_are_made_and_the_switch_is_left_as_it_was() {
    for version in VERSIONS {
        for matching in [FlowMatch::Mac, FlowMatch::Udp] {
            let mut connects = Connects::new(MadeSwitch::new(version, Faults::default()));
            let stop = AtomicBool::new(false);
            let found = measure(&target(version, matching), &short_plan(), &stop, &mut connects);
            let found = found.expect("it can be measured");
            assert_eq!(found.failures, [""; 0], "{version} {matching:?}");
            assert_eq!(connects.flows_left(), 0, "{version} {matching:?}");
            let Protocol::OpenFlow { version: spoken, datapath_id, description } =
                found.subject.protocol
            else {
                panic!("{:?}", found.subject.protocol)
            };
            assert_eq!((spoken, datapath_id.map(|id| id.0)), (version, Some(7)));
            assert!(description.expect("it has one").contains("planimeter"));
            assert_eq!(found.subject.size, Some(10_000));
            assert_eq!(found.updates.len(), 6);
            for one in &found.updates {
                assert_eq!((one.refused(), one.rates().len()), (0, 3), "{:?}", one.operation);
                assert!(one.rates().iter().all(|rate| *rate > 0.0));
            }
            // All inserted entries are also modified and deleted.
            for load in found.updates.chunks(3) {
                let counts: Vec<Vec<usize>> = load
                    .iter()
                    .map(|one| one.rounds.iter().map(|phase| phase.accepted.len()).collect())
                    .collect();
                assert_eq!(counts[0], counts[1]);
                assert_eq!(counts[1], counts[2]);
                assert_eq!(load[0].missing(), Some(0));
            }
            let reads = found.reads.expect("it was measured");
            assert_eq!((reads.expected, reads.wrong, reads.rates.len()), (500, 0, 3));
            let capacity = found.capacity.first().cloned().expect("it was measured");
            assert_eq!((capacity.entries, capacity.ending), (3_000, Ending::AllInserted));
            assert_eq!((capacity.missing, found.late_errors), (Some(0), 0));
        }
    }
}

#[test]
fn the_sustained_rate_of_a_switch_with_a_cap_is_below_the_cap() {
    const CAP: f64 = 2000.0;
    let sustained = sustained::Settings {
        batch: 5,
        window: 4,
        occupancy: 0,
        time: Duration::from_millis(300),
        is_rough: true,
    };
    let plan = Plan {
        updates: None,
        sustained: Some(sustained),
        reads: None,
        capacity: None,
        ..short_plan()
    };
    let faults = Faults { rate: Some(CAP), ..Faults::default() };
    let (found, left) = measured(MadeSwitch::new(Version::V1_3, faults), &plan);
    assert_eq!((found.failures.as_slice(), left), (&[][..], 0));
    let sustained = found.sustained.expect("it was measured");
    assert_eq!(sustained.wrong, 0);
    for point in sustained.points.iter().filter(|point| point.offered > 1.5 * CAP) {
        assert!(point.is_growing || point.is_limited_here, "{point:?}");
    }
    let rate = sustained.found.loss_free_rate.expect("the cap allows lower rates");
    assert!(rate <= 1.5 * CAP, "{rate}");
}

#[test]
fn a_table_is_filled_until_the_switch_says_that_it_is_full() {
    for version in VERSIONS {
        let made = MadeSwitch { table_size: 700, ..MadeSwitch::new(version, Faults::default()) };
        let plan = Plan { updates: None, reads: None, ..short_plan() };
        let (found, left) = measured(made, &plan);
        assert_eq!((found.failures, left), (Vec::new(), 0), "{version}");
        let capacity = found.capacity.first().cloned().expect("it was measured");
        assert_eq!((capacity.entries, capacity.first_refusal), (700, Some(700)), "{version}");
        let Ending::Refused(refusal) = capacity.ending else { panic!("{:?}", capacity.ending) };
        assert_eq!(refusal.code, "FLOW_MOD_FAILED/TABLE_FULL", "{version}");
        assert_eq!((capacity.is_freed, capacity.missing), (Some(true), Some(0)), "{version}");
        assert_eq!(found.late_errors, 0);
    }
}

#[test]
fn the_test_of_capacity_deletes_all_that_it_has_inserted() {
    for table_size in [50, 10_000] {
        let made = MadeSwitch { table_size, ..MadeSwitch::new(Version::V1_3, Faults::default()) };
        let (mut connects, stop) = (Connects::new(made), AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let left = runtime.expect("a runtime").block_on(async {
            let target = target(Version::V1_3, FlowMatch::Mac);
            let session = target.open(100, &stop, &mut connects).await;
            let mut session = session.expect("it connects");
            let settings = capacity::Settings {
                batch: 10,
                window: 2,
                trial: Duration::ZERO,
                time: Duration::ZERO,
                process: None,
                tables: OtherTables::None,
            };
            let measured =
                capacity::measure(&mut session, &settings, None, &stop, &mut |_, _| {}).await;
            assert!(measured.expect("it can be measured").entries >= 50);
            let Channel::OpenFlow(channel) = session.channel() else { panic!("it is OpenFlow") };
            channel.difference().expect("it lists its flows")
        });
        assert_eq!((left, connects.flows_left()), (0, 0), "{table_size}");
    }
}

#[test]
fn errors_behind_the_barrier_reply_are_counted_and_attributed() {
    for version in VERSIONS {
        let faults = Faults { has_late_errors: true, ..Faults::default() };
        let made = MadeSwitch { table_size: 705, ..MadeSwitch::new(version, faults) };
        let plan = Plan { updates: None, reads: None, ..short_plan() };
        let (found, left) = measured(made, &plan);
        assert_eq!((found.failures, left), (Vec::new(), 0), "{version}");
        // The first errors are about the requests in which the table became full.
        assert!(found.late_errors > 0, "{version}");
    }
}

#[test]
fn flows_that_the_switch_loses_are_missing() {
    for version in VERSIONS {
        let faults = Faults { loses: Some(10), ..Faults::default() };
        let plan = Plan {
            entries: 100,
            reads: Some(reads::Settings {
                entries: 100,
                rounds: 1,
                time: Duration::from_millis(10),
            }),
            capacity: Some(capacity::Settings {
                batch: 10,
                window: 2,
                trial: Duration::ZERO,
                time: Duration::ZERO,
                process: None,
                tables: OtherTables::None,
            }),
            ..Plan::default()
        };
        let (found, left) = measured(MadeSwitch::new(version, faults), &plan);
        assert_eq!((found.failures, left), (Vec::new(), 0), "{version}");
        let reads = found.reads.expect("it was measured");
        assert!(reads.reads > 0 && reads.wrong == reads.reads, "{version}: {reads:?}");
        let capacity = found.capacity.first().cloned().expect("it was measured");
        assert_eq!((capacity.entries, capacity.missing), (100, Some(10)), "{version}");
    }
}

/// A switch that loses deletions has no flow too few, and still not the flows that it should have.
#[test]
fn flows_that_the_switch_does_not_delete_are_wrong() {
    let faults = Faults { loses_deletions: Some(5), ..Faults::default() };
    let mut connects = Connects::new(MadeSwitch::new(Version::V1_3, faults));
    let stop = AtomicBool::new(false);
    let Target::OpenFlow { listening, .. } = target(Version::V1_3, FlowMatch::Mac) else {
        panic!("it is an OpenFlow switch")
    };
    let mut channel = OpenFlowChannel::open(&listening, &stop, &mut connects).expect("it connects");
    let numbers = channel.absent(20);
    let shape = Shape { window: 2, time: None };
    let mut write = |operation| {
        let work = Work { operation, numbers: &numbers, batch: 10 };
        let sent = channel.send(work, shape, &stop).expect("it answers");
        assert_eq!(sent.phase.accepted.len(), 20);
        [channel.missing(), channel.wrong()].map(|count| count.expect("it answers"))
    };
    assert_eq!(write(Operation::Insert), [0, 0]);
    assert_eq!(write(Operation::Delete), [0, 4]);
    drop(channel);
    assert_eq!(connects.flows_left(), 4);
}

#[test]
fn messages_that_were_no_longer_awaited_are_not_missing() {
    let mut connects = Connects::new(MadeSwitch::new(Version::V1_3, Faults::default()));
    let Target::OpenFlow { listening, .. } = target(Version::V1_3, FlowMatch::Mac) else {
        panic!("it is an OpenFlow switch")
    };
    let opened = OpenFlowChannel::open(&listening, &AtomicBool::new(false), &mut connects);
    let mut channel = opened.expect("it connects");
    let numbers = channel.absent(10);
    let (grace, stop) = (Duration::from_secs(5), AtomicBool::new(true));
    let found = timeouts::over_openflow(&mut channel, &numbers, grace, &stop, &mut |_, _| {});
    assert_eq!(found.expect("it answers"), []);
    drop(channel);
    assert_eq!(connects.flows_left(), 0);
}

/// Returns the timeouts of a switch with faults.
fn timed(version: Version, faults: Faults) -> Vec<Timed> {
    let timeouts = Some(timeouts::Settings { entries: 10, grace: Duration::from_millis(1500) });
    let plan = Plan { timeouts, updates: None, reads: None, capacity: None, ..short_plan() };
    let (found, left) = measured(MadeSwitch::new(version, faults), &plan);
    assert_eq!((found.failures, left), (Vec::new(), 0), "{version}");
    assert_eq!(found.timeouts.len(), 4, "{version}");
    found.timeouts
}

#[test]
fn timeouts_in_time_are_neither_early_nor_missing() {
    for version in VERSIONS {
        for one in timed(version, Faults::default()) {
            assert_eq!((one.entries, one.ages.len()), (10, 10), "{version}: {one:?}");
            assert_eq!((one.early(), one.other_reasons), (0, 0), "{version}: {one:?}");
        }
    }
}

#[test]
fn timeouts_that_are_early_or_say_nothing_are_found() {
    let faults = Faults { expires_before: Duration::from_millis(1000), ..Faults::default() };
    let early: usize = timed(Version::V1_3, faults).iter().map(Timed::early).sum();
    // The switch looks once a second, so an entry may be removed in time nevertheless.
    assert!(early >= 10, "{early}");
    let faults = Faults { is_silent_on_expiry: true, ..Faults::default() };
    let found = timed(Version::V1_0, faults);
    assert!(found.iter().all(|one| one.missing() == 10), "{found:?}");
}

#[test]
fn a_cap_on_the_rate_bounds_every_rate_and_is_the_switch() {
    const RATE: f64 = 20_000.0;
    let faults = Faults { rate: Some(RATE), ..Faults::default() };
    let loads = vec![Load::new(1, 1), Load::new(10, 4)];
    // A busy machine still sends more than two windows of requests in this time.
    let time = Duration::from_millis(400);
    let updates = Some(updates_of(loads, 2, time));
    let plan = Plan { updates, reads: None, capacity: None, ..short_plan() };
    let (found, left) = measured(MadeSwitch::new(Version::V1_3, faults), &plan);
    assert_eq!((found.failures, left), (Vec::new(), 0));
    for one in &found.updates {
        assert!(one.rates().iter().all(|rate| *rate <= RATE), "{:?}", one.rates());
        let limit = if one.load.window == 1 { Limit::Latency } else { Limit::Switch };
        assert_eq!(one.limit(), limit, "{:?} {:?}", one.load, one.operation);
    }
}

/// Encodes a flow-mod of another controller.
fn other_flow(version: Version, address: [u8; 6]) -> Vec<u8> {
    let mut out = Vec::new();
    let address = MacAddress(address);
    let encoded = match version {
        Version::V1_0 => v1_0::Message::FlowMod(v1_0::FlowMod {
            match_fields: v1_0::Match::any().with_dl_dst(address),
            actions: vec![v1_0::Action::output(v1_0::PortNo(1))],
            ..v1_0::FlowMod::default()
        })
        .encode(Xid(3), &mut out),
        Version::V1_3 => {
            let actions = vec![v1_3::Action::output(PortNumber(1))];
            let apply = vec![v1_3::Instruction::ApplyActions(actions)];
            let matching = v1_3::Match::any().with_eth_dst(address);
            v1_3::Message::FlowMod(v1_3::FlowMod::add(matching, apply)).encode(Xid(3), &mut out)
        }
    };
    encoded.expect("it is valid");
    out
}

#[test]
fn flows_of_others_stay_and_none_of_them_is_used() {
    for version in VERSIONS {
        // The second one has the match of flow number 0.
        let others = [[2, 0, 0, 0, 0, 1], [2, 0x50, 0, 0, 0, 0]];
        let others: Vec<Vec<u8>> = others.iter().map(|one| other_flow(version, *one)).collect();
        let made = MadeSwitch { others, ..MadeSwitch::new(version, Faults::default()) };
        let (found, left) = measured(made, &short_plan());
        assert_eq!((found.failures, left), (Vec::new(), 2), "{version}");
        assert_eq!((found.subject.present, found.subject.usable), (2, 3_000));
        let reads = found.reads.expect("it was measured");
        assert_eq!((reads.expected, reads.wrong), (502, 0), "{version}");
    }
}

/// Connects a switch, and stops the measurement when its first step is complete.
struct StopsAtFirstStep<'a> {
    connects: Connects,
    stop: &'a AtomicBool,
}

impl Watch for StopsAtFirstStep<'_> {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {
        self.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    fn listens(&mut self, address: std::net::SocketAddr) {
        self.connects.listens(address);
    }
}

#[test]
fn a_stopped_measurement_leaves_nothing_in_the_switch() {
    let stop = AtomicBool::new(false);
    let connects = Connects::new(MadeSwitch::new(Version::V1_0, Faults::default()));
    let mut watch = StopsAtFirstStep { connects, stop: &stop };
    let target = target(Version::V1_0, FlowMatch::Udp);
    let found = measure(&target, &short_plan(), &stop, &mut watch).expect("it can be measured");
    assert_eq!(found.failures, [""; 0]);
    assert!(found.capacity.is_empty());
    assert_eq!(watch.connects.flows_left(), 0);
}
