//! Pointwise operations on two lists of pieces, breakpoint by breakpoint.
//!
//! In this module, a list of pieces is a function on the whole real line. It is plus infinity
//! before its first piece, and its last segment does not end. With this convention, a function on
//! an interval (infinite elsewhere) and a curve have the same form, and one sweep serves all
//! operations.

use super::AlgebraError;
use crate::curve::{Extended, Piece};
use crate::interrupt;
use crate::rational::Rational;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Appends a piece to a list, unless the last piece of the list already describes the function
/// there.
pub(crate) fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    if !pieces.last().is_some_and(|last| piece.continues(last)) {
        pieces.push(piece);
    }
}

/// The open segment of a function after a breakpoint, or `None` before the function's first piece.
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

/// Calls a function for each breakpoint of two lists of pieces, in order of time. The function
/// receives the breakpoint, the segments of both lists after it, and the next breakpoint if there
/// is one.
fn for_each_interval(
    a: &[Piece],
    b: &[Piece],
    mut visit: impl FnMut(&Rational, Segment<'_>, Segment<'_>, Option<&Rational>),
) -> Result<(), AlgebraError> {
    let (mut next_a, mut next_b) = (a.iter().peekable(), b.iter().peekable());
    let (mut in_a, mut in_b) = (Segment { piece: None }, Segment { piece: None });
    loop {
        let at = match (next_a.peek(), next_b.peek()) {
            (Some(x), Some(y)) => (&x.start).min(&y.start),
            (Some(x), None) => &x.start,
            (None, Some(y)) => &y.start,
            (None, None) => return Ok(()),
        };
        interrupt::step()?;
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

/// Returns the pointwise minimum of two lists of pieces. Where segments cross, the result has a
/// breakpoint.
///
/// This is the innermost loop of every convolution. It avoids copies of numbers, and arithmetic on
/// functions that are infinite or constant.
///
/// # Errors
/// Returns [`AlgebraError::Interrupted`] if the interrupt of the thread is set.
pub(crate) fn minimum(a: &[Piece], b: &[Piece]) -> Result<Vec<Piece>, AlgebraError> {
    let mut result = Vec::with_capacity(a.len() + b.len());
    let (mut next_a, mut next_b) = (a.iter().peekable(), b.iter().peekable());
    let (mut in_a, mut in_b): (Option<&Piece>, Option<&Piece>) = (None, None);
    loop {
        let order = match (next_a.peek(), next_b.peek()) {
            (Some(x), Some(y)) => x.start.cmp(&y.start),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return Ok(result),
        };
        interrupt::step()?;
        let (new_a, new_b) = (order.is_le(), order.is_ge());
        if new_a {
            in_a = next_a.next();
        }
        if new_b {
            in_b = next_b.next();
        }
        let Some(at) = (if new_a { in_a } else { in_b }).map(|piece| &piece.start) else {
            continue;
        };
        // Where the other function is infinite there is nothing to compare.
        let alone = match (new_a, new_b) {
            (true, false) if is_absent(in_b) => in_a,
            (false, true) if is_absent(in_a) => in_b,
            _ => None,
        };
        if let Some(piece) = alone {
            push(&mut result, piece.clone());
            continue;
        }
        let (value_a, limit_a) = around(in_a, at, new_a);
        let (value_b, limit_b) = around(in_b, at, new_b);
        let slope_a = in_a.map_or(&Rational::ZERO, |piece| &piece.slope);
        let slope_b = in_b.map_or(&Rational::ZERO, |piece| &piece.slope);
        // Determine which function is lower just after the breakpoint.
        let a_first = limit_a.cmp(&limit_b).then_with(|| slope_a.cmp(slope_b)).is_le();
        let (low, low_slope, high, high_slope) = if a_first {
            (limit_a, slope_a, limit_b, slope_b)
        } else {
            (limit_b, slope_b, limit_a, slope_a)
        };
        let mut crossing = None;
        if let (Extended::Finite(low), Extended::Finite(high)) = (&*low, &*high)
            && low_slope > high_slope
        {
            let time = at + &((high - low) / (low_slope - high_slope));
            let is_before = |next: Option<&&Piece>| next.is_none_or(|next| time < next.start);
            if time > *at && is_before(next_a.peek()) && is_before(next_b.peek()) {
                let value = high + &(high_slope * &(&time - at));
                crossing = Some(Piece::continuous(time, value, high_slope.clone()));
            }
        }
        let value = if value_a <= value_b { value_a } else { value_b };
        let piece = Piece {
            start: at.clone(),
            at: value.into_owned(),
            after: low.into_owned(),
            slope: low_slope.clone(),
        };
        push(&mut result, piece);
        if let Some(piece) = crossing {
            push(&mut result, piece);
        }
    }
}

/// Returns whether the function is plus infinity on the segment of `piece`, or everywhere because
/// there is no piece.
fn is_absent(piece: Option<&Piece>) -> bool {
    piece.is_none_or(|piece| piece.after == Extended::PositiveInfinity)
}

/// Returns the value and the right limit, at the time `at`, of the function that `piece` describes
/// there. `is_new` says that the piece starts at this time. If there is no piece, both values are
/// plus infinity.
fn around<'a>(
    piece: Option<&'a Piece>,
    at: &Rational,
    is_new: bool,
) -> (Cow<'a, Extended>, Cow<'a, Extended>) {
    const NEVER: &Extended = &Extended::PositiveInfinity;
    match piece {
        None => (Cow::Borrowed(NEVER), Cow::Borrowed(NEVER)),
        Some(piece) if is_new => (Cow::Borrowed(&piece.at), Cow::Borrowed(&piece.after)),
        Some(piece) if piece.slope.is_zero() => {
            (Cow::Borrowed(&piece.after), Cow::Borrowed(&piece.after))
        }
        Some(piece) => {
            let value = piece.segment_at(at);
            (Cow::Owned(value.clone()), Cow::Owned(value))
        }
    }
}

/// Returns the pointwise minimum of two lists of pieces, which are consumed. If the pieces of one
/// list end before those of the other begin, the lists are only concatenated.
fn join(mut a: Vec<Piece>, mut b: Vec<Piece>) -> Result<Vec<Piece>, AlgebraError> {
    let is_before = |a: &[Piece], b: &[Piece]| match (a.last(), b.first()) {
        (Some(last), Some(first)) => {
            last.after == Extended::PositiveInfinity && last.start < first.start
        }
        _ => false,
    };
    if is_before(&a, &b) {
        a.append(&mut b);
        Ok(a)
    } else if is_before(&b, &a) {
        b.append(&mut a);
        Ok(b)
    } else {
        minimum(&a, &b)
    }
}

/// Returns the function `a` at times at which it lies below `b`, and plus infinity at all others.
///
/// # Errors
/// Returns [`AlgebraError::Interrupted`] if the interrupt of the thread is set.
pub(crate) fn where_below(a: &[Piece], b: &[Piece]) -> Result<Vec<Piece>, AlgebraError> {
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
    })?;
    Ok(result)
}

