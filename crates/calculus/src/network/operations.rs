//! What analyses do with curves: the closed forms of [`super::affine`] where they hold, the algebra
//! for all other curves.

use super::pmoo::{self, RateLatency};
use super::{affine, simple};
use crate::{AlgebraError, Curve, Extended, Piece, Rational, interrupt};

/// Pieces of a curve beyond which a network is outlined: with the common period of a few staircases
/// each further operation would take seconds.
const MOST_PIECES: u32 = 1 << 13;

/// Whether the sum of some curves has so many pieces before it repeats that it is better outlined.
/// Asked before anything is computed, for a sum that fails costs as much as one that does not.
pub(super) fn sum_is_long<'a>(curves: impl Iterator<Item = &'a Curve>) -> bool {
    let most = Rational::from(MOST_PIECES);
    // Pieces for each unit of time, and the common period.
    let (mut density, mut common) = (Rational::ZERO, None::<Rational>);
    for curve in curves {
        let Some(period) = curve.period() else { continue };
        density += &(Rational::from(curve.pieces().len()) / &period.length);
        let both = match common {
            None => period.length.clone(),
            Some(common) => common.common_multiple(&period.length),
        };
        if &density * &both > most {
            return true;
        }
        common = Some(both);
    }
    false
}

/// The least concave curve that is nowhere below; the curve itself if it is infinite somewhere.
pub(super) fn concave_above(curve: &Curve) -> Curve {
    let buckets = pmoo::token_buckets(curve).into_iter().map(|b| (b.burst, b.rate));
    match Curve::token_buckets(buckets) {
        Ok(above) if !affine::is_unbounded(&above) => above,
        _ => curve.clone(),
    }
}

/// The greatest convex curve that is nowhere above.
pub(super) fn convex_below(curve: &Curve) -> Curve {
    maximum_of(&pmoo::rate_latencies(curve)).unwrap_or_else(|_| Curve::zero())
}

/// A result, unless it has become so long that its outline serves better.
fn short(curve: Curve) -> Result<Curve, AlgebraError> {
    interrupt::check()?;
    let needed = Rational::from(curve.pieces().len());
    if needed > Rational::from(MOST_PIECES) {
        return Err(AlgebraError::TooManyPieces { needed, limit: MOST_PIECES });
    }
    Ok(curve)
}

/// Bits of a burst, numerator and denominator together, beyond which it is rounded up.
const LONGEST: u64 = 1_024;
/// Bits that a burst keeps then.
const KEPT: u64 = 192;

/// An arrival curve whose bursts have grown long, with bursts rounded up by less than 2^-190 of themselves; none if it
/// need not be rounded.
///
/// A burst behind a server has that server's rate in its denominator, and a sum of bursts the denominators of all. Behind
/// thousands of servers a single number would have more digits than the network has servers. Every curve above an arrival curve is an
/// arrival curve, so that bounds hold as before.
pub(super) fn shortened(curve: &Curve) -> Option<Curve> {
    let is_long = |piece: &Piece| {
        let burst = piece.right_limit().finite();
        burst.is_some_and(|burst| burst.bits() + piece.start().bits() > LONGEST)
    };
    if !curve.pieces().iter().any(is_long) {
        return None;
    }
    if let Some((burst, rate)) = simple::bucket(curve) {
        return Some(simple::make_bucket(burst.rounded_up(KEPT), rate.clone()));
    }
    if !curve.is_ultimately_affine() || !curve.is_concave() || affine::is_unbounded(curve) {
        return None;
    }
    let buckets = pmoo::token_buckets(curve).into_iter();
    Curve::token_buckets(buckets.map(|b| (b.burst.rounded_up(KEPT), b.rate))).ok()
}

/// Sum.
pub(super) fn sum(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    simple::sum(a, b).or_else(|| affine::sum(a, b)).map_or_else(|| short(a.sum(b)?), Ok)
}

