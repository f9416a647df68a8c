//! The size of the last-level cache, measured by the latency of dependent accesses.
//!
//! Processors report the size of their last-level cache, but a guest of a hypervisor may get only a
//! part of it: the hypervisor divides the cache among guests, or reports that of another machine.
//! Only latency shows what a program can use. Accesses in random order to a region that fits into
//! the cache have the latency of the cache. In a larger region, a share of the accesses has the
//! latency of memory.
//!
//! [`next_step`] chooses which size to measure next, and finds the cache in the latencies so far.
//! It does arithmetic only. [`measure`] makes the measurements that [`next_step`] returns.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::machine::{self, Cache};

/// The share of accesses that must miss for a region to count as larger than the cache. A cache
/// with random replacement misses this share in a region of 1.33 times its size. A cache that
/// replaces the least recently used line misses nearly always once a region is larger than the
/// cache.
const MISSING: f64 = 0.25;
/// The smallest ratio of latencies that counts as the rise from the cache to memory. A smaller rise
/// may be noise, or an effect of address translation.
const RISE: f64 = 1.5;
/// The largest ratio of the latencies of two regions, one twice as large as the other, at which the
/// latency counts as settled: it no longer rises because nearly all accesses go to memory.
const SETTLED: f64 = 1.15;
/// The latency in nanoseconds from which on a region counts as larger than any cache. The last-level
/// caches of today take less than 80 ns, also those of large processors.
const MEMORY: f64 = 100.0;
/// The number of times that the smallest region is measured if it has the latency of memory, which
/// another program may cause that uses the cache at that moment.
const ATTEMPTS: usize = 3;
/// The ratio of [`LastLevel::exceeds`] to [`LastLevel::fits`] at which the bisection ends.
const RESOLUTION: f64 = 1.06;
/// The number of searches for the size of the cache, of whose results the median is used.
const SEARCHES: usize = 3;
/// The unit in which sizes of regions are measured, in bytes.
const UNIT: usize = 64 << 10;
/// The time for which accesses to a region of one size are measured.
const TIME: Duration = Duration::from_millis(40);
/// The largest size in bytes that is measured, if memory suffices.
const MAX: usize = 1 << 30;

/// The measured latency of dependent accesses to a region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The size of the region in bytes.
    pub bytes: usize,
    /// The time of an access in nanoseconds.
    pub nanoseconds: f64,
}

/// The size and latency of the last-level cache, found by measuring the latency of regions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LastLevel {
    /// The largest measured size in bytes that fits the cache.
    pub fits: usize,
    /// The smallest measured size in bytes that does not fit the cache.
    pub exceeds: usize,
    /// The least latency of a region that fits the cache, in nanoseconds.
    pub inside: f64,
    /// The latency of the largest measured region, in nanoseconds.
    pub beyond: f64,
}

impl LastLevel {
    /// Returns the size of the cache in bytes: the geometric mean of the largest measured size that
    /// fits the cache and the smallest that does not.
    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.fits as f64 * self.exceeds as f64).sqrt() as usize
    }
}

/// The next step of the search for the last-level cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// The latency of a region of this many bytes must be measured.
    Measure(usize),
    /// The cache was found.
    Found(LastLevel),
    /// No cache was found: latency does not rise up to the largest permitted size, or even the
    /// smallest permitted size has the latency of memory.
    NoRise,
}

/// The sizes among which the last-level cache is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The smallest size to measure, in bytes. It must be larger than the second-to-last cache.
    pub least: usize,
    /// The largest size to measure, in bytes.
    pub most: usize,
}

