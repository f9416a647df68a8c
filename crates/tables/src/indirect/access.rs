//! Makes the [`Access`] of original, dynamic and static storage for machine code, as
//! [`bucket`](crate::bucket) does for inline storage.
//!
//! Entries are words that are accessed only by atomics, so an action works on a copy of its entry's
//! parameters, and `leave` writes the copy back. The way of writing depends on the sharing. A
//! single thread stores the copy directly. Threads without locks replace the whole entry. Threads
//! with locks acquire the entry's lock before they make the copy, and hold it until the copy is
//! written back.

use std::ptr;

use super::entry::{Form, Held};
use super::{Hit, Indirect};
use crate::access::{
    Access, Find, Leave, Place, Sharing, does_write, fetch, key, no_names, no_places,
};
use crate::hash::{self, DEFAULT_SEED};

/// The largest size of an entry's parameters in bytes.
const MAX: usize = size_of::<[u64; 4]>();

impl Indirect {
    /// Returns the access of one thread. Keys must have 4, 8 or 16 bytes, and parameters at most
    /// 32. Without entry locks, [`Sharing::Locked`] has the effect of [`Sharing::Unlocked`].
    pub(crate) fn access(&self, sharing: Sharing, writing: u64) -> Access {
        match self.key_bytes {
            4 => self.access_by::<4>(sharing, writing),
            8 => self.access_by::<8>(sharing, writing),
            _ => self.access_by::<16>(sharing, writing),
        }
    }

    fn access_by<const K: usize>(&self, sharing: Sharing, writing: u64) -> Access {
        let (find, leave): (Find, Leave) = match (sharing, self.form) {
            (Sharing::Alone | Sharing::Apart, _) => (alone::<K>, store),
            (Sharing::Locked, Form::Locked) => (held::<K>, release),
            _ => (shared::<K>, write_back::<K>),
        };
        let (buckets, mask) = self.index.first_and_mask();
        Access {
            find,
            prefetch: fetch,
            leave: Some(leave),
            buckets,
            mask,
            // Machine code may read only buckets that hold entries, and these hold record numbers.
            number_bits: 0,
            in_place: 0,
            is_alone: u64::from(sharing == Sharing::Alone),
            prefetches_for_writing: false,
            hits: 0,
            misses: 0,
            name: no_names,
            hashes: hashes::<K>,
            locate: no_places,
            value_bytes: MAX,
            body: ptr::from_ref(self).cast(),
            writing,
            line: ptr::null_mut(),
            key: [0; 2],
            value: [0; 4],
            entry: 0,
        }
    }

    /// Returns the number of bytes of parameters for which an entry has room.
    #[inline(always)]
    fn length(&self) -> usize {
        let tail = 8 * self.tail_words;
        MAX.min(if self.form == Form::Locked { tail } else { tail + 4 })
    }
}

fn hashes<const K: usize>(keys: &[[u64; 2]], hashes: &mut [u64]) {
    for ([low, high], to) in keys.iter().zip(hashes) {
        *to = hash::bytes(&key::<K>(*low, *high), DEFAULT_SEED);
    }
}

/// Returns the access and its table.
///
/// # Safety
/// `access` must have been made by [`Indirect::access`] of a table that is alive, and no other
/// thread may use it.
#[inline(always)]
unsafe fn parts<'a>(access: *mut Access) -> (&'a mut Access, &'a Indirect) {
    // SAFETY: the access is valid, and its body points to a table that is alive. The pointer is
    // read before an exclusive reference to the access exists, since a read through the raw pointer
    // would invalidate the reference.
    let table = unsafe { &*(*access).body.cast::<Indirect>() };
    // SAFETY: no other thread uses the access.
    (unsafe { &mut *access }, table)
}

/// Records in the access which entry was found, and copies the entry's parameters into it.
///
/// # Safety
/// `access` must be valid, and no reference to it may be used after this call.
#[inline(always)]
unsafe fn found(access: *mut Access, Hit { action, position }: Hit, bytes: &[u8; MAX]) -> Place {
    // SAFETY: the access is valid, and no other code uses it during a call of one of its functions.
    unsafe {
        (*access).entry = u64::from(position) | u64::from(action) << 32;
        Access::found_copy(access, bytes, action)
    }
}

