//! Tables: what the control plane put in, what a packet finds.
//!
//! A lookup takes the best of all entries that match: highest priority, or in tables without
//! priorities longest prefix, then the oldest. Tables with nothing but exact keys find their entry through the index that also
//! tells duplicates; all others are scanned. The reference is for being right, not for speed.

mod entry;
mod profile;

pub(crate) use entry::fit;
pub use entry::{ActionCall, EntryAction, FieldMatch, TableEntry, WeightedAction};
pub use profile::{Group, GroupMember};
pub(crate) use profile::{Profile, choose};

use crate::error::ControlError;
use crate::externs::meter::{Meter, MeterConfig};
use crate::layout::Layout;
pub use entities::CounterData as CounterValue;
use ir::bits::Bits;
use ir::{self, ExternId, ExternType, IdleTimeout, MatchKind, TableId};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

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

/// Counters and meters of one entry, one per direct extern of the table.
#[derive(Clone, Debug)]
pub(crate) enum Direct {
    Counter(CounterValue),
    Meter(Meter),
    Other,
}

/// An entry and its state.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) entry: TableEntry,
    pub(crate) is_const: bool,
    pub(crate) direct: Vec<(ExternId, Direct)>,
    /// When the idle timer started last.
    pub(crate) restarted: Duration,
    /// Reported to the control plane since then.
    notified: bool,
    prefix_length: u64,
}

impl Stored {
    fn is_idle(&self, now: Duration) -> bool {
        match self.entry.idle_timeout {
            Some(timeout) => now.saturating_sub(self.restarted) >= timeout,
            None => false,
        }
    }

