//! How large an intermediate result may become.
//!
//! The common period of two curves can be astronomically long (periods 1/999983 and 1/1000003,
//! say). Every operation knows how many pieces it is going to need before it makes them, and
//! refuses in place of filling the memory.

use super::AlgebraError;
use crate::rational::Rational;

/// Most pieces that a curve, or a periodic curve unrolled for an operation, may have.
pub const PIECES: u32 = 1 << 20;
/// Most pairs of convex parts that one convolution may combine; pairs of numbers that are longer
/// than machine words count as many times as they are longer.
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
