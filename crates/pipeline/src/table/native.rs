//! Entries where machine code finds and writes them: packed, in a storage of `tables`, which the program chooses
//! (`@tableconfig`); it is inline where that says nothing.
//!
//! Where keys are not matched exactly, entries are stored by number, and a [`Finder`] leads from a packet's key to the
//! number of the best entry.
//!
//! A table has this in addition to its other state once its program has been compiled
//! ([`super::TableState::activate`]). From then on the action of an entry is here and nowhere else:
//! its [`super::ActionCell`] names the key, by which the interpreter and the control plane reach
//! the action. A change of an entry is made here before the change returns, so that the next packet
//! finds it without any deferred work ([`Natives::changes`]).
//!
//! A table may have its entries twice (`impl = "t4p4s"`) or once more for each worker (`impl = "sharded"`): [`replicas`].
//!
//! Who may do what when: compiled workers use entries inside of a [`Gate`], which they enter once for a batch of packets.
//! All others close it for each step that they take, so that a worker alone locks nothing, and workers lock entries
//! against each other only, and not at all where that cannot be told from outside: where packets only read, and where what
//! they write of an entry is one word. A worker inside the gate waits for nobody who may be closing it.
//!
//! Packets wait while the gate is closed, so work in proportion to the entries is done before that:
//! a table that must grow or may shrink is copied, and a search is rebuilt, while packets use the
//! present ones ([`Changing`]). Only entries that packets write in place are copied with the gate
//! closed.

mod choosing;
mod replicas;

pub(crate) use self::choosing::{Chooser, Choosing, Member, NO_ACTION};
use self::replicas::{Remade, Replicas};

use super::packing::EntryLayout;
use super::{ActionCall, EntryState, Stored};
use crate::sync::{lock, read, write};
use crate::value::Value;
use ir::{ActionId, EntryStore, TableStorage};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use tables::{
    Access, EntryLock, ExactTable, ExactTableError, Finder, Gate, Lane, Searcher, SearcherSource,
    Sharing, Storage,
};

/// Tells the compiled workers of a switch apart; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkerId(u64);

/// What the tables of one switch have in common; see the module.
#[derive(Debug, Default)]
pub(crate) struct Natives {
    gate: Gate,
    /// Whoever closes the gate.
    turn: Mutex<()>,
    workers: AtomicUsize,
    /// Grows with each table's, so that a worker asks one word whether it has to look at any of them again.
    version: AtomicU64,
    /// Grows when workers come and go, which changes how they reach every table.
    crew: AtomicU64,
    /// Workers that ever came.
    came: AtomicU64,
    /// See [`Natives::changes`].
    changes: AtomicU64,
}

/// The gate, closed; opened when this is dropped.
struct Closed<'n> {
    natives: &'n Natives,
    _turn: MutexGuard<'n, ()>,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.natives.gate.open();
    }
}

impl Natives {
    /// No compiled worker is in a batch while the result lives.
    fn close(&self) -> Closed<'_> {
        let turn = lock(&self.turn);
        self.gate.close();
        Closed { natives: self, _turn: turn }
    }

    /// As [`Natives::close`]; workers look again at how all tables are reached.
    fn close_for_workers(&self) -> Closed<'_> {
        let closed = self.close();
        self.crew.fetch_add(1, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
        closed
    }

    /// A worker comes.
    pub(crate) fn join(&self) -> (WorkerId, Arc<Lane>) {
        let _closed = self.close_for_workers();
        self.workers.fetch_add(1, Ordering::Relaxed);
        (WorkerId(self.came.fetch_add(1, Ordering::Relaxed)), self.gate.join())
    }

    /// A worker goes.
    pub(crate) fn leave(&self, lane: &Arc<Lane>) {
        let _closed = self.close_for_workers();
        self.workers.fetch_sub(1, Ordering::Relaxed);
        self.gate.leave(lane);
    }

    /// Does something while no compiled worker is in a batch.
    pub(crate) fn alone<R>(&self, work: impl FnOnce() -> R) -> R {
        let _closed = self.close();
        work()
    }

    /// For a worker inside: whether there is no other.
    pub(crate) fn has_one_worker(&self) -> bool {
        self.workers.load(Ordering::Relaxed) <= 1
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Returns the number of entries that were inserted, changed, removed or copied so far, in all
    /// tables. A packet that only reads entries leaves the number unchanged, even if it is the
    /// first packet.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    fn count_changes(&self, entries: usize) {
        self.changes.fetch_add(entries as u64, Ordering::Relaxed);
    }

    /// For a worker inside: whether it has to look at tables again if it did when this was another number.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }
}

