//! Values while a program runs.
//!
//! A value has the shape of its type all the time: a header keeps its fields while it is invalid,
//! a stack all its elements. What a field of an invalid header holds is unspecified in P4; here,
//! as in BMv2, it holds what was last stored, and `setValid` on an invalid header clears it.

use ir::CompositeKind;
use ir::bits::Bits;
use num_bigint::BigInt;
use std::fmt;

/// A value of any P4 type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `bit<W>`, `int<W>`; `action_run` as `bit<32>`.
    Bits(Bits),
    /// `bool`.
    Bool(bool),
    /// `varbit<W>`: as many bits as it holds now.
    Varbits(Bits),
    /// Position in the program's errors.
    Error(u32),
    /// Position in the members of the enumeration.
    Enum(u32),
    /// `string`.
    String(String),
    /// `int`.
    Integer(BigInt),
    /// Struct or tuple.
    Struct(Vec<Value>),
    /// Header.
    Header {
        /// Its validity bit.
        valid: bool,
        /// In order of declaration.
        fields: Vec<Value>,
    },
    /// Header union: its members, of which at most one is valid.
    Union(Vec<Value>),
    /// Header stack.
    Stack {
        /// All of them, valid or not.
        elements: Vec<Value>,
        /// `nextIndex` (P4_16 specification, section 8.18).
        next: u32,
    },
}

/// Bits of a wide number that count as one more single value.
pub(crate) const CELL_BITS: u64 = 128;

impl Value {
    /// A composite of these fields; a header with this validity.
    pub(crate) fn composite(kind: CompositeKind, valid: bool, fields: Vec<Self>) -> Self {
        match kind {
            CompositeKind::Struct | CompositeKind::Tuple => Self::Struct(fields),
            CompositeKind::Header => Self::Header { valid, fields },
            CompositeKind::HeaderUnion => Self::Union(fields),
        }
    }

    /// The value as a pattern of bits, as tables and hashes see it: `bool` is one bit, errors and
    /// enumerations are positions in 32 bits.
    #[must_use]
    pub fn to_pattern(&self) -> Option<Bits> {
        match self {
            Self::Bits(bits) | Self::Varbits(bits) => Some(bits.clone()),
            Self::Bool(value) => Some(Bits::from_bool(*value)),
            Self::Error(position) | Self::Enum(position) => {
                Some(Bits::unsigned(32, u128::from(*position)))
            }
            _ => None,
        }
    }

    /// The value that a pattern stands for in a place that holds `like` now.
    pub(crate) fn from_pattern(like: &Self, pattern: &Bits) -> Self {
        let position = || u32::try_from(pattern.low_u64()).unwrap_or(u32::MAX);
        match like {
            Self::Bool(_) => Self::Bool(!pattern.is_zero()),
            Self::Error(_) => Self::Error(position()),
            Self::Enum(_) => Self::Enum(position()),
            Self::Bits(bits) => Self::Bits(pattern.cast(bits.width(), bits.is_signed())),
            _ => Self::Bits(pattern.clone()),
        }
    }

