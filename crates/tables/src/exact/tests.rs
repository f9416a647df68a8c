//! Tests of tables with exact keys, for every storage and every way in which threads share a table.

use super::*;
use crate::access::{KeysOfBurst, NamedEntries, Place, key, no_bucket};
use crate::hash::{DEFAULT_SEED, fixed};
use crate::probe::Probe;
use std::sync::atomic::{AtomicU64, Ordering};

fn find(access: &mut Access, key: u128) -> Place {
    // SAFETY: the tests keep the table alive and unchanged while they use an access.
    unsafe { (access.find)(access, key as u64, (key >> 64) as u64) }
}

fn leave(access: &mut Access) {
    if let Some(leave) = access.leave {
        // SAFETY: the tests keep the table alive and unchanged while they use an access.
        unsafe { leave(access) };
    }
}

/// Returns all storages, with and without locks in entries.
fn designs() -> impl Iterator<Item = (Storage, EntryLock)> {
    Storage::ALL
        .into_iter()
        .flat_map(|storage| [EntryLock::None, EntryLock::PerEntry].map(|lock| (storage, lock)))
}

/// Increments the first byte of an entry, and returns the entry's action.
fn bump(access: &mut Access, key: u128) -> Option<u64> {
    let Place { value, action } = find(access, key);
    if value.is_null() {
        return None;
    }
    // SAFETY: the value is non-null, and all tables here have parameters of at least one byte.
    unsafe { *value = (*value).wrapping_add(1) };
    leave(access);
    Some(action)
}

#[test]
fn inserted_entries_are_found_and_written_under_every_sharing() {
    let count = if cfg!(miri) { 6 } else { 500_usize };
    let shapes = [(32, 4), (128, 32), (9, 1), (48, 8), (64, 16), (32, 7)];
    let shapes = &shapes[..if cfg!(miri) { 2 } else { shapes.len() }];
    for (storage, lock, (key_bits, parameter_bytes)) in
        designs().flat_map(|design| shapes.iter().map(move |shape| (design.0, design.1, *shape)))
    {
        let mut table = ExactTable::stored(storage, lock, key_bits, parameter_bytes, 3).unwrap();
        let all = u128::MAX >> (128 - key_bits);
        let keys: Vec<u128> = (0..count as u128).map(|key| all - key).collect();
        for (number, key) in keys.iter().enumerate() {
            table.insert(*key, ActionId(number as u16 % 3), &[number as u8; 1]).unwrap();
            assert_eq!(table.insert(*key, ActionId(0), &[]), Err(ExactTableError::Exists));
        }
        assert_eq!(table.len(), keys.len());
        use Sharing::{Alone, Apart, Locked, Unlocked, Words};
        let all = [Alone, Apart, Words, Unlocked, Locked];
        for sharing in all {
            let context = format!("{storage} {lock} {sharing:?} {key_bits} {parameter_bytes}");
            let mut access = table.access(sharing, u64::MAX);
            for (number, key) in keys.iter().enumerate() {
                assert_eq!(bump(&mut access, *key), Some(number as u64 % 3), "{context}");
            }
            assert_eq!(bump(&mut access, 1), None);
            assert_eq!((access.hits, access.misses), (count as u64, 1));
        }
        for (number, key) in keys.iter().enumerate() {
            let (_, parameters) = table.read(*key).unwrap();
            assert_eq!(parameters.first(), Some(&(number as u8).wrapping_add(5)));
            assert!(table.replace(*key, ActionId(2), &[7]));
            assert!(table.remove(*key) && !table.remove(*key));
            assert!(table.read(*key).is_none());
        }
        assert!(table.is_empty());
    }
}

