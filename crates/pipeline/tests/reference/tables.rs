//! Tests of tables: match kinds, precedence, actions, profiles, counters and timeouts.

use super::support::{V1model, add_exact, bits, call, entry, exact, outputs, outputs_at, packet};
use ir::bits::Bits;
use pipeline::{
    ActionCall, ControlError, CounterValue, EntryAction, FieldMatch, Group, GroupMember, Switch,
    TableEntry, WeightedAction,
};
use std::time::Duration;

const HEADERS: &str =
    "header R { bit<8> key; bit<8> other; bit<8> result; } struct H { R r; } struct M {}";

/// Returns a program with one table `t`, whose key is `keys`. Its action `set` writes the parameter
/// to `h.r.result`, and its action `add` adds the parameter to that field.
fn table(keys: &str, properties: &str, apply: &str) -> Switch {
    V1model {
        declarations: HEADERS,
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: &format!(
            "action set(bit<8> value) {{ h.r.result = value; }}
             action add(bit<8> value) {{ h.r.result = h.r.result + value; }}
             table t {{ key = {{ {keys} }} actions = {{ set; add; NoAction; }} {properties} }}
             apply {{ {apply} }}"
        ),
        ..V1model::default()
    }
    .load()
}

fn result(switch: &mut Switch, key: u8, other: u8) -> u8 {
    packet(switch, 0, &[key, other, 0])[2]
}

fn add(switch: &mut Switch, matches: Vec<FieldMatch>, priority: u32, value: u128) {
    let action = call(switch, "t", "set", &[value]);
    let id = switch.table_named("t").expect("table");
    switch.add_entry(id, entry(matches, priority, action), Duration::ZERO).expect("entry");
}

fn lpm(value: u128, prefix_length: u32) -> FieldMatch {
    FieldMatch::Lpm { value: bits(value), prefix_length }
}

fn ternary(value: u128, mask: u128) -> FieldMatch {
    FieldMatch::Ternary { value: bits(value), mask: bits(mask) }
}

fn range(low: u128, high: u128) -> FieldMatch {
    FieldMatch::Range { low: bits(low), high: bits(high) }
}

#[test]
fn all_exact_keys_must_match() {
    let mut switch =
        table("h.r.key: exact; h.r.other: exact;", "default_action = set(99);", "t.apply();");
    assert_eq!(result(&mut switch, 1, 2), 99);
    add(&mut switch, vec![exact(1), exact(2)], 0, 10);
    assert_eq!(result(&mut switch, 1, 2), 10);
    assert_eq!(result(&mut switch, 2, 1), 99);
}

#[test]
fn the_longest_prefix_wins() {
    let mut switch = table("h.r.key: lpm;", "default_action = set(99);", "t.apply();");
    add(&mut switch, vec![lpm(0x80, 1)], 0, 1);
    add(&mut switch, vec![lpm(0xf0, 4)], 0, 4);
    add(&mut switch, vec![lpm(0xff, 8)], 0, 8);
    let results = [0x00, 0x80, 0xf3, 0xff].map(|key| result(&mut switch, key, 0));
    assert_eq!(results, [99, 1, 4, 8]);
    add(&mut switch, vec![FieldMatch::Any], 0, 50);
    assert_eq!(result(&mut switch, 0, 0), 50);
}

#[test]
fn the_largest_priority_wins() {
    let mut switch = table("h.r.key: ternary; h.r.other: range;", "", "t.apply();");
    add(&mut switch, vec![ternary(0x10, 0xf0), FieldMatch::Any], 10, 1);
    add(&mut switch, vec![ternary(0x12, 0xff), range(5, 9)], 20, 2);
    add(&mut switch, vec![FieldMatch::Any, range(7, 7)], 30, 3);
    let results = [(0x12, 0), (0x12, 5), (0x12, 9), (0x12, 10), (0x12, 7), (0x99, 7), (0x99, 8)]
        .map(|(key, other)| result(&mut switch, key, other));
    assert_eq!(results, [1, 2, 2, 1, 3, 3, 0]);
}

