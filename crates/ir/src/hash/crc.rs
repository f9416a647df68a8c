//! Cyclic redundancy checks with arbitrary parameters.
//!
//! They follow the parameter model of Williams, "A painless guide to CRC error detection
//! algorithms" (1993): polynomial, initial value, reflection of input and output, final exclusive
//! or. [`CrcParameters`] computes the checksum bit by bit. [`Crc`], which is used to hash packets,
//! processes eight bytes at once with tables (Kounavis and Berry, "A systematic approach to
//! building high performance software-based CRC generators", ISCC 2005).

/// The parameters of a CRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrcParameters {
    /// The width of the remainder in bits, from 8 to 64.
    pub width: u32,
    /// The generator polynomial without its highest term.
    pub polynomial: u64,
    /// The remainder before the first bit.
    pub initial: u64,
    /// Whether bytes are processed with their least significant bit first.
    pub reflect_input: bool,
    /// Whether the bits of the remainder are reversed at the end.
    pub reflect_output: bool,
    /// The number that is combined with the remainder at the end by exclusive or.
    pub final_xor: u64,
}

impl CrcParameters {
    /// The parameters of CRC-16/ARC.
    pub const CRC16: Self = Self {
        width: 16,
        polynomial: 0x8005,
        initial: 0,
        reflect_input: true,
        reflect_output: true,
        final_xor: 0,
    };
    /// The parameters of CRC-32/ISO-HDLC, the CRC of Ethernet.
    pub const CRC32: Self = Self {
        width: 32,
        polynomial: 0x04c1_1db7,
        initial: 0xffff_ffff,
        reflect_input: true,
        reflect_output: true,
        final_xor: 0xffff_ffff,
    };

    /// Returns the width of the remainder in bits: `width`, clamped to the range from 8 to 64.
    #[must_use]
    pub const fn used_width(&self) -> u32 {
        match self.width {
            0..8 => 8,
            8..=64 => self.width,
            _ => 64,
        }
    }

    const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.used_width())
    }

    /// Returns the remainder with the order of its bits reversed.
    const fn reflected(&self, remainder: u64) -> u64 {
        (remainder & self.mask()).reverse_bits() >> (64 - self.used_width())
    }

    /// Returns the checksum of `data`, computed bit by bit.
    #[must_use]
    pub fn checksum(&self, data: &[u8]) -> u64 {
        let (width, mask) = (self.used_width(), self.mask());
        let top = 1_u64 << (width - 1);
        let mut remainder = self.initial & mask;
        for byte in data {
            let byte = if self.reflect_input { byte.reverse_bits() } else { *byte };
            remainder ^= u64::from(byte) << (width - 8);
            for _ in 0..8 {
                let carried = remainder & top != 0;
                remainder = (remainder << 1) & mask;
                if carried {
                    remainder ^= self.polynomial & mask;
                }
            }
        }
        if self.reflect_output {
            remainder = self.reflected(remainder);
        }
        (remainder ^ self.final_xor) & mask
    }
}

/// A CRC with its lookup tables, which take 16 KiB.
///
/// The remainder is always stored in reflected bit order, in the low bits. If the parameters do not
/// ask for reflected input, input is reversed before processing. If they do not ask for reflected
/// output, the result is reversed afterwards.
#[derive(Clone, Debug)]
pub struct Crc {
    parameters: CrcParameters,
    /// The lookup tables for processing eight bytes at once. For each value of a byte, table `n`
    /// holds the remainder of that byte followed by `n` zero bytes.
    tables: [[u64; 256]; 8],
}

impl Crc {
    /// Returns the CRC with these parameters.
    #[must_use]
    pub const fn new(parameters: CrcParameters) -> Self {
        let polynomial = parameters.reflected(parameters.polynomial);
        let mut tables = [[0; 256]; 8];
        let mut byte = 0;
        while byte < 256 {
            let mut remainder = byte as u64;
            let mut zeros = 0;
            while zeros < 8 {
                let mut bit = 0;
                while bit < 8 {
                    let carried = remainder & 1 != 0;
                    remainder >>= 1;
                    if carried {
                        remainder ^= polynomial;
                    }
                    bit += 1;
                }
                tables[zeros][byte] = remainder;
                zeros += 1;
            }
            byte += 1;
        }
        Self { parameters, tables }
    }

    /// Returns the parameters.
    #[must_use]
    pub const fn parameters(&self) -> &CrcParameters {
        &self.parameters
    }

    /// Returns the lookup tables and a correction, for code that computes the CRC of `bytes` bytes
    /// itself. That code reads the data as little-endian words of eight bytes and starts with a
    /// remainder of zero. The exclusive or of its result and the correction is the checksum.
    /// Returns `None` if the parameters demand that bytes or the remainder are reversed.
    #[must_use]
    pub fn for_words(&self, bytes: usize) -> Option<(&[[u64; 256]; 8], u64)> {
        let CrcParameters { reflect_input, reflect_output, .. } = self.parameters;
        // A CRC is linear, except for its initial value and its final exclusive or.
        (reflect_input && reflect_output).then(|| (&self.tables, self.checksum(&vec![0; bytes])))
    }

