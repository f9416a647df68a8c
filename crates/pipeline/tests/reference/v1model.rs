//! Tests of v1model: the paths of packets through simple_switch, and its externs.

use super::support::{CRC16_CCITT, V1model, add_exact, bits, load, outputs, outputs_at, packet};
use pipeline::{CloneSession, CounterValue, Event, MeterConfig, Replica, RunError, Switch, Value};
use std::time::Duration;

const HEADERS: &str = "header R { bit<8> a; bit<8> b; bit<8> c; } struct H { R r; }
    struct M { @field_list(1) bit<8> kept; bit<8> lost; @field_list(2, 3) bit<8> other; }";
const PARSER: &str = "state start { b.extract(h.r); transition accept; }";

fn program(ingress: &str, egress: &str) -> Switch {
    V1model { declarations: HEADERS, parser: PARSER, ingress, egress, ..V1model::default() }.load()
}

fn replica(port: u32, instance: u16) -> Replica {
    Replica { port, instance }
}

fn session(port: u32) -> Option<CloneSession> {
    Some(CloneSession { replicas: vec![replica(port, 0)], ..CloneSession::default() })
}

#[test]
fn a_packet_leaves_through_its_port_or_is_dropped() {
    let ingress =
        "apply { if (h.r.a == 0) { mark_to_drop(s); } else { s.egress_spec = (bit<9>)h.r.a; } }";
    let mut switch = program(ingress, "");
    assert_eq!(outputs(&mut switch, 1, &[7, 0, 0]), [(7, vec![7, 0, 0])]);
    assert_eq!(outputs(&mut switch, 1, &[0, 0, 0]), []);
    let egress =
        "apply { if (s.egress_port == 7) { mark_to_drop(s); } h.r.b = (bit<8>)s.egress_port; }";
    let mut switch = program(ingress, egress);
    assert_eq!(outputs(&mut switch, 1, &[7, 0, 0]), []);
    assert_eq!(outputs(&mut switch, 1, &[8, 0, 0]), [(8, vec![8, 8, 0])]);
}

#[test]
fn mark_to_drop_cancels_multicast_and_a_port_cancels_it() {
    let mut switch = program("apply { s.mcast_grp = 1; mark_to_drop(s); }", "");
    switch.set_multicast_group(1, vec![replica(1, 0)]);
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), []);
    let mut switch = program("apply { mark_to_drop(s); s.egress_spec = 4; }", "");
    assert_eq!(outputs(&mut switch, 0, &[0; 3]).len(), 1);
}

#[test]
fn mark_to_drop_needs_no_argument() {
    let mut switch = V1model {
        declarations: &format!(
            "{HEADERS} control Inner(inout H h, inout standard_metadata_t t) {{ apply {{ if (h.r.a == 1) {{ mark_to_drop(); }} }} }}"
        ),
        parser: PARSER,
        ingress: "Inner() i; apply { s.egress_spec = 2; i.apply(h, s); }",
        ..V1model::default()
    }
    .load();
    assert_eq!(outputs(&mut switch, 0, &[1, 0, 0]), []);
    assert_eq!(outputs(&mut switch, 0, &[2, 0, 0]).len(), 1);
}

#[test]
fn multicast_makes_a_copy_per_replica() {
    let egress = "apply { h.r.b = (bit<8>)s.egress_rid; h.r.c = (bit<8>)s.instance_type; }";
    let mut switch = program("apply { s.mcast_grp = 1; s.egress_spec = 9; }", egress);
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), [], "no such group");
    switch.set_multicast_group(1, vec![replica(2, 5), replica(3, 5), replica(2, 6)]);
    let expected = [(2, vec![0, 5, 5]), (3, vec![0, 5, 5]), (2, vec![0, 6, 5])];
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), expected);
}

