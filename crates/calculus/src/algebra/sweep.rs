//! Piece by piece through two functions at once.
//!
//! Here a list of pieces is a function on the whole line: plus infinity before its first piece,
//! and its last segment for ever. That convention makes partial functions (a segment on an
//! interval, infinite elsewhere) and curves one thing, so one sweep serves all operations.

use crate::curve::{Extended, Piece};
use crate::rational::Rational;

/// Appends a piece unless it merely continues the last one.
pub(crate) fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    if !pieces.last().is_some_and(|last| piece.continues(last)) {
        pieces.push(piece);
    }
}

/// The open segment right of a breakpoint: its limit there and its slope.
#[derive(Clone, Copy)]
struct Segment<'a> {
    piece: Option<&'a Piece>,
}

impl Segment<'_> {
    fn at(&self, t: &Rational) -> Extended {
        self.piece.map_or(Extended::PositiveInfinity, |piece| piece.value_at(t))
    }

    fn limit(&self, t: &Rational) -> Extended {
        self.piece.map_or(Extended::PositiveInfinity, |piece| piece.segment_at(t))
    }

    fn slope(&self) -> Rational {
        self.piece.map_or(Rational::ZERO, |piece| piece.slope.clone())
    }
}

/// Visits the breakpoints of both lists in order, with the segments that hold there and the next
/// breakpoint.
fn for_each_interval(
    a: &[Piece],
    b: &[Piece],
    mut visit: impl FnMut(&Rational, Segment<'_>, Segment<'_>, Option<&Rational>),
) {
    let (mut next_a, mut next_b) = (a.iter().peekable(), b.iter().peekable());
    let (mut in_a, mut in_b) = (Segment { piece: None }, Segment { piece: None });
    loop {
        let at = match (next_a.peek(), next_b.peek()) {
            (Some(x), Some(y)) => (&x.start).min(&y.start),
            (Some(x), None) => &x.start,
            (None, Some(y)) => &y.start,
            (None, None) => return,
        };
        if let Some(piece) = next_a.next_if(|piece| piece.start == *at) {
            in_a.piece = Some(piece);
        }
        if let Some(piece) = next_b.next_if(|piece| piece.start == *at) {
            in_b.piece = Some(piece);
        }
        let next = match (next_a.peek(), next_b.peek()) {
            (Some(x), Some(y)) => Some((&x.start).min(&y.start)),
            (Some(x), None) => Some(&x.start),
            (None, Some(y)) => Some(&y.start),
            (None, None) => None,
        };
        visit(at, in_a, in_b, next);
    }
}

/// The pointwise minimum, with the crossings of segments as new breakpoints.
pub(crate) fn minimum(a: &[Piece], b: &[Piece]) -> Vec<Piece> {
    let mut result = Vec::with_capacity(a.len() + b.len());
    for_each_interval(a, b, |at, in_a, in_b, next| {
        let value = in_a.at(at).min(in_b.at(at));
        let (limit_a, limit_b) = (in_a.limit(at), in_b.limit(at));
        let (slope_a, slope_b) = (in_a.slope(), in_b.slope());
        // Which is lower right of the breakpoint?
        let a_first = (&limit_a, &slope_a) <= (&limit_b, &slope_b);
        let (low, low_slope, high, high_slope) = if a_first {
            (limit_a, slope_a, limit_b, slope_b)
        } else {
            (limit_b, slope_b, limit_a, slope_a)
        };
        push(
            &mut result,
            Piece { start: at.clone(), at: value, after: low.clone(), slope: low_slope.clone() },
        );
        if let (Extended::Finite(low), Extended::Finite(high)) = (low, high)
            && low_slope > high_slope
        {
            let crossing = at + &((&high - &low) / (&low_slope - &high_slope));
            if crossing > *at && next.is_none_or(|next| crossing < *next) {
                let value = &high + &(&high_slope * &(&crossing - at));
                push(&mut result, Piece::continuous(crossing, value, high_slope));
            }
        }
    });
    result
}

