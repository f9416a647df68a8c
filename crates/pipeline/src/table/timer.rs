//! The idle timers of table entries: the time of the last restart, usually by a hit, and the
//! timeout.
//!
//! Machine code reads and restarts timers while it uses the entries (inside the gate of its
//! [`tables::WorkerGroup`]), when it must not wait for a lock. Timers therefore have no lock, and
//! each of their numbers is consistent by itself. All times are in nanoseconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The idle timer of a table entry.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Timer {
    /// The time at which the timer was last started: when the entry was inserted, by a hit, or by
    /// PNA's externs.
    pub(super) restarted: AtomicU64,
    /// The timeout, or [`Self::NONE`] if the entry does not time out.
    pub(super) timeout: AtomicU64,
    /// The time at which the entry was last reported as idle, or [`Self::NONE`].
    pub(super) notified: AtomicU64,
}

impl Timer {
    /// The number that stands for "never" in place of a time.
    pub(crate) const NONE: u64 = u64::MAX;

    /// Converts a time to the nanoseconds that timers store.
    pub(crate) fn moment(now: Duration) -> u64 {
        nanoseconds(now)
    }

    pub(super) fn new(timeout: Option<Duration>, now: Duration) -> Self {
        Self {
            restarted: AtomicU64::new(nanoseconds(now)),
            timeout: AtomicU64::new(timeout.map_or(Self::NONE, nanoseconds)),
            notified: AtomicU64::new(Self::NONE),
        }
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        time(self.timeout.load(Ordering::Relaxed))
    }

    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) {
        self.timeout.store(timeout.map_or(Self::NONE, nanoseconds), Ordering::Relaxed);
    }

    /// Returns the time at which the timer was last started: when the entry was inserted, by a hit,
    /// or by PNA's externs.
    pub(crate) fn restarted(&self) -> Duration {
        Duration::from_nanos(self.restarted.load(Ordering::Relaxed))
    }

    pub(crate) fn restart(&self, now: Duration) {
        // The clocks of workers differ slightly, so the time must not go backwards.
        self.restarted.fetch_max(nanoseconds(now), Ordering::Relaxed);
        self.notified.store(Self::NONE, Ordering::Relaxed);
    }

    pub(crate) fn is_idle(&self, now: Duration) -> bool {
        self.timeout().is_some_and(|timeout| now.saturating_sub(self.restarted()) >= timeout)
    }

    /// Returns the time at which the entry was last reported as idle, or `None` if it was not.
    pub(crate) fn notified(&self) -> Option<Duration> {
        time(self.notified.load(Ordering::Relaxed))
    }

    pub(crate) fn set_notified(&self, now: Duration) {
        self.notified.store(nanoseconds(now), Ordering::Relaxed);
    }
}

fn time(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != Timer::NONE).then(|| Duration::from_nanos(nanoseconds))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(Timer::NONE).min(Timer::NONE - 1)
}
