//! Tests of packets in bursts: machine code looks tables up by itself, headers become valid and
//! invalid, and packets that need more than a burst offers come between the others.

use crate::both::{Both, V1model};
use ir::bits::Bits;
use pipeline::{CloneSession, EntryAction, FieldMatch, Replica, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// The widths of keys and data are such that a bucket holds seven entries, a few, or one.
const TABLES: &str = "
    action exchange(@__ref bit<32> value) {
        bit<32> old = value; value = h.k.value; h.k.value = old; }
    action add(bit<64> step, @__ref bit<64> sum) { sum = sum + step; h.k.value = (bit<32>) sum; }
    action see(bit<64> one, bit<64> two, bit<64> three, bit<32> four) {
        h.k.value = (bit<32>) (one + two + three) + four; }
    action nothing() { h.k.value = h.k.value + 1; }
    table narrow { key = { h.k.a: exact; } actions = { exchange; nothing; } default_action = nothing(); }
    table word { key = { h.k.a: exact; h.k.b: exact; } actions = { add; nothing; }
        default_action = nothing(); }
    table long { key = { h.k.b: exact; h.k.c: exact; h.k.a: exact; } actions = { see; nothing; }
        default_action = nothing(); }
    apply { s.egress_spec = 1; narrow.apply(); word.apply(); long.apply(); }";

const NAMES: [(&str, &[u32], &str, usize); 3] = [
    ("narrow", &[32], "exchange", 1),
    ("word", &[32, 32], "add", 2),
    ("long", &[32, 64, 32], "see", 4),
];

#[test]
fn full_buckets_and_deleted_entries_have_the_results_of_the_interpreter() {
    let program = V1model {
        declarations: "header K { bit<32> a; bit<32> b; bit<64> c; bit<32> value; }
            struct H { K k; } struct M { }",
        parser: "state start { b.extract(h.k); transition accept; }",
        ingress: TABLES,
        ..V1model::default()
    };
    let mut both = program.both();
    assert_eq!(both.one_by_one(), None);
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let mut there = 0;
    for round in 0..120 {
        for _ in 0..12 {
            let (table, widths, action, count) = NAMES[random.random_range(0..NAMES.len())];
            // All fields of a key are the same number, so that packets often hit an entry.
            let number: u128 = random.random_range(0..400);
            let matches: Vec<FieldMatch> = widths
                .iter()
                .map(|width| FieldMatch::Exact(Bits::unsigned(*width, number)))
                .collect();
            let arguments: Vec<Bits> =
                (0..count).map(|_| Bits::unsigned(128, random.random_range(0..1000))).collect();
            let adds = random.random_range(0..3) > 0;
            let mut outcomes = Vec::new();
            for switch in [&mut both.interpreted, &mut both.compiled] {
                let id = switch.table_named(table).expect("a table");
                let call = switch.action_named(id, action).expect("an action");
                let action =
                    EntryAction::Action(switch.action_call(call, &arguments).expect("data"));
                let entry = TableEntry {
                    matches: matches.clone(),
                    priority: 0,
                    action,
                    idle_timeout: None,
                };
                outcomes.push(if adds {
                    switch.add_entry(id, entry, Duration::ZERO).is_ok()
                } else {
                    switch.delete_entry(id, &matches, 0).is_ok()
                });
            }
            assert_eq!(outcomes[0], outcomes[1], "{table}, {number}");
            there += usize::from(outcomes[0] && adds);
        }
        let packets: Vec<(u32, Vec<u8>)> = (0..40)
            .map(|_| {
                let number: u32 = random.random_range(0..400);
                let mut packet = Vec::new();
                packet.extend(number.to_be_bytes());
                packet.extend(number.to_be_bytes());
                packet.extend(u64::from(number).to_be_bytes());
                packet.extend(random.random::<u32>().to_be_bytes());
                packet.extend(vec![7; random.random_range(0..90)]);
                (0, packet)
            })
            .collect();
        assert_eq!(both.batch(&packets), 40, "round {round}");
    }
    assert!(there > 400, "{there} entries");
}

/// Returns packets of port 3 with random bytes, shorter than `longest`. The first byte of two
/// packets in three is changed by a function.
fn packets(
    random: &mut ChaCha8Rng,
    longest: usize,
    first: impl Fn(u8) -> u8,
) -> Vec<(u32, Vec<u8>)> {
    let mut packet = || {
        let length = random.random_range(0..longest);
        let mut packet: Vec<u8> = (0..length).map(|_| random.random()).collect();
        if let Some(byte) = packet.first_mut().filter(|_| random.random_range(0..3) > 0) {
            *byte = first(*byte);
        }
        (3, packet)
    };
    (0..50).map(|_| packet()).collect()
}

const HEADERS: &str = "header T { bit<8> kind; bit<16> number; } header U { bit<40> tag; }
    struct H { U tag; T outer; U mark; T inner; U last; }
    struct M { T kept; bit<8> kind; }";

const CHANGES: &str = "
    apply {
        s.egress_spec = 2;
        m.kept = h.outer;
        if (h.outer.kind & 1 == 1) { h.tag.setValid(); h.tag.tag = 0x0102030405; }
        if (h.outer.kind & 2 == 2) { h.outer.setInvalid(); }
        if (h.outer.kind & 4 == 4) { h.inner = h.outer; h.inner.number = h.inner.number + 1; }
        if (h.mark.isValid() && h.mark.tag[3:0] == 1) { h.last = h.mark; h.mark.setInvalid(); }
        if (h.outer.kind & 8 == 8) { s.mcast_grp = 1; h.outer.number = 0xeeee; }
        if (h.outer.kind & 16 == 16) { truncate((bit<32>) 12); }
        if (h.outer.kind & 0xe0 == 0xe0) { mark_to_drop(s); }
        h.inner.number = h.inner.number + 3;
        m.kind = m.kept.kind;
    }";

#[test]
fn headers_change_their_validity_between_multicast_packets() {
    let program = V1model {
        declarations: HEADERS,
        parser: "state start { b.extract(h.outer);
                transition select(h.outer.kind[7:6]) { 1: mark; 2: inner; default: accept; } }
            state mark { b.extract(h.mark); transition select(h.mark.tag[7:0]) { 0: accept; default: inner; } }
            state inner { b.extract(h.inner); transition accept; }",
        ingress: CHANGES,
        egress: "apply {
            if (s.egress_rid == 3) { h.last.setValid(); h.last.tag = (bit<40>) s.packet_length; }
            if (m.kind == 0x43) { mark_to_drop(s); } }",
        deparser: "apply { b.emit(h.tag); b.emit(h.outer); b.emit(h.mark); b.emit(h.inner); b.emit(h.last); }",
        ..V1model::default()
    };
    let mut both = program.both();
    assert_eq!(both.one_by_one(), None);
    let replicas = [(1, 0), (5, 3), (1, 4)];
    both.each(|switch| {
        let replicas: Vec<Replica> = replicas
            .iter()
            .map(|(port, instance)| Replica { port: *port, instance: *instance })
            .collect();
        switch.set_multicast_group(1, replicas);
    });
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let mut left = 0;
    for _ in 0..60 {
        left += both.batch(&packets(&mut random, 150, |kind| kind));
    }
    assert!(left > 2500, "{left} packets left");
}

