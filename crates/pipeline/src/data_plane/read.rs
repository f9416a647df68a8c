//! Reads entities for the control plane. Entries, members of action profiles, counters, meters and
//! registers come from the state that packets use. All other entities come from the control plane's
//! own record.

use super::binding::BoundTable;
use super::shared::Shared;
use super::values::{
    match_key, shown_call, shown_meter_config, to_data, unnamed_argument, unnamed_key, untranslated,
};
use crate::array::Array;
use crate::externs::ExternState;
use crate::sync::lock;
use crate::table::{
    ActionCall, CompiledTable, Directs, EntryHandle, Note, Runs, Stored, TableState, counter_in,
    meter_in,
};
use entities::schema::{Register, Table};
use entities::{
    Cells, Code, CounterCell, CounterData, Cursor, Entity, EntityError, EntryKey, EntrySelection,
    GroupId, Matching, Member, MemberId, MeterCell, Nanos, Reader, RegisterCell, Selection,
    TableAction, TableEntry, Value, ValueSet,
};
use ir::ExternId;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Visit<'a> = dyn FnMut(Option<Entity>) -> ControlFlow<()> + 'a;

/// The view of the switch that one read operation has. It is no snapshot: it also shows what
/// packets write while the read goes on.
#[derive(Debug)]
pub(super) struct View {
    pub(super) shared: Arc<Shared>,
    pub(super) now: Nanos,
    /// The error about the first entity that could not be converted for controllers since the last
    /// [`Reader::take_left_out`], if there is one.
    pub(super) left_out: Mutex<Option<EntityError>>,
}

impl View {
    pub(super) fn new(shared: Arc<Shared>, now: Nanos) -> Self {
        Self { shared, now, left_out: Mutex::default() }
    }

    fn leave_out(&self, why: EntityError) {
        lock(&self.left_out).get_or_insert(why);
    }
}

impl Reader for View {
    fn read(
        &self,
        selection: &Selection,
        cursor: &mut Cursor,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let Shared { schema, binding, core, .. } = &*self.shared;
        let configuration = || lock(&self.shared.configuration);
        let array = |id: Option<&ExternId>| id.and_then(|id| core.state.externs.get(id.index()));
        let nothing = ControlFlow::Continue(());
        let translations = &*self.shared.translated.translations;
        match selection {
            Selection::Entries(selection) => {
                let Some(table) = schema.tables().get(selection.table) else { return nothing };
                let Some(bound) = binding.tables.get(&table.id) else { return nothing };
                let Some(state) = core.state.tables.get(bound.id.index()) else {
                    return nothing;
                };
                let time = self.shared.time(self.now);
                let entries =
                    Entries { view: self, table, bound, state, packed: state.packed(), time };
                if selection.is_default {
                    let note = configuration().defaults.get(&table.id).cloned().unwrap_or_default();
                    return cursor.once(|| visit(entries.default_entry(selection, note)));
                }
                entries.read(selection, cursor, visit)
            }
            Selection::Members(id, wanted) => {
                let found = array(binding.profiles.get(id));
                let Some(ExternState::Profile(profile)) = found else { return nothing };
                let members = profile.members().clone();
                by_id(&members, wanted.map(|id| id.0), cursor, |member, cell| {
                    let call = &cell.call();
                    let actions = schema.action_profiles().get(*id).into_iter();
                    let mut tables = actions.flat_map(|profile| &profile.tables);
                    let action = tables.find_map(|table| {
                        shown_call(translations, &binding.tables.get(table)?.actions, call)
                    });
                    let action = action.or_else(|| {
                        let mut tables = binding.tables.values();
                        tables.find_map(|table| shown_call(translations, &table.actions, call))
                    });
                    visit(Some(Entity::Member(Member {
                        profile: *id,
                        id: MemberId(member),
                        action,
                    })))
                })
            }
            Selection::Groups(id, wanted) => {
                let configuration = configuration();
                let Some(profile_groups) = configuration.profiles.get(id) else { return nothing };
                let groups = profile_groups.groups.iter().map(|(id, group)| (id.0, group));
                by_id(&groups.collect(), wanted.map(|id: GroupId| id.0), cursor, |_, group| {
                    visit(Some(Entity::Group((*group).clone())))
                })
            }
            Selection::Counters(id, wanted) => {
                let Some(ExternState::Counter(found)) = array(binding.counters.get(id)) else {
                    return nothing;
                };
                cells(&found.cells, found.size, *wanted, cursor, |index, data| {
                    let (index, data) = (Some(index), data.unwrap_or_default());
                    visit(Some(Entity::Counter(CounterCell { id: *id, index, data })))
                })
            }
            Selection::Meters(id, wanted) => {
                let Some(ExternState::Meter(found)) = array(binding.meters.get(id)) else {
                    return nothing;
                };
                cells(&found.cells, found.size, *wanted, cursor, |index, meter| {
                    let config = shown_meter_config(meter.and_then(|meter| meter.config()));
                    let index = Some(index);
                    visit(Some(Entity::Meter(MeterCell { id: *id, index, config, counters: None })))
                })
            }
            Selection::Registers(id, wanted) => {
                let declared = schema.registers().get(*id);
                let found = array(binding.registers.get(id));
                let (Some(declared), Some(ExternState::Register(found))) = (declared, found) else {
                    return nothing;
                };
                cells(&found.cells, found.size, *wanted, cursor, |index, value| {
                    let value = value.as_ref().unwrap_or(&found.initial);
                    let data = to_data(translations, &declared.data, value);
                    if data.is_none() && declared.data.has_text() {
                        self.leave_out(unnamed_cell(declared, index));
                    }
                    let index = Some(index);
                    visit(data.map(|data| Entity::Register(RegisterCell { id: *id, index, data })))
                })
            }
            Selection::MulticastGroups(wanted) => {
                let configuration = configuration();
                let groups = configuration.multicast_groups.iter().map(|(id, group)| (id.0, group));
                by_id(&groups.collect(), wanted.map(|id| id.0), cursor, |_, group| {
                    visit(Some(Entity::MulticastGroup((*group).clone())))
                })
            }
            Selection::CloneSessions(wanted) => {
                let configuration = configuration();
                let sessions =
                    configuration.clone_sessions.iter().map(|(id, session)| (id.0, session));
                by_id(&sessions.collect(), wanted.map(|id| id.0), cursor, |_, session| {
                    visit(Some(Entity::CloneSession((*session).clone())))
                })
            }
            Selection::ValueSet(id) => cursor.once(|| {
                let empty = || ValueSet { id: *id, members: Box::default() };
                let set = configuration().value_sets.get(id).cloned().unwrap_or_else(empty);
                visit(Some(Entity::ValueSet(set)))
            }),
            Selection::Digest(id) => cursor.once(|| {
                let config = self.shared.digests.lock().configs.get(id).copied();
                visit(config.map(|config| Entity::Digest(*id, config)))
            }),
        }
    }

