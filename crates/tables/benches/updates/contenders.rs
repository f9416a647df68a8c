//! Tables and maps that do the same.

use std::sync::atomic::{AtomicU32, Ordering};

use tables::{
    ActionId, Design, EntryLock, Hit, Layout, Storage, Synchronisation, Table, Tick, Worker,
};

/// A filled table with keys from 0 and values equal to keys.
pub(crate) trait Contender {
    fn name(&self) -> &str;
    /// Flips the value of each key by `mask`; the sum of the old values.
    fn update(&mut self, keys: &[u32], mask: u32) -> u64;
}

pub(crate) fn all(size: u32) -> Vec<Box<dyn Contender>> {
    let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
    contenders.push(Box::new(Ours::new(Design::sharded(1), size, 256)));
    contenders.push(Box::new(Ours::new(Design::sharded(1), size, 32).announcing()));
    for storage in [Storage::Inline, Storage::Static, Storage::Dynamic, Storage::Original] {
        contenders.push(Box::new(Ours::new(Design { storage, ..Design::sharded(1) }, size, 32)));
        let locked = Design::shared(storage);
        contenders.push(Box::new(Ours::new(
            Design { entry_lock: EntryLock::None, ..locked },
            size,
            32,
        )));
        contenders.push(Box::new(Ours::new(locked, size, 32)));
    }
    contenders.push(Box::new(Hashbrown((0..size).map(|key| (key, key)).collect())));
    let papaya = (0..size).map(|key| (key, AtomicU32::new(key)));
    contenders.push(Box::new(Papaya(papaya.collect())));
    contenders.push(Box::new(Dashmap((0..size).map(|key| (key, key)).collect())));
    contenders
}

/// A table with `size` entries, filled by the control plane.
pub(crate) fn filled(design: Design, size: u32) -> Table {
    let layout = Layout::new(32, 4, size as usize).expect("a layout of the benchmark");
    let table = Table::new(layout, design).expect("memory for the benchmark");
    for key in 0..size {
        table
            .insert(&key.to_be_bytes(), ActionId(0), &key.to_le_bytes())
            .expect("room for the declared size");
    }
    table
}

struct Ours {
    name: String,
    worker: Worker,
    /// Keys of one call. Beyond 32, the table fetches ahead without a break.
    call: usize,
    /// Each call is preceded by a prefetch of the next one's keys.
    announce: bool,
}

impl Ours {
    fn new(design: Design, size: u32, call: usize) -> Self {
        let worker = filled(design, size).worker().expect("a first worker");
        let lock = match (design.synchronisation, design.entry_lock) {
            (Synchronisation::Sharded { .. }, _) => "sharded".to_owned(),
            (synchronisation, lock) => format!("{synchronisation}, {lock}"),
        };
        Self {
            name: format!("{}, {lock}, bulk {call}", design.storage),
            worker,
            call,
            announce: false,
        }
    }
}

impl Ours {
    fn announcing(mut self) -> Self {
        self.name.push_str(", next 32 prefetched");
        self.announce = true;
        self
    }
}

impl Contender for Ours {
    fn name(&self) -> &str {
        &self.name
    }

    fn update(&mut self, keys: &[u32], mask: u32) -> u64 {
        let mut sum = 0;
        // Writing the keys as packets carry them is part of the work.
        let mut batches = [[0; 256 * 4]; 2];
        let write = |batch: &mut [u8], keys: &[u32]| {
            for (wire, key) in batch.chunks_exact_mut(4).zip(keys) {
                wire.copy_from_slice(&key.to_be_bytes());
            }
        };
        let [first, second] = &mut batches;
        let (mut now, mut later) = (first, second);
        let length = self.call * 4;
        let mut coming = keys.chunks_exact(self.call);
        let mut next = coming.next();
        if let Some(keys) = next {
            write(now, keys);
        }
        while next.is_some() {
            next = coming.next();
            if let Some(keys) = next {
                write(later, keys);
                if self.announce {
                    self.worker.prefetch_batch(&later[..length]);
                }
            }
            sum += flip(&mut self.worker, &now[..length], mask);
            std::mem::swap(&mut now, &mut later);
        }
        sum
    }
}

/// One batch of updates.
#[inline(always)]
pub(crate) fn flip(worker: &mut Worker, keys: &[u8], mask: u32) -> u64 {
    let mut sum = 0;
    let mut act = |_: usize, hit: &mut Hit<'_>| {
        if let Some(value) = hit.parameters_mut().first_chunk_mut::<4>() {
            let old = u32::from_le_bytes(*value);
            sum += u64::from(old);
            *value = (old ^ mask).to_le_bytes();
        }
    };
    worker.apply_batch(keys, Tick(0), &mut act).expect("whole keys");
    sum
}

pub(crate) struct Hashbrown(pub(crate) hashbrown::HashMap<u32, u32>);

impl Contender for Hashbrown {
    fn name(&self) -> &str {
        "hashbrown"
    }

    fn update(&mut self, keys: &[u32], mask: u32) -> u64 {
        let mut sum = 0;
        for key in keys {
            if let Some(value) = self.0.get_mut(key) {
                sum += u64::from(*value);
                *value ^= mask;
            }
        }
        sum
    }
}

struct Papaya(papaya::HashMap<u32, AtomicU32>);

impl Contender for Papaya {
    fn name(&self) -> &str {
        "papaya, atomic values"
    }

    fn update(&mut self, keys: &[u32], mask: u32) -> u64 {
        let mut sum = 0;
        for keys in keys.chunks(32) {
            let pinned = self.0.pin();
            for key in keys {
                if let Some(value) = pinned.get(key) {
                    let old = value.load(Ordering::Relaxed);
                    sum += u64::from(old);
                    value.store(old ^ mask, Ordering::Relaxed);
                }
            }
        }
        sum
    }
}

struct Dashmap(dashmap::DashMap<u32, u32>);

impl Contender for Dashmap {
    fn name(&self) -> &str {
        "dashmap"
    }

    fn update(&mut self, keys: &[u32], mask: u32) -> u64 {
        let mut sum = 0;
        for key in keys {
            if let Some(mut value) = self.0.get_mut(key) {
                sum += u64::from(*value);
                *value ^= mask;
            }
        }
        sum
    }
}
