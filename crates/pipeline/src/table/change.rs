//! What packets make of their entries where a controller has to write it (`update = "digest"` of `@tableconfig`).
//!
//! The action of such a packet leaves its entry as it is; what it made of its references goes into a message, and the entry
//! is changed when the message has been to a controller and back (Simon et al., ANCS 2021, section 5.1). A packet that
//! comes before that finds the old values, and where it changes the entry too, whichever of the two messages is written
//! last wins: [`Core::change_entry`] tells that it did.

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

/// Changes that may wait to be taken.
const ROOM: usize = 1 << 16;

/// What a packet would have its entry be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// Whose entry.
    pub table: TableId,
    /// Which entry.
    pub entry: EntryHandle,
    /// What the packet found there.
    pub before: ActionCall,
    /// The same action with what it made of its references.
    pub after: ActionCall,
}

/// What an entry was when a change was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// As the packet had found it.
    AsFound,
    /// Something else: what had been written there meanwhile is lost.
    Overwritten,
}

/// Changes that nobody has taken yet.
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

/// What an action leaves that has run for a table.
pub(crate) struct Left<'l> {
    /// What it was found in; nothing on a miss.
    pub(crate) entry: Option<&'l Stored>,
    pub(crate) cell: &'l ActionCell,
    /// What it was given.
    pub(crate) call: Arc<ActionCall>,
    /// What it made of its references, by their positions.
    pub(crate) values: Vec<(usize, Value)>,
}

impl TableState {
    /// Leaves what an action made of its references, in the way that the table's design has. The default action is no
    /// entry: it is written in place.
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
                // The arguments are then changed where they are, and not copied.
                drop(call);
                cell.leave(action, values);
            }
        }
    }
}

/// Changes by messages.
impl Core {
    /// What packets would have their entries be since the last call, in tables whose entries a controller writes.
    #[must_use]
    pub fn take_entry_changes(&self) -> Vec<EntryChange> {
        self.state.entry_changes.take()
    }

    /// Such changes for which there was no room: more than 65,536 waited to be taken.
    #[must_use]
    pub fn entry_changes_dropped(&self) -> u64 {
        self.state.entry_changes.dropped.load(Ordering::Relaxed)
    }

    /// Writes a change as the control plane changes an entry.
    ///
    /// # Errors
    /// If the entry is there no more, is constant, or has another action by now.
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

    /// Writes a change that comes back from a controller as [`EntryChange::to_bytes`] wrote it.
    #[must_use]
    pub fn apply_change(&self, message: &[u8]) -> Applied {
        let change = self.entry_change_from(message);
        match change.and_then(|change| self.change_entry(&change).ok()) {
            Some(Changed::AsFound) => Applied::Written,
            Some(Changed::Overwritten) => Applied::Overwritten,
            None => Applied::Refused,
        }
    }

    /// Takes the changes that wait and writes them, as a controller does that answers before the next packet comes.
    pub fn answer_entry_changes(&self) {
        for change in self.take_entry_changes() {
            // An entry that is constant or gone stays as it is.
            let _ = self.change_entry(&change);
        }
    }

    /// The change that [`EntryChange::to_bytes`] wrote; nothing if it is none of this program's.
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
    /// As a message has it: words of 64 bits, the highest byte first; arguments from their lowest bits on.
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

/// Words of a message.
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
