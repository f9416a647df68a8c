//! Tests of BMv2's psa_switch, where it differs from the specification of PSA.
//!
//! The expected results are derived by hand from `targets/psa_switch` of behavioral-model and
//! `backends/bmv2/psa_switch` of p4c. Each program is first run as the specification says.

use super::psa::{Psa, session};
use super::support::{add_exact, load, outputs, packet};
use pipeline::{EntryHandle, Switch};

/// Returns a switch that runs the program as psa_switch does.
fn followed(program: Psa<'_>) -> Switch {
    let mut switch = program.load();
    switch.follow_psa_switch(true);
    switch
}

/// `targets/psa_switch/externs/psa_checksum.cpp`: only the last update counts, and leading zero
/// bytes do not.
#[test]
fn only_the_last_update_of_a_checksum_counts() {
    let locals = "Checksum<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc;";
    let ingress = "send_to_port(o, (PortId_t) 1); crc.update({ h.r.a, h.r.b }); crc.update({ h.r.c, h.r.d });
        bit<32> v = crc.get(); h.r.a = v[31:24]; h.r.b = v[23:16]; h.r.c = v[15:8]; h.r.d = v[7:0];";
    let mut switch = Psa { locals, ingress, ..Psa::default() }.load();
    let crc = |data: &[u8]| (pipeline::CrcParameters::CRC32.checksum(data) as u32).to_be_bytes();
    assert_eq!(packet(&mut switch, 0, &[1, 2, 0, 4]), crc(&[1, 2, 0, 4]));
    switch.follow_psa_switch(true);
    assert_eq!(packet(&mut switch, 0, &[1, 2, 0, 4]), crc(&[4]));
}

/// `targets/psa_switch/psa_switch.cpp`: resubmission clears all metadata, including `ingress_port`.
#[test]
fn psa_switch_forgets_the_port_of_a_resubmitted_packet() {
    let ingress = "h.r.a = (bit<8>)(PortIdUint_t)i.ingress_port; send_to_port(o, (PortId_t) 2);
        o.resubmit = i.packet_path == PSA_PacketPath_t.NORMAL;";
    let mut switch = Psa { ingress, ..Psa::default() }.load();
    assert_eq!(packet(&mut switch, 5, &[9; 4])[0], 5);
    switch.follow_psa_switch(true);
    assert_eq!(packet(&mut switch, 5, &[9; 4])[0], 0);
}

/// `PsaSwitch::ingress_thread`: `continue` comes before the deparser, and `reset_metadata` before
/// resubmission.
#[test]
fn resubmitted_packets_are_not_deparsed_and_lose_their_metadata() {
    let ingress =
        "if (i.packet_path == PSA_PacketPath_t.NORMAL) { o.resubmit = true; o.drop = false; }
        else { send_to_port(o, (PortId_t) 2); h.r.a = m.x; h.r.b = runs.read(0); }";
    let program = Psa {
        locals: "Register<bit<8>, bit<8>>(1, 0) runs;",
        ingress,
        deparser_locals: "Counter<bit<8>, bit<8>>(1, PSA_CounterType_t.PACKETS) deparsed;",
        ingress_deparser: "deparsed.count(0); resubmit_meta.v = 5;",
        ..Psa::default()
    };
    let deparsed = |switch: &mut Switch| {
        let id = switch.extern_named("deparsed").expect("counter");
        switch.counter(id, 0).expect("element").packets
    };
    let mut switch = program.load();
    assert_eq!(packet(&mut switch, 0, &[9; 4])[..2], [5, 0]);
    assert_eq!(deparsed(&mut switch), 2);
    let mut switch = followed(program);
    assert_eq!(packet(&mut switch, 0, &[9; 4])[..2], [0, 0]);
    assert_eq!(deparsed(&mut switch), 1);
    let dropped = Psa { ingress: "o.drop = true;", ..program };
    let mut switch = followed(dropped);
    assert_eq!(outputs(&mut switch, 0, &[9; 4]), []);
    assert_eq!(deparsed(&mut switch), 0);
}

