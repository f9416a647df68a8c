//! Updates by several primaries of different roles, against servers of known behaviour.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use dut::updates::{self, Load, Measured, OtherTables};
use dut::{Device, Outcome, Plan, SwitchProcess, Target, Watch, capacity, measure};
use made_server::{Faults, Proxy};
use p4runtime::proto::v1;
use tonic::Status;

const PROGRAM: &str = include_str!("kinds.p4");

struct Silent;

impl Watch for Silent {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {}
}

fn target(address: String, table: &str) -> Target {
    let device = Device { address, device_id: made_server::DEVICE_ID, tls: None };
    Target::P4Runtime {
        device,
        table: Some(table.to_owned()),
        entries: None,
        traffic: None,
        slow_path: None,
        digests: None,
    }
}

/// Measures a switch with one, two and four controllers.
fn measured(address: String) -> Outcome {
    let loads = [1, 2, 4].map(|controllers| Load { controllers, ..Load::new(10, 8) }).to_vec();
    let updates = updates::Settings {
        base: Load::new(10, 8),
        loads,
        tables: OtherTables::None,
        rounds: 2,
        time: Duration::from_millis(100),
        seed: 1,
    };
    let plan = Plan { entries: 2000, updates: Some(updates), ..Plan::default() };
    let found = measure(&target(address, "kinds"), &plan, &AtomicBool::new(false), &mut Silent);
    let found = found.expect("it can be measured");
    assert_eq!(found.failures, [""; 0]);
    found
}

fn of(found: &Outcome, controllers: usize) -> Vec<&Measured> {
    found.updates.iter().filter(|one| one.load.controllers == controllers).collect()
}

#[test]
fn primaries_of_several_roles_share_the_updates() {
    let address = made_server::serve(PROGRAM);
    let found = measured(address.clone());
    assert_eq!(found.updates.len(), 9);
    for one in &found.updates {
        let what = format!("{:?} {:?}", one.load, one.operation);
        assert_eq!((&one.unimplemented, one.refused()), (&None, 0), "{what}");
        assert!(one.rates().len() == 2 && one.rates().iter().all(|rate| *rate > 0.0), "{what}");
        for phase in &one.rounds {
            let sum: u64 = phase.by_controller.iter().sum();
            match one.load.controllers {
                1 => assert_eq!(phase.by_controller.len(), 0, "{what}"),
                count => {
                    let all = (phase.by_controller.len(), sum);
                    assert_eq!(all, (count, phase.accepted.len() as u64), "{what}");
                }
            }
        }
    }
    // Of an emulated switch, which serves connections in turn, none gets nearly nothing.
    for one in of(&found, 4) {
        // On a busy machine, series may be too short to tell.
        assert!(one.least_share().is_none_or(|share| share > 0.2), "{:?}", one.least_share());
    }
    // The roles have a primary again, and nothing is left.
    assert_eq!(measured(address).subject.present, 0);
}

/// Refuses Writes of other roles than the default one.
struct OneRole;

impl Faults for OneRole {
    fn write(&self, request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        match request.role.as_str() {
            "" => Ok(request),
            _ => Err(Status::permission_denied("only the default role may write")),
        }
    }
}

#[test]
fn a_switch_that_takes_writes_of_one_role_only_is_told() {
    let address = Proxy::start(&made_server::serve(PROGRAM), Arc::new(OneRole));
    let found = measured(address);
    for one in of(&found, 1) {
        assert_eq!((&one.unimplemented, one.rates().len()), (&None, 2));
    }
    for one in [2, 4].into_iter().flat_map(|count| of(&found, count)) {
        let refusal = one.unimplemented.as_ref().expect("it is refused");
        assert_eq!((refusal.code.as_str(), one.rates().len()), ("PermissionDenied", 0));
        assert!(refusal.message.contains("a Write of role planimeter-2"), "{refusal:?}");
    }
}

/// Takes a time for each request, whoever sends it.
struct Serial(Duration);

