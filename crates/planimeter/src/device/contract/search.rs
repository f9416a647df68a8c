//! Searches for the classes of packets of a program, their delay contracts, and the packets that
//! come closest to the contracts. A class consists of the packets that run the same actions.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::thread::available_parallelism;

use device::contract::Contract;
use device::program::{PathPrediction, Permits, paths_where};
use ir::{Choice, with_large_stack};
use symbolic::goals::{self, Goal, Key, Kind};
use symbolic::search::{Costliest, Costly, CostlyWish, Options, costliest_of_each};

use super::{Clause, Task, Witness, weights};
use crate::bench::worst;
use crate::failure::Failure;

/// The number of costly packets of each class whose delay is predicted exactly. The packet that is
/// costliest by the weights of the solver may not have the longest predicted delay, because a
/// function of the device model may consist of several parts of the program.
const CANDIDATES: usize = 3;
/// The number of picoseconds that one unit of weight stands for.
const UNIT: i64 = 100;
/// The number of solver conflicts after which a step of a search is given up.
const CONFLICTS: u64 = 5_000;

/// The search for classes and their costliest packets.
pub(super) struct Search<'s> {
    task: &'s Task<'s>,
    goals: Vec<(Key, Goal)>,
    positions: HashMap<Key, usize>,
}

/// A class of packets: the indices of the actions (as goals of the program) that its packets run.
type Class = BTreeSet<usize>;

/// The contracts of a program.
pub(super) struct Found {
    /// The contract that holds for every packet, followed by those of classes.
    pub(super) clauses: Vec<Clause>,
    /// The reason why there are fewer classes than the user requested, or `None` if there are as
    /// many.
    pub(super) fewer: Option<String>,
}

/// The classes of packets of a program.
struct Classes {
    classes: Vec<Class>,
    /// The reason why there are fewer classes than the user requested, or `None` if there are as
    /// many.
    fewer: Option<String>,
}

/// Returns a request to the solver for the paths whose goals have the largest sum of weights. A
/// goal counts once, however often a path reaches it.
fn wish<'w>(
    weights: &'w [u32],
    lengths: &'w [u32],
    count: usize,
    fixed: &'w [(usize, bool)],
) -> CostlyWish<'w> {
    CostlyWish { weights, each_time: false, per_output: 0, lengths, count, fixed }
}

impl<'s> Search<'s> {
    pub(super) fn new(task: &'s Task<'s>) -> Self {
        let goals = goals::list(task.program);
        let keys = goals.iter().enumerate();
        let positions = keys.map(|(position, (key, _))| (key.clone(), position)).collect();
        Self { task, goals, positions }
    }

    /// Returns the contract that holds for every packet, followed by those of at most `most`
    /// classes.
    pub(super) fn clauses(&self, most: usize) -> Result<Found, Failure> {
        let all = self.predicted(&|_| true)?;
        let contract = self.contract(&all)?.ok_or_else(|| {
            Failure::input(format!("{}: no packet comes to its end", self.task.name))
        })?;
        let mut clauses = vec![Clause::new("any packet".to_owned(), contract, None)];
        let Classes { classes, fewer } = self.classes(most)?;
        let found = self.costliest(&classes)?;
        let mut closest: Option<Witness> = None;
        for (done, (class, costly)) in classes.iter().zip(found).enumerate() {
            self.task.step("pricing packets", done, classes.len())?;
            let predicted = self.predicted(&|choice| self.is_of(class, choice))?;
            let Some(contract) = self.contract(&predicted)? else { continue };
            let witness = self.witness(costly.paths)?;
            if let Some(one) = &witness
                && closest.as_ref().is_none_or(|other| other.delay < one.delay)
            {
                closest = Some(one.clone());
            }
            clauses.push(Clause::new(self.words(class), contract, witness));
        }
        if let Some(any) = clauses.first_mut() {
            any.witness = closest;
        }
        Ok(Found { clauses, fewer })
    }

    /// Returns the indices of all actions among the goals of the program.
    fn actions(&self) -> impl Iterator<Item = usize> {
        let goals = self.goals.iter().enumerate();
        goals.filter(|(_, (_, goal))| goal.kind == Kind::Action).map(|(position, _)| position)
    }

