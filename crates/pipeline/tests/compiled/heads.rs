//! Tests of programs that get only the first bytes of packets, and the length of the rest.
//!
//! The tests say for which programs the first bytes are enough, and check that the results of these
//! programs are then the same. The tests in the modules `both` and `differential` process every
//! other batch in this way.

use crate::apart::Apart;
use crate::both::Both;
use crate::program::{V1model, compile};
use p4lang::preprocess::{DiskFiles, Options};
use pipeline::{Batch, CloneSession, MeterConfig, Replica, Switch, internet_checksum};
use std::path::Path;
use std::time::Duration;

const HEADERS: &str = "header A { bit<8> a; bit<16> b; bit<8> c; } header T { bit<32> v; }
    header L { bit<8> l; varbit<64> v; } struct H { A a; T t; L v; T[3] s; } struct M { bit<16> m; }";
const PARSER: &str = "state start { b.extract(h.a); transition accept; }";
const FORWARD: &str = "s.egress_spec = 2;";

/// Returns a program that extracts four bytes, and runs these statements in ingress.
fn ingress(statements: &str) -> String {
    let ingress = format!("apply {{ {FORWARD} {statements} }}");
    V1model { declarations: HEADERS, parser: PARSER, ingress: &ingress, ..V1model::default() }
        .text()
}

/// Returns the number of first bytes that a program needs of each packet, or `None` if it needs
/// whole packets.
fn head(text: &str) -> Option<u64> {
    Switch::new(compile(text)).expect("a program that can be run").head_bytes()
}

/// Returns what [`head`] returns for a program with these parser states.
fn with_parser(parser: &str) -> Option<u64> {
    let ingress = format!("apply {{ {FORWARD} }}");
    head(&V1model { declarations: HEADERS, parser, ingress: &ingress, ..V1model::default() }.text())
}

