//! Several functions at once: predicted delays, bounds on percentiles, service curves.
//!
//! What may be added up, and what the sum then means, depends on how the device works. There are three readings:
//!
//! * **Pipelined** (equation 3): each function is a server, and a packet passes one after the other. Service curves are
//!   convolved: the rate is the least, latencies add. Deterministic, if each curve holds.
//! * **Run to completion**: one processor does all functions for a packet before it takes the next. Costs add in the rate
//!   as well: R = L / (c_0 + sum of c_i).
//! * **Union bound**: nothing is known but the distributions. If D = D_0 + sum of X_i with X_i what function i adds, a
//!   packet is beyond a sum of bounds only if it is beyond one of them, so shares of violations add. X_i is not measured
//!   alone: it exceeds d - m only if D_0 + X_i exceeds d or D_0 is below m.
//!
//! The delays of levels (equations 9 and 10) are the same in the first two.

mod curves;

use crate::campaign::{FunctionName, Picoseconds, Setting};
use crate::level::Level;
use crate::model::{FunctionModel, Model, SettingModel, Source};
use crate::shift::Verdict;

pub use curves::{CurveError, Curves, MaximumService, MinimumService, Semantics};

/// What a device does with a packet that needs all of some functions.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// The functions beyond the baseline, one after the other; a function may be there several times.
    pub functions: Vec<FunctionName>,
    /// Under which setting.
    pub setting: Setting,
    /// Predicted delays, level by level.
    pub levels: Vec<Predicted>,
    /// Bounds on percentiles that hold whatever the costs depend on.
    pub union: Vec<UnionBound>,
    /// Functions whose cost is no constant.
    pub refused: Vec<FunctionName>,
}

/// A predicted delay (equation 9).
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The level.
    pub level: Level,
    /// T_0 plus the differences.
    pub value: Picoseconds,
    /// Lower end of its interval.
    pub low: Option<Picoseconds>,
    /// Upper end of its interval.
    pub high: Option<Picoseconds>,
    /// For a level that bounds from above, the bound: negative differences are left out, which are no service curve; a
    /// percentile is the upper end of its interval; a maximum is the largest delay of all cells that were added, each
    /// brought to the baseline by its cost. For other levels the value.
    pub safe: Picoseconds,
    /// Share of packets that may exceed the bound, with the confidence of [`Guarantee::Confidence`]; `None` where nothing
    /// says so.
    pub beyond: Option<f64>,
    /// Functions whose difference is negative here.
    pub negative: Vec<FunctionName>,
    /// What stands behind it.
    pub guarantee: Guarantee,
}

/// What stands behind a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Guarantee {
    /// It holds for every packet, under assumptions that are named beside it.
    Deterministic,
    /// Its interval holds with this confidence, for packets and conditions like those measured.
    Confidence(f64),
    /// It is what was seen; nothing bounds what was not.
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

/// A delay that few packets exceed, whatever the costs depend on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnionBound {
    /// Share of packets beyond, at most.
    pub beyond: f64,
    /// The delay; `None` where there are too few samples.
    pub delay: Option<Picoseconds>,
    /// Confidence of all percentiles in it together.
    pub confidence: f64,
}

/// Shares for which union bounds are given.
const SHARES: [f64; 4] = [1e-1, 1e-2, 1e-3, 1e-4];

/// Why functions cannot be composed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// The model does not have it.
    #[error("the model has no measurement of '{name}' under {setting}; it has {known}")]
    Unknown {
        /// What was asked for.
        name: FunctionName,
        /// The setting.
        setting: String,
        /// What there is.
        known: String,
    },
}

impl Model {
    /// Predicts a packet that needs these functions; those of the baseline add nothing.
    ///
    /// # Errors
    /// [`ComposeError`] if a function was not measured.
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

    /// Equation 9 at one level.
    fn predict(
        &self,
        under: &SettingModel,
        functions: &[&FunctionModel],
        level: Level,
    ) -> Option<Predicted> {
        let f0 = under.f0.profile.level(level)?;
        let (mut value, mut safe) = (f0.value.0, f0.value.0);
        // The sum telescopes to the sum of all T_i less so many T_0, so no interval is counted twice.
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
        // With too few packets there is no interval.
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

    /// If costs are constants, every cell shows the baseline's distribution, shifted: the largest delay of all of them, and
    /// what share of packets may exceed it. `None` where costs are none, or unknown.
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

    /// Extremes are what was seen; so is a sum where costs are no constants. Otherwise intervals hold together with what
    /// each of them leaves (Bonferroni).
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
        Guarantee::Confidence(1.0 - intervals * (1.0 - self.confidence))
    }

    fn union_bound(
        &self,
        under: &SettingModel,
        functions: &[&FunctionModel],
        beyond: f64,
    ) -> UnionBound {
        // One percentile of the baseline, and two for each function; a cell that was measured needs one.
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
