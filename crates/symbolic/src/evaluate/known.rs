//! Evaluates terms in three-valued logic: finds the bits of a term that have the same value
//! whatever the unknown inputs are.

use super::{Model, post_order, sign_extended};
use crate::term::{InputId, Operation, Source, Term, Terms};
use ir::bits::Bits;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

/// A value of which some bits are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    value: Bits,
    mask: Bits,
}

impl Known {
    /// Returns a value that is known in all bits.
    #[must_use]
    pub fn all(value: Bits) -> Self {
        let mask = Bits::ones(value.width(), false);
        Self { value, mask }
    }

    /// Returns a value that is unknown in all bits.
    #[must_use]
    pub fn nothing(width: u32) -> Self {
        Self { value: Bits::zero(width, false), mask: Bits::zero(width, false) }
    }

    /// Returns a value in which the bits set in `mask` are known to be those of `value`, and the
    /// others are unknown.
    #[must_use]
    pub fn under(value: &Bits, mask: Bits) -> Self {
        Self { value: value.bit_and(&mask), mask }
    }

    fn condition(known: Option<bool>) -> Self {
        known.map_or_else(|| Self::nothing(1), |value| Self::all(Bits::from_bool(value)))
    }

    /// Returns the known bits, with zeros in place of the unknown ones.
    #[must_use]
    pub fn value(&self) -> &Bits {
        &self.value
    }

    /// Returns the mask of the known bits.
    #[must_use]
    pub fn mask(&self) -> &Bits {
        &self.mask
    }

    /// Returns the value if all bits are known.
    #[must_use]
    pub fn complete(&self) -> Option<&Bits> {
        self.mask.complement().is_zero().then_some(&self.value)
    }

    /// Returns whether a condition holds, if that is known.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        self.complete().map(|value| !value.is_zero())
    }

    /// Returns the largest value that agrees with the known bits.
    fn most(&self) -> Bits {
        self.value.bit_or(&self.mask.complement())
    }

    /// Returns the bits that are known to be zero.
    fn zeros(&self) -> Bits {
        self.mask.bit_and(&self.value.complement())
    }

    fn is_known_zero(&self) -> bool {
        self.complete().is_some_and(Bits::is_zero)
    }

    fn not(&self) -> Self {
        Self { value: self.zeros(), mask: self.mask.clone() }
    }

    fn and(&self, other: &Self) -> Self {
        let ones = self.value.bit_and(&other.value);
        let zeros = self.zeros().bit_or(&other.zeros());
        Self { mask: ones.bit_or(&zeros), value: ones }
    }

    fn or(&self, other: &Self) -> Self {
        self.not().and(&other.not()).not()
    }

    fn xor(&self, other: &Self) -> Self {
        let mask = self.mask.bit_and(&other.mask);
        Self::under(&self.value.bit_xor(&other.value), mask)
    }

    /// Adds `self`, `other` and `carry`. A bit of the sum is known if both operand bits and the
    /// carry into it are. A carry is known if the smallest and the largest values of the operands
    /// produce the same one.
    fn add(&self, other: &Self, carry: bool) -> Self {
        let carry = Bits::unsigned(self.value.width(), u128::from(carry));
        let most = self.most().wrapping_add(&other.most()).wrapping_add(&carry);
        let least = self.value.wrapping_add(&other.value).wrapping_add(&carry);
        let carries_of_most = most.bit_xor(&self.most()).bit_xor(&other.most());
        let carries_of_least = least.bit_xor(&self.value).bit_xor(&other.value);
        let agreed = carries_of_most.bit_xor(&carries_of_least).complement();
        Self::under(&least, agreed.bit_and(&self.mask).bit_and(&other.mask))
    }

    /// Multiplies `self` and `other`. The lowest n bits of a product depend only on the lowest n bits
    /// of the factors.
    fn multiply(&self, other: &Self) -> Self {
        let width = self.value.width();
        if self.is_known_zero() || other.is_known_zero() {
            return Self::all(Bits::zero(width, false));
        }
        let both = self.mask.bit_and(&other.mask);
        let low = (0..width).find(|position| !both.bit(*position)).unwrap_or(width);
        let mask = Bits::ones(width, false).shift_right(u64::from(width - low));
        Self::under(&self.value.wrapping_mul(&other.value), mask)
    }

    /// Returns the bits in which both values of an undecided choice agree.
    fn either(&self, other: &Self) -> Self {
        let same = self.value.bit_xor(&other.value).complement();
        Self::under(&self.value, self.mask.bit_and(&other.mask).bit_and(&same))
    }

    fn equal(&self, other: &Self) -> Self {
        let both = self.mask.bit_and(&other.mask);
        if !self.value.bit_xor(&other.value).bit_and(&both).is_zero() {
            return Self::condition(Some(false));
        }
        Self::condition(both.complement().is_zero().then_some(true))
    }

    fn less(&self, other: &Self) -> Self {
        if self.most().compare(&other.value) == Ordering::Less {
            Self::condition(Some(true))
        } else if self.value.compare(&other.most()) != Ordering::Less {
            Self::condition(Some(false))
        } else {
            Self::condition(None)
        }
    }

    /// Applies a function that only moves bits, to the value and to the mask of known bits.
    fn moved(&self, move_bits: impl Fn(&Bits) -> Bits) -> Self {
        Self { value: move_bits(&self.value), mask: move_bits(&self.mask) }
    }
}

