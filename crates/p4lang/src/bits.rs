//! Fixed-width integers: the values of `bit<W>` and `int<W>`.
//!
//! Constant folding in the checker and every way to run a program must agree to the bit, so the
//! arithmetic lives here once. A value is a width, a signedness and the two's complement pattern
//! in little-endian words; a pattern never has a bit set at or above its width, so equality is
//! structural. P4_16 allows `bit<0>`, which holds only zero.

use serde::{Deserialize, Serialize};

/// A value of type `bit<W>` or `int<W>` (P4_16 specification, sections 7.1.6.2 and 7.1.6.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bits {
    width: u32,
    signed: bool,
    /// Little-endian; exactly as many words as the width needs, at least one.
    words: Words,
}

/// Nearly all fields of real protocols fit 128 bits; wider ones are kept on the heap.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Words {
    Small(u128),
    Large(Box<[u64]>),
}

impl Bits {
    /// `value` modulo 2^`width`, as `bit<width>`.
    #[must_use]
    pub fn unsigned(width: u32, value: u128) -> Self {
        Self::from_pattern(width, false, value)
    }

    /// `value` modulo 2^`width`, as `int<width>`.
    #[must_use]
    pub fn signed(width: u32, value: i128) -> Self {
        let mut bits = Self::from_pattern(width, true, value.cast_unsigned());
        if let Words::Large(words) = &mut bits.words
            && value < 0
        {
            for word in &mut words[2..] {
                *word = u64::MAX;
            }
            bits.clear_above_width();
        }
        bits
    }

    fn from_pattern(width: u32, signed: bool, pattern: u128) -> Self {
        let words = if width <= 128 {
            let mask = if width == 128 { u128::MAX } else { (1_u128 << width) - 1 };
            Words::Small(pattern & mask)
        } else {
            let mut words = vec![0_u64; width.div_ceil(64) as usize].into_boxed_slice();
            words[0] = pattern as u64;
            words[1] = (pattern >> 64) as u64;
            Words::Large(words)
        };
        Self { width, signed, words }
    }

    fn clear_above_width(&mut self) {
        let used = self.width % 64;
        if let Words::Large(words) = &mut self.words
            && used != 0
            && let Some(last) = words.last_mut()
        {
            *last &= (1 << used) - 1;
        }
    }

    /// Number of bits.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Whether this is an `int<W>`.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.signed
    }

    /// The pattern as an unsigned number, if it fits 128 bits.
    #[must_use]
    pub fn to_u128(&self) -> Option<u128> {
        match &self.words {
            Words::Small(pattern) => Some(*pattern),
            Words::Large(words) => words[2..]
                .iter()
                .all(|word| *word == 0)
                .then(|| u128::from(words[0]) | u128::from(words[1]) << 64),
        }
    }
}
