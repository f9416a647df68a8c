//! The statistics of several updates of one kind.

use statistics::{Confidence, Ordered};

use super::answer::Timing;
use super::excess::{Excess, Window};
use super::observation::Assessment;
use super::probe::Classes;
use super::time::{Gap, Range};

/// A percentile of a sample of times each of which is known only as a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    /// Bounds on the percentile of the sample: the percentile of the lower bounds, and that of the
    /// upper bounds.
    pub of_samples: Range,
    /// Bounds on the percentile of the distribution from which the sample comes. They contain it
    /// with 95 % confidence whatever the distribution is; they are order statistics of the lower
    /// and of the upper bounds. `None` if the sample is too small.
    pub interval: Option<Range>,
}

impl Percentile {
    /// Returns the percentile at `share`, a number between 0 and 1. Returns `None` if the sample is
    /// too small for it.
    #[must_use]
    pub fn of(times: &[Range], share: f64) -> Option<Self> {
        let low = Ordered::of(times.iter().map(|time| time.least).collect::<Vec<Gap>>());
        let high = Ordered::of(times.iter().map(|time| time.most).collect::<Vec<Gap>>());
        let [least, _] = low.interval(share, Confidence::P95);
        let [_, most] = high.interval(share, Confidence::P95);
        let of_samples = Range { least: low.tail_at(share)?, most: high.tail_at(share)? };
        let interval = least.zip(most).map(|(least, most)| Range { least, most });
        Some(Self { of_samples, interval })
    }
}

/// The statistics of updates of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The number of requests whose effects were observed with probes.
    pub requests: u64,
    /// The number of rules that the requests changed.
    pub rules: u64,
    /// The times from requests to their answers.
    pub answered: Vec<Range>,
    /// The times from a request until packets obeyed all its rules. Only requests of which each
    /// rule changed once are counted.
    pub obeyed: Vec<Range>,
    /// The times from an answer until packets obeyed all rules of its request. Only requests of
    /// which each rule changed once are counted. A time is negative if packets obeyed before the
    /// answer.
    pub lags: Vec<Range>,
    /// The widths of the brackets of rules that changed once.
    pub widths: Vec<Gap>,
    /// The number of rules that changed once and whose answer was early: after the answer had
    /// arrived, packets still met the old state of the rule.
    pub early: u64,
    /// The number of rules that changed once and whose answer was late: before the answer arrived,
    /// packets already met the new state of the rule.
    pub late: u64,
    /// The number of rules for which the probes do not show whether packets obeyed before or after
    /// the answer.
    pub undecided: u64,
    /// The number of rules that changed more than once.
    pub flapped: u64,
    /// The number of rules whose moment of change is not bounded on one side, because no probe met
    /// the old state, or none met the new state.
    pub unbounded: u64,
    /// The number of requests with two or more rules in which every rule changed exactly once.
    pub batches: u64,
    /// The number of the requests in [`Self::batches`] that packets met partly applied: a probe met
    /// one rule in its new state, and a later probe met another rule in its old state.
    pub torn: u64,
    /// The times from the first to the last change of a rule, one for each request in
    /// [`Self::batches`].
    pub spreads: Vec<Range>,
    /// The sums of the least and of the greatest possible Kendall's tau over the requests in
    /// [`Self::batches`], in this order.
    order: [f64; 2],
    /// The numbers, by class, of the probes that the switch had processed before a request was
    /// sent: they were sent earlier than the request by more than the longest delay of a probe.
    pub control: Classes,
    /// The numbers of all other probes by class.
    pub changes: Classes,
    /// The comparison of the probes lost during changes with those lost otherwise. Only requests
    /// count whose probes leave the switch both before and after the update.
    pub losses: Excess,
}

impl Summary {
    /// Adds the figures of one request.
    pub fn add(&mut self, one: &Assessment) {
        self.requests += 1;
        self.rules += one.transitions.len() as u64;
        self.answered.push(one.answered);
        self.obeyed.extend(one.from_request());
        self.lags.extend(one.from_answer());
        self.widths.extend(one.brackets().map(|bracket| bracket.width()));
        for timing in one.timings() {
            match timing {
                Timing::Early { .. } => self.early += 1,
                Timing::Late { .. } => self.late += 1,
                Timing::Undecided => self.undecided += 1,
            }
        }
        let flapped = one.transitions.iter().filter(|one| one.flap().is_some()).count() as u64;
        self.flapped += flapped;
        self.unbounded += (one.transitions.len() - one.brackets().count()) as u64 - flapped;
        if let Some(batch) = &one.batch {
            self.batches += 1;
            self.torn += u64::from(batch.is_torn);
            self.spreads.push(batch.spread);
            if let Some(order) = batch.order {
                self.order[0] += order.least;
                self.order[1] += order.most;
            }
        }
        self.control.append(&one.control);
        self.changes.append(&one.changes);
        if let Some(losses) = one.losses() {
            self.losses.append(&losses);
        }
    }

    /// Returns bounds on the mean of Kendall's tau between the order of updates in a request and
    /// the order in which they took effect, the lower bound first. The mean is over the requests
    /// counted by [`Summary::batches`]. Returns `None` if there are none.
    #[must_use]
    pub fn order(&self) -> Option<[f64; 2]> {
        (self.batches > 0).then(|| self.order.map(|sum| sum / self.batches as f64))
    }

    /// Returns a comparison of the probes that left as neither state demands during changes with
    /// those that did so otherwise. Unlike lost probes, such probes are recognised also if the
    /// switch drops probes in one state.
    #[must_use]
    pub fn astray(&self) -> Excess {
        let window = |classes: &Classes| Window { probes: classes.all(), wrong: classes.astray() };
        Excess { changes: window(&self.changes), control: window(&self.control) }
    }
}

impl Excess {
    /// Adds the numbers of probes of `other` to those of this window.
    fn append(&mut self, other: &Self) {
        for (own, other) in [(&mut self.changes, other.changes), (&mut self.control, other.control)]
        {
            own.probes += other.probes;
            own.wrong += other.wrong;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_percentile_contains_the_uncertainty_of_each_time() {
        let times: Vec<Range> =
            (0..100).map(|at| Range { least: Gap(at * 10), most: Gap(at * 10 + 5) }).collect();
        let median = Percentile::of(&times, 0.5).expect("enough times");
        assert_eq!(median.of_samples, Range { least: Gap(490), most: Gap(495) });
        // The 40th and the 61st of 100 samples bound the median with 95 % confidence.
        assert_eq!(median.interval, Some(Range { least: Gap(390), most: Gap(605) }));
        assert_eq!(Percentile::of(&times[..5], 0.99), None);
        assert_eq!(Percentile::of(&[], 0.5), None);
    }
}