/// Returns the next step of the search, from the latencies that were measured so far. Sizes double
/// until the latency has risen and settled at the latency of memory. Then bisection finds the
/// largest size that fits the cache. If even the smallest region has the latency of memory, no
/// larger ones are measured.
#[must_use]
pub fn next_step(points: &[Point], sizes: Sizes) -> Step {
    let mut points = points.to_vec();
    points.sort_by_key(|point| point.bytes);
    let Some(largest) = points.last() else { return Step::Measure(sizes.least) };
    let inside = points.iter().map(|point| point.nanoseconds).fold(f64::INFINITY, f64::min);
    if inside >= MEMORY {
        return match points.len() < ATTEMPTS {
            true => Step::Measure(sizes.least),
            false => Step::NoRise,
        };
    }
    let has_risen = |point: &Point| point.nanoseconds >= RISE * inside;
    let half = points.iter().rev().find(|point| point.bytes <= largest.bytes / 2);
    let has_settled = half
        .is_some_and(|half| has_risen(half) && largest.nanoseconds <= SETTLED * half.nanoseconds);
    if !has_settled && largest.bytes.saturating_mul(2) <= sizes.most {
        return Step::Measure(largest.bytes * 2);
    }
    if !has_risen(largest) {
        return Step::NoRise;
    }
    let limit = inside + MISSING * (largest.nanoseconds - inside);
    let Some(at) = points.iter().position(|point| point.nanoseconds > limit) else {
        return Step::NoRise;
    };
    let Some(fits) = at.checked_sub(1).and_then(|before| points.get(before)) else {
        // Even the smallest region does not fit, so there is no further cache.
        return Step::NoRise;
    };
    let (fits, exceeds) = (fits.bytes, points[at].bytes);
    let middle = (fits as f64 * exceeds as f64).sqrt() as usize / UNIT * UNIT;
    if exceeds as f64 <= RESOLUTION * fits as f64 || middle <= fits {
        return Step::Found(LastLevel { fits, exceeds, inside, beyond: largest.nanoseconds });
    }
    Step::Measure(middle)
}

/// Measures the last-level cache of the core on which the calling thread runs. `caches` holds the
/// caches that the kernel reports, nearest first. Returns `None` if no cache larger than the
/// second-to-last of these is found, if memory does not suffice, or if the measurement is
/// interrupted.
///
/// The share of the cache that other programs and guests use varies. Therefore the size is
/// determined three times, and the median is returned.
#[must_use]
pub fn measure(caches: &[Cache], interrupt: &AtomicBool) -> Option<LastLevel> {
    let available = machine::available_memory().unwrap_or(MAX);
    let before_last = caches.iter().rev().nth(1).map_or(1 << 20, |cache| cache.bytes);
    let least = (before_last * 3 / 2).next_multiple_of(UNIT);
    let sizes = Sizes { least, most: MAX.min(available / 4) };
    let mut points: Vec<Point> = Vec::new();
    let mut found = Vec::new();
    while found.len() < SEARCHES {
        match next_step(&points, sizes) {
            Step::Measure(bytes) => {
                // Other processes only add to the latency, so the fastest round is used.
                let nanoseconds = machine::latency(bytes, TIME, interrupt)?.nanoseconds;
                points.push(Point { bytes, nanoseconds });
            }
            Step::Found(one) => {
                found.push(one);
                // The next search measures only the sizes of the bisection again.
                points.retain(|point| {
                    let doublings = point.bytes / sizes.least;
                    doublings.is_power_of_two() && doublings * sizes.least == point.bytes
                });
            }
            Step::NoRise => return None,
        }
    }
    found.sort_by_key(LastLevel::bytes);
    found.get(SEARCHES / 2).copied()
}

