//! How much memory a table reserves, before it is made.

use crate::bucket::buckets_for;
use crate::design::{Design, EntryLock, Placement, Storage, Synchronisation};
use crate::indirect::{Kind, entry_bytes, record_bytes};
use crate::layout::Layout;
use crate::region::LINE;
use crate::store::Shape;

/// The layout of one of `shards` shards. By key, each gets its share and six standard deviations of a binomial
/// distribution on top, so that keys that hash evenly fill the declared size.
pub(crate) fn shard_layout(layout: &Layout, shards: usize, placement: Placement) -> Layout {
    if placement == Placement::Replicated || shards <= 1 {
        return *layout;
    }
    let share = layout.size().div_ceil(shards);
    layout.resized((share + 6 * (share.isqrt() + 1)).min(layout.size()))
}

/// Number of positions of one store.
pub(crate) fn positions(layout: &Layout, design: &Design) -> usize {
    match (design.storage, Shape::of(layout)) {
        (Storage::Inline, Some(shape)) => {
            buckets_for(layout.size(), shape.slots()).map_or(0, |buckets| buckets * shape.slots())
        }
        _ => layout.size(),
    }
}

/// Bytes of a full store.
fn store_bytes(layout: &Layout, design: &Design) -> usize {
    let locked = design.entry_lock == EntryLock::PerEntry;
    let size = layout.size();
    let indirect = |kind: Kind| {
        let record = record_bytes(kind, layout.key_bytes(), layout.parameter_bytes(), locked);
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
            None => indirect(Kind::Beside),
        },
    }
}

/// Bytes of a full table, over all replicas and shards.
pub(crate) fn reserved_bytes(layout: &Layout, design: &Design) -> usize {
    match design.synchronisation {
        Synchronisation::Optimistic => store_bytes(layout, design),
        Synchronisation::DoubleBuffer { .. } => store_bytes(layout, design).saturating_mul(2),
        Synchronisation::Sharded { shards, placement } => {
            store_bytes(&shard_layout(layout, shards, placement), design).saturating_mul(shards)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_hold_their_share_with_room_for_uneven_hashing() {
        let layout = Layout::new(32, 4, 1 << 20).unwrap();
        let shard = shard_layout(&layout, 4, Placement::ByKey);
        assert!(shard.size() > (1 << 18) && shard.size() < (1 << 18) + 4096, "{}", shard.size());
        assert_eq!(shard_layout(&layout, 4, Placement::Replicated).size(), 1 << 20);
        let one = Layout::new(32, 4, 1).unwrap();
        assert_eq!(shard_layout(&one, 4, Placement::ByKey).size(), 1);
    }
}
