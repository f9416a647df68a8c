//! The observation of a trial, and the vote that it casts on the offered rate: loss-free or not.

use crate::account::NOTABLE;
use crate::metrics::Metric;
use crate::outcome::{Completion, Saturated, Trial};

/// The figures of one trial by which it votes on the offered rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The number of offered packet-ins per second, as measured over all switches.
    pub offered_rate: f64,
    /// The number of answered packet-ins per second, as measured over all switches.
    pub received_rate: f64,
    /// The number of packet-ins due in the measured window, without those that flow rules handled.
    pub wanted: u64,
    /// The share of the due packet-ins that had no answer, 0 to 1, or `None` if none was due.
    pub loss: Option<f64>,
    /// A lower bound on the share of the due packet-ins that had no answer because of the
    /// controller or the network.
    pub proven_loss: f64,
    /// An upper bound on the share of the due packet-ins that delays of the probe may have lost.
    pub excusable_loss: f64,
    /// The mean round-trip time, in seconds, of the answers in intervals that no pause of the probe
    /// disturbed, or `None` if there are none.
    pub rtt_mean: Option<f64>,
    /// The longest time between two answers, as a share of the measured window.
    pub longest_gap: f64,
    /// Whether it is certain that a backlog grew, so that a longer trial would have lost
    /// packet-ins.
    pub falling_behind: bool,
    /// Whether there was, or may have been, a backlog, so that the response time depends on the
    /// length of the trial.
    pub backlogged: bool,
    /// Whether the probe was the limit, so that the rate was not offered.
    pub limited_by_probe: bool,
    /// Whether the controller answered nothing, or stopped answering before the end of the trial.
    pub silent: bool,
}

/// The vote of a trial on the offered rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vote {
    /// The rate is loss-free. A disturbed trial may pass too, since delays of the probe can only
    /// cause additional losses.
    Pass,
    /// The rate is not loss-free, and delays of the probe do not explain why.
    Fail,
    /// Delays of the probe may explain the loss, or the rate was not offered.
    Disturbed,
    /// The controller answered nothing, or stopped answering.
    Silent,
}

impl Observation {
    /// Extracts the observation from a trial. A trial that could not be run counts as if all
    /// packet-ins were lost.
    pub fn of(trial: &Trial) -> Self {
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
        Self {
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
            // Packet-ins that were lost or never left are subtracted, because `vote` judges them by
            // its own tolerance.
            falling_behind: proven.saturating_sub(unanswered) as f64 > NOTABLE * counts.due as f64,
            backlogged: trial.verdict.backlog.is_some()
                || matches!(trial.verdict.saturated, Saturated::Controller | Saturated::Unknown),
            limited_by_probe: trial.verdict.saturated == Saturated::Probe,
            silent: is_measured && (trial.silence.is_some() || counts.sent > 0 && answered == 0),
        }
    }

    /// Returns the vote of the trial. `tolerance` is the share of packet-ins that may be lost.
    pub(super) fn vote(&self, tolerance: f64) -> Vote {
        if self.silent {
            return Vote::Silent;
        }
        if self.limited_by_probe {
            return Vote::Disturbed;
        }
        match self.loss {
            _ if self.falling_behind => Vote::Fail,
            None => Vote::Fail,
            Some(loss) if loss <= tolerance => Vote::Pass,
            Some(_) if self.proven_loss > tolerance => Vote::Fail,
            Some(loss) if loss - tolerance <= self.excusable_loss => Vote::Disturbed,
            Some(_) => Vote::Fail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::observation;
    use super::*;

    #[test]
    fn only_losses_that_the_probe_may_explain_leave_a_rate_open() {
        let lossy = observation(100.0, 0.05);
        let vote = |excusable_loss, proven_loss| {
            Observation { excusable_loss, proven_loss, ..lossy }.vote(0.0)
        };
        assert_eq!(vote(0.0, 0.0), Vote::Fail);
        assert_eq!(vote(0.04, 0.0), Vote::Fail);
        assert_eq!(vote(0.06, 0.0), Vote::Disturbed);
        assert_eq!(vote(0.06, 0.01), Vote::Fail);
        assert_eq!(Observation { proven_loss: 0.01, ..lossy }.vote(0.05), Vote::Pass);
        // The backlog is proven, and no excuse for losses covers it.
        let piled = Observation { falling_behind: true, excusable_loss: 1.0, ..lossy };
        assert_eq!(piled.vote(0.0), Vote::Fail);
        // A disturbed trial that lost nothing passes.
        let disturbed = Observation { excusable_loss: 0.2, ..observation(100.0, 0.0) };
        assert_eq!(disturbed.vote(0.0), Vote::Pass);
        assert_eq!(Observation { limited_by_probe: true, ..disturbed }.vote(0.0), Vote::Disturbed);
        assert_eq!(Observation { silent: true, ..lossy }.vote(0.0), Vote::Silent);
    }
}
