//! A thread's way into a table: the data plane's lookups and updates, one at a time or in batches.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::bucket::Effect;
use crate::calm::{Calm, Seating, Standing};
use crate::design::UpdateMethod;
use crate::digest::Digest;
use crate::entry::{ActionId, AddStatus, ExpiryProfile, Tick};
use crate::pair::{Changes, Pair};
use crate::quiescence::{Pin, Reclaim, Seat};
use crate::store::{Aftermath, BATCH, CalmVisitor, Hit, Store, Visitor};
use crate::table::{EntryError, Inner};
use crate::unit::{NewEntry, Unit, Units, lock_shard};

/// What packets do with a table.
///
/// An action runs under the design's lock rules and must neither use the table in another way than through its entry nor wait
/// for a thread that changes which entries there are, or makes a worker: those may wait for the end of the batch.
pub trait Actions {
    /// The packet at `packet` in the batch matched this entry.
    fn hit(&mut self, packet: usize, entry: &mut Hit<'_>);

    /// The packet at `packet` matched nothing: the default action. It may add the entry that was missing.
    fn miss(&mut self, packet: usize, miss: &mut Miss<'_>) {
        let _ = (packet, miss);
    }
}

impl<F: FnMut(usize, &mut Hit<'_>)> Actions for F {
    #[inline(always)]
    fn hit(&mut self, packet: usize, entry: &mut Hit<'_>) {
        self(packet, entry);
    }
}

/// Adds the entry that was missing.
type Add<'a> = dyn FnMut(ActionId, &[u8], Option<ExpiryProfile>) -> AddStatus + 'a;

/// A key that matched no entry.
pub struct Miss<'a> {
    key: &'a [u8],
    add: &'a mut Add<'a>,
}

impl<'a> Miss<'a> {
    pub(crate) fn new(key: &'a [u8], add: &'a mut Add<'a>) -> Self {
        Self { key, add }
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        self.key
    }

    /// Adds an entry for the key (PNA 0.7, `add_entry`). The next packet with this key matches it, also in this
    /// batch. Without a profile it does not expire.
    pub fn add_entry(
        &mut self,
        action: ActionId,
        parameters: &[u8],
        profile: Option<ExpiryProfile>,
    ) -> AddStatus {
        (self.add)(action, parameters, profile)
    }
}

/// A handle for one thread. While it runs a batch, nothing that it can see is used for something else.
pub struct Worker {
    inner: Arc<Inner>,
    seat: Seat,
    shard: usize,
    scratch: Vec<u8>,
    standing: Standing,
    changes: Changes,
    /// What it is where actions have their entries alone.
    seating: Option<Seating>,
}

impl Worker {
    pub(crate) fn new(inner: Arc<Inner>, seat: Seat, shard: usize) -> Self {
        let scratch = vec![0; inner.layout.parameter_bytes()];
        let seating = inner.join();
        let (standing, changes) = Default::default();
        Self { inner, seat, shard, scratch, standing, changes, seating }
    }

    /// The shard that this worker uses; 0 where the table is not sharded.
    pub fn shard(&self) -> usize {
        self.shard
    }

    /// Asks the cache for the entries of packets that come next, so that they are on their way while the packets before
    /// them are acted on. It changes nothing but how long that batch will take.
    pub fn prefetch_batch(&mut self, keys: &[u8]) {
        self.inner.with_store(self.shard, |store, _| store.prefetch_batch(keys));
    }

