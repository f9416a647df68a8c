//! Reading: entries, counters, meters and registers from the switch, all else from the books.

use super::binding::{Binding, BoundTable};
use super::values::{match_key, shown_call, shown_meter_config, to_data};
use super::{Books, Note, Shared};
use crate::externs::{ExternState, meter::Meter};
use crate::switch::Switch;
use crate::table::{EntryAction, EntryHandle};
use entities::schema::{Schema, Table};
use entities::{
    Cells, CounterCell, Cursor, Entity, EntryKey, EntrySelection, GroupId, Member, MemberId,
    MeterCell, Nanos, Reader, RegisterCell, Selection, TableAction, TableEntry, ValueSet,
};
use ir::ExternId;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

type Visit<'a> = dyn FnMut(Option<Entity>) -> ControlFlow<()> + 'a;

/// A read at a point in time. It sees what packets write meanwhile.
#[derive(Debug)]
pub(super) struct View {
    pub(super) schema: Arc<Schema>,
    pub(super) binding: Arc<Binding>,
    pub(super) shared: Arc<Shared>,
    pub(super) now: Nanos,
}

impl Reader for View {
    fn read(
        &self,
        selection: &Selection,
        cursor: &mut Cursor,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let mut held = self.shared.running();
        let Some(running) = held.get() else { return ControlFlow::Continue(()) };
        let (switch, books) = running.parts();
        let Self { schema, binding, .. } = self;
        let array = |id: Option<&ExternId>| id.and_then(|id| switch.state.externs.get(id.index()));
        let nothing = ControlFlow::Continue(());
        match selection {
            Selection::Entries(selection) => {
                let Some(table) = schema.tables().get(selection.table) else { return nothing };
                let Some(bound) = binding.tables.get(&table.id) else { return nothing };
                let tables = Tables { table, bound, switch, books, now: self.now };
                if selection.is_default {
                    return once(cursor, || visit(tables.default_entry(selection)));
                }
                tables.entries(selection, cursor, visit)
            }
            Selection::Members(id, wanted) => {
                let found = array(binding.profiles.get(id));
                let Some(ExternState::Profile(profile)) = found else { return nothing };
                by_id(&profile.members, wanted.map(|id| id.0), cursor, |member, call| {
                    let actions = schema.action_profiles().get(*id).into_iter();
                    let mut tables = actions.flat_map(|profile| &profile.tables);
                    let action = tables
                        .find_map(|table| shown_call(&binding.tables.get(table)?.actions, call));
                    let action = action.or_else(|| {
                        let mut tables = binding.tables.values();
                        tables.find_map(|table| shown_call(&table.actions, call))
                    });
                    visit(Some(Entity::Member(Member {
                        profile: *id,
                        id: MemberId(member),
                        action,
                    })))
                })
            }
            Selection::Groups(id, wanted) => {
                let Some(book) = books.profiles.get(id) else { return nothing };
                let groups = book.groups.iter().map(|(id, group)| (id.0, group));
                by_id(&groups.collect(), wanted.map(|id: GroupId| id.0), cursor, |_, group| {
                    visit(Some(Entity::Group((*group).clone())))
                })
            }
            Selection::Counters(id, wanted) => {
                let Some(ExternState::Counter(found)) = array(binding.counters.get(id)) else {
                    return nothing;
                };
                cells(&found.values, found.size, *wanted, cursor, |index, data| {
                    let (index, data) = (Some(index), data.copied().unwrap_or_default());
                    visit(Some(Entity::Counter(CounterCell { id: *id, index, data })))
                })
            }
            Selection::Meters(id, wanted) => {
                let Some(ExternState::Meter(found)) = array(binding.meters.get(id)) else {
                    return nothing;
                };
                cells(&found.meters, found.size, *wanted, cursor, |index, meter| {
                    let config = shown_meter_config(meter.and_then(Meter::config));
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
                cells(&found.values, found.size, *wanted, cursor, |index, value| {
                    let data = to_data(&declared.data, value.unwrap_or(&found.initial));
                    let index = Some(index);
                    visit(data.map(|data| Entity::Register(RegisterCell { id: *id, index, data })))
                })
            }
            Selection::MulticastGroups(wanted) => {
                let groups = books.multicast_groups.iter().map(|(id, group)| (id.0, group));
                by_id(&groups.collect(), wanted.map(|id| id.0), cursor, |_, group| {
                    visit(Some(Entity::MulticastGroup((*group).clone())))
                })
            }
            Selection::CloneSessions(wanted) => {
                let sessions = books.clone_sessions.iter().map(|(id, session)| (id.0, session));
                by_id(&sessions.collect(), wanted.map(|id| id.0), cursor, |_, session| {
                    visit(Some(Entity::CloneSession((*session).clone())))
                })
            }
            Selection::ValueSet(id) => once(cursor, || {
                let empty = || ValueSet { id: *id, members: Box::default() };
                let set = books.value_sets.get(id).cloned().unwrap_or_else(empty);
                visit(Some(Entity::ValueSet(set)))
            }),
            Selection::Digest(id) => once(cursor, || {
                visit(books.digests.get(id).map(|config| Entity::Digest(*id, *config)))
            }),
        }
    }
}

/// One table and what is known of it.
struct Tables<'a> {
    table: &'a Table,
    bound: &'a BoundTable,
    switch: &'a mut Switch,
    books: &'a Books,
    now: Nanos,
}

impl Tables<'_> {
    fn entries(
        mut self,
        selection: &EntrySelection,
        cursor: &mut Cursor,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let from = EntryHandle(next(cursor).max(1));
        let id = self.bound.id.index();
        let Some(state) = self.switch.state.tables.get(id) else {
            return ControlFlow::Continue(());
        };
        // One by one, because counters are asked for by handle; to go on is a search in a tree.
        let mut following = state.following(from);
        while let Some(handle) = following {
            *cursor = Cursor::Number(handle.0.saturating_add(1));
            visit(self.entry(selection, handle))?;
            let state = self.switch.state.tables.get(id);
            let next = EntryHandle(handle.0.saturating_add(1));
            following = state.and_then(|state| state.following(next));
        }
        ControlFlow::Continue(())
    }