/// The smaller one at every point of time.
pub(super) fn minimum(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    simple::minimum(a, b).or_else(|| affine::minimum(a, b)).map_or_else(|| short(a.minimum(b)?), Ok)
}

/// The largest of rate-latency curves at every point of time; zero if there is none.
pub(super) fn maximum_of(services: &[RateLatency]) -> Result<Curve, AlgebraError> {
    let mut finite = Vec::with_capacity(services.len());
    let mut others = Vec::new();
    for service in services {
        match &service.rate {
            Extended::Finite(rate) => finite.push((rate.clone(), service.latency.clone())),
            _ => others.extend(service.curve()),
        }
    }
    let mut best = Curve::rate_latencies(finite).unwrap_or_else(|_| Curve::zero());
    for other in others {
        best = best.maximum(&other)?;
    }
    Ok(best)
}

/// One server behind the other.
pub(super) fn convolution(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    simple::convolution(a, b)
        .or_else(|| affine::convolution(a, b))
        .map_or_else(|| short(a.convolution(b)?), Ok)
}

/// Arrivals behind a server; infinite behind time zero if the server cannot keep up.
pub(super) fn deconvolution(alpha: &Curve, beta: &Curve) -> Result<Curve, AlgebraError> {
    if let Some(curve) =
        simple::deconvolution(alpha, beta).or_else(|| affine::deconvolution(alpha, beta))
    {
        return Ok(curve);
    }
    short(alpha.deconvolution(beta)?.with_origin(Extended::ZERO))
}

/// Bound on the delay of data that stay in order.
pub(super) fn horizontal_deviation(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    if let Some(deviation) = simple::horizontal_deviation(alpha, beta)
        .or_else(|| affine::horizontal_deviation(alpha, beta))
    {
        return Ok(deviation);
    }
    Ok(alpha.horizontal_deviation(beta)?.value)
}

/// Bound on the backlog.
pub(super) fn vertical_deviation(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    if let Some(deviation) =
        simple::vertical_deviation(alpha, beta).or_else(|| affine::vertical_deviation(alpha, beta))
    {
        return Ok(deviation);
    }
    Ok(alpha.vertical_deviation(beta)?.value.max(Extended::ZERO))
}

/// The longest backlogged period of a strict server, a bound on the delay in any order of service:
/// the first time behind zero at which the service has caught up with all arrivals.
pub(super) fn backlogged_period(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    if let Some(period) = simple::crossing(alpha, beta).or_else(|| affine::crossing(alpha, beta)) {
        return Ok(period);
    }
    // Simpler curves around these meet later, if ever: beyond that nothing needs to be searched.
    let buckets = pmoo::token_buckets(alpha).into_iter().map(|b| (b.burst, b.rate));
    let (Ok(above), below) =
        (Curve::token_buckets(buckets), maximum_of(&pmoo::rate_latencies(beta))?)
    else {
        return Ok(Extended::PositiveInfinity);
    };
    let end = match affine::crossing(&above, &below) {
        Some(Extended::Finite(end)) => end,
        Some(infinite) => return Ok(infinite),
        // Infinite service: it has caught up where it becomes infinite, or before.
        None => match below.pieces().iter().find(|piece| !piece.right_limit().is_finite()) {
            Some(piece) => piece.start().clone(),
            None => return Ok(Extended::PositiveInfinity),
        },
    };
    let excess = alpha.difference(beta)?;
    let pieces = excess.pieces_until(&end)?;
    for (index, piece) in pieces.iter().enumerate() {
        if piece.start().is_positive() && *piece.value() <= Extended::ZERO {
            return Ok(Extended::Finite(piece.start().clone()));
        }
        let next = pieces.get(index + 1).map_or(&end, Piece::start);
        match piece.right_limit() {
            Extended::Finite(height) if height.is_positive() => {
                if piece.slope().is_negative() {
                    let zero = piece.start() - &(height / piece.slope());
                    if zero < *next {
                        return Ok(Extended::Finite(zero));
                    }
                }
            }
            Extended::Finite(height) if height.is_zero() && piece.slope().is_positive() => {}
            Extended::PositiveInfinity => {}
            _ => return Ok(Extended::Finite(piece.start().clone())),
        }
    }
    Ok(Extended::Finite(end))
}