const VARBITS: &str =
    "header T { bit<4> version; bit<4> length; bit<8> kind; bit<16> sum; varbit<320> options; }
    header N { bit<16> number; }
    struct H { T outer; N middle; T inner; }
    struct M { T kept; }";

/// The data of the checksum of a header with a varbit field, and the checksum's field.
const SUMS: &str =
    "{ h.outer.version, h.outer.length, h.outer.kind, h.outer.options }, h.outer.sum,
    HashAlgorithm.csum16";

#[test]
fn headers_that_end_with_a_varbit_stay_in_bursts() {
    let program = V1model {
        declarations: VARBITS,
        parser: "state start {
                bit<8> first = b.lookahead<bit<8>>();
                b.extract(h.outer, (bit<32>) first[3:0] * 32);
                transition select(h.outer.kind[7:6]) { 0: accept; 1: middle; default: inner; } }
            state middle { b.extract(h.middle);
                transition select(h.middle.number[0:0]) { 0: inner; default: accept; } }
            state inner { b.extract(h.inner, (bit<32>) h.outer.kind[5:0] * 4); transition accept; }",
        verify: &format!("apply {{ verify_checksum(h.outer.isValid(), {SUMS}); }}"),
        ingress: "apply {
            s.egress_spec = 1 + (bit<9>) s.checksum_error;
            if (s.parser_error != error.NoError) { s.egress_spec = 7; }
            m.kept = h.inner;
            if (h.outer.kind & 1 == 1) { h.inner = h.outer; h.inner.sum = 1; }
            if (h.outer.kind & 2 == 2) { h.outer = m.kept; }
            if (h.outer.kind & 4 == 4) { h.middle.setInvalid(); }
            if (h.outer.kind & 12 == 12) { h.inner.setInvalid(); h.inner.setValid(); h.inner.kind = 9; }
            if (h.outer.kind & 16 == 16) { s.mcast_grp = 1; }
            if (h.outer.kind & 0x30 == 0x30) { h.outer.setInvalid(); } }",
        egress: "apply { if (s.egress_rid == 3) { h.inner = h.outer; h.middle.setValid(); }
            h.middle.number = (bit<16>) s.packet_length; }",
        compute: &format!("apply {{ update_checksum(h.outer.isValid(), {SUMS}); }}"),
        deparser: "apply { b.emit(h.outer); b.emit(h.middle); b.emit(h.inner); }",
    };
    let mut both = program.both();
    assert_eq!((both.one_by_one(), both.interpreted_steps()), (None, 0));
    both.each(|switch| {
        let replicas = [(1, 0), (5, 3)].map(|(port, instance)| Replica { port, instance });
        switch.set_multicast_group(1, replicas.to_vec());
    });
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut left = 0;
    for _ in 0..60 {
        left += both.batch(&packets(&mut random, 150, |first| first & 0x13));
    }
    assert!(left > 3000, "{left} packets left");
}