#[test]
fn a_clone_of_ingress_is_the_packet_as_received() {
    let ingress = "apply { h.r.a = 9; m.kept = 1; m.lost = 2; m.other = 3; s.egress_spec = 1;
        clone_preserving_field_list(CloneType.I2E, 100, 1); }";
    let egress = "apply { if (s.instance_type == 1) { h.r.b = m.kept * 16 + m.lost; h.r.c = m.other * 16 + (bit<8>)s.ingress_port; } }";
    let mut switch = program(ingress, egress);
    assert_eq!(outputs(&mut switch, 4, &[0; 4]).len(), 1, "no such session");
    switch.set_clone_session(100, session(5));
    let expected = [(5, vec![0, 0x10, 0, 0]), (1, vec![9, 0, 0, 0])];
    assert_eq!(outputs(&mut switch, 4, &[0; 4]), expected);

    // The last clone counts, and the clone is kept although the packet is dropped.
    let ingress =
        "apply { clone(CloneType.I2E, 100); clone(CloneType.I2E, 101); mark_to_drop(s); }";
    let mut switch = program(ingress, "");
    switch.set_clone_session(100, session(5));
    switch.set_clone_session(101, session(6));
    assert_eq!(outputs(&mut switch, 4, &[1, 2, 3]), [(6, vec![1, 2, 3])]);
}

#[test]
fn field_lists_may_be_named() {
    let mut switch = V1model {
        declarations: "const bit<8> LIST = 4; header R { bit<8> a; } struct H { R r; }
            struct Inner { @field_list(LIST) bit<8> x; bit<8> y; } struct M { Inner inner; @field_list(8w2, LIST) bit<8> z; }",
        parser: PARSER,
        ingress: "apply { if (s.instance_type == 0) { m.inner = { 1, 2 }; m.z = 4; resubmit_preserving_field_list(LIST); }
            h.r.a = m.inner.x + m.inner.y + m.z; }",
        ..V1model::default()
    }
    .load();
    assert_eq!(packet(&mut switch, 0, &[0]), [5]);
}

#[test]
fn the_data_of_the_older_functions_is_kept() {
    let ingress = "apply { s.egress_spec = 1; if (s.instance_type == 0) { m.kept = 1; m.lost = 2; resubmit({ m.lost, s.ingress_port }); }
        h.r.a = m.kept; h.r.b = m.lost; h.r.c = (bit<8>)s.ingress_port; }";
    let mut switch = program(ingress, "");
    assert_eq!(outputs(&mut switch, 9, &[0; 3]), [(1, vec![0, 2, 9])]);
    let egress =
        "apply { if (s.instance_type == 0) { m.kept = 5; recirculate(m); } h.r.a = m.kept; }";
    let mut switch = program(
        "apply { s.egress_spec = 1; h.r.b = m.kept; if (s.instance_type == 4) { m.lost = 1; } }",
        egress,
    );
    let error =
        switch.process(0, &[0; 3], Duration::ZERO).expect_err("instance type 0 in egress again");
    assert!(matches!(error, RunError::PassLimit(_)));
    let mut switch = program(
        "apply { clone3(CloneType.I2E, 1, { m.kept }); m.kept = 4; m.lost = 4; mark_to_drop(s); }",
        "apply { h.r.a = m.kept; h.r.b = m.lost; }",
    );
    switch.set_clone_session(1, session(2));
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), [(2, vec![4, 0, 0])]);
}

#[test]
fn a_clone_of_egress_goes_through_egress_again() {
    let egress = "apply { h.r.a = h.r.a + 1; m.kept = 7; h.r.b = (bit<8>)s.instance_type; h.r.c = m.lost;
        m.lost = 9; if (s.instance_type == 0) { clone_preserving_field_list(CloneType.E2E, 1, 1); } }";
    let mut switch = program("apply { s.egress_spec = 1; }", egress);
    switch.set_clone_session(1, session(5));
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), [(1, vec![1, 0, 0]), (5, vec![2, 2, 0])]);
}

