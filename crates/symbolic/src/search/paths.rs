//! Searches for a packet that takes a given path of a program, or a proof that there is none.
//!
//! A path is a sequence of [`Choice`]s in one pass of a packet. A packet takes the path if it makes
//! each choice as often as the path does, and makes no other choice at the same branches, runs no
//! other action of a table and enters no other parser state. A dropped packet does not enter later
//! blocks, so these are taken into account one by one.
//!
//! The numbers of visits describe a path exactly only if each block runs once. Copies and further
//! passes of a packet run blocks again, and are not followed. In programs that have them, a path is
//! reported as infeasible only if no packet enters ingress again, and no packet makes each choice
//! of the path up to the end of ingress at least once.

use super::{Options, Search, SearchError, Verdict};
use crate::ends::Ends;
use crate::execute::{Bounds, execute};
use crate::generated::Test;
use crate::goals::{Goal, Key, Kind, statements};
use crate::query::Answer;
use crate::term::Term;
use ir::{
    Architecture, Choice, ExternCallee, ExternFunction, Location, ParserId, Program, StateId,
    Statement, StatementKind, TableId, Target, Transition,
};
use std::collections::BTreeMap;

/// The limits of the execution: a path is one pass of one packet.
const BOUNDS: Bounds = Bounds {
    packets: 1,
    passes: 1,
    only_source_entries: false,
    entries: None,
    is_compared: false,
    ends: Ends { at: None, asked: None },
    entrance: None,
};

/// The width in bits of the terms that count visits.
const COUNT_BITS: u32 = 32;

/// The number by which a goal identifies an iteration of a loop, in contrast to the loop's end.
const TURN: usize = 1;

/// The number of v1model blocks that every packet enters: the parser, the verification of
/// checksums, and ingress.
const BLOCKS_TO_INGRESS: usize = 3;

/// The reason why a packet that makes the choices of a path does not prove that the path is
/// feasible.
const NOT_TOLD_APART: &str = "a packet makes these choices, but the search does not state their \
                              order, so that the packet may take another path";

/// Whether a packet takes a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feasibility {
    /// The packet of this test takes the whole path.
    Feasible(Box<Test>),
    /// No packet takes the whole path. The packet of this test takes it until it is dropped, and
    /// makes none of the choices that the path makes in later blocks.
    CutShort(Box<Test>),
    /// No packet takes the path, whatever tables and registers contain.
    Infeasible,
    /// The search found neither a packet nor a proof, for this reason.
    GivenUp(String),
}

/// A search for packets that take paths of a program.
pub struct PathSearch<'p> {
    search: Search<'p>,
    program: &'p Program,
    /// Whether packets may be copied, or enter the program again.
    has_copies: bool,
    /// Whether no parser raises an error of the core language by itself, such as `PacketTooShort`.
    /// Paths do not contain such errors, only those of `verify`.
    parses: Term,
    /// Whether a parser rejects the packet.
    rejected: Term,
    /// The number of places in the program at which a transition or `verify` makes a parser reject
    /// packets.
    places_of_rejection: usize,
    decided: usize,
}

/// The part of a path that a packet must take.
#[derive(Clone, Copy)]
enum Extent {
    Whole,
    /// The blocks that the packet enters before it is dropped.
    UntilDropped,
}

/// Whether a packet takes one of several paths.
enum Taken {
    By(Box<Test>),
    /// None of the packets that are followed takes a path.
    ByNone,
    /// The search found neither a packet nor a proof, for this reason.
    Unknown(String),
}

/// The number of times that a path makes each choice, in some of its blocks.
#[derive(Default)]
struct Visits {
    states: BTreeMap<(ParserId, StateId), usize>,
    sides: Vec<((Location, usize), usize)>,
    /// The loops of the path, each once.
    turns: Vec<Turns>,
    actions: BTreeMap<(TableId, usize), usize>,
    rejects: bool,
}

