//! Arrays of counters, meters and registers that several packets use at the same time.
//!
//! Cells are in pages that are allocated when one of their cells is first written, so that an array
//! of 2^32 cells only takes memory for the cells in use. Each page has its own lock: packets wait
//! for each other only if they use neighbouring cells, and only for one operation on one cell.
//! Arrays of numbers that are not too large are in contiguous memory instead ([`Flat`]).

use crate::sync::{lock, read, write};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock};

/// The number of cells that share a page, and so a lock.
const PAGE: u64 = 32;

/// An array of counters, meters or registers. A cell that was never written holds `None`.
#[derive(Debug)]
pub(crate) struct Array<T> {
    pages: RwLock<BTreeMap<u64, Arc<Page<T>>>>,
    /// The contiguous cells that are used instead of pages if machine code accesses the array.
    flat: Option<Arc<dyn Flat<T>>>,
}

/// An array whose cells are contiguous, so that machine code can access them. A cell that holds its
/// initial value reads as `None`.
pub(crate) trait Flat<T>: std::fmt::Debug + Send + Sync {
    /// Returns the number of cells of the array.
    fn size(&self) -> u64;
    /// Returns the value of a cell, or `None` if it has its initial value.
    fn load(&self, index: u64) -> Option<T>;
    /// Sets a cell to a value. `None` stands for the initial value.
    fn store(&self, index: u64, value: Option<T>);
    /// Returns the address of the first cell, for machine code.
    fn address(&self) -> u64;
}

type Page<T> = Mutex<[Option<T>; PAGE as usize]>;

impl<T> Default for Array<T> {
    fn default() -> Self {
        Self { pages: RwLock::default(), flat: None }
    }
}

impl<T: Clone> Array<T> {
    /// Creates an array whose cells are contiguous.
    pub(crate) fn over(flat: Arc<dyn Flat<T>>) -> Self {
        Self { flat: Some(flat), ..Self::default() }
    }

    /// Returns the address of the first cell if machine code accesses the array, otherwise zero.
    pub(crate) fn address(&self) -> u64 {
        self.flat.as_ref().map_or(0, |flat| flat.address())
    }

    /// Returns the value of a cell, or `None` if it has its initial value.
    pub(crate) fn get(&self, index: u64) -> Option<T> {
        if let Some(flat) = &self.flat {
            return flat.load(index);
        }
        let page = read(&self.pages).get(&(index / PAGE)).cloned()?;
        let cells = lock(&page);
        cells.get((index % PAGE) as usize).cloned().flatten()
    }

    /// Sets a cell to a value, where `None` stands for its initial value. Returns the previous
    /// value.
    pub(crate) fn set(&self, index: u64, value: Option<T>) -> Option<T> {
        self.update(index, |cell| std::mem::replace(cell, value))
    }

    /// Changes a cell under the lock of its page. The contiguous cells of machine code have no
    /// lock, so a concurrent change of such a cell may be lost.
    pub(crate) fn update<R>(&self, index: u64, change: impl FnOnce(&mut Option<T>) -> R) -> R {
        if let Some(flat) = &self.flat {
            let mut cell = flat.load(index);
            let result = change(&mut cell);
            flat.store(index, cell);
            return result;
        }
        let page = self.page(index / PAGE);
        let mut cells = lock(&page);
        match cells.get_mut((index % PAGE) as usize) {
            Some(cell) => change(cell),
            None => change(&mut None),
        }
    }

    /// Changes a cell with the function `change`, if the cell was written before.
    pub(crate) fn update_written<R>(
        &self,
        index: u64,
        change: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let page = read(&self.pages).get(&(index / PAGE)).cloned()?;
        let mut cells = lock(&page);
        cells.get_mut((index % PAGE) as usize)?.as_mut().map(change)
    }

