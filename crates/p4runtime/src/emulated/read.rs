//! Reads of the state as it was when the read began.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use entities::schema::{Schema, Table};
use entities::{
    Cells as Wanted, CloneSessionId, CounterCell, Cursor, Entity, EntryKey, EntrySelection,
    GroupId, MatchKey, Member, MemberId, MeterCell, MeterCounters, MulticastGroupId, Nanos, Reader,
    RegisterCell, Selection, TableAction, TableEntry, ValueSet,
};

use super::state::{Cells, Entry, State};

type Visit<'a> = dyn FnMut(Option<Entity>) -> ControlFlow<()> + 'a;

/// A snapshot of an emulated switch's state, which one read uses.
#[derive(Debug)]
pub(super) struct View {
    pub(super) schema: Arc<Schema>,
    pub(super) state: Arc<State>,
    pub(super) now: Nanos,
}

impl Reader for View {
    fn read(
        &self,
        selection: &Selection,
        cursor: &mut Cursor,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let Self { schema, state, .. } = self;
        match selection {
            Selection::Entries(selection) => match schema.tables().get(selection.table) {
                Some(table) if selection.is_default => {
                    cursor.once(|| visit(self.default_entry(table, selection)))
                }
                Some(table) => self.entries(table, selection, cursor, visit),
                None => ControlFlow::Continue(()),
            },
            Selection::Members(of, wanted) => {
                let profile = state.profiles.get(of);
                by_id(
                    profile.map(|one| &one.members),
                    *wanted,
                    Numbering { number: |id| id.0, identifier: MemberId },
                    cursor,
                    |id, member| {
                        let action = Some(member.action.clone());
                        visit(Some(Entity::Member(Member { profile: *of, id, action })))
                    },
                )
            }
            Selection::Groups(id, wanted) => {
                let profile = state.profiles.get(id);
                by_id(
                    profile.map(|one| &one.groups),
                    *wanted,
                    Numbering { number: |id| id.0, identifier: GroupId },
                    cursor,
                    |_, group| visit(Some(Entity::Group(group.group.clone()))),
                )
            }
            Selection::Counters(id, wanted) => {
                let size = schema.counters().get(*id).and_then(|array| array.size);
                let written = state.counters.get(id).map(|cells| &**cells);
                cells(written, size, *wanted, cursor, |index, data| {
                    let data = data.copied().unwrap_or_default();
                    visit(Some(Entity::Counter(CounterCell { id: *id, index, data })))
                })
            }
            Selection::Meters(id, wanted) => {
                let size = schema.meters().get(*id).and_then(|array| array.size);
                let written = state.meters.get(id).map(|cells| &**cells);
                cells(written, size, *wanted, cursor, |index, config| {
                    let config = config.copied().flatten();
                    // An emulated switch processes no packets, so the counters are zero.
                    let counters = Some(MeterCounters::default());
                    visit(Some(Entity::Meter(MeterCell { id: *id, index, config, counters })))
                })
            }
            Selection::Registers(id, wanted) => {
                let Some(array) = schema.registers().get(*id) else {
                    return ControlFlow::Continue(());
                };
                let initial = array.data.initial();
                let written = state.registers.get(id).map(|cells| &**cells);
                cells(written, array.size, *wanted, cursor, |index, data| {
                    let data = data.unwrap_or(&initial).clone();
                    visit(Some(Entity::Register(RegisterCell { id: *id, index, data })))
                })
            }
            Selection::MulticastGroups(wanted) => by_id(
                Some(&state.multicast_groups),
                *wanted,
                Numbering { number: |id| id.0, identifier: MulticastGroupId },
                cursor,
                |_, group| visit(Some(Entity::MulticastGroup(group.clone()))),
            ),
            Selection::CloneSessions(wanted) => by_id(
                Some(&state.clone_sessions),
                *wanted,
                Numbering { number: |id| id.0, identifier: CloneSessionId },
                cursor,
                |_, session| visit(Some(Entity::CloneSession(session.clone()))),
            ),
            // A value set always exists. One that was never written has no members.
            Selection::ValueSet(id) => cursor.once(|| {
                let written = state.value_sets.get(id).map(|set| ValueSet::clone(set));
                let empty = || ValueSet { id: *id, members: Box::default() };
                visit(Some(Entity::ValueSet(written.unwrap_or_else(empty))))
            }),
            Selection::Digest(id) => cursor
                .once(|| visit(state.digests.get(id).map(|config| Entity::Digest(*id, *config)))),
        }
    }
}

