//! Conversion of Read requests to selections (specification of P4Runtime 1.5, "Wildcard Reads").
//!
//! A wildcard over objects becomes one selection per object, so that a data plane is always queried
//! about one object. The data plane returns whole entities; this module decides which of their
//! fields the response shows.

use entities::schema::*;
use entities::{
    Cells, CloneSessionId, Entity, EntityError, EntrySelection, GroupId, MemberId,
    MulticastGroupId, Selection,
};

use super::matching::{fields_of, key_message};
use super::{arrays, encoding, entry, profile, replication};
use crate::proto::v1;
use crate::proto::v1::entity::Entity as Message;
use crate::proto::v1::packet_replication_engine_entry::Type as Replication;
use crate::proto::v1::table_action::Type as ActionType;

/// The maximum number of cells that a wildcard read of one counter, meter or register array may
/// return. A read of a larger array fails with RESOURCE_EXHAUSTED; its cells must be read by index.
pub const MAX_WILDCARD_CELLS: u64 = 1 << 20;

/// The tag of `Entity.table_entry`.
const TABLE_ENTRY: u32 = 2;

/// One entity of a Read request, checked and converted to queries of the data plane.
#[derive(Debug)]
pub(crate) struct Query {
    /// The queries to the data plane, in this order.
    pub(crate) selections: Vec<Selection>,
    /// Whether the request names one object by its id, rather than all objects of a kind.
    pub(crate) names_object: bool,
    shown: Shown,
    /// The name of the table in which the read must find an entry in order to succeed, or `None` if
    /// it may find nothing.
    must_find: Option<String>,
}

/// The fields of the found entities that the response contains.
#[derive(Debug)]
enum Shown {
    Everything,
    Entry { meter_config: bool, counter: bool, meter_counters: bool, since_last_hit: bool },
    DirectCounter,
    DirectMeter { counters: bool },
    Meter { counters: bool },
}

