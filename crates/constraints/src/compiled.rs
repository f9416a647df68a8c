//! Constraints in the form in which they are evaluated.
//!
//! A constraint without errors is translated to a tree of comparisons, between parts of an entry
//! (such as the mask for a key) and constants. Types are resolved, and each constant has the form
//! of the operand with which it is compared. The evaluation of a comparison therefore allocates no
//! memory, except for a negated part or a prefix length that is converted to bits.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use num_bigint::{BigInt, BigUint};

use crate::bits;
use crate::entry::{Entry, Key, KeyType, Kind, Match};
use crate::parser::Comparison;
use crate::violation::{Violation, one_line};

/// A constraint on the entries of a table, or on the arguments of an action.
#[derive(Debug, Clone)]
pub struct Constraint {
    pub(crate) text: String,
    pub(crate) keys: Box<[Key]>,
    /// For each key that the constraint mentions, the mask in which all bits are set. Empty for
    /// other keys.
    pub(crate) ones: Box<[Box<[u8]>]>,
    pub(crate) root: Node,
}

/// A condition on an entry, with the range of the text that states it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) range: Range<usize>,
    pub(crate) form: NodeForm,
}

#[derive(Debug, Clone)]
pub(crate) enum NodeForm {
    Constant(bool),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
    Implies(Box<[Node; 2]>),
    /// Holds if both conditions are true or both are false.
    Same(Box<[Node; 2]>),
    Bits(Comparison, Bits, Bits),
    Integer(Comparison, Integer, Integer),
    /// Holds if a key has this string. `None` stands for a number to which the program assigns no
    /// string, so the condition never holds.
    TextIs(usize, Option<Box<[u8]>>),
    /// Holds if the strings of two keys are equal.
    SameText(usize, usize),
}

/// A part of an entry's match for a key: the value, the mask, or an end of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Value,
    Mask,
    Low,
    High,
}

/// An unsigned number of a fixed width.
#[derive(Debug, Clone)]
pub(crate) enum Bits {
    /// A constant, stored without leading zero bytes.
    Constant(Box<[u8]>),
    Slot(usize, Part),
    Negated(Box<Bits>, u32),
    /// An integer, reduced modulo 2^width.
    Reduced(Integer, u32),
}

/// An integer.
#[derive(Debug, Clone)]
pub(crate) enum Integer {
    /// A constant. One that does not fit in 64 bits is clamped, which changes the result of no
    /// comparison, because all other integers fit in 33 bits.
    Constant(i64),
    PrefixLength(usize),
    Priority,
    Negated(Box<Integer>),
}

impl Constraint {
    /// Returns the text from which the constraint was compiled.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the keys or parameters that the constraint mentions.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Checks whether an entry satisfies the constraint.
    ///
    /// # Errors
    /// Returns the smallest part of the constraint that fails, with the values in the entry that
    /// violate it.
    pub fn check(&self, entry: &Entry<'_>) -> Result<(), Violation> {
        if self.holds(&self.root, entry) {
            return Ok(());
        }
        let mut failing = &self.root;
        while let Some(parts) = failing.conjuncts()
            && let Some(part) = parts.iter().find(|part| !self.holds(part, entry))
        {
            failing = part;
        }
        Err(Violation::new(self, failing, entry))
    }

    /// Returns whether an entry satisfies the constraint.
    #[must_use]
    pub fn is_satisfied(&self, entry: &Entry<'_>) -> bool {
        self.holds(&self.root, entry)
    }

    /// Returns the number of conjuncts of the constraint: the operands of `;` and `&&` at the top
    /// level, all of which must hold.
    #[must_use]
    pub fn conjuncts(&self) -> usize {
        self.conjunct_nodes().len()
    }

    /// Returns the text of the conjunct with this number, in one line and without comments.
    #[must_use]
    pub fn conjunct(&self, number: usize) -> Option<String> {
        let node = self.conjunct_nodes().get(number).copied()?;
        self.text.get(node.range.clone()).map(one_line)
    }

    /// Returns the numbers of the conjuncts that an entry violates, in ascending order. They can be
    /// passed to [`Constraint::conjunct`].
    #[must_use]
    pub fn broken(&self, entry: &Entry<'_>) -> Vec<usize> {
        let nodes = self.conjunct_nodes().into_iter().enumerate();
        nodes.filter(|(_, node)| !self.holds(node, entry)).map(|(number, _)| number).collect()
    }

    pub(crate) fn conjunct_nodes(&self) -> Vec<&Node> {
        let mut found = Vec::new();
        let mut open = vec![&self.root];
        while let Some(node) = open.pop() {
            match node.conjuncts() {
                Some(parts) => open.extend(parts.iter().rev()),
                None => found.push(node),
            }
        }
        found
    }

