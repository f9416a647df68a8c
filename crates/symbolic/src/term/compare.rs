//! Constructors of terms for comparisons.

use super::{Operation, Term, Terms};
use ir::bits::Bits;
use std::cmp::Ordering;

/// The largest depth of nested choices to which a comparison with a constant is pushed down.
const DEPTH: usize = 256;

impl Terms {
    /// Returns whether two terms are equal, as a condition.
    pub fn equal(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        self.equal_within(left, right, DEPTH)
    }

    /// Returns whether two terms differ, as a condition.
    pub fn not_equal(&mut self, left: Term, right: Term) -> Term {
        let equal = self.equal(left, right);
        self.not(equal)
    }

    fn equal_within(&mut self, left: Term, right: Term, depth: usize) -> Term {
        if left == right {
            return self.truth(true);
        }
        if self.constants_of(left, right).is_some() || self.opposite(left, right) {
            return self.truth(false);
        }
        if self.width_of(left) == 1 {
            let differ = self.xor(left, right);
            return self.not(differ);
        }
        if matches!(self.operation(left), Operation::Concatenate(..))
            || matches!(self.operation(right), Operation::Concatenate(..))
        {
            return self.equal_pieces(left, right, depth);
        }
        for (constant, other) in [(left, right), (right, left)] {
            let Some(value) = self.constant_of(constant).cloned() else { continue };
            match self.operation(other) {
                Operation::Not(inner) => {
                    let value = self.literal(value.complement());
                    return self.equal_within(inner, value, depth);
                }
                Operation::Add(a, b) | Operation::Xor(a, b) => {
                    let added = matches!(self.operation(other), Operation::Add(..));
                    for (known, rest) in [(a, b), (b, a)] {
                        let Some(known) = self.constant_of(known) else { continue };
                        let wanted =
                            if added { value.wrapping_sub(known) } else { value.bit_xor(known) };
                        let wanted = self.literal(wanted);
                        return self.equal_within(rest, wanted, depth);
                    }
                }
                Operation::SignExtend(inner) => {
                    let width = self.width_of(inner);
                    let low = value.cast(width, true);
                    if low.cast(value.width(), false) != value {
                        return self.truth(false);
                    }
                    let low = self.constant(&low);
                    return self.equal_within(inner, low, depth);
                }
                Operation::IfThenElse { condition, then, otherwise } if depth > 0 => {
                    let constant_side =
                        self.constant_of(then).is_some() || self.constant_of(otherwise).is_some();
                    if constant_side {
                        let then = self.equal_within(then, constant, depth - 1);
                        let otherwise = self.equal_within(otherwise, constant, depth - 1);
                        return self.if_then_else(condition, then, otherwise);
                    }
                }
                _ => {}
            }
        }
        let (left, right) = self.ordered(left, right);
        self.intern(Operation::Equal(left, right), 1)
    }

    /// Returns whether two terms are equal, compared piece by piece. One of them must be a
    /// concatenation.
    fn equal_pieces(&mut self, left: Term, right: Term, depth: usize) -> Term {
        let mut seams: Vec<u32> = Vec::new();
        for side in [left, right] {
            let mut offset = 0;
            for piece in self.pieces(side) {
                offset += self.width_of(piece);
                seams.push(offset);
            }
        }
        seams.sort_unstable();
        seams.dedup();
        let mut all = self.truth(true);
        let mut low = 0;
        for end in seams {
            let (left, right) =
                (self.extract(left, end - 1, low), self.extract(right, end - 1, low));
            let equal = self.equal_within(left, right, depth);
            all = self.and(all, equal);
            low = end;
            if self.truth_of(all) == Some(false) {
                break;
            }
        }
        all
    }

    /// Returns whether `left < right` as unsigned numbers, as a condition.
    pub fn less(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        if let Some((left, right)) = self.constants_of(left, right) {
            return self.truth(left.compare(&right) == Ordering::Less);
        }
        if left == right || self.is_zero(right) || self.is_ones(left) {
            return self.truth(false);
        }
        if self.is_zero(left) {
            return self.not_equal(right, left);
        }
        if self.is_ones(right) {
            return self.not_equal(left, right);
        }
        let width = self.width_of(left);
        if width == 1 {
            let not = self.not(left);
            return self.and(not, right);
        }
        if self.constant_of(right).is_some_and(|value| value.to_u64() == Some(1)) {
            let zero = self.zero(width);
            return self.equal(left, zero);
        }
        // Zeros above, or equal bits above, decide nothing.
        let (left_top, right_top) = (self.top_piece(left), self.top_piece(right));
        let shared = self.width_of(left_top).min(self.width_of(right_top));
        if shared < width {
            let (left_high, right_high) = (
                self.extract(left, width - 1, width - shared),
                self.extract(right, width - 1, width - shared),
            );
            let known = self.constants_of(left_high, right_high);
            if left_high == right_high {
                let left = self.resize(left, width - shared);
                let right = self.resize(right, width - shared);
                return self.less(left, right);
            }
            if let Some((left, right)) = known {
                return self.truth(left.compare(&right) == Ordering::Less);
            }
        }
        self.intern(Operation::Less(left, right), 1)
    }

    /// Returns the most significant piece of a term. A constant can be split anywhere, so it is a
    /// single piece.
    fn top_piece(&self, of: Term) -> Term {
        let mut rest = of;
        while let Operation::Concatenate(high, _) = self.operation(rest) {
            rest = high;
        }
        rest
    }

    /// Returns whether `left <= right` as unsigned numbers, as a condition.
    pub fn less_or_equal(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        let greater = self.less(right, left);
        self.not(greater)
    }

    /// Returns whether `left < right` as signed numbers, as a condition.
    pub fn less_signed(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        // With the sign bits inverted, the order is that of unsigned numbers.
        let width = self.width_of(left);
        let sign = self.constant(&Bits::minimum(width, true));
        let (left, right) = (self.xor(left, sign), self.xor(right, sign));
        self.less(left, right)
    }

    /// Returns whether `left <= right` as signed numbers, as a condition.
    pub fn less_or_equal_signed(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        let greater = self.less_signed(right, left);
        self.not(greater)
    }

    /// Returns whether `of` equals `value` in the bits that are set in `mask`.
    pub fn matches_under(&mut self, of: Term, value: Term, mask: Term) -> Term {
        let (value, mask) = (self.matched(of, value), self.matched(of, mask));
        let Some(constant) = self.constant_of(mask).cloned() else {
            let differ = self.xor(of, value);
            let differ = self.and(differ, mask);
            let zero = self.zero(self.width_of(of));
            return self.equal(differ, zero);
        };
        // A mask is a few runs of ones, each of which compares a slice.
        let mut all = self.truth(true);
        let mut low = 0;
        while low < constant.width() {
            let end = (low..constant.width())
                .find(|position| constant.bit(*position) != constant.bit(low))
                .unwrap_or(constant.width());
            if constant.bit(low) {
                let (left, right) =
                    (self.extract(of, end - 1, low), self.extract(value, end - 1, low));
                let equal = self.equal(left, right);
                all = self.and(all, equal);
            }
            low = end;
        }
        all
    }
}
