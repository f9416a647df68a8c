//! What the conductor of a trial and its engine threads tell each other while it runs.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Reads the monotonic clock as nanoseconds since the trial was set up.
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

/// Saturating nanoseconds; 584 years are enough for any trial.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What a trial is doing, for whoever watches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing yet.
    Idle,
    /// Switches connect, or wait to be dialled.
    Connecting,
    /// Quiet time for topology discovery.
    Settling,
    /// Traffic that counts for nothing.
    WarmingUp,
    /// Traffic that is measured.
    Measuring,
    /// Waiting for the last answers.
    Draining,
    /// Over.
    Done,
}

const PHASES: [Phase; 7] = [
    Phase::Idle,
    Phase::Connecting,
    Phase::Settling,
    Phase::WarmingUp,
    Phase::Measuring,
    Phase::Draining,
    Phase::Done,
];

/// Counters that can be watched while a trial runs. They are eventually consistent: engine threads
/// publish them several times per second.
#[derive(Debug, Default)]
pub struct Live {
    phase: AtomicU8,
    wanted: AtomicU32,
    ready: AtomicU32,
    completed: AtomicU32,
    sent: AtomicU64,
    answered: AtomicU64,
    /// When the controller last sent a host's announcement on, on the trial's clock; 0 for never.
    flooded: AtomicU64,
}

impl Live {
    /// What the trial is doing.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed)).min(PHASES.len() - 1)]
    }

    /// Switches that the trial wants.
    pub fn wanted(&self) -> u32 {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Switches whose handshake is complete.
    pub fn ready(&self) -> u32 {
        self.ready.load(Ordering::Relaxed)
    }

    /// Switches that finished their handshake at least once.
    pub(crate) fn completed(&self) -> u32 {
        self.completed.load(Ordering::Relaxed)
    }

    /// Packet-ins that left since the trial began.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// First answers that arrived since the trial began.
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

    /// A switch became ready; `first` says that it never was before.
    pub(crate) fn became_ready(&self, first: bool) {
        self.ready.fetch_add(1, Ordering::Relaxed);
        self.completed.fetch_add(u32::from(first), Ordering::Relaxed);
    }

    /// A switch that was ready is so no longer.
    pub(crate) fn ceased_ready(&self) {
        self.ready.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes that the controller sent a host's announcement on.
    pub(crate) fn announcement_flooded(&self, at: u64) {
        self.flooded.fetch_max(at, Ordering::Relaxed);
    }

    /// When it last did; 0 for never.
    pub(crate) fn last_flooded(&self) -> u64 {
        self.flooded.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, sent: u64, answered: u64) {
        self.sent.fetch_add(sent, Ordering::Relaxed);
        self.answered.fetch_add(answered, Ordering::Relaxed);
    }
}

/// Not yet decided when traffic starts.
const UNDECIDED: u64 = u64::MAX;

/// Orders from the conductor to the engine threads of one trial.
#[derive(Debug)]
pub(crate) struct Orders {
    pub(crate) clock: Clock,
    settle: AtomicBool,
    traffic_start: AtomicU64,
    stop: AtomicBool,
    /// Engine threads that have nothing more to wait for.
    satisfied: AtomicUsize,
    /// An engine thread has ended.
    ended: AtomicBool,
}

/// What an engine thread holds as long as it runs, so that nobody waits for one that failed.
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

    /// To be held by an engine thread as long as it runs.
    pub(crate) fn running(self: &std::sync::Arc<Self>) -> Running {
        Running(self.clone())
    }

    /// An engine thread says whether it has nothing more to wait for; `before` is what it said last.
    pub(crate) fn satisfied(&self, before: &mut bool, now: bool) {
        match (std::mem::replace(before, now), now) {
            (false, true) => self.satisfied.fetch_add(1, Ordering::AcqRel),
            (true, false) => self.satisfied.fetch_sub(1, Ordering::AcqRel),
            _ => return,
        };
    }

    /// Whether none of so many engine threads has anything more to wait for, or one has ended.
    pub(crate) fn are_satisfied(&self, threads: usize) -> bool {
        self.satisfied.load(Ordering::Acquire) >= threads || self.ended.load(Ordering::Acquire)
    }

    /// Lets hosts announce themselves.
    pub(crate) fn settle(&self) {
        self.settle.store(true, Ordering::Release);
    }

    pub(crate) fn is_settling(&self) -> bool {
        self.settle.load(Ordering::Acquire)
    }

    /// Fixes the moment, on the trial's clock, from which due times count.
    pub(crate) fn start_traffic(&self, at: u64) {
        self.traffic_start.store(at, Ordering::Release);
    }

    pub(crate) fn traffic_start(&self) -> Option<u64> {
        match self.traffic_start.load(Ordering::Acquire) {
            UNDECIDED => None,
            at => Some(at),
        }
    }

    /// Ends the engine threads at their next look.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}
