//! The metrics of a trial by name, such as `rtt.p99`. Thresholds, summaries, reports and help use
//! the same table of them.
//!
//! Values are in base units: seconds, bytes, numbers per second, fractions from 0 to 1, and percent
//! of one core. A metric without samples has no value instead of zero, so that a missing
//! measurement is not mistaken for a good one.

use std::collections::BTreeMap;

use crate::outcome::{Completion, Latency, Point, Trial, Usage};

use statistics::can_state;

pub use statistics::Unit;

/// A metric of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name of the metric, such as `rtt.p99`.
    pub name: &'static str,
    /// The unit of the metric's values.
    pub unit: Unit,
    /// A description of the metric in one line.
    pub summary: &'static str,
    read: fn(&Trial) -> Option<f64>,
}

macro_rules! latency_metrics {
    ($of:expr, $prefix:literal, $what:literal, $($statistic:literal $samples:ident $words:literal),+) => {
        &[$(Metric {
            name: concat!($prefix, ".", $statistic),
            unit: Unit::Seconds,
            summary: concat!($words, " of ", $what),
            read: |trial| {
                let of: fn(&Trial) -> &Latency = $of;
                let latency = of(trial);
                stated_seconds(latency, $statistic, latency.$samples as f64)
            },
        }),+]
    };
}

const GENERAL: &[Metric] = &[
    Metric {
        name: "offered_rate",
        unit: Unit::PerSecond,
        summary: "Packet-ins due per second, all switches together",
        read: |trial| Some(trial.rates.offered),
    },
    Metric {
        name: "sent_rate",
        unit: Unit::PerSecond,
        summary: "Packet-ins that left in the window per second, whenever due, all switches together",
        read: |trial| Some(trial.rates.sent),
    },
    Metric {
        name: "received_rate",
        unit: Unit::PerSecond,
        summary: "First answers that arrived in the window per second, all switches together",
        read: |trial| Some(trial.rates.received),
    },
    Metric {
        name: "rules_rate",
        unit: Unit::PerSecond,
        summary: "Rules installed per second, all switches together",
        read: |trial| Some(trial.rates.rules),
    },
    Metric {
        name: "loss",
        unit: Unit::Fraction,
        summary: "Share without an answer when the trial ended, of the packet-ins due in the window that left",
        read: |trial| (trial.counts.sent > 0).then_some(trial.rates.loss),
    },
    Metric {
        name: "lost",
        unit: Unit::Count,
        summary: "Packet-ins due in the window that left and had no answer when the trial ended",
        read: |trial| Some(trial.counts.lost as f64),
    },
    Metric {
        name: "unsent",
        unit: Unit::Count,
        summary: "Packet-ins that were due and never left",
        read: |trial| Some(trial.counts.unsent as f64),
    },
    Metric {
        name: "unanswered",
        unit: Unit::Fraction,
        summary: "Share of the packet-ins due that had no answer when the trial ended: lost or unsent",
        read: |trial| trial.counts.unanswered_share(),
    },
    Metric {
        name: "late",
        unit: Unit::Count,
        summary: "Packet-ins answered after the limit for late answers",
        read: |trial| Some(trial.counts.late as f64),
    },
    Metric {
        name: "duplicated",
        unit: Unit::Count,
        summary: "Further answers to packet-ins answered before",
        read: |trial| Some(trial.counts.duplicated as f64),
    },
    Metric {
        name: "unmatched",
        unit: Unit::Count,
        summary: "Packet-outs that answer no packet-in and are not discovery frames",
        read: |trial| Some(trial.counts.unmatched as f64),
    },
    Metric {
        name: "forwarded_by_rules",
        unit: Unit::Count,
        summary: "Packets that rules forwarded, so that they became no packet-ins",
        read: |trial| Some(trial.counts.forwarded_by_rules as f64),
    },
    Metric {
        name: "dropped_by_rules",
        unit: Unit::Count,
        summary: "Packets that rules, or the lack of one, dropped",
        read: |trial| Some(trial.counts.dropped_by_rules as f64),
    },
    Metric {
        name: "rules_refused",
        unit: Unit::Count,
        summary: "Rules refused with an error",
        read: |trial| Some(trial.counts.rules_refused as f64),
    },
    Metric {
        name: "disconnects",
        unit: Unit::Count,
        summary: "Connections that the controller closed or that broke",
        read: |trial| Some(trial.counts.disconnects as f64),
    },
    Metric {
        name: "malformed",
        unit: Unit::Count,
        summary: "Messages of the controller that could not be decoded",
        read: |trial| Some(trial.counts.malformed as f64),
    },
    Metric {
        name: "outstanding.max",
        unit: Unit::Count,
        summary: "Most packet-ins waiting for an answer at any sample, all switches together",
        read: |trial| trial.series.outstanding.iter().max().map(|most| *most as f64),
    },
    Metric {
        name: "fairness",
        unit: Unit::Index,
        summary: "Jain's index of answered packet-ins over switches; 1 is perfectly fair",
        read: |trial| trial.fairness,
    },
    Metric {
        name: "controller.cpu",
        unit: Unit::CpuPercent,
        summary: "Mean CPU of the controller, in percent of one core",
        read: |trial| trial.controller_usage.as_ref().and_then(cpu),
    },
    Metric {
        name: "controller.rss",
        unit: Unit::Bytes,
        summary: "Largest resident memory of the controller",
        read: |trial| trial.controller_usage.as_ref().and_then(rss),
    },
    Metric {
        name: "probe.cpu",
        unit: Unit::CpuPercent,
        summary: "Mean CPU of the probe itself, in percent of one core",
        read: |trial| cpu(&trial.probe_usage),
    },
    Metric {
        name: "probe.rss",
        unit: Unit::Bytes,
        summary: "Largest resident memory of the probe itself",
        read: |trial| rss(&trial.probe_usage),
    },
    Metric {
        name: "ready",
        unit: Unit::Count,
        summary: "Switches that finished their handshake",
        read: |trial| Some(f64::from(trial.handshake.ready)),
    },
    Metric {
        name: "ready_after",
        unit: Unit::Seconds,
        summary: "Time from the first connection attempt until the last switch was ready",
        read: |trial| trial.handshake.ready_after_s,
    },
];

