//! Tests of tables whose keys are prefixes, masks and ranges. Machine code finds the same entries
//! as the interpreter while the control plane adds, changes and deletes them, whether packets go in
//! bursts or one by one.

use crate::both::{Both, V1model};
use ir::bits::Bits;
use pipeline::{CounterValue, EntryAction, FieldMatch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

const FIELDS: &str =
    "header K { bit<32> address; bit<9> tag; bit<7> few; bit<16> low; bit<16> high; bit<64> wide;
        bit<64> other; int<8> sign; bit<32> value;
        bit<128> six; bit<96> more; }
    header T { bit<8> more; }
    struct H { K k; T one; } struct M { }";

const BURSTS: &str =
    "state start { b.extract(h.k); transition select(h.k.low) { 7: more; default: accept; } }
    state more { b.extract(h.one); transition accept; }";

/// A parser that may return to a state, which excludes bursts.
const ONE_BY_ONE: &str =
    "state start { b.extract(h.k); transition select(h.k.low) { 7: more; default: accept; } }
    state more { b.extract(h.one); transition select(h.one.more) { 0xfe: more; default: accept; } }";

/// Tables of each form that a search must handle: with fields in the order that the search needs
/// and in another order, with keys of one word and of two, with one field of two words, with a key
/// that changed since the packet was parsed, with a lookup that is not always applied, and with
/// entries of the program.
const TABLES: &str = "
    action exchange(@__ref bit<32> value) { bit<32> old = value; value = h.k.value; h.k.value = old; }
    action mark(bit<32> value) { h.k.value = h.k.value + value; }
    action leave() { h.k.value = 1; exit; }
    action nothing() { h.k.value = h.k.value ^ 0x5a; }
    direct_counter(CounterType.packets_and_bytes) in_routes;
    direct_counter(CounterType.packets) in_within;
    direct_counter(CounterType.bytes) in_rules;
    table routes { key = { h.k.address: lpm; } actions = { exchange; mark; nothing; } default_action = nothing();
        counters = in_routes; }
    @tableconfig(impl = \"dpdk\", synced = true)
    table within { key = { h.k.address: lpm; h.k.tag: exact; } actions = { exchange; mark; leave; nothing; }
        default_action = mark(5); counters = in_within; }
    table wide { key = { h.k.wide: exact; h.k.other: lpm; } actions = { mark; nothing; } default_action = nothing(); }
    table rules { key = { h.k.address: ternary; h.k.low: range; h.k.high: range; h.k.few: optional; h.k.sign: ternary;
        h.k.tag: exact; } actions = { exchange; mark; leave; nothing; } default_action = nothing(); counters = in_rules; }
    table prefixes { key = { h.k.address: lpm; h.k.low: exact; h.k.few: ternary; } actions = { mark; nothing; }
        default_action = nothing(); }
    table fixed { key = { h.k.address: lpm; } actions = { mark; nothing; } default_action = nothing();
        const entries = { 0x01000000 &&& 0xff000000: mark(7); 0x01010000 &&& 0xffff0000: mark(11); _: mark(13); } }
    table optional_header { key = { h.one.more: ternary; } actions = { mark; nothing; } default_action = nothing(); }
    table sixes { key = { h.k.six: lpm; } actions = { exchange; mark; nothing; } default_action = nothing(); }
    table those { key = { h.k.more: exact; h.k.low: exact; } actions = { exchange; mark; } default_action = mark(3); }
    table some { key = { h.k.six: ternary; } actions = { mark; nothing; } default_action = nothing(); }
    apply {
        s.egress_spec = 1;
        sixes.apply(); those.apply(); some.apply();
        routes.apply();
        fixed.apply();
        if (h.k.few != 3) { rules.apply(); }
        h.k.address = h.k.address ^ h.k.value[0:0] ++ 31w0;
        within.apply();
        wide.apply();
        if (!prefixes.apply().hit) { h.k.low = h.k.low + 1; }
        optional_header.apply();
    }";

#[derive(Clone, Copy)]
enum Kind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

/// A table: its name, the widths and kinds of its keys, whether entries have priorities, and its
/// actions with whether each has data.
type Table = (&'static str, &'static [(u32, Kind)], bool, &'static [(&'static str, bool)]);

