//! Applies tables: evaluates keys, looks up entries, runs actions, and writes an action's changed
//! parameters back to its entry.

use super::statement::Formal;
use super::{Flow, Interpreter, Lookup, Stop, internal};
use crate::error::RunError;
use crate::externs::ExternState;
use crate::layout::field_of_key;
use crate::sync::read;
use crate::table::{
    ActionCall, ActionCell, Ageing, Direct, Left, Runs, Stored, TableState, choose,
};
use crate::trace::{Candidate, Detail, Event, Selection};
use crate::value::Value;
use ir::bits::Bits;
use ir::hash::Algorithm;
use ir::{
    Action, ActionId, Expression, ExpressionKind, ExternId, MatchKind, Place, Table, TableId,
    TableImplementation,
};
use std::sync::Arc;

impl<'p> Interpreter<'p> {
    /// Applies a table: looks up the entry, runs its action, and stores the results for the
    /// program.
    pub(super) fn apply_table(
        &mut self,
        id: TableId,
        hit: Option<&Place>,
        action_run: Option<&Place>,
    ) -> Result<Flow, Stop> {
        let layout = self.layout;
        let table = layout.program.tables.get(id.index()).ok_or_else(|| internal("table"))?;
        match self.block(&table.before_keys)? {
            Flow::Next => {}
            other => return Ok(other),
        }
        let (is_hit, cell) = self.look_up(id)?;
        let state = self.table_state(id)?;
        let mut chosen = None;
        let flow = match &cell {
            Some(cell) => {
                let action = self.run_table_action(table, state, cell)?;
                chosen = Some(action.0);
                action.1
            }
            None => Flow::Next,
        };
        self.end_look_up();

        if let Some(place) = hit {
            let place = self.resolve(place)?;
            self.write(&place, Value::Bool(is_hit))?;
        }
        if let Some(place) = action_run {
            // An empty group runs no action, and then only the label `default` matches.
            let position = chosen.and_then(|action| {
                table.actions.iter().position(|reference| reference.action == action)
            });
            let position = position.map_or(u128::from(u32::MAX), |position| position as u128);
            let place = self.resolve(place)?;
            self.write(&place, Value::Bits(Bits::unsigned(32, position)))?;
        }
        Ok(flow)
    }

    /// Looks up the packet in a table. Returns whether an entry was found, and the action to run.
    /// Until [`Self::end_look_up`], externs in the action can refer to this lookup.
    pub(crate) fn look_up(&mut self, id: TableId) -> Result<(bool, Option<Arc<ActionCell>>), Stop> {
        let layout = self.layout;
        let table = layout.program.tables.get(id.index()).ok_or_else(|| internal("table"))?;
        let mut keys = Vec::with_capacity(table.keys.len());
        let mut shown = Vec::new();
        let is_traced = self.is_traced(Detail::Steps);
        for key in &table.keys {
            match self.key_value(&key.expression)? {
                Value::Bits(bits) if !is_traced => keys.push(bits),
                value => {
                    keys.push(value.to_pattern().ok_or_else(|| internal("key"))?);
                    if is_traced {
                        shown.push(value);
                    }
                }
            }
        }
        self.event(|_| Event::Table { table: id, keys: shown });

        let state = self.table_state(id)?;
        let found = self.find_entry(id, state, &keys)?;
        let is_hit = found.is_some();
        if let Some(trace) = &mut self.trace {
            trace.lookup(id, &keys, is_hit);
        }
        let is_bmv2 = self.layout.dialect.is_bmv2();
        let runs = found.as_ref().map(|entry| self.count_hit(id, state, entry));
        self.scratch.lookups.push(Lookup { table: id, keys, entry: found, colors: Vec::new() });
        if is_hit {
            if is_bmv2 {
                self.execute_direct_meters(table)?;
            }
        } else {
            self.event(|_| Event::Miss { table: id });
        }
        let cell = match runs {
            Some(runs) => {
                let chosen = self.chosen(id, table, runs)?;
                chosen.or_else(|| state.empty_group_action.clone())
            }
            None => {
                let default = state.default();
                (!(default.is_left_out && is_bmv2)).then(|| Arc::clone(&default.cell))
            }
        };
        Ok((is_hit, cell))
    }

