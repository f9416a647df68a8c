//! Fixed-width integers: the values of `bit<W>` and `int<W>`.
//!
//! The arithmetic is implemented here once, because constant folding in the checker and every
//! backend must agree on each bit of a result. A value consists of a width, a signedness and a
//! two's complement bit pattern in little-endian words. Bits at or above the width are always zero,
//! so equality is structural. P4_16 allows `bit<0>`, whose only value is zero.
//!
//! If the operands of an operation have different types, the right one is first cast to the type of
//! the left one, instead of the operation failing. Unless an operation says otherwise, its result
//! has the width and signedness of the left operand.

mod format;
mod packet;
mod words;

pub use format::ParseBitsError;

use num_bigint::{BigInt, BigUint, Sign};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use words::Words;

/// A value of type `bit<W>` or `int<W>` (P4_16 specification, sections 7.1.6.2 and 7.1.6.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "format::Portable", into = "format::Portable")]
pub struct Bits {
    width: u32,
    signed: bool,
    words: Words,
}

impl Bits {
    /// Returns `value` modulo 2^`width` as `bit<width>`.
    #[must_use]
    pub fn unsigned(width: u32, value: u128) -> Self {
        Self { width, signed: false, words: Words::from_u128(width, value) }
    }

    /// Returns `value` modulo 2^`width` as `int<width>`.
    #[must_use]
    pub fn signed(width: u32, value: i128) -> Self {
        let mut words = Words::from_u128(width, value.cast_unsigned());
        if value < 0 {
            words.fill_from(128, width);
        }
        Self { width, signed: true, words }
    }

    /// Returns zero as `int<width>` if `signed` is true, and as `bit<width>` otherwise.
    #[must_use]
    pub fn zero(width: u32, signed: bool) -> Self {
        Self { width, signed, words: Words::zero(width) }
    }

    /// Returns the value whose bits are all ones: the largest `bit<width>`, or -1 as `int<width>`.
    #[must_use]
    pub fn ones(width: u32, signed: bool) -> Self {
        let mut words = Words::zero(width);
        words.fill_from(0, width);
        Self { width, signed, words }
    }

    /// Returns 1 for `true` and 0 for `false`, as `bit<1>`.
    #[must_use]
    pub fn from_bool(value: bool) -> Self {
        Self::unsigned(1, u128::from(value))
    }

    /// Returns `value` modulo 2^`width` as `int<width>` if `signed` is true, and as `bit<width>`
    /// otherwise.
    #[must_use]
    pub fn from_bigint(width: u32, signed: bool, value: &BigInt) -> Self {
        let mut words = Words::zero(width);
        // `to_signed_bytes_le` returns the minimal two's complement form, which is sign-extended
        // here.
        let bytes = value.to_signed_bytes_le();
        words.copy_le_bytes(&bytes, width);
        if value.sign() == Sign::Minus {
            let known = u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_mul(8);
            words.fill_from(known, width);
        }
        Self { width, signed, words }
    }

    /// Returns the smallest value of a type: 0 for `bit<W>`, -2^(W-1) for `int<W>`.
    #[must_use]
    pub fn minimum(width: u32, signed: bool) -> Self {
        let mut least = Self::zero(width, signed);
        if signed && width > 0 {
            least.words.set_bit(width - 1, true);
        }
        least
    }

    /// Returns the largest value of a type: 2^W - 1 for `bit<W>`, 2^(W-1) - 1 for `int<W>`.
    #[must_use]
    pub fn maximum(width: u32, signed: bool) -> Self {
        let mut most = Self::ones(width, signed);
        if signed && width > 0 {
            most.words.set_bit(width - 1, false);
        }
        most
    }

    /// Returns the number of bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns whether the type is `int<W>`.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.signed
    }

    /// Returns whether all bits are zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.words.as_slice().iter().all(|word| *word == 0)
    }

    /// Returns whether the value is negative, which only an `int<W>` can be.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.signed && self.sign_bit()
    }

    /// Returns the bit at `position`, counted from the least significant one. Bits at or above the
    /// width are `false`.
    #[must_use]
    pub fn bit(&self, position: u32) -> bool {
        self.words.bit(position)
    }

    /// Returns the bit pattern as an unsigned number, or `None` if it does not fit in 128 bits.
    #[must_use]
    pub fn to_u128(&self) -> Option<u128> {
        self.words.to_u128()
    }

    /// Returns the bit pattern as an unsigned number, or `None` if it does not fit in 64 bits.
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        self.to_u128()?.try_into().ok()
    }

    /// Returns the low 64 bits of the pattern.
    #[must_use]
    pub fn low_u64(&self) -> u64 {
        self.words.as_slice().first().copied().unwrap_or(0)
    }

    /// Returns the numeric value, which is negative for an `int<W>` with the sign bit set.
    #[must_use]
    pub fn to_bigint(&self) -> BigInt {
        let pattern = BigInt::from(self.to_biguint());
        if self.is_negative() { pattern - (BigInt::from(1) << self.width) } else { pattern }
    }

    /// Returns the bit pattern as an unsigned number.
    #[must_use]
    pub fn to_biguint(&self) -> BigUint {
        BigUint::from_bytes_be(&self.to_be_bytes())
    }

    fn sign_bit(&self) -> bool {
        self.width > 0 && self.words.bit(self.width - 1)
    }

    fn with_words(&self, mut words: Words) -> Self {
        words.clear_from(self.width);
        Self { width: self.width, signed: self.signed, words }
    }

    /// Returns `other` cast to the type of `self`, or `other` itself if it already has that type.
    fn matched<'a>(&self, other: &'a Self) -> std::borrow::Cow<'a, Self> {
        if other.width == self.width && other.signed == self.signed {
            std::borrow::Cow::Borrowed(other)
        } else {
            std::borrow::Cow::Owned(other.cast(self.width, self.signed))
        }
    }
}

