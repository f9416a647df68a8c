//! Packets that are processed without lasting effects, so that their possible outcomes can be
//! enumerated.
//!
//! Such a packet reads the state of the switch. Its own changes of that state are kept in a
//! [`Trial`] and discarded with it. Counters and timers are not changed at all, because no program
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

/// The changes of the switch's state that a packet without lasting effects has made so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trial {
    registers: HashMap<(ExternId, u64), Value>,
    meters: HashMap<(ExternId, MeterOwner), Meter>,
    /// The action calls whose arguments the packet has changed, by the address of the cell that
    /// holds the call. Tables keep the cells alive, so addresses do not change while the packet is
    /// processed.
    calls: HashMap<usize, Arc<ActionCall>>,
    /// The entries that the packet would have added.
    added: HashSet<(TableId, Vec<Bits>)>,
    flow_ids: u32,
}

/// The object to which a meter belongs.
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
    /// Returns whether no change of the packet belongs to an entry. Entries may be removed before
    /// the packet resumes from a checkpoint.
    pub(super) fn is_independent(&self) -> bool {
        let of_entry = |owner: &MeterOwner| matches!(owner, MeterOwner::Entry(_));
        self.calls.is_empty() && !self.meters.keys().any(|(_, owner)| of_entry(owner))
    }
}

impl Interpreter<'_> {
    /// Returns whether the packet is processed without lasting effects.
    pub(crate) fn is_tried(&self) -> bool {
        self.trial.is_some()
    }

    /// Returns the value that the packet has written to a register element, if the packet is
    /// processed without lasting effects and has written the element.
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

    /// Meters a packet that is processed without lasting effects. `current` returns the state that
    /// the meter has in the switch. Returns `None` for packets whose effects last.
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

    /// Looks up the packet's keys in a table.
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

    /// Returns the action call that a cell holds, with its current arguments.
    pub(super) fn call_of(&self, cell: &ActionCell) -> Arc<ActionCall> {
        let tried = self.trial.as_ref().and_then(|trial| trial.calls.get(&address(cell)));
        tried.map_or_else(|| cell.call(), Arc::clone)
    }

    /// Writes the parameters that an action has changed back to its entry, as [`TableState::leave`]
    /// does.
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

    /// Records that a packet without lasting effects would add an entry with these keys. Returns
    /// whether the entry could be added. Returns `None` for packets whose effects last.
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
