//! Detects whether the machine was disturbed while a block was measured.
//!
//! A shared processor slows down by half or more for tenths of a second, when a neighbour uses the
//! other hardware thread of its core or the host lowers its clock frequency. Delays measured in
//! such a period describe the neighbour and not the device. A fixed workload, which is timed right
//! before and right after the block, reveals the slowdown independently of the block's delays, so
//! that repeating such blocks does not bias the result.
//!
//! The workload does not reveal a program that competes for a core only while the block is
//! measured, because the shortest of several runs of the workload is not interrupted. Two
//! observations reveal such a program. The kernel records how long threads wait for a processor,
//! and how long cores are busy. In addition, the median of the block is several times that of the
//! cell's other blocks. Repetitions of a steady device differ by far less, so that repeating such
//! blocks removes no variation of the device itself.

use std::collections::BTreeMap;
use std::time::Duration;

use super::conduct::{Contention, RunRecord};
use crate::campaign::{CellId, Machine};

/// The best time of the fixed workload, and how often the campaign may still repeat a measurement
/// or wait for a fast machine.
#[derive(Debug)]
pub(super) struct Steadiness {
    /// The times that the workload took, sorted: those of the start, and one before each run of
    /// packets.
    readings: Vec<Duration>,
    /// The number of repetitions of disturbed blocks (runs of packets) that are still allowed.
    repeats: u32,
    /// The number of times that the workload may still be run while waiting for a fast machine.
    waits: u32,
    /// The median delay of each block (run of packets) of each cell, in picoseconds, sorted.
    medians: BTreeMap<CellId, Vec<i64>>,
}

impl Steadiness {
    /// The number of times that the workload is run at the start, to establish its best time.
    pub(super) const AT_START: u32 = 100;
    /// The largest number of times that the workload is run while waiting before one block (run of
    /// packets).
    pub(super) const WAITS: u32 = 300;

    /// The largest number of repetitions of one block. If the machine stays disturbed, the first
    /// blocks must not use up the repetitions that later blocks need, or keep the device waiting.
    pub(super) const REPEATS: u32 = 4;

    /// Creates the state for a campaign in which `blocks` blocks are still to be measured. The
    /// allowed repetitions and waits at most about double the duration of the campaign.
    pub(super) fn new(blocks: u32) -> Self {
        let waits = blocks.saturating_mul(60);
        Self { readings: Vec::new(), repeats: blocks, waits, medians: BTreeMap::new() }
    }

    /// Records how long the workload took. The best time is computed from all recorded times. Times
    /// that were taken while waiting for a fast machine must not be recorded, because the slow
    /// machine would become the reference.
    pub(super) fn keep(&mut self, reading: Duration) {
        let place = self.readings.partition_point(|kept| *kept < reading);
        self.readings.insert(place, reading);
    }

    /// Returns by how much a run of the workload took longer than its best time, as a share of the
    /// best time, or zero if no time has been recorded.
    pub(super) fn slowness(&self, reading: Duration) -> f64 {
        // The best time is the first decile and not the shortest reading, because a processor may
        // be exceptionally fast for a moment.
        let best = self.readings.get(self.readings.len() / 10);
        let best = best.map_or(0.0, Duration::as_secs_f64);
        if best > 0.0 { (reading.as_secs_f64() / best - 1.0).max(0.0) } else { 0.0 }
    }

    /// Returns the median delay of a block divided by the median of the median delays of the cell's
    /// blocks that were kept so far. Returns `None` if either median is unknown, or if the divisor
    /// is not positive.
    pub(super) fn beside_others(&self, cell: CellId, median: Option<i64>) -> Option<f64> {
        let others = self.medians.get(&cell)?;
        let typical = *others.get(others.len().saturating_sub(1) / 2)?;
        (typical > 0).then_some(median? as f64 / typical as f64)
    }

