//! Tests that packets see the effect of a write once it is answered, and that the first packet
//! finds no work left.
//!
//! The tests count changes to the entries of packed tables ([`pipeline::Ports::packed_changes`]).
//! Packets that read entries make no such changes, however many entries were written while no
//! packet arrived.

use entities::schema::{ActionProfileId, Schema};
use entities::{
    ActionCall, Argument, Atomicity, DataPlane, Entity, EntryKey, FieldMatch, Group, GroupId,
    GroupMember, MatchKey, Matching, Member, MemberId, Nanos, OneShot, OneShotMember,
    SelectionMode, SizeCounts, TableAction, TableEntry, Target as _, Update, UpdateKind, Value,
    ValueType, Watch,
};
use pipeline::{Batch, InterpreterTarget, Path, Ports, Worker};
use std::sync::Arc;
use std::time::Duration;

const PROGRAM: &str = r#"
#include <v1model.p4>
header h_t { bit<32> to; bit<16> flow; }
struct headers { h_t h; }
struct meta { }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.packets) rate;
    action_selector(HashAlgorithm.crc16, 65536, 16) chosen;
    bit<2> colour = 0;
    action forward(bit<9> port) { s.egress_spec = port; EXTERN }
    action write(@__ref bit<32> seen, bit<9> port) { seen = seen + 1; s.egress_spec = port; }
    CONFIG
    table t {
        key = { KEYS }
        actions = { forward; WRITE }
        default_action = forward(511);
        size = 65536;
        PROPERTY
    }
    apply { t.apply(); }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

/// The kind of action that an entry runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    Forward,
    /// An action that writes its own entry.
    Write,
    Member,
    Group,
    OneShot,
}

/// A kind of table.
#[derive(Clone, Copy, Debug)]
struct Kind {
    keys: &'static str,
    config: &'static str,
    property: &'static str,
    /// Statements in the body of the action.
    directs: &'static str,
    runs: Runs,
}

const EXACT: Kind =
    Kind { keys: "h.h.to: exact;", config: "", property: "", directs: "", runs: Runs::Forward };

/// Returns tables of every match kind, storage, replication, implementation and direct object.
fn kinds() -> Vec<Kind> {
    let selector = "h.h.to: exact; h.h.flow: selector;";
    let mut kinds = vec![EXACT];
    for keys in [
        "h.h.to: lpm;",
        "h.h.to: ternary;",
        "h.h.to: range;",
        "h.h.to: optional;",
        "h.h.to: lpm; h.h.flow: exact;",
        "h.h.to: exact; h.h.flow: ternary;",
        // This key is too wide for a packed table.
        "h.h.to: exact; 128w7 ++ h.h.to: exact @name(\"wide\");",
    ] {
        kinds.push(Kind { keys, ..EXACT });
    }
    for config in [
        "@tableconfig(store=\"static\")",
        "@tableconfig(store=\"dynamic\")",
        "@tableconfig(store=\"original\")",
        "@tableconfig(impl=\"sharded\")",
        "@tableconfig(impl=\"t4p4s\")",
    ] {
        kinds.push(Kind { config, ..EXACT });
        kinds.push(Kind { config, keys: "h.h.to: lpm;", ..EXACT });
        kinds.push(Kind { config, keys: "h.h.to: ternary;", ..EXACT });
    }
    let config = "@tableconfig(impl=\"dpdk\")";
    kinds.push(Kind { config, runs: Runs::Write, ..EXACT });
    kinds.push(Kind { config: "@tableconfig(impl=\"sharded\")", runs: Runs::Write, ..EXACT });
    for runs in [Runs::Member, Runs::Group, Runs::OneShot] {
        kinds.push(Kind { keys: selector, property: "implementation = chosen;", runs, ..EXACT });
    }
    kinds.push(Kind { property: "support_timeout = true;", ..EXACT });
    kinds.push(Kind { property: "counters = hits;", directs: "hits.count();", ..EXACT });
    kinds.push(Kind { property: "meters = rate;", directs: "rate.read(colour);", ..EXACT });
    kinds
}

