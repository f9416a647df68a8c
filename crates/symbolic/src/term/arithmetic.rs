//! Constructors of terms for arithmetic and shifts.

use super::{Operation, Term, Terms};
use ir::bits::Bits;

impl Terms {
    /// Returns `left + right` modulo 2^W.
    pub fn add(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        if let Some((left, right)) = self.constants_of(left, right) {
            return self.literal(left.wrapping_add(&right));
        }
        let (left, right) = self.ordered(left, right);
        for (constant, other) in [(left, right), (right, left)] {
            let Some(value) = self.constant_of(constant).cloned() else { continue };
            if value.is_zero() {
                return other;
            }
            if let Operation::Add(a, b) = self.operation(other) {
                for (inner, rest) in [(a, b), (b, a)] {
                    if let Some(inner) = self.constant_of(inner) {
                        let sum = inner.wrapping_add(&value);
                        let sum = self.literal(sum);
                        return self.add(sum, rest);
                    }
                }
            }
        }
        // x + (y - x) is y.
        for (outer, other) in [(left, right), (right, left)] {
            if let Operation::Subtract(a, b) = self.operation(outer)
                && b == other
            {
                return a;
            }
        }
        let width = self.width_of(left);
        self.intern(Operation::Add(left, right), width)
    }

    /// Returns `left - right` modulo 2^W.
    pub fn subtract(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        let width = self.width_of(left);
        if left == right {
            return self.zero(width);
        }
        if let Some(value) = self.constant_of(right) {
            let negative = value.wrapping_neg();
            let negative = self.literal(negative);
            return self.add(left, negative);
        }
        if let Operation::Add(a, b) = self.operation(left) {
            if a == right {
                return b;
            }
            if b == right {
                return a;
            }
        }
        self.intern(Operation::Subtract(left, right), width)
    }

    /// Returns `-of` modulo 2^W.
    pub fn negate(&mut self, of: Term) -> Term {
        let width = self.width_of(of);
        let zero = self.zero(width);
        self.subtract(zero, of)
    }

    /// Returns `left * right` modulo 2^W.
    pub fn multiply(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        if let Some((left, right)) = self.constants_of(left, right) {
            return self.literal(left.wrapping_mul(&right));
        }
        let (left, right) = self.ordered(left, right);
        for (constant, other) in [(left, right), (right, left)] {
            let Some(value) = self.constant_of(constant) else { continue };
            if value.is_zero() {
                return constant;
            }
            if let Some(power) = power_of_two(value) {
                return self.shift_left_by(other, power);
            }
        }
        let width = self.width_of(left);
        self.intern(Operation::Multiply(left, right), width)
    }

    /// Returns `left / right` of unsigned numbers. The quotient by zero, which P4 leaves to the
    /// target, is all ones. A caller for which that case matters must test the divisor.
    pub fn divide(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        let width = self.width_of(left);
        if let Some((left, right)) = self.constants_of(left, right) {
            let quotient = left.checked_div(&right);
            return self.literal(quotient.unwrap_or_else(|| Bits::ones(width, false)));
        }
        if let Some(power) = self.constant_of(right).and_then(power_of_two) {
            return self.shift_right_by(left, power);
        }
        self.intern(Operation::Divide(left, right), width)
    }

    /// Returns `left % right` of unsigned numbers. The remainder by zero is `left`.
    pub fn remainder(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        let width = self.width_of(left);
        if let Some((left, right)) = self.constants_of(left, right) {
            let remainder = left.checked_rem(&right);
            return self.literal(remainder.unwrap_or(left));
        }
        if let Some(power) = self.constant_of(right).and_then(power_of_two) {
            let low = self.resize(left, power);
            return self.zero_extend(low, width);
        }
        self.intern(Operation::Remainder(left, right), width)
    }

    /// Returns `left / right` of signed numbers, rounded toward zero. The quotient by zero is -1 if
    /// the dividend is not negative, and 1 if it is.
    pub fn divide_signed(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        let (left_sign, right_sign) = (self.sign(left), self.sign(right));
        let (left, right) = (self.magnitude(left), self.magnitude(right));
        let quotient = self.divide(left, right);
        let negative = self.negate(quotient);
        let differ = self.xor(left_sign, right_sign);
        self.if_then_else(differ, negative, quotient)
    }

    /// Returns `left % right` of signed numbers, which has the sign of `left`. The remainder by
    /// zero is `left`.
    pub fn remainder_signed(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        let sign = self.sign(left);
        let (left, right) = (self.magnitude(left), self.magnitude(right));
        let remainder = self.remainder(left, right);
        let negative = self.negate(remainder);
        self.if_then_else(sign, negative, remainder)
    }

