//! Conversion of table entries with their direct resources, and of value sets (specification of
//! P4Runtime 1.5, "TableEntry", "Direct Resources" and "ValueSetEntry").

use std::collections::BTreeSet;

use bytes::Bytes;
use entities::schema::{Implementation, Schema, Table, TableId, ValueSetId};
use entities::{
    Entity, EntityError, EntryKey, GroupId, MemberId, TableAction, TableEntry, UpdateKind, ValueSet,
};

use super::action::{self, Usage};
use super::arrays;
use super::matching::{self, fields_message, fields_of, key_message, priority_message};
use super::{modify_only, profile};
use crate::proto::v1;
use crate::proto::v1::table_action::Type as ActionType;

/// Converts a table entry from a message, for an update of this kind.
pub(super) fn entry(
    schema: &Schema,
    kind: UpdateKind,
    entry: &v1::TableEntry,
) -> Result<TableEntry, EntityError> {
    let table = find(schema, entry.table_id)?;
    let checked = match kind {
        _ if entry.is_const => {
            Err(EntityError::invalid("is_const is set; a controller cannot write constant entries"))
        }
        _ if entry.is_default_action => default_entry(schema, table, kind, entry),
        UpdateKind::Modify => match_entry(schema, table, kind, entry).and_then(|checked| {
            if table.is_const && checked.action.is_some() {
                return Err(EntityError::denied("the action of a constant entry cannot be set"));
            }
            Ok(checked)
        }),
        _ if table.is_const => Err(EntityError::denied("the entries of the table are constant")),
        _ => match_entry(schema, table, kind, entry),
    };
    checked.map_err(|error| error.within(format_args!("table '{}'", table.name)))
}

/// Converts a table entry that the program declares, which may be constant, from a message.
pub(super) fn initial_entry(
    schema: &Schema,
    entry: &v1::TableEntry,
) -> Result<TableEntry, EntityError> {
    let table = find(schema, entry.table_id)?;
    let checked = match_entry(schema, table, UpdateKind::Insert, entry)
        .map_err(|error| error.within(format_args!("table '{}'", table.name)))?;
    Ok(TableEntry { is_const: entry.is_const || table.is_const, ..checked })
}

/// Converts a table entry that a device returned to a Read. Unlike a written entry, it may be
/// constant, and may have the time since its last packet.
pub(super) fn found(schema: &Schema, entry: &v1::TableEntry) -> Result<TableEntry, EntityError> {
    let table = find(schema, entry.table_id)?;
    let elapsed = entry.time_since_last_hit.as_ref().map(|since| since.elapsed_ns);
    let rest = v1::TableEntry { time_since_last_hit: None, ..entry.clone() };
    let checked = match entry.is_default_action {
        true => check_default_key(entry).and_then(|()| default_parts(schema, table, &rest)),
        // A modification may lack the action and, unlike an insertion, the key.
        false => match_entry(schema, table, UpdateKind::Modify, &rest),
    };
    let checked = checked.map_err(|error| error.within(format_args!("table '{}'", table.name)))?;
    let is_const = match entry.is_default_action {
        true => table.default_is_const,
        false => entry.is_const || table.is_const,
    };
    let since_last_hit_ns = elapsed.and_then(|elapsed| u64::try_from(elapsed).ok());
    Ok(TableEntry { is_const, since_last_hit_ns, ..checked })
}

