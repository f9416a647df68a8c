//! Requirements of sections 9.1.3 to 9.1.5: default entries, and tables whose entries the program
//! declares.

use bytes::Bytes;
use protos::v1;
use tonic::Code;

use super::{Trial, must};
use crate::bench::{Bench, all_entries, table_entry};
use crate::demands::{Fault, demand, lacks};
use crate::entities::{call, delete, entry, insert, modify, of_entry};
use crate::subject::Table;

pub(super) const ALL: &[Trial] = &[
    must(
        "9.1.2",
        "action-only-for-entries",
        "A default entry gets an action that only other entries may have: it is refused.",
        action_only_for_entries,
    ),
    must(
        "9.1.3",
        "default-is-modified-only",
        "A default entry is inserted or deleted: it is refused.",
        default_is_modified_only,
    ),
    must(
        "9.1.3",
        "default-without-match",
        "A default entry is modified with a match or a priority: it is refused.",
        default_without_match,
    ),
    must(
        "9.1.3",
        "default-is-set-and-reset",
        "A table has one default entry; its action is replaced, and that of the program returns with a MODIFY without an action.",
        default_is_set_and_reset,
    ),
    must(
        "9.1.3",
        "constant-default",
        "A constant default entry is modified: it is refused.",
        constant_default,
    ),
    must(
        "9.1.4",
        "constant-table",
        "An entry of a constant table is inserted, modified or deleted: it is refused.",
        constant_table,
    ),
    must(
        "9.1.4",
        "constant-entries-are-read",
        "The entries of a constant table are returned, with matches, actions and priorities.",
        constant_entries_are_read,
    ),
];

/// Returns a table that satisfies `fits`, whose default entry may be modified, and which has a
/// default action that the attempt can call.
fn table(bench: &Bench, what: &str, fits: impl Fn(&Table) -> bool) -> Result<Table, Fault> {
    bench.table(what, |table| {
        !table.is_const && !table.has_const_default && table.profile.is_none() && fits(table)
    })
}

fn open_default(bench: &Bench) -> Result<Table, Fault> {
    let has_action = |table: &Table| table.actions.iter().any(|action| action.in_default);
    table(bench, "table whose default entry may be modified", has_action)
}

/// Returns a default entry that calls the last one of the table's actions that are permitted there.
fn default_entry(table: &Table) -> Result<v1::TableEntry, Fault> {
    let action = table.actions.iter().rfind(|action| action.in_default);
    let action = action.ok_or_else(|| lacks("action for default entries"))?;
    Ok(v1::TableEntry {
        table_id: table.id,
        action: Some(call(action, 1)),
        is_default_action: true,
        ..Default::default()
    })
}

fn action_only_for_entries(bench: &mut Bench) -> Result<(), Fault> {
    let is_only_entry = |table: &Table| table.actions.iter().any(|action| !action.in_default);
    let table = table(bench, "action that default entries may not have", is_only_entry)?;
    let before = bench.default_entry(&table)?;
    let action = table.actions.iter().find(|action| !action.in_default);
    let action = action.ok_or_else(|| lacks("such an action"))?;
    let wrong = v1::TableEntry {
        table_id: table.id,
        action: Some(call(action, 1)),
        is_default_action: true,
        ..Default::default()
    };
    bench.refuse(modify(of_entry(&wrong)), &[Code::PermissionDenied])?;
    is_unchanged(bench, &table, &before)
}

fn is_unchanged(bench: &mut Bench, table: &Table, before: &v1::TableEntry) -> Result<(), Fault> {
    let after = bench.default_entry(table)?;
    demand(after == *before, || "the default entry is another one afterwards".to_owned())
}

fn default_is_modified_only(bench: &mut Bench) -> Result<(), Fault> {
    let table = open_default(bench)?;
    let before = bench.default_entry(&table)?;
    let wanted = default_entry(&table)?;
    bench.refuse(insert(of_entry(&wanted)), &[Code::InvalidArgument])?;
    bench.refuse(delete(of_entry(&wanted)), &[Code::InvalidArgument])?;
    is_unchanged(bench, &table, &before)
}