/// Returns the record number and the action of the entry that was found last, and the copy of its
/// parameters, which the packet's action may have changed.
#[inline(always)]
fn last_entry(access: &Access) -> (u32, u16, [u8; MAX]) {
    let mut bytes = [0; MAX];
    bytes.copy_from_slice(access.value.map(u64::to_ne_bytes).as_flattened());
    (access.entry as u32, (access.entry >> 32) as u16, bytes)
}

unsafe extern "C" fn alone<const K: usize>(access: *mut Access, low: u64, high: u64) -> Place {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (used, table) = unsafe { parts(access) };
    let (key, mut bytes) = (key::<K>(low, high), [0; MAX]);
    let hash = hash::bytes(&key, DEFAULT_SEED);
    match table.read::<true>(hash, &key, &mut bytes[..table.length()]) {
        // SAFETY: the access is valid, and the reference to it is not used after this call.
        Some(hit) => unsafe { found(access, hit, &bytes) },
        None => used.missed(),
    }
}

unsafe extern "C" fn store(access: *mut Access) {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (access, table) = unsafe { parts(access) };
    let (record, action, bytes) = last_entry(access);
    // SAFETY: `alone` found the record, and the table does not change while the access is in use.
    unsafe { table.entry(record) }.write(table.form, action, &bytes[..table.length()]);
}

unsafe extern "C" fn shared<const K: usize>(access: *mut Access, low: u64, high: u64) -> Place {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (used, table) = unsafe { parts(access) };
    let (key, mut bytes) = (key::<K>(low, high), [0; MAX]);
    let hash = hash::bytes(&key, DEFAULT_SEED);
    match table.read::<false>(hash, &key, &mut bytes[..table.length()]) {
        Some(hit) => {
            used.key = [low, high];
            // SAFETY: the access is valid, and the reference to it is not used after this call.
            unsafe { found(access, hit, &bytes) }
        }
        None => used.missed(),
    }
}

unsafe extern "C" fn write_back<const K: usize>(access: *mut Access) {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (access, table) = unsafe { parts(access) };
    let key = key::<K>(access.key[0], access.key[1]);
    let (_, _, bytes) = last_entry(access);
    let hash = hash::bytes(&key, DEFAULT_SEED);
    table.update::<false>(hash, &key, &mut [0; MAX][..table.length()], |action, value| {
        value.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        action
    });
}

unsafe extern "C" fn held<const K: usize>(access: *mut Access, low: u64, high: u64) -> Place {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (used, table) = unsafe { parts(access) };
    let (key, mut bytes) = (key::<K>(low, high), [0; MAX]);
    let Some((record, _)) = table.find::<false>(hash::bytes(&key, DEFAULT_SEED), &key) else {
        return used.missed();
    };
    // SAFETY: the record has just been found, and the table does not change while the access is in
    // use.
    let entry = unsafe { table.entry(record) };
    // Actions change only while the gate is closed, so the action read here is the one that will
    // run.
    let action = entry.read_whole(&mut bytes[..table.length()]);
    if does_write(used.writing, action.into()) {
        let held = entry.lock();
        held.read(&mut bytes[..table.length()]);
        std::mem::forget(held);
        used.line = ptr::dangling_mut::<u8>().cast();
    }
    // SAFETY: the access is valid, and the reference to it is not used after this call.
    unsafe { found(access, Hit { action, position: record }, &bytes) }
}

unsafe extern "C" fn release(access: *mut Access) {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (access, table) = unsafe { parts(access) };
    let line = std::mem::replace(&mut access.line, ptr::null_mut());
    if !line.is_null() {
        let (record, action, bytes) = last_entry(access);
        // SAFETY: `held` found the record, and the table does not change while the access is in
        // use.
        let mut held = Held::resume(unsafe { table.entry(record) });
        held.write(action, &bytes[..table.length()]);
    }
}
