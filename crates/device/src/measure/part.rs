//! The functions of a P4 device: a part of a program, once more.
//!
//! A program that is to be predicted is taken apart into [parts](crate::program); each that a generated program can have
//! is measured as a function of its own. The baseline parses Ethernet, sends the packet out of a port, and writes the
//! header back; a function adds one part, or the fewest with which the part means something, and says which. Whatever is
//! computed ends in the packet, so that no device can leave it out, and what must come out is what the reference
//! interpreter makes of the packet.

mod source;

use std::fmt;

use crate::campaign::{Dimension, Function, FunctionName};

pub(super) use source::source;

/// Bits of addresses and type of an Ethernet header: what keys and conditions can look at.
const FIELDS: u32 = 112;
/// The widest field that can be written.
const WRITABLE: u32 = 48;

/// What a generated program has beside the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// A header of so many bits, extracted and put out.
    Header(u32),
    /// A transition of the parser that looks at so many bits.
    Select(u32),
    /// The same, at bits that are not extracted.
    Lookahead(u32),
    /// A condition that the parser demands.
    Verify,
    /// A table that is applied, with the kinds and widths of its keys.
    Table(Vec<(KeyKind, u32)>),
    /// A value of so many bits that is written.
    Assign(u32),
    /// Arithmetic on values of so many bits, and the result written.
    Compute(Operator, u32),
    /// A condition on the validity of a header.
    Branch,
    /// A condition that compares values of so many bits; 0 for an error.
    Compare(u32),
    /// A header made valid that was.
    SetValid,
    /// A header made invalid that was.
    SetInvalid,
    /// A call of v1model.
    Call(Call),
}

macro_rules! named {
    ($(#[$meta:meta])* $kind:ident { $($variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind {
            $(#[doc = concat!("`", $name, "`.")] $variant,)*
        }

        impl $kind {
            const ALL: &[Self] = &[$(Self::$variant),*];

            /// How parts name it.
            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }

            fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }
        }
    };
}

named! {
    /// How a key matches.
    KeyKind {
        Exact = "exact",
        Lpm = "lpm",
        Ternary = "ternary",
        Range = "range",
        Optional = "optional",
    }
}

named! {
    /// What is computed of two values.
    Operator {
        Add = "add",
        Subtract = "subtract",
        Multiply = "multiply",
        SaturatingAdd = "saturatingadd",
        SaturatingSubtract = "saturatingsubtract",
        BitAnd = "bitand",
        BitOr = "bitor",
        BitXor = "bitxor",
        ShiftLeft = "shiftleft",
        ShiftRight = "shiftright",
    }
}

named! {
    /// A call that v1model has.
    Call {
        Count = "counter.count",
        ReadRegister = "register.read",
        WriteRegister = "register.write",
        Hash = "hash",
        MarkToDrop = "mark_to_drop",
        UpdateChecksum = "update_checksum",
        VerifyChecksum = "verify_checksum",
    }
}

impl Operator {
    /// How P4 spells it.
    fn p4(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::SaturatingAdd => "|+|",
            Self::SaturatingSubtract => "|-|",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        }
    }
}

impl Part {
    /// The function that has a part of a program; `None` if none can be generated.
    pub(super) fn of(part: &str) -> Option<Self> {
        let (kind, rest) = part.split_once(' ').unwrap_or((part, ""));
        let bits = |most: u32| rest.parse().ok().filter(|bits| (1..=most).contains(bits));
        match kind {
            "extract" | "emit" => bits(4096).filter(|bits| bits % 8 == 0).map(Self::Header),
            "select" => bits(FIELDS).map(Self::Select),
            "lookahead" => bits(64).map(Self::Lookahead),
            "verify" => Some(Self::Verify),
            "table" => keys(rest).map(Self::Table),
            "assign" => bits(WRITABLE).map(Self::Assign),
            "branch" => Some(Self::Branch),
            "set" if rest == "valid" => Some(Self::SetValid),
            "set" if rest == "invalid" => Some(Self::SetInvalid),
            "compute" => {
                let (operator, bits) = rest.split_once(' ')?;
                let bits: u32 = bits.parse().ok()?;
                match operator {
                    "compare" => (bits <= FIELDS).then_some(Self::Compare(bits)),
                    _ => Operator::named(operator)
                        .filter(|_| (1..=WRITABLE).contains(&bits))
                        .map(|operator| Self::Compute(operator, bits)),
                }
            }
            // PSA and PNA spell a counter in capitals.
            "extern" => Call::named(if rest == "Counter.count" { "counter.count" } else { rest })
                .map(Self::Call),
            _ => None,
        }
    }

