//! Fingerprints of bytes that others choose.

use std::hash::{BuildHasher, RandomState};

/// Makes fingerprints of 128 bits. Both of their hashes have keys that nobody outside of this process
/// knows, so that nobody can choose bytes with the fingerprint of others.
#[derive(Clone, Debug, Default)]
pub struct Fingerprints([RandomState; 2]);

impl Fingerprints {
    /// Returns the fingerprint of `bytes`, which differs from one value of this type to another.
    #[must_use]
    pub fn of(&self, bytes: &[u8]) -> u128 {
        let [high, low] = self.0.each_ref().map(|key| u128::from(key.hash_one(bytes)));
        high << 64 | low
    }
}
