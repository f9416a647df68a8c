//! Longest prefix, ternary, range, optional and mixed keys against a scan of all entries.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tables::{
    ActionId, Design, EntryError, EntryLock, FieldMatch, Hit, MatchField, MatchKind, MatchTable,
    MatchTableError, MatchWorker, Options, Storage, Tick, UpdateMethod, Wait,
};

fn designs() -> [Design; 4] {
    [
        Design::shared(Storage::Inline),
        Design {
            entry_lock: EntryLock::None,
            update: UpdateMethod::Change,
            ..Design::shared(Storage::Dynamic)
        },
        Design::double_buffer(Storage::Static, Wait::Quiescent),
        Design::sharded(2),
    ]
}

/// The oracle's view: does this entry match, read from the specification's words and not from masks.
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

/// Every field has this many bits, so that keys are few and entries overlap.
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

fn found(worker: &mut MatchWorker, key: &[u8]) -> Option<u8> {
    worker.lookup(key, |hit| hit.parameters()[0])
}

fn run(design: Design, kinds: &[MatchKind], steps: &[Step]) {
    const SIZE: usize = 20;
    let fields: Vec<_> = kinds.iter().map(|&kind| MatchField { bits: BITS, kind }).collect();
    let table = MatchTable::new(&fields, 1, SIZE, design, &Options::default()).unwrap();
    let mut worker = table.worker().unwrap();
    // Oldest first.
    let mut oracle: Vec<Step> = Vec::new();
    for step in steps {
        let priority = if table.has_priorities() { step.priority } else { 0 };
        let place = oracle
            .iter()
            .position(|other| other.matches == step.matches && other.priority == priority);
        if step.delete {
            let deleted = table.delete(&step.matches, priority);
            match place {
                Some(place) => {
                    assert_eq!(deleted, Ok(()));
                    oracle.remove(place);
                }
                None => assert_eq!(deleted, Err(MatchTableError::Entry(EntryError::NotFound))),
            }
        } else {
            let inserted = table.insert(&step.matches, priority, ActionId(0), &[step.value], None);
            match place {
                Some(_) => assert_eq!(inserted, Err(MatchTableError::Entry(EntryError::Exists))),
                None if oracle.len() == SIZE => {
                    assert_eq!(
                        inserted,
                        Err(MatchTableError::Entry(EntryError::Full { size: SIZE }))
                    );
                }
                None => {
                    assert_eq!(inserted, Ok(()));
                    oracle.push(Step { priority, ..step.clone() });
                }
            }
        }
        assert_eq!(table.len(), oracle.len());
    }
    let count = 1_u32 << (BITS as usize * kinds.len());
    let mut expected = Vec::new();
    let mut keys = Vec::new();
    for number in 0..count {
        let key: Vec<u8> =
            (0..kinds.len()).map(|at| (number >> (BITS as usize * at)) as u8 & 0xf).collect();
        let rank = |step: &Step| {
            let prefix = step.matches.iter().find_map(|wanted| match wanted {
                FieldMatch::Lpm(_, length) => Some(*length),
                _ => None,
            });
            if table.has_priorities() { step.priority } else { prefix.unwrap_or(0) }
        };
        let hits = oracle.iter().filter(|step| {
            step.matches
                .iter()
                .zip(&fields)
                .zip(&key)
                .all(|((wanted, field), &value)| matches(field, wanted, value))
        });
        // `max_by_key` takes the last of equals; the oldest counts.
        let best = hits.rev().max_by_key(|step| rank(step)).map(|step| step.value);
        assert_eq!(found(&mut worker, &key), best, "{design}: key {key:?}");
        expected.push(best);
        keys.extend(key);
    }
    let mut seen = vec![None; expected.len()];
    let mut act = |packet: usize, hit: &mut Hit<'_>| seen[packet] = Some(hit.parameters()[0]);
    worker.apply_batch(&keys, Tick(0), &mut act).unwrap();
    assert_eq!(seen, expected, "{design}");
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

/// Tells the other thread to end when dropped.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Many routes: masks' tables grow while a worker looks up, and it never sees a worse route than the one that is
/// always there.
#[test]
fn lookups_while_routes_come_and_go() {
    let field = MatchField { bits: 32, kind: MatchKind::Lpm };
    let design = Design::shared(Storage::Inline);
    let table = MatchTable::new(&[field], 4, 5000, design, &Options::default()).unwrap();
    table.insert(&route(0x0a00_0000, 8), 0, ActionId(0), &8_u32.to_le_bytes(), None).unwrap();
    let routes: u32 = if cfg!(miri) { 20 } else { 1000 };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Also when an assertion below fails.
        let _done = Done(&done);
        scope.spawn(|| {
            let mut worker = table.worker().unwrap();
            let mut seen = HashMap::new();
            while !done.load(Ordering::SeqCst) {
                let key = 0x0a00_0105_u32;
                let length = worker
                    .lookup(&key.to_be_bytes(), |hit| hit.parameters()[0])
                    .expect("a route to 10/8");
                *seen.entry(length).or_insert(0) += 1;
                std::thread::yield_now();
            }
            assert!(seen.keys().all(|length| [8, 24, 32].contains(length)), "{seen:?}");
        });
        for round in 0..3 {
            for number in 0..routes {
                let at = 0x0a00_0100 + number;
                table.insert(&route(at, 32), 0, ActionId(0), &32_u32.to_le_bytes(), None).unwrap();
                if round == 1 && number == 10 {
                    table
                        .insert(&route(at, 24), 0, ActionId(0), &24_u32.to_le_bytes(), None)
                        .unwrap();
                }
            }
            for number in 0..routes {
                table.delete(&route(0x0a00_0100 + number, 32), 0).unwrap();
            }
        }
    });
    assert_eq!(table.len(), 2);
    let mut worker = table.worker().unwrap();
    assert_eq!(worker.lookup(&0x0a00_0105_u32.to_be_bytes(), |hit| hit.parameters()[0]), Some(24));
    assert_eq!(worker.lookup(&0x0b00_0000_u32.to_be_bytes(), |hit| hit.parameters()[0]), None);
}

