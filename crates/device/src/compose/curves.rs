//! The service curves of a device that performs several functions, in exact arithmetic. Times are
//! in microseconds, and data in bits.

use calculus::{AlgebraError, Curve, Rational};

use super::{ComposeError, Composition, Guarantee, Predicted};
use crate::campaign::{FunctionName, Picoseconds};
use crate::level::Level;
use crate::model::{FunctionModel, Model, SettingModel};

/// The way in which a device performs several functions for each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Semantics {
    /// The functions are stages of a pipeline, each of which processes another packet at the same
    /// time. Their rates are independent, and the smallest rate determines the rate of the device.
    Pipelined,
    /// The device completes a packet before it starts the next one, so that the costs of functions
    /// add up.
    RunToCompletion,
}

impl std::fmt::Display for Semantics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Pipelined => "pipelined",
            Self::RunToCompletion => "run to completion",
        })
    }
}

/// The service curves of a device that performs several functions for each packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// The minimum service curves. Each level that is an upper bound, such as the maximum, has a
    /// burst-delay curve (equation 1) and, if rates are known, a rate-latency curve (equation 2)
    /// for each of the two semantics.
    pub minimum: Vec<MinimumService>,
    /// The maximum service curve (equation 4), or `None` if the line rate is unknown.
    pub maximum: Option<MaximumService>,
    /// Remarks for the reader of the curves, as sentences.
    pub remarks: Vec<String>,
}

/// A minimum service curve: a lower bound on what the device transmits.
#[derive(Debug, Clone, PartialEq)]
pub struct MinimumService {
    /// The statistic of delays from which the latency comes, such as the maximum.
    pub level: Level,
    /// The way in which the device combines functions, or `None` for a burst-delay curve, which has
    /// no rate.
    pub semantics: Option<Semantics>,
    /// The rate R of the curve in bit/µs, or `None` for a burst-delay curve, which has no rate.
    pub rate: Option<Rational>,
    /// The latency T of the curve in µs.
    pub latency: Rational,
    /// The minimum service curve, in µs and bits.
    pub curve: Curve,
    /// The strength of the curve: whether it is certain, holds with some confidence, or was only
    /// observed.
    pub guarantee: Guarantee,
}

/// A maximum service curve: an upper bound on what the device transmits.
#[derive(Debug, Clone, PartialEq)]
pub struct MaximumService {
    /// The rate of the curve in bit/µs, which is the line rate R_max.
    pub rate: Rational,
    /// The latency T_min of the curve in µs.
    pub latency: Rational,
    /// The maximum service curve, in µs and bits.
    pub curve: Curve,
}

