//! The times between the packet-ins of a switch (gaps), which are constant, random or recorded.
//!
//! Every distribution is scaled so that its mean is the inverse of the rate, in nanoseconds:
//!
//! | arrivals | gap |
//! | --- | --- |
//! | exponential | mean times a standard exponential variate |
//! | uniform, spread s | uniform on mean (1 - s) to mean (1 + s) |
//! | normal, deviation d | normal with deviation d times its own mean, drawn again while negative |
//! | Pareto, shape a | Pareto with minimum mean (a - 1) / a |
//! | gamma, shape k | gamma with scale mean / k |
//!
//! Drawing again cuts the normal distribution at zero, which raises its mean by the factor 1 + d
//! φ(1/d) / Φ(1/d) with the standard normal density φ and distribution Φ (Johnson, Kotz and
//! Balakrishnan, Continuous Univariate Distributions, volume 1, section 10.1). The uncut mean is
//! lowered by that factor, so that the long-run rate is the requested one. The standard deviation
//! of the drawn gaps is then somewhat below d times their mean: by 0.3 % at d = 0.3.

use std::sync::Arc;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, Gamma, Pareto, StandardNormal};

use super::error::ScheduleError;
use super::replay::Recording;
use crate::config::Arrivals;

/// The lowest rate of a switch: one packet-in in thirty years.
pub(super) const MIN_RATE: f64 = 1e-9;
/// The highest rate of a switch: one packet-in per nanosecond.
pub(super) const MAX_RATE: f64 = 1e9;

/// The smallest allowed shape of a Pareto distribution. With shapes closer to 1, the mean is
/// dominated by gaps so rare and long that no run encounters them.
const MIN_PARETO_SHAPE: f64 = 1.01;
/// The smallest allowed shape of a gamma distribution. With smaller shapes, practically all gaps
/// are zero and the others are longer than any run.
const MIN_GAMMA_SHAPE: f64 = 0.01;

/// The rule by which the times between the packet-ins of one switch are computed.
#[derive(Clone, Debug)]
pub(super) enum Gaps {
    /// Constant times of `interval` nanoseconds. Either the switches are staggered evenly over the
    /// interval, or all send at the same moments.
    Constant { interval: f64, is_staggered: bool },
    /// Independent random times.
    Drawn(Drawn),
    /// Times that were recorded in a file.
    Replay(Arc<Recording>),
}

/// The distribution of independent random times, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) enum Drawn {
    Exponential { mean: f64 },
    Uniform { low: f64, width: f64 },
    Normal { mean: f64, deviation: f64 },
    Pareto(Pareto<f64>),
    Gamma(Gamma<f64>),
}

impl Gaps {
    /// Creates the rule for a switch. `recording` reads the times for [`Arrivals::Replay`], and is
    /// not called for other distributions.
    pub(super) fn new(
        switch: u32,
        rate: f64,
        arrivals: &Arrivals,
        recording: impl FnOnce(&std::path::Path) -> Result<Arc<Recording>, ScheduleError>,
    ) -> Result<Self, ScheduleError> {
        if let Arrivals::Replay { file } = arrivals {
            return recording(file).map(Self::Replay);
        }
        if !(MIN_RATE..=MAX_RATE).contains(&rate) {
            return Err(ScheduleError::Rate { switch, rate, min: MIN_RATE, max: MAX_RATE });
        }
        let mean = 1e9 / rate;
        let impossible = |distribution, parameter, value, wanted| ScheduleError::Parameter {
            switch,
            distribution,
            parameter,
            value,
            wanted,
        };
        Ok(Self::Drawn(match *arrivals {
            Arrivals::Constant | Arrivals::Replay { .. } => {
                return Ok(Self::Constant { interval: mean, is_staggered: true });
            }
            Arrivals::InPhase => {
                return Ok(Self::Constant { interval: mean, is_staggered: false });
            }
            Arrivals::Exponential => Drawn::Exponential { mean },
            Arrivals::Uniform { spread } => {
                if !(0.0..=1.0).contains(&spread) {
                    return Err(impossible("uniform", "spread", spread, "from 0 to 1"));
                }
                Drawn::Uniform { low: mean * (1.0 - spread), width: 2.0 * mean * spread }
            }
            Arrivals::Normal { deviation } => {
                if !(0.0..=100.0).contains(&deviation) {
                    return Err(impossible("normal", "deviation", deviation, "from 0 to 100"));
                }
                let uncut = mean / cut_mean(deviation);
                Drawn::Normal { mean: uncut, deviation: deviation * uncut }
            }
            Arrivals::Pareto { shape } => (shape >= MIN_PARETO_SHAPE)
                .then(|| Pareto::new(mean * (1.0 - 1.0 / shape), shape).ok())
                .flatten()
                .map(Drawn::Pareto)
                .ok_or_else(|| impossible("Pareto", "shape", shape, "at least 1.01"))?,
            Arrivals::Gamma { shape } => (shape >= MIN_GAMMA_SHAPE && shape.is_finite())
                .then(|| Gamma::new(shape, mean / shape).ok())
                .flatten()
                .map(Drawn::Gamma)
                .ok_or_else(|| {
                    impossible("gamma", "shape", shape, "a finite number, at least 0.01")
                })?,
        }))
    }
}

impl Drawn {
    /// Draws the next gap in nanoseconds, which is never negative but may be infinite.
    pub(super) fn draw(&self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Exponential { mean } => mean * rng.sample::<f64, _>(Exp1),
            Self::Uniform { low, width } => low + width * rng.random::<f64>(),
            Self::Normal { mean, deviation } => loop {
                let gap = mean + deviation * rng.sample::<f64, _>(StandardNormal);
                if gap >= 0.0 {
                    break gap;
                }
            },
            Self::Pareto(pareto) => pareto.sample(rng),
            Self::Gamma(gamma) => gamma.sample(rng),
        }
    }

    /// Draws the time from the start of a switch to its first packet-in.
    ///
    /// If every switch began with a complete gap and gaps varied little, all switches would send
    /// their first packet-ins almost at the same time. The result is therefore a uniformly drawn
    /// part of a gap. An exponential gap is memoryless and is used in full, so that arrivals are
    /// exactly a Poisson process.
    pub(super) fn draw_first(&self, rng: &mut impl Rng) -> f64 {
        let gap = self.draw(rng);
        match self {
            Self::Exponential { .. } => gap,
            _ => gap * rng.random::<f64>(),
        }
    }
}

/// Returns the mean of a normal distribution with mean 1 and the given standard deviation after
/// negative values are drawn again.
fn cut_mean(deviation: f64) -> f64 {
    if deviation == 0.0 {
        return 1.0;
    }
    let z = 1.0 / deviation;
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let distribution = 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
    1.0 + deviation * density / distribution
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_mean_agrees_with_numerical_integration() {
        for deviation in [0.1, 0.3, 1.0, 3.0, 100.0] {
            // Integrates x f(x) and f(x) over x >= 0 by the trapezoid rule.
            let steps = 2_000_000;
            let upper = 1.0 + 12.0 * deviation;
            let width = upper / f64::from(steps);
            let (mut moment, mut mass) = (0.0, 0.0);
            for step in 0..=steps {
                let x = f64::from(step) * width;
                let z = (x - 1.0) / deviation;
                let weight = if step == 0 || step == steps { 0.5 } else { 1.0 };
                let density = weight * (-0.5 * z * z).exp();
                moment += x * density;
                mass += density;
            }
            let expected = moment / mass;
            let got = cut_mean(deviation);
            assert!((got / expected - 1.0).abs() < 1e-7, "{deviation}: {got} {expected}");
        }
    }
}
