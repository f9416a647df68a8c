//! The random decisions of a mutator.

/// A small pseudo-random number generator (SplitMix64, Steele et al., OOPSLA 2014).
pub struct Random(u64);

impl Random {
    /// Creates a generator. The same seed produces the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates a generator whose numbers depend on all of `data`.
    pub fn of(data: &[u8]) -> Self {
        Self(data.iter().fold(data.len() as u64, |sum, byte| {
            (sum.rotate_left(7) ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        }))
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, or zero if `bound` is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }

    /// Returns an element of `list`, which must not be empty.
    pub fn pick<'list, T>(&mut self, list: &'list [T]) -> &'list T {
        &list[self.below(list.len())]
    }
}
