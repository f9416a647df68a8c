//! A thread's way into a table for machine code: functions of the C calling convention, one set for each shape and storage.
//!
//! The caller packs a key into two words, gets the address of the entry's parameters and their action, reads and
//! writes them there, and calls `leave` if there is one. The ways, chosen by whoever makes the [`Access`]:
//! * alone, or apart: nothing is locked, nothing is checked twice.
//! * words: as alone, beside others who do the same; what an action writes is one word, stored whole.
//! * shared: the address is of a copy that belongs together; `leave` writes it back whole. Of two threads at once on
//!   one entry, one may be lost.
//! * held: for actions that write, the entry (in inline storage its bucket) is locked until `leave`.

use std::ffi::c_void;
use std::ptr;

use crate::probe::Probe;
use crate::region::{LINE, Words, prefetch, prefetch_to_write};
use crate::sync::Ordering;

/// Finds an entry by its key, the low word first.
pub(crate) type Find = unsafe extern "C" fn(*mut Access, u64, u64) -> Place;
/// Ends the use of the entry that was found last, if its action writes.
pub(crate) type Leave = unsafe extern "C" fn(*mut Access);
/// Asks the cache for what entries name; see [`Access::ask_for_named`].
pub(crate) type Name = unsafe fn(&Access, (&[[u64; 2]], &[u64]), usize, (&mut [u64], &mut [u32]));
/// Writes the hash of each key, or what stands for it where keys are numbers of entries.
pub(crate) type Hashes = fn(&[[u64; 2]], &mut [u64]);
/// Writes the place of the entry of each key, given their hashes; see [`Access::locate`].
pub(crate) type Locate = unsafe fn(&Access, &[[u64; 2]], &[u64], &mut [Place]);
/// Asks the cache for a bucket.
pub(crate) type Prefetch = extern "C" fn(*const u8);

/// What a lookup gives.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Place {
    /// Where the action's parameters are, as many bytes as the table was made for; null if there is no such entry.
    pub value: *mut u8,
    /// The entry's action; 0 if there is no such entry.
    pub action: u64,
}

/// The address of what stands for the bucket of a key that is not known: it has no entry.
#[must_use]
pub fn no_bucket() -> u64 {
    #[repr(align(64))]
    struct Empty([u8; LINE]);
    static EMPTY: Empty = Empty([0; LINE]);
    EMPTY.0.as_ptr().expose_provenance() as u64
}

/// One thread's way into an [`ExactTable`](crate::ExactTable). Machine code calls what it points to.
#[derive(Debug)]
#[repr(C)]
pub struct Access {
    /// Finds an entry.
    pub find: Find,
    /// Asks the cache for the bucket at an address.
    pub prefetch: Prefetch,
    /// To be called after an action that writes its entry; nothing where the caller is alone.
    pub leave: Option<Leave>,
    /// The first bucket; see [`Probe`](crate::Probe).
    pub buckets: *mut u8,
    /// Bits of a hash that name a bucket.
    pub mask: u64,
    /// Of the number of an entry, the lowest bits that do not name a bucket, where entries have numbers.
    pub(crate) number_bits: u64,
    /// 1 if entries are in the table's buckets and may be found and written there without `find`, since nobody else
    /// writes more than a word of them; or 0.
    pub in_place: u64,
    /// 1 if nobody else uses the table, or 0.
    pub is_alone: u64,
    /// Buckets are asked for to be written, as others write them too.
    pub asks_to_write: bool,
    /// Lookups that found an entry.
    pub hits: u64,
    /// Lookups that found none.
    pub misses: u64,
    pub(crate) name: Name,
    pub(crate) hashes: Hashes,
    pub(crate) locate: Locate,
    /// Bytes at [`Place::value`].
    pub(crate) value_bytes: usize,
    pub(crate) body: *const c_void,
    /// A bit for each action that writes its entry.
    pub(crate) writing: u64,
    /// The line that is locked until `leave`; anything but null for an entry that lies elsewhere.
    pub(crate) line: *mut c_void,
    pub(crate) key: [u64; 2],
    pub(crate) value: [u64; 4],
    /// Record and action of the entry that was found, where it lies behind an index.
    pub(crate) entry: u64,
}

