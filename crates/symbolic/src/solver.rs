//! The interface of a SAT solver, behind which others than batsat can be used.

mod bat;

pub use bat::BatSolver;

/// A variable of a propositional formula, or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal(u32);

impl Literal {
    /// Returns the variable with a number, which is less than 2^31.
    #[must_use]
    pub fn of_variable(number: u32) -> Self {
        Self(number << 1)
    }

    /// Returns the number of the variable.
    #[must_use]
    pub fn variable(self) -> u32 {
        self.0 >> 1
    }

    /// Returns whether the literal is the negation of its variable.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the position of the literal among those of all variables, for use as an index.
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

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The formula has a model, whose values [`Solver::value`] returns.
    Model,
    /// No model has all of these assumptions, which are some of those that were passed. There are
    /// none if the formula has no model at all.
    Core(Vec<Literal>),
    /// The search had more conflicts than was permitted.
    OutOfBudget,
}

/// A step of the proof that a formula has no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A clause that follows from those before it by unit propagation.
    Lemma(Vec<Literal>),
    /// A lemma that no later step needs.
    Deletion(Vec<Literal>),
}

/// An incremental SAT solver.
pub trait Solver {
    /// Returns a new variable. Where nothing speaks against it, a model has the preferred value.
    fn variable(&mut self, preferred: Option<bool>) -> Literal;

    /// Adds a clause: at least one of the literals holds.
    fn add(&mut self, clause: &[Literal]);

    /// Searches a model in which all assumptions hold, for at most `conflicts` conflicts.
    fn solve(&mut self, assumed: &[Literal], conflicts: u64) -> Answer;

    /// Returns the value of a literal in the last model, and `false` before there is one.
    fn value(&self, literal: Literal) -> bool;

    /// Returns the number of conflicts of all searches.
    fn conflicts(&self) -> u64;

    /// Returns the steps since the last call, in the order in which they were made.
    fn take_steps(&mut self) -> Vec<Step>;
}
