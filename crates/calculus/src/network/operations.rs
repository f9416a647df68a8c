//! What analyses do with curves: the closed forms of [`super::affine`] where they hold, the algebra
//! for all other curves.

use super::affine;
use super::pmoo::RateLatency;
use crate::{AlgebraError, Curve, Extended, Rational};

/// Sum.
pub(super) fn sum(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    affine::sum(a, b).map_or_else(|| unsupported("sum"), Ok)
}

/// The smaller one at every point of time.
pub(super) fn minimum(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    affine::minimum(a, b).map_or_else(|| unsupported("minimum"), Ok)
}

/// The larger one at every point of time.
pub(super) fn maximum(_: &Curve, _: &Curve) -> Result<Curve, AlgebraError> {
    unsupported("maximum")
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
        best = maximum(&best, &other)?;
    }
    Ok(best)
}

/// One server behind the other.
pub(super) fn convolution(a: &Curve, b: &Curve) -> Result<Curve, AlgebraError> {
    affine::convolution(a, b).map_or_else(|| unsupported("convolution"), Ok)
}

/// Arrivals behind a server; infinite behind time zero if the server cannot keep up.
pub(super) fn deconvolution(alpha: &Curve, beta: &Curve) -> Result<Curve, AlgebraError> {
    affine::deconvolution(alpha, beta).map_or_else(|| unsupported("deconvolution"), Ok)
}

/// Bound on the delay of data that stay in order.
pub(super) fn horizontal_deviation(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    affine::horizontal_deviation(alpha, beta).map_or_else(|| unsupported("hdev"), Ok)
}

/// Bound on the backlog.
pub(super) fn vertical_deviation(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    affine::vertical_deviation(alpha, beta).map_or_else(|| unsupported("vdev"), Ok)
}

/// The longest backlogged period of a strict server, a bound on the delay in any order of service.
pub(super) fn backlogged_period(alpha: &Curve, beta: &Curve) -> Result<Extended, AlgebraError> {
    affine::crossing(alpha, beta).map_or_else(|| unsupported("crossing"), Ok)
}

/// What a strict server leaves over by others in any order of service.
pub(super) fn left_over(beta: &Curve, cross: &Curve) -> Result<Curve, AlgebraError> {
    affine::left_over(beta, cross).map_or_else(|| unsupported("left-over"), Ok)
}

/// What a FIFO server leaves over, with theta the time that it takes to serve the burst of the
/// others (Le Boudec, Thiran, "Network Calculus", proposition 6.2.1; for a token bucket (b, r) and
/// a rate-latency curve (R, T), theta is T + b / R).
pub(super) fn fifo_left_over(beta: &Curve, cross: &Curve) -> Result<Curve, AlgebraError> {
    let Some(theta) = time_to_serve(beta, cross) else { return Ok(Curve::zero()) };
    affine::fifo_left_over(beta, cross, &theta).map_or_else(|| unsupported("left-over"), Ok)
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
    affine::advanced(alpha, delay).map_or_else(|| unsupported("advance"), Ok)
}

/// When a server has served more than the burst of an arrival curve at the latest.
fn time_to_serve(beta: &Curve, cross: &Curve) -> Option<Rational> {
    let burst = cross.right_limit_at(&Rational::ZERO).into_finite()?;
    // The last piece that begins at or below the burst and gets beyond it.
    let mut found = None;
    for piece in beta.pieces() {
        let Extended::Finite(height) = piece.right_limit() else {
            return found.or_else(|| Some(piece.start().clone()));
        };
        if *height > burst {
            return found.or_else(|| Some(piece.start().clone()));
        }
        if piece.slope().is_positive() {
            found = Some(piece.start() + &((&burst - height) / piece.slope()));
        }
    }
    found
}

fn unsupported<T>(operation: &'static str) -> Result<T, AlgebraError> {
    Err(AlgebraError::NotPseudoPeriodic { operation, why: "neither concave nor convex" })
}