impl Query {
    /// Checks an entity of a Read request and converts it.
    pub(crate) fn new(schema: &Schema, request: &v1::Entity) -> Result<Self, EntityError> {
        let names_object = super::object_id(request).is_some();
        let plain = |selections| Self {
            selections,
            names_object,
            shown: Shown::Everything,
            must_find: None,
        };
        Ok(match &request.entity {
            None => return Err(super::unset_entity()),
            Some(Message::ExternEntry(request)) => {
                read_extern(schema, request)?;
                plain(Vec::new())
            }
            Some(Message::TableEntry(request)) => entries(schema, request)?,
            Some(Message::DirectCounterEntry(request)) => {
                let has = |table: &Table| table.direct_counter.is_some();
                let table_entry = request.table_entry.as_ref();
                direct(schema, table_entry, Shown::DirectCounter, "counter", has)?
            }
            Some(Message::DirectMeterEntry(request)) => {
                let has = |table: &Table| table.direct_meter.is_some();
                let shown = Shown::DirectMeter { counters: request.counter_data.is_some() };
                direct(schema, request.table_entry.as_ref(), shown, "meter", has)?
            }
            Some(Message::ActionProfileMember(request)) => {
                let member = nonzero(request.member_id).map(MemberId);
                let profiles = profiles(schema, request.action_profile_id)?;
                plain(profiles.map(|id| Selection::Members(id, member)).collect())
            }
            Some(Message::ActionProfileGroup(request)) => {
                let group = nonzero(request.group_id).map(GroupId);
                let profiles = profiles(schema, request.action_profile_id)?;
                plain(profiles.map(|id| Selection::Groups(id, group)).collect())
            }
            Some(Message::CounterEntry(request)) => {
                let arrays = arrays_of(schema.counters(), request.counter_id, |id| {
                    arrays::find_counter(schema, id)
                })?;
                let describe = |counter: &Counter| (counter.name.clone(), counter.size);
                let cells = cells(request.counter_id, request.index, &arrays, describe)?;
                plain(arrays.iter().map(|one| Selection::Counters(one.id, cells)).collect())
            }
            Some(Message::MeterEntry(request)) => {
                let arrays = arrays_of(schema.meters(), request.meter_id, |id| {
                    arrays::find_meter(schema, id)
                })?;
                let describe = |meter: &Meter| (meter.name.clone(), meter.size);
                let cells = cells(request.meter_id, request.index, &arrays, describe)?;
                let selections =
                    arrays.iter().map(|one| Selection::Meters(one.id, cells)).collect();
                let shown = Shown::Meter { counters: request.counter_data.is_some() };
                Self { selections, names_object, shown, must_find: None }
            }
            Some(Message::RegisterEntry(request)) => {
                let arrays = arrays_of(schema.registers(), request.register_id, |id| {
                    arrays::find_register(schema, id)
                })?;
                let describe = |register: &Register| (register.name.clone(), register.size);
                let cells = cells(request.register_id, request.index, &arrays, describe)?;
                plain(arrays.iter().map(|one| Selection::Registers(one.id, cells)).collect())
            }
            Some(Message::PacketReplicationEngineEntry(request)) => match &request.r#type {
                None => return Err(replication::unset()),
                Some(Replication::MulticastGroupEntry(group)) => {
                    let id = nonzero(group.multicast_group_id).map(MulticastGroupId);
                    plain(vec![Selection::MulticastGroups(id)])
                }
                Some(Replication::CloneSessionEntry(session)) => {
                    let id = nonzero(session.session_id).map(CloneSessionId);
                    plain(vec![Selection::CloneSessions(id)])
                }
            },
            Some(Message::ValueSetEntry(request)) => plain(match request.value_set_id {
                0 => schema.value_sets().iter().map(|set| Selection::ValueSet(set.id)).collect(),
                id => vec![Selection::ValueSet(entry::find_value_set(schema, id)?.id)],
            }),
            Some(Message::DigestEntry(request)) => plain(match request.digest_id {
                0 => schema.digests().iter().map(|digest| Selection::Digest(digest.id)).collect(),
                id => vec![Selection::Digest(super::find_digest(schema, id)?.id)],
            }),
        })
    }

    /// Combines an entity that the data plane returned with the form in which the response shows
    /// it.
    pub(crate) fn found(&self, mut entity: Entity) -> Found {
        let form = match (&self.shown, &mut entity) {
            (
                Shown::Entry { meter_config, counter, meter_counters, since_last_hit },
                Entity::Entry(found),
            ) => {
                found.meter = found.meter.filter(|_| *meter_config);
                found.counter = found.counter.filter(|_| *counter);
                found.meter_counters = found.meter_counters.filter(|_| *meter_counters);
                found.since_last_hit_ns = found.since_last_hit_ns.filter(|_| *since_last_hit);
                Form::Whole
            }
            (Shown::DirectCounter, Entity::Entry(_)) => Form::DirectCounter,
            (Shown::DirectMeter { counters }, Entity::Entry(found)) => {
                found.meter_counters = found.meter_counters.filter(|_| *counters);
                Form::DirectMeter
            }
            (Shown::Meter { counters }, Entity::Meter(cell)) => {
                cell.counters = cell.counters.filter(|_| *counters);
                Form::Whole
            }
            _ => Form::Whole,
        };
        Found { entity, form }
    }

    /// Returns the outcome of this query after all selected entities have been visited. `found` is
    /// true if there were any.
    pub(crate) fn outcome(&self, found: bool) -> Result<(), EntityError> {
        match &self.must_find {
            Some(table) if !found => Err(EntityError::not_found("there is no such entry")
                .within(format_args!("table '{table}'"))),
            _ => Ok(()),
        }
    }
}

/// An entity that a Read found, together with the form in which the response shows it.
#[derive(Debug)]
pub struct Found {
    entity: Entity,
    form: Form,
}

/// The form in which the response shows an entity.
#[derive(Clone, Copy, Debug)]
enum Form {
    Whole,
    DirectCounter,
    DirectMeter,
}

impl Found {
    /// Returns the identifier of the P4 object that the found entity belongs to, as
    /// [`crate::store::object_id`] does for a message.
    #[must_use]
    pub fn object_id(&self) -> Option<u32> {
        super::object_of(&self.entity)
    }

