//! The IR as bytes, for tools that want it small and quick to read.
//!
//! It is CBOR (RFC 8949) of the same shape as the JSON, so that readers in other languages need no schema of ours, and
//! it begins with the tag that says so (§3.4.6): three bytes that neither P4 nor JSON begins with.

use super::json::DEPTH_LIMIT;
use super::{Program, ReadError};
use crate::frontend::with_large_stack;

/// Tag 55799, "self-described CBOR".
const TAG: [u8; 3] = [0xd9, 0xd9, 0xf7];

impl Program {
    /// Whether bytes begin as those of [`Program::to_binary`] do.
    pub fn is_binary(bytes: &[u8]) -> bool {
        bytes.starts_with(&TAG)
    }

    /// The program as bytes.
    ///
    /// # Errors
    /// If no thread can be started to write it; the form itself always has bytes.
    pub fn to_binary(&self) -> std::io::Result<Vec<u8>> {
        with_large_stack(|| {
            let mut bytes = TAG.to_vec();
            ciborium::into_writer(self, &mut bytes).map_err(std::io::Error::other)?;
            Ok(bytes)
        })?
    }

    /// Reads what [`Program::to_binary`] wrote, and checks it.
    ///
    /// # Errors
    /// [`ReadError`] says what is wrong with the bytes.
    pub fn from_binary(bytes: &[u8]) -> Result<Self, ReadError> {
        let mut rest = bytes
            .strip_prefix(&TAG)
            .ok_or_else(|| ReadError::Binary("it does not begin as CBOR does".to_owned()))?;
        with_large_stack(|| {
            let program: Self =
                ciborium::de::from_reader_with_recursion_limit(&mut rest, DEPTH_LIMIT)
                    .map_err(explained)?;
            if !rest.is_empty() {
                return Err(ReadError::Binary(format!("{} bytes too many", rest.len())));
            }
            program.validate()?;
            Ok(program)
        })?
    }
}

fn explained(error: ciborium::de::Error<std::io::Error>) -> ReadError {
    use ciborium::de::Error;
    match error {
        Error::Io(_) => ReadError::Binary("it ends too early".to_owned()),
        Error::Syntax(offset) => {
            ReadError::Binary(format!("no CBOR at byte {}", offset + TAG.len()))
        }
        Error::Semantic(_, what) => ReadError::Binary(what),
        Error::RecursionLimitExceeded => ReadError::Depth { limit: DEPTH_LIMIT },
    }
}