// SAFETY: the pointers are to a table that threads may share, and to a line of it which this access holds; whoever
// uses an access keeps the table alive.
unsafe impl Send for Access {}
// SAFETY: all that changes needs `&mut`, and what the pointers are to is reached by the functions alone.
unsafe impl Sync for Access {}

/// How threads that use one table are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// There is one thread.
    Alone,
    /// There are several, and none writes what another uses.
    Apart,
    /// What an action writes of its entry is at most one number of 1, 2, 4 or 8 bytes, which is read and written in its
    /// place by one instruction each; of two actions at once on one entry, one may be lost. Entries that do not lie in
    /// their bucket are used as with [`Sharing::Unlocked`].
    Words,
    /// Entries are read and written whole; of two actions at once on one entry, one may be lost.
    Unlocked,
    /// An action that writes its entry has it alone.
    Locked,
}

impl Access {
    /// Lets go of what an action that did not end holds.
    pub fn abandon(&mut self) {
        if let Some(leave) = self.leave.filter(|_| !self.line.is_null()) {
            // SAFETY: the line is only set while the table that it belongs to is in use, under the contract of `find`.
            unsafe { leave(self) };
        }
    }

    /// Asks the cache for the buckets of entries by their numbers ([`ExactTable::numbered`](crate::ExactTable::numbered)), if
    /// the table may be looked into without `find`.
    #[inline]
    pub fn ask_for_numbers(&self, numbers: &[u32]) {
        if self.in_place == 1 {
            self.ask_for(numbers.iter().map(|number| self.bucket_of(*number).cast_const()));
        }
    }

    #[inline(always)]
    fn bucket_of(&self, number: u32) -> *mut u8 {
        let bucket = u64::from(number) >> self.number_bits & self.mask;
        self.buckets.wrapping_add(bucket as usize * LINE)
    }

    /// The same way into a table of which most packets write the entry that they find. Where other threads do so too, the cache is
    /// asked for a line as one that is written: asked for as one that is read, it would have to be asked of them twice.
    #[must_use]
    pub fn for_writers(mut self) -> Self {
        self.asks_to_write = true;
        self.prefetch = fetch_to_write;
        self
    }

    /// Asks the cache for buckets of this table by their addresses; whatever else is there is not looked at.
    #[inline]
    pub fn ask_for_buckets(&self, addresses: impl Iterator<Item = u64>) {
        self.ask_for(addresses.map(|address| address as usize as *const u8));
    }

    /// Writes the hash of each key to `hashes`, and asks the cache for the keys' buckets.
    #[inline]
    pub(crate) fn prefetch_all(&self, keys: &[[u64; 2]], hashes: &mut [u64]) {
        (self.hashes)(keys, hashes);
        let bucket = |hash: &u64| self.buckets.wrapping_add((hash & self.mask) as usize * LINE);
        self.ask_for(hashes.iter().map(|hash| bucket(hash).cast_const()));
    }

    /// Writes the place of each key's entry in the buckets to `places`. The hashes are those of
    /// [`Access::prefetch_all`].
    ///
    /// # Safety
    /// The table may be looked into without `find`, is alive, and is as it was when the access was made.
    #[inline]
    pub(crate) unsafe fn locate(&self, keys: &[[u64; 2]], hashes: &[u64], places: &mut [Place]) {
        // SAFETY: as promised to this function; the access was made with the function for its table.
        unsafe { (self.locate)(self, keys, hashes, places) }
    }

    #[inline(always)]
    fn ask_for(&self, lines: impl Iterator<Item = *const u8>) {
        if self.asks_to_write {
            lines.for_each(prefetch_to_write);
        } else {
            lines.for_each(prefetch);
        }
    }

