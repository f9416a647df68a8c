//! Generates a v1model program that contains given parts: pieces of P4 such as a header, a table or
//! an assignment (see [`Part`]).

use std::fmt::Write;

use super::super::traffic::{SHIM_TYPE, value};
use super::{Call, KeyKind, Part};

/// Returns a program that contains these parts, as P4 text. Packets leave by `out_port`. Each table
/// with keys has `rules` entries, or fewer if its narrowest key has fewer values. One of the
/// entries matches the packets.
///
/// Tables and conditions come before all other statements, regardless of the order of `parts`, so
/// that they see the packet as it came in.
pub(in super::super) fn source(parts: &[Part], out_port: u32, rules: u32) -> String {
    let mut program = Program::default();
    for (number, part) in parts.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = program.add(part, number, rules);
    }
    program.text(out_port)
}

/// A P4 program under construction, with one text for each of its sections.
#[derive(Default)]
struct Program {
    headers: String,
    members: String,
    extracts: String,
    states: String,
    /// The number of parser states generated so far. Each state continues with the next one.
    state: usize,
    locals: String,
    tables: String,
    conditions: String,
    statements: String,
    verified: String,
    updated: String,
    emits: String,
}

impl Program {
    /// Adds the code of a part to the program.
    fn add(&mut self, part: &Part, number: usize, rules: u32) -> std::fmt::Result {
        match part {
            Part::Header(bits) => {
                writeln!(self.headers, "header h{number}_t {{ bit<{bits}> all; }}")?;
                write!(self.members, " h{number}_t h{number};")?;
                write!(self.extracts, " b.extract(h.h{number});")?;
                write!(self.emits, " b.emit(h.h{number});")?;
            }
            Part::Select(bits) => {
                let subject = bits_of_packet(*bits);
                self.state(&subject)?;
            }
            Part::Lookahead(bits) => {
                self.state(&format!("b.lookahead<bit<{bits}>>()"))?;
            }
            Part::Verify => {
                write!(self.extracts, " verify(h.ethernet.isValid(), error.NoMatch);")?;
            }
            Part::Table(keys) => {
                self.table(keys, number, rules)?;
            }
            Part::Assign(bits) => {
                let (target, value) = (target(*bits), other_bits(*bits));
                writeln!(self.statements, "        {target} = {value};")?;
            }
            Part::Compute(operator, bits) => {
                let target = target(*bits);
                let operator = operator.p4();
                writeln!(self.statements, "        {target} = {target} {operator} 1;")?;
            }
            Part::Branch => self.branch("h.ethernet.isValid()")?,
            Part::Compare(0) => self.branch("s.parser_error == error.NoError")?,
            Part::Compare(bits) => {
                let value = value_in_packet(*bits);
                self.branch(&format!("{} == {value}", bits_of_packet(*bits)))?;
            }
            Part::SetValid => writeln!(self.statements, "        h.ethernet.setValid();")?,
            Part::SetInvalid => {
                writeln!(self.headers, "header h{number}_t {{ bit<8> all; }}")?;
                write!(self.members, " h{number}_t h{number};")?;
                writeln!(self.statements, "        h.h{number}.setInvalid();")?;
            }
            Part::Call(call) => self.call(*call, number)?,
        }
        Ok(())
    }

    /// Adds a parser state that selects on `subject` and continues with the next state for every
    /// value.
    fn state(&mut self, subject: &str) -> std::fmt::Result {
        let state = self.state;
        self.state += 1;
        writeln!(
            self.states,
            "    state s{state} {{ transition select({subject}) {{ 0: s{next}; default: s{next}; }} }}",
            next = self.state
        )
    }

    fn branch(&mut self, condition: &str) -> std::fmt::Result {
        writeln!(self.conditions, "        if ({condition}) {{ }} else {{ exit; }}")
    }

    /// Adds a table with these keys, and its application.
    fn table(&mut self, keys: &[(KeyKind, u32)], number: usize, rules: u32) -> std::fmt::Result {
        write!(
            self.locals,
            "    action a{number}() {{ }}\n    table t{number} {{\n        key = {{"
        )?;
        for (place, (kind, bits)) in keys.iter().enumerate() {
            let (of, kind) = (bits_of_packet(*bits), kind.name());
            write!(self.locals, " {of}: {kind} @name(\"k{place}\");")?;
        }
        writeln!(
            self.locals,
            " }}\n        actions = {{ a{number}; }}\n        default_action = a{number}();"
        )?;
        if !keys.is_empty() {
            writeln!(self.locals, "        const entries = {{")?;
            // A narrow key limits the number of distinct entries.
            let narrowest = keys.iter().map(|(_, bits)| *bits).min().unwrap_or(0);
            let rules = u64::from(rules).min(1_u64.checked_shl(narrowest).unwrap_or(u64::MAX));
            for rule in 0..u128::from(rules) {
                let keys: Vec<String> =
                    keys.iter().map(|(kind, bits)| entry_key(*kind, *bits, rule)).collect();
                writeln!(self.locals, "            ({}): a{number}();", keys.join(", "))?;
            }
            writeln!(self.locals, "        }}")?;
        }
        writeln!(self.locals, "    }}")?;
        writeln!(self.tables, "        t{number}.apply();")
    }

