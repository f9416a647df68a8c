//! What is PSA's own of generated programs: two halves, what goes from one to the other, where a packet goes, externs.

use super::externs::ExternCall;
use super::{Grammar, Source, Stage};

const DECLARATIONS: &str = "struct Bridged { bit<16> c; bit<32> k; N n; }
struct Again { bit<2> rounds; }
struct Cloned { bit<16> c; }
struct Nothing { }
";

const INGRESS: &str = "Register<bit<32>, bit<32>>(4) small; Register<bit<80>, bit<32>>(4) large;
    Counter<bit<64>, bit<32>>(4, PSA_CounterType_t.PACKETS_AND_BYTES) counted; Meter<bit<32>>(4, PSA_MeterType_t.PACKETS) metered;
    DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS) hits; DirectMeter(PSA_MeterType_t.BYTES) rated;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16; Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc32;
    Checksum<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) ones; InternetChecksum() sum; Random<bit<32>>(2, 19) drawn;
    ActionSelector(PSA_HashAlgorithm_t.CRC16, 16, 10) chosen; Inner() inner;
    action port(bit<9> to, bit<128> w) { send_to_port(o, (PortId_t) (bit<32>) to); h.w.a = h.w.a ^ w; }
    action note(bit<16> c) { h.a.c = c; }
    action rate(bit<16> c) { h.a.c = c; if (rated.execute() == PSA_MeterColor_t.RED) { m.color = 1; } }
    action group(bit<16> to) { hits.count(); multicast(o, (MulticastGroup_t) (bit<32>) to); }
    action change(inout bit<65> y, bit<4> l) { h.a.l = l; y = ~y; if (l == 2) { exit; } }
    action drop() { ingress_drop(o); }
    table exact_ { key = { h.a.v: exact; h.a.isValid(): exact; } actions = { port; note; group; drop; NoAction; }
        default_action = port(1, 5); psa_direct_counter = hits; }
    table wide_ { key = { h.w.a: lpm; } actions = { port; change(h.w.y); NoAction; } default_action = NoAction(); }
    table ternary_ { key = { h.w.z: ternary; h.a.s: range; h.u.a.a: optional; } actions = { rate; drop; NoAction; }
        default_action = NoAction(); psa_direct_meter = rated; }
    table spread_ { key = { h.a.l: exact; h.a.d: selector; h.w.b: selector; } actions = { port; note; }
        psa_implementation = chosen; }
";

const EGRESS: &str = "Counter<bit<64>, bit<32>>(4, PSA_CounterType_t.BYTES) left; Register<bit<32>, bit<32>>(4) behind;
    DirectCounter<bit<64>>(PSA_CounterType_t.PACKETS_AND_BYTES) sent; DirectMeter(PSA_MeterType_t.PACKETS) paced;
    InternetChecksum() sum; Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16; Random<bit<32>>(1, 9) drawn; Inner() inner;
    action mark(bit<16> c) { h.a.c = c; sent.count(); m.color = paced.execute(PSA_MeterColor_t.YELLOW) == PSA_MeterColor_t.RED ? 8w1 : 0; }
    action gone() { egress_drop(o); }
    table out_ { key = { h.a.v: exact; } actions = { mark; gone; NoAction; } default_action = mark(7);
        psa_direct_counter = sent; psa_direct_meter = paced; }
";