/// Has two threads increment a word at the beginning and a word at the end of one entry's
/// parameters. Returns the final values of both words.
fn counted(storage: Storage, lock: EntryLock, sharing: Sharing, count: usize) -> (u64, u64) {
    let mut table = ExactTable::stored(storage, lock, 32, 16, 1).unwrap();
    table.insert(1, ActionId(0), &[]).unwrap();
    let table = &table;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                let mut access = table.access(sharing, 1);
                for _ in 0..count {
                    let Place { value, .. } = find(&mut access, 1);
                    for word in [0, 1] {
                        // SAFETY: the entry is locked, or this is a copy of it; its parameters
                        // are two aligned words. Threads that read the entry meanwhile access
                        // its words as atomics, so this thread does too.
                        let word =
                            unsafe { AtomicU64::from_ptr(value.cast::<u64>().wrapping_add(word)) };
                        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    }
                    leave(&mut access);
                }
            });
        }
    });
    let (_, parameters) = table.read(1).unwrap();
    let word = |at: usize| u64::from_ne_bytes(parameters[at..at + 8].try_into().unwrap());
    (word(0), word(8))
}

#[test]
fn a_locked_action_loses_no_update_of_another_thread() {
    let count = if cfg!(miri) { 3 } else { 20_000 };
    for storage in Storage::ALL {
        let all = counted(storage, EntryLock::PerEntry, Sharing::Locked, count);
        assert_eq!(all, (2 * count as u64, 2 * count as u64), "{storage}");
    }
}

/// Checks that no update is seen in part: both words of an update are in the entry, or neither
/// is.
#[test]
fn an_entry_without_a_lock_is_never_half_written() {
    let count = if cfg!(miri) { 3 } else { 20_000 };
    for (storage, lock) in designs() {
        let (first, last) = counted(storage, lock, Sharing::Unlocked, count);
        assert!(first == last && first <= 2 * count as u64, "{storage} {lock}: {first} {last}");
    }
}

#[test]
fn an_abandoned_action_releases_its_lock() {
    for storage in Storage::ALL {
        let mut table = ExactTable::stored(storage, EntryLock::PerEntry, 32, 4, 1).unwrap();
        table.insert(1, ActionId(0), &[]).unwrap();
        let mut access = table.access(Sharing::Locked, 1);
        find(&mut access, 1);
        access.abandon();
        access.abandon();
        assert_eq!(bump(&mut access, 1), Some(0), "{storage}");
    }
}

/// Checks that if two threads write one word of one entry in place, the word always holds the
/// value of one of the threads.
#[test]
fn concurrent_writes_of_one_word_are_not_mixed() {
    let count = if cfg!(miri) { 10 } else { 20_000_u64 };
    let mut table = ExactTable::new(32, 8, 1).unwrap();
    table.insert(1, ActionId(0), &[]).unwrap();
    let table = &table;
    std::thread::scope(|scope| {
        for thread in 1..=2_u64 {
            scope.spawn(move || {
                let mut access = table.access(Sharing::Words, 1);
                assert!(access.leave.is_none() && access.in_place == 1);
                for _ in 0..count {
                    let word = find(&mut access, 1).value.cast::<u64>();
                    // SAFETY: the value is an aligned word that all threads access as an
                    // atomic, as machine code does by loads and stores of eight bytes.
                    let word = unsafe { AtomicU64::from_ptr(word) };
                    let before = word.swap(thread * 0x1_0000_0001, Ordering::Relaxed);
                    assert!([0, 0x1_0000_0001, 0x2_0000_0002].contains(&before), "{before:x}");
                }
            });
        }
    });
    assert_eq!(table.len(), 1);
}

#[test]
fn a_copy_has_the_entries_of_its_original_and_no_later_ones() {
    for (storage, lock) in designs() {
        let mut table = ExactTable::stored(storage, lock, 32, 4, 2).unwrap();
        for key in 0..300_u128 {
            table.insert(key, ActionId((key % 2) as u16), &(key as u32).to_ne_bytes()).unwrap();
        }
        let mut copy = table.copied().unwrap();
        table.remove(7);
        copy.insert(300, ActionId(1), &[9; 4]).unwrap();
        assert_eq!((table.len(), copy.len()), (299, 301));
        let mut seen = 0;
        table.for_each(|key, action, parameters| {
            assert_eq!(copy.read(key), Some((action, parameters.to_vec())), "{storage} {lock}");
            seen += 1;
        });
        assert_eq!((seen, table.read(300)), (299, None));
    }
}

