//! The interpreter's search for the best matching entry of a table.
//!
//! Entries that compare the same bits of the key form a group (tuple space search: Srinivasan, Suri
//! and Varghese, SIGCOMM 1999). Within a group, a hash of those bits finds the entry. Groups are
//! searched in the order of their best entries, until no later group can have a better one. A table
//! of exact keys has one group; a table with a prefix has one per prefix length, and the longest
//! comes first. Range fields are not hashed: entries that differ only in their ranges are compared
//! one by one.

use super::entry::FieldMatch;
use super::shape::EntryHandle;
use super::stored::Stored;
use ir::bits::Bits;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

/// The entries of a table, arranged so that the interpreter finds the best matching one quickly.
/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The groups of entries that compare the same bits, the group with the best entry first.
    groups: Vec<Group>,
    /// The entries with range matches, by a hash of their matches and priority. This index serves
    /// to find the entry with given matches, not the entry for a packet.
    ranges: HashMap<u64, Bucket, Passed>,
    seed: RandomState,
    /// Whether a longer prefix wins between entries of equal priority. Otherwise only priorities
    /// count.
    ranks_prefixes: bool,
}

/// A group of entries of a table that compare the same bits of the key (tuple space search).
#[derive(Debug)]
struct Group {
    masks: Vec<Mask>,
    has_ranges: bool,
    /// The number of entries of each [`Rank`].
    ranks: BTreeMap<Rank, usize>,
    buckets: HashMap<u64, Bucket, Passed>,
}

/// The priority of an entry and the length of its prefix, which decide between two matching
/// entries.
type Rank = (u32, u64);

/// The bits of a key that an entry compares.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mask {
    All,
    Under(Bits),
    Range,
    None,
}

/// The entries of a group that have the same hash, the best first. There is nearly always exactly
/// one such entry.
#[derive(Debug)]
enum Bucket {
    One(Arc<Stored>),
    Several(Vec<Arc<Stored>>),
}

impl Bucket {
    fn entries(&self) -> &[Arc<Stored>] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Several(entries) => entries,
        }
    }
}

impl Search {
    /// Creates a search without entries. `ranks_prefixes` says whether a longer prefix wins between
    /// entries of equal priority; BMv2 ignores prefix lengths in tables whose entries have
    /// priorities.
    pub(super) fn new(ranks_prefixes: bool) -> Self {
        Self { ranks_prefixes, ..Self::default() }
    }

    fn rank(&self, entry: &Stored) -> Rank {
        let prefix = if self.ranks_prefixes {
            entry.matches.iter().map(FieldMatch::prefix_length).sum()
        } else {
            0
        };
        (entry.priority, prefix)
    }

    /// Returns the best entry that matches the keys of a packet, if any. Also returns the number of
    /// entries and groups that were examined, which is at least 1.
    pub(super) fn best(&self, keys: &[Bits]) -> (Option<&Arc<Stored>>, u64) {
        let mut best: Option<(Rank, &Arc<Stored>)> = None;
        let mut compared = 0;
        for group in &self.groups {
            let most = group.best_rank();
            if best.as_ref().is_some_and(|(rank, _)| *rank > most) {
                break;
            }
            compared += 1;
            let hash = self.hash_of_key(&group.masks, keys);
            let Some(bucket) = group.buckets.get(&hash) else { continue };
            for entry in bucket.entries() {
                compared += 1;
                let matches =
                    entry.matches.iter().zip(keys).all(|(wanted, key)| wanted.matches(key));
                if matches {
                    let rank = self.rank(entry);
                    let better = best.as_ref().is_none_or(|(known, other)| {
                        (rank, std::cmp::Reverse(entry.handle))
                            > (*known, std::cmp::Reverse(other.handle))
                    });
                    if better {
                        best = Some((rank, entry));
                    }
                    break;
                }
            }
        }
        (best.map(|(_, entry)| entry), compared.max(1))
    }