    /// Returns `left |+| right`: the sum, clamped to the range of `int` if `signed` is true, and of
    /// `bit` otherwise.
    pub fn saturating_add(&mut self, left: Term, right: Term, signed: bool) -> Term {
        let right = self.matched(left, right);
        let sum = self.add(left, right);
        if !signed {
            let width = self.width_of(left);
            let most = self.ones(width);
            let overflowed = self.less(sum, left);
            return self.if_then_else(overflowed, most, sum);
        }
        let (left_sign, right_sign) = (self.sign(left), self.sign(right));
        let differ = self.xor(left_sign, right_sign);
        let same = self.not(differ);
        self.clamped(left, sum, same)
    }

    /// Returns `left |-| right`: the difference, clamped to the range of `int` if `signed` is true,
    /// and of `bit` otherwise.
    pub fn saturating_subtract(&mut self, left: Term, right: Term, signed: bool) -> Term {
        let right = self.matched(left, right);
        let difference = self.subtract(left, right);
        if !signed {
            let width = self.width_of(left);
            let least = self.zero(width);
            let underflowed = self.less(left, right);
            return self.if_then_else(underflowed, least, difference);
        }
        let (left_sign, right_sign) = (self.sign(left), self.sign(right));
        let differ = self.xor(left_sign, right_sign);
        self.clamped(left, difference, differ)
    }

    /// Returns a result of signed arithmetic, clamped if it overflowed. An overflow has occurred if
    /// `possible` holds and the signs of `result` and `left` differ. The bound to which it is
    /// clamped then is the one with the sign of `left`.
    fn clamped(&mut self, left: Term, result: Term, possible: Term) -> Term {
        let width = self.width_of(left);
        let (sign, result_sign) = (self.sign(left), self.sign(result));
        let changed = self.xor(sign, result_sign);
        let overflowed = self.and(possible, changed);
        let least = self.constant(&Bits::minimum(width, true));
        let most = self.constant(&Bits::maximum(width, true));
        let bound = self.if_then_else(sign, least, most);
        self.if_then_else(overflowed, bound, result)
    }

    /// Returns `left << amount`, where the amount is unsigned and of any width.
    pub fn shift_left(&mut self, left: Term, amount: Term) -> Term {
        if let Some(amount) = self.constant_of(amount).map(Bits::shift_amount) {
            return self.shift_left_by(left, u32::try_from(amount).unwrap_or(u32::MAX));
        }
        if self.is_zero(left) {
            return left;
        }
        let width = self.width_of(left);
        self.intern(Operation::ShiftLeft(left, amount), width)
    }

    /// Returns `left >> amount` of a `bit`, where the amount is unsigned and of any width.
    pub fn shift_right(&mut self, left: Term, amount: Term) -> Term {
        if let Some(amount) = self.constant_of(amount).map(Bits::shift_amount) {
            return self.shift_right_by(left, u32::try_from(amount).unwrap_or(u32::MAX));
        }
        if self.is_zero(left) {
            return left;
        }
        let width = self.width_of(left);
        self.intern(Operation::ShiftRight(left, amount), width)
    }

    /// Returns `left >> amount` of an `int`, where the amount is unsigned and of any width.
    pub fn shift_right_signed(&mut self, left: Term, amount: Term) -> Term {
        let width = self.width_of(left);
        if width == 0 || self.is_zero(left) || self.is_ones(left) {
            return left;
        }
        if let Some(amount) = self.constant_of(amount).map(Bits::shift_amount) {
            let amount = u32::try_from(amount).unwrap_or(u32::MAX).min(width - 1);
            let rest = self.extract(left, width - 1, amount);
            return self.sign_extend(rest, width);
        }
        self.intern(Operation::ShiftRightSigned(left, amount), width)
    }

    fn shift_left_by(&mut self, of: Term, amount: u32) -> Term {
        let width = self.width_of(of);
        let amount = amount.min(width);
        let kept = self.resize(of, width - amount);
        let below = self.zero(amount);
        self.concatenate(kept, below)
    }

    fn shift_right_by(&mut self, of: Term, amount: u32) -> Term {
        let width = self.width_of(of);
        if amount >= width {
            return self.zero(width);
        }
        let kept = self.extract(of, width - 1, amount);
        self.zero_extend(kept, width)
    }

    /// Returns the sign bit of a value of type `int`.
    pub fn sign(&mut self, of: Term) -> Term {
        match self.width_of(of).checked_sub(1) {
            Some(top) => self.extract(of, top, top),
            None => self.truth(false),
        }
    }

    fn magnitude(&mut self, of: Term) -> Term {
        let sign = self.sign(of);
        let negative = self.negate(of);
        self.if_then_else(sign, negative, of)
    }
}

/// Returns the exponent if a constant is a power of two.
fn power_of_two(value: &Bits) -> Option<u32> {
    let mut ones = (0..value.width()).filter(|position| value.bit(*position));
    let power = ones.next()?;
    ones.next().is_none().then_some(power)
}
