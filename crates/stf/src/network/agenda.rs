//! The events of a network in virtual time, in the order in which they happen.

use super::Travelling;
use crate::outcome::End;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

/// An event of a network.
pub(super) enum Event {
    /// A packet arrives at a port of a switch.
    Arrival(Travelling),
    /// The source with this index sends its next packet.
    Source(usize),
    /// A port with queues may start its next packet.
    Start(End),
}

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
/// they were added.
#[derive(Default)]
pub(super) struct Agenda {
    order: BinaryHeap<Reverse<(Duration, Rank, u64)>>,
    events: BTreeMap<u64, Event>,
    added: u64,
}

impl Agenda {
    pub(super) fn add(&mut self, time: Duration, rank: Rank, event: Event) {
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
    pub(super) fn add_numbered(&mut self, time: Duration, rank: Rank, number: u64, event: Event) {
        self.order.push(Reverse((time, rank, number)));
        self.events.insert(number, event);
    }

    /// Removes and returns the next event with its time, if it happens at or before an arrival at
    /// `until`.
    pub(super) fn next(&mut self, until: Duration) -> Option<(Duration, Event)> {
        let Reverse((time, rank, number)) = *self.order.peek()?;
        if (time, rank) > (until, Rank::Arrival) {
            return None;
        }
        self.order.pop();
        Some((time, self.events.remove(&number)?))
    }
}