/// `reset_metadata` is called for recirculation and for both kinds of clones.
#[test]
fn recirculated_packets_and_clones_lose_their_metadata() {
    let recirculating = Psa {
        ingress: "if (i.packet_path == PSA_PacketPath_t.NORMAL) { send_to_port(o, PSA_PORT_RECIRCULATE); }
            else { send_to_port(o, (PortId_t) 2); h.r.a = m.y; }",
        egress_deparser: "recirculate_meta.v = 6;",
        ..Psa::default()
    };
    assert_eq!(packet(&mut recirculating.load(), 0, &[9; 4])[0], 6);
    assert_eq!(packet(&mut followed(recirculating), 0, &[9; 4])[0], 0);

    let cloning = Psa {
        ingress: "o.clone = true; o.clone_session_id = (CloneSessionId_t) 8;",
        ingress_deparser: "clone_meta.v = 7;",
        egress: "h.r.a = m.y; if (i.packet_path == PSA_PacketPath_t.CLONE_I2E) {
            o.clone = true; o.clone_session_id = (CloneSessionId_t) 9; }",
        egress_deparser: "clone_meta.v = 8;",
        ..Psa::default()
    };
    let first_bytes = |mut switch: Switch| {
        switch.set_clone_session(8, Some(session(3, 4)));
        switch.set_clone_session(9, Some(session(4, 4)));
        let outputs = outputs(&mut switch, 0, &[9; 4]);
        outputs.into_iter().map(|(port, packet)| (port, packet[0])).collect::<Vec<_>>()
    };
    assert_eq!(first_bytes(cloning.load()), [(3, 7), (4, 8)]);
    assert_eq!(first_bytes(followed(cloning)), [(3, 0), (4, 0)]);
}

/// p4c makes one set of fields for all parameters of one struct type
/// (`InspectPsaProgram::preorder`).
#[test]
fn parameters_of_one_type_are_one_variable() {
    let program = |deparser: &str| {
        load(&format!(
            "#include <core.p4>
            #include <bmv2/psa.p4>
            header R {{ bit<8> a; bit<8> b; }} struct H {{ R r; }} struct M {{ bit<8> x; bit<8> y; R inner; }} struct N {{ }}
            parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in N n, in M again) {{
                state start {{ p.extract(h.r); m.x = 1; m.inner.setValid(); m.inner.a = 8; transition accept; }} }}
            control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {{
                apply {{ m.y = 2; send_to_port(o, (PortId_t) 1); }} }}
            control ID(packet_out p, out N n, out N r, out M normal, inout H h, in M m, in psa_ingress_output_metadata_t i) {{
                apply {{ {deparser} p.emit(h); }} }}
            parser EP(packet_in p, out H h, inout N m, in psa_egress_parser_input_metadata_t i, in M normal, in N c, in N d) {{
                state start {{ p.extract(h.r); h.r.a = normal.x + (normal.inner.isValid() ? 8w100 : 0); h.r.b = normal.y;
                    transition accept; }} }}
            control E(inout H h, inout N m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {{ apply {{ }} }}
            control ED(packet_out p, out N c, out M r, inout H h, in N m, in psa_egress_output_metadata_t i,
                in psa_egress_deparser_input_metadata_t d) {{ apply {{ p.emit(h); }} }}
            IngressPipeline(IP(), I(), ID()) ip; EgressPipeline(EP(), E(), ED()) ep;
            PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;"
        ))
    };
    let mut switch = program("normal.x = 7;");
    assert_eq!(packet(&mut switch, 0, &[0; 2]), [7, 0]);
    switch.follow_psa_switch(true);
    assert_eq!(packet(&mut switch, 0, &[0; 2]), [7, 2]);
    let mut switch = program("");
    switch.follow_psa_switch(true);
    assert_eq!(packet(&mut switch, 0, &[0; 2]), [1, 2], "headers are invalid in egress");
}

/// `psa_internet_checksum.cpp`: `init` clears the sum, but the start of a block does not.
#[test]
fn internet_checksums_keep_their_sum_between_packets() {
    let program = Psa {
        locals: "InternetChecksum() ck;",
        ingress:
            "send_to_port(o, (PortId_t) 1); ck.add({ h.r.a, h.r.b }); bit<16> sum = ck.get_state();
            h.r.c = sum[15:8]; h.r.d = sum[7:0];",
        ..Psa::default()
    };
    let twice = |mut switch: Switch| {
        packet(&mut switch, 0, &[1, 2, 0, 0]);
        packet(&mut switch, 0, &[1, 2, 0, 0])[2..].to_vec()
    };
    assert_eq!(twice(program.load()), [1, 2]);
    assert_eq!(twice(followed(program)), [2, 4]);
}

/// `PSA_InternetChecksum::subtract` ends when the remaining data is zero.
#[test]
fn subtracting_zeros_does_not_change_an_internet_checksum() {
    let program = Psa {
        locals: "InternetChecksum() ck;",
        ingress: "send_to_port(o, (PortId_t) 1); ck.clear(); ck.subtract({ 16w0, h.r.a, h.r.b }); bit<16> sum = ck.get();
            h.r.c = sum[15:8]; h.r.d = sum[7:0];",
        ..Psa::default()
    };
    let sum = |mut switch: Switch, low: u8| packet(&mut switch, 0, &[0, low, 9, 9])[2..].to_vec();
    assert_eq!(sum(program.load(), 0), [0, 0]);
    assert_eq!(sum(followed(program), 0), [0xff, 0xff]);
    assert_eq!(sum(program.load(), 5), [0, 5]);
    assert_eq!(sum(followed(program), 5), [0, 5]);
}