/// Arithmetic (P4_16 specification, sections 8.5 to 8.7).
impl Bits {
    /// Returns `self + other` modulo 2^W.
    #[must_use]
    pub fn wrapping_add(&self, other: &Self) -> Self {
        self.with_words(self.words.add(&self.matched(other).words))
    }

    /// Returns `self - other` modulo 2^W.
    #[must_use]
    pub fn wrapping_sub(&self, other: &Self) -> Self {
        self.with_words(self.words.subtract(&self.matched(other).words))
    }

    /// Returns `self * other` modulo 2^W.
    #[must_use]
    pub fn wrapping_mul(&self, other: &Self) -> Self {
        self.with_words(self.words.multiply(&self.matched(other).words))
    }

    /// Returns `-self` modulo 2^W.
    #[must_use]
    pub fn wrapping_neg(&self) -> Self {
        Self::zero(self.width, self.signed).wrapping_sub(self)
    }

    /// Returns `self |+| other`: the sum, clamped to the range of the type.
    #[must_use]
    pub fn saturating_add(&self, other: &Self) -> Self {
        let other = self.matched(other);
        let sum = self.wrapping_add(&other);
        if self.signed {
            let same_sign = self.sign_bit() == other.sign_bit();
            self.clamped(sum, |sum| same_sign && sum.sign_bit() != self.sign_bit())
        } else {
            self.clamped(sum, |sum| sum.compare(self) == Ordering::Less)
        }
    }

    /// Returns `self |-| other`: the difference, clamped to the range of the type.
    #[must_use]
    pub fn saturating_sub(&self, other: &Self) -> Self {
        let other = self.matched(other);
        if !self.signed {
            return if self.compare(&other) == Ordering::Less {
                Self::zero(self.width, false)
            } else {
                self.wrapping_sub(&other)
            };
        }
        let opposite = self.sign_bit() != other.sign_bit();
        let difference = self.wrapping_sub(&other);
        self.clamped(difference, |difference| opposite && difference.sign_bit() != self.sign_bit())
    }

    fn clamped(&self, result: Self, overflowed: impl Fn(&Self) -> bool) -> Self {
        if !overflowed(&result) {
            result
        } else if self.is_negative() {
            Self::minimum(self.width, self.signed)
        } else {
            Self::maximum(self.width, self.signed)
        }
    }

    /// Returns `self / other`, rounded toward zero, or `None` if `other` is zero.
    #[must_use]
    pub fn checked_div(&self, other: &Self) -> Option<Self> {
        self.divided(other).map(|(quotient, _)| quotient)
    }

    /// Returns `self % other`, which has the sign of `self`, or `None` if `other` is zero.
    #[must_use]
    pub fn checked_rem(&self, other: &Self) -> Option<Self> {
        self.divided(other).map(|(_, remainder)| remainder)
    }

    fn divided(&self, other: &Self) -> Option<(Self, Self)> {
        let other = self.matched(other);
        if other.is_zero() {
            return None;
        }
        if let (false, Some(left), Some(right)) = (self.signed, self.to_u128(), other.to_u128()) {
            return Some((
                Self::unsigned(self.width, left / right),
                Self::unsigned(self.width, left % right),
            ));
        }
        let (left, right) = (self.to_bigint(), other.to_bigint());
        Some((
            Self::from_bigint(self.width, self.signed, &(&left / &right)),
            Self::from_bigint(self.width, self.signed, &(&left % &right)),
        ))
    }

    /// Returns `self << amount`, which is zero if the amount is not less than the width.
    #[must_use]
    pub fn shift_left(&self, amount: u64) -> Self {
        match u32::try_from(amount) {
            Ok(amount) if amount < self.width => self.with_words(self.words.shifted_left(amount)),
            _ => Self::zero(self.width, self.signed),
        }
    }

