//! The `runtime.json` of the p4lang tutorials: a pipeline and its entries, all referred to by name.
//!
//! The format is that of p4lang/tutorials, utils/p4runtime_lib/simple_controller.py and helper.py.
//! Values are numbers, or strings that hold IPv4 or Ethernet addresses; any other string stands for
//! its own bytes. As an extension, strings may also hold numbers in P4's notation (`0x800`) and
//! IPv6 addresses.

use entities::written;
use p4runtime::proto::config::{P4Info, Preamble, Table, match_field};
use p4runtime::proto::v1::{
    self, CloneSessionEntry, Entity, FieldMatch, MulticastGroupEntry, PacketReplicationEngineEntry,
    TableEntry, Update, action::Param, entity::Entity as Kind, field_match::FieldMatchType,
    packet_replication_engine_entry::Type as Replication, update::Type,
};
use queues::Configuration;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The contents of a `runtime.json` file. Paths are as they are written in the file.
#[derive(Debug, Default, Deserialize)]
pub struct RuntimeJson {
    /// The target. Only `bmv2` exists.
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
    egress_port: u32,
    #[serde(default)]
    instance: u32,
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
    /// An entry names an object that the P4Info lacks.
    #[error("entry {entry}: the P4Info has no {kind} '{name}'; it has {known}")]
    Unknown {
        /// The position of the entry in the file among the entries of its kind, counted from 1.
        entry: usize,
        /// The kind of the object.
        kind: &'static str,
        /// The name that was not found.
        name: String,
        /// The names of the existing objects of that kind.
        known: String,
    },
    /// A value does not fit its field.
    #[error("entry {entry}: {value} is not a value for '{name}': {reason}")]
    Value {
        /// The position of the entry in the file among the entries of its kind, counted from 1.
        entry: usize,
        /// The name of the field or parameter.
        name: String,
        /// The value that does not fit, as it is written in the file.
        value: String,
        /// The reason why the value does not fit.
        reason: &'static str,
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
        let mut updates = Vec::new();
        for (position, entry) in self.table_entries.iter().enumerate() {
            updates.push(entry.update(Names { p4info, entry: position + 1 })?);
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

/// Name lookups in a P4Info on behalf of one entry.
#[derive(Clone, Copy)]
struct Names<'a> {
    p4info: &'a P4Info,
    entry: usize,
}

impl TableEntryJson {
    fn update(&self, names: Names<'_>) -> Result<Update, RuntimeJsonError> {
        let tables = names.p4info.tables.iter();
        let table = names.find("table", &self.table, tables, |table| table.preamble.as_ref())?;
        let actions = names.p4info.actions.iter();
        let action =
            names.find("action", &self.action_name, actions, |action| action.preamble.as_ref())?;
        let mut params = Vec::new();
        for (name, value) in &self.action_params {
            let param = action.params.iter().find(|param| param.name == *name);
            let param = param.ok_or_else(|| {
                names.unknown("parameter", name, action.params.iter().map(|param| &*param.name))
            })?;
            let value = names.value(name, value, param.bitwidth)?;
            params.push(Param { param_id: param.id, value: value.into() });
        }
        let matches = self.r#match.iter().flatten();
        let fields = matches.map(|(name, value)| names.field(table, name, value));
        // The tutorials' files omit fields that match everything.
        let fields = fields.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let id = |preamble: &Option<Preamble>| preamble.as_ref().map_or(0, |preamble| preamble.id);
        let call = v1::Action { action_id: id(&action.preamble), params };
        let entry = TableEntry {
            table_id: id(&table.preamble),
            r#match: fields,
            action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(call)) }),
            priority: self.priority.unwrap_or(0),
            is_default_action: self.default_action,
            ..Default::default()
        };
        let kind = if self.default_action { Type::Modify } else { Type::Insert };
        Ok(update(kind, Kind::TableEntry(entry)))
    }
}

