//! The values of a running program.
//!
//! A value always has the shape of its type: a header keeps its fields while it is invalid, and a
//! stack all its elements. P4 does not specify the value of a field in an invalid header; here, as
//! in BMv2, it is the value that was last stored, and `setValid` on an invalid header clears it.

use ir::CompositeKind;
use ir::bits::Bits;
use num_bigint::BigInt;
use std::fmt;

/// The headers of a value that contribute their fields to its bit pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headers {
    Valid,
    All,
}

/// A value of any P4 type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number of type `bit<W>` or `int<W>`, or an `action_run` as `bit<32>`.
    Bits(Bits),
    /// A `bool`.
    Bool(bool),
    /// A `varbit<W>`, with the number of bits that it currently holds.
    Varbits(Bits),
    /// An error, by its position in the program's errors.
    Error(u32),
    /// A member of an enumeration, by its position.
    Enum(u32),
    /// A `string`.
    String(String),
    /// An `int`.
    Integer(BigInt),
    /// A struct or tuple.
    Struct(Vec<Value>),
    /// A header.
    Header {
        /// Whether the header is valid.
        valid: bool,
        /// The fields, in the order of their declaration.
        fields: Vec<Value>,
    },
    /// A header union, with its members, of which at most one is valid.
    Union(Vec<Value>),
    /// A header stack.
    Stack {
        /// All elements, valid or not.
        elements: Vec<Value>,
        /// The `nextIndex` of the stack (P4_16 specification, section 8.18).
        next: u32,
    },
}

/// The number of bits of a wide number that count as one value, where the size of a program's
/// variables is limited.
pub(crate) const CELL_BITS: u64 = 128;

impl Value {
    /// Returns a struct, header or header union with these fields. `valid` matters for headers
    /// only.
    pub(crate) fn composite(kind: CompositeKind, valid: bool, fields: Vec<Self>) -> Self {
        match kind {
            CompositeKind::Struct | CompositeKind::Tuple => Self::Struct(fields),
            CompositeKind::Header => Self::Header { valid, fields },
            CompositeKind::HeaderUnion => Self::Union(fields),
        }
    }

    /// Returns the value as a bit pattern, which is the form that tables and hashes use: `bool` is
    /// one bit, and errors and enumerations are positions in 32 bits. Returns `None` for structs,
    /// headers and other values without such a form.
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

    /// Converts a bit pattern to a value of the same type as `like`.
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

    /// Returns whether the value is a valid header, or a header union with a valid member.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Header { valid, .. } => *valid,
            Self::Union(members) => members.iter().any(Self::is_valid),
            _ => false,
        }
    }

    /// Assigns another value of the same type. A header that becomes invalid keeps its fields, as
    /// in BMv2's `assign_header` (`src/bm_sim/core/primitives.cpp`).
    pub(crate) fn assign(&mut self, from: &Self) {
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
                *next = *from_next;
            }
            (to, from) => to.copy_from(from),
        }
    }

    /// Copies another value into this one, and reuses this value's memory if both have the same
    /// shape.
    pub(crate) fn copy_from(&mut self, from: &Self) {
        fn all(to: &mut [Value], from: &[Value]) {
            to.iter_mut().zip(from).for_each(|(to, from)| to.copy_from(from));
        }
        match (self, from) {
            (Self::Bits(to), Self::Bits(from)) => to.clone_from(from),
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

    /// Makes a header valid or invalid, as `setValid` and `setInvalid` do.
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

    /// Resets the value to its initial state.
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

    /// Compares values as the operator `==` of P4 does. Headers are equal if both are invalid, or
    /// if both are valid and have equal fields (P4_16 specification, section 8.17). The `nextIndex`
    /// of a stack is ignored.
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

    /// Returns the number of bits of a header's fields, whether or not the header is valid.
    pub(crate) fn width_in_bits(&self) -> u64 {
        match self {
            Self::Struct(fields) | Self::Header { fields, .. } => {
                fields.iter().map(Self::width_in_bits).sum()
            }
            Self::Stack { elements, .. } => elements.iter().map(Self::width_in_bits).sum(),
            other => other.to_pattern().map_or(0, |bits| u64::from(bits.width())),
        }
    }

    /// Calls `visit` with the bit pattern of each number in the value, in order. Invalid headers
    /// are left out.
    pub(crate) fn each_pattern(&self, visit: &mut dyn FnMut(&Bits)) {
        self.each_pattern_of(Headers::Valid, visit);
    }

    /// Calls `visit` with the bit pattern of each number in the value, in order. `headers` says
    /// whether fields of invalid headers are included. Of a header union, only the valid member is
    /// included in either case.
    pub(crate) fn each_pattern_of(&self, headers: Headers, visit: &mut dyn FnMut(&Bits)) {
        match self {
            Self::Struct(values) | Self::Stack { elements: values, .. } => {
                values.iter().for_each(|value| value.each_pattern_of(headers, visit));
            }
            Self::Union(values) => values.iter().for_each(|value| value.each_pattern(visit)),
            Self::Header { valid: false, .. } if headers == Headers::Valid => {}
            Self::Header { fields, .. } => {
                fields.iter().for_each(|value| value.each_pattern_of(headers, visit));
            }
            Self::Bits(bits) | Self::Varbits(bits) => visit(bits),
            _ => {
                if let Some(pattern) = self.to_pattern() {
                    visit(&pattern);
                }
            }
        }
    }

    /// Appends the valid headers in the value to a packet, in order, as `emit` does. `used` is the
    /// number of bits in use in the last byte of the packet.
    pub(crate) fn emit(&self, packet: &mut Vec<u8>, used: &mut u32) {
        self.each_pattern(&mut |bits| *used = bits.append_to_packet(packet, *used));
    }
}

/// Formats a value for people: hexadecimal patterns, `{...}` around fields, and `invalid` for
/// invalid headers.
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