#[test]
fn a_clone_can_go_to_a_multicast_group() {
    let mut switch = program("apply { clone(CloneType.I2E, 1); mark_to_drop(s); }", "");
    switch.set_multicast_group(7, vec![replica(2, 1), replica(3, 1)]);
    let config = CloneSession { multicast_group: Some(7), ..CloneSession::default() };
    switch.set_clone_session(1, Some(config));
    let ports: Vec<u32> = outputs(&mut switch, 0, &[0; 3]).iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [2, 3]);
}

#[test]
fn resubmitted_packets_start_again_as_received() {
    let ingress = "apply { h.r.a = h.r.a + 1; if (m.kept < 3) { m.kept = m.kept + 1; m.lost = 1;
        resubmit_preserving_field_list(1); } h.r.b = m.kept; h.r.c = m.lost + (bit<8>)s.instance_type * 16; s.egress_spec = 1; }";
    let mut switch = program(ingress, "");
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), [(1, vec![1, 3, 0x60])]);
}

#[test]
fn recirculated_packets_arrive_as_they_left() {
    let egress = "apply { h.r.a = h.r.a + 1; if (m.kept < 3) { m.kept = m.kept + 1; recirculate_preserving_field_list(1); }
        h.r.b = (bit<8>)s.packet_length; }";
    let mut switch =
        program("apply { h.r.c = (bit<8>)s.instance_type; s.egress_spec = 1; }", egress);
    assert_eq!(outputs(&mut switch, 0, &[0; 3]), [(1, vec![4, 3, 4])]);
}

#[test]
fn endless_resubmission_is_an_error() {
    let mut switch = program("apply { resubmit_preserving_field_list(1); }", "");
    let error = switch.process(0, &[0; 3], Duration::ZERO).expect_err("endless");
    assert!(matches!(error, RunError::PassLimit(_)));
}

/// Thousands of copies wait at a time. Taking one of them must not visit the others.
#[test]
fn the_cost_of_a_group_is_proportional_to_its_size() {
    let mut switch = program("apply { s.mcast_grp = 1; }", "");
    switch.set_multicast_group(1, (0..8_000).map(|port| replica(port, 1)).collect());
    let outputs = outputs(&mut switch, 0, &[0; 3]);
    assert!(outputs.iter().map(|(port, _)| *port).eq(0..8_000));
}

/// The packet becomes ten copies, and each copy becomes ten again, four times in all. A copy must
/// be dequeued as fast among many waiting copies as among few.
#[test]
fn the_cost_of_copies_of_copies_is_proportional_to_their_number() {
    let egress =
        "apply { if (m.kept < 3) { m.kept = m.kept + 1; recirculate_preserving_field_list(1); } }";
    let mut switch = program("apply { s.mcast_grp = 1; }", egress);
    switch.set_multicast_group(1, (0..10).map(|port| replica(port, 1)).collect());
    let outputs = outputs(&mut switch, 0, &[0; 60]);
    assert!(outputs.iter().map(|(port, _)| *port).eq((0..10).cycle().take(10_000)));
}

#[test]
fn truncation_does_not_change_the_packet_length_field() {
    let egress = "apply { truncate(4); h.r.b = (bit<8>)s.packet_length; }";
    let mut switch =
        program("apply { s.egress_spec = 1; h.r.setInvalid(); h.r.setValid(); }", egress);
    assert_eq!(outputs(&mut switch, 0, &[1, 2, 3, 4, 5, 6]), [(1, vec![0, 6, 0, 4])]);
    let egress = "apply { h.r.setValid(); h.r.b = (bit<8>)s.packet_length; }";
    let mut switch = program("apply { s.egress_spec = 1; h.r.setInvalid(); }", egress);
    assert_eq!(packet(&mut switch, 0, &[1, 2, 3, 4, 5, 6])[1], 3, "without the header");
}

