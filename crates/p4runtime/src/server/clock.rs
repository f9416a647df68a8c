//! The clocks of served devices.

use std::{
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::store::Nanos;

/// The moment at which the clock was first used, according to both the steady clock and the system
/// clock.
static START: LazyLock<(Instant, Duration)> = LazyLock::new(|| {
    // If the system clock is set before 1970, timestamps start at zero. Nothing else depends on it.
    (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
});

/// Returns the time since the Unix epoch, which never goes backwards. If a data plane reports times
/// that are compared with those of the server, it must use this clock too.
pub fn now() -> Nanos {
    let now = START.1 + START.0.elapsed();
    // 64 bits suffice until the year 2554.
    Nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns the time of [`now`] as a signed number of nanoseconds, which messages carry.
pub(super) fn timestamp() -> i64 {
    Clock::Unix.timestamp()
}

/// The clock that provides the times of a served device's writes, digests and idle entries.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The time since the Unix epoch, as [`now`] returns it.
    #[default]
    Unix,
    /// A time that the owner of the device controls.
    Set(Arc<SetClock>),
}

impl Clock {
    pub(super) fn now(&self) -> Nanos {
        match self {
            Self::Unix => now(),
            Self::Set(clock) => clock.now(),
        }
    }

    /// Returns whether the clock runs by itself, so that a timer can wait for a deadline.
    pub(super) fn runs(&self) -> bool {
        match self {
            Self::Unix => true,
            Self::Set(clock) => clock.runs(),
        }
    }

    /// Returns the time as a signed number of nanoseconds, which messages carry.
    pub(super) fn timestamp(&self) -> i64 {
        i64::try_from(self.now().0).unwrap_or(i64::MAX)
    }
}

/// A clock that starts at zero, and that its owner advances or lets run.
#[derive(Debug, Default)]
pub struct SetClock(Mutex<SetTime>);

/// The time of a [`SetClock`].
#[derive(Debug, Default)]
struct SetTime {
    /// The time at which the clock was set last.
    at: Nanos,
    /// The moment since which the clock has been running, or `None` if it stands still.
    running: Option<Instant>,
}

impl SetTime {
    fn now(&self) -> Nanos {
        let passed = self.running.map_or(Duration::ZERO, |since| since.elapsed());
        Nanos(self.at.0.saturating_add(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl SetClock {
    /// Returns the time of the clock.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.time().now()
    }

    /// Returns whether the clock runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.time().running.is_some()
    }

    /// Advances a clock that stands still. Returns false, and changes nothing, if the clock runs.
    pub fn advance(&self, by: Duration) -> bool {
        let mut time = self.time();
        if time.running.is_some() {
            return false;
        }
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        time.at = Nanos(time.at.0.saturating_add(by));
        true
    }

    /// Lets the clock run from its present time on, or stops it there.
    pub fn set_running(&self, runs: bool) {
        let mut time = self.time();
        time.at = time.now();
        time.running = runs.then(Instant::now);
    }

    fn time(&self) -> MutexGuard<'_, SetTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_stands_is_advanced_and_one_that_runs_is_not() {
        let clock = SetClock::default();
        assert!(clock.advance(Duration::from_secs(2)));
        assert_eq!((clock.now(), clock.runs()), (Nanos(2_000_000_000), false));
        clock.set_running(true);
        assert!(!clock.advance(Duration::from_secs(1)));
        clock.set_running(false);
        let stopped = clock.now();
        assert!(stopped >= Nanos(2_000_000_000));
        assert_eq!((clock.now(), clock.runs()), (stopped, false));
    }
}
