//! The class of curves: its values, its text, and its protocols of Python.

use std::sync::Arc;

use calculus::{Extended, Period, Piece, Rational};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{no_result, not_a_curve};
use crate::errors::{Fault, Kind};
use crate::interrupts::brief;
use crate::numbers::{Level, Number, extended, fraction};

/// A function of time (t >= 0) that is piecewise affine and ultimately affine or periodic.
///
/// Curves are immutable and exact: every number is a fraction, and two curves are equal if they are
/// the same function. They are made by builders such as `Curve.token_bucket`, by
/// `Curve.from_points`, and by operations on other curves. The units of time and data are the
/// caller's; networks take seconds and bits.
///
/// Operators: ``f + g``, ``f - g``, ``f & g`` (minimum), ``f | g`` (maximum), ``f @ g``
/// (convolution), ``k * f``, ``-f``, ``f(t)``, and ``f <= g`` (at all times).
///
/// Notes
/// -----
/// A number is an int, Fraction, Decimal, str or float. A float means the decimal that Python prints
/// for it, so that ``0.1`` is one tenth.
///
/// Examples
/// --------
/// >>> arrival = Curve.token_bucket(burst=4, rate=3)
/// >>> service = Curve.rate_latency(rate=4, latency=3)
/// >>> arrival.horizontal_deviation(service).value
/// Fraction(4, 1)
#[pyclass(frozen, module = "planimeter.calculus")]
pub(crate) struct Curve {
    inner: Arc<calculus::Curve>,
}

impl From<calculus::Curve> for Curve {
    fn from(curve: calculus::Curve) -> Self {
        Self { inner: Arc::new(curve) }
    }
}

impl Curve {
    /// Returns the curve of the crate `calculus`.
    pub(crate) fn inner(&self) -> &calculus::Curve {
        &self.inner
    }

    /// Runs an operation whose result is a curve.
    pub(super) fn made(
        py: Python<'_>,
        work: impl FnOnce() -> Result<calculus::Curve, calculus::AlgebraError> + Send,
    ) -> PyResult<Self> {
        Ok(brief(py, work)?.map_err(no_result)?.into())
    }
}