#[test]
fn the_bytes_that_a_parser_reads_are_known() {
    let own = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
        let compiled =
            p4lang::compile_file(&path, &Options::default(), &DiskFiles).expect("a file");
        let switch = Switch::new(compiled.program.expect("a program")).expect("it can be run");
        switch.head_bytes()
    };
    // The program reads the header of a packet-out, and Ethernet.
    assert_eq!(own("l2.p4"), Some(3 + 14));
    // The program looks ahead, and extracts options up to the maximum of the expression for their
    // length.
    assert_eq!(own("router.p4"), Some(14 + 1 + 60 + 60));
    // These programs send clones.
    assert_eq!(own("psa_mirror.p4"), None);
    assert_eq!(own("nic_switch.p4"), None);
    for (parser, bytes) in [
        ("state start { transition accept; }", Some(0)),
        (PARSER, Some(4)),
        ("state start { b.extract(h.a); transition select(h.a.a) { 1: t; default: accept; } }
          state t { b.extract(h.t); transition accept; }", Some(8)),
        ("state start { b.extract(h.a); b.advance(24); transition accept; }", Some(7)),
        ("state start { m.m = b.lookahead<bit<16>>(); b.extract(h.a); transition accept; }", Some(6)),
        // The parser advances by twice a number of eight bits.
        ("state start { b.extract(h.a); b.advance((bit<32>) h.a.a << 1); transition accept; }", Some(68)),
        ("state start { b.extract(h.v, (bit<32>) (8w3)); transition accept; }", Some(10)),
        // The stack ends the loop. The bound includes the extraction that fails because it is full.
        ("state start { b.extract(h.s.next); transition select(h.s.last.v) { 1: start; default: accept; } }",
            Some(16)),
        ("state start { b.extract(h.s.next); transition select(h.s.last.v) { 1: more; default: accept; } }
          state more { b.advance(8); transition start; }", Some(20)),
        // These loops have no bound.
        ("state start { b.extract(h.t); transition select(h.t.v) { 1: start; default: accept; } }", None),
        ("state start { b.extract(h.s.next); transition select(h.s.last.v) { 1: more; default: accept; } }
          state more { T[3] fresh; h.s = fresh; transition start; }", None),
        ("state start { b.extract(h.s.next); transition select(h.s.last.v) { 1: more; default: accept; } }
          state more { b.extract(h.t); transition select(h.t.v) { 1: more; 2: start; default: accept; } }", None),
        ("state start { b.extract(h.t); b.advance(h.t.v); transition accept; }", None),
        ("state start { m.m = (bit<16>) b.length(); b.extract(h.a); transition accept; }", None),
        ("state start { b.extract(h.a); transition select(b.length()) { 60: accept; default: t; } }
          state t { b.extract(h.t); transition accept; }", None),
    ] {
        assert_eq!(with_parser(parser), bytes, "{parser}");
    }
}

/// Programs that depend on the payload are refused, since their results would be wrong.
#[test]
fn programs_that_depend_on_the_payload_are_refused() {
    let data = "{ h.a.a, h.a.c }, h.a.b, HashAlgorithm.csum16";
    let checks = |verify: bool| {
        let statement = if verify {
            format!("apply {{ verify_checksum_with_payload(true, {data}); }}")
        } else {
            format!("apply {{ update_checksum_with_payload(true, {data}); }}")
        };
        let ingress = format!("apply {{ {FORWARD} h.a.c = (bit<8>) s.checksum_error; }}");
        let program = V1model {
            declarations: HEADERS,
            parser: PARSER,
            ingress: &ingress,
            ..V1model::default()
        };
        match verify {
            true => V1model { verify: &statement, ..program }.text(),
            false => V1model { compute: &statement, ..program }.text(),
        }
    };
    let egress = |statements: &str| {
        let (ingress, egress) =
            (format!("apply {{ {FORWARD} }}"), format!("apply {{ {statements} }}"));
        V1model {
            declarations: HEADERS,
            parser: PARSER,
            ingress: &ingress,
            egress: &egress,
            ..V1model::default()
        }
        .text()
    };
    let deeper = "state start { b.extract(h.a); transition select(s.instance_type) { 4: t; 2: t; default: accept; } }
        state t { b.extract(h.t); transition accept; }";
    let again = |statement: &str| {
        let (ingress, egress) = (
            format!(
                "apply {{ {FORWARD} if (s.instance_type == 4) {{ h.a.setValid(); h.a.c = h.t.v[7:0]; }} }}"
            ),
            format!("apply {{ if (h.a.a == 0) {{ {statement} h.a.setInvalid(); }} }}"),
        );
        V1model {
            declarations: HEADERS,
            parser: deeper,
            ingress: &ingress,
            egress: &egress,
            ..V1model::default()
        }
        .text()
    };
    let length = "state start { m.m = (bit<16>) b.length(); b.extract(h.a); transition accept; }";
    let body = format!("apply {{ {FORWARD} h.a.b = m.m; }}");
    for (why, text) in [
        ("checksum", checks(true)),
        ("checksum", checks(false)),
        ("truncated", ingress("truncate(20);")),
        ("truncated", egress("truncate(20);")),
        ("clone", ingress("clone(CloneType.I2E, 5);")),
        ("clone", egress("if (s.instance_type == 0) { clone(CloneType.E2E, 5); }")),
        ("recirculated", again("recirculate_preserving_field_list(0);")),
        (
            "length",
            V1model { declarations: HEADERS, parser: length, ingress: &body, ..V1model::default() }
                .text(),
        ),
    ] {
        assert_eq!(head(&text), None, "{why}: {text}");
        let switch = || {
            let switch = Switch::new(compile(&text)).expect("a program that can be run");
            let replicas = vec![Replica { port: 3, instance: 1 }];
            let session =
                CloneSession { replicas, packet_length: Some(30), ..CloneSession::default() };
            switch.set_clone_session(5, Some(session));
            switch
        };
        // The parsers read four bytes of a received packet, and eight bytes of a copy.
        let mut packet: Vec<u8> = (0..100).collect();
        let summed = [&packet[..1], &packet[3..]].concat();
        packet[1..3].copy_from_slice(&internet_checksum(&summed).to_be_bytes());
        let packets = [(1, &packet[..])];
        let expected = switch().process(1, &packet, Duration::ZERO).expect("no fault");
        let expected: Vec<_> = expected.into_iter().map(|one| (one.port, one.packet)).collect();
        let mut batch = Batch::default();
        let apart = Apart::new(&packets, 8, 0);
        switch().process_heads(apart.as_heads(), Duration::ZERO, &mut batch);
        let behind = &packet[apart.heads[0].1.len()..];
        let found: Vec<_> =
            batch.sent().map(|(_, port, head)| (port, [head, behind].concat())).collect();
        assert_ne!(expected, found, "{why} may as well be accepted: {text}");
    }
    // Programs that read the depth of a queue are refused.
    assert_eq!(head(&egress("h.a.c = (bit<8>) s.deq_qdepth;")), None);
    assert_eq!(head(&ingress("h.a.c = (bit<8>) s.enq_qdepth;")), None);
}

/// Lengths, random numbers and state are those of the whole packets.
#[test]
fn lengths_and_counters_are_those_of_the_whole_packets() {
    let declarations = "header A { bit<8> a; bit<16> b; bit<8> c; bit<8> d; }
        struct H { A a; } struct M { bit<16> m; }";
    let ingress = "counter<bit<32>>(256, CounterType.packets_and_bytes) counted;
        direct_counter(CounterType.packets_and_bytes) hits;
        meter<bit<32>>(4, MeterType.bytes) metered;
        direct_meter<bit<8>>(MeterType.bytes) rated;
        register<bit<32>, bit<32>>(4) lengths;
        action known() { rated.read(h.a.d); }
        action counts() { hits.count(); }
        action nothing() { }
        table other { key = { h.a.a: exact; } actions = { counts; nothing; } default_action = nothing();
            counters = hits; const entries = { 1: counts(); 2: counts(); } }
        table some { key = { h.a.a: exact; } actions = { known; nothing; } default_action = nothing();
            meters = rated; const entries = { 1: known(); 2: known(); } }
        apply {
            s.egress_spec = (bit<9>) h.a.a & 7;
            if (h.a.a == 9) { mark_to_drop(s); }
            if (h.a.a == 10) { s.mcast_grp = 4; }
            if (h.a.a == 11 && s.instance_type == 0) { resubmit_preserving_field_list(0); }
            if (s.parser_error == error.PacketTooShort) { s.egress_spec = 4; }
            counted.count((bit<32>) h.a.a);
            bit<8> color = 0;
            metered.execute_meter((bit<32>) h.a.a & 3, color);
            bit<32> sum;
            lengths.read(sum, (bit<32>) h.a.a & 3);
            sum = sum + s.packet_length;
            lengths.write((bit<32>) h.a.a & 3, sum);
            h.a.b = sum[15:0];
            other.apply(); some.apply();
            random(m.m, 16w0, 16w1000);
            h.a.c = m.m[7:0] ^ color;
            if (h.a.a == 12) { digest<bit<16>>(1, h.a.b); }
        }";
    let egress =
        "apply { h.a.a = s.packet_length[7:0]; if (s.egress_rid == 2) { h.a.setInvalid(); } }";
    let parser = "state start { b.extract(h.a); transition accept; }";
    let program = V1model { declarations, parser, ingress, egress, ..V1model::default() };
    let program = compile(&program.text());
    let mut both = Both::new(&program);
    assert_eq!(both.compiled.head_bytes(), Some(5));
    let set_up = |switch: &mut Switch| {
        let replicas = [(1, 1), (2, 2), (3, 3)].map(|(port, instance)| Replica { port, instance });
        switch.set_multicast_group(4, replicas.to_vec());
        let config = MeterConfig::TwoRate {
            committed_rate: 9000,
            committed_burst: 900,
            peak_rate: 20_000,
            peak_burst: 1800,
        };
        let meter = switch.extern_named("I.metered").expect("a meter");
        for index in 0..4 {
            switch.configure_meter(meter, index, Some(config), Duration::ZERO).expect("an element");
        }
        let (table, meter) = (switch.table_named("some"), switch.extern_named("I.rated"));
        let (table, meter) = (table.expect("a table"), meter.expect("a meter"));
        switch
            .configure_direct_meters(table, meter, Some(config), Duration::ZERO)
            .expect("a meter");
    };
    both.each(set_up);
    // This interpreter also gets packets without the payload.
    let mut apart = Switch::new(program.clone()).expect("a program that can be run");
    let mut whole = Switch::new(program).expect("a program that can be run");
    [&mut apart, &mut whole].into_iter().for_each(set_up);
    let packet = |number: usize| -> Vec<u8> {
        let length = [60, 1514, 3, 5, 4, 700, 0][(number / 14 + number) % 7];
        (0..length).map(|at| if at == 0 { number % 14 } else { number + at } as u8).collect()
    };
    for round in 0..30 {
        let packets: Vec<_> = (0..97).map(|number| (1, packet(number * 5 + round))).collect();
        assert!(both.batch(&packets) > 20);
        let borrowed: Vec<_> = packets.iter().map(|(port, one)| (*port, &one[..])).collect();
        let (mut one, mut other) = (Batch::default(), Batch::default());
        let now = both.now();
        whole.process_batch(&borrowed, now, &mut one);
        let heads = Apart::new(&borrowed, 5, round as u64);
        apart.process_heads(heads.as_heads(), now, &mut other);
        let found = other.sent().map(|(from, port, head)| {
            (from, port, [head, &borrowed[from].1[heads.heads[from].1.len()..]].concat())
        });
        let expected = one.sent().map(|(from, port, packet)| (from, port, packet.to_vec()));
        assert!(expected.eq(found));
    }
    assert!(both.digests() > 10);
    assert_eq!(apart.take_digests(), whole.take_digests());
    for [one, other] in [[&both.interpreted, &both.compiled], [&whole, &apart]] {
        let id = |name: &str| one.extern_named(name).expect("it is there");
        for index in 0..14 {
            let values =
                [one, other].map(|switch| switch.counter(id("I.counted"), index).expect("one"));
            assert_eq!(values[0], values[1], "{index}");
            assert!(values[0].bytes > 0);
        }
        for index in 0..4 {
            let values =
                [one, other].map(|switch| switch.register(id("I.lengths"), index).expect("one"));
            assert_eq!(values[0], values[1], "{index}");
        }
        let table = one.table_named("other").expect("a table");
        for (handle, _) in one.entries(table).expect("entries") {
            let values = [one, other]
                .map(|switch| switch.direct_counter(table, handle, id("I.hits")).expect("one"));
            assert_eq!(values[0], values[1]);
            assert!(values[0].bytes > 0);
        }
    }
}
