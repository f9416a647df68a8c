//! Compares longest-prefix, ternary, range, optional and mixed keys with a scan of all entries.

mod fields;
mod wide_keys;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use fields::{has_priorities, key, look_up, table};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tables::{
    ActionId, Design, FieldMatch, FinderError, Hit, Keys, Match, MatchField, MatchKind,
    PackedTable, Storage, TableError, TableSettings, TableWorker, UpdateMethod, Wait,
};

fn designs() -> [Design; 4] {
    [
        Design::shared(Storage::Inline),
        Design { update: UpdateMethod::Change, ..Design::unlocked(Storage::Dynamic) },
        Design::double_buffer(Storage::Static, Wait::Quiescent),
        Design::sharded(2),
    ]
}

/// Returns whether an entry matches according to the oracle, which follows the words of the
/// specification and uses no masks.
fn matches(field: &MatchField, wanted: &FieldMatch, value: u8) -> bool {
    match wanted {
        FieldMatch::Exact(other) => value == other[0],
        FieldMatch::Lpm(other, length) => {
            *length == 0 || (value ^ other[0]) >> (field.bits - length) == 0
        }
        FieldMatch::Ternary(other, mask) => value & mask[0] == other[0] & mask[0],
        FieldMatch::Range(low, high) => low[0] <= value && value <= high[0],
        FieldMatch::Any => true,
    }
}

/// The number of bits of every field, small so that keys are few and entries overlap.
const BITS: u32 = 4;

fn field_match(kind: MatchKind) -> BoxedStrategy<FieldMatch> {
    let value = || 0..1_u8 << BITS;
    match kind {
        MatchKind::Exact => value().prop_map(|value| FieldMatch::Exact(vec![value])).boxed(),
        MatchKind::Optional => prop_oneof![
            value().prop_map(|value| FieldMatch::Exact(vec![value])),
            Just(FieldMatch::Any)
        ]
        .boxed(),
        MatchKind::Lpm => (value(), 0..=BITS)
            .prop_map(|(value, length)| {
                FieldMatch::Lpm(vec![value & (0xf_u8 << (BITS - length)) & 0xf], length)
            })
            .boxed(),
        MatchKind::Ternary => (value(), value())
            .prop_map(|(value, mask)| FieldMatch::Ternary(vec![value & mask], vec![mask]))
            .boxed(),
        MatchKind::Range => (value(), value())
            .prop_map(|(one, other)| FieldMatch::Range(vec![one.min(other)], vec![one.max(other)]))
            .boxed(),
    }
}

#[derive(Debug, Clone)]
struct Step {
    matches: Vec<FieldMatch>,
    priority: u32,
    delete: bool,
    value: u8,
}

fn scenario() -> impl Strategy<Value = (Vec<MatchKind>, Vec<Step>)> {
    let kinds = prop::sample::select(vec![
        vec![MatchKind::Lpm],
        vec![MatchKind::Exact, MatchKind::Lpm],
        vec![MatchKind::Ternary],
        vec![MatchKind::Range],
        vec![MatchKind::Optional, MatchKind::Exact],
        vec![MatchKind::Ternary, MatchKind::Lpm],
        vec![MatchKind::Range, MatchKind::Optional],
    ]);
    kinds.prop_flat_map(|kinds| {
        let matches: Vec<_> = kinds.iter().map(|&kind| field_match(kind)).collect();
        let step = (matches, 1..4_u32, prop::bool::weighted(0.3), any::<u8>()).prop_map(
            |(matches, priority, delete, value)| Step { matches, priority, delete, value },
        );
        (Just(kinds), prop::collection::vec(step, 1..60))
    })
}

fn run(design: Design, kinds: &[MatchKind], steps: &[Step]) {
    let fields: Vec<_> = kinds.iter().map(|&kind| MatchField { bits: BITS, kind }).collect();
    let has_priorities = has_priorities(&fields);
    let table = table(design, &fields, 20);
    let mut worker = TableWorker::new(&table).unwrap();
    // The entries, oldest first, each with the key under which it is stored.
    let mut oracle: Vec<(Step, u128)> = Vec::new();
    for (order, step) in steps.iter().enumerate() {
        let priority = if has_priorities { step.priority } else { 0 };
        let place = oracle
            .iter()
            .position(|(other, _)| other.matches == step.matches && other.priority == priority);
        match place {
            Some(place) if step.delete => {
                let (gone, key) = oracle.remove(place);
                let taken = table.take(key).map(|(_, parameters)| parameters[0]);
                assert_eq!(taken, Some(gone.value));
            }
            // The control plane knows whether an entry exists, so it is not inserted twice.
            Some(_) => {}
            None if step.delete => {}
            None => {
                let of = Match::Fields { fields: &step.matches, priority, order: order as u64 };
                let key = table.insert(of, ActionId(0), &[step.value]).unwrap();
                oracle.push((Step { priority, ..step.clone() }, key));
            }
        }
        assert_eq!(table.len(), oracle.len());
    }
    let count = 1_u32 << (BITS as usize * kinds.len());
    let mut expected = Vec::new();
    let mut keys = Vec::new();
    for number in 0..count {
        let values: Vec<u8> =
            (0..kinds.len()).map(|at| (number >> (BITS as usize * at)) as u8 & 0xf).collect();
        let rank = |step: &Step| {
            let prefix = step.matches.iter().find_map(|wanted| match wanted {
                FieldMatch::Lpm(_, length) => Some(*length),
                _ => None,
            });
            if has_priorities { step.priority } else { prefix.unwrap_or(0) }
        };
        let hits = oracle.iter().map(|(step, _)| step).filter(|step| {
            step.matches
                .iter()
                .zip(&fields)
                .zip(&values)
                .all(|((wanted, field), &value)| matches(field, wanted, value))
        });
        // `max_by_key` returns the last of equal entries, but the oldest one wins, so the order is
        // reversed.
        let best = hits.rev().max_by_key(|step| rank(step)).map(|step| u32::from(step.value));
        let values: Vec<Vec<u8>> = values.into_iter().map(|value| vec![value]).collect();
        keys.push(key(&fields, &values));
        assert_eq!(look_up(&mut worker, &keys[keys.len() - 1..]), [best], "{design}: {values:?}");
        expected.push(best);
    }
    assert_eq!(look_up(&mut worker, &keys), expected, "{design}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48, rng_seed: RngSeed::Fixed(0x1b3), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_best_entry_is_found_for_every_key((kinds, steps) in scenario()) {
        for design in designs() {
            run(design, &kinds, &steps);
        }
    }
}

