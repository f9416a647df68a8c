//! When an entry was hit last, and how long it lasts without a hit.
//!
//! Machine code looks at timers and restarts them inside of the gate, where it may wait for no lock; so there is none, and
//! each number is whole by itself. All are nanoseconds.

use super::Account;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// See the module.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Timer {
    /// When it started last.
    restarted: AtomicU64,
    timeout: AtomicU64,
    /// Since when the entry is reported as idle; when it was last, for those who are told again.
    told: AtomicU64,
}

impl Timer {
    /// Where code finds the parts, from the entry's account on.
    pub(crate) const RESTARTED: usize = offset_of!(Account, timer) + offset_of!(Self, restarted);
    pub(crate) const TIMEOUT: usize = offset_of!(Account, timer) + offset_of!(Self, timeout);
    pub(crate) const TOLD: usize = offset_of!(Account, timer) + offset_of!(Self, told);
    /// What stands for no time.
    pub(crate) const NONE: u64 = u64::MAX;

    /// A moment as timers have it.
    pub(crate) fn moment(now: Duration) -> u64 {
        nanoseconds(now)
    }

    pub(super) fn new(timeout: Option<Duration>, now: Duration) -> Self {
        Self {
            restarted: AtomicU64::new(nanoseconds(now)),
            timeout: AtomicU64::new(timeout.map_or(Self::NONE, nanoseconds)),
            told: AtomicU64::new(Self::NONE),
        }
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        time(self.timeout.load(Ordering::Relaxed))
    }

    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) {
        self.timeout.store(timeout.map_or(Self::NONE, nanoseconds), Ordering::Relaxed);
    }

    /// When it started last.
    pub(crate) fn restarted(&self) -> Duration {
        Duration::from_nanos(self.restarted.load(Ordering::Relaxed))
    }

    pub(crate) fn restart(&self, now: Duration) {
        // Workers do not read one clock at one time.
        self.restarted.fetch_max(nanoseconds(now), Ordering::Relaxed);
        self.told.store(Self::NONE, Ordering::Relaxed);
    }

    pub(crate) fn is_idle(&self, now: Duration) -> bool {
        self.timeout().is_some_and(|timeout| now.saturating_sub(self.restarted()) >= timeout)
    }

    /// Since when the entry is reported as idle.
    pub(crate) fn told(&self) -> Option<Duration> {
        time(self.told.load(Ordering::Relaxed))
    }

    pub(crate) fn tell(&self, now: Duration) {
        self.told.store(nanoseconds(now), Ordering::Relaxed);
    }
}

fn time(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != Timer::NONE).then(|| Duration::from_nanos(nanoseconds))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(Timer::NONE).min(Timer::NONE - 1)
}
