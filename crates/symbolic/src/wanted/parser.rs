//! Parses formulas.

use super::lexer::{Kind, Token, tokens};
use super::{Atom, Position, Wanted};
use std::str::FromStr;

/// The largest nesting depth of parentheses and negations.
const DEPTH: usize = 100;

/// A syntax error in a formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct WantedError {
    /// The column of the error, in characters counted from 1.
    pub column: usize,
    /// A description of the error, and how to correct it.
    pub message: String,
}

impl FromStr for Wanted {
    type Err = WantedError;

    fn from_str(text: &str) -> Result<Self, WantedError> {
        let tokens = tokens(text)?;
        let end = text.chars().count() + 1;
        let mut parser = Parser { tokens: &tokens, next: 0, end, depth: 0 };
        let wanted = parser.any()?;
        match parser.peek() {
            None => Ok(wanted),
            Some(_) => Err(parser.error("expected `&&`, `||` or the end")),
        }
    }
}

struct Parser<'t> {
    tokens: &'t [Token<'t>],
    next: usize,
    /// The column after the last character of the formula.
    end: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<Kind<'t>> {
        self.tokens.get(self.next).map(|token| token.kind)
    }

    fn takes(&mut self, kind: Kind<'_>) -> bool {
        let found = self.peek() == Some(kind);
        self.next += usize::from(found);
        found
    }

    fn error(&self, message: impl Into<String>) -> WantedError {
        let column = self.tokens.get(self.next).map_or(self.end, |token| token.column);
        WantedError { column, message: message.into() }
    }

    fn any(&mut self) -> Result<Wanted, WantedError> {
        let mut parts = vec![self.all()?];
        while self.takes(Kind::Or) {
            parts.push(self.all()?);
        }
        Ok(single(parts).unwrap_or_else(Wanted::Any))
    }

    fn all(&mut self) -> Result<Wanted, WantedError> {
        let mut parts = vec![self.unary()?];
        while self.takes(Kind::And) {
            parts.push(self.unary()?);
        }
        Ok(single(parts).unwrap_or_else(Wanted::All))
    }

    fn unary(&mut self) -> Result<Wanted, WantedError> {
        if self.depth == DEPTH {
            return Err(self.error(format!("a formula nests at most {DEPTH} times")));
        }
        self.depth += 1;
        let wanted = if self.takes(Kind::Not) {
            Wanted::Not(Box::new(self.unary()?))
        } else if self.takes(Kind::Open) {
            let inner = self.any()?;
            if !self.takes(Kind::Close) {
                return Err(self.error("expected `)`"));
            }
            inner
        } else {
            Wanted::Atom(self.atom()?)
        };
        self.depth -= 1;
        Ok(wanted)
    }

    fn atom(&mut self) -> Result<Atom, WantedError> {
        const ATOMS: &str = "hit, miss, action, statement, state, drop, port, clone, recirculate, \
                             resubmit or error";
        let Some(Kind::Word(keyword)) = self.peek() else {
            return Err(self.error(format!("expected {ATOMS}")));
        };
        let unknown = self.error(format!("expected {ATOMS}, found `{keyword}`"));
        self.next += 1;
        Ok(match keyword {
            "hit" => Atom::Hit(self.word("the name of a table")?.to_owned()),
            "miss" => Atom::Miss(self.word("the name of a table")?.to_owned()),
            "action" => Atom::Action(self.word("the name of an action")?.to_owned()),
            "statement" => Atom::Statement(self.position()?),
            "state" => Atom::State(self.word("the name of a parser's state")?.to_owned()),
            "drop" => Atom::Drop,
            "port" => {
                let before = self.error("expected a port number");
                let number = self.word("a port number")?;
                Atom::Port(number.parse().map_err(|_| before)?)
            }
            "clone" => Atom::Clone,
            "recirculate" => Atom::Recirculate,
            "resubmit" => Atom::Resubmit,
            "error" => {
                let name = self.word("the name of an error")?;
                Atom::Error(name.strip_prefix("error.").unwrap_or(name).to_owned())
            }
            _ => return Err(unknown),
        })
    }

    fn word(&mut self, expected: &str) -> Result<&'t str, WantedError> {
        match self.peek() {
            Some(Kind::Word(word)) => {
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.error(format!("expected {expected}"))),
        }
    }

    /// Parses a source position: `FILE:LINE` or `FILE:LINE:COLUMN`.
    fn position(&mut self) -> Result<Position, WantedError> {
        let malformed = self.error("expected a position such as `router.p4:120`");
        let word = self.word("a position such as `router.p4:120`")?;
        let mut parts = word.rsplitn(3, ':');
        let last: Option<u32> = parts.next().and_then(|number| number.parse().ok());
        let (middle, first) = (parts.next(), parts.next());
        let line: Option<u32> = middle.and_then(|number| number.parse().ok());
        let position = match (first, middle, line, last) {
            (Some(file), _, Some(line), Some(column)) => {
                Position { file: file.to_owned(), line, column: Some(column) }
            }
            (first, Some(middle), None, Some(line)) => {
                let file = first.map_or_else(|| middle.to_owned(), |f| format!("{f}:{middle}"));
                Position { file, line, column: None }
            }
            _ => return Err(malformed),
        };
        if position.file.is_empty() {
            return Err(malformed);
        }
        Ok(position)
    }
}

/// Returns the only element of a list. If the list has another length, returns the list as an
/// error.
fn single(mut parts: Vec<Wanted>) -> Result<Wanted, Vec<Wanted>> {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            parts.push(last);
            Err(parts)
        }
        (None, _) => Err(parts),
    }
}