    /// Converts the entity to a message.
    #[must_use]
    pub fn message(&self) -> v1::Entity {
        let entity = match (self.form, &self.entity) {
            (Form::DirectCounter, Entity::Entry(found)) => {
                Message::DirectCounterEntry(v1::DirectCounterEntry {
                    table_entry: Some(key_message(found.table.0, &found.key)),
                    data: found.counter.map(arrays::counter_data_message),
                })
            }
            (Form::DirectMeter, Entity::Entry(found)) => {
                Message::DirectMeterEntry(v1::DirectMeterEntry {
                    table_entry: Some(key_message(found.table.0, &found.key)),
                    config: found.meter.map(arrays::meter_config_message),
                    counter_data: found.meter_counters.map(arrays::meter_counters_message),
                })
            }
            (_, entity) => return super::message(entity),
        };
        v1::Entity { entity: Some(entity) }
    }

    /// Appends the message of [`Found::message`] as the field `tag` of an enclosing message.
    pub fn encode(&self, tag: u32, out: &mut Vec<u8>) {
        match (self.form, &self.entity) {
            (Form::Whole, Entity::Entry(entry)) => encoding::nested(tag, out, |out| {
                encoding::nested(TABLE_ENTRY, out, |out| encoding::entry(entry, out));
            }),
            _ => prost::encoding::message::encode(tag, &self.message(), out),
        }
    }
}

/// Converts a Read request for table entries. A request for all tables (identifier 0) may ask for
/// default entries and select by priority and metadata, which have a meaning in every table. It may
/// not select by match fields and actions.
fn entries(schema: &Schema, request: &v1::TableEntry) -> Result<Query, EntityError> {
    let shown = Shown::Entry {
        meter_config: request.meter_config.is_some(),
        counter: request.counter_data.is_some(),
        meter_counters: request.meter_counter_data.is_some(),
        since_last_hit: request.time_since_last_hit.is_some(),
    };
    let selections = if request.table_id == 0 {
        if !request.r#match.is_empty() || request.action.is_some() {
            return Err(EntityError::invalid(
                "match fields and actions cannot be selected without a table",
            ));
        }
        entry::check_default_idle(request)?;
        let tables = schema.tables().iter();
        tables.map(|table| Selection::Entries(by_metadata(table, request))).collect()
    } else {
        let table = entry::find(schema, request.table_id)?;
        let selection = in_table(schema, table, request)
            .map_err(|error| error.within(format_args!("table '{}'", table.name)))?;
        vec![Selection::Entries(selection)]
    };
    let names_object = request.table_id != 0;
    Ok(Query { selections, names_object, shown, must_find: None })
}

fn by_metadata(table: &Table, request: &v1::TableEntry) -> EntrySelection {
    EntrySelection {
        is_default: request.is_default_action,
        // No entry has a priority that is negative or above `i32::MAX`, so such a request selects
        // nothing.
        priority: nonzero(u32::try_from(request.priority).unwrap_or(u32::MAX)),
        controller_metadata: request.controller_metadata,
        metadata: Box::from(&*request.metadata),
        ..EntrySelection::all(table.id)
    }
}

fn in_table(
    schema: &Schema,
    table: &Table,
    request: &v1::TableEntry,
) -> Result<EntrySelection, EntityError> {
    if !table.idle_timeout
        && (request.idle_timeout_ns != 0 || request.time_since_last_hit.is_some())
    {
        return Err(EntityError::invalid(
            "idle_timeout_ns or time_since_last_hit is set, but the table has no idle timeouts",
        ));
    }
    if request.is_default_action {
        entry::check_default_key(request)?;
        entry::check_default_idle(request)?;
    }
    let fields = if request.r#match.is_empty() {
        None
    } else {
        Some(fields_of(&table.match_fields, &request.r#match)?)
    };
    let action = selected_action(schema, table, request.action.as_ref())?;
    Ok(EntrySelection { fields, action, ..by_metadata(table, request) })
}

/// Returns the action by which a Read request selects table entries, or `None` if it does not
/// select by action. Arguments in the request are ignored. Returns an error for an indirect table,
/// whose entries do not contain their actions.
fn selected_action(
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
        // Members and groups are not filters ("Wildcard Reads"). As in BMv2 they are no error
        // either, so that a client may read an entry with the message with which it was written, as
        // p4runtime-shell does.
        Some(_) => Ok(None),
    }
}

