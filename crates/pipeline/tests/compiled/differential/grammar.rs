//! Programs of v1model, PSA and PNA that are generated from choices: numbers of all widths, headers
//! that become valid and invalid, unions, stacks, varbit fields, externs, tables and copies.

#[path = "grammar/enums.rs"]
mod enums;
#[path = "grammar/externs.rs"]
mod externs;
#[path = "grammar/metadata.rs"]
mod metadata;
#[path = "grammar/pna.rs"]
mod pna;
#[path = "grammar/psa.rs"]
mod psa;
#[path = "grammar/text.rs"]
mod text;
#[path = "grammar/v1model.rs"]
mod v1model;

use text::{
    ALL_STATES, DECLARATIONS, EMITS, FIELDS, FIRST_OF_METADATA, FIXED_STATES, PLAIN_STATES,
    SIMPLE_EMITS, SIMPLE_FIELDS, SIMPLE_STATES,
};

/// The source of choices for a program and its packets. Returns a number that is less than its
/// argument.
pub(crate) type Choices<'c> = dyn FnMut(u32) -> u32 + 'c;

/// A program, as parts that can be left out one by one.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) parser: Vec<String>,
    /// The statements of the egress parser of PSA.
    pub(crate) egress_parser: Vec<String>,
    pub(crate) verify: Vec<String>,
    pub(crate) ingress: Vec<String>,
    pub(crate) egress: Vec<String>,
    /// The statements of the checksum update of v1model, or of the (ingress) deparser.
    pub(crate) compute: Vec<String>,
    /// The statements of the egress deparser of PSA, or of the pre control of PNA.
    pub(crate) ending: Vec<String>,
    /// The states of the parser.
    parses: Parses,
    /// Whether a program of PSA behaves as on psa_switch.
    pub(crate) follows: bool,
    /// Whether the program is of an older version of the architecture.
    is_old: bool,
    controls: Controls,
}

/// The declarations of a program, by its architecture.
#[derive(Clone, Debug)]
enum Controls {
    V1model(v1model::Controls),
    Psa(psa::Controls),
    Pna(pna::Controls),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Architecture {
    V1model,
    Psa,
    Pna,
}

/// The states of a parser.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Parses {
    /// All states that the grammar has.
    All,
    /// Only states that machine code runs, so that packets may go in bursts.
    Plain,
    /// Only states that extract headers, so that packets may go through the fused function.
    Extracts,
    /// Only states that extract headers of fixed length, so that keys can be prefetched.
    ExtractsFixed,
}

impl Source {
    pub(crate) fn new(choose: &mut Choices<'_>) -> Self {
        let architecture = match choose(6) {
            2 | 3 => Architecture::Pna,
            4 | 5 => Architecture::Psa,
            _ => Architecture::V1model,
        };
        let (is_old, is_simple) = (choose(4) == 1, choose(3) > 0);
        let is_fixed = is_simple && choose(4) > 0;
        let has_lengths = is_old && architecture != Architecture::V1model;
        let mut grammar = Grammar {
            choose,
            architecture,
            is_old,
            is_simple,
            is_fixed,
            has_lengths,
            carries: true,
            kernel: false,
        };
        let grammar = &mut grammar;
        let (controls, first) = match architecture {
            Architecture::V1model => {
                (Controls::V1model(v1model::Controls::new(grammar)), "s.egress_spec = 1;")
            }
            Architecture::Psa => {
                let (carried, carries) = psa::Carried::choose(grammar);
                grammar.carries = carries;
                let controls = Controls::Psa(psa::Controls::new(grammar, carried));
                (controls, "send_to_port(o, (PortId_t) 32w1);")
            }
            Architecture::Pna => {
                grammar.carries = false;
                let controls = pna::Controls::new(grammar);
                grammar.kernel = controls.has_kernel();
                (Controls::Pna(controls), "send_to_port((PortId_t) 32w1);")
            }
        };
        let has_egress = architecture != Architecture::Pna;
        let most = if is_simple { 4 } else { 10 };
        let mut ingress = grammar.some(most, Stage::Ingress);
        if is_fixed {
            // The table is applied before a statement changes its key.
            ingress.insert(0, grammar.apply());
        }
        if grammar.below(3) == 0 {
            ingress.insert(0, first.to_owned());
        }
        let egress = if has_egress { grammar.some(most / 2, Stage::Egress) } else { Vec::new() };
        let follows = architecture == Architecture::Psa && grammar.below(3) == 0;
        Self {
            parser: grammar.some(3, Stage::Parser),
            egress_parser: match architecture {
                Architecture::Psa => grammar.some(2, Stage::EgressParser),
                Architecture::V1model | Architecture::Pna => Vec::new(),
            },
            verify: match architecture {
                Architecture::Psa | Architecture::Pna => Vec::new(),
                Architecture::V1model => {
                    (0..grammar.below(2)).map(|_| grammar.checksum("verify")).collect()
                }
            },
            ingress,
            egress,
            compute: match architecture {
                Architecture::Psa => {
                    (0..grammar.below(3)).map(|_| grammar.psa_message(Stage::Ingress)).collect()
                }
                Architecture::Pna => (0..grammar.below(2)).map(|_| grammar.pna_message()).collect(),
                Architecture::V1model => {
                    (0..grammar.below(3)).map(|_| grammar.checksum("update")).collect()
                }
            },
            ending: match architecture {
                Architecture::Psa => {
                    (0..grammar.below(3)).map(|_| grammar.psa_message(Stage::Egress)).collect()
                }
                Architecture::Pna if is_old => grammar.some(2, Stage::Pre),
                Architecture::V1model | Architecture::Pna => Vec::new(),
            },
            parses: match (is_simple, is_fixed || grammar.below(2) == 0) {
                (true, true) if is_fixed => Parses::ExtractsFixed,
                (true, _) => Parses::Extracts,
                (false, true) => Parses::All,
                (false, false) => Parses::Plain,
            },
            follows,
            is_old,
            controls,
        }
    }

