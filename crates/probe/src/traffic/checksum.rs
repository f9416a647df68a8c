//! The Internet checksum, updated incrementally (RFC 1071, RFC 1624).
//!
//! Sums are ones' complement sums of 16-bit words, held in a `u64` that is reduced to 16 bits at
//! the end. Since 2^16 is 1 modulo 2^16 - 1, wider numbers may be added without being split into
//! words.

/// Returns the ones' complement sum of bytes that begin at an even offset. An odd last byte is
/// padded with zero.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |byte| u64::from(*byte) << 8);
    words.fold(last, |sum, word| sum + u64::from(u16::from_be_bytes([word[0], word[1]])))
}

/// Returns a 64-bit number in a form that can be added to a sum without overflow.
pub(super) fn wide(number: u64) -> u64 {
    (number >> 32) + (number & 0xffff_ffff)
}

/// Reduces a sum to 16 bits.
pub(super) fn fold(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    ((sum >> 16) + (sum & 0xffff)) as u16
}

/// Returns the value by which the bytes of `sum` contribute to a checksum if they begin at an odd
/// offset (RFC 1071, section 2 (B)).
pub(super) fn at_odd_offset(sum: u64) -> u64 {
    u64::from(fold(sum).swap_bytes())
}

/// Returns the Internet checksum, given the sum of the bytes that it covers.
pub(super) fn finish(sum: u64) -> u16 {
    !fold(sum)
}

/// Returns the UDP checksum, given the sum of the bytes that it covers. A checksum of zero is
/// replaced by 0xffff, because zero would mean that there is no checksum (RFC 768).
pub(super) fn finish_udp(sum: u64) -> u16 {
    match finish(sum) {
        0 => 0xffff,
        checksum => checksum,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_rfc_1071_has_its_checksum() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes)), 0xddf2);
        assert_eq!(finish(sum(&bytes)), 0x220d);
        // Grouped at odd offsets, the sum has its bytes swapped.
        let swapped = u64::from(bytes[0]) + sum(&bytes[1..]);
        assert_eq!(fold(swapped), 0xf2dd);
    }

    proptest! {
        #[test]
        fn checksums_of_parts_add_up(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
            let cut = cut.min(bytes.len());
            let (front, back) = bytes.split_at(cut);
            let behind =
                if cut % 2 == 0 { sum(back) } else { at_odd_offset(sum(back)) };
            prop_assert_eq!(fold(sum(front) + behind) % 0xffff, fold(sum(&bytes)) % 0xffff);
        }

        #[test]
        fn wide_numbers_count_as_their_bytes(number: u64) {
            prop_assert_eq!(fold(wide(number)) % 0xffff, fold(sum(&number.to_be_bytes())) % 0xffff);
        }
    }
}
