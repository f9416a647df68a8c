//! Summaries of the delays of a cell: levels (statistics such as the median) with their confidence
//! intervals, and tails of the distribution.
//!
//! The interval of a percentile lies between two order statistics, so it holds for any
//! distribution. It is widened by the tick of the clock on both sides, because a reading of d ticks
//! may be any delay between d - 1 and d + 1. Packets of one block resemble each other more than
//! packets of different blocks. Intervals therefore use the number of *effective* samples: the
//! number of independent samples that would let the blocks differ as much as they do (the design
//! effect of a cluster sample; Kish, Survey Sampling, 1965).

use serde::{Deserialize, Serialize};
use statistics::{Confidence, Ordered, Ranks, standard_deviation, student_t};

use crate::campaign::{Campaign, CellId, Counts, Picoseconds};
use crate::level::Level;

/// A summary of the delays of a cell (a set of functions under one setting).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The number of packets whose delay is known, or 0 for published figures without samples.
    pub samples: u64,
    /// The number of independent packets that would determine the levels as precisely as these
    /// packets do. It is smaller than `samples` if packets of one block resemble each other.
    pub effective_samples: u64,
    /// The number of blocks (runs of packets) from which the delays come.
    pub blocks: u32,
    /// The packet counts of the cell, such as the number of lost packets.
    pub counts: Counts,
    /// The estimated statistics of the delays, such as the median, with their confidence intervals.
    pub levels: Vec<Estimate>,
    /// The upper tail of the delays. Each point consists of a delay and the largest share of
    /// packets that exceeds it. Shares are in descending order.
    pub tail: Vec<TailPoint>,
    /// The lower tail of the delays. Each point consists of a delay and the largest share of
    /// packets that is below it. Shares are in descending order.
    pub head: Vec<TailPoint>,
    /// The largest share of packets that may exceed the largest observed delay, at the confidence
    /// of the model, or `None` without samples.
    pub beyond_maximum: Option<f64>,
}

/// A statistic of the delays, such as the median, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The statistic that is estimated, such as the median.
    pub level: Level,
    /// The value of the statistic in the sample.
    pub value: Picoseconds,
    /// The lower end of the confidence interval, widened by the tick of the clock. It is `None` for
    /// a minimum, because a shorter delay may occur, and for other statistics if there are too few
    /// samples.
    pub low: Option<Picoseconds>,
    /// The upper end of the confidence interval, widened by the tick of the clock. It is `None` for
    /// a maximum, because a longer delay may occur, and for other statistics if there are too few
    /// samples.
    pub high: Option<Picoseconds>,
}

/// A point in a tail of the distribution of delays: a delay and the share of packets beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TailPoint {
    /// The largest share of packets whose delay lies beyond this one.
    pub beyond: f64,
    /// The delay: the outer end of the confidence interval of the percentile, widened by the tick
    /// of the clock.
    pub delay: Picoseconds,
}

/// The settings with which delays are summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The statistics to estimate, such as the median.
    pub levels: Vec<Level>,
    /// The confidence of each single interval.
    pub confidence: Confidence,
    /// The largest variation of a function's cost from packet to packet at which the cost still
    /// counts as constant, as a share of the baseline's median delay.
    pub tolerance: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { levels: Level::usual(), confidence: Confidence::P99, tolerance: 0.01 }
    }
}

/// The largest delay in picoseconds: ten days. Longer delays are reduced to it, so that differences
/// and sums of a few delays do not overflow.
const LONGEST: i64 = 864_000_000_000_000_000;

/// The sorted delays of a cell (a set of functions under one setting), and the number of effective
/// samples among them.
#[derive(Debug, Clone)]
pub(crate) struct Sorted {
    pub(crate) delays: Ordered<i64>,
    pub(crate) effective: u64,
    pub(crate) tick: i64,
    block_means: Vec<f64>,
}

