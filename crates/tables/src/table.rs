//! A table and what the control plane does with it. The data plane uses a [`Worker`] for each thread.

mod error;
mod inner;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::counter::DirectCounters;
use crate::design::{Design, Requirements, Storage, Synchronisation, UpdateMethod};
use crate::digest::DigestSender;
use crate::direct::Direct;
use crate::entry::{ActionId, ExpiryProfile, Position, Tick};
use crate::indirect::Parts;
use crate::layout::Layout;
use crate::machine;
use crate::memory;
use crate::meter::DirectMeters;
use crate::pair::Pair;
use crate::quiescence::{Domain, Reclaim, Seat};
use crate::region::Pages;
use crate::store::Store;
use crate::unit::{NewEntry, Shard, Unit, Units, lock_shard};
use crate::worker::Worker;
pub use error::{EntryError, TableError, WorkerError};

/// An exact-match table. Clones are the same table.
#[derive(Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) layout: Layout,
    pub(crate) design: Design,
    pub(crate) domain: Domain,
    pub(crate) units: Units,
    pub(crate) digests: OnceLock<DigestSender>,
    /// The shard of the next worker that does not say which.
    next_shard: AtomicUsize,
    /// Control planes take turns; the seat is theirs.
    control: Mutex<Seat>,
}

/// What a table is to do beyond holding entries.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What the program asks of the design.
    pub requirements: Requirements,
    /// Each entry counts its packets and bytes.
    pub direct_counters: bool,
    /// Each entry has a meter.
    pub direct_meters: bool,
    /// Idle times in ticks; an [`ExpiryProfile`] is an index into them. Without any, entries do not age.
    pub expiry_profiles: Vec<u32>,
}

/// One entry as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key, most significant byte first.
    pub key: Vec<u8>,
    /// The action.
    pub action: ActionId,
    /// Its parameters, as many bytes as the layout says.
    pub parameters: Vec<u8>,
    /// Where it lies.
    pub position: Position,
}

/// Bytes that a table has allocated, by part, over all replicas and shards. The operating system provides a part of
/// them only when it is first written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemoryUse {
    /// The hash index of original, dynamic and static storage, which the paper's equations leave out.
    pub index: usize,
    /// Keys with the words beside them: `s * [8 + k]` to 16 B in the paper.
    pub keys: usize,
    /// The pointer array of original storage: `8 B * s`.
    pub pointers: usize,
    /// Entries; for inline storage the buckets with all that is in them.
    pub entries: usize,
    /// The pages under the larger parts.
    pub pages: Pages,
}

impl MemoryUse {
    /// What the paper's equations count.
    pub fn modelled(&self) -> usize {
        self.keys + self.pointers + self.entries
    }

    /// Everything.
    pub fn total(&self) -> usize {
        self.modelled() + self.index
    }
}

impl Table {
    /// An empty table. See [`Table::with_options`].
    pub fn new(layout: Layout, design: Design) -> Result<Self, TableError> {
        Self::with_options(layout, design, &Options::default())
    }

    /// An empty table, unless the design cannot honour what is asked or the memory does not suffice.
    pub fn with_options(
        layout: Layout,
        design: Design,
        options: &Options,
    ) -> Result<Self, TableError> {
        design.check(options.requirements)?;
        let needs = memory::reserved_bytes(&layout, &design);
        let available = machine::available_memory();
        if available.is_some_and(|available| needs > available) {
            return Err(TableError::Memory { needs, available: available.unwrap_or(0) });
        }
        let store = |layout, direct: &Arc<Direct>| {
            let store = Store::new(layout, design.storage, design.entry_lock, direct);
            store.ok_or(TableError::Memory { needs, available: available.unwrap_or(0) })
        };
        let direct = |layout| Arc::new(Direct::new(memory::positions(&layout, &design), options));
        let unit = |layout| {
            let direct = direct(layout);
            Ok::<_, TableError>(Unit::new(
                store(layout, &direct)?,
                &options.expiry_profiles,
                direct,
            ))
        };
        let units = match design.synchronisation {
            Synchronisation::Optimistic if design.update == UpdateMethod::Pointer => {
                Units::One(Box::new(unit(layout)?.with_calm()))
            }
            Synchronisation::Optimistic => Units::One(Box::new(unit(layout)?)),
            Synchronisation::DoubleBuffer { wait } => {
                let none = Arc::new(Direct::default());
                let (first, second) = (store(layout, &none)?, store(layout, &none)?);
                Units::Two(Box::new(Pair::new(
                    first,
                    second,
                    wait,
                    &options.expiry_profiles,
                    direct(layout),
                )))
            }
            Synchronisation::Sharded { shards, placement } => {
                let shard = memory::shard_layout(&layout, shards, placement);
                let unit = |_| unit(shard).map(Shard::new);
                Units::Shards((0..shards).map(unit).collect::<Result<_, TableError>>()?)
            }
        };
        let domain = Domain::new();
        let control = domain.join().ok_or(TableError::Workers)?;
        Ok(Self {
            inner: Arc::new(Inner {
                layout,
                design,
                domain,
                units,
                digests: OnceLock::new(),
                next_shard: AtomicUsize::new(0),
                control: Mutex::new(control),
            }),
        })
    }

