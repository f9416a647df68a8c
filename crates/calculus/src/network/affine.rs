//! Closed forms of the curve operations that network analyses use, for the most common curves:
//! concave arrival curves (minima of token buckets) and convex service curves (maxima of
//! rate-latency curves).
//!
//! The module `algebra` has the same operations for any curve. An analysis of a large network
//! performs them millions of times on curves of one to three pieces. The closed forms are faster,
//! because they need neither common periods nor envelopes. A function returns `None` if its
//! arguments are not of these shapes, and [`super::operations`] then uses the module `algebra`.
//! Tests compare the closed forms with the module `algebra`.

use crate::{Curve, Extended, Piece, Rational};

/// A segment of a curve: the time at which it starts, the value of the curve there, and its slope.
#[derive(Clone, Copy, Debug)]
struct Segment<'a> {
    start: &'a Rational,
    height: &'a Rational,
    slope: &'a Rational,
}

impl Segment<'_> {
    fn at(&self, t: &Rational) -> Rational {
        if self.slope.is_zero() || t == self.start {
            return self.height.clone();
        }
        self.height + &(self.slope * &(t - self.start))
    }
}

/// Returns the segments of a curve, or `None` unless the curve is finite, ultimately affine and
/// zero at time zero.
fn segments(curve: &Curve) -> Option<Vec<Segment<'_>>> {
    if !curve.is_ultimately_affine() {
        return None;
    }
    let pieces = curve.pieces();
    if pieces.first()?.value() != &Extended::ZERO {
        return None;
    }
    pieces
        .iter()
        .map(|piece| {
            let height = piece.right_limit().finite()?;
            Some(Segment { start: piece.start(), height, slope: piece.slope() })
        })
        .collect()
}

/// Returns the segments of a concave arrival curve, or `None` for other curves.
fn arrival(curve: &Curve) -> Option<Vec<Segment<'_>>> {
    let segments = segments(curve)?;
    (segments.len() == 1 || curve.is_concave()).then_some(segments)
}

/// Returns the segments of a convex service curve, or `None` for other curves.
fn service(curve: &Curve) -> Option<Vec<Segment<'_>>> {
    let segments = segments(curve)?;
    let starts_at_zero = segments.first()?.height.is_zero();
    (starts_at_zero && (segments.len() == 1 || curve.is_convex())).then_some(segments)
}

/// Returns the breakpoints of two curves in order of time, each with the segments of both curves
/// that begin or continue there.
fn merged<'a>(
    a: &[Segment<'a>],
    b: &[Segment<'a>],
) -> Vec<(&'a Rational, Segment<'a>, Segment<'a>)> {
    let (mut i, mut j) = (0, 0);
    let mut both = Vec::with_capacity(a.len() + b.len());
    let (Some(first), Some(second)) = (a.first(), b.first()) else { return both };
    both.push((first.start, *first, *second));
    loop {
        match (a.get(i + 1), b.get(j + 1)) {
            (None, None) => return both,
            (Some(next), other) if other.is_none_or(|other| next.start < other.start) => {
                i += 1;
                both.push((next.start, *next, b[j]));
            }
            (Some(next), Some(other)) if next.start == other.start => {
                (i, j) = (i + 1, j + 1);
                both.push((next.start, *next, *other));
            }
            (_, Some(next)) => {
                j += 1;
                both.push((next.start, a[i], *next));
            }
            (Some(_), None) => return both,
        }
    }
}

fn last<'a>(segments: &[Segment<'a>]) -> Option<Segment<'a>> {
    segments.last().copied()
}

/// Returns the sum of two curves that are finite, ultimately affine, zero at time zero and without
/// a jump after it. The sum is unbounded if either curve is. Returns `None` for other curves.
pub(super) fn sum(a: &Curve, b: &Curve) -> Option<Curve> {
    if is_unbounded(a) || is_unbounded(b) {
        return Some(unbounded());
    }
    let (a, b) = (segments(a)?, segments(b)?);
    let mut pieces: Vec<Piece> = Vec::with_capacity(a.len() + b.len());
    for (start, a, b) in merged(&a, &b) {
        let height = a.at(start) + b.at(start);
        let slope = a.slope + b.slope;
        // Curves with jumps after time zero are rare and left to the algebra.
        if !start.is_zero() && pieces.last().is_none_or(|before| ends(before, start) != height) {
            return None;
        }
        pieces.push(piece(start.clone(), height, slope));
    }
    Curve::ultimately_affine(pieces).ok()
}

