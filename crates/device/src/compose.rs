//! Predicts how a device behaves if it performs several functions for each packet: delays, bounds
//! on percentiles, service curves.
//!
//! Which figures may be added, and what the sum then means, depends on how the device works. There
//! are three models:
//!
//! * **Pipelined** (equation 3): each function is a server, and a packet passes the servers one
//!   after the other. Service curves are convolved: the rate is the least of the rates, and
//!   latencies add. The result is deterministic if each curve holds.
//! * **Run to completion**: one processor performs all functions for a packet before it takes the
//!   next packet. Costs also add in the rate: R = L / (c_0 + sum of c_i).
//! * **Union bound**: only the distributions are known. Let D = D_0 + sum of X_i, where X_i is the
//!   cost of function i. A packet exceeds a sum of bounds only if it exceeds one of the bounds, so
//!   the probabilities of violations add. X_i is not measured alone. However, for any m, it exceeds
//!   d - m only if D_0 + X_i, which is measured, exceeds d, or if D_0 is below m.
//!
//! The delays of levels (equations 9 and 10) are the same for the pipelined and the
//! run-to-completion device.

mod curves;

use crate::campaign::{FunctionName, Picoseconds, Setting};
use crate::level::Level;
use crate::model::{FunctionModel, Model, SettingModel, Source};
use crate::shift::Verdict;

pub use curves::{CurveError, Curves, MaximumService, MinimumService, Semantics};

/// The predicted delays of packets for which a device performs a given list of functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// The functions that packets need beyond the baseline, in order. A function may occur several
    /// times.
    pub functions: Vec<FunctionName>,
    /// The conditions for which the prediction holds, such as the packet length.
    pub setting: Setting,
    /// The predicted delays, one for each level (a statistic of delays, such as the median).
    pub levels: Vec<Predicted>,
    /// Bounds on percentiles of the delay, which hold even if costs vary from packet to packet.
    pub union: Vec<UnionBound>,
    /// The functions whose cost varies from packet to packet, so that it must not be added to other
    /// costs. The list is sorted and has no duplicates.
    pub refused: Vec<FunctionName>,
}

/// A predicted delay at one level, such as the median (equation 9).
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The statistic that is predicted, such as the median.
    pub level: Level,
    /// The predicted delay: that of the baseline, T_0, plus the cost of each function.
    pub value: Picoseconds,
    /// The lower end of the confidence interval of the delay, or `None` if it is unknown.
    pub low: Option<Picoseconds>,
    /// The upper end of the confidence interval of the delay, or `None` if it is unknown.
    pub high: Option<Picoseconds>,
    /// The delay to use as a bound. For a level that is not an upper bound, such as the median, it
    /// is the predicted delay. For the maximum and percentiles above the median, it is the largest
    /// of these values:
    ///
    /// * the delay of the baseline plus all positive costs, because negative costs do not yield a
    ///   service curve;
    /// * for a percentile, the upper end of the confidence interval, if known;
    /// * for the maximum, if all costs are constant: the largest delay of any cell involved, less
    ///   the median cost of that cell, plus the largest plausible costs of all functions.
    pub safe: Picoseconds,
    /// The largest share of packets that may exceed `safe`, or `None` if it is unknown. This share
    /// holds with the confidence in `guarantee` for a percentile, and with the confidence of the
    /// model for the maximum.
    pub beyond: Option<f64>,
    /// The functions whose measured cost at this level (a statistic of delays) is negative.
    pub negative: Vec<FunctionName>,
    /// The strength of the prediction: whether it is certain, holds with some confidence, or was
    /// only observed.
    pub guarantee: Guarantee,
}

/// The strength of a statement about a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Guarantee {
    /// The figure holds for every packet, under assumptions that are stated next to it.
    Deterministic,
    /// The figure holds with this confidence, for packets and conditions like those measured.
    Confidence(f64),
    /// The figure was observed. Values that were not observed may be worse.
    Empirical,
}

impl std::fmt::Display for Guarantee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Deterministic => f.pad("deterministic under assumptions"),
            Self::Confidence(confidence) => {
                let percent = format!("{:.4}", 100.0 * confidence);
                f.pad(&format!(
                    "confidence {} %",
                    percent.trim_end_matches('0').trim_end_matches('.')
                ))
            }
            Self::Empirical => f.pad("empirical"),
        }
    }
}

/// A delay that only a small share of packets exceeds, even if costs vary from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnionBound {
    /// The largest share of packets that may exceed the delay.
    pub beyond: f64,
    /// The delay, or `None` if there are too few samples to state one.
    pub delay: Option<Picoseconds>,
    /// The confidence that all percentiles from which the bound is computed hold together.
    pub confidence: f64,
}

