//! Many keys sought side by side: each round goes one level down with all of them, so that the processor waits for the memory
//! that one needs while it works on the others, and guesses one and the same way for all.

use super::{Best, Head, Kind, Lanes, TernaryTree, at_byte, at_number};
use crate::arena::Block;
use crate::store::BATCH;

/// Memory of one thread's searches.
#[derive(Default)]
pub(crate) struct Together {
    /// Where keys are, and where they go on.
    now: Vec<Step>,
    next: Vec<Step>,
}

/// A key at a block.
#[derive(Clone, Copy)]
struct Step {
    key: u32,
    block: Block,
}

impl TernaryTree {
    /// The number of the best entry plus one, or 0, for each of some keys in words, as [`TernaryTree::find`] has them, one behind
    /// the other.
    #[inline(always)]
    pub(crate) fn find_all(
        &self,
        lanes: impl Lanes,
        tree: Block,
        keys: &[u64],
        found: &mut [u32],
        together: &mut Together,
    ) {
        let stride = self.words + 1;
        let Together { now, next } = together;
        for (keys, found) in keys.chunks(stride * BATCH).zip(found.chunks_mut(BATCH)) {
            let mut best: [Best; BATCH] = [None; BATCH];
            self.begin(tree, keys, now);
            while !now.is_empty() {
                next.resize(2 * now.len(), Step { key: 0, block: Block::NONE });
                let mut count = 0;
                for Step { key, block } in &*now {
                    let words = self.arena.words(*block);
                    let at = *key as usize;
                    let head = Head::of(words);
                    let best = &mut best[at];
                    if best.is_some_and(|(priority, ..)| head.highest < priority) {
                        continue;
                    }
                    let own = &keys[stride * at..stride * (at + 1)];
                    let (side, open) = match head.kind {
                        Kind::Leaf => {
                            self.look(lanes, words, own, best);
                            continue;
                        }
                        Kind::Byte => at_byte(&head, words, own),
                        Kind::Number => at_number(&head, words, own),
                    };
                    // Whether there is a child cannot be foretold.
                    for block in [side, open] {
                        next[count] = Step { key: *key, block };
                        count += usize::from(!block.is_none());
                    }
                }
                next.truncate(count);
                self.fetch(next);
                std::mem::swap(now, next);
            }
            for (found, best) in found.iter_mut().zip(&best) {
                *found = best.map_or(0, |(.., number)| number + 1);
            }
        }
    }

    /// Where keys are behind the root, which is one and the same for all.
    #[inline(always)]
    fn begin(&self, tree: Block, keys: &[u64], now: &mut Vec<Step>) {
        now.clear();
        if tree.is_none() {
            return;
        }
        let words = self.arena.words(tree);
        let head = Head::of(words);
        let keys = (0..).zip(keys.chunks_exact(self.words + 1));
        if head.kind != Kind::Byte {
            now.extend(keys.map(|(key, _)| Step { key, block: tree }));
            return;
        }
        let open = at_byte(&head, words, &[]).1;
        let sides =
            keys.clone().map(|(key, own)| Step { key, block: at_byte(&head, words, own).0 });
        now.extend(sides.filter(|step| !step.block.is_none()));
        if !open.is_none() {
            now.extend(keys.map(|(key, _)| Step { key, block: open }));
        }
        self.fetch(now);
    }

    /// Asks the cache for what comes next.
    #[inline(always)]
    fn fetch(&self, steps: &[Step]) {
        for step in steps {
            self.arena.prefetch(step.block);
        }
    }
}
