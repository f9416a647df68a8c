//! Conditions that every case of a measurement must meet: `metric comparison limit`.

use clap::ArgMatches;

use crate::failure::Failure;
use crate::words::duration;

/// A metric that conditions may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// What a limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number, with an ending of powers of 1000.
    Number,
    /// A time; values are in nanoseconds.
    Time,
}

impl Metric {
    pub(crate) const fn number(name: &'static str) -> Self {
        Self { name, kind: Kind::Number }
    }

    pub(crate) const fn time(name: &'static str) -> Self {
        Self { name, kind: Kind::Time }
    }
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Threshold {
    text: String,
    metric: Metric,
    comparison: Comparison,
    limit: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
}

impl Threshold {
    /// All that were given.
    pub(crate) fn all(matches: &ArgMatches, metrics: &[Metric]) -> Result<Vec<Self>, Failure> {
        let given = matches.get_many::<String>("threshold").into_iter().flatten();
        given.map(|text| Self::parse(text, metrics).map_err(Failure::input)).collect()
    }

    fn parse(text: &str, metrics: &[Metric]) -> Result<Self, String> {
        let wrong = |what: &str| {
            let names: Vec<&str> = metrics.iter().map(|metric| metric.name).collect();
            format!(
                "--threshold {text:?}: {what}; an example is 'rate >= 50M', metrics are {}",
                names.join(", ")
            )
        };
        let at = text.find(['<', '>', '=']).ok_or_else(|| wrong("there is no comparison"))?;
        let (name, rest) = text.split_at(at);
        let name = name.trim();
        let metric = metrics
            .iter()
            .find(|metric| metric.name == name)
            .ok_or_else(|| wrong(&format!("{name:?} is no metric")))?;
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
        let limit = match metric.kind {
            Kind::Number => number(limit),
            Kind::Time => duration(limit).ok().map(|time| time.as_nanos() as f64),
        }
        .ok_or_else(|| wrong(&format!("{limit:?} is no limit for it")))?;
        Ok(Self { text: text.to_owned(), metric: *metric, comparison, limit })
    }

    /// The name of the metric that it is about.
    pub(crate) fn metric(&self) -> &'static str {
        self.metric.name
    }

    /// What is said of a case that does not meet it. One that has no such value does not.
    pub(crate) fn broken(&self, case: &str, value: Option<f64>) -> Option<String> {
        if value.is_some_and(|value| self.comparison.holds(value, self.limit)) {
            return None;
        }
        let found = value
            .map_or_else(|| "there is no value".to_owned(), |value| format!("it is {value:.1}"));
        Some(format!("threshold {} does not hold for {case}: {found}", self.text))
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

    const METRICS: [Metric; 3] =
        [Metric::number("rate"), Metric::time("p99"), Metric::time("p99.9")];

    #[test]
    fn conditions_are_read() {
        let parse = |text: &str| Threshold::parse(text, &METRICS);
        let rate = parse("rate >= 50M").expect("a condition");
        assert_eq!(
            (rate.metric(), rate.comparison, rate.limit),
            ("rate", Comparison::AtLeast, 50e6)
        );
        let tail = parse("p99.9<1.5us").expect("a condition");
        assert_eq!((tail.metric(), tail.limit), ("p99.9", 1500.0));
        for wrong in ["rate", "speed > 1", "rate >= fast", "p99 < 5", "rate = 5", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
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

    #[test]
    fn a_case_without_a_value_does_not_meet_a_condition() {
        let rate = Threshold::parse("rate > 1k", &METRICS).expect("a condition");
        assert_eq!(rate.broken("x", Some(2e3)), None);
        let said = rate.broken("x", None);
        assert_eq!(
            said.as_deref(),
            Some("threshold rate > 1k does not hold for x: there is no value")
        );
    }
}