/// Returns the pointwise sum of two lists of pieces. The function `add` adds two values, and
/// decides what the sum of opposite infinities is.
///
/// # Errors
/// Returns the first error of `add`, or [`AlgebraError::Interrupted`] if the interrupt of the
/// thread is set.
pub(crate) fn sum(
    a: &[Piece],
    b: &[Piece],
    add: impl Fn(&Rational, &Extended, &Extended) -> Result<Extended, AlgebraError>,
) -> Result<Vec<Piece>, AlgebraError> {
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
    })?;
    match failure {
        None => Ok(result),
        Some(error) => Err(error),
    }
}

/// Negates all values of a list of pieces.
pub(crate) fn negate(pieces: &mut [Piece]) {
    for piece in pieces {
        piece.at = -&piece.at;
        piece.after = -&piece.after;
        piece.slope = -&piece.slope;
    }
}

/// Returns the pointwise minimum of many lists of pieces. The lists are combined in pairs, and the
/// results again in pairs, so that each list takes part in a logarithmic number of minima.
///
/// # Errors
/// Returns [`AlgebraError::Interrupted`] if the interrupt of the thread is set.
pub(crate) fn minimum_of_all(mut functions: Vec<Vec<Piece>>) -> Result<Vec<Piece>, AlgebraError> {
    while functions.len() > 1 {
        let mut round = Vec::with_capacity(functions.len().div_ceil(2));
        let mut rest = functions.into_iter();
        while let Some(a) = rest.next() {
            round.push(match rest.next() {
                Some(b) => join(a, b)?,
                None => a,
            });
        }
        functions = round;
    }
    Ok(functions.pop().unwrap_or_default())
}

/// Returns the values and the limits of a list of pieces at the breakpoints in `[from, to)` and at
/// both ends of this interval, each with its time. The extremes of the function on that interval
/// are at these times, even after an affine function is subtracted from it.
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
