//! The canonical form of a curve.
//!
//! The canonical form is the smallest description of the function: it has no redundant breakpoint,
//! an affine tail wherever the period is one straight line, the shortest period, and the earliest
//! breakpoint from which the curve repeats.

use super::Curve;
use super::piece::{Piece, Tail, merge};
use crate::rational::Rational;

impl Curve {
    /// Builds the curve with the given pieces and tail, which must be valid, in its canonical form.
    pub(crate) fn canonical(pieces: Vec<Piece>, tail: Tail) -> Self {
        match tail {
            Tail::Affine => {
                let mut pieces = pieces;
                merge(&mut pieces);
                Self { pieces, tail: Tail::Affine }
            }
            Tail::Periodic { first, length, increment } => {
                canonical_periodic(pieces, first, length, increment)
            }
        }
    }
}

fn canonical_periodic(
    mut transient: Vec<Piece>,
    first: usize,
    length: Rational,
    increment: Rational,
) -> Curve {
    let mut period = transient.split_off(first);
    merge(&mut transient);
    merge(&mut period);
    let has_values = period.iter().any(|piece| piece.at.is_finite() || piece.after.is_finite());
    let increment = if has_values { increment } else { Rational::ZERO };

    // The first breakpoint of the period may be redundant after the last segment of the period.
    // Then the period starts at its next breakpoint. If there is none, the tail is a line.
    let redundant = |piece: &Piece, before: Option<&Piece>| {
        before.is_some_and(|before| piece.continues(before))
    };
    if redundant(&period[0].moved(&length, &increment), period.last()) {
        let rest = period.split_off(1);
        transient.append(&mut period);
        merge(&mut transient);
        if rest.is_empty() {
            return Curve { pieces: transient, tail: Tail::Affine };
        }
        period = rest;
    }
    // The first breakpoint may also be redundant after the transient part. Then the period starts
    // at the next breakpoint as well.
    if redundant(&period[0], transient.last()) {
        let head = period.remove(0);
        period.push(head.moved(&length, &increment));
    }
    let (length, increment) = shorten(&mut period, length, increment);

    // Moves the start of the period back over the breakpoints from which the curve repeats already.
    let mut first = transient.len();
    let mut pieces = transient;
    pieces.append(&mut period);
    while first > 0 {
        let before = &pieces[first - 1];
        let back = pieces[pieces.len() - 1].moved(&-&length, &-&increment);
        if back == *before {
            pieces.pop();
            first -= 1;
            continue;
        }
        // The last segment of the period may start earlier than its counterpart in the transient
        // part.
        if back.start < before.start
            && back.slope == before.slope
            && before.at == before.after
            && back.segment_at(&before.start) == before.at
        {
            first -= 1;
        }
        break;
    }
    Curve { pieces, tail: Tail::Periodic { first, length, increment } }
}

/// Replaces a period by the shortest one that describes the curve. If the period consists of `k`
/// equal parts, the result is one of them, with a `k`-th of the length and of the increment.
fn shorten(period: &mut Vec<Piece>, length: Rational, increment: Rational) -> (Rational, Rational) {
    let count = period.len();
    for part in 1..=count / 2 {
        if !count.is_multiple_of(part) {
            continue;
        }
        let times = Rational::from(count / part);
        let (by, rise) = (&length / &times, &increment / &times);
        if (part..count).all(|index| period[index] == period[index - part].moved(&by, &rise)) {
            period.truncate(part);
            return (by, rise);
        }
    }
    (length, increment)
}
