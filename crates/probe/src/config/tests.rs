//! Tests of the configuration of a run. This file contains the functions that its submodules share.

mod checks;
mod messages;
mod round_trip;
mod sources;
mod table;

use std::path::Path;

use super::{Config, Settings};

/// Resolves the text of a TOML file to a configuration. In the error message, the file is called
/// `probe.toml`.
fn resolve(toml: &str) -> Result<super::Resolved, String> {
    resolve_in(toml, Path::new("probe.toml"))
}

fn resolve_in(toml: &str, file: &Path) -> Result<super::Resolved, String> {
    let mut settings = Settings::new();
    settings.read_toml(toml, file);
    settings.resolve().map_err(|error| error.to_string())
}

fn config(toml: &str) -> Config {
    resolve(toml).unwrap_or_else(|error| panic!("{toml}\n{error}")).config
}

fn complaints(toml: &str) -> String {
    resolve(toml).expect_err(toml)
}
