//! Writes `result.json` and `differences.csv` of a comparison.

use provenance::Provenance;
use serde_json::{Value, json};

use super::text::place;
use super::{Comparison, Outcome};
use crate::csv::{Cell, Text};
use crate::json::result;
use crate::results::{Quantity, Recorded};

/// The JSON schema of the output of [`to_json`].
pub const SCHEMA: &str = include_str!("../../schemas/compare-result.v1.schema.json");

/// Returns a comparison as JSON: every figure of each result with that of the base, in base units.
#[must_use]
pub fn to_json(
    comparison: &Comparison<'_>,
    outcomes: &[Outcome],
    provenance: &Provenance,
) -> String {
    let value = json!({
        "schema": "planimeter-compare-result.v1",
        "kind": comparison.base.kind.words(),
        "base": recorded(comparison.base),
        "others": comparison.others.iter().map(|against| json!({
            "result": recorded(against.other),
            "doubts": against.doubts,
            "only_in_one": against.alone,
            "figures": against.rows.iter().map(|row| {
                let (low, high) = row.change.interval.unzip();
                json!({
                    "place": place(row),
                    "metric": row.base.metric,
                    "unit": row.base.unit.text(),
                    "base": quantity(row.base),
                    "other": quantity(row.other),
                    "change": {"value": row.change.value, "low": low, "high": high},
                    "difference_shown": row.change.is_shown(),
                })
            }).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "conditions": outcomes.iter().map(|outcome| json!({
            "condition": outcome.condition,
            "of": outcome.of,
            "place": outcome.figure.as_ref().map(|judged| &judged.place),
            "value": outcome.figure.as_ref().map(|judged| judged.value),
            "base": outcome.figure.as_ref().map(|judged| judged.base),
            "certain": outcome.figure.as_ref().map(|judged| judged.certain),
            "held": outcome.held,
        })).collect::<Vec<_>>(),
    });
    result(provenance, value)
}

fn recorded(result: &Recorded) -> Value {
    json!({
        "name": result.name,
        "about": result.about,
        "started_at": result.started_at,
        "partial": result.partial,
    })
}

fn quantity(of: &Quantity) -> Value {
    let (low, high) = of.interval().unzip();
    json!({"value": of.value, "low": low, "high": high, "repetitions": of.repetitions()})
}

/// Returns a comparison as CSV, with a row for each figure that a result and the base have in
/// common.
#[must_use]
pub fn to_csv(comparison: &Comparison<'_>) -> String {
    let mut out = String::from(
        "result,place,metric,unit,base,base_low,base_high,other,other_low,other_high,change,change_low,change_high,shown\n",
    );
    for against in &comparison.others {
        for row in &against.rows {
            let ends = |ends: Option<(f64, f64)>| {
                let (low, high) = ends.unzip();
                format!("{},{}", Cell(low), Cell(high))
            };
            out.push_str(&format!(
                "{},{},{},{},{},{},{},{},{},{},{}\n",
                Text(&against.other.name),
                Text(&place(row)),
                Text(&row.base.metric),
                row.base.unit.text(),
                row.base.value,
                ends(row.base.interval()),
                row.other.value,
                ends(row.other.interval()),
                row.change.value,
                ends(row.change.interval),
                row.change.is_shown(),
            ));
        }
    }
    out
}
