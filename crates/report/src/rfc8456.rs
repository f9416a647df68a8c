//! Runs of the tests of RFC 8456: terminal table, `report.html`, `result.json`, `trials.csv`; of one controller, or of
//! several side by side.
//!
//! What is reported and how it is named is that of the document, sections 4.8 and 5.

mod figures;
mod page;
mod terminal;

use probe::rfc8456::outcome::{BenchmarkResult, TestOutcome};
use statistics::Unit;

use crate::format::{estimate, figure};

pub use page::page;
pub use terminal::table;

/// The JSON schema of what [`to_json`] gives.
pub const SCHEMA: &str = include_str!("../schemas/rfc8456-result.v1.schema.json");

/// A result and what the controller is called.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The name.
    pub name: &'a str,
    /// Its result.
    pub result: &'a BenchmarkResult,
}

/// Everything that was measured, as JSON.
///
/// # Errors
/// A value that JSON cannot hold, which for a [`BenchmarkResult`] does not happen.
pub fn to_json(result: &BenchmarkResult) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(result).map(|text| text + "\n")
}

/// Reads what [`to_json`] wrote.
///
/// # Errors
/// When it is something else.
pub fn from_json(text: &str) -> Result<BenchmarkResult, serde_json::Error> {
    serde_json::from_str(text)
}

/// Whether a `result.json` is of such a run.
#[must_use]
pub fn is_result(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    serde_json::from_str::<Head>(text)
        .is_ok_and(|head| head.schema == probe::rfc8456::outcome::SCHEMA)
}

/// Returns a row for each trial; values in the unit of the row.
#[must_use]
pub fn to_csv(result: &BenchmarkResult) -> String {
    let mut out = String::from("section,test,variant,trial,value,unit,remark\n");
    for outcome in &result.tests {
        for (number, trial) in (1..).zip(&outcome.trials) {
            let row = [
                outcome.section.clone(),
                quoted(outcome.test.title()),
                quoted(outcome.variant.as_deref().unwrap_or_default()),
                format!("{number}"),
                trial.value.map_or_else(String::new, |value| value.to_string()),
                outcome.unit.text().to_owned(),
                quoted(trial.remark.as_deref().unwrap_or_default()),
            ];
            out.push_str(&row.join(","));
            out.push('\n');
        }
    }
    out
}

/// Returns a cell of CSV that may hold anything (RFC 4180, section 2).
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\"").replace(['\n', '\r'], " "))
}

/// What a test is called: by section, title and circumstances.
fn name(outcome: &TestOutcome) -> String {
    match &outcome.variant {
        None => outcome.test.title().to_owned(),
        Some(variant) => variant.clone(),
    }
}

/// Returns the mean with its interval, or a dash.
fn value(outcome: &TestOutcome) -> String {
    let found = outcome.value.as_ref();
    found.map_or_else(|| "–".to_owned(), |value| estimate(value, outcome.unit))
}

fn deviation(outcome: &TestOutcome) -> Option<String> {
    outcome.deviation.map(|deviation| {
        let sign = if deviation > 0.0 { "+" } else { "" };
        format!("{sign}{}", figure(deviation, Unit::Fraction))
    })
}

/// Trials that had a value, of all.
fn trials(outcome: &TestOutcome) -> String {
    let measured = outcome.trials.iter().filter(|trial| trial.value.is_some()).count();
    format!("{measured} of {}", outcome.trials.len())
}

/// What there is to say of a test, each thing once.
fn remarks(outcome: &TestOutcome) -> Vec<String> {
    crate::describe::distinct(outcome.trials.iter().filter_map(|trial| trial.remark.clone()))
}

/// Returns the parameters that the document wants reported, by name.
fn parameters(result: &BenchmarkResult) -> Vec<(&'static str, String)> {
    let parameters = &result.parameters;
    let mut rows = vec![
        ("Controller", parameters.controller.clone()),
        (
            "Redundancy",
            match parameters.standby.as_slice() {
                [] => "standalone, as far as was told".to_owned(),
                standby => format!("stand by: {}", standby.join(", ")),
            },
        ),
        ("Southbound protocol", crate::describe::protocol(&parameters.southbound)),
        (
            "Northbound interface",
            parameters.northbound.clone().unwrap_or_else(|| "none".to_owned()),
        ),
        ("Connection setup", parameters.connection.clone()),
        ("Network device type", "emulated".to_owned()),
        ("Nodes and links", format!("{} and {}", parameters.switches, parameters.links)),
        ("Topology", parameters.topology.clone()),
        ("Hosts", parameters.hosts.to_string()),
        ("Data-plane packets", format!("UDP of {} bytes", parameters.frame_bytes)),
        ("Trials of each test", parameters.trials.to_string()),
        ("Trial duration", crate::format::duration(parameters.trial_s)),
    ];
    rows.iter_mut().for_each(|(_, value)| *value = crate::format::printable(value));
    rows
}

#[cfg(test)]
mod tests;
