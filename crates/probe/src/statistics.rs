//! Means with their confidence, fairness, and summaries of histograms.
//!
//! A mean over repetitions is given with the 95 % confidence interval of Student's t distribution,
//! because a handful of repetitions is the rule and the normal distribution would make the
//! interval too narrow. The quantile is computed here: for whole degrees of freedom the
//! distribution function is a finite sum, which is less than the smallest statistics crate.

use std::collections::BTreeMap;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use hdrhistogram::Histogram;

use crate::outcome::{Estimate, Latency, Trial};

/// Arithmetic mean; nothing without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation (n - 1 in the denominator); nothing with fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Half the width of the 95 % confidence interval of the mean; nothing with fewer than two values.
pub fn confidence_95(values: &[f64]) -> Option<f64> {
    let freedom = u32::try_from(values.len().checked_sub(1)?).unwrap_or(u32::MAX);
    let deviation = standard_deviation(values)?;
    Some(student_t_975(freedom) * deviation / (values.len() as f64).sqrt())
}

/// Jain's fairness index (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984): the square of the sum over
/// n times the sum of squares. 1 if all shares are equal, 1/n if one takes all; nothing if there
/// are no shares or all are zero.
pub fn jain_index(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0u64, 0.0, 0.0);
    for share in shares {
        n += 1;
        sum += share;
        squares += share * share;
    }
    if squares == 0.0 {
        return None;
    }
    // Rounding must not push equal shares above 1.
    Some((sum * sum / (n as f64 * squares)).min(1.0))
}

/// The mean of every metric over the trials that have it, by metric name. This is
/// [`Point::summary`](crate::outcome::Point::summary).
pub fn summarize(trials: &[Trial]) -> BTreeMap<String, Estimate> {
    let mut values: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for trial in trials {
        for (name, value) in trial.metrics() {
            values.entry(name).or_default().push(value);
        }
    }
    values
        .into_iter()
        .filter_map(|(name, values)| Some((name.to_owned(), Estimate::of(&values)?)))
        .collect()
}

impl Estimate {
    /// The mean of some repetitions with its confidence; nothing without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            n: u32::try_from(values.len()).unwrap_or(u32::MAX),
            mean: mean(values)?,
            stddev: standard_deviation(values),
            ci95: confidence_95(values),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

impl Latency {
    /// The summary of a histogram of nanoseconds. Percentiles are the highest value that the
    /// histogram cannot tell from the true one.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            samples: histogram.len(),
            mean_ns: histogram.mean(),
            stddev_ns: histogram.stdev(),
            min_ns: histogram.min(),
            p50_ns: histogram.value_at_quantile(0.5),
            p90_ns: histogram.value_at_quantile(0.9),
            p95_ns: histogram.value_at_quantile(0.95),
            p99_ns: histogram.value_at_quantile(0.99),
            p999_ns: histogram.value_at_quantile(0.999),
            max_ns: histogram.max(),
        }
    }
}

/// The 97.5 % quantile of Student's t distribution: 95 % of the probability lie between minus and
/// plus this.
pub(crate) fn student_t_975(freedom: u32) -> f64 {
    // The normal distribution's; from here on the two agree in five digits.
    const NORMAL: f64 = 1.959_963_984_540_054;
    if freedom > 100_000 {
        return NORMAL;
    }
    // The probability rises with the angle, so bisection finds it; 60 halvings exhaust an f64.
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if central_probability(middle, freedom) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low.tan() * f64::from(freedom).sqrt()
}

