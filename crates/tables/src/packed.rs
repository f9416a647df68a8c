//! A table of packed entries that machine code reads and writes, with the storage and the replicas
//! that a program configures. The control plane inserts, changes and removes its entries.
//!
//! If keys are not matched exactly, entries are stored by number, and a [`Finder`] maps a packet's
//! key to the number of the best entry.
//!
//! Workers use entries inside the gate of their [`WorkerGroup`]. They lock entries only against
//! each other, and only if the design has entry locks, packets write entries in place, and more
//! than one worker uses the same entries. Packets wait while the gate is closed, so work
//! proportional to the number of entries is done before that: a table that must grow or may shrink
//! is copied, and a search is rebuilt, while packets use the current ones. Only entries that
//! packets write in place are copied while the gate is closed.

mod replicas;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use thiserror::Error;

use crate::access::{Access, Sharing, does_write};
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

/// The smallest number of removals after which the memory of a table is shrunk. A table that has
/// become empty is shrunk at once.
const TAKEN_AT_ONCE: usize = 256;

/// The settings of a table: its keys and entries, its design, and the ways in which packets use it.
#[derive(Debug, Clone, Copy)]
pub struct TableSettings<'s> {
    /// The design of the table.
    pub design: Design,
    /// The keys by which packets find entries.
    pub keys: Keys<'s>,
    /// The number of bytes of the parameters of an entry.
    pub parameter_bytes: usize,
    /// The number of actions. Every action identifier is smaller than this number.
    pub actions: u16,
    /// A bit for each action that writes the parameters of its entry. The first action has the
    /// lowest bit. Actions after the first 64 have no bit and do not write.
    pub writing: u64,
    /// Whether each action that writes its entry writes at most one number of 1, 2, 4 or 8 bytes.
    pub writes_words: bool,
}

/// The keys of a table.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'s> {
    /// Numbers of a fixed width of at most 128 bits, matched exactly.
    Exact {
        /// The number of bits of a key.
        bits: u32,
    },
    /// Fields, each of which is matched in its own way. They may all be exact.
    Fields {
        /// The fields of a key, in order.
        fields: &'s [MatchField],
        /// The expected number of entries.
        size: usize,
    },
}

/// The key or the fields that one entry matches.
#[derive(Debug, Clone, Copy)]
pub enum Match<'m> {
    /// The key, for a table whose keys are matched exactly.
    Exact(u128),
    /// The match of each field, for a table whose keys are fields.
    Fields {
        /// The matches, one for each field of the table.
        fields: &'m [FieldMatch],
        /// The priority of the entry, if the table's fields need one.
        priority: u32,
        /// The position of the entry among entries with equal priority. The entry with the smallest
        /// value wins.
        order: u64,
    },
}

/// The reason why a table was not made or an entry was not added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The parts of the design are incompatible, or the design does not support the writes of
    /// packets.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The table that stores entries was not made or could not take the entry.
    #[error(transparent)]
    Entries(#[from] ExactTableError),
    /// The search structure for entries was not made, or could not take the entry.
    #[error(transparent)]
    Search(#[from] FinderError),
    /// The entry matches an exact key although the table's keys have fields, or the reverse.
    #[error(
        "the entry is matched by fields where the table has exact keys, or the other way round"
    )]
    OtherKind,
}

/// A table of packed entries that machine code reads and writes.
#[derive(Debug)]
pub struct PackedTable {
    group: Arc<WorkerGroup>,
    design: Design,
    parameter_bytes: usize,
    /// Whether keys are matched exactly and have at most 128 bits.
    is_exact: bool,
    /// The number of words of a key in memory, if it has more than 128 bits.
    words_in_memory: Option<usize>,
    /// A mask with a bit for each action that writes its entry in place.
    writing: u64,
    writes_words: bool,
    /// A counter that grows when workers must renew their access to the table after a change.
    version: AtomicU64,
    /// The state that is needed only to add, change and remove entries. Its lock is held during
    /// such a change, and taken before the gate is closed.
    changing: Mutex<Changing>,
    entries: RwLock<Entries>,
}

/// The state of a table that is used only when entries are added, changed or removed.
#[derive(Debug)]
struct Changing {
    /// The finder that maps keys to the numbers of entries, or `None` if keys are matched exactly.
    finder: Option<Finder>,
    /// The number of entries that were removed since the table was last shrunk.
    taken: usize,
    /// The method by which a change of an entry waits after it swapped two replicas. Unused without
    /// a second replica.
    wait: Wait,
}

/// The versions of a table and of its group of workers at one moment. Once [`PackedTable::reached`]
/// returns another value, a worker must call [`PackedTable::access`] again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    membership: u64,
    table: u64,
}

