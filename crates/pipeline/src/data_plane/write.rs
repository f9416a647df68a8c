//! Makes the changes of the control plane. Each change is checked against the current state, made
//! immediately, and recorded so that it can be undone.

use super::binding::BoundTable;
use super::shared::{Configuration, Shared, Undo, replace};
use super::values::{call, field_match, from_data, matches, meter_config};
use crate::array::Array;
use crate::dialect::Dialect;
use crate::externs::ExternState;
use crate::externs::meter::Meter;
use crate::state::{CloneSession, Replica, Replicas, SESSION_BITS};
use crate::sync::write;
use crate::table::{
    self, ActionCell, Ageing, CounterValue, Directs, EntryAction, EntryHandle, GroupCell, Note,
    Stored, WeightedAction, counter_in, meter_in,
};
use entities::schema::{ActionProfileId, Implementation, Table};
use entities::{
    CounterCell, CounterData, DigestConfig, Entity, EntityError, EntryKey, Group, MatchKey, Member,
    MeterCell, MeterConfig, Nanos, Port, RegisterCell, TableAction, TableEntry, Translations,
    Update, UpdateKind, ValueSet,
};
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of array elements that one write may set to values other than their initial
/// ones.
const MAX_CELLS: u64 = 1 << 24;

/// Makes the changes of a batch in the state that packets use.
pub(super) struct Writer<'a> {
    pub(super) shared: &'a Shared,
    pub(super) configuration: &'a mut Configuration,
    pub(super) inverses: &'a mut Vec<Undo>,
    pub(super) now: Nanos,
}

type Done = Result<(), EntityError>;

impl<'a> Writer<'a> {
    pub(super) fn apply(&mut self, update: Update) -> Done {
        self.assign(&update)?;
        let kind = update.kind;
        match update.entity {
            Entity::Entry(entry) => self.entry(kind, entry),
            Entity::DirectCounter(table, key, data) => self
                .in_table(table, |writer, table, bound| {
                    writer.direct(table, bound, &key, data, None)
                }),
            Entity::DirectMeter(table, key, config) => self
                .in_table(table, |writer, table, bound| {
                    writer.direct(table, bound, &key, None, Some(config))
                }),
            Entity::Member(member) => self.member(kind, member),
            Entity::Group(group) => self.group(kind, group),
            Entity::Counter(cell) => self.counter(&cell),
            Entity::Meter(cell) => self.meter(&cell),
            Entity::Register(cell) => self.register(&cell),
            Entity::MulticastGroup(group) => self.multicast_group(kind, group),
            Entity::CloneSession(session) => self.clone_session(kind, session),
            Entity::ValueSet(set) => self.value_set(set),
            Entity::Digest(id, config) => self.digest(kind, id, config),
        }
    }

    pub(super) fn undo(&mut self, undo: impl FnOnce(&Shared, &mut Configuration) + Send + 'static) {
        self.inverses.push(Box::new(undo));
    }

    fn undo_in_array(
        &mut self,
        id: Option<ir::ExternId>,
        undo: impl FnOnce(&ExternState) + Send + 'static,
    ) {
        self.undo(move |shared, _| {
            let state = id.and_then(|id| shared.core.state.externs.get(id.index()));
            if let Some(state) = state {
                undo(state);
            }
        });
    }

    fn time(&self) -> Duration {
        self.shared.time(self.now)
    }

