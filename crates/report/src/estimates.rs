//! Estimates of the metrics of a point of a sweep, from its trials.
//!
//! The point's summary contains most of them already. The others are computed here in the same way:
//! the mean over trials with a 95 % confidence interval.

use probe::outcome::{Completion, Counts, Latency, Point, Trial};
use statistics::{Estimate, Unit, can_state};

/// A kind of latency or delay that is measured in each trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The round-trip time, counted from the moment at which the packet-in was due to be sent.
    FromDue,
    /// The round-trip time, counted from the moment at which the packet-in was sent.
    FromSent,
    /// The round-trip time, counted from the moment at which the packet-in was sent, of all answers
    /// that arrived in the measurement window.
    InWindow,
    /// The delay with which the probe sends: from the moment at which the packet-in was due to be
    /// sent until it was sent.
    Lag,
    /// The longest time that an answer may have waited at the probe before the probe read it.
    Unread,
}

/// The largest share of packet-ins that may lack a sample before a mean no longer represents all of
/// them.
const NOTABLE: f64 = 0.01;
/// The sign beside a statistic that does not cover enough packet-ins: those without a sample could
/// make its true value arbitrarily large.
pub(crate) const UNBOUNDED: &str = "†";
/// The explanation of the sign [`UNBOUNDED`], which stands below tables.
pub(crate) const UNBOUNDED_MEANS: &str = "† of those answered only: more have no answer, or never left, than lie beyond \
     this percentile (of a mean, more than 1 %)";

/// A statistic of a latency, such as the median.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statistic {
    /// The name of the statistic in reports.
    pub(crate) name: &'static str,
    /// The share of samples that do not exceed the statistic, or `None` for the mean.
    pub(crate) quantile: Option<f64>,
    read: fn(&Latency) -> f64,
}

/// The statistics of latencies that reports show, in order.
pub(crate) const STATISTICS: [Statistic; 8] = [
    Statistic { name: "mean", quantile: None, read: |l| l.mean_ns },
    Statistic { name: "min", quantile: Some(0.0), read: |l| l.min_ns as f64 },
    Statistic { name: "p50", quantile: Some(0.5), read: |l| l.p50_ns as f64 },
    Statistic { name: "p90", quantile: Some(0.9), read: |l| l.p90_ns as f64 },
    Statistic { name: "p95", quantile: Some(0.95), read: |l| l.p95_ns as f64 },
    Statistic { name: "p99", quantile: Some(0.99), read: |l| l.p99_ns as f64 },
    Statistic { name: "p99.9", quantile: Some(0.999), read: |l| l.p999_ns as f64 },
    Statistic { name: "max", quantile: Some(1.0), read: |l| l.max_ns as f64 },
];

impl Statistic {
    /// Returns whether this number of samples is enough to state the statistic.
    fn is_stated(self, samples: u64) -> bool {
        match self.quantile {
            Some(share) if share > 0.0 && share < 1.0 => can_state(share, samples),
            _ => samples > 0,
        }
    }

    /// Returns the value of the statistic for a latency, in seconds.
    pub(crate) fn of(self, latency: &Latency) -> f64 {
        // Histograms contain no time below one nanosecond, so that one nanosecond also stands for
        // zero.
        let nanoseconds = (self.read)(latency);
        if nanoseconds <= 1.0 { 0.0 } else { nanoseconds / 1e9 }
    }
}

impl Kind {
    /// Returns the summary of this latency in a trial.
    pub(crate) fn of(self, trial: &Trial) -> &Latency {
        match self {
            Self::FromDue => &trial.rtt_from_due,
            Self::FromSent => &trial.rtt_from_sent,
            Self::InWindow => &trial.in_window.rtt_from_sent,
            Self::Lag => &trial.send_lag,
            Self::Unread => &trial.read_delay,
        }
    }