/// The iterations of a loop on a path.
struct Turns {
    location: Location,
    /// The number of iterations in all runs of the loop together.
    count: usize,
    /// The number of times that the path runs the loop.
    visits: usize,
}

impl Visits {
    fn new(choices: &[Choice]) -> Self {
        let mut visits = Self::default();
        for choice in choices {
            match choice {
                Choice::State(parser, state) => {
                    *visits.states.entry((*parser, *state)).or_default() += 1;
                }
                Choice::Side(location, number) => {
                    let side = (*location, *number);
                    match visits.sides.iter_mut().find(|(known, _)| *known == side) {
                        Some((_, count)) => *count += 1,
                        None => visits.sides.push((side, 1)),
                    }
                }
                Choice::Turns(location, turns) => {
                    let known = visits.turns.iter_mut().find(|known| known.location == *location);
                    match known {
                        Some(known) => {
                            known.count += turns;
                            known.visits += 1;
                        }
                        None => {
                            let location = *location;
                            visits.turns.push(Turns { location, count: *turns, visits: 1 });
                        }
                    }
                }
                Choice::Action(table, position) => {
                    *visits.actions.entry((*table, *position)).or_default() += 1;
                }
                Choice::Rejected => visits.rejects = true,
                // The states that a path enters tell cases with different targets apart.
                Choice::Case(..) | Choice::Unplaced | Choice::BlockEnd => {}
            }
        }
        visits
    }

    /// Returns the goals that a packet reaches if it makes these choices.
    fn keys(&self) -> Vec<Key> {
        let states = self.states.keys().map(|(parser, state)| Key::State(*parser, *state));
        let sides = self.sides.iter().map(|((place, number), _)| Key::Side(*place, *number));
        let turns = self.turns.iter().filter(|turns| turns.count > 0);
        let turns = turns.map(|turns| Key::Side(turns.location, TURN));
        let actions = self.actions.keys().map(|(table, at)| Key::Action(*table, *at));
        states.chain(sides).chain(turns).chain(actions).collect()
    }

    /// Returns whether a loop and a branch have the same position in the source, so that their
    /// sides cannot be told apart.
    fn has_loops_at_branches(&self) -> bool {
        let has_side = |at: Location| self.sides.iter().any(|((place, _), _)| *place == at);
        self.turns.iter().any(|turns| has_side(turns.location))
    }

    /// Returns whether the order of choices matters: a branch takes different sides, a table runs
    /// different actions, or a loop runs twice. The numbers of visits do not say which choice came
    /// first.
    fn depend_on_order(&self) -> bool {
        let mut places: Vec<Location> = self.sides.iter().map(|((place, _), _)| *place).collect();
        let mut tables: Vec<TableId> = self.actions.keys().map(|(table, _)| *table).collect();
        tables.dedup();
        let sides = places.len();
        places.sort_by_key(|place| (place.file, place.line, place.column));
        places.dedup();
        let loops = self.turns.iter().any(|turns| turns.visits > 1);
        places.len() < sides || tables.len() < self.actions.len() || loops
    }
}

impl<'p> PathSearch<'p> {
    /// Executes a program for v1model, PSA or PNA. Of the options, only the seed and the number of
    /// conflicts are used. The latter limits the work for each path.
    ///
    /// # Errors
    ///
    /// Returns an error if the program cannot be executed symbolically, or if the solver's answer
    /// is wrong.
    pub fn new(program: &'p Program, options: &Options) -> Result<Self, SearchError> {
        let mut execution = execute(program, BOUNDS)?;
        let conditions = execution.goals.conditions(&mut execution.terms);
        let events = execution.events.iter().map(|(_, guard)| *guard);
        let copies: Vec<Term> = events.chain(execution.copies.iter().map(|copy| copy.on)).collect();
        let rejections = [&execution.rejections[..], &execution.refusals].concat();
        let terms = &mut execution.terms;
        let fails = terms.any(&execution.failures);
        let (parses, rejected) = (terms.not(fails), terms.any(&rejections));
        let copied = terms.any(&copies);
        let mut search = Search::new(program, execution, conditions, options);
        search.drop_unreached_cuts()?;
        let copied = search.context.solve(&search.execution.terms, &[copied])?;
        let has_copies = !matches!(copied, Answer::Unsat(_));
        let places_of_rejection = places_of_rejection(program);
        Ok(Self { search, program, has_copies, parses, rejected, places_of_rejection, decided: 0 })
    }

