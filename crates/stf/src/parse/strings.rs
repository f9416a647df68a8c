//! Parses quoted strings, which stand for ports and for values of translated types.

use super::{Cursor, SyntaxError};
use crate::script::{Operand, PortOperand};

/// Returns a line without its comment. A `#` between two quotes on the line does not begin a
/// comment.
pub(super) fn without_comment(line: &str) -> &str {
    let mut start = 0;
    while let Some(at) = line.get(start..).and_then(|rest| rest.find(['#', '"'])) {
        let at = start + at;
        let behind = line.get(at + 1..).unwrap_or_default();
        match line.get(at..).is_some_and(|rest| rest.starts_with('"')) {
            true => start = text_end(behind).map_or(at + 1, |end| at + 2 + end),
            false => return line.get(..at).unwrap_or_default(),
        }
    }
    line
}

/// Returns the position of the closing quote of a string. `text` begins after the opening quote.
fn text_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, character)| {
        let ends = character == '"' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

impl Cursor<'_> {
    /// Parses a quoted string, if there is one at the cursor. Inside it, `\"` is a quote and `\\`
    /// is a backslash.
    fn text(&mut self) -> Result<Option<String>, SyntaxError> {
        if !self.take("\"") {
            return Ok(None);
        }
        let rest = self.rest();
        let Some(end) = text_end(rest) else {
            self.position -= 1;
            return Err(self.error("the string has no closing quote"));
        };
        let mut text = String::with_capacity(end);
        let mut characters = rest.get(..end).unwrap_or_default().char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                    _ => {
                        self.position += at;
                        return Err(self.error("in a string, a backslash is followed by \" or \\"));
                    }
                },
                character => text.push(character),
            }
        }
        self.position += end + 1;
        Ok(Some(text))
    }

    pub(super) fn operand(&mut self) -> Result<Operand, SyntaxError> {
        match self.text()? {
            Some(text) => Ok(Operand::Text(text)),
            None => self.number().map(Operand::Number),
        }
    }

    pub(super) fn port(&mut self) -> Result<PortOperand, SyntaxError> {
        match self.text()? {
            Some(text) => Ok(PortOperand::Text(text)),
            None => self.small("a port number").map(PortOperand::Number),
        }
    }
}
