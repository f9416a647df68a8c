//! Translates terms to propositional formulas (bit-blasting), by Tseitin's encoding.
//!
//! Each bit of a term becomes a literal. Constant bits, and bits that equal one already translated,
//! need no new variable, and equal gates are created once. An input has variables only for the bits
//! that a query mentions.

mod arithmetic;
mod fill;
mod gates;

pub use fill::Fill;

use crate::evaluate::Model;
use crate::solver::{Literal, Solver};
use crate::term::{InputId, Operation, Term, Terms};
use gates::Gates;
use ir::bits::Bits;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The limit at which the solver or the translation gave up a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// The solver had this number of conflicts.
    #[error("the solver gave up after {0} conflicts")]
    Conflicts(u64),
    /// The formula has more than this number of clauses.
    #[error("the formula has more than {0} clauses, which is the limit")]
    Clauses(u64),
    /// A product, quotient or remainder has two unknown operands that are too wide. This is their
    /// number of bits.
    #[error("a product or quotient of two unknowns of {0} bits is not solved")]
    Product(u32),
}

/// The literals for the bits of a term, from the least significant one on.
type Word = Arc<[Literal]>;

/// The bit-blaster: translates the terms of one context and remembers the translations.
pub struct Blaster {
    gates: Gates,
    fill: Fill,
    words: HashMap<Term, Word>,
    /// The literals of the bits that queries have mentioned, by input.
    inputs: BTreeMap<InputId, Vec<Option<Literal>>>,
    /// The quotient and the remainder for each pair of dividend and divisor. One circuit computes
    /// both.
    divisions: HashMap<(Term, Term), (Word, Word)>,
}

impl Blaster {
    /// Returns a bit-blaster for a formula of at most `clauses` clauses. `fill` decides the values
    /// of bits that a query leaves open.
    pub fn new(solver: &mut dyn Solver, fill: Fill, clauses: u64) -> Self {
        Self {
            gates: Gates::new(solver, clauses),
            fill,
            words: HashMap::new(),
            inputs: BTreeMap::new(),
            divisions: HashMap::new(),
        }
    }

    /// Returns the number of clauses of the formula.
    #[must_use]
    pub fn clauses(&self) -> u64 {
        self.gates.clauses()
    }

    /// Translates a condition, and returns the literal that is true exactly if the condition holds.
    ///
    /// # Errors
    ///
    /// Returns the limit that the translation of the condition exceeds.
    pub fn condition(
        &mut self,
        terms: &Terms,
        solver: &mut dyn Solver,
        condition: Term,
    ) -> Result<Literal, Limit> {
        let word = self.word(terms, solver, condition)?;
        // A term without bits is zero, and other terms than conditions are excluded by their
        // constructors.
        Ok(word.first().copied().unwrap_or(!self.gates.truth()))
    }

    /// Translates a term, and returns the literals of its bits, from the least significant one on.
    ///
    /// # Errors
    ///
    /// Returns the limit that the translation of the term exceeds.
    pub fn bits(
        &mut self,
        terms: &Terms,
        solver: &mut dyn Solver,
        term: Term,
    ) -> Result<Vec<Literal>, Limit> {
        Ok(self.word(terms, solver, term)?.to_vec())
    }

    /// Returns the values of the inputs that have variables, in the model that the solver has
    /// found.
    #[must_use]
    pub fn model(&self, terms: &Terms, solver: &dyn Solver) -> Model {
        let mut model = Model::new();
        for (input, literals) in &self.inputs {
            let filled = self.fill.value(terms, *input);
            let width = terms.input_of(*input).width;
            let mut bytes = filled.to_be_bytes();
            let count = bytes.len();
            for (position, literal) in literals.iter().enumerate() {
                let Some(literal) = literal else { continue };
                if let Some(byte) = bytes.get_mut(count - 1 - position / 8) {
                    let mask = 1 << (position % 8);
                    *byte = if solver.value(*literal) { *byte | mask } else { *byte & !mask };
                }
            }
            model.set(terms, *input, &Bits::from_be_bytes(width, false, &bytes));
        }
        model
    }

    /// Translates a term after its operands. It uses no recursion, because terms nest deeply.
    fn word(&mut self, terms: &Terms, solver: &mut dyn Solver, root: Term) -> Result<Word, Limit> {
        if let Some(word) = self.words.get(&root) {
            return Ok(word.clone());
        }
        let mut open = vec![root];
        while let Some(term) = open.last().copied() {
            let operation = terms.operation(term);
            let missing = open.len();
            // Slices of inputs take their bits from the input, not from all its bits.
            let cuts_input = matches!(operation, Operation::Extract { of, .. }
                if matches!(terms.operation(of), Operation::Input(_)));
            if !cuts_input {
                open.extend(operation.operands().filter(|term| !self.words.contains_key(term)));
            }
            if open.len() > missing {
                continue;
            }
            open.pop();
            if !self.words.contains_key(&term) {
                let word = self.translate(terms, solver, term)?;
                self.gates.check()?;
                self.words.insert(term, word);
            }
        }
        Ok(self.operand(root))
    }

    /// Returns the literals of a term that is already translated.
    fn operand(&self, term: Term) -> Word {
        self.words.get(&term).cloned().unwrap_or_else(|| Arc::from([]))
    }

