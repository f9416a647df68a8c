//! Tests whether a function costs the same for every packet, which is the condition under which its
//! cost may be added to that of others.
//!
//! Adding T_i - T_0 to another level (equations 7, 9, 10) assumes that the distribution M_i is M_0
//! shifted by a constant. The shift at share p is the difference of the two percentiles. All shifts
//! together have a simultaneous confidence band, because each true distribution function lies
//! within sqrt(ln(2/a) / 2n) of that of its sample (Dvoretzky, Kiefer and Wolfowitz, with Massart's
//! constant; Doksum's band of differences, 1974). A constant that lies within the band at every
//! share is not refuted. If no constant does, the cost varies by at least half of the gap between
//! the highest lower limit and the lowest upper limit.

use serde::{Deserialize, Serialize};

use crate::campaign::Picoseconds;
use crate::profile::{Settings, Sorted};

/// The difference between the distributions of two sets of delays, and the verdict on whether it is
/// a constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    /// The difference between the medians of the two sets of delays.
    pub median: Picoseconds,
    /// The smallest difference between equal percentiles, from the 5th to the 95th.
    pub least: Picoseconds,
    /// The largest difference between equal percentiles, from the 5th to the 95th.
    pub largest: Picoseconds,
    /// The smallest variation of the difference that is consistent with the samples. It is zero if
    /// a constant difference is consistent with them.
    pub deviation: Picoseconds,
    /// The largest variation at which a function's cost still counts as constant.
    pub tolerated: Picoseconds,
    /// Half the height of the confidence band around the difference of percentiles (the median over
    /// all compared percentiles). The test cannot detect a smaller variation of the cost.
    pub resolution: Picoseconds,
    /// Whether the difference counts as constant.
    pub verdict: Verdict,
}

/// Whether the cost of a function may be added to that of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A constant cost is consistent with the samples.
    Constant,
    /// No constant cost is consistent with the samples, but the variation is within the tolerance.
    Tolerated,
    /// The cost varies from packet to packet, so it must not be added to others.
    Refused,
}

/// The number of equal steps from the percentile 0 to 100 at which two distributions of delays are
/// compared.
const POINTS: u32 = 400;

impl Shift {
    /// Tests whether the delays `measured`, with a function, differ from those of the baseline by a
    /// constant.
    pub(crate) fn between(baseline: &Sorted, measured: &Sorted, settings: &Settings) -> Self {
        let risk = (1.0 - settings.confidence.level()) / 2.0;
        let margin = |sample: &Sorted| ((2.0 / risk).ln() / (2.0 * sample.effective as f64)).sqrt();
        let (of_baseline, of_measured) = (margin(baseline), margin(measured));
        // Each of the two readings may be wrong by a tick, so the difference may be wrong by two
        // ticks of the coarser clock.
        let quantisation = 2 * baseline.tick.max(measured.tick);
        let (mut floor, mut ceiling) = (i64::MIN, i64::MAX);
        let (mut least, mut largest) = (i64::MAX, i64::MIN);
        let mut heights = Vec::new();
        for step in 0..=POINTS {
            let share = f64::from(step) / f64::from(POINTS);
            let inside = |share: f64| (share > 0.0 && share < 1.0).then_some(share);
            let low = inside(share - of_measured)
                .zip(inside(share + of_baseline))
                .map(|(below, above)| measured.at(below) - baseline.at(above) - quantisation);
            let high = inside(share + of_measured)
                .zip(inside(share - of_baseline))
                .map(|(above, below)| measured.at(above) - baseline.at(below) + quantisation);
            floor = floor.max(low.unwrap_or(i64::MIN));
            ceiling = ceiling.min(high.unwrap_or(i64::MAX));
            heights.extend(low.zip(high).map(|(low, high)| (high - low) / 2));
            if (0.05..=0.95).contains(&share) {
                let shift = measured.at(share) - baseline.at(share);
                (least, largest) = (least.min(shift), largest.max(shift));
            }
        }
        heights.sort_unstable();
        let resolution = heights.get(heights.len() / 2).copied().unwrap_or(i64::MAX);
        let deviation = floor.saturating_sub(ceiling).max(0).div_euclid(2);
        let tolerated =
            (settings.tolerance * baseline.at(0.5).unsigned_abs() as f64).round() as i64;
        let verdict = match deviation {
            0 => Verdict::Constant,
            some if some <= tolerated => Verdict::Tolerated,
            _ => Verdict::Refused,
        };
        Self {
            median: Picoseconds(measured.at(0.5) - baseline.at(0.5)),
            least: Picoseconds(least),
            largest: Picoseconds(largest),
            deviation: Picoseconds(deviation),
            tolerated: Picoseconds(tolerated),
            resolution: Picoseconds(resolution),
            verdict,
        }
    }
}
