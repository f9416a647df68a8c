//! Converts rational numbers to and from whole numbers and floating-point numbers, exactly or with
//! a stated rounding, and computes common multiples.

use super::{Rational, Repr, gcd_wide};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::ToPrimitive;

impl Rational {
    /// Returns the largest whole number that is not above this number.
    pub fn floor(&self) -> Self {
        match &self.0 {
            Repr::Words { denominator: 1, .. } => self.clone(),
            Repr::Words { numerator, denominator } => {
                Self::from(numerator.div_euclid(*denominator))
            }
            Repr::Big(value) => Self::from_big(value.floor()),
        }
    }

    /// Returns the smallest whole number that is not below this number.
    pub fn ceil(&self) -> Self {
        -(-self).floor()
    }

    /// Returns a positive number rounded up to one with about `digits` significant binary digits,
    /// which is at most 1 + 2^(1 - digits) times as large. Numbers in machine words, and numbers
    /// that are not positive, are returned unchanged.
    pub(crate) fn rounded_up(&self, digits: u64) -> Self {
        let Repr::Big(value) = &self.0 else { return self.clone() };
        if !self.is_positive() {
            return self.clone();
        }
        let (numerator, denominator) = (value.numer(), value.denom());
        // The quotient of both, shifted by this many bits, has `digits` bits or one more.
        let moved_up = (digits + denominator.bits()).saturating_sub(numerator.bits());
        let moved_down = numerator.bits().saturating_sub(digits + denominator.bits());
        let quotient = (numerator << moved_up).div_ceil(&(denominator << moved_down));
        Self::from_big(BigRational::new(quotient << moved_down, BigInt::from(1) << moved_up))
    }

    /// Returns this number if it is a whole number that fits `i64`.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Words { numerator, denominator: 1 } => Some(*numerator),
            _ => None,
        }
    }

    /// Returns this number if it is a whole number that fits `usize`.
    pub fn to_usize(&self) -> Option<usize> {
        self.to_i64().and_then(|value| usize::try_from(value).ok())
    }

    /// Returns the double nearest to this number, ties to even. It is infinite beyond the range of
    /// doubles.
    pub fn to_f64(&self) -> f64 {
        const EXACT: i64 = 1 << 53;
        match &self.0 {
            // Both operands are exact doubles, so the division rounds once.
            Repr::Words { numerator, denominator }
                if (-EXACT..=EXACT).contains(numerator) && *denominator <= EXACT =>
            {
                *numerator as f64 / *denominator as f64
            }
            _ => nearest_double(&self.to_big()),
        }
    }

    /// Returns the smallest double that is not below this number, so that upper bounds remain
    /// valid.
    pub fn to_f64_up(&self) -> f64 {
        let nearest = self.to_f64();
        match Self::from_f64(nearest) {
            Some(rounded) if rounded < *self => nearest.next_up(),
            None if nearest == f64::NEG_INFINITY => f64::MIN,
            _ => nearest,
        }
    }

    /// Returns the largest double that is not above this number, so that lower bounds remain valid.
    pub fn to_f64_down(&self) -> f64 {
        let nearest = self.to_f64();
        match Self::from_f64(nearest) {
            Some(rounded) if rounded > *self => nearest.next_down(),
            None if nearest == f64::INFINITY => f64::MAX,
            _ => nearest,
        }
    }

    /// Returns the exact value of a finite double, or `None` for infinities and NaN.
    ///
    /// `0.1_f64` is not exactly one tenth. To get one tenth, parse the text `"0.1"`.
    pub fn from_f64(value: f64) -> Option<Self> {
        BigRational::from_float(value).map(Self::from_big)
    }

    /// Returns the least common multiple of two positive numbers: the smallest positive number that
    /// is a whole multiple of both.
    ///
    /// With reduced fractions this is `lcm(a, c) / gcd(b, d)` for `a/b` and `c/d`.
    pub(crate) fn common_multiple(&self, other: &Self) -> Self {
        if let (
            Repr::Words { numerator: a, denominator: b },
            Repr::Words { numerator: c, denominator: d },
        ) = (&self.0, &other.0)
        {
            let (a, b) = (u128::from(a.unsigned_abs()), u128::from(b.unsigned_abs()));
            let (c, d) = (u128::from(c.unsigned_abs()), u128::from(d.unsigned_abs()));
            let multiple = a / gcd_wide(a, c).max(1) * c;
            if let Ok(multiple) = i128::try_from(multiple) {
                return Self::from_reduced(multiple, gcd_wide(b, d));
            }
        }
        let (a, b) = (self.to_big(), other.to_big());
        Self::from_big(BigRational::new(a.numer().lcm(b.numer()), a.denom().gcd(b.denom())))
    }
}