    /// Records the median delay of a block (run of packets) that is kept.
    pub(super) fn keep_median(&mut self, cell: CellId, median: Option<i64>) {
        let Some(median) = median else { return };
        let kept = self.medians.entry(cell).or_default();
        kept.insert(kept.partition_point(|one| *one < median), median);
    }

    /// Returns whether a disturbed block (run of packets) that was already repeated `again` times
    /// may be measured again. If so, counts the repetition.
    pub(super) fn may_repeat(&mut self, again: u32) -> bool {
        let left = self.repeats > 0 && again < Self::REPEATS;
        self.repeats -= u32::from(left);
        left
    }

    /// Returns whether the workload may be run once more while waiting for a fast machine. If so,
    /// counts the run.
    pub(super) fn may_wait(&mut self) -> bool {
        let left = self.waits > 0;
        self.waits = self.waits.saturating_sub(1);
        left
    }
}

/// Returns for which share of a run of packets threads waited, and for which share other programs
/// ran. The shares follow from the readings before and after the run, and are `None` without
/// readings.
pub(super) fn contended(readings: Option<(Contention, Contention)>, record: &RunRecord) -> Machine {
    /// The error of two readings of the time for which two cores were busy, which the kernel counts
    /// in ticks.
    const ERROR: Duration = Duration::from_millis(40);
    let Some((before, after)) = readings else { return Machine::default() };
    let between = |of: fn(Contention) -> Duration| of(after).saturating_sub(of(before));
    let own = between(|one| one.ran);
    let others = between(|one| one.busy).saturating_sub(own).saturating_sub(ERROR);
    let share = |time: Duration| Some(time.as_secs_f64() / record.duration.as_secs_f64());
    let share = |time: Duration| share(time).filter(|share| share.is_finite());
    Machine {
        waited: share(between(|one| one.waited)),
        others: share(others),
        ..Machine::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_compared_with_the_others_of_its_cell() {
        let mut steadiness = Steadiness::new(10);
        let cell = CellId(3);
        assert_eq!(steadiness.beside_others(cell, Some(33)), None);
        for median in [33, 1200, 34] {
            steadiness.keep_median(cell, Some(median));
        }
        assert_eq!(steadiness.beside_others(cell, Some(1020)), Some(30.0));
        assert_eq!(steadiness.beside_others(CellId(4), Some(1020)), None);
        assert_eq!(steadiness.beside_others(cell, None), None);
    }

    #[test]
    fn readings_become_shares_of_the_blocks_duration() {
        let record = RunRecord {
            outcome: crate::measure::PacketTracker::new(&crate::measure::RunOrder {
                run: 1,
                warm_up: 0,
                packets: 0,
                packets_per_second: None,
            })
            .close(0),
            controls: Vec::new(),
            duration: Duration::from_millis(100),
            offered: None,
            notes: Vec::new(),
        };
        let millis = Duration::from_millis;
        let at = |waited, ran, busy| Contention {
            waited: millis(waited),
            ran: millis(ran),
            busy: millis(busy),
        };
        let readings = Some((at(5, 50, 1000), at(25, 150, 1170)));
        let machine = contended(readings, &record);
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.expect("a share") - expected).abs() < 1e-9, "{found:?}");
        };
        near(machine.waited, 0.2);
        near(machine.others, 0.3);
        assert!(machine.disturbed());
        assert_eq!(contended(None, &record), Machine::default());
    }

    #[test]
    fn a_single_fast_reading_does_not_become_the_best_time() {
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
    fn repetitions_and_waits_are_bounded() {
        let mut steadiness = Steadiness::new(2);
        assert_eq!([0, 1, 2].map(|again| steadiness.may_repeat(again)), [true, true, false]);
        let mut steadiness = Steadiness::new(100);
        assert_eq!((0..100).filter(|again| steadiness.may_repeat(*again)).count(), 4);
        let mut steadiness = Steadiness::new(2);
        assert_eq!((0..200).filter(|_| steadiness.may_wait()).count(), 120);
    }
}
