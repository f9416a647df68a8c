//! Rounds the values of a curve down (floor) or up (ceiling) to whole numbers.

use super::ultimate::{of_curve, repeating};
use super::{AlgebraError, limits, sweep};
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended, Piece};
use crate::rational::Rational;

impl Curve {
    /// Returns the curve with each value rounded down to a whole number, such as a number of
    /// complete packets.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] if a period crosses too many whole numbers.
    pub fn floor(&self) -> Result<Self, AlgebraError> {
        // The result repeats after the smallest number of periods whose increment is a whole
        // number.
        let (start, length, increment) = match &self.tail {
            Tail::Affine => {
                let slope = &self.last_piece().slope;
                let length = slope.abs().reciprocal().unwrap_or(Rational::ONE);
                let of = of_curve(self, length);
                let increment = of.increment();
                (of.start, of.length, increment)
            }
            Tail::Periodic { length, increment, .. } => {
                let denominator = increment.reciprocal().map_or(Rational::ONE, |_| {
                    let whole = increment.abs().common_multiple(&Rational::ONE);
                    whole / increment.abs()
                });
                (self.tail_start().clone(), length * &denominator, increment * &denominator)
            }
        };
        let end = &start + &length;
        let source = self.pieces_until(&end)?;
        let mut pieces: Vec<Piece> = Vec::with_capacity(source.len());
        for (index, piece) in source.iter().enumerate() {
            let next = source.get(index + 1).map_or(&end, |next| &next.start);
            floor_of_piece(piece, next, &mut pieces)?;
        }
        repeating(pieces, &start, length, increment)
    }

    /// Returns the curve with each value rounded up to a whole number.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::floor`].
    pub fn ceil(&self) -> Result<Self, AlgebraError> {
        Ok(self.negated().floor()?.negated())
    }
}

/// Appends to `pieces` the pieces that describe the values of `piece`, rounded down. `next` is the
/// time at which `piece` ends.
fn floor_of_piece(
    piece: &Piece,
    next: &Rational,
    pieces: &mut Vec<Piece>,
) -> Result<(), AlgebraError> {
    let floor = |value: &Extended| match value {
        Extended::Finite(value) => Extended::Finite(value.floor()),
        infinite => infinite.clone(),
    };
    let at = floor(&piece.at);
    let (Extended::Finite(from), Extended::Finite(to)) = (&piece.after, piece.segment_at(next))
    else {
        let after = piece.after.clone();
        sweep::push(pieces, Piece::new(piece.start.clone(), at, after, Rational::ZERO));
        return Ok(());
    };
    limits::check_pieces(&(&to - from).abs())?;
    let falls = piece.slope.is_negative();
    // The rounded value just after the start. A falling segment leaves a whole number immediately.
    let mut level = if falls { from.ceil() - Rational::ONE } else { from.floor() };
    let after = level.clone();
    sweep::push(pieces, Piece::new(piece.start.clone(), at, after, Rational::ZERO));
    loop {
        // The whole number that the segment reaches next. A rising segment has this rounded value
        // from that time on. A falling segment has it only at that time.
        let reached = if falls { level.clone() } else { &level + &Rational::ONE };
        let is_inside = if falls { reached > to } else { reached < to };
        if !is_inside {
            return Ok(());
        }
        let time = &piece.start + &((&reached - from) / &piece.slope);
        level = if falls { &level - &Rational::ONE } else { reached.clone() };
        sweep::push(pieces, Piece::new(time, reached, level.clone(), Rational::ZERO));
    }
}
