//! Tables whose keys are not, or not only, matched exactly: longest prefix, ternary, range, optional, and mixtures.
//!
//! Tuple space search (Srinivasan, Suri and Varghese 1999): the entries' masks are few, so there is one exact-match
//! table for each, from masked key to the number and priority of the best entry, and a lookup asks them in order of
//! their highest priority until none left can do better. The entries themselves, number to action and parameters,
//! are a [`Table`] of whatever design; so what this crate says of designs, locks, counters and ages holds here too.
//!
//! Only the control plane adds entries (PNA 0.7 lets packets add to exact-match tables alone). Numbers are never used
//! twice, and an entry goes only after it was unlinked and every batch that might have found it has ended. So a packet
//! runs the best entry that was there at some moment of its lookup in each of the exact-match tables.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use crate::design::{Design, EntryLock, Placement, Storage, Synchronisation, UpdateMethod};
use crate::entry::{ActionId, AddStatus, ExpiryProfile, Tick};
use crate::layout::{Layout, LayoutError};
use crate::match_key::{FieldMatch, Masked, MatchError, MatchField, MatchKind, pieces};
use crate::quiescence::{Domain, Pin, Seat};
use crate::store::Hit;
use crate::table::{Entry, EntryError, Options, Table, TableError, WorkerError};
use crate::worker::{Actions, BatchError, Miss, Worker};

/// The number that no entry has.
const NOTHING: u64 = u64::MAX;
/// Entries that a mask's table has room for at first.
const FIRST_SIZE: usize = 16;
/// Bytes of number and priority.
const FOUND: usize = 12;

/// A table with fields matched in any way. Clones are the same table.
#[derive(Clone)]
pub struct MatchTable {
    inner: Arc<Inner>,
}

struct Inner {
    fields: Vec<MatchField>,
    key_bytes: usize,
    entries: Table,
    /// Workers between finding an entry's number and the end of its action.
    domain: Domain,
    tuples: Mutex<Tuples>,
    /// Changes with `tuples`, so that workers see at a glance that theirs are old.
    generation: AtomicU64,
    control: Mutex<Control>,
}

/// Highest priority first.
type Tuples = Arc<[Arc<Tuple>]>;

/// One mask and what is matched under it.
struct Tuple {
    mask: Vec<u8>,
    map: Table,
    /// No entry here has a higher priority.
    highest: u32,
}

/// What the control plane knows beyond what packets need.
#[derive(Default)]
struct Control {
    entries: HashMap<(Vec<FieldMatch>, u32), u64>,
    numbers: HashMap<u64, Known>,
    /// All entries that share a masked value, the one that counts last.
    rivals: HashMap<Masked, BTreeSet<(u32, Reverse<u64>)>>,
    next: u64,
}

struct Known {
    key: (Vec<FieldMatch>, u32),
    priority: u32,
    pieces: Vec<Masked>,
}

impl MatchTable {
    /// An empty table of at most `size` entries. In a sharded design every shard has all entries, whatever the
    /// placement asked for.
    pub fn new(
        fields: &[MatchField],
        parameter_bytes: usize,
        size: usize,
        design: Design,
        options: &Options,
    ) -> Result<Self, MatchTableError> {
        let key_bytes = fields.iter().map(MatchField::bytes).sum::<usize>();
        if fields.iter().any(|field| field.bits == 0) {
            return Err(MatchTableError::Layout(LayoutError::NoKey));
        }
        Layout::new((8 * key_bytes).try_into().unwrap_or(u32::MAX), parameter_bytes, size)?;
        if fields.iter().filter(|field| field.kind == MatchKind::Lpm).count() > 1 {
            return Err(MatchTableError::TwoPrefixes);
        }
        let mut design = design;
        if let Synchronisation::Sharded { placement, .. } = &mut design.synchronisation {
            *placement = Placement::Replicated;
        }
        let entries =
            Table::with_options(Layout::new(64, parameter_bytes, size)?, design, options)?;
        Ok(Self {
            inner: Arc::new(Inner {
                fields: fields.to_vec(),
                key_bytes,
                entries,
                domain: Domain::new(),
                tuples: Mutex::new(Arc::from([])),
                generation: AtomicU64::new(0),
                control: Mutex::default(),
            }),
        })
    }

    /// Bytes of a packet's key: its fields one behind the other, each in whole bytes.
    pub fn key_bytes(&self) -> usize {
        self.inner.key_bytes
    }

