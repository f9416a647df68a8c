//! Tests of the behaviour of BMv2 where P4 and v1model.p4 leave it open. Each test names the place
//! in p4lang/behavioral-model that its bytes follow from.

use super::support::{V1model, bits, call, entry, exact, outputs, outputs_at, packet};
use pipeline::{CloneSession, FieldMatch, Replica, Switch};
use std::time::Duration;

const HEADERS: &str = "header R { bit<8> a; bit<8> b; bit<8> c; } struct H { R r; }
    struct M { @field_list(1) bit<8> kept; bit<8> lost; }
    struct Message { bit<8> x; }";
const PARSER: &str = "state start { b.extract(h.r); transition accept; }";

fn program(ingress: &str, egress: &str) -> Switch {
    V1model { declarations: HEADERS, parser: PARSER, ingress, egress, ..V1model::default() }.load()
}

fn to_port(port: u32) -> CloneSession {
    let replicas = vec![Replica { port, instance: 0 }];
    CloneSession { replicas, ..CloneSession::default() }
}

/// `simple_switch.cpp`: `receive_` sets the time. Resubmission and recirculation reset metadata.
#[test]
fn the_time_of_arrival_is_set_for_new_packets_only() {
    let at = |switch: &mut Switch| {
        outputs_at(switch, 0, &[0, 0, 0], Duration::from_micros(7)).remove(0).1
    };
    let again = "apply {
        h.r.b = h.r.b + (bit<8>)s.ingress_global_timestamp; h.r.c = (bit<8>)s.instance_type;
        if (s.instance_type == 0) { resubmit_preserving_field_list(0); } }";
    assert_eq!(at(&mut program(again, "")), [0, 0, 6]);
    let ingress = "apply {
        h.r.b = h.r.b + (bit<8>)s.ingress_global_timestamp; h.r.c = (bit<8>)s.instance_type; }";
    let egress = "apply { if (h.r.c == 0) { recirculate_preserving_field_list(0); } }";
    assert_eq!(at(&mut program(ingress, egress)), [0, 7, 4]);
}

/// `simple_switch.cpp`: `clone_mirror_session_id &= MIRROR_SESSION_ID_MASK`, and the mask is
/// 0x7fff.
#[test]
fn a_session_is_fifteen_bits() {
    let mut switch = program("apply { s.egress_spec = 1; clone(CloneType.I2E, 32w0x18005); }", "");
    switch.set_clone_session(5, Some(to_port(9)));
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), [(9, vec![0; 3]), (1, vec![0; 3])]);
}

/// `simple_switch.cpp`, `enqueue`: priorities are below `nb_queues_per_port`, which is 1 by
/// default.
#[test]
fn a_priority_without_a_queue_drops() {
    let mut switch = program("apply { s.egress_spec = 1; s.priority = (bit<3>)h.r.a; }", "");
    assert_eq!(outputs(&mut switch, 0, &[0; 3]).len(), 1);
    assert_eq!(outputs(&mut switch, 0, &[1, 0, 0]), []);
    switch.set_priority_queues(8);
    assert_eq!(outputs(&mut switch, 0, &[7, 0, 0]).len(), 1);
    // The number of queues is a setting of the switch, as its drop port is.
    switch.reset().expect("loads as before");
    assert_eq!(outputs(&mut switch, 0, &[7, 0, 0]).len(), 1);
}

/// `simple_switch.h`: priority 0 is the lowest. Each queue of a port has its own depth.
#[test]
fn the_highest_priority_leaves_first() {
    let ingress = "apply { s.egress_spec = 1; s.priority = 2; clone(CloneType.I2E, 5); }";
    let egress = "apply { h.r.b = (bit<8>)s.enq_qdepth; h.r.c = (bit<8>)s.instance_type; }";
    let mut switch = program(ingress, egress);
    switch.set_priority_queues(3);
    // The metadata of the clone are initially zero, so that it waits in queue 0.
    switch.set_clone_session(5, Some(to_port(1)));
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), [(1, vec![0, 0, 0]), (1, vec![0, 0, 1])]);
    let mut switch = program("apply { s.mcast_grp = 1; }", egress);
    let copies = (0..3).map(|instance| Replica { port: 1, instance }).collect();
    switch.set_multicast_group(1, copies);
    let depths: Vec<u8> =
        outputs(&mut switch, 0, &[0; 3]).into_iter().map(|(_, packet)| packet[1]).collect();
    assert_eq!(depths, [0, 1, 2]);
}

