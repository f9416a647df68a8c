//! What the control plane does to a running switch, by the ids of the program. Nothing here knows
//! of a protocol; names are looked up with the `*_named` functions.

mod arrays;
mod profiles;
mod replication;
mod tables;

use crate::error::ControlError;
use crate::switch::Core;
use crate::table::TableState;
use ir::{Action, ActionId, ExternId, Table, TableId, ValueSetId};

type Done = Result<(), ControlError>;

fn unknown(kind: &'static str, name: impl ToString) -> ControlError {
    ControlError::Unknown { kind, name: name.to_string() }
}

/// Whether `name` names something called `known`: in full, or by its last parts.
fn named(known: &str, name: &str) -> bool {
    known == name || known.strip_suffix(name).is_some_and(|before| before.ends_with('.'))
}

/// The position of the thing that a name means: the full name first, then the end of exactly one.
fn find<'n>(names: impl Iterator<Item = &'n str> + Clone, name: &str) -> Option<usize> {
    if let Some(position) = names.clone().position(|known| known == name) {
        return Some(position);
    }
    let mut ends = names.enumerate().filter(|(_, known)| named(known, name));
    let (position, _) = ends.next()?;
    ends.next().is_none().then_some(position)
}

/// Names.
impl Core {
    /// The table of this name, or whose name ends in `.` and it.
    ///
    /// # Errors
    /// If there is none, or several.
    pub fn table_named(&self, name: &str) -> Result<TableId, ControlError> {
        let names = self.program().tables.iter().map(|table| table.name.as_str());
        let found = find(names, name).ok_or_else(|| unknown("table", name))?;
        Ok(TableId(found as u32))
    }

    /// The action of a table by its name, or the end of it.
    ///
    /// # Errors
    /// If the table has no such action.
    pub fn action_named(&self, table: TableId, name: &str) -> Result<ActionId, ControlError> {
        let actions = &self.program_table(table)?.actions;
        let names = actions.iter().map(|reference| {
            let action = self.program().actions.get(reference.action.index());
            action.map_or("", |action| action.name.as_str())
        });
        let found = find(names, name).and_then(|position| actions.get(position));
        let found = found.ok_or_else(|| ControlError::ActionNotInTable(name.to_owned()))?;
        Ok(found.action)
    }

    /// The extern instance of this name, or whose name ends in `.` and it.
    ///
    /// # Errors
    /// If there is none, or several.
    pub fn extern_named(&self, name: &str) -> Result<ExternId, ControlError> {
        let names = self.program().externs.iter().map(|instance| instance.name.as_str());
        let found = find(names, name).ok_or_else(|| unknown("extern instance", name))?;
        Ok(ExternId(found as u32))
    }

    /// The value set of this name, or whose name ends in `.` and it.
    ///
    /// # Errors
    /// If there is none, or several.
    pub fn value_set_named(&self, name: &str) -> Result<ValueSetId, ControlError> {
        let names = self.program().value_sets.iter().map(|set| set.name.as_str());
        let found = find(names, name).ok_or_else(|| unknown("value set", name))?;
        Ok(ValueSetId(found as u32))
    }

    fn program_table(&self, id: TableId) -> Result<&Table, ControlError> {
        self.program().tables.get(id.index()).ok_or_else(|| unknown("table", id.0))
    }

    pub(crate) fn table(&self, id: TableId) -> Result<&TableState, ControlError> {
        self.state.tables.get(id.index()).ok_or_else(|| unknown("table", id.0))
    }

    fn program_action(&self, id: ActionId) -> Result<&Action, ControlError> {
        self.program().actions.get(id.index()).ok_or_else(|| unknown("action", id.0))
    }
}
