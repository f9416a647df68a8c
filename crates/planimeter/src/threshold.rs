//! Conditions on metrics, which `--threshold` requires of every case of a measurement.

use statistics::{Condition, ConditionError, Unit};

/// A metric that conditions of `--threshold` may name, and its unit.
pub(crate) type Metric = (&'static str, Unit);

/// Returns a parser of conditions of `--threshold`, which must name one of `metrics`.
pub(crate) fn condition(
    metrics: &'static [Metric],
) -> impl Fn(&str) -> Result<Condition, ConditionError> + Clone {
    |text| Condition::parse(text, metrics.iter().copied(), false)
}

/// Returns a sentence if a case of a measurement does not meet a condition, and otherwise `None`. A
/// case without a value does not meet the condition.
pub(crate) fn broken(
    condition: &Condition,
    metrics: &[Metric],
    case: &str,
    value: Option<f64>,
) -> Option<String> {
    if value.is_some_and(|value| condition.holds(value, None)) {
        return None;
    }
    let unit = metrics.iter().find(|(name, _)| *name == condition.metric()).map(|(_, unit)| *unit);
    let found = value.zip(unit).map_or_else(
        || "there is no value".to_owned(),
        |(value, unit)| format!("it is {}", report::quantity(value, unit)),
    );
    Some(format!("threshold {condition} does not hold for {case}: {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: [Metric; 2] = [("rate", Unit::PerSecond), ("p99", Unit::Seconds)];

    #[test]
    fn a_case_that_does_not_meet_a_condition_is_named_with_its_value() {
        let parse = |text| Condition::parse(text, METRICS.into_iter(), false).expect("a condition");
        let rate = parse("rate > 1k");
        assert_eq!(broken(&rate, &METRICS, "x", Some(2e3)), None);
        let message = |condition, value| broken(condition, &METRICS, "x", value).expect("broken");
        assert_eq!(
            message(&rate, None),
            "threshold rate > 1k does not hold for x: there is no value"
        );
        assert_eq!(
            message(&parse("p99 < 1.5us"), Some(2e-6)),
            "threshold p99 < 1.5us does not hold for x: it is 2.00 µs"
        );
    }
}
