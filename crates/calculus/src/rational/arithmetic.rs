//! Adds, subtracts, multiplies and divides rational numbers: in machine words if the result fits,
//! and otherwise in arbitrary precision.

use super::{Rational, Repr, big, gcd_word};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

impl Rational {
    /// Returns the quotient of this number and `divisor`, or `None` if the divisor is zero.
    pub fn checked_div(&self, divisor: &Self) -> Option<Self> {
        Some(multiply(self, &divisor.reciprocal()?))
    }

    /// Returns one over this number, or `None` for zero.
    pub fn reciprocal(&self) -> Option<Self> {
        match &self.0 {
            Repr::Words { numerator: 0, .. } => None,
            Repr::Words { numerator, denominator } => {
                let sign = if *numerator < 0 { -1 } else { 1 };
                Some(Self::from_reduced(
                    i128::from(*denominator) * sign,
                    u128::from(numerator.unsigned_abs()),
                ))
            }
            Repr::Big(value) => Some(Self::from_big(value.recip())),
        }
    }

    /// Returns the absolute value of this number.
    pub fn abs(&self) -> Self {
        if self.is_negative() { -self } else { self.clone() }
    }
}

fn add(a: &Rational, b: &Rational) -> Rational {
    if let (
        Repr::Words { numerator: n1, denominator: d1 },
        Repr::Words { numerator: n2, denominator: d2 },
    ) = (&a.0, &b.0)
    {
        if *d1 == 1 && *d2 == 1 {
            return Rational::from_reduced(i128::from(*n1) + i128::from(*n2), 1);
        }
        let (n1, d1, n2, d2) = (i128::from(*n1), i128::from(*d1), i128::from(*n2), i128::from(*d2));
        // Each product is below 2^126 in magnitude, so the sum fits.
        if d1 == d2 {
            return Rational::from_wide(n1 + n2, d1.unsigned_abs());
        }
        if d1 == 1 || d2 == 1 {
            // A whole number does not change the other denominator, so there is nothing to reduce.
            return Rational::from_reduced(n1 * d2 + n2 * d1, (d1 * d2).unsigned_abs());
        }
        return Rational::from_wide(n1 * d2 + n2 * d1, (d1 * d2).unsigned_abs());
    }
    Rational::from_big(big::add(&a.as_big(), &b.as_big()))
}

fn multiply(a: &Rational, b: &Rational) -> Rational {
    if let (
        Repr::Words { numerator: n1, denominator: d1 },
        Repr::Words { numerator: n2, denominator: d2 },
    ) = (&a.0, &b.0)
    {
        if *n1 == 0 || *n2 == 0 {
            return Rational::ZERO;
        }
        let across = gcd_word(n1.unsigned_abs(), d2.unsigned_abs());
        let back = gcd_word(n2.unsigned_abs(), d1.unsigned_abs());
        let (across, back) = (i128::from(across), i128::from(back));
        let numerator = (i128::from(*n1) / across) * (i128::from(*n2) / back);
        let denominator = (i128::from(*d1) / back) * (i128::from(*d2) / across);
        return Rational::from_reduced(numerator, denominator.unsigned_abs());
    }
    Rational::from_big(big::multiply(&a.as_big(), &b.as_big()))
}

fn negate(a: &Rational) -> Rational {
    match &a.0 {
        Repr::Words { numerator, denominator } => {
            Rational::from_reduced(-i128::from(*numerator), i128::from(*denominator).unsigned_abs())
        }
        Repr::Big(value) => Rational::from_big(-(**value).clone()),
    }
}

/// Returns the quotient of two numbers.
///
/// # Panics
/// Panics if the divisor is zero, like the integers of the standard library
/// ([`Rational::checked_div`] does not).
fn divide(a: &Rational, b: &Rational) -> Rational {
    a.checked_div(b).expect("division of a rational by zero")
}

macro_rules! operator {
    ($trait:ident, $method:ident, $function:expr) => {
        impl $trait for &Rational {
            type Output = Rational;
            fn $method(self, other: &Rational) -> Rational {
                $function(self, other)
            }
        }
        impl $trait for Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational {
                $function(&self, &other)
            }
        }
        impl $trait<&Rational> for Rational {
            type Output = Rational;
            fn $method(self, other: &Rational) -> Rational {
                $function(&self, other)
            }
        }
        impl $trait<Rational> for &Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational {
                $function(self, &other)
            }
        }
    };
}

operator!(Add, add, add);
operator!(Sub, sub, |a: &Rational, b: &Rational| add(a, &negate(b)));
operator!(Mul, mul, multiply);
operator!(Div, div, divide);

impl Neg for Rational {
    type Output = Rational;
    fn neg(self) -> Rational {
        negate(&self)
    }
}

impl Neg for &Rational {
    type Output = Rational;
    fn neg(self) -> Rational {
        negate(self)
    }
}

impl AddAssign<&Rational> for Rational {
    fn add_assign(&mut self, other: &Rational) {
        *self = add(self, other);
    }
}

impl AddAssign for Rational {
    fn add_assign(&mut self, other: Rational) {
        *self = add(self, &other);
    }
}

impl SubAssign<&Rational> for Rational {
    fn sub_assign(&mut self, other: &Rational) {
        *self = add(self, &negate(other));
    }
}

impl Sum for Rational {
    fn sum<I: Iterator<Item = Rational>>(values: I) -> Rational {
        values.fold(Rational::ZERO, |total, value| add(&total, &value))
    }
}

impl<'a> Sum<&'a Rational> for Rational {
    fn sum<I: Iterator<Item = &'a Rational>>(values: I) -> Rational {
        values.fold(Rational::ZERO, |total, value| add(&total, value))
    }
}
