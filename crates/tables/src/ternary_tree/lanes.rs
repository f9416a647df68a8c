//! Eight values under eight masks compared with one word of a key, by the vectors of the processor where it has them.
//!
//! The eight masks lie before the eight values. Words of a block never change while a packet can reach it, so they may be
//! read several at a time, and not as atomics.

use crate::sync::{AtomicU64, Ordering};

/// Values that are compared together.
pub(super) const TOGETHER: usize = 8;

/// Words of as many masks and values.
pub(super) const GROUP: usize = 2 * TOGETHER;

/// A way to compare, which the processor has.
pub(crate) trait Lanes: Copy {
    /// A bit for each of the values among some, themselves a bit each, that the word has under the mask.
    fn fits(self, group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8;
}

/// One after the other, on any processor.
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

/// Four at a time, with AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Clone, Copy)]
pub(crate) struct Four(());

/// All at a time, with AVX-512.
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
        /// # Safety
        /// The processor has AVX2.
        #[inline(always)]
        pub(crate) unsafe fn known() -> Self {
            Self(())
        }
    }

    impl Eight {
        /// # Safety
        /// The processor has AVX-512 F.
        #[inline(always)]
        pub(crate) unsafe fn known() -> Self {
            Self(())
        }
    }

    impl Lanes for Four {
        #[inline(always)]
        fn fits(self, group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8 {
            // SAFETY: the processor has AVX2, or there were no such value.
            unsafe { four(group, word, among) }
        }
    }

    impl Lanes for Eight {
        #[inline(always)]
        fn fits(self, group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8 {
            // SAFETY: the processor has AVX-512 F, or there were no such value.
            unsafe { eight(group, word, among) }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn four(group: &[AtomicU64; GROUP], word: u64, among: u8) -> u8 {
        const HALF: usize = TOGETHER / 2;
        let word = _mm256_set1_epi64x(word.cast_signed());
        let load = |at: usize| {
            // SAFETY: four words from one of the first five pairs of four on are in the group, and nobody writes them.
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
        // SAFETY: a group has eight words and eight more, and nobody writes them.
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
    fn all_ways_to_compare_agree() {
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
                    // SAFETY: as just found out.
                    assert_eq!(unsafe { Four::known() }.fits(&group, word, among), expected);
                } else {
                    eprintln!("SKIPPED: this processor has no AVX2");
                }
                if is_x86_feature_detected!("avx512f") {
                    // SAFETY: as just found out.
                    assert_eq!(unsafe { Eight::known() }.fits(&group, word, among), expected);
                } else {
                    eprintln!("SKIPPED: this processor has no AVX-512");
                }
            }
        }
    }
}
