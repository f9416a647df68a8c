//! What can be wrong with the description of a curve.

use crate::rational::Rational;

/// Why a description is not a curve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CurveError {
    /// A curve needs at least one piece.
    #[error("a curve needs at least one piece, starting at time 0")]
    NoPieces,
    /// The first piece does not start at time zero.
    #[error("the first piece starts at time {0}: a curve starts at time 0")]
    StartsLate(Rational),
    /// A piece starts no later than the one before.
    #[error("the piece that starts at time {0} does not start after the one before it")]
    NotAscending(Rational),
    /// The period has no positive length.
    #[error("the period has length {0}: it must be greater than zero")]
    EmptyPeriod(Rational),
    /// The period starts before time zero.
    #[error("the period starts at time {0}: a curve starts at time 0")]
    NegativePeriodStart(Rational),
    /// A piece starts at or behind the end of the period.
    #[error("the piece that starts at time {start} is not before the end of the period, {end}")]
    BehindPeriod {
        /// Where the piece starts.
        start: Rational,
        /// Where the period ends.
        end: Rational,
    },
    /// A parameter of a builder that must not be negative is.
    #[error("the {parameter} of a {curve} is {value}: it must not be negative")]
    Negative {
        /// The curve that was to be built.
        curve: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// Its value.
        value: Rational,
    },
    /// A parameter of a builder that must be positive is not.
    #[error("the {parameter} of a {curve} is {value}: it must be greater than zero")]
    NotPositive {
        /// The curve that was to be built.
        curve: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// Its value.
        value: Rational,
    },
    /// A parameter of a builder exceeds another that bounds it.
    #[error("the {parameter} of a {curve} is {value}: it must not exceed the {bound}, {limit}")]
    Exceeds {
        /// The curve that was to be built.
        curve: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// Its value.
        value: Rational,
        /// The name of the parameter that bounds it.
        bound: &'static str,
        /// The value of that parameter.
        limit: Rational,
    },
    /// A builder that combines curves found them beyond the algebra.
    #[error("the curve cannot be computed: {0}")]
    Beyond(String),
}