#[test]
fn truncation_at_ingress_is_kept_and_the_smallest_length_counts() {
    let both = |ingress: &str, egress: &str| {
        let ingress = format!("apply {{ s.egress_spec = 1; {ingress} }}");
        let mut switch = program(&ingress, &format!("apply {{ {egress} }}"));
        outputs(&mut switch, 0, &[1, 2, 3, 4, 5, 6])[0].1.len()
    };
    assert_eq!(both("truncate(4);", ""), 4);
    assert_eq!(both("truncate(4);", "truncate(5);"), 4);
    assert_eq!(both("truncate(5);", "truncate(4);"), 4);
    assert_eq!(both("truncate(9);", ""), 6);
}

#[test]
fn times_are_microseconds() {
    let ingress = "apply { s.egress_spec = 1; h.r.a = s.ingress_global_timestamp[7:0]; }";
    let egress =
        "apply { h.r.b = s.egress_global_timestamp[15:8]; h.r.c = (bit<8>)s.deq_timedelta; }";
    let mut switch = program(ingress, egress);
    let now = Duration::from_micros(0x1234) + Duration::from_nanos(999);
    assert_eq!(outputs_at(&mut switch, 0, &[0; 3], now), [(1, vec![0x34, 0x12, 0])]);
}

#[test]
fn ipv4_checksums_are_verified_and_updated() {
    let mut switch = V1model {
        declarations: "header Ip { bit<64> x; bit<8> ttl; bit<8> p; bit<16> sum; bit<64> addresses; }
            struct H { Ip ip; } struct M {}",
        parser: "state start { b.extract(h.ip); transition accept; }",
        verify: "apply { verify_checksum(h.ip.isValid(), { h.ip.x, h.ip.ttl, h.ip.p, h.ip.addresses }, h.ip.sum, HashAlgorithm.csum16); }",
        ingress: "apply { s.egress_spec = (bit<9>)s.checksum_error + 1; h.ip.ttl = h.ip.ttl - 1; }",
        compute: "apply { update_checksum(h.ip.isValid(), { h.ip.x, h.ip.ttl, h.ip.p, h.ip.addresses }, h.ip.sum, HashAlgorithm.csum16); }",
        ..V1model::default()
    }
    .load();
    // The checksum of this header is known to be b861.
    let header = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];
    let left = outputs(&mut switch, 0, &header);
    assert_eq!(left[0].0, 1);
    assert_eq!(left[0].1[8..12], [0x3f, 0x11, 0xb9, 0x61]);
    assert_eq!(pipeline::internet_checksum(&left[0].1), 0);
    let mut wrong = header;
    wrong[11] = 0;
    assert_eq!(outputs(&mut switch, 0, &wrong)[0].0, 2);
    assert_eq!(outputs(&mut switch, 0, &header[..7])[0].0, 1, "without header nothing is verified");
}

#[test]
fn checksums_may_cover_the_payload() {
    let mut switch = V1model {
        declarations: "header U { bit<16> a; bit<16> sum; } struct H { U u; } struct M {}",
        parser: "state start { b.extract(h.u); transition accept; }",
        verify: "apply { verify_checksum_with_payload(true, { h.u.a }, h.u.sum, HashAlgorithm.csum16); }",
        ingress: "apply { s.egress_spec = (bit<9>)s.checksum_error + 1; }",
        compute: "apply { update_checksum_with_payload(true, { h.u.a }, h.u.sum, HashAlgorithm.csum16); }",
        ..V1model::default()
    }
    .load();
    let left = outputs(&mut switch, 0, &[1, 2, 0, 0, 9, 8, 7]);
    assert_eq!(left[0].0, 2);
    assert_eq!(pipeline::internet_checksum(&left[0].1), 0);
    assert_eq!(outputs(&mut switch, 0, &left[0].1)[0].0, 1);
}

