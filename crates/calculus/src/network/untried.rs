//! Analyses that were not tried for a large network, with estimates of the time that they would
//! take.

use std::time::{Duration, Instant};

use super::analysis::{Analyser, Analysis, AnalysisError};
use super::elements::{FlowId, Multiplexing};
use super::settings::{FlowOfInterest, Settings};

/// The number of flows that an analysis may refuse in a trial. If it has bounded no flow by then,
/// it counts as inapplicable to the whole network.
const MAX_REFUSALS: usize = 3;

/// An analysis that was not tried for a large network, although it may have smaller bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untried {
    /// The analysis that was not tried.
    pub analysis: Analysis,
    /// An estimate of the time that the analysis would take for all flows.
    pub time: Estimate,
}

/// An estimate of the time that an analysis would take for all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// The time extrapolated from the flows that were finished.
    About(Duration),
    /// A lower limit of the time, because too few flows were finished within the time allowed for
    /// the estimate: none or, in a cyclic network, only the first one.
    AtLeast(Duration),
}

impl Analyser<'_> {
    /// Returns the analyses that [`Analysis::Quick`] or [`Analysis::Best`] omits for this network
    /// although they apply to some of the flows. Each estimate is extrapolated from the flows that
    /// the analysis bounds within `patience`.
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

    /// Returns an estimate of the time that an analysis would take for the flows, from those that
    /// it bounds within `patience`. Returns `None` if it does not apply to them.
    fn estimate(
        &self,
        analysis: Analysis,
        flows: &[FlowId],
        patience: Duration,
    ) -> Option<Estimate> {
        let settings = Settings { deadline: None, threads: 1, ..self.settings().clone() };
        let settings = match analysis {
            Analysis::Pmoo | Analysis::TandemMatching => settings
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
        let is_cyclic = self.network().order().is_err();
        let (mut once, mut done, mut refused) = (None, 0, 0);
        // Multiples of the golden ratio sample flows from the whole list with few repetitions.
        for step in 0..flows.len() {
            let place = (step as f64 * 0.618_034).fract() * flows.len() as f64;
            match sample.bound(*flows.get(place as usize)?, analysis) {
                Ok(_) => {
                    done += 1;
                    once.get_or_insert_with(|| begin.elapsed());
                }
                Err(AnalysisError::Stopped) if done == 0 && !is_cyclic => {
                    let pace = Pace { spent: begin.elapsed(), done: 1, threads };
                    return Some(Estimate::AtLeast(pace.time_of(flows.len())));
                }
                Err(AnalysisError::Stopped) if done == 0 => {
                    return Some(Estimate::AtLeast(begin.elapsed()));
                }
                Err(AnalysisError::Stopped) => break,
                Err(_) => refused += 1,
            }
            if done == 0 && refused >= MAX_REFUSALS {
                return None;
            }
            if begin.elapsed() >= patience {
                break;
            }
        }
        let pace = Pace { spent: begin.elapsed(), done, threads };
        match once {
            None => None,
            Some(once) if is_cyclic => Some(pace.after(once, flows.len())),
            Some(_) => Some(Estimate::About(pace.time_of(flows.len()))),
        }
    }
}

/// The time that one thread took for some flows, and the number of threads of the full analysis,
/// from which its time is extrapolated.
#[derive(Clone, Copy)]
struct Pace {
    spent: Duration,
    done: usize,
    threads: usize,
}

impl Pace {
    fn time_of(self, flows: usize) -> Duration {
        self.spent.mul_f64(flows as f64 / (self.done.max(1) * self.threads) as f64)
    }

    /// Returns the estimate for a cyclic network. There, the first flow takes additional time,
    /// which is needed only once, to bound the traffic over all cut links. `once` is the time until
    /// the first flow was finished.
    fn after(self, once: Duration, flows: usize) -> Estimate {
        match self.done {
            _ if flows < 2 => Estimate::About(once),
            0 | 1 => Estimate::AtLeast(self.spent),
            done => {
                let others =
                    Self { spent: self.spent.saturating_sub(once), done: done - 1, ..self };
                Estimate::About(once + others.time_of(flows - 1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_once_for_all_flows_counts_once() {
        let ms = Duration::from_millis;
        let pace = |done| Pace { spent: ms(120), done, threads: 2 };
        assert_eq!(pace(4).time_of(100), ms(1_500));
        // The two other flows took 20 ms on one thread.
        assert_eq!(pace(3).after(ms(100), 101), Estimate::About(ms(100 + 500)));
        assert_eq!(pace(1).after(ms(100), 101), Estimate::AtLeast(ms(120)));
        assert_eq!(pace(1).after(ms(120), 1), Estimate::About(ms(120)));
    }
}
