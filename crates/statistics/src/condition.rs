//! Conditions on figures, such as `rtt.p99 < 5ms`, or `rtt.p50 < +10%` relative to a base.
//!
//! A condition consists of a metric, a comparison and a number with a unit. The metric determines
//! the allowed units, so that `rtt.p99 < 5` is refused instead of meaning five seconds. A number
//! with a sign is a change relative to a base, in percent.

use std::fmt;

use crate::Unit;

/// A condition on a metric, such as `rtt.p99 < 5ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    metric: String,
    comparison: Comparison,
    limit: Limit,
}

/// The limit with which a condition compares the value of its metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A limit in the base unit of the metric.
    Value(f64),
    /// A change relative to a base value of the metric, as a share of the base: 0.1 is ten percent
    /// more.
    Change(f64),
}

/// A comparison operator of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The operator `<`.
    Less,
    /// The operator `<=`.
    LessOrEqual,
    /// The operator `>`.
    Greater,
    /// The operator `>=`.
    GreaterOrEqual,
    /// The operator `==`. Values that differ only by the rounding of decimal fractions are equal.
    Equal,
    /// The operator `!=`.
    NotEqual,
}

impl Comparison {
    /// Returns whether the comparison holds between a value, on its left, and a limit, on its
    /// right.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        // To a user, 0.1 % and 0.001 are equal, although the floating-point numbers may differ by
        // rounding. An infinite value, such as that of a bound, equals only itself.
        let is_close = (value - limit).abs() <= 1e-12 * value.abs().max(limit.abs());
        let equal = value == limit || (is_close && value.is_finite() && limit.is_finite());
        match self {
            Self::Less => value < limit && !equal,
            Self::LessOrEqual => value < limit || equal,
            Self::Greater => value > limit && !equal,
            Self::GreaterOrEqual => value > limit || equal,
            Self::Equal => equal,
            Self::NotEqual => !equal,
        }
    }
}

/// The error for a condition that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// The condition as it was written.
    pub text: String,
    /// The position of the problem in the condition, in characters from 1.
    pub column: usize,
    /// The problem, and what is expected instead.
    pub reason: String,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\", column {}: {}", self.text, self.column, self.reason)
    }
}

impl std::error::Error for ConditionError {}

impl Condition {
    /// Parses a condition on one of `metrics`. Their names may end in a part in parentheses. If
    /// `changes` is true, a limit may be relative to a base.
    ///
    /// # Errors
    /// Returns a [`ConditionError`] for unknown metrics, units that do not fit, and other syntax
    /// errors.
    pub fn parse<'a>(
        text: &str,
        metrics: impl Iterator<Item = (&'a str, Unit)> + Clone,
        changes: bool,
    ) -> Result<Self, ConditionError> {
        let text = text.trim();
        let mut scanner = Scanner { text, at: 0 };
        let (metric, unit) = scanner.metric(metrics)?;
        let comparison = scanner.comparison()?;
        let number_at = scanner.skip_space();
        let sign = match scanner.rest().chars().next() {
            Some('+') if changes => Some(1.0),
            Some('-') if changes => Some(-1.0),
            _ => None,
        };
        scanner.at += usize::from(sign.is_some());
        let number = scanner.number()?;
        let unit_at = scanner.skip_space();
        let spelling = scanner.rest();
        let limit = match sign {
            Some(_) if spelling != "%" => {
                let reason = "a change from the baseline is in percent, such as +10%".to_owned();
                return Err(scanner.error(number_at, reason));
            }
            Some(sign) => Limit::Change(sign * number / 100.0),
            None => Limit::Value(
                number
                    * scale(&metric, unit, spelling, number).map_err(|reason| {
                        scanner.error(if spelling.is_empty() { number_at } else { unit_at }, reason)
                    })?,
            ),
        };
        let (Limit::Value(value) | Limit::Change(value)) = limit;
        if !value.is_finite() {
            return Err(scanner.error(number_at, "the number is too large".to_owned()));
        }
        Ok(Self { text: text.to_owned(), metric, comparison, limit })
    }

    /// Returns the name of the condition's metric, without spaces.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Returns the comparison operator of the condition.
    pub fn comparison(&self) -> Comparison {
        self.comparison
    }