impl Source {
    /// The text of a program of PSA.
    pub(super) fn psa_text(&self) -> String {
        let join = |statements: &[String]| statements.join("\n        ");
        format!(
            "#include <core.p4>
#include <bmv2/psa.p4>
{}{DECLARATIONS}
parser P(packet_in b, out H h, inout M m, in psa_ingress_parser_input_metadata_t given, in Again again, in Again back) {{
{} }}
control I(inout H h, inout M m, in psa_ingress_input_metadata_t given, inout psa_ingress_output_metadata_t o) {{ {INGRESS}
    apply {{ send_to_port(o, (PortId_t) 32w1);
        {} }} }}
control ID(packet_out b, out Cloned cloned, out Again again, out Bridged normal, inout H h, in M m,
    in psa_ingress_output_metadata_t o) {{ Digest<Message>() told; InternetChecksum() sum; apply {{
    {}
    again.rounds = m.rounds + 1;
    if (psa_normal(o)) {{ normal = {{ h.a.c, m.k, m.n }}; }} else if (psa_clone_i2e(o)) {{ cloned.c = m.csum; }}
    {} }} }}
parser EP(packet_in b, out H h, inout M m, in psa_egress_parser_input_metadata_t given, in Bridged normal, in Cloned cloned,
    in Nothing other) {{
{} }}
control E(inout H h, inout M m, in psa_egress_input_metadata_t given, inout psa_egress_output_metadata_t o) {{ {EGRESS}
    apply {{
        {} }} }}
control ED(packet_out b, out Nothing cloned, out Again back, inout H h, in M m, in psa_egress_output_metadata_t o,
    in psa_egress_deparser_input_metadata_t given) {{ apply {{
    if (psa_recirculate(o, given)) {{ back.rounds = m.rounds + 1; }}
    {} }} }}
PSA_Switch(IngressPipeline(P(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
    BufferingQueueingEngine()) main;",
            super::DECLARATIONS,
            self.states("m.rounds = again.rounds + back.rounds;"),
            join(&self.ingress),
            self.compute.join("\n    "),
            super::EMITS,
            self.states("m.csum = normal.c + cloned.c; m.k = normal.k; m.n = normal.n;"),
            join(&self.egress),
            super::EMITS,
        )
    }
}

impl Grammar<'_, '_> {
    /// A call of an extern in a control.
    pub(super) fn psa_call(&mut self, stage: Stage) -> String {
        let call = self.parts_of_call();
        let ExternCall { index, value, data, high, .. } = &call;
        if stage == Stage::Egress {
            return match self.below(11) {
                0 => format!("m.k = behind.read({index}); behind.write({index}, {value});"),
                1 => format!("left.count({index});"),
                2 => "out_.apply();".to_owned(),
                3 => "if (out_.apply().hit) { h.w.p = 4; }".to_owned(),
                4 => format!("m.csum = crc16.get_hash({data});"),
                5 => "sum.add({ h.a.d, m.csum }); sum.add({ h.a.v, h.a.l, h.w.p }); h.a.c = sum.get();".to_owned(),
                6 => "h.a.l = (bit<4>) (EgressInstanceUint_t) given.instance; h.a.q = (TimestampUint_t) given.egress_timestamp;".to_owned(),
                7 => "if (given.packet_path != PSA_PacketPath_t.CLONE_E2E) { o.clone = true; o.clone_session_id = (CloneSessionId_t) 5; }".to_owned(),
                8 => "if (h.a.l == 3) { egress_drop(o); }".to_owned(),
                9 => "if (given.parser_error != error.NoError) { h.a.c = 77; } m.x = (bit<9>) (PortIdUint_t) given.egress_port;".to_owned(),
                _ => self.one_of(&["exit;", "m.k = drawn.read();", "inner.apply(h.s[1], m.w, m.color);"]),
            };
        }
        match self.below(24) {
            kind @ 0..9 => call.text(kind, "PSA"),
            9 | 10 => "if (exact_.apply().hit) { h.w.p = 1; }".to_owned(),
            11 => "switch (wide_.apply().action_run) { port: { m.color = 1; } change: { h.w.x = 3; } default: { } }".to_owned(),
            12 => "if (ternary_.apply().miss) { m.z = true; }".to_owned(),
            13 => "spread_.apply();".to_owned(),
            14 => format!("send_to_port(o, (PortId_t) 32w{high});"),
            15 => "if (h.a.l == 5) { ingress_drop(o); }".to_owned(),
            16 => "if (h.a.v[1:0] == 1) { o.clone = true; o.clone_session_id = (CloneSessionId_t) 6; }".to_owned(),
            17 => "if (m.rounds < 2 && h.a.l[1:0] == 2) { o.resubmit = true; }".to_owned(),
            18 => "if (m.rounds < 2 && h.a.l[1:0] == 3) { send_to_port(o, PSA_PORT_RECIRCULATE); }".to_owned(),
            19 => "if (h.a.l[2:0] == 4) { multicast(o, (MulticastGroup_t) 32w4); }".to_owned(),
            20 => "if (given.parser_error != error.NoError) { h.a.c = 99; } h.a.q = (TimestampUint_t) given.ingress_timestamp;".to_owned(),
            21 => "m.x = (bit<9>) (PortIdUint_t) given.ingress_port; o.class_of_service = (ClassOfService_t) 8w3;".to_owned(),
            22 => "inner.apply(h.s[1], m.w, m.color);".to_owned(),
            _ => self.one_of(&["exit;", "if (m.color == 1) { return; }"]),
        }
    }

    /// What the ingress deparser does beside emitting.
    pub(super) fn psa_message(&mut self) -> String {
        let condition = self.condition(0);
        self.one_of(&[
            &format!("if ({condition}) {{ told.pack({{ h.a.d, h.w.a, h.s[0], m.x }}); }}"),
            "sum.add({ h.a.d, h.a.q }); h.a.c = sum.get();",
            &format!("if ({condition}) {{ sum.set_state(h.a.c); }} sum.subtract({{ h.a.d }}); h.a.c = sum.get_state();"),
        ])
    }
}
