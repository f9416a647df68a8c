//! A thread's way into buckets for machine code: functions of the C calling convention, one set for each shape.
//!
//! The caller packs a key into two words, gets the address of the entry's parameters and their action, reads and
//! writes them there, and calls `leave` if there is one. Three ways, chosen by whoever makes the [`Access`]:
//! * alone: the address is in the bucket; nothing is locked, nothing is checked twice.
//! * shared: the address is of a copy that belongs together; `leave` writes it back whole. Of two threads at once on
//!   one entry, one may be lost.
//! * held: for actions that write, the bucket is locked until `leave`.

use std::ffi::c_void;
use std::ptr;

use super::line::{Held, Line};
use super::table::{Buckets, Effect};
use crate::hash;
use crate::quiescence::relax;
use crate::region::prefetch;

/// Finds an entry by its key, the low word first.
type Find = unsafe extern "C" fn(*mut Access, u64, u64) -> Place;
/// Ends the use of the entry that was found last, if its action writes.
type Leave = unsafe extern "C" fn(*mut Access);
/// Asks the cache for a bucket.
type Prefetch = extern "C" fn(*const u8);

/// What a lookup gives.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Place {
    /// Where the action's parameters are, as many bytes as the table was made for; null if there is no such entry.
    pub value: *mut u8,
    /// The entry's action; 0 if there is no such entry.
    pub action: u64,
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
    /// 1 if nobody else uses the table, so that entries may be found without `find`; or 0.
    pub is_alone: u64,
    /// Lookups that found an entry.
    pub hits: u64,
    /// Lookups that found none.
    pub misses: u64,
    body: *const c_void,
    /// A bit for each action that writes its entry.
    writing: u64,
    /// The line that is locked until `leave`.
    line: *mut c_void,
    key: [u64; 2],
    value: [u64; 4],
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
    /// Entries are read and written whole; of two actions at once on one entry, one may be lost.
    Unlocked,
    /// An action that writes its entry has it alone.
    Locked,
}

impl<const K: usize, const V: usize> Buckets<K, V> {
    pub(crate) fn access(&self, sharing: Sharing, writing: u64) -> Access {
        let (find, leave): (Find, Option<Leave>) = match sharing {
            Sharing::Alone => (alone::<K, V>, None),
            Sharing::Unlocked => (shared::<K, V>, Some(write_back::<K, V>)),
            Sharing::Locked => (held::<K, V>, Some(release::<K, V>)),
        };
        let (first, mask) = self.first_and_mask();
        Access {
            find,
            prefetch: fetch,
            leave,
            buckets: first,
            mask,
            is_alone: u64::from(sharing == Sharing::Alone),
            hits: 0,
            misses: 0,
            body: ptr::from_ref(self).cast(),
            writing,
            line: ptr::null_mut(),
            key: [0; 2],
            value: [0; 4],
        }
    }
}

impl Access {
    /// Lets go of what an action that did not end holds.
    pub fn abandon(&mut self) {
        if let Some(leave) = self.leave.filter(|_| !self.line.is_null()) {
            // SAFETY: the line is only set while the table that it belongs to is in use, under the contract of `find`.
            unsafe { leave(self) };
        }
    }

    #[inline(always)]
    fn found(&mut self, value: *mut u8, action: u16) -> Place {
        self.hits += 1;
        Place { value, action: u64::from(action) }
    }

    /// Keeps a value whole while its action uses it; gives where.
    #[inline(always)]
    fn copy<const V: usize>(&mut self, value: &[u8; V]) -> *mut u8 {
        const { assert!(V <= size_of::<[u64; 4]>()) };
        let bytes = self.value.as_mut_ptr().cast::<u8>();
        // SAFETY: a value is at most as long as the room for it; both are apart.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), bytes, V) };
        bytes
    }

    #[inline(always)]
    fn missed(&mut self) -> Place {
        self.misses += 1;
        Place { value: ptr::null_mut(), action: 0 }
    }
}

