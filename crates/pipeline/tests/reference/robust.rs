//! Tests that no packet makes the reference interpreter panic. Random packets, truncated at every
//! length, go through a program that uses most of the language.

use super::support::{V1model, bits, call, entry, exact};
use ir::with_large_stack;
use p4lang::compile_file;
use p4lang::preprocess::{DiskFiles, Options};
use pipeline::{CloneSession, FieldMatch, Replica, RunError, Switch};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

const SEED: u64 = 0x0bad_cafe;

#[test]
fn random_packets_are_processed_or_dropped() {
    let mut switch = V1model {
        declarations: "header Ethernet { bit<48> dst; bit<48> src; bit<16> kind; }
            header Vlan { bit<3> pcp; bit<1> dei; bit<12> vid; bit<16> kind; }
            header Ip { bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length; bit<64> rest; bit<64> addresses;
                varbit<320> options; }
            header B { bit<8> v; } header W { bit<24> v; } header_union U { B b; W w; }
            struct H { Ethernet eth; Vlan[2] vlans; Ip ip; U u; B[3] tail; }
            struct M { @field_list(1) bit<8> rounds; bit<16> sum; }",
        parser: "state start { b.extract(h.eth); transition select(h.eth.kind) { 0x8100: vlan; 0x0800: ip;
                0x1000 &&& 0xf000: union_; 0x2000 .. 0x2fff: tail; _: accept; } }
            state vlan { b.extract(h.vlans.next); transition select(h.vlans.last.kind) { 0x8100: vlan; 0x0800: ip; _: accept; } }
            state ip { b.extract(h.ip, ((bit<32>)b.lookahead<bit<8>>()[3:0] << 5) - 160); verify(h.ip.version == 4, error.NoMatch); transition accept; }
            state union_ { transition select(b.lookahead<bit<1>>()) { 0: small; 1: large; } }
            state small { b.extract(h.u.b); transition accept; } state large { b.extract(h.u.w); transition tail; }
            state tail { b.extract(h.tail.next); transition select(h.tail.last.v) { 0 .. 100: accept; _: tail; } }",
        verify: "apply { verify_checksum(h.ip.isValid(), { h.ip.rest, h.ip.options }, h.ip.length, HashAlgorithm.csum16); }",
        ingress: "register<bit<16>, bit<8>>(16) r;
            action forward(bit<9> port, bit<8> i) { s.egress_spec = port; r.write(i, (bit<16>)h.tail[i].v); }
            action again() { if (m.rounds < 3) { m.rounds = m.rounds + 1; resubmit_preserving_field_list(1); } else { exit; } }
            action copy() { clone_preserving_field_list(CloneType.I2E, 1, 1); s.mcast_grp = 1; }
            table t { key = { h.eth.dst[7:0]: ternary; h.ip.tos: range; h.u.b.v: optional; m.rounds: exact; }
                actions = { forward; again; copy; NoAction; } default_action = forward(1, 0); }
            apply { h.vlans.push_front(1); t.apply(); h.vlans.pop_front(1); r.read(m.sum, h.eth.src[7:0]);
                hash(m.sum, HashAlgorithm.crc16, 16w0, { h }, m.sum); h.tail[(bit<32>)m.sum].v = (bit<8>)(m.sum >> h.eth.src[15:8]);
                for (bit<8> i = 0; i < 100; i = i + 16) { h.eth.src[7:0] = h.eth.src[7:0] |+| i; } }",
        egress: "apply { if (m.rounds < 2 && h.eth.src[0:0] == 1) { m.rounds = m.rounds + 1; h.eth.src[0:0] = 0;
                recirculate_preserving_field_list(1); } if (h.ip.isValid()) { truncate((bit<32>)h.ip.length & 0x3f); } }",
        compute: "apply { update_checksum_with_payload(h.ip.isValid(), { h.ip.rest, h.eth }, h.ip.length, HashAlgorithm.crc32); }",
        ..V1model::default()
    }
    .load();
    let table = switch.table_named("t").expect("table");
    let low = |value| FieldMatch::Ternary { value: bits(value), mask: bits(3) };
    let actions = [("forward", &[2, 200][..]), ("again", &[]), ("copy", &[])];
    for (position, (action, arguments)) in actions.into_iter().enumerate() {
        for rounds in 0..3 {
            let action = call(&switch, "t", action, arguments);
            let matches =
                vec![low(position as u128), FieldMatch::Any, FieldMatch::Any, exact(rounds)];
            switch.add_entry(table, entry(matches, 7, action), Duration::ZERO).expect("entry");
        }
    }
    let replicas = vec![Replica { port: 3, instance: 1 }, Replica { port: 4, instance: 2 }];
    switch.set_multicast_group(1, replicas.clone());
    switch.set_clone_session(1, Some(CloneSession { replicas, ..CloneSession::default() }));

    println!("seed {SEED:#x}");
    let mut random = StdRng::seed_from_u64(SEED);
    let (mut left, mut shortest) = (0, usize::MAX);
    for round in 0..500_u64 {
        let length = random.random_range(0..80);
        let mut packet: Vec<u8> = (0..length).map(|_| random.random()).collect();
        if let Some(kind) = packet.get_mut(12..14) {
            let kinds = [[0x81, 0x00], [0x08, 0x00], [0x12, 0x34], [0x22, 0x34], [0x99, 0x99]];
            kind.copy_from_slice(&kinds[random.random_range(0..kinds.len())]);
        }
        match switch.process(random.random_range(0..4), &packet, Duration::from_micros(round)) {
            Ok(outputs) => {
                left += outputs.len();
                shortest =
                    outputs.iter().map(|output| output.packet.len()).fold(shortest, usize::min);
            }
            Err(RunError::PassLimit(_)) => {}
            Err(error) => panic!("round {round}: {error}"),
        }
    }
    assert!(left > 500 && shortest == 0, "{left} packets left, the shortest of {shortest} bytes");
}

