//! An array of buckets: lookups, insertions and removals across overflow chains. Inline storage and
//! the index of the other storages use it.
//!
//! `ALONE` means that during the call other threads only insert entries and write single words of
//! values. A lookup then repeats no read. Insertions and removals always lock buckets. A wrong
//! `ALONE` may make a lookup miss an entry or read half a change, but it is no data race, because
//! all accesses are atomic.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::line::{Header, Held, Line, slots};
use crate::quiescence::relax;
use crate::region::{LINE, Pages, Region};

/// A hash table that consists of an array of buckets, whose length is a power of two.
pub(crate) struct Buckets<const K: usize, const V: usize> {
    region: Region,
    mask: usize,
    capacity: usize,
    len: AtomicUsize,
    overflow: Mutex<()>,
}

/// An entry that was found, with its action, value and position as they were at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<const V: usize> {
    pub(crate) action: u16,
    pub(crate) value: [u8; V],
    pub(crate) position: u32,
    bucket: usize,
    slot: usize,
    header: Header,
}

impl<const V: usize> Found<V> {
    #[inline(always)]
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    #[inline(always)]
    pub(super) fn header(&self) -> Header {
        self.header
    }
}

/// The reason why an entry was not inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// An entry with this key exists.
    Exists,
    /// The table has reached the number of entries for which it was made, the entry's number is out
    /// of range, or memory does not suffice.
    Full,
}

/// An entry that was removed from the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Removed<const V: usize> {
    pub(crate) value: [u8; V],
}

/// Returns the number of buckets for `capacity` entries. It is a power of two, chosen so that
/// entries take at most 70 % of the slots, or 60 % if a bucket has one or two slots.
pub(crate) fn buckets_for(capacity: usize, slots: usize) -> Option<usize> {
    let percent = if slots > 2 { 70 } else { 60 };
    let needed = (capacity as u128 * 100).div_ceil(slots as u128 * percent);
    usize::try_from(needed).ok()?.checked_next_power_of_two()
}

/// Returns the number of low bits of an entry number that select a slot, for buckets with `slots`
/// slots.
pub(crate) const fn number_bits(slots: usize) -> u32 {
    slots.ilog2()
}

#[inline(always)]
fn number<const K: usize>(key: &[u8; K]) -> u32 {
    key.first_chunk().map_or(0, |number| u32::from_le_bytes(*number))
}

/// Returns the bucket of an entry number, for use in place of a hash. The key is the number in four
/// bytes, least significant byte first.
#[inline(always)]
pub(crate) fn numbered_hash<const K: usize>(key: &[u8; K], slots: usize) -> u64 {
    u64::from(number(key) >> number_bits(slots))
}

impl<const K: usize, const V: usize> Buckets<K, V> {
    pub(crate) const SLOTS: usize = slots(K, V);

    /// Allocates buckets for `capacity` entries. Returns `None` if memory does not suffice.
    pub(crate) fn new(capacity: usize) -> Option<Self> {
        let buckets = buckets_for(capacity, Self::SLOTS)?;
        let region = Region::new(buckets.checked_mul(LINE)?)?;
        Some(Self {
            region,
            mask: buckets - 1,
            capacity,
            len: AtomicUsize::new(0),
            overflow: Mutex::new(()),
        })
    }

    /// Allocates buckets for entries with the numbers from 1 to `capacity`. Returns `None` if
    /// memory does not suffice. Each number has a slot of its own, so buckets may be full and no
    /// keys need to be compared. For these buckets, callers must pass the result of
    /// [`numbered_hash`] as `hash`, and must add entries by [`Buckets::insert_numbered`].
    pub(crate) fn numbered(capacity: usize) -> Option<Self> {
        let buckets =
            capacity.div_ceil(1 << number_bits(Self::SLOTS)).checked_next_power_of_two()?;
        let region = Region::new(buckets.checked_mul(LINE)?)?;
        let (len, overflow) = (AtomicUsize::new(0), Mutex::new(()));
        Some(Self { region, mask: buckets - 1, capacity, len, overflow })
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Returns the number of slots of all buckets, whether they are occupied or not.
    pub(crate) fn positions(&self) -> usize {
        (self.mask + 1) * Self::SLOTS
    }

    pub(crate) fn bytes(&self) -> usize {
        self.region.bytes()
    }

    pub(crate) fn pages(&self) -> Pages {
        self.region.pages()
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        hash as usize & self.mask
    }

    /// Returns the bucket with this number, modulo the number of buckets.
    #[inline(always)]
    fn line(&self, bucket: usize) -> Line<'_, K, V> {
        // SAFETY: the region has a line for each bucket, and the masked number is that of a bucket.
        unsafe { Line::new(&self.region, bucket & self.mask) }
    }

