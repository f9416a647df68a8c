//! The course of a trial: the numbers of packet-ins and answers in each short interval of it.
//!
//! The *window* is the part of a trial that is measured, between its warm-up and its end. A
//! packet-in is *due* at the moment at which the schedule plans to send it, and is *sent* when the
//! probe hands it to a connection. If the probe was absent, the packet-ins that became due in the
//! meantime are sent together, as a *late burst*. A packet-in is *passed over* if it was not
//! answered, but a later one of the same switch was.

use std::ops::Range;
use std::sync::LazyLock;

use statistics::{Confidence, mean, standard_deviation, student_t};

use super::{Edges, Observed};
use crate::engine::intervals::{Interval, Intervals};
use crate::kernel::Spell;
use crate::ledger::Window;

/// The numbers of blocks into which the window is divided in order to test whether a backlog grew.
/// A steady growth is similar in all blocks, whereas a fluctuation is not.
pub(super) const BLOCKS: [usize; 3] = [20, 10, 5];
/// The one-sided confidence with which a bound is correct for all numbers of [`BLOCKS`] at once.
/// Each single bound has a higher confidence (Bonferroni correction).
const CONFIDENCE: f64 = 0.995;

/// The numbers of packet-ins and answers in the measured part of a trial (the window), and in each
/// of the short intervals into which the trial is divided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    /// The index of the first interval of the window (`first`), and the index after its last
    /// interval (`end`).
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// The length of an interval in seconds.
    pub(crate) length: f64,
    /// The number of packet-ins due in the window. It does not include packets that a flow rule of
    /// the switch forwards or drops, because they cause no packet-in.
    pub(crate) due: u64,
    /// The number of packet-ins that became due in the window while their switch had no connection.
    pub(crate) cut_off: u64,
    /// The number of packet-ins, due at any time, whose first answer arrived in the window.
    pub(crate) answers: u64,
    /// The number of packet-ins that were passed over: they were not answered, but a later
    /// packet-in of the same switch was answered in the window. `passed_over` counts all intervals
    /// of the window. `passed_over_undisturbed` counts only the intervals in which the probe cannot
    /// be the reason, since no late burst lengthens the controller's queue and `is_hidden` is
    /// false.
    pub(crate) passed_over: u64,
    pub(crate) passed_over_undisturbed: u64,
    /// The number of packet-ins in late bursts, which were sent together after an absence of the
    /// probe, as far as they may have lengthened the controller's queue during the window.
    pub(crate) late: u64,
    /// The number of packet-ins due in the undisturbed intervals of the window: those in which no
    /// late burst lengthens the controller's queue and `is_hidden` is false.
    pub(crate) due_undisturbed: u64,
    /// The largest number of due packet-ins that waited in the probe at one moment. Only moments
    /// after the last one at which the controller's queue was certainly empty are considered, since
    /// no packet-in was held, refused or outstanding then. The last moment is the end of the
    /// window.
    pub(crate) held_most: u64,
    /// The number of packet-ins that were due and had not been sent, at the start and at the end of
    /// the window. `refused` counts those that their connection did not accept, and `held` counts
    /// the others, which waited in the probe.
    pub(crate) held: Edges,
    pub(crate) refused: Edges,
    /// The number of packet-ins that had been sent and were neither answered nor passed over, at
    /// the start and at the end of the window.
    pub(crate) outstanding: Edges,
    /// The number of packet-ins that had been sent and were neither answered nor passed over, at
    /// the end of each interval of the trial.
    pub(crate) outstanding_at: Vec<f64>,
    /// A lower bound on the growth of `outstanding` over the window, which excludes growth that
    /// fluctuation may explain. The bound is negative if the number fell or fluctuated more than it
    /// grew, and 0 if the window has too few intervals for a bound.
    pub(crate) growth_low: f64,
    /// The counts of each interval of the trial.
    pub(crate) intervals: Vec<Interval>,
    /// Whether TCP receive windows of the probe were closed, or may have been closed, in each
    /// interval of the trial. The controller then may have answers that it cannot send.
    pub(crate) is_hidden: Vec<bool>,
    pub(crate) hidden: Hidden,
    pub(crate) undisturbed: Undisturbed,
}

