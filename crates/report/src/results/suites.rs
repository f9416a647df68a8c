//! Reads results of commands that combine several measurements, such as the tests of RFC 8456 and
//! the documents of `demo`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use statistics::{Estimate, Unit};

use super::read::{list, recorded, words};
use super::{Dimensions, Kind, Quantity, Recorded, Spread};

const UNITS: [Unit; 7] = [
    Unit::Seconds,
    Unit::PerSecond,
    Unit::Count,
    Unit::Fraction,
    Unit::CpuPercent,
    Unit::Bytes,
    Unit::Index,
];

/// The settings that influence the results of RFC 8456. The controller and its protocol towards
/// switches are left out, since they are what is compared.
const PARAMETERS: [&str; 6] = ["switches", "links", "topology", "hosts", "frame_bytes", "trial_s"];

/// Reads a result of the tests of RFC 8456. Each test has one figure, which is named by the test.
pub(super) fn rfc8456(value: &Value) -> Recorded {
    let parameters = &value["parameters"];
    let about = format!(
        "tests of RFC 8456; controller {}, {}",
        words(&parameters["controller"]),
        words(&parameters["southbound"])
    );
    let mut recorded = recorded(value, Kind::Rfc8456, about, &[]);
    recorded.partial = (value["completion"]["state"] != "complete")
        .then(|| format!("PARTIAL: {}", words(&value["completion"]["reason"])));
    let settings = PARAMETERS.map(|key| (key.to_owned(), parameters[key].to_string()));
    recorded.settings.extend(settings);
    for test in list(&value["tests"]) {
        let Some(unit) = serde_json::from_value(test["unit"].clone()).ok() else { continue };
        let values: Vec<f64> =
            list(&test["trials"]).iter().filter_map(|trial| trial["value"].as_f64()).collect();
        let Some(estimate) = Estimate::of(&values) else { continue };
        let variant = test["variant"].as_str().map_or_else(String::new, |text| format!(", {text}"));
        let metric = words(&test["test"]);
        recorded.figures.push(Quantity {
            subject: String::new(),
            place: format!("{}{variant}", words(&test["section"])),
            dimensions: Dimensions::default()
                .with_json("section", &test["section"])
                .with_json("variant", &test["variant"]),
            across: None,
            more_is_better: match metric.as_str() {
                // These figures are relative to the value without faults or attacks, so neither
                // direction is better.
                "exception_handling" | "denial_of_service" => None,
                _ => Some(unit != Unit::Seconds),
            },
            metric,
            unit,
            value: estimate.mean,
            spread: Spread::Repetitions(estimate),
            headline: true,
            doubt: None,
        });
    }
    recorded
}

/// Reads a document, which is a report of several measurements. Each figure is named by the row and
/// the column of its table. If another table of the section has a figure with the same name, the
/// caption of the table is added. Published values are left out, since they are the same in all
/// documents.
pub(super) fn document(value: &Value) -> Recorded {
    let kind = words(&value["kind"]);
    let about = format!("{kind}: {}", words(&value["title"]));
    let mut recorded = recorded(value, Kind::Document, about, &[]);
    recorded.partial = value["partial"].as_str().map(|reason| format!("PARTIAL: {reason}"));
    recorded.settings.insert("kind".to_owned(), kind);
    for section in list(&value["sections"]) {
        let id = words(&section["id"]);
        let tables = list(&section["tables"]);
        let found: Vec<Vec<Quantity>> = tables.iter().map(figures_of).collect();
        let mut names: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for one in found.iter().flatten() {
            *names.entry((one.place.as_str(), one.metric.as_str())).or_default() += 1;
        }
        for (table, figures) in tables.iter().zip(&found) {
            let caption = words(&table["caption"]);
            recorded.figures.extend(figures.iter().map(|one| {
                let is_alone = names.get(&(one.place.as_str(), one.metric.as_str())) == Some(&1);
                let place = match is_alone {
                    true => format!("{id}, {}", one.place),
                    false => format!("{id}, {caption}, {}", one.place),
                };
                let mut dimensions = Dimensions::default().with("section", id.as_str());
                if !caption.is_empty() {
                    dimensions = dimensions.with("table", caption.as_str());
                }
                for (name, value) in one.dimensions.iter() {
                    dimensions = dimensions.with(name, value.clone());
                }
                Quantity { place, dimensions, ..one.clone() }
            }));
        }
    }
    recorded
}

