//! Makes the [`Access`] by which machine code uses inline storage. If no other thread uses the
//! entries that an action writes, or actions write only single words, entries are used in their
//! buckets. Otherwise an action works on a copy of its entry, which is written back, or, if it
//! needs exclusive use of the entry, the bucket is locked.

use std::ptr;

use super::line::{Header, Held, Line};
use super::table::{Buckets, number_bits, numbered_hash};
use crate::access::{
    Access, Find, KeysOfBurst, Leave, NamedEntries, Place, Sharing, does_write, fetch, key,
    no_names, no_places,
};
use crate::hash::{DEFAULT_SEED, fixed};
use crate::probe::Probe;
use crate::quiescence::relax;
use crate::region::{LINE, prefetch};

impl<const K: usize, const V: usize> Buckets<K, V> {
    /// Returns the access of one thread. `NUMBERED` is set if the keys of these buckets are entry
    /// numbers.
    pub(crate) fn access<const NUMBERED: bool>(&self, sharing: Sharing, writing: u64) -> Access {
        let (find, leave): (Find, Option<Leave>) = match sharing {
            // While packets are inside the gate, no entries are inserted or removed. Only values
            // change.
            Sharing::Alone | Sharing::Apart | Sharing::Words => (alone::<K, V, NUMBERED>, None),
            Sharing::Unlocked => (shared::<K, V, NUMBERED>, Some(write_back::<K, V, NUMBERED>)),
            Sharing::Locked => (held::<K, V, NUMBERED>, Some(release::<K, V>)),
        };
        let (first, mask) = self.first_and_mask();
        Access {
            find,
            prefetch: fetch,
            leave,
            buckets: first,
            mask,
            number_bits: u64::from(number_bits(Self::SLOTS)),
            in_place: u64::from(leave.is_none()),
            is_alone: u64::from(sharing == Sharing::Alone),
            prefetches_for_writing: false,
            hits: 0,
            misses: 0,
            name: if leave.is_none() { name::<K, V, NUMBERED> } else { no_names },
            hashes: hashes::<K, V, NUMBERED>,
            locate: if leave.is_none() { locate::<K, V, NUMBERED> } else { no_places },
            value_bytes: V,
            body: ptr::from_ref(self).cast(),
            writing,
            line: ptr::null_mut(),
            key: [0; 2],
            value: [0; 4],
            entry: 0,
        }
    }
}

/// The number of keys for which overflowed buckets are searched together. It is the number of bits
/// of a word, in which each key has one bit.
const AT_ONCE: usize = 64;

#[inline(always)]
fn hash<const K: usize, const V: usize, const NUMBERED: bool>(key: &[u8; K]) -> u64 {
    if NUMBERED { numbered_hash(key, Buckets::<K, V>::SLOTS) } else { fixed(key, DEFAULT_SEED) }
}

/// Returns the access and the buckets that it uses.
///
/// # Safety
/// `access` must have been made by [`Buckets::access`] of buckets of this shape. The buckets must
/// be alive, and no other thread may use the access.
#[inline(always)]
unsafe fn parts<'a, const K: usize, const V: usize>(
    access: *mut Access,
) -> (&'a mut Access, &'a Buckets<K, V>) {
    // SAFETY: the access is valid, and its body points to buckets that are alive. The pointer is
    // read before an exclusive reference to the access exists, since a read through the raw pointer
    // would invalidate the reference.
    let buckets = unsafe { &*(*access).body.cast::<Buckets<K, V>>() };
    // SAFETY: no other thread uses the access.
    (unsafe { &mut *access }, buckets)
}

unsafe extern "C" fn alone<const K: usize, const V: usize, const NUMBERED: bool>(
    access: *mut Access,
    low: u64,
    high: u64,
) -> Place {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (access, buckets) = unsafe { parts::<K, V>(access) };
    let key = key::<K>(low, high);
    match buckets.find::<true>(hash::<K, V, NUMBERED>(&key), &key, |_| true) {
        Some(found) => {
            let value = buckets.line_of(&found).value_address(found.slot());
            access.found(value, found.action)
        }
        None => access.missed(),
    }
}

