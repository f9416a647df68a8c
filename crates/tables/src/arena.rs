//! Memory of the trees that packets search while the control plane changes them.
//!
//! A tree is made of blocks of words that do not change once a packet can reach them (but for one by [`replace_half`]). A change writes the blocks on the
//! way from the root to where it happens anew, next to the old ones, and makes them seen by one store of the word that
//! leads to them ([`Root`]). So a packet that loads that word once sees the tree as it was at one moment, and an entry
//! that is added before another is taken out leaves no gap. Blocks that were replaced are used again when no packet
//! sees them any more, which [`Domain`] tells.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::quiescence::{Domain, Limbo};
use crate::region::{Region, prefetch};
use crate::sync::{AtomicU64, Ordering};

/// Words of the first segment; each further one is twice as large as the one before.
const FIRST: usize = if cfg!(loom) { 8 } else { 4096 };
/// As many as 31 bits can name.
const SEGMENTS: usize = (31 - FIRST.ilog2()) as usize;
/// Replaced blocks that wait before it is tried to use them again.
const WAITING: usize = if cfg!(loom) { 1 } else { 256 };
/// The words of replaced blocks that may wait, however few the blocks are.
const WAITING_WORDS: usize = FIRST;
/// Blocks of up to this number of words are exactly as long as their contents.
const EXACT: usize = 64;

/// Where a block begins, in words. Nothing lies at 0.
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

/// The memory of blocks, for anybody who reads them.
pub(crate) struct Arena {
    segments: [OnceLock<Region>; SEGMENTS],
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// The words from a block's first one on, to the end of its segment. Of no block there are none.
    #[inline(always)]
    pub(crate) fn words(&self, block: Block) -> &[AtomicU64] {
        let (segment, word) = place(block.0 as usize);
        match self.segments.get(segment).and_then(OnceLock::get) {
            Some(region) => region.words(8 * word, (FIRST << segment) - word),
            None => &[],
        }
    }

    /// Asks the cache for the beginning of a block.
    #[inline(always)]
    pub(crate) fn prefetch(&self, block: Block) {
        let (segment, word) = place(block.0 as usize);
        if let Some(region) = self.segments.get(segment).and_then(OnceLock::get) {
            prefetch(region.at(8 * word));
        }
    }

    /// Bytes of all segments there are.
    pub(crate) fn bytes(&self) -> usize {
        (0..SEGMENTS)
            .filter(|&at| self.segments[at].get().is_some())
            .map(|at| 8 * (FIRST << at))
            .sum()
    }
}

/// Segment, and word in it.
#[inline(always)]
fn place(at: usize) -> (usize, usize) {
    let from_first = at + FIRST;
    let segment = (from_first.ilog2() - FIRST.ilog2()) as usize;
    (segment, from_first - (FIRST << segment))
}

/// Returns the length of the block that holds this number of words. Longer blocks have only eight
/// lengths between a power of two and the next, so that a block whose contents grow and shrink is
/// used again instead of one of each length being kept.
fn block_length(words: usize) -> usize {
    if words <= EXACT { words } else { words.next_multiple_of(1 << (words.ilog2() - 3)) }
}

/// What the one writer of an arena knows.
#[derive(Default)]
pub(crate) struct Writer {
    /// Words from here on were never used.
    fresh: usize,
    /// Blocks without contents, by their length.
    free: BTreeMap<u32, Vec<Block>>,
    /// The words of the blocks in `limbo`.
    waiting: usize,
    limbo: Limbo<(Block, u32)>,
    /// Blocks of the change under way that nobody sees yet.
    made: Vec<(Block, u32)>,
    /// Blocks that the change under way replaces.
    dropped: Vec<(Block, u32)>,
    /// The words of all blocks that were made.
    #[cfg(test)]
    pub(crate) written: u64,
}

impl Writer {
    /// A new block with these words, or `None` where memory does not suffice.
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
        // Nothing lies at 0.
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

    /// Says that the change under way replaces a block of so many words.
    pub(crate) fn drop_block(&mut self, block: Block, words: usize) {
        if !block.is_none() {
            self.dropped.push((block, block_length(words) as u32));
        }
    }

    /// The change has been made seen: what it replaced may be used again once nobody sees it.
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

    /// The change is not made: nobody has seen its blocks.
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

/// The word that leads to a tree: a block, and what is found where there is none.
pub(crate) struct Root<'a>(&'a AtomicU64);

impl<'a> Root<'a> {
    pub(crate) fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    /// What was there at some moment. The caller is pinned for as long as it looks at the block.
    #[inline(always)]
    pub(crate) fn load(&self) -> (u32, Block) {
        let word = self.0.load(Ordering::Acquire);
        (word as u32, Block((word >> 32) as u32))
    }

    /// Makes a tree seen with everything written before.
    pub(crate) fn store(&self, value: u32, block: Block) {
        self.0.store(u64::from(value) | u64::from(block.0) << 32, Ordering::Release);
    }
}

/// The half of a word with this number, counted from the first word.
#[inline(always)]
pub(crate) fn half(words: &[AtomicU64], index: usize) -> u32 {
    let word = words.get(index / 2).map_or(0, |word| word.load(Ordering::Acquire));
    (word >> (32 * (index % 2))) as u32
}

/// Gives a half of a word, which packets may be reading, another value; the one writer does.
pub(crate) fn replace_half(words: &[AtomicU64], index: usize, value: u32) {
    if let Some(word) = words.get(index / 2) {
        let above = 32 * (index % 2);
        let other = word.load(Ordering::Relaxed) & !(u64::from(u32::MAX) << above);
        word.store(other | u64::from(value) << above, Ordering::Release);
    }
}

/// Halves as words.
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
    fn blocks_lie_apart_over_all_segments() {
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
    fn a_block_is_used_again_when_nobody_sees_it_and_at_once_if_nobody_did() {
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
    fn halves_come_back() {
        let words: Vec<AtomicU64> = halves(1..=5).into_iter().map(AtomicU64::new).collect();
        assert_eq!(words.len(), 3);
        assert_eq!((0..7).map(|at| half(&words, at)).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 0, 0]);
    }
}
