//! Tests of tables whose keys have more than 128 bits, in all kinds of matches, and of actions with
//! more than 32 bytes of data.

use crate::both::{Both, V1model, entries};
use ir::bits::Bits;
use ir::{MatchKind, TableId, Type};
use pipeline::{CloneSession, EntryAction, FieldMatch, Replica, Switch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

const DECLARATIONS: &str = "
    header V6 { bit<8> kind; bit<8> hops; bit<128> source; bit<128> destination; bit<16> port; bit<48> mac; }
    header Odd { bit<4> a; bit<130> wide; bit<2> b; int<72> number; }
    struct H { V6 v; Odd o; }
    struct M { bit<10> vrf; bit<128> hop; bit<128> other; bit<192> long; bit<16> id; bit<8> color; }";

const INGRESS: &str = "
    direct_counter(CounterType.packets_and_bytes) hits; direct_counter(CounterType.packets) rewritten;
    direct_meter<bit<8>>(MeterType.bytes) rated;
    action hop(bit<128> next, bit<9> port) { m.hop = next; s.egress_spec = port; }
    action other(bit<128> next) { m.other = next; h.v.hops = h.v.hops + 1; }
    action vrf(bit<10> to) { m.vrf = to; m.id = m.id + 7; }
    action rate() { rated.read(m.color); h.v.hops = h.v.hops + 2; }
    action drop() { mark_to_drop(s); }
    action rewrite(bit<128> a, bit<128> b, bit<64> c, bit<48> mac, bit<9> port) {
        h.v.source = a; h.v.destination = b; h.v.port = h.v.port ^ c[15:0]; h.v.mac = mac; s.egress_spec = port; }
    action mirror(bit<128> a, bit<128> b, bit<64> low) { m.other = a ^ b; m.long = (a & b) ++ low; }
    table pair_ { key = { m.vrf: exact; h.v.destination: exact; } actions = { hop; vrf; NoAction; } default_action = vrf(3);
        counters = hits; size = 8; }
    table all_ { key = { h.v.source: exact; h.v.destination: exact; m.hop: exact; m.other: exact; h.v.kind: exact; }
        actions = { other; vrf; } default_action = other(77); size = 4; }
    table route_ { key = { m.vrf: exact; h.v.destination: lpm; } actions = { hop; drop; NoAction; } default_action = NoAction(); }
    table rules_ { key = { h.v.source: ternary; h.v.destination: ternary; m.hop: ternary; h.v.port: range; h.v.hops: optional;
        m.vrf: exact; } actions = { other; vrf; rate; } default_action = vrf(1); meters = rated; }
    table sliced_ { key = { h.v.destination[127:40]: ternary; m.hop & 128w0xffff_0000_0000_0000_0000_0000_0000_ffff: ternary; }
        actions = { other; vrf; NoAction; } default_action = NoAction(); }
    table ranges_ { key = { h.v.source: range; m.hop: range; } actions = { vrf; NoAction; } default_action = NoAction(); }
    table odd_ { key = { h.o.wide: optional; h.o.number: ternary; h.o.b: exact; } actions = { vrf; other; }
        default_action = other(5); }
    table long_ { key = { m.long: lpm; } actions = { vrf; NoAction; } default_action = NoAction(); }
    table rewrite_ { key = { m.id: exact; } actions = { rewrite; vrf; NoAction; } default_action = vrf(2);
        counters = rewritten; }
    table mirror_ { key = { m.vrf: exact; h.v.source: exact; } actions = { rewrite; mirror; vrf; }
        default_action = rewrite(1, 2, 3, 4, 5); }
    apply {
        s.egress_spec = 1;
        m.hop = h.v.source; m.id = (bit<16>) h.v.kind; m.long = h.v.source ++ h.v.destination[63:0];
        if (h.v.kind[0:0] == 1) { if (pair_.apply().hit) { h.v.port = h.v.port + 1; } }
        route_.apply();
        if (h.v.kind[1:1] == 1) { rules_.apply(); sliced_.apply(); }
        all_.apply();
        if (h.v.kind[2:2] == 1) { ranges_.apply(); h.v.setInvalid(); pair_.apply(); sliced_.apply(); h.v.setValid(); }
        odd_.apply();
        if (h.v.kind[3:3] == 1) { long_.apply(); }
        if (h.v.kind[4:4] == 1) { switch (rewrite_.apply().action_run) { rewrite: { h.v.hops = 9; } default: { } } }
        if (h.v.kind[5:5] == 1) { mirror_.apply(); }
        if (h.v.hops == 1) { clone_preserving_field_list(CloneType.I2E, 32w9, 1); }
    }";

const EGRESS: &str =
    "apply { h.v.port = h.v.port + (bit<16>) m.vrf; if (s.instance_type == 1) { h.v.hops = 99; } }";

fn program() -> Both {
    let program = V1model {
        declarations: &DECLARATIONS.replace("bit<10> vrf;", "@field_list(1) bit<10> vrf;"),
        parser: "state start { b.extract(h.v); transition select(h.v.kind[7:7]) { 1: odd; default: accept; } }
            state odd { b.extract(h.o); transition accept; }",
        ingress: INGRESS,
        egress: EGRESS,
        deparser: "apply { b.emit(h.v); b.emit(h.o); }",
        ..V1model::default()
    };
    let mut both = program.both();
    both.each(|switch| {
        let replicas = vec![Replica { port: 6, instance: 1 }];
        switch.set_clone_session(9, Some(CloneSession { replicas, ..CloneSession::default() }));
    });
    both
}

/// Returns one of few numbers of a width, which differ at both ends and in the middle.
fn number(random: &mut ChaCha8Rng, width: u32) -> Bits {
    let low = Bits::unsigned(width, u128::from(random.random_range(0..2_u8)));
    let all = Bits::ones(width, false);
    match random.random_range(0..5) {
        0 => all,
        1 => low.shift_left(u64::from(width) - 1).bit_or(&low),
        2 => low.shift_left(u64::from(width) / 2),
        3 => all.shift_right(u64::from(width) / 3),
        _ => low,
    }
}

fn field_match(random: &mut ChaCha8Rng, kind: &MatchKind, width: u32) -> FieldMatch {
    let value = number(random, width);
    match kind {
        MatchKind::Lpm => {
            let lengths = [0, 1, width / 2, width - 1, width];
            let prefix_length = lengths[random.random_range(0..lengths.len())];
            let value = value.bit_and(&Bits::prefix_mask(width, prefix_length));
            FieldMatch::Lpm { value, prefix_length }
        }
        MatchKind::Ternary => {
            let mask = number(random, width);
            FieldMatch::Ternary { value: value.bit_and(&mask), mask }
        }
        MatchKind::Range => {
            let other = number(random, width);
            let is_less = value.compare(&other).is_lt();
            let (low, high) = if is_less { (value, other) } else { (other, value) };
            FieldMatch::Range { low, high }
        }
        MatchKind::Optional if random.random() => FieldMatch::Any,
        MatchKind::Exact | MatchKind::Optional | MatchKind::Selector | MatchKind::Other(_) => {
            FieldMatch::Exact(value)
        }
    }
}

fn width(switch: &Switch, type_id: ir::TypeId) -> u32 {
    match switch.program().types.get(type_id) {
        Type::Bits { width, .. } => width,
        _ => panic!("a key or parameter that is not a number"),
    }
}

/// Returns a random entry of a table.
fn entry(switch: &Switch, random: &mut ChaCha8Rng, id: TableId) -> TableEntry {
    let table = &switch.program().tables[id.index()];
    let matches: Vec<FieldMatch> = table
        .keys
        .iter()
        .map(|key| {
            let width = width(switch, key.expression.type_id);
            match field_match(random, &key.match_kind, width) {
                FieldMatch::Ternary { value, mask } => {
                    // The sign of the values is that of the key.
                    let cast = |bits: Bits| bits.cast(width, false);
                    FieldMatch::Ternary { value: cast(value), mask: cast(mask) }
                }
                other => other,
            }
        })
        .collect();
    let needs_priority = table.keys.iter().any(|key| {
        matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    });
    let priority = if needs_priority { random.random_range(1..4) } else { 0 };
    let action = EntryAction::Action(call(switch, random, id));
    TableEntry { matches, priority, action, idle_timeout: None }
}

/// Returns a random call of an action of a table.
fn call(switch: &Switch, random: &mut ChaCha8Rng, id: TableId) -> pipeline::ActionCall {
    let actions = &switch.program().tables[id.index()].actions;
    let action = actions[random.random_range(0..actions.len())].action;
    let parameters = switch.program().actions[action.index()].control_plane_parameters();
    let arguments: Vec<Bits> =
        parameters.map(|parameter| number(random, width(switch, parameter.type_id))).collect();
    switch.action_call(action, &arguments).expect("arguments that fit")
}

/// Adds, changes or removes an entry, or sets a default action.
fn change(both: &mut Both, random: &mut ChaCha8Rng) {
    let tables = both.interpreted.program().tables.len() as u32;
    let id = TableId(random.random_range(0..tables));
    let new = entry(&both.interpreted, random, id);
    let what = random.random_range(0..10);
    let at = random.random_range(0..4);
    let default = call(&both.interpreted, random, id);
    both.each(|switch| {
        let known: Vec<TableEntry> =
            switch.entries(id).expect("entries").map(|(_, entry)| entry).collect();
        let _ = match (what, known.get(at)) {
            (0..6, _) => switch.add_entry(id, new.clone(), Duration::ZERO).is_ok(),
            (6, _) => switch.set_default_action(id, Some(default.clone())).is_ok(),
            (7, Some(entry)) => switch.delete_entry(id, &entry.matches, entry.priority).is_ok(),
            (_, Some(entry)) => {
                let entry = TableEntry { action: new.action.clone(), ..entry.clone() };
                switch.modify_entry(id, entry, Duration::ZERO).is_ok()
            }
            (_, None) => false,
        };
    });
}

fn packet(random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut packet = vec![random.random(), random.random_range(0..3)];
    for _ in 0..2 {
        packet.extend(number(random, 128).to_be_bytes());
    }
    packet.extend([0, random.random_range(0..2), 0, 0, 0, 0, 0, 1]);
    let odd = Bits::unsigned(4, 3)
        .concatenate(&number(random, 130))
        .concatenate(&Bits::unsigned(2, random.random_range(0..2)))
        .concatenate(&number(random, 72));
    packet.extend(odd.to_be_bytes());
    packet.extend([7; 9]);
    if random.random_range(0..8) == 0 {
        packet.truncate(random.random_range(0..packet.len()));
    }
    packet
}

#[test]
fn wide_keys_and_large_data_are_looked_up_without_the_interpreter() {
    let mut both = program();
    assert_eq!((both.one_by_one(), both.interpreted()), (None, Vec::new()));
    assert_eq!(both.interpreted_tables(), [""; 0]);
    let mut random = ChaCha8Rng::seed_from_u64(47);
    let names: Vec<String> =
        both.interpreted.program().tables.iter().map(|table| table.name.clone()).collect();
    let (mut left, mut most) = (0, vec![0; names.len()]);
    for round in 0..150 {
        if round > 3 {
            for _ in 0..random.random_range(0..20) {
                change(&mut both, &mut random);
            }
        }
        let packets: Vec<(u32, Vec<u8>)> = (0..30).map(|_| (0, packet(&mut random))).collect();
        if round % 3 == 0 {
            for (port, packet) in &packets {
                left += both.packet(*port, packet).map_or(0, |outputs| outputs.len());
            }
        } else {
            left += both.batch(&packets);
        }
        for (name, most) in names.iter().zip(&mut most) {
            let known = entries(&both.interpreted, name);
            assert_eq!(known, entries(&both.compiled, name), "{name}, round {round}");
            *most = known.len().max(*most);
        }
        both.share(round % 5 == 2);
    }
    assert!(left > 4000, "{left} packets left");
    assert!(most.iter().all(|most| *most > 2), "{most:?} entries of {names:?}");
    for (name, counter) in [("pair_", "I.hits"), ("rewrite_", "I.rewritten")] {
        let counts = |switch: &Switch| {
            let table = switch.table_named(name).expect("a table");
            let counter = switch.extern_named(counter).expect("a counter");
            let handles = switch.entries(table).expect("entries").map(|(handle, _)| handle);
            let counts = handles.map(|handle| switch.direct_counter(table, handle, counter));
            format!("{:?}", counts.collect::<Vec<_>>())
        };
        assert_eq!(counts(&both.interpreted), counts(&both.compiled), "{name}");
    }
}

/// A table that has more than 1,024 bits of keys, or data that is no number of at most 128 bits, is
/// left to the interpreter.
#[test]
fn what_is_too_wide_is_left_to_the_interpreter() {
    let is_left = |keys: &str, parameter: &str| {
        let both = V1model {
        declarations: "header R { bit<8> a; bit<512> one; bit<504> two; } struct H { R r; R more; } struct M { }",
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: &format!(
            "action set({parameter} value) {{ h.r.a = (bit<8>) value; }}
             table t_ {{ key = {{ {keys} }} actions = {{ set; NoAction; }} default_action = NoAction(); }}
             apply {{ t_.apply(); }}"
        ),
        ..V1model::default()
    }
    .both();
        !both.interpreted_tables().is_empty()
    };
    let fits = "h.r.one: ternary; h.r.two: ternary; h.r.a: exact;";
    assert!(!is_left(fits, "bit<8>"));
    assert!(is_left(&format!("{fits} h.more.a: exact;"), "bit<8>"));
    assert!(is_left(fits, "bit<129>"));
}
