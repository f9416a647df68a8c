//! The formatting of table entries and of calls of actions.

use super::View;
use crate::names::Named as _;
use crate::value::{ANY, Form, show_match};
use crate::words::quoted;
use entities::schema::{Action, ActionId, MatchField, MatchKind, Table, TableId};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::action_profile_action::WatchKind;
use p4runtime::proto::v1::table_action::Type as ActionType;
use p4runtime::proto::v1::{self, FieldMatch, TableEntry};
use serde_json::{Map, Value, json};

/// A call of an action, with the names of the action and its parameters.
pub(crate) struct CallView<'a> {
    short: &'a str,
    pub(crate) name: &'a str,
    parameters: Vec<(&'a str, String)>,
}

impl CallView<'_> {
    pub(crate) fn text(&self) -> String {
        let parameter = |(name, value): &(&str, String)| format!(" {name}={}", quoted(value));
        let parameters: String = self.parameters.iter().map(parameter).collect();
        format!("{}{parameters}", self.short)
    }

    pub(crate) fn parameters_json(&self) -> Value {
        let pairs = self.parameters.iter();
        Value::Object(pairs.map(|(name, value)| ((*name).to_owned(), json!(value))).collect())
    }
}

/// Returns a call with its names, or `None` if the pipeline lacks the action.
pub(crate) fn call<'a>(schema: &'a Schema, call: &v1::Action) -> Option<CallView<'a>> {
    let action = schema.actions().get(ActionId(call.action_id))?;
    let value = |given: &v1::action::Param| {
        let param = action.params.iter().find(|param| param.id.0 == given.param_id)?;
        let annotations = schema.param_annotations(action.id, param.id);
        let form = Form::of(param.value, &param.name, false, annotations);
        Some((param.name.as_str(), form.show(param.value.bits(), &given.value)))
    };
    let parameters = call.params.iter().filter_map(value).collect();
    Some(CallView { short: action.short(), name: &action.name, parameters })
}

/// Returns the name and the text of each field of a key. A field that the entry omits matches every
/// value.
pub(crate) fn field_texts<'a>(
    schema: &Schema,
    table: Option<TableId>,
    fields: &'a [MatchField],
    found: &[FieldMatch],
) -> Vec<(&'a str, String)> {
    let text = |field: &'a MatchField| {
        let given = found.iter().find(|given| given.field_id == field.id.0);
        let annotations = table.map_or(&[][..], |table| schema.field_annotations(table, field.id));
        let is_prefix = field.kind == MatchKind::Lpm;
        let form = Form::of(field.value, &field.name, is_prefix, annotations);
        let text = given
            .map_or_else(|| ANY.to_owned(), |given| show_match(form, field.value.bits(), given));
        (field.name.as_str(), text)
    };
    fields.iter().map(text).collect()
}

