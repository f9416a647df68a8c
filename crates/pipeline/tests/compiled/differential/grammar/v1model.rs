//! Programs of both versions of v1model, with externs, copies and checksums.

use super::externs::LARGE;
use super::{Grammar, Source, Stage};

/// The declarations of both controls.
#[derive(Clone, Debug)]
pub(super) struct Controls {
    ingress: String,
    egress: String,
}

impl Controls {
    pub(super) fn new(grammar: &mut Grammar<'_, '_>) -> Self {
        let instances = grammar.v1model_instances();
        let ingress = format!("{instances}{}", grammar.v1model_tables());
        Self { ingress, egress: grammar.v1model_instances() }
    }
}

impl Source {
    /// Returns the text of a program of v1model.
    pub(super) fn v1model_text(&self, controls: &Controls) -> String {
        let join = |statements: &[String]| statements.join("\n        ");
        let version = if self.is_old { "20180101" } else { "20200408" };
        let Controls { ingress, egress } = controls;
        format!(
            "#include <core.p4>
#define V1MODEL_VERSION {version}
#include <v1model.p4>
{}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{
{} }}
control V(inout H h, inout M m) {{ apply {{
        {} }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ {ingress}
    apply {{
        {} }} }}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ {egress}
    apply {{
        {} }} }}
control C(inout H h, inout M m) {{ apply {{
        {} }} }}
control D(packet_out b, in H h) {{ apply {{ {} }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;",
            self.declarations(),
            self.states("", &self.parser),
            join(&self.verify),
            join(&self.ingress),
            join(&self.egress),
            join(&self.compute),
            self.emits(),
        )
    }
}

const ALGORITHMS: [&str; 8] =
    ["crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"];

impl Grammar<'_, '_> {
    fn v1model_instances(&mut self) -> String {
        let mut counts = || self.one_of(&["packets", "bytes", "packets_and_bytes"]);
        let counted = counts();
        let metered = self.one_of(&["packets", "bytes"]);
        let [index, value_index] = match self.is_old {
            true => ["", ""],
            false => ["<bit<32>>", ", bit<32>"],
        };
        format!(
            "register<bit<32>{value_index}>(4) small; register<bit<80>{value_index}>(4) large; counter{index}(4, CounterType.{counted}) counted;
    meter{index}(4, MeterType.{metered}) metered; Inner() inner; Checksum16() sum;"
        )
    }

    fn v1model_tables(&mut self) -> String {
        let hits = self.one_of(&["packets", "bytes", "packets_and_bytes"]);
        let rated = self.one_of(&["packets", "bytes"]);
        let chosen = self.one_of(&ALGORITHMS);
        // A selector with a random hash chooses another member for each packet.
        let chosen = if chosen == "random" { "crc16".to_owned() } else { chosen };
        let default = self.one_of(&["port(1, 5)", "drop()", "NoAction()", "note(7)"]);
        let [wide, xors, change, changed, ternary_keys, spread_keys] = match self.is_simple {
            true => [
                "bit<64> w",
                "h.a.q = h.a.q ^ w;",
                "inout bit<7> y",
                "h.w.x",
                "",
                "h.a.d: selector;",
            ],
            false => [
                "bit<128> w",
                "h.w.a = h.w.a ^ w;",
                "inout bit<65> y",
                "h.w.y",
                "h.w.z: ternary; h.a.s: range; h.u.a.a: optional;",
                "h.a.d: selector; h.w.b: selector;",
            ],
        };
        let exact_keys = self.exact_keys();
        let wide_key = self.wide_keys();
        let ternary_keys = self.ternary_keys(ternary_keys);
        let large = self.one_of(&["", "many;"]);
        let drops = match self.is_old {
            true => self.one_of(&["mark_to_drop();", "mark_to_drop(s);"]),
            false => "mark_to_drop(s);".to_owned(),
        };
        format!(
            "
    direct_counter(CounterType.{hits}) hits; direct_meter<bit<8>>(MeterType.{rated}) rated;
    action_selector(HashAlgorithm.{chosen}, 16, 10) chosen; action_profile(16) profiled;
    action port(bit<9> to, {wide}) {{ s.egress_spec = to; {xors} }}
    action note(bit<16> c) {{ h.a.c = c; }}
    action rate(bit<16> c) {{ h.a.c = c; rated.read(m.color); }}
    action counts(bit<16> to) {{ hits.count(); m.y = (int<16>) to; }}
    {LARGE}
    action group(bit<16> to) {{ s.mcast_grp = to; }}
    action change({change}, bit<4> l) {{ h.a.l = l; y = ~y; if (l == 2) {{ exit; }} }}
    action drop() {{ {drops} }}
    table exact_ {{ key = {{ {exact_keys} }} actions = {{ port; note; counts; group; drop; {large} NoAction; }}
        default_action = {default}; counters = hits; }}
    table wide_ {{ key = {{ {wide_key} }} actions = {{ port; change({changed}); {large} NoAction; }} default_action = NoAction(); }}
    table ternary_ {{ key = {{ {ternary_keys} }} actions = {{ rate; drop; NoAction; }}
        default_action = NoAction(); meters = rated; }}
    table spread_ {{ key = {{ h.a.l: exact; {spread_keys} }} actions = {{ port; note; }} implementation = chosen; }}
    table profiled_ {{ key = {{ h.a.l: exact; }} actions = {{ port; note; }} implementation = profiled; }}
    table timed_ {{ key = {{ h.a.v: exact; }} actions = {{ port; note; NoAction; }} default_action = NoAction();
        support_timeout = true; }}
"
        )
    }