/// Returns the double nearest to a value. The value is scaled so that the quotient has at least 64
/// significant bits, the remainder is folded into the lowest (sticky) bit, and the result is
/// rounded to even.
fn nearest_double(value: &BigRational) -> f64 {
    let bits = |n: &num_bigint::BigInt| i64::try_from(n.bits()).unwrap_or(i64::MAX);
    let shift = 66 - (bits(value.numer()) - bits(value.denom()));
    let magnitude_limit = 1100;
    if shift > 66 + magnitude_limit {
        return 0.0_f64.copysign(value.numer().to_f64().unwrap_or(0.0));
    }
    if shift < 66 - magnitude_limit {
        return f64::INFINITY.copysign(value.numer().to_f64().unwrap_or(0.0));
    }
    let (numerator, denominator) = if shift >= 0 {
        (value.numer() << shift.unsigned_abs(), value.denom().clone())
    } else {
        (value.numer().clone(), value.denom() << shift.unsigned_abs())
    };
    let negative = value.numer().sign() == num_bigint::Sign::Minus;
    let (quotient, remainder) = numerator.magnitude().div_rem(denominator.magnitude());
    let sticky = u128::from(remainder.bits() != 0);
    let mantissa = quotient.to_u128().unwrap_or(u128::MAX) | sticky;
    // Below the normal range the mantissa is rounded to the bits that a subnormal number has.
    let exponent = -shift;
    let width = 128 - i64::from(mantissa.leading_zeros());
    let dropped_by_range = -1074 - exponent;
    let dropped = dropped_by_range.max(width - 53).max(0);
    let dropped_bits = u32::try_from(dropped).unwrap_or(127).min(127);
    let kept = mantissa >> dropped_bits;
    let rest = mantissa & ((1_u128 << dropped_bits) - 1);
    let half = if dropped_bits == 0 { 0 } else { 1_u128 << (dropped_bits - 1) };
    let round_up = dropped_bits > 0 && (rest > half || (rest == half && kept & 1 == 1));
    let rounded = (kept + u128::from(round_up)) as f64;
    let scaled = scale(rounded, exponent + i64::from(dropped_bits));
    if negative { -scaled } else { scaled }
}

/// Returns `value * 2^exponent`. The multiplication has two steps, so that the powers of two remain
/// in range. `value` must be a whole number below 2^54.
fn scale(value: f64, exponent: i64) -> f64 {
    let clamp = exponent.clamp(-1100, 1100);
    let first = (clamp / 2) as i32;
    let second = (clamp - clamp / 2) as i32;
    value * 2.0_f64.powi(first) * 2.0_f64.powi(second)
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Rational {
            fn from(value: $integer) -> Self {
                Self::from_reduced(i128::from(value), 1)
            }
        }
    )*};
}

from_integer!(i8, i16, i32, i64, u8, u16, u32, u64);

impl From<usize> for Rational {
    fn from(value: usize) -> Self {
        // A usize has at most 64 bits on every platform that Rust supports.
        Self::from(value as u64)
    }
}

impl From<&Rational> for Rational {
    fn from(value: &Rational) -> Self {
        value.clone()
    }
}
