//! Tests of tables that packets and the control plane change. Both paths have the same entries, and
//! no write of a worker is lost.

mod methods;

use crate::both::{Both, V1model, compile};
use ir::EntryStore::{Dynamic, Inline, Original, Static};
use ir::bits::Bits;
use pipeline::{
    ActionCall, Batch, Compiled, EntryAction, EntryHandle, FieldMatch, Processor, Switch,
    TableEntry,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const FIELDS: &str =
    "header K { bit<8> a; bit<8> b; bit<16> wide; bit<48> address; bit<32> value; }
    struct H { K k; K other; }
    struct M { bit<32> seen; }";

const PARSER: &str = "state start { b.extract(h.k);
    transition select(h.k.a) { 7: other; default: accept; } }
    state other { b.extract(h.other); transition accept; }";

/// Tables with keys of one word, of several fields, of more than a word, and of a header that may
/// be invalid. Their actions, default actions included, write none, some or all of their data.
const TABLES: &str = "
    action exchange(@__ref bit<32> value) {
        bit<32> old = value; value = h.k.value; h.k.value = old; }
    action count(bit<8> step, @__ref bit<48> sum, @__ref bit<16> times) {
        sum = sum + (bit<48>) step; times = times + 1; m.seen = (bit<32>) sum; }
    action mark(bit<32> seen, bit<9> port) { m.seen = seen; s.egress_spec = port; }
    action leave() { m.seen = 0xff; exit; }
    table one { key = { h.k.a: exact; } actions = { exchange; mark; leave; } default_action = mark(1, 2); }
    @tableconfig(impl = \"dpdk\", synced = true)
    table several { key = { h.k.b: exact; h.k.wide: exact; } actions = { count; mark; }
        default_action = count(3, 0, 0); }
    table long { key = { h.k.address: exact; h.k.value: exact; h.k.b: exact; }
        actions = { mark; count; NoAction; } default_action = NoAction(); }
    table maybe { key = { h.other.b: exact; } actions = { exchange; count; NoAction; }
        const entries = { 0: exchange(9); 1: count(1, 2, 3); } default_action = NoAction(); }
    apply {
        s.egress_spec = 3;
        if (one.apply().hit) { h.k.wide = h.k.wide + 1; }
        switch (several.apply().action_run) { count: { h.k.b = 9; } default: { h.k.b = h.k.b + 1; } }
        if (h.k.a < 5) { long.apply(); }
        maybe.apply();
        h.k.value = h.k.value + m.seen;
    }";

fn program() -> V1model<'static> {
    V1model { declarations: FIELDS, parser: PARSER, ingress: TABLES, ..V1model::default() }
}

fn call(switch: &Switch, table: &str, action: &str, arguments: &[u128]) -> ActionCall {
    let table = switch.table_named(table).expect("a table");
    let action = switch.action_named(table, action).expect("an action");
    let bits = |number: &u128| Bits::unsigned(128, *number);
    let arguments: Vec<_> = arguments.iter().map(bits).collect();
    switch.action_call(action, &arguments).expect("arguments")
}

/// A table: its name, the widths of its keys, and its actions with their numbers of arguments.
type Table = (&'static str, &'static [u32], &'static [(&'static str, usize)]);

const ALL: [Table; 3] = [
    ("one", &[8], &[("exchange", 1), ("mark", 2), ("leave", 0)]),
    ("several", &[8, 16], &[("count", 3), ("mark", 2)]),
    ("long", &[48, 32, 8], &[("mark", 2), ("count", 3), ("NoAction", 0)]),
];

#[derive(Clone, Copy, Debug)]
enum Change {
    Add,
    Modify,
    Delete,
    Default,
}