    /// Returns the parts that can be left out.
    pub(crate) fn parts(&mut self) -> [&mut Vec<String>; 7] {
        [
            &mut self.parser,
            &mut self.egress_parser,
            &mut self.verify,
            &mut self.ingress,
            &mut self.egress,
            &mut self.compute,
            &mut self.ending,
        ]
    }

    pub(crate) fn text(&self) -> String {
        match &self.controls {
            Controls::V1model(controls) => self.v1model_text(controls),
            Controls::Psa(controls) => self.psa_text(controls),
            Controls::Pna(controls) => self.pna_text(controls),
        }
    }

    /// Returns the types and functions of all programs.
    fn declarations(&self) -> String {
        let other = "struct Other { bit<9> x; int<16> y; bool z; bit<64> q; bit<128> w; bit<32> k; N n; bit<80> v; bit<8> color;
    bit<16> csum; bit<2> rounds; }";
        format!("{DECLARATIONS}{other}\n")
    }

    fn emits(&self) -> &'static str {
        match self.parses {
            Parses::Extracts | Parses::ExtractsFixed => SIMPLE_EMITS,
            Parses::All | Parses::Plain => EMITS,
        }
    }

    /// Returns the states of a parser. `start` are the statements after the first header.
    fn states(&self, begin: &str, start: &[String]) -> String {
        let [leads, states] = match self.parses {
            Parses::All => ALL_STATES,
            Parses::Plain => PLAIN_STATES,
            Parses::Extracts => SIMPLE_STATES,
            Parses::ExtractsFixed => FIXED_STATES,
        };
        let set = if self.parses == Parses::All { "value_set<bit<16>>(4) known;" } else { "" };
        let start = start.join("\n        ");
        // An `advance` by a number of bits that is not a multiple of eight is an error on BMv2. For
        // PNA, machine code refuses programs that may have one.
        let skipped = match self.controls {
            Controls::V1model(_) => "h.a.l",
            Controls::Psa(_) | Controls::Pna(_) => "h.a.l << 3",
        };
        let options = match self.parses {
            Parses::ExtractsFixed => "",
            _ => "state options { b.extract(h.o, (bit<32>) h.a.l << 3); transition accept; }",
        };
        let stack = match self.parses {
            Parses::Extracts | Parses::ExtractsFixed => String::new(),
            Parses::All | Parses::Plain => format!(
                "state stack {{ b.extract(h.s.next); transition select(h.s.last.t) {{ 0: stack; 1: wide; default: accept; }} }}
    state skip {{ b.advance((bit<32>) {skipped}); transition stack; }}"
            ),
        };
        format!(
            "    {set}
    state start {{ b.extract(h.a);
        {begin} {start}
        transition select(h.a.v, h.a.c) {{
            {leads} }} }}
    {states}
    {options}
    {stack}"
        )
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Parser,
    Ingress,
    Egress,
    /// The egress parser of PSA.
    EgressParser,
    /// The pre control of PNA.
    Pre,
}

impl Stage {
    fn parses(self) -> bool {
        matches!(self, Self::Parser | Self::EgressParser)
    }
}

struct Grammar<'g, 'c> {
    choose: &'g mut Choices<'c>,
    architecture: Architecture,
    /// Whether the program is of an older version of the architecture.
    is_old: bool,
    /// Whether the program is short and has few steps for the interpreter.
    is_simple: bool,
    /// Whether keys of tables are header fields at fixed offsets.
    is_fixed: bool,
    /// Whether counters and meters take the length of a packet.
    has_lengths: bool,
    /// Whether the program counts the passes of a packet.
    carries: bool,
    /// Whether the main control sees the metadata of Linux' socket buffer.
    kernel: bool,
}

impl Grammar<'_, '_> {
    fn below(&mut self, bound: u32) -> u32 {
        (self.choose)(bound)
    }

    fn one_of(&mut self, of: &[&str]) -> String {
        let position = self.below(of.len() as u32) as usize;
        of.get(position).copied().unwrap_or_default().to_owned()
    }

    /// Returns the statements of a block, at least one.
    fn some(&mut self, most: u32, stage: Stage) -> Vec<String> {
        let count = 1 + self.below(most);
        (0..count).map(|_| self.statement(stage, 2)).collect()
    }

