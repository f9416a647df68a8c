//! Lower and upper pseudo-inverse, and composition.
//!
//! The graph of a non-decreasing curve, jumps filled in, read along the other axis (Zippo,
//! Nikolaus and Stea, "Extending the network calculus algorithmic toolbox for ultimately
//! pseudo-periodic functions: pseudo-inverse and composition", 2022).

use super::ultimate::{Ultimate, both, one, repeating};
use super::{AlgebraError, sweep};
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended, Piece};
use crate::rational::Rational;

/// A part of the inverse: on data in `(from, to]` the time is `time + (y - from) * slope`.
struct Part {
    from: Extended,
    to: Extended,
    time: Rational,
    slope: Rational,
}

impl Curve {
    /// The lower pseudo-inverse on `y >= 0`: the infimum of the times at which the curve is at
    /// least `y`, plus infinity if there is none. Left-continuous.
    ///
    /// # Errors
    /// [`AlgebraError::Falls`] unless the curve is non-decreasing.
    pub fn lower_pseudo_inverse(&self) -> Result<Self, AlgebraError> {
        self.inverse("lower pseudo-inverse")
    }

    /// The upper pseudo-inverse on `y >= 0`: the infimum of the times at which the curve exceeds
    /// `y` (the supremum of those at which it is at most `y`). Right-continuous.
    ///
    /// # Errors
    /// [`AlgebraError::Falls`] unless the curve is non-decreasing.
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
        // The inverse repeats strictly behind the data at the start of the period: show two.
        let start = self.tail_start();
        let at_start = self.value_at(start).into_finite().unwrap_or_default();
        let from = at_start.max(Rational::ZERO) + increment;
        let to = &from + increment;
        // From data at or above zero on; periods below that are skipped.
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

    /// The composition: `t -> self(inner(t))`.
    ///
    /// # Errors
    /// [`AlgebraError::Falls`] or [`AlgebraError::Negative`] if the inner curve falls or is
    /// negative, [`AlgebraError::NotPseudoPeriodic`] if it is infinite where this curve has no
    /// limit, [`AlgebraError::TooManyPieces`] if the common period is too long.
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
            // The outer curve is passed with the speed of the inner one.
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

    /// Start, length and increment of the repetition of a composition.
    fn composed_period(&self, inner: &Self) -> (Rational, Rational, Rational) {
        let (of_f, of_g) = both(self, inner);
        let rate = match &of_g.rate {
            Extended::Finite(rate) if rate.is_positive() => rate.clone(),
            // Ultimately constant or infinite.
            _ => return (of_g.start, of_g.length, Rational::ZERO),
        };
        // A period of the inner curve must be whole periods of the outer one.
        let repeats = |length: &Rational| one(inner, length.clone());
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

    /// The limit for ever larger times, if there is one.
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

/// The inverse on `y >= 0` of a non-decreasing list of pieces; with `end` (and the value there) the
/// list stops, otherwise its last segment goes on.
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
            // The part holds already at zero data.
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
        // Never at or above zero.
        let never = Extended::PositiveInfinity;
        pieces.push(Piece::continuous(Rational::ZERO, never, Rational::ZERO));
    }
    pieces
}
