//! What the control plane does to a running switch, by the ids of the program. Nothing here knows
//! of a protocol; names are looked up with the `*_named` functions.

use crate::error::ControlError;
use crate::externs::hash::CrcParameters;
use crate::externs::meter::MeterConfig;
use crate::externs::{Counters, ExternState, Meters, Registers};
use crate::state::{CloneSession, Replica};
use crate::switch::Switch;
use crate::table::{
    ActionCall, CounterValue, EntryAction, EntryHandle, FieldMatch, Group, IdleEntry, Profile,
    Stored, TableEntry, TableState, fit,
};
use crate::value::Value;
use p4lang::bits::Bits;
use p4lang::ir::{
    Action, ActionId, ExternId, MatchKind, Table, TableId, TableImplementation, ValueSetId,
};
use std::time::Duration;

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
impl Switch {
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

    fn table(&self, id: TableId) -> Result<&TableState, ControlError> {
        self.state.tables.get(id.index()).ok_or_else(|| unknown("table", id.0))
    }

    fn table_mut(&mut self, id: TableId) -> Result<&mut TableState, ControlError> {
        self.state.tables.get_mut(id.index()).ok_or_else(|| unknown("table", id.0))
    }

    fn program_action(&self, id: ActionId) -> Result<&Action, ControlError> {
        self.program().actions.get(id.index()).ok_or_else(|| unknown("action", id.0))
    }
}

/// Tables.
impl Switch {
    /// An action with arguments for its parameters without direction, which are put into the
    /// parameters' types.
    ///
    /// # Errors
    /// If their number is wrong or one does not fit.
    pub fn action_call(
        &self,
        action: ActionId,
        arguments: &[Bits],
    ) -> Result<ActionCall, ControlError> {
        let declared = self.program_action(action)?;
        let parameters: Vec<_> =
            declared.parameters.iter().filter(|parameter| parameter.direction.is_none()).collect();
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

    /// Adds an entry.
    ///
    /// # Errors
    /// If it does not fit the table, is there already, or finds the table full or constant.
    pub fn add_entry(
        &mut self,
        table: TableId,
        entry: TableEntry,
        now: Duration,
    ) -> Result<EntryHandle, ControlError> {
        let entry = self.checked_entry(table, entry)?;
        self.table_mut(table)?.add(entry, now)
    }

    /// Gives the entry with this match and priority another action and timeout.
    ///
    /// # Errors
    /// As [`Switch::add_entry`], and if it is not there.
    pub fn modify_entry(
        &mut self,
        table: TableId,
        entry: TableEntry,
        now: Duration,
    ) -> Result<EntryHandle, ControlError> {
        let entry = self.checked_entry(table, entry)?;
        self.table_mut(table)?.modify(entry, now)
    }

    /// Removes the entry with this match and priority.
    ///
    /// # Errors
    /// If it is not there or is constant.
    pub fn delete_entry(
        &mut self,
        table: TableId,
        matches: &[FieldMatch],
        priority: u32,
    ) -> Result<TableEntry, ControlError> {
        self.check_mutable(table)?;
        let matches = self.table(table)?.check_matches(matches, priority)?;
        self.table_mut(table)?.remove(&matches, priority)
    }

    /// Removes all entries that the program does not say to be constant.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn clear_table(&mut self, table: TableId) -> Done {
        self.table_mut(table)?.clear();
        Ok(())
    }

