//! The entries of a measurement with packets: which of them the switch has because of it.

use std::collections::HashSet;

use p4runtime::client::{Client, WriteError};
use p4runtime::proto::v1::{self, entity::Entity as Kind, write_request::Atomicity};

use crate::entries::key;
use crate::error::DutError;
use crate::window::{Operation, PATIENCE};

/// Makes an update of an entry. A deletion has only the key.
pub(super) fn update(operation: Operation, entry: &v1::TableEntry) -> v1::Update {
    let mut entry = entry.clone();
    let kind = match operation {
        Operation::Insert => v1::update::Type::Insert,
        Operation::Modify => v1::update::Type::Modify,
        Operation::Delete => {
            entry.action = None;
            v1::update::Type::Delete
        }
    };
    let entity = Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) });
    v1::Update { r#type: kind as i32, entity }
}

/// The entries that the switch may have because of a measurement, and those that it had before.
pub(super) struct Owned {
    client: Client,
    /// The entries of this measurement, in the order of their insertion.
    entries: Vec<v1::TableEntry>,
    /// The identities of the entries that the switch had before, table and key.
    before: HashSet<(u32, Vec<u8>)>,
    tables: Vec<u32>,
}

impl Owned {
    /// Reads the entries that the switch has in these tables before the measurement.
    pub(super) async fn read(client: Client, tables: Vec<u32>) -> Result<Self, DutError> {
        let mut owned = Self { client, entries: Vec::new(), before: HashSet::new(), tables };
        owned.before = owned.present().await?;
        Ok(owned)
    }

    /// Returns whether the switch had an entry with the key of this one before the measurement.
    pub(super) fn was_there(&self, entry: &v1::TableEntry) -> bool {
        self.before.contains(&identity(entry))
    }

    /// Notes that entries are about to be inserted.
    pub(super) fn add(&mut self, entries: impl IntoIterator<Item = v1::TableEntry>) {
        self.entries.extend(entries);
    }

    /// Notes that entries were deleted.
    pub(super) fn remove(&mut self, entries: &[&v1::TableEntry]) {
        let gone: HashSet<(u32, Vec<u8>)> = entries.iter().map(|entry| identity(entry)).collect();
        self.entries.retain(|entry| !gone.contains(&identity(entry)));
    }

    /// Inserts entries that stay until the end of the measurement.
    pub(super) async fn insert(&mut self, entries: &[v1::TableEntry]) -> Result<(), DutError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.add(entries.iter().cloned());
        let updates = entries.iter().map(|entry| update(Operation::Insert, entry)).collect();
        self.write(updates).await
    }

    /// Deletes entries of this measurement.
    pub(super) async fn delete(&mut self, entries: &[v1::TableEntry]) -> Result<(), DutError> {
        if entries.is_empty() {
            return Ok(());
        }
        let updates = entries.iter().map(|entry| update(Operation::Delete, entry)).collect();
        self.write(updates).await?;
        self.remove(&entries.iter().collect::<Vec<_>>());
        Ok(())
    }

    /// Deletes the entries of this measurement. Returns the number of entries by which the tables
    /// then differ from their state before it.
    pub(super) async fn restore(&mut self) -> Result<usize, DutError> {
        let entries = std::mem::take(&mut self.entries);
        let updates: Vec<v1::Update> =
            entries.iter().rev().map(|entry| update(Operation::Delete, entry)).collect();
        if !updates.is_empty() {
            // Entries that the switch refused, or has deleted already, are not there.
            match self.write(updates).await {
                Ok(()) | Err(DutError::Request { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let after = self.present().await?;
        Ok(self.before.symmetric_difference(&after).count())
    }

    async fn write(&mut self, updates: Vec<v1::Update>) -> Result<(), DutError> {
        let call = self.client.write(updates, Atomicity::ContinueOnError);
        let answer = tokio::time::timeout(PATIENCE, call).await;
        let answer =
            answer.map_err(|_| DutError::NoAnswer { what: "Write", patience: PATIENCE })?;
        answer.map_err(|error| refused(&error))
    }

    async fn present(&mut self) -> Result<HashSet<(u32, Vec<u8>)>, DutError> {
        let selected = self.tables.iter().map(|table| v1::Entity {
            entity: Some(Kind::TableEntry(v1::TableEntry {
                table_id: *table,
                ..Default::default()
            })),
        });
        let selected = selected.collect();
        let answer = tokio::time::timeout(PATIENCE, self.client.read(selected)).await;
        let answer = answer.map_err(|_| DutError::NoAnswer { what: "Read", patience: PATIENCE })?;
        let found = answer.map_err(|status| DutError::Request {
            what: "Read",
            cause: format!("{} ({:?})", status.message(), status.code()),
        })?;
        let entries = found.iter().filter_map(|entity| match &entity.entity {
            Some(Kind::TableEntry(entry)) if !entry.is_default_action => Some(identity(entry)),
            _ => None,
        });
        Ok(entries.collect())
    }
}

/// Returns the error for a Write request of which the switch refused some or all updates.
pub(super) fn refused(error: &WriteError) -> DutError {
    let cause = match error {
        WriteError::Updates { refused, .. } => refused
            .first()
            .map_or_else(String::new, |first| format!("{} ({:?})", first.message, first.code)),
        WriteError::Rpc(status) => format!("{} ({:?})", status.message(), status.code()),
        other => other.to_string(),
    };
    DutError::Request { what: "Write", cause }
}

fn identity(entry: &v1::TableEntry) -> (u32, Vec<u8>) {
    (entry.table_id, key(entry))
}
