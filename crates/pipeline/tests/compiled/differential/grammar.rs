//! Programs of v1model, PSA and PNA made of choices: numbers of all widths, headers that come and go, unions, stacks, varbits,
//! externs, tables, copies.

#[path = "grammar/externs.rs"]
mod externs;
#[path = "grammar/pna.rs"]
mod pna;
#[path = "grammar/psa.rs"]
mod psa;

use std::fmt::Write;

/// What a program and its packets are made from: gives a number below its argument.
pub(crate) type Choices<'c> = dyn FnMut(u32) -> u32 + 'c;

/// A program in parts that can be left out one by one.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) parser: Vec<String>,
    pub(crate) verify: Vec<String>,
    pub(crate) ingress: Vec<String>,
    pub(crate) egress: Vec<String>,
    pub(crate) compute: Vec<String>,
    /// The parser has nothing that the interpreter must do, so that packets may go in bursts.
    pub(crate) plain: bool,
    /// A program of PSA runs as psa_switch runs it.
    pub(crate) follows: bool,
    architecture: Architecture,
}

/// Of a program. One of PSA or PNA has what its (ingress) deparser does beside emitting in the place of checksums.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Architecture {
    V1model,
    Psa,
    Pna,
}

/// States of the parser behind the first, and what leads there.
const ALL_STATES: [&str; 2] = [
    "(0, _): accept; (1, 0 .. 9): stack; (1, _): options; (2 &&& 0xe, _): either; (4, _): wide; (5, _): ahead;
            (_, 7): reject; (6, _): values; (7, _): skip; default: accept;",
    "state values { transition select(h.a.c) { known: wide; _: stack; } }
    state wide { b.extract(h.w); transition select(h.w.a) { 0: accept; 1 .. 77: options; _: either; } }
    state either { transition select(h.a.l) { 1: one; 2: two; default: accept; } }
    state one { b.extract(h.u.a); transition accept; }
    state two { b.extract(h.u.b); transition accept; }
    state ahead { m.w = b.lookahead<bit<128>>(); h.w = b.lookahead<W>(); m.k = (bit<32>) b.lookahead<bit<13>>();
        transition accept; }",
];

const PLAIN_STATES: [&str; 2] = [
    "(0, _): accept; (1, 0 .. 9): stack; (1, _): options; (4, _): wide; (5, _): ahead; (_, 7): reject; (7, _): skip;
            default: accept;",
    "state wide { b.extract(h.w); transition select(h.w.p) { 0: accept; 1 .. 77: options; _: stack; } }
    state ahead { h.w = b.lookahead<W>(); m.k = (bit<32>) b.lookahead<bit<13>>(); transition accept; }",
];

const DECLARATIONS: &str = "header A { bit<4> v; bit<4> l; int<8> s; bit<16> c; bit<48> d; bit<64> q; }
header W { bit<128> a; bit<96> b; bit<7> x; bit<65> y; int<72> z; bit<8> p; }
header O { bit<8> n; varbit<64> o; }
header One { bit<8> a; }
header Two { bit<16> b; }
header_union U { One a; Two b; }
header S { bit<8> t; bit<8> w; }
struct N { bit<24> i; bool j; }
struct H { A a; W w; O o; U u; S[3] s; A kept; W wide; O other; }
struct M { bit<9> x; int<16> y; bool z; bit<64> q; bit<128> w; @field_list(1) bit<32> k; @field_list(1, 2) N n;
    bit<80> v; bit<8> color; bit<16> csum;
    @field_list(0, 1, 2) bit<2> rounds; }
struct Message { bit<48> d; bit<128> w; S s; bit<9> x; }
bit<16> mixed(in bit<16> a, inout bit<128> b, out bit<9> c) {
    b = b + 1; c = (bit<9>) a; if (a == 3) { return 7; } b[40:30] = 11w5; return a * 3; }
