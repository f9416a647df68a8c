//! Match keys (specification 1.5, "Match Format").
//!
//! A key is brought into one form: fields in the order of declaration, values canonical, fields
//! that match anything left out. Two keys are the same exactly if this form is, so that its
//! encoding identifies an entry; and what is read back is what was written, up to that form.

use bytes::Bytes;
use prost::Message as _;

use super::state::Key;
use crate::p4info::{MatchField, MatchFieldId, MatchKind, Table};
use crate::proto::v1;
use crate::proto::v1::field_match::FieldMatchType;
use crate::status::EntityError;
use crate::value::{self, ValueType};

/// The key of an entry of `table`, or what is wrong with it.
pub(super) fn key(
    table: &Table,
    fields: &[v1::FieldMatch],
    priority: i32,
) -> Result<Key, EntityError> {
    if priority < 0 {
        return Err(EntityError::invalid(format!("priority {priority} is negative")));
    }
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
    let fields = canonical_fields(&table.match_fields, fields)?;
    Ok(Key(encode(fields, priority)))
}

/// The keys of `table` that have exactly these fields, whatever their priority, start with this.
pub(super) fn key_prefix(table: &Table, fields: &[v1::FieldMatch]) -> Result<Key, EntityError> {
    Ok(Key(encode(canonical_fields(&table.match_fields, fields)?, 0)))
}

/// Whether `key` is `prefix`, from [`key_prefix`], with or without a priority.
pub(super) fn is_prefix(prefix: &Key, key: &Key) -> bool {
    // The priority is encoded after the fields, as field 4 of type varint.
    const PRIORITY_TAG: u8 = 4 << 3;
    key.0
        .strip_prefix(&*prefix.0)
        .is_some_and(|rest| rest.first().is_none_or(|tag| *tag == PRIORITY_TAG))
}

/// The canonical form of a list of fields, or what is wrong with it.
pub(super) fn canonical_fields(
    declared: &[MatchField],
    fields: &[v1::FieldMatch],
) -> Result<Vec<v1::FieldMatch>, EntityError> {
    let mut slots: Vec<Option<v1::FieldMatch>> = vec![None; declared.len()];
    for field in fields {
        let id = MatchFieldId(field.field_id);
        let position = declared
            .iter()
            .position(|declared| declared.id == id)
            .ok_or_else(|| EntityError::invalid(format!("there is no match field {id}")))?;
        let (Some(declared), Some(slot)) = (declared.get(position), slots.get_mut(position)) else {
            continue;
        };
        if slot.is_some() {
            return Err(EntityError::invalid(format!("match field {id} is there twice")));
        }
        let matched = canonical_field(declared, field)
            .map_err(|error| error.within(format_args!("match field {id} '{}'", declared.name)))?;
        *slot = Some(v1::FieldMatch { field_id: field.field_id, field_match_type: Some(matched) });
    }
    let missing = declared
        .iter()
        .zip(&slots)
        .find(|(declared, slot)| declared.kind == MatchKind::Exact && slot.is_none());
    if let Some((declared, _)) = missing {
        return Err(EntityError::invalid(format!(
            "match field {} '{}' is exact and cannot be left out",
            declared.id, declared.name
        )));
    }
    Ok(slots.into_iter().flatten().collect())
}

fn canonical_field(
    declared: &MatchField,
    field: &v1::FieldMatch,
) -> Result<FieldMatchType, EntityError> {
    let Some(found) = &field.field_match_type else {
        return Err(EntityError::invalid("the match is unset"));
    };
    let part = |whole: &Bytes, part: &[u8]| whole.slice_ref(part);
    match (&declared.kind, found) {
        (MatchKind::Exact, FieldMatchType::Exact(exact)) => {
            let value = declared.value.canonical(&exact.value)?;
            Ok(FieldMatchType::Exact(v1::field_match::Exact { value: part(&exact.value, value) }))
        }
        (MatchKind::Optional, FieldMatchType::Optional(optional)) => {
            let value = declared.value.canonical(&optional.value)?;
            Ok(FieldMatchType::Optional(v1::field_match::Optional {
                value: part(&optional.value, value),
            }))
        }
        (MatchKind::Lpm, FieldMatchType::Lpm(lpm)) => {
            let value = value::prefix(&lpm.value, lpm.prefix_len, bits(declared)?)?;
            Ok(FieldMatchType::Lpm(v1::field_match::Lpm {
                value: part(&lpm.value, value),
                prefix_len: lpm.prefix_len,
            }))
        }
        (MatchKind::Ternary, FieldMatchType::Ternary(ternary)) => {
            let (value, mask) = value::ternary(&ternary.value, &ternary.mask, bits(declared)?)?;
            Ok(FieldMatchType::Ternary(v1::field_match::Ternary {
                value: part(&ternary.value, value),
                mask: part(&ternary.mask, mask),
            }))
        }
        (MatchKind::Range, FieldMatchType::Range(range)) => {
            let (low, high) = value::range(&range.low, &range.high, bits(declared)?)?;
            Ok(FieldMatchType::Range(v1::field_match::Range {
                low: part(&range.low, low),
                high: part(&range.high, high),
            }))
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

/// Only numbers have prefixes, masks and an order.
fn bits(declared: &MatchField) -> Result<u32, EntityError> {
    match declared.value {
        ValueType::Bits(bits) => Ok(bits.get()),
        ValueType::Text => Err(EntityError::invalid(format!(
            "the field is translated to a string, which cannot be matched as {}",
            name_of_kind(&declared.kind)
        ))),
    }
}

fn encode(fields: Vec<v1::FieldMatch>, priority: i32) -> Box<[u8]> {
    v1::TableEntry { r#match: fields, priority, ..v1::TableEntry::default() }
        .encode_to_vec()
        .into_boxed_slice()
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
