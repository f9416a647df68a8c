//! Means over repetitions, and differences between them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::beta;
use crate::confidence::{Confidence, Interval};
use crate::spread::padded;
use crate::unit::Unit;

/// Returns the arithmetic mean of some values, or `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample standard deviation of some values, with n - 1 in the denominator, or `None`
/// for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns the half-width of a mean's confidence interval in standard errors: a quantile of
/// Student's t distribution with `freedom` degrees of freedom ("Student", The probable error of a
/// mean, Biometrika 6, 1908; DLMF 8.17 for the beta function).
///
/// `freedom` need not be an integer. It is clamped between 1 and 10^7, where the quantile agrees
/// with that of the normal distribution to six digits.
pub fn student_t(confidence: Confidence, freedom: f64) -> f64 {
    // A NaN counts as one degree of freedom, which is the most cautious value.
    let freedom = if freedom.is_nan() { 1.0 } else { freedom.clamp(1.0, 1e7) };
    let square = beta::quantile(confidence.level(), 0.5, freedom / 2.0);
    (freedom * square / (1.0 - square)).sqrt()
}

/// The mean of a figure over several repetitions of a measurement. It is formatted as
/// `mean ± half of the interval`, with the precision of the format string, or with two digits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number of repetitions.
    pub n: u32,
    /// The arithmetic mean over the repetitions.
    pub mean: f64,
    /// The sample standard deviation over the repetitions, or `None` for one repetition.
    pub stddev: Option<f64>,
    /// Half the width of the mean's 95 % confidence interval (Student's t), or `None` for one
    /// repetition.
    pub ci95: Option<f64>,
    /// The smallest value of all repetitions.
    pub min: f64,
    /// The largest value of all repetitions.
    pub max: f64,
    /// The largest value that the figure can have, if a limit other than that of its unit is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

impl Estimate {
    /// Estimates the mean from one value per repetition. Returns `None` without values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let stddev = standard_deviation(values);
        let quantile = || student_t(Confidence::P95, f64::from(n) - 1.0);
        Some(Self {
            n,
            mean: mean(values)?,
            stddev,
            ci95: stddev.map(|deviation| quantile() * deviation / f64::from(n).sqrt()),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            most: None,
        })
    }

    /// Returns the estimate with an upper limit of its figure, such as the CPU usage of a host with
    /// a known number of cores.
    pub fn at_most(self, most: f64) -> Self {
        Self { most: Some(most), ..self }
    }

    /// Returns the 95 % confidence interval of the mean, clipped to the possible values, or `None`
    /// for one repetition.
    ///
    /// Student's interval is symmetrical, so that with few repetitions it may extend beyond the
    /// possible values. A limit of the possible values is not applied if an observed value exceeds
    /// it.
    pub fn interval(&self, unit: Unit) -> Option<Interval> {
        let half = self.ci95.filter(|half| half.is_finite())?;
        let possible = unit.possible();
        let high = self.most.map_or(possible.high, |most| most.min(possible.high));
        let (low, high) = (
            if self.min < possible.low { f64::NEG_INFINITY } else { possible.low },
            if self.max > high { f64::INFINITY } else { high },
        );
        Some(Interval { low: (self.mean - half).max(low), high: (self.mean + half).min(high) })
    }

    /// Estimates a figure that is computed from the samples of each repetition, such as a
    /// percentile. If a repetition has too few samples for the figure, returns the figure of all
    /// samples together as a single repetition, without an interval.
    pub fn of_each_or_all(
        each: impl IntoIterator<Item = Option<f64>>,
        all: impl FnOnce() -> Option<f64>,
    ) -> Option<Self> {
        let each: Option<Vec<f64>> = each.into_iter().collect();
        each.and_then(|each| Self::of(&each)).or_else(|| Self::of(&[all()?]))
    }

    /// Estimates the ratio of two figures as the mean of their ratios within each repetition, so
    /// that differences between repetitions cancel.
    pub fn of_ratio(numerators: &[f64], denominators: &[f64]) -> Option<Self> {
        let pairs = numerators.iter().zip(denominators);
        Self::of(&pairs.map(|(above, below)| above / below).collect::<Vec<_>>())
    }

    /// Returns the squared standard error of the mean, and its degrees of freedom, or `None` for
    /// one repetition.
    fn error(&self) -> Option<(f64, f64)> {
        let n = f64::from(self.n);
        Some((self.stddev?.powi(2) / n, n - 1.0))
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let mut text = format!("{:.digits$}", self.mean);
        if let Some(half) = self.ci95 {
            text.push_str(&format!(" ± {half:.digits$}"));
        }
        padded(f, &text)
    }
}