    /// Runs a batch of packets, keys one behind the other, in arrival order. What one packet changes, the next sees.
    /// Keys are fetched 32 at a time; `now` stamps entries that are added or restarted.
    pub fn apply_batch(
        &mut self,
        keys: &[u8],
        now: Tick,
        actions: &mut impl Actions,
    ) -> Result<(), BatchError> {
        self.inner.check_batch(keys)?;
        let Self { inner, seat, shard, scratch, standing, seating, .. } = self;
        let in_place = inner.design.update == UpdateMethod::Pointer;
        match &inner.units {
            Units::One(unit) if in_place => match &unit.calm {
                Some(calm) => {
                    let worker = (&*seat, *seating, standing, &mut scratch[..]);
                    Self::apply_calm((inner, unit, calm), worker, keys, now, actions);
                }
                None => {
                    let ahead = unit.store.ahead(keys);
                    let _pin = Pin::new(&inner.domain, seat);
                    let reclaim = Reclaim { seat: Some(seat), ..Reclaim::of(&inner.domain) };
                    let mut visitor =
                        InPlace::<'_, false, _> { inner, unit, reclaim, now, actions, era: 0 };
                    unit.store.batch::<false, true>(ahead, keys, scratch, &mut visitor);
                }
            },
            Units::Shards(shards) if in_place => {
                let ahead = shards[*shard].ahead(keys);
                let unit = &*lock_shard(&shards[*shard]);
                let reclaim = Reclaim::of(&inner.domain);
                let mut visitor =
                    InPlace::<'_, true, _> { inner, unit, reclaim, now, actions, era: 0 };
                unit.store.batch::<true, true>(ahead, keys, scratch, &mut visitor);
            }
            _ => self.apply_each(keys, now, actions),
        }
        Ok(())
    }

    /// Runs a batch on a table that may be calm. Where a packet ends the era, the rest begins anew.
    #[inline(always)]
    fn apply_calm(
        (inner, unit, calm): (&Inner, &Unit, &Calm),
        (seat, seating, standing, scratch): (&Seat, Option<Seating>, &mut Standing, &mut [u8]),
        keys: &[u8],
        now: Tick,
        actions: &mut impl Actions,
    ) {
        let mut rest = keys;
        let mut ahead = unit.store.ahead(rest);
        let _pin = Pin::new(&inner.domain, seat);
        let place = seating.and_then(Seating::place);
        let notice = place.map(|place| calm.notice(place));
        let reclaim = Reclaim { domain: &inner.domain, seat: Some(seat), notice };
        let mut first = 0;
        loop {
            let way = calm.begin(standing, place, reclaim);
            let era = standing.era();
            let actions = &mut *actions;
            let mut visitor = InPlace::<'_, false, _> { inner, unit, reclaim, now, actions, era };
            let done = unit.store.batch_calm(&way, ahead, (rest, first), scratch, &mut visitor);
            rest = &rest[done * inner.layout.key_bytes()..];
            if rest.is_empty() {
                return;
            }
            first += done;
            ahead = unit.store.ahead(rest);
        }
    }

    /// Runs a batch whose updates do not happen in place: each action gets a copy of its entry, and what it writes is
    /// changed in the table afterwards.
    fn apply_each(&mut self, keys: &[u8], now: Tick, actions: &mut impl Actions) {
        let Self { inner, seat, shard, scratch, changes, .. } = self;
        let width = inner.layout.key_bytes();
        let reclaim = Reclaim { seat: Some(seat), ..Reclaim::of(&inner.domain) };
        if let Units::Two(pair) = &inner.units
            && inner.design.update == UpdateMethod::Change
            && pair.gathers()
        {
            let mut visitor = Gathered { inner, pair, reclaim, now, actions };
            return pair.batch((reclaim, seat), keys, scratch, changes, &mut visitor);
        }
        for (chunk, batch) in keys.chunks(BATCH * width).enumerate() {
            let _pin = Pin::new(&inner.domain, seat);
            inner.with_store(*shard, |store, _| store.fetch_entries(&store.ahead(batch), batch));
            for (index, key) in batch.chunks_exact(width).enumerate() {
                let packet = chunk * BATCH + index;
                let found = inner.with_store(*shard, |store, alone| {
                    if alone {
                        store.read::<true>(key, scratch)
                    } else {
                        store.read::<false>(key, scratch)
                    }
                });
                let Some((action, position)) = found else {
                    let mut add = |action, parameters: &[u8], profile| {
                        inner.add_entry(key, action, parameters, |parameters| {
                            let entry = NewEntry { key, action: action.0, parameters, profile };
                            inner.insert(reclaim, *shard, entry, now).is_ok()
                        })
                    };
                    actions.miss(packet, &mut Miss { key, add: &mut add });
                    continue;
                };
                let mut hit = Hit::new(action, scratch, position);
                actions.hit(packet, &mut hit);
                let (effect, aftermath) = hit.outcome(&inner.layout, action);
                if aftermath.delete {
                    inner.remove(reclaim, *shard, key);
                    continue;
                }
                if let Effect::Store(action) = effect {
                    match (inner.design.update, inner.digests.get()) {
                        (UpdateMethod::Digest, Some(digests)) => {
                            digests.send(&Digest::to_bytes(key, ActionId(action), scratch))
                        }
                        _ => {
                            inner.modify(reclaim, *shard, key, action, scratch);
                        }
                    }
                }
                if let Some(position) = aftermath.restart {
                    inner.restart(*shard, position, now);
                }
            }
        }
    }

