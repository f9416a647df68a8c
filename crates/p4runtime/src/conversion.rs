//! The checked conversion between P4Runtime messages and [`entities`].
//!
//! Every message that arrives is checked against P4Info here, and only here: identifiers are known,
//! values fit and are canonical, matches are of the kind of their field, no field is missing or
//! repeated, and nothing that the program declares constant is written. The result is typed, so the
//! code that receives it need not check again. The conversion of entities back to messages cannot
//! fail.
//!
//! Where the specification leaves a choice, this module decides as follows:
//!
//! * An identifier that P4Info does not have is INVALID_ARGUMENT, in writes and reads.
//! * Counters, meters and registers accept MODIFY only.
//! * A read of table entries filters by action id, never by member, group or one-shot group.
//! * A group with `max_size` 0 may be as large as its selector allows. The text of the
//!   specification requires a size; the comment in its proto does not, and neither does BMv2.
//! * P4Info does not list the actions that execute a direct resource, so a direct resource is
//!   accepted with every action of a table that has it.

mod action;
mod arrays;
pub(crate) mod data;
mod encoding;
mod entry;
mod matching;
mod profile;
mod replication;
mod selection;

use entities::schema::{Digest, DigestId, ExternId, Schema, TableId};
use entities::{DigestConfig, Entity, EntityError, EntryKey, TableEntry, Update, UpdateKind};

pub use self::entry::action_message;
pub use self::matching::field_message;
pub use self::selection::Found;
pub use self::selection::MAX_WILDCARD_CELLS;
pub(crate) use self::selection::Query;
use crate::proto::v1;
use crate::proto::v1::entity::Entity as Message;
use crate::proto::v1::update::Type as UpdateType;

/// Converts an update from a message. Returns `None` if the update is valid but has no effect.
pub(crate) fn update(schema: &Schema, update: &v1::Update) -> Result<Option<Update>, EntityError> {
    let kind = match update.r#type() {
        UpdateType::Unspecified => {
            return Err(EntityError::invalid("the type of the update is unset"));
        }
        UpdateType::Insert => UpdateKind::Insert,
        UpdateType::Modify => UpdateKind::Modify,
        UpdateType::Delete => UpdateKind::Delete,
    };
    let entity = match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
        None => return Err(unset_entity()),
        Some(Message::ExternEntry(entry)) => return Err(extern_error(schema, entry)),
        Some(Message::TableEntry(entry)) => Entity::Entry(entry::entry(schema, kind, entry)?),
        Some(Message::DirectCounterEntry(entry)) => entry::direct_counter(schema, kind, entry)?,
        Some(Message::DirectMeterEntry(entry)) => entry::direct_meter(schema, kind, entry)?,
        Some(Message::ActionProfileMember(member)) => {
            Entity::Member(profile::member(schema, kind, member)?)
        }
        Some(Message::ActionProfileGroup(group)) => {
            Entity::Group(profile::group(schema, kind, group)?)
        }
        Some(Message::CounterEntry(entry)) => match arrays::counter(schema, kind, entry)? {
            Some(cell) => Entity::Counter(cell),
            None => return Ok(None),
        },
        Some(Message::MeterEntry(entry)) => Entity::Meter(arrays::meter(schema, kind, entry)?),
        Some(Message::RegisterEntry(entry)) => {
            Entity::Register(arrays::register(schema, kind, entry)?)
        }
        Some(Message::PacketReplicationEngineEntry(entry)) => replication::entity(kind, entry)?,
        Some(Message::ValueSetEntry(entry)) => {
            Entity::ValueSet(entry::value_set(schema, kind, entry)?)
        }
        Some(Message::DigestEntry(entry)) => digest(schema, kind, entry)?,
    };
    Ok(Some(Update { kind, entity }))
}

