//! How a verb fails: one line for people, an exit status for programs.

use std::fmt;
use std::process::ExitCode;

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the user gave cannot work.
    Input(String),
    /// Something around the measurement went wrong.
    Run(String),
}

impl Failure {
    pub(crate) fn input(cause: impl fmt::Display) -> Self {
        Self::Input(cause.to_string())
    }

    pub(crate) fn run(cause: impl fmt::Display) -> Self {
        Self::Run(cause.to_string())
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Input(_) => 2,
            Self::Run(_) => 1,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(text) | Self::Run(text) => f.write_str(text),
        }
    }
}
