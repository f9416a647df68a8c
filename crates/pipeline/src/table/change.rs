//! Changes that packets make to their entries by way of a controller (`update = "digest"` of
//! `@tableconfig`).
//!
//! The action of such a packet does not change its entry. The new values of the action's reference
//! parameters become a message instead, and the entry is changed when the message returns from a
//! controller (Simon et al., ANCS 2021, section 5.1). A packet that arrives in the meantime finds
//! the old values. If it changes the entry too, the message that is written last wins, and
//! [`Core::change_entry`] reports that it overwrote a change.

use super::{ActionCall, ActionCell, EntryHandle, Runs, Stored, TableState};
use crate::error::ControlError;
use crate::switch::Core;
use crate::sync::lock;
use crate::value::Value;
use ir::bits::Bits;
use ir::{ActionId, TableId, UpdateMethod};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tables::Applied;

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

    fn take(&self) -> Vec<EntryChange> {
        if !self.some.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut waiting = lock(&self.waiting);
        self.some.store(false, Ordering::Relaxed);
        std::mem::take(&mut waiting)
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

impl Core {
    /// Returns the changes that packets requested since the last call, in tables whose entries a
    /// controller writes.
    #[must_use]
    pub fn take_entry_changes(&self) -> Vec<EntryChange> {
        self.state.entry_changes.take()
    }

    /// Returns the number of changes that were dropped because more than 65,536 waited to be taken.
    #[must_use]
    pub fn entry_changes_dropped(&self) -> u64 {
        self.state.entry_changes.dropped.load(Ordering::Relaxed)
    }

    /// Applies a change to its entry, as the control plane would.
    ///
    /// # Errors
    /// Fails if the entry no longer exists, is constant, or has another action by now.
    pub fn change_entry(&self, change: &EntryChange) -> Result<Changed, ControlError> {
        let stored = self.stored(change.table, change.entry)?;
        if stored.is_const {
            return Err(ControlError::Constant("the entry"));
        }
        let cell = match &stored.state().runs {
            Runs::Action(cell) => Arc::clone(cell),
            Runs::Member(..) | Runs::Group(..) | Runs::OneShot(_) => {
                return Err(ControlError::NotFound("action of the entry's own"));
            }
        };
        let before = cell.call();
        if before.action != change.after.action {
            return Err(ControlError::NotFound("entry with this action"));
        }
        cell.replace(Arc::new(change.after.clone()));
        Ok(if *before == change.before { Changed::AsFound } else { Changed::Overwritten })
    }

    /// Applies a change that returns from a controller, in the encoding of
    /// [`EntryChange::to_bytes`].
    #[must_use]
    pub fn apply_change(&self, message: &[u8]) -> Applied {
        let change = self.entry_change_from(message);
        match change.and_then(|change| self.change_entry(&change).ok()) {
            Some(Changed::AsFound) => Applied::Written,
            Some(Changed::Overwritten) => Applied::Overwritten,
            None => Applied::Refused,
        }
    }

    /// Takes all waiting changes and applies them, like a controller that answers before the next
    /// packet arrives.
    pub fn answer_entry_changes(&self) {
        for change in self.take_entry_changes() {
            // An entry that is constant or no longer exists is left unchanged.
            let _ = self.change_entry(&change);
        }
    }

    /// Decodes a change that [`EntryChange::to_bytes`] encoded. Returns `None` if it does not fit
    /// this program.
    #[must_use]
    pub fn entry_change_from(&self, bytes: &[u8]) -> Option<EntryChange> {
        let mut words = Words(bytes);
        let table = TableId(u32::try_from(words.next()?).ok()?);
        let entry = EntryHandle(words.next()?);
        let action = ActionId(u32::try_from(words.next()?).ok()?);
        let declared = self.layout.program.actions.get(action.index())?;
        let mut call = || {
            let widths = declared.control_plane_parameters().map(|parameter| {
                Some(self.layout.initial(parameter.type_id)?.to_pattern()?.width())
            });
            let arguments = widths.map(|width| words.number(width?));
            self.action_call(action, &arguments.collect::<Option<Vec<_>>>()?).ok()
        };
        Some(EntryChange { table, entry, before: call()?, after: call()? })
    }
}

impl EntryChange {
    /// Encodes the change as a message: big-endian words of 64 bits, each argument from its lowest
    /// word on.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut words = vec![u64::from(self.table.0), self.entry.0, u64::from(self.after.action.0)];
        for argument in self.before.arguments.iter().chain(&self.after.arguments) {
            let Some(pattern) = argument.to_pattern() else { continue };
            let low = (0..pattern.width()).step_by(64);
            words.extend(low.map(|low| pattern.shift_right(low.into()).low_u64()));
        }
        words.into_iter().flat_map(u64::to_be_bytes).collect()
    }
}

/// A reader of the words of a message.
struct Words<'w>(&'w [u8]);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*word))
    }

    fn number(&mut self, width: u32) -> Option<Bits> {
        let mut number = Bits::zero(width, false);
        for low in (0..width).step_by(64) {
            let word = Bits::unsigned(64, self.next()?.into()).cast(width, false);
            number = number.bit_or(&word.shift_left(low.into()));
        }
        Some(number)
    }
}