const RTT: &[Metric] = latency_metrics!(
    |trial| &trial.rtt_from_due, "rtt", "the round-trip time from due to answered",
    "mean" mean_ns "Mean", "p50" p50_ns "Median", "p90" p90_ns "90th percentile",
    "p95" p95_ns "95th percentile", "p99" p99_ns "99th percentile",
    "p999" p999_ns "99.9th percentile", "max" max_ns "Largest value"
);

const RTT_FROM_SENT: &[Metric] = latency_metrics!(
    |trial| &trial.rtt_from_sent, "rtt_from_sent", "the round-trip time from sent to answered",
    "mean" mean_ns "Mean", "p50" p50_ns "Median", "p90" p90_ns "90th percentile",
    "p95" p95_ns "95th percentile", "p99" p99_ns "99th percentile",
    "p999" p999_ns "99.9th percentile", "max" max_ns "Largest value"
);

const LAG: &[Metric] = latency_metrics!(
    |trial| &trial.send_lag, "lag", "the delay of packet-ins behind their due time",
    "p50" p50_ns "Median", "p99" p99_ns "99th percentile", "max" max_ns "Largest value"
);

const READ_DELAY: &[Metric] = latency_metrics!(
    |trial| &trial.read_delay, "read_delay", "the time that answers may have waited until the probe read them",
    "p50" p50_ns "Median", "p99" p99_ns "99th percentile", "max" max_ns "Largest value"
);

