//! Shifts curves in time or in data, scales them, and makes them left- or right-continuous.

use super::{AlgebraError, sweep};
use crate::curve::piece::{Tail, split_at};
use crate::curve::{Curve, CurveError, Extended, Piece};
use crate::rational::Rational;

impl Curve {
    /// Returns the curve delayed by `by`: zero before the time `by`, and `f(t - by)` from then on.
    /// A negative delay is an advance.
    pub fn delayed(&self, by: &Rational) -> Self {
        if by.is_negative() {
            return self.advanced(&-by);
        }
        if by.is_zero() {
            return self.clone();
        }
        let mut pieces = Vec::with_capacity(self.pieces.len() + 1);
        pieces.push(Piece::continuous(Rational::ZERO, Extended::ZERO, Rational::ZERO));
        pieces.extend(self.pieces.iter().map(|piece| piece.moved(by, &Rational::ZERO)));
        let tail = match &self.tail {
            Tail::Affine => Tail::Affine,
            Tail::Periodic { first, length, increment } => Tail::Periodic {
                first: first + 1,
                length: length.clone(),
                increment: increment.clone(),
            },
        };
        Self::canonical(pieces, tail)
    }

    /// Returns the curve advanced by `by`: `f(t + by)`. The values before time `by` are lost. A
    /// negative advance is a delay.
    pub fn advanced(&self, by: &Rational) -> Self {
        if by.is_negative() {
            return self.delayed(&-by);
        }
        if by.is_zero() {
            return self.clone();
        }
        let Tail::Periodic { length, increment, .. } = &self.tail else {
            let pieces = shifted_left(self.pieces.clone(), by, &Rational::ZERO);
            return Self::canonical(pieces, Tail::Affine);
        };
        // Without its first whole periods, the curve is the same, but raised by their increments.
        // Therefore, at most one period is cut.
        let start = self.tail_start();
        let periods = ((by - start) / length).floor().max(Rational::ZERO);
        let rest = by - &(&periods * length);
        let mut pieces = self.pieces.clone();
        let next = self.pieces.iter().filter(|piece| piece.start >= *start);
        pieces.extend(next.map(|piece| piece.moved(length, increment)));
        let repeats_from = (&rest).max(start).clone();
        let end = &repeats_from + length;
        pieces.truncate(pieces.partition_point(|piece| piece.start < end));
        let mut pieces = shifted_left(pieces, &rest, &(&periods * increment));
        let first = split_at(&mut pieces, &(repeats_from - rest));
        let (length, increment) = (length.clone(), increment.clone());
        Self::canonical(pieces, Tail::Periodic { first, length, increment })
    }

    /// Returns the curve with `by` added to its value at all times, time zero included.
    pub fn raised(&self, by: &Rational) -> Self {
        if by.is_zero() {
            return self.clone();
        }
        let pieces = self.pieces.iter().map(|piece| piece.moved(&Rational::ZERO, by)).collect();
        Self { pieces, tail: self.tail.clone() }
    }

    /// Returns the curve with all values multiplied by `factor`, which may be negative. Infinity
    /// times zero is zero.
    pub fn scaled(&self, factor: &Rational) -> Self {
        if factor.is_zero() {
            return Self::zero();
        }
        let value = |value: &Extended| match value {
            Extended::Finite(value) => Extended::Finite(value * factor),
            infinite if factor.is_negative() => -infinite,
            infinite => infinite.clone(),
        };
        let pieces = self
            .pieces
            .iter()
            .map(|piece| Piece {
                start: piece.start.clone(),
                at: value(&piece.at),
                after: value(&piece.after),
                slope: &piece.slope * factor,
            })
            .collect();
        let tail = match &self.tail {
            Tail::Affine => Tail::Affine,
            Tail::Periodic { first, length, increment } => Tail::Periodic {
                first: *first,
                length: length.clone(),
                increment: increment * factor,
            },
        };
        Self { pieces, tail }
    }