    fn translations(&self) -> &'a Translations {
        &self.shared.translated.translations
    }

    fn in_table(
        &mut self,
        id: entities::schema::TableId,
        apply: impl FnOnce(&mut Self, &Table, &BoundTable) -> Done,
    ) -> Done {
        let (schema, binding) = (&self.shared.schema, &self.shared.binding);
        let (Some(table), Some(bound)) = (schema.tables().get(id), binding.tables.get(&id)) else {
            return Err(EntityError::invalid(format!("P4Info has no table {id}")));
        };
        apply(self, table, bound)
            .map_err(|error| error.within(format_args!("table '{}'", table.name)))
    }

    fn entry(&mut self, kind: UpdateKind, entry: TableEntry) -> Done {
        self.in_table(entry.table, |writer, table, bound| match (kind, &entry.key) {
            (_, EntryKey::Default) => writer.default_entry(table, bound, entry),
            (UpdateKind::Insert, EntryKey::Match(key)) => {
                let key = key.clone();
                writer.insert(table, bound, key, entry)
            }
            (UpdateKind::Modify, EntryKey::Match(key)) => {
                let key = key.clone();
                writer.modify(table, bound, key, entry)
            }
            (UpdateKind::Delete, EntryKey::Match(key)) => writer.delete(bound, key),
        })
    }

    /// Inserts a table entry.
    fn insert(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        key: MatchKey,
        entry: TableEntry,
    ) -> Done {
        let action = entry.action.as_ref().ok_or_else(|| EntityError::invalid("no action"))?;
        let action = self.entry_action(table, bound, action, 0)?;
        let now = self.time();
        let state = self.state(bound)?;
        let known = self.find(bound, &key)?;
        if known.is_some_and(|known| !state.is_gone(&known, now)) {
            return Err(EntityError::exists(
                "an entry with these match fields and this priority exists already",
            ));
        }
        let size = self.shared.size(table);
        let is_full = || size.is_some_and(|size| state.len() as u64 >= size);
        if is_full() && state.ageing == Ageing::Delete {
            state.expire(now);
        }
        if is_full() {
            return Err(EntityError::exhausted(format!(
                "the table is full with {} entries",
                state.len()
            )));
        }
        let added = table::TableEntry {
            matches: matches(self.translations(), bound, &key)?,
            priority: key.priority,
            action,
            idle_timeout: timeout(entry.idle_timeout_ns),
        };
        let direct = self.direct_of(table, bound, entry.counter, Some(entry.meter));
        let stored = self.shared.core.add_entry_with(bound.id, &added, now, |state| {
            state.note = note(&entry);
            direct.set(&mut state.directs, now);
        })?;
        let position = bound.id.index();
        self.undo(move |shared, _| {
            if let Some(state) = shared.core.state.tables.get(position) {
                state.unlink(&stored);
            }
        });
        Ok(())
    }

    /// Changes a table entry.
    fn modify(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        key: MatchKey,
        entry: TableEntry,
    ) -> Done {
        let now = self.time();
        let existing = self.present(bound, &key)?;
        if existing.as_ref().is_some_and(|stored| stored.is_const) && entry.action.is_some() {
            return Err(EntityError::denied("the action of a constant entry cannot be set"));
        }
        let replaced = existing.as_ref().and_then(|stored| stored.state().one_shot_size());
        let runs = match &entry.action {
            Some(action) => {
                let action = self.entry_action(table, bound, action, replaced.unwrap_or(0))?;
                Some(self.shared.core.runs(bound.id, &action)?)
            }
            None => None,
        };
        let Some(stored) = existing else { return Err(no_entry()) };
        let direct = self.direct_of(table, bound, entry.counter, Some(entry.meter));
        let mut before = None;
        self.state(bound)?.change(&stored, |state| {
            let old = (state.runs.clone(), stored.timer().timeout(), state.note.clone());
            if let Some(runs) = runs {
                state.runs = runs;
                stored.timer().set_timeout(timeout(entry.idle_timeout_ns));
                state.note = note(&entry);
            }
            before = Some((old, direct.set(&mut state.directs, now)));
        });
        let position = bound.id.index();
        self.undo(move |shared, _| {
            let state = shared.core.state.tables.get(position);
            let (Some(state), Some(((runs, idle_timeout, note), direct))) = (state, before) else {
                return;
            };
            state.change(&stored, |state| {
                (state.runs, state.note) = (runs, note);
                stored.timer().set_timeout(idle_timeout);
                direct.restore(&mut state.directs);
            });
        });
        Ok(())
    }

    fn delete(&mut self, bound: &BoundTable, key: &MatchKey) -> Done {
        let stored = self.present(bound, key)?.ok_or_else(no_entry)?;
        if stored.is_const {
            return Err(EntityError::denied("the entry is constant"));
        }
        if !self.state(bound)?.unlink(&stored) {
            return Err(no_entry());
        }
        let position = bound.id.index();
        self.undo(move |shared, _| {
            if let Some(state) = shared.core.state.tables.get(position) {
                state.link(&stored);
            }
        });
        Ok(())
    }

    /// Sets the default entry of a table, or restores that of the program.
    fn default_entry(&mut self, table: &Table, bound: &BoundTable, entry: TableEntry) -> Done {
        let runs = match &entry.action {
            Some(TableAction::Call(of)) => {
                Some(call(&self.shared.core, self.translations(), bound.action(of.action), of)?)
            }
            _ => None,
        };
        let returns = runs.is_none();
        self.remember_default(table, bound)?;
        self.shared.core.set_default_action(bound.id, runs)?;
        if returns {
            // The default entry returns to its initial state, so all data written for it are
            // removed.
            self.state(bound)?.reset_default_directs();
            self.configuration.defaults.remove(&table.id);
            return Ok(());
        }
        let note = Note {
            controller_metadata: entry.controller_metadata,
            metadata: entry.metadata,
            one_shot: None,
        };
        self.configuration.defaults.insert(table.id, note);
        let direct = self.direct_of(table, bound, entry.counter, Some(entry.meter));
        let now = self.time();
        direct.set(&mut self.state(bound)?.default().directs, now);
        Ok(())
    }

    fn direct(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        key: &EntryKey,
        counter: Option<CounterData>,
        meter: Option<Option<MeterConfig>>,
    ) -> Done {
        let handle = match key {
            EntryKey::Default => EntryHandle::DEFAULT,
            EntryKey::Match(key) => self.present(bound, key)?.ok_or_else(no_entry)?.handle,
        };
        let direct = self.direct_of(table, bound, counter, meter);
        let now = self.time();
        let before = self.state(bound)?.with_directs(handle, |directs| direct.set(directs, now));
        let position = bound.id.index();
        self.undo(move |shared, _| {
            if let (Some(state), Some(before)) = (shared.core.state.tables.get(position), before) {
                state.with_directs(handle, |directs| before.restore(directs));
            }
        });
        Ok(())
    }

    /// Returns the values that a write sets for an entry's direct counter and meter. A value of
    /// `None` leaves the counter or the meter unchanged.
    fn direct_of(
        &self,
        table: &Table,
        bound: &BoundTable,
        counter: Option<CounterData>,
        meter: Option<Option<MeterConfig>>,
    ) -> Direct {
        let meters = self.shared.schema.direct_meters();
        let declared = table.direct_meter.and_then(|id| meters.get(id));
        Direct {
            counter: bound.counter.zip(counter),
            meter: declared.and_then(|declared| {
                Some((bound.meter?, meter_config(declared.algorithm, meter?)))
            }),
        }
    }

    /// Returns the action of an entry in the form of the program's tables, after checking that the
    /// members and groups to which it refers exist. `replaced` is the size of the one-shot group
    /// that the entry had before, which the new one replaces.
    fn entry_action(
        &self,
        table: &Table,
        bound: &BoundTable,
        action: &TableAction,
        replaced: u64,
    ) -> Result<EntryAction, EntityError> {
        let profile = match table.implementation {
            Some(Implementation::ActionProfile(id)) => self.shared.schema.action_profiles().get(id),
            _ => None,
        };
        let core = &self.shared.core;
        match (action, profile) {
            (TableAction::Call(of), _) => {
                let action = bound.action(of.action);
                Ok(EntryAction::Action(call(core, self.translations(), action, of)?))
            }
            (TableAction::Member(id), Some(profile)) => {
                if core.profile(self.instance(profile.id)?)?.member(id.0).is_none() {
                    return Err(EntityError::not_found(format!(
                        "action profile '{}' has no member {}",
                        profile.name, id.0
                    )));
                }
                Ok(EntryAction::Member(id.0))
            }
            (TableAction::Group(id), Some(profile)) => {
                if core.profile(self.instance(profile.id)?)?.group(id.0).is_none() {
                    return Err(EntityError::not_found(format!(
                        "action selector '{}' has no group {}",
                        profile.name, id.0
                    )));
                }
                Ok(EntryAction::Group(id.0))
            }
            (TableAction::OneShot(one_shot), Some(profile)) => {
                let instance = self.instance(profile.id)?;
                let usage = self.shared.usage(self.configuration, profile.id, instance);
                usage.admits_one_shot(profile, one_shot.size, replaced)?;
                let members = one_shot.members.iter().map(|member| {
                    let action = bound.action(member.action.action);
                    Ok(WeightedAction {
                        action: call(core, self.translations(), action, &member.action)?,
                        weight: member.weight.max(1),
                        watch_port: self.shared.watched(&member.watch),
                    })
                });
                Ok(EntryAction::OneShot(members.collect::<Result<_, EntityError>>()?))
            }
            _ => Err(EntityError::invalid("the table has no action profile")),
        }
    }

    fn find(&self, bound: &BoundTable, key: &MatchKey) -> Result<Option<Arc<Stored>>, EntityError> {
        let state = self.state(bound)?;
        let matches = matches(self.translations(), bound, key)?;
        let matches = state.check_matches(&matches, key.priority)?;
        Ok(state.find(&matches, key.priority))
    }

    /// Returns an entry like [`Self::find`]. An entry that has timed out counts as missing if its
    /// table deletes such entries.
    fn present(
        &self,
        bound: &BoundTable,
        key: &MatchKey,
    ) -> Result<Option<Arc<Stored>>, EntityError> {
        let (state, now) = (self.state(bound)?, self.time());
        Ok(self.find(bound, key)?.filter(|stored| !state.is_gone(stored, now)))
    }

    fn state(&self, bound: &BoundTable) -> Result<&'a table::TableState, EntityError> {
        let state = self.shared.core.state.tables.get(bound.id.index());
        state.ok_or_else(|| EntityError::invalid("the program has no such table"))
    }

    fn remember_default(&mut self, table: &Table, bound: &BoundTable) -> Done {
        let (id, position) = (table.id, bound.id.index());
        let state = self.state(bound)?.default().clone();
        let note = self.configuration.defaults.get(&id).cloned();
        self.undo(move |shared, configuration| {
            if let Some(table) = shared.core.state.tables.get(position) {
                table.change_default(|default| *default = state);
            }
            replace(&mut configuration.defaults, id, note);
        });
        Ok(())
    }

    fn instance(&self, profile: ActionProfileId) -> Result<ir::ExternId, EntityError> {
        let instance = self.shared.binding.profiles.get(&profile).copied();
        instance.ok_or_else(|| EntityError::invalid("the program has no such action profile"))
    }

    /// Writes a member of an action profile.
    fn member(&mut self, kind: UpdateKind, member: Member) -> Done {
        let (profile, id) = (self.profile(member.profile)?, member.id.0);
        let instance = self.instance(profile.id)?;
        let place = || format!("member {id} of action profile '{}'", profile.name);
        let of_program = self.shared.core.profile(instance)?;
        let known = of_program.member(id);
        let is_there = known.is_some();
        match (kind, is_there) {
            (UpdateKind::Modify | UpdateKind::Delete, false) => {
                return Err(EntityError::not_found(format!("{} does not exist", place())));
            }
            (UpdateKind::Insert, true) => {
                return Err(EntityError::exists(format!("{} exists already", place())));
            }
            (UpdateKind::Insert, false) => {
                let usage = self.shared.usage(self.configuration, profile.id, instance);
                usage.admits_member(profile).map_err(|error| error.within(place()))?;
            }
            (UpdateKind::Delete, true) => {
                if of_program.is_grouped(id) {
                    return Err(EntityError::in_use(format!("{} is part of groups", place())));
                }
                let used = EntryAction::Member(id);
                self.shared
                    .core
                    .check_unused(instance, &used, "member")
                    .map_err(|_| EntityError::in_use(format!("{} is used by entries", place())))?;
            }
            (UpdateKind::Modify, true) => {}
        }
        let action = match &member.action {
            Some(of) if kind != UpdateKind::Delete => {
                let (schema, binding) = (&self.shared.schema, &self.shared.binding);
                let bound = binding.action_of_profile(schema, profile.id, of.action);
                let call = call(&self.shared.core, self.translations(), bound, of);
                Some(call.map_err(|error| error.within(place()))?)
            }
            _ => None,
        };
        match (known, action) {
            (Some(cell), Some(call)) => {
                let previous = cell.replace(Arc::new(call));
                self.shared.core.state.refresh_choosers(&|runs| runs.may_run(&cell));
                self.undo(move |shared, _| {
                    cell.replace(previous);
                    shared.core.state.refresh_choosers(&|runs| runs.may_run(&cell));
                });
            }
            (None, Some(call)) => {
                of_program.members().insert(id, ActionCell::new(call));
                self.undo(move |shared, _| {
                    if let Ok(profile) = shared.core.profile(instance) {
                        profile.members().remove(&id);
                    }
                });
            }
            (Some(cell), None) => {
                of_program.members().remove(&id);
                self.undo(move |shared, _| {
                    if let Ok(profile) = shared.core.profile(instance) {
                        profile.members().insert(id, cell);
                    }
                });
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Writes a group of an action selector.
    fn group(&mut self, kind: UpdateKind, group: Group) -> Done {
        let (profile, id) = (self.profile(group.profile)?, group.id);
        let instance = self.instance(profile.id)?;
        let place = || format!("group {} of action selector '{}'", id.0, profile.name);
        let usage = self.shared.usage(self.configuration, profile.id, instance);
        let of_program = self.shared.core.profile(instance)?;
        let profile_groups = self.configuration.profiles.entry(profile.id).or_default();
        let existing = profile_groups.groups.get(&id);
        match (kind, existing) {
            (UpdateKind::Modify | UpdateKind::Delete, None) => {
                return Err(EntityError::not_found(format!("{} does not exist", place())));
            }
            (UpdateKind::Insert, Some(_)) => {
                return Err(EntityError::exists(format!("{} exists already", place())));
            }
            (UpdateKind::Insert, None) => usage.no_one_shots(profile)?,
            (UpdateKind::Modify, Some(existing)) if existing.max_size != group.max_size => {
                return Err(EntityError::invalid(format!(
                    "{}: max_size is {}, but was {} when the group was inserted and cannot change",
                    place(),
                    group.max_size,
                    existing.max_size
                )));
            }
            _ => {}
        }
        let replaced = existing.map_or(0, |existing| existing.size);
        let (value, runs) = if kind == UpdateKind::Delete {
            let used = EntryAction::Group(id.0);
            self.shared
                .core
                .check_unused(instance, &used, "group")
                .map_err(|_| EntityError::in_use(format!("{} is used by entries", place())))?;
            (None, None)
        } else {
            let mut members = group.members.iter();
            let unknown = members.find(|one| of_program.member(one.member.0).is_none());
            if let Some(member) = unknown {
                return Err(EntityError::not_found(format!(
                    "{}: there is no member {}",
                    place(),
                    member.member.0
                )));
            }
            usage.fits(profile, group.size, replaced).map_err(|error| error.within(place()))?;
            let members = group.members.iter().map(|member| table::GroupMember {
                member: member.member.0,
                weight: member.weight.max(1),
                watch_port: self.shared.watched(&member.watch),
            });
            let mut members: Vec<_> = members.collect();
            members.sort_by_key(|member| member.member);
            // The size was checked against P4Info above.
            let choice = of_program.choice(table::Group { members, max_size: 0 })?;
            (Some(group), Some(choice))
        };
        let known = of_program.group(id.0);
        let (restored, ran) = match (known, runs) {
            (Some(cell), Some(choice)) => {
                let ran = cell.replace(Arc::new(choice));
                self.shared.core.state.refresh_choosers(&|runs| runs.is_group(&cell));
                (Some(cell), Some(ran))
            }
            (None, Some(choice)) => {
                of_program.groups().insert(id.0, GroupCell::new(choice));
                (None, None)
            }
            (known, None) => {
                of_program.groups().remove(&id.0);
                (known, None)
            }
        };
        let previous = self.configuration.put_group(profile.id, id, value);
        let profile = profile.id;
        self.undo(move |shared, configuration| {
            if let (Some(cell), Some(ran)) = (&restored, ran) {
                cell.replace(ran);
                shared.core.state.refresh_choosers(&|runs| runs.is_group(cell));
            }
            if let Ok(of_program) = shared.core.profile(instance) {
                replace(&mut of_program.groups(), id.0, restored);
            }
            configuration.put_group(profile, id, previous);
        });
        Ok(())
    }

    fn profile(
        &self,
        id: ActionProfileId,
    ) -> Result<&'a entities::schema::ActionProfile, EntityError> {
        let profile = self.shared.schema.action_profiles().get(id);
        profile.ok_or_else(|| EntityError::invalid(format!("P4Info has no action profile {id}")))
    }

    fn array(&self, id: Option<ir::ExternId>) -> Option<&'a ExternState> {
        self.shared.core.state.externs.get(id?.index())
    }

    fn counter(&mut self, cell: &CounterCell) -> Done {
        let id = self.shared.binding.counters.get(&cell.id).copied();
        let Some(ExternState::Counter(counters)) = self.array(id) else { return Err(no_array()) };
        let value = (cell.data != CounterData::default()).then_some(cell.data);
        // Code adds to a counter by a load and a later store, so it must not run meanwhile.
        let group = &self.shared.core.state.group;
        let inverse =
            group.alone(|| set_cells(&counters.cells, counters.size, cell.index, value))?;
        let group = Arc::clone(group);
        self.undo_in_array(id, move |state| {
            if let ExternState::Counter(counters) = state {
                group.alone(|| inverse(&counters.cells));
            }
        });
        Ok(())
    }

    fn meter(&mut self, cell: &MeterCell) -> Done {
        let now = self.time();
        let declared = self.shared.schema.meters().get(cell.id).ok_or_else(no_array)?;
        let id = self.shared.binding.meters.get(&cell.id).copied();
        let Some(ExternState::Meter(meters)) = self.array(id) else { return Err(no_array()) };
        let meter = meter_config(declared.algorithm, cell.config).map(|config| {
            let mut meter = Meter::default();
            meter.configure(Some(config), now);
            meter
        });
        let inverse = set_cells(&meters.cells, meters.size, cell.index, meter)?;
        self.undo_in_array(id, move |state| {
            if let ExternState::Meter(meters) = state {
                inverse(&meters.cells);
            }
        });
        Ok(())
    }

    fn register(&mut self, cell: &RegisterCell) -> Done {
        let declared = self.shared.schema.registers().get(cell.id).ok_or_else(no_array)?;
        let id = self.shared.binding.registers.get(&cell.id).copied();
        let Some(ExternState::Register(registers)) = self.array(id) else { return Err(no_array()) };
        let translations = self.translations();
        let value = from_data(translations, &registers.initial, &declared.data, &cell.data);
        let value = value.ok_or_else(|| {
            EntityError::unimplemented(format!(
                "register '{}': cells of {} cannot be written here",
                declared.name, declared.data
            ))
        })?;
        let value = (value != registers.initial).then_some(value);
        let inverse = set_cells(&registers.cells, registers.size, cell.index, value)?;
        self.undo_in_array(id, move |state| {
            if let ExternState::Register(registers) = state {
                inverse(&registers.cells);
            }
        });
        Ok(())
    }

    fn multicast_group(&mut self, kind: UpdateKind, group: entities::MulticastGroup) -> Done {
        let id = group.id;
        let place = |error: EntityError| error.within(format_args!("multicast group {}", id.0));
        let is_there = self.configuration.multicast_groups.contains_key(&id);
        check_presence(kind, is_there).map_err(place)?;
        // `mcast_grp` has 16 bits.
        self.check_number(id.0, u64::from(u16::MAX)).map_err(place)?;
        let runs = self.replicas(&group.replicas).map_err(place)?;
        let group = (kind != UpdateKind::Delete).then_some(group);
        let ran = self.shared.core.multicast_group(id.0);
        self.shared.core.set_replicas(id.0, runs);
        let previous = replace(&mut self.configuration.multicast_groups, id, group);
        self.undo(move |shared, configuration| {
            shared.core.set_replicas(id.0, ran);
            replace(&mut configuration.multicast_groups, id, previous);
        });
        Ok(())
    }

    fn clone_session(&mut self, kind: UpdateKind, session: entities::CloneSession) -> Done {
        let id = session.id;
        let place = |error: EntityError| error.within(format_args!("clone session {}", id.0));
        let is_there = self.configuration.clone_sessions.contains_key(&id);
        check_presence(kind, is_there).map_err(place)?;
        self.check_number(id.0, SESSION_BITS).map_err(place)?;
        let session = (kind != UpdateKind::Delete).then_some(session);
        let runs = match &session {
            Some(session) => {
                let Replicas { replicas, backups } =
                    self.replicas(&session.replicas).map_err(place)?;
                Some(CloneSession {
                    replicas,
                    backups,
                    class_of_service: session.class_of_service,
                    packet_length: (session.packet_length_bytes > 0)
                        .then_some(u64::from(session.packet_length_bytes)),
                    ..CloneSession::default()
                })
            }
            None => None,
        };
        let ran = self.shared.core.clone_session(id.0);
        self.shared.core.set_clone_session(id.0, runs);
        let previous = replace(&mut self.configuration.clone_sessions, id, session);
        self.undo(move |shared, configuration| {
            shared.core.set_clone_session(id.0, ran);
            replace(&mut configuration.clone_sessions, id, previous);
        });
        Ok(())
    }

    fn replicas(&self, replicas: &[entities::Replica]) -> Result<Replicas, EntityError> {
        let mut all = Replicas::default();
        for (position, replica) in replicas.iter().enumerate() {
            all.replicas.push(self.replica(replica.port.as_ref(), replica.instance)?);
            let backups = replica.backups.iter().map(|backup| {
                self.replica(Some(&Port::Bytes(backup.port.clone())), backup.instance)
            });
            let backups: Vec<Replica> = backups.collect::<Result<_, _>>()?;
            if !backups.is_empty() {
                all.backups.insert(position, backups);
            }
        }
        Ok(all)
    }

    fn replica(&self, port: Option<&Port>, instance: u32) -> Result<Replica, EntityError> {
        let port = port.map_or(Some(0), |port| self.shared.port(port)).ok_or_else(|| {
            EntityError::out_of_range("the port of a replica is not a number of 32 bits")
        })?;
        let instance = u16::try_from(instance).map_err(|_| {
            EntityError::out_of_range(format!(
                "the instance {instance} of a replica has more than 16 bits"
            ))
        })?;
        Ok(Replica { port, instance })
    }

    /// Refuses the number of a group or session that is larger than `most`, the largest that a
    /// v1model packet could name. BMv2's server does the same (p4lang/PI, `pre_clone_mgr.cpp`).
    fn check_number(&self, number: u32, most: u64) -> Done {
        if self.shared.core.layout.dialect == Dialect::SimpleSwitch && u64::from(number) > most {
            let problem = format!("in v1model the highest number is {most}");
            return Err(EntityError::invalid(problem));
        }
        Ok(())
    }

    fn value_set(&mut self, set: ValueSet) -> Done {
        let declared = self.shared.schema.value_sets().get(set.id);
        let bound = self.shared.binding.value_sets.get(&set.id).copied();
        let (Some(declared), Some(bound)) = (declared, bound) else {
            return Err(EntityError::invalid("the program has no such value set"));
        };
        let members = set.members.iter().map(|fields| {
            let declared = declared.match_fields.iter();
            let fields = declared.map(|of| field_match(self.translations(), of, fields));
            fields.collect::<Result<Vec<_>, _>>()
        });
        let members = members
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| error.within(format_args!("value set '{}'", declared.name)))?;
        let ran = self.shared.core.value_set(bound)?;
        self.shared.core.set_value_set(bound, &members)?;
        let id = set.id;
        let previous = self.configuration.value_sets.insert(id, set);
        self.undo(move |shared, configuration| {
            if let Some(members) = shared.core.state.value_sets.get(bound.index()) {
                *write(members) = Arc::new(ran);
            }
            replace(&mut configuration.value_sets, id, previous);
        });
        Ok(())
    }

    fn digest(
        &mut self,
        kind: UpdateKind,
        id: entities::schema::DigestId,
        config: Option<DigestConfig>,
    ) -> Done {
        let declared = self.shared.schema.digests().get(id);
        let name = declared.map_or("", |digest| &digest.name);
        let mut digests = self.shared.digests.lock();
        match (kind, digests.configs.contains_key(&id)) {
            (UpdateKind::Insert, true) => {
                return Err(EntityError::exists(format!("digest '{name}' is enabled already")));
            }
            (UpdateKind::Modify | UpdateKind::Delete, false) => {
                return Err(EntityError::not_found(format!("digest '{name}' is not enabled")));
            }
            _ => {}
        }
        let value = (kind != UpdateKind::Delete).then_some(config);
        let previous = replace(&mut digests.configs, id, value);
        drop(digests);
        self.undo(move |shared, _| {
            replace(&mut shared.digests.lock().configs, id, previous);
        });
        Ok(())
    }
}