/// Formats a table entry, or returns `None` if the pipeline lacks its table.
pub(super) fn view(schema: &Schema, entry: &TableEntry) -> Option<View> {
    let table = schema.tables().get(TableId(entry.table_id))?;
    let mut json = Map::new();
    json.insert("kind".to_owned(), json!("entry"));
    json.insert("table".to_owned(), json!(table.name));
    let mut text = match entry.is_default_action {
        true => {
            json.insert("default".to_owned(), json!(true));
            format!("table set-default {}", table.short())
        }
        false => {
            let fields = field_texts(schema, Some(table.id), &table.match_fields, &entry.r#match);
            let written = fields.iter().filter(|(_, text)| text != ANY);
            let written: String =
                written.map(|(name, text)| format!(" {name}={}", quoted(text))).collect();
            let pairs = fields.iter().map(|(name, text)| ((*name).to_owned(), json!(text)));
            json.insert("match".to_owned(), Value::Object(pairs.collect()));
            format!("table add {}{written}", table.short())
        }
    };
    text.push_str(&action(schema, entry.action.as_ref(), &mut json)?);
    text.push_str(&options(entry, &mut json));
    let facts = facts(entry, &mut json);
    if entry.is_const || entry.is_default_action && table.default_is_const {
        json.insert("constant".to_owned(), json!(true));
        text = format!("# constant: {text}");
    }
    if !facts.is_empty() {
        text.push_str(&format!("  # {}", facts.join(", ")));
    }
    // A default action that is not set is restored by a reset, because it cannot be written.
    if entry.is_default_action && entry.action.is_none() && !table.default_is_const {
        text = format!("table reset-default {}", table.short());
    }
    Some(View::new(text, Value::Object(json)))
}

/// Formats the action of an entry as text, and adds it to `json`.
fn action(
    schema: &Schema,
    action: Option<&v1::TableAction>,
    json: &mut Map<String, Value>,
) -> Option<String> {
    let Some(action) = action.and_then(|action| action.r#type.as_ref()) else {
        return Some(String::new());
    };
    Some(match action {
        ActionType::Action(found) => {
            let call = call(schema, found)?;
            json.insert("action".to_owned(), json!(call.name));
            json.insert("parameters".to_owned(), call.parameters_json());
            format!(" {}", call.text())
        }
        ActionType::ActionProfileMemberId(id) => {
            json.insert("member".to_owned(), json!(id));
            format!(" --member {id}")
        }
        ActionType::ActionProfileGroupId(id) => {
            json.insert("group".to_owned(), json!(id));
            format!(" --group {id}")
        }
        ActionType::ActionProfileActionSet(set) => {
            let (mut texts, mut members) = (Vec::new(), Vec::new());
            for member in &set.action_profile_actions {
                let call = call(schema, member.action.as_ref()?)?;
                let watch = match &member.watch_kind {
                    None => None,
                    Some(WatchKind::Watch(port)) => Some(port.to_string()),
                    Some(WatchKind::WatchPort(port)) => Some(super::port_text(port)),
                };
                let mut text = call.text();
                if member.weight != 1 {
                    text.push_str(&format!(" --weight {}", member.weight));
                }
                text.extend(watch.as_ref().map(|port| format!(" --watch {port}")));
                texts.push(text);
                members.push(json!({
                    "action": call.name, "parameters": call.parameters_json(),
                    "weight": member.weight, "watch": watch,
                }));
            }
            json.insert("one_shot".to_owned(), json!(members));
            format!(" one-shot {}", texts.join(" , "))
        }
    })
}

/// Formats the options that must be given to write the entry, such as its priority, and adds them
/// to `json`.
fn options(entry: &TableEntry, json: &mut Map<String, Value>) -> String {
    let mut text = String::new();
    if entry.priority > 0 {
        json.insert("priority".to_owned(), json!(entry.priority));
        text.push_str(&format!(" --priority {}", entry.priority));
    }
    if entry.idle_timeout_ns > 0 {
        json.insert("idle_timeout_ns".to_owned(), json!(entry.idle_timeout_ns));
        text.push_str(&format!(" --idle-timeout {}ns", entry.idle_timeout_ns));
    }
    if !entry.metadata.is_empty() {
        let digits: String = entry.metadata.iter().map(|byte| format!("{byte:02x}")).collect();
        json.insert("metadata".to_owned(), json!(digits));
        text.push_str(&format!(" --metadata {digits}"));
    }
    if let Some(config) = &entry.meter_config {
        let v1::MeterConfig { cir, cburst, pir, pburst, eburst } = config;
        json.insert("meter".to_owned(), super::arrays::config_json(config));
        text.push_str(&format!(" --meter {cir}:{cburst},{pir}:{pburst}"));
        if *eburst > 0 {
            text.push_str(&format!(",{eburst}"));
        }
    }
    text
}

/// Formats the properties of an entry that can be read but not written, such as its counter and the
/// time since its last hit, and adds them to `json`.
fn facts(entry: &TableEntry, json: &mut Map<String, Value>) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(counter) = &entry.counter_data {
        json.insert("packets".to_owned(), json!(counter.packet_count));
        json.insert("bytes".to_owned(), json!(counter.byte_count));
        facts.push(format!("{} packets, {} bytes", counter.packet_count, counter.byte_count));
    }
    if let Some(elapsed) = &entry.time_since_last_hit {
        json.insert("since_last_hit_ns".to_owned(), json!(elapsed.elapsed_ns));
        facts.push(format!("last hit {} ns ago", elapsed.elapsed_ns));
    }
    facts
}

/// Formats the declaration of a table, for the command `tables`.
pub(crate) fn table_view(schema: &Schema, table: &Table) -> View {
    let kind = |field: &MatchField| match &field.kind {
        MatchKind::Exact => "exact".to_owned(),
        MatchKind::Lpm => "lpm".to_owned(),
        MatchKind::Ternary => "ternary".to_owned(),
        MatchKind::Range => "range".to_owned(),
        MatchKind::Optional => "optional".to_owned(),
        MatchKind::Other(name) => name.clone(),
    };
    let width = |field: &MatchField| match field.value.bits() {
        Some(bits) => format!("{bits} bits"),
        None => "string".to_owned(),
    };
    let fields: Vec<String> = table
        .match_fields
        .iter()
        .map(|field| format!("{} {} ({})", field.name, kind(field), width(field)))
        .collect();
    let actions = table.actions.iter().filter_map(|action| schema.actions().get(action.id));
    let actions: Vec<&str> = actions.map(|action| action.short()).collect();
    let size = table.size.map_or_else(String::new, |size| format!(", {size} entries"));
    let text = format!(
        "{}: key {}; actions {}{size}",
        table.name,
        if fields.is_empty() { "none".to_owned() } else { fields.join(", ") },
        actions.join(", "),
    );
    let keys = table.match_fields.iter().map(
        |field| json!({ "name": field.name, "kind": kind(field), "bits": field.value.bits() }),
    );
    let json = json!({
        "kind": "table", "table": table.name, "alias": table.alias,
        "key": keys.collect::<Vec<_>>(), "actions": actions, "size": table.size,
    });
    View::new(text, json)
}

/// Formats the declaration of an action, for the command `actions`.
pub(crate) fn action_view(action: &Action) -> View {
    let width = |bits: Option<u32>| bits.map_or("string".to_owned(), |bits| format!("{bits} bits"));
    let params: Vec<String> = action
        .params
        .iter()
        .map(|param| format!("{} ({})", param.name, width(param.value.bits())))
        .collect();
    let text = match params.is_empty() {
        true => format!("{}: no parameters", action.name),
        false => format!("{}: {}", action.name, params.join(", ")),
    };
    let params = action.params.iter();
    let params = params.map(|param| json!({ "name": param.name, "bits": param.value.bits() }));
    let json = json!({
        "kind": "action", "action": action.name, "alias": action.alias,
        "parameters": params.collect::<Vec<_>>(),
    });
    View::new(text, json)
}
