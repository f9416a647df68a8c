//! Judges conditions on results that are compared with a base, so that continuous integration can
//! fail if one does not hold.

use statistics::{Condition, Limit};

use super::Comparison;
use super::text::{percent, place, stated};
use crate::alarm::{self, Alarm};

/// The outcome of checking a condition of the user on one figure of a result: whether the figure of
/// one point of a sweep, case, cell or flow meets the condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The condition as the user wrote it.
    pub condition: String,
    /// The name of the result on which the condition was judged.
    pub of: String,
    /// The figure that the condition was judged by, or `None` if the result and the base have no
    /// such figure in common.
    pub figure: Option<Judged>,
    /// Whether the condition holds. It does not hold if there is no figure.
    pub held: bool,
}

/// A figure of a result by which a condition was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The name of what was measured: a point of a sweep, a case, a cell or a flow.
    pub place: String,
    /// The figure with its interval, as text. For a condition on a change, the figure of the base
    /// is added.
    pub stated: String,
    /// The value of the figure, in the base unit of the metric.
    pub value: f64,
    /// The value of the figure in the base, with which all other results are compared.
    pub base: f64,
    /// Whether both ends of the confidence interval lead to the same judgement as the value. It is
    /// `false` if the figure has no interval.
    pub certain: bool,
}

impl Outcome {
    /// Describes the figure by which the condition was judged: the name of the result, what was
    /// measured, the figure with its interval, and a remark if the interval contains the limit. If
    /// there is no such figure, the text states that.
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

/// Returns an alarm for each condition that does not hold, and one for each result that is
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

/// Judges every condition for every result except the base. A condition is judged for each point,
/// case, cell or flow that the result and the base have in common. The value of the figure decides.
/// The outcome also states whether its whole confidence interval lies on the same side of the
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
