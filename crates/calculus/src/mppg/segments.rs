//! Conversion between curves and the two functions of MPPG (the language of min-plus programs) that
//! list the segments of a curve.
//!
//! `uaf` stands for an ultimately affine function: its last segment continues for ever. `upp`
//! stands for an ultimately pseudo-periodic function: the segments in `period(...)` repeat, each
//! time `length` later and `increment` higher, and the segments before them occur once.
//!
//! ```text
//! uaf([(0, 0)] ](0, 4) 3 (+inf, +inf)[)            a token bucket of burst 4 and rate 3
//! upp(period([(0, 0)] ](0, 5) 0 (2, 5)[), 5, 2)    a staircase that rises by 5 every 2
//! ```
//!
//! A segment `[(0, 4) 3 (2, 10)[` leads from the value 4 at time 0 with slope 3 to the value 10 at
//! time 2. As in the notation of intervals, `[` at its start and `]` at its end include that point
//! in the segment, and the opposite brackets exclude it. A spot such as `[(0, 0)]` defines the
//! value at a single time, where the curve may jump.

use super::Value;
use super::evaluate::{Fault, Session};
use super::syntax::{Expression, Segment};
use crate::algebra::sweep;
use crate::curve::piece::Tail;
use crate::curve::{Curve, Extended, Piece};
use crate::rational::Rational;
use std::fmt::Write;

/// A spot (a single point) or a segment of `uaf(...)` or `upp(...)`, with its numbers evaluated. A
/// spot ends at the time at which it starts.
struct Part {
    /// The column at which the spot or segment is written, for error messages.
    column: usize,
    /// The time at which the segment starts.
    from: Rational,
    /// Whether the segment includes its start point: its first bracket is `[`.
    has_start: bool,
    /// The value at the start point.
    value: Extended,
    slope: Rational,
    /// The time at which the segment ends, or `None` if it does not end.
    to: Option<Rational>,
    /// The value at the end point.
    end: Extended,
    /// Whether the segment includes its end point: its last bracket is `]`.
    has_end: bool,
}

impl Part {
    fn is_spot(&self) -> bool {
        self.to.as_ref() == Some(&self.from)
    }
}

/// Builds the ultimately affine curve that `uaf(...)` describes by the segments `given`.
pub(super) fn affine(session: &Session, given: &[Segment]) -> Result<Curve, Fault> {
    let parts = read_all(session, given)?;
    let (pieces, end) = assemble(&parts, &Rational::ZERO, None)?;
    if end.is_some() {
        let column = parts.last().map_or(1, |part| part.column);
        return Err((column, "the last segment of `uaf` must continue to +inf".to_owned()));
    }
    Ok(Curve::canonical(pieces, Tail::Affine))
}

