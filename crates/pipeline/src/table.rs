//! Tables: what the control plane put in, what a packet finds.
//!
//! A lookup takes the best of all entries that match: highest priority, or in tables without
//! priorities longest prefix, then the oldest.
//!
//! Packets and the control plane use a table at the same time. A lock around the way to the entries is held for
//! one lookup, shared, or for the time in which one entry is put in or taken out; it is not held while
//! an action runs. What becomes of an entry that a packet has found is told in [`stored`].

mod change;
mod entry;
mod native;
mod packing;
mod profile;
mod search;
mod stored;
mod timer;

pub use change::{Changed, EntryChange};
pub(crate) use change::{EntryChanges, Left};
pub(crate) use entry::fit;
pub use entry::{ActionCall, EntryAction, FieldMatch, TableEntry, WeightedAction};
pub(crate) use native::{Chooser, Member, NO_ACTION, NativeTable, design};
pub(crate) use packing::EntryLayout;
pub use profile::{Group, GroupMember};
pub(crate) use profile::{Profile, choose};
#[cfg(test)]
pub(crate) use stored::DROPPED;
pub(crate) use stored::{
    Account, ActionCell, Direct, DirectAccount, Directs, EntryState, GroupCell, Note, Runs, Stored,
    Tally, counter_in, meter_in,
};
pub(crate) use timer::Timer;

use self::native::Choosing;
use self::search::Search;
use self::stored::{Accounts, MeterCell};
use crate::error::{ControlError, RunError};
use crate::externs::meter::MeterConfig;
use crate::layout::Layout;
use crate::sync::{lock, read, write};
pub use entities::CounterData as CounterValue;
use ir::bits::Bits;
use ir::{self, ExternId, ExternType, IdleTimeout, MatchKind, TableId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;
use tables::{Slab, WorkerGroup};

/// Names an entry of a table as long as it is there; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryHandle(pub u64);

impl EntryHandle {
    /// The default entry, which a packet hits that finds no other. It has counters and meters of its own where
    /// the architecture gives it some (PSA specification, sections 7.9 and 7.10).
    pub const DEFAULT: Self = Self(0);
}

/// A key of a table, as entries are checked against it.
#[derive(Clone, Debug)]
pub(crate) struct KeyShape {
    pub(crate) name: String,
    pub(crate) kind: MatchKind,
    pub(crate) width: u32,
    pub(crate) signed: bool,
}

impl KeyShape {
    fn of(layout: &Layout, key: &ir::Key) -> Option<Self> {
        let pattern = layout.initial(key.expression.type_id)?.to_pattern()?;
        Some(Self {
            name: key.name.clone(),
            kind: key.match_kind.clone(),
            width: pattern.width(),
            signed: pattern.is_signed(),
        })
    }

    /// Whether entries of a table with such a key have priorities.
    fn needs_priority(&self) -> bool {
        matches!(self.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
    }
}

/// `NoAction`, if a table has it.
fn no_action(layout: &Layout, table: &ir::Table) -> Option<ActionCall> {
    let mut actions = table.actions.iter().map(|reference| reference.action);
    let is_none = |id: &ir::ActionId| {
        let action = layout.program.actions.get(id.index());
        action.is_some_and(|action| action.name == "NoAction" && action.parameters.is_empty())
    };
    Some(ActionCall { action: actions.find(is_none)?, arguments: Vec::new() })
}

/// The default entry with its counters and meters.
#[derive(Clone, Debug)]
pub(crate) struct DefaultState {
    pub(crate) cell: Arc<ActionCell>,
    /// The program's default action does not run in BMv2: for tables with an action profile p4c's back end for
    /// BMv2 leaves it out, with a warning (`backends/bmv2/common/control.h`).
    pub(crate) is_left_out: bool,
    pub(crate) directs: Directs,
}

/// What becomes of entries that no packet hits for their timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ageing {
    None,
    Notify,
    Delete,
}

impl Ageing {
    fn of(table: &ir::Table) -> Self {
        match table.idle_timeout {
            None => Self::None,
            Some(IdleTimeout::AutoDelete) => Self::Delete,
            Some(IdleTimeout::NotifyControl) => Self::Notify,
        }
    }
}

/// An entry that timed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleEntry {
    /// Its table.
    pub table: TableId,
    /// The entry.
    pub entry: TableEntry,
    /// Whether it was removed (`AUTO_DELETE`).
    pub deleted: bool,
}

