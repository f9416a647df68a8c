//! Generates a v1model program with one table, which processes packets as the rules of a cell
//! require, like an OpenFlow switch with one match and one action.
//!
//! All programs parse and emit the same headers: Ethernet, a VLAN tag if there is one, the
//! additional headers between Ethernet and IPv4, IPv4 and UDP. Adding a match therefore adds only
//! keys, and adding an action adds only statements. These are the functions that are measured. If
//! an action changes bytes that the IPv4 checksum covers, the update of the checksum is part of the
//! action.

use std::fmt::Write;

use super::function::{ActionKind, MatchKind};
use super::rule::Rule;
use super::traffic::{IPV4_TYPE, SHIM_TYPE, Subject, VLAN_TYPE, value};

/// The name of the table in every generated program.
pub(super) const TABLE: &str = "rules";
/// The name of the action that the entries of the table run.
pub(super) const ACTION: &str = "act";
const PORT_BITS: u32 = 9;
/// The greatest number of a port in v1model.
pub(super) const GREATEST_PORT: u32 = (1 << PORT_BITS) - 1;

/// The value of one key in a table entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) value: u128,
    pub(super) bits: u32,
    /// The mask of a ternary key, or `None` for an exact match.
    pub(super) mask: Option<u128>,
}

/// The argument of an action: a number with its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) value: u128,
    pub(super) bits: u32,
}

/// Returns the keys of the table entry for a rule, in the order of the program's table.
pub(super) fn keys(matched: MatchKind, rule: &Rule) -> Vec<Key> {
    fields(matched)
        .iter()
        .map(|field| {
            let (value, bits) = match field {
                Field::Port => (u128::from(rule.in_port), PORT_BITS),
                Field::DlSrc => (number(&value::DL_SRC), 48),
                Field::DlDst => (u128::from(rule.dl_dst), 48),
                Field::NwTos => (u128::from(value::NW_TOS), 8),
                Field::NwSrc => (u128::from(rule.nw_src), 32),
                Field::NwDst | Field::MaskedNwDst => (u128::from(rule.nw_dst), 32),
                Field::NwProto => (u128::from(value::NW_PROTO), 8),
                Field::TpSrc => (u128::from(value::TP_SRC), 16),
                Field::TpDst => (u128::from(rule.tp_dst), 16),
            };
            let ones = |count: u32| (1_u128 << count) - 1;
            let mask =
                (*field == Field::MaskedNwDst).then(|| ones(32) ^ ones(32 - value::NW_DST_PREFIX));
            Key { value: value & mask.unwrap_or(u128::MAX), bits, mask }
        })
        .collect()
}

/// Returns the arguments of the action in a table entry: the output port, and the value to set if
/// the action sets one.
pub(super) fn arguments(action: ActionKind, out_port: u32) -> Vec<Argument> {
    let value = match action {
        ActionKind::Output | ActionKind::StripVlan => None,
        ActionKind::SetDlSrc => Some(Argument { value: number(&value::SET_DL_SRC), bits: 48 }),
        ActionKind::SetVlanId => Some(Argument { value: value::SET_VLAN.into(), bits: 12 }),
        ActionKind::SetNwSrc => Some(Argument { value: number(&value::SET_NW_SRC), bits: 32 }),
        ActionKind::SetNwTos => Some(Argument { value: value::SET_NW_TOS.into(), bits: 8 }),
        ActionKind::SetTpSrc => Some(Argument { value: value::SET_TP_SRC.into(), bits: 16 }),
    };
    let port = Argument { value: out_port.into(), bits: PORT_BITS };
    std::iter::once(port).chain(value).collect()
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Port,
    DlSrc,
    DlDst,
    NwTos,
    NwSrc,
    NwDst,
    MaskedNwDst,
    NwProto,
    TpSrc,
    TpDst,
}

fn fields(matched: MatchKind) -> &'static [Field] {
    use Field::{DlDst, DlSrc, MaskedNwDst, NwDst, NwProto, NwSrc, NwTos, Port, TpDst, TpSrc};
    match matched {
        MatchKind::Port => &[Port],
        MatchKind::TpDst => &[TpDst],
        MatchKind::DlDst => &[DlDst],
        MatchKind::MaskedNwDst => &[MaskedNwDst],
        MatchKind::FiveTuple => &[NwSrc, NwDst, TpSrc, TpDst, NwProto],
        MatchKind::All => &[NwSrc, NwDst, TpSrc, TpDst, NwProto, Port, NwTos, DlSrc, DlDst],
    }
}

fn key(field: Field) -> &'static str {
    match field {
        Field::Port => "s.ingress_port: exact",
        Field::DlSrc => "h.ethernet.source: exact",
        Field::DlDst => "h.ethernet.destination: exact",
        Field::NwTos => "h.ipv4.service: exact",
        Field::NwSrc => "h.ipv4.source: exact",
        Field::NwDst => "h.ipv4.destination: exact",
        Field::MaskedNwDst => "h.ipv4.destination: ternary",
        Field::NwProto => "h.ipv4.protocol: exact",
        Field::TpSrc => "h.udp.source: exact",
        Field::TpDst => "h.udp.destination: exact",
    }
}