/// `packet.cpp`: the recirculated copy has the whole buffer, without the truncated length.
#[test]
fn recirculated_packets_are_not_truncated() {
    let egress = "apply {
        if (s.instance_type == 0 && h.r.a == 0) { h.r.a = 1; truncate(2);
            recirculate_preserving_field_list(0); } }";
    let mut switch = program("apply { h.r.c = (bit<8>)s.packet_length; }", egress);
    assert_eq!(packet(&mut switch, 0, &[0, 5, 5, 5, 5]), [1, 5, 5, 5, 5]);
}

/// `simple_switch.cpp`: after ingress, `learn_id` is that of the last call, and the learning engine
/// then samples the packet (`learning.cpp`).
#[test]
fn one_digest_leaves_with_the_values_at_the_end_of_ingress() {
    let ingress = "apply {
        digest<Message>(1, { h.r.a }); digest<Message>(2, { h.r.b }); h.r.b = 9; }";
    let mut switch = program(ingress, "apply { digest<Message>(3, { h.r.a }); }");
    outputs(&mut switch, 0, &[1, 2, 3]);
    let digests = switch.take_digests();
    let seen: Vec<(Option<u64>, String)> =
        digests.iter().map(|digest| (digest.receiver, digest.value.to_string())).collect();
    assert_eq!(seen, [(Some(2), "{0x9}".to_owned())]);
}

/// `lookup_structures.cpp`, `EntryList::lookup`: in a ternary table the first entry with the best
/// priority wins, regardless of its prefix.
#[test]
fn prefixes_do_not_count_beside_priorities() {
    let mut switch = program(
        "action set(bit<8> value) { h.r.c = value; }
        table t { key = { h.r.a: lpm; h.r.b: ternary; } actions = { set; } }
        apply { t.apply(); }",
        "",
    );
    let id = switch.table_named("t").expect("table");
    for (length, value) in [(4, 1), (8, 2)] {
        let matches =
            vec![FieldMatch::Lpm { value: bits(0x10), prefix_length: length }, FieldMatch::Any];
        let action = call(&switch, "t", "set", &[value]);
        switch.add_entry(id, entry(matches, 5, action), Duration::ZERO).expect("entry");
    }
    assert_eq!(packet(&mut switch, 0, &[0x10, 0, 0]), [0x10, 0, 1]);
}

