//! The entries of a trial, divided into those in the table and those that can be inserted.

use std::collections::VecDeque;

use crate::entry_number::EntryNumber;
use crate::window::Operation;

/// The entries that no unanswered request concerns. Two unanswered requests therefore never concern
/// the same entry, and the switch may process them in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pool {
    /// The entries in the table, the oldest first.
    present: VecDeque<EntryNumber>,
    /// The entries that are not in the table. The one that was deleted the longest time ago comes
    /// first.
    free: VecDeque<EntryNumber>,
}

impl Pool {
    pub(crate) fn new(present: &[EntryNumber], free: &[EntryNumber]) -> Self {
        let [present, free] = [present, free].map(|numbers| numbers.iter().copied().collect());
        Self { present, free }
    }

    /// Returns the number of entries in the table.
    pub(crate) fn present(&self) -> usize {
        self.present.len()
    }

    /// Takes the entries for a request out of the pool. A deletion gets the oldest entries in the
    /// table. Returns `None` if there are fewer than `batch`.
    pub(super) fn take(&mut self, operation: Operation, batch: usize) -> Option<Vec<EntryNumber>> {
        let from = match operation {
            Operation::Insert => &mut self.free,
            Operation::Modify | Operation::Delete => &mut self.present,
        };
        (from.len() >= batch).then(|| from.drain(..batch).collect())
    }

    /// Puts the entries of an answered request back into the pool. `refused` has the positions of
    /// the updates that the switch refused, in ascending order; their entries stay in the table, or
    /// outside it, as they were.
    pub(super) fn give_back(
        &mut self,
        operation: Operation,
        numbers: &[EntryNumber],
        refused: &[usize],
    ) {
        let mut refused = refused.iter().peekable();
        for (position, number) in numbers.iter().enumerate() {
            let is_refused = refused.next_if(|one| **one == position).is_some();
            let is_present = match operation {
                Operation::Insert => !is_refused,
                Operation::Modify => true,
                Operation::Delete => is_refused,
            };
            if is_present { &mut self.present } else { &mut self.free }.push_back(*number);
        }
    }
}
