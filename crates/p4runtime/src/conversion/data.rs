//! Conversion of `P4Data`, values of any P4 type (specification of P4Runtime 1.5, "P4Data in
//! p4runtime.proto").

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use entities::{BitsType, Data, DataType, EntityError, Header, Union, value};

use crate::proto::v1;
use crate::proto::v1::p4_data::Data as Message;

/// Converts a `P4Data` message to a value of the type `of` in its canonical form. The result shares
/// no memory with `value`.
///
/// # Errors
/// Returns INVALID_ARGUMENT if the value is not of this type, and OUT_OF_RANGE if a byte string in
/// it is empty or too wide. The message names the part of the value that is wrong.
pub fn data(of: &DataType, value: &v1::P4Data) -> Result<Data, EntityError> {
    let Some(data) = &value.data else {
        return Err(EntityError::invalid(format!("the data is unset, expected {of}")));
    };
    Ok(match (of, data) {
        (DataType::Bits(BitsType::Varbit(max)), Message::Varbit(value)) => varbit(value, *max)?,
        (
            DataType::Bits(bits @ (BitsType::Unsigned(_) | BitsType::Signed(_))),
            Message::Bitstring(value),
        ) => Data::Bits(bit_string(*bits, value)?),
        (DataType::Bool, Message::Bool(value)) => Data::Bool(*value),
        (DataType::Tuple(types), Message::Tuple(values)) => Data::Tuple(members(types, values)?),
        (DataType::Struct(types), Message::Struct(values)) => Data::Struct(members(types, values)?),
        (DataType::Header(fields), Message::Header(value)) => Data::Header(header(fields, value)?),
        (DataType::HeaderUnion(headers), Message::HeaderUnion(value)) => {
            Data::Union(union(headers, value)?)
        }
        (DataType::HeaderStack { header: fields, size }, Message::HeaderStack(stack)) => {
            check_length("header stack", stack.entries.len(), *size)?;
            let entries = stack.entries.iter().map(|entry| header(fields, entry));
            Data::HeaderStack(entries.collect::<Result<_, _>>()?)
        }
        (DataType::HeaderUnionStack { headers, size }, Message::HeaderUnionStack(stack)) => {
            check_length("header union stack", stack.entries.len(), *size)?;
            let entries = stack.entries.iter().map(|entry| union(headers, entry));
            Data::UnionStack(entries.collect::<Result<_, _>>()?)
        }
        (DataType::Enum(members), Message::Enum(name)) if members.contains(name) => {
            Data::Enum(name.clone())
        }
        (DataType::Error(members), Message::Error(name)) if members.contains(name) => {
            Data::Error(name.clone())
        }
        (DataType::Enum(_), Message::Enum(name)) | (DataType::Error(_), Message::Error(name)) => {
            return Err(EntityError::invalid(format!("'{name}' is not a member of the {of}")));
        }
        (DataType::SerializableEnum(bits), Message::EnumValue(value)) => {
            Data::EnumValue(bit_string(BitsType::Unsigned(*bits), value)?)
        }
        (DataType::Text(_), Message::Bitstring(text)) => {
            if text.is_empty() {
                return Err(value::ValueError::Empty.into());
            }
            Data::Bits(Box::from(&**text))
        }
        (_, other) => {
            let found = kind_of(other);
            return Err(EntityError::invalid(format!("expected {of}, found {found}")));
        }
    })
}

/// Converts a value of any P4 type to a `P4Data` message.
#[must_use]
pub fn message(data: &Data) -> v1::P4Data {
    let bytes = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
    let members =
        |values: &[Data]| v1::P4StructLike { members: values.iter().map(message).collect() };
    let data = match data {
        Data::Bits(value) => Message::Bitstring(bytes(value)),
        Data::Varbit { bits, bytes: value } => Message::Varbit(v1::P4Varbit {
            bitstring: bytes(value),
            bitwidth: i32::try_from(*bits).unwrap_or(i32::MAX),
        }),
        Data::Bool(value) => Message::Bool(*value),
        Data::Tuple(values) => Message::Tuple(members(values)),
        Data::Struct(values) => Message::Struct(members(values)),
        Data::Header(value) => Message::Header(header_message(value)),
        Data::Union(value) => Message::HeaderUnion(union_message(value)),
        Data::HeaderStack(entries) => Message::HeaderStack(v1::P4HeaderStack {
            entries: entries.iter().map(header_message).collect(),
        }),
        Data::UnionStack(entries) => Message::HeaderUnionStack(v1::P4HeaderUnionStack {
            entries: entries.iter().map(union_message).collect(),
        }),
        Data::Enum(name) => Message::Enum(name.clone()),
        Data::Error(name) => Message::Error(name.clone()),
        Data::EnumValue(value) => Message::EnumValue(bytes(value)),
    };
    v1::P4Data { data: Some(data) }
}

