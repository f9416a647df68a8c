//! Values of curves: a rational number or one of the two infinities.

use crate::rational::{ParseRationalError, Rational};
use std::fmt;
use std::ops::Neg;
use std::str::FromStr;

/// A value of a curve, a deviation or a bound: finite, or infinite. Values are ordered as on the
/// extended real line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum Extended {
    /// Minus infinity, less than every rational number.
    NegativeInfinity,
    /// A rational number.
    Finite(Rational),
    /// Plus infinity, greater than every rational number. A bound that is plus infinity is no
    /// bound.
    PositiveInfinity,
}

impl Extended {
    /// The value zero.
    pub const ZERO: Self = Self::Finite(Rational::ZERO);

    /// Returns the rational number, or `None` for an infinity.
    pub fn finite(&self) -> Option<&Rational> {
        match self {
            Self::Finite(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the rational number by value, or `None` for an infinity.
    pub fn into_finite(self) -> Option<Rational> {
        match self {
            Self::Finite(value) => Some(value),
            _ => None,
        }
    }

    /// Returns whether this value is a rational number, rather than an infinity.
    pub fn is_finite(&self) -> bool {
        matches!(self, Self::Finite(_))
    }

    /// Returns the sum of this value and a finite number. The sum is infinite if this value is.
    pub fn shifted(&self, by: &Rational) -> Self {
        match self {
            Self::Finite(value) => Self::Finite(value + by),
            infinite => infinite.clone(),
        }
    }

    /// Returns the sum of two values, or `None` for the sum of opposite infinities.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Finite(a), Self::Finite(b)) => Some(Self::Finite(a + b)),
            (Self::Finite(_), infinite) | (infinite, Self::Finite(_)) => Some(infinite.clone()),
            (a, b) if a == b => Some(a.clone()),
            _ => None,
        }
    }

    /// Returns the sum of two values. The sum of plus infinity and any value, even minus infinity,
    /// is plus infinity. This is the product of the min-plus dioid, in which plus infinity stands
    /// for "impossible".
    pub(crate) fn min_plus_product(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::PositiveInfinity, _) | (_, Self::PositiveInfinity) => Self::PositiveInfinity,
            (Self::NegativeInfinity, _) | (_, Self::NegativeInfinity) => Self::NegativeInfinity,
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(a + b),
        }
    }

    /// Returns the double nearest to this value.
    pub fn to_f64(&self) -> f64 {
        match self {
            Self::NegativeInfinity => f64::NEG_INFINITY,
            Self::Finite(value) => value.to_f64(),
            Self::PositiveInfinity => f64::INFINITY,
        }
    }

    /// Returns the smallest double that is not below this value.
    pub fn to_f64_up(&self) -> f64 {
        match self {
            Self::Finite(value) => value.to_f64_up(),
            infinite => infinite.to_f64(),
        }
    }

    /// Returns the largest double that is not above this value.
    pub fn to_f64_down(&self) -> f64 {
        match self {
            Self::Finite(value) => value.to_f64_down(),
            infinite => infinite.to_f64(),
        }
    }
}

impl From<Rational> for Extended {
    fn from(value: Rational) -> Self {
        Self::Finite(value)
    }
}

impl From<&Rational> for Extended {
    fn from(value: &Rational) -> Self {
        Self::Finite(value.clone())
    }
}

impl From<i64> for Extended {
    fn from(value: i64) -> Self {
        Self::Finite(Rational::from(value))
    }
}

impl Neg for Extended {
    type Output = Self;
    fn neg(self) -> Self {
        -&self
    }
}

impl Neg for &Extended {
    type Output = Extended;
    fn neg(self) -> Extended {
        match self {
            Extended::NegativeInfinity => Extended::PositiveInfinity,
            Extended::Finite(value) => Extended::Finite(-value),
            Extended::PositiveInfinity => Extended::NegativeInfinity,
        }
    }
}

impl FromStr for Extended {
    type Err = ParseRationalError;

    /// Parses a number in a form that [`Rational`] accepts, or `inf`, `+inf`, `-inf` or `infinity`
    /// in upper or lower case.
    fn from_str(text: &str) -> Result<Self, ParseRationalError> {
        let text = text.trim();
        match text.to_ascii_lowercase().as_str() {
            "inf" | "+inf" | "infinity" | "+infinity" => Ok(Self::PositiveInfinity),
            "-inf" | "-infinity" => Ok(Self::NegativeInfinity),
            _ => text.parse().map(Self::Finite),
        }
    }
}

/// Formats a number exactly, and an infinity as `+inf` or `-inf`.
impl fmt::Display for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NegativeInfinity => f.pad("-inf"),
            Self::Finite(value) => value.fmt(f),
            Self::PositiveInfinity => f.pad("+inf"),
        }
    }
}