impl Sorted {
    /// Returns the sorted delays of a cell, or `None` if it has no delays.
    pub(crate) fn of(campaign: &Campaign, cell: CellId) -> Option<Self> {
        let blocks: Vec<Vec<i64>> = campaign
            .blocks_of(cell)
            .map(|measured| measured.samples.iter().map(|sample| sample.delay.0).collect())
            .collect();
        Self::of_blocks(&blocks, campaign.description.clock.tick)
    }

    pub(crate) fn of_blocks(blocks: &[Vec<i64>], tick: Picoseconds) -> Option<Self> {
        let delays = blocks.iter().flatten().map(|delay| (*delay).clamp(-LONGEST, LONGEST));
        let delays = Ordered::of(delays.collect());
        let median = delays.at(0.5)?;
        let effective =
            (delays.len() as f64 / design_effect(blocks, median)).floor().max(1.0) as u64;
        let mean = |block: &Vec<i64>| {
            block.iter().map(|delay| *delay as f64).sum::<f64>() / block.len() as f64
        };
        let block_means = blocks.iter().filter(|block| !block.is_empty()).map(mean).collect();
        Some(Self { delays, effective, tick: tick.0, block_means })
    }

    /// Returns the smallest delay that at least this share of the packets does not exceed: the
    /// minimum for share 0, and the maximum for share 1.
    pub(crate) fn at(&self, share: f64) -> i64 {
        self.delays.at(share).unwrap_or_default()
    }

    fn estimate(&self, level: Level, confidence: Confidence) -> Estimate {
        let ps = Picoseconds;
        match level {
            Level::Mean => {
                let all = self.delays.samples();
                let mean = all.iter().map(|delay| *delay as f64).sum::<f64>() / all.len() as f64;
                let half = self.half_width_of_mean(confidence);
                let end = |sign: f64| {
                    half.map(|half| ps((mean + sign * (half + self.tick as f64)).round() as i64))
                };
                Estimate { level, value: ps(mean.round() as i64), low: end(-1.0), high: end(1.0) }
            }
            Level::Minimum => {
                let value = self.at(0.0);
                Estimate { level, value: ps(value), low: None, high: Some(ps(value + self.tick)) }
            }
            Level::Maximum => {
                let value = self.at(1.0);
                Estimate { level, value: ps(value), low: Some(ps(value - self.tick)), high: None }
            }
            Level::Median | Level::Percentile(_) => {
                let share = level.share().unwrap_or(0.5);
                let [low, high] = self.interval(share, confidence);
                Estimate { level, value: ps(self.at(share)), low: low.map(ps), high: high.map(ps) }
            }
        }
    }

    /// Returns the ends of the confidence interval of a percentile, widened by the tick of the
    /// clock.
    fn interval(&self, share: f64, confidence: Confidence) -> [Option<i64>; 2] {
        let ranks = Ranks::of(self.effective, share, confidence);
        let of_rank = |rank: u64| self.at(rank as f64 / self.effective as f64);
        [
            ranks.low.map(|rank| of_rank(rank) - self.tick),
            ranks.high.map(|rank| of_rank(rank) + self.tick),
        ]
    }

    /// Returns half the width of the confidence interval of the mean delay. The means of the blocks
    /// (runs of packets) are used as independent samples. If there is only one block, its packets
    /// are used.
    fn half_width_of_mean(&self, confidence: Confidence) -> Option<f64> {
        let numbers: Vec<f64>;
        let values = if self.block_means.len() > 1 {
            &self.block_means
        } else {
            numbers = self.delays.samples().iter().map(|delay| *delay as f64).collect();
            &numbers
        };
        let n = values.len() as f64;
        Some(student_t(confidence, n - 1.0) * standard_deviation(values)? / n.sqrt())
    }