/// A pipeline with one table of a kind.
struct Running {
    kind: Kind,
    target: InterpreterTarget,
    schema: Arc<Schema>,
    /// The data plane, once a program has been pushed.
    plane: Option<Box<dyn DataPlane>>,
    ports: Ports,
}

const NOW: Nanos = Nanos(1_000);
const TIME: Duration = Duration::from_nanos(1_000);
/// The number of members and groups, which entries share.
const SHARED: u32 = 7;

fn source(kind: Kind) -> String {
    PROGRAM
        .replace("KEYS", kind.keys)
        .replace("CONFIG", kind.config)
        .replace("PROPERTY", kind.property)
        .replace("EXTERN", kind.directs)
        .replace("WRITE", if kind.runs == Runs::Write { "write;" } else { "" })
}

impl Running {
    fn new(kind: Kind, path: Path) -> Self {
        let target = InterpreterTarget::new(Box::new(crate::both::compile)).on(path);
        let ports = target.ports();
        let program = crate::both::compile(source(kind).as_bytes()).expect("compiles");
        let p4info = p4lang::p4info::generate(&program).expect("P4Info");
        let schema = p4runtime::p4info::Schema::new(p4info).expect("valid");
        let schema = Arc::clone(schema.objects());
        let mut running = Self { kind, target, schema, plane: None, ports };
        running.push();
        running
    }

    /// Commits the program again, which removes all entries.
    fn push(&mut self) {
        let loaded = self.target.load(&self.schema, source(self.kind).as_bytes());
        let mut plane = loaded.unwrap_or_else(|error| panic!("{:?}: {error}", self.kind));
        plane.activate();
        self.plane = Some(plane);
        if matches!(self.kind.runs, Runs::Member | Runs::Group) {
            let members = (1..=SHARED).map(|id| self.member(id, id));
            let groups = (1..=SHARED).map(|id| self.group(id, id));
            let all: Vec<Entity> = members.chain(groups).collect();
            self.write(UpdateKind::Insert, all);
        }
    }

    fn profile(&self) -> ActionProfileId {
        self.schema.action_profiles().by_name("i.chosen").expect("a profile").id
    }

    fn member(&self, id: u32, port: u32) -> Entity {
        let (profile, action) = (self.profile(), self.forward(port));
        Entity::Member(Member { profile, id: MemberId(id), action: Some(action) })
    }

    fn group(&self, id: u32, member: u32) -> Entity {
        let member = GroupMember { member: MemberId(member), weight: 1, watch: Watch::Nothing };
        let group = Group {
            profile: self.profile(),
            id: GroupId(id),
            members: Box::new([member]),
            max_size: 4,
            size: 1,
        };
        Entity::Group(group)
    }

    fn forward(&self, port: u32) -> ActionCall {
        self.call("i.forward", &[port])
    }

    fn call(&self, action: &str, values: &[u32]) -> ActionCall {
        let action = self.schema.actions().by_name(action).expect("an action");
        let arguments = action.params.iter().zip(values).map(|(param, value)| {
            let value = Value::new(param.value, &value.to_be_bytes()).expect("fits");
            Argument { param: param.id, value }
        });
        ActionCall { action: action.id, arguments: arguments.collect() }
    }

