//! P4Runtime byte strings (specification 1.5, "Bytestrings" and "Match Format").
//!
//! A value is transmitted as a big-endian string of any length. Its canonical form is the shortest
//! such string. A receiver accepts every length and checks the value against the width in P4Info.
//! The functions here borrow their argument and return a subslice of it, so that checking a value
//! allocates no memory.
//!
//! The specification names two codes for a malformed string: OUT_OF_RANGE in the definition of byte
//! strings, and INVALID_ARGUMENT in the summaries of match fields and action parameters. Here, an
//! empty or too wide string is always OUT_OF_RANGE. Other errors of a match, such as a reversed
//! range or value bits outside the mask, are INVALID_ARGUMENT.

use std::num::NonZeroU32;

use bytes::Bytes;

use crate::error::{Code, EntityError};

/// The type of a P4 value, as the control plane sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// An unsigned number of this many bits.
    Bits(NonZeroU32),
    /// A string of a translated type (`p4runtime_translation` with `string`). Every nonempty byte
    /// string is a valid value.
    Text,
    /// A string of a translated type in which the program assigns a number to the empty string.
    /// Every byte string, including the empty one, is a valid value.
    TextOrEmpty,
}

impl ValueType {
    /// Returns the canonical form of `value`, which is a subslice of `value`.
    ///
    /// # Errors
    /// Returns an error if `value` is no value of this type.
    pub fn canonical(self, value: &[u8]) -> Result<&[u8], ValueError> {
        match self {
            Self::Bits(bits) => unsigned(value, bits.get()),
            Self::Text if value.is_empty() => Err(ValueError::Empty),
            Self::Text | Self::TextOrEmpty => Ok(value),
        }
    }

    /// Returns the width in bits, or `None` for a string of a translated type.
    pub fn bits(self) -> Option<u32> {
        match self {
            Self::Bits(bits) => Some(bits.get()),
            Self::Text | Self::TextOrEmpty => None,
        }
    }
}

/// The reason why a byte string, or a match made of byte strings, is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The string is empty. Zero is encoded as one byte of zero.
    #[error("the byte string is empty; zero is written as one byte of zero")]
    Empty,
    /// The value needs more bits than the type has.
    #[error("the value needs {needed} bits, the type has {bits}")]
    TooWide {
        /// The number of bits that the type has.
        bits: u32,
        /// The number of bits that the value needs.
        needed: u64,
    },
    /// The prefix length of a longest-prefix match is less than 1 or larger than the field.
    #[error("prefix length {prefix_len} is not in 1..={bits}; leave the field out to match any")]
    PrefixLength {
        /// The prefix length of the match.
        prefix_len: i32,
        /// The number of bits of the field.
        bits: u32,
    },
    /// The value of a longest-prefix match has bits set after the prefix.
    #[error("bits after the prefix of {prefix_len} are set; they must be zero")]
    BitsAfterPrefix {
        /// The prefix length of the match.
        prefix_len: u32,
    },
    /// The value of a ternary match has bits set outside the mask.
    #[error("bits outside the mask are set; they must be zero")]
    BitsOutsideMask,
    /// The low end of a range is above its high end.
    #[error("the low end of the range is above its high end")]
    ReversedRange,
    /// The match accepts every value, and should have been omitted.
    #[error("the match accepts every value; leave the field out instead")]
    DontCare,
}

impl ValueError {
    /// Returns the canonical code of the error.
    pub fn code(self) -> Code {
        match self {
            Self::Empty | Self::TooWide { .. } => Code::OutOfRange,
            Self::PrefixLength { .. }
            | Self::BitsAfterPrefix { .. }
            | Self::BitsOutsideMask
            | Self::ReversedRange
            | Self::DontCare => Code::InvalidArgument,
        }
    }
}

