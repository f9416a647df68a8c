//! Rules that no cut divides: leaves in order of priority.
//!
//! Where every rule leaves every byte and number open, as nested ranges do, a tree has nothing to divide by. In one
//! leaf, n rules would be written n times, at each insertion one rule longer. A chain has them in leaves of at most
//! [`MOST`] rules, the best ones first, and an insertion writes one leaf and the list of leaves. A search compares the
//! leaves in order and ends at the first match, which no later rule can better.

use super::{Best, Block, Head, Kind, Lanes, Rule, TernaryTree};
use crate::arena::{Writer, half, halves};
use crate::sync::{AtomicU64, Ordering};

/// The largest number of rules in a leaf.
pub(super) const MOST: usize = 64;

/// Neighbours with at most this many rules together become one leaf when one of them loses a rule.
const JOINED: usize = MOST / 2;

/// The half of a word where the list of leaves begins, behind head, counts and the number of leaves.
const LEAVES: usize = 6;

/// A chain as the writer changes it.
pub(super) struct Chain {
    /// The number of rules in all leaves.
    pub(super) count: u32,
    /// The number of rules for which the chain was built.
    pub(super) built: u32,
    pub(super) leaves: Vec<Block>,
}

/// The order of rules in a search: by falling priority, then in the order in which they came.
pub(super) fn rank(rule: &Rule) -> (u32, u64, u32) {
    (!rule.priority, rule.order, rule.number)
}

impl Chain {
    pub(super) fn of(words: &[AtomicU64]) -> Self {
        let counts = words.get(1).map_or(0, |word| word.load(Ordering::Relaxed));
        let leaves = (0..length(words)).map(|at| leaf(words, at)).collect();
        Self { count: counts as u32, built: (counts >> 32) as u32, leaves }
    }

    /// The number of words of the chain's own block.
    pub(super) fn words(&self) -> usize {
        LEAVES / 2 + self.leaves.len().div_ceil(2)
    }

    fn encode(&self, highest: u32) -> Vec<u64> {
        let head = Head { kind: Kind::Chain, at: 0, length: 0, highest };
        let counts = u64::from(self.count) | u64::from(self.built) << 32;
        let mut words = vec![head.encode(), counts, self.leaves.len() as u64];
        words.extend(halves(self.leaves.iter().map(|leaf| leaf.bits())));
        words
    }
}

fn length(words: &[AtomicU64]) -> usize {
    words.get(2).map_or(0, |word| word.load(Ordering::Relaxed)) as usize
}

fn leaf(words: &[AtomicU64], at: usize) -> Block {
    Block::from_bits(half(words, LEAVES + at))
}

impl TernaryTree {
    /// Compares the rules of a chain with a key, up to the first that matches.
    #[inline(never)]
    pub(super) fn look_in_chain(
        &self,
        lanes: impl Lanes,
        words: &[AtomicU64],
        key: &[u64],
        best: &mut Best,
    ) {
        for at in 0..length(words) {
            let words = self.arena.words(leaf(words, at));
            if Head::of(words).highest < best.priority {
                return;
            }
            if let Some(rule) = self.rules(words).first_match(lanes, key) {
                return best.take_better(rule.priority(), rule.order(), rule.number());
            }
        }
    }

    /// Returns a chain of these rules.
    pub(super) fn chain(&self, writer: &mut Writer, mut rules: Vec<Rule>) -> Option<Block> {
        rules.sort_by_key(rank);
        let count = rules.len() as u32;
        let leaves = rules.chunks(MOST / 2).map(|rules| self.leaf(writer, rules.to_vec()));
        let leaves = leaves.collect::<Option<_>>()?;
        self.make_chain(writer, &Chain { count, built: count, leaves })
    }

    /// Returns a chain with one rule more. The block is that of the chain.
    pub(super) fn chain_with(
        &self,
        writer: &mut Writer,
        block: Block,
        mut chain: Chain,
        rule: &Rule,
    ) -> Option<Block> {
        writer.drop_block(block, chain.words());
        let at = self.place_in(&chain, rule);
        let mut rules = self.take_leaf(writer, chain.leaves[at]);
        rules.push(rule.clone());
        rules.sort_by_key(rank);
        let behind = if rules.len() > MOST { rules.split_off(MOST / 2) } else { Vec::new() };
        chain.leaves[at] = self.leaf(writer, rules)?;
        if !behind.is_empty() {
            chain.leaves.insert(at + 1, self.leaf(writer, behind)?);
        }
        chain.count += 1;
        self.make_chain(writer, &chain)
    }

    /// Returns a chain with one rule less. The block is that of the chain, which has more rules.
    pub(super) fn chain_without(
        &self,
        writer: &mut Writer,
        block: Block,
        mut chain: Chain,
        rule: &Rule,
    ) -> Option<Block> {
        writer.drop_block(block, chain.words());
        let at = self.place_in(&chain, rule);
        let mut rules = self.take_leaf(writer, chain.leaves[at]);
        rules.retain(|other| other.number != rule.number);
        // The leaf behind it, or for the last leaf the one in front of it.
        let other = if at + 1 < chain.leaves.len() { Some(at + 1) } else { at.checked_sub(1) };
        let joined = other.filter(|other| {
            rules.len() + self.rules(self.arena.words(chain.leaves[*other])).len() <= JOINED
        });
        if let Some(other) = joined {
            rules.extend(self.take_leaf(writer, chain.leaves[other]));
        }
        chain.leaves[at] = self.leaf(writer, rules)?;
        if let Some(other) = joined {
            chain.leaves.remove(other);
        }
        chain.leaves.retain(|leaf| !leaf.is_none());
        chain.count -= 1;
        self.make_chain(writer, &chain)
    }

    /// The position of the leaf that has the rule or gets it: the last one whose first rule is not behind it.
    fn place_in(&self, chain: &Chain, rule: &Rule) -> usize {
        let is_before = |leaf: &Block| {
            let first = self.rules(self.arena.words(*leaf)).get(0);
            let first = first.map(|first| (!first.priority(), first.order(), first.number()));
            first.is_some_and(|first| first <= rank(rule))
        };
        chain.leaves.partition_point(is_before).saturating_sub(1)
    }

    fn make_chain(&self, writer: &mut Writer, chain: &Chain) -> Option<Block> {
        let highest = chain.leaves.first().map_or(0, |leaf| self.highest(*leaf));
        writer.make(&self.arena, &chain.encode(highest))
    }

    /// The rules of a leaf, which is not used any more.
    pub(super) fn take_leaf(&self, writer: &mut Writer, block: Block) -> Vec<Rule> {
        let rules: Vec<Rule> =
            self.rules(self.arena.words(block)).iter().map(|rule| rule.decode()).collect();
        writer.drop_block(block, self.leaf_words(&rules));
        rules
    }
}
