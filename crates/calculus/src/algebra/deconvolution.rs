//! Min-plus and max-plus deconvolution.
//!
//! `(f / g)(t)` is the supremum of `f(t + u) - g(u)` over `u >= 0`. It repeats as `f` does, from
//! the same start on, because the shift only concerns `f`. What must be bounded is `u`: with equal
//! rates one common period behind both starts shows all there is; with a slower `f` the difference
//! falls below a value that is surely reached, and again no common period is needed.

use super::transform::from_zero;
use super::ultimate::{Ultimate, both, repeating, spread};
use super::{AlgebraError, runs, sweep};
use crate::curve::{Curve, Extended};
use crate::rational::Rational;

/// How far the supremum in a deconvolution has to look.
pub(super) enum Reach {
    /// All that counts lies before this.
    Before(Rational),
    /// It grows without bound.
    Unbounded,
}

impl Curve {
    /// The min-plus deconvolution: the supremum over `u >= 0` of `self(t + u) - other(u)`.
    ///
    /// Where the other curve is plus infinite it puts no constraint: the result is the smallest
    /// `h` with `self <= h * other`, on times from zero on.
    ///
    /// # Errors
    /// [`AlgebraError::TooManyPieces`] and [`AlgebraError::TooManyPairs`] for results that are too
    /// large, [`AlgebraError::NotPseudoPeriodic`] for curves that are infinite again and again
    /// and whose result never settles.
    pub fn deconvolution(&self, other: &Self) -> Result<Self, AlgebraError> {
        let (f, g) = both(self, other);
        let Reach::Before(reach) = reach(self, &f, other, &g)? else {
            return Ok(Self::constant(Extended::PositiveInfinity));
        };
        let end = f.end();
        let width = &end + &reach;
        let mut pieces = self.pieces_until(&width)?;
        sweep::negate(&mut pieces);
        let runs_f = runs::cut(&pieces, &width);
        let runs_g = runs::mirror(&runs::cut(&other.pieces_until(&reach)?, &reach));
        let convolved = runs::convolve(&runs_f, &runs_g, &end)?;
        let mut pieces = from_zero(&convolved, &end);
        sweep::negate(&mut pieces);
        repeating(pieces, &f.start, f.length.clone(), f.increment())
    }

    /// The max-plus deconvolution: the infimum over `u >= 0` of `self(t + u) - other(u)`.
    ///
    /// # Errors
    /// As for [`Curve::deconvolution`].
    pub fn max_plus_deconvolution(&self, other: &Self) -> Result<Self, AlgebraError> {
        Ok(self.negated().deconvolution(&other.negated())?.negated())
    }
}

/// How far `u` has to go in the supremum of `f(t + u) - g(u)`, for every `t`.
pub(super) fn reach(
    f: &Curve,
    of_f: &Ultimate,
    g: &Curve,
    of_g: &Ultimate,
) -> Result<Reach, AlgebraError> {
    let (rate_f, rate_g) = match (&of_f.rate, &of_g.rate) {
        // Behind its start `g` puts no constraint; a little further, to include the start.
        (_, Extended::PositiveInfinity) => return Ok(Reach::Before(of_g.end())),
        (Extended::NegativeInfinity, _) => return Ok(Reach::Before(of_f.end())),
        (Extended::PositiveInfinity, _) | (_, Extended::NegativeInfinity) => {
            return Ok(Reach::Unbounded);
        }
        (Extended::Finite(rate_f), Extended::Finite(rate_g)) => (rate_f, rate_g),
    };
    let one_period = |of_g: &Ultimate| {
        (&of_f.start).max(&of_g.start) + &of_f.length.common_multiple(&of_g.length)
    };
    if rate_f > rate_g {
        let tail_f = spread(f, rate_f, &of_f.start, &of_f.end())?;
        let tail_g = spread(g, rate_g, &of_g.start, &of_g.end())?;
        if tail_f.has_minus_infinity || tail_g.has_plus_infinity {
            return Err(AlgebraError::NotPseudoPeriodic {
                operation: "deconvolution",
                why: "the faster curve, or what it is reduced by, is infinite again and again",
            });
        }
        return Ok(Reach::Unbounded);
    }
    if rate_f == rate_g {
        return Ok(Reach::Before(one_period(of_g)));
    }
    let around_f = spread(f, rate_f, &Rational::ZERO, &of_f.end())?;
    let below_g = spread(g, rate_g, &Rational::ZERO, &of_g.end())?;
    let is_plain =
        !around_f.has_plus_infinity && !around_f.has_minus_infinity && !below_g.has_minus_infinity;
    let (Some(least_f), Some(greatest_f), Some(least_g), true) =
        (around_f.least, around_f.greatest, below_g.least, is_plain)
    else {
        return Ok(Reach::Before(one_period(of_g)));
    };
    // The supremum is at least what some good `u` gives; behind `far` nothing reaches that.
    let end = of_g.end();
    let pieces = g.pieces_until(&end)?;
    let good = sweep::extremes(&pieces, &Rational::ZERO, &end)
        .filter_map(|(u, value)| Some((rate_f * &u - value.into_finite()?, u)))
        .max();
    let Some((gain, at)) = good else {
        return Ok(Reach::Before(one_period(of_g)));
    };
    let far = (greatest_f - least_g - least_f - gain) / (rate_g - rate_f);
    // A little further than the good one, so that it is included.
    let far = far.max(at) + &of_g.length;
    Ok(Reach::Before(far.min(one_period(of_g).max(of_g.end()))))
}
