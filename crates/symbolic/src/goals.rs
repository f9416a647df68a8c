//! Goals: the parts of a program that tests must reach, with the conditions under which packets
//! reach them.

use crate::term::{Term, Terms};
use ir::{
    Block, Excerpts, KeySet, Location, ParserId, Program, StateId, Statement, StatementKind,
    TableId, Target, Transition,
};
use std::collections::HashMap;

/// The kind of program part that a goal stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A statement.
    Statement,
    /// A side of an `if`, a case of a `switch`, an iteration of a loop, or the end of a loop.
    Branch,
    /// A state of a parser.
    State,
    /// A case of a `select`, or the outcome that no case matches.
    Select,
    /// A hit or a miss in a table.
    Table,
    /// An action that a table runs.
    Action,
}

impl Kind {
    /// All kinds, in the order in which reports list them.
    pub const ALL: [Self; 6] =
        [Self::Statement, Self::Branch, Self::State, Self::Select, Self::Table, Self::Action];

    /// Returns the name of the kind in the plural.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Statement => "statements",
            Self::Branch => "branches",
            Self::State => "parser states",
            Self::Select => "select cases",
            Self::Table => "hits and misses",
            Self::Action => "actions of tables",
        }
    }
}

/// A part of a program that a test must reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The kind of the program part.
    pub kind: Kind,
    /// The name of the program part, such as `MyParser.start`.
    pub name: String,
    /// The position in the source as `file:line:column`, if it is known.
    pub place: Option<String>,
}

/// The program part that a goal stands for. It identifies the goal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// The statement at this position in the source.
    Statement(Location),
    /// A side of the branch at this position in the source. The number counts the sides of the
    /// branch.
    Side(Location, usize),
    /// A state of a parser.
    State(ParserId, StateId),
    /// A case of the `select` in a parser state, by its number. The number after the last case
    /// stands for the outcome that no case matches.
    Case(ParserId, StateId, usize),
    /// A hit in a table.
    Hit(TableId),
    /// A miss in a table.
    Miss(TableId),
    /// An action that a table runs, by its position in the table's action list.
    Action(TableId, usize),
}

/// All goals of a program, with the conditions under which packets reach them.
#[derive(Debug)]
pub(crate) struct Goals {
    goals: Vec<Goal>,
    known: HashMap<Key, usize>,
    /// The conditions under which the last packet reaches each goal, by the position of the goal.
    guards: Vec<Vec<Term>>,
    /// The conditions under which earlier packets reach each goal, by the position of the goal.
    earlier: Vec<Vec<Term>>,
}

impl Goals {
    /// Lists the goals of a program.
    pub(crate) fn new(program: &Program) -> Self {
        let mut goals = Self {
            goals: Vec::new(),
            known: HashMap::new(),
            guards: Vec::new(),
            earlier: Vec::new(),
        };
        goals.parsers(program);
        let mut statements = statements(program);
        statements
            .sort_by_key(|statement| statement.location.map(|at| (at.file, at.line, at.column)));
        for statement in statements {
            let Some(at) = statement.location else { continue };
            let place = Some(place(program, at));
            let name = place.clone().unwrap_or_default();
            goals.add(Key::Statement(at), Goal { kind: Kind::Statement, name, place });
            for (number, name) in sides(statement).into_iter().enumerate() {
                let place = Some(self::place(program, at));
                goals.add(Key::Side(at, number), Goal { kind: Kind::Branch, name, place });
            }
        }
        goals.tables(program);
        goals
    }