    /// Decides whether a packet takes one of several paths. `are_all` says whether these are all
    /// the paths that the caller is asking about. If some were left out, the result is never that
    /// the paths are infeasible.
    ///
    /// # Errors
    ///
    /// Returns an error if the solver's answer is wrong.
    pub fn decide(
        &mut self,
        paths: &[Vec<Choice>],
        are_all: bool,
    ) -> Result<Feasibility, SearchError> {
        self.decided += 1;
        if paths.iter().any(|path| path.contains(&Choice::Unplaced)) {
            let reason = "a branch on the path has no place in the source";
            return Ok(Feasibility::GivenUp(reason.to_owned()));
        }
        if paths.iter().any(|path| Visits::new(path).has_loops_at_branches()) {
            let reason = "a loop and a branch on the path have the same place in the source";
            return Ok(Feasibility::GivenUp(reason.to_owned()));
        }
        let reason = match self.taken(paths, Extent::Whole)? {
            Taken::By(test) => return Ok(Feasibility::Feasible(test)),
            Taken::Unknown(reason) => reason,
            Taken::ByNone => match self.doubt(paths, are_all) {
                Some(doubt) => doubt,
                None => match self.taken(paths, Extent::UntilDropped)? {
                    Taken::By(test) => return Ok(Feasibility::CutShort(test)),
                    Taken::ByNone => return Ok(Feasibility::Infeasible),
                    Taken::Unknown(reason) => reason,
                },
            },
        };
        if are_all && self.excludes_ingress(paths)? {
            return Ok(Feasibility::Infeasible);
        }
        Ok(Feasibility::GivenUp(reason))
    }

    /// Returns the reason why a packet may take one of the paths although none was found; `None` if
    /// there is no such reason.
    fn doubt(&self, paths: &[Vec<Choice>], are_all: bool) -> Option<String> {
        let turns = |choice: &Choice| matches!(choice, Choice::Turns(_, turns) if *turns > 0);
        if !are_all {
            Some(format!(
                "the path stands for more than the {} combinations of choices that were tried",
                paths.len()
            ))
        } else if self.has_copies {
            Some(
                "packets are copied or enter the program again, whose passes the search does not \
                 tell apart"
                    .to_owned(),
            )
        } else if self.search.may_gain_from_sequences() {
            Some("earlier packets may leave entries that no control plane writes".to_owned())
        } else if paths.iter().flatten().any(turns) {
            Some("packets may run a loop of the path more than once".to_owned())
        } else {
            None
        }
    }

    /// Searches for a packet that takes one of several paths.
    fn taken(&mut self, paths: &[Vec<Choice>], extent: Extent) -> Result<Taken, SearchError> {
        let (told_apart, others): (Vec<&Vec<Choice>>, Vec<&Vec<Choice>>) =
            paths.iter().partition(|path| self.tells_apart(path));
        for (paths, are_told_apart) in [(told_apart, true), (others, false)] {
            if paths.is_empty() {
                continue;
            }
            let mut any = Vec::new();
            for path in paths {
                match extent {
                    Extent::Whole => any.push(self.takes(path, path.len())),
                    Extent::UntilDropped => self.shortened(path, &mut any),
                }
            }
            let condition = self.search.execution.terms.any(&any);
            let name = format!("path {}", self.decided);
            let goal = Goal { kind: Kind::Branch, name, place: None };
            match self.search.attempt(condition, &goal, self.decided)? {
                Ok(found) if are_told_apart => return Ok(Taken::By(Box::new(found.test))),
                Ok(_) => return Ok(Taken::Unknown(NOT_TOLD_APART.to_owned())),
                Err(Verdict::GivenUp(reason)) => return Ok(Taken::Unknown(reason)),
                Err(
                    Verdict::Unreachable
                    | Verdict::NotWithin(_)
                    | Verdict::Open
                    | Verdict::Covered(_),
                ) => {}
            }
        }
        Ok(Taken::ByNone)
    }

