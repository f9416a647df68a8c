//! Read requests that select only some entities: by key, by action, by priority or by metadata, or
//! from all tables, profiles or arrays at once (9.1.6, 9.2 to 9.4, 13.2). They are derived from an
//! update, so that a repeated sequence sends the same ones.

use protos::v1::{self, entity::Entity as Kind, table_action};
use tonic::Code;

use super::generate::id_of;
use super::normal::{normal, only_key};
use super::scope::Scope;
use super::{Class, Mismatch, Run};
use crate::channel::{name, read_code};
use crate::entities::{clone_session, multicast_group};

/// The largest number of cells that are read at once from all counters or all meters.
const MOST_CELLS: i64 = 4096;

/// A Read request, and the entities that it must return.
struct Query {
    selection: v1::Entity,
    /// A second part of the state that the request selects as a whole.
    and: Option<Scope>,
    /// The parts of the state from which the expected entities come. If the request selects from
    /// all parts, it may return entities of other parts too.
    from: Vec<Scope>,
    is_of_all: bool,
    wanted: Vec<v1::Entity>,
}

impl Run<'_> {
    /// Sends the Read requests that fit an accepted update, and compares the returned entities with
    /// the model.
    pub(super) fn query(&mut self, update: &v1::Update) -> Result<(), Mismatch> {
        let Some(entity) = &update.entity else { return Ok(()) };
        let Some(scope) = Scope::of(entity) else { return Ok(()) };
        let queries = match entity.entity.as_ref() {
            Some(Kind::TableEntry(entry)) if !entry.is_default_action => {
                self.direct_counter(entry)?;
                self.direct_meter(entry)?;
                self.of_entry(scope, entry)
            }
            Some(Kind::DirectCounterEntry(v1::DirectCounterEntry {
                table_entry: Some(entry),
                ..
            })) => return self.direct_counter(entry),
            Some(Kind::DirectMeterEntry(v1::DirectMeterEntry {
                table_entry: Some(entry), ..
            })) => return self.direct_meter(entry),
            Some(Kind::PacketReplicationEngineEntry(_)) => {
                let id = id_of(entity);
                let is_it = |other: &Kind| id_of(&v1::Entity { entity: Some(other.clone()) }) == id;
                let key = match scope {
                    Scope::CloneSessions => clone_session(id, Vec::new(), 0),
                    _ => multicast_group(id, Vec::new()),
                };
                vec![self.select(scope, key, is_it)]
            }
            Some(Kind::ActionProfileMember(member)) => {
                let key = v1::ActionProfileMember { action: None, ..member.clone() };
                let is_it = |other: &Kind| {
                    matches!(other, Kind::ActionProfileMember(other)
                        if other.member_id == member.member_id)
                };
                let of_all = v1::ActionProfileMember::default().into();
                vec![
                    self.select(scope, key.into(), is_it),
                    self.select_all(of_all, |scope| matches!(scope, Scope::Members(_))),
                ]
            }
            Some(Kind::ActionProfileGroup(group)) => {
                let key = v1::ActionProfileGroup {
                    action_profile_id: group.action_profile_id,
                    group_id: group.group_id,
                    ..Default::default()
                };
                let is_it = |other: &Kind| {
                    matches!(other, Kind::ActionProfileGroup(other)
                        if other.group_id == group.group_id)
                };
                let of_all = v1::ActionProfileGroup::default().into();
                vec![
                    self.select(scope, key.into(), is_it),
                    self.select_all(of_all, |scope| matches!(scope, Scope::Groups(_))),
                ]
            }
            Some(Kind::CounterEntry(_)) if self.is_readable_at_once(scope) => {
                let of_all = v1::CounterEntry::default().into();
                vec![self.select_all(of_all, |scope| matches!(scope, Scope::Counter(_)))]
            }
            Some(Kind::MeterEntry(_)) if self.is_readable_at_once(scope) => {
                let of_all = v1::MeterEntry::default().into();
                vec![self.select_all(of_all, |scope| matches!(scope, Scope::Meter(_)))]
            }
            _ => Vec::new(),
        };
        for (place, mut query) in queries.into_iter().enumerate() {
            // A Read with several entities returns what each of them selects (13.2).
            if place == 0 && !query.is_of_all {
                query.and = self.next_part(scope);
            }
            self.ask(query)?;
        }
        Ok(())
    }

    /// Returns the part of the state that follows `scope`, if there is one and it is not an array
    /// of cells.
    fn next_part(&self, scope: Scope) -> Option<Scope> {
        let place = self.scopes.iter().position(|other| *other == scope)?;
        let next = *self.scopes.get((place + 1) % self.scopes.len())?;
        (next != scope && !next.is_array()).then_some(next)
    }

    /// Returns Read requests that select an entry by its different properties.
    fn of_entry(&self, scope: Scope, entry: &v1::TableEntry) -> Vec<Query> {
        let table_id = entry.table_id;
        let by = |selection: v1::TableEntry| v1::TableEntry { table_id, ..selection }.into();
        let mut queries = Vec::new();
        let key = only_key(entry);
        // Without a match, all entries of the priority are selected.
        if !key.r#match.is_empty() {
            let selection = by(v1::TableEntry {
                r#match: entry.r#match.clone(),
                priority: entry.priority,
                ..Default::default()
            });
            queries.push(self.select_entries(scope, selection, |other| only_key(other) == key));
        }
        if entry.priority != 0 {
            let selection = by(v1::TableEntry { priority: entry.priority, ..Default::default() });
            let has_it = |other: &v1::TableEntry| other.priority == entry.priority;
            queries.push(self.select_entries(scope, selection, has_it));
        }
        if !entry.metadata.is_empty() {
            let metadata = entry.metadata.clone();
            let selection = by(v1::TableEntry { metadata, ..Default::default() });
            let has_it = |other: &v1::TableEntry| other.metadata == entry.metadata;
            queries.push(self.select_entries(scope, selection, has_it));
        }
        // A deletion may name any action.
        let table = self.bench.subject.tables.iter().find(|table| table.id == table_id);
        let is_known = |id: &u32| {
            table.is_some_and(|table| table.all_actions().any(|action| action.id == *id))
        };
        if let Some(action_id) = action_of(entry).filter(is_known) {
            let action = v1::Action { action_id, params: Vec::new() };
            let action = v1::TableAction { r#type: Some(table_action::Type::Action(action)) };
            let selection = by(v1::TableEntry { action: Some(action), ..Default::default() });
            let has_it = |other: &v1::TableEntry| action_of(other) == Some(action_id);
            queries.push(self.select_entries(scope, selection, has_it));
        }
        let mut all = self.select_all(v1::TableEntry::default().into(), |scope| {
            matches!(scope, Scope::Entries(_))
        });
        all.wanted = all.wanted.into_iter().map(without_resources).collect();
        queries.push(all);
        queries
    }

    fn select_entries(
        &self,
        scope: Scope,
        selection: v1::Entity,
        is_selected: impl Fn(&v1::TableEntry) -> bool,
    ) -> Query {
        let is_selected =
            |kind: &Kind| matches!(kind, Kind::TableEntry(entry) if is_selected(entry));
        let mut query = self.select(scope, selection, is_selected);
        query.wanted = query.wanted.into_iter().map(without_resources).collect();
        query
    }

    /// Returns a Read request for those entities of a part that satisfy `is_selected`.
    fn select(
        &self,
        scope: Scope,
        selection: v1::Entity,
        is_selected: impl Fn(&Kind) -> bool,
    ) -> Query {
        let mut wanted = self.wanted(scope);
        wanted.retain(|entity| entity.entity.as_ref().is_some_and(&is_selected));
        Query { selection, and: None, from: vec![scope], is_of_all: false, wanted }
    }

    /// Returns a Read request for all parts of the state that satisfy `is_of_kind`.
    fn select_all(&self, selection: v1::Entity, is_of_kind: fn(&Scope) -> bool) -> Query {
        let from: Vec<Scope> = self.scopes.iter().copied().filter(is_of_kind).collect();
        let wanted = from.iter().flat_map(|scope| self.wanted(*scope)).collect();
        Query { selection, and: None, from, is_of_all: true, wanted }
    }

    /// Returns whether all arrays of the same kind as `scope` can be read at once and compared:
    /// they have few enough cells, and the model contains all of these.
    fn is_readable_at_once(&self, scope: Scope) -> bool {
        let subject = &self.bench.subject;
        let (cells, is_known) = match scope {
            Scope::Counter(_) => (
                subject.counters.iter().map(|one| one.size).sum::<i64>(),
                subject.counters.iter().all(|one| Scope::Counter(one.id).cells(subject).is_none()),
            ),
            Scope::Meter(_) => (
                subject.meters.iter().map(|one| one.size).sum(),
                subject.meters.iter().all(|one| Scope::Meter(one.id).cells(subject).is_none()),
            ),
            _ => (0, false),
        };
        is_known && cells <= MOST_CELLS
    }

    /// Sends a Read request, and compares the returned entities with the expected ones.
    fn ask(&mut self, query: Query) -> Result<(), Mismatch> {
        let of_query = |mismatch: Mismatch| {
            let read = protos::text("p4.v1.Entity", &query.selection);
            Mismatch { why: format!("a Read of {{{read}}}: {}", mismatch.why), ..mismatch }
        };
        let mut selections = vec![query.selection.clone()];
        selections.extend(
            query.and.map(|part| part.selection(&self.bench.subject)).into_iter().flatten(),
        );
        let found = self.read(selections).map_err(of_query)?;
        let mut found: Vec<v1::Entity> = found.into_iter().map(normal).collect();
        if let Some(part) = query.and {
            let of_part = found.extract_if(.., |entity| Scope::of(entity) == Some(part)).collect();
            let of_part = self.seen(part, of_part);
            self.differs(of_part, self.wanted(part), part.name()).map_err(of_query)?;
        }
        let is_of_part = |entity: &v1::Entity| {
            !query.is_of_all || Scope::of(entity).is_some_and(|scope| query.from.contains(&scope))
        };
        found.retain(is_of_part);
        let what = query.from.first().map_or("entity", |scope| scope.name());
        self.differs(found, query.wanted.clone(), what).map_err(of_query)
    }

    /// Reads the direct meter of an entry. It exists exactly as long as the entry does (9.4.1).
    fn direct_meter(&mut self, entry: &v1::TableEntry) -> Result<(), Mismatch> {
        let subject = &self.bench.subject;
        let table = subject.tables.iter().find(|table| table.id == entry.table_id);
        let key = only_key(entry);
        let stored = self.model.entry_like(entry).and_then(|stored| stored.meter_config);
        let has_meter = table.is_some_and(|table| subject.marker(table).is_some());
        // Whether the action of the entry uses the meter is certain only if it is configured.
        let (true, Some(config), false) = (has_meter, stored, key.r#match.is_empty()) else {
            return Ok(());
        };
        let meter = |config| {
            let table_entry = Some(key.clone());
            v1::Entity::from(v1::DirectMeterEntry { table_entry, config, counter_data: None })
        };
        let query = Query {
            selection: meter(None),
            and: None,
            from: vec![Scope::Entries(entry.table_id)],
            is_of_all: false,
            wanted: vec![normal(meter(Some(config)))],
        };
        self.ask(query)
    }

    /// Reads the direct counter of an entry. It exists exactly as long as the entry does (9.3.1).
    fn direct_counter(&mut self, entry: &v1::TableEntry) -> Result<(), Mismatch> {
        let subject = &self.bench.subject;
        let table = subject.tables.iter().find(|table| table.id == entry.table_id);
        if self.is_disturbed || table.is_none_or(|table| subject.counts(table).is_none()) {
            return Ok(());
        }
        let key = only_key(entry);
        // Without a match, the counters of all entries may be selected.
        if key.r#match.is_empty() {
            return Ok(());
        }
        let counter = |data| v1::DirectCounterEntry { table_entry: Some(key.clone()), data };
        let selection: v1::Entity = counter(None).into();
        let request = self.bench.read_request(vec![selection.clone()]);
        let answer = self.bench.channel.read(request);
        self.bench.take_exchanges();
        let answer = answer.map_err(|lost| Mismatch { class: Class::Connection, why: lost.0 })?;
        let why = match (self.model.entry_like(entry), answer) {
            (None, Err(status)) if read_code(&status) == Code::NotFound => return Ok(()),
            (None, Err(status)) => {
                let code = name(read_code(&status));
                format!("its Read was answered {code} where NOT_FOUND is demanded")
            }
            (None, Ok(_)) => "its Read was answered OK where NOT_FOUND is demanded".to_owned(),
            (Some(stored), Ok(found)) => {
                let found = found.into_iter().map(normal).collect();
                let wanted = normal(counter(stored.counter_data).into());
                return self.differs(found, vec![wanted], "direct counter");
            }
            // The action of the entry may not use the counter.
            (Some(stored), Err(_)) if stored.counter_data.is_none() => return Ok(()),
            (Some(_), Err(status)) => {
                format!("its Read was refused with {}", name(read_code(&status)))
            }
        };
        let text = protos::text("p4.v1.Entity", &selection);
        Err(Mismatch { class: Class::State, why: format!("the counter {{{text}}}: {why}") })
    }
}

/// Returns the identifier of the action that an entry contains; `None` if the entry refers to
/// members or groups.
fn action_of(entry: &v1::TableEntry) -> Option<u32> {
    match entry.action.as_ref()?.r#type.as_ref()? {
        table_action::Type::Action(action) => Some(action.action_id),
        table_action::Type::ActionProfileMemberId(_)
        | table_action::Type::ActionProfileGroupId(_)
        | table_action::Type::ActionProfileActionSet(_) => None,
    }
}

/// Removes the direct counter and meter from an entry, which a Read request returns only if it asks
/// for them (9.1.7).
fn without_resources(entity: v1::Entity) -> v1::Entity {
    match entity.entity {
        Some(Kind::TableEntry(entry)) => {
            v1::TableEntry { counter_data: None, meter_config: None, ..entry }.into()
        }
        entity => v1::Entity { entity },
    }
}