/// `Counter::increment_counter` uses `Packet::get_ingress_length`.
#[test]
fn counters_add_the_received_bytes() {
    let program = Psa {
        ingress: "h.r.setInvalid(); send_to_port(o, (PortId_t) 1);",
        egress_locals: "Counter<bit<32>, bit<8>>(1, PSA_CounterType_t.BYTES) c;",
        egress: "c.count(0);",
        ..Psa::default()
    };
    let bytes = |mut switch: Switch| {
        outputs(&mut switch, 0, &[1; 10]);
        let id = switch.extern_named("c").expect("counter");
        switch.counter(id, 0).expect("element").bytes
    };
    assert_eq!(bytes(program.load()), 6);
    assert_eq!(bytes(followed(program)), 10);
}

/// `MatchTableAbstract::apply_action` counts every hit and writes the colour of BMv2, in which 0 is
/// green. In PSA, 0 is red.
#[test]
fn direct_counters_and_meters_are_those_of_bmv2() {
    let program = Psa {
        locals: "DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) c; DirectMeter(PSA_MeterType_t.PACKETS) meter_;
            PSA_MeterColor_t colour = PSA_MeterColor_t.YELLOW;
            action yes() { c.count(); colour = meter_.execute(); } action no() { }
            table t { key = { h.r.a: exact; } actions = { yes; no; } default_action = yes();
                psa_direct_counter = c; psa_direct_meter = meter_; }",
        ingress: "send_to_port(o, (PortId_t) 1); t.apply();
            h.r.b = colour == PSA_MeterColor_t.GREEN ? 8w1 : (colour == PSA_MeterColor_t.YELLOW ? 8w2 : 3);",
        ..Psa::default()
    };
    let counted = |mut switch: Switch| {
        add_exact(&mut switch, "t", 1, "yes", &[]);
        add_exact(&mut switch, "t", 2, "no", &[]);
        let colours = [1, 2, 3].map(|key| packet(&mut switch, 0, &[key, 0, 0, 0])[1]);
        let table = switch.table_named("t").expect("table");
        let id = switch.extern_named("c").expect("counter");
        let mut handles: Vec<_> =
            switch.entries(table).expect("table").map(|(handle, _)| handle).collect();
        handles.push(EntryHandle::DEFAULT);
        let mut count = |handle| switch.direct_counter(table, handle, id).expect("entry").packets;
        (colours, handles.into_iter().map(&mut count).collect::<Vec<_>>())
    };
    assert_eq!(counted(program.load()), ([1, 2, 1], vec![1, 0, 1]));
    assert_eq!(counted(followed(program)), ([3, 2, 3], vec![1, 1, 0]));
}

/// PSA specification, section 6.8: clones to the CPU need no session. `MirroringSessions` of
/// psa_switch is initially empty.
#[test]
fn clones_to_the_cpu_need_no_configuration() {
    let program = Psa {
        ingress: "o.clone = true; o.clone_session_id = PSA_CLONE_SESSION_TO_CPU;",
        ..Psa::default()
    };
    assert_eq!(outputs(&mut program.load(), 0, &[9; 4]), [(0xffff_fffd, vec![9; 4])]);
    assert_eq!(outputs(&mut followed(program), 0, &[9; 4]), []);
    let mut switch = followed(program);
    switch.set_clone_session(0, Some(session(6, 0)));
    assert_eq!(outputs(&mut switch, 0, &[9; 4]), [(6, vec![9; 4])]);
    switch.follow_psa_switch(false);
    assert_eq!(outputs(&mut switch, 0, &[9; 4]), [(6, vec![9; 4])]);
}

/// P4-16 specification, section 13.6, has the error `NoMatch`.
/// `backends/bmv2/psa_switch/midend.cpp` makes no state for it, and `ParseState::find_next_state`
/// of `src/bm_sim/parser.cpp` then ends the parser.
#[test]
fn a_select_without_a_matching_case_is_no_error() {
    let program = Psa {
        transition: "select(h.r.a) { 1: accept; }",
        ingress: "send_to_port(o, (PortId_t) 2); h.r.b = i.parser_error == error.NoError ? 8w1 : 0;
            h.r.c = i.parser_error == error.NoMatch ? 8w1 : 0;",
        ..Psa::default()
    };
    assert_eq!(packet(&mut program.load(), 0, &[1, 9, 9, 9]), [1, 1, 0, 9]);
    assert_eq!(packet(&mut program.load(), 0, &[2, 9, 9, 9]), [2, 0, 1, 9]);
    assert_eq!(packet(&mut followed(program), 0, &[2, 9, 9, 9]), [2, 1, 0, 9]);
}