    pub(crate) fn holds(&self, node: &Node, entry: &Entry<'_>) -> bool {
        match &node.form {
            NodeForm::Constant(value) => *value,
            NodeForm::Not(inner) => !self.holds(inner, entry),
            NodeForm::All(parts) => parts.iter().all(|part| self.holds(part, entry)),
            NodeForm::Any(parts) => parts.iter().any(|part| self.holds(part, entry)),
            NodeForm::Implies(sides) => {
                let [condition, consequence] = &**sides;
                !self.holds(condition, entry) || self.holds(consequence, entry)
            }
            NodeForm::Same(sides) => {
                let [left, right] = &**sides;
                self.holds(left, entry) == self.holds(right, entry)
            }
            NodeForm::Bits(comparison, left, right) => {
                let (left, right) = (self.bits(left, entry), self.bits(right, entry));
                comparison.holds(bits::compare(&left, &right))
            }
            NodeForm::Integer(comparison, left, right) => {
                comparison.holds(integer(left, entry).cmp(&integer(right, entry)))
            }
            NodeForm::TextIs(key, wanted) => {
                wanted.as_deref().is_some_and(|wanted| string(*key, entry) == wanted)
            }
            NodeForm::SameText(left, right) => string(*left, entry) == string(*right, entry),
        }
    }

    pub(crate) fn bits<'a>(&'a self, of: &'a Bits, entry: &Entry<'a>) -> Cow<'a, [u8]> {
        match of {
            Bits::Constant(value) => Cow::Borrowed(value),
            Bits::Slot(key, part) => Cow::Borrowed(self.slot(*key, *part, entry)),
            Bits::Negated(inner, width) => {
                let value = BigInt::from(BigUint::from_bytes_be(&self.bits(inner, entry)));
                Cow::Owned(bits::reduced(&-value, *width).to_bytes_be())
            }
            Bits::Reduced(inner, width) => {
                let value = BigInt::from(integer(inner, entry));
                Cow::Owned(bits::reduced(&value, *width).to_bytes_be())
            }
        }
    }

    /// Returns a part of an entry's match for a key. For completeness, the value of a range is its
    /// lower end, and both ends of any other match are its value, but compiled constraints ask for
    /// neither.
    fn slot<'a>(&'a self, key: usize, part: Part, entry: &Entry<'a>) -> &'a [u8] {
        let ones = self.ones.get(key).map_or(&[][..], |ones| &**ones);
        match (entry.at(key), part) {
            (Match::Any, Part::Value | Part::Mask | Part::Low) => &[],
            (Match::Any, Part::High)
            | (Match::Exact(_) | Match::Lpm { .. } | Match::Range { .. }, Part::Mask) => ones,
            (Match::Ternary { mask, .. }, Part::Mask) => mask,
            (Match::Range { high, .. }, Part::High) => high,
            (Match::Range { low, .. }, Part::Value | Part::Low) => low,
            (
                Match::Exact(value) | Match::Ternary { value, .. } | Match::Lpm { value, .. },
                Part::Value | Part::Low | Part::High,
            ) => value,
        }
    }
}

/// Returns the string that an entry has for a key of a translated type. It is empty if the entry
/// has no match for the key.
fn string<'a>(key: usize, entry: &Entry<'a>) -> &'a [u8] {
    match entry.at(key) {
        Match::Exact(value) => value,
        Match::Any | Match::Ternary { .. } | Match::Lpm { .. } | Match::Range { .. } => &[],
    }
}

pub(crate) fn integer(of: &Integer, entry: &Entry<'_>) -> i64 {
    match of {
        Integer::Constant(value) => *value,
        Integer::PrefixLength(key) => match entry.at(*key) {
            Match::Lpm { prefix_length, .. } => i64::from(*prefix_length),
            Match::Any | Match::Exact(_) | Match::Ternary { .. } | Match::Range { .. } => 0,
        },
        Integer::Priority => entry.priority,
        Integer::Negated(inner) => integer(inner, entry).saturating_neg(),
    }
}

/// Returns the parts that must be equal for two matches of this kind to be equal. For a
/// longest-prefix match, the prefix lengths must be equal in addition.
pub(crate) fn parts(kind: Kind) -> &'static [Part] {
    match kind {
        Kind::Exact | Kind::Lpm => &[Part::Value],
        Kind::Ternary | Kind::Optional => &[Part::Value, Part::Mask],
        Kind::Range => &[Part::Low, Part::High],
    }
}

/// Returns the width in bits of the values of a key. For a string it is one, because such a key is
/// either matched or not, which a mask of one bit expresses.
pub(crate) fn width(key: &Key) -> u32 {
    match key.ty {
        KeyType::Bits(width) => width,
        KeyType::Text(_) => 1,
    }
}

impl Node {
    pub(crate) fn new(range: Range<usize>, form: NodeForm) -> Self {
        Self { range, form }
    }

    /// Returns the operands if this is an `&&` or `;` of the text. Comparing two whole matches is
    /// also translated to a conjunction, of the comparisons of their parts. These have the location
    /// of the whole comparison and are not operands of their own.
    fn conjuncts(&self) -> Option<&[Self]> {
        match &self.form {
            NodeForm::All(parts) if parts.iter().all(|part| part.range != self.range) => {
                Some(parts)
            }
            NodeForm::All(_)
            | NodeForm::Constant(_)
            | NodeForm::Not(_)
            | NodeForm::Any(_)
            | NodeForm::Implies(_)
            | NodeForm::Same(_)
            | NodeForm::Bits(..)
            | NodeForm::Integer(..)
            | NodeForm::TextIs(..)
            | NodeForm::SameText(..) => None,
        }
    }
}

/// Returns the result of comparing two constants, whose order is known, as a condition.
pub(crate) fn constant(comparison: Comparison, order: Ordering) -> NodeForm {
    NodeForm::Constant(comparison.holds(order))
}