    /// Returns the entry for packets to this number, which leave through `port`.
    fn entry(&self, number: u32, port: u32) -> Entity {
        let table = self.schema.tables().by_name("i.t").expect("a table");
        let fields = table.match_fields.iter().enumerate().map(|(position, field)| {
            use entities::schema::MatchKind::{Lpm, Optional, Range, Ternary};
            let value = |number: &[u8]| Value::new(field.value, number).expect("fits");
            // The first field is the address. A wide field is the number 7 in 128 bits, followed by
            // the address. Other fields are zero.
            let is_wide = matches!(field.value, ValueType::Bits(bits) if bits.get() > 32);
            let key = if position == 0 || is_wide { number << 4 } else { 0 };
            let mut wide = [0; 20];
            wide[15] = 7;
            wide[16..].copy_from_slice(&key.to_be_bytes());
            let exact = if is_wide { value(&wide) } else { value(&key.to_be_bytes()) };
            let matching = match field.kind {
                Lpm => Matching::Lpm { value: exact, prefix_len: 28 },
                Ternary if position == 0 => {
                    Matching::Ternary { value: exact, mask: value(&(!15_u32).to_be_bytes()) }
                }
                Ternary => Matching::Ternary { value: exact, mask: value(&[1]) },
                Range => Matching::Range { low: exact, high: value(&(key | 15).to_be_bytes()) },
                Optional => Matching::Optional(exact),
                _ => Matching::Exact(exact),
            };
            FieldMatch { field: field.id, matching }
        });
        let priority = u32::from(table.needs_priority) * (1 + number % 5);
        let key = MatchKey { fields: fields.collect(), priority };
        let action = match self.kind.runs {
            Runs::Forward => TableAction::Call(self.forward(port)),
            Runs::Write => TableAction::Call(self.call("i.write", &[0, port])),
            Runs::Member => TableAction::Member(MemberId(port)),
            Runs::Group => TableAction::Group(GroupId(port)),
            Runs::OneShot => TableAction::OneShot(Box::new(OneShot {
                members: vec![OneShotMember {
                    action: self.forward(port),
                    weight: 1,
                    watch: Watch::Nothing,
                }],
                group_action: None,
                mode: SelectionMode::default(),
                counts: SizeCounts::default(),
                size: 1,
            })),
        };
        let idle_timeout_ns = if self.kind.property.contains("timeout") { 1_000_000 } else { 0 };
        let entry = TableEntry::new(table.id, EntryKey::Match(key));
        Entity::Entry(TableEntry { action: Some(action), idle_timeout_ns, ..entry })
    }

    fn default_entry(&self, port: u32) -> Entity {
        let table = self.schema.tables().by_name("i.t").expect("a table").id;
        let action = Some(TableAction::Call(self.forward(port)));
        Entity::Entry(TableEntry { action, ..TableEntry::new(table, EntryKey::Default) })
    }

    fn write(&mut self, kind: UpdateKind, entities: Vec<Entity>) {
        let updates = entities.into_iter().map(|entity| Ok(Some(Update { kind, entity })));
        let plane = self.plane.as_deref_mut().expect("a program was pushed");
        for outcome in
            entities::write(plane, updates, Atomicity::ContinueOnError, NOW, &mut |_| Ok(()))
        {
            outcome.expect("taken");
        }
    }
}

/// Returns the port by which a packet to each number leaves, or `None` where it is dropped.
fn ports_of(worker: &mut Worker, numbers: &[u32], together: bool) -> Vec<Option<u32>> {
    let packets: Vec<[u8; 6]> = numbers
        .iter()
        .map(|number| {
            let [a, b, c, d] = (number << 4).to_be_bytes();
            [a, b, c, d, 0, 0]
        })
        .collect();
    let mut found = vec![None; numbers.len()];
    if together {
        let packets: Vec<(u32, &[u8])> = packets.iter().map(|packet| (1, &packet[..])).collect();
        let mut batch = Batch::default();
        worker.process_batch(&packets, TIME, &mut batch);
        assert_eq!(batch.errors(), []);
        batch.sent().for_each(|(packet, port, _)| found[packet] = Some(port));
    } else {
        for (packet, found) in packets.iter().zip(&mut found) {
            let mut outputs = Vec::new();
            worker.process(1, packet, TIME, &mut outputs).expect("runs");
            *found = outputs.first().map(|output| output.port);
        }
    }
    found
}