    /// All entries of a table, oldest first.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn entries(
        &self,
        table: TableId,
    ) -> Result<impl Iterator<Item = (EntryHandle, &TableEntry)>, ControlError> {
        Ok(self.table(table)?.iter().map(|(handle, stored)| (handle, &stored.entry)))
    }

    /// The entry with this match and priority.
    ///
    /// # Errors
    /// If the match does not fit the table.
    pub fn find_entry(
        &self,
        table: TableId,
        matches: &[FieldMatch],
        priority: u32,
    ) -> Result<Option<EntryHandle>, ControlError> {
        let state = self.table(table)?;
        Ok(state.find(&state.check_matches(matches, priority)?, priority))
    }

    /// Sets what runs on a miss; `None` puts back what the program says.
    ///
    /// # Errors
    /// If the program says that it is constant, or the table does not have the action.
    pub fn set_default_action(&mut self, table: TableId, action: Option<ActionCall>) -> Done {
        if self.program_table(table)?.default_action_is_const {
            return Err(ControlError::Constant("the default action"));
        }
        if let Some(call) = &action {
            self.check_action(table, call, Some("tableonly"))?;
        }
        let state = self.table_mut(table)?;
        state.default_action = action.unwrap_or_else(|| state.initial_default.clone());
        Ok(())
    }

    /// What runs on a miss.
    ///
    /// # Errors
    /// If there is no such table.
    pub fn default_action(&self, table: TableId) -> Result<&ActionCall, ControlError> {
        Ok(&self.table(table)?.default_action)
    }

    /// Entries that were idle for their timeout at `now`: each is told once per timeout, or is
    /// removed if the table says `AUTO_DELETE`.
    pub fn expire(&mut self, now: Duration) -> Vec<IdleEntry> {
        let mut idle = Vec::new();
        for (position, state) in self.state.tables.iter_mut().enumerate() {
            let table = TableId(position as u32);
            let expired = state.expire(now).into_iter();
            idle.extend(expired.map(|(entry, deleted)| IdleEntry { table, entry, deleted }));
        }
        idle
    }

    /// How long ago the idle timer of an entry started.
    ///
    /// # Errors
    /// If there is no such entry.
    pub fn idle_time(
        &self,
        table: TableId,
        entry: EntryHandle,
        now: Duration,
    ) -> Result<Duration, ControlError> {
        Ok(now.saturating_sub(self.stored(table, entry)?.restarted))
    }

    /// The timeout that PNA's expire time profile `profile` stands for; `None`: never.
    pub fn set_expire_time_profile(&mut self, profile: u64, timeout: Option<Duration>) {
        match timeout {
            Some(timeout) => self.state.expire_profiles.insert(profile, timeout),
            None => self.state.expire_profiles.remove(&profile),
        };
    }

    fn checked_entry(
        &self,
        table: TableId,
        mut entry: TableEntry,
    ) -> Result<TableEntry, ControlError> {
        self.check_mutable(table)?;
        entry.matches = self.table(table)?.check_matches(&entry.matches, entry.priority)?;
        let implementation = self.program_table(table)?.implementation;
        let direct = "actions: it has no action profile";
        match (&entry.action, implementation) {
            (EntryAction::Action(call), None) => {
                self.check_action(table, call, Some("defaultonly"))?;
            }
            (EntryAction::Action(_), Some(_)) => {
                return Err(ControlError::ActionKind("members or groups of its action profile"));
            }
            (_, None) => return Err(ControlError::ActionKind(direct)),
            (EntryAction::Member(member), Some(implementation)) => {
                let (TableImplementation::ActionProfile(id)
                | TableImplementation::ActionSelector(id)) = implementation;
                if !self.profile(id)?.members.contains_key(member) {
                    return Err(ControlError::NotFound("member"));
                }
            }
            (EntryAction::Group(group), Some(TableImplementation::ActionSelector(id))) => {
                if !self.profile(id)?.groups.contains_key(group) {
                    return Err(ControlError::NotFound("group"));
                }
            }
            (EntryAction::OneShot(members), Some(TableImplementation::ActionSelector(_))) => {
                for member in members {
                    if member.weight == 0 {
                        return Err(ControlError::Weight);
                    }
                    self.check_action(table, &member.action, Some("defaultonly"))?;
                }
            }
            (_, Some(TableImplementation::ActionProfile(_))) => {
                return Err(ControlError::ActionKind("members: its action profile has no groups"));
            }
        }
        Ok(entry)
    }

    fn check_mutable(&self, table: TableId) -> Done {
        if self.program_table(table)?.entries_are_const {
            return Err(ControlError::Constant("the table"));
        }
        Ok(())
    }

    /// Whether a table may run an action; `refused` is the annotation that forbids it here.
    fn check_action(
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
        let has = |name| reference.annotations.iter().any(|annotation| annotation.name == name);
        if refused.is_some_and(has) {
            let only =
                if refused == Some("tableonly") { "in entries" } else { "as the default action" };
            return Err(ControlError::ActionScope { action: action.name.clone(), only });
        }
        let expected =
            action.parameters.iter().filter(|parameter| parameter.direction.is_none()).count();
        if expected != call.arguments.len() {
            return Err(ControlError::ParameterCount {
                action: action.name.clone(),
                expected,
                found: call.arguments.len(),
            });
        }
        Ok(())
    }

    fn stored(&self, table: TableId, entry: EntryHandle) -> Result<&Stored, ControlError> {
        self.table(table)?.get(entry).ok_or(ControlError::NotFound("entry"))
    }

    fn stored_mut(
        &mut self,
        table: TableId,
        entry: EntryHandle,
    ) -> Result<&mut Stored, ControlError> {
        self.table_mut(table)?.get_mut(entry).ok_or(ControlError::NotFound("entry"))
    }
}

