//! Horizontal, vertical and z-deviation: delay and backlog bounds.

use super::deconvolution::{Reach, reach};
use super::ultimate::{both, spread};
use super::{AlgebraError, sweep};
use crate::curve::{Curve, Extended, Piece};
use crate::rational::Rational;

/// The result of a deviation of two curves, such as a delay or backlog bound, and the time at which
/// it is attained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// The deviation: an amount of data for the vertical deviation, and a time for the others. It
    /// is plus infinity if there is no bound.
    pub value: Extended,
    /// The smallest time at which the deviation is attained, or approached from either side. It is
    /// `None` if the deviation is infinite because the curves diverge.
    pub at: Option<Rational>,
}

impl Curve {
    /// Returns the vertical deviation: the supremum over all times of `self(t) - service(t)`. For
    /// an arrival curve and a service curve, the deviation bounds the backlog (Le Boudec and
    /// Thiran, theorem 1.4.1). It is negative if this curve stays below the service.
    ///
    /// Times at which the service is plus infinite are ignored.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] if the common period is too long, and
    /// [`AlgebraError::NotPseudoPeriodic`] if a curve is infinite in every period.
    pub fn vertical_deviation(&self, service: &Self) -> Result<Deviation, AlgebraError> {
        let (f, g) = both(self, service);
        let Reach::Before(end) = reach(self, &f, service, &g)? else {
            return Ok(Deviation { value: Extended::PositiveInfinity, at: None });
        };
        let slack = self.slack(service, &end)?;
        let (value, at) = smallest(&slack, &end);
        Ok(Deviation { value: -value, at })
    }

    /// Returns the pieces of `service(t) - self(t)` on the times `[0, end)`. The difference is plus
    /// infinity where the service is plus infinite.
    fn slack(&self, service: &Self, end: &Rational) -> Result<Vec<Piece>, AlgebraError> {
        let mut negative = self.pieces_until(end)?;
        sweep::negate(&mut negative);
        let service = service.pieces_until(end)?;
        sweep::sum(&negative, &service, |_, a, b| Ok(a.min_plus_product(b)))
    }

    /// Returns the horizontal deviation: the supremum over all times `t` of the infimum of all
    /// `d >= 0` with `self(t) <= service(t + d)`. For an arrival curve and a service curve, the
    /// deviation bounds the delay (Le Boudec and Thiran, theorem 1.4.2).
    ///
    /// It is computed as the vertical deviation of the lower pseudo-inverses of the two curves.
    ///
    /// # Errors
    /// Returns [`AlgebraError::Falls`] unless both curves are non-decreasing, and the errors of
    /// [`Curve::vertical_deviation`].
    pub fn horizontal_deviation(&self, service: &Self) -> Result<Deviation, AlgebraError> {
        // Pseudo-inverses are computed from zero data on, so both curves are raised if one starts
        // below zero.
        let lowest = (&self.pieces[0].at).min(&service.pieces[0].at);
        let lift = match lowest {
            Extended::Finite(value) if value.is_negative() => -value,
            _ => Rational::ZERO,
        };
        let arrival = self.raised(&lift).inverse("horizontal deviation")?;
        let departure = service.raised(&lift).inverse("horizontal deviation")?;
        let deviation = departure.vertical_deviation(&arrival)?;
        let positive = deviation.value > Extended::ZERO;
        let value = if positive { deviation.value } else { Extended::ZERO };
        let at = deviation.at.map(|data| {
            let on = arrival.value_at(&data);
            // Where the horizontal distance jumps, the supremum may be the limit from the right.
            let gap = departure.value_at(&data).checked_add(&-&on);
            let on = if !positive || gap == Some(value.clone()) {
                on
            } else {
                arrival.right_limit_at(&data)
            };
            on.into_finite().unwrap_or_default()
        });
        Ok(Deviation { value, at })
    }

    /// Returns the z-deviation: the smallest `t >= 0` at which the min-plus convolution of the two
    /// curves is not negative. This time bounds the delay, even for service curves that are
    /// negative at some times.
    ///
    /// # Errors
    /// Returns [`AlgebraError::Falls`] unless both curves are non-decreasing, and the errors of
    /// [`Curve::convolution`].
    pub fn z_deviation(&self, service: &Self) -> Result<Extended, AlgebraError> {
        for curve in [self, service] {
            if let Some(at) = curve.first_fall() {
                return Err(AlgebraError::Falls { operation: "z-deviation", at });
            }
        }
        let inverse = self.convolution(service)?.inverse("z-deviation")?;
        Ok(inverse.value_at(&Rational::ZERO))
    }
}

impl Curve {
    /// Returns the bound on the length of a backlogged period: the infimum of the times `t > 0` at
    /// which `self(t) <= service(t)`, for an arrival curve and a strict service curve (Bouillard,
    /// Boyer and Le Corronc, section 5.5). The bound is infinite if the service never catches up.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] if the common period is too long.
    pub fn backlogged_period(&self, service: &Self) -> Result<Extended, AlgebraError> {
        let (f, g) = both(self, service);
        let starts = (&f.start).max(&g.start);
        let end = match (&f.rate, &g.rate) {
            (Extended::Finite(rate_f), Extended::Finite(rate_g)) if rate_f != rate_g => {
                // After the last possible crossing, one curve stays below the other.
                let of_f = spread(self, rate_f, &Rational::ZERO, &f.end())?;
                let of_g = spread(service, rate_g, &Rational::ZERO, &g.end())?;
                let (above, below) = if rate_f < rate_g {
                    (of_f.greatest, of_g.least)
                } else {
                    (of_g.greatest, of_f.least)
                };
                let gap = above.unwrap_or_default() - below.unwrap_or_default();
                starts.max(&(gap / (rate_g - rate_f).abs())) + &f.length + &g.length
            }
            (Extended::Finite(_), Extended::Finite(_)) => {
                starts + f.length.common_multiple(&g.length)
            }
            _ => starts + &f.length + &g.length,
        };
        let slack = self.slack(service, &end)?;
        for (index, piece) in slack.iter().enumerate() {
            let start = &piece.start;
            if start.is_positive() && piece.at >= Extended::ZERO {
                return Ok(Extended::from(start));
            }
            let rises = !piece.slope.is_negative();
            if piece.after > Extended::ZERO || (piece.after == Extended::ZERO && rises) {
                return Ok(Extended::from(start));
            }
            if let (Extended::Finite(after), Some(inverse), true) =
                (&piece.after, piece.slope.reciprocal(), rises)
            {
                let reached = start - &(after * &inverse);
                if slack.get(index + 1).map_or(&end, |next| &next.start) > &reached {
                    return Ok(Extended::Finite(reached));
                }
            }
        }
        Ok(Extended::PositiveInfinity)
    }
}

/// Returns the least value of a list of pieces on `[0, end)`, limits at breakpoints included, and
/// the first time at which it occurs.
fn smallest(pieces: &[Piece], end: &Rational) -> (Extended, Option<Rational>) {
    let least = sweep::extremes(pieces, &Rational::ZERO, end)
        .map(|(t, value)| (value, t))
        .min()
        .unwrap_or((Extended::PositiveInfinity, Rational::ZERO));
    (least.0, Some(least.1))
}
