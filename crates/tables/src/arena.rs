//! The memory of the search trees ([`PrefixTrie`](crate::prefix_trie) and
//! [`TernaryTree`](crate::ternary_tree)), which packets read while the control plane changes them.
//!
//! A tree consists of blocks of words. Once packets can reach a block, its words do not change,
//! except by [`replace_half`]. A change copies the blocks on the path from the root to the changed
//! place, and publishes the copies by one store to the word that leads to them ([`Root`]). A packet
//! that loads that word once therefore sees the tree as it was at one moment, and replacing one
//! entry by another leaves no gap between the two. Replaced blocks are reused when no packet can
//! reach them any more, which [`Domain`] determines.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::quiescence::{Domain, Limbo};
use crate::region::{Region, prefetch};
use crate::sync::{AtomicU64, Ordering};

/// The number of words of an arena's first segment. Each further segment is twice as large as the
/// one before.
const FIRST: usize = if cfg!(loom) { 8 } else { 4096 };
/// The largest number of segments of an arena, chosen so that the position of each word fits in 31
/// bits.
const SEGMENTS: usize = (31 - FIRST.ilog2()) as usize;
/// The number of replaced blocks after which the writer checks which of them it can reuse.
const WAITING: usize = if cfg!(loom) { 1 } else { 256 };
/// The number of words of replaced blocks after which the writer checks which of them it can reuse,
/// even if there are fewer than [`WAITING`] blocks.
const WAITING_WORDS: usize = FIRST;
/// The largest block, in words, that is exactly as long as its contents. Longer blocks are rounded
/// up.
const EXACT: usize = 64;

/// The position of a block's first word in the arena. No block begins at position 0, which stands
/// for no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Block(u32);

impl Block {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// The memory for the blocks of words that make up one search tree. Its segments are allocated
/// as they are needed. The tree's single writer and all of its readers use the same arena.
pub(crate) struct Arena {
    segments: [OnceLock<Region>; SEGMENTS],
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// Returns the words from the block's first word to the end of its segment. The slice is empty
    /// if the segment is not allocated.
    #[inline(always)]
    pub(crate) fn words(&self, block: Block) -> &[AtomicU64] {
        let (segment, word) = place(block.0 as usize);
        match self.segments.get(segment).and_then(OnceLock::get) {
            Some(region) => region.words(8 * word, (FIRST << segment) - word),
            None => &[],
        }
    }

    /// Prefetches the beginning of a block.
    #[inline(always)]
    pub(crate) fn prefetch(&self, block: Block) {
        let (segment, word) = place(block.0 as usize);
        if let Some(region) = self.segments.get(segment).and_then(OnceLock::get) {
            prefetch(region.at(8 * word));
        }
    }

    /// Returns the number of bytes of all allocated segments.
    pub(crate) fn bytes(&self) -> usize {
        (0..SEGMENTS)
            .filter(|&at| self.segments[at].get().is_some())
            .map(|at| 8 * (FIRST << at))
            .sum()
    }
}

/// Returns the number of the segment that holds the word at position `at`, and the word's index in
/// the segment.
#[inline(always)]
fn place(at: usize) -> (usize, usize) {
    let from_first = at + FIRST;
    let segment = (from_first.ilog2() - FIRST.ilog2()) as usize;
    (segment, from_first - (FIRST << segment))
}

/// Returns the length, in words, of a block for `words` words. Above [`EXACT`] words, there are
/// only eight lengths between a power of two and the next. Free blocks can then be reused for
/// contents that grow and shrink, instead of being kept for every length.
fn block_length(words: usize) -> usize {
    if words <= EXACT { words } else { words.next_multiple_of(1 << (words.ilog2() - 3)) }
}

/// The state of the single writer of an arena: free blocks, and the blocks of the change in
/// progress.
#[derive(Default)]
pub(crate) struct Writer {
    /// The position of the first word that has never been used.
    fresh: usize,
    /// The blocks that are free for reuse, by their length in words.
    free: BTreeMap<u32, Vec<Block>>,
    /// The total number of words of the replaced blocks that packets may still reach.
    waiting: usize,
    limbo: Limbo<(Block, u32)>,
    /// The blocks made by the change in progress, each with its length. No packet can reach them
    /// yet.
    made: Vec<(Block, u32)>,
    /// The blocks that the change in progress replaces, each with its length.
    dropped: Vec<(Block, u32)>,
    /// The total number of words of all blocks that were made.
    #[cfg(test)]
    pub(crate) written: u64,
}

impl Writer {
    /// Makes a block with these words. Returns `None` if memory does not suffice.
    pub(crate) fn make(&mut self, arena: &Arena, words: &[u64]) -> Option<Block> {
        let length = block_length(words.len());
        let count = u32::try_from(length).ok()?;
        let block = match self.free.get_mut(&count).and_then(Vec::pop) {
            Some(block) => block,
            None => self.fresh(arena, length)?,
        };
        for (word, value) in arena.words(block).iter().zip(words) {
            word.store(*value, Ordering::Relaxed);
        }
        #[cfg(test)]
        {
            self.written += words.len() as u64;
        }
        self.made.push((block, count));
        Some(block)
    }

    fn fresh(&mut self, arena: &Arena, count: usize) -> Option<Block> {
        // Position 0 stands for no block.
        self.fresh = self.fresh.max(1);
        loop {
            let (segment, word) = place(self.fresh);
            let room = FIRST << segment;
            let region = arena.segments.get(segment)?;
            if word + count <= room {
                if region.get().is_none() {
                    let _ = region.set(Region::new(8 * room)?);
                }
                let block = Block(u32::try_from(self.fresh).ok()?);
                self.fresh += count;
                return Some(block);
            }
            self.fresh += room - word;
        }
    }

