//! The knee of the response time over the offered rate.
//!
//! The knee is the rate with the most *power*, the ratio of answer rate to response time (L.
//! Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer
//! communications", ICC 1979). Below the knee, one percent more load costs less than one percent
//! more response time. Above the knee, it costs more. Unlike measures of curvature, the power
//! depends neither on the range of the rates tried nor on the scale of the axes. For an M/M/1 queue
//! its maximum is at half of the capacity, for any examined range.
//!
//! The power is flat at its top and single trials are noisy, so a knee is stated with an interval:
//! it extends to the neighbours of every rate whose power cannot be distinguished from the highest.
//! Where rates were repeated, this is decided by Student's t distribution with the pooled variance
//! of all rates.

use statistics::{Confidence, student_t};

use super::Observation;

/// The relative difference below which the offered rates of two trials count as equal. Random
/// arrivals make the measured rates of repeated trials differ a little.
const SAME_RATE: f64 = 0.01;
/// The least degrees of freedom with which the variance of the power is estimated. With a single
/// degree of freedom, the interval would be too wide to distinguish any two powers.
const LEAST_FREEDOM: usize = 2;

/// A knee, or the reason why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Knee {
    /// The offered rate at the knee, and the interval in which the knee lies.
    pub found: Option<KneeRates>,
    /// A sentence on the method that found the knee, or on the reason why there is none.
    pub method: String,
}

/// A knee and its interval, as offered rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KneeRates {
    /// The best estimate of the offered rate at the knee.
    pub rate: f64,
    /// The lower end of the interval in which the knee lies.
    pub low: f64,
    /// The upper end of the interval in which the knee lies.
    pub high: f64,
}

/// Returns the knee of the response time over the offered rate. Observations at one rate are
/// averaged; observations without samples are ignored. Rates with which the system or the tester
/// did not keep up must be left out, since their answer rate and response time depend on the length
/// of the trial.
///
/// There is no knee with fewer than four rates, nor at the lowest or highest of them, since the
/// power may be greater outside.
#[must_use]
pub fn knee(observations: &[Observation]) -> Knee {
    let powers = powers(observations.iter().copied());
    let none = |method: &str| Knee { found: None, method: method.to_owned() };
    if powers.len() < 4 {
        return none("no knee: fewer than four loss-free rates have response times");
    }
    let top = most(&powers).unwrap_or(0);
    if top == 0 {
        return none("no knee: answered rate over response time falls from the lowest rate on");
    }
    let Some([before, at, after]) = powers.get(top - 1..=top + 1) else {
        return none(
            "no knee: answered rate over response time rises up to the highest loss-free rate",
        );
    };
    let noise = Noise::of(&powers);
    let alike = |power: &&Power| noise.as_ref().is_some_and(|noise| noise.covers(at, power));
    let first = powers.iter().position(|power| alike(&power)).unwrap_or(top).min(top);
    let last = powers.iter().rposition(|power| alike(&power)).unwrap_or(top).max(top);
    let rate_at = |index: usize| powers.get(index).map_or(at.rate, |power| power.rate).exp();
    let interval = match noise {
        Some(_) => {
            "the interval ends beside the rates whose power 95 % confidence does not tell from it"
        }
        None => "the interval is that of its neighbours, too few trials being repeated for more",
    };
    Knee {
        found: Some(KneeRates {
            rate: vertex(before, at, after),
            low: rate_at(first.saturating_sub(1)),
            high: rate_at((last + 1).min(powers.len() - 1)),
        }),
        method: format!(
            "the offered rate with the most power (answered rate over mean response time, \
             Kleinrock 1979), interpolated between {} loss-free rates; {interval}",
            powers.len()
        ),
    }
}

/// The power at a rate: the ratio of answer rate to response time. All fields are logarithms, so
/// that interpolation does not depend on the scale.
#[derive(Clone, Debug)]
pub(super) struct Power {
    pub(super) rate: f64,
    /// The mean logarithm of the power over the trials at this rate.
    power: f64,
    values: Vec<f64>,
}

