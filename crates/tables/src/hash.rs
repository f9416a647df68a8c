//! The hash of a key: one 64 by 64 bit multiplication for each eight bytes. The two halves of each
//! product are exclusive-ored.
//!
//! Every bit of the key affects every bit of the result at the cost of a few cycles, so tables may
//! take the bucket from the low bits and a tag from the high ones. All tables use the same fixed
//! seed, so that runs are repeatable and machine code has it as a constant. The hash is therefore
//! no protection against a sender who chooses keys that fall into one bucket.

use std::hash::{BuildHasher, Hasher};

/// An odd number whose bits look random.
pub(crate) const MULTIPLIER: u64 = 0xa076_1d64_78bd_642f;

/// The default seed of tables.
pub(crate) const DEFAULT_SEED: u64 = 0x2d35_8dcc_aa6c_78a5;

/// Returns the exclusive or of the two halves of the 128-bit product of `a` and `b`.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Returns the hash of a key of fixed size. The number of bytes must be a multiple of four.
#[inline(always)]
pub(crate) fn fixed<const K: usize>(key: &[u8; K], seed: u64) -> u64 {
    if let Some(bytes) = key.first_chunk::<4>()
        && K == 4
    {
        return fold(u64::from(u32::from_le_bytes(*bytes)) ^ seed, MULTIPLIER);
    }
    bytes(key, seed)
}

/// Returns the hash of a key of any size. All keys of a table must have the same length, because
/// keys that differ only in trailing zero bytes may have the same hash.
#[inline(always)]
pub(crate) fn bytes(key: &[u8], seed: u64) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut state = seed;
    for word in words {
        state = fold(u64::from_le_bytes(*word) ^ state, MULTIPLIER);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        state = fold(u64::from_le_bytes(last) ^ state, MULTIPLIER);
    }
    state
}

/// Returns the hash of a key in words.
#[inline(always)]
pub(crate) fn words(key: &[u64]) -> u64 {
    key.iter().fold(DEFAULT_SEED, |state, word| fold(word ^ state, MULTIPLIER))
}

/// The hash of this crate's tables for other crates' hash maps, so that a benchmark compares the
/// maps and not their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyHash;

/// The state of one computation of [`KeyHash`].
#[derive(Debug, Clone, Copy)]
pub struct KeyHasher(u64);

impl BuildHasher for KeyHash {
    type Hasher = KeyHasher;

    #[inline(always)]
    fn build_hasher(&self) -> KeyHasher {
        KeyHasher(DEFAULT_SEED)
    }
}

impl Hasher for KeyHasher {
    #[inline(always)]
    fn write(&mut self, key: &[u8]) {
        self.0 = bytes(key, self.0);
    }

    #[inline(always)]
    fn write_u32(&mut self, key: u32) {
        self.0 = fold(u64::from(key) ^ self.0, MULTIPLIER);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_maps_get_the_hash_of_the_tables() {
        for key in [0, 1, 0x0a00_0001, u32::MAX] {
            let expected = fixed(&key.to_le_bytes(), DEFAULT_SEED);
            assert_eq!(KeyHash.hash_one(key), expected);
            let mut hasher = KeyHash.build_hasher();
            hasher.write(&key.to_le_bytes());
            assert_eq!(hasher.finish(), expected);
        }
    }

    #[test]
    fn consecutive_keys_spread_over_buckets() {
        // There are 2^16 keys in 2^12 buckets, 16 in each on average. If keys were distributed at
        // random (Poisson), a bucket would have 48 or more with a probability below 1e-9.
        let mut filled = vec![0_u32; 1 << 12];
        for key in 0..1_u32 << 16 {
            let hash = fixed(&key.to_be_bytes(), DEFAULT_SEED);
            filled[hash as usize & 0xfff] += 1;
        }
        assert!(filled.iter().all(|&count| count < 48), "fullest: {:?}", filled.iter().max());
        assert!(filled.iter().all(|&count| count > 0));
    }

    #[test]
    fn a_key_has_one_hash_in_all_forms() {
        let key = 0x0a00_0001_u32.to_be_bytes();
        assert_eq!(fixed(&key, 7), bytes(&key, 7));
        let key: [u8; 16] = std::array::from_fn(|at| at as u8 * 11);
        let two = [0, 8].map(|at| u64::from_le_bytes(key[at..at + 8].try_into().unwrap()));
        let expected = two.iter().fold(7, |state, word| fold(word ^ state, MULTIPLIER));
        assert_eq!(fixed(&key, 7), expected);
        assert_eq!(words(&two), fixed(&key, DEFAULT_SEED));
    }
}