/// Converts a Read request for the direct counters or meters of table entries.
fn direct(
    schema: &Schema,
    request: Option<&v1::TableEntry>,
    shown: Shown,
    resource: &str,
    has_resource: fn(&Table) -> bool,
) -> Result<Query, EntityError> {
    let everything = v1::TableEntry::default();
    let request = request.unwrap_or(&everything);
    if request.table_id == 0 {
        let tables = schema.tables().iter().filter(|table| has_resource(table));
        let selections = tables.map(|table| {
            let is_default = request.is_default_action;
            Selection::Entries(EntrySelection { is_default, ..EntrySelection::all(table.id) })
        });
        let selections = selections.collect();
        return Ok(Query { selections, names_object: false, shown, must_find: None });
    }
    let table = entry::find(schema, request.table_id)?;
    let place = || format!("table '{}'", table.name);
    if !has_resource(table) {
        return Err(EntityError::invalid(format!(
            "{}: the table has no direct {resource}",
            place()
        )));
    }
    // Only the key selects. All other fields of the entry are ignored.
    let key = v1::TableEntry {
        table_id: request.table_id,
        r#match: request.r#match.clone(),
        priority: request.priority,
        is_default_action: request.is_default_action,
        ..v1::TableEntry::default()
    };
    let selection = in_table(schema, table, &key).map_err(|error| error.within(place()))?;
    let must_find = !key.r#match.is_empty() || key.priority != 0;
    let must_find = must_find.then(|| table.name.clone());
    let selections = vec![Selection::Entries(selection)];
    Ok(Query { selections, names_object: true, shown, must_find })
}

/// Returns the action profile with this identifier, or all profiles for 0.
fn profiles(
    schema: &Schema,
    id: u32,
) -> Result<impl Iterator<Item = ActionProfileId>, EntityError> {
    let wanted = nonzero(id).map(|id| profile::find(schema, id)).transpose()?;
    let wanted = wanted.map(|profile| profile.id);
    let all = schema.action_profiles().iter().map(|profile| profile.id);
    Ok(all.filter(move |id| wanted.is_none_or(|wanted| wanted == *id)))
}

/// Returns the counter, meter or register array with this identifier, or all of them for 0.
fn arrays_of<'a, I: Copy + Ord, T>(
    all: &'a Catalog<I, T>,
    id: u32,
    find: impl Fn(u32) -> Result<&'a T, EntityError>,
) -> Result<Vec<&'a T>, EntityError> {
    match id {
        0 => Ok(all.iter().collect()),
        id => Ok(vec![find(id)?]),
    }
}

/// Returns the cells of arrays that a request reads. An index is allowed only if the request names
/// one array. `describe` returns the name and the size of an array.
fn cells<T>(
    id: u32,
    requested: Option<v1::Index>,
    arrays: &[&T],
    describe: impl Fn(&T) -> (String, Option<u64>),
) -> Result<Cells, EntityError> {
    if id == 0 || requested.is_none() {
        for (name, size) in arrays.iter().map(|array| describe(array)) {
            if let Some(size) = size
                && size > MAX_WILDCARD_CELLS
            {
                return Err(EntityError::exhausted(format!(
                    "'{name}' has {size} cells, more than the {MAX_WILDCARD_CELLS} that one read returns; \
                     read it by index"
                )));
            }
        }
        return Ok(Cells::All);
    }
    let Some((name, size)) = arrays.first().map(|array| describe(array)) else {
        return Ok(Cells::All);
    };
    let index =
        arrays::index(requested, size).map_err(|error| error.within(format_args!("'{name}'")))?;
    Ok(index.map_or(Cells::All, Cells::One))
}

/// Checks a read of extern instances. A wildcard selects the instances of all supported extern
/// types. Since no extern type is supported, it selects nothing.
fn read_extern(schema: &Schema, request: &v1::ExternEntry) -> Result<(), EntityError> {
    if request.extern_type_id == 0 && request.extern_id == 0 {
        return Ok(());
    }
    let selected = schema
        .externs()
        .iter()
        .find(|one| request.extern_id == 0 && one.type_id.0 == request.extern_type_id);
    Err(match selected {
        Some(instance) => super::unsupported_extern(&instance.name),
        None => super::extern_error(schema, request),
    })
}

fn nonzero(id: u32) -> Option<u32> {
    (id != 0).then_some(id)
}
