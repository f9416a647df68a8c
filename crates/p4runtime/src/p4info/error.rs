//! What is wrong with a P4Info.

use crate::status::{Code, EntityError};

/// Why a P4Info cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// An object, field or parameter has no identifier.
    #[error("{object} has no id")]
    NoId {
        /// The object.
        object: String,
    },
    /// Two objects, or two fields of one object, have the same identifier.
    #[error("id {id} is used twice: by {first} and by {second}")]
    DuplicateId {
        /// The identifier, as it prints for its kind.
        id: String,
        /// The object that had it first.
        first: String,
        /// The object that has it too.
        second: String,
    },
    /// An object refers to one that does not exist.
    #[error("{object} refers to {kind} {id:#010x}, which is not in the P4Info")]
    Dangling {
        /// The object that refers.
        object: String,
        /// What the reference should lead to.
        kind: &'static str,
        /// The identifier that leads nowhere.
        id: u32,
    },
    /// A number is outside what it can be.
    #[error("{object}: {field} is {value}, which is not possible")]
    Number {
        /// The object.
        object: String,
        /// The field of the P4Info message.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// An enumeration is unset or a value it needs is missing.
    #[error("{object}: {field} is unset")]
    Unset {
        /// The object.
        object: String,
        /// The field of the P4Info message.
        field: &'static str,
    },
    /// A type does not resolve.
    #[error("{object}: {message}")]
    Type {
        /// The object.
        object: String,
        /// What is wrong with the type.
        message: String,
    },
    /// A value does not fit its type.
    #[error("{object}: {error}")]
    Value {
        /// The object.
        object: String,
        /// What is wrong with the value.
        error: EntityError,
    },
}

impl SchemaError {
    /// The canonical code that a SetForwardingPipelineConfig with such a P4Info fails with.
    pub fn code(&self) -> Code {
        Code::InvalidArgument
    }
}
