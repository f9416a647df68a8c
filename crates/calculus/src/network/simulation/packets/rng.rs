//! Generates pseudo-random numbers from a seed. The numbers are the same on every machine.

use crate::Rational;

/// A generator of pseudo-random numbers (SplitMix64: Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn of(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a pseudo-random number in `0..end`, or 0 if `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    /// Returns true with a probability of 1 / `times`.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns a pseudo-random multiple of `time` / 64 that is below `time`.
    pub(super) fn moment_within(&mut self, time: &Rational) -> Rational {
        time * &Rational::ratio(i64::try_from(self.below(64)).unwrap_or(0), 64)
    }

    /// Returns a pseudo-random multiple of `whole` / 16, from 0 to `whole`.
    pub(super) fn part_of(&mut self, whole: &Rational) -> Rational {
        let sixteenths = i64::try_from(self.below(17)).unwrap_or(0);
        whole * &Rational::ratio(sixteenths, 16)
    }
}
