//! The interface of SAT solvers, so that batsat can be replaced by others.

mod bat;

pub use bat::BatSolver;

/// A variable of a propositional formula, or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal(u32);

impl Literal {
    /// Returns the literal for the variable with this number, which must be less than 2^31.
    #[must_use]
    pub fn of_variable(number: u32) -> Self {
        Self(number << 1)
    }

    /// Returns the number of the literal's variable.
    #[must_use]
    pub fn variable(self) -> u32 {
        self.0 >> 1
    }

    /// Returns whether the literal is the negation of its variable.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the position of the literal among the literals of all variables, for use as an
    /// index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::ops::Not for Literal {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// The result of a solver's search for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The formula has a model. [`Solver::value`] returns the values of its literals.
    Model,
    /// These assumptions cannot all hold. They are some of those that were passed to the search;
    /// the list is empty if the formula has no model at all.
    Core(Vec<Literal>),
    /// The solver had more conflicts than were permitted.
    OutOfBudget,
}

/// A step of a proof that a formula has no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A clause that follows by unit propagation from the clauses before it.
    Lemma(Vec<Literal>),
    /// The deletion of a lemma that no later step needs.
    Deletion(Vec<Literal>),
}

/// An incremental SAT solver.
pub trait Solver {
    /// Returns a new variable. In a model, the variable has the value `preferred` unless something
    /// requires the other value.
    fn variable(&mut self, preferred: Option<bool>) -> Literal;

    /// Adds a clause to the formula: at least one of the literals must be true.
    fn add(&mut self, clause: &[Literal]);

    /// Searches for a model in which all assumptions hold. Ends without an answer after `conflicts`
    /// conflicts.
    fn solve(&mut self, assumed: &[Literal], conflicts: u64) -> Answer;

    /// Returns the value of a literal in the latest model; `false` if there is none yet.
    fn value(&self, literal: Literal) -> bool;

    /// Returns the number of conflicts in all searches together.
    fn conflicts(&self) -> u64;

    /// Returns the steps of the proof since the last call, in order.
    fn take_steps(&mut self) -> Vec<Step>;
}