/// Action profiles and selectors.
impl Switch {
    fn profile(&self, id: ExternId) -> Result<&Profile, ControlError> {
        match self.state.externs.get(id.index()) {
            Some(ExternState::Profile(profile)) => Ok(profile),
            _ => Err(unknown("action profile", id.0)),
        }
    }

    fn profile_mut(&mut self, id: ExternId) -> Result<&mut Profile, ControlError> {
        match self.state.externs.get_mut(id.index()) {
            Some(ExternState::Profile(profile)) => Ok(profile),
            _ => Err(unknown("action profile", id.0)),
        }
    }

    /// Adds a member to an action profile or selector.
    ///
    /// # Errors
    /// If it is there already, or the profile is full.
    pub fn add_member(&mut self, profile: ExternId, member: u32, action: ActionCall) -> Done {
        self.profile_mut(profile)?.add_member(member, action)
    }

    /// Gives a member another action.
    ///
    /// # Errors
    /// If it is not there.
    pub fn modify_member(&mut self, profile: ExternId, member: u32, action: ActionCall) -> Done {
        self.profile_mut(profile)?.modify_member(member, action)
    }

    /// Removes a member.
    ///
    /// # Errors
    /// If it is not there, or groups or entries use it.
    pub fn delete_member(&mut self, profile: ExternId, member: u32) -> Done {
        self.check_unused(profile, &EntryAction::Member(member), "member")?;
        self.profile_mut(profile)?.remove_member(member)
    }

    /// Adds a group to an action selector.
    ///
    /// # Errors
    /// If it is there already, a member is not, or it weighs too much.
    pub fn add_group(&mut self, selector: ExternId, group: u32, members: Group) -> Done {
        self.profile_mut(selector)?.add_group(group, members)
    }

    /// Gives a group other members.
    ///
    /// # Errors
    /// If it is not there, and as [`Switch::add_group`].
    pub fn modify_group(&mut self, selector: ExternId, group: u32, members: Group) -> Done {
        self.profile_mut(selector)?.modify_group(group, members)
    }

    /// Removes a group.
    ///
    /// # Errors
    /// If it is not there, or entries use it.
    pub fn delete_group(&mut self, selector: ExternId, group: u32) -> Done {
        self.check_unused(selector, &EntryAction::Group(group), "group")?;
        self.profile_mut(selector)?.remove_group(group)
    }

