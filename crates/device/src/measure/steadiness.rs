//! Detects whether the machine was slow while a block was measured.
//!
//! A shared processor slows down by half or more for tenths of a second, when a neighbour uses the
//! other hardware thread of its core or the host lowers its clock. Delays measured in such a period
//! describe the neighbour. A fixed workload, timed right before and right after the block, reveals
//! the slowdown independently of the block's delays, so that repeating such blocks does not bias
//! the result.

use std::time::Duration;

/// The best time of the fixed workload, and how often the campaign may still repeat a measurement
/// or wait for a fast machine.
#[derive(Debug)]
pub(super) struct Steadiness {
    /// The times that the workload took: those of the start, and one per block, sorted.
    readings: Vec<Duration>,
    /// The number of repetitions of disturbed blocks that are still allowed.
    repeats: u32,
    /// The number of times that the workload may still be run while waiting for a fast machine.
    waits: u32,
}

impl Steadiness {
    /// The number of times that the workload is run at the start, to establish its best time.
    pub(super) const AT_START: u32 = 100;
    /// The largest number of times that the workload is run while waiting before one block.
    pub(super) const WAITS: u32 = 300;

    /// Creates the state for a campaign in which `blocks` blocks are still to be measured.
    /// Repetitions and waits can at most double the duration of the campaign, approximately.
    pub(super) fn new(blocks: u32) -> Self {
        Self { readings: Vec::new(), repeats: blocks, waits: blocks.saturating_mul(60) }
    }

    /// Records a time of the workload, from which the best time follows. Times taken while waiting
    /// for a fast machine must not be recorded: a slow machine would become the reference.
    pub(super) fn keep(&mut self, reading: Duration) {
        let place = self.readings.partition_point(|kept| *kept < reading);
        self.readings.insert(place, reading);
    }

    /// Returns how much longer than its best time the workload took, as a share; zero if no time
    /// has been recorded.
    pub(super) fn slowness(&self, reading: Duration) -> f64 {
        // The best time is the first decile, not the least reading: a processor may be
        // exceptionally fast for a moment.
        let best = self.readings.get(self.readings.len() / 10);
        let best = best.map_or(0.0, Duration::as_secs_f64);
        if best > 0.0 { (reading.as_secs_f64() / best - 1.0).max(0.0) } else { 0.0 }
    }

    /// Whether a disturbed block may be measured again. If so, counts the repetition.
    pub(super) fn may_repeat(&mut self) -> bool {
        let left = self.repeats > 0;
        self.repeats = self.repeats.saturating_sub(1);
        left
    }

    /// Whether the workload may be run once more while waiting for a fast machine. If so, counts
    /// the run.
    pub(super) fn may_wait(&mut self) -> bool {
        let left = self.waits > 0;
        self.waits = self.waits.saturating_sub(1);
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_what_the_faster_readings_have_in_common() {
        let mut steadiness = Steadiness::new(10);
        let micros = Duration::from_micros;
        assert_eq!(steadiness.slowness(micros(100)), 0.0, "nothing to compare with");
        steadiness.keep(micros(50));
        (0..60).for_each(|_| steadiness.keep(micros(180)));
        (0..39).for_each(|_| steadiness.keep(micros(100)));
        assert_eq!(steadiness.slowness(micros(90)), 0.0, "one quick reading is not a rule");
        assert!((steadiness.slowness(micros(180)) - 0.8).abs() < 1e-9, "slow ones are the most");
    }

    #[test]
    fn patience_ends() {
        let mut steadiness = Steadiness::new(2);
        assert_eq!([(); 3].map(|()| steadiness.may_repeat()), [true, true, false]);
        assert_eq!((0..200).filter(|_| steadiness.may_wait()).count(), 120);
    }
}