/// The number of copied bytes counts, and not only the number of statements.
#[test]
fn large_values_are_not_copied_without_end() {
    let mut switch = V1model {
        declarations: "header B { bit<2048> v; } struct H { B[4096] one; B[4096] other; } struct M {}",
        ingress: "apply { for (bit<32> i = 0; i < 300000; i = i + 1) { h.one = h.other; } }",
        ..V1model::default()
    }
    .load();
    let error = switch.process(0, &[0; 60], Duration::ZERO).expect_err("300,000 times a megabyte");
    assert!(matches!(error, RunError::WorkLimit(_)), "{error}");
}

#[test]
fn our_programs_survive_random_packets() {
    println!("seed {SEED:#x}");
    let mut random = StdRng::seed_from_u64(SEED);
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs");
    let mut programs = 0;
    for file in std::fs::read_dir(directory).expect("programs") {
        let path = file.expect("programs").path();
        if path.extension().is_none_or(|extension| extension != "p4") {
            continue;
        }
        programs += 1;
        // Programs include files beside them.
        let compiled = with_large_stack(|| compile_file(&path, &Options::default(), &DiskFiles));
        let program = compiled.expect("a thread").expect("a file").program;
        let mut switch = Switch::new(program.expect("no errors")).expect("it can be run");
        for round in 0..100_u64 {
            let length = random.random_range(0..100);
            let mut packet: Vec<u8> = (0..length).map(|_| random.random()).collect();
            if random.random()
                && let Some(kind) = packet.get_mut(12..24)
            {
                // The packet has an IPv4 header with TCP, so that parsers continue.
                kind.copy_from_slice(&[8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6]);
            }
            let now = Duration::from_millis(round);
            if let Err(error) = switch.process(random.random_range(0..4), &packet, now) {
                panic!("{}, round {round}: {error}", path.display());
            }
        }
        switch.expire(Duration::from_secs(1 << 40));
    }
    assert!(programs > 5, "{programs} programs in {directory}");
}
