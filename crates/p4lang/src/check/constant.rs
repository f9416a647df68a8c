//! Compile-time values (P4_16 §18.1).

use std::sync::Arc;

use num_bigint::BigInt;

use crate::ast::DeclarationId;
use ir::bits::Bits;

/// A value that is known at compile time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// A value of type `bool`.
    Bool(bool),
    /// A value of type `int`.
    Integer(BigInt),
    /// A value of type `bit<W>` or `int<W>`.
    Bits(Bits),
    /// A value of type `string`.
    String(Arc<str>),
    /// A member of `error`.
    Error(DeclarationId),
    /// A member of `match_kind`.
    MatchKind(DeclarationId),
    /// A member of an enumeration without an underlying type.
    Enum(DeclarationId),
    /// A value of a serializable enumeration: a member, or a number that was cast to the
    /// enumeration without being the value of a member.
    SerializableEnum {
        /// The declaration of the member with this number, or `None` if no member has it.
        member: Option<DeclarationId>,
        /// The number, which has the underlying type of the enumeration.
        value: Bits,
    },
    /// The fields of a struct or valid header, or the elements of a tuple, a `list`, a header
    /// stack, or a list expression that was not converted to one of these yet.
    Composite(Vec<Constant>),
    /// The fields of a record expression that was not converted yet.
    Record(Vec<(Arc<str>, Constant)>),
    /// `{#}`: an invalid header or header union.
    Invalid,
}

impl Constant {
    /// Returns the number if the value is of type `int`, `bit<W>`, `int<W>` or a serializable
    /// enumeration, and `None` otherwise.
    pub fn to_integer(&self) -> Option<BigInt> {
        match self {
            Self::Integer(value) => Some(value.clone()),
            Self::Bits(bits) | Self::SerializableEnum { value: bits, .. } => Some(bits.to_bigint()),
            _ => None,
        }
    }

    /// Returns the value if it is of type `bool`, and `None` otherwise.
    pub fn to_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }
}
