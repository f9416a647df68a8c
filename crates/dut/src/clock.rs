//! The clock of a measurement with packets. Tests replace it by one whose time they make.

use std::time::{Duration, Instant};

use crate::effects::Moment;

/// A clock that counts from some moment.
pub(crate) trait Clock {
    /// Returns the present moment.
    fn now(&self) -> Moment;

    /// Lets other threads run, because there is nothing to do.
    fn idle(&self);
}

impl Clock for Instant {
    fn now(&self) -> Moment {
        Moment(nanos(self.elapsed()))
    }

    fn idle(&self) {
        std::thread::yield_now();
    }
}

/// Returns a time in nanoseconds.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
