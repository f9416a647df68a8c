//! Two replicas of a table that take turns, and the changes that packets make by one turn.
//!
//! One is read; a writer changes the other, swaps them, waits until nobody reads what has become passive, and repeats the
//! change there. Where the wait is for readers, the changes of up to [`BATCH`] packets share it. A packet whose entry is
//! among them sees it changed, and all are visible when the batch returns.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ageing::Ageing;
use crate::bucket::{Effect, Full};
use crate::design::Wait;
use crate::direct::Direct;
use crate::entry::{Position, Tick};
use crate::layout::Layout;
use crate::quiescence::{Pin, Reclaim, Seat};
use crate::store::{BATCH, Hit, Store, Visitor};
use crate::unit::NewEntry;

/// Two replicas of a table.
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
        if !self.overwrite(1 - active, key, action, parameters) {
            return false;
        }
        self.swap_to(1 - active, reclaim);
        self.overwrite(active, key, action, parameters)
    }

    fn overwrite(&self, index: usize, key: &[u8], action: u16, parameters: &[u8]) -> bool {
        let store = &self.stores[index];
        store.overwrite::<false>(store.hash(key), key, action, parameters)
    }

    /// Whether changes of several entries may share a swap: where its wait is for readers, and not a time that each
    /// change takes.
    pub(crate) fn gathers(&self) -> bool {
        self.wait == Wait::Quiescent
    }

    /// Runs a batch of packets whose changes of different entries share a swap. Each action gets a copy of its entry.
    pub(crate) fn batch(
        &self,
        worker: (Reclaim<'_>, &Seat),
        keys: &[u8],
        scratch: &mut [u8],
        changes: &mut Changes,
        visitor: &mut impl Visitor,
    ) {
        let layout = self.stores[0].layout();
        // With the widths known to the compiler, keys and parameters are words and not copies.
        match (layout.key_bytes(), layout.parameter_bytes()) {
            (4, 4) => self.batch_of::<4, 4>(worker, keys, scratch, changes, visitor),
            _ => self.batch_of::<0, 0>(worker, keys, scratch, changes, visitor),
        }
    }

    /// `K` and `V` are the bytes of keys and parameters, or 0 where they are known only when it runs.
    fn batch_of<const K: usize, const V: usize>(
        &self,
        (reclaim, seat): (Reclaim<'_>, &Seat),
        keys: &[u8],
        scratch: &mut [u8],
        changes: &mut Changes,
        visitor: &mut impl Visitor,
    ) {
        let layout = self.stores[0].layout();
        let widths @ (width, length) = widths::<K, V>(layout);
        let scratch = &mut scratch[..length];
        // What is left of a batch whose action panicked.
        changes.clear();
        let mut packet = 0;
        for batch in keys.chunks(BATCH * width) {
            let _pin = Pin::new(reclaim.domain, seat);
            // What leads to the entries of one replica comes while the other's is asked for. Both have one hash.
            let ahead = self.stores.each_ref().map(|store| store.ahead(batch));
            self.stores
                .iter()
                .zip(&ahead)
                .for_each(|(store, ahead)| store.fetch_entries(ahead, batch));
            for (key, &hash) in batch.chunks_exact(width).zip(ahead[0].hashes()) {
                if changes.has(hash) {
                    self.change_all::<K, V>(reclaim, widths, changes);
                }
                match self.active().read_hashed::<false>(hash, key, scratch) {
                    Some((action, position)) => {
                        let mut hit = Hit::new(action, scratch, position);
                        visitor.hit(packet, &mut hit);
                        let (effect, aftermath) = hit.outcome(layout, action);
                        if let (Effect::Store(action), false) = (effect, aftermath.delete) {
                            changes.add(hash, key, action, scratch);
                        }
                        visitor.after(packet, key, aftermath);
                    }
                    None => visitor.miss(packet, key),
                }
                packet += 1;
            }
            self.change_all::<K, V>(reclaim, widths, changes);
        }
    }

    /// Makes changes by one swap. Those of entries that have gone are left out.
    fn change_all<const K: usize, const V: usize>(
        &self,
        reclaim: Reclaim<'_>,
        widths: (usize, usize),
        changes: &mut Changes,
    ) {
        if changes.is_empty() {
            return;
        }
        let _writer = self.lock(reclaim);
        let active = self.active.load(Ordering::Relaxed);
        changes.make::<K, V>(&self.stores[1 - active], widths);
        self.swap_to(1 - active, reclaim);
        changes.make::<K, V>(&self.stores[active], widths);
        changes.clear();
    }

    /// Lets the expiry time of the entry at a position begin anew.
    pub(crate) fn restart(&self, position: Position, now: Tick) {
        if let Some(ageing) = &self.ageing {
            ageing.restart(position, now);
        }
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

/// Changes of entries that one swap of replicas makes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    hashes: Vec<u64>,
    keys: Vec<u8>,
    actions: Vec<u16>,
    parameters: Vec<u8>,
    /// A bit for each hash.
    likely: u64,
}

impl Changes {
    #[inline(always)]
    fn add(&mut self, hash: u64, key: &[u8], action: u16, parameters: &[u8]) {
        self.likely |= 1 << (hash % 64);
        self.hashes.push(hash);
        self.keys.extend_from_slice(key);
        self.actions.push(action);
        self.parameters.extend_from_slice(parameters);
    }

    /// Whether the entry with this key is among those that change; another one may be taken for it.
    #[inline(always)]
    fn has(&self, hash: u64) -> bool {
        self.likely >> (hash % 64) & 1 == 1 && self.hashes.contains(&hash)
    }

    fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    fn clear(&mut self) {
        self.hashes.clear();
        self.keys.clear();
        self.actions.clear();
        self.parameters.clear();
        self.likely = 0;
    }

    fn make<const K: usize, const V: usize>(&self, store: &Store, (width, length): (usize, usize)) {
        let (width, length) = (if K > 0 { K } else { width }, if V > 0 { V } else { length });
        let keys = self.keys.chunks_exact(width).zip(&self.hashes);
        for (index, ((key, &hash), &action)) in keys.zip(&self.actions).enumerate() {
            let parameters = &self.parameters[index * length..][..length];
            store.overwrite::<false>(hash, key, action, parameters);
        }
    }
}

/// Bytes of keys and parameters.
#[inline(always)]
fn widths<const K: usize, const V: usize>(layout: &Layout) -> (usize, usize) {
    if K > 0 { (K, V) } else { (layout.key_bytes(), layout.parameter_bytes()) }
}
