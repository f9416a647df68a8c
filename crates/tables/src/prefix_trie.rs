//! A trie for the longest prefixes of keys of any width, with an array for the first bits of the
//! key. [`Search`](crate::search::Search) uses it.
//!
//! The array is that of DIR-24-8 (Gupta, Lin and McKeown 1998): a slot of four bytes holds the
//! result, or leads to a node with longer prefixes. In a table of many entries with keys of up to
//! 32 bits, the array has a slot for each value of the first 24 bits (64 MiB, of which the system
//! provides only what is written), so that a route with at most 24 bits takes one access. In other
//! tables it has 18 bits, or 16 for wider keys. The nodes are those of a tree bitmap (Eatherton,
//! Varghese and Dittia 2004) with six bits per level and poptrie's counting of bits in words (Asai
//! and Ohara 2015). A node holds the prefixes that end in it, and no prefix is pushed down to the
//! leaves, so an insertion writes only the nodes on its path.
//!
//! ```text
//! word 0:     a bit for each prefix of one to five bits
//! word 1:     a bit for each prefix of six bits
//! word 2:     a bit for each child
//! words 3...: 32-bit halves, two in each word:
//!   half 0:     the result if the node has no matching prefix, in a node that a slot leads to
//!   halves 1...: the results of the prefixes, then the children
//! ```
//!
//! Prefixes of up to 12 bits, including the default route, lie in a second, small array, which a
//! packet reads if it has found nothing else. In the large array, such a prefix would fill up to
//! all slots.
//!
//! Nodes are blocks of an [`Arena`], to which a slot of the array leads. Except for half 0, a node
//! never changes. A packet loads its slot once, and its result was the longest prefix at one
//! moment: if half 0 has changed since the slot was loaded, either the node is still linked, and
//! the result is the longest prefix now, or the result was the longest prefix when the node was
//! unlinked. Before a change of the small array, the writer waits for all packets in progress, so
//! that a packet that found nothing in the large array finds in the small one what was there at the
//! same time.

use std::collections::HashMap;

use crate::arena::{Arena, Block, Writer, half, halves, replace_half};
use crate::hash::KeyHash;
use crate::quiescence::Domain;
use crate::region::{Region, prefetch};
use crate::store::BATCH;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The number of key bits that one level of the trie examines.
const STRIDE: u32 = 6;
/// The number of words at the beginning of a node, before its 32-bit halves.
const HEAD: usize = 3;
/// The index of a node's half with the result for keys that match no prefix in the node.
const INHERITED: usize = 2 * HEAD;
/// The index of a node's first half with the result of one of its own prefixes.
const RESULTS: usize = INHERITED + 1;
/// The bit of a slot of the array that is set if the remaining bits are the position of a node, and
/// not a result.
const NODE: u32 = 1 << 31;
/// The smallest number of entries for which the array of a table is indexed by 24 bits of the key
/// instead of 18, if keys have at most 32 bits.
const MANY: usize = 1 << 16;
/// The largest length in bits of a prefix that is stored in the small array.
const SHORT: u32 = 12;

/// A key whose first bit is the most significant one, padded with zeros at the end.
pub(crate) trait KeyBits: Copy {
    /// Returns the first `count` bits, at least one and at most 32.
    fn first(self, count: u32) -> usize;
    /// Returns the six bits that start at bit `at`.
    fn six(self, at: u32) -> usize;
}

impl KeyBits for u64 {
    #[inline(always)]
    fn first(self, count: u32) -> usize {
        (self >> (64 - count)) as usize
    }

    #[inline(always)]
    fn six(self, at: u32) -> usize {
        (self.wrapping_shl(at) >> (64 - STRIDE)) as usize
    }
}

/// A key of one word, which machine code passes in the same form as a key of two words. The second
/// word is ignored.
impl KeyBits for [u64; 2] {
    #[inline(always)]
    fn first(self, count: u32) -> usize {
        self[0].first(count)
    }

    #[inline(always)]
    fn six(self, at: u32) -> usize {
        self[0].six(at)
    }
}

impl KeyBits for u128 {
    #[inline(always)]
    fn first(self, count: u32) -> usize {
        (self >> (128 - count)) as usize
    }

    #[inline(always)]
    fn six(self, at: u32) -> usize {
        (self.wrapping_shl(at) >> (128 - STRIDE)) as usize
    }
}