impl From<ValueError> for EntityError {
    fn from(error: ValueError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

/// Returns the canonical form of a `bit<bits>` value: no leading zero bytes, but at least one byte.
pub fn unsigned(value: &[u8], bits: u32) -> Result<&[u8], ValueError> {
    let value = without_leading_zeros(value)?;
    let needed = unsigned_width(value);
    if needed > u64::from(bits) {
        return Err(ValueError::TooWide { bits, needed });
    }
    Ok(value)
}

/// Returns the canonical form of an `int<bits>` value: two's complement without redundant sign
/// bytes.
pub fn signed(value: &[u8], bits: u32) -> Result<&[u8], ValueError> {
    let mut value = value;
    let needed = loop {
        match value {
            [] => return Err(ValueError::Empty),
            [0x00, next, ..] if next & 0x80 == 0 => value = &value[1..],
            [0xff, next, ..] if next & 0x80 != 0 => value = &value[1..],
            [first, ..] => {
                let copies =
                    if first & 0x80 == 0 { first.leading_zeros() } else { first.leading_ones() };
                break byte_bits(value) - u64::from(copies) + 1;
            }
        }
    };
    if needed > u64::from(bits) {
        return Err(ValueError::TooWide { bits, needed });
    }
    Ok(value)
}

/// Returns the canonical value of a longest-prefix match on `bits` bits.
pub fn prefix(value: &[u8], prefix_len: i32, bits: u32) -> Result<&[u8], ValueError> {
    let value = unsigned(value, bits)?;
    match u32::try_from(prefix_len) {
        Ok(length @ 1..) if length <= bits => {
            if trailing_zero_bits(value).is_some_and(|zeros| zeros < u64::from(bits - length)) {
                return Err(ValueError::BitsAfterPrefix { prefix_len: length });
            }
            Ok(value)
        }
        _ => Err(ValueError::PrefixLength { prefix_len, bits }),
    }
}

/// Returns the canonical value and mask of a ternary match on `bits` bits.
pub fn ternary<'a>(
    value: &'a [u8],
    mask: &'a [u8],
    bits: u32,
) -> Result<(&'a [u8], &'a [u8]), ValueError> {
    let value = unsigned(value, bits)?;
    let mask = unsigned(mask, bits)?;
    if mask == [0] {
        return Err(ValueError::DontCare);
    }
    // The comparison starts at the least significant byte. A shorter mask is extended with zeros.
    let masks = mask.iter().rev().chain(std::iter::repeat(&0));
    if value.iter().rev().zip(masks).any(|(value, mask)| value & !mask != 0) {
        return Err(ValueError::BitsOutsideMask);
    }
    Ok((value, mask))
}

/// Returns the canonical ends of a range match on `bits` bits, both inclusive.
pub fn range<'a>(
    low: &'a [u8],
    high: &'a [u8],
    bits: u32,
) -> Result<(&'a [u8], &'a [u8]), ValueError> {
    let low = unsigned(low, bits)?;
    let high = unsigned(high, bits)?;
    // Canonical strings are ordered by length, then byte by byte.
    if (low.len(), low) > (high.len(), high) {
        return Err(ValueError::ReversedRange);
    }
    let high_is_maximum =
        unsigned_width(high) == u64::from(bits) && trailing_one_bits(high) == u64::from(bits);
    if low == [0] && high_is_maximum {
        return Err(ValueError::DontCare);
    }
    Ok((low, high))
}

/// Returns the canonical byte string of a number.
pub fn encode(value: u128) -> Bytes {
    let bytes = value.to_be_bytes();
    let zeros = (value.leading_zeros() / 8).min(15) as usize;
    Bytes::copy_from_slice(&bytes[zeros..])
}

