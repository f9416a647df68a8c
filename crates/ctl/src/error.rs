//! The reasons why a command fails.

use entities::Code;
use entities::names::NameError;
use entities::plain::PlainError;

/// The reason why a command fails. The message says what is wrong, where, and what to do instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The line cannot be split into words.
    #[error(transparent)]
    Words(#[from] crate::words::UnclosedQuote),
    /// No command has this name.
    #[error("there is no command '{word}'{}", meant.as_ref().map_or_else(|| "; `help` lists them".to_owned(), |meant| format!("; did you mean '{meant}'?")))]
    NoCommand {
        /// The word that should be the name of a command.
        word: String,
        /// The command that the user probably meant, or `None` if no name is similar.
        meant: Option<String>,
    },
    /// The operands do not have the form that the command requires.
    #[error("{problem}; usage: {usage}")]
    Usage {
        /// The synopsis of the command.
        usage: String,
        /// The fault of the operands, as a clause.
        problem: String,
    },
    /// A name belongs to no object of the pipeline, or to several.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A value does not fit its match field or action parameter.
    #[error(transparent)]
    Plain(#[from] PlainError),
    /// A value does not fit the cell of an array, or the field of a value set.
    #[error("'{text}' is not a value of {name}: {problem}")]
    Value {
        /// The name of the array or value set.
        name: String,
        /// The value as it was written.
        text: String,
        /// The reason why the value does not fit.
        problem: String,
    },
    /// The command needs a pipeline, but the device runs none.
    #[error("the device has no pipeline; `pipeline push PROGRAM` gives it one")]
    NoPipeline,
    /// A command of simple_switch_CLI has no counterpart in P4Runtime.
    #[error("{command} cannot be done over P4Runtime: {reason}")]
    Impossible {
        /// The name of the command.
        command: &'static str,
        /// The reason, and the alternative to the command if there is one.
        reason: String,
    },
    /// The command refers to something that does not exist, or that this session does not know.
    #[error("{0}")]
    Missing(String),
    /// The request to the device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl CommandError {
    /// Returns whether the user interrupted the command.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Device(DeviceError::Interrupted))
    }
}

/// The reason why a request to a device fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The device refuses the request.
    #[error("the device refuses: {message} ({code:?})")]
    Refused {
        /// The canonical code of the refusal.
        code: Code,
        /// The message of the device.
        message: String,
    },
    /// The session may not write, because it is not the primary controller.
    #[error("{0}")]
    NotPrimary(String),
    /// The connection to the device failed, for this reason.
    #[error("{0}")]
    Connection(String),
    /// A file of the user cannot be used.
    #[error("{0}")]
    File(String),
    /// The device lacks the service that the command needs.
    #[error("this device cannot do it: {0}")]
    Unsupported(String),
    /// The command needs a device, and there is none.
    #[error("this needs a device; give its address instead of `-`")]
    NoDevice,
    /// The user interrupted the request.
    #[error("interrupted")]
    Interrupted,
}

impl DeviceError {
    /// Returns whether the device refused with this code.
    #[must_use]
    pub fn has_code(&self, wanted: Code) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == wanted)
    }
}