const PARTS: &[Metric] = &[
    Metric {
        name: "answers_to_earlier",
        unit: Unit::Count,
        summary: "Answers that arrived in the window to packet-ins that were due before it",
        read: |trial| Some(trial.in_window.answers_to_earlier as f64),
    },
    Metric {
        name: "answered_after",
        unit: Unit::Count,
        summary: "Packet-ins that were answered after the window",
        read: |trial| Some(trial.counts.answered_after as f64),
    },
    Metric {
        name: "passed_over",
        unit: Unit::Count,
        summary: "Lost packet-ins, a later one of whose switch was answered",
        read: |trial| Some(trial.counts.passed_over as f64),
    },
    Metric {
        name: "waiting",
        unit: Unit::Count,
        summary: "Lost packet-ins that may still have waited at the controller",
        read: |trial| Some(trial.counts.waiting as f64),
    },
];

const BACKLOG: &[Metric] = &[
    Metric {
        name: "backlog.start",
        unit: Unit::Count,
        summary: "Packet-ins that waited for the controller at the start of the window, if they grew",
        read: |trial| trial.verdict.backlog.map(|backlog| backlog.at_start as f64),
    },
    Metric {
        name: "backlog.end",
        unit: Unit::Count,
        summary: "Packet-ins that waited for the controller at the end of the window, if they grew",
        read: |trial| trial.verdict.backlog.map(|backlog| backlog.at_end as f64),
    },
];

const RTT_IN_WINDOW: &[Metric] = latency_metrics!(
    |trial| &trial.in_window.rtt_from_sent, "rtt_in_window",
    "the round-trip time from sent of answers that arrived in the window, to whatever packet-in",
    "mean" mean_ns "Mean", "p50" p50_ns "Median", "p90" p90_ns "90th percentile",
    "p99" p99_ns "99th percentile", "max" max_ns "Largest value"
);

impl Metric {
    /// Returns every metric, in the order of the manual.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        [GENERAL, RTT, RTT_FROM_SENT, LAG, READ_DELAY, PARTS, RTT_IN_WINDOW, BACKLOG]
            .into_iter()
            .flatten()
    }

    /// Returns the metric with the given name, or `None` if there is none.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        Self::all().find(|metric| metric.name == name)
    }

    /// Returns the value of the metric in a trial. Returns `None` if there are no samples, or if
    /// the trial failed or ended before its measure window began.
    pub fn of(&self, trial: &Trial) -> Option<f64> {
        if matches!(trial.completion, Completion::Failed { .. }) || trial.measured_s <= 0.0 {
            return None;
        }
        (self.read)(trial).filter(|value| value.is_finite())
    }
}

/// The number of packet-ins that have no value in a metric although they should contribute to it,
/// and the number of all that should.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Missing {
    pub(crate) missing: u64,
    pub(crate) wanted: u64,
    /// The share of packet-ins that may be missing. Missing packet-ins count as having infinite
    /// round-trip times, so for a percentile it is the share beyond the percentile.
    pub(crate) tolerated: f64,
}

/// The number of samples of a percentile that has too few of them, and the number that the
/// percentile needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LackingSamples {
    pub(crate) samples: u64,
    pub(crate) needed: u64,
}

impl Metric {
    /// Returns the value that a threshold tests. It equals [`Metric::of`], except that packet-ins
    /// that were never sent count as lost.
    pub(crate) fn judged(&self, trial: &Trial) -> Option<f64> {
        let value = self.of(trial)?;
        Some(match self.name {
            "loss" => trial.counts.unanswered_share()?,
            "lost" => trial.counts.unanswered() as f64,
            _ => value,
        })
    }

    /// Returns whether [`Metric::judged`] counts packet-ins that were never sent as lost.
    pub(crate) fn counts_unsent(&self) -> bool {
        matches!(self.name, "loss" | "lost")
    }

