//! The queue of future events of a network in virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

/// The order of events at the same time. First, ports that have finished a packet, or for which a
/// packet is released, select their next packet. Then packets arrive. Then ports that were idle
/// select a packet. A packet that arrives just as a busy port becomes free is therefore not
/// considered in that selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Busy,
    Arrival,
    Idle,
}

/// The queue of future events. Events of the same time and rank happen in the order of their
/// numbers, which is the order in which they were added unless numbers were reserved.
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

    /// Reserves a number for events that are added later. These events precede all events of the
    /// same time and rank whose numbers are assigned after this call.
    pub(super) fn number(&mut self) -> u64 {
        self.added += 1;
        self.added
    }

    /// Adds an event with a reserved number. No other event in the queue may have this number.
    pub(super) fn add_numbered(&mut self, time: Duration, rank: Rank, number: u64, event: E) {
        self.order.push(Reverse((time, rank, number)));
        self.events.insert(number, event);
    }

    /// Removes and returns the next event and its time, if it precedes packets that are added for
    /// the time `until`.
    pub(super) fn next(&mut self, until: Duration) -> Option<(Duration, E)> {
        let Reverse((time, rank, number)) = *self.order.peek()?;
        if (time, rank) > (until, Rank::Arrival) {
            return None;
        }
        self.order.pop();
        Some((time, self.events.remove(&number)?))
    }
}