/// The known bits of terms under one model. Results that were computed are kept.
#[derive(Clone, Debug)]
pub struct KnownBits {
    model: Model,
    unknown: BTreeSet<InputId>,
    known: HashMap<Term, Known>,
}

impl KnownBits {
    /// Returns an evaluation in which the inputs of [`Source::Undefined`] are unknown, and the
    /// others have the values of the model.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self { model, unknown: BTreeSet::new(), known: HashMap::new() }
    }

    /// Makes an input unknown although a test chooses its value, such as the outcome of a lookup
    /// whose key is unknown. Discards the results that were computed before.
    pub fn make_unknown(&mut self, input: InputId) {
        if self.unknown.insert(input) {
            self.known.clear();
        }
    }

    /// Returns the bits of a term that are known.
    pub fn of(&mut self, terms: &Terms, term: Term) -> Known {
        let (model, unknown) = (&self.model, &self.unknown);
        post_order(terms, &mut self.known, term, |known, width, operation| {
            let get = |term: Term| known.get(&term).ok_or(term);
            Ok(match operation {
                Operation::Constant(id) => Known::all(terms.constant_value(id).clone()),
                Operation::Input(id) => {
                    let undefined = terms.input_of(id).origin.source == Source::Undefined;
                    if undefined || unknown.contains(&id) {
                        Known::nothing(width)
                    } else {
                        Known::all(model.get(terms, id))
                    }
                }
                Operation::Not(of) => get(of)?.not(),
                Operation::And(left, right) => get(left)?.and(get(right)?),
                Operation::Or(left, right) => get(left)?.or(get(right)?),
                Operation::Xor(left, right) => get(left)?.xor(get(right)?),
                Operation::Add(left, right) => get(left)?.add(get(right)?, false),
                Operation::Subtract(left, right) => get(left)?.add(&get(right)?.not(), true),
                Operation::Multiply(left, right) => get(left)?.multiply(get(right)?),
                Operation::Divide(left, right) => whole(get(left)?, get(right)?, |left, right| {
                    left.checked_div(right).unwrap_or_else(|| Bits::ones(width, false))
                }),
                Operation::Remainder(left, right) => {
                    whole(get(left)?, get(right)?, |left, right| {
                        left.checked_rem(right).unwrap_or_else(|| left.clone())
                    })
                }
                Operation::ShiftLeft(left, amount) => {
                    shifted(get(left)?, get(amount)?, |bits, amount| bits.shift_left(amount))
                }
                Operation::ShiftRight(left, amount) => {
                    shifted(get(left)?, get(amount)?, |bits, amount| bits.shift_right(amount))
                }
                Operation::ShiftRightSigned(left, amount) => {
                    shifted(get(left)?, get(amount)?, |bits, amount| {
                        bits.cast(width, true).shift_right(amount).cast(width, false)
                    })
                }
                Operation::Concatenate(high, low) => {
                    let (high, low) = (get(high)?, get(low)?);
                    Known {
                        value: high.value.concatenate(&low.value),
                        mask: high.mask.concatenate(&low.mask),
                    }
                }
                Operation::Extract { of, low } => {
                    get(of)?.moved(|bits| bits.slice(low + width - 1, low))
                }
                Operation::SignExtend(of) => get(of)?.moved(|bits| sign_extended(bits, width)),
                Operation::IfThenElse { condition, then, otherwise } => {
                    match get(condition)?.truth() {
                        Some(true) => get(then)?.clone(),
                        Some(false) => get(otherwise)?.clone(),
                        None => get(then)?.either(get(otherwise)?),
                    }
                }
                Operation::Equal(left, right) => get(left)?.equal(get(right)?),
                Operation::Less(left, right) => get(left)?.less(get(right)?),
            })
        })
    }
}

/// Applies an operation if all bits of the operands are known. Otherwise, no bit of the result is
/// known.
fn whole(left: &Known, right: &Known, operation: impl FnOnce(&Bits, &Bits) -> Bits) -> Known {
    match (left.complete(), right.complete()) {
        (Some(left), Some(right)) => Known::all(operation(left, right)),
        _ => Known::nothing(left.value.width()),
    }
}

/// Returns a shifted value. If the shift amount is not known, no bit of the result is, unless the
/// value is zero.
fn shifted(left: &Known, amount: &Known, shift: impl Fn(&Bits, u64) -> Bits) -> Known {
    let Some(amount) = amount.complete().map(Bits::shift_amount) else {
        return if left.is_known_zero() {
            left.clone()
        } else {
            Known::nothing(left.value.width())
        };
    };
    // A bit is known if the largest and the smallest operand agree on it after the shift.
    let (least, most) = (shift(&left.value, amount), shift(&left.most(), amount));
    let mask = least.bit_xor(&most).complement();
    Known::under(&least, mask)
}
