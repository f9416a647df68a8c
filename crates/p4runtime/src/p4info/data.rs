//! Types of P4 values as `P4Data` carries them: registers and digests.
//!
//! A type is resolved once, when P4Info is checked: names become what they stand for, shared
//! where a name is used more than once. What is resolved is small and ends somewhere (see
//! `resolve.rs`), so that code that walks a type needs no guard of its own.

mod resolve;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

pub(super) use self::resolve::Resolver;
use crate::proto::v1;
use crate::proto::v1::p4_data::Data;
use crate::status::EntityError;
use crate::value;

/// A type of P4, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    /// A string of bits.
    Bits(BitsType),
    /// A truth value.
    Bool,
    /// A tuple.
    Tuple(Arc<[DataType]>),
    /// A struct: the types of its members, in order.
    Struct(Arc<[DataType]>),
    /// A header.
    Header(Arc<[BitsType]>),
    /// A header union: its headers with their names.
    HeaderUnion(Arc<[(String, Arc<[BitsType]>)]>),
    /// A stack of headers.
    HeaderStack {
        /// The header.
        header: Arc<[BitsType]>,
        /// The number of elements.
        size: usize,
    },
    /// A stack of header unions.
    HeaderUnionStack {
        /// The union.
        headers: Arc<[(String, Arc<[BitsType]>)]>,
        /// The number of elements.
        size: usize,
    },
    /// An enum without representation: the names of its members.
    Enum(Arc<[String]>),
    /// The type `error`: the names of its members.
    Error(Arc<[String]>),
    /// An enum over a string of bits of this width. Values without a name are legal.
    SerializableEnum(u32),
    /// A translated type whose values are strings.
    Text,
}

/// A type whose values are strings of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitsType {
    /// `bit<W>`.
    Unsigned(u32),
    /// `int<W>`.
    Signed(u32),
    /// `varbit<W>`, W the largest width.
    Varbit(u32),
}

impl BitsType {
    fn canonical(self, bytes: &[u8]) -> Result<Bytes, EntityError> {
        let canonical = match self {
            // The dynamic width of a varbit does not travel in a header, so that its length in
            // bytes has to be kept.
            Self::Varbit(bits) => return varbit(bytes, bits).map(Bytes::copy_from_slice),
            Self::Unsigned(bits) => value::unsigned(bytes, bits)?,
            Self::Signed(bits) => value::signed(bytes, bits)?,
        };
        Ok(Bytes::copy_from_slice(canonical))
    }
}

/// Checks that `bytes` fit a varbit of at most `bits` bits; none are a varbit of width 0.
fn varbit(bytes: &[u8], bits: u32) -> Result<&[u8], EntityError> {
    if !bytes.is_empty() {
        value::unsigned(bytes, bits)?;
    }
    if bytes.len() as u64 > u64::from(bits).div_ceil(8) {
        return Err(EntityError::out_of_range(format!(
            "{} bytes are more than a varbit of {bits} bits holds",
            bytes.len()
        )));
    }
    Ok(bytes)
}

