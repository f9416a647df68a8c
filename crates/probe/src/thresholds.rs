//! Conditions on the results of a run, such as `rtt.p99 < 5ms`, which decide the exit status of the
//! program.
//!
//! A condition is a metric, a comparison and a number with a unit. Which units fit depends on the
//! metric, so that `rtt.p99 < 5` is rejected instead of meaning five seconds.

use std::fmt;
use std::str::FromStr;

use statistics::{Comparison, Condition};

use crate::metrics::Metric;
use crate::outcome::{Point, ThresholdOutcome};

/// The error for a condition that cannot be parsed.
pub use statistics::ConditionError as ThresholdError;

/// A condition on a metric, such as `rtt.p99 < 5ms`.
#[derive(Clone, Debug)]
pub struct Threshold {
    condition: Condition,
    metric: &'static Metric,
}

impl Threshold {
    /// Returns the metric that is compared with a number.
    pub fn metric(&self) -> &'static Metric {
        self.metric
    }

    /// Returns whether a value, in the base unit of the metric, satisfies the condition.
    pub fn holds(&self, value: f64) -> bool {
        self.condition.holds(value, None)
    }

    /// Evaluates the condition at a point, which is a group of equal trials. The mean over the
    /// trials is compared. The condition is violated if the mean violates it, or if any trial has
    /// no value for the metric. An upper bound is also violated if the value does not cover too
    /// many of the packet-ins. In this respect a packet-in that was never sent counts as lost, and
    /// one without an answer counts as having an infinite round-trip time.
    fn judge(&self, point: &Point) -> ThresholdOutcome {
        let values: Vec<f64> =
            point.trials.iter().filter_map(|trial| self.metric.judged(trial)).collect();
        let value = statistics::mean(&values);
        let complete = values.len() == point.trials.len();
        let absent = Absent::of(self.metric, point);
        let bounds = matches!(
            self.condition.comparison(),
            Comparison::Less | Comparison::LessOrEqual | Comparison::Equal
        );
        let speaks = !bounds || absent.as_ref().is_none_or(|absent| !absent.decides);
        let mut lacking =
            point.trials.iter().filter_map(|trial| self.metric.lacking_samples(trial));
        let lacking = lacking.next();
        let untestable = lacking.map(|lacking| {
            format!(
                "cannot be tested: it needs {} samples, and there are {}",
                lacking.needed, lacking.samples
            )
        });
        ThresholdOutcome {
            condition: self.condition.to_string(),
            point: point.label(),
            value,
            held: complete && speaks && value.is_some_and(|value| self.holds(value)),
            testable: untestable.is_none(),
            remark: untestable.or(absent.map(|absent| absent.remark)),
        }
    }
}

/// The packet-ins that the value of a metric does not cover.
struct Absent {
    remark: String,
    /// Whether so many packet-ins are left out of the value that a condition with an upper bound
    /// counts as violated.
    decides: bool,
}

impl Absent {
    fn of(metric: &Metric, point: &Point) -> Option<Self> {
        let (mut unsent, mut due) = (0, 0);
        let (mut missing, mut wanted) = (0, 0);
        let mut tolerated = 0.0;
        for trial in &point.trials {
            unsent += trial.counts.unsent;
            due += trial.counts.due;
            if let Some(own) = metric.missing(trial) {
                missing += own.missing;
                wanted += own.wanted;
                tolerated = own.tolerated;
            }
        }
        if metric.counts_unsent() && unsent > 0 {
            let remark = format!("with {unsent} of {due} due that never left");
            return Some(Self { remark, decides: false });
        }
        let decides = missing as f64 > tolerated * wanted as f64;
        let remark = match decides {
            _ if missing == 0 => return None,
            true => {
                format!("{missing} of {wanted} have no value, more than the condition tolerates")
            }
            false => format!("{missing} of {wanted} have no value"),
        };
        Some(Self { remark, decides })
    }
}

