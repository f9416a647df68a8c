//! Pay multiplexing only once (PMOO): the residual service of a whole tandem in one formula.
//!
//! Let token buckets (b, r) cross parts of a tandem of rate-latency servers (R_i, T_i). The flow
//! that crosses the whole tandem keeps the rate R' = min_i (R_i - sum of the r at i) and has the
//! latency T' = sum T_i + (sum of the b + sum_i T_i sum of the r at i) / R' (Schmitt, Zdarsky and
//! Martinovic, "Improving performance bounds in feed-forward networks by paying multiplexing only
//! once", MMB 2008). Other curves are first bounded by a minimum of token buckets and a maximum of
//! rate-latency curves. Every choice of one curve out of each yields a bound, and the maximum of
//! these residual service curves is one as well, because all are valid for the same start of a
//! backlogged period.

use crate::{Curve, Extended, Rational};

/// If there are at most this many choices of token buckets and rate-latency curves, all of them are
/// tried.
const MAX_CHOICES: usize = 1024;

/// A token bucket: an arrival curve of `burst + rate t` after time zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenBucket {
    pub(crate) burst: Rational,
    pub(crate) rate: Rational,
}

/// A rate-latency curve. With an infinite rate it is a burst-delay curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RateLatency {
    pub(crate) rate: Extended,
    pub(crate) latency: Rational,
}

impl RateLatency {
    /// Returns the parameters as a curve, or `None` if one of them is invalid.
    pub(crate) fn curve(&self) -> Option<Curve> {
        match &self.rate {
            Extended::Finite(rate) => Curve::rate_latency(rate.clone(), self.latency.clone()).ok(),
            _ => Curve::burst_delay(self.latency.clone()).ok(),
        }
    }
}

/// Cross traffic that visits exactly the servers `first..=last` of a tandem.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// Token buckets, at least one, whose minimum is an arrival curve of the cross traffic.
    pub(crate) buckets: Vec<TokenBucket>,
}

/// Returns the token buckets whose minimum is the least concave curve above `curve`, by ascending
/// burst. The list is empty if no token bucket is above the curve.
pub(crate) fn token_buckets(curve: &Curve) -> Vec<TokenBucket> {
    let Some(rate) = curve.ultimate_rate().into_finite() else { return Vec::new() };
    let Some(points) = points(curve) else { return Vec::new() };
    // The upper hull of the points, up to the line with the ultimate rate.
    let mut hull: Vec<(Rational, Rational)> = Vec::new();
    for (t, y) in points {
        while let [.., (t1, y1), (t2, y2)] = hull.as_slice() {
            // The middle point lies on or below the line through its neighbours.
            if (y2 - y1) * (&t - t1) <= (&y - y1) * (t2 - t1) {
                hull.pop()
            } else {
                break;
            };
        }
        match hull.last() {
            Some((last, height)) if *last == t => {
                if y > *height {
                    hull.pop();
                    hull.push((t, y));
                }
            }
            _ => hull.push((t, y)),
        }
    }
    let mut buckets = Vec::new();
    for pair in hull.windows(2) {
        let [(t1, y1), (t2, y2)] = pair else { continue };
        let slope = (y2 - y1) / (t2 - t1);
        if slope <= rate {
            break;
        }
        buckets.push(TokenBucket { burst: y1 - &slope * t1, rate: slope });
    }
    let last = hull.iter().map(|(t, y)| y - &rate * t).max();
    buckets.extend(last.map(|burst| TokenBucket { burst, rate }));
    buckets
}

