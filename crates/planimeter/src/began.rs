//! A measurement begins: its command, its build and its time are the same in the results of all verbs.

use provenance::{Began, Build};

use crate::probe::arguments;

/// Begins now, with the command line as results may show it.
pub(crate) fn now() -> Began {
    Began::now(command_line())
}

/// The command line as results may show it: without a password.
pub(crate) fn command_line() -> Vec<String> {
    arguments::recorded(std::env::args())
}

/// The build of this program, as `build.rs` found it.
pub(crate) fn build() -> Build {
    let commit = Some(env!("PLANIMETER_COMMIT")).filter(|commit| !commit.is_empty());
    Build {
        commit: commit.map(str::to_owned),
        modified: commit.map(|_| env!("PLANIMETER_MODIFIED") == "true"),
        profile: env!("PLANIMETER_PROFILE").to_owned(),
    }
}