impl View {
    fn entries(
        &self,
        table: &Table,
        selection: &EntrySelection,
        cursor: &mut Cursor,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let Some(current) = self.state.tables.get(&table.id) else {
            return ControlFlow::Continue(());
        };
        let with_fields = |priority: u32| {
            let fields = selection.fields.clone()?;
            Some(MatchKey { fields, priority })
        };
        let from = match cursor {
            Cursor::After(key) => Bound::Excluded(key.clone()),
            _ => with_fields(0).map_or(Bound::Unbounded, Bound::Included),
        };
        let to = with_fields(u32::MAX).map_or(Bound::Unbounded, Bound::Included);
        for (key, entry) in current.entries.range((from, to)) {
            let selected = selection.selects_key(key) && accepts(selection, entry);
            let found = selected.then(|| {
                Entity::Entry(TableEntry {
                    is_const: entry.is_const,
                    ..self.shown(table, EntryKey::Match(key.clone()), entry)
                })
            });
            if visit(found).is_break() {
                *cursor = Cursor::After(key.clone());
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn default_entry(&self, table: &Table, selection: &EntrySelection) -> Option<Entity> {
        let initial;
        let current = self.state.tables.get(&table.id);
        let entry = match current.and_then(|current| current.default.as_deref()) {
            Some(entry) => entry,
            None => {
                initial = Entry::initial_default(table);
                &initial
            }
        };
        accepts(selection, entry).then(|| {
            Entity::Entry(TableEntry {
                is_const: table.default_is_const,
                ..self.shown(table, EntryKey::Default, entry)
            })
        })
    }

    fn shown(&self, table: &Table, key: EntryKey, entry: &Entry) -> TableEntry {
        let direct = entry.direct();
        let idle = entry.idle.as_deref();
        TableEntry {
            action: entry.action.clone(),
            controller_metadata: entry.controller_metadata,
            metadata: entry.metadata.clone(),
            idle_timeout_ns: idle.map_or(0, |idle| idle.timeout_ns),
            since_last_hit_ns: idle.map(|idle| self.now.since(idle.last_hit)),
            counter: table.direct_counter.map(|_| direct.counter),
            meter: direct.meter,
            // An emulated switch processes no packets, so the counters are zero.
            meter_counters: table.direct_meter.map(|_| MeterCounters::default()),
            ..TableEntry::new(table.id, key)
        }
    }
}

fn accepts(selection: &EntrySelection, entry: &Entry) -> bool {
    let action = match &entry.action {
        Some(TableAction::Call(call)) => Some(call.action),
        _ => None,
    };
    selection.selects_rest(action, entry.controller_metadata, &entry.metadata)
}

/// The functions that convert between the identifier of an object and a number.
struct Numbering<K> {
    number: fn(K) -> u32,
    identifier: fn(u32) -> K,
}

/// Visits the object with the identifier `wanted`, or all objects if `wanted` is `None`.
fn by_id<K: Copy + Ord, V>(
    known: Option<&BTreeMap<K, V>>,
    wanted: Option<K>,
    numbering: Numbering<K>,
    cursor: &mut Cursor,
    mut visit: impl FnMut(K, &V) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let from = cursor.number();
    let mut pass = |id: K, value: &V| {
        *cursor = Cursor::Number(u64::from((numbering.number)(id)) + 1);
        visit(id, value)
    };
    let Some(known) = known else { return ControlFlow::Continue(()) };
    if let Some(id) = wanted {
        return match known.get(&id) {
            Some(value) if from == 0 => pass(id, value),
            _ => ControlFlow::Continue(()),
        };
    }
    let Ok(from) = u32::try_from(from) else { return ControlFlow::Continue(()) };
    for (id, value) in known.range((numbering.identifier)(from)..) {
        pass(*id, value)?;
    }
    ControlFlow::Continue(())
}

/// Visits the selected cells of a counter, meter or register array.
fn cells<T>(
    written: Option<&Cells<T>>,
    size: Option<u64>,
    wanted: Wanted,
    cursor: &mut Cursor,
    mut visit: impl FnMut(Option<u64>, Option<&T>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let at = |index: u64| written.and_then(|cells| cells.get(index));
    match (wanted, size) {
        (Wanted::One(index), _) => cursor.once(|| visit(Some(index), at(index))),
        (Wanted::All, Some(size)) => {
            for index in cursor.number()..size {
                *cursor = Cursor::Number(index + 1);
                visit(Some(index), at(index))?;
            }
            ControlFlow::Continue(())
        }
        (Wanted::All | Wanted::Written, _) => {
            let Some(written) = written else { return ControlFlow::Continue(()) };
            if *cursor == Cursor::Start && wanted == Wanted::Written {
                *cursor = Cursor::Number(0);
                if let Some(whole) = written.whole() {
                    visit(None, Some(whole))?;
                }
            }
            for (index, value) in written.written(cursor.number()) {
                *cursor = Cursor::Number(index.saturating_add(1));
                visit(Some(index), Some(value))?;
            }
            ControlFlow::Continue(())
        }
    }
}