/// The values that a write sets for an entry's direct counter and meter. A value of `None` leaves
/// the counter or the meter unchanged.
struct Direct {
    counter: Option<(ir::ExternId, CounterValue)>,
    meter: Option<(ir::ExternId, Option<crate::MeterConfig>)>,
}

/// The values that an entry's direct counter and meter had before a write.
struct DirectBefore {
    counter: Option<(ir::ExternId, CounterValue)>,
    meter: Option<(ir::ExternId, Meter)>,
}

impl Direct {
    /// Sets an entry's direct counter and meter, and returns their previous values. A meter whose
    /// configuration does not change keeps its state.
    fn set(&self, directs: &mut Directs, now: Duration) -> DirectBefore {
        let mut before = DirectBefore { counter: None, meter: None };
        if let Some((id, data)) = self.counter
            && let Some(current) = counter_in(directs, id)
        {
            before.counter = Some((id, std::mem::replace(current, data)));
        }
        if let Some((id, config)) = self.meter
            && let Some(mut current) = meter_in(directs, id)
            && current.config() != config
        {
            before.meter = Some((id, *current));
            current.configure(config, now);
        }
        before
    }
}

impl DirectBefore {
    fn restore(self, directs: &mut Directs) {
        if let Some((id, data)) = self.counter
            && let Some(current) = counter_in(directs, id)
        {
            *current = data;
        }
        if let Some((id, meter)) = self.meter
            && let Some(mut current) = meter_in(directs, id)
        {
            *current = meter;
        }
    }
}