impl DataType {
    /// The value in its canonical form (specification 1.5, "P4Data in p4runtime.proto").
    ///
    /// Returns INVALID_ARGUMENT when the value is not of this type, OUT_OF_RANGE when a byte
    /// string in it is empty or too wide. The result shares no memory with `value`.
    pub fn canonical(&self, value: &v1::P4Data) -> Result<v1::P4Data, EntityError> {
        let Some(data) = &value.data else {
            return Err(EntityError::invalid(format!("the data is unset, expected {self}")));
        };
        let data = match (self, data) {
            (
                Self::Bits(bits @ (BitsType::Unsigned(_) | BitsType::Signed(_))),
                Data::Bitstring(bytes),
            ) => Data::Bitstring(bits.canonical(bytes)?),
            (Self::Bits(BitsType::Varbit(max)), Data::Varbit(varbit)) => {
                Data::Varbit(canonical_varbit(varbit, *max)?)
            }
            (Self::Bool, Data::Bool(value)) => Data::Bool(*value),
            (Self::Tuple(types), Data::Tuple(values)) => {
                Data::Tuple(canonical_members(types, values)?)
            }
            (Self::Struct(types), Data::Struct(values)) => {
                Data::Struct(canonical_members(types, values)?)
            }
            (Self::Header(fields), Data::Header(header)) => {
                Data::Header(canonical_header(fields, header)?)
            }
            (Self::HeaderUnion(headers), Data::HeaderUnion(union)) => {
                Data::HeaderUnion(canonical_union(headers, union)?)
            }
            (Self::HeaderStack { header, size }, Data::HeaderStack(stack)) => {
                check_length("header stack", stack.entries.len(), *size)?;
                let entries = stack.entries.iter().map(|entry| canonical_header(header, entry));
                Data::HeaderStack(v1::P4HeaderStack { entries: entries.collect::<Result<_, _>>()? })
            }
            (Self::HeaderUnionStack { headers, size }, Data::HeaderUnionStack(stack)) => {
                check_length("header union stack", stack.entries.len(), *size)?;
                let entries = stack.entries.iter().map(|entry| canonical_union(headers, entry));
                Data::HeaderUnionStack(v1::P4HeaderUnionStack {
                    entries: entries.collect::<Result<_, _>>()?,
                })
            }
            (Self::Enum(members), Data::Enum(name)) if members.contains(name) => {
                Data::Enum(name.clone())
            }
            (Self::Error(members), Data::Error(name)) if members.contains(name) => {
                Data::Error(name.clone())
            }
            (Self::Enum(_), Data::Enum(name)) | (Self::Error(_), Data::Error(name)) => {
                return Err(EntityError::invalid(format!(
                    "'{name}' is not a member of the {self}"
                )));
            }
            (Self::SerializableEnum(bits), Data::EnumValue(bytes)) => {
                Data::EnumValue(BitsType::Unsigned(*bits).canonical(bytes)?)
            }
            (Self::Text, Data::Bitstring(bytes)) => {
                if bytes.is_empty() {
                    return Err(value::ValueError::Empty.into());
                }
                Data::Bitstring(Bytes::copy_from_slice(bytes))
            }
            (_, other) => {
                return Err(EntityError::invalid(format!(
                    "expected {self}, found {}",
                    kind_of(other)
                )));
            }
        };
        Ok(v1::P4Data { data: Some(data) })
    }

    /// The value before anything is written: zeros, invalid headers, the first member of an enum.
    pub fn initial(&self) -> v1::P4Data {
        let zero = || Bytes::from_static(&[0]);
        let members = |types: &[Self]| v1::P4StructLike {
            members: types.iter().map(Self::initial).collect(),
        };
        let data = match self {
            Self::Bits(BitsType::Varbit(_)) => Data::Varbit(v1::P4Varbit::default()),
            Self::Bits(_) | Self::Text => Data::Bitstring(zero()),
            Self::Bool => Data::Bool(false),
            Self::Tuple(types) => Data::Tuple(members(types)),
            Self::Struct(types) => Data::Struct(members(types)),
            Self::Header(_) => Data::Header(v1::P4Header::default()),
            Self::HeaderUnion(_) => Data::HeaderUnion(v1::P4HeaderUnion::default()),
            Self::HeaderStack { size, .. } => Data::HeaderStack(v1::P4HeaderStack {
                entries: vec![v1::P4Header::default(); *size],
            }),
            Self::HeaderUnionStack { size, .. } => Data::HeaderUnionStack(v1::P4HeaderUnionStack {
                entries: vec![v1::P4HeaderUnion::default(); *size],
            }),
            Self::Enum(members) => Data::Enum(members.first().cloned().unwrap_or_default()),
            Self::Error(members) => Data::Error(members.first().cloned().unwrap_or_default()),
            Self::SerializableEnum(_) => Data::EnumValue(zero()),
        };
        v1::P4Data { data: Some(data) }
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
            Self::Text => f.write_str("string"),
        }
    }
}

