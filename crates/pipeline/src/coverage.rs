//! Records which parts of a program packets reached: parser states, cases of `select`, sides of
//! branches, actions, hits and misses of tables, and entries.
//!
//! A [`Coverage`] lists the parts of one program and is a [`Trace`] of their execution. It may
//! record several switches that run the program, one after another. Parts with the same name count
//! as one, and so do branches at the same place in the source. A branch of a control with several
//! instances is therefore one part.

use std::collections::HashMap;

use ir::{
    Excerpts, KeySet, Location, Program, Statement, StatementKind, TableId, Target, Transition,
};

use crate::layout::each_statement;
use crate::trace::{Detail, Event, Trace};
use crate::{Core, TableEntry};

/// The kind of a program's part whose coverage is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartKind {
    /// A state of a parser.
    State,
    /// A case of a `select`, or the outcome that no case matches.
    Select,
    /// One of the two sides of an `if`, a case of a `switch`, or the iteration or the end of a
    /// loop.
    Branch,
    /// An action, whether a table runs it or a statement calls it.
    Action,
    /// A hit or a miss of a table.
    Table,
    /// An entry of a table, declared by the program or added while coverage was recorded.
    Entry,
}

impl PartKind {
    /// All kinds, in the order in which reports list them.
    pub const ALL: [Self; 6] =
        [Self::State, Self::Select, Self::Branch, Self::Action, Self::Table, Self::Entry];

    /// Returns the name of the kind in the singular, such as `state`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Select => "select case",
            Self::Branch => "branch",
            Self::Action => "action",
            Self::Table => "table",
            Self::Entry => "entry",
        }
    }
}

/// A part of a program whose coverage is recorded, such as a parser state or an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The kind of the part: a parser state, an action and so on.
    pub kind: PartKind,
    /// The name of the part, such as `MyParser.start`.
    pub name: String,
    /// The place of the part in the source as `file:line:column`, if the program records it.
    pub place: Option<String>,
    /// The number of times that packets reached the part.
    pub count: u64,
}

/// The key by which a part is found when a packet reaches it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Named(PartKind, String),
    /// One side of a branch: the branch's place in the source, and the number of the side.
    Side(Location, usize),
    /// A case of the `select` in a state. The number after that of the last case stands for the
    /// outcome that no case matches.
    Case(String, usize),
}

/// The parts of one program, with the number of times that packets reached each.
#[derive(Clone, Debug)]
pub struct Coverage {
    parts: Vec<Part>,
    known: HashMap<Key, usize>,
    /// The number of cases of the `select` in each state.
    cases: HashMap<String, usize>,
    /// The names of the program's objects, by which parts are found.
    names: Names,
}

/// The names of a program's states, tables and actions, by their numbers.
#[derive(Clone, Debug)]
struct Names {
    states: Vec<Vec<String>>,
    tables: Vec<String>,
    actions: Vec<String>,
}

impl Names {
    fn new(program: &Program) -> Self {
        let states = program.parsers.iter().map(|parser| {
            parser.states.iter().map(|state| state_name(&parser.name, &state.name)).collect()
        });
        Self {
            states: states.collect(),
            tables: program.tables.iter().map(|table| table.name.clone()).collect(),
            actions: program.actions.iter().map(|action| action.name.clone()).collect(),
        }
    }

    fn table(&self, id: TableId) -> String {
        self.tables.get(id.index()).cloned().unwrap_or_default()
    }
}

