//! The observation of a trial, and the vote that it casts on the offered rate: loss-free or not.

/// The observation of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The measured rate of offered requests per second, over all sources.
    pub offered_rate: f64,
    /// The rate of answered requests per second, over all sources.
    pub received_rate: f64,
    /// The number of requests due in the measured window.
    pub wanted: u64,
    /// The share of the due requests that had no answer, 0 to 1, or `None` if none was due.
    pub loss: Option<f64>,
    /// A lower bound on the share of the due requests that had no answer because of the
    /// system or the network.
    pub proven_loss: f64,
    /// An upper bound on the share of the due requests that delays of the tester may have lost.
    pub excusable_loss: f64,
    /// The mean round-trip time, in seconds, of the answers in intervals that no pause of the
    /// tester disturbed, or `None` if there are none.
    pub rtt_mean: Option<f64>,
    /// The longest time between two answers, as a share of the measured window.
    pub longest_gap: f64,
    /// Whether a backlog certainly grew, so that a longer trial would have lost requests.
    pub falling_behind: bool,
    /// Whether there was or may have been a backlog, so that the response time depends on the
    /// length of the trial.
    pub backlogged: bool,
    /// Whether the tester itself was the limit, so that the rate was not offered.
    pub limited_by_tester: bool,
    /// Whether the system answered nothing, or stopped answering before the end.
    pub silent: bool,
}

/// The vote of a trial on the offered rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vote {
    /// The rate is loss-free. Delays of the tester only ever cause losses, so a disturbed trial may
    /// pass too.
    Pass,
    /// The rate is not loss-free, and the tester does not explain why.
    Fail,
    /// Delays of the tester may explain the loss, or the rate was not offered.
    Disturbed,
    /// The system answered nothing, or stopped answering.
    Silent,
}

impl Observation {
    /// Returns the vote. `tolerance` is the share of requests that may be lost.
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