    /// The entries by their numbers: design, memory, counters and meters are asked here.
    pub fn entries(&self) -> &Table {
        &self.inner.entries
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.inner.control().entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether entries have a priority of their own, as P4Runtime asks where a field is ternary, range or optional.
    pub fn has_priorities(&self) -> bool {
        let needs = |field: &MatchField| !matches!(field.kind, MatchKind::Exact | MatchKind::Lpm);
        self.inner.fields.iter().any(needs)
    }

    /// Adds an entry. The priority is above 0 where the table has priorities, and 0 where not. Of entries with the
    /// same priority that match a packet, the oldest wins.
    pub fn insert(
        &self,
        matches: &[FieldMatch],
        priority: u32,
        action: ActionId,
        parameters: &[u8],
        ageing: Option<(ExpiryProfile, Tick)>,
    ) -> Result<(), MatchTableError> {
        let (pieces, prefix) = pieces(&self.inner.fields, matches)?;
        if self.has_priorities() != (priority > 0) {
            return Err(MatchTableError::Priority { priority });
        }
        let effective = if self.has_priorities() { priority } else { prefix };
        let mut control = self.inner.control();
        let key = (matches.to_vec(), priority);
        if control.entries.contains_key(&key) {
            return Err(EntryError::Exists.into());
        }
        let number = control.next;
        let (profile, now) =
            ageing.map_or((None, Tick::default()), |(profile, now)| (Some(profile), now));
        self.inner.entries.insert_ageing(
            &number.to_be_bytes(),
            action,
            parameters,
            profile,
            now,
        )?;
        control.next += 1;
        control.entries.insert(key.clone(), number);
        let mut failed = None;
        for piece in &pieces {
            let rivals = control.rivals.entry(piece.clone()).or_default();
            rivals.insert((effective, Reverse(number)));
            let best = rivals.last().copied();
            if failed.is_none() {
                failed = self.inner.link(piece, best).err();
            }
        }
        control.numbers.insert(number, Known { key, priority: effective, pieces });
        if let Some(error) = failed {
            // No memory for a mask's table: the entry goes again.
            self.inner.forget(&mut control, number)?;
            self.inner.entries.delete(&number.to_be_bytes())?;
            return Err(error);
        }
        Ok(())
    }

    /// Replaces action and parameters of the entry with these matches and this priority.
    pub fn modify(
        &self,
        matches: &[FieldMatch],
        priority: u32,
        action: ActionId,
        parameters: &[u8],
    ) -> Result<(), MatchTableError> {
        let control = self.inner.control();
        let number = control.number(matches, priority)?;
        Ok(self.inner.entries.modify(&number.to_be_bytes(), action, parameters)?)
    }

    /// Takes the entry with these matches and this priority out.
    pub fn delete(&self, matches: &[FieldMatch], priority: u32) -> Result<(), MatchTableError> {
        let mut control = self.inner.control();
        let number = control.number(matches, priority)?;
        self.inner.forget(&mut control, number)?;
        // Batches that have found the number end before the entry does.
        self.inner.domain.synchronise(None);
        Ok(self.inner.entries.delete(&number.to_be_bytes())?)
    }

    /// The entry with these matches and this priority; its key is its number.
    pub fn read(&self, matches: &[FieldMatch], priority: u32) -> Option<Entry> {
        let control = self.inner.control();
        let number = control.number(matches, priority).ok()?;
        self.inner.entries.read(&number.to_be_bytes())
    }

    /// Deletes the entries that have been idle for their time; their matches and priorities. A packet that finds one
    /// at that moment misses.
    pub fn expire(&self, now: Tick) -> Vec<(Vec<FieldMatch>, u32)> {
        let mut control = self.inner.control();
        let mut expired = Vec::new();
        for key in self.inner.entries.expire(now) {
            let Ok(number) = <[u8; 8]>::try_from(&key[..]).map(u64::from_be_bytes) else {
                continue;
            };
            if let Some(known) = control.numbers.get(&number) {
                expired.push(known.key.clone());
                // The links of an entry that is gone lead to a miss, so one that stayed does no harm.
                let _ = self.inner.forget(&mut control, number);
            }
        }
        expired
    }

    /// A handle for one thread of the data plane.
    pub fn worker(&self) -> Result<MatchWorker, WorkerError> {
        let entries = self.inner.entries.worker()?;
        let seat = self.inner.domain.join().ok_or(WorkerError::TooMany)?;
        let inner = Arc::clone(&self.inner);
        Ok(MatchWorker {
            inner,
            seat,
            entries,
            generation: None,
            tuples: Vec::new(),
            found: Vec::new(),
        })
    }
}

impl fmt::Debug for MatchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchTable").field("fields", &self.inner.fields).finish_non_exhaustive()
    }
}

impl Control {
    fn number(&self, matches: &[FieldMatch], priority: u32) -> Result<u64, EntryError> {
        self.entries.get(&(matches.to_vec(), priority)).copied().ok_or(EntryError::NotFound)
    }
}

