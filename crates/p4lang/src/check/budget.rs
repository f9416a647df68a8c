//! What a program may cost at compile time.
//!
//! Constants grow exponentially with the program: a tuple of two tuples of two tuples, a product of itself with
//! itself, a string joined to itself. Each value that the evaluator makes or copies is paid for with its size, so
//! that a program costs what it says; one that has spent everything is refused.

use std::cell::Cell;

use super::Constant;
use crate::diagnostic::{Diagnostic, LIMIT};
use crate::source::Span;
use ir::Exceeded;

/// What any program may spend, in units of [`size`]: some hundred megabytes and some tenths of a second.
const ALLOWANCE: u64 = 1 << 22;
/// What each byte of its text adds.
const PER_BYTE: u64 = 64;
/// An `int`, or a constant `bit<W>`, has at most this many bits.
pub(super) const LARGEST_INTEGER: u64 = 1 << 17;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    left: Cell<u64>,
    refusal: Cell<Option<(Span, Refusal)>>,
}

/// Why constants are computed no more.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    TooMuch,
    TooLarge,
    HugeType,
    Limit(Exceeded),
}

impl Budget {
    /// For a program of so many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let left = bytes.saturating_mul(PER_BYTE).saturating_add(ALLOWANCE);
        Self { left: Cell::new(left), refusal: Cell::new(None) }
    }

    /// Pays; `None` once there is not enough left.
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

    /// A value of so many bits is to be made; `None` if that is too large.
    pub(super) fn integer(&self, bits: u64, span: Span) -> Option<()> {
        if bits <= LARGEST_INTEGER { Some(()) } else { self.refuse(span, Refusal::TooLarge) }
    }

    /// A type that is put together from type arguments has too many parts.
    pub(crate) fn huge_type(&self) {
        self.refuse(Span::nowhere(), Refusal::HugeType);
    }

    /// A type of an instance of what is generic exceeds a limit.
    pub(crate) fn exceeded(&self, exceeded: Exceeded, span: Span) {
        self.refuse(span, Refusal::Limit(exceeded));
    }

    fn refuse(&self, span: Span, refusal: Refusal) -> Option<()> {
        if self.refusal.get().is_none() {
            self.refusal.set(Some((span, refusal)));
        }
        None
    }

    /// What is to be said if something was refused; once.
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

/// What it costs to copy a constant.
pub(super) fn size(value: &Constant) -> u64 {
    const WORD: u64 = 64;
    match value {
        Constant::Integer(number) => 1 + number.bits() / WORD,
        Constant::Bits(bits) | Constant::SerializableEnum { value: bits, .. } => {
            1 + u64::from(bits.width()) / WORD
        }
        // Shared.
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
