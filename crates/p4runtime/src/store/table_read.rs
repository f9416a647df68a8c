//! Reading table entries and their direct resources (specification 1.5, "Wildcard Reads" and
//! "Direct Resources").

use std::ops::{Bound, ControlFlow};

use bytes::Bytes;

use super::cells::meter_counters;
use super::reading::{Place, Visit};
use super::state::{Entry, Key, State, Target, decode};
use super::table::{check_default_idle, check_default_key, find, initial_default};
use super::{Nanos, matching};
use crate::p4info::{ActionId, Schema, Table, TableId};
use crate::proto::v1;
use crate::proto::v1::entity::Entity;
use crate::proto::v1::table_action::Type as ActionType;
use crate::status::EntityError;

/// The entries, or their direct resources, that a request selects.
#[derive(Debug)]
pub(super) struct Selected {
    /// `None` for all of them.
    table: Option<TableId>,
    filter: Filter,
    what: What,
    /// Whether the request names an entry that has to be there.
    must_find: bool,
}

/// What is answered of an entry.
#[derive(Debug)]
enum What {
    Entry(Shown),
    Counter,
    Meter { counter_data: bool },
}

/// Parts of an entry that are answered only when they are asked for.
#[derive(Debug)]
struct Shown {
    meter_config: bool,
    counter_data: bool,
    meter_counter_data: bool,
    time_since_last_hit: bool,
}

impl Selected {
    /// Table entries.
    ///
    /// A request for all tables (identifier 0) may also ask for default entries and select by
    /// priority and metadata, which has a meaning in every table; match fields and actions have
    /// not.
    pub(super) fn entries(schema: &Schema, request: &v1::TableEntry) -> Result<Self, EntityError> {
        let what = What::Entry(Shown {
            meter_config: request.meter_config.is_some(),
            counter_data: request.counter_data.is_some(),
            meter_counter_data: request.meter_counter_data.is_some(),
            time_since_last_hit: request.time_since_last_hit.is_some(),
        });
        if request.table_id == 0 {
            if !request.r#match.is_empty() || request.action.is_some() {
                return Err(EntityError::invalid(
                    "match fields and actions cannot be selected without a table",
                ));
            }
            check_default_idle(request)?;
            let filter = Filter::by_metadata(request);
            return Ok(Self { table: None, filter, what, must_find: false });
        }
        let table = find(schema, request.table_id)?;
        let filter = Filter::new(schema, table, request)
            .map_err(|error| error.within(format_args!("table '{}'", table.name)))?;
        Ok(Self { table: Some(table.id), filter, what, must_find: false })
    }

    /// Direct counters.
    pub(super) fn direct_counters(
        schema: &Schema,
        request: &v1::DirectCounterEntry,
    ) -> Result<Self, EntityError> {
        Self::direct(schema, request.table_entry.as_ref(), "counter", What::Counter)
    }

    /// Direct meters.
    pub(super) fn direct_meters(
        schema: &Schema,
        request: &v1::DirectMeterEntry,
    ) -> Result<Self, EntityError> {
        let what = What::Meter { counter_data: request.counter_data.is_some() };
        Self::direct(schema, request.table_entry.as_ref(), "meter", what)
    }

    fn direct(
        schema: &Schema,
        request: Option<&v1::TableEntry>,
        resource: &str,
        what: What,
    ) -> Result<Self, EntityError> {
        let everything = v1::TableEntry::default();
        let request = request.unwrap_or(&everything);
        if request.table_id == 0 {
            let filter = Filter { default: request.is_default_action, ..Filter::default() };
            return Ok(Self { table: None, filter, what, must_find: false });
        }
        let table = find(schema, request.table_id)?;
        let place = || format!("table '{}'", table.name);
        if !what.is_of(table) {
            return Err(EntityError::invalid(format!(
                "{}: the table has no direct {resource}",
                place()
            )));
        }
        // Only the key selects; whatever else the entry carries is ignored.
        let request = v1::TableEntry {
            table_id: request.table_id,
            r#match: request.r#match.clone(),
            priority: request.priority,
            is_default_action: request.is_default_action,
            ..v1::TableEntry::default()
        };
        let filter = Filter::new(schema, table, &request).map_err(|error| error.within(place()))?;
        let must_find = !request.r#match.is_empty() || request.priority != 0;
        Ok(Self { table: Some(table.id), filter, what, must_find })
    }

    pub(super) fn visit(
        &self,
        schema: &Schema,
        state: &State,
        now: Nanos,
        place: &mut Place,
        visit: &mut Visit<'_>,
    ) -> ControlFlow<()> {
        let selected = |table: &&Table| self.table.is_none_or(|id| id == table.id);
        for table in schema.tables().iter().filter(selected).filter(|table| self.what.is_of(table))
        {
            self.filter.select(state, table, place, &mut |found| {
                visit(found.map(|(key, entry)| self.what.read(table, key, entry, now)))
            })?;
        }
        ControlFlow::Continue(())
    }

    /// The outcome when there was nothing to visit.
    pub(super) fn nothing_found(&self, schema: &Schema) -> Result<(), EntityError> {
        if !self.must_find {
            return Ok(());
        }
        let error = EntityError::not_found("there is no such entry");
        Err(match self.table.and_then(|table| schema.tables().get(table)) {
            Some(table) => error.within(format_args!("table '{}'", table.name)),
            None => error,
        })
    }
}

