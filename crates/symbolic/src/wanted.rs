//! The language in which a user says what a test is to do, such as `hit Ingress.acl && drop`.
//!
//! A formula consists of atoms, `!`, `&&`, `||` and parentheses:
//!
//! | atom | the packet |
//! | --- | --- |
//! | `hit T`, `miss T` | hits or misses the table |
//! | `action A`, `action T.A` | runs the action in any table, or in table `T` |
//! | `statement F:L`, `statement F:L:C` | executes a statement that begins on this line |
//! | `state P.S` | passes the state of the parser |
//! | `drop` | leaves on no port |
//! | `port N` | leaves on this port |
//! | `clone`, `recirculate`, `resubmit` | is cloned, recirculated or resubmitted |
//! | `error E` | is parsed with this error, such as `PacketTooShort` |
//!
//! A name is that of the control plane, or its last parts: `acl` means `Ingress.acl` if no other
//! table ends so.

mod lexer;
mod parser;

pub use parser::WantedError;

use crate::term::{Term, Terms};
use std::fmt;

/// A formula about what a packet does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A single property.
    Atom(Atom),
    /// The negation of a formula.
    Not(Box<Self>),
    /// The conjunction of formulas.
    All(Vec<Self>),
    /// The disjunction of formulas.
    Any(Vec<Self>),
}

/// A property of a packet's path through the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    /// The packet hits a table.
    Hit(String),
    /// The packet misses a table.
    Miss(String),
    /// A table runs this action. The name may begin with that of the table.
    Action(String),
    /// The packet executes a statement.
    Statement(Position),
    /// The packet passes through a state of a parser.
    State(String),
    /// The packet leaves on no port.
    Drop,
    /// The packet leaves on a port.
    Port(u32),
    /// The packet is cloned.
    Clone,
    /// The packet is recirculated.
    Recirculate,
    /// The packet is resubmitted.
    Resubmit,
    /// The parser ends with an error.
    Error(String),
}

/// A position in the source that a formula names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The path of the file, or the last components of the path.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1; `None` for all statements that begin on the line.
    pub column: Option<u32>,
}

impl Wanted {
    /// Returns the condition under which the formula holds. `resolve` returns the condition of an
    /// atom.
    ///
    /// # Errors
    ///
    /// Returns the first error of `resolve`, for instance because the program does not have a
    /// table.
    pub fn condition<E>(
        &self,
        terms: &mut Terms,
        resolve: &mut dyn FnMut(&mut Terms, &Atom) -> Result<Term, E>,
    ) -> Result<Term, E> {
        Ok(match self {
            Self::Atom(atom) => resolve(terms, atom)?,
            Self::Not(inner) => {
                let inner = inner.condition(terms, resolve)?;
                terms.not(inner)
            }
            Self::All(parts) => {
                let mut all = terms.truth(true);
                for part in parts {
                    let part = part.condition(terms, resolve)?;
                    all = terms.and(all, part);
                }
                all
            }
            Self::Any(parts) => {
                let mut any = terms.truth(false);
                for part in parts {
                    let part = part.condition(terms, resolve)?;
                    any = terms.or(any, part);
                }
                any
            }
        })
    }

    /// Returns the atoms of the formula from left to right.
    #[must_use]
    pub fn atoms(&self) -> Vec<&Atom> {
        let mut atoms = Vec::new();
        let mut open = vec![self];
        while let Some(part) = open.pop() {
            match part {
                Self::Atom(atom) => atoms.push(atom),
                Self::Not(inner) => open.push(inner),
                Self::All(parts) | Self::Any(parts) => open.extend(parts.iter().rev()),
            }
        }
        atoms
    }
}

/// Returns whether `asked` is the name `full` or its last components, which dots separate.
#[must_use]
pub fn is_name(full: &str, asked: &str) -> bool {
    ends_in_parts(full, asked, '.')
}

impl Position {
    /// Returns whether this position names the statement at `line` and `column` of the file `path`.
    #[must_use]
    pub fn is_at(&self, path: &str, line: u32, column: u32) -> bool {
        self.line == line
            && self.column.is_none_or(|wanted| wanted == column)
            && ends_in_parts(path, &self.file, '/')
    }
}

fn ends_in_parts(full: &str, asked: &str, separator: char) -> bool {
    let Some(before) = full.strip_suffix(asked) else { return false };
    !asked.is_empty() && (before.is_empty() || before.ends_with(separator))
}

impl fmt::Display for Atom {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hit(table) => write!(out, "hit {table}"),
            Self::Miss(table) => write!(out, "miss {table}"),
            Self::Action(action) => write!(out, "action {action}"),
            Self::Statement(Position { file, line, column: None }) => {
                write!(out, "statement {file}:{line}")
            }
            Self::Statement(Position { file, line, column: Some(column) }) => {
                write!(out, "statement {file}:{line}:{column}")
            }
            Self::State(state) => write!(out, "state {state}"),
            Self::Drop => out.write_str("drop"),
            Self::Port(port) => write!(out, "port {port}"),
            Self::Clone => out.write_str("clone"),
            Self::Recirculate => out.write_str("recirculate"),
            Self::Resubmit => out.write_str("resubmit"),
            Self::Error(error) => write!(out, "error {error}"),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (parts, separator) = match self {
            Self::Atom(atom) => return write!(out, "{atom}"),
            Self::Not(inner) => return write!(out, "!({inner})"),
            Self::All(parts) => (parts, " && "),
            Self::Any(parts) => (parts, " || "),
        };
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                out.write_str(separator)?;
            }
            match part {
                Self::Atom(atom) => write!(out, "{atom}")?,
                Self::Not(_) | Self::All(_) | Self::Any(_) => write!(out, "({part})")?,
            }
        }
        Ok(())
    }
}