/// The shares of packets for which a prediction has bounds. For each share, there is a delay that
/// at most this share of packets exceeds.
const SHARES: [f64; 4] = [1e-1, 1e-2, 1e-3, 1e-4];

/// The reason why the behaviour for several functions cannot be predicted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// The model has no measurement of a requested function under the requested conditions.
    #[error("the model has no measurement of '{name}' under {setting}; it has {known}")]
    Unknown {
        /// The name of the function that was not measured.
        name: FunctionName,
        /// The requested conditions, such as the packet length.
        setting: String,
        /// The functions that were measured under the requested conditions.
        known: String,
    },
}

impl Model {
    /// Predicts the delays of packets that need these functions. Functions of the baseline add
    /// nothing.
    ///
    /// # Errors
    /// Returns [`ComposeError`] if a function was not measured under this setting.
    pub fn compose(
        &self,
        under: &SettingModel,
        names: &[FunctionName],
    ) -> Result<Composition, ComposeError> {
        let unknown = |name: &FunctionName| ComposeError::Unknown {
            name: name.clone(),
            setting: under.setting.to_string(),
            known: self.known(under),
        };
        let beyond = names.iter().filter(|name| !self.in_baseline(name));
        let functions: Vec<&FunctionModel> = beyond
            .map(|name| under.function(name).ok_or_else(|| unknown(name)))
            .collect::<Result<_, ComposeError>>()?;
        let refused =
            functions.iter().filter(|function| verdict(function) == Some(Verdict::Refused));
        let mut refused: Vec<FunctionName> =
            refused.map(|function| function.function.name.clone()).collect();
        refused.sort_unstable();
        refused.dedup();
        let levels = self.levels();
        Ok(Composition {
            functions: functions.iter().map(|function| function.function.name.clone()).collect(),
            setting: under.setting.clone(),
            levels: levels
                .iter()
                .filter_map(|level| self.predict(under, &functions, *level))
                .collect(),
            union: SHARES.iter().map(|share| self.union_bound(under, &functions, *share)).collect(),
            refused,
        })
    }

    fn known(&self, under: &SettingModel) -> String {
        let beyond = under.functions.iter().map(|function| &function.function);
        let names: Vec<&str> =
            self.baseline.iter().chain(beyond).map(|function| function.name.as_str()).collect();
        names.join(", ")
    }

    /// Returns the predicted delay at one level (equation 9): the delay of the baseline plus the
    /// cost of each function.
    fn predict(
        &self,
        under: &SettingModel,
        functions: &[&FunctionModel],
        level: Level,
    ) -> Option<Predicted> {
        let f0 = under.f0.profile.level(level)?;
        let (mut value, mut safe) = (f0.value.0, f0.value.0);
        // The sum telescopes to the sum of all T_i minus (n - 1) T_0, so the interval of T_0 counts
        // n - 1 times instead of n + 1 times.
        let zero = |end: Option<Picoseconds>| {
            if functions.is_empty() { end } else { Some(Picoseconds(0)) }
        };
        let (mut low, mut high) = (zero(f0.low), zero(f0.high));
        let mut negative = Vec::new();
        for function in functions {
            let with = function.measurement.profile.level(level)?;
            let delta = with.value.0.saturating_sub(f0.value.0);
            value = value.saturating_add(delta);
            safe = safe.saturating_add(if level.is_upper() { delta.max(0) } else { delta });
            if delta < 0 {
                negative.push(function.function.name.clone());
            }
            let tolerated = match &function.shift {
                Some(shift) if shift.verdict == Verdict::Tolerated && functions.len() > 1 => {
                    shift.tolerated.0
                }
                _ => 0,
            };
            low = plus(low, with.low, -tolerated);
            high = plus(high, with.high, tolerated);
        }
        for _ in 1..functions.len() {
            low = plus(low, f0.high.map(negated), 0);
            high = plus(high, f0.low.map(negated), 0);
        }
        let known = matches!(self.guarantee(functions, level), Guarantee::Confidence(_));
        // Too few packets yield no interval.
        let known = known && low.is_some() && high.is_some();
        let guarantee = if known { self.guarantee(functions, level) } else { Guarantee::Empirical };
        let mut beyond = None;
        match level {
            Level::Percentile(percentile) if level.is_upper() && known => {
                beyond = high.map(|_| 1.0 - percentile.share());
                safe = safe.max(high.map_or(safe, |high| high.0));
            }
            Level::Maximum => {
                if let Some((largest, share)) = self.largest(under, functions) {
                    safe = safe.max(largest);
                    beyond = Some(share);
                }
            }
            _ => {}
        }
        Some(Predicted {
            beyond,
            level,
            value: Picoseconds(value.max(0)),
            low: low.filter(|_| known),
            high: high.filter(|_| known),
            safe: Picoseconds(safe.max(0)),
            negative,
            guarantee,
        })
    }

