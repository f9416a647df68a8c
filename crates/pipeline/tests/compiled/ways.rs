//! Tests that all ways through a program have the same results, including programs that leave out a
//! part of their architecture.

use crate::both::compile;
use ir::Program;
use pipeline::{Batch, Switch, Way};
use std::time::Duration;

/// The packets that leave for one packet, each with its port and bytes.
pub(crate) type Left = Vec<(u32, Vec<u8>)>;

/// Runs packets on every way of a program, alone and in one burst. Returns the packets that leave,
/// and the ways.
///
/// Panics if two ways differ.
pub(crate) fn on_every_way(
    program: &Program,
    follows: bool,
    prepare: &dyn Fn(&mut Switch),
    packets: &[(u32, &[u8])],
) -> (Vec<Left>, Vec<Way>) {
    let mut switch = Switch::new(program.clone()).expect("a program that can be run");
    switch.follow_psa_switch(follows);
    switch.compile().unwrap_or_else(|error| panic!("{error}"));
    let (ways, now) = (switch.ways(), Duration::from_secs(1));
    let mut expected: Option<Vec<Left>> = None;
    for way in &ways {
        for together in [false, true] {
            switch.reset().expect("it was loaded once");
            switch.follow_psa_switch(follows);
            switch.choose_way(Some(*way));
            prepare(&mut switch);
            let mut found: Vec<Left> = Vec::new();
            for packets in packets.chunks(if together { packets.len() } else { 1 }) {
                let mut batch = Batch::default();
                switch.process_batch(packets, now, &mut batch);
                assert_eq!(batch.errors(), &[], "{way}");
                found.extend((0..packets.len()).map(|position| {
                    let of = batch.sent().filter(|(from, ..)| *from == position);
                    of.map(|(_, port, bytes)| (port, bytes.to_vec())).collect::<Left>()
                }));
            }
            assert_eq!(expected.get_or_insert_with(|| found.clone()), &found, "{way}");
        }
    }
    (expected.unwrap_or_default(), ways)
}

/// Returns a program of PSA with these statements in its controls. Both have one metadata type.
fn psa(ingress: &str, egress: &str) -> Program {
    compile(&format!(
        "#include <core.p4>
        #include <bmv2/psa.p4>
        header R {{ bit<8> a; bit<8> b; }} struct H {{ R r; }} struct M {{ }} struct N {{ }}
        parser IP(packet_in p, out H h, inout M m, in psa_ingress_parser_input_metadata_t i, in N s, in N r) {{
            state start {{ p.extract(h.r); transition accept; }} }}
        control I(inout H h, inout M m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o) {{
            apply {{ {ingress} }} }}
        control ID(packet_out p, out N c, out N s, out N n, inout H h, in M m, in psa_ingress_output_metadata_t o) {{
            apply {{ p.emit(h.r); }} }}
        parser EP(packet_in p, out H h, inout M m, in psa_egress_parser_input_metadata_t i, in N n, in N c, in N e) {{
            state start {{ p.extract(h.r); transition accept; }} }}
        control E(inout H h, inout M m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o) {{
            apply {{ {egress} }} }}
        control ED(packet_out p, out N c, out N r, inout H h, in M m, in psa_egress_output_metadata_t o,
            in psa_egress_deparser_input_metadata_t i) {{ apply {{ p.emit(h.r); }} }}
        PSA_Switch(IngressPipeline(IP(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
            BufferingQueueingEngine()) main;"
    ))
}

/// Configures group 5 with the ports 6 and 7, and clone session 3 with port 8.
fn ports(switch: &mut Switch) {
    let replica = |port| pipeline::Replica { port, instance: 1 };
    switch.set_multicast_group(5, vec![replica(6), replica(7)]);
    let session = pipeline::CloneSession { replicas: vec![replica(8)], ..Default::default() };
    switch.set_clone_session(3, Some(session));
}

const PACKETS: [(u32, &[u8]); 4] =
    [(1, &[0, 1, 2]), (2, &[1, 1, 3, 4]), (3, &[2]), (1, &[3, 9, 9, 9, 9])];

fn ports_of(left: &[Left]) -> Vec<Vec<u32>> {
    left.iter().map(|left| left.iter().map(|(port, _)| *port).collect()).collect()
}

/// PSA 1.2, section 6.2: in ingress, `drop` is initially true, and all other fields are false or
/// zero.
#[test]
fn fields_that_psa_ingress_never_writes_have_their_initial_values() {
    for follows in [false, true] {
        let (left, ways) = on_every_way(&psa("", ""), follows, &ports, &PACKETS);
        assert_eq!(left, vec![Left::new(); 4]);
        assert!(ways.contains(&Way::Stages) && ways.contains(&Way::Fused), "{ways:?}");
        // Each case has another part of the statements.
        for (ingress, expected) in [
            ("o.class_of_service = (ClassOfService_t) 8w3;", vec![]),
            ("o.egress_port = (PortId_t) 32w4;", vec![]),
            ("o.multicast_group = (MulticastGroup_t) 32w5;", vec![]),
            ("o.resubmit = i.packet_path == PSA_PacketPath_t.NORMAL;", vec![]),
            ("o.clone = true; o.clone_session_id = (CloneSessionId_t) 16w3;", vec![8]),
            ("o.drop = false;", vec![0]),
            ("o.drop = false; o.egress_port = (PortId_t) 32w4;", vec![4]),
            ("o.drop = false; o.multicast_group = (MulticastGroup_t) 32w5;", vec![6, 7]),
            ("if (h.r.a == 0) { send_to_port(o, (PortId_t) 32w4); }", vec![4]),
            ("psa_ingress_output_metadata_t was = o; o.drop = false; o = was;", vec![]),
        ] {
            let (left, _) = on_every_way(&psa(ingress, ""), follows, &ports, &PACKETS[..1]);
            assert_eq!(ports_of(&left), [expected], "{ingress}");
        }
    }
}

/// PSA 1.2, section 6.5: in egress, all fields are initially false.
#[test]
fn fields_that_psa_egress_never_writes_have_their_initial_values() {
    let ingress = "send_to_port(o, (PortId_t) 32w4);";
    let clones = "if (i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST) { o.clone = true; }";
    let session = "o.clone_session_id = (CloneSessionId_t) 16w3;";
    for (egress, expected) in [
        ("", vec![4]),
        (session, vec![4]),
        ("o.drop = true;", vec![]),
        (&format!("{session} {clones}"), vec![8, 4]),
        (&format!("{session} {clones} o.drop = o.clone;"), vec![8]),
    ] {
        let program = psa(ingress, egress);
        let (left, _) = on_every_way(&program, false, &ports, &PACKETS[..1]);
        let mut found = ports_of(&left);
        found.iter_mut().for_each(|ports| ports.sort_unstable());
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(found, [expected], "{egress}");
    }
}

/// Returns a program of v1model whose parser, ingress and egress have these statements.
fn v1model(parser: &str, ingress: &str, egress: &str) -> Program {
    compile(&format!(
        "#include <core.p4>
        #include <v1model.p4>
        header R {{ bit<8> a; bit<8> b; }} struct H {{ R r; }} struct M {{ @field_list(1) bit<8> passes; }}
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.r); {parser} transition accept; }} }}
        control V(inout H h, inout M m) {{ apply {{ }} }}
        control I(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {ingress} }} }}
        control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {egress} }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h.r); }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    ))
}

