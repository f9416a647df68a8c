//! The hash algorithms of the architectures. As in BMv2, `crc16` is the CRC known as CRC-16/ARC,
//! and `crc32` the one known as CRC-32/ISO-HDLC.

mod crc;
mod lookup3;

pub use crc::{Crc, CrcParameters};

use lookup3::lookup3;
use std::sync::Arc;

static CRC16: Crc = Crc::new(CrcParameters::CRC16);
static CRC32: Crc = Crc::new(CrcParameters::CRC32);

/// The CRCs whose parameters the control plane may set: `crc16_custom` and `crc32_custom`.
#[derive(Clone, Debug)]
pub struct CustomCrcs {
    /// The CRC of `crc16_custom`.
    pub crc16: Arc<Crc>,
    /// The CRC of `crc32_custom`.
    pub crc32: Arc<Crc>,
}

impl Default for CustomCrcs {
    /// Returns the parameters that BMv2 starts with, which are those of `crc16` and `crc32`.
    fn default() -> Self {
        Self { crc16: Arc::new(CRC16.clone()), crc32: Arc::new(CRC32.clone()) }
    }
}

/// A hash algorithm that a program selects by a member of its architecture's enumeration
/// such as `HashAlgorithm` or `PSA_HashAlgorithm_t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// CRC-16/ARC.
    Crc16,
    /// CRC-32/ISO-HDLC.
    Crc32,
    /// A CRC of 16 bits whose parameters the control plane may set.
    Crc16Custom,
    /// A CRC of 32 bits whose parameters the control plane may set.
    Crc32Custom,
    /// The Internet checksum.
    OnesComplement16,
    /// The exclusive or of the 16-bit words of the data.
    Xor16,
    /// The first eight bytes of the data as a number.
    Identity,
    /// The default that the architecture leaves to the target. Here it is `crc32`.
    TargetDefault,
    /// The Toeplitz hash, which network cards use for receive-side scaling.
    Toeplitz,
    /// Bob Jenkins' hash `lookup3`, which uBPF uses.
    Lookup3,
    /// A random number, which does not depend on the data.
    Random,
    /// An algorithm that this crate does not implement, identified by its name.
    Unknown(String),
}

impl Algorithm {
    /// Returns the algorithm with the given name, which may be in lower or upper case because
    /// architectures differ in this. Returns `Unknown` for any other name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "crc16" => Self::Crc16,
            "crc32" => Self::Crc32,
            "crc16_custom" => Self::Crc16Custom,
            "crc32_custom" => Self::Crc32Custom,
            "csum16" | "ones_complement16" => Self::OnesComplement16,
            "xor16" => Self::Xor16,
            "identity" => Self::Identity,
            "target_default" => Self::TargetDefault,
            "toeplitz" => Self::Toeplitz,
            "lookup3" => Self::Lookup3,
            "random" => Self::Random,
            _ => Self::Unknown(name.to_owned()),
        }
    }
}

impl Algorithm {
    /// Returns the CRC that this algorithm computes, with its lookup tables. Returns `None` if the
    /// algorithm is not a CRC, or if the control plane may change its parameters.
    #[must_use]
    pub fn fixed_crc(&self) -> Option<&'static Crc> {
        match self {
            Self::Crc16 => Some(&CRC16),
            Self::Crc32 | Self::TargetDefault => Some(&CRC32),
            _ => None,
        }
    }
}

/// The parameters of hash algorithms that the control plane may set.
#[derive(Clone, Debug)]
pub struct HashSettings {
    /// The CRCs whose parameters the control plane may set.
    pub custom_crcs: CustomCrcs,
    /// The key of the Toeplitz hash. Its initial value is four zero bytes, as in DPDK
    /// (`lib/pipeline/rte_swx_pipeline.c`, `rss_runtime_default`).
    pub toeplitz_key: Vec<u8>,
}

impl Default for HashSettings {
    fn default() -> Self {
        Self { custom_crcs: CustomCrcs::default(), toeplitz_key: vec![0; 4] }
    }
}

impl HashSettings {
    /// Returns the hash of `data`. Returns `None` if the algorithm is unknown, or if its result
    /// does not depend on the data.
    #[must_use]
    pub fn hash(&self, algorithm: &Algorithm, data: &[u8]) -> Option<u64> {
        if let Some(crc) = algorithm.fixed_crc() {
            return Some(crc.checksum(data));
        }
        Some(match algorithm {
            Algorithm::Crc16Custom => self.custom_crcs.crc16.checksum(data),
            Algorithm::Crc32Custom => self.custom_crcs.crc32.checksum(data),
            Algorithm::OnesComplement16 => u64::from(internet_checksum(data)),
            Algorithm::Xor16 => u64::from(xor16(data)),
            Algorithm::Identity => identity(data),
            Algorithm::Toeplitz => u64::from(toeplitz(&self.toeplitz_key, data)),
            Algorithm::Lookup3 => u64::from(lookup3(data)),
            // The fixed CRCs have been handled above.
            _ => return None,
        })
    }
}