impl Names<'_> {
    fn find<'p, T>(
        self,
        kind: &'static str,
        name: &str,
        all: impl Iterator<Item = &'p T> + Clone,
        preamble: impl Fn(&'p T) -> Option<&'p Preamble>,
    ) -> Result<&'p T, RuntimeJsonError> {
        let is = |one: &&'p T| {
            preamble(*one).is_some_and(|found| found.name == name || found.alias == name)
        };
        let known = || all.clone().filter_map(|one| Some(&*preamble(one)?.name));
        all.clone().find(is).ok_or_else(|| self.unknown(kind, name, known()))
    }

    fn unknown<'n>(
        self,
        kind: &'static str,
        name: &str,
        known: impl Iterator<Item = &'n str>,
    ) -> RuntimeJsonError {
        let known: Vec<&str> = known.collect();
        let known = match known.as_slice() {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        RuntimeJsonError::Unknown { entry: self.entry, kind, name: name.to_owned(), known }
    }

    fn refuse(self, name: &str, value: &Value, reason: &'static str) -> RuntimeJsonError {
        let (name, value) = (name.to_owned(), value.to_string());
        RuntimeJsonError::Value { entry: self.entry, name, value, reason }
    }

    /// Returns an entry's match of one field, or `None` if the entry matches every value of the
    /// field.
    fn field(
        self,
        table: &Table,
        name: &str,
        value: &Value,
    ) -> Result<Option<FieldMatch>, RuntimeJsonError> {
        use match_field::{Match, MatchType};
        let field = table.match_fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| {
            self.unknown("match field", name, table.match_fields.iter().map(|field| &*field.name))
        })?;
        let bits = field.bitwidth;
        let number = |value| self.value(name, value, bits);
        let pair = || match value.as_array().map(Vec::as_slice) {
            Some([first, second]) => Ok((first, second)),
            _ => Err(self.refuse(name, value, "expected a list of two")),
        };
        let kind = match field.r#match {
            Some(Match::MatchType(kind)) => MatchType::try_from(kind).ok(),
            _ => None,
        };
        let found = match kind {
            Some(MatchType::Exact) => {
                FieldMatchType::Exact(v1::field_match::Exact { value: number(value)?.into() })
            }
            Some(MatchType::Lpm) => {
                let (prefix, length) = pair()?;
                let length = length.as_i64().and_then(|length| i32::try_from(length).ok());
                let prefix_len =
                    length.ok_or_else(|| self.refuse(name, value, "no prefix length"))?;
                if prefix_len == 0 {
                    return Ok(None);
                }
                FieldMatchType::Lpm(v1::field_match::Lpm {
                    value: number(prefix)?.into(),
                    prefix_len,
                })
            }
            Some(MatchType::Ternary) => {
                let (pattern, mask) = pair()?;
                let (value, mask) = (number(pattern)?, number(mask)?);
                if mask.iter().all(|byte| *byte == 0) {
                    return Ok(None);
                }
                FieldMatchType::Ternary(v1::field_match::Ternary {
                    value: value.into(),
                    mask: mask.into(),
                })
            }
            Some(MatchType::Range) => {
                let (low, high) = pair()?;
                FieldMatchType::Range(v1::field_match::Range {
                    low: number(low)?.into(),
                    high: number(high)?.into(),
                })
            }
            Some(MatchType::Optional) => {
                FieldMatchType::Optional(v1::field_match::Optional { value: number(value)?.into() })
            }
            _ => return Err(self.refuse(name, value, "its match kind is not of P4Runtime")),
        };
        Ok(Some(FieldMatch { field_id: field.id, field_match_type: Some(found) }))
    }

    /// Returns a value of the file as the bytes of a field with `bits` bits. A list with one value
    /// stands for that value.
    fn value(self, name: &str, value: &Value, bits: i32) -> Result<Vec<u8>, RuntimeJsonError> {
        // A field without a width is a string, for which a number stands as its decimal digits.
        let is_text = bits == 0;
        let bytes = match value {
            Value::String(text) if is_text => return Ok(text.as_bytes().to_vec()),
            Value::Number(number) if is_text => return Ok(number.to_string().into_bytes()),
            Value::Array(one) if one.len() == 1 => {
                return self.value(name, one.first().unwrap_or(value), bits);
            }
            Value::Number(number) => match number.as_u64() {
                Some(number) => number.to_be_bytes().to_vec(),
                None => return Err(self.refuse(name, value, "expected a whole number")),
            },
            Value::String(text) => from_text(text),
            _ => return Err(self.refuse(name, value, "expected a number or a text")),
        };
        let first = bytes.iter().position(|byte| *byte != 0);
        let canonical = bytes
            .get(first.unwrap_or(bytes.len().saturating_sub(1))..)
            .unwrap_or_default()
            .to_vec();
        let needed = canonical
            .first()
            .map_or(0, |byte| canonical.len() as u64 * 8 - u64::from(byte.leading_zeros().min(7)));
        if needed > u64::from(bits.unsigned_abs()) {
            let reason = match value {
                Value::String(text) if bytes == text.as_bytes() => {
                    "it is neither an address nor a number, and too long as text"
                }
                _ => "it is too wide",
            };
            return Err(self.refuse(name, value, reason));
        }
        Ok(canonical)
    }
}

fn from_text(text: &str) -> Vec<u8> {
    let number = || text.strip_prefix("0x").and_then(|_| written::number(text));
    written::address(text).or_else(number).unwrap_or_else(|| text.as_bytes().to_vec())
}

fn replicas(replicas: &[ReplicaJson]) -> Vec<v1::Replica> {
    let replica = |replica: &ReplicaJson| v1::Replica {
        instance: replica.instance,
        port_kind: Some(v1::replica::PortKind::EgressPort(replica.egress_port)),
        ..Default::default()
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
