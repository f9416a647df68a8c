//! Why an operation on curves has no answer.

use crate::rational::Rational;

/// Why an operation on curves has no (representable) result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AlgebraError {
    /// Opposite infinities meet.
    #[error("plus and minus infinity meet at time {at}: the result has no value there")]
    Indeterminate {
        /// Where they meet.
        at: Rational,
    },
    /// The result is no longer wanted; see [`Interrupt`](crate::Interrupt).
    #[error("it was interrupted")]
    Interrupted,
    /// The operation is for curves that never fall.
    #[error(
        "the curve falls at time {at}: {operation} needs one that never falls (take its non-decreasing closure first)"
    )]
    Falls {
        /// The operation.
        operation: &'static str,
        /// Where the curve falls.
        at: Rational,
    },
    /// The operation is for curves that are not negative.
    #[error(
        "the curve is negative: {operation} needs one that is not (take its non-negative closure first)"
    )]
    Negative {
        /// The operation.
        operation: &'static str,
    },
    /// The exact result grows at two rates for ever, or has no period: it is no curve.
    #[error("{operation}: the result is not ultimately pseudo-periodic ({why})")]
    NotPseudoPeriodic {
        /// The operation.
        operation: &'static str,
        /// What the argument is like.
        why: &'static str,
    },
    /// The common period of the curves is so long that the result would be enormous.
    #[error(
        "the result would take {needed} pieces, the limit is {limit}: the periods of the curves have too large a common multiple; round them to a coarser grid, or bound the curve by one that is ultimately affine"
    )]
    TooManyPieces {
        /// Pieces needed.
        needed: Rational,
        /// Pieces allowed.
        limit: u32,
    },
    /// The curves have so many pieces that combining all of them would take too long.
    #[error(
        "the operation would combine {needed} pairs of pieces, the limit is {limit}: bound the curves by simpler ones"
    )]
    TooManyPairs {
        /// Pairs needed.
        needed: usize,
        /// Pairs allowed.
        limit: u32,
    },
}