    fn take_left_out(&self) -> Option<EntityError> {
        lock(&self.left_out).take()
    }
}

/// The entries of one table, as a read operation visits them.
struct Entries<'a> {
    view: &'a View,
    table: &'a Table,
    bound: &'a BoundTable,
    state: &'a TableState,
    /// The table in the form that machine code reads, which is fetched once and not for each entry.
    packed: Option<Arc<CompiledTable>>,
    time: Duration,
}

impl Entries<'_> {
    fn read(
        &self,
        selection: &EntrySelection,
        cursor: &mut Cursor,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let named = self.named(selection);
        let Some(selection) = &named else { return ControlFlow::Continue(()) };
        loop {
            let some = self.state.from(EntryHandle(cursor.number().max(1)));
            if some.is_empty() {
                return ControlFlow::Continue(());
            }
            for stored in some {
                *cursor = Cursor::Number(stored.handle.0.saturating_add(1));
                visit(self.entry(selection, &stored))?;
            }
        }
    }

    fn entry(&self, selection: &EntrySelection, stored: &Stored) -> Option<Entity> {
        let fields = &self.table.match_fields;
        let translations = &self.view.shared.translated.translations;
        let key = match_key(translations, fields, self.bound, &stored.matches, stored.priority);
        if key.is_none()
            && let Some(why) = unnamed_key(translations, fields, self.bound, &stored.matches)
            && !self.state.is_gone(stored, self.time)
        {
            self.leave_out(why);
        }
        let key = key?;
        if !selection.selects_key(&key) {
            return None;
        }
        if self.state.is_gone(stored, self.time) {
            return None;
        }
        let (runs, resources, note) = {
            let mut state = stored.settled(self.packed.as_deref());
            let note = state.note.as_deref().cloned().unwrap_or_default();
            (state.runs.clone(), self.resources(&mut state.directs), note)
        };
        let action = match &runs {
            Runs::Action(cell) => cell.with_call(|call| self.call(call))?.map(TableAction::Call),
            Runs::Member(id, _) => Some(TableAction::Member(MemberId(*id))),
            Runs::Group(id, _) => Some(TableAction::Group(GroupId(*id))),
            Runs::OneShot(_) => note.one_shot.clone().map(TableAction::OneShot),
        };
        let idle = stored.timer().timeout().unwrap_or_default();
        let elapsed = self.time.saturating_sub(stored.timer().restarted());
        let since_last_hit = self.table.idle_timeout.then_some(elapsed);
        let shown = TableEntry {
            action,
            is_const: stored.is_const,
            idle_timeout_ns: nanoseconds(idle),
            since_last_hit_ns: since_last_hit.map(nanoseconds),
            ..TableEntry::new(self.table.id, EntryKey::Match(key))
        };
        self.with_note(selection, resources, shown, note)
    }

    /// Returns the selection with each string replaced by the one that reads return for the same
    /// number: a port can have several strings. Returns `None` if a string has no number, so that
    /// no entry contains it.
    fn named(&self, selection: &EntrySelection) -> Option<EntrySelection> {
        let translations = &self.view.shared.translated.translations;
        let mut named = selection.clone();
        for field in named.fields.iter_mut().flatten() {
            let of = self.table.match_fields.iter().find(|of| of.id == field.field);
            let Some(of) = of.filter(|of| of.value.bits().is_none()) else { continue };
            let Some(translated) = of.translated else {
                self.leave_out(untranslated(format_args!("match field '{}'", of.name)));
                return None;
            };
            if let Matching::Exact(value) | Matching::Optional(value) = &mut field.matching {
                let number = translations.number(translated, value.bytes())?;
                let text = translations.text(translated, number)?;
                *value = Value::new(of.value, &text).ok()?;
            }
        }
        Some(named)
    }

    /// Converts the action call of an entry to the control plane's form. Returns `Some(None)` if
    /// P4Info does not have the action. Returns `None` if controllers see an argument as a string,
    /// but no string is assigned to its number; the entry is then left out of the read.
    fn call(&self, call: &ActionCall) -> Option<Option<entities::ActionCall>> {
        let translations = &self.view.shared.translated.translations;
        let actions = &self.bound.actions;
        let shown = shown_call(translations, actions, call);
        if shown.is_none()
            && let Some(why) = unnamed_argument(translations, actions, call)
        {
            self.leave_out(why);
            return None;
        }
        Some(shown)
    }

    fn leave_out(&self, why: EntityError) {
        self.view.leave_out(why.within(format_args!("table '{}'", self.table.name)));
    }

    fn default_entry(&self, selection: &EntrySelection, note: Note) -> Option<Entity> {
        let mut state = self.state.default().clone();
        let action = self.call(&state.cell.call())?;
        let shown = TableEntry {
            action: action.map(TableAction::Call),
            is_const: self.table.default_is_const,
            ..TableEntry::new(self.table.id, EntryKey::Default)
        };
        self.with_note(selection, self.resources(&mut state.directs), shown, note)
    }

    /// Returns the values of an entry's direct counter and direct meter.
    fn resources(
        &self,
        directs: &mut Directs,
    ) -> (Option<CounterData>, Option<entities::MeterConfig>) {
        let counter = self.bound.counter.and_then(|id| counter_in(directs, id).copied());
        let meter = self.bound.meter.and_then(|id| meter_in(directs, id)?.config());
        (counter, shown_meter_config(meter))
    }

    /// Returns an entry with its direct counter and meter and the data that the controller stored
    /// with it. Returns `None` if the read does not select the entry.
    fn with_note(
        &self,
        selection: &EntrySelection,
        (counter, meter): (Option<CounterData>, Option<entities::MeterConfig>),
        shown: TableEntry,
        note: Note,
    ) -> Option<Entity> {
        let action = match &shown.action {
            Some(TableAction::Call(call)) => Some(call.action),
            _ => None,
        };
        if !selection.selects_rest(action, note.controller_metadata, &note.metadata) {
            return None;
        }
        Some(Entity::Entry(TableEntry {
            controller_metadata: note.controller_metadata,
            metadata: note.metadata,
            counter,
            meter,
            ..shown
        }))
    }
}

