//! Times of single events, and what reading the clock adds to them.

use std::time::{Duration, Instant};

/// Times of a phase, in nanoseconds; those beyond four seconds count as four.
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

    /// The percentiles, with `cost` nanoseconds taken off each sample.
    pub(super) fn percentiles(&self, cost: u32) -> Percentiles {
        let mut times: Vec<u32> = self.0.iter().map(|time| time.saturating_sub(cost)).collect();
        times.sort_unstable();
        Percentiles { sorted: times }
    }
}

/// Percentiles of the times of single events, in nanoseconds. All samples are kept, so that they are exact.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Percentiles {
    sorted: Vec<u32>,
}

impl Percentiles {
    /// The least time that at least this share of the samples did not exceed. `None` where there are too few samples
    /// for the share to mean anything: fewer than one beyond it.
    pub fn at(&self, share: f64) -> Option<f64> {
        let count = self.sorted.len();
        if count == 0 || (count as f64) * (1.0 - share) < 1.0 - 1e-9 {
            return None;
        }
        let rank = (share * count as f64).ceil().max(1.0) as usize;
        self.sorted.get(rank.min(count) - 1).map(|&time| f64::from(time))
    }

    /// How many samples there are.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The longest time.
    pub fn longest(&self) -> Option<f64> {
        self.sorted.last().map(|&time| f64::from(time))
    }

    /// All samples, ascending.
    pub fn sorted(&self) -> &[u32] {
        &self.sorted
    }
}

/// What reading the clock costs, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Median time between two readings with nothing between them.
    pub cost: u32,
    /// The smallest step by which two readings differ.
    pub step: u32,
}

impl Clock {
    /// Measures it on the calling thread's core.
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

    fn of(times: impl IntoIterator<Item = u64>, cost: u32) -> Percentiles {
        let mut samples = Samples::default();
        times.into_iter().for_each(|time| samples.add(Duration::from_nanos(time)));
        samples.percentiles(cost)
    }

    #[test]
    fn percentiles_are_those_of_the_definition() {
        let percentiles = of((1..=1000).rev(), 0);
        assert_eq!(percentiles.at(0.5), Some(500.0));
        assert_eq!(percentiles.at(0.99), Some(990.0));
        assert_eq!(percentiles.at(0.999), Some(999.0));
        assert_eq!(percentiles.at(0.9999), None, "no sample lies beyond");
        assert_eq!((percentiles.count(), percentiles.longest()), (1000, Some(1000.0)));
    }

    #[test]
    fn few_samples_say_no_tail() {
        assert_eq!(of([], 0).at(0.5), None);
        assert_eq!(of([7, 8], 0).at(0.5), Some(7.0));
        assert_eq!(of([7, 8], 0).at(0.99), None);
    }

    #[test]
    fn the_cost_of_the_clock_is_taken_off_and_never_more() {
        assert_eq!(of([10, 30, 5], 20).sorted(), [0, 0, 10]);
        assert_eq!(of([u64::MAX], 0).longest(), Some(f64::from(u32::MAX)));
    }

    #[test]
    fn a_clock_has_a_cost() {
        let clock = Clock::measure();
        assert!(clock.step > 0 && clock.cost < 1_000_000, "{clock:?}");
    }
}