    /// Looks up a batch of keys without changing anything and without locks: the packet's index, and its entry.
    pub fn lookup_batch(
        &mut self,
        keys: &[u8],
        visit: &mut impl FnMut(usize, Option<&Hit<'_>>),
    ) -> Result<(), BatchError> {
        self.inner.check_batch(keys)?;
        let Self { inner, seat, shard, scratch, .. } = self;
        let mut visitor = Look { visit };
        match &inner.units {
            Units::One(unit) => {
                let ahead = unit.store.ahead(keys);
                let _pin = Pin::new(&inner.domain, seat);
                unit.store.batch::<false, false>(ahead, keys, scratch, &mut visitor);
            }
            Units::Two(pair) => {
                let _pin = Pin::new(&inner.domain, seat);
                let active = pair.active();
                active.batch::<false, false>(active.ahead(keys), keys, scratch, &mut visitor);
            }
            Units::Shards(shards) => {
                let ahead = shards[*shard].ahead(keys);
                let unit = &*lock_shard(&shards[*shard]);
                unit.store.batch::<true, false>(ahead, keys, scratch, &mut visitor);
            }
        }
        Ok(())
    }

    /// Looks up one key and runs `look` on a copy of its entry.
    pub fn lookup<R>(&mut self, key: &[u8], look: impl FnOnce(&Hit<'_>) -> R) -> Option<R> {
        let Self { inner, seat, shard, scratch, .. } = self;
        if key.len() != inner.layout.key_bytes() {
            return None;
        }
        let _pin = Pin::new(&inner.domain, seat);
        let (action, position) = inner.with_store(*shard, |store, alone| {
            if alone { store.read::<true>(key, scratch) } else { store.read::<false>(key, scratch) }
        })?;
        Some(look(&Hit::new(action, scratch, position)))
    }

    /// Runs one packet's action on the entry with this key. `None` if there is no such entry.
    pub fn update<R>(
        &mut self,
        key: &[u8],
        now: Tick,
        act: impl FnOnce(&mut Hit<'_>) -> R,
    ) -> Option<R> {
        let mut act = Some(act);
        let mut result = None;
        let mut once = |_: usize, hit: &mut Hit<'_>| {
            if let Some(act) = act.take() {
                result = Some(act(hit));
            }
        };
        if key.len() != self.inner.layout.key_bytes() {
            return None;
        }
        self.apply_batch(key, now, &mut once).ok()?;
        result
    }

    /// Adds an entry from the data plane.
    pub fn insert(
        &mut self,
        key: &[u8],
        action: ActionId,
        parameters: &[u8],
        profile: Option<ExpiryProfile>,
        now: Tick,
    ) -> Result<(), EntryError> {
        let parameters = self.inner.check(key, action, parameters)?;
        let entry = NewEntry { key, action: action.0, parameters: &parameters, profile };
        let _pin = Pin::new(&self.inner.domain, &self.seat);
        let inserted = self.inner.insert(self.reclaim(), self.shard, entry, now);
        inserted.map_err(|full| EntryError::from_full(full, self.inner.layout.size()))
    }

    /// Replaces action and parameters of an entry from the data plane.
    pub fn modify(
        &mut self,
        key: &[u8],
        action: ActionId,
        parameters: &[u8],
    ) -> Result<(), EntryError> {
        let parameters = self.inner.check(key, action, parameters)?;
        let _pin = Pin::new(&self.inner.domain, &self.seat);
        let found = self.inner.modify(self.reclaim(), self.shard, key, action.0, &parameters);
        if found { Ok(()) } else { Err(EntryError::NotFound) }
    }

    /// Takes an entry out from the data plane.
    pub fn delete(&mut self, key: &[u8]) -> Result<(), EntryError> {
        self.inner.check(key, ActionId(0), &[])?;
        let _pin = Pin::new(&self.inner.domain, &self.seat);
        let found = self.inner.remove(self.reclaim(), self.shard, key);
        if found { Ok(()) } else { Err(EntryError::NotFound) }
    }

    /// Deletes the entries of this worker's shard that have been idle for their time; their keys.
    pub fn expire(&mut self, now: Tick) -> Vec<Vec<u8>> {
        let _pin = Pin::new(&self.inner.domain, &self.seat);
        self.inner.expire(self.reclaim(), self.shard, now)
    }

    fn reclaim(&self) -> Reclaim<'_> {
        Reclaim { seat: Some(&self.seat), ..Reclaim::of(&self.inner.domain) }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("design", &self.inner.design)
            .field("shard", &self.shard)
            .finish()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.inner.leave(self.seating);
        self.inner.domain.leave(&self.seat);
    }
}

/// Packets that update their entries in place.
struct InPlace<'a, const ALONE: bool, A> {
    inner: &'a Inner,
    unit: &'a Unit,
    reclaim: Reclaim<'a>,
    now: Tick,
    actions: &'a mut A,
    /// In which the batch began, where the table may be calm.
    era: u64,
}

