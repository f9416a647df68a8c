//! Checks proofs of unsatisfiability.
//!
//! A solver is a large program with heuristics, while the check of its conclusions is small and has
//! none. Each lemma that the solver reports must follow by unit propagation from the clauses and
//! lemmas before it: if all literals of the lemma are assumed to be false, propagation must reach a
//! contradiction (Goldberg and Novikov, "Verification of proofs of unsatisfiability for CNF
//! formulas", DATE 2003). A core is accepted if the clause that excludes it follows in the same
//! way.

mod propagation;

use crate::solver::{Answer, Literal, Solver, Step};
use propagation::Propagation;

/// A step of a solver's proof that does not follow from the steps before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// A lemma does not follow from the clauses and lemmas before it.
    #[error(
        "lemma {number} of the solver's proof does not follow (an error in this program or in its \
         solver, please report it)"
    )]
    Lemma {
        /// The number of the lemma, counted from 1.
        number: u64,
    },
    /// A core is wrong: the clause that excludes it does not follow from the clauses and lemmas.
    #[error(
        "an unsatisfiable core does not follow after {lemmas} lemmas (an error in this program or \
         in its solver, please report it)"
    )]
    Core {
        /// The number of lemmas before the core.
        lemmas: u64,
    },
}

/// A solver with a check of its lemmas and unsatisfiable cores.
pub struct CheckedSolver<S> {
    solver: S,
    /// The formula for the check; `None` if nothing is checked.
    formula: Option<Propagation>,
    lemmas: u64,
    error: Option<ProofError>,
}

impl<S: Solver> CheckedSolver<S> {
    /// Returns a solver without variables. If `checks` is true, each step of the proofs of `solver`
    /// is checked.
    pub fn new(solver: S, checks: bool) -> Self {
        let formula = checks.then(Propagation::default);
        Self { solver, formula, lemmas: 0, error: None }
    }

    /// Returns whether all steps that were checked are correct.
    ///
    /// # Errors
    ///
    /// Returns the error of the first wrong step, if there is one.
    pub fn verdict(&self) -> Result<(), ProofError> {
        self.error.clone().map_or(Ok(()), Err)
    }

    /// Returns the number of lemmas that were checked.
    #[must_use]
    pub fn checked_lemmas(&self) -> u64 {
        self.lemmas
    }

    fn check(&mut self, answer: &Answer) -> Result<(), ProofError> {
        let Some(formula) = &mut self.formula else { return Ok(()) };
        for step in self.solver.take_steps() {
            match step {
                Step::Lemma(clause) => {
                    self.lemmas += 1;
                    if !formula.implies(&clause) {
                        return Err(ProofError::Lemma { number: self.lemmas });
                    }
                    formula.add_lemma(&clause);
                }
                Step::Deletion(clause) => formula.delete_lemma(&clause),
            }
        }
        match answer {
            Answer::Core(core) => {
                let excluding: Vec<Literal> = core.iter().map(|literal| !*literal).collect();
                if formula.implies(&excluding) {
                    Ok(())
                } else {
                    Err(ProofError::Core { lemmas: self.lemmas })
                }
            }
            Answer::Model | Answer::OutOfBudget => Ok(()),
        }
    }
}

impl<S: Solver> Solver for CheckedSolver<S> {
    fn variable(&mut self, preferred: Option<bool>) -> Literal {
        let literal = self.solver.variable(preferred);
        if let Some(formula) = &mut self.formula {
            formula.add_variable(literal);
        }
        literal
    }

    fn add(&mut self, clause: &[Literal]) {
        self.solver.add(clause);
        if let Some(formula) = &mut self.formula {
            formula.add_clause(clause);
        }
    }

    fn solve(&mut self, assumed: &[Literal], conflicts: u64) -> Answer {
        let answer = self.solver.solve(assumed, conflicts);
        if let Err(error) = self.check(&answer) {
            self.error.get_or_insert(error);
        }
        answer
    }

    fn value(&self, literal: Literal) -> bool {
        self.solver.value(literal)
    }

    fn conflicts(&self) -> u64 {
        self.solver.conflicts()
    }

    fn take_steps(&mut self) -> Vec<Step> {
        // The check takes them.
        Vec::new()
    }
}
