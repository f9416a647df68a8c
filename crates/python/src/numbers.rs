//! Numbers, exactly: `int`, `fractions.Fraction`, `decimal.Decimal`, `str` and `float` in; `Fraction`,
//! or an infinite `float`, out.

use calculus::{Extended, ParseRationalError, Rational};
use num_bigint::BigInt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyString, PyType};

use crate::errors::{Fault, Kind};

/// A number that Python code passed.
///
/// A `float` means the decimal number that Python prints for it: `0.1` is one tenth.
#[derive(Clone, Debug)]
pub(crate) struct Number(pub(crate) Rational);

/// A number that Python code passed, or one of the two infinities.
#[derive(Clone, Debug)]
pub(crate) struct Level(pub(crate) Extended);

impl<'a, 'py> FromPyObject<'a, 'py> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match extended_of(&object)? {
            Extended::Finite(value) => Ok(Self(value)),
            Extended::PositiveInfinity | Extended::NegativeInfinity => {
                Err(Fault::new(Kind::Input, "the number is infinite")
                    .mended_by("give a finite number")
                    .into())
            }
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Level {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        extended_of(&object).map(Self)
    }
}

/// Returns the number that a Python object is.
fn extended_of(object: &Bound<'_, PyAny>) -> PyResult<Extended> {
    if let Ok(float) = object.cast::<PyFloat>() {
        return of_float(float.value());
    }
    if let Ok(text) = object.cast::<PyString>() {
        return of_text(&text.to_cow()?);
    }
    // Integers of Python and of numpy, and fractions.
    if let (Ok(numerator), Ok(denominator)) =
        (object.getattr("numerator"), object.getattr("denominator"))
    {
        return of_parts(&numerator, &denominator);
    }
    // Decimals. A half-precision number of numpy is not a float of Python, but has the method too.
    if let Ok(parts) = object.call_method0("as_integer_ratio") {
        return of_parts(&parts.get_item(0)?, &parts.get_item(1)?);
    }
    let class = object.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a number is an int, Fraction, Decimal, str or float, not {class}"
    )))
}

fn of_float(value: f64) -> PyResult<Extended> {
    if value == f64::INFINITY {
        return Ok(Extended::PositiveInfinity);
    }
    if value == f64::NEG_INFINITY {
        return Ok(Extended::NegativeInfinity);
    }
    // The shortest decimal that reads back as the same double, as in Python's repr.
    of_text(&value.to_string())
}

fn of_text(text: &str) -> PyResult<Extended> {
    text.trim().parse().map_err(|error| match error {
        ParseRationalError::Malformed(text) => {
            let shown: String = text.chars().take(60).collect();
            Fault::new(Kind::Input, format!("'{shown}' is not a number"))
                .mended_by("write a decimal such as 0.5, or a fraction such as 1/3")
                .into()
        }
        other => Fault::new(Kind::Input, other.to_string()).into(),
    })
}

fn of_parts(numerator: &Bound<'_, PyAny>, denominator: &Bound<'_, PyAny>) -> PyResult<Extended> {
    let number = Rational::of_parts(numerator.extract::<BigInt>()?, denominator.extract()?);
    let zero = || Fault::new(Kind::Input, "the denominator of the number is zero");
    Ok(Extended::Finite(number.ok_or_else(zero)?))
}

/// Returns a number as a `Fraction`.
pub(crate) fn fraction<'py>(py: Python<'py>, value: &Rational) -> PyResult<Bound<'py, PyAny>> {
    static FRACTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = FRACTION.import(py, "fractions", "Fraction")?;
    class.call1((value.numerator(), value.denominator()))
}

/// Returns a value as a `Fraction`, or as an infinite `float`.
pub(crate) fn extended<'py>(py: Python<'py>, value: &Extended) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Extended::Finite(value) => fraction(py, value),
        Extended::PositiveInfinity => Ok(PyFloat::new(py, f64::INFINITY).into_any()),
        Extended::NegativeInfinity => Ok(PyFloat::new(py, f64::NEG_INFINITY).into_any()),
    }
}
