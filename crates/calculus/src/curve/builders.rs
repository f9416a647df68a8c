//! Constructors of the curves that the literature uses.
//!
//! Arrival curves are zero at time zero and left-continuous, as in Le Boudec and Thiran, "Network
//! Calculus" (2001), and in Bouillard, Boyer and Le Corronc, "Deterministic Network Calculus"
//! (2018). Rates are data per time, bursts are data, and latencies are times, all in the units of
//! the caller.

use super::piece::Tail;
use super::{Curve, CurveError, Extended, Piece};
use crate::rational::Rational;

fn not_negative(
    curve: &'static str,
    parameter: &'static str,
    value: &Rational,
) -> Result<(), CurveError> {
    if value.is_negative() {
        return Err(CurveError::Negative { curve, parameter, value: value.clone() });
    }
    Ok(())
}

fn positive(
    curve: &'static str,
    parameter: &'static str,
    value: &Rational,
) -> Result<(), CurveError> {
    if !value.is_positive() {
        return Err(CurveError::NotPositive { curve, parameter, value: value.clone() });
    }
    Ok(())
}

/// A parameter of a curve to be built, with its name for error messages.
struct Parameter<'a> {
    name: &'static str,
    value: &'a Rational,
}

fn parameter<'a>(name: &'static str, value: &'a Rational) -> Parameter<'a> {
    Parameter { name, value }
}

fn at_most(
    curve: &'static str,
    given: Parameter<'_>,
    limit: Parameter<'_>,
) -> Result<(), CurveError> {
    if given.value > limit.value {
        return Err(CurveError::Exceeds {
            curve,
            parameter: given.name,
            value: given.value.clone(),
            bound: limit.name,
            limit: limit.value.clone(),
        });
    }
    Ok(())
}

impl Curve {
    /// Builds the curve that is zero at all times.
    pub fn zero() -> Self {
        Self::constant(Extended::ZERO)
    }

    /// Builds the curve that has the same value at all times, time zero included. The value may be
    /// infinite.
    pub fn constant(value: impl Into<Extended>) -> Self {
        affine(vec![Piece::continuous(Rational::ZERO, value, Rational::ZERO)])
    }

    /// Builds the line `intercept + rate t`, which has the value `intercept` also at time zero.
    pub fn line(intercept: impl Into<Rational>, rate: impl Into<Rational>) -> Self {
        affine(vec![Piece::continuous(Rational::ZERO, intercept.into(), rate)])
    }

    /// Builds a token bucket: zero at time zero, and `burst + rate t` after it.
    ///
    /// # Errors
    /// Returns an error if the burst or the rate is negative.
    pub fn token_bucket(
        burst: impl Into<Rational>,
        rate: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        let (burst, rate) = (burst.into(), rate.into());
        not_negative("token bucket", "burst", &burst)?;
        not_negative("token bucket", "rate", &rate)?;
        Ok(affine(vec![Piece::new(Rational::ZERO, Extended::ZERO, burst, rate)]))
    }

    /// Builds the minimum of token buckets, each given as a pair of burst and rate. The minimum is
    /// a concave arrival curve. Without any bucket, arrivals are not constrained: the curve is zero
    /// at time zero and infinite after it.
    ///
    /// # Errors
    /// Returns an error if a burst or a rate is negative.
    pub fn token_buckets<B: Into<Rational>, R: Into<Rational>>(
        buckets: impl IntoIterator<Item = (B, R)>,
    ) -> Result<Self, CurveError> {
        let mut lines = Vec::new();
        for (burst, rate) in buckets {
            let (burst, rate) = (burst.into(), rate.into());
            not_negative("token bucket", "burst", &burst)?;
            not_negative("token bucket", "rate", &rate)?;
            lines.push((burst, rate));
        }
        Ok(lower_lines(lines))
    }