fn match_entry(
    schema: &Schema,
    table: &Table,
    kind: UpdateKind,
    entry: &v1::TableEntry,
) -> Result<TableEntry, EntityError> {
    if kind == UpdateKind::Insert && table.match_fields.is_empty() {
        return Err(EntityError::invalid("the table has no key and takes no entries"));
    }
    let key = matching::key(table, &entry.r#match, entry.priority)?;
    let checked = TableEntry::new(table.id, EntryKey::Match(key));
    if kind == UpdateKind::Delete {
        return Ok(checked);
    }
    let action = match &entry.action {
        None if kind == UpdateKind::Insert => {
            return Err(EntityError::invalid("the action is unset"));
        }
        None => None,
        Some(action) => Some(table_action(schema, table, action)?),
    };
    let idle_timeout_ns = idle_timeout(table, entry)?;
    with_direct(schema, table, entry, TableEntry { action, idle_timeout_ns, ..checked })
}

fn default_entry(
    schema: &Schema,
    table: &Table,
    kind: UpdateKind,
    entry: &v1::TableEntry,
) -> Result<TableEntry, EntityError> {
    check_default_key(entry)?;
    modify_only(kind, "the default entry")?;
    check_default_idle(entry)?;
    if table.default_is_const {
        return Err(EntityError::denied("the default entry is constant"));
    }
    default_parts(schema, table, entry)
}

/// Converts the action and the direct resources of a default entry, which may be constant.
fn default_parts(
    schema: &Schema,
    table: &Table,
    entry: &v1::TableEntry,
) -> Result<TableEntry, EntityError> {
    let action = match &entry.action {
        None => None,
        Some(v1::TableAction { r#type: Some(ActionType::Action(action)) }) => {
            Some(TableAction::Call(action::call(schema, &table.actions, Usage::Default, action)?))
        }
        Some(action) => return Err(wrong_action(action)),
    };
    let checked = TableEntry { action, ..TableEntry::new(table.id, EntryKey::Default) };
    with_direct(schema, table, entry, checked)
}

/// Adds the controller's metadata and the direct resources (counter and meter) of a message to a
/// table entry.
fn with_direct(
    schema: &Schema,
    table: &Table,
    entry: &v1::TableEntry,
    checked: TableEntry,
) -> Result<TableEntry, EntityError> {
    let mut counter = None;
    if let Some(data) = &entry.counter_data {
        require_counter(table)?;
        counter = Some(arrays::counter_data(data)?);
    }
    let mut meter = None;
    if entry.meter_config.is_some() || entry.meter_counter_data.is_some() {
        meter = direct_meter_config(schema, table, entry.meter_config.as_ref())?;
        arrays::check_meter_counters(entry.meter_counter_data.as_ref())?;
    }
    let metadata = Box::from(&*entry.metadata);
    let controller_metadata = entry.controller_metadata;
    Ok(TableEntry { counter, meter, metadata, controller_metadata, ..checked })
}

pub(super) fn direct_counter(
    schema: &Schema,
    kind: UpdateKind,
    entry: &v1::DirectCounterEntry,
) -> Result<Entity, EntityError> {
    modify_only(kind, "a direct counter")?;
    let (table, key) = direct_key(schema, entry.table_entry.as_ref(), |table| {
        require_counter(table)?;
        entry.data.as_ref().map(arrays::counter_data).transpose()
    })?;
    let (key, data) = key;
    Ok(Entity::DirectCounter(table, key, data))
}

pub(super) fn direct_meter(
    schema: &Schema,
    kind: UpdateKind,
    entry: &v1::DirectMeterEntry,
) -> Result<Entity, EntityError> {
    modify_only(kind, "a direct meter")?;
    let (table, key) = direct_key(schema, entry.table_entry.as_ref(), |table| {
        let config = direct_meter_config(schema, table, entry.config.as_ref())?;
        arrays::check_meter_counters(entry.counter_data.as_ref())?;
        Ok(config)
    })?;
    let (key, config) = key;
    Ok(Entity::DirectMeter(table, key, config))
}

/// Returns the key of the table entry whose direct counter or meter an update writes, and the
/// converted counter or meter. Errors of the counter or meter are reported whether or not the entry
/// exists.
fn direct_key<T>(
    schema: &Schema,
    entry: Option<&v1::TableEntry>,
    resource: impl Fn(&Table) -> Result<T, EntityError>,
) -> Result<(TableId, (EntryKey, T)), EntityError> {
    let entry = entry.ok_or_else(|| EntityError::invalid("the table entry is unset"))?;
    let table = find(schema, entry.table_id)?;
    let checked = || {
        let resource = resource(table)?;
        Ok((entry_key(table, entry)?, resource))
    };
    let checked = checked()
        .map_err(|error: EntityError| error.within(format_args!("table '{}'", table.name)))?;
    Ok((table.id, checked))
}

/// Returns the key of the table entry that a message refers to.
pub(super) fn entry_key(table: &Table, entry: &v1::TableEntry) -> Result<EntryKey, EntityError> {
    if entry.is_default_action {
        check_default_key(entry)?;
        return Ok(EntryKey::Default);
    }
    matching::key(table, &entry.r#match, entry.priority).map(EntryKey::Match)
}

/// Converts the action of a table entry from a message.
fn table_action(
    schema: &Schema,
    table: &Table,
    action: &v1::TableAction,
) -> Result<TableAction, EntityError> {
    let profile = match table.implementation {
        None => {
            return match &action.r#type {
                Some(ActionType::Action(action)) => {
                    let call = action::call(schema, &table.actions, Usage::Entry, action)?;
                    Ok(TableAction::Call(call))
                }
                _ => Err(wrong_action(action)),
            };
        }
        Some(Implementation::ActionProfile(id)) => schema.action_profiles().get(id),
        Some(Implementation::Extern(_)) => None,
    };
    let Some(profile) = profile else {
        return Err(EntityError::unimplemented(
            "the table is implemented by an extern of the architecture, which is not supported",
        ));
    };
    match &action.r#type {
        Some(ActionType::ActionProfileMemberId(id)) => {
            Ok(TableAction::Member(MemberId(nonzero(*id, "member")?)))
        }
        Some(ActionType::ActionProfileGroupId(id)) if profile.with_selector => {
            Ok(TableAction::Group(GroupId(nonzero(*id, "group")?)))
        }
        Some(ActionType::ActionProfileActionSet(set)) if profile.with_selector => {
            let one_shot = profile::one_shot(schema, table, profile, set)?;
            Ok(TableAction::OneShot(Box::new(one_shot)))
        }
        _ => Err(wrong_action(action)),
    }
}

fn idle_timeout(table: &Table, entry: &v1::TableEntry) -> Result<u64, EntityError> {
    if entry.time_since_last_hit.is_some() {
        return Err(EntityError::invalid("time_since_last_hit is set in a write"));
    }
    let timeout_ns = u64::try_from(entry.idle_timeout_ns).map_err(|_| {
        EntityError::invalid(format!("idle_timeout_ns {} is negative", entry.idle_timeout_ns))
    })?;
    if !table.idle_timeout && timeout_ns != 0 {
        return Err(EntityError::invalid(
            "idle_timeout_ns is set, but the table has no idle timeouts",
        ));
    }
    Ok(timeout_ns)
}

fn require_counter(table: &Table) -> Result<(), EntityError> {
    match table.direct_counter {
        Some(_) => Ok(()),
        None => Err(EntityError::invalid("the table has no direct counter")),
    }
}

fn direct_meter_config(
    schema: &Schema,
    table: &Table,
    config: Option<&v1::MeterConfig>,
) -> Result<Option<entities::MeterConfig>, EntityError> {
    let meter = table.direct_meter.and_then(|id| schema.direct_meters().get(id));
    let meter = meter.ok_or_else(|| EntityError::invalid("the table has no direct meter"))?;
    arrays::meter_config(meter.algorithm, config)
}

/// Refuses match fields and a priority in a message about the default entry of a table.
pub(super) fn check_default_key(entry: &v1::TableEntry) -> Result<(), EntityError> {
    if entry.r#match.is_empty() && entry.priority == 0 {
        return Ok(());
    }
    Err(EntityError::invalid("the default entry has no match fields and no priority"))
}