/// The entries of a table, the source of searchers for them, and the counters of their use. A
/// worker inside the gate locks this state for reading when it renews its access, so no thread may
/// wait for the gate while it holds the lock.
#[derive(Debug)]
struct Entries {
    table: Replicas,
    /// The source of searchers, or `None` if keys are matched exactly.
    searcher: Option<SearcherSource>,
    workers: Vec<(WorkerId, Arc<Lookups>)>,
    /// The numbers of hits and misses of workers that have left the group.
    gone: Sums,
    /// The number of entries in the table.
    count: usize,
    /// The number of entries with an action that writes them in place.
    writers: usize,
}

/// The numbers of lookups that found an entry and that found none, over several workers.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    hits: u64,
    misses: u64,
}

/// The numbers of lookups of one worker in one table that found an entry and that found none. Each
/// batch updates them, so they have cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Lookups {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Lookups {
    /// Adds to the numbers of hits and misses. Only the worker itself calls this.
    pub fn count(&self, hits: u64, misses: u64) {
        for (sum, count) in [(&self.hits, hits), (&self.misses, misses)] {
            sum.store(sum.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
        }
    }

    fn add_to(&self, sums: &mut Sums) {
        sums.hits += self.hits.load(Ordering::Relaxed);
        sums.misses += self.misses.load(Ordering::Relaxed);
    }
}

impl Entries {
    /// Updates the numbers of entries after one was added (if `comes` is true) or removed. `writes`
    /// says whether packets write this entry in place.
    fn counted(&mut self, writes: bool, comes: bool) {
        let by = |count: usize| if comes { count + 1 } else { count.saturating_sub(1) };
        self.count = by(self.count);
        if writes {
            self.writers = by(self.writers);
        }
    }
}

impl Changing {
    /// Returns the key under which a new entry is to be stored. If keys are matched exactly, this
    /// is the key itself. Otherwise it is a new number, which packets find once the insertion is
    /// published.
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

    /// Makes a prepared insertion or removal visible to packets that search for entries.
    fn publish(&mut self) -> Result<(), FinderError> {
        self.finder.as_mut().map_or(Ok(()), Finder::publish)
    }

    fn source(&self) -> Option<SearcherSource> {
        self.finder.as_ref().map(Finder::source)
    }
}

