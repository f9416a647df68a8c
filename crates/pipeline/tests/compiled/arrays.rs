//! Tests of registers and counters. Machine code reaches small arrays by itself and makes a host
//! call for large ones. Beyond the end of an array, nothing is read, written or counted.

use crate::both::{Both, V1model, compile, psa_of_ingress};
use ir::bits::Bits;
use pipeline::{Batch, Compiled, CounterValue, Processor, Switch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

const DECLARATIONS: &str =
    "header R { bit<8> index; bit<8> kind; bit<64> a; bit<64> b; } struct H { R r; } struct M { }";

const PARSER: &str = "state start { b.extract(h.r); transition accept; }";

/// Arrays of several widths, sizes and signs. Two of them are too large to have memory of their
/// own.
const INGRESS: &str = "register<bit<1>, bit<32>>(5) r1; register<bit<8>, bit<32>>(1) r8; register<bit<31>, bit<32>>(40) r31; register<bit<32>, bit<32>>(64) r32;
    register<bit<33>, bit<32>>(64) r33; register<bit<64>, bit<32>>(200) r64; register<int<13>, bit<32>>(30) s13; register<bit<32>, bit<32>>(16777217) large;
    register<bool, bit<32>>(4) flags;
    counter<bit<32>>(20, CounterType.packets) c20; counter<bit<32>>(16777217, CounterType.bytes) c_large;
    apply {
        bit<32> i = (bit<32>)h.r.index;
        s.egress_spec = 1;
        if (h.r.kind[0:0] == 1) { bit<1> x = h.r.b[0:0]; r1.read(x, i); h.r.a[0:0] = x; r1.write(i, x ^ 1); }
        if (h.r.kind[1:1] == 1) { bit<8> x = h.r.b[7:0]; r8.read(x, i); h.r.a[15:8] = x; r8.write(i, x + h.r.kind); }
        if (h.r.kind[2:2] == 1) { bit<31> x = h.r.b[30:0]; r31.read(x, i); h.r.a[46:16] = x; r31.write(i, x + h.r.b[30:0]); }
        if (h.r.kind[3:3] == 1) { bit<32> x = 9; r32.read(x, i); h.r.b[31:0] = h.r.b[31:0] + x; r32.write(i, h.r.b[31:0]); }
        if (h.r.kind[4:4] == 1) { bit<33> x = 3; r33.read(x, i); r33.write(i, x + h.r.b[32:0]); h.r.b[63:31] = x; }
        if (h.r.kind[5:5] == 1) { bit<64> x = 0; r64.read(x, i); r64.write(i, h.r.a); h.r.a = x; }
        if (h.r.kind[6:6] == 1) { int<13> x = -1; s13.read(x, i); s13.write(i, x - 3); if (x < 0) { h.r.b[60:60] = 1; }
            h.r.b[59:47] = (bit<13>)x; }
        if (h.r.kind[7:7] == 1) { bit<32> x = 5; large.read(x, i); large.write(i + 16777000, x + 1);
            large.read(x, i + 16777000); h.r.b[46:15] = x; }
        bool f = false; flags.read(f, i); if (f) { h.r.b[14:14] = 1; }
        c20.count(i); c_large.count(i + 16777000);
    }";

fn same(both: &Both) {
    for name in ["r1", "r8", "r31", "r32", "r33", "r64", "s13", "large", "flags"] {
        let value = |switch: &Switch, index| {
            let id = switch.extern_named(name).expect("a register");
            (index < switch.array_size(id).expect("a size"))
                .then(|| switch.register(id, index).expect("an element"))
        };
        for index in (0..256).chain(16_777_000..16_777_217) {
            let expected = value(&both.interpreted, index);
            assert_eq!(expected, value(&both.compiled, index), "{name} {index}");
        }
    }
    for (name, from) in [("c20", 0), ("c_large", 16_777_000)] {
        for index in from..from + 20 {
            let count = |switch: &Switch| {
                let id = switch.extern_named(name).expect("a counter");
                switch.counter(id, index).expect("an element")
            };
            assert_eq!(count(&both.interpreted), count(&both.compiled), "{name} {index}");
        }
    }
}

#[test]
fn registers_and_counters_of_all_widths_have_the_same_values() {
    let model = V1model {
        declarations: DECLARATIONS,
        parser: PARSER,
        ingress: INGRESS,
        ..V1model::default()
    };
    let mut both = model.both();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for round in 0..120 {
        let packets: Vec<(u32, Vec<u8>)> = (0..24)
            .map(|_| {
                let mut packet: Vec<u8> = (0..20).map(|_| random.random()).collect();
                packet[0] %= 1 << random.random_range(1..8);
                (0, packet)
            })
            .collect();
        assert_eq!(both.batch(&packets), 24);
        let (index, number) = (random.random_range(0..4), random.random_range(0..0x1000));
        both.each(|switch| {
            let id = |name| switch.extern_named(name).expect("an array");
            match round % 4 {
                0 => switch.set_register(id("s13"), index, &Bits::unsigned(13, number)),
                1 => switch.set_register(id("flags"), index, &Bits::unsigned(1, 1)),
                2 => {
                    let value = CounterValue { packets: 7, bytes: index };
                    switch.set_counter(id("c20"), index, value)
                }
                _ => switch.reset_register(id("r33")),
            }
            .expect("an element");
        });
        same(&both);
    }
}

/// Registers of PSA may have an initial value other than zero.
#[test]
fn registers_begin_with_their_initial_value() {
    let program = compile(&psa_of_ingress(
        "header R { bit<8> index; bit<8> kind; bit<32> a; }",
        "Register<bit<20>, bit<8>>(32w9, 20w77) begun;
        apply { send_to_port(o, (PortId_t)1); bit<20> x = begun.read(h.r.index);
            h.r.a[19:0] = x; if (h.r.kind > 100) { begun.write(h.r.index, x + 1); } }",
    ));
    for follows in [false, true] {
        let mut both = Both::following(&program, follows);
        assert!(both.random_packets(2, 300, 8) > 100);
        both.each(|switch| {
            let id = switch.extern_named("begun").expect("a register");
            switch.reset_register(id).expect("a register");
            let first = switch.register(id, 8).expect("an element").to_pattern();
            assert_eq!(first, Some(Bits::unsigned(20, 77)));
        });
        assert!(both.random_packets(3, 100, 8) > 10);
    }
}

/// Two workers count in one element, and no packet is lost. A value that the control plane sets in
/// the meantime stays set.
#[test]
fn two_workers_that_count_in_one_element_lose_no_packet() {
    const BURSTS: u64 = 300;
    let model = V1model {
        declarations: DECLARATIONS,
        parser: PARSER,
        ingress: "counter<bit<32>>(4, CounterType.packets_and_bytes) seen; action none() { }
            table t { key = { h.r.kind: exact; } actions = { none; } default_action = none(); }
            apply { s.egress_spec = 1; t.apply(); seen.count(0); seen.count((bit<32>)h.r.kind); }",
        ..V1model::default()
    };
    let switch = Switch::new(compile(&model.text())).expect("a program that can be run");
    let code = Compiled::new(&switch).expect("a program that is compiled");
    let seen = switch.extern_named("seen").expect("a counter");
    let set = CounterValue { packets: 1_000_000, bytes: 5 };
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (code, switch) = (&code, &switch);
            scope.spawn(move || {
                let (mut worker, mut batch) = (Processor::with_seed(seed), Batch::default());
                let packet = [0, 1 + seed as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                let packets = [(0, &packet[..]); 32];
                for _ in 0..BURSTS {
                    code.process_batch(switch, &mut worker, &packets, Duration::ZERO, &mut batch);
                }
            });
        }
        switch.set_counter(seen, 3, set).expect("an element");
    });
    let count = |index| switch.counter(seen, index).expect("an element").packets;
    let each = 32 * BURSTS;
    assert_eq!([0, 1, 2, 3].map(count), [2 * each, each, each, set.packets]);
}
