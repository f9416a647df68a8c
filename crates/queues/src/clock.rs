//! A token bucket that limits a rate, in exact time.

use crate::config::Limit;
use crate::units::Nanos;

/// One second in nanoseconds.
const SECOND: u128 = 1_000_000_000;

/// A token bucket. Its state is the instant at which it is full, so that it needs no updates while
/// time passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    limit: Limit,
    /// The instant at which the bucket is full: `full` whole nanoseconds, and `remainder` in units
    /// of one nanosecond divided by the rate. The remainder is below the rate.
    full: u64,
    remainder: u64,
}

impl Clock {
    /// Creates a bucket that is full at the time `full`.
    pub(crate) fn new(limit: Limit, full: Nanos) -> Self {
        Self { limit, full: full.0, remainder: 0 }
    }

    /// Returns the first whole nanosecond at which the bucket holds `tokens`. If the capacity of
    /// the bucket is smaller than `tokens`, returns the time at which the bucket is full.
    pub(crate) fn holds(&self, tokens: u64) -> Nanos {
        let spare = u128::from(self.limit.burst.saturating_sub(tokens)) * SECOND;
        Nanos(saturated(self.exactly_full().saturating_sub(spare).div_ceil(self.rate())))
    }

    /// Takes the tokens of a packet out of the bucket. `from` is the earliest time at which the
    /// packet could have taken them. Tokens for which a full bucket had no room before `from` are
    /// lost.
    pub(crate) fn take(&mut self, from: Nanos, tokens: u64) {
        if from.0 > self.full {
            (self.full, self.remainder) = (from.0, 0);
        }
        let total = u128::from(tokens) * SECOND + u128::from(self.remainder);
        self.full = self.full.saturating_add(saturated(total / self.rate()));
        // The remainder is below the rate, which is a `u64`.
        self.remainder = saturated(total % self.rate());
    }

    /// Puts back the tokens that were taken last.
    pub(crate) fn put_back(&mut self, tokens: u64) {
        self.set_full(self.exactly_full().saturating_sub(u128::from(tokens) * SECOND));
    }

    /// Returns a bucket with the rate and capacity of `limit`. It starts with the tokens that this
    /// bucket holds at `from`, up to the new capacity. If this bucket is in debt, the new one
    /// starts with the same debt and pays it at the new rate.
    pub(crate) fn changed(&self, limit: Limit, from: Nanos) -> Self {
        // Tokens are counted in units of one token divided by a second in nanoseconds, in which a
        // nanosecond adds exactly the rate.
        let missing = self.exactly_full().saturating_sub(u128::from(from.0) * self.rate());
        let capacity = |limit: Limit| u128::from(limit.burst) * SECOND;
        // The new bucket lacks its capacity minus the tokens, which are the old capacity minus what
        // the old one lacks.
        let lacks = (capacity(limit) + missing).saturating_sub(capacity(self.limit));
        let mut changed = Self::new(limit, from);
        changed.set_full(changed.exactly_full().saturating_add(lacks));
        changed
    }

    fn rate(&self) -> u128 {
        self.limit.rate.get().into()
    }

    /// Returns the instant at which the bucket is full, in nanoseconds divided by the rate.
    fn exactly_full(&self) -> u128 {
        u128::from(self.full) * self.rate() + u128::from(self.remainder)
    }

    fn set_full(&mut self, full: u128) {
        self.full = saturated(full / self.rate());
        // The remainder is below the rate, which is a `u64`.
        self.remainder = saturated(full % self.rate());
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

    #[test]
    fn a_change_keeps_the_tokens_and_the_debt() {
        // One bit per nanosecond, and 200 of 300 bits are left at 1000.
        let mut clock = Clock::new(limit(1_000_000_000, 300), Nanos(1000));
        clock.take(Nanos(1000), 100);
        let slower = |burst| clock.changed(limit(500_000_000, burst), Nanos(1000));
        // 300 bits lack 100, which take 200 ns at half the rate. A smaller bucket is full.
        assert_eq!(slower(300).holds(300), Nanos(1200));
        assert_eq!(slower(200).holds(200), Nanos(1000));
        assert_eq!(slower(50).holds(50), Nanos(1000));
        // A larger one does not start with more tokens.
        assert_eq!((slower(400).holds(200), slower(400).holds(400)), (Nanos(1000), Nanos(1400)));
        // 600 bits more make a debt of 400, which is paid at the new rate.
        clock.take(Nanos(1000), 600);
        assert_eq!(clock.changed(limit(500_000_000, 0), Nanos(1000)).holds(0), Nanos(1800));
        clock.put_back(600);
        assert_eq!(clock.holds(300), Nanos(1100));
    }

    /// Tests that a bucket is unchanged after tokens are taken and put back, at a rate that does
    /// not divide a second.
    #[test]
    fn what_is_put_back_was_not_taken() {
        let mut clock = Clock::new(limit(7_777_777_777, 0), Nanos(0));
        clock.take(Nanos(0), 12_000);
        let before = (clock.full, clock.remainder);
        for tokens in [1, 999, 12_000, 1_000_003] {
            clock.take(Nanos(0), tokens);
            clock.put_back(tokens);
            assert_eq!((clock.full, clock.remainder), before, "{tokens}");
        }
    }
}