    pub(crate) fn restart(&mut self, now: Duration) {
        self.restarted = now;
        self.notified = false;
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

/// A default entry with its counters and meters.
#[derive(Clone, Debug)]
pub(crate) struct DefaultState {
    action: ActionCall,
    is_left_out: bool,
    direct: Vec<(ExternId, Direct)>,
}

/// What becomes of entries that no packet hits for their timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ageing {
    None,
    Notify,
    Delete,
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
#[derive(Clone, Debug)]
pub(crate) struct TableState {
    pub(crate) name: String,
    pub(crate) keys: Vec<KeyShape>,
    pub(crate) needs_priority: bool,
    /// Only exact keys, and no entry that leaves one out.
    indexed: bool,
    pub(crate) default_action: ActionCall,
    pub(crate) initial_default: ActionCall,
    /// The program's default action does not run in BMv2: for tables with an action profile p4c's back end for
    /// BMv2 leaves it out, with a warning (`backends/bmv2/common/control.h`).
    pub(crate) default_is_left_out: bool,
    is_of_switches: bool,
    /// Runs for an entry whose group has no member that can be used.
    pub(crate) empty_group_action: Option<ActionCall>,
    pub(crate) ageing: Ageing,
    direct_shape: Vec<(ExternId, Direct)>,
    /// Of the default entry.
    default_direct: Vec<(ExternId, Direct)>,
    size: Option<u64>,
    entries: BTreeMap<EntryHandle, Stored>,
    index: HashMap<(Vec<FieldMatch>, u32), EntryHandle>,
    next_handle: u64,
}

impl TableState {
    pub(crate) fn new(layout: &Layout, table: &ir::Table) -> Option<Self> {
        let keys = table
            .keys
            .iter()
            .map(|key| {
                let pattern = layout.initial(key.expression.type_id)?.to_pattern()?;
                Some(KeyShape {
                    name: key.name.clone(),
                    kind: key.match_kind.clone(),
                    width: pattern.width(),
                    signed: pattern.is_signed(),
                })
            })
            .collect::<Option<Vec<_>>>()?;
        let default_action = entry::from_program(layout, table, &table.default_action)?;
        let empty_group_action = match &table.empty_group_action {
            Some(call) => Some(entry::from_program(layout, table, call)?),
            // PSA specification, section 7.12.
            None if layout.program.architecture == ir::Architecture::Psa => {
                no_action(layout, table)
            }
            None => None,
        };
        let needs_priority = keys.iter().any(|key| {
            matches!(key.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
        });
        let indexed =
            keys.iter().all(|key| matches!(key.kind, MatchKind::Exact | MatchKind::Selector));
        let ageing = match table.idle_timeout {
            None => Ageing::None,
            Some(IdleTimeout::AutoDelete) => Ageing::Delete,
            Some(IdleTimeout::NotifyControl) => Ageing::Notify,
        };
        let direct_shape = table
            .direct_externs
            .iter()
            .map(|id| {
                let direct = match layout.program.externs.get(id.index())?.extern_type {
                    ExternType::V1DirectCounter | ExternType::DirectCounter => {
                        Direct::Counter(CounterValue::default())
                    }
                    ExternType::V1DirectMeter | ExternType::DirectMeter => {
                        Direct::Meter(Meter::default())
                    }
                    _ => Direct::Other,
                };
                Some((*id, direct))
            })
            .collect::<Option<Vec<_>>>()?;
        Some(Self {
            name: table.name.clone(),
            keys,
            needs_priority,
            indexed,
            initial_default: default_action.clone(),
            default_is_left_out: table.implementation.is_some(),
            is_of_switches: layout.dialect.is_of_switches(),
            empty_group_action,
            default_action,
            ageing,
            default_direct: direct_shape.clone(),
            direct_shape,
            size: table.size,
            entries: BTreeMap::new(),
            index: HashMap::new(),
            next_handle: 1,
        })
    }

    /// Adds the entries that the program has.
    pub(crate) fn add_program_entries(
        &mut self,
        layout: &Layout,
        table: &ir::Table,
    ) -> Result<(), (usize, ControlError)> {
        let all = table.entries.len();
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
            self.indexed &= plain;
            let entry = TableEntry {
                matches,
                priority,
                action: EntryAction::Action(action),
                idle_timeout: None,
            };
            if !self.index.contains_key(&(entry.matches.clone(), priority)) {
                self.store(entry, source.is_const, Duration::ZERO);
            }
        }
        Ok(())
    }

    fn store(&mut self, entry: TableEntry, is_const: bool, now: Duration) -> EntryHandle {
        let handle = EntryHandle(self.next_handle);
        self.next_handle += 1;
        let prefix_length = entry.matches.iter().map(FieldMatch::prefix_length).sum();
        self.index.insert((entry.matches.clone(), entry.priority), handle);
        let direct = self.direct_shape.clone();
        let notified = false;
        let stored = Stored { entry, is_const, direct, restarted: now, notified, prefix_length };
        self.entries.insert(handle, stored);
        handle
    }

    /// Adds an entry whose values were checked.
    pub(crate) fn add(
        &mut self,
        entry: TableEntry,
        now: Duration,
    ) -> Result<EntryHandle, ControlError> {
        self.check_timeout(&entry)?;
        if self.find(&entry.matches, entry.priority).is_some() {
            return Err(ControlError::Duplicate);
        }
        // Zero says nothing about the size, to p4c's back end for BMv2 too.
        if let Some(size) = self.size.filter(|size| *size > 0)
            && self.entries.len() as u64 >= size
        {
            return Err(ControlError::Full { name: self.name.clone(), size });
        }
        Ok(self.store(entry, false, now))
    }

    fn check_timeout(&self, entry: &TableEntry) -> Result<(), ControlError> {
        if entry.idle_timeout.is_some() && self.ageing == Ageing::None {
            return Err(ControlError::NoIdleTimeout);
        }
        Ok(())
    }

    /// Gives an entry another action and timeout; its counters stay.
    pub(crate) fn modify(
        &mut self,
        entry: TableEntry,
        now: Duration,
    ) -> Result<EntryHandle, ControlError> {
        self.check_timeout(&entry)?;
        let handle = self.changeable(&entry.matches, entry.priority)?;
        let stored = self.entries.get_mut(&handle).ok_or(ControlError::NotFound("entry"))?;
        stored.entry = entry;
        stored.restart(now);
        Ok(handle)
    }

    /// Removes an entry.
    pub(crate) fn remove(
        &mut self,
        matches: &[FieldMatch],
        priority: u32,
    ) -> Result<TableEntry, ControlError> {
        let handle = self.changeable(matches, priority)?;
        self.take(handle).ok_or(ControlError::NotFound("entry"))
    }

    fn take(&mut self, handle: EntryHandle) -> Option<TableEntry> {
        let stored = self.entries.remove(&handle)?;
        self.index.remove(&(stored.entry.matches.clone(), stored.entry.priority));
        Some(stored.entry)
    }

    /// Removes all that the control plane put in.
    pub(crate) fn clear(&mut self) {
        self.entries.retain(|_, stored| stored.is_const);
        let entries = &self.entries;
        self.index.retain(|_, handle| entries.contains_key(handle));
    }

    fn changeable(
        &self,
        matches: &[FieldMatch],
        priority: u32,
    ) -> Result<EntryHandle, ControlError> {
        let handle = self.find(matches, priority).ok_or(ControlError::NotFound("entry"))?;
        if self.entries.get(&handle).is_some_and(|stored| stored.is_const) {
            return Err(ControlError::Constant("the entry"));
        }
        Ok(handle)
    }

    /// Puts an entry where it was, or takes it away; returns what was there. Nothing is checked.
    pub(crate) fn put_back(
        &mut self,
        handle: EntryHandle,
        stored: Option<Stored>,
    ) -> Option<Stored> {
        let previous = self.entries.remove(&handle);
        if let Some(previous) = &previous {
            self.index.remove(&(previous.entry.matches.clone(), previous.entry.priority));
        }
        if let Some(stored) = stored {
            self.index.insert((stored.entry.matches.clone(), stored.entry.priority), handle);
            self.entries.insert(handle, stored);
        }
        previous
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The oldest entry from this handle on.
    pub(crate) fn following(&self, from: EntryHandle) -> Option<EntryHandle> {
        self.entries.range(from..).next().map(|(handle, _)| *handle)
    }

    /// The default entry, to be put back.
    pub(crate) fn default_state(&self) -> DefaultState {
        DefaultState {
            action: self.default_action.clone(),
            is_left_out: self.default_is_left_out,
            direct: self.default_direct.clone(),
        }
    }

    pub(crate) fn set_default_state(&mut self, state: DefaultState) {
        self.default_action = state.action;
        self.default_is_left_out = state.is_left_out;
        self.default_direct = state.direct;
    }

    /// Counters and meters of the default entry as they started.
    pub(crate) fn reset_default_direct(&mut self) {
        self.default_direct.clone_from(&self.direct_shape);
    }

    /// The entry with exactly this match.
    pub(crate) fn find(&self, matches: &[FieldMatch], priority: u32) -> Option<EntryHandle> {
        self.index.get(&(matches.to_vec(), priority)).copied()
    }

    pub(crate) fn get(&self, handle: EntryHandle) -> Option<&Stored> {
        self.entries.get(&handle)
    }

    pub(crate) fn get_mut(&mut self, handle: EntryHandle) -> Option<&mut Stored> {
        self.entries.get_mut(&handle)
    }

    /// Counters and meters of an entry, [`EntryHandle::DEFAULT`] too.
    fn direct(&mut self, handle: EntryHandle) -> Option<&mut Vec<(ExternId, Direct)>> {
        if handle == EntryHandle::DEFAULT {
            return Some(&mut self.default_direct);
        }
        self.entries.get_mut(&handle).map(|stored| &mut stored.direct)
    }

    pub(crate) fn counter(
        &mut self,
        handle: EntryHandle,
        instance: ExternId,
    ) -> Option<&mut CounterValue> {
        self.direct(handle)?.iter_mut().find_map(|(id, direct)| match direct {
            Direct::Counter(value) if *id == instance => Some(value),
            _ => None,
        })
    }

    pub(crate) fn meter(&mut self, handle: EntryHandle, instance: ExternId) -> Option<&mut Meter> {
        self.direct(handle)?.iter_mut().find_map(|(id, direct)| match direct {
            Direct::Meter(meter) if *id == instance => Some(meter),
            _ => None,
        })
    }

    /// Configures a direct meter for all entries, also those to come; `false` if the table has none such.
    pub(crate) fn configure_meters(
        &mut self,
        instance: ExternId,
        config: Option<MeterConfig>,
        now: Duration,
    ) -> bool {
        let mut is_there = false;
        let stored = self.entries.values_mut().flat_map(|stored| &mut stored.direct);
        for (id, direct) in self.direct_shape.iter_mut().chain(stored) {
            if let Direct::Meter(meter) = direct
                && *id == instance
            {
                meter.configure(config, now);
                is_there = true;
            }
        }
        is_there
    }

    /// All entries, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EntryHandle, &Stored)> {
        self.entries.iter().map(|(handle, stored)| (*handle, stored))
    }

    /// The entry that a packet with these key values hits.
    pub(crate) fn lookup(&mut self, keys: &[Bits], now: Duration) -> Option<EntryHandle> {
        loop {
            let found = self.best(keys)?;
            let expired = self.ageing == Ageing::Delete
                && self.entries.get(&found).is_some_and(|stored| stored.is_idle(now));
            if !expired {
                return Some(found);
            }
            self.take(found);
        }
    }

    /// Entries that a lookup compares with the keys.
    pub(crate) fn compared(&self) -> u64 {
        if self.indexed { 1 } else { self.entries.len() as u64 }
    }

    fn best(&self, keys: &[Bits]) -> Option<EntryHandle> {
        // BMv2 finds an entry without key in a table without key.
        if self.keys.is_empty() && !self.is_of_switches {
            return None;
        }
        if self.indexed {
            let exact = self.keys.iter().zip(keys).map(|(key, value)| match key.kind {
                MatchKind::Selector => FieldMatch::Any,
                _ => FieldMatch::Exact(value.clone()),
            });
            return self.find(&exact.collect::<Vec<_>>(), 0);
        }
        let matching = self.entries.iter().filter(|(_, stored)| {
            stored.entry.matches.iter().zip(keys).all(|(wanted, key)| wanted.matches(key))
        });
        let oldest_last = matching.rev();
        // Where entries have priorities, BMv2 does not look at prefixes.
        oldest_last
            .max_by_key(|(_, stored)| {
                let prefix = if self.needs_priority { 0 } else { stored.prefix_length };
                (stored.entry.priority, prefix)
            })
            .map(|(handle, _)| *handle)
    }

    /// Entries whose timers ran out by `now`: each is reported once per timeout, or removed.
    pub(crate) fn expire(&mut self, now: Duration) -> Vec<(TableEntry, bool)> {
        let idle: Vec<EntryHandle> = self
            .entries
            .iter()
            .filter(|(_, stored)| !stored.notified && stored.is_idle(now))
            .map(|(handle, _)| *handle)
            .collect();
        let mut reported = Vec::new();
        for handle in idle {
            if self.ageing == Ageing::Delete {
                reported.extend(self.take(handle).map(|entry| (entry, true)));
            } else if let Some(stored) = self.entries.get_mut(&handle) {
                stored.notified = true;
                reported.push((stored.entry.clone(), false));
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
        let keys: Vec<&KeyShape> = self.keys.iter().collect();
        if matches.len() != keys.len() {
            return Err(ControlError::KeyCount { found: matches.len(), expected: keys.len() });
        }
        let checked = keys
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
