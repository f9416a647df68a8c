//! The memory that a table takes, as predicted from its layout or as the table itself reports it.

use crate::bucket::buckets_for;
use crate::design::{Design, EntryLock, Storage, Synchronisation};
use crate::exact::FIRST_SIZE;
use crate::indirect::{Kind, entry_bytes, record_bytes};
use crate::layout::Layout;
use crate::region::{LINE, Pages};
use crate::store::Shape;

/// The numbers of bytes that a table has allocated for each of its parts, over all replicas and
/// shards. The operating system provides a page of this memory only when the page is first written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemoryUse {
    /// The bytes of the hash index of original, dynamic and static storage, which the paper's
    /// equations omit.
    pub index: usize,
    /// The bytes of keys and of the words stored with them. In the paper, these are `s * [8 + k]`,
    /// aligned to 16 B.
    pub keys: usize,
    /// The bytes of the pointer array of original storage: `8 B * s`.
    pub pointers: usize,
    /// The bytes of entries. In inline storage, the bytes of the buckets with everything in them.
    pub entries: usize,
    /// The kind of pages under the larger parts.
    pub pages: Pages,
}

impl MemoryUse {
    /// Returns the bytes that the paper's equations count.
    #[must_use]
    pub fn modelled(&self) -> usize {
        self.keys + self.pointers + self.entries
    }

    /// Returns the number of bytes of all parts.
    #[must_use]
    pub fn total(&self) -> usize {
        self.modelled() + self.index
    }

    /// Returns the sum of the bytes of two tables.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            index: self.index + other.index,
            keys: self.keys + other.keys,
            pointers: self.pointers + other.pointers,
            entries: self.entries + other.entries,
            pages: self.pages.max(other.pages),
        }
    }
}

/// Returns the number of bytes that one replica or shard with room for exactly the declared size
/// takes when it is full.
fn store_bytes(layout: &Layout, design: &Design) -> usize {
    let locked = design.entry_lock == EntryLock::PerEntry;
    let size = layout.size();
    let indirect = |kind: Kind| {
        let record = record_bytes(layout.key_bytes());
        let entry = entry_bytes(kind, layout.parameter_bytes(), locked);
        let pointer = if kind == Kind::Original { 8 } else { 0 };
        let index = buckets_for(size, 7).map_or(usize::MAX, |buckets| buckets.saturating_mul(LINE));
        size.saturating_mul(record + entry + pointer).saturating_add(index)
    };
    match design.storage {
        Storage::Original => indirect(Kind::Original),
        Storage::Dynamic => indirect(Kind::Dynamic),
        Storage::Static => indirect(Kind::Static),
        Storage::Inline => match Shape::of(layout) {
            Some(shape) => buckets_for(size, shape.slots())
                .map_or(usize::MAX, |buckets| buckets.saturating_mul(LINE)),
            None => usize::MAX,
        },
    }
}

/// Returns the largest number of bytes that a table takes while it is filled with `entries`
/// entries, over all replicas and shards. It grows by doubling, and both sizes of a replica exist
/// while entries are copied.
pub(crate) fn filling_bytes(layout: &Layout, design: &Design, entries: usize) -> usize {
    let room = entries.max(FIRST_SIZE).checked_next_power_of_two();
    let sized = |size: usize| Layout::new(layout.key_bits(), layout.parameter_bytes(), size);
    let Some(full) = room.and_then(|room| sized(room).ok()) else { return usize::MAX };
    let before = match sized(full.size() / 2) {
        Ok(half) if half.size() >= FIRST_SIZE => store_bytes(&half, design),
        _ => 0,
    };
    reserved_bytes(&full, design).saturating_add(before)
}

/// Returns the number of bytes that a table with room for exactly the declared size takes when it
/// is full, over all replicas and shards. A table that has grown by doubling has up to twice as
/// much room.
pub(crate) fn reserved_bytes(layout: &Layout, design: &Design) -> usize {
    match design.synchronisation {
        Synchronisation::Optimistic => store_bytes(layout, design),
        Synchronisation::DoubleBuffer { .. } => store_bytes(layout, design).saturating_mul(2),
        // Each worker has a shard with all entries, in addition to the shard of the control plane.
        Synchronisation::Sharded { shards } => {
            store_bytes(layout, design).saturating_mul(shards + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActionId, ExactTable};

    /// One entry more than fits into the room of a table doubles the room.
    #[test]
    fn a_filled_table_takes_no_more_memory_than_predicted() {
        for storage in Storage::ALL {
            for entries in [10, 1024, 1025, 2000] {
                let design = Design { entry_lock: EntryLock::None, ..Design::shared(storage) };
                let layout = Layout::new(32, 4, entries).unwrap();
                let mut table =
                    ExactTable::stored(storage, design.entry_lock, 32, 4, layout.actions())
                        .unwrap();
                for key in 0..entries as u128 {
                    table.insert(key, ActionId(0), &[]).unwrap();
                }
                let (took, predicted) =
                    (table.memory().total(), filling_bytes(&layout, &design, entries));
                assert!(took <= predicted, "{storage}, {entries}: {took} B, not {predicted} B");
            }
        }
    }
}