impl<const ALONE: bool, A: Actions> Visitor for InPlace<'_, ALONE, A> {
    #[inline(always)]
    fn hit(&mut self, packet: usize, hit: &mut Hit<'_>) {
        self.actions.hit(packet, hit);
    }

    fn after(&mut self, _: usize, key: &[u8], aftermath: Aftermath) {
        if aftermath.delete {
            self.unit.remove(self.reclaim, key);
        } else if let (Some(position), Some(ageing)) = (aftermath.restart, &self.unit.ageing) {
            ageing.restart(position, self.now);
        }
    }

    fn miss(&mut self, packet: usize, key: &[u8]) {
        let Self { inner, unit, reclaim, now, actions, .. } = self;
        let mut add = |action: ActionId, parameters: &[u8], profile| {
            inner.add_entry(key, action, parameters, |parameters| {
                let entry = NewEntry { key, action: action.0, parameters, profile };
                unit.insert::<ALONE>(*reclaim, entry, *now).is_ok()
            })
        };
        actions.miss(packet, &mut Miss { key, add: &mut add });
    }
}

impl<const ALONE: bool, A: Actions> CalmVisitor for InPlace<'_, ALONE, A> {
    fn replace(&mut self, key: &[u8], action: u16, parameters: &[u8]) {
        self.unit.modify::<ALONE>(self.reclaim, key, action, parameters);
    }

    #[inline(always)]
    fn lasts(&self) -> bool {
        self.unit.calm.as_ref().is_some_and(|calm| calm.lasts(self.era))
    }
}

