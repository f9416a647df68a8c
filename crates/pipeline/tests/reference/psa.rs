//! Tests of PSA: packet paths, the metadata of each path, and externs.

use super::support::{add_exact, exact, load, outputs, outputs_at, packet};
use ir::bits::Bits;
use pipeline::{
    CloneSession, CounterValue, EntryAction, FieldMatch, Group, MeterConfig, Replica, Switch,
    TableEntry,
};
use std::time::Duration;

/// The parts of a PSA program with one header of four bytes. Each deparser carries one byte of
/// metadata to the next pass.
#[derive(Clone, Copy, Default)]
pub(super) struct Psa<'t> {
    /// The transition of the ingress parser. If it is empty, the parser accepts.
    pub(super) transition: &'t str,
    pub(super) locals: &'t str,
    pub(super) ingress: &'t str,
    pub(super) deparser_locals: &'t str,
    pub(super) ingress_deparser: &'t str,
    pub(super) egress_locals: &'t str,
    pub(super) egress: &'t str,
    pub(super) egress_deparser: &'t str,
}

impl Psa<'_> {
    pub(super) fn load(&self) -> Switch {
        load(&format!(
            "#include <core.p4>
            #include <bmv2/psa.p4>
            header R {{ bit<8> a; bit<8> b; bit<8> c; bit<8> d; }}
            struct H {{ R r; }} struct M {{ bit<8> x; bit<8> y; bit<8> z; }} struct Note {{ bit<8> v; }}
            parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in Note resubmitted,
                in Note recirculated) {{
                state start {{ p.extract(h.r); m.x = resubmitted.v; m.y = recirculated.v; transition {} }} }}
            control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {{
                {} apply {{ {} }} }}
            control ID(packet_out p, out Note clone_meta, out Note resubmit_meta, out Note normal_meta, inout H h, in M m,
                in psa_ingress_output_metadata_t i) {{ {} apply {{ {} p.emit(h); }} }}
            parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in Note normal_meta,
                in Note i2e, in Note e2e) {{
                state start {{ p.extract(h.r); m.x = normal_meta.v; m.y = i2e.v + e2e.v; transition accept; }} }}
            control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {{
                {} apply {{ {} }} }}
            control ED(packet_out p, out Note clone_meta, out Note recirculate_meta, inout H h, in M m,
                in psa_egress_output_metadata_t i, in psa_egress_deparser_input_metadata_t d) {{ apply {{ {} p.emit(h); }} }}
            IngressPipeline(IP(), I(), ID()) ip; EgressPipeline(EP(), E(), ED()) ep;
            PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;",
            if self.transition.is_empty() { "accept;" } else { self.transition },
            self.locals,
            self.ingress,
            self.deparser_locals,
            self.ingress_deparser,
            self.egress_locals,
            self.egress,
            self.egress_deparser
        ))
    }
}

pub(super) fn session(port: u32, instance: u16) -> CloneSession {
    CloneSession { replicas: vec![Replica { port, instance }], ..CloneSession::default() }
}

#[test]
fn packets_are_dropped_unless_sent() {
    let mut switch = Psa::default().load();
    assert_eq!(outputs(&mut switch, 1, &[1, 2, 3, 4]), []);
    let ingress = "send_to_port(o, (PortId_t) 7); o.class_of_service = (ClassOfService_t) 3;";
    let deparser = "if (psa_normal(i)) { normal_meta.v = 6; }";
    let egress = "h.r.a = (bit<8>)(PortIdUint_t)i.egress_port; h.r.b = m.x; h.r.c = (bit<8>)(ClassOfServiceUint_t)i.class_of_service;
        h.r.d = i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST ? 8w1 : 0;";
    let mut switch = Psa { ingress, ingress_deparser: deparser, egress, ..Psa::default() }.load();
    assert_eq!(outputs(&mut switch, 1, &[1, 2, 3, 4, 5]), [(7, vec![7, 6, 3, 1, 5])]);
    let mut switch = Psa { ingress, egress: "egress_drop(o);", ..Psa::default() }.load();
    assert_eq!(outputs(&mut switch, 1, &[1, 2, 3, 4]), []);
}

