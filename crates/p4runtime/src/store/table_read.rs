//! Reading table entries and their direct resources (specification 1.5, "Wildcard Reads" and
//! "Direct Resources").

use std::ops::Bound;

use bytes::Bytes;

use super::cells::meter_counters;
use super::state::{Entry, Key, State, Target, decode};
use super::table::{check_default_idle, check_default_key, find, initial_default};
use super::{Nanos, matching};
use crate::p4info::{ActionId, Schema, Table};
use crate::proto::v1;
use crate::proto::v1::table_action::Type as ActionType;
use crate::status::EntityError;

/// Calls `visit` with the entries that `request` selects.
///
/// A request for all tables (identifier 0) may also ask for default entries and select by
/// priority and metadata, which has a meaning in every table; match fields and actions have not.
pub(super) fn entries(
    schema: &Schema,
    state: &State,
    request: &v1::TableEntry,
    now: Nanos,
    visit: &mut dyn FnMut(v1::TableEntry),
) -> Result<(), EntityError> {
    if request.table_id == 0 {
        if !request.r#match.is_empty() || request.action.is_some() {
            return Err(EntityError::invalid(
                "match fields and actions cannot be selected without a table",
            ));
        }
        check_default_idle(request)?;
        let filter = Filter::by_metadata(request);
        for table in schema.tables().iter() {
            filter.select(state, table, |key, entry| {
                visit(entry_read(table, key, entry, request, now))
            });
        }
        return Ok(());
    }
    let table = find(schema, request.table_id)?;
    let filter = Filter::new(schema, table, request)
        .map_err(|error| error.within(format_args!("table '{}'", table.name)))?;
    filter.select(state, table, |key, entry| visit(entry_read(table, key, entry, request, now)));
    Ok(())
}

/// Calls `visit` with the direct counters that `request` selects.
pub(super) fn direct_counters(
    schema: &Schema,
    state: &State,
    request: &v1::DirectCounterEntry,
    visit: &mut dyn FnMut(v1::DirectCounterEntry),
) -> Result<(), EntityError> {
    let has_counter = |table: &Table| table.direct_counter.is_some();
    direct(schema, state, request.table_entry.as_ref(), ("counter", has_counter), |key, entry| {
        visit(v1::DirectCounterEntry {
            table_entry: Some(key),
            data: Some(entry.direct().counter),
        });
    })
}

/// Calls `visit` with the direct meters that `request` selects.
pub(super) fn direct_meters(
    schema: &Schema,
    state: &State,
    request: &v1::DirectMeterEntry,
    visit: &mut dyn FnMut(v1::DirectMeterEntry),
) -> Result<(), EntityError> {
    let has_meter = |table: &Table| table.direct_meter.is_some();
    let counter_data = request.counter_data.is_some().then(meter_counters);
    direct(schema, state, request.table_entry.as_ref(), ("meter", has_meter), |key, entry| {
        visit(v1::DirectMeterEntry {
            table_entry: Some(key),
            config: entry.direct().meter,
            counter_data,
        });
    })
}

/// Calls `visit` with the keys and entries that a request for direct resources selects.
fn direct(
    schema: &Schema,
    state: &State,
    request: Option<&v1::TableEntry>,
    (resource, has_resource): (&str, fn(&Table) -> bool),
    mut visit: impl FnMut(v1::TableEntry, &Entry),
) -> Result<(), EntityError> {
    let everything = v1::TableEntry::default();
    let request = request.unwrap_or(&everything);
    if request.table_id == 0 {
        let filter = Filter { default: request.is_default_action, ..Filter::default() };
        for table in schema.tables().iter().filter(|table| has_resource(table)) {
            filter.select(state, table, |key, entry| visit(key_read(table, key), entry));
        }
        return Ok(());
    }
    let table = find(schema, request.table_id)?;
    let place = || format!("table '{}'", table.name);
    if !has_resource(table) {
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
    let mut found = false;
    filter.select(state, table, |key, entry| {
        found = true;
        visit(key_read(table, key), entry);
    });
    let one = !request.r#match.is_empty() || request.priority != 0;
    if one && !found {
        return Err(EntityError::not_found(format!("{}: there is no such entry", place())));
    }
    Ok(())
}

/// What a request selects in one table.
#[derive(Default)]
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

    fn select(&self, state: &State, table: &Table, mut visit: impl FnMut(Option<&Key>, &Entry)) {
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
            if self.accepts(entry) {
                visit(None, entry);
            }
            return;
        }
        let Some(current) = current else { return };
        let from = self.fields.as_ref().map_or(Bound::Unbounded, Bound::Included);
        let candidates =
            current.entries.range::<Key, _>((from, Bound::Unbounded)).take_while(|(key, _)| {
                self.fields.as_ref().is_none_or(|fields| key.0.starts_with(&fields.0))
            });
        for (key, entry) in candidates {
            let fields = self.fields.as_ref().is_none_or(|fields| matching::is_prefix(fields, key));
            let priority = self.priority == 0 || key.decode().priority == self.priority;
            if fields && priority && self.accepts(entry) {
                visit(Some(key), entry);
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

/// An entry as a response to `request` carries it.
fn entry_read(
    table: &Table,
    key: Option<&Key>,
    entry: &Entry,
    request: &v1::TableEntry,
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
        meter_config: request.meter_config.and(direct.meter),
        counter_data: (request.counter_data.is_some() && has_counter).then_some(direct.counter),
        meter_counter_data: (request.meter_counter_data.is_some() && has_meter)
            .then(meter_counters),
        idle_timeout_ns: entry
            .idle
            .as_ref()
            .map_or(0, |idle| i64::try_from(idle.timeout_ns).unwrap_or(i64::MAX)),
        time_since_last_hit: entry
            .idle
            .as_ref()
            .filter(|_| request.time_since_last_hit.is_some())
            .map(|idle| v1::table_entry::IdleTimeout {
                elapsed_ns: i64::try_from(now.since(idle.last_hit)).unwrap_or(i64::MAX),
            }),
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
