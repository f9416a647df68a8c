//! Measurements of others: delays as CSV, histograms, pairs of captures.
//!
//! Everything is read into [`Sample`]s and [`Counts`]. What went wrong on the way is counted, not averaged away: packets
//! that were lost, came out of order or twice, that belong to none that was sent, and times at which a clock jumped.

mod captures;
mod text;

use crate::campaign::{Counts, Picoseconds, Sample};

pub use captures::{Captured, Identity, match_captures};
pub use text::{TextError, delays, histogram};

/// What a file says of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// (packet, delay) pairs, in order of arrival.
    pub samples: Vec<Sample>,
    /// What was sent and received.
    pub counts: Counts,
    /// Whether packets can be told apart, so that losses, duplicates and order are known.
    pub numbered: bool,
    /// Nanoseconds from the first packet to the last, if times are known.
    pub duration_ns: u64,
    /// What a reader must know: sentences.
    pub remarks: Vec<String>,
}

/// Samples that are compared with those behind them.
const WINDOW: usize = 64;

/// Finds clock steps: all of a window of delays is on one side of all of the next one, ten times farther than either is
/// wide. Queues fill and empty within windows; a clock that is set does not.
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
    // A step inside a window makes that window wide; its neighbours on both sides are apart all the same.
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
