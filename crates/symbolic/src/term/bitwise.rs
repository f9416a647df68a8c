//! Constructors of terms for bitwise operations, conditions and choices.

use super::{Operation, Term, Terms};

impl Terms {
    /// Returns `~of`. For a condition, this is its negation.
    pub fn not(&mut self, of: Term) -> Term {
        if let Some(value) = self.constant_of(of) {
            let value = value.complement();
            return self.literal(value);
        }
        if let Operation::Not(inner) = self.operation(of) {
            return inner;
        }
        let width = self.width_of(of);
        self.intern(Operation::Not(of), width)
    }

    /// Returns `left & right`.
    pub fn and(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        if let Some((left, right)) = self.constants_of(left, right) {
            return self.literal(left.bit_and(&right));
        }
        let (left, right) = self.ordered(left, right);
        if self.is_zero(left) || self.is_ones(right) {
            return left;
        }
        if self.is_zero(right) || self.is_ones(left) || left == right {
            return right;
        }
        let width = self.width_of(left);
        if self.opposite(left, right) {
            return self.zero(width);
        }
        // One operand may contain the other, or its opposite, as an operand of its own.
        for (outer, other) in [(left, right), (right, left)] {
            match self.operation(outer) {
                Operation::And(a, b) if a == other || b == other => return outer,
                Operation::And(a, b) if self.opposite(a, other) || self.opposite(b, other) => {
                    return self.zero(width);
                }
                Operation::Or(a, b) if a == other || b == other => return other,
                Operation::Or(a, b) if self.opposite(a, other) => return self.and(b, other),
                Operation::Or(a, b) if self.opposite(b, other) => return self.and(a, other),
                // ~(a & b) & a is a & ~b; this is what is left of a branch after its first test.
                Operation::Not(inner) => match self.operation(inner) {
                    Operation::And(a, b) if a == other => {
                        let rest = self.not(b);
                        return self.and(other, rest);
                    }
                    Operation::And(a, b) if b == other => {
                        let rest = self.not(a);
                        return self.and(other, rest);
                    }
                    Operation::Or(a, b) if a == other || b == other => return self.zero(width),
                    _ => {}
                },
                _ => {}
            }
        }
        // The two sides of a branch exclude each other.
        if let (Operation::And(a, b), Operation::And(c, d)) =
            (self.operation(left), self.operation(right))
            && [(a, c), (a, d), (b, c), (b, d)].iter().any(|(x, y)| self.opposite(*x, *y))
        {
            return self.zero(width);
        }
        self.intern(Operation::And(left, right), width)
    }

    /// Returns `left | right`.
    pub fn or(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        if let Some((left, right)) = self.constants_of(left, right) {
            return self.literal(left.bit_or(&right));
        }
        let (left, right) = self.ordered(left, right);
        if self.is_ones(left) || self.is_zero(right) {
            return left;
        }
        if self.is_ones(right) || self.is_zero(left) || left == right {
            return right;
        }
        let width = self.width_of(left);
        if self.opposite(left, right) {
            return self.ones(width);
        }
        for (outer, other) in [(left, right), (right, left)] {
            match self.operation(outer) {
                Operation::Or(a, b) if a == other || b == other => return outer,
                Operation::Or(a, b) if self.opposite(a, other) || self.opposite(b, other) => {
                    return self.ones(width);
                }
                Operation::And(a, b) if a == other || b == other => return other,
                Operation::And(a, b) if self.opposite(a, other) => return self.or(b, other),
                Operation::And(a, b) if self.opposite(b, other) => return self.or(a, other),
                Operation::Not(inner) => match self.operation(inner) {
                    Operation::And(a, b) if a == other || b == other => return self.ones(width),
                    _ => {}
                },
                _ => {}
            }
        }
        // Two sides of one branch join: (g & c) | (g & ~c) is g.
        if let (Operation::And(a, b), Operation::And(c, d)) =
            (self.operation(left), self.operation(right))
        {
            for (same, rest, other, opposite) in
                [(a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)]
            {
                if same == other && self.opposite(rest, opposite) {
                    return same;
                }
            }
        }
        self.intern(Operation::Or(left, right), width)
    }

    /// Returns `left ^ right`.
    pub fn xor(&mut self, left: Term, right: Term) -> Term {
        let right = self.matched(left, right);
        if let Some((left, right)) = self.constants_of(left, right) {
            return self.literal(left.bit_xor(&right));
        }
        let (left, right) = self.ordered(left, right);
        let width = self.width_of(left);
        if left == right {
            return self.zero(width);
        }
        if self.opposite(left, right) {
            return self.ones(width);
        }
        for (outer, other) in [(left, right), (right, left)] {
            if self.is_zero(outer) {
                return other;
            }
            if self.is_ones(outer) {
                return self.not(other);
            }
            match self.operation(outer) {
                Operation::Not(inner) => {
                    let inner = self.xor(inner, other);
                    return self.not(inner);
                }
                Operation::Xor(a, b) if a == other => return b,
                Operation::Xor(a, b) if b == other => return a,
                // Constants are made before what they are combined with or after it, so either
                // operand may be the constant.
                Operation::Xor(a, b) if self.constant_of(other).is_some() => {
                    for (constant, rest) in [(a, b), (b, a)] {
                        if self.constant_of(constant).is_some() {
                            let constant = self.xor(constant, other);
                            return self.xor(constant, rest);
                        }
                    }
                }
                _ => {}
            }
        }
        self.intern(Operation::Xor(left, right), width)
    }

