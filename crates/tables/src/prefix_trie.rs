//! Longest prefixes of keys of any width: an array for the first bits and a trie behind it.
//!
//! The array (16 bits; 18 where keys have up to 32, so that routes to /24 are found in the first node) is that of
//! DIR-24-8 (Gupta, Lin and McKeown 1998), the nodes are those of a tree bitmap (Eatherton, Varghese and Dittia 2004)
//! with six bits a level and poptrie's counting of bits in words (Asai and Ohara 2015). A node holds the prefixes that
//! end in it, none is pushed down to the leaves: so an insertion writes the nodes on its way and no others.
//!
//! ```text
//! word   0: prefixes of one to five bits   1: prefixes of six bits   2: children   3 ...: results, then children
//! ```
//!
//! Nodes are blocks of an [`Arena`]: they never change, and a slot of the array leads to them. A packet loads its slot
//! once, and what it finds was the longest prefix at that moment.

use std::collections::HashMap;

use crate::arena::{Arena, Block, Root, Writer, half, halves};
use crate::quiescence::Domain;
use crate::region::{Region, prefetch};
use crate::store::BATCH;
use crate::sync::{AtomicU64, Ordering};

/// Bits of a level.
const STRIDE: u32 = 6;
/// Words before a node's results.
const HEAD: usize = 3;

/// A key whose first bit is the highest, zeros behind its last.
pub(crate) trait KeyBits: Copy {
    /// The first `count` bits, at least one and at most 32.
    fn first(self, count: u32) -> usize;
    /// The six bits from this one on.
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

impl KeyBits for &[u8] {
    fn first(self, count: u32) -> usize {
        let byte = |at: usize| u64::from(self.get(at).copied().unwrap_or(0));
        let first = (0..4).fold(0, |bits, at| bits << 8 | byte(at));
        (first >> (32 - count)) as usize
    }

    fn six(self, at: u32) -> usize {
        let byte = |at: usize| u32::from(self.get(at).copied().unwrap_or(0));
        let two = byte(at as usize / 8) << 8 | byte(at as usize / 8 + 1);
        (two >> (10 - at % 8)) as usize & 0x3f
    }
}

/// For six bits, the prefixes of one to five of them, as in a node's first word.
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

/// Where in the first word the first `length` of six bits stand.
const fn short_bit(length: u32, bits: usize) -> u32 {
    (1 << length) - 2 + (bits >> (STRIDE - length)) as u32
}

/// What packets see.
pub(crate) struct PrefixTrie {
    array: Region,
    array_bits: u32,
    arena: Arena,
}

/// What the one writer knows beyond that.
pub(crate) struct PrefixWriter {
    arena: Writer,
    /// Prefixes that end in the array, by length and first bits.
    short: HashMap<(u32, usize), u32>,
    /// The length of the prefix that each slot has, plus one; 0 without.
    lengths: Vec<u8>,
}

impl PrefixTrie {
    /// An empty trie for keys of so many bits, or `None` where memory does not suffice.
    pub(crate) fn new(bits: u32) -> Option<(Self, PrefixWriter)> {
        let array_bits = if bits <= 32 { bits.min(18) } else { 16 };
        let array = Region::new(8 << array_bits)?;
        let writer = PrefixWriter {
            arena: Writer::default(),
            short: HashMap::new(),
            lengths: vec![0; 1 << array_bits],
        };
        Some((Self { array, array_bits, arena: Arena::new() }, writer))
    }

    /// Bytes reserved.
    pub(crate) fn bytes(&self) -> usize {
        self.array.bytes() + self.arena.bytes()
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> Root<'_> {
        Root::new(self.array.word(8 * index))
    }

