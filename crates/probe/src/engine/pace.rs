//! The timing of an engine thread, whichever protocol its switches speak: its share of the
//! schedule, announcements, housekeeping, samples, and its end.
//!
//! This module sends nothing and knows no sockets: the thread's loop asks what is due, and for how
//! long it may sleep.

use std::sync::Arc;

use super::ending::Ending;
use super::recorder::SwitchRecord;
use super::{Introductions, Orders, TrialPlan};
use crate::ledger::Tally;
use crate::schedule::{Nanos, ShardSchedule};

/// The time before the next event within which a thread spins instead of sleeping, in nanoseconds:
/// about the cost of a timer and a context switch.
pub(crate) const SPIN: u64 = 60_000;
/// The longest time between two checks of the thread's orders, in nanoseconds.
const LOOK: u64 = 20_000_000;
/// The time between two rounds of housekeeping (keep-alives, expiry, publishing of counters), in
/// nanoseconds.
pub(crate) const TICK: u64 = 100_000_000;

/// The course of a trial for one engine thread. Moments named `now` are on the trial's clock,
/// moments named `at` count from the start of traffic, both in nanoseconds.
pub(crate) struct Pace {
    plan: Arc<TrialPlan>,
    orders: Arc<Orders>,
    schedule: Option<ShardSchedule>,
    introductions: Introductions,
    ending: Ending,
    /// Whether switches that send without a schedule have begun to send.
    begun: bool,
    next_tick: u64,
    /// The last report to the conductor: whether there is nothing more to wait for.
    satisfied: bool,
}

impl Pace {
    pub(crate) fn new(plan: &Arc<TrialPlan>, orders: &Arc<Orders>, thread: usize) -> Self {
        Self {
            plan: plan.clone(),
            orders: orders.clone(),
            schedule: plan.schedule.as_ref().map(|schedule| schedule.shard(plan.members(thread))),
            introductions: Introductions::default(),
            ending: plan.ending(),
            begun: false,
            next_tick: 0,
            satisfied: false,
        }
    }

    /// Returns the nanoseconds since the start of traffic, if traffic has started.
    pub(crate) fn traffic_time(&self, now: u64) -> Option<u64> {
        self.orders.traffic_start().and_then(|start| now.checked_sub(start))
    }

    /// Whether the trial is in the phase before traffic in which hosts announce themselves.
    pub(crate) fn is_settling(&self) -> bool {
        self.orders.is_settling() && self.orders.traffic_start().is_none()
    }

    /// Returns the hosts whose turn to announce themselves has come, as indices into `switches` and
    /// host numbers.
    pub(crate) fn introductions(
        &mut self,
        switches: &[SwitchRecord],
        now: u64,
    ) -> Vec<(usize, u32)> {
        self.introductions.due(&self.plan, switches, now)
    }

    /// Takes a packet-in that is due at `at` from the schedule: the index of the switch among the
    /// thread's switches, and the due time.
    pub(crate) fn pop_due(&mut self, at: u64) -> Option<(usize, u64)> {
        let due = self.schedule.as_mut()?.pop_due(Nanos(at))?;
        let (_, member) = self.plan.place(due.switch);
        Some((member, due.at.0))
    }

    /// Whether the schedule has a packet-in that is due at `now`.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.next_due().zip(self.traffic_time(now)).is_some_and(|(due, at)| due <= at)
    }

    fn next_due(&self) -> Option<u64> {
        Some(self.schedule.as_ref()?.peek()?.at.0)
    }

    /// Whether this is the first call, so that switches without a schedule begin to send.
    pub(crate) fn begins(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    /// Whether housekeeping is due; if so, schedules the next round.
    pub(crate) fn ticks(&mut self, now: u64) -> bool {
        let due = now >= self.next_tick;
        if due {
            self.next_tick = now + TICK;
        }
        due
    }

    /// Returns the moment of the next event; the next sample is due at `sample`.
    pub(crate) fn wake(&self, now: u64, sample: u64) -> u64 {
        let wake = (now + LOOK).min(self.next_tick);
        match self.orders.traffic_start() {
            None => wake,
            Some(start) if now < start => wake.min(start),
            Some(start) => {
                let due = self.next_due().unwrap_or(u64::MAX);
                wake.min(start.saturating_add(due.min(sample)))
            }
        }
    }

    /// Notes that the thread has polled all its sockets, and reports to the conductor whether it
    /// has nothing more to wait for.
    pub(crate) fn look(&mut self, now: u64, tally: &Tally) {
        let Some(at) = self.traffic_time(now) else { return };
        let satisfied = self.ending.look(at, self.next_due().is_none(), tally);
        self.orders.satisfied(&mut self.satisfied, satisfied);
    }
}
