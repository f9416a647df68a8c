//! Values as people write and read them: match fields, parameters, and data of any P4 type.

mod data;
mod form;

pub(crate) use data::{parse_data, show_data};
pub(crate) use form::{Form, hexadecimal};

use crate::error::CommandError;
use bytes::Bytes;
use entities::schema::{MatchField, MatchKind};
use entities::{ValueType, written};
use p4runtime::proto::v1::FieldMatch;
use p4runtime::proto::v1::field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};

/// The word for a field that matches every value.
pub(crate) const ANY: &str = "*";

fn wrong(name: &str, text: &str, problem: impl Into<String>) -> CommandError {
    CommandError::Value { name: name.to_owned(), text: text.to_owned(), problem: problem.into() }
}

/// Returns the bytes of a value: a number in any base, an address, or the text itself for a
/// translated type.
pub(crate) fn parse(name: &str, kind: ValueType, text: &str) -> Result<Bytes, CommandError> {
    let bytes = match kind {
        ValueType::Text | ValueType::TextOrEmpty => text.as_bytes().to_vec(),
        ValueType::Bits(bits) => match (text, bits.get()) {
            ("true", 1) => vec![1],
            ("false", 1) => vec![0],
            _ => written::value(text).ok_or_else(|| {
                wrong(name, text, "it is neither a number, such as 10 or 0x0a, nor an address")
            })?,
        },
    };
    let canonical = kind.canonical(&bytes);
    let canonical = canonical.map_err(|error| wrong(name, text, error.to_string()))?;
    Ok(Bytes::copy_from_slice(canonical))
}

/// Returns the match of a field, or `None` if the text matches every value of the field.
pub(crate) fn parse_match(
    field: &MatchField,
    text: &str,
) -> Result<Option<FieldMatch>, CommandError> {
    let name = field.name.as_str();
    let value = |text: &str| parse(name, field.value, text);
    if text == ANY && field.kind != MatchKind::Exact {
        return Ok(None);
    }
    let bits = field.value.bits();
    let found = match (&field.kind, bits) {
        (MatchKind::Exact, _) => FieldMatchType::Exact(Exact { value: value(text)? }),
        (MatchKind::Optional, None) => FieldMatchType::Optional(Optional { value: value(text)? }),
        (MatchKind::Optional, Some(bits)) => match masked(field, text, bits)? {
            (_, mask) if is_zero(&mask) => return Ok(None),
            (found, mask) if mask == ones(bits, bits) => {
                FieldMatchType::Optional(Optional { value: shortest(&found) })
            }
            _ => {
                return Err(wrong(
                    name,
                    text,
                    "an optional field has no mask but all bits or none",
                ));
            }
        },
        (MatchKind::Lpm, Some(bits)) => {
            let (prefix, length) = match text.split_once('/') {
                Some((prefix, length)) => (prefix, prefix_length(name, text, length, bits)?),
                None => (text, bits),
            };
            if length == 0 {
                // The value must be one all the same.
                value(prefix)?;
                return Ok(None);
            }
            let kept = and(&wide(&value(prefix)?, bits), &ones(length, bits));
            let prefix_len = i32::try_from(length).unwrap_or(i32::MAX);
            FieldMatchType::Lpm(Lpm { value: shortest(&kept), prefix_len })
        }
        (MatchKind::Ternary, Some(bits)) => {
            let (found, mask) = masked(field, text, bits)?;
            if is_zero(&mask) {
                return Ok(None);
            }
            FieldMatchType::Ternary(Ternary { value: shortest(&found), mask: shortest(&mask) })
        }
        (MatchKind::Range, Some(bits)) => {
            let ends = text.split_once("->").or_else(|| text.split_once(".."));
            let (low, high) = ends.unwrap_or((text, text));
            let (low, high) = (value(low)?, value(high)?);
            if wide(&low, bits) > wide(&high, bits) {
                return Err(wrong(name, text, "its low end is above its high end"));
            }
            if is_zero(&low) && wide(&high, bits) == ones(bits, bits) {
                return Ok(None);
            }
            FieldMatchType::Range(Range { low, high })
        }
        (MatchKind::Lpm | MatchKind::Ternary | MatchKind::Range, None) => {
            return Err(wrong(name, text, "a string cannot be matched in parts"));
        }
        (MatchKind::Other(kind), _) => {
            return Err(wrong(name, text, format!("P4Runtime has no match kind '{kind}'")));
        }
    };
    Ok(Some(FieldMatch { field_id: field.id.0, field_match_type: Some(found) }))
}

