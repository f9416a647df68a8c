//! An entry as the tree has it: a value under a mask, ranges, a priority; and the same in words.
//!
//! ```text
//! number and priority   order and number of ranges   mask ...   value ...   for each range: place, low ..., high ...
//! ```

use super::number_at;
use crate::sync::{AtomicU64, Ordering};

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) number: u32,
    pub(crate) priority: u32,
    /// Of equal priorities the lowest wins.
    pub(crate) order: u64,
    /// The bits that must be as in `value`, in words as a key's.
    pub(crate) mask: Vec<u64>,
    pub(crate) value: Vec<u64>,
    pub(crate) ranges: Vec<FieldRange>,
}

/// A field between two bounds, both included; bounds in words, the field's first byte highest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldRange {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) low: Vec<u64>,
    pub(crate) high: Vec<u64>,
}

impl FieldRange {
    /// For a field from byte `at` of the key on.
    pub(crate) fn new(at: usize, low: &[u8], high: &[u8]) -> Self {
        let words = |bytes: &[u8]| {
            let number =
                |chunk: &[u8]| chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            bytes.chunks(8).map(number).collect()
        };
        Self { at, bytes: low.len(), low: words(low), high: words(high) }
    }
}

const HEAD: usize = 2;

impl Rule {
    pub(super) fn words(&self) -> usize {
        let ranges = self.ranges.iter().map(|range| 1 + 2 * range.low.len()).sum::<usize>();
        HEAD + 2 * self.mask.len() + ranges
    }

    pub(super) fn encode(&self, words: &mut Vec<u64>) {
        words.push(u64::from(self.number) | u64::from(self.priority) << 32);
        words.push(self.order << 16 | self.ranges.len() as u64);
        words.extend(&self.mask);
        words.extend(&self.value);
        for range in &self.ranges {
            words.push(range.at as u64 | (range.bytes as u64) << 32);
            words.extend(&range.low);
            words.extend(&range.high);
        }
    }
}

/// A rule where it lies.
pub(super) struct RuleWords<'a> {
    head: &'a [AtomicU64],
    mask: &'a [AtomicU64],
    value: &'a [AtomicU64],
    ranges: &'a [AtomicU64],
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

impl<'a> RuleWords<'a> {
    /// The first of rules that lie one behind the other, for keys of so many words, and those behind it.
    #[inline(always)]
    pub(super) fn first(words: &'a [AtomicU64], key: usize) -> Option<(Self, &'a [AtomicU64])> {
        let (head, rest) = words.split_at_checked(HEAD)?;
        let (mask, rest) = rest.split_at_checked(key)?;
        let (value, mut rest) = rest.split_at_checked(key)?;
        let behind = rest;
        for _ in 0..load(&head[1]) & 0xffff {
            let bounds = (load(rest.first()?) >> 32).div_ceil(8) as usize;
            rest = rest.get(1 + 2 * bounds..)?;
        }
        let ranges = &behind[..behind.len() - rest.len()];
        Some((Self { head, mask, value, ranges }, rest))
    }

    #[inline(always)]
    pub(super) fn number(&self) -> u32 {
        load(&self.head[0]) as u32
    }

    #[inline(always)]
    pub(super) fn priority(&self) -> u32 {
        (load(&self.head[0]) >> 32) as u32
    }

    #[inline(always)]
    pub(super) fn order(&self) -> u64 {
        load(&self.head[1]) >> 16
    }

    pub(super) fn decode(&self) -> Rule {
        let all = |words: &[AtomicU64]| words.iter().map(load).collect::<Vec<u64>>();
        let mut ranges = Vec::new();
        let mut left = self.ranges;
        while let Some((range, rest)) = first_range(left) {
            left = rest;
            let (low, high) = (all(range.low), all(range.high));
            ranges.push(FieldRange { at: range.at, bytes: range.bytes, low, high });
        }
        Rule {
            number: self.number(),
            priority: self.priority(),
            order: self.order(),
            mask: all(self.mask),
            value: all(self.value),
            ranges,
        }
    }
}

/// A range where it lies.
struct RangeWords<'a> {
    at: usize,
    bytes: usize,
    low: &'a [AtomicU64],
    high: &'a [AtomicU64],
}

#[inline(always)]
fn first_range(words: &[AtomicU64]) -> Option<(RangeWords<'_>, &[AtomicU64])> {
    let (place, rest) = words.split_first()?;
    let place = load(place);
    let (at, bytes) = (place as u32 as usize, (place >> 32) as usize);
    let (low, rest) = rest.split_at_checked(bytes.div_ceil(8))?;
    let (high, rest) = rest.split_at_checked(bytes.div_ceil(8))?;
    Some((RangeWords { at, bytes, low, high }, rest))
}

/// Whether a rule matches a key in words.
#[inline(always)]
pub(super) fn matches(rule: &RuleWords<'_>, key: &[u64]) -> bool {
    let masked = rule.mask.iter().zip(rule.value).zip(key);
    let mut differs = 0;
    for ((mask, value), key) in masked {
        differs |= key & load(mask) ^ load(value);
    }
    if differs != 0 {
        return false;
    }
    let mut left = rule.ranges;
    while let Some((range, rest)) = first_range(left) {
        left = rest;
        if !within(&range, key) {
            return false;
        }
    }
    true
}

#[inline(always)]
fn within(range: &RangeWords<'_>, key: &[u64]) -> bool {
    let (mut above, mut under) = (false, false);
    for (index, (low, high)) in range.low.iter().zip(range.high).enumerate() {
        let length = (range.bytes - 8 * index).min(8);
        let value = number_at(key, range.at + 8 * index, length);
        let (low, high) = (load(low), load(high));
        if !above && value < low || !under && value > high {
            return false;
        }
        above |= value > low;
        under |= value < high;
    }
    true
}
