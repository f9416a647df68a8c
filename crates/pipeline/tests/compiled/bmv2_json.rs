//! Programs in BMv2 JSON, whose blocks have their headers and metadata in the same variables.

use crate::both::Both;
use ir::bits::Bits;
use pipeline::{ActionCall, EntryAction, FieldMatch, TableEntry, Value};
use std::time::Duration;

const FEATURES: &str = include_str!("../../../p4lang/tests/bmv2/features.json");
const FORWARD: &str = include_str!("../../../../conformance/pipelines/forward.json");

fn both(json: &str) -> Both {
    Both::new(&p4lang::bmv2::load_bmv2_json(json).expect("the program is read"))
}

/// To 10.0.0.1, with what stands behind the addresses and types, and what behind the header.
fn routed(protocol: u8, destination: u8, rest: &[u8]) -> Vec<u8> {
    let ethernet = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0];
    let header = [0x40, protocol, 0, 0, destination, 0, 0, 1];
    [&ethernet[..], &header, rest].concat()
}

#[test]
fn packets_of_a_program_with_all_that_the_format_has() {
    let mut both = both(FEATURES);
    both.each(|switch| {
        let table = switch.table_named("ingress.route").expect("it is there");
        let action = switch.action_named(table, "ingress.forward").expect("it is there");
        let arguments = [Bits::unsigned(9, 2), Bits::unsigned(48, 7)].map(Value::Bits);
        let value = Bits::unsigned(32, 0x0a00_0000);
        let entry = TableEntry {
            matches: vec![FieldMatch::Lpm { value, prefix_length: 8 }],
            priority: 0,
            action: EntryAction::Action(ActionCall { action, arguments: arguments.into() }),
            idle_timeout: None,
        };
        switch.add_entry(table, entry.clone(), Duration::ZERO).expect("room");
    });
    let packets = [
        routed(6, 10, &[]),
        routed(6, 11, &[]),
        // A varbit field of three bytes.
        routed(17, 10, &[3, 0x11, 0x22, 0x33, 0x99]),
        // Too short for that.
        routed(17, 10, &[3, 0x11]),
    ];
    let left: Vec<usize> = packets
        .iter()
        .map(|packet| both.packet(1, packet).map_or(0, |outputs| outputs.len()))
        .collect();
    assert_eq!(left[..3], [1, 0, 1]);
    let numbered = packets.iter().cycle().take(100).map(|packet| (1, packet.clone()));
    assert!(both.batch(&numbered.collect::<Vec<_>>()) >= 50);
    both.random_packets(1, 2_000, 64);
}

#[test]
fn packets_of_a_program_of_one_table() {
    let mut both = both(FORWARD);
    both.random_packets(2, 2_000, 64);
    let packets: Vec<_> = (0..64).map(|number| (number % 4, vec![number as u8; 20])).collect();
    both.batch(&packets);
}
