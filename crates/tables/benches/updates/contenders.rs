//! The tables and maps that the benchmark of updates compares.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tables::{
    ActionId, Design, EntryLock, Hit, KeyHash, Keys, Match, PackedTable, Storage, Synchronisation,
    TableSettings, TableWorker,
};

use super::footprint::Footprint;

/// A table with one entry for each number below its size. The key is the scattered number, and the
/// value equals the key.
pub(crate) trait Contender {
    fn name(&self) -> &str;
    /// Returns the guarantee for threads that use the table at the same time.
    fn guarantee(&self) -> Guarantee;
    /// Returns the conditions of the comparison, as the map itself reports them.
    fn conditions(&self) -> Conditions;
    fn side(&self) -> Side {
        Side::Other
    }
    /// Flips the value of each key by `mask`, and returns the sum of the old values.
    fn update(&mut self, keys: &[u32], mask: u32) -> u64;
}

/// The properties that must be equal in a fair comparison of maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conditions {
    /// The number of entries that the map holds without growing, or `None` if the map does not
    /// report it.
    pub(crate) room: Option<usize>,
    /// The hash of [`Conditions::PROBE`], or `None` if the map does not use a Rust hasher.
    pub(crate) hash: Option<u64>,
}

impl Conditions {
    pub(crate) const PROBE: u32 = 0x0a00_0001;

    fn of(room: Option<usize>, hasher: &impl BuildHasher) -> Self {
        Self { room, hash: Some(hasher.hash_one(Self::PROBE)) }
    }
}

/// The origin of a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// A design of this crate, called with the batch size of DPDK's bulk lookup.
    OursInBulk,
    /// A design of this crate for which more keys are prefetched.
    OursAhead,
    /// A map of another project.
    Other,
}

/// The operations that threads may perform at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guarantee {
    /// Only one thread uses the map at a time.
    Alone,
    /// Any number of threads update entries while others are added; of two simultaneous updates,
    /// one may be lost.
    Shared,
    /// Any number of threads update entries while others are added, and no update is lost.
    Lossless,
}

impl Guarantee {
    pub(crate) const ALL: [Self; 3] = [Self::Alone, Self::Shared, Self::Lossless];
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Alone => "one thread",
            Self::Shared => "shared",
            Self::Lossless => "shared, none lost",
        })
    }
}

/// Returns the number of entries that a table is made for: twice the entries that it gets, so that
/// no map is measured when it is nearly full.
pub(crate) fn room(size: u32) -> usize {
    2 * size as usize
}

/// Returns the key of an entry: a permutation of 32-bit numbers (the finaliser of MurmurHash3), so
/// that keys are spread as addresses and ports are, and no hash benefits from their order.
pub(crate) fn scatter(number: u32) -> u32 {
    let mut key = number;
    key = (key ^ key >> 16).wrapping_mul(0x85eb_ca6b);
    key = (key ^ key >> 13).wrapping_mul(0xc2b2_ae35);
    key ^ key >> 16
}

/// Returns the contenders, each with the memory that making it took.
pub(crate) fn all(size: u32) -> Vec<(Box<dyn Contender>, Footprint)> {
    let unlocked = Design::unlocked(Storage::Inline);
    let mut designs = vec![(unlocked, 256, false), (unlocked, 32, true)];
    designs.extend(
        [Storage::Inline, Storage::Static, Storage::Dynamic, Storage::Original]
            .map(|storage| (Design::unlocked(storage), 32, false)),
    );
    let keys = || (0..size).map(scatter);
    let mut contenders = Vec::new();
    let mut add = |make: &dyn Fn() -> Box<dyn Contender>| {
        contenders.push(Footprint::of_making(make));
    };
    for (design, call, prefetches) in designs {
        add(&|| Box::new(Ours::new(design, size, call, prefetches)));
    }
    // A single worker takes no locks, regardless of the design. With a second worker, even an idle
    // one, it does.
    for storage in Storage::ALL {
        for design in [Design::unlocked(storage), Design::shared(storage)] {
            add(&|| Box::new(Ours::new(design, size, 32, false).beside_another()));
        }
    }
    add(&|| Box::new(Hashbrown::new(size, keys())));
    add(&|| Box::new(Papaya::new(size)));
    add(&|| Box::new(Dashmap::new(size)));
    contenders
}

/// Returns a table with `size` entries, filled by the control plane. The table has grown by
/// doubling, as those of programs do.
pub(crate) fn filled(design: Design, size: u32) -> Arc<PackedTable> {
    let settings = TableSettings {
        design,
        keys: Keys::Exact { bits: 32 },
        parameter_bytes: 4,
        actions: 1,
        writing: 1,
        writes_words: true,
    };
    let table = PackedTable::new(&Arc::default(), &settings).expect("a table of the benchmark");
    // Every map has room for twice the entries. Inserting and removing one more leaves the table
    // with that room too.
    for key in (0..=size).map(scatter) {
        table
            .insert(Match::Exact(key.into()), ActionId(0), &key.to_le_bytes())
            .expect("memory for the benchmark");
    }
    table.take(scatter(size).into()).expect("the last entry");
    Arc::new(table)
}

/// Returns the room of a table that has held one more than `size` entries.
fn grown(size: u32) -> usize {
    (size as usize + 1).next_power_of_two().max(64)
}

struct Ours {
    name: String,
    guarantee: Guarantee,
    worker: TableWorker,
    /// A second worker, which is idle.
    _other: Option<TableWorker>,
    table: Arc<PackedTable>,
    room: usize,
    /// The number of keys in a call. If there are more than 32, the table prefetches the next 32
    /// keys of the call before it processes the current 32.
    call: usize,
    /// Whether each call is preceded by a prefetch of the next call's keys.
    prefetches: bool,
}

