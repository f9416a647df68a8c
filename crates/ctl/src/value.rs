//! The text form of values: match fields, action parameters, and data of any P4 type.

mod data;

pub(crate) use data::{parse_data, show_data};
pub(crate) use entities::plain::{ANY, Form, hexadecimal};

use crate::error::CommandError;
use bytes::Bytes;
use entities::ValueType;
use entities::plain::{self, Plain, PlainMatch, ones, wide};
use entities::schema::MatchField;
use p4runtime::proto::v1::FieldMatch;
use p4runtime::proto::v1::field_match::FieldMatchType;

fn wrong(name: &str, text: &str, problem: impl Into<String>) -> CommandError {
    CommandError::Value { name: name.to_owned(), text: text.to_owned(), problem: problem.into() }
}

/// Parses a value into bytes: a number in any base, an address or, for a type that is translated to
/// strings, the text itself.
pub(crate) fn parse(name: &str, kind: ValueType, text: &str) -> Result<Bytes, CommandError> {
    Ok(Bytes::copy_from_slice(plain::value(name, kind, &Plain::text(text))?.bytes()))
}

/// Parses the match of a field. Returns `None` if the text matches every value of the field.
pub(crate) fn parse_match(
    field: &MatchField,
    text: &str,
) -> Result<Option<FieldMatch>, CommandError> {
    let matching = plain::matching(field, &PlainMatch::One(Plain::text(text)))?;
    let field = field.id;
    Ok(matching.map(|matching| p4runtime::field_message(&entities::FieldMatch { field, matching })))
}

/// Formats the match of a field as text, which [`parse_match`] can read.
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

#[cfg(test)]
mod tests;
