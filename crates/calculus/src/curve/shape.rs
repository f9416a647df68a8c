//! Tests for shapes of curves that have fast algorithms, and for properties that operations
//! require.

use super::piece::Tail;
use super::{Curve, Extended, Piece};
use crate::rational::Rational;

/// Returns the direction of the jump between two values: `Less` for a fall, `Greater` for a rise.
fn jump(from: &Extended, to: &Extended) -> std::cmp::Ordering {
    to.cmp(from)
}

impl Curve {
    /// Returns whether the curve is non-decreasing.
    pub fn is_non_decreasing(&self) -> bool {
        self.first_fall().is_none()
    }

    /// Returns the first time at which the curve falls, or `None` if it is non-decreasing.
    pub(crate) fn first_fall(&self) -> Option<Rational> {
        let mut before: Option<&Piece> = None;
        for piece in &self.pieces {
            let left = before.map(|before| before.segment_at(&piece.start));
            let falls_in = left.is_some_and(|left| jump(&left, &piece.at).is_lt());
            if falls_in || jump(&piece.at, &piece.after).is_lt() || piece.slope.is_negative() {
                return Some(piece.start.clone());
            }
            before = Some(piece);
        }
        let Tail::Periodic { first, length, increment } = &self.tail else { return None };
        let next = self.pieces[*first].moved(length, increment);
        let left = self.last_piece().segment_at(&next.start);
        jump(&left, &next.at).is_lt().then_some(next.start)
    }

    /// Returns whether the curve is finite everywhere.
    pub fn is_finite(&self) -> bool {
        self.pieces.iter().all(|piece| piece.at.is_finite() && piece.after.is_finite())
    }

    /// Returns whether no value of the curve is below zero.
    pub fn is_non_negative(&self) -> bool {
        self.infimum() >= Extended::ZERO
    }

    /// Returns whether the curve is left-continuous at all times after zero.
    pub fn is_left_continuous(&self) -> bool {
        self.joints().all(|(left, piece)| left == piece.at)
    }

    /// Returns whether the curve is right-continuous.
    pub fn is_right_continuous(&self) -> bool {
        self.pieces.iter().all(|piece| piece.at == piece.after)
    }

    /// Returns each breakpoint after time zero, with the curve's limit from the left. The start of
    /// the second period counts as a breakpoint.
    fn joints(&self) -> impl Iterator<Item = (Extended, Piece)> + '_ {
        let inner = self.pieces.windows(2).filter_map(|pair| match pair {
            [before, piece] => Some((before.segment_at(&piece.start), piece.clone())),
            _ => None,
        });
        let wrap = match &self.tail {
            Tail::Affine => None,
            Tail::Periodic { first, length, increment } => {
                let next = self.pieces[*first].moved(length, increment);
                Some((self.last_piece().segment_at(&next.start), next))
            }
        };
        inner.chain(wrap)
    }

    /// Returns whether the curve is finite, and concave after time zero, such as a minimum of token
    /// buckets. At time zero it may jump upwards.
    pub fn is_concave(&self) -> bool {
        self.is_ultimately_affine()
            && self.is_finite()
            && self.pieces[0].at <= self.pieces[0].after
            && self.joints().all(|(left, piece)| left == piece.at && piece.at == piece.after)
            && self.slopes_ascend(|earlier, later| later < earlier)
    }

    /// Returns whether the curve is finite, continuous and convex, such as a maximum of
    /// rate-latency curves.
    pub fn is_convex(&self) -> bool {
        self.is_ultimately_affine()
            && self.is_finite()
            && self.pieces[0].at == self.pieces[0].after
            && self.joints().all(|(left, piece)| left == piece.at && piece.at == piece.after)
            && self.slopes_ascend(|earlier, later| later > earlier)
    }

    fn slopes_ascend(&self, in_order: impl Fn(&Rational, &Rational) -> bool) -> bool {
        self.pieces.windows(2).all(|pair| match pair {
            [earlier, later] => in_order(&earlier.slope, &later.slope),
            _ => true,
        })
    }

    /// Returns the infimum of the curve: the greatest lower bound of all its values.
    pub fn infimum(&self) -> Extended {
        let falls = match &self.tail {
            Tail::Affine => self.last_piece().slope.is_negative(),
            Tail::Periodic { increment, .. } => increment.is_negative(),
        };
        if falls {
            return Extended::NegativeInfinity;
        }
        let values = self.pieces.iter().flat_map(|piece| [piece.at.clone(), piece.after.clone()]);
        let lefts = self.joints().map(|(left, _)| left);
        values.chain(lefts).min().unwrap_or(Extended::PositiveInfinity)
    }

    /// Returns the supremum of the curve: the least upper bound of all its values.
    pub fn supremum(&self) -> Extended {
        -self.negated().infimum()
    }

    /// Returns the curve with all values negated.
    pub fn negated(&self) -> Self {
        let pieces = self
            .pieces
            .iter()
            .map(|piece| Piece {
                start: piece.start.clone(),
                at: -&piece.at,
                after: -&piece.after,
                slope: -&piece.slope,
            })
            .collect();
        let tail = match &self.tail {
            Tail::Affine => Tail::Affine,
            Tail::Periodic { first, length, increment } => {
                Tail::Periodic { first: *first, length: length.clone(), increment: -increment }
            }
        };
        Self { pieces, tail }
    }
}
