//! A hash table that maps keys of several words to the numbers of entries.
//! [`Search`](crate::search::Search) uses it for keys of more than 128 bits that are matched
//! exactly.
//!
//! Each slot of an array leads to a list of nodes, one for each key whose hash selects the slot. A
//! node is a block of an [`Arena`]:
//!
//! ```text
//! word 0:     half 0: the next node of the list; half 1: the number of the entry plus one
//! words 1...: the key
//! ```
//!
//! A node does not change while it is in a list, except for its half 0. The array does not grow: a
//! table that has more entries than slots is replaced by one with more slots
//! ([`KeyTable::suits`]).

use crate::arena::{Arena, Block, Writer, half, replace_half};
use crate::hash;
use crate::quiescence::Domain;
use crate::region::Region;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The index of a node's half that leads to the next node.
const NEXT: usize = 0;
/// The index of a node's half with the number of the entry plus one.
const RESULT: usize = 1;
/// The smallest number of slots.
const LEAST: usize = 16;
/// The largest number of slots. Lists of a table with more entries are longer.
const MOST: usize = 1 << 26;

/// The part of the table that packets read.
pub(crate) struct KeyTable {
    /// The position in the arena of the first node of each slot's list, in four bytes per slot.
    slots: Region,
    /// The number of slots less one. The number of slots is a power of two.
    mask: usize,
    arena: Arena,
    /// The number of words of a key.
    words: usize,
}

impl KeyTable {
    /// Creates an empty table for keys of `words` words, made for `entries` entries. Returns `None`
    /// if memory does not suffice.
    pub(crate) fn new(words: usize, entries: usize) -> Option<Self> {
        let slots = Self::slots_for(entries);
        Some(Self { slots: Region::new(4 * slots)?, mask: slots - 1, arena: Arena::new(), words })
    }

    fn slots_for(entries: usize) -> usize {
        entries.clamp(LEAST, MOST).next_power_of_two()
    }

    /// Returns whether the table has the number of slots that a new table for this number of
    /// entries would have.
    pub(crate) fn suits(&self, entries: usize) -> bool {
        self.mask + 1 == Self::slots_for(entries)
    }

    /// Returns the number of bytes of memory that the table has reserved.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.bytes() + self.arena.bytes()
    }

    /// Returns the number of words of a key.
    #[inline(always)]
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    #[inline(always)]
    fn slot(&self, key: &[u64]) -> &AtomicU32 {
        self.slots.word32(4 * (hash::words(key) as usize & self.mask))
    }

    /// Returns whether a node has this key.
    #[inline(always)]
    fn is_key(&self, node: &[AtomicU64], key: &[u64]) -> bool {
        let known = node.get(1..=self.words).unwrap_or_default();
        known.len() == key.len()
            && known.iter().zip(key).all(|(known, word)| known.load(Ordering::Relaxed) == *word)
    }

    /// Returns the number of the entry with this key plus one, or 0 if there is none.
    #[inline(always)]
    pub(crate) fn find(&self, key: &[u64]) -> u32 {
        let mut at = Block::from_bits(self.slot(key).load(Ordering::Acquire));
        while !at.is_none() {
            let node = self.arena.words(at);
            if self.is_key(node, key) {
                return half(node, RESULT);
            }
            at = Block::from_bits(half(node, NEXT));
        }
        0
    }

    /// Inserts a key that the table does not contain yet, with `number` as its result. Returns
    /// false, and changes nothing, if memory does not suffice.
    pub(crate) fn insert(
        &self,
        writer: &mut Writer,
        domain: &Domain,
        key: &[u64],
        number: u32,
    ) -> bool {
        let slot = self.slot(key);
        let mut words = Vec::with_capacity(1 + self.words);
        let next = u64::from(slot.load(Ordering::Relaxed));
        words.push(next | u64::from(number.saturating_add(1)) << 32);
        words.extend_from_slice(key);
        let Some(block) = writer.make(&self.arena, &words) else {
            writer.roll_back();
            return false;
        };
        slot.store(block.bits(), Ordering::Release);
        writer.commit(domain);
        true
    }

    /// Removes a key. Does nothing if the table does not have it.
    pub(crate) fn remove(&self, writer: &mut Writer, domain: &Domain, key: &[u64]) {
        let slot = self.slot(key);
        let mut before = Block::NONE;
        let mut at = Block::from_bits(slot.load(Ordering::Relaxed));
        while !at.is_none() {
            let node = self.arena.words(at);
            let next = half(node, NEXT);
            if self.is_key(node, key) {
                if before.is_none() {
                    slot.store(next, Ordering::Release);
                } else {
                    replace_half(self.arena.words(before), NEXT, next);
                }
                writer.drop_block(at, 1 + self.words);
                writer.commit(domain);
                return;
            }
            (before, at) = (at, Block::from_bits(next));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Inserts and removes keys that share words, in a table with fewer slots than entries, and
    /// compares with a map.
    #[test]
    fn keys_are_found_while_others_are_inserted_and_removed() {
        let table = KeyTable::new(3, 1).unwrap();
        let (mut writer, domain) = (Writer::default(), Domain::new());
        let mut random = fastrand::Rng::with_seed(0x6a09_e667_f3bc_c908);
        let mut known: HashMap<[u64; 3], u32> = HashMap::new();
        let steps = if cfg!(miri) { 200 } else { 20_000 };
        for number in 0..steps {
            let key = [random.u64(..5), random.u64(..5) << 60, random.u64(..5)];
            if known.remove(&key).is_some() {
                table.remove(&mut writer, &domain, &key);
            } else {
                assert!(table.insert(&mut writer, &domain, &key, number));
                known.insert(key, number + 1);
            }
            let key = [random.u64(..5), random.u64(..5) << 60, random.u64(..5)];
            assert_eq!(table.find(&key), known.get(&key).copied().unwrap_or(0), "{key:x?}");
        }
        assert!(known.len() > LEAST || cfg!(miri), "{} keys", known.len());
        for (key, number) in &known {
            assert_eq!(table.find(key), *number);
        }
        table.remove(&mut writer, &domain, &[9, 9, 9]);
        assert!(table.bytes() < 1 << 20, "{} bytes for at most 125 keys", table.bytes());
        assert!(table.suits(LEAST) && !table.suits(LEAST + 1));
    }
}
