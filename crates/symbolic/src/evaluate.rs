//! Evaluates terms under a model: all bits of a term, or those that undefined inputs cannot change.

mod known;

pub use known::{Known, KnownBits};

use crate::term::{InputId, Operation, Term, Terms};
use ir::bits::Bits;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// An assignment of values to inputs. An input that is not assigned is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    values: BTreeMap<InputId, Bits>,
}

impl Model {
    /// Returns a model in which all inputs are zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of an input. The value is cast to the width of the input, as a `bit`.
    pub fn set(&mut self, terms: &Terms, input: InputId, value: &Bits) {
        self.values.insert(input, value.cast(terms.input_of(input).width, false));
    }

    /// Returns the value of an input.
    #[must_use]
    pub fn get(&self, terms: &Terms, input: InputId) -> Bits {
        let value = self.values.get(&input).cloned();
        value.unwrap_or_else(|| Bits::zero(terms.input_of(input).width, false))
    }

    /// Returns whether the model assigns a value to an input.
    #[must_use]
    pub fn contains(&self, input: InputId) -> bool {
        self.values.contains_key(&input)
    }

    /// Returns the inputs to which the model assigns a value, with their values, in the order in
    /// which the inputs were created.
    pub fn values(&self) -> impl Iterator<Item = (InputId, &Bits)> {
        self.values.iter().map(|(input, value)| (*input, value))
    }
}

/// The values of terms under one model. Values that were computed are kept.
#[derive(Clone, Debug)]
pub struct Evaluation {
    model: Model,
    known: HashMap<Term, Bits>,
}

impl Evaluation {
    /// Returns an evaluation under a model.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self { model, known: HashMap::new() }
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the model, and discards the values that were computed under it.
    #[must_use]
    pub fn into_model(self) -> Model {
        self.model
    }

    /// Returns the value of a term, as an unsigned number of its width.
    pub fn value(&mut self, terms: &Terms, term: Term) -> Bits {
        let model = &self.model;
        post_order(terms, &mut self.known, term, |known, width, operation| {
            value_of(terms, model, known, width, operation)
        })
    }

    /// Returns whether a condition holds.
    pub fn holds(&mut self, terms: &Terms, condition: Term) -> bool {
        !self.value(terms, condition).is_zero()
    }

    /// Returns the number of terms whose values are kept.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.known.len()
    }

    /// Discards the values that were computed.
    pub fn forget(&mut self) {
        self.known.clear();
    }
}

/// Computes the value of a term after those of its operands. It uses no recursion, because terms
/// nest deeply. `compute` returns the value of a term, or an operand whose value it needs first.
fn post_order<V: Clone>(
    terms: &Terms,
    known: &mut HashMap<Term, V>,
    root: Term,
    mut compute: impl FnMut(&HashMap<Term, V>, u32, Operation) -> Result<V, Term>,
) -> V {
    if let Some(value) = known.get(&root) {
        return value.clone();
    }
    let mut open = Vec::new();
    let mut term = root;
    loop {
        match compute(known, terms.width_of(term), terms.operation(term)) {
            Err(operand) => {
                open.push(term);
                term = operand;
            }
            Ok(value) => {
                let Some(next) = open.pop() else {
                    known.insert(term, value.clone());
                    return value;
                };
                known.insert(term, value);
                term = next;
            }
        }
    }
}

/// Computes an operation from the values of its operands. The error is an operand that has no value
/// yet.
fn value_of(
    terms: &Terms,
    model: &Model,
    known: &HashMap<Term, Bits>,
    width: u32,
    operation: Operation,
) -> Result<Bits, Term> {
    let get = |term: Term| known.get(&term).ok_or(term);
    Ok(match operation {
        Operation::Constant(id) => terms.constant_value(id).clone(),
        Operation::Input(id) => model.get(terms, id),
        Operation::Not(of) => get(of)?.complement(),
        Operation::And(left, right) => {
            let left = get(left)?;
            if left.is_zero() { left.clone() } else { left.bit_and(get(right)?) }
        }
        Operation::Or(left, right) => get(left)?.bit_or(get(right)?),
        Operation::Xor(left, right) => get(left)?.bit_xor(get(right)?),
        Operation::Add(left, right) => get(left)?.wrapping_add(get(right)?),
        Operation::Subtract(left, right) => get(left)?.wrapping_sub(get(right)?),
        Operation::Multiply(left, right) => get(left)?.wrapping_mul(get(right)?),
        Operation::Divide(left, right) => {
            let quotient = get(left)?.checked_div(get(right)?);
            quotient.unwrap_or_else(|| Bits::ones(width, false))
        }
        Operation::Remainder(left, right) => {
            let left = get(left)?;
            left.checked_rem(get(right)?).unwrap_or_else(|| left.clone())
        }
        Operation::ShiftLeft(left, amount) => get(left)?.shift_left(get(amount)?.shift_amount()),
        Operation::ShiftRight(left, amount) => get(left)?.shift_right(get(amount)?.shift_amount()),
        Operation::ShiftRightSigned(left, amount) => {
            let shifted = get(left)?.cast(width, true).shift_right(get(amount)?.shift_amount());
            shifted.cast(width, false)
        }
        Operation::Concatenate(high, low) => get(high)?.concatenate(get(low)?),
        Operation::Extract { of, low } => get(of)?.slice(low + width - 1, low),
        Operation::SignExtend(of) => sign_extended(get(of)?, width),
        Operation::IfThenElse { condition, then, otherwise } => {
            get(if get(condition)?.is_zero() { otherwise } else { then })?.clone()
        }
        Operation::Equal(left, right) => Bits::from_bool(get(left)? == get(right)?),
        Operation::Less(left, right) => {
            Bits::from_bool(get(left)?.compare(get(right)?) == Ordering::Less)
        }
    })
}

fn sign_extended(value: &Bits, width: u32) -> Bits {
    value.cast(value.width(), true).cast(width, true).cast(width, false)
}
