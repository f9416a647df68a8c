//! Errors and warnings about the text of a constraint.

use std::ops::Range;

use crate::Constraint;

/// An error or a warning about the text of a constraint, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The range of bytes in the text to which the message refers.
    pub range: Range<usize>,
    /// A description of the problem, in one line.
    pub message: String,
    /// A note on how to fix the problem. It may be empty.
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

    /// Returns the line and the column of the problem in `text`, the text of the constraint. Both
    /// are counted from 1, and columns are counted in characters.
    #[must_use]
    pub fn place(&self, text: &str) -> (usize, usize) {
        place(text, self.range.start)
    }
}

/// Returns the line and the column of the byte at `offset`. Both are counted from 1.
pub(crate) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    (line, column)
}

/// A constraint that was compiled without errors, and the warnings about it.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The constraint.
    pub constraint: Constraint,
    /// The warnings: parts of the constraint that probably do not mean what their author intended.
    pub warnings: Vec<Problem>,
}
