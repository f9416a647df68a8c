//! A model of the memory that a table takes and of the number of its entries that a cache holds, by
//! arithmetic alone.
//!
//! For the paper's three storages, the model is the paper's equations 1 to 5. These count keys,
//! pointers and entries but not the hash index, which [`MemoryUse`](crate::MemoryUse) reports
//! separately. Inline storage has no equation in the paper: its size is a power of two of cache
//! lines. All results are for the declared size. The table of a running program starts with room
//! for 64 entries and doubles when it is full.

use crate::design::{Design, EntryLock, Storage, Synchronisation, UpdateMethod};
use crate::layout::Layout;
use crate::memory::reserved_bytes;

/// The paper's equations for tables of one layout, without entry locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    layout: Layout,
}

/// The share of a table's size that is filled with entries, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Fill(f64);

impl Fill {
    /// Returns the fill with this share, or `None` if the share is not between 0 and 1.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// Returns the filled share, from 0 to 1.
    #[must_use]
    pub fn share(self) -> f64 {
        self.0
    }
}

impl Model {
    /// Returns the model of tables with this layout.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self { layout }
    }

    /// Returns the number of bytes that one replica with `filled` entries takes. If `filled` is
    /// larger than the table's size, the size is used.
    #[must_use]
    pub fn memory(&self, storage: Storage, filled: usize) -> usize {
        let (size, filled) = (self.layout.size(), filled.min(self.layout.size()));
        match storage {
            Storage::Original => size * (self.key() + 8) + filled * self.entry(64),
            Storage::Dynamic => size * self.key() + filled * self.entry(64),
            Storage::Static => size * (self.key() + self.entry(16)),
            Storage::Inline => inline_bytes(&self.layout),
        }
    }

    /// Returns the largest number of entries for which a full table fits into a cache of `bytes`
    /// (equations 1, 3 and 5). For inline storage, returns the largest declared size whose buckets
    /// fit.
    #[must_use]
    pub fn entries_in_cache(&self, storage: Storage, bytes: usize) -> usize {
        match storage {
            Storage::Original => bytes / (self.key() + self.entry(64) + 8),
            Storage::Dynamic => bytes / (self.key() + self.entry(64)),
            Storage::Static => bytes / (self.key() + self.entry(16)),
            Storage::Inline => self.inline_entries_in(bytes),
        }
    }

    /// Returns the smallest share of filled entries at which static storage takes no more memory
    /// than dynamic storage. Static storage reserves memory for all entries. Dynamic storage has
    /// larger entries, but only reserves memory for those that exist (end of the paper's section
    /// 6.2).
    #[must_use]
    pub fn break_even_fill(&self) -> Fill {
        Fill(self.entry(16) as f64 / self.entry(64) as f64)
    }

    /// Returns the number of bytes of a key in memory, `[8 + k]` aligned to 16 B.
    fn key(&self) -> usize {
        (8 + self.layout.key_bytes()).next_multiple_of(16)
    }

    /// Returns the number of bytes of an entry in memory, `[4 B + A]` aligned to `alignment`.
    fn entry(&self, alignment: usize) -> usize {
        (4 + self.layout.parameter_bytes()).next_multiple_of(alignment)
    }

    /// Returns the largest declared size of a table whose buckets fit into `bytes` bytes in inline
    /// storage. The number of buckets grows with the size, so bisection finds it.
    fn inline_entries_in(&self, bytes: usize) -> usize {
        let fits = |size: usize| {
            Layout::new(self.layout.key_bits(), self.layout.parameter_bytes(), size)
                .and_then(|layout| layout.with_actions(self.layout.actions()))
                .is_ok_and(|layout| inline_bytes(&layout) <= bytes)
        };
        let (mut low, mut high) = (0, crate::layout::MAX_SIZE + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }
}

/// Returns the number of bytes that one replica with inline storage reserves.
fn inline_bytes(layout: &Layout) -> usize {
    let design = Design {
        storage: Storage::Inline,
        synchronisation: Synchronisation::Optimistic,
        entry_lock: EntryLock::None,
        update: UpdateMethod::Pointer,
    };
    reserved_bytes(layout, &design)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExactTable;

    fn model(parameter_bytes: usize) -> Model {
        Model::new(Layout::new(32, parameter_bytes, 1 << 20).unwrap())
    }

    #[test]
    fn the_model_agrees_with_the_paper_on_the_entries_in_a_cache() {
        let cache = 15 << 20;
        let entries = |storage| model(9).entries_in_cache(storage, cache);
        assert_eq!(entries(Storage::Original), 178_734);
        assert_eq!(entries(Storage::Dynamic), 196_608);
        assert_eq!(entries(Storage::Static), 491_520);
    }

    #[test]
    fn break_even_fills_are_those_of_the_paper() {
        for (from, to, fill) in [(1, 12, 0.25), (13, 28, 0.5), (29, 44, 0.75), (45, 60, 1.0)] {
            for bytes in from..=to {
                assert_eq!(model(bytes).break_even_fill().share(), fill, "A = {bytes}");
            }
        }
    }

    #[test]
    fn at_the_break_even_fill_static_and_dynamic_take_the_same() {
        for bytes in [1, 20, 40, 60] {
            let model = model(bytes);
            let filled = (model.break_even_fill().share() * f64::from(1 << 20)) as usize;
            let memory = |storage, filled| model.memory(storage, filled);
            assert_eq!(memory(Storage::Static, filled), memory(Storage::Dynamic, filled));
            assert!(memory(Storage::Static, filled) > memory(Storage::Dynamic, filled - 1));
        }
    }

    /// Compares the equations with the bytes that tables really allocate, empty and with entries.
    #[test]
    fn tables_allocate_what_the_equations_say() {
        const SIZE: usize = 1 << 10;
        for (key_bits, parameter_bytes) in [(32, 9), (32, 4), (128, 13), (48, 31), (10, 0)] {
            let layout = Layout::new(key_bits, parameter_bytes, SIZE).unwrap();
            let model = Model::new(layout);
            for storage in Storage::ALL {
                let (lock, actions) = (EntryLock::None, layout.actions());
                let table = ExactTable::stored(storage, lock, key_bits, parameter_bytes, actions);
                let mut table = table.unwrap();
                // Tables grow by doubling, so the size is that of the first one that has room.
                for key in 0..SIZE as u128 / 2 + 1 {
                    table.insert(key, crate::ActionId(1), &[]).unwrap();
                }
                let what = format!("{storage}, {key_bits} bits, {parameter_bytes} B");
                let memory = table.memory();
                let used = match storage {
                    // The index of inline storage is its store.
                    Storage::Inline => memory.total(),
                    _ => memory.modelled(),
                };
                assert_eq!(used, model.memory(storage, table.len()), "{what}");
            }
        }
    }

    #[test]
    fn the_largest_inline_table_in_a_cache_fits_and_the_next_does_not() {
        let cache = 1 << 20;
        let model = model(4);
        let most = model.entries_in_cache(Storage::Inline, cache);
        let bytes = |size| inline_bytes(&Layout::new(32, 4, size).unwrap());
        assert!(bytes(most) <= cache && bytes(most + 1) > cache, "{most}");
    }
}