#[test]
fn stacks_that_a_loop_of_the_parser_fills_stay_in_bursts() {
    let program = V1model {
        declarations: "header S { bit<7> label; bit<1> bottom; bit<8> more; }
            struct H { S first; S[3] s; S last; } struct M { bit<8> count; S[3] kept; }",
        parser: "state start { b.extract(h.first); transition select(h.first.bottom) { 1: accept; default: label; } }
            state label { b.extract(h.s.next); transition select(h.s.last.bottom) { 1: last; default: label; } }
            state last { m.count = (bit<8>) h.s.lastIndex + 1;
                transition select(h.s.last.label[0:0] ++ h.first.label[1:0]) { 3: tail; 4: again; default: accept; } }
            state again { b.extract(h.s.next); b.extract(h.s.next); transition tail; }
            state tail { b.extract(h.last); transition accept; }",
        ingress: "apply {
            s.egress_spec = 1;
            if (s.parser_error == error.StackOutOfBounds) { s.egress_spec = 7; }
            h.first.more = h.first.more + m.count;
            m.kept = h.s;
            if (h.first.label[2:2] == 1) { h.s.pop_front(1); }
            if (h.first.label[3:3] == 1) { h.s.push_front(2); h.s[1].setValid(); h.s[1].more = 5; }
            if (h.first.label[4:4] == 1) { h.s[2] = h.s[0]; h.s[0].setInvalid(); }
            if (h.first.label[5:5] == 1) { h.s = m.kept; h.s[1].label = h.s[1].label + 1; }
            if (h.first.label[6:4] == 7) { s.mcast_grp = 1; } }",
        egress: "apply { if (s.egress_rid == 3) { h.s.pop_front(2); m.kept[0] = h.s[0]; h.last = m.kept[1]; }
            h.first.more = h.first.more + (bit<8>) s.packet_length; }",
        ..V1model::default()
    };
    let mut both = program.both();
    assert_eq!(both.one_by_one(), None);
    both.each(|switch| {
        let replicas = [(1, 0), (5, 3)].map(|(port, instance)| Replica { port, instance });
        switch.set_multicast_group(1, replicas.to_vec());
    });
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let mut left = 0;
    for _ in 0..60 {
        left += both.batch(&packets(&mut random, 24, |first| first & 0xfe));
    }
    assert!(left > 2500, "{left} packets left");
}

/// The data of a checksum that includes the payload, from two headers of which one may be invalid.
const WITH_PAYLOAD: &str = "{ h.k.a, h.l.b }, h.k.sum, HashAlgorithm";

#[test]
fn checksums_over_the_payload_stay_in_bursts() {
    let program = V1model {
        declarations: "header K { bit<8> a; bit<16> sum; } header L { bit<16> b; }
            struct H { K k; L l; } struct M { }",
        parser: "state start { b.extract(h.k); transition select(h.k.a[0:0]) { 1: more; default: accept; } }
            state more { b.extract(h.l); transition accept; }",
        verify: &format!("apply {{ verify_checksum_with_payload(h.k.isValid(), {WITH_PAYLOAD}.csum16); }}"),
        ingress: "apply {
            s.egress_spec = 1 + (bit<9>) s.checksum_error;
            if (h.k.a[1:1] == 1) { h.l.setInvalid(); }
            if (h.k.a[2:2] == 1) { h.l.setValid(); h.l.b = 0x1234; }
            if (h.k.a[4:3] == 3) { s.mcast_grp = 1; }
            if (h.k.a[6:5] == 3) { truncate((bit<32>) 9); } }",
        egress: "apply { h.l.b = h.l.b + s.egress_rid; }",
        compute: &format!(
            "apply {{ update_checksum_with_payload(h.k.a[7:7] == 1, {WITH_PAYLOAD}.csum16);
                update_checksum_with_payload(h.k.a[7:7] == 0, {WITH_PAYLOAD}.crc16); }}"
        ),
        ..V1model::default()
    };
    let mut both = program.both();
    assert_eq!((both.one_by_one(), both.interpreted_steps()), (None, 0));
    both.each(|switch| {
        let replicas = [(1, 0), (5, 3)].map(|(port, instance)| Replica { port, instance });
        switch.set_multicast_group(1, replicas.to_vec());
    });
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let mut left = 0;
    for _ in 0..40 {
        left += sent_twice(&mut both, &mut random, 90);
    }
    assert!(left > 3000, "{left} packets left");
}

