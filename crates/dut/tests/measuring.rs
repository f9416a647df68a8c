//! Measurements of a P4Runtime server that runs in this process, and of one whose answers are
//! delayed on their way.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dut::capacity::Ending;
use dut::updates::{Limit, Load, OtherTables};
use dut::{
    BatchAtomicity, Device, DutError, EntryFile, KeyKind, Operation, Outcome, Plan, Target,
    Variant, Watch, capacity, commits, measure, reads, roles, sustained, timeouts, updates,
};
use made_server::{Faults, Proxy, as_controller, compile};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::proto::v1::{self, entity::Entity as Kind, write_request::Atomicity};
use tonic::Status;

const PROGRAM: &str = include_str!("kinds.p4");

/// A server with one device that runs a program with the tables of `kinds.p4`.
struct Served {
    address: String,
}

impl Served {
    fn new() -> Self {
        Self { address: made_server::serve(PROGRAM) }
    }

    /// Returns the switch, of which one table is measured.
    fn target(&self, table: &str) -> Target {
        target(self.address.clone(), table)
    }
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

struct Silent;

impl Watch for Silent {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {}
}

fn updates_of(loads: Vec<Load>, time: Duration) -> updates::Settings {
    let (base, tables) = (Load::new(10, 4), OtherTables::None);
    updates::Settings { loads, base, tables, rounds: 3, time, seed: 1 }
}

fn short_plan() -> Plan {
    let loads = vec![Load::new(1, 1), Load::new(10, 4)];
    let time = Duration::from_millis(50);
    Plan {
        entries: 10_000,
        updates: Some(updates_of(loads, time)),
        reads: Some(reads::Settings { entries: 1000, rounds: 3, time }),
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

fn outcome(target: &Target, plan: &Plan) -> Outcome {
    measure(target, plan, &AtomicBool::new(false), &mut Silent).expect("it can be measured")
}

#[test]
fn all_tests_are_made_and_the_switch_is_left_as_it_was() {
    let served = Served::new();
    let found = outcome(&served.target("kinds"), &short_plan());
    assert_eq!(found.failures, [""; 0]);
    assert_eq!(found.subject.table, "I.kinds");
    assert_eq!(found.subject.keys.len(), 5);
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
    }
    let reads = found.reads.expect("it was measured");
    assert_eq!((reads.expected, reads.wrong, reads.rates.len()), (1000, 0, 3));
    let again = outcome(&served.target("kinds"), &short_plan());
    assert_eq!(again.subject.present, 0);
}

#[test]
fn a_load_finds_the_occupancy_that_it_demands() {
    let served = Served::new();
    let occupied = |occupancy| Load { occupancy, ..Load::new(10, 4) };
    let loads = [0, 50, 95].map(occupied).to_vec();
    let updates = Some(updates_of(loads, Duration::from_millis(20)));
    let plan = Plan { updates, reads: None, capacity: None, ..short_plan() };
    let found = outcome(&served.target("narrow"), &plan);
    assert_eq!(found.failures, [""; 0]);
    let inserts = found.updates.iter().filter(|one| one.operation == Operation::Insert);
    let before: Vec<usize> = inserts.clone().map(|one| one.before).collect();
    // The table has 4,096 entries.
    assert_eq!(before, [0, 2048, 3891]);
    for one in inserts {
        assert_eq!(one.refused(), 0, "{:?}", one.load);
        assert!(one.rounds.iter().all(|round| !round.accepted.is_empty()), "{:?}", one.load);
    }
    // With fewer entries than the table takes, the percentage is that of the entries.
    let plan = Plan { entries: 1000, ..plan };
    let found = outcome(&served.target("narrow"), &plan);
    let before: Vec<usize> = found.updates.iter().map(|one| one.before).step_by(3).collect();
    assert_eq!(before, [0, 500, 950]);
}

#[test]
fn a_table_of_each_kind_is_measured_and_all_are_left_empty() {
    let served = Served::new();
    let mut updates = updates_of(vec![Load::new(1, 1)], Duration::from_millis(20));
    updates.tables = OtherTables::OfEachKind;
    let plan = Plan { updates: Some(updates), capacity: None, ..short_plan() };
    let found = outcome(&served.target("kinds"), &plan);
    assert_eq!(found.failures, [""; 0]);
    let tables: Vec<_> = found.updates.iter().step_by(3).map(|one| one.table.clone()).collect();
    let names: Vec<_> = tables.iter().map(|one| (one.name.as_str(), one.kind)).collect();
    let expected = [
        ("I.kinds", Some(KeyKind::Range)),
        ("I.narrow", Some(KeyKind::Exact)),
        ("I.prefixes", Some(KeyKind::Lpm)),
        ("I.masks", Some(KeyKind::Ternary)),
    ];
    assert_eq!(names, expected);
    assert_eq!(tables[2].size, Some(2048));
    for one in &found.updates {
        assert_eq!((one.refused(), one.rates().len()), (0, 3), "{:?}", one.table);
    }
    // Tests after that of updates measure the first table again.
    assert_eq!(found.reads.map(|reads| reads.expected), Some(1000));
    for table in ["kinds", "narrow", "prefixes", "masks"] {
        let plan = Plan { updates: None, reads: None, ..plan.clone() };
        assert_eq!(outcome(&served.target(table), &plan).subject.present, 0);
    }
    let mut unknown = plan;
    if let Some(updates) = &mut unknown.updates {
        updates.tables = OtherTables::Named(vec!["other".to_owned()]);
    }
    let stop = AtomicBool::new(false);
    let refused = measure(&served.target("kinds"), &unknown, &stop, &mut Silent);
    assert!(matches!(refused, Err(DutError::Maker(_))), "{refused:?}");
}

/// A file with the entries that a maker makes with these numbers.
#[derive(Debug)]
struct Made {
    table: &'static str,
    numbers: std::ops::Range<u64>,
    /// The update that has no parameters of its action, so that the switch refuses it.
    wrong: Option<usize>,
}

impl EntryFile for Made {
    fn name(&self) -> &str {
        "own.txtpb"
    }

    fn updates(&self, p4info: &P4Info) -> Result<Vec<v1::Update>, String> {
        let schema = p4runtime::p4info::Schema::new(p4info.clone()).expect("it is valid");
        let maker = dut::EntryMaker::new(&schema, Some(self.table)).expect("it is suitable");
        let made = self.numbers.clone().zip(0..).map(|(number, position)| {
            let variant = if number % 2 == 0 { Variant::First } else { Variant::Second };
            let mut entry = maker.entry(dut::EntryNumber(number), variant);
            if Some(position) == self.wrong
                && let Some(v1::table_action::Type::Action(action)) =
                    entry.action.as_mut().and_then(|action| action.r#type.as_mut())
            {
                action.params.clear();
            }
            let entity = Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) });
            v1::Update { r#type: v1::update::Type::Insert as i32, entity }
        });
        Ok(made.collect())
    }
}

/// Returns the switch, of which a table is measured with the entries of a file.
fn with_entries(served: &Served, file: Made) -> Target {
    match served.target(file.table) {
        Target::P4Runtime { device, traffic, slow_path, digests, .. } => {
            let entries: Option<Arc<dyn EntryFile>> = Some(Arc::new(file));
            Target::P4Runtime { device, table: None, entries, traffic, slow_path, digests }
        }
        Target::OpenFlow { .. } => panic!("it is P4Runtime"),
    }
}

#[test]
fn the_entries_of_a_file_are_used_instead_of_made_ones() {
    let served = Served::new();
    let all = Plan {
        roles: Some(roles::Settings { rounds: 1 }),
        sustained: Some(sustained::Settings {
            batch: 5,
            window: 4,
            occupancy: 0,
            time: Duration::from_millis(50),
            is_rough: true,
        }),
        ..short_plan()
    };
    let file = Made { table: "prefixes", numbers: 5000..5300, wrong: None };
    let found = outcome(&with_entries(&served, file), &all);
    assert_eq!(found.failures, [""; 0]);
    assert_eq!((found.subject.table.as_str(), found.subject.usable), ("I.prefixes", 300));
    assert_eq!(found.subject.own_file.as_ref().map(|file| file.left_out), Some(0));
    assert!(found.subject.is_modifiable);
    for one in &found.updates {
        assert_eq!((one.refused(), one.rates().len()), (0, 3), "{:?}", one.operation);
    }
    assert_eq!(found.reads.map(|reads| (reads.expected, reads.wrong)), Some((300, 0)));
    let capacity = found.capacity.first().cloned().expect("it was measured");
    assert_eq!((capacity.entries, capacity.ending), (300, Ending::AllInserted));
    assert_eq!(found.sustained.map(|sustained| sustained.wrong), Some(0));
    // None of them is left.
    let plan = Plan { updates: None, ..short_plan() };
    assert_eq!(outcome(&served.target("prefixes"), &plan).subject.present, 0);
}

#[test]
fn a_refused_entry_of_a_file_is_quoted() {
    let served = Served::new();
    let file = Made { table: "prefixes", numbers: 0..40, wrong: Some(20) };
    // At least a window of requests is sent, which is all entries.
    let updates = Some(updates_of(vec![Load::new(10, 4)], Duration::from_millis(20)));
    let plan = Plan { updates, reads: None, capacity: None, ..short_plan() };
    let found = outcome(&with_entries(&served, file), &plan);
    assert_eq!(found.failures, [""; 0]);
    let insert = &found.updates[0];
    assert!(insert.refused() > 0 && insert.rounds[0].accepted.len().is_multiple_of(39));
    let refusal = insert.rounds[0].refusal.as_ref().expect("one is refused");
    assert_eq!(refusal.code, "InvalidArgument");
    let entry = refusal.entry.as_ref().expect("it is quoted");
    assert!(entry.starts_with("update 21 of own.txtpb: table_id:"), "{entry}");
}

#[test]
fn an_entry_that_the_switch_has_is_refused_and_stays() {
    let served = Served::new();
    let schema = p4runtime::p4info::Schema::new(compile(PROGRAM).p4info.expect("it has one"));
    let maker = dut::EntryMaker::new(&schema.expect("it is valid"), Some("prefixes"));
    let there = maker.expect("it is suitable").update(dut::EntryNumber(7), Operation::Insert);
    as_controller(&served.address, 2, async |client| {
        client.write(vec![there], Atomicity::ContinueOnError).await.expect("it is new");
    });
    let stop = AtomicBool::new(false);
    let file = Made { table: "prefixes", numbers: 0..50, wrong: None };
    let refused = measure(&with_entries(&served, file), &short_plan(), &stop, &mut Silent);
    let error = refused.expect_err("an entry is there").to_string();
    assert!(error.contains("has an entry with the key of update 8 of own.txtpb"), "{error}");
    let plan = Plan { updates: None, ..short_plan() };
    assert_eq!(outcome(&served.target("prefixes"), &plan).subject.present, 1);
}

#[test]
fn a_file_with_too_few_entries_says_how_many_a_test_needs() {
    let served = Served::new();
    let file = Made { table: "prefixes", numbers: 0..2, wrong: None };
    let roles = Some(roles::Settings { rounds: 1 });
    let plan = Plan { updates: None, reads: None, capacity: None, roles, ..short_plan() };
    let found = outcome(&with_entries(&served, file), &plan);
    let [failure] = found.failures.as_slice() else { panic!("{:?}", found.failures) };
    assert!(
        failure.contains("own.txtpb has 2 entries of the table, but roles needs 3"),
        "{failure}"
    );
}

#[test]
fn a_load_has_no_more_updates_in_a_request_than_there_are_entries() {
    let served = Served::new();
    let updates = updates_of(
        vec![Load::new(1, 1), Load::new(10, 4), Load::new(1000, 4)],
        Duration::from_millis(20),
    );
    let plan =
        Plan { entries: 40, updates: Some(updates), reads: None, capacity: None, ..short_plan() };
    let found = outcome(&served.target("kinds"), &plan);
    let batches: Vec<usize> = found.updates.iter().step_by(3).map(|one| one.load.batch).collect();
    assert_eq!(batches, [1, 10, 40]);
    let last = found.updates.last().expect("it was measured");
    assert!(last.rounds.iter().flat_map(|round| &round.calls).all(|call| call.updates == 40));
}

/// A fake server would be needed for a switch that refuses an atomicity; the emulated one
/// implements all.
#[test]
fn every_atomicity_is_measured() {
    let served = Served::new();
    let atomicities = [
        BatchAtomicity::ContinueOnError,
        BatchAtomicity::RollbackOnError,
        BatchAtomicity::DataplaneAtomic,
    ];
    let loads = atomicities.map(|atomicity| Load { atomicity, ..Load::new(10, 4) }).to_vec();
    let updates = Some(updates_of(loads, Duration::from_millis(20)));
    let plan = Plan { updates, reads: None, capacity: None, ..short_plan() };
    let found = outcome(&served.target("kinds"), &plan);
    assert_eq!(found.failures, [""; 0]);
    for one in &found.updates {
        assert_eq!((&one.unimplemented, one.rates().len()), (&None, 3), "{:?}", one.load);
    }
}

#[test]
fn a_table_is_filled_to_its_size_and_a_deletion_makes_room() {
    let served = Served::new();
    let plan = Plan { updates: None, reads: None, ..short_plan() };
    let found = outcome(&served.target("narrow"), &plan);
    assert_eq!(found.failures, [""; 0]);
    assert_eq!(found.subject.usable, 4096);
    let capacity = found.capacity.first().cloned().expect("it was measured");
    // The table is declared with as many entries as there are keys.
    assert_eq!((capacity.entries, capacity.ending), (4096, Ending::AllInserted));
    assert_eq!(capacity.first_refusal, None);

    let plan = Plan { entries: 70_000, ..plan };
    let capacity =
        outcome(&served.target("kinds"), &plan).capacity.first().cloned().expect("it was measured");
    assert_eq!((capacity.entries, capacity.first_refusal), (65_536, Some(65_536)));
    let Ending::Refused(refusal) = capacity.ending else { panic!("{:?}", capacity.ending) };
    assert_eq!(refusal.code, "ResourceExhausted");
    assert_eq!(capacity.is_freed, Some(true));
}

#[test]
fn entries_of_others_are_neither_changed_nor_counted_as_refusals() {
    let served = Served::new();
    let schema = p4runtime::p4info::Schema::new(compile(PROGRAM).p4info.expect("it has one"));
    let maker = dut::EntryMaker::new(&schema.expect("it is valid"), Some("narrow"));
    let maker = maker.expect("it is suitable");
    let numbers = (0..100).map(dut::EntryNumber);
    let updates = numbers.map(|number| maker.update(number, Operation::Insert)).collect();
    let all = v1::TableEntry { table_id: maker.table().id.into(), ..Default::default() };
    let all = v1::Entity { entity: Some(Kind::TableEntry(all)) };
    let before = as_controller(&served.address, 2, async |client| {
        client.write(updates, Atomicity::ContinueOnError).await.expect("they are new");
        client.read(vec![all.clone()]).await.expect("they are there")
    });
    let found = outcome(&served.target("narrow"), &short_plan());
    assert_eq!(found.failures, [""; 0]);
    assert_eq!((found.subject.present, found.subject.usable), (100, 3996));
    assert!(found.updates.iter().all(|one| one.refused() == 0));
    let after = as_controller(&served.address, 1000, async |client| client.read(vec![all]).await);
    assert_eq!(before, after.expect("they are there"));
}

#[test]
fn a_switch_with_another_primary_is_refused() {
    let served = Served::new();
    let refused = as_controller(&served.address, 7, async |_| {
        let target = served.target("kinds");
        let measured = thread::spawn(move || {
            let plan = short_plan();
            measure(&target, &plan, &AtomicBool::new(false), &mut Silent)
        });
        measured.join().expect("it does not panic")
    });
    let Err(error @ DutError::Controlled { .. }) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("another controller is primary of device 1"), "{error}");
}

