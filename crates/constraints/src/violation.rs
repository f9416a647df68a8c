//! The explanation of a violated constraint.

use std::collections::BTreeSet;
use std::fmt;

use num_bigint::BigUint;

use crate::compiled::{Bits, Constraint, Integer, Node, NodeForm};
use crate::entry::{Entry, KeyType, Match};
use crate::problem::place;

/// The largest number of characters of the constraint's text that a message quotes.
const LONGEST_TEXT: usize = 160;
/// The largest number of characters of a value that a message quotes.
const LONGEST_VALUE: usize = 70;

/// The violation of a constraint by an entry: the smallest part of the constraint that must hold by
/// itself and does not hold for the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    conjunct: String,
    place: (usize, usize),
    values: Vec<(String, String)>,
}

impl Violation {
    pub(crate) fn new(constraint: &Constraint, node: &Node, entry: &Entry<'_>) -> Self {
        let text = constraint.text.get(node.range.clone()).unwrap_or("");
        let mut mentioned = Mentioned::default();
        mentioned.of_node(node);
        let keys = mentioned.keys.iter().filter_map(|position| {
            let key = constraint.keys.get(*position)?;
            Some((key.name.clone(), shown(&key.ty, entry.at(*position))))
        });
        let mut values: Vec<(String, String)> = keys.collect();
        if mentioned.priority {
            values.push(("priority".to_owned(), entry.priority.to_string()));
        }
        let place = place(&constraint.text, node.range.start);
        Self { conjunct: one_line(text), place, values }
    }

    /// Returns the text of the part that fails, in one line and without comments.
    #[must_use]
    pub fn conjunct(&self) -> &str {
        &self.conjunct
    }

    /// Returns the line and the column of the failing part in the text of the constraint, counted
    /// from 1.
    #[must_use]
    pub fn place(&self) -> (usize, usize) {
        self.place
    }

    /// Returns the names that the failing part mentions, in the order of their first mention, and
    /// their values in the entry.
    #[must_use]
    pub fn values(&self) -> &[(String, String)] {
        &self.values
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conjunct = cut(&self.conjunct, LONGEST_TEXT);
        if self.values.is_empty() {
            return write!(f, "`{conjunct}` never holds");
        }
        write!(f, "`{conjunct}` does not hold for ")?;
        for (position, (name, value)) in self.values.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{name} = {}", cut(value, LONGEST_VALUE))?;
        }
        Ok(())
    }
}

fn cut(text: &str, longest: usize) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or("")).into(),
        None => text.into(),
    }
}

/// Returns the text without comments, and with each run of white space replaced by one blank.
pub(crate) fn one_line(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.find("//").unwrap_or(rest.len());
        let block = rest.find("/*").unwrap_or(rest.len());
        let start = line.min(block);
        plain.push_str(rest.get(..start).unwrap_or(""));
        plain.push(' ');
        let comment = rest.get(start..).unwrap_or("");
        let end =
            if line < block { comment.find('\n') } else { comment.find("*/").map(|end| end + 2) };
        rest = end.and_then(|end| comment.get(end..)).unwrap_or("");
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats an entry's match for a key in the notation that P4 has for masks and ranges.
fn shown(ty: &KeyType, of: &Match<'_>) -> String {
    let number = |bytes: &[u8]| match ty {
        KeyType::Bits(_) => {
            let value = BigUint::from_bytes_be(bytes);
            let small = BigUint::from(10_u8);
            if value < small { value.to_string() } else { format!("{value:#x}") }
        }
        KeyType::Text(_) => format!("'{}'", String::from_utf8_lossy(bytes).escape_debug()),
    };
    match of {
        Match::Any => "any".to_owned(),
        Match::Exact(value) => number(value),
        Match::Ternary { value, mask } => format!("{} &&& {}", number(value), number(mask)),
        Match::Lpm { value, prefix_length } => format!("{}/{prefix_length}", number(value)),
        Match::Range { low, high } => format!("{}..{}", number(low), number(high)),
    }
}

/// The keys that a part of a constraint mentions, each once, in the order of their first mention.
#[derive(Default)]
struct Mentioned {
    keys: Vec<usize>,
    seen: BTreeSet<usize>,
    priority: bool,
}

impl Mentioned {
    fn key(&mut self, key: usize) {
        if self.seen.insert(key) {
            self.keys.push(key);
        }
    }

    fn of_node(&mut self, node: &Node) {
        match &node.form {
            NodeForm::Constant(_) => {}
            NodeForm::Not(inner) => self.of_node(inner),
            NodeForm::All(parts) | NodeForm::Any(parts) => {
                parts.iter().for_each(|part| self.of_node(part));
            }
            NodeForm::Implies(sides) | NodeForm::Same(sides) => {
                sides.iter().for_each(|side| self.of_node(side));
            }
            NodeForm::Bits(_, left, right) => {
                self.of_bits(left);
                self.of_bits(right);
            }
            NodeForm::Integer(_, left, right) => {
                self.of_integer(left);
                self.of_integer(right);
            }
            NodeForm::TextIs(key, _) => self.key(*key),
            NodeForm::SameText(left, right) => {
                self.key(*left);
                self.key(*right);
            }
        }
    }

    fn of_bits(&mut self, of: &Bits) {
        match of {
            Bits::Constant(_) => {}
            Bits::Slot(key, _) => self.key(*key),
            Bits::Negated(inner, _) => self.of_bits(inner),
            Bits::Reduced(inner, _) => self.of_integer(inner),
        }
    }

    fn of_integer(&mut self, of: &Integer) {
        match of {
            Integer::Constant(_) => {}
            Integer::PrefixLength(key) => self.key(*key),
            Integer::Priority => self.priority = true,
            Integer::Negated(inner) => self.of_integer(inner),
        }
    }
}