/// A table at work.
#[derive(Debug)]
pub(crate) struct TableState {
    pub(crate) name: String,
    pub(crate) keys: Vec<KeyShape>,
    pub(crate) needs_priority: bool,
    /// Actions that write their entry run alone (`synced` of `@tableconfig`).
    pub(crate) synchronised: bool,
    /// How machine code keeps the entries.
    storage: ir::TableStorage,
    pub(crate) initial_default: ActionCall,
    is_of_switches: bool,
    /// Runs for an entry whose group has no member that can be used.
    pub(crate) empty_group_action: Option<Arc<ActionCell>>,
    pub(crate) ageing: Ageing,
    size: Option<u64>,
    /// How machine code has the entries, or why it does not.
    packing: Result<Arc<EntryLayout>, &'static str>,
    default: Mutex<DefaultState>,
    entries: RwLock<Entries>,
    /// Lookups that found an entry.
    hits: AtomicU64,
    /// Lookups that found none.
    misses: AtomicU64,
}

/// The entries of a table.
#[derive(Debug)]
struct Entries {
    by_handle: BTreeMap<EntryHandle, Arc<Stored>>,
    search: Search,
    next_handle: u64,
    /// Counters and meters of an entry that is added.
    shape: Directs,
    accounts: Accounts,
    one_shots: OneShots,
    /// Where the actions of all entries are, once machine code uses them.
    native: Option<Arc<NativeTable>>,
}

