//! A table of packed entries that machine code reads and writes, in the storage and with the replicas that a program
//! asks for.
//!
//! Where keys are not matched exactly, entries are stored by number, and a [`Finder`] leads from a packet's key to the
//! number of the best entry.
//!
//! Workers use entries inside the gate of their [`WorkerGroup`]. They lock entries against each other only, and not at all
//! where that cannot be told from outside: where packets only read, and where what they write of an entry is one number.
//! Packets wait while the gate is closed, so work in proportion to the entries is done before that: a table that must
//! grow or may shrink is copied, and a search is rebuilt, while packets use the present ones ([`Changing`]). Only entries
//! that packets write in place are copied with the gate closed.

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

/// The least number of removals after which a table is shrunk, unless no entry is left.
const TAKEN_AT_ONCE: usize = 256;

/// What a table holds, how it is stored, and what packets do with its entries.
#[derive(Debug, Clone, Copy)]
pub struct TableSettings<'s> {
    /// How the table is stored, kept consistent and updated.
    pub design: Design,
    /// What packets are matched by.
    pub keys: Keys<'s>,
    /// The number of bytes of the parameters of an entry.
    pub parameter_bytes: usize,
    /// The number of actions; action identifiers are smaller.
    pub actions: u16,
    /// A bit for each action that writes the parameters of its entry, the first action the lowest.
    pub writing: u64,
    /// Whether each action that writes its entry writes at most one number of 1, 2, 4 or 8 bytes.
    pub writes_words: bool,
}

/// What the packets of a table are matched by.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'s> {
    /// A number of this many bits, matched exactly.
    Exact {
        /// The number of bits.
        bits: u32,
    },
    /// Fields that are matched in any way.
    Fields {
        /// The fields.
        fields: &'s [MatchField],
        /// The number of entries that are expected.
        size: usize,
    },
}

/// What an entry is matched by.
#[derive(Debug, Clone, Copy)]
pub enum Match<'m> {
    /// The key, where keys are matched exactly.
    Exact(u128),
    /// What each field is compared with.
    Fields {
        /// One for each field of the table.
        fields: &'m [FieldMatch],
        /// The priority, where fields need one.
        priority: u32,
        /// Of entries with the same priority the one with the smallest order is the best.
        order: u64,
    },
}