/// Builds the ultimately pseudo-periodic curve that `upp(...)` describes. The segments `transient`
/// occur once, and the segments `period` repeat after them, each time higher by `increment`. If it
/// is not given, the increment is the last value of the period minus its first value. `column` is
/// that of `upp`, for error messages.
pub(super) fn periodic(
    session: &Session,
    transient: &[Segment],
    period: &[Segment],
    increment: Option<Extended>,
    column: usize,
) -> Result<Curve, Fault> {
    let parts = read_all(session, period)?;
    let (Some(head), Some(last)) = (parts.first(), parts.last()) else {
        return Err((column, "the period needs a segment".to_owned()));
    };
    let start = head.from.clone();
    let endless = || (last.column, "a period has an end: it cannot continue to +inf".to_owned());
    let end = last.to.clone().ok_or_else(endless)?;
    let length = &end - &start;
    if !length.is_positive() {
        return Err((last.column, format!("the period has length {length}")));
    }
    let increment = match (increment, &head.value, &last.end) {
        (Some(Extended::Finite(given)), ..) => given,
        (Some(infinite), ..) => {
            return Err((column, format!("the increment is {infinite}: it must be finite")));
        }
        (None, Extended::Finite(first), Extended::Finite(last)) => last - first,
        (None, first, last) if first == last => Rational::ZERO,
        (None, ..) => {
            let message = "the period begins or ends in infinity: give its increment";
            return Err((column, message.to_owned()));
        }
    };
    let transient = read_all(session, transient)?;
    let (mut pieces, end_of_transient) = if transient.is_empty() {
        (Vec::new(), Some((Rational::ZERO, None)))
    } else {
        assemble(&transient, &Rational::ZERO, None)?
    };
    let Some((transient_end, value_at_start)) = end_of_transient else {
        let message = "the part before the period continues to +inf".to_owned();
        return Err((column, message));
    };
    if transient_end != start {
        let message =
            format!("the period starts at {start}, but the part before it ends at {transient_end}");
        return Err((head.column, message));
    }
    let (first_period, end_of_period) = assemble(&parts, &start, value_at_start)?;
    let value_at_end = end_of_period.and_then(|(_, value)| value);
    // The indices in `pieces` at which the first and the second period begin.
    let first = pieces.len();
    pieces.extend(first_period);
    let second = pieces.len();
    if head.has_start && value_at_end.is_none() {
        let tail = Tail::Periodic { first, length, increment };
        return Ok(Curve::canonical(pieces, tail));
    }
    // Where one period ends and the next one starts, the value may come from the end of the earlier
    // period. The first period has no earlier one, so its start may have another value than the
    // starts of later periods. The curve is therefore repeated from the second period on.
    let second_period: Vec<Piece> =
        pieces[first..].iter().map(|piece| piece.moved(&length, &increment)).collect();
    pieces.extend(second_period);
    if let Some(value) = value_at_end {
        if head.has_start && value != head.value.shifted(&increment) {
            let message = format!(
                "the period gives {value} at {end}, but its start and increment give {}",
                head.value.shifted(&increment)
            );
            return Err((last.column, message));
        }
        if let Some(piece) = pieces.get_mut(second) {
            piece.at = value;
        }
    }
    let tail = Tail::Periodic { first: second, length, increment };
    Ok(Curve::canonical(pieces, tail))
}

fn read_all(session: &Session, given: &[Segment]) -> Result<Vec<Part>, Fault> {
    given.iter().map(|segment| read(session, segment)).collect()
}

fn number(session: &Session, expression: &Expression) -> Result<Extended, Fault> {
    match session.evaluate(expression)? {
        Value::Number(number) => Ok(number),
        Value::Function(_) => {
            Err((expression.column, "a function stands where a number is needed".to_owned()))
        }
    }
}

/// Evaluates the coordinates and the slope of a segment. If no slope is written, it follows from
/// the two points of the segment.
fn read(session: &Session, segment: &Segment) -> Result<Part, Fault> {
    let column = segment.column;
    let from = match number(session, &segment.start.0)? {
        Extended::Finite(from) => from,
        infinite => return Err((column, format!("a segment cannot start at {infinite}"))),
    };
    let value = number(session, &segment.start.1)?;
    let (has_start, has_end) = (segment.has_start, segment.has_end);
    let Some(end) = &segment.end else {
        let (to, end) = (Some(from.clone()), value.clone());
        let slope = Rational::ZERO;
        return Ok(Part { column, from, has_start, value, slope, to, end, has_end });
    };
    let (to, target) = (number(session, &end.0)?, number(session, &end.1)?);
    let given = match &segment.slope {
        None => None,
        Some(slope) => match number(session, slope)? {
            Extended::Finite(slope) => Some(slope),
            infinite => return Err((slope.column, format!("the slope is {infinite}"))),
        },
    };
    let to = match to {
        Extended::Finite(to) if to > from => Some(to),
        Extended::PositiveInfinity => None,
        other => {
            return Err((column, format!("the segment starts at {from} and ends at {other}")));
        }
    };
    let slope = match (&value, &target, &to, given) {
        (Extended::Finite(_), _, _, Some(slope)) => slope,
        (Extended::Finite(y), Extended::Finite(z), Some(to), None) => (z - y) / (to - &from),
        (Extended::Finite(y), Extended::Finite(z), None, None) if y == z => Rational::ZERO,
        (Extended::Finite(_), ..) => {
            return Err((column, "the slope does not follow from the ends: give it".to_owned()));
        }
        _ => Rational::ZERO,
    };
    // Checks that the line from the start point with this slope leads to the end point.
    let line = Piece::new(from.clone(), value.clone(), value.clone(), slope.clone());
    let end = match &to {
        Some(to) => line.segment_at(to),
        None if slope.is_positive() => Extended::PositiveInfinity,
        None if slope.is_negative() => Extended::NegativeInfinity,
        None => value.clone(),
    };
    if end != target {
        return Err((column, format!("the segment leads to {end}, not to {target}")));
    }
    Ok(Part { column, from, has_start, value, slope, to, end, has_end })
}

