//! Writing: each change is checked against what is there, applied to the switch at once, and
//! leaves behind what undoes it.

use super::binding::{Binding, BoundTable};
use super::values::{call, field_match, from_data, matches, meter_config};
use super::{Note, Running};
use crate::externs::ExternState;
use crate::state::{CloneSession, Replica};
use crate::table::{self, EntryAction, EntryHandle, FieldMatch, Stored, WeightedAction};
use entities::schema::{ActionProfileId, Implementation, Schema, Table};
use entities::{
    CounterCell, CounterData, DigestConfig, Entity, EntityError, EntryKey, Group, MatchKey, Member,
    MeterCell, MeterConfig, Nanos, Port, RegisterCell, TableAction, TableEntry, Update, UpdateKind,
    ValueSet, Watch,
};
use std::time::Duration;

/// The most cells that one write may set to something else than they started with.
const MOST_CELLS: u64 = 1 << 24;

/// Applies changes to what runs.
pub(super) struct Writer<'a> {
    pub(super) schema: &'a Schema,
    pub(super) binding: &'a Binding,
    pub(super) running: &'a mut Running,
    pub(super) now: Nanos,
}

type Done = Result<(), EntityError>;

impl<'a> Writer<'a> {
    pub(super) fn apply(&mut self, update: Update) -> Done {
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

    fn undo(&mut self, undo: impl FnOnce(&mut Running) + Send + 'static) {
        self.running.inverses.push(Box::new(undo));
    }

    fn time(&self) -> Duration {
        Duration::from_nanos(self.now.0)
    }

    fn in_table(
        &mut self,
        id: entities::schema::TableId,
        apply: impl FnOnce(&mut Self, &Table, &BoundTable) -> Done,
    ) -> Done {
        let (schema, binding) = (self.schema, self.binding);
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
            (UpdateKind::Delete, EntryKey::Match(key)) => writer.delete(table, bound, key),
        })
    }

    fn insert(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        key: MatchKey,
        entry: TableEntry,
    ) -> Done {
        let action = entry.action.as_ref().ok_or_else(|| EntityError::invalid("no action"))?;
        let runs = self.entry_action(table, bound, action, 0)?;
        if self.find(bound, &key)?.is_some() {
            return Err(EntityError::exists(
                "an entry with these match fields and this priority exists already",
            ));
        }
        let entries = self.state(bound)?.len() as u64;
        if table.size.is_some_and(|size| entries >= size) {
            return Err(EntityError::exhausted(format!(
                "the table is full with {entries} entries"
            )));
        }
        let now = self.time();
        let added = table::TableEntry {
            matches: matches(bound, &key),
            priority: key.priority,
            action: runs,
            idle_timeout: timeout(entry.idle_timeout_ns),
        };
        let handle = self.running.switch.add_entry(bound.id, added, now)?;
        self.remember(table, bound, handle, None, key, Some(&entry));
        self.set_direct(table, bound, handle, entry.counter, Some(entry.meter));
        Ok(())
    }

    fn modify(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        key: MatchKey,
        entry: TableEntry,
    ) -> Done {
        let existing = self.find(bound, &key)?;
        let stored = match existing {
            Some(handle) => self.state(bound)?.get(handle).cloned(),
            None => None,
        };
        if stored.as_ref().is_some_and(|stored| stored.is_const) && entry.action.is_some() {
            return Err(EntityError::denied("the action of a constant entry cannot be set"));
        }
        let note = self.running.books.note(table.id, &key);
        let replaced = note.one_shot.as_ref().map_or(0, |one_shot| one_shot.size);
        let runs = match &entry.action {
            Some(action) => Some(self.entry_action(table, bound, action, replaced)?),
            None => None,
        };
        let (Some(handle), Some(stored)) = (existing, stored) else { return Err(no_entry()) };
        if let Some(runs) = runs {
            let timeout = timeout(entry.idle_timeout_ns);
            if let Some(current) = self.state_mut(bound)?.get_mut(handle) {
                current.entry.action = runs;
                current.entry.idle_timeout = timeout;
            }
            self.remember(table, bound, handle, Some(stored), key, Some(&entry));
        } else {
            self.remember_stored(bound, handle, Some(stored));
        }
        self.set_direct(table, bound, handle, entry.counter, Some(entry.meter));
        Ok(())
    }

    fn delete(&mut self, table: &Table, bound: &BoundTable, key: &MatchKey) -> Done {
        let handle = self.find(bound, key)?.ok_or_else(no_entry)?;
        let state = self.state_mut(bound)?;
        if state.get(handle).is_some_and(|stored| stored.is_const) {
            return Err(EntityError::denied("the entry is constant"));
        }
        let stored = state.put_back(handle, None);
        self.remember(table, bound, handle, stored, key.clone(), None);
        Ok(())
    }

    fn default_entry(&mut self, table: &Table, bound: &BoundTable, entry: TableEntry) -> Done {
        let runs = match &entry.action {
            Some(TableAction::Call(of)) => {
                Some(call(&self.running.switch, bound.action(of.action), of)?)
            }
            _ => None,
        };
        let returns = runs.is_none();
        self.remember_default(table, bound)?;
        self.running.switch.set_default_action(bound.id, runs)?;
        if returns {
            // Nothing is left of what was written.
            self.state_mut(bound)?.reset_default_direct();
            self.running.books.defaults.remove(&table.id);
            return Ok(());
        }
        let note = Note {
            controller_metadata: entry.controller_metadata,
            metadata: entry.metadata,
            one_shot: None,
        };
        self.running.books.defaults.insert(table.id, note);
        self.set_direct(table, bound, EntryHandle::DEFAULT, entry.counter, Some(entry.meter));
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
            EntryKey::Default => {
                self.remember_default(table, bound)?;
                EntryHandle::DEFAULT
            }
            EntryKey::Match(key) => {
                let handle = self.find(bound, key)?.ok_or_else(no_entry)?;
                let stored = self.state(bound)?.get(handle).cloned();
                self.remember_stored(bound, handle, stored);
                handle
            }
        };
        self.set_direct(table, bound, handle, counter, meter);
        Ok(())
    }

    /// Sets direct resources; `None` leaves them. A meter that stays as it is goes on.
    fn set_direct(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        handle: EntryHandle,
        counter: Option<CounterData>,
        meter: Option<Option<MeterConfig>>,
    ) {
        let now = self.time();
        let schema = self.schema;
        let Ok(state) = self.state_mut(bound) else { return };
        if let (Some(id), Some(data)) = (bound.counter, counter)
            && let Some(current) = state.counter(handle, id)
        {
            *current = data;
        }
        if let (Some(id), Some(config)) = (bound.meter, meter)
            && let Some(declared) = table.direct_meter.and_then(|id| schema.direct_meters().get(id))
            && let Some(current) = state.meter(handle, id)
        {
            let config = meter_config(declared.algorithm, config);
            if current.config() != config {
                current.configure(config, now);
            }
        }
    }

    /// What an entry runs, if all that it refers to is there. `replaced` is the size of the
    /// one-shot group that the entry had before.
    fn entry_action(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        action: &TableAction,
        replaced: u64,
    ) -> Result<EntryAction, EntityError> {
        let profile = match table.implementation {
            Some(Implementation::ActionProfile(id)) => self.schema.action_profiles().get(id),
            _ => None,
        };
        let switch = &self.running.switch;
        match (action, profile) {
            (TableAction::Call(of), _) => {
                Ok(EntryAction::Action(call(switch, bound.action(of.action), of)?))
            }
            (TableAction::Member(id), Some(profile)) => {
                if !switch.profile(self.instance(profile.id)?)?.members.contains_key(&id.0) {
                    return Err(EntityError::not_found(format!(
                        "action profile '{}' has no member {}",
                        profile.name, id.0
                    )));
                }
                Ok(EntryAction::Member(id.0))
            }
            (TableAction::Group(id), Some(profile)) => {
                if !switch.profile(self.instance(profile.id)?)?.groups.contains_key(&id.0) {
                    return Err(EntityError::not_found(format!(
                        "action selector '{}' has no group {}",
                        profile.name, id.0
                    )));
                }
                Ok(EntryAction::Group(id.0))
            }
            (TableAction::OneShot(one_shot), Some(profile)) => {
                let instance = self.instance(profile.id)?;
                let usage = self.running.usage(profile.id, instance);
                usage.admits_one_shot(profile, one_shot.size, replaced)?;
                let members = one_shot.members.iter().map(|member| {
                    let action = bound.action(member.action.action);
                    Ok(WeightedAction {
                        action: call(switch, action, &member.action)?,
                        weight: member.weight.max(1),
                        watch_port: watched(&member.watch),
                    })
                });
                Ok(EntryAction::OneShot(members.collect::<Result<_, EntityError>>()?))
            }
            _ => Err(EntityError::invalid("the table has no action profile")),
        }
    }

    fn find(&self, bound: &BoundTable, key: &MatchKey) -> Result<Option<EntryHandle>, EntityError> {
        Ok(self.running.switch.find_entry(bound.id, &matches(bound, key), key.priority)?)
    }

    fn state(&self, bound: &BoundTable) -> Result<&table::TableState, EntityError> {
        let state = self.running.switch.state.tables.get(bound.id.index());
        state.ok_or_else(|| EntityError::invalid("the program has no such table"))
    }

    fn state_mut(&mut self, bound: &BoundTable) -> Result<&mut table::TableState, EntityError> {
        let state = self.running.switch.state.tables.get_mut(bound.id.index());
        state.ok_or_else(|| EntityError::invalid("the program has no such table"))
    }

    /// Writes down what an entry leaves that is not in the switch, and what undoes the change.
    fn remember(
        &mut self,
        table: &Table,
        bound: &BoundTable,
        handle: EntryHandle,
        stored: Option<Stored>,
        key: MatchKey,
        entry: Option<&TableEntry>,
    ) {
        self.remember_stored(bound, handle, stored);
        let note = entry.map(|entry| Note {
            controller_metadata: entry.controller_metadata,
            metadata: entry.metadata.clone(),
            one_shot: match &entry.action {
                Some(TableAction::OneShot(one_shot)) => Some(one_shot.clone()),
                _ => None,
            },
        });
        let profile = match table.implementation {
            Some(Implementation::ActionProfile(id)) => Some(id),
            _ => None,
        };
        let id = table.id;
        let previous = self.running.books.take_note(id, profile, &key);
        if let Some(note) = note {
            self.running.books.put_note(id, profile, key.clone(), note);
        }
        self.undo(move |running| {
            running.books.take_note(id, profile, &key);
            if let Some(note) = previous {
                running.books.put_note(id, profile, key, note);
            }
        });
    }

    fn remember_stored(&mut self, bound: &BoundTable, handle: EntryHandle, stored: Option<Stored>) {
        let position = bound.id.index();
        self.undo(move |running| {
            if let Some(state) = running.switch.state.tables.get_mut(position) {
                state.put_back(handle, stored);
            }
        });
    }

    fn remember_default(&mut self, table: &Table, bound: &BoundTable) -> Done {
        let (id, position) = (table.id, bound.id.index());
        let state = self.state(bound)?.default_state();
        let note = self.running.books.defaults.get(&id).cloned();
        self.undo(move |running| {
            if let Some(table) = running.switch.state.tables.get_mut(position) {
                table.set_default_state(state);
            }
            replace(&mut running.books.defaults, id, note);
        });
        Ok(())
    }

    fn instance(&self, profile: ActionProfileId) -> Result<ir::ExternId, EntityError> {
        let instance = self.binding.profiles.get(&profile).copied();
        instance.ok_or_else(|| EntityError::invalid("the program has no such action profile"))
    }

    fn member(&mut self, kind: UpdateKind, member: Member) -> Done {
        let (profile, id) = (self.profile(member.profile)?, member.id.0);
        let instance = self.instance(profile.id)?;
        let place = || format!("member {id} of action profile '{}'", profile.name);
        let is_there = self.running.switch.profile(instance)?.members.contains_key(&id);
        match (kind, is_there) {
            (UpdateKind::Modify | UpdateKind::Delete, false) => {
                return Err(EntityError::not_found(format!("{} does not exist", place())));
            }
            (UpdateKind::Insert, true) => {
                return Err(EntityError::exists(format!("{} exists already", place())));
            }
            (UpdateKind::Insert, false) => {
                let usage = self.running.usage(profile.id, instance);
                usage.admits_member(profile).map_err(|error| error.within(place()))?;
            }
            (UpdateKind::Delete, true) => {
                let groups = &self.running.switch.profile(instance)?.groups;
                let mut members = groups.values().flat_map(|group| &group.members);
                if members.any(|member| member.member == id) {
                    return Err(EntityError::in_use(format!("{} is part of groups", place())));
                }
                let used = EntryAction::Member(id);
                self.running
                    .switch
                    .check_unused(instance, &used, "member")
                    .map_err(|_| EntityError::in_use(format!("{} is used by entries", place())))?;
            }
            (UpdateKind::Modify, true) => {}
        }
        let action = match &member.action {
            Some(of) if kind != UpdateKind::Delete => {
                let bound = self.binding.action_of_profile(self.schema, profile.id, of.action);
                Some(call(&self.running.switch, bound, of).map_err(|error| error.within(place()))?)
            }
            _ => None,
        };
        let members = &mut self.running.switch.profile_mut(instance)?.members;
        let previous = replace(members, id, action);
        self.undo(move |running| {
            if let Ok(profile) = running.switch.profile_mut(instance) {
                replace(&mut profile.members, id, previous);
            }
        });
        Ok(())
    }

    fn group(&mut self, kind: UpdateKind, group: Group) -> Done {
        let (profile, id) = (self.profile(group.profile)?, group.id);
        let instance = self.instance(profile.id)?;
        let place = || format!("group {} of action selector '{}'", id.0, profile.name);
        let usage = self.running.usage(profile.id, instance);
        let book = self.running.books.profiles.entry(profile.id).or_default();
        let existing = book.groups.get(&id);
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
            self.running
                .switch
                .check_unused(instance, &used, "group")
                .map_err(|_| EntityError::in_use(format!("{} is used by entries", place())))?;
            (None, None)
        } else {
            let members = &self.running.switch.profile(instance)?.members;
            let unknown = group.members.iter().find(|one| !members.contains_key(&one.member.0));
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
                watch_port: watched(&member.watch),
            });
            let mut members: Vec<_> = members.collect();
            members.sort_by_key(|member| member.member);
            // What the size counts was checked against P4Info above.
            (Some(group), Some(table::Group { members, max_size: 0 }))
        };
        let groups = &mut self.running.switch.profile_mut(instance)?.groups;
        let ran = replace(groups, id.0, runs);
        let previous = self.running.books.put_group(profile.id, id, value);
        let profile = profile.id;
        self.undo(move |running| {
            if let Ok(profile) = running.switch.profile_mut(instance) {
                replace(&mut profile.groups, id.0, ran);
            }
            running.books.put_group(profile, id, previous);
        });
        Ok(())
    }

    fn profile(
        &self,
        id: ActionProfileId,
    ) -> Result<&'a entities::schema::ActionProfile, EntityError> {
        let profile = self.schema.action_profiles().get(id);
        profile.ok_or_else(|| EntityError::invalid(format!("P4Info has no action profile {id}")))
    }

    fn counter(&mut self, cell: &CounterCell) -> Done {
        let id = self.binding.counters.get(&cell.id).copied();
        let state = id.and_then(|id| self.running.switch.state.externs.get_mut(id.index()));
        let Some(ExternState::Counter(counters)) = state else { return Err(no_array()) };
        let inverse = set_cells(
            &mut counters.values,
            counters.size,
            cell.index,
            (cell.data != CounterData::default()).then_some(cell.data),
        )?;
        self.undo(move |running| {
            let state = id.and_then(|id| running.switch.state.externs.get_mut(id.index()));
            if let Some(ExternState::Counter(counters)) = state {
                inverse(&mut counters.values);
            }
        });
        Ok(())
    }

    fn meter(&mut self, cell: &MeterCell) -> Done {
        let now = self.time();
        let declared = self.schema.meters().get(cell.id).ok_or_else(no_array)?;
        let id = self.binding.meters.get(&cell.id).copied();
        let state = id.and_then(|id| self.running.switch.state.externs.get_mut(id.index()));
        let Some(ExternState::Meter(meters)) = state else { return Err(no_array()) };
        let meter = meter_config(declared.algorithm, cell.config).map(|config| {
            let mut meter = crate::externs::meter::Meter::default();
            meter.configure(Some(config), now);
            meter
        });
        let inverse = set_cells(&mut meters.meters, meters.size, cell.index, meter)?;
        self.undo(move |running| {
            let state = id.and_then(|id| running.switch.state.externs.get_mut(id.index()));
            if let Some(ExternState::Meter(meters)) = state {
                inverse(&mut meters.meters);
            }
        });
        Ok(())
    }

    fn register(&mut self, cell: &RegisterCell) -> Done {
        let declared = self.schema.registers().get(cell.id).ok_or_else(no_array)?;
        let id = self.binding.registers.get(&cell.id).copied();
        let state = id.and_then(|id| self.running.switch.state.externs.get_mut(id.index()));
        let Some(ExternState::Register(registers)) = state else { return Err(no_array()) };
        let value = from_data(&registers.initial, &declared.data, &cell.data).ok_or_else(|| {
            EntityError::unimplemented(format!(
                "register '{}': cells of {} cannot be written here",
                declared.name, declared.data
            ))
        })?;
        let value = (value != registers.initial).then_some(value);
        let inverse = set_cells(&mut registers.values, registers.size, cell.index, value)?;
        self.undo(move |running| {
            let state = id.and_then(|id| running.switch.state.externs.get_mut(id.index()));
            if let Some(ExternState::Register(registers)) = state {
                inverse(&mut registers.values);
            }
        });
        Ok(())
    }

    fn multicast_group(&mut self, kind: UpdateKind, group: entities::MulticastGroup) -> Done {
        let id = group.id;
        let place = |error: EntityError| error.within(format_args!("multicast group {}", id.0));
        let is_there = self.running.books.multicast_groups.contains_key(&id);
        check_presence(kind, is_there).map_err(place)?;
        let runs = replicas(&group.replicas).map_err(place)?;
        let group = (kind != UpdateKind::Delete).then_some(group);
        let ran = self.running.switch.multicast_group(id.0).to_vec();
        self.running.switch.set_multicast_group(id.0, runs);
        let previous = replace(&mut self.running.books.multicast_groups, id, group);
        self.undo(move |running| {
            running.switch.set_multicast_group(id.0, ran);
            replace(&mut running.books.multicast_groups, id, previous);
        });
        Ok(())
    }

    fn clone_session(&mut self, kind: UpdateKind, session: entities::CloneSession) -> Done {
        let id = session.id;
        let place = |error: EntityError| error.within(format_args!("clone session {}", id.0));
        let is_there = self.running.books.clone_sessions.contains_key(&id);
        check_presence(kind, is_there).map_err(place)?;
        let session = (kind != UpdateKind::Delete).then_some(session);
        let runs = match &session {
            Some(session) => Some(CloneSession {
                replicas: replicas(&session.replicas).map_err(place)?,
                class_of_service: session.class_of_service,
                packet_length: (session.packet_length_bytes > 0)
                    .then_some(u64::from(session.packet_length_bytes)),
                ..CloneSession::default()
            }),
            None => None,
        };
        let ran = self.running.switch.clone_session(id.0).cloned();
        self.running.switch.set_clone_session(id.0, runs);
        let previous = replace(&mut self.running.books.clone_sessions, id, session);
        self.undo(move |running| {
            running.switch.set_clone_session(id.0, ran);
            replace(&mut running.books.clone_sessions, id, previous);
        });
        Ok(())
    }

    fn value_set(&mut self, set: ValueSet) -> Done {
        let declared = self.schema.value_sets().get(set.id);
        let bound = self.binding.value_sets.get(&set.id).copied();
        let (Some(declared), Some(bound)) = (declared, bound) else {
            return Err(EntityError::invalid("the program has no such value set"));
        };
        let members = set.members.iter().map(|fields| {
            let fields = declared.match_fields.iter().map(|of| {
                let found = fields.iter().find(|field| field.field == of.id);
                found.map_or(FieldMatch::Any, |field| field_match(&field.matching))
            });
            fields.collect::<Vec<_>>()
        });
        let members: Vec<_> = members.collect();
        let ran = self.running.switch.value_set(bound)?.to_vec();
        self.running.switch.set_value_set(bound, &members)?;
        let id = set.id;
        let previous = self.running.books.value_sets.insert(id, set);
        self.undo(move |running| {
            if let Some(members) = running.switch.state.value_sets.get_mut(bound.index()) {
                *members = ran;
            }
            replace(&mut running.books.value_sets, id, previous);
        });
        Ok(())
    }

    fn digest(
        &mut self,
        kind: UpdateKind,
        id: entities::schema::DigestId,
        config: Option<DigestConfig>,
    ) -> Done {
        let name = self.schema.digests().get(id).map_or("", |digest| &digest.name);
        match (kind, self.running.books.digests.contains_key(&id)) {
            (UpdateKind::Insert, true) => {
                return Err(EntityError::exists(format!("digest '{name}' is enabled already")));
            }
            (UpdateKind::Modify | UpdateKind::Delete, false) => {
                return Err(EntityError::not_found(format!("digest '{name}' is not enabled")));
            }
            _ => {}
        }
        let value = (kind != UpdateKind::Delete).then_some(config);
        let previous = replace(&mut self.running.books.digests, id, value);
        self.undo(move |running| {
            replace(&mut running.books.digests, id, previous);
        });
        Ok(())
    }
}