/// A measured cell of a table, with half of the width of its confidence interval.
struct Cell<'a> {
    row: &'a Value,
    value: f64,
    unit: Unit,
    half: Option<f64>,
}

/// Returns the figures of a table. The name of the row identifies what each figure measures.
fn figures_of(table: &Value) -> Vec<Quantity> {
    let rows = list(&table["rows"]);
    let names: Vec<String> = list(&table["columns"]).iter().map(words).collect();
    let leading = leading_columns(rows, names.len());
    let mut figures = Vec::new();
    for (at, column) in names.iter().enumerate().skip(leading) {
        if column == "published" {
            continue;
        }
        let found: Vec<Cell<'_>> = rows
            .iter()
            .filter_map(|row| {
                let cell = &row[at];
                let unit = cell["unit"].as_str()?;
                let unit = UNITS.into_iter().find(|one| one.text() == unit)?;
                Some(Cell {
                    row,
                    value: cell["value"].as_f64()?,
                    unit,
                    half: cell["ci95"].as_f64(),
                })
            })
            .collect();
        let units: BTreeSet<&str> = found.iter().map(|cell| cell.unit.text()).collect();
        let name = column.replace(' ', "-");
        figures.extend(found.iter().map(|Cell { row, value, unit, half }| Quantity {
            subject: String::new(),
            place: row_name(row, &names, leading),
            dimensions: row_dimensions(row, &names, leading),
            across: None,
            // A metric must have a single unit, so that a condition can contain a limit.
            metric: match units.len() {
                1 => name.clone(),
                _ => format!("{name}({})", unit.text().replace(' ', "-")),
            },
            unit: *unit,
            value: *value,
            spread: half.map_or(Spread::Unknown, |half| Spread::Interval {
                low: value - half,
                high: value + half,
            }),
            more_is_better: match unit {
                Unit::PerSecond => Some(true),
                Unit::Seconds => Some(false),
                _ => None,
            },
            headline: true,
            doubt: None,
        }));
    }
    figures
}

/// Returns the number of leading columns that are needed to tell the rows of a table apart. It is
/// at least 1. A column of measured values, which have intervals, is never counted.
fn leading_columns(rows: &[Value], columns: usize) -> usize {
    let is_measured = |at: usize| rows.iter().any(|row| row[at]["ci95"].is_number());
    let distinct = |count: usize| {
        let names = rows.iter().map(|row| (0..count).map(|at| row[at].to_string()).collect());
        names.collect::<BTreeSet<Vec<String>>>().len()
    };
    let usable = (1..columns).take_while(|at| !is_measured(*at)).count();
    // If these columns do not distinguish all rows, only the first one is used.
    (1..=usable + 1).find(|count| distinct(*count) == rows.len()).unwrap_or(1)
}

/// Returns the name of a row: its first cell, followed by each further leading cell with the name
/// of its column.
fn row_name(row: &Value, columns: &[String], leading: usize) -> String {
    let mut name = words(&row[0]);
    for (at, column) in columns.iter().enumerate().take(leading).skip(1) {
        let cell = match row[at]["value"].as_f64() {
            Some(value) => value.to_string(),
            None => words(&row[at]),
        };
        name.push_str(&format!(", {column} {cell}"));
    }
    name
}

/// Returns the leading cells of a row as dimensions, which are named by the columns.
fn row_dimensions(row: &Value, columns: &[String], leading: usize) -> Dimensions {
    let cells = columns.iter().enumerate().take(leading);
    cells.fold(Dimensions::default(), |dimensions, (at, column)| {
        let cell = if row[at].is_object() { &row[at]["value"] } else { &row[at] };
        dimensions.with_json(column, cell)
    })
}

#[cfg(test)]
mod tests {
    use crate::results::read;

