//! Writes the `result.json` of a report of several measurements.

use serde_json::{Value as Json, json};

use super::super::claims;
use super::super::table::{Cell, Content, Table};
use super::super::{Figure, Graphic};
use super::{Document, Section};
use crate::json::result;
use crate::plot::{Axis, Line};
use crate::value::Spread;

/// The JSON schema of the output of [`to_json`].
pub const SCHEMA: &str = include_str!("../../../schemas/document-result.v2.schema.json");

/// Formats a report of several measurements as JSON. Values are in base units: seconds, bytes, per
/// second, shares from 0 to 1, percent of one core.
#[must_use]
pub fn to_json(document: &Document) -> String {
    let value = json!({
        "schema": "planimeter.document.result",
        "schema_version": 2,
        "kind": document.kind,
        "title": document.title,
        "partial": document.partial,
        "findings": document.findings,
        "notes": document.notes,
        "claims": claims::to_json(&document.claims),
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
        "charts": section.figures.iter().filter_map(chart).collect::<Vec<_>>(),
        "commands": section.commands.iter().map(|(_, command)| command).collect::<Vec<_>>(),
        "links": section.links.iter().map(|(_, place)| place).collect::<Vec<_>>(),
    })
}

fn table(table: &Table) -> Json {
    let row = |row: &Vec<Cell>| row.iter().map(cell).collect::<Vec<_>>();
    json!({
        "caption": table.caption,
        "columns": table.columns.iter().map(|column| &column.name).collect::<Vec<_>>(),
        "rows": table.rows().map(row).collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Json {
    match &cell.content {
        Content::Nothing => Json::Null,
        Content::Text(text) => json!(text.plain()),
        Content::Value(one) => {
            let mut out = value(one.value, one.spread);
            out["unit"] = json!(one.unit.text());
            out
        }
    }
}

/// Converts a value with its confidence to JSON. Its unit is left out, because the axis or the cell
/// states it.
fn value(number: f64, spread: Spread) -> Json {
    let number = number.is_finite().then_some(number);
    match spread {
        Spread::None => json!({ "value": number }),
        Spread::Confidence(half) | Spread::Cut { half, .. } | Spread::Untold { half, .. } => {
            json!({ "value": number, "ci95": half })
        }
        Spread::Deviation(deviation) => json!({ "value": number, "stddev": deviation }),
        Spread::About => json!({ "value": number, "approximate": true }),
    }
}

fn chart(figure: &Figure) -> Option<Json> {
    let Graphic::Plot(plot) = &figure.graphic else { return None };
    let axis = |axis: &Axis| json!({ "label": axis.label, "unit": axis.unit.text() });
    let series = |line: &Line| {
        let points = line.points.iter().map(|point| {
            let mut out = value(point.y, point.spread);
            out["x"] = json!(point.x);
            out
        });
        json!({
            "name": line.name,
            "origin": line.origin.word(),
            "points": points.collect::<Vec<_>>(),
        })
    };
    Some(json!({
        "title": plot.title,
        "remark": figure.remark,
        "x": axis(&plot.x),
        "y": axis(&plot.y),
        "series": plot.lines.iter().map(series).collect::<Vec<_>>(),
    }))
}
