//! Tables: their entries, and the lookups of packets.
//!
//! A lookup returns the best of all matching entries: the one with the highest priority, or in
//! tables without priorities the one with the longest prefix, and among equals the oldest.
//!
//! Packets and the control plane use a table at the same time. A lock around the search structure
//! is held, shared, for one lookup, and exclusively while an entry is inserted or removed. The lock
//! is not held while an action runs. [`stored`] describes what happens to an entry after a packet
//! has found it.

mod change;
mod entry;
mod packed;
mod packing;
mod profile;
mod search;
mod shape;
mod stored;
mod timer;

pub use change::{Changed, EntryChange};
pub(crate) use change::{EntryChanges, Left};
pub use entry::{
    ActionCall, EntryAction, FieldMatch, Group, GroupMember, TableEntry, WeightedAction,
};
pub use packed::table_design;
pub(crate) use packed::{Chooser, CompiledTable, Member, NO_ACTION, design};
pub(crate) use packing::{EntryLayout, PackedAction};
pub(crate) use profile::{Profile, choose};
pub use shape::EntryHandle;
pub(crate) use shape::{Ageing, KeyShape, fit};
#[cfg(test)]
pub(crate) use stored::DROPPED;
pub(crate) use stored::{
    Account, ActionCell, Direct, DirectAccount, Directs, EntryState, GroupCell, Note, Runs, Stored,
    Tally, counter_in, meter_in,
};
pub(crate) use timer::Timer;

use self::packed::Choosing;
use self::search::Search;
use self::stored::{Accounts, MeterCell};
use crate::error::{ControlError, LoadError, RunError};
use crate::externs::meter::MeterConfig;
use crate::layout::Layout;
use crate::sync::{lock, read, write};
pub use entities::CounterData as CounterValue;
use ir::bits::Bits;
use ir::{self, ExternId, ExternType, MatchKind, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;
use tables::{Slab, WorkerGroup};

/// Returns a call of the action `NoAction`, if the table has it.
fn no_action(layout: &Layout, table: &ir::Table) -> Option<ActionCall> {
    let mut actions = table.actions.iter().map(|reference| reference.action);
    let is_none = |id: &ir::ActionId| {
        let action = layout.program.actions.get(id.index());
        action.is_some_and(|action| action.name == "NoAction" && action.parameters.is_empty())
    };
    Some(ActionCall { action: actions.find(is_none)?, arguments: Vec::new() })
}

/// The default entry of a table, with its action, counters and meters.
#[derive(Clone, Debug)]
pub(crate) struct DefaultState {
    pub(crate) cell: Arc<ActionCell>,
    /// Whether the program's default action does not run, as in BMv2's dialects for a table with an
    /// action profile. p4c leaves out the default action of such a table, with a warning
    /// (`backends/bmv2/common/control.h`). This applies until the control plane sets a default
    /// action.
    pub(crate) is_left_out: bool,
    pub(crate) directs: Directs,
}

/// An entry that was reported because its idle timeout expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleEntry {
    /// The table that contains the entry.
    pub table: TableId,
    /// The entry as the control plane would read it.
    pub entry: TableEntry,
    /// Whether the entry was removed from its table (`AUTO_DELETE`).
    pub deleted: bool,
}

/// A table of a running switch: its entries and their state.
#[derive(Debug)]
pub(crate) struct TableState {
    pub(crate) name: String,
    /// The properties of each key.
    pub(crate) keys: Vec<KeyShape>,
    /// Whether entries have priorities, because several of them may match one packet.
    pub(crate) needs_priority: bool,
    /// Whether actions that change their entry run one at a time (`synced` of `@tableconfig`).
    pub(crate) synchronised: bool,
    /// The storage in which machine code keeps the entries, as `@tableconfig` specifies it.
    pub(crate) storage: ir::TableStorage,
    /// The default action of the program, which applies until the control plane sets another one.
    pub(crate) initial_default: ActionCall,
    /// Whether a packet can hit an entry although the table has no keys; see
    /// `Dialect::is_of_switches`.
    is_of_switches: bool,
    /// The action that runs for an entry whose group has no usable member.
    pub(crate) empty_group_action: Option<Arc<ActionCell>>,
    pub(crate) ageing: Ageing,
    /// The largest number of entries. `None` and zero both stand for no limit.
    size: Option<u64>,
    /// The layout in which machine code stores the entries, or the reason why it cannot store them.
    packing: Result<Arc<EntryLayout>, &'static str>,
    default: Mutex<DefaultState>,
    entries: RwLock<Entries>,
    /// The number of lookups by the interpreter that found an entry.
    hits: AtomicU64,
    /// The number of lookups by the interpreter that found no entry.
    misses: AtomicU64,
}