/// Returns the program for a table of rules, as P4 text.
pub(super) fn source(subject: Subject) -> String {
    let mut text = HEAD.to_owned();
    // Writing to a string cannot fail.
    let _ = write_program(subject, &mut text);
    text
}

fn write_program(subject: Subject, text: &mut String) -> std::fmt::Result {
    let Subject { matched, action, rules, headers, .. } = subject;
    writeln!(text, "struct headers {{ ethernet_t ethernet; vlan_t vlan;")?;
    for shim in 0..headers {
        writeln!(text, "    shim_t shim{shim};")?;
    }
    writeln!(text, "    ipv4_t ipv4; udp_t udp; }}\nstruct metadata {{ }}")?;

    writeln!(
        text,
        "parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) {{"
    )?;
    let shim = |number: u32| match number < headers {
        true => format!("{SHIM_TYPE:#06x}: shim{number}; "),
        false => String::new(),
    };
    let next = format!("{}{IPV4_TYPE:#06x}: ipv4; default: accept;", shim(0));
    writeln!(
        text,
        "    state start {{ b.extract(h.ethernet); transition select(h.ethernet.type) {{ {VLAN_TYPE:#06x}: vlan; {next} }} }}
    state vlan {{ b.extract(h.vlan); transition select(h.vlan.type) {{ {next} }} }}"
    )?;
    for number in 0..headers {
        let next = format!("{}{IPV4_TYPE:#06x}: ipv4; default: accept;", shim(number + 1));
        writeln!(
            text,
            "    state shim{number} {{ b.extract(h.shim{number}); transition select(h.shim{number}.type) {{ {next} }} }}"
        )?;
    }
    writeln!(
        text,
        "    state ipv4 {{ b.extract(h.ipv4); transition select(h.ipv4.protocol) {{ {}: udp; default: accept; }} }}
    state udp {{ b.extract(h.udp); transition accept; }}
}}
control V(inout headers h, inout metadata m) {{ apply {{ }} }}
control I(inout headers h, inout metadata m, inout standard_metadata_t s) {{",
        value::NW_PROTO
    )?;
    let (parameter, does) = statement(action);
    writeln!(
        text,
        "    action {ACTION}(bit<9> port{parameter}) {{ s.egress_spec = port; {does} }}"
    )?;
    writeln!(
        text,
        "    action drop() {{ mark_to_drop(s); }}\n    table {TABLE} {{\n        key = {{"
    )?;
    for field in fields(matched) {
        writeln!(text, "            {};", key(*field))?;
    }
    writeln!(
        text,
        "        }}
        actions = {{ {ACTION}; drop; }}
        default_action = drop();
        size = {};
    }}
    apply {{ {TABLE}.apply(); }}
}}
control E(inout headers h, inout metadata m, inout standard_metadata_t s) {{ apply {{ }} }}
control C(inout headers h, inout metadata m) {{ apply {{ {} }} }}
control D(packet_out b, in headers h) {{ apply {{ b.emit(h.ethernet); b.emit(h.vlan);",
        rules.max(16),
        if changes_ipv4(action) { UPDATE } else { "" }
    )?;
    for shim in 0..headers {
        writeln!(text, "    b.emit(h.shim{shim});")?;
    }
    writeln!(
        text,
        "    b.emit(h.ipv4); b.emit(h.udp); }} }}\nV1Switch(P(), V(), I(), E(), C(), D()) main;"
    )
}

/// Returns the P4 text of an action: the parameters after the output port, and the statements after
/// the assignment of the port.
fn statement(action: ActionKind) -> (&'static str, &'static str) {
    match action {
        ActionKind::Output => ("", ""),
        ActionKind::SetDlSrc => (", bit<48> value", "h.ethernet.source = value;"),
        ActionKind::StripVlan => ("", "h.ethernet.type = h.vlan.type; h.vlan.setInvalid();"),
        ActionKind::SetVlanId => (
            ", bit<12> value",
            "h.vlan.setValid(); h.vlan.priority = 0; h.vlan.drop_eligible = 0; h.vlan.id = value; \
             h.vlan.type = h.ethernet.type; h.ethernet.type = 0x8100;",
        ),
        ActionKind::SetNwSrc => (", bit<32> value", "h.ipv4.source = value;"),
        ActionKind::SetNwTos => (", bit<8> value", "h.ipv4.service = value;"),
        ActionKind::SetTpSrc => (", bit<16> value", "h.udp.source = value;"),
    }
}

fn changes_ipv4(action: ActionKind) -> bool {
    matches!(action, ActionKind::SetNwSrc | ActionKind::SetNwTos)
}

const HEAD: &str = "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header vlan_t { bit<3> priority; bit<1> drop_eligible; bit<12> id; bit<16> type; }
header shim_t { bit<16> number; bit<16> type; }
header ipv4_t { bit<4> version; bit<4> length; bit<8> service; bit<16> total; bit<16> id; bit<3> flags;
    bit<13> fragment; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination; }
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
";

const UPDATE: &str = "update_checksum(h.ipv4.isValid(), { h.ipv4.version, h.ipv4.length, h.ipv4.service, h.ipv4.total,
        h.ipv4.id, h.ipv4.flags, h.ipv4.fragment, h.ipv4.ttl, h.ipv4.protocol, h.ipv4.source, h.ipv4.destination },
        h.ipv4.checksum, HashAlgorithm.csum16);";