/// The difference between two means, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean of the compared figure minus the mean of the base.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the difference, or `None` if one of the
    /// two figures has only one repetition.
    pub ci95: Option<f64>,
}

impl Difference {
    /// Returns the difference between the means of `other` and `base`, with Welch's interval (B. L.
    /// Welch, The generalization of Student's problem when several different population variances
    /// are involved, Biometrika 34, 1947) and the degrees of freedom of Satterthwaite.
    pub fn of(base: &Estimate, other: &Estimate) -> Self {
        let ci95 = base.error().zip(other.error()).map(|((a, freedom_a), (b, freedom_b))| {
            if a + b == 0.0 {
                return 0.0;
            }
            let freedom = (a + b).powi(2) / (a * a / freedom_a + b * b / freedom_b);
            student_t(Confidence::P95, freedom) * (a + b).sqrt()
        });
        Self { mean: other.mean - base.mean, ci95 }
    }

    /// Returns whether the confidence interval excludes zero, so that a difference is shown. A
    /// difference of exactly zero is never shown.
    pub fn is_shown(self) -> bool {
        self.ci95.is_some_and(|half| self.mean != 0.0 && self.mean.abs() > half)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn t95(freedom: f64) -> f64 {
        student_t(Confidence::P95, freedom)
    }

    #[test]
    fn a_figure_that_one_repetition_lacks_is_of_all_samples_without_an_interval() {
        let of = |each: &[Option<f64>], all: Option<f64>| {
            let found = Estimate::of_each_or_all(each.iter().copied(), || all)?;
            Some((found.n, found.mean, found.ci95.is_some()))
        };
        assert_eq!(of(&[Some(1.0), Some(3.0)], Some(9.0)), Some((2, 2.0, true)));
        assert_eq!(of(&[Some(1.0), None], Some(9.0)), Some((1, 9.0, false)));
        assert_eq!(of(&[], Some(9.0)), Some((1, 9.0, false)));
        assert_eq!(of(&[None], None), None);
    }

    #[test]
    fn the_t_quantile_agrees_with_published_tables() {
        // The values are from the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2,
        // columns 0.975 and 0.995.
        for (freedom, p975, p995) in [
            (1.0, 12.706, 63.657),
            (2.0, 4.303, 9.925),
            (3.0, 3.182, 5.841),
            (4.0, 2.776, 4.604),
            (5.0, 2.571, 4.032),
            (6.0, 2.447, 3.707),
            (7.0, 2.365, 3.499),
            (8.0, 2.306, 3.355),
            (9.0, 2.262, 3.250),
            (10.0, 2.228, 3.169),
            (19.0, 2.093, 2.861),
            (24.0, 2.064, 2.797),
            (29.0, 2.045, 2.756),
            (30.0, 2.042, 2.750),
            (60.0, 2.000, 2.660),
            (100.0, 1.984, 2.626),
        ] {
            let computed = [t95(freedom), student_t(Confidence::P99, freedom)];
            assert!(
                (computed[0] - p975).abs() < 5.1e-4 && (computed[1] - p995).abs() < 6e-4,
                "{freedom}: {computed:?}"
            );
        }
        // For many degrees of freedom, the quantile is that of the normal distribution.
        assert!((t95(f64::INFINITY) - 1.959_963_984_540_054).abs() < 1e-6);
        assert_eq!(t95(f64::NAN), t95(1.0));
    }

    #[test]
    fn the_t_quantile_of_1_and_2_degrees_is_exact() {
        // The closed forms are tan(0.475 pi), and 2 a / sqrt(1 - a^2) / sqrt(2) with a = 0.95.
        assert!((t95(1.0) - (0.475 * std::f64::consts::PI).tan()).abs() < 1e-9);
        let two = 0.95 * (2.0f64 / (1.0 - 0.95 * 0.95)).sqrt();
        assert!((t95(2.0) - two).abs() < 1e-9);
    }

    #[test]
    fn an_estimate_agrees_with_a_calculation_by_hand() {
        let estimate = Estimate::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("values");
        assert_eq!((estimate.n, estimate.mean, estimate.min, estimate.max), (8, 5.0, 2.0, 9.0));
        let deviation = (32.0f64 / 7.0).sqrt();
        assert!((estimate.stddev.expect("two") - deviation).abs() < 1e-12);
        // The quantile is t(7) = 2.36462425 (NIST table, with more digits).
        let half = 2.364_624_25 * deviation / 8.0f64.sqrt();
        assert!((estimate.ci95.expect("two") - half).abs() < 1e-7);
    }

    #[test]
    fn one_value_has_no_interval_and_none_no_estimate() {
        let estimate = Estimate::of(&[3.0]).expect("a value");
        assert_eq!((estimate.mean, estimate.stddev, estimate.ci95), (3.0, None, None));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn intervals_stay_within_what_is_possible() {
        let interval = |values: &[f64], unit| {
            Estimate::of(values).and_then(|found| found.interval(unit)).expect("an interval")
        };
        // Two repetitions yield wide intervals, but a rate is not below 0 and a loss not above 100
        // %.
        let rate = interval(&[10.0, 30.0], Unit::PerSecond);
        assert!(rate.low == 0.0 && rate.high > 100.0, "{rate:?}");
        let loss = interval(&[0.9, 1.0], Unit::Fraction);
        assert_eq!(loss.high, 1.0);
        assert_eq!(interval(&[0.0, 0.1], Unit::Fraction).low, 0.0);
        let cpu = Estimate::of(&[150.0, 190.0]).expect("values");
        assert!(cpu.interval(Unit::CpuPercent).expect("an interval").high > 400.0);
        let cut = cpu.at_most(200.0).interval(Unit::CpuPercent).expect("an interval");
        assert_eq!((cut.low, cut.high), (0.0, 200.0));
        // A limit that a value exceeds does not apply, and an interval within the limits is
        // unchanged.
        assert!(cpu.at_most(180.0).interval(Unit::CpuPercent).expect("an interval").high > 400.0);
        assert!(interval(&[-1.0, 1.0], Unit::Seconds).low < -1.0);
        let narrow = Estimate::of(&[10.0, 10.1]).expect("values");
        let half = narrow.ci95.expect("two");
        let inside = narrow.interval(Unit::Seconds).expect("an interval");
        assert_eq!((inside.low, inside.high), (narrow.mean - half, narrow.mean + half));
        assert_eq!(Estimate::of(&[1.0]).and_then(|one| one.interval(Unit::Seconds)), None);
    }

    #[test]
    fn ratios_are_taken_within_each_repetition() {
        let ratio = Estimate::of_ratio(&[2.0, 6.0], &[1.0, 3.0]).expect("values");
        assert_eq!((ratio.mean, ratio.ci95), (2.0, Some(0.0)));
        assert_eq!(format!("{ratio}|{ratio:>14.1}"), "2.00 ± 0.00|     2.0 ± 0.0");
    }

    #[test]
    fn a_difference_agrees_with_a_calculation_by_hand() {
        // The variances of the means are 0.5 and 2, together 2.5. The degrees of freedom are 6.25 /
        // (0.25/4 + 4/4) = 5.882. The quantile t(5.882) = 2.4588 (R: qt(0.975, 5.882353)) lies
        // between t(5) = 2.571 and t(6) = 2.447.
        let before = Estimate::of(&[8.0, 9.0, 10.0, 11.0, 12.0]).expect("values");
        let after = Estimate::of(&[16.0, 18.0, 20.0, 22.0, 24.0]).expect("values");
        let difference = Difference::of(&before, &after);
        assert_eq!(difference.mean, 10.0);
        let half = difference.ci95.expect("several");
        assert!(half > 2.447 * 2.5f64.sqrt() && half < 2.571 * 2.5f64.sqrt(), "{half}");
        assert!(difference.is_shown());
    }

    #[test]
    fn uncertain_differences_are_not_shown() {
        let of = |values: &[f64]| Estimate::of(values).expect("values");
        assert!(!Difference::of(&of(&[1.0, 9.0]), &of(&[2.0, 11.0])).is_shown());
        assert_eq!(Difference::of(&of(&[1.0]), &of(&[2.0, 2.1])).ci95, None);
        assert!(!Difference::of(&of(&[1.0]), &of(&[2.0, 2.1])).is_shown());
        assert!(!Difference::of(&of(&[3.0, 3.0]), &of(&[3.0, 3.0])).is_shown());
        assert!(Difference::of(&of(&[3.0, 3.0]), &of(&[4.0, 4.0])).is_shown());
    }

    proptest! {
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

        #[test]
        fn fewer_degrees_of_freedom_widen_the_interval(freedom in 1.0f64..200.0, more in 0.01f64..50.0) {
            prop_assert!(t95(freedom) > t95(freedom + more));
        }
    }
}