fn hashes<const K: usize, const V: usize, const NUMBERED: bool>(
    keys: &[[u64; 2]],
    hashes: &mut [u64],
) {
    for ([low, high], to) in keys.iter().zip(hashes) {
        *to = hash::<K, V, NUMBERED>(&key::<K>(*low, *high));
    }
}

/// Implements [`Access::locate`].
unsafe fn locate<const K: usize, const V: usize, const NUMBERED: bool>(
    access: &Access,
    keys: &[[u64; 2]],
    hashes: &[u64],
    places: &mut [Place],
) {
    // SAFETY: the caller guarantees that the buckets are alive, and the access has this function
    // only if they have this shape.
    let buckets = unsafe { &*access.body.cast::<Buckets<K, V>>() };
    for (([low, high], hash), place) in keys.iter().zip(hashes).zip(places) {
        let found = buckets.find::<true>(*hash, &key::<K>(*low, *high), |_| true);
        *place = found.map_or(Place { value: ptr::null_mut(), action: 0 }, |found| Place {
            value: buckets.line_of(&found).value_address(found.slot()),
            action: found.action.into(),
        });
    }
}

/// Implements [`Access::prefetch_named`] for buckets. Reads buckets without checking their
/// versions, because no entries are inserted or removed while packets are inside the gate. The code
/// does not branch on the slot of a key, because a branch predictor could not predict it.
unsafe fn name<const K: usize, const V: usize, const NUMBERED: bool>(
    access: &Access,
    KeysOfBurst { keys, buckets }: KeysOfBurst<'_>,
    place: usize,
    NamedEntries { addresses: named, found }: NamedEntries<'_>,
) {
    if place + 8 > V {
        named.fill(0);
        return found.fill(0);
    }
    let bucket = |number: u64| {
        let distance = (number & access.mask) as usize * LINE;
        // SAFETY: the table has a bucket for each masked number, and is alive.
        unsafe { Line::<K, V>::at(access.buckets.add(distance)) }
    };
    let last = access.buckets.wrapping_add(access.mask as usize * LINE);
    let behind = |address: *mut u8| match address == last {
        true => access.buckets,
        false => address.wrapping_add(LINE),
    };
    let chunks = keys.chunks(AT_ONCE).zip(named.chunks_mut(AT_ONCE)).zip(found.chunks_mut(AT_ONCE));
    for (round, ((keys, named), found)) in chunks.enumerate() {
        let buckets = buckets.get(round * AT_ONCE..).unwrap_or_default();
        let home = |position: usize, key: &[u8; K]| match buckets.get(position) {
            Some(address) => {
                let address = ptr::with_exposed_provenance_mut(*address as usize);
                // SAFETY: the caller guarantees that the address is that of a bucket of this table,
                // or of the empty bucket.
                unsafe { Line::<K, V>::at(address) }
            }
            None => bucket(hash::<K, V, NUMBERED>(key)),
        };
        // A bit for each key that may lie in the bucket after its own. That bucket is prefetched
        // while the other keys are processed.
        let mut further = 0_u64;
        let parts = keys.iter().zip(&mut *named).zip(&mut *found);
        for (position, (([low, high], named), found)) in parts.enumerate() {
            let key = key::<K>(*low, *high);
            let line = home(position, &key);
            let header = line.peek();
            let (slot, is_there) = if NUMBERED {
                let slot = *low as usize & ((1 << number_bits(Line::<K, V>::SLOTS)) - 1);
                (slot, Line::<K, V>::action(header, slot) != 0)
            } else {
                in_line(line, header, &key)
            };
            let word = line.word_of_value(slot, place);
            *named = if is_there { word } else { 0 };
            *found = if is_there && !NUMBERED { found_in::<K, V>(header, slot) } else { 0 };
            let is_further = !NUMBERED && !is_there && header.overflowed();
            further |= u64::from(is_further) << position;
            let next = behind(line.address()).cast_const();
            // The word may be any number, since a prefetch of an invalid address has no effect.
            prefetch(if is_further { next } else { *named as usize as *const u8 });
        }
        while further != 0 {
            let position = further.trailing_zeros() as usize;
            further &= further - 1;
            if let (Some([low, high]), Some(named), Some(found)) =
                (keys.get(position), named.get_mut(position), found.get_mut(position))
            {
                let key = key::<K>(*low, *high);
                let home = home(position, &key).address();
                let address = behind(home);
                // SAFETY: `behind` returns the address of the table's next bucket, or of its first
                // one after the last.
                let line = unsafe { Line::<K, V>::at(address) };
                let header = line.peek();
                let (slot, is_there) = in_line(line, header, &key);
                let word = line.word_of_value(slot, place);
                *named = if is_there { word } else { 0 };
                // After the last bucket comes the first, which is not 64 bytes further on.
                if is_there && home != last {
                    *found = found_in::<K, V>(header, slot) | Probe::FOUND_BEHIND;
                }
                prefetch(*named as usize as *const u8);
            }
        }
    }
}

