//! Lower and upper pseudo-inverse, and composition.
//!
//! A pseudo-inverse is the graph of a non-decreasing curve, with its jumps filled in, read along
//! the other axis (Zippo, Nikolaus and Stea, "Extending the network calculus algorithmic toolbox
//! for ultimately pseudo-periodic functions: pseudo-inverse and composition", 2022).

use super::ultimate::{Ultimate, both, of_curve, repeating};
use super::{AlgebraError, sweep};
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended, Piece};
use crate::rational::Rational;

/// A part of a pseudo-inverse. For data `y` in `(from, to]`, the time is
/// `time + (y - from) * slope`.
struct Part {
    from: Extended,
    to: Extended,
    time: Rational,
    slope: Rational,
}

impl Curve {
    /// Returns the lower pseudo-inverse on `y >= 0`: the infimum of the times at which the curve is
    /// at least `y`, plus infinity if there is no such time. The result is left-continuous.
    ///
    /// # Errors
    /// Returns [`AlgebraError::Falls`] unless the curve is non-decreasing, and
    /// [`AlgebraError::TooManyPieces`] if it takes too many periods to reach zero.
    pub fn lower_pseudo_inverse(&self) -> Result<Self, AlgebraError> {
        self.inverse("lower pseudo-inverse")
    }

    /// Returns the upper pseudo-inverse on `y >= 0`: the infimum of the times at which the curve
    /// exceeds `y`, which is the supremum of the times at which it is at most `y`. The result is
    /// right-continuous.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::lower_pseudo_inverse`].
    pub fn upper_pseudo_inverse(&self) -> Result<Self, AlgebraError> {
        Ok(self.inverse("upper pseudo-inverse")?.right_continuous())
    }

    pub(super) fn inverse(&self, operation: &'static str) -> Result<Self, AlgebraError> {
        if let Some(at) = self.first_fall() {
            return Err(AlgebraError::Falls { operation, at });
        }
        let Tail::Periodic { length, increment, .. } = &self.tail else {
            let pieces = inverted(&self.pieces, None);
            return Ok(Self::canonical(pieces, Tail::Affine));
        };
        // The inverse repeats only for data strictly above the value at the start of the period, so
        // two periods are inverted.
        let start = self.tail_start();
        let at_start = self.value_at(start).into_finite().unwrap_or_default();
        let from = at_start.max(Rational::ZERO) + increment;
        let to = &from + increment;
        // The inverse starts at zero data, so periods with negative values are skipped.
        let mut end = start + length;
        loop {
            let reached = self.value_at(&end);
            if reached >= Extended::Finite(to.clone()) {
                break;
            }
            let missing = (&to - &reached.into_finite().unwrap_or_default()) / increment;
            end += missing.ceil().max(Rational::ONE) * length;
        }
        let pieces = inverted(&self.pieces_until(&end)?, Some((&end, self.value_at(&end))));
        repeating(pieces, &from, increment.clone(), length.clone())
    }

    /// Returns the composition of this curve with another, `t -> self(inner(t))`.
    ///
    /// # Errors
    /// Returns [`AlgebraError::Falls`] or [`AlgebraError::Negative`] if the inner curve falls or is
    /// negative, [`AlgebraError::NotPseudoPeriodic`] if the inner curve is infinite and this curve
    /// has no limit at infinity, [`AlgebraError::TooManyPieces`] if the common period is too long.
    pub fn composition(&self, inner: &Self) -> Result<Self, AlgebraError> {
        const OPERATION: &str = "composition";
        if let Some(at) = inner.first_fall() {
            return Err(AlgebraError::Falls { operation: OPERATION, at });
        }
        if inner.pieces[0].at < Extended::ZERO {
            return Err(AlgebraError::Negative { operation: OPERATION });
        }
        let at_infinity = self.limit_at_infinity();
        let (start, length, increment) = self.composed_period(inner);
        let end = &start + &length;
        let source = inner.pieces_until(&end)?;
        let mut pieces: Vec<Piece> = Vec::with_capacity(source.len());
        let highest = source.iter().rev().find_map(|piece| {
            let reached = piece.segment_at(&end).into_finite()?;
            Some(reached + Rational::ONE)
        });
        let outer = self.pieces_until(&highest.unwrap_or(Rational::ONE))?;
        for (index, piece) in source.iter().enumerate() {
            let next = source.get(index + 1).map_or(&end, |next| &next.start);
            let at = match &piece.at {
                Extended::Finite(data) => self.value_at(data),
                _ => at_infinity.clone().ok_or_else(no_limit)?,
            };
            let Extended::Finite(data) = &piece.after else {
                let limit = at_infinity.clone().ok_or_else(no_limit)?;
                sweep::push(
                    &mut pieces,
                    Piece::new(piece.start.clone(), at, limit, Rational::ZERO),
                );
                continue;
            };
            if piece.slope.is_zero() {
                let held = self.value_at(data);
                sweep::push(&mut pieces, Piece::new(piece.start.clone(), at, held, Rational::ZERO));
                continue;
            }
            // Visits the pieces of the outer curve through which the inner segment passes. The
            // slopes are multiplied.
            let first = outer.partition_point(|outer| outer.start <= *data).saturating_sub(1);
            let first = &outer[first..];
            let mut value = at;
            let mut time = piece.start.clone();
            for (passed, through) in first.iter().enumerate() {
                let from = (&through.start).max(data);
                if passed > 0 {
                    time = &piece.start + &((from - data) / &piece.slope);
                    if time >= *next {
                        break;
                    }
                    value = through.at.clone();
                }
                let slope = &through.slope * &piece.slope;
                let limit = through.segment_at(from);
                sweep::push(&mut pieces, Piece::new(time.clone(), value.clone(), limit, slope));
            }
        }
        repeating(pieces, &start, length, increment)
    }

