//! Decides when an engine thread acts, for switches of either protocol: when it sends packet-ins
//! and announcements, checks timeouts, takes samples, and ends.
//!
//! This module sends nothing and has no sockets. The loop of the thread queries which events are
//! due and for how long it may sleep.

use std::sync::Arc;

use super::ending::Ending;
use super::recorder::SwitchRecord;
use super::{Introductions, Orders, TrialPlan};
use crate::ledger::Tally;
use crate::schedule::{Nanos, ShardSchedule};

/// The time in nanoseconds before the next event in which a thread spins instead of sleeping. It is
/// about the cost of a timer and a context switch.
pub(crate) const SPIN: u64 = 60_000;
/// The longest time in nanoseconds after which a thread checks whether the conductor, which leads
/// the trial, has orders.
const LOOK: u64 = 20_000_000;
/// The time in nanoseconds between two rounds of periodic work (keep-alives, expiry, progress
/// counters).
pub(crate) const TICK: u64 = 100_000_000;

/// The future events of a trial for one engine thread. Times named `now` are on the trial's clock,
/// and times named `at` count from the start of traffic, both in nanoseconds.
pub(crate) struct Pace {
    plan: Arc<TrialPlan>,
    orders: Arc<Orders>,
    schedule: Option<ShardSchedule>,
    introductions: Introductions,
    ending: Ending,
    /// Whether switches that send without a schedule have started to send.
    begun: bool,
    next_tick: u64,
    /// Whether the thread had finished its part of the trial when it last reported to the
    /// conductor.
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

    /// Returns the time since the start of traffic in nanoseconds, or `None` before that.
    pub(crate) fn traffic_time(&self, now: u64) -> Option<u64> {
        self.orders.traffic_start().and_then(|start| now.checked_sub(start))
    }

    /// Returns whether the trial is in the phase before traffic in which hosts announce themselves.
    pub(crate) fn is_settling(&self) -> bool {
        self.orders.is_settling() && self.orders.traffic_start().is_none()
    }

    /// Returns the hosts that must announce themselves by `now`, each as the index of its switch in
    /// `switches` and its number among the hosts of the switch.
    pub(crate) fn introductions(
        &mut self,
        switches: &[SwitchRecord],
        now: u64,
    ) -> Vec<(usize, u32)> {
        self.introductions.due(&self.plan, switches, now)
    }

    /// Removes the first packet-in that is due by `at` from the schedule. Returns the index of its
    /// switch within the thread and its due time, or `None` if no packet-in is due.
    pub(crate) fn pop_due(&mut self, at: u64) -> Option<(usize, u64)> {
        let due = self.schedule.as_mut()?.pop_due(Nanos(at))?;
        let (_, member) = self.plan.place(due.switch);
        Some((member, due.at.0))
    }

    /// Returns whether the schedule contains a packet-in that is due by `now`, a time on the
    /// trial's clock.
    pub(crate) fn is_due(&self, now: u64) -> bool {
        self.next_due().zip(self.traffic_time(now)).is_some_and(|(due, at)| due <= at)
    }

    fn next_due(&self) -> Option<u64> {
        Some(self.schedule.as_ref()?.peek()?.at.0)
    }

    /// Returns whether this is the first call, at which switches without a schedule start to send.
    pub(crate) fn begins(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    /// Returns whether periodic work is due at `now`. If it is, schedules the next round for
    /// [`TICK`] later.
    pub(crate) fn ticks(&mut self, now: u64) -> bool {
        let due = now >= self.next_tick;
        if due {
            self.next_tick = now + TICK;
        }
        due
    }

    /// Returns the time of the next event on the trial's clock. `sample` is the time of the next
    /// sample, counted from the start of traffic.
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

    /// Records that the thread has polled all its sockets, and reports to the conductor whether the
    /// thread has finished its part of the trial.
    pub(crate) fn look(&mut self, now: u64, tally: &Tally) {
        let Some(at) = self.traffic_time(now) else { return };
        let satisfied = self.ending.look(at, self.next_due().is_none(), tally);
        self.orders.satisfied(&mut self.satisfied, satisfied);
    }
}