/// Computes the Toeplitz hash of receive-side scaling. For each bit of the data that is set, the 32
/// bits of the key that begin at the same bit position are combined by exclusive or. The key is
/// repeated if the data is longer. An empty key acts like a key of zeros.
fn toeplitz(key: &[u8], data: &[u8]) -> u32 {
    let window = |first: usize| {
        let bytes = key.iter().cycle().skip(first % key.len().max(1)).take(5);
        bytes.fold(0_u64, |window, byte| window << 8 | u64::from(*byte))
    };
    let mut hash = 0;
    for (position, byte) in data.iter().enumerate() {
        let window = window(position);
        for bit in 0..8 {
            if byte & (0x80 >> bit) != 0 {
                hash ^= (window >> (8 - bit)) as u32;
            }
        }
    }
    hash
}

/// Computes the Internet checksum (RFC 1071): the complement of the one's complement sum of the
/// 16-bit words. If the number of bytes is odd, a zero byte is appended.
#[must_use]
pub fn internet_checksum(data: &[u8]) -> u16 {
    !ones_complement_sum(0, data)
}

/// Adds the 16-bit words of `data` to the one's complement sum `start`, and returns the new sum.
#[must_use]
pub fn ones_complement_sum(start: u16, data: &[u8]) -> u16 {
    words(data).fold(start, ones_complement_add)
}

/// Subtracts the 16-bit words of `data` from the one's complement sum `start` (RFC 1624), and
/// returns the new sum.
#[must_use]
pub fn ones_complement_difference(start: u16, data: &[u8]) -> u16 {
    words(data).fold(start, |sum, word| ones_complement_add(sum, !word))
}

fn ones_complement_add(left: u16, right: u16) -> u16 {
    let (sum, carry) = left.overflowing_add(right);
    sum.wrapping_add(u16::from(carry))
}

fn words(data: &[u8]) -> impl Iterator<Item = u16> + '_ {
    data.chunks(2).map(|pair| match pair {
        [high, low] => u16::from_be_bytes([*high, *low]),
        [high] => u16::from_be_bytes([*high, 0]),
        _ => 0,
    })
}

fn xor16(data: &[u8]) -> u16 {
    words(data).fold(0, |sum, word| sum ^ word)
}

/// Returns the first eight bytes of the data as a number.
fn identity(data: &[u8]) -> u64 {
    data.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: &[u8] = b"123456789";

    fn named(algorithm: &str, data: &[u8]) -> u64 {
        let known = Algorithm::named(algorithm);
        HashSettings::default().hash(&known, data).expect("known algorithm")
    }

    /// The check values are from the catalogue of parametrised CRC algorithms (Cook).
    #[test]
    fn crcs_have_their_check_values() {
        assert_eq!(named("crc16", CHECK), 0xbb3d);
        assert_eq!(named("crc32", CHECK), 0xcbf4_3926);
        assert_eq!(named("crc16_custom", CHECK), 0xbb3d);
        assert_eq!(named("crc32_custom", CHECK), 0xcbf4_3926);
    }

    /// The example of RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
    #[test]
    fn internet_checksum_of_the_rfc() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(ones_complement_sum(0, &data), 0xddf2);
        assert_eq!(named("csum16", &data), 0x220d);
        assert_eq!(internet_checksum(&[0xab]), !0xab00);
        assert_eq!(internet_checksum(&[]), 0xffff);
    }

    #[test]
    fn words_taken_out_of_a_sum_were_never_there() {
        let all = [0x45, 0x00, 0x00, 0x54, 0xbe, 0xef];
        let sum = ones_complement_sum(0, &all);
        assert_eq!(ones_complement_difference(sum, &all[4..]), ones_complement_sum(0, &all[..4]));
    }

    /// The values are from the verification suite of Microsoft's "RSS Hashing Functions", for IPv4
    /// without and with TCP.
    #[test]
    fn toeplitz_of_the_verification_suite() {
        let key = [
            0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
            0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
            0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
        ];
        let data = [66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6];
        assert_eq!(toeplitz(&key, &data[..8]), 0x323e_8fc2);
        assert_eq!(toeplitz(&key, &data), 0x51cc_c178);
        assert_eq!(toeplitz(&[], &data), 0);
    }

    #[test]
    fn simple_hashes_follow_bmv2() {
        assert_eq!(named("xor16", &[0x12, 0x34, 0x56]), 0x1234 ^ 0x5600);
        assert_eq!(named("identity", &[1, 2, 3]), 0x01_0203);
        assert_eq!(named("identity", &[1, 2, 3, 4, 5, 6, 7, 8, 9]), 0x0102_0304_0506_0708);
        assert_eq!(HashSettings::default().hash(&Algorithm::named("md5"), CHECK), None);
    }
}
