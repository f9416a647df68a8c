//! Compares bounds with requirements, which are the maximum delays of flows and thresholds.
//!
//! A flow meets its maximum delay if a bound proves it. Otherwise the delay counts as missed,
//! although only a run with a longer delay shows that the worst case exceeds the maximum.

use calculus::network::{Assessed, FlowId};
use calculus::{Extended, Rational};
use statistics::Unit;

use super::table::figure;
use super::{Bounds, MAX_NAMED, listed};
use calculus::network::describe::Round;

/// A flow that has a maximum delay, with the bound that is to prove it.
#[derive(Clone, Debug)]
pub struct Required<'a> {
    /// The flow that has the maximum delay.
    pub flow: FlowId,
    /// The longest delay that the user permits for the flow.
    pub limit: &'a Rational,
    /// The smallest delay bound of the flow that any analysis found.
    pub bound: Extended,
    /// The longest delay of the flow in a simulated run, or `None` if there was no run.
    pub run: Option<&'a Rational>,
}

impl Required<'_> {
    /// Returns whether a bound proves that the delay never exceeds its maximum.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.bound <= Extended::from(self.limit)
    }

    /// Returns whether a packet of a simulated run had a longer delay than the maximum.
    #[must_use]
    pub fn is_missed_in_a_run(&self) -> bool {
        self.run.is_some_and(|run| run > self.limit)
    }

    /// Returns the word by which tables state whether the maximum delay is met.
    pub(super) fn word(&self) -> &'static str {
        if self.is_met() { "met" } else { "missed" }
    }
}

/// A threshold of the user, and the value with which it was compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The condition as the user wrote it.
    pub condition: String,
    /// The unit of the metric to which the condition applies.
    pub unit: Unit,
    /// The value that violates the condition most or, if none does, the largest value. `None`
    /// stands for infinity.
    pub value: Option<f64>,
    /// The flow or server that has this value, such as "flow 'video'".
    pub of: String,
    /// Whether the condition holds for all flows or servers.
    pub held: bool,
}

impl<'a> Bounds<'a> {
    /// Returns the flows that have a maximum delay, in the order of the network.
    #[must_use]
    pub fn required(&self) -> Vec<Required<'a>> {
        self.flows.iter().filter_map(|row| self.required_of(row)).collect()
    }

    /// Returns the maximum delay of the flow to which a row of bounds belongs, or `None` if the
    /// flow has none.
    pub(super) fn required_of(&self, row: &'a [Assessed]) -> Option<Required<'a>> {
        let first = row.first()?;
        let flow = first.bound.flow;
        let limit = self.network.flow(flow).maximum_delay.as_ref()?;
        let bound = row.iter().map(|assessed| assessed.bound.delay.clone()).min()?;
        Some(Required { flow, limit, bound, run: first.run.as_ref().map(|run| &run.delay) })
    }

    /// Returns a sentence for each flow that is not proven to meet its maximum delay. Flows whose
    /// delay in a simulated run exceeds the maximum come first, then those with the largest ratio
    /// of bound to maximum. If there are more than `MAX_NAMED`, one last sentence names further
    /// flows.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        let required = self.required();
        let mut missed: Vec<&Required<'_>> = required.iter().filter(|one| !one.is_met()).collect();
        missed.sort_by(|a, b| {
            let late = |one: &Required<'_>| one.is_missed_in_a_run();
            late(b).cmp(&late(a)).then_with(|| excess(b).total_cmp(&excess(a)))
        });
        let time = |value: &Extended, round| {
            format!("{} {}", figure(self, value, true, round), self.time_unit.name)
        };
        let sentence = |one: &Required<'_>| {
            let name = &self.network.flow(one.flow).name;
            let limit = time(&Extended::from(one.limit), Round::Down);
            let seen = match one.run.filter(|_| one.is_missed_in_a_run()) {
                Some(run) => {
                    format!(" a simulated run takes {}", time(&Extended::from(run), Round::Down))
                }
                None => " no simulated run is that late, so the bound may be too large".to_owned(),
            };
            match &one.bound {
                Extended::Finite(_) => format!(
                    "flow '{name}' may exceed its maximum delay of {limit}: its delay bound is {};{seen}",
                    time(&one.bound, Round::Up)
                ),
                _ => format!(
                    "flow '{name}' may exceed its maximum delay of {limit}: its delay has no bound"
                ),
            }
        };
        let mut sentences: Vec<String> =
            missed.iter().take(MAX_NAMED).map(|one| sentence(one)).collect();
        let more: Vec<String> = missed
            .iter()
            .skip(MAX_NAMED)
            .map(|one| format!("'{}'", self.network.flow(one.flow).name))
            .collect();
        if !more.is_empty() {
            let flows = if more.len() == 1 { "flow" } else { "flows" };
            sentences.push(format!("so may the {flows} {}", listed(more.into_iter())));
        }
        sentences
    }

    /// Returns a sentence for each threshold that does not hold.
    #[must_use]
    pub fn broken(&self) -> Vec<String> {
        let broken = self.thresholds.iter().filter(|threshold| !threshold.held);
        broken
            .map(|threshold| {
                format!(
                    "threshold {} does not hold for {}: it is {}",
                    threshold.condition,
                    threshold.of,
                    threshold.figure()
                )
            })
            .collect()
    }

    /// Returns a sentence which says that all requirements are met, or `None` if a requirement is
    /// missed or none exists.
    pub(super) fn all_met(&self) -> Option<String> {
        let (required, thresholds) = (self.required(), self.thresholds);
        let held = required.iter().all(Required::is_met) && thresholds.iter().all(|one| one.held);
        let flows = match required.len() {
            0 => None,
            1 => Some("the maximum delay of one flow is met".to_owned()),
            count => Some(format!("the maximum delays of all {count} flows that have one are met")),
        };
        let thresholds = match thresholds.len() {
            0 => None,
            1 => Some("the threshold holds".to_owned()),
            count => Some(format!("all {count} thresholds hold")),
        };
        let parts: Vec<String> = flows.into_iter().chain(thresholds).collect();
        (held && !parts.is_empty()).then(|| parts.join("; "))
    }
}

impl Threshold {
    /// Formats the value with which the condition was compared, with its unit.
    pub(super) fn figure(&self) -> String {
        self.value.map_or_else(|| "infinite".to_owned(), |value| crate::quantity(value, self.unit))
    }
}

/// Returns the ratio of a flow's delay bound to its maximum delay.
fn excess(one: &Required<'_>) -> f64 {
    match &one.bound {
        Extended::Finite(bound) => {
            bound.checked_div(one.limit).map_or(f64::INFINITY, |ratio| ratio.to_f64())
        }
        _ => f64::INFINITY,
    }
}
