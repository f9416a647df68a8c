//! `report.html`: one file that opens offline.

use probe::outcome::RunResult;

/// The whole document. `configuration` is the configuration as resolved, in TOML.
#[must_use]
pub fn document(result: &RunResult, configuration: &str) -> String {
    let _ = configuration;
    result.started_at.clone()
}
