//! The operations of the analyses on the curves that networks mostly have: concave arrivals
//! (minimum of token buckets) against convex service (maximum of rate-latency curves).
//!
//! The algebra does all of this for any curve. An analysis of a large network does it a million
//! times for curves of one to three pieces, so here are the closed forms, without detours over
//! common periods and envelopes. Each function gives up (`None`) where its shapes do not hold, and
//! [`super::operations`] then asks the algebra; tests compare both.

use crate::{Curve, Extended, Piece, Rational};

/// A segment: from where, at which height, how steep.
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

/// The segments of a curve that is finite, ends in a line and is zero at zero.
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

/// The segments of a concave arrival curve.
fn arrival(curve: &Curve) -> Option<Vec<Segment<'_>>> {
    let segments = segments(curve)?;
    (segments.len() == 1 || curve.is_concave()).then_some(segments)
}

/// The segments of a convex service curve.
fn service(curve: &Curve) -> Option<Vec<Segment<'_>>> {
    let segments = segments(curve)?;
    let starts_at_zero = segments.first()?.height.is_zero();
    (starts_at_zero && (segments.len() == 1 || curve.is_convex())).then_some(segments)
}

/// Both segments that hold from each breakpoint of either on.
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

/// Sum of two curves that end in lines.
pub(super) fn sum(a: &Curve, b: &Curve) -> Option<Curve> {
    if is_unbounded(a) || is_unbounded(b) {
        return Some(unbounded());
    }
    let (a, b) = (segments(a)?, segments(b)?);
    let mut pieces: Vec<Piece> = Vec::with_capacity(a.len() + b.len());
    for (start, a, b) in merged(&a, &b) {
        let height = a.at(start) + b.at(start);
        let slope = a.slope + b.slope;
        // Curves with jumps behind zero are rare; the algebra takes them.
        if !start.is_zero() && pieces.last().is_none_or(|before| ends(before, start) != height) {
            return None;
        }
        pieces.push(piece(start.clone(), height, slope));
    }
    Curve::ultimately_affine(pieces).ok()
}

/// The smaller of two concave curves.
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

/// Whether arrivals have no bound.
pub(super) fn is_unbounded(alpha: &Curve) -> bool {
    alpha.right_limit_at(&Rational::ZERO) == Extended::PositiveInfinity
}

/// The curve from a time on, zero at zero.
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

/// Where a piece arrives at a time.
fn ends(piece: &Piece, t: &Rational) -> Rational {
    match piece.right_limit() {
        Extended::Finite(height) => height + &(piece.slope() * &(t - piece.start())),
        _ => Rational::ZERO,
    }
}

/// A piece; at time zero with a jump from zero.
fn piece(start: Rational, height: Rational, slope: Rational) -> Piece {
    if start.is_zero() {
        Piece::new(start, Extended::ZERO, height, slope)
    } else {
        Piece::continuous(start, height, slope)
    }
}

/// Largest vertical distance.
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

/// Largest horizontal distance.
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

/// When convex service has served more than a burst at the latest; nothing inside if never.
pub(super) fn time_to_serve(beta: &Curve, burst: &Rational) -> Option<Option<Rational>> {
    Some(when_exceeding(&service(beta)?, burst))
}

/// When convex service first gets beyond a height.
fn when_exceeding(beta: &[Segment<'_>], height: &Rational) -> Option<Rational> {
    // The last segment that begins at or below the height and rises.
    let segment = beta.iter().rev().find(|segment| segment.height <= height)?;
    if !segment.slope.is_positive() {
        return None;
    }
    Some(segment.start + &((height - segment.height) / segment.slope))
}

/// When concave arrivals reach a height; nothing if at once or never.
fn when_reaching(alpha: &[Segment<'_>], height: &Rational) -> Option<Rational> {
    let segment = alpha.iter().rev().find(|segment| segment.height < height)?;
    if !segment.slope.is_positive() {
        return None;
    }
    Some(segment.start + &((height - segment.height) / segment.slope))
}

/// The last time at which more can have arrived than was served: the longest backlogged period.
pub(super) fn crossing(alpha: &Curve, beta: &Curve) -> Option<Extended> {
    if is_unbounded(alpha) {
        return Some(Extended::PositiveInfinity);
    }
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    let both = merged(&alpha, &beta);
    // The difference is concave and not negative right after zero: it falls below zero once.
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

/// Arrivals behind a server.
pub(super) fn deconvolution(alpha: &Curve, beta: &Curve) -> Option<Curve> {
    if is_unbounded(alpha) {
        return Some(unbounded());
    }
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    if last(&alpha)?.slope > last(&beta)?.slope {
        return Some(unbounded());
    }
    // The largest vertical distance is the burst. From there on, concave arrivals and the service
    // before it (backwards) go by falling slope: their supremal convolution.
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
    // Stable: arrivals that are as steep as the service come behind it, which is the same curve.
    parts.sort_by(|a, b| b.0.cmp(&a.0));
    join(burst, parts)
}

/// A curve from zero, a jump, and parts of given slope and length; one without a length is last.
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

/// Arrivals without a bound.
pub(super) fn unbounded() -> Curve {
    let none: [(Rational, Rational); 0] = [];
    Curve::token_buckets(none).unwrap_or_else(|_| Curve::constant(Extended::PositiveInfinity))
}

/// One server behind the other.
pub(super) fn convolution(a: &Curve, b: &Curve) -> Option<Curve> {
    let (a, b) = (service(a)?, service(b)?);
    let mut parts: Vec<(Rational, Option<Rational>)> = Vec::new();
    for segments in [&a, &b] {
        for (index, segment) in segments.iter().enumerate() {
            let length = segments.get(index + 1).map(|next| next.start - segment.start);
            parts.push((segment.slope.clone(), length));
        }
    }
    // By rising slope; the first part without an end hides everything that is steeper.
    parts.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.is_none().cmp(&b.1.is_none())));
    join(Rational::ZERO, parts)
}

/// What a strict server leaves over by the arrivals of others, served in any order.
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

/// What a FIFO server leaves over by the arrivals of others, for one choice of theta: zero up to
/// theta, then the service less the arrivals of theta before.
pub(super) fn fifo_left_over(beta: &Curve, alpha: &Curve, theta: &Rational) -> Option<Curve> {
    let (alpha, beta) = (arrival(alpha)?, service(beta)?);
    let moved: Vec<Rational> = alpha.iter().map(|segment| segment.start + theta).collect();
    let mut later = Vec::with_capacity(alpha.len());
    for (segment, start) in alpha.iter().zip(&moved) {
        later.push(Segment { start, ..*segment });
    }
    // Service from theta on.
    let within = beta.iter().rposition(|segment| segment.start <= theta)?;
    let height = beta[within].at(theta);
    let mut served = vec![Segment { start: theta, height: &height, slope: beta[within].slope }];
    served.extend(beta.get(within + 1..)?.iter().copied());
    let both = merged(&later, &served);
    // Convex: it falls first, if at all. A service curve must not fall, so up to its lowest point
    // it has that value.
    let difference: Vec<(Rational, Rational, Rational)> =
        both.iter().map(|(t, a, b)| ((*t).clone(), b.at(t) - a.at(t), b.slope - a.slope)).collect();
    let Some(lowest) = difference.iter().position(|(_, _, slope)| !slope.is_negative()) else {
        return Some(Curve::zero());
    };
    let floor = difference.get(lowest)?.1.clone();
    if floor.is_positive() && !theta.is_zero() {
        // A jump at theta: no shape for the forms here.
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

/// A convex curve of breakpoints, heights and slopes, the later of two at one time.
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
