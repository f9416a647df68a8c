//! What a table consists of: one unit, a pair of replicas that take turns, or a unit for each shard.
//!
//! A unit is a store with the ages of its entries. All changes to entries as such (insert, modify, delete, expire) are
//! here, in one form for each kind of synchronisation; the worker's batch loops and the control plane both use them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ageing::Ageing;
use crate::bucket::{Effect, Full};
use crate::calm::{Calm, Seating};
use crate::design::{EntryLock, Wait};
use crate::direct::Direct;
use crate::entry::{ExpiryProfile, Position, Tick};
use crate::exclusive::{Exclusive, Held};
use crate::quiescence::Reclaim;
use crate::store::{Ahead, Store};

/// An entry to be written.
#[derive(Clone, Copy)]
pub(crate) struct NewEntry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) action: u16,
    pub(crate) parameters: &'a [u8],
    pub(crate) profile: Option<ExpiryProfile>,
}

/// A store and the ages of its entries.
pub(crate) struct Unit {
    pub(crate) store: Store,
    pub(crate) ageing: Option<Ageing>,
    pub(crate) direct: Arc<Direct>,
    /// Where packets may do without locks.
    pub(crate) calm: Option<Calm>,
    /// Held while an entry and its age begin or end together.
    changes: Mutex<()>,
}

impl Unit {
    pub(crate) fn new(store: Store, profiles: &[u32], direct: Arc<Direct>) -> Self {
        let ageing = (!profiles.is_empty()).then(|| Ageing::new(profiles, store.positions()));
        Self { store, ageing, direct, calm: None, changes: Mutex::new(()) }
    }

    /// The unit for packets of several threads, which write in place.
    pub(crate) fn with_calm(self) -> Self {
        let calm = self.store.may_be_calm().then(Calm::new);
        Self { calm, ..self }
    }

    /// A worker comes; what it is until [`Unit::leave`] where actions have their entries alone.
    pub(crate) fn join(&self) -> Option<Seating> {
        self.alone_with_entries().map(Calm::join)
    }

    /// A worker goes.
    pub(crate) fn leave(&self, seating: Option<Seating>) {
        if let (Some(calm), Some(seating)) = (self.alone_with_entries(), seating) {
            calm.leave(seating);
        }
    }

    /// Where actions have their entries alone, workers say that they are there.
    fn alone_with_entries(&self) -> Option<&Calm> {
        self.calm.as_ref().filter(|_| self.store.entry_lock() == EntryLock::PerEntry)
    }

    pub(crate) fn insert<const ALONE: bool>(
        &self,
        reclaim: Reclaim<'_>,
        entry: NewEntry<'_>,
        now: Tick,
    ) -> Result<(), Full> {
        let _turn = self.turn(reclaim);
        let position =
            self.store.insert::<ALONE>(reclaim, entry.key, entry.action, entry.parameters)?;
        if let Some(ageing) = &self.ageing {
            ageing.start(Position(position), entry.profile, now);
        }
        Ok(())
    }

    /// Where entries age, one insertion or deletion at a time; otherwise an entry that is deleted as it is inserted
    /// could leave its age to the next one in its place.
    fn turn(&self, reclaim: Reclaim<'_>) -> Option<MutexGuard<'_, ()>> {
        let lock = || self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has it may be waiting until this thread holds no entry, which is so.
        self.ageing.as_ref().map(|_| reclaim.while_waiting(lock))
    }

    pub(crate) fn modify<const ALONE: bool>(
        &self,
        reclaim: Reclaim<'_>,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> bool {
        let _disturbance = self.calm.as_ref().map(|calm| calm.disturb(reclaim));
        modify::<ALONE>(&self.store, key, action, parameters)
    }

    pub(crate) fn remove(&self, reclaim: Reclaim<'_>, key: &[u8]) -> bool {
        let _disturbance = self.calm.as_ref().map(|calm| calm.disturb(reclaim));
        let _turn = self.turn(reclaim);
        let removed = self.store.remove(reclaim, key);
        if let (Some(position), Some(ageing)) = (removed, &self.ageing) {
            ageing.stop(Position(position));
        }
        removed.is_some()
    }
}

fn modify<const ALONE: bool>(store: &Store, key: &[u8], action: u16, parameters: &[u8]) -> bool {
    let (mut short, mut long) = ([0; 64], Vec::new());
    let scratch = match short.get_mut(..parameters.len()) {
        Some(scratch) => scratch,
        None => {
            long.resize(parameters.len(), 0);
            &mut long[..]
        }
    };
    let write = |_, current: &mut [u8], _| {
        current.copy_from_slice(parameters);
        (Effect::Store(action), ())
    };
    store.update::<ALONE, ()>(key, scratch, write).is_some()
}

/// Changes of entries that one swap of replicas makes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    keys: Vec<u8>,
    actions: Vec<u16>,
    parameters: Vec<u8>,
    /// A bit for the hash of each key.
    likely: u64,
}