    /// Returns the checksum of `data`. It equals that of [`CrcParameters::checksum`], but is
    /// computed eight bytes at a time.
    #[must_use]
    pub fn checksum(&self, data: &[u8]) -> u64 {
        let parameters = &self.parameters;
        let mut remainder = parameters.reflected(parameters.initial);
        let (words, rest) = data.as_chunks::<8>();
        for word in words {
            remainder = self.advance::<8>(remainder, u64::from_le_bytes(*word), 8);
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            remainder = self.advance::<7>(remainder, u64::from_le_bytes(word), rest.len());
        }
        let output = match parameters.reflect_output {
            true => remainder,
            false => parameters.reflected(remainder),
        };
        (output ^ parameters.final_xor) & parameters.mask()
    }

    /// Returns the remainder after the `bytes` lowest bytes of `word` have been processed.
    /// `remainder` is the remainder before the word, and `bytes` is from one to `MAX`. The table
    /// lookups are independent of each other, so the processor can overlap them.
    #[inline]
    fn advance<const MAX: usize>(&self, remainder: u64, word: u64, bytes: usize) -> u64 {
        let word = match self.parameters.reflect_input {
            true => word,
            false => word.reverse_bits().swap_bytes(),
        };
        let mixed = (remainder ^ word).to_le_bytes();
        let bytes = bytes.min(MAX);
        let kept = remainder.checked_shr(8 * bytes as u32).unwrap_or(0);
        (0..bytes).fold(kept, |sum, place| {
            sum ^ self.tables[bytes - 1 - place][usize::from(mixed[place])]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// The check values are from the catalogue of parametrised CRC algorithms (Cook).
    #[test]
    fn crcs_have_the_check_values_of_the_catalogue() {
        let catalogue = [
            // CRC-16/IBM-3740 ("CCITT false"), CRC-16/KERMIT, CRC-8/SMBUS, CRC-32/BZIP2, CRC-64/XZ.
            (16, 0x1021, 0xffff, false, 0, 0x29b1),
            (16, 0x1021, 0, true, 0, 0x2189),
            (8, 0x07, 0, false, 0, 0xf4),
            (32, 0x04c1_1db7, 0xffff_ffff, false, 0xffff_ffff, 0xfc89_1918),
            (64, 0x42f0_e1eb_a9ea_3693, u64::MAX, true, u64::MAX, 0x995d_c9bb_df19_39fa),
        ];
        for (width, polynomial, initial, reflected, final_xor, check) in catalogue {
            let (reflect_input, reflect_output) = (reflected, reflected);
            let crc = CrcParameters {
                width,
                polynomial,
                initial,
                reflect_input,
                reflect_output,
                final_xor,
            };
            assert_eq!(crc.checksum(b"123456789"), check, "{crc:?}");
        }
    }

    #[test]
    fn tables_give_what_the_bits_give() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for _ in 0..300 {
            let crc = CrcParameters {
                width: random.random_range(0..70),
                polynomial: random.random(),
                initial: random.random(),
                reflect_input: random.random(),
                reflect_output: random.random(),
                final_xor: random.random(),
            };
            let data: Vec<u8> = (0..random.random_range(0..40)).map(|_| random.random()).collect();
            assert_eq!(Crc::new(crc).checksum(&data), crc.checksum(&data), "{crc:?}, {data:?}");
        }
    }

    #[test]
    fn words_with_zeros_in_front_give_what_the_bits_give() {
        let mut random = ChaCha8Rng::seed_from_u64(8);
        for crc in [CrcParameters::CRC16, CrcParameters::CRC32] {
            for length in 1..40 {
                let data: Vec<u8> = (0..length).map(|_| random.random()).collect();
                let whole = Crc::new(crc);
                let (tables, combined) = whole.for_words(length).expect("nothing turned around");
                let mut padded = vec![0; length.next_multiple_of(8) - length];
                padded.extend_from_slice(&data);
                let words = padded.as_chunks::<8>().0.iter();
                let remainder = words.fold(0, |remainder, word| {
                    let mixed = (u64::from_le_bytes(*word) ^ remainder).to_le_bytes();
                    let parts = mixed.iter().zip(tables.iter().rev());
                    parts.fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)])
                });
                assert_eq!(remainder ^ combined, crc.checksum(&data), "{crc:?}, {data:?}");
            }
        }
        let turned = CrcParameters { reflect_output: false, ..CrcParameters::CRC16 };
        assert!(Crc::new(turned).for_words(8).is_none());
    }
}
