//! A budget for the computation of constants.
//!
//! Constants can become exponentially larger than the program: a tuple of two tuples of two tuples,
//! the square of a square, or a string that is concatenated with itself. Each value that the
//! evaluator creates or copies is therefore charged to a budget, by its size. The budget is
//! proportional to the length of the program, and a program that exhausts it is refused.

use std::cell::Cell;

use super::Constant;
use crate::diagnostic::{Diagnostic, LIMIT};
use crate::source::Span;
use ir::Exceeded;

/// The part of the budget that does not depend on the length of the program, in the units of
/// [`size`]. A program that uses it up takes several hundred megabytes and several tenths of a
/// second.
const ALLOWANCE: u64 = 1 << 22;
/// The additional budget for each byte of the program's text.
const PER_BYTE: u64 = 64;
/// The largest number of bits of an `int`, or of a constant of type `bit<W>`.
pub(super) const LARGEST_INTEGER: u64 = 1 << 17;

/// The budget that a program has left for computing constants, and the first error.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    left: Cell<u64>,
    refusal: Cell<Option<(Span, Refusal)>>,
}

/// The reason why no more constants of a program are computed.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    TooMuch,
    TooLarge,
    HugeType,
    Limit(Exceeded),
}

impl Budget {
    /// Creates the budget for a program whose text is `bytes` bytes long.
    pub(super) fn new(bytes: u64) -> Self {
        let left = bytes.saturating_mul(PER_BYTE).saturating_add(ALLOWANCE);
        Self { left: Cell::new(left), refusal: Cell::new(None) }
    }

    /// Subtracts the cost of a computation, `units`, from the budget. Returns `None` if the budget
    /// is exhausted.
    pub(super) fn spend(&self, units: u64, span: Span) -> Option<()> {
        match self.left.get().checked_sub(units) {
            Some(left) => {
                self.left.set(left);
                Some(())
            }
            None => {
                self.left.set(0);
                self.refuse(span, Refusal::TooMuch)
            }
        }
    }

    /// Checks that an integer of `bits` bits may be computed. Returns `None` if it is too large.
    pub(super) fn integer(&self, bits: u64, span: Span) -> Option<()> {
        if bits <= LARGEST_INTEGER { Some(()) } else { self.refuse(span, Refusal::TooLarge) }
    }

    /// Records the error that a type has too many parts after the substitution of type arguments.
    pub(crate) fn huge_type(&self) {
        self.refuse(Span::nowhere(), Refusal::HugeType);
    }

    /// Records the error that a type in an instance of a generic declaration exceeds a limit.
    pub(crate) fn exceeded(&self, exceeded: Exceeded, span: Span) {
        self.refuse(span, Refusal::Limit(exceeded));
    }

    fn refuse(&self, span: Span, refusal: Refusal) -> Option<()> {
        if self.refusal.get().is_none() {
            self.refusal.set(Some((span, refusal)));
        }
        None
    }

    /// Returns the error for the first computation that was refused. Later calls return `None`.
    pub(crate) fn take_problem(&self) -> Option<Diagnostic> {
        let (span, refusal) = self.refusal.take()?;
        Some(match refusal {
            Refusal::TooMuch => Diagnostic::error(
                "constants-too-large",
                span,
                "the constants of this program are too many and too large to be computed",
            )
            .note("each use of a constant copies it: values that hold an earlier one twice double with each step"),
            Refusal::HugeType => Diagnostic::error(
                "type-too-large",
                span,
                "a generic function or control is used with types that have more parts than can be handled",
            )
            .note("a type argument that holds an earlier one twice doubles with each step"),
            Refusal::Limit(exceeded) => Diagnostic::error(LIMIT, span, exceeded.to_string())
                .note("it is a type that a generic function or control has in one of its uses")
                .note(super::extent::NOTE),
            Refusal::TooLarge => Diagnostic::error(
                "integer-too-large",
                span,
                format!("this number has more than {LARGEST_INTEGER} bits"),
            )
            .note("numbers without width are computed exactly, up to that size"),
        })
    }
}

/// Returns the cost of copying a constant, in the units of the budget.
pub(super) fn size(value: &Constant) -> u64 {
    const WORD: u64 = 64;
    match value {
        Constant::Integer(number) => 1 + number.bits() / WORD,
        Constant::Bits(bits) | Constant::SerializableEnum { value: bits, .. } => {
            1 + u64::from(bits.width()) / WORD
        }
        // Copies share the text, so their cost does not depend on its length.
        Constant::String(_) => 1,
        Constant::Composite(values) => 1 + values.iter().map(size).sum::<u64>(),
        Constant::Record(fields) => 1 + fields.iter().map(|(_, value)| size(value)).sum::<u64>(),
        Constant::Bool(_)
        | Constant::Error(_)
        | Constant::MatchKind(_)
        | Constant::Enum(_)
        | Constant::Invalid => 1,
    }
}
