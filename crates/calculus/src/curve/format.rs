//! The text form of curves and the corners of their graphs.

use super::piece::Tail;
use super::{Curve, Extended};
use crate::algebra::AlgebraError;
use crate::rational::Rational;
use std::fmt;

impl Curve {
    /// Returns the corners of the curve's graph from time zero to `end`, for drawing. The corners
    /// of a breakpoint are the limit from the left, the value and the limit from the right, where
    /// these differ. Values may be infinite.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] if there are too many periods up to `end`.
    pub fn outline(&self, end: &Rational) -> Result<Vec<(Rational, Extended)>, AlgebraError> {
        let mut corners: Vec<(Rational, Extended)> = Vec::new();
        let mut add = |t: &Rational, value: Extended| {
            if corners.last().is_none_or(|last| last.0 != *t || last.1 != value) {
                corners.push((t.clone(), value));
            }
        };
        let pieces = self.pieces_until(end)?;
        for (index, piece) in pieces.iter().enumerate() {
            add(&piece.start, piece.at.clone());
            add(&piece.start, piece.after.clone());
            let next = pieces.get(index + 1).map_or(end, |next| &next.start);
            add(next, piece.segment_at(next));
        }
        add(end, self.value_at(end));
        Ok(corners)
    }
}

/// Formats the pieces of the curve and its period. The piece `0: 0 then 5 slope 1/3` has the value
/// 0 at time 0, and after it a segment that starts from 5 and has the slope 1/3.
impl fmt::Display for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, piece) in self.pieces.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{}: ", piece.start)?;
            if piece.at != piece.after {
                write!(f, "{} then ", piece.at)?;
            }
            write!(f, "{}", piece.after)?;
            if !piece.slope.is_zero() {
                write!(f, " slope {}", piece.slope)?;
            }
        }
        if let Tail::Periodic { first, length, increment } = &self.tail {
            let start = &self.pieces[*first].start;
            write!(f, "; from {start} every {length} plus {increment}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Curve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Curve({self})")
    }
}
