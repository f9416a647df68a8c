//! Constructors of terms that join, slice and extend others.
//!
//! A concatenation is nested to the left. Appending to the end of a term, such as a packet that is
//! being deparsed, therefore creates only one more term each time. Adjacent slices of the same term
//! are joined, and a zero extension is a concatenation with zero above.

use super::{Fault, Operation, Term, Terms};
use std::ops::Range;

impl Terms {
    /// Returns `high ++ low`.
    pub fn concatenate(&mut self, high: Term, low: Term) -> Term {
        let (high_width, low_width) = (self.width_of(high), self.width_of(low));
        if low_width == 0 {
            return high;
        }
        if high_width == 0 {
            return low;
        }
        let both = u64::from(high_width) + u64::from(low_width);
        let width = self.permitted(both);
        if u64::from(width) != both {
            return self.resize(low, width);
        }
        if let Operation::Concatenate(..) = self.operation(low) {
            let mut joined = high;
            for piece in self.pieces(low).into_iter().rev() {
                joined = self.concatenate(joined, piece);
            }
            return joined;
        }
        if let Some(joined) = self.joined(high, low, width) {
            return joined;
        }
        if let Operation::Concatenate(first, last) = self.operation(high) {
            let seam = self.width_of(last) + low_width;
            if let Some(joined) = self.joined(last, low, seam) {
                return self.concatenate(first, joined);
            }
        }
        self.intern(Operation::Concatenate(high, low), width)
    }

    /// Returns two adjacent pieces as a single term that is not a concatenation, if possible.
    fn joined(&mut self, high: Term, low: Term, width: u32) -> Option<Term> {
        if let Some((high, low)) = self.constants_of(high, low) {
            return Some(self.literal(high.concatenate(&low)));
        }
        let Operation::Extract { of, low: middle } = self.operation(high) else { return None };
        match self.operation(low) {
            Operation::Extract { of: same, low: first }
                if same == of && first + self.width_of(low) == middle =>
            {
                Some(self.extract(of, first + width - 1, first))
            }
            _ => None,
        }
    }

    /// Returns `of[high:low]`. Bits beyond the width of `of` read as zero, and are recorded as a
    /// mistake of the caller.
    pub fn extract(&mut self, of: Term, high: u32, low: u32) -> Term {
        let width = self.width_of(of);
        if high < low {
            self.report(Fault::Slice { high, low, width });
            return self.zero(0);
        }
        if high >= width {
            self.report(Fault::Slice { high, low, width });
            let wanted = self.permitted(u64::from(high - low) + 1);
            if low >= width {
                return self.zero(wanted);
            }
            let rest = self.extract_within(of, low..width);
            return self.resize(rest, wanted);
        }
        self.extract_within(of, low..high + 1)
    }

    /// Returns a slice of a term. The range must be inside the term.
    fn extract_within(&mut self, of: Term, range: Range<u32>) -> Term {
        let (low, width) = (range.start, range.end - range.start);
        if width == self.width_of(of) {
            return of;
        }
        if width == 0 {
            return self.zero(0);
        }
        if let Some(value) = self.constant_of(of) {
            let value = value.slice(range.end - 1, low);
            return self.literal(value);
        }
        match self.operation(of) {
            Operation::Extract { of: inner, low: offset } => {
                self.extract_within(inner, offset + low..offset + range.end)
            }
            Operation::Concatenate(..) => self.extract_of_pieces(of, range),
            Operation::SignExtend(inner) => {
                let known = self.width_of(inner);
                if range.end <= known {
                    self.extract_within(inner, range)
                } else {
                    let from = low.min(known - 1);
                    let part = self.extract_within(inner, from..known);
                    self.sign_extend(part, width)
                }
            }
            // The bits of a bitwise operation are those of its operands, which may be simpler.
            Operation::Not(inner) => {
                let part = self.extract_within(inner, range);
                self.not(part)
            }
            Operation::And(left, right) if self.is_cut(left) || self.is_cut(right) => {
                let left = self.extract_within(left, range.clone());
                let right = self.extract_within(right, range);
                self.and(left, right)
            }
            Operation::Or(left, right) if self.is_cut(left) || self.is_cut(right) => {
                let left = self.extract_within(left, range.clone());
                let right = self.extract_within(right, range);
                self.or(left, right)
            }
            Operation::Xor(left, right) if self.is_cut(left) || self.is_cut(right) => {
                let left = self.extract_within(left, range.clone());
                let right = self.extract_within(right, range);
                self.xor(left, right)
            }
            Operation::IfThenElse { condition, then, otherwise }
                if self.is_cut(then) && self.is_cut(otherwise) =>
            {
                let then = self.extract_within(then, range.clone());
                let otherwise = self.extract_within(otherwise, range);
                self.if_then_else(condition, then, otherwise)
            }
            _ => self.intern(Operation::Extract { of, low }, width),
        }
    }