/// The entries of one table; see the module.
#[derive(Debug)]
pub(crate) struct NativeTable {
    pub(crate) layout: Arc<EntryLayout>,
    natives: Arc<Natives>,
    /// Actions that write their entry run alone.
    synchronised: bool,
    /// Packets write entries in place.
    in_place: bool,
    /// Grows with what workers have to look at again.
    version: AtomicU64,
    /// If entries run members of a profile.
    choosing: Option<Choosing>,
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

/// The least number of removals after which a table is shrunk, unless no entry is left.
const TAKEN_AT_ONCE: usize = 256;

/// How a table was reached when a worker looked at it; another one says that it has to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    crew: u64,
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
    /// Lookups of workers that went: hits and misses.
    gone: (u64, u64),
    /// How many entries there are, and how many have an action that writes them.
    count: usize,
    writers: usize,
}

/// Lookups of one worker in one table; on lines of their own, since they are counted for each batch.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Lookups {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Lookups {
    /// Counts; the worker alone does.
    pub(crate) fn count(&self, hits: u64, misses: u64) {
        for (sum, count) in [(&self.hits, hits), (&self.misses, misses)] {
            sum.store(sum.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
        }
    }

    fn add_to(&self, (hits, misses): (u64, u64)) -> (u64, u64) {
        (hits + self.hits.load(Ordering::Relaxed), misses + self.misses.load(Ordering::Relaxed))
    }
}

impl Entries {
    /// An entry with an action that writes it, or does not, has come or goes.
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
    fn key(&mut self, layout: &EntryLayout, entry: &Stored) -> Option<u128> {
        match &mut self.finder {
            None => layout.pack_key(&entry.matches),
            Some(finder) => {
                let matches = layout.field_matches(&entry.matches)?;
                // Of equal entries the oldest is the best, and handles grow.
                let order = entry.handle.0;
                let number = finder.prepare_insertion(&matches, entry.priority, order).ok()?;
                Some(u128::from(number))
            }
        }
    }

    fn abandon(&mut self) {
        self.finder.iter_mut().for_each(Finder::abandon);
    }

    /// Lets packets find what was prepared; whether memory sufficed.
    fn publish(&mut self) -> bool {
        self.finder.as_mut().is_none_or(|finder| finder.publish().is_ok())
    }

    fn source(&self) -> Option<SearcherSource> {
        self.finder.as_ref().map(Finder::source)
    }
}