use Kind::{Exact, Lpm, Optional, Range, Ternary};

const ALL: [Table; 9] = [
    ("routes", &[(32, Lpm)], false, &[("exchange", true), ("mark", true), ("nothing", false)]),
    (
        "within",
        &[(32, Lpm), (9, Exact)],
        false,
        &[("exchange", true), ("mark", true), ("leave", false)],
    ),
    ("wide", &[(64, Exact), (64, Lpm)], false, &[("mark", true), ("nothing", false)]),
    (
        "rules",
        &[(32, Ternary), (16, Range), (16, Range), (7, Optional), (8, Ternary), (9, Exact)],
        true,
        &[("exchange", true), ("mark", true), ("leave", false)],
    ),
    ("prefixes", &[(32, Lpm), (16, Exact), (7, Ternary)], true, &[("mark", true)]),
    ("optional_header", &[(8, Ternary)], true, &[("mark", true)]),
    ("sixes", &[(128, Lpm)], false, &[("exchange", true), ("mark", true), ("nothing", false)]),
    ("those", &[(96, Exact), (16, Exact)], false, &[("exchange", true), ("mark", true)]),
    ("some", &[(128, Ternary)], true, &[("mark", true), ("nothing", false)]),
];

/// Returns one of a few values. All fields of packets and entries are made of these, so that they
/// often match.
fn value(random: &mut ChaCha8Rng, width: u32) -> u128 {
    let one = 0x0101_0101_0101_0101_0101_0101_0101_0101_u128;
    let high = (random.random_range(0..3_u128) * one) << 7;
    (high | random.random_range(0..3_u128)) & (u128::MAX >> (128 - width))
}

fn match_of(random: &mut ChaCha8Rng, width: u32, kind: Kind) -> FieldMatch {
    let number = value(random, width);
    let bits = |number: u128| Bits::unsigned(width, number);
    let is_left_out = random.random_range(0..4) == 0;
    match kind {
        Exact => FieldMatch::Exact(bits(number)),
        _ if is_left_out => FieldMatch::Any,
        Optional => FieldMatch::Exact(bits(number)),
        Lpm => {
            let prefix_length = random.random_range(0..=width);
            let value = bits(number).bit_and(&Bits::prefix_mask(width, prefix_length));
            FieldMatch::Lpm { value, prefix_length }
        }
        Ternary => {
            let mask = bits(value(random, width) | random.random_range(0..0xff));
            FieldMatch::Ternary { value: bits(number).bit_and(&mask), mask }
        }
        Range => {
            let other = value(random, width);
            FieldMatch::Range { low: bits(number.min(other)), high: bits(number.max(other)) }
        }
    }
}

/// The table, key and priority of an entry that was added, so that it can be changed and deleted.
type Known = (usize, Vec<FieldMatch>, u32);

fn change(both: &mut Both, random: &mut ChaCha8Rng, known: &mut Vec<Known>) {
    let adds = known.is_empty() || random.random_range(0..5) < 3;
    let (table, matches, priority) = if adds {
        let table = random.random_range(0..ALL.len());
        let (_, keys, ranked, _) = ALL[table];
        let matches = keys.iter().map(|(width, kind)| match_of(random, *width, *kind)).collect();
        (table, matches, if ranked { random.random_range(1..4) } else { 0 })
    } else {
        known[random.random_range(0..known.len())].clone()
    };
    let deletes = !adds && random.random_range(0..2) == 0;
    let (name, .., actions) = ALL[table];
    let (action, has_data) = actions[random.random_range(0..actions.len())];
    let data: Vec<Bits> =
        has_data.then(|| Bits::unsigned(128, random.random_range(1..1000))).into_iter().collect();
    let mut outcomes = Vec::new();
    for switch in [&mut both.interpreted, &mut both.compiled] {
        let id = switch.table_named(name).expect("a table");
        let action = switch.action_named(id, action).expect("an action");
        let action = EntryAction::Action(switch.action_call(action, &data).expect("data"));
        let entry = TableEntry { matches: matches.clone(), priority, action, idle_timeout: None };
        outcomes.push(match (adds, deletes) {
            (true, _) => switch.add_entry(id, entry, Duration::ZERO).map(|_| ()),
            (_, true) => switch.delete_entry(id, &matches, priority).map(|_| ()),
            _ => switch.modify_entry(id, entry, Duration::ZERO).map(|_| ()),
        });
    }
    assert_eq!(outcomes[0], outcomes[1], "{name} {matches:?}");
    match (adds, deletes, outcomes[0].is_ok()) {
        (true, _, true) => known.push((table, matches, priority)),
        (_, true, true) => {
            known.retain(|one| *one != (table, matches.clone(), priority));
        }
        _ => {}
    }
}