/// Checks that a larger or smaller table can be built while the original is in use and
/// unchanged.
#[test]
fn a_table_is_rebuilt_larger_or_smaller_with_the_same_entries() {
    let count = if cfg!(miri) { 70 } else { 9000_u32 };
    for ((storage, lock), numbered) in
        designs().flat_map(|design| [false, true].map(|numbered| (design, numbered)))
    {
        let context = format!("{storage} {lock} {numbered}");
        let mut table = match numbered {
            true => ExactTable::numbered(storage, lock, 8, 2).unwrap(),
            false => ExactTable::stored(storage, lock, 32, 8, 2).unwrap(),
        };
        let mut grown = 0;
        for key in 1..=count {
            if let Some(larger) = table.with_room_for(key.into()).unwrap() {
                assert_eq!((larger.len(), table.len()), (table.len(), key as usize - 1));
                assert!(larger.bytes() > table.bytes(), "{context}");
                table = larger;
                grown += 1;
            }
            let before = table.bytes();
            let parameters = u64::from(key).to_ne_bytes();
            table.insert(key.into(), ActionId(key as u16 % 2), &parameters).unwrap();
            if storage == Storage::Inline {
                assert_eq!(table.bytes(), before, "there was room, {context}");
            }
        }
        assert!(grown > 0, "{context}");
        assert!(table.shrunk().is_none(), "nothing is gone, {context}");
        let full = table.bytes();
        for key in 8..=count {
            assert!(table.remove(key.into()));
        }
        if cfg!(miri) {
            continue;
        }
        let smaller = table.shrunk().expect("few are left");
        assert!(smaller.bytes() < full / 8, "{} of {full}, {context}", smaller.bytes());
        assert!(smaller.shrunk().is_none());
        for key in 1..=8_u32 {
            let found = smaller.read(key.into());
            let parameters = u64::from(key).to_ne_bytes().to_vec();
            assert_eq!(found, (key < 8).then_some((ActionId(key as u16 % 2), parameters)));
        }
    }
}

#[test]
fn the_addresses_in_existing_entries_are_prefetched() {
    let named = 0x1234_5678_u64;
    let mut values = [0; 16];
    values[8..].copy_from_slice(&named.to_ne_bytes());
    for key_bits in [32, 64, 128] {
        let mut table = ExactTable::new(key_bits, 16, 2).unwrap();
        table.insert(7, ActionId(0), &values).unwrap();
        let ask = |table: &ExactTable, sharing| {
            let (mut named, mut found) = ([1; 3], [1; 3]);
            let keys = [7, 8, 0].map(|key| [key, 0]);
            let keys = KeysOfBurst { keys: &keys, buckets: &[] };
            let into = NamedEntries { addresses: &mut named, found: &mut found };
            // SAFETY: the table is alive and unchanged since the access was made.
            unsafe { table.access(sharing, 0).prefetch_named(keys, 8, into) };
            assert_eq!(found.map(|found| found != 0), named.map(|named| named != 0));
            named
        };
        assert_eq!(ask(&table, Sharing::Alone), [named, 0, 0], "{key_bits}");
        assert_eq!(ask(&table, Sharing::Locked), [0; 3], "{key_bits}");
        assert!(table.remove(7));
        assert_eq!(ask(&table, Sharing::Alone), [0; 3], "{key_bits}");
    }
}