/// Processes packets, and then the packets that left. Those have a correct checksum, or had one
/// before they were truncated.
fn sent_twice(both: &mut Both, random: &mut ChaCha8Rng, longest: usize) -> usize {
    let sent = packets(random, longest, |first| first);
    let left = both.batch(&sent);
    let again: Vec<(u32, Vec<u8>)> = sent
        .iter()
        .filter_map(|(port, packet)| both.packet(*port, packet).ok()?.pop())
        .map(|output| (3, output.packet))
        .collect();
    left + both.batch(&again)
}

/// The fields of two headers that a checksum covers. The program writes parts of the 16-bit words
/// that are summed.
const PARTS: &str =
    "{ h.k.a, h.k.b, h.k.c, h.k.d, h.k.e, h.k.f, h.k.g, h.k.i, h.l.x, h.l.y }, h.k.sum,
    HashAlgorithm.csum16";

#[test]
fn checksums_include_fields_that_were_written_in_part() {
    for reads in ["1", "1 + (bit<9>) s.checksum_error"] {
        let program = V1model {
            declarations: "header K { bit<8> a; bit<8> b; bit<16> c; bit<48> d; bit<16> e; bit<8> f; bit<4> g;
                    bit<4> i; bit<16> sum; }
                header L { bit<48> x; bit<16> y; }
                struct H { K k; L l; } struct M { }",
            parser: "state start { b.extract(h.k); transition select(h.k.a[0:0]) { 1: more; default: accept; } }
                state more { b.extract(h.l); transition accept; }",
            verify: &format!("apply {{ verify_checksum(h.l.isValid(), {PARTS}); }}"),
            ingress: &format!("apply {{
                s.egress_spec = {reads};
                if (h.k.a[1:1] == 1) {{ h.k.b = h.k.b + 1; }}
                if (h.k.a[2:2] == 1) {{ h.k.d = h.l.x; h.l.x = 0x010203040506; }}
                if (h.k.a[3:3] == 1) {{ h.k.f = h.k.b; h.k.i = h.k.i + 3; }}
                if (h.k.a[4:4] == 1) {{ h.k.c[7:0] = 0x5a; h.l.y = h.k.e; }}
                if (h.k.a[5:5] == 1) {{ h.l.setInvalid(); }}
                if (h.l.isValid()) {{ h.k.e = h.l.y + 1; }}
                if (!h.k.isValid() && h.l.isValid()) {{ s.egress_spec = 5; }}
                if (h.k.isValid() && !h.l.isValid()) {{ h.k.c = 9; }} }}"),
            compute: &format!("apply {{ update_checksum(h.k.isValid(), {PARTS}); }}"),
            ..V1model::default()
        };
        let mut both = program.both();
        assert_eq!((both.one_by_one(), both.interpreted_steps()), (None, 0));
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let mut left = 0;
        for _ in 0..60 {
            left += sent_twice(&mut both, &mut random, 40);
        }
        assert!(left > 3000, "{left} packets left");
    }
}

const ASKING: &str = "header K { bit<8> kind; bit<8> more; bit<16> number; bit<128> wide; }
    struct H { K k; K l; }
    struct M { @field_list(1) bit<8> kept; bit<8> lost; bit<128> wide; bit<16> told; bit<2> colour; }
    struct Told { bit<16> number; bit<8> kind; bit<128> wide; }";

