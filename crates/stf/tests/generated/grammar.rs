//! Small random programs for v1model whose packets have 12 bits that matter.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// A generator of programs.
pub(super) struct Grammar {
    random: StdRng,
}

/// The fields of the packet: the first three are in the first header, the others in the second.
const FIELDS: [(&str, u32); 5] =
    [("h.a.x", 3), ("h.a.y", 2), ("h.a.z", 3), ("h.b.u", 4), ("h.b.v", 4)];
/// The variables that statements write.
const VARIABLES: [(&str, u32); 2] = [("m.p", 4), ("m.q", 3)];

impl Grammar {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: StdRng::seed_from_u64(seed) }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.random.random_range(0..bound)
    }

    fn number(&mut self, width: u32) -> String {
        let number = self.below(1 << width);
        format!("{width}w{number}")
    }

    /// Returns an expression of a width. Fields of the second header are read only where it may be
    /// valid, since they are undefined otherwise.
    fn expression(&mut self, width: u32, depth: u32, second: bool) -> String {
        if depth == 0 || self.below(4) == 0 {
            let fields: Vec<&str> = FIELDS
                .iter()
                .take(if second { 5 } else { 3 })
                .chain(&VARIABLES)
                .filter(|(_, of)| *of == width)
                .map(|(name, _)| *name)
                .collect();
            if fields.is_empty() || self.below(4) == 0 {
                return self.number(width);
            }
            let chosen = self.below(u32::try_from(fields.len()).expect("a few"));
            return fields[chosen as usize].to_owned();
        }
        let operand = |grammar: &mut Self| grammar.expression(width, depth - 1, second);
        match self.below(9) {
            0 => format!("({} + {})", operand(self), operand(self)),
            1 => format!("({} - {})", operand(self), operand(self)),
            2 => format!("({} & {})", operand(self), operand(self)),
            3 => format!("({} ^ {})", operand(self), operand(self)),
            4 => format!("(~{})", operand(self)),
            5 => format!("({} |+| {})", operand(self), operand(self)),
            6 => format!("({} << {})", operand(self), self.below(3)),
            7 => format!("({} * {})", operand(self), operand(self)),
            _ => {
                let condition = self.condition(depth - 1, second);
                format!("({condition} ? {} : {})", operand(self), operand(self))
            }
        }
    }

    fn condition(&mut self, depth: u32, second: bool) -> String {
        let width = [2, 3, 4][self.below(3) as usize];
        let left = self.expression(width, depth, second);
        let right = self.expression(width, depth, second);
        let operator = ["==", "!=", "<", ">=", "<=", ">"][self.below(6) as usize];
        let comparison = format!("({left} {operator} {right})");
        match self.below(5) {
            0 if depth > 0 => {
                let other = self.condition(depth - 1, second);
                let operator = if self.below(2) == 0 { "&&" } else { "||" };
                format!("({comparison} {operator} {other})")
            }
            1 => format!("!{comparison}"),
            _ => comparison,
        }
    }

    fn statements(&mut self, depth: u32, second: bool) -> String {
        let count = 1 + self.below(3);
        (0..count).map(|_| self.statement(depth, second)).collect()
    }

    fn statement(&mut self, depth: u32, second: bool) -> String {
        match self.below(if depth > 0 { 7 } else { 3 }) {
            0 | 1 => {
                let (name, width) = VARIABLES[self.below(2) as usize];
                format!("{name} = {};\n", self.expression(width, 2, second))
            }
            2 => {
                let (name, width) = FIELDS[self.below(3) as usize];
                format!("{name} = {};\n", self.expression(width, 2, second))
            }
            3 | 4 => {
                let condition = self.condition(2, second);
                let then = self.statements(depth - 1, second);
                let otherwise = self.statements(depth - 1, second);
                format!("if ({condition}) {{\n{then}}} else {{\n{otherwise}}}\n")
            }
            5 if !second => {
                let then = self.statements(depth - 1, true);
                format!("if (h.b.isValid()) {{\n{then}}}\n")
            }
            _ => "switch (t.apply().action_run) { one: { m.q = m.q + 1; } two: { m.p = 1; } }\n"
                .to_owned(),
        }
    }

    /// Returns the cases of a `select` on a field of four bits or three.
    fn cases(&mut self, width: u32, targets: &[&str]) -> String {
        let count = 1 + self.below(3);
        let mut cases = String::new();
        for _ in 0..count {
            let target = targets[self.below(u32::try_from(targets.len()).expect("few")) as usize];
            let set = match self.below(3) {
                0 => self.number(width),
                1 => format!("{} &&& {}", self.number(width), self.number(width)),
                _ => {
                    let low = self.below(1 << width);
                    let high = low + self.below((1 << width) - low);
                    format!("{width}w{low} .. {width}w{high}")
                }
            };
            cases += &format!("{set}: {target};\n");
        }
        if self.below(2) == 0 {
            cases += "default: accept;\n";
        }
        cases
    }

    /// Returns the text of a program.
    pub(super) fn program(&mut self) -> String {
        let first = self.cases(3, &["second", "accept", "reject", "third"]);
        let third = self.cases(2, &["second", "accept"]);
        let ingress = self.statements(3, false);
        let egress = self.statements(2, false);
        let entries: String = (0..3)
            .map(|_| {
                let key = match self.below(3) {
                    0 => "_".to_owned(),
                    1 => self.number(3),
                    _ => format!("{} &&& {}", self.number(3), self.number(3)),
                };
                let action = if self.below(2) == 0 {
                    "one()".to_owned()
                } else {
                    format!("two({})", self.number(4))
                };
                format!("({key}, {}): {action};\n", self.number(2))
            })
            .collect();
        format!(
            "#include <core.p4>
#include <v1model.p4>
header a_t {{ bit<3> x; bit<2> y; bit<3> z; }}
header b_t {{ bit<4> u; bit<4> v; }}
struct headers_t {{ a_t a; b_t b; }}
struct meta_t {{ bit<4> p; bit<3> q; }}
parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t s) {{
    state start {{ packet.extract(h.a); transition select(h.a.x) {{
{first}}} }}
    state third {{ m.q = h.a.z; transition select(h.a.y) {{
{third}}} }}
    state second {{ packet.extract(h.b); transition accept; }}
}}
control V(inout headers_t h, inout meta_t m) {{ apply {{ }} }}
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{
    action one() {{ m.q = 3; }}
    action two(bit<4> n) {{ m.p = n; h.a.x = 1; }}
    table t {{
        key = {{ h.a.z: ternary; h.a.y: exact; }}
        actions = {{ one; two; NoAction; }}
        const default_action = NoAction();
        const entries = {{
{entries}        }}
    }}
    apply {{
        if (s.parser_error != error.NoError) {{ m.q = 7; }}
        if (h.a.isValid()) {{
{ingress}        }}
        s.egress_spec = 5w0 ++ m.p;
    }}
}}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {{
    apply {{
        if (h.a.isValid()) {{
{}        }}
    }}
}}
control U(inout headers_t h, inout meta_t m) {{ apply {{ }} }}
control D(packet_out packet, in headers_t h) {{ apply {{ packet.emit(h); }} }}
V1Switch(P(), V(), I(), E(), U(), D()) main;
",
            egress.replace(
                "switch (t.apply().action_run) { one: { m.q = m.q + 1; } two: { m.p = 1; } }",
                "m.p = m.p + 1;"
            )
        )
    }
}
