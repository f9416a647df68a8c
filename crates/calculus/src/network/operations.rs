//! The operations of the analyses on curves. They use the closed forms of `simple` and
//! [`super::affine`] where these apply, and the algebra otherwise.

use super::pmoo::{self, RateLatency};
use super::{affine, simple};
use crate::{AlgebraError, Curve, Extended, Piece, Rational, interrupt};

/// The largest number of pieces of a curve in an analysis. If a sum of curves has more, their
/// outlines (convex or concave hulls) are used, because each further operation on the sum would
/// take seconds.
const MAX_PIECES: u32 = 1 << 13;

/// Returns whether the sum of some curves has too many pieces before it repeats, so that outlines
/// should replace the curves. The sum itself is not computed, because a computation that fails
/// takes as long as one that succeeds.
pub(super) fn sum_is_long<'a>(curves: impl Iterator<Item = &'a Curve>) -> bool {
    let most = Rational::from(MAX_PIECES);
    // The number of pieces per unit of time, and the common period.
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

/// Returns the least concave curve that is nowhere below `curve`. Returns `curve` itself if it is
/// infinite somewhere.
pub(super) fn concave_above(curve: &Curve) -> Curve {
    let buckets = pmoo::token_buckets(curve).into_iter().map(|b| (b.burst, b.rate));
    match Curve::token_buckets(buckets) {
        Ok(above) if !affine::is_unbounded(&above) => above,
        _ => curve.clone(),
    }
}

/// Returns the greatest convex curve that is nowhere above `curve`.
pub(super) fn convex_below(curve: &Curve) -> Curve {
    maximum_of(&pmoo::rate_latencies(curve)).unwrap_or_else(|_| Curve::zero())
}

/// Returns the curve, or an error if it has too many pieces. The caller then uses the outline (the
/// convex or concave hull).
fn short(curve: Curve) -> Result<Curve, AlgebraError> {
    interrupt::check()?;
    let needed = Rational::from(curve.pieces().len());
    if needed > Rational::from(MAX_PIECES) {
        return Err(AlgebraError::TooManyPieces { needed, limit: MAX_PIECES });
    }
    Ok(curve)
}

/// The number of bits above which a burst is rounded up: those of the burst and its start,
/// numerators and denominators together.
const MAX_BITS: u64 = 1_024;
/// The number of significant bits of a burst after it was rounded up.
const SIGNIFICANT_BITS: u64 = 192;

/// Returns an arrival curve with its long bursts rounded up by less than a factor of 1 + 2^-190, or
/// `None` if no burst is long.
///
/// The burst of the output of a server has the server's rate in its denominator, and a sum of
/// bursts has the denominators of all. After thousands of servers a single number would have more
/// digits than the network has servers. Every curve above an arrival curve is an arrival curve, so
/// the bounds remain valid.
pub(super) fn shortened(curve: &Curve) -> Option<Curve> {
    let is_long = |piece: &Piece| {
        let burst = piece.right_limit().finite();
        burst.is_some_and(|burst| burst.bits() + piece.start().bits() > MAX_BITS)
    };
    if !curve.pieces().iter().any(is_long) {
        return None;
    }
    if let Some((burst, rate)) = simple::bucket(curve) {
        return Some(simple::make_bucket(burst.rounded_up(SIGNIFICANT_BITS), rate.clone()));
    }
    if !curve.is_ultimately_affine() || !curve.is_concave() || affine::is_unbounded(curve) {
        return None;
    }
    let buckets = pmoo::token_buckets(curve).into_iter();
    Curve::token_buckets(buckets.map(|b| (b.burst.rounded_up(SIGNIFICANT_BITS), b.rate))).ok()
}

/// Returns the pointwise sum of two curves.
pub(super) fn sum(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    simple::sum(a, b).or_else(|| affine::sum(a, b)).map_or_else(|| short(a.sum(b)?), Ok)
}

/// Returns the pointwise minimum of two curves.
pub(super) fn minimum(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    simple::minimum(a, b).or_else(|| affine::minimum(a, b)).map_or_else(|| short(a.minimum(b)?), Ok)
}

/// Returns the pointwise maximum of rate-latency curves, or zero if the list is empty.
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

/// Returns the min-plus convolution of two service curves: the service curve of the servers in
/// series.
pub(super) fn convolution(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    simple::convolution(a, b)
        .or_else(|| affine::convolution(a, b))
        .map_or_else(|| short(a.convolution(b)?), Ok)
}

/// Returns the arrival curve of the output of a server: the min-plus deconvolution of the arrival
/// curve `alpha` and the service curve `beta`, and zero at time zero. It is infinite after time
/// zero if the server is overloaded.
pub(super) fn deconvolution(alpha: &Curve, beta: &Curve) -> Result<Curve, AlgebraError> {
    if let Some(curve) =
        simple::deconvolution(alpha, beta).or_else(|| affine::deconvolution(alpha, beta))
    {
        return Ok(curve);
    }
    short(alpha.deconvolution(beta)?.with_origin(Extended::ZERO))
}

/// Returns the horizontal deviation of an arrival curve and a service curve: a bound on the delay
/// of data that stay in order.
pub(super) fn horizontal_deviation(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    if let Some(deviation) = simple::horizontal_deviation(alpha, beta)
        .or_else(|| affine::horizontal_deviation(alpha, beta))
    {
        return Ok(deviation);
    }
    Ok(alpha.horizontal_deviation(beta)?.value)
}

/// Returns the vertical deviation of an arrival curve and a service curve, at least zero: a bound
/// on the backlog.
pub(super) fn vertical_deviation(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    if let Some(deviation) =
        simple::vertical_deviation(alpha, beta).or_else(|| affine::vertical_deviation(alpha, beta))
    {
        return Ok(deviation);
    }
    Ok(alpha.vertical_deviation(beta)?.value.max(Extended::ZERO))
}

/// Returns a bound on the longest backlogged period of a strict server, which bounds the delay for
/// every order of service: the first time after zero at which the service curve has caught up with
/// the arrival curve.
pub(super) fn backlogged_period(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    if let Some(period) = simple::crossing(alpha, beta).or_else(|| affine::crossing(alpha, beta)) {
        return Ok(period);
    }
    // The concave and convex hulls of the curves meet later than the curves, if at all, so the
    // search can end where the hulls meet.
    let buckets = pmoo::token_buckets(alpha).into_iter().map(|b| (b.burst, b.rate));
    let (Ok(above), below) =
        (Curve::token_buckets(buckets), maximum_of(&pmoo::rate_latencies(beta))?)
    else {
        return Ok(Extended::PositiveInfinity);
    };
    let end = match affine::crossing(&above, &below) {
        Some(Extended::Finite(end)) => end,
        Some(infinite) => return Ok(infinite),
        // By the time at which the service becomes infinite, it has caught up.
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

/// Returns the residual service curve of a strict server under arbitrary multiplexing, given the
/// arrival curve of cross traffic.
pub(super) fn left_over(beta: &Curve, cross: &Curve) -> Result<Curve, AlgebraError> {
    if let Some(curve) = simple::left_over(beta, cross).or_else(|| affine::left_over(beta, cross)) {
        return Ok(curve);
    }
    let left = beta.difference(cross)?.non_negative()?.upper_non_decreasing()?;
    short(left.with_origin(Extended::ZERO))
}

/// Returns the residual service curve of a FIFO server, with theta the time in which it serves the
/// burst of the cross traffic (Le Boudec and Thiran, "Network Calculus", proposition 6.2.1). For a
/// token bucket (b, r) and a rate-latency curve (R, T), theta is T + b / R.
pub(super) fn fifo_left_over(beta: &Curve, cross: &Curve) -> Result<Curve, AlgebraError> {
    if let Some(curve) = simple::fifo_left_over(beta, cross) {
        return Ok(curve);
    }
    let Some(theta) = time_to_serve(beta, cross)? else { return Ok(Curve::zero()) };
    fifo_left_over_at(beta, cross, &theta)
}

/// Returns the residual service curve of a FIFO server for the parameter `theta`, given the arrival
/// curve of cross traffic. Every theta yields a service curve.
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
    // The formula may yield a curve that falls. The greatest non-decreasing curve below it is a
    // service curve as well.
    short(left.lower_non_decreasing()?.with_origin(Extended::ZERO))
}

/// Returns a service curve reduced by one packet: a packet that a packetizer holds back, or a less
/// urgent packet that is in transmission.
pub(super) fn lowered(beta: &Curve, packet: &Rational) -> Result<Curve, AlgebraError> {
    left_over(beta, &bucket(packet))
}

/// Returns a shaping curve raised by the size of one packet.
pub(super) fn raised(sigma: &Curve, packet: &Rational) -> Result<Curve, AlgebraError> {
    sum(sigma, &bucket(packet))
}

/// Returns the token bucket of rate zero whose burst is one packet of the given size.
fn bucket(packet: &Rational) -> Curve {
    Curve::token_bucket(packet.clone(), Rational::ZERO).unwrap_or_else(|_| Curve::zero())
}

/// Returns the arrival curve of data after a delay that varies but is at most `delay`, given their
/// arrival curve before it.
pub(super) fn advanced(alpha: &Curve, delay: &Extended) -> Result<Curve, AlgebraError> {
    let Extended::Finite(delay) = delay else { return Ok(affine::unbounded()) };
    if let Some(curve) = simple::advanced(alpha, delay).or_else(|| affine::advanced(alpha, delay)) {
        return Ok(curve);
    }
    Ok(alpha.advanced(delay).with_origin(Extended::ZERO))
}

/// Returns the time by which a server has served more than the burst of the arrival curve `cross`,
/// or `None` if it never does.
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
