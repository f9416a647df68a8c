//! The state that the engine threads share with the conductor, the thread that leads a trial: the
//! clock, the conductor's orders, and counters for progress reports.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A monotonic clock that counts nanoseconds since the trial was set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub(crate) fn now(&self) -> u64 {
        nanos(self.origin.elapsed())
    }
}

/// Converts a duration to nanoseconds, saturating at 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The phase that a trial is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The trial has not begun.
    Idle,
    /// The switches connect to the controller, or wait until it connects to them.
    Connecting,
    /// The switches are ready and send no traffic yet. The controller can discover the topology and
    /// the hosts.
    Settling,
    /// Traffic flows but is not measured yet.
    WarmingUp,
    /// Traffic flows and is measured.
    Measuring,
    /// The trial waits for the last answers.
    Draining,
    /// The trial has ended.
    Done,
}

/// All phases, in the order of a trial. [`Live`] stores a phase as its index in this array.
const PHASES: [Phase; 7] = [
    Phase::Idle,
    Phase::Connecting,
    Phase::Settling,
    Phase::WarmingUp,
    Phase::Measuring,
    Phase::Draining,
    Phase::Done,
];

/// Counters that show the progress of a trial while it runs. Engine threads update them only
/// several times per second.
#[derive(Debug, Default)]
pub struct Live {
    phase: AtomicU8,
    wanted: AtomicU32,
    ready: AtomicU32,
    completed: AtomicU32,
    sent: AtomicU64,
    answered: AtomicU64,
    /// The last time, on the trial's clock, at which the controller flooded a host's announcement,
    /// or 0 if it has not flooded any.
    flooded: AtomicU64,
}

impl Live {
    /// Returns the phase of the trial.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed)).min(PHASES.len() - 1)]
    }

    /// Returns the number of switches that must be ready before the trial continues.
    pub fn wanted(&self) -> u32 {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Returns the number of switches whose handshake is complete.
    pub fn ready(&self) -> u32 {
        self.ready.load(Ordering::Relaxed)
    }

    /// Returns the number of switches that have completed their handshake at least once.
    pub(crate) fn completed(&self) -> u32 {
        self.completed.load(Ordering::Relaxed)
    }

    /// Returns the number of packet-ins that were sent since the trial began.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Returns the number of packet-ins that were answered since the trial began.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    pub(crate) fn enter(&self, phase: Phase) {
        let index = PHASES.iter().position(|known| *known == phase).unwrap_or(0);
        self.phase.store(index as u8, Ordering::Relaxed);
    }

    pub(crate) fn begin(&self, wanted: u32) {
        self.wanted.store(wanted, Ordering::Relaxed);
        self.ready.store(0, Ordering::Relaxed);
        self.completed.store(0, Ordering::Relaxed);
        self.sent.store(0, Ordering::Relaxed);
        self.answered.store(0, Ordering::Relaxed);
        self.flooded.store(0, Ordering::Relaxed);
    }

    /// Counts a switch that has become ready. `first` says whether it has become ready for the
    /// first time.
    pub(crate) fn became_ready(&self, first: bool) {
        self.ready.fetch_add(1, Ordering::Relaxed);
        self.completed.fetch_add(u32::from(first), Ordering::Relaxed);
    }

    /// Counts a switch that has lost its connection or its session, and is no longer ready.
    pub(crate) fn ceased_ready(&self) {
        self.ready.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records that the controller flooded a host's announcement at the time `at`.
    pub(crate) fn announcement_flooded(&self, at: u64) {
        self.flooded.fetch_max(at, Ordering::Relaxed);
    }

    /// Returns the last time, on the trial's clock, at which the controller flooded a host's
    /// announcement, or 0 if it has not flooded any.
    pub(crate) fn last_flooded(&self) -> u64 {
        self.flooded.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, sent: u64, answered: u64) {
        self.sent.fetch_add(sent, Ordering::Relaxed);
        self.answered.fetch_add(answered, Ordering::Relaxed);
    }
}

/// The value of `Orders::traffic_start` until the conductor has set the start time of traffic.
const UNDECIDED: u64 = u64::MAX;

/// The orders of the conductor to the engine threads, and the reports of the threads to the
/// conductor.
#[derive(Debug)]
pub(crate) struct Orders {
    pub(crate) clock: Clock,
    settle: AtomicBool,
    traffic_start: AtomicU64,
    stop: AtomicBool,
    /// The number of engine threads that have finished their part of the trial.
    satisfied: AtomicUsize,
    /// Whether any engine thread has ended.
    ended: AtomicBool,
}

/// A guard that an engine thread owns while it runs. Dropping it records that the thread has ended,
/// even if the thread failed, so that the conductor does not wait for it.
#[derive(Debug)]
pub(crate) struct Running(std::sync::Arc<Orders>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

impl Orders {
    pub(crate) fn new() -> Self {
        Self {
            clock: Clock::start(),
            settle: AtomicBool::new(false),
            traffic_start: AtomicU64::new(UNDECIDED),
            stop: AtomicBool::new(false),
            satisfied: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        }
    }

    /// Returns the guard that an engine thread must own as long as it runs.
    pub(crate) fn running(self: &std::sync::Arc<Self>) -> Running {
        Running(self.clone())
    }

    /// Reports whether the calling thread has finished its part of the trial (`now`). `before`
    /// contains what the thread reported last, and is set to `now`.
    pub(crate) fn satisfied(&self, before: &mut bool, now: bool) {
        match (std::mem::replace(before, now), now) {
            (false, true) => self.satisfied.fetch_add(1, Ordering::AcqRel),
            (true, false) => self.satisfied.fetch_sub(1, Ordering::AcqRel),
            _ => return,
        };
    }

    /// Returns whether all of `threads` engine threads have finished their part of the trial, or
    /// any of them has ended.
    pub(crate) fn are_satisfied(&self, threads: usize) -> bool {
        self.satisfied.load(Ordering::Acquire) >= threads || self.ended.load(Ordering::Acquire)
    }

    /// Orders the engine threads to let the emulated hosts announce themselves, before traffic
    /// starts.
    pub(crate) fn settle(&self) {
        self.settle.store(true, Ordering::Release);
    }

    pub(crate) fn is_settling(&self) -> bool {
        self.settle.load(Ordering::Acquire)
    }

    /// Sets the time at which traffic starts, on the trial's clock. The times at which packet-ins
    /// are due count from it.
    pub(crate) fn start_traffic(&self, at: u64) {
        self.traffic_start.store(at, Ordering::Release);
    }

    pub(crate) fn traffic_start(&self) -> Option<u64> {
        match self.traffic_start.load(Ordering::Acquire) {
            UNDECIDED => None,
            at => Some(at),
        }
    }

    /// Orders the engine threads to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}