    fn page(&self, number: u64) -> Arc<Page<T>> {
        if let Some(page) = read(&self.pages).get(&number) {
            return Arc::clone(page);
        }
        let empty = || Arc::new(Mutex::new(std::array::from_fn(|_| None)));
        Arc::clone(write(&self.pages).entry(number).or_insert_with(empty))
    }

    /// Returns cells that were written, each with its index. The search begins at index `from`, and
    /// a call returns the cells of at most one page.
    pub(crate) fn written_from(&self, from: u64) -> Vec<(u64, T)> {
        if let Some(flat) = &self.flat {
            let written = (from..flat.size()).filter_map(|index| Some((index, flat.load(index)?)));
            return written.take(PAGE as usize).collect();
        }
        let mut next = from / PAGE;
        loop {
            let found = read(&self.pages)
                .range(next..)
                .next()
                .map(|(number, page)| (*number, Arc::clone(page)));
            let Some((number, page)) = found else { return Vec::new() };
            let cells = lock(&page);
            let numbered = (number * PAGE..).zip(cells.iter());
            let written = numbered.filter(|(index, _)| *index >= from);
            let written: Vec<_> =
                written.filter_map(|(index, cell)| Some((index, cell.clone()?))).collect();
            if !written.is_empty() {
                return written;
            }
            next = number + 1;
        }
    }

    /// Replaces all cells of the array with the given ones. Returns an array with the previous
    /// cells.
    pub(crate) fn replace(&self, cells: impl Iterator<Item = (u64, T)>) -> Self {
        if self.flat.is_some() {
            let before = Self::default();
            for (index, value) in self.all_written() {
                before.set(index, Some(value));
                self.set(index, None);
            }
            for (index, value) in cells {
                self.set(index, Some(value));
            }
            return before;
        }
        let replacement = Self::default();
        for (index, value) in cells {
            replacement.set(index, Some(value));
        }
        self.swap(replacement)
    }

    /// Replaces all cells of the array with those of `other`. Returns an array with the previous
    /// cells.
    pub(crate) fn swap(&self, other: Self) -> Self {
        if self.flat.is_some() {
            return self.replace(other.all_written().into_iter());
        }
        let pages = other.pages.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let pages = std::mem::replace(&mut *write(&self.pages), pages);
        Self { pages: RwLock::new(pages), flat: None }
    }

    pub(crate) fn clear(&self) {
        if let Some(flat) = &self.flat {
            let written = (0..flat.size()).filter(|index| flat.load(*index).is_some());
            written.for_each(|index| flat.store(index, None));
        }
        write(&self.pages).clear();
    }

    fn all_written(&self) -> Vec<(u64, T)> {
        let mut all: Vec<(u64, T)> = Vec::new();
        loop {
            let some = self.written_from(all.last().map_or(0, |(last, _)| last + 1));
            if some.is_empty() {
                return all;
            }
            all.extend(some);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_in_order_wherever_they_lie() {
        let array = Array::default();
        for index in [u64::from(u32::MAX), 0, 33, 31, 32] {
            assert_eq!(array.set(index, Some(index)), None);
        }
        assert_eq!(array.set(33, None), Some(33));
        let mut found = Vec::new();
        let mut from = 0;
        loop {
            let some = array.written_from(from);
            let Some((last, _)) = some.last() else { break };
            from = last + 1;
            found.extend(some);
        }
        let expected = [0, 31, 32, u64::from(u32::MAX)].map(|index| (index, index));
        assert_eq!(found, expected);
        assert_eq!((array.get(31), array.get(33), array.get(1 << 40)), (Some(31), None, None));
    }

    #[test]
    fn no_update_is_lost_between_threads() {
        let array = Array::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for step in 0..10_000_u64 {
                        array.update(step % 40, |cell| *cell.get_or_insert(0) += 1);
                    }
                });
            }
        });
        let sum: u64 = (0..40).filter_map(|index| array.get(index)).sum();
        assert_eq!(sum, 40_000);
    }
}