impl Power {
    fn of(values: &[(f64, f64)]) -> Self {
        let n = values.len() as f64;
        Self {
            rate: values.iter().map(|(rate, _)| rate).sum::<f64>() / n,
            power: values.iter().map(|(_, power)| power).sum::<f64>() / n,
            values: values.iter().map(|(_, power)| *power).collect(),
        }
    }
}

/// The standard deviation of the power from trial to trial at the same rate.
struct Noise {
    deviation: f64,
    quantile: f64,
}

impl Noise {
    /// Returns the standard deviation pooled over all rates, or `None` if too few trials were
    /// repeated at the same rate.
    fn of(powers: &[Power]) -> Option<Self> {
        let freedom: usize = powers.iter().map(|power| power.values.len() - 1).sum();
        if freedom < LEAST_FREEDOM {
            return None;
        }
        let squares = powers
            .iter()
            .flat_map(|power| power.values.iter().map(|value| (value - power.power).powi(2)));
        Some(Self {
            deviation: (squares.sum::<f64>() / freedom as f64).sqrt(),
            quantile: student_t(Confidence::P95, freedom as f64),
        })
    }

    /// Returns whether chance alone may explain that the power `other` is lower than `top`.
    fn covers(&self, top: &Power, other: &Power) -> bool {
        let [n, m] = [top, other].map(|power| power.values.len() as f64);
        let error = self.deviation * (1.0 / n + 1.0 / m).sqrt();
        top.power - other.power <= self.quantile * error
    }
}

/// Returns the index of the greatest power in `powers`.
pub(super) fn most(powers: &[Power]) -> Option<usize> {
    let by_power = powers.iter().enumerate().max_by(|(_, a), (_, b)| a.power.total_cmp(&b.power));
    by_power.map(|(index, _)| index)
}

/// Returns the power at each offered rate, in ascending order of the rates.
pub(super) fn powers(observations: impl Iterator<Item = Observation>) -> Vec<Power> {
    let mut logarithms: Vec<(f64, f64)> = observations
        .filter_map(|observation| {
            let rate = observation.offered_rate.ln();
            let power = (observation.received_rate / observation.rtt_mean?).ln();
            (rate.is_finite() && power.is_finite()).then_some((rate, power))
        })
        .collect();
    logarithms.sort_by(|a, b| a.0.total_cmp(&b.0));
    logarithms.chunk_by(|a, b| b.0 - a.0 < SAME_RATE).map(Power::of).collect()
}