    /// Returns whether this kind has one sample for each packet-in. The delay of reading has none,
    /// because it is sampled at moments in time.
    pub(crate) fn is_of_packets(self) -> bool {
        self != Self::Unread
    }

    /// Returns the number of samples in all trials of a point.
    pub(crate) fn samples(self, point: &Point) -> u64 {
        usable(point).map(|trial| self.of(trial).samples).sum()
    }

    /// Returns the number of packet-ins in all trials of a point that should have a sample of this
    /// latency but have none. A latency from the due time should have a sample for each packet-in
    /// that was due, and a latency from sending should have one for each packet-in that was sent.
    pub(crate) fn missing(self, point: &Point) -> u64 {
        let missing = |trial: &Trial| {
            let counts = &trial.counts;
            let all = match self {
                Self::FromDue | Self::Lag => counts.due.saturating_sub(counts.handled_by_rules()),
                Self::FromSent => counts.sent,
                Self::InWindow | Self::Unread => return 0,
            };
            all.saturating_sub(self.of(trial).samples)
        };
        usable(point).map(missing).sum()
    }

    /// Returns whether the true value of the statistic is unbounded, because too many packet-ins of
    /// the point lack a sample. This is the case if their share exceeds the share of packet-ins
    /// beyond the quantile or, for a mean, [`NOTABLE`].
    pub(crate) fn is_unbounded(self, point: &Point, statistic: Statistic) -> bool {
        let (missing, samples) = (self.missing(point) as f64, self.samples(point) as f64);
        let beyond = 1.0 - statistic.quantile.unwrap_or(1.0 - NOTABLE);
        samples > 0.0 && missing > beyond * (missing + samples)
    }

    /// Returns the value of a statistic in seconds, as a mean over those trials of a point that
    /// have enough samples for it.
    pub(crate) fn estimate(self, point: &Point, statistic: Statistic) -> Option<Estimate> {
        let with_samples =
            usable(point).map(|t| self.of(t)).filter(|l| statistic.is_stated(l.samples));
        let values: Vec<f64> = with_samples.map(|latency| statistic.of(latency)).collect();
        Estimate::of(&values)
    }
}

/// Returns each kind of latency for which the point has samples, with its name in reports.
pub(crate) fn kinds(point: &Point) -> Vec<(Kind, &'static str)> {
    let kinds = [
        (Kind::FromDue, "RTT from due"),
        (Kind::FromSent, "RTT from sent"),
        (Kind::InWindow, "RTT in window"),
        (Kind::Lag, "send lag"),
        (Kind::Unread, "read delay"),
    ];
    let applies = |kind: Kind| kind != Kind::InWindow || has_earlier(point);
    kinds.into_iter().filter(|(kind, _)| applies(*kind) && kind.samples(point) > 0).collect()
}

/// Returns whether more than a few of the answers that arrived in the measurement window belong to
/// packet-ins that were due before the window. If so, reports show the round-trip times of all
/// answers in the window separately from those of the packet-ins that were due in it.
fn has_earlier(point: &Point) -> bool {
    let sum = |of: fn(&Trial) -> u64| usable(point).map(of).sum::<u64>() as f64;
    let earlier = sum(|trial| trial.in_window.answers_to_earlier);
    earlier > NOTABLE * sum(|trial| trial.in_window.answers)
}