/// Returns the caches that the kernel reports, with the size of the last one replaced by the
/// measured size. The last cache is that with the highest level.
#[must_use]
pub fn with_measured(mut caches: Vec<Cache>, measured: Option<LastLevel>) -> Vec<Cache> {
    if let (Some(last), Some(measured)) = (caches.last_mut(), measured) {
        last.claimed = Some(last.bytes);
        last.bytes = measured.bytes();
    }
    caches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZES: Sizes = Sizes { least: 3 << 20, most: 1 << 30 };

    /// A synthetic memory hierarchy.
    #[derive(Debug, Clone, Copy)]
    struct Memory {
        cache: usize,
        inside: f64,
        beyond: f64,
        is_random: bool,
    }

    impl Memory {
        /// Returns the latency of a region. A cache that replaces lines at random keeps a share of
        /// a larger region. Otherwise a cycle through a larger region misses always.
        fn latency(self, bytes: usize) -> f64 {
            let kept = match (bytes <= self.cache, self.is_random) {
                (true, _) => 1.0,
                (false, true) => self.cache as f64 / bytes as f64,
                (false, false) => 0.0,
            };
            kept * self.inside + (1.0 - kept) * self.beyond
        }

        /// Searches for the size of the cache, with simulated latencies that vary by up to `noise`
        /// around those of the hierarchy. Returns the last step, and the number of measured sizes.
        fn search(self, noise: f64, seed: u64) -> (Step, usize) {
            let mut points = Vec::new();
            let mut state = seed | 1;
            loop {
                match next_step(&points, SIZES) {
                    Step::Measure(bytes) => {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        let unit = state as f64 / u64::MAX as f64;
                        let factor = 1.0 + noise * (2.0 * unit - 1.0);
                        points.push(Point { bytes, nanoseconds: self.latency(bytes) * factor });
                        assert!(points.len() < 40, "{self:?} does not end: {points:?}");
                    }
                    end => return (end, points.len()),
                }
            }
        }
    }

    fn found(step: Step) -> LastLevel {
        match step {
            Step::Found(found) => found,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_cache_of_10_and_a_half_mib_is_found() {
        let memory = Memory { cache: 21 << 19, inside: 38.0, beyond: 94.0, is_random: false };
        let (step, measured) = memory.search(0.0, 1);
        let found = found(step);
        assert!(found.fits <= memory.cache && memory.cache < found.exceeds, "{found:?}");
        assert_eq!((found.inside, found.beyond), (38.0, 94.0));
        assert!((10 << 20..11 << 20).contains(&found.bytes()) && measured < 16, "{found:?}");
    }

    #[test]
    fn no_cache_is_found_where_latency_does_not_rise() {
        let flat = Memory { cache: 2 << 30, inside: 40.0, beyond: 95.0, is_random: false };
        assert_eq!(flat.search(0.05, 3).0, Step::NoRise);
        // The smallest region lies in memory already.
        let none = Memory { cache: 1 << 20, inside: 40.0, beyond: 95.0, is_random: false };
        assert_eq!(none.search(0.05, 3).0, Step::NoRise);
        // Its latency shows that at once, and no large region is measured.
        let slow = Memory { beyond: 140.0, ..none };
        assert_eq!(slow.search(0.05, 3), (Step::NoRise, ATTEMPTS));
    }

    #[test]
    fn a_region_that_another_program_displaced_is_measured_again() {
        let first = Point { bytes: SIZES.least, nanoseconds: 120.0 };
        assert_eq!(next_step(&[first], SIZES), Step::Measure(SIZES.least));
        let again = Point { nanoseconds: 35.0, ..first };
        assert_eq!(next_step(&[first, again], SIZES), Step::Measure(2 * SIZES.least));
    }

    #[test]
    fn the_measured_size_replaces_that_of_the_last_cache_only() {
        let cache = |level, bytes| Cache { level, bytes, claimed: None };
        let caches = vec![cache(2, 2 << 20), cache(3, 480 << 20)];
        let measured = LastLevel { fits: 10 << 20, exceeds: 10 << 20, inside: 1.0, beyond: 2.0 };
        assert_eq!(with_measured(caches.clone(), None), caches);
        let found = with_measured(caches, Some(measured));
        assert_eq!((found[0].bytes, found[0].claimed), (2 << 20, None));
        assert_eq!((found[1].bytes, found[1].claimed), (10 << 20, Some(480 << 20)));
        assert_eq!(
            found[1].to_string(),
            "L3 10240 KiB (measured by latency; the processor says 491520 KiB)"
        );
    }

    proptest! {
        /// The search finds the size of any cache with the accuracy that it aims at: the true size
        /// if the cache replaces the least recently used line, and up to 1.33 times the size if it
        /// replaces lines at random. Noise of 3 % changes the result by a few per cent more.
        #[test]
        fn the_end_of_a_cache_is_found(
            cache in (4usize << 20)..(200 << 20),
            inside in 20.0f64..60.0,
            rise in 1.8f64..5.0,
            is_random in any::<bool>(),
            seed in any::<u64>(),
        ) {
            let memory = Memory { cache, inside, beyond: inside * rise, is_random };
            let found = found(memory.search(0.03, seed).0);
            let ratio = found.bytes() as f64 / cache as f64;
            let most = if is_random { 1.6 } else { 1.07 };
            prop_assert!((0.93..most).contains(&ratio), "{} of {:?}", ratio, memory);
        }
    }
}
