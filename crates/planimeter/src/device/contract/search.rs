//! The classes of packets of a program, their contracts, and the packets that come closest.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::thread::available_parallelism;

use device::contract::Contract;
use device::program::{Choice, PathPrediction, Permits, paths_where};
use ir::with_large_stack;
use symbolic::goals::{self, Goal, Key, Kind};
use symbolic::search::{Costly, CostlyWish, Options, costliest_of_each};

use super::{Clause, Task, Witness, weights};
use crate::bench::worst;
use crate::failure::Failure;

/// The number of costly packets of each class that are priced exactly. The costliest by weights may
/// not be the costliest by the model, because a function may consist of several parts.
const CANDIDATES: usize = 3;
/// The unit of weights in picoseconds.
const UNIT: i64 = 100;
/// The conflicts after which a step of a search is given up.
const CONFLICTS: u64 = 5_000;

/// The search for classes and their costliest packets.
pub(super) struct Search<'s> {
    task: &'s Task<'s>,
    goals: Vec<(Key, Goal)>,
    positions: HashMap<Key, usize>,
}

/// The positions of the goals of actions that the packets of a class run.
type Class = BTreeSet<usize>;

impl<'s> Search<'s> {
    pub(super) fn new(task: &'s Task<'s>) -> Self {
        let goals = goals::list(task.program);
        let keys = goals.iter().enumerate();
        let positions = keys.map(|(position, (key, _))| (key.clone(), position)).collect();
        Self { task, goals, positions }
    }

    /// Returns the contract of any packet, and then those of at most `most` classes.
    pub(super) fn clauses(&self, most: usize) -> Result<Vec<Clause>, Failure> {
        let all = self.predicted(&|_| true)?;
        let contract = self.contract(&all)?.ok_or_else(|| {
            Failure::input(format!("{}: no packet comes to its end", self.task.name))
        })?;
        let mut clauses = vec![Clause::new("any packet".to_owned(), contract, None)];
        let classes = self.classes(most)?;
        let found = self.costliest(&classes)?;
        let mut closest: Option<Witness> = None;
        for (done, (class, costly)) in classes.iter().zip(found).enumerate() {
            self.task.step("pricing packets", done, classes.len())?;
            let predicted = self.predicted(&|choice| self.is_of(class, choice))?;
            let Some(contract) = self.contract(&predicted)? else { continue };
            let witness = self.witness(costly)?;
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
        Ok(clauses)
    }

    /// Returns the positions of the goals of all actions.
    fn actions(&self) -> impl Iterator<Item = usize> {
        let goals = self.goals.iter().enumerate();
        goals.filter(|(_, (_, goal))| goal.kind == Kind::Action).map(|(position, _)| position)
    }

    /// Returns the sets of actions that packets run, each with a packet that does: those with the
    /// most actions first.
    fn classes(&self, most: usize) -> Result<Vec<Class>, Failure> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let mut weights = vec![0; self.goals.len()];
        for position in self.actions() {
            if let Some(weight) = weights.get_mut(position) {
                *weight = 1;
            }
        }
        self.task.step("searching classes of packets", 0, 1)?;
        let lengths = [self.task.length];
        let wish = CostlyWish { weights: &weights, lengths: &lengths, count: most, fixed: &[] };
        let actions: BTreeSet<usize> = self.actions().collect();
        let mut classes: Vec<Class> = Vec::new();
        for one in self.solved(&[wish])?.into_iter().flatten() {
            let reached: BTreeSet<usize> = one.reached.into_iter().collect();
            let class: Class = reached.intersection(&actions).copied().collect();
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        Ok(classes)
    }

    /// Returns the costliest packets of each class by the weights of the model.
    fn costliest(&self, classes: &[Class]) -> Result<Vec<Vec<Costly>>, Failure> {
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
            let (weights, lengths) = (&weights, &lengths);
            wishes.push(CostlyWish { weights, lengths, count: CANDIDATES, fixed });
        }
        self.task.step("searching the costliest packets", 0, 1)?;
        self.solved(&wishes)
    }

    fn solved(&self, wishes: &[CostlyWish<'_>]) -> Result<Vec<Vec<Costly>>, Failure> {
        if wishes.is_empty() {
            return Ok(Vec::new());
        }
        let Task { program, name, seed, .. } = *self.task;
        let threads = available_parallelism().map_or(1, NonZero::get);
        let options = Options { seed, threads, conflicts: CONFLICTS, ..Options::default() };
        let found = with_large_stack(|| costliest_of_each(program, wishes, &options));
        found.map_err(Failure::run)?.map_err(|error| worst::failure(name, error))
    }

    /// Returns the predictions of the paths that make only permitted choices.
    fn predicted(&self, permits: Permits<'_>) -> Result<Vec<PathPrediction>, Failure> {
        let Task { program, model, under, .. } = *self.task;
        let paths = paths_where(program, permits).map_err(Failure::input)?;
        model.predict_paths(under, &paths).map_err(Failure::input)
    }

    /// Returns the contract of some paths, or `None` without paths.
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

    /// Returns the packet with the longest predicted delay. The delay of a packet is that of the
    /// slowest path that fits what it reaches.
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

    /// Returns whether packets of a class may make a choice.
    fn is_of(&self, class: &Class, choice: Choice) -> bool {
        match choice {
            Choice::Action { .. } => {
                self.position(choice).is_none_or(|position| class.contains(&position))
            }
            Choice::Case { .. } | Choice::Side { .. } => true,
        }
    }

    /// Returns the position of the goal that a choice reaches.
    fn position(&self, choice: Choice) -> Option<usize> {
        let key = match choice {
            Choice::Case { parser, state, case } => Key::Case(parser, state, case),
            Choice::Side { at, side } => Key::Side(at, side),
            Choice::Action { table, position } => Key::Action(table, position),
        };
        self.positions.get(&key).copied()
    }

    /// Returns the packets of a class in words.
    fn words(&self, class: &Class) -> String {
        let names = class.iter().filter_map(|position| self.goals.get(*position));
        let names: Vec<&str> = names.map(|(_, goal)| goal.name.as_str()).collect();
        match names.as_slice() {
            [] => "packets that pass no table".to_owned(),
            some => format!("packets that run no actions of tables but {}", some.join(", ")),
        }
    }
}