    /// Members of a profile with their actions.
    ///
    /// # Errors
    /// If there is no such profile.
    pub fn members(
        &self,
        profile: ExternId,
    ) -> Result<impl Iterator<Item = (u32, &ActionCall)>, ControlError> {
        Ok(self.profile(profile)?.members.iter().map(|(id, call)| (*id, call)))
    }

    /// Groups of a selector.
    ///
    /// # Errors
    /// If there is no such selector.
    pub fn groups(
        &self,
        selector: ExternId,
    ) -> Result<impl Iterator<Item = (u32, &Group)>, ControlError> {
        Ok(self.profile(selector)?.groups.iter().map(|(id, group)| (*id, group)))
    }

    fn check_unused(&self, profile: ExternId, used: &EntryAction, what: &'static str) -> Done {
        let tables = self.program().tables.iter().zip(&self.state.tables);
        let users = tables.filter(|(table, _)| {
            matches!(
                table.implementation,
                Some(
                    TableImplementation::ActionProfile(id)
                        | TableImplementation::ActionSelector(id)
                ) if id == profile
            )
        });
        for (_, state) in users {
            if state.iter().any(|(_, stored)| stored.entry.action == *used) {
                return Err(ControlError::InUse(what));
            }
        }
        Ok(())
    }

    /// Tells selectors that a port is up or down; members that watch a port that is down are not
    /// chosen. All are up at first.
    pub fn set_port_up(&mut self, port: u32, up: bool) {
        if up {
            self.state.ports_down.remove(&port);
        } else {
            self.state.ports_down.insert(port);
        }
    }
}

/// Counters, meters and registers.
impl Switch {
    fn counters(&mut self, id: ExternId) -> Result<&mut Counters, ControlError> {
        match self.state.externs.get_mut(id.index()) {
            Some(ExternState::Counter(counters)) => Ok(counters),
            _ => Err(unknown("counter", id.0)),
        }
    }

    /// Number of elements of a counter, meter or register.
    ///
    /// # Errors
    /// If it is none of these.
    pub fn array_size(&self, id: ExternId) -> Result<u64, ControlError> {
        match self.state.externs.get(id.index()) {
            Some(ExternState::Counter(Counters { size, .. })) => Ok(*size),
            Some(ExternState::Meter(Meters { size, .. })) => Ok(*size),
            Some(ExternState::Register(Registers { size, .. })) => Ok(*size),
            _ => Err(unknown("array", id.0)),
        }
    }

    /// Reads an element of a counter.
    ///
    /// # Errors
    /// If there is no such counter or element.
    pub fn counter(&mut self, id: ExternId, index: u64) -> Result<CounterValue, ControlError> {
        let counters = self.counters(id)?;
        check_index(index, counters.size, &counters.name)?;
        Ok(counters.values.get(&index).copied().unwrap_or_default())
    }

    /// Sets an element of a counter.
    ///
    /// # Errors
    /// If there is no such counter or element.
    pub fn set_counter(&mut self, id: ExternId, index: u64, value: CounterValue) -> Done {
        let counters = self.counters(id)?;
        check_index(index, counters.size, &counters.name)?;
        counters.values.insert(index, value);
        Ok(())
    }

    /// Reads the direct counter of an entry.
    ///
    /// # Errors
    /// If there is no such entry or counter.
    pub fn direct_counter(
        &mut self,
        table: TableId,
        entry: EntryHandle,
        counter: ExternId,
    ) -> Result<CounterValue, ControlError> {
        let stored = self.stored_mut(table, entry)?;
        stored.counter(counter).map(|value| *value).ok_or_else(|| unknown("counter", counter.0))
    }

    /// Sets the direct counter of an entry.
    ///
    /// # Errors
    /// If there is no such entry or counter.
    pub fn set_direct_counter(
        &mut self,
        table: TableId,
        entry: EntryHandle,
        counter: ExternId,
        value: CounterValue,
    ) -> Done {
        let stored = self.stored_mut(table, entry)?;
        *stored.counter(counter).ok_or_else(|| unknown("counter", counter.0))? = value;
        Ok(())
    }