/// The entries of a table.
#[derive(Debug)]
struct Entries {
    /// All entries, by the handle that identifies an entry for the control plane.
    by_handle: BTreeMap<EntryHandle, Arc<Stored>>,
    /// The index in which the interpreter finds the entry for a packet.
    search: Search,
    next_handle: u64,
    /// The counters and meters that each new entry starts with.
    shape: Directs,
    accounts: Accounts,
    one_shots: OneShots,
    /// The entries in the packed form that machine code reads. `None` until machine code uses the
    /// table.
    packed: Option<Arc<CompiledTable>>,
}

/// The number and total size of the one-shot groups of a table: groups of actions that each belong
/// to one entry (one-shot action selector programming).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OneShots {
    pub(crate) count: u64,
    /// The total size of the one-shot groups, as the action selector counts it.
    pub(crate) size: u64,
}

impl TableState {
    pub(crate) fn new(layout: &Layout, table: &ir::Table) -> Option<Self> {
        let keys: Option<Vec<KeyShape>> =
            table.keys.iter().map(|key| KeyShape::of(layout, key)).collect();
        let keys = keys?;
        let default_action = entry::from_program(layout, table, &table.default_action)?;
        let empty_group_action = match &table.empty_group_action {
            Some(call) => Some(entry::from_program(layout, table, call)?),
            // `NoAction` is the default of PSA (specification, section 7.12), whose action
            // selectors PNA adopts.
            None => match layout.program.architecture {
                ir::Architecture::Psa | ir::Architecture::Pna => no_action(layout, table),
                ir::Architecture::V1model | ir::Architecture::Other(_) => None,
            },
        };
        let needs_priority = keys.iter().any(KeyShape::needs_priority);
        let ageing = Ageing::of(table);
        let meters = Slab::new();
        let shape = table
            .direct_externs
            .iter()
            .map(|id| {
                let direct = match layout.program.externs.get(id.index())?.extern_type {
                    ExternType::V1DirectCounter | ExternType::DirectCounter => {
                        Direct::Counter(CounterValue::default())
                    }
                    ExternType::V1DirectMeter | ExternType::DirectMeter => {
                        Direct::Meter(MeterCell::new(&meters))
                    }
                    _ => Direct::Other,
                };
                Some((*id, direct))
            })
            .collect::<Option<Directs>>()?;
        Some(Self {
            name: table.name.clone(),
            keys,
            needs_priority,
            synchronised: table.storage.synchronised,
            storage: table.storage,
            initial_default: default_action.clone(),
            is_of_switches: layout.dialect.is_of_switches(),
            empty_group_action: empty_group_action.map(ActionCell::new),
            ageing,
            size: table.size,
            packing: EntryLayout::new(layout, table).map(Arc::new),
            default: Mutex::new(DefaultState {
                cell: ActionCell::new(default_action),
                is_left_out: table.implementation.is_some(),
                directs: shape.clone(),
            }),
            entries: RwLock::new(Entries {
                by_handle: BTreeMap::new(),
                search: Search::new(!needs_priority),
                next_handle: 1,
                shape,
                accounts: Accounts::new(!table.direct_externs.is_empty()),
                one_shots: OneShots::default(),
                packed: None,
            }),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// Adds the entries that the program declares for the table.
    pub(crate) fn add_program_entries(
        &self,
        layout: &Layout,
        table: &ir::Table,
    ) -> Result<(), LoadError> {
        let all = table.entries.len();
        let mut entries = write(&self.entries);
        for (position, source) in table.entries.iter().enumerate() {
            let matches = entry::matches_from_program(layout, &self.keys, table, source)
                .ok_or_else(|| LoadError::internal("the matches of an entry in the program"))?;
            let action = entry::from_program(layout, table, &source.action)
                .ok_or_else(|| LoadError::internal("the action of an entry in the program"))?;
            let plain = self.keys.iter().zip(&matches).all(|(key, found)| {
                key.kind != MatchKind::Exact || matches!(found, FieldMatch::Exact(_))
            });
            // If the source has no priorities, earlier entries win.
            let by_order = u32::try_from(all - position).unwrap_or(u32::MAX);
            let ranked = self.needs_priority || !plain;
            let priority = if ranked { source.priority.unwrap_or(by_order) } else { 0 };
            if entries.search.find(&matches, priority).is_none() {
                let runs = Runs::Action(ActionCell::new(action));
                let key = (matches, priority);
                let entry = entries.make(key, runs, None, source.is_const, Duration::ZERO);
                entries.link(&entry);
            }
        }
        Ok(())
    }

    /// Adds an entry whose values have been checked. If there is an entry with the same match that
    /// has timed out and awaits its removal, the new one replaces it. If the table is full, all
    /// entries that await their removal make room.
    pub(crate) fn add(
        &self,
        (matches, priority): (Vec<FieldMatch>, u32),
        runs: Runs,
        idle_timeout: Option<Duration>,
        now: Duration,
        fill: impl FnOnce(&mut EntryState),
    ) -> Result<Arc<Stored>, ControlError> {
        self.check_timeout(idle_timeout)?;
        let size = self.size.filter(|size| *size > 0);
        if self.ageing == Ageing::Delete && size.is_some_and(|size| self.len() as u64 >= size) {
            self.expire(now);
        }
        let mut entries = write(&self.entries);
        if let Some(known) = entries.search.find(&matches, priority).cloned() {
            if !self.is_gone(&known, now) {
                return Err(ControlError::Duplicate);
            }
            entries.unlink(&known);
        }
        // A size of zero says nothing about the size, for p4c's back end for BMv2 too.
        if let Some(size) = size
            && entries.by_handle.len() as u64 >= size
        {
            return Err(ControlError::Full { name: self.name.clone(), size });
        }
        let entry = entries.make((matches, priority), runs, idle_timeout, false, now);
        fill(&mut entry.state());
        if !entries.link(&entry) {
            entries.unlink(&entry);
            let size = entries.by_handle.len() as u64;
            return Err(ControlError::Full { name: self.name.clone(), size });
        }
        Ok(entry)
    }

    /// Returns whether an entry with these matches can be added: the table is not full, and has no
    /// entry with the same matches. Such entries have no priority.
    pub(crate) fn can_add(&self, matches: &[FieldMatch], now: Duration) -> bool {
        let entries = read(&self.entries);
        let known = entries.search.find(matches, 0);
        let is_known = known.is_some_and(|known| !self.is_gone(known, now));
        let has_room = |size: u64| {
            let stays = |entry: &&Arc<Stored>| !self.is_gone(entry, now);
            (entries.by_handle.len() as u64) < size
                || (entries.by_handle.values().filter(stays).count() as u64) < size
        };
        !is_known && self.size.is_none_or(|size| size == 0 || has_room(size))
    }

    pub(crate) fn check_timeout(&self, timeout: Option<Duration>) -> Result<(), ControlError> {
        if timeout.is_some() && self.ageing == Ageing::None {
            return Err(ControlError::NoIdleTimeout);
        }
        Ok(())
    }

    /// Returns the entry with exactly these matches and this priority. Returns an error if there is
    /// none, or if it cannot be changed.
    pub(crate) fn changeable(
        &self,
        matches: &[FieldMatch],
        priority: u32,
    ) -> Result<Arc<Stored>, ControlError> {
        let found = self.find(matches, priority).ok_or(ControlError::NotFound("entry"))?;
        if found.is_const {
            return Err(ControlError::Constant("the entry"));
        }
        Ok(found)
    }

    /// Removes an entry. Returns whether it was in the table.
    pub(crate) fn unlink(&self, entry: &Stored) -> bool {
        write(&self.entries).unlink(entry)
    }

    /// Puts an entry that was removed back into the table. If an entry with the same match was
    /// added since, it is replaced.
    pub(crate) fn link(&self, entry: &Arc<Stored>) {
        let mut entries = write(&self.entries);
        if let Some(other) = entries.search.find(&entry.matches, entry.priority).cloned() {
            entries.unlink(&other);
        }
        entries.link(entry);
    }

    /// Removes all entries, except for constant entries of the program.
    pub(crate) fn clear(&self) {
        let mut entries = write(&self.entries);
        let gone: Vec<_> =
            entries.by_handle.values().filter(|entry| !entry.is_const).cloned().collect();
        gone.iter().for_each(|entry| {
            entries.unlink(entry);
        });
    }

    /// Returns the number of entries in the table.
    pub(crate) fn len(&self) -> usize {
        read(&self.entries).by_handle.len()
    }

    /// Returns the memory in bytes that the table allocates outside the heap: for the parts of
    /// entries that packets access, and for the packed entries. Other parts of entries are on the
    /// heap and not included.
    pub(crate) fn bytes(&self) -> usize {
        let accounts = read(&self.entries).accounts.bytes();
        accounts + self.packed().map_or(0, |packed| packed.bytes())
    }

    /// Returns the number of lookups in the table that found an entry, and the number of those that
    /// found none.
    pub(crate) fn lookups(&self) -> (u64, u64) {
        let (hits, misses) = self.packed().map_or((0, 0), |packed| packed.lookups());
        (hits + self.hits.load(Ordering::Relaxed), misses + self.misses.load(Ordering::Relaxed))
    }

    /// Returns the number and total size of the table's one-shot groups.
    pub(crate) fn one_shots(&self) -> OneShots {
        read(&self.entries).one_shots
    }

    /// Changes the state of an entry with the function `change`, and updates the count of one-shot
    /// groups.
    pub(crate) fn change(&self, entry: &Stored, change: impl FnOnce(&mut EntryState)) {
        let mut entries = write(&self.entries);
        let is_there = entries.by_handle.contains_key(&entry.handle);
        let mut state = entry.state();
        if let Some(packed) = &entries.packed {
            packed.settle(entry, &mut state);
        }
        let before = state.one_shot_size();
        let ran = state.runs.cell().cloned();
        change(&mut state);
        let after = state.one_shot_size();
        if is_there {
            entries.one_shots.swap(before, after);
            match (ran, state.runs.cell(), &entries.packed) {
                (Some(ran), Some(runs), _) if !Arc::ptr_eq(&ran, runs) => ran.give_way(runs),
                (None, None, Some(packed)) => packed.relink(entry.handle, &state.runs),
                _ => {}
            }
        }
    }

    /// Returns some of the table's entries, the oldest first, beginning with the entry whose handle
    /// is `from`.
    pub(crate) fn from(&self, from: EntryHandle) -> Vec<Arc<Stored>> {
        const AT_ONCE: usize = 256;
        read(&self.entries)
            .by_handle
            .range(from..)
            .take(AT_ONCE)
            .map(|(_, one)| Arc::clone(one))
            .collect()
    }

    /// Returns all entries of the table, the oldest first. Entries that are added or removed during
    /// the iteration may or may not be included.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Arc<Stored>> {
        let mut some = Vec::new().into_iter();
        let mut next = EntryHandle(0);
        std::iter::from_fn(move || {
            some.next()
                .or_else(|| {
                    some = self.from(next).into_iter();
                    some.next()
                })
                .inspect(|entry: &Arc<Stored>| next = EntryHandle(entry.handle.0.saturating_add(1)))
        })
    }

    /// Stores all entries in the packed form that machine code reads. From then on, every change of
    /// an entry is made there too. Does nothing if the table cannot be packed.
    ///
    /// # Errors
    /// Fails if there is not enough memory.
    pub(crate) fn activate(
        &self,
        group: &Arc<WorkerGroup>,
        ports_down: &Arc<RwLock<BTreeSet<u32>>>,
    ) -> Result<(), RunError> {
        let Ok(layout) = &self.packing else { return Ok(()) };
        let no_memory = RunError::Memory;
        let mut entries = write(&self.entries);
        // Packed entries are complete once they exist: later entries are packed as they are added.
        if entries.packed.is_some() {
            return Ok(());
        }
        let declared = self.size.and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        let size = declared.max(entries.by_handle.len());
        let choosing = layout
            .chooses
            .then(|| Choosing::new(self.empty_group_action.clone(), Arc::clone(ports_down)));
        // Compilation has already checked that the design is possible.
        let packed = CompiledTable::new(Arc::clone(layout), group, self.storage, size, choosing);
        entries.packed = Some(packed.map_err(|_| no_memory.clone())?);
        if entries.by_handle.values().all(|entry| entries.pack(entry)) {
            return Ok(());
        }
        entries.packed = None;
        for entry in entries.by_handle.values() {
            entry.state().runs.cell().into_iter().for_each(|cell| cell.unpack());
        }
        Err(no_memory)
    }

    /// Returns the layout in which machine code stores the entries, or `None` if it cannot store
    /// them.
    pub(crate) fn packing(&self) -> Option<&EntryLayout> {
        self.packing.as_deref().ok()
    }

    /// Returns the packed entries, if machine code uses them. A worker inside the gate (the
    /// read-side critical section of [`tables::WorkerGroup`]) must not call this: a thread that
    /// closes the gate may hold the lock of the entries.
    pub(crate) fn packed(&self) -> Option<Arc<CompiledTable>> {
        read(&self.entries).packed.clone()
    }

    /// Sets how changes of entries wait before they go from one replica of the table to the other,
    /// if machine code keeps the entries.
    pub(crate) fn set_wait(&self, wait: tables::Wait) {
        if let Some(packed) = self.packed() {
            packed.set_wait(wait);
        }
    }

    /// Returns the number of entries of a sharded table that more than one worker has written.
    /// Writes of workers that still run are not included.
    pub(crate) fn divided(&self) -> u64 {
        self.packed().map_or(0, |packed| packed.divided())
    }

    /// Changes the default entry with the function `change`.
    pub(crate) fn change_default(&self, change: impl FnOnce(&mut DefaultState)) {
        change(&mut self.default());
        if let Some(packed) = self.packed() {
            packed.look_again();
        }
    }

    pub(crate) fn default(&self) -> MutexGuard<'_, DefaultState> {
        lock(&self.default)
    }

    /// Resets the counters and meters of the default entry to their initial state.
    pub(crate) fn reset_default_directs(&self) {
        let shape = read(&self.entries).shape.clone();
        self.default().directs = shape;
    }

    /// Returns the entry with exactly these matches and this priority, if there is one.
    pub(crate) fn find(&self, matches: &[FieldMatch], priority: u32) -> Option<Arc<Stored>> {
        read(&self.entries).search.find(matches, priority).cloned()
    }

    pub(crate) fn get(&self, handle: EntryHandle) -> Option<Arc<Stored>> {
        read(&self.entries).by_handle.get(&handle).cloned()
    }

    /// Calls `use_them` with exclusive access to the counters and meters of an entry. The handle
    /// may be [`EntryHandle::DEFAULT`].
    pub(crate) fn with_directs<R>(
        &self,
        handle: EntryHandle,
        use_them: impl FnOnce(&mut Directs) -> R,
    ) -> Option<R> {
        if handle == EntryHandle::DEFAULT {
            return Some(use_them(&mut self.default().directs));
        }
        Some(use_them(&mut self.settled(&*self.get(handle)?).directs))
    }

    /// Adds the packets and bytes that machine code has counted for an entry to the entry's
    /// counters. Then locks and returns the state of the entry.
    pub(crate) fn settled<'e>(&self, entry: &'e Stored) -> MutexGuard<'e, EntryState> {
        entry.settled(self.packed().as_deref())
    }

    /// Configures a direct meter of all entries of the table, including those added later. Returns
    /// `false` if the table has no such meter.
    pub(crate) fn configure_meters(
        &self,
        instance: ExternId,
        config: Option<MeterConfig>,
        now: Duration,
    ) -> bool {
        let entries = write(&self.entries);
        match meter_in(&entries.shape, instance) {
            Some(mut meter) => meter.configure(config, now),
            None => return false,
        }
        for entry in entries.by_handle.values() {
            if let Some(mut meter) = entry.meter(instance) {
                meter.configure(config, now);
            }
        }
        true
    }

    /// Returns the entry that a packet with these key values hits, or `None` if it misses.
    pub(crate) fn lookup(&self, keys: &[Bits], now: Duration) -> Option<Arc<Stored>> {
        let found = self.lookup_uncounted(keys, now);
        let count = if found.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Looks up an entry like [`Self::lookup`], without counting the lookup.
    pub(crate) fn lookup_uncounted(&self, keys: &[Bits], now: Duration) -> Option<Arc<Stored>> {
        loop {
            match self.best(keys) {
                Some(found) if self.is_gone(&found, now) => {
                    self.unlink(&found);
                }
                found => return found,
            }
        }
    }

    fn best(&self, keys: &[Bits]) -> Option<Arc<Stored>> {
        // BMv2 finds an entry without keys in a table without keys.
        if self.keys.is_empty() && !self.is_of_switches {
            return None;
        }
        let entries = read(&self.entries);
        let (found, _) = entries.search.best(keys);
        found.cloned()
    }

    /// Returns whether an entry has timed out in a table that deletes such entries. It counts as
    /// removed then, even if it is still in the table.
    pub(crate) fn is_gone(&self, entry: &Stored, now: Duration) -> bool {
        self.ageing == Ageing::Delete && entry.timer().is_idle(now)
    }

    /// Returns the entries whose idle timeouts have expired by `now`, each with whether it was
    /// removed from the table. An entry that was not removed is not returned again until its timer
    /// has been restarted.
    pub(crate) fn expire(&self, now: Duration) -> Vec<(TableEntry, bool)> {
        let mut reported = Vec::new();
        if self.ageing == Ageing::None {
            return reported;
        }
        for entry in self.iter() {
            if entry.timer().notified().is_none() && entry.timer().is_idle(now) {
                entry.timer().set_notified(now);
                let deletes = self.ageing == Ageing::Delete;
                if deletes {
                    self.unlink(&entry);
                }
                reported.push((entry.shown(), deletes));
            }
        }
        reported
    }

    /// Checks the matches of an entry against the table's keys, and returns them in canonical form.
    pub(crate) fn check_matches(
        &self,
        matches: &[FieldMatch],
        priority: u32,
    ) -> Result<Vec<FieldMatch>, ControlError> {
        if matches.len() != self.keys.len() {
            return Err(ControlError::KeyCount { found: matches.len(), expected: self.keys.len() });
        }
        let checked = self
            .keys
            .iter()
            .zip(matches)
            .map(|(key, found)| found.checked(key))
            .collect::<Result<_, _>>()?;
        match (self.needs_priority, priority) {
            (true, 0) => Err(ControlError::PriorityMissing),
            (false, 1..) => Err(ControlError::PriorityUnexpected),
            _ => Ok(checked),
        }
    }
}

