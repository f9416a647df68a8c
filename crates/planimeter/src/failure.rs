//! How a verb fails: one line for people, an exit status for programs.

use std::fmt;
use std::process::ExitCode;

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What the user gave cannot work: a wrong argument or file, or an address that cannot be listened on.
    Input(String),
    /// Something around the measurement went wrong.
    Run(String),
    /// Who is to be measured could not be reached.
    OutOfReach(String),
    /// The user ended the verb, and there is nothing to leave.
    Interrupted,
}

/// Exit status where the controller could not be reached, so that a script can tell a controller
/// that is not there from one that is too slow.
pub(crate) const OUT_OF_REACH: u8 = 3;

/// Exit status of a verb that the user ended, as shells say that a program was ended by SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn input(cause: impl fmt::Display) -> Self {
        Self::Input(cause.to_string())
    }

    pub(crate) fn run(cause: impl fmt::Display) -> Self {
        Self::Run(cause.to_string())
    }

    /// The failure of a probe run.
    pub(crate) fn of_probe(error: &probe::RunError) -> Self {
        match error {
            _ if error.is_input() => Self::input(error),
            _ if error.is_out_of_reach() => Self::OutOfReach(error.to_string()),
            _ => Self::run(error),
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Input(_) => 2,
            Self::Run(_) => 1,
            Self::OutOfReach(_) => OUT_OF_REACH,
            Self::Interrupted => INTERRUPTED,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(text) | Self::Run(text) | Self::OutOfReach(text) => {
                f.write_str(&input::shortened(text))
            }
            Self::Interrupted => f.write_str("interrupted before anything was measured"),
        }
    }
}