impl Inner {
    fn control(&self) -> MutexGuard<'_, Control> {
        // Nothing between two steps of a change can panic but for lack of memory.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tuples(&self) -> Tuples {
        Arc::clone(&self.tuples.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, mut tuples: Vec<Arc<Tuple>>) {
        tuples.sort_by_key(|tuple| Reverse(tuple.highest));
        *self.tuples.lock().unwrap_or_else(PoisonError::into_inner) = tuples.into();
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Lets a masked value lead to the best of its entries, or to none.
    fn link(
        &self,
        piece: &Masked,
        best: Option<(u32, Reverse<u64>)>,
    ) -> Result<(), MatchTableError> {
        let mut tuples = self.tuples().to_vec();
        let place = tuples.iter().position(|tuple| tuple.mask == piece.mask);
        let Some((priority, Reverse(number))) = best else {
            if let Some(place) = place {
                tuples[place].map.delete(&piece.value)?;
            }
            return Ok(());
        };
        let mut found = [0; FOUND];
        found[..8].copy_from_slice(&number.to_le_bytes());
        found[8..].copy_from_slice(&priority.to_le_bytes());
        let place = match place {
            Some(place) => place,
            None => {
                tuples.push(Arc::new(Tuple::new(piece.mask.clone(), FIRST_SIZE, priority)?));
                tuples.len() - 1
            }
        };
        let old = Arc::clone(&tuples[place]);
        let mut new = None;
        match old.map.insert(&piece.value, ActionId(0), &found) {
            Err(EntryError::Exists) => old.map.modify(&piece.value, ActionId(0), &found)?,
            Err(EntryError::Full { size }) => {
                let larger = Tuple::new(old.mask.clone(), 2 * size, old.highest.max(priority))?;
                for entry in old.map.entries() {
                    larger.map.insert(&entry.key, entry.action, &entry.parameters)?;
                }
                larger.map.insert(&piece.value, ActionId(0), &found)?;
                new = Some(larger);
            }
            other => other?,
        }
        if new.is_none() && priority > old.highest {
            new = Some(Tuple { mask: old.mask.clone(), map: old.map.clone(), highest: priority });
        }
        if let Some(new) = new {
            tuples[place] = Arc::new(new);
        }
        // Also when the tuple is new and nothing else happened.
        if !self.tuples().iter().any(|tuple| Arc::ptr_eq(tuple, &tuples[place])) {
            self.publish(tuples);
        }
        Ok(())
    }

    /// Unlinks an entry. Its number leads nowhere from now on, but batches under way may have found it before.
    fn forget(&self, control: &mut Control, number: u64) -> Result<(), MatchTableError> {
        let Some(known) = control.numbers.remove(&number) else { return Ok(()) };
        control.entries.remove(&known.key);
        for piece in &known.pieces {
            let Some(rivals) = control.rivals.get_mut(piece) else { continue };
            let was_best = rivals.last() == Some(&(known.priority, Reverse(number)));
            rivals.remove(&(known.priority, Reverse(number)));
            let best = rivals.last().copied();
            if best.is_none() {
                control.rivals.remove(piece);
            }
            if was_best {
                match self.link(piece, best) {
                    // It was never linked, for lack of memory.
                    Err(MatchTableError::Entry(EntryError::NotFound)) => {}
                    other => other?,
                }
            }
        }
        Ok(())
    }
}

impl Tuple {
    fn new(mask: Vec<u8>, size: usize, highest: u32) -> Result<Self, MatchTableError> {
        let design = Design {
            storage: Storage::Inline,
            synchronisation: Synchronisation::Optimistic,
            entry_lock: EntryLock::None,
            update: UpdateMethod::Pointer,
        };
        let bits = (8 * mask.len()).try_into().unwrap_or(u32::MAX);
        let map = Table::new(Layout::new(bits, FOUND, size)?, design)?;
        Ok(Self { mask, map, highest })
    }
}

/// A handle for one thread.
pub struct MatchWorker {
    inner: Arc<Inner>,
    seat: Seat,
    entries: Worker,
    generation: Option<u64>,
    tuples: Vec<(Arc<Tuple>, Worker)>,
    /// Number and priority of the best entry of each packet of a batch.
    found: Vec<(u64, u32)>,
}

impl MatchWorker {
    /// Runs a batch of packets in arrival order, as [`Worker::apply_batch`]; keys lie one behind the other, each of
    /// [`MatchTable::key_bytes`] bytes. [`Miss::add_entry`] adds nothing here.
    pub fn apply_batch(
        &mut self,
        keys: &[u8],
        now: Tick,
        actions: &mut impl Actions,
    ) -> Result<(), BatchError> {
        let width = self.inner.key_bytes;
        BatchError::check(keys, width)?;
        self.refresh();
        let Self { inner, seat, entries, tuples, found, .. } = self;
        let _pin = Pin::new(&inner.domain, seat);
        classify(tuples, keys, width, found)?;
        let numbers: Vec<u8> = found.iter().flat_map(|(number, _)| number.to_be_bytes()).collect();
        entries.apply_batch(&numbers, now, &mut Matched { keys, width, actions })
    }

