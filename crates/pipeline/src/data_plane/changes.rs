//! A count of the changes that the control plane makes to the state of a running program. It shows
//! whether packets that are processed one after the other may have met different states.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of changes that the control plane has made up to some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlChanges {
    /// The number that identifies the program whose state changes.
    program: u64,
    begun: u64,
    ended: u64,
}

impl ControlChanges {
    /// Returns whether the control plane changed nothing between this moment and a later one: both
    /// belong to the same program, and every change that had begun by the later moment had ended by
    /// this one.
    #[must_use]
    pub fn nothing_changed_until(self, later: Self) -> bool {
        self.program == later.program && self.ended == later.begun
    }
}

/// The counter of changes of one program.
#[derive(Debug, Default)]
pub(super) struct ChangeCounter {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl ChangeCounter {
    /// Makes a change and counts it.
    pub(super) fn during<R>(&self, change: impl FnOnce() -> R) -> R {
        // A packet that meets the change finds it begun, and one that finds it ended meets it.
        self.begun.fetch_add(1, Ordering::SeqCst);
        let outcome = change();
        self.ended.fetch_add(1, Ordering::SeqCst);
        outcome
    }

    /// Returns the number of changes so far. `program` is the number that identifies the program.
    pub(super) fn so_far(&self, program: u64) -> ControlChanges {
        let ended = self.ended.load(Ordering::SeqCst);
        ControlChanges { program, begun: self.begun.load(Ordering::SeqCst), ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_overlaps_is_seen_at_both_ends() {
        let counter = ChangeCounter::default();
        let start = counter.so_far(1);
        assert!(start.nothing_changed_until(counter.so_far(1)));
        let inside = counter.during(|| {
            assert!(!start.nothing_changed_until(counter.so_far(1)), "it has begun");
            counter.so_far(1)
        });
        assert!(!inside.nothing_changed_until(counter.so_far(1)), "it had not ended");
        assert!(!start.nothing_changed_until(counter.so_far(1)));
        let after = counter.so_far(1);
        assert!(after.nothing_changed_until(counter.so_far(1)));
        assert!(!after.nothing_changed_until(counter.so_far(2)), "another program runs");
    }
}
