//! Compares eight values under eight masks with one word of a key, by vector instructions if the
//! processor has them. The leaves of the tree use it.
//!
//! The eight masks precede the eight values. The words of a block never change while a packet can
//! reach the block, so several may be read at a time, without atomics.

use crate::sync::{AtomicU64, Ordering};

/// The number of values that are compared together.
pub(super) const TOGETHER: usize = 8;

/// The number of words of [`TOGETHER`] masks and values.
pub(super) const GROUP: usize = 2 * TOGETHER;

/// A method to compare eight masked values at once that the processor supports.
pub(crate) trait Lanes: Copy {
    /// Compares a word of a key with eight values under their masks. Returns a mask with a bit for
    /// each value that equals it, among the values whose bits are set in `among`.
    fn fits(self, group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8;
}

/// Comparison of one value after the other, on any processor.
#[derive(Clone, Copy)]
pub(crate) struct OneByOne;

impl Lanes for OneByOne {
    #[inline(always)]
    fn fits(self, group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8 {
        let load = |at: usize| group[at].load(Ordering::Relaxed);
        let fits = (0..TOGETHER)
            .fold(0, |fits, at| fits | u8::from(word & load(at) == load(TOGETHER + at)) << at);
        fits & among
    }
}

/// Comparison of four values at a time, with AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy)]
pub(crate) struct Four(());

/// Comparison of all eight values at a time, with AVX-512.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy)]
pub(crate) struct Eight(());

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vectors {
    use super::{AtomicU64, Eight, Four, GROUP, Lanes, TOGETHER};
    use std::arch::x86_64::{
        _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_loadu_si256,
        _mm256_movemask_pd, _mm256_set1_epi64x, _mm512_and_si512, _mm512_loadu_si512,
        _mm512_mask_cmpeq_epi64_mask, _mm512_set1_epi64,
    };

    impl Four {
        /// Returns the method without checking that the processor has AVX2.
        ///
        /// # Safety
        /// The processor must have AVX2.
        #[inline(always)]
        pub(crate) unsafe fn known() -> Self {
            Self(())
        }
    }

    impl Eight {
        /// Returns the method without checking that the processor has AVX-512.
        ///
        /// # Safety
        /// The processor must have AVX-512 F.
        #[inline(always)]
        pub(crate) unsafe fn known() -> Self {
            Self(())
        }
    }

    impl Lanes for Four {
        #[inline(always)]
        fn fits(self, group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8 {
            // SAFETY: a `Four` exists only if the processor has AVX2.
            unsafe { four(group, word, among) }
        }
    }

    impl Lanes for Eight {
        #[inline(always)]
        fn fits(self, group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8 {
            // SAFETY: an `Eight` exists only if the processor has AVX-512 F.
            unsafe { eight(group, word, among) }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn four(group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8 {
        const HALF: usize = TOGETHER / 2;
        let word = _mm256_set1_epi64x(word.cast_signed());
        let load = |at: usize| {
            // SAFETY: `at` is 0, 4, 8 or 12, so the four words are in the group of 16, and no
            // thread writes them.
            unsafe { _mm256_loadu_si256(group.as_ptr().add(at).cast()) }
        };
        let half = |at: usize| {
            let differs = _mm256_and_si256(word, load(at));
            let equal = _mm256_cmpeq_epi64(differs, load(TOGETHER + at));
            _mm256_movemask_pd(_mm256_castsi256_pd(equal)) as u8
        };
        (half(0) | half(HALF) << HALF) & among
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn eight(group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8 {
        let word = _mm512_set1_epi64(word.cast_signed());
        // SAFETY: a group has eight masks and eight values, and no thread writes them.
        let (masks, values) = unsafe {
            let words = group.as_ptr();
            (_mm512_loadu_si512(words.cast()), _mm512_loadu_si512(words.add(TOGETHER).cast()))
        };
        _mm512_mask_cmpeq_epi64_mask(among, _mm512_and_si512(word, masks), values)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_comparison_methods_agree() {
        let mut random = fastrand::Rng::with_seed(0x1234_5678_9abc_def1);
        for _ in 0..1000 {
            let word = random.u64(..);
            let masks: [u64; TOGETHER] = std::array::from_fn(|_| random.u64(..) & random.u64(..));
            let group: [AtomicU64; GROUP] = std::array::from_fn(|at| {
                AtomicU64::new(match at.checked_sub(TOGETHER) {
                    None => masks[at],
                    Some(at) if random.bool() => word & masks[at],
                    Some(at) => (word ^ 1 << random.u32(..64)) & masks[at],
                })
            });
            let among = random.u8(..);
            let expected = (0..TOGETHER).filter(|at| {
                let value = group[TOGETHER + at].load(Ordering::Relaxed);
                among >> at & 1 == 1 && word & masks[*at] == value
            });
            let expected = expected.fold(0_u8, |bits, at| bits | 1 << at);
            assert_eq!(OneByOne.fits(&group, word, among), expected);
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            {
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2, as was just detected.
                    assert_eq!(unsafe { Four::known() }.fits(&group, word, among), expected);
                } else {
                    eprintln!("SKIPPED: this processor has no AVX2");
                }
                if is_x86_feature_detected!("avx512f") {
                    // SAFETY: the processor has AVX-512 F, as was just detected.
                    assert_eq!(unsafe { Eight::known() }.fits(&group, word, among), expected);
                } else {
                    eprintln!("SKIPPED: this processor has no AVX-512");
                }
            }
        }
    }
}
