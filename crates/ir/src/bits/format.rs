//! Parsing and formatting of [`Bits`], and the form in which it is serialised.

use super::Bits;
use num_bigint::{BigInt, Sign};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An error for a text that cannot be parsed as a value of type `bit<W>` or `int<W>`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseBitsError {
    /// The text is not a number: it has no digits, or a character that is not a digit of its base.
    #[error(
        "\"{0}\" is not a number: write decimal digits, or 0x, 0b or 0o and digits of that base"
    )]
    NotANumber(String),
    /// The text is a number outside the range of the type.
    #[error("{text} does not fit {ty}")]
    OutOfRange {
        /// The text as given.
        text: String,
        /// The type, such as `bit<8>`.
        ty: String,
    },
}

impl Bits {
    /// Parses a number in the notation of P4 and of control-plane tools: an optional `-`, then
    /// decimal digits, or `0x`, `0b` or `0o` and digits of that base. `_` between digits is
    /// ignored. For an `int<W>`, a number with a base prefix may also be a bit pattern: `0xff` is
    /// -1 as `int<8>`.
    ///
    /// # Errors
    /// Returns an error if the text is not a number, or if the number is outside the range of the
    /// type.
    pub fn parse(width: u32, signed: bool, text: &str) -> Result<Self, ParseBitsError> {
        let (number, based) =
            parse_integer(text).ok_or_else(|| ParseBitsError::NotANumber(text.to_owned()))?;
        let bits = Self::from_bigint(width, signed, &number);
        let pattern_fits = based && bits.cast(width, false).to_bigint() == number;
        if bits.to_bigint() == number || pattern_fits {
            Ok(bits)
        } else {
            let keyword = if signed { "int" } else { "bit" };
            Err(ParseBitsError::OutOfRange {
                text: text.to_owned(),
                ty: format!("{keyword}<{width}>"),
            })
        }
    }
}

/// Parses an integer. Also returns whether the text states its base with a prefix, such as `0x`.
fn parse_integer(text: &str) -> Option<(BigInt, bool)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (Sign::Minus, rest),
        None => (Sign::Plus, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = [("0x", 16), ("0b", 2), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| lower.strip_prefix(prefix).map(|rest| (radix, rest)))
        .unwrap_or((10, lower.as_str()));
    let digits: String = digits.chars().filter(|digit| *digit != '_').collect();
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    let magnitude = BigInt::parse_bytes(digits.as_bytes(), radix)?;
    Some((if sign == Sign::Minus { -magnitude } else { magnitude }, radix != 10))
}

/// Formats the numeric value in decimal.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_u128() {
            Some(number) if !self.is_negative() => fmt::Display::fmt(&number, f),
            _ => fmt::Display::fmt(&self.to_bigint(), f),
        }
    }
}

/// Formats the bit pattern in hexadecimal.
impl fmt::LowerHex for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_u128() {
            Some(pattern) => fmt::LowerHex::fmt(&pattern, f),
            None => fmt::LowerHex::fmt(&self.to_biguint(), f),
        }
    }
}

/// Formats the bit pattern in binary.
impl fmt::Binary for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_u128() {
            Some(pattern) => fmt::Binary::fmt(&pattern, f),
            None => fmt::Binary::fmt(&self.to_biguint(), f),
        }
    }
}

/// The serialised form of [`Bits`]. Deserialisation refuses a value that does not fit the width.
#[derive(Serialize, Deserialize)]
pub(super) struct Portable {
    width: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    signed: bool,
    value: String,
}

impl From<Bits> for Portable {
    fn from(bits: Bits) -> Self {
        Self { width: bits.width, signed: bits.signed, value: format!("{bits:#x}") }
    }
}

impl TryFrom<Portable> for Bits {
    type Error = ParseBitsError;

    fn try_from(portable: Portable) -> Result<Self, Self::Error> {
        Self::parse(portable.width, portable.signed, &portable.value)
    }
}