impl Changes {
    pub(crate) fn add(&mut self, hash: u64, key: &[u8], action: u16, parameters: &[u8]) {
        self.likely |= 1 << (hash % 64);
        self.keys.extend_from_slice(key);
        self.actions.push(action);
        self.parameters.extend_from_slice(parameters);
    }

    pub(crate) fn has(&self, hash: u64, key: &[u8]) -> bool {
        self.likely >> (hash % 64) & 1 == 1
            && self.keys.chunks_exact(key.len()).any(|changed| changed == key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.actions.clear();
        self.parameters.clear();
        self.likely = 0;
    }

    fn apply(&self, store: &Store) {
        let count = self.actions.len();
        let (width, length) = (self.keys.len() / count, self.parameters.len() / count);
        for (index, &action) in self.actions.iter().enumerate() {
            let key = &self.keys[index * width..][..width];
            modify::<false>(store, key, action, &self.parameters[index * length..][..length]);
        }
    }
}

/// Two replicas of a table. One is read; a writer changes the other, swaps them, waits until nobody reads what has
/// become passive, and repeats the change there.
pub(crate) struct Pair {
    stores: [Store; 2],
    pub(crate) ageing: Option<Ageing>,
    active: AtomicUsize,
    writer: Mutex<()>,
    wait: Wait,
    pub(crate) direct: Arc<Direct>,
}

impl Pair {
    /// Two empty stores. What is kept beside the entries is the pair's and not the stores': an entry begins anew only
    /// when it has left both.
    pub(crate) fn new(
        first: Store,
        second: Store,
        wait: Wait,
        profiles: &[u32],
        direct: Arc<Direct>,
    ) -> Self {
        let ageing = (!profiles.is_empty()).then(|| Ageing::new(profiles, first.positions()));
        Self {
            stores: [first, second],
            ageing,
            active: AtomicUsize::new(0),
            writer: Mutex::new(()),
            wait,
            direct,
        }
    }

    /// The replica to read. A pinned reader may use it until it unpins.
    #[inline]
    pub(crate) fn active(&self) -> &Store {
        &self.stores[self.active.load(Ordering::Acquire) & 1]
    }

    pub(crate) fn stores(&self) -> &[Store; 2] {
        &self.stores
    }

