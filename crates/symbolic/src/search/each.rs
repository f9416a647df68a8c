//! Searches for a test for each of several wishes of a caller. The caller tries each test and may
//! refuse it, for instance because it conflicts with entries that the switch already has.
//!
//! The tests write table entries and nothing else, and all their packets arrive at one port.

use super::find::{FindError, condition_of};
use super::{Options, Progress, Search, SearchError, Verdict};
use crate::execute::{Execution, execute};
use crate::generated::Test;
use crate::goals::{Goal, Kind};
use crate::term::Term;
use crate::wanted::Wanted;
use ir::Program;

/// The wishes of a caller, with limits of the search.
#[derive(Clone, Copy, Debug)]
pub struct Wishes<'w> {
    /// The wishes. Each wish is a list of formulas in order of preference: a test for the first
    /// formula is the best.
    pub wishes: &'w [Vec<Wanted>],
    /// The port at which packets arrive.
    pub port: u32,
    /// The largest number of tests that are offered for one formula.
    pub offers: u32,
}

/// The result that the caller requests for a wish when the search reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// A test.
    Test,
    /// No test, because a test for another wish has the same effect.
    Nothing,
    /// No test for this or any later wish: the search must end.
    End,
}

/// The interface of a caller that receives tests.
pub trait Taker {
    /// Returns what the caller wants for the wish at this position. Called before each search for a
    /// test.
    fn wants(&mut self, wish: usize, progress: Progress) -> Wants;

    /// Offers a test for the wish at this position. Returns whether the caller takes it.
    fn takes(&mut self, wish: usize, test: &Test) -> bool;
}

/// The result of the search for one wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The caller has taken a test.
    Taken,
    /// The caller wanted no test.
    Unwanted,
    /// The caller has refused all tests that were found. This is their number.
    Refused(u32),
    /// No test was found, for this reason. It is [`Verdict::Open`] if the time ended or the caller
    /// ended the search.
    Without(Verdict),
}

/// A formula of a wish, with the condition under which a packet satisfies it.
struct Formula {
    goal: Goal,
    condition: Term,
}

/// Searches for a test for each wish, and offers it to the caller. If the caller refuses a test,
/// others with other values are offered. Tests consist of one packet that a newly started switch
/// receives, and write table entries only.
///
/// # Errors
///
/// Returns an error if the program does not have what a wish names, if it cannot be executed
/// symbolically, or if the solver's answer is wrong.
pub fn find_each(
    program: &Program,
    wishes: &Wishes<'_>,
    options: &Options,
    taker: &mut dyn Taker,
) -> Result<Vec<Answer>, FindError> {
    let options = Options { starts_fresh: true, packets: 1, ..*options };
    let bounds = options.bounds(1);
    let mut execution = execute(program, bounds).map_err(SearchError::from)?;
    let of_goals = execution.goals.conditions(&mut execution.terms);
    let mut lists = Vec::with_capacity(wishes.wishes.len());
    for wish in wishes.wishes {
        let mut formulas = Vec::with_capacity(wish.len());
        for wanted in wish {
            let condition = condition_of(program, &mut execution, &of_goals, wanted)?;
            let goal = Goal { kind: Kind::Statement, name: wanted.to_string(), place: None };
            formulas.push(Formula { goal, condition });
        }
        lists.push(formulas);
    }
    allow_entries_only(&mut execution, wishes.port);
    let mut search = Search::new(program, execution, Vec::new(), &options);
    search.drop_unreached_cuts()?;
    let mut answers = Vec::with_capacity(lists.len());
    let mut tests = 0;
    let mut has_ended = false;
    for (position, formulas) in lists.iter().enumerate() {
        let progress = Progress { decided: position, goals: lists.len(), tests };
        let wants = if has_ended { Wants::End } else { taker.wants(position, progress) };
        let answer = match wants {
            Wants::Nothing => Answer::Unwanted,
            Wants::End => {
                has_ended = true;
                Answer::Without(Verdict::Open)
            }
            Wants::Test => {
                let answer;
                let turn = Turn { position, progress, offers: wishes.offers };
                (search, answer) = offered(search, formulas, turn, taker)?;
                answer
            }
        };
        tests += usize::from(answer == Answer::Taken);
        answers.push(answer);
    }
    Ok(answers)
}

/// The wish whose turn it is.
#[derive(Clone, Copy)]
struct Turn {
    /// The position of the wish among all wishes.
    position: usize,
    progress: Progress,
    /// The largest number of tests that are offered for one formula.
    offers: u32,
}

/// Offers tests for the formulas of a wish until the caller takes one. Returns the search, for use
/// with the next wish, and the result for this one.
fn offered<'p>(
    mut search: Search<'p>,
    formulas: &[Formula],
    turn: Turn,
    taker: &mut dyn Taker,
) -> Result<(Search<'p>, Answer), SearchError> {
    let mut refused = 0;
    let mut verdict = Verdict::Open;
    'formulas: for (which, Formula { goal, condition }) in formulas.iter().enumerate() {
        for number in 0..turn.offers {
            let is_first = (which, number) == (0, 0);
            if !is_first && taker.wants(turn.position, turn.progress) != Wants::Test {
                verdict = Verdict::Open;
                break 'formulas;
            }
            if number > 0 {
                search = search.reseeded();
            }
            match search.attempt(*condition, goal, 1)? {
                Ok(found) if taker.takes(turn.position, &found.test) => {
                    return Ok((search, Answer::Taken));
                }
                Ok(_) => refused += 1,
                Err(reason) => {
                    verdict = reason;
                    break;
                }
            }
        }
    }
    if refused > 0 {
        return Ok((search, Answer::Refused(refused)));
    }
    // What packets write before may lead further than a single packet gets.
    if verdict == Verdict::Unreachable && search.may_gain_from_sequences() {
        verdict = Verdict::NotWithin(1);
    }
    Ok((search, Answer::Without(verdict)))
}

/// Restricts tests to those whose packets arrive at this port, and whose control plane writes
/// nothing but table entries.
fn allow_entries_only(execution: &mut Execution, port: u32) {
    let Execution { terms, defaults, copies, last, assumptions, .. } = execution;
    let wanted = terms.number(terms.width_of(last.port), port.into());
    assumptions.push(terms.equal(last.port, wanted));
    for choice in defaults.values() {
        assumptions.push(terms.not(choice.changed));
    }
    for copied in copies.iter() {
        assumptions.push(terms.not(copied.member.exists));
    }
}

impl Search<'_> {
    /// Returns the same search with another seed, so that it finds other values.
    fn reseeded(self) -> Self {
        let Self {
            program,
            execution,
            conditions,
            options,
            followed,
            cuts,
            permitted,
            excluding,
            ..
        } = self;
        let options = Options { seed: options.seed.wrapping_add(1), ..options };
        let new = Self::new(program, execution, conditions, &options);
        Self { followed, cuts, permitted, excluding, ..new }
    }
}
