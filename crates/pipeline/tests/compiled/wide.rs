//! Tests of numbers of more than 64 bits, which are moved, compared, hashed, and used as keys and
//! data.

use crate::both::V1model;
use ir::bits::Bits;
use pipeline::{EntryAction, FieldMatch, Switch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

const DECLARATIONS: &str = "
    header V6 { bit<8> kind; bit<8> hops; bit<128> source; bit<128> destination; bit<16> sum; bit<16> hashed; }
    header Odd { bit<3> a; bit<101> wide; int<72> signed_; bit<8> b; bit<65> c; bit<7> d; }
    struct H { V6 v; Odd o; V6 copy; } struct M { bit<128> hop; bit<101> odd; int<72> number; bit<64> half; }";

const INGRESS: &str = "
    action hop(bit<128> next, bit<9> port) { m.hop = next; s.egress_spec = port; h.v.destination = next; }
    action both(bit<128> next, bit<65> other) { h.v.source = next; h.o.c = other; }
    action narrow(bit<32> low) { h.v.source[31:0] = low; h.v.destination[127:64] = h.v.source[63:0]; }
    table exact_ { key = { h.v.destination: exact; } actions = { hop; both; narrow; NoAction; } default_action = NoAction(); }
    table half_ { key = { h.v.source[127:64]: exact; m.half: exact; } actions = { hop; narrow; NoAction; }
        default_action = hop(128w0x20010db8_00000000_00000000_00000001, 3); }
    apply {
        s.egress_spec = 1;
        m.half = h.v.destination[127:64];
        if (h.v.kind[0:0] == 1) { exact_.apply(); }
        if (h.v.kind[1:1] == 1) { half_.apply(); }
        if (h.v.kind[2:2] == 1) { bit<128> old = h.v.source; h.v.source = h.v.destination; h.v.destination = old; }
        if (h.v.source == h.v.destination) { h.v.hops = 77; }
        if (h.v.destination == 128w0x0202_0202_0202_0202_0202_0202_0202_0202) { h.v.hops = 78; }
        if (h.v.kind[3:3] == 1) { h.v.source = h.v.source & 128w0xffff_ffff_0000_ffff_0000_0000_0000_0001 | ~m.hop; }
        if (h.v.kind[4:4] == 1) { h.v.destination = h.v.source[31:0] ++ m.half ++ (bit<32>) h.v.hops; }
        if (h.o.isValid()) {
            m.odd = h.o.wide; m.number = h.o.signed_;
            if (h.o.wide != m.odd || m.number == 72s5) { h.v.hops = 79; }
            h.o.wide = m.odd ^ 101w0x1f_0000_0000_0000_0000_0000_0003;
            h.o.signed_ = (int<72>) ((bit<72>) m.half);
            h.o.c = (bit<65>) h.v.hops;
            m.odd = h.v.kind[5:5] == 1 ? h.o.wide : 101w9;
            h.o.wide = m.odd;
        }
        if (h.v.kind[6:6] == 1) { h.copy = h.v; h.copy.source = m.hop; }
        hash(h.v.hashed, HashAlgorithm.crc16, 16w1, { h.v.source, h.v.destination, h.v.kind }, 32w1000);
    }";

fn number(random: &mut ChaCha8Rng) -> u128 {
    [0x0202_0202_0202_0202_0202_0202_0202_0202, 1, u128::MAX, 5 << 64][random.random_range(0..4)]
}

/// Adds, changes or removes an entry.
fn change(switch: &mut Switch, [what, table, action]: [u32; 3], [key, data]: [u128; 2]) {
    let bits = |width, number| Bits::unsigned(width, number);
    let (name, matches) = match table {
        0 => ("exact_", vec![FieldMatch::Exact(bits(128, key))]),
        _ => {
            let [high, half] =
                [key >> 64, data >> 64].map(|half| FieldMatch::Exact(bits(64, half)));
            ("half_", vec![high, half])
        }
    };
    let id = switch.table_named(name).expect("a table");
    let actions: [(&str, Vec<Bits>); 3] = [
        ("hop", vec![bits(128, data), bits(9, data & 7)]),
        ("narrow", vec![bits(32, data & 0xffff_ffff)]),
        ("both", vec![bits(128, data ^ key), bits(65, data & 1 << 64 | 7)]),
    ];
    let (action, arguments) = &actions[action as usize % if table == 0 { 3 } else { 2 }];
    let action = switch.action_named(id, action).expect("an action");
    let action = EntryAction::Action(switch.action_call(action, arguments).expect("data"));
    let entry = TableEntry { matches: matches.clone(), priority: 0, action, idle_timeout: None };
    let _ = match what {
        0 => switch.delete_entry(id, &matches, 0).is_ok(),
        1 => switch.modify_entry(id, entry, Duration::ZERO).is_ok(),
        _ => switch.add_entry(id, entry, Duration::ZERO).is_ok(),
    };
}

#[test]
fn machine_code_computes_wide_numbers_without_the_interpreter() {
    let program = V1model {
        declarations: DECLARATIONS,
        parser: "state start { b.extract(h.v); transition select(h.v.kind[7:7]) { 1: odd; default: accept; } }
            state odd { b.extract(h.o); transition accept; }",
        ingress: INGRESS,
        compute: "apply { update_checksum(h.v.isValid(), { h.v.source, h.v.destination, 8w0, h.v.hops }, h.v.sum,
            HashAlgorithm.csum16); }",
        deparser: "apply { b.emit(h.v); b.emit(h.o); b.emit(h.copy); }",
        ..V1model::default()
    };
    let mut both = program.both();
    assert_eq!((both.one_by_one(), both.interpreted_steps()), (None, 0));
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let (mut left, mut most) = (0, 0);
    for round in 0..60 {
        for _ in 0..random.random_range(0..6) {
            let choices = [5, 2, 3].map(|bound| random.random_range(0..bound));
            let numbers = [number(&mut random), number(&mut random)];
            both.each(|switch| change(switch, choices, numbers));
        }
        let packets: Vec<(u32, Vec<u8>)> = (0..40)
            .map(|_| {
                let mut packet: Vec<u8> =
                    (0..random.random_range(30..90)).map(|_| random.random()).collect();
                for start in [2, 18] {
                    let bytes = number(&mut random).to_be_bytes();
                    if let Some(place) = packet.get_mut(start..start + 16) {
                        place.copy_from_slice(&bytes);
                    }
                }
                (0, packet)
            })
            .collect();
        if round % 3 == 0 {
            for (port, packet) in &packets {
                left += both.packet(*port, packet).map_or(0, |outputs| outputs.len());
            }
        } else {
            left += both.batch(&packets);
        }
        for table in ["exact_", "half_"] {
            let entries = |switch: &Switch| -> Vec<TableEntry> {
                let id = switch.table_named(table).expect("a table");
                switch.entries(id).expect("entries").map(|(_, entry)| entry).collect()
            };
            let expected = entries(&both.interpreted);
            assert_eq!(expected, entries(&both.compiled), "{table}, round {round}");
            most = most.max(expected.len());
        }
        both.share(round % 5 == 2);
    }
    assert!(left > 2000 && most > 2, "{left} packets left, {most} entries at most");
}
