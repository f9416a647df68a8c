//! Tests of metadata that an architecture initialises, in programs that write none of them, one, or
//! one for some packets only. Each way has the same values. Fields that are not written have the
//! values of the specifications.

use crate::both::compile;
use crate::ways::on_every_way;
use pipeline::{CloneSession, Replica, Switch};

/// A field as an expression of eight bits, statements that write it, and its initial value.
struct Field {
    reads: &'static str,
    writes: &'static str,
    initially: u8,
}

const fn field(reads: &'static str, writes: &'static str, initially: u8) -> Field {
    Field { reads, writes, initially }
}

/// Packets of which the first meets the condition of [`written`], and the second does not.
const PACKETS: [(u32, &[u8]); 2] = [(2, &[1, 0, 9]), (2, &[0, 0, 9])];

/// The low byte of the time, which is one second in microseconds.
const NOW: u8 = 0x40;

/// Returns no statement, a statement that all packets run, and one that some packets run.
fn written(statement: &str) -> [String; 3] {
    [String::new(), statement.to_owned(), format!("if (h.r.a == 1) {{ {statement} }}")]
}

/// Configures the group 5 with the ports 6 and 7, the clone session 3 with the port 8, and port 2
/// as a port of the host.
fn prepare(switch: &mut Switch) {
    let replica = |port| Replica { port, instance: 1 };
    switch.set_multicast_group(5, vec![replica(6), replica(7)]);
    let session = CloneSession { replicas: vec![replica(8)], ..Default::default() };
    switch.set_clone_session(3, Some(session));
    switch.set_host_port(2, true);
}

/// Runs a program on every way, and returns the second byte of the first packet that leaves for
/// each packet, if one leaves.
fn second_bytes(text: &str) -> Vec<Option<u8>> {
    let (left, ways) = on_every_way(&compile(text), false, &prepare, &PACKETS);
    assert!(ways.len() > 2, "{ways:?}");
    let first = left.iter().map(|left| left.first().and_then(|(_, bytes)| bytes.get(1)));
    first.map(|byte| byte.copied()).collect()
}

const V1MODEL: &[Field] = &[
    field("(bit<8>) s.ingress_port", "s.ingress_port = 77;", 2),
    field("(bit<8>) s.egress_spec", "s.egress_spec = 4;", 0),
    field("(bit<8>) s.egress_port", "s.egress_port = 77;", 0),
    field("(bit<8>) s.instance_type", "s.instance_type = 77;", 0),
    field("(bit<8>) s.packet_length", "s.packet_length = 77;", 3),
    field("(bit<8>) s.enq_timestamp", "s.enq_timestamp = 77;", 0),
    field("(bit<8>) s.enq_qdepth", "s.enq_qdepth = 77;", 0),
    field("(bit<8>) s.deq_timedelta", "s.deq_timedelta = 77;", 0),
    field("(bit<8>) s.deq_qdepth", "s.deq_qdepth = 77;", 0),
    field("(bit<8>) s.ingress_global_timestamp", "s.ingress_global_timestamp = 77;", NOW),
    field("(bit<8>) s.egress_global_timestamp", "s.egress_global_timestamp = 77;", 0),
    field("(bit<8>) s.mcast_grp", "s.mcast_grp = 5;", 0),
    field("(bit<8>) s.egress_rid", "s.egress_rid = 77;", 0),
    field("(bit<8>) s.checksum_error", "s.checksum_error = 1;", 0),
    field("(s.parser_error == error.NoError ? 8w0 : 8w1)", "s.parser_error = error.NoMatch;", 0),
    field("(bit<8>) s.priority", "s.priority = 3;", 0),
];

fn v1model(parser: &str, ingress: &str, egress: &str) -> String {
    format!(
        "#include <core.p4>
        #include <v1model.p4>
        header R {{ bit<8> a; bit<8> b; }} struct H {{ R r; }} struct M {{ }}
        parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{
            state start {{ p.extract(h.r); {parser} transition accept; }} }}
        control V(inout H h, inout M m) {{ apply {{ }} }}
        control I(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {ingress} }} }}
        control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{ {egress} }} }}
        control D(packet_out p, in H h) {{ apply {{ p.emit(h.r); }} }}
        V1Switch(P(), V(), I(), E(), V(), D()) main;"
    )
}

/// Ingress finds the metadata that `docs/simple_switch.md` of BMv2 describes.
#[test]
fn v1model_ingress_has_the_same_metadata_on_every_way() {
    for Field { reads, writes, initially } in V1MODEL {
        let read = format!("h.r.b = {reads};");
        for (number, write) in written(writes).iter().enumerate() {
            let unwritten = second_bytes(&v1model("", &format!("{read} {write}"), ""));
            if number == 0 {
                assert_eq!(unwritten, [Some(*initially); 2], "{reads}");
            }
            second_bytes(&v1model("", &format!("{write} {read}"), ""));
        }
        second_bytes(&v1model(writes, &read, ""));
    }
}