/// Returns the value and the mask of `value&&&mask`, `value/length` or `value`, both as wide as the
/// field.
fn masked(field: &MatchField, text: &str, bits: u32) -> Result<(Vec<u8>, Vec<u8>), CommandError> {
    let value = |text: &str| parse(&field.name, field.value, text);
    let (found, mask) = match (text.split_once("&&&"), text.split_once('/')) {
        (Some((found, mask)), _) => (value(found)?, wide(&value(mask)?, bits)),
        (None, Some((found, length))) => {
            let length = prefix_length(&field.name, text, length, bits)?;
            (value(found)?, ones(length, bits))
        }
        (None, None) => (value(text)?, ones(bits, bits)),
    };
    Ok((and(&wide(&found, bits), &mask), mask))
}

fn prefix_length(name: &str, text: &str, length: &str, bits: u32) -> Result<u32, CommandError> {
    let parsed = length.parse().ok().filter(|length| *length <= bits);
    parsed.ok_or_else(|| wrong(name, text, format!("the length of a prefix is 0 to {bits}")))
}

/// Returns the text of a field's match, which [`parse_match`] reads.
pub(crate) fn show_match(form: Form, bits: Option<u32>, found: &FieldMatch) -> String {
    let value = |bytes: &[u8]| form.show(bits, bytes);
    match &found.field_match_type {
        None => ANY.to_owned(),
        Some(FieldMatchType::Exact(found)) => value(&found.value),
        Some(FieldMatchType::Optional(found)) => value(&found.value),
        Some(FieldMatchType::Lpm(found)) => format!("{}/{}", value(&found.value), found.prefix_len),
        Some(FieldMatchType::Range(found)) => {
            format!("{}..{}", value(&found.low), value(&found.high))
        }
        Some(FieldMatchType::Ternary(found)) => {
            let is_full = bits.is_some_and(|bits| wide(&found.mask, bits) == ones(bits, bits));
            match is_full {
                true => value(&found.value),
                false => {
                    let form = form.for_masks();
                    format!("{}&&&{}", form.show(bits, &found.value), form.show(bits, &found.mask))
                }
            }
        }
        Some(FieldMatchType::Other(_)) => "(a match of the architecture)".to_owned(),
    }
}

/// Returns a number with the leading `length` of `bits` bits set, in whole bytes.
fn ones(length: u32, bits: u32) -> Vec<u8> {
    let width = bytes_of(bits) * 8;
    // The bits in front of the number, which are not part of it.
    let unused = width - bits as usize;
    let is_set = |bit: usize| bit >= unused && bit < unused + length as usize;
    let byte = |at: usize| (0..8).fold(0, |byte, bit| byte << 1 | u8::from(is_set(at * 8 + bit)));
    (0..bytes_of(bits)).map(byte).collect()
}

fn bytes_of(bits: u32) -> usize {
    bits.div_ceil(8) as usize
}

/// Returns a number of at most `bits` bits with leading zeros.
fn wide(bytes: &[u8], bits: u32) -> Vec<u8> {
    let missing = bytes_of(bits).saturating_sub(bytes.len());
    [vec![0; missing], bytes.to_vec()].concat()
}

fn and(first: &[u8], second: &[u8]) -> Vec<u8> {
    first.iter().zip(second).map(|(first, second)| first & second).collect()
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Returns a number without leading zeros; zero is one byte.
fn shortest(bytes: &[u8]) -> Bytes {
    let last = bytes.len().saturating_sub(1);
    let zeros = bytes.iter().take(last).take_while(|byte| **byte == 0).count();
    Bytes::copy_from_slice(bytes.get(zeros..).unwrap_or(&[0]))
}

#[cfg(test)]
mod tests;