    /// What the table holds.
    pub fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    /// How it is built.
    pub fn design(&self) -> &Design {
        &self.inner.design
    }

    /// A handle for one thread of the data plane. In a sharded table workers get shards in turn.
    pub fn worker(&self) -> Result<Worker, WorkerError> {
        let shards = self.shards();
        let shard = self.inner.next_shard.fetch_add(1, Ordering::Relaxed) % shards;
        self.worker_of_shard(shard)
    }

    /// A handle for the thread that runs the packets of one shard; shard 0 where the table is not sharded.
    pub fn worker_of_shard(&self, shard: usize) -> Result<Worker, WorkerError> {
        let shards = self.shards();
        if shard >= shards {
            return Err(WorkerError::NoSuchShard { shard, shards });
        }
        if self.inner.design.update == UpdateMethod::Digest && self.inner.digests.get().is_none() {
            return Err(WorkerError::NoController);
        }
        let seat = self.inner.domain.join().ok_or(WorkerError::TooMany)?;
        Ok(Worker::new(Arc::clone(&self.inner), seat, shard))
    }

    /// Number of shards; 1 where the table is not sharded.
    pub fn shards(&self) -> usize {
        match &self.inner.units {
            Units::Shards(shards) => shards.len(),
            _ => 1,
        }
    }

