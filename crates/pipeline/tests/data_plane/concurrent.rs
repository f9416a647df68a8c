//! Tests of several workers on one program, while a control plane writes.
//!
//! How often the threads meet depends on the machine, but the checks hold for every interleaving.
//! `tests/models.rs` of `planimeter-tables` explores the protocol of the gate, which keeps packets
//! out of a batch of writes.

use entities::schema::{ActionProfileId, Schema, TableId};
use entities::{
    ActionCall, Argument, Atomicity, Cells, CounterData, Cursor, DataPlane, Entity, EntryKey,
    EntrySelection, FieldMatch, Group, GroupId, GroupMember, MatchKey, Matching, Member, MemberId,
    Nanos, Selection, TableAction, TableEntry, Target as _, Update, UpdateKind, Value, Watch,
};
use pipeline::{InterpreterTarget, Ports, Worker};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const PROGRAM: &str = r#"
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> flow; bit<32> a; bit<32> b; }
struct headers_t { h_t h; }
struct meta_t { }
struct seen_t { bit<32> a; }
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) hits;
    counter(4, CounterType.packets_and_bytes) counted;
    action_selector(HashAlgorithm.crc16, 12, 16) chosen;
    action count_it() { hits.count(); }
    action set_a(bit<32> value) { hdr.h.a = value; }
    action set_b(bit<32> value) { hdr.h.b = value; }
    action set_both(bit<32> one, bit<32> other) { hdr.h.a = one; hdr.h.b = other; }
    action bump(@__ref bit<32> number) { number = number + 1; hdr.h.a = number; }
    action forward(bit<9> port) { sm.egress_spec = port; }
    table count_table { key = { hdr.h.kind: exact; } actions = { count_it; } counters = hits; }
    table a_table { key = { hdr.h.kind: exact; } actions = { set_a; } }
    table b_table { key = { hdr.h.kind: lpm; } actions = { set_b; } }
    table both_table { key = { hdr.h.kind: ternary; } actions = { set_both; } }
    @tableconfig(impl="dpdk", synced=true)
    table bump_table { key = { hdr.h.kind: exact; } actions = { bump; } }
    table group_table { key = { hdr.h.kind: exact; hdr.h.flow: selector; } actions = { forward; }
        implementation = chosen; }
    apply {
        sm.egress_spec = 1;
        if (hdr.h.kind == 0) { count_table.apply(); counted.count(2); }
        else if (hdr.h.kind == 1) { a_table.apply(); b_table.apply(); }
        else if (hdr.h.kind == 2) { both_table.apply(); }
        else if (hdr.h.kind == 3) { bump_table.apply(); }
        else if (hdr.h.kind == 4) { sm.egress_spec = 511; group_table.apply(); }
        else if (hdr.h.kind == 5) { digest<seen_t>(1, { hdr.h.a }); }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(2) total;
    apply {
        if (hdr.h.kind == 6) {
            total.read(hdr.h.a, 1);
            hdr.h.a = hdr.h.a + 1;
            total.write(1, hdr.h.a);
        }
    }
}
control U(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;
"#;

const WORKERS: u32 = 3;
const PACKETS: u32 = 2_000;
const NOW: Nanos = Nanos(1_000);
const TIME: Duration = Duration::from_nanos(1_000);

struct Running {
    target: InterpreterTarget,
    schema: Arc<Schema>,
    plane: Box<dyn DataPlane>,
    ports: Ports,
}

impl Running {
    fn new() -> Self {
        let program = crate::both::compile(PROGRAM.as_bytes()).expect("compiles");
        let p4info = p4lang::p4info::generate(&program).expect("P4Info");
        let schema = p4runtime::p4info::Schema::new(p4info).expect("valid");
        let schema = Arc::clone(schema.objects());
        let target = InterpreterTarget::new(Box::new(crate::both::compile));
        let ports = target.ports();
        let mut plane = target.load(&schema, PROGRAM.as_bytes()).expect("runs");
        plane.activate();
        Self { target, schema, plane, ports }
    }

    fn table(&self, name: &str) -> TableId {
        self.schema.tables().by_name(name).expect("a table").id
    }

    fn profile(&self) -> ActionProfileId {
        self.schema.action_profiles().by_name("I.chosen").expect("a profile").id
    }

    fn call(&self, action: &str, values: &[u32]) -> ActionCall {
        let action = self.schema.actions().by_name(action).expect("an action");
        let arguments = action.params.iter().zip(values).map(|(param, value)| {
            let value = Value::new(param.value, &value.to_be_bytes()).expect("fits");
            Argument { param: param.id, value }
        });
        ActionCall { action: action.id, arguments: arguments.collect() }
    }

    /// Returns the entry for one kind of packet.
    fn entry(&self, table: &str, kind: u8, action: TableAction) -> Entity {
        let table = self.schema.tables().by_name(table).expect("a table");
        let field = table.match_fields.first().expect("a field");
        let value = |number: u8| Value::new(field.value, &[number]).expect("fits");
        let matching = match field.kind {
            entities::schema::MatchKind::Lpm => Matching::Lpm { value: value(kind), prefix_len: 8 },
            entities::schema::MatchKind::Ternary => {
                Matching::Ternary { value: value(kind), mask: value(255) }
            }
            _ => Matching::Exact(value(kind)),
        };
        let fields = Box::new([FieldMatch { field: field.id, matching }]);
        let key = MatchKey { fields, priority: u32::from(table.needs_priority) };
        let action = Some(action);
        Entity::Entry(TableEntry { action, ..TableEntry::new(table.id, EntryKey::Match(key)) })
    }

    fn calls(&self, table: &str, kind: u8, action: &str, values: &[u32]) -> Entity {
        self.entry(table, kind, TableAction::Call(self.call(action, values)))
    }

    fn write(&mut self, kind: UpdateKind, entities: Vec<Entity>, atomicity: Atomicity) {
        let updates = entities.into_iter().map(|entity| Ok(Some(Update { kind, entity })));
        for outcome in entities::write(&mut *self.plane, updates, atomicity, NOW, &mut |_| Ok(())) {
            outcome.expect("taken");
        }
    }

    fn read(&self, selection: &Selection) -> Vec<Entity> {
        let mut found = Vec::new();
        let end = self.plane.reader(NOW).read(selection, &mut Cursor::default(), &mut |entity| {
            found.extend(entity);
            ControlFlow::Continue(())
        });
        assert_eq!(end, ControlFlow::Continue(()));
        found
    }

    /// Runs packets of a kind on all workers while `control` writes, and returns all packets that
    /// left.
    fn while_packets_run(
        &mut self,
        kind: u8,
        mut control: impl FnMut(&mut Self, u32),
    ) -> Vec<(u32, u32, u32)> {
        let running = AtomicU64::new(u64::from(WORKERS));
        let ports = self.ports.clone();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS)
                .map(|number| {
                    let (worker, running) = (ports.worker(), &running);
                    scope.spawn(move || {
                        let sent = packets(worker, kind, number);
                        running.fetch_sub(1, Ordering::Relaxed);
                        sent
                    })
                })
                .collect();
            let mut round = 0;
            while running.load(Ordering::Relaxed) > 0 {
                round += 1;
                control(self, round);
            }
            assert!(round > 0);
            workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
        })
    }
}

