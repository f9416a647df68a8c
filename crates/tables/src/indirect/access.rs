//! A thread's way into original, dynamic and static storage for machine code, as [`bucket`](crate::bucket) has it for
//! inline storage.
//!
//! Entries are words that only atomics touch, so an action works on a copy of its entry's parameters, and `leave` writes
//! it back: where it was found if the caller is alone, whole if not, and under the entry's lock if that is held from when
//! the copy was made.

use std::ptr;

use super::entry::{Form, Held};
use super::{Hit, Indirect};
use crate::access::{Access, Find, Leave, Place, Sharing, fetch, key, no_names, no_places};
use crate::hash::{self, DEFAULT_SEED};

/// Most bytes of parameters.
const MOST: usize = size_of::<[u64; 4]>();

impl Indirect {
    /// For tables with keys of 4, 8 or 16 bytes and parameters of at most 32. Actions have their entry alone only if it
    /// has a lock.
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
            // Code sees buckets with entries in them, and those here have none.
            number_bits: 0,
            in_place: 0,
            is_alone: u64::from(sharing == Sharing::Alone),
            asks_to_write: false,
            hits: 0,
            misses: 0,
            name: no_names,
            hashes: hashes::<K>,
            locate: no_places,
            value_bytes: MOST,
            body: ptr::from_ref(self).cast(),
            writing,
            line: ptr::null_mut(),
            key: [0; 2],
            value: [0; 4],
            entry: 0,
        }
    }

    /// Bytes of parameters, as many as there is room for in an entry.
    #[inline(always)]
    fn length(&self) -> usize {
        let tail = 8 * self.tail_words;
        MOST.min(if self.form == Form::Locked { tail } else { tail + 4 })
    }
}

fn hashes<const K: usize>(keys: &[[u64; 2]], hashes: &mut [u64]) {
    for ([low, high], to) in keys.iter().zip(hashes) {
        *to = hash::bytes(&key::<K>(*low, *high), DEFAULT_SEED);
    }
}

/// The access and its table.
///
/// # Safety
/// `access` was made by [`Indirect::access`] of a table that is alive, and nobody else uses it.
#[inline(always)]
unsafe fn parts<'a>(access: *mut Access) -> (&'a mut Access, &'a Indirect) {
    // SAFETY: the access is valid, and its body is a table that is alive. The pointer to it is read before there is an
    // exclusive reference, which a read beside it would end.
    let table = unsafe { &*(*access).body.cast::<Indirect>() };
    // SAFETY: nobody else uses the access.
    (unsafe { &mut *access }, table)
}

/// Keeps a copy of an entry in the access.
///
/// # Safety
/// `access` is valid, and no reference to it is used after this call.
#[inline(always)]
unsafe fn found(access: *mut Access, Hit { action, position }: Hit, bytes: &[u8; MOST]) -> Place {
    // SAFETY: the access is valid, and nobody else uses it during the call of a function of an access.
    unsafe {
        (*access).entry = u64::from(position) | u64::from(action) << 32;
        Access::found_copy(access, bytes, action)
    }
}

/// Record and action of the entry that was found last, and the copy of its parameters as the action left it.
#[inline(always)]
fn left(access: &Access) -> (u32, u16, [u8; MOST]) {
    let mut bytes = [0; MOST];
    bytes.copy_from_slice(access.value.map(u64::to_ne_bytes).as_flattened());
    (access.entry as u32, (access.entry >> 32) as u16, bytes)
}

unsafe extern "C" fn alone<const K: usize>(access: *mut Access, low: u64, high: u64) -> Place {
    // SAFETY: the caller of a function in an access hands it that access.
    let (used, table) = unsafe { parts(access) };
    let (key, mut bytes) = (key::<K>(low, high), [0; MOST]);
    let hash = hash::bytes(&key, DEFAULT_SEED);
    match table.read::<true>(hash, &key, &mut bytes[..table.length()]) {
        // SAFETY: the access is valid, and the reference to it is not used any more.
        Some(hit) => unsafe { found(access, hit, &bytes) },
        None => used.missed(),
    }
}

unsafe extern "C" fn store(access: *mut Access) {
    // SAFETY: the caller of a function in an access hands it that access.
    let (access, table) = unsafe { parts(access) };
    let (record, action, bytes) = left(access);
    // SAFETY: `alone` found the record, and the table does not change until the access is made anew.
    unsafe { table.entry(record) }.write(table.form, action, &bytes[..table.length()]);
}

unsafe extern "C" fn shared<const K: usize>(access: *mut Access, low: u64, high: u64) -> Place {
    // SAFETY: the caller of a function in an access hands it that access.
    let (used, table) = unsafe { parts(access) };
    let (key, mut bytes) = (key::<K>(low, high), [0; MOST]);
    let hash = hash::bytes(&key, DEFAULT_SEED);
    match table.read::<false>(hash, &key, &mut bytes[..table.length()]) {
        Some(hit) => {
            used.key = [low, high];
            // SAFETY: the access is valid, and the reference to it is not used any more.
            unsafe { found(access, hit, &bytes) }
        }
        None => used.missed(),
    }
}

unsafe extern "C" fn write_back<const K: usize>(access: *mut Access) {
    // SAFETY: the caller of a function in an access hands it that access.
    let (access, table) = unsafe { parts(access) };
    let key = key::<K>(access.key[0], access.key[1]);
    let (_, _, bytes) = left(access);
    let hash = hash::bytes(&key, DEFAULT_SEED);
    table.update::<false>(hash, &key, &mut [0; MOST][..table.length()], |action, value| {
        value.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        action
    });
}

unsafe extern "C" fn held<const K: usize>(access: *mut Access, low: u64, high: u64) -> Place {
    // SAFETY: the caller of a function in an access hands it that access.
    let (used, table) = unsafe { parts(access) };
    let (key, mut bytes) = (key::<K>(low, high), [0; MOST]);
    let Some((record, _)) = table.find::<false>(hash::bytes(&key, DEFAULT_SEED), &key) else {
        return used.missed();
    };
    // SAFETY: just found, and the table does not change until the access is made anew.
    let entry = unsafe { table.entry(record) };
    // Only who closes the gate changes actions, so that it is known whether this one writes.
    let action = entry.read_whole(&mut bytes[..table.length()]);
    if used.writing >> action & 1 == 1 {
        let held = entry.lock();
        held.read(&mut bytes[..table.length()]);
        std::mem::forget(held);
        used.line = ptr::dangling_mut::<u8>().cast();
    }
    // SAFETY: the access is valid, and the reference to it is not used any more.
    unsafe { found(access, Hit { action, position: record }, &bytes) }
}

unsafe extern "C" fn release(access: *mut Access) {
    // SAFETY: the caller of a function in an access hands it that access.
    let (access, table) = unsafe { parts(access) };
    let line = std::mem::replace(&mut access.line, ptr::null_mut());
    if !line.is_null() {
        let (record, action, bytes) = left(access);
        // SAFETY: `held` found the record, and the table does not change until the access is made anew.
        let mut held = Held::resume(unsafe { table.entry(record) });
        held.write(action, &bytes[..table.length()]);
    }
}
