//! The formatting of the cells of counters, meters and registers.

use super::View;
use super::entry::field_texts;
use crate::names::Named as _;
use crate::value::show_data;
use entities::schema::{CounterId, MeterId, RegisterId, Table, TableId};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1;
use serde_json::{Value, json};

fn index(index: Option<v1::Index>) -> Option<i64> {
    index.map(|index| index.index)
}

/// Returns the name of a cell, such as `c[3]`, or the name of the whole array if there is no index.
fn cell(name: &str, index: Option<i64>) -> String {
    index.map_or_else(|| name.to_owned(), |index| format!("{name}[{index}]"))
}

pub(super) fn counter(schema: &Schema, found: &v1::CounterEntry) -> Option<View> {
    let counter = schema.counters().get(CounterId(found.counter_id))?;
    let (index, data) = (index(found.index), found.data.unwrap_or_default());
    Some(View::new(
        format!("{}: {}", cell(counter.short(), index), counts(&data)),
        json!({
            "kind": "counter", "counter": counter.name, "index": index,
            "packets": data.packet_count, "bytes": data.byte_count,
        }),
    ))
}

fn counts(data: &v1::CounterData) -> String {
    format!("{} packets, {} bytes", data.packet_count, data.byte_count)
}

/// Returns the table and key of an entry as text, and the key as JSON.
fn entry(schema: &Schema, entry: Option<&v1::TableEntry>) -> Option<(String, Value)> {
    let entry = entry?;
    let table: &Table = schema.tables().get(TableId(entry.table_id))?;
    if entry.is_default_action {
        return Some((format!("{} default", table.short()), json!("default")));
    }
    let fields = field_texts(schema, Some(table.id), &table.match_fields, &entry.r#match);
    let texts: String = fields.iter().map(|(name, text)| format!(" {name}={text}")).collect();
    let pairs = fields.iter().map(|(name, text)| ((*name).to_owned(), json!(text)));
    Some((format!("{}{texts}", table.short()), Value::Object(pairs.collect())))
}

pub(super) fn direct_counter(schema: &Schema, found: &v1::DirectCounterEntry) -> Option<View> {
    let (name, key) = entry(schema, found.table_entry.as_ref())?;
    let data = found.data.unwrap_or_default();
    Some(View::new(
        format!("{name}: {}", counts(&data)),
        json!({
            "kind": "direct counter", "entry": key,
            "packets": data.packet_count, "bytes": data.byte_count,
        }),
    ))
}

/// Formats the rates of a meter as text.
fn config_text(config: Option<&v1::MeterConfig>) -> String {
    let Some(v1::MeterConfig { cir, cburst, pir, pburst, eburst }) = config else {
        return "no rates, all packets are green".to_owned();
    };
    let excess = if *eburst > 0 { format!(", excess burst {eburst}") } else { String::new() };
    format!("committed {cir}:{cburst}, peak {pir}:{pburst}{excess}")
}

/// Formats the rates of a meter as JSON.
pub(super) fn config_json(config: &v1::MeterConfig) -> Value {
    let v1::MeterConfig { cir, cburst, pir, pburst, eburst } = config;
    json!({ "cir": cir, "cburst": cburst, "pir": pir, "pburst": pburst, "eburst": eburst })
}

pub(super) fn meter(schema: &Schema, found: &v1::MeterEntry) -> Option<View> {
    let meter = schema.meters().get(MeterId(found.meter_id))?;
    let index = index(found.index);
    Some(View::new(
        format!("{}: {}", cell(meter.short(), index), config_text(found.config.as_ref())),
        json!({
            "kind": "meter", "meter": meter.name, "index": index,
            "rates": found.config.as_ref().map(config_json),
        }),
    ))
}

pub(super) fn direct_meter(schema: &Schema, found: &v1::DirectMeterEntry) -> Option<View> {
    let (name, key) = entry(schema, found.table_entry.as_ref())?;
    Some(View::new(
        format!("{name}: {}", config_text(found.config.as_ref())),
        json!({
            "kind": "direct meter", "entry": key,
            "rates": found.config.as_ref().map(config_json),
        }),
    ))
}

pub(super) fn register(schema: &Schema, found: &v1::RegisterEntry) -> Option<View> {
    let register = schema.registers().get(RegisterId(found.register_id))?;
    let index = index(found.index);
    let text = show_data(&register.name, &register.data, found.data.as_ref()?);
    Some(View::new(
        format!("{} = {text}", cell(register.short(), index)),
        json!({ "kind": "register", "register": register.name, "index": index, "value": text }),
    ))
}
