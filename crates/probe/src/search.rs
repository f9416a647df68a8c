//! The search for the highest loss-free rate of a controller. This module converts trials to the
//! observations that [`measuring::search`] expects, and its result to that of the run. RFC 8456,
//! section 5.1.3, asks for two rates: the most responses per second of any trial, and the most of
//! any trial without loss.
//!
//! A rate passes if every packet-in was answered and no backlog grew. The second condition is
//! needed because a controller with a long queue eventually answers everything, even at a rate that
//! it cannot sustain (the RFC likewise counts the responses within the time of the trial).

mod observation;

use measuring::search::{LossFreeSearch, Observation, Wording};

use crate::outcome::{SearchOutcome, Trial};

/// Returns the observations of trials for the search. A trial that failed counts as a vote against
/// its rate.
pub(crate) fn observations(trials: &[Trial]) -> Vec<Observation> {
    trials.iter().map(observation::of).collect()
}

/// Returns the result of a search, which need not have ended.
pub(crate) fn outcome(search: &LossFreeSearch) -> SearchOutcome {
    let found = search.result(&Wording {
        system: "controller",
        tester: "the probe",
        on_silence: " A longer --drain waits for it.",
    });
    SearchOutcome {
        loss_free_rate: found.loss_free_rate,
        lossy_rate: found.lossy_rate,
        confidence: found.confidence,
        loss_free_method: found.loss_free_method,
        disturbed_trials: found.disturbed_trials,
        maximum_received_rate: found.maximum_received_rate,
        maximum_at_rate: found.maximum_at_rate,
        knee_rate: found.knee.found.map(|knee| knee.rate),
        knee_low_rate: found.knee.found.map(|knee| knee.low),
        knee_high_rate: found.knee.found.map(|knee| knee.high),
        knee_method: found.knee.method,
        limited_by_probe: found.limited_by_tester,
    }
}

#[cfg(test)]
mod coverage;
#[cfg(test)]
mod tests;
