//! The costliest paths of a program: packets and configurations for which the weights of what they
//! reach have the largest sum.

use super::{Options, Search, SearchError};
use crate::evaluate::{Evaluation, Model};
use crate::generated::Test;
use crate::goals::{Goal, Kind};
use crate::packet::LENGTH_BITS;
use crate::realise::Unrealised;
use crate::term::Term;
use ir::Program;

/// The number of packets of a length that are tried at most: some have an outcome that depends on
/// undefined values, or need entries that the program's constraints exclude.
const ATTEMPTS: usize = 64;

/// The paths that are wanted.
#[derive(Clone, Copy, Debug)]
pub struct CostlyWish<'w> {
    /// The weights of the goals, by their positions. A goal without a weight has none.
    pub weights: &'w [u32],
    /// The lengths of packets in bytes.
    pub lengths: &'w [u32],
    /// The number of paths for each length. Two paths differ in a goal that has a weight.
    pub count: usize,
    /// Goals, by their positions, that packets must reach (`true`) or must not reach (`false`).
    pub fixed: &'w [(usize, bool)],
}

/// A test whose packet takes a costly path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costly {
    /// The length of the packet in bytes.
    pub length: u32,
    /// The test.
    pub test: Test,
    /// The positions of the goals that the packet reaches.
    pub reached: Vec<usize>,
    /// The sum of the weights of these goals.
    pub weight: u64,
    /// A sum that no packet of this length exceeds, as the solver has proved.
    pub bound: u64,
}

/// Searches for the costliest paths of packets of each length, the costliest first. There are fewer
/// than wanted for a length if fewer exist, or if the solver reached a limit.
///
/// # Errors
///
/// Returns an error if the program cannot be executed symbolically, or if the solver's answer is
/// wrong.
pub fn costliest(
    program: &Program,
    wish: &CostlyWish<'_>,
    options: &Options,
) -> Result<Vec<Costly>, SearchError> {
    let found = costliest_of_each(program, std::slice::from_ref(wish), options)?;
    Ok(found.into_iter().flatten().collect())
}

/// Searches for the costliest paths of each of several wishes, like [`costliest`], and executes the
/// program only once for all of them.
///
/// # Errors
///
/// Returns an error if the program cannot be executed symbolically, or if the solver's answer is
/// wrong.
pub fn costliest_of_each(
    program: &Program,
    wishes: &[CostlyWish<'_>],
    options: &Options,
) -> Result<Vec<Vec<Costly>>, SearchError> {
    let (mut search, _) = Search::prepared(program, options, 1)?;
    let mut all = Vec::with_capacity(wishes.len());
    for wish in wishes {
        let total = search.total(wish.weights);
        let mut found = Vec::new();
        for length in wish.lengths {
            let of_length = search.costliest_of(wish, total, *length, found.len() + 1)?;
            found.extend(of_length);
        }
        all.push(found);
    }
    Ok(all)
}

impl Search<'_> {
    /// Returns the sum of the weights of the goals that a packet reaches.
    fn total(&mut self, weights: &[u32]) -> Term {
        let largest: u64 = weights.iter().copied().map(u64::from).sum();
        // The sum of all weights fits, so that no addition overflows.
        let width = (u64::BITS - largest.leading_zeros()).max(1);
        let terms = &mut self.execution.terms;
        let zero = terms.zero(width);
        let mut addends = Vec::new();
        for (condition, weight) in self.conditions.iter().zip(weights) {
            if *weight > 0 {
                let weight = terms.number(width, u128::from(*weight));
                addends.push(terms.if_then_else(*condition, weight, zero));
            }
        }
        while addends.len() > 1 {
            let mut sums = Vec::with_capacity(addends.len().div_ceil(2));
            for pair in addends.chunks(2) {
                sums.push(match pair {
                    [left, right] => terms.add(*left, *right),
                    [one] => *one,
                    _ => zero,
                });
            }
            addends = sums;
        }
        addends.first().copied().unwrap_or(zero)
    }

    /// Searches for the costliest paths of packets of a length. The first test has this number.
    fn costliest_of(
        &mut self,
        wish: &CostlyWish<'_>,
        total: Term,
        length: u32,
        first: usize,
    ) -> Result<Vec<Costly>, SearchError> {
        let number = self.execution.terms.number(LENGTH_BITS, length.into());
        let of_length = self.execution.terms.equal(self.execution.last.length, number);
        let always = self.execution.terms.truth(true);
        let name = format!("a costly path of packets of {length} bytes");
        let goal = Goal { kind: Kind::Statement, name, place: None };
        let mut found: Vec<Costly> = Vec::new();
        let mut others: Vec<Term> = Vec::new();
        let mut bound = None;
        let mut fixed = Vec::with_capacity(wish.fixed.len());
        for (position, reached) in wish.fixed {
            let Some(condition) = self.conditions.get(*position).copied() else { continue };
            let not = self.execution.terms.not(condition);
            fixed.push(if *reached { condition } else { not });
        }
        for _ in 0..ATTEMPTS {
            if found.len() >= wish.count {
                break;
            }
            let mut conditions = vec![of_length, self.followed];
            conditions.extend(&fixed);
            conditions.extend(&others);
            conditions.extend(&self.permitted);
            let best = self.context.maximum(&mut self.execution.terms, &conditions, total)?;
            let Some(best) = best else { break };
            let bound = *bound.get_or_insert(u64::try_from(best.bound).unwrap_or(u64::MAX));
            conditions.push(total);
            let model = self.settled(best.model, &conditions);
            let other = self.other_path(&model, wish.weights);
            match self.test(model, (&goal, always), first + found.len()) {
                Ok(Some(one)) => {
                    let weights = one.reached.iter().filter_map(|at| wish.weights.get(*at));
                    let weight = weights.copied().map(u64::from).sum();
                    let (test, reached) = (one.test, one.reached);
                    found.push(Costly { length, test, reached, weight, bound });
                    others.push(other);
                }
                Err(Unrealised::Excluded { condition, of }) => self.exclude(&condition, of),
                Ok(None) | Err(Unrealised::Unknown) => others.push(other),
            }
        }
        Ok(found)
    }

    /// Returns the condition under which packets reach other goals that have a weight than the
    /// packet of a model.
    fn other_path(&mut self, model: &Model, weights: &[u32]) -> Term {
        let mut evaluation = Evaluation::new(model.clone());
        let mut others = Vec::new();
        for (condition, weight) in self.conditions.iter().zip(weights) {
            if *weight > 0 {
                let holds = evaluation.holds(&self.execution.terms, *condition);
                let not = self.execution.terms.not(*condition);
                others.push(if holds { not } else { *condition });
            }
        }
        self.execution.terms.any(&others)
    }
}