    /// Builds a leaky bucket with a peak rate: zero at time zero, then the minimum of
    /// `peak_burst + peak t` and `burst + rate t`. The peak burst is usually the size of one
    /// packet, or zero for a fluid.
    ///
    /// # Errors
    /// Returns an error if a parameter is negative, the rate exceeds the peak or the peak burst
    /// exceeds the burst.
    pub fn leaky_bucket(
        peak_burst: impl Into<Rational>,
        peak: impl Into<Rational>,
        burst: impl Into<Rational>,
        rate: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        const NAME: &str = "leaky bucket";
        let (peak_burst, peak) = (peak_burst.into(), peak.into());
        let (burst, rate) = (burst.into(), rate.into());
        not_negative(NAME, "peak burst", &peak_burst)?;
        not_negative(NAME, "rate", &rate)?;
        at_most(NAME, parameter("rate", &rate), parameter("peak rate", &peak))?;
        at_most(NAME, parameter("peak burst", &peak_burst), parameter("burst", &burst))?;
        Ok(lower_lines(vec![(peak_burst, peak), (burst, rate)]))
    }

    /// Builds the T-SPEC of integrated services (RFC 2210): the minimum of `packet + peak t` and
    /// `burst + rate t`, for packets of at most `packet`, the peak rate `peak`, and a token bucket
    /// of `burst` and `rate`.
    ///
    /// # Errors
    /// Returns an error if a parameter is negative, the rate exceeds the peak or the packet exceeds
    /// the burst.
    pub fn t_spec(
        packet: impl Into<Rational>,
        peak: impl Into<Rational>,
        rate: impl Into<Rational>,
        burst: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        Self::leaky_bucket(packet, peak, burst, rate)
    }

    /// Builds a rate-latency curve: zero up to the latency, and growing at the rate from then on.
    ///
    /// # Errors
    /// Returns an error if the rate or the latency is negative.
    pub fn rate_latency(
        rate: impl Into<Rational>,
        latency: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        let (rate, latency) = (rate.into(), latency.into());
        not_negative("rate-latency curve", "rate", &rate)?;
        not_negative("rate-latency curve", "latency", &latency)?;
        if latency.is_zero() || rate.is_zero() {
            return Ok(Self::line(Rational::ZERO, rate));
        }
        Ok(affine(vec![
            Piece::continuous(Rational::ZERO, Extended::ZERO, Rational::ZERO),
            Piece::continuous(latency, Extended::ZERO, rate),
        ]))
    }

    /// Builds the maximum of rate-latency curves, each given as a pair of rate and latency. The
    /// maximum is a convex service curve. Without any pair there is no service: the curve is zero.
    ///
    /// # Errors
    /// Returns an error if a rate or a latency is negative.
    pub fn rate_latencies<R: Into<Rational>, L: Into<Rational>>(
        curves: impl IntoIterator<Item = (R, L)>,
    ) -> Result<Self, CurveError> {
        let mut lines = vec![(Rational::ZERO, Rational::ZERO)];
        for (rate, latency) in curves {
            let (rate, latency) = (rate.into(), latency.into());
            not_negative("rate-latency curve", "rate", &rate)?;
            not_negative("rate-latency curve", "latency", &latency)?;
            // The upper envelope of lines is the mirror image of the lower envelope of their mirror
            // images.
            lines.push((&rate * &latency, -rate));
        }
        let mirrored = affine(lower_envelope(lines));
        Ok(mirrored.negated())
    }

    /// Builds a burst-delay curve: zero up to and including the delay, and infinite after it.
    ///
    /// # Errors
    /// Returns an error if the delay is negative.
    pub fn burst_delay(delay: impl Into<Rational>) -> Result<Self, CurveError> {
        let delay = delay.into();
        not_negative("burst-delay curve", "delay", &delay)?;
        let step = Piece::new(delay, Extended::ZERO, Extended::PositiveInfinity, Rational::ZERO);
        Ok(with_zero_before(step))
    }

    /// Builds a step: zero up to and including `time`, and `height` after it.
    ///
    /// # Errors
    /// Returns an error if the time is negative.
    pub fn step(
        time: impl Into<Rational>,
        height: impl Into<Extended>,
    ) -> Result<Self, CurveError> {
        let time = time.into();
        not_negative("step", "time", &time)?;
        Ok(with_zero_before(Piece::new(time, Extended::ZERO, height, Rational::ZERO)))
    }