    /// Returns the conjunction of conditions. It always holds if there are none.
    pub fn all(&mut self, conditions: &[Term]) -> Term {
        let mut all = self.truth(true);
        for condition in conditions {
            let condition = self.condition(*condition);
            all = self.and(all, condition);
        }
        all
    }

    /// Returns the disjunction of conditions. It never holds if there are none.
    pub fn any(&mut self, conditions: &[Term]) -> Term {
        let mut any = self.truth(false);
        for condition in conditions {
            let condition = self.condition(*condition);
            any = self.or(any, condition);
        }
        any
    }

    /// Returns the condition that `then` holds if `when` does.
    pub fn implies(&mut self, when: Term, then: Term) -> Term {
        let when = self.condition(when);
        let otherwise = self.not(when);
        self.or(otherwise, then)
    }

    /// Returns `condition ? then : otherwise`.
    pub fn if_then_else(&mut self, condition: Term, then: Term, otherwise: Term) -> Term {
        let condition = self.condition(condition);
        let otherwise = self.matched(then, otherwise);
        if let Some(truth) = self.truth_of(condition) {
            return if truth { then } else { otherwise };
        }
        if let Operation::Not(inner) = self.operation(condition) {
            return self.if_then_else(inner, otherwise, then);
        }
        let then = match self.operation(then) {
            Operation::IfThenElse { condition: inner, then, .. } if inner == condition => then,
            _ => then,
        };
        let otherwise = match self.operation(otherwise) {
            Operation::IfThenElse { condition: inner, otherwise, .. } if inner == condition => {
                otherwise
            }
            _ => otherwise,
        };
        if then == otherwise {
            return then;
        }
        let width = self.width_of(then);
        if width == 1 {
            return self.choice_of_conditions(condition, then, otherwise);
        }
        // Branches that end in the same value need one choice of both conditions.
        if let Operation::IfThenElse { condition: second, then: inner, otherwise: last } =
            self.operation(otherwise)
        {
            if inner == then {
                let either = self.or(condition, second);
                return self.if_then_else(either, then, last);
            }
            if last == then {
                let not = self.not(condition);
                let both = self.and(not, second);
                return self.if_then_else(both, inner, then);
            }
        }
        if let Operation::IfThenElse { condition: second, then: inner, otherwise: last } =
            self.operation(then)
        {
            if last == otherwise {
                let both = self.and(condition, second);
                return self.if_then_else(both, inner, otherwise);
            }
            if inner == otherwise {
                let not = self.not(second);
                let both = self.and(condition, not);
                return self.if_then_else(both, last, otherwise);
            }
        }
        self.intern(Operation::IfThenElse { condition, then, otherwise }, width)
    }

    /// Returns a choice between conditions. Where one side is constant, or is the condition itself,
    /// the choice is expressed by a conjunction or disjunction.
    fn choice_of_conditions(&mut self, condition: Term, then: Term, otherwise: Term) -> Term {
        let decided = |terms: &Self, side: Term, value: bool| {
            if side == condition {
                return Some(value);
            }
            if terms.opposite(side, condition) {
                return Some(!value);
            }
            terms.truth_of(side)
        };
        match (decided(self, then, true), decided(self, otherwise, false)) {
            (Some(true), Some(true)) => self.truth(true),
            (Some(false), Some(false)) => self.truth(false),
            (Some(true), Some(false)) => condition,
            (Some(false), Some(true)) => self.not(condition),
            (Some(true), None) => self.or(condition, otherwise),
            (Some(false), None) => {
                let not = self.not(condition);
                self.and(not, otherwise)
            }
            (None, Some(true)) => {
                let not = self.not(condition);
                self.or(not, then)
            }
            (None, Some(false)) => self.and(condition, then),
            (None, None) if self.opposite(then, otherwise) => self.xor(condition, otherwise),
            (None, None) => self.intern(Operation::IfThenElse { condition, then, otherwise }, 1),
        }
    }

    /// Returns whether one of two terms was constructed as the complement of the other.
    pub(super) fn opposite(&self, left: Term, right: Term) -> bool {
        matches!(self.operation(left), Operation::Not(inner) if inner == right)
            || matches!(self.operation(right), Operation::Not(inner) if inner == left)
    }

    /// Returns the operands of a commutative operation in the order in which they are stored.
    pub(super) fn ordered(&self, left: Term, right: Term) -> (Term, Term) {
        if left <= right { (left, right) } else { (right, left) }
    }
}
