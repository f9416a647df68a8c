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
    fn ends_belong_to_an_interval() {
        let interval = Interval { low: 1.0, high: 2.0 };
        assert!(interval.contains(1.0) && interval.contains(2.0) && !interval.contains(2.1));
    }
}
