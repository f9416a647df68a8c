//! The control plane's operations on entries, default actions and timeouts.

use super::{Done, unknown};
use crate::error::ControlError;
use crate::switch::Core;
use crate::sync::write;
use crate::table::{
    ActionCall, ActionCell, EntryAction, EntryHandle, EntryState, FieldMatch, IdleEntry, Runs,
    Stored, TableEntry, fit,
};
use crate::value::Value;
use ir::bits::Bits;
use ir::{ActionId, TableId, TableImplementation};
use std::sync::Arc;
use std::time::Duration;

/// The operations on tables.
impl Core {
    /// Returns a call of an action, with arguments for the parameters that the control plane sets.
    /// The arguments are converted to the types of the parameters.
    ///
    /// # Errors
    /// Fails if the number of arguments is wrong, or one of them does not fit.
    pub fn action_call(
        &self,
        action: ActionId,
        arguments: &[Bits],
    ) -> Result<ActionCall, ControlError> {
        let declared = self.program_action(action)?;
        let parameters: Vec<_> = declared.control_plane_parameters().collect();
        if parameters.len() != arguments.len() {
            return Err(ControlError::ParameterCount {
                action: declared.name.clone(),
                expected: parameters.len(),
                found: arguments.len(),
            });
        }
        let values = parameters.iter().zip(arguments).map(|(parameter, argument)| {
            let like = self.layout.initial(parameter.type_id);
            let like = like.ok_or_else(|| unknown("type of parameter", &parameter.name))?;
            let shape = like.to_pattern();
            let shape = shape.ok_or_else(|| unknown("width of parameter", &parameter.name))?;
            let what = format!("parameter {} of {}", parameter.name, declared.name);
            let fitted = fit(&what, argument, shape.width(), shape.is_signed())?;
            Ok(Value::from_pattern(like, &fitted))
        });
        Ok(ActionCall { action, arguments: values.collect::<Result<_, ControlError>>()? })
    }

    /// Adds an entry to a table, and returns its handle.
    ///
    /// # Errors
    /// Fails if the entry does not fit the table or already exists, or if the table is full or
    /// constant.
    pub fn add_entry(
        &self,
        table: TableId,
        entry: TableEntry,
        now: Duration,
    ) -> Result<EntryHandle, ControlError> {
        Ok(self.add_entry_with(table, &entry, now, |_| {})?.handle)
    }

    /// Adds an entry to a table. `fill` can initialise the entry's state, and is called before a
    /// packet can find the entry.
    pub(crate) fn add_entry_with(
        &self,
        table: TableId,
        entry: &TableEntry,
        now: Duration,
        fill: impl FnOnce(&mut EntryState),
    ) -> Result<Arc<Stored>, ControlError> {
        let (matches, runs) = self.checked_entry(table, entry)?;
        let key = (matches, entry.priority);
        self.table(table)?.add(key, runs, entry.idle_timeout, now, fill)
    }

    /// Replaces the action and the timeout of the entry with this match and priority, and restarts
    /// its idle timer.
    ///
    /// # Errors
    /// Fails if the entry does not fit the table, if there is no such entry, or if the entry or its
    /// table is constant.
    pub fn modify_entry(
        &self,
        table: TableId,
        entry: TableEntry,
        now: Duration,
    ) -> Result<EntryHandle, ControlError> {
        let (matches, runs) = self.checked_entry(table, &entry)?;
        let state = self.table(table)?;
        state.check_timeout(entry.idle_timeout)?;
        let stored = state.changeable(&matches, entry.priority)?;
        state.change(&stored, |state| {
            state.runs = runs;
            stored.timer().set_timeout(entry.idle_timeout);
            stored.timer().restart(now);
        });
        Ok(stored.handle)
    }

    /// Removes the entry with this match and priority, and returns it.
    ///
    /// # Errors
    /// Fails if the match does not fit the table, if there is no such entry, or if the entry or its
    /// table is constant.
    pub fn delete_entry(
        &self,
        table: TableId,
        matches: &[FieldMatch],
        priority: u32,
    ) -> Result<TableEntry, ControlError> {
        self.check_mutable(table)?;
        let state = self.table(table)?;
        let matches = state.check_matches(matches, priority)?;
        let stored = state.changeable(&matches, priority)?;
        state.unlink(&stored);
        Ok(stored.shown())
    }

    /// Removes all entries of a table that the program does not declare constant.
    ///
    /// # Errors
    /// Fails if there is no such table.
    pub fn clear_table(&self, table: TableId) -> Done {
        self.table(table)?.clear();
        Ok(())
    }

    /// Returns all entries of a table, the oldest first.
    ///
    /// # Errors
    /// Fails if there is no such table.
    pub fn entries(
        &self,
        table: TableId,
    ) -> Result<impl Iterator<Item = (EntryHandle, TableEntry)>, ControlError> {
        Ok(self.table(table)?.iter().map(|stored| (stored.handle, stored.shown())))
    }

    /// Returns the memory in bytes that a table's entries take outside the heap: the parts of
    /// entries that packets access, and the copies of entries in the form that machine code reads.
    ///
    /// # Errors
    /// Fails if there is no such table.
    pub fn table_bytes(&self, table: TableId) -> Result<usize, ControlError> {
        Ok(self.table(table)?.bytes())
    }

    /// Returns the entry with this match and priority, or `None` if there is none.
    ///
    /// # Errors
    /// Fails if the match does not fit the table.
    pub fn find_entry(
        &self,
        table: TableId,
        matches: &[FieldMatch],
        priority: u32,
    ) -> Result<Option<EntryHandle>, ControlError> {
        let state = self.table(table)?;
        let found = state.find(&state.check_matches(matches, priority)?, priority);
        Ok(found.map(|stored| stored.handle))
    }

