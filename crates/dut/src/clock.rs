//! The clock of a measurement with packets. Tests replace it by a virtual clock that they advance.

use std::time::{Duration, Instant};

use crate::effects::Moment;

/// A monotonic clock that starts at an arbitrary moment.
pub(crate) trait Clock {
    /// Returns the present moment.
    fn now(&self) -> Moment;

    /// Yields to other threads when there is nothing to do.
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

/// Converts a duration to nanoseconds.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
