//! Conversion of match keys (specification of P4Runtime 1.5, "Match Format").
//!
//! Keys are converted to a canonical form: fields are in the order of declaration, values are
//! canonical, and fields that match everything are omitted. Two keys are equal if and only if their
//! canonical forms are equal, and reads return the canonical form.

use bytes::Bytes;
use entities::schema::{MatchField, MatchFieldId, MatchKind, Table};
use entities::{EntityError, EntryKey, FieldMatch, MatchKey, Matching, Value, ValueType, value};

use crate::proto::v1;
use crate::proto::v1::field_match::{self, FieldMatchType};

/// Converts the key of a table entry from a message to its canonical form.
pub(super) fn key(
    table: &Table,
    fields: &[v1::FieldMatch],
    priority: i32,
) -> Result<MatchKey, EntityError> {
    let Ok(number) = u32::try_from(priority) else {
        return Err(EntityError::invalid(format!("priority {priority} is negative")));
    };
    if table.needs_priority && priority == 0 {
        return Err(EntityError::invalid(
            "the priority is 0, but the table has ternary, range or optional fields and needs one",
        ));
    }
    if !table.needs_priority && priority != 0 {
        return Err(EntityError::invalid(format!(
            "the priority is {priority}, but the table has no ternary, range or optional field: it must be 0"
        )));
    }
    Ok(MatchKey { fields: fields_of(&table.match_fields, fields)?, priority: number })
}

/// Converts a list of match fields to its canonical form.
pub(super) fn fields_of(
    declared: &[MatchField],
    fields: &[v1::FieldMatch],
) -> Result<Box<[FieldMatch]>, EntityError> {
    let mut found: Vec<(usize, FieldMatch)> = Vec::with_capacity(fields.len());
    for field in fields {
        let id = MatchFieldId(field.field_id);
        let place = declared.iter().enumerate().find(|(_, declared)| declared.id == id);
        let (position, of) =
            place.ok_or_else(|| EntityError::invalid(format!("there is no match field {id}")))?;
        if found.iter().any(|(taken, _)| *taken == position) {
            return Err(EntityError::invalid(format!("match field {id} is given twice")));
        }
        let matching = matching(of, field)
            .map_err(|error| error.within(format_args!("match field {id} '{}'", of.name)))?;
        found.push((position, FieldMatch { field: id, matching }));
    }
    let is_missing = |(position, declared): &(usize, &MatchField)| {
        declared.kind == MatchKind::Exact && found.iter().all(|(found, _)| found != position)
    };
    if let Some((_, declared)) = declared.iter().enumerate().find(is_missing) {
        return Err(EntityError::invalid(format!(
            "match field {} '{}' is exact and cannot be left out",
            declared.id, declared.name
        )));
    }
    found.sort_by_key(|(position, _)| *position);
    Ok(found.into_iter().map(|(_, field)| field).collect())
}

/// Converts the match of one field, which must have the declared kind.
fn matching(declared: &MatchField, field: &v1::FieldMatch) -> Result<Matching, EntityError> {
    let Some(found) = &field.field_match_type else {
        return Err(EntityError::invalid("the match is unset"));
    };
    let of = declared.value;
    match (&declared.kind, found) {
        (MatchKind::Exact, FieldMatchType::Exact(exact)) => {
            Ok(Matching::Exact(Value::new(of, &exact.value)?))
        }
        (MatchKind::Optional, FieldMatchType::Optional(optional)) => {
            Ok(Matching::Optional(Value::new(of, &optional.value)?))
        }
        (MatchKind::Lpm, FieldMatchType::Lpm(lpm)) => {
            let value = value::prefix(&lpm.value, lpm.prefix_len, bits(declared)?)?;
            let prefix_len = u32::try_from(lpm.prefix_len).unwrap_or(0);
            Ok(Matching::Lpm { value: Value::new(of, value)?, prefix_len })
        }
        (MatchKind::Ternary, FieldMatchType::Ternary(ternary)) => {
            let (value, mask) = value::ternary(&ternary.value, &ternary.mask, bits(declared)?)?;
            Ok(Matching::Ternary { value: Value::new(of, value)?, mask: Value::new(of, mask)? })
        }
        (MatchKind::Range, FieldMatchType::Range(range)) => {
            let (low, high) = value::range(&range.low, &range.high, bits(declared)?)?;
            Ok(Matching::Range { low: Value::new(of, low)?, high: Value::new(of, high)? })
        }
        (MatchKind::Other(kind), _) => {
            Err(EntityError::unimplemented(format!("the match kind '{kind}' is not supported")))
        }
        (kind, found) => Err(EntityError::invalid(format!(
            "the field is matched as {}, found {}",
            name_of_kind(kind),
            name_of_match(found)
        ))),
    }
}

