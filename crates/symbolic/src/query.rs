//! Asks the solver whether conditions can hold together.

mod cores;
mod maximum;

use crate::blast::Blaster;
use crate::ends::Ends;
use crate::evaluate::{Evaluation, Model};
use crate::proof::{CheckedSolver, ProofError};
use crate::solver::{self, BatSolver, Literal, Solver};
use crate::term::{Fault, InputId, Operation, Term, Terms};
use cores::Cores;
use std::collections::{BTreeSet, VecDeque};

pub use crate::blast::{Fill, Limit};
pub use maximum::Maximum;

/// The largest number of conjuncts into which a condition is split.
const CONJUNCTS: usize = 4_096;

/// The number of values above which the evaluation under a kept model is discarded.
const REMEMBERED: usize = 200_000;

/// The settings of a [`Context`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The number of conflicts after which a query ends without an answer.
    pub conflicts: u64,
    /// The largest number of clauses that the formula may have.
    pub clauses: u64,
    /// The number of models that are kept. A query is tried with each of them before it is passed
    /// to the solver.
    pub models: usize,
    /// The rule for the values of bits that a query leaves open.
    pub fill: Fill,
    /// Whether each proof of unsatisfiability is checked.
    pub checks_proofs: bool,
    /// The time and the flag that end a query without an answer.
    pub ends: Ends,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            conflicts: 20_000,
            clauses: 2_000_000,
            models: 32,
            fill: Fill::Zeros,
            checks_proofs: true,
            ends: Ends::default(),
        }
    }
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All conditions hold under this model, together with all asserted conditions.
    Model(Model),
    /// The conditions cannot all hold. This core has some of them that already exclude each other.
    Unsat(Core),
    /// The query reached this limit before the solver found an answer.
    OutOfBudget(Limit),
}

/// An unsatisfiable core: conditions that cannot all hold. They are conjuncts of the query's
/// conditions. The core is empty if the asserted conditions alone have no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    /// The conditions, in the order of their creation.
    pub conditions: Vec<Term>,
}

/// The numbers of queries, by the means that answered them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of queries in which a condition is constant, or two are opposites.
    pub trivial: u64,
    /// The number of queries for which a kept model sufficed.
    pub models: u64,
    /// The number of queries that contain all conditions of a known core.
    pub cores: u64,
    /// The number of queries for which the solver found a model.
    pub satisfiable: u64,
    /// The number of queries that the solver proved unsatisfiable.
    pub unsatisfiable: u64,
    /// The number of queries that reached a limit.
    pub out_of_budget: u64,
}

/// The error that prevents a query from being answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A term was constructed with operands that do not fit.
    #[error("{0}")]
    Term(#[from] Fault),
    /// A proof of unsatisfiability has a wrong step.
    #[error("{0}")]
    Proof(#[from] ProofError),
    /// A condition of the query does not hold under the solver's model, according to the evaluation
    /// of terms.
    #[error(
        "the solver's model breaks condition {} of the query (an error in this program, \
         please report it)",
        .0.index()
    )]
    Model(Term),
}

/// A formula for several queries, which grows with each of them.
///
/// Queries that have much in common, such as those about paths of one layout, belong in one
/// context. Those that have little in common are answered faster in contexts of their own.
pub struct Context {
    settings: Settings,
    blaster: Blaster,
    solver: CheckedSolver<BatSolver>,
    asserted: Vec<Term>,
    /// The number of conditions in `asserted` that have been passed to the solver.
    added: usize,
    models: VecDeque<Evaluation>,
    cores: Cores,
    counts: Counts,
}