/// The number of packet-ins that may only appear to be unanswered. The controller may have answered
/// them and been unable to send the answers, because TCP receive windows of the probe were closed
/// or may have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// The growth of the number of outstanding packet-ins in the intervals in which receive windows
    /// of the probe may have been closed (`growth`), and in those in which they were certainly
    /// closed (`sure_growth`).
    pub(crate) growth: u64,
    pub(crate) sure_growth: u64,
    pub(crate) passed_over: u64,
}

impl Hidden {
    pub(crate) fn all(self) -> u64 {
        self.growth + self.passed_over
    }
}

/// The answers that no delay of the probe can have affected: those in the intervals of the window
/// in which no late burst lengthens the controller's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Undisturbed {
    pub(crate) answers: u64,
    /// The mean round-trip time of these answers in nanoseconds, measured from the moment at which
    /// the packet-in was sent.
    pub(crate) rtt_mean: Option<f64>,
}

impl Undisturbed {
    /// Computes the answers that no delay of the probe can have affected from the records of the
    /// engine threads.
    pub(crate) fn of(observed: &Observed, window: Window) -> Self {
        Course::of(observed, window, &[]).undisturbed
    }

    fn sum<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Self {
        let (mut answers, mut timed, mut rtt) = (0, 0, 0);
        for interval in intervals {
            answers += interval.answers;
            timed += interval.timed;
            rtt += interval.rtt;
        }
        Self { answers, rtt_mean: (timed > 0).then(|| rtt as f64 / timed as f64) }
    }
}

impl Course {
    /// Computes the course of a trial from the records of the engine threads.
    pub(super) fn of(observed: &Observed, window: Window, spells: &[Spell]) -> Self {
        let intervals = &observed.intervals;
        let entries = intervals.entries();
        let first = intervals.place(window.from).min(entries.len());
        let end = intervals.place(window.to).clamp(first, entries.len());
        let series = series(entries);
        let at_edge = |values: &[u64], place: usize| match place.checked_sub(1) {
            Some(before) => values.get(before).copied().unwrap_or(0),
            None => 0,
        };
        let edges =
            |values: &[u64]| Edges { start: at_edge(values, first), end: at_edge(values, end) };
        let mut disturbed = disturbed(entries, &series.outstanding);
        let is_hidden = within(intervals, spells.iter());
        let is_closed = within(intervals, spells.iter().filter(|spell| spell.is_closed));
        for (disturbed, hidden) in disturbed.iter_mut().zip(&is_hidden) {
            *disturbed |= hidden;
        }
        let hidden = Hidden {
            growth: growth_in(&series.outstanding, &is_hidden, first..end),
            sure_growth: growth_in(&series.outstanding, &is_closed, first..end),
            passed_over: {
                let those = (first..end).filter(|place| is_hidden.get(*place) == Some(&true));
                let net: i64 = those.map(|place| entries[place].passed_over).sum();
                u64::try_from(net).unwrap_or(0)
            },
        };
        let inside = || entries.iter().zip(&disturbed).take(end).skip(first);
        let sum = |of: fn(&Interval) -> u64| inside().map(|(one, _)| of(one)).sum::<u64>();
        let passed = |only: bool| {
            let those = inside().filter(|(_, disturbed)| !only || !**disturbed);
            let net: i64 = those.map(|(one, _)| one.passed_over).sum();
            u64::try_from(net).unwrap_or(0)
        };
        let undisturbed = || inside().filter(|(_, disturbed)| !**disturbed).map(|(one, _)| one);
        // A burst before the window may have filled the queue that exists when the window begins.
        let from = (0..first).rev().take_while(|place| disturbed[*place]).last().unwrap_or(first);
        let passed_over = passed(false);
        let outstanding: Vec<f64> = series.outstanding.iter().map(|one| *one as f64).collect();
        let window_of = |values: &[f64]| {
            let before = first.checked_sub(1).and_then(|place| values.get(place)).copied();
            let inside = values.iter().take(end).skip(first).copied();
            std::iter::once(before.unwrap_or(0.0)).chain(inside).collect::<Vec<_>>()
        };
        Self {
            first,
            end,
            length: intervals.length() as f64 / 1e9,
            due: sum(|one| one.due - one.handled),
            cut_off: sum(|one| one.cut_off),
            answers: sum(|one| one.answers),
            passed_over,
            passed_over_undisturbed: passed(true).min(passed_over),
            late: entries.iter().take(end).skip(from).map(|one| one.late).sum(),
            due_undisturbed: undisturbed().map(|one| one.due - one.handled).sum(),
            undisturbed: Undisturbed::sum(undisturbed()),
            held_most: held_most(entries, &series, end),
            held: edges(&series.held),
            refused: edges(&series.refused),
            outstanding: edges(&series.outstanding),
            growth_low: growth_low(&window_of(&outstanding)),
            outstanding_at: outstanding,
            intervals: entries.to_vec(),
            is_hidden,
            hidden,
        }
    }

