//! The fields of the architectures' metadata. A program reads and writes any subset of them.

use super::{Architecture, Grammar, Stage};
use std::fmt::Write;

/// A field of the metadata.
#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// A number: its width, and the casts from and to its own type, if it has one.
    Number(u32, &'static str, &'static str),
    Bool,
    /// An enumeration and its members.
    Enum(&'static str, &'static [&'static str]),
    Error,
}

const fn number(name: &'static str, width: u32) -> Field {
    Field { name, kind: Kind::Number(width, "", "") }
}

const fn typed(name: &'static str, width: u32, plain: &'static str, own: &'static str) -> Field {
    Field { name, kind: Kind::Number(width, plain, own) }
}

const fn flag(name: &'static str) -> Field {
    Field { name, kind: Kind::Bool }
}

const PARSER_ERROR: Field = Field { name: "parser_error", kind: Kind::Error };
const CLASS: Field = typed("class_of_service", 8, "(ClassOfServiceUint_t)", "(ClassOfService_t)");
const SESSION: Field =
    typed("clone_session_id", 16, "(CloneSessionIdUint_t)", "(CloneSessionId_t)");
const EGRESS_PORT: Field = typed("egress_port", 32, "(PortIdUint_t)", "(PortId_t)");
const INGRESS_PORT: Field = typed("ingress_port", 32, "(PortIdUint_t)", "(PortId_t)");
const INPUT_PORT: Field = typed("input_port", 32, "(PortIdUint_t)", "(PortId_t)");
const PACKET_PATH: Field = Field {
    name: "packet_path",
    kind: Kind::Enum(
        "PSA_PacketPath_t",
        &[
            "NORMAL",
            "NORMAL_UNICAST",
            "NORMAL_MULTICAST",
            "CLONE_I2E",
            "CLONE_E2E",
            "RESUBMIT",
            "RECIRCULATE",
        ],
    ),
};
const DIRECTION: Field = Field {
    name: "direction",
    kind: Kind::Enum("PNA_Direction_t", &["NET_TO_HOST", "HOST_TO_NET"]),
};
const PASS: Field = typed("pass", 3, "(PassNumberUint_t)", "(PassNumber_t)");

/// The fields of v1model's `standard_metadata_t`.
const STANDARD: [Field; 16] = [
    number("ingress_port", 9),
    number("egress_spec", 9),
    number("egress_port", 9),
    number("instance_type", 32),
    number("packet_length", 32),
    number("enq_timestamp", 32),
    number("enq_qdepth", 19),
    number("deq_timedelta", 32),
    number("deq_qdepth", 19),
    number("ingress_global_timestamp", 48),
    number("egress_global_timestamp", 48),
    number("mcast_grp", 16),
    number("egress_rid", 16),
    number("checksum_error", 1),
    PARSER_ERROR,
    number("priority", 3),
];

const PSA_PARSER: [Field; 2] = [INGRESS_PORT, PACKET_PATH];
const PSA_INGRESS: [Field; 4] = [
    INGRESS_PORT,
    PACKET_PATH,
    typed("ingress_timestamp", 64, "(TimestampUint_t)", "(Timestamp_t)"),
    PARSER_ERROR,
];
const PSA_INGRESS_SAYS: [Field; 7] = [
    CLASS,
    flag("clone"),
    SESSION,
    flag("drop"),
    flag("resubmit"),
    typed("multicast_group", 32, "(MulticastGroupUint_t)", "(MulticastGroup_t)"),
    EGRESS_PORT,
];
const PSA_EGRESS_PARSER: [Field; 2] = [EGRESS_PORT, PACKET_PATH];
const PSA_EGRESS: [Field; 6] = [
    CLASS,
    EGRESS_PORT,
    PACKET_PATH,
    typed("instance", 16, "(EgressInstanceUint_t)", "(EgressInstance_t)"),
    typed("egress_timestamp", 64, "(TimestampUint_t)", "(Timestamp_t)"),
    PARSER_ERROR,
];
const PSA_EGRESS_SAYS: [Field; 3] = [flag("clone"), SESSION, flag("drop")];

const PNA_PARSER: [Field; 2] = [flag("recirculated"), INPUT_PORT];
const PNA_CONTROL: [Field; 5] = [
    flag("recirculated"),
    typed("timestamp", 64, "(TimestampUint_t)", "(Timestamp_t)"),
    PARSER_ERROR,
    CLASS,
    INPUT_PORT,
];
const PNA_SAYS: [Field; 1] = [CLASS];
const OLD_PNA_PARSER: [Field; 4] = [DIRECTION, PASS, flag("loopedback"), INPUT_PORT];
const OLD_PNA_PRE: [Field; 5] = [INPUT_PORT, PARSER_ERROR, DIRECTION, PASS, flag("loopedback")];
const OLD_PNA_PRE_SAYS: [Field; 3] = [
    flag("decrypt"),
    typed("said", 32, "(SecurityAssocIdUint_t)", "(SecurityAssocId_t)"),
    number("decrypt_start_offset", 16),
];
const OLD_PNA_CONTROL: [Field; 7] = [
    DIRECTION,
    PASS,
    flag("loopedback"),
    typed("timestamp", 64, "(TimestampUint_t)", "(Timestamp_t)"),
    PARSER_ERROR,
    CLASS,
    INPUT_PORT,
];

/// The errors of core.p4.
const ERRORS: [&str; 7] = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

/// The input and the output metadata of a block, each with the name of its parameter.
struct Structs {
    told: (&'static str, &'static [Field]),
    says: (&'static str, &'static [Field]),
}

fn structs(architecture: Architecture, is_old: bool, stage: Stage) -> Structs {
    let (told, says): (&[Field], &[Field]) = match (architecture, stage) {
        (Architecture::V1model, _) => {
            return Structs { told: ("s", &STANDARD), says: ("s", &STANDARD) };
        }
        (Architecture::Psa, Stage::Parser) => (&PSA_PARSER, &[]),
        (Architecture::Psa, Stage::EgressParser) => (&PSA_EGRESS_PARSER, &[]),
        (Architecture::Psa, Stage::Egress) => (&PSA_EGRESS, &PSA_EGRESS_SAYS),
        (Architecture::Psa, _) => (&PSA_INGRESS, &PSA_INGRESS_SAYS),
        (Architecture::Pna, Stage::Parser | Stage::EgressParser) if is_old => {
            (&OLD_PNA_PARSER, &[])
        }
        (Architecture::Pna, Stage::Parser | Stage::EgressParser) => (&PNA_PARSER, &[]),
        (Architecture::Pna, Stage::Pre) => (&OLD_PNA_PRE, &OLD_PNA_PRE_SAYS),
        (Architecture::Pna, _) if is_old => (&OLD_PNA_CONTROL, &PNA_SAYS),
        (Architecture::Pna, _) => (&PNA_CONTROL, &PNA_SAYS),
    };
    Structs { told: ("given", told), says: ("o", says) }
}

impl Grammar<'_, '_> {
    /// Returns a statement that reads or writes metadata.
    pub(super) fn metadata(&mut self, stage: Stage) -> String {
        let Structs { told, says } = structs(self.architecture, self.is_old, stage);
        match self.below(8) {
            0..=2 => self.reads_metadata(stage, told),
            3 if !says.1.is_empty() => self.reads_metadata(stage, says),
            4 if !says.1.is_empty() && !self.is_simple => self.restores_metadata(stage, says),
            _ if says.1.is_empty() => self.reads_metadata(stage, told),
            _ => self.writes_metadata(stage, says),
        }
    }

    fn any_of(&mut self, (parameter, fields): (&'static str, &'static [Field])) -> (String, Kind) {
        let position = self.below(fields.len() as u32) as usize;
        let field = fields.get(position).copied().unwrap_or(PARSER_ERROR);
        (format!("{parameter}.{}", field.name), field.kind)
    }

    fn reads_metadata(&mut self, stage: Stage, from: (&'static str, &'static [Field])) -> String {
        let (from, kind) = self.any_of(from);
        let (value, of) = match kind {
            Kind::Number(width, plain, _) => (format!("({plain} {from})"), width),
            Kind::Bool => (format!("((bit<1>) {from})"), 1),
            Kind::Enum(name, members) => {
                let member = self.one_of(members);
                (format!("(({from} == {name}.{member}) ? 1w1 : 1w0)"), 1)
            }
            Kind::Error => {
                let member = self.one_of(&ERRORS);
                (format!("(({from} == error.{member}) ? 1w1 : 1w0)"), 1)
            }
        };
        let (to, width, signed) = self.target(stage);
        match (signed, of == width) {
            (false, true) => format!("{to} = {value};"),
            (false, false) => format!("{to} = (bit<{width}>) {value};"),
            (true, _) => format!("{to} = (int<{width}>) (bit<{width}>) {value};"),
        }
    }

    fn writes_metadata(&mut self, stage: Stage, to: (&'static str, &'static [Field])) -> String {
        let (to, kind) = self.any_of(to);
        let text = match (to.as_str(), kind) {
            // If egress wrote this field, the copies that egress makes would be copied again.
            ("s.instance_type", _) if stage == Stage::Egress => {
                return self.reads_metadata(stage, ("s", &STANDARD));
            }
            ("o.resubmit", _) => {
                let condition = self.condition(0);
                format!("{to} = {} && {condition};", self.first_pass())
            }
            ("o.clone", _) if stage == Stage::Egress => {
                let condition = self.condition(0);
                format!("{to} = given.packet_path != PSA_PacketPath_t.CLONE_E2E && {condition};")
            }
            // Groups, sessions and ports have small numbers.
            (_, Kind::Number(width, _, own)) => {
                let value = match self.below(3) {
                    0 => self.expression(width, 1),
                    _ => format!("{width}w{}", self.below(8) & ((1_u32 << width.min(8)) - 1)),
                };
                format!("{to} = {own} {value};")
            }
            (_, Kind::Bool) => {
                let value = match self.below(3) {
                    0 => "true".to_owned(),
                    1 => "false".to_owned(),
                    _ => self.condition(0),
                };
                format!("{to} = {value};")
            }
            (_, Kind::Enum(name, members)) => format!("{to} = {name}.{};", self.one_of(members)),
            (_, Kind::Error) => format!("{to} = error.{};", self.one_of(&ERRORS)),
        };
        // Some fields are written on some paths only.
        match self.below(3) {
            0 => {
                let condition = self.condition(0);
                format!("if ({condition}) {{ {text} }}")
            }
            _ => text,
        }
    }

    /// Returns a block that saves the output metadata, changes a field, and may restore them.
    fn restores_metadata(
        &mut self,
        stage: Stage,
        says: (&'static str, &'static [Field]),
    ) -> String {
        let of = match (self.architecture, stage) {
            (Architecture::V1model, _) => "standard_metadata_t",
            (Architecture::Psa, Stage::Egress) => "psa_egress_output_metadata_t",
            (Architecture::Psa, _) => "psa_ingress_output_metadata_t",
            (Architecture::Pna, Stage::Pre) => "pna_pre_output_metadata_t",
            (Architecture::Pna, _) => "pna_main_output_metadata_t",
        };
        let (between, condition) = (self.writes_metadata(stage, says), self.condition(0));
        let mut text = String::new();
        let whole = says.0;
        write!(text, "{{ {of} was = {whole}; {between} if ({condition}) {{ {whole} = was; }} }}")
            .expect("text");
        text
    }

    /// Returns a condition that holds for packets that may be processed once more.
    pub(super) fn first_pass(&mut self) -> String {
        let by_path = match self.architecture {
            Architecture::V1model => "(s.instance_type == 0 && m.rounds < 2)",
            Architecture::Psa => "given.packet_path == PSA_PacketPath_t.NORMAL",
            Architecture::Pna => "given.pass == (PassNumber_t) 3w0",
        };
        if self.carries { "m.rounds < 2".to_owned() } else { by_path.to_owned() }
    }
}