    /// Configures an element of a meter; `None` makes it find every packet green.
    ///
    /// # Errors
    /// If there is no such meter or element.
    pub fn configure_meter(
        &mut self,
        id: ExternId,
        index: u64,
        config: Option<MeterConfig>,
        now: Duration,
    ) -> Done {
        let Some(ExternState::Meter(meters)) = self.state.externs.get_mut(id.index()) else {
            return Err(unknown("meter", id.0));
        };
        check_index(index, meters.size, &meters.name)?;
        meters.meters.entry(index).or_default().configure(config, now);
        Ok(())
    }

    /// The configuration of an element of a meter.
    ///
    /// # Errors
    /// If there is no such meter or element.
    pub fn meter_config(
        &self,
        id: ExternId,
        index: u64,
    ) -> Result<Option<MeterConfig>, ControlError> {
        let Some(ExternState::Meter(meters)) = self.state.externs.get(id.index()) else {
            return Err(unknown("meter", id.0));
        };
        check_index(index, meters.size, &meters.name)?;
        Ok(meters.meters.get(&index).and_then(super::externs::meter::Meter::config))
    }

    /// Configures the direct meter of an entry.
    ///
    /// # Errors
    /// If there is no such entry or meter.
    pub fn configure_direct_meter(
        &mut self,
        table: TableId,
        entry: EntryHandle,
        meter: ExternId,
        config: Option<MeterConfig>,
        now: Duration,
    ) -> Done {
        let stored = self.stored_mut(table, entry)?;
        let meter = stored.meter(meter).ok_or_else(|| unknown("meter", meter.0))?;
        meter.configure(config, now);
        Ok(())
    }

    /// The configuration of the direct meter of an entry.
    ///
    /// # Errors
    /// If there is no such entry or meter.
    pub fn direct_meter_config(
        &mut self,
        table: TableId,
        entry: EntryHandle,
        meter: ExternId,
    ) -> Result<Option<MeterConfig>, ControlError> {
        let stored = self.stored_mut(table, entry)?;
        let found = stored.meter(meter).ok_or_else(|| unknown("meter", meter.0))?;
        Ok(found.config())
    }

    fn registers(&mut self, id: ExternId) -> Result<&mut Registers, ControlError> {
        match self.state.externs.get_mut(id.index()) {
            Some(ExternState::Register(registers)) => Ok(registers),
            _ => Err(unknown("register", id.0)),
        }
    }

    /// Reads an element of a register.
    ///
    /// # Errors
    /// If there is no such register or element.
    pub fn register(&mut self, id: ExternId, index: u64) -> Result<Value, ControlError> {
        let registers = self.registers(id)?;
        check_index(index, registers.size, &registers.name)?;
        Ok(registers.values.get(&index).unwrap_or(&registers.initial).clone())
    }

    /// Writes an element of a register whose elements are numbers.
    ///
    /// # Errors
    /// If there is no such register or element, or the value does not fit.
    pub fn set_register(&mut self, id: ExternId, index: u64, value: &Bits) -> Done {
        let registers = self.registers(id)?;
        check_index(index, registers.size, &registers.name)?;
        let shape = registers.initial.to_pattern();
        let shape = shape.ok_or_else(|| unknown("width of register", &registers.name))?;
        let value = fit(&registers.name, value, shape.width(), shape.is_signed())?;
        let value = Value::from_pattern(&registers.initial, &value);
        registers.values.insert(index, value);
        Ok(())
    }

    /// Puts all elements of a register back to their initial value.
    ///
    /// # Errors
    /// If there is no such register.
    pub fn reset_register(&mut self, id: ExternId) -> Done {
        self.registers(id)?.values.clear();
        Ok(())
    }

