//! The native part of the Python package `planimeter`.
//!
//! This crate wraps what other crates offer and computes nothing itself. Each class here is one
//! class of the package (`python/planimeter/`), whose modules export it under its public name.
//! `python/planimeter/_native.pyi` has the types; `tests/` compares them with the module by
//! `mypy.stubtest`.
//!
//! * A number goes in and out exactly (`numbers`).
//! * An error becomes an exception that says what, where and the remedy (`errors`).
//! * Work that may take long runs without the GIL, and ends soon after Ctrl-C (`interrupts`).

mod command;
mod curve;
mod emulated;
mod errors;
mod interrupts;
mod network;
mod numbers;
mod packets;
mod program;
mod results;
mod switch;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use super::{PyResult, pyfunction};

    #[pymodule_export]
    use super::command::{command_flags, run_command};
    #[pymodule_export]
    use super::curve::{Curve, Deviation};
    #[pymodule_export]
    use super::emulated::OpenFlowSwitch;
    #[pymodule_export]
    use super::network::{FlowBound, Network, ServerBound};
    #[pymodule_export]
    use super::program::Program;
    #[pymodule_export]
    use super::results::{Compared, Recorded, list_histograms, read_histograms};
    #[pymodule_export]
    use super::switch::{Server, Switch};

    /// Returns the version of the package.
    #[pyfunction]
    fn version() -> PyResult<&'static str> {
        Ok(env!("CARGO_PKG_VERSION"))
    }
}
