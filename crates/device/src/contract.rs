//! Delay contracts: service curves that hold for every packet on any of several paths through a
//! program, with the figures and assumptions from which they follow.
//!
//! A model predicts each path by itself. The contract of several paths is on the safe side of all
//! of these predictions: it has the longest delay, the longest latency and the lowest rate of any
//! path, and the weakest of their guarantees.

use std::collections::BTreeSet;
use std::fmt;

use calculus::Rational;

use crate::campaign::{FunctionName, Picoseconds, Setting};
use crate::compose::{CurveError, Guarantee, Semantics};
use crate::level::Level;
use crate::model::{Model, SettingModel, Source};
use crate::program::{Parts, PathPrediction};

/// The kind of service curve that a contract has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The statistic of delays from which the latency comes, such as the maximum.
    pub level: Level,
    /// The way in which the device combines functions, or `None` for a burst-delay curve.
    pub semantics: Option<Semantics>,
}

/// The origin of the figures of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Each path was measured itself, because it needs at most one function beyond the baseline.
    Measured,
    /// The delay of at least one path is a sum of the costs of functions that were measured one by
    /// one.
    Composed,
    /// The model was read from a publication.
    Published,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Measured => "measured",
            Self::Composed => "composed",
            Self::Published => "published",
        })
    }
}

/// A service curve for all packets that take one of several paths, with the figures and assumptions
/// from which it follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The conditions for which the contract holds: packet length, entries in tables and others.
    pub setting: Setting,
    /// The kind of the service curve.
    pub terms: Terms,
    /// The longest delay that the model predicts for a packet of one of the paths.
    pub delay: Picoseconds,
    /// The largest share of packets that may take longer than `delay`, or `None` if it is unknown.
    pub beyond: Option<f64>,
    /// The rate R of the service curve in bit/µs, or `None` for a burst-delay curve.
    pub rate: Option<Rational>,
    /// The latency T of the service curve in µs.
    pub latency: Rational,
    /// The strength of the contract: whether it is certain, holds with some confidence, or was only
    /// observed.
    pub guarantee: Guarantee,
    /// The origin of the contract's figures.
    pub basis: Basis,
    /// The functions of the slowest path.
    pub functions: Vec<FunctionName>,
    /// Those functions on any of the paths whose rate was not measured. The service curve assumes
    /// that they have the rate of the baseline, but they may be slower.
    pub assumed_rates: BTreeSet<FunctionName>,
    /// Those parts of any of the paths that no function of the model covers. If there are any,
    /// packets may take longer than `delay`.
    pub unmeasured: Parts,
    /// The number of paths with different parts for which the contract holds.
    pub paths: usize,
}

/// Formats the terms of a contract without its figures, as a label for results that rest on it.
impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, terms, guarantee, basis, .. } = self;
        write!(f, "level {}, {}", terms.level, curve_name(terms.semantics))?;
        write!(f, "; {basis}; {guarantee}; valid for {setting}")?;
        if let Some(beyond) = self.beyond {
            write!(f, "; at most {:.4} % of packets may take longer", 100.0 * beyond)?;
        }
        if !self.assumed_rates.is_empty() {
            let names: Vec<&str> = self.assumed_rates.iter().map(FunctionName::as_str).collect();
            write!(
                f,
                "; the rate of {} was not measured: the baseline's is used",
                names.join(", ")
            )?;
        }
        if !self.unmeasured.is_empty() {
            let parts: Vec<&str> = self.unmeasured.keys().map(String::as_str).collect();
            write!(f, "; INCOMPLETE, without the cost of {}", parts.join(", "))?;
        }
        Ok(())
    }
}

/// Returns the name of a kind of service curve.
fn curve_name(semantics: Option<Semantics>) -> String {
    semantics.map_or_else(|| "burst-delay".to_owned(), |semantics| semantics.to_string())
}

impl Model {
    /// Returns the contract of all packets that take one of `paths`. Returns `None` without paths,
    /// or if the model has no such curve for one of them.
    ///
    /// # Errors
    /// Returns a [`CurveError`] if the figures of a path form no curve.
    pub fn contract(
        &self,
        under: &SettingModel,
        paths: &[PathPrediction],
        terms: Terms,
    ) -> Result<Option<Contract>, CurveError> {
        let mut contract: Option<Contract> = None;
        for path in paths {
            let Some(one) = self.path_contract(under, path, terms)? else { return Ok(None) };
            contract = Some(match contract {
                None => one,
                Some(all) => all.and(one),
            });
        }
        Ok(contract.map(|mut contract| {
            if let Guarantee::Confidence(least) = contract.guarantee {
                let together = self.confidence_of_all(paths).unwrap_or(least);
                contract.guarantee = Guarantee::Confidence(least.min(together));
            }
            contract
        }))
    }

