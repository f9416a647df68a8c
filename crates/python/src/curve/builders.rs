//! The builders of curves.

use std::path::PathBuf;

use calculus::{CurveError, Rational};
use pyo3::prelude::*;

use super::class::of_pieces;
use super::points::{self, Tail};
use super::{Curve, not_a_curve};
use crate::errors::{Fault, Kind};
use crate::numbers::{Level, Number};

fn built(curve: Result<calculus::Curve, CurveError>) -> PyResult<Curve> {
    curve.map(Curve::from).map_err(|error| not_a_curve(&error).into())
}

fn or_zero(number: Option<Number>) -> Rational {
    number.map_or(Rational::ZERO, |number| number.0)
}

/// Returns the behaviour of a curve after its last point, as the keyword arguments give it.
fn tail(
    rate: Option<Number>,
    repeat_from: Option<Number>,
    increment: Option<Number>,
) -> Result<Tail, Fault> {
    match (rate, repeat_from, increment) {
        (Some(rate), None, None) => Ok(Tail::Rate(rate.0)),
        (None, Some(from), Some(increment)) => {
            Ok(Tail::Repeats { from: from.0, increment: increment.0 })
        }
        _ => Err(Fault::new(Kind::Curve, "the curve after the last point is not given")
            .mended_by("give its rate, or both repeat_from and increment")),
    }
}

#[pymethods]
impl Curve {
    /// Returns the curve that is zero at all times.
    #[staticmethod]
    fn zero() -> Self {
        calculus::Curve::zero().into()
    }

    /// Returns the curve that has the same value at all times.
    ///
    /// Parameters
    /// ----------
    /// value : Number
    ///     The value, which may be infinite.
    #[staticmethod]
    fn constant(value: Level) -> Self {
        calculus::Curve::constant(value.0).into()
    }

    /// Returns the line ``intercept + rate t``, also at time 0.
    ///
    /// Parameters
    /// ----------
    /// intercept : Number
    ///     The value at time 0.
    /// rate : Number
    ///     The slope, in data per time.
    #[staticmethod]
    fn line(intercept: Number, rate: Number) -> Self {
        calculus::Curve::line(intercept.0, rate.0).into()
    }

    /// Returns a token bucket: 0 at time 0, and ``burst + rate t`` after it.
    ///
    /// It is the arrival curve of a flow that may send ``burst`` at once, and ``rate`` in the long run.
    ///
    /// Parameters
    /// ----------
    /// burst : Number
    ///     The burst, in data.
    /// rate : Number
    ///     The rate, in data per time.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     A parameter is negative.
    ///
    /// Examples
    /// --------
    /// >>> Curve.token_bucket(4, 3)(2)
    /// Fraction(10, 1)
    #[staticmethod]
    fn token_bucket(burst: Number, rate: Number) -> PyResult<Self> {
        built(calculus::Curve::token_bucket(burst.0, rate.0))
    }

    /// Returns the minimum of token buckets: a concave arrival curve.
    ///
    /// Parameters
    /// ----------
    /// buckets : sequence of (burst, rate)
    ///     The buckets. Without any, arrivals are not limited.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     A parameter is negative.
    #[staticmethod]
    fn token_buckets(buckets: Vec<(Number, Number)>) -> PyResult<Self> {
        built(calculus::Curve::token_buckets(buckets.into_iter().map(|(b, r)| (b.0, r.0))))
    }

    /// Returns the minimum of ``peak_burst + peak t`` and ``burst + rate t``, and 0 at time 0.
    ///
    /// Parameters
    /// ----------
    /// peak_burst : Number
    ///     The data that may arrive at once, such as one packet.
    /// peak : Number
    ///     The peak rate.
    /// burst : Number
    ///     The burst.
    /// rate : Number
    ///     The rate in the long run.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     A parameter is negative, or exceeds the one that bounds it.
    #[staticmethod]
    fn leaky_bucket(
        peak_burst: Number,
        peak: Number,
        burst: Number,
        rate: Number,
    ) -> PyResult<Self> {
        built(calculus::Curve::leaky_bucket(peak_burst.0, peak.0, burst.0, rate.0))
    }

