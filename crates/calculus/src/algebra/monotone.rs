//! Closures that make a curve non-decreasing or non-increasing.

use super::ultimate::{both, repeating};
use super::{AlgebraError, sweep};
use crate::curve::{Curve, Extended, Piece};
use crate::rational::Rational;

impl Curve {
    /// Returns the smallest non-decreasing curve at least this one. Its value at `t` is the
    /// supremum of this curve over `s <= t`.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] if it takes too many periods to exceed the values
    /// before the first period.
    pub fn upper_non_decreasing(&self) -> Result<Self, AlgebraError> {
        if self.is_non_decreasing() {
            return Ok(self.clone());
        }
        let (of, _) = both(self, self);
        let increment = of.increment();
        let (start, increment) = if increment.is_positive() {
            // The result repeats once the periods exceed every value before the first period.
            let end = of.end();
            let pieces = self.pieces_until(&end)?;
            let most = |from: &Rational, to: &Rational| {
                sweep::extremes(&pieces, from, to).map(|(_, value)| value).max()
            };
            let early = most(&Rational::ZERO, &of.start).and_then(Extended::into_finite);
            let late = most(&of.start, &end).and_then(Extended::into_finite);
            let missing = match (early, late) {
                (Some(early), Some(late)) => {
                    ((early - late) / &increment).ceil().max(Rational::ZERO)
                }
                _ => Rational::ZERO,
            };
            (&of.start + &((missing + Rational::ONE) * &of.length), increment)
        } else {
            (of.end(), Rational::ZERO)
        };
        let end = &start + &of.length;
        let pieces = running_supremum(&self.pieces_until(&end)?, &end);
        repeating(pieces, &start, of.length, increment)
    }

    /// Returns the greatest non-decreasing curve at most this one. Its value at `t` is the infimum
    /// of this curve over `s >= t`.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] if the result would have too many pieces.
    pub fn lower_non_decreasing(&self) -> Result<Self, AlgebraError> {
        if self.is_non_decreasing() {
            return Ok(self.clone());
        }
        let (of, _) = both(self, self);
        let increment = of.increment();
        if increment.is_negative() || of.rate == Extended::NegativeInfinity {
            return Ok(Self::constant(Extended::NegativeInfinity));
        }
        // Later periods lie higher, so the infimum needs only one period more than the result
        // shows.
        let end = of.end();
        let horizon = &end + &of.length;
        let mut pieces = infimum_ahead(&self.pieces_until(&horizon)?, &horizon);
        pieces.truncate(pieces.partition_point(|piece| piece.start < end));
        repeating(pieces, &of.start, of.length, increment)
    }
}

impl Curve {
    /// Returns the smallest non-increasing curve at least this one. Its value at `t` is the
    /// supremum of this curve over `s >= t`.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::lower_non_decreasing`].
    pub fn upper_non_increasing(&self) -> Result<Self, AlgebraError> {
        Ok(self.negated().lower_non_decreasing()?.negated())
    }

    /// Returns the greatest non-increasing curve at most this one. Its value at `t` is the infimum
    /// of this curve over `s <= t`.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::upper_non_decreasing`].
    pub fn lower_non_increasing(&self) -> Result<Self, AlgebraError> {
        Ok(self.negated().upper_non_decreasing()?.negated())
    }
}

/// Returns the pieces of the supremum of all values up to each time, on `[0, end)`.
fn running_supremum(source: &[Piece], end: &Rational) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(source.len());
    let mut most = Extended::NegativeInfinity;
    for (index, piece) in source.iter().enumerate() {
        let next = source.get(index + 1).map_or(end, |next| &next.start);
        let at = most.max(piece.at.clone());
        let after = (&at).max(&piece.after).clone();
        let left = piece.segment_at(next);
        most = (&after).max(&left).clone();
        if after == piece.after && !piece.slope.is_negative() {
            // The segment starts at the running supremum and rises.
            sweep::push(
                &mut pieces,
                Piece::new(piece.start.clone(), at, after, piece.slope.clone()),
            );
            continue;
        }
        sweep::push(
            &mut pieces,
            Piece::new(piece.start.clone(), at, after.clone(), Rational::ZERO),
        );
        if let (Extended::Finite(level), Extended::Finite(from), true) =
            (&after, &piece.after, most > after)
        {
            let passes = &piece.start + &((level - from) / &piece.slope);
            sweep::push(&mut pieces, Piece::continuous(passes, after, piece.slope.clone()));
        }
    }
    pieces
}

/// Returns the pieces of the infimum of all values from each time on, on `[0, end)`.
fn infimum_ahead(source: &[Piece], end: &Rational) -> Vec<Piece> {
    let mut reversed: Vec<Piece> = Vec::with_capacity(source.len());
    let mut least = Extended::PositiveInfinity;
    for (index, piece) in source.iter().enumerate().rev() {
        let next = source.get(index + 1).map_or(end, |next| &next.start);
        let left = (&least).min(&piece.segment_at(next)).clone();
        let after = (&left).min(&piece.after).clone();
        let is_top = left == piece.segment_at(next);
        if is_top && piece.slope.is_positive() {
            least = after.clone().min(piece.at.clone());
            let at = least.clone();
            reversed.push(Piece::new(piece.start.clone(), at, after, piece.slope.clone()));
            continue;
        }
        // The segment rises at most up to the infimum of what follows, and is cut there.
        if let (Extended::Finite(level), Extended::Finite(from), true) =
            (&left, &piece.after, after < left)
        {
            let meets = &piece.start + &((level - from) / &piece.slope);
            reversed.push(Piece::continuous(meets, left.clone(), Rational::ZERO));
            least = after.clone().min(piece.at.clone());
            let at = least.clone();
            reversed.push(Piece::new(piece.start.clone(), at, after, piece.slope.clone()));
            continue;
        }
        least = after.clone().min(piece.at.clone());
        let at = least.clone();
        reversed.push(Piece::new(piece.start.clone(), at, left, Rational::ZERO));
    }
    let mut pieces = Vec::with_capacity(reversed.len());
    for piece in reversed.into_iter().rev() {
        sweep::push(&mut pieces, piece);
    }
    pieces
}