/// Returns the pointwise minimum of two arrival curves that are concave or unbounded, or `None` for
/// other curves.
pub(super) fn minimum(a: &Curve, b: &Curve) -> Option<Curve> {
    if is_unbounded(a) {
        return Some(b.clone());
    }
    if is_unbounded(b) {
        return Some(a.clone());
    }
    let (a, b) = (arrival(a)?, arrival(b)?);
    let bucket = |s: &Segment<'_>| (s.height - &(s.slope * s.start), s.slope.clone());
    Curve::token_buckets(a.iter().chain(&b).map(bucket)).ok()
}

/// Returns whether an arrival curve is infinite after time zero, so that it does not limit
/// arrivals.
pub(super) fn is_unbounded(alpha: &Curve) -> bool {
    alpha.right_limit_at(&Rational::ZERO) == Extended::PositiveInfinity
}

/// Returns the arrival curve `alpha` advanced by `by`, and zero at time zero, or `None` if `alpha`
/// is not concave.
pub(super) fn advanced(alpha: &Curve, by: &Rational) -> Option<Curve> {
    let alpha = arrival(alpha)?;
    let first = alpha.iter().rposition(|segment| segment.start <= by)?;
    let mut pieces = Vec::with_capacity(alpha.len() - first);
    for segment in alpha.get(first..)? {
        let start = segment.start.max(by);
        pieces.push(piece(start - by, segment.at(start), segment.slope.clone()));
    }
    Curve::ultimately_affine(pieces).ok()
}

/// Returns the value at `t` of the line that extends the segment of a piece.
fn ends(piece: &Piece, t: &Rational) -> Rational {
    match piece.right_limit() {
        Extended::Finite(height) => height + &(piece.slope() * &(t - piece.start())),
        _ => Rational::ZERO,
    }
}

/// Returns a piece of an arrival curve that starts at `height` with the given slope. At time zero
/// the curve jumps from zero to `height`.
fn piece(start: Rational, height: Rational, slope: Rational) -> Piece {
    if start.is_zero() {
        Piece::new(start, Extended::ZERO, height, slope)
    } else {
        Piece::continuous(start, height, slope)
    }
}

/// Returns the vertical deviation of a concave arrival curve and a convex service curve: the
/// backlog bound. Returns `None` for other curves.
pub(super) fn vertical_deviation(alpha: &Curve, beta: &Curve) -> Option<Extended> {
    if is_unbounded(alpha) {
        return Some(Extended::PositiveInfinity);
    }
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    if last(&alpha)?.slope > last(&beta)?.slope {
        return Some(Extended::PositiveInfinity);
    }
    let distances = merged(&alpha, &beta).into_iter().map(|(t, a, b)| a.at(t) - b.at(t));
    Some(Extended::Finite(distances.max()?.max(Rational::ZERO)))
}

/// Returns the horizontal deviation of a concave arrival curve and a convex service curve: the
/// delay bound. Returns `None` for other curves.
pub(super) fn horizontal_deviation(alpha: &Curve, beta: &Curve) -> Option<Extended> {
    if is_unbounded(alpha) {
        return Some(Extended::PositiveInfinity);
    }
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    if alpha.iter().all(|segment| segment.height.is_zero() && segment.slope.is_zero()) {
        return Some(Extended::ZERO);
    }
    let fastest = last(&beta)?.slope;
    if last(&alpha)?.slope > fastest || fastest.is_zero() {
        return Some(Extended::PositiveInfinity);
    }
    let mut most = Rational::ZERO;
    for corner in &alpha {
        let served = when_exceeding(&beta, corner.height)?;
        most = most.max(served - corner.start);
    }
    for corner in &beta {
        if let Some(arrived) = when_reaching(&alpha, corner.height) {
            most = most.max(corner.start - &arrived);
        }
    }
    Some(Extended::Finite(most))
}

/// Returns the time at which a convex service curve first exceeds `burst`. The outer option is
/// `None` for other curves, and the inner option is `None` if the curve never exceeds the burst.
pub(super) fn time_to_serve(beta: &Curve, burst: &Rational) -> Option<Option<Rational>> {
    Some(when_exceeding(&service(beta)?, burst))
}

