//! Conditions that decide the exit status, such as `rtt.p99 < 5ms`.
//!
//! A condition is a metric, a comparison and a number with a unit. Which units fit depends on the
//! metric, so that `rtt.p99 < 5` is refused instead of meaning five seconds.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::metrics::{Metric, Unit};
use crate::outcome::{Point, ThresholdOutcome};

/// A condition on a metric.
#[derive(Clone, Debug)]
pub struct Threshold {
    text: String,
    metric: &'static Metric,
    comparison: Comparison,
    value: f64,
}

/// How a metric is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`, equal up to the rounding of decimal fractions.
    Equal,
    /// `!=`
    NotEqual,
}

/// A condition that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{text}\", column {column}: {reason}")]
pub struct ThresholdError {
    /// The condition as written.
    pub text: String,
    /// Where it went wrong, in characters from 1.
    pub column: usize,
    /// What is wrong and what was expected.
    pub reason: String,
}

impl Threshold {
    /// The metric that is compared.
    pub fn metric(&self) -> &'static Metric {
        self.metric
    }

    /// How it is compared.
    pub fn comparison(&self) -> Comparison {
        self.comparison
    }

    /// What it is compared with, in the base unit of the metric.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Whether a value, in the base unit of the metric, keeps the condition.
    pub fn holds(&self, value: f64) -> bool {
        // 0.1 % and 0.001 are the same number to the user, though not always to a float.
        let equal = (value - self.value).abs() <= 1e-12 * value.abs().max(self.value.abs());
        match self.comparison {
            Comparison::Less => value < self.value && !equal,
            Comparison::LessOrEqual => value < self.value || equal,
            Comparison::Greater => value > self.value && !equal,
            Comparison::GreaterOrEqual => value > self.value || equal,
            Comparison::Equal => equal,
            Comparison::NotEqual => !equal,
        }
    }

    /// Judges a point by the mean over its trials. The condition is broken if the mean breaks it,
    /// and also if any trial has no value for the metric, or if the metric passes over packet-ins
    /// that would break it: what never left is lost to whoever waits for an answer, and what has no
    /// answer has no round-trip time, however long.
    fn judge(&self, point: &Point) -> ThresholdOutcome {
        let values: Vec<f64> =
            point.trials.iter().filter_map(|trial| self.metric.judged(trial)).collect();
        let value = statistics::mean(&values);
        let complete = values.len() == point.trials.len();
        let absent = Absent::of(self.metric, point);
        let bounds = matches!(
            self.comparison,
            Comparison::Less | Comparison::LessOrEqual | Comparison::Equal
        );
        let speaks = !bounds || absent.as_ref().is_none_or(|absent| !absent.decides);
        ThresholdOutcome {
            condition: self.text.clone(),
            point: point.label(),
            value,
            held: complete && speaks && value.is_some_and(|value| self.holds(value)),
            remark: absent.map(|absent| absent.remark),
        }
    }
}

/// What the value of a metric passes over.
struct Absent {
    remark: String,
    /// Whether it is so much that an upper bound on the value says nothing.
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
            true => format!("{missing} of {wanted} have none, more than it may pass over"),
            false => format!("{missing} of {wanted} have none"),
        };
        Some(Self { remark, decides })
    }
}

/// Judges a point by every threshold.
pub fn evaluate(thresholds: &[Threshold], point: &Point) -> Vec<ThresholdOutcome> {
    thresholds.iter().map(|threshold| threshold.judge(point)).collect()
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let text = text.trim();
        let mut scanner = Scanner { text, at: 0 };
        let metric = scanner.metric()?;
        let comparison = scanner.comparison()?;
        let number_at = scanner.skip_space();
        let number = scanner.number()?;
        let unit_at = scanner.skip_space();
        let unit = scanner.rest();
        let scale = scale(metric, unit, number).map_err(|reason| {
            scanner.error(if unit.is_empty() { number_at } else { unit_at }, reason)
        })?;
        let value = number * scale;
        if !value.is_finite() {
            return Err(scanner.error(number_at, "the number is too large".to_owned()));
        }
        Ok(Self { text: text.to_owned(), metric, comparison, value })
    }
}

/// What a unit multiplies a number by. `number` is given because zero needs no unit.
fn scale(metric: &Metric, unit: &str, number: f64) -> Result<f64, String> {
    let (units, example): (&[(&str, f64)], &str) = match metric.unit {
        Unit::Seconds if unit.is_empty() && number == 0.0 => return Ok(1.0),
        Unit::Seconds => {
            (&[("ns", 1e-9), ("us", 1e-6), ("\u{b5}s", 1e-6), ("ms", 1e-3), ("s", 1.0)], "5ms")
        }
        Unit::PerSecond => (
            &[
                ("", 1.0),
                ("k", 1e3),
                ("M", 1e6),
                ("G", 1e9),
                ("/s", 1.0),
                ("k/s", 1e3),
                ("M/s", 1e6),
            ],
            "100k",
        ),
        Unit::Count => (&[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)], "10"),
        Unit::Fraction => (&[("", 1.0), ("%", 1e-2)], "0.1%"),
        Unit::CpuPercent => (&[("", 1.0), ("%", 1.0)], "250%"),
        Unit::Bytes => (
            &[
                ("", 1.0),
                ("B", 1.0),
                ("k", 1e3),
                ("kB", 1e3),
                ("M", 1e6),
                ("MB", 1e6),
                ("G", 1e9),
                ("GB", 1e9),
                ("KiB", 1024.0),
                ("MiB", 1_048_576.0),
                ("GiB", 1_073_741_824.0),
            ],
            "512MiB",
        ),
        Unit::Index => (&[("", 1.0)], "0.9"),
    };
    if let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) {
        return Ok(*scale);
    }
    let known: Vec<&str> =
        units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
    let complaint = if unit.is_empty() {
        format!("{} needs a unit", metric.name)
    } else {
        format!("\"{unit}\" is no unit of {} ({})", metric.name, metric.unit.text())
    };
    let remedy = if known.is_empty() {
        "write a plain number".to_owned()
    } else {
        format!("write one of {}", known.join(", "))
    };
    Err(format!("{complaint}; {remedy}, for example {example}"))
}