/// Stops a measurement when its first step is complete.
struct StopsAtFirstStep<'a>(&'a AtomicBool);

impl Watch for StopsAtFirstStep<'_> {
    fn step(&mut self, _: &'static str, _: u64, _: u64) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_stopped_measurement_leaves_nothing_in_the_switch() {
    let served = Served::new();
    let stop = AtomicBool::new(false);
    let plan = short_plan();
    let found = measure(&served.target("kinds"), &plan, &stop, &mut StopsAtFirstStep(&stop));
    let found = found.expect("it can be measured");
    assert_eq!(found.failures, [""; 0]);
    assert!(found.capacity.is_empty());
    assert_eq!(outcome(&served.target("kinds"), &plan).subject.present, 0);
}

/// Serves one connection, which it forwards to `target`, and passes on the target's answers after
/// `delay`. Returns the address.
fn delayed(target: &str, delay: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let target = target.to_owned();
    thread::spawn(move || {
        let (client, _) = listener.accept().expect("a client");
        let server = TcpStream::connect(target).expect("a server");
        for one in [&client, &server] {
            one.set_nodelay(true).expect("a socket");
        }
        let (from_client, to_server) = (client.try_clone(), server.try_clone());
        thread::spawn(move || {
            pass_on(&mut from_client.expect("a socket"), &mut to_server.expect("a socket"));
        });
        let (queue, later) = std::sync::mpsc::channel::<(Instant, Vec<u8>)>();
        let mut to_client = client;
        thread::spawn(move || {
            for (arrived, bytes) in later {
                thread::sleep((arrived + delay).saturating_duration_since(Instant::now()));
                if to_client.write_all(&bytes).is_err() {
                    return;
                }
            }
        });
        let (mut from_server, mut buffer) = (server, [0; 1 << 16]);
        while let Ok(length @ 1..) = from_server.read(&mut buffer) {
            if queue.send((Instant::now(), buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    address
}

fn pass_on(from: &mut TcpStream, to: &mut TcpStream) {
    let mut buffer = [0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

#[test]
fn a_delay_on_the_way_is_in_every_latency_and_limits_single_requests() {
    const DELAY: Duration = Duration::from_millis(20);
    let served = Served::new();
    let target = target(delayed(&served.address, DELAY), "kinds");
    let loads = vec![Load::new(1, 1), Load::new(1, 4)];
    let time = Duration::from_millis(200);
    let plan = Plan {
        updates: Some(updates_of(loads, time)),
        sustained: None,
        reads: None,
        capacity: None,
        ..short_plan()
    };
    let found = outcome(&target, &plan);
    assert_eq!(found.failures, [""; 0]);
    for one in &found.updates {
        let least = one.latencies().first().expect("a request");
        assert!(least >= DELAY, "{least:?}");
        let most = one.load.window as f64 / DELAY.as_secs_f64();
        assert!(one.rates().iter().all(|rate| *rate <= most), "{:?}", one.rates());
        let limit = if one.load.window == 1 { Limit::Latency } else { Limit::Switch };
        assert_eq!(one.limit(), limit);
    }
}

#[test]
fn direct_counters_are_read_of_tables_that_have_them() {
    let served = Served::new();
    let time = Duration::from_millis(50);
    let reads = Some(reads::Settings { entries: 500, rounds: 3, time });
    let plan = Plan { entries: 1000, reads, ..Plan::default() };
    let found = outcome(&served.target("prefixes"), &plan);
    assert_eq!(found.failures, [""; 0]);
    let reads = found.reads.expect("it was measured");
    let counters = reads.counters.as_ref().expect("the table has counters");
    assert_eq!((reads.expected, counters.wrong, counters.rates.len()), (500, 0, 3));
    assert!(counters.refusal.is_none() && counters.rates.iter().all(|rate| *rate > 0.0));
    // No network lies between, so it is one of the two sides.
    let limit = if reads.is_limited_here { Limit::Planimeter } else { Limit::Switch };
    assert_eq!(reads.limit(), limit, "{:?}", reads.transport);
    let found = outcome(&served.target("masks"), &plan);
    assert_eq!(found.reads.expect("it was measured").counters, None);
}

#[test]
fn a_search_for_the_sustained_rate_keeps_the_occupancy_and_leaves_nothing() {
    let served = Served::new();
    let sustained = sustained::Settings {
        batch: 10,
        window: 4,
        occupancy: 50,
        time: Duration::from_millis(50),
        is_rough: true,
    };
    let plan = Plan {
        updates: None,
        sustained: Some(sustained),
        reads: None,
        capacity: None,
        ..short_plan()
    };
    let found = outcome(&served.target("narrow"), &plan);
    assert_eq!(found.failures, [""; 0]);
    let sustained = found.sustained.expect("it was measured");
    assert_eq!((sustained.entries, sustained.batch), (2048, 10));
    // The switch refuses nothing, and the table has every entry after each trial.
    assert_eq!((&sustained.refusal, sustained.wrong), (&None, 0));
    assert!(!sustained.points.is_empty());
    assert!(sustained.points.iter().all(|one| one.lost == 0.0), "{:?}", sustained.points);
    assert_eq!(outcome(&served.target("narrow"), &plan).subject.present, 0);
}

#[test]
fn idle_entries_are_reported_in_time() {
    let served = Served::new();
    let timeouts = Some(timeouts::Settings { entries: 10, grace: Duration::from_secs(5) });
    let plan = Plan { timeouts, updates: None, reads: None, capacity: None, ..short_plan() };
    let found = outcome(&served.target("idle"), &plan);
    assert_eq!(found.failures, Vec::<String>::new());
    assert_eq!(found.timeouts.len(), 2);
    for one in &found.timeouts {
        assert_eq!((one.ages.len(), one.early(), one.other_reasons), (10, 0, 0), "{one:?}");
    }
    // The table without idle timeouts is left out.
    let found = outcome(&served.target("kinds"), &plan);
    assert_eq!((found.failures.len(), found.timeouts.len()), (0, 0));
}

/// A switch that takes 200 ms to insert an entry.
struct SlowInserts;

impl Faults for SlowInserts {
    fn write(&self, request: v1::WriteRequest) -> Result<v1::WriteRequest, Status> {
        let inserts = |update: &v1::Update| update.r#type == v1::update::Type::Insert as i32;
        if request.updates.iter().any(inserts) {
            thread::sleep(Duration::from_millis(200));
        }
        Ok(request)
    }
}

/// Checks that a message is timed when it arrives, also while further entries are inserted.
#[test]
fn slow_insertions_do_not_make_messages_about_timeouts_late() {
    let served = Served::new();
    let slow = Proxy::start(&served.address, Arc::new(SlowInserts));
    let timeouts = Some(timeouts::Settings { entries: 10, grace: Duration::from_secs(5) });
    let plan = Plan { timeouts, updates: None, reads: None, capacity: None, ..short_plan() };
    let found = outcome(&target(slow, "idle"), &plan);
    assert_eq!(found.failures, Vec::<String>::new());
    let short = &found.timeouts[0];
    assert_eq!((short.ages.len(), short.early()), (10, 0), "{short:?}");
    // The first entry is idle after 0.1 s, and the last one is inserted after 2 s.
    let late = short.lateness().max().expect("ages");
    assert!(late < Duration::from_secs(1), "{short:?}");
}

#[test]
fn a_commit_clears_the_tables_reconciling_keeps_them_and_the_pipeline_is_put_back() {
    let served = Served::new();
    let other = include_str!("kinds.p4").replace("size = 2048", "size = 1000");
    let other = other
        .replace("table masks", "table other_masks")
        .replace("masks.apply", "other_masks.apply");
    for (source, is_same) in [(include_str!("kinds.p4"), true), (other.as_str(), false)] {
        let commits = commits::Settings { config: compile(source), rounds: 2, entries: 50 };
        let plan = Plan {
            updates: None,
            reads: None,
            capacity: None,
            commits: Some(commits),
            ..short_plan()
        };
        let found = outcome(&served.target("kinds"), &plan);
        assert_eq!(found.failures, [""; 0]);
        let commits = found.commits.expect("it was measured");
        assert_eq!((commits.is_same, &commits.refusal), (is_same, &None));
        let kept = |all: &[commits::Committed]| -> Vec<(usize, usize)> {
            all.iter().map(|one| (one.entries, one.kept)).collect()
        };
        assert_eq!(kept(&commits.verified), [(50, 0); 2]);
        assert_eq!(kept(&commits.reconciled), [(50, 50); 2]);
    }
    let back = as_controller(&served.address, 500, async |client| {
        let found = client.get_pipeline(ResponseType::All).await;
        found.expect("it runs one").p4info
    });
    assert_eq!(back, compile(PROGRAM).p4info);
}

#[test]
fn a_switch_with_entries_of_others_is_not_given_a_pipeline() {
    let served = Served::new();
    let schema = p4runtime::p4info::Schema::new(compile(PROGRAM).p4info.expect("it has one"));
    let maker = dut::EntryMaker::new(&schema.expect("it is valid"), Some("narrow"));
    let update = maker.expect("it is suitable").update(dut::EntryNumber(7), Operation::Insert);
    as_controller(&served.address, 2, async |client| {
        client.write(vec![update], Atomicity::ContinueOnError).await.expect("it is new");
    });
    let commits = Some(commits::Settings { config: compile(PROGRAM), rounds: 2, entries: 50 });
    let plan = Plan { updates: None, reads: None, capacity: None, commits, ..short_plan() };
    let found = outcome(&served.target("kinds"), &plan);
    assert!(found.commits.is_none());
    let [failure] = found.failures.as_slice() else { panic!("{:?}", found.failures) };
    assert!(failure.contains("the switch has 1 entries, members or groups"), "{failure}");
    let all = v1::Entity { entity: Some(Kind::TableEntry(v1::TableEntry::default())) };
    let there = as_controller(&served.address, 500, async |client| client.read(vec![all]).await);
    let there = there.expect("it answers").into_iter().filter(|entity| {
        matches!(&entity.entity, Some(Kind::TableEntry(entry)) if !entry.is_const && !entry.is_default_action)
    });
    assert_eq!(there.count(), 1);
}

#[test]
fn a_displaced_primary_cannot_write_and_the_switch_is_left_as_it_was() {
    let served = Served::new();
    let plan = Plan { entries: 100, roles: Some(roles::Settings { rounds: 3 }), ..Plan::default() };
    let found = outcome(&served.target("kinds"), &plan);
    assert_eq!(found.failures, Vec::<String>::new());
    let roles = found.roles.expect("they were measured");
    assert_eq!((roles.takeovers.len(), roles.fail_overs.len()), (3, 3));
    for one in &roles.takeovers {
        assert_eq!(one.accepted, 0, "{one:?}");
        assert!(one.later > 0 && one.backup.is_some(), "{one:?}");
        assert!(one.primary <= one.write, "{one:?}");
    }
    for one in &roles.fail_overs {
        assert!(one.notice <= one.primary && one.primary <= one.write, "{one:?}");
    }
}
