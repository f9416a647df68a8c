//! Chooses the values of bits that a query leaves open.

use crate::term::{InputId, Origin, Source, Terms};
use ir::bits::Bits;

/// The rule for the values of bits that a query leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The bits are zero.
    Zeros,
    /// The bits are random. They depend only on this seed and on the origin of the input.
    Random(u64),
}

impl Fill {
    /// Returns the value of an input of which no query mentions any bit.
    #[must_use]
    pub fn value(self, terms: &Terms, input: InputId) -> Bits {
        let input = terms.input_of(input);
        match self {
            Self::Zeros => Bits::zero(input.width, false),
            Self::Random(seed) => {
                let words = input.width.div_ceil(64);
                let bytes: Vec<u8> = (0..words)
                    .rev()
                    .flat_map(|word| random_word(seed, input.origin, word).to_be_bytes())
                    .collect();
                Bits::from_be_bytes(input.width, false, &bytes)
            }
        }
    }

    /// Returns the value that the solver should prefer for a bit of an input. There is no
    /// preference for zeros, because batsat tries zero first anyway.
    pub(super) fn preference(self, origin: Origin, position: u32) -> Option<bool> {
        match self {
            Self::Zeros => None,
            Self::Random(seed) => {
                Some(random_word(seed, origin, position / 64) >> (position % 64) & 1 == 1)
            }
        }
    }
}

/// Returns 64 random bits of an input. `word` says which: the first 64 are word 0.
fn random_word(seed: u64, origin: Origin, word: u32) -> u64 {
    let kind = match origin.source {
        Source::Chosen => 0,
        Source::Undefined => 1,
    };
    [origin.id, kind, u64::from(word)].into_iter().fold(seed, |state, next| mixed(state ^ next))
}

/// Mixes the bits of a number by SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014).
fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}
