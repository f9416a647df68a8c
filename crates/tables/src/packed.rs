//! A table of packed entries that machine code reads and writes, with the storage and the replicas
//! that a program configures. The control plane inserts, changes and removes its entries.
//!
//! If keys are not matched exactly, entries are stored by number, and a [`Finder`] maps a packet's
//! key to the number of the best entry.
//!
//! Workers use entries inside the gate of their [`WorkerGroup`]. They lock entries only against
//! each other. They take no lock if that makes no observable difference: if packets only read, or
//! if each action writes at most one number of an entry. Packets wait while the gate is closed, so
//! work proportional to the number of entries is done before that: a table that must grow or may
//! shrink is copied, and a search is rebuilt, while packets use the current ones ([`Changing`]).
//! Only entries that packets write in place are copied while the gate is closed.

mod replicas;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use thiserror::Error;

use crate::access::{Access, Sharing};
use crate::design::{
    Design, DesignError, EntryLock, Requirements, Synchronisation, UpdateMethod, Wait,
};
use crate::entry::ActionId;
use crate::exact::{ExactTable, ExactTableError};
use crate::finder::{Finder, FinderError, Searcher, SearcherSource};
use crate::group::{Closed, Worker, WorkerGroup, WorkerId};
use crate::match_key::{FieldMatch, MatchField};
use crate::memory::MemoryUse;
use crate::sync::lock;
use replicas::{Remade, Replicas};

/// The least number of removals after which a table is shrunk, unless it has become empty.
const TAKEN_AT_ONCE: usize = 256;

/// The settings of a table: what it holds, how it is stored, and what packets do with its entries.
#[derive(Debug, Clone, Copy)]
pub struct TableSettings<'s> {
    /// The design of the table.
    pub design: Design,
    /// The keys that packets are matched by.
    pub keys: Keys<'s>,
    /// The number of bytes of the parameters of an entry.
    pub parameter_bytes: usize,
    /// The number of actions. Every action identifier is smaller than this number.
    pub actions: u16,
    /// A bit for each action that writes the parameters of its entry. The first action has the
    /// lowest bit.
    pub writing: u64,
    /// Whether each action that writes its entry writes at most one number of 1, 2, 4 or 8 bytes.
    pub writes_words: bool,
}

/// The keys of a table.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'s> {
    /// Numbers of a fixed width, matched exactly.
    Exact {
        /// The number of bits.
        bits: u32,
    },
    /// Fields, each of which may be matched in any way.
    Fields {
        /// The fields.
        fields: &'s [MatchField],
        /// The expected number of entries.
        size: usize,
    },
}

/// The match of one entry.
#[derive(Debug, Clone, Copy)]
pub enum Match<'m> {
    /// The key, for a table whose keys are matched exactly.
    Exact(u128),
    /// The match of each field, for a table whose keys are fields.
    Fields {
        /// The matches, one for each field of the table.
        fields: &'m [FieldMatch],
        /// The priority, if fields need one.
        priority: u32,
        /// The rank among entries with equal priority: the entry with the smallest order is the
        /// best.
        order: u64,
    },
}

/// An error from making a table or from adding an entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The parts of the design are incompatible, or do not support what packets do.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The entries cannot be stored.
    #[error(transparent)]
    Entries(#[from] ExactTableError),
    /// The entries cannot be found.
    #[error(transparent)]
    Search(#[from] FinderError),
    /// The match is for exact keys and the table has fields, or the reverse.
    #[error(
        "the entry is matched by fields where the table has exact keys, or the other way round"
    )]
    OtherKind,
}

/// A table of packed entries; see the module.
#[derive(Debug)]
pub struct PackedTable {
    group: Arc<WorkerGroup>,
    design: Design,
    parameter_bytes: usize,
    /// Whether keys are matched exactly.
    is_exact: bool,
    /// A bit for each action that writes its entry in place.
    writing: u64,
    writes_words: bool,
    /// A counter of the changes after which workers must access the table in another way.
    version: AtomicU64,
    /// A lock held while the set of entries changes, taken before the gate is closed.
    changing: Mutex<Changing>,
    entries: RwLock<Entries>,
}