    /// Returns the contract of a single path, or `None` if the model has no such curve.
    fn path_contract(
        &self,
        under: &SettingModel,
        path: &PathPrediction,
        terms: Terms,
    ) -> Result<Option<Contract>, CurveError> {
        let composition = &path.composition;
        let curves = self.curves(under, composition)?;
        let service = curves
            .minimum
            .iter()
            .find(|service| service.level == terms.level && service.semantics == terms.semantics);
        let predicted = composition.levels.iter().find(|one| one.level == terms.level);
        let (Some(service), Some(predicted)) = (service, predicted) else { return Ok(None) };
        let basis = match &self.source {
            Source::Published { .. } => Basis::Published,
            Source::Campaign { .. } if composition.functions.len() <= 1 => Basis::Measured,
            Source::Campaign { .. } => Basis::Composed,
        };
        let functions = &composition.functions;
        let has_rate = |name: &FunctionName| {
            under.function(name).is_none_or(|one| one.measurement.loss_free_rate.is_some())
        };
        let assumed = functions.iter().filter(|name| service.rate.is_some() && !has_rate(name));
        // If a part is missing in the sum, the sum is no upper bound.
        let is_complete = path.unmeasured.is_empty();
        Ok(Some(Contract {
            setting: composition.setting.clone(),
            terms,
            delay: predicted.safe,
            beyond: predicted.beyond.filter(|_| is_complete),
            rate: service.rate.clone(),
            latency: service.latency.clone(),
            guarantee: if is_complete { service.guarantee } else { Guarantee::Empirical },
            basis,
            functions: functions.clone(),
            assumed_rates: assumed.cloned().collect(),
            unmeasured: path.unmeasured.clone(),
            paths: 1,
        }))
    }

    /// Returns the confidence that the bounds of all paths hold together, or `None` if all need the
    /// same functions. Each bound is computed from the intervals of some cells, so all hold if the
    /// intervals of all these cells hold (Bonferroni).
    fn confidence_of_all(&self, paths: &[PathPrediction]) -> Option<f64> {
        let lists: BTreeSet<&Vec<FunctionName>> =
            paths.iter().map(|path| &path.composition.functions).collect();
        if lists.len() < 2 {
            return None;
        }
        let functions: BTreeSet<&FunctionName> = lists.into_iter().flatten().collect();
        // The cell of the baseline counts as well.
        let cells = functions.len() as f64 + 1.0;
        Some((1.0 - cells * (1.0 - self.confidence)).max(0.0))
    }
}

impl Contract {
    /// Returns the contract for packets that take a path of either of two contracts with the same
    /// terms.
    fn and(self, other: Self) -> Self {
        let (mut slower, faster) =
            if other.delay > self.delay { (other, self) } else { (self, other) };
        for (part, count) in faster.unmeasured {
            let most = slower.unmeasured.entry(part).or_default();
            *most = count.max(*most);
        }
        slower.assumed_rates.extend(faster.assumed_rates);
        slower.beyond = slower.beyond.zip(faster.beyond).map(|(one, other)| one.max(other));
        slower.rate = slower.rate.zip(faster.rate).map(|(one, other)| one.min(other));
        slower.latency = slower.latency.max(faster.latency);
        slower.guarantee = weaker(slower.guarantee, faster.guarantee);
        if faster.basis == Basis::Composed {
            slower.basis = Basis::Composed;
        }
        slower.paths += faster.paths;
        slower
    }
}

/// Returns the weaker of two guarantees.
fn weaker(one: Guarantee, other: Guarantee) -> Guarantee {
    match (one, other) {
        (Guarantee::Empirical, _) | (_, Guarantee::Empirical) => Guarantee::Empirical,
        (Guarantee::Confidence(one), Guarantee::Confidence(other)) => {
            Guarantee::Confidence(one.min(other))
        }
        (Guarantee::Confidence(confidence), Guarantee::Deterministic)
        | (Guarantee::Deterministic, Guarantee::Confidence(confidence)) => {
            Guarantee::Confidence(confidence)
        }
        (Guarantee::Deterministic, Guarantee::Deterministic) => Guarantee::Deterministic,
    }
}

#[cfg(test)]
mod tests;
