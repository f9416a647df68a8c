//! Searches for the costliest paths of a program: packets and configurations for which the goals
//! that are reached have the largest sum of weights.

use super::{Options, Search, SearchError, followed};
use crate::evaluate::{Evaluation, Model};
use crate::execute::Fate;
use crate::generated::Test;
use crate::goals::{Goal, Kind};
use crate::packet::LENGTH_BITS;
use crate::query::{Answer, Maximum};
use crate::realise::Unrealised;
use crate::term::Term;
use ir::Program;
use std::collections::HashMap;
use std::fmt;

/// The number of packets of a length that may be passed over before the search ends. A packet is
/// passed over if its outcome depends on undefined values, or if the program's constraints exclude
/// the entries that it needs.
const ATTEMPTS: usize = 64;

/// The paths that a caller wants.
#[derive(Clone, Copy, Debug)]
pub struct CostlyWish<'w> {
    /// The weight of each goal, by the goal's position. Goals beyond the end have the weight 0.
    pub weights: &'w [u32],
    /// Whether a weight counts each time that the packet reaches the goal. Otherwise, it counts
    /// once.
    pub each_time: bool,
    /// The additional weight of each packet that leaves the switch.
    pub per_output: u32,
    /// The packet lengths, in bytes, for which paths are wanted.
    pub lengths: &'w [u32],
    /// The number of paths that are wanted for each length. Any two paths differ in whether they
    /// reach a goal that has a weight.
    pub count: usize,
    /// The goals, by their positions, that packets must reach (`true`) or must not reach (`false`).
    pub fixed: &'w [(usize, bool)],
}

/// A test whose packet takes a costly path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costly {
    /// The length of the packet in bytes.
    pub length: u32,
    /// The test whose packet takes the path.
    pub test: Test,
    /// The positions of the goals that the packet reaches.
    pub reached: Vec<usize>,
    /// The number of times that the packet reaches each of the goals in `reached`.
    pub times: Vec<u32>,
    /// The sum of the weights of the path.
    pub weight: u64,
    /// An upper bound of the sum for all packets of this length that reach the goals as the wish
    /// demands. The solver has proved it.
    pub bound: u64,
}

/// The paths that were found for a wish.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costliest {
    /// The paths that were found, grouped by packet length. The costliest path of each length comes
    /// first.
    pub paths: Vec<Costly>,
    /// The packet lengths for which fewer paths were found than wanted.
    pub short: Vec<Shortage>,
}

/// A packet length for which fewer paths were found than wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The length of the packets in bytes.
    pub length: u32,
    /// The number of paths that were wanted.
    pub wanted: usize,
    /// The number of paths that were found.
    pub found: usize,
    /// The number of paths that were passed over, because their outcome depends on undefined values
    /// or their entries cannot be written.
    pub passed_over: usize,
    /// The reason why the search found no more paths.
    pub reason: ShortageReason,
}

/// The reason why a search found fewer paths than wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShortageReason {
    /// No packet takes another path.
    NoMore,
    /// The solver reached this limit.
    OutOfBudget(String),
    /// Too many paths were passed over.
    Attempts,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, wanted, found, passed_over, reason } = self;
        write!(f, "{found} of {wanted} paths were found for packets of {length} bytes, because ")?;
        match reason {
            ShortageReason::NoMore => f.write_str("no packet takes another one")?,
            ShortageReason::OutOfBudget(limit) => {
                write!(f, "the solver reached a limit ({limit})")?
            }
            ShortageReason::Attempts => {
                f.write_str("the search was given up after too many unsuitable ones")?;
            }
        }
        if *passed_over > 0 {
            write!(
                f,
                " ({passed_over} were passed over, whose outcome is undefined or whose entries cannot be written)"
            )?;
        }
        Ok(())
    }
}