    /// Returns the T-SPEC of integrated services (RFC 2210).
    ///
    /// Parameters
    /// ----------
    /// packet : Number
    ///     The size of the largest packet.
    /// peak : Number
    ///     The peak rate.
    /// rate : Number
    ///     The rate in the long run.
    /// burst : Number
    ///     The burst.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     A parameter is negative, or exceeds the one that bounds it.
    #[staticmethod]
    fn t_spec(packet: Number, peak: Number, rate: Number, burst: Number) -> PyResult<Self> {
        built(calculus::Curve::t_spec(packet.0, peak.0, rate.0, burst.0))
    }

    /// Returns a rate-latency curve: 0 up to the latency, and growing at the rate from then on.
    ///
    /// It is the service curve of a server that begins within ``latency`` and serves at ``rate``.
    ///
    /// Parameters
    /// ----------
    /// rate : Number
    ///     The rate, in data per time.
    /// latency : Number
    ///     The latency, a time.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     A parameter is negative.
    #[staticmethod]
    fn rate_latency(rate: Number, latency: Number) -> PyResult<Self> {
        built(calculus::Curve::rate_latency(rate.0, latency.0))
    }

    /// Returns the maximum of rate-latency curves: a convex service curve.
    ///
    /// Parameters
    /// ----------
    /// curves : sequence of (rate, latency)
    ///     The curves. Without any, there is no service.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     A parameter is negative.
    #[staticmethod]
    fn rate_latencies(curves: Vec<(Number, Number)>) -> PyResult<Self> {
        built(calculus::Curve::rate_latencies(curves.into_iter().map(|(r, l)| (r.0, l.0))))
    }

    /// Returns a burst-delay curve: 0 up to and including the delay, and infinite after it.
    ///
    /// Parameters
    /// ----------
    /// delay : Number
    ///     The delay, a time.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The delay is negative.
    #[staticmethod]
    fn burst_delay(delay: Number) -> PyResult<Self> {
        built(calculus::Curve::burst_delay(delay.0))
    }

    /// Returns a step: 0 up to and including a time, and the height after it.
    ///
    /// Parameters
    /// ----------
    /// time : Number
    ///     The time of the step.
    /// height : Number
    ///     The height, which may be infinite.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The time is negative.
    #[staticmethod]
    fn step(time: Number, height: Level) -> PyResult<Self> {
        built(calculus::Curve::step(time.0, height.0))
    }

    /// Returns a left-continuous staircase: a step of ``height`` every ``length``.
    ///
    /// It is the arrival curve of packets of size ``height``, one every ``length``.
    ///
    /// Parameters
    /// ----------
    /// height : Number
    ///     The height of a step, in data.
    /// length : Number
    ///     The time between steps.
    /// offset : Number, optional
    ///     The time of the first step.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The length is not positive, or another parameter is negative.
    #[staticmethod]
    #[pyo3(signature = (height, length, offset=None))]
    fn staircase(height: Number, length: Number, offset: Option<Number>) -> PyResult<Self> {
        built(calculus::Curve::delayed_staircase(or_zero(offset), height.0, length.0))
    }

    /// Returns the upper arrival curve of events with a period, a jitter and a least distance.
    ///
    /// This is the "PJD" model of real-time calculus.
    ///
    /// Parameters
    /// ----------
    /// height : Number
    ///     The size of an event, in data.
    /// period : Number
    ///     The period.
    /// jitter : Number, optional
    ///     The largest delay of an event.
    /// distance : Number, optional
    ///     The least time between two events; 0 is no constraint.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The period is not positive, or another parameter is negative.
    #[staticmethod]
    #[pyo3(signature = (height, period, jitter=None, distance=None))]
    fn events(
        height: Number,
        period: Number,
        jitter: Option<Number>,
        distance: Option<Number>,
    ) -> PyResult<Self> {
        let (jitter, distance) = (or_zero(jitter), or_zero(distance));
        built(calculus::Curve::events(height.0, period.0, jitter, distance))
    }

    /// Returns the lower arrival curve of events with a period and a jitter.
    ///
    /// Parameters
    /// ----------
    /// height : Number
    ///     The size of an event, in data.
    /// period : Number
    ///     The period.
    /// jitter : Number, optional
    ///     The largest delay of an event.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The period is not positive, or another parameter is negative.
    #[staticmethod]
    #[pyo3(signature = (height, period, jitter=None))]
    fn events_at_least(height: Number, period: Number, jitter: Option<Number>) -> PyResult<Self> {
        built(calculus::Curve::events_at_least(height.0, period.0, or_zero(jitter)))
    }

