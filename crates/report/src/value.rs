//! Values with their unit and uncertainty, for tables and figures of reports.

use statistics::{Estimate, Unit};

use crate::format::{cut, figure, mean_and_interval, whole};

/// A value with its unit and uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Value {
    /// The value, in the base unit of `unit`.
    pub value: f64,
    /// The unit of the value.
    pub unit: Unit,
    /// The uncertainty of the value.
    pub spread: Spread,
}

/// The uncertainty of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Spread {
    /// No uncertainty is stated.
    #[default]
    None,
    /// Half of the width of the 95 % confidence interval of the mean.
    Confidence(f64),
    /// The 95 % confidence interval of the mean, limited to values that are possible. For example,
    /// a time cannot be negative.
    Cut {
        /// Half of the width that the confidence interval had before it was limited to possible
        /// values.
        half: f64,
        /// The lower end of the interval.
        low: f64,
        /// The upper end of the interval.
        high: f64,
    },
    /// The 95 % confidence interval of the mean, limited to possible values, if it is so wide that
    /// the mean is meaningless: half of its width is at least as large as the mean.
    Untold {
        /// Half of the width that the confidence interval had before it was limited to possible
        /// values.
        half: f64,
        /// The lower end of the interval.
        low: f64,
        /// The upper end of the interval.
        high: f64,
    },
    /// The sample standard deviation, for published values without an interval.
    Deviation(f64),
    /// The value is approximate: its source rounds it ("about", "around"), or it was read from a
    /// plot.
    About,
}

impl Spread {
    /// Returns half of the width of the confidence interval, if there is one.
    #[must_use]
    pub fn confidence(self) -> Option<f64> {
        match self {
            Self::Confidence(half) | Self::Cut { half, .. } | Self::Untold { half, .. } => {
                Some(half)
            }
            _ => None,
        }
    }

    /// Returns the ends of the confidence interval around this mean, if there is an interval.
    #[must_use]
    pub fn ends(self, mean: f64) -> Option<(f64, f64)> {
        match self {
            Self::Confidence(half) => Some((mean - half, mean + half)),
            Self::Cut { low, high, .. } | Self::Untold { low, high, .. } => Some((low, high)),
            _ => None,
        }
    }

    /// Returns the uncertainty of a mean over repetitions: its confidence interval, limited to the
    /// values that are possible in this unit.
    #[must_use]
    pub fn of(estimate: &Estimate, unit: Unit) -> Self {
        let Some((half, interval)) = estimate.ci95.zip(estimate.interval(unit)) else {
            return estimate.ci95.into();
        };
        let (low, high) = (interval.low, interval.high);
        match (low, high) == (estimate.mean - half, estimate.mean + half) {
            true => Self::Confidence(half),
            false => Self::Cut { half, low, high },
        }
    }
}

/// Converts half of the width of a confidence interval to an uncertainty.
impl From<Option<f64>> for Spread {
    fn from(half: Option<f64>) -> Self {
        half.map_or(Self::None, Self::Confidence)
    }
}

impl Value {
    /// Returns a value for which no uncertainty is stated.
    #[must_use]
    pub fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit, spread: Spread::None }
    }

    /// Returns a mean over repetitions with its confidence interval.
    #[must_use]
    pub fn estimate(estimate: &Estimate, unit: Unit) -> Self {
        Self { value: estimate.mean, unit, spread: Spread::of(estimate, unit) }
    }

    /// Returns a mean over repetitions with its confidence interval, like [`Value::estimate`]. If
    /// half of the width of the interval is at least as large as the mean, the mean is marked as
    /// meaningless (`Spread::Untold`).
    #[must_use]
    pub fn told(estimate: &Estimate, unit: Unit) -> Self {
        let found = Self::estimate(estimate, unit);
        match (found.spread.confidence(), found.spread.ends(estimate.mean)) {
            (Some(half), Some((low, high))) if half > 0.0 && half >= estimate.mean.abs() => {
                Self { spread: Spread::Untold { half, low, high }, ..found }
            }
            (_, _) => found,
        }
    }

    /// Returns whether the confidence interval is narrow enough for the value to be meaningful.
    #[must_use]
    pub fn is_told(&self) -> bool {
        !matches!(self.spread, Spread::Untold { .. })
    }

    /// Formats the value with its uncertainty and unit: `1.471 ± 0.010 k/s`, `≈ 1.5 k/s`.
    #[must_use]
    pub fn words(&self) -> String {
        match self.spread {
            // Exact counts are shown with all digits.
            Spread::None if self.unit == Unit::Count && is_whole(self.value) => {
                whole(self.value as u64)
            }
            Spread::None => figure(self.value, self.unit),
            // All repetitions yielded zero, so there is no interval.
            Spread::Confidence(half) if self.value == 0.0 && half == 0.0 => figure(0.0, self.unit),
            Spread::Cut { half, low, high } => cut(self.value, half, low, high, self.unit),
            Spread::Untold { low: 0.0, high, .. } => {
                format!("not told, up to {}", figure(high, self.unit))
            }
            Spread::Untold { low, high, .. } => {
                format!("not told, {} to {}", figure(low, self.unit), figure(high, self.unit))
            }
            Spread::About => format!("≈ {}", figure(self.value, self.unit)),
            Spread::Confidence(half) | Spread::Deviation(half) => {
                let (mean, half, suffix) = mean_and_interval(self.value, half, self.unit);
                let sd = if matches!(self.spread, Spread::Deviation(_)) { " (sd)" } else { "" };
                match suffix {
                    "" => format!("{mean} ± {half}{sd}"),
                    "/s" => format!("{mean} ± {half}/s{sd}"),
                    suffix => format!("{mean} ± {half} {suffix}{sd}"),
                }
            }
        }
    }
}

fn is_whole(value: f64) -> bool {
    (0.0..1e15).contains(&value) && value.fract() == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_that_its_interval_swallows_is_not_stated() {
        let value = |values: &[f64]| {
            let estimate = Estimate::of(values).expect("values");
            Value::told(&estimate, Unit::PerSecond)
        };
        let wide = value(&[1000.0, 9000.0, 2000.0]);
        assert!(!wide.is_told());
        assert_eq!(wide.words(), "not told, up to 14.8 k/s");
        assert_eq!(wide.value, 4000.0);
        assert!(wide.spread.confidence().is_some_and(|half| half > 4000.0));
        for told in [value(&[1000.0, 1100.0, 1050.0]), value(&[1000.0]), value(&[0.0, 0.0])] {
            assert!(told.is_told(), "{told:?}");
        }
    }
}