    fn parsers(&mut self, program: &Program) {
        let excerpts = Excerpts::new(program);
        for (parser_number, parser) in (0_u32..).zip(&program.parsers) {
            let parser_id = ParserId(parser_number);
            for (number, state) in (0_u32..).zip(&parser.states) {
                let id = StateId(number);
                let at = state.location.map(|location| place(program, location));
                let name = format!("{}.{}", parser.name, state.name);
                let goal = Goal { kind: Kind::State, name: name.clone(), place: at.clone() };
                self.add(Key::State(parser_id, id), goal);
                let Transition::Select { cases, .. } = &state.transition else { continue };
                let mut takes_all = false;
                for (number, case) in cases.iter().enumerate() {
                    let sets: Vec<String> =
                        case.key_sets.iter().map(|set| excerpts.key_set(set)).collect();
                    let target = match case.target {
                        Target::State(id) => {
                            parser.states.get(id.index()).map_or("?", |state| &state.name)
                        }
                        Target::Accept => "accept",
                        Target::Reject => "reject",
                    };
                    let name = format!("{name}: {} to {target}", sets.join(", "));
                    let goal = Goal { kind: Kind::Select, name, place: at.clone() };
                    self.add(Key::Case(parser_id, id, number), goal);
                    takes_all |= case.key_sets.iter().all(|set| matches!(set, KeySet::Any));
                }
                if !takes_all {
                    let name = format!("{name}: none fits");
                    let goal = Goal { kind: Kind::Select, name, place: at };
                    self.add(Key::Case(parser_id, id, cases.len()), goal);
                }
            }
        }
    }

    fn tables(&mut self, program: &Program) {
        for (number, table) in (0_u32..).zip(&program.tables) {
            let id = TableId(number);
            let at = table.location.map(|location| place(program, location));
            if !table.keys.is_empty() {
                let name = format!("{}: a hit", table.name);
                self.add(Key::Hit(id), Goal { kind: Kind::Table, name, place: at.clone() });
            }
            let name = format!("{}: a miss", table.name);
            self.add(Key::Miss(id), Goal { kind: Kind::Table, name, place: at.clone() });
            for (position, reference) in table.actions.iter().enumerate() {
                let action = program.actions.get(reference.action.index());
                let action = action.map_or("?", |action| action.name.as_str());
                let name = format!("{}: {action}", table.name);
                let goal = Goal { kind: Kind::Action, name, place: at.clone() };
                self.add(Key::Action(id, position), goal);
            }
        }
    }

    fn add(&mut self, key: Key, goal: Goal) {
        let next = self.goals.len();
        if let std::collections::hash_map::Entry::Vacant(free) = self.known.entry(key) {
            free.insert(next);
            self.goals.push(goal);
            self.guards.push(Vec::new());
            self.earlier.push(Vec::new());
        }
    }

    /// Begins the next packet of a sequence. The conditions that follow are those of that packet.
    pub(crate) fn next_packet(&mut self) {
        for (guards, earlier) in self.guards.iter_mut().zip(&mut self.earlier) {
            earlier.append(guards);
        }
    }

    /// Records a condition under which the packet reaches a goal. If a packet reaches the goal
    /// several times, each time is recorded, even if the conditions are equal.
    pub(crate) fn reach(&mut self, key: &Key, guard: Term) {
        let position = self.known.get(key);
        if let Some(guards) = position.and_then(|position| self.guards.get_mut(*position)) {
            guards.push(guard);
        }
    }

    /// Returns the conditions of all visits of the last packet to a goal that is not a statement.
    /// The packet visits the goal as often as the number of conditions that hold.
    pub(crate) fn visits(&self, key: &Key) -> &[Term] {
        let guards = self.position(key).and_then(|position| self.guards.get(position));
        guards.map_or(&[], Vec::as_slice)
    }

    /// Returns the position of a goal among all goals.
    pub(crate) fn position(&self, key: &Key) -> Option<usize> {
        self.known.get(key).copied()
    }

    /// Returns the keys of all goals that are statements, in no particular order.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &Key> {
        self.known.keys().filter(|key| matches!(key, Key::Statement(_)))
    }

    /// Returns the goals, in the order of the program.
    pub(crate) fn all(&self) -> &[Goal] {
        &self.goals
    }

    /// Returns, for each goal, the condition under which the last packet reaches it.
    pub(crate) fn conditions(&self, terms: &mut Terms) -> Vec<Term> {
        self.guards.iter().map(|guards| any_of(terms, guards.clone())).collect()
    }

    /// Returns, for each goal, the condition under which any packet of the sequence reaches it.
    pub(crate) fn conditions_of_all(&self, terms: &mut Terms) -> Vec<Term> {
        self.passages_of_all().into_iter().map(|passages| any_of(terms, passages)).collect()
    }

    /// Returns, for each goal, the conditions of all visits of all packets. The packets of a test
    /// reach the goal as often as the number of conditions that hold.
    pub(crate) fn passages_of_all(&self) -> Vec<Vec<Term>> {
        let guards = self.guards.iter().zip(&self.earlier);
        guards.map(|(guards, earlier)| [&earlier[..], &guards[..]].concat()).collect()
    }
}

