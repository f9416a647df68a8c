//! Changes that packets request for their table entries, and that a controller makes. A request can
//! be sent to the controller as a message, or executed directly.

use crate::error::ControlError;
use crate::switch::Core;
use crate::table::{Changed, EntryChange, EntryHandle, Runs};
use ir::bits::Bits;
use ir::{ActionId, TableId};
use std::sync::Arc;
use tables::Applied;

impl Core {
    /// Returns the changes that packets have requested for their table entries since the last call.
    /// Packets make such requests in tables whose entries a controller writes (`update =
    /// "digest"`).
    #[must_use]
    pub fn take_entry_changes(&self) -> Vec<EntryChange> {
        self.state.entry_changes.take()
    }

    /// Returns the number of requested changes that were dropped because 65,536 requests were
    /// waiting to be taken.
    #[must_use]
    pub fn entry_changes_dropped(&self) -> u64 {
        self.state.entry_changes.dropped()
    }

    /// Changes an entry as a packet has requested it, on behalf of the control plane.
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

    /// Changes an entry as a packet has requested it. `message` is the request in the encoding of
    /// [`EntryChange::to_bytes`], which the controller has returned.
    #[must_use]
    pub fn apply_change(&self, message: &[u8]) -> Applied {
        let change = self.entry_change_from(message);
        match change.and_then(|change| self.change_entry(&change).ok()) {
            Some(Changed::AsFound) => Applied::Written,
            Some(Changed::Overwritten) => Applied::Overwritten,
            None => Applied::Refused,
        }
    }

    /// Takes all requested changes that wait and makes them, like a controller that answers before
    /// the next packet arrives.
    pub fn answer_entry_changes(&self) {
        for change in self.take_entry_changes() {
            // An entry that is constant or no longer exists is left unchanged.
            let _ = self.change_entry(&change);
        }
    }

    /// Decodes a requested change that [`EntryChange::to_bytes`] has encoded. Returns `None` if it
    /// does not fit this program.
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
    /// Encodes the change as a message of 64-bit words in big-endian order. Each argument begins
    /// with its lowest word.
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