#[test]
fn a_packet_writes_the_entry_that_it_matched() {
    let field = MatchField { bits: 8, kind: MatchKind::Ternary };
    let table =
        MatchTable::new(&[field], 4, 8, Design::shared(Storage::Inline), &Options::default())
            .unwrap();
    let wanted = [FieldMatch::Ternary(vec![0x10], vec![0xf0])];
    table.insert(&wanted, 5, ActionId(3), &[], None).unwrap();
    let mut worker = table.worker().unwrap();
    worker
        .apply_batch(&[0x11, 0x12, 0x21], Tick(0), &mut |_: usize, hit: &mut Hit<'_>| {
            hit.parameters_mut()[0] += 1
        })
        .unwrap();
    assert_eq!(table.read(&wanted, 5).unwrap().parameters, [2, 0, 0, 0]);
    table.modify(&wanted, 5, ActionId(4), &[7]).unwrap();
    assert_eq!(table.read(&wanted, 5).unwrap().action, ActionId(4));
    assert!(worker.apply_batch(&[], Tick(0), &mut |_: usize, _: &mut Hit<'_>| ()).is_ok());
}

#[test]
fn tables_and_entries_that_make_no_sense_are_errors() {
    let design = Design::shared(Storage::Inline);
    let table = |fields: &[MatchField]| MatchTable::new(fields, 4, 8, design, &Options::default());
    let lpm = MatchField { bits: 8, kind: MatchKind::Lpm };
    assert_eq!(table(&[lpm, lpm]).unwrap_err(), MatchTableError::TwoPrefixes);
    assert!(matches!(table(&[]).unwrap_err(), MatchTableError::Layout(_)));
    assert!(matches!(
        table(&[MatchField { bits: 0, ..lpm }]).unwrap_err(),
        MatchTableError::Layout(_)
    ));
    assert!(matches!(
        table(&[MatchField { bits: u32::MAX, ..lpm }]).unwrap_err(),
        MatchTableError::Layout(_)
    ));
    let error =
        table(&[lpm]).unwrap().insert(&[FieldMatch::Any], 1, ActionId(0), &[], None).unwrap_err();
    assert_eq!(error, MatchTableError::Priority { priority: 1 });
    let ternary = table(&[MatchField { bits: 8, kind: MatchKind::Ternary }]).unwrap();
    let error = ternary.insert(&[FieldMatch::Any], 0, ActionId(0), &[], None).unwrap_err();
    assert_eq!(error, MatchTableError::Priority { priority: 0 });
}