    #[test]
    fn tests_of_the_rfc_are_compared_by_section_and_variant() {
        let text = r#"{"schema": "planimeter.rfc8456.result", "schema_version": 1,
            "completion": {"state": "partial", "reason": "interrupted"},
            "parameters": {"controller": "c", "southbound": "OpenFlow 1.3", "switches": 6},
            "tests": [{"test": "topology_discovery_time", "section": "5.1.1", "variant": null, "unit": "seconds",
                "trials": [{"value": 0.5}, {"value": 1.5}, {"value": null}]},
                {"test": "denial_of_service", "section": "5.3.2", "variant": "packets", "unit": "fraction",
                "trials": [{"value": null}]}]}"#;
        let result = read("run", text).expect("a result");
        assert_eq!(result.partial.as_deref(), Some("PARTIAL: interrupted"));
        assert_eq!(result.settings.get("switches").map(String::as_str), Some("6"));
        let [time] = result.figures.as_slice() else { panic!("{:?}", result.figures) };
        assert_eq!((time.place.as_str(), time.value, time.repetitions()), ("5.1.1", 1.0, Some(2)));
        assert_eq!(time.more_is_better, Some(false));
    }

    /// The rows of `planimeter dut` about updates begin with the operation, and differ in the
    /// number of updates in a request and in the window.
    #[test]
    fn rows_that_begin_alike_are_compared_by_what_tells_them_apart() {
        let row = |batch: u32, window: u32, rate: f64| {
            format!(
                r#"["insert", {{"value": {batch}.0, "unit": "count"}}, {{"value": {window}.0, "unit": "count"}},
                    {{"value": {rate}, "ci95": 1.0, "unit": "per second"}}, "switch"]"#
            )
        };
        let rows = [row(1, 1, 10.0), row(1, 8, 20.0), row(100, 8, 30.0)].join(",");
        let text = format!(
            r#"{{"schema": "planimeter.document.result", "schema_version": 1, "kind": "dut", "title": "t", "partial": null,
            "sections": [{{"id": "updates", "tables": [
                {{"caption": "Updates", "columns": ["operation", "batch", "window", "rate", "limit"], "rows": [{rows}]}},
                {{"caption": "Before", "columns": ["request", "rate"], "rows": [["all", {{"value": 1.0, "unit": "per second"}}]]}},
                {{"caption": "After", "columns": ["request", "rate"], "rows": [["all", {{"value": 2.0, "unit": "per second"}}]]}}]}}]}}"#
        );
        let result = read("run", &text).expect("a result");
        let found: Vec<_> = result
            .figures
            .iter()
            .map(|one| (one.place.as_str(), one.metric.as_str(), one.value))
            .collect();
        assert_eq!(
            found,
            [
                ("updates, insert, batch 1, window 1", "rate", 10.0),
                ("updates, insert, batch 1, window 8", "rate", 20.0),
                ("updates, insert, batch 100, window 8", "rate", 30.0),
                ("updates, Before, all", "rate", 1.0),
                ("updates, After, all", "rate", 2.0),
            ]
        );
    }

    #[test]
    fn documents_are_compared_by_row_and_column_and_not_by_what_was_published() {
        let text = r#"{"schema": "planimeter.document.result", "schema_version": 1, "kind": "demo", "title": "t",
            "partial": null, "sections": [{"id": "controller", "tables": [{"caption": "", "columns":
            ["figure", "published", "measured here"], "rows": [
            ["rate", {"value": 1.0, "unit": "per second"}, {"value": 3.0, "ci95": 0.5, "unit": "per second"}],
            ["time", "less", {"value": 2.0, "unit": "seconds"}], ["none", null, "not measured"]]}]}]}"#;
        let result = read("run", text).expect("a result");
        let found: Vec<_> = result
            .figures
            .iter()
            .map(|one| (one.place.as_str(), one.metric.as_str(), one.interval()))
            .collect();
        assert_eq!(
            found,
            [
                ("controller, rate", "measured-here(per-second)", Some((2.5, 3.5))),
                ("controller, time", "measured-here(seconds)", None),
            ]
        );
        assert_eq!(result.settings.get("kind").map(String::as_str), Some("demo"));
    }
}