/// The reason why there is no such table, or why it cannot take an entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TableError {
    /// The parts of the design do not go together, or packets cannot do with it what they do.
    #[error(transparent)]
    Design(#[from] DesignError),
    /// The entries cannot be stored.
    #[error(transparent)]
    Entries(#[from] ExactTableError),
    /// The entries cannot be found.
    #[error(transparent)]
    Search(#[from] FinderError),
    /// The match is of another kind than the keys of the table.
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
    /// Grows with each change after which workers reach the table in another way.
    version: AtomicU64,
    /// Held by whoever changes which entries there are, before the gate is closed.
    changing: Mutex<Changing>,
    entries: RwLock<Entries>,
}

/// The state that only changes to the set of entries need.
#[derive(Debug)]
struct Changing {
    /// The search for entries, unless keys are matched exactly.
    finder: Option<Finder>,
    /// The number of entries that were removed since the table was last shrunk.
    taken: usize,
}

/// How a table was reached when a worker looked at it. Once this is another value, the worker has to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    membership: u64,
    table: u64,
}

/// The state that changes only while the gate is closed. Workers inside the gate may be reading
/// this state, so no thread waits for the gate while it holds the lock of this state.
#[derive(Debug)]
struct Entries {
    table: Replicas,
    /// The source of searchers, unless keys are matched exactly.
    searcher: Option<SearcherSource>,
    workers: Vec<(WorkerId, Arc<Lookups>)>,
    /// The lookups of workers that have gone: hits and misses.
    gone: (u64, u64),
    /// The number of entries.
    count: usize,
    /// The number of entries whose action writes them in place.
    writers: usize,
}

/// The lookups of one worker in one table. They are counted for each batch, so they lie on lines of their own.
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
    /// Counts an entry that comes or goes, with an action that writes it in place or does not.
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

    /// Lets packets find what was prepared.
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
    /// If the design cannot do what packets do, keys or parameters are too wide, or memory does not suffice.
    pub fn new(group: &Arc<WorkerGroup>, settings: &TableSettings<'_>) -> Result<Self, TableError> {
        let TableSettings { design, keys, parameter_bytes, actions, writing, writes_words } =
            *settings;
        let asks = Requirements { reference_parameters: writing != 0, ..Requirements::default() };
        // Who asks for digests asks for what they lose.
        let asks =
            if design.update == UpdateMethod::Digest { Requirements::default() } else { asks };
        design.check(asks)?;
        let (storage, lock) = (design.storage, design.entry_lock);
        let table = match keys {
            Keys::Exact { bits } => {
                ExactTable::stored(storage, lock, bits, parameter_bytes, actions)
            }
            // What is found is the number of an entry.
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

    /// Returns the workers that use the table.
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

    /// Returns whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a worker, and returns where its lookups are counted.
    ///
    /// # Errors
    /// If memory for entries of its own does not suffice.
    pub fn join(&self, worker: &Worker) -> Result<Arc<Lookups>, ExactTableError> {
        let _changing = lock(&self.changing);
        // Workers inside the gate may go on: what they use of the table does not move.
        let mut entries = write(&self.entries);
        self.group.count_changes(entries.table.join(worker.id())?);
        let lookups = Arc::<Lookups>::default();
        entries.workers.push((worker.id(), Arc::clone(&lookups)));
        Ok(lookups)
    }

    /// Creates what each worker has of its own, for a number of workers, before the workers come.
    ///
    /// # Errors
    /// If memory does not suffice. Workers then create their own parts when they come.
    pub fn reserve(&self, workers: usize) -> Result<(), ExactTableError> {
        // As in `join`.
        let _changing = lock(&self.changing);
        let copied = write(&self.entries).table.reserve(workers)?;
        self.group.count_changes(copied);
        Ok(())
    }

    /// Removes a worker, which is outside the gate.
    pub fn leave(&self, worker: &Worker) {
        // Its entries are compared with those of the others, which their packets may be writing.
        let _changing = lock(&self.changing);
        let sharded = read(&self.entries).table.is_sharded();
        let _closed = sharded.then(|| self.group.close());
        let entries = &mut *write(&self.entries);
        entries.table.leave(worker.id());
        for (_, lookups) in entries.workers.extract_if(.., |(known, _)| *known == worker.id()) {
            entries.gone = lookups.add_to(entries.gone);
        }
    }

    /// Returns the lookups of all workers: hits and misses.
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

    /// Returns the number of entries that packets of several workers wrote, as far as workers that have gone can tell:
    /// their flows did not stay with one worker, and each went on from its own value.
    #[must_use]
    pub fn divided(&self) -> u64 {
        read(&self.entries).table.divided()
    }

    /// Closes the gate; workers look again at how they reach this table.
    fn close_for_change(&self) -> Closed<'_> {
        let closed = self.group.close();
        self.moved();
        closed
    }

    /// Has workers that come inside from now on look again at how they reach this table.
    fn moved(&self) {
        // Whoever sees the second sees the first.
        self.version.fetch_add(1, Ordering::SeqCst);
        self.group.moved();
    }

    /// Has workers look again at what they know of this table, once all have been outside the gate.
    pub fn look_again(&self) {
        drop(self.close_for_change());
    }

    /// Returns how the table is reached now. A worker reads this inside the gate, before it calls [`Self::access`].
    #[must_use]
    pub fn reached(&self) -> Reached {
        Reached { membership: self.group.membership(), table: self.version.load(Ordering::SeqCst) }
    }

    /// Adds an entry, and returns the key under which it is stored.
    ///
    /// # Errors
    /// If the key exists, the match does not fit the table's keys, or memory does not suffice.
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
        // The replaced tables are dropped when packets are inside again.
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

    /// Returns tables with room for one more entry, if the present ones have none and can be copied
    /// while packets are inside. Otherwise the insertion makes room, or reports that memory does
    /// not suffice.
    fn room_for(&self, key: u128) -> Option<Remade> {
        if self.in_place() {
            return None;
        }
        let entries = read(&self.entries);
        let remade = entries.table.with_room_for(key).ok().filter(|remade| !remade.is_empty())?;
        self.group.count_changes(entries.table.len());
        Some(remade)
    }

    /// Builds the search anew if it has another layout than its entries need by now.
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

    /// Frees memory if many entries have been removed.
    fn shrink(&self, changing: &mut Changing) {
        let left = read(&self.entries).table.len();
        changing.taken += 1;
        if changing.taken < left.max(TAKEN_AT_ONCE) && left > 0 {
            return;
        }
        changing.taken = 0;
        self.outgrow(changing);
        changing.finder.iter_mut().for_each(Finder::shrink);
        // Few entries are left, so packets do not wait long where entries are copied with the gate
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

    /// Removes the entry with this key, and returns its action and parameters as packets left them.
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
            // If memory does not suffice, the search still finds the number of the entry, which no other entry gets.
            let _ = changing.publish();
            entries.counted(self.writes(taken.0), false);
            taken
        };
        self.shrink(&mut changing);
        Some(taken)
    }

    /// Whether packets write entries in place.
    fn in_place(&self) -> bool {
        self.writing != 0
    }

    /// Whether an action writes its entry in place.
    fn writes(&self, action: ActionId) -> bool {
        self.writing >> action.0 & 1 == 1
    }

    /// Returns the action and the parameters of an entry, as packets left them.
    #[must_use]
    pub fn read(&self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let _closed = self.in_place().then(|| self.group.close());
        read(&self.entries).table.read(key)
    }

    /// Changes an entry to the result of `make`, which is called with its action and parameters, and returns what it was.
    /// Nothing is changed if `make` returns `None`. Packets see the entry as it was or as it is then: of two replicas they
    /// read the other one meanwhile, and where there is one they wait outside.
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
                // Workers that look again ask for the entries.
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

    /// Returns the action and the parameters of one of the entries, if there is any.
    #[must_use]
    pub fn any(&self) -> Option<(ActionId, Vec<u8>)> {
        read(&self.entries).table.any()
    }

    /// Returns how a worker that has joined, and is inside the gate, reaches the entries until [`Self::reached`] returns
    /// another value.
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