/// Groups that entries brought along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OneShots {
    pub(crate) count: u64,
    /// Of all together, as the selector counts.
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
            // PSA specification, section 7.12.
            None if layout.program.architecture == ir::Architecture::Psa => {
                no_action(layout, table)
            }
            None => None,
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
                native: None,
            }),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// Adds the entries that the program has.
    pub(crate) fn add_program_entries(
        &self,
        layout: &Layout,
        table: &ir::Table,
    ) -> Result<(), (usize, ControlError)> {
        let all = table.entries.len();
        let mut entries = write(&self.entries);
        for (position, source) in table.entries.iter().enumerate() {
            let damaged = || (position, ControlError::NotFound("value in the program"));
            let matches = entry::matches_from_program(layout, &self.keys, table, source)
                .ok_or_else(damaged)?;
            let action = entry::from_program(layout, table, &source.action).ok_or_else(damaged)?;
            let plain = self.keys.iter().zip(&matches).all(|(key, found)| {
                key.kind != MatchKind::Exact || matches!(found, FieldMatch::Exact(_))
            });
            // Without priorities in the source, what stands first wins.
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

    /// Adds an entry whose values were checked. One that has timed out and is to be deleted makes room.
    pub(crate) fn add(
        &self,
        (matches, priority): (Vec<FieldMatch>, u32),
        runs: Runs,
        idle_timeout: Option<Duration>,
        now: Duration,
        fill: impl FnOnce(&mut EntryState),
    ) -> Result<Arc<Stored>, ControlError> {
        self.check_timeout(idle_timeout)?;
        let mut entries = write(&self.entries);
        if let Some(known) = entries.search.find(&matches, priority).cloned() {
            if !self.is_gone(&known, now) {
                return Err(ControlError::Duplicate);
            }
            entries.unlink(&known);
        }
        // Zero says nothing about the size, to p4c's back end for BMv2 too.
        if let Some(size) = self.size.filter(|size| *size > 0)
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

    pub(crate) fn check_timeout(&self, timeout: Option<Duration>) -> Result<(), ControlError> {
        if timeout.is_some() && self.ageing == Ageing::None {
            return Err(ControlError::NoIdleTimeout);
        }
        Ok(())
    }

    /// The entry with exactly this match, if it can be changed.
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

    /// Takes an entry out; whether it was there.
    pub(crate) fn unlink(&self, entry: &Stored) -> bool {
        write(&self.entries).unlink(entry)
    }

    /// Puts an entry back where it was, in the place of one with the same match that came meanwhile.
    pub(crate) fn link(&self, entry: &Arc<Stored>) {
        let mut entries = write(&self.entries);
        if let Some(other) = entries.search.find(&entry.matches, entry.priority).cloned() {
            entries.unlink(&other);
        }
        entries.link(entry);
    }

    /// Removes all that the control plane put in.
    pub(crate) fn clear(&self) {
        let mut entries = write(&self.entries);
        let gone: Vec<_> =
            entries.by_handle.values().filter(|entry| !entry.is_const).cloned().collect();
        gone.iter().for_each(|entry| {
            entries.unlink(entry);
        });
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        read(&self.entries).by_handle.len()
    }

    /// Returns the bytes of memory that the table has of its own: the parts of entries that packets
    /// touch, and the entries as machine code stores them. All other state of entries is on the
    /// heap.
    pub(crate) fn bytes(&self) -> usize {
        let accounts = read(&self.entries).accounts.bytes();
        accounts + self.native().map_or(0, |native| native.bytes())
    }

    /// Lookups that found an entry, and lookups that found none.
    pub(crate) fn lookups(&self) -> (u64, u64) {
        let (hits, misses) = self.native().map_or((0, 0), |native| native.lookups());
        (hits + self.hits.load(Ordering::Relaxed), misses + self.misses.load(Ordering::Relaxed))
    }

    /// Groups that entries brought along.
    pub(crate) fn one_shots(&self) -> OneShots {
        read(&self.entries).one_shots
    }

    /// Changes what is kept with an entry, and with it what its own group counts.
    pub(crate) fn change(&self, entry: &Stored, change: impl FnOnce(&mut EntryState)) {
        let mut entries = write(&self.entries);
        let is_there = entries.by_handle.contains_key(&entry.handle);
        let mut state = entry.state();
        if let Some(native) = &entries.native {
            native.settle(entry, &mut state);
        }
        let before = state.one_shot_size();
        let ran = state.runs.cell().cloned();
        change(&mut state);
        let after = state.one_shot_size();
        if is_there {
            entries.one_shots.swap(before, after);
            match (ran, state.runs.cell(), &entries.native) {
                (Some(ran), Some(runs), _) if !Arc::ptr_eq(&ran, runs) => ran.give_way(runs),
                (None, None, Some(native)) => native.relink(entry.handle, &state.runs),
                _ => {}
            }
        }
    }

    /// Entries from this handle on, oldest first, some at once.
    pub(crate) fn from(&self, from: EntryHandle) -> Vec<Arc<Stored>> {
        const AT_ONCE: usize = 256;
        read(&self.entries)
            .by_handle
            .range(from..)
            .take(AT_ONCE)
            .map(|(_, one)| Arc::clone(one))
            .collect()
    }

    /// All entries, oldest first. Those that come or go meanwhile may be seen or not.
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

    /// Puts the actions of all entries where machine code uses them, from now on; nothing if it does not.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub(crate) fn activate(
        &self,
        group: &Arc<WorkerGroup>,
        ports_down: &Arc<RwLock<BTreeSet<u32>>>,
    ) -> Result<(), RunError> {
        let Ok(layout) = &self.packing else { return Ok(()) };
        let no_memory = RunError::Malformed("entries that memory does not suffice for");
        let mut entries = write(&self.entries);
        // Once it is there, it has all entries: those that come later are put in as they come.
        if entries.native.is_some() {
            return Ok(());
        }
        let declared = self.size.and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        let size = declared.max(entries.by_handle.len());
        let choosing = layout
            .chooses
            .then(|| Choosing::new(self.empty_group_action.clone(), Arc::clone(ports_down)));
        // Whether the design can be had was found out when the program was compiled.
        let native = NativeTable::new(Arc::clone(layout), group, self.storage, size, choosing);
        entries.native = Some(native.map_err(|_| no_memory.clone())?);
        if entries.by_handle.values().all(|entry| entries.pack(entry)) {
            return Ok(());
        }
        entries.native = None;
        for entry in entries.by_handle.values() {
            entry.state().runs.cell().into_iter().for_each(|cell| cell.unpack());
        }
        Err(no_memory)
    }

    /// How machine code has the entries, if it can.
    pub(crate) fn packing(&self) -> Option<&EntryLayout> {
        self.packing.as_deref().ok()
    }

    /// Where machine code has the entries, if it uses them. Not for a worker inside of the gate: whoever closes that may
    /// hold the entries.
    pub(crate) fn native(&self) -> Option<Arc<NativeTable>> {
        read(&self.entries).native.clone()
    }

    /// Entries of a sharded table that packets of several workers wrote, as far as workers that went can tell.
    pub(crate) fn divided(&self) -> u64 {
        self.native().map_or(0, |native| native.divided())
    }

    /// Changes what runs on a miss.
    pub(crate) fn change_default(&self, change: impl FnOnce(&mut DefaultState)) {
        change(&mut self.default());
        if let Some(native) = self.native() {
            native.look_again();
        }
    }

    pub(crate) fn default(&self) -> MutexGuard<'_, DefaultState> {
        lock(&self.default)
    }

    /// Counters and meters of the default entry as they started.
    pub(crate) fn reset_default_directs(&self) {
        let shape = read(&self.entries).shape.clone();
        self.default().directs = shape;
    }

    /// The entry with exactly this match.
    pub(crate) fn find(&self, matches: &[FieldMatch], priority: u32) -> Option<Arc<Stored>> {
        read(&self.entries).search.find(matches, priority).cloned()
    }

    pub(crate) fn get(&self, handle: EntryHandle) -> Option<Arc<Stored>> {
        read(&self.entries).by_handle.get(&handle).cloned()
    }

    /// Counters and meters of an entry, [`EntryHandle::DEFAULT`] too, while nobody else uses them.
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

    /// The state of an entry, with all in its counters that packets have counted.
    pub(crate) fn settled<'e>(&self, entry: &'e Stored) -> MutexGuard<'e, EntryState> {
        entry.settled(self.native().as_deref())
    }

    /// Configures a direct meter for all entries, also those to come; `false` if the table has none such.
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

    /// The entry that a packet with these key values hits.
    pub(crate) fn lookup(&self, keys: &[Bits], now: Duration) -> Option<Arc<Stored>> {
        loop {
            match self.best(keys) {
                Some(found) if self.is_gone(&found, now) => {
                    self.unlink(&found);
                }
                found => {
                    let count = if found.is_some() { &self.hits } else { &self.misses };
                    count.fetch_add(1, Ordering::Relaxed);
                    return found;
                }
            }
        }
    }

    fn best(&self, keys: &[Bits]) -> Option<Arc<Stored>> {
        // BMv2 finds an entry without key in a table without key.
        if self.keys.is_empty() && !self.is_of_switches {
            return None;
        }
        let entries = read(&self.entries);
        let (found, _) = entries.search.best(keys);
        found.cloned()
    }

    /// Whether an entry has timed out in a table that deletes such entries: it is there no more,
    /// though it may not have been taken out yet.
    pub(crate) fn is_gone(&self, entry: &Stored, now: Duration) -> bool {
        self.ageing == Ageing::Delete && entry.timer().is_idle(now)
    }

    /// Entries whose timers ran out by `now`: each is reported once per timeout, or removed.
    pub(crate) fn expire(&self, now: Duration) -> Vec<(TableEntry, bool)> {
        let mut reported = Vec::new();
        if self.ageing == Ageing::None {
            return reported;
        }
        for entry in self.iter() {
            if entry.timer().told().is_none() && entry.timer().is_idle(now) {
                entry.timer().tell(now);
                let deletes = self.ageing == Ageing::Delete;
                if deletes {
                    self.unlink(&entry);
                }
                reported.push((entry.shown(), deletes));
            }
        }
        reported
    }

    /// Makes a match canonical and checks it against the keys.
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
    /// An entry that is not linked yet.
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

    /// Whether there was room for it where machine code has it.
    fn link(&mut self, entry: &Arc<Stored>) -> bool {
        self.one_shots.swap(None, entry.state().one_shot_size());
        self.search.insert(entry);
        self.by_handle.insert(entry.handle, Arc::clone(entry));
        self.pack(entry)
    }

    fn pack(&self, entry: &Arc<Stored>) -> bool {
        let Some(native) = &self.native else { return true };
        let runs = entry.state().runs.clone();
        match runs.cell() {
            Some(cell) => cell.pack(native, entry),
            None => native.link(entry, &runs),
        }
    }

    fn unlink(&mut self, entry: &Stored) -> bool {
        if self.by_handle.remove(&entry.handle).is_none() {
            return false;
        }
        self.search.remove(entry);
        if let Some(native) = &self.native {
            let cell = entry.state().runs.cell().cloned();
            match cell {
                Some(cell) => cell.unpack(),
                None => native.unlink(entry.handle),
            }
        }
        self.one_shots.swap(entry.state().one_shot_size(), None);
        true
    }
}

impl OneShots {
    /// Another group, or none, in the place of one.
    fn swap(&mut self, before: Option<u64>, after: Option<u64>) {
        self.count = self.count.saturating_sub(u64::from(before.is_some()));
        self.count += u64::from(after.is_some());
        self.size = self.size.saturating_sub(before.unwrap_or(0));
        self.size = self.size.saturating_add(after.unwrap_or(0));
    }
}