    /// Records a lookup that machine code has made, so that externs in the action can refer to it.
    /// The record ends with [`Self::end_look_up`].
    pub(crate) fn begin_look_up(&mut self, lookup: Lookup) {
        self.scratch.lookups.push(lookup);
    }

    /// Ends the record of the lookup whose action has run.
    pub(crate) fn end_look_up(&mut self) {
        self.scratch.lookups.pop();
    }

    /// Evaluates a table's key. A field of an invalid header counts as zero, as in BMv2
    /// (`src/bm_sim/match_units.cpp`), even if the key is only a slice of the field or the field
    /// under a mask.
    fn key_value(&self, key: &Expression) -> Result<Value, Stop> {
        if let ExpressionKind::Read(place) = &field_of_key(key).kind
            && self.is_in_invalid_header(place)?
        {
            return Ok(self.initial(key.type_id)?);
        }
        self.evaluate(key)
    }

    fn table_state(&self, id: TableId) -> Result<&'p TableState, Stop> {
        self.state.tables.get(id.index()).ok_or_else(|| internal("table"))
    }

    /// Records that a packet hit an entry, and returns what the entry runs at this moment: reports
    /// the hit to the trace; in BMv2's dialects, counts the packet in the entry's direct counters;
    /// and restarts the entry's idle timer if the table reports idle entries. In tables that delete
    /// idle entries, the program restarts the timer instead.
    fn count_hit(&mut self, table: TableId, state: &TableState, entry: &Stored) -> Runs {
        let counts_every_hit = self.layout.dialect.is_bmv2();
        let runs = {
            if state.ageing == Ageing::Notify && !self.is_tried() {
                entry.timer().restart(self.now);
            }
            let mut stored = entry.state();
            if counts_every_hit && !self.is_tried() {
                for (_, direct) in &mut stored.directs {
                    if let Direct::Counter(value) = direct {
                        value.count(self.received_length);
                    }
                }
            }
            stored.runs.clone()
        };
        self.event(|_| {
            let (handle, entry) = (entry.handle, entry.shown());
            Event::Hit { table, handle, entry }
        });
        runs
    }

    /// Returns the action that runs for an entry. If the entry runs a group, one of the group's
    /// members is chosen. `None` means that no member can be used.
    fn chosen(
        &mut self,
        id: TableId,
        table: &Table,
        runs: Runs,
    ) -> Result<Option<Arc<ActionCell>>, Stop> {
        let (number, choice) = match runs {
            Runs::Action(cell) | Runs::Member(_, cell) => return Ok(Some(cell)),
            Runs::Group(number, group) => (Some(number), group.choice()),
            Runs::OneShot(choice) => (None, choice),
        };
        let instance = match table.implementation {
            Some(
                TableImplementation::ActionProfile(instance)
                | TableImplementation::ActionSelector(instance),
            ) => Some(instance),
            None => None,
        };
        let hash = self.selector_hash(table, instance)?;
        let members = choice.members.iter().enumerate();
        let usable: Vec<_> = members.filter(|(_, one)| self.state.is_up(one.watch_port)).collect();
        let chosen = choose(usable.iter().map(|(_, member)| member.weight), hash);
        let Some(mut chosen) = chosen else { return Ok(None) };
        if self.is_traced(Detail::Passes) {
            let named = usable.iter().map(|(position, weighted)| Candidate {
                member: number.and(choice.group.members.get(*position)).map(|one| one.member),
                weight: weighted.weight,
                call: weighted.cell.call(),
            });
            let members: Vec<Candidate> = named.collect();
            let selection =
                Selection { table: id, group: number, members: &members, by_hash: chosen };
            if let Some(trace) = &mut self.trace {
                chosen = trace.choose(&selection);
            }
            if let Some(member) = members.get(chosen) {
                let total = members.iter().map(|member| u64::from(member.weight)).sum();
                self.event(|_| Event::Chosen {
                    table: id,
                    group: number,
                    member: member.member,
                    weight: member.weight,
                    total,
                });
            }
        }
        let chosen = usable.get(chosen).ok_or_else(|| internal("member of a group"))?;
        Ok(Some(Arc::clone(&chosen.1.cell)))
    }

    /// Returns the hash by which a member of a group is chosen. It covers the keys with match kind
    /// `selector`, in order.
    fn selector_hash(&self, table: &Table, instance: Option<ExternId>) -> Result<u64, Stop> {
        let lookup = self.lookups().last().ok_or_else(|| internal("lookup"))?;
        let mut data = Vec::new();
        let mut used = 8;
        for (key, value) in table.keys.iter().zip(&lookup.keys) {
            // BMv2 leaves out fields of invalid headers (`calculations.cpp`).
            let left_out = self.layout.dialect.is_bmv2()
                && match &key.expression.kind {
                    ExpressionKind::Read(place) => self.is_in_invalid_header(place)?,
                    _ => false,
                };
            if key.match_kind == MatchKind::Selector && !left_out {
                used = value.append_to_packet(&mut data, used);
            }
        }
        let profile = instance.and_then(|id| match self.state.externs.get(id.index()) {
            Some(ExternState::Profile(profile)) => Some(profile),
            _ => None,
        });
        let algorithm = profile.and_then(|profile| profile.algorithm.as_ref());
        let algorithm = algorithm.unwrap_or(&Algorithm::Crc32);
        let hash = read(&self.state.hashes).hash(algorithm, &data);
        let hash = hash.ok_or_else(|| RunError::algorithm(algorithm))?;
        let width = profile.map_or(0, |profile| profile.output_width);
        // p4c does not pass the width to BMv2 (`ExternConverter_action_selector` of
        // `simpleSwitch.cpp` and `psaSwitch.cpp`).
        let narrows = !self.layout.dialect.is_bmv2() && (1..64).contains(&width);
        Ok(if narrows { hash & ((1 << width) - 1) } else { hash })
    }

    /// Runs the action of an entry. Returns the action, and where the execution continues after it.
    fn run_table_action(
        &mut self,
        table: &Table,
        state: &TableState,
        cell: &ActionCell,
    ) -> Result<(ActionId, Flow), Stop> {
        let layout = self.layout;
        let mut call = self.call_of(cell);
        let writes = |call: &ActionCall| {
            let action = layout.program.actions.get(call.action.index());
            action.is_some_and(|action| action.parameters.iter().any(|one| one.reference))
        };
        // An action that writes its entry runs alone, from before it reads the entry, if the
        // program requires that.
        let _turn = (state.synchronised && writes(&call)).then(|| cell.turn());
        if _turn.is_some() {
            call = self.call_of(cell);
        }
        let id = call.action;
        let reference = table.actions.iter().find(|reference| reference.action == id);
        let reference = reference.ok_or_else(|| internal("action of a table"))?;
        let action = layout.program.actions.get(id.index());
        let action = action.ok_or_else(|| internal("action"))?;
        match self.block(&reference.before_arguments)? {
            Flow::Next => {}
            other => return Ok((id, other)),
        }
        let mut directional = action.parameters.iter().filter_map(|parameter| {
            Some(Formal {
                variable: parameter.variable,
                direction: parameter.direction?,
                type_id: parameter.type_id,
            })
        });
        let table_id = self.lookups().last().map(|lookup| lookup.table);
        let flow = self.call(&mut directional, &reference.arguments, &mut |interpreter| {
            interpreter.bind(action, &call.arguments)?;
            interpreter.run_action(id, action, table_id)
        })?;
        if writes(&call) {
            let parameters = action.control_plane_parameters().enumerate();
            let references = parameters.filter(|(_, parameter)| parameter.reference);
            let values = references.map(|(position, parameter)| {
                Ok((position, self.variable(parameter.variable)?.clone()))
            });
            let values = values.collect::<Result<_, RunError>>()?;
            let lookup = self.lookups().last().ok_or_else(|| internal("lookup"))?;
            let (id, entry) = (lookup.table, lookup.entry.clone());
            let left = Left { entry: entry.as_deref(), cell, call, values };
            self.leave_entry(id, state, left);
        }
        Ok((id, if let Flow::Exit = flow { Flow::Exit } else { Flow::Next }))
    }

    /// Sets those parameters of an action that the control plane determines to the values in the
    /// entry.
    fn bind(&mut self, action: &Action, arguments: &[Value]) -> Result<(), Stop> {
        let parameters = action.control_plane_parameters();
        for (parameter, argument) in parameters.zip(arguments) {
            self.set_variable(parameter.variable, argument.clone())?;
        }
        Ok(())
    }
}
