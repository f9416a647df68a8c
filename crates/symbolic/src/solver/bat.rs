//! The SAT solver batsat, as an implementation of the interface.

use crate::ends::Ends;

use super::{Answer, Literal, Solver, Step};
use batsat::{Callbacks, ClauseKind, Lit, SolverInterface, SolverOpts, Var, lbool};

/// A callback that batsat informs during a search. It records the lemmas that batsat learns, one
/// for each conflict.
#[derive(Debug, Default)]
struct Search {
    conflicts: u64,
    /// The number of conflicts after which the search stops.
    stop_at: u64,
    steps: Option<Vec<Step>>,
    ends: Ends,
}

impl Callbacks for Search {
    fn on_new_clause(&mut self, clause: &[Lit], kind: ClauseKind) {
        match kind {
            ClauseKind::Learnt => {
                self.conflicts += 1;
                if let Some(steps) = &mut self.steps {
                    steps.push(Step::Lemma(clause.iter().copied().map(literal_of).collect()));
                }
            }
            // Neither clauses that were added nor lemmas of theories, of which there are none, are
            // steps of a proof.
            ClauseKind::Axiom | ClauseKind::Theory => {}
        }
    }

    fn on_delete_clause(&mut self, clause: &[Lit]) {
        if let Some(steps) = &mut self.steps {
            steps.push(Step::Deletion(clause.iter().copied().map(literal_of).collect()));
        }
    }

    fn stop(&self) -> bool {
        self.conflicts >= self.stop_at || self.ends.are_reached()
    }
}

/// The SAT solver batsat, which is MiniSat in Rust.
pub struct BatSolver {
    solver: batsat::Solver<Search>,
    clause: Vec<Lit>,
}

impl BatSolver {
    /// Returns a solver without variables. If `records` is true, the steps of its proofs are
    /// recorded. A search that must end is out of budget.
    #[must_use]
    pub fn new(records: bool, ends: Ends) -> Self {
        let search = Search { steps: records.then(Vec::new), ends, ..Search::default() };
        let solver = batsat::Solver::new(SolverOpts::default(), search);
        Self { solver, clause: Vec::new() }
    }
}

fn lit_of(literal: Literal) -> Lit {
    Lit::new(Var::unsafe_from_idx(literal.variable()), !literal.is_negative())
}

fn literal_of(lit: Lit) -> Literal {
    let positive = Literal::of_variable(lit.var().idx());
    if lit.sign() { positive } else { !positive }
}

impl Solver for BatSolver {
    fn variable(&mut self, preferred: Option<bool>) -> Literal {
        let polarity = match preferred {
            Some(true) => lbool::TRUE,
            Some(false) => lbool::FALSE,
            None => lbool::UNDEF,
        };
        Literal::of_variable(self.solver.new_var(polarity, true).idx())
    }

    fn add(&mut self, clause: &[Literal]) {
        self.clause.clear();
        self.clause.extend(clause.iter().copied().map(lit_of));
        // The result says whether the formula can still have a model, which `solve` reports.
        self.solver.add_clause_reuse(&mut self.clause);
    }

    fn solve(&mut self, assumed: &[Literal], conflicts: u64) -> Answer {
        let search = self.solver.cb_mut();
        search.stop_at = search.conflicts.saturating_add(conflicts.max(1));
        let assumed: Vec<Lit> = assumed.iter().copied().map(lit_of).collect();
        let found = self.solver.solve_limited(&assumed);
        if found == lbool::TRUE {
            Answer::Model
        } else if found == lbool::FALSE {
            // The core of batsat is the clause that excludes the assumptions, that is, their
            // negations.
            let core = self.solver.unsat_core();
            Answer::Core(core.iter().map(|lit| literal_of(!*lit)).collect())
        } else {
            Answer::OutOfBudget
        }
    }

    fn value(&self, literal: Literal) -> bool {
        self.solver.value_lit(lit_of(literal)) == lbool::TRUE
    }

    fn conflicts(&self) -> u64 {
        self.solver.num_conflicts()
    }

    fn take_steps(&mut self) -> Vec<Step> {
        self.solver.cb_mut().steps.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
