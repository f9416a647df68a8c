//! The interface of a table for machine code: one [`Access`] for each thread and table. Its
//! functions are specialised for the shape of the key and the storage, and those that machine code
//! calls have the C calling convention.
//!
//! The caller packs a key into two words, receives the address of the entry's parameters and the
//! entry's action, reads and writes the parameters there, and finally calls `leave` if there is
//! one. Whoever makes the [`Access`] chooses how threads share the table ([`Sharing`]):
//! * alone or apart: no lock is taken and no read is repeated.
//! * words: no lock is taken either. Other threads write entries too, but an action writes one
//!   word, by one store.
//! * unlocked: the caller receives a consistent copy, and `leave` writes the whole copy back. If
//!   two threads write one entry at the same time, one of the writes may be lost.
//! * locked: for actions that write, the entry (in inline storage its bucket) is locked until
//!   `leave`.

use std::ffi::c_void;
use std::ptr;

use crate::probe::Probe;
use crate::region::{LINE, Words, prefetch, prefetch_to_write};
use crate::sync::Ordering;

/// A function that finds an entry by its key, whose low word comes first.
pub(crate) type Find = unsafe extern "C" fn(*mut Access, u64, u64) -> Place;
/// A function that must be called after an action that writes its entry. It stores the parameters
/// that the action wrote, releases the lock of the entry, or does both.
pub(crate) type Leave = unsafe extern "C" fn(*mut Access);
/// A function that prefetches the memory to which the parameters of entries point (see
/// [`Access::prefetch_named`]).
pub(crate) type Name = unsafe fn(&Access, KeysOfBurst<'_>, usize, NamedEntries<'_>);
/// A function that writes the hash of each key. If keys are entry numbers, it writes the number of
/// each key's bucket instead.
pub(crate) type Hashes = fn(&[[u64; 2]], &mut [u64]);
/// A function that writes the address and the action of the entry of each key, given the hashes of
/// the keys (see [`Access::locate`]).
pub(crate) type Locate = unsafe fn(&Access, &[[u64; 2]], &[u64], &mut [Place]);
/// A function that prefetches the bucket at an address.
pub(crate) type Prefetch = extern "C" fn(*const u8);

/// Returns whether an action writes its entry. `writing` is a mask with a bit for each of the first
/// 64 actions. Actions with higher numbers never write their entries.
#[inline]
pub(crate) fn does_write(writing: u64, action: u64) -> bool {
    action < u64::from(u64::BITS) && writing >> action & 1 == 1
}

/// The keys of several packets for one table, with the buckets that are known already.
#[derive(Clone, Copy, Debug)]
pub struct KeysOfBurst<'k> {
    /// The keys. Each has two words, the low one first.
    pub keys: &'k [[u64; 2]],
    /// The addresses of the home buckets of the first keys. Those of the other keys are computed.
    pub buckets: &'k [u64],
}

/// The slices that receive the results of [`Access::prefetch_named`], one of each per key.
#[derive(Debug)]
pub struct NamedEntries<'f> {
    /// The address that each entry holds, or zero.
    pub addresses: &'f mut [u64],
    /// The position of each entry, encoded by the constants of [`Probe`] that begin with `FOUND`,
    /// or zero.
    pub found: &'f mut [u32],
}

/// The result of a lookup: the address of the entry's parameters, and its action.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Place {
    /// The address of the action's parameters, or null if the table has no entry with this key. The
    /// size of the parameters was chosen when the table was made.
    pub value: *mut u8,
    /// The action of the entry, or 0 if the table has no entry with this key.
    pub action: u64,
}

/// Returns the address of an empty bucket. Callers use it for a key whose bucket they do not know,
/// where an address must be valid.
#[must_use]
pub fn no_bucket() -> u64 {
    #[repr(align(64))]
    struct Empty([u8; LINE]);
    static EMPTY: Empty = Empty([0; LINE]);
    EMPTY.0.as_ptr().expose_provenance() as u64
}

