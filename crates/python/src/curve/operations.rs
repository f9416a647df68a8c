//! Operations on curves, under their names and as operators.

use pyo3::prelude::*;

use super::{Curve, Deviation, no_result, not_a_curve};
use crate::interrupts::brief;
use crate::numbers::{Level, Number, extended};

#[pymethods]
impl Curve {
    /// Returns the sum at each time; also ``f + g``.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The other curve.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn sum(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().sum(other.inner()))
    }

    /// Returns the difference at each time; also ``f - g``.
    ///
    /// The difference may fall and be negative. The residual service of a server is
    /// ``(service - cross).non_negative().upper_non_decreasing()``.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The other curve.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn difference(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().difference(other.inner()))
    }

    /// Returns the minimum at each time; also ``f & g``.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The other curve.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn minimum(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().minimum(other.inner()))
    }

    /// Returns the maximum at each time; also ``f | g``.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The other curve.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn maximum(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().maximum(other.inner()))
    }

    /// Returns the min-plus convolution; also ``f @ g``.
    ///
    /// It is the least of ``f(s) + g(t - s)`` for all s from 0 to t. The service curve of two servers in
    /// series is the convolution of theirs.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The other curve.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn convolution(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().convolution(other.inner()))
    }

    /// Returns the min-plus deconvolution.
    ///
    /// It is the greatest of ``f(t + u) - g(u)`` for all u from 0 on. For an arrival curve and the service
    /// curve of a server, it is the arrival curve of the output.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The other curve.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn deconvolution(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().deconvolution(other.inner()))
    }

    /// Returns the max-plus convolution: the greatest of ``f(s) + g(t - s)`` for all s from 0 to t.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The other curve.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn max_plus_convolution(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().max_plus_convolution(other.inner()))
    }

    /// Returns the max-plus deconvolution: the least of ``f(t + u) - g(u)`` for all u from 0 on.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The other curve.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn max_plus_deconvolution(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().max_plus_deconvolution(other.inner()))
    }

    /// Returns the composition ``f(g(t))``.
    ///
    /// Parameters
    /// ----------
    /// other : Curve
    ///     The inner curve, which must not fall.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn composition(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        Self::made(py, || self.inner().composition(other.inner()))
    }

    /// Returns the greatest sub-additive curve below this one that is 0 at time 0.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn sub_additive_closure(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().sub_additive_closure())
    }

    /// Returns the least super-additive curve above this one that is 0 at time 0.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn super_additive_closure(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().super_additive_closure())
    }

    /// Returns the maximum of the curve and 0.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn non_negative(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().non_negative())
    }

    /// Returns the least curve above this one that never falls.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn upper_non_decreasing(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().upper_non_decreasing())
    }

    /// Returns the greatest curve below this one that never falls.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn lower_non_decreasing(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().lower_non_decreasing())
    }

    /// Returns the least curve above this one that never rises.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn upper_non_increasing(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().upper_non_increasing())
    }

    /// Returns the greatest curve below this one that never rises.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn lower_non_increasing(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().lower_non_increasing())
    }

    /// Returns the curve with its limit from the left at each jump after time 0.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn left_continuous(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().left_continuous())
    }

    /// Returns the curve with its limit from the right at each jump.
    fn right_continuous(&self) -> Self {
        self.inner().right_continuous().into()
    }

    /// Returns the lower pseudo-inverse: the first time at which the curve reaches a value.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn lower_pseudo_inverse(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().lower_pseudo_inverse())
    }

    /// Returns the upper pseudo-inverse: the last time at which the curve is at most a value.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn upper_pseudo_inverse(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().upper_pseudo_inverse())
    }

    /// Returns the curve rounded down to whole numbers.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn floor(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().floor())
    }

    /// Returns the curve rounded up to whole numbers.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn ceil(&self, py: Python<'_>) -> PyResult<Self> {
        Self::made(py, || self.inner().ceil())
    }

    /// Returns the curve moved to later times, with 0 before it.
    ///
    /// Parameters
    /// ----------
    /// by : Number
    ///     The time by which it is moved.
    fn delayed(&self, by: Number) -> Self {
        self.inner().delayed(&by.0).into()
    }

    /// Returns the curve moved to earlier times; values before time ``by`` are lost.
    ///
    /// Parameters
    /// ----------
    /// by : Number
    ///     The time by which it is moved.
    fn advanced(&self, by: Number) -> Self {
        self.inner().advanced(&by.0).into()
    }

    /// Returns the curve raised at all times.
    ///
    /// Parameters
    /// ----------
    /// by : Number
    ///     The amount by which it is raised.
    fn raised(&self, by: Number) -> Self {
        self.inner().raised(&by.0).into()
    }

    /// Returns the curve multiplied at all times; also ``k * f``.
    ///
    /// Parameters
    /// ----------
    /// factor : Number
    ///     The factor.
    fn scaled(&self, factor: Number) -> Self {
        self.inner().scaled(&factor.0).into()
    }

    /// Returns the curve with all times multiplied by a factor.
    ///
    /// Parameters
    /// ----------
    /// factor : Number
    ///     The factor, greater than 0.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The factor is not positive.
    fn stretched(&self, factor: Number) -> PyResult<Self> {
        let curve = self.inner().stretched(&factor.0);
        curve.map(Self::from).map_err(|error| not_a_curve(&error).into())
    }

    /// Returns the curve with another value at time 0.
    ///
    /// Parameters
    /// ----------
    /// value : Number
    ///     The value, which may be infinite.
    fn with_origin(&self, value: Level) -> Self {
        self.inner().with_origin(value.0).into()
    }

    /// Returns the largest horizontal distance to a service curve: a bound on the delay.
    ///
    /// Parameters
    /// ----------
    /// service : Curve
    ///     The service curve.
    ///
    /// Returns
    /// -------
    /// Deviation
    ///     The delay, and the time at which the latest data arrive.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    ///
    /// Examples
    /// --------
    /// >>> Curve.token_bucket(4, 3).horizontal_deviation(Curve.rate_latency(4, 3)).value
    /// Fraction(4, 1)
    fn horizontal_deviation(&self, py: Python<'_>, service: &Self) -> PyResult<Deviation> {
        let work = || self.inner().horizontal_deviation(service.inner());
        Ok(brief(py, work)?.map_err(no_result)?.into())
    }

    /// Returns the largest vertical distance to a service curve: a bound on the backlog.
    ///
    /// Parameters
    /// ----------
    /// service : Curve
    ///     The service curve.
    ///
    /// Returns
    /// -------
    /// Deviation
    ///     The backlog, and the time at which it is reached.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn vertical_deviation(&self, py: Python<'_>, service: &Self) -> PyResult<Deviation> {
        let work = || self.inner().vertical_deviation(service.inner());
        Ok(brief(py, work)?.map_err(no_result)?.into())
    }

    /// Returns the first time at which the convolution of both curves is not negative.
    ///
    /// It bounds the delay, also for a service curve that is negative at some times.
    ///
    /// Parameters
    /// ----------
    /// service : Curve
    ///     The service curve.
    ///
    /// Returns
    /// -------
    /// Fraction or float
    ///     The time; a float if it is infinite.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn z_deviation<'py>(&self, py: Python<'py>, service: &Self) -> PyResult<Bound<'py, PyAny>> {
        let work = || self.inner().z_deviation(service.inner());
        extended(py, &brief(py, work)?.map_err(no_result)?)
    }

    /// Returns a bound on the length of the longest time for which a strict server is busy.
    ///
    /// Parameters
    /// ----------
    /// service : Curve
    ///     The service curve.
    ///
    /// Returns
    /// -------
    /// Fraction or float
    ///     The time; a float if it is infinite.
    ///
    /// Raises
    /// ------
    /// CurveError
    ///     The operation has no result.
    /// LimitError
    ///     The result would have too many pieces.
    fn backlogged_period<'py>(
        &self,
        py: Python<'py>,
        service: &Self,
    ) -> PyResult<Bound<'py, PyAny>> {
        let work = || self.inner().backlogged_period(service.inner());
        extended(py, &brief(py, work)?.map_err(no_result)?)
    }

    /// Returns whether the curve is finite, and concave at all times after 0.
    fn is_concave(&self) -> bool {
        self.inner().is_concave()
    }

    /// Returns whether the curve is finite, continuous and convex.
    fn is_convex(&self) -> bool {
        self.inner().is_convex()
    }

    /// Returns whether the curve never falls.
    fn is_non_decreasing(&self) -> bool {
        self.inner().is_non_decreasing()
    }

    /// Returns whether the curve is nowhere negative.
    fn is_non_negative(&self) -> bool {
        self.inner().is_non_negative()
    }

    /// Returns whether the curve is finite at all times.
    fn is_finite(&self) -> bool {
        self.inner().is_finite()
    }

    /// Returns whether the curve is left-continuous at all times after 0.
    fn is_left_continuous(&self) -> bool {
        self.inner().is_left_continuous()
    }

    /// Returns whether the curve is right-continuous.
    fn is_right_continuous(&self) -> bool {
        self.inner().is_right_continuous()
    }

    /// Returns whether the curve ends in a straight line, rather than in a period.
    fn is_ultimately_affine(&self) -> bool {
        self.inner().is_ultimately_affine()
    }

    /// Returns whether ``f(s + t) <= f(s) + f(t)`` for all s and t.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn is_sub_additive(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(brief(py, || self.inner().is_sub_additive())?.map_err(no_result)?)
    }

    /// Returns whether ``f(s + t) >= f(s) + f(t)`` for all s and t.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The result would have too many pieces.
    fn is_super_additive(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(brief(py, || self.inner().is_super_additive())?.map_err(no_result)?)
    }

    fn __add__(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.sum(py, other)
    }

    fn __sub__(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.difference(py, other)
    }

    fn __and__(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.minimum(py, other)
    }

    fn __or__(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.maximum(py, other)
    }

    fn __matmul__(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.convolution(py, other)
    }

    fn __mul__(&self, factor: Number) -> Self {
        self.scaled(factor)
    }

    fn __rmul__(&self, factor: Number) -> Self {
        self.scaled(factor)
    }

    fn __neg__(&self) -> Self {
        self.inner().negated().into()
    }
}
