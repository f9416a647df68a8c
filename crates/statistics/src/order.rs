//! Order statistics: percentiles, and the samples between which they lie.

use crate::beta;
use crate::confidence::Confidence;

/// Samples in ascending order. All samples are kept, so that percentiles are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ordered<T>(Vec<T>);

impl Ordered<f64> {
    /// Sorts floating-point samples in ascending order. NaN values with a positive sign come last.
    pub fn of_numbers(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }
}

impl<T: Ord> Ordered<T> {
    /// Sorts samples into ascending order.
    pub fn of(mut values: Vec<T>) -> Self {
        values.sort_unstable();
        Self(values)
    }
}

impl<T: Copy> Ordered<T> {
    /// Returns the percentile for a share between 0 and 1, by the nearest rank: the least sample
    /// such that at least this share of all samples is at or below it. Returns `None` without
    /// samples.
    pub fn at(&self, share: f64) -> Option<T> {
        self.0.get(rank(self.0.len() as u64, share)?.checked_sub(1)? as usize).copied()
    }

    /// Returns the percentile of [`at`](Self::at), or `None` if there are too few samples to state
    /// it (see [`can_state`]).
    pub fn tail_at(&self, share: f64) -> Option<T> {
        if can_state(share, self.0.len() as u64) { self.at(share) } else { None }
    }

    /// Returns the confidence interval of a percentile of the underlying distribution, as the two
    /// samples between which the percentile lies (see [`Ranks`]). An end is `None` if there are too
    /// few samples to bound the percentile on that side.
    pub fn interval(&self, share: f64, confidence: Confidence) -> [Option<T>; 2] {
        let ranks = Ranks::of(self.0.len() as u64, share, confidence);
        [ranks.low, ranks.high]
            .map(|rank| self.0.get(usize::try_from(rank?).ok()?.checked_sub(1)?).copied())
    }

    /// Returns the samples in ascending order.
    pub fn samples(&self) -> &[T] {
        &self.0
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the least sample, or `None` if there are no samples.
    pub fn first(&self) -> Option<T> {
        self.0.first().copied()
    }

    /// Returns the largest sample, or `None` if there are no samples.
    pub fn last(&self) -> Option<T> {
        self.0.last().copied()
    }
}

/// Returns whether a percentile, given as a share between 0 and 1, can be stated from a number of
/// samples.
///
/// At least one sample must lie beyond the percentile: n (1 - share) >= 1, so p99.9 needs 1,000
/// samples. With fewer samples, the percentile would equal the largest sample, which does not
/// describe the tail. All commands of Planimeter show a dash, or no value, for a percentile that
/// cannot be stated.
pub fn can_state(share: f64, samples: u64) -> bool {
    // In binary floating point, 100 (1 - 0.99) is slightly below 1.
    samples as f64 * (1.0 - share) >= 1.0 - 1e-9
}

/// Returns the rank, from 1, of the sample that is the percentile for a share of `count` samples.
/// Returns `None` without samples, or if the share is NaN.
fn rank(count: u64, share: f64) -> Option<u64> {
    if count == 0 || share.is_nan() {
        return None;
    }
    // In binary floating point, 0.07 * 100 is slightly above 7.
    let exact = share * count as f64 * (1.0 - 4.0 * f64::EPSILON);
    Some((exact.ceil().max(1.0) as u64).min(count))
}

/// The confidence interval of a percentile of the underlying distribution, as the ranks, from 1, of
/// two samples in ascending order between which it lies.
///
/// The number of samples at or below the percentile has a binomial distribution, regardless of the
/// distribution of the samples (H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition, 7.1;
/// J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, theorem 2.1). The
/// percentile lies beyond each end with at most half of the probability that the confidence leaves.
/// A caller that keeps a histogram can look up the values at these ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The lower rank. It is `None` if not even the least sample is below the percentile with
    /// sufficient confidence.
    pub low: Option<u64>,
    /// The upper rank. It is `None` if not even the largest sample is above the percentile with
    /// sufficient confidence.
    pub high: Option<u64>,
}

impl Ranks {
    /// Returns the ranks between which a percentile lies, for `count` samples. The percentile is
    /// given as a share between 0 and 1.
    pub fn of(count: u64, share: f64, confidence: Confidence) -> Self {
        if count == 0 || !(share > 0.0 && share < 1.0) {
            return Self { low: None, high: None };
        }
        let tail = confidence.tail();
        let at_most = |samples: u64| beta::binomial(samples, count, share);
        // The sample of rank l exceeds the percentile only if fewer than l samples are at or below
        // the percentile. The sample of rank u is at or below the percentile only if at least u
        // samples are at or below it.
        let low = first(count, |rank| at_most(rank) > tail);
        let high = first(count, |rank| rank > 0 && at_most(rank - 1) >= 1.0 - tail);
        Self {
            low: (low > 0).then_some(low),
            high: (high <= count && at_most(count - 1) >= 1.0 - tail).then_some(high),
        }
    }
}