/// Returns the offered rate at which the parabola through three points of the power curve has its
/// maximum. The middle point must be the highest, so the maximum lies between the outer points.
fn vertex(before: &Power, top: &Power, after: &Power) -> f64 {
    let (left, right) = (top.rate - before.rate, after.rate - top.rate);
    // The slopes of the two chords. `rise` is not negative, and `fall` is not positive.
    let rise = (top.power - before.power) / left;
    let fall = (after.power - top.power) / right;
    let curvature = (rise - fall) / (left + right);
    let step = if curvature > 0.0 {
        // Newton's step from the middle point to the point at which the slope is zero.
        (rise * right + fall * left) / (left + right) / (2.0 * curvature)
    } else {
        0.0
    };
    (top.rate + step.clamp(-left, right)).exp()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::observation;
    use super::*;

    /// Returns observations of a simulated queue, one for each of `loads`. `time` returns the mean
    /// time in the queue and in service at a load.
    fn queue(loads: &[f64], capacity: f64, time: impl Fn(f64) -> f64) -> Vec<Observation> {
        loads
            .iter()
            .map(|load| Observation {
                rtt_mean: Some(time(*load) / capacity),
                ..observation(load * capacity, 0.0)
            })
            .collect()
    }

    fn loads(from: f64, to: f64, count: u32) -> Vec<f64> {
        let step = (to - from) / f64::from(count - 1);
        (0..count).map(|i| from + step * f64::from(i)).collect()
    }

    fn found(observations: &[Observation]) -> f64 {
        knee(observations).found.expect("a knee").rate
    }

    #[test]
    fn the_knee_of_mm1_is_at_half_of_the_capacity_for_any_examined_range() {
        for (from, to, count) in [(0.05, 0.95, 19), (0.1, 0.99, 7), (0.3, 0.7, 5), (0.02, 0.9, 40)]
        {
            let observations = queue(&loads(from, to, count), 40_000.0, |load| 1.0 / (1.0 - load));
            let knee = found(&observations);
            assert!((knee / 20_000.0 - 1.0).abs() < 0.05, "{from} to {to}: {knee}");
        }
    }

    #[test]
    fn the_knee_of_md1_is_where_theory_puts_it() {
        // By Pollaczek-Khinchine, the elasticity of the response time is 1 at load 2 - sqrt 2.
        let time = |load: f64| 1.0 + load / (2.0 * (1.0 - load));
        let observations = queue(&loads(0.05, 0.95, 19), 1000.0, time);
        let expected = 1000.0 * (2.0 - 2.0f64.sqrt());
        assert!((found(&observations) / expected - 1.0).abs() < 0.02);
    }

    #[test]
    fn the_absence_of_a_knee_is_explained() {
        let flat = |rates: &[f64]| -> Knee {
            let observations: Vec<_> = rates.iter().map(|rate| observation(*rate, 0.0)).collect();
            knee(&observations)
        };
        assert!(flat(&[1.0, 2.0, 2.0, 4.0]).method.contains("fewer than four loss-free rates"));
        let rising = flat(&[1.0, 2.0, 4.0, 8.0]);
        assert_eq!(rising.found, None);
        assert!(rising.method.contains("up to the highest loss-free rate"));
        let falling = queue(&loads(0.6, 0.95, 5), 1000.0, |load| 1.0 / (1.0 - load));
        assert!(knee(&falling).method.contains("from the lowest rate on"));
        let no_times: Vec<_> = (1..9)
            .map(|i| Observation { rtt_mean: None, ..observation(f64::from(i), 0.0) })
            .collect();
        assert_eq!(knee(&no_times).found, None);
    }

    #[test]
    fn the_interval_is_that_of_the_neighbours_unless_noise_is_known() {
        let rates = loads(0.1, 0.9, 9);
        let once = queue(&rates, 1000.0, |load| 1.0 / (1.0 - load));
        let alone = knee(&once);
        let found = alone.found.expect("a knee");
        assert!((found.low - 400.0).abs() < 1e-6 && (found.high - 600.0).abs() < 1e-6, "{found:?}");
        assert!(alone.method.contains("that of its neighbours"), "{}", alone.method);
        // Each rate occurs twice, with response times that differ by a fifth, so the top could be
        // elsewhere.
        let noisy = |factor: f64| {
            once.iter().map(move |observation| Observation {
                rtt_mean: observation.rtt_mean.map(|time| time * factor),
                ..*observation
            })
        };
        let wide = knee(&noisy(0.9).chain(noisy(1.1)).collect::<Vec<_>>());
        let wide_found = wide.found.expect("a knee");
        assert!(wide_found.low < found.low && wide_found.high > found.high, "{wide_found:?}");
        assert!(wide.method.contains("95 % confidence"), "{}", wide.method);
        // With repetitions without noise, neighbours can be distinguished again.
        let same = knee(&noisy(1.0).chain(noisy(1.0)).collect::<Vec<_>>());
        assert_eq!(same.found.expect("a knee"), found);
    }

    proptest! {
        #[test]
        fn the_knee_does_not_depend_on_scale(scale in 1e-3f64..1e6, slow in 1e-3f64..1e3) {
            let loads = loads(0.05, 0.95, 12);
            let one = found(&queue(&loads, 1.0, |load| 1.0 / (1.0 - load)));
            let other = found(&queue(&loads, scale, |load| slow / (1.0 - load)));
            prop_assert!((other / scale / one - 1.0).abs() < 1e-6);
        }
    }
}
