//! The domain of one part of a match, such as its mask: the values that are still possible for it.

use std::collections::BTreeSet;

use fastrand::Rng;
use num_bigint::BigUint;
use num_traits::{One, Zero};

use crate::bits;
use crate::parser::Comparison;

/// An interval of numbers from which some numbers are excluded.
#[derive(Debug, Clone)]
pub(super) struct Domain {
    low: BigUint,
    high: BigUint,
    excluded: BTreeSet<BigUint>,
}

impl Domain {
    /// Returns the domain of all numbers of `width` bits.
    pub(super) fn of_width(width: u32) -> Self {
        Self { low: BigUint::zero(), high: bits::ones(width), excluded: BTreeSet::new() }
    }

    pub(super) fn only(value: BigUint) -> Self {
        Self { low: value.clone(), high: value, excluded: BTreeSet::new() }
    }

    pub(super) fn low(&self) -> &BigUint {
        &self.low
    }

    pub(super) fn high(&self) -> &BigUint {
        &self.high
    }

    pub(super) fn contains(&self, value: &BigUint) -> bool {
        self.low <= *value && *value <= self.high && !self.excluded.contains(value)
    }

    /// Keeps only the values for which the comparison with `value` holds. Returns `None` if none
    /// remains.
    pub(super) fn narrow(&mut self, comparison: Comparison, value: &BigUint) -> Option<()> {
        match comparison {
            Comparison::Equal => {
                if !self.contains(value) {
                    return None;
                }
                *self = Self::only(value.clone());
            }
            Comparison::NotEqual => {
                self.excluded.insert(value.clone());
            }
            Comparison::Less => {
                if value.is_zero() {
                    return None;
                }
                self.high = self.high.clone().min(value - 1_u32);
            }
            Comparison::LessOrEqual => self.high = self.high.clone().min(value.clone()),
            Comparison::Greater => self.low = self.low.clone().max(value + 1_u32),
            Comparison::GreaterOrEqual => self.low = self.low.clone().max(value.clone()),
        }
        while self.excluded.contains(&self.low) && self.low <= self.high {
            self.low += 1_u32;
        }
        while self.excluded.contains(&self.high) && self.low < self.high {
            self.high -= 1_u32;
        }
        (self.low <= self.high).then_some(())
    }

    /// Draws a value. It is often an end of the interval, because bugs are likely at the ends.
    pub(super) fn draw(&self, random: &mut Rng) -> BigUint {
        match random.u8(0..4) {
            0 => return self.low.clone(),
            1 => return self.high.clone(),
            _ => {}
        }
        let span = &self.high - &self.low + BigUint::one();
        // The remainder of a random number that has more bytes than the span is nearly uniform.
        let bytes = usize::try_from(span.bits() / 8).unwrap_or(0) + 9;
        let drawn: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(bytes).collect();
        let value = &self.low + BigUint::from_bytes_be(&drawn) % span;
        if self.excluded.contains(&value) { self.low.clone() } else { value }
    }
}
