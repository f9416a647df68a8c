//! Parses and formats rational numbers exactly: `67/100`, `0.67` and `6.7e-1` are one number.

use super::{Rational, Repr};
use crate::excerpt::excerpt;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, Zero};
use std::fmt;
use std::str::FromStr;

/// The largest length of the text of a number, in bytes. A longer text is more likely an attack
/// than a rate. The largest decimal exponent is limited for the same reason.
const LONGEST: usize = 4096;
const LARGEST_EXPONENT: i32 = 4096;

/// The reason why a text is not an exact rational number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseRationalError {
    /// The text is not a number in one of the accepted forms.
    #[error(
        "`{}` is not a number: write a whole number, a decimal such as 0.67 or 1.5e-3, or a fraction such as 67/100",
        excerpt(.0)
    )]
    Malformed(String),
    /// The part after the slash is zero.
    #[error("`{}` divides by zero", excerpt(.0))]
    ZeroDenominator(String),
    /// The text of the number, or its exponent, exceeds the limits.
    #[error(
        "the number is too large: at most {LONGEST} characters and a decimal exponent of {LARGEST_EXPONENT}"
    )]
    TooLarge,
}

impl FromStr for Rational {
    type Err = ParseRationalError;

    fn from_str(text: &str) -> Result<Self, ParseRationalError> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(ParseRationalError::TooLarge);
        }
        if let Some((numerator, denominator)) = text.split_once('/') {
            let numerator = parse_decimal(numerator.trim(), text)?;
            let denominator = parse_decimal(denominator.trim(), text)?;
            return numerator
                .checked_div(&denominator)
                .ok_or_else(|| ParseRationalError::ZeroDenominator(text.to_owned()));
        }
        parse_decimal(text, text)
    }
}

fn parse_decimal(text: &str, whole: &str) -> Result<Rational, ParseRationalError> {
    let malformed = || ParseRationalError::Malformed(whole.to_owned());
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent, whole)?),
        None => (unsigned, 0),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (before.is_empty() && after.is_empty()) || !is_digits(before) || !is_digits(after) {
        return Err(malformed());
    }
    if let Some(value) = short_decimal(before, after, exponent) {
        return Ok(if negative { -value } else { value });
    }
    let digits = format!("{before}{after}");
    let magnitude: BigInt = digits.parse().map_err(|_| malformed())?;
    if magnitude.is_zero() {
        return Ok(Rational::ZERO);
    }
    let after_count = i32::try_from(after.len()).map_err(|_| ParseRationalError::TooLarge)?;
    let power = exponent - after_count;
    let scale = Pow::pow(BigInt::from(10), power.unsigned_abs());
    let value = if power >= 0 {
        BigRational::from_integer(magnitude * scale)
    } else {
        BigRational::new(magnitude, scale)
    };
    Ok(Rational::from_big(if negative { -value } else { value }))
}

/// Parses a decimal number from its digits before and after the point and its exponent. Returns
/// `None` if an intermediate result does not fit in a machine word.
fn short_decimal(before: &str, after: &str, exponent: i32) -> Option<Rational> {
    let mut magnitude = 0_i64;
    for digit in before.bytes().chain(after.bytes()) {
        magnitude = magnitude.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    let power = exponent.checked_sub(i32::try_from(after.len()).ok()?)?;
    let scale = 10_i64.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        Rational::new(magnitude.checked_mul(scale)?, 1)
    } else {
        Rational::new(magnitude, scale)
    }
}

fn parse_exponent(text: &str, whole: &str) -> Result<i32, ParseRationalError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseRationalError::Malformed(whole.to_owned()));
    }
    match text.parse::<i32>() {
        Ok(exponent) if exponent.abs() <= LARGEST_EXPONENT => Ok(exponent),
        _ => Err(ParseRationalError::TooLarge),
    }
}

/// Formats the number as a reduced fraction, or without a denominator if it is whole.
impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Words { numerator, denominator: 1 } => f.pad(&numerator.to_string()),
            Repr::Words { numerator, denominator } => f.pad(&format!("{numerator}/{denominator}")),
            Repr::Big(value) => f.pad(&value.to_string()),
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