impl Entries {
    /// Creates an entry that is not in the table yet.
    fn make(
        &mut self,
        key: (Vec<FieldMatch>, u32),
        runs: Runs,
        idle_timeout: Option<Duration>,
        is_const: bool,
        now: Duration,
    ) -> Arc<Stored> {
        let handle = EntryHandle(self.next_handle);
        self.next_handle += 1;
        let state = EntryState { runs, directs: self.shape.clone(), note: None };
        let account = self.accounts.open(Timer::new(idle_timeout, now));
        Stored::new(handle, key, is_const, account, state)
    }

    /// Puts an entry into the table. Returns `false` if there is no space for it in the packed form
    /// that machine code reads.
    fn link(&mut self, entry: &Arc<Stored>) -> bool {
        self.one_shots.swap(None, entry.state().one_shot_size());
        self.search.insert(entry);
        self.by_handle.insert(entry.handle, Arc::clone(entry));
        self.pack(entry)
    }

    fn pack(&self, entry: &Arc<Stored>) -> bool {
        let Some(packed) = &self.packed else { return true };
        let runs = entry.state().runs.clone();
        match runs.cell() {
            Some(cell) => cell.pack(packed, entry),
            None => packed.link(entry, &runs),
        }
    }

    fn unlink(&mut self, entry: &Stored) -> bool {
        if self.by_handle.remove(&entry.handle).is_none() {
            return false;
        }
        self.search.remove(entry);
        if let Some(packed) = &self.packed {
            let cell = entry.state().runs.cell().cloned();
            match cell {
                Some(cell) => cell.unpack(),
                None => packed.unlink(entry.handle),
            }
        }
        self.one_shots.swap(entry.state().one_shot_size(), None);
        true
    }
}

impl OneShots {
    /// Updates the number and total size of one-shot groups when an entry's group of size `before`
    /// is replaced by one of size `after`. `None` means that there is no group.
    fn swap(&mut self, before: Option<u64>, after: Option<u64>) {
        self.count = self.count.saturating_sub(u64::from(before.is_some()));
        self.count += u64::from(after.is_some());
        self.size = self.size.saturating_sub(before.unwrap_or(0));
        self.size = self.size.saturating_add(after.unwrap_or(0));
    }
}