/// Returns the number of packets that the counters of a table's entries have counted. Sets one of
/// the counters.
///
/// # Panics
/// Panics if the counters of both switches differ.
fn same_counts(both: &Both, name: &str, round: u64) -> u64 {
    let Ok(counter) = both.compiled.extern_named(&format!("I.in_{name}")) else { return 0 };
    let table = both.compiled.table_named(name).expect("a table");
    let mut packets = 0;
    let entries = both.compiled.entries(table).expect("entries");
    for (position, (handle, _)) in entries.enumerate() {
        let [expected, found] = [&both.interpreted, &both.compiled]
            .map(|switch| switch.direct_counter(table, handle, counter).expect("a counter"));
        assert_eq!(expected, found, "{name}, round {round}, {handle:?}");
        packets += found.packets;
        if position as u64 == round % 16 {
            let value = CounterValue { packets: found.packets / 2, bytes: round };
            for switch in [&both.interpreted, &both.compiled] {
                switch.set_direct_counter(table, handle, counter, value).expect("a counter");
            }
        }
    }
    packets
}

fn packet(random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((value(random, 32) as u32).to_be_bytes());
    let tag = value(random, 9) << 7 | value(random, 7);
    bytes.extend((tag as u16).to_be_bytes());
    let low = if random.random_range(0..4) == 0 { 7 } else { value(random, 16) as u16 };
    bytes.extend(low.to_be_bytes());
    bytes.extend((value(random, 16) as u16).to_be_bytes());
    bytes.extend((value(random, 64) as u64).to_be_bytes());
    bytes.extend((value(random, 64) as u64).to_be_bytes());
    bytes.push(value(random, 8) as u8);
    bytes.extend(random.random_range(0..100_u32).to_be_bytes());
    bytes.extend(value(random, 128).to_be_bytes());
    bytes.extend(&value(random, 96).to_be_bytes()[4..]);
    bytes.extend(vec![1; random.random_range(0..60)]);
    // Some packets are too short for the header.
    bytes.truncate(if random.random_range(0..12) == 0 { random.random_range(0..30) } else { 99 });
    bytes
}

fn compare(parser: &str, goes_in_bursts: bool) {
    let program = V1model { declarations: FIELDS, parser, ingress: TABLES, ..V1model::default() };
    let mut both = program.both();
    assert_eq!(both.one_by_one().is_none(), goes_in_bursts, "{:?}", both.one_by_one());
    let mut known = Vec::new();
    let (mut sent, mut counted) = (0, 0);
    for round in 0..120 {
        let mut random = ChaCha8Rng::seed_from_u64(round);
        for _ in 0..random.random_range(0..10) {
            change(&mut both, &mut random, &mut known);
        }
        let packets: Vec<(u32, Vec<u8>)> =
            (0..random.random_range(1..70)).map(|_| (0, packet(&mut random))).collect();
        sent += both.batch(&packets);
        for (name, ..) in ALL {
            let entries = |switch: &pipeline::Switch| -> Vec<_> {
                let id = switch.table_named(name).expect("a table");
                switch.entries(id).expect("entries").collect()
            };
            let (expected, found) = (entries(&both.interpreted), entries(&both.compiled));
            assert_eq!(expected, found, "{name}, round {round}");
            counted += same_counts(&both, name, round);
        }
        both.share(round % 3 == 0);
    }
    assert!(counted > 10_000, "{counted} packets are in counters");
    assert!(sent > 2500 && known.len() > 60, "{sent} sent, {} entries", known.len());
}

#[test]
fn packets_in_bursts_hit_the_entries_of_the_interpreter() {
    compare(BURSTS, true);
}

#[test]
fn packets_one_by_one_hit_the_entries_of_the_interpreter() {
    compare(ONE_BY_ONE, false);
}
