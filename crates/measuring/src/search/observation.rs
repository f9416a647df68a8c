//! The observation of one trial, and the vote that this trial casts on the offered rate: loss-free
//! or not.

/// The observation of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The measured rate of offered requests per second, over all sources.
    pub offered_rate: f64,
    /// The rate of answered requests per second, over all sources.
    pub received_rate: f64,
    /// The number of requests due in the measured window of the trial.
    pub wanted: u64,
    /// The share of the due requests that were not answered, from 0 to 1, or `None` if no request
    /// was due.
    pub loss: Option<f64>,
    /// The share of the due requests that certainly stayed unanswered because of the system or the
    /// network. The true share may be greater.
    pub proven_loss: f64,
    /// The largest share of the due requests whose loss delays of the tester may explain.
    pub excusable_loss: f64,
    /// The mean round-trip time in seconds, or `None` if there is none. Answers that arrived in
    /// intervals in which the tester paused are left out.
    pub rtt_mean: Option<f64>,
    /// The longest time between two answers, as a share of the measured window.
    pub longest_gap: f64,
    /// Whether a backlog certainly grew during the trial, so that a longer trial would have lost
    /// requests.
    pub falling_behind: bool,
    /// Whether there was a backlog, or may have been one, so that the response time depends on the
    /// length of the trial.
    pub backlogged: bool,
    /// Whether the tester itself was the limit, so that it did not offer the requested rate.
    pub limited_by_tester: bool,
    /// Whether the system answered nothing, or stopped answering before the end of the trial.
    pub silent: bool,
}

/// The vote that a trial casts on the offered rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vote {
    /// The rate is loss-free. Delays of the tester can cause losses but never hide them, so a
    /// disturbed trial may pass too.
    Pass,
    /// The rate is not loss-free, and delays of the tester do not explain why.
    Fail,
    /// The trial proves nothing: delays of the tester may explain the loss, or it did not offer the
    /// rate.
    Disturbed,
    /// The system answered nothing, or stopped answering before the end of the trial.
    Silent,
}

impl Observation {
    /// Returns the vote of this trial. `tolerance` is the share of requests that may be lost.
    pub(super) fn vote(&self, tolerance: f64) -> Vote {
        if self.silent {
            return Vote::Silent;
        }
        if self.limited_by_tester {
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
        assert_eq!(Observation { limited_by_tester: true, ..disturbed }.vote(0.0), Vote::Disturbed);
        assert_eq!(Observation { silent: true, ..lossy }.vote(0.0), Vote::Silent);
    }
}
