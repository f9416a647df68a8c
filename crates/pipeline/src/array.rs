//! Arrays of counters, meters and registers that several packets use at once.
//!
//! Cells lie in pages that are made when one of their cells is first written, so that an array of 2^32
//! cells takes what is used of it, and each page has a lock of its own: packets wait for each other only
//! where they use neighbours, and only for the time of one operation on one cell.

use crate::sync::{lock, read, write};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock};

/// Cells of a page.
const PAGE: u64 = 32;

/// Cells by number; those that nobody wrote hold nothing.
#[derive(Debug)]
pub(crate) struct Array<T> {
    pages: RwLock<BTreeMap<u64, Arc<Page<T>>>>,
}

type Page<T> = Mutex<[Option<T>; PAGE as usize]>;

impl<T> Default for Array<T> {
    fn default() -> Self {
        Self { pages: RwLock::default() }
    }
}

impl<T: Clone> Array<T> {
    /// What a cell holds.
    pub(crate) fn get(&self, index: u64) -> Option<T> {
        let page = read(&self.pages).get(&(index / PAGE)).cloned()?;
        let cells = lock(&page);
        cells.get((index % PAGE) as usize).cloned().flatten()
    }

    /// Sets a cell; returns what it held.
    pub(crate) fn set(&self, index: u64, value: Option<T>) -> Option<T> {
        self.update(index, |cell| std::mem::replace(cell, value))
    }

    /// Changes a cell while nobody else sees it.
    pub(crate) fn update<R>(&self, index: u64, change: impl FnOnce(&mut Option<T>) -> R) -> R {
        let page = self.page(index / PAGE);
        let mut cells = lock(&page);
        match cells.get_mut((index % PAGE) as usize) {
            Some(cell) => change(cell),
            None => change(&mut None),
        }
    }

    /// Changes a cell that was written before.
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

    /// Cells that were written, from a number on, at most a page of them at once.
    pub(crate) fn written_from(&self, from: u64) -> Vec<(u64, T)> {
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

    /// Replaces all cells; returns those of before.
    pub(crate) fn replace(&self, cells: impl Iterator<Item = (u64, T)>) -> Self {
        let replacement = Self::default();
        for (index, value) in cells {
            replacement.set(index, Some(value));
        }
        self.swap(replacement)
    }

    /// Takes the cells of another array; returns its own.
    pub(crate) fn swap(&self, other: Self) -> Self {
        let pages = other.pages.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Self { pages: RwLock::new(std::mem::replace(&mut *write(&self.pages), pages)) }
    }

    pub(crate) fn clear(&self) {
        write(&self.pages).clear();
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