/// Returns the condition that any of these visits takes place. Consecutive visits may have the same
/// condition.
fn any_of(terms: &mut Terms, mut visits: Vec<Term>) -> Term {
    visits.dedup();
    terms.any(&visits)
}

/// Returns the goals of a program in the order in which searches report them, each with its key.
#[must_use]
pub fn list(program: &Program) -> Vec<(Key, Goal)> {
    let Goals { goals, known, .. } = Goals::new(program);
    let mut keys: Vec<(Key, usize)> = known.into_iter().collect();
    keys.sort_unstable_by_key(|(_, position)| *position);
    // Each goal has one key, so the two lists have the same order.
    keys.into_iter().map(|(key, _)| key).zip(goals).collect()
}

/// Returns all statements of a program, including nested ones.
#[must_use]
pub fn statements(program: &Program) -> Vec<&Statement> {
    let mut statements = Vec::new();
    each_block(program, &mut |block| collect(block, &mut statements));
    statements
}

/// Calls `visit` with each block of a program that is not nested in a statement.
fn each_block<'p>(program: &'p Program, visit: &mut dyn FnMut(&'p Block)) {
    program.controls.iter().for_each(|control| visit(&control.body));
    program.actions.iter().for_each(|action| visit(&action.body));
    program.functions.iter().for_each(|function| visit(&function.body));
    for table in &program.tables {
        visit(&table.before_keys);
        table.actions.iter().for_each(|reference| visit(&reference.before_arguments));
    }
    for parser in &program.parsers {
        visit(&parser.prologue);
        parser.states.iter().for_each(|state| visit(&state.body));
    }
}

/// Adds the statements of a block, including nested ones, to `statements`.
fn collect<'p>(block: &'p Block, statements: &mut Vec<&'p Statement>) {
    let mut open = vec![block];
    while let Some(block) = open.pop() {
        for statement in block {
            statements.push(statement);
            match &statement.kind {
                StatementKind::If { then, otherwise, .. } => open.extend([then, otherwise]),
                StatementKind::Switch { cases, default, .. } => {
                    open.extend(cases.iter().map(|case| &case.body));
                    open.push(default);
                }
                StatementKind::For { before_condition, update, body, .. } => {
                    open.extend([before_condition, update, body]);
                }
                StatementKind::Assign { .. }
                | StatementKind::Reset(_)
                | StatementKind::Break
                | StatementKind::Continue
                | StatementKind::ApplyTable { .. }
                | StatementKind::CallAction { .. }
                | StatementKind::CallFunction { .. }
                | StatementKind::CallControl { .. }
                | StatementKind::CallParser { .. }
                | StatementKind::CallExtern { .. }
                | StatementKind::Extract { .. }
                | StatementKind::Lookahead { .. }
                | StatementKind::Advance(_)
                | StatementKind::Emit(_)
                | StatementKind::Verify { .. }
                | StatementKind::SetValidity { .. }
                | StatementKind::PushFront { .. }
                | StatementKind::PopFront { .. }
                | StatementKind::Return(_)
                | StatementKind::Exit => {}
            }
        }
    }
}

/// Returns the names of a branch's sides, in the order of their numbers.
fn sides(statement: &Statement) -> Vec<String> {
    match &statement.kind {
        StatementKind::If { .. } => vec!["else".to_owned(), "then".to_owned()],
        StatementKind::For { .. } => vec!["end of the loop".to_owned(), "turn".to_owned()],
        StatementKind::Switch { cases, .. } => std::iter::once("default".to_owned())
            .chain((1..=cases.len()).map(|number| format!("case {number}")))
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns a position in the source as `file:line:column`.
pub(crate) fn place(program: &Program, location: Location) -> String {
    let file = program.files.get(location.file as usize).map_or("?", String::as_str);
    format!("{file}:{}:{}", location.line, location.column)
}