    fn lock(&self, reclaim: Reclaim<'_>) -> MutexGuard<'_, ()> {
        if let Ok(writer) = self.writer.try_lock() {
            return writer;
        }
        // Whoever has it may be waiting until this thread holds no entry, which is so.
        reclaim.while_waiting(|| self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes `index` the replica to read and waits until nobody reads the other.
    fn swap_to(&self, index: usize, reclaim: Reclaim<'_>) {
        self.active.store(index, Ordering::SeqCst);
        match self.wait {
            // Before the first worker comes there is nobody to wait for but the control plane, who holds nothing.
            Wait::Fixed(_) if reclaim.domain.members() <= 1 => {}
            Wait::Fixed(time) => std::thread::sleep(time),
            Wait::Quiescent => reclaim.synchronise(),
        }
    }

    pub(crate) fn insert(
        &self,
        reclaim: Reclaim<'_>,
        entry: NewEntry<'_>,
        now: Tick,
    ) -> Result<(), Full> {
        let NewEntry { key, action, parameters, profile } = entry;
        let _writer = self.lock(reclaim);
        let active = self.active.load(Ordering::Relaxed);
        let passive = 1 - active;
        let mut scratch = vec![0; parameters.len()];
        if self.stores[active].read::<false>(key, &mut scratch).is_some() {
            return Err(Full::Exists);
        }
        // The first replica chooses the entry's place in both, so that its position does not change with the swaps.
        let place = self.stores[0].reserve(reclaim).ok_or(Full::Full)?;
        let insert = |index: usize| match index {
            0 => self.stores[0].insert_reserved(place, key, action, parameters),
            _ => self.stores[1].insert_following(reclaim, place, key, action, parameters),
        };
        let position = insert(passive)?;
        if let Some(ageing) = &self.ageing {
            ageing.start(Position(position), profile, now);
        }
        self.swap_to(passive, reclaim);
        if let Err(full) = insert(active) {
            // No memory for the second copy: back to the replica without the entry.
            self.swap_to(active, reclaim);
            self.stores[passive].remove(reclaim, key);
            if let Some(ageing) = &self.ageing {
                ageing.stop(Position(position));
            }
            return Err(full);
        }
        Ok(())
    }

    pub(crate) fn modify(
        &self,
        reclaim: Reclaim<'_>,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> bool {
        let _writer = self.lock(reclaim);
        let active = self.active.load(Ordering::Relaxed);
        if !modify::<false>(&self.stores[1 - active], key, action, parameters) {
            return false;
        }
        self.swap_to(1 - active, reclaim);
        modify::<false>(&self.stores[active], key, action, parameters)
    }

    /// Whether changes of several entries may share a swap: where its wait is for readers, and not a time that each
    /// change takes.
    pub(crate) fn gathers(&self) -> bool {
        self.wait == Wait::Quiescent
    }

    /// Changes entries by one swap. Those that have gone are left out.
    pub(crate) fn modify_all(&self, reclaim: Reclaim<'_>, changes: &mut Changes) {
        if changes.is_empty() {
            return;
        }
        let _writer = self.lock(reclaim);
        let active = self.active.load(Ordering::Relaxed);
        changes.apply(&self.stores[1 - active]);
        self.swap_to(1 - active, reclaim);
        changes.apply(&self.stores[active]);
        changes.clear();
    }

    pub(crate) fn remove(&self, reclaim: Reclaim<'_>, key: &[u8]) -> bool {
        let _writer = self.lock(reclaim);
        let active = self.active.load(Ordering::Relaxed);
        let Some(position) = self.stores[1 - active].remove(reclaim, key) else { return false };
        self.swap_to(1 - active, reclaim);
        self.stores[active].remove(reclaim, key);
        self.direct.reset(Position(position));
        if let Some(ageing) = &self.ageing {
            ageing.stop(Position(position));
        }
        true
    }
}

/// The units of a table.
pub(crate) enum Units {
    One(Box<Unit>),
    Two(Box<Pair>),
    Shards(Vec<Shard>),
}

/// A unit that one thread at a time uses.
pub(crate) type Shard = Exclusive<Unit>;

impl Shard {
    /// Fetches ahead what a batch of keys needs first. Where buckets lie never changes, so that whoever holds the shard
    /// meanwhile is not disturbed.
    #[inline(always)]
    pub(crate) fn ahead(&self, keys: &[u8]) -> Ahead {
        self.shared().store.ahead(keys)
    }
}

/// A shard for the time of a batch or of one change.
#[inline(always)]
pub(crate) fn lock_shard(shard: &Shard) -> Held<'_, Unit> {
    // All access to a store is atomic and its changes are whole; an action that panicked leaves nothing to mend.
    shard.hold()
}