/// What a strict server leaves over by others in any order of service.
pub(super) fn left_over(beta: &Curve, cross: &Curve) -> Result<Curve, AlgebraError> {
    if let Some(curve) = simple::left_over(beta, cross).or_else(|| affine::left_over(beta, cross)) {
        return Ok(curve);
    }
    let left = beta.difference(cross)?.non_negative()?.upper_non_decreasing()?;
    short(left.with_origin(Extended::ZERO))
}

/// What a FIFO server leaves over, with theta the time that it takes to serve the burst of the
/// others (Le Boudec, Thiran, "Network Calculus", proposition 6.2.1; for a token bucket (b, r) and
/// a rate-latency curve (R, T), theta is T + b / R).
pub(super) fn fifo_left_over(beta: &Curve, cross: &Curve) -> Result<Curve, AlgebraError> {
    if let Some(curve) = simple::fifo_left_over(beta, cross) {
        return Ok(curve);
    }
    let Some(theta) = time_to_serve(beta, cross)? else { return Ok(Curve::zero()) };
    fifo_left_over_at(beta, cross, &theta)
}

/// The same with another choice of theta; every choice gives a service curve.
pub(super) fn fifo_left_over_at(
    beta: &Curve,
    cross: &Curve,
    theta: &Rational,
) -> Result<Curve, AlgebraError> {
    if let Some(curve) = affine::fifo_left_over(beta, cross, theta) {
        return Ok(curve);
    }
    let mut left = beta.difference(&cross.delayed(theta))?.non_negative()?;
    if let Ok(gate) = Curve::burst_delay(theta.clone()) {
        left = left.minimum(&gate)?;
    }
    // The formula holds as it is, but falls for some curves. What never falls and is below it holds
    // too, and is a service curve.
    short(left.lower_non_decreasing()?.with_origin(Extended::ZERO))
}

/// A service curve less what a packetizer, or a packet that is on its way, may hold back.
pub(super) fn lowered(beta: &Curve, packet: &Rational) -> Result<Curve, AlgebraError> {
    left_over(beta, &bucket(packet))
}

/// A shaping curve raised by a packet.
pub(super) fn raised(sigma: &Curve, packet: &Rational) -> Result<Curve, AlgebraError> {
    sum(sigma, &bucket(packet))
}

/// A burst of one packet and nothing else.
fn bucket(packet: &Rational) -> Curve {
    Curve::token_bucket(packet.clone(), Rational::ZERO).unwrap_or_else(|_| Curve::zero())
}

/// Arrivals of data that are delayed by up to some time, behind that delay.
pub(super) fn advanced(alpha: &Curve, delay: &Extended) -> Result<Curve, AlgebraError> {
    let Extended::Finite(delay) = delay else { return Ok(affine::unbounded()) };
    if let Some(curve) = simple::advanced(alpha, delay).or_else(|| affine::advanced(alpha, delay)) {
        return Ok(curve);
    }
    Ok(alpha.advanced(delay).with_origin(Extended::ZERO))
}

/// When a server has served more than the burst of an arrival curve at the latest.
pub(super) fn time_to_serve(beta: &Curve, cross: &Curve) -> Result<Option<Rational>, AlgebraError> {
    let burst = match cross.right_limit_at(&Rational::ZERO) {
        Extended::Finite(burst) => burst,
        _ => return Ok(None),
    };
    if let Some(time) = affine::time_to_serve(beta, &burst) {
        return Ok(time);
    }
    Ok(beta.upper_pseudo_inverse()?.value_at(&burst).into_finite())
}

#[cfg(test)]
mod tests;