/// Returns rate-latency curves whose maximum is nowhere above a service curve, by ascending rate.
/// The list is empty if the service is zero in the long run.
pub(crate) fn rate_latencies(curve: &Curve) -> Vec<RateLatency> {
    let rate = curve.ultimate_rate();
    // The hull covers the curve up to the time at which it becomes infinite.
    let (mut hull, mut infinite) = (vec![(Rational::ZERO, Rational::ZERO)], None);
    let pieces = unrolled(curve);
    for (index, piece) in pieces.iter().enumerate() {
        let Extended::Finite(at) = piece.value() else {
            infinite = Some(piece.start().clone());
            break;
        };
        let mut low = vec![(piece.start().clone(), at.clone())];
        match piece.right_limit() {
            Extended::Finite(after) => {
                if let Some(next) = pieces.get(index + 1) {
                    let end = after + &(piece.slope() * &(next.start() - piece.start()));
                    low.push((next.start().clone(), end));
                }
            }
            _ => infinite = Some(piece.start().clone()),
        }
        for (t, y) in low {
            push_lower(&mut hull, t, y);
        }
        if infinite.is_some() {
            break;
        }
    }
    let mut services = Vec::new();
    for pair in hull.windows(2) {
        let [(t1, y1), (t2, y2)] = pair else { continue };
        let slope = (y2 - y1) / (t2 - t1);
        if Extended::Finite(slope.clone()) >= rate && infinite.is_none() {
            break;
        }
        if slope.is_positive() {
            services.push(RateLatency { latency: t1 - y1 / &slope, rate: Extended::Finite(slope) });
        }
    }
    match (infinite, rate) {
        (Some(latency), _) => {
            services.push(RateLatency { rate: Extended::PositiveInfinity, latency });
        }
        (None, Extended::Finite(rate)) if rate.is_positive() => {
            // The highest line with the ultimate rate such that no point of the hull lies below it.
            let latency = hull.iter().map(|(t, y)| t - y / &rate).max();
            let latency = latency.unwrap_or(Rational::ZERO);
            services.push(RateLatency { rate: Extended::Finite(rate), latency });
        }
        _ => {}
    }
    services.retain(|service| !service.latency.is_negative());
    services
}

/// Appends a point to the lower convex hull of points, and removes the points that are no longer on
/// it.
fn push_lower(hull: &mut Vec<(Rational, Rational)>, t: Rational, y: Rational) {
    if let Some((last, height)) = hull.last_mut()
        && *last == t
    {
        if y < *height {
            *height = y;
        }
    } else {
        hull.push((t, y));
    }
    while let [.., (t1, y1), (t2, y2), (t3, y3)] = hull.as_slice() {
        if (y2 - y1) * (t3 - t1) < (y3 - y1) * (t2 - t1) {
            break;
        }
        let above = hull.len() - 2;
        hull.remove(above);
    }
}

/// Returns the pieces of a curve up to the end of its second period, so that the line with the
/// ultimate rate touches the convex hull of the curve at one of these pieces.
fn unrolled(curve: &Curve) -> Vec<crate::Piece> {
    let mut pieces = curve.pieces().to_vec();
    if let Some(period) = curve.period() {
        let repeated: Vec<_> = pieces
            .iter()
            .filter(|piece| *piece.start() >= period.start)
            .map(|piece| {
                crate::Piece::new(
                    piece.start() + &period.length,
                    piece.value().shifted(&period.increment),
                    piece.right_limit().shifted(&period.increment),
                    piece.slope().clone(),
                )
            })
            .collect();
        pieces.extend(repeated);
    }
    pieces
}

/// Returns the highest points of a curve: those at each breakpoint and just before the next one.
/// Returns `None` if the curve is infinite somewhere.
fn points(curve: &Curve) -> Option<Vec<(Rational, Rational)>> {
    let pieces = unrolled(curve);
    let mut points = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let at = piece.value().finite()?;
        let after = piece.right_limit().finite()?;
        points.push((piece.start().clone(), at.max(after).clone()));
        if let Some(next) = pieces.get(index + 1) {
            let end = after + &(piece.slope() * &(next.start() - piece.start()));
            points.push((next.start().clone(), end));
        }
    }
    Some(points)
}

