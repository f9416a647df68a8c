//! Errors of the data plane and the control plane: a canonical code and a message.
//!
//! Every refusal reaches the client as one of the codes of `google.rpc` and a message for the
//! author of the controller. A data plane therefore reports exactly this pair, since clients could
//! not distinguish anything finer. The position of an error in the list of outcomes shows to which
//! update of a batch it belongs.

use std::fmt;

/// The largest length of an error message in bytes. It is limited because messages contain names
/// that clients choose. A status that does not fit into the headers of a response would reach the
/// client as RESOURCE_EXHAUSTED.
pub const LONGEST_MESSAGE: usize = 500;

/// The canonical codes (`google/rpc/code.proto`), with their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    /// The request succeeded.
    Ok = 0,
    /// The caller cancelled the request.
    Cancelled = 1,
    /// An error without a more specific code.
    Unknown = 2,
    /// The request is invalid, regardless of the state of the system.
    InvalidArgument = 3,
    /// The deadline of the request passed before it was executed.
    DeadlineExceeded = 4,
    /// The entity does not exist.
    NotFound = 5,
    /// The entity already exists.
    AlreadyExists = 6,
    /// The caller lacks the permission.
    PermissionDenied = 7,
    /// A limit, such as that of memory, of time or of the size of a table, was reached.
    ResourceExhausted = 8,
    /// The state of the system does not permit the request.
    FailedPrecondition = 9,
    /// The operation was abandoned, for example because another one failed.
    Aborted = 10,
    /// A value is beyond the valid range.
    OutOfRange = 11,
    /// The operation is not supported.
    Unimplemented = 12,
    /// An invariant of the server is broken.
    Internal = 13,
    /// The service is not available at present.
    Unavailable = 14,
    /// Data was lost.
    DataLoss = 15,
    /// The caller is not authenticated.
    Unauthenticated = 16,
}

impl Code {
    /// All codes, ordered by number.
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

    /// Returns the code with this number, or [`Code::Unknown`] for other numbers.
    #[must_use]
    pub fn from_number(number: i32) -> Self {
        let known = usize::try_from(number).ok().and_then(|number| Self::ALL.get(number));
        known.copied().unwrap_or(Self::Unknown)
    }
}

/// The reason why an update, or a part of a read request, was refused.
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
    /// Creates an error with a canonical code and a message. The message should name the problem
    /// and the entity concerned.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: shortened(message.into()) }
    }

    constructors! {
        /// Creates an INVALID_ARGUMENT error.
        invalid InvalidArgument
        /// Creates a NOT_FOUND error.
        not_found NotFound
        /// Creates an ALREADY_EXISTS error.
        exists AlreadyExists
        /// Creates a RESOURCE_EXHAUSTED error.
        exhausted ResourceExhausted
        /// Creates a PERMISSION_DENIED error.
        denied PermissionDenied
        /// Creates an OUT_OF_RANGE error.
        out_of_range OutOfRange
        /// Creates a FAILED_PRECONDITION error: another entity refers to the entity.
        in_use FailedPrecondition
        /// Creates an UNIMPLEMENTED error.
        unimplemented Unimplemented
    }

    /// Returns the canonical code of the error. Errors that Planimeter creates never have
    /// [`Code::Ok`].
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the message of the error.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prepends the place where the error arose to its message.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        self.message = shortened(format!("{place}: {}", self.message));
        self
    }
}

/// Truncates a message to at most [`LONGEST_MESSAGE`] bytes. An ellipsis marks the cut.
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
