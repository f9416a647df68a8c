//! The errors of a P4Info.

use crate::status::{Code, EntityError};

/// The reason why a P4Info is inconsistent and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// An object, field or parameter has no identifier.
    #[error("{object} has no id")]
    NoId {
        /// The object without an identifier.
        object: String,
    },
    /// Two objects, or two fields of one object, have the same identifier.
    #[error("id {id} is used twice: by {first} and by {second}")]
    DuplicateId {
        /// The identifier, formatted as usual for its kind.
        id: String,
        /// The first object with the identifier.
        first: String,
        /// The second object with the identifier.
        second: String,
    },
    /// An object refers to another object that does not exist.
    #[error("{object} refers to {kind} {id:#010x}, which is not in the P4Info")]
    Dangling {
        /// The object that contains the reference.
        object: String,
        /// The kind of object that the reference names.
        kind: &'static str,
        /// The identifier that does not exist.
        id: u32,
    },
    /// A number is out of range.
    #[error("{object}: {field} is {value}, which is not possible")]
    Number {
        /// The object with the number.
        object: String,
        /// The field of the P4Info message.
        field: &'static str,
        /// The value of the field.
        value: i64,
    },
    /// An enumeration or a required value is unset.
    #[error("{object}: {field} is unset")]
    Unset {
        /// The object with the missing value.
        object: String,
        /// The field of the P4Info message that is unset.
        field: &'static str,
    },
    /// A type is described by an invalid or missing definition.
    #[error("{object}: {message}")]
    Type {
        /// The object that uses the type.
        object: String,
        /// The description of the error in the type.
        message: String,
    },
    /// A constraint in an annotation has an error.
    #[error("{object}: @{annotation}, line {line}, column {column}: {message}")]
    Restriction {
        /// The object with the annotation.
        object: String,
        /// The name of the annotation.
        annotation: &'static str,
        /// The line in the text of the constraint, from 1.
        line: usize,
        /// The column in the line, from 1.
        column: usize,
        /// The description of the error.
        message: String,
    },
    /// A value does not fit its type.
    #[error("{object}: {error}")]
    Value {
        /// The object that contains the value.
        object: String,
        /// The reason why the value does not fit.
        error: EntityError,
    },
}

impl SchemaError {
    /// Returns the canonical code with which a SetForwardingPipelineConfig request for this P4Info
    /// fails.
    pub fn code(&self) -> Code {
        Code::InvalidArgument
    }
}