#[test]
fn an_optional_key_may_be_omitted() {
    let mut switch = table("h.r.key: optional; h.r.other: exact;", "", "t.apply();");
    add(&mut switch, vec![exact(5), exact(1)], 2, 7);
    add(&mut switch, vec![FieldMatch::Any, exact(1)], 1, 8);
    let results = [(5, 1), (6, 1), (5, 2)].map(|(key, other)| result(&mut switch, key, other));
    assert_eq!(results, [7, 8, 0]);
}

#[test]
fn a_range_of_a_signed_key_may_include_negative_numbers() {
    let mut switch = V1model {
        declarations: "header R { int<8> key; bit<8> result; } struct H { R r; } struct M {}",
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: "action set(bit<8> value) { h.r.result = value; }
            table t { key = { h.r.key: range; } actions = { set; } }
            apply { t.apply(); }",
        ..V1model::default()
    }
    .load();
    let signed = |value| Bits::signed(8, value);
    let between = FieldMatch::Range { low: signed(-2), high: signed(1) };
    add(&mut switch, vec![between], 1, 9);
    let results = [0xfd, 0xfe, 0, 1, 2].map(|key| packet(&mut switch, 0, &[key, 0])[1]);
    assert_eq!(results, [0, 9, 9, 9, 0]);
}

#[test]
fn constant_entries_match_by_order_or_by_prefix_length() {
    let entries = "const entries = { 1: set(10); 2: set(20); }";
    let mut switch = table("h.r.key: exact;", entries, "t.apply();");
    assert_eq!([1, 2, 3].map(|key| result(&mut switch, key, 0)), [10, 20, 0]);
    let id = switch.table_named("t").expect("table");
    let action = call(&switch, "t", "set", &[1]);
    let refused = switch.add_entry(id, entry(vec![exact(7)], 0, action), Duration::ZERO);
    assert_eq!(refused, Err(ControlError::Constant("the table")));

    // Where masks overlap, the first entry wins. Where prefixes overlap, the longest one wins.
    let entries =
        "const entries = { 0x10 &&& 0xf0: set(1); 0x12: set(2); 0x00 .. 0x1f: set(3); _: set(4); }";
    let mut switch =
        table("h.r.key: range;", &entries.replace("0x10 &&& 0xf0", "0x10 .. 0x1f"), "t.apply();");
    assert_eq!([0x12, 0x05, 0x20].map(|key| result(&mut switch, key, 0)), [1, 3, 4]);
    let entries = "const entries = { 0x10 &&& 0xf0: set(1); 0x12 &&& 0xfe: set(2); _: set(4); }";
    let mut switch = table("h.r.key: lpm;", entries, "t.apply();");
    assert_eq!([0x12, 0x1f, 0x20].map(|key| result(&mut switch, key, 0)), [2, 1, 4]);
    let mut switch = table("h.r.key: ternary;", entries, "t.apply();");
    assert_eq!([0x12, 0x1f, 0x20].map(|key| result(&mut switch, key, 0)), [1, 1, 4]);
}

#[test]
fn a_table_reports_the_hit_and_the_action() {
    let apply = "if (t.apply().hit) { h.r.other = 1; } else { h.r.other = 2; }";
    let mut switch = table("h.r.key: exact;", "", apply);
    add(&mut switch, vec![exact(1)], 0, 5);
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0]), [1, 1, 5]);
    assert_eq!(packet(&mut switch, 0, &[2, 0, 0]), [2, 2, 0]);
    let apply = "switch (t.apply().action_run) { set: { h.r.other = 1; } add: { h.r.other = 2; } default: { h.r.other = 3; } }";
    let mut switch = table("h.r.key: exact;", "default_action = add(40);", apply);
    add(&mut switch, vec![exact(1)], 0, 5);
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0]), [1, 1, 5]);
    assert_eq!(packet(&mut switch, 0, &[2, 0, 0]), [2, 2, 40]);
}

