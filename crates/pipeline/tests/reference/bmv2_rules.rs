//! Tests that programs behave as on BMv2 where BMv2 has rules of its own. Each test names the
//! source file of BMv2 (p4lang/behavioral-model) or of p4c's back end for it that defines its rule.
//! The expected bytes are derived by hand from this source.

use super::support::{V1model, bits, call, entry, exact, outputs, packet};
use pipeline::{EntryAction, FieldMatch, Group, GroupMember, MeterConfig, Switch, TableEntry};
use std::time::Duration;

const HEADERS: &str = "header R { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
    struct H { R r; } struct M { bit<2> color; bit<80> wide; }";
const PARSER: &str = "state start { b.extract(h.r); transition accept; }";

fn program(ingress: &str) -> Switch {
    V1model { declarations: HEADERS, parser: PARSER, ingress, ..V1model::default() }.load()
}

/// `match_tables.cpp`, `apply_action`: a hit executes the direct meter of the entry and stores the
/// colour in its field before the action runs, even if the action does not read the meter.
#[test]
fn direct_meters_run_on_every_hit() {
    let mut switch = program(
        "direct_meter<bit<2>>(MeterType.packets) meter;
        action colored() { meter.read(m.color); }
        action plain() {}
        table t { key = { h.r.a: exact; } actions = { colored; plain; } meters = meter;
            default_action = colored(); }
        apply { m.color = 3; t.apply(); h.r.b = (bit<8>) m.color; }",
    );
    let id = switch.table_named("t").expect("table");
    let meter = switch.program().tables[id.index()].direct_externs[0];
    let config =
        MeterConfig::TwoRate { committed_rate: 0, committed_burst: 1, peak_rate: 0, peak_burst: 2 };
    for (key, action) in [(1, "plain"), (2, "colored")] {
        let action = call(&switch, "t", action, &[]);
        let handle = switch
            .add_entry(id, entry(vec![exact(key)], 0, action), Duration::ZERO)
            .expect("entry");
        let done = switch.configure_direct_meter(id, handle, meter, Some(config), Duration::ZERO);
        done.expect("meter");
    }
    for key in [1, 2] {
        let colors: Vec<u8> = (0..3).map(|_| packet(&mut switch, 0, &[key, 9, 0, 0])[1]).collect();
        assert_eq!(colors, [0, 1, 2], "key {key}");
    }
    // A miss executes no meter, so the field keeps its value although the default action reads the
    // meter.
    assert_eq!(packet(&mut switch, 0, &[3, 9, 0, 0])[1], 3);
}

/// p4c writes no default action for such a table. It warns that the "Target does not support
/// default_action ... (due to action profiles)" (`backends/bmv2/common/control.h`).
#[test]
fn a_table_with_an_action_profile_has_no_default_action() {
    let mut switch = program(
        "action set(bit<8> value) { h.r.b = value; }
        table t { key = { h.r.a: exact; } actions = { set; } default_action = set(7);
            implementation = action_profile(32w4); }
        apply { t.apply(); if (!t.apply().hit) { h.r.c = 1; } }",
    );
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0, 0]), [1, 0, 1, 0]);
    // A default action that the control plane sets does run.
    let action = call(&switch, "t", "set", &[5]);
    let id = switch.table_named("t").expect("table");
    switch.set_default_action(id, Some(action)).expect("default action");
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0, 0]), [1, 5, 1, 0]);
    switch.set_default_action(id, None).expect("default action");
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0, 0]), [1, 0, 1, 0]);
}

/// p4c (`control.h`) writes the algorithm and the input of a selector to the JSON, but not the
/// width of its hash. Therefore BMv2 (`action_profile.cpp`) selects by the whole hash, modulo the
/// size of the group.
#[test]
fn a_selector_uses_the_whole_hash() {
    let mut switch = program(
        "action set(bit<8> value) { h.r.b = value; }
        table t { key = { h.r.a: exact; h.r.c: selector; h.r.d: selector; } actions = { set; }
            implementation = action_selector(HashAlgorithm.identity, 32w8, 32w4); }
        apply { t.apply(); }",
    );
    let id = switch.table_named("t").expect("table");
    let Some(ir::TableImplementation::ActionSelector(selector)) =
        switch.program().tables[id.index()].implementation
    else {
        panic!("no selector");
    };
    for member in 0..3 {
        let action = call(&switch, "t", "set", &[u128::from(member) + 1]);
        switch.add_member(selector, member, action).expect("member");
    }
    let members =
        (0..3).map(|member| GroupMember { member, weight: 1, watch_port: None }).collect();
    switch.add_group(selector, 1, Group { members, max_size: 0 }).expect("group");
    let entry = TableEntry {
        matches: vec![exact(0), FieldMatch::Any, FieldMatch::Any],
        priority: 0,
        action: EntryAction::Group(1),
        idle_timeout: None,
    };
    switch.add_entry(id, entry, Duration::ZERO).expect("entry");
    // 0x0102 is 258, and 258 % 3 is 0. With only the low four bits of the hash, it would be 2.
    assert_eq!(packet(&mut switch, 0, &[0, 0, 1, 2]), [0, 1, 1, 2]);
    assert_eq!(packet(&mut switch, 0, &[0, 0, 1, 3]), [0, 2, 1, 3]);
}