    /// Returns a call of an extern in ingress or egress.
    pub(super) fn v1model_call(&mut self, stage: Stage) -> String {
        let index = format!("(bit<32>) {}", self.leaf(3));
        let value = self.expression(32, 1);
        let (low, high) = (self.below(5), self.below(20));
        let algorithm = self.one_of(&ALGORITHMS);
        let data: &[&str] = match self.is_simple {
            true => &["{ h.a.d, h.a.q }", "{ h.a.v, h.a.l, h.a.c }", "{ h.kept, h.a.q }"],
            false => &[
                "{ h.a.d, h.w.a }",
                "{ h.a, m.x }",
                "{ h.w.z, h.s[0].t, h.a.l }",
                "{ m.v, h.u.a.a }",
            ],
        };
        let data = self.one_of(data);
        match self.below(27) {
            0 if !self.is_simple => format!("random(m.k, 32w{low}, 32w{high});"),
            1 if algorithm != "random" || !self.is_simple => {
                format!("hash(m.csum, HashAlgorithm.{algorithm}, 16w{low}, {data}, 32w{high});")
            }
            2 => format!("log_msg(\"{{}} and {{}}\", {{ {value}, h.a.d }});"),
            3 => "log_msg(\"here\");".to_owned(),
            4 => format!("truncate(32w{});", 10 + high),
            5 => format!("assert(h.a.c != 16w{low});"),
            6 => format!("assume(h.a.c != 16w{});", 10 + low),
            7 if !self.is_simple => "inner.apply(h.s[1], m.w, m.color);".to_owned(),
            8 => self.one_of(&["exit;", "if (m.color == 1) { return; }"]),
            9 if self.is_old => "if (h.a.l == 6) { mark_to_drop(); }".to_owned(),
            9 | 10 => "if (h.a.l == 5) { mark_to_drop(s); }".to_owned(),
            11 => format!("small.read(m.k, {index}); small.write({index}, {value});"),
            12 if !self.is_simple => {
                format!("large.read(m.v, {index}); large.write({index}, m.v + (bit<80>) h.a.c);")
            }
            13 => format!("counted.count({index});"),
            14 => format!("metered.execute_meter({index}, m.color);"),
            15 => format!("m.csum = sum.get({data});"),
            16 if !self.is_simple || low < 2 => self.copies(stage),
            17 | 18 if !self.is_simple => self.copies(stage),
            _ if stage == Stage::Egress => format!("small.read(m.k, {index});"),
            19 => self.one_of(&["s.mcast_grp = 4;", "s.egress_spec = 3;"]),
            20 if !self.is_simple || low == 0 => format!("digest<Message>(1, {});", self.message()),
            21 => format!("s.egress_spec = 9w{high};"),
            _ => self.apply(),
        }
    }

    /// Returns a call that copies the packet or starts another pass.
    fn copies(&mut self, stage: Stage) -> String {
        let first = "if (m.rounds < 2) { m.rounds = m.rounds + 1;";
        let kept = self.below(3);
        let session = 4 + self.below(3);
        match (stage, self.below(4)) {
            (Stage::Egress, 0) => {
                format!("{first} clone_preserving_field_list(CloneType.E2E, {session}, 1); }}")
            }
            (Stage::Egress, 1) => format!("{first} recirculate_preserving_field_list(2); }}"),
            (Stage::Egress, 2) => {
                format!("{first} clone3(CloneType.E2E, {session}, {{ m.rounds, m.k }}); }}")
            }
            (Stage::Egress, _) if self.is_old => {
                format!("{first} recirculate({{ m.rounds, m.k, s.egress_port }}); }}")
            }
            (Stage::Egress, _) => {
                format!("if (s.instance_type == 0) {{ clone(CloneType.E2E, {session}); }}")
            }
            (_, 0) => {
                format!("{first} clone_preserving_field_list(CloneType.I2E, {session}, {kept}); }}")
            }
            (_, 1) => format!("{first} resubmit_preserving_field_list({kept}); }}"),
            (_, 2) => format!("{first} clone3(CloneType.I2E, {session}, {{ m.rounds, m.k }}); }}"),
            (_, _) if self.below(2) == 0 => format!("clone(CloneType.I2E, {session});"),
            (_, _) => format!("{first} resubmit({{ m.rounds, m.k }}); }}"),
        }
    }

    /// Returns a statement that verifies or updates a checksum.
    pub(super) fn checksum(&mut self, what: &str) -> String {
        let condition = self.condition(0);
        let to: &[&str] =
            if self.is_simple { &["h.a.c", "m.csum"] } else { &["h.a.c", "m.csum", "h.u.b.b"] };
        let to = self.one_of(to);
        let data: &[&str] = match self.is_simple {
            true => {
                &["{ h.a.v, h.a.l, h.a.s, h.a.d, h.a.q }", "{ h.a.d, m.k }", "{ h.a.d, h.kept }"]
            }
            false => &[
                "{ h.a.v, h.a.l, h.a.s, h.a.d, h.a.q }",
                "{ h.w.a, h.w.b, h.w.x, h.w.y }",
                "{ h.a.d, h.u.a.a, h.s[0].w }",
                "{ h.o.n, h.o.o, h.a.q }",
                "{ h.w.x, h.w.a, m.x }",
                "{ h.kept, h.s[1], h.a.d }",
            ],
        };
        let data = self.one_of(data);
        let algorithm = match self.below(2) {
            0 => "csum16".to_owned(),
            _ => self.one_of(&[
                "crc16",
                "xor16",
                "crc32",
                "identity",
                "crc16_custom",
                "crc32_custom",
            ]),
        };
        let with = if self.is_simple { "" } else { "_with_payload" };
        let with = self.one_of(&["", "", with]);
        format!("{what}_checksum{with}({condition}, {data}, {to}, HashAlgorithm.{algorithm});")
    }
}