    /// Adds a call of an extern, and its instance if it has one.
    fn call(&mut self, call: Call, number: usize) -> std::fmt::Result {
        const COVERED: &str = "{ h.ethernet.destination, h.ethernet.high }";
        let checksum = |function: &str| {
            format!(" {function}(true, {COVERED}, h.ethernet.low, HashAlgorithm.csum16);")
        };
        match call {
            Call::Count => {
                writeln!(self.locals, "    counter<bit<32>>(16, CounterType.packets) c{number};")?;
                writeln!(self.statements, "        c{number}.count(0);")
            }
            Call::ReadRegister => {
                writeln!(self.locals, "    register<bit<32>, bit<32>>(16) r{number};")?;
                writeln!(self.statements, "        r{number}.read(h.ethernet.high, 0);")
            }
            Call::WriteRegister => {
                writeln!(self.locals, "    register<bit<32>, bit<32>>(16) r{number};")?;
                writeln!(self.statements, "        r{number}.write(0, h.ethernet.high);")
            }
            Call::Hash => writeln!(
                self.statements,
                "        hash(h.ethernet.low, HashAlgorithm.crc16, 16w0, {{ h.ethernet.destination }}, 32w65536);"
            ),
            // Setting the port later cancels the drop.
            Call::MarkToDrop => writeln!(self.tables, "        mark_to_drop(s);"),
            Call::UpdateChecksum => {
                self.updated.push_str(&checksum("update_checksum"));
                Ok(())
            }
            Call::VerifyChecksum => {
                self.verified.push_str(&checksum("verify_checksum"));
                Ok(())
            }
        }
    }

    fn text(&self, out_port: u32) -> String {
        let Self { headers, members, extracts, states, state, .. } = self;
        let Self { locals, tables, conditions, statements, verified, updated, emits, .. } = self;
        format!(
            "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header ethernet_t {{ bit<48> destination; bit<32> high; bit<16> low; bit<16> type; }}
{headers}struct headers {{ ethernet_t ethernet;{members} }}
struct metadata {{ }}
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {{
    state start {{ b.extract(h.ethernet);{extracts} transition s0; }}
{states}    state s{state} {{ transition accept; }}
}}
control V(inout headers h, inout metadata m) {{ apply {{{verified} }} }}
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {{
{locals}    apply {{
{tables}        s.egress_spec = {out_port};
{conditions}{statements}    }}
}}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout metadata m) {{ apply {{{updated} }} }}
control D(packet_out b, in headers h) {{ apply {{ b.emit(h.ethernet);{emits} }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
        )
    }
}

/// Returns a P4 expression for this many bits of the packet.
fn bits_of_packet(bits: u32) -> String {
    match bits {
        48 => "h.ethernet.destination".to_owned(),
        32 => "h.ethernet.high".to_owned(),
        16 => "h.ethernet.low".to_owned(),
        0..48 => format!("h.ethernet.destination[{}:0]", bits - 1),
        _ => format!(
            "(h.ethernet.destination ++ h.ethernet.high ++ h.ethernet.low ++ h.ethernet.type)[{}:0]",
            bits - 1
        ),
    }
}

/// Returns the value of the expression from [`bits_of_packet`] for an incoming packet.
fn value_in_packet(bits: u32) -> u128 {
    let number = |bytes: &[u8]| bytes.iter().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    let (destination, source) = (number(&value::DL_DST), number(&value::DL_SRC));
    let all = match bits {
        32 => source >> 16,
        16 => source & 0xffff,
        0..=48 => destination,
        _ => destination << 64 | source << 16 | u128::from(SHIM_TYPE),
    };
    all & ones(bits)
}

/// Returns a packet field of this many bits to which an assignment can write.
fn target(bits: u32) -> String {
    match bits {
        48 | 32 | 16 => bits_of_packet(bits),
        _ => format!("h.ethernet.destination[{}:0]", bits.saturating_sub(1)),
    }
}

/// Returns a P4 expression of this many bits that reads other bits than the field [`target`] of the
/// same width.
fn other_bits(bits: u32) -> String {
    match bits {
        48 => "h.ethernet.high ++ h.ethernet.low".to_owned(),
        32 | 16 => format!("h.ethernet.destination[{}:0]", bits - 1),
        0..16 => format!("h.ethernet.low[{}:0]", bits.saturating_sub(1)),
        _ => format!("(h.ethernet.high ++ h.ethernet.low)[{}:0]", bits - 1),
    }
}

/// Returns the key of the table entry with this number, as P4 text. Entry 0 matches the packets,
/// and the other entries do not.
fn entry_key(kind: KeyKind, bits: u32, rule: u128) -> String {
    let all = ones(bits);
    let value = value_in_packet(bits).wrapping_add(rule) & all;
    match kind {
        KeyKind::Exact | KeyKind::Optional => value.to_string(),
        KeyKind::Range => format!("{value} .. {value}"),
        KeyKind::Lpm | KeyKind::Ternary => {
            // The last byte is wildcarded, so that the entry differs from an exact one.
            let mask = if rule == 0 && bits > 8 { all ^ ones(8) } else { all };
            format!("{} &&& {mask}", value & mask)
        }
    }
}

fn ones(bits: u32) -> u128 {
    1_u128.checked_shl(bits).map_or(u128::MAX, |bit| bit - 1)
}