/// Returns those data of an entry that only the control plane needs, or `None` if there are none.
fn note(entry: &TableEntry) -> Option<Box<Note>> {
    let note = Note {
        controller_metadata: entry.controller_metadata,
        metadata: entry.metadata.clone(),
        one_shot: match &entry.action {
            Some(TableAction::OneShot(one_shot)) => Some(one_shot.clone()),
            _ => None,
        },
    };
    (note != Note::default()).then(|| Box::new(note))
}

/// Sets one element or all elements of an array to `value`, or to their initial value if it is
/// `None`. Returns a function that undoes the change.
fn set_cells<T: Clone + Send + 'static>(
    cells: &Array<T>,
    size: u64,
    index: Option<u64>,
    value: Option<T>,
) -> Result<impl FnOnce(&Array<T>) + Send + use<T>, EntityError> {
    let mut whole = None;
    let mut one = None;
    match index {
        Some(index) if index >= size => {
            return Err(EntityError::out_of_range(format!(
                "the index {index} is not below the size {size}"
            )));
        }
        Some(index) => one = Some((index, cells.set(index, value))),
        None if value.is_some() && size > MAX_CELLS => {
            return Err(EntityError::exhausted(format!(
                "the array has {size} cells, more than the {MAX_CELLS} that one write sets"
            )));
        }
        None => {
            let all = value
                .into_iter()
                .flat_map(|value| (0..size).map(move |index| (index, value.clone())));
            whole = Some(cells.replace(all));
        }
    }
    Ok(move |cells: &Array<T>| {
        if let Some(whole) = whole {
            cells.swap(whole);
        }
        if let Some((index, value)) = one {
            cells.set(index, value);
        }
    })
}

fn timeout(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}

fn check_presence(kind: UpdateKind, is_there: bool) -> Done {
    match (kind, is_there) {
        (UpdateKind::Insert, true) => Err(EntityError::exists("it exists already")),
        (UpdateKind::Insert, false) | (_, true) => Ok(()),
        (_, false) => Err(EntityError::not_found("it does not exist")),
    }
}

fn no_entry() -> EntityError {
    EntityError::not_found("there is no entry with these match fields and this priority")
}

fn no_array() -> EntityError {
    EntityError::invalid("the program has no such array")
}