    /// Builds a left-continuous staircase, the arrival curve of a packet of size `height` every
    /// `length`: zero at zero, `height` on `(0, length]`, `2 height` on `(length, 2 length]`, and
    /// so on.
    ///
    /// # Errors
    /// Returns an error if the height is negative or the length is not positive.
    pub fn staircase(
        height: impl Into<Rational>,
        length: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        Self::delayed_staircase(Rational::ZERO, height, length)
    }

    /// Builds a left-continuous staircase whose first step is at time `offset`: zero up to the
    /// offset, then a step of `height` every `length`.
    ///
    /// # Errors
    /// Returns an error if the offset or the height is negative or the length is not positive.
    pub fn delayed_staircase(
        offset: impl Into<Rational>,
        height: impl Into<Rational>,
        length: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        let (offset, height, length) = (offset.into(), height.into(), length.into());
        not_negative("staircase", "offset", &offset)?;
        not_negative("staircase", "height", &height)?;
        positive("staircase", "step length", &length)?;
        let step = Piece::new(offset.clone(), Extended::ZERO, height.clone(), Rational::ZERO);
        let mut pieces = vec![step];
        if offset.is_positive() {
            let zero = Piece::continuous(Rational::ZERO, Extended::ZERO, Rational::ZERO);
            pieces.insert(0, zero);
        }
        let tail = Tail::Periodic { first: pieces.len() - 1, length, increment: height };
        Ok(Self::canonical(pieces, tail))
    }

    /// Builds the upper arrival curve of a "PJD" stream of real-time calculus (Wandeler, "Modular
    /// performance analysis and interface-based design for embedded real-time systems", 2006):
    /// events of size `height` arrive once per `period`. Each is delayed by at most `jitter`, and
    /// no two are closer than `distance`. The curve is `height` times the minimum of the staircases
    /// ceil((t + jitter) / period) and ceil(t / distance). A distance of 0 is no constraint.
    ///
    /// # Errors
    /// Returns an error if the height, the jitter or the distance is negative, the period is not
    /// positive, or the curve has too many pieces.
    pub fn events(
        height: impl Into<Rational>,
        period: impl Into<Rational>,
        jitter: impl Into<Rational>,
        distance: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        let (height, jitter, distance) = (height.into(), jitter.into(), distance.into());
        not_negative("events", "jitter", &jitter)?;
        not_negative("events", "distance", &distance)?;
        let late = Self::staircase(height.clone(), period)?.advanced(&jitter);
        let late = late.with_origin(Extended::ZERO);
        if !distance.is_positive() {
            return Ok(late);
        }
        // The minimum drops the second staircase if the jitter implies it already.
        let apart = Self::staircase(height, distance)?;
        late.minimum(&apart).map_err(|error| CurveError::Beyond(error.to_string()))
    }

    /// Builds the lower arrival curve of a "PJD" stream (see [`Curve::events`]): the staircase
    /// `height` times floor((t - jitter) / period), from time `jitter` on.
    ///
    /// # Errors
    /// Returns an error if the height or the jitter is negative or the period is not positive.
    pub fn events_at_least(
        height: impl Into<Rational>,
        period: impl Into<Rational>,
        jitter: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        let (period, jitter) = (period.into(), jitter.into());
        not_negative("events", "jitter", &jitter)?;
        let first = &period + &jitter;
        Ok(Self::delayed_staircase(first, height, period)?.right_continuous())
    }

    /// Builds the service curve of window flow control: the sub-additive closure of `window` plus a
    /// rate-latency curve. It is the service that a source sees if at most `window` unacknowledged
    /// data may be in a server with that rate and latency (Le Boudec and Thiran, section 4.2).
    ///
    /// # Errors
    /// Returns an error if a parameter is negative.
    pub fn flow_control(
        window: impl Into<Rational>,
        rate: impl Into<Rational>,
        latency: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        const NAME: &str = "flow-control curve";
        let (window, rate, latency) = (window.into(), rate.into(), latency.into());
        not_negative(NAME, "window", &window)?;
        not_negative(NAME, "rate", &rate)?;
        not_negative(NAME, "latency", &latency)?;
        let mut pieces =
            vec![Piece::new(Rational::ZERO, Extended::ZERO, window.clone(), Rational::ZERO)];
        if latency.is_zero() {
            pieces[0].slope = rate;
            return Ok(affine(pieces));
        }
        if window.is_zero() {
            return Ok(Self::zero());
        }
        pieces.push(Piece::continuous(latency.clone(), window.clone(), rate.clone()));
        let Some(filled) = window.checked_div(&rate).filter(|filled| *filled < latency) else {
            // The window never throttles the server (or the rate is zero).
            return Ok(affine(pieces));
        };
        // In each period of one latency, one more window is served at the rate. Then the source
        // waits for the next acknowledgement.
        let served = &window + &window;
        pieces.push(Piece::continuous(&latency + &filled, served, Rational::ZERO));
        let tail = Tail::Periodic { first: 1, length: latency, increment: window };
        Ok(Self::canonical(pieces, tail))
    }