/// One thread's handle of an [`ExactTable`](crate::ExactTable). Machine code reads its fields and
/// calls its functions.
#[derive(Debug)]
#[repr(C)]
pub struct Access {
    /// The function that finds an entry.
    pub find: Find,
    /// The function that prefetches the bucket at an address.
    pub prefetch: Prefetch,
    /// The function to call after an action that writes its entry. `None` if no call is needed.
    pub leave: Option<Leave>,
    /// The address of the first bucket. [`Probe`] describes the layout of a bucket.
    pub buckets: *mut u8,
    /// A mask that selects the bits of a hash that form the number of the bucket.
    pub mask: u64,
    /// The number of low bits of an entry number that select the slot within a bucket. The bits
    /// above them select the bucket. The field is used only if keys are entry numbers.
    pub(crate) number_bits: u64,
    /// 1 if machine code may find entries in the buckets and write them there without calling
    /// `find`, otherwise 0. It is 1 only if entries are stored in the buckets and no thread writes
    /// more than one word of an entry that other threads use.
    pub in_place: u64,
    /// 1 if no other thread uses the table, otherwise 0.
    pub is_alone: u64,
    /// Whether buckets are prefetched for writing, because other threads write them too.
    pub prefetches_for_writing: bool,
    /// The number of lookups that found an entry.
    pub hits: u64,
    /// The number of lookups that found no entry.
    pub misses: u64,
    pub(crate) name: Name,
    pub(crate) hashes: Hashes,
    pub(crate) locate: Locate,
    /// The size, in bytes, of the parameters at [`Place::value`].
    pub(crate) value_bytes: usize,
    /// The address of the data structure that this access searches: the array of buckets in inline
    /// storage, and the hash index with its records in other storages.
    pub(crate) body: *const c_void,
    /// A mask with a bit for each action that writes its entry.
    pub(crate) writing: u64,
    /// The address of the bucket that stays locked until `leave`, or null if nothing is locked. If
    /// a lock in an entry is held instead, the value is not null but has no meaning.
    pub(crate) line: *mut c_void,
    /// The key of the entry that was found last. It is set only if `leave` must look the entry up
    /// again.
    pub(crate) key: [u64; 2],
    /// A copy of the parameters of the entry that was found last. If actions may not use entries in
    /// place, they read and write this copy.
    pub(crate) value: [u64; 4],
    /// The record number (low 32 bits) and the action (high 32 bits) of the entry that was found
    /// last. They are set only in storages in which a hash leads to entries through an index, so
    /// that `leave` can write the entry without another lookup.
    pub(crate) entry: u64,
}

// SAFETY: the pointers lead to a table that threads may share and to a line of the table that this
// access has locked; the user of an access keeps the table alive.
unsafe impl Send for Access {}
// SAFETY: every field that changes is changed through `&mut` only, and the memory behind the
// pointers is reached only by the access's functions.
unsafe impl Sync for Access {}

/// The protocol by which several threads use one table at the same time without disturbing each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Only one thread uses the table.
    Alone,
    /// Several threads use the table, and none writes an entry that another thread uses.
    Apart,
    /// Several threads use the table. An action writes at most one number of 1, 2, 4 or 8 bytes in
    /// its entry. The action loads and stores the number in place, each with one instruction. If
    /// two actions write one entry at the same time, one of the writes may be lost. Entries that
    /// are not stored in a bucket are used as with [`Sharing::Unlocked`].
    Words,
    /// Entries are read and written whole. If two actions write one entry at the same time, one of
    /// the writes may be lost.
    Unlocked,
    /// An action that writes its entry holds a lock on the entry. Entries that have no lock are
    /// used as with [`Sharing::Unlocked`].
    Locked,
}

