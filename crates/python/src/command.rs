//! The command `planimeter`, which the console script of the package runs.

use std::ffi::OsString;
use std::path::PathBuf;

use planimeter::Started;
use pyo3::prelude::*;

/// Runs the command, and returns its exit status. The process must end after that.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>, script: PathBuf) -> u8 {
    // A panic was reported by the standard library. Its status is that of the binary.
    const PANICKED: u8 = 101;
    py.detach(|| {
        std::panic::catch_unwind(|| planimeter::run(Started { words, executable: script }))
            .unwrap_or(PANICKED)
    })
}
