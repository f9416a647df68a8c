//! Samples of the times of single events, and the cost of reading the clock, which is part of each
//! sample.

use std::time::{Duration, Instant};

use statistics::Ordered;

/// The times of the operations in one phase of a measurement, in nanoseconds. Times above four
/// seconds count as four seconds.
#[derive(Debug, Default)]
pub(super) struct Samples(Vec<u32>);

impl Samples {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    #[inline(always)]
    pub(super) fn add(&mut self, time: Duration) {
        self.0.push(u32::try_from(time.as_nanos()).unwrap_or(u32::MAX));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns the times in ascending order, each reduced by `cost` nanoseconds.
    pub(super) fn ordered(&self, cost: u32) -> Ordered<u32> {
        Ordered::of(self.0.iter().map(|time| time.saturating_sub(cost)).collect())
    }
}

/// The cost of reading the clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The median time between two consecutive readings.
    pub cost: u32,
    /// The smallest difference between two readings, in nanoseconds.
    pub step: u32,
}

impl Clock {
    /// Measures the cost of reading the clock on the calling thread's core.
    pub fn measure() -> Self {
        let mut times: Vec<u32> = (0..20_001)
            .map(|_| {
                let before = Instant::now();
                u32::try_from(before.elapsed().as_nanos()).unwrap_or(u32::MAX)
            })
            .collect();
        times.sort_unstable();
        let cost = times[times.len() / 2];
        let steps = times.windows(2).map(|pair| pair[1] - pair[0]).chain([times[0]]);
        let step = steps.filter(|&step| step > 0).min().unwrap_or(0);
        Self { cost, step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: impl IntoIterator<Item = u64>, cost: u32) -> Ordered<u32> {
        let mut samples = Samples::default();
        times.into_iter().for_each(|time| samples.add(Duration::from_nanos(time)));
        samples.ordered(cost)
    }

    #[test]
    fn the_cost_of_the_clock_is_subtracted_down_to_zero() {
        assert_eq!(of([10, 30, 5], 20).samples(), [0, 0, 10]);
        assert_eq!(of([u64::MAX], 0).last(), Some(u32::MAX));
    }

    #[test]
    fn a_clock_has_a_cost() {
        let clock = Clock::measure();
        assert!(clock.step > 0 && clock.cost < 1_000_000, "{clock:?}");
    }
}