fn header_message(header: &Header) -> v1::P4Header {
    let fields = header.iter().flatten().map(|field| Bytes::copy_from_slice(field));
    v1::P4Header { is_valid: header.is_some(), bitstrings: fields.collect() }
}

fn union_message(union: &Union) -> v1::P4HeaderUnion {
    match union {
        None => v1::P4HeaderUnion::default(),
        Some((name, fields)) => v1::P4HeaderUnion {
            valid_header_name: name.clone(),
            valid_header: Some(header_message(&Some(fields.clone()))),
        },
    }
}

fn bit_string(of: BitsType, bytes: &[u8]) -> Result<Box<[u8]>, EntityError> {
    Ok(match of {
        BitsType::Unsigned(bits) => value::unsigned(bytes, bits)?.into(),
        BitsType::Signed(bits) => value::signed(bytes, bits)?.into(),
        // A header does not carry the dynamic width of a varbit, so the length in bytes is
        // preserved.
        BitsType::Varbit(bits) => {
            if !bytes.is_empty() {
                value::unsigned(bytes, bits)?;
            }
            if bytes.len() as u64 > u64::from(bits).div_ceil(8) {
                return Err(EntityError::out_of_range(format!(
                    "{} bytes are more than a varbit of {bits} bits holds",
                    bytes.len()
                )));
            }
            bytes.into()
        }
    })
}

fn varbit(varbit: &v1::P4Varbit, max: u32) -> Result<Data, EntityError> {
    let bits =
        u32::try_from(varbit.bitwidth).ok().filter(|bits| *bits <= max).ok_or_else(|| {
            EntityError::out_of_range(format!("width {} is not in 0..={max}", varbit.bitwidth))
        })?;
    let bytes = match bits {
        0 if varbit.bitstring.is_empty() => Box::default(),
        bits => value::unsigned(&varbit.bitstring, bits)?.into(),
    };
    Ok(Data::Varbit { bits, bytes })
}

fn members(types: &[DataType], values: &v1::P4StructLike) -> Result<Vec<Data>, EntityError> {
    check_length("struct or tuple", values.members.len(), types.len())?;
    let members = types.iter().zip(&values.members).enumerate();
    let members = members.map(|(position, (of, value))| {
        data(of, value).map_err(|error| error.within(format_args!("member {position}")))
    });
    members.collect()
}

fn header(fields: &[BitsType], header: &v1::P4Header) -> Result<Header, EntityError> {
    let expected = if header.is_valid { fields.len() } else { 0 };
    check_length("header", header.bitstrings.len(), expected)?;
    let values = fields.iter().zip(&header.bitstrings).enumerate();
    let values = values.map(|(position, (field, bytes))| {
        bit_string(*field, bytes)
            .map_err(|error| error.within(format_args!("header field {position}")))
    });
    let values = values.collect::<Result<_, _>>()?;
    Ok(header.is_valid.then_some(values))
}

fn union(
    headers: &[(String, Arc<[BitsType]>)],
    union: &v1::P4HeaderUnion,
) -> Result<Union, EntityError> {
    let name = &union.valid_header_name;
    match (&union.valid_header, name.is_empty()) {
        (None, true) => Ok(None),
        (Some(value), false) => {
            let Some((_, fields)) = headers.iter().find(|(of, _)| of == name) else {
                return Err(EntityError::invalid(format!(
                    "the header union has no header '{name}'"
                )));
            };
            match header(fields, value)? {
                Some(fields) => Ok(Some((name.clone(), fields))),
                None => Err(EntityError::invalid(format!(
                    "header '{name}' of the header union is named as valid but is not valid"
                ))),
            }
        }
        _ => Err(EntityError::invalid(
            "a header union has both the name of its valid header and the header, or neither",
        )),
    }
}

fn kind_of(data: &Message) -> &'static str {
    match data {
        Message::Bitstring(_) => "a bitstring",
        Message::Varbit(_) => "a varbit",
        Message::Bool(_) => "a bool",
        Message::Tuple(_) => "a tuple",
        Message::Struct(_) => "a struct",
        Message::Header(_) => "a header",
        Message::HeaderUnion(_) => "a header union",
        Message::HeaderStack(_) => "a header stack",
        Message::HeaderUnionStack(_) => "a header union stack",
        Message::Enum(_) => "an enum",
        Message::Error(_) => "an error",
        Message::EnumValue(_) => "an enum value",
    }
}

fn check_length(what: &str, found: usize, expected: usize) -> Result<(), EntityError> {
    if found == expected {
        return Ok(());
    }
    Err(EntityError::invalid(format!("the {what} has {found} elements, the type has {expected}")))
}