impl Ours {
    fn new(design: Design, size: u32, call: usize, prefetches: bool) -> Self {
        let table = filled(design, size);
        let worker = TableWorker::new(&table).expect("a first worker");
        let ahead = if prefetches { ", next 32 prefetched" } else { "" };
        let name = format!("{}, bulk {call}{ahead}", design.storage);
        let (guarantee, room) = (Guarantee::Alone, grown(size));
        Self { name, guarantee, worker, _other: None, table, room, call, prefetches }
    }

    fn beside_another(mut self) -> Self {
        self._other = Some(TableWorker::new(&self.table).expect("a second worker"));
        let design = self.table.design();
        self.guarantee = match (design.synchronisation, design.entry_lock) {
            (Synchronisation::Sharded { .. }, _) => Guarantee::Alone,
            (_, EntryLock::None) => Guarantee::Shared,
            (_, EntryLock::PerEntry) => Guarantee::Lossless,
        };
        self.name += &format!(", {}, beside another", design.entry_lock);
        self
    }
}

impl Contender for Ours {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn conditions(&self) -> Conditions {
        Conditions { room: Some(self.room), hash: None }
    }

    fn side(&self) -> Side {
        if self.call == 32 && !self.prefetches { Side::OursInBulk } else { Side::OursAhead }
    }

    fn update(&mut self, keys: &[u32], mask: u32) -> u64 {
        let mut sum = 0;
        // Writing the keys is part of the measured work.
        let mut batches = [[[0; 2]; 256]; 2];
        let write = |batch: &mut [[u64; 2]], keys: &[u32]| {
            batch.iter_mut().zip(keys).for_each(|(to, key)| *to = [(*key).into(), 0]);
        };
        let [first, second] = &mut batches;
        let (mut now, mut later) = (first, second);
        let mut coming = keys.chunks(self.call);
        let mut next = coming.next();
        if let Some(keys) = next {
            write(now, keys);
        }
        while let Some(keys) = next {
            let length = keys.len();
            next = coming.next();
            if let Some(keys) = next {
                write(later, keys);
                if self.prefetches {
                    self.worker.prefetch(&later[..keys.len()]);
                }
            }
            sum += flip(&mut self.worker, &now[..length], mask);
            std::mem::swap(&mut now, &mut later);
        }
        sum
    }
}

/// Runs one batch of updates, and returns the sum of the old values.
#[inline(always)]
pub(crate) fn flip(worker: &mut TableWorker, keys: &[[u64; 2]], mask: u32) -> u64 {
    let mut sum = 0;
    worker.apply(keys, &mut |_: usize, hit: &mut Hit<'_>| {
        if let Some(value) = hit.parameters_mut().first_chunk_mut::<4>() {
            let old = u32::from_le_bytes(*value);
            sum += u64::from(old);
            *value = (old ^ mask).to_le_bytes();
        }
    });
    sum
}

pub(crate) struct Hashbrown(hashbrown::HashMap<u32, u32, KeyHash>);

impl Hashbrown {
    /// Returns a map whose values equal the keys, with room for twice `size` entries.
    pub(crate) fn new(size: u32, keys: impl Iterator<Item = u32>) -> Self {
        let mut map = hashbrown::HashMap::with_capacity_and_hasher(room(size), KeyHash);
        map.extend(keys.map(|key| (key, key)));
        Self(map)
    }

    /// Returns the address of one of the map's entries.
    #[allow(dead_code, reason = "for tests/comparison.rs, which asks the kernel")]
    pub(crate) fn address(&self) -> usize {
        self.0.values().next().map_or(0, |value| std::ptr::from_ref(value) as usize)
    }
}

impl Contender for Hashbrown {
    fn name(&self) -> &str {
        "hashbrown"
    }

    fn conditions(&self) -> Conditions {
        Conditions::of(Some(self.0.capacity()), self.0.hasher())
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Alone
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

/// A papaya map and the hasher that it was built with, since the map does not return it.
pub(crate) struct Papaya(papaya::HashMap<u32, AtomicU32, KeyHash>, KeyHash);

impl Papaya {
    pub(crate) fn new(size: u32) -> Self {
        let hasher = KeyHash;
        let map = papaya::HashMap::builder().capacity(room(size)).hasher(hasher).build();
        (0..size).map(scatter).for_each(|key| _ = map.pin().insert(key, AtomicU32::new(key)));
        Self(map, hasher)
    }

    /// Updates like [`Contender::update`], from any number of threads.
    pub(crate) fn flip(&self, keys: &[u32], mask: u32) -> u64 {
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

impl Contender for Papaya {
    fn name(&self) -> &str {
        "papaya, atomic values"
    }

    fn conditions(&self) -> Conditions {
        Conditions::of(None, &self.1)
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Shared
    }

    fn update(&mut self, keys: &[u32], mask: u32) -> u64 {
        self.flip(keys, mask)
    }
}

pub(crate) struct Dashmap(dashmap::DashMap<u32, u32, KeyHash>);

impl Dashmap {
    pub(crate) fn new(size: u32) -> Self {
        let map = dashmap::DashMap::with_capacity_and_hasher(room(size), KeyHash);
        (0..size).map(scatter).for_each(|key| _ = map.insert(key, key));
        Self(map)
    }

    /// Updates like [`Contender::update`], from any number of threads.
    pub(crate) fn flip(&self, keys: &[u32], mask: u32) -> u64 {
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

impl Contender for Dashmap {
    fn name(&self) -> &str {
        "dashmap"
    }

    fn conditions(&self) -> Conditions {
        Conditions::of(Some(self.0.capacity()), self.0.hasher())
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Lossless
    }

    fn update(&mut self, keys: &[u32], mask: u32) -> u64 {
        self.flip(keys, mask)
    }
}
