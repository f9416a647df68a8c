//! Logic gates: a gate is a literal with the clauses that define it by other literals.

use super::Limit;
use crate::solver::{Literal, Solver};
use std::collections::HashMap;

/// The gates of a formula. A gate with constant inputs, or one that exists already, adds no
/// clauses.
pub(super) struct Gates {
    truth: Literal,
    and: HashMap<(Literal, Literal), Literal>,
    xor: HashMap<(Literal, Literal), Literal>,
    choices: HashMap<[Literal; 3], Literal>,
    majorities: HashMap<[Literal; 3], Literal>,
    clauses: u64,
    limit: u64,
}

impl Gates {
    pub(super) fn new(solver: &mut dyn Solver, limit: u64) -> Self {
        let truth = solver.variable(Some(true));
        solver.add(&[truth]);
        Self {
            truth,
            and: HashMap::new(),
            xor: HashMap::new(),
            choices: HashMap::new(),
            majorities: HashMap::new(),
            clauses: 1,
            limit,
        }
    }

    /// Returns the literal that is always true.
    pub(super) fn truth(&self) -> Literal {
        self.truth
    }

    pub(super) fn clauses(&self) -> u64 {
        self.clauses
    }

    /// Returns an error if the formula has more clauses than permitted.
    pub(super) fn check(&self) -> Result<(), Limit> {
        if self.clauses > self.limit { Err(Limit::Clauses(self.limit)) } else { Ok(()) }
    }

    /// Returns whether a literal is a constant.
    pub(super) fn is_constant(&self, literal: Literal) -> bool {
        literal == self.truth || literal == !self.truth
    }

    fn clause<const N: usize>(&mut self, solver: &mut dyn Solver, clause: [Literal; N]) {
        solver.add(&clause);
        self.clauses += 1;
    }

    pub(super) fn and(&mut self, solver: &mut dyn Solver, a: Literal, b: Literal) -> Literal {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        if a == !b || a == !self.truth || b == !self.truth {
            return !self.truth;
        }
        if a == b || a == self.truth {
            return b;
        }
        if b == self.truth {
            return a;
        }
        if let Some(known) = self.and.get(&(a, b)) {
            return *known;
        }
        let result = solver.variable(None);
        self.clause(solver, [!result, a]);
        self.clause(solver, [!result, b]);
        self.clause(solver, [result, !a, !b]);
        self.and.insert((a, b), result);
        result
    }

    pub(super) fn or(&mut self, solver: &mut dyn Solver, a: Literal, b: Literal) -> Literal {
        !self.and(solver, !a, !b)
    }

    pub(super) fn xor(&mut self, solver: &mut dyn Solver, a: Literal, b: Literal) -> Literal {
        // A negated operand negates the result, so that all four combinations are one gate.
        let negated = a.is_negative() != b.is_negative();
        let (a, b) = (positive(a), positive(b));
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        let sign = |literal: Literal| if negated { !literal } else { literal };
        if a == b {
            return sign(!self.truth);
        }
        // The truth is the first variable, so it is never the second of two.
        if a == positive(self.truth) {
            return sign(if self.truth.is_negative() { b } else { !b });
        }
        if let Some(known) = self.xor.get(&(a, b)) {
            return sign(*known);
        }
        let result = solver.variable(None);
        self.clause(solver, [!result, a, b]);
        self.clause(solver, [!result, !a, !b]);
        self.clause(solver, [result, !a, b]);
        self.clause(solver, [result, a, !b]);
        self.xor.insert((a, b), result);
        sign(result)
    }

    /// Returns a literal for `condition ? then : otherwise`.
    pub(super) fn choose(
        &mut self,
        solver: &mut dyn Solver,
        condition: Literal,
        then: Literal,
        otherwise: Literal,
    ) -> Literal {
        if condition.is_negative() {
            return self.choose(solver, !condition, otherwise, then);
        }
        if condition == self.truth || then == otherwise {
            return then;
        }
        if then == !otherwise {
            return self.xor(solver, condition, otherwise);
        }
        if then == self.truth || then == condition {
            return self.or(solver, condition, otherwise);
        }
        if then == !self.truth || then == !condition {
            return self.and(solver, !condition, otherwise);
        }
        if otherwise == self.truth || otherwise == !condition {
            return self.or(solver, !condition, then);
        }
        if otherwise == !self.truth || otherwise == condition {
            return self.and(solver, condition, then);
        }
        let gate = [condition, then, otherwise];
        if let Some(known) = self.choices.get(&gate) {
            return *known;
        }
        let result = solver.variable(None);
        self.clause(solver, [!condition, !then, result]);
        self.clause(solver, [!condition, then, !result]);
        self.clause(solver, [condition, !otherwise, result]);
        self.clause(solver, [condition, otherwise, !result]);
        // These two follow from the others; with them, propagation sees equal sides.
        self.clause(solver, [!then, !otherwise, result]);
        self.clause(solver, [then, otherwise, !result]);
        self.choices.insert(gate, result);
        result
    }

    /// Returns a literal that is true if at least two of three literals are. This is the carry of
    /// an adder.
    pub(super) fn majority(
        &mut self,
        solver: &mut dyn Solver,
        mut inputs: [Literal; 3],
    ) -> Literal {
        inputs.sort_unstable();
        let [a, b, c] = inputs;
        // The truth is the first variable, so it and its negation sort before all others. Equal and
        // opposite literals are adjacent.
        if a == self.truth {
            return self.or(solver, b, c);
        }
        if a == !self.truth {
            return self.and(solver, b, c);
        }
        if a == b || b == c {
            return b;
        }
        if a == !b {
            return c;
        }
        if b == !c {
            return a;
        }
        if let Some(known) = self.majorities.get(&inputs) {
            return *known;
        }
        let result = solver.variable(None);
        for [x, y] in [[a, b], [a, c], [b, c]] {
            self.clause(solver, [!x, !y, result]);
            self.clause(solver, [x, y, !result]);
        }
        self.majorities.insert(inputs, result);
        result
    }

    /// Returns a literal that is true if all of these literals are.
    pub(super) fn all(&mut self, solver: &mut dyn Solver, mut literals: Vec<Literal>) -> Literal {
        literals.sort_unstable();
        literals.dedup();
        literals.retain(|literal| *literal != self.truth);
        let opposite = literals.windows(2).any(|pair| matches!(pair, [a, b] if *a == !*b));
        if opposite || literals.contains(&!self.truth) {
            return !self.truth;
        }
        match literals.as_slice() {
            [] => self.truth,
            [only] => *only,
            [a, b] => self.and(solver, *a, *b),
            _ => {
                let result = solver.variable(None);
                for literal in &literals {
                    self.clause(solver, [!result, *literal]);
                }
                let mut clause: Vec<Literal> = literals.iter().map(|literal| !*literal).collect();
                clause.push(result);
                solver.add(&clause);
                self.clauses += 1;
                result
            }
        }
    }
}

fn positive(literal: Literal) -> Literal {
    if literal.is_negative() { !literal } else { literal }
}