/// Returns the rates and loads of a point that reports show, in order: name, value and unit of
/// each.
pub(crate) fn rates(point: &Point) -> Vec<(&'static str, &Estimate, Unit)> {
    let rules = metric(point, "rules_rate").is_some_and(|rules| rules.max > 0.0);
    // Loss is a share of what was sent.
    let unsent = metric(point, "unsent").is_some_and(|unsent| unsent.max > 0.0);
    let rows = [
        ("offered", "offered_rate", Unit::PerSecond, point.offered_rate.is_some()),
        ("sent", "sent_rate", Unit::PerSecond, true),
        ("received", "received_rate", Unit::PerSecond, true),
        ("loss", "loss", Unit::Fraction, true),
        ("unanswered", "unanswered", Unit::Fraction, unsent),
        ("rules installed", "rules_rate", Unit::PerSecond, rules),
        ("outstanding, most", "outstanding.max", Unit::Count, true),
        ("backlog at the start", "backlog.start", Unit::Count, true),
        ("backlog at the end", "backlog.end", Unit::Count, true),
        ("fairness over switches", "fairness", Unit::Index, point.switches > 1),
        ("controller CPU", "controller.cpu", Unit::CpuPercent, true),
        ("controller memory", "controller.rss", Unit::Bytes, true),
        ("probe CPU", "probe.cpu", Unit::CpuPercent, true),
        ("probe memory", "probe.rss", Unit::Bytes, true),
    ];
    let applying = rows.into_iter().filter(|row| row.3);
    applying
        .filter_map(|(label, name, unit, _)| Some((label, metric(point, name)?, unit)))
        .collect()
}

/// Returns the counts that reports show for a point, summed over its trials: name and count of
/// each. Rare events that did not occur are left out.
pub(crate) fn counts(point: &Point) -> Vec<(&'static str, u64)> {
    const ALWAYS: usize = 8;
    let total = |of: fn(&Counts) -> u64| point.trials.iter().map(|t| of(&t.counts)).sum::<u64>();
    let earlier = point.trials.iter().map(|trial| trial.in_window.answers_to_earlier).sum();
    let rows = [
        ("due", total(|c| c.due)),
        ("sent", total(|c| c.sent)),
        ("unsent", total(|c| c.unsent)),
        ("answered", total(|c| c.answered)),
        ("late", total(|c| c.late)),
        ("lost", total(|c| c.lost)),
        ("duplicated", total(|c| c.duplicated)),
        ("unmatched", total(|c| c.unmatched)),
        ("forwarded by rules", total(|c| c.forwarded_by_rules)),
        ("dropped by rules", total(|c| c.dropped_by_rules)),
        ("answered after the window", total(|c| c.answered_after)),
        ("answers to packet-ins before the window", earlier),
        ("answered more than once", total(|c| c.repeated)),
        ("passed over", total(|c| c.passed_over)),
        ("still waiting", total(|c| c.waiting)),
        ("untimed", total(|c| c.untimed)),
        ("packet-outs in the window", total(|c| c.packet_outs)),
        ("rules installed in the window", total(|c| c.rules_installed)),
        ("rules removed in the window", total(|c| c.rules_removed)),
        ("rules refused in the window", total(|c| c.rules_refused)),
        ("discovery frames relayed", total(|c| c.discovery_relayed)),
        ("disconnects", total(|c| c.disconnects)),
        ("malformed messages", total(|c| c.malformed)),
        ("packet-outs not accepted", total(|c| c.not_taken)),
    ];
    let rows = rows.into_iter().enumerate();
    rows.filter(|(place, row)| *place < ALWAYS || row.1 > 0).map(|(_, row)| row).collect()
}

/// Returns the sign [`UNBOUNDED`] if the named statistic of the round-trip time covers too few
/// packet-ins, and an empty text otherwise.
pub(crate) fn mark(point: &Point, name: &str) -> &'static str {
    let statistic = STATISTICS.into_iter().find(|statistic| statistic.name == name);
    match statistic.is_some_and(|statistic| Kind::FromDue.is_unbounded(point, statistic)) {
        true => UNBOUNDED,
        false => "",
    }
}

/// Returns a metric of a point's summary by its name.
pub(crate) fn metric<'a>(point: &'a Point, name: &str) -> Option<&'a Estimate> {
    point.summary.get(name)
}

/// Returns the trials of a point that have measurements.
pub(crate) fn usable(point: &Point) -> impl Iterator<Item = &Trial> {
    point.trials.iter().filter(|t| !matches!(t.completion, Completion::Failed { .. }))
}