impl Context {
    /// Returns a context without assertions.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let mut solver = CheckedSolver::new(
            BatSolver::new(settings.checks_proofs, settings.ends),
            settings.checks_proofs,
        );
        let blaster = Blaster::new(&mut solver, settings.fill, settings.clauses);
        Self {
            settings,
            blaster,
            solver,
            asserted: Vec::new(),
            added: 0,
            models: VecDeque::new(),
            cores: Cores::default(),
            counts: Counts::default(),
        }
    }

    /// Asserts a condition. All later queries require that it holds.
    pub fn assert(&mut self, terms: &Terms, condition: Term) {
        if terms.truth_of(condition) == Some(true) {
            return;
        }
        self.models.retain_mut(|model| model.holds(terms, condition));
        self.asserted.push(condition);
    }

    /// Offers a model that another context has found. It is kept if all asserted conditions hold
    /// under it.
    pub fn offer(&mut self, terms: &Terms, model: Model) {
        let mut evaluation = Evaluation::new(model);
        if self.asserted.iter().all(|condition| evaluation.holds(terms, *condition)) {
            self.keep(evaluation);
        }
    }

    /// Returns the numbers of queries, by the means that answered them.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the number of conflicts in all queries together.
    #[must_use]
    pub fn conflicts(&self) -> u64 {
        self.solver.conflicts()
    }

    /// Returns the number of clauses of the formula.
    #[must_use]
    pub fn clauses(&self) -> u64 {
        self.blaster.clauses()
    }

    /// Returns the number of lemmas whose proofs were checked.
    #[must_use]
    pub fn checked_lemmas(&self) -> u64 {
        self.solver.checked_lemmas()
    }

    /// Decides whether the conditions can hold together, within the number of conflicts that the
    /// settings permit.
    ///
    /// # Errors
    ///
    /// Returns an error if a term was constructed wrongly, or if the solver's answer is wrong.
    pub fn solve(&mut self, terms: &Terms, conditions: &[Term]) -> Result<Answer, QueryError> {
        self.solve_within(terms, conditions, self.settings.conflicts)
    }

    /// Decides whether the conditions can hold together. The solver may have at most `conflicts`
    /// conflicts.
    ///
    /// # Errors
    ///
    /// Returns an error if a term was constructed wrongly, or if the solver's answer is wrong.
    pub fn solve_within(
        &mut self,
        terms: &Terms,
        conditions: &[Term],
        conflicts: u64,
    ) -> Result<Answer, QueryError> {
        terms.check()?;
        let conjuncts = conjuncts(terms, conditions);
        if let Some(core) = obvious_core(terms, &self.asserted, &conjuncts) {
            self.counts.trivial += 1;
            return Ok(Answer::Unsat(core));
        }
        if let Some(model) = self.kept_model(terms, &conjuncts) {
            self.counts.models += 1;
            return Ok(Answer::Model(model));
        }
        if let Some(conditions) = self.cores.contained_in(&conjuncts) {
            self.counts.cores += 1;
            return Ok(Answer::Unsat(Core { conditions }));
        }
        let assumed = match self.assumptions(terms, &conjuncts) {
            Ok(assumed) => assumed,
            Err(limit) => {
                self.counts.out_of_budget += 1;
                return Ok(Answer::OutOfBudget(limit));
            }
        };
        let literals: Vec<Literal> = assumed.iter().map(|(literal, _)| *literal).collect();
        let answer = self.solver.solve(&literals, conflicts);
        self.solver.verdict()?;
        match answer {
            solver::Answer::Model => self.found(terms, &conjuncts),
            solver::Answer::Core(core) => {
                let conditions: BTreeSet<Term> = assumed
                    .iter()
                    .filter(|(literal, _)| core.contains(literal))
                    .map(|(_, condition)| *condition)
                    .collect();
                let conditions: Vec<Term> = conditions.into_iter().collect();
                self.cores.insert(conditions.clone());
                self.counts.unsatisfiable += 1;
                Ok(Answer::Unsat(Core { conditions }))
            }
            solver::Answer::OutOfBudget => {
                self.counts.out_of_budget += 1;
                Ok(Answer::OutOfBudget(Limit::Conflicts(conflicts)))
            }
        }
    }

    /// Sets the value of an input to which a model assigns none, as `Settings::fill` says. This
    /// concerns inputs that no query of this context mentions.
    pub fn complete(&self, terms: &Terms, model: &mut Model, input: InputId) {
        if !model.contains(input) {
            let value = self.settings.fill.value(terms, input);
            model.set(terms, input, &value);
        }
    }

    /// Returns the literals that the solver must assume, each with its condition. Before that,
    /// passes new assertions to the solver.
    fn assumptions(
        &mut self,
        terms: &Terms,
        conjuncts: &BTreeSet<Term>,
    ) -> Result<Vec<(Literal, Term)>, Limit> {
        while let Some(condition) = self.asserted.get(self.added) {
            let literal = self.blaster.condition(terms, &mut self.solver, *condition)?;
            self.solver.add(&[literal]);
            self.added += 1;
        }
        let mut assumed = Vec::with_capacity(conjuncts.len());
        for condition in conjuncts {
            let literal = self.blaster.condition(terms, &mut self.solver, *condition)?;
            assumed.push((literal, *condition));
        }
        Ok(assumed)
    }

    /// Returns the solver's model, after checking that all conditions hold under it.
    fn found(&mut self, terms: &Terms, conjuncts: &BTreeSet<Term>) -> Result<Answer, QueryError> {
        let model = self.blaster.model(terms, &self.solver);
        let mut evaluation = Evaluation::new(model.clone());
        for condition in conjuncts.iter().chain(&self.asserted) {
            if !evaluation.holds(terms, *condition) {
                return Err(QueryError::Model(*condition));
            }
        }
        self.keep(self.filled(terms, model.clone()));
        self.counts.satisfiable += 1;
        Ok(Answer::Model(model))
    }

    /// Returns a model in which open values are chosen as the settings say. It is kept to try later
    /// queries with it. With zeros instead, fields that should differ would often be equal.
    fn filled(&self, terms: &Terms, mut model: Model) -> Evaluation {
        match self.settings.fill {
            Fill::Zeros => {}
            Fill::Random(_) => {
                for input in terms.chosen_inputs() {
                    self.complete(terms, &mut model, input);
                }
            }
        }
        Evaluation::new(model)
    }

    /// Returns the newest kept model under which all conditions hold, if there is one.
    fn kept_model(&mut self, terms: &Terms, conjuncts: &BTreeSet<Term>) -> Option<Model> {
        for evaluation in &mut self.models {
            if evaluation.remembered() > REMEMBERED {
                evaluation.forget();
            }
            if conjuncts.iter().all(|condition| evaluation.holds(terms, *condition)) {
                return Some(evaluation.model().clone());
            }
        }
        None
    }

    fn keep(&mut self, evaluation: Evaluation) {
        self.models.push_front(evaluation);
        self.models.truncate(self.settings.models);
    }
}