    /// For each key the number of its longest prefix plus one, or 0. The caller is pinned.
    #[inline(always)]
    pub(crate) fn find<K: KeyBits>(&self, keys: &[K], found: &mut [u32]) {
        for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            for key in keys {
                prefetch(self.array.at(8 * key.first(self.array_bits)));
            }
            let mut at = [Block::NONE; BATCH];
            let mut deeper = false;
            for ((key, found), at) in keys.iter().zip(&mut *found).zip(&mut at) {
                (*found, *at) = self.slot(key.first(self.array_bits)).load();
                if !at.is_none() {
                    self.arena.prefetch(*at);
                    deeper = true;
                }
            }
            let mut bit = self.array_bits;
            let mut places = [[None; 2]; BATCH];
            while deeper {
                deeper = false;
                // What a node leads to may lie some lines behind its beginning.
                for ((key, places), at) in keys.iter().zip(&mut places).zip(&at) {
                    let words = if at.is_none() { &[] } else { self.arena.words(*at) };
                    let (node, bits) = (Node::new(words), key.six(bit));
                    *places = [node.result_place(bits), node.child_place(bits)];
                    places.iter().flatten().for_each(|place| node.prefetch(*place));
                }
                for (([result, child], found), at) in places.iter().zip(&mut *found).zip(&mut at) {
                    if result.is_none() && child.is_none() {
                        *at = Block::NONE;
                        continue;
                    }
                    let words = self.arena.words(*at);
                    if let Some(place) = result {
                        *found = half(words, *place);
                    }
                    *at = child.map_or(Block::NONE, |place| Block::from_bits(half(words, place)));
                    if !at.is_none() {
                        self.arena.prefetch(*at);
                        deeper = true;
                    }
                }
                bit += STRIDE;
            }
        }
    }

    /// As [`PrefixTrie::find`] for one key.
    #[inline(always)]
    pub(crate) fn find_one<K: KeyBits>(&self, key: K) -> u32 {
        let (mut found, mut at) = self.slot(key.first(self.array_bits)).load();
        let mut bit = self.array_bits;
        while !at.is_none() {
            let node = Node::new(self.arena.words(at));
            let bits = key.six(bit);
            if let Some(place) = node.result_place(bits) {
                found = half(node.words, place);
            }
            let child = node.child_place(bits);
            at = child.map_or(Block::NONE, |place| Block::from_bits(half(node.words, place)));
            bit += STRIDE;
        }
        found
    }

    /// Lets the first `length` bits of a key lead to `number`, instead of what they led to before. False where memory
    /// does not suffice; then nothing has changed.
    pub(crate) fn insert<K: KeyBits>(
        &self,
        writer: &mut PrefixWriter,
        domain: &Domain,
        key: K,
        length: u32,
        number: u32,
    ) -> bool {
        if length <= self.array_bits {
            let value = first(key, length);
            writer.short.insert((length, value), number);
            self.fill(writer, length, value, Some((length, number)));
            return true;
        }
        self.change(writer, domain, key, length, Some(number + 1))
    }

    /// Takes a prefix out. False where memory does not suffice; then it is still there.
    pub(crate) fn remove<K: KeyBits>(
        &self,
        writer: &mut PrefixWriter,
        domain: &Domain,
        key: K,
        length: u32,
    ) -> bool {
        if length <= self.array_bits {
            let value = first(key, length);
            writer.short.remove(&(length, value));
            let shorter = (0..length).rev().find_map(|other| {
                let number = writer.short.get(&(other, value >> (length - other)))?;
                Some((other, *number))
            });
            self.fill(writer, length, value, shorter);
            return true;
        }
        self.change(writer, domain, key, length, None)
    }

    /// Gives the slots under a prefix that have none longer what they have now.
    fn fill(&self, writer: &mut PrefixWriter, length: u32, value: usize, best: Option<(u32, u32)>) {
        let free = self.array_bits - length;
        let (best, result) = best.map_or((0, 0), |(best, number)| (best as u8 + 1, number + 1));
        for index in value << free..(value + 1) << free {
            if u32::from(writer.lengths[index]) <= length + 1 {
                writer.lengths[index] = best;
                let slot = self.slot(index);
                slot.store(result, slot.load().1);
            }
        }
    }

