//! Errors of the constructors of curves.

use crate::rational::Rational;

/// The reason why a description of a curve is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CurveError {
    /// The curve has no piece, but at least one is needed.
    #[error("a curve needs at least one piece, starting at time 0")]
    NoPieces,
    /// The first piece does not start at time zero.
    #[error("the first piece starts at time {0}: a curve starts at time 0")]
    StartsLate(Rational),
    /// A piece does not start after the one before it.
    #[error("the piece that starts at time {0} does not start after the one before it")]
    NotAscending(Rational),
    /// The period's length is not positive.
    #[error("the period has length {0}: it must be greater than zero")]
    EmptyPeriod(Rational),
    /// The period starts before time zero.
    #[error("the period starts at time {0}: a curve starts at time 0")]
    NegativePeriodStart(Rational),
    /// A piece starts at or after the end of the period.
    #[error("the piece that starts at time {start} is not before the end of the period, {end}")]
    BehindPeriod {
        /// The time at which the piece starts.
        start: Rational,
        /// The time at which the period ends.
        end: Rational,
    },
    /// A parameter of a builder is negative, although it must not be.
    #[error("the {parameter} of a {curve} is {value}: it must not be negative")]
    Negative {
        /// The curve that was to be built.
        curve: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: Rational,
    },
    /// A parameter of a builder is zero or negative, although it must be positive.
    #[error("the {parameter} of a {curve} is {value}: it must be greater than zero")]
    NotPositive {
        /// The curve that was to be built.
        curve: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: Rational,
    },
    /// A parameter of a builder exceeds another parameter that bounds it.
    #[error("the {parameter} of a {curve} is {value}: it must not exceed the {bound}, {limit}")]
    Exceeds {
        /// The curve that was to be built.
        curve: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The value of the parameter.
        value: Rational,
        /// The name of the second parameter, which bounds the first one.
        bound: &'static str,
        /// The value of the second parameter.
        limit: Rational,
    },
    /// A builder combines curves, and the algebra cannot compute the result. The text is the
    /// reason.
    #[error("the curve cannot be computed: {0}")]
    Beyond(String),
}
