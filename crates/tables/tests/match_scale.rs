//! Compares hundreds and thousands of entries with different masks, ranges and prefixes with a scan
//! of all of them.

mod fields;

use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;
use fields::{has_priorities, key, look_up, table};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tables::{ActionId, Design, FieldMatch, Match, MatchField, MatchKind, Storage, TableWorker};

/// Returns a bit of a field's value, counted from the first.
fn bit(field: &MatchField, value: &[u8], at: u32) -> bool {
    let at = value.len() as u32 * 8 - field.bits + at;
    value[at as usize / 8] >> (7 - at % 8) & 1 == 1
}

/// Returns whether an entry matches according to the oracle, which follows the words of the
/// specification and uses no masks.
fn matches(field: &MatchField, wanted: &FieldMatch, value: &[u8]) -> bool {
    match wanted {
        FieldMatch::Exact(other) => value == other,
        FieldMatch::Lpm(other, length) => {
            (0..*length).all(|at| bit(field, value, at) == bit(field, other, at))
        }
        FieldMatch::Ternary(other, mask) => (0..field.bits)
            .all(|at| !bit(field, mask, at) || bit(field, value, at) == bit(field, other, at)),
        FieldMatch::Range(low, high) => &low[..] <= value && value <= &high[..],
        FieldMatch::Any => true,
    }
}

fn bytes(field: &MatchField) -> usize {
    field.bits.div_ceil(8) as usize
}

/// Draws a value that shares its first bytes with many others, as addresses of one network do.
fn value(random: &mut Rng, field: &MatchField) -> Vec<u8> {
    let mut value: Vec<u8> = (0..bytes(field))
        .map(|_| if random.bool() { random.u8(..3) } else { random.u8(..) })
        .collect();
    if !field.bits.is_multiple_of(8) {
        value[0] &= (1 << (field.bits % 8)) - 1;
    }
    value
}

fn mask(field: &MatchField, length: u32) -> Vec<u8> {
    let padding = 8 * bytes(field) as u32 - field.bits;
    let ones = padding..padding + length;
    let byte = |byte: u32| {
        (0..8).fold(0, |mask, bit| mask << 1 | u8::from(ones.contains(&(8 * byte + bit))))
    };
    (0..bytes(field) as u32).map(byte).collect()
}

fn and(value: &[u8], mask: &[u8]) -> Vec<u8> {
    value.iter().zip(mask).map(|(value, mask)| value & mask).collect()
}

fn wanted(random: &mut Rng, field: &MatchField) -> FieldMatch {
    let one = value(random, field);
    let length = random.u32(..=field.bits);
    match field.kind {
        MatchKind::Exact => FieldMatch::Exact(one),
        MatchKind::Optional if random.bool() => FieldMatch::Any,
        MatchKind::Optional => FieldMatch::Exact(one),
        MatchKind::Lpm => FieldMatch::Lpm(and(&one, &mask(field, length)), length),
        MatchKind::Ternary if random.u8(..8) == 0 => FieldMatch::Any,
        MatchKind::Ternary => {
            let mask = if random.u8(..4) == 0 { value(random, field) } else { mask(field, length) };
            FieldMatch::Ternary(and(&one, &mask), mask)
        }
        MatchKind::Range => {
            let other = if random.u8(..4) == 0 { one.clone() } else { value(random, field) };
            FieldMatch::Range(one.clone().min(other.clone()), one.max(other))
        }
    }
}

/// Draws a value that the entry matches in most cases.
fn near(random: &mut Rng, field: &MatchField, wanted: &FieldMatch) -> Vec<u8> {
    let any = value(random, field);
    if random.u8(..8) == 0 {
        return any;
    }
    match wanted {
        FieldMatch::Exact(other) => other.clone(),
        FieldMatch::Lpm(other, length) => {
            let mask = mask(field, *length);
            any.iter()
                .zip(&mask)
                .zip(other)
                .map(|((any, mask), other)| any & !mask | other)
                .collect()
        }
        FieldMatch::Ternary(other, mask) => any
            .iter()
            .zip(mask)
            .zip(other)
            .map(|((any, mask), other)| any & !mask | other)
            .collect(),
        FieldMatch::Range(low, high) => {
            if random.bool() {
                low.clone()
            } else {
                high.clone()
            }
        }
        FieldMatch::Any => any,
    }
}

