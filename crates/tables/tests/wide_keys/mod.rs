//! Compares tables with keys of 129 to 1,024 bits with a scan of all entries, and looks up in them
//! while entries come and go.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tables::{
    ActionId, Design, FieldMatch, Finder, FinderError, Hit, Keys, Match, MatchField, MatchKind,
    PackedTable, Storage, TableError, TableSettings, TableWorker,
};

use super::fields::{has_priorities, table};
use super::{Done, designs};

/// Returns the key in memory of a packet whose fields have these values.
fn key(fields: &[MatchField], values: &[Vec<u8>]) -> Vec<u64> {
    let places = Finder::places(fields).expect("fields that fit a key");
    let count = Finder::words_in_memory(fields).expect("fields of more than 128 bits");
    let mut words = vec![0; count];
    for (value, place) in values.iter().zip(places) {
        for (byte, above) in value.iter().rev().zip((place as usize..).step_by(8)) {
            let byte = u128::from(*byte) << (above % 64);
            words[count - 1 - above / 64] |= byte as u64;
            if byte >> 64 > 0 {
                words[count - 2 - above / 64] |= (byte >> 64) as u64;
            }
        }
    }
    words
}

/// Returns the number in the entry that each key matches.
fn look_up(worker: &mut TableWorker, keys: &[u64], count: usize) -> Vec<Option<u32>> {
    let mut seen = vec![None; count];
    worker.apply_wide(keys, &mut |packet: usize, hit: &mut Hit<'_>| {
        seen[packet] = hit.parameters().first_chunk().map(|value| u32::from_le_bytes(*value));
    });
    seen
}

/// Returns a value of `bits` bits whose highest two bits and lowest two bits are those of a number
/// of four bits, so that values are few and matches overlap at both ends of a field.
fn spread(bits: u32, number: u8) -> Vec<u8> {
    let mut value = vec![0; bits.div_ceil(8) as usize];
    let mut set = |position: u32| {
        let last = value.len() - 1;
        value[last - position as usize / 8] |= 1 << (position % 8);
    };
    let positions = [bits - 1, bits - 2, 1, 0];
    for (at, position) in positions.into_iter().enumerate() {
        if number >> (3 - at) & 1 == 1 {
            set(position);
        }
    }
    value
}

/// Returns the mask of the first `length` of `bits` bits.
fn prefix(bits: u32, length: u32) -> Vec<u8> {
    let mut mask = vec![0; bits.div_ceil(8) as usize];
    let last = mask.len() - 1;
    for position in bits - length..bits {
        mask[last - position as usize / 8] |= 1 << (position % 8);
    }
    mask
}

fn and(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one & other).collect()
}

/// Returns whether an entry matches a value, by the words of the P4Runtime specification.
fn matches(field: &MatchField, wanted: &FieldMatch, value: &[u8]) -> bool {
    match wanted {
        FieldMatch::Exact(other) => value == other,
        FieldMatch::Lpm(other, length) => and(value, &prefix(field.bits, *length)) == *other,
        FieldMatch::Ternary(other, mask) => and(value, mask) == *other,
        FieldMatch::Range(low, high) => &low[..] <= value && value <= &high[..],
        FieldMatch::Any => true,
    }
}

fn field_match(MatchField { bits, kind }: MatchField) -> BoxedStrategy<FieldMatch> {
    let value = move || (0..16_u8).prop_map(move |number| spread(bits, number));
    let exact = move || value().prop_map(FieldMatch::Exact);
    match kind {
        MatchKind::Exact => exact().boxed(),
        MatchKind::Optional => prop_oneof![exact(), Just(FieldMatch::Any)].boxed(),
        MatchKind::Lpm => {
            let lengths = vec![0, 1, 2, bits / 2, bits - 2, bits - 1, bits];
            (value(), prop::sample::select(lengths))
                .prop_map(move |(value, length)| {
                    FieldMatch::Lpm(and(&value, &prefix(bits, length)), length)
                })
                .boxed()
        }
        MatchKind::Ternary => (value(), value())
            .prop_map(|(value, mask)| FieldMatch::Ternary(and(&value, &mask), mask))
            .boxed(),
        MatchKind::Range => (value(), value())
            .prop_map(|(one, other)| {
                FieldMatch::Range(one.clone().min(other.clone()), one.max(other))
            })
            .boxed(),
    }
}

/// A change that the control plane makes.
#[derive(Debug, Clone)]
enum What {
    Insert,
    Delete,
    Modify,
}

#[derive(Debug, Clone)]
struct Step {
    what: What,
    matches: Vec<FieldMatch>,
    priority: u32,
    value: u32,
    /// The fields of a packet that is looked up after the step.
    packet: Vec<u8>,
}

