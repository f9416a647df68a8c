//! Which side was the limit, over the trials of a point and over the points of a run.
//!
//! Trials of one point may disagree. The most serious verdict then stands for all: a point at which
//! the probe fell behind in one trial of five is a point at which the probe fell behind.

use std::collections::BTreeMap;

use probe::outcome::{Completion, Point, RunResult, Saturated, Trial};

/// Verdicts of some trials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdicts {
    trials: usize,
    neither: usize,
    unknown: usize,
    controller: usize,
    probe: usize,
}

/// Those of a point.
pub(crate) fn of_point(point: &Point) -> Verdicts {
    let mut verdicts = Verdicts::default();
    point.trials.iter().for_each(|trial| verdicts.add(trial));
    verdicts
}

/// Those of a whole run.
pub(crate) fn of_run(result: &RunResult) -> Verdicts {
    let mut verdicts = Verdicts::default();
    result.points.iter().flat_map(|point| &point.trials).for_each(|trial| verdicts.add(trial));
    verdicts
}

/// What the trials say in explanation of `side`, each once, most frequent first.
pub(crate) fn reasons<'a>(
    trials: impl Iterator<Item = &'a Trial>,
    side: Saturated,
) -> Vec<&'a str> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for trial in trials.filter(|t| t.verdict.saturated == side && !t.verdict.because.is_empty()) {
        *reasons.entry(trial.verdict.because.as_str()).or_default() += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    reasons.into_iter().map(|(reason, _)| reason).collect()
}

impl Verdicts {
    fn add(&mut self, trial: &Trial) {
        // Nothing can be said of a trial that measured nothing.
        let saturated = match trial.completion {
            Completion::Failed { .. } => Saturated::Unknown,
            _ => trial.verdict.saturated,
        };
        self.trials += 1;
        *match saturated {
            Saturated::Neither => &mut self.neither,
            Saturated::Unknown => &mut self.unknown,
            Saturated::Controller => &mut self.controller,
            Saturated::Probe => &mut self.probe,
        } += 1;
    }

    /// The most serious verdict, and in how many trials it was given.
    pub(crate) fn worst(&self) -> (Saturated, usize) {
        let by_weight = [
            (Saturated::Probe, self.probe),
            (Saturated::Controller, self.controller),
            (Saturated::Unknown, self.unknown),
            (Saturated::Neither, self.neither),
        ];
        by_weight.into_iter().find(|(_, times)| *times > 0).unwrap_or((Saturated::Unknown, 0))
    }

    /// The most serious verdict in a word.
    pub(crate) fn word(&self) -> &'static str {
        word(self.worst().0)
    }

    /// The same, with the number of trials if they disagree: `controller 3/5`.
    pub(crate) fn short(&self) -> String {
        match self.worst() {
            (side, times) if times == self.trials => word(side).to_owned(),
            (side, times) => format!("{} {times}/{}", word(side), self.trials),
        }
    }

    /// The same as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let (side, times) = self.worst();
        let share = match (times, self.trials) {
            (_, 0) => return "Nothing was measured.".to_owned(),
            (_, 1) => String::new(),
            (times, trials) if times == trials => format!(" in all {trials} trials"),
            (times, trials) => format!(" in {times} of {trials} trials"),
        };
        match side {
            Saturated::Neither => {
                format!(
                    "Neither side was saturated{share}: what was offered was sent on time and answered."
                )
            }
            Saturated::Controller => format!("The controller was the limit{share}."),
            Saturated::Probe => {
                format!(
                    "The probe itself was the limit{share}: its figures say nothing about the controller."
                )
            }
            Saturated::Unknown => format!("Which side was the limit could not be told{share}."),
        }
    }
}

/// A side in a word.
pub(crate) fn word(side: Saturated) -> &'static str {
    match side {
        Saturated::Neither => "neither",
        Saturated::Controller => "controller",
        Saturated::Probe => "probe",
        Saturated::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(neither: usize, unknown: usize, controller: usize, probe: usize) -> Verdicts {
        Verdicts {
            trials: neither + unknown + controller + probe,
            neither,
            unknown,
            controller,
            probe,
        }
    }

    #[test]
    fn the_most_serious_verdict_stands_for_all() {
        assert_eq!(verdicts(4, 0, 0, 1).short(), "probe 1/5");
        assert_eq!(verdicts(3, 0, 2, 0).short(), "controller 2/5");
        assert_eq!(verdicts(3, 0, 0, 0).short(), "neither");
        assert_eq!(verdicts(0, 0, 0, 0).word(), "unknown");
        assert_eq!(
            verdicts(0, 0, 5, 0).sentence(),
            "The controller was the limit in all 5 trials."
        );
        assert_eq!(verdicts(0, 0, 1, 0).sentence(), "The controller was the limit.");
        assert_eq!(verdicts(0, 0, 0, 0).sentence(), "Nothing was measured.");
        assert!(
            verdicts(1, 0, 0, 1).sentence().contains("in 1 of 2 trials: its figures say nothing")
        );
    }
}
