//! Means with their confidence.

use std::fmt;

/// A mean and half the width of its 95 % confidence interval (Student).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    half_width: f64,
    pub(crate) best: f64,
}

/// Two-sided 95 % quantiles of Student's distribution for 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

impl Estimate {
    /// From at least two samples.
    pub(crate) fn of(samples: &[f64]) -> Self {
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let variance =
            samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let quantile = STUDENT.get(samples.len() - 2).copied().unwrap_or(1.96);
        let best = samples.iter().copied().fold(0.0, f64::max);
        Self { mean, half_width: quantile * (variance / count).sqrt(), best }
    }

    /// Of the ratios within each repetition.
    pub(crate) fn of_ratio(numerators: &[f64], denominators: &[f64]) -> Self {
        let ratios: Vec<f64> =
            numerators.iter().zip(denominators).map(|(above, below)| above / below).collect();
        Self::of(&ratios)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:6.2} +- {:.2}", self.mean, self.half_width))
    }
}
