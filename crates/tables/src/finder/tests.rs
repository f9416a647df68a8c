//! Tests of finders. Every search must return the entry that a scan of all entries finds.

use fastrand::Rng;

use super::*;

/// An entry, as the list that is scanned for comparison stores it.
struct Known {
    number: u32,
    matches: Vec<FieldMatch>,
    priority: u32,
    order: u64,
}

fn bytes(value: u64, bits: u32) -> Vec<u8> {
    value.to_be_bytes()[8 - bits.div_ceil(8) as usize..].to_vec()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn mask(bits: u32, length: u32) -> u64 {
    if length == 0 { 0 } else { u64::MAX >> (64 - length) << (bits - length) }
}

/// Draws a match from few values, so that matches overlap.
fn draw(random: &mut Rng, field: &MatchField) -> FieldMatch {
    let bits = field.bits;
    let all = mask(bits, bits);
    let value = (random.u64(..4) * (all / 3)) & all;
    let any = random.u64(..4) == 0;
    match field.kind {
        MatchKind::Exact => FieldMatch::Exact(bytes(value, bits)),
        _ if any => FieldMatch::Any,
        MatchKind::Lpm => {
            let length = random.u32(1..=bits);
            FieldMatch::Lpm(bytes(value & mask(bits, length), bits), length)
        }
        MatchKind::Optional => FieldMatch::Exact(bytes(value, bits)),
        MatchKind::Ternary => {
            let cares = random.u64(..) & all;
            FieldMatch::Ternary(bytes(value & cares, bits), bytes(cares, bits))
        }
        MatchKind::Range => {
            let (one, other) = (value, (random.u64(..4) * (all / 3)) & all);
            FieldMatch::Range(bytes(one.min(other), bits), bytes(one.max(other), bits))
        }
    }
}

/// Returns the length of the prefix with which an entry matches a key, or `None` if it does not
/// match.
fn matches(known: &Known, fields: &[MatchField], key: &[u64]) -> Option<u32> {
    let mut length = 0;
    for ((wanted, field), key) in known.matches.iter().zip(fields).zip(key) {
        let fits = match wanted {
            FieldMatch::Any => true,
            FieldMatch::Exact(value) => number(value) == *key,
            FieldMatch::Lpm(value, prefix) => {
                length = *prefix;
                key & mask(field.bits, *prefix) == number(value)
            }
            FieldMatch::Ternary(value, cares) => key & number(cares) == number(value),
            FieldMatch::Range(low, high) => (number(low)..=number(high)).contains(key),
        };
        if !fits {
            return None;
        }
    }
    Some(length)
}

fn pack(places: &[u32], key: &[u64]) -> [u64; 2] {
    let packed =
        places.iter().zip(key).fold(0, |packed, (above, key)| packed | u128::from(*key) << above);
    [packed as u64, (packed >> 64) as u64]
}

fn search(searcher: &mut Searcher, [low, high]: [u64; 2]) -> u32 {
    // SAFETY: the finder is alive and unchanged during the call.
    let found = unsafe { (searcher.find)(searcher, low, high) };
    found as u32
}

/// Adds and removes entries. Each search must find what a scan of all entries finds.
#[test]
fn the_best_entry_is_found_whatever_the_fields() {
    use MatchKind::{Exact, Lpm, Optional, Range, Ternary};
    let keys: [&[(u32, MatchKind)]; 8] = [
        &[(32, Lpm)],
        &[(9, Lpm), (5, Exact)],
        &[(64, Exact), (60, Lpm)],
        &[(64, Lpm)],
        &[(13, Ternary)],
        &[(32, Ternary), (32, Ternary), (16, Range), (16, Range), (8, Optional)],
        &[(1, Optional), (7, Range), (48, Exact)],
        &[(33, Lpm), (3, Ternary), (12, Lpm)],
    ];
    // Tables made for few and for many entries.
    let keys = keys.into_iter().flat_map(|kinds| [(kinds, 64), (kinds, 1 << 20)]);
    for (seed, (kinds, size)) in keys.enumerate() {
        let mut random = Rng::with_seed(0x9e37_79b9_7f4a_7c15 + seed as u64);
        let fields: Vec<MatchField> =
            kinds.iter().map(|(bits, kind)| MatchField { bits: *bits, kind: *kind }).collect();
        let ranked = has_priorities(&fields);
        let mut finder = Finder::new(&fields, size).unwrap();
        let places = Finder::places(&fields).unwrap();
        let mut searcher = finder.searcher();
        let mut known: Vec<Known> = Vec::new();
        let (mut hits, mut packed) = (0, Vec::new());
        for order in 0..if cfg!(miri) { 40 } else { 600 } {
            // The number of entries alternates between more and fewer than are compared one by
            // one.
            let most = if order / 50 % 2 == 0 { 40 } else { 10 };
            while known.len() > most || random.u64(..4) == 0 && !known.is_empty() {
                let gone = known.swap_remove(random.usize(..known.len()));
                finder.remove(gone.number);
            }
            let matches_new: Vec<FieldMatch> =
                fields.iter().map(|field| draw(&mut random, field)).collect();
            let priority = if ranked { 1 + random.u32(..5) } else { 0 };
            // Entries without a priority must differ in their matches. All prefixes of no bits
            // are equal.
            if ranked || known.iter().all(|other| other.matches != matches_new) {
                let number = finder.insert(&matches_new, priority, order).unwrap();
                assert!(known.iter().all(|other| other.number != number));
                known.push(Known { number, matches: matches_new, priority, order });
            }
            let key: Vec<u64> = fields
                .iter()
                .map(|field| {
                    let all = mask(field.bits, field.bits);
                    let near = (random.u64(..4) * (all / 3)) & all;
                    if random.u64(..3) == 0 { random.u64(..) & all } else { near }
                })
                .collect();
            let best = known
                .iter()
                .filter_map(|known| Some((matches(known, &fields, &key)?, known)))
                .max_by_key(|(length, known)| {
                    let length = if ranked { 0 } else { *length };
                    (known.priority, length, std::cmp::Reverse(known.order))
                })
                .map_or(0, |(_, known)| known.number);
            packed.push(pack(&places, &key));
            let found = search(&mut searcher, pack(&places, &key));
            assert_eq!(found, best, "{kinds:?} {key:x?}");
            let mut together = [u32::MAX];
            // SAFETY: the finder is alive and unchanged during the call.
            unsafe { searcher.find_all(&[pack(&places, &key)], &mut together) };
            assert_eq!(together, [best], "{kinds:?} {key:x?}");
            hits += u32::from(best != 0);
        }
        assert!(hits > 5, "{kinds:?}: {hits} hits");
        let one_by_one: Vec<u32> = packed.iter().map(|key| search(&mut searcher, *key)).collect();
        let mut together = vec![u32::MAX; packed.len()];
        // SAFETY: the finder is alive and unchanged during the call.
        unsafe { searcher.find_all(&packed, &mut together) };
        assert_eq!(together, one_by_one, "{kinds:?}");
    }
}

/// Tests the function that machine code calls with the address of a key. The test is small enough
/// for Miri.
#[test]
fn an_entry_is_found_by_a_key_in_memory() {
    for kind in [MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary] {
        let fields =
            [MatchField { bits: 8, kind: MatchKind::Exact }, MatchField { bits: 128, kind }];
        let mut finder = Finder::new(&fields, 1).unwrap();
        let value = vec![7; 16];
        let matches = match kind {
            MatchKind::Lpm => FieldMatch::Lpm(value, 128),
            MatchKind::Ternary => FieldMatch::Ternary(value, vec![0xff; 16]),
            MatchKind::Exact | MatchKind::Range | MatchKind::Optional => FieldMatch::Exact(value),
        };
        let matches = [FieldMatch::Exact(vec![0x45]), matches];
        let number = finder.insert(&matches, 1, 0).unwrap();
        let mut searcher = finder.searcher();
        let sevens = u64::from_be_bytes([7; 8]);
        for (first, expected) in [(0x45, number), (0x46, 0)] {
            let key = [first << 56 | sevens >> 8, sevens, 7 << 56];
            // SAFETY: the finder is alive and unchanged during the call, and its keys have
            // three words.
            let found = unsafe { (searcher.find_wide)(&raw mut searcher, key.as_ptr()) };
            assert_eq!(found, u64::from(expected), "{kind:?}");
            // SAFETY: the finder is alive and unchanged during the call.
            assert_eq!(unsafe { (searcher.find)(&raw mut searcher, key[0], key[1]) }, 0);
        }
        finder.remove(number);
    }
}

/// Tests the functions that machine code calls, and those that search for many keys at once. The
/// test is small enough for Miri.
#[test]
fn an_entry_is_found_by_one_key_and_by_many() {
    for kind in [MatchKind::Lpm, MatchKind::Ternary] {
        let mut finder = Finder::new(&[MatchField { bits: 8, kind }], 1).unwrap();
        let matches = match kind {
            MatchKind::Lpm => FieldMatch::Lpm(vec![0x40], 4),
            _ => FieldMatch::Ternary(vec![0x40], vec![0xf0]),
        };
        let priority = u32::from(kind != MatchKind::Lpm);
        let number = finder.insert(&[matches], priority, 0).unwrap();
        let mut searcher = finder.searcher();
        let keys = [0x45_u64, 0x54].map(|key| [key << 56, 0]);
        assert_eq!(keys.map(|key| search(&mut searcher, key)), [number, 0], "{kind:?}");
        let mut together = [u32::MAX; 2];
        // SAFETY: the finder is alive and unchanged during the call.
        unsafe { searcher.find_all(&keys, &mut together) };
        assert_eq!(together, [number, 0], "{kind:?}");
    }
}

/// Returns the number that is found for each key.
fn found(finder: &Finder, keys: &[u64], bits: u32) -> Vec<u32> {
    let mut searcher = finder.searcher();
    keys.iter().map(|key| search(&mut searcher, [key << (64 - bits), 0])).collect()
}

fn of_kind(kind: MatchKind, number: u32) -> FieldMatch {
    let (low, high) = (bytes(u64::from(number) << 4, 32), bytes(u64::from(number) << 4 | 15, 32));
    match kind {
        MatchKind::Lpm => FieldMatch::Lpm(low, if number.is_multiple_of(2) { 28 } else { 30 }),
        MatchKind::Ternary => FieldMatch::Ternary(low, bytes(!15, 64)[4..].to_vec()),
        MatchKind::Range => FieldMatch::Range(low, high),
        MatchKind::Exact | MatchKind::Optional => FieldMatch::Exact(low),
    }
}

#[test]
fn a_change_that_is_prepared_is_not_found_until_it_is_published() {
    for kind in [MatchKind::Lpm, MatchKind::Ternary, MatchKind::Range, MatchKind::Optional] {
        let mut finder = Finder::new(&[MatchField { bits: 32, kind }], 64).unwrap();
        let count = if cfg!(miri) { 8 } else { 300 };
        let keys: Vec<u64> = (0..count).map(|number| u64::from(number) << 4).collect();
        let mut expected = vec![0; keys.len()];
        for number in 0..count {
            // Each insertion is prepared and abandoned once before it is made.
            let matches = [of_kind(kind, number)];
            let first = finder.prepare_insertion(&matches, 1, number.into()).unwrap();
            if number % 50 == 0 {
                assert_eq!(found(&finder, &keys, 32), expected, "{kind:?} {number}");
            }
            finder.abandon();
            let entry = finder.prepare_insertion(&matches, 1, number.into()).unwrap();
            assert_eq!(entry, first);
            finder.publish().unwrap();
            expected[number as usize] = entry;
        }
        assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
        finder.prepare_removal(expected[7]);
        assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
        finder.abandon();
        assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
        finder.remove(expected[7]);
        let last = std::mem::take(&mut expected[7]);
        assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
        expected[7] = finder.insert(&[of_kind(kind, 7)], 1, 7).unwrap();
        assert_eq!(expected[7], last, "the lowest number that is free");
        assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
    }
}

/// Checks that a search structure is rebuilt with the layout of a large one once it has outgrown
/// its own, and with less memory once few entries are left.
#[test]
fn a_search_is_rebuilt_when_it_has_outgrown_its_layout_or_few_entries_are_left() {
    if cfg!(miri) {
        eprintln!("SKIPPED: too many entries for Miri");
        return;
    }
    for (kind, count) in [(MatchKind::Lpm, 70_000), (MatchKind::Ternary, 6_000)] {
        let mut finder = Finder::new(&[MatchField { bits: 32, kind }], 64).unwrap();
        let empty = finder.bytes();
        let mut numbers = Vec::new();
        let mut built = 0;
        for number in 0..count {
            if let Some(rebuilt) = finder.rebuilt() {
                finder.adopt(rebuilt);
                built += 1;
            }
            numbers.push(finder.insert(&[of_kind(kind, number)], 1, number.into()).unwrap());
        }
        assert_eq!(built, usize::from(kind == MatchKind::Lpm), "{kind:?}");
        let full = finder.bytes();
        let left = 20;
        for number in &numbers[left..] {
            finder.remove(*number);
        }
        let rebuilt = finder.rebuilt().expect("few are left");
        let before = finder.adopt(rebuilt);
        finder.shrink();
        drop(before);
        assert!(finder.rebuilt().is_none());
        assert!(finder.bytes() < full / 8 || finder.bytes() <= empty, "{kind:?}");
        let keys: Vec<u64> = (0..100).map(|number| number << 4).collect();
        let mut expected = numbers[..left].to_vec();
        expected.resize(keys.len(), 0);
        assert_eq!(found(&finder, &keys, 32), expected, "{kind:?}");
        // The lowest free number is assigned next.
        assert_eq!(finder.insert(&[of_kind(kind, 50)], 1, 50), Ok(left as u32 + 1));
    }
}

#[test]
fn keys_that_no_search_can_have_are_refused() {
    let of = |kinds: &[(u32, MatchKind)]| {
        let fields: Vec<MatchField> =
            kinds.iter().map(|(bits, kind)| MatchField { bits: *bits, kind: *kind }).collect();
        Finder::new(&fields, 64).map(|_| ())
    };
    assert_eq!(of(&[(1025, MatchKind::Lpm)]), Err(FinderError::TooWide));
    assert_eq!(of(&[(1017, MatchKind::Ternary), (1, MatchKind::Exact)]), Err(FinderError::TooWide));
    assert_eq!(of(&[]), Err(FinderError::TooWide));
    assert_eq!(of(&[(8, MatchKind::Lpm), (8, MatchKind::Lpm)]), Err(FinderError::TwoPrefixes));
    assert_eq!(of(&[(1024, MatchKind::Lpm)]), Ok(()));
}