/// Egress finds the same metadata on every way, for a packet to one port and for one to a group.
#[test]
fn v1model_egress_has_the_same_metadata_on_every_way() {
    for Field { reads, writes, initially } in V1MODEL {
        let read = format!("h.r.b = {reads};");
        for (number, write) in written(writes).iter().enumerate() {
            let ingress = format!("s.egress_spec = 4; {write}");
            let found = second_bytes(&v1model("", &ingress, &read));
            let initially = match *reads {
                "(bit<8>) s.egress_port" => 4,
                "(bit<8>) s.enq_timestamp" | "(bit<8>) s.egress_global_timestamp" => NOW,
                _ => *initially,
            };
            if number == 0 {
                assert_eq!(found, [Some(initially); 2], "{reads}");
            }
            second_bytes(&v1model("", &format!("s.mcast_grp = 5; {write}"), &read));
            second_bytes(&v1model("", "s.egress_spec = 4;", &format!("{write} {read}")));
        }
    }
}

/// Blocks read these fields only through a whole struct: in a copy, in a function, as the argument
/// of a sub-control, or in a comparison.
#[test]
fn v1model_metadata_that_are_used_as_a_whole_are_the_same_on_every_way() {
    let declarations = "
        bit<8> low(in standard_metadata_t x) { return (bit<8>) x.packet_length; }
        control Sub(inout H h, in standard_metadata_t x) { apply { h.r.b = (bit<8>) x.packet_length; } }
        control I(";
    for (ingress, initially) in [
        ("standard_metadata_t x = s; h.r.b = (bit<8>) x.packet_length;", 3),
        ("h.r.b = low(s);", 3),
        ("sub.apply(h, s);", 3),
        (
            "standard_metadata_t x = s; s.enq_qdepth = 0; x.packet_length = 0; h.r.b = x == s ? 8w1 : 8w2;",
            2,
        ),
        ("standard_metadata_t x = s; x.mcast_grp = 5; s = x; h.r.b = 7;", 7),
    ] {
        let text = v1model("", ingress, "").replace("control I(", declarations);
        let text = text.replace("apply { sub.apply", "Sub() sub; apply { sub.apply");
        assert_eq!(second_bytes(&text), [Some(initially); 2], "{ingress}");
    }
}

fn psa(ingress: &str, egress: &str) -> String {
    format!(
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
    )
}

/// PSA 1.2, sections 6.1 and 6.2, defines the initial values.
#[test]
fn psa_ingress_has_the_same_metadata_on_every_way() {
    let output = [
        field(
            "(bit<8>)(ClassOfServiceUint_t) o.class_of_service",
            "o.class_of_service = (ClassOfService_t) 8w7;",
            0,
        ),
        field("(bit<8>)(bit<1>) o.clone", "o.clone = true;", 0),
        field(
            "(bit<8>)(CloneSessionIdUint_t) o.clone_session_id",
            "o.clone_session_id = (CloneSessionId_t) 16w3;",
            0,
        ),
        field("(bit<8>)(bit<1>) o.drop", "o.drop = true;", 1),
        field(
            "(bit<8>)(bit<1>) o.resubmit",
            "o.resubmit = i.packet_path == PSA_PacketPath_t.NORMAL;",
            0,
        ),
        field(
            "(bit<8>)(MulticastGroupUint_t) o.multicast_group",
            "o.multicast_group = (MulticastGroup_t) 32w5;",
            0,
        ),
        field("(bit<8>)(PortIdUint_t) o.egress_port", "o.egress_port = (PortId_t) 32w4;", 0),
    ];
    for Field { reads, writes, initially } in &output {
        for (number, write) in written(writes).iter().enumerate() {
            // The packet is dropped by default, and else is sent to the initial port, which is
            // zero.
            for sends in ["", "o.drop = false;"] {
                let text = psa(&format!("h.r.b = {reads}; {sends} {write}"), "");
                let found = second_bytes(&text);
                if (number, sends) == (0, "") {
                    assert_eq!(found, [None; 2], "{reads}");
                } else if number == 0 {
                    assert_eq!(found, [Some(*initially); 2], "{reads}");
                }
                second_bytes(&psa(&format!("{sends} {write} h.r.b = {reads};"), ""));
            }
        }
    }
    let input = [
        ("(bit<8>)(PortIdUint_t) i.ingress_port", 2),
        ("(i.packet_path == PSA_PacketPath_t.NORMAL ? 8w0 : 8w1)", 0),
        ("(bit<8>)(TimestampUint_t) i.ingress_timestamp", NOW),
        ("(i.parser_error == error.NoError ? 8w0 : 8w1)", 0),
    ];
    for (reads, initially) in input {
        let found = second_bytes(&psa(&format!("h.r.b = {reads}; o.drop = false;"), ""));
        assert_eq!(found, [Some(initially); 2], "{reads}");
    }
}

/// PSA 1.2, sections 6.4 and 6.5, defines the initial values.
#[test]
fn psa_egress_has_the_same_metadata_on_every_way() {
    let sends = ["send_to_port(o, (PortId_t) 32w4);", "multicast(o, (MulticastGroup_t) 32w5);"];
    let output = [
        field(
            "(bit<8>)(bit<1>) o.clone",
            "o.clone = i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST;",
            0,
        ),
        field(
            "(bit<8>)(CloneSessionIdUint_t) o.clone_session_id",
            "o.clone_session_id = (CloneSessionId_t) 16w3;",
            0,
        ),
        field("(bit<8>)(bit<1>) o.drop", "o.drop = true;", 0),
    ];
    for (ingress, is_to_group) in sends.into_iter().zip([false, true]) {
        for Field { reads, writes, initially } in &output {
            for (number, write) in written(writes).iter().enumerate() {
                let found = second_bytes(&psa(ingress, &format!("h.r.b = {reads}; {write}")));
                if number == 0 {
                    assert_eq!(found, [Some(*initially); 2], "{reads}");
                }
                second_bytes(&psa(ingress, &format!("{write} h.r.b = {reads};")));
            }
        }
        let input = [
            ("(bit<8>)(ClassOfServiceUint_t) i.class_of_service", 0),
            ("(bit<8>)(PortIdUint_t) i.egress_port", if is_to_group { 6 } else { 4 }),
            (
                "(i.packet_path == PSA_PacketPath_t.NORMAL_UNICAST ? 8w0 : 8w1)",
                u8::from(is_to_group),
            ),
            ("(bit<8>)(EgressInstanceUint_t) i.instance", u8::from(is_to_group)),
            ("(bit<8>)(TimestampUint_t) i.egress_timestamp", NOW),
            ("(i.parser_error == error.NoError ? 8w0 : 8w1)", 0),
        ];
        for (reads, initially) in input {
            let found = second_bytes(&psa(ingress, &format!("h.r.b = {reads};")));
            assert_eq!(found, [Some(initially); 2], "{reads}");
        }
    }
}

fn pna(control: &str) -> String {
    format!(
        "#include <core.p4>
        #include <pna.p4>
        header R {{ bit<8> a; bit<8> b; }} struct H {{ R r; }} struct M {{ }}
        parser P(packet_in p, out H h, inout M m, in pna_main_parser_input_metadata_t i) {{
            state start {{ p.extract(h.r); transition accept; }} }}
        control C(inout H h, inout M m, in pna_main_input_metadata_t i, inout pna_main_output_metadata_t o) {{
            apply {{ {control} }} }}
        control D(packet_out p, in H h, in M m, in pna_main_output_metadata_t o) {{ apply {{ p.emit(h); }} }}
        PNA_NIC(P(), C(), D()) main;"
    )
}

/// In PNA 0.7, a packet that is sent nowhere is dropped.
#[test]
fn pna_has_the_same_metadata_on_every_way() {
    let fields = [
        ("(bit<8>)(bit<1>) i.recirculated", 0),
        ("(bit<8>)(TimestampUint_t) i.timestamp", NOW),
        ("(i.parser_error == error.NoError ? 8w0 : 8w1)", 0),
        ("(bit<8>)(ClassOfServiceUint_t) i.class_of_service", 0),
        ("(bit<8>)(PortIdUint_t) i.input_port", 2),
        ("(bit<8>)(ClassOfServiceUint_t) o.class_of_service", 0),
        ("SelectByDirection(is_net_port(i.input_port), 8w11, 8w22)", 22),
    ];
    let actions = [
        "send_to_port((PortId_t) 32w9);",
        "drop_packet();",
        "o.class_of_service = (ClassOfService_t) 8w3;",
        "mirror_packet((MirrorSlotId_t) 8w1, (MirrorSessionId_t) 16w3);",
    ];
    for (reads, initially) in fields {
        assert_eq!(second_bytes(&pna(&format!("h.r.b = {reads};"))), [None; 2], "{reads}");
        for (number, action) in actions.iter().enumerate() {
            for action in written(action) {
                let found = second_bytes(&pna(&format!("h.r.b = {reads}; {action}")));
                if number == 0 && !action.is_empty() {
                    assert_eq!(found[0], Some(initially), "{reads}");
                }
            }
        }
    }
}