impl Access {
    /// Releases the lock on an entry whose action did not run to its end, for example because it
    /// panicked.
    pub fn abandon(&mut self) {
        if let Some(leave) = self.leave.filter(|_| !self.line.is_null()) {
            // SAFETY: `line` is non-null only while its table is in use, and the caller of `find`
            // guarantees that this table is alive until `leave`.
            unsafe { leave(self) };
        }
    }

    /// Prefetches the buckets of entries, given by their numbers
    /// ([`ExactTable::numbered`](crate::ExactTable::numbered)). Does nothing if the table may not
    /// be accessed without `find`.
    #[inline]
    pub fn prefetch_numbered(&self, numbers: &[u32]) {
        if self.in_place == 1 {
            self.prefetch_lines(numbers.iter().map(|number| self.bucket_of(*number).cast_const()));
        }
    }

    #[inline(always)]
    fn bucket_of(&self, number: u32) -> *mut u8 {
        let bucket = u64::from(number) >> self.number_bits & self.mask;
        self.buckets.wrapping_add(bucket as usize * LINE)
    }

    /// Returns this access with a change: it prefetches buckets for writing from now on. This saves
    /// time if several threads write the table and most packets write the entry that they find,
    /// because a cache line that was prefetched for reading would have to be requested from the
    /// other cores a second time for the write.
    #[must_use]
    pub fn for_writers(mut self) -> Self {
        self.prefetches_for_writing = true;
        self.prefetch = fetch_to_write;
        self
    }

    /// Prefetches buckets of this table, given by their addresses. Does not read the memory there.
    #[inline]
    pub fn prefetch_buckets(&self, addresses: impl Iterator<Item = u64>) {
        self.prefetch_lines(addresses.map(|address| address as usize as *const u8));
    }

    /// Writes the hash of each key to `hashes`, and prefetches the buckets of the keys.
    #[inline]
    pub(crate) fn prefetch_all(&self, keys: &[[u64; 2]], hashes: &mut [u64]) {
        (self.hashes)(keys, hashes);
        let bucket = |hash: &u64| self.buckets.wrapping_add((hash & self.mask) as usize * LINE);
        self.prefetch_lines(hashes.iter().map(|hash| bucket(hash).cast_const()));
    }

    /// Writes to `places` the address and the action of the entry of each key, or a null address if
    /// the key has no entry. The hashes must be those of [`Access::prefetch_all`].
    ///
    /// # Safety
    /// The table must be alive and unchanged since this access was made, and `in_place` must be 1.
    #[inline]
    pub(crate) unsafe fn locate(&self, keys: &[[u64; 2]], hashes: &[u64], places: &mut [Place]) {
        // SAFETY: the caller guarantees that the table is alive and may be accessed in place, and
        // the function was chosen for this table's shape.
        unsafe { (self.locate)(self, keys, hashes, places) }
    }

    #[inline(always)]
    fn prefetch_lines(&self, lines: impl Iterator<Item = *const u8>) {
        if self.prefetches_for_writing {
            lines.for_each(prefetch_to_write);
        } else {
            lines.for_each(prefetch);
        }
    }

    /// Prefetches, for each of these buckets that has overflowed, the bucket after it. An entry
    /// whose bucket was full when it was inserted lies in a later bucket. If a bucket has room for
    /// two or three entries, this applies to about a tenth of the entries.
    ///
    /// # Safety
    /// Each address must be that of a bucket of a table that is alive and may be accessed without
    /// `find`, or [`no_bucket`].
    #[inline]
    pub unsafe fn prefetch_overflow_buckets(addresses: &[u64]) {
        for address in addresses {
            let bucket = ptr::with_exposed_provenance_mut::<u8>(*address as usize);
            // SAFETY: the caller guarantees that the address is that of a bucket of a table that is
            // alive.
            let header = unsafe { Words::at(bucket) }.word64(0).load(Ordering::Relaxed);
            let is_full = header & Probe::OVERFLOW != 0;
            // The address after the last bucket is invalid, but a prefetch of it has no effect.
            prefetch(bucket.wrapping_add(LINE * usize::from(is_full)));
        }
    }

