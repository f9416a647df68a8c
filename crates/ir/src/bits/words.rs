//! The bit patterns of [`Bits`](super::Bits): unsigned multi-word arithmetic.

use std::cmp::Ordering;

/// A bit pattern. Patterns of up to 128 bits, which nearly all fields of real protocols have, are
/// stored inline; wider ones are stored on the heap. The width alone decides which variant is used,
/// so the derived equality holds for patterns of one width.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Words {
    /// A pattern of at most 128 bits, in little-endian words.
    Small([u64; 2]),
    /// A pattern of more than 128 bits, in little-endian words. The width determines the number of
    /// words.
    Large(Box<[u64]>),
}

/// Returns a mask whose `width` lowest bits are set.
fn low_bits(width: u32) -> u128 {
    u128::MAX.checked_shr(128_u32.saturating_sub(width)).unwrap_or(0)
}

impl Words {
    pub(super) fn zero(width: u32) -> Self {
        if width <= 128 {
            Self::Small([0; 2])
        } else {
            Self::Large(vec![0; width.div_ceil(64) as usize].into_boxed_slice())
        }
    }

    pub(super) fn from_u128(width: u32, pattern: u128) -> Self {
        if width <= 128 {
            return Self::Small(halves(pattern & low_bits(width)));
        }
        let mut words = Self::zero(width);
        for (word, value) in words.as_mut_slice().iter_mut().zip(halves(pattern)) {
            *word = value;
        }
        words.clear_from(width);
        words
    }