/// Returns the residual service of a tandem, as rate-latency curves whose maximum is a service
/// curve. The list is empty if there is no residual service.
///
/// `servers` has the rate-latency curves of each server, `crossings` the cross traffic.
pub(crate) fn left_over(servers: &[Vec<RateLatency>], crossings: &[Crossing]) -> Vec<RateLatency> {
    if servers.iter().any(Vec::is_empty) || crossings.iter().any(|c| c.buckets.is_empty()) {
        return Vec::new();
    }
    let sizes: Vec<usize> = servers
        .iter()
        .map(Vec::len)
        .chain(crossings.iter().map(|crossing| crossing.buckets.len()))
        .collect();
    let count = sizes.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
    let mut found = Vec::new();
    match count {
        Some(count) if count <= MAX_CHOICES => {
            for mut number in 0..count {
                let choice: Vec<usize> = sizes
                    .iter()
                    .map(|size| {
                        let digit = number % size;
                        number /= size;
                        digit
                    })
                    .collect();
                found.extend(for_choice(servers, crossings, &choice));
            }
        }
        // There are too many choices to try all. So all crossings use the bucket with the same
        // index, all servers use the curve with the same index, and only these two indices vary.
        // Each of these choices yields a bound as well.
        _ => {
            let longest = sizes.iter().copied().max().unwrap_or(1);
            for step in 0..longest {
                for other in 0..longest {
                    let choice: Vec<usize> = sizes
                        .iter()
                        .enumerate()
                        .map(|(index, size)| {
                            let step = if index < servers.len() { step } else { other };
                            // Counts down from the last index, at which the tandem is stable if it
                            // is stable for any choice.
                            (size - 1).saturating_sub(step)
                        })
                        .collect();
                    found.extend(for_choice(servers, crossings, &choice));
                }
            }
        }
    }
    pareto(found)
}

/// Returns the residual service of a tandem for one choice of a rate-latency curve of each server
/// and a token bucket of each cross flow. Returns `None` if a server has no rate left.
fn for_choice(
    servers: &[Vec<RateLatency>],
    crossings: &[Crossing],
    choice: &[usize],
) -> Option<RateLatency> {
    // The change of the cross traffic's total rate at each server.
    let mut changes = vec![Rational::ZERO; servers.len() + 1];
    let mut bursts = Rational::ZERO;
    for (index, crossing) in crossings.iter().enumerate() {
        let bucket = crossing.buckets.get(*choice.get(servers.len() + index)?)?;
        bursts += &bucket.burst;
        *changes.get_mut(crossing.first)? += &bucket.rate;
        *changes.get_mut(crossing.last + 1)? -= &bucket.rate;
    }
    let mut crossing_rate = Rational::ZERO;
    let mut latency = Rational::ZERO;
    let mut crossing_data = Rational::ZERO;
    let mut rate = Extended::PositiveInfinity;
    for (index, server) in servers.iter().enumerate() {
        crossing_rate += &changes[index];
        let service = server.get(*choice.get(index)?)?;
        latency += &service.latency;
        if !crossing_rate.is_zero() {
            crossing_data += &(&crossing_rate * &service.latency);
        }
        if let Extended::Finite(service) = &service.rate {
            let left = service - &crossing_rate;
            if !left.is_positive() {
                return None;
            }
            rate = rate.min(Extended::Finite(left));
        }
    }
    if let Extended::Finite(rate) = &rate {
        latency += &((bursts + crossing_data) / rate);
    }
    Some(RateLatency { rate, latency })
}

/// Returns the rate-latency curves of a list that no other one dominates, by having at least the
/// same rate and at most the same latency.
pub(crate) fn pareto(mut services: Vec<RateLatency>) -> Vec<RateLatency> {
    services.sort_by(|a, b| a.latency.cmp(&b.latency).then_with(|| b.rate.cmp(&a.rate)));
    let mut kept: Vec<RateLatency> = Vec::new();
    for service in services {
        if kept.last().is_none_or(|last| service.rate > last.rate) {
            kept.push(service);
        }
    }
    kept
}
