//! Errors of operations on curves.

use crate::rational::Rational;

/// The reason why an operation on curves has no result, or has a result that this crate cannot
/// represent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AlgebraError {
    /// The operation adds plus infinity and minus infinity.
    #[error("plus and minus infinity meet at time {at}: the result has no value there")]
    Indeterminate {
        /// The time at which the operation adds the infinities.
        at: Rational,
    },
    /// The thread's [`Interrupt`](crate::Interrupt), which cancels computations, was set.
    #[error("it was interrupted")]
    Interrupted,
    /// The operation requires a non-decreasing curve.
    #[error(
        "the curve falls at time {at}: {operation} needs one that never falls (take its non-decreasing closure first)"
    )]
    Falls {
        /// The name of the operation that failed.
        operation: &'static str,
        /// The time at which the curve falls.
        at: Rational,
    },
    /// The operation requires a non-negative curve.
    #[error(
        "the curve is negative: {operation} needs one that is not (take its non-negative closure first)"
    )]
    Negative {
        /// The name of the operation that failed.
        operation: &'static str,
    },
    /// The exact result of the operation is not an ultimately pseudo-periodic curve, for example
    /// because at arbitrarily late times it equals each of two curves of different rates.
    #[error("{operation}: the result is not ultimately pseudo-periodic ({why})")]
    NotPseudoPeriodic {
        /// The name of the operation that failed.
        operation: &'static str,
        /// The property of the arguments for which the result is not pseudo-periodic.
        why: &'static str,
    },
    /// The result would have too many pieces, usually because the common period of the curves is
    /// too long.
    #[error(
        "the result would take {needed} pieces, the limit is {limit}: the periods of the curves have too large a common multiple; round them to a coarser grid, or bound the curve by one that is ultimately affine"
    )]
    TooManyPieces {
        /// The number of pieces that the result would need.
        needed: Rational,
        /// The largest number of pieces that a curve may have.
        limit: u32,
    },
    /// The curves have too many pieces for all pairs of these to be combined in reasonable time.
    #[error(
        "the operation would combine {needed} pairs of pieces, the limit is {limit}: bound the curves by simpler ones"
    )]
    TooManyPairs {
        /// The number of pairs that the operation would combine. Pairs of long numbers count
        /// several times (see [`PAIRS`](super::limits::PAIRS)).
        needed: usize,
        /// The largest number of pairs that an operation may combine.
        limit: u32,
    },
}
