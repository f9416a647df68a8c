//! Numbers in scripts, of any size and in base 2, 8, 10 or 16. The digit `*` matches any digit.

use ir::bits::Bits;
use num_bigint::BigInt;
use std::fmt;

/// A number as a script writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    base: Base,
    /// The digits of the number. A `*` stands for any digit. Decimal numbers contain no `*`.
    digits: String,
}

/// The base of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Binary,
    Octal,
    Decimal,
    Hexadecimal,
}

impl Base {
    fn bits_per_digit(self) -> u32 {
        match self {
            Self::Binary => 1,
            Self::Octal => 3,
            Self::Decimal | Self::Hexadecimal => 4,
        }
    }

    fn radix(self) -> u32 {
        match self {
            Self::Binary => 2,
            Self::Octal => 8,
            Self::Decimal => 10,
            Self::Hexadecimal => 16,
        }
    }
}

impl Number {
    /// Parses a number such as `42`, `0x2a`, `0x2*`, `0b101` or `0o17`, in which underscores are
    /// ignored, or an address that BMv2's command line accepts, such as `10.0.0.1`,
    /// `00:00:00:00:00:0a` or `2001:db8::1`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.contains(['.', ':']) {
            return Self::parse_address(text);
        }
        let plain = text.replace('_', "");
        let (base, digits) = match plain.get(..2) {
            Some("0x" | "0X") => (Base::Hexadecimal, &plain[2..]),
            Some("0b" | "0B") => (Base::Binary, &plain[2..]),
            Some("0o" | "0O") => (Base::Octal, &plain[2..]),
            _ => (Base::Decimal, plain.as_str()),
        };
        let digit = |character: char| {
            character.is_digit(base.radix()) || character == '*' && base != Base::Decimal
        };
        (!digits.is_empty() && digits.chars().all(digit))
            .then(|| Self { base, digits: digits.to_owned() })
    }

    fn parse_address(text: &str) -> Option<Self> {
        let bytes = entities::written::address(text)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self { base: Base::Hexadecimal, digits })
    }

    /// Returns the number as a value of `width` bits, in which each `*` counts as a zero. Returns
    /// `None` if the number does not fit.
    #[must_use]
    pub fn to_bits(&self, width: u32, signed: bool) -> Option<Bits> {
        let value = self.value();
        (value.bits() <= u64::from(width)).then(|| Bits::from_bigint(width, signed, &value))
    }

    /// Returns the low `width` bits of the number, in which each `*` counts as a zero. Returns
    /// `None` if the number takes more bytes than `width` bits do. BMv2's command line checks only
    /// the number of bytes, and its switch then truncates the value to the width of the key.
    pub(super) fn in_bytes_of(&self, width: u32, signed: bool) -> Option<Bits> {
        let value = self.value();
        (value.bits() <= u64::from(width.div_ceil(8)) * 8)
            .then(|| Bits::from_bigint(width, signed, &value))
    }

    /// Returns the number as a value of the smallest sufficient width. Each `*` counts as a zero.
    #[must_use]
    pub fn to_shortest_bits(&self) -> Bits {
        let value = self.value();
        let width = u32::try_from(value.bits()).unwrap_or(u32::MAX).max(1);
        Bits::from_bigint(width, false, &value)
    }

    fn value(&self) -> BigInt {
        let digits = self.digits.replace('*', "0");
        // The parser accepts only digits of the base, so this does not fail.
        BigInt::parse_bytes(digits.as_bytes(), self.base.radix()).unwrap_or_default()
    }

    /// Returns the number, or `None` if it is at least 2^64 or contains a `*`.
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        u64::from_str_radix(&self.digits, self.base.radix()).ok()
    }

    /// Returns the number, or `None` if it is at least 2^128 or contains a `*`.
    pub(super) fn to_u128(&self) -> Option<u128> {
        u128::from_str_radix(&self.digits, self.base.radix()).ok()
    }

    /// Returns a mask of the bits that the digits other than `*` determine, such as `0xf0f` for
    /// `0x1*2`. Bits above the written digits are not in the mask, as in p4c's runner. A decimal
    /// number determines all bits.
    #[must_use]
    pub fn written_bits(&self, width: u32, signed: bool) -> Bits {
        if self.base == Base::Decimal {
            return Bits::ones(width, signed);
        }
        let mut mask = BigInt::ZERO;
        for digit in self.digits.chars() {
            mask <<= self.base.bits_per_digit();
            if digit != '*' {
                mask += (1 << self.base.bits_per_digit()) - 1;
            }
        }
        Bits::from_bigint(width, signed, &mask)
    }

    /// Returns the number of bits that the written digits take, including leading zeros. Returns
    /// zero for a decimal number.
    #[must_use]
    pub(super) fn digits_width(&self) -> u32 {
        let digits = u32::try_from(self.digits.len()).unwrap_or(u32::MAX);
        match self.base {
            Base::Decimal => 0,
            base => digits.saturating_mul(base.bits_per_digit()),
        }
    }

    /// Returns the number of bits that the digits other than `*` take, or `width` for a decimal
    /// number. p4c's runner uses this number as the prefix length if a script does not state one.
    #[must_use]
    pub fn written_length(&self, width: u32) -> u32 {
        if self.base == Base::Decimal {
            return width;
        }
        let digits = self.digits.chars().filter(|digit| *digit != '*').count();
        u32::try_from(digits)
            .map_or(width, |digits| digits.saturating_mul(self.base.bits_per_digit()).min(width))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.base {
            Base::Binary => "0b",
            Base::Octal => "0o",
            Base::Decimal => "",
            Base::Hexadecimal => "0x",
        };
        write!(f, "{prefix}{}", self.digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn numbers_have_four_bases() {
        for text in ["42", "0x2a", "0X2A", "0b10_1010", "0o52"] {
            assert_eq!(number(text).to_u64(), Some(42), "{text}");
        }
        for text in ["", "0x", "2a", "0b2", "1*", "é", "-1"] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_may_be_wider_than_machine_words() {
        let wide = number("0x0123456789abcdef0123456789abcdef01");
        assert_eq!(wide.to_u64(), None);
        assert_eq!(wide.to_bits(136, false).unwrap().to_be_bytes()[..3], [0x01, 0x23, 0x45]);
    }

    /// BMv2's `tools/runtime_CLI.py` accepts these in `parse_param`.
    #[test]
    fn addresses_are_numbers() {
        assert_eq!(number("10.0.0.1"), number("0x0a000001"));
        assert_eq!(number("00:1b:0:0:0:a"), number("0x001b0000000a"));
        assert_eq!(number("2001:db8::1"), number("0x20010db8000000000000000000000001"));
        for text in ["10.0.0", "10.0.0.256", "1:2:3", "00:1b:00:00:00:0g", "1.5"] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_may_be_cut_within_their_last_byte() {
        assert_eq!(number("0x3ff").in_bytes_of(9, false), Some(Bits::unsigned(9, 0x1ff)));
        assert_eq!(number("0x10000").in_bytes_of(9, false), None);
    }

    #[test]
    fn numbers_beyond_the_width_are_refused() {
        assert_eq!(number("0x200").to_bits(9, false), None);
        assert!(number("0x1ff").to_bits(9, false).is_some());
    }

    #[test]
    fn masks_have_the_digits_that_were_written() {
        assert_eq!(number("0x1*2").written_bits(16, false), Bits::unsigned(16, 0xf0f));
        assert_eq!(number("0b1*").written_bits(16, false), Bits::unsigned(16, 2));
        assert_eq!(number("0o7*").written_bits(16, false), Bits::unsigned(16, 0o70));
        assert_eq!(number("7").written_bits(16, false), Bits::unsigned(16, 0xffff));
        assert_eq!(number("0xfff").written_bits(9, false), Bits::unsigned(9, 0x1ff));
    }

    #[test]
    fn prefixes_have_the_digits_that_were_written() {
        assert_eq!(number("0x0a00****").written_length(32), 16);
        assert_eq!(number("0x0a000000").written_length(32), 32);
        assert_eq!(number("0b1*").written_length(8), 1);
        assert_eq!(number("10").written_length(8), 8);
    }
}