/// `primitives.cpp`, `modify_field_with_hash_based_offset`: the base and the maximum of `hash` are
/// cut to 64 bits, and a maximum of 0 counts as 1.
#[test]
fn hashes_are_computed_in_64_bits() {
    let hash = |base: &str, max: &str| {
        let mut switch = program(&format!(
            "apply {{ hash(m.wide, HashAlgorithm.identity, {base}, {{ h.r.a }}, {max});
                h.r.a = (bit<8>) (m.wide >> 64); h.r.b = (bit<8>) m.wide; }}"
        ));
        let left = packet(&mut switch, 0, &[5, 0, 0, 0]);
        (left[0], left[1])
    };
    assert_eq!(hash("8w3", "8w4"), (0, 4));
    assert_eq!(hash("8w3", "8w0"), (0, 3));
    // 2^64 - 1 + 5 % 7 wraps around. Bits above the low 64 of either number do not count.
    assert_eq!(hash("80w0xffffffffffffffff", "80w7"), (0, 4));
    assert_eq!(hash("80w0x10000000000000001", "80w0x10000000000000003"), (0, 3));
}

/// `primitives.cpp`, `modify_field_rng_uniform`: the bounds of `random` are cut to 64 bits.
#[test]
fn random_numbers_are_of_64_bits() {
    let mut switch = program(
        "apply { random(m.wide, 80w0x10000000000000007, 80w0x20000000000000007);
            h.r.a = (bit<8>) (m.wide >> 64); h.r.b = (bit<8>) m.wide; }",
    );
    assert_eq!(packet(&mut switch, 0, &[0; 4]), [0, 7, 0, 0]);
}

/// `core/primitives.cpp`, `assign_header`: the assignment of an invalid header changes the validity
/// only.
#[test]
fn a_header_that_becomes_invalid_by_assignment_keeps_its_fields() {
    let mut switch = V1model {
        declarations: "header R { bit<8> a; bit<8> b; } struct H { R r; R x; R y; } struct M {}",
        parser: "state start { b.extract(h.r); b.extract(h.x); transition accept; }",
        ingress: "apply { h.x = h.y; h.r.b = h.x.b; if (h.x.isValid()) { h.r.a = 9; } }",
        ..V1model::default()
    }
    .load();
    assert_eq!(packet(&mut switch, 0, &[1, 2, 3, 4, 5]), [1, 4, 5]);
}

/// `match_tables.cpp`, `add_entry`: a table without a key accepts an entry, which every packet
/// hits.
#[test]
fn a_table_without_key_may_have_an_entry() {
    let mut switch = program(
        "action set(bit<8> value) { h.r.b = value; }
        table t { actions = { set; } default_action = set(1); }
        apply { if (t.apply().hit) { h.r.c = 1; } }",
    );
    assert_eq!(packet(&mut switch, 0, &[0; 4]), [0, 1, 0, 0]);
    let id = switch.table_named("t").expect("table");
    let action = call(&switch, "t", "set", &[2]);
    switch.add_entry(id, entry(Vec::new(), 0, action), Duration::ZERO).expect("entry");
    assert_eq!(packet(&mut switch, 0, &[0; 4]), [0, 2, 1, 0]);
}

/// `match_units.cpp`: a direct counter counts each hit once, and no misses.
#[test]
fn direct_counters_count_only_hits() {
    let mut switch = program(
        "direct_counter(CounterType.packets_and_bytes) counted;
        action set() { counted.count(); counted.count(); }
        table t { key = { h.r.a: ternary; } actions = { set; NoAction; } counters = counted;
            default_action = set(); }
        apply { t.apply(); }",
    );
    let id = switch.table_named("t").expect("table");
    let counter = switch.program().tables[id.index()].direct_externs[0];
    let action = call(&switch, "t", "NoAction", &[]);
    let matches = vec![FieldMatch::Ternary { value: bits(1), mask: bits(0xff) }];
    let handle = switch.add_entry(id, entry(matches, 1, action), Duration::ZERO).expect("entry");
    for first in [1, 1, 2] {
        outputs(&mut switch, 0, &[first, 0, 0, 0, 0]);
    }
    let value = switch.direct_counter(id, handle, counter).expect("counter");
    assert_eq!((value.packets, value.bytes), (2, 10));
}