    /// Returns a bound on the delay and the share of packets that may exceed the bound. Returns
    /// `None` if a cost is unknown, or if it is not constant.
    ///
    /// If costs are constant, each cell has the distribution of the baseline, shifted by its cost.
    /// The largest delay of each cell, less the median cost of the cell, is therefore comparable
    /// with that of the baseline. The bound is the largest of these delays plus the largest
    /// plausible costs of all functions.
    fn largest(&self, under: &SettingModel, functions: &[&FunctionModel]) -> Option<(i64, f64)> {
        let of = |profile: &crate::profile::Profile, level| profile.level(level).copied();
        let f0 = &under.f0.profile;
        let mut largest = of(f0, Level::Maximum)?.value.0;
        let mut costs = 0i64;
        let mut packets = f0.effective_samples;
        let mut counted = Vec::new();
        for function in functions {
            let shift =
                function.shift.as_ref().filter(|shift| shift.verdict != Verdict::Refused)?;
            let with = &function.measurement.profile;
            let (median, median_0) = (of(with, Level::Median)?, of(f0, Level::Median)?);
            let cost = median.high?.0 - median_0.low?.0;
            costs += cost.max(0)
                + if shift.verdict == Verdict::Tolerated { shift.tolerated.0 } else { 0 };
            largest = largest
                .max(of(with, Level::Maximum)?.value.0 - (median.value.0 - median_0.value.0));
            if !counted.contains(&&function.function.name) {
                packets += with.effective_samples;
                counted.push(&function.function.name);
            }
        }
        let share = 1.0 - (1.0 - self.confidence).powf(1.0 / packets.max(1) as f64);
        (packets > 0).then_some((largest + costs, share))
    }

    /// Returns the strength of the predicted delay at this level. It is empirical for the minimum
    /// and the maximum, for published figures, and for several functions whose costs are not all
    /// constant. Otherwise it is the confidence that all intervals of the sum hold together
    /// (Bonferroni), which decreases with the number of functions.
    fn guarantee(&self, functions: &[&FunctionModel], level: Level) -> Guarantee {
        let extreme = matches!(level, Level::Minimum | Level::Maximum);
        let published = matches!(self.source, Source::Published { .. });
        let constant = |function: &&FunctionModel| {
            verdict(function).is_some_and(|verdict| verdict != Verdict::Refused)
        };
        if extreme || published || (functions.len() > 1 && !functions.iter().all(constant)) {
            return Guarantee::Empirical;
        }
        let intervals = match functions.len() {
            0 | 1 => 1.0,
            some => some as f64 + 1.0,
        };
        Guarantee::Confidence((1.0 - intervals * (1.0 - self.confidence)).max(0.0))
    }

    fn union_bound(
        &self,
        under: &SettingModel,
        functions: &[&FunctionModel],
        beyond: f64,
    ) -> UnionBound {
        // The bound needs one percentile of the baseline and two of each function. For a single
        // function, the percentile of its measured cell suffices.
        let parts = if functions.len() < 2 { 1 } else { 2 * functions.len() + 1 };
        let share = beyond / parts as f64;
        let profile = &under.f0.profile;
        let sum = |from: i64| {
            functions.iter().try_fold(from, |sum, function| {
                let above = function.measurement.profile.delay_beyond(share)?.0;
                Some(sum + (above - profile.delay_below(share)?.0).max(0))
            })
        };
        let delay = match functions {
            [] => profile.delay_beyond(share).map(|delay| delay.0),
            [function] => function.measurement.profile.delay_beyond(share).map(|delay| delay.0),
            _ => profile.delay_beyond(share).and_then(|delay| sum(delay.0)),
        };
        let confidence = (1.0 - parts as f64 * (1.0 - self.confidence)).max(0.0);
        UnionBound { beyond, delay: delay.map(Picoseconds), confidence }
    }
}

fn verdict(function: &FunctionModel) -> Option<Verdict> {
    function.shift.as_ref().map(|shift| shift.verdict)
}

fn plus(sum: Option<Picoseconds>, term: Option<Picoseconds>, more: i64) -> Option<Picoseconds> {
    Some(Picoseconds(sum?.0.saturating_add(term?.0).saturating_add(more)))
}

fn negated(value: Picoseconds) -> Picoseconds {
    Picoseconds(-value.0)
}