impl KeyBits for &[u64] {
    #[inline(always)]
    fn first(self, count: u32) -> usize {
        self.get(..1).map_or(0, |first| first[0].first(count))
    }

    #[inline(always)]
    fn six(self, at: u32) -> usize {
        let word = |index: usize| self.get(index).copied().unwrap_or(0);
        let (index, skipped) = (at as usize / 64, at % 64);
        let mut bits = word(index) << skipped;
        if skipped > 64 - STRIDE {
            bits |= word(index + 1) >> (64 - skipped);
        }
        (bits >> (64 - STRIDE)) as usize
    }
}

/// For each six-bit value, a mask of the bits in a node's first word that stand for the prefixes of
/// one to five bits of this value.
const ANCESTORS: [u64; 64] = {
    let mut ancestors = [0; 64];
    let mut bits = 0;
    while bits < 64 {
        let mut length = 1;
        while length < STRIDE {
            ancestors[bits] |= 1 << short_bit(length, bits);
            length += 1;
        }
        bits += 1;
    }
    ancestors
};

/// Returns the bit of a node's first word that stands for the prefix of `length` bits of a six-bit
/// value.
const fn short_bit(length: u32, bits: usize) -> u32 {
    (1 << length) - 2 + (bits >> (STRIDE - length)) as u32
}

/// The part of the trie that packets read: the two arrays and the nodes.
pub(crate) struct PrefixTrie {
    array: Region,
    array_bits: u32,
    /// The small array, for prefixes of at most `short_bits` bits. `short_bits` is less than
    /// `array_bits`.
    short: Region,
    short_bits: u32,
    arena: Arena,
}

/// The part of the trie that only its single writer reads and writes.
pub(crate) struct PrefixWriter {
    arena: Writer,
    /// The results of the prefixes that are stored in one of the arrays and not in a node, by
    /// [`name`].
    known: HashMap<u32, u32, KeyHash>,
    /// The length of each prefix in `known`, by its result.
    lengths: Vec<u8>,
    /// A copy of the small array. The writer reads the copy, because reads of the array itself
    /// would hide earlier reads by packets from the model checker.
    short: Vec<u32>,
}

impl PrefixTrie {
    /// Creates an empty trie for keys of `bits` bits, in a table made for `entries` entries.
    /// Returns `None` if memory does not suffice.
    pub(crate) fn new(bits: u32, entries: usize) -> Option<(Self, PrefixWriter)> {
        let array_bits = Self::array_bits(bits, entries);
        let short_bits = SHORT.min(array_bits - 1);
        let array = Region::new(4 << array_bits)?;
        let short = Region::new(4 << short_bits)?;
        let writer = PrefixWriter {
            arena: Writer::default(),
            known: HashMap::default(),
            lengths: Vec::new(),
            short: vec![0; 1 << short_bits],
        };
        Some((Self { array, array_bits, short, short_bits, arena: Arena::new() }, writer))
    }

    fn array_bits(bits: u32, entries: usize) -> u32 {
        match bits {
            _ if cfg!(loom) => bits.min(3),
            ..=32 if entries >= MANY => bits.min(24),
            ..=32 => bits.min(18),
            _ => 16,
        }
    }

    /// Returns whether the array has the number of bits that it would have in a new trie for keys
    /// of `bits` bits in a table made for `entries` entries.
    pub(crate) fn suits(&self, bits: u32, entries: usize) -> bool {
        self.array_bits == Self::array_bits(bits, entries)
    }