/// Returns the time after which a convex service curve exceeds a height, or `None` if it never
/// does.
fn when_exceeding(beta: &[Segment<'_>], height: &Rational) -> Option<Rational> {
    // The last segment that starts at or below the height contains the time after which the curve
    // exceeds it.
    let segment = beta.iter().rev().find(|segment| segment.height <= height)?;
    if !segment.slope.is_positive() {
        return None;
    }
    Some(segment.start + &((height - segment.height) / segment.slope))
}

/// Returns the time at which a concave arrival curve reaches a height, or `None` if it reaches it
/// at time zero or never.
fn when_reaching(alpha: &[Segment<'_>], height: &Rational) -> Option<Rational> {
    let segment = alpha.iter().rev().find(|segment| segment.height < height)?;
    if !segment.slope.is_positive() {
        return None;
    }
    Some(segment.start + &((height - segment.height) / segment.slope))
}

/// Returns a bound on the longest backlogged period. This is the last time at which a concave
/// arrival curve is not below a convex service curve. Returns `None` for other curves, or if the
/// arrival curve never exceeds the service curve.
pub(super) fn crossing(alpha: &Curve, beta: &Curve) -> Option<Extended> {
    if is_unbounded(alpha) {
        return Some(Extended::PositiveInfinity);
    }
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    let both = merged(&alpha, &beta);
    // The difference is concave and not negative just after zero, so it falls below zero at most
    // once.
    let (start, a, b) = both.iter().rev().find(|(t, a, b)| {
        let (a_height, b_height) = (a.at(t), b.at(t));
        a_height > b_height || (a_height == b_height && a.slope > b.slope)
    })?;
    let excess = a.at(start) - b.at(start);
    let closing = b.slope - a.slope;
    if !closing.is_positive() {
        return Some(Extended::PositiveInfinity);
    }
    Some(Extended::Finite(*start + &(excess / closing)))
}

/// Returns the arrival curve of the output of a server: the min-plus deconvolution of a concave
/// arrival curve and a convex service curve. Returns `None` for other curves.
pub(super) fn deconvolution(alpha: &Curve, beta: &Curve) -> Option<Curve> {
    if is_unbounded(alpha) {
        return Some(unbounded());
    }
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    if last(&alpha)?.slope > last(&beta)?.slope {
        return Some(unbounded());
    }
    // The burst of the output is the vertical deviation, which is attained at time `at`. It is
    // followed by the segments of the arrival curve after `at` and those of the service curve
    // before `at`, by descending slope.
    let both = merged(&alpha, &beta);
    let mut peak: Option<(&Rational, Rational)> = None;
    for (t, a, b) in both {
        let distance = a.at(t) - b.at(t);
        if peak.as_ref().is_none_or(|(_, most)| distance > *most) {
            peak = Some((t, distance));
        }
    }
    let (at, burst) = peak?;
    let mut parts: Vec<(Rational, Option<Rational>)> = Vec::new();
    for (index, segment) in beta.iter().enumerate() {
        let end = beta.get(index + 1).map_or(at, |next| next.start.min(at));
        if segment.start < at {
            parts.push((segment.slope.clone(), Some(end - segment.start)));
        }
    }
    for (index, segment) in alpha.iter().enumerate() {
        let start = segment.start.max(at);
        match alpha.get(index + 1) {
            Some(next) if next.start <= at => {}
            Some(next) => parts.push((segment.slope.clone(), Some(next.start - start))),
            None => parts.push((segment.slope.clone(), None)),
        }
    }
    // The order of segments with equal slope does not matter, because they are on one line.
    parts.sort_by(|a, b| b.0.cmp(&a.0));
    join(burst, parts)
}

/// Builds a curve that jumps by `jump` at time zero and continues with `parts`, each with a slope
/// and a length. A part without a length does not end, so later parts are ignored.
fn join(jump: Rational, parts: Vec<(Rational, Option<Rational>)>) -> Option<Curve> {
    let (mut start, mut height) = (Rational::ZERO, jump);
    let mut pieces = Vec::with_capacity(parts.len());
    for (slope, length) in parts {
        let rise = length.as_ref().map(|length| &slope * length);
        pieces.push(piece(start.clone(), height.clone(), slope));
        let (Some(length), Some(rise)) = (length, rise) else { break };
        start += length;
        height += rise;
    }
    Curve::ultimately_affine(pieces).ok()
}

/// Returns the arrival curve of unbounded arrivals, which is zero at time zero and infinite after
/// it.
pub(super) fn unbounded() -> Curve {
    let none: [(Rational, Rational); 0] = [];
    Curve::token_buckets(none).unwrap_or_else(|_| Curve::constant(Extended::PositiveInfinity))
}

/// Returns the min-plus convolution of two convex service curves: the service curve of two servers
/// in series. Returns `None` for other curves.
pub(super) fn convolution(a: &Curve, b: &Curve) -> Option<Curve> {
    let (a, b) = (service(a)?, service(b)?);
    let mut parts: Vec<(Rational, Option<Rational>)> = Vec::new();
    for segments in [&a, &b] {
        for (index, segment) in segments.iter().enumerate() {
            let length = segments.get(index + 1).map(|next| next.start - segment.start);
            parts.push((segment.slope.clone(), length));
        }
    }
    // The parts follow by ascending slope. `join` ignores those after the first part without an
    // end.
    parts.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.is_none().cmp(&b.1.is_none())));
    join(Rational::ZERO, parts)
}

