//! Conditions on results that are held against a base: a gate for continuous integration.

use statistics::{Condition, Limit};

use super::Comparison;
use super::text::{percent, place, stated};
use crate::alarm::{self, Alarm};

/// What became of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// As it was given.
    pub condition: String,
    /// The result that was judged.
    pub of: String,
    /// Where it has the figure, and what it is; absent where there is none.
    pub figure: Option<Judged>,
    /// Whether it holds. Where there is no figure it does not.
    pub held: bool,
}

/// A figure that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Where.
    pub place: String,
    /// What it is, with its interval, in words.
    pub stated: String,
    /// Its value in the base unit of the metric.
    pub value: f64,
    /// That of the base.
    pub base: f64,
    /// Whether the interval of the figure, or of its change, lies on one side of the limit.
    pub certain: bool,
}

impl Outcome {
    /// What was found, in words.
    #[must_use]
    pub fn found(&self) -> String {
        match &self.figure {
            None => format!("{} has no such figure in common with the base", self.of),
            Some(judged) => {
                let doubt =
                    if judged.certain { "" } else { "; the interval reaches across the limit" };
                format!("{}, {}: {}{doubt}", self.of, judged.place, judged.stated)
            }
        }
    }
}

/// Returns the worst news of a comparison: conditions that do not hold, and results that are not
/// whole.
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

/// Judges every result that is held against the base by every condition, at every place that both have. A figure is judged
/// by its value; whether its interval lies on the same side of the limit is said.
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
                // The ends of what the value may be, as the limit sees it.
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