    /// Records that the change in progress replaces a block of `words` words.
    pub(crate) fn drop_block(&mut self, block: Block, words: usize) {
        if !block.is_none() {
            self.dropped.push((block, block_length(words) as u32));
        }
    }

    /// Ends a change that has been published: the blocks that it replaced may be reused once no
    /// packet can reach them.
    pub(crate) fn commit(&mut self, domain: &Domain) {
        self.made.clear();
        for block in self.dropped.drain(..) {
            self.waiting += block.1 as usize;
            self.limbo.retire(domain, block);
        }
        if self.limbo.len() >= WAITING || self.waiting >= WAITING_WORDS {
            self.collect(domain);
        }
    }

    /// Ends a change that was not published, and frees the blocks made for it. No packet has seen
    /// them.
    pub(crate) fn roll_back(&mut self) {
        self.dropped.clear();
        for (block, words) in self.made.drain(..) {
            self.free.entry(words).or_default().push(block);
        }
    }

    fn collect(&mut self, domain: &Domain) {
        let Self { free, waiting, limbo, .. } = self;
        limbo.collect(domain.advance(), |(block, words)| {
            *waiting -= words as usize;
            free.entry(words).or_default().push(block);
        });
    }
}

/// The word that leads to a tree. Its high half is the position of the root block. Its low half is
/// the result of every lookup while the tree has no blocks.
pub(crate) struct Root<'a>(&'a AtomicU64);

impl<'a> Root<'a> {
    pub(crate) fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    /// Returns the two halves of the word: the result of every lookup, which is valid only if the
    /// tree has no blocks, and the root block. The caller must stay pinned while it reads the
    /// block.
    #[inline(always)]
    pub(crate) fn load(&self) -> (u32, Block) {
        let word = self.0.load(Ordering::Acquire);
        (word as u32, Block((word >> 32) as u32))
    }

    /// Publishes a new root. Packets that load this root also see all words that were written
    /// before this call.
    pub(crate) fn store(&self, value: u32, block: Block) {
        self.0.store(u64::from(value) | u64::from(block.0) << 32, Ordering::Release);
    }
}

/// Returns the 32-bit half with this index. Each word consists of two halves, of which the low one
/// is first. Returns 0 beyond the end.
#[inline(always)]
pub(crate) fn half(words: &[AtomicU64], index: usize) -> u32 {
    let word = words.get(index / 2).map_or(0, |word| word.load(Ordering::Acquire));
    (word >> (32 * (index % 2))) as u32
}

/// Replaces the 32-bit half with this index. Packets may be reading the word, so only the single
/// writer may call this.
pub(crate) fn replace_half(words: &[AtomicU64], index: usize, value: u32) {
    if let Some(word) = words.get(index / 2) {
        let above = 32 * (index % 2);
        let other = word.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << above);
        word.store(other | u64::from(value) << above, Ordering::Release);
    }
}

/// Packs 32-bit values into words, two in each word, the low half first.
pub(crate) fn halves(values: impl Iterator<Item = u32>) -> Vec<u64> {
    let mut words = Vec::new();
    for (index, value) in values.enumerate() {
        match words.last_mut() {
            Some(word) if index % 2 == 1 => *word |= u64::from(value) << 32,
            _ => words.push(u64::from(value)),
        }
    }
    words
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn contents(arena: &Arena, block: Block, count: usize) -> Vec<u64> {
        arena.words(block)[..count].iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn blocks_do_not_overlap_in_any_segment() {
        let (arena, mut writer) = (Arena::new(), Writer::default());
        let blocks: Vec<(Block, Vec<u64>)> = (0..3000_u64)
            .map(|number| {
                let words = vec![number; 1 + number as usize % 7];
                (writer.make(&arena, &words).unwrap(), words)
            })
            .collect();
        for (block, words) in &blocks {
            assert_eq!(contents(&arena, *block, words.len()), *words);
        }
        let large = writer.make(&arena, &vec![7; 3 * FIRST]).unwrap();
        assert_eq!(contents(&arena, large, 3 * FIRST), vec![7; 3 * FIRST]);
        assert!(arena.words(Block::from_bits(u32::MAX)).is_empty());
    }

    #[test]
    fn a_block_is_reused_only_when_no_worker_can_reach_it() {
        let (arena, mut writer, domain) = (Arena::new(), Writer::default(), Domain::new());
        let first = writer.make(&arena, &[1, 2]).unwrap();
        writer.roll_back();
        assert_eq!(writer.make(&arena, &[3, 4]), Some(first));
        writer.commit(&domain);
        let seat = domain.join().unwrap();
        domain.pin(&seat);
        writer.drop_block(first, 2);
        writer.commit(&domain);
        writer.collect(&domain);
        writer.collect(&domain);
        assert_ne!(writer.make(&arena, &[5, 6]), Some(first), "the pinned worker may see it");
        domain.unpin(&seat);
        writer.collect(&domain);
        writer.collect(&domain);
        assert_eq!(writer.make(&arena, &[7, 8]), Some(first));
    }

    #[test]
    fn packed_halves_are_read_back() {
        let words: Vec<AtomicU64> = halves(1..=5).into_iter().map(AtomicU64::new).collect();
        assert_eq!(words.len(), 3);
        assert_eq!((0..7).map(|at| half(&words, at)).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 0, 0]);
    }
}