impl Coverage {
    /// Lists the parts of a program, none of which have been reached yet.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let mut coverage = Self {
            parts: Vec::new(),
            known: HashMap::new(),
            cases: HashMap::new(),
            names: Names::new(program),
        };
        coverage.parsers(program);
        let mut branches = Vec::new();
        each_statement(program, &mut |statement| branches.extend(sides(statement)));
        branches.sort_by_key(|(at, side, _)| (at.file, at.line, at.column, *side));
        for (at, side, name) in branches {
            let part = (PartKind::Branch, name, Some(place(program, at)));
            coverage.add(Key::Side(at, side), part);
        }
        for action in &program.actions {
            let at = action.location.map(|location| place(program, location));
            coverage.add_named(PartKind::Action, &action.name, at);
        }
        for table in &program.tables {
            if !table.keys.is_empty() {
                coverage.add_named(PartKind::Table, &hit(&table.name), None);
            }
            coverage.add_named(PartKind::Table, &miss(&table.name), None);
        }
        coverage
    }

    /// Returns the parts of a kind, in the order of the program.
    pub fn parts(&self, kind: PartKind) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.kind == kind)
    }

    /// Returns how many parts of a kind packets have reached, and how many parts of the kind there
    /// are.
    #[must_use]
    pub fn reached(&self, kind: PartKind) -> (usize, usize) {
        (self.parts(kind).filter(|part| part.count > 0).count(), self.parts(kind).count())
    }

    /// Adds the entries that the tables of a switch contain now. A newly added entry counts as not
    /// reached until a packet hits it.
    pub fn note_entries(&mut self, core: &Core) {
        for (position, table) in (0_u32..).zip(&core.program().tables) {
            let Ok(entries) = core.entries(ir::TableId(position)) else { continue };
            for (_, entry) in entries {
                self.note_entry(&table.name, &entry);
            }
        }
    }

    /// Adds an entry of a table. It counts as not reached until a packet hits it.
    pub fn note_entry(&mut self, table: &str, entry: &TableEntry) {
        self.add_named(PartKind::Entry, &entry_name(table, entry), None);
    }

    fn add_named(&mut self, kind: PartKind, name: &str, place: Option<String>) {
        self.add(Key::Named(kind, name.to_owned()), (kind, name.to_owned(), place));
    }

    /// Adds a part of the program, unless there is one with the same key.
    fn add(&mut self, key: Key, (kind, name, place): (PartKind, String, Option<String>)) {
        let next = self.parts.len();
        if let std::collections::hash_map::Entry::Vacant(free) = self.known.entry(key) {
            free.insert(next);
            self.parts.push(Part { kind, name, place, count: 0 });
        }
    }

    fn reach(&mut self, key: &Key) {
        if let Some(part) = self.known.get(key).and_then(|position| self.parts.get_mut(*position)) {
            part.count += 1;
        }
    }

    /// Lists the states of all parsers, and the cases of their `select`s.
    fn parsers(&mut self, program: &Program) {
        let excerpts = Excerpts::new(program);
        for parser in &program.parsers {
            for state in &parser.states {
                let at = state.location.map(|location| place(program, location));
                let name = state_name(&parser.name, &state.name);
                self.add_named(PartKind::State, &name, at.clone());
                let Transition::Select { cases, .. } = &state.transition else { continue };
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
                    let text = format!("{name}: {} to {target}", sets.join(", "));
                    let key = Key::Case(name.clone(), number);
                    self.add(key, (PartKind::Select, text, at.clone()));
                }
                let takes_all = |case: &ir::SelectCase| {
                    case.key_sets.iter().all(|set| matches!(set, KeySet::Any))
                };
                if !cases.iter().any(takes_all) {
                    let text = format!("{name}: none fits");
                    self.add(Key::Case(name.clone(), cases.len()), (PartKind::Select, text, at));
                }
                self.cases.insert(name, cases.len());
            }
        }
    }
}

impl Trace for Coverage {
    fn event(&mut self, event: Event) {
        let (kind, name) = match event {
            Event::State { parser, state } => {
                let states = self.names.states.get(parser.index());
                let name = states.and_then(|states| states.get(state.index()));
                (PartKind::State, name.cloned().unwrap_or_default())
            }
            Event::Action { action, .. } => {
                let name = self.names.actions.get(action.index());
                (PartKind::Action, name.cloned().unwrap_or_default())
            }
            Event::Hit { table, entry, .. } => {
                let table = self.names.table(table);
                self.note_entry(&table, &entry);
                self.reach(&Key::Named(PartKind::Entry, entry_name(&table, &entry)));
                (PartKind::Table, hit(&table))
            }
            Event::Miss { table } => (PartKind::Table, miss(&self.names.table(table))),
            Event::Added { table, entry } => {
                let table = self.names.table(table);
                return self.note_entry(&table, &entry);
            }
            _ => return,
        };
        self.reach(&Key::Named(kind, name));
    }

    fn detail(&self) -> Detail {
        Detail::Steps
    }

    fn branch(&mut self, at: Location, side: usize) {
        self.reach(&Key::Side(at, side));
    }

    fn selected(&mut self, parser: &str, state: &str, case: Option<usize>) {
        let name = state_name(parser, state);
        let none = self.cases.get(&name).copied().unwrap_or(0);
        self.reach(&Key::Case(name, case.unwrap_or(none)));
    }
}

/// Returns the sides of a branch: for each, the place of the branch in the source, the number that
/// [`Trace::branch`] receives for the side, and its name.
fn sides(statement: &Statement) -> Vec<(Location, usize, String)> {
    let Some(at) = statement.location else { return Vec::new() };
    let names: Vec<String> = match &statement.kind {
        StatementKind::If { .. } => vec!["else".to_owned(), "then".to_owned()],
        StatementKind::For { .. } => vec!["end of the loop".to_owned(), "turn".to_owned()],
        StatementKind::Switch { cases, .. } => std::iter::once("default".to_owned())
            .chain((1..=cases.len()).map(|number| format!("case {number}")))
            .collect(),
        _ => return Vec::new(),
    };
    names.into_iter().enumerate().map(|(side, name)| (at, side, name)).collect()
}

fn state_name(parser: &str, state: &str) -> String {
    format!("{parser}.{state}")
}

fn hit(table: &str) -> String {
    format!("{table}: a hit")
}

fn miss(table: &str) -> String {
    format!("{table}: a miss")
}

fn place(program: &Program, location: Location) -> String {
    let file = program.files.get(location.file as usize).map_or("?", String::as_str);
    format!("{file}:{}:{}", location.line, location.column)
}

fn entry_name(table: &str, entry: &TableEntry) -> String {
    let matches: Vec<String> = entry.matches.iter().map(ToString::to_string).collect();
    let priority = match entry.priority {
        0 => String::new(),
        priority => format!(", priority {priority}"),
    };
    format!("{table}: {}{priority}", matches.join(", "))
}