    fn input_bits(
        &mut self,
        solver: &mut dyn Solver,
        terms: &Terms,
        id: InputId,
        range: std::ops::Range<u32>,
    ) -> Word {
        let input = terms.input_of(id);
        let bits = self.inputs.entry(id).or_insert_with(|| vec![None; input.width as usize]);
        range
            .map(|position| match bits.get_mut(position as usize) {
                Some(bit) => *bit.get_or_insert_with(|| {
                    solver.variable(self.fill.preference(input.origin, position))
                }),
                None => !self.gates.truth(),
            })
            .collect()
    }

    /// Translates a term whose operands are already translated.
    fn translate(
        &mut self,
        terms: &Terms,
        solver: &mut dyn Solver,
        term: Term,
    ) -> Result<Word, Limit> {
        let width = terms.width_of(term);
        Ok(match terms.operation(term) {
            Operation::Constant(id) => {
                let value = terms.constant_value(id);
                let truth = self.gates.truth();
                (0..width).map(|at| if value.bit(at) { truth } else { !truth }).collect()
            }
            Operation::Input(id) => self.input_bits(solver, terms, id, 0..width),
            Operation::Not(of) => self.operand(of).iter().map(|literal| !*literal).collect(),
            Operation::And(left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                pairs(&left, &right).map(|(a, b)| self.gates.and(solver, a, b)).collect()
            }
            Operation::Or(left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                pairs(&left, &right).map(|(a, b)| self.gates.or(solver, a, b)).collect()
            }
            Operation::Xor(left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                pairs(&left, &right).map(|(a, b)| self.gates.xor(solver, a, b)).collect()
            }
            Operation::Add(left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                let carry = !self.gates.truth();
                arithmetic::add(&mut self.gates, solver, &left, &right, carry).into()
            }
            Operation::Subtract(left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                arithmetic::subtract(&mut self.gates, solver, &left, &right).into()
            }
            Operation::Multiply(left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                arithmetic::multiply(&mut self.gates, solver, &left, &right)?.into()
            }
            Operation::Divide(left, right) => self.division(solver, left, right)?.0,
            Operation::Remainder(left, right) => self.division(solver, left, right)?.1,
            Operation::ShiftLeft(left, amount) => {
                let (mut left, amount) = (self.operand(left).to_vec(), self.operand(amount));
                // A shift to the left is one to the right of the bits in reverse order.
                left.reverse();
                let zero = !self.gates.truth();
                let mut shifted =
                    arithmetic::shift_right(&mut self.gates, solver, &left, &amount, zero)?;
                shifted.reverse();
                shifted.into()
            }
            Operation::ShiftRight(left, amount) => {
                let (left, amount) = (self.operand(left), self.operand(amount));
                let zero = !self.gates.truth();
                arithmetic::shift_right(&mut self.gates, solver, &left, &amount, zero)?.into()
            }
            Operation::ShiftRightSigned(left, amount) => {
                let (left, amount) = (self.operand(left), self.operand(amount));
                let sign = left.last().copied().unwrap_or(!self.gates.truth());
                arithmetic::shift_right(&mut self.gates, solver, &left, &amount, sign)?.into()
            }
            Operation::Concatenate(high, low) => {
                let (high, low) = (self.operand(high), self.operand(low));
                low.iter().chain(high.iter()).copied().collect()
            }
            Operation::Extract { of, low } => match terms.operation(of) {
                Operation::Input(id) => self.input_bits(solver, terms, id, low..low + width),
                _ => {
                    let of = self.operand(of);
                    of.iter().skip(low as usize).take(width as usize).copied().collect()
                }
            },
            Operation::SignExtend(of) => {
                let of = self.operand(of);
                let sign = of.last().copied().unwrap_or(!self.gates.truth());
                of.iter().copied().chain(std::iter::repeat(sign)).take(width as usize).collect()
            }
            Operation::IfThenElse { condition, then, otherwise } => {
                let (then, otherwise) = (self.operand(then), self.operand(otherwise));
                let condition =
                    self.operand(condition).first().copied().unwrap_or(!self.gates.truth());
                pairs(&then, &otherwise)
                    .map(|(a, b)| self.gates.choose(solver, condition, a, b))
                    .collect()
            }
            Operation::Equal(left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                let same: Vec<Literal> =
                    pairs(&left, &right).map(|(a, b)| !self.gates.xor(solver, a, b)).collect();
                Arc::from([self.gates.all(solver, same)])
            }
            Operation::Less(left, right) => {
                let (left, right) = (self.operand(left), self.operand(right));
                Arc::from([arithmetic::less(&mut self.gates, solver, &left, &right)])
            }
        })
    }

    fn division(
        &mut self,
        solver: &mut dyn Solver,
        left: Term,
        right: Term,
    ) -> Result<(Word, Word), Limit> {
        if let Some(division) = self.divisions.get(&(left, right)) {
            return Ok(division.clone());
        }
        let (dividend, divisor) = (self.operand(left), self.operand(right));
        let (quotient, remainder) =
            arithmetic::divide(&mut self.gates, solver, &dividend, &divisor)?;
        let division: (Word, Word) = (quotient.into(), remainder.into());
        self.divisions.insert((left, right), division.clone());
        Ok(division)
    }
}

fn pairs<'a>(
    left: &'a [Literal],
    right: &'a [Literal],
) -> impl Iterator<Item = (Literal, Literal)> + 'a {
    left.iter().copied().zip(right.iter().copied())
}