/// Returns the number in a byte string, or `None` if the string is empty or the number needs more
/// than 128 bits.
pub fn decode(value: &[u8]) -> Option<u128> {
    let value = without_leading_zeros(value).ok()?;
    if value.len() > size_of::<u128>() {
        return None;
    }
    Some(value.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

fn without_leading_zeros(value: &[u8]) -> Result<&[u8], ValueError> {
    let last = value.len().checked_sub(1).ok_or(ValueError::Empty)?;
    let zeros = value.iter().take(last).take_while(|byte| **byte == 0).count();
    Ok(&value[zeros..])
}

/// Returns the number of bits that a canonical unsigned value needs. The value zero needs one.
fn unsigned_width(value: &[u8]) -> u64 {
    let leading = value.first().map_or(0, |first| first.leading_zeros());
    (byte_bits(value) - u64::from(leading)).max(1)
}

fn byte_bits(value: &[u8]) -> u64 {
    value.len() as u64 * 8
}

/// Returns the number of trailing zero bits of a value, or `None` for the value zero.
fn trailing_zero_bits(value: &[u8]) -> Option<u64> {
    let bytes = value.iter().rev().position(|byte| *byte != 0)?;
    let last = value.iter().rev().nth(bytes)?;
    Some(bytes as u64 * 8 + u64::from(last.trailing_zeros()))
}

fn trailing_one_bits(value: &[u8]) -> u64 {
    let bytes = value.iter().rev().take_while(|byte| **byte == 0xff).count();
    let rest = value.iter().rev().nth(bytes).map_or(0, |byte| byte.trailing_ones());
    bytes as u64 * 8 + u64::from(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn too_wide(bits: u32, needed: u64) -> ValueError {
        ValueError::TooWide { bits, needed }
    }

    /// Checks the rows of the specification's table "Examples of Valid Bytestring Encoding".
    #[test]
    fn valid_examples_of_the_specification() {
        assert_eq!(unsigned(b"\x63", 8), Ok(&b"\x63"[..]));
        assert_eq!(unsigned(b"\x00\x63", 16), Ok(&b"\x63"[..]));
        assert_eq!(unsigned(b"\x63", 16), Ok(&b"\x63"[..]));
        assert_eq!(unsigned(b"\x30\x64", 16), Ok(&b"\x30\x64"[..]));
        assert_eq!(unsigned(b"\x00\x30\x64", 16), Ok(&b"\x30\x64"[..]));
        assert_eq!(unsigned(b"\x00\x63", 12), Ok(&b"\x63"[..]));
        assert_eq!(unsigned(b"\x63", 12), Ok(&b"\x63"[..]));
        assert_eq!(unsigned(b"\x00\x00\x63", 12), Ok(&b"\x63"[..]));
        assert_eq!(signed(b"\x63", 8), Ok(&b"\x63"[..]));
        assert_eq!(signed(b"\x9d", 8), Ok(&b"\x9d"[..]));
        assert_eq!(signed(b"\xff\x9d", 8), Ok(&b"\x9d"[..]));
        assert_eq!(signed(b"\xfd\x1d", 12), Ok(&b"\xfd\x1d"[..]));
        assert_eq!(signed(b"\x00\x00", 16), Ok(&b"\x00"[..]));
        assert_eq!(signed(b"\x00", 16), Ok(&b"\x00"[..]));
    }

    /// Checks the rows of the specification's table "Examples of Invalid Bytestring Encoding".
    #[test]
    fn invalid_examples_of_the_specification() {
        assert_eq!(unsigned(b"\x01\x63", 8), Err(too_wide(8, 9)));
        assert_eq!(unsigned(b"", 8), Err(ValueError::Empty));
        assert_eq!(unsigned(b"\x01\x00\x63", 16), Err(too_wide(16, 17)));
        assert_eq!(unsigned(b"\x10\x63", 12), Err(too_wide(12, 13)));
        assert_eq!(unsigned(b"\x01\x00\x63", 12), Err(too_wide(12, 17)));
        assert_eq!(unsigned(b"\x00\x40\x63", 12), Err(too_wide(12, 15)));
        assert_eq!(signed(b"\x00\x9d", 8), Err(too_wide(8, 9)));
        assert_eq!(signed(b"\x8d\x1d", 12), Err(too_wide(12, 16)));
        assert_eq!(signed(b"", 16), Err(ValueError::Empty));
        assert_eq!(ValueError::Empty.code(), Code::OutOfRange);
        assert_eq!(too_wide(8, 9).code(), Code::OutOfRange);
    }

    #[test]
    fn zero_is_one_byte_and_fits_one_bit() {
        assert_eq!(unsigned(b"\x00\x00\x00", 1), Ok(&b"\x00"[..]));
        assert_eq!(signed(b"\xff\xff", 1), Ok(&b"\xff"[..]));
    }

    #[test]
    fn text_is_any_bytes_but_none() {
        assert_eq!(ValueType::Text.canonical(b"\x00eth0"), Ok(&b"\x00eth0"[..]));
        assert_eq!(ValueType::Text.canonical(b""), Err(ValueError::Empty));
        assert_eq!(ValueType::Text.bits(), None);
        assert_eq!(ValueType::TextOrEmpty.canonical(b""), Ok(&b""[..]));
        assert_eq!(ValueType::TextOrEmpty.bits(), None);
    }

    #[test]
    fn a_prefix_has_no_bits_after_its_length() {
        assert_eq!(prefix(b"\x0a\x00\x00\x00", 8, 32), Ok(&b"\x0a\x00\x00\x00"[..]));
        assert_eq!(prefix(b"\x00", 1, 32), Ok(&b"\x00"[..]));
        assert_eq!(
            prefix(b"\x0a\x01\x00\x00", 8, 32),
            Err(ValueError::BitsAfterPrefix { prefix_len: 8 })
        );
        assert_eq!(prefix(b"\x01", 9, 9), Ok(&b"\x01"[..]));
        for prefix_len in [0, -1, 33] {
            let error = prefix(b"\x00", prefix_len, 32).unwrap_err();
            assert_eq!(error, ValueError::PrefixLength { prefix_len, bits: 32 });
            assert_eq!(error.code(), Code::InvalidArgument);
        }
    }

    #[test]
    fn a_masked_value_has_no_bits_outside_its_mask() {
        assert_eq!(ternary(b"\x00\x10", b"\x00\xf0", 16), Ok((&b"\x10"[..], &b"\xf0"[..])));
        assert_eq!(ternary(b"\x11", b"\xf0", 16), Err(ValueError::BitsOutsideMask));
        assert_eq!(ternary(b"\x01\x00", b"\xf0", 16), Err(ValueError::BitsOutsideMask));
        assert_eq!(ternary(b"\x00", b"\x00", 16), Err(ValueError::DontCare));
        assert_eq!(ternary(b"\x00", b"\x02\x00", 9), Err(too_wide(9, 10)));
    }

    #[test]
    fn a_range_is_ascending_and_excludes_a_value() {
        assert_eq!(range(b"\x00\x05", b"\x01\x00", 16), Ok((&b"\x05"[..], &b"\x01\x00"[..])));
        assert_eq!(range(b"\x05", b"\x05", 16), Ok((&b"\x05"[..], &b"\x05"[..])));
        assert_eq!(range(b"\x01\x00", b"\xff", 16), Err(ValueError::ReversedRange));
        assert_eq!(range(b"\x00", b"\x01\xff", 9), Err(ValueError::DontCare));
        assert_eq!(range(b"\x00", b"\xff\xff", 16), Err(ValueError::DontCare));
        assert_eq!(range(b"\x00", b"\x01", 1), Err(ValueError::DontCare));
        assert!(range(b"\x00", b"\x01\xfe", 9).is_ok());
        assert!(range(b"\x01", b"\x01\xff", 9).is_ok());
    }

    #[test]
    fn numbers_are_encoded_in_the_fewest_bytes() {
        assert_eq!(encode(0), &b"\x00"[..]);
        assert_eq!(encode(0x1ff), &b"\x01\xff"[..]);
        assert_eq!(encode(u128::MAX).len(), 16);
        assert_eq!(decode(b""), None);
        assert_eq!(decode(&[1; 17]), None);
    }

    proptest! {
        #[test]
        fn canonical_form_is_idempotent(value: Vec<u8>, bits in 1_u32..200) {
            if let Ok(once) = unsigned(&value, bits) {
                prop_assert_eq!(unsigned(once, bits), Ok(once));
            }
            if let Ok(once) = signed(&value, bits) {
                prop_assert_eq!(signed(once, bits), Ok(once));
            }
        }

        #[test]
        fn leading_zeros_change_nothing(number: u128, zeros in 0_usize..9) {
            let canonical = encode(number);
            let mut padded = vec![0; zeros];
            padded.extend_from_slice(&canonical);
            prop_assert_eq!(unsigned(&padded, 128), Ok(&canonical[..]));
            prop_assert_eq!(decode(&padded), Some(number));
        }

        #[test]
        fn widths_agree_with_arithmetic(number: u128, bits in 1_u32..129) {
            let fits = bits == 128 || number >> bits == 0;
            prop_assert_eq!(unsigned(&number.to_be_bytes(), bits).is_ok(), fits);
        }

        #[test]
        fn signed_widths_agree_with_arithmetic(number: i128, shift in 0_u32..128, bits in 1_u32..128) {
            let number = number >> shift;
            let limit = 1_i128 << (bits - 1);
            let fits = (-limit..limit).contains(&number);
            prop_assert_eq!(signed(&number.to_be_bytes(), bits).is_ok(), fits);
        }

        #[test]
        fn prefixes_agree_with_arithmetic(number: u32, prefix_len in 1_i32..33) {
            let clean = u64::from(number) % (1_u64 << (32 - prefix_len)) == 0;
            prop_assert_eq!(prefix(&number.to_be_bytes(), prefix_len, 32).is_ok(), clean);
        }

        #[test]
        fn masks_agree_with_arithmetic(value: u32, mask: u32) {
            let good = mask != 0 && value & !mask == 0;
            prop_assert_eq!(ternary(&value.to_be_bytes(), &mask.to_be_bytes(), 32).is_ok(), good);
        }

        #[test]
        fn ranges_agree_with_arithmetic(low: u16, high: u16) {
            let good = low <= high && (low, high) != (0, u16::MAX);
            prop_assert_eq!(range(&low.to_be_bytes(), &high.to_be_bytes(), 16).is_ok(), good);
        }
    }
}
