//! The planning of updates: checks an update against the current state and produces the change to
//! apply.

use std::collections::BTreeMap;

use entities::schema::*;
use entities::{
    CloneSession, CounterData, DigestConfig, Entity, EntityError, EntryKey, MatchKey, MeterConfig,
    MulticastGroup, Nanos, TableAction, TableEntry, Update, UpdateKind,
};

use super::change::{CellsChange, Change};
use super::profile;
use super::state::{Direct, Entry, Idle, State, TableState};

/// A planner, which checks updates against the state at one moment and returns the changes to
/// apply.
pub(super) struct Planner<'a> {
    pub(super) schema: &'a Schema,
    pub(super) state: &'a State,
    pub(super) now: Nanos,
}

impl Planner<'_> {
    /// Validates an update and returns the change that applies it.
    pub(super) fn plan(&self, update: Update) -> Result<Change, EntityError> {
        let kind = update.kind;
        match update.entity {
            Entity::Entry(entry) => match (kind, &entry.key) {
                (_, EntryKey::Default) => self.default_entry(entry),
                (UpdateKind::Insert, _) => self.insert(entry),
                (UpdateKind::Modify, _) => self.modify(entry),
                (UpdateKind::Delete, _) => self.delete(entry),
            },
            Entity::DirectCounter(table, key, data) => self.direct_counter(table, key, data),
            Entity::DirectMeter(table, key, config) => self.direct_meter(table, key, config),
            Entity::Member(member) => profile::plan_member(self.schema, self.state, kind, member),
            Entity::Group(group) => profile::plan_group(self.schema, self.state, kind, group),
            Entity::Counter(cell) => {
                Ok(Change::Counter { id: cell.id, cells: CellsChange::new(cell.index, cell.data) })
            }
            Entity::Meter(cell) => {
                Ok(Change::Meter { id: cell.id, cells: CellsChange::new(cell.index, cell.config) })
            }
            Entity::Register(cell) => {
                Ok(Change::Register { id: cell.id, cells: CellsChange::new(cell.index, cell.data) })
            }
            Entity::MulticastGroup(group) => self.multicast_group(kind, group),
            Entity::CloneSession(session) => self.clone_session(kind, session),
            Entity::ValueSet(set) => {
                Ok(Change::ValueSet { id: set.id, value: (!set.members.is_empty()).then_some(set) })
            }
            Entity::Digest(id, config) => self.digest(kind, id, config),
        }
    }

    /// Plans the insertion of a table entry by a controller or by the program.
    pub(super) fn insert(&self, entry: TableEntry) -> Result<Change, EntityError> {
        self.in_table(entry.table, |table| {
            let key = match_key(entry.key)?;
            self.check_action(table, entry.action.as_ref(), 0)?;
            let current = self.state.tables.get(&table.id);
            if current.is_some_and(|current| current.entries.contains_key(&key)) {
                return Err(EntityError::exists(
                    "an entry with these match fields and this priority exists already",
                ));
            }
            let entries = current.map_or(0, |current| current.entries.len() as u64);
            if table.size.is_some_and(|size| entries >= size) {
                return Err(EntityError::exhausted(format!(
                    "the table is full with {entries} entries"
                )));
            }
            let mut inserted = Entry::new(entry.action);
            inserted.controller_metadata = entry.controller_metadata;
            inserted.metadata = entry.metadata;
            inserted.idle = self.idle(table, entry.idle_timeout_ns, None);
            let counter = entry.counter.unwrap_or_default();
            inserted.set_direct(Direct { counter, meter: entry.meter });
            inserted.is_const = entry.is_const;
            Ok(Change::Entry { table: table.id, key, value: Some(inserted) })
        })
    }

    fn modify(&self, entry: TableEntry) -> Result<Change, EntityError> {
        self.in_table(entry.table, |table| {
            let key = match_key(entry.key)?;
            let existing = self.entry(table, &key);
            if existing.is_some_and(|existing| existing.is_const) && entry.action.is_some() {
                return Err(EntityError::denied("the action of a constant entry cannot be set"));
            }
            let replaced = match existing.and_then(|existing| existing.action.as_ref()) {
                Some(TableAction::OneShot(one_shot)) => one_shot.size,
                _ => 0,
            };
            self.check_action(table, entry.action.as_ref(), replaced)?;
            let mut modified = existing.cloned().ok_or_else(no_entry)?;
            let counter = entry.counter.unwrap_or(modified.direct().counter);
            modified.set_direct(Direct { counter, meter: entry.meter });
            // Without an action, the rest of the entry stays unchanged too. The specification calls
            // such an update a no-op except for direct resources.
            if entry.action.is_some() {
                modified.action = entry.action;
                modified.controller_metadata = entry.controller_metadata;
                modified.metadata = entry.metadata;
                modified.idle = self.idle(table, entry.idle_timeout_ns, modified.idle.as_deref());
            }
            Ok(Change::Entry { table: table.id, key, value: Some(modified) })
        })
    }

    fn delete(&self, entry: TableEntry) -> Result<Change, EntityError> {
        self.in_table(entry.table, |table| {
            let key = match_key(entry.key)?;
            let existing = self.entry(table, &key).ok_or_else(no_entry)?;
            if existing.is_const {
                return Err(EntityError::denied("the entry is constant"));
            }
            Ok(Change::Entry { table: table.id, key, value: None })
        })
    }

    fn default_entry(&self, entry: TableEntry) -> Result<Change, EntityError> {
        self.in_table(entry.table, |table| {
            let value = entry.action.map(|action| {
                let counter = entry.counter.unwrap_or(self.default(table).direct().counter);
                let mut modified = Entry::new(Some(action));
                modified.controller_metadata = entry.controller_metadata;
                modified.metadata = entry.metadata;
                modified.set_direct(Direct { counter, meter: entry.meter });
                Box::new(modified)
            });
            Ok(Change::DefaultEntry { table: table.id, value })
        })
    }

    fn direct_counter(
        &self,
        table: TableId,
        key: EntryKey,
        data: Option<CounterData>,
    ) -> Result<Change, EntityError> {
        self.change(table, key, |_, entry| {
            let direct = entry.direct();
            entry.set_direct(Direct { counter: data.unwrap_or(direct.counter), ..direct });
        })
    }

    fn direct_meter(
        &self,
        table: TableId,
        key: EntryKey,
        config: Option<MeterConfig>,
    ) -> Result<Change, EntityError> {
        self.change(table, key, |_, entry| {
            entry.set_direct(Direct { meter: config, ..entry.direct() });
        })
    }

    /// Plans the effect of a packet of `bytes` bytes that hits a table entry.
    pub(super) fn hit(
        &self,
        table: TableId,
        key: EntryKey,
        bytes: u64,
    ) -> Result<Change, EntityError> {
        self.change(table, key, |table, entry| {
            if table.direct_counter.is_some() {
                let mut direct = entry.direct();
                let CounterData { packets, bytes: counted } = &mut direct.counter;
                *packets = packets.saturating_add(1);
                *counted = counted.saturating_add(bytes);
                entry.set_direct(direct);
            }
            if let Some(idle) = &mut entry.idle {
                idle.last_hit = self.now;
                idle.quiet_since = self.now;
            }
        })
    }

    /// Plans a change of a table entry that must exist.
    fn change(
        &self,
        table: TableId,
        key: EntryKey,
        change: impl Fn(&Table, &mut Entry),
    ) -> Result<Change, EntityError> {
        self.in_table(table, |table| match key {
            EntryKey::Default => {
                let mut entry = self.default(table);
                change(table, &mut entry);
                Ok(Change::DefaultEntry { table: table.id, value: Some(Box::new(entry)) })
            }
            EntryKey::Match(key) => {
                let mut entry = self.entry(table, &key).cloned().ok_or_else(no_entry)?;
                change(table, &mut entry);
                Ok(Change::Entry { table: table.id, key, value: Some(entry) })
            }
        })
    }

    fn in_table(
        &self,
        id: TableId,
        plan: impl FnOnce(&Table) -> Result<Change, EntityError>,
    ) -> Result<Change, EntityError> {
        let table = self.schema.tables().get(id);
        let table =
            table.ok_or_else(|| EntityError::invalid(format!("P4Info has no table {id}")))?;
        plan(table).map_err(|error| error.within(format_args!("table '{}'", table.name)))
    }

    fn entry(&self, table: &Table, key: &MatchKey) -> Option<&Entry> {
        self.state.tables.get(&table.id)?.entries.get(key)
    }

    fn default(&self, table: &Table) -> Entry {
        let current = self.state.tables.get(&table.id).map(|current| &**current);
        let written = current.and_then(|current: &TableState| current.default.as_deref());
        written.cloned().unwrap_or_else(|| Entry::initial_default(table))
    }

    /// Checks that the member or group that an action refers to exists, and that a one-shot group
    /// fits the limits. `replaced` is the size of the one-shot group that the entry has now.
    fn check_action(
        &self,
        table: &Table,
        action: Option<&TableAction>,
        replaced: u64,
    ) -> Result<(), EntityError> {
        let Some(Implementation::ActionProfile(id)) = table.implementation else { return Ok(()) };
        let Some(of) = self.schema.action_profiles().get(id) else { return Ok(()) };
        let current = self.state.profiles.get(&id).map(|current| &**current);
        match action {
            Some(TableAction::Member(id))
                if !current.is_some_and(|current| current.members.contains_key(id)) =>
            {
                Err(EntityError::not_found(format!(
                    "action profile '{}' has no member {}",
                    of.name, id.0
                )))
            }
            Some(TableAction::Group(id))
                if !current.is_some_and(|current| current.groups.contains_key(id)) =>
            {
                Err(EntityError::not_found(format!(
                    "action selector '{}' has no group {}",
                    of.name, id.0
                )))
            }
            Some(TableAction::OneShot(one_shot)) => {
                profile::usage(current).admits_one_shot(of, one_shot.size, replaced)
            }
            _ => Ok(()),
        }
    }

    fn idle(&self, table: &Table, timeout_ns: u64, previous: Option<&Idle>) -> Option<Box<Idle>> {
        let now = self.now;
        table.idle_timeout.then(|| {
            Box::new(match previous {
                Some(previous) => Idle { timeout_ns, ..*previous },
                None => Idle { timeout_ns, last_hit: now, quiet_since: now },
            })
        })
    }

    fn multicast_group(
        &self,
        kind: UpdateKind,
        group: MulticastGroup,
    ) -> Result<Change, EntityError> {
        let id = group.id;
        check_presence(&self.state.multicast_groups, kind, id)
            .map_err(|error| error.within(format_args!("multicast group {}", id.0)))?;
        Ok(Change::MulticastGroup { id, value: (kind != UpdateKind::Delete).then_some(group) })
    }

    fn clone_session(
        &self,
        kind: UpdateKind,
        session: CloneSession,
    ) -> Result<Change, EntityError> {
        let id = session.id;
        check_presence(&self.state.clone_sessions, kind, id)
            .map_err(|error| error.within(format_args!("clone session {}", id.0)))?;
        Ok(Change::CloneSession { id, value: (kind != UpdateKind::Delete).then_some(session) })
    }

    fn digest(
        &self,
        kind: UpdateKind,
        id: DigestId,
        config: Option<DigestConfig>,
    ) -> Result<Change, EntityError> {
        let name = || self.schema.digests().get(id).map_or("", |digest| &digest.name);
        match (kind, self.state.digests.contains_key(&id)) {
            (UpdateKind::Insert, true) => {
                Err(EntityError::exists(format!("digest '{}' is enabled already", name())))
            }
            (UpdateKind::Modify | UpdateKind::Delete, false) => {
                Err(EntityError::not_found(format!("digest '{}' is not enabled", name())))
            }
            (UpdateKind::Delete, true) => Ok(Change::Digest { id, value: None }),
            _ => Ok(Change::Digest { id, value: Some(config) }),
        }
    }
}

/// Checks that an object with this identifier does not exist if it is to be inserted, and that it
/// exists otherwise.
fn check_presence<K: Ord, V>(
    known: &BTreeMap<K, V>,
    kind: UpdateKind,
    id: K,
) -> Result<(), EntityError> {
    match (kind, known.contains_key(&id)) {
        (UpdateKind::Insert, true) => Err(EntityError::exists("it exists already")),
        (UpdateKind::Insert, false) | (_, true) => Ok(()),
        (_, false) => Err(EntityError::not_found("it does not exist")),
    }
}

fn match_key(key: EntryKey) -> Result<MatchKey, EntityError> {
    match key {
        EntryKey::Match(key) => Ok(key),
        EntryKey::Default => Err(EntityError::invalid("the default entry always exists")),
    }
}

fn no_entry() -> EntityError {
    EntityError::not_found("there is no entry with these match fields and this priority")
}