/// The state that is used only when the set of entries changes.
#[derive(Debug)]
struct Changing {
    /// The search for entries, unless keys are matched exactly.
    finder: Option<Finder>,
    /// The number of entries that were removed since the table was last shrunk.
    taken: usize,
}

/// The way in which a worker accesses a table, as of some moment. Once [`PackedTable::reached`]
/// returns another value, the worker must call [`PackedTable::access`] again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    membership: u64,
    table: u64,
}

/// The state that changes only while the gate is closed. Workers inside the gate may be reading it,
/// so no thread may wait for the gate while it holds this state's lock.
#[derive(Debug)]
struct Entries {
    table: Replicas,
    /// The source of searchers, unless keys are matched exactly.
    searcher: Option<SearcherSource>,
    workers: Vec<(WorkerId, Arc<Lookups>)>,
    /// The numbers of hits and misses of workers that have left.
    gone: (u64, u64),
    /// The number of entries.
    count: usize,
    /// The number of entries whose action writes them in place.
    writers: usize,
}

/// The lookups of one worker in one table. Each batch updates the counters, so they lie on cache
/// lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Lookups {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Lookups {
    /// Adds hits and misses. Only the worker itself calls this.
    pub fn count(&self, hits: u64, misses: u64) {
        for (sum, count) in [(&self.hits, hits), (&self.misses, misses)] {
            sum.store(sum.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
        }
    }

    fn add_to(&self, (hits, misses): (u64, u64)) -> (u64, u64) {
        (hits + self.hits.load(Ordering::Relaxed), misses + self.misses.load(Ordering::Relaxed))
    }
}

impl Entries {
    /// Counts an entry that is added or removed, and whether its action writes it in place.
    fn counted(&mut self, writes: bool, comes: bool) {
        let by = |count: usize| if comes { count + 1 } else { count.saturating_sub(1) };
        self.count = by(self.count);
        if writes {
            self.writers = by(self.writers);
        }
    }
}

impl Changing {
    /// Returns the key under which an entry is to be stored. Unless keys are matched exactly, this
    /// is the number of the entry, which packets find once the insertion is published.
    fn key(&mut self, of: Match<'_>) -> Result<u128, TableError> {
        match (&mut self.finder, of) {
            (None, Match::Exact(key)) => Ok(key),
            (Some(finder), Match::Fields { fields, priority, order }) => {
                Ok(u128::from(finder.prepare_insertion(fields, priority, order)?))
            }
            (None, Match::Fields { .. }) | (Some(_), Match::Exact(_)) => Err(TableError::OtherKind),
        }
    }

    fn abandon(&mut self) {
        self.finder.iter_mut().for_each(Finder::abandon);
    }

    /// Makes the prepared insertion or removal visible to packets.
    fn publish(&mut self) -> Result<(), FinderError> {
        self.finder.as_mut().map_or(Ok(()), Finder::publish)
    }

    fn source(&self) -> Option<SearcherSource> {
        self.finder.as_ref().map(Finder::source)
    }
}

impl PackedTable {
    /// Creates an empty table, which the workers of a group use.
    ///
    /// # Errors
    /// Returns an error if the design does not support what packets do, if keys or parameters are
    /// too wide, or if memory does not suffice.
    pub fn new(group: &Arc<WorkerGroup>, settings: &TableSettings<'_>) -> Result<Self, TableError> {
        let TableSettings { design, keys, parameter_bytes, actions, writing, writes_words } =
            *settings;
        let asks = Requirements { reference_parameters: writing != 0, ..Requirements::default() };
        // A program that asks for digests accepts that they arrive late.
        let asks =
            if design.update == UpdateMethod::Digest { Requirements::default() } else { asks };
        design.check(asks)?;
        let (storage, lock) = (design.storage, design.entry_lock);
        let table = match keys {
            Keys::Exact { bits } => {
                ExactTable::stored(storage, lock, bits, parameter_bytes, actions)
            }
            // The search returns the number of an entry, so entries are stored by number.
            Keys::Fields { .. } => ExactTable::numbered(storage, lock, parameter_bytes, actions),
        };
        let finder = match keys {
            Keys::Exact { .. } => None,
            Keys::Fields { fields, size } => Some(Finder::new(fields, size)?),
        };
        let table = Replicas::new(table?, design.synchronisation)?;
        let changing = Changing { finder, taken: 0 };
        let searcher = changing.source();
        let entries =
            Entries { table, searcher, workers: Vec::new(), gone: (0, 0), count: 0, writers: 0 };
        let in_place = design.update == UpdateMethod::Pointer;
        Ok(Self {
            group: Arc::clone(group),
            design,
            parameter_bytes,
            is_exact: matches!(keys, Keys::Exact { .. }),
            writing: if in_place { writing } else { 0 },
            writes_words,
            version: AtomicU64::new(0),
            changing: Mutex::new(changing),
            entries: RwLock::new(entries),
        })
    }