/// Searches for the costliest paths of packets of each length, in descending order of cost. Fewer
/// paths than wanted are returned for a length if there are no more, or if the solver reached a
/// limit.
///
/// # Errors
///
/// Returns an error if the program cannot be executed symbolically, or if the solver's answer is
/// wrong.
pub fn costliest(
    program: &Program,
    wish: &CostlyWish<'_>,
    options: &Options,
) -> Result<Costliest, SearchError> {
    let found = costliest_of_each(program, std::slice::from_ref(wish), options)?;
    Ok(found.into_iter().next().unwrap_or_default())
}

/// Searches for the costliest paths for each of several wishes, like [`costliest`], but executes
/// the program only once.
///
/// # Errors
///
/// Returns an error if the program cannot be executed symbolically, or if the solver's answer is
/// wrong.
pub fn costliest_of_each(
    program: &Program,
    wishes: &[CostlyWish<'_>],
    options: &Options,
) -> Result<Vec<Costliest>, SearchError> {
    let (mut search, _) = Search::prepared(program, options, 1)?;
    let mut all = Vec::with_capacity(wishes.len());
    for wish in wishes {
        let total = search.total(wish);
        let mut found = Costliest::default();
        for length in wish.lengths {
            search.costliest_of(wish, total, *length, &mut found)?;
        }
        all.push(found);
    }
    Ok(all)
}

impl CostlyWish<'_> {
    /// Returns the sum of the weights of a test's path.
    fn weight(&self, reached: &[usize], times: &[u32], test: &Test) -> u64 {
        let mut sum = u64::from(self.per_output).saturating_mul(test.outputs.len() as u64);
        for (position, times) in reached.iter().zip(times) {
            let weight = self.weights.get(*position).copied().map_or(0, u64::from);
            let times = if self.each_time { u64::from(*times) } else { 1 };
            sum = sum.saturating_add(weight.saturating_mul(times));
        }
        sum
    }
}

