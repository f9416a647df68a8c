//! The formatting of results as text and as JSON.
//!
//! The text of an entity that can be written is the command that writes it, so that a dump is a
//! file of commands. Properties that a command cannot set follow after a `#`.

mod arrays;
mod entry;
mod message;

pub(crate) use entry::{action_view, field_texts, table_view};
pub(crate) use message::{digits, message, packet_in};

use crate::names::Named as _;
use crate::session::Item;
use crate::words::quoted;
use entities::schema::{ActionProfileId, DigestId, ValueSetId};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, Replica, entity::Entity as Kind, packet_replication_engine_entry::Type as Replication,
    replica::PortKind,
};
use serde_json::{Value, json};

/// A result as text and as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The result as text for people.
    pub text: String,
    /// The result as JSON for programs.
    pub json: Value,
}

impl View {
    pub(crate) fn new(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json }
    }

    /// Adds the number that the result has in simple_switch_CLI to the JSON, and a remark to the
    /// text.
    pub(crate) fn with_handle(mut self, number: impl Into<Value>, remark: &str) -> Self {
        if let Some(fields) = self.json.as_object_mut() {
            fields.insert("handle".to_owned(), number.into());
        }
        self.text = format!("{}  # {remark}", self.text);
        self
    }
}

impl From<View> for Item {
    fn from(view: View) -> Self {
        Self::Fact { text: view.text, json: view.json }
    }
}

/// Formats a result as text and as JSON. Objects are named as in the pipeline, if there is one.
#[must_use]
pub fn view(schema: Option<&Schema>, item: &Item) -> View {
    match item {
        Item::Fact { text, json } => View::new(text.clone(), json.clone()),
        Item::Trace { trace, .. } => {
            let text = protos::text("planimeter.trace.v1.Trace", &**trace);
            View::new(format!("trace {{{text}}}"), json!({ "kind": "trace", "text": text }))
        }
        Item::Entity(entity) => {
            let known = schema.and_then(|schema| entity_view(schema, entity));
            known.unwrap_or_else(|| unnamed(entity))
        }
    }
}

/// Formats an entity whose object is unknown, in the text format of protocol buffers.
fn unnamed(entity: &v1::Entity) -> View {
    let text = protos::text("p4.v1.Entity", entity);
    View::new(format!("# {text}"), json!({ "kind": "unknown", "text": text }))
}

/// Formats an entity, or returns `None` if its object is not in the pipeline.
fn entity_view(schema: &Schema, entity: &v1::Entity) -> Option<View> {
    match entity.entity.as_ref()? {
        Kind::TableEntry(found) => entry::view(schema, found),
        Kind::ActionProfileMember(member) => {
            let profile =
                schema.action_profiles().get(ActionProfileId(member.action_profile_id))?;
            let call = entry::call(schema, member.action.as_ref()?)?;
            let text =
                format!("member add {} {} {}", profile.short(), member.member_id, call.text());
            let json = json!({
                "kind": "member", "profile": profile.name, "member": member.member_id,
                "action": call.name, "parameters": call.parameters_json(),
            });
            Some(View::new(text, json))
        }
        Kind::ActionProfileGroup(group) => group_view(schema, group),
        Kind::CounterEntry(cell) => arrays::counter(schema, cell),
        Kind::DirectCounterEntry(cell) => arrays::direct_counter(schema, cell),
        Kind::MeterEntry(cell) => arrays::meter(schema, cell),
        Kind::DirectMeterEntry(cell) => arrays::direct_meter(schema, cell),
        Kind::RegisterEntry(cell) => arrays::register(schema, cell),
        Kind::PacketReplicationEngineEntry(found) => Some(match found.r#type.as_ref()? {
            Replication::MulticastGroupEntry(group) => {
                let (texts, json) = replicas(&group.replicas);
                let id = group.multicast_group_id;
                View::new(
                    format!("multicast add {id}{texts}"),
                    json!({ "kind": "multicast", "group": id, "replicas": json }),
                )
            }
            Replication::CloneSessionEntry(session) => clone_view(session),
        }),
        Kind::DigestEntry(found) => {
            let digest = schema.digests().get(DigestId(found.digest_id))?;
            let config = found.config.unwrap_or_default();
            let v1::digest_entry::Config { max_timeout_ns, max_list_size, ack_timeout_ns } = config;
            Some(View::new(
                format!(
                    "digest enable {} --max-timeout {max_timeout_ns}ns --max-list {max_list_size} --ack-timeout {ack_timeout_ns}ns",
                    digest.short()
                ),
                json!({
                    "kind": "digest", "digest": digest.name, "max_timeout_ns": max_timeout_ns,
                    "max_list_size": max_list_size, "ack_timeout_ns": ack_timeout_ns,
                }),
            ))
        }
        Kind::ValueSetEntry(found) => {
            let set = schema.value_sets().get(ValueSetId(found.value_set_id))?;
            let member = |member: &v1::ValueSetMember| {
                let fields = field_texts(schema, None, &set.match_fields, &member.r#match);
                fields.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
            };
            let members: Vec<String> = found.members.iter().map(member).collect();
            let texts: String = members.iter().map(|text| format!(" {}", quoted(text))).collect();
            Some(View::new(
                format!("value-set write {}{texts}", set.short()),
                json!({ "kind": "value set", "value_set": set.name, "members": members }),
            ))
        }
        Kind::ExternEntry(_) => None,
    }
}

