//! What is PNA's own of generated programs: tables that packets add entries to, entries that packets write, where a packet
//! goes, externs.

use super::externs::ExternCall;
use super::{Grammar, Source};

const DECLARATIONS: &str = "struct Learnt { bit<16> c; }
struct Kept { bit<32> value; }
";

const CONTROL: &str = "Register<bit<32>, bit<32>>(4) small; Register<bit<80>, bit<32>>(4) large;
    Counter<bit<64>, bit<32>>(4, PNA_CounterType_t.PACKETS_AND_BYTES) counted; Meter<bit<32>>(4, PNA_MeterType_t.PACKETS) metered;
    DirectCounter<bit<64>>(PNA_CounterType_t.PACKETS) hits; DirectMeter(PNA_MeterType_t.BYTES) rated;
    Hash<bit<16>>(PNA_HashAlgorithm_t.CRC16) crc16; Hash<bit<32>>(PNA_HashAlgorithm_t.CRC32) crc32;
    Checksum<bit<16>>(PNA_HashAlgorithm_t.ONES_COMPLEMENT16) ones; InternetChecksum() sum; Random<bit<32>>(2, 19) drawn;
    ActionSelector(PNA_HashAlgorithm_t.CRC16, 16, 10) chosen; Inner() inner;
    action port(bit<9> to, bit<128> w) { send_to_port((PortId_t) (bit<32>) to); h.w.a = h.w.a ^ w; }
    action note(bit<16> c) { h.a.c = c; }
    action rate(bit<16> c) { h.a.c = c; if (rated.execute() == PNA_MeterColor_t.RED) { m.color = 1; } }
    action group(bit<16> to) { hits.count(); m.y = (int<16>) to; }
    action change(inout bit<65> y, bit<4> l) { h.a.l = l; y = ~y; if (l == 2) { exit; } }
    action drop() { drop_packet(); }
    action known(bit<16> c) { h.a.c = h.a.c ^ c; restart_expire_timer(); if (c == 3) { exit; } }
    action longer(bit<16> c) { m.csum = c; set_entry_expire_time((ExpireTimeProfileId_t) 2); }
    action learn() { m.k = m.k + (bit<32>) add_entry_if(h.a.l != 7, \"known\", (Learnt) { c = h.a.c },
        (ExpireTimeProfileId_t) (ExpireTimeProfileIdUint_t) (h.a.d[7:0] & 3)); }
    action exchange(@__ref bit<32> value) { bit<32> old = value; value = m.k; m.k = old; if (old == 5) { exit; } }
    action keep() { m.z = add_entry(\"exchange\", (Kept) { value = m.k }, (ExpireTimeProfileId_t) 1) == ADD_ENTRY_SUCCESS; }
    table exact_ { key = { h.a.v: exact; h.a.isValid(): exact; } actions = { port; note; group; drop; NoAction; }
        default_action = port(1, 5); pna_direct_counter = hits; }
    table wide_ { key = { h.w.a: lpm; } actions = { port; change(h.w.y); NoAction; } default_action = NoAction(); }
    table ternary_ { key = { h.w.z: ternary; h.a.s: range; h.u.a.a: optional; } actions = { rate; drop; NoAction; }
        default_action = NoAction(); pna_direct_meter = rated; }
    table spread_ { key = { h.a.l: exact; h.a.d: selector; h.w.b: selector; } actions = { port; note; }
        pna_implementation = chosen; }
    table learning_ { key = { h.a.d: exact; h.a.l: exact; } actions = { known; longer; learn; } default_action = learn();
        add_on_miss = true; size = 6; pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE; }
    @tableconfig(impl = \"dpdk\", synced = true)
    table values_ { key = { h.a.v: exact; } actions = { exchange; keep; } default_action = keep(); add_on_miss = true; size = 9; }
";

impl Source {
    /// The text of a program of PNA.
    pub(super) fn pna_text(&self) -> String {
        format!(
            "#include <core.p4>
#include <pna.p4>
{}{DECLARATIONS}
parser P(packet_in b, out H h, inout M m, in pna_main_parser_input_metadata_t given) {{
{} }}
control I(inout H h, inout M m, in pna_main_input_metadata_t given, inout pna_main_output_metadata_t o) {{ {CONTROL}
    apply {{ send_to_port((PortId_t) 32w1);
        {} }} }}
control D(packet_out b, in H h, in M m, in pna_main_output_metadata_t o) {{ Digest<Message>() told; apply {{
    {}
    {} }} }}
PNA_NIC(P(), I(), D()) main;",
            super::DECLARATIONS,
            self.states(""),
            self.ingress.join("\n        "),
            self.compute.join("\n    "),
            super::EMITS,
        )
    }
}

impl Grammar<'_, '_> {
    /// A call of an extern in the main control.
    pub(super) fn pna_call(&mut self) -> String {
        let call = self.parts_of_call();
        let ExternCall { low, high, .. } = &call;
        match self.below(24) {
            kind @ 0..9 => call.text(kind, "PNA"),
            9 => "if (exact_.apply().hit) { h.w.p = 1; }".to_owned(),
            10 => "switch (wide_.apply().action_run) { port: { m.color = 1; } change: { h.w.x = 3; } default: { } }".to_owned(),
            11 => "if (ternary_.apply().miss) { m.z = true; }".to_owned(),
            12 => "spread_.apply();".to_owned(),
            13 | 14 => "if (learning_.apply().hit) { h.w.p = 2; }".to_owned(),
            15 | 16 => "values_.apply();".to_owned(),
            17 => format!("send_to_port((PortId_t) 32w{high});"),
            18 => "drop_packet();".to_owned(),
            19 => format!("mirror_packet((MirrorSlotId_t) {}, (MirrorSessionId_t) {});", low & 1, 4 + (high & 3)),
            20 => "if (given.parser_error != error.NoError) { h.a.c = 99; } h.a.q = (TimestampUint_t) given.timestamp;".to_owned(),
            21 => "m.x = (bit<9>) (PortIdUint_t) given.input_port; if (is_net_port(given.input_port)) { m.z = true; }".to_owned(),
            22 => "inner.apply(h.s[1], m.w, m.color);".to_owned(),
            _ => self.one_of(&["exit;", "if (m.color == 1) { return; }"]),
        }
    }

    /// What a deparser does beside emitting.
    pub(super) fn pna_message(&mut self) -> String {
        let condition = self.condition(0);
        format!("if ({condition}) {{ told.pack({{ h.a.d, h.w.a, h.s[0], m.x }}); }}")
    }
}
