//! Judges conditions on results that are compared with a base, for use as a gate in continuous
//! integration.

use statistics::{Condition, Limit};

use super::Comparison;
use super::text::{percent, place, stated};
use crate::alarm::{self, Alarm};

/// The outcome of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The condition in the words of the user.
    pub condition: String,
    /// The name of the result that was judged.
    pub of: String,
    /// The figure and its place, or `None` if there is no such figure.
    pub figure: Option<Judged>,
    /// Whether the condition holds. Without a figure it does not.
    pub held: bool,
}

/// A figure that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The place of the figure.
    pub place: String,
    /// The figure with its interval, in words.
    pub stated: String,
    /// The value in the base unit of the metric.
    pub value: f64,
    /// The value of the base.
    pub base: f64,
    /// Whether the interval of the figure, or of its change, lies on one side of the limit.
    pub certain: bool,
}

impl Outcome {
    /// Returns the value that was found, in words.
    #[must_use]
    pub fn found(&self) -> String {
        match &self.figure {
            None => format!("{} and the baseline have no such figure in common", self.of),
            Some(judged) => {
                let doubt = if judged.certain {
                    ""
                } else {
                    "; its confidence interval contains the limit"
                };
                format!("{}, {}: {}{doubt}", self.of, judged.place, judged.stated)
            }
        }
    }
}

/// Returns the alarms of a comparison, which are conditions that do not hold and results that are
/// incomplete.
pub(super) fn alarms(comparison: &Comparison<'_>, outcomes: &[Outcome]) -> Vec<Alarm> {
    let missed = outcomes.iter().filter(|outcome| !outcome.held);
    let missed = missed.map(|one| format!("{} does not hold: {}", one.condition, one.found()));
    let mut alarms = alarm::broken(&missed.collect::<Vec<_>>());
    let others = comparison.others.iter().map(|against| against.other);
    for result in std::iter::once(comparison.base).chain(others) {
        let reason = result.partial.iter();
        alarms.extend(reason.map(|reason| {
            Alarm::new(alarm::Kind::Partial, "PARTIAL", format!("{} is {reason}", result.name))
        }));
    }
    alarms
}

/// Judges every result by every condition, at each place that it shares with the base. The value of
/// a figure decides, and the outcome states whether its whole interval lies on the same side of the
/// limit.
#[must_use]
pub fn judge(comparison: &Comparison<'_>, conditions: &[Condition]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for condition in conditions {
        for against in &comparison.others {
            let before = outcomes.len();
            let own = against.rows.iter().filter(|row| row.base.metric == condition.metric());
            for row in own {
                let (value, base) = (row.other.value, row.base.value);
                let held = condition.holds(value, Some(base));
                // The ends of the interval, in the unit of the limit.
                let (ends, stated) = match condition.limit() {
                    Limit::Value(_) => (row.other.interval(), stated(row.other)),
                    Limit::Change(_) => (
                        row.change.interval.map(|(low, high)| (base + low, base + high)),
                        format!(
                            "{} against {}, {}",
                            stated(row.other),
                            stated(row.base),
                            percent(row.change, row.base)
                        ),
                    ),
                };
                let certain = ends.is_some_and(|(low, high)| {
                    condition.holds(low, Some(base)) == held
                        && condition.holds(high, Some(base)) == held
                });
                let place = place(row);
                let figure = Some(Judged { place, stated, value, base, certain });
                let (condition, of) = (condition.to_string(), against.other.name.clone());
                outcomes.push(Outcome { condition, of, figure, held });
            }
            if outcomes.len() == before {
                let (condition, of) = (condition.to_string(), against.other.name.clone());
                outcomes.push(Outcome { condition, of, figure: None, held: false });
            }
        }
    }
    outcomes
}