    /// Returns a summary of these delays, which are those of one cell (a set of functions under one
    /// setting).
    pub(crate) fn profile(
        &self,
        settings: &Settings,
        blocks: u32,
        counts: Counts,
        tails: Tails,
    ) -> Profile {
        let tail = |at: &dyn Fn(f64) -> Option<i64>| match tails {
            Tails::Included => points(at),
            Tails::Omitted => Vec::new(),
        };
        let risk = 1.0 - settings.confidence.level();
        Profile {
            samples: self.delays.len() as u64,
            effective_samples: self.effective,
            blocks,
            counts,
            levels: settings
                .levels
                .iter()
                .map(|level| self.estimate(*level, settings.confidence))
                .collect(),
            tail: tail(&|share| self.interval(1.0 - share, settings.confidence)[1]),
            head: tail(&|share| self.interval(share, settings.confidence)[0]),
            // The largest of n samples lies below the percentile q with probability q^n.
            beyond_maximum: Some(1.0 - risk.powf(1.0 / self.effective as f64)),
        }
    }
}

/// Whether a profile includes the tails of the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tails {
    Included,
    Omitted,
}

/// Returns the points of a tail for shares from one half down to 1e-8, ten per decade, as far as
/// there are enough samples. `at` returns the delay for a share.
fn points(at: &dyn Fn(f64) -> Option<i64>) -> Vec<TailPoint> {
    let beyond = (3..=80).map(|step| 10f64.powf(-f64::from(step) / 10.0));
    beyond.map_while(|beyond| Some(TailPoint { beyond, delay: Picoseconds(at(beyond)?) })).collect()
}

/// Returns the design effect: the number of packets divided by the number of effective samples. It
/// is the variance, between blocks, of the share of packets above the median, divided by the
/// variance for independent packets. Returns 1 if the effect is unknown or smaller.
fn design_effect(blocks: &[Vec<i64>], median: i64) -> f64 {
    let filled: Vec<&Vec<i64>> = blocks.iter().filter(|block| !block.is_empty()).collect();
    if filled.len() < 3 {
        return 1.0;
    }
    // A delay equal to the median counts half, so that a coarse clock does not look like a
    // difference between blocks.
    let above = |block: &Vec<i64>| {
        let score = |delay: &i64| match delay.cmp(&median) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Greater => 1.0,
        };
        block.iter().map(score).sum::<f64>()
    };
    let n: f64 = filled.iter().map(|block| block.len() as f64).sum();
    let sums: Vec<f64> = filled.iter().map(|block| above(block)).collect();
    let share = sums.iter().sum::<f64>() / n;
    let equal =
        filled.iter().flat_map(|block| block.iter()).filter(|delay| **delay == median).count()
            as f64
            / n;
    // The variance of the score of one packet. Delays equal to the median reduce it by a quarter of
    // their share.
    let single = share * (1.0 - share) - equal / 4.0;
    if single <= 0.0 {
        return 1.0;
    }
    let pairs = sums.iter().zip(&filled);
    let chi_square: f64 = pairs
        .map(|(sum, block)| {
            let size = block.len() as f64;
            (sum - size * share).powi(2) / (size * single)
        })
        .sum();
    (chi_square / (filled.len() as f64 - 1.0)).max(1.0)
}

impl Profile {
    /// Returns the estimate of a statistic such as the median, or `None` if it was not requested.
    #[must_use]
    pub fn level(&self, level: Level) -> Option<&Estimate> {
        self.levels.iter().find(|estimate| estimate.level == level)
    }

    /// Returns a delay that at most this share of packets exceeds, at the confidence of the model,
    /// or `None` if there are too few samples, or the profile has no tails.
    #[must_use]
    pub fn delay_beyond(&self, share: f64) -> Option<Picoseconds> {
        self.tail.iter().find(|point| point.beyond <= share * (1.0 + 1e-9)).map(|point| point.delay)
    }

    /// Returns a delay below which at most this share of packets lies, at the confidence of the
    /// model, or `None` if there are too few samples, or the profile has no tails.
    #[must_use]
    pub fn delay_below(&self, share: f64) -> Option<Picoseconds> {
        self.head.iter().find(|point| point.beyond <= share * (1.0 + 1e-9)).map(|point| point.delay)
    }
}

#[cfg(test)]
mod tests;