    /// Returns the curve stretched in time by `factor`: `f(t / factor)`.
    ///
    /// # Errors
    /// Returns an error if the factor is not positive.
    pub fn stretched(&self, factor: &Rational) -> Result<Self, CurveError> {
        if !factor.is_positive() {
            return Err(CurveError::NotPositive {
                curve: "stretched curve",
                parameter: "factor",
                value: factor.clone(),
            });
        }
        let pieces = self
            .pieces
            .iter()
            .map(|piece| Piece {
                start: &piece.start * factor,
                at: piece.at.clone(),
                after: piece.after.clone(),
                slope: &piece.slope / factor,
            })
            .collect();
        let tail = match &self.tail {
            Tail::Affine => Tail::Affine,
            Tail::Periodic { first, length, increment } => Tail::Periodic {
                first: *first,
                length: length * factor,
                increment: increment.clone(),
            },
        };
        Ok(Self { pieces, tail })
    }

    /// Returns the curve with its value at time zero replaced by `value`.
    pub fn with_origin(&self, value: impl Into<Extended>) -> Self {
        let mut pieces = self.pieces.clone();
        let mut tail = self.tail.clone();
        if let Tail::Periodic { first: first @ 0, length, increment } = &mut tail {
            // Time zero belongs to the period, so the period is made to start one period later.
            let next: Vec<Piece> =
                pieces.iter().map(|piece| piece.moved(length, increment)).collect();
            *first = pieces.len();
            pieces.extend(next);
        }
        pieces[0].at = value.into();
        Self::canonical(pieces, tail)
    }

    /// Returns the left-continuous curve `t -> f(t-)`, whose value at each time is the limit of
    /// this curve from the left. The value at time zero is kept.
    ///
    /// # Errors
    /// Returns [`AlgebraError::TooManyPieces`] if the result, which may start its period one period
    /// later, would have too many pieces.
    pub fn left_continuous(&self) -> Result<Self, AlgebraError> {
        let mut source = self.pieces.clone();
        let mut tail = self.tail.clone();
        if let Tail::Periodic { first, length, increment } = &mut tail {
            // The left limit at the start of the first period may differ from that at the start of
            // later ones, so the period is made to start one period later.
            let period = &self.pieces[*first..];
            source.extend(period.iter().map(|piece| piece.moved(length, increment)));
            *first = self.pieces.len();
        }
        let mut pieces: Vec<Piece> = Vec::with_capacity(source.len());
        for (index, piece) in source.iter().enumerate() {
            let mut piece = piece.clone();
            if let Some(before) = index.checked_sub(1).and_then(|index| source.get(index)) {
                piece.at = before.segment_at(&piece.start);
            }
            pieces.push(piece);
        }
        super::limits::check_pieces(&Rational::from(pieces.len()))?;
        Ok(Self::canonical(pieces, tail))
    }

    /// Returns the right-continuous curve `t -> f(t+)`, whose value at each time is the limit of
    /// this curve from the right.
    pub fn right_continuous(&self) -> Self {
        let pieces = self
            .pieces
            .iter()
            .map(|piece| Piece { at: piece.after.clone(), ..piece.clone() })
            .collect();
        Self::canonical(pieces, self.tail.clone())
    }

    /// Returns whether this curve lies nowhere above the other: `self(t) <= other(t)` at all times.
    ///
    /// # Errors
    /// Returns the errors of [`Curve::vertical_deviation`].
    pub fn is_at_most(&self, other: &Self) -> Result<bool, AlgebraError> {
        Ok(self.vertical_deviation(other)?.value <= Extended::ZERO)
    }
}

/// Returns the pieces of a list after time `by`, moved so that they start at time zero, and raised
/// by `rise`.
fn shifted_left(mut pieces: Vec<Piece>, by: &Rational, rise: &Rational) -> Vec<Piece> {
    let index = split_at(&mut pieces, by);
    let back = -by;
    pieces[index..].iter().map(|piece| piece.moved(&back, rise)).collect()
}

/// Returns the part of a list of pieces on the times `[0, end)`. The list may start before time
/// zero.
pub(super) fn from_zero(pieces: &[Piece], end: &Rational) -> Vec<Piece> {
    let zero = Rational::ZERO;
    let mut result = Vec::with_capacity(pieces.len());
    let first = pieces.partition_point(|piece| piece.start <= zero);
    match first.checked_sub(1).and_then(|index| pieces.get(index)) {
        Some(piece) if piece.start == zero => result.push(piece.clone()),
        Some(piece) => result.push(piece.tail_from(&zero)),
        None => result.push(Piece::continuous(zero, Extended::PositiveInfinity, Rational::ZERO)),
    }
    for piece in pieces[first..].iter().take_while(|piece| piece.start < *end) {
        sweep::push(&mut result, piece.clone());
    }
    result
}
