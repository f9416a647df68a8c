//! Tests that a packed table of every design behaves like a map, for random sequences of
//! insertions, changes, removals, batches of packets, and workers that join and leave.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tables::{
    ActionId, Actions, Design, ExactTableError, Hit, Keys, Match, PackedTable, Storage,
    Synchronisation, TableError, TableSettings, TableWorker, UpdateMethod, Wait,
};

/// The number of actions of the tables. Actions with odd numbers only read their entry.
const ACTIONS: u16 = 9;

/// Returns all designs whose updates are made by one thread, except those that wait for a time.
fn designs() -> Vec<Design> {
    let mut designs = Vec::new();
    for storage in Storage::ALL {
        let unlocked = Design::unlocked(storage);
        designs.extend([
            unlocked,
            Design::shared(storage),
            Design { update: UpdateMethod::Change, ..unlocked },
            Design { synchronisation: Synchronisation::sharded(2), ..unlocked },
            Design::double_buffer(storage, Wait::Quiescent),
            Design::double_buffer(storage, Wait::Fixed(std::time::Duration::ZERO)),
        ]);
    }
    designs
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u8, u16, u8),
    Change(u8, u16, u8),
    Remove(u8),
    /// A batch of packets, given by the key of each and the number that it adds to each byte of its
    /// entry.
    Batch(Vec<(u8, u8)>),
    /// A second worker joins or leaves.
    Worker,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..24_u8;
    prop_oneof![
        4 => (key(), 0..ACTIONS, any::<u8>()).prop_map(|(key, action, value)| Step::Insert(key, action, value)),
        1 => (key(), 0..ACTIONS, any::<u8>()).prop_map(|(key, action, value)| Step::Change(key, action, value)),
        2 => key().prop_map(Step::Remove),
        2 => prop::collection::vec((key(), any::<u8>()), 0..80).prop_map(Step::Batch),
        1 => Just(Step::Worker),
    ]
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    key_bits: u32,
    parameter_bytes: usize,
}

impl Shape {
    /// Returns a key that differs from others in its lowest and highest bits.
    fn key(self, number: u8) -> u128 {
        let number = u128::from(number);
        let high = number.rotate_right(5) >> (128 - self.key_bits);
        (high | number) & (u128::MAX >> (128 - self.key_bits))
    }

    fn value(self, byte: u8) -> Vec<u8> {
        (0..self.parameter_bytes).map(|at| byte.wrapping_add(at as u8)).collect()
    }
}

/// The packets of a batch, and the entries that they saw.
struct Packets<'a> {
    adds: &'a [(u8, u8)],
    seen: Vec<Option<(u16, Vec<u8>)>>,
}

/// Returns whether an action writes its entry.
fn writes(action: u16) -> bool {
    action.is_multiple_of(2)
}

impl Actions for Packets<'_> {
    fn hit(&mut self, packet: usize, entry: &mut Hit<'_>) {
        let action = entry.action().0;
        self.seen[packet] = Some((action, entry.parameters().to_vec()));
        if writes(action) {
            let added = self.adds[packet].1;
            entry.parameters_mut().iter_mut().for_each(|byte| *byte = byte.wrapping_add(added));
        }
    }
}

type Oracle = BTreeMap<u128, (u16, Vec<u8>)>;

fn batch(worker: &mut TableWorker, oracle: &mut Oracle, shape: Shape, adds: &[(u8, u8)]) {
    let key = |&(number, _): &(u8, u8)| {
        let key = shape.key(number);
        [key as u64, (key >> 64) as u64]
    };
    let keys: Vec<[u64; 2]> = adds.iter().map(key).collect();
    let mut packets = Packets { adds, seen: vec![None; adds.len()] };
    worker.prefetch(&keys);
    worker.apply(&keys, &mut packets);
    for (&(number, added), seen) in adds.iter().zip(packets.seen) {
        let entry = oracle.get_mut(&shape.key(number));
        assert_eq!(seen, entry.as_deref().cloned());
        if let Some((action, value)) = entry
            && writes(*action)
        {
            value.iter_mut().for_each(|byte| *byte = byte.wrapping_add(added));
        }
    }
}

fn run(design: Design, shape: Shape, steps: &[Step]) {
    let settings = TableSettings {
        design,
        keys: Keys::Exact { bits: shape.key_bits },
        parameter_bytes: shape.parameter_bytes,
        actions: ACTIONS,
        writing: (0..ACTIONS).filter(|action| writes(*action)).map(|action| 1 << action).sum(),
        writes_words: false,
    };
    let table = Arc::new(PackedTable::new(&Arc::default(), &settings).unwrap());
    let mut worker = TableWorker::new(&table).unwrap();
    let mut other = None;
    let mut oracle = Oracle::new();
    for step in steps {
        match step {
            Step::Insert(number, action, byte) => {
                let (key, value) = (shape.key(*number), shape.value(*byte));
                let inserted = table.insert(Match::Exact(key), ActionId(*action), &value);
                if let std::collections::btree_map::Entry::Vacant(entry) = oracle.entry(key) {
                    assert_eq!(inserted, Ok(key));
                    entry.insert((*action, value));
                } else {
                    assert_eq!(inserted, Err(TableError::Entries(ExactTableError::Exists)));
                }
            }
            Step::Change(number, action, byte) => {
                let (key, value) = (shape.key(*number), shape.value(*byte));
                let before = table.change(key, |_, _| Some((ActionId(*action), value.clone())));
                let before = before.map(|(action, value)| (action.0, value));
                let known = oracle.get_mut(&key);
                assert_eq!(before, known.as_deref().cloned());
                if let Some(known) = known {
                    *known = (*action, value);
                }
            }
            Step::Remove(number) => {
                let key = shape.key(*number);
                let taken = table.take(key).map(|(action, value)| (action.0, value));
                assert_eq!(taken, oracle.remove(&key));
            }
            Step::Batch(adds) => batch(&mut worker, &mut oracle, shape, adds),
            Step::Worker => {
                other = match other {
                    Some(_) => None,
                    None => Some(TableWorker::new(&table).unwrap()),
                };
            }
        }
        assert_eq!(table.len(), oracle.len());
    }
    drop(other);
    for number in 0..24 {
        let key = shape.key(number);
        let found = table.read(key).map(|(action, value)| (action.0, value));
        assert_eq!(found, oracle.get(&key).cloned(), "{design}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(0x7ab1e5), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_design_does_what_a_map_does(
        key_bits in prop::sample::select(vec![5_u32, 8, 20, 32, 48, 64, 104, 128]),
        parameter_bytes in prop::sample::select(vec![1_usize, 4, 6, 8, 9, 20, 32]),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        for design in designs() {
            run(design, Shape { key_bits, parameter_bytes }, &steps);
        }
    }
}