struct Scanner<'a> {
    text: &'a str,
    /// Byte offset of what comes next; always at the start of a character.
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn error(&self, at: usize, reason: String) -> ThresholdError {
        let column = self.text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        ThresholdError { text: self.text.to_owned(), column, reason }
    }

    fn skip_space(&mut self) -> usize {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.at
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or("")
    }

    fn metric(&mut self) -> Result<&'static Metric, ThresholdError> {
        let at = self.at;
        let name = self.take_while(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'));
        Metric::by_name(name).ok_or_else(|| {
            let known: Vec<&str> = Metric::all().map(|metric| metric.name).collect();
            let complaint = if name.is_empty() {
                "expected a metric".to_owned()
            } else {
                format!("there is no metric \"{name}\"")
            };
            self.error(at, format!("{complaint}; known metrics are {}", known.join(", ")))
        })
    }

    fn comparison(&mut self) -> Result<Comparison, ThresholdError> {
        let at = self.skip_space();
        match self.take_while(|c| matches!(c, '<' | '>' | '=' | '!')) {
            "<" => Ok(Comparison::Less),
            "<=" => Ok(Comparison::LessOrEqual),
            ">" => Ok(Comparison::Greater),
            ">=" => Ok(Comparison::GreaterOrEqual),
            "==" => Ok(Comparison::Equal),
            "!=" => Ok(Comparison::NotEqual),
            _ => Err(self.error(at, "expected one of <, <=, >, >=, ==, !=".to_owned())),
        }
    }

    fn number(&mut self) -> Result<f64, ThresholdError> {
        let at = self.at;
        let mut number = self.take_while(|c| c.is_ascii_digit() || c == '.');
        // An exponent, unless the letter begins something else.
        if let Some(rest) = self.rest().strip_prefix(['e', 'E']) {
            let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
            let count = digits.bytes().take_while(u8::is_ascii_digit).count();
            if count > 0 {
                self.at += 1 + (rest.len() - digits.len()) + count;
                number = self.text.get(at..self.at).unwrap_or(number);
            }
        }
        number.parse().map_err(|_| {
            self.error(at, "expected a number that is not negative, such as 5 or 0.1".to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metrics::tests::{point_of, trial};
    use crate::outcome::{Completion, Counts, Latency};

    fn parse(text: &str) -> Threshold {
        text.parse().expect("a condition")
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
            assert_eq!(threshold.comparison(), comparison);
            assert!((threshold.value() - value).abs() <= 1e-12 * value, "{text}");
            assert_eq!(threshold.to_string(), text.trim());
        }
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
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
                "\"rtt.p99 < 5 %\", column 13: \"%\" is no unit of rtt.p99 (seconds); write one of \
                 ns, us, \u{b5}s, ms, s, for example 5ms",
            ),
            (
                "fairness > 90%",
                "\"fairness > 90%\", column 14: \"%\" is no unit of fairness (index); write a \
                 plain number, for example 0.9",
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
    fn the_edge_belongs_where_the_sign_says() {
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

    /// A controller that was gone for two of six seconds: all that left was answered.
    fn controller_was_gone() -> Point {
        let mut trial = trial();
        trial.counts = Counts { due: 120, sent: 79, answered: 79, unsent: 41, ..trial.counts };
        trial.rtt_from_due = Latency { samples: 79, p99_ns: 2_000_000, ..Latency::default() };
        trial.rtt_from_sent = trial.rtt_from_due;
        point_of(vec![trial])
    }

    #[test]
    fn what_never_left_breaks_thresholds_on_loss_and_on_round_trip_times() {
        let point = controller_was_gone();
        for (condition, value, held) in [
            ("loss == 0", 41.0 / 120.0, false),
            ("loss < 50%", 41.0 / 120.0, true),
            ("lost < 10", 41.0, false),
            ("unsent == 0", 41.0, false),
            ("unanswered <= 34.2%", 41.0 / 120.0, true),
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
        assert_eq!(remark("loss == 0").as_deref(), Some("with 41 of 120 due that never left"));
        let missing = "41 of 120 have none, more than it may pass over";
        assert_eq!(remark("rtt.p99 < 50ms").as_deref(), Some(missing));
        assert_eq!(remark("rtt.p50 < 50ms").as_deref(), Some("41 of 120 have none"));
        assert_eq!(remark("rtt_from_sent.p99 < 50ms"), None);
    }

    #[test]
    fn a_percentile_may_pass_over_what_lies_beyond_it() {
        let mut trial = trial();
        trial.counts = Counts { due: 1000, sent: 1000, answered: 990, lost: 10, ..trial.counts };
        trial.rtt_from_due = Latency { samples: 990, ..Latency::default() };
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
            prop_assert_eq!(threshold.value(), number * scale);
            let again: Threshold = threshold.to_string().parse().expect("a condition");
            prop_assert_eq!(again.value(), threshold.value());
            prop_assert_eq!(again.comparison(), threshold.comparison());
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
