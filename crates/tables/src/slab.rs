//! An allocator of many values of one type, which never move. Once there are thousands of values,
//! they lie on huge pages.
//!
//! The control plane keeps here the data of an entry that packets write besides the entry itself:
//! its counters, and the time when it was last used. If that data lay among everything else the
//! control plane knows about entries, on pages of 4 KiB, each packet would miss the cache and the
//! translation buffer.
//!
//! A new value is placed in the region with the lowest address that has room. The memory of a
//! region is freed when its last value goes, unless the region is the only one with room for the
//! next value. When the last value of the slab goes, all memory is freed.

use std::alloc::{Layout, handle_alloc_error};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use crate::region::{LINE, Region};
use crate::sync::lock;

/// The number of bytes of the first region. Each further region is twice as large as the one
/// before, up to [`MAX`].
const FIRST: usize = 4096;
const MAX: usize = 2 << 20;

/// An allocator of values of one type, each with a fixed address.
pub struct Slab<T> {
    places: Mutex<Places>,
    values: PhantomData<T>,
}

#[derive(Default)]
struct Places {
    /// The regions by their start addresses.
    regions: BTreeMap<usize, Part>,
    /// The start addresses of the regions with a free slot.
    with_room: BTreeSet<usize>,
    /// The number of bytes of the largest region. The next region has twice this size, at most
    /// [`MAX`].
    last: usize,
    /// The number of values in all regions.
    values: usize,
}

/// A region, and the state of its slots, each of which can hold one value.
struct Part {
    region: Region,
    /// The number of values in the region.
    values: usize,
    /// The number of slots that have ever held a value. They are the first slots of the region.
    taken: usize,
    /// The numbers of the slots that held a value and are free again.
    free: Vec<u32>,
}

/// An owned value in a [`Slab`]. Dropping it drops the value and frees its slot.
pub struct Kept<T> {
    slab: Arc<Slab<T>>,
    place: NonNull<T>,
}

// SAFETY: a `Kept` owns its value, as a `Box` does.
unsafe impl<T: Send> Send for Kept<T> {}
// SAFETY: a shared `Kept` hands out only shared references to its value.
unsafe impl<T: Sync> Sync for Kept<T> {}

impl<T> Slab<T> {
    /// The distances in bytes between the starts of neighbouring values.
    const STRIDE: Stride = {
        assert!(align_of::<T>() <= LINE && size_of::<T>() > 0 && size_of::<T>() <= FIRST);
        let apart = size_of::<T>().next_multiple_of(LINE);
        let dense = if size_of::<T>() < LINE { size_of::<T>().next_power_of_two() } else { apart };
        Stride { apart, dense }
    };

    /// Returns a slab without values or memory.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let places = Places::default();
        Arc::new(Self { places: Mutex::new(places), values: PhantomData })
    }

    /// Moves a value into the slab. Aborts the program if memory does not suffice, as `Box::new`
    /// does.
    #[must_use]
    pub fn keep(self: &Arc<Self>, value: T) -> Kept<T> {
        let place = lock(&self.places).place(Self::STRIDE);
        let place = place.unwrap_or_else(|| handle_alloc_error(Layout::new::<T>())).cast::<T>();
        // SAFETY: the place is in a region of this slab, at an offset that is a multiple of the
        // stride and so aligned for `T`, with room for one value, and no other value has it.
        unsafe { place.write(value) };
        Kept { slab: Arc::clone(self), place }
    }

    /// Returns the number of bytes of all regions.
    #[must_use]
    pub fn bytes(&self) -> usize {
        lock(&self.places).regions.values().map(|part| part.region.bytes()).sum()
    }
}

/// The distance in bytes from one value to the next: `apart` in small regions, `dense` in large
/// ones. In small regions, each value has cache lines of its own, since threads that write
/// neighbouring values would wait for each other. With many thousands of values such conflicts are
/// rare, and the values lie close together so that more of them stay in the cache. A value never
/// touches more lines than its size requires.
#[derive(Clone, Copy)]
struct Stride {
    apart: usize,
    dense: usize,
}

impl Stride {
    fn in_region(self, bytes: usize) -> usize {
        if bytes < MAX { self.apart } else { self.dense }
    }
}

impl Part {
    /// Returns the number of values that fit in the region.
    fn room(&self, stride: Stride) -> usize {
        self.region.bytes() / stride.in_region(self.region.bytes())
    }
}

impl Places {
    /// Occupies a free slot for a value and returns its address. Returns `None` if memory does not
    /// suffice.
    fn place(&mut self, stride: Stride) -> Option<NonNull<u8>> {
        let start = match self.with_room.first() {
            Some(start) => *start,
            None => self.add_region()?,
        };
        let part = self.regions.get_mut(&start)?;
        let number = part.free.pop().unwrap_or(part.taken as u32);
        part.taken = part.taken.max(number as usize + 1);
        part.values += 1;
        self.values += 1;
        if part.values == part.room(stride) {
            self.with_room.remove(&start);
        }
        let apart = stride.in_region(part.region.bytes());
        NonNull::new(part.region.at(number as usize * apart))
    }

    fn add_region(&mut self) -> Option<usize> {
        let region = Region::new((2 * self.last).clamp(FIRST, MAX))?;
        self.last = region.bytes();
        let start = region.at(0).addr();
        self.regions.insert(start, Part { region, values: 0, taken: 0, free: Vec::new() });
        self.with_room.insert(start);
        Some(start)
    }