fn change(both: &mut Both, random: &mut ChaCha8Rng) {
    let (table, keys, actions) = ALL[random.random_range(0..ALL.len())];
    let kind = [Change::Add, Change::Add, Change::Modify, Change::Delete, Change::Default]
        [random.random_range(0..5_usize)];
    let (action, count) = actions[random.random_range(0..actions.len())];
    let arguments: Vec<u128> = (0..count).map(|_| random.random_range(0..6)).collect();
    let key = |width: &u32| FieldMatch::Exact(Bits::unsigned(*width, random.random_range(0..4)));
    let matches: Vec<_> = keys.iter().map(key).collect();
    let mut outcomes = Vec::new();
    for switch in [&mut both.interpreted, &mut both.compiled] {
        let id = switch.table_named(table).expect("a table");
        let call = call(switch, table, action, &arguments);
        let entry = TableEntry {
            matches: matches.clone(),
            priority: 0,
            action: EntryAction::Action(call.clone()),
            idle_timeout: None,
        };
        outcomes.push(match kind {
            Change::Add => switch.add_entry(id, entry, Duration::ZERO).map(|_| None),
            Change::Modify => switch.modify_entry(id, entry, Duration::ZERO).map(|_| None),
            Change::Delete => switch.delete_entry(id, &matches, 0).map(Some),
            Change::Default => switch.set_default_action(id, Some(call)).map(|()| None),
        });
    }
    assert_eq!(outcomes[0], outcomes[1], "{kind:?} in {table}");
}

/// Returns a switch whose table `several` has one entry that counts, and a packet that hits it.
fn counting(program: &ir::Program) -> (Switch, ir::TableId, [u8; 16]) {
    let switch = Switch::new(program.clone()).expect("a program that can be run");
    let table = switch.table_named("several").expect("a table");
    let zero = |width| FieldMatch::Exact(Bits::unsigned(width, 0));
    let entry = TableEntry {
        matches: vec![zero(8), zero(16)],
        priority: 0,
        action: EntryAction::Action(call(&switch, "several", "count", &[1, 0, 0])),
        idle_timeout: None,
    };
    switch.add_entry(table, entry, Duration::ZERO).expect("an entry");
    let mut packet = [0; 16];
    packet[0] = 9;
    (switch, table, packet)
}

fn entries(switch: &Switch, table: &str) -> (Vec<(EntryHandle, TableEntry)>, ActionCall) {
    let id = switch.table_named(table).expect("a table");
    let entries = switch.entries(id).expect("entries").collect();
    (entries, switch.default_action(id).expect("a default action"))
}

/// Returns the program with every storage, with and without locks in entries.
fn stored() -> impl Iterator<Item = (ir::EntryStore, bool, ir::Program)> {
    let source = compile(&program().text());
    let designs = [Inline, Static, Dynamic, Original].map(|store| [(store, false), (store, true)]);
    designs.into_iter().flatten().map(move |(store, locked)| {
        let mut program = source.clone();
        for table in &mut program.tables {
            (table.storage.store, table.storage.synchronised) = (Some(store), locked);
        }
        (store, locked, program)
    })
}

/// Returns the program with every storage, where tables whose names end with `tables` have entries
/// for each worker.
fn sharded(tables: &'static str) -> impl Iterator<Item = (ir::EntryStore, ir::Program)> {
    stored().filter(|(_, locked, _)| !locked).map(move |(store, _, mut program)| {
        for table in program.tables.iter_mut().filter(|table| table.name.ends_with(tables)) {
            table.storage.replicas = ir::Replicas::Sharded;
        }
        (store, program)
    })
}

#[test]
fn entries_that_change_between_packets_are_those_of_the_interpreter_in_every_storage() {
    for (store, locked, program) in stored() {
        entries_change_under_packets(&mut Both::new(&program), &format!("{store:?} {locked}"));
    }
    for (store, program) in sharded("") {
        entries_change_under_packets(&mut Both::new(&program), &format!("{store:?} sharded"));
    }
}

