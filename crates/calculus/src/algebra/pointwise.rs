//! Minimum, maximum, sum and difference.
//!
//! For the minimum of curves with different rates, the slower curve is the lower one from a time
//! that follows from how far each curve deviates from its own rate (Bouillard and Thierry,
//! proposition 6), so no common period is needed. With equal rates, and for sums, the common period
//! is the least common multiple.

use super::ultimate::{self, Ultimate, both, repeating};
use super::{AlgebraError, sweep};
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended};
use crate::rational::Rational;

impl Curve {
    /// Returns the pointwise minimum of two curves.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] if the common period is too long, and
    /// [`AlgebraError::NotPseudoPeriodic`] if in every period the slower curve is plus infinite, or
    /// the faster one minus infinite, somewhere, so that the result follows both curves for ever.
    pub fn minimum(&self, other: &Self) -> Result<Self, AlgebraError> {
        if self.is_ultimately_affine() && other.is_ultimately_affine() {
            let pieces = sweep::minimum(&self.pieces, &other.pieces)?;
            return Ok(Self::canonical(pieces, Tail::Affine));
        }
        let (f, g) = both(self, other);
        let (start, length, increment) = match f.rate.cmp(&g.rate) {
            std::cmp::Ordering::Equal => common_period(&f, &g),
            std::cmp::Ordering::Less => slower_wins(self, &f, other, &g)?,
            std::cmp::Ordering::Greater => slower_wins(other, &g, self, &f)?,
        };
        let end = &start + &length;
        let pieces = sweep::minimum(&self.pieces_until(&end)?, &other.pieces_until(&end)?)?;
        repeating(pieces, &start, length, increment)
    }

    /// Returns the pointwise maximum of two curves.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::minimum`].
    pub fn maximum(&self, other: &Self) -> Result<Self, AlgebraError> {
        Ok(self.negated().minimum(&other.negated())?.negated())
    }

    /// Returns the pointwise sum of two curves.
    ///
    /// # Errors
    /// Returns [`AlgebraError::Indeterminate`] where opposite infinities meet, and
    /// [`AlgebraError::TooManyPieces`] if the common period is too long.
    pub fn sum(&self, other: &Self) -> Result<Self, AlgebraError> {
        let add = |at: &Rational, a: &Extended, b: &Extended| {
            a.checked_add(b).ok_or_else(|| AlgebraError::Indeterminate { at: at.clone() })
        };
        if self.is_ultimately_affine() && other.is_ultimately_affine() {
            let pieces = sweep::sum(&self.pieces, &other.pieces, add)?;
            return Ok(Self::canonical(pieces, Tail::Affine));
        }
        let (f, g) = both(self, other);
        let start = (&f.start).max(&g.start).clone();
        let length = match (&f.rate, &g.rate) {
            (Extended::Finite(_), Extended::Finite(_)) => f.length.common_multiple(&g.length),
            // A curve that is ultimately infinite repeats with any length, so with that of the
            // other curve.
            (Extended::Finite(_), _) => f.length.clone(),
            _ => g.length.clone(),
        };
        let rate = |of: &Ultimate| of.rate.finite().cloned().unwrap_or_default();
        let increment = (rate(&f) + rate(&g)) * &length;
        let end = &start + &length;
        let pieces = sweep::sum(&self.pieces_until(&end)?, &other.pieces_until(&end)?, add)?;
        repeating(pieces, &start, length, increment)
    }

    /// Returns the pointwise difference `self(t) - other(t)`, which may fall and be negative. A
    /// residual service curve is made from it by [`Curve::non_negative`] and then
    /// [`Curve::upper_non_decreasing`].
    ///
    /// # Errors
    /// Returns the errors of [`Curve::sum`].
    pub fn difference(&self, other: &Self) -> Result<Self, AlgebraError> {
        self.sum(&other.negated())
    }

    /// Returns the pointwise maximum of the curve and zero.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::maximum`].
    pub fn non_negative(&self) -> Result<Self, AlgebraError> {
        self.maximum(&Self::zero())
    }
}

/// Returns the start, the length and the increment of a period that two curves of equal rate share.
fn common_period(f: &Ultimate, g: &Ultimate) -> (Rational, Rational, Rational) {
    let start = (&f.start).max(&g.start).clone();
    let length = f.length.common_multiple(&g.length);
    let increment = f.rate.finite().map_or(Rational::ZERO, |rate| rate * &length);
    (start, length, increment)
}

/// Returns the start, the length and the increment of the period of the pointwise minimum of two
/// curves, of which `high` has the higher rate.
fn slower_wins(
    low: &Curve,
    of_low: &Ultimate,
    high: &Curve,
    of_high: &Ultimate,
) -> Result<(Rational, Rational, Rational), AlgebraError> {
    let refuse = |why| AlgebraError::NotPseudoPeriodic { operation: "minimum", why };
    let start = (&of_low.start).max(&of_high.start).clone();
    let done = |start| Ok((start, of_low.length.clone(), of_low.increment()));
    let (Extended::Finite(low_rate), Extended::Finite(high_rate)) = (&of_low.rate, &of_high.rate)
    else {
        // One of the curves is infinite from its start on, so the result has the period of the
        // other.
        let length = match &of_low.rate {
            Extended::Finite(_) => of_low.length.clone(),
            _ => of_high.length.clone(),
        };
        return Ok((start, length, of_low.increment()));
    };
    let of = ultimate::spread(low, low_rate, &of_low.start, &of_low.end())?;
    if of.has_plus_infinity {
        return Err(refuse("the slower curve is plus infinity again and again"));
    }
    let above = ultimate::spread(high, high_rate, &of_high.start, &of_high.end())?;
    if above.has_minus_infinity {
        return Err(refuse("the faster curve is minus infinity again and again"));
    }
    match (of.greatest, above.least) {
        (Some(greatest), Some(least)) => {
            let crossing = (greatest - least) / (high_rate - low_rate);
            done(start.max(crossing))
        }
        _ => done(start),
    }
}
