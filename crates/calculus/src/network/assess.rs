//! Bounds beside runs: what was proven from above and what was seen from below.

use super::analysis::{Analyser, Analysis, AnalysisError, FlowBound};
use super::elements::FlowId;
use super::simulation::{Trajectory, simulate};
use super::unbounded::Reason;
use crate::Extended;
use std::collections::HashSet;

/// A bound and the worst run that was found.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Assessed {
    /// The bound.
    pub bound: FlowBound,
    /// The run; none if none was requested, if an overloaded server leaves the flow without bounds,
    /// or if the network is beyond what is simulated.
    pub run: Option<Trajectory>,
}

/// A bound that is below what happens in a run: one of the two is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Delay or backlog.
    pub what: &'static str,
    /// The bound.
    pub bound: Extended,
    /// What happened.
    pub run: Extended,
}

impl Assessed {
    /// Whether the bound is below the run.
    #[must_use]
    pub fn contradiction(&self) -> Option<Contradiction> {
        let run = self.run.as_ref()?;
        let below = |what, bound: &Extended, run: &crate::Rational| {
            let run = Extended::from(run);
            (*bound < run).then(|| Contradiction { what, bound: bound.clone(), run })
        };
        // Total flow analysis bounds the data of a server, which is something else.
        let comparable = self.bound.backlog_by.analysis != Analysis::Tfa;
        below("delay", &self.bound.delay, &run.delay).or_else(|| {
            comparable.then(|| below("backlog", &self.bound.backlog, &run.backlog)).flatten()
        })
    }

    /// How much of the delay bound a run came to, at most 1 if nothing is wrong.
    #[must_use]
    pub fn tightness(&self) -> Option<f64> {
        let (run, bound) = (self.run.as_ref()?, self.bound.delay.finite()?);
        if bound.is_positive() { Some(run.delay.checked_div(bound)?.to_f64()) } else { None }
    }
}

impl Analyser<'_> {
    /// Bounds flows by several analyses and, if `with_runs`, looks for bad runs of each. For each
    /// flow, a list in the order of the analyses. If it is stopped ([`Analyser::stopped_by`]), of the flows that it was done with.
    ///
    /// # Errors
    ///
    /// Of the first flow and analysis that has one.
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
            // The delays of a run behind an overloaded server grow for as long as the run lasts.
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

    /// Returns the flows that pass an overloaded server, or meet flows that do.
    fn overloaded(&self, flows: &[FlowId]) -> HashSet<FlowId> {
        let unbounded = self.network().unbounded(flows).into_iter();
        let overloaded = unbounded.filter(|(reason, _)| matches!(reason, Reason::Overloaded(_)));
        overloaded.flat_map(|(_, flows)| flows).collect()
    }
}