/// A table that packets write in place cannot have both shards and locks, nor two replicas. Such a
/// table is refused, instead of getting another design silently.
#[test]
fn a_design_that_packets_cannot_have_is_refused_with_advice() {
    let refusal = |replicas, locked| {
        let mut program = compile(&program().text());
        for table in &mut program.tables {
            (table.storage.replicas, table.storage.synchronised) = (replicas, locked);
        }
        let switch = Switch::new(program).expect("a program that the interpreter runs");
        Compiled::new(&switch).err().map(|error| error.to_string())
    };
    let sharded = refusal(ir::Replicas::Sharded, true).expect("a refusal");
    assert!(sharded.contains("a shard has one worker and needs no entry lock"), "{sharded}");
    let two = refusal(ir::Replicas::Two, false).expect("a refusal");
    assert!(two.contains("use update method change or digest"), "{two}");
    assert_eq!(refusal(ir::Replicas::One, true), None);
}

/// Two workers of one switch take turns, each with its own flows, while entries are added, removed
/// and changed. Outputs and entries are those of the interpreter, which has one worker for all
/// flows. Workers also leave, and new ones join.
#[test]
fn sharded_entries_are_those_of_one_table_if_each_flow_stays_with_its_worker() {
    const KEYS: u8 = 4;
    for (store, program) in sharded("several") {
        let mut reference = Switch::new(program.clone()).expect("a program that can be run");
        let switch = Switch::new(program).expect("a program that can be run");
        let code = Compiled::new(&switch).expect("a program that is compiled");
        let table = switch.table_named("several").expect("a table");
        let key = |number: u8| {
            let bits = |width, value: u8| FieldMatch::Exact(Bits::unsigned(width, value.into()));
            vec![bits(8, number), bits(16, 0)]
        };
        let mut workers = [0, 0].map(Processor::with_seed);
        let mut random = ChaCha8Rng::seed_from_u64(9);
        let (mut outputs, mut hits) = (Vec::new(), 0);
        for round in 0..1500 {
            let number = random.random_range(0..KEYS);
            if round % 8 == 0 {
                let action = [("count", 3), ("mark", 2)][random.random_range(0..2_usize)];
                let arguments: Vec<u128> =
                    (0..action.1).map(|_| random.random_range(0..6)).collect();
                let kind = random.random_range(0..3_u8);
                let mut done = Vec::new();
                for switch in [&reference, &switch] {
                    let entry = TableEntry {
                        matches: key(number),
                        priority: 0,
                        action: EntryAction::Action(call(switch, "several", action.0, &arguments)),
                        idle_timeout: None,
                    };
                    done.push(match kind {
                        0 => switch.add_entry(table, entry, Duration::ZERO).map(|_| None),
                        1 => switch.modify_entry(table, entry, Duration::ZERO).map(|_| None),
                        _ => switch.delete_entry(table, &key(number), 0).map(Some),
                    });
                }
                assert_eq!(done[0], done[1], "{store:?}, round {round}");
            }
            let number = random.random_range(0..KEYS);
            let mut packet = [0; 32];
            (packet[0], packet[1]) = (9, number);
            let expected = reference.process(1, &packet, Duration::ZERO).expect("a packet");
            let worker = &mut workers[usize::from(number % 2)];
            outputs.clear();
            code.process(&switch, worker, (1, &packet), Duration::ZERO, &mut outputs)
                .expect("a packet");
            assert_eq!(expected, outputs, "{store:?}, round {round}");
            assert_eq!(
                entries(&reference, "several").0,
                entries(&switch, "several").0,
                "{store:?}"
            );
            hits += entries(&switch, "several").0.len();
            if round % 100 == 99 {
                workers[random.random_range(0..2_usize)] = Processor::with_seed(0);
            }
        }
        assert!(hits > 1500, "{store:?}: {hits}");
        assert_eq!(switch.divided_entries(), 0, "{store:?}");
    }
}

#[test]
fn entries_that_packets_of_two_workers_write_are_divided_and_counted() {
    for (store, program) in sharded("several") {
        let (switch, _, packet) = counting(&program);
        let code = Compiled::new(&switch).expect("a program that is compiled");
        let mut workers = [0, 0].map(Processor::with_seed);
        for (worker, packets) in workers.iter_mut().zip([2, 3]) {
            for _ in 0..packets {
                code.process(&switch, worker, (1, &packet), Duration::ZERO, &mut Vec::new())
                    .expect("a packet");
            }
        }
        drop(workers);
        assert_eq!(switch.divided_entries(), 1, "{store:?}");
    }
}