impl Search<'_> {
    /// Returns the conditions that have a weight, each with the sum of the weights of its goals.
    fn weighted(&self, wish: &CostlyWish<'_>) -> Vec<(Term, u64)> {
        let mut weighted: Vec<(Term, u64)> = Vec::new();
        let mut known: HashMap<Term, usize> = HashMap::new();
        let mut add = |condition: Term, weight: u32| {
            if weight == 0 || self.execution.terms.truth_of(condition) == Some(false) {
                return;
            }
            let place = *known.entry(condition).or_insert(weighted.len());
            match weighted.get_mut(place) {
                Some((_, sum)) => *sum = sum.saturating_add(weight.into()),
                None => weighted.push((condition, weight.into())),
            }
        };
        for (position, weight) in wish.weights.iter().enumerate() {
            if wish.each_time {
                let passages = self.passages.get(position).map_or(&[][..], Vec::as_slice);
                passages.iter().for_each(|passage| add(*passage, *weight));
            } else if let Some(condition) = self.conditions.get(position) {
                add(*condition, *weight);
            }
        }
        for end in &self.execution.last.ends {
            match end.fate {
                Fate::Sent { .. } => add(end.guard, wish.per_output),
                Fate::Dropped | Fate::Enters { .. } => {}
            }
        }
        weighted
    }

    /// Returns the sum of the weights of a packet's path, as a term.
    fn total(&mut self, wish: &CostlyWish<'_>) -> Term {
        let weighted = self.weighted(wish);
        let largest = weighted.iter().fold(0_u64, |sum, (_, weight)| sum.saturating_add(*weight));
        // The sum of all weights fits, so that no addition overflows.
        let width = (u64::BITS - largest.leading_zeros()).max(1);
        let terms = &mut self.execution.terms;
        let zero = terms.zero(width);
        let mut addends = Vec::with_capacity(weighted.len());
        for (condition, weight) in weighted {
            let weight = terms.number(width, u128::from(weight));
            addends.push(terms.if_then_else(condition, weight, zero));
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

    /// Searches for the costliest paths of packets of one length, and adds them to `all`.
    fn costliest_of(
        &mut self,
        wish: &CostlyWish<'_>,
        total: Term,
        length: u32,
        all: &mut Costliest,
    ) -> Result<(), SearchError> {
        let number = self.execution.terms.number(LENGTH_BITS, length.into());
        let of_length = self.execution.terms.equal(self.execution.last.length, number);
        let always = self.execution.terms.truth(true);
        let name = format!("a costly path of packets of {length} bytes");
        let goal = Goal { kind: Kind::Statement, name, place: None };
        let mut others: Vec<Term> = Vec::new();
        let mut bound = None;
        let (mut found, mut passed_over) = (0, 0);
        let mut reason = ShortageReason::Attempts;
        let mut fixed = Vec::with_capacity(wish.fixed.len());
        for (position, reached) in wish.fixed {
            let Some(condition) = self.conditions.get(*position).copied() else { continue };
            let not = self.execution.terms.not(condition);
            fixed.push(if *reached { condition } else { not });
        }
        for _ in 0..wish.count.saturating_add(ATTEMPTS) {
            if found >= wish.count {
                break;
            }
            let mut conditions = vec![of_length, self.followed];
            conditions.extend(&fixed);
            conditions.extend(&others);
            conditions.extend(&self.permitted);
            let best = match self.best(&conditions, total)? {
                Ok(best) => best,
                Err(none) => {
                    reason = none;
                    break;
                }
            };
            let bound = match bound {
                Some(bound) => bound,
                None => *bound.insert(self.bound(&conditions, total, best.bound)?),
            };
            conditions.push(total);
            let model = self.settled(best.model, &conditions);
            let other = self.other_path(&model, wish.weights);
            match self.test(model, &goal, always, all.paths.len() + 1) {
                Ok(Some(one)) => {
                    let weight = wish.weight(&one.reached, &one.times, &one.test);
                    let (test, reached, times) = (one.test, one.reached, one.times);
                    all.paths.push(Costly { length, test, reached, times, weight, bound });
                    found += 1;
                    others.push(other);
                }
                Err(Unrealised::Excluded { condition, of }) => self.exclude(&condition, of),
                Ok(None) | Err(Unrealised::Unknown) => {
                    passed_over += 1;
                    others.push(other);
                }
            }
        }
        if found < wish.count {
            let wanted = wish.count;
            all.short.push(Shortage { length, wanted, found, passed_over, reason });
        }
        Ok(())
    }

    /// Returns the largest total of packets under conditions, whatever the configuration. It may be
    /// larger than `of_tests`, the largest total with a configuration that a test may have.
    fn bound(
        &mut self,
        conditions: &[Term],
        total: Term,
        of_tests: u128,
    ) -> Result<u64, SearchError> {
        let mut bound = of_tests;
        if !self.execution.narrowings.is_empty() {
            let followed = followed(&mut self.execution.terms, &self.cuts);
            let conditions = conditions
                .iter()
                .map(|condition| if *condition == self.followed { followed } else { *condition });
            let conditions: Vec<Term> = conditions.collect();
            let best = self.context.maximum(&mut self.execution.terms, &conditions, total)?;
            bound = best.map_or(u128::MAX, |best| bound.max(best.bound));
        }
        Ok(u64::try_from(bound).unwrap_or(u64::MAX))
    }

    /// Finds the largest total under conditions, with a model for it. If there is none, returns the
    /// reason.
    fn best(
        &mut self,
        conditions: &[Term],
        total: Term,
    ) -> Result<Result<Maximum, ShortageReason>, SearchError> {
        let best = self.context.maximum(&mut self.execution.terms, conditions, total)?;
        if let Some(best) = best {
            return Ok(Ok(best));
        }
        // The maximum does not tell apart that nothing fits, and that a limit was reached.
        Ok(Err(match self.context.solve(&self.execution.terms, conditions)? {
            Answer::Unsat(_) => ShortageReason::NoMore,
            Answer::OutOfBudget(limit) => ShortageReason::OutOfBudget(limit.to_string()),
            Answer::Model(_) => ShortageReason::OutOfBudget("conflicts".to_owned()),
        }))
    }

    /// Returns the condition under which a packet reaches another set of weighted goals than the
    /// packet of `model`.
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