/// Statements that request copies, further passes and digests, with host calls between them.
const ASKS: &str = "
    counter<bit<32>>(8, CounterType.packets_and_bytes) seen;
    register<bit<128>, bit<32>>(8) wides;
    direct_meter<bit<2>>(MeterType.packets) speed;
    action leave(bit<9> port) { s.egress_spec = port; speed.read(m.colour); m.lost[1:0] = m.colour; }
    action nothing() { s.egress_spec = 1; }
    table ports { key = { h.k.more: exact; } actions = { leave; nothing; } default_action = nothing();
        meters = speed; }
    apply {
        m.lost = m.kept;
        if (s.instance_type == 4) { m.told = 4; }
        ports.apply();
        bit<128> before;
        wides.read(before, (bit<32>) h.k.kind & 7);
        m.wide = before ^ h.k.wide;
        wides.write((bit<32>) h.k.kind & 7, h.k.wide);
        h.k.number = h.k.number + 1;
        m.kept = h.k.kind;
        m.told = h.k.number;
        if (h.k.kind[3:0] == 1) { clone_preserving_field_list(CloneType.I2E, 7, 1); }
        if (h.k.kind[3:0] == 2 && s.instance_type == 0) { resubmit_preserving_field_list(1); }
        if (h.k.kind[3:0] == 3 || h.k.kind == 0x11) {
            digest<Told>(9, { m.told, h.k.kind, m.wide }); h.k.number = 0x7777; }
        if (h.k.kind[3:0] == 4) { s.mcast_grp = 1; }
        if (h.k.kind[3:0] == 5) { truncate((bit<32>) 9); clone(CloneType.I2E, 7); }
        if (h.k.kind[3:0] == 6) { h.l.setValid(); h.l.wide = m.wide; h.l.number = h.k.number; }
        if (h.k.kind[3:0] == 7) { h.l = h.k; h.l.wide = h.k.wide + 1; }
        if (h.k.kind[3:0] == 8) { mark_to_drop(s); digest<Told>(9, { m.told, h.k.kind, m.wide }); }
        seen.count((bit<32>) h.k.kind & 7);
    }";

/// Packets that request copies, further passes or digests leave the burst, and the other packets
/// stay in it.
#[test]
fn packets_that_request_copies_or_digests_leave_the_burst_without_the_others() {
    let program = V1model {
        declarations: ASKING,
        parser: "state start { b.extract(h.k); transition select(h.k.kind[7:7]) { 1: l; default: accept; } }
            state l { b.extract(h.l); transition accept; }",
        ingress: ASKS,
        egress: "apply {
            if (h.k.kind[7:4] == 2) { clone_preserving_field_list(CloneType.E2E, 7, 1); h.k.more = 7; h.k.kind[7:4] = 0; }
            if (h.k.kind[7:4] == 3 && s.instance_type == 0) { m.kept = 3; truncate((bit<32>) 21);
                h.k.kind[7:4] = 1; recirculate_preserving_field_list(1); }
            if (h.k.kind[7:4] == 4) { mark_to_drop(s); clone(CloneType.E2E, 7); h.k.kind[7:4] = 0; }
            h.l.more = m.kept; h.k.more = (bit<8>) s.instance_type; h.k.number = (bit<16>) s.packet_length;
            m.wide = h.k.wide + 3; if (h.l.isValid()) { h.k.wide = m.wide; } }",
        ..V1model::default()
    };
    let mut both = program.both();
    assert_eq!(both.one_by_one(), None);
    assert!(both.interpreted_steps() > 4);
    both.each(|switch| {
        let replicas = [(1, 0), (5, 3)].map(|(port, instance)| Replica { port, instance });
        switch.set_multicast_group(1, replicas.to_vec());
        let session = CloneSession {
            replicas: vec![Replica { port: 6, instance: 2 }],
            ..CloneSession::default()
        };
        switch.set_clone_session(7, Some(session));
        let table = switch.table_named("ports").expect("a table");
        let out = switch.action_named(table, "leave").expect("an action");
        for more in 0..200 {
            let call = switch.action_call(out, &[Bits::unsigned(9, more % 6)]).expect("data");
            let matches = vec![FieldMatch::Exact(Bits::unsigned(8, more))];
            let action = EntryAction::Action(call);
            let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
            switch.add_entry(table, entry, Duration::ZERO).expect("an entry");
        }
    });
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let (mut left, mut told) = (0, 0);
    for round in 0..60 {
        // Most packets request nothing.
        let packets = packets(&mut random, 90, |kind| kind | 0x5a);
        if round % 3 == 0 {
            left += packets
                .iter()
                .map(|(port, packet)| both.packet(*port, packet).map_or(0, |outputs| outputs.len()))
                .sum::<usize>();
        } else {
            left += both.batch(&packets);
        }
        told += both.digests();
    }
    assert!(left > 2500 && told > 60, "{left} packets left, {told} messages");
}