fn entries_change_under_packets(both: &mut Both, design: &str) {
    let mut hits = 0;
    for round in 0..100 {
        let mut random = ChaCha8Rng::seed_from_u64(round);
        for _ in 0..random.random_range(0..6) {
            change(both, &mut random);
        }
        for _ in 0..8 {
            let mut packet = vec![0_u8; 32];
            for at in [0, 1, 3, 9, 13, 17] {
                packet[at] = random.random_range(0..4);
            }
            if random.random_range(0..3) == 0 {
                packet[0] = 7;
            }
            hits += both.packet(1, &packet).expect("a packet").len();
        }
        for (table, ..) in ALL.into_iter().chain([("maybe", &[8_u32][..], &[][..])]) {
            assert_eq!(
                entries(&both.interpreted, table),
                entries(&both.compiled, table),
                "{design}: {table}, round {round}"
            );
        }
    }
    assert!(hits > 250, "{design}: {hits}");
}

/// Batches of all lengths have some packets that are too short. What one packet writes, the next
/// one reads.
#[test]
fn batches_have_the_outputs_of_single_packets() {
    let mut both = program().both();
    let mut sent = 0;
    for round in 0..200 {
        let mut random = ChaCha8Rng::seed_from_u64(5000 + round);
        for _ in 0..random.random_range(0..6) {
            change(&mut both, &mut random);
        }
        let packets: Vec<(u32, Vec<u8>)> = (0..round % 40)
            .map(|_| {
                let length = random.random_range(0..60);
                let small = |_| random.random_range(0..3);
                (1, (0..length).map(small).collect())
            })
            .collect();
        sent += both.batch(&packets);
        for (table, ..) in ALL {
            let (expected, found) =
                (entries(&both.interpreted, table), entries(&both.compiled, table));
            assert_eq!(expected, found, "{table}, round {round}");
        }
    }
    assert!(sent > 1000);
}

#[test]
fn the_interpreter_and_machine_code_take_turns_on_one_state() {
    let mut both = program().both();
    for round in 0..60 {
        let mut random = ChaCha8Rng::seed_from_u64(1000 + round);
        for _ in 0..4 {
            change(&mut both, &mut random);
        }
        for number in 0..8_u8 {
            let packet: Vec<u8> =
                (0..32).map(|at| if at % 3 == 0 { number % 4 } else { 0 }).collect();
            if number % 2 == 0 {
                both.packet(1, &packet).expect("a packet");
            } else {
                let now = Duration::from_secs(2);
                let expected = both.interpreted.process(1, &packet, now);
                assert_eq!(expected, both.compiled.process(1, &packet, now));
            }
        }
        for (table, ..) in ALL {
            assert_eq!(entries(&both.interpreted, table), entries(&both.compiled, table));
        }
    }
}

/// Workers count in locked entries and in a default action, while the control plane adds, removes
/// and changes other entries.
#[test]
fn workers_lose_no_write_of_a_locked_entry() {
    for (store, _, program) in stored().filter(|(_, locked, _)| *locked) {
        lose_no_write_of_a_locked_entry(program, store);
    }
}

