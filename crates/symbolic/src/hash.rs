//! Hashes as terms. They are exact in every bit, so a solver can find data that have a given hash.
//!
//! [`ir::hash`] computes the same functions of known data. Data are a term whose most significant
//! bit is the first bit. If the width is not a multiple of eight, the last byte is padded with
//! zeros.

use crate::term::{Term, Terms};
use ir::bits::Bits;
use ir::hash::{Algorithm, CrcParameters, HashSettings};

/// Returns the hash of data as a number of 64 bits. Returns `None` for an algorithm that is not
/// encoded: an unknown one, one whose result does not depend on the data, or `lookup3`.
pub fn encode(
    terms: &mut Terms,
    algorithm: &Algorithm,
    settings: &HashSettings,
    data: Term,
) -> Option<Term> {
    let data = padded(terms, data, 8);
    if let Some(known) = terms.constant_of(data) {
        let hash = settings.hash(algorithm, &known.to_be_bytes())?;
        return Some(terms.number(64, u128::from(hash)));
    }
    let hash = match algorithm {
        Algorithm::Crc16 | Algorithm::Crc32 | Algorithm::TargetDefault => {
            crc(terms, data, algorithm.fixed_crc()?.parameters())
        }
        Algorithm::Crc16Custom => crc(terms, data, settings.custom_crcs.crc16.parameters()),
        Algorithm::Crc32Custom => crc(terms, data, settings.custom_crcs.crc32.parameters()),
        Algorithm::OnesComplement16 => internet_checksum(terms, data),
        Algorithm::Xor16 => xor16(terms, data),
        Algorithm::Identity => identity(terms, data),
        Algorithm::Toeplitz => toeplitz(terms, &settings.toeplitz_key, data),
        Algorithm::Lookup3 | Algorithm::Random | Algorithm::Unknown(_) => return None,
    };
    Some(terms.zero_extend(hash, 64))
}

/// Returns the hash of data by the algorithm with an architecture's name for it. The algorithm has
/// the settings that a switch uses unless a controller changes them. Returns `None` in the same
/// cases as [`encode`].
pub fn by_name(terms: &mut Terms, name: &str, data: Term) -> Option<Term> {
    encode(terms, &Algorithm::named(name), &HashSettings::default(), data)
}

/// Returns the CRC of data. For each bit of the data, the remainder is shifted, and the polynomial
/// is added to it if that bit differs from the bit that was shifted out.
pub fn crc(terms: &mut Terms, data: Term, parameters: &CrcParameters) -> Term {
    let data = padded(terms, data, 8);
    let width = parameters.used_width();
    let bits_of = |terms: &mut Terms, number: u64| -> Vec<Term> {
        (0..width).map(|bit| terms.truth(number >> bit & 1 == 1)).collect()
    };
    // The least significant bit is first.
    let mut remainder = bits_of(terms, parameters.initial);
    for byte in (0..terms.width_of(data) / 8).rev() {
        for step in 0..8 {
            let bit = 8 * byte + if parameters.reflect_input { step } else { 7 - step };
            let bit = terms.extract(data, bit, bit);
            let Some(top) = remainder.pop() else { continue };
            let carried = terms.xor(top, bit);
            let zero = terms.truth(false);
            remainder.insert(0, zero);
            for (position, bit) in remainder.iter_mut().enumerate() {
                if parameters.polynomial >> position & 1 == 1 {
                    *bit = terms.xor(*bit, carried);
                }
            }
        }
    }
    if parameters.reflect_output {
        remainder.reverse();
    }
    let last = bits_of(terms, parameters.final_xor);
    for (bit, last) in remainder.iter_mut().zip(last) {
        *bit = terms.xor(*bit, last);
    }
    joined(terms, &remainder)
}

/// Returns the Internet checksum of data (RFC 1071): the complement of the one's complement sum of
/// its 16-bit words. An odd last byte is the high byte of a last word.
pub fn internet_checksum(terms: &mut Terms, data: Term) -> Term {
    let start = terms.zero(16);
    let sum = ones_complement_sum(terms, start, data);
    terms.not(sum)
}

/// Returns the one's complement sum of `start` and the 16-bit words of data, in 16 bits.
pub fn ones_complement_sum(terms: &mut Terms, start: Term, data: Term) -> Term {
    let mut numbers = words(terms, data);
    numbers.push(start);
    ones_complement_total(terms, numbers)
}