fn packets(mut worker: Worker, kind: u8, number: u32) -> Vec<(u32, u32, u32)> {
    let mut outputs = Vec::new();
    for packet in 0..PACKETS {
        let mut bytes = [kind, packet as u8, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[2..6].copy_from_slice(&(number * PACKETS + packet).to_be_bytes());
        worker.process(1, &bytes, TIME, &mut outputs).expect("runs");
    }
    let word = |packet: &[u8], at: usize| {
        u32::from_be_bytes(packet[at..at + 4].try_into().expect("four bytes"))
    };
    let shown = outputs.iter();
    shown.map(|one| (one.port, word(&one.packet, 2), word(&one.packet, 6))).collect()
}

const ALL: u32 = WORKERS * PACKETS;

#[test]
fn counters_add_up_over_workers_while_entries_change() {
    let mut running = Running::new();
    let counted = running.calls("I.count_table", 0, "I.count_it", &[]);
    running.write(UpdateKind::Insert, vec![counted], Atomicity::ContinueOnError);
    let sent = running.while_packets_run(0, |running, round| {
        let other = running.calls("I.count_table", 1 + (round % 200) as u8, "I.count_it", &[]);
        let one = vec![other.clone()];
        running.write(UpdateKind::Insert, one, Atomicity::ContinueOnError);
        running.write(UpdateKind::Delete, vec![other], Atomicity::ContinueOnError);
    });
    assert_eq!(sent.len(), ALL as usize);
    let expected = CounterData { packets: u64::from(ALL), bytes: u64::from(ALL) * 10 };
    let table = running.table("I.count_table");
    let entries = running.read(&Selection::Entries(EntrySelection::all(table)));
    let [Entity::Entry(entry)] = &entries[..] else { panic!("one entry: {entries:?}") };
    assert_eq!(entry.counter, Some(expected));
    let id = running.schema.counters().by_name("I.counted").expect("a counter").id;
    let cells = running.read(&Selection::Counters(id, Cells::One(2)));
    let [Entity::Counter(cell)] = &cells[..] else { panic!("one cell: {cells:?}") };
    assert_eq!(cell.data, expected);
    let usage = running.ports.table_usage();
    let usage = usage.iter().find(|one| one.id == table).expect("the table");
    assert_eq!((usage.entries, usage.hits), (1, u64::from(ALL)));
    assert_eq!(running.ports.packet_counts().received, u64::from(ALL));
}

#[test]
fn no_update_of_an_entry_that_packets_write_is_lost() {
    let mut running = Running::new();
    let entry = running.calls("I.bump_table", 3, "I.bump", &[0]);
    running.write(UpdateKind::Insert, vec![entry], Atomicity::ContinueOnError);
    let mut sent = running.while_packets_run(3, |running, _| {
        let all = EntrySelection::all(running.table("I.bump_table"));
        assert_eq!(running.read(&Selection::Entries(all)).len(), 1);
    });
    // Each packet got the successor of another packet's number.
    sent.sort_unstable();
    assert!(sent.into_iter().map(|(_, number, _)| number).eq(1..=ALL));
}

#[test]
fn no_write_of_a_register_is_lost() {
    let mut running = Running::new();
    let mut sent = running.while_packets_run(6, |_, _| std::thread::yield_now());
    sent.sort_unstable();
    assert!(sent.into_iter().map(|(_, number, _)| number).eq(1..=ALL));
}

#[test]
fn a_packet_sees_an_entry_before_or_after_it_is_modified() {
    let mut running = Running::new();
    let entry =
        |running: &Running, round| running.calls("I.both_table", 2, "I.set_both", &[round, round]);
    let first = entry(&running, 0);
    running.write(UpdateKind::Insert, vec![first], Atomicity::ContinueOnError);
    let sent = running.while_packets_run(2, |running, round| {
        let next = entry(running, round);
        running.write(UpdateKind::Modify, vec![next], Atomicity::ContinueOnError);
    });
    assert_eq!(sent.len(), ALL as usize);
    assert_eq!(sent.iter().find(|(_, one, other)| one != other), None);
}

#[test]
fn no_packet_sees_a_part_of_a_batch_or_one_that_is_rolled_back() {
    const REFUSED: u32 = 1 << 31;
    let mut running = Running::new();
    let batch = |running: &Running, round| {
        vec![
            running.calls("I.a_table", 1, "I.set_a", &[round]),
            running.calls("I.b_table", 1, "I.set_b", &[round]),
        ]
    };
    let first = batch(&running, 0);
    running.write(UpdateKind::Insert, first, Atomicity::DataplaneAtomic);
    let sent = running.while_packets_run(1, |running, round| {
        let next = batch(running, round);
        running.write(UpdateKind::Modify, next, Atomicity::DataplaneAtomic);
        let mut refused = batch(running, REFUSED);
        refused.push(running.calls("I.a_table", 99, "I.set_a", &[0]));
        let updates = refused.into_iter();
        let kind = UpdateKind::Modify;
        let updates = updates.map(|entity| Ok(Some(Update { kind, entity })));
        let atomicity = Atomicity::DataplaneAtomic;
        let outcomes =
            entities::write(&mut *running.plane, updates, atomicity, NOW, &mut |_| Ok(()));
        assert!(outcomes.iter().all(Result::is_err));
    });
    assert_eq!(sent.len(), ALL as usize);
    assert_eq!(sent.iter().find(|(_, a, b)| a != b), None);
    assert_eq!(sent.iter().find(|(_, a, _)| *a >= REFUSED), None);
}

#[test]
fn a_packet_runs_a_member_of_the_group_that_it_found() {
    let mut running = Running::new();
    let profile = running.profile();
    let member = |running: &Running, id: u32| {
        let action = Some(running.call("I.forward", &[id]));
        Entity::Member(Member { profile, id: MemberId(id), action })
    };
    let group = |ids: &[u32]| {
        let members = ids.iter().map(|id| GroupMember {
            member: MemberId(*id),
            weight: 1,
            watch: Watch::Nothing,
        });
        let members: Box<[_]> = members.collect();
        let size = members.len() as u64;
        Entity::Group(Group { profile, id: GroupId(1), members, max_size: 8, size })
    };
    let start = vec![
        member(&running, 2),
        member(&running, 3),
        group(&[2, 3]),
        running.entry("I.group_table", 4, TableAction::Group(GroupId(1))),
    ];
    running.write(UpdateKind::Insert, start, Atomicity::ContinueOnError);
    let sent = running.while_packets_run(4, |running, _| {
        running.write(UpdateKind::Modify, vec![group(&[2])], Atomicity::ContinueOnError);
        let third = member(running, 3);
        running.write(UpdateKind::Delete, vec![third.clone()], Atomicity::ContinueOnError);
        running.write(UpdateKind::Insert, vec![third], Atomicity::ContinueOnError);
        running.write(UpdateKind::Modify, vec![group(&[2, 3])], Atomicity::ContinueOnError);
    });
    assert_eq!(sent.len(), ALL as usize, "no packet was dropped for want of a member");
    assert_eq!(sent.iter().find(|(port, ..)| !matches!(port, 2 | 3)), None);
}

#[test]
fn no_digest_of_any_worker_is_lost() {
    let mut running = Running::new();
    let id = running.schema.digests().by_name("seen_t").expect("a digest").id;
    let config = entities::DigestConfig { max_timeout_ns: 0, max_list_size: 1, ack_timeout_ns: 0 };
    running.write(
        UpdateKind::Insert,
        vec![Entity::Digest(id, Some(config))],
        Atomicity::ContinueOnError,
    );
    let mut seen = Vec::new();
    let sent = running.while_packets_run(5, |running, _| seen.extend(running.ports.take_digests()));
    seen.extend(running.ports.take_digests());
    assert_eq!((sent.len(), running.ports.digests_dropped()), (ALL as usize, 0));
    let number = |data: &entities::Data| match data {
        entities::Data::Struct(fields) => match &fields[..] {
            [entities::Data::Bits(bytes)] => {
                bytes.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte))
            }
            other => panic!("one field: {other:?}"),
        },
        other => panic!("a struct: {other:?}"),
    };
    let mut numbers: Vec<u32> = seen.iter().map(|(_, data)| number(data)).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..ALL));
}

#[test]
fn a_new_pipeline_takes_over_between_two_packets() {
    let running = Running::new();
    let ports = running.ports.clone();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut worker = ports.worker();
            let mut outputs = Vec::new();
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) || count < 100 {
                outputs.clear();
                worker.process(1, &[9; 10], TIME, &mut outputs).expect("runs");
                assert_eq!(outputs.len(), 1, "a pipeline always runs");
                count += 1;
            }
            count
        });
        let mut planes = vec![running.plane];
        for _ in 0..5 {
            let schema = Arc::clone(&running.schema);
            let mut plane = running.target.load(&schema, PROGRAM.as_bytes()).expect("runs");
            plane.activate();
            planes.push(plane);
        }
        stop.store(true, Ordering::Relaxed);
        assert!(worker.join().expect("no panic") >= 100);
    });
}
