//! Exceptions: the classes of `planimeter.errors`, raised with what, where and the remedy.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A kind of fault. Each has a class in `python/planimeter/errors.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A value or a file is wrong.
    Input,
    /// A curve is wrong, or an operation on curves has no result.
    Curve,
    /// A network is wrong, or an analysis does not apply to it.
    Network,
    /// A program in P4 is wrong.
    Program,
    /// A run directory cannot be read.
    Result,
    /// Something is named that does not exist.
    Missing,
    /// The state of an object does not allow the operation.
    Refused,
    /// A computation would exceed a limit.
    Limit,
    /// A device cannot be reached, or the connection to it is lost.
    Unreachable,
    /// The operating system refuses something.
    System,
    /// A fault of Planimeter itself.
    Internal,
}

impl Kind {
    /// Returns the name of the class in `planimeter.errors`.
    fn class(self) -> &'static str {
        match self {
            Self::Input => "InputError",
            Self::Curve => "CurveError",
            Self::Network => "NetworkError",
            Self::Program => "ProgramError",
            Self::Result => "ResultError",
            Self::Missing => "NotFoundError",
            Self::Refused => "RefusedError",
            Self::Limit => "LimitError",
            Self::Unreachable => "UnreachableError",
            Self::System => "SystemFault",
            Self::Internal => "InternalError",
        }
    }
}

/// A fault, which becomes an exception of the class of its kind.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    kind: Kind,
    what: String,
    place: Option<String>,
    remedy: Option<String>,
}

impl Fault {
    /// Returns a fault without place and remedy.
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), place: None, remedy: None }
    }

    /// Returns the fault with its place, such as an argument, or a file with line and column.
    pub(crate) fn at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    /// Returns the fault with its remedy.
    pub(crate) fn mended_by(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        Python::attach(|py| {
            let made = py
                .import("planimeter.errors")
                .and_then(|errors| errors.getattr(fault.kind.class()))
                .and_then(|class| class.call1((&fault.what, &fault.place, &fault.remedy)));
            match made {
                Ok(exception) => PyErr::from_value(exception),
                Err(failure) => {
                    let error = PyRuntimeError::new_err(fault.what);
                    error.set_cause(py, Some(failure));
                    error
                }
            }
        })
    }
}