/// Inserts and removes numbered entries in any order, in all storages.
#[test]
fn numbered_entries_are_found_under_every_sharing() {
    use Sharing::{Alone, Apart, Locked, Unlocked, Words};
    let count = if cfg!(miri) { 8 } else { 700_u32 };
    let byte_counts: &[usize] = if cfg!(miri) { &[16] } else { &[4, 7, 8, 16, 32] };
    for ((storage, lock), bytes) in
        designs().flat_map(|design| byte_counts.iter().map(move |bytes| (design, *bytes)))
    {
        let mut table = ExactTable::numbered(storage, lock, bytes, 3).unwrap();
        let mut free: Vec<u32> = (1..=count).rev().collect();
        let mut random = fastrand::Rng::with_seed(bytes as u64);
        // The first byte of each entry.
        let mut known: std::collections::BTreeMap<u32, u8> = std::collections::BTreeMap::new();
        for step in 0..2 * count {
            if step % 4 == 3 {
                let (&number, &value) = known.iter().nth(random.usize(..known.len())).unwrap();
                let (_, parameters) = table.read(number.into()).unwrap();
                assert_eq!(parameters[0], value);
                assert!(table.remove(number.into()) && !table.remove(number.into()));
                known.remove(&number);
                free.push(number);
            } else if let Some(number) = free.pop() {
                let value = number as u8;
                let action = ActionId(number as u16 % 3);
                table.insert(number.into(), action, &[value]).unwrap();
                let again = table.insert(number.into(), action, &[value]);
                assert_eq!(again, Err(ExactTableError::Exists));
                known.insert(number, value);
            }
            assert_eq!(table.len(), known.len());
        }
        let copy = table.copied().unwrap();
        for sharing in [Alone, Apart, Words, Unlocked, Locked] {
            let context = format!("{storage} {lock} {sharing:?} {bytes}");
            let mut access = copy.access(sharing, u64::MAX);
            for number in 0..=count + 1 {
                let action = known.contains_key(&number).then_some(u64::from(number % 3));
                assert_eq!(bump(&mut access, number.into()), action, "{context} {number}");
            }
        }
        for number in 1..=count {
            let found = table.read(number.into()).map(|(_, parameters)| parameters[0]);
            assert_eq!(found, known.get(&number).copied(), "{storage} {lock} {number}");
            let copied = copy.read(number.into()).map(|(_, parameters)| parameters[0]);
            assert_eq!(copied, found.map(|value| value.wrapping_add(5)));
        }
        let mut seen = 0;
        table.for_each(|number, _, parameters| {
            assert_eq!(known.get(&(number as u32)), parameters.first());
            seen += 1;
        });
        assert_eq!(seen, known.len());
    }
}