    /// Frees the slot of a value. If this leaves its region without values, the region's memory is
    /// freed too, unless the next value would need the region. If it leaves the slab without
    /// values, all memory is freed.
    fn vacate(&mut self, place: NonNull<u8>, stride: Stride) {
        self.values -= 1;
        if self.values == 0 {
            *self = Self::default();
            return;
        }
        let address = place.addr().get();
        let Some((&start, part)) = self.regions.range_mut(..=address).next_back() else { return };
        part.values -= 1;
        let apart = stride.in_region(part.region.bytes());
        part.free.push(((address - start) / apart) as u32);
        if part.values == 0 && self.with_room.iter().any(|other| *other != start) {
            self.regions.remove(&start);
            self.with_room.remove(&start);
            self.last = self.regions.values().map(|part| part.region.bytes()).max().unwrap_or(0);
        } else {
            self.with_room.insert(start);
        }
    }
}

impl<T> Kept<T> {
    /// Returns the slab that holds the value.
    #[must_use]
    pub fn slab(&self) -> &Arc<Slab<T>> {
        &self.slab
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value was written to the place by `keep`, and stays there until this is
        // dropped.
        unsafe { self.place.as_ref() }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: the value is in its place, and no reference to it is left, since `drop` borrows
        // this mutably.
        unsafe { self.place.drop_in_place() };
        lock(&self.slab.places).vacate(self.place.cast(), Slab::<T>::STRIDE);
    }
}

impl<T> fmt::Debug for Slab<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slab").finish_non_exhaustive()
    }
}

impl<T: fmt::Debug> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn values_do_not_move_and_free_their_places() {
        let slab = Slab::new();
        let count = if cfg!(miri) { 200 } else { 100_000 };
        let kept: Vec<Kept<[usize; 9]>> = (0..count).map(|number| slab.keep([number; 9])).collect();
        let mut places: Vec<usize> = kept.iter().map(|kept| kept.as_ptr().addr()).collect();
        assert!(kept.iter().enumerate().all(|(number, kept)| **kept == [number; 9]));
        assert!(places.iter().all(|place| place % LINE == 0));
        places.sort_unstable();
        assert!(places.is_sorted_by(|one, next| next - one >= size_of::<[usize; 9]>()));
        let bytes = slab.bytes();
        drop(kept);
        assert_eq!(slab.bytes(), 0, "no value is there");
        let again: Vec<_> = (0..count).map(|number| slab.keep([number; 9])).collect();
        assert!(slab.bytes() == bytes && again.len() == count);
    }

    /// Allocates and frees values. No two of them may share a slot, and the memory of a region must
    /// be freed with its last value.
    #[test]
    fn memory_of_dropped_values_is_reused_or_freed() {
        let slab = Slab::new();
        let most = if cfg!(miri) { 100 } else { 240_000 };
        let seed = 0x5ab_u64;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut kept: Vec<(u64, Kept<[u64; 9]>)> = Vec::new();
        let mut number = 0_u64;
        let mut largest = 0;
        for round in 0..4 {
            while kept.len() < most {
                number += 1;
                kept.push((number, slab.keep([number; 9])));
                if random.u32(..3) == 0 {
                    kept.swap_remove(random.usize(..kept.len()));
                }
            }
            let right = kept.iter().all(|(number, value)| **value == [*number; 9]);
            assert!(right, "seed {seed:#x}, round {round}");
            let bytes = slab.bytes();
            largest = bytes.max(largest);
            // Freed places are reused, so the memory does not grow.
            assert!(round == 0 || bytes <= largest + MAX, "{bytes} of {largest}");
            kept.sort_by_key(|(_, value)| value.as_ptr());
            kept.truncate(most / 20);
            if !cfg!(miri) {
                assert!(slab.bytes() < bytes / 4, "{} of {bytes}", slab.bytes());
            }
        }
    }

    #[test]
    fn small_values_have_lines_of_their_own_until_there_are_many() {
        let slab = Slab::new();
        let count = if cfg!(miri) { 100 } else { 2 * MAX / LINE };
        let kept: Vec<Kept<[u64; 3]>> =
            (0..count as u64).map(|number| slab.keep([number; 3])).collect();
        let lines: std::collections::BTreeSet<usize> =
            kept.iter().map(|kept| kept.as_ptr().addr() / LINE).collect();
        assert!(kept.iter().zip(0..).all(|(kept, number)| **kept == [number; 3]));
        let first = &kept[..FIRST / LINE];
        assert!(first.iter().all(|kept| kept.as_ptr().addr() % LINE == 0));
        if !cfg!(miri) {
            // The values in the small regions have lines of their own. Two of the others share a
            // line.
            let alone = (MAX - FIRST) / LINE;
            assert_eq!(lines.len(), alone + (count - alone).div_ceil(2));
        }
    }

    #[test]
    fn a_value_is_dropped_once() {
        struct Counts<'c>(&'c AtomicUsize);
        impl Drop for Counts<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let dropped = AtomicUsize::new(0);
        let slab = Slab::new();
        let one = Some(slab.keep(Counts(&dropped)));
        let other = Some(slab.keep(Counts(&dropped)));
        drop(one);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        // The memory remains allocated as long as a value is in it.
        drop(slab);
        assert!(other.is_some_and(|other| other.0.load(Ordering::Relaxed) == 1));
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
    }
}