fn group_view(schema: &Schema, group: &v1::ActionProfileGroup) -> Option<View> {
    use v1::action_profile_group::member::WatchKind;

    let profile = schema.action_profiles().get(ActionProfileId(group.action_profile_id))?;
    let (mut texts, mut json) = (String::new(), Vec::new());
    for member in &group.members {
        let watch = match &member.watch_kind {
            None => None,
            Some(WatchKind::Watch(port)) => Some(port.to_string()),
            Some(WatchKind::WatchPort(port)) => Some(port_text(port)),
        };
        texts.push_str(&format!(" {}", member.member_id));
        if member.weight > 1 {
            texts.push_str(&format!("*{}", member.weight));
        }
        texts.extend(watch.as_ref().map(|port| format!("@{port}")));
        json.push(json!({ "member": member.member_id, "weight": member.weight, "watch": watch }));
    }
    if group.max_size > 0 {
        texts.push_str(&format!(" --max-size {}", group.max_size));
    }
    Some(View::new(
        format!("group add {} {}{texts}", profile.short(), group.group_id),
        json!({
            "kind": "group", "profile": profile.name, "group": group.group_id,
            "members": json, "max_size": group.max_size,
        }),
    ))
}

fn clone_view(session: &v1::CloneSessionEntry) -> View {
    let (mut texts, json) = replicas(&session.replicas);
    if session.class_of_service > 0 {
        texts.push_str(&format!(" --class {}", session.class_of_service));
    }
    if session.packet_length_bytes > 0 {
        texts.push_str(&format!(" --truncate {}", session.packet_length_bytes));
    }
    View::new(
        format!("clone add {}{texts}", session.session_id),
        json!({
            "kind": "clone session", "session": session.session_id, "replicas": json,
            "class_of_service": session.class_of_service,
            "packet_length_bytes": session.packet_length_bytes,
        }),
    )
}

fn replicas(replicas: &[Replica]) -> (String, Vec<Value>) {
    let (mut texts, mut json) = (String::new(), Vec::new());
    for replica in replicas {
        let port = match &replica.port_kind {
            None => "0".to_owned(),
            Some(PortKind::EgressPort(port)) => port.to_string(),
            Some(PortKind::Port(port)) => port_text(port),
        };
        let mut copy = with_instance(&port, replica.instance);
        let mut backups = Vec::new();
        for backup in &replica.backup_replicas {
            let port = port_text(&backup.port);
            copy.push_str(&format!(",{}", with_instance(&port, backup.instance)));
            backups.push(json!({ "port": port, "instance": backup.instance }));
        }
        texts.push_str(&format!(" {}", quoted(&copy)));
        let mut shown = json!({ "port": port, "instance": replica.instance });
        if let Some(fields) = shown.as_object_mut().filter(|_| !backups.is_empty()) {
            fields.insert("backups".to_owned(), backups.into());
        }
        json.push(shown);
    }
    (texts, json)
}

/// Formats a replica: its port, and its instance number if that is not 0.
fn with_instance(port: &str, instance: u32) -> String {
    match instance {
        0 => port.to_owned(),
        instance => format!("{port}:{instance}"),
    }
}

/// Formats a port that P4Runtime represents as bytes: as a number or, if the bytes are text, as a
/// name.
pub(crate) fn port_text(port: &[u8]) -> String {
    let name = std::str::from_utf8(port).ok().filter(|name| {
        name.len() > 1 && name.chars().all(|character| character.is_ascii_graphic())
    });
    match (name, entities::value::decode(port)) {
        (Some(name), _) => name.to_owned(),
        (None, Some(number)) => number.to_string(),
        (None, None) => String::from_utf8_lossy(port).into_owned(),
    }
}
