//! The IR as JSON, for other programs and for reading back.

use std::io;

use serde::Deserialize;

use super::{CompileLimits, Program, Violation};
use crate::stack::with_large_stack;

/// How deep the JSON may be nested. An `else if` nests four levels.
pub const DEPTH_LIMIT: usize = 10_000;

/// Why a text cannot be read as IR.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no JSON, or not of the expected shape.
    #[error("not the IR of a program: {0}")]
    Json(#[from] serde_json::Error),
    /// It is nested more deeply than any program's.
    #[error("not the IR of a program: nested more than {limit} levels deep")]
    Depth {
        /// The most levels that are read.
        limit: usize,
    },
    /// It breaks a promise of the form.
    #[error("the IR is damaged: {0}; compile the program again")]
    Invalid(Violation),
    /// It exceeds a limit.
    #[error("{0}")]
    Exceeded(Violation),
    /// No thread could be started to read it.
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
    /// Whether JSON is that of a program and not of BMv2: all of ours has its version in front.
    #[must_use]
    pub fn is_json(text: &str) -> bool {
        let head: String = text.chars().filter(|c| !c.is_whitespace()).take(11).collect();
        head == "{\"version\":"
    }

    /// The program as JSON.
    ///
    /// # Errors
    /// If no thread can be started to write it; the form itself always has a JSON.
    pub fn to_json(&self) -> io::Result<String> {
        with_large_stack(|| serde_json::to_string_pretty(self))?.map_err(io::Error::other)
    }

    /// Reads what [`Program::to_json`] wrote, and checks it, with the limits that hold where none are set.
    ///
    /// # Errors
    /// [`ReadError`] says what is wrong with the text.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        Self::from_json_within(text, &CompileLimits::default())
    }

    /// As [`Program::from_json`], with other limits.
    ///
    /// # Errors
    /// [`ReadError`] says what is wrong with the text.
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

/// The deepest nesting of brackets outside strings.
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