    /// Puts all elements of a counter back to zero.
    ///
    /// # Errors
    /// If there is no such counter.
    pub fn reset_counter(&mut self, id: ExternId) -> Done {
        self.counters(id)?.values.clear();
        Ok(())
    }

    /// Sets what `crc16_custom` computes.
    pub fn set_crc16(&mut self, parameters: CrcParameters) {
        self.state.custom_crcs.crc16 = parameters;
    }

    /// Sets what `crc32_custom` computes.
    pub fn set_crc32(&mut self, parameters: CrcParameters) {
        self.state.custom_crcs.crc32 = parameters;
    }
}

/// Packet replication, value sets, ports.
impl Switch {
    /// Sets the members of a multicast group, in the order in which copies are made; none removes
    /// the group.
    pub fn set_multicast_group(&mut self, group: u32, replicas: Vec<Replica>) {
        if replicas.is_empty() {
            self.state.multicast_groups.remove(&group);
        } else {
            self.state.multicast_groups.insert(group, replicas);
        }
    }

    /// The members of a multicast group.
    #[must_use]
    pub fn multicast_group(&self, group: u32) -> &[Replica] {
        self.state.replicas(group)
    }

    /// Sets a clone session; `None` removes it.
    pub fn set_clone_session(&mut self, session: u32, config: Option<CloneSession>) {
        match config {
            Some(config) => self.state.clone_sessions.insert(session, config),
            None => self.state.clone_sessions.remove(&session),
        };
    }

    /// A clone session.
    #[must_use]
    pub fn clone_session(&self, session: u32) -> Option<&CloneSession> {
        self.state.clone_sessions.get(&session)
    }

    /// Sets the members of a parser value set: for each one match per field, by its match kind.
    ///
    /// # Errors
    /// If there are more than the set holds, or one does not fit.
    pub fn set_value_set(&mut self, id: ValueSetId, members: &[Vec<FieldMatch>]) -> Done {
        let set = self.program().value_sets.get(id.index());
        let set = set.ok_or_else(|| unknown("value set", id.0))?;
        if members.len() as u64 > set.size {
            return Err(ControlError::Full { name: set.name.clone(), size: set.size });
        }
        let initial = self.layout.initial(set.type_id);
        let mut shapes = Vec::new();
        if let Some(initial) = initial {
            initial.each_pattern(&mut |bits| {
                shapes.push(crate::table::KeyShape {
                    name: format!("{} of {}", shapes.len(), set.name),
                    kind: set.match_kinds.get(shapes.len()).cloned().unwrap_or(MatchKind::Exact),
                    width: bits.width(),
                    signed: bits.is_signed(),
                });
            });
        }
        let checked = members.iter().map(|member| {
            if member.len() != shapes.len() {
                let (found, expected) = (member.len(), shapes.len());
                return Err(ControlError::KeyCount { found, expected });
            }
            shapes.iter().zip(member).map(|(shape, found)| found.checked(shape)).collect()
        });
        let checked = checked.collect::<Result<Vec<_>, _>>()?;
        if let Some(members) = self.state.value_sets.get_mut(id.index()) {
            *members = checked;
        }
        Ok(())
    }

    /// The members of a parser value set.
    ///
    /// # Errors
    /// If there is no such set.
    pub fn value_set(&self, id: ValueSetId) -> Result<&[Vec<FieldMatch>], ControlError> {
        let members = self.state.value_sets.get(id.index());
        members.map(Vec::as_slice).ok_or_else(|| unknown("value set", id.0))
    }

    /// PNA: whether a port is of the host (packets go `HOST_TO_NET`) or of the network (at first).
    pub fn set_host_port(&mut self, port: u32, host: bool) {
        if host {
            self.state.host_ports.insert(port);
        } else {
            self.state.host_ports.remove(&port);
        }
    }
}

fn check_index(index: u64, size: u64, name: &str) -> Done {
    if index >= size {
        return Err(ControlError::Index { index, size, name: name.to_owned() });
    }
    Ok(())
}
