//! The division of a search among threads.
//!
//! The goals are divided into lanes. A lane has a solver of its own, and decides its goals in
//! order. In a round, each lane attempts a few goals that no test has reached at the round's start;
//! then the results are merged in the order of the lanes. The number of lanes depends on the number
//! of goals alone, and no lane sees what another does in the same round. Threads only decide which
//! lanes are at work at the same time, so the tests are the same whatever the number of threads.

use super::sequences::sequences;
use super::{Found, Options, Progress, Report, Search, SearchError, Verdict};
use crate::execute::{Bounds, execute};
use crate::generated::Test;
use crate::goals::Goal;
use ir::{Program, with_large_stack};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The number of goals for which a lane is worth its own execution and formula.
const GOALS: usize = 32;

/// The largest number of lanes.
const MAXIMUM_LANES: usize = 8;

/// The number of goals that a lane attempts in a round, if there are several lanes.
const ATTEMPTS: usize = 4;

/// What all lanes share.
struct Task<'p, 't> {
    program: &'p Program,
    options: Options,
    goals: &'t [Goal],
    /// The number of goals that a lane attempts in a round.
    attempts: usize,
}

/// A part of the goals, with the solver that decides them.
struct Lane<'p> {
    /// The search, which is `None` before the lane's first round.
    search: Option<Search<'p>>,
    /// The positions of the goals that the lane has not attempted.
    open: Range<usize>,
}

/// The result of an attempt.
pub(super) enum Outcome {
    Found(Box<Found>),
    /// No test was found for the goal at this position.
    Undecided(usize, Verdict),
}

impl<'p> Search<'p> {
    /// Executes a program on a number of packets, and returns the search for all of its goals.
    pub(super) fn prepared(
        program: &'p Program,
        options: &Options,
        packets: u32,
    ) -> Result<(Self, Vec<Goal>), SearchError> {
        let mut execution = execute(program, Bounds { packets, passes: options.passes })?;
        let goals = execution.goals.all().to_vec();
        let of_last = execution.goals.conditions(&mut execution.terms);
        let conditions = execution.goals.conditions_of_all(&mut execution.terms);
        let mut search = Self::new(program, execution, conditions, options);
        search.of_last = of_last;
        search.drop_unreached_cuts()?;
        Ok((search, goals))
    }
}

impl<'p> Lane<'p> {
    /// Attempts the next goals that have no verdict.
    fn round(
        &mut self,
        task: &Task<'p, '_>,
        verdicts: &[Verdict],
    ) -> Result<Vec<Outcome>, SearchError> {
        if self.search.is_none() {
            self.search = Some(Search::prepared(task.program, &task.options, 1)?.0);
        }
        let Some(search) = &mut self.search else { return Ok(Vec::new()) };
        let mut verdicts = verdicts.to_vec();
        let mut outcomes = Vec::new();
        while outcomes.len() < task.attempts {
            let Some(position) = self.open.next() else { break };
            let (Some(goal), Some(Verdict::Open)) =
                (task.goals.get(position), verdicts.get(position))
            else {
                continue;
            };
            let Some(condition) = search.of_last.get(position).copied() else { continue };
            match search.attempt(condition, goal, 0)? {
                Ok(found) => {
                    for reached in &found.reached {
                        if let Some(verdict) = verdicts.get_mut(*reached) {
                            *verdict = Verdict::Covered(0);
                        }
                    }
                    outcomes.push(Outcome::Found(Box::new(found)));
                }
                Err(verdict) => outcomes.push(Outcome::Undecided(position, verdict)),
            }
        }
        Ok(outcomes)
    }
}

/// The results of all rounds so far.
pub(super) struct Results {
    options: Options,
    pub(super) verdicts: Vec<Verdict>,
    tests: Vec<Test>,
    /// The positions of the goals that each test reaches.
    reached: Vec<Vec<usize>>,
}

impl Results {
    /// Returns whether a condition is true that ends the search.
    pub(super) fn are_enough(&self) -> bool {
        self.options.tests.is_some_and(|most| self.tests.len() >= most) || self.is_covered()
    }