impl NativeTable {
    pub(super) fn new(
        layout: Arc<EntryLayout>,
        natives: Arc<Natives>,
        TableStorage { store, replicas, synchronised, .. }: TableStorage,
        size: usize,
        choosing: Option<Choosing>,
    ) -> Option<Arc<Self>> {
        let actions = u16::try_from(layout.actions.len()).ok()?;
        let bytes = layout.parameter_bytes as usize;
        let lock = if synchronised { EntryLock::PerEntry } else { EntryLock::None };
        let storage = storage(store);
        let table = match layout.fields() {
            None => ExactTable::stored(storage, lock, layout.key_bits, bytes, actions),
            // What is found is the number of an entry.
            Some(_) => ExactTable::numbered(storage, lock, bytes, actions),
        };
        let table = table.ok()?;
        let finder = match layout.fields() {
            Some(fields) => Some(Finder::new(fields, size).ok()?),
            None => None,
        };
        let in_place = !layout.defers && layout.writing() != 0;
        let replicas = match replicas {
            // A lock is for entries that workers share.
            ir::Replicas::Sharded if synchronised => ir::Replicas::One,
            // What packets write in place is there once.
            ir::Replicas::Two if in_place => ir::Replicas::One,
            replicas => replicas,
        };
        let table = Replicas::new(table, replicas).ok()?;
        let changing = Changing { finder, taken: 0 };
        let searcher = changing.source();
        let entries =
            Entries { table, searcher, workers: Vec::new(), gone: (0, 0), count: 0, writers: 0 };
        Some(Arc::new(Self {
            layout,
            natives,
            synchronised,
            in_place,
            version: AtomicU64::new(0),
            choosing,
            changing: Mutex::new(changing),
            entries: RwLock::new(entries),
        }))
    }

    /// A worker comes; gives where its lookups are counted.
    ///
    /// # Errors
    /// If memory for its own entries does not suffice.
    pub(crate) fn join(&self, worker: WorkerId) -> Result<Arc<Lookups>, ExactTableError> {
        let _changing = lock(&self.changing);
        // Workers inside of the gate may go on: what they use of the table does not move.
        let mut entries = write(&self.entries);
        self.natives.count_changes(entries.table.join(worker)?);
        let lookups = Arc::<Lookups>::default();
        entries.workers.push((worker, Arc::clone(&lookups)));
        Ok(lookups)
    }

    /// Creates what each worker has of its own, for a number of workers, before the workers come.
    ///
    /// # Errors
    /// If memory does not suffice. Workers then create their own parts when they come.
    pub(crate) fn reserve(&self, workers: usize) -> Result<(), ExactTableError> {
        // As in `join`.
        let _changing = lock(&self.changing);
        let copied = write(&self.entries).table.reserve(workers)?;
        self.natives.count_changes(copied);
        Ok(())
    }

    /// A worker goes.
    pub(crate) fn leave_worker(&self, worker: WorkerId) {
        // Its entries are compared with those of the others, which their packets may be writing.
        let _changing = lock(&self.changing);
        let sharded = read(&self.entries).table.is_sharded();
        let _closed = sharded.then(|| self.natives.close());
        let entries = &mut *write(&self.entries);
        entries.table.leave(worker);
        for (_, lookups) in entries.workers.extract_if(.., |(known, _)| *known == worker) {
            entries.gone = lookups.add_to(entries.gone);
        }
    }

    /// Lookups of compiled workers: hits and misses.
    pub(super) fn lookups(&self) -> (u64, u64) {
        let entries = read(&self.entries);
        entries.workers.iter().fold(entries.gone, |sum, (_, lookups)| lookups.add_to(sum))
    }

    /// The bytes that entries take here, and the search for them.
    pub(super) fn bytes(&self) -> usize {
        let finder = lock(&self.changing).finder.as_ref().map_or(0, Finder::bytes);
        finder + read(&self.entries).table.bytes()
    }

    /// See [`Replicas::divided`].
    pub(super) fn divided(&self) -> u64 {
        read(&self.entries).table.divided()
    }

