//! Changes that packets make to their entries by way of a controller (`update = "digest"` of
//! `@tableconfig`).
//!
//! The action that runs for such a packet does not change the entry. Instead, the new values of the
//! action's reference parameters are sent as a message, and the entry is changed when the message
//! returns from a controller (Simon et al., ANCS 2021, section 5.1). A packet that arrives in the
//! meantime finds the old values. If it changes the entry too, the message that is written last
//! wins, and [`crate::Core::change_entry`] reports that it overwrote a change.

use super::TableState;
use super::entry::ActionCall;
use super::shape::EntryHandle;
use super::stored::{ActionCell, Stored};
use crate::sync::lock;
use crate::value::Value;
use ir::{TableId, UpdateMethod};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The maximum number of requested changes that may wait for a controller. Further ones are
/// dropped.
const ROOM: usize = 1 << 16;

/// A change that an action requests for its entry, and that a controller carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// The table that contains the entry.
    pub table: TableId,
    /// The entry that is to be changed.
    pub entry: EntryHandle,
    /// The action of the entry, with the arguments that it had for the packet.
    pub before: ActionCall,
    /// The same action, with the new values of its reference parameters.
    pub after: ActionCall,
}

/// Whether an entry was changed by another request between the packet that requested a change and
/// the change itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The entry had not changed since the packet found it.
    AsFound,
    /// The entry had changed since the packet found it. The earlier change is overwritten and lost.
    Overwritten,
}

/// The changes that actions have requested for their entries and that no controller has taken yet.
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

    /// Returns how many requested changes were dropped because too many waited for a controller.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// A table action that has run, with the parameters that it has changed.
pub(crate) struct Left<'l> {
    /// The entry whose action ran, or `None` for the default action.
    pub(crate) entry: Option<&'l Stored>,
    pub(crate) cell: &'l ActionCell,
    /// The action, with the arguments that it had before it ran.
    pub(crate) call: Arc<ActionCall>,
    /// The new values of the parameters that the action may change, each with its position among
    /// the parameters.
    pub(crate) values: Vec<(usize, Value)>,
}

impl TableState {
    /// Writes an action's changed parameters to its entry, or requests the change from a
    /// controller, as the table's `@tableconfig` specifies. Parameters of the default action are
    /// always written immediately.
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