/// Returns the residual service curve of a strict server under arbitrary multiplexing:
/// `beta - alpha` where it is positive and increasing, and zero before that. Returns `None` unless
/// `alpha` is concave and `beta` convex.
pub(super) fn left_over(beta: &Curve, alpha: &Curve) -> Option<Curve> {
    if is_unbounded(alpha) {
        return Some(Curve::zero());
    }
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    let both = merged(&alpha, &beta);
    let mut pieces = vec![(Rational::ZERO, Rational::ZERO, Rational::ZERO)];
    for (index, (t, a, b)) in both.iter().enumerate() {
        let slope = b.slope - a.slope;
        let height = b.at(t) - a.at(t);
        let end = both.get(index + 1).map(|(next, ..)| *next);
        if !height.is_negative() && (slope.is_positive() || height.is_positive()) {
            pieces.push(((*t).clone(), height, slope));
        } else if height.is_negative() && slope.is_positive() {
            let zero = *t + &(-&height / &slope);
            if end.is_none_or(|end| zero < *end) {
                pieces.push((zero, Rational::ZERO, slope));
            }
        }
    }
    assemble(pieces)
}

/// Returns the residual service curve of a FIFO server for a given theta: zero up to `theta`, and
/// `beta(t) - alpha(t - theta)` after it (Le Boudec and Thiran, proposition 6.2.1). Returns `None`
/// unless `alpha` is concave, `beta` is convex and the result is continuous.
pub(super) fn fifo_left_over(beta: &Curve, alpha: &Curve, theta: &Rational) -> Option<Curve> {
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    let moved: Vec<Rational> = alpha.iter().map(|segment| segment.start + theta).collect();
    let mut later = Vec::with_capacity(alpha.len());
    for (segment, start) in alpha.iter().zip(&moved) {
        later.push(Segment { start, ..*segment });
    }
    // The segments of the service curve after the time theta.
    let within = beta.iter().rposition(|segment| segment.start <= theta)?;
    let height = beta[within].at(theta);
    let mut served = vec![Segment { start: theta, height: &height, slope: beta[within].slope }];
    served.extend(beta.get(within + 1..)?.iter().copied());
    let both = merged(&later, &served);
    // The difference is convex, so it falls up to its lowest point, if at all, and rises after it.
    // A service curve must not fall, so the value at the lowest point replaces all earlier values.
    let difference: Vec<(Rational, Rational, Rational)> =
        both.iter().map(|(t, a, b)| ((*t).clone(), b.at(t) - a.at(t), b.slope - a.slope)).collect();
    let Some(lowest) = difference.iter().position(|(_, _, slope)| !slope.is_negative()) else {
        return Some(Curve::zero());
    };
    let floor = difference.get(lowest)?.1.clone();
    if floor.is_positive() && !theta.is_zero() {
        // The result jumps at the time theta. This module does not represent such a shape.
        return None;
    }
    let mut pieces = vec![(Rational::ZERO, Rational::ZERO, Rational::ZERO)];
    for (index, (t, height, slope)) in difference.iter().enumerate().skip(lowest) {
        let end = difference.get(index + 1).map(|(next, ..)| next);
        if !height.is_negative() {
            pieces.push((t.clone(), height.clone(), slope.clone()));
        } else if slope.is_positive() {
            let zero = t + &(-height / slope);
            if end.is_none_or(|end| zero < *end) {
                pieces.push((zero, Rational::ZERO, slope.clone()));
            }
        }
    }
    assemble(pieces)
}

/// Builds a convex curve from parts, each with its breakpoint, its height there and its slope. If
/// consecutive parts have the same breakpoint, only the last is used.
fn assemble(parts: Vec<(Rational, Rational, Rational)>) -> Option<Curve> {
    let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
    for (start, height, slope) in parts {
        if pieces.last().is_some_and(|before| *before.start() == start) {
            pieces.pop();
        }
        pieces.push(Piece::continuous(start, height, slope));
    }
    Curve::ultimately_affine(pieces).ok()
}