/// The first function where it lies below the second, plus infinity elsewhere.
pub(crate) fn where_below(a: &[Piece], b: &[Piece]) -> Vec<Piece> {
    let mut result = Vec::with_capacity(a.len() + b.len());
    let never = Extended::PositiveInfinity;
    for_each_interval(a, b, |at, in_a, in_b, next| {
        let value = in_a.at(at);
        let value = if value < in_b.at(at) { value } else { never.clone() };
        let (limit_a, limit_b) = (in_a.limit(at), in_b.limit(at));
        let (slope_a, slope_b) = (in_a.slope(), in_b.slope());
        let is_below = (&limit_a, &slope_a) < (&limit_b, &slope_b);
        let (after, slope) = if is_below {
            (limit_a.clone(), slope_a.clone())
        } else {
            (never.clone(), Rational::ZERO)
        };
        push(&mut result, Piece { start: at.clone(), at: value, after, slope });
        if let (Extended::Finite(low), Extended::Finite(high)) = (&limit_a, &limit_b)
            && slope_a != slope_b
        {
            let crossing = at + &((high - low) / (&slope_a - &slope_b));
            if crossing > *at && next.is_none_or(|next| crossing < *next) {
                let there = if is_below {
                    (never.clone(), Rational::ZERO)
                } else {
                    (Extended::Finite(low + &(&slope_a * &(&crossing - at))), slope_a.clone())
                };
                push(
                    &mut result,
                    Piece { start: crossing, at: never.clone(), after: there.0, slope: there.1 },
                );
            }
        }
    });
    result
}

/// The pointwise sum; `add` says what opposite infinities make.
pub(crate) fn sum<E>(
    a: &[Piece],
    b: &[Piece],
    add: impl Fn(&Rational, &Extended, &Extended) -> Result<Extended, E>,
) -> Result<Vec<Piece>, E> {
    let mut result = Vec::with_capacity(a.len() + b.len());
    let mut failure = None;
    for_each_interval(a, b, |at, in_a, in_b, _| {
        let value = add(at, &in_a.at(at), &in_b.at(at));
        let limit = add(at, &in_a.limit(at), &in_b.limit(at));
        match (value, limit) {
            (Ok(value), Ok(limit)) => {
                let piece = Piece::new(at.clone(), value, limit, in_a.slope() + in_b.slope());
                push(&mut result, piece);
            }
            (Err(error), _) | (_, Err(error)) => {
                failure.get_or_insert(error);
            }
        }
    });
    match failure {
        None => Ok(result),
        Some(error) => Err(error),
    }
}

/// All values negated.
pub(crate) fn negate(pieces: &mut [Piece]) {
    for piece in pieces {
        piece.at = -&piece.at;
        piece.after = -&piece.after;
        piece.slope = -&piece.slope;
    }
}

/// The minimum of many functions, in rounds of pairs so that each is touched a logarithmic
/// number of times.
pub(crate) fn minimum_of_all(mut functions: Vec<Vec<Piece>>) -> Vec<Piece> {
    while functions.len() > 1 {
        let mut round = Vec::with_capacity(functions.len().div_ceil(2));
        let mut pairs = functions.chunks_exact(2);
        for pair in &mut pairs {
            if let [a, b] = pair {
                round.push(minimum(a, b));
            }
        }
        round.extend(pairs.remainder().iter().cloned());
        functions = round;
    }
    functions.pop().unwrap_or_default()
}

/// The values that a list of pieces takes or approaches on `[from, to)`, each with the place:
/// the extremes of any affine comparison are among them.
pub(crate) fn extremes<'a>(
    pieces: &'a [Piece],
    from: &'a Rational,
    to: &'a Rational,
) -> impl Iterator<Item = (Rational, Extended)> + 'a {
    let first = pieces.partition_point(|piece| piece.start <= *from).saturating_sub(1);
    pieces[first..].iter().enumerate().take_while(move |(_, piece)| piece.start < *to).flat_map(
        move |(offset, piece)| {
            let end = match pieces.get(first + offset + 1) {
                Some(next) if next.start < *to => &next.start,
                _ => to,
            };
            let at = (&piece.start).max(from);
            [
                (at.clone(), piece.value_at(at)),
                (at.clone(), piece.segment_at(at)),
                (end.clone(), piece.segment_at(end)),
            ]
        },
    )
}
