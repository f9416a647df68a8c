//! The events of a network in virtual time, in the order in which they happen.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

/// The order of events at one time: ports that have finished a packet, or for which a packet is
/// released, choose before packets arrive, and ports that were idle choose after that. A packet
/// that arrives just as a port becomes free therefore misses that choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Busy,
    Arrival,
    Idle,
}

/// The events that are to happen. Events of the same time and rank happen in the order in which
/// they were added, or took their number.
pub(super) struct Agenda<E> {
    order: BinaryHeap<Reverse<(Duration, Rank, u64)>>,
    events: BTreeMap<u64, E>,
    added: u64,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self { order: BinaryHeap::new(), events: BTreeMap::new(), added: 0 }
    }
}

impl<E> Agenda<E> {
    pub(super) fn add(&mut self, time: Duration, rank: Rank, event: E) {
        let number = self.number();
        self.add_numbered(time, rank, number, event);
    }

    /// Returns a number for events that are added later: they precede events of the same time and
    /// rank that get a number after this call.
    pub(super) fn number(&mut self) -> u64 {
        self.added += 1;
        self.added
    }

    /// Adds an event with a number, which no other event of the agenda may have.
    pub(super) fn add_numbered(&mut self, time: Duration, rank: Rank, number: u64, event: E) {
        self.order.push(Reverse((time, rank, number)));
        self.events.insert(number, event);
    }

    /// Removes and returns the next event with its time, if it happens at or before an arrival at
    /// `until`.
    pub(super) fn next(&mut self, until: Duration) -> Option<(Duration, E)> {
        let Reverse((time, rank, number)) = *self.order.peek()?;
        if (time, rank) > (until, Rank::Arrival) {
            return None;
        }
        self.order.pop();
        Some((time, self.events.remove(&number)?))
    }
}