    /// Writes the nodes on the way to a prefix anew.
    fn change<K: KeyBits>(
        &self,
        writer: &mut PrefixWriter,
        domain: &Domain,
        key: K,
        length: u32,
        result: Option<u32>,
    ) -> bool {
        let slot = self.slot(key.first(self.array_bits));
        let (value, block) = slot.load();
        let writer = &mut writer.arena;
        match self.rewrite(writer, block, self.array_bits, key, length, result) {
            Some(block) => {
                slot.store(value, block);
                writer.commit(domain);
                true
            }
            None => {
                writer.roll_back();
                false
            }
        }
    }

    fn rewrite<K: KeyBits>(
        &self,
        writer: &mut Writer,
        block: Block,
        bit: u32,
        key: K,
        length: u32,
        result: Option<u32>,
    ) -> Option<Block> {
        let words = if block.is_none() { &[] } else { self.arena.words(block) };
        let mut node = Draft::of(words);
        writer.drop_block(block, node.words());
        let bits = key.six(bit);
        if length - bit <= STRIDE {
            node.set_result(length - bit, bits, result);
        } else {
            let child =
                self.rewrite(writer, node.child(bits), bit + STRIDE, key, length, result)?;
            node.set_child(bits, child);
        }
        if node.is_empty() { Some(Block::NONE) } else { writer.make(&self.arena, &node.encode()) }
    }
}

fn first<K: KeyBits>(key: K, length: u32) -> usize {
    if length == 0 { 0 } else { key.first(length) }
}

/// The bits of a word below this one.
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

    /// Asks the cache for the half of a word with this number.
    #[inline(always)]
    fn prefetch(&self, place: usize) {
        if let Some(word) = self.words.get(place / 2) {
            prefetch(std::ptr::from_ref(word).cast());
        }
    }

    /// Which half of a word has the longest prefix here.
    #[inline(always)]
    fn result_place(&self, bits: usize) -> Option<usize> {
        let bit = bits as u32;
        if self.exact & 1 << bit != 0 {
            return Some(2 * HEAD + self.short.count_ones() as usize + below(self.exact, bit));
        }
        let longest = (self.short & ANCESTORS[bits & 0x3f]).checked_ilog2()?;
        Some(2 * HEAD + below(self.short, longest))
    }

    /// Which half of a word has the child.
    #[inline(always)]
    fn child_place(&self, bits: usize) -> Option<usize> {
        let children = self.words.get(2).map_or(0, |word| word.load(Ordering::Relaxed));
        let results = (self.short.count_ones() + self.exact.count_ones()) as usize;
        let place = 2 * HEAD + results + below(children, bits as u32);
        (children & 1 << bits != 0).then_some(place)
    }
}

/// A node as the writer changes it.
#[derive(Default)]
struct Draft {
    short: u64,
    exact: u64,
    children: u64,
    results: Vec<u32>,
    blocks: Vec<u32>,
}

impl Draft {
    /// Of a block's words; empty if there are none, as at the place where no block is.
    fn of(words: &[AtomicU64]) -> Self {
        let word = |at: usize| words.get(at).map_or(0, |word| word.load(Ordering::Relaxed));
        let (short, exact, children) = (word(0), word(1), word(2));
        let results = (short.count_ones() + exact.count_ones()) as usize;
        let blocks = children.count_ones() as usize;
        let half = |at| half(words, 2 * HEAD + at);
        Self {
            short,
            exact,
            children,
            results: (0..results).map(half).collect(),
            blocks: (results..results + blocks).map(half).collect(),
        }
    }

    fn words(&self) -> usize {
        HEAD + (self.results.len() + self.blocks.len()).div_ceil(2)
    }

    fn is_empty(&self) -> bool {
        self.results.is_empty() && self.blocks.is_empty()
    }

    fn encode(&self) -> Vec<u64> {
        let mut words = vec![self.short, self.exact, self.children];
        words.extend(halves(self.results.iter().chain(&self.blocks).copied()));
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

/// Sets what a bit of a map stands for in a list, or takes it out.
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
