//! One bucket of a table. This module defines the layout of its parts, and reads and writes them
//! while other threads do so too.

use crate::quiescence::relax;
use crate::region::{LINE, Region, Words};
use crate::sync::{AtomicU64, Ordering, fence};

/// Returns the number of entries in a bucket of one cache line, for keys of `key` bytes and values
/// of `value` bytes.
pub(crate) const fn slots(key: usize, value: usize) -> usize {
    let mut slots = 7;
    while slots > 0 && values_offset(key, value, slots) + slots * value > LINE {
        slots -= 1;
    }
    slots
}

/// Returns the offset of the values in a bucket. The values follow the keys, at the next offset
/// with the alignment of the words in which they are accessed.
pub(crate) const fn values_offset(key: usize, value: usize, slots: usize) -> usize {
    let word = if value == 4 { 4 } else { 8 };
    (HEADER + key * slots).next_multiple_of(word)
}

/// Returns the number of bits in a bucket's header for the action of one slot.
pub(crate) const fn action_bits(slots: usize) -> u32 {
    match slots {
        0 => 0,
        1 => 16,
        _ => 28 / slots as u32,
    }
}

/// Returns the largest number of actions whose numbers fit in the header of a bucket.
pub(crate) const fn max_actions(key: usize, value: usize) -> usize {
    (1 << action_bits(slots(key, value))) - 1
}

const HEADER: usize = 8;
const OVERFLOW_SHIFT: u32 = 32;
const ACTIONS_SHIFT: u32 = 36;
const OVERFLOW_MAX: u64 = 15;

/// The size of a bucket's header and the positions of its fields, for code that reads a bucket
/// without the methods of this module.
pub(crate) struct Fields;

impl Fields {
    pub(crate) const HEADER: usize = HEADER;
    pub(crate) const OVERFLOW: u64 = OVERFLOW_MAX << OVERFLOW_SHIFT;
    pub(crate) const ACTIONS: u32 = ACTIONS_SHIFT;
}

/// The header word of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header(pub(super) u64);

impl Header {
    #[inline(always)]
    pub(super) fn is_locked(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns whether a key that is not found in this bucket may be in a later one, because this
    /// bucket was full when some entry was inserted.
    #[inline(always)]
    pub(super) fn overflowed(self) -> bool {
        (self.0 >> OVERFLOW_SHIFT) & OVERFLOW_MAX != 0
    }

    /// Returns the header with `delta` (1 or -1) added to the overflow count. A count that has
    /// reached its maximum stays there.
    pub(super) fn with_overflow(self, delta: i64) -> Self {
        let count = (self.0 >> OVERFLOW_SHIFT) & OVERFLOW_MAX;
        if count == OVERFLOW_MAX {
            return self;
        }
        let changed = count.saturating_add_signed(delta);
        Self(self.0 & !(OVERFLOW_MAX << OVERFLOW_SHIFT) | changed << OVERFLOW_SHIFT)
    }

    /// Returns the header to store after a change: it is unlocked and has the next even version.
    #[inline(always)]
    fn unlocked_after_change(self) -> Self {
        let version = (self.0 as u32).wrapping_add(1);
        Self(self.0 & !0xffff_ffff | u64::from(version))
    }

    #[inline(always)]
    fn locked(self) -> Self {
        Self(self.0 | 1)
    }

    #[inline(always)]
    fn unlocked_without_change(self) -> Self {
        Self(self.0 & !1)
    }
}

/// A bucket with keys of `K` bytes and values of `V` bytes. Both `K` and `V` are 4 or a multiple of
/// 8.
///
/// The memory of the bucket is a line of a [`Region`]: aligned, initialised, alive during `'a`, and
/// accessed only by atomics.
#[derive(Clone, Copy)]
pub(super) struct Line<'a, const K: usize, const V: usize> {
    words: Words<'a>,
}

impl<'a, const K: usize, const V: usize> Line<'a, K, V> {
    pub(super) const SLOTS: usize = slots(K, V);
    const ACTION_BITS: u32 = action_bits(Self::SLOTS);
    const ACTION_MASK: u64 = (1 << Self::ACTION_BITS) - 1;
    const VALUES: usize = values_offset(K, V, Self::SLOTS);