/// Returns `start` minus the 16-bit words of data in one's complement arithmetic, in 16 bits (RFC
/// 1624).
pub fn ones_complement_difference(terms: &mut Terms, start: Term, data: Term) -> Term {
    let words = words(terms, data);
    let mut numbers: Vec<Term> = words.into_iter().map(|word| terms.not(word)).collect();
    numbers.push(start);
    ones_complement_total(terms, numbers)
}

/// Returns the one's complement sum of numbers of 16 bits. The carries are added to the low bits
/// once, at the end, which has the same result as adding each carry at once.
fn ones_complement_total(terms: &mut Terms, numbers: Vec<Term>) -> Term {
    // The widest term has 4,096 words, whose sum has 28 bits.
    const WIDTH: u32 = 32;
    let mut sums: Vec<Term> =
        numbers.into_iter().map(|number| terms.zero_extend(number, WIDTH)).collect();
    while sums.len() > 1 {
        sums = sums
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => terms.add(*left, *right),
                [rest, ..] => *rest,
                [] => terms.zero(WIDTH),
            })
            .collect();
    }
    let mut sum = sums.first().copied().unwrap_or_else(|| terms.zero(WIDTH));
    // The first carries are at most 4,095, so that the second carry is at most one, and adding it
    // cannot carry again.
    for _ in 0..2 {
        let (high, low) = (terms.extract(sum, WIDTH - 1, 16), terms.extract(sum, 15, 0));
        let (high, low) = (terms.zero_extend(high, WIDTH), terms.zero_extend(low, WIDTH));
        sum = terms.add(high, low);
    }
    terms.extract(sum, 15, 0)
}

/// Returns the exclusive or of the 16-bit words of data. An odd last byte is the high byte of a
/// last word.
pub fn xor16(terms: &mut Terms, data: Term) -> Term {
    let words = words(terms, data);
    let start = terms.zero(16);
    words.into_iter().fold(start, |sum, word| terms.xor(sum, word))
}

/// Returns the first eight bytes of data as a number of 64 bits.
pub fn identity(terms: &mut Terms, data: Term) -> Term {
    let data = padded(terms, data, 8);
    match terms.width_of(data) {
        width @ 64.. => terms.extract(data, width - 1, width - 64),
        _ => terms.zero_extend(data, 64),
    }
}

/// Returns the Toeplitz hash of data, in 32 bits. For each set bit of the data, the 32 bits of the
/// key that begin at the same position are combined by exclusive or. The key is repeated if it is
/// too short.
pub fn toeplitz(terms: &mut Terms, key: &[u8], data: Term) -> Term {
    let width = terms.width_of(data);
    let key_bits = u32::try_from(key.len()).unwrap_or(u32::MAX).saturating_mul(8);
    let key_bit = |position: u32| {
        let position = position.checked_rem(key_bits).unwrap_or(0);
        let byte = key.get(position as usize / 8).copied().unwrap_or(0);
        byte >> (7 - position % 8) & 1 == 1
    };
    let mut hash = vec![terms.truth(false); 32];
    for position in 0..width {
        let bit = terms.extract(data, width - 1 - position, width - 1 - position);
        // The most significant bit of the hash is last.
        for (offset, sum) in (0..32).zip(hash.iter_mut().rev()) {
            if key_bit(position + offset) {
                *sum = terms.xor(*sum, bit);
            }
        }
    }
    joined(terms, &hash)
}

/// Returns the 16-bit words of data, the first one first.
fn words(terms: &mut Terms, data: Term) -> Vec<Term> {
    let data = padded(terms, data, 16);
    let width = terms.width_of(data);
    (0..width / 16).rev().map(|word| terms.extract(data, 16 * word + 15, 16 * word)).collect()
}

/// Returns data, padded with zeros to a multiple of `unit` bits.
fn padded(terms: &mut Terms, data: Term, unit: u32) -> Term {
    let width = terms.width_of(data);
    let zeros = terms.constant(&Bits::zero(width.next_multiple_of(unit) - width, false));
    terms.concatenate(data, zeros)
}

/// Returns the concatenation of bits, the least significant of which comes first.
fn joined(terms: &mut Terms, bits: &[Term]) -> Term {
    let none = terms.zero(0);
    bits.iter().rev().fold(none, |joined, bit| terms.concatenate(joined, *bit))
}
