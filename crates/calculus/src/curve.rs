//! Curves: piecewise affine functions of time that end in an affine or a periodic tail.
//!
//! A curve is stored as its breakpoints. Each [`Piece`] consists of the value at the breakpoint and
//! the open segment that follows it (right limit and slope), so jumps on either side and infinite
//! values need no special element. After the last breakpoint, the curve either goes on along its
//! last segment (ultimately affine) or repeats: from some breakpoint on, `f(t + length) = f(t) +
//! increment` (ultimately pseudo-periodic; Bouillard and Thierry, "An algorithmic toolbox for
//! network calculus", 2008).
//!
//! Every curve is kept in its unique smallest form, so that `==` is equality of functions.

mod builders;
mod canonical;
mod error;
mod extended;
mod format;
pub(crate) mod piece;
mod shape;
#[cfg(test)]
mod tests;

pub use error::CurveError;
pub use extended::Extended;
pub use piece::Piece;

use crate::rational::Rational;
use piece::Tail;

/// A function from time (`t >= 0`) to data that is piecewise affine and ultimately pseudo-periodic.
///
/// The caller chooses the units of time and of data, and must use the same units throughout.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Curve {
    /// The pieces of the curve, of which there is at least one. Their starts ascend strictly from
    /// zero.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) tail: Tail,
}

/// The repetition of a curve: for all `t >= start`, `f(t + length) = f(t) + increment`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Period {
    /// The time from which the curve repeats.
    pub start: Rational,
    /// The length of the period, which is positive.
    pub length: Rational,
    /// The rise of the curve per period.
    pub increment: Rational,
}

impl Curve {
    /// Builds a curve that continues for ever along the segment of its last piece.
    ///
    /// # Errors
    /// Returns a [`CurveError`] if there is no piece, or the pieces do not ascend from time zero.
    pub fn ultimately_affine(pieces: Vec<Piece>) -> Result<Self, CurveError> {
        check_ascending(&pieces)?;
        Ok(Self::canonical(pieces, Tail::Affine))
    }

    /// Builds a curve from its pieces on `[0, period.start + period.length)`. From `period.start`
    /// on the curve repeats.
    ///
    /// # Errors
    /// Returns a [`CurveError`] if there is no piece, the pieces do not ascend from time zero, the
    /// period starts before time zero, its length is not positive, or a piece starts at or after
    /// its end.
    pub fn pseudo_periodic(mut pieces: Vec<Piece>, period: Period) -> Result<Self, CurveError> {
        check_ascending(&pieces)?;
        if !period.length.is_positive() {
            return Err(CurveError::EmptyPeriod(period.length));
        }
        if period.start.is_negative() {
            return Err(CurveError::NegativePeriodStart(period.start));
        }
        let end = &period.start + &period.length;
        if let Some(late) = pieces.iter().find(|piece| piece.start >= end) {
            return Err(CurveError::BehindPeriod { start: late.start.clone(), end });
        }
        let first = piece::split_at(&mut pieces, &period.start);
        let tail = Tail::Periodic { first, length: period.length, increment: period.increment };
        Ok(Self::canonical(pieces, tail))
    }

    /// Returns the pieces that describe the curve up to its affine tail, or up to the end of the
    /// first period.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the repetition of the curve, or `None` if the curve is ultimately affine.
    pub fn period(&self) -> Option<Period> {
        match &self.tail {
            Tail::Affine => None,
            Tail::Periodic { first, length, increment } => Some(Period {
                start: self.pieces[*first].start.clone(),
                length: length.clone(),
                increment: increment.clone(),
            }),
        }
    }

    /// Returns whether the curve ends in one affine segment, which may be infinite.
    pub fn is_ultimately_affine(&self) -> bool {
        matches!(self.tail, Tail::Affine)
    }

    /// Returns the long-term growth rate of the curve: the slope of its affine tail, or its
    /// increment per period divided by the length of the period. The rate is infinite if the curve
    /// is ultimately infinite.
    pub fn ultimate_rate(&self) -> Extended {
        match &self.tail {
            Tail::Affine => {
                let last = self.last_piece();
                match &last.after {
                    Extended::Finite(_) => Extended::Finite(last.slope.clone()),
                    infinite => infinite.clone(),
                }
            }
            Tail::Periodic { length, increment, .. } => Extended::Finite(increment / length),
        }
    }

    /// Returns the value of the curve at time `t`. Before time zero it is zero, as nothing has
    /// happened yet.
    pub fn value_at(&self, t: &Rational) -> Extended {
        if t.is_negative() {
            return Extended::ZERO;
        }
        let (piece, back, rise) = self.locate(t);
        piece.value_at(&(t - &back)).shifted(&rise)
    }

    /// Returns the limit of the curve from the right at time `t`, or zero if `t` is before time
    /// zero.
    pub fn right_limit_at(&self, t: &Rational) -> Extended {
        if t.is_negative() {
            return Extended::ZERO;
        }
        let (piece, back, rise) = self.locate(t);
        piece.right_limit_at(&(t - &back)).shifted(&rise)
    }

    /// Returns the limit of the curve from the left at time `t`, or zero if `t` is at or before
    /// time zero.
    pub fn left_limit_at(&self, t: &Rational) -> Extended {
        if !t.is_positive() {
            return Extended::ZERO;
        }
        let (mut at, mut rise) = (t.clone(), Rational::ZERO);
        if let Tail::Periodic { first, length, increment } = &self.tail {
            let start = &self.pieces[*first].start;
            if t > start {
                // For a left limit, the period is half-open on the left, so that it includes its
                // end.
                let periods = ((t - start) / length).ceil() - Rational::ONE;
                at = t - &(&periods * length);
                rise = &periods * increment;
            }
        }
        let index = self.pieces.partition_point(|piece| piece.start < at).saturating_sub(1);
        self.pieces[index].segment_at(&at).shifted(&rise)
    }

    /// Returns the stored piece that describes the curve at time `t`. If `t` is beyond the first
    /// period, the piece is that of the first period, and the total length and the total rise of
    /// the whole periods in between are returned with it.
    fn locate(&self, t: &Rational) -> (&Piece, Rational, Rational) {
        let (mut back, mut rise) = (Rational::ZERO, Rational::ZERO);
        if let Tail::Periodic { first, length, increment } = &self.tail {
            let start = &self.pieces[*first].start;
            if t > start {
                let periods = ((t - start) / length).floor();
                back = &periods * length;
                rise = &periods * increment;
            }
        }
        let at = t - &back;
        let index = self.pieces.partition_point(|piece| piece.start <= at).saturating_sub(1);
        (&self.pieces[index], back, rise)
    }

    /// Returns the last piece of the curve. Every curve has one.
    pub(crate) fn last_piece(&self) -> &Piece {
        &self.pieces[self.pieces.len() - 1]
    }

    /// Returns the time at which the affine tail or the first period of the curve starts.
    pub(crate) fn tail_start(&self) -> &Rational {
        match &self.tail {
            Tail::Affine => &self.last_piece().start,
            Tail::Periodic { first, .. } => &self.pieces[*first].start,
        }
    }
}

fn check_ascending(pieces: &[Piece]) -> Result<(), CurveError> {
    let first = pieces.first().ok_or(CurveError::NoPieces)?;
    if !first.start.is_zero() {
        return Err(CurveError::StartsLate(first.start.clone()));
    }
    for pair in pieces.windows(2) {
        if let [earlier, later] = pair
            && later.start <= earlier.start
        {
            return Err(CurveError::NotAscending(later.start.clone()));
        }
    }
    Ok(())
}
