//! Tests of programs of PSA. Packets go through ingress and egress in bursts, and others between
//! them are cloned, replicated to groups, resubmitted or recirculated.

use crate::both::{Both, compile, entries, masked_packet};
use ir::bits::Bits;
use pipeline::{CloneSession, Core, EntryAction, FieldMatch, Replica, Switch, TableEntry};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// The parts in which the programs differ.
#[derive(Clone, Copy)]
struct Parts {
    /// The type of the metadata that the ingress deparser returns for normal packets, and its
    /// assignment.
    normal: (&'static str, &'static str),
    ingress_deparser: &'static str,
    /// The instances of externs in the egress control.
    egress_instances: &'static str,
    egress: &'static str,
    egress_deparser: &'static str,
}

const PLAIN: Parts = Parts {
    normal: ("Bridged", "n.x = m.kind; n.y = h.k.value;"),
    ingress_deparser: "p.emit(h.front); p.emit(h.k); p.emit(h.t);",
    egress_instances: "",
    egress: "",
    egress_deparser: "p.emit(h.k); p.emit(h.t); p.emit(h.last);",
};

fn program(parts: Parts) -> String {
    let Parts { normal: (normal, sets), ingress_deparser, .. } = parts;
    let Parts { egress_instances, egress, egress_deparser, .. } = parts;
    let egress_sees = if normal == "Bridged" { "m.port = n.x; h.k.more[15:0] = n.y;" } else { "" };
    format!(
        "#include <core.p4>
        #include <bmv2/psa.p4>
        header K {{ bit<8> kind; bit<8> key; bit<16> value; bit<32> more; }} header T {{ bit<8> tag; }}
        struct H {{ T front; K k; T t; T last; }} struct M {{ bit<8> port; bit<8> kind; bit<64> seen; }}
        struct Bridged {{ bit<8> x; bit<16> y; }} struct Again {{ bit<8> z; }} struct Cloned {{ bit<16> c; }}
        struct None {{ }}
        parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in Again s, in None r) {{
            state start {{ p.extract(h.k); m.kind = s.z + (i.packet_path == PSA_PacketPath_t.RESUBMIT ? 8w7 : 0);
                transition select(h.k.kind[7:7]) {{ 1: tag; default: accept; }} }}
            state tag {{ p.extract(h.t); transition select(h.t.tag) {{ 0xee: reject; default: accept; }} }} }}
        control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {{
            Register<bit<32>, bit<8>>(16) kept;
            Counter<bit<32>, bit<8>>(16, PSA_CounterType_t.PACKETS_AND_BYTES) seen;
            action forward(PortId_t port, bit<16> add) {{ send_to_port(o, port); h.k.value = h.k.value + add; }}
            action exchange(@__ref bit<32> value) {{ bit<32> old = value; value = h.k.more; h.k.more = old; }}
            action group(MulticastGroup_t to) {{ multicast(o, to); }}
            action drop() {{ ingress_drop(o); }}
            table flows {{ key = {{ h.k.key: exact; }} actions = {{ forward; group; drop; }}
                default_action = forward((PortId_t)(PortIdUint_t)1, 3); }}
            @tableconfig(impl = \"dpdk\", synced = true)
            table values {{ key = {{ h.k.value: exact; }} actions = {{ exchange; NoAction; }} default_action = NoAction(); }}
            table prefixes {{ key = {{ h.k.more: lpm; }} actions = {{ drop; NoAction; }} default_action = NoAction(); }}
            apply {{
                m.kind = m.kind + h.k.kind;
                m.seen = (bit<64>)(TimestampUint_t)i.ingress_timestamp;
                flows.apply();
                values.apply();
                if (h.k.kind[6:6] == 1) {{ prefixes.apply(); }}
                bit<32> before = kept.read(h.k.key & 15);
                kept.write(h.k.key & 15, before + h.k.more);
                seen.count(h.k.kind & 15);
                if (h.k.kind[3:0] == 1) {{ o.clone = true; o.clone_session_id = (CloneSessionId_t)7; }}
                if (h.k.kind[3:0] == 2 && i.packet_path == PSA_PacketPath_t.NORMAL) {{ o.resubmit = true; }}
                if (h.k.kind[3:0] == 3) {{ h.t.setInvalid(); h.front.setValid(); h.front.tag = (bit<8>)(PortIdUint_t)i.ingress_port; }}
                if (h.k.kind[3:0] == 4) {{ h.t = h.front; h.k.value = (bit<16>)before[7:0]; }}
                if (h.k.kind[3:0] == 5 && i.packet_path == PSA_PacketPath_t.NORMAL) {{ send_to_port(o, PSA_PORT_RECIRCULATE); }}
                if (h.k.kind[3:0] == 6) {{ o.class_of_service = (ClassOfService_t)3; exit; }}
                if (i.parser_error != error.NoError) {{ h.k.setValid(); h.k.kind = 0x10; h.k.key = 7; }}
            }} }}
        control ID(packet_out p, out Cloned c, out Again s, out {normal} n, inout H h, in M m,
            in psa_ingress_output_metadata_t o) {{
            apply {{ {ingress_deparser} {sets} c.c = h.k.value; s.z = h.k.key; }} }}
        parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in {normal} n, in Cloned c, in None e) {{
            state start {{ p.extract(h.k); {egress_sees} m.kind = (bit<8>)c.c;
                transition select(h.k.kind[7:7], p.lookahead<bit<8>>()) {{ (1, 0 .. 200): tag; (1, _): both; default: accept; }} }}
            state both {{ p.extract(h.t); transition tag_again; }}
            state tag_again {{ p.extract(h.last); transition accept; }}
            state tag {{ p.extract(h.t); transition accept; }} }}
        control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {{
            Counter<bit<32>, bit<8>>(16, PSA_CounterType_t.BYTES) left; {egress_instances}
            action mark(bit<8> by) {{ h.k.kind = h.k.kind + by; }}
            action gone() {{ egress_drop(o); }}
            table out_ {{ key = {{ h.k.key: exact; m.port: exact; }} actions = {{ mark; gone; NoAction; }} default_action = mark(1); }}
            apply {{
                out_.apply();
                left.count(h.k.key & 15);
                h.k.more[31:24] = m.kind;
                h.k.value = h.k.value + (bit<16>)(EgressInstanceUint_t)i.instance + (bit<16>)(ClassOfServiceUint_t)i.class_of_service;
                if (i.parser_error != error.NoError) {{ h.last.setValid(); h.last.tag = 0x55; }}
                if (h.k.kind == 0x25 && i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST) {{ o.clone = true; o.clone_session_id = (CloneSessionId_t)8; }}
                if (h.k.kind == 0x2f) {{ h.t.setInvalid(); }}
                if (h.k.kind == 0x13) {{ m.seen = (bit<64>)(TimestampUint_t)i.egress_timestamp; h.k.more = m.seen[31:0]; }}
                {egress}
            }} }}
        control ED(packet_out p, out None c, out None r, inout H h, in M m, in psa_egress_output_metadata_t o,
            in psa_egress_deparser_input_metadata_t i) {{ apply {{ {egress_deparser} }} }}
        PSA_Switch(IngressPipeline(IP(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
            BufferingQueueingEngine()) main;"
    )
}

fn set_up(switch: &mut Switch) {
    let replica = |port, instance| Replica { port, instance };
    switch.set_multicast_group(1, vec![replica(3, 1), replica(4, 2), replica(3, 9)]);
    for (session, port, packet_length) in [(7, 20, Some(9)), (8, 21, None)] {
        let replicas = vec![replica(port, 5)];
        let session_of = CloneSession { replicas, packet_length, ..CloneSession::default() };
        switch.set_clone_session(session, Some(session_of));
    }
}

/// Adds an entry to a table, or removes one.
fn change(core: &Core, random: [u32; 4], now: Duration) {
    let [table, key, action, adds] = random;
    let exact = |width, number: u32| FieldMatch::Exact(Bits::unsigned(width, number.into()));
    let number = |width: u32, number: u32| Bits::unsigned(width, number.into());
    let (table, matches, actions): (_, _, [(&str, Vec<Bits>); 3]) = match table {
        0 => (
            "flows",
            vec![exact(8, key)],
            [
                ("forward", vec![number(32, key % 9), number(16, key)]),
                ("group", vec![number(32, 1)]),
                ("drop", vec![]),
            ],
        ),
        1 => (
            "values",
            vec![exact(16, key)],
            [
                ("exchange", vec![number(32, key)]),
                ("exchange", vec![number(32, 9)]),
                ("NoAction", vec![]),
            ],
        ),
        2 => {
            let value = Bits::unsigned(32, u128::from(key) << 26);
            let one = FieldMatch::Lpm { value, prefix_length: 6 };
            ("prefixes", vec![one], [("drop", vec![]), ("NoAction", vec![]), ("NoAction", vec![])])
        }
        _ => (
            "out_",
            vec![exact(8, key), exact(8, key & 3)],
            [("mark", vec![number(8, key)]), ("gone", vec![]), ("NoAction", vec![])],
        ),
    };
    let id = core.table_named(table).expect("a table");
    if adds > 0 {
        let (action, data) = &actions[action as usize % 3];
        let action = core.action_named(id, action).expect("an action");
        let action = EntryAction::Action(core.action_call(action, data).expect("data"));
        let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
        let _ = core.add_entry(id, entry, now);
    } else {
        let _ = core.delete_entry(id, &matches, 0);
    }
}

fn packet(random: &mut ChaCha8Rng) -> (u32, Vec<u8>) {
    let mut packet = masked_packet(random, &[(1, 0x3f), (2, 0), (3, 0x3f)]);
    // Most packets request nothing.
    if let Some(kind) = packet.first_mut().filter(|_| random.random_range(0..3) > 0) {
        *kind = *kind & 0xf0 | 8;
    }
    (random.random_range(0..4), packet)
}

fn compare(parts: Parts, follows: bool, seed: u64, in_bursts: Option<&str>) {
    let mut both = Both::following(&compile(&program(parts)), follows);
    assert_eq!(both.one_by_one(), in_bursts, "follows: {follows}");
    both.each(set_up);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut left = 0;
    for round in 0..80 {
        for _ in 0..random.random_range(0..8) {
            let [table, key, action, adds] = [4, 64, 3, 3].map(|most| random.random_range(0..most));
            let now = both.now();
            both.each(|switch| change(switch, [table, key, action, adds], now));
        }
        let packets: Vec<(u32, Vec<u8>)> =
            (0..random.random_range(1..80)).map(|_| packet(&mut random)).collect();
        if round % 4 == 0 {
            for (port, packet) in &packets {
                left += both.packet(*port, packet).map_or(0, |outputs| outputs.len());
            }
        } else {
            left += both.batch(&packets);
        }
        both.digests();
        for table in ["flows", "values", "prefixes", "out_"] {
            assert_eq!(
                entries(&both.interpreted, table),
                entries(&both.compiled, table),
                "{table}"
            );
        }
        both.share(round % 3 == 1);
    }
    same_arrays(&both);
    assert!(left > 1500, "{left} packets left");
}

/// Checks that both switches have the same counter values.
fn same_arrays(both: &Both) {
    for name in ["seen", "left"] {
        let cells = |switch: &Switch| {
            let id = switch.extern_named(name).expect("an array");
            (0..16).map(|index| switch.counter(id, index).expect("a cell")).collect::<Vec<_>>()
        };
        assert_eq!(cells(&both.interpreted), cells(&both.compiled), "{name}");
    }
}

#[test]
fn unicast_packets_go_in_bursts() {
    for (follows, seed) in [(false, 1), (true, 2)] {
        compare(PLAIN, follows, seed, None);
    }
}

/// On psa_switch, metadata of one type are carried from block to block. By the specification, they
/// are carried only where the program says so.
#[test]
fn egress_gets_the_metadata_of_ingress_if_the_switch_carries_them() {
    let parts = Parts { normal: ("M", "n.port = h.k.key;"), ..PLAIN };
    for (follows, seed) in [(false, 3), (true, 4)] {
        compare(parts, follows, seed, None);
    }
    let twice = Parts { normal: ("Again", "n.z = 3;"), ..PLAIN };
    compare(twice, false, 5, None);
    compare(
        twice,
        true,
        6,
        Some(
            "the ingress deparser has two metadata parameters of one type, or metadata with headers",
        ),
    );
}

/// The ingress deparser has an assertion, so it runs even for packets that ingress drops.
#[test]
fn deparsers_may_have_more_statements_than_emit() {
    let parts = Parts {
        ingress_deparser: "assert(h.k.value != 5); if (m.kind[4:4] == 1) { h.k.more = 7; } p.emit(h.k); p.emit(h.t);",
        egress: "if (h.k.key == 9) { h.k = { 1, 2, 3, 4 }; }",
        egress_deparser: "h.k.value = h.k.value + (bit<16>)(PortIdUint_t)i.egress_port; p.emit(h.k); p.emit(h.last);",
        ..PLAIN
    };
    for (follows, seed) in [(false, 7), (true, 8)] {
        compare(parts, follows, seed, None);
    }
}

/// Half of the packets have no tag, and those with a parser error have no key. Fields of the
/// headers that are then invalid are part of the data.
#[test]
fn whole_headers_are_hashed_whether_or_not_they_are_valid() {
    let parts = Parts {
        egress_instances: "InternetChecksum() sum; Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc;
            Hash<bit<32>>(PSA_HashAlgorithm_t.IDENTITY) same;",
        egress: "sum.clear(); sum.add(h.k); sum.subtract({ h.t, h.last }); bit<16> v = sum.get();
            v = v ^ crc.get_hash({ h.t, h.k.value }); v = v + same.get_hash({ h.last, h.t })[15:0];
            h.t.setInvalid(); h.k.value = v ^ crc.get_hash(h.t);",
        ..PLAIN
    };
    for (follows, seed) in [(false, 9), (true, 10)] {
        compare(parts, follows, seed, None);
    }
}