#[test]
fn each_algorithm_hashes_the_valid_fields() {
    let fields: String = (1..=9).map(|i| format!("bit<8> d{i}; ")).collect();
    let list = (1..=9).map(|i| format!("h.n.d{i}")).collect::<Vec<_>>().join(", ");
    let declarations = format!(
        "header N {{ {fields} }} header Out {{ bit<32> v; }} struct H {{ N n; N no; Out o; }} struct M {{}}"
    );
    let run = |algorithm: &str, base: &str, data: &str, max: &str| {
        let ingress = format!(
            "apply {{ h.o.setValid(); hash(h.o.v, HashAlgorithm.{algorithm}, {base}, {data}, {max}); h.n.setInvalid(); }}"
        );
        let mut switch = V1model {
            declarations: &declarations,
            parser: "state start { b.extract(h.n); transition accept; }",
            ingress: &ingress,
            ..V1model::default()
        }
        .load();
        packet(&mut switch, 0, b"123456789")
    };
    let all = format!("{{ {list} }}");
    let most = "33w0x100000000";
    assert_eq!(run("crc16", "33w0", &all, most), [0, 0, 0xbb, 0x3d]);
    assert_eq!(run("crc32", "33w0", &all, most), [0xcb, 0xf4, 0x39, 0x26]);
    assert_eq!(run("crc16", "32w10", &all, "32w100"), [0, 0, 0, 10 + (0xbb3d_u32 % 100) as u8]);
    assert_eq!(run("crc16", "32w10", &all, "32w0"), [0, 0, 0, 10]);
    assert_eq!(run("identity", "33w0", "{ h.n.d1, h.n.d2 }", most), [0, 0, 0x31, 0x32]);
    // The fields of an invalid header are left out.
    assert_eq!(run("identity", "33w0", "{ h.n.d1, h.no.d1, h.n.d2 }", most), [0, 0, 0x31, 0x32]);
    assert_eq!(run("xor16", "33w0", "{ h.n.d1, h.n.d2, h.n.d3 }", most), [0, 0, 0x31 ^ 0x33, 0x32]);
    assert_eq!(run("crc32_custom", "33w0", &all, most), [0xcb, 0xf4, 0x39, 0x26]);
}

#[test]
fn custom_crcs_can_be_changed() {
    let ingress = "apply { bit<16> v; hash(v, HashAlgorithm.crc16_custom, 16w0, { h.r }, 32w65536); h.r.a = v[15:8]; h.r.b = v[7:0]; }";
    let mut switch = program(ingress, "");
    switch.set_crc16(CRC16_CCITT);
    let expected = CRC16_CCITT.checksum(&[1, 2, 3]);
    let left = packet(&mut switch, 0, &[1, 2, 3]);
    assert_eq!(u64::from(left[0]) << 8 | u64::from(left[1]), expected);
}

#[test]
fn registers_keep_values_between_packets() {
    let ingress = "register<bit<8>, bit<32>>(4) r;
        apply { bit<8> v = 77; r.read(v, (bit<32>)h.r.a); h.r.b = v; r.write((bit<32>)h.r.a, v + h.r.c); }";
    let mut switch = program(ingress, "");
    let mut read = |index, add| packet(&mut switch, 0, &[index, 0, add])[1];
    assert_eq!([read(1, 5), read(1, 1), read(2, 0), read(1, 0)], [0, 5, 0, 6]);
    assert_eq!(read(4, 1), 77, "beyond the array the result is left alone");
    let id = switch.extern_named("r").expect("register");
    assert_eq!(switch.register(id, 1).map(|value| value.to_string()), Ok("0x6".to_owned()));
    switch.set_register(id, 3, &bits(9)).expect("fits");
    assert_eq!(packet(&mut switch, 0, &[3, 0, 0])[1], 9);
    assert!(switch.set_register(id, 4, &bits(1)).is_err());
    assert!(switch.set_register(id, 0, &bits(256)).is_err());
    switch.reset_register(id).expect("register");
    assert_eq!(packet(&mut switch, 0, &[3, 0, 0])[1], 0);
}

