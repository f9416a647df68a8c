//! Exact rational numbers.
//!
//! Nearly all numbers of a network calculus problem fit a pair of machine words. A [`Rational`] is
//! a reduced pair of `i64` as long as its value fits, computed with 128-bit intermediates, and uses
//! arbitrary precision otherwise. Each value has exactly one representation (words whenever they
//! suffice), so equality and hashing are structural.

mod arithmetic;
mod big;
mod convert;
mod parse;
#[cfg(feature = "formats")]
mod serial;
#[cfg(test)]
mod tests;

pub use parse::ParseRationalError;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::Hash;

/// An exact rational number.
///
/// ```
/// use calculus::Rational;
///
/// let rate: Rational = "0.67".parse()?;
/// assert_eq!(rate, Rational::ratio(67, 100));
/// assert_eq!((rate * Rational::from(3)).to_string(), "201/100");
/// # Ok::<(), calculus::ParseRationalError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rational(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// A reduced fraction with a positive denominator, both of which fit machine words.
    Words { numerator: i64, denominator: i64 },
    /// A reduced fraction whose numerator or denominator does not fit in a machine word.
    Big(Box<BigRational>),
}

impl Rational {
    /// The number zero.
    pub const ZERO: Self = Self(Repr::Words { numerator: 0, denominator: 1 });
    /// The number one.
    pub const ONE: Self = Self(Repr::Words { numerator: 1, denominator: 1 });