/// Splits conditions into their conjuncts, and drops those that are constantly true.
pub(crate) fn conjuncts(terms: &Terms, conditions: &[Term]) -> BTreeSet<Term> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<Term> = conditions.to_vec();
    while let Some(condition) = open.pop() {
        if terms.truth_of(condition) == Some(true) || !seen.insert(condition) {
            continue;
        }
        match terms.operation(condition) {
            Operation::And(left, right) if seen.len() < CONJUNCTS => open.extend([left, right]),
            _ => {
                found.insert(condition);
            }
        }
    }
    found
}

/// Returns the core of a query that is unsatisfiable at first sight: a condition is constantly
/// false, or two are opposites.
fn obvious_core(terms: &Terms, asserted: &[Term], conjuncts: &BTreeSet<Term>) -> Option<Core> {
    let never = |condition: &&Term| terms.truth_of(**condition) == Some(false);
    if asserted.iter().any(|condition| never(&condition)) {
        return Some(Core { conditions: Vec::new() });
    }
    if let Some(condition) = conjuncts.iter().find(never) {
        return Some(Core { conditions: vec![*condition] });
    }
    conjuncts.iter().find_map(|condition| match terms.operation(*condition) {
        Operation::Not(inner) if conjuncts.contains(&inner) => {
            Some(Core { conditions: vec![inner, *condition] })
        }
        _ => None,
    })
}