    /// Returns the number of reserved bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.array.bytes() + self.short.bytes() + self.arena.bytes()
    }

    #[inline(always)]
    fn slot<K: KeyBits>(&self, key: K) -> &AtomicU32 {
        self.array.word32(4 * key.first(self.array_bits))
    }

    /// Returns the result of the small array for a key that matches no prefix in the large array or
    /// in a node.
    #[inline(always)]
    fn short<K: KeyBits>(&self, key: K) -> u32 {
        self.short.word32(4 * first(key, self.short_bits)).load(Ordering::Acquire)
    }

    /// Writes to `found`, for each key, the number of the longest matching prefix plus one, or 0 if
    /// none matches. The caller must be pinned.
    #[inline(always)]
    pub(crate) fn find<K: KeyBits>(&self, keys: &[K], found: &mut [u32]) {
        for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            self.prefetch_keys(keys);
            self.find_prefetched(keys, found);
        }
    }

    /// Prefetches the slots of the large array that these keys select.
    #[inline(always)]
    pub(crate) fn prefetch_keys<K: KeyBits>(&self, keys: &[K]) {
        for key in keys {
            prefetch(self.array.at(4 * key.first(self.array_bits)));
        }
    }

    /// Writes to `found` what [`PrefixTrie::find`] does, for at most [`BATCH`] keys whose slots
    /// were prefetched.
    #[inline(always)]
    pub(crate) fn find_prefetched<K: KeyBits>(&self, keys: &[K], found: &mut [u32]) {
        let (mut all, mut is_missed) = (0, false);
        for (key, found) in keys.iter().zip(&mut *found) {
            *found = self.slot(*key).load(Ordering::Acquire);
            all |= *found;
            is_missed |= *found == 0;
        }
        if all & NODE != 0 {
            self.descend(keys, found);
        }
        if is_missed || all & NODE != 0 {
            for (key, found) in keys.iter().zip(&mut *found).filter(|(_, found)| **found == 0) {
                *found = self.short(*key);
            }
        }
    }

    /// Replaces each node in `found` by the result of the search in the node, for at most [`BATCH`]
    /// keys.
    #[inline(always)]
    fn descend<K: KeyBits>(&self, keys: &[K], found: &mut [u32]) {
        let mut at = [(0, Block::NONE); BATCH];
        let mut count = 0;
        for (packet, found) in found.iter_mut().enumerate().filter(|(_, found)| **found >= NODE) {
            let block = Block::from_bits(*found & !NODE);
            *found = 0;
            self.arena.prefetch(block);
            at[count] = (packet, block);
            count += 1;
        }
        let mut bit = self.array_bits;
        let mut places = [(0, None); BATCH];
        while count > 0 {
            // The result and the child may lie some cache lines after the beginning of the node.
            for ((packet, block), places) in at[..count].iter().zip(&mut places) {
                let node = Node::new(self.arena.words(*block));
                let bits = keys[*packet].six(bit);
                *places = (node.result_place(bits), node.child_place(bits));
                node.prefetch(places.0);
                places.1.into_iter().for_each(|place| node.prefetch(place));
            }
            let mut deeper = 0;
            for (index, (result, child)) in places[..count].iter().enumerate() {
                let (packet, block) = at[index];
                let words = self.arena.words(block);
                // A node below another node inherits no result.
                let result = half(words, *result);
                if result != 0 {
                    found[packet] = result;
                }
                if let Some(place) = child {
                    let block = Block::from_bits(half(words, *place));
                    self.arena.prefetch(block);
                    at[deeper] = (packet, block);
                    deeper += 1;
                }
            }
            count = deeper;
            bit += STRIDE;
        }
    }

    /// Returns the number of the longest prefix of one key plus one, or 0 if none matches.
    #[inline(always)]
    pub(crate) fn find_one<K: KeyBits>(&self, key: K) -> u32 {
        let mut found = self.slot(key).load(Ordering::Acquire);
        if found >= NODE {
            let mut at = Block::from_bits(found & !NODE);
            let mut bit = self.array_bits;
            found = 0;
            while !at.is_none() {
                let node = Node::new(self.arena.words(at));
                let bits = key.six(bit);
                let result = half(node.words, node.result_place(bits));
                if result != 0 {
                    found = result;
                }
                let child = node.child_place(bits);
                at = child.map_or(Block::NONE, |place| Block::from_bits(half(node.words, place)));
                bit += STRIDE;
            }
        }
        if found == 0 { self.short(key) } else { found }
    }

    /// Maps the first `length` bits of a key to `number`, replacing an existing mapping. Returns
    /// false, and leaves the trie unchanged, if memory does not suffice or the number is too large
    /// for a slot. Waits for packets in progress if the prefix is in the small array.
    pub(crate) fn insert<K: KeyBits>(
        &self,
        writer: &mut PrefixWriter,
        domain: &Domain,
        key: K,
        length: u32,
        number: u32,
    ) -> bool {
        let result = number.saturating_add(1);
        if result >= NODE {
            return false;
        }
        if length > self.array_bits {
            return self.change(writer, domain, key, length, Some(result));
        }
        let value = first(key, length);
        writer.known.insert(name(length, value), result);
        let at = result as usize;
        writer.lengths.resize(writer.lengths.len().max(at + 1), 0);
        writer.lengths[at] = length as u8;
        self.fill(writer, domain, length, value, result);
        true
    }

    /// Removes the prefix that consists of the first `length` bits of a key. Returns false, and
    /// leaves the trie unchanged, if memory does not suffice. Waits for packets in progress if the
    /// prefix is in the small array.
    pub(crate) fn remove<K: KeyBits>(
        &self,
        writer: &mut PrefixWriter,
        domain: &Domain,
        key: K,
        length: u32,
    ) -> bool {
        if length > self.array_bits {
            return self.change(writer, domain, key, length, None);
        }
        let value = first(key, length);
        writer.known.remove(&name(length, value));
        // A shorter prefix takes its place only if it is in the same array.
        let least = if length > self.short_bits { self.short_bits + 1 } else { 0 };
        let shorter = (least..length)
            .rev()
            .find_map(|other| writer.known.get(&name(other, value >> (length - other))).copied());
        self.fill(writer, domain, length, value, shorter.unwrap_or(0));
        true
    }

    /// Writes the result of a prefix to all slots under it, except those that hold the result of a
    /// longer prefix.
    fn fill(
        &self,
        writer: &mut PrefixWriter,
        domain: &Domain,
        length: u32,
        value: usize,
        result: u32,
    ) {
        if length <= self.short_bits {
            // The wait ends all packets that have read the large array already, so that none of
            // them reads the changed small array.
            domain.synchronise();
            return self.fill_short(writer, length, value, result);
        }
        let free = self.array_bits - length;
        for index in value << free..(value + 1) << free {
            let slot = self.array.word32(4 * index);
            let before = slot.load(Ordering::Relaxed);
            if before >= NODE {
                let words = self.arena.words(Block::from_bits(before & !NODE));
                if writer.may_replace(half(words, INHERITED), length) {
                    replace_half(words, INHERITED, result);
                }
            } else if writer.may_replace(before, length) {
                slot.store(result, Ordering::Release);
            }
        }
    }

    /// Writes the result of a prefix to all slots of the small array under it, except those that
    /// hold the result of a longer prefix. Does not wait for packets in progress.
    pub(crate) fn fill_short(
        &self,
        writer: &mut PrefixWriter,
        length: u32,
        value: usize,
        result: u32,
    ) {
        let free = self.short_bits - length;
        for index in value << free..(value + 1) << free {
            if writer.may_replace(writer.short[index], length) {
                writer.short[index] = result;
                self.short.word32(4 * index).store(result, Ordering::Release);
            }
        }
    }

    /// Sets or removes a prefix in a node, and rewrites the nodes on the path to it.
    fn change<K: KeyBits>(
        &self,
        writer: &mut PrefixWriter,
        domain: &Domain,
        key: K,
        length: u32,
        result: Option<u32>,
    ) -> bool {
        let slot = self.slot(key);
        let before = slot.load(Ordering::Relaxed);
        let (block, inherited) = match before {
            NODE.. => {
                let block = Block::from_bits(before & !NODE);
                (block, half(self.arena.words(block), INHERITED))
            }
            _ => (Block::NONE, before),
        };
        let writer = &mut writer.arena;
        let at = NodePlace { bit: self.array_bits, inherited };
        match self.rewrite(writer, block, at, key, length, result) {
            Some(block) => {
                let now = if block.is_none() { inherited } else { NODE | block.bits() };
                slot.store(now, Ordering::Release);
                writer.commit(domain);
                true
            }
            None => {
                writer.roll_back();
                false
            }
        }
    }

    /// Makes a copy of a node with the prefix set or removed, and of the nodes on the path below
    /// it. Returns [`Block::NONE`] if the node becomes empty, and `None` if memory does not
    /// suffice.
    fn rewrite<K: KeyBits>(
        &self,
        writer: &mut Writer,
        block: Block,
        NodePlace { bit, inherited }: NodePlace,
        key: K,
        length: u32,
        result: Option<u32>,
    ) -> Option<Block> {
        let words = if block.is_none() { &[] } else { self.arena.words(block) };
        let mut node = Draft { inherited, ..Draft::of(words) };
        writer.drop_block(block, node.words());
        let bits = key.six(bit);
        if length - bit <= STRIDE {
            node.set_result(length - bit, bits, result);
        } else {
            let below = NodePlace { bit: bit + STRIDE, inherited: 0 };
            let child = self.rewrite(writer, node.child(bits), below, key, length, result)?;
            node.set_child(bits, child);
        }
        if node.is_empty() { Some(Block::NONE) } else { writer.make(&self.arena, &node.encode()) }
    }
}

