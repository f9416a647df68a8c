//! The `runtime.json` of the p4lang tutorials: a pipeline and its entries, all referred to by name.
//!
//! The format is that of p4lang/tutorials, utils/p4runtime_lib/simple_controller.py and helper.py.
//! Values are numbers, or strings that hold IPv4 or Ethernet addresses. As an extension, strings
//! may also hold all other plain values ([`entities::plain`]), such as `0x800` and `10.0.0.0/8`.
//! The tutorials take any other string for its own bytes, which hides a typing error in an address,
//! so such a string is refused here.

use entities::names::find;
use entities::plain::{self, EntryError, Plain, PlainError, PlainMatch};
use p4runtime::p4info::{Schema, SchemaError};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::{
    self, CloneSessionEntry, Entity, MulticastGroupEntry, PacketReplicationEngineEntry, TableEntry,
    Update, entity::Entity as Kind, packet_replication_engine_entry::Type as Replication,
    update::Type,
};
use queues::Configuration;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The contents of a `runtime.json` file. Paths are not resolved.
#[derive(Debug, Default, Deserialize)]
pub struct RuntimeJson {
    /// The kind of switch for which the file is written. Only `bmv2` is accepted.
    pub target: Option<String>,
    /// The path of the P4Info.
    pub p4info: Option<String>,
    /// The path of the BMv2 JSON.
    pub bmv2_json: Option<String>,
    /// The queues of the switch's ports, such as `port=1 rate=10Mbps`. This is an addition of
    /// Planimeter to the format.
    #[serde(default, deserialize_with = "crate::topology_json::queues")]
    pub queues: Configuration,
    #[serde(default)]
    table_entries: Vec<TableEntryJson>,
    #[serde(default)]
    multicast_group_entries: Vec<MulticastGroupJson>,
    #[serde(default)]
    clone_session_entries: Vec<CloneSessionJson>,
}

/// An element of `table_entries`.
#[derive(Debug, Deserialize)]
struct TableEntryJson {
    table: String,
    #[serde(default)]
    r#match: Option<BTreeMap<String, Value>>,
    action_name: String,
    #[serde(default)]
    action_params: BTreeMap<String, Value>,
    #[serde(default)]
    default_action: bool,
    #[serde(default)]
    priority: Option<i32>,
}

/// An element of `multicast_group_entries`.
#[derive(Debug, Deserialize)]
struct MulticastGroupJson {
    multicast_group_id: u32,
    replicas: Vec<ReplicaJson>,
}

/// An element of `clone_session_entries`.
#[derive(Debug, Deserialize)]
struct CloneSessionJson {
    clone_session_id: u32,
    replicas: Vec<ReplicaJson>,
    #[serde(default)]
    packet_length_bytes: i32,
}

/// A replica of a multicast group or clone session.
#[derive(Debug, Deserialize)]
struct ReplicaJson {
    egress_port: PortJson,
    #[serde(default)]
    instance: u32,
}

/// The port of a replica: its number, or its string if the program's port numbers are translated.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum PortJson {
    Number(u32),
    Text(String),
}

/// The reason why a `runtime.json` file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeJsonError {
    /// The file is not JSON, or does not have the structure of a `runtime.json`.
    #[error("not a runtime.json of the p4lang tutorials: {0}")]
    Form(#[from] serde_json::Error),
    /// The file has none of the fields of a `runtime.json`.
    #[error(
        "not a runtime.json of the p4lang tutorials: it has no entries and names no program; one has table_entries, and a \
         topology.json, with hosts and links, is another file"
    )]
    Empty,
    /// The file is for another target than `bmv2`.
    #[error("it is for target '{0}'; only bmv2 is supported")]
    Target(String),
    /// The P4Info contradicts itself.
    #[error("the P4Info cannot be used: {0}")]
    P4Info(#[from] SchemaError),
    /// An entry does not fit the P4Info.
    #[error("entry {entry}: {cause}")]
    Entry {
        /// The position of the entry in the file among the entries of its kind, counted from 1.
        entry: usize,
        /// The name or value that does not fit, and the reason.
        cause: EntryError,
    },
}

impl RuntimeJson {
    /// Parses the text of a `runtime.json` file.
    ///
    /// # Errors
    ///
    /// Returns an error if the text does not have the structure of a `runtime.json`, has none of
    /// its fields, or is for another target than `bmv2`.
    pub fn parse(text: &str) -> Result<Self, RuntimeJsonError> {
        let parsed: Self = serde_json::from_str(text)?;
        match &parsed.target {
            Some(target) if target != "bmv2" => Err(RuntimeJsonError::Target(target.clone())),
            _ if parsed.is_empty() => Err(RuntimeJsonError::Empty),
            _ => Ok(parsed),
        }
    }

    fn is_empty(&self) -> bool {
        self.p4info.is_none()
            && self.bmv2_json.is_none()
            && self.target.is_none()
            && self.table_entries.is_empty()
            && self.multicast_group_entries.is_empty()
            && self.clone_session_entries.is_empty()
    }

