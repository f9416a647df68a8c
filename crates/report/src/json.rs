//! `result.json` and its schema.

use probe::outcome::RunResult;

/// The result as written to `result.json`: indented, with plain lists on one line.
///
/// # Errors
/// A value that JSON cannot hold, which for a [`RunResult`] does not happen.
pub fn to_json(result: &RunResult) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(result)
}

/// Reads a `result.json`. The raw histograms are in files of their own and stay empty.
///
/// # Errors
/// Text that is no JSON, or lacks a field; the error names line and column.
pub fn from_json(text: &str) -> Result<RunResult, serde_json::Error> {
    serde_json::from_str(text)
}