impl PrefixWriter {
    /// Reserves memory for one more prefix, so that an insertion takes a short time.
    pub(crate) fn make_room(&mut self) {
        self.known.reserve(1);
    }

    /// Returns whether a prefix of `length` bits may replace the result `before` of a slot, because
    /// the slot holds no result of a longer prefix.
    fn may_replace(&self, before: u32, length: u32) -> bool {
        before == 0 || self.lengths.get(before as usize).is_none_or(|of| u32::from(*of) <= length)
    }
}

fn first<K: KeyBits>(key: K, length: u32) -> usize {
    if length == 0 { 0 } else { key.first(length) }
}

/// Returns a number that identifies a prefix that ends in an array: its bits, preceded by a one.
fn name(length: u32, value: usize) -> u32 {
    1 << length | value as u32
}

/// Returns the number of set bits of a word below the given bit.
#[inline(always)]
fn below(word: u64, bit: u32) -> usize {
    (word & ((1 << bit) - 1)).count_ones() as usize
}

/// A node as packets read it.
struct Node<'a> {
    words: &'a [AtomicU64],
    short: u64,
    exact: u64,
}

impl<'a> Node<'a> {
    #[inline(always)]
    fn new(words: &'a [AtomicU64]) -> Self {
        let word = |at: usize| words.get(at).map_or(0, |word| word.load(Ordering::Relaxed));
        Self { words, short: word(0), exact: word(1) }
    }

