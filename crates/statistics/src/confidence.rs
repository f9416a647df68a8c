//! Confidence levels and confidence intervals.

/// A confidence level: the probability with which a confidence interval contains the true value.
/// Intervals are two-sided with equal tails.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// The confidence level of 95 %, which is customary in networking.
    pub const P95: Self = Self(0.95);
    /// The confidence level of 99 %.
    pub const P99: Self = Self(0.99);

    /// Returns the given confidence level, or `None` unless it is between 0 and 1.
    pub fn new(level: f64) -> Option<Self> {
        (level > 0.0 && level < 1.0).then_some(Self(level))
    }

    /// Returns the confidence level as a probability between 0 and 1.
    pub fn level(self) -> f64 {
        self.0
    }

    /// Returns the confidence level of each of `count` intervals that all hold together with at
    /// least this confidence: each may be wrong with an equal share of the remaining probability
    /// (the method of Bonferroni).
    #[must_use]
    pub fn of_each(self, count: usize) -> Self {
        Self(1.0 - (1.0 - self.0) / count.max(1) as f64)
    }

    /// Returns the probability that the true value lies above the interval, which equals the
    /// probability that it lies below.
    pub(crate) fn tail(self) -> f64 {
        (1.0 - self.0) / 2.0
    }
}

/// A closed interval of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// Returns whether the interval contains a value.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_probabilities_are_levels() {
        assert_eq!(Confidence::new(0.95), Some(Confidence::P95));
        assert!(
            [0.0, 1.0, -0.5, 95.0, f64::NAN]
                .into_iter()
                .all(|level| Confidence::new(level).is_none())
        );
    }

    #[test]
    fn intervals_that_hold_together_share_the_probability_of_an_error() {
        assert_eq!(Confidence::P95.of_each(1), Confidence::P95);
        assert_eq!(Confidence::P95.of_each(0), Confidence::P95);
        assert!((Confidence::P95.of_each(20).level() - 0.9975).abs() < 1e-12);
    }

    #[test]
    fn ends_belong_to_an_interval() {
        let interval = Interval { low: 1.0, high: 2.0 };
        assert!(interval.contains(1.0) && interval.contains(2.0) && !interval.contains(2.1));
    }
}