    /// Returns whether the coverage is reached at which the search ends.
    fn is_covered(&self) -> bool {
        if self.options.coverage >= 100.0 {
            return false;
        }
        let verdicts = &self.verdicts;
        let covered = verdicts.iter().filter(|one| matches!(one, Verdict::Covered(_))).count();
        let reachable = verdicts.iter().filter(|one| **one != Verdict::Unreachable).count();
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        number(covered) >= self.options.coverage / 100.0 * number(reachable)
    }

    pub(super) fn progress(&self) -> Progress {
        let decided = self.verdicts.iter().filter(|verdict| **verdict != Verdict::Open).count();
        Progress { decided, goals: self.verdicts.len(), tests: self.tests.len() }
    }

    /// Adds the result of an attempt. A test that reaches nothing new is dropped.
    pub(super) fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Found(found) => {
                let Found { mut test, reached } = *found;
                let number = self.tests.len() + 1;
                let mut is_new = false;
                for position in &reached {
                    if let Some(
                        verdict @ (Verdict::Open | Verdict::GivenUp(_) | Verdict::NotWithin(_)),
                    ) = self.verdicts.get_mut(*position)
                    {
                        *verdict = Verdict::Covered(number);
                        is_new = true;
                    }
                }
                if is_new {
                    test.number = number;
                    self.tests.push(test);
                    self.reached.push(reached);
                }
            }
            Outcome::Undecided(position, undecided) => {
                if let Some(verdict @ Verdict::Open) = self.verdicts.get_mut(position) {
                    *verdict = undecided;
                }
            }
        }
    }
}

/// Decides all goals. The search ends early when `goes_on` returns false, which is called before
/// each round.
pub(super) fn run<'p>(
    program: &'p Program,
    options: &Options,
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, SearchError> {
    let (first, goals) = Search::prepared(program, options, 1)?;
    let cuts = first.cuts_in_words();
    let may_gain_from_sequences = first.may_gain_from_sequences();
    let count = goals.len().div_ceil(GOALS).clamp(1, MAXIMUM_LANES);
    let size = goals.len().div_ceil(count);
    let of = |number: usize| number * size..((number + 1) * size).min(goals.len());
    let mut lanes: Vec<Lane<'p>> =
        (0..count).map(|number| Lane { search: None, open: of(number) }).collect();
    if let Some(lane) = lanes.first_mut() {
        lane.search = Some(first);
    }
    let attempts = if count == 1 { 1 } else { ATTEMPTS };
    let mut results = Results {
        options: *options,
        verdicts: vec![Verdict::Open; goals.len()],
        tests: Vec::new(),
        reached: Vec::new(),
    };
    let task = Task { program, options: *options, goals: &goals, attempts };
    while lanes.iter().any(|lane| !lane.open.is_empty()) {
        if !goes_on(results.progress()) || results.are_enough() {
            break;
        }
        for outcomes in round(&mut lanes, &task, &results.verdicts) {
            for outcome in outcomes? {
                if results.are_enough() {
                    break;
                }
                results.add(outcome);
            }
        }
    }
    drop(lanes);
    if may_gain_from_sequences {
        sequences(program, options, &goals, (&mut results, goes_on))?;
    }
    let Results { verdicts, tests, reached, .. } = results;
    Ok(Report { tests, reached, goals: goals.into_iter().zip(verdicts).collect(), cuts })
}

/// Makes a round of all lanes that have goals left, and returns the results in their order.
fn round<'p>(
    lanes: &mut [Lane<'p>],
    task: &Task<'p, '_>,
    verdicts: &[Verdict],
) -> Vec<Result<Vec<Outcome>, SearchError>> {
    let open: Vec<&mut Lane<'p>> = lanes.iter_mut().filter(|lane| !lane.open.is_empty()).collect();
    let threads = task.options.threads.min(open.len());
    if threads <= 1 {
        return open.into_iter().map(|lane| lane.round(task, verdicts)).collect();
    }
    let queue = Mutex::new(open.into_iter().enumerate());
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((number, lane)) = next else { break };
                    let outcomes = with_large_stack(|| lane.round(task, verdicts))
                        .unwrap_or_else(|error| Err(SearchError::Thread(error.to_string())));
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(number, outcomes);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}
