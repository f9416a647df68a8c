//! Changes that packets make to their entries by way of a controller (`update = "digest"` of
//! `@tableconfig`).
//!
//! The action of such a packet does not change its entry. The new values of the action's reference
//! parameters become a message instead, and the entry is changed when the message returns from a
//! controller (Simon et al., ANCS 2021, section 5.1). A packet that arrives in the meantime finds
//! the old values. If it changes the entry too, the message that is written last wins, and
//! [`crate::Core::change_entry`] reports that it overwrote a change.

use super::TableState;
use super::entry::ActionCall;
use super::shape::EntryHandle;
use super::stored::{ActionCell, Stored};
use crate::sync::lock;
use crate::value::Value;
use ir::{TableId, UpdateMethod};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The maximum number of changes that may wait to be taken.
const ROOM: usize = 1 << 16;

/// A change that a packet requests for its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// The table of the entry.
    pub table: TableId,
    /// The entry.
    pub entry: EntryHandle,
    /// The action call that the packet found in the entry.
    pub before: ActionCall,
    /// The same action, with the new values of its reference parameters.
    pub after: ActionCall,
}

/// The state of an entry at the time when a change was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The entry was as the packet had found it.
    AsFound,
    /// The entry had changed since, and that change is lost.
    Overwritten,
}

/// The changes that have not been taken yet.
#[derive(Debug, Default)]
pub(crate) struct EntryChanges {
    some: AtomicBool,
    waiting: Mutex<Vec<EntryChange>>,
    dropped: AtomicU64,
}

impl EntryChanges {
    fn push(&self, change: EntryChange) {
        let mut waiting = lock(&self.waiting);
        if waiting.len() < ROOM {
            waiting.push(change);
            self.some.store(true, Ordering::Release);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn take(&self) -> Vec<EntryChange> {
        if !self.some.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut waiting = lock(&self.waiting);
        self.some.store(false, Ordering::Relaxed);
        std::mem::take(&mut waiting)
    }

    /// Returns the number of changes that were dropped because too many waited to be taken.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// The result of an action that has run for a table.
pub(crate) struct Left<'l> {
    /// The entry of the action, or `None` on a miss.
    pub(crate) entry: Option<&'l Stored>,
    pub(crate) cell: &'l ActionCell,
    /// The call, with the arguments before the action ran.
    pub(crate) call: Arc<ActionCall>,
    /// The new values of the reference parameters, by position.
    pub(crate) values: Vec<(usize, Value)>,
}

impl TableState {
    /// Writes the new values of an action's reference parameters in the way that the table's design
    /// specifies. The default action belongs to no entry, and is written in place.
    pub(crate) fn leave(&self, table: TableId, left: Left<'_>, changes: &EntryChanges) {
        let Left { entry, cell, call, values } = left;
        match entry {
            Some(entry) if self.storage.update == UpdateMethod::Digest => {
                let mut after = (*call).clone();
                for (position, value) in values {
                    if let Some(argument) = after.arguments.get_mut(position) {
                        *argument = value;
                    }
                }
                let before = Arc::unwrap_or_clone(call);
                changes.push(EntryChange { table, entry: entry.handle, before, after });
            }
            _ => {
                let action = call.action;
                // This was the last reference, so the arguments are changed in place and not
                // copied.
                drop(call);
                cell.leave(action, values);
            }
        }
    }
}