/// Sets a cell or all of them, `None` to what they started with; returns what undoes it.
fn set_cells<T: Clone + Send + 'static>(
    values: &mut std::collections::BTreeMap<u64, T>,
    size: u64,
    index: Option<u64>,
    value: Option<T>,
) -> Result<impl FnOnce(&mut std::collections::BTreeMap<u64, T>) + Send + 'static, EntityError> {
    let mut whole = None;
    let mut one = None;
    match index {
        Some(index) if index >= size => {
            return Err(EntityError::out_of_range(format!(
                "the index {index} is not below the size {size}"
            )));
        }
        Some(index) => one = Some((index, replace(values, index, value))),
        None if value.is_some() && size > MOST_CELLS => {
            return Err(EntityError::exhausted(format!(
                "the array has {size} cells, more than the {MOST_CELLS} that one write sets"
            )));
        }
        None => {
            let cells = value
                .into_iter()
                .flat_map(|value| (0..size).map(move |index| (index, value.clone())));
            whole = Some(std::mem::replace(values, cells.collect()));
        }
    }
    Ok(move |values: &mut std::collections::BTreeMap<u64, T>| {
        if let Some(whole) = whole {
            *values = whole;
        }
        if let Some((index, value)) = one {
            replace(values, index, value);
        }
    })
}

fn replicas(replicas: &[entities::Replica]) -> Result<Vec<Replica>, EntityError> {
    let replicas = replicas.iter().map(|replica| {
        if !replica.backups.is_empty() {
            return Err(EntityError::unimplemented("backups of a replica are not supported"));
        }
        let port = match &replica.port {
            None => Some(0),
            Some(port) => Port::number(port),
        };
        let port = port.ok_or_else(|| {
            EntityError::out_of_range("the port of a replica is no number of 32 bits")
        })?;
        let instance = u16::try_from(replica.instance).map_err(|_| {
            EntityError::out_of_range(format!(
                "the instance {} of a replica has more than 16 bits",
                replica.instance
            ))
        })?;
        Ok(Replica { port, instance })
    });
    replicas.collect()
}

fn watched(watch: &Watch) -> Option<u32> {
    match watch {
        Watch::Nothing => None,
        Watch::Number(number) => u32::try_from(*number).ok(),
        Watch::Port(port) => Port::Bytes(port.clone()).number(),
    }
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

pub(super) fn replace<K: Ord, V>(
    map: &mut std::collections::BTreeMap<K, V>,
    key: K,
    value: Option<V>,
) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}