    /// Returns a field to be written. A parser that writes headers rules out the fused function.
    fn target(&mut self, stage: Stage) -> (&'static str, u32, bool) {
        if self.is_simple && stage.parses() {
            let position =
                self.below(SIMPLE_FIELDS.len() as u32 - FIRST_OF_METADATA) + FIRST_OF_METADATA;
            return SIMPLE_FIELDS.get(position as usize).copied().unwrap_or(("m.k", 32, false));
        }
        self.field()
    }

    fn field(&mut self) -> (&'static str, u32, bool) {
        let fields = if self.is_simple { &SIMPLE_FIELDS[..] } else { &FIELDS[..] };
        let position = self.below(fields.len() as u32) as usize;
        fields.get(position).copied().unwrap_or(("m.k", 32, false))
    }

    /// Returns a constant of an unsigned type.
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

    /// Returns a field, cast to an unsigned type of this width.
    fn leaf(&mut self, width: u32) -> String {
        if self.below(4) == 0 {
            return self.constant(width);
        }
        let (name, of, signed) = self.field();
        match (signed, of == width) {
            (false, true) => name.to_owned(),
            (false, false) => format!("((bit<{width}>) {name})"),
            (true, true) => format!("((bit<{width}>) {name})"),
            // The sign is extended before the cast to the unsigned type.
            (true, false) => format!("((bit<{width}>) (int<{width}>) {name})"),
        }
    }

    /// Returns an index of a stack, which may be beyond its end.
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
            6 if width < if self.is_simple { 60 } else { 120 } => {
                let most = if self.is_simple { 65 } else { 129 };
                let from = width + self.below(most - width);
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
            9 if !self.is_simple => {
                let index = self.index();
                format!("((bit<{width}>) h.s[{index}].w)")
            }
            _ => self.leaf(width),
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        match self.below(8) {
            0 => {
                let headers: &[&str] = match self.is_simple {
                    true => &["h.a", "h.w", "h.o", "h.kept"],
                    false => &["h.a", "h.w", "h.o", "h.u.a", "h.u.b", "h.u", "h.s[1]", "h.kept"],
                };
                format!("{}.isValid()", self.one_of(headers))
            }
            1 if self.is_simple => self.one_of(&["m.z", "true", "(h.a.v != 0)"]),
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
                let widths: &[u32] =
                    if self.is_simple { &[1, 8, 16, 64] } else { &[1, 8, 16, 64, 65, 128] };
                let position = self.below(widths.len() as u32) as usize;
                let width = widths.get(position).copied().unwrap_or(8);
                let (left, right) = (self.expression(width, depth), self.leaf(width));
                let comparison = self.one_of(&["==", "!=", "<", "<=", ">", ">="]);
                format!("({left} {comparison} {right})")
            }
        }
    }

    fn assignment(&mut self, stage: Stage) -> String {
        let (name, width, signed) = self.target(stage);
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
        match self.below(21) {
            0..=3 => self.assignment(stage),
            16.. => self.metadata(stage),
            4 if self.is_simple => {
                let header = self.one_of(&["h.a", "h.w", "h.o", "h.kept"]);
                match stage.parses() {
                    true => self.assignment(stage),
                    false => format!("{header}.{}();", self.one_of(&["setValid", "setInvalid"])),
                }
            }
            5 if self.is_simple => match stage.parses() {
                true => self.assignment(stage),
                false => self.one_of(&["h.kept = h.a;", "h.a = h.kept;"]),
            },
            6 if self.is_simple => self.enumerated(),
            8 | 9 if self.is_simple => self.assignment(stage),
            4 => {
                let header = self.one_of(&[
                    "h.a", "h.w", "h.o", "h.u.a", "h.u.b", "h.s[0]", "h.s[2]", "h.kept", "h.wide",
                ]);
                format!("{header}.{}();", self.one_of(&["setValid", "setInvalid"]))
            }
            5 if stage.parses() => self.one_of(&[
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
            6 if self.below(2) == 0 => format!("{} {}", self.enumerated(), self.enumerated()),
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
            9 if depth > 0 && !stage.parses() => {
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
            10..16 if stage == Stage::Pre => self.assignment(stage),
            10..12 if stage.parses() => self.parser_call(),
            10..16 if !stage.parses() => match self.architecture {
                Architecture::V1model => self.v1model_call(stage),
                Architecture::Psa => self.psa_call(stage),
                Architecture::Pna => self.pna_call(),
            },
            _ => self.assignment(stage),
        }
    }

    /// Returns a call that only parsers can make.
    fn parser_call(&mut self) -> String {
        if self.below(2) == 0 {
            return "m.k = b.length();".to_owned();
        }
        let error = self.one_of(&["HeaderTooShort", "NoMatch", "ParserInvalidArgument"]);
        format!("verify({} || h.a.c != 2, error.{error});", self.condition(0))
    }

    /// Returns a message to the control plane.
    fn message(&mut self) -> String {
        let all = ["{ h.a.d, h.w.a, h.s[0], m.x }", "{ 5, m.w, { 1, 2 }, 9w3 }"];
        self.one_of(&all)
    }
}