    /// Builds the service curve of one slot in a time-division cycle: in the worst case, no service
    /// for `cycle - slot`, then service at `capacity` for one `slot`, and so on.
    ///
    /// # Errors
    /// Returns an error if the capacity is negative, slot or cycle are not positive or the slot
    /// exceeds the cycle.
    pub fn tdma(
        capacity: impl Into<Rational>,
        slot: impl Into<Rational>,
        cycle: impl Into<Rational>,
    ) -> Result<Self, CurveError> {
        const NAME: &str = "time-division service curve";
        let (capacity, slot, cycle) = (capacity.into(), slot.into(), cycle.into());
        not_negative(NAME, "capacity", &capacity)?;
        positive(NAME, "slot", &slot)?;
        positive(NAME, "cycle", &cycle)?;
        at_most(NAME, parameter("slot", &slot), parameter("cycle", &cycle))?;
        let wait = &cycle - &slot;
        if wait.is_zero() {
            return Ok(Self::line(Rational::ZERO, capacity));
        }
        let increment = &capacity * &slot;
        let pieces = vec![
            Piece::continuous(Rational::ZERO, Extended::ZERO, Rational::ZERO),
            Piece::continuous(wait, Extended::ZERO, capacity),
        ];
        Ok(Self::canonical(pieces, Tail::Periodic { first: 0, length: cycle, increment }))
    }
}

fn affine(pieces: Vec<Piece>) -> Curve {
    Curve::canonical(pieces, Tail::Affine)
}

/// Returns the curve that is zero before the start of `piece` and continues as `piece` from there
/// on.
fn with_zero_before(piece: Piece) -> Curve {
    if piece.start.is_zero() {
        return affine(vec![piece]);
    }
    let zero = Piece::continuous(Rational::ZERO, Extended::ZERO, Rational::ZERO);
    affine(vec![zero, piece])
}

/// Returns the curve that is zero at time zero and equals the lower envelope of `lines` after it.
/// Each line is a pair of intercept and slope.
fn lower_lines(lines: Vec<(Rational, Rational)>) -> Curve {
    let mut pieces = lower_envelope(lines);
    match pieces.first_mut() {
        Some(first) => first.at = Extended::ZERO,
        None => pieces.push(Piece::new(
            Rational::ZERO,
            Extended::ZERO,
            Extended::PositiveInfinity,
            Rational::ZERO,
        )),
    }
    affine(pieces)
}

/// Returns the lower envelope, on `t >= 0`, of lines given as pairs of intercept and slope.
///
/// The lines are visited by ascending intercept. A line contributes only if its slope is lower than
/// that of the last line on the envelope. It replaces the last lines if it lies below them before
/// their own segments start.
fn lower_envelope(mut lines: Vec<(Rational, Rational)>) -> Vec<Piece> {
    lines.sort();
    let mut pieces: Vec<Piece> = Vec::with_capacity(lines.len());
    for (intercept, slope) in lines {
        if pieces.last().is_some_and(|last| last.slope <= slope) {
            continue;
        }
        let mut start = Rational::ZERO;
        while let Some(last) = pieces.last() {
            let there = last.segment_at(&Rational::ZERO).into_finite().unwrap_or_default();
            start = (&intercept - &there) / (&last.slope - &slope);
            if start > last.start {
                break;
            }
            start = Rational::ZERO;
            pieces.pop();
        }
        let value = &intercept + &(&slope * &start);
        pieces.push(Piece::continuous(start, value, slope));
    }
    pieces
}
