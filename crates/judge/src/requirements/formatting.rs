//! Requirements of section 8: how values are encoded.

use bytes::{BufMut, Bytes, BytesMut};
use protos::v1::{self, entity::Entity as Kind, field_match::FieldMatchType as Match};
use tonic::Code;

use super::{Trial, must, should};
use crate::bench::{Bench, REFUSED};
use crate::demands::{Fault, demand, lacks};
use crate::entities::{
    all_ones, bare_call, bytes, delete, insert, largest, modify, of_entry, too_large, with_action,
};
use crate::subject::{self, Table};

pub(super) const ALL: &[Trial] = &[
    must(
        "8.1.1",
        "identifier-zero",
        "A table or an action of an entry that is written has the identifier 0: the update is refused.",
        identifier_zero,
    ),
    must(
        "8.1.2",
        "index-is-set-or-not",
        "A Read of a counter without an index returns all cells, and with an empty index the cell 0.",
        index_is_set_or_not,
    ),
    should(
        "8.2",
        "entry-is-read-as-written",
        "An entry is read as it was inserted, and then as it was modified, with nothing set that was not written.",
        entry_is_read_as_written,
    ),
    must(
        "8.3",
        "leading-zeros",
        "Values with zero bytes in front are those without; they are returned in the shortest form.",
        leading_zeros,
    ),
    must(
        "8.3",
        "zero-is-one-byte",
        "The value 0 is written and returned as one zero byte.",
        zero_is_one_byte,
    ),
    must(
        "8.3",
        "value-too-large",
        "A match has a value with more bits than the field: the update is refused.",
        value_too_large,
    ),
    must(
        "8.3",
        "value-without-bytes",
        "An exact match has a value without bytes: the update is refused.",
        value_without_bytes,
    ),
];

/// The status codes for a byte string that is not a valid value of a field. Section 8.3 names the
/// first code, section 9.1.1 the second.
pub(super) const BAD_VALUE: &[Code] = &[Code::OutOfRange, Code::InvalidArgument];

fn identifier_zero(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    let without_table = v1::TableEntry { table_id: 0, ..entry.clone() };
    bench.refuse(insert(of_entry(&without_table)), REFUSED)?;
    let action = v1::Action { action_id: 0, ..Default::default() };
    let without_action = with_action(&entry, action);
    bench.refuse(insert(of_entry(&without_action)), &[Code::InvalidArgument])?;
    bench.holds_no(&entry)
}

fn index_is_set_or_not(bench: &mut Bench) -> Result<(), Fault> {
    let mut counters = bench.subject.counters.iter();
    let counter = counters.find(|counter| (2..=4096).contains(&counter.size)).cloned();
    let counter = counter.ok_or_else(|| lacks("counter with 2 to 4,096 cells"))?;
    let of = |index| v1::Entity {
        entity: Some(Kind::CounterEntry(v1::CounterEntry {
            counter_id: counter.id,
            index,
            data: None,
        })),
    };
    let indices = |entities: Vec<v1::Entity>| -> Vec<i64> {
        let entries = entities.into_iter().filter_map(|entity| match entity.entity {
            Some(Kind::CounterEntry(entry)) => Some(entry.index.unwrap_or_default().index),
            _ => None,
        });
        let mut indices: Vec<i64> = entries.collect();
        indices.sort_unstable();
        indices
    };
    let all = indices(bench.read(vec![of(None)])?);
    demand(all == (0..counter.size).collect::<Vec<_>>(), || {
        format!("{} of {} cells are returned without an index", all.len(), counter.size)
    })?;
    let one = indices(bench.read(vec![of(Some(v1::Index { index: 0 }))])?);
    demand(one == [0], || format!("cells {one:?} are returned for an index that is empty"))
}

fn entry_is_read_as_written(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.any_open_table()?;
    let entry = bench.entry(&table);
    bench.accept(vec![insert(of_entry(&entry))])?;
    demand_same(bench.find(&entry)?, &entry)?;
    let action = table.action().ok_or_else(|| lacks("action"))?;
    let changed = with_action(&entry, bare_call(action, 0));
    bench.accept(vec![modify(of_entry(&changed))])?;
    demand_same(bench.find(&entry)?, &changed)
}

/// Demands that the entry that was found equals the one that was written, apart from the order of
/// repeated fields.
pub(super) fn demand_same(
    found: Option<v1::TableEntry>,
    written: &v1::TableEntry,
) -> Result<(), Fault> {
    let Some(found) = found else {
        return Err(Fault::Broken("the entry is not returned".to_owned()));
    };
    demand(ordered(found) == ordered(written.clone()), || {
        "the entry is returned in another form than it was written".to_owned()
    })
}

