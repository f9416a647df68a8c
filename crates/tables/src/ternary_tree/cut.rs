//! Which byte or number of the key divides a set of rules best.

use super::number_at;
use super::rule::Rule;

/// A number in the key: up to eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) at: usize,
    pub(super) length: usize,
}

/// What divides the rules of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// A side for each value of a byte.
    Byte { at: usize },
    /// Side 0 below the threshold, side 1 from it on.
    Number { window: Window, threshold: u64 },
}

impl Cut {
    /// The side on which all keys are that the rule matches, or `None` if they are on several.
    pub(super) fn side(self, rule: &Rule) -> Option<u64> {
        match self {
            Self::Byte { at } => {
                (number_at(&rule.mask, at, 1) == 0xff).then(|| number_at(&rule.value, at, 1))
            }
            Self::Number { window, threshold } => {
                let (low, high) = bounds(rule, window);
                if high < threshold {
                    Some(0)
                } else if low >= threshold {
                    Some(1)
                } else {
                    None
                }
            }
        }
    }
}

/// The least and the greatest number in this window of the keys that a rule matches; they may lie farther apart than
/// that, but not closer.
fn bounds(rule: &Rule, window: Window) -> (u64, u64) {
    let Window { at, length } = window;
    let range = rule.ranges.iter().find(|range| range.at == at && range.bytes.min(8) == length);
    if let Some(range) = range
        && let (Some(low), Some(high)) = (range.low.first(), range.high.first())
    {
        return (*low, *high);
    }
    let (mask, value) = (number_at(&rule.mask, at, length), number_at(&rule.value, at, length));
    (value, value | !mask & (u64::MAX >> (64 - 8 * length as u32)))
}

/// The cut after which a packet has the fewest rules left, if it has noticeably fewer.
pub(super) fn choose(rules: &[Rule], key_bytes: usize, windows: &[Window]) -> Option<Cut> {
    let bytes = (0..key_bytes).filter_map(|at| Some((after_byte(rules, at)?, Cut::Byte { at })));
    let numbers = windows.iter().filter_map(|&window| after_number(rules, window));
    // Of equals the first: a byte divides into more sides than two.
    let (left, cut) = bytes.chain(numbers).min_by_key(|(left, _)| *left)?;
    (left + rules.len().div_ceil(16) <= rules.len()).then_some(cut)
}

/// Rules left in the worst case after a cut by a byte.
fn after_byte(rules: &[Rule], at: usize) -> Option<usize> {
    let mut counts = [0_usize; 256];
    let mut open = 0;
    for rule in rules {
        match (Cut::Byte { at }).side(rule) {
            Some(value) => counts[value as usize] += 1,
            None => open += 1,
        }
    }
    Some(open + counts.into_iter().max()?)
}

/// Rules left in the worst case after a cut by a number, at the median of their bounds.
fn after_number(rules: &[Rule], window: Window) -> Option<(usize, Cut)> {
    let bounds: Vec<(u64, u64)> = rules.iter().map(|rule| bounds(rule, window)).collect();
    // A threshold behind the greatest number there is divides nothing.
    let mut ends: Vec<u64> =
        bounds.iter().flat_map(|&(low, high)| [Some(low), high.checked_add(1)]).flatten().collect();
    let middle = ends.len() / 2;
    let (_, &mut threshold, _) = ends.select_nth_unstable(middle);
    let below = bounds.iter().filter(|(_, high)| *high < threshold).count();
    let above = bounds.iter().filter(|(low, _)| *low >= threshold).count();
    let open = rules.len() - below - above;
    Some((open + below.max(above), Cut::Number { window, threshold }))
}
