//! Chooses the byte or number of the key that divides a set of rules best, or divides the rules by
//! rank. The tree calls these functions when it builds a node.

use super::lanes::TOGETHER;
use super::number_at;
use super::rule::Rule;

/// A part of the key of up to eight bytes, compared as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) at: usize,
    pub(super) length: usize,
}

/// The criterion by which a node divides its rules among its children (sides).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The node has a side for each value of a byte of the key.
    Byte { at: usize },
    /// The node has side 0 for keys whose number is below the threshold, and side 1 for the others.
    Number { window: Window, threshold: u64 },
    /// The node has side 0 for the rules up to this rank, and side 1 for the rules after it. A
    /// search for a key may have to visit both sides, so this cut saves no time. Its purpose is to
    /// limit the size of leaves, and so the number of words that an insertion writes.
    Rank(Rank),
}

/// The position of a rule in the order of all rules. Higher priorities come first, and among equal
/// priorities, lower orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// The complement of the priority, so that a lower value stands for a higher priority.
    pub(super) lowness: u32,
    pub(super) order: u64,
}

impl Rank {
    pub(super) fn of(rule: &Rule) -> Self {
        Self { lowness: !rule.priority, order: rule.order }
    }
}

impl Cut {
    /// Returns the side whose keys include all keys that the rule matches, or `None` if the rule
    /// matches keys on several sides.
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
            Self::Rank(last) => Some(u64::from(Rank::of(rule) > last)),
        }
    }
}

/// Returns a lower and an upper bound of the number that this window of a key holds, for all keys
/// that the rule matches. The true range may be narrower.
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

/// The cost of a step to a node or a leaf, in hundredths of the cost of comparing a key with
/// [`TOGETHER`] rules.
const STEP: u64 = 200;
const COMPARISON: u64 = 100;

/// The largest number of rules that a search is assumed to compare in one leaf. A larger set is
/// assumed to be divided further.
const DIVIDED: u64 = 4 * TOGETHER as u64;

/// Estimates the cost of a search among this number of rules, of which nothing else is known. If
/// there are few, the key is compared with all of them. Otherwise they are assumed to be divided,
/// and the cost doubles when their number grows fourfold, since each division leaves some rules
/// that match keys on several sides.
fn cost(rules: u64) -> u64 {
    let few = rules.min(DIVIDED);
    let all = STEP + COMPARISON * few.div_ceil(TOGETHER as u64);
    match rules {
        0 => 0,
        _ if rules <= DIVIDED => all,
        _ => (all * all * rules / DIVIDED).isqrt(),
    }
}

/// Returns the cut of these rules with the lowest estimated search time, or `None` if comparing all
/// rules takes no longer.
pub(super) fn choose(rules: &[Rule], key_bytes: usize, windows: &[Window]) -> Option<Cut> {
    let bytes = (0..key_bytes).map(|at| (after_byte(rules, at), Cut::Byte { at }));
    let numbers = windows.iter().map(|&window| after_number(rules, window));
    // Among equal costs the first cut is taken, so bytes come first: a byte divides into more than
    // two sides.
    let (cost, cut) = bytes.chain(numbers).min_by_key(|(cost, _)| *cost)?;
    let undivided = STEP + COMPARISON * rules.len().div_ceil(TOGETHER) as u64;
    (cost < undivided).then_some(cut)
}

/// Returns the cut that halves these rules by rank. At least two rules are needed. The cut is for
/// rules that no other cut divides.
pub(super) fn halve(rules: &[Rule]) -> Cut {
    let mut ranks: Vec<Rank> = rules.iter().map(Rank::of).collect();
    let middle = ranks.len() / 2 - 1;
    let (_, &mut last, _) = ranks.select_nth_unstable(middle);
    Cut::Rank(last)
}

/// Estimates the cost of a search after a cut. `open` is the number of rules that match keys on
/// several sides, and `sides` holds the number of the other rules on each side. The probability
/// that a search visits a side is assumed to be proportional to the side's number of rules. A cut
/// that leaves nearly all rules in one child costs `u64::MAX`, since it would only make the tree
/// deeper.
fn divided(open: u64, sides: &[u64]) -> u64 {
    let all: u64 = sides.iter().sum();
    let most = sides.iter().copied().max().unwrap_or(0).max(open);
    if all == 0 || most + (open + all).div_ceil(16) > open + all {
        return u64::MAX;
    }
    let sum: u64 = sides.iter().filter(|side| **side > 0).map(|side| side * cost(*side)).sum();
    STEP + cost(open) + sum / all
}

/// Estimates the cost of a search after these rules are cut by the byte at `at`.
fn after_byte(rules: &[Rule], at: usize) -> u64 {
    let mut counts = [0; 256];
    let mut open = 0;
    for rule in rules {
        match (Cut::Byte { at }).side(rule) {
            Some(value) => counts[value as usize] += 1,
            None => open += 1,
        }
    }
    divided(open, &counts)
}

/// Returns the cut of these rules by the number in a window, at the median of the rules' bounds,
/// and the estimated cost of a search after it.
fn after_number(rules: &[Rule], window: Window) -> (u64, Cut) {
    let bounds: Vec<(u64, u64)> = rules.iter().map(|rule| bounds(rule, window)).collect();
    // A bound that overflows is omitted, because a threshold above the largest number divides
    // nothing.
    let mut ends: Vec<u64> =
        bounds.iter().flat_map(|&(low, high)| [Some(low), high.checked_add(1)]).flatten().collect();
    let middle = ends.len() / 2;
    let (_, &mut threshold, _) = ends.select_nth_unstable(middle);
    let below = bounds.iter().filter(|(_, high)| *high < threshold).count();
    let above = bounds.iter().filter(|(low, _)| *low >= threshold).count();
    let open = rules.len() - below - above;
    let cost = divided(open as u64, &[below as u64, above as u64]);
    (cost, Cut::Number { window, threshold })
}
