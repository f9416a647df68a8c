//! Searches linearly among a handful of prefixes. If a table has few entries, comparing a key with
//! each of them takes less time than a search in the trie. Several keys are compared at once.

use crate::packing::Packed;
use crate::search::Link;
use crate::sync::{AtomicU64, Ordering};

/// The largest number of prefixes that a linear search compares with each key.
pub(super) const MAX: usize = 16;

/// The number of keys that are compared at once: two registers of AVX2.
const LANES: usize = 8;

/// A list of prefixes of keys of one word, the shortest first.
///
/// The list does not change while a thread searches. Its fields are atomic only so that searchers
/// and the writer may share it.
#[derive(Default)]
pub(super) struct Few {
    count: AtomicU64,
    entries: [Entry; MAX],
}

#[derive(Default)]
struct Entry {
    mask: AtomicU64,
    value: AtomicU64,
    /// The number of the entry with this prefix.
    number: AtomicU64,
}

impl Few {
    /// Replaces the list of prefixes by the prefixes of these entries. `links` holds the number and
    /// the prefix of each entry.
    pub(super) fn set<'l>(&self, links: impl Iterator<Item = (u32, &'l Link)>) {
        let mut prefixes: Vec<(u32, u64, u32)> = links
            .filter_map(|(number, link)| match link {
                Link::Prefix { key: Packed::Short(key), length } => Some((*length, *key, number)),
                _ => None,
            })
            .collect();
        prefixes.sort_unstable();
        for (entry, (length, key, number)) in self.entries.iter().zip(&prefixes) {
            let mask = u64::MAX.checked_shl(u64::BITS - length).unwrap_or(0);
            entry.mask.store(mask, Ordering::Relaxed);
            entry.value.store(key & mask, Ordering::Relaxed);
            entry.number.store(u64::from(*number), Ordering::Relaxed);
        }
        self.count.store(prefixes.len() as u64, Ordering::Relaxed);
    }

    /// Removes all prefixes, so that searches use the trie instead.
    pub(super) fn clear(&self) {
        self.count.store(0, Ordering::Relaxed);
    }

    /// Returns whether the list holds all entries of the table, so that a search in it suffices.
    #[inline(always)]
    pub(super) fn has_all(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Writes to `found`, for each key, the number of the entry with the longest matching prefix,
    /// or 0 if none matches.
    #[inline(always)]
    pub(super) fn find_all(&self, keys: &[[u64; 2]], found: &mut [u32]) {
        let count = self.count.load(Ordering::Relaxed) as usize;
        for (keys, found) in keys.chunks(LANES).zip(found.chunks_mut(LANES)) {
            let (mut words, mut numbers) = ([0; LANES], [0; LANES]);
            words.iter_mut().zip(keys).for_each(|(to, [low, _])| *to = *low);
            for entry in self.entries.iter().take(count) {
                let [mask, value, number] = [&entry.mask, &entry.value, &entry.number]
                    .map(|part| part.load(Ordering::Relaxed));
                for (best, word) in numbers.iter_mut().zip(&words) {
                    *best = if word & mask == value { number } else { *best };
                }
            }
            found.iter_mut().zip(numbers).for_each(|(to, number)| *to = number as u32);
        }
    }
}