/// Packets of two replicas whose changes share a swap.
struct Gathered<'a, A> {
    inner: &'a Inner,
    pair: &'a Pair,
    reclaim: Reclaim<'a>,
    now: Tick,
    actions: &'a mut A,
}

impl<A: Actions> Visitor for Gathered<'_, A> {
    #[inline(always)]
    fn hit(&mut self, packet: usize, hit: &mut Hit<'_>) {
        self.actions.hit(packet, hit);
    }

    #[inline(always)]
    fn after(&mut self, _: usize, key: &[u8], aftermath: Aftermath) {
        if aftermath.delete {
            self.pair.remove(self.reclaim, key);
        } else if let Some(position) = aftermath.restart {
            self.pair.restart(position, self.now);
        }
    }

    fn miss(&mut self, packet: usize, key: &[u8]) {
        let Self { inner, pair, reclaim, now, actions } = self;
        let mut add = |action: ActionId, parameters: &[u8], profile| {
            inner.add_entry(key, action, parameters, |parameters| {
                let entry = NewEntry { key, action: action.0, parameters, profile };
                pair.insert(*reclaim, entry, *now).is_ok()
            })
        };
        actions.miss(packet, &mut Miss { key, add: &mut add });
    }
}

/// Packets that only look.
struct Look<'a, F> {
    visit: &'a mut F,
}

impl<F: FnMut(usize, Option<&Hit<'_>>)> Visitor for Look<'_, F> {
    #[inline(always)]
    fn hit(&mut self, packet: usize, hit: &mut Hit<'_>) {
        (self.visit)(packet, Some(hit));
    }

    fn after(&mut self, _: usize, _: &[u8], _: Aftermath) {}

    #[inline(always)]
    fn miss(&mut self, packet: usize, _: &[u8]) {
        (self.visit)(packet, None);
    }
}

impl Inner {
    fn check_batch(&self, keys: &[u8]) -> Result<(), BatchError> {
        let width = self.layout.key_bytes();
        if keys.len().is_multiple_of(width) {
            Ok(())
        } else {
            Err(BatchError { bytes: keys.len(), width })
        }
    }

    /// Runs `use_store` with the store to read, and whether it is the caller's alone.
    fn with_store<R>(&self, shard: usize, use_store: impl FnOnce(&Store, bool) -> R) -> R {
        match &self.units {
            Units::One(unit) => use_store(&unit.store, false),
            Units::Two(pair) => use_store(pair.active(), false),
            Units::Shards(shards) => use_store(&lock_shard(&shards[shard]).store, true),
        }
    }

    fn restart(&self, shard: usize, position: crate::entry::Position, now: Tick) {
        let restart = |ageing: &Option<crate::ageing::Ageing>| {
            if let Some(ageing) = ageing {
                ageing.restart(position, now);
            }
        };
        match &self.units {
            Units::One(unit) => restart(&unit.ageing),
            Units::Two(pair) => pair.restart(position, now),
            Units::Shards(shards) => restart(&lock_shard(&shards[shard]).ageing),
        }
    }

    /// Lets `insert` add an entry if action and parameters fit the layout.
    fn add_entry(
        &self,
        key: &[u8],
        action: ActionId,
        parameters: &[u8],
        insert: impl FnOnce(&[u8]) -> bool,
    ) -> AddStatus {
        let Ok(parameters) = self.check(key, action, parameters) else { return AddStatus::NotDone };
        if insert(&parameters) { AddStatus::Added } else { AddStatus::NotDone }
    }
}

/// Keys that do not fill a whole number of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{bytes} bytes are no whole number of keys of {width} bytes")]
pub struct BatchError {
    bytes: usize,
    width: usize,
}

impl BatchError {
    pub(crate) fn check(keys: &[u8], width: usize) -> Result<(), Self> {
        if keys.len().is_multiple_of(width) {
            Ok(())
        } else {
            Err(Self { bytes: keys.len(), width })
        }
    }
}