#[test]
fn counters_count_packets_and_bytes() {
    let ingress = "counter<bit<8>>(3, CounterType.packets_and_bytes) c; apply { c.count(h.r.a); }";
    let mut switch = program(ingress, "");
    for bytes in [&[1, 0, 0][..], &[1, 0, 0, 0], &[2, 0, 0], &[3, 0, 0]] {
        packet(&mut switch, 0, bytes);
    }
    let id = switch.extern_named("c").expect("counter");
    assert_eq!(switch.counter(id, 1), Ok(CounterValue { packets: 2, bytes: 7 }));
    assert_eq!(switch.counter(id, 2), Ok(CounterValue { packets: 1, bytes: 3 }));
    assert!(switch.counter(id, 3).is_err());
    switch.set_counter(id, 1, CounterValue::default()).expect("counter");
    assert_eq!(switch.counter(id, 1), Ok(CounterValue::default()));
}

#[test]
fn meters_colour_packets() {
    let ingress = "meter<bit<8>>(2, MeterType.packets) meters; apply { bit<8> color = 9; meters.execute_meter(h.r.a, color); h.r.b = color; }";
    let mut switch = program(ingress, "");
    let id = switch.extern_named("meters").expect("meter");
    assert_eq!(packet(&mut switch, 0, &[0, 0, 0])[1], 0, "green without configuration");
    let config = MeterConfig::TwoRate {
        committed_rate: 10,
        committed_burst: 1,
        peak_rate: 10,
        peak_burst: 2,
    };
    switch.configure_meter(id, 0, Some(config), Duration::ZERO).expect("meter");
    let mut color = |milliseconds| {
        outputs_at(&mut switch, 0, &[0, 0, 0], Duration::from_millis(milliseconds))[0].1[1]
    };
    assert_eq!([color(0), color(0), color(0), color(100), color(100)], [0, 1, 2, 0, 2]);
    assert_eq!(packet(&mut switch, 0, &[2, 0, 0])[1], 9, "beyond the array");
    assert_eq!(switch.meter_config(id, 0), Ok(Some(config)));
}

#[test]
fn direct_meters_run_once_per_hit() {
    let ingress = "direct_meter<bit<8>>(MeterType.bytes) meters;
        action read() { meters.read(h.r.b); meters.read(h.r.c); }
        table t { key = { h.r.a: exact; } actions = { read; } default_action = read(); meters = meters; }
        apply { t.apply(); }";
    let mut switch = program(ingress, "");
    add_exact(&mut switch, "t", 1, "read", &[]);
    let table = switch.table_named("t").expect("table");
    let meter = switch.extern_named("meters").expect("meter");
    let handle = switch.entries(table).expect("table").next().expect("entry").0;
    let config = MeterConfig::SingleRate { committed_rate: 1, committed_burst: 3, excess_burst: 3 };
    switch
        .configure_direct_meter(table, handle, meter, Some(config), Duration::ZERO)
        .expect("meter");
    let mut colors = || packet(&mut switch, 0, &[1, 9, 9])[1..].to_vec();
    assert_eq!([colors(), colors(), colors()], [[0, 0], [1, 1], [2, 2]]);
    assert_eq!(packet(&mut switch, 0, &[2, 9, 9]), [2, 9, 9], "a miss has no meter");
}

#[test]
fn random_numbers_follow_the_seed() {
    let ingress = "apply { random(h.r.a, 8w10, 8w20); random(h.r.b, 8w5, 8w5); }";
    let run = || {
        let mut switch = program(ingress, "");
        (0..50).map(|_| packet(&mut switch, 0, &[0; 3])).collect::<Vec<_>>()
    };
    let numbers = run();
    assert_eq!(numbers, run());
    assert!(numbers.iter().all(|left| (10..=20).contains(&left[0]) && left[1] == 5));
    assert!(numbers.iter().any(|left| left[0] != numbers[0][0]));
}