/// Returns an entry with its repeated fields sorted.
fn ordered(mut entry: v1::TableEntry) -> v1::TableEntry {
    entry.r#match.sort_by_key(|field| field.field_id);
    if let Some(v1::table_action::Type::Action(action)) =
        entry.action.as_mut().and_then(|action| action.r#type.as_mut())
    {
        action.params.sort_by_key(|param| param.param_id);
    }
    entry
}

fn leading_zeros(bench: &mut Bench) -> Result<(), Fault> {
    let table = exact_table(bench)?;
    for zeros in [1, 16] {
        let entry = bench.entry(&table);
        let mut padded = entry.clone();
        for field in &mut padded.r#match {
            if let Some(Match::Exact(exact)) = &mut field.field_match_type {
                exact.value = behind_zeros(&exact.value, zeros);
            }
        }
        if let Some(v1::table_action::Type::Action(action)) =
            padded.action.as_mut().and_then(|action| action.r#type.as_mut())
        {
            for param in &mut action.params {
                param.value = behind_zeros(&param.value, zeros);
            }
        }
        bench.accept(vec![insert(of_entry(&padded))])?;
        demand_same(bench.find(&entry)?, &entry)?;
        bench.refuse(insert(of_entry(&entry)), &[Code::AlreadyExists])?;
        bench.accept(vec![delete(of_entry(&entry))])?;
        bench.holds_no(&entry)?;
    }
    Ok(())
}

fn behind_zeros(value: &Bytes, zeros: usize) -> Bytes {
    let mut padded = BytesMut::with_capacity(zeros + value.len());
    padded.put_bytes(0, zeros);
    padded.put_slice(value);
    padded.freeze()
}

fn zero_is_one_byte(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.open_table("table whose actions have parameters", |table| {
        table.is_numeric() && table.action().is_some_and(|action| !action.params.is_empty())
    })?;
    let action = table.action().ok_or_else(|| lacks("action"))?;
    let entry = with_action(&bench.entry(&table), bare_call(action, 0));
    bench.accept(vec![insert(of_entry(&entry))])?;
    demand_same(bench.find(&entry)?, &entry)
}

fn value_too_large(bench: &mut Bench) -> Result<(), Fault> {
    let kinds = [
        subject::Kind::Exact,
        subject::Kind::Lpm,
        subject::Kind::Ternary,
        subject::Kind::Range,
        subject::Kind::Optional,
    ];
    let mut tried = false;
    for kind in kinds {
        let Ok(table) = bench.open_table("", |table| table.key(kind).is_some()) else { continue };
        let Some(key) = table.key(kind).cloned() else { continue };
        let value = too_large(key.bits);
        let matched = match kind {
            subject::Kind::Exact => Match::Exact(v1::field_match::Exact { value }),
            subject::Kind::Lpm => {
                Match::Lpm(v1::field_match::Lpm { value, prefix_len: key.bits.cast_signed() })
            }
            subject::Kind::Ternary => {
                Match::Ternary(v1::field_match::Ternary { mask: all_ones(key.bits), value })
            }
            subject::Kind::Range => {
                Match::Range(v1::field_match::Range { low: bytes(1), high: value })
            }
            subject::Kind::Optional => Match::Optional(v1::field_match::Optional { value }),
        };
        let entry = bench.entry(&table);
        let wrong = with_match(&entry, key.id, matched);
        bench.refuse(insert(of_entry(&wrong)), BAD_VALUE)?;
        // A device that truncates the value would read it as one of these numbers.
        for low in [0, 1, largest(key.bits)] {
            let mut cut = entry.clone();
            cut.r#match.retain(|field| field.field_id != key.id);
            cut.r#match.push(crate::entities::field(&key, low));
            bench.holds_no(&cut)?;
        }
        tried = true;
    }
    if tried { Ok(()) } else { Err(lacks("table that takes entries with numbers as values")) }
}

fn value_without_bytes(bench: &mut Bench) -> Result<(), Fault> {
    let table = exact_table(bench)?;
    let key = table.key(subject::Kind::Exact).cloned().ok_or_else(|| lacks("exact field"))?;
    let entry = bench.entry(&table);
    let empty = Match::Exact(v1::field_match::Exact { value: Bytes::new() });
    bench.refuse(insert(of_entry(&with_match(&entry, key.id, empty))), BAD_VALUE)
}

/// Returns a copy of `entry` in which one field has another match.
pub(super) fn with_match(entry: &v1::TableEntry, field_id: u32, matched: Match) -> v1::TableEntry {
    let mut entry = entry.clone();
    for field in entry.r#match.iter_mut().filter(|field| field.field_id == field_id) {
        field.field_match_type = Some(matched.clone());
    }
    entry
}

fn exact_table(bench: &Bench) -> Result<Table, Fault> {
    bench.open_table("table with an exact field that takes entries", |table| {
        table.key(subject::Kind::Exact).is_some() && table.is_numeric()
    })
}