fn kind_of(data: &Data) -> &'static str {
    match data {
        Data::Bitstring(_) => "a bitstring",
        Data::Varbit(_) => "a varbit",
        Data::Bool(_) => "a bool",
        Data::Tuple(_) => "a tuple",
        Data::Struct(_) => "a struct",
        Data::Header(_) => "a header",
        Data::HeaderUnion(_) => "a header union",
        Data::HeaderStack(_) => "a header stack",
        Data::HeaderUnionStack(_) => "a header union stack",
        Data::Enum(_) => "an enum",
        Data::Error(_) => "an error",
        Data::EnumValue(_) => "an enum value",
    }
}

fn check_length(what: &str, found: usize, expected: usize) -> Result<(), EntityError> {
    if found == expected {
        return Ok(());
    }
    Err(EntityError::invalid(format!("the {what} has {found} elements, the type has {expected}")))
}

fn canonical_members(
    types: &[DataType],
    values: &v1::P4StructLike,
) -> Result<v1::P4StructLike, EntityError> {
    check_length("struct or tuple", values.members.len(), types.len())?;
    let members =
        types.iter().zip(&values.members).enumerate().map(|(position, (member, value))| {
            member.canonical(value).map_err(|error| error.within(format_args!("member {position}")))
        });
    Ok(v1::P4StructLike { members: members.collect::<Result<_, _>>()? })
}

fn canonical_header(
    fields: &[BitsType],
    header: &v1::P4Header,
) -> Result<v1::P4Header, EntityError> {
    let expected = if header.is_valid { fields.len() } else { 0 };
    check_length("header", header.bitstrings.len(), expected)?;
    let bitstrings =
        fields.iter().zip(&header.bitstrings).enumerate().map(|(position, (field, bytes))| {
            field
                .canonical(bytes)
                .map_err(|error| error.within(format_args!("header field {position}")))
        });
    Ok(v1::P4Header {
        is_valid: header.is_valid,
        bitstrings: bitstrings.collect::<Result<_, _>>()?,
    })
}

fn canonical_union(
    headers: &[(String, Arc<[BitsType]>)],
    union: &v1::P4HeaderUnion,
) -> Result<v1::P4HeaderUnion, EntityError> {
    let name = &union.valid_header_name;
    match (&union.valid_header, name.is_empty()) {
        (None, true) => Ok(v1::P4HeaderUnion::default()),
        (Some(header), false) => {
            let Some((_, fields)) = headers.iter().find(|(of, _)| of == name) else {
                return Err(EntityError::invalid(format!(
                    "the header union has no header '{name}'"
                )));
            };
            let header = canonical_header(fields, header)?;
            if !header.is_valid {
                return Err(EntityError::invalid(format!(
                    "header '{name}' of the header union is named as valid but is not"
                )));
            }
            Ok(v1::P4HeaderUnion { valid_header_name: name.clone(), valid_header: Some(header) })
        }
        _ => Err(EntityError::invalid(
            "a header union has both the name of its valid header and the header, or neither",
        )),
    }
}

fn canonical_varbit(varbit: &v1::P4Varbit, max: u32) -> Result<v1::P4Varbit, EntityError> {
    let width =
        u32::try_from(varbit.bitwidth).ok().filter(|width| *width <= max).ok_or_else(|| {
            EntityError::out_of_range(format!("width {} is not in 0..={max}", varbit.bitwidth))
        })?;
    let bitstring = match width {
        0 if varbit.bitstring.is_empty() => Bytes::new(),
        width => Bytes::copy_from_slice(value::unsigned(&varbit.bitstring, width)?),
    };
    Ok(v1::P4Varbit { bitstring, bitwidth: varbit.bitwidth })
}