#[test]
fn multicast_makes_a_copy_per_replica() {
    let egress = "h.r.a = (bit<8>)(EgressInstanceUint_t)i.instance; h.r.b = i.packet_path == PSA_PacketPath_t.NORMAL_MULTICAST ? 8w1 : 0;";
    let ingress = "multicast(o, (MulticastGroup_t) 5);";
    let mut switch = Psa { ingress, egress, ..Psa::default() }.load();
    let replicas = [(1, 10), (2, 20)].map(|(port, instance)| Replica { port, instance });
    switch.set_multicast_group(5, replicas.to_vec());
    assert_eq!(outputs(&mut switch, 0, &[0; 4]), [(1, vec![10, 1, 0, 0]), (2, vec![20, 1, 0, 0])]);
}

#[test]
fn clones_of_ingress_are_the_packet_as_received() {
    let ingress = "h.r.a = 9; o.clone = true; o.clone_session_id = (CloneSessionId_t) 8;";
    let deparser = "if (psa_clone_i2e(i)) { clone_meta.v = 5; }";
    let egress = "h.r.b = m.y; h.r.c = (bit<8>)(EgressInstanceUint_t)i.instance; h.r.d = i.packet_path == PSA_PacketPath_t.CLONE_I2E ? 8w1 : 0;";
    let mut switch = Psa { ingress, ingress_deparser: deparser, egress, ..Psa::default() }.load();
    switch.set_clone_session(8, Some(session(3, 4)));
    assert_eq!(outputs(&mut switch, 0, &[1, 0, 0, 0, 7]), [(3, vec![1, 5, 4, 1, 7])]);
    let truncated = CloneSession { packet_length: Some(4), ..session(3, 4) };
    switch.set_clone_session(8, Some(truncated));
    assert_eq!(outputs(&mut switch, 0, &[1, 0, 0, 0, 7]), [(3, vec![1, 5, 4, 1])]);
}

#[test]
fn clones_of_egress_are_the_packet_as_sent() {
    let egress = "if (i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST) { o.clone = true; o.clone_session_id = (CloneSessionId_t) 8; h.r.a = 9; }
        else { h.r.b = m.y; h.r.d = i.packet_path == PSA_PacketPath_t.CLONE_E2E ? 8w1 : 0; }";
    let deparser = "if (psa_clone_e2e(i)) { clone_meta.v = 5; }";
    let ingress = "send_to_port(o, (PortId_t) 2);";
    let mut switch = Psa { ingress, egress, egress_deparser: deparser, ..Psa::default() }.load();
    switch.set_clone_session(8, Some(session(3, 4)));
    assert_eq!(outputs(&mut switch, 0, &[0; 4]), [(2, vec![9, 0, 0, 0]), (3, vec![9, 5, 0, 1])]);
}

#[test]
fn resubmitted_and_recirculated_packets_bring_metadata() {
    let ingress = "h.r.a = h.r.a + 1; if (i.packet_path == PSA_PacketPath_t.NORMAL) { o.resubmit = true; o.drop = false; }
        else { send_to_port(o, (PortId_t) 2); h.r.b = m.x; h.r.c = i.packet_path == PSA_PacketPath_t.RESUBMIT ? 8w1 : 0; }";
    let deparser = "if (psa_resubmit(i)) { resubmit_meta.v = 5; }";
    let mut switch = Psa { ingress, ingress_deparser: deparser, ..Psa::default() }.load();
    assert_eq!(outputs(&mut switch, 0, &[0; 4]), [(2, vec![1, 5, 1, 0])]);

    let ingress = "h.r.a = h.r.a + 1; if (i.packet_path == PSA_PacketPath_t.NORMAL) { send_to_port(o, PSA_PORT_RECIRCULATE); }
        else { send_to_port(o, (PortId_t) 2); h.r.b = m.y; h.r.c = i.packet_path == PSA_PacketPath_t.RECIRCULATE ? 8w1 : 0;
            h.r.d = i.ingress_port == PSA_PORT_RECIRCULATE ? 8w1 : 0; }";
    let deparser = "if (psa_recirculate(i, d)) { recirculate_meta.v = 6; }";
    let mut switch = Psa { ingress, egress_deparser: deparser, ..Psa::default() }.load();
    assert_eq!(outputs(&mut switch, 0, &[0; 4]), [(2, vec![2, 6, 1, 1])]);
}

#[test]
fn parser_errors_reach_ingress() {
    let ingress = "send_to_port(o, (PortId_t) 1); if (i.parser_error == error.PacketTooShort) { h.r.setValid(); h.r.a = 1; }";
    let mut switch = Psa { ingress, ..Psa::default() }.load();
    assert_eq!(outputs(&mut switch, 0, &[7, 7]), [(1, vec![1, 0, 0, 0, 7, 7])]);
}