    /// Returns the bucket at an index of a region.
    ///
    /// # Safety
    /// The region must have more lines than `index`.
    #[inline(always)]
    pub(super) unsafe fn new(region: &'a Region, index: usize) -> Self {
        // SAFETY: the caller guarantees that the region has more lines than `index`.
        Self { words: unsafe { region.line(index) } }
    }

    /// Returns the bucket at an address.
    ///
    /// # Safety
    /// The address must be that of a bucket of this shape, whose region is alive during `'a`.
    #[inline(always)]
    pub(super) unsafe fn at(address: *mut u8) -> Self {
        // SAFETY: the caller guarantees that the region is alive during `'a`.
        Self { words: unsafe { Words::at(address) } }
    }

    #[inline(always)]
    pub(super) fn address(self) -> *mut u8 {
        self.words.address()
    }

    /// Returns the address of the value in a slot, for a caller that has exclusive use of the value
    /// or writes only single words.
    #[inline(always)]
    pub(super) fn value_address(self, slot: usize) -> *mut u8 {
        self.words.address().wrapping_add(Self::VALUES + slot * V)
    }

    #[inline(always)]
    fn header(self) -> &'a AtomicU64 {
        self.words.word64(0)
    }

    /// Returns the current header, which may be locked. Later reads see values that are at least as
    /// new.
    #[inline(always)]
    pub(super) fn peek(self) -> Header {
        Header(self.header().load(Ordering::Acquire))
    }

    /// Waits until no writer holds the bucket, and returns the header. Later reads see values that
    /// are at least as new.
    #[inline(always)]
    pub(super) fn begin(self) -> Header {
        let mut spins = 0;
        loop {
            let header = Header(self.header().load(Ordering::Acquire));
            if !header.is_locked() {
                return header;
            }
            relax(&mut spins);
        }
    }

    /// Returns whether the bucket has not changed since [`Line::begin`] returned `header`, so that
    /// everything read since is consistent.
    #[inline(always)]
    pub(super) fn is_still(self, header: Header) -> bool {
        fence(Ordering::Acquire);
        self.header().load(Ordering::Relaxed) == header.0
    }

    /// Locks the bucket if nothing has changed since `header` was read.
    #[inline(always)]
    pub(super) fn try_lock(self, header: Header) -> Option<Held<'a, K, V>> {
        if header.is_locked() {
            return None;
        }
        let locked = header.locked();
        self.header()
            .compare_exchange(header.0, locked.0, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        // The odd version must be visible before any change made under the lock.
        fence(Ordering::Release);
        Some(Held { line: self, header: locked, changed: false })
    }

    /// Locks the bucket.
    pub(super) fn lock(self) -> Held<'a, K, V> {
        let mut spins = 0;
        loop {
            if let Some(held) = self.try_lock(self.peek()) {
                return held;
            }
            relax(&mut spins);
        }
    }

    /// Returns the action of the entry in a slot plus one, or 0 if the slot is empty.
    #[inline(always)]
    pub(super) fn action(header: Header, slot: usize) -> u64 {
        (header.0 >> (ACTIONS_SHIFT + slot as u32 * Self::ACTION_BITS)) & Self::ACTION_MASK
    }

    #[inline(always)]
    pub(super) fn with_action(header: Header, slot: usize, action: u64) -> Header {
        let shift = ACTIONS_SHIFT + slot as u32 * Self::ACTION_BITS;
        Header(header.0 & !(Self::ACTION_MASK << shift) | action << shift)
    }

    /// Replaces the header of a bucket that no other thread writes.
    #[inline(always)]
    pub(super) fn set_header(self, header: Header) {
        self.header().store(header.0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn load<const B: usize>(self, offset: usize) -> [u8; B] {
        let mut bytes = [0; B];
        if B == 4 {
            bytes.copy_from_slice(&self.words.word32(offset).load(Ordering::Relaxed).to_ne_bytes());
        } else {
            for (index, word) in bytes.chunks_exact_mut(8).enumerate() {
                word.copy_from_slice(
                    &self.words.word64(offset + 8 * index).load(Ordering::Relaxed).to_ne_bytes(),
                );
            }
        }
        bytes
    }

    #[inline(always)]
    fn store<const B: usize>(self, offset: usize, bytes: &[u8; B]) {
        if B == 4 {
            if let Some(word) = bytes.first_chunk::<4>() {
                self.words.word32(offset).store(u32::from_ne_bytes(*word), Ordering::Relaxed);
            }
        } else {
            for (index, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
                self.words
                    .word64(offset + 8 * index)
                    .store(u64::from_ne_bytes(*word), Ordering::Relaxed);
            }
        }
    }

    #[inline(always)]
    pub(super) fn key(self, slot: usize) -> [u8; K] {
        self.load(HEADER + slot * K)
    }

    #[inline(always)]
    pub(super) fn value(self, slot: usize) -> [u8; V] {
        self.load(Self::VALUES + slot * V)
    }

    #[inline(always)]
    pub(super) fn set_key(self, slot: usize, key: &[u8; K]) {
        self.store(HEADER + slot * K, key);
    }

    #[inline(always)]
    pub(super) fn set_value(self, slot: usize, value: &[u8; V]) {
        self.store(Self::VALUES + slot * V, value);
    }

    /// Returns a mask with a bit for each slot whose key bytes equal `key`, whether the slot is
    /// occupied or not.
    #[inline(always)]
    pub(super) fn matches(self, key: &[u8; K]) -> u32 {
        #[cfg(all(target_arch = "x86_64", not(miri), not(loom), not(feature = "portable")))]
        if K == 4
            && Self::SLOTS == 7
            && let Some(bytes) = key.first_chunk::<4>()
        {
            return self.matches_seven(u32::from_ne_bytes(*bytes));
        }
        let mut mask = 0;
        for slot in 0..Self::SLOTS {
            mask |= u32::from(self.key(slot) == *key) << slot;
        }
        mask
    }

    /// Returns a mask with a bit for each occupied slot whose key equals `key`. (An empty slot
    /// still has the key of its last entry, so the key alone does not decide.)
    #[inline(always)]
    pub(super) fn stored(self, header: Header, key: &[u8; K]) -> u32 {
        let taken = |slot| u32::from(Self::action(header, slot) != 0) << slot;
        self.matches(key) & (0..Self::SLOTS).map(taken).sum::<u32>()
    }

    /// Returns the word at offset `place` of a slot's value. The offset is a multiple of 8. For a
    /// slot that does not exist, returns another word of the line.
    #[inline(always)]
    pub(super) fn word_of_value(self, slot: usize, place: usize) -> u64 {
        let word = self.words.word64((Self::VALUES + slot * V + place) % LINE);
        u64::from_ne_bytes(word.load(Ordering::Relaxed).to_ne_bytes())
    }

    /// Returns a mask with a bit for each of seven keys of four bytes that equals `key`, by two
    /// vector comparisons.
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom), not(feature = "portable")))]
    #[inline(always)]
    fn matches_seven(self, key: u32) -> u32 {
        use std::arch::{asm, x86_64::*};
        let (low, high): (__m128i, __m128i);
        // SAFETY: bytes 8 to 40 are inside the line. The instructions load these bytes and access
        // no other memory. They stand for relaxed atomic loads of the eight words: the processor
        // loads each aligned word of a vector as a whole.
        unsafe {
            asm!(
                "movdqu {low}, [{line} + 8]",
                "movdqu {high}, [{line} + 24]",
                line = in(reg) self.words.address(),
                low = out(xmm_reg) low,
                high = out(xmm_reg) high,
                options(pure, readonly, nostack, preserves_flags),
            );
        }
        // SAFETY: every x86-64 processor has SSE2; the operands are values in registers.
        unsafe {
            let wanted = _mm_set1_epi32(key as i32);
            let equal =
                _mm_packs_epi32(_mm_cmpeq_epi32(low, wanted), _mm_cmpeq_epi32(high, wanted));
            // The eighth word is the first value, not a key.
            _mm_movemask_epi8(_mm_packs_epi16(equal, equal)) as u32 & 0x7f
        }
    }
}

