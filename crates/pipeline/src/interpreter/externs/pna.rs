//! The functions of PNA (Portable NIC Architecture, version 0.7), as the interpreter implements
//! them.

use super::Call;
use crate::interpreter::{Interpreter, Stop, internal};
use crate::table::{ActionCall, ActionCell, Ageing, EntryAction, FieldMatch, Runs, TableEntry};
use crate::trace::Event;
use crate::value::Value;
use ir::bits::Bits;
use ir::{ActionId, Argument, ExternFunction, Type};

/// The number of the outcome "added" of `add_entry` (`AddEntryErrorStatus_t`).
const ADD_ENTRY_SUCCESS: u128 = 0;
const ADD_ENTRY_NOT_DONE: u128 = 1;

impl Interpreter<'_> {
    pub(super) fn call_pna(
        &mut self,
        call: &Call<'_>,
        function: &ExternFunction,
    ) -> Result<Option<Value>, Stop> {
        use ExternFunction as Of;
        match function {
            Of::DropPacket => self.effects.destination = None,
            Of::SendToPort => self.effects.destination = Some(self.input_number(call, 0)? as u32),
            Of::MirrorPacket => {
                let slot = self.input_number(call, 0)? as u32;
                let session = self.input_number(call, 1)? as u32;
                self.effects.mirrors.retain(|(known, _)| *known != slot);
                self.effects.mirrors.push((slot, session));
            }
            Of::SelectByDirection => {
                // The argument is a direction. Before version 0.7 it is whether the port is a
                // network port.
                let from_network = match self.input(call, 0)? {
                    Value::Bool(is_network_port) => is_network_port,
                    _ => self.input_member(call, 0)?.is_from_network,
                };
                return self.input(call, if from_network { 1 } else { 2 }).map(Some);
            }
            Of::IsHostPort | Of::IsNetPort => {
                let port = self.input_number(call, 0)? as u32;
                let is_host = self.state.is_host_port(port);
                return Ok(Some(Value::Bool(is_host == (*function == Of::IsHostPort))));
            }
            Of::AllocateFlowId => {
                let id = u128::from(self.next_flow_id());
                return Ok(Some(Value::Bits(Bits::unsigned(32, id))));
            }
            Of::AddEntry => {
                let added = self.add_entry(call, 0)?;
                return Ok(Some(self.add_entry_status(call, added)));
            }
            Of::AddEntryIf => {
                let added = self.input_bool(call, 0)? && self.add_entry(call, 1)?;
                return Ok(Some(self.add_entry_status(call, added)));
            }
            Of::SetEntryExpireTime => {
                let profile = self.input_number(call, 0)?;
                self.restart_timer(Some(profile));
            }
            Of::SetEntryExpireTimeIf => {
                if self.input_bool(call, 0)? {
                    let profile = self.input_number(call, 1)?;
                    self.restart_timer(Some(profile));
                }
            }
            Of::RestartExpireTimer => self.restart_timer(None),
            Of::UpdateExpireInfo => {
                if self.input_bool(call, 0)? {
                    let profile = self.input_number(call, 2)?;
                    let new_time = self.input_bool(call, 1)?;
                    self.restart_timer(new_time.then_some(profile));
                }
            }
            _ => return Err(self.unknown(call, function)),
        }
        Ok(None)
    }

    /// Restarts the timer of the entry whose action runs. If a profile is given, the entry also
    /// gets that profile's timeout.
    pub(crate) fn restart_timer(&mut self, profile: Option<u64>) {
        let now = self.now;
        let timeout = profile.map(|profile| self.state.expire_time(profile));
        if self.is_tried() {
            return;
        }
        let Some(lookup) = self.lookups().last() else { return };
        let (table, Some(entry)) = (lookup.table, &lookup.entry) else { return };
        let ages = self.state.tables.get(table.index());
        if !ages.is_some_and(|table| table.ageing != Ageing::None) {
            return;
        }
        entry.restart_timer(now, timeout);
    }

    /// Returns the result of `add_entry` for the program: a member of `AddEntryErrorStatus_t`, or
    /// before version 0.7 a `bool` that is true on success.
    fn add_entry_status(&self, call: &Call<'_>, added: bool) -> Value {
        let result = call.result.and_then(|place| self.place_type(place));
        if result.and_then(|type_id| self.layout.get(type_id)) == Some(Type::Bool) {
            return Value::Bool(added);
        }
        let status = if added { ADD_ENTRY_SUCCESS } else { ADD_ENTRY_NOT_DONE };
        Value::Bits(Bits::unsigned(32, status))
    }

    /// Adds an entry with the key for which the packet missed. Argument `first` names its action.
    /// Returns false if the packet did not miss in a table with `add_on_miss`, or if that table
    /// already has the entry, is full, or does not have the action.
    fn add_entry(&mut self, call: &Call<'_>, first: usize) -> Result<bool, Stop> {
        let layout = self.layout;
        let Some(Argument::Action(action_id)) = call.arguments.get(first) else {
            return Err(internal("name of an action"));
        };
        let Some(lookup) = self.lookups().last() else { return Ok(false) };
        let (id, missed, keys) = (lookup.table, lookup.entry.is_none(), lookup.keys.clone());
        let table = layout.program.tables.get(id.index()).ok_or_else(|| internal("table"))?;
        if !table.add_on_miss || !missed {
            return Ok(false);
        }
        if !table.actions.iter().any(|reference| reference.action == *action_id) {
            return Ok(false);
        }
        let Some(arguments) = self.entry_arguments(call, first + 1, *action_id)? else {
            return Ok(false);
        };
        let profile =
            self.optional_input(call, first + 2)?.and_then(|profile| profile.to_pattern());
        // Entries of a table without `pna_idle_timeout` do not time out.
        let expires = self.state.tables.get(id.index()).map(|state| state.ageing);
        let expires = expires.is_some_and(|ageing| ageing != Ageing::None);
        let profile = profile.filter(|_| expires).and_then(|profile| profile.to_u64());
        let timeout = profile.and_then(|id| self.state.expire_time(id));
        let state = self.state.tables.get(id.index()).ok_or_else(|| internal("table"))?;
        let call = ActionCall { action: *action_id, arguments };
        if let Some(added) = self.try_adding(id, state, &keys) {
            let matches = keys.into_iter().map(FieldMatch::Exact).collect();
            let action = EntryAction::Action(call);
            let entry = TableEntry { matches, priority: 0, action, idle_timeout: timeout };
            if added {
                self.event(|_| Event::Added { table: id, entry });
            }
            return Ok(added);
        }
        let matches = keys.into_iter().map(FieldMatch::Exact).collect();
        let runs = Runs::Action(ActionCell::new(call));
        let added = state.add((matches, 0), runs, timeout, self.now, |_| {});
        if let Ok(entry) = &added {
            self.event(|_| Event::Added { table: id, entry: entry.shown() });
        }
        Ok(added.is_ok())
    }

    /// Returns the arguments of the new entry's action, one for each of its parameters.
    fn entry_arguments(
        &self,
        call: &Call<'_>,
        position: usize,
        action: ActionId,
    ) -> Result<Option<Vec<Value>>, Stop> {
        let Some(Argument::In(parameters)) = call.arguments.get(position) else {
            return Err(internal("parameters of an action"));
        };
        let values = self.evaluate(parameters)?;
        let fields = match &values {
            Value::Struct(fields) | Value::Header { fields, .. } => fields.as_slice(),
            _ => &[],
        };
        let positions = self.layout.added_arguments(parameters.type_id, action);
        let positions = positions.ok_or_else(|| internal("parameters of an action"))?;
        Ok(positions.iter().map(|position| fields.get(*position).cloned()).collect())
    }
}