/// `match_units.cpp`, `MatchKeyBuilder`: a field of an invalid header is zero, and then masked.
#[test]
fn parts_of_fields_of_invalid_headers_match_as_zero() {
    let mut switch = program(
        "action set() { h.r.setValid(); h.r.c = 7; }
        table t { key = { h.r.a & 0xf0: exact @name(\"mask\"); h.r.b[3:0]: exact @name(\"slice\"); }
            actions = { set; NoAction; } const default_action = NoAction();
            const entries = { (0, 0) : set(); } }
        apply { h.r.setInvalid(); t.apply(); }",
        "",
    );
    assert_eq!(packet(&mut switch, 0, &[0x12, 0x34, 0x56]), [0, 0, 7]);
}

/// `checksums.cpp`, `verify_`: both values are compared as 64-bit numbers.
#[test]
fn a_checksum_wider_than_its_field_is_never_right() {
    let mut switch = V1model {
        declarations: "header R { bit<16> sum; bit<8> data; bit<8> wrong; } struct H { R r; } struct M {}",
        parser: PARSER,
        verify: "apply { verify_checksum(true, { h.r.data }, h.r.sum, HashAlgorithm.crc32); }",
        ingress: "apply { h.r.wrong = (bit<8>)s.checksum_error; }",
        ..V1model::default()
    }
    .load();
    let crc = pipeline::CrcParameters::CRC32.checksum(&[5]) as u16;
    let [high, low] = crc.to_be_bytes();
    assert_eq!(packet(&mut switch, 0, &[high, low, 5, 0])[3], 1);
}

/// p4c's `backends/bmv2/common/control.h`: a table of size 0 has the default size.
#[test]
fn a_size_of_zero_means_the_default_size() {
    let mut switch = program(
        "action set(bit<8> value) { h.r.c = value; }
        table t { key = { h.r.a: exact; } actions = { set; } size = 0; }
        apply { t.apply(); }",
        "",
    );
    let id = switch.table_named("t").expect("table");
    for key in 0..3 {
        let action = call(&switch, "t", "set", &[key + 1]);
        switch.add_entry(id, entry(vec![exact(key)], 0, action), Duration::ZERO).expect("entry");
    }
    assert_eq!(packet(&mut switch, 0, &[2, 0, 0]), [2, 0, 3]);
}

/// Runs a case of `targets/simple_switch/tests/test_packet_redirect.cpp`, with two headers of two
/// bytes. Ingress removes the second header, and egress writes the length that it sees to the
/// second byte.
fn redirected(ingress: &str, egress: &str, session: bool) -> Vec<(u32, Vec<u8>)> {
    let mut switch = V1model {
        declarations: "header A { bit<8> f1; bit<8> f2; } struct H { A a; A b; }
            struct M { @field_list(1) bit<8> f1; bit<8> f2; }",
        parser: "state start { b.extract(h.a); b.extract(h.b); transition accept; }",
        ingress: &format!("apply {{ {ingress} }}"),
        egress: &format!("apply {{ {egress} h.a.f2 = (bit<8>)s.packet_length; }}"),
        ..V1model::default()
    }
    .load();
    switch.set_multicast_group(
        1,
        [1, 4].map(|port| Replica { port, instance: port as u16 }).to_vec(),
    );
    if session {
        let config = CloneSession { multicast_group: Some(1), ..to_port(3) };
        switch.set_clone_session(1, Some(config));
    }
    let mut left = outputs(&mut switch, 1, &[1, 0, 0, 0, 9, 9]);
    left.sort();
    left.into_iter().map(|(port, packet)| (port, packet[1..].to_vec())).collect()
}

#[test]
fn egress_sees_the_length_that_ingress_left() {
    let to_2 = "s.egress_spec = 2; h.b.setInvalid();";
    assert_eq!(redirected(to_2, "", false), [(2, vec![4, 9, 9])]);
    let multicast = "s.mcast_grp = 1; h.b.setInvalid();";
    assert_eq!(redirected(multicast, "", false), [(1, vec![4, 9, 9]), (4, vec![4, 9, 9])]);
    // A clone of ingress is the packet as it was received.
    let clone = format!("{to_2} clone(CloneType.I2E, 1);");
    let whole = vec![6, 0, 0, 9, 9];
    let expected = [(1, whole.clone()), (2, vec![4, 9, 9]), (3, whole.clone()), (4, whole)];
    assert_eq!(redirected(&clone, "", true), expected);
    let clone = "if (s.instance_type == 0 && h.a.f2 == 0) { clone(CloneType.E2E, 1); }";
    let left = redirected(to_2, clone, true);
    assert_eq!(left.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(left.iter().all(|(_, packet)| *packet == [4, 9, 9]), "{left:?}");
}

#[test]
fn resubmitted_and_recirculated_packets_keep_the_fields_of_the_list() {
    let ingress = "if (m.f1 == 0) { s.egress_spec = 2; } else { s.egress_spec = 3; }
        m.f1 = 1; m.f2 = 1; h.b.setInvalid();";
    let resubmit = format!(
        "bit<8> lost = m.f2; {ingress} if (s.instance_type == 0) {{ resubmit_preserving_field_list(1); }}
        h.a.f1 = lost;"
    );
    assert_eq!(redirected(&resubmit, "", false), [(3, vec![4, 9, 9])]);
    let recirculate = "if (s.egress_port == 2) { recirculate_preserving_field_list(1); }";
    // The packet is recirculated with two bytes less, which are those of the second header.
    assert_eq!(redirected(ingress, recirculate, false), [(3, vec![2])]);
    let exit = "h.a.f2 = 5; exit; s.egress_spec = 7;";
    assert_eq!(redirected(exit, "", false), [(0, vec![6, 0, 0, 9, 9])]);
}