struct Known {
    matches: Vec<FieldMatch>,
    priority: u32,
    value: u32,
    /// The key under which the entry is stored.
    key: u128,
}

/// Adds and removes entries, and from time to time looks up keys near them in the table and by a
/// scan.
fn run(fields: &[MatchField], entries: usize, steps: usize, seed: u64) {
    let mut random = Rng::with_seed(seed);
    // Searches have different layouts for small and large declared sizes; both are tested.
    let size = if seed.is_multiple_of(2) { entries } else { entries.max(1 << 16) };
    let table = table(Design::unlocked(Storage::Inline), fields, size);
    let mut worker = TableWorker::new(&table).unwrap();
    // The entries, oldest first.
    let mut oracle: Vec<Known> = Vec::new();
    for step in 0..steps {
        let shrinks = step % (2 * entries) >= entries;
        if !oracle.is_empty() && random.u8(..if shrinks { 2 } else { 5 }) == 0 {
            let gone = oracle.remove(random.usize(..oracle.len()));
            let taken = table.take(gone.key).map(|(_, parameters)| parameters);
            assert_eq!(taken, Some(gone.value.to_le_bytes().to_vec()));
        } else if oracle.len() < entries {
            let matches: Vec<_> = fields.iter().map(|field| wanted(&mut random, field)).collect();
            let priority = if has_priorities(fields) { 1 + random.u32(..50) } else { 0 };
            let value = step as u32;
            // The control plane knows whether an entry exists, so it is not inserted twice.
            let exists =
                oracle.iter().any(|other| other.matches == matches && other.priority == priority);
            if !exists {
                let of = Match::Fields { fields: &matches, priority, order: step as u64 };
                let key = table.insert(of, ActionId(0), &value.to_le_bytes()).unwrap();
                oracle.push(Known { matches, priority, value, key });
            }
        }
        if step % (steps / 20).max(1) == 0 || step + 1 == steps {
            look(fields, &oracle, &mut worker, &mut random);
        }
    }
    assert_eq!(table.len(), oracle.len());
}

fn look(fields: &[MatchField], oracle: &[Known], worker: &mut TableWorker, random: &mut Rng) {
    let mut keys = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..40 {
        let values: Vec<Vec<u8>> = match oracle.get(random.usize(..=oracle.len())) {
            Some(near_by) => fields
                .iter()
                .zip(&near_by.matches)
                .map(|(field, wanted)| near(random, field, wanted))
                .collect(),
            None => fields.iter().map(|field| value(random, field)).collect(),
        };
        let hits = oracle.iter().filter(|entry| {
            let of_field = |((field, wanted), value): ((&MatchField, &FieldMatch), &Vec<u8>)| {
                matches(field, wanted, value)
            };
            fields.iter().zip(&entry.matches).zip(&values).all(of_field)
        });
        let rank = |entry: &&Known| {
            let prefix = entry.matches.iter().find_map(|wanted| match wanted {
                FieldMatch::Lpm(_, length) => Some(*length),
                _ => None,
            });
            if entry.priority > 0 { entry.priority } else { prefix.unwrap_or(0) }
        };
        // `max_by_key` returns the last of equal entries, but the oldest one wins, so the order is
        // reversed.
        expected.push(hits.rev().max_by_key(rank).map(|entry| entry.value));
        keys.push(key(fields, &values));
    }
    assert_eq!(look_up(worker, &keys), expected);
}