    /// Returns at most `most` sets of actions that some packet runs, each with such a packet. The
    /// sets with the most actions come first.
    fn classes(&self, most: usize) -> Result<Classes, Failure> {
        if most == 0 {
            return Ok(Classes { classes: Vec::new(), fewer: None });
        }
        let mut weights = vec![0; self.goals.len()];
        for position in self.actions() {
            if let Some(weight) = weights.get_mut(position) {
                *weight = 1;
            }
        }
        self.task.step("searching classes of packets", 0, 1)?;
        let lengths = [self.task.length];
        let wish = wish(&weights, &lengths, most, &[]);
        let Costliest { paths, short } =
            self.solved(&[wish])?.into_iter().next().unwrap_or_default();
        let actions: BTreeSet<usize> = self.actions().collect();
        let mut classes: Vec<Class> = Vec::new();
        for one in paths {
            let reached: BTreeSet<usize> = one.reached.into_iter().collect();
            let class: Class = reached.intersection(&actions).copied().collect();
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        let fewer = short.first().map(|short| {
            format!(
                "{} of at most {most} classes of packets have a contract of their own: {short}, where a path is a set of \
                 actions that tables run",
                classes.len()
            )
        });
        Ok(Classes { classes, fewer })
    }

    /// Returns, for each class, its costliest packets by the weights of the solver.
    fn costliest(&self, classes: &[Class]) -> Result<Vec<Costliest>, Failure> {
        let Task { program, model, under, terms, .. } = *self.task;
        let weights = weights(program, &self.goals, model, under, terms.level);
        let weight = |cost: &i64| u32::try_from(cost / UNIT).unwrap_or(u32::MAX);
        let weights: Vec<u32> = weights.iter().map(weight).collect();
        let fixed = |class: &Class| -> Vec<(usize, bool)> {
            self.actions().map(|position| (position, class.contains(&position))).collect()
        };
        let fixed: Vec<Vec<(usize, bool)>> = classes.iter().map(fixed).collect();
        let lengths = [self.task.length];
        let mut wishes = Vec::with_capacity(fixed.len());
        for fixed in &fixed {
            wishes.push(wish(&weights, &lengths, CANDIDATES, fixed));
        }
        self.task.step("searching the costliest packets", 0, 1)?;
        self.solved(&wishes)
    }

    fn solved(&self, wishes: &[CostlyWish<'_>]) -> Result<Vec<Costliest>, Failure> {
        if wishes.is_empty() {
            return Ok(Vec::new());
        }
        let Task { program, name, seed, .. } = *self.task;
        let threads = available_parallelism().map_or(1, NonZero::get);
        let options = Options { seed, threads, conflicts: CONFLICTS, ..Options::default() };
        let found = with_large_stack(|| costliest_of_each(program, wishes, &options));
        found.map_err(Failure::run)?.map_err(|error| worst::failure(name, error))
    }

    /// Returns the predicted delays of the paths through the program that make only the choices
    /// which `permits` allows.
    fn predicted(&self, permits: Permits<'_>) -> Result<Vec<PathPrediction>, Failure> {
        let Task { program, model, under, .. } = *self.task;
        let paths = paths_where(program, permits).map_err(Failure::input)?;
        model.predict_paths(under, &paths).map_err(Failure::input)
    }

    /// Returns the contract that covers these paths, or `None` if there are no paths.
    fn contract(&self, paths: &[PathPrediction]) -> Result<Option<Contract>, Failure> {
        let Task { model, under, terms, .. } = *self.task;
        let contract = model.contract(under, paths, terms).map_err(Failure::run)?;
        if contract.is_none() && !paths.is_empty() {
            return Err(Failure::input(format!(
                "there is no such curve at level {}; try --semantics burst-delay, or a level of the model above the median",
                terms.level
            )));
        }
        Ok(contract)
    }

    /// Returns the packet with the longest predicted delay. Several paths may reach the same parts
    /// of the program as a packet. The slowest of them determines the predicted delay of the
    /// packet.
    fn witness(&self, costly: Vec<Costly>) -> Result<Option<Witness>, Failure> {
        let mut slowest: Option<Witness> = None;
        for Costly { test, reached, .. } in costly {
            let reached: BTreeSet<usize> = reached.into_iter().collect();
            let predicted = self.predicted(&|choice| {
                self.position(choice).is_none_or(|position| reached.contains(&position))
            })?;
            // The walk may not follow a packet, for example one that is too short for a header.
            let Some(contract) = self.contract(&predicted)? else { continue };
            if slowest.as_ref().is_none_or(|other| other.delay < contract.delay) {
                slowest = Some(Witness { test, delay: contract.delay });
            }
        }
        Ok(slowest)
    }

    /// Returns whether packets of a class can make a choice, such as running an action.
    fn is_of(&self, class: &Class, choice: Choice) -> bool {
        match choice {
            Choice::Action(..) => {
                self.position(choice).is_none_or(|position| class.contains(&position))
            }
            Choice::State(..)
            | Choice::Case(..)
            | Choice::Side(..)
            | Choice::Turns(..)
            | Choice::Unplaced
            | Choice::Rejected
            | Choice::BlockEnd => true,
        }
    }

    /// Returns the index of the goal that a choice reaches, or `None` if there is no such goal.
    fn position(&self, choice: Choice) -> Option<usize> {
        let key = match choice {
            Choice::State(parser, state) => Key::State(parser, state),
            Choice::Case(parser, state, case) => Key::Case(parser, state, case),
            Choice::Side(at, side) => Key::Side(at, side),
            // The sides of a loop are 0 for its end and 1 for a turn.
            Choice::Turns(at, turns) => Key::Side(at, turns.min(1)),
            Choice::Action(table, position) => Key::Action(table, position),
            Choice::Unplaced | Choice::Rejected | Choice::BlockEnd => return None,
        };
        self.positions.get(&key).copied()
    }

    /// Returns a description of the packets of a class.
    fn words(&self, class: &Class) -> String {
        let names = class.iter().filter_map(|position| self.goals.get(*position));
        let names: Vec<&str> = names.map(|(_, goal)| goal.name.as_str()).collect();
        match names.as_slice() {
            [] => "packets that pass no table".to_owned(),
            some => format!("packets that run no actions of tables but {}", some.join(", ")),
        }
    }
}
