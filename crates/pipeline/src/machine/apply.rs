//! Applying a table: keys, lookup, action, and what the action leaves in the entry.

use super::statement::Formal;
use super::{Flow, Lookup, Machine, Stop, damaged};
use crate::externs::ExternState;
use crate::externs::hash::Algorithm;
use crate::table::{ActionCall, Direct, EntryAction, EntryHandle, choose};
use crate::trace::Event;
use crate::value::Value;
use ir::bits::Bits;
use ir::{
    Action, BinaryOperator, Expression, ExpressionKind, ExternId, MatchKind, Place, Table, TableId,
    TableImplementation,
};

/// Where the arguments of the action that runs are kept; references are written back there.
#[derive(Clone, Copy, Debug)]
enum Source {
    Default,
    Entry(EntryHandle),
    Member(ExternId, u32),
    OneShot(EntryHandle, usize),
    /// In the program; nothing is written back.
    Program,
}

impl Machine<'_> {
    /// Applies a table. The results are written before control goes where the action sends it.
    pub(super) fn apply_table(
        &mut self,
        id: TableId,
        hit: Option<&Place>,
        action_run: Option<&Place>,
    ) -> Result<Flow, Stop> {
        let layout = self.layout;
        let table = layout.program.tables.get(id.index()).ok_or_else(|| damaged("table"))?;
        match self.block(&table.before_keys)? {
            Flow::Next => {}
            other => return Ok(other),
        }
        let values: Vec<Value> = table
            .keys
            .iter()
            .map(|key| self.key_value(&key.expression))
            .collect::<Result<_, _>>()?;
        let keys: Vec<Bits> = values
            .iter()
            .map(Value::to_pattern)
            .collect::<Option<_>>()
            .ok_or_else(|| damaged("key"))?;
        self.event(|machine| {
            let keys = table.keys.iter().zip(&values).map(|(key, value)| {
                (key.name.clone(), machine.layout.render(value, key.expression.type_id))
            });
            Event::Table { table: table.name.clone(), keys: keys.collect() }
        });

        let now = self.now;
        let compared = self.state.tables.get(id.index()).map_or(0, |state| state.compared());
        self.charge(compared)?;
        let state = self.state.tables.get_mut(id.index()).ok_or_else(|| damaged("table"))?;
        let found = state.lookup(&keys, now);
        self.lookups.push(Lookup { table: id, keys, entry: found, colors: Vec::new() });
        if let Some(handle) = found {
            self.count_hit(table, id, handle);
            if self.layout.dialect.is_bmv2() {
                self.execute_direct_meters(table)?;
            }
        } else {
            self.event(|_| Event::Miss { table: table.name.clone() });
        }
        let is_bmv2 = self.layout.dialect.is_bmv2();
        let chosen = match found {
            Some(handle) => match self.entry_action(table, id, handle)? {
                Some(found) => Some(found),
                None => {
                    let state = self.state.tables.get(id.index());
                    let call = state.and_then(|state| state.empty_group_action.clone());
                    call.map(|call| (call, Source::Program))
                }
            },
            None => self
                .state
                .tables
                .get(id.index())
                .filter(|state| !(state.default_is_left_out && is_bmv2))
                .map(|state| (state.default_action.clone(), Source::Default)),
        };
        let flow = match &chosen {
            Some((call, source)) => self.run_table_action(table, id, call, *source),
            None => Ok(Flow::Next),
        };
        self.lookups.pop();
        let flow = flow?;

        if let Some(place) = hit {
            let place = self.resolve(place)?;
            self.write(&place, Value::Bool(found.is_some()))?;
        }
        if let Some(place) = action_run {
            // An empty group runs nothing; then no label but `default` fits.
            let position = chosen.and_then(|(call, _)| {
                table.actions.iter().position(|reference| reference.action == call.action)
            });
            let position = position.map_or(u128::from(u32::MAX), |position| position as u128);
            let place = self.resolve(place)?;
            self.write(&place, Value::Bits(Bits::unsigned(32, position)))?;
        }
        Ok(flow)
    }

    /// The value of a key. A field of an invalid header matches as zero, as in BMv2
    /// (`src/bm_sim/match_units.cpp`), also where only a slice of it or the field under a mask is the key.
    fn key_value(&self, key: &Expression) -> Result<Value, Stop> {
        let is_constant =
            |operand: &Expression| matches!(operand.kind, ExpressionKind::Constant(_));
        let field = match &key.kind {
            ExpressionKind::Binary(BinaryOperator::BitAnd, left, right) if is_constant(right) => {
                left
            }
            ExpressionKind::Binary(BinaryOperator::BitAnd, left, right) if is_constant(left) => {
                right
            }
            ExpressionKind::Slice { operand, .. } => operand,
            _ => key,
        };
        if let ExpressionKind::Read(place) = &field.kind
            && self.is_in_invalid_header(&self.resolve(place)?)
        {
            return Ok(self.initial(key.type_id)?);
        }
        self.evaluate(key)
    }

    /// Idle timer, counters and the trace of a hit.
    fn count_hit(&mut self, table: &Table, id: TableId, handle: EntryHandle) {
        let (now, length) = (self.now, self.received_length);
        let counts_every_hit = self.layout.dialect.is_bmv2();
        let Some(state) = self.state.tables.get_mut(id.index()) else { return };
        let restarts = state.ageing == crate::table::Ageing::Notify;
        let Some(stored) = state.get_mut(handle) else { return };
        if restarts {
            stored.restart(now);
        }
        if counts_every_hit {
            for (_, direct) in &mut stored.direct {
                if let Direct::Counter(value) = direct {
                    value.count(length);
                }
            }
        }
        let entry = stored.entry.clone();
        self.event(|_| Event::Hit { table: table.name.clone(), entry });
    }

    /// What an entry runs; `None` for a group without members that can be used.
    fn entry_action(
        &self,
        table: &Table,
        id: TableId,
        handle: EntryHandle,
    ) -> Result<Option<(ActionCall, Source)>, Stop> {
        let state = self.state.tables.get(id.index()).ok_or_else(|| damaged("table"))?;
        let entry = &state.get(handle).ok_or_else(|| damaged("entry"))?.entry;
        let instance = match table.implementation {
            Some(
                TableImplementation::ActionProfile(instance)
                | TableImplementation::ActionSelector(instance),
            ) => Some(instance),
            None => None,
        };
        match &entry.action {
            EntryAction::Action(call) => Ok(Some((call.clone(), Source::Entry(handle)))),
            EntryAction::OneShot(members) => {
                let usable: Vec<usize> = (0..members.len())
                    .filter(|position| {
                        members.get(*position).is_some_and(|member| self.is_up(member.watch_port))
                    })
                    .collect();
                let weights = usable.iter().filter_map(|position| members.get(*position));
                let hash = self.selector_hash(table, instance)?;
                let chosen = choose(weights.map(|member| member.weight), hash)
                    .and_then(|chosen| usable.get(chosen))
                    .and_then(|position| Some((*position, members.get(*position)?)));
                Ok(chosen.map(|(position, member)| {
                    (member.action.clone(), Source::OneShot(handle, position))
                }))
            }
            EntryAction::Member(member) => {
                let instance = instance.ok_or_else(|| damaged("action profile"))?;
                Ok(self.member(instance, *member))
            }
            EntryAction::Group(group) => {
                let instance = instance.ok_or_else(|| damaged("action selector"))?;
                let hash = self.selector_hash(table, Some(instance))?;
                let Some(ExternState::Profile(profile)) = self.state.externs.get(instance.index())
                else {
                    return Err(damaged("action selector"));
                };
                let Some(group) = profile.groups.get(group) else { return Ok(None) };
                let usable: Vec<_> =
                    group.members.iter().filter(|member| self.is_up(member.watch_port)).collect();
                let chosen = choose(usable.iter().map(|member| member.weight), hash);
                let chosen = chosen.and_then(|position| usable.get(position));
                Ok(chosen.and_then(|member| self.member(instance, member.member)))
            }
        }
    }

    fn member(&self, instance: ExternId, member: u32) -> Option<(ActionCall, Source)> {
        match self.state.externs.get(instance.index()) {
            Some(ExternState::Profile(profile)) => {
                let call = profile.members.get(&member)?.clone();
                Some((call, Source::Member(instance, member)))
            }
            _ => None,
        }
    }

    fn is_up(&self, port: Option<u32>) -> bool {
        port.is_none_or(|port| !self.state.ports_down.contains(&port))
    }

    /// The hash over the keys with match kind `selector`, in order.
    fn selector_hash(&self, table: &Table, instance: Option<ExternId>) -> Result<u64, Stop> {
        let lookup = self.lookups.last().ok_or_else(|| damaged("lookup"))?;
        let mut data = Vec::new();
        let mut used = 8;
        for (key, value) in table.keys.iter().zip(&lookup.keys) {
            // BMv2 leaves fields of invalid headers out (`calculations.cpp`).
            let left_out = self.layout.dialect.is_bmv2()
                && match &key.expression.kind {
                    ExpressionKind::Read(place) => self.is_in_invalid_header(&self.resolve(place)?),
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
        let hash = self.state.hashes.hash(algorithm, &data).ok_or_else(|| algorithm.not_run())?;
        let width = profile.map_or(0, |profile| profile.output_width);
        // p4c hands no width to BMv2 (`ExternConverter_action_selector` of `simpleSwitch.cpp` and
        // `psaSwitch.cpp`).
        let narrows = !self.layout.dialect.is_bmv2() && (1..64).contains(&width);
        Ok(if narrows { hash & ((1 << width) - 1) } else { hash })
    }

    fn run_table_action(
        &mut self,
        table: &Table,
        id: TableId,
        call: &ActionCall,
        source: Source,
    ) -> Result<Flow, Stop> {
        let layout = self.layout;
        let reference = table.actions.iter().find(|reference| reference.action == call.action);
        let reference = reference.ok_or_else(|| damaged("action of a table"))?;
        let action = layout.program.actions.get(call.action.index());
        let action = action.ok_or_else(|| damaged("action"))?;
        match self.block(&reference.before_arguments)? {
            Flow::Next => {}
            other => return Ok(other),
        }
        let mut directional = action.parameters.iter().filter_map(|parameter| {
            Some(Formal {
                variable: parameter.variable,
                direction: parameter.direction?,
                type_id: parameter.type_id,
            })
        });
        let flow = self.call(&mut directional, &reference.arguments, &mut |machine| {
            machine.bind(action, &call.arguments)?;
            machine.event(|machine| Event::Action {
                name: action.name.clone(),
                arguments: machine.action_arguments(action),
            });
            machine.block(&action.body)
        })?;
        self.write_back(action, id, source)?;
        Ok(match flow {
            Flow::Exit => Flow::Exit,
            _ => Flow::Next,
        })
    }

    /// Puts the entry's values into the action's control-plane parameters.
    fn bind(&mut self, action: &Action, arguments: &[Value]) -> Result<(), Stop> {
        let parameters = action.control_plane_parameters();
        for (parameter, argument) in parameters.zip(arguments) {
            self.set_variable(parameter.variable, argument.clone())?;
        }
        Ok(())
    }

    /// Leaves what the action made of its references in the entry (seed 001; direction `rmw`).
    fn write_back(&mut self, action: &Action, id: TableId, source: Source) -> Result<(), Stop> {
        if !action.parameters.iter().any(|parameter| parameter.reference) {
            return Ok(());
        }
        let values: Vec<(usize, Value)> = action
            .control_plane_parameters()
            .enumerate()
            .filter(|(_, parameter)| parameter.reference)
            .map(|(position, parameter)| Ok((position, self.variable(parameter.variable)?.clone())))
            .collect::<Result<_, crate::error::RunError>>()?;
        let state = self.state.tables.get_mut(id.index()).ok_or_else(|| damaged("table"))?;
        // The action may have removed its own entry only by expiry, which takes effect later.
        let call = match source {
            Source::Program => None,
            Source::Default => Some(&mut state.default_action),
            Source::Entry(handle) => {
                state.get_mut(handle).and_then(|stored| match &mut stored.entry.action {
                    EntryAction::Action(call) => Some(call),
                    _ => None,
                })
            }
            Source::OneShot(handle, position) => {
                state.get_mut(handle).and_then(|stored| match &mut stored.entry.action {
                    EntryAction::OneShot(members) => {
                        members.get_mut(position).map(|member| &mut member.action)
                    }
                    _ => None,
                })
            }
            Source::Member(instance, member) => {
                match self.state.externs.get_mut(instance.index()) {
                    Some(ExternState::Profile(profile)) => profile.members.get_mut(&member),
                    _ => None,
                }
            }
        };
        if let Some(call) = call {
            for (position, value) in values {
                if let Some(argument) = call.arguments.get_mut(position) {
                    *argument = value;
                }
            }
        }
        Ok(())
    }
}
