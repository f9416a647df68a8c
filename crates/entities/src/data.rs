//! Values of arbitrary P4 types, which registers store and digests carry.

use std::fmt;
use std::sync::Arc;

use crate::schema::TranslatedTypeId;

/// A P4 type in which all references to named types are resolved. Types are finite and not deeply
/// nested, so code may recurse over a type without a limit of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// A string of bits, such as `bit<W>`.
    Bits(BitsType),
    /// A truth value.
    Bool,
    /// A tuple: the types of its members, in order.
    Tuple(Arc<[DataType]>),
    /// A struct: the types of its members, in order.
    Struct(Arc<[DataType]>),
    /// A header: the types of its fields, in order.
    Header(Arc<[BitsType]>),
    /// A header union: its headers, each with its name.
    HeaderUnion(Arc<[(String, Arc<[BitsType]>)]>),
    /// A stack of headers.
    HeaderStack {
        /// The types of the header's fields.
        header: Arc<[BitsType]>,
        /// The number of elements of the stack.
        size: usize,
    },
    /// A stack of header unions.
    HeaderUnionStack {
        /// The headers of the union, each with its name.
        headers: Arc<[(String, Arc<[BitsType]>)]>,
        /// The number of elements of the stack.
        size: usize,
    },
    /// An enum without an underlying type: the names of its members.
    Enum(Arc<[String]>),
    /// The type `error`: the names of its members.
    Error(Arc<[String]>),
    /// An enum whose underlying type has this width in bits. Values without a name are legal.
    SerializableEnum(u32),
    /// A translated type, for whose values the control plane uses strings. `None` stands for a type
    /// that P4Info does not name.
    Text(Option<TranslatedTypeId>),
}

/// A type whose values are strings of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitsType {
    /// `bit<W>`, with its width `W` in bits.
    Unsigned(u32),
    /// `int<W>`, with its width `W` in bits.
    Signed(u32),
    /// `varbit<W>`, with its largest width `W` in bits.
    Varbit(u32),
}

/// A value of any P4 type, in canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Data {
    /// A string of bits in canonical form, or a string of a translated type.
    Bits(Box<[u8]>),
    /// A varbit value with its dynamic width.
    Varbit {
        /// The dynamic width of the value in bits.
        bits: u32,
        /// The canonical bytes of the value (empty for a width of 0).
        bytes: Box<[u8]>,
    },
    /// A truth value.
    Bool(bool),
    /// The values of a tuple's members, in order.
    Tuple(Vec<Data>),
    /// The values of a struct's members, in order.
    Struct(Vec<Data>),
    /// The values of a header's fields, or the fact that the header is invalid.
    Header(Header),
    /// The name and the field values of the valid header of a header union, if one is valid.
    Union(Union),
    /// The headers of a header stack, in order.
    HeaderStack(Vec<Header>),
    /// The header unions in a stack of header unions, in order.
    UnionStack(Vec<Union>),
    /// The name of a member of an enum.
    Enum(String),
    /// The name of a member of `error`.
    Error(String),
    /// The value of an enum with an underlying type.
    EnumValue(Box<[u8]>),
}

/// The values of a header's fields, or `None` if the header is invalid.
pub type Header = Option<Vec<Box<[u8]>>>;

/// The name of a header union's valid header and the values of its fields, or `None` if no header
/// is valid.
pub type Union = Option<(String, Vec<Box<[u8]>>)>;

impl DataType {
    /// Returns whether the type is, or contains, a translated type for whose values the control
    /// plane uses strings.
    #[must_use]
    pub fn has_text(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Tuple(types) | Self::Struct(types) => types.iter().any(Self::has_text),
            _ => false,
        }
    }

    /// Returns the initial value of the type: zero, an invalid header, or the first member of an
    /// enum.
    #[must_use]
    pub fn initial(&self) -> Data {
        let zero = || Box::from([0]);
        let members = |types: &[Self]| types.iter().map(Self::initial).collect();
        let first = |members: &[String]| members.first().cloned().unwrap_or_default();
        match self {
            Self::Bits(BitsType::Varbit(_)) => Data::Varbit { bits: 0, bytes: Box::default() },
            Self::Bits(_) | Self::Text(_) => Data::Bits(zero()),
            Self::Bool => Data::Bool(false),
            Self::Tuple(types) => Data::Tuple(members(types)),
            Self::Struct(types) => Data::Struct(members(types)),
            Self::Header(_) => Data::Header(None),
            Self::HeaderUnion(_) => Data::Union(None),
            Self::HeaderStack { size, .. } => Data::HeaderStack(vec![None; *size]),
            Self::HeaderUnionStack { size, .. } => Data::UnionStack(vec![None; *size]),
            Self::Enum(members) => Data::Enum(first(members)),
            Self::Error(members) => Data::Error(first(members)),
            Self::SerializableEnum(_) => Data::EnumValue(zero()),
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bits(BitsType::Unsigned(bits)) => write!(f, "bit<{bits}>"),
            Self::Bits(BitsType::Signed(bits)) => write!(f, "int<{bits}>"),
            Self::Bits(BitsType::Varbit(bits)) => write!(f, "varbit<{bits}>"),
            Self::Bool => f.write_str("bool"),
            Self::Tuple(types) => write!(f, "tuple of {} members", types.len()),
            Self::Struct(types) => write!(f, "struct of {} members", types.len()),
            Self::Header(fields) => write!(f, "header of {} fields", fields.len()),
            Self::HeaderUnion(headers) => write!(f, "header union of {} headers", headers.len()),
            Self::HeaderStack { size, .. } => write!(f, "header stack of {size}"),
            Self::HeaderUnionStack { size, .. } => write!(f, "header union stack of {size}"),
            Self::Enum(members) => write!(f, "enum of {} members", members.len()),
            Self::Error(_) => f.write_str("error"),
            Self::SerializableEnum(bits) => write!(f, "enum over bit<{bits}>"),
            Self::Text(_) => f.write_str("string"),
        }
    }
}