/// Returns the smallest number from 0 to `count` for which `holds` is true, or `count` if there is
/// none. If `holds` is true for a number, it must be true for all larger numbers.
fn first(count: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(count: u64, share: f64) -> (Option<u64>, Option<u64>) {
        let ranks = Ranks::of(count, share, Confidence::P95);
        (ranks.low, ranks.high)
    }

    #[test]
    fn percentiles_are_those_of_the_definition() {
        let samples = Ordered::of((1..=1000u32).rev().collect());
        let shares = [0.0, 0.001, 0.5, 0.5001, 0.99, 0.999, 1.0];
        assert_eq!(
            shares.map(|share| samples.at(share)),
            [1, 1, 500, 501, 990, 999, 1000].map(Some)
        );
        assert_eq!([samples.first(), samples.last()], [Some(1), Some(1000)]);
        assert_eq!(
            [samples.tail_at(0.999), samples.tail_at(0.9999)],
            [Some(999), None],
            "no sample lies beyond"
        );
        for count in 1..=100u32 {
            for part in 1..=count {
                let samples = Ordered::of((1..=count).collect());
                assert_eq!(
                    samples.at(f64::from(part) / f64::from(count)),
                    Some(part),
                    "{part} of {count}"
                );
            }
        }
    }

    #[test]
    fn a_percentile_needs_a_sample_beyond_it() {
        for (share, least) in [(0.5, 2), (0.9, 10), (0.95, 20), (0.99, 100), (0.999, 1_000)] {
            assert!(can_state(share, least) && !can_state(share, least - 1), "{share}");
        }
        assert!(!can_state(0.999, 150) && can_state(0.99, 150));
        assert!(!can_state(0.5, 0) && !can_state(1.0, 1_000) && !can_state(f64::NAN, 1_000));
    }

    #[test]
    fn no_samples_have_no_percentile() {
        let none = Ordered::<u32>::default();
        assert_eq!((none.at(0.5), none.tail_at(0.5), none.first()), (None, None, None));
        assert_eq!(none.interval(0.5, Confidence::P95), [None, None]);
        assert_eq!(Ordered::of(vec![7]).at(0.5), Some(7));
        assert_eq!(Ordered::of(vec![7]).tail_at(0.5), None);
        assert_eq!(Ordered::of_numbers(vec![f64::NAN, 1.0]).first(), Some(1.0));
    }

    #[test]
    fn the_median_lies_between_the_ranks_of_sign_tests() {
        // By hand from binomial coefficients: all of 6 samples lie on a given side with probability
        // 1/64, and at most one of 10 does with 11/1024. For 5 samples the confidence is 1 - 2/32,
        // which is too low.
        assert_eq!(ranks(5, 0.5), (None, None));
        assert_eq!(ranks(6, 0.5), (Some(1), Some(6)));
        assert_eq!(ranks(10, 0.5), (Some(2), Some(9)));
        // For 20 samples, at most 5 lie on one side with 21,700/2^20 = 0.0207, at most 6 with
        // 60,460/2^20 = 0.0577.
        assert_eq!(ranks(20, 0.5), (Some(6), Some(15)));
        assert_eq!(ranks(100, 0.5), (Some(40), Some(61)));
    }

    #[test]
    fn a_bound_of_the_tail_needs_enough_samples() {
        // The largest of n samples lies above the 99th percentile with probability 1 - 0.99^n,
        // which reaches 0.975 at 368.
        assert_eq!(ranks(367, 0.99).1, None);
        assert_eq!(ranks(368, 0.99).1, Some(368));
        assert_eq!((0.99f64.powi(367) > 0.025, 0.99f64.powi(368) <= 0.025), (true, true));
        // By symmetry, the least of 368 samples is below the first percentile.
        assert_eq!(ranks(367, 0.01).0, None);
        assert_eq!(ranks(368, 0.01).0, Some(1));
    }

    #[test]
    fn large_counts_approach_the_normal_distribution() {
        for (count, share) in [(1_000_000u64, 0.5), (1_000_000, 0.99), (100_000_000, 0.999)] {
            let (low, high) = ranks(count, share);
            let (mean, deviation) =
                (count as f64 * share, (count as f64 * share * (1.0 - share)).sqrt());
            let off = [low, high].map(|rank| (rank.expect("enough") as f64 - mean) / deviation);
            assert!(
                (off[0] + 1.96).abs() < 0.02 && (off[1] - 1.96).abs() < 0.02,
                "{count} {share}: {off:?}"
            );
        }
    }

    #[test]
    fn intervals_have_their_stated_coverage() {
        // The test is exhaustive: it weighs every number of samples below the percentile with its
        // probability.
        for (count, share) in [(8u64, 0.5), (30, 0.7), (50, 0.9), (400, 0.99)] {
            let ranks = Ranks::of(count, share, Confidence::P95);
            let exactly = |k: u64| {
                beta::binomial(k, count, share)
                    - if k == 0 { 0.0 } else { beta::binomial(k - 1, count, share) }
            };
            let holds = |k: &u64| {
                ranks.low.is_none_or(|low| *k >= low) && ranks.high.is_none_or(|high| *k < high)
            };
            let coverage: f64 = (0..=count).filter(holds).map(exactly).sum();
            assert!(coverage >= 0.95 - 1e-9, "{count} {share}: {coverage}");
            // A narrower interval on either side would not suffice.
            for narrower in [
                ranks.low.map(|low| exactly(low) + beta::binomial(low - 1, count, share)),
                ranks.high.map(|high| {
                    1.0 - if high >= 2 { beta::binomial(high - 2, count, share) } else { 0.0 }
                }),
            ] {
                assert!(narrower.is_none_or(|tail| tail > 0.025), "{count} {share}: {narrower:?}");
            }
        }
    }

    #[test]
    fn the_interval_reads_the_samples() {
        let samples = Ordered::of((0..10u32).map(|value| value * 10).collect());
        assert_eq!(samples.interval(0.5, Confidence::P95), [Some(10), Some(80)]);
        assert_eq!(samples.interval(0.99, Confidence::P95)[1], None);
    }
}
