//! Values known at compile time (§18.1).

use std::sync::Arc;

use num_bigint::BigInt;

use crate::ast::DeclarationId;
use ir::bits::Bits;

/// A value known at compile time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// A `bool`.
    Bool(bool),
    /// An `int`.
    Integer(BigInt),
    /// A `bit<W>` or `int<W>`.
    Bits(Bits),
    /// A `string`.
    String(Arc<str>),
    /// A member of `error`.
    Error(DeclarationId),
    /// A member of `match_kind`.
    MatchKind(DeclarationId),
    /// A member of an enum without representation.
    Enum(DeclarationId),
    /// A member of an enum with a representation, and the number that represents it. A cast gives a number without
    /// member.
    SerializableEnum {
        /// The member, if the number is that of one.
        member: Option<DeclarationId>,
        /// The number.
        value: Bits,
    },
    /// A struct, a valid header, a tuple, a `list`, a header stack: the fields or elements in order. Before the
    /// context gives it a type, also a list expression.
    Composite(Vec<Constant>),
    /// A record expression before the context gives it a type.
    Record(Vec<(Arc<str>, Constant)>),
    /// `{#}`: an invalid header or header union.
    Invalid,
}

impl Constant {
    /// The number of an `int`, `bit<W>`, `int<W>` or represented enum member.
    pub fn to_integer(&self) -> Option<BigInt> {
        match self {
            Self::Integer(value) => Some(value.clone()),
            Self::Bits(bits) | Self::SerializableEnum { value: bits, .. } => Some(bits.to_bigint()),
            _ => None,
        }
    }

    /// The value of a `bool`.
    pub fn to_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }
}