/// Returns the width of a match field in bits. Refuses string fields, which have no prefixes, masks
/// or order.
fn bits(declared: &MatchField) -> Result<u32, EntityError> {
    match declared.value {
        ValueType::Bits(bits) => Ok(bits.get()),
        ValueType::Text | ValueType::TextOrEmpty => Err(EntityError::invalid(format!(
            "the field is translated to a string, which cannot be matched as {}",
            name_of_kind(&declared.kind)
        ))),
    }
}

/// Returns a table entry message that has only the table and the key of an entry.
pub(super) fn key_message(table: u32, key: &EntryKey) -> v1::TableEntry {
    let entry = v1::TableEntry { table_id: table, ..v1::TableEntry::default() };
    match key {
        EntryKey::Default => v1::TableEntry { is_default_action: true, ..entry },
        EntryKey::Match(key) => v1::TableEntry {
            r#match: fields_message(&key.fields),
            priority: priority_message(key),
            ..entry
        },
    }
}

pub(super) fn priority_message(key: &MatchKey) -> i32 {
    i32::try_from(key.priority).unwrap_or(i32::MAX)
}

/// Converts match fields to messages.
pub(super) fn fields_message(fields: &[FieldMatch]) -> Vec<v1::FieldMatch> {
    fields.iter().map(field_message).collect()
}

/// Converts the match of one field to a message.
#[must_use]
pub fn field_message(field: &FieldMatch) -> v1::FieldMatch {
    let bytes = |value: &Value| Bytes::copy_from_slice(value.bytes());
    let matched = match &field.matching {
        Matching::Exact(value) => FieldMatchType::Exact(field_match::Exact { value: bytes(value) }),
        Matching::Optional(value) => {
            FieldMatchType::Optional(field_match::Optional { value: bytes(value) })
        }
        Matching::Lpm { value, prefix_len } => FieldMatchType::Lpm(field_match::Lpm {
            value: bytes(value),
            prefix_len: i32::try_from(*prefix_len).unwrap_or(i32::MAX),
        }),
        Matching::Ternary { value, mask } => {
            FieldMatchType::Ternary(field_match::Ternary { value: bytes(value), mask: bytes(mask) })
        }
        Matching::Range { low, high } => {
            FieldMatchType::Range(field_match::Range { low: bytes(low), high: bytes(high) })
        }
    };
    v1::FieldMatch { field_id: field.field.0, field_match_type: Some(matched) }
}

fn name_of_kind(kind: &MatchKind) -> &str {
    match kind {
        MatchKind::Exact => "exact",
        MatchKind::Lpm => "lpm",
        MatchKind::Ternary => "ternary",
        MatchKind::Range => "range",
        MatchKind::Optional => "optional",
        MatchKind::Other(kind) => kind,
    }
}

fn name_of_match(found: &FieldMatchType) -> &'static str {
    match found {
        FieldMatchType::Exact(_) => "exact",
        FieldMatchType::Lpm(_) => "lpm",
        FieldMatchType::Ternary(_) => "ternary",
        FieldMatchType::Range(_) => "range",
        FieldMatchType::Optional(_) => "optional",
        FieldMatchType::Other(_) => "another kind",
    }
}
