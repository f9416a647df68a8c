//! The token bucket of a rate, in exact time.

use crate::config::Limit;
use crate::units::Nanos;

/// One second in nanoseconds.
const SECOND: u128 = 1_000_000_000;

/// A token bucket. Its state is the instant at which it is full, so that it needs no updates while
/// time passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    limit: Limit,
    /// The instant at which the bucket is full: whole nanoseconds, and a remainder in units of a
    /// nanosecond divided by the rate. The remainder is below the rate.
    full: u64,
    remainder: u64,
}

impl Clock {
    /// Creates a bucket that is full at a time.
    pub(crate) fn new(limit: Limit, full: Nanos) -> Self {
        Self { limit, full: full.0, remainder: 0 }
    }

    /// Returns the first whole nanosecond at which the bucket holds `tokens`. A bucket that is too
    /// small for them must be full.
    pub(crate) fn holds(&self, tokens: u64) -> Nanos {
        let rate = u128::from(self.limit.rate.get());
        let spare = u128::from(self.limit.burst.saturating_sub(tokens)) * SECOND;
        let full = u128::from(self.full) * rate + u128::from(self.remainder);
        Nanos(saturated(full.saturating_sub(spare).div_ceil(rate)))
    }

    /// Takes tokens out of the bucket. `from` is the time from which they could have been taken, so
    /// the bucket has lost what came after it was full and before `from`.
    pub(crate) fn take(&mut self, from: Nanos, tokens: u64) {
        if from.0 > self.full {
            (self.full, self.remainder) = (from.0, 0);
        }
        let rate = u128::from(self.limit.rate.get());
        let total = u128::from(tokens) * SECOND + u128::from(self.remainder);
        self.full = self.full.saturating_add(saturated(total / rate));
        // The remainder is below the rate, which is a `u64`.
        self.remainder = saturated(total % rate);
    }
}

fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    fn limit(rate: u64, burst: u64) -> Limit {
        Limit { rate: NonZeroU64::new(rate).expect("a rate"), burst }
    }

    /// Tests that after n packets the clock is at exactly n * bits / rate, although no packet takes
    /// a whole number of nanoseconds.
    #[test]
    fn a_rate_has_no_drift() {
        let mut clock = Clock::new(limit(7_777_777_777, 0), Nanos(0));
        for packet in 0..1_000_000_u128 {
            let exact = (packet * 12_000 * SECOND).div_ceil(7_777_777_777);
            assert_eq!(u128::from(clock.holds(12_000).0), exact);
            clock.take(Nanos(0), 12_000);
        }
    }

    #[test]
    fn a_burst_passes_at_once_and_is_refilled() {
        // One bit per nanosecond.
        let mut clock = Clock::new(limit(1_000_000_000, 300), Nanos(1000));
        for _ in 0..3 {
            assert!(clock.holds(100) <= Nanos(1000));
            clock.take(Nanos(1000), 100);
        }
        assert_eq!((clock.holds(100), clock.holds(300)), (Nanos(1100), Nanos(1300)));
        // A packet larger than the bucket waits until it is full.
        assert_eq!(clock.holds(900), Nanos(1300));
        clock.take(Nanos(5000), 900);
        assert_eq!(clock.holds(300), Nanos(5900));
    }
}
