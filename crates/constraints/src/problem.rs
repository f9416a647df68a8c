//! Errors and warnings about the text of a constraint.

use std::ops::Range;

use crate::Constraint;

/// An error or a warning about a constraint, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The bytes of the constraint that the message is about.
    pub range: Range<usize>,
    /// The description of the fault, in one line.
    pub message: String,
    /// A remark on the remedy, which may be empty.
    pub note: String,
}

impl Problem {
    pub(crate) fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self { range, message: message.into(), note: String::new() }
    }

    #[must_use]
    pub(crate) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Returns the line and the column of the problem in the text of the constraint, both counted
    /// from 1; columns are characters.
    #[must_use]
    pub fn place(&self, text: &str) -> (usize, usize) {
        place(text, self.range.start)
    }
}

/// Returns the line and the column of the byte at an offset, both counted from 1.
pub(crate) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    (line, column)
}

/// A constraint that is free of errors, with the warnings about it.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The constraint.
    pub constraint: Constraint,
    /// Remarks on parts that probably do not mean what was intended.
    pub warnings: Vec<Problem>,
}