    /// Sets the action that runs for packets that miss in a table. `None` restores the default
    /// action that the program declares.
    ///
    /// # Errors
    /// Fails if the program declares the default action constant, or the table does not have the
    /// action.
    pub fn set_default_action(&self, table: TableId, action: Option<ActionCall>) -> Done {
        if self.program_table(table)?.default_action_is_const {
            return Err(ControlError::Constant("the default action"));
        }
        if let Some(call) = &action {
            self.check_action(table, call, Some("tableonly"))?;
        }
        let has_profile = self.program_table(table)?.implementation.is_some();
        let state = self.table(table)?;
        state.change_default(|default| {
            default.is_left_out = has_profile && action.is_none();
            default.cell = ActionCell::new(action.unwrap_or_else(|| state.initial_default.clone()));
        });
        Ok(())
    }

    /// Returns the action that runs for packets that miss in a table.
    ///
    /// # Errors
    /// Fails if there is no such table.
    pub fn default_action(&self, table: TableId) -> Result<ActionCall, ControlError> {
        Ok((*self.table(table)?.default().cell.call()).clone())
    }

    /// Returns the entries whose idle timeout has expired by the time `now`. If its table has
    /// `AUTO_DELETE`, such an entry is also removed. Otherwise it is not returned again until its
    /// timer has been restarted.
    pub fn expire(&self, now: Duration) -> Vec<IdleEntry> {
        let mut idle = Vec::new();
        for (position, state) in self.state.tables.iter().enumerate() {
            let table = TableId(position as u32);
            let expired = state.expire(now).into_iter();
            idle.extend(expired.map(|(entry, deleted)| IdleEntry { table, entry, deleted }));
        }
        idle
    }

    /// Sets the timeout of entries with PNA's expire time profile `profile`. `None` stands for no
    /// timeout.
    pub fn set_expire_time_profile(&self, profile: u64, timeout: Option<Duration>) {
        let mut profiles = write(&self.state.expire_profiles);
        match timeout {
            Some(timeout) => profiles.insert(profile, timeout),
            None => profiles.remove(&profile),
        };
    }

    fn checked_entry(
        &self,
        table: TableId,
        entry: &TableEntry,
    ) -> Result<(Vec<FieldMatch>, Runs), ControlError> {
        self.check_mutable(table)?;
        let matches = self.table(table)?.check_matches(&entry.matches, entry.priority)?;
        Ok((matches, self.runs(table, &entry.action)?))
    }

    /// Checks the action, member or group that an entry runs, and returns it in the form that
    /// packets use. Returns an error if something to which it refers does not exist.
    pub(crate) fn runs(&self, table: TableId, action: &EntryAction) -> Result<Runs, ControlError> {
        let implementation = self.program_table(table)?.implementation;
        let direct = "actions: it has no action profile";
        Ok(match (action, implementation) {
            (EntryAction::Action(call), None) => {
                self.check_action(table, call, Some("defaultonly"))?;
                Runs::Action(ActionCell::new(call.clone()))
            }
            (EntryAction::Action(_), Some(_)) => {
                return Err(ControlError::ActionKind("members or groups of its action profile"));
            }
            (_, None) => return Err(ControlError::ActionKind(direct)),
            (EntryAction::Member(member), Some(implementation)) => {
                let (TableImplementation::ActionProfile(id)
                | TableImplementation::ActionSelector(id)) = implementation;
                let cell = self.profile(id)?.member(*member);
                Runs::Member(*member, cell.ok_or(ControlError::NotFound("member"))?)
            }
            (EntryAction::Group(group), Some(TableImplementation::ActionSelector(id))) => {
                let cell = self.profile(id)?.group(*group);
                Runs::Group(*group, cell.ok_or(ControlError::NotFound("group"))?)
            }
            (EntryAction::OneShot(members), Some(TableImplementation::ActionSelector(_))) => {
                for member in members {
                    if member.weight == 0 {
                        return Err(ControlError::Weight);
                    }
                    self.check_action(table, &member.action, Some("defaultonly"))?;
                }
                Runs::one_shot(members)
            }
            (_, Some(TableImplementation::ActionProfile(_))) => {
                return Err(ControlError::ActionKind("members: its action profile has no groups"));
            }
        })
    }

    fn check_mutable(&self, table: TableId) -> Done {
        if self.program_table(table)?.entries_are_const {
            return Err(ControlError::Constant("the table"));
        }
        Ok(())
    }

    /// Returns an error unless a table may run an action. `refused` is the annotation on the action
    /// that forbids the intended use: `defaultonly` or `tableonly`.
    pub(super) fn check_action(
        &self,
        table: TableId,
        call: &ActionCall,
        refused: Option<&'static str>,
    ) -> Done {
        let action = self.program_action(call.action)?;
        let reference = self
            .program_table(table)?
            .actions
            .iter()
            .find(|reference| reference.action == call.action)
            .ok_or_else(|| ControlError::ActionNotInTable(action.name.clone()))?;
        if refused.is_some_and(|name| reference.has_annotation(name)) {
            let only =
                if refused == Some("tableonly") { "in entries" } else { "as the default action" };
            return Err(ControlError::ActionScope { action: action.name.clone(), only });
        }
        let expected = action.control_plane_parameters().count();
        if expected != call.arguments.len() {
            return Err(ControlError::ParameterCount {
                action: action.name.clone(),
                expected,
                found: call.arguments.len(),
            });
        }
        Ok(())
    }

    pub(crate) fn stored(
        &self,
        table: TableId,
        entry: EntryHandle,
    ) -> Result<Arc<Stored>, ControlError> {
        self.table(table)?.get(entry).ok_or(ControlError::NotFound("entry"))
    }
}