impl PackedTable {
    /// Creates an empty table that the workers of a group use.
    ///
    /// # Errors
    /// Returns an error if the design does not support the writes of packets, if keys or parameters
    /// are too wide, or if memory does not suffice.
    pub fn new(group: &Arc<WorkerGroup>, settings: &TableSettings<'_>) -> Result<Self, TableError> {
        let TableSettings { design, keys, parameter_bytes, actions, writing, writes_words } =
            *settings;
        let asks = Requirements { reference_parameters: writing != 0, ..Requirements::default() };
        // Programs that use digests accept that updates arrive late, so they require nothing of the
        // table.
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
        let wait = match design.synchronisation {
            Synchronisation::DoubleBuffer { wait } => wait,
            Synchronisation::Optimistic | Synchronisation::Sharded { .. } => Wait::Quiescent,
        };
        let changing = Changing { finder, taken: 0, wait };
        let searcher = changing.source();
        let entries = Entries {
            table,
            searcher,
            workers: Vec::new(),
            gone: Sums::default(),
            count: 0,
            writers: 0,
        };
        let in_place = design.update == UpdateMethod::Pointer;
        Ok(Self {
            group: Arc::clone(group),
            design,
            parameter_bytes,
            is_exact: matches!(keys, Keys::Exact { .. }),
            words_in_memory: match keys {
                Keys::Exact { .. } => None,
                Keys::Fields { fields, .. } => Finder::words_in_memory(fields),
            },
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

    /// Sets the method by which changes of entries wait after they swapped two replicas, instead of
    /// that of the [design](Self::design). Has no effect on a table without a second replica.
    pub fn set_wait(&self, wait: Wait) {
        lock(&self.changing).wait = wait;
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

    /// Returns the number of words of a key that packets have in memory, or `None` if keys have at
    /// most 128 bits.
    #[must_use]
    pub fn words_in_memory(&self) -> Option<usize> {
        self.words_in_memory
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

    /// Prepares the table for a worker that joins the group, and returns counters for the worker's
    /// lookups.
    ///
    /// # Errors
    /// Returns an error if memory for the worker's own entries does not suffice.
    pub fn join(&self, worker: &Worker) -> Result<Arc<Lookups>, ExactTableError> {
        let _changing = lock(&self.changing);
        // Workers inside the gate may continue, because no part of the table that they use is
        // moved.
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
        // Workers inside the gate may continue, because no part of the table that they use is
        // moved.
        let _changing = lock(&self.changing);
        let copied = write(&self.entries).table.reserve(workers)?;
        self.group.count_changes(copied);
        Ok(())
    }

    /// Removes a worker from the table. The worker must be outside the gate.
    pub fn leave(&self, worker: &Worker) {
        // The worker's entries are compared with those of other workers, whose packets may be
        // writing them, so the gate is closed.
        let _changing = lock(&self.changing);
        let sharded = read(&self.entries).table.is_sharded();
        let _closed = sharded.then(|| self.group.close());
        let entries = &mut *write(&self.entries);
        entries.table.leave(worker.id());
        for (_, lookups) in entries.workers.extract_if(.., |(known, _)| *known == worker.id()) {
            lookups.add_to(&mut entries.gone);
        }
    }

    /// Returns the number of lookups that found an entry, and the number of lookups that did not,
    /// over all workers.
    #[must_use]
    pub fn lookups(&self) -> (u64, u64) {
        let entries = read(&self.entries);
        let mut sums = entries.gone;
        entries.workers.iter().for_each(|(_, lookups)| lookups.add_to(&mut sums));
        (sums.hits, sums.misses)
    }

    /// Returns the number of bytes that the entries and the structure for searching them take.
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

    /// Returns the number of entries of a sharded table that packets of several workers wrote. Only
    /// writes of workers that have left are known, and an entry may be counted several times. If
    /// the number is not 0, values were lost: each worker has its own copy of an entry, so all
    /// packets that write one entry must be processed by one worker.
    #[must_use]
    pub fn divided(&self) -> u64 {
        read(&self.entries).table.divided()
    }

    /// Closes the gate. After it has been opened again, each worker looks up again how it accesses
    /// this table.
    fn close_for_change(&self) -> Closed<'_> {
        let closed = self.group.close();
        self.moved();
        closed
    }

    /// Makes each worker that enters the gate from now on look up again how it accesses this table.
    fn moved(&self) {
        // A worker that sees the group's new version also sees the table's, which is stored first.
        self.version.fetch_add(1, Ordering::SeqCst);
        self.group.moved();
    }

    /// Waits until all workers have been outside the gate, and makes each renew its access to this
    /// table when it enters again.
    pub fn look_again(&self) {
        drop(self.close_for_change());
    }

    /// Returns the current versions of the table and of its group of workers. A worker calls this
    /// inside the gate, before it calls [`Self::access`].
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

    /// Returns larger tables with the same entries, if the current ones have no room for one more
    /// entry and can be copied while packets are inside the gate. Otherwise returns `None`, and the
    /// insertion makes room itself, or reports that memory does not suffice.
    fn room_for(&self, key: u128) -> Option<Remade> {
        if self.in_place() {
            return None;
        }
        let entries = read(&self.entries);
        let remade = entries.table.with_room_for(key).ok().filter(|remade| !remade.is_empty())?;
        self.group.count_changes(entries.table.len());
        Some(remade)
    }

    /// Rebuilds the search structure if the number of entries now requires another layout.
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

    /// Counts a removed entry, and frees memory once many entries have been removed since this was
    /// last done.
    fn shrink(&self, changing: &mut Changing) {
        let left = read(&self.entries).table.len();
        changing.taken += 1;
        if changing.taken < left.max(TAKEN_AT_ONCE) && left > 0 {
            return;
        }
        changing.taken = 0;
        self.outgrow(changing);
        changing.finder.iter_mut().for_each(Finder::shrink);
        // If packets write entries in place, they wait while the entries that are left, at most an
        // eighth of the table's room, are copied with the gate closed.
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

    /// Removes the entry with this key, and returns its action and its parameters, including the
    /// changes that packets made.
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

    /// Returns whether some action of the table writes entries in place.
    fn in_place(&self) -> bool {
        self.writing != 0
    }

    /// Returns whether an action writes its entry in place.
    fn writes(&self, action: ActionId) -> bool {
        does_write(self.writing, action.0.into())
    }

    /// Returns the action and the parameters of an entry, including the changes that packets made.
    #[must_use]
    pub fn read(&self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let _closed = self.in_place().then(|| self.group.close());
        read(&self.entries).table.read(key)
    }

    /// Changes an entry to the result of `make`, which is called with the entry's action and
    /// parameters. If `make` returns `None`, the entry is not changed. Returns the action and the
    /// parameters from before the call, or `None` if there is no such entry. No packet sees a
    /// partially changed entry: with two replicas, packets read the active replica while the
    /// passive one is changed. Otherwise, the gate is closed during the change.
    pub fn change(
        &self,
        key: u128,
        make: impl FnOnce(ActionId, &[u8]) -> Option<(ActionId, Vec<u8>)>,
    ) -> Option<(ActionId, Vec<u8>)> {
        self.group.count_changes(1);
        let changing = lock(&self.changing);
        if matches!(self.design.synchronisation, Synchronisation::DoubleBuffer { .. }) {
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
                match changing.wait {
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

    /// Returns the access and the searcher by which a worker uses the table until [`Self::reached`]
    /// returns another value. The worker must have joined and be inside the gate.
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
