//! What can be wrong with bytes that claim to be OpenFlow, and with values that do not fit the wire.

/// Why bytes could not be read as an OpenFlow structure.
///
/// `offset` counts bytes from the start of the message (its version byte), so that it can be
/// looked up in a capture; `field` is the name that the OpenFlow specification gives the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} at byte {offset}: {kind}")]
pub struct DecodeError {
    /// Bytes from the start of the message to the field at fault.
    pub offset: usize,
    /// The specification's name for the structure and field, such as `ofp_match.length`.
    pub field: &'static str,
    /// What is wrong with it.
    pub kind: DecodeErrorKind,
}

/// The ways in which a field can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The enclosing structure ends before the field does.
    #[error("{needed} bytes needed, {available} left")]
    Truncated {
        /// Bytes that the field occupies.
        needed: usize,
        /// Bytes that the enclosing structure still holds.
        available: usize,
    },
    /// A length field is smaller than the structure it describes, or larger than what encloses it.
    #[error("length {value} is outside {min} to {max}")]
    Length {
        /// The length read.
        value: usize,
        /// The smallest length that the structure can have.
        min: usize,
        /// The largest length that fits the enclosing structure.
        max: usize,
    },
    /// A length that must be a multiple of `multiple` is not.
    #[error("length {value} is not a multiple of {multiple}")]
    Alignment {
        /// The length read.
        value: usize,
        /// What it must be a multiple of.
        multiple: usize,
    },
    /// The version byte names a version that this decoder does not speak.
    #[error("version {0:#04x} is not the one expected here")]
    Version(u8),
    /// A type field names a structure that the version does not define.
    #[error("unknown type {0}")]
    UnknownType(u32),
    /// A field holds a value that the specification does not allow.
    #[error("value {value} is not allowed: {expected}")]
    Value {
        /// The value read.
        value: u64,
        /// What the specification allows.
        expected: &'static str,
    },
    /// Bytes follow the end of the structure.
    #[error("{0} bytes too many")]
    Trailing(usize),
}

/// Why a value could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The structure does not fit the 16-bit length field that describes it; send it in parts.
    #[error("{field} would be {length} bytes long, at most {max} fit: send it in parts")]
    TooLong {
        /// The specification's name for the structure.
        field: &'static str,
        /// Bytes that it would occupy.
        length: usize,
        /// Bytes that its length field can express.
        max: usize,
    },
    /// A value has no representation in the field.
    #[error("{field} cannot hold {value}: {expected}")]
    Value {
        /// The specification's name for the field.
        field: &'static str,
        /// The value at fault.
        value: u64,
        /// What the field can hold.
        expected: &'static str,
    },
}
