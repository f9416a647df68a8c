//! The functions of a P4 device, each of which adds one piece of a program, called a part, to the
//! baseline program.
//!
//! To predict the delay of a program, the program is divided into [parts](crate::program). Each
//! part that a generated program can contain is measured as a function of its own. The baseline
//! parses Ethernet, sends the packet out of a port, and emits the header. A function adds one part,
//! or the smallest group of parts in which that part is useful, and lists all parts of the group.
//! Every computed value ends up in the packet, so that no device can optimise the computation away.
//! The expected output is that of the reference interpreter.

mod source;

use std::fmt;

use crate::campaign::{Dimension, Function, FunctionName};

pub(super) use source::source;

/// The number of bits in the addresses and the type of an Ethernet header, which keys and
/// conditions can read.
const FIELDS: u32 = 112;
/// The width in bits of the widest field that an assignment can write.
const WRITABLE: u32 = 48;

/// A piece of a P4 program that a generated program contains beyond the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// A header of this many bits, which is extracted and emitted.
    Header(u32),
    /// A parser transition that selects on a key of this many bits.
    Select(u32),
    /// A parser transition that selects on this many bits of a lookahead, which are not extracted.
    Lookahead(u32),
    /// A `verify` statement of the parser.
    Verify,
    /// A table that is applied, with the kinds and widths of its keys.
    Table(Vec<(KeyKind, u32)>),
    /// An assignment of this many bits.
    Assign(u32),
    /// Arithmetic on values of this many bits, with an assignment of the result.
    Compute(Operator, u32),
    /// A condition on the validity of a header.
    Branch,
    /// A condition that compares values of this many bits, or 0 for a comparison of errors.
    Compare(u32),
    /// A `setValid` of a header that is already valid.
    SetValid,
    /// A `setInvalid` of a header that is not valid.
    SetInvalid,
    /// A call of a v1model extern.
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

            /// Returns the spelling of this variant in the names of program parts.
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
    /// The match kind of a key.
    KeyKind {
        Exact = "exact",
        Lpm = "lpm",
        Ternary = "ternary",
        Range = "range",
        Optional = "optional",
    }
}

named! {
    /// A binary operator.
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
    /// An extern of v1model that a generated program can call.
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
    /// Returns the P4 operator.
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
    /// Returns the part that represents a program part, given by its name, in a generated program.
    /// Returns `None` if no program can be generated for it.
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
            // PSA and PNA capitalise the extern `Counter`.
            "extern" => Call::named(if rest == "Counter.count" { "counter.count" } else { rest })
                .map(Self::Call),
            _ => None,
        }
    }

    /// Returns the names of the program parts that the function of this part covers.
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

    /// Returns the function that measures this part, in the form in which a campaign describes it.
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

    /// Returns the number of bytes after the Ethernet header that packets need for this part.
    fn bytes(&self) -> usize {
        match self {
            Self::Header(bits) => *bits as usize / 8,
            _ => 0,
        }
    }
}

/// Returns the function that stands for the baseline program, with its parts.
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

/// Returns the length in bytes of all headers of packets for a program of these parts.
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
    // A table has at most one key of kind `lpm`.
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
