//! Every design against a hash map that does the same.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tables::{
    ActionId, AddStatus, Design, EntryError, EntryLock, Hit, Layout, Miss, Placement, Storage,
    Synchronisation, Table, Tick, UpdateMethod, Wait, Worker,
};

/// All designs whose updates come from one thread, without one that waits by the clock.
fn designs() -> Vec<Design> {
    let mut designs = Vec::new();
    for storage in Storage::ALL {
        let shared = Design::shared(storage);
        designs.push(shared);
        designs.push(Design { entry_lock: EntryLock::None, ..shared });
        designs.push(Design {
            entry_lock: EntryLock::None,
            update: UpdateMethod::Change,
            ..shared
        });
        designs.push(Design { storage, ..Design::sharded(1) });
        designs.push(Design {
            storage,
            synchronisation: Synchronisation::Sharded {
                shards: 1,
                placement: Placement::Replicated,
            },
            ..Design::sharded(1)
        });
        designs.push(Design::double_buffer(storage, Wait::Quiescent));
        designs.push(Design::double_buffer(storage, Wait::Fixed(std::time::Duration::ZERO)));
    }
    designs
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u8, u16, u8),
    Modify(u8, u16, u8),
    Delete(u8),
    /// From the data plane.
    WorkerInsert(u8, u16, u8),
    WorkerDelete(u8),
    /// A batch: each key and what its packet does with it.
    Batch(Vec<(u8, Deed)>),
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    Add(u8),
    Read,
    SetAction(u16),
    Delete,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => any::<u8>().prop_map(Deed::Add),
        2 => Just(Deed::Read),
        1 => (0..9_u16).prop_map(Deed::SetAction),
        1 => Just(Deed::Delete),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..24_u8, 0..9_u16, any::<u8>()).prop_map(|(key, action, value)| Step::Insert(key, action, value)),
        1 => (0..24_u8, 0..9_u16, any::<u8>()).prop_map(|(key, action, value)| Step::Modify(key, action, value)),
        2 => (0..24_u8).prop_map(Step::Delete),
        1 => (0..24_u8, 0..9_u16, any::<u8>()).prop_map(|(key, action, value)| Step::WorkerInsert(key, action, value)),
        1 => (0..24_u8).prop_map(Step::WorkerDelete),
        2 => prop::collection::vec((0..24_u8, deed()), 0..80).prop_map(Step::Batch),
    ]
}

/// A key that fits the layout and differs in its first and last byte.
fn key(layout: &Layout, number: u8) -> Vec<u8> {
    let mut key = vec![0; layout.key_bytes()];
    let spare = (layout.key_bytes() * 8) as u32 - layout.key_bits();
    key[0] = (number << 3) >> spare.min(7);
    if let Some(last) = key.last_mut() {
        *last |= number & (0xff >> if layout.key_bytes() == 1 { spare } else { 0 });
    }
    key
}

fn value(layout: &Layout, byte: u8) -> Vec<u8> {
    (0..layout.parameter_bytes()).map(|at| byte.wrapping_add(at as u8)).collect()
}

/// The packets of a batch, in the table and in the oracle.
struct Packets<'a> {
    layout: Layout,
    deeds: &'a [(u8, Deed)],
    seen: Vec<Option<(u16, Vec<u8>)>>,
    added: Vec<(usize, AddStatus)>,
}

impl tables::Actions for Packets<'_> {
    fn hit(&mut self, packet: usize, entry: &mut Hit<'_>) {
        self.seen[packet] = Some((entry.action().0, entry.parameters().to_vec()));
        match self.deeds[packet].1 {
            Deed::Add(number) => {
                entry.parameters_mut().iter_mut().for_each(|byte| *byte = byte.wrapping_add(number))
            }
            Deed::SetAction(action) => entry.set_action(ActionId(action)),
            Deed::Delete => entry.delete(),
            Deed::Read => {}
        }
    }

    fn miss(&mut self, packet: usize, miss: &mut Miss<'_>) {
        if let Deed::Add(number) = self.deeds[packet].1 {
            let status = miss.add_entry(ActionId(1), &value(&self.layout, number), None);
            self.added.push((packet, status));
        }
    }
}

