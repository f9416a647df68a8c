//! The sizes of the tables that are measured. They have the same ratios to the last-level cache as
//! the tables of the paper.

use ::tables::{Layout, Model, Storage};

/// The last-level cache of the paper's machine in bytes.
pub(super) const PAPER_CACHE: usize = 15 << 20;

/// The table sizes that are measured, in entries, and the size of the cache from which they are
/// derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// The size of the last-level cache in bytes.
    pub(super) cache: usize,
    /// The number of entries with which a table of dynamic storage fills a quarter of the cache.
    pub(super) quarter: usize,
    /// The number of entries with which a table fills two thirds of the cache: 2^17 on the paper's
    /// machine.
    pub(super) two_thirds: usize,
    /// The number of entries with which a table has 2.67 times the size of the cache: 2^19 on the
    /// paper's machine.
    pub(super) largest: usize,
    /// The number of entries with which a table has 5.33 times the size of the cache: 2^20 on the
    /// paper's machine.
    pub(super) beyond: usize,
    /// The sizes at which table designs are measured, in ascending order. The first is a table with
    /// one entry.
    pub(super) all: Vec<usize>,
    /// The sizes, in ascending order, among which the knee of each storage is searched for: the
    /// size above which packets miss the cache. Empty in a quick run.
    pub(super) around_knees: Vec<usize>,
}

impl Sizes {
    /// Returns the sizes for a machine with a last-level cache of `cache` bytes. In a quick run,
    /// only the sizes that claims need are measured.
    pub(super) fn of(cache: usize, is_quick: bool) -> Self {
        let at = |caches: f64| entries_at((caches * cache as f64) as usize);
        let (quarter, two_thirds, largest) = (at(0.25), at(2.0 / 3.0), at(8.0 / 3.0));
        let beyond = at(16.0 / 3.0);
        let mut all = vec![1, quarter, two_thirds, largest];
        if !is_quick {
            all.extend([1.0 / 16.0, 0.5, 1.0, 4.0 / 3.0, 2.0].map(at));
            all.extend([1 << 4, 1 << 8, 1 << 12]);
        }
        all.retain(|size| *size <= largest);
        all.sort_unstable();
        all.dedup();
        let around_knees = if is_quick { Vec::new() } else { around_knees(cache) };
        Self { cache, quarter, two_thirds, largest, beyond, all, around_knees }
    }
}

/// Returns the number of entries with which a full table of this storage fills a cache, by the
/// paper's model.
pub(super) fn modelled(storage: Storage, cache: usize) -> usize {
    Layout::new(32, 4, 1).map_or(0, |layout| Model::new(layout).entries_in_cache(storage, cache))
}

/// Returns the memory that packets access in a table with this storage and number of entries, as a
/// multiple of a cache of `cache` bytes. It consists of the keys, for which the table has room up
/// to the next power of two because it grew by doubling, and of the other memory that each entry
/// takes in the paper's model.
pub(super) fn caches_of(storage: Storage, entries: usize, cache: usize) -> f64 {
    /// The memory in bytes that a key of four bytes takes in the paper's model.
    const KEY: usize = 16;
    let each = Layout::new(32, 4, 1).map_or(0, |layout| Model::new(layout).memory(storage, 1));
    let bytes = entries.next_power_of_two() * KEY + entries * each.saturating_sub(KEY);
    bytes as f64 / cache as f64
}

/// Returns numbers of entries that ascend in steps of about a quarter. A table with the first
/// number fills a quarter of the cache if its storage takes the most memory. A table with the last
/// fills at least 2.5 caches even if its storage takes the least.
fn around_knees(cache: usize) -> Vec<usize> {
    let from = modelled(Storage::Original, cache) as f64 / 4.0;
    let to = modelled(Storage::Static, cache) as f64 * 2.5;
    let steps = ((to / from).ln() / 1.25f64.ln()).ceil() as i32;
    (0..=steps).map(|step| (from * 1.25f64.powi(step)) as usize).collect()
}

/// Returns the largest number of entries, at least 1, with which a table of dynamic storage takes
/// at most `bytes` bytes. Since tables grow by doubling, keys take memory for the next power of
/// two.
pub(super) fn entries_at(bytes: usize) -> usize {
    let takes = |entries: usize| {
        let layout = Layout::new(32, 4, entries.next_power_of_two());
        layout.map_or(usize::MAX, |layout| Model::new(layout).memory(Storage::Dynamic, entries))
    };
    // Memory grows with the number of entries, so bisection finds the last one that fits.
    let (mut low, mut high) = (1, ::tables::MAX_SIZE);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if takes(middle) <= bytes { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_cache_yields_the_papers_sizes() {
        let sizes = Sizes::of(PAPER_CACHE, true);
        // Parameters of 4 and of 9 bytes take equal entries: 80 bytes with the key.
        assert_eq!((sizes.two_thirds, sizes.largest, sizes.beyond), (1 << 17, 1 << 19, 1 << 20));
        assert_eq!(sizes.all, [1, sizes.quarter, 1 << 17, 1 << 19]);
    }

    #[test]
    fn tables_keep_their_ratio_to_the_cache() {
        for cache in [1 << 20, 10 << 20, 11_000_000, 64 << 20] {
            let sizes = Sizes::of(cache, false);
            for (entries, caches) in
                [(sizes.quarter, 0.25), (sizes.two_thirds, 2.0 / 3.0), (sizes.largest, 8.0 / 3.0)]
            {
                let layout = Layout::new(32, 4, entries.next_power_of_two()).expect("a layout");
                let bytes = Model::new(layout).memory(Storage::Dynamic, entries);
                let ratio = bytes as f64 / cache as f64;
                assert!(ratio <= caches, "{cache}: {entries} entries are {ratio} caches");
                // Where the table doubles, no number of entries takes just as much.
                assert!(ratio > 0.8 * caches, "{cache}: {entries} entries are {ratio} caches");
            }
            assert!(sizes.all.is_sorted() && sizes.all.last() == Some(&sizes.largest));
        }
    }
}
