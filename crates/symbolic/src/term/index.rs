//! The index that finds the stored term with an operation, so that equal terms have equal handles.

use super::Node;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// A hash table with open addressing that stores only positions of terms. A map with terms as keys
/// would hold each of up to eight million terms twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// The position of a term plus one, or zero for a free slot. The number of slots is a power of
    /// two.
    slots: Vec<u32>,
    used: usize,
}

fn hash(node: &Node) -> usize {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(node);
    usize::try_from(hash & u64::from(u32::MAX)).unwrap_or(0)
}

impl Index {
    /// Returns the position of the term that equals `node`, if there is one. `stored` returns the
    /// term at a position.
    pub(super) fn find(&self, node: &Node, stored: impl Fn(u32) -> Node) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash(node) & mask;
        loop {
            let position = self.slots[slot].checked_sub(1)?;
            if stored(position) == *node {
                return Some(position);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Inserts the position of a term that is not in the index yet. `stored` returns the term at a
    /// position.
    pub(super) fn insert(&mut self, position: u32, stored: impl Fn(u32) -> Node) {
        if self.used * 4 >= self.slots.len() * 3 {
            let larger = vec![0; (self.slots.len() * 2).max(64)];
            for kept in std::mem::replace(&mut self.slots, larger) {
                if let Some(kept) = kept.checked_sub(1) {
                    self.place(kept, &stored(kept));
                }
            }
        }
        self.place(position, &stored(position));
        self.used += 1;
    }

    fn place(&mut self, position: u32, node: &Node) {
        let mask = self.slots.len() - 1;
        let mut slot = hash(node) & mask;
        while self.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = position.saturating_add(1);
    }
}
