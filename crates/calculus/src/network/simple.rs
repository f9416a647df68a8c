//! Closed forms for one token bucket and one rate-latency curve, with a few arithmetic operations
//! each.
//!
//! Nearly all curves of large networks have these two shapes. When numbers have become long, the
//! cost of an operation is the number of sums, products and comparisons in it.

use crate::curve::piece::Tail;
use crate::{Curve, Extended, Piece, Rational};

/// Returns the burst and the rate of a token bucket, or `None` for other curves.
pub(super) fn bucket(curve: &Curve) -> Option<(&Rational, &Rational)> {
    match (curve.pieces(), curve.is_ultimately_affine()) {
        ([piece], true) if *piece.value() == Extended::ZERO => {
            Some((piece.right_limit().finite()?, piece.slope()))
        }
        _ => None,
    }
}

/// Returns the rate and the latency of a rate-latency curve, or `None` for other curves.
pub(super) fn rate_latency(curve: &Curve) -> Option<(&Rational, &Rational)> {
    let starts_flat =
        |piece: &Piece| *piece.value() == Extended::ZERO && *piece.right_limit() == Extended::ZERO;
    match (curve.pieces(), curve.is_ultimately_affine()) {
        ([piece], true) if starts_flat(piece) => Some((piece.slope(), piece.start())),
        ([first, second], true)
            if starts_flat(first) && first.slope().is_zero() && starts_flat(second) =>
        {
            Some((second.slope(), second.start()))
        }
        _ => None,
    }
}

/// Builds a token bucket with a burst and a rate that are not negative.
pub(super) fn make_bucket(burst: Rational, rate: Rational) -> Curve {
    let piece = Piece::new(Rational::ZERO, Extended::ZERO, burst, rate);
    Curve { pieces: vec![piece], tail: Tail::Affine }
}

/// Builds a rate-latency curve, in its canonical form, with a rate and a latency that are not
/// negative.
pub(super) fn make_rate_latency(rate: Rational, latency: Rational) -> Curve {
    if rate.is_zero() {
        return Curve::zero();
    }
    let rising = Piece::continuous(latency, Extended::ZERO, rate);
    let pieces = if rising.start().is_zero() {
        vec![rising]
    } else {
        vec![Piece::continuous(Rational::ZERO, Extended::ZERO, Rational::ZERO), rising]
    };
    Curve { pieces, tail: Tail::Affine }
}

pub(super) fn sum(a: &Curve, b: &Curve) -> Option<Curve> {
    let ((b1, r1), (b2, r2)) = (bucket(a)?, bucket(b)?);
    Some(make_bucket(b1 + b2, r1 + r2))
}

/// Returns the token bucket `a` less the token bucket `b`, which is one of the summands of `a`.
/// Returns `None` for other curves.
pub(super) fn difference(a: &Curve, b: &Curve) -> Option<Curve> {
    let ((b1, r1), (b2, r2)) = (bucket(a)?, bucket(b)?);
    let (burst, rate) = (b1 - b2, r1 - r2);
    (!burst.is_negative() && !rate.is_negative()).then(|| make_bucket(burst, rate))
}

pub(super) fn minimum(a: &Curve, b: &Curve) -> Option<Curve> {
    let ((b1, r1), (b2, r2)) = (bucket(a)?, bucket(b)?);
    if b1 <= b2 && r1 <= r2 {
        Some(a.clone())
    } else if b2 <= b1 && r2 <= r1 {
        Some(b.clone())
    } else {
        None
    }
}

pub(super) fn advanced(alpha: &Curve, by: &Rational) -> Option<Curve> {
    let (burst, rate) = bucket(alpha)?;
    Some(make_bucket(burst + &(rate * by), rate.clone()))
}

pub(super) fn convolution(a: &Curve, b: &Curve) -> Option<Curve> {
    let ((r1, t1), (r2, t2)) = (rate_latency(a)?, rate_latency(b)?);
    Some(make_rate_latency(r1.min(r2).clone(), t1 + t2))
}

pub(super) fn vertical_deviation(alpha: &Curve, beta: &Curve) -> Option<Extended> {
    let ((burst, rate), (service, latency)) = (bucket(alpha)?, rate_latency(beta)?);
    Some(if rate > service {
        Extended::PositiveInfinity
    } else {
        Extended::Finite(burst + &(rate * latency))
    })
}

pub(super) fn horizontal_deviation(alpha: &Curve, beta: &Curve) -> Option<Extended> {
    let ((burst, rate), (service, latency)) = (bucket(alpha)?, rate_latency(beta)?);
    if burst.is_zero() && rate.is_zero() {
        return Some(Extended::ZERO);
    }
    Some(if rate > service || service.is_zero() {
        Extended::PositiveInfinity
    } else {
        Extended::Finite(latency + &(burst / service))
    })
}

/// Returns the time at which a token bucket b + r t meets a rate-latency curve R (t - T), which
/// bounds the backlogged period. Returns `None` for other curves.
pub(super) fn crossing(alpha: &Curve, beta: &Curve) -> Option<Extended> {
    let ((burst, rate), (service, latency)) = (bucket(alpha)?, rate_latency(beta)?);
    let never_behind = burst.is_zero() && (rate.is_zero() || latency.is_zero() && rate <= service);
    Some(if never_behind {
        Extended::ZERO
    } else if rate >= service {
        Extended::PositiveInfinity
    } else {
        Extended::Finite((burst + &(service * latency)) / (service - rate))
    })
}

pub(super) fn deconvolution(alpha: &Curve, beta: &Curve) -> Option<Curve> {
    let ((burst, rate), (service, latency)) = (bucket(alpha)?, rate_latency(beta)?);
    Some(if rate > service {
        super::affine::unbounded()
    } else {
        make_bucket(burst + &(rate * latency), rate.clone())
    })
}

pub(super) fn left_over(beta: &Curve, alpha: &Curve) -> Option<Curve> {
    let ((burst, rate), (service, latency)) = (bucket(alpha)?, rate_latency(beta)?);
    if rate >= service {
        return Some(Curve::zero());
    }
    let left = service - rate;
    let waiting = (burst + &(service * latency)) / &left;
    Some(make_rate_latency(left, waiting))
}

/// Returns the residual service of a FIFO server after the cross traffic `alpha`: the rate R - r
/// after the latency T + b / R, for the token bucket (b, r) and the rate-latency curve (R, T), or
/// zero if r >= R. Returns `None` for other curves.
pub(super) fn fifo_left_over(beta: &Curve, alpha: &Curve) -> Option<Curve> {
    let ((burst, rate), (service, latency)) = (bucket(alpha)?, rate_latency(beta)?);
    if rate >= service {
        return Some(Curve::zero());
    }
    Some(make_rate_latency(service - rate, latency + &(burst / service)))
}