    /// Returns the growth over the window of the number of packet-ins that connections did not
    /// accept. It is negative if the number fell.
    pub(crate) fn refused_growth(&self) -> f64 {
        self.refused.end as f64 - self.refused.start as f64
    }

    /// Returns the number of packet-ins due in the window minus the number of answers in it, or 0
    /// if the difference is negative.
    pub(crate) fn missing(&self) -> u64 {
        self.due.saturating_sub(self.answers)
    }

    /// Returns the backlog at the start and at the end of the window. It consists of the
    /// outstanding packet-ins, which were sent and were neither answered nor passed over, and of
    /// those that their connections refused.
    pub(crate) fn backlog(&self) -> Edges {
        Edges {
            start: self.outstanding.start + self.refused.start,
            end: self.outstanding.end + self.refused.end,
        }
    }
}

/// The numbers of outstanding, held and refused packet-ins at the end of each interval. [`Course`]
/// defines these states.
struct Series {
    outstanding: Vec<u64>,
    held: Vec<u64>,
    refused: Vec<u64>,
}

fn series(entries: &[Interval]) -> Series {
    let count = entries.len();
    let mut series = Series {
        outstanding: Vec::with_capacity(count),
        held: Vec::with_capacity(count),
        refused: Vec::with_capacity(count),
    };
    let (mut outstanding, mut pending, mut refused) = (0i64, 0i64, 0);
    for one in entries {
        outstanding += one.left as i64 - one.answers as i64 - one.passed_over;
        pending += one.due as i64 - one.handled as i64 - one.cut_off as i64 - one.left as i64;
        if one.due > 0 {
            refused = one.refused;
        }
        let pending = u64::try_from(pending).unwrap_or(0);
        refused = refused.min(pending);
        series.outstanding.push(u64::try_from(outstanding).unwrap_or(0));
        series.held.push(pending - refused);
        series.refused.push(refused);
    }
    series
}

/// Returns for each interval whether a late burst lengthens the controller's queue in it. The
/// effect of a burst ends when the number of outstanding packet-ins has returned to its value
/// before the burst.
fn disturbed(entries: &[Interval], outstanding: &[u64]) -> Vec<bool> {
    let mut disturbed = vec![false; entries.len()];
    let mut base = None;
    for (place, one) in entries.iter().enumerate() {
        if one.late > 0 && base.is_none() {
            // No packet-in left while the probe was absent, so the number before the absence is the
            // one to return to.
            let still = entries.iter().take(place).rev().take_while(|before| before.left == 0);
            let before = place.checked_sub(still.count() + 1);
            base = Some(before.and_then(|place| outstanding.get(place)).copied().unwrap_or(0));
        }
        let Some(level) = base else { continue };
        disturbed[place] = true;
        if one.late == 0 && outstanding.get(place).is_some_and(|now| *now <= level) {
            base = None;
        }
    }
    disturbed
}

