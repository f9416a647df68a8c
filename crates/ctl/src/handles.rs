//! The numbers (handles) by which simple_switch_CLI refers to entries of tables.
//!
//! BMv2 numbers the entries of a table from 0. P4Runtime refers to an entry by its key, so a
//! session remembers the key for each number. It numbers the entries that `table_add` created and
//! those that `table_dump` has shown.

use crate::error::CommandError;
use entities::schema::{Table, TableId};
use p4runtime::proto::v1::TableEntry;
use std::collections::BTreeMap;

/// The numbered entries of all tables.
#[derive(Debug, Default)]
pub(crate) struct Handles(BTreeMap<TableId, Vec<TableEntry>>);

impl Handles {
    /// Returns the number of an entry. If it has none yet, it gets the next number of its table.
    pub(crate) fn number(&mut self, table: TableId, entry: &TableEntry) -> usize {
        let entries = self.0.entry(table).or_default();
        let key = key(entry);
        match entries.iter().rposition(|known| *known == key) {
            Some(number) => number,
            None => {
                entries.push(key);
                entries.len() - 1
            }
        }
    }

    /// Returns a new number for an entry, even if an equal entry had a number before it was
    /// deleted.
    pub(crate) fn add(&mut self, table: TableId, entry: &TableEntry) -> usize {
        let entries = self.0.entry(table).or_default();
        entries.push(key(entry));
        entries.len() - 1
    }

    /// Returns whether any entry of a table has a number.
    pub(crate) fn knows(&self, table: TableId) -> bool {
        self.0.contains_key(&table)
    }

    /// Returns the entry with a number. It has only its key, without an action.
    pub(crate) fn entry(&self, table: &Table, number: usize) -> Result<TableEntry, CommandError> {
        let entry = self.0.get(&table.id).and_then(|entries| entries.get(number));
        entry.cloned().ok_or_else(|| {
            CommandError::Missing(format!(
                "entry {number} of table {} is not known: numbers are those of `table_add` in the same file or \
                 shell; `table_dump {}` numbers the entries that are there",
                table.name, table.alias
            ))
        })
    }
}

/// Returns a copy of an entry that has only its key.
pub(crate) fn key(entry: &TableEntry) -> TableEntry {
    let mut matches = entry.r#match.clone();
    matches.sort_by_key(|found| found.field_id);
    TableEntry {
        table_id: entry.table_id,
        r#match: matches,
        priority: entry.priority,
        is_default_action: entry.is_default_action,
        ..TableEntry::default()
    }
}