    /// The shard that holds the entry with this key, if entries are placed by key; packets go to its worker.
    pub fn shard_of(&self, key: &[u8]) -> usize {
        self.inner.shard_of(key)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Adds an entry. Shorter parameters are filled up with zeros.
    pub fn insert(
        &self,
        key: &[u8],
        action: ActionId,
        parameters: &[u8],
    ) -> Result<(), EntryError> {
        self.insert_ageing(key, action, parameters, None, Tick::default())
    }

    /// Adds an entry that expires when it has been idle for the profile's time.
    pub fn insert_ageing(
        &self,
        key: &[u8],
        action: ActionId,
        parameters: &[u8],
        profile: Option<ExpiryProfile>,
        now: Tick,
    ) -> Result<(), EntryError> {
        let parameters = self.inner.check(key, action, parameters)?;
        let entry = NewEntry { key, action: action.0, parameters: &parameters, profile };
        let control = self.control();
        let inserted = match &self.inner.units {
            Units::Shards(shards) if self.inner.is_replicated() => {
                let insert =
                    |shard: &Shard| lock_shard(shard).insert::<true>(control.reclaim(), entry, now);
                let mut result = Ok(());
                for (index, shard) in shards.iter().enumerate() {
                    if let Err(full) = insert(shard) {
                        // All or none; an entry that a packet added to its own shard first stays.
                        for shard in &shards[..index] {
                            lock_shard(shard).remove(control.reclaim(), key);
                        }
                        result = Err(full);
                        break;
                    }
                }
                result
            }
            _ => self.inner.insert(control.reclaim(), self.inner.shard_of(key), entry, now),
        };
        inserted.map_err(|full| EntryError::from_full(full, self.inner.layout.size()))
    }

    /// Replaces action and parameters of the entry with this key.
    pub fn modify(
        &self,
        key: &[u8],
        action: ActionId,
        parameters: &[u8],
    ) -> Result<(), EntryError> {
        let parameters = self.inner.check(key, action, parameters)?;
        let control = self.control();
        let mut found = false;
        for shard in self.shards_of(key) {
            found |= self.inner.modify(control.reclaim(), shard, key, action.0, &parameters);
        }
        if found { Ok(()) } else { Err(EntryError::NotFound) }
    }

    /// Takes the entry with this key out.
    pub fn delete(&self, key: &[u8]) -> Result<(), EntryError> {
        self.inner.check(key, ActionId(0), &[])?;
        let control = self.control();
        let mut found = false;
        for shard in self.shards_of(key) {
            found |= self.inner.remove(control.reclaim(), shard, key);
        }
        if found { Ok(()) } else { Err(EntryError::NotFound) }
    }

    /// Reads the entry with this key, from the shard that is its place where the table is sharded.
    pub fn read(&self, key: &[u8]) -> Option<Entry> {
        if key.len() != self.inner.layout.key_bytes() {
            return None;
        }
        let _control = self.control();
        self.inner.read(self.inner.shard_of(key), key)
    }

    /// All entries, in no particular order; of a replicated table those of the first shard. Each is read whole, but
    /// what comes and goes meanwhile may be among them or not.
    pub fn entries(&self) -> Vec<Entry> {
        let control = self.control();
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        let mut collect = |key: &[u8]| keys.push(key.into());
        match &self.inner.units {
            Units::One(unit) => unit.store.for_each_key(&mut collect),
            Units::Two(pair) => pair.active().for_each_key(&mut collect),
            Units::Shards(shards) => {
                let shown = if self.inner.is_replicated() { 1 } else { shards.len() };
                for shard in &shards[..shown] {
                    lock_shard(shard).store.for_each_key(&mut collect);
                }
            }
        }
        let shard =
            |key: &[u8]| if self.inner.is_replicated() { 0 } else { self.inner.shard_of(key) };
        let entries = keys.iter().filter_map(|key| self.inner.read(shard(key), key)).collect();
        drop(control);
        entries
    }

    /// Number of entries; of a replicated table, that of its fullest shard.
    pub fn len(&self) -> usize {
        match &self.inner.units {
            Units::One(unit) => unit.store.len(),
            Units::Two(pair) => pair.active().len(),
            Units::Shards(shards) => {
                let lengths = shards.iter().map(|shard| lock_shard(shard).store.len());
                if self.inner.is_replicated() { lengths.max().unwrap_or(0) } else { lengths.sum() }
            }
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Positions of entries (of one shard) are below this.
    pub fn positions(&self) -> usize {
        match &self.inner.units {
            Units::One(unit) => unit.store.positions(),
            Units::Two(pair) => pair.active().positions(),
            Units::Shards(shards) => {
                shards.first().map_or(0, |shard| lock_shard(shard).store.positions())
            }
        }
    }

    /// The counters of the entries in a shard (0 where the table is not sharded), if it was made with some. Data plane
    /// and control plane use them with [`Hit::position`](crate::Hit::position) and [`Entry::position`].
    pub fn counters(&self, shard: usize) -> Option<Arc<DirectCounters>> {
        self.inner.direct(shard)?.counters.clone()
    }

    /// The meters of the entries in a shard, if the table was made with some.
    pub fn meters(&self, shard: usize) -> Option<Arc<DirectMeters>> {
        self.inner.direct(shard)?.meters.clone()
    }

    /// Deletes the entries that have been idle for their time, and returns their keys. Call it once per tick or so:
    /// its cost is that of the timers that come due, not of the table.
    pub fn expire(&self, now: Tick) -> Vec<Vec<u8>> {
        let control = self.control();
        let mut keys = Vec::new();
        for shard in 0..self.shards() {
            keys.append(&mut self.inner.expire(control.reclaim(), shard, now));
        }
        keys
    }

    /// Bytes allocated now.
    pub fn memory(&self) -> MemoryUse {
        let mut parts = Parts::default();
        let mut pages = Pages::Small;
        let mut add = |store: &Store| {
            let more = store.parts();
            parts.index += more.index;
            parts.records += more.records;
            parts.pointers += more.pointers;
            parts.entries += more.entries;
            pages = pages.max(store.pages());
        };
        match &self.inner.units {
            Units::One(unit) => add(&unit.store),
            Units::Two(pair) => pair.stores().iter().for_each(add),
            Units::Shards(shards) => shards.iter().for_each(|shard| add(&lock_shard(shard).store)),
        }
        let Parts { index, records, pointers, entries } = parts;
        if self.inner.design.storage == Storage::Inline {
            return MemoryUse { index, keys: 0, pointers, entries: entries + records, pages };
        }
        MemoryUse { index, keys: records, pointers, entries, pages }
    }

    /// The shards that the control plane writes a key to.
    fn shards_of(&self, key: &[u8]) -> std::ops::Range<usize> {
        if self.inner.is_replicated() {
            return 0..self.shards();
        }
        let shard = self.inner.shard_of(key);
        shard..shard + 1
    }

    fn control(&self) -> Control<'_> {
        // A panic between two operations leaves the seat as it is.
        let seat = self.inner.control.lock().unwrap_or_else(PoisonError::into_inner);
        self.inner.domain.pin(&seat);
        Control { inner: &self.inner, seat }
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { layout, design, .. } = &*self.inner;
        f.debug_struct("Table")
            .field("layout", layout)
            .field("design", design)
            .finish_non_exhaustive()
    }
}

/// The control plane's turn: pinned, until dropped.
struct Control<'a> {
    inner: &'a Inner,
    seat: MutexGuard<'a, Seat>,
}

impl Control<'_> {
    fn reclaim(&self) -> Reclaim<'_> {
        Reclaim { seat: Some(&self.seat), ..Reclaim::of(&self.inner.domain) }
    }
}

impl Drop for Control<'_> {
    fn drop(&mut self) {
        self.inner.domain.unpin(&self.seat);
    }
}