    /// Returns the number of samples in the trial and the number that the metric needs. Returns
    /// `None` unless the metric is a percentile with too few samples.
    pub(crate) fn lacking_samples(&self, trial: &Trial) -> Option<LackingSamples> {
        let (kind, statistic) = self.name.split_once('.')?;
        let share = share_of(statistic)?;
        let latency = match kind {
            "rtt" => &trial.rtt_from_due,
            "rtt_from_sent" => &trial.rtt_from_sent,
            "rtt_in_window" => &trial.in_window.rtt_from_sent,
            "lag" => &trial.send_lag,
            "read_delay" => &trial.read_delay,
            _ => return None,
        };
        let needed = (1.0 / (1.0 - share)).round() as u64;
        (!can_state(share, latency.samples))
            .then_some(LackingSamples { samples: latency.samples, needed })
    }

    /// Returns the number of packet-ins without a round-trip time. Returns `None` unless the
    /// metric's name begins with `rtt.` or `rtt_from_sent.`.
    pub(crate) fn missing(&self, trial: &Trial) -> Option<Missing> {
        let counts = &trial.counts;
        let (kind, statistic) = self.name.split_once('.')?;
        let (wanted, samples) = match kind {
            "rtt" => (counts.due - counts.handled_by_rules().min(counts.due), &trial.rtt_from_due),
            "rtt_from_sent" => (counts.sent, &trial.rtt_from_sent),
            _ => return None,
        };
        let tolerated = match statistic {
            "max" => 0.0,
            // If one percent of the values are missing, a mean hardly changes.
            statistic => share_of(statistic).map_or(0.01, |share| 1.0 - share),
        };
        Some(Missing { missing: wanted.saturating_sub(samples.samples), wanted, tolerated })
    }
}

impl Trial {
    /// Returns the values of the trial's metrics by name, in base units (see [`Metric`]). Metrics
    /// without a value are left out.
    pub fn metrics(&self) -> BTreeMap<&'static str, f64> {
        Metric::all().filter_map(|metric| Some((metric.name, metric.of(self)?))).collect()
    }
}

impl Point {
    /// Returns a short description of the trials' common settings, such as `openflow13, 16
    /// switches, 1000/s each`.
    pub fn label(&self) -> String {
        let switches = match self.switches {
            1 => "1 switch".to_owned(),
            n => format!("{n} switches"),
        };
        let load = match (self.rate_per_switch, self.window) {
            (Some(rate), _) => format!("{rate}/s each"),
            (None, Some(window)) => format!("window {window}"),
            (None, None) => self.mode.clone(),
        };
        format!("{}, {switches}, {load}", self.protocol)
    }
}

/// Converts a statistic of a histogram, such as `p99`, from nanoseconds to seconds. Returns `None`
/// if there are too few samples for it.
fn stated_seconds(latency: &Latency, statistic: &str, nanoseconds: f64) -> Option<f64> {
    let is_stated = share_of(statistic).is_none_or(|share| can_state(share, latency.samples));
    (latency.samples > 0 && is_stated).then_some(nanoseconds / 1e9)
}

/// Returns the share of samples at or below a percentile such as `p99`, or `None` for other
/// statistics.
fn share_of(statistic: &str) -> Option<f64> {
    Some(match statistic {
        "p50" => 0.5,
        "p90" => 0.9,
        "p95" => 0.95,
        "p99" => 0.99,
        "p999" => 0.999,
        _ => return None,
    })
}

fn cpu(usage: &Usage) -> Option<f64> {
    (usage.samples > 0).then_some(usage.cpu_percent)
}