#[test]
fn addresses_in_entries_of_overflowed_buckets_are_prefetched() {
    for (key_bits, bytes) in [(32, 8), (64, 8), (104, 8), (128, 16)] {
        let mut table = ExactTable::new(key_bits, bytes, 2).unwrap();
        let count = if cfg!(miri) { 60 } else { 3000_u64 };
        let place = bytes - 8;
        for key in 1..=count {
            let values = [vec![0; place], (key << 12).to_ne_bytes().to_vec()].concat();
            table.insert(u128::from(key), ActionId((key % 2) as u16), &values).unwrap();
        }
        for key in (1..=count).step_by(3) {
            assert!(table.remove(u128::from(key)));
        }
        let keys: Vec<[u64; 2]> = (1..=count).map(|key| [key, 0]).collect();
        let (mut named, mut found) = (vec![1; keys.len()], vec![1; keys.len()]);
        let mut access = table.access(Sharing::Alone, 0);
        let into = NamedEntries { addresses: &mut named, found: &mut found };
        // SAFETY: the table is alive and unchanged since the access was made.
        unsafe { access.prefetch_named(KeysOfBurst { keys: &keys, buckets: &[] }, place, into) };
        // The result is equal if bucket addresses are passed, and empty if the addresses are
        // those of the empty bucket.
        let home = |[low, high]: &[u64; 2]| {
            let hash = match key_bits {
                32 => fixed(&key::<4>(*low, *high), DEFAULT_SEED),
                64 => fixed(&key::<8>(*low, *high), DEFAULT_SEED),
                _ => fixed(&key::<16>(*low, *high), DEFAULT_SEED),
            };
            access.buckets.expose_provenance() as u64 + (hash & access.mask) * 64
        };
        let buckets: Vec<u64> = keys.iter().map(home).collect();
        let (mut by_told, mut found_by_told) = (vec![1; keys.len()], vec![1; keys.len()]);
        let told = KeysOfBurst { keys: &keys, buckets: &buckets[..keys.len() - 5] };
        let into = NamedEntries { addresses: &mut by_told, found: &mut found_by_told };
        // SAFETY: the table is alive and unchanged since the access was made. The addresses of
        // the last keys' buckets are not passed.
        unsafe { access.prefetch_named(told, place, into) };
        assert_eq!((&by_told, &found_by_told), (&named, &found), "{key_bits}");
        let nowhere = vec![no_bucket(); keys.len()];
        let told = KeysOfBurst { keys: &keys, buckets: &nowhere };
        let into = NamedEntries { addresses: &mut by_told, found: &mut found_by_told };
        // SAFETY: the table is alive and unchanged since the access was made, and the addresses
        // are `no_bucket`.
        unsafe { access.prefetch_named(told, place, into) };
        assert!(by_told.iter().all(|named| *named == 0));
        assert!(found_by_told.iter().all(|found| *found == 0));
        let probe = Probe::of(key_bits, bytes, 2).unwrap();
        let (mut seen, mut behind) = (0, 0);
        for (key, ((named, found), home)) in (1..).zip(named.into_iter().zip(found).zip(buckets)) {
            assert!(named == 0 || named == key << 12 && key % 3 != 1, "{key_bits} {key}");
            seen += u64::from(named != 0);
            if found == 0 {
                continue;
            }
            // The address that machine code computes is the one at which the table finds the
            // entry.
            let is_behind = found & Probe::FOUND_BEHIND != 0;
            let slot = (found as u16 >> Probe::FOUND_SLOT) as usize;
            let (values, size) = probe.values();
            let at = home as usize + usize::from(is_behind) * Probe::BUCKET + values + slot * size;
            // SAFETY: the access was made by the table, which is alive.
            let entry = unsafe { (access.find)(&raw mut access, key, 0) };
            let action = u64::from(found >> Probe::FOUND_ACTION);
            assert_eq!((entry.value.addr(), entry.action), (at, action), "{key_bits} {key}");
            assert_eq!((named, action), (key << 12, key % 2), "{key_bits} {key}");
            behind += u64::from(is_behind);
        }
        // A few entries are in later buckets.
        assert!(seen > count * 6 / 10, "{seen} of {count} with {key_bits} bits");
        assert!(behind > 0, "{key_bits}");
    }
}

#[test]
fn addresses_in_numbered_entries_are_prefetched() {
    let mut table = ExactTable::numbered(Storage::Inline, EntryLock::None, 16, 2).unwrap();
    let named = |number: u64| (number * 0x1_0000).to_ne_bytes();
    for number in 1..=200_u64 {
        let mut values = [0; 16];
        values[8..].copy_from_slice(&named(number));
        table.insert(number.into(), ActionId(1), &values).unwrap();
    }
    assert!(table.remove(7));
    let access = table.access(Sharing::Alone, 0);
    access.prefetch_numbered(&[0, 1, 200, u32::MAX]);
    let keys: Vec<[u64; 2]> = (1..=200).map(|number| [number, 0]).collect();
    let (mut named, mut found) = ([1; 200], [0; 200]);
    let into = NamedEntries { addresses: &mut named, found: &mut found };
    // SAFETY: the table is alive and unchanged since the access was made.
    unsafe { access.prefetch_named(KeysOfBurst { keys: &keys, buckets: &[] }, 8, into) };
    for (number, named) in (1..).zip(named) {
        assert_eq!(named, if number == 7 { 0 } else { number * 0x1_0000 });
    }
}

#[test]
fn keys_and_parameters_too_large_for_a_bucket_are_refused() {
    let wide = |key_bits, bytes, actions| ExactTable::new(key_bits, bytes, actions).is_err();
    assert!(wide(129, 4, 1) && wide(32, 33, 1) && !wide(128, 32, 60));
}
