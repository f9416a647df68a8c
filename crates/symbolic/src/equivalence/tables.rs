//! The tables of two programs that have the same entries: those that the user has paired, and
//! otherwise those of the same name.

use crate::wanted::is_name;
use ir::{Program, Table, TableId};
use std::collections::BTreeMap;

/// The positions of one action in the action lists of a table in both programs.
pub(super) type Positions = (usize, usize);

/// The tables of two programs that have the same entries and default actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablePairs {
    pairs: Vec<Pair>,
}

/// A table of the first program, and the table of the second program that has the same entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) tables: [TableId; 2],
    /// Whether the user has paired the tables.
    is_by_hand: bool,
}

/// The reason why tables cannot be paired as the user wishes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// A program has no table of this name.
    #[error("the {program} program has no table {name}")]
    NoTable {
        /// The program, `first` or `second`.
        program: &'static str,
        /// The name that the user has written.
        name: String,
    },
    /// Several tables of a program end in this name.
    #[error("{name} may be any of {tables} of the {program} program: write the whole name")]
    Ambiguous {
        /// The program, `first` or `second`.
        program: &'static str,
        /// The name that the user has written.
        name: String,
        /// The names of the tables.
        tables: String,
    },
    /// A table is paired twice.
    #[error("{name} of the {program} program is paired twice")]
    Twice {
        /// The program, `first` or `second`.
        program: &'static str,
        /// The name of the table.
        name: String,
    },
}

/// The names of the two programs in messages.
const PROGRAMS: [&str; 2] = ["first", "second"];

impl TablePairs {
    /// Pairs the tables of two programs. Each element of `by_hand` names a table of the first
    /// program and one of the second, by their full names or the last parts of these. Tables that
    /// it does not name are paired if they have the same name.
    ///
    /// # Errors
    ///
    /// Returns an error if a name fits no table or several, or if a table is paired twice.
    pub fn new(
        first: &Program,
        second: &Program,
        by_hand: &[(String, String)],
    ) -> Result<Self, PairError> {
        let mut found = Self { pairs: Vec::new() };
        for (left, right) in by_hand {
            let tables = [find(first, PROGRAMS[0], left)?, find(second, PROGRAMS[1], right)?];
            for (side, name) in [left, right].into_iter().enumerate() {
                if found.pairs.iter().any(|pair| pair.tables[side] == tables[side]) {
                    let (program, name) = (PROGRAMS[side], name.clone());
                    return Err(PairError::Twice { program, name });
                }
            }
            found.pairs.push(Pair { tables, is_by_hand: true });
        }
        found.add_by_name(first, second);
        Ok(found)
    }

    /// Pairs the tables of two programs that have the same name.
    #[must_use]
    pub fn by_name(first: &Program, second: &Program) -> Self {
        let mut found = Self { pairs: Vec::new() };
        found.add_by_name(first, second);
        found
    }

    /// Pairs tables of the same name that are in no pair yet.
    fn add_by_name(&mut self, first: &Program, second: &Program) {
        for (id, table) in (0_u32..).map(TableId).zip(&first.tables) {
            let mut others = (0_u32..).map(TableId).zip(&second.tables);
            let Some((other, _)) = others.find(|(_, other)| other.name == table.name) else {
                continue;
            };
            let is_taken = |pair: &Pair| pair.tables[0] == id || pair.tables[1] == other;
            if !self.pairs.iter().any(is_taken) {
                self.pairs.push(Pair { tables: [id, other], is_by_hand: false });
            }
        }
    }

    pub(super) fn all(&self) -> &[Pair] {
        &self.pairs
    }

    /// Returns the pair to which a table of the program `side` belongs.
    pub(super) fn of(&self, side: usize, table: TableId) -> Option<&Pair> {
        self.pairs.iter().find(|pair| pair.tables.get(side) == Some(&table))
    }

    /// Returns the name of the paired table of the first program for each table of the second one.
    pub(super) fn names(&self, programs: [&Program; 2]) -> BTreeMap<String, String> {
        let name = |side: usize, pair: &Pair| {
            Some(programs[side].tables.get(pair.tables[side].index())?.name.clone())
        };
        self.pairs.iter().filter_map(|pair| Some((name(1, pair)?, name(0, pair)?))).collect()
    }
}

impl Pair {
    /// Returns the actions that both tables have. They have the same name, or the same last part of
    /// it if the user has paired the tables, which may belong to different controls.
    pub(super) fn actions(&self, programs: [&Program; 2]) -> Vec<Positions> {
        let names = |side: usize| -> Vec<&str> {
            let table = programs[side].tables.get(self.tables[side].index());
            table.map(|table| action_names(programs[side], table)).unwrap_or_default()
        };
        let (left, right) = (names(0), names(1));
        let mut shared = Vec::new();
        for (first, name) in left.iter().enumerate() {
            let exact = right.iter().position(|other| other == name);
            let by_last_part = || {
                let fits = |other: &&str| last(other) == last(name) && !left.contains(other);
                let mut fitting = right.iter().enumerate().filter(|(_, other)| fits(other));
                let found = fitting.next().map(|(position, _)| position);
                found.filter(|_| self.is_by_hand && fitting.next().is_none())
            };
            if let Some(second) = exact.or_else(by_last_part) {
                shared.push((first, second));
            }
        }
        shared
    }
}

/// Returns the names of a table's actions, in the order of its action list.
fn action_names<'p>(program: &'p Program, table: &Table) -> Vec<&'p str> {
    let actions = table.actions.iter();
    let name = |reference: &ir::ActionReference| {
        program.actions.get(reference.action.index()).map_or("", |action| action.name.as_str())
    };
    actions.map(name).collect()
}

/// Returns the part of a name after its last dot.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the table of a program that has this name, or the only one whose name ends in it.
fn find(program: &Program, which: &'static str, name: &str) -> Result<TableId, PairError> {
    let tables = || (0_u32..).map(TableId).zip(&program.tables);
    if let Some((id, _)) = tables().find(|(_, table)| table.name == name) {
        return Ok(id);
    }
    let found: Vec<(TableId, &Table)> =
        tables().filter(|(_, table)| is_name(&table.name, name)).collect();
    let (program, name) = (which, name.to_owned());
    match found.as_slice() {
        [] => Err(PairError::NoTable { program, name }),
        [(id, _)] => Ok(*id),
        several => {
            let tables: Vec<&str> = several.iter().map(|(_, table)| table.name.as_str()).collect();
            Err(PairError::Ambiguous { program, name, tables: tables.join(", ") })
        }
    }
}
