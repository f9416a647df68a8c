//! Packets that are only tried, so that their possible outcomes can be enumerated.
//!
//! Such a packet reads the state of the switch, and its own changes of that state are in a
//! [`Trial`], which ends with it. Counters and timers are not changed at all, because no program
//! can read them.

use super::{Interpreter, Stop};
use crate::error::RunError;
use crate::externs::Registers;
use crate::externs::meter::{Color, Meter};
use crate::table::{ActionCall, ActionCell, FieldMatch, Left, Stored, TableState};
use crate::value::Value;
use ir::bits::Bits;
use ir::{ExternId, TableId, UpdateMethod};
use std::collections::{HashMap, HashSet};
use std::ptr;
use std::sync::Arc;

/// The changes that a packet which is only tried has made so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trial {
    registers: HashMap<(ExternId, u64), Value>,
    meters: HashMap<(ExternId, MeterOwner), Meter>,
    /// The actions whose arguments the packet has changed, by the address of their cell. Tables
    /// hold the cells, so addresses do not change while the packet runs.
    calls: HashMap<usize, Arc<ActionCall>>,
    /// The entries that the packet would have added.
    added: HashSet<(TableId, Vec<Bits>)>,
    flow_ids: u32,
}

/// The owner of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MeterOwner {
    /// An element of an array.
    Index(u64),
    /// The entry at this address.
    Entry(usize),
    /// The default entry of the meter's table.
    Default,
}

impl Trial {
    /// Returns whether no change belongs to an entry, which may be removed before the packet
    /// continues from a checkpoint.
    pub(super) fn is_independent(&self) -> bool {
        let of_entry = |owner: &MeterOwner| matches!(owner, MeterOwner::Entry(_));
        self.calls.is_empty() && !self.meters.keys().any(|(_, owner)| of_entry(owner))
    }
}

impl Interpreter<'_> {
    /// Returns whether the packet is only tried.
    pub(crate) fn is_tried(&self) -> bool {
        self.trial.is_some()
    }

    /// Returns the value that the packet has written to a register element, if it is only tried and
    /// has written one.
    pub(super) fn tried_register(&self, id: ExternId, index: u64) -> Option<Value> {
        self.trial.as_ref()?.registers.get(&(id, index)).cloned()
    }

    /// Writes an element of a register, which must exist.
    pub(super) fn set_register(
        &mut self,
        (id, registers): (ExternId, &Registers),
        index: u64,
        value: Value,
    ) {
        match &mut self.trial {
            Some(trial) => {
                trial.registers.insert((id, index), value);
            }
            None => {
                registers.cells.set(index, Some(value));
            }
        }
    }

    /// Executes a meter for a packet that is only tried. `current` is the state of the meter in the
    /// switch. Returns `None` if the packet is not only tried.
    pub(super) fn try_meter(
        &mut self,
        (id, owner): (ExternId, MeterOwner),
        current: impl FnOnce() -> Option<Meter>,
        (size, before): (u64, Color),
    ) -> Option<Option<Color>> {
        let now = self.now;
        let trial = self.trial.as_mut()?;
        if let Some(meter) = trial.meters.get_mut(&(id, owner)) {
            return Some(Some(meter.execute(size, before, now)));
        }
        let Some(mut meter) = current() else { return Some(None) };
        let color = meter.execute(size, before, now);
        trial.meters.insert((id, owner), meter);
        Some(Some(color))
    }

    /// Returns the next flow identifier.
    pub(super) fn next_flow_id(&mut self) -> u32 {
        match &mut self.trial {
            Some(trial) => {
                trial.flow_ids = trial.flow_ids.wrapping_add(1);
                self.state.last_flow_id().wrapping_add(trial.flow_ids)
            }
            None => self.state.new_flow_id(),
        }
    }

    /// Looks up a table.
    pub(super) fn find_entry(
        &self,
        id: TableId,
        state: &TableState,
        keys: &[Bits],
    ) -> Result<Option<Arc<Stored>>, Stop> {
        let Some(trial) = &self.trial else { return Ok(state.lookup(keys, self.now)) };
        if !trial.added.is_empty() && trial.added.contains(&(id, keys.to_vec())) {
            let table = self.layout.program.tables.get(id.index());
            let table = table.map_or_else(String::new, |table| table.name.clone());
            return Err(RunError::NotTried { table }.into());
        }
        Ok(state.lookup_uncounted(keys, self.now))
    }

    /// Returns the action of a cell with its current arguments.
    pub(super) fn call_of(&self, cell: &ActionCell) -> Arc<ActionCall> {
        let tried = self.trial.as_ref().and_then(|trial| trial.calls.get(&address(cell)));
        tried.map_or_else(|| cell.call(), Arc::clone)
    }

    /// Stores the parameters that an action has changed, as [`TableState::leave`] does.
    pub(super) fn leave_entry(&mut self, table: TableId, state: &TableState, left: Left<'_>) {
        let Some(trial) = &mut self.trial else {
            return state.leave(table, left, &self.state.entry_changes);
        };
        // A change that a controller makes comes after the packet.
        if left.entry.is_some() && state.storage.update == UpdateMethod::Digest {
            return;
        }
        let mut call = (*left.call).clone();
        for (position, value) in left.values {
            if let Some(argument) = call.arguments.get_mut(position) {
                *argument = value;
            }
        }
        trial.calls.insert(address(left.cell), Arc::new(call));
    }

    /// Notes that a packet which is only tried would add an entry with these keys. Returns whether
    /// it could, or `None` if the packet is not only tried.
    pub(super) fn try_adding(
        &mut self,
        id: TableId,
        state: &TableState,
        keys: &[Bits],
    ) -> Option<bool> {
        let trial = self.trial.as_mut()?;
        let matches: Vec<FieldMatch> = keys.iter().cloned().map(FieldMatch::Exact).collect();
        let can = state.can_add(&matches, self.now);
        Some(can && trial.added.insert((id, keys.to_vec())))
    }
}

fn address(cell: &ActionCell) -> usize {
    ptr::from_ref(cell).addr()
}
