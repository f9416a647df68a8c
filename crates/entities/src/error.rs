//! The answer of who refuses: a canonical code and a sentence.
//!
//! Every refusal ends as one of the codes of `google.rpc` and a sentence for the author of the
//! controller, so that pair is what a data plane answers with; there is nothing finer that a
//! client could tell apart. Which update of a batch it belongs to is said by its place in the
//! list of outcomes.

use std::fmt;

/// The longest message in bytes: names that clients choose are part of messages, and a status in
/// whose headers they do not fit reaches a client as RESOURCE_EXHAUSTED.
pub const LONGEST_MESSAGE: usize = 500;

/// The canonical codes (`google/rpc/code.proto`), with their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    /// Done.
    Ok = 0,
    /// Cancelled by the caller.
    Cancelled = 1,
    /// An error that has no other code.
    Unknown = 2,
    /// The request is wrong whatever the state.
    InvalidArgument = 3,
    /// Too late.
    DeadlineExceeded = 4,
    /// There is no such thing.
    NotFound = 5,
    /// It is there already.
    AlreadyExists = 6,
    /// The caller may not.
    PermissionDenied = 7,
    /// No room.
    ResourceExhausted = 8,
    /// Not in this state.
    FailedPrecondition = 9,
    /// Given up, because something else failed.
    Aborted = 10,
    /// Beyond the valid range.
    OutOfRange = 11,
    /// Not supported here.
    Unimplemented = 12,
    /// An invariant is broken.
    Internal = 13,
    /// Not now.
    Unavailable = 14,
    /// Data is gone.
    DataLoss = 15,
    /// Who are you?
    Unauthenticated = 16,
}

impl Code {
    /// All codes, by number.
    const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The code with this number; what has no code is [`Code::Unknown`].
    #[must_use]
    pub fn from_number(number: i32) -> Self {
        let known = usize::try_from(number).ok().and_then(|number| Self::ALL.get(number));
        known.copied().unwrap_or(Self::Unknown)
    }
}

/// Why one update, or one request of a read, was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EntityError {
    code: Code,
    message: String,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident $code:ident)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(message: impl Into<String>) -> Self {
            Self::new(Code::$code, message)
        }
    )*};
}

impl EntityError {
    /// An error with the given canonical code and a message that says what is wrong and where.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: shortened(message.into()) }
    }

    constructors! {
        /// INVALID_ARGUMENT.
        invalid InvalidArgument
        /// NOT_FOUND.
        not_found NotFound
        /// ALREADY_EXISTS.
        exists AlreadyExists
        /// RESOURCE_EXHAUSTED.
        exhausted ResourceExhausted
        /// PERMISSION_DENIED.
        denied PermissionDenied
        /// OUT_OF_RANGE.
        out_of_range OutOfRange
        /// FAILED_PRECONDITION: something else refers to it.
        in_use FailedPrecondition
        /// UNIMPLEMENTED.
        unimplemented Unimplemented
    }

    /// The canonical code, never [`Code::Ok`] for errors that Planimeter makes.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Puts the place where the error arose before its message.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        self.message = shortened(format!("{place}: {}", self.message));
        self
    }
}

/// A message that is not longer than [`LONGEST_MESSAGE`].
#[must_use]
pub fn shortened(mut message: String) -> String {
    const CUT: &str = "\u{2026}";
    if message.len() > LONGEST_MESSAGE {
        let mut ends = (0..=LONGEST_MESSAGE - CUT.len()).rev();
        let end = ends.find(|end| message.is_char_boundary(*end)).unwrap_or(0);
        message.truncate(end);
        message.push_str(CUT);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_numbers_of_google_rpc() {
        for (number, code) in (0..).zip(Code::ALL) {
            assert_eq!((code as i32, Code::from_number(number)), (number, code));
        }
        assert_eq!((Code::from_number(-1), Code::from_number(17)), (Code::Unknown, Code::Unknown));
    }
}