    /// Returns the entry with exactly these matches and this priority, if there is one.
    pub(super) fn find(&self, matches: &[FieldMatch], priority: u32) -> Option<&Arc<Stored>> {
        let is_it = |entry: &&Arc<Stored>| entry.priority == priority && entry.matches == matches;
        if has_ranges(matches) {
            let bucket = self.ranges.get(&self.hash_of_all(matches, priority))?;
            return bucket.entries().iter().find(is_it);
        }
        let group = self.groups.iter().find(|group| group.is_of(matches))?;
        let bucket = group.buckets.get(&self.hash_of_entry(matches))?;
        bucket.entries().iter().find(is_it)
    }

    /// Adds an entry to the index.
    pub(super) fn insert(&mut self, entry: &Arc<Stored>) {
        let rank = self.rank(entry);
        let hash = self.hash_of_entry(&entry.matches);
        let group = match self.groups.iter_mut().find(|group| group.is_of(&entry.matches)) {
            Some(group) => group,
            None => {
                self.groups.push(Group::new(&entry.matches));
                match self.groups.last_mut() {
                    Some(group) => group,
                    None => return,
                }
            }
        };
        let before = group.ranks.last_key_value().map(|(rank, _)| *rank);
        *group.ranks.entry(rank).or_default() += 1;
        let order = |one: &Stored| {
            let prefix = one.matches.iter().map(FieldMatch::prefix_length).sum();
            let rank = (one.priority, if self.ranks_prefixes { prefix } else { 0 });
            (std::cmp::Reverse(rank), one.handle)
        };
        put(&mut group.buckets, hash, entry, order);
        if group.has_ranges {
            let hash = self.hash_of_all(&entry.matches, entry.priority);
            put(&mut self.ranges, hash, entry, |one| one.handle);
        }
        if before.is_none_or(|before| before < rank) {
            self.sort();
        }
    }

    /// Removes an entry from the index.
    pub(super) fn remove(&mut self, entry: &Stored) {
        let rank = self.rank(entry);
        let hash = self.hash_of_entry(&entry.matches);
        let of_all = self.hash_of_all(&entry.matches, entry.priority);
        let position = self.groups.iter().position(|group| group.is_of(&entry.matches));
        let Some(group) = position.and_then(|position| self.groups.get_mut(position)) else {
            return;
        };
        take(&mut group.buckets, hash, entry.handle);
        if group.has_ranges {
            take(&mut self.ranges, of_all, entry.handle);
            shrink(&mut self.ranges);
        }
        shrink(&mut group.buckets);
        let best = group.best_rank();
        if let Some(count) = group.ranks.get_mut(&rank) {
            *count -= 1;
            if *count == 0 {
                group.ranks.remove(&rank);
            }
        }
        if group.ranks.is_empty() {
            // Removing a group does not change the order of the others.
            position.map(|position| self.groups.remove(position));
        } else if group.best_rank() != best {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.groups.sort_by_key(|group| std::cmp::Reverse(group.best_rank()));
    }

    fn hash_of_key(&self, masks: &[Mask], keys: &[Bits]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        for (mask, key) in masks.iter().zip(keys) {
            match mask {
                Mask::All => hash_bits(key, &mut hasher),
                Mask::Under(mask) => hash_bits(&key.bit_and(mask), &mut hasher),
                Mask::Range | Mask::None => {}
            }
        }
        hasher.finish()
    }

    fn hash_of_entry(&self, matches: &[FieldMatch]) -> u64 {
        let mut hasher = self.seed.build_hasher();
        for found in matches {
            match found {
                FieldMatch::Exact(value)
                | FieldMatch::Lpm { value, .. }
                | FieldMatch::Ternary { value, .. } => hash_bits(value, &mut hasher),
                FieldMatch::Range { .. } | FieldMatch::Any => {}
            }
        }
        hasher.finish()
    }

    fn hash_of_all(&self, matches: &[FieldMatch], priority: u32) -> u64 {
        self.seed.hash_one((matches, priority))
    }
}

impl Group {
    fn new(matches: &[FieldMatch]) -> Self {
        Self {
            masks: matches.iter().map(Mask::of).collect(),
            has_ranges: has_ranges(matches),
            ranks: BTreeMap::new(),
            buckets: HashMap::default(),
        }
    }