#[test]
fn the_default_action_can_be_set_and_reset() {
    let mut switch = table("h.r.key: exact;", "default_action = set(1);", "t.apply();");
    let id = switch.table_named("t").expect("table");
    let other = call(&switch, "t", "add", &[3]);
    switch.set_default_action(id, Some(other)).expect("default action");
    assert_eq!(result(&mut switch, 0, 0), 3);
    switch.set_default_action(id, None).expect("default action");
    assert_eq!(result(&mut switch, 0, 0), 1);
    let switch = table("h.r.key: exact;", "const default_action = set(1);", "t.apply();");
    assert!(switch.set_default_action(id, None).is_err());
}

#[test]
fn a_malformed_entry_is_refused() {
    let switch = table("h.r.key: ternary; h.r.other: exact;", "size = 2;", "t.apply();");
    let id = switch.table_named("t").expect("table");
    let good = call(&switch, "t", "set", &[1]);
    let try_add = |matches, priority| {
        switch.add_entry(id, entry(matches, priority, good.clone()), Duration::ZERO).err()
    };
    let is = |error: Option<ControlError>, text: &str| {
        let error = error.expect(text).to_string();
        assert!(error.contains(text), "{error}");
    };
    is(try_add(vec![exact(1)], 1), "1 match values for 2 keys");
    is(try_add(vec![exact(1), exact(1)], 1), "is matched ternary, not exact");
    is(try_add(vec![ternary(1, 1), FieldMatch::Any], 1), "needs a value");
    is(try_add(vec![ternary(3, 1), exact(1)], 1), "outside the mask");
    is(try_add(vec![ternary(1, 1), exact(256)], 1), "has 8 bits, the value needs 9");
    is(try_add(vec![ternary(1, 1), exact(1)], 0), "need a priority");
    assert_eq!(try_add(vec![ternary(1, 1), exact(1)], 1), None);
    is(try_add(vec![ternary(1, 1), exact(1)], 1), "exists already");
    assert_eq!(try_add(vec![ternary(1, 1), exact(1)], 2), None);
    is(try_add(vec![ternary(1, 1), exact(1)], 3), "is full: it holds 2");
    assert!(switch.delete_entry(id, &[ternary(1, 1), exact(1)], 2).is_ok());
    assert!(switch.delete_entry(id, &[ternary(1, 1), exact(1)], 2).is_err());
    let action = good.action;
    assert!(switch.action_call(action, &[]).is_err());
    assert!(switch.action_call(action, &[bits(256)]).is_err());
    switch.clear_table(id).expect("table");
    assert_eq!(switch.entries(id).expect("table").count(), 0);
}

#[test]
fn directional_arguments_are_evaluated_when_the_action_runs() {
    let mut switch = V1model {
        declarations: HEADERS,
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: "action sum(inout bit<8> x, in bit<8> y, bit<8> z) { x = x + y + z; }
            table t { key = { h.r.key: exact; } actions = { sum(h.r.result, h.r.other); } }
            apply { h.r.result = 1; t.apply(); }",
        ..V1model::default()
    }
    .load();
    add_exact(&mut switch, "t", 5, "sum", &[100]);
    assert_eq!(packet(&mut switch, 0, &[5, 20, 0]), [5, 20, 121]);
}

#[test]
fn keys_may_be_expressions() {
    let mut switch = table("h.r.key + 1: exact @name(\"k\");", "", "t.apply();");
    add(&mut switch, vec![exact(5)], 0, 1);
    assert_eq!([4, 5].map(|key| result(&mut switch, key, 0)), [1, 0]);
}

#[test]
fn fields_of_invalid_headers_match_as_zero() {
    let mut switch = V1model {
        declarations: "header R { bit<8> key; bit<8> result; } header Q { bit<8> v; } struct H { R r; Q q; } struct M {}",
        parser: "state start { b.extract(h.r); b.extract(h.q); transition accept; }",
        ingress: "action set(bit<8> value) { h.r.result = value; }
            table t { key = { h.q.v: exact; } actions = { set; } }
            apply { if (h.r.key == 1) { h.q.setInvalid(); } t.apply(); }",
        ..V1model::default()
    }
    .load();
    add_exact(&mut switch, "t", 0, "set", &[10]);
    add_exact(&mut switch, "t", 5, "set", &[20]);
    let mut result = |key| packet(&mut switch, 0, &[key, 0, 5])[1];
    assert_eq!([result(0), result(1)], [20, 10]);
}