#[test]
fn digests_carry_values() {
    let mut switch = program("apply { digest(2, { h.r.a, s.ingress_port }); }", "");
    packet(&mut switch, 3, &[7, 8, 9]);
    let digests = switch.take_digests();
    assert_eq!(digests.len(), 1);
    assert_eq!(digests[0].receiver, Some(2));
    assert_eq!(digests[0].value.to_string(), "{0x7, 0x3}");
    assert!(switch.take_digests().is_empty());

    let mut switch = program("apply { digest<R>(1, h.r); }", "");
    packet(&mut switch, 3, &[7, 8, 9]);
    let digests = switch.take_digests();
    assert_eq!(digests[0].value.to_string(), "{0x7, 0x8, 0x9}");
    let name = switch.program().types.composite(digests[0].type_id).map(|ty| ty.name.clone());
    assert_eq!(name.as_deref(), Some("R"));
}

#[test]
fn a_failed_assertion_names_its_place() {
    let mut switch = load(
        "#include <v1model.p4>\nheader R { bit<8> a; } struct H { R r; } struct M {}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) { state start { b.extract(h.r); transition accept; } }
control V(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        assert(h.r.a != 1);
        assume(h.r.a != 2);
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out b, in H h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;",
    );
    assert_eq!(packet(&mut switch, 0, &[0]), [0]);
    let failed = |switch: &mut Switch, byte| {
        switch.process(0, &[byte], Duration::ZERO).expect_err("fails").to_string()
    };
    assert!(failed(&mut switch, 1).starts_with("test.p4:7:"), "{}", failed(&mut switch, 1));
    assert!(failed(&mut switch, 2).ends_with("assume failed"));
    assert_eq!(packet(&mut switch, 0, &[0]), [0], "the switch goes on");
}

#[test]
fn the_trace_lists_events_in_order() {
    let ingress = "action set(bit<9> port) { s.egress_spec = port; log_msg(\"to {}\", { port }); }
        table t { key = { h.r.a: exact; } actions = { set; NoAction; } }
        apply { t.apply(); h.r.b = 5; }";
    let mut switch = program(ingress, "");
    add_exact(&mut switch, "t", 1, "set", &[4]);
    let mut trace: Vec<Event> = Vec::new();
    switch.process_traced(2, &[1, 0, 0, 9], Duration::ZERO, &mut trace).expect("processed");
    // The debug form of an event begins with its kind.
    let kind = |event: &Event| {
        let text = format!("{event:?}");
        text.split([' ', '{']).next().unwrap_or_default().to_owned()
    };
    let kinds: Vec<String> = trace.iter().map(kind).collect();
    let expected = "Pass Block State Extract Block Block Table Hit Action Assign Extern Log ActionEnd \
                    Assign Further Pass Block Block Block Emit Output";
    assert_eq!(kinds.join(" "), expected);
    let Some(Event::Output { port, packet }) = trace.last() else { panic!("an output") };
    assert_eq!((*port, packet.as_slice()), (4, &[1, 5, 0, 9][..]));
    let mut missed: Vec<Event> = Vec::new();
    switch.process_traced(2, &[9, 0, 0], Duration::ZERO, &mut missed).expect("processed");
    assert!(missed.iter().any(|event| matches!(event, Event::Miss { .. })));
    let no_action = switch.program().actions.iter().position(|action| action.name == "NoAction");
    let ran = missed.iter().find_map(|event| match event {
        Event::Action { action, .. } => Some(action.index()),
        _ => None,
    });
    assert_eq!(ran, no_action);
}

#[test]
fn reset_restores_the_initial_state() {
    let ingress = "register<bit<8>, bit<32>>(4) r; action set(bit<8> v) { h.r.b = v; }
        table t { key = { h.r.a: exact; } actions = { set; } } apply { t.apply(); r.write(0, 1); }";
    let mut switch = program(ingress, "");
    add_exact(&mut switch, "t", 1, "set", &[4]);
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0]), [1, 4, 0]);
    switch.reset().expect("loads as before");
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0]), [1, 0, 0]);
    let id = switch.extern_named("r").expect("register");
    assert_eq!(switch.register(id, 0), Ok(Value::Bits(ir::bits::Bits::unsigned(8, 1))));
}