fn route(number: u32, length: u32) -> [FieldMatch; 1] {
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    [FieldMatch::Lpm((number & mask).to_be_bytes().to_vec(), length)]
}

/// A guard that tells the other thread to end when dropped.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Inserts and removes many routes: the search grows while a worker looks up, and the worker must
/// never find a worse route than the one that is always there.
#[test]
fn a_permanent_route_is_found_while_others_are_inserted_and_removed() {
    let field = [MatchField { bits: 32, kind: MatchKind::Lpm }];
    let table = table(Design::shared(Storage::Inline), &field, 5000);
    let insert = |address: u32, length: u32| {
        let fields = &route(address, length);
        let of = Match::Fields { fields, priority: 0, order: 0 };
        table.insert(of, ActionId(0), &length.to_le_bytes()).unwrap()
    };
    insert(0x0a00_0000, 8);
    let packet = |address: u32| key(&field, &[address.to_be_bytes().to_vec()]);
    let routes: u32 = if cfg!(miri) { 20 } else { 1000 };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The guard also ends the thread when an assertion below fails.
        let _done = Done(&done);
        scope.spawn(|| {
            let mut worker = TableWorker::new(&table).unwrap();
            let mut seen = HashMap::new();
            while !done.load(Ordering::SeqCst) {
                let found = look_up(&mut worker, &[packet(0x0a00_0105)]);
                *seen.entry(found[0].expect("a route to 10/8")).or_insert(0) += 1;
                std::thread::yield_now();
            }
            assert!(seen.keys().all(|length| [8, 24, 32].contains(length)), "{seen:?}");
        });
        for round in 0..3 {
            let mut inserted = Vec::new();
            for number in 0..routes {
                let at = 0x0a00_0100 + number;
                inserted.push(insert(at, 32));
                if round == 1 && number == 10 {
                    insert(at, 24);
                }
            }
            for key in inserted {
                assert!(table.take(key).is_some());
            }
        }
    });
    assert_eq!(table.len(), 2);
    let mut worker = TableWorker::new(&table).unwrap();
    let found = look_up(&mut worker, &[packet(0x0a00_0105), packet(0x0b00_0000)]);
    assert_eq!(found, [Some(24), None]);
}

#[test]
fn a_packet_writes_the_entry_that_it_matched() {
    let field = [MatchField { bits: 8, kind: MatchKind::Ternary }];
    let table = table(Design::shared(Storage::Inline), &field, 8);
    let fields = &[FieldMatch::Ternary(vec![0x10], vec![0xf0])];
    let of = Match::Fields { fields, priority: 5, order: 0 };
    let entry = table.insert(of, ActionId(0), &[]).unwrap();
    let mut worker = TableWorker::new(&table).unwrap();
    let keys = [0x11, 0x12, 0x21].map(|value| key(&field, &[vec![value]]));
    worker.apply(&keys, &mut |_: usize, hit: &mut Hit<'_>| hit.parameters_mut()[0] += 1);
    worker.apply(&[], &mut |_: usize, _: &mut Hit<'_>| ());
    assert_eq!(table.read(entry), Some((ActionId(0), vec![2, 0, 0, 0])));
    assert_eq!(table.lookups(), (2, 1));
}

#[test]
fn invalid_tables_are_errors() {
    let table = |fields: &[MatchField]| {
        let settings = TableSettings {
            design: Design::shared(Storage::Inline),
            keys: Keys::Fields { fields, size: 8 },
            parameter_bytes: 4,
            actions: 1,
            writing: 1,
            writes_words: true,
        };
        PackedTable::new(&std::sync::Arc::default(), &settings).map(|_| ())
    };
    let lpm = MatchField { bits: 8, kind: MatchKind::Lpm };
    assert_eq!(table(&[lpm]), Ok(()));
    assert_eq!(table(&[lpm, lpm]), Err(TableError::Search(FinderError::TwoPrefixes)));
    assert_eq!(table(&[]), Err(TableError::Search(FinderError::TooWide)));
    for bits in [0, 1025, u32::MAX] {
        let fields = [MatchField { bits, ..lpm }];
        assert_eq!(table(&fields), Err(TableError::Search(FinderError::TooWide)));
    }
}

#[test]
fn an_entry_of_another_kind_than_the_keys_is_refused() {
    let field = [MatchField { bits: 8, kind: MatchKind::Lpm }];
    let table = table(Design::shared(Storage::Inline), &field, 8);
    assert_eq!(table.insert(Match::Exact(1), ActionId(0), &[]), Err(TableError::OtherKind));
}