    /// Looks up one key and runs `look` on a copy of its entry.
    pub fn lookup<R>(&mut self, key: &[u8], look: impl FnOnce(&Hit<'_>) -> R) -> Option<R> {
        let width = self.inner.key_bytes;
        if key.len() != width {
            return None;
        }
        self.refresh();
        let Self { inner, seat, entries, tuples, found, .. } = self;
        let _pin = Pin::new(&inner.domain, seat);
        classify(tuples, key, width, found).ok()?;
        entries.lookup(&found.first()?.0.to_be_bytes(), look)
    }

    /// Takes over the masks as they are now.
    fn refresh(&mut self) {
        let generation = self.inner.generation.load(Ordering::Acquire);
        if self.generation == Some(generation) {
            return;
        }
        // Old handles go first: each mask's table has a seat for each worker of the entries, and not two.
        self.tuples.clear();
        let tuples = self.inner.tuples();
        for tuple in tuples.iter() {
            match tuple.map.worker() {
                Ok(worker) => self.tuples.push((Arc::clone(tuple), worker)),
                // Somebody else is about to let go of the seat: all of this again with the next batch.
                Err(_) => return,
            }
        }
        self.generation = Some(generation);
    }
}

/// Finds the best entry for each key.
fn classify(
    tuples: &mut [(Arc<Tuple>, Worker)],
    keys: &[u8],
    width: usize,
    found: &mut Vec<(u64, u32)>,
) -> Result<(), BatchError> {
    found.clear();
    found.resize(keys.len() / width, (NOTHING, 0));
    let mut masked = vec![0; keys.len()];
    for (tuple, worker) in tuples {
        // Priorities may be equal, and then the number decides, so only a higher one ends the search.
        if found.iter().all(|&(number, priority)| number != NOTHING && priority > tuple.highest) {
            break;
        }
        for (masked, key) in masked.chunks_exact_mut(width).zip(keys.chunks_exact(width)) {
            for ((masked, key), mask) in masked.iter_mut().zip(key).zip(&tuple.mask) {
                *masked = key & mask;
            }
        }
        worker.lookup_batch(&masked, &mut |packet, hit| {
            let Some(found) = hit.and(found.get_mut(packet)) else { return };
            let Some(hit) = hit else { return };
            let (number, priority) = parse(hit.parameters());
            if found.0 == NOTHING || (priority, Reverse(number)) > (found.1, Reverse(found.0)) {
                *found = (number, priority);
            }
        })?;
    }
    Ok(())
}

fn parse(parameters: &[u8]) -> (u64, u32) {
    match (parameters.first_chunk::<8>(), parameters.last_chunk::<4>()) {
        (Some(number), Some(priority)) => {
            (u64::from_le_bytes(*number), u32::from_le_bytes(*priority))
        }
        _ => (NOTHING, 0),
    }
}

/// Packets on their way to the entries' table: a miss shows them their own key.
struct Matched<'a, A> {
    keys: &'a [u8],
    width: usize,
    actions: &'a mut A,
}

impl<A: Actions> Actions for Matched<'_, A> {
    fn hit(&mut self, packet: usize, entry: &mut Hit<'_>) {
        self.actions.hit(packet, entry);
    }

    fn miss(&mut self, packet: usize, _: &mut Miss<'_>) {
        let key = self.keys.chunks_exact(self.width).nth(packet).unwrap_or_default();
        let mut nothing = |_: ActionId, _: &[u8], _: Option<ExpiryProfile>| AddStatus::NotDone;
        self.actions.miss(packet, &mut Miss::new(key, &mut nothing));
    }
}

impl fmt::Debug for MatchWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchWorker").field("entries", &self.entries).finish_non_exhaustive()
    }
}

impl Drop for MatchWorker {
    fn drop(&mut self) {
        self.inner.domain.leave(&self.seat);
    }
}

/// Why a table with match kinds was not made, or an entry not written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MatchTableError {
    /// The numbers of the table.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Its design or memory.
    #[error(transparent)]
    Table(#[from] TableError),
    /// More than one longest-prefix field.
    #[error("a key has at most one lpm field; match the others as ternary")]
    TwoPrefixes,
    /// An entry's match.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// A priority where there is none, or none where there must be.
    #[error(
        "priority {priority}: it is above 0 if a field is ternary, range or optional, and 0 if none is"
    )]
    Priority {
        /// The priority given.
        priority: u32,
    },
    /// The entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
}
