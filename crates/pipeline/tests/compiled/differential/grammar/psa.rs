//! Programs of PSA, with ingress, egress, and the metadata between them.

use super::{Grammar, Source, Stage};

const TYPES: &str = "struct Bridged { bit<16> c; bit<32> k; N n; }
struct Again { bit<2> rounds; }
struct Cloned { bit<16> c; }
struct Nothing { }
";

/// The types of the metadata that a packet carries from one block to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// The types for packets that are resubmitted, recirculated, normal, cloned at ingress, and
    /// cloned at egress.
    types: [&'static str; 5],
    /// The statements at the beginning of both parsers.
    parsers: [&'static str; 2],
    /// The statements of both deparsers.
    deparsers: [&'static str; 2],
}

/// The choices: several types, one type, the type of the user metadata, an empty type.
const CARRIED: [Carried; 4] = [
    Carried {
        types: ["Again", "Again", "Bridged", "Cloned", "Nothing"],
        parsers: [
            "m.rounds = again.rounds + back.rounds;",
            "m.csum = normal.c + cloned.c; m.k = normal.k; m.n = normal.n;",
        ],
        deparsers: [
            "again.rounds = m.rounds + 1;
    if (psa_normal(o)) { normal = { h.a.c, m.k, m.n }; } else if (psa_clone_i2e(o)) { cloned.c = m.csum; }",
            "if (psa_recirculate(o, given)) { back.rounds = m.rounds + 1; }",
        ],
    },
    Carried {
        types: ["Again"; 5],
        parsers: [
            "m.rounds = again.rounds + back.rounds;",
            "m.rounds = normal.rounds + cloned.rounds + other.rounds;",
        ],
        deparsers: [
            "normal.rounds = m.rounds; if (psa_resubmit(o)) { again.rounds = m.rounds + 1; }",
            "back.rounds = m.rounds + 1; if (psa_clone_e2e(o)) { cloned.rounds = 1; }",
        ],
    },
    Carried {
        types: ["M"; 5],
        parsers: ["m = again; m.rounds = again.rounds + back.rounds;", "m = normal;"],
        deparsers: [
            "normal = m; again = m; again.rounds = m.rounds + 1; cloned = m;",
            "back = m; back.rounds = m.rounds + 1;",
        ],
    },
    Carried { types: ["Nothing"; 5], parsers: [""; 2], deparsers: [""; 2] },
];

impl Carried {
    /// Chooses one of [`CARRIED`]. Also returns whether the program counts the passes of a packet.
    pub(super) fn choose(grammar: &mut Grammar<'_, '_>) -> (Self, bool) {
        let chosen = grammar.below(2 * CARRIED.len() as u32) as usize;
        let known = CARRIED.get(chosen % CARRIED.len()).copied().unwrap_or(CARRIED[0]);
        let carries = chosen < CARRIED.len() && known.types[0] != "Nothing";
        (
            if carries { known } else { Self { parsers: [""; 2], deparsers: [""; 2], ..known } },
            carries,
        )
    }
}

/// The declarations of both controls.
#[derive(Clone, Debug)]
pub(super) struct Controls {
    ingress: String,
    egress: String,
    carried: Carried,
    /// The type of the user metadata in egress.
    metadata: &'static str,
    file: String,
}

impl Controls {
    pub(super) fn new(grammar: &mut Grammar<'_, '_>, carried: Carried) -> Self {
        let file = match grammar.has_lengths {
            true => "dpdk/psa.p4".to_owned(),
            false => grammar.one_of(&["psa.p4", "bmv2/psa.p4"]),
        };
        let group = "action group(bit<16> to) { multicast(o, (MulticastGroup_t) (bit<32>) to); }";
        let instances = grammar.shared_instances();
        let tables = grammar.shared_tables(
            "send_to_port(o, (PortId_t) (bit<32>) to);",
            "ingress_drop(o);",
            [group, "group;"],
        );
        let ingress = format!("{instances}{tables}");
        let instances = grammar.shared_instances();
        let tables = grammar.shared_tables("h.a.d = (bit<48>) to;", "egress_drop(o);", ["", ""]);
        let egress = format!("{instances}{tables}");
        let metadata = if grammar.below(3) == 0 { "Other" } else { "M" };
        Self { ingress, egress, carried, metadata, file }
    }
}

impl Source {
    /// Returns the text of a program of PSA.
    pub(super) fn psa_text(&self, controls: &Controls) -> String {
        let Controls { ingress, egress, carried, metadata, file } = controls;
        let Carried { types: [again, back, normal, cloned, other], parsers, deparsers } = carried;
        let join = |statements: &[String]| statements.join("\n        ");
        let emits = self.emits();
        format!(
            "#include <core.p4>
#include <{file}>
{}{TYPES}
parser P(packet_in b, out H h, inout M m, in psa_ingress_parser_input_metadata_t given, in {again} again, in {back} back) {{
{} }}
control I(inout H h, inout M m, in psa_ingress_input_metadata_t given, inout psa_ingress_output_metadata_t o) {{ {ingress}
    apply {{
        {} }} }}
control ID(packet_out b, out {cloned} cloned, out {again} again, out {normal} normal, inout H h, in M m,
    in psa_ingress_output_metadata_t o) {{ Digest<Message>() told; InternetChecksum() sum; apply {{
    {} {}
    {emits} }} }}
parser EP(packet_in b, out H h, inout {metadata} m, in psa_egress_parser_input_metadata_t given, in {normal} normal,
    in {cloned} cloned, in {other} other) {{
{} }}
control E(inout H h, inout {metadata} m, in psa_egress_input_metadata_t given, inout psa_egress_output_metadata_t o) {{ {egress}
    apply {{
        {} }} }}
control ED(packet_out b, out {other} cloned, out {back} back, inout H h, in {metadata} m, in psa_egress_output_metadata_t o,
    in psa_egress_deparser_input_metadata_t given) {{ InternetChecksum() sum; apply {{
    {} {}
    {emits} }} }}
PSA_Switch(IngressPipeline(P(), I(), ID()), PacketReplicationEngine(), EgressPipeline(EP(), E(), ED()),
    BufferingQueueingEngine()) main;",
            self.declarations(),
            self.states(parsers[0], &self.parser),
            join(&self.ingress),
            deparsers[0],
            join(&self.compute),
            self.states(if *metadata == "M" { parsers[1] } else { "" }, &self.egress_parser),
            join(&self.egress),
            if *metadata == "M" || !deparsers[1].contains("= m;") { deparsers[1] } else { "" },
            join(&self.ending),
        )
    }
}

impl Grammar<'_, '_> {
    /// Returns a call of an extern or an action in a control.
    pub(super) fn psa_call(&mut self, stage: Stage) -> String {
        let first = self.first_pass();
        let high = 1 + self.below(20);
        if stage == Stage::Egress {
            return match self.below(8) {
                0 => "if (given.packet_path != PSA_PacketPath_t.CLONE_E2E) { o.clone = true; o.clone_session_id = (CloneSessionId_t) 5; }".to_owned(),
                1 => "if (h.a.l == 3) { egress_drop(o); }".to_owned(),
                2 => "assert(h.a.c != 16w9);".to_owned(),
                3 => "assume(h.a.c != 16w8);".to_owned(),
                _ => self.shared_call(stage),
            };
        }
        match self.below(20) {
            0 => format!("send_to_port(o, (PortId_t) 32w{high});"),
            1 => "if (h.a.l == 5) { ingress_drop(o); }".to_owned(),
            2 => "if (h.a.v[1:0] == 1) { o.clone = true; o.clone_session_id = (CloneSessionId_t) 6; }".to_owned(),
            3 => format!("if ({first} && h.a.l[1:0] == 2) {{ o.resubmit = true; }}"),
            4 => format!("if ({first} && h.a.l[1:0] == 3) {{ send_to_port(o, PSA_PORT_RECIRCULATE); }}"),
            5 => "if (h.a.l[2:0] == 4) { multicast(o, (MulticastGroup_t) 32w4); }".to_owned(),
            6 => format!("{} send_to_port(o, (PortId_t) 32w{high});", "assert(h.a.c != 16w7);"),
            7 => "assume(h.a.c != 16w6);".to_owned(),
            _ => self.shared_call(stage),
        }
    }

    /// Returns a statement of a deparser that emits nothing.
    pub(super) fn psa_message(&mut self, stage: Stage) -> String {
        let condition = self.condition(0);
        let message = self.message();
        let mut kinds = vec![
            "sum.add({ h.kept, h.a.d, h.a.q }); h.a.c = sum.get();".to_owned(),
            format!(
                "if ({condition}) {{ sum.set_state(h.a.c); }} sum.subtract({{ h.a.d }}); h.a.c = sum.get_state();"
            ),
        ];
        if stage == Stage::Ingress {
            let ways = ["psa_clone_i2e(o)", "psa_resubmit(o)", "psa_normal(o)"];
            let way = self.one_of(&ways);
            kinds.push(format!("if ({condition}) {{ told.pack({message}); }}"));
            kinds.push(format!("if ({way}) {{ h.a.l = h.a.l + 1; }}"));
        } else {
            let way = self.one_of(&["psa_clone_e2e(o)", "psa_recirculate(o, given)"]);
            kinds.push(format!("if ({way}) {{ h.a.l = h.a.l + 1; }}"));
            kinds.push("h.a.q = (bit<64>) (PortIdUint_t) given.egress_port;".to_owned());
        }
        let position = self.below(kinds.len() as u32) as usize;
        kinds.swap_remove(position)
    }
}
