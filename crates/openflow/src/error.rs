//! The errors of decoding bytes that claim to be OpenFlow, and of encoding values that do not fit
//! the wire.

/// The reason why bytes could not be read as an OpenFlow structure.
///
/// `offset` counts bytes from the start of the message (its version byte), so that the position can
/// be found in a capture. `field` is the name of the field in the OpenFlow specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} at byte {offset}: {kind}")]
pub struct DecodeError {
    /// The number of bytes from the start of the message to the field at fault.
    pub offset: usize,
    /// The specification's name for the structure and field, such as `ofp_match.length`.
    pub field: &'static str,
    /// The kind of fault that the field has.
    pub kind: DecodeErrorKind,
}

/// The kinds of fault that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The enclosing structure ends before the field does.
    #[error("{needed} bytes needed, {available} left")]
    Truncated {
        /// The number of bytes that the field occupies.
        needed: usize,
        /// The number of bytes that are left in the enclosing structure.
        available: usize,
    },
    /// A length field is smaller than the structure that it describes, or larger than the enclosing
    /// structure.
    #[error("length {value} is outside {min} to {max}")]
    Length {
        /// The value of the length field.
        value: usize,
        /// The smallest length that the structure can have.
        min: usize,
        /// The largest length that fits the enclosing structure.
        max: usize,
    },
    /// The length of a structure is not a multiple of the number that the specification requires.
    #[error("length {value} is not a multiple of {multiple}")]
    Alignment {
        /// The value of the length field.
        value: usize,
        /// The number of which the length must be a multiple.
        multiple: usize,
    },
    /// The version byte names a version that this decoder does not speak.
    #[error("version {0:#04x} is not the one expected here")]
    Version(u8),
    /// A type field names a structure that the version does not define.
    #[error("unknown type {0}")]
    UnknownType(u32),
    /// A field contains a value that the specification does not allow.
    #[error("value {value} is not allowed: {expected}")]
    Value {
        /// The value of the field.
        value: u64,
        /// A description of the values that the specification allows in the field.
        expected: &'static str,
    },
    /// This number of bytes follows the end of a structure, where no bytes are allowed.
    #[error("{0} bytes too many")]
    Trailing(usize),
}

/// The reason why a structure could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The structure is too long for the 16-bit length field that describes it. It must be sent in
    /// parts.
    #[error("{field} would be {length} bytes long, at most {max} fit: send it in parts")]
    TooLong {
        /// The specification's name for the structure.
        field: &'static str,
        /// The number of bytes that the structure would occupy.
        length: usize,
        /// The largest number of bytes that its length field can express.
        max: usize,
    },
    /// A value cannot be represented in its field.
    #[error("{field} cannot hold {value}: {expected}")]
    Value {
        /// The specification's name for the field.
        field: &'static str,
        /// The value that cannot be represented.
        value: u64,
        /// A description of the values that the field can hold.
        expected: &'static str,
    },
}