fn rss(usage: &Usage) -> Option<f64> {
    (usage.samples > 0).then_some(usage.rss_bytes_max as f64)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::outcome::{
        Counts, HandshakeOutcome, Histograms, InWindow, Rates, Saturated, Series, Verdict,
    };
    use crate::summary;

    /// Returns a trial without any packet-ins, as a starting point for tests.
    pub(crate) fn trial() -> Trial {
        Trial {
            repetition: 1,
            seed: 0,
            completion: Completion::Complete,
            measured_s: 1.0,
            counts: Counts::default(),
            rates: Rates::default(),
            rtt_from_due: Latency::default(),
            rtt_from_sent: Latency::default(),
            send_lag: Latency::default(),
            read_delay: Latency::default(),
            in_window: InWindow::default(),
            fairness: None,
            series: Series::default(),
            per_switch: Vec::new(),
            controller_usage: None,
            probe_usage: Usage::default(),
            verdict: Verdict::new(Saturated::Unknown),
            silence: None,
            handshake: HandshakeOutcome::default(),
            pipelines: Default::default(),
            ranks: Vec::new(),
            notes: Vec::new(),
            histograms: Histograms::default(),
        }
    }

    pub(crate) fn point_of(trials: Vec<Trial>) -> Point {
        Point {
            protocol: "openflow13".to_owned(),
            mode: "open".to_owned(),
            switches: 16,
            rate_per_switch: Some(62.5),
            offered_rate: Some(1000.0),
            window: None,
            summary: summary::summarize(&trials),
            trials,
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<&str> = Metric::all().map(|metric| metric.name).collect();
        assert_eq!(names.len(), Metric::all().count());
        for name in names {
            assert_eq!(Metric::by_name(name).map(|metric| metric.name), Some(name));
        }
        assert!(Metric::by_name("rtt").is_none());
    }

    #[test]
    fn values_are_in_base_units() {
        let mut trial = trial();
        trial.counts.sent = 10;
        trial.rates.loss = 0.25;
        trial.rtt_from_due = Latency { samples: 100, p99_ns: 5_000_000, ..Latency::default() };
        trial.rtt_from_sent = Latency { samples: 1, mean_ns: 1500.0, ..Latency::default() };
        trial.send_lag = Latency { samples: 1, max_ns: 7, ..Latency::default() };
        trial.controller_usage = Some(Usage {
            cpu_percent: 250.0,
            rss_bytes_max: 4096,
            samples: 2,
            cpu_percent_max: 300.0,
        });
        trial.series.outstanding = vec![3, 9, 4];
        trial.handshake.ready_after_s = Some(0.5);
        let metrics = trial.metrics();
        for (name, value) in [
            ("loss", 0.25),
            ("rtt.p99", 0.005),
            ("rtt_from_sent.mean", 1.5e-6),
            ("lag.max", 7e-9),
            ("controller.cpu", 250.0),
            ("controller.rss", 4096.0),
            ("outstanding.max", 9.0),
            ("ready_after", 0.5),
        ] {
            let found = metrics.get(name).copied().expect(name);
            assert!((found - value).abs() < 1e-12, "{name}: {found}");
        }
    }

    #[test]
    fn metrics_without_a_measurement_are_absent() {
        let metrics = trial().metrics();
        let absent = ["loss", "rtt.p99", "lag.p50", "fairness", "controller.cpu", "probe.rss"];
        for name in absent {
            assert!(!metrics.contains_key(name), "{name}");
        }
        assert_eq!(metrics.get("lost"), Some(&0.0));

        let mut failed = trial();
        failed.completion = Completion::Failed { reason: "refused".to_owned() };
        assert!(failed.metrics().is_empty());
    }

    #[test]
    fn a_summary_counts_the_trials_that_have_the_metric() {
        let mut measured = trial();
        measured.fairness = Some(0.5);
        measured.rates.sent = 100.0;
        let mut other = trial();
        other.rates.sent = 300.0;
        let summary = point_of(vec![measured, other]).summary;
        assert_eq!(
            summary.get("fairness").map(|estimate| (estimate.n, estimate.mean)),
            Some((1, 0.5))
        );
        assert_eq!(
            summary.get("sent_rate").map(|estimate| (estimate.n, estimate.mean)),
            Some((2, 200.0))
        );
    }

    #[test]
    fn labels_tell_points_apart() {
        let mut point = point_of(Vec::new());
        assert_eq!(point.label(), "openflow13, 16 switches, 62.5/s each");
        point.rate_per_switch = None;
        point.window = Some(1);
        point.switches = 1;
        assert_eq!(point.label(), "openflow13, 1 switch, window 1");
        point.window = None;
        point.mode = "flood".to_owned();
        assert_eq!(point.label(), "openflow13, 1 switch, flood");
    }
}
