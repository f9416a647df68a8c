//! Was the machine itself as fast as it can be while a block was measured?
//!
//! A processor that others share becomes slower by half and more, for tenths of a second: a neighbour works on the other
//! thread of its core, or the host lowers its clock. Delays that are taken meanwhile tell of the neighbour. Fixed work,
//! timed right before a block and right behind it, shows that without a look at the block's delays, so that to measure
//! such blocks again favours no result.

use std::time::Duration;

/// What fixed work takes at best, and how much patience is left for a machine that is slower than that.
#[derive(Debug)]
pub(super) struct Steadiness {
    /// One reading for each block and those of the start, in order of size.
    readings: Vec<Duration>,
    /// Blocks that may still be measured again.
    repeats: u32,
    /// Readings that may still be taken only to wait.
    waits: u32,
}

impl Steadiness {
    /// Readings at the start, from which the best is known.
    pub(super) const AT_START: u32 = 100;
    /// Readings before one block, at most, to wait for the machine.
    pub(super) const WAITS: u32 = 300;

    /// For a campaign with so many blocks still to come. It takes no more than about twice as long as without.
    pub(super) fn new(blocks: u32) -> Self {
        Self { readings: Vec::new(), repeats: blocks, waits: blocks.saturating_mul(60) }
    }

    /// Keeps a reading. Readings that only wait are not kept: a slow machine would make itself the rule.
    pub(super) fn keep(&mut self, reading: Duration) {
        let place = self.readings.partition_point(|kept| *kept < reading);
        self.readings.insert(place, reading);
    }

    /// By how much longer than at best the work took, as a share; zero without a reading to compare with.
    pub(super) fn slowness(&self, reading: Duration) -> f64 {
        // Not the least: a processor may be faster for a moment than it is ever again.
        let best = self.readings.get(self.readings.len() / 10);
        let best = best.map_or(0.0, Duration::as_secs_f64);
        if best > 0.0 { (reading.as_secs_f64() / best - 1.0).max(0.0) } else { 0.0 }
    }

    /// Whether a block may be measured again. Counts it.
    pub(super) fn again(&mut self) -> bool {
        let left = self.repeats > 0;
        self.repeats = self.repeats.saturating_sub(1);
        left
    }

    /// Whether the machine may be waited for by one more reading. Counts it.
    pub(super) fn wait(&mut self) -> bool {
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
        assert_eq!(steadiness.slowness(micros(90)), 0.0, "one quick reading is no rule");
        assert!((steadiness.slowness(micros(180)) - 0.8).abs() < 1e-9, "slow ones are the most");
    }

    #[test]
    fn patience_ends() {
        let mut steadiness = Steadiness::new(2);
        assert_eq!([(); 3].map(|()| steadiness.again()), [true, true, false]);
        assert_eq!((0..200).filter(|_| steadiness.wait()).count(), 120);
    }
}
