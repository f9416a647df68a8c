//! Analyses that were not tried for a large network, and how long they would take.

use std::time::{Duration, Instant};

use super::analysis::{Analyser, Analysis, AnalysisError};
use super::model::{FlowId, Multiplexing};
use super::settings::{FlowOfInterest, Settings};

/// Flows that are tried before an analysis counts as one that does not apply.
const TRIED: usize = 3;

/// An analysis that might have found smaller bounds and was not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untried {
    /// The analysis.
    pub analysis: Analysis,
    /// The time that it would take for all flows.
    pub time: Estimate,
}

/// The time that something would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// An extrapolation from some flows.
    About(Duration),
    /// An extrapolation from a first flow that was not done when patience ended.
    AtLeast(Duration),
}

impl Analyser<'_> {
    /// Returns the analyses that [`Analysis::Quick`] or [`Analysis::Best`] leave out for this network
    /// although they apply to some of the flows. The estimate of each follows from the flows that it
    /// bounds within `patience`.
    #[must_use]
    pub fn untried(
        &self,
        analysis: Analysis,
        flows: &[FlowId],
        patience: Duration,
    ) -> Vec<Untried> {
        let left_out = self.left_out(analysis).into_iter();
        let timed = left_out.filter_map(|analysis| {
            if self.is_interrupted() {
                return None;
            }
            self.estimate(analysis, flows, patience).map(|time| Untried { analysis, time })
        });
        timed.collect()
    }

    /// Returns the time that an analysis would take for the flows; none if it does not apply to them.
    fn estimate(
        &self,
        analysis: Analysis,
        flows: &[FlowId],
        patience: Duration,
    ) -> Option<Estimate> {
        let settings = Settings { deadline: None, threads: 1, ..self.settings().clone() };
        let settings = match analysis {
            Analysis::TandemMatching => settings
                .multiplexed(Multiplexing::Arbitrary)
                .with_flow_of_interest(FlowOfInterest::LowestPriorityWhereProven),
            _ => settings,
        };
        let threads = match self.settings().threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let begin = Instant::now();
        let sample = self.sample(settings, begin + patience)?;
        let for_all = |spent: Duration, done: usize| {
            spent.mul_f64(flows.len() as f64 / (done.max(1) * threads) as f64)
        };
        let (mut done, mut refused) = (0, 0);
        // Flows from all over the network: steps of the golden section repeat late.
        for step in 0..flows.len() {
            let place = (step as f64 * 0.618_034).fract() * flows.len() as f64;
            match sample.bound(*flows.get(place as usize)?, analysis) {
                Ok(_) => done += 1,
                Err(AnalysisError::Stopped) if done == 0 => {
                    return Some(Estimate::AtLeast(for_all(begin.elapsed(), 1)));
                }
                Err(AnalysisError::Stopped) => break,
                Err(_) => refused += 1,
            }
            if done == 0 && refused >= TRIED {
                return None;
            }
            if begin.elapsed() >= patience {
                break;
            }
        }
        (done > 0).then(|| Estimate::About(for_all(begin.elapsed(), done)))
    }
}