impl What {
    fn is_of(&self, table: &Table) -> bool {
        match self {
            Self::Entry(_) => true,
            Self::Counter => table.direct_counter.is_some(),
            Self::Meter { .. } => table.direct_meter.is_some(),
        }
    }

    fn read(&self, table: &Table, key: Option<&Key>, entry: &Entry, now: Nanos) -> Entity {
        match self {
            Self::Entry(shown) => Entity::TableEntry(entry_read(table, key, entry, shown, now)),
            Self::Counter => Entity::DirectCounterEntry(v1::DirectCounterEntry {
                table_entry: Some(key_read(table, key)),
                data: Some(entry.direct().counter),
            }),
            Self::Meter { counter_data } => Entity::DirectMeterEntry(v1::DirectMeterEntry {
                table_entry: Some(key_read(table, key)),
                config: entry.direct().meter,
                counter_data: counter_data.then(meter_counters),
            }),
        }
    }
}

/// An entry and its key, `None` for the default entry.
type Found<'a> = (Option<&'a Key>, &'a Entry);

/// What a request selects in one table.
#[derive(Debug, Default)]
struct Filter {
    default: bool,
    /// From [`matching::key_prefix`].
    fields: Option<Key>,
    priority: i32,
    action: Option<ActionId>,
    controller_metadata: u64,
    metadata: Bytes,
}

impl Filter {
    fn by_metadata(request: &v1::TableEntry) -> Self {
        Self {
            default: request.is_default_action,
            fields: None,
            priority: request.priority,
            action: None,
            controller_metadata: request.controller_metadata,
            metadata: request.metadata.clone(),
        }
    }

