//! What a table consists of: one unit, a pair of replicas that take turns ([`pair`](crate::pair)), or a unit for each shard.
//!
//! A unit is a store with the ages of its entries. All changes to entries as such (insert, modify, delete, expire) are
//! there, in one form for each kind of synchronisation; the worker's batch loops and the control plane both use them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ageing::Ageing;
use crate::bucket::Full;
use crate::calm::{Calm, Seating};
use crate::design::EntryLock;
use crate::direct::Direct;
use crate::entry::{ExpiryProfile, Position, Tick};
use crate::exclusive::{Exclusive, Held};
use crate::pair::Pair;
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
        self.store.overwrite::<ALONE>(self.store.hash(key), key, action, parameters)
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