fn scenario() -> impl Strategy<Value = (Vec<MatchField>, Vec<Step>)> {
    use MatchKind::{Exact, Lpm, Optional, Range, Ternary};
    let kinds: Vec<Vec<(u32, MatchKind)>> = vec![
        vec![(10, Exact), (128, Exact)],
        vec![(129, Exact)],
        vec![(512, Exact), (3, Exact), (509, Exact)],
        vec![(128, Lpm), (10, Exact)],
        vec![(200, Lpm)],
        vec![(65, Exact), (64, Lpm), (9, Exact)],
        vec![(128, Ternary), (128, Ternary), (9, Optional)],
        vec![(320, Ternary)],
        vec![(96, Range), (64, Ternary), (17, Range)],
        vec![(130, Optional), (5, Exact)],
        vec![(400, Range), (600, Ternary), (7, Lpm)],
    ];
    let fields = prop::sample::select(kinds).prop_map(|kinds| {
        kinds.into_iter().map(|(bits, kind)| MatchField { bits, kind }).collect::<Vec<_>>()
    });
    fields.prop_flat_map(|fields| {
        let matches: Vec<_> = fields.iter().map(|&field| field_match(field)).collect();
        let what =
            prop_oneof![5 => Just(What::Insert), 2 => Just(What::Delete), 2 => Just(What::Modify)];
        let packet = prop::collection::vec(0..16_u8, fields.len());
        let step = (what, matches, 1..4_u32, any::<u32>(), packet).prop_map(
            |(what, matches, priority, value, packet)| Step {
                what,
                matches,
                priority,
                value,
                packet,
            },
        );
        (Just(fields), prop::collection::vec(step, 1..80))
    })
}

/// An entry of the oracle, with the key under which the table stores it.
struct Known {
    matches: Vec<FieldMatch>,
    priority: u32,
    value: u32,
    key: u128,
}

/// Returns the number of the best of the entries, which are in order of their insertion.
fn best(fields: &[MatchField], known: &[Known], values: &[Vec<u8>]) -> Option<u32> {
    let fits = |entry: &&Known| {
        let mut all = entry.matches.iter().zip(fields).zip(values);
        all.all(|((wanted, field), value)| matches(field, wanted, value))
    };
    let rank = |entry: &&Known| {
        let prefix = entry.matches.iter().find_map(|wanted| match wanted {
            FieldMatch::Lpm(_, length) => Some(*length),
            _ => None,
        });
        if has_priorities(fields) { entry.priority } else { prefix.unwrap_or(0) }
    };
    // `max_by_key` returns the last of equal entries, but the oldest one wins.
    known.iter().filter(fits).rev().max_by_key(rank).map(|entry| entry.value)
}

fn run(design: Design, fields: &[MatchField], steps: &[Step]) {
    let ranked = has_priorities(fields);
    let table = table(design, fields, 4);
    assert_eq!(table.words_in_memory(), Finder::words_in_memory(fields));
    let mut worker = TableWorker::new(&table).unwrap();
    let mut known: Vec<Known> = Vec::new();
    let (mut keys, mut packets) = (Vec::new(), Vec::new());
    for (order, step) in steps.iter().enumerate() {
        let priority = if ranked { step.priority } else { 0 };
        // A deletion or modification usually means an entry that exists.
        let place = match step.what {
            What::Insert => known
                .iter()
                .position(|other| other.matches == step.matches && other.priority == priority),
            What::Delete | What::Modify => {
                (!known.is_empty()).then(|| step.value as usize % known.len())
            }
        };
        match (&step.what, place) {
            (What::Delete, Some(place)) => {
                let gone = known.remove(place);
                let taken = table.take(gone.key).map(|(_, parameters)| parameters);
                assert_eq!(taken, Some(gone.value.to_le_bytes().to_vec()), "{design}");
            }
            (What::Modify, Some(place)) => {
                let entry = &mut known[place];
                let bytes = step.value.to_le_bytes().to_vec();
                let before = table.change(entry.key, |action, _| Some((action, bytes)));
                let before = before.map(|(_, parameters)| parameters);
                assert_eq!(before, Some(entry.value.to_le_bytes().to_vec()), "{design}");
                entry.value = step.value;
            }
            (What::Insert, None) => {
                let of = Match::Fields { fields: &step.matches, priority, order: order as u64 };
                let key = table.insert(of, ActionId(0), &step.value.to_le_bytes()).unwrap();
                let (matches, value) = (step.matches.clone(), step.value);
                known.push(Known { matches, priority, value, key });
            }
            _ => {}
        }
        assert_eq!(table.len(), known.len());
        let of = |(field, number): (&MatchField, &u8)| spread(field.bits, *number);
        let values: Vec<Vec<u8>> = fields.iter().zip(&step.packet).map(of).collect();
        let packet = key(fields, &values);
        let expected = best(fields, &known, &values);
        assert_eq!(look_up(&mut worker, &packet, 1), [expected], "{design}: {values:x?}");
        keys.extend(packet);
        packets.push(values);
    }
    let expected: Vec<Option<u32>> =
        packets.iter().map(|values| best(fields, &known, values)).collect();
    assert_eq!(look_up(&mut worker, &keys, packets.len()), expected, "{design}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96, rng_seed: RngSeed::Fixed(0x1b4), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_best_entry_of_wide_keys_is_found((fields, steps) in scenario()) {
        for design in designs() {
            run(design, &fields, &steps);
        }
    }
}

