//! Pay multiplexing only once: the left-over service of a whole tandem in one formula.
//!
//! For token buckets (b, r) that cross parts of a tandem of rate-latency servers (R_i, T_i), the
//! flow that crosses all of it keeps the rate R' = min_i (R_i - sum of the r at i) and has the
//! latency T' = sum T_i + (sum of the b + sum_i T_i sum of the r at i) / R' (Schmitt, Zdarsky,
//! Martinovic, "Improving performance bounds in feed-forward networks by paying multiplexing only
//! once", MMB 2008). Other curves are first bounded by the minimum of token buckets and the maximum
//! of rate-latency curves; every choice of one out of each is a bound, and so is their maximum,
//! because all hold with respect to the same beginning of a backlogged period.

use crate::{Curve, Extended, Rational};

/// Choices of token buckets and rate-latency curves that are all tried.
const CHOICES: usize = 1024;

/// A token bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenBucket {
    pub(crate) burst: Rational,
    pub(crate) rate: Rational,
}

/// A rate-latency curve; a burst-delay curve has an infinite rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RateLatency {
    pub(crate) rate: Extended,
    pub(crate) latency: Rational,
}

impl RateLatency {
    /// As a curve.
    pub(crate) fn curve(&self) -> Option<Curve> {
        match &self.rate {
            Extended::Finite(rate) => Curve::rate_latency(rate.clone(), self.latency.clone()).ok(),
            _ => Curve::burst_delay(self.latency.clone()).ok(),
        }
    }
}

/// Cross traffic that shares the servers `first..=last` of a tandem.
#[derive(Clone, Debug)]
pub(crate) struct Crossing {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// At least one token bucket, all of which hold.
    pub(crate) buckets: Vec<TokenBucket>,
}

/// Token buckets whose minimum bounds a curve from above, the one with the smallest burst first;
/// none if the curve is not bounded by a line.
pub(crate) fn token_buckets(curve: &Curve) -> Vec<TokenBucket> {
    let Some(rate) = curve.ultimate_rate().into_finite() else { return Vec::new() };
    let Some(points) = points(curve) else { return Vec::new() };
    // The upper hull of the points, from the highest point towards the line with the final slope.
    let mut hull: Vec<(Rational, Rational)> = Vec::new();
    for (t, y) in points {
        while let [.., (t1, y1), (t2, y2)] = hull.as_slice() {
            // The middle point lies on or below the line around it.
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

/// Rate-latency curves whose maximum bounds a service curve from below, the slowest first; none if
/// there is no service in the long run.
pub(crate) fn rate_latencies(curve: &Curve) -> Vec<RateLatency> {
    let rate = curve.ultimate_rate();
    // Up to where it is infinite, the curve is what it is.
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
            // The line with the final slope that no point of the hull is below.
            let latency = hull.iter().map(|(t, y)| t - y / &rate).max();
            let latency = latency.unwrap_or(Rational::ZERO);
            services.push(RateLatency { rate: Extended::Finite(rate), latency });
        }
        _ => {}
    }
    services.retain(|service| !service.latency.is_negative());
    services
}

/// Adds a point to the hull from below, which stays convex.
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

/// The pieces of a curve with its period twice, so that its line is touched behind the start.
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

/// The highest points of a curve: at each breakpoint and before the next. Nothing if it is infinite
/// somewhere.
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

/// Left-over rate-latency curves of a tandem; their maximum is a service curve. None if nothing is
/// left over.
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
        Some(count) if count <= CHOICES => {
            for mut number in 0..count {
                let choice: Vec<usize> = sizes
                    .iter()
                    .map(|size| {
                        let digit = number % size;
                        number /= size;
                        digit
                    })
                    .collect();
                found.extend(partial(servers, crossings, &choice));
            }
        }
        // Too many: go from the steepest buckets and slowest services to the flattest and fastest
        // in step. Each of these choices is a bound, too.
        _ => {
            let longest = sizes.iter().copied().max().unwrap_or(1);
            for step in 0..longest {
                for other in 0..longest {
                    let choice: Vec<usize> = sizes
                        .iter()
                        .enumerate()
                        .map(|(index, size)| {
                            let step = if index < servers.len() { step } else { other };
                            // In step from the end, where all choices are stable if any is.
                            (size - 1).saturating_sub(step)
                        })
                        .collect();
                    found.extend(partial(servers, crossings, &choice));
                }
            }
        }
    }
    pareto(found)
}

/// The left-over service for one choice of token buckets and rate-latency curves.
fn partial(
    servers: &[Vec<RateLatency>],
    crossings: &[Crossing],
    choice: &[usize],
) -> Option<RateLatency> {
    // Changes of the sum of rates at each server.
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
    let mut delayed = Rational::ZERO;
    let mut rate = Extended::PositiveInfinity;
    for (index, server) in servers.iter().enumerate() {
        crossing_rate += &changes[index];
        let service = server.get(*choice.get(index)?)?;
        latency += &service.latency;
        if !crossing_rate.is_zero() {
            delayed += &(&crossing_rate * &service.latency);
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
        latency += &((bursts + delayed) / rate);
    }
    Some(RateLatency { rate, latency })
}

/// Those that are not below another everywhere.
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
