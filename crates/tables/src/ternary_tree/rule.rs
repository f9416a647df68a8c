//! An entry as the tree has it: a value under a mask, ranges, a priority; and the entries of a leaf in words.
//!
//! ```text
//! for each entry: mask ... value ...
//! for each entry: number and priority, order, place and number of its ranges
//! for each range: place, low ..., high ...
//! ```
//!
//! So masks and values lie one behind the other, all of one length, and are compared without a branch for each: which of
//! them matches cannot be foretold, and a wrong guess takes longer than several comparisons.

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

/// Words of an entry behind all masks and values.
const HEAD: usize = 3;

/// Entries whose masks and values are compared together.
const TOGETHER: usize = 8;

impl Rule {
    fn words(&self) -> usize {
        let ranges = self.ranges.iter().map(|range| 1 + 2 * range.low.len()).sum::<usize>();
        HEAD + 2 * self.mask.len() + ranges
    }
}

/// As many words as entries take.
pub(super) fn words_of(rules: &[Rule]) -> usize {
    rules.iter().map(Rule::words).sum()
}

/// Appends entries in words.
pub(super) fn encode(rules: &[Rule], words: &mut Vec<u64>) {
    for rule in rules {
        words.extend(&rule.mask);
        words.extend(&rule.value);
    }
    let mut at = rules.iter().map(|rule| HEAD + 2 * rule.mask.len()).sum::<usize>();
    for rule in rules {
        words.push(u64::from(rule.number) | u64::from(rule.priority) << 32);
        words.push(rule.order);
        words.push(at as u64 | (rule.ranges.len() as u64) << 32);
        at += rule.words() - HEAD - 2 * rule.mask.len();
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

/// Entries where they lie.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    words: &'a [AtomicU64],
    count: usize,
    /// Words of a key.
    key: usize,
}

impl<'a> Rules<'a> {
    /// So many entries for keys of so many words.
    #[inline(always)]
    pub(super) fn new(words: &'a [AtomicU64], count: usize, key: usize) -> Self {
        Self { words, count, key }
    }

    /// All of them, in order.
    pub(super) fn iter(self) -> impl Iterator<Item = RuleWords<'a>> {
        (0..self.count).filter_map(move |index| self.get(index))
    }

    #[inline(always)]
    pub(super) fn get(self, index: usize) -> Option<RuleWords<'a>> {
        let Self { words, count, key } = self;
        let heads = 2 * key * count + HEAD * index;
        Some(RuleWords { words, index, key, head: words.get(heads..heads + HEAD)? })
    }

    /// The first that matches a key in words, given that the key has as many words as is said.
    #[inline(always)]
    pub(super) fn first_match(self, key: &[u64]) -> Option<RuleWords<'a>> {
        match self.key {
            1 => self.first_of::<1>(key),
            2 => self.first_of::<2>(key),
            3 => self.first_of::<3>(key),
            _ => self.iter().find(|rule| rule.fits(key) && rule.is_within(key)),
        }
    }

    #[inline(always)]
    fn first_of<const WORDS: usize>(self, key: &[u64]) -> Option<RuleWords<'a>> {
        let key_words: &[u64; WORDS] = key.first_chunk()?;
        let compared = self.words.get(..2 * WORDS * self.count)?;
        for (round, together) in compared.chunks(2 * WORDS * TOGETHER).enumerate() {
            let mut fits = 0_u32;
            for (place, rule) in together.chunks_exact(2 * WORDS).enumerate() {
                let mut differs = 0;
                for (word, key) in key_words.iter().enumerate() {
                    differs |= key & load(&rule[word]) ^ load(&rule[WORDS + word]);
                }
                fits |= u32::from(differs == 0) << place;
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

/// A rule where it lies.
pub(super) struct RuleWords<'a> {
    /// Of all entries of the leaf.
    words: &'a [AtomicU64],
    index: usize,
    /// Words of a key.
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

    /// Mask and value.
    fn compared(&self) -> (&'a [AtomicU64], &'a [AtomicU64]) {
        let own = self.words.get(2 * self.key * self.index..).unwrap_or_default();
        let (mask, rest) = own.split_at_checked(self.key).unwrap_or_default();
        (mask, rest.get(..self.key).unwrap_or_default())
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
        let (mask, value) = self.compared();
        let ranges = self.ranges().map(|range| {
            let (low, high) = (all(range.low), all(range.high));
            FieldRange { at: range.at, bytes: range.bytes, low, high }
        });
        Rule {
            number: self.number(),
            priority: self.priority(),
            order: self.order(),
            mask: all(mask),
            value: all(value),
            ranges: ranges.collect(),
        }
    }

    /// Whether a key has the value under the mask.
    fn fits(&self, key: &[u64]) -> bool {
        let (mask, value) = self.compared();
        mask.iter().zip(value).zip(key).all(|((mask, value), key)| key & load(mask) == load(value))
    }

    /// Whether all ranges hold a key.
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

/// A range where it lies.
struct RangeWords<'a> {
    at: usize,
    bytes: usize,
    low: &'a [AtomicU64],
    high: &'a [AtomicU64],
}

/// Ranges one behind the other.
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
