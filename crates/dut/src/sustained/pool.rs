//! The entries of a trial: those that are in the table, and those that can be inserted.

use std::collections::VecDeque;

use crate::entry_number::EntryNumber;
use crate::window::Operation;

/// The entries of which none is part of a request that waits for its answer. So no two requests are
/// about the same entry at the same time, and a switch may process them in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pool {
    /// The entries in the table, the oldest first.
    present: VecDeque<EntryNumber>,
    /// The entries that are not in the table. The one that was deleted first comes first.
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

    /// Takes the entries of a request: the oldest ones for a deletion. Returns `None` if there are
    /// fewer than `batch`.
    pub(super) fn take(&mut self, operation: Operation, batch: usize) -> Option<Vec<EntryNumber>> {
        let from = match operation {
            Operation::Insert => &mut self.free,
            Operation::Modify | Operation::Delete => &mut self.present,
        };
        (from.len() >= batch).then(|| from.drain(..batch).collect())
    }

    /// Takes back the entries of a request that was answered. `refused` are the positions of those
    /// that the switch refused, in ascending order; they stay where they were.
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
