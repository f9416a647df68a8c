//! Divides a search among threads.
//!
//! The goals are divided into lanes. Each lane has its own solver and tries its goals in order. In
//! a round, each lane tries a few goals that no test had reached when the round began. Then the
//! results are merged in the order of the lanes. The number of lanes depends only on the number of
//! goals, and no lane sees the results of others in the same round. Threads only decide which lanes
//! run at the same time, so the resulting tests do not depend on the number of threads.

use super::sequences::sequences;
use super::{Found, Options, Progress, Report, Search, SearchError, Verdict};
use crate::execute::{execute, execute_with_boundaries};
use crate::generated::Test;
use crate::goals::Goal;
use ir::{Program, with_large_stack};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The number of goals that justify another lane, which needs its own execution of the program and
/// its own formula.
const GOALS: usize = 32;

/// The largest number of lanes.
const MAXIMUM_LANES: usize = 8;

/// The number of goals that a lane tries in a round, if there are several lanes.
const ATTEMPTS: usize = 4;

/// The data that all lanes share.
struct Task<'p, 't> {
    program: &'p Program,
    options: Options,
    goals: &'t [Goal],
    /// The number of goals that a lane tries in a round.
    attempts: usize,
}

/// A lane: a part of the goals, with the search that tries them.
struct Lane<'p> {
    /// The search of the lane; `None` before the first round.
    search: Option<Search<'p>>,
    /// The positions of the goals that the lane has not tried yet. Positions beyond the last goal
    /// stand for boundaries.
    open: Range<usize>,
}

/// The result of trying a goal.
pub(super) enum Outcome {
    Found(Box<Found>),
    /// No test was found for the goal at this position. The verdict says why.
    Undecided(usize, Verdict),
}

impl<'p> Search<'p> {
    /// Executes a program on this number of packets, and returns a search for tests of all its
    /// goals, with the goals.
    pub(super) fn prepared(
        program: &'p Program,
        options: &Options,
        packets: u32,
    ) -> Result<(Self, Vec<Goal>), SearchError> {
        let bounds = options.bounds(packets);
        let mut execution = if options.boundaries && packets == 1 {
            execute_with_boundaries(program, bounds)?
        } else {
            execute(program, bounds)?
        };
        let boundaries = std::mem::take(&mut execution.boundaries);
        let goals = execution.goals.all().to_vec();
        let of_last = execution.goals.conditions(&mut execution.terms);
        let conditions = execution.goals.conditions_of_all(&mut execution.terms);
        let passages = execution.goals.passages_of_all();
        let mut search = Self::new(program, execution, conditions, options);
        search.of_last = of_last;
        search.passages = passages;
        search.drop_unreached_cuts()?;
        search.add_boundaries(boundaries);
        Ok((search, goals))
    }
}

