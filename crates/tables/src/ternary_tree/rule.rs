//! The entries of the tree, each with its mask, ranges and priority, and the encoding of a leaf's
//! entries in words.
//!
//! ```text
//! for each eight entries and each word of a key: mask ... value ...
//! for each entry: number and priority, order, place and number of its ranges
//! for each range: place, low ..., high ...
//! ```
//!
//! The eight masks are contiguous, and so are the eight values, which are compared together
//! ([`super::lanes`]). A processor cannot predict which of them matches, and a mispredicted branch
//! takes longer than several comparisons. Places after the last entry hold a mask and a value that
//! match no key.

use super::lanes::{GROUP, Lanes, TOGETHER};
use super::number_at;
use crate::sync::{AtomicU64, Ordering};

/// An entry, as the tree stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) number: u32,
    pub(crate) priority: u32,
    /// A number that decides between rules of equal priority: if several of them match a key, the
    /// rule with the lowest `order` is chosen.
    pub(crate) order: u64,
    /// The bits of the key that must equal those of `value`, in words like those of a key.
    pub(crate) mask: Vec<u64>,
    pub(crate) value: Vec<u64>,
    pub(crate) ranges: Vec<FieldRange>,
}

/// The bounds of a field, both inclusive, in words whose most significant byte is the field's
/// first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldRange {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) low: Vec<u64>,
    pub(crate) high: Vec<u64>,
}

impl FieldRange {
    /// Returns the range of the field that begins at byte `at` of the key.
    pub(crate) fn new(at: usize, low: &[u8], high: &[u8]) -> Self {
        let words = |bytes: &[u8]| {
            let number =
                |chunk: &[u8]| chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
            bytes.chunks(8).map(number).collect()
        };
        Self { at, bytes: low.len(), low: words(low), high: words(high) }
    }
}

/// The number of words of an encoded entry, besides its masks, values and ranges.
const HEAD: usize = 3;

impl Rule {
    /// Returns the number of words that the entry's ranges take in a leaf.
    fn words(&self) -> usize {
        self.ranges.iter().map(|range| 1 + 2 * range.low.len()).sum()
    }
}

/// Returns the number of words of the masks and values of `count` entries, for keys of `key` words.
#[inline(always)]
fn compared(count: usize, key: usize) -> usize {
    count.div_ceil(TOGETHER) * GROUP * key
}

/// Returns the number of words that entries take, for keys of `key` words.
pub(super) fn words_of(rules: &[Rule], key: usize) -> usize {
    compared(rules.len(), key) + rules.iter().map(|rule| HEAD + rule.words()).sum::<usize>()
}

/// Appends the encoding of entries, for keys of `key` words.
pub(super) fn encode(rules: &[Rule], key: usize, words: &mut Vec<u64>) {
    for group in rules.chunks(TOGETHER) {
        for word in 0..key {
            let of = |rule: usize, part: fn(&Rule) -> &[u64], none| {
                group.get(rule).map_or(none, |rule| part(rule).get(word).copied().unwrap_or(0))
            };
            words.extend((0..TOGETHER).map(|rule| of(rule, |rule| &rule.mask, 0)));
            // No word equals this value under a mask of zeros.
            words.extend((0..TOGETHER).map(|rule| of(rule, |rule| &rule.value, u64::MAX)));
        }
    }
    let mut at = compared(rules.len(), key) + HEAD * rules.len();
    for rule in rules {
        words.push(u64::from(rule.number) | u64::from(rule.priority) << 32);
        words.push(rule.order);
        words.push(at as u64 | (rule.ranges.len() as u64) << 32);
        at += rule.words();
    }
    for range in rules.iter().flat_map(|rule| &rule.ranges) {
        words.push(range.at as u64 | (range.bytes as u64) << 32);
        words.extend(&range.low);
        words.extend(&range.high);
    }
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// The encoded entries of a leaf.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    words: &'a [AtomicU64],
    count: usize,
    /// The number of words of a key.
    key: usize,
}

impl<'a> Rules<'a> {
    /// Returns `count` encoded entries for keys of `key` words.
    #[inline(always)]
    pub(super) fn new(words: &'a [AtomicU64], count: usize, key: usize) -> Self {
        Self { words, count, key }
    }