/// A worker looks up a key that always matches, while hundreds of entries come, change and go, for
/// which the search grows and shrinks. The worker must find the entry of its key every time, and
/// with one of the two values that it has.
#[test]
fn lookups_while_wide_entries_come_and_go() {
    let exact = [
        MatchField { bits: 10, kind: MatchKind::Exact },
        MatchField { bits: 128, kind: MatchKind::Exact },
    ];
    let prefix = [
        MatchField { bits: 10, kind: MatchKind::Exact },
        MatchField { bits: 128, kind: MatchKind::Lpm },
    ];
    let rules = [
        MatchField { bits: 64, kind: MatchKind::Optional },
        MatchField { bits: 128, kind: MatchKind::Ternary },
    ];
    for fields in [exact, prefix, rules] {
        let table = table(Design::shared(Storage::Inline), &fields, 4);
        let ranked = has_priorities(&fields);
        let values = |number: u32| {
            let mut address = vec![0x20; 16];
            address[12..].copy_from_slice(&number.to_be_bytes());
            [vec![0; fields[0].bits.div_ceil(8) as usize], address]
        };
        let insert = |number: u32| {
            let [first, address] = values(number);
            let matches = [
                FieldMatch::Exact(first),
                match fields[1].kind {
                    MatchKind::Lpm => FieldMatch::Lpm(address, 128),
                    MatchKind::Ternary => FieldMatch::Ternary(address, vec![0xff; 16]),
                    MatchKind::Exact | MatchKind::Range | MatchKind::Optional => {
                        FieldMatch::Exact(address)
                    }
                },
            ];
            let of = Match::Fields { fields: &matches, priority: u32::from(ranked), order: 0 };
            table.insert(of, ActionId(0), &number.to_le_bytes()).unwrap()
        };
        let stays = insert(7);
        let packet = key(&fields, &values(7));
        let others: u32 = if cfg!(miri) { 20 } else { 700 };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // The guard also ends the thread when an assertion below fails.
            let guard = Done(&done);
            let looked_up = scope.spawn(|| {
                let mut worker = TableWorker::new(&table).unwrap();
                let mut count = 0;
                while !done.load(Ordering::SeqCst) || count == 0 {
                    let found = look_up(&mut worker, &packet, 1)[0];
                    assert!(matches!(found, Some(7 | 77)), "{found:?}");
                    count += 1;
                    std::thread::yield_now();
                }
                count
            });
            for _ in 0..2 {
                let inserted: Vec<u128> = (100..100 + others).map(insert).collect();
                table.change(stays, |action, _| Some((action, 77_u32.to_le_bytes().to_vec())));
                for key in inserted {
                    assert!(table.take(key).is_some());
                }
                table.change(stays, |action, _| Some((action, 7_u32.to_le_bytes().to_vec())));
            }
            drop(guard);
            assert!(looked_up.join().unwrap() > 0);
        });
        assert_eq!(table.len(), 1);
        let mut worker = TableWorker::new(&table).unwrap();
        let two = [packet, key(&fields, &values(8))].concat();
        assert_eq!(look_up(&mut worker, &two, 2), [Some(7), None]);
    }
}

#[test]
fn keys_that_are_too_wide_are_refused_and_narrow_ones_have_no_words_in_memory() {
    let table = |bits: u32, kind: MatchKind| {
        let settings = TableSettings {
            design: Design::shared(Storage::Inline),
            keys: Keys::Fields { fields: &[MatchField { bits, kind }], size: 8 },
            parameter_bytes: 4,
            actions: 1,
            writing: 1,
            writes_words: true,
        };
        PackedTable::new(&std::sync::Arc::default(), &settings).map(|table| table.words_in_memory())
    };
    for kind in [MatchKind::Exact, MatchKind::Lpm, MatchKind::Ternary] {
        assert_eq!(table(128, kind), Ok(None));
        assert_eq!(table(129, kind), Ok(Some(3)));
        assert_eq!(table(1024, kind), Ok(Some(16)));
        assert_eq!(table(1025, kind), Err(TableError::Search(FinderError::TooWide)));
    }
}
