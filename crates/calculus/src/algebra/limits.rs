//! Limits on the size of intermediate results.
//!
//! The common period of two curves can be astronomically long (for the periods 1/999983 and
//! 1/1000003, say). Every operation computes the number of pieces that it needs before it builds
//! them, and returns an error instead of exhausting the memory.

use super::AlgebraError;
use crate::rational::Rational;

/// The largest number of pieces of a curve. The limit also applies to the pieces that result when
/// an operation writes out the periods of a curve.
pub const PIECES: u32 = 1 << 20;
/// The largest number of pairs of convex parts of two curves that one convolution may combine. If a
/// part starts with numbers beyond machine words, each pair counts several times, in proportion to
/// the length of these numbers.
pub const PAIRS: u32 = 1 << 22;

pub(crate) fn check_pieces(needed: &Rational) -> Result<(), AlgebraError> {
    if *needed > Rational::from(PIECES) {
        return Err(AlgebraError::TooManyPieces { needed: needed.ceil(), limit: PIECES });
    }
    Ok(())
}

pub(crate) fn check_pairs(needed: usize) -> Result<(), AlgebraError> {
    if needed > PAIRS as usize {
        return Err(AlgebraError::TooManyPairs { needed, limit: PAIRS });
    }
    Ok(())
}