#[pymethods]
impl Curve {
    /// The pieces up to the affine tail, or up to the end of the first period.
    ///
    /// Returns
    /// -------
    /// list of Piece
    ///     Each piece is a breakpoint and the open segment after it.
    #[getter]
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let class = py.import("planimeter.calculus")?.getattr("Piece")?;
        self.inner.pieces().iter().map(|piece| class.call1(parts(py, piece)?)).collect()
    }

    /// The repetition of the curve, or None if it ends in a straight line.
    ///
    /// Returns
    /// -------
    /// Period or None
    ///     From ``start`` on, ``f(t + length) = f(t) + increment``.
    #[getter]
    fn period<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(period) = self.inner.period() else { return Ok(None) };
        let class = py.import("planimeter.calculus")?.getattr("Period")?;
        let parts = [&period.start, &period.length, &period.increment];
        let parts = parts.map(|number| fraction(py, number));
        let [start, length, increment] = parts;
        class.call1((start?, length?, increment?)).map(Some)
    }

    /// The long-term rate: the slope of the last segment, or the increment per length of a period.
    #[getter]
    fn ultimate_rate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.inner.ultimate_rate())
    }

    /// The least value or limit of the curve.
    #[getter]
    fn infimum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.inner.infimum())
    }

    /// The greatest value or limit of the curve.
    #[getter]
    fn supremum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.inner.supremum())
    }

    /// Returns the limit from the left at a time.
    ///
    /// Parameters
    /// ----------
    /// t : Number
    ///     The time.
    ///
    /// Returns
    /// -------
    /// Fraction or float
    ///     The limit; a float if it is infinite. It is 0 at time 0 and before.
    fn left_limit<'py>(&self, py: Python<'py>, t: Number) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.inner.left_limit_at(&t.0))
    }

    /// Returns the limit from the right at a time.
    ///
    /// Parameters
    /// ----------
    /// t : Number
    ///     The time.
    ///
    /// Returns
    /// -------
    /// Fraction or float
    ///     The limit; a float if it is infinite.
    fn right_limit<'py>(&self, py: Python<'py>, t: Number) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.inner.right_limit_at(&t.0))
    }

    /// Returns values at many times, as floats.
    ///
    /// Parameters
    /// ----------
    /// times : array_like, shape (n,)
    ///     The times.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of float64, shape (n,)
    ///     The values, each rounded to the nearest float.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     A time is not finite.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        times: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let numpy = py.import("numpy")?;
        let array =
            numpy.call_method1("ravel", (numpy.call_method1("asarray", (times, "float64"))?,))?;
        let times = array.cast::<PyArray1<f64>>()?.to_vec()?;
        let exact = |time: &f64| Rational::from_f64(*time);
        let Some(times) = times.iter().map(exact).collect::<Option<Vec<_>>>() else {
            return Err(Fault::new(Kind::Input, "a time is infinite or not a number")
                .at("times")
                .into());
        };
        let value = |time: &Rational| self.inner.value_at(time).to_f64();
        let values = py.detach(|| times.iter().map(value).collect());
        Ok(PyArray1::from_vec(py, values))
    }

    /// Returns the corners of the graph, for drawing.
    ///
    /// Parameters
    /// ----------
    /// until : Number
    ///     The last time.
    ///
    /// Returns
    /// -------
    /// times, values : numpy.ndarray of float64, shape (n,)
    ///     Points that straight lines join. A jump is several points at one time. Values may be
    ///     infinite.
    ///
    /// Raises
    /// ------
    /// LimitError
    ///     The curve has too many pieces up to that time.
    fn corners<'py>(&self, py: Python<'py>, until: Number) -> PyResult<Arrays<'py>> {
        let corners = brief(py, || self.inner.outline(&until.0))?.map_err(no_result)?;
        let (times, values) =
            corners.iter().map(|(time, value)| (time.to_f64(), value.to_f64())).unzip();
        Ok((PyArray1::from_vec(py, times), PyArray1::from_vec(py, values)))
    }

    /// Draws the curve with matplotlib.
    ///
    /// With a service curve, the longest delay and the largest backlog are marked.
    ///
    /// Parameters
    /// ----------
    /// service : Curve, optional
    ///     A service curve for the data that this curve bounds.
    /// until : Number, optional
    ///     The last time. By default, a time after all breakpoints.
    /// ax : matplotlib.axes.Axes, optional
    ///     The axes to draw on. By default, those of a new figure.
    /// label : str, optional
    ///     The name of the curve in the legend.
    ///
    /// Returns
    /// -------
    /// matplotlib.axes.Axes
    ///     The axes.
    ///
    /// Raises
    /// ------
    /// MissingPackageError
    ///     matplotlib is not installed.
    #[pyo3(signature = (*, service=None, until=None, ax=None, label=None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        service: Option<&Bound<'py, Self>>,
        until: Option<&Bound<'py, PyAny>>,
        ax: Option<&Bound<'py, PyAny>>,
        label: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let plotting = slf.py().import("planimeter._plotting")?;
        plotting.call_method1("plot_curve", (slf, service, until, ax, label))
    }

    /// Returns the curve as a term of MPPG, the language of min-plus playgrounds.
    fn to_mppg(&self) -> String {
        calculus::mppg::to_mppg(&self.inner)
    }

    fn __call__<'py>(&self, py: Python<'py>, t: Number) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.inner.value_at(&t.0))
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented().into_bound(py)) };
        let (a, b) = (self.inner(), other.get().inner());
        let truth = match operator {
            CompareOp::Eq => a == b,
            CompareOp::Ne => a != b,
            CompareOp::Le => brief(py, || a.is_at_most(b))?.map_err(no_result)?,
            CompareOp::Ge => brief(py, || b.is_at_most(a))?.map_err(no_result)?,
            CompareOp::Lt | CompareOp::Gt => {
                return Err(PyTypeError::new_err(
                    "curves are compared by <= and >=, at all times; < and > would say nothing",
                ));
            }
        };
        Ok(truth.into_pyobject(py)?.to_owned().into_any())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.inner.hash(&mut hasher);
        hasher.finish()
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Curve {}>", calculus::network::describe::curve(&self.inner))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let pieces = self.inner.pieces().iter().map(|piece| parts(py, piece));
        let pieces = pieces.collect::<PyResult<Vec<_>>>()?;
        let period = match self.inner.period() {
            None => None,
            Some(Period { start, length, increment }) => {
                Some((fraction(py, &start)?, fraction(py, &length)?, fraction(py, &increment)?))
            }
        };
        let rebuild = py.import("planimeter.calculus")?.getattr("_curve_of")?;
        (rebuild, (pieces, period)).into_pyobject(py)
    }
}

/// The times and the values of points.
type Arrays<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The numbers of a piece, as Python objects: start, value, right limit and slope.
type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

fn parts<'py>(py: Python<'py>, piece: &Piece) -> PyResult<Parts<'py>> {
    Ok((
        fraction(py, piece.start())?,
        extended(py, piece.value())?,
        extended(py, piece.right_limit())?,
        fraction(py, piece.slope())?,
    ))
}

/// Returns the curve of pieces and a period, each as numbers.
pub(super) fn of_pieces(
    pieces: Vec<(Number, Level, Level, Number)>,
    period: Option<(Number, Number, Number)>,
) -> PyResult<calculus::Curve> {
    let piece = |(start, value, right_limit, slope): (Number, Level, Level, Number)| {
        Piece::new(start.0, value.0, right_limit.0, slope.0)
    };
    let pieces = pieces.into_iter().map(piece).collect();
    let curve = match period {
        None => calculus::Curve::ultimately_affine(pieces),
        Some((start, length, increment)) => {
            let (start, length, increment) = (start.0, length.0, increment.0);
            calculus::Curve::pseudo_periodic(pieces, Period { start, length, increment })
        }
    };
    curve.map_err(|error| not_a_curve(&error).into())
}

/// The largest distance between two curves, and the time at which it occurs.
#[pyclass(frozen, module = "planimeter.calculus")]
pub(crate) struct Deviation {
    value: Extended,
    at: Option<Rational>,
}

impl From<calculus::Deviation> for Deviation {
    fn from(deviation: calculus::Deviation) -> Self {
        Self { value: deviation.value, at: deviation.at }
    }
}

#[pymethods]
impl Deviation {
    /// The distance: a Fraction, or a float if it is infinite.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.value)
    }

    /// The first time at which the distance occurs, or None if it occurs at no time.
    #[getter]
    fn at<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.at.as_ref().map(|at| fraction(py, at)).transpose()
    }

    fn __repr__(&self) -> String {
        let at = self.at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
        format!("<Deviation {}{at}>", self.value)
    }
}
