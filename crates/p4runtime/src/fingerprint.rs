//! Keyed fingerprints of bytes that peers choose.

use std::hash::{BuildHasher, RandomState};

/// A generator of 128-bit fingerprints. Each half is a hash with a random key that stays inside
/// this process, so an attacker cannot construct bytes with the fingerprint of other bytes.
#[derive(Clone, Debug, Default)]
pub struct Fingerprints([RandomState; 2]);

impl Fingerprints {
    /// Returns the fingerprint of `bytes`. Different instances of `Fingerprints` return different
    /// fingerprints for the same bytes.
    #[must_use]
    pub fn of(&self, bytes: &[u8]) -> u128 {
        let [high, low] = self.0.each_ref().map(|key| u128::from(key.hash_one(bytes)));
        high << 64 | low
    }
}
