//! Tables that packets and the control plane change: the same entries on both paths, and nothing lost between workers.

use crate::both::{Both, V1model, compile};
use ir::bits::Bits;
use pipeline::{
    ActionCall, Compiled, EntryAction, EntryHandle, FieldMatch, Processor, Switch, TableEntry,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const FIELDS: &str =
    "header K { bit<8> a; bit<8> b; bit<16> wide; bit<48> address; bit<32> value; }
    struct H { K k; K other; }
    struct M { bit<32> seen; }";

const PARSER: &str = "state start { b.extract(h.k);
    transition select(h.k.a) { 7: other; default: accept; } }
    state other { b.extract(h.other); transition accept; }";

/// Keys of one word, of several fields, of more than a word, in a header that may be invalid; actions that write none,
/// some and all of their data, as the default too.
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

/// Widths of a table's keys, and its actions with how many arguments each has.
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

fn entries(switch: &Switch, table: &str) -> (Vec<(EntryHandle, TableEntry)>, ActionCall) {
    let id = switch.table_named(table).expect("a table");
    let entries = switch.entries(id).expect("entries").collect();
    (entries, switch.default_action(id).expect("a default action"))
}

#[test]
fn entries_change_under_packets_as_with_the_interpreter() {
    let mut both = program().both();
    let mut hits = 0;
    for round in 0..400 {
        let mut random = ChaCha8Rng::seed_from_u64(round);
        for _ in 0..random.random_range(0..6) {
            change(&mut both, &mut random);
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
                "{table}, round {round}"
            );
        }
    }
    assert!(hits > 1000);
}

/// Batches of all lengths, some packets too short: what one writes, the next reads.
#[test]
fn batches_give_what_packets_give_one_by_one() {
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

/// Workers count in entries, and in a default action, that have a lock, while others come, go and change.
#[test]
fn workers_lose_no_write_of_a_locked_entry() {
    const WORKERS: u64 = 3;
    const PACKETS: u64 = 3000;
    let switch = Switch::new(compile(&program().text())).expect("a program that can be run");
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
                        // The fourth has no entry: the default action counts.
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
        assert_eq!(found.action, EntryAction::Action(expected));
    }
    assert_eq!(default, call(switch, "several", "count", &[3, 3 * each, each]));
}
