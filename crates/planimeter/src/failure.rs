//! The failure of a command: one line for people and an exit status for programs.

use std::fmt;
use std::process::ExitCode;

/// The reason why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user's input cannot work: a wrong argument or file, or an address that cannot be
    /// listened on.
    Input(String),
    /// The measurement failed for a reason other than the user's input, such as a file that cannot
    /// be written.
    Run(String),
    /// The controller under test could not be reached.
    OutOfReach(String),
    /// The user interrupted the command before it had any result.
    Interrupted,
}

/// The exit status if the controller could not be reached. It lets scripts distinguish a missing
/// controller from a slow one.
pub(crate) const OUT_OF_REACH: u8 = 3;

/// The exit status of a command that the user interrupted. Shells use the same status for programs
/// that SIGINT ended.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn input(cause: impl fmt::Display) -> Self {
        Self::Input(cause.to_string())
    }

    pub(crate) fn run(cause: impl fmt::Display) -> Self {
        Self::Run(cause.to_string())
    }

    /// Converts an error of the probe, which measures controllers.
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
