//! Makes tests at the boundaries of comparisons, after the tests that reach the goals of the
//! program. For example, tests of `ttl <= 1` have a `ttl` of 0, 1 and 2. They reveal whether an
//! implementation has `<` in place of `<=`, or 2 in place of 1.
//!
//! A test at a boundary reveals most if the packet leaves the switch, so such a packet is tried
//! first.

use super::{Found, Search, SearchError, Verdict};
use crate::execute::{Boundary, Execution, Fate};
use crate::goals::{Goal, Kind};
use crate::query::{Answer, conjuncts};
use crate::term::Term;
use std::collections::BTreeSet;

/// The number of times that incompatible preferences are dropped and the others tried again.
const RELAXATIONS: usize = 4;

/// A boundary for which a test is made.
#[derive(Clone)]
pub(super) struct Wanted {
    /// A description of the boundary.
    goal: Goal,
    /// The condition under which the packet is at the boundary: the operands are those that the
    /// boundary demands.
    met: Term,
    /// The condition under which the packet is at the boundary and leaves the switch.
    shown: Term,
}

/// Returns conditions that make a test reveal more of the program's behaviour: the packet leaves
/// the switch, and finds an entry in each table that it looks up.
pub(super) fn showing(execution: &mut Execution) -> Vec<Term> {
    let mut conditions = vec![leaves(execution)];
    let Execution { terms, lookups, .. } = execution;
    for lookup in lookups.iter() {
        let hits = terms.implies(lookup.on, lookup.hit);
        if terms.truth_of(hits).is_none() {
            conditions.push(hits);
        }
    }
    conditions
}

/// Returns the conditions that arguments of entries, and ports to which copies are sent, are not
/// zero. A program that does not assign a value often leaves it zero, so zeros hide that fault.
pub(super) fn nonzero(execution: &mut Execution) -> Vec<Term> {
    let Execution { terms, lookups, copies, .. } = execution;
    let arguments = lookups.iter().filter(|lookup| lookup.is_free).flat_map(|lookup| &lookup.data);
    let ports = copies.iter().map(|copied| copied.member.port);
    let numbers: BTreeSet<Term> = arguments.flatten().copied().chain(ports).collect();
    let mut conditions = Vec::new();
    for number in numbers {
        let width = terms.width_of(number);
        // A flag needs both of its values.
        if width < 2 {
            continue;
        }
        let zero = terms.zero(width);
        let condition = terms.not_equal(number, zero);
        if terms.truth_of(condition).is_none() {
            conditions.push(condition);
        }
    }
    conditions
}

/// Returns the condition under which the last packet, or a copy of it, leaves the switch.
fn leaves(execution: &mut Execution) -> Term {
    let ends = execution.last.ends.iter();
    let sent = ends.filter(|end| matches!(end.fate, Fate::Sent { .. }));
    let guards: Vec<Term> = sent.map(|end| end.guard).collect();
    execution.terms.any(&guards)
}

impl Search<'_> {
    /// Adds the boundaries of the program to the conditions that are checked for each test.
    pub(super) fn add_boundaries(&mut self, boundaries: Vec<Boundary>) {
        if boundaries.is_empty() {
            return;
        }
        let leaves = leaves(&mut self.execution);
        let terms = &mut self.execution.terms;
        for Boundary { name, place, guards } in boundaries {
            let met = terms.any(&guards);
            let shown = terms.and(met, leaves);
            self.conditions.push(shown);
            let goal = Goal { kind: Kind::Branch, name, place };
            self.boundaries.push(Wanted { goal, met, shown });
        }
    }

    /// Tries to make a test at the boundary with this number. The test counts even if no packet
    /// leaves the switch. If no test is found, the returned verdict only records that the boundary
    /// was tried.
    pub(super) fn attempt_boundary(
        &mut self,
        number: usize,
    ) -> Result<Result<Found, Verdict>, SearchError> {
        let Some(Wanted { goal, met, shown }) = self.boundaries.get(number).cloned() else {
            return Ok(Err(Verdict::Open));
        };
        for condition in [shown, met] {
            // Most boundaries that no packet reaches are excluded by one query.
            let followed = [condition, self.followed];
            let answer = self.context.solve(&self.execution.terms, &followed)?;
            if matches!(answer, Answer::Unsat(_)) {
                continue;
            }
            if let Ok(mut found) = self.attempt(condition, &goal, 0)? {
                found.reached.push(self.of_last.len() + number);
                return Ok(Ok(found));
            }
        }
        Ok(Err(Verdict::Unreachable))
    }

    /// Returns those conditions of [`showing`] and [`nonzero`] that can hold together with `others`.
    pub(super) fn compatible(&mut self, others: &[Term]) -> Result<Vec<Term>, SearchError> {
        let mut found = self.compatible_of(self.showing.clone(), others)?;
        let before = [others, &found].concat();
        found.extend(self.compatible_of(self.nonzero.clone(), &before)?);
        Ok(found)
    }

    /// Returns those wishes that can hold together with `others`. Wishes that the solver reports as
    /// incompatible are dropped.
    fn compatible_of(
        &mut self,
        mut wishes: Vec<Term>,
        others: &[Term],
    ) -> Result<Vec<Term>, SearchError> {
        for _ in 0..RELAXATIONS {
            if wishes.is_empty() {
                break;
            }
            let all = [others, &wishes].concat();
            let terms = &self.execution.terms;
            match self.context.solve(terms, &all)? {
                Answer::Model(_) => return Ok(wishes),
                Answer::OutOfBudget(_) => break,
                Answer::Unsat(core) => {
                    let core: BTreeSet<Term> = core.conditions.into_iter().collect();
                    let before = wishes.len();
                    wishes.retain(|wish| conjuncts(terms, &[*wish]).is_disjoint(&core));
                    if wishes.len() == before {
                        break;
                    }
                }
            }
        }
        Ok(Vec::new())
    }
}
