//! Searches for many keys at once. Each round goes one level down with all keys, so that the
//! processor works on other keys while it waits for the memory of one.

use super::{Best, Head, Kind, Lanes, TernaryTree};
use crate::arena::Block;
use crate::store::BATCH;

/// The working memory of one thread's searches.
#[derive(Default)]
pub(crate) struct Together {
    /// The steps of the current round of the search (`now`), and those of the next round. In both
    /// lists, elements beyond the number of steps are meaningless.
    now: Vec<Step>,
    next: Vec<Step>,
}

/// The next step of the search for one key: the key's index, and the block to visit.
#[derive(Clone, Copy, Default)]
struct Step {
    key: u32,
    block: Block,
}

/// A list of search steps in reused memory.
struct Steps<'s> {
    steps: &'s mut [Step],
    count: usize,
}

impl<'s> Steps<'s> {
    /// Returns an empty list with room for `room` steps.
    #[inline(always)]
    fn new(memory: &'s mut Vec<Step>, room: usize) -> Self {
        if memory.len() < room {
            memory.resize(room, Step::default());
        }
        Self { steps: memory, count: 0 }
    }

    /// Adds a step to the list, unless `block` stands for no block. The function has no branch on
    /// that condition, because a branch predictor could not predict it.
    #[inline(always)]
    fn add(&mut self, key: u32, block: Block) {
        if let Some(step) = self.steps.get_mut(self.count) {
            *step = Step { key, block };
            self.count += usize::from(!block.is_none());
        }
    }
}

impl TernaryTree {
    /// Writes to `found`, for each of several contiguous keys, the number of the best matching
    /// entry plus one, or 0 if none matches. The keys are in words, as [`TernaryTree::find`] takes
    /// them.
    #[inline(always)]
    pub(crate) fn find_all(
        &self,
        lanes: impl Lanes,
        tree: Block,
        keys: &[u64],
        found: &mut [u32],
        together: &mut Together,
    ) {
        if tree.is_none() {
            return found.fill(0);
        }
        let stride = self.key_words() + 1;
        let Together { now, next } = together;
        for (keys, found) in keys.chunks(stride * BATCH).zip(found.chunks_mut(BATCH)) {
            let mut best = [Best::NONE; BATCH];
            let mut count = self.begin(tree, keys, found.len(), now);
            while count > 0 {
                let mut coming = Steps::new(next, 2 * count);
                for Step { key, block } in now.iter().take(count) {
                    let words = self.arena.words(*block);
                    let at = *key as usize;
                    let head = Head::of(words);
                    let (Some(best), Some(own)) =
                        (best.get_mut(at), keys.get(stride * at..stride * (at + 1)))
                    else {
                        continue;
                    };
                    if head.highest < best.priority {
                        continue;
                    }
                    if head.kind == Kind::Leaf {
                        self.search_leaf(lanes, words, own, best);
                        continue;
                    }
                    let (side, open) = self.children_for(&head, words, own);
                    coming.add(*key, side);
                    coming.add(*key, open);
                }
                count = coming.count;
                self.fetch(&next[..count]);
                std::mem::swap(now, next);
            }
            for (found, best) in found.iter_mut().zip(&best) {
                *found = best.name;
            }
        }
    }

    /// Writes the first steps of all searches to `now`, prefetches their blocks, and returns the
    /// number of steps. The steps lead to the children of the root, or to the root itself if it is
    /// a leaf.
    #[inline(always)]
    fn begin(&self, tree: Block, keys: &[u64], count: usize, now: &mut Vec<Step>) -> usize {
        let stride = self.key_words() + 1;
        let words = self.arena.words(tree);
        let head = Head::of(words);
        let mut steps = Steps::new(now, 2 * count);
        if head.kind == Kind::Leaf {
            (0..count as u32).for_each(|key| steps.add(key, tree));
        } else {
            for key in 0..count {
                let own = keys.get(stride * key..).unwrap_or_default();
                let (side, open) = self.children_for(&head, words, own);
                steps.add(key as u32, side);
                steps.add(key as u32, open);
            }
        }
        let count = steps.count;
        self.fetch(&now[..count]);
        count
    }

    /// Prefetches the blocks of these steps.
    #[inline(always)]
    fn fetch(&self, steps: &[Step]) {
        for step in steps {
            self.arena.prefetch(step.block);
        }
    }
}