/// Returns for each interval whether it overlaps one of the periods in `spells`.
fn within<'a>(intervals: &Intervals, spells: impl Iterator<Item = &'a Spell>) -> Vec<bool> {
    let mut within = vec![false; intervals.entries().len()];
    for spell in spells {
        // The first interval that begins after a moment follows the interval that contains the
        // moment.
        let first = intervals.place(spell.from + 1).saturating_sub(1);
        for place in within.iter_mut().take(intervals.place(spell.to)).skip(first) {
            *place = true;
        }
    }
    within
}

/// Returns the growth of `values` over those intervals of `range` for which `chosen` is true, or 0
/// if they fell.
fn growth_in(values: &[u64], chosen: &[bool], range: Range<usize>) -> u64 {
    let value = |end: usize| end.checked_sub(1).and_then(|place| values.get(place)).copied();
    let grown =
        |place: usize| value(place + 1).unwrap_or(0) as i64 - value(place).unwrap_or(0) as i64;
    let those = range.filter(|place| chosen.get(*place) == Some(&true));
    u64::try_from(those.map(grown).sum::<i64>()).unwrap_or(0)
}

/// Returns the largest number of packet-ins that waited in the probe at one moment (see
/// [`Course::held_most`]). `end` is the index of the first interval after the window.
fn held_most(entries: &[Interval], series: &Series, end: usize) -> u64 {
    let some = |place: &usize| {
        let at = |values: &[u64]| values.get(*place).copied().unwrap_or(0);
        at(&series.outstanding) + at(&series.held) + at(&series.refused) > 0
    };
    let from = (0..end).rev().skip(1).take_while(some).last().unwrap_or(end.saturating_sub(1));
    let held = entries.iter().zip(&series.held).take(end).skip(from);
    held.map(|(one, at_end)| one.held.max(*at_end)).max().unwrap_or(0)
}

/// Returns a lower bound on the growth from the first value to the last, or 0 if there are too few
/// values. The values are divided into blocks, and a lower bound on the mean growth of a block is
/// multiplied by the number of blocks. This is done for each number in [`BLOCKS`], and the largest
/// of these bounds is returned.
fn growth_low(values: &[f64]) -> f64 {
    let bounds = BLOCKS.iter().filter_map(|blocks| {
        let steps = values.len().checked_sub(1)?;
        let growth: Vec<f64> = (0..*blocks)
            .map(|block| values[(block + 1) * steps / blocks] - values[block * steps / blocks])
            .collect();
        (steps >= *blocks).then(|| lower(&growth).map(|low| low * *blocks as f64)).flatten()
    });
    bounds.reduce(f64::max).unwrap_or(0.0)
}

/// Returns a lower confidence bound on the mean of the distribution from which `values` are drawn,
/// or `None` if there are too few values.
pub(super) fn lower(values: &[f64]) -> Option<f64> {
    Some(mean(values)? - margin(values)?)
}

/// Returns an upper confidence bound on the mean of the distribution from which `values` are drawn,
/// or `None` if there are too few values.
pub(super) fn upper(values: &[f64]) -> Option<f64> {
    Some(mean(values)? + margin(values)?)
}

fn margin(values: &[f64]) -> Option<f64> {
    let deviation = standard_deviation(values)?;
    let freedom = values.len().checked_sub(1)?;
    let t = QUANTILES.get(freedom).copied().unwrap_or_else(|| quantile(freedom));
    Some(t * deviation / (values.len() as f64).sqrt())
}

/// The quantiles of Student's t distribution, indexed by the degrees of freedom, up to the largest
/// number of blocks. They are computed once, because each takes long.
static QUANTILES: LazyLock<Vec<f64>> = LazyLock::new(|| (0..BLOCKS[0]).map(quantile).collect());

fn quantile(freedom: usize) -> f64 {
    let each = 2.0 * (1.0 - CONFIDENCE) / BLOCKS.len() as f64;
    let confidence = Confidence::new(1.0 - each).unwrap_or(Confidence::P99);
    student_t(confidence, freedom as f64)
}