    /// Prefetches the word of the node that contains the half with this index.
    #[inline(always)]
    fn prefetch(&self, place: usize) {
        if let Some(word) = self.words.get(place / 2) {
            prefetch(std::ptr::from_ref(word).cast());
        }
    }

    /// Returns the index of the half that holds the result for six bits of a key: that of the
    /// longest matching prefix in this node, or else the inherited result.
    #[inline(always)]
    fn result_place(&self, bits: usize) -> usize {
        let bit = bits as u32;
        if self.exact & 1 << bit != 0 {
            return RESULTS + self.short.count_ones() as usize + below(self.exact, bit);
        }
        let longest = (self.short & ANCESTORS[bits & 0x3f]).checked_ilog2();
        longest.map_or(INHERITED, |longest| RESULTS + below(self.short, longest))
    }

    /// Returns the index of the half that leads to the child for six bits of a key, or `None` if
    /// there is no such child.
    #[inline(always)]
    fn child_place(&self, bits: usize) -> Option<usize> {
        let children = self.words.get(2).map_or(0, |word| word.load(Ordering::Relaxed));
        let results = (self.short.count_ones() + self.exact.count_ones()) as usize;
        let place = RESULTS + results + below(children, bits as u32);
        (children & 1 << bits != 0).then_some(place)
    }
}

/// The place of a node on the path to a prefix.
#[derive(Clone, Copy)]
struct NodePlace {
    /// The number of key bits above the node.
    bit: u32,
    /// The result that the node inherits from shorter prefixes above it.
    inherited: u32,
}

/// A node as the writer changes it.
#[derive(Default)]
struct Draft {
    inherited: u32,
    short: u64,
    exact: u64,
    children: u64,
    results: Vec<u32>,
    blocks: Vec<u32>,
}

impl Draft {
    /// Decodes a block's words. Returns an empty node if there are no words.
    fn of(words: &[AtomicU64]) -> Self {
        let word = |at: usize| words.get(at).map_or(0, |word| word.load(Ordering::Relaxed));
        let (short, exact, children) = (word(0), word(1), word(2));
        let results = (short.count_ones() + exact.count_ones()) as usize;
        let blocks = children.count_ones() as usize;
        let half = |at| half(words, RESULTS + at);
        Self {
            inherited: self::half(words, INHERITED),
            short,
            exact,
            children,
            results: (0..results).map(half).collect(),
            blocks: (results..results + blocks).map(half).collect(),
        }
    }