    /// Returns whether the numbers of visits distinguish a path from all others.
    fn tells_apart(&self, path: &[Choice]) -> bool {
        let visits = Visits::new(path);
        !visits.depend_on_order() && (!visits.rejects || self.places_of_rejection == 1)
    }

    /// Returns the condition under which a packet makes the first `made` choices of a path, no
    /// other choice in their blocks, and none of the path's later choices.
    fn takes(&mut self, path: &[Choice], made: usize) -> Term {
        let visits = Visits::new(path.get(..made).unwrap_or(path));
        let all = Visits::new(path);
        let mut conditions = vec![self.parses];
        conditions.push(match visits.rejects {
            true => self.rejected,
            false => self.search.execution.terms.not(self.rejected),
        });
        let program = self.program;
        for (id, parser) in (0_u32..).map(ParserId).zip(&program.parsers) {
            for (state_id, state) in (0_u32..).map(StateId).zip(&parser.states) {
                let count = visits.states.get(&(id, state_id)).copied().unwrap_or(0);
                conditions.push(self.visited(&Key::State(id, state_id), count));
                // No path contains the outcome that no case matches.
                if let Transition::Select { cases, .. } = &state.transition {
                    conditions.push(self.visited(&Key::Case(id, state_id, cases.len()), 0));
                }
            }
        }
        for (id, table) in (0_u32..).map(TableId).zip(&program.tables) {
            // A miss need not run an action (v1model, action profiles).
            if visits.actions.keys().all(|(applied, _)| *applied != id) {
                conditions.push(self.visited(&Key::Hit(id), 0));
                conditions.push(self.visited(&Key::Miss(id), 0));
            }
            for position in 0..table.actions.len() {
                let count = visits.actions.get(&(id, position)).copied().unwrap_or(0);
                conditions.push(self.visited(&Key::Action(id, position), count));
            }
        }
        for (location, sides) in self.branches(&all) {
            for number in 0..sides {
                let side = (location, number);
                let known = visits.sides.iter().find(|(known, _)| *known == side);
                let count = known.map_or(0, |(_, count)| *count);
                conditions.push(self.visited(&Key::Side(location, number), count));
            }
        }
        for turns in &all.turns {
            let made = visits.turns.iter().find(|made| made.location == turns.location);
            let count = made.map_or(0, |made| made.count);
            conditions.push(self.visited(&Key::Side(turns.location, TURN), count));
        }
        self.search.execution.terms.all(&conditions)
    }

    /// Returns the branches of a path, each with the number of sides that it has in the program.
    fn branches(&self, visits: &Visits) -> Vec<(Location, usize)> {
        let mut branches: Vec<(Location, usize)> = Vec::new();
        for ((location, _), _) in &visits.sides {
            if branches.iter().all(|(known, _)| known != location) {
                let mut sides = 0;
                while self.search.execution.goals.position(&Key::Side(*location, sides)).is_some() {
                    sides += 1;
                }
                branches.push((*location, sides));
            }
        }
        branches
    }

