//! The checksums that network cards compute: the Internet checksum (RFC 1071) and CRC-32C (RFC
//! 9260, appendix A).

/// Adds `bytes` to `sum` as 32-bit words, padded with zeros at the end. [`fold`] reduces the result
/// to the sum of the 16-bit words.
pub(super) fn add(sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    // A sum of up to 2^32 words of 32 bits does not overflow.
    let sum = words.iter().fold(sum, |sum, word| sum + u64::from(u32::from_be_bytes(*word)));
    let mut last = [0; 4];
    for (byte, value) in last.iter_mut().zip(rest) {
        *byte = *value;
    }
    sum + u64::from(u32::from_be_bytes(last))
}

/// Folds a sum to 16 bits: adds its upper bits to its lower ones until none are left.
pub(super) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// Returns the Internet checksum for a sum of words. A checksum of zero is replaced, because zero
/// means that there is no checksum (RFC 768).
pub(super) fn never_zero(sum: u64) -> u16 {
    match !fold(sum) {
        0 => 0xffff,
        checksum => checksum,
    }
}

/// Returns the CRC-32C of bytes, which is the checksum of SCTP.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        let index = (crc ^ u32::from(*byte)) & 0xff;
        (crc >> 8) ^ TABLE.get(index as usize).copied().unwrap_or_default()
    })
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ 0x82f6_3b78 } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_agree_with_published_examples() {
        // The example is from RFC 1071, section 3.
        assert_eq!(fold(add(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
        assert_eq!(fold(add(0, &[0x12])), 0x1200);
        assert_eq!(fold(add(0, &[0, 0, 0, 1, 0x12])), 0x1201);
        // The check value of CRC-32C in the catalogue of parametrised CRC algorithms.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