fn lose_no_write_of_a_locked_entry(program: ir::Program, store: ir::EntryStore) {
    const WORKERS: u64 = 3;
    const PACKETS: u64 = 1200;
    let switch = Switch::new(program).expect("a program that can be run");
    let code = Compiled::new(&switch).expect("a program that is compiled");
    let table = switch.table_named("several").expect("a table");
    let key = |b: u128, wide: u128| {
        vec![FieldMatch::Exact(Bits::unsigned(8, b)), FieldMatch::Exact(Bits::unsigned(16, wide))]
    };
    let entry = |b: u128, wide: u128, action: &str, arguments: &[u128]| TableEntry {
        matches: key(b, wide),
        priority: 0,
        action: EntryAction::Action(call(&switch, "several", action, arguments)),
        idle_timeout: None,
    };
    for b in 0..3 {
        switch
            .add_entry(table, entry(b, 0, "count", &[2, 0, 0]), Duration::ZERO)
            .expect("an entry");
    }
    let ended = AtomicBool::new(false);
    let (switch, code, ended) = (&switch, &code, &ended);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| {
                scope.spawn(move || {
                    let mut worker = Processor::with_seed(0);
                    let mut outputs = Vec::new();
                    for packet in 0..PACKETS {
                        let mut bytes = [0; 16];
                        // One packet in four hits no entry, so that the default action counts it.
                        bytes[0] = 9;
                        bytes[1] = ((packet + number) % 4) as u8;
                        let packet = (1, &bytes[..]);
                        code.process(switch, &mut worker, packet, Duration::ZERO, &mut outputs)
                            .expect("a packet");
                        outputs.clear();
                    }
                })
            })
            .collect();
        scope.spawn(move || {
            let mut rounds = 0_u128;
            while !ended.load(Ordering::Relaxed) {
                let wide = 1 + rounds % 200;
                let add = entry(rounds % 3, wide, "count", &[1, 5, 5]);
                switch.add_entry(table, add, Duration::ZERO).expect("an entry");
                let other = entry(rounds % 3, wide, "mark", &[5, 5]);
                switch.modify_entry(table, other, Duration::ZERO).expect("an entry");
                switch.delete_entry(table, &key(rounds % 3, wide), 0).expect("an entry");
                rounds += 1;
            }
        });
        workers.into_iter().for_each(|worker| worker.join().expect("a worker"));
        ended.store(true, Ordering::Relaxed);
    });
    let each = u128::from(WORKERS * PACKETS / 4);
    let (entries, default) = entries(switch, "several");
    assert_eq!(entries.len(), 3);
    for (_, found) in entries {
        let expected = call(switch, "several", "count", &[2, 2 * each, each]);
        assert_eq!(found.action, EntryAction::Action(expected), "{store:?}");
    }
    assert_eq!(default, call(switch, "several", "count", &[3, 3 * each, each]));
}

/// The data race of Simon et al. (ANCS 2021, section 6.1): two workers write one entry. With
/// `synced = true` no update is ever lost. Without it some are, provided that the workers run at
/// the same time at all.
#[test]
fn two_workers_lose_updates_of_an_entry_without_a_lock_and_none_with_one() {
    const PACKETS: u32 = 3200;
    const TRIALS: u32 = 60;
    let lost = |program: &ir::Program| {
        let (switch, _, packet) = counting(program);
        let code = Compiled::new(&switch).expect("a program that is compiled");
        let begin = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let (mut worker, mut batch) = (Processor::with_seed(0), Batch::default());
                    let packets: Vec<(u32, &[u8])> = vec![(1, &packet); 32];
                    // Both workers have joined before either of them counts.
                    code.process_batch(&switch, &mut worker, &[], Duration::ZERO, &mut batch);
                    begin.wait();
                    for _ in 0..PACKETS / 32 {
                        code.process_batch(
                            &switch,
                            &mut worker,
                            &packets,
                            Duration::ZERO,
                            &mut batch,
                        );
                    }
                });
            }
        });
        let (entries, _) = entries(&switch, "several");
        let EntryAction::Action(found) = &entries[0].1.action else { panic!("an action") };
        let pattern = found.arguments[1].to_pattern().expect("a number");
        u64::from(2 * PACKETS) - pattern.low_u64()
    };
    for (store, locked, program) in stored() {
        if locked {
            assert_eq!(lost(&program), 0, "{store:?}");
        } else if !(0..TRIALS).any(|_| lost(&program) > 0) {
            eprintln!("SKIPPED: {store:?}: the two workers never met in {TRIALS} trials");
        }
    }
}
