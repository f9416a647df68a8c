//! Bounds compared with simulated runs: upper bounds on the worst case, and lower bounds from
//! observed behaviour.

use super::analysis::{Analyser, Analysis, AnalysisError, FlowBound};
use super::elements::FlowId;
use super::simulation::{Trajectory, simulate};
use super::unbounded::Reason;
use crate::Extended;
use std::collections::HashSet;

/// A bound of a flow, and the worst run of the network that was found for this flow.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Assessed {
    /// The bound of the flow.
    pub bound: FlowBound,
    /// The worst run that was found. It is `None` if no runs were requested, if an overloaded
    /// server leaves the flow without bounds, or if the simulation does not support the network.
    pub run: Option<Trajectory>,
}

/// A bound that is below the value in a simulated run, so that one of the two must be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The quantity that is contradicted: delay or backlog.
    pub what: &'static str,
    /// The value of the bound.
    pub bound: Extended,
    /// The value in the simulated run.
    pub run: Extended,
}

impl Assessed {
    /// Returns the delay or backlog bound that is below its value in the run, if there is one.
    #[must_use]
    pub fn contradiction(&self) -> Option<Contradiction> {
        let run = self.run.as_ref()?;
        let below = |what, bound: &Extended, run: &crate::Rational| {
            let run = Extended::from(run);
            (*bound < run).then(|| Contradiction { what, bound: bound.clone(), run })
        };
        // Total flow analysis bounds the data of all flows at a server, which is a different
        // quantity.
        let comparable = self.bound.backlog_by.analysis != Analysis::Tfa;
        below("delay", &self.bound.delay, &run.delay).or_else(|| {
            comparable.then(|| below("backlog", &self.bound.backlog, &run.backlog)).flatten()
        })
    }

    /// Returns the delay in the run as a share of the delay bound. It is at most 1 unless there is
    /// a contradiction. It is `None` if there is no run, or the bound is infinite or zero.
    #[must_use]
    pub fn tightness(&self) -> Option<f64> {
        let (run, bound) = (self.run.as_ref()?, self.bound.delay.finite()?);
        if bound.is_positive() { Some(run.delay.checked_div(bound)?.to_f64()) } else { None }
    }
}

impl Analyser<'_> {
    /// Bounds some flows by several analyses and, if `with_runs`, searches for the worst run of
    /// each flow.
    ///
    /// Returns a list for each flow, in the order of the analyses. If the analyser is stopped
    /// ([`Analyser::stopped_by`]), returns only the lists of the flows that were finished.
    ///
    /// # Errors
    ///
    /// Returns the error of the first flow and analysis that fails.
    pub fn assess(
        &self,
        flows: &[FlowId],
        analyses: &[Analysis],
        with_runs: bool,
    ) -> Result<Vec<Vec<Assessed>>, AnalysisError> {
        for analysis in analyses {
            self.feed_forward(*analysis)?;
        }
        let overloaded = if with_runs { self.overloaded(flows) } else { HashSet::new() };
        let numbered: Vec<(usize, FlowId)> = flows.iter().copied().enumerate().collect();
        let done = self.in_parallel(&numbered, |(number, flow)| {
            if self.is_stopped() {
                return Ok(None);
            }
            let bounds = analyses.iter().map(|analysis| self.run(*flow, *analysis));
            let bounds: Result<Vec<FlowBound>, _> = bounds.collect();
            let bounds = match bounds {
                Err(AnalysisError::Stopped) => return Ok(None),
                bounds => bounds?,
            };
            // Behind an overloaded server, delays grow for as long as a run lasts, so no run is
            // simulated.
            let is_unbounded = bounds.iter().all(|bound| bound.delay.finite().is_none());
            let runs = with_runs && !(is_unbounded && overloaded.contains(flow));
            let run = runs.then(|| simulate(self.network(), *flow, self.settings())).flatten();
            self.count_assessed();
            let assessed = |bound: FlowBound| {
                let is_explained = *number < self.explained();
                let bound = if is_explained { bound } else { bound.unexplained() };
                Assessed { bound, run: run.clone() }
            };
            Ok(Some(bounds.into_iter().map(assessed).collect()))
        })?;
        Ok(done.into_iter().flatten().collect())
    }

    /// Returns those flows of `flows` that pass an overloaded server, or that may be delayed by
    /// such flows.
    fn overloaded(&self, flows: &[FlowId]) -> HashSet<FlowId> {
        let unbounded = self.network().unbounded(flows).into_iter();
        let overloaded = unbounded.filter(|(reason, _)| matches!(reason, Reason::Overloaded(_)));
        overloaded.flat_map(|(_, flows)| flows).collect()
    }
}