/// Evaluates every condition at a point of the run.
pub fn evaluate(thresholds: &[Threshold], point: &Point) -> Vec<ThresholdOutcome> {
    thresholds.iter().map(|threshold| threshold.judge(point)).collect()
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let metrics: Vec<_> = Metric::all().map(|metric| (metric.name, metric.unit)).collect();
        let condition = Condition::parse(text, metrics.into_iter(), false)?;
        let unknown = || ThresholdError {
            text: text.to_owned(),
            column: 1,
            reason: format!("there is no metric \"{}\"", condition.metric()),
        };
        let metric = Metric::by_name(condition.metric()).ok_or_else(unknown)?;
        Ok(Self { condition, metric })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use statistics::Limit;

    use super::*;
    use crate::metrics::Unit;
    use crate::metrics::tests::{point_of, trial};
    use crate::outcome::{Completion, Counts, Latency};

    fn parse(text: &str) -> Threshold {
        text.parse().expect("a condition")
    }

    fn value_of(threshold: &Threshold) -> f64 {
        match threshold.condition.limit() {
            Limit::Value(value) => value,
            Limit::Change(_) => panic!("{threshold} is a change"),
        }
    }

    fn refusal(text: &str) -> String {
        text.parse::<Threshold>().expect_err("must be refused").to_string()
    }

    #[test]
    fn conditions_are_read_in_base_units() {
        use Comparison::*;
        for (text, metric, comparison, value) in [
            ("rtt.p99 < 5ms", "rtt.p99", Less, 0.005),
            ("loss == 0", "loss", Equal, 0.0),
            ("loss < 0.1%", "loss", Less, 0.001),
            ("received_rate >= 100k", "received_rate", GreaterOrEqual, 100_000.0),
            ("rtt_from_sent.p50<=800us", "rtt_from_sent.p50", LessOrEqual, 0.0008),
            ("controller.cpu < 250%", "controller.cpu", Less, 250.0),
            ("fairness>0.9", "fairness", Greater, 0.9),
            ("  lag.max != 1e3 \u{b5}s ", "lag.max", NotEqual, 0.001),
            ("lost < 1.5M", "lost", Less, 1_500_000.0),
            ("controller.rss < 2GiB", "controller.rss", Less, 2_147_483_648.0),
            ("ready_after < 2s", "ready_after", Less, 2.0),
            ("rtt.max >= 0", "rtt.max", GreaterOrEqual, 0.0),
            ("sent_rate > 1e6/s", "sent_rate", Greater, 1e6),
        ] {
            let threshold = parse(text);
            assert_eq!(threshold.metric().name, metric);
            assert_eq!(threshold.condition.comparison(), comparison);
            assert!((value_of(&threshold) - value).abs() <= 1e-12 * value, "{text}");
            assert_eq!(threshold.to_string(), text.trim());
        }
    }

    #[test]
    fn malformed_conditions_are_refused_with_their_position() {
        for (text, expected) in [
            ("rtt.p99 5ms", "\"rtt.p99 5ms\", column 9: expected one of <, <=, >, >=, ==, !="),
            ("rtt.p99 = 5ms", "\"rtt.p99 = 5ms\", column 9: expected one of <, <=, >, >=, ==, !="),
            (
                "rtt.p99 < fast",
                "\"rtt.p99 < fast\", column 11: expected a number that is not negative, such as \
                 5 or 0.1",
            ),
            (
                "rtt.p99 < -5ms",
                "\"rtt.p99 < -5ms\", column 11: expected a number that is not negative, such as \
                 5 or 0.1",
            ),
            (
                "rtt.p99 < 5",
                "\"rtt.p99 < 5\", column 11: rtt.p99 needs a unit; write one of ns, us, \u{b5}s, \
                 ms, s, for example 5ms",
            ),
            (
                "rtt.p99 < 5 %",
                "\"rtt.p99 < 5 %\", column 13: \"%\" is not a unit of rtt.p99 (seconds); write one of ns, us, \
                 \u{b5}s, ms, s, for example 5ms",
            ),
            (
                "fairness > 90%",
                "\"fairness > 90%\", column 14: \"%\" is not a unit of fairness (index); write a plain number, for \
                 example 0.9",
            ),
            ("loss < 1e999", "\"loss < 1e999\", column 8: the number is too large"),
        ] {
            assert_eq!(refusal(text), expected);
        }
        let unknown = refusal("rtt.p98 < 5ms");
        assert!(
            unknown.starts_with("\"rtt.p98 < 5ms\", column 1: there is no metric \"rtt.p98\";")
        );
        for metric in Metric::all() {
            assert!(unknown.contains(metric.name));
        }
        assert!(refusal("").contains("column 1: expected a metric; known metrics are "));
    }

    #[test]
    fn a_value_at_the_limit_is_judged_by_the_operator() {
        for (text, below, at, above) in [
            ("loss < 0.1%", true, false, false),
            ("loss <= 0.1%", true, true, false),
            ("loss > 0.1%", false, false, true),
            ("loss >= 0.1%", false, true, true),
            ("loss == 0.1%", false, true, false),
            ("loss != 0.1%", true, false, true),
        ] {
            let threshold = parse(text);
            assert_eq!(threshold.holds(0.000_999), below, "{text}");
            assert_eq!(threshold.holds(0.001), at, "{text}");
            assert_eq!(threshold.holds(0.001_001), above, "{text}");
        }
        assert!(!parse("loss == 0").holds(1e-9));
    }

    #[test]
    fn a_point_is_judged_by_the_mean_of_its_trials() {
        let mut fast = trial();
        fast.rates.received = 900.0;
        let mut slow = trial();
        slow.rates.received = 1300.0;
        let point = point_of(vec![fast, slow]);
        let thresholds = [parse("received_rate > 1k"), parse("received_rate > 1.2k")];
        let outcomes = evaluate(&thresholds, &point);
        let held: Vec<bool> = outcomes.iter().map(|outcome| outcome.held).collect();
        assert_eq!(held, [true, false]);
        for outcome in &outcomes {
            assert_eq!(outcome.value, Some(1100.0));
            assert_eq!(outcome.point, point.label());
        }
        assert_eq!(
            outcomes.first().map(|outcome| outcome.condition.as_str()),
            Some("received_rate > 1k")
        );
    }

    #[test]
    fn a_metric_without_a_value_breaks_its_threshold() {
        let nothing_sent = point_of(vec![trial()]);
        let outcome = evaluate(&[parse("loss == 0")], &nothing_sent).remove(0);
        assert_eq!((outcome.value, outcome.held), (None, false));

        let mut failed = trial();
        failed.completion = Completion::Failed { reason: "no controller".to_owned() };
        let half = point_of(vec![trial(), failed]);
        let outcome = evaluate(&[parse("lost == 0")], &half).remove(0);
        assert_eq!((outcome.value, outcome.held), (Some(0.0), false));

        let outcome = evaluate(&[parse("lost == 0")], &point_of(vec![])).remove(0);
        assert_eq!((outcome.value, outcome.held), (None, false));
    }

    /// Returns a trial in which the controller was gone for two of six seconds. Every packet-in
    /// that was sent was answered.
    fn controller_was_gone() -> Point {
        let mut trial = trial();
        trial.counts = Counts { due: 1200, sent: 790, answered: 790, unsent: 410, ..trial.counts };
        trial.rtt_from_due = Latency { samples: 790, p99_ns: 2_000_000, ..Latency::default() };
        trial.rtt_from_sent = trial.rtt_from_due;
        point_of(vec![trial])
    }

    #[test]
    fn unsent_packet_ins_violate_thresholds_on_loss_and_round_trip_times() {
        let point = controller_was_gone();
        for (condition, value, held) in [
            ("loss == 0", 410.0 / 1200.0, false),
            ("loss < 50%", 410.0 / 1200.0, true),
            ("lost < 10", 410.0, false),
            ("unsent == 0", 410.0, false),
            ("unanswered <= 34.2%", 410.0 / 1200.0, true),
            ("rtt.p99 < 50ms", 0.002, false),
            ("rtt.p50 < 50ms", 0.0, true),
            ("rtt_from_sent.p99 < 50ms", 0.002, true),
            ("rtt.p99 > 1ms", 0.002, true),
        ] {
            let outcome = evaluate(&[parse(condition)], &point).remove(0);
            assert_eq!(outcome.held, held, "{condition}: {outcome:?}");
            let measured = outcome.value.expect("a value");
            assert!((measured - value).abs() < 1e-9, "{condition}: {measured}");
        }
        let remark = |condition| evaluate(&[parse(condition)], &point).remove(0).remark;
        assert_eq!(remark("loss == 0").as_deref(), Some("with 410 of 1200 due that never left"));
        let missing = "410 of 1200 have no value, more than the condition tolerates";
        assert_eq!(remark("rtt.p99 < 50ms").as_deref(), Some(missing));
        assert_eq!(remark("rtt.p50 < 50ms").as_deref(), Some("410 of 1200 have no value"));
        assert_eq!(remark("rtt_from_sent.p99 < 50ms"), None);
    }

    #[test]
    fn a_percentile_without_a_sample_beyond_it_cannot_be_tested() {
        let mut trial = trial();
        trial.counts = Counts { due: 150, sent: 150, answered: 150, ..trial.counts };
        trial.rtt_from_due = Latency { samples: 150, p999_ns: 1_000, ..Latency::default() };
        let point = point_of(vec![trial]);
        let outcome = evaluate(&[parse("rtt.p999 < 1s")], &point).remove(0);
        assert_eq!((outcome.value, outcome.held, outcome.testable), (None, false, false));
        let remark = outcome.remark.as_deref();
        assert_eq!(remark, Some("cannot be tested: it needs 1000 samples, and there are 150"));
        let outcome = evaluate(&[parse("rtt.p99 < 1s")], &point).remove(0);
        assert!(outcome.held && outcome.testable, "{outcome:?}");
        // The summary and JSON have no such value either.
        assert!(!point.summary.contains_key("rtt.p999") && point.summary.contains_key("rtt.p99"));
        let json = serde_json::to_value(point.trials[0].rtt_from_due).expect("JSON");
        assert!(json["p999_ns"].is_null() && json["p99_ns"].is_u64(), "{json}");
    }

    #[test]
    fn a_percentile_tolerates_missing_packet_ins_beyond_it() {
        let mut trial = trial();
        trial.counts = Counts { due: 2000, sent: 2000, answered: 1980, lost: 20, ..trial.counts };
        trial.rtt_from_due = Latency { samples: 1980, ..Latency::default() };
        let point = point_of(vec![trial]);
        for (condition, held) in
            [("rtt.p99 < 1s", true), ("rtt.p999 < 1s", false), ("rtt.max < 1s", false)]
        {
            let outcome = evaluate(&[parse(condition)], &point).remove(0);
            assert_eq!(outcome.held, held, "{condition}: {outcome:?}");
        }
    }

    proptest! {
        #[test]
        fn every_metric_and_sign_round_trips(
            metric in 0..Metric::all().count(),
            sign in proptest::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]),
            number in 0.0f64..1e9,
            space in " {0,3}",
        ) {
            let metric = Metric::all().nth(metric).expect("in range");
            let (unit, scale) = match metric.unit {
                Unit::Seconds => ("us", 1e-6),
                Unit::PerSecond | Unit::Count => ("k", 1e3),
                Unit::Fraction => ("%", 1e-2),
                Unit::CpuPercent => ("%", 1.0),
                Unit::Bytes => ("MiB", 1_048_576.0),
                Unit::Index => ("", 1.0),
            };
            let text = format!("{}{space}{sign}{space}{number}{space}{unit}", metric.name);
            let threshold: Threshold = text.parse().expect("a condition");
            prop_assert_eq!(threshold.metric().name, metric.name);
            prop_assert_eq!(value_of(&threshold), number * scale);
            let again: Threshold = threshold.to_string().parse().expect("a condition");
            prop_assert_eq!(again.condition, threshold.condition);
        }

        #[test]
        fn any_text_is_read_or_refused_inside_itself(text in "\\PC{0,30}") {
            if let Err(error) = text.parse::<Threshold>() {
                prop_assert!(error.column >= 1);
                prop_assert!(error.column <= error.text.chars().count() + 1);
            }
        }
    }
}
