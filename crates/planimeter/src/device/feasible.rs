//! Searches for packets that take the predicted paths of a program, or for proofs that no packet
//! takes them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use device::program::{Feasibility, PathPrediction, Witness};
use ir::{Choice, Program, with_large_stack};
use symbolic::generated::Test;
use symbolic::search::{self, Options, PathSearch, SearchError};

use crate::failure::Failure;
use crate::interrupt;
use crate::parsers;
use crate::progress::Steps;

/// The flags that bound the search for packets.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Effort {
    /// Search packets for this number of paths, the slowest first, and for more until one is not
    /// proved infeasible; 0 for none
    #[arg(long, value_name = "PATHS", default_value = "20", requires = "program")]
    witnesses: usize,
    /// The number of conflicts of the solver after which a query about a path is given up
    #[arg(long, value_name = "CONFLICTS", default_value = "20000", requires = "program")]
    conflicts: u64,
    /// Begin no search for another path after this time
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parsers::duration, requires = "program")]
    time: Duration,
    /// The seed of all bits of packets and entries that a path leaves open
    #[arg(long, value_name = "SEED", default_value = "1", requires = "program")]
    seed: u64,
}

/// The reason why a search for packets ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All requested paths have been tried.
    Complete,
    /// The time that the user allows for the search had passed.
    TimeOver,
    /// The user interrupted the search.
    Interrupted,
}

impl End {
    /// Returns the reason why some of the requested paths may not have been tried, if there is one.
    pub(super) fn reason(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::TimeOver => Some("the time (--time) was over before all paths were tried"),
            Self::Interrupted => Some("interrupted before all paths were tried"),
        }
    }
}

impl Effort {
    /// Decides which of the slowest paths packets take. The choices of the paths are consumed.
    pub(super) fn decide(
        self,
        program: Program,
        predictions: &mut [PathPrediction],
    ) -> Result<End, Failure> {
        if self.witnesses == 0 {
            return Ok(End::Complete);
        }
        let paths = predictions.iter_mut().map(|prediction| {
            let path = &mut prediction.path;
            let are_all = path.choices.len() as u64 == path.ways;
            Sought { choices: std::mem::take(&mut path.choices), are_all }
        });
        let interrupt = interrupt::flag();
        let task = Task {
            effort: self,
            program,
            paths: paths.collect(),
            interrupt: interrupt.clone(),
            steps: Arc::new(Mutex::new(Some(Steps::new(false)))),
            found: Arc::default(),
        };
        let (steps, found) = (task.steps.clone(), task.found.clone());
        // A query to the solver cannot be interrupted, so the thread of the search may be
        // abandoned.
        let work = move || with_large_stack(|| task.run());
        let end = match interrupt::abandonable(&interrupt, work).map_err(Failure::run)? {
            Some(ended) => ended.map_err(Failure::run)?.map_err(Failure::run)?,
            None => End::Interrupted,
        };
        // The progress bar is removed although an abandoned search still refers to it.
        drop(locked(&steps).take());
        let found = std::mem::take(&mut *locked(&found));
        for (prediction, feasibility) in predictions.iter_mut().zip(found) {
            prediction.feasibility = feasibility;
        }
        Ok(end)
    }
}

/// A path for which the search must find a packet, or a proof that no packet takes it.
struct Sought {
    choices: Vec<Vec<Choice>>,
    /// Whether `choices` has all sequences of choices that the path stands for.
    are_all: bool,
}

/// The search for packets, which runs on a separate thread. Its answers so far remain available if
/// the thread is abandoned.
struct Task {
    effort: Effort,
    program: Program,
    /// The paths to try. The one with the longest predicted delay comes first.
    paths: Vec<Sought>,
    interrupt: Arc<AtomicBool>,
    steps: Arc<Mutex<Option<Steps>>>,
    /// The answers for the paths that were tried, in their order.
    found: Arc<Mutex<Vec<Feasibility>>>,
}

impl Task {
    /// Tries paths until enough of them are decided.
    fn run(&self) -> Result<End, SearchError> {
        let begin = Instant::now();
        let Effort { witnesses, conflicts, time, seed } = self.effort;
        let options = Options { seed, conflicts, ..Options::default() };
        self.show(0);
        let mut search = match PathSearch::new(&self.program, &options) {
            Ok(search) => search,
            Err(SearchError::Unsupported(what)) => {
                let tried = self.paths.iter().take(witnesses);
                let answers = tried.map(|_| Feasibility::GivenUp(what.to_string()));
                locked(&self.found).extend(answers);
                return Ok(End::Complete);
            }
            Err(error) => return Err(error),
        };
        let mut has_worst = false;
        for (number, path) in self.paths.iter().enumerate() {
            if number >= witnesses && has_worst {
                break;
            }
            if self.interrupt.load(Ordering::SeqCst) {
                return Ok(End::Interrupted);
            }
            if begin.elapsed() >= time {
                return Ok(End::TimeOver);
            }
            self.show(number);
            let answer = answer(search.decide(&path.choices, path.are_all)?);
            has_worst |= answer != Feasibility::Infeasible;
            locked(&self.found).push(answer);
        }
        Ok(End::Complete)
    }

    /// Shows the number of paths that are tried.
    fn show(&self, done: usize) {
        let wanted = self.effort.witnesses.min(self.paths.len()).max(done + 1);
        if let Some(steps) = locked(&self.steps).as_ref() {
            let what = "searching packets for the slowest paths";
            steps.show(done as u64, wanted as u64, what);
        }
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts an answer of the search to the form that predictions contain.
fn answer(found: search::Feasibility) -> Feasibility {
    match found {
        search::Feasibility::Feasible(test) => Feasibility::Feasible(witness(&test)),
        search::Feasibility::CutShort(test) => Feasibility::CutShort(witness(&test)),
        search::Feasibility::Infeasible => Feasibility::Infeasible,
        search::Feasibility::GivenUp(reason) => Feasibility::GivenUp(reason),
    }
}

fn witness(test: &Test) -> Witness {
    let Test { defaults, registers, sessions, groups, .. } = test;
    Witness {
        port: test.port,
        packet: test.packet.clone(),
        entries: test.entries.len(),
        settings: defaults.len() + registers.len() + sessions.len() + groups.len(),
        script: test.stf(),
    }
}

#[cfg(test)]
mod tests;
