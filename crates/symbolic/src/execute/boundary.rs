//! Boundaries of operators: operands for which a comparison, `&&`, `||`, `|+|`, `|-|` or a range
//! gives another result than a similar operator, or than a neighbouring constant, would. Tests at boundaries
//! reveal wrong operators. For example, packets with a `ttl` of 0 and 64 take both sides of
//! `ttl <= 1`, but also of `ttl < 1`; packets with 1 and 2 distinguish the two.

use super::Executor;
use crate::goals::place;
use crate::state::State;
use crate::term::Term;
use ir::{BinaryOperator, Excerpts, Expression, Location};
use std::collections::HashMap;
use std::ops::Range;

/// A boundary, with the conditions under which a packet has these operands.
#[derive(Clone, Debug)]
pub(crate) struct Boundary {
    /// A description of the operands, such as `ttl <= 1, with equal operands`.
    pub(crate) name: String,
    /// The position of the statement in the source, as `file:line:column`, if it is known.
    pub(crate) place: Option<String>,
    pub(crate) guards: Vec<Term>,
}

/// The relation between the operands at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Relation {
    Equal,
    Unequal,
    OneMore,
    OneLess,
    OnlyLeft,
    OnlyRight,
    Saturated,
}

impl Relation {
    fn words(self) -> &'static str {
        match self {
            Self::Equal => "with equal operands",
            Self::Unequal => "with other operands",
            Self::OneMore => "with a left operand that is one more",
            Self::OneLess => "with a left operand that is one less",
            Self::OnlyLeft => "with only the left operand true",
            Self::OnlyRight => "with only the right operand true",
            Self::Saturated => "with a result that saturates",
        }
    }
}

/// All boundaries of a program.
#[derive(Debug, Default)]
pub(super) struct Boundaries {
    pub(super) all: Vec<Boundary>,
    /// The position of each boundary in the list of all boundaries, by the address of its
    /// expression in the program.
    known: HashMap<(usize, Relation), usize>,
    /// The boundaries that packets meet, in the order of execution. Each is given by its position,
    /// and by the position of the condition among its conditions.
    met: Vec<(usize, usize)>,
    /// The conditions under which the operand that is being evaluated is evaluated at all.
    evaluated: Vec<Term>,
    location: Option<Location>,
}

impl Executor<'_> {
    /// Sets the source position of the boundaries that are recorded next.
    pub(super) fn boundaries_at(&mut self, location: Option<Location>) {
        if let (Some(boundaries), Some(location)) = (&mut self.boundaries, location) {
            boundaries.location = Some(location);
        }
    }

    /// Restricts the boundaries that are recorded next to packets that satisfy a condition, until
    /// [`Self::evaluated`] is called.
    pub(super) fn evaluate_if(&mut self, condition: Term) {
        if let Some(boundaries) = &mut self.boundaries {
            boundaries.evaluated.push(condition);
        }
    }

    /// Ends the restriction that [`Self::evaluate_if`] has begun.
    pub(super) fn evaluated(&mut self) {
        if let Some(boundaries) = &mut self.boundaries {
            boundaries.evaluated.pop();
        }
    }

    /// Returns the number of boundaries that packets have met so far.
    pub(super) fn boundaries_met(&self) -> usize {
        self.boundaries.as_ref().map_or(0, |boundaries| boundaries.met.len())
    }

    /// Restricts some of the boundaries that packets have met to packets that satisfy a condition.
    pub(super) fn boundaries_matter_if(&mut self, met: Range<usize>, condition: Term) {
        let Some(boundaries) = &mut self.boundaries else { return };
        for (position, at) in boundaries.met.get(met).unwrap_or_default() {
            let boundary = boundaries.all.get_mut(*position);
            if let Some(guard) = boundary.and_then(|boundary| boundary.guards.get_mut(*at)) {
                *guard = self.terms.and(*guard, condition);
            }
        }
    }

    /// Records the boundaries of `left < right`, or of a similar comparison.
    pub(super) fn ordered_at(&mut self, state: &State, of: &Expression, operands: (Term, Term)) {
        if self.boundaries.is_none() {
            return;
        }
        let (left, right) = operands;
        let one = self.terms.number(self.terms.width_of(right), 1);
        let (more, less) = (self.terms.add(right, one), self.terms.subtract(right, one));
        for (relation, bound) in
            [(Relation::Equal, right), (Relation::OneMore, more), (Relation::OneLess, less)]
        {
            let condition = self.terms.equal(left, bound);
            self.meet(state, of, relation, condition);
        }
    }

    /// Records the boundaries of `==` and `!=`.
    pub(super) fn equal_at(&mut self, state: &State, of: &Expression, equal: Term) {
        if self.boundaries.is_none() {
            return;
        }
        let unequal = self.terms.not(equal);
        self.meet(state, of, Relation::Equal, equal);
        self.meet(state, of, Relation::Unequal, unequal);
    }

    /// Records the boundaries of `&&` and `||`, at which one operand alone decides the result.
    pub(super) fn joined_at(&mut self, state: &State, of: &Expression, operands: (Term, Term)) {
        if self.boundaries.is_none() {
            return;
        }
        let (left, right) = operands;
        let (not_left, not_right) = (self.terms.not(left), self.terms.not(right));
        let only_left = self.terms.and(left, not_right);
        let only_right = self.terms.and(not_left, right);
        self.meet(state, of, Relation::OnlyLeft, only_left);
        self.meet(state, of, Relation::OnlyRight, only_right);
    }

    /// Records the boundary of `|+|` or `|-|`, at which the result differs from that of `+` or `-`.
    pub(super) fn saturated_at(
        &mut self,
        state: &State,
        of: &Expression,
        saturated: Term,
        wrapped: Term,
    ) {
        if self.boundaries.is_some() {
            let differ = self.terms.not_equal(saturated, wrapped);
            self.meet(state, of, Relation::Saturated, differ);
        }
    }

    /// Returns whether an operator compares the order of its operands.
    pub(super) fn orders(operator: BinaryOperator) -> bool {
        matches!(
            operator,
            BinaryOperator::Less
                | BinaryOperator::LessOrEqual
                | BinaryOperator::Greater
                | BinaryOperator::GreaterOrEqual
        )
    }

    fn meet(&mut self, state: &State, of: &Expression, relation: Relation, condition: Term) {
        let Some(boundaries) = &mut self.boundaries else { return };
        let mut guard = self.terms.and(state.guard, condition);
        for evaluated in &boundaries.evaluated {
            guard = self.terms.and(guard, *evaluated);
        }
        if self.terms.truth_of(guard) == Some(false) {
            return;
        }
        let key = (std::ptr::from_ref(of).addr(), relation);
        let position = *boundaries.known.entry(key).or_insert(boundaries.all.len());
        if let Some(known) = boundaries.all.get_mut(position) {
            boundaries.met.push((position, known.guards.len()));
            known.guards.push(guard);
            return;
        }
        boundaries.met.push((position, 0));
        let text = Excerpts::new(self.program).expression(of);
        boundaries.all.push(Boundary {
            name: format!("{text}, {}", relation.words()),
            place: boundaries.location.map(|at| place(self.program, at)),
            guards: vec![guard],
        });
    }
}