fn field(bits: u32, kind: MatchKind) -> MatchField {
    MatchField { bits, kind }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 3 },
        rng_seed: RngSeed::Fixed(0x2c1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_longest_prefix_wins_at_every_width(seed in any::<u64>()) {
        use MatchKind::{Exact, Lpm};
        let (entries, steps) = if cfg!(miri) { (10, 20) } else { (200, 600) };
        for fields in [
            vec![field(1, Lpm)],
            vec![field(9, Lpm)],
            vec![field(32, Lpm)],
            vec![field(33, Lpm)],
            vec![field(48, Lpm), field(9, Exact)],
            vec![field(128, Lpm)],
            vec![field(12, Exact), field(116, Lpm)],
            vec![field(32, Exact), field(7, Exact)],
        ] {
            run(&fields, entries, steps, seed);
        }
    }

    #[test]
    fn the_highest_priority_wins_among_many_masks_and_ranges(seed in any::<u64>()) {
        use MatchKind::{Exact, Lpm, Optional, Range, Ternary};
        let (entries, steps) = if cfg!(miri) { (12, 24) } else { (300, 900) };
        for fields in [
            vec![field(32, Ternary), field(32, Ternary), field(16, Range), field(16, Range), field(8, Optional)],
            vec![field(128, Ternary)],
            vec![field(112, Ternary), field(9, Exact)],
            vec![field(16, Range)],
            vec![field(72, Range), field(7, Ternary)],
            vec![field(40, Ternary), field(20, Lpm), field(60, Range)],
        ] {
            run(&fields, entries, steps, seed);
        }
    }
}

/// A guard that tells the other thread to end when dropped.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Replaces entries for a key so that at every moment one is there: each is added before the other
/// is removed. No packet may miss, even when the memory of removed entries is reused.
fn no_gap(fields: &[MatchField], ways: &[[FieldMatch; 2]], value: &[u8], priority: u32) {
    let table = table(Design::shared(Storage::Inline), fields, 1000);
    let insert = |matches: &FieldMatch, order: usize| {
        let fields = std::slice::from_ref(matches);
        let of = Match::Fields { fields, priority, order: order as u64 };
        table.insert(of, ActionId(0), &[]).unwrap()
    };
    let mut last = insert(&ways[0][0], 0);
    let rounds = if cfg!(miri) { 20 } else { 2000 };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The guard also ends the thread when an assertion below fails.
        let _done = Done(&done);
        scope.spawn(|| {
            let mut worker = TableWorker::new(&table).unwrap();
            let keys = [key(fields, &[value.to_vec()]); 4];
            while !done.load(Ordering::SeqCst) {
                let found = look_up(&mut worker, &keys);
                assert!(found.iter().all(Option::is_some), "a packet found no entry");
                std::thread::yield_now();
            }
        });
        for round in 0..rounds {
            let [_, there] = &ways[round % ways.len()];
            if round % ways.len() == 0 && round > 0 {
                let first = insert(&ways[0][0], 2 * round);
                assert!(table.take(std::mem::replace(&mut last, first)).is_some());
            }
            let next = insert(there, 2 * round + 1);
            assert!(table.take(std::mem::replace(&mut last, next)).is_some());
        }
    });
}

#[test]
fn a_route_that_is_replaced_leaves_no_gap() {
    let route = |address: [u8; 4], length| FieldMatch::Lpm(address.to_vec(), length);
    let (wide, close) = (route([10, 1, 0, 0], 20), route([10, 1, 2, 0], 26));
    let ways = [[wide.clone(), close.clone()], [close, route([10, 0, 0, 0], 12)]];
    no_gap(&[field(32, MatchKind::Lpm)], &ways, &[10, 1, 2, 3], 0);
}

#[test]
fn a_rule_that_is_replaced_leaves_no_gap() {
    let rule = |low: u16, high: u16| {
        FieldMatch::Range(low.to_be_bytes().to_vec(), high.to_be_bytes().to_vec())
    };
    let ways = [[rule(1, 900), rule(500, 500)], [rule(500, 500), rule(3, 65_000)]];
    no_gap(&[field(16, MatchKind::Range)], &ways, &500_u16.to_be_bytes(), 7);
}