    /// Returns the condition under which a packet reaches a goal exactly `count` times.
    fn visited(&mut self, key: &Key, count: usize) -> Term {
        let visits = self.search.execution.goals.visits(key).to_vec();
        let terms = &mut self.search.execution.terms;
        match (count, visits.as_slice()) {
            (0, visits) => {
                let any = terms.any(visits);
                terms.not(any)
            }
            (1, [visit]) => *visit,
            (count, visits) if count > visits.len() => terms.truth(false),
            (count, visits) => {
                let (one, mut sum) = (terms.number(COUNT_BITS, 1), terms.zero(COUNT_BITS));
                for visit in visits {
                    let more = terms.add(sum, one);
                    sum = terms.if_then_else(*visit, more, sum);
                }
                let wanted = terms.number(COUNT_BITS, count as u128);
                terms.equal(sum, wanted)
            }
        }
    }

    /// Adds to `conditions`, for each block after which the path makes further choices, the
    /// condition that a packet takes the path up to the end of that block and makes none of the
    /// later choices.
    fn shortened(&mut self, path: &[Choice], conditions: &mut Vec<Term>) {
        for end in ends_of_blocks(path) {
            let later = path.get(end..).unwrap_or_default();
            if later.iter().any(|choice| *choice != Choice::BlockEnd) {
                conditions.push(self.takes(path, end));
            }
        }
    }

    /// Returns whether no packet makes the choices of any of the paths up to the end of ingress.
    /// The answer is only given for programs for v1model in which packets enter ingress only once,
    /// even if they are copied; for others, returns false.
    fn excludes_ingress(&mut self, paths: &[Vec<Choice>]) -> Result<bool, SearchError> {
        if self.program.architecture != Architecture::V1model
            || self.search.cuts.iter().any(|cut| !cut.is_between_passes)
            || self.search.may_gain_from_sequences()
            || statements(self.program).into_iter().any(enters_again)
        {
            return Ok(false);
        }
        let mut any = Vec::new();
        for path in paths {
            let ends = ends_of_blocks(path);
            let Some(end) = ends.get(BLOCKS_TO_INGRESS - 1) else { return Ok(false) };
            let visits = Visits::new(path.get(..*end).unwrap_or(path));
            let mut conditions = Vec::new();
            for key in visits.keys() {
                let visits = self.search.execution.goals.visits(&key).to_vec();
                conditions.push(self.search.execution.terms.any(&visits));
            }
            any.push(self.search.execution.terms.all(&conditions));
        }
        let condition = self.search.execution.terms.any(&any);
        let answer = self.search.context.solve(&self.search.execution.terms, &[condition])?;
        Ok(matches!(answer, Answer::Unsat(_)))
    }
}

/// Returns, for each block of a path, the number of choices up to the end of the block.
fn ends_of_blocks(path: &[Choice]) -> Vec<usize> {
    let ends = path.iter().enumerate().filter(|(_, choice)| **choice == Choice::BlockEnd);
    ends.map(|(at, _)| at + 1).collect()
}

/// Returns whether a statement can make a packet enter the ingress of v1model again.
fn enters_again(statement: &Statement) -> bool {
    let StatementKind::CallExtern { callee: ExternCallee::Function(function), .. } =
        &statement.kind
    else {
        return false;
    };
    matches!(
        function,
        ExternFunction::Resubmit
            | ExternFunction::ResubmitPreservingFieldList
            | ExternFunction::Recirculate
            | ExternFunction::RecirculatePreservingFieldList
    )
}

/// Returns the number of places in a program at which a transition or `verify` makes a parser
/// reject packets.
fn places_of_rejection(program: &Program) -> usize {
    let all = statements(program);
    let verifies = all.iter().filter(|one| matches!(one.kind, StatementKind::Verify { .. }));
    let mut of_transitions = 0;
    for state in program.parsers.iter().flat_map(|parser| &parser.states) {
        let rejects = match &state.transition {
            Transition::Direct(target) => *target == Target::Reject,
            Transition::Select { cases, .. } => {
                cases.iter().any(|case| case.target == Target::Reject)
            }
        };
        of_transitions += usize::from(rejects);
    }
    verifies.count() + of_transitions
}