/// Writes entries, changes and deletes some of them, and checks the first packets of all workers.
fn check(running: &mut Running, workers: &mut [Worker], entries: u32) {
    let port = |number: u32| number % SHARED + 1;
    let all = (0..entries).map(|number| running.entry(number, port(number)));
    let all: Vec<Entity> = all.collect();
    running.write(UpdateKind::Insert, all);
    let changed = running.entry(0, port(0) % SHARED + 1);
    running.write(UpdateKind::Modify, vec![changed]);
    let takes_default = !matches!(running.kind.runs, Runs::Member | Runs::Group | Runs::OneShot);
    if takes_default {
        running.write(UpdateKind::Modify, vec![running.default_entry(9)]);
    }
    let deleted = entries / 2;
    if deleted > 0 {
        running.write(UpdateKind::Delete, vec![running.entry(deleted, port(deleted))]);
    }
    let miss = takes_default.then_some(9);
    let numbers = [0, entries - 1, deleted, entries];
    let last = if entries > 1 { port(entries - 1) } else { port(0) % SHARED + 1 };
    let gone = if deleted > 0 { miss } else { Some(last) };
    let expected = [Some(port(0) % SHARED + 1), Some(last), gone, miss];
    let written = running.ports.packed_changes();
    for (position, worker) in workers.iter_mut().enumerate() {
        let what = format!("{:?}, {entries} entries, worker {position}", running.kind);
        let found = ports_of(worker, &numbers, position % 2 == 1);
        if takes_default {
            assert_eq!(found, expected, "{what}");
        } else {
            // BMv2 has no default action for a table with a profile.
            assert_eq!(found[..2], expected[..2], "{what}");
        }
        let left = running.ports.packed_changes() - written;
        assert_eq!(left, 0, "entries that were left for packets to put in: {what}");
    }
}

#[test]
fn the_first_packet_of_each_worker_sees_the_writes_and_makes_no_changes() {
    for path in [Path::Interpreter, Path::Compiled] {
        for kind in kinds() {
            for (entries, count) in [(1, 1), (300, 3)] {
                let mut running = Running::new(kind, path);
                // Some workers join before the entries are written.
                let mut workers: Vec<Worker> = (1..count).map(|_| running.ports.worker()).collect();
                check(&mut running, &mut workers, entries);
                // Others join later, but before their packets arrive.
                workers = vec![running.ports.worker()];
                let written = running.ports.packed_changes();
                let found = ports_of(&mut workers[0], &[entries - 1], false);
                let port = if entries > 1 { (entries - 1) % SHARED + 1 } else { 2 };
                assert_eq!(found, [Some(port)], "{kind:?}");
                assert_eq!(running.ports.packed_changes(), written, "{kind:?}");
            }
        }
    }
}

/// The pipeline is pushed again and filled again while its workers process no packets.
#[test]
fn the_first_packet_after_a_push_makes_no_changes() {
    for path in [Path::Interpreter, Path::Compiled] {
        for kind in [
            EXACT,
            Kind { keys: "h.h.to: lpm;", ..EXACT },
            Kind { config: "@tableconfig(impl=\"sharded\")", ..EXACT },
        ] {
            let mut running = Running::new(kind, path);
            let mut workers = [running.ports.worker(), running.ports.worker()];
            for entries in [50, 120] {
                check(&mut running, &mut workers, entries);
                running.push();
            }
            check(&mut running, &mut workers, 7);
        }
    }
}

/// Members and groups that entries share are changed.
#[test]
fn the_first_packet_sees_the_writes_of_members_and_groups() {
    for path in [Path::Interpreter, Path::Compiled] {
        for runs in [Runs::Member, Runs::Group] {
            let keys = "h.h.to: exact; h.h.flow: selector;";
            let kind = Kind { keys, property: "implementation = chosen;", runs, ..EXACT };
            let mut running = Running::new(kind, path);
            let entries = (0..200).map(|number| running.entry(number, number % SHARED + 1));
            let entries: Vec<Entity> = entries.collect();
            running.write(UpdateKind::Insert, entries);
            running.write(UpdateKind::Modify, vec![running.member(3, 30)]);
            running.write(UpdateKind::Modify, vec![running.group(5, 3)]);
            let written = running.ports.packed_changes();
            let mut worker = running.ports.worker();
            let fifth = if runs == Runs::Group { 30 } else { 5 };
            let found = ports_of(&mut worker, &[2, 4, 199], true);
            assert_eq!(found, [Some(30), Some(fifth), Some(199 % SHARED + 1)], "{kind:?}");
            assert_eq!(running.ports.packed_changes(), written, "{kind:?}");
        }
    }
}