    /// Returns the design that the table was made with.
    #[must_use]
    pub fn design(&self) -> Design {
        self.design
    }

    /// Returns the group of workers that use the table.
    #[must_use]
    pub fn group(&self) -> &Arc<WorkerGroup> {
        &self.group
    }

    /// Returns the number of bytes of the parameters of an entry.
    #[must_use]
    pub fn parameter_bytes(&self) -> usize {
        self.parameter_bytes
    }

    /// Returns whether keys are matched exactly.
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        read(&self.entries).table.len()
    }

    /// Returns whether the table has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a worker, and returns the counters of its lookups.
    ///
    /// # Errors
    /// Returns an error if memory for the worker's own entries does not suffice.
    pub fn join(&self, worker: &Worker) -> Result<Arc<Lookups>, ExactTableError> {
        let _changing = lock(&self.changing);
        // Workers inside the gate may continue, because nothing that they use of the table moves.
        let mut entries = write(&self.entries);
        self.group.count_changes(entries.table.join(worker.id())?);
        let lookups = Arc::<Lookups>::default();
        entries.workers.push((worker.id(), Arc::clone(&lookups)));
        Ok(lookups)
    }

    /// Creates the per-worker parts of the table for a number of workers, before the workers join.
    ///
    /// # Errors
    /// Returns an error if memory does not suffice. Workers then create their own parts when they
    /// join.
    pub fn reserve(&self, workers: usize) -> Result<(), ExactTableError> {
        // Workers inside the gate may continue, because nothing that they use of the table moves.
        let _changing = lock(&self.changing);
        let copied = write(&self.entries).table.reserve(workers)?;
        self.group.count_changes(copied);
        Ok(())
    }

    /// Removes a worker, which must be outside the gate.
    pub fn leave(&self, worker: &Worker) {
        // The worker's entries are compared with those of other workers, whose packets may be
        // writing them, so the gate is closed.
        let _changing = lock(&self.changing);
        let sharded = read(&self.entries).table.is_sharded();
        let _closed = sharded.then(|| self.group.close());
        let entries = &mut *write(&self.entries);
        entries.table.leave(worker.id());
        for (_, lookups) in entries.workers.extract_if(.., |(known, _)| *known == worker.id()) {
            entries.gone = lookups.add_to(entries.gone);
        }
    }

    /// Returns the numbers of hits and misses of all workers.
    #[must_use]
    pub fn lookups(&self) -> (u64, u64) {
        let entries = read(&self.entries);
        entries.workers.iter().fold(entries.gone, |sum, (_, lookups)| lookups.add_to(sum))
    }

    /// Returns the number of bytes that the entries and the search for them take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let finder = lock(&self.changing).finder.as_ref().map_or(0, Finder::bytes);
        finder + read(&self.entries).table.bytes()
    }

    /// Returns the number of bytes that the entries take, by part, over all replicas and shards.
    #[must_use]
    pub fn memory(&self) -> MemoryUse {
        read(&self.entries).table.memory()
    }

    /// Returns the number of entries that packets of several workers wrote, as far as this is known
    /// from workers that have left. Packets that use such an entry were not all processed by one
    /// worker, so each worker continued from its own value.
    #[must_use]
    pub fn divided(&self) -> u64 {
        read(&self.entries).table.divided()
    }

    /// Closes the gate, and has workers look up again how they access this table.
    fn close_for_change(&self) -> Closed<'_> {
        let closed = self.group.close();
        self.moved();
        closed
    }

    /// Has workers that enter the gate from now on look up again how they access this table.
    fn moved(&self) {
        // A worker that sees the group's new version also sees the table's, which is stored first.
        self.version.fetch_add(1, Ordering::SeqCst);
        self.group.moved();
    }

    /// Waits until all workers have been outside the gate, and has them look up again how they
    /// access this table.
    pub fn look_again(&self) {
        drop(self.close_for_change());
    }

    /// Returns how the table is accessed now. A worker calls this inside the gate, before it calls
    /// [`Self::access`].
    #[must_use]
    pub fn reached(&self) -> Reached {
        Reached { membership: self.group.membership(), table: self.version.load(Ordering::SeqCst) }
    }

    /// Adds an entry, and returns the key under which it is stored.
    ///
    /// # Errors
    /// Returns an error if the key exists, if the match does not fit the table's keys, or if memory
    /// does not suffice.
    pub fn insert(
        &self,
        of: Match<'_>,
        action: ActionId,
        parameters: &[u8],
    ) -> Result<u128, TableError> {
        self.group.count_changes(1);
        let mut changing = lock(&self.changing);
        self.outgrow(&mut changing);
        let key = changing.key(of)?;
        let room = self.room_for(key);
        // The replaced tables are dropped after the gate is open again.
        let _before;
        let _closed = self.close_for_change();
        let mut entries = write(&self.entries);
        _before = room.map(|room| entries.table.adopt(room));
        if let Err(error) = entries.table.insert(key, action, parameters) {
            changing.abandon();
            return Err(error.into());
        }
        if let Err(error) = changing.publish() {
            entries.table.take(key);
            return Err(error.into());
        }
        entries.counted(self.writes(action), true);
        Ok(key)
    }

    /// Returns tables with room for one more entry, if the current ones have none and can be copied
    /// while packets are inside the gate. Otherwise returns `None`; the insertion then makes room
    /// itself, or reports that memory does not suffice.
    fn room_for(&self, key: u128) -> Option<Remade> {
        if self.in_place() {
            return None;
        }
        let entries = read(&self.entries);
        let remade = entries.table.with_room_for(key).ok().filter(|remade| !remade.is_empty())?;
        self.group.count_changes(entries.table.len());
        Some(remade)
    }

    /// Rebuilds the search if the number of entries now requires another layout.
    fn outgrow(&self, changing: &mut Changing) {
        let Some(finder) = &mut changing.finder else { return };
        let Some(rebuilt) = finder.rebuilt() else { return };
        let _before;
        {
            let _closed = self.close_for_change();
            let mut entries = write(&self.entries);
            self.group.count_changes(entries.table.len());
            _before = finder.adopt(rebuilt);
            entries.searcher = Some(finder.source());
        }
    }

    /// Counts a removed entry, and frees memory once many entries have been removed.
    fn shrink(&self, changing: &mut Changing) {
        let left = read(&self.entries).table.len();
        changing.taken += 1;
        if changing.taken < left.max(TAKEN_AT_ONCE) && left > 0 {
            return;
        }
        changing.taken = 0;
        self.outgrow(changing);
        changing.finder.iter_mut().for_each(Finder::shrink);
        // Few entries are left, so packets wait only briefly while entries are copied with the gate
        // closed.
        let closed = self.in_place().then(|| self.close_for_change());
        let remade = read(&self.entries).table.shrunk();
        if remade.is_empty() {
            return;
        }
        let _before;
        let _closed = closed.unwrap_or_else(|| self.close_for_change());
        let mut entries = write(&self.entries);
        self.group.count_changes(entries.table.len());
        _before = entries.table.adopt(remade);
    }

    /// Removes the entry with this key, and returns its action and its parameters, including what
    /// packets wrote.
    pub fn take(&self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        self.group.count_changes(1);
        let mut changing = lock(&self.changing);
        if let (Some(finder), Ok(number)) = (&mut changing.finder, u32::try_from(key)) {
            finder.prepare_removal(number);
        }
        let taken = {
            let _closed = self.close_for_change();
            let mut entries = write(&self.entries);
            let Some(taken) = entries.table.take(key) else {
                changing.abandon();
                return None;
            };
            // If memory does not suffice, the search continues to find the number of the entry,
            // which is not assigned to another entry.
            let _ = changing.publish();
            entries.counted(self.writes(taken.0), false);
            taken
        };
        self.shrink(&mut changing);
        Some(taken)
    }

    /// Returns whether packets write entries in place.
    fn in_place(&self) -> bool {
        self.writing != 0
    }

    /// Returns whether an action writes its entry in place.
    fn writes(&self, action: ActionId) -> bool {
        self.writing >> action.0 & 1 == 1
    }

    /// Returns the action and the parameters of an entry, including what packets wrote.
    #[must_use]
    pub fn read(&self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let _closed = self.in_place().then(|| self.group.close());
        read(&self.entries).table.read(key)
    }

    /// Changes an entry to the result of `make`, which is called with its action and parameters,
    /// and returns the entry's previous contents. If `make` returns `None`, nothing is changed. No
    /// packet sees a partially changed entry: with two replicas, packets read the active one while
    /// the passive one is changed; with one replica, the gate is closed.
    pub fn change(
        &self,
        key: u128,
        make: impl FnOnce(ActionId, &[u8]) -> Option<(ActionId, Vec<u8>)>,
    ) -> Option<(ActionId, Vec<u8>)> {
        self.group.count_changes(1);
        let _changing = lock(&self.changing);
        if let Synchronisation::DoubleBuffer { wait } = self.design.synchronisation {
            let _turn = self.group.take_turn();
            let mut entries = write(&self.entries);
            let before = entries.table.read(key)?;
            if let Some((action, bytes)) = make(before.0, &before.1) {
                entries.table.change_passive(key, action, &bytes);
                entries.table.swap();
                // Workers that call `access` again take the lock of the entries, so it is released
                // first.
                drop(entries);
                self.moved();
                match wait {
                    Wait::Quiescent => self.group.wait_for_those_inside(),
                    Wait::Fixed(time) => std::thread::sleep(time),
                }
                write(&self.entries).table.change_passive(key, action, &bytes);
            }
            return Some(before);
        }
        let _closed = self.group.close();
        let mut entries = write(&self.entries);
        let before = entries.table.read(key)?;
        if let Some((action, bytes)) = make(before.0, &before.1) {
            entries.table.replace(key, action, &bytes);
            entries.counted(self.writes(before.0), false);
            entries.counted(self.writes(action), true);
        }
        Some(before)
    }

    /// Returns the action and the parameters of any one of the entries, or `None` if the table is
    /// empty.
    #[must_use]
    pub fn any(&self) -> Option<(ActionId, Vec<u8>)> {
        read(&self.entries).table.any()
    }

    /// Returns the means by which a worker accesses the entries until [`Self::reached`] returns
    /// another value. The worker must have joined and be inside the gate.
    #[must_use]
    pub fn access(&self, worker: &Worker) -> (Access, Searcher) {
        let entries = read(&self.entries);
        let sharing = if self.group.has_one_worker() {
            Sharing::Alone
        } else if !self.in_place() || entries.table.is_sharded() {
            Sharing::Apart
        } else if self.design.entry_lock == EntryLock::PerEntry {
            Sharing::Locked
        } else if self.writes_words {
            Sharing::Words
        } else {
            Sharing::Unlocked
        };
        let searcher =
            entries.searcher.as_ref().map_or_else(Searcher::none, SearcherSource::searcher);
        let access = entries.table.access(worker.id(), sharing, self.writing);
        let shares = matches!(sharing, Sharing::Words | Sharing::Unlocked | Sharing::Locked);
        let access = match shares && 2 * entries.writers > entries.count {
            true => access.for_writers(),
            false => access,
        };
        (access, searcher)
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