W widened(in W w, in bit<7> x) { W made = w; made.setValid(); made.x = x; return made; }
control Inner(inout S s, inout bit<128> w, out bit<8> t) {
    action bump(inout bit<128> y, in bit<8> by) { y = y + (bit<128>) by; if (y[0:0] == 1) { exit; } }
    apply { if (s.t == 3) { t = 1; return; } bump(w, s.w); t = s.t ++ 1w1 == 9w7 ? 8w1 : 8w2; } }
";

const INGRESS: &str = "register<bit<32>, bit<32>>(4) small; register<bit<80>, bit<32>>(4) large; counter<bit<32>>(4, CounterType.packets_and_bytes) counted;
    meter<bit<32>>(4, MeterType.packets) metered; direct_counter(CounterType.packets) hits; direct_meter<bit<8>>(MeterType.bytes) rated;
    action_selector(HashAlgorithm.crc16, 16, 10) chosen; Inner() inner;
    action port(bit<9> to, bit<128> w) { s.egress_spec = to; h.w.a = h.w.a ^ w; }
    action note(bit<16> c) { h.a.c = c; rated.read(m.color); }
    action group(bit<16> to) { s.mcast_grp = to; }
    action change(inout bit<65> y, bit<4> l) { h.a.l = l; y = ~y; if (l == 2) { exit; } }
    action drop() { mark_to_drop(s); }
    table exact_ { key = { h.a.v: exact; h.a.isValid(): exact; } actions = { port; note; group; drop; NoAction; }
        default_action = port(1, 5); counters = hits; }
    table wide_ { key = { h.w.a: lpm; } actions = { port; change(h.w.y); NoAction; } default_action = NoAction(); }
    table ternary_ { key = { h.w.z: ternary; h.a.s: range; h.u.a.a: optional; } actions = { note; drop; NoAction; }
        default_action = NoAction(); meters = rated; }
    table spread_ { key = { h.a.l: exact; h.a.d: selector; h.w.b: selector; } actions = { port; note; }
        implementation = chosen; }
";

const EMITS: &str = "b.emit(h.a); b.emit(h.w); b.emit(h.o); b.emit(h.u); b.emit(h.s); b.emit(h.kept); b.emit(h.wide);
    b.emit(h.other);";

/// Names, widths and signs of what can be read and written in all blocks.
const FIELDS: [(&str, u32, bool); 29] = [
    ("h.a.v", 4, false),
    ("h.a.l", 4, false),
    ("h.a.s", 8, true),
    ("h.a.c", 16, false),
    ("h.a.d", 48, false),
    ("h.a.q", 64, false),
    ("h.w.a", 128, false),
    ("h.w.b", 96, false),
    ("h.w.x", 7, false),
    ("h.w.y", 65, false),
    ("h.w.z", 72, true),
    ("h.w.p", 8, false),
    ("h.o.n", 8, false),
    ("h.u.a.a", 8, false),
    ("h.u.b.b", 16, false),
    ("h.s[0].t", 8, false),
    ("h.s[1].w", 8, false),
    ("h.s[2].t", 8, false),
    ("h.kept.q", 64, false),
    ("h.wide.y", 65, false),
    ("m.x", 9, false),
    ("m.y", 16, true),
    ("m.q", 64, false),
    ("m.w", 128, false),
    ("m.k", 32, false),
    ("m.n.i", 24, false),
    ("m.v", 80, false),
    ("m.color", 8, false),
    ("m.csum", 16, false),
];

impl Source {
    pub(crate) fn new(choose: &mut Choices<'_>) -> Self {
        let architecture = match choose(6) {
            3 => Architecture::Pna,
            4 | 5 => Architecture::Psa,
            _ => Architecture::V1model,
        };
        let mut grammar = Grammar { choose, architecture };
        let some = |grammar: &mut Grammar<'_, '_>, most: u32, stage: Stage| {
            let count = 1 + grammar.below(most);
            (0..count).map(|_| grammar.statement(stage, 2)).collect()
        };
        Self {
            parser: some(&mut grammar, 3, Stage::Parser),
            verify: match architecture {
                Architecture::Psa | Architecture::Pna => Vec::new(),
                Architecture::V1model => {
                    (0..grammar.below(2)).map(|_| grammar.checksum("verify")).collect()
                }
            },
            ingress: some(&mut grammar, 10, Stage::Ingress),
            egress: match architecture {
                Architecture::Pna => Vec::new(),
                Architecture::V1model | Architecture::Psa => some(&mut grammar, 5, Stage::Egress),
            },
            compute: match architecture {
                Architecture::Psa => (0..grammar.below(2)).map(|_| grammar.psa_message()).collect(),
                Architecture::Pna => (0..grammar.below(2)).map(|_| grammar.pna_message()).collect(),
                Architecture::V1model => {
                    (0..grammar.below(3)).map(|_| grammar.checksum("update")).collect()
                }
            },
            plain: grammar.below(2) == 1,
            follows: architecture == Architecture::Psa && grammar.below(3) == 0,
            architecture,
        }
    }