fn unnamed_cell(register: &Register, index: u64) -> EntityError {
    let message =
        format!("cell {index} of register '{}' has a number without a string in it", register.name);
    EntityError::new(Code::FailedPrecondition, message)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn by_id<V>(
    known: &BTreeMap<u32, V>,
    wanted: Option<u32>,
    cursor: &mut Cursor,
    mut visit: impl FnMut(u32, &V) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Ok(from) = u32::try_from(cursor.number()) else { return ControlFlow::Continue(()) };
    for (id, value) in known.range(from..) {
        if wanted.is_none_or(|wanted| wanted == *id) {
            *cursor = Cursor::Number(u64::from(*id) + 1);
            visit(*id, value)?;
        }
    }
    ControlFlow::Continue(())
}

fn cells<T: Clone>(
    array: &Array<T>,
    size: u64,
    wanted: Cells,
    cursor: &mut Cursor,
    mut visit: impl FnMut(u64, Option<T>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match wanted {
        Cells::One(index) => cursor.once(|| visit(index, array.get(index))),
        Cells::All => {
            for index in cursor.number()..size {
                *cursor = Cursor::Number(index + 1);
                visit(index, array.get(index))?;
            }
            ControlFlow::Continue(())
        }
        Cells::Written => loop {
            let some = array.written_from(cursor.number());
            if some.is_empty() {
                return ControlFlow::Continue(());
            }
            for (index, value) in some {
                *cursor = Cursor::Number(index.saturating_add(1));
                visit(index, Some(value))?;
            }
        },
    }
}