    /// Returns the service curve that a source sees under window flow control.
    ///
    /// Parameters
    /// ----------
    /// window : Number
    ///     The most data without acknowledgement.
    /// rate : Number
    ///     The rate of the server.
    /// latency : Number
    ///     The latency of the server.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     A parameter is negative.
    #[staticmethod]
    fn flow_control(window: Number, rate: Number, latency: Number) -> PyResult<Self> {
        built(calculus::Curve::flow_control(window.0, rate.0, latency.0))
    }

    /// Returns the service curve of one slot in a time-division cycle.
    ///
    /// Parameters
    /// ----------
    /// capacity : Number
    ///     The rate within the slot.
    /// slot : Number
    ///     The length of the slot.
    /// cycle : Number
    ///     The length of the cycle.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The slot or the cycle is not positive, or the slot exceeds the cycle.
    #[staticmethod]
    fn tdma(capacity: Number, slot: Number, cycle: Number) -> PyResult<Self> {
        built(calculus::Curve::tdma(capacity.0, slot.0, cycle.0))
    }

    /// Returns the curve through points that straight lines join.
    ///
    /// Two points at one time are a jump at which the curve is left-continuous. Three are the limit from
    /// the left, the value, and the limit from the right.
    ///
    /// Parameters
    /// ----------
    /// points : sequence of (time, value)
    ///     The points in the order of time, from time 0 on.
    /// rate : Number, optional
    ///     The slope after the last point.
    /// repeat_from : Number, optional
    ///     The time from which the curve repeats its part up to the last point.
    /// increment : Number, optional
    ///     The rise of each repetition, with ``repeat_from``.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The points are not in order, or the curve after them is not given.
    ///
    /// Examples
    /// --------
    /// >>> Curve.from_points([(0, 0), (0, 4), (1, 7)], rate=3) == Curve.token_bucket(4, 3)
    /// True
    #[staticmethod]
    #[pyo3(signature = (points, *, rate=None, repeat_from=None, increment=None))]
    fn from_points(
        points: Vec<(Number, Number)>,
        rate: Option<Number>,
        repeat_from: Option<Number>,
        increment: Option<Number>,
    ) -> PyResult<Self> {
        let points = points.into_iter().map(|(time, value)| (time.0, value.0)).collect();
        Ok(points::curve(points, tail(rate, repeat_from, increment)?)?.into())
    }

    /// Reads the points of a curve from a file with two columns, time and value.
    ///
    /// Columns are separated by commas, semicolons, tabs or spaces. Numbers are read exactly. Lines that
    /// begin with ``#``, and a first line of words, are skipped. `Curve.from_points` explains the rest.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file.
    /// rate : Number, optional
    ///     The slope after the last point.
    /// repeat_from : Number, optional
    ///     The time from which the curve repeats its part up to the last point.
    /// increment : Number, optional
    ///     The rise of each repetition, with ``repeat_from``.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     The file cannot be read; ``where`` is the file and the line.
    /// CurveError
    ///     The points are not in order, or the curve after them is not given.
    #[staticmethod]
    #[pyo3(signature = (path, *, rate=None, repeat_from=None, increment=None))]
    fn from_csv(
        path: PathBuf,
        rate: Option<Number>,
        repeat_from: Option<Number>,
        increment: Option<Number>,
    ) -> PyResult<Self> {
        let tail = tail(rate, repeat_from, increment)?;
        Ok(points::curve(points::read(&path)?, tail)?.into())
    }

    /// Returns the curve of pieces, each a breakpoint and the open segment after it.
    ///
    /// Parameters
    /// ----------
    /// pieces : sequence of (start, value, right_limit, slope)
    ///     The pieces in the order of time, from time 0 on. Values and limits may be infinite.
    /// period : (start, length, increment), optional
    ///     The repetition. Without it, the last segment does not end.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The pieces are not in order, or the period is wrong.
    #[staticmethod]
    #[pyo3(signature = (pieces, period=None))]
    fn from_pieces(
        pieces: Vec<(Number, Level, Level, Number)>,
        period: Option<(Number, Number, Number)>,
    ) -> PyResult<Self> {
        of_pieces(pieces, period).map(Self::from)
    }
}
