//! The operations of the control plane on a running switch. They refer to objects by the
//! identifiers of the program, and depend on no protocol. The `*_named` functions look up
//! identifiers by name.

mod arrays;
mod changes;
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

/// Returns whether `name` is the full name `known` of an object, or the last dot-separated parts of
/// it.
fn named(known: &str, name: &str) -> bool {
    known == name || known.strip_suffix(name).is_some_and(|before| before.ends_with('.'))
}

/// Returns the position of the object whose full name is `name`. If there is none, but there is
/// only one object whose name ends with `name`, returns the position of that one.
fn find<'n>(names: impl Iterator<Item = &'n str> + Clone, name: &str) -> Option<usize> {
    if let Some(position) = names.clone().position(|known| known == name) {
        return Some(position);
    }
    let mut ends = names.enumerate().filter(|(_, known)| named(known, name));
    let (position, _) = ends.next()?;
    ends.next().is_none().then_some(position)
}

/// The lookups of identifiers by name.
impl Core {
    /// Returns the table with this name, or whose name ends with `.` and this name.
    ///
    /// # Errors
    /// Fails if there is no such table, or more than one.
    pub fn table_named(&self, name: &str) -> Result<TableId, ControlError> {
        let names = self.program().tables.iter().map(|table| table.name.as_str());
        let found = find(names, name).ok_or_else(|| unknown("table", name))?;
        Ok(TableId(found as u32))
    }

    /// Returns the action of a table with this name, or whose name ends with `.` and this name.
    ///
    /// # Errors
    /// Fails if there is no such table, or if the table has no such action or more than one.
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

    /// Returns the extern instance with this name, or whose name ends with `.` and this name.
    ///
    /// # Errors
    /// Fails if there is no such instance, or more than one.
    pub fn extern_named(&self, name: &str) -> Result<ExternId, ControlError> {
        let names = self.program().externs.iter().map(|instance| instance.name.as_str());
        let found = find(names, name).ok_or_else(|| unknown("extern instance", name))?;
        Ok(ExternId(found as u32))
    }

    /// Returns the value set with this name, or whose name ends with `.` and this name.
    ///
    /// # Errors
    /// Fails if there is no such value set, or more than one.
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