#[test]
fn internet_checksums_are_incremental() {
    // RFC 1624, section 4: a header checksum of dd2f becomes 0000 when 5555 becomes 3285.
    let locals = "InternetChecksum() ck;";
    let ingress = "send_to_port(o, (PortId_t) 1); ck.clear(); ck.subtract(16w0xdd2f); ck.subtract(16w0x5555); ck.add(16w0x3285);
        bit<16> sum = ck.get(); h.r.a = sum[15:8]; h.r.b = sum[7:0]; bit<16> state_ = ck.get_state(); ck.clear();
        ck.set_state(state_); ck.add({ 8w1, 8w2 }); ck.subtract(16w0x0102); sum = ck.get(); h.r.c = sum[15:8]; h.r.d = sum[7:0];";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    assert_eq!(packet(&mut switch, 0, &[9; 4]), [0, 0, 0, 0]);
    // The checksum starts again for each packet.
    let ingress = "send_to_port(o, (PortId_t) 1); ck.add(16w0x1234); bit<16> sum = ck.get(); h.r.a = sum[15:8]; h.r.b = sum[7:0];";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    let first = packet(&mut switch, 0, &[0; 4]);
    assert_eq!(first[..2], [0xed, 0xcb]);
    assert_eq!(packet(&mut switch, 0, &[0; 4]), first);
}

#[test]
fn hashes_and_checksums_cover_their_fields() {
    let locals = "Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc; Checksum<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) sum;";
    let ingress = "send_to_port(o, (PortId_t) 1); bit<16> v = crc.get_hash({ h.r.a, h.r.b }); h.r.c = v[7:0];
        v = crc.get_hash(16w100, { h.r.a, h.r.b }, 16w7); h.r.d = v[7:0];
        sum.update({ h.r.a, h.r.b }); sum.update(16w1); v = sum.get(); h.r.a = v[15:8]; h.r.b = v[7:0];";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    let crc = pipeline::CrcParameters::CRC16.checksum(&[1, 2]);
    let sum = !(0x0102_u16 + 1);
    let expected = [(sum >> 8) as u8, sum as u8, crc as u8, (100 + crc % 7) as u8].to_vec();
    assert_eq!(packet(&mut switch, 0, &[1, 2, 0, 0]), expected);
}

#[test]
fn registers_and_counters_keep_state_and_random_numbers_stay_in_range() {
    let locals = "Register<bit<8>, bit<8>>(4, 50) r; Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.PACKETS_AND_BYTES) c;
        Random<bit<8>>(3, 5) random;";
    let ingress = "send_to_port(o, (PortId_t) 1); h.r.b = r.read(h.r.a); r.write(h.r.a, h.r.b + 1); c.count(h.r.a); h.r.c = random.read();";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    assert_eq!(packet(&mut switch, 0, &[1, 0, 0, 0])[1], 50);
    let second = packet(&mut switch, 0, &[1, 0, 0, 0]);
    assert_eq!(second[1], 51);
    assert!((3..=5).contains(&second[2]));
    let id = switch.extern_named("c").expect("counter");
    assert_eq!(switch.counter(id, 1), Ok(CounterValue { packets: 2, bytes: 8 }));
}

#[test]
fn direct_counters_and_meters_run_where_the_action_calls_them() {
    let locals = "DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) c; DirectMeter(PSA_MeterType_t.PACKETS) meter_;
        action yes() { c.count(); h.r.b = meter_.execute() == PSA_MeterColor_t.GREEN ? 8w1 : 2; }
        action no() { }
        table t { key = { h.r.a: exact; } actions = { yes; no; } psa_direct_counter = c; psa_direct_meter = meter_; }";
    let ingress = "send_to_port(o, (PortId_t) 1); t.apply();";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    add_exact(&mut switch, "t", 1, "yes", &[]);
    add_exact(&mut switch, "t", 2, "no", &[]);
    let table = switch.table_named("t").expect("table");
    let (counter, meter) =
        (switch.extern_named("c").unwrap(), switch.extern_named("meter_").unwrap());
    let handles: Vec<_> = switch.entries(table).expect("table").map(|(handle, _)| handle).collect();
    let config = MeterConfig::SingleRate { committed_rate: 1, committed_burst: 1, excess_burst: 0 };
    switch
        .configure_direct_meter(table, handles[0], meter, Some(config), Duration::ZERO)
        .expect("meter");
    let mut color = |key, seconds| {
        outputs_at(&mut switch, 0, &[key, 0, 0, 0], Duration::from_secs(seconds))[0].1[1]
    };
    assert_eq!([color(1, 0), color(1, 0), color(1, 1), color(2, 1)], [1, 2, 1, 0]);
    let packets = |handle| switch.direct_counter(table, handle, counter).unwrap().packets;
    assert_eq!([packets(handles[0]), packets(handles[1])], [3, 0]);
}

