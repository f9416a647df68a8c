//! Which byte or number of the key divides a set of rules best.

use super::lanes::TOGETHER;
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
    /// Side 0 for the rule of this rank and those before it, side 1 for those behind it. Every key
    /// visits both sides, the better one first: this cut only bounds what an insertion writes.
    Rank(Rank),
}

/// The place of a rule among all: rules of high priority come first, and of equal priorities the
/// lowest order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// The complement of the priority.
    pub(super) lowness: u32,
    pub(super) order: u64,
}

impl Rank {
    pub(super) fn of(rule: &Rule) -> Self {
        Self { lowness: !rule.priority, order: rule.order }
    }
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
            Self::Rank(last) => Some(u64::from(Rank::of(rule) > last)),
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

/// What a step to a node or leaf takes, in a hundredth of what it takes to compare a key with as many rules as are compared
/// together.
const STEP: u64 = 200;
const COMPARISON: u64 = 100;

/// Rules from which on it is expected that a cut helps.
const DIVIDED: u64 = 4 * TOGETHER as u64;

/// What the search in so many rules is thought to take, if nothing is known of them: in a few all are compared; more are
/// divided, and four times as many take twice as long, since cuts leave some rules open.
fn cost(rules: u64) -> u64 {
    let few = rules.min(DIVIDED);
    let all = STEP + COMPARISON * few.div_ceil(TOGETHER as u64);
    match rules {
        0 => 0,
        _ if rules <= DIVIDED => all,
        _ => (all * all * rules / DIVIDED).isqrt(),
    }
}

/// The cut with which a packet is thought to find its rule soonest, if sooner than by comparing all of them.
pub(super) fn choose(rules: &[Rule], key_bytes: usize, windows: &[Window]) -> Option<Cut> {
    let bytes = (0..key_bytes).map(|at| (after_byte(rules, at), Cut::Byte { at }));
    let numbers = windows.iter().map(|&window| after_number(rules, window));
    // Of equals the first: a byte divides into more sides than two.
    let (cost, cut) = bytes.chain(numbers).min_by_key(|(cost, _)| *cost)?;
    let undivided = STEP + COMPARISON * rules.len().div_ceil(TOGETHER) as u64;
    (cost < undivided).then_some(cut)
}

/// The cut that halves rules which no other cut divides; at least two of them.
pub(super) fn halve(rules: &[Rule]) -> Cut {
    let mut ranks: Vec<Rank> = rules.iter().map(Rank::of).collect();
    let middle = ranks.len() / 2 - 1;
    let (_, &mut last, _) = ranks.select_nth_unstable(middle);
    Cut::Rank(last)
}

/// What a search takes behind a cut that leaves some rules open and divides the others so. Packets come to a side as often
/// as it has rules. Where nearly all stay together the tree would only get deeper.
fn divided(open: u64, sides: &[u64]) -> u64 {
    let all: u64 = sides.iter().sum();
    let most = sides.iter().copied().max().unwrap_or(0).max(open);
    if all == 0 || most + (open + all).div_ceil(16) > open + all {
        return u64::MAX;
    }
    let sum: u64 = sides.iter().filter(|side| **side > 0).map(|side| side * cost(*side)).sum();
    STEP + cost(open) + sum / all
}

/// What a search takes behind a cut by a byte.
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

/// The same for a number, at the median of the bounds that rules have for it.
fn after_number(rules: &[Rule], window: Window) -> (u64, Cut) {
    let bounds: Vec<(u64, u64)> = rules.iter().map(|rule| bounds(rule, window)).collect();
    // A threshold behind the greatest number there is divides nothing.
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