#[test]
fn exit_in_an_action_ends_the_control() {
    let mut switch = V1model {
        declarations: HEADERS,
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: "action leave() { h.r.result = 1; exit; }
            table t { key = { h.r.key: exact; } actions = { leave; NoAction; } }
            apply { t.apply(); h.r.result = h.r.result + 4; }",
        ..V1model::default()
    }
    .load();
    add_exact(&mut switch, "t", 5, "leave", &[]);
    assert_eq!([5, 6].map(|key| result(&mut switch, key, 0)), [1, 4]);
}

#[test]
fn references_are_written_back_to_the_entry() {
    let mut switch = V1model {
        declarations: HEADERS,
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: "action swap(@__ref bit<8> value) { bit<8> old = value; value = h.r.other; h.r.other = old; }
            @tableconfig(impl=\"dpdk\")
            table t { key = { h.r.key: exact; } actions = { swap; } default_action = swap(77); }
            apply { t.apply(); }",
        ..V1model::default()
    }
    .load();
    add_exact(&mut switch, "t", 1, "swap", &[10]);
    add_exact(&mut switch, "t", 2, "swap", &[20]);
    let mut swap = |key, new| packet(&mut switch, 0, &[key, new, 0])[1];
    assert_eq!(
        [swap(1, 11), swap(1, 12), swap(2, 21), swap(1, 13), swap(2, 22)],
        [10, 11, 20, 12, 21]
    );
    // The default action has a value of its own.
    assert_eq!([swap(9, 78), swap(8, 79)], [77, 78]);
}

const SELECTOR: &str = "action set(bit<8> value) { h.r.result = value; }
    action_selector(HashAlgorithm.identity, 8, 8) profile;
    table t { key = { h.r.key: exact; h.r.other: selector; } actions = { set; NoAction; }
        implementation = profile; }
    apply { t.apply(); }";

fn selector() -> Switch {
    V1model {
        declarations: HEADERS,
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: SELECTOR,
        ..V1model::default()
    }
    .load()
}

fn profile_entry(switch: &mut Switch, key: u128, action: EntryAction) -> Result<(), ControlError> {
    let id = switch.table_named("t")?;
    let matches = vec![exact(key), FieldMatch::Any];
    let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
    switch.add_entry(id, entry, Duration::ZERO).map(|_| ())
}

#[test]
fn selectors_spread_packets_over_the_members_of_a_group() {
    let mut switch = selector();
    let profile = switch.extern_named("profile").expect("profile");
    for (member, value) in [(1, 10), (2, 20), (3, 30)] {
        let action = call(&switch, "t", "set", &[value]);
        switch.add_member(profile, member, action).expect("member");
    }
    let part = |member, weight, watch_port| GroupMember { member, weight, watch_port };
    let group = Group { members: vec![part(3, 1, Some(7)), part(1, 2, None)], max_size: 0 };
    switch.add_group(profile, 5, group).expect("group");
    profile_entry(&mut switch, 1, EntryAction::Group(5)).expect("entry");
    profile_entry(&mut switch, 2, EntryAction::Member(2)).expect("entry");

    // The hash is the key itself. Of three shares, member 1 has the first two, and member 3 the
    // third.
    let all = |switch: &mut Switch| [0, 1, 2, 3, 4, 5].map(|other| result(switch, 1, other));
    assert_eq!(all(&mut switch), [10, 10, 30, 10, 10, 30]);
    assert_eq!(result(&mut switch, 2, 2), 20);
    switch.set_port_up(7, false);
    assert_eq!(all(&mut switch), [10; 6]);
    switch.set_port_up(7, true);
    assert_eq!(all(&mut switch), [10, 10, 30, 10, 10, 30]);

    assert_eq!(switch.delete_member(profile, 2), Err(ControlError::InUse("member")));
    assert_eq!(switch.delete_member(profile, 1), Err(ControlError::InUse("member")));
    assert_eq!(switch.delete_group(profile, 5), Err(ControlError::InUse("group")));
    switch.modify_group(profile, 5, Group::default()).expect("group");
    assert_eq!(result(&mut switch, 1, 0), 0, "an empty group runs nothing");
    switch.delete_member(profile, 1).expect("unused now");
}

#[test]
fn a_profile_accepts_one_shot_groups_and_refuses_direct_actions() {
    let mut switch = selector();
    let action = |switch: &Switch, value| call(switch, "t", "set", &[value]);
    let part = |action, weight| WeightedAction { action, weight, watch_port: None };
    let members = vec![part(action(&switch, 1), 1), part(action(&switch, 2), 3)];
    profile_entry(&mut switch, 1, EntryAction::OneShot(members)).expect("entry");
    assert_eq!([0, 1, 3, 4].map(|other| result(&mut switch, 1, other)), [1, 2, 2, 1]);
    let direct = EntryAction::Action(action(&switch, 1));
    assert!(matches!(profile_entry(&mut switch, 2, direct), Err(ControlError::ActionKind(_))));
    let unknown = EntryAction::Member(9);
    assert_eq!(profile_entry(&mut switch, 2, unknown), Err(ControlError::NotFound("member")));
    let zero = EntryAction::OneShot(vec![part(action(&switch, 1), 0)]);
    assert_eq!(profile_entry(&mut switch, 2, zero), Err(ControlError::Weight));
}

#[test]
fn direct_counters_of_v1model_count_every_hit() {
    let mut switch = V1model {
        declarations: HEADERS,
        parser: "state start { b.extract(h.r); transition accept; }",
        ingress: "direct_counter(CounterType.packets_and_bytes) c;
            table t { key = { h.r.key: exact; } actions = { NoAction; } counters = c; }
            apply { t.apply(); }",
        ..V1model::default()
    }
    .load();
    add_exact(&mut switch, "t", 1, "NoAction", &[]);
    packet(&mut switch, 0, &[1, 0, 0]);
    packet(&mut switch, 0, &[1, 0, 0, 0, 0]);
    packet(&mut switch, 0, &[2, 0, 0]);
    let id = switch.table_named("t").expect("table");
    let counter = switch.extern_named("c").expect("counter");
    let handle = switch.find_entry(id, &[exact(1)], 0).expect("match").expect("entry");
    let counted = switch.direct_counter(id, handle, counter);
    assert_eq!(counted, Ok(CounterValue { packets: 2, bytes: 8 }));
    switch.set_direct_counter(id, handle, counter, CounterValue::default()).expect("entry");
    assert_eq!(switch.direct_counter(id, handle, counter), Ok(CounterValue::default()));
}

#[test]
fn an_idle_entry_is_reported_once_per_timeout() {
    let mut switch = table("h.r.key: exact;", "support_timeout = true;", "t.apply();");
    let id = switch.table_named("t").expect("table");
    let action: ActionCall = call(&switch, "t", "set", &[1]);
    let second = Duration::from_secs(1);
    let timed = TableEntry { idle_timeout: Some(second * 10), ..entry(vec![exact(1)], 0, action) };
    switch.add_entry(id, timed, Duration::ZERO).expect("entry");
    assert_eq!(switch.expire(second * 9).len(), 0);
    outputs_at(&mut switch, 0, &[1, 0, 0], second * 9);
    assert_eq!(switch.expire(second * 18).len(), 0, "a hit restarts the timer");
    let idle = switch.expire(second * 19);
    assert_eq!(idle.len(), 1);
    assert!(!idle[0].deleted);
    assert_eq!(switch.expire(second * 25).len(), 0, "told already");
    outputs_at(&mut switch, 0, &[1, 0, 0], second * 30);
    assert_eq!(switch.expire(second * 40).len(), 1);
    assert_eq!(outputs(&mut switch, 0, &[1, 0, 0]).len(), 1);

    let plain = table("h.r.key: exact;", "", "t.apply();");
    let action = call(&plain, "t", "set", &[1]);
    let timed = TableEntry { idle_timeout: Some(second), ..entry(vec![exact(1)], 0, action) };
    assert_eq!(plain.add_entry(id, timed, Duration::ZERO), Err(ControlError::NoIdleTimeout));
}
