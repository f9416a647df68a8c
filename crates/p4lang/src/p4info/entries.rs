//! Conversion of the table entries that a program declares to a P4Runtime write request, for
//! targets to which entries are loaded by such a request.
//!
//! As P4Runtime requires, matches that accept every value are omitted, and bits outside a mask are
//! zero.

use p4runtime::proto::v1::{self, WriteRequest, entity, field_match, table_action, update};

use super::bytes::{as_bits, padded};
use super::fault::{Faults, P4InfoErrorKind};
use super::objects::field_ids;
use super::reach::Reach;
use super::symbols::{Kind, Symbols};
use ir::bits::Bits;
use ir::{Entry, Key, KeySet, MatchKind, Program, Table, Value};

/// Returns a request that inserts the entries that the program declares for its tables.
pub(super) fn write_request(
    program: &Program,
    reach: &Reach,
    symbols: &Symbols,
    errors: &mut Faults,
) -> WriteRequest {
    let mut request = WriteRequest::default();
    for table in reach.tables.iter().filter_map(|id| program.tables.get(id.index())) {
        let prioritised = table.keys.iter().any(|key| {
            matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
        });
        for (position, source) in table.entries.iter().enumerate() {
            errors.at(source.location);
            match table_entry(program, symbols, table, source) {
                Ok(mut entry) => {
                    if prioritised {
                        entry.priority = priority(table, source, position);
                    }
                    request.updates.push(v1::Update {
                        r#type: update::Type::Insert.into(),
                        entity: Some(v1::Entity {
                            entity: Some(entity::Entity::TableEntry(entry)),
                        }),
                    });
                }
                Err(reason) => errors.push(P4InfoErrorKind::Entry {
                    table: table.name.clone(),
                    entry: position + 1,
                    reason,
                }),
            }
        }
    }
    request
}

/// Returns the priority of an entry in the write request. Constant entries are numbered in source
/// order, from the number of entries down to 1. Any other entry keeps the priority that the program
/// sets, if it sets one.
fn priority(table: &Table, entry: &Entry, position: usize) -> i32 {
    let by_order = table.entries.len().saturating_sub(position);
    let own = entry.priority.filter(|_| !table.entries_are_const);
    own.map_or_else(|| i32::try_from(by_order), i32::try_from).unwrap_or(i32::MAX)
}

fn table_entry(
    program: &Program,
    symbols: &Symbols,
    table: &Table,
    source: &Entry,
) -> Result<v1::TableEntry, &'static str> {
    let ids = field_ids(table.keys.iter().map(|key| &key.annotations)).unwrap_or_default();
    let mut matches = Vec::new();
    for ((key, set), field_id) in table.keys.iter().zip(&source.key_sets).zip(ids) {
        if let Some(field) = field_match(key, set)? {
            matches.push(v1::FieldMatch { field_id, field_match_type: Some(field) });
        }
    }
    let reference = table.actions.get(source.action.position as usize);
    let action = reference
        .and_then(|reference| program.actions.get(reference.action.index()))
        .ok_or("its action is not in the table's list")?;
    let ids = field_ids(action.control_plane_parameters().map(|p| &p.annotations));
    let mut params = Vec::new();
    for (param_id, value) in ids.unwrap_or_default().into_iter().zip(&source.action.arguments) {
        let value = as_bits(value).ok_or("an argument has no byte string")?;
        params.push(v1::action::Param { param_id, value: padded(&value).into() });
    }
    let action_id = symbols.id(Kind::Action, &action.name);
    Ok(v1::TableEntry {
        table_id: symbols.id(Kind::Table, &table.name),
        r#match: matches,
        action: Some(v1::TableAction {
            r#type: Some(table_action::Type::Action(v1::Action { action_id, params })),
        }),
        is_const: source.is_const || table.entries_are_const,
        ..Default::default()
    })
}

/// Converts a key set of an entry to a field match. Returns `None` if the key set matches every
/// value.
fn field_match(
    key: &Key,
    set: &KeySet<Value>,
) -> Result<Option<field_match::FieldMatchType>, &'static str> {
    use field_match::{Exact, FieldMatchType, Lpm, Optional, Range, Ternary};
    const NO_BYTES: &str = "a key has no byte string";
    if matches!(set, KeySet::Any) {
        return if key.match_kind == MatchKind::Exact {
            Err("an exact key cannot match anything")
        } else {
            Ok(None)
        };
    }
    let (value, mask) = match set {
        KeySet::Exact(value) => (as_bits(value).ok_or(NO_BYTES)?, None),
        KeySet::Mask { value, mask } => {
            (as_bits(value).ok_or(NO_BYTES)?, Some(as_bits(mask).ok_or(NO_BYTES)?))
        }
        KeySet::Range { low, high } => {
            if key.match_kind != MatchKind::Range {
                return Err("only a range key can match a range");
            }
            let (low, high) = (as_bits(low).ok_or(NO_BYTES)?, as_bits(high).ok_or(NO_BYTES)?);
            if low.compare(&high).is_gt() {
                return Err("the range is empty");
            }
            let all = low.is_zero() && high == Bits::maximum(high.width(), high.is_signed());
            return Ok((!all).then(|| {
                FieldMatchType::Range(Range {
                    low: padded(&low).into(),
                    high: padded(&high).into(),
                })
            }));
        }
        KeySet::Any | KeySet::ValueSet(_) => return Err("a value set is not a key of an entry"),
    };
    let mask = mask.unwrap_or_else(|| Bits::ones(value.width(), value.is_signed()));
    let masked = value.bit_and(&mask);
    Ok(match key.match_kind {
        MatchKind::Exact => Some(FieldMatchType::Exact(Exact { value: padded(&value).into() })),
        MatchKind::Optional => {
            Some(FieldMatchType::Optional(Optional { value: padded(&value).into() }))
        }
        MatchKind::Range => Some(FieldMatchType::Range(Range {
            low: padded(&value).into(),
            high: padded(&value).into(),
        })),
        MatchKind::Ternary => (!mask.is_zero()).then(|| {
            FieldMatchType::Ternary(Ternary {
                value: padded(&masked).into(),
                mask: padded(&mask).into(),
            })
        }),
        MatchKind::Lpm => {
            let prefix = prefix_length(&mask).ok_or("the mask of a prefix has a gap")?;
            (prefix > 0).then(|| {
                FieldMatchType::Lpm(Lpm {
                    value: padded(&masked).into(),
                    prefix_len: i32::try_from(prefix).unwrap_or(i32::MAX),
                })
            })
        }
        MatchKind::Selector | MatchKind::Other(_) => {
            return Err("the match kind is not one of P4Runtime");
        }
    })
}

/// Returns the number of leading ones in `mask`, or `None` if ones follow a zero, so that it is not
/// a prefix mask.
fn prefix_length(mask: &Bits) -> Option<u32> {
    let width = mask.width();
    let ones = (0..width).rev().take_while(|position| mask.bit(*position)).count();
    let ones = u32::try_from(ones).ok()?;
    (0..width - ones).all(|position| !mask.bit(position)).then_some(ones)
}
