//! The formatting of messages that a device sends by itself.

use super::{View, entry};
use crate::device::Message;
use crate::names::Named as _;
use crate::value::{Form, show_data};
use entities::schema::DigestId;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1;
use serde_json::{Value, json};

/// Formats a message. Objects are named as in the pipeline, if there is one.
pub(crate) fn message(schema: Option<&Schema>, message: &Message) -> View {
    match message {
        Message::Arbitration(update) => {
            let id = update
                .election_id
                .as_ref()
                .map(|id| u128::from(id.high) << 64 | u128::from(id.low));
            let id = id.map_or("none".to_owned(), |id| id.to_string());
            let is_primary = update.status.as_ref().is_none_or(|status| status.code == 0);
            let text = match is_primary {
                true => format!("arbitration: this session is primary, election id {id}"),
                false => format!("arbitration: this session is not primary; election id {id}"),
            };
            View::new(
                text,
                json!({ "kind": "arbitration", "primary": is_primary, "election_id": id }),
            )
        }
        Message::Packet(packet) => packet_in(schema, packet),
        Message::Digest(list) => digest(schema, list),
        Message::IdleTimeoutNotification(notification) => {
            let entry = |found: &v1::TableEntry| {
                let known = schema.and_then(|schema| entry::view(schema, found));
                known.unwrap_or_else(|| View::new("an unknown entry", Value::Null))
            };
            let views: Vec<View> = notification.table_entry.iter().map(entry).collect();
            let texts: Vec<&str> = views.iter().map(|view| view.text.as_str()).collect();
            let json: Vec<&Value> = views.iter().map(|view| &view.json).collect();
            View::new(
                format!("idle: {}", texts.join("; ")),
                json!({ "kind": "idle", "entries": json }),
            )
        }
        Message::Other(_) => View::new("a message of the architecture", json!({ "kind": "other" })),
        Message::Error(error) => View::new(
            format!(
                "the device refused a message: {} (code {})",
                error.message, error.canonical_code
            ),
            json!({ "kind": "error", "code": error.canonical_code, "message": error.message }),
        ),
    }
}

/// Formats a packet that the device sent to its controllers.
pub(crate) fn packet_in(schema: Option<&Schema>, packet: &v1::PacketIn) -> View {
    let header = schema.and_then(|schema| schema.packet_in());
    let named = packet.metadata.iter().map(|given| {
        let field = header
            .and_then(|header| header.fields.iter().find(|field| field.id.0 == given.metadata_id));
        match field {
            Some(field) => {
                let form = Form::of(field.value, &field.name, false, &[]);
                (field.name.clone(), form.show(field.value.bits(), &given.value))
            }
            None => (given.metadata_id.to_string(), crate::value::hexadecimal(&given.value)),
        }
    });
    let named: Vec<(String, String)> = named.collect();
    let texts: String = named.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    let fields = named.into_iter().map(|(name, value)| (name, json!(value)));
    let payload = digits(&packet.payload);
    View::new(
        format!("packet-in{texts}: {payload}"),
        json!({ "kind": "packet-in", "metadata": Value::Object(fields.collect()), "payload": payload }),
    )
}

fn digest(schema: Option<&Schema>, list: &v1::DigestList) -> View {
    let digest = schema.and_then(|schema| schema.digests().get(DigestId(list.digest_id)));
    let text = |data: &v1::P4Data| match digest {
        Some(digest) => show_data(&digest.name, &digest.data, data),
        None => protos::text("p4.v1.P4Data", data),
    };
    let texts: Vec<String> = list.data.iter().map(text).collect();
    let name = digest.map_or_else(|| list.digest_id.to_string(), |digest| digest.name.clone());
    let short = digest.map_or(name.as_str(), |digest| digest.short());
    View::new(
        format!("digest {short}: {}", texts.join("; ")),
        json!({ "kind": "digest list", "digest": name, "list": list.list_id, "data": texts }),
    )
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
