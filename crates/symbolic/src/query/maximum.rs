//! The greatest value that a term can have under conditions, such as the cost of the worst path.

use super::{Answer, Context, QueryError};
use crate::evaluate::{Evaluation, Model};
use crate::term::{Term, Terms};

/// The bounds that are known of the greatest value of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maximum {
    /// The greatest value that was found, with a model under which the term has it.
    pub found: u128,
    /// The model.
    pub model: Model,
    /// A value that the term cannot exceed. It equals `found` unless a query reached a limit.
    pub bound: u128,
}

impl Context {
    /// Returns the greatest value of a term of at most 127 bits under conditions, which bisection
    /// finds. Returns `None` if the conditions exclude each other, or if a limit was reached before
    /// any value was found.
    ///
    /// # Errors
    ///
    /// Returns an error if a term was constructed wrongly, or if the solver's answer is wrong.
    pub fn maximum(
        &mut self,
        terms: &mut Terms,
        conditions: &[Term],
        number: Term,
    ) -> Result<Option<Maximum>, QueryError> {
        let width = terms.width_of(number);
        let largest = 1_u128.checked_shl(width).map_or(u128::MAX, |beyond| beyond - 1);
        let Answer::Model(model) = self.solve(terms, conditions)? else { return Ok(None) };
        let mut best = Maximum { found: value(terms, number, &model), model, bound: largest };
        // Values above `below` are excluded by what was proved; those above `tried` were given up.
        let mut below = largest;
        let mut tried = largest;
        while best.found < tried {
            let middle = best.found + (tried - best.found).div_ceil(2);
            let least = terms.number(width, middle);
            let reached = terms.less_or_equal(least, number);
            let wanted = [conditions, &[reached]].concat();
            match self.solve(terms, &wanted)? {
                Answer::Model(model) => {
                    best.found = value(terms, number, &model);
                    best.model = model;
                }
                Answer::Unsat(_) => {
                    below = below.min(middle - 1);
                    tried = tried.min(middle - 1);
                }
                Answer::OutOfBudget(_) => tried = middle - 1,
            }
        }
        best.bound = below;
        Ok(Some(best))
    }
}

fn value(terms: &Terms, number: Term, model: &Model) -> u128 {
    Evaluation::new(model.clone()).value(terms, number).to_u128().unwrap_or(u128::MAX)
}
