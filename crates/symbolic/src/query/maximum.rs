//! Finds the largest value that a term can have under conditions, such as the cost of the costliest
//! path.

use super::{Answer, Context, QueryError};
use crate::evaluate::{Evaluation, Model};
use crate::term::{Term, Terms};

/// The result of a search for the largest value of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maximum {
    /// The largest value that was found.
    pub found: u128,
    /// A model under which the term has the value `found`.
    pub model: Model,
    /// A proven upper bound of the term's value. It equals `found` unless a query reached a limit.
    pub bound: u128,
}

impl Context {
    /// Finds the largest value of a term of at most 127 bits under conditions, by bisection.
    /// Returns `None` if the conditions cannot hold together, or if a limit was reached before any
    /// value was found.
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
