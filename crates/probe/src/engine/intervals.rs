//! Counts of packet-ins and answers in short intervals of a trial.
//!
//! The counts show when packet-ins were due by the schedule, when they were sent, and when they
//! were answered. From these counts, the `account` module derives whether the probe, the network or
//! the controller delayed packet-ins and answers. Times are nanoseconds since the start of traffic.
//! The *window* is the measured part of a trial.

use serde::{Deserialize, Serialize};

use crate::ledger::Window;

/// The length of the shortest interval, in nanoseconds.
const SHORTEST: u64 = 50_000_000;
/// The approximate number of intervals up to the end of the window from which intervals become
/// longer.
const MAX_IN_WINDOW: u64 = 1_000;
/// The least number of intervals in the window.
const LEAST_IN_WINDOW: u64 = 20;
/// The maximum number of intervals of a trial. Later events are counted in the last interval.
const MAX: usize = 2_000;

/// The counts of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Interval {
    /// The number of packets that were due in the interval.
    pub(crate) due: u64,
    /// The number of packets due in the interval that flow rules of their switch handled, so that
    /// no packet-in was sent.
    pub(crate) handled: u64,
    /// The number of packet-ins due in the interval that could not be sent because their switch had
    /// no connection.
    pub(crate) cut_off: u64,
    /// The number of packet-ins that were sent in the interval, whenever they were due.
    pub(crate) left: u64,
    /// The number of packet-ins that were sent in the interval as part of a late burst.
    pub(crate) late: u64,
    /// The largest number of packet-ins that waited in the probe: they were due, had not been sent
    /// and were not refused by their connection. The number is determined whenever a late packet-in
    /// is sent.
    pub(crate) held: u64,
    /// The number of packet-ins that were refused by their connection at the time of the last
    /// packet-in due in the interval.
    pub(crate) refused: u64,
    /// The number of packet-ins whose first answer arrived in the interval, whenever they were due.
    pub(crate) answers: u64,
    /// The number of answers in the interval for which it is known when their packet-in was sent
    /// (`timed`), and the sum of their round-trip times from that moment, in nanoseconds (`rtt`).
    pub(crate) timed: u64,
    pub(crate) rtt: u64,
    /// The number of packet-ins that were passed over in the interval (they were unanswered when a
    /// later packet-in of the same switch was answered), minus the number of passed-over packet-ins
    /// that were answered in the interval after all.
    pub(crate) passed_over: i64,
}

/// The counts of all intervals of a trial. The window begins at the start of an interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intervals {
    length: u64,
    /// The offset, in nanoseconds, that is added to a time before it is divided by the length of an
    /// interval. It makes an interval begin at the start of the window.
    shift: u64,
    entries: Vec<Interval>,
    /// The interval that was looked up last: its start, its end and its index. Most look-ups are
    /// for the same interval again, so it is cached.
    #[serde(skip)]
    last: (u64, u64, usize),
}

impl Intervals {
    pub(crate) fn new(window: Window) -> Self {
        let span = window.to.saturating_sub(window.from).max(1);
        let wanted = SHORTEST.max(window.to / MAX_IN_WINDOW);
        let count = (span / wanted).max(LEAST_IN_WINDOW);
        let length = (span / count).max(1);
        let shift = (length - window.from % length) % length;
        Self { length, shift, entries: Vec::new(), last: (0, 0, 0) }
    }

    /// Returns the counts of the interval that contains a time.
    #[inline]
    pub(crate) fn at(&mut self, at: u64) -> &mut Interval {
        let (from, to, place) = self.last;
        if (from..to).contains(&at) && place < self.entries.len() {
            return &mut self.entries[place];
        }
        self.look_up(at)
    }

    fn look_up(&mut self, at: u64) -> &mut Interval {
        let number = at.saturating_add(self.shift) / self.length;
        let place = usize::try_from(number).unwrap_or(MAX).min(MAX - 1);
        if place >= self.entries.len() {
            self.entries.resize(place + 1, Interval::default());
        }
        let from = (number * self.length).saturating_sub(self.shift);
        let to = (number + 1).saturating_mul(self.length).saturating_sub(self.shift);
        self.last = (from, to, place);
        &mut self.entries[place]
    }

    /// Returns the length of an interval in nanoseconds.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn entries(&self) -> &[Interval] {
        &self.entries
    }

    /// Returns the index of the first interval that begins at the time `at` or later.
    pub(crate) fn place(&self, at: u64) -> usize {
        let number = at.saturating_add(self.shift).div_ceil(self.length);
        usize::try_from(number).unwrap_or(MAX).min(MAX)
    }

    /// Returns the time at which the interval with index `place` ends.
    #[cfg(test)]
    fn end(&self, place: usize) -> u64 {
        ((place as u64 + 1) * self.length).saturating_sub(self.shift)
    }

    /// Adds the counts of another engine thread of the same trial to those of this one, interval by
    /// interval.
    pub(crate) fn add(&mut self, other: &Self) {
        let count = self.entries.len().max(other.entries.len());
        self.entries.resize(count, Interval::default());
        for (sum, one) in self.entries.iter_mut().zip(&other.entries) {
            sum.due += one.due;
            sum.handled += one.handled;
            sum.cut_off += one.cut_off;
            sum.left += one.left;
            sum.late += one.late;
            sum.held += one.held;
            sum.refused += one.refused;
            sum.answers += one.answers;
            sum.timed += one.timed;
            sum.rtt += one.rtt;
            sum.passed_over += one.passed_over;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_window_is_made_of_whole_intervals() {
        for (from, to) in [(2_000, 12_000), (123, 10_123), (0, 77), (30_000, 30_500)] {
            let window = Window { from: from * MS, to: to * MS };
            let intervals = Intervals::new(window);
            let (first, end) = (intervals.place(window.from), intervals.place(window.to));
            assert!(end - first >= 20, "{first} to {end}");
            if first > 0 {
                assert_eq!(intervals.end(first - 1), window.from);
            }
            let rest = window.to.abs_diff(intervals.end(end - 1));
            assert!(rest < 1_000, "{rest} ns of {window:?}");
        }
    }

    #[test]
    fn a_moment_falls_into_its_interval_in_any_order() {
        let mut intervals = Intervals::new(Window { from: 120 * MS, to: 1_120 * MS });
        for at in [0, 130 * MS, 119 * MS, 120 * MS, 169 * MS, 170 * MS, 119 * MS] {
            intervals.at(at).due += 1;
        }
        let due: Vec<u64> = intervals.entries().iter().map(|interval| interval.due).collect();
        assert_eq!(due, [1, 0, 2, 3, 1]);
        intervals.at(u64::MAX).left += 1;
        assert_eq!(intervals.entries().len(), MAX);
        let mut sum = Intervals::new(Window { from: 120 * MS, to: 1_120 * MS });
        sum.add(&intervals);
        sum.add(&intervals);
        assert_eq!((sum.entries()[3].due, sum.entries()[MAX - 1].left), (6, 2));
    }
}