    /// Returns all entries of the leaf in order, the best first.
    pub(super) fn iter(self) -> impl Iterator<Item = RuleWords<'a>> {
        (0..self.count).filter_map(move |index| self.get(index))
    }

    #[inline(always)]
    pub(super) fn get(self, index: usize) -> Option<RuleWords<'a>> {
        let Self { words, count, key } = self;
        let heads = compared(count, key) + HEAD * index;
        Some(RuleWords { words, index, key, head: words.get(heads..heads + HEAD)? })
    }

    /// Returns the first entry that matches a key, which must have the declared number of words.
    #[inline(always)]
    pub(super) fn first_match(self, lanes: impl Lanes, key: &[u64]) -> Option<RuleWords<'a>> {
        // Most keys have one word or two. Constants for these cases let the compiler unroll the
        // loop over the words.
        match self.key {
            1 => self.first_of(lanes, 1, key),
            2 => self.first_of(lanes, 2, key),
            all => self.first_of(lanes, all, key),
        }
    }

    /// Returns the first entry that matches `key`. `all` must equal `self.key`, the number of words
    /// of a key. It is an argument so that callers can pass a constant, which makes the loop
    /// faster.
    #[inline(always)]
    fn first_of(self, lanes: impl Lanes, all: usize, key: &[u64]) -> Option<RuleWords<'a>> {
        let (groups, _) = self.words.as_chunks::<GROUP>();
        for round in 0..self.count.div_ceil(TOGETHER) {
            let mut fits = u8::MAX;
            for word in 0..all {
                fits = lanes.fits(groups.get(round * all + word)?, *key.get(word)?, fits);
            }
            while fits != 0 {
                let rule = self.get(round * TOGETHER + fits.trailing_zeros() as usize)?;
                if rule.is_within(key) {
                    return Some(rule);
                }
                fits &= fits - 1;
            }
        }
        None
    }
}

/// One entry of a leaf, in its encoded form.
pub(super) struct RuleWords<'a> {
    /// The words of all entries of the leaf.
    words: &'a [AtomicU64],
    index: usize,
    /// The number of words of the keys.
    key: usize,
    head: &'a [AtomicU64],
}

impl<'a> RuleWords<'a> {
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
        load(&self.head[1])
    }

    /// Returns the mask and the value for each word of a key.
    fn compared(&self) -> impl Iterator<Item = (u64, u64)> {
        let Self { words, index, key, .. } = *self;
        let (group, place) = (index / TOGETHER * key * GROUP, index % TOGETHER);
        let at = move |at: usize| words.get(at).map_or(0, load);
        (0..key)
            .map(move |word| group + word * GROUP + place)
            .map(move |mask| (at(mask), at(mask + TOGETHER)))
    }

    #[inline(always)]
    fn ranges(&self) -> Ranges<'a> {
        let place = load(&self.head[2]);
        match (place >> 32) as u32 {
            0 => Ranges { words: &[], left: 0 },
            left => {
                let words = self.words.get(place as u32 as usize..).unwrap_or_default();
                Ranges { words, left }
            }
        }
    }

    pub(super) fn decode(&self) -> Rule {
        let all = |words: &[AtomicU64]| words.iter().map(load).collect::<Vec<u64>>();
        let (mask, value) = self.compared().unzip();
        let ranges = self.ranges().map(|range| {
            let (low, high) = (all(range.low), all(range.high));
            FieldRange { at: range.at, bytes: range.bytes, low, high }
        });
        Rule {
            number: self.number(),
            priority: self.priority(),
            order: self.order(),
            mask,
            value,
            ranges: ranges.collect(),
        }
    }

    /// Returns whether the key lies within all ranges of the entry.
    #[inline(always)]
    fn is_within(&self, key: &[u64]) -> bool {
        for range in self.ranges() {
            if !within(&range, key) {
                return false;
            }
        }
        true
    }
}

/// One range of an entry, in its encoded form.
struct RangeWords<'a> {
    at: usize,
    bytes: usize,
    low: &'a [AtomicU64],
    high: &'a [AtomicU64],
}

/// An iterator over contiguous encoded ranges.
struct Ranges<'a> {
    words: &'a [AtomicU64],
    left: u32,
}

impl<'a> Iterator for Ranges<'a> {
    type Item = RangeWords<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<RangeWords<'a>> {
        self.left = self.left.checked_sub(1)?;
        let (place, rest) = self.words.split_first()?;
        let place = load(place);
        let (at, bytes) = (place as u32 as usize, (place >> 32) as usize);
        let (low, rest) = rest.split_at_checked(bytes.div_ceil(8))?;
        let (high, rest) = rest.split_at_checked(bytes.div_ceil(8))?;
        self.words = rest;
        Some(RangeWords { at, bytes, low, high })
    }
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
