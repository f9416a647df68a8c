//! The reasons why a command fails.

use entities::Code;
use entities::names::NameError;
use entities::plain::PlainError;

/// The reason why a command fails: what is wrong, where, and what to do instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The line is not a sequence of words.
    #[error(transparent)]
    Words(#[from] crate::words::UnclosedQuote),
    /// No command has this name.
    #[error("there is no command '{word}'{}", meant.as_ref().map_or_else(|| "; `help` lists them".to_owned(), |meant| format!("; did you mean '{meant}'?")))]
    NoCommand {
        /// The name.
        word: String,
        /// The command that the user probably means.
        meant: Option<String>,
    },
    /// The operands do not have the form that the command needs.
    #[error("{problem}; usage: {usage}")]
    Usage {
        /// The form of the command.
        usage: String,
        /// The fault of the operands.
        problem: String,
    },
    /// A name means no object of the pipeline, or several.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A value does not fit its field or parameter.
    #[error(transparent)]
    Plain(#[from] PlainError),
    /// A value does not fit its cell.
    #[error("'{text}' is not a value of {name}: {problem}")]
    Value {
        /// The name of the array or value set.
        name: String,
        /// The value as it was written.
        text: String,
        /// The reason why it does not fit.
        problem: String,
    },
    /// The command needs a pipeline.
    #[error("the device has no pipeline; `pipeline push PROGRAM` gives it one")]
    NoPipeline,
    /// A command of simple_switch_CLI has no counterpart in P4Runtime.
    #[error("{command} cannot be done over P4Runtime: {reason}")]
    Impossible {
        /// The name of the command.
        command: &'static str,
        /// The reason, and the alternative if there is one.
        reason: String,
    },
    /// The command refers to something that does not exist, or is not known to this session.
    #[error("{0}")]
    Missing(String),
    /// The device, or the way to it, refuses the request.
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
    /// The connection failed.
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