    /// Whether a header is valid, or a member of a union.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Header { valid, .. } => *valid,
            Self::Union(members) => members.iter().any(Self::is_valid),
            _ => false,
        }
    }

    /// Takes another value of the same type. A header that becomes invalid so keeps its fields, as BMv2's
    /// `assign_header` has it (`src/bm_sim/core/primitives.cpp`).
    pub(crate) fn assign(&mut self, from: Self) {
        match (self, from) {
            (Self::Header { valid, .. }, Self::Header { valid: false, .. }) => *valid = false,
            (Self::Struct(to), Self::Struct(from)) | (Self::Union(to), Self::Union(from))
                if to.len() == from.len() =>
            {
                to.iter_mut().zip(from).for_each(|(to, from)| to.assign(from));
            }
            (Self::Stack { elements, next }, Self::Stack { elements: from, next: from_next })
                if elements.len() == from.len() =>
            {
                elements.iter_mut().zip(from).for_each(|(to, from)| to.assign(from));
                *next = from_next;
            }
            (to, from) => *to = from,
        }
    }

    /// Becomes equal to another value, in the memory that it has where both are of one shape.
    pub(crate) fn copy_from(&mut self, from: &Self) {
        fn all(to: &mut [Value], from: &[Value]) {
            to.iter_mut().zip(from).for_each(|(to, from)| to.copy_from(from));
        }
        match (self, from) {
            (Self::Struct(to), Self::Struct(from)) | (Self::Union(to), Self::Union(from))
                if to.len() == from.len() =>
            {
                all(to, from);
            }
            (Self::Header { valid, fields }, Self::Header { valid: from_valid, fields: from })
                if fields.len() == from.len() =>
            {
                *valid = *from_valid;
                all(fields, from);
            }
            (Self::Stack { elements, next }, Self::Stack { elements: from, next: from_next })
                if elements.len() == from.len() =>
            {
                *next = *from_next;
                all(elements, from);
            }
            (to, from) => to.clone_from(from),
        }
    }

    /// `setValid` and `setInvalid`.
    pub(crate) fn set_validity(&mut self, to: bool) {
        match self {
            Self::Header { valid, fields } => {
                if to && !*valid {
                    fields.iter_mut().for_each(Self::clear);
                }
                *valid = to;
            }
            Self::Union(members) if !to => {
                members.iter_mut().for_each(|member| member.set_validity(false));
            }
            _ => {}
        }
    }

    /// Back to the value before anything was stored.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Bits(bits) => *bits = Bits::zero(bits.width(), bits.is_signed()),
            Self::Bool(value) => *value = false,
            Self::Varbits(bits) => *bits = Bits::zero(0, false),
            Self::Error(position) | Self::Enum(position) => *position = 0,
            Self::String(text) => text.clear(),
            Self::Integer(number) => *number = BigInt::from(0),
            Self::Struct(fields) | Self::Union(fields) => fields.iter_mut().for_each(Self::clear),
            Self::Header { valid, fields } => {
                *valid = false;
                fields.iter_mut().for_each(Self::clear);
            }
            Self::Stack { elements, next } => {
                *next = 0;
                elements.iter_mut().for_each(Self::clear);
            }
        }
    }

    /// `==` of the language: headers are equal if both are invalid, or both valid with equal
    /// fields (P4_16 specification, section 8.17); the next index of a stack does not count.
    #[must_use]
    pub fn language_equal(&self, other: &Self) -> bool {
        let all = |left: &[Self], right: &[Self]| {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| left.language_equal(right))
        };
        match (self, other) {
            (
                Self::Header { valid: left_valid, fields: left },
                Self::Header { valid: right_valid, fields: right },
            ) => left_valid == right_valid && (!left_valid || all(left, right)),
            (Self::Struct(left), Self::Struct(right)) | (Self::Union(left), Self::Union(right)) => {
                all(left, right)
            }
            (Self::Stack { elements: left, .. }, Self::Stack { elements: right, .. }) => {
                all(left, right)
            }
            (Self::Bits(left), Self::Bits(right)) => left.compare(right).is_eq(),
            _ => self == other,
        }
    }

    /// Bits that the fields of a header take, valid or not.
    pub(crate) fn width_in_bits(&self) -> u64 {
        match self {
            Self::Struct(fields) | Self::Header { fields, .. } => {
                fields.iter().map(Self::width_in_bits).sum()
            }
            Self::Stack { elements, .. } => elements.iter().map(Self::width_in_bits).sum(),
            other => other.to_pattern().map_or(0, |bits| u64::from(bits.width())),
        }
    }

    /// Calls `visit` with each pattern of bits in order; invalid headers are left out.
    pub(crate) fn each_pattern(&self, visit: &mut dyn FnMut(&Bits)) {
        match self {
            Self::Struct(values) | Self::Union(values) | Self::Stack { elements: values, .. } => {
                values.iter().for_each(|value| value.each_pattern(visit));
            }
            Self::Header { valid: true, fields } => {
                fields.iter().for_each(|value| value.each_pattern(visit));
            }
            Self::Header { valid: false, .. } => {}
            Self::Bits(bits) | Self::Varbits(bits) => visit(bits),
            _ => {
                if let Some(pattern) = self.to_pattern() {
                    visit(&pattern);
                }
            }
        }
    }

    /// Appends the headers that are valid, in order (`emit`).
    pub(crate) fn emit(&self, packet: &mut Vec<u8>, used: &mut u32) {
        self.each_pattern(&mut |bits| *used = bits.append_to_packet(packet, *used));
    }
}

/// For people: hexadecimal patterns, `{...}` around fields, `invalid` for invalid headers.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, values: &[Self]| {
            f.write_str("{")?;
            for (position, value) in values.iter().enumerate() {
                if position > 0 {
                    f.write_str(", ")?;
                }
                value.fmt(f)?;
            }
            f.write_str("}")
        };
        match self {
            Self::Bits(bits) | Self::Varbits(bits) => write!(f, "{bits:#x}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Error(position) => write!(f, "error {position}"),
            Self::Enum(position) => write!(f, "member {position}"),
            Self::String(text) => write!(f, "{text:?}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Header { valid: false, .. } => f.write_str("invalid"),
            Self::Struct(fields) | Self::Header { fields, .. } | Self::Union(fields) => {
                list(f, fields)
            }
            Self::Stack { elements, .. } => list(f, elements),
        }
    }
}