    /// Returns whether a slice of a term creates no larger term: the term is a constant, a part of
    /// an input, or a concatenation.
    fn is_cut(&self, term: Term) -> bool {
        match self.operation(term) {
            Operation::Constant(_)
            | Operation::Input(_)
            | Operation::Concatenate(..)
            | Operation::SignExtend(_) => true,
            Operation::Extract { of, low: _ } => {
                matches!(self.operation(of), Operation::Input(_))
            }
            _ => false,
        }
    }

    fn extract_of_pieces(&mut self, of: Term, range: Range<u32>) -> Term {
        let mut parts = Vec::new();
        let mut offset = 0;
        for piece in self.pieces(of) {
            let width = self.width_of(piece);
            let (from, to) = (range.start.max(offset), range.end.min(offset + width));
            if from < to {
                parts.push((piece, from - offset..to - offset));
            }
            offset += width;
            if offset >= range.end {
                break;
            }
        }
        let mut joined = self.zero(0);
        for (piece, part) in parts.into_iter().rev() {
            let part = self.extract_within(piece, part);
            joined = self.concatenate(joined, part);
        }
        joined
    }

    /// Returns a term extended with zeros to `width` bits, or the term itself if it has that width.
    pub fn zero_extend(&mut self, of: Term, width: u32) -> Term {
        let from = self.width_of(of);
        let width = self.permitted(u64::from(width));
        if width < from {
            self.report(Fault::Extension { from, to: width });
            return self.resize(of, width);
        }
        let above = self.zero(width - from);
        self.concatenate(above, of)
    }

    /// Returns a term extended to `width` bits by repeating its sign bit, or the term itself if it
    /// has that width. The extension of a `bit<0>` is zero.
    pub fn sign_extend(&mut self, of: Term, width: u32) -> Term {
        let from = self.width_of(of);
        let width = self.permitted(u64::from(width));
        if width < from {
            self.report(Fault::Extension { from, to: width });
            return self.resize(of, width);
        }
        if width == from {
            return of;
        }
        if from == 0 {
            return self.zero(width);
        }
        if let Some(value) = self.constant_of(of) {
            let value = value.cast(from, true).cast(width, true).cast(width, false);
            return self.literal(value);
        }
        match self.operation(of) {
            Operation::SignExtend(inner) => self.sign_extend(inner, width),
            // A zero above repeats as zeros.
            Operation::Concatenate(..)
                if self.pieces(of).last().is_some_and(|first| {
                    self.constant_of(*first)
                        .is_some_and(|value| !value.bit(value.width().saturating_sub(1)))
                }) =>
            {
                self.zero_extend(of, width)
            }
            _ => self.intern(Operation::SignExtend(of), width),
        }
    }

    /// Returns the low `width` bits of a term, extended with zeros if it has fewer.
    pub fn resize(&mut self, of: Term, width: u32) -> Term {
        if width < self.width_of(of) {
            self.extract_within(of, 0..width)
        } else {
            self.zero_extend(of, width)
        }
    }

    /// Casts a value to another width. The value is of type `int` if `signed` is true, and of type
    /// `bit` otherwise.
    pub fn cast(&mut self, of: Term, signed: bool, width: u32) -> Term {
        if signed && width > self.width_of(of) {
            self.sign_extend(of, width)
        } else {
            self.resize(of, width)
        }
    }

    /// Returns the value that a term has after the assignment `of[high:low] = value`.
    pub fn with_slice(&mut self, of: Term, high: u32, low: u32, value: Term) -> Term {
        let width = self.width_of(of);
        if high < low || high >= width {
            self.report(Fault::Slice { high, low, width });
            return of;
        }
        let wanted = high - low + 1;
        if self.width_of(value) != wanted {
            self.report(Fault::Widths { left: wanted, right: self.width_of(value) });
        }
        let value = self.resize(value, wanted);
        let above = self.extract_within(of, high + 1..width);
        let below = self.extract_within(of, 0..low);
        let joined = self.concatenate(above, value);
        self.concatenate(joined, below)
    }
}