fn default_without_match(bench: &mut Bench) -> Result<(), Fault> {
    let table = open_default(bench)?;
    let before = bench.default_entry(&table)?;
    let wanted = default_entry(&table)?;
    let with_priority = v1::TableEntry { priority: 1, ..wanted.clone() };
    bench.refuse(modify(of_entry(&with_priority)), &[Code::InvalidArgument])?;
    if !table.keys.is_empty() {
        let with_match = v1::TableEntry { r#match: entry(&table, 1).r#match, ..wanted };
        bench.refuse(modify(of_entry(&with_match)), &[Code::InvalidArgument])?;
    }
    is_unchanged(bench, &table, &before)
}

fn default_is_set_and_reset(bench: &mut Bench) -> Result<(), Fault> {
    let table = open_default(bench)?;
    let before = bench.default_entry(&table)?;
    demand(before.is_default_action && before.r#match.is_empty() && before.priority == 0, || {
        "the default entry is returned with a match or a priority".to_owned()
    })?;
    let wanted = v1::TableEntry { metadata: Bytes::from_static(b"m"), ..default_entry(&table)? };
    bench.accept(vec![modify(of_entry(&wanted))])?;
    let set = bench.default_entry(&table)?;
    // The program's own default action is restored whatever the answer is.
    let reset = v1::TableEntry { action: None, metadata: Bytes::new(), ..wanted.clone() };
    bench.accept(vec![modify(of_entry(&reset))])?;
    demand((&set.action, &set.metadata) == (&wanted.action, &wanted.metadata), || {
        "the default entry is not returned as it was modified".to_owned()
    })?;
    if before.metadata.is_empty() {
        let after = bench.default_entry(&table)?;
        demand(after.metadata.is_empty(), || "the metadata stays after a reset".to_owned())?;
        let initial =
            bench.p4info.tables.iter().find(|other| {
                other.preamble.as_ref().is_some_and(|preamble| preamble.id == table.id)
            });
        let initial = initial.and_then(|table| table.initial_default_action.as_ref());
        let found = after.action.and_then(|action| action.r#type);
        if let (Some(initial), Some(v1::table_action::Type::Action(found))) = (initial, found) {
            demand(found.action_id == initial.action_id, || {
                "the action of the program does not return".to_owned()
            })?;
        }
    }
    Ok(())
}

fn constant_default(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.table("table with a constant default entry", |table| {
        table.has_const_default
            && table.profile.is_none()
            && table.actions.iter().any(|action| action.in_default)
    })?;
    let before = bench.default_entry(&table)?;
    let wanted = default_entry(&table)?;
    bench.refuse(modify(of_entry(&wanted)), &[Code::PermissionDenied])?;
    is_unchanged(bench, &table, &before)
}

fn constant_table(bench: &mut Bench) -> Result<(), Fault> {
    let table = bench.table("constant table", |table| table.is_const)?;
    let entries = bench.read(vec![all_entries(table.id)])?;
    let denied = &[Code::PermissionDenied];
    if let Some(first) = entries.first().cloned().and_then(table_entry) {
        let plain = v1::TableEntry { is_const: false, ..first };
        bench.refuse(modify(of_entry(&plain)), denied)?;
        bench.refuse(delete(of_entry(&plain)), denied)?;
    }
    if table.action().is_some() && !table.keys.is_empty() && table.profile.is_none() {
        let new = bench.entry(&table);
        bench.refuse(insert(of_entry(&new)), denied)?;
    }
    let after = bench.read(vec![all_entries(table.id)])?;
    demand(after.len() == entries.len(), || "the table has other entries afterwards".to_owned())
}

fn constant_entries_are_read(bench: &mut Bench) -> Result<(), Fault> {
    let has_entries = |id: u32| {
        bench.p4info.tables.iter().any(|table| {
            table.has_initial_entries
                && table.preamble.as_ref().is_some_and(|preamble| preamble.id == id)
        })
    };
    let table = bench
        .table("constant table with entries", |table| table.is_const && has_entries(table.id))?;
    let entries = bench.read(vec![all_entries(table.id)])?;
    demand(!entries.is_empty(), || "the table is returned without entries".to_owned())?;
    for found in entries.into_iter().filter_map(table_entry) {
        let is_right = found.table_id == table.id
            && found.action.is_some()
            && !found.is_default_action
            && (found.priority != 0) == table.has_priority();
        demand(is_right, || {
            "an entry is returned without its action, or with a wrong priority".to_owned()
        })?;
    }
    Ok(())
}
