//! Tests of machine code that has no lookups, which is used to measure the cost of lookups.

use crate::program::{V1model, compile};
use ir::bits::Bits;
use pipeline::{Batch, EntryAction, FieldMatch, Processor, Switch, TableEntry};
use std::time::Duration;

const TABLES: &str = "
    direct_counter(CounterType.packets) hits;
    action exchange(@__ref bit<32> value) {
        bit<32> old = value; value = h.k.value; h.k.value = old; }
    action send(bit<9> port) { s.egress_spec = port; hits.count(); }
    action nothing() { h.k.seen = h.k.seen + 1; }
    table state { key = { h.k.a: exact; } actions = { exchange; nothing; } default_action = nothing(); }
    table routes { key = { h.k.b: lpm; } actions = { send; nothing; } default_action = nothing();
        counters = hits; }
    table empty { key = { h.k.a: exact; } actions = { send; nothing; } default_action = nothing(); }
    apply { s.egress_spec = 1; state.apply(); routes.apply(); empty.apply(); }";

fn add(switch: &Switch, table: &str, matched: FieldMatch, action: &str, argument: Bits) {
    let id = switch.table_named(table).expect("a table");
    let call = switch.action_named(id, action).expect("an action");
    let action = EntryAction::Action(switch.action_call(call, &[argument]).expect("data"));
    let entry = TableEntry { matches: vec![matched], priority: 0, action, idle_timeout: None };
    switch.add_entry(id, entry, Duration::ZERO).expect("room");
}

#[test]
fn every_packet_hits_the_same_entry_unless_the_table_is_empty() {
    let program = V1model {
        declarations: "header K { bit<32> a; bit<32> b; bit<32> value; bit<8> seen; }
            struct H { K k; } struct M { }",
        parser: "state start { b.extract(h.k); transition accept; }",
        ingress: TABLES,
        ..V1model::default()
    };
    let mut switch = Switch::new(compile(&program.text())).expect("a program that can be run");
    let number = |number: u32| Bits::unsigned(32, number.into());
    add(&switch, "state", FieldMatch::Exact(number(1)), "exchange", number(77));
    let prefix = FieldMatch::Lpm { value: number(0x0a00_0000), prefix_length: 8 };
    add(&switch, "routes", prefix, "send", Bits::unsigned(9, 5));
    // This packet matches no entry. Two of the tables have an entry, which is used although the key
    // differs, and the third has none.
    let packet = |value: u32| {
        let words = [9, 0x0b00_0001, value].map(u32::to_be_bytes);
        let mut packet = words.as_flattened().to_vec();
        packet.push(0);
        packet
    };
    let given = [packet(100), packet(101), packet(102)];
    let packets: Vec<(u32, &[u8])> = given.iter().map(|packet| (0, packet.as_slice())).collect();
    let (mut processor, now) = (Processor::with_seed(0), Duration::from_secs(1));
    let mut run = |switch: &Switch| {
        let mut batch = Batch::default();
        processor.process_batch(switch, &packets, now, &mut batch);
        let sent = batch.sent().map(|(_, port, bytes)| {
            let (value, seen) = (bytes[8..12].try_into().expect("a word"), bytes[12]);
            (port, u32::from_be_bytes(value), seen)
        });
        sent.collect::<Vec<_>>()
    };
    let code = switch.compile().expect("code");
    assert!(code.has_tables() && code.one_by_one().is_none());
    assert_eq!(run(&switch), [(1, 100, 3), (1, 101, 3), (1, 102, 3)]);
    switch.compile_without_lookups().expect("code");
    // Each packet gets the value that the previous packet left.
    assert_eq!(run(&switch), [(5, 77, 1), (5, 100, 1), (5, 101, 1)]);
    switch.compile().expect("code");
    assert_eq!(run(&switch), [(1, 100, 3), (1, 101, 3), (1, 102, 3)]);
    let id = switch.table_named("state").expect("a table");
    let (_, entry) = switch.entries(id).expect("a table").next().expect("its entry");
    let exchange = switch.action_named(id, "exchange").expect("an action");
    let kept = switch.action_call(exchange, &[number(77)]).expect("data");
    assert_eq!(entry.action, EntryAction::Action(kept), "nothing is left in the table");
}