    pub(super) fn as_slice(&self) -> &[u64] {
        match self {
            Self::Small(words) => words,
            Self::Large(words) => words,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [u64] {
        match self {
            Self::Small(words) => words,
            Self::Large(words) => words,
        }
    }

    pub(super) fn to_u128(&self) -> Option<u128> {
        let mut words = self.as_slice().iter();
        let low = u128::from(*words.next().unwrap_or(&0));
        let high = u128::from(*words.next().unwrap_or(&0));
        words.all(|word| *word == 0).then_some(low | high << 64)
    }

    pub(super) fn bit(&self, position: u32) -> bool {
        self.as_slice()
            .get(position as usize / 64)
            .is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    pub(super) fn set_bit(&mut self, position: u32, value: bool) {
        if let Some(word) = self.as_mut_slice().get_mut(position as usize / 64) {
            let mask = 1 << (position % 64);
            *word = if value { *word | mask } else { *word & !mask };
        }
    }

    /// Clears the bits at position `width` and above.
    pub(super) fn clear_from(&mut self, width: u32) {
        self.each_mask_from(width, |word, mask| *word &= !mask);
    }

    /// Sets the bits from `low` up to, but not including, `width`.
    pub(super) fn fill_from(&mut self, low: u32, width: u32) {
        if low < width {
            self.each_mask_from(low, |word, mask| *word |= mask);
            self.clear_from(width);
        }
    }

    fn each_mask_from(&mut self, low: u32, change: impl Fn(&mut u64, u64)) {
        let first = low as usize / 64;
        for (position, word) in self.as_mut_slice().iter_mut().enumerate().skip(first) {
            change(word, if position == first { u64::MAX << (low % 64) } else { u64::MAX });
        }
    }

    /// Overwrites the low bits with little-endian bytes, and clears the bits at `width` and above.
    pub(super) fn copy_le_bytes(&mut self, bytes: &[u8], width: u32) {
        for (word, chunk) in self.as_mut_slice().iter_mut().zip(bytes.chunks(8)) {
            let mut full = [0; 8];
            for (to, from) in full.iter_mut().zip(chunk) {
                *to = *from;
            }
            *word = u64::from_le_bytes(full);
        }
        self.clear_from(width);
    }

    /// Returns the low `width` bits of the pattern as a pattern of that width.
    pub(super) fn resized(&self, width: u32) -> Self {
        if let Self::Small([low, high]) = self
            && width <= 128
        {
            let pattern = u128::from(*low) | u128::from(*high) << 64;
            return Self::Small(halves(pattern & low_bits(width)));
        }
        let mut words = Self::zero(width);
        for (to, from) in words.as_mut_slice().iter_mut().zip(self.as_slice()) {
            *to = *from;
        }
        words.clear_from(width);
        words
    }

    /// Returns the pattern that results from applying `combine` to each pair of words at the same
    /// position in `self` and `other`.
    pub(super) fn combined(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let mut words = self.clone();
        for (word, right) in words.as_mut_slice().iter_mut().zip(other.as_slice()) {
            *word = combine(*word, *right);
        }
        words
    }

    /// Returns whether `self` and `other` are equal in all bits that are set in `mask`. All three
    /// patterns must have the same width.
    pub(super) fn matches_under(&self, other: &Self, mask: &Self) -> bool {
        let at = |words: &[u64], position: usize| words.get(position).copied().unwrap_or(0);
        let (others, masks) = (other.as_slice(), mask.as_slice());
        let words = self.as_slice().iter().enumerate();
        words.fold(0, |differing, (position, word)| {
            differing | (word ^ at(others, position)) & at(masks, position)
        }) == 0
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        self.carried(other, |left, right, carry| {
            let (sum, first) = left.overflowing_add(right);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (sum, first || second)
        })
    }

    pub(super) fn subtract(&self, other: &Self) -> Self {
        self.carried(other, |left, right, borrow| {
            let (difference, first) = left.overflowing_sub(right);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            (difference, first || second)
        })
    }

    fn carried(&self, other: &Self, step: impl Fn(u64, u64, bool) -> (u64, bool)) -> Self {
        let mut words = self.clone();
        let mut carry = false;
        for (word, right) in words.as_mut_slice().iter_mut().zip(other.as_slice()) {
            (*word, carry) = step(*word, *right, carry);
        }
        words
    }

    pub(super) fn multiply(&self, other: &Self) -> Self {
        if let (Self::Small(_), Some(left), Some(right)) = (self, self.to_u128(), other.to_u128()) {
            return Self::Small(halves(left.wrapping_mul(right)));
        }
        let mut product = Self::zero(self.capacity());
        for (shift, left) in self.as_slice().iter().enumerate() {
            let mut carry = 0;
            let columns = product.as_mut_slice().iter_mut().skip(shift);
            for (word, right) in columns.zip(other.as_slice()) {
                let sum = u128::from(*left) * u128::from(*right) + u128::from(*word) + carry;
                *word = sum as u64;
                carry = sum >> 64;
            }
        }
        product
    }

    fn capacity(&self) -> u32 {
        u32::try_from(self.as_slice().len()).unwrap_or(u32::MAX / 64) * 64
    }

    pub(super) fn shifted_left(&self, amount: u32) -> Self {
        let (whole, part) = (amount as usize / 64, amount % 64);
        self.gathered(|words, position| {
            let at = |back: usize| {
                position.checked_sub(back).and_then(|from| words.get(from)).copied().unwrap_or(0)
            };
            joined(at(whole), at(whole + 1), 64 - part)
        })
    }

    pub(super) fn shifted_right(&self, amount: u32) -> Self {
        let (whole, part) = (amount as usize / 64, amount % 64);
        self.gathered(|words, position| {
            let at = |ahead: usize| words.get(position + ahead).copied().unwrap_or(0);
            joined(at(whole + 1), at(whole), part)
        })
    }

    fn gathered(&self, word_at: impl Fn(&[u64], usize) -> u64) -> Self {
        let mut words = self.clone();
        for (position, word) in words.as_mut_slice().iter_mut().enumerate() {
            *word = word_at(self.as_slice(), position);
        }
        words
    }

    /// Compares the patterns as unsigned numbers. Their widths may differ.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let (left, right) = (self.as_slice(), other.as_slice());
        let at = |words: &[u64], position| words.get(position).copied().unwrap_or(0);
        (0..left.len().max(right.len()))
            .rev()
            .map(|position| at(left, position).cmp(&at(right, position)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

fn halves(pattern: u128) -> [u64; 2] {
    [pattern as u64, (pattern >> 64) as u64]
}

/// Concatenates `high` and `low` to a 128-bit number, shifts it right by `shift` bits (0 to 64),
/// and returns the low 64 bits of the result.
fn joined(high: u64, low: u64, shift: u32) -> u64 {
    ((u128::from(high) << 64 | u128::from(low)) >> shift) as u64
}