/// Refuses an idle timeout in a message about the default entry of a table, in writes and in reads
/// (specification 1.5, "Idle-timeout").
pub(super) fn check_default_idle(entry: &v1::TableEntry) -> Result<(), EntityError> {
    let has_idle_timeout = entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some();
    if entry.is_default_action && has_idle_timeout {
        return Err(EntityError::invalid("the default entry has no idle timeout"));
    }
    Ok(())
}

/// Returns the table with this identifier, or an error if P4Info has none.
pub(super) fn find(schema: &Schema, id: u32) -> Result<&Table, EntityError> {
    let id = TableId(id);
    schema.tables().get(id).ok_or_else(|| EntityError::invalid(format!("P4Info has no table {id}")))
}

fn nonzero(id: u32, what: &str) -> Result<u32, EntityError> {
    if id == 0 {
        return Err(EntityError::invalid(format!("the {what} id must not be 0")));
    }
    Ok(id)
}

fn wrong_action(action: &v1::TableAction) -> EntityError {
    EntityError::invalid(match action.r#type {
        None => "the action is unset",
        Some(ActionType::Action(_)) => {
            "the table is indirect and takes a member or group, not an action"
        }
        Some(ActionType::ActionProfileMemberId(_)) => {
            "the table has no action profile and takes no member"
        }
        Some(ActionType::ActionProfileGroupId(_)) => {
            "the table has no action selector and takes no group"
        }
        Some(ActionType::ActionProfileActionSet(_)) => {
            "the table has no action selector and takes no action set"
        }
    })
}

