//! Imports measurements of other tools: delays as CSV, histograms, pairs of captures.
//!
//! Every format is converted to [`Sample`]s and [`Counts`]. Irregularities (packets that were lost,
//! reordered, duplicated or never sent, and clock jumps) are counted, and not averaged away.

mod captures;
mod text;

use crate::campaign::{Counts, Picoseconds, Sample};

pub use captures::{Captured, Identity, match_captures};
pub use text::{TextError, delays, histogram};

/// The content of one imported file, which has the delays of one set of functions under one setting
/// (a cell).
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The delay of each packet. For text, they are in the order of the lines, and for captures, in
    /// the order of the capture after the device.
    pub samples: Vec<Sample>,
    /// The packet counts of the file, such as lost packets.
    pub counts: Counts,
    /// Whether the file has packet numbers, so that losses, duplicates and reordering are visible.
    pub numbered: bool,
    /// The time from the first packet to the last in nanoseconds, or 0 if unknown.
    pub duration_ns: u64,
    /// Remarks on the file for the reader of the results, as sentences.
    pub remarks: Vec<String>,
}

/// The number of delays in each of two adjacent groups that are compared to find clock steps.
const WINDOW: usize = 64;

/// Returns how often the clock appears to have been set between packets. The delays are divided
/// into consecutive groups of [`WINDOW`]. A step is counted between two groups, or across one group
/// in between, if the ranges of their delays are disjoint and their distance is more than ten times
/// the wider range. A queue fills and empties within a group, so it does not look like a step.
fn clock_steps(samples: &[Sample]) -> u64 {
    let windows = samples.chunks_exact(WINDOW).filter_map(|window| {
        let delays = || window.iter().map(|sample| sample.delay.0);
        Some((delays().min()?, delays().max()?))
    });
    let windows: Vec<(i64, i64)> = windows.collect();
    let apart = |pair: &&[(i64, i64)]| {
        let [(low_a, high_a), (low_b, high_b)] = pair else { return false };
        let gap = low_b.saturating_sub(*high_a).max(low_a.saturating_sub(*high_b));
        let wide = high_a.saturating_sub(*low_a).max(high_b.saturating_sub(*low_b));
        gap > wide.max(1).saturating_mul(10)
    };
    // A step inside a group widens the range of that group, but the groups on both sides of it are
    // still far apart.
    let adjacent = windows.windows(2).filter(apart).count();
    let skipping = windows.windows(3).filter(|three| {
        let [a, b, c] = three else { return false };
        !apart(&&[*a, *b][..]) && !apart(&&[*b, *c][..]) && apart(&&[*a, *c][..])
    });
    (adjacent + skipping.count()) as u64
}

fn of_samples(
    samples: Vec<Sample>,
    mut counts: Counts,
    duration_ns: u64,
    mut remarks: Vec<String>,
) -> Imported {
    counts.clock_steps += clock_steps(&samples);
    if counts.clock_steps > 0 {
        remarks.push("a clock jumped: delays before and after are not of one scale".to_owned());
    }
    let negative = samples.iter().filter(|sample| sample.delay < Picoseconds(0)).count();
    if negative > 0 {
        remarks.push(format!("{negative} delays are negative: two clocks disagree, or the files are the wrong way round"));
    }
    Imported { samples, counts, numbered: true, duration_ns, remarks }
}

#[cfg(test)]
mod tests;