    /// Returns the start, the length and the increment of the period of the composition
    /// `self(inner(t))`.
    fn composed_period(&self, inner: &Self) -> (Rational, Rational, Rational) {
        let (of_f, of_g) = both(self, inner);
        let rate = match &of_g.rate {
            Extended::Finite(rate) if rate.is_positive() => rate.clone(),
            // The inner curve is ultimately constant or infinite.
            _ => return (of_g.start, of_g.length, Rational::ZERO),
        };
        // The rise of the inner curve per period must be a multiple of the outer curve's period.
        let repeats = |length: &Rational| of_curve(inner, length.clone());
        let of_g: Ultimate = match (&self.tail, &inner.tail) {
            (Tail::Affine, _) => of_g,
            (_, Tail::Affine) => repeats(&(&of_f.length / &rate)),
            _ => {
                let rise = of_g.increment().common_multiple(&of_f.length);
                let times = rise / of_g.increment();
                Ultimate { length: &of_g.length * &times, ..of_g }
            }
        };
        let reached = inner.value_at(&of_g.start).into_finite().unwrap_or_default();
        let missing = ((&of_f.start - &reached) / of_g.increment()).ceil().max(Rational::ZERO);
        let start = &of_g.start + &(missing * &of_g.length);
        let rate_f = of_f.rate.finite().cloned().unwrap_or_default();
        let increment = rate_f * of_g.increment();
        (start, of_g.length, increment)
    }

    /// Returns the limit of the curve as time goes to infinity, or `None` if there is no limit.
    fn limit_at_infinity(&self) -> Option<Extended> {
        match &self.tail {
            Tail::Affine => {
                let last = self.last_piece();
                if !last.after.is_finite() || last.slope.is_zero() {
                    Some(last.after.clone())
                } else if last.slope.is_positive() {
                    Some(Extended::PositiveInfinity)
                } else {
                    Some(Extended::NegativeInfinity)
                }
            }
            Tail::Periodic { increment, .. } if increment.is_positive() => {
                Some(Extended::PositiveInfinity)
            }
            Tail::Periodic { increment, .. } if increment.is_negative() => {
                Some(Extended::NegativeInfinity)
            }
            Tail::Periodic { .. } => None,
        }
    }
}

fn no_limit() -> AlgebraError {
    AlgebraError::NotPseudoPeriodic {
        operation: "composition",
        why: "the inner curve is infinite, where the outer one has no limit",
    }
}

/// Returns the pieces of the lower pseudo-inverse, on `y >= 0`, of a non-decreasing function. The
/// function is given by the list `source`, which ends at the time and with the value of `end`.
/// Without `end` the last segment of the list does not end.
fn inverted(source: &[Piece], end: Option<(&Rational, Extended)>) -> Vec<Piece> {
    let mut parts: Vec<Part> = Vec::with_capacity(2 * source.len() + 1);
    let mut reached = Extended::NegativeInfinity;
    let mut rise = |from: &Extended, to: &Extended, time: &Rational, slope: Rational| {
        if to > from {
            let (from, to) = (from.clone(), to.clone());
            parts.push(Part { from, to, time: time.clone(), slope });
        }
    };
    for (index, piece) in source.iter().enumerate() {
        rise(&reached, &piece.after, &piece.start, Rational::ZERO);
        let next = source.get(index + 1).map(|next| &next.start).or(end.as_ref().map(|end| end.0));
        reached = match next {
            Some(next) => piece.segment_at(next),
            None if piece.slope.is_positive() => Extended::PositiveInfinity,
            None => piece.after.clone(),
        };
        if let Some(slope) = piece.slope.reciprocal() {
            rise(&piece.after, &reached, &piece.start, slope);
        }
    }
    if let Some((time, value)) = end {
        rise(&reached, &value, time, Rational::ZERO);
        reached = reached.max(value);
    }
    let mut pieces = Vec::with_capacity(parts.len() + 1);
    let mut before = Extended::ZERO;
    for part in &parts {
        if part.to < Extended::ZERO {
            continue;
        }
        let time_at = |data: &Rational| {
            let from = part.from.finite().unwrap_or(data);
            Extended::Finite(&part.time + &((data - from) * &part.slope))
        };
        match &part.from {
            Extended::Finite(from) if !from.is_negative() => {
                let piece = Piece::new(from.clone(), before, part.time.clone(), part.slope.clone());
                sweep::push(&mut pieces, piece);
            }
            // The part covers zero data already, so no earlier part is needed.
            _ => {
                let value = time_at(&Rational::ZERO);
                pieces.clear();
                if part.to > Extended::ZERO {
                    pieces.push(Piece::continuous(Rational::ZERO, value, part.slope.clone()));
                }
            }
        }
        before = match &part.to {
            Extended::Finite(to) => time_at(to),
            _ => Extended::PositiveInfinity,
        };
    }
    if let Extended::Finite(most) = &reached
        && !most.is_negative()
    {
        let never = Extended::PositiveInfinity;
        sweep::push(&mut pieces, Piece::new(most.clone(), before, never, Rational::ZERO));
    }
    if pieces.is_empty() {
        // The curve never reaches zero, so the inverse is infinite.
        let never = Extended::PositiveInfinity;
        pieces.push(Piece::continuous(Rational::ZERO, never, Rational::ZERO));
    }
    pieces
}
