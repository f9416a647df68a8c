//! Conditions that every case must meet.

use std::fmt;

use ::tables::measure::{Findings, Measured};
use clap::ArgMatches;

use super::arguments::duration;
use crate::failure::Failure;

/// `metric comparison limit`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Threshold {
    text: String,
    metric: Metric,
    comparison: Comparison,
    limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Metric {
    Rate,
    Cost,
    Percentile(f64),
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
}

/// A case that does not meet its threshold.
pub(super) struct Broken(String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Threshold {
    /// All that were given.
    pub(super) fn all(matches: &ArgMatches) -> Result<Vec<Self>, Failure> {
        let given = matches.get_many::<String>("threshold").into_iter().flatten();
        given.map(|text| Self::parse(text).map_err(Failure::input)).collect()
    }

    fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            format!(
                "--threshold {text:?}: {what}; an example is 'rate >= 50M', metrics are rate, cost, p50, p99, p99.9 and lost"
            )
        };
        let at = text.find(['<', '>', '=']).ok_or_else(|| wrong("there is no comparison"))?;
        let (name, rest) = text.split_at(at);
        let metric = match name.trim() {
            "rate" => Metric::Rate,
            "cost" => Metric::Cost,
            "p50" => Metric::Percentile(0.5),
            "p99" => Metric::Percentile(0.99),
            "p99.9" => Metric::Percentile(0.999),
            "lost" => Metric::Lost,
            name => return Err(wrong(&format!("{name:?} is no metric"))),
        };
        let comparisons = [
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("==", Comparison::Equal),
            ("<", Comparison::Below),
            (">", Comparison::Above),
        ];
        let (limit, comparison) = comparisons
            .into_iter()
            .find_map(|(sign, comparison)| Some((rest.strip_prefix(sign)?.trim(), comparison)))
            .ok_or_else(|| wrong("the comparison is none of <, <=, >, >=, =="))?;
        let limit = match metric {
            Metric::Rate | Metric::Lost => number(limit),
            // Nanoseconds, as samples are.
            Metric::Cost | Metric::Percentile(_) => {
                duration(limit).ok().map(|time| time.as_nanos() as f64)
            }
        }
        .ok_or_else(|| wrong(&format!("{limit:?} is no limit for it")))?;
        Ok(Self { text: text.to_owned(), metric, comparison, limit })
    }

    /// The cases that do not meet it. One that has no such value does not.
    pub(super) fn broken(&self, findings: &Findings) -> Vec<Broken> {
        let broken = |one: &Measured| {
            let value = self.metric.of(one);
            if value.is_some_and(|value| self.comparison.holds(value, self.limit)) {
                return None;
            }
            let found = value.map_or_else(
                || "there is no value".to_owned(),
                |value| format!("it is {value:.1}"),
            );
            Some(Broken(format!(
                "threshold {} does not hold for {}, {} entries: {found}",
                self.text,
                one.case.design,
                one.case.layout.size()
            )))
        };
        findings.measured.iter().filter_map(broken).collect()
    }
}

impl Metric {
    fn of(self, one: &Measured) -> Option<f64> {
        let mean = |values: Vec<f64>| statistics::mean(&values);
        match self {
            Self::Rate => mean(one.rates()),
            Self::Cost => mean(one.costs()),
            Self::Percentile(share) => one.single.tail_at(share).map(f64::from),
            Self::Lost => one.lost.map(|lost| lost as f64),
        }
    }
}

impl Comparison {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Equal => value == limit,
        }
    }
}

/// A number with an ending of powers of 1000.
fn number(text: &str) -> Option<f64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1e3),
        b'M' => (&text[..text.len() - 1], 1e6),
        b'G' => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    digits
        .trim()
        .parse::<f64>()
        .ok()
        .map(|number| number * unit)
        .filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let rate = Threshold::parse("rate >= 50M").expect("a condition");
        assert_eq!(
            (rate.metric, rate.comparison, rate.limit),
            (Metric::Rate, Comparison::AtLeast, 50e6)
        );
        let tail = Threshold::parse("p99.9<1.5us").expect("a condition");
        assert_eq!((tail.metric, tail.limit), (Metric::Percentile(0.999), 1500.0));
        for wrong in ["rate", "speed > 1", "rate >= fast", "p99 < 5", "rate = 5", ""] {
            assert!(Threshold::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn comparisons_hold_as_written() {
        for (comparison, expected) in [
            (Comparison::Below, [true, false, false]),
            (Comparison::AtMost, [true, true, false]),
            (Comparison::Above, [false, false, true]),
            (Comparison::AtLeast, [false, true, true]),
            (Comparison::Equal, [false, true, false]),
        ] {
            assert_eq!([1.0, 2.0, 3.0].map(|value| comparison.holds(value, 2.0)), expected);
        }
    }
}