/// Converts a table entry to a message with all its fields.
pub(super) fn message(entry: &TableEntry) -> v1::TableEntry {
    let key = key_message(entry.table.0, &entry.key);
    v1::TableEntry {
        table_id: key.table_id,
        r#match: key.r#match,
        action: entry.action.as_ref().map(action_message),
        ..message_beside(entry)
    }
}

/// Converts a table entry to a message without its table, match fields and action.
pub(super) fn message_beside(entry: &TableEntry) -> v1::TableEntry {
    let (is_default_action, priority) = match &entry.key {
        EntryKey::Default => (true, 0),
        EntryKey::Match(key) => (false, priority_message(key)),
    };
    v1::TableEntry {
        priority,
        is_default_action,
        controller_metadata: entry.controller_metadata,
        metadata: Bytes::copy_from_slice(&entry.metadata),
        is_const: entry.is_const,
        meter_config: entry.meter.map(arrays::meter_config_message),
        counter_data: entry.counter.map(arrays::counter_data_message),
        meter_counter_data: entry.meter_counters.map(arrays::meter_counters_message),
        idle_timeout_ns: i64::try_from(entry.idle_timeout_ns).unwrap_or(i64::MAX),
        time_since_last_hit: entry.since_last_hit_ns.map(|elapsed| {
            let elapsed_ns = i64::try_from(elapsed).unwrap_or(i64::MAX);
            v1::table_entry::IdleTimeout { elapsed_ns }
        }),
        ..v1::TableEntry::default()
    }
}

/// Converts the action of a table entry to a message.
#[must_use]
pub fn action_message(action: &TableAction) -> v1::TableAction {
    let action = match action {
        TableAction::Call(call) => ActionType::Action(action::message(call)),
        TableAction::Member(id) => ActionType::ActionProfileMemberId(id.0),
        TableAction::Group(id) => ActionType::ActionProfileGroupId(id.0),
        TableAction::OneShot(set) => {
            ActionType::ActionProfileActionSet(profile::one_shot_message(set))
        }
    };
    v1::TableAction { r#type: Some(action) }
}

pub(super) fn value_set(
    schema: &Schema,
    kind: UpdateKind,
    entry: &v1::ValueSetEntry,
) -> Result<ValueSet, EntityError> {
    let set = find_value_set(schema, entry.value_set_id)?;
    let place = || format!("value set '{}'", set.name);
    modify_only(kind, "a value set")?;
    let count = entry.members.len() as u64;
    if let Some(size) = set.size
        && count > size
    {
        return Err(EntityError::exhausted(format!(
            "{}: {count} members are more than {size}",
            place()
        )));
    }
    let mut seen = BTreeSet::new();
    let mut members = Vec::with_capacity(entry.members.len());
    for (position, member) in entry.members.iter().enumerate() {
        let fields = fields_of(&set.match_fields, &member.r#match)
            .map_err(|error| error.within(format_args!("{}, member {position}", place())))?;
        if !seen.insert(fields.clone()) {
            return Err(EntityError::exists(format!(
                "{}: member {position} is given twice",
                place()
            )));
        }
        members.push(fields);
    }
    Ok(ValueSet { id: set.id, members: members.into() })
}

pub(super) fn value_set_message(set: &ValueSet) -> v1::ValueSetEntry {
    let members =
        set.members.iter().map(|fields| v1::ValueSetMember { r#match: fields_message(fields) });
    v1::ValueSetEntry { value_set_id: set.id.0, members: members.collect() }
}

pub(super) fn find_value_set(
    schema: &Schema,
    id: u32,
) -> Result<&entities::schema::ValueSet, EntityError> {
    let id = ValueSetId(id);
    schema
        .value_sets()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no value set {id}")))
}
