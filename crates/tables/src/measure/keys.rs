//! The sequence of entries that the operations of a measurement access. Entries are drawn
//! uniformly, in an order that depends only on the seed and the lane (the thread on one core).

/// The smallest number of drawn entries before the sequence repeats, so that small tables show no
/// pattern.
const LEAST: usize = 1 << 15;
/// The largest number of drawn entries before the sequence repeats. Their numbers take eight
/// megabytes, which are read in order.
const MAX: usize = 1 << 21;

/// A random number generator (SplitMix64, Steele et al. 2014), so that no crate is needed.
pub(super) struct Random(u64);

impl Random {
    /// Returns the generator of one lane. Each lane has a different sequence of numbers.
    pub(super) fn new(seed: u64, lane: u64) -> Self {
        let mut random = Self(seed ^ lane.wrapping_mul(0xd605_1395_d67b_6a3d));
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random number below `bound`, which must not be zero.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

/// Returns the numbers of the entries that a lane accesses, drawn from `0..filled`, or from `pool`
/// if the lane has entries of its own.
pub(super) fn draws(seed: u64, lane: u64, filled: u32, pool: Option<&[u32]>) -> Vec<u32> {
    let entries = pool.map_or(filled, |pool| pool.len() as u32);
    let count = (2 * entries as usize).clamp(LEAST, MAX);
    let mut random = Random::new(seed, lane);
    let draw = || {
        let drawn = random.below(entries);
        pool.map_or(drawn, |pool| pool[drawn as usize])
    };
    std::iter::repeat_with(draw).take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_and_lanes_differ() {
        assert_eq!(draws(1, 0, 1000, None), draws(1, 0, 1000, None));
        assert_ne!(draws(1, 0, 1000, None), draws(2, 0, 1000, None));
        assert_ne!(draws(1, 0, 1000, None), draws(1, 1, 1000, None));
    }

    #[test]
    fn draws_are_even_and_stay_in_their_pool() {
        let mut counts = [0_u32; 8];
        for draw in draws(7, 0, 8, None) {
            counts[draw as usize] += 1;
        }
        // Each count is 4,096 on average; six standard deviations are 360.
        assert!(counts.iter().all(|&count| count.abs_diff(4096) < 360), "{counts:?}");
        assert!(draws(7, 0, 8, Some(&[3, 5])).iter().all(|draw| [3, 5].contains(draw)));
        assert_eq!(draws(7, 0, 1, None)[..4], [0; 4]);
    }
}
