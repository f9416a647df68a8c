//! What control plane and workers have in common: changes by shard, and the checks before them.

use std::sync::Arc;

use crate::bucket::Full;
use crate::calm::Seating;
use crate::design::{Placement, Synchronisation};
use crate::direct::Direct;
use crate::entry::{ActionId, Position, Tick};
use crate::hash;
use crate::quiescence::Reclaim;
use crate::store::Store;
use crate::unit::{NewEntry, Units, lock_shard};

use super::{Entry, EntryError, Inner};

impl Inner {
    pub(crate) fn is_replicated(&self) -> bool {
        matches!(
            self.design.synchronisation,
            Synchronisation::Sharded { placement: Placement::Replicated, .. }
        )
    }

    pub(crate) fn shard_of(&self, key: &[u8]) -> usize {
        match &self.units {
            Units::Shards(shards) => {
                let hash = hash::bytes(key, hash::DEFAULT_SEED.rotate_left(32));
                (((hash >> 32) * shards.len() as u64) >> 32) as usize
            }
            _ => 0,
        }
    }

    /// Parameters at full length, if key, action and parameters fit the layout.
    pub(crate) fn check(
        &self,
        key: &[u8],
        action: ActionId,
        parameters: &[u8],
    ) -> Result<Vec<u8>, EntryError> {
        let layout = &self.layout;
        if key.len() != layout.key_bytes() {
            return Err(EntryError::KeyBytes { given: key.len(), expected: layout.key_bytes() });
        }
        let spare = (layout.key_bytes() * 8) as u32 - layout.key_bits();
        if key.first().is_some_and(|first| first.leading_zeros() < spare) {
            return Err(EntryError::KeyBits { bits: layout.key_bits() });
        }
        if action.0 >= layout.actions() {
            return Err(EntryError::Action { action: action.0, actions: layout.actions() });
        }
        if parameters.len() > layout.parameter_bytes() {
            return Err(EntryError::Parameters {
                given: parameters.len(),
                most: layout.parameter_bytes(),
            });
        }
        let mut full = parameters.to_vec();
        full.resize(layout.parameter_bytes(), 0);
        Ok(full)
    }

    /// A worker comes; what it is until [`Inner::leave`] where actions have their entries alone.
    pub(crate) fn join(&self) -> Option<Seating> {
        match &self.units {
            Units::One(unit) => unit.join(),
            Units::Two(_) | Units::Shards(_) => None,
        }
    }

    /// A worker goes.
    pub(crate) fn leave(&self, seating: Option<Seating>) {
        if let Units::One(unit) = &self.units {
            unit.leave(seating);
        }
    }

    pub(crate) fn insert(
        &self,
        reclaim: Reclaim<'_>,
        shard: usize,
        entry: NewEntry<'_>,
        now: Tick,
    ) -> Result<(), Full> {
        match &self.units {
            Units::One(unit) => unit.insert::<false>(reclaim, entry, now),
            Units::Two(pair) => pair.insert(reclaim, entry, now),
            Units::Shards(shards) => lock_shard(&shards[shard]).insert::<true>(reclaim, entry, now),
        }
    }

    pub(crate) fn modify(
        &self,
        reclaim: Reclaim<'_>,
        shard: usize,
        key: &[u8],
        action: u16,
        parameters: &[u8],
    ) -> bool {
        match &self.units {
            Units::One(unit) => unit.modify::<false>(reclaim, key, action, parameters),
            Units::Two(pair) => pair.modify(reclaim, key, action, parameters),
            Units::Shards(shards) => {
                lock_shard(&shards[shard]).modify::<true>(reclaim, key, action, parameters)
            }
        }
    }

    pub(crate) fn remove(&self, reclaim: Reclaim<'_>, shard: usize, key: &[u8]) -> bool {
        match &self.units {
            Units::One(unit) => unit.remove(reclaim, key),
            Units::Two(pair) => pair.remove(reclaim, key),
            Units::Shards(shards) => lock_shard(&shards[shard]).remove(reclaim, key),
        }
    }

    pub(super) fn direct(&self, shard: usize) -> Option<Arc<Direct>> {
        match &self.units {
            Units::One(unit) => (shard == 0).then(|| Arc::clone(&unit.direct)),
            Units::Two(pair) => (shard == 0).then(|| Arc::clone(&pair.direct)),
            Units::Shards(shards) => {
                shards.get(shard).map(|shard| Arc::clone(&lock_shard(shard).direct))
            }
        }
    }

    pub(super) fn read(&self, shard: usize, key: &[u8]) -> Option<Entry> {
        let mut parameters = vec![0; self.layout.parameter_bytes()];
        let (action, position) = match &self.units {
            Units::One(unit) => unit.store.read::<false>(key, &mut parameters)?,
            Units::Two(pair) => pair.active().read::<false>(key, &mut parameters)?,
            Units::Shards(shards) => {
                lock_shard(&shards[shard]).store.read::<true>(key, &mut parameters)?
            }
        };
        Some(Entry {
            key: key.to_vec(),
            action: ActionId(action),
            parameters,
            position: Position(position),
        })
    }

    /// Deletes what has expired in one shard; the keys.
    pub(crate) fn expire(&self, reclaim: Reclaim<'_>, shard: usize, now: Tick) -> Vec<Vec<u8>> {
        let mut key = vec![0; self.layout.key_bytes()];
        let mut scratch = vec![0; self.layout.parameter_bytes()];
        let mut keys = Vec::new();
        // The key is read at the position and looked up again: if something else lies there by now, it stays.
        let mut expire =
            |store: &Store, position: Position, remove: &mut dyn FnMut(&[u8]) -> bool| {
                if store.key_at(position.0, &mut key)
                    && store
                        .read::<false>(&key, &mut scratch)
                        .is_some_and(|(_, found)| found == position.0)
                    && remove(&key)
                {
                    keys.push(key.clone());
                }
            };
        match &self.units {
            Units::One(unit) => {
                for position in unit.ageing.iter().flat_map(|ageing| ageing.expired(now)) {
                    expire(&unit.store, position, &mut |key| unit.remove(reclaim, key));
                }
            }
            Units::Two(pair) => {
                for position in pair.ageing.iter().flat_map(|ageing| ageing.expired(now)) {
                    expire(pair.active(), position, &mut |key| pair.remove(reclaim, key));
                }
            }
            Units::Shards(shards) => {
                let unit = lock_shard(&shards[shard]);
                for position in unit.ageing.iter().flat_map(|ageing| ageing.expired(now)) {
                    expire(&unit.store, position, &mut |key| unit.remove(reclaim, key));
                }
            }
        }
        keys
    }
}
