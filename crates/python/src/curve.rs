//! Curves, with their builders, operators and named methods.

mod builders;
mod class;
mod operations;
mod points;

pub(crate) use class::{Curve, Deviation};

use calculus::{AlgebraError, CurveError};

use crate::errors::{Fault, Kind};

/// Returns the fault of a curve that cannot be built.
fn not_a_curve(error: &CurveError) -> Fault {
    Fault::new(Kind::Curve, error.to_string())
}

/// Returns the fault of an operation on curves that has no result.
fn no_result(error: AlgebraError) -> Fault {
    match error {
        AlgebraError::Falls { operation, at } => {
            Fault::new(Kind::Curve, format!("the curve falls at time {at}"))
                .at(operation)
                .mended_by("take its non-decreasing closure first, such as upper_non_decreasing()")
        }
        AlgebraError::Negative { operation } => {
            Fault::new(Kind::Curve, "the curve is negative somewhere")
                .at(operation)
                .mended_by("take its non-negative part first, non_negative()")
        }
        AlgebraError::NotPseudoPeriodic { operation, why } => {
            let what = format!("the result is not ultimately pseudo-periodic ({why})");
            Fault::new(Kind::Curve, what).at(operation)
        }
        AlgebraError::TooManyPieces { needed, limit } => {
            let what = format!(
                "the result would take {needed} pieces, and the limit is {limit}, since the periods of \
                 the curves have too large a common multiple"
            );
            Fault::new(Kind::Limit, what).mended_by(
                "round the periods to a coarser grid, or bound the curve by one without a period",
            )
        }
        AlgebraError::TooManyPairs { needed, limit } => {
            let what = format!(
                "the operation would combine {needed} pairs of pieces, and the limit is {limit}"
            );
            Fault::new(Kind::Limit, what).mended_by("bound the curves by simpler ones")
        }
        other => Fault::new(Kind::Curve, other.to_string()),
    }
}