/// The reason why no service curves can be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CurveError {
    /// The model lacks a requested function.
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// The predicted figures do not form a curve.
    #[error("the figures do not make a curve: {0}")]
    Curve(#[from] calculus::CurveError),
    /// The curves of the functions cannot be convolved.
    #[error("curves cannot be convolved: {0}")]
    Algebra(#[from] AlgebraError),
}

impl Model {
    /// Returns the service curves of a device that performs the functions of a prediction.
    ///
    /// # Errors
    /// Returns a [`CurveError`] if the figures form no curve, or the curves cannot be convolved.
    pub fn curves(
        &self,
        under: &SettingModel,
        composition: &Composition,
    ) -> Result<Curves, CurveError> {
        let mut remarks = Vec::new();
        let functions: Vec<&FunctionModel> =
            composition.functions.iter().filter_map(|name| under.function(name)).collect();
        let rates = self.rates(under, &functions, &mut remarks);
        let mut minimum = Vec::new();
        for predicted in composition.levels.iter().filter(|predicted| predicted.level.is_upper()) {
            let latency = microseconds(predicted.safe);
            minimum.push(MinimumService {
                level: predicted.level,
                semantics: None,
                rate: None,
                curve: Curve::burst_delay(latency.clone())?,
                latency,
                guarantee: guarantee(predicted, composition),
            });
            if let Some(rates) = &rates {
                minimum.push(self.pipelined(under, &functions, predicted, composition, rates)?);
                minimum.push(run_to_completion(under, predicted, composition, rates)?);
            }
        }
        if !composition.refused.is_empty() {
            let names: Vec<&str> = composition.refused.iter().map(FunctionName::as_str).collect();
            remarks.push(format!(
                "the cost of {} is not a constant: sums of levels are not bounds; see the union bounds",
                names.join(", ")
            ));
        }
        Ok(Curves { minimum, maximum: self.maximum_service(under, composition)?, remarks })
    }

    /// Returns the highest rates without loss, R_min in bit/µs, of the baseline and of each
    /// function. Returns `None` if the rate of the baseline is unknown. A function without a
    /// measured rate gets the rate of the baseline. Both cases add a remark to `remarks`.
    fn rates(
        &self,
        under: &SettingModel,
        functions: &[&FunctionModel],
        remarks: &mut Vec<String>,
    ) -> Option<Rates> {
        let Some(baseline) = under.f0.loss_free_rate else {
            remarks.push(
                "no loss-free rate was found for the baseline, so all curves are burst-delay curves".to_owned(),
            );
            return None;
        };
        let mut rate = |function: &&FunctionModel| {
            let rate = function.measurement.loss_free_rate;
            if rate.is_none() {
                remarks.push(format!(
                    "no loss-free rate was found for {}: the baseline's is used",
                    function.function.name
                ));
            }
            bits_per_microsecond(rate.unwrap_or(baseline))
        };
        let rates = functions.iter().map(&mut rate).collect();
        Some(Rates { baseline: bits_per_microsecond(baseline), functions: rates })
    }

    /// Returns the minimum service curve of a pipelined device (equation 3). It is the convolution
    /// of the curves of the baseline and of all functions, and of one more server. This server adds
    /// the latency that is missing up to the bound on the predicted delay.
    ///
    /// Latency is missing for two reasons. The curves of the functions come from measured values,
    /// without their confidence intervals. In addition, they model fluid servers, whose convolution
    /// counts the transmission time of a packet once, but a device that stores the packet in each
    /// stage spends this time in each stage.
    fn pipelined(
        &self,
        under: &SettingModel,
        functions: &[&FunctionModel],
        predicted: &Predicted,
        composition: &Composition,
        rates: &Rates,
    ) -> Result<MinimumService, CurveError> {
        let packet = packet_bits(under);
        // A server of rate R and latency T delays a packet by T + L/R, so L/R must be subtracted
        // from the measured delay.
        let latency_of =
            |delay: Picoseconds, rate: &Rational| &microseconds(delay) - &(&packet / rate);
        let level = |function: &FunctionModel| {
            function.measurement.profile.level(predicted.level).map(|e| e.value)
        };
        let f0 = under
            .f0
            .profile
            .level(predicted.level)
            .map_or(Picoseconds(0), |estimate| estimate.value);
        let of_baseline = latency_of(f0, &rates.baseline);
        let mut curve =
            Curve::rate_latency(rates.baseline.clone(), not_negative(of_baseline.clone()))?;
        let mut rate = rates.baseline.clone();
        let mut latency = not_negative(of_baseline.clone());
        for (function, function_rate) in functions.iter().zip(&rates.functions) {
            let with = latency_of(level(function).unwrap_or(f0), function_rate);
            let more = not_negative(&with - &of_baseline);
            curve =
                curve.convolution(&Curve::rate_latency(function_rate.clone(), more.clone())?)?;
            rate = rate.min(function_rate.clone());
            latency = &latency + &more;
        }
        let costs = functions.iter().filter_map(|function| level(function));
        let of_samples = costs.fold(f0.0, |sum, with| sum + (with.0 - f0.0).max(0));
        let uncertain = microseconds(Picoseconds(predicted.safe.0 - of_samples));
        let for_one_packet = &microseconds(predicted.safe) - &(&packet / &rate);
        let bound = (&latency + &not_negative(uncertain)).max(for_one_packet);
        let more = not_negative(&bound - &latency);
        curve = curve.convolution(&Curve::rate_latency(rate.clone(), more.clone())?)?;
        latency = &latency + &more;
        debug_assert_eq!(curve, Curve::rate_latency(rate.clone(), latency.clone())?);
        Ok(MinimumService {
            level: predicted.level,
            semantics: Some(Semantics::Pipelined),
            rate: Some(rate),
            latency,
            curve,
            guarantee: guarantee(predicted, composition),
        })
    }

    fn maximum_service(
        &self,
        under: &SettingModel,
        composition: &Composition,
    ) -> Result<Option<MaximumService>, CurveError> {
        let minimum = composition.levels.iter().find(|predicted| predicted.level == Level::Minimum);
        let Some((line_rate, minimum)) = self.line_rate.zip(minimum) else { return Ok(None) };
        let rate = bits_per_microsecond(line_rate);
        let latency = not_negative(&microseconds(minimum.value) - &(&packet_bits(under) / &rate));
        Ok(Some(MaximumService {
            curve: Curve::rate_latency(rate.clone(), latency.clone())?,
            rate,
            latency,
        }))
    }
}

/// The highest rates at which the device loses no packet, in bits per microsecond.
struct Rates {
    baseline: Rational,
    /// The rate for each of the functions that the device performs.
    functions: Vec<Rational>,
}

/// Returns the minimum service curve of a device that performs all functions for a packet before it
/// takes the next packet. Its rate is R = L / (c_0 + sum of c_i), where L is the packet length, R_0
/// and R_i are the rates of the baseline and of function i, c_0 = L/R_0, and c_i = L/R_i - L/R_0. A
/// negative c_i counts as zero.
fn run_to_completion(
    under: &SettingModel,
    predicted: &Predicted,
    composition: &Composition,
    rates: &Rates,
) -> Result<MinimumService, CurveError> {
    let packet = packet_bits(under);
    let baseline = &packet / &rates.baseline;
    let cost = rates
        .functions
        .iter()
        .fold(baseline.clone(), |sum, rate| &sum + &not_negative(&(&packet / rate) - &baseline));
    let rate = &packet / &cost;
    let latency = not_negative(&microseconds(predicted.safe) - &cost);
    Ok(MinimumService {
        level: predicted.level,
        semantics: Some(Semantics::RunToCompletion),
        curve: Curve::rate_latency(rate.clone(), latency.clone())?,
        rate: Some(rate),
        latency,
        guarantee: guarantee(predicted, composition),
    })
}

/// Returns the strength of a minimum service curve. A curve of the maximum is deterministic if
/// costs are constant, under the assumption that no delay exceeds the measured maxima. Any other
/// curve is as strong as the predicted delay.
fn guarantee(predicted: &Predicted, composition: &Composition) -> Guarantee {
    match predicted.level {
        Level::Maximum if composition.refused.is_empty() => Guarantee::Deterministic,
        _ => predicted.guarantee,
    }
}

fn microseconds(time: Picoseconds) -> Rational {
    Rational::ratio(time.0, 1_000_000)
}

fn bits_per_microsecond(bits_per_second: u64) -> Rational {
    Rational::ratio(i64::try_from(bits_per_second).unwrap_or(i64::MAX), 1_000_000)
}

fn packet_bits(under: &SettingModel) -> Rational {
    Rational::from(8 * i64::from(under.setting.packet_bytes))
}

fn not_negative(value: Rational) -> Rational {
    value.max(Rational::ZERO)
}
