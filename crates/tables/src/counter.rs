//! Direct counters: packets and bytes of each entry.
//!
//! A count belongs to a [`Position`]; the table sets it to zero when the entry leaves. Counting is an atomic addition
//! and so exact however many threads count. Where a deleted entry's place is used again at once (inline storage
//! without entry locks), a packet that matched the old entry and counts late is counted for the new one.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::entry::Position;

/// What an entry has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
}

#[derive(Default)]
struct Cell {
    packets: AtomicU64,
    bytes: AtomicU64,
}

/// The counters of a table's entries, or of one shard's.
pub struct DirectCounters {
    cells: Box<[Cell]>,
}

impl DirectCounters {
    pub(crate) fn new(positions: usize) -> Self {
        Self { cells: (0..positions).map(|_| Cell::default()).collect() }
    }

    /// Counts a packet of `bytes` bytes for the entry at a position. Positions of other tables count nowhere.
    #[inline]
    pub fn count(&self, position: Position, bytes: u64) {
        if let Some(cell) = self.cells.get(position.0 as usize) {
            cell.packets.fetch_add(1, Ordering::Relaxed);
            cell.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// What the entry at a position has counted. Packets and bytes are each exact, but a packet that is being counted
    /// may be in one and not yet in the other.
    pub fn read(&self, position: Position) -> Count {
        self.cells.get(position.0 as usize).map_or_else(Count::default, |cell| Count {
            packets: cell.packets.load(Ordering::Relaxed),
            bytes: cell.bytes.load(Ordering::Relaxed),
        })
    }

    /// Sets the count of the entry at a position, as the control plane may.
    pub fn write(&self, position: Position, count: Count) {
        if let Some(cell) = self.cells.get(position.0 as usize) {
            cell.packets.store(count.packets, Ordering::Relaxed);
            cell.bytes.store(count.bytes, Ordering::Relaxed);
        }
    }
}

impl std::fmt::Debug for DirectCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectCounters").field("positions", &self.cells.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_count_lose_nothing() {
        let counters = DirectCounters::new(2);
        let each = if cfg!(miri) { 50 } else { 50_000 };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..each).for_each(|_| counters.count(Position(1), 64)));
            }
        });
        assert_eq!(counters.read(Position(1)), Count { packets: 3 * each, bytes: 3 * each * 64 });
        assert_eq!(counters.read(Position(0)), Count::default());
        counters.count(Position(9), 1);
        assert_eq!(counters.read(Position(9)), Count::default());
    }
}
