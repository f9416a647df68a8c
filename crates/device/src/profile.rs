//! What a cell's delays say: levels with their confidence, and the tail.
//!
//! Percentiles have the interval between two order statistics, which holds for any distribution, and which is widened by
//! the clock's tick on both sides: a reading of d ticks may be anything between d - 1 and d + 1. Packets of one block
//! resemble each other more than those of two, so intervals count *effective* samples: as many independent ones as would
//! let the blocks differ as much as they do (the design effect of a cluster sample; Kish, Survey Sampling, 1965).

use serde::{Deserialize, Serialize};
use statistics::{Confidence, Ordered, Ranks, standard_deviation, student_t};

use crate::campaign::{Campaign, CellId, Counts, Picoseconds};
use crate::level::Level;

/// The delays of a cell, summed up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Packets whose delay is known; none for figures that were published without them.
    pub samples: u64,
    /// Independent packets that would say as much.
    pub effective_samples: u64,
    /// Blocks.
    pub blocks: u32,
    /// What was sent and received.
    pub counts: Counts,
    /// Levels, as asked for.
    pub levels: Vec<Estimate>,
    /// Delays that few packets exceed, from few to fewest.
    pub tail: Vec<TailPoint>,
    /// Delays that few packets are below, from few to fewest.
    pub head: Vec<TailPoint>,
    /// Share of packets that may exceed the largest delay seen, at the model's confidence.
    pub beyond_maximum: Option<f64>,
}

/// The delay of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The level.
    pub level: Level,
    /// Its delay in this sample.
    pub value: Picoseconds,
    /// Lower end of its confidence interval, quantisation included; `None` where there is none: below a minimum, or with
    /// too few samples.
    pub low: Option<Picoseconds>,
    /// Upper end, likewise. A maximum has none: a longer delay may come.
    pub high: Option<Picoseconds>,
}

/// A delay that few packets exceed, or are below.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TailPoint {
    /// Share of packets that are beyond it, at most.
    pub beyond: f64,
    /// The delay: the outer end of the interval of this percentile, quantisation included.
    pub delay: Picoseconds,
}

/// How delays are summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which levels.
    pub levels: Vec<Level>,
    /// Confidence of each interval.
    pub confidence: Confidence,
    /// By how much a function's cost may vary over the distribution, as a share of the baseline's median, and still count
    /// as a constant.
    pub tolerance: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { levels: Level::usual(), confidence: Confidence::P99, tolerance: 0.01 }
    }
}

/// Ten days in picoseconds: differences and sums of a few delays do not overflow. What is longer was no delay.
const LONGEST: i64 = 864_000_000_000_000_000;

/// The delays of a cell in order, with how many independent ones they are worth.
#[derive(Debug, Clone)]
pub(crate) struct Sorted {
    pub(crate) delays: Ordered<i64>,
    pub(crate) effective: u64,
    pub(crate) tick: i64,
    block_means: Vec<f64>,
}

impl Sorted {
    /// `None` for a cell without delays.
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

    /// The delay at a share, 0 the least and 1 the largest.
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

    /// The interval of a percentile, with the clock's tick.
    fn interval(&self, share: f64, confidence: Confidence) -> [Option<i64>; 2] {
        let ranks = Ranks::of(self.effective, share, confidence);
        let of_rank = |rank: u64| self.at(rank as f64 / self.effective as f64);
        [
            ranks.low.map(|rank| of_rank(rank) - self.tick),
            ranks.high.map(|rank| of_rank(rank) + self.tick),
        ]
    }

    /// From the means of blocks, which are independent of each other; with one block from its samples.
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

    pub(crate) fn profile(
        &self,
        settings: &Settings,
        blocks: u32,
        counts: Counts,
        tails: Tails,
    ) -> Profile {
        let tail = |at: &dyn Fn(f64) -> Option<i64>| match tails {
            Tails::Kept => points(at),
            Tails::Left => Vec::new(),
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
            // The largest of n is below the percentile q with probability q^n.
            beyond_maximum: Some(1.0 - risk.powf(1.0 / self.effective as f64)),
        }
    }
}

/// Whether the tails of a distribution are summed up too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tails {
    Kept,
    Left,
}

/// Ten points per decade, as far as the samples reach.
fn points(at: &dyn Fn(f64) -> Option<i64>) -> Vec<TailPoint> {
    let beyond = (3..=80).map(|step| 10f64.powf(-f64::from(step) / 10.0));
    beyond.map_while(|beyond| Some(TailPoint { beyond, delay: Picoseconds(at(beyond)?) })).collect()
}

/// By how much more the share of packets above the median varies between blocks than it would if packets were independent.
/// One where that cannot be told.
fn design_effect(blocks: &[Vec<i64>], median: i64) -> f64 {
    let filled: Vec<&Vec<i64>> = blocks.iter().filter(|block| !block.is_empty()).collect();
    if filled.len() < 3 {
        return 1.0;
    }
    // Ties with the median count half, so that a coarse clock does not look like a difference.
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
    // Variance of one packet's score, with a quarter less for each tie.
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
    /// The estimate of a level, if it was asked for.
    #[must_use]
    pub fn level(&self, level: Level) -> Option<&Estimate> {
        self.levels.iter().find(|estimate| estimate.level == level)
    }

    /// A delay that at most this share of packets exceeds, at the model's confidence; `None` with too few samples.
    #[must_use]
    pub fn delay_beyond(&self, share: f64) -> Option<Picoseconds> {
        self.tail.iter().find(|point| point.beyond <= share * (1.0 + 1e-9)).map(|point| point.delay)
    }

    /// A delay that at most this share of packets is below, likewise.
    #[must_use]
    pub fn delay_below(&self, share: f64) -> Option<Picoseconds> {
        self.head.iter().find(|point| point.beyond <= share * (1.0 + 1e-9)).map(|point| point.delay)
    }
}

#[cfg(test)]
mod tests;
