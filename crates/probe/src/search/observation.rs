//! Converts a trial to the observation from which a search derives a vote on the offered rate.

use measuring::search::Observation;

use crate::account::NOTABLE;
use crate::metrics::Metric;
use crate::outcome::{Completion, Saturated, Trial};

/// Returns the observation of a trial. A trial that could not be run counts as if everything was
/// lost.
pub(super) fn of(trial: &Trial) -> Observation {
    let metric = |name| Metric::by_name(name).and_then(|metric| metric.of(trial));
    let counts = &trial.counts;
    let wanted = counts.due.saturating_sub(counts.handled_by_rules());
    let account = trial.verdict.account.unwrap_or_default();
    let proven = account.controller.low + account.network.low;
    let unanswered = counts.unanswered();
    let share = |number: u64| number as f64 / wanted.max(1) as f64;
    let undisturbed = trial.in_window.undisturbed_rtt_mean_ns.map(|mean| mean / 1e9);
    let answered = counts.answered + trial.in_window.answers;
    let is_measured = !matches!(trial.completion, Completion::Failed { .. });
    Observation {
        offered_rate: trial.rates.offered,
        received_rate: trial.rates.received,
        wanted,
        loss: metric("unanswered"),
        proven_loss: share(proven.min(unanswered)),
        excusable_loss: share(account.probe.high),
        rtt_mean: undisturbed.or_else(|| metric("rtt.mean")),
        longest_gap: match trial.measured_s > 0.0 {
            true => trial.in_window.longest_gap_s / trial.measured_s,
            false => 0.0,
        },
        // Packet-ins that were lost or never left are subtracted, because the search judges them by
        // its own tolerance.
        falling_behind: proven.saturating_sub(unanswered) as f64 > NOTABLE * counts.due as f64,
        backlogged: trial.verdict.backlog.is_some()
            || matches!(trial.verdict.saturated, Saturated::Controller | Saturated::Unknown),
        limited_by_tester: trial.verdict.saturated == Saturated::Probe,
        silent: is_measured && (trial.silence.is_some() || counts.sent > 0 && answered == 0),
    }
}