    /// The parts of a program that it stands for.
    pub(super) fn consists_of(&self) -> Vec<String> {
        match self {
            Self::Header(bits) => vec![format!("extract {bits}"), format!("emit {bits}")],
            Self::Select(bits) => vec![format!("select {bits}")],
            Self::Lookahead(bits) => vec![format!("lookahead {bits}"), format!("select {bits}")],
            Self::Verify => vec!["verify".to_owned()],
            Self::Table(_) => vec![self.to_string()],
            Self::Assign(bits) => vec![format!("assign {bits}")],
            Self::Compute(operator, bits) => {
                vec![format!("compute {} {bits}", operator.name()), format!("assign {bits}")]
            }
            Self::Branch => vec!["branch".to_owned()],
            Self::Compare(bits) => vec!["branch".to_owned(), format!("compute compare {bits}")],
            Self::SetValid => vec!["set valid".to_owned()],
            Self::SetInvalid => vec!["set invalid".to_owned()],
            Self::Call(call) => vec![format!("extern {}", call.name())],
        }
    }

    /// What it is in a campaign.
    pub(super) fn function(&self) -> Function {
        let dimension = match self {
            Self::Header(_) | Self::Select(_) | Self::Lookahead(_) | Self::Verify => {
                Dimension::Parser
            }
            Self::Table(_) => Dimension::Key,
            _ => Dimension::Primitive,
        };
        Function {
            name: FunctionName::new(self.to_string()),
            dimension,
            description: None,
            consists_of: self.consists_of(),
        }
    }

    /// Bytes of the packet that it needs behind the Ethernet header.
    fn bytes(&self) -> usize {
        match self {
            Self::Header(bits) => *bits as usize / 8,
            _ => 0,
        }
    }
}

/// What the baseline consists of.
pub(super) fn baseline() -> Function {
    Function {
        name: FunctionName::new("forward"),
        dimension: Dimension::Other("baseline".to_owned()),
        description: Some(
            "Extracts an Ethernet header, sets the port, puts the header out".to_owned(),
        ),
        consists_of: ["extract 112", "assign 9", "emit 112"].map(str::to_owned).to_vec(),
    }
}

/// Bytes of the headers of a packet of these parts.
pub(super) fn header_bytes(parts: &[Part]) -> usize {
    14 + parts.iter().map(Part::bytes).sum::<usize>()
}

fn keys(text: &str) -> Option<Vec<(KeyKind, u32)>> {
    let key = |key: &str| {
        let (kind, bits) = key.split_once(' ')?;
        let bits = bits.parse().ok().filter(|bits| (1..=FIELDS).contains(bits))?;
        Some((KeyKind::named(kind)?, bits))
    };
    let keys: Option<Vec<_>> = text.split(", ").filter(|key| !key.is_empty()).map(key).collect();
    // Two longest prefixes are no table.
    keys.filter(|keys| keys.iter().filter(|(kind, _)| *kind == KeyKind::Lpm).count() <= 1)
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(bits) => write!(f, "header {bits}"),
            Self::Select(bits) => write!(f, "select {bits}"),
            Self::Lookahead(bits) => write!(f, "lookahead {bits}"),
            Self::Verify => f.write_str("verify"),
            Self::Table(keys) => {
                f.write_str("table")?;
                keys.iter().enumerate().try_for_each(|(place, (kind, bits))| {
                    let between = if place == 0 { "" } else { "," };
                    write!(f, "{between} {} {bits}", kind.name())
                })
            }
            Self::Assign(bits) => write!(f, "assign {bits}"),
            Self::Compute(operator, bits) => write!(f, "{} {bits}", operator.name()),
            Self::Branch => f.write_str("branch"),
            Self::Compare(bits) => write!(f, "compare {bits}"),
            Self::SetValid => f.write_str("set valid"),
            Self::SetInvalid => f.write_str("set invalid"),
            Self::Call(call) => f.write_str(call.name()),
        }
    }
}

#[cfg(test)]
mod tests;