    /// Returns the address of the first bucket, and the mask of the bits of a hash that form the
    /// number of the bucket.
    pub(crate) fn first_and_mask(&self) -> (*mut u8, u64) {
        (self.line(0).address(), self.mask as u64)
    }

    #[inline(always)]
    fn position(&self, bucket: usize, slot: usize) -> u32 {
        (bucket * Self::SLOTS + slot) as u32
    }

    /// Returns the entry with this key for whose value `verify` returns true, or `None` if there is
    /// none. Several entries may have equal keys if the keys are tags, so `verify` compares the
    /// full key.
    #[inline(always)]
    pub(crate) fn find<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8; K],
        verify: impl Fn(&[u8; V]) -> bool,
    ) -> Option<Found<V>> {
        let home = self.home(hash);
        let mut bucket = home;
        loop {
            let header = match self.find_in::<ALONE>(bucket, key, &verify) {
                Ok(found) => return Some(found),
                Err(header) => header,
            };
            if !header.overflowed() {
                return None;
            }
            bucket = (bucket + 1) & self.mask;
            if bucket == home {
                return None;
            }
        }
    }

    /// Searches one bucket for a key. If the key is not found, returns the header that the bucket
    /// had during the search.
    #[inline(always)]
    fn find_in<const ALONE: bool>(
        &self,
        bucket: usize,
        key: &[u8; K],
        verify: &impl Fn(&[u8; V]) -> bool,
    ) -> Result<Found<V>, Header> {
        let line = self.line(bucket);
        'again: loop {
            let header = if ALONE { line.peek() } else { line.begin() };
            let mut mask = line.matches(key);
            while mask != 0 {
                let slot = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let action = Line::<'_, K, V>::action(header, slot);
                if action == 0 {
                    continue;
                }
                let value = line.value(slot);
                if !ALONE && !line.is_still(header) {
                    continue 'again;
                }
                if verify(&value) {
                    let position = self.position(bucket, slot);
                    return Ok(Found {
                        action: (action - 1) as u16,
                        value,
                        position,
                        bucket,
                        slot,
                        header,
                    });
                }
            }
            if ALONE || line.is_still(header) {
                return Err(header);
            }
        }
    }

    /// Returns the bucket that holds an entry which was found.
    #[inline(always)]
    pub(super) fn line_of(&self, found: &Found<V>) -> Line<'_, K, V> {
        self.line(found.bucket)
    }

    /// Returns whether the bucket of `found` is unchanged since the entry was found.
    #[inline(always)]
    pub(crate) fn is_current(&self, found: &Found<V>) -> bool {
        self.line(found.bucket).is_still(found.header)
    }

    /// Runs `write` while the bucket of `found` is locked. Returns `None` without running it if the
    /// bucket has changed since the entry was found. Readers of the bucket that overlap with this
    /// call read it again.
    pub(crate) fn hold<R>(&self, found: &Found<V>, write: impl FnOnce() -> R) -> Option<R> {
        let mut held = self.line(found.bucket).try_lock(found.header)?;
        held.change(held.header());
        Some(write())
    }

    /// Changes the entry with this key by `act`, which is called with the action and the value and
    /// returns the new action. Returns whether there is such an entry. No other thread may use the
    /// table.
    #[inline(always)]
    pub(crate) fn update_alone(
        &self,
        hash: u64,
        key: &[u8; K],
        act: impl FnOnce(u16, &mut [u8; V]) -> u16,
    ) -> bool {
        let Some(mut found) = self.find::<true>(hash, key, |_| true) else { return false };
        let line = self.line(found.bucket);
        let action = act(found.action, &mut found.value);
        line.set_value(found.slot, &found.value);
        if action != found.action {
            let action = u64::from(action) + 1;
            line.set_header(Line::<'_, K, V>::with_action(found.header, found.slot, action));
        }
        true
    }

    /// Changes an entry like [`Buckets::update_alone`] while other threads use the table: the
    /// bucket is locked from before the call of `act` until its result is stored.
    #[inline(always)]
    pub(crate) fn update_locked(
        &self,
        hash: u64,
        key: &[u8; K],
        act: impl FnOnce(u16, &mut [u8; V]) -> u16,
    ) -> bool {
        let mut spins = 0;
        loop {
            let Some(mut found) = self.find::<false>(hash, key, |_| true) else { return false };
            let Some(mut held) = self.line(found.bucket).try_lock(found.header) else {
                relax(&mut spins);
                continue;
            };
            let action = act(found.action, &mut found.value);
            Self::overwrite(&mut held, found.slot, action, &found.value);
            return true;
        }
    }

    #[inline(always)]
    fn overwrite(held: &mut Held<'_, K, V>, slot: usize, action: u16, value: &[u8; V]) {
        held.line().set_value(slot, value);
        held.change(Line::<'_, K, V>::with_action(held.header(), slot, u64::from(action) + 1));
    }

    /// Adds an entry, and returns its position. The action must be below
    /// [`max_actions`](super::max_actions).
    pub(crate) fn insert<const ALONE: bool>(
        &self,
        hash: u64,
        key: &[u8; K],
        action: u16,
        value: &[u8; V],
        verify: impl Fn(&[u8; V]) -> bool,
    ) -> Result<u32, Full> {
        let reserve = |len| (len < self.capacity).then_some(len + 1);
        if self.len.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_err() {
            let exists = self.find::<ALONE>(hash, key, verify).is_some();
            return Err(if exists { Full::Exists } else { Full::Full });
        }
        let inserted = self.insert_reserved(hash, key, action, value, &verify);
        if inserted.is_none() {
            self.len.fetch_sub(1, Ordering::Relaxed);
        }
        inserted.ok_or(Full::Exists)
    }

    /// Adds the entry with this number to buckets that were made for numbers. Only one thread at a
    /// time may call this.
    pub(crate) fn insert_numbered(
        &self,
        key: &[u8; K],
        action: u16,
        value: &[u8; V],
    ) -> Result<u32, Full> {
        let number = number(key);
        if !(1..=self.capacity).contains(&(number as usize)) {
            return Err(Full::Full);
        }
        let bucket = self.home(numbered_hash(key, Self::SLOTS));
        let slot = number as usize & ((1 << number_bits(Self::SLOTS)) - 1);
        let mut held = self.line(bucket).lock();
        if Line::<'_, K, V>::action(held.header(), slot) != 0 {
            return Err(Full::Exists);
        }
        Self::put(&mut held, slot, key, action, value);
        self.len.fetch_add(1, Ordering::Relaxed);
        Ok(self.position(bucket, slot))
    }

    /// Adds an entry, for which the caller has already reserved room in the table's count of
    /// entries. Returns `None` if the key exists.
    fn insert_reserved(
        &self,
        hash: u64,
        key: &[u8; K],
        action: u16,
        value: &[u8; V],
        verify: &impl Fn(&[u8; V]) -> bool,
    ) -> Option<u32> {
        let home = self.home(hash);
        {
            let mut held = self.line(home).lock();
            if Self::slot_of(&held, key, verify).is_some() {
                return None;
            }
            if !held.header().overflowed()
                && let Some(slot) = Self::place(&mut held, key, action, value)
            {
                return Some(self.position(home, slot));
            }
        }
        let _alone_in_chains = self.lock_chains();
        // The home bucket is locked until the end, because another insertion of the same key needs
        // the same home.
        let mut home_held = self.line(home).lock();
        if Self::slot_of(&home_held, key, verify).is_some() {
            return None;
        }
        let mut header = home_held.header();
        let mut bucket = (home + 1) & self.mask;
        while header.overflowed() && bucket != home {
            let held = self.line(bucket).lock();
            if Self::slot_of(&held, key, verify).is_some() {
                return None;
            }
            header = held.header();
            bucket = (bucket + 1) & self.mask;
        }
        if let Some(slot) = Self::place(&mut home_held, key, action, value) {
            return Some(self.position(home, slot));
        }
        home_held.change(home_held.header().with_overflow(1));
        // There are more slots than entries, so the loop reaches a bucket with room.
        let mut bucket = home;
        loop {
            bucket = (bucket + 1) & self.mask;
            if bucket == home {
                continue;
            }
            let mut held = self.line(bucket).lock();
            if let Some(slot) = Self::place(&mut held, key, action, value) {
                return Some(self.position(bucket, slot));
            }
            held.change(held.header().with_overflow(1));
        }
    }

    /// Removes the entry with this key, and returns it. Returns `None` if there is no such entry.
    pub(crate) fn remove(
        &self,
        hash: u64,
        key: &[u8; K],
        verify: impl Fn(&[u8; V]) -> bool,
    ) -> Option<Removed<V>> {
        let home = self.home(hash);
        {
            let mut held = self.line(home).lock();
            if let Some(slot) = Self::slot_of(&held, key, &verify) {
                return Some(self.clear(&mut held, slot));
            }
            if !held.header().overflowed() {
                return None;
            }
        }
        let _alone_in_chains = self.lock_chains();
        let mut bucket = home;
        let removed = loop {
            let mut held = self.line(bucket).lock();
            if let Some(slot) = Self::slot_of(&held, key, &verify) {
                break self.clear(&mut held, slot);
            }
            if !held.header().overflowed() {
                return None;
            }
            bucket = (bucket + 1) & self.mask;
            if bucket == home {
                return None;
            }
        };
        let mut passed = home;
        while passed != bucket {
            let mut held = self.line(passed).lock();
            held.change(held.header().with_overflow(-1));
            passed = (passed + 1) & self.mask;
        }
        Some(removed)
    }

    fn lock_chains(&self) -> MutexGuard<'_, ()> {
        // The mutex guards no data, so a panic of its holder leaves nothing inconsistent.
        self.overflow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the slot that holds a key in a bucket that this thread has locked, or `None` if the
    /// key is not in it.
    fn slot_of(
        held: &Held<'_, K, V>,
        key: &[u8; K],
        verify: &impl Fn(&[u8; V]) -> bool,
    ) -> Option<usize> {
        let line = held.line();
        let mask = line.matches(key);
        (0..Self::SLOTS).find(|&slot| {
            mask & (1 << slot) != 0
                && Line::<'_, K, V>::action(held.header(), slot) != 0
                && verify(&line.value(slot))
        })
    }

    /// Adds an entry to a bucket that this thread has locked, and returns its slot. Returns `None`
    /// if the bucket is full.
    fn place(
        held: &mut Held<'_, K, V>,
        key: &[u8; K],
        action: u16,
        value: &[u8; V],
    ) -> Option<usize> {
        let slot =
            (0..Self::SLOTS).find(|&slot| Line::<'_, K, V>::action(held.header(), slot) == 0)?;
        Self::put(held, slot, key, action, value);
        Some(slot)
    }

    fn put(held: &mut Held<'_, K, V>, slot: usize, key: &[u8; K], action: u16, value: &[u8; V]) {
        let line = held.line();
        line.set_key(slot, key);
        line.set_value(slot, value);
        held.change(Line::<'_, K, V>::with_action(held.header(), slot, u64::from(action) + 1));
    }

    fn clear(&self, held: &mut Held<'_, K, V>, slot: usize) -> Removed<V> {
        let value = held.line().value(slot);
        held.change(Line::<'_, K, V>::with_action(held.header(), slot, 0));
        self.len.fetch_sub(1, Ordering::Relaxed);
        Removed { value }
    }

    /// Returns the key, the action and the value of the entry at a position, as they were at one
    /// moment. Returns `None` if the position is empty.
    pub(crate) fn at(&self, position: u32) -> Option<([u8; K], u16, [u8; V])> {
        let bucket = position as usize / Self::SLOTS;
        let slot = position as usize % Self::SLOTS;
        if bucket > self.mask {
            return None;
        }
        let line = self.line(bucket);
        loop {
            let header = line.begin();
            let action = Line::<'_, K, V>::action(header, slot);
            let (key, value) = (line.key(slot), line.value(slot));
            if line.is_still(header) {
                return (action != 0).then(|| (key, (action - 1) as u16, value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts keys that all have one home, so that every entry goes through the overflow chain.
    #[test]
    fn entries_that_share_a_home_are_found_and_removed_through_the_chain() {
        let buckets = Buckets::<4, 4>::new(40).unwrap();
        let any = |_: &[u8; 4]| true;
        for key in 0..40_u32 {
            let bytes = key.to_be_bytes();
            buckets.insert::<false>(3, &bytes, 0, &bytes, any).unwrap();
            assert_eq!(buckets.insert::<false>(3, &bytes, 0, &bytes, any), Err(Full::Exists));
        }
        assert_eq!(
            buckets.insert::<false>(3, &99_u32.to_be_bytes(), 0, &[0; 4], any),
            Err(Full::Full)
        );
        for key in (0..40_u32).rev() {
            let found = buckets.find::<false>(3, &key.to_be_bytes(), any).unwrap();
            assert_eq!(found.value, key.to_be_bytes());
            assert!(buckets.remove(3, &key.to_be_bytes(), any).is_some());
            assert!(buckets.find::<true>(3, &key.to_be_bytes(), any).is_none());
            assert!(buckets.remove(3, &key.to_be_bytes(), any).is_none());
        }
        assert_eq!(buckets.len(), 0);
    }

    #[test]
    fn a_position_leads_back_to_its_entry_until_it_is_removed() {
        let buckets = Buckets::<8, 16>::new(4).unwrap();
        let position = buckets.insert::<true>(1, &[7; 8], 9, &[5; 16], |_| true).unwrap();
        assert_eq!(buckets.at(position), Some(([7; 8], 9, [5; 16])));
        assert!((position as usize) < buckets.positions());
        buckets.remove(1, &[7; 8], |_| true).unwrap();
        assert_eq!(buckets.at(position), None);
        assert_eq!(buckets.at(u32::MAX), None);
    }

    #[test]
    fn each_number_has_a_slot_of_its_own() {
        let buckets = Buckets::<4, 8>::numbered(64).unwrap();
        let hash = |number: u32| numbered_hash(&number.to_le_bytes(), Buckets::<4, 8>::SLOTS);
        let mut places = std::collections::HashSet::new();
        for number in (1..=64_u32).rev() {
            let key = number.to_le_bytes();
            let place = buckets.insert_numbered(&key, 1, &[number as u8; 8]).unwrap();
            assert!(places.insert(place) && (place as usize) < buckets.positions());
            assert_eq!(place % 4, number % 4);
            assert_eq!(buckets.insert_numbered(&key, 1, &[0; 8]), Err(Full::Exists));
        }
        for number in [0, 65, u32::MAX] {
            let key = number.to_le_bytes();
            assert_eq!(buckets.insert_numbered(&key, 1, &[0; 8]), Err(Full::Full), "{number}");
        }
        // Numbers that are inserted again in another order get their own slots again.
        for number in [7, 6, 64, 5] {
            let removed = buckets.remove(hash(number), &number.to_le_bytes(), |_| true).unwrap();
            assert_eq!(removed.value, [number as u8; 8]);
        }
        for number in [5, 6, 7, 64_u32] {
            let key = number.to_le_bytes();
            assert_eq!(buckets.insert_numbered(&key, 0, &[9; 8]).unwrap() % 4, number % 4);
            let found = buckets.find::<false>(hash(number), &key, |_| true).unwrap();
            assert_eq!((found.action, found.value, found.position % 4), (0, [9; 8], number % 4));
        }
        assert_eq!(buckets.len(), 64);
    }

    #[test]
    fn load_stays_below_the_limit_at_every_size() {
        for slots in [1, 2, 3, 4, 7] {
            for capacity in [1, 2, 3, 7, 100, 1 << 16, (1 << 20) + 1] {
                let buckets = buckets_for(capacity, slots).unwrap();
                assert!(buckets.is_power_of_two());
                assert!(capacity * 10 <= buckets * slots * 7);
            }
        }
    }
}