impl<'p> Lane<'p> {
    /// Tries the next goals of the lane that have no verdict yet.
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
            if search.is_late() {
                break;
            }
            let Some(position) = self.open.next() else { break };
            let Some(Verdict::Open) = verdicts.get(position) else { continue };
            let condition = search.of_last.get(position).copied();
            let attempted = match (task.goals.get(position), condition) {
                (Some(goal), Some(condition)) => search.attempt(condition, goal, 0)?,
                (Some(_), None) => continue,
                (None, _) => search.attempt_boundary(position - task.goals.len())?,
            };
            match attempted {
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

/// The results of all lanes and rounds so far.
pub(super) struct Results {
    options: Options,
    /// The number of goals. Verdicts at later positions are about boundaries.
    goals: usize,
    pub(super) verdicts: Vec<Verdict>,
    tests: Vec<Test>,
    /// The positions of the goals that each test reaches.
    reached: Vec<Vec<usize>>,
    /// The number of times that each test reaches the goals in `reached`.
    times: Vec<Vec<u32>>,
}

impl Results {
    /// Returns whether the search may end, because there are enough tests or they cover enough
    /// goals.
    pub(super) fn are_enough(&self) -> bool {
        self.options.tests.is_some_and(|most| self.tests.len() >= most) || self.is_covered()
    }

    /// Returns whether the search must end, whatever it has found.
    pub(super) fn has_ended(&self) -> bool {
        self.options.ends.are_reached()
    }

    /// Returns whether the tests have the coverage at which the search ends. Never true if that is
    /// 100 %.
    fn is_covered(&self) -> bool {
        if self.options.coverage >= 100.0 {
            return false;
        }
        let verdicts = self.of_goals();
        let covered = verdicts.iter().filter(|one| matches!(one, Verdict::Covered(_))).count();
        let reachable = verdicts.iter().filter(|one| **one != Verdict::Unreachable).count();
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        number(covered) >= self.options.coverage / 100.0 * number(reachable)
    }

    /// Returns the verdicts on goals, without those on boundaries.
    fn of_goals(&self) -> &[Verdict] {
        self.verdicts.get(..self.goals).unwrap_or(&self.verdicts)
    }

    pub(super) fn progress(&self) -> Progress {
        let verdicts = self.of_goals();
        let decided = verdicts.iter().filter(|verdict| **verdict != Verdict::Open).count();
        Progress { decided, goals: verdicts.len(), tests: self.tests.len() }
    }

    /// Adds the result of trying a goal. A test is dropped if it reaches nothing new.
    pub(super) fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Found(found) => {
                let Found { mut test, reached, times } = *found;
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
                    self.times.push(times);
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

/// Tries all goals. Before each round, `goes_on` is called; the search ends early if it returns
/// false.
pub(super) fn run<'p>(
    program: &'p Program,
    options: &Options,
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, SearchError> {
    let (first, goals) = Search::prepared(program, options, 1)?;
    let cuts = first.cuts_in_words();
    let may_gain_from_sequences = first.may_gain_from_sequences();
    let boundaries = first.boundaries.len();
    let count = goals.len().div_ceil(GOALS).clamp(1, MAXIMUM_LANES);
    let mut lanes: Vec<Lane<'p>> = (0..count).map(|_| Lane { search: None, open: 0..0 }).collect();
    if let Some(lane) = lanes.first_mut() {
        lane.search = Some(first);
    }
    let attempts = if count == 1 { 1 } else { ATTEMPTS };
    let mut results = Results {
        options: *options,
        goals: goals.len(),
        verdicts: vec![Verdict::Open; goals.len() + boundaries],
        tests: Vec::new(),
        reached: Vec::new(),
        times: Vec::new(),
    };
    let task = Task { program, options: *options, goals: &goals, attempts };
    let goals_and_boundaries = [0..goals.len(), goals.len()..goals.len() + boundaries];
    for open in goals_and_boundaries {
        if !decide(&mut lanes, open, &task, &mut results, goes_on)? {
            break;
        }
    }
    drop(lanes);
    results.verdicts.truncate(goals.len());
    if may_gain_from_sequences {
        sequences(program, options, &goals, &mut results, goes_on)?;
    }
    let Results { verdicts, tests, mut reached, mut times, .. } = results;
    // The boundaries stand behind the goals, and are no part of the report.
    for (positions, times) in reached.iter_mut().zip(&mut times) {
        let kept = positions.partition_point(|position| *position < goals.len());
        positions.truncate(kept);
        times.truncate(kept);
    }
    Ok(Report { tests, reached, times, goals: goals.into_iter().zip(verdicts).collect(), cuts })
}

/// Divides goals, or boundaries, among the lanes and tries them. Returns whether the search may
/// continue.
fn decide<'p>(
    lanes: &mut [Lane<'p>],
    open: Range<usize>,
    task: &Task<'p, '_>,
    results: &mut Results,
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<bool, SearchError> {
    let size = open.len().div_ceil(lanes.len().max(1));
    for (number, lane) in lanes.iter_mut().enumerate() {
        let at = |number: usize| (open.start + number * size).min(open.end);
        lane.open = at(number)..at(number + 1);
    }
    while lanes.iter().any(|lane| !lane.open.is_empty()) {
        if !goes_on(results.progress()) || results.are_enough() || results.has_ended() {
            return Ok(false);
        }
        for outcomes in round(lanes, task, &results.verdicts) {
            for outcome in outcomes? {
                if results.are_enough() {
                    break;
                }
                results.add(outcome);
            }
        }
    }
    Ok(true)
}

/// Runs one round in each lane that has goals left. Returns the results in the order of the lanes.
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