    /// Returns the limit of the condition.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns whether a value, in the base unit of the metric, satisfies the condition. `base` is
    /// the value to which a relative limit refers. If it is `None`, a condition with a relative
    /// limit is not satisfied.
    pub fn holds(&self, value: f64, base: Option<f64>) -> bool {
        match self.limit {
            Limit::Value(limit) => self.comparison.holds(value, limit),
            Limit::Change(share) => {
                base.is_some_and(|base| self.comparison.holds(value, base + share * base.abs()))
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns the factor that converts a number with the unit `spelling` to the base unit of the
/// metric. The number itself is needed because a time of zero may omit its unit.
fn scale(metric: &str, unit: Unit, spelling: &str, number: f64) -> Result<f64, String> {
    if unit == Unit::Seconds && spelling.is_empty() && number == 0.0 {
        return Ok(1.0);
    }
    let (spellings, example) = unit.spellings();
    // The Greek letter and the micro sign look alike, so both are accepted.
    let common = spelling.replace('\u{3bc}', "\u{b5}");
    if let Some((_, scale)) = spellings.iter().find(|(name, _)| *name == common) {
        return Ok(*scale);
    }
    let known: Vec<&str> =
        spellings.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
    let complaint = if spelling.is_empty() {
        format!("{metric} needs a unit")
    } else {
        format!("\"{spelling}\" is not a unit of {metric} ({})", unit.text())
    };
    let remedy = if known.is_empty() {
        "write a plain number".to_owned()
    } else {
        format!("write one of {}", known.join(", "))
    };
    Err(format!("{complaint}; {remedy}, for example {example}"))
}

/// A scanner of the text of a condition.
struct Scanner<'a> {
    text: &'a str,
    /// The byte offset of the next character to be parsed.
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn error(&self, at: usize, reason: String) -> ConditionError {
        let column = self.text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        ConditionError { text: self.text.to_owned(), column, reason }
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

    fn metric<'m>(
        &mut self,
        metrics: impl Iterator<Item = (&'m str, Unit)> + Clone,
    ) -> Result<(String, Unit), ConditionError> {
        let at = self.at;
        let mut name =
            self.take_while(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-')).to_owned();
        if self.rest().starts_with('(') {
            let bracket = self.take_while(|c| !matches!(c, '<' | '>' | '=' | '!')).trim_end();
            name.extend(bracket.chars().filter(|c| !c.is_whitespace()));
        }
        if let Some((_, unit)) = metrics.clone().find(|(known, _)| *known == name) {
            return Ok((name, unit));
        }
        let known: Vec<&str> = metrics.map(|(name, _)| name).collect();
        let complaint = if name.is_empty() {
            "expected a metric".to_owned()
        } else {
            format!("there is no metric \"{name}\"")
        };
        Err(self.error(at, format!("{complaint}; known metrics are {}", known.join(", "))))
    }

    fn comparison(&mut self) -> Result<Comparison, ConditionError> {
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

    fn number(&mut self) -> Result<f64, ConditionError> {
        let at = self.at;
        let mut number = self.take_while(|c| c.is_ascii_digit() || c == '.');
        // An exponent follows, unless the letter E begins a unit.
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
    use super::*;

    const METRICS: [(&str, Unit); 4] = [
        ("rate", Unit::PerSecond),
        ("rtt.p50", Unit::Seconds),
        ("loss", Unit::Fraction),
        ("worst-error(median)", Unit::Fraction),
    ];

    fn parse(text: &str) -> Result<Condition, ConditionError> {
        Condition::parse(text, METRICS.into_iter(), true)
    }

    #[test]
    fn a_limit_with_a_sign_is_relative_to_the_base() {
        let slower = parse("rtt.p50 < +10%").expect("a condition");
        assert_eq!((slower.metric(), slower.limit()), ("rtt.p50", Limit::Change(0.1)));
        assert!(slower.holds(1.09e-3, Some(1e-3)) && !slower.holds(1.11e-3, Some(1e-3)));
        assert!(!slower.holds(1e-3, None), "without a base nothing holds");
        let faster = parse("rate >= -5 %").expect("a condition");
        assert!(faster.holds(95.0, Some(100.0)) && !faster.holds(94.9, Some(100.0)));
        // Every loss exceeds ten percent of a base of zero.
        let loss = parse("loss <= +10%").expect("a condition");
        assert!(loss.holds(0.0, Some(0.0)) && !loss.holds(1e-6, Some(0.0)));
        // Ten percent more than a negative base lies above it.
        assert!(slower.holds(-0.95, Some(-1.0)) && !slower.holds(-0.85, Some(-1.0)));
    }

    #[test]
    fn an_infinite_value_is_above_every_limit_and_equals_none() {
        for (text, holds) in [
            ("rtt.p50 < 5ms", false),
            ("rtt.p50 <= 5ms", false),
            ("rtt.p50 == 5ms", false),
            ("rtt.p50 > 5ms", true),
            ("rtt.p50 >= 5ms", true),
            ("rtt.p50 != 5ms", true),
        ] {
            let condition = parse(text).expect("a condition");
            assert_eq!(condition.holds(f64::INFINITY, None), holds, "{text}");
        }
    }

    #[test]
    fn microseconds_are_written_in_three_ways() {
        for text in ["rtt.p50 < 5us", "rtt.p50 < 5\u{b5}s", "rtt.p50 < 5 \u{3bc}s"] {
            let limit = parse(text).expect("a condition").limit();
            assert!(matches!(limit, Limit::Value(value) if (value - 5e-6).abs() < 1e-18), "{text}");
        }
    }

    #[test]
    fn a_change_has_percent_and_a_base() {
        let error = parse("rtt.p50 < +5ms").expect_err("no percent");
        assert_eq!(
            error.to_string(),
            "\"rtt.p50 < +5ms\", column 11: a change from the baseline is in percent, such as +10%"
        );
        let error = Condition::parse("rtt.p50 < +10%", METRICS.into_iter(), false);
        assert!(error.expect_err("no base").reason.contains("expected a number"));
    }

    #[test]
    fn names_may_have_brackets_and_space_in_them() {
        for text in ["worst-error(median) < 3 %", "worst-error( median )<3%"] {
            let condition = parse(text).expect(text);
            assert_eq!(condition.metric(), "worst-error(median)");
            assert_eq!(condition.limit(), Limit::Value(0.03));
        }
        for wrong in ["worst-error(mode) < 3 %", "worst-error(median < 3 %", "worst-error() < 1%"] {
            assert!(
                parse(wrong).expect_err(wrong).reason.contains("there is no metric"),
                "{wrong}"
            );
        }
    }
}