/// The time at which a list of segments ends, and the value at that time if the last segment
/// includes its end point. `None` if the last segment continues for ever.
type End = Option<(Rational, Option<Extended>)>;

/// Converts a list of spots and segments to the pieces of a curve. The first one must start at the
/// time `start`, and each further one where the one before it ends. `at_start` is the value at
/// `start`, if segments before this list define it. Returns the pieces and the end of the list.
fn assemble(
    parts: &[Part],
    start: &Rational,
    at_start: Option<Extended>,
) -> Result<(Vec<Piece>, End), Fault> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
    // The end of the list so far.
    let mut reached = Some((start.clone(), at_start));
    for part in parts {
        let Some((at, known)) = reached.take() else {
            return Err((part.column, "a segment follows one that continues to +inf".to_owned()));
        };
        if part.from != at {
            return Err((
                part.column,
                format!("the segment starts at {}, but the ones before it end at {at}", part.from),
            ));
        }
        let value = match (known, part.has_start) {
            (Some(known), true) if known != part.value => {
                let message = format!("the values {known} and {} at {at} disagree", part.value);
                return Err((part.column, message));
            }
            (_, true) => part.value.clone(),
            (Some(known), false) => known,
            // Only the list of a period can start after time 0. If neither this list nor the one
            // before it includes the start point, the limit from the right stands for the value
            // there.
            (None, false) if pieces.is_empty() && at.is_positive() => part.value.clone(),
            (None, false) => {
                return Err((part.column, format!("there is no value at {at}")));
            }
        };
        if part.is_spot() {
            reached = Some((at, Some(value)));
            continue;
        }
        let piece = Piece::new(at, value, part.value.clone(), part.slope.clone());
        sweep::push(&mut pieces, piece);
        reached = part.to.clone().map(|to| (to, part.has_end.then(|| part.end.clone())));
    }
    Ok((pieces, reached))
}

/// Returns the curve in MPPG notation: `uaf(...)` if it is ultimately affine, and `upp(...)` if it
/// is ultimately pseudo-periodic. If [`run`](super::run) evaluates the text, the result is an equal
/// curve.
pub fn to_mppg(curve: &Curve) -> String {
    let pieces = curve.pieces();
    let write = |pieces: &[Piece], end: Option<&Rational>| {
        let mut text = String::new();
        for (index, piece) in pieces.iter().enumerate() {
            if index > 0 {
                text.push(' ');
            }
            let next = pieces.get(index + 1).map(|next| &next.start).or(end);
            write_piece(&mut text, piece, next);
        }
        text
    };
    match &curve.tail {
        Tail::Affine => format!("uaf({})", write(pieces, None)),
        Tail::Periodic { first, length, increment } => {
            let (before, period) = pieces.split_at(*first);
            let start = curve.tail_start();
            let end = start + length;
            let period = write(period, Some(&end));
            if before.is_empty() {
                format!("upp(period({period}), {increment}, {length})")
            } else {
                let before = write(before, Some(start));
                format!("upp({before}, period({period}), {increment}, {length})")
            }
        }
    }
}

/// Writes a piece of a curve as a segment that ends at the time `next`, or continues for ever. If
/// the curve jumps at the start of the piece, a spot with the value at that time precedes the
/// segment.
fn write_piece(text: &mut String, piece: &Piece, next: Option<&Rational>) {
    let (start, at, after, slope) = (&piece.start, &piece.at, &piece.after, &piece.slope);
    let bracket = if at == after { "[" } else { "]" };
    let (to, value) = match next {
        Some(next) => (Extended::from(next), piece.segment_at(next)),
        None if slope.is_positive() => (Extended::PositiveInfinity, Extended::PositiveInfinity),
        None if slope.is_negative() => (Extended::PositiveInfinity, Extended::NegativeInfinity),
        None => (Extended::PositiveInfinity, after.clone()),
    };
    // Writing to a string cannot fail.
    let _ = if at == after { Ok(()) } else { write!(text, "[({start}, {at})] ") };
    let _ = write!(text, "{bracket}({start}, {after}) {slope} ({to}, {value})[");
}