    /// Returns `self >> amount`: a logical shift for `bit<W>`, an arithmetic shift for `int<W>`.
    #[must_use]
    pub fn shift_right(&self, amount: u64) -> Self {
        let negative = self.is_negative();
        match u32::try_from(amount) {
            Ok(amount) if amount < self.width => {
                let mut shifted = self.with_words(self.words.shifted_right(amount));
                if negative {
                    shifted.words.fill_from(self.width - amount, self.width);
                }
                shifted
            }
            _ if negative => Self::ones(self.width, true),
            _ => Self::zero(self.width, self.signed),
        }
    }

    /// Returns this value as a shift amount: the bit pattern read as an unsigned number, or
    /// `u64::MAX` if the pattern does not fit in 64 bits.
    #[must_use]
    pub fn shift_amount(&self) -> u64 {
        self.to_u64().unwrap_or(u64::MAX)
    }
}

/// Bitwise operations and casts (P4_16 specification, sections 8.5, 8.6 and 8.11).
impl Bits {
    /// Returns `~self`.
    #[must_use]
    pub fn complement(&self) -> Self {
        self.with_words(self.words.combined(&self.words, |word, _| !word))
    }

    /// Returns `self & other`.
    #[must_use]
    pub fn bit_and(&self, other: &Self) -> Self {
        self.with_words(self.words.combined(&self.matched(other).words, |a, b| a & b))
    }

    /// Returns `self | other`.
    #[must_use]
    pub fn bit_or(&self, other: &Self) -> Self {
        self.with_words(self.words.combined(&self.matched(other).words, |a, b| a | b))
    }

    /// Returns `self ^ other`.
    #[must_use]
    pub fn bit_xor(&self, other: &Self) -> Self {
        self.with_words(self.words.combined(&self.matched(other).words, |a, b| a ^ b))
    }

    /// Returns `self[high:low]` as `bit<high - low + 1>`. Bits above the width read as zero. If
    /// `high` is less than `low`, the result is `bit<0>`.
    #[must_use]
    pub fn slice(&self, high: u32, low: u32) -> Self {
        let width = high.checked_sub(low).map_or(0, |distance| distance.saturating_add(1));
        let shifted =
            if low < self.width { self.words.shifted_right(low) } else { Words::zero(self.width) };
        Self { width, signed: false, words: shifted.resized(width) }
    }

    /// Returns a copy of `self` in which bits `high` to `low` are replaced by `value`. Bits of the
    /// range that lie above the width are ignored.
    #[must_use]
    pub fn with_slice(&self, high: u32, low: u32, value: &Self) -> Self {
        let Some(distance) = high.checked_sub(low) else { return self.clone() };
        if low >= self.width {
            return self.clone();
        }
        let width = distance.saturating_add(1).min(self.width - low);
        let place = |part: Self| part.cast(self.width, self.signed).shift_left(u64::from(low));
        let hole = place(Self::ones(width, false));
        let value = place(value.cast(width, false));
        self.bit_and(&hole.complement()).bit_or(&value)
    }

    /// Returns `self ++ low`, with `self` in the high bits. The result is signed if `self` is.
    #[must_use]
    pub fn concatenate(&self, low: &Self) -> Self {
        let width = self.width.saturating_add(low.width);
        let high = self.cast(width, false).shift_left(u64::from(low.width));
        let mut joined = high.bit_or(&low.cast(low.width, false).cast(width, false));
        joined.signed = self.signed;
        joined
    }

    /// Returns the value cast to `int<width>` if `signed` is true, and to `bit<width>` otherwise. A
    /// narrower result is truncated. A wider one is zero-extended from a `bit<W>` and sign-extended
    /// from an `int<W>`.
    #[must_use]
    pub fn cast(&self, width: u32, signed: bool) -> Self {
        let negative = self.is_negative();
        let mut words = self.words.resized(width);
        if negative && width > self.width {
            words.fill_from(self.width, width);
        }
        Self { width, signed, words }
    }

    /// Compares the numeric values of `self` and `other`, whose types may differ.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.words.compare(&other.words),
            (true, true) => {
                let width = self.width.max(other.width);
                self.cast(width, false).words.compare(&other.cast(width, false).words)
            }
        }
    }

    /// Returns whether `self` and `value` are equal in all bits that are set in `mask`.
    #[must_use]
    pub fn matches_under(&self, value: &Self, mask: &Self) -> bool {
        if self.width == value.width && self.width == mask.width {
            return self.words.matches_under(&value.words, &mask.words);
        }
        self.bit_xor(value).bit_and(mask).is_zero()
    }

    /// Returns a `bit<width>` in which the `prefix` most significant bits are set.
    #[must_use]
    pub fn prefix_mask(width: u32, prefix: u32) -> Self {
        Self::ones(width, false).shift_left(u64::from(width.saturating_sub(prefix)))
    }
}

#[cfg(test)]
mod tests;