/// Probability between -t and t, where `angle` is atan(t / sqrt(freedom)). Abramowitz and Stegun,
/// Handbook of Mathematical Functions, 26.7.3 (odd) and 26.7.4 (even degrees of freedom).
fn central_probability(angle: f64, freedom: u32) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let mut sum = 0.0;
    let mut term = if odd { cosine } else { 1.0 };
    let mut power = if odd { 1 } else { 0 };
    while power + 2 <= freedom {
        sum += term;
        term *= cosine * cosine * f64::from(power + 1) / f64::from(power + 2);
        power += 2;
    }
    if odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_t_quantile_agrees_with_published_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975.
        for (freedom, expected) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (6, 2.447),
            (7, 2.365),
            (8, 2.306),
            (9, 2.262),
            (10, 2.228),
            (19, 2.093),
            (24, 2.064),
            (29, 2.045),
            (30, 2.042),
            (60, 2.000),
            (99, 1.984),
            (100, 1.984),
        ] {
            let computed = student_t_975(freedom);
            assert!((computed - expected).abs() < 0.000_5, "{freedom}: {computed}");
        }
        assert!((student_t_975(100_000) - student_t_975(100_001)).abs() < 3e-5);
    }

    #[test]
    fn the_t_quantile_of_1_and_2_degrees_is_exact() {
        // Closed forms: tan(0.475 pi), and 2 a / sqrt(1 - a^2) / sqrt(2) with a = 0.95.
        assert!((student_t_975(1) - (0.475 * std::f64::consts::PI).tan()).abs() < 1e-9);
        let two = 0.95 * (2.0f64 / (1.0 - 0.95 * 0.95)).sqrt();
        assert!((student_t_975(2) - two).abs() < 1e-9);
    }

    #[test]
    fn an_estimate_of_known_values() {
        let estimate = Estimate::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("values");
        assert_eq!((estimate.n, estimate.mean, estimate.min, estimate.max), (8, 5.0, 2.0, 9.0));
        let deviation = (32.0f64 / 7.0).sqrt();
        assert!((estimate.stddev.expect("two") - deviation).abs() < 1e-12);
        // t(7) = 2.36462425 (NIST table, more digits).
        let half = 2.364_624_25 * deviation / 8.0f64.sqrt();
        assert!((estimate.ci95.expect("two") - half).abs() < 1e-7);
    }

    #[test]
    fn one_value_has_no_interval_and_none_no_estimate() {
        let estimate = Estimate::of(&[3.0]).expect("a value");
        assert_eq!((estimate.mean, estimate.stddev, estimate.ci95), (3.0, None, None));
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(confidence_95(&[]), None);
    }

    #[test]
    fn a_latency_reads_the_histogram() {
        let mut histogram = Histogram::new(3).expect("3 digits");
        assert_eq!(Latency::of(&histogram), Latency::default());
        for value in 1..=1000u64 {
            histogram.record(value).expect("in range");
        }
        let latency = Latency::of(&histogram);
        assert_eq!(latency.samples, 1000);
        assert_eq!((latency.min_ns, latency.p50_ns, latency.p999_ns), (1, 500, 999));
        assert_eq!(
            (latency.p90_ns, latency.p95_ns, latency.p99_ns, latency.max_ns),
            (900, 950, 990, 1000)
        );
        assert!((latency.mean_ns - 500.5).abs() < 0.5);
        assert!((latency.stddev_ns - 288.7).abs() < 0.5);
    }

    #[test]
    fn jain_of_extremes() {
        assert_eq!(jain_index([]), None);
        assert_eq!(jain_index([0.0, 0.0]), None);
        assert_eq!(jain_index([0.0, 7.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index([1.0, 2.0, 3.0]), Some(36.0 / 42.0));
    }

    proptest! {
        #[test]
        fn jain_is_between_one_nth_and_one(shares in proptest::collection::vec(0.0f64..1e9, 1..50)) {
            if let Some(index) = jain_index(shares.iter().copied()) {
                prop_assert!(index <= 1.0);
                prop_assert!(index >= 1.0 / shares.len() as f64 - 1e-12);
            }
        }

        #[test]
        fn jain_of_equal_shares_is_one(share in 1e-3f64..1e9, n in 1usize..50) {
            let index = jain_index(std::iter::repeat_n(share, n)).expect("positive shares");
            prop_assert!((index - 1.0).abs() < 1e-9);
        }

        #[test]
        fn the_interval_contains_the_mean_and_scales(
            values in proptest::collection::vec(-1e6f64..1e6, 2..20),
        ) {
            let estimate = Estimate::of(&values).expect("values");
            let slack = 1e-9 * (1.0 + estimate.max.abs() + estimate.min.abs());
            prop_assert!(estimate.min - slack <= estimate.mean);
            prop_assert!(estimate.mean <= estimate.max + slack);
            let doubled: Vec<f64> = values.iter().map(|value| 2.0 * value).collect();
            let twice = Estimate::of(&doubled).expect("values");
            let (one, two) = (estimate.ci95.expect("two"), twice.ci95.expect("two"));
            prop_assert!((two - 2.0 * one).abs() <= 1e-9 * (1.0 + two));
        }
    }
}
