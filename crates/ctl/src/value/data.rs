//! The text form of data of any P4 type, as in registers and digests: `5`, `true`, `{1, 10.0.0.1,
//! {2, 3}}`.

use super::{Form, hexadecimal};
use crate::error::CommandError;
use bytes::Bytes;
use entities::{BitsType, Data, DataType, Header, Union, ValueType, value, written};
use p4runtime::proto::v1::p4_data::Data as Message;
use p4runtime::proto::v1::{P4Data, P4StructLike};
use std::num::NonZeroU32;

/// Parses the text of a value of the type `of` into the P4Runtime message for it. `name` is the
/// name of the array or value set for error messages.
///
/// # Errors
/// Returns an error if the text is no value of the type, or if values of the type have no text
/// form.
pub(crate) fn parse_data(name: &str, of: &DataType, text: &str) -> Result<P4Data, CommandError> {
    let wrong = |problem: String| super::wrong(name, text, problem);
    let data = match of {
        DataType::Bits(BitsType::Unsigned(bits)) | DataType::SerializableEnum(bits) => {
            let kind = NonZeroU32::new(*bits).map_or(ValueType::Text, ValueType::Bits);
            let bytes = super::parse(name, kind, text)?;
            match of {
                DataType::SerializableEnum(_) => Message::EnumValue(bytes),
                _ => Message::Bitstring(bytes),
            }
        }
        DataType::Bits(BitsType::Signed(bits)) => {
            let bytes = signed(text).ok_or_else(|| wrong("it is not a number".to_owned()))?;
            let bytes = value::signed(&bytes, *bits).map_err(|error| wrong(error.to_string()))?;
            Message::Bitstring(Bytes::copy_from_slice(bytes))
        }
        DataType::Bool => match text {
            "true" | "1" => Message::Bool(true),
            "false" | "0" => Message::Bool(false),
            _ => return Err(wrong("it is neither true nor false".to_owned())),
        },
        DataType::Text(_) => Message::Bitstring(Bytes::copy_from_slice(text.as_bytes())),
        DataType::Enum(members) | DataType::Error(members) => {
            if !members.iter().any(|member| member == text) {
                return Err(wrong(format!("the members are {}", members.join(", "))));
            }
            match of {
                DataType::Error(_) => Message::Error(text.to_owned()),
                _ => Message::Enum(text.to_owned()),
            }
        }
        DataType::Tuple(types) | DataType::Struct(types) => {
            let parts = parts(text).filter(|parts| parts.len() == types.len());
            let parts = parts.ok_or_else(|| {
                wrong(format!("the type is a {of}, which is written as {{VALUE, ...}}"))
            })?;
            let members = types.iter().zip(parts).map(|(of, part)| parse_data(name, of, part));
            let members = P4StructLike { members: members.collect::<Result<_, _>>()? };
            match of {
                DataType::Tuple(_) => Message::Tuple(members),
                _ => Message::Struct(members),
            }
        }
        DataType::Bits(BitsType::Varbit(_))
        | DataType::Header(_)
        | DataType::HeaderUnion(_)
        | DataType::HeaderStack { .. }
        | DataType::HeaderUnionStack { .. } => {
            return Err(wrong(format!("a {of} cannot be written as a text")));
        }
    };
    Ok(P4Data { data: Some(data) })
}

/// Parses a number with an optional sign into its two's complement, which includes a bit for the
/// sign.
fn signed(text: &str) -> Option<Vec<u8>> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut bytes = written::value(digits)?;
    bytes.insert(0, 0);
    if is_negative {
        let mut carry = true;
        for byte in bytes.iter_mut().rev() {
            let (sum, overflows) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (sum, overflows);
        }
    }
    Some(bytes)
}

/// Splits the text of a struct into the texts of its members: `{a, {b, c}}` into `a` and `{b, c}`.
fn parts(text: &str) -> Option<Vec<&str>> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inside.get(start..at)?.trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inside.get(start..)?.trim());
    Some(parts)
}

/// Formats a value as text. `name` is the name of the array or digest. It suggests whether a number
/// is best shown as an address or in another form.
pub(crate) fn show_data(name: &str, of: &DataType, data: &P4Data) -> String {
    match p4runtime::read_data(of, data) {
        Ok(data) => show(name, of, &data),
        Err(error) => format!("({error})"),
    }
}

fn show(name: &str, of: &DataType, data: &Data) -> String {
    let listed = |texts: Vec<String>| format!("{{{}}}", texts.join(", "));
    match (of, data) {
        (DataType::Bits(BitsType::Unsigned(bits)), Data::Bits(bytes)) => {
            let kind = NonZeroU32::new(*bits).map_or(ValueType::Text, ValueType::Bits);
            Form::of(kind, name, false, &[]).show(Some(*bits), bytes)
        }
        (DataType::Bits(BitsType::Signed(_)), Data::Bits(bytes)) => show_signed(bytes),
        (DataType::Text(_), Data::Bits(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        (DataType::Tuple(types), Data::Tuple(values))
        | (DataType::Struct(types), Data::Struct(values)) => {
            listed(types.iter().zip(values).map(|(of, value)| show("", of, value)).collect())
        }
        (_, Data::Bits(bytes) | Data::EnumValue(bytes)) => hexadecimal(bytes),
        (_, Data::Bool(value)) => value.to_string(),
        (_, Data::Enum(name) | Data::Error(name)) => name.clone(),
        (_, Data::Varbit { bits, bytes }) => format!("{} ({bits} bits)", hexadecimal(bytes)),
        (_, Data::Header(header)) => show_header(header),
        (_, Data::Union(union)) => show_union(union),
        (_, Data::HeaderStack(entries)) => listed(entries.iter().map(show_header).collect()),
        (_, Data::UnionStack(entries)) => listed(entries.iter().map(show_union).collect()),
        (_, Data::Tuple(values) | Data::Struct(values)) => {
            listed(values.iter().map(|value| show("", of, value)).collect())
        }
    }
}

fn show_signed(bytes: &[u8]) -> String {
    let is_negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
    if bytes.len() > 16 {
        return hexadecimal(bytes);
    }
    let start = if is_negative { -1 } else { 0 };
    bytes.iter().fold(start, |number: i128, byte| number << 8 | i128::from(*byte)).to_string()
}

fn show_header(header: &Header) -> String {
    match header {
        None => "invalid".to_owned(),
        Some(fields) => {
            let fields: Vec<String> = fields.iter().map(|field| hexadecimal(field)).collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

fn show_union(union: &Union) -> String {
    match union {
        None => "invalid".to_owned(),
        Some((name, fields)) => format!("{name} {}", show_header(&Some(fields.clone()))),
    }
}