/// A bucket that this thread has locked. Dropping it unlocks the bucket and publishes the changes.
pub(super) struct Held<'a, const K: usize, const V: usize> {
    line: Line<'a, K, V>,
    header: Header,
    changed: bool,
}

impl<'a, const K: usize, const V: usize> Held<'a, K, V> {
    /// Recreates the guard of a bucket that this thread has locked and then passed to machine code.
    /// Assumes that the machine code has changed values of the bucket.
    pub(super) fn resume(line: Line<'a, K, V>) -> Self {
        let header = line.peek();
        debug_assert!(header.is_locked());
        Self { line, header, changed: true }
    }

    #[inline(always)]
    pub(super) fn line(&self) -> Line<'a, K, V> {
        self.line
    }

    #[inline(always)]
    pub(super) fn header(&self) -> Header {
        self.header
    }

    /// Replaces the overflow count and the actions in the header, and records that the bucket has
    /// changed.
    #[inline(always)]
    pub(super) fn change(&mut self, header: Header) {
        self.header = header;
        self.changed = true;
    }
}

impl<const K: usize, const V: usize> Drop for Held<'_, K, V> {
    #[inline(always)]
    fn drop(&mut self) {
        let header = if self.changed {
            self.header.unlocked_after_change()
        } else {
            self.header.unlocked_without_change()
        };
        self.line.header().store(header.0, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_has_the_documented_numbers_of_slots_and_actions() {
        assert_eq!((slots(4, 4), max_actions(4, 4)), (7, 15));
        assert_eq!((slots(4, 8), max_actions(4, 8)), (4, 127));
        assert_eq!((slots(8, 8), max_actions(8, 8)), (3, 511));
        assert_eq!((slots(16, 8), max_actions(16, 8)), (2, 16383));
        assert_eq!((slots(16, 32), max_actions(16, 32)), (1, 65535));
        assert_eq!(slots(32, 32), 0);
    }

    #[test]
    fn slots_do_not_touch_each_other() {
        let region = Region::new(LINE).unwrap();
        // SAFETY: the region has one line.
        let line = unsafe { Line::<'_, 4, 4>::new(&region, 0) };
        let mut held = line.lock();
        for slot in 0..7_u32 {
            line.set_key(slot as usize, &(slot + 10).to_be_bytes());
            line.set_value(slot as usize, &(slot + 20).to_be_bytes());
            held.change(Line::<'_, 4, 4>::with_action(
                held.header(),
                slot as usize,
                u64::from(slot) + 1,
            ));
        }
        drop(held);
        let header = line.begin();
        for slot in 0..7_u32 {
            assert_eq!(line.matches(&(slot + 10).to_be_bytes()), 1 << slot);
            assert_eq!(line.value(slot as usize), (slot + 20).to_be_bytes());
            assert_eq!(Line::<'_, 4, 4>::action(header, slot as usize), u64::from(slot) + 1);
        }
        assert_eq!(line.matches(&20_u32.to_be_bytes()), 0, "a value is not a key");
    }

    #[test]
    fn a_change_advances_the_version_and_a_read_does_not() {
        let region = Region::new(LINE).unwrap();
        // SAFETY: the region has one line.
        let line = unsafe { Line::<'_, 8, 8>::new(&region, 0) };
        let before = line.begin();
        drop(line.lock());
        assert!(line.is_still(before));
        let mut held = line.lock();
        assert!(line.peek().is_locked());
        assert!(line.try_lock(line.peek()).is_none());
        held.change(held.header());
        drop(held);
        assert!(!line.is_still(before));
        assert!(!line.peek().is_locked());
    }

    #[test]
    fn the_version_wraps_without_reaching_the_actions() {
        let last = Header(0x0000_0010_ffff_ffff);
        assert_eq!(last.unlocked_after_change(), Header(0x0000_0010_0000_0000));
    }

    #[test]
    fn a_saturated_overflow_count_stays_saturated() {
        let mut header = Header(0);
        for _ in 0..20 {
            header = header.with_overflow(1);
        }
        for _ in 0..20 {
            header = header.with_overflow(-1);
        }
        assert!(header.overflowed());
        assert!(!Header(0).with_overflow(1).with_overflow(-1).overflowed());
    }
}