    fn best_rank(&self) -> Rank {
        self.ranks.last_key_value().map_or((0, 0), |(rank, _)| *rank)
    }

    fn is_of(&self, matches: &[FieldMatch]) -> bool {
        self.masks.len() == matches.len()
            && self.masks.iter().zip(matches).all(|(mask, found)| mask.is_of(found))
    }
}

impl Mask {
    fn of(found: &FieldMatch) -> Self {
        match found {
            FieldMatch::Exact(_) => Self::All,
            FieldMatch::Lpm { value, prefix_length } => Self::Under(
                Bits::prefix_mask(value.width(), *prefix_length)
                    .cast(value.width(), value.is_signed()),
            ),
            FieldMatch::Ternary { mask, .. } => Self::Under(mask.clone()),
            FieldMatch::Range { .. } => Self::Range,
            FieldMatch::Any => Self::None,
        }
    }

    fn is_of(&self, found: &FieldMatch) -> bool {
        match (self, found) {
            (Self::All, FieldMatch::Exact(_))
            | (Self::Range, FieldMatch::Range { .. })
            | (Self::None, FieldMatch::Any) => true,
            (Self::Under(mask), FieldMatch::Ternary { mask: of, .. }) => mask == of,
            (Self::Under(_), FieldMatch::Lpm { .. }) => *self == Self::of(found),
            _ => false,
        }
    }
}

fn has_ranges(matches: &[FieldMatch]) -> bool {
    matches.iter().any(|found| matches!(found, FieldMatch::Range { .. }))
}

/// Hashes the value of a key. Only its bit pattern is hashed, because all values of one key have
/// the same width and sign.
fn hash_bits(bits: &Bits, hasher: &mut impl Hasher) {
    match bits.to_u128() {
        Some(pattern) => pattern.hash(hasher),
        None => bits.hash(hasher),
    }
}

fn put<K: Ord>(
    buckets: &mut HashMap<u64, Bucket, Passed>,
    hash: u64,
    entry: &Arc<Stored>,
    order: impl Fn(&Stored) -> K,
) {
    use std::collections::hash_map::Entry;
    match buckets.entry(hash) {
        Entry::Vacant(vacant) => {
            vacant.insert(Bucket::One(Arc::clone(entry)));
        }
        Entry::Occupied(mut occupied) => {
            let bucket = occupied.get_mut();
            let mut entries = match std::mem::replace(bucket, Bucket::Several(Vec::new())) {
                Bucket::One(known) => vec![known],
                Bucket::Several(known) => known,
            };
            let place = entries.partition_point(|one| order(one) < order(entry));
            entries.insert(place, Arc::clone(entry));
            *bucket = Bucket::Several(entries);
        }
    }
}

/// Frees memory of a hash table if most of it is unused.
fn shrink(buckets: &mut HashMap<u64, Bucket, Passed>) {
    const SMALLEST: usize = 512;
    if buckets.capacity() > SMALLEST && buckets.len() < buckets.capacity() / 8 {
        buckets.shrink_to(2 * buckets.len());
    }
}

fn take(buckets: &mut HashMap<u64, Bucket, Passed>, hash: u64, handle: EntryHandle) {
    let Some(bucket) = buckets.get_mut(&hash) else { return };
    if let Bucket::Several(entries) = bucket {
        entries.retain(|one| one.handle != handle);
    }
    let is_empty = match bucket {
        Bucket::One(entry) => entry.handle == handle,
        Bucket::Several(entries) => entries.is_empty(),
    };
    if is_empty {
        buckets.remove(&hash);
    }
}

/// A hasher that returns its input, for hash tables whose keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct Passed;

impl BuildHasher for Passed {
    type Hasher = PassedHasher;

    fn build_hasher(&self) -> PassedHasher {
        PassedHasher(0)
    }
}

/// The hasher that [`Passed`] builds.
struct PassedHasher(u64);

impl Hasher for PassedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
