//! Confidence intervals of proportions.

use crate::beta;
use crate::confidence::{Confidence, Interval};

/// Returns the confidence interval of the probability of an event that occurred `successes` times
/// in `trials` trials, by the method of C. J. Clopper and E. S. Pearson (The use of confidence or
/// fiducial limits illustrated in the case of the binomial, Biometrika 26, 1934). The interval
/// contains the probability with at least the stated confidence. Returns `None` without trials, or
/// with more successes than trials.
pub fn proportion(successes: u64, trials: u64, confidence: Confidence) -> Option<Interval> {
    if trials == 0 || successes > trials {
        return None;
    }
    let (hits, misses) = (successes as f64, (trials - successes) as f64);
    let tail = confidence.tail();
    let low = if successes == 0 { 0.0 } else { beta::quantile(tail, hits, misses + 1.0) };
    let high =
        if successes == trials { 1.0 } else { beta::quantile(1.0 - tail, hits + 1.0, misses) };
    Some(Interval { low, high })
}

/// Returns a confidence interval for the share of each count in the sum of all counts. All
/// intervals hold together with at least the stated confidence ([`Confidence::of_each`]). Returns
/// `None` if there are no counts.
pub fn shares(counts: &[u64], confidence: Confidence) -> Option<Vec<Interval>> {
    let all = counts.iter().sum();
    if counts.is_empty() {
        return None;
    }
    let each = confidence.of_each(counts.len());
    counts.iter().map(|count| proportion(*count, all, each)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(successes: u64, trials: u64) -> Interval {
        proportion(successes, trials, Confidence::P95).expect("trials")
    }

    #[test]
    fn intervals_are_those_that_were_published() {
        // The values are from R's manual of binom.test: Mendel's 682 of 925 (W. J. Conover,
        // Practical Nonparametric Statistics, p. 97).
        let mendel = of(682, 925);
        assert!(
            (mendel.low - 0.707_668_3).abs() < 5e-8 && (mendel.high - 0.765_406_6).abs() < 5e-8,
            "{mendel:?}"
        );
    }

    #[test]
    fn no_success_does_not_mean_probability_zero() {
        // In closed form, the upper end solves (1 - p)^n = 0.025.
        for n in [1u64, 10, 1_000, 1_000_000] {
            let exact = 1.0 - 0.025f64.powf(1.0 / n as f64);
            assert!((of(0, n).high / exact - 1.0).abs() < 1e-6, "{n}");
            assert!((of(n, n).low - (1.0 - exact)).abs() < 1e-9, "{n}");
            assert_eq!((of(0, n).low, of(n, n).high), (0.0, 1.0));
        }
    }

    #[test]
    fn each_end_of_the_interval_leaves_the_observation_its_tail_probability() {
        for (successes, trials) in [(1, 2), (3, 10), (50, 400), (999, 1000)] {
            let Interval { low, high } = of(successes, trials);
            let at_least = 1.0 - beta::binomial(successes - 1, trials, low);
            let at_most = beta::binomial(successes, trials, high);
            assert!(
                (at_least - 0.025).abs() < 1e-9 && (at_most - 0.025).abs() < 1e-9,
                "{successes} of {trials}"
            );
        }
    }

    #[test]
    fn without_trials_there_is_no_interval() {
        assert_eq!(proportion(0, 0, Confidence::P95), None);
        assert_eq!(proportion(3, 2, Confidence::P95), None);
    }

    #[test]
    fn shares_of_one_whole_have_wider_intervals_than_a_share_alone() {
        let all = shares(&[30, 70, 100], Confidence::P95).expect("counts");
        let alone = Confidence::new(1.0 - 0.05 / 3.0).expect("a level");
        assert_eq!(Some(all[0]), proportion(30, 200, alone));
        assert!(all[0].low < of(30, 200).low && all[0].high > of(30, 200).high);
        assert_eq!(shares(&[], Confidence::P95), None);
        assert_eq!(shares(&[0, 0], Confidence::P95), None);
    }
}
