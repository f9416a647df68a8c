//! Batches: whether the rules of one request change at the same moment, and if not, in which order.

use super::bracket::Bracket;
use super::time::{Gap, Range};

/// A comparison of the times and the order in which the rules of one request changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    /// The time from the first to the last change of a rule. A lower bound of zero means that all
    /// rules may have changed at the same moment.
    pub spread: Range,
    /// Whether packets met a partly applied batch: one probe met the new state of a rule, and a
    /// probe that was sent later met the old state of another rule.
    pub is_torn: bool,
    /// The agreement between the order of the changes and the order of the updates in the request;
    /// `None` with fewer than two rules.
    pub order: Option<Order>,
}

/// Kendall's tau between the order of updates in a request and the order of their effects: 1 if
/// they agree, -1 if one is the reverse of the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// The least possible tau, for which pairs of changes with overlapping brackets count as
    /// reversed.
    pub least: f64,
    /// The greatest possible tau, for which pairs of changes with overlapping brackets count as in
    /// order.
    pub most: f64,
}

impl Batch {
    /// Compares when the rules of a request changed. `brackets` are in the order of the request's
    /// updates. Returns `None` if there are none.
    #[must_use]
    pub fn of(brackets: &[Bracket]) -> Option<Self> {
        let last_after = brackets.iter().map(|bracket| bracket.after).max()?;
        let first_until = brackets.iter().map(|bracket| bracket.until).min()?;
        let first_after = brackets.iter().map(|bracket| bracket.after).min()?;
        let last_until = brackets.iter().map(|bracket| bracket.until).max()?;
        Some(Self {
            spread: Range {
                least: last_after.since(first_until).max(Gap(0)),
                most: last_until.since(first_after),
            },
            is_torn: last_after >= first_until,
            order: order(brackets),
        })
    }
}

fn order(brackets: &[Bracket]) -> Option<Order> {
    let (mut agree, mut reversed, mut pairs) = (0_u64, 0_u64, 0_u64);
    for (position, earlier) in brackets.iter().enumerate() {
        for later in brackets.iter().skip(position + 1) {
            pairs += 1;
            agree += u64::from(earlier.until <= later.after);
            reversed += u64::from(later.until <= earlier.after);
        }
    }
    let overlapping = pairs - agree - reversed;
    let tau = |agree: u64, reversed: u64| (agree as f64 - reversed as f64) / pairs as f64;
    (pairs > 0).then(|| Order {
        least: tau(agree, reversed + overlapping),
        most: tau(agree + overlapping, reversed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects::time::Moment;

    fn bracket(after: u64, until: u64) -> Bracket {
        Bracket { after: Moment(after), until: Moment(until) }
    }

    #[test]
    fn overlapping_brackets_prove_nothing() {
        let batch = Batch::of(&[bracket(10, 20), bracket(5, 15)]).expect("rules");
        assert!(!batch.is_torn);
        assert_eq!(batch.spread, Range { least: Gap(0), most: Gap(15) });
        assert_eq!(batch.order, Some(Order { least: -1.0, most: 1.0 }));
    }

    #[test]
    fn disjoint_brackets_prove_a_torn_batch_and_its_order() {
        let batch = Batch::of(&[bracket(10, 20), bracket(30, 40), bracket(35, 50)]);
        let batch = batch.expect("rules");
        assert!(batch.is_torn);
        assert_eq!(batch.spread, Range { least: Gap(15), most: Gap(40) });
        let order = batch.order.expect("pairs");
        assert!((order.least - 1.0 / 3.0).abs() < 1e-12 && (order.most - 1.0).abs() < 1e-12);
        assert_eq!(Batch::of(&[]), None);
    }
}