impl Faults for Serial {
    fn write(&self, request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        // The proxy has one thread.
        thread::sleep(self.0);
        Ok(request)
    }
}

#[test]
fn controllers_are_not_faster_than_a_switch_that_serves_them_in_turn() {
    let takes = Duration::from_millis(4);
    let address = Proxy::start(&made_server::serve(PROGRAM), Arc::new(Serial(takes)));
    let found = measured(address);
    for one in &found.updates {
        for phase in &one.rounds {
            // The first request may be sent when the switch has already taken its time for it.
            let requests = phase.calls.len() as f64 - phase.series as f64;
            let least = requests * takes.as_secs_f64();
            assert!(phase.duration.as_secs_f64() >= least, "{:?}: {phase:?}", one.load);
        }
    }
}

/// The table is declared with 4,096 entries, which are as many as it has keys.
#[test]
fn updates_are_measured_at_levels_of_occupancy_and_memory_is_seen() {
    let capacity = capacity::Settings {
        batch: 100,
        window: 2,
        trial: Duration::ZERO,
        time: Duration::from_millis(20),
        process: Some(SwitchProcess::Id(std::process::id())),
        tables: OtherTables::Named(vec!["prefixes".to_owned()]),
    };
    let plan = Plan { entries: 10_000, capacity: Some(capacity), ..Plan::default() };
    let target = target(made_server::serve(PROGRAM), "narrow");
    let found = measure(&target, &plan, &AtomicBool::new(false), &mut Silent);
    let found = found.expect("it can be measured");
    assert_eq!(found.failures, [""; 0]);
    let [capacity, other] = found.capacity.as_slice() else { panic!("{:?}", found.capacity) };
    // The other table is only filled.
    assert_eq!((other.table.name.as_str(), other.entries), ("I.prefixes", 2048));
    assert!(other.levels.is_empty() && other.memory.is_none());
    let levels: Vec<(u8, usize)> =
        capacity.levels.iter().map(|level| (level.percent, level.entries)).collect();
    assert_eq!(levels, [(0, 410), (50, 2048), (90, 3686), (100, 4096)]);
    for level in &capacity.levels {
        assert_eq!(level.packets(0.0), None);
        for (operation, phase) in &level.replaced {
            assert_eq!(phase.refused(), 0, "{operation:?} at {} %", level.percent);
            assert!(!phase.accepted.is_empty(), "{operation:?} at {} %", level.percent);
        }
    }
    let memory = capacity.memory.expect("it is this process");
    assert!(memory.before > 1 << 20 && memory.full > 1 << 20, "{memory:?}");
    assert_eq!(memory.entries, 4096);
}

/// The table is declared with 2,048 entries, and has many more keys.
#[test]
fn a_table_before_it_is_filled_has_at_most_a_tenth_of_its_size() {
    let capacity = capacity::Settings {
        batch: 100,
        window: 2,
        trial: Duration::ZERO,
        time: Duration::from_millis(1),
        process: None,
        tables: OtherTables::None,
    };
    let plan = Plan { entries: 30_000, capacity: Some(capacity), ..Plan::default() };
    let target = target(made_server::serve(PROGRAM), "prefixes");
    let found = measure(&target, &plan, &AtomicBool::new(false), &mut Silent);
    let found = found.expect("it can be measured");
    let [capacity] = found.capacity.as_slice() else { panic!("{:?}", found.capacity) };
    let first = capacity.levels.first().expect("a level");
    assert_eq!((first.percent, first.entries), (0, 205));
}

#[test]
fn the_memory_of_an_entry_is_told_only_if_the_memory_grew() {
    let grown = capacity::Memory { before: 1000, full: 51_000, after: 51_000, entries: 100 };
    assert_eq!(grown.per_entry(), Some(500.0));
    let kept = capacity::Memory { full: 1000, ..grown };
    assert_eq!(kept.per_entry(), None);
}
