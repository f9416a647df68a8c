//! `result.json` of a document.

use serde_json::{Value as Json, json};

use crate::json::result;

use super::{Cell, Chart, Document, Section, Spread, Table, Value};

/// The JSON schema of what [`to_json`] gives.
pub const SCHEMA: &str = include_str!("../../schemas/document-result.v1.schema.json");

/// A document as JSON. Values are in base units: seconds, bytes, per second, shares from 0 to 1, percent of one core.
#[must_use]
pub fn to_json(document: &Document) -> String {
    let value = json!({
        "schema": "planimeter.document.result",
        "schema_version": 1,
        "kind": document.kind,
        "title": document.title,
        "partial": document.partial,
        "findings": document.findings,
        "notes": document.notes,
        "sections": document.sections.iter().map(section).collect::<Vec<_>>(),
    });
    result(&document.provenance, value)
}

fn section(section: &Section) -> Json {
    json!({
        "id": section.id,
        "title": section.title,
        "text": section.text,
        "tables": section.tables.iter().map(table).collect::<Vec<_>>(),
        "charts": section.charts.iter().map(chart).collect::<Vec<_>>(),
        "commands": section.commands.iter().map(|(_, command)| command).collect::<Vec<_>>(),
        "links": section.links.iter().map(|(_, place)| place).collect::<Vec<_>>(),
    })
}

fn table(table: &Table) -> Json {
    let row = |row: &Vec<Cell>| row.iter().map(cell).collect::<Vec<_>>();
    json!({
        "caption": table.caption,
        "columns": table.columns,
        "rows": table.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Json {
    match cell {
        Cell::Nothing => Json::Null,
        Cell::Text(text) => json!(text),
        Cell::Value(one) => {
            let mut out = value(one);
            out["unit"] = json!(one.unit.text());
            out
        }
    }
}

/// Without its unit, which an axis or a cell names.
fn value(value: &Value) -> Json {
    let number = value.value.is_finite().then_some(value.value);
    match value.spread {
        Spread::None => json!({ "value": number }),
        Spread::Confidence(half) => json!({ "value": number, "ci95": half }),
        Spread::Deviation(deviation) => json!({ "value": number, "stddev": deviation }),
        Spread::About => json!({ "value": number, "approximate": true }),
    }
}

fn chart(chart: &Chart) -> Json {
    let axis = |axis: &super::Axis| json!({ "label": axis.label, "unit": axis.unit.text() });
    let series = chart.series.iter().map(|series| {
        let points = series.points.iter().map(|(x, y)| {
            let mut point = value(y);
            point["x"] = json!(x);
            point
        });
        json!({
            "name": series.name,
            "origin": series.origin.word(),
            "points": points.collect::<Vec<_>>(),
        })
    });
    json!({
        "title": chart.title,
        "remark": chart.remark,
        "x": axis(&chart.x),
        "y": axis(&chart.y),
        "series": series.collect::<Vec<_>>(),
    })
}