    fn words(&self) -> usize {
        HEAD + (1 + self.results.len() + self.blocks.len()).div_ceil(2)
    }

    fn is_empty(&self) -> bool {
        self.results.is_empty() && self.blocks.is_empty()
    }

    fn encode(&self) -> Vec<u64> {
        let mut words = vec![self.short, self.exact, self.children];
        let inherited = std::iter::once(&self.inherited);
        words.extend(halves(inherited.chain(&self.results).chain(&self.blocks).copied()));
        words
    }

    fn set_result(&mut self, length: u32, bits: usize, result: Option<u32>) {
        let (map, before, bit) = if length == STRIDE {
            (&mut self.exact, self.short.count_ones() as usize, bits as u32)
        } else {
            (&mut self.short, 0, short_bit(length, bits))
        };
        put(map, &mut self.results, before, bit, result);
    }

    fn child(&self, bits: usize) -> Block {
        if self.children & 1 << bits == 0 {
            return Block::NONE;
        }
        Block::from_bits(self.blocks[below(self.children, bits as u32)])
    }

    fn set_child(&mut self, bits: usize, child: Block) {
        let block = (!child.is_none()).then_some(child.bits());
        put(&mut self.children, &mut self.blocks, 0, bits as u32, block);
    }
}

/// Sets the element for the bit `bit` to `value`, or removes the element if `value` is `None`.
/// `list` holds one element for each set bit of `map`, in the order of the bits, after `before`
/// elements that do not belong to `map`.
fn put(map: &mut u64, list: &mut Vec<u32>, before: usize, bit: u32, value: Option<u32>) {
    let place = before + below(*map, bit);
    match (value, *map & 1 << bit != 0) {
        (Some(value), true) => list[place] = value,
        (Some(value), false) => list.insert(place, value),
        (None, true) => _ = list.remove(place),
        (None, false) => {}
    }
    match value {
        Some(_) => *map |= 1 << bit,
        None => *map &= !(1 << bit),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicBool;

    use fastrand::Rng;

    use super::*;
    use crate::quiescence::Pin;

    /// The declared sizes: tables made for few entries and for many.
    const SIZES: [usize; 2] = [1, MANY];

    fn mask(length: u32) -> u32 {
        u32::MAX.checked_shl(32 - length).unwrap_or(0)
    }

    /// Draws an address from few networks, so that prefixes of all lengths nest.
    fn address(random: &mut Rng) -> u32 {
        let near = 0x0a14_0000 | random.u32(..4) << 14 | random.u32(..4) << 7 | random.u32(..3);
        match random.u32(..4) {
            0 => random.u32(..),
            1 => near ^ 1 << random.u32(..32),
            _ => near,
        }
    }

    fn best(known: &BTreeMap<(u32, u32), u32>, address: u32) -> u32 {
        let of = |length: u32| known.get(&(length, address & mask(length)));
        (0..=32).rev().find_map(of).map_or(0, |number| number + 1)
    }

    /// Inserts, replaces and removes prefixes. A lookup must find what a search through all prefix
    /// lengths finds. `key` makes keys from addresses; their first bits may all be equal.
    fn run<K: KeyBits>(bits: u32, size: usize, key: impl Fn(u32) -> K) {
        let (trie, mut writer) = PrefixTrie::new(bits, size).unwrap();
        let (domain, mut random) = (Domain::new(), Rng::with_seed(0x51));
        let mut known = BTreeMap::new();
        let mut hits = 0;
        for number in 0..if cfg!(miri) { 80 } else { 6000 } {
            let near = address(&mut random);
            let length = if random.u32(..4) == 0 { random.u32(..14) } else { random.u32(..=32) };
            let prefix = (length, near & mask(length));
            let all = bits - 32 + length;
            if known.contains_key(&prefix) && random.u32(..3) > 0 {
                assert!(trie.remove(&mut writer, &domain, key(prefix.1), all));
                known.remove(&prefix);
            } else {
                assert!(trie.insert(&mut writer, &domain, key(prefix.1), all, number));
                known.insert(prefix, number);
            }
            // The changed prefix, and addresses next to it.
            let mut addresses = vec![near, near ^ 1, near ^ 1 << (32 - length.max(1))];
            if number % 16 == 0 {
                addresses.extend((0..48).map(|_| address(&mut random)));
            }
            let keys: Vec<K> = addresses.iter().map(|address| key(*address)).collect();
            let expected: Vec<u32> =
                addresses.iter().map(|address| best(&known, *address)).collect();
            let mut found = vec![u32::MAX; keys.len()];
            trie.find(&keys, &mut found);
            assert_eq!(found, expected, "{bits} bits, {size} entries: {prefix:x?} {addresses:x?}");
            let one_by_one: Vec<u32> = keys.iter().map(|key| trie.find_one(*key)).collect();
            assert_eq!(one_by_one, expected);
            hits += expected.iter().filter(|found| **found > 0).count();
        }
        assert!(hits > 100, "{hits}");
        for (length, value) in known.into_keys() {
            assert!(trie.remove(&mut writer, &domain, key(value), bits - 32 + length));
        }
        let keys: Vec<K> = (0..64).map(|_| key(address(&mut random))).collect();
        let mut found = vec![u32::MAX; keys.len()];
        trie.find(&keys, &mut found);
        assert!(found.iter().all(|found| *found == 0));
    }

    #[test]
    fn prefixes_of_all_lengths_are_inserted_replaced_and_removed() {
        for size in SIZES {
            run(32, size, |address| u64::from(address) << 32);
            run(32, size, |address| [u64::from(address) << 32, 0]);
        }
        run(60, 1, |address| 0x0abc_def0_0000_0000 | u64::from(address) << 4);
        run(128, 1, |address| 0x2001_0db8_0000_0000_0000_0000 << 32 | u128::from(address));
        run(160, 1, |address| {
            let words = [0x2001_0db8_2001_0db8, 0x2001_0db8_2001_0db8, u64::from(address) << 32];
            &*words.to_vec().leak()
        });
    }

    /// Replaces the route to one address by another route with a prefix of another length, which is
    /// inserted before the old route is removed. Each reader must find one of the two, and never an
    /// older one than before.
    #[test]
    fn a_reader_finds_what_was_there_at_one_moment() {
        let key = 0x0a14_8005_u64 << 32;
        let lengths = [0, 24, 12, 32, 13, 30, 8, 25, 24, 18, 19, 3];
        for size in SIZES {
            let (trie, mut writer) = PrefixTrie::new(32, size).unwrap();
            let (domain, done) = (Domain::new(), AtomicBool::new(false));
            // This neighbour in the node stays.
            assert!(trie.insert(&mut writer, &domain, key ^ 1 << 37, 29, 1 << 20));
            assert!(trie.insert(&mut writer, &domain, key, lengths[0], 0));
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        let seat = domain.join().unwrap();
                        let mut last = 1;
                        let mut looks = 0;
                        while !done.load(Ordering::Acquire) || looks == 0 {
                            let pin = Pin::new(&domain, &seat);
                            let one = trie.find_one(key);
                            let mut found = [0; 3];
                            trie.find(&[key; 3], &mut found);
                            drop(pin);
                            for found in [one].into_iter().chain(found) {
                                assert!(found >= last, "{found} after {last}, {size} entries");
                                last = found;
                            }
                            looks += 1;
                            if looks % 64 == 0 {
                                std::thread::yield_now();
                            }
                        }
                        domain.leave(&seat);
                    });
                }
                let rounds = if cfg!(miri) { 24 } else { 2000 };
                for number in 1..rounds {
                    let [last, next] =
                        [number - 1, number].map(|at| lengths[at as usize % lengths.len()]);
                    assert!(trie.insert(&mut writer, &domain, key, next, number));
                    assert!(trie.remove(&mut writer, &domain, key, last));
                }
                done.store(true, Ordering::Release);
            });
        }
    }

    #[test]
    fn numbers_too_large_for_a_slot_are_refused() {
        let (trie, mut writer) = PrefixTrie::new(32, 1).unwrap();
        let domain = Domain::new();
        for length in [0, 16, 32] {
            assert!(!trie.insert(&mut writer, &domain, 0_u64, length, NODE - 1));
            assert!(!trie.insert(&mut writer, &domain, 0_u64, length, u32::MAX));
        }
        assert_eq!(trie.find_one(0_u64), 0);
    }
}