    /// Parts that can be left out.
    pub(crate) fn parts(&mut self) -> [&mut Vec<String>; 5] {
        [&mut self.parser, &mut self.verify, &mut self.ingress, &mut self.egress, &mut self.compute]
    }

    pub(crate) fn text(&self) -> String {
        match self.architecture {
            Architecture::V1model => {}
            Architecture::Psa => return self.psa_text(),
            Architecture::Pna => return self.pna_text(),
        }
        let join = |statements: &[String]| statements.join("\n        ");
        format!(
            "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
{DECLARATIONS}
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{
{} }}
control V(inout H h, inout M m) {{ apply {{
        {} }} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ {INGRESS}
    apply {{ s.egress_spec = 1;
        {} }} }}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ Inner() inner;
    apply {{
        {} }} }}
control C(inout H h, inout M m) {{ apply {{
        {} }} }}
control D(packet_out b, in H h) {{ apply {{ {EMITS} }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;",
            self.states(""),
            join(&self.verify),
            join(&self.ingress),
            join(&self.egress),
            join(&self.compute),
        )
    }

    /// The states of a parser, which begins with this.
    fn states(&self, begin: &str) -> String {
        let [leads, states] = if self.plain { PLAIN_STATES } else { ALL_STATES };
        let set = if self.plain { "" } else { "value_set<bit<16>>(4) known;" };
        let start = self.parser.join("\n        ");
        // Only BMv2 has an answer for bits that are no whole bytes.
        let skipped = match self.architecture {
            Architecture::V1model => "h.a.l",
            Architecture::Psa | Architecture::Pna => "h.a.l << 3",
        };
        format!(
            "    {set}
    state start {{ b.extract(h.a);
        {begin} {start}
        transition select(h.a.v, h.a.c) {{
            {leads} }} }}
    {states}
    state options {{ b.extract(h.o, (bit<32>) h.a.l << 3); transition accept; }}
    state stack {{ b.extract(h.s.next); transition select(h.s.last.t) {{ 0: stack; 1: wide; default: accept; }} }}
    state skip {{ b.advance((bit<32>) {skipped}); transition stack; }}"
        )
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Parser,
    Ingress,
    Egress,
}

struct Grammar<'g, 'c> {
    choose: &'g mut Choices<'c>,
    architecture: Architecture,
}

impl Grammar<'_, '_> {
    fn below(&mut self, bound: u32) -> u32 {
        (self.choose)(bound)
    }

    fn one_of(&mut self, of: &[&str]) -> String {
        let position = self.below(of.len() as u32) as usize;
        of.get(position).copied().unwrap_or_default().to_owned()
    }

    fn field(&mut self) -> (&'static str, u32, bool) {
        let position = self.below(FIELDS.len() as u32) as usize;
        FIELDS.get(position).copied().unwrap_or(("m.k", 32, false))
    }

    /// A number of an unsigned type.
    fn constant(&mut self, width: u32) -> String {
        let bits = width.min(60);
        let most = (1_u64 << bits) - 1;
        let number = match self.below(4) {
            0 => 0,
            1 => most,
            2 => u64::from(self.below(10)) & most,
            _ => (u64::from(self.below(1 << 16)) << 20 | u64::from(self.below(1 << 20))) & most,
        };
        format!("{width}w{number}")
    }

    /// A field in this unsigned width.
    fn leaf(&mut self, width: u32) -> String {
        if self.below(4) == 0 {
            return self.constant(width);
        }
        let (name, of, signed) = self.field();
        match (signed, of == width) {
            (false, true) => name.to_owned(),
            (false, false) => format!("((bit<{width}>) {name})"),
            (true, true) => format!("((bit<{width}>) {name})"),
            // The sign goes along.
            (true, false) => format!("((bit<{width}>) (int<{width}>) {name})"),
        }
    }

    /// Of a stack, and beyond it.
    fn index(&mut self) -> String {
        let (name, width, signed) = self.field();
        if signed { "h.a.l[1:0]".to_owned() } else { format!("{name}[{}:0]", 1.min(width - 1)) }
    }

    fn expression(&mut self, width: u32, depth: u32) -> String {
        if depth == 0 {
            return self.leaf(width);
        }
        let depth = depth - 1;
        match self.below(11) {
            0..=2 => {
                let operator = self.one_of(&["+", "-", "*", "&", "|", "^", "|+|", "|-|"]);
                let (left, right) = (self.expression(width, depth), self.expression(width, depth));
                format!("({left} {operator} {right})")
            }
            3 => {
                let operand = self.expression(width, depth);
                format!("({}{operand})", self.one_of(&["~", "-"]))
            }
            4 => {
                let (operand, amount) = (self.expression(width, depth), self.leaf(8));
                format!("({operand} {} {amount})", self.one_of(&["<<", ">>"]))
            }
            5 if width > 1 => {
                let low = 1 + self.below(width - 1);
                let (left, right) =
                    (self.expression(width - low, depth), self.expression(low, depth));
                format!("({left} ++ {right})")
            }
            6 if width < 120 => {
                let from = width + self.below(129 - width);
                let low = self.below(from - width + 1);
                let operand = self.expression(from, depth);
                format!("({operand})[{}:{low}]", low + width - 1)
            }
            7 => {
                let condition = self.condition(0);
                let (then, otherwise) =
                    (self.expression(width, depth), self.expression(width, depth));
                format!("({condition} ? {then} : {otherwise})")
            }
            8 if width > 1 => {
                let (left, right) = (self.leaf(width), self.leaf(width));
                let operator = self.one_of(&["+", "|+|", "|-|", "*"]);
                format!(
                    "((bit<{width}>) ((int<{width}>) {left} {operator} (int<{width}>) {right}))"
                )
            }
            9 => {
                let index = self.index();
                format!("((bit<{width}>) h.s[{index}].w)")
            }
            _ => self.leaf(width),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        match self.below(8) {
            0 => {
                let header = self
                    .one_of(&["h.a", "h.w", "h.o", "h.u.a", "h.u.b", "h.u", "h.s[1]", "h.kept"]);
                format!("{header}.isValid()")
            }
            1 => self.one_of(&[
                "(h.a == h.kept)",
                "(h.w != h.wide)",
                "(h.s[0] == h.s[2])",
                "m.z",
                "m.n.j",
                "(h.u == h.u)",
            ]),
            2 => {
                let (left, right) = (self.leaf(16), self.leaf(16));
                let comparison = self.one_of(&["<", "<=", ">", ">="]);
                format!("((int<16>) {left} {comparison} (int<16>) {right})")
            }
            _ => {
                let widths = [1, 8, 16, 64, 65, 128];
                let position = self.below(widths.len() as u32) as usize;
                let width = widths.get(position).copied().unwrap_or(8);
                let (left, right) = (self.expression(width, depth), self.leaf(width));
                let comparison = self.one_of(&["==", "!=", "<", "<=", ">", ">="]);
                format!("({left} {comparison} {right})")
            }
        }
    }

    fn assignment(&mut self) -> String {
        let (name, width, signed) = self.field();
        match self.below(4) {
            0 => {
                let high = self.below(width);
                let low = self.below(high + 1);
                let value = self.expression(high - low + 1, 1);
                format!("{name}[{high}:{low}] = {value};")
            }
            _ if signed => {
                let value = self.expression(width, 2);
                format!("{name} = (int<{width}>) {value};")
            }
            _ => {
                let value = self.expression(width, 2);
                format!("{name} = {value};")
            }
        }
    }

    fn statement(&mut self, stage: Stage, depth: u32) -> String {
        match self.below(16) {
            0..=3 => self.assignment(),
            4 => {
                let header = self.one_of(&[
                    "h.a", "h.w", "h.o", "h.u.a", "h.u.b", "h.s[0]", "h.s[2]", "h.kept", "h.wide",
                ]);
                format!("{header}.{}();", self.one_of(&["setValid", "setInvalid"]))
            }
            5 if stage == Stage::Parser => self.one_of(&[
                "h.kept = h.a;",
                "h.a = h.kept;",
                "h.wide = h.w;",
                "h.w = h.wide;",
                "h.o = h.other;",
                "h.s[0] = h.s[1];",
                "h.u.a = { 7 };",
                "m.n = { 5, true };",
                "m.n.j = h.a == h.kept;",
            ]),
            5 => self.one_of(&[
                "h.kept = h.a;",
                "h.a = h.kept;",
                "h.wide = h.w;",
                "h.w = h.wide;",
                "h.other = h.o;",
                "h.o = h.other;",
                "h.s[0] = h.s[1];",
                "h.s.push_front(1);",
                "h.s.pop_front(1);",
                "h.s.push_front(2);",
                "h.u.a = { 7 };",
                "h.s[2] = { 1, h.a.c[7:0] };",
                "m.n = { 5, true };",
                "m.n.j = h.a == h.kept;",
                "h.u.b = { h.a.c };",
            ]),
            6 => {
                let (index, value) = (self.index(), self.expression(8, 1));
                format!("h.s[{index}].t = {value};")
            }
            7 if depth > 0 => {
                let condition = self.condition(1);
                let (then, otherwise) =
                    (self.statement(stage, depth - 1), self.statement(stage, depth - 1));
                format!("if ({condition}) {{ {then} }} else {{ {otherwise} }}")
            }
            8 => {
                let argument = self.expression(16, 1);
                let index = self.index();
                self.one_of(&[
                    &format!("m.csum = mixed({argument}, h.w.a, m.x);"),
                    &format!("h.a.c = mixed({argument}, m.w, m.x);"),
                    &format!("h.w = widened(h.wide, {argument}[6:0]);"),
                    &format!("h.s[{index}].t = (bit<8>) mixed({argument}, h.w.a, m.x);"),
                ])
            }
            9 if depth > 0 && stage != Stage::Parser => {
                let body = self.statement(stage, 0);
                let more = self.statement(stage, 0);
                let subject = self.expression(4, 1);
                match self.below(3) {
                    0 => format!(
                        "for (bit<8> i in 8w0 .. {}) {{ if (i[0:0] == 1) {{ continue; }} {body} if (h.a.l == i[3:0]) {{ break; }} }}",
                        self.below(9)
                    ),
                    1 => format!(
                        "switch ({subject}) {{ 0: {{ {body} }} 1: 2: {{ {more} }} default: {{ {body} }} }}"
                    ),
                    _ => format!("for (bit<8> i = 0; i < 5; i = i + 1) {{ {body} {more} }}"),
                }
            }
            10.. if stage != Stage::Parser => match self.architecture {
                Architecture::V1model => self.extern_call(stage),
                Architecture::Psa => self.psa_call(stage),
                Architecture::Pna => self.pna_call(),
            },
            _ => self.assignment(),
        }
    }

    fn extern_call(&mut self, stage: Stage) -> String {
        let index = format!("(bit<32>) {}", self.leaf(3));
        let value = self.expression(32, 1);
        if self.below(2) == 0 {
            let (low, high) = (self.below(5), self.below(20));
            let algorithm =
                self.one_of(&["crc32", "crc16", "csum16", "identity", "xor16", "crc32_custom"]);
            let data = self.one_of(&[
                "{ h.a.d, h.w.a }",
                "{ h.a, m.x }",
                "{ h.w.z, h.s[0].t, h.a.l }",
                "{ m.v, h.u.a.a }",
            ]);
            return match self.below(9) {
                0 => format!("random(m.k, 32w{low}, 32w{high});"),
                1 => {
                    format!("hash(m.csum, HashAlgorithm.{algorithm}, 16w{low}, {data}, 32w{high});")
                }
                2 => format!("log_msg(\"{{}} and {{}}\", {{ {value}, h.w.a }});"),
                3 => format!("truncate(32w{});", 10 + high),
                4 => format!("assert(h.a.c != 16w{low});"),
                5 => "inner.apply(h.s[1], m.w, m.color);".to_owned(),
                6 => "mark_to_drop(s);".to_owned(),
                7 => "exit;".to_owned(),
                _ => "if (m.color == 1) { return; }".to_owned(),
            };
        }
        if stage == Stage::Egress {
            return self.one_of(&[
                "if (m.rounds < 2) { m.rounds = m.rounds + 1; clone_preserving_field_list(CloneType.E2E, 5, 1); }",
                "if (m.rounds < 2) { m.rounds = m.rounds + 1; recirculate_preserving_field_list(2); }",
                "h.a.c = (bit<16>) s.packet_length;",
                "h.a.l = (bit<4>) s.egress_rid; h.a.d = s.egress_global_timestamp;",
                "h.a.q = (bit<64>) s.deq_qdepth + (bit<64>) s.enq_qdepth;",
                "if (s.egress_port == 2) { mark_to_drop(s); }",
            ]);
        }
        let kept = self.below(3);
        match self.below(14) {
            0 => format!("small.read(m.k, {index}); small.write({index}, {value});"),
            1 => format!("large.read(m.v, {index}); large.write({index}, m.v + (bit<80>) h.a.c);"),
            2 => format!("counted.count({index});"),
            3 => format!("metered.execute_meter({index}, m.color);"),
            4 => "digest<Message>(1, { h.a.d, h.w.a, h.s[0], m.x });".to_owned(),
            5 => format!("if (m.rounds < 2) {{ m.rounds = m.rounds + 1; clone_preserving_field_list(CloneType.I2E, {}, {kept}); }}", 4 + kept),
            6 => format!("if (m.rounds < 2) {{ m.rounds = m.rounds + 1; resubmit_preserving_field_list({kept}); }}"),
            7 => "if (exact_.apply().hit) { h.w.p = 1; }".to_owned(),
            8 => "switch (wide_.apply().action_run) { port: { m.color = 1; } change: { h.w.x = 3; } default: { } }".to_owned(),
            9 => "if (ternary_.apply().miss) { m.z = true; }".to_owned(),
            10 => "spread_.apply();".to_owned(),
            11 => "s.mcast_grp = 4;".to_owned(),
            12 => "s.priority = h.a.v[2:0];".to_owned(),
            _ => "h.a.c = (bit<16>) s.packet_length; if (s.parser_error != error.NoError) { h.a.c = 99; } if (s.checksum_error == 1) { h.a.l = 5; }".to_owned(),
        }
    }

    fn checksum(&mut self, what: &str) -> String {
        let condition = self.condition(0);
        let to = self.one_of(&["h.a.c", "m.csum", "h.u.b.b"]);
        let data = self.one_of(&[
            "{ h.a.v, h.a.l, h.a.s, h.a.d, h.a.q }",
            "{ h.w.a, h.w.b, h.w.x, h.w.y }",
            "{ h.a.d, h.u.a.a, h.s[0].w }",
            "{ h.o.n, h.o.o, h.a.q }",
            "{ h.w.x, h.w.a, m.x }",
        ]);
        let algorithm = self.one_of(&["csum16", "csum16", "crc16", "xor16"]);
        let with = self.one_of(&["", "", "_with_payload"]);
        let mut text = String::new();
        write!(
            text,
            "{what}_checksum{with}({condition}, {data}, {to}, HashAlgorithm.{algorithm});"
        )
        .expect("text");
        text
    }
}
