//! The ultimate behaviour of a curve, in one form for affine and periodic tails. It consists of the
//! start, the length and the rate of the repetition.

use super::sweep;
use super::{AlgebraError, limits};
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended, Piece};
use crate::rational::Rational;

/// The ultimate behaviour of a curve `f`: `f(t + length) = f(t) + rate * length` for all `t >=
/// start`. If the rate is infinite, the curve is infinite from `start` on.
#[derive(Clone, Debug)]
pub(crate) struct Ultimate {
    pub(crate) start: Rational,
    pub(crate) length: Rational,
    pub(crate) rate: Extended,
}

impl Ultimate {
    pub(crate) fn end(&self) -> Rational {
        &self.start + &self.length
    }

    /// Returns the rise of the curve per period. It is zero for a curve that is ultimately
    /// infinite, to which any increment applies.
    pub(crate) fn increment(&self) -> Rational {
        self.rate.finite().map_or(Rational::ZERO, |rate| rate * &self.length)
    }
}

/// Returns the ultimate behaviour of two curves, for an operation that combines them. A curve with
/// an affine tail repeats with any period, so it gets the period of the other curve.
pub(crate) fn both(f: &Curve, g: &Curve) -> (Ultimate, Ultimate) {
    let length = |curve: &Curve| match &curve.tail {
        Tail::Affine => None,
        Tail::Periodic { length, .. } => Some(length.clone()),
    };
    let of_f = length(f);
    let of_g = length(g);
    let length_f = of_f.clone().or_else(|| of_g.clone()).unwrap_or(Rational::ONE);
    let length_g = of_g.or(of_f).unwrap_or(Rational::ONE);
    (of_curve(f, length_f), of_curve(g, length_g))
}

/// Returns the ultimate behaviour of a curve. A curve with an affine tail, which repeats with any
/// period, gets the period `length`.
pub(crate) fn of_curve(f: &Curve, length: Rational) -> Ultimate {
    let rate = f.ultimate_rate();
    match &f.tail {
        Tail::Affine => {
            let last = f.last_piece();
            // A jump at the last breakpoint is not part of the tail.
            let start =
                if last.at == last.after { last.start.clone() } else { &last.start + &length };
            Ultimate { start, length, rate }
        }
        Tail::Periodic { length, .. } => {
            Ultimate { start: f.tail_start().clone(), length: length.clone(), rate }
        }
    }
}

/// Returns the curve that equals `pieces` on `[0, start + length)` and repeats from `start` on.
/// Pieces from `start + length` on are dropped.
pub(crate) fn repeating(
    mut pieces: Vec<Piece>,
    start: &Rational,
    length: Rational,
    increment: Rational,
) -> Result<Curve, AlgebraError> {
    let end = start + &length;
    pieces.truncate(pieces.partition_point(|piece| piece.start < end));
    limits::check_pieces(&Rational::from(pieces.len()))?;
    let first = crate::curve::piece::split_at(&mut pieces, start);
    Ok(Curve::canonical(pieces, Tail::Periodic { first, length, increment }))
}

/// The least and the greatest finite value of `f(t) - rate t` on an interval of times, and whether
/// `f` is infinite there. Limits at breakpoints are included.
pub(crate) struct Spread {
    pub(crate) least: Option<Rational>,
    pub(crate) greatest: Option<Rational>,
    pub(crate) has_plus_infinity: bool,
    pub(crate) has_minus_infinity: bool,
}

pub(crate) fn spread(
    f: &Curve,
    rate: &Rational,
    from: &Rational,
    to: &Rational,
) -> Result<Spread, AlgebraError> {
    let pieces = f.pieces_until(to)?;
    let mut result =
        Spread { least: None, greatest: None, has_plus_infinity: false, has_minus_infinity: false };
    for (t, value) in sweep::extremes(&pieces, from, to) {
        match value {
            Extended::PositiveInfinity => result.has_plus_infinity = true,
            Extended::NegativeInfinity => result.has_minus_infinity = true,
            Extended::Finite(value) => {
                let excess = value - rate * &t;
                if result.least.as_ref().is_none_or(|least| excess < *least) {
                    result.least = Some(excess.clone());
                }
                if result.greatest.as_ref().is_none_or(|greatest| excess > *greatest) {
                    result.greatest = Some(excess);
                }
            }
        }
    }
    Ok(result)
}