/// Returns the slot that holds the entry of a key, and whether there is such a slot. If there is
/// none, the returned slot number equals the bucket's number of slots, and a value that is read at
/// that slot is meaningless.
#[inline(always)]
fn in_line<const K: usize, const V: usize>(
    line: Line<'_, K, V>,
    header: Header,
    key: &[u8; K],
) -> (usize, bool) {
    let fits = line.stored(header, key);
    ((fits | 1 << Line::<K, V>::SLOTS).trailing_zeros() as usize, fits != 0)
}

/// Returns the position of the entry in the given slot of its own bucket, encoded by
/// [`Probe::FOUND_ACTION`], [`Probe::FOUND_SLOT`] and [`Probe::FOUND`].
#[inline(always)]
fn found_in<const K: usize, const V: usize>(header: Header, slot: usize) -> u32 {
    let action = Line::<K, V>::action(header, slot).wrapping_sub(1) as u32;
    action << Probe::FOUND_ACTION | (slot as u32) << Probe::FOUND_SLOT | Probe::FOUND
}

unsafe extern "C" fn shared<const K: usize, const V: usize, const NUMBERED: bool>(
    access: *mut Access,
    low: u64,
    high: u64,
) -> Place {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (used, buckets) = unsafe { parts::<K, V>(access) };
    let key = key::<K>(low, high);
    match buckets.find::<false>(hash::<K, V, NUMBERED>(&key), &key, |_| true) {
        Some(found) => {
            used.key = [low, high];
            // SAFETY: the access is valid, and the reference to it is not used after this call.
            unsafe { Access::found_copy(access, &found.value, found.action) }
        }
        None => used.missed(),
    }
}

unsafe extern "C" fn write_back<const K: usize, const V: usize, const NUMBERED: bool>(
    access: *mut Access,
) {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (access, buckets) = unsafe { parts::<K, V>(access) };
    let key = key::<K>(access.key[0], access.key[1]);
    let hash = hash::<K, V, NUMBERED>(&key);
    let words = access.value.map(u64::to_ne_bytes);
    buckets.update_locked(hash, &key, |action, value| {
        value.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
        action
    });
}

unsafe extern "C" fn held<const K: usize, const V: usize, const NUMBERED: bool>(
    access: *mut Access,
    low: u64,
    high: u64,
) -> Place {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (used, buckets) = unsafe { parts::<K, V>(access) };
    let key = key::<K>(low, high);
    let hash = hash::<K, V, NUMBERED>(&key);
    let mut spins = 0;
    loop {
        let Some(found) = buckets.find::<false>(hash, &key, |_| true) else {
            return used.missed();
        };
        if !does_write(used.writing, found.action.into()) {
            // SAFETY: the access is valid, and the reference to it is not used after this call.
            return unsafe { Access::found_copy(access, &found.value, found.action) };
        }
        let line = buckets.line_of(&found);
        if let Some(held) = line.try_lock(found.header()) {
            std::mem::forget(held);
            used.line = line.address().cast();
            return used.found(line.value_address(found.slot()), found.action);
        }
        relax(&mut spins);
    }
}

unsafe extern "C" fn release<const K: usize, const V: usize>(access: *mut Access) {
    // SAFETY: the caller passes the access that holds this function, which is valid and which no
    // other thread uses.
    let (access, _) = unsafe { parts::<K, V>(access) };
    let line = std::mem::replace(&mut access.line, ptr::null_mut());
    if !line.is_null() {
        // SAFETY: `held` locked this line of the table, the table is alive, and only this function
        // unlocks the line.
        let held = unsafe { Held::<K, V>::resume(Line::at(line.cast())) };
        drop(held);
    }
}
