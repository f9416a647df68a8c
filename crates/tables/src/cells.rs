//! Arrays of numbers that packets read, write and add to by an index: the registers and counters of
//! a program.
//!
//! The cells are contiguous, so machine code computes the address of each. A page of memory is
//! allocated when a cell of the page is first accessed. Each operation on one cell is atomic. A
//! sequence of operations is not.

use std::fmt;
use std::sync::atomic::Ordering;

use crate::region::Region;

/// An array of numbers, all zero at first, that packets read, write and add to.
pub struct Cells {
    region: Region,
    width: CellWidth,
    count: usize,
}

/// The width of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellWidth {
    /// Four bytes, for numbers of up to 32 bits.
    Four,
    /// Eight bytes, for numbers of up to 64 bits.
    Eight,
}

impl CellWidth {
    /// Returns the width in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

impl Cells {
    /// Allocates `count` cells. Returns `None` if the system has no more memory.
    #[must_use]
    pub fn new(count: usize, width: CellWidth) -> Option<Self> {
        let region = Region::new(count.checked_mul(width.bytes())?)?;
        Some(Self { region, width, count })
    }

    /// Returns the number of cells.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the value of a cell, or zero beyond the end.
    #[must_use]
    pub fn load(&self, index: usize) -> u64 {
        if index >= self.count {
            return 0;
        }
        match self.width {
            CellWidth::Four => self.region.word32(4 * index).load(Ordering::Relaxed).into(),
            CellWidth::Eight => self.region.word(8 * index).load(Ordering::Relaxed),
        }
    }

    /// Sets a cell to the low bits of `value` that fit. Does nothing beyond the end.
    pub fn store(&self, index: usize, value: u64) {
        if index >= self.count {
            return;
        }
        match self.width {
            CellWidth::Four => self.region.word32(4 * index).store(value as u32, Ordering::Relaxed),
            CellWidth::Eight => self.region.word(8 * index).store(value, Ordering::Relaxed),
        }
    }

    /// Adds to a cell atomically, so that no thread's addition is lost. The sum wraps around at the
    /// width of the cell. Does nothing beyond the end.
    pub fn add(&self, index: usize, by: u64) {
        if index >= self.count {
            return;
        }
        match self.width {
            CellWidth::Four => {
                self.region.word32(4 * index).fetch_add(by as u32, Ordering::Relaxed);
            }
            CellWidth::Eight => {
                self.region.word(8 * index).fetch_add(by, Ordering::Relaxed);
            }
        }
    }

    /// Returns the address of the first cell, for machine code, which must access the cells only as
    /// the methods of this type do.
    #[must_use]
    pub fn address(&self) -> *const u8 {
        self.region.at(0)
    }
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, count, .. } = self;
        f.debug_struct("Cells").field("width", width).field("count", count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_independent_and_additions_wrap_around() {
        for (width, most) in [(CellWidth::Four, u64::from(u32::MAX)), (CellWidth::Eight, u64::MAX)]
        {
            let cells = Cells::new(5, width).expect("memory");
            for index in 0..5 {
                cells.store(index, most - index as u64);
            }
            cells.add(1, 3);
            cells.store(5, 1);
            let found: Vec<u64> = (0..6).map(|index| cells.load(index)).collect();
            assert_eq!(found, [most, 1, most - 2, most - 3, most - 4, 0], "{width:?}");
        }
    }

    #[test]
    fn no_addition_is_lost() {
        let cells = Cells::new(3, CellWidth::Four).expect("memory");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..300).for_each(|step| cells.add(step % 3, 2)));
            }
        });
        assert_eq!([0, 1, 2].map(|index| cells.load(index)), [800; 3]);
    }
}