    /// Asks the cache for the buckets behind those with these addresses that were full when an entry came which belongs
    /// there: where a line has room for two or three entries, a tenth of them lie further on.
    ///
    /// # Safety
    /// The addresses are of buckets of tables that are alive and may be looked into without `find`, or [`no_bucket`].
    #[inline]
    pub unsafe fn ask_behind_buckets(addresses: &[u64]) {
        for address in addresses {
            let bucket = ptr::with_exposed_provenance_mut::<u8>(*address as usize);
            // SAFETY: as promised to this function.
            let header = unsafe { Words::at(bucket) }.word64(0).load(Ordering::Relaxed);
            let is_full = header & Probe::OVERFLOW != 0;
            // Behind the last bucket is nothing of interest, and asking for it does nothing.
            prefetch(bucket.wrapping_add(LINE * usize::from(is_full)));
        }
    }

    /// Asks the cache for the lines of memory whose addresses are at a `place` in the values of the entries of keys, in bytes and
    /// a multiple of 8, and puts those addresses into `named`, one for each key. For a key without an entry, or whose entry is neither in its bucket nor
    /// in the one behind that, it is zero. `told` has the addresses of the buckets of as many keys as are known. `found` gets for
    /// each key what [`Probe::FOUND`] says of its entry, or zero, as for keys that are numbers of entries.
    ///
    /// # Safety
    /// The table is alive, and as the access was made for it: no entry was put into it or taken out since. The addresses are of
    /// its buckets, or [`no_bucket`].
    #[inline]
    pub unsafe fn ask_for_named(
        &self,
        (keys, told): (&[[u64; 2]], &[u64]),
        place: usize,
        (named, found): (&mut [u64], &mut [u32]),
    ) {
        // SAFETY: as promised to this function; the access was made with the function for its table.
        unsafe { (self.name)(self, (keys, told), place, (named, found)) }
    }

    /// Counts a hit on an entry whose value is not in this access.
    #[inline(always)]
    pub(crate) fn found(&mut self, value: *mut u8, action: u16) -> Place {
        self.hits += 1;
        Place { value, action: u64::from(action) }
    }

    /// Counts a hit on an entry, and keeps a copy of its value in the access for as long as the action uses it.
    ///
    /// The copy's address is derived from `access` itself and not from a reference, which would end with this
    /// function and the address with it.
    ///
    /// # Safety
    /// `access` is valid, and no reference to it is used after this call.
    #[inline(always)]
    pub(crate) unsafe fn found_copy<const V: usize>(
        access: *mut Self,
        value: &[u8; V],
        action: u16,
    ) -> Place {
        const { assert!(V <= size_of::<[u64; 4]>()) };
        // SAFETY: the access is valid, and nobody else uses it during the call of a function of an access.
        let bytes = unsafe {
            (*access).hits += 1;
            (&raw mut (*access).value).cast::<u8>()
        };
        // SAFETY: a value is at most as long as the room for it; the value lies outside of the access.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), bytes, V) };
        Place { value: bytes, action: u64::from(action) }
    }

    #[inline(always)]
    pub(crate) fn missed(&mut self) -> Place {
        self.misses += 1;
        Place { value: ptr::null_mut(), action: 0 }
    }
}

#[inline(always)]
pub(crate) fn key<const K: usize>(low: u64, high: u64) -> [u8; K] {
    let mut key = [0; K];
    let words = [low.to_le_bytes(), high.to_le_bytes()];
    key.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
    key
}

/// Asks the cache for a bucket.
pub(crate) extern "C" fn fetch(bucket: *const u8) {
    prefetch(bucket);
}

/// Asks the cache for a bucket that is written soon.
pub(crate) extern "C" fn fetch_to_write(bucket: *const u8) {
    prefetch_to_write(bucket);
}

/// Entries that are in no bucket have no place in one.
pub(crate) unsafe fn no_places(_: &Access, _: &[[u64; 2]], _: &[u64], places: &mut [Place]) {
    places.fill(Place { value: ptr::null_mut(), action: 0 });
}

/// Of entries that are in no bucket nothing is asked for.
pub(crate) unsafe fn no_names(
    _: &Access,
    _: (&[[u64; 2]], &[u64]),
    _: usize,
    (named, found): (&mut [u64], &mut [u32]),
) {
    named.fill(0);
    found.fill(0);
}