type Oracle = HashMap<Vec<u8>, (u16, Vec<u8>)>;

fn batch(worker: &mut Worker, oracle: &mut Oracle, layout: Layout, deeds: &[(u8, Deed)]) {
    let keys: Vec<u8> = deeds.iter().flat_map(|&(number, _)| key(&layout, number)).collect();
    let mut packets = Packets { layout, deeds, seen: vec![None; deeds.len()], added: Vec::new() };
    worker.apply_batch(&keys, Tick(0), &mut packets).unwrap();
    let mut added = packets.added.into_iter().peekable();
    for (packet, &(number, deed)) in deeds.iter().enumerate() {
        let key = key(&layout, number);
        let full = oracle.len() >= layout.size();
        let entry = oracle.get_mut(&key);
        assert_eq!(packets.seen[packet], entry.as_deref().cloned(), "packet {packet}");
        match (entry, deed) {
            (Some((_, parameters)), Deed::Add(number)) => {
                parameters.iter_mut().for_each(|byte| *byte = byte.wrapping_add(number));
            }
            (Some((action, _)), Deed::SetAction(new)) => *action = new,
            (Some(_), Deed::Delete) => {
                oracle.remove(&key);
            }
            (None, Deed::Add(number)) => {
                let expected = if full { AddStatus::NotDone } else { AddStatus::Added };
                assert_eq!(added.next(), Some((packet, expected)));
                if !full {
                    oracle.insert(key, (1, value(&layout, number)));
                }
            }
            _ => {}
        }
    }
    assert_eq!(added.next(), None);
}

fn run(design: Design, layout: Layout, steps: &[Step]) {
    let table = Table::new(layout, design).unwrap();
    let mut worker = table.worker().unwrap();
    let mut oracle = Oracle::new();
    for step in steps {
        match step {
            Step::Insert(number, action, byte) | Step::WorkerInsert(number, action, byte) => {
                let (key, value) = (key(&layout, *number), value(&layout, *byte));
                let done = match step {
                    Step::Insert(..) => table.insert(&key, ActionId(*action), &value),
                    _ => worker.insert(&key, ActionId(*action), &value, None, Tick(0)),
                };
                let expected = if oracle.contains_key(&key) {
                    Err(EntryError::Exists)
                } else if oracle.len() == layout.size() {
                    Err(EntryError::Full { size: layout.size() })
                } else {
                    oracle.insert(key, (*action, value));
                    Ok(())
                };
                assert_eq!(done, expected);
            }
            Step::Modify(number, action, byte) => {
                let (key, value) = (key(&layout, *number), value(&layout, *byte));
                let done = table.modify(&key, ActionId(*action), &value);
                match oracle.get_mut(&key) {
                    Some(entry) => {
                        assert_eq!(done, Ok(()));
                        *entry = (*action, value);
                    }
                    None => assert_eq!(done, Err(EntryError::NotFound)),
                }
            }
            Step::Delete(number) | Step::WorkerDelete(number) => {
                let key = key(&layout, *number);
                let done = match step {
                    Step::Delete(_) => table.delete(&key),
                    _ => worker.delete(&key),
                };
                assert_eq!(done.is_ok(), oracle.remove(&key).is_some());
            }
            Step::Batch(deeds) => batch(&mut worker, &mut oracle, layout, deeds),
        }
        assert_eq!(table.len(), oracle.len());
    }
    let entries: BTreeMap<_, _> = table
        .entries()
        .into_iter()
        .map(|entry| (entry.key, (entry.action.0, entry.parameters)))
        .collect();
    assert_eq!(entries, oracle.into_iter().collect::<BTreeMap<_, _>>());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(0x7ab1e5), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_design_does_what_a_hash_map_does(
        key_bits in prop::sample::select(vec![5_u32, 8, 20, 32, 48, 64, 104, 128, 136, 2048]),
        parameter_bytes in prop::sample::select(vec![0_usize, 1, 4, 6, 8, 9, 20, 32, 33, 100]),
        size in prop::sample::select(vec![1_usize, 2, 7, 15, 100]),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let layout = Layout::new(key_bits, parameter_bytes, size).unwrap();
        for design in designs() {
            run(design, layout, &steps);
        }
    }
}