    /// As [`Natives::close`]; workers look again at how this table is reached.
    fn close_for_change(&self) -> Closed<'_> {
        let closed = self.natives.close();
        self.moved();
        closed
    }

    /// Workers that come inside from now on look again at how this table is reached.
    fn moved(&self) {
        // Whoever sees the second sees the first.
        self.version.fetch_add(1, Ordering::SeqCst);
        self.natives.version.fetch_add(1, Ordering::SeqCst);
    }

    /// For a worker inside, before [`Self::access`]: whether that is to be asked again.
    pub(crate) fn reached(&self) -> Reached {
        Reached {
            crew: self.natives.crew.load(Ordering::SeqCst),
            table: self.version.load(Ordering::SeqCst),
        }
    }

    /// Puts an action in where its entry is found; gives the key under which it is stored, if there was room.
    pub(super) fn insert(&self, entry: &Arc<Stored>, call: &ActionCall) -> Option<u128> {
        let (action, bytes) = self.layout.pack(call)?;
        self.put_in(entry, action, bytes)
    }

    /// Puts an entry in with what is packed for it; gives the key under which it is stored, if there was room.
    fn put_in(&self, entry: &Arc<Stored>, action: u16, mut bytes: [u8; 32]) -> Option<u128> {
        self.layout.set_owner(&mut bytes, entry);
        self.natives.count_changes(1);
        let action = tables::ActionId(action);
        let mut changing = lock(&self.changing);
        self.outgrow(&mut changing);
        let key = changing.key(&self.layout, entry)?;
        let room = self.room_for(key);
        // What was replaced goes when packets are inside again.
        let _before;
        let _closed = self.close_for_change();
        let mut entries = write(&self.entries);
        _before = room.map(|room| entries.table.adopt(room));
        if !entries.table.insert(key, action, self.parameters(&bytes)) {
            changing.abandon();
            return None;
        }
        if !changing.publish() {
            entries.table.take(key);
            return None;
        }
        entries.counted(self.writes(action), true);
        Some(key)
    }

    /// Returns tables with room for one more entry, if the present ones have none and can be copied
    /// while packets are inside. Otherwise the insertion makes room, or reports that memory does
    /// not suffice.
    fn room_for(&self, key: u128) -> Option<Remade> {
        if self.in_place {
            return None;
        }
        let entries = read(&self.entries);
        let remade = entries.table.with_room_for(key).ok().filter(|remade| !remade.is_empty())?;
        self.natives.count_changes(entries.table.len());
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
            self.natives.count_changes(entries.table.len());
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
        let closed = self.in_place.then(|| self.close_for_change());
        let remade = read(&self.entries).table.shrunk();
        if remade.is_empty() {
            return;
        }
        let _before;
        let _closed = closed.unwrap_or_else(|| self.close_for_change());
        let mut entries = write(&self.entries);
        self.natives.count_changes(entries.table.len());
        _before = entries.table.adopt(remade);
    }

    /// Takes an entry out.
    pub(super) fn take(&self, key: u128) -> Option<ActionCall> {
        let (action, bytes) = self.take_out(key)?;
        self.layout.unpack(action.0, &bytes)
    }

    fn take_out(&self, key: u128) -> Option<(tables::ActionId, Vec<u8>)> {
        self.natives.count_changes(1);
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
            changing.publish();
            entries.counted(self.writes(taken.0), false);
            taken
        };
        self.shrink(&mut changing);
        Some(taken)
    }

    /// Whether an action writes its entry in place.
    fn writes(&self, action: tables::ActionId) -> bool {
        self.in_place && self.layout.writing() >> action.0 & 1 == 1
    }

    pub(super) fn read(&self, key: u128) -> Option<ActionCall> {
        let _closed = self.in_place.then(|| self.natives.close());
        let (action, bytes) = read(&self.entries).table.read(key)?;
        self.layout.unpack(action.0, &bytes)
    }

    /// Gives an entry another action; the one before.
    pub(super) fn replace(&self, key: u128, call: &ActionCall) -> Option<ActionCall> {
        let (position, mut packed) = self.layout.pack(call)?;
        let (action, bytes) = self.change(key, |_, bytes| {
            self.layout.keep_owner(&mut packed, bytes);
            Some((tables::ActionId(position), self.parameters(&packed).to_vec()))
        })?;
        self.layout.unpack(action.0, &bytes)
    }

    /// Leaves values of an action in its entry, unless that has another action.
    pub(super) fn leave(&self, key: u128, action: ActionId, values: &[(usize, Value)]) {
        self.change(key, |position, bytes| {
            let is_it = self.layout.position(action) == Some(position.0);
            is_it.then(|| {
                let mut bytes = bytes.to_vec();
                self.layout.write(position.0, &mut bytes, values);
                (position, bytes)
            })
        });
    }

    /// Gives an entry what is made of its action and parameters, if anything; what it had before. Packets see it as it was
    /// or as it is then: of two replicas they read the other one meanwhile, and where there is one they wait outside.
    fn change(
        &self,
        key: u128,
        make: impl FnOnce(tables::ActionId, &[u8]) -> Option<(tables::ActionId, Vec<u8>)>,
    ) -> Option<(tables::ActionId, Vec<u8>)> {
        self.natives.count_changes(1);
        let _changing = lock(&self.changing);
        if read(&self.entries).table.are_two() {
            let _turn = lock(&self.natives.turn);
            let mut entries = write(&self.entries);
            let before = entries.table.read(key)?;
            if let Some((action, bytes)) = make(before.0, &before.1) {
                entries.table.change_passive(key, action, &bytes);
                entries.table.swap();
                // Workers that look again ask for the entries.
                drop(entries);
                self.moved();
                self.natives.gate.wait_for_those_inside();
                write(&self.entries).table.change_passive(key, action, &bytes);
            }
            return Some(before);
        }
        let _closed = self.natives.close();
        let mut entries = write(&self.entries);
        let before = entries.table.read(key)?;
        if let Some((action, bytes)) = make(before.0, &before.1) {
            entries.table.replace(key, action, &bytes);
            entries.counted(self.writes(before.0), false);
            entries.counted(self.writes(action), true);
        }
        Some(before)
    }

    /// Adds what code counted of an entry since the last time to its counters.
    pub(super) fn settle(&self, entry: &Stored, state: &mut EntryState) {
        // Most entries of a large table have counted nothing since they were read last: packets need not wait for those.
        let counted = entry.tally().filter(|tally| self.layout.counts && !tally.is_empty());
        if let Some(tally) = counted {
            let _closed = self.natives.close();
            tally.settle(&mut state.directs);
        }
    }

    /// One of the entries, as code reads it.
    pub(crate) fn any(&self) -> Option<(u16, [u8; 32])> {
        let (action, values) = read(&self.entries).table.any()?;
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(values).for_each(|(byte, value)| *byte = value);
        Some((action.0, bytes))
    }

    fn parameters<'b>(&self, bytes: &'b [u8; 32]) -> &'b [u8] {
        bytes.get(..self.layout.parameter_bytes as usize).unwrap_or(bytes)
    }

    /// Has workers look at the default again.
    pub(super) fn default_changed(&self) {
        drop(self.close_for_change());
    }

    /// How a worker that joined, and is inside, reaches the entries, until [`Self::reached`] is another one.
    pub(crate) fn access(&self, worker: WorkerId) -> (Access, Searcher) {
        let entries = read(&self.entries);
        let writing = if self.in_place { self.layout.writing() } else { 0 };
        let is_alone = self.natives.has_one_worker();
        let sharing = if is_alone {
            Sharing::Alone
        } else if writing == 0 || entries.table.is_sharded() {
            Sharing::Apart
        } else if self.synchronised {
            Sharing::Locked
        } else if self.layout.writes_words() {
            Sharing::Words
        } else {
            Sharing::Unlocked
        };
        let searcher =
            entries.searcher.as_ref().map_or_else(Searcher::none, SearcherSource::searcher);
        let access = entries.table.access(worker, sharing, writing);
        let shares = matches!(sharing, Sharing::Words | Sharing::Unlocked | Sharing::Locked);
        let access = match shares && 2 * entries.writers > entries.count {
            true => access.for_writers(),
            false => access,
        };
        (access, searcher)
    }
}

fn storage(store: Option<EntryStore>) -> Storage {
    match store {
        Some(EntryStore::Original) => Storage::Original,
        Some(EntryStore::Dynamic) => Storage::Dynamic,
        Some(EntryStore::Static) => Storage::Static,
        Some(EntryStore::Inline) | None => Storage::Inline,
    }
}