    fn new(schema: &Schema, table: &Table, request: &v1::TableEntry) -> Result<Self, EntityError> {
        if !table.idle_timeout
            && (request.idle_timeout_ns != 0 || request.time_since_last_hit.is_some())
        {
            return Err(EntityError::invalid(
                "idle_timeout_ns or time_since_last_hit is set, but the table has no idle timeouts",
            ));
        }
        let mut filter = Self::by_metadata(request);
        if request.is_default_action {
            check_default_key(request)?;
            check_default_idle(request)?;
        }
        if !request.r#match.is_empty() {
            filter.fields = Some(matching::key_prefix(table, &request.r#match)?);
        }
        filter.action = action_filter(schema, table, request.action.as_ref())?;
        Ok(filter)
    }

    /// Calls `visit` with every entry that is looked at, `None` if it is not selected.
    fn select(
        &self,
        state: &State,
        table: &Table,
        place: &mut Place,
        visit: &mut dyn FnMut(Option<Found<'_>>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !place.enter(table.id.0) {
            return ControlFlow::Continue(());
        }
        let current = state.tables.get(&table.id);
        if self.default {
            let initial;
            let entry = match current.and_then(|current| current.default.as_deref()) {
                Some(entry) => entry,
                None => {
                    initial = initial_default(table);
                    &initial
                }
            };
            place.pass(table.id.0);
            return visit(self.accepts(entry).then_some((None, entry)));
        }
        let Some(current) = current else { return ControlFlow::Continue(()) };
        let from = match place.after_key() {
            Some(key) => Bound::Excluded(key),
            None => self.fields.as_ref().map_or(Bound::Unbounded, Bound::Included),
        };
        let candidates =
            current.entries.range::<Key, _>((from, Bound::Unbounded)).take_while(|(key, _)| {
                self.fields.as_ref().is_none_or(|fields| key.0.starts_with(&fields.0))
            });
        let mut stopped = None;
        for (key, entry) in candidates {
            let fields = self.fields.as_ref().is_none_or(|fields| matching::is_prefix(fields, key));
            let priority = self.priority == 0 || key.decode().priority == self.priority;
            let selected = fields && priority && self.accepts(entry);
            if visit(selected.then_some((Some(key), entry))).is_break() {
                stopped = Some(key);
                break;
            }
        }
        match stopped {
            Some(key) => {
                place.pass_key(key);
                ControlFlow::Break(())
            }
            None => {
                place.pass(table.id.0);
                ControlFlow::Continue(())
            }
        }
    }

    /// Whether everything but the key is as selected.
    fn accepts(&self, entry: &Entry) -> bool {
        let action = self.action.is_none_or(|wanted| match &entry.target {
            Target::Action(action) => decode::<v1::Action>(action).action_id == wanted.0,
            _ => false,
        });
        action
            && (self.controller_metadata == 0
                || self.controller_metadata == entry.controller_metadata)
            && (self.metadata.is_empty() || *self.metadata == *entry.metadata)
    }
}

/// The action to select by: its identifier only, and only in direct tables.
fn action_filter(
    schema: &Schema,
    table: &Table,
    action: Option<&v1::TableAction>,
) -> Result<Option<ActionId>, EntityError> {
    match action.and_then(|action| action.r#type.as_ref()) {
        None => Ok(None),
        Some(ActionType::Action(action)) if table.implementation.is_none() => {
            let id = ActionId(action.action_id);
            if schema.actions().get(id).is_none() || table.action(id).is_none() {
                return Err(EntityError::invalid(format!(
                    "the table has no action {id} to select by"
                )));
            }
            Ok(Some(id))
        }
        Some(ActionType::Action(_)) => Err(EntityError::invalid(
            "the table is indirect: its entries cannot be selected by an action",
        )),
        // Not a filter ("Wildcard Reads"). As in BMv2 it is no error either, so that a client may
        // read an entry with the message that it wrote it with, as p4runtime-shell does.
        Some(_) => Ok(None),
    }
}

/// The key of an entry as a response carries it; `None` is the default entry.
fn key_read(table: &Table, key: Option<&Key>) -> v1::TableEntry {
    v1::TableEntry {
        table_id: table.id.0,
        is_default_action: key.is_none(),
        ..key.map(Key::decode).unwrap_or_default()
    }
}

/// An entry as a response carries it.
fn entry_read(
    table: &Table,
    key: Option<&Key>,
    entry: &Entry,
    shown: &Shown,
    now: Nanos,
) -> v1::TableEntry {
    let direct = entry.direct();
    let has_counter = table.direct_counter.is_some();
    let has_meter = table.direct_meter.is_some();
    v1::TableEntry {
        action: action_read(&entry.target),
        controller_metadata: entry.controller_metadata,
        metadata: Bytes::copy_from_slice(&entry.metadata),
        is_const: if key.is_some() { entry.is_const } else { table.default_is_const },
        meter_config: direct.meter.filter(|_| shown.meter_config),
        counter_data: (shown.counter_data && has_counter).then_some(direct.counter),
        meter_counter_data: (shown.meter_counter_data && has_meter).then(meter_counters),
        idle_timeout_ns: entry
            .idle
            .as_ref()
            .map_or(0, |idle| i64::try_from(idle.timeout_ns).unwrap_or(i64::MAX)),
        time_since_last_hit: entry.idle.as_ref().filter(|_| shown.time_since_last_hit).map(
            |idle| v1::table_entry::IdleTimeout {
                elapsed_ns: i64::try_from(now.since(idle.last_hit)).unwrap_or(i64::MAX),
            },
        ),
        ..key_read(table, key)
    }
}

fn action_read(target: &Target) -> Option<v1::TableAction> {
    let action = match target {
        Target::Nothing => return None,
        Target::Action(action) => ActionType::Action(decode(action)),
        Target::Member(id) => ActionType::ActionProfileMemberId(*id),
        Target::Group(id) => ActionType::ActionProfileGroupId(*id),
        Target::OneShot(one_shot) => ActionType::ActionProfileActionSet(decode(&one_shot.set)),
    };
    Some(v1::TableAction { r#type: Some(action) })
}
