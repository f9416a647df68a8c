//! Serialisation of the IR as JSON, for use by other programs, and deserialisation.

use std::io;

use serde::Deserialize;

use super::{CompileLimits, Program, Violation};
use crate::stack::with_large_stack;

/// The largest nesting depth of JSON that is accepted as IR. For comparison, each `else if` of a
/// program adds four levels.
pub const DEPTH_LIMIT: usize = 10_000;

/// The reason why a text cannot be read as IR.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not JSON, or not JSON of the expected shape.
    #[error("not the IR of a program: {0}")]
    Json(#[from] serde_json::Error),
    /// The JSON is nested more deeply than that of any valid program can be.
    #[error("not the IR of a program: nested more than {limit} levels deep")]
    Depth {
        /// The largest nesting depth that is read.
        limit: usize,
    },
    /// The program violates an invariant of the IR.
    #[error("the IR is damaged: {0}; compile the program again")]
    Invalid(Violation),
    /// The program exceeds one of the [`CompileLimits`].
    #[error("{0}")]
    Exceeded(Violation),
    /// The thread that reads the text could not be started.
    #[error("the IR could not be read: {0}")]
    Thread(#[from] io::Error),
}

impl From<Violation> for ReadError {
    fn from(violation: Violation) -> Self {
        match violation.limit {
            Some(_) => Self::Exceeded(violation),
            None => Self::Invalid(violation),
        }
    }
}

impl Program {
    /// Returns whether a JSON text is a program in the IR, and not BMv2 JSON, which other compilers
    /// write. The JSON of a program in the IR always begins with the version of the IR.
    #[must_use]
    pub fn is_json(text: &str) -> bool {
        let head: String = text.chars().filter(|c| !c.is_whitespace()).take(11).collect();
        head == "{\"version\":"
    }

    /// Returns the program as JSON.
    ///
    /// # Errors
    /// Returns an error if the thread that writes the text cannot be started.
    pub fn to_json(&self) -> io::Result<String> {
        with_large_stack(|| serde_json::to_string_pretty(self))?.map_err(io::Error::other)
    }

    /// Reads a program that [`Program::to_json`] wrote, and validates it with the default
    /// [`CompileLimits`].
    ///
    /// # Errors
    /// Returns a [`ReadError`] if the text is not a valid program, or if the program exceeds a
    /// limit.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        Self::from_json_within(text, &CompileLimits::default())
    }

    /// Reads a program that [`Program::to_json`] wrote, and validates it with the given limits.
    ///
    /// # Errors
    /// Returns a [`ReadError`] if the text is not a valid program, or if the program exceeds a
    /// limit.
    pub fn from_json_within(text: &str, limits: &CompileLimits) -> Result<Self, ReadError> {
        if nesting(text) > DEPTH_LIMIT {
            return Err(ReadError::Depth { limit: DEPTH_LIMIT });
        }
        with_large_stack(|| {
            let mut deserializer = serde_json::Deserializer::from_str(text);
            deserializer.disable_recursion_limit();
            let program = Self::deserialize(&mut deserializer)?;
            deserializer.end()?;
            program.validate_within(limits)?;
            Ok(program)
        })?
    }
}

/// Returns the largest nesting depth of brackets and braces in a JSON text. Brackets and braces
/// inside strings do not count.
#[must_use]
pub fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
