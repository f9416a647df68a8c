//! The hash of a key: one 64 by 64 bit multiplication per eight bytes, both halves folded together.
//!
//! Every bit of the key reaches every bit of the result, at the cost of a few cycles, so that tables may take their
//! bucket from the low bits and a tag from the high ones. The seed is part of the table: a sender who does not know
//! it cannot aim packets at one bucket. It has a fixed default, so that runs repeat.

const MULTIPLIER: u64 = 0xa076_1d64_78bd_642f;

/// The seed that tables start with.
pub(crate) const DEFAULT_SEED: u64 = 0x2d35_8dcc_aa6c_78a5;

/// Multiplies to 128 bits and folds the halves.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hash of a key of fixed size, a multiple of four bytes.
#[inline(always)]
pub(crate) fn fixed<const K: usize>(key: &[u8; K], seed: u64) -> u64 {
    if let Some(bytes) = key.first_chunk::<4>()
        && K == 4
    {
        return fold(u64::from(u32::from_le_bytes(*bytes)) ^ seed, MULTIPLIER);
    }
    bytes(key, seed)
}

/// Hash of a key of any size. Keys that differ only in trailing zero bytes must not meet in one table; all keys of a
/// table have the same length.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_keys_spread_over_buckets() {
        // 2^16 keys in 2^12 buckets: 16 on average; a Poisson bucket above 48 has probability below 1e-9.
        let mut filled = vec![0_u32; 1 << 12];
        for key in 0..1_u32 << 16 {
            let hash = fixed(&key.to_be_bytes(), DEFAULT_SEED);
            filled[hash as usize & 0xfff] += 1;
        }
        assert!(filled.iter().all(|&count| count < 48), "fullest: {:?}", filled.iter().max());
        assert!(filled.iter().all(|&count| count > 0));
    }

    #[test]
    fn four_bytes_hash_alike_in_both_forms() {
        let key = 0x0a00_0001_u32.to_be_bytes();
        assert_eq!(fixed(&key, 7), bytes(&key, 7));
    }
}