#[inline(always)]
fn key<const K: usize>(low: u64, high: u64) -> [u8; K] {
    let mut key = [0; K];
    let words = [low.to_le_bytes(), high.to_le_bytes()];
    key.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
    key
}

/// The access and its buckets.
///
/// # Safety
/// `access` was made by [`Buckets::access`] for buckets of this shape, which are alive, and nobody else uses it.
#[inline(always)]
unsafe fn parts<'a, const K: usize, const V: usize>(
    access: *mut Access,
) -> (&'a mut Access, &'a Buckets<K, V>) {
    // SAFETY: as promised to this function.
    unsafe { (&mut *access, &*(*access).body.cast::<Buckets<K, V>>()) }
}

unsafe extern "C" fn alone<const K: usize, const V: usize>(
    access: *mut Access,
    low: u64,
    high: u64,
) -> Place {
    // SAFETY: the caller of a function in an access hands it that access.
    let (access, buckets) = unsafe { parts::<K, V>(access) };
    let key = key::<K>(low, high);
    match buckets.find::<true>(hash::fixed(&key, hash::DEFAULT_SEED), &key, |_| true) {
        Some(found) => {
            let value = buckets.line_of(&found).value_address(found.slot());
            access.found(value, found.action)
        }
        None => access.missed(),
    }
}

unsafe extern "C" fn shared<const K: usize, const V: usize>(
    access: *mut Access,
    low: u64,
    high: u64,
) -> Place {
    // SAFETY: as in `alone`.
    let (access, buckets) = unsafe { parts::<K, V>(access) };
    let key = key::<K>(low, high);
    match buckets.find::<false>(hash::fixed(&key, hash::DEFAULT_SEED), &key, |_| true) {
        Some(found) => {
            access.key = [low, high];
            let value = access.copy(&found.value);
            access.found(value, found.action)
        }
        None => access.missed(),
    }
}

unsafe extern "C" fn write_back<const K: usize, const V: usize>(access: *mut Access) {
    // SAFETY: as in `alone`.
    let (access, buckets) = unsafe { parts::<K, V>(access) };
    let key = key::<K>(access.key[0], access.key[1]);
    let hash = hash::fixed(&key, hash::DEFAULT_SEED);
    let words = access.value.map(u64::to_ne_bytes);
    buckets.update::<false, true, ()>(hash, &key, |action, value, _| {
        value.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
        (Effect::Store(action), ())
    });
}

unsafe extern "C" fn held<const K: usize, const V: usize>(
    access: *mut Access,
    low: u64,
    high: u64,
) -> Place {
    // SAFETY: as in `alone`.
    let (access, buckets) = unsafe { parts::<K, V>(access) };
    let key = key::<K>(low, high);
    let hash = hash::fixed(&key, hash::DEFAULT_SEED);
    let mut spins = 0;
    loop {
        let Some(found) = buckets.find::<false>(hash, &key, |_| true) else {
            return access.missed();
        };
        if access.writing >> found.action & 1 == 0 {
            let value = access.copy(&found.value);
            return access.found(value, found.action);
        }
        let line = buckets.line_of(&found);
        if let Some(held) = line.try_lock(found.header()) {
            std::mem::forget(held);
            access.line = line.address().cast();
            return access.found(line.value_address(found.slot()), found.action);
        }
        relax(&mut spins);
    }
}

unsafe extern "C" fn release<const K: usize, const V: usize>(access: *mut Access) {
    // SAFETY: as in `alone`.
    let (access, _) = unsafe { parts::<K, V>(access) };
    let line = std::mem::replace(&mut access.line, ptr::null_mut());
    if !line.is_null() {
        // SAFETY: `held` locked this line of the table, which is alive, and nobody else lets go of it.
        let held = unsafe { Held::<K, V>::resume(Line::at(line.cast())) };
        drop(held);
    }
}

extern "C" fn fetch(bucket: *const u8) {
    prefetch(bucket);
}
