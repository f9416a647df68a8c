//! Min-plus and max-plus deconvolution.
//!
//! `(f / g)(t)` is the supremum of `f(t + u) - g(u)` over `u >= 0`. The result repeats with the
//! period of `f` and from the same time on, because `t` occurs only in the argument of `f`. The
//! range of `u` must be bounded. With equal rates, `u` need not exceed the later start by more than
//! one common period. With a slower `f`, the difference eventually stays below its value at some
//! earlier `u`, so that no common period is needed.

use super::transform::from_zero;
use super::ultimate::{Ultimate, both, repeating, spread};
use super::{AlgebraError, runs, sweep};
use crate::curve::{Curve, Extended};
use crate::rational::Rational;

/// The range of `u` over which the supremum of `f(t + u) - g(u)` in a deconvolution must be taken.
pub(super) enum Reach {
    /// The supremum is attained or approached at values of `u` below this time.
    Before(Rational),
    /// The difference grows without bound as `u` increases, and so does the supremum.
    Unbounded,
}

impl Curve {
    /// Returns the min-plus deconvolution: the supremum over `u >= 0` of `self(t + u) - other(u)`.
    ///
    /// Times at which `other` is plus infinite are ignored: the result is the smallest `h` with
    /// `self <= h * other`, where `*` is the min-plus convolution, for all times `t >= 0`.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] and [`AlgebraError::TooManyPairs`] if the result is
    /// too large, [`AlgebraError::NotPseudoPeriodic`] if a curve is infinite in every period and
    /// the result never becomes periodic.
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

    /// Returns the max-plus deconvolution: the infimum over `u >= 0` of `self(t + u) - other(u)`.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::deconvolution`].
    pub fn max_plus_deconvolution(&self, other: &Self) -> Result<Self, AlgebraError> {
        Ok(self.negated().deconvolution(&other.negated())?.negated())
    }
}

/// Returns the range of `u` that suffices for the supremum of `f(t + u) - g(u)`, for any `t`.
pub(super) fn reach(
    f: &Curve,
    of_f: &Ultimate,
    g: &Curve,
    of_g: &Ultimate,
) -> Result<Reach, AlgebraError> {
    let (rate_f, rate_g) = match (&of_f.rate, &of_g.rate) {
        // The curve `g` is plus infinity from its start on, and is ignored there. The range ends a
        // little after that start, so that it includes the start.
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
    // The supremum is at least the difference at any single `u`. The chosen `u` is the one at which
    // `g` is lowest compared with a line of the rate of `f`. Beyond `far`, the difference is always
    // less than at that `u`.
    let end = of_g.end();
    let pieces = g.pieces_until(&end)?;
    let good = sweep::extremes(&pieces, &Rational::ZERO, &end)
        .filter_map(|(u, value)| Some((rate_f * &u - value.into_finite()?, u)))
        .max();
    let Some((gain, at)) = good else {
        return Ok(Reach::Before(one_period(of_g)));
    };
    let far = (greatest_f - least_g - least_f - gain) / (rate_g - rate_f);
    // The range must include the chosen `u` itself.
    let far = far.max(at) + &of_g.length;
    Ok(Reach::Before(far.min(one_period(of_g).max(of_g.end()))))
}