    fn entry(&mut self, selection: &EntrySelection, handle: EntryHandle) -> Option<Entity> {
        let stored = self.switch.state.tables.get(self.bound.id.index())?.get(handle)?;
        let entry = &stored.entry;
        let fields = &self.table.match_fields;
        let key = match_key(fields, self.bound, &entry.matches, entry.priority)?;
        if !selection.selects_key(&key) {
            return None;
        }
        let note = self.books.note(self.table.id, &key);
        let action = match &entry.action {
            EntryAction::Action(call) => {
                shown_call(&self.bound.actions, call).map(TableAction::Call)
            }
            EntryAction::Member(id) => Some(TableAction::Member(MemberId(*id))),
            EntryAction::Group(id) => Some(TableAction::Group(GroupId(*id))),
            EntryAction::OneShot(_) => note.one_shot.clone().map(TableAction::OneShot),
        };
        let idle = entry.idle_timeout.unwrap_or_default();
        let elapsed = Duration::from_nanos(self.now.0).saturating_sub(stored.restarted);
        let since_last_hit = self.table.idle_timeout.then_some(elapsed);
        let shown = TableEntry {
            action,
            is_const: stored.is_const,
            idle_timeout_ns: nanoseconds(idle),
            since_last_hit_ns: since_last_hit.map(nanoseconds),
            ..TableEntry::new(self.table.id, EntryKey::Match(key))
        };
        self.with_note(selection, handle, shown, note)
    }

    fn default_entry(mut self, selection: &EntrySelection) -> Option<Entity> {
        let state = self.switch.state.tables.get(self.bound.id.index())?;
        let action = shown_call(&self.bound.actions, &state.default_action);
        let shown = TableEntry {
            action: action.map(TableAction::Call),
            is_const: self.table.default_is_const,
            ..TableEntry::new(self.table.id, EntryKey::Default)
        };
        let note = self.books.defaults.get(&self.table.id).cloned().unwrap_or_default();
        self.with_note(selection, EntryHandle::DEFAULT, shown, note)
    }

    /// The entry with its direct resources and what its controller keeps with it, if selected.
    fn with_note(
        &mut self,
        selection: &EntrySelection,
        handle: EntryHandle,
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
        let state = self.switch.state.tables.get_mut(self.bound.id.index())?;
        let counter = self.bound.counter.and_then(|id| state.counter(handle, id).copied());
        let meter = self.bound.meter.and_then(|id| state.meter(handle, id)?.config());
        Some(Entity::Entry(TableEntry {
            controller_metadata: note.controller_metadata,
            metadata: note.metadata,
            counter,
            meter: shown_meter_config(meter),
            ..shown
        }))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn once(cursor: &mut Cursor, visit: impl FnOnce() -> ControlFlow<()>) -> ControlFlow<()> {
    if *cursor != Cursor::Start {
        return ControlFlow::Continue(());
    }
    *cursor = Cursor::Number(1);
    visit()
}

fn next(cursor: &Cursor) -> u64 {
    match cursor {
        Cursor::Number(number) => *number,
        _ => 0,
    }
}

fn by_id<V>(
    known: &BTreeMap<u32, V>,
    wanted: Option<u32>,
    cursor: &mut Cursor,
    mut visit: impl FnMut(u32, &V) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Ok(from) = u32::try_from(next(cursor)) else { return ControlFlow::Continue(()) };
    for (id, value) in known.range(from..) {
        if wanted.is_none_or(|wanted| wanted == *id) {
            *cursor = Cursor::Number(u64::from(*id) + 1);
            visit(*id, value)?;
        }
    }
    ControlFlow::Continue(())
}

fn cells<T>(
    written: &BTreeMap<u64, T>,
    size: u64,
    wanted: Cells,
    cursor: &mut Cursor,
    mut visit: impl FnMut(u64, Option<&T>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    match wanted {
        Cells::One(index) => once(cursor, || visit(index, written.get(&index))),
        Cells::All => {
            for index in next(cursor)..size {
                *cursor = Cursor::Number(index + 1);
                visit(index, written.get(&index))?;
            }
            ControlFlow::Continue(())
        }
        Cells::Written => {
            for (index, value) in written.range(next(cursor)..) {
                *cursor = Cursor::Number(index.saturating_add(1));
                visit(*index, Some(value))?;
            }
            ControlFlow::Continue(())
        }
    }
}
