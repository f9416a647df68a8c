//! Reports of the tests of RFC 8456 (benchmarks of SDN controllers): terminal table, `report.html`,
//! `result.json` and `trials.csv`, for one controller or several side by side.
//!
//! The reported items and their names are as sections 4.8 and 5 of the RFC define them.

mod figures;
mod page;
mod terminal;

use probe::rfc8456::outcome::{BenchmarkResult, TestOutcome};
use statistics::Unit;

use crate::csv::Quoted;
use crate::format::{estimate, figure};

pub use page::page;
pub use terminal::table;

/// The JSON schema of the output of [`to_json`].
pub const SCHEMA: &str = include_str!("../schemas/rfc8456-result.v1.schema.json");

/// The result of the RFC 8456 tests of one controller, with the controller's name.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The name of the controller that was tested.
    pub name: &'a str,
    /// The results of all RFC 8456 tests of the controller.
    pub result: &'a BenchmarkResult,
}

/// Returns the results of the RFC 8456 tests of one controller as JSON.
///
/// # Errors
/// Returns an error for a value that JSON cannot represent, which does not occur in a
/// [`BenchmarkResult`].
pub fn to_json(result: &BenchmarkResult) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(result).map(|text| text + "\n")
}

/// Reads results of RFC 8456 tests from the output of [`to_json`].
///
/// # Errors
/// Returns an error if the text is not such an output.
pub fn from_json(text: &str) -> Result<BenchmarkResult, serde_json::Error> {
    serde_json::from_str(text)
}

/// Returns whether the text of a `result.json` contains results of RFC 8456 tests.
#[must_use]
pub fn is_result(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    serde_json::from_str::<Head>(text)
        .is_ok_and(|head| head.schema == probe::rfc8456::outcome::SCHEMA)
}

/// Returns the results of the tests as CSV, with a row for each trial. Values are in the unit that
/// the row states.
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

/// Returns a text as a quoted cell of CSV, with spaces in place of line breaks.
fn quoted(text: &str) -> String {
    Quoted(&text.replace(['\n', '\r'], " ")).to_string()
}

/// Returns the name of a test: its variant's name if it has one, and its title otherwise.
fn name(outcome: &TestOutcome) -> String {
    match &outcome.variant {
        None => outcome.test.title().to_owned(),
        Some(variant) => variant.clone(),
    }
}

/// Formats the mean of a test's trials with its interval, or a dash if there is none.
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

/// Formats the number of trials of a test that yielded a value.
fn trials(outcome: &TestOutcome) -> String {
    let measured = outcome.trials.iter().filter(|trial| trial.value.is_some()).count();
    format!("{measured} of {}", outcome.trials.len())
}

/// Returns the remarks on a test, without repetition.
fn remarks(outcome: &TestOutcome) -> Vec<String> {
    crate::describe::distinct(outcome.trials.iter().filter_map(|trial| trial.remark.clone()))
}

/// Returns the parameters that RFC 8456 requires in reports, as names and values.
fn parameters(result: &BenchmarkResult) -> Vec<(&'static str, String)> {
    let parameters = &result.parameters;
    let mut rows = vec![
        ("Controller", parameters.controller.clone()),
        (
            "Redundancy",
            match parameters.standby.as_slice() {
                [] => "standalone, as far as is known".to_owned(),
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