#[test]
fn meters_return_colours_and_digests_carry_structs() {
    let locals = "Meter<bit<8>>(2, PSA_MeterType_t.BYTES) meter_; Digest<Note> d;";
    let locals = &locals.replace("Digest<Note> d;", "Digest<Note>() d;");
    let ingress = "send_to_port(o, (PortId_t) 1); PSA_MeterColor_t color = meter_.execute(0, PSA_MeterColor_t.YELLOW);
        h.r.b = color == PSA_MeterColor_t.YELLOW ? 8w1 : 0; h.r.c = meter_.execute(1) == PSA_MeterColor_t.GREEN ? 8w1 : 0;
        d.pack({ h.r.a });";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    assert_eq!(packet(&mut switch, 0, &[4, 0, 0, 0]), [4, 1, 1, 0]);
    let digests = switch.take_digests();
    assert_eq!(digests.len(), 1);
    assert_eq!(digests[0].instance, switch.extern_named("d").ok());
    assert_eq!(digests[0].value.to_string(), "{0x4}");
    let pattern = digests[0].value.clone();
    assert_ne!(pattern, pipeline::Value::Bits(Bits::unsigned(8, 4)), "a struct");
}

/// psa_switch keeps user metadata in one header vector (`psa_switch.cpp`). The specification leaves
/// this open.
#[test]
fn user_metadata_stay_with_a_packet_that_goes_to_egress() {
    let egress = "h.r.a = m.z;";
    let ingress = "m.z = 5; send_to_port(o, (PortId_t) 1);";
    let mut switch = Psa { ingress, egress, ..Psa::default() }.load();
    assert_eq!(packet(&mut switch, 0, &[0; 4]), [5, 0, 0, 0]);
    let ingress = "m.z = 5; o.clone = true; o.clone_session_id = (CloneSessionId_t) 8;";
    let mut switch = Psa { ingress, egress, ..Psa::default() }.load();
    switch.set_clone_session(8, Some(session(3, 4)));
    assert_eq!(packet(&mut switch, 0, &[0; 4]), [0, 0, 0, 0]);
}

/// `targets/psa_switch/externs/psa_hash.cpp`, `build_buffer`: zeros are put in front.
#[test]
fn hashes_of_partial_bytes_are_padded_in_front() {
    let locals = "Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc;";
    let ingress = "send_to_port(o, (PortId_t) 1); bit<16> v = crc.get_hash({ h.r.a, h.r.b[3:0] });
        h.r.c = v[15:8]; h.r.d = v[7:0];";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    let crc = pipeline::CrcParameters::CRC16.checksum(&[0x01, 0x23]);
    let expected = [0x12, 0x03, (crc >> 8) as u8, crc as u8];
    assert_eq!(packet(&mut switch, 0, &[0x12, 0x03, 0, 0]), expected);
}

/// Section 7.12 of the PSA specification defines the action of an empty group.
#[test]
fn an_empty_group_runs_the_action_that_the_table_names() {
    let locals = "ActionSelector(PSA_HashAlgorithm_t.CRC32, 8, 8) selector;
        action set(bit<8> v) { h.r.b = v; }
        table t { key = { h.r.a: exact; h.r.d: selector; } actions = { NoAction; set; }
            psa_implementation = selector; psa_empty_group_action = set(8w77); }";
    let ingress = "send_to_port(o, (PortId_t) 1);
        switch (t.apply().action_run) { set: { h.r.c = 1; } default: { h.r.c = 2; } }";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    assert_eq!(packet(&mut switch, 0, &[9, 0, 0, 0]), [9, 0, 2, 0], "no entry");
    let table = switch.table_named("t").expect("table");
    let selector = switch.extern_named("selector").expect("selector");
    switch.add_group(selector, 1, Group::default()).expect("group");
    let matches = vec![exact(9), FieldMatch::Any];
    let entry =
        TableEntry { matches, priority: 0, action: EntryAction::Group(1), idle_timeout: None };
    switch.add_entry(table, entry, Duration::ZERO).expect("entry");
    assert_eq!(packet(&mut switch, 0, &[9, 0, 0, 0]), [9, 77, 1, 0]);
}
