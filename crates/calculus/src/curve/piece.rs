//! The pieces of a curve: a breakpoint with the open segment after it, and the tail after the last
//! piece.

use super::{Curve, Extended};
use crate::algebra::{AlgebraError, limits};
use crate::interrupt;
use crate::rational::Rational;

/// A breakpoint of a curve and the open segment that follows it, up to the next breakpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Piece {
    /// The time of the breakpoint.
    pub(crate) start: Rational,
    /// The value at the breakpoint.
    pub(crate) at: Extended,
    /// The limit from the right at the breakpoint, from which the segment starts.
    pub(crate) after: Extended,
    /// The slope of the segment after the breakpoint, or zero if the segment is infinite.
    pub(crate) slope: Rational,
}

impl Piece {
    /// Builds a piece with the value `at` at time `start`, and after it a segment that starts from
    /// the limit `after` and has slope `slope` (ignored if the limit is infinite).
    pub fn new(
        start: impl Into<Rational>,
        at: impl Into<Extended>,
        after: impl Into<Extended>,
        slope: impl Into<Rational>,
    ) -> Self {
        let after = after.into();
        let slope = if after.is_finite() { slope.into() } else { Rational::ZERO };
        Self { start: start.into(), at: at.into(), after, slope }
    }

    /// Builds a piece without a jump: the segment starts from the value at the breakpoint.
    pub fn continuous(
        start: impl Into<Rational>,
        value: impl Into<Extended>,
        slope: impl Into<Rational>,
    ) -> Self {
        let value = value.into();
        Self::new(start, value.clone(), value, slope)
    }

    /// Returns the time of the piece's breakpoint.
    pub fn start(&self) -> &Rational {
        &self.start
    }

    /// Returns the value of the curve at the piece's breakpoint.
    pub fn value(&self) -> &Extended {
        &self.at
    }

    /// Returns the limit of the curve from the right at the piece's breakpoint, from which its
    /// segment starts.
    pub fn right_limit(&self) -> &Extended {
        &self.after
    }

    /// Returns the slope of the segment, or zero if the segment is infinite.
    pub fn slope(&self) -> &Rational {
        &self.slope
    }

    /// Returns the value of the piece at time `t`, which must not be before the piece's start.
    pub(crate) fn value_at(&self, t: &Rational) -> Extended {
        if *t == self.start { self.at.clone() } else { self.segment_at(t) }
    }

    pub(crate) fn right_limit_at(&self, t: &Rational) -> Extended {
        self.segment_at(t)
    }

    /// Returns the value at `t` of the line that contains the segment.
    pub(crate) fn segment_at(&self, t: &Rational) -> Extended {
        match &self.after {
            Extended::Finite(after) if self.slope.is_zero() => Extended::Finite(after.clone()),
            Extended::Finite(after) => {
                Extended::Finite(after + &(&self.slope * &(t - &self.start)))
            }
            infinite => infinite.clone(),
        }
    }

    /// Returns the piece moved by `by` in time and raised by `rise`.
    pub(crate) fn moved(&self, by: &Rational, rise: &Rational) -> Self {
        Self {
            start: &self.start + by,
            at: self.at.shifted(rise),
            after: self.after.shifted(rise),
            slope: self.slope.clone(),
        }
    }

    /// Returns a piece that starts at the later time `t` and continues this piece's segment from
    /// there.
    pub(crate) fn tail_from(&self, t: &Rational) -> Self {
        let value = self.segment_at(t);
        Self { start: t.clone(), at: value.clone(), after: value, slope: self.slope.clone() }
    }

    /// Returns whether this piece is redundant after the piece `before`: its breakpoint lies on the
    /// segment of `before`, and both segments have the same slope.
    pub(crate) fn continues(&self, before: &Self) -> bool {
        self.slope == before.slope
            && self.at == self.after
            && self.at == before.segment_at(&self.start)
    }
}

/// The behaviour of a curve after its last piece.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Tail {
    /// The curve continues for ever along the segment of its last piece.
    Affine,
    /// The curve repeats from the piece with index `first`. Each repetition is `length` later and
    /// `increment` higher than the previous one.
    Periodic { first: usize, length: Rational, increment: Rational },
}

/// Splits the piece that contains the time `t`, so that `t` is a breakpoint, and returns the index
/// of the piece that starts there. The time must not be before the first piece.
pub(crate) fn split_at(pieces: &mut Vec<Piece>, t: &Rational) -> usize {
    let next = pieces.partition_point(|piece| piece.start < *t);
    match pieces.get(next) {
        Some(piece) if piece.start == *t => next,
        _ => {
            let within = pieces[next.saturating_sub(1)].tail_from(t);
            pieces.insert(next, within);
            next
        }
    }
}

/// Removes redundant breakpoints: those between two pieces that lie on one line.
pub(crate) fn merge(pieces: &mut Vec<Piece>) {
    pieces.dedup_by(|later, earlier| later.continues(earlier));
}

impl Curve {
    /// Returns the pieces of the curve that start before the time `end`, with its periods written
    /// out.
    pub(crate) fn pieces_until(&self, end: &Rational) -> Result<Vec<Piece>, AlgebraError> {
        let known = self.pieces.partition_point(|piece| piece.start < *end);
        let mut unrolled = self.pieces[..known].to_vec();
        let Tail::Periodic { first, length, increment } = &self.tail else {
            return Ok(unrolled);
        };
        if known < self.pieces.len() {
            return Ok(unrolled);
        }
        let period = &self.pieces[*first..];
        let periods = ((end - &period[0].start) / length).ceil();
        limits::check_pieces(&(periods.clone() * Rational::from(period.len())))?;
        let periods = periods.to_usize().unwrap_or(0);
        unrolled.reserve(periods.saturating_sub(1) * period.len());
        for count in 1..periods {
            interrupt::check()?;
            let count = Rational::from(count);
            let (by, rise) = (&count * length, &count * increment);
            for piece in period {
                let start = &piece.start + &by;
                if start >= *end {
                    return Ok(unrolled);
                }
                unrolled.push(piece.moved(&by, &rise));
            }
        }
        Ok(unrolled)
    }
}