    /// Prefetches the memory to which the entries of `keys` point, in a table whose entries hold
    /// addresses.
    ///
    /// `place` is the offset of the address in an entry's value, in bytes, and must be a multiple
    /// of 8. For each key, the address is written to `named.addresses`, and the cache line at the
    /// address is prefetched. Zero is written instead if the key has no entry, if its entry is
    /// neither in its home bucket nor in the next one, or if entries may not be accessed without
    /// `find`.
    ///
    /// `named.found` receives the position of each key's entry. It receives zero if no address was
    /// written, if keys are entry numbers, or if the home bucket is the last of the table and the
    /// entry overflowed into the first.
    ///
    /// # Safety
    /// The table must be alive, and no entry may have been inserted or removed since this access
    /// was made. Each address must be that of one of the table's buckets, or [`no_bucket`].
    #[inline]
    pub unsafe fn prefetch_named(
        &self,
        keys: KeysOfBurst<'_>,
        place: usize,
        named: NamedEntries<'_>,
    ) {
        // SAFETY: the caller guarantees that the table is alive and unchanged and that the
        // addresses are of its buckets; the function was chosen for this table's shape.
        unsafe { (self.name)(self, keys, place, named) }
    }

    /// Counts a hit on an entry and returns where it is. The caller may use the entry's value
    /// there.
    #[inline(always)]
    pub(crate) fn found(&mut self, value: *mut u8, action: u16) -> Place {
        self.hits += 1;
        Place { value, action: u64::from(action) }
    }

    /// Counts a hit on an entry, and copies the entry's value into the access, where the action
    /// uses it.
    ///
    /// The address of the copy is derived from the pointer `access` and not from a reference, whose
    /// provenance would end with this function.
    ///
    /// # Safety
    /// `access` must be valid, and no reference to it may be used after this call.
    #[inline(always)]
    pub(crate) unsafe fn found_copy<const V: usize>(
        access: *mut Self,
        value: &[u8; V],
        action: u16,
    ) -> Place {
        const { assert!(V <= size_of::<[u64; 4]>()) };
        // SAFETY: the caller guarantees that `access` is valid; no other code uses an access during
        // a call of one of its functions.
        let bytes = unsafe {
            (*access).hits += 1;
            (&raw mut (*access).value).cast::<u8>()
        };
        // SAFETY: `V` is at most the size of the access's `value`, and the source lies outside the
        // access.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), bytes, V) };
        Place { value: bytes, action: u64::from(action) }
    }

    #[inline(always)]
    pub(crate) fn missed(&mut self) -> Place {
        self.misses += 1;
        Place { value: ptr::null_mut(), action: 0 }
    }
}

/// Returns the first `K` bytes of a key of two words, least significant byte first.
#[inline(always)]
pub(crate) fn key<const K: usize>(low: u64, high: u64) -> [u8; K] {
    let mut key = [0; K];
    let words = [low.to_le_bytes(), high.to_le_bytes()];
    key.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
    key
}

/// Prefetches a bucket.
pub(crate) extern "C" fn fetch(bucket: *const u8) {
    prefetch(bucket);
}

/// Prefetches a bucket for writing.
pub(crate) extern "C" fn fetch_to_write(bucket: *const u8) {
    prefetch_to_write(bucket);
}

/// Implements [`Access::locate`] for accesses whose callers may not use entries in place: writes a
/// null address for each key.
pub(crate) unsafe fn no_places(_: &Access, _: &[[u64; 2]], _: &[u64], places: &mut [Place]) {
    places.fill(Place { value: ptr::null_mut(), action: 0 });
}

/// Implements [`Access::prefetch_named`] for accesses whose callers may not use entries in place:
/// writes zeros and prefetches nothing.
pub(crate) unsafe fn no_names(_: &Access, _: KeysOfBurst<'_>, _: usize, named: NamedEntries<'_>) {
    named.addresses.fill(0);
    named.found.fill(0);
}