    /// Returns the quotient `numerator / denominator`, or `None` if the denominator is zero.
    pub fn new(numerator: i64, denominator: i64) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let sign = if denominator < 0 { -1 } else { 1 };
        Some(Self::from_wide(i128::from(numerator) * sign, i128::from(denominator).unsigned_abs()))
    }

    /// Returns the quotient of two integers of any size, or `None` if the denominator is zero.
    ///
    /// ```
    /// use calculus::Rational;
    /// use num_bigint::BigInt;
    ///
    /// let third = Rational::of_parts(BigInt::from(-2), BigInt::from(-6)).expect("not zero");
    /// assert_eq!(third, Rational::ratio(1, 3));
    /// assert_eq!((third.numerator(), third.denominator()), (1.into(), 3.into()));
    /// ```
    pub fn of_parts(numerator: BigInt, denominator: BigInt) -> Option<Self> {
        if denominator.is_zero() {
            return None;
        }
        Some(Self::from_big(BigRational::new(numerator, denominator)))
    }

    /// Returns the quotient `numerator / denominator`. It is meant for constants. Use
    /// [`Rational::new`] for input.
    ///
    /// # Panics
    /// Panics if the denominator is zero.
    pub fn ratio(numerator: i64, denominator: i64) -> Self {
        Self::new(numerator, denominator).expect("the denominator of a constant is not zero")
    }

    /// Returns whether this number is zero.
    pub fn is_zero(&self) -> bool {
        matches!(self.0, Repr::Words { numerator: 0, .. })
    }

    /// Returns whether this number is greater than zero.
    pub fn is_positive(&self) -> bool {
        match &self.0 {
            Repr::Words { numerator, .. } => *numerator > 0,
            Repr::Big(value) => value.is_positive(),
        }
    }

    /// Returns whether this number is less than zero.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Words { numerator, .. } => *numerator < 0,
            Repr::Big(value) => value.is_negative(),
        }
    }

    /// Returns whether this number is a whole number.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Words { denominator, .. } => *denominator == 1,
            Repr::Big(value) => value.is_integer(),
        }
    }

    /// Returns whether the value is stored in machine words rather than in arbitrary precision.
    pub fn is_machine_word(&self) -> bool {
        matches!(self.0, Repr::Words { .. })
    }

    /// Returns the numerator and the denominator of the reduced fraction, in decimal. The
    /// denominator is positive.
    pub fn to_parts(&self) -> (String, String) {
        match &self.0 {
            Repr::Words { numerator, denominator } => {
                (numerator.to_string(), denominator.to_string())
            }
            Repr::Big(value) => (value.numer().to_string(), value.denom().to_string()),
        }
    }

    /// Returns the numerator of the reduced fraction. It has the sign of the number.
    pub fn numerator(&self) -> BigInt {
        match &self.0 {
            Repr::Words { numerator, .. } => BigInt::from(*numerator),
            Repr::Big(value) => value.numer().clone(),
        }
    }

    /// Returns the denominator of the reduced fraction, which is positive.
    pub fn denominator(&self) -> BigInt {
        match &self.0 {
            Repr::Words { denominator, .. } => BigInt::from(*denominator),
            Repr::Big(value) => value.denom().clone(),
        }
    }

    /// Returns the total number of bits of the numerator and the denominator. It is 128 for any
    /// value in machine words.
    pub(crate) fn bits(&self) -> u64 {
        match &self.0 {
            Repr::Words { .. } => 128,
            Repr::Big(value) => value.numer().bits() + value.denom().bits(),
        }
    }

    /// Returns the quotient `numerator / denominator` as a reduced fraction, in arbitrary precision
    /// if it does not fit a pair of machine words.
    fn from_wide(numerator: i128, denominator: u128) -> Self {
        let divisor = gcd_wide(numerator.unsigned_abs(), denominator);
        if divisor == 1 {
            return Self::from_reduced(numerator, denominator);
        }
        let magnitude = numerator.unsigned_abs() / divisor;
        // A magnitude of 2^127 cannot occur here, because the divisor is at least 2.
        let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
        let reduced = if numerator < 0 { -magnitude } else { magnitude };
        Self::from_reduced(reduced, denominator / divisor)
    }

    fn from_reduced(numerator: i128, denominator: u128) -> Self {
        match (i64::try_from(numerator), i64::try_from(denominator)) {
            (Ok(numerator), Ok(denominator)) => Self(Repr::Words { numerator, denominator }),
            _ => Self(Repr::Big(Box::new(BigRational::new_raw(
                BigInt::from(numerator),
                BigInt::from(denominator),
            )))),
        }
    }

    /// Returns the value of a reduced fraction in arbitrary precision, stored in machine words if
    /// it fits.
    fn from_big(value: BigRational) -> Self {
        match (value.numer().to_i64(), value.denom().to_i64()) {
            (Some(numerator), Some(denominator)) => Self(Repr::Words { numerator, denominator }),
            _ => Self(Repr::Big(Box::new(value))),
        }
    }

    /// Returns the value in arbitrary precision, borrowed if it is stored that way.
    fn as_big(&self) -> Cow<'_, BigRational> {
        match &self.0 {
            Repr::Words { .. } => Cow::Owned(self.to_big()),
            Repr::Big(value) => Cow::Borrowed(value),
        }
    }

    fn to_big(&self) -> BigRational {
        match &self.0 {
            Repr::Words { numerator, denominator } => {
                BigRational::new_raw(BigInt::from(*numerator), BigInt::from(*denominator))
            }
            Repr::Big(value) => (**value).clone(),
        }
    }
}

impl Default for Rational {
    fn default() -> Self {
        Self::ZERO
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (
                Repr::Words { numerator: a, denominator: b },
                Repr::Words { numerator: c, denominator: d },
            ) => {
                if b == d {
                    a.cmp(c)
                } else {
                    (i128::from(*a) * i128::from(*d)).cmp(&(i128::from(*c) * i128::from(*b)))
                }
            }
            _ => big::compare(&self.as_big(), &other.as_big()),
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the greatest common divisor of two numbers, or 0 if both are zero.
fn gcd_wide(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        if let (Ok(small_a), Ok(small_b)) = (u64::try_from(a), u64::try_from(b)) {
            return u128::from(gcd_word(small_a, small_b));
        }
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the greatest common divisor of two numbers by the binary algorithm, without divisions.
fn gcd_word(mut a: u64, mut b: u64) -> u64 {
    if a == 0 {
        return b;
    }
    if b == 0 {
        return a;
    }
    let shift = (a | b).trailing_zeros();
    a >>= a.trailing_zeros();
    while b != 0 {
        b >>= b.trailing_zeros();
        if a > b {
            std::mem::swap(&mut a, &mut b);
        }
        b -= a;
    }
    a << shift
}