/// Fields that only the parser writes decide where a packet goes, and are kept when the packet is
/// processed once more.
#[test]
fn fields_that_only_the_parser_of_v1model_writes_reach_the_architecture() {
    for (parser, expected) in [
        ("", vec![0]),
        ("s.egress_spec = 4;", vec![4]),
        ("s.egress_spec = 511;", vec![]),
        ("s.mcast_grp = 5;", vec![6, 7]),
        // The switch has one queue per port.
        ("s.priority = 3;", vec![]),
        ("s.priority = 0;", vec![0]),
    ] {
        let (left, ways) = on_every_way(&v1model(parser, "", ""), false, &ports, &PACKETS[..1]);
        assert_eq!(ports_of(&left), [expected], "{parser}");
        assert!(ways.contains(&Way::Stages) && ways.contains(&Way::Blocks), "{ways:?}");
    }
    let parser = "h.r.b = m.passes; m.passes = m.passes + 1;";
    for (ingress, egress) in [
        ("if (h.r.b == 0) { resubmit_preserving_field_list(1); }", ""),
        ("", "if (h.r.b == 0) { recirculate_preserving_field_list(1); }"),
    ] {
        let program = v1model(parser, ingress, egress);
        let (left, ways) = on_every_way(&program, false, &ports, &PACKETS[..1]);
        assert_eq!(left, [vec![(0, vec![0, 1, 2])]]);
        assert!(ways.contains(&Way::Stages), "{ways:?}");
    }
}

/// PNA 0.5 selects by a direction, and PNA 0.7 by the kind of a port.
#[test]
fn select_by_direction_returns_the_first_value_for_packets_from_the_network() {
    let program = |include: &str, pre: [&str; 2], select: &str| {
        compile(&format!(
            "#include <core.p4>
            #include <{include}>
            header R {{ bit<8> a; bit<8> b; }} struct H {{ R r; }} struct M {{ }}
            parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
                state start {{ p.extract(h.r); transition accept; }} }}
            {}
            control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
                apply {{ h.r.b = {select}; send_to_port((PortId_t) 32w9); }} }}
            control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ p.emit(h); }} }}
            PNA_NIC(P(), {} C(), D()) main;",
            pre[0], pre[1]
        ))
    };
    let pre = "control Pre(in H h, inout M m, in pna_pre_input_metadata_t i, inout pna_pre_output_metadata_t o) {
        apply { } }";
    let by_port = "SelectByDirection(is_net_port(i.input_port), 8w11, 8w22)";
    for program in [
        program("pna.p4", ["", ""], by_port),
        program("dpdk/pna.p4", [pre, "Pre(),"], "SelectByDirection(i.direction, 8w11, 8w22)"),
    ] {
        let host = |switch: &mut Switch| switch.set_host_port(2, true);
        let (left, ways) = on_every_way(&program, false, &host, &[(1, &[0, 0]), (2, &[0, 0])]);
        assert_eq!(left, [vec![(9, vec![0, 11])], vec![(9, vec![0, 22])]]);
        assert!(ways.contains(&Way::Driver), "{ways:?}");
    }
}
