//! The command `planimeter`, which the console script of the package runs, and the flags of its
//! verbs.

use std::ffi::OsString;
use std::path::PathBuf;

use planimeter::{Flag, Started};
use pyo3::prelude::*;

use crate::errors::{Fault, Kind};

/// Runs the command, and returns its exit status. The process must end after that. The progress is
/// written to the file `progress` as lines of JSON.
#[pyfunction]
#[pyo3(signature = (words, script, progress))]
pub(crate) fn run_command(
    py: Python<'_>,
    words: Vec<OsString>,
    script: PathBuf,
    progress: Option<PathBuf>,
) -> u8 {
    // A panic was reported by the standard library. Its status is that of the binary.
    const PANICKED: u8 = 101;
    py.detach(|| {
        let started = Started { words, executable: script, progress };
        std::panic::catch_unwind(|| planimeter::run(started)).unwrap_or(PANICKED)
    })
}

/// A flag: its name, its other names, the name of its kind, the name of its value, and its help
/// text.
type ShownFlag = (String, Vec<String>, &'static str, Option<String>, String);

/// Returns the flags of a verb, whose words are those of the command line.
#[pyfunction]
pub(crate) fn command_flags(words: Vec<String>) -> PyResult<Vec<ShownFlag>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let flags = planimeter::flags(&words).ok_or_else(|| {
        Fault::new(Kind::Internal, format!("the command has no verb {}", words.join(" ")))
    })?;
    let shown = |flag: Flag| {
        let Flag { name, aliases, kind, value_name, about } = flag;
        (name, aliases, kind.name(), value_name, about)
    };
    Ok(flags.into_iter().map(shown).collect())
}