    /// Returns the file's entries as updates.
    ///
    /// # Errors
    ///
    /// Returns an error if an entry does not fit the P4Info.
    pub fn updates(&self, p4info: &P4Info) -> Result<Vec<Update>, RuntimeJsonError> {
        let schema = Schema::new(p4info.clone())?;
        let mut updates = Vec::new();
        for (position, entry) in self.table_entries.iter().enumerate() {
            let update = entry.update(&schema);
            let entry = position + 1;
            updates.push(update.map_err(|cause| RuntimeJsonError::Entry { entry, cause })?);
        }
        updates.extend(self.multicast_group_entries.iter().map(|group| {
            let entry = MulticastGroupEntry {
                multicast_group_id: group.multicast_group_id,
                replicas: replicas(&group.replicas),
                ..Default::default()
            };
            replication(Replication::MulticastGroupEntry(entry))
        }));
        updates.extend(self.clone_session_entries.iter().map(|session| {
            let entry = CloneSessionEntry {
                session_id: session.clone_session_id,
                replicas: replicas(&session.replicas),
                packet_length_bytes: session.packet_length_bytes,
                ..Default::default()
            };
            replication(Replication::CloneSessionEntry(entry))
        }));
        Ok(updates)
    }
}

impl TableEntryJson {
    fn update(&self, schema: &Schema) -> Result<Update, EntryError> {
        let table = find("table", &self.table, schema.tables().iter())?;
        let arguments = self.action_params.iter();
        let arguments = arguments.map(|(name, value)| Ok((name.as_str(), single(name, value)?)));
        let arguments = arguments.collect::<Result<Vec<_>, PlainError>>()?;
        let call = plain::call(schema, &table.actions, &self.action_name, arguments)?;
        // The tutorials' files leave out fields that match everything.
        let fields = self.r#match.iter().flatten();
        let fields = fields.map(|(name, value)| Ok((name.as_str(), plain_match(name, value)?)));
        let fields = fields.collect::<Result<Vec<_>, PlainError>>()?;
        let fields = plain::key(&table.match_fields, fields)?;
        let entry = TableEntry {
            table_id: table.id.0,
            r#match: fields.iter().map(p4runtime::field_message).collect(),
            action: Some(p4runtime::action_message(&entities::TableAction::Call(call))),
            priority: self.priority.unwrap_or(0),
            is_default_action: self.default_action,
            ..Default::default()
        };
        let kind = if self.default_action { Type::Modify } else { Type::Insert };
        Ok(update(kind, Kind::TableEntry(entry)))
    }
}

/// Returns a value of the file as a match: a single value, a list with one value, a value with its
/// mask or prefix length, or the two ends of a range.
fn plain_match<'v>(name: &str, value: &'v Value) -> Result<PlainMatch<'v>, PlainError> {
    match value {
        Value::Array(list) => match list.as_slice() {
            [one] => Ok(PlainMatch::One(single(name, one)?)),
            [first, second] => Ok(PlainMatch::Pair(single(name, first)?, single(name, second)?)),
            _ => Err(refused(name, value, "expected a value, or a list of two")),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Ok(PlainMatch::One(single(name, value)?))
        }
    }
}

/// Returns a value of the file as a plain value. A list with one value stands for that value.
fn single<'v>(name: &str, value: &'v Value) -> Result<Plain<'v>, PlainError> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(number) => Ok(Plain::number(number)),
            None => Err(refused(
                name,
                value,
                "expected a whole number below 2^64; a larger one is a text",
            )),
        },
        Value::String(text) => Ok(Plain::text(text)),
        Value::Bool(value) => Ok(Plain::Bool(*value)),
        Value::Array(list) if list.len() == 1 => {
            // The depth of JSON is limited by its parser.
            list.first().map_or_else(
                || Err(refused(name, value, "expected a value")),
                |one| single(name, one),
            )
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(refused(name, value, "expected a number or a text"))
        }
    }
}

fn refused(name: &str, value: &Value, problem: &str) -> PlainError {
    PlainError { name: name.to_owned(), value: value.to_string(), problem: problem.to_owned() }
}

fn replicas(replicas: &[ReplicaJson]) -> Vec<v1::Replica> {
    use v1::replica::PortKind;
    let replica = |replica: &ReplicaJson| {
        let port = match &replica.egress_port {
            PortJson::Number(number) => PortKind::EgressPort(*number),
            // Decimal digits are the number of a port, also where ports have strings.
            PortJson::Text(text) => match text.parse() {
                Ok(number) => PortKind::EgressPort(number),
                Err(_) => PortKind::Port(text.clone().into_bytes().into()),
            },
        };
        v1::Replica { instance: replica.instance, port_kind: Some(port), ..Default::default() }
    };
    replicas.iter().map(replica).collect()
}

fn replication(entry: Replication) -> Update {
    let entry = PacketReplicationEngineEntry { r#type: Some(entry) };
    update(Type::Insert, Kind::PacketReplicationEngineEntry(entry))
}

fn update(kind: Type, entity: Kind) -> Update {
    Update { r#type: kind as i32, entity: Some(Entity { entity: Some(entity) }) }
}

#[cfg(test)]
mod tests;