/// Converts an entity that a device returned to a Read. Returns `None` for a counter cell without a
/// value.
///
/// # Errors
/// Returns an error if the program lacks the object that the entity belongs to, or if the entity
/// does not fit it.
pub fn found(schema: &Schema, entity: &v1::Entity) -> Result<Option<Entity>, EntityError> {
    let kind = match &entity.entity {
        Some(Message::TableEntry(entry)) => {
            return entry::found(schema, entry).map(|entry| Some(Entity::Entry(entry)));
        }
        Some(
            Message::ActionProfileMember(_)
            | Message::ActionProfileGroup(_)
            | Message::PacketReplicationEngineEntry(_)
            | Message::DigestEntry(_),
        ) => UpdateType::Insert,
        Some(
            Message::ExternEntry(_)
            | Message::DirectCounterEntry(_)
            | Message::DirectMeterEntry(_)
            | Message::CounterEntry(_)
            | Message::MeterEntry(_)
            | Message::RegisterEntry(_)
            | Message::ValueSetEntry(_),
        )
        | None => UpdateType::Modify,
    };
    // The rest is as in an update of that kind.
    let written = v1::Update { r#type: kind as i32, entity: Some(entity.clone()) };
    Ok(update(schema, &written)?.map(|update| update.entity))
}

/// Converts a table entry that the program declares, which may be constant.
pub(crate) fn initial_entry(
    schema: &Schema,
    entry: &v1::TableEntry,
) -> Result<TableEntry, EntityError> {
    entry::initial_entry(schema, entry)
}

/// Returns the table and the key of the entry that a message refers to.
pub(crate) fn entry_key(
    schema: &Schema,
    entry: &v1::TableEntry,
) -> Result<(TableId, EntryKey), EntityError> {
    let table = entry::find(schema, entry.table_id)?;
    entry::entry_key(table, entry)
        .map(|key| (table.id, key))
        .map_err(|error| error.within(format_args!("table '{}'", table.name)))
}

/// Converts an entity of a data plane to a message with all its fields.
#[must_use]
pub fn message(entity: &Entity) -> v1::Entity {
    let message = match entity {
        Entity::Entry(entry) => Message::TableEntry(entry::message(entry)),
        Entity::DirectCounter(table, key, data) => {
            Message::DirectCounterEntry(v1::DirectCounterEntry {
                table_entry: Some(matching::key_message(table.0, key)),
                data: data.map(arrays::counter_data_message),
            })
        }
        Entity::DirectMeter(table, key, config) => {
            Message::DirectMeterEntry(v1::DirectMeterEntry {
                table_entry: Some(matching::key_message(table.0, key)),
                config: config.map(arrays::meter_config_message),
                counter_data: None,
            })
        }
        Entity::Member(member) => Message::ActionProfileMember(profile::member_message(member)),
        Entity::Group(group) => Message::ActionProfileGroup(profile::group_message(group)),
        Entity::Counter(cell) => Message::CounterEntry(v1::CounterEntry {
            counter_id: cell.id.0,
            index: arrays::index_message(cell.index),
            data: Some(arrays::counter_data_message(cell.data)),
        }),
        Entity::Meter(cell) => Message::MeterEntry(v1::MeterEntry {
            meter_id: cell.id.0,
            index: arrays::index_message(cell.index),
            config: cell.config.map(arrays::meter_config_message),
            counter_data: cell.counters.map(arrays::meter_counters_message),
        }),
        Entity::Register(cell) => Message::RegisterEntry(v1::RegisterEntry {
            register_id: cell.id.0,
            index: arrays::index_message(cell.index),
            data: Some(data::message(&cell.data)),
        }),
        Entity::MulticastGroup(group) => {
            Message::PacketReplicationEngineEntry(replication::multicast_group_message(group))
        }
        Entity::CloneSession(session) => {
            Message::PacketReplicationEngineEntry(replication::clone_session_message(session))
        }
        Entity::ValueSet(set) => Message::ValueSetEntry(entry::value_set_message(set)),
        Entity::Digest(id, config) => Message::DigestEntry(v1::DigestEntry {
            digest_id: id.0,
            config: config.map(|config| v1::digest_entry::Config {
                max_timeout_ns: i64::try_from(config.max_timeout_ns).unwrap_or(i64::MAX),
                max_list_size: i32::try_from(config.max_list_size).unwrap_or(i32::MAX),
                ack_timeout_ns: i64::try_from(config.ack_timeout_ns).unwrap_or(i64::MAX),
            }),
        }),
    };
    v1::Entity { entity: Some(message) }
}

/// Converts a table entry to the form that an idle timeout notification carries.
pub(crate) fn idle_message(entry: &TableEntry) -> v1::TableEntry {
    v1::TableEntry {
        controller_metadata: entry.controller_metadata,
        metadata: bytes::Bytes::copy_from_slice(&entry.metadata),
        idle_timeout_ns: i64::try_from(entry.idle_timeout_ns).unwrap_or(i64::MAX),
        ..matching::key_message(entry.table.0, &entry.key)
    }
}

/// Converts an entry of an idle timeout notification, which has no action.
///
/// # Errors
/// Returns an error if the program lacks the table, or if the key does not fit it.
pub fn idle_entry(schema: &Schema, message: &v1::TableEntry) -> Result<TableEntry, EntityError> {
    let (table, key) = entry_key(schema, message)?;
    Ok(TableEntry {
        controller_metadata: message.controller_metadata,
        metadata: Box::from(&*message.metadata),
        idle_timeout_ns: u64::try_from(message.idle_timeout_ns).unwrap_or(0),
        ..TableEntry::new(table, key)
    })
}

/// Returns the identifier of the P4 object that `entity` belongs to, which decides whether a role
/// covers the entity. Direct resources belong to their table. Returns `None` for the packet
/// replication engine, for wildcards and for an unset entity.
pub fn object_id(entity: &v1::Entity) -> Option<u32> {
    let table = |entry: &Option<v1::TableEntry>| entry.as_ref().map_or(0, |entry| entry.table_id);
    let id = match entity.entity.as_ref()? {
        Message::ExternEntry(entry) => entry.extern_id,
        Message::TableEntry(entry) => entry.table_id,
        Message::ActionProfileMember(member) => member.action_profile_id,
        Message::ActionProfileGroup(group) => group.action_profile_id,
        Message::MeterEntry(entry) => entry.meter_id,
        Message::DirectMeterEntry(entry) => table(&entry.table_entry),
        Message::CounterEntry(entry) => entry.counter_id,
        Message::DirectCounterEntry(entry) => table(&entry.table_entry),
        Message::PacketReplicationEngineEntry(_) => 0,
        Message::ValueSetEntry(entry) => entry.value_set_id,
        Message::RegisterEntry(entry) => entry.register_id,
        Message::DigestEntry(entry) => entry.digest_id,
    };
    (id != 0).then_some(id)
}

/// Returns the identifier of the P4 object that an entity belongs to, for an entity that was read
/// from a data plane. [`object_id`] does so for messages.
fn object_of(entity: &Entity) -> Option<u32> {
    Some(match entity {
        Entity::Entry(entry) => entry.table.0,
        Entity::DirectCounter(table, ..) | Entity::DirectMeter(table, ..) => table.0,
        Entity::Member(member) => member.profile.0,
        Entity::Group(group) => group.profile.0,
        Entity::Counter(cell) => cell.id.0,
        Entity::Meter(cell) => cell.id.0,
        Entity::Register(cell) => cell.id.0,
        Entity::MulticastGroup(_) | Entity::CloneSession(_) => return None,
        Entity::ValueSet(set) => set.id.0,
        Entity::Digest(id, _) => id.0,
    })
}

fn digest(
    schema: &Schema,
    kind: UpdateKind,
    entry: &v1::DigestEntry,
) -> Result<Entity, EntityError> {
    let digest = find_digest(schema, entry.digest_id)?;
    if kind == UpdateKind::Delete {
        return Ok(Entity::Digest(digest.id, None));
    }
    let config = entry.config.map(|config| {
        let v1::digest_entry::Config { max_timeout_ns, max_list_size, ack_timeout_ns } = config;
        Some(DigestConfig {
            max_timeout_ns: u64::try_from(max_timeout_ns).ok()?,
            max_list_size: u32::try_from(max_list_size).ok()?,
            ack_timeout_ns: u64::try_from(ack_timeout_ns).ok()?,
        })
    });
    match config {
        Some(None) => Err(EntityError::invalid(format!(
            "digest '{}': timeouts and list size are not negative",
            digest.name
        ))),
        config => Ok(Entity::Digest(digest.id, config.flatten())),
    }
}

fn find_digest(schema: &Schema, id: u32) -> Result<&Digest, EntityError> {
    let id = DigestId(id);
    schema
        .digests()
        .get(id)
        .ok_or_else(|| EntityError::invalid(format!("P4Info has no digest {id}")))
}

fn unset_entity() -> EntityError {
    EntityError::invalid(
        "the entity is unset, or of a kind that this version of P4Runtime does not have",
    )
}

/// Refuses updates other than MODIFY for entities that always exist.
fn modify_only(kind: UpdateKind, what: &str) -> Result<(), EntityError> {
    let name = match kind {
        UpdateKind::Modify => return Ok(()),
        UpdateKind::Insert => "INSERT",
        UpdateKind::Delete => "DELETE",
    };
    Err(EntityError::invalid(format!("{what} takes MODIFY only, not {name}")))
}

/// Returns the error for a request with entries of an architecture's extern, which are not
/// supported: UNIMPLEMENTED if P4Info has the extern, and INVALID_ARGUMENT otherwise.
fn extern_error(schema: &Schema, entry: &v1::ExternEntry) -> EntityError {
    match schema.externs().get(ExternId(entry.extern_id)) {
        Some(instance) if instance.type_id.0 == entry.extern_type_id => {
            unsupported_extern(&instance.name)
        }
        _ => EntityError::invalid(format!(
            "P4Info has no extern {} of type {}",
            ExternId(entry.extern_id),
            entry.extern_type_id
        )),
    }
}

fn unsupported_extern(name: &str) -> EntityError {
    EntityError::unimplemented(format!(
        "extern '{name}': entries of externs that the architecture defines are not supported"
    ))
}
