//! Unsigned numbers of any width, stored as big-endian bytes. Leading zero bytes are ignored, and
//! zero may be stored as no bytes at all.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint};
use num_traits::One;

/// Returns the bytes without leading zeros.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or(&[])
}

/// Compares two unsigned numbers, which may differ in their leading zero bytes.
pub(crate) fn compare(left: &[u8], right: &[u8]) -> Ordering {
    let (left, right) = (trimmed(left), trimmed(right));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Returns the largest number of `width` bits.
pub(crate) fn ones(width: u32) -> BigUint {
    (BigUint::one() << width) - 1_u32
}

/// Returns a number of `width` bits whose `length` most significant bits are set.
pub(crate) fn prefix_mask(width: u32, length: u32) -> BigUint {
    let free = width.saturating_sub(length);
    (ones(width) >> free) << free
}

/// Returns an integer modulo 2^`width`.
pub(crate) fn reduced(value: &BigInt, width: u32) -> BigUint {
    let modulus = BigInt::one() << width;
    let rest = ((value % &modulus) + &modulus) % &modulus;
    rest.to_biguint().unwrap_or_default()
}

/// Returns the bytes of a number without leading zeros.
pub(crate) fn bytes(value: &BigUint) -> Box<[u8]> {
    let bytes = value.to_bytes_be();
    trimmed(&bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_do_not_count() {
        assert_eq!(compare(&[0, 0, 1], &[1]), Ordering::Equal);
        assert_eq!(compare(&[], &[0]), Ordering::Equal);
        assert_eq!(compare(&[1, 0], &[0, 255]), Ordering::Greater);
        assert_eq!(compare(&[2], &[3]), Ordering::Less);
    }

    #[test]
    fn integers_are_reduced_as_in_a_cast() {
        assert_eq!(reduced(&BigInt::from(-1), 4), BigUint::from(15_u8));
        assert_eq!(reduced(&BigInt::from(-16), 4), BigUint::from(0_u8));
        assert_eq!(reduced(&BigInt::from(17), 4), BigUint::from(1_u8));
        assert_eq!(prefix_mask(8, 3), BigUint::from(0xe0_u8));
        assert_eq!(prefix_mask(8, 0), BigUint::from(0_u8));
    }
}
