//! A classifier that finds the entry of highest priority that matches a packet: tuple space search
//! (Srinivasan, Suri and Varghese, SIGCOMM 1999), as in Open vSwitch.
//!
//! Entries with one mask share a hash table over their masked values. A packet is looked up in one
//! table after the other, in descending order of their highest priorities, until none of the
//! remaining tables can contain a better entry. Controllers use few masks, so the cost hardly
//! depends on the number of entries.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::flow_key::{Condition, FlowKey, WORDS};

/// A classifier that finds entries by the packets that they match. `K` identifies an entry.
#[derive(Clone, Debug)]
pub(super) struct Classifier<K> {
    /// The groups of entries with equal masks, in descending order of their highest priority.
    tuples: Vec<Tuple<K>>,
}

/// The entries with one mask, in a hash table.
#[derive(Clone, Debug)]
struct Tuple<K> {
    mask: FlowKey,
    /// The words of the mask that are not zero.
    words: Vec<(usize, u64)>,
    /// The entries by their value under the mask. Among entries with equal values, the best one
    /// comes first.
    entries: HashMap<Box<[u64]>, Vec<Ranked<K>>>,
    /// The number of entries with each priority.
    priorities: BTreeMap<u32, usize>,
}

/// An entry with its rank, which orders entries by precedence.
#[derive(Clone, Debug)]
struct Ranked<K> {
    rank: Rank,
    key: K,
}

/// The rank of an entry. The higher priority wins and, among equal priorities, the older entry. The
/// specification does not define the order among equal priorities.
type Rank = (u32, Reverse<u64>);

impl<K> Default for Classifier<K> {
    fn default() -> Self {
        Self { tuples: Vec::new() }
    }
}

impl<K: Clone + PartialEq> Classifier<K> {
    pub(super) fn insert(&mut self, condition: &Condition, priority: u32, number: u64, key: K) {
        let at = match self.tuples.iter().position(|tuple| tuple.mask == condition.mask) {
            Some(at) => at,
            None => {
                self.tuples.push(Tuple::new(condition.mask));
                self.tuples.len() - 1
            }
        };
        let tuple = &mut self.tuples[at];
        let mut masked = [0; WORDS];
        let value: Box<[u64]> = tuple.masked(&condition.value, &mut masked).into();
        let ranked = Ranked { rank: (priority, Reverse(number)), key };
        let entries = tuple.entries.entry(value).or_default();
        let place = entries.partition_point(|entry| entry.rank > ranked.rank);
        entries.insert(place, ranked);
        *tuple.priorities.entry(priority).or_default() += 1;
        self.sort();
    }

    pub(super) fn remove(&mut self, condition: &Condition, priority: u32, key: &K) {
        let Some(at) = self.tuples.iter().position(|tuple| tuple.mask == condition.mask) else {
            return;
        };
        let tuple = &mut self.tuples[at];
        let mut masked = [0; WORDS];
        let value = tuple.masked(&condition.value, &mut masked);
        let Some(entries) = tuple.entries.get_mut(value) else { return };
        let Some(place) = entries.iter().position(|entry| entry.key == *key) else { return };
        entries.remove(place);
        if entries.is_empty() {
            tuple.entries.remove(value);
        }
        if let Some(count) = tuple.priorities.get_mut(&priority) {
            *count -= 1;
            if *count == 0 {
                tuple.priorities.remove(&priority);
            }
        }
        if tuple.priorities.is_empty() {
            self.tuples.remove(at);
        } else {
            self.sort();
        }
    }

    /// Returns the best entry that matches a packet with this key, or `None` if no entry matches.
    pub(super) fn find(&self, packet: &FlowKey) -> Option<&K> {
        let mut best: Option<&Ranked<K>> = None;
        for tuple in &self.tuples {
            if best.is_some_and(|best| best.rank.0 > tuple.highest()) {
                break;
            }
            let mut masked = [0; WORDS];
            let value = tuple.masked(packet, &mut masked);
            let found = tuple.entries.get(value).and_then(|entries| entries.first());
            if let Some(found) = found
                && best.is_none_or(|best| found.rank > best.rank)
            {
                best = Some(found);
            }
        }
        best.map(|ranked| &ranked.key)
    }

    /// Restores the order of `tuples` after a change. Only the changed tuple can be out of place,
    /// so sorting takes little time.
    fn sort(&mut self) {
        self.tuples.sort_by_key(|tuple| Reverse(tuple.highest()));
    }
}

impl<K> Tuple<K> {
    fn new(mask: FlowKey) -> Self {
        let words = mask.0.iter().copied().enumerate().filter(|(_, word)| *word != 0).collect();
        Self { mask, words, entries: HashMap::new(), priorities: BTreeMap::new() }
    }

    fn highest(&self) -> u32 {
        self.priorities.last_key_value().map_or(0, |(priority, _)| *priority)
    }

    fn masked<'a>(&self, key: &FlowKey, space: &'a mut [u64; WORDS]) -> &'a [u64] {
        for (place, (word, mask)) in space.iter_mut().zip(&self.words) {
            *place = key.0[*word] & mask;
        }
        &space[..self.words.len()]
    }
}
