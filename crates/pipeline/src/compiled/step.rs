//! Steps that code leaves to the interpreter: what they touch is moved to its variables and back.

use super::context::{Context, NEW_PACKET};
use super::exchange::{load, load_move, store, store_move};
use super::host::Host;
use crate::bound::Bound;
use crate::bound::moves::{Move, Step, StepKind};
use crate::error::RunError;
use crate::machine::{Flow, Lookup, Machine, Stop, damaged};
use crate::table::Stored;
use crate::value::Value;
use ir::bits::Bits;
use ir::{Statement, StatementKind};
use std::sync::Arc;

/// Host and machine, where the interpreter has steps.
pub(super) struct Steps<'h, 's> {
    pub(super) host: &'h mut Host<'s>,
    pub(super) machine: &'h mut Machine<'s>,
}

impl Steps<'_, '_> {
    /// Makes the machine that of the packet at hand, if that is one of a burst.
    pub(super) fn prepare(&mut self, context: &mut Context) {
        if context.asked & NEW_PACKET != 0 {
            context.asked = 0;
            self.machine.begin_packet_of_code(context.received_length);
        }
    }

    /// Whether a step adds the entry that the packet missed where code has it: the packet holds no entry then.
    pub(super) fn changes_tables(&self, number: u64) -> bool {
        let Bound { steps, tables, .. } = self.host.bound;
        let step = usize::try_from(number).ok().and_then(|number| steps.get(number));
        let missed = self.machine.lookups().last().filter(|lookup| lookup.entry.is_none());
        let table = missed.and_then(|lookup| tables.get(lookup.table.index()));
        step.is_some_and(Step::adds_entry) && table.is_some_and(|table| table.native.is_some())
    }

    /// Says which table is applied, which code looked up.
    pub(super) fn begin_look_up(&mut self, number: u64, key: u128, entry: Option<Arc<Stored>>) {
        let position = usize::try_from(number).unwrap_or(usize::MAX);
        let bound = self.host.bound.tables.get(position);
        let Some((_, layout)) = bound.and_then(|bound| bound.native.as_ref()) else { return };
        let keys = bound.into_iter().flat_map(|bound| &bound.keys).zip(layout.keys());
        let keys = keys.map(|(field, (width, above))| {
            let bits = Bits::unsigned(width, key >> above);
            if field.signed { bits.cast(width, true) } else { bits }
        });
        let keys = keys.collect();
        let table = ir::TableId(position as u32);
        self.machine.begin_look_up(Lookup { table, keys, entry, colors: Vec::new() });
    }

    /// Runs a step.
    pub(super) fn step(
        &mut self,
        frame: &mut [u8],
        context: &mut Context,
        number: u64,
    ) -> Result<(), Stop> {
        let bound = self.host.bound;
        let step = usize::try_from(number).ok().and_then(|number| bound.steps.get(number));
        let step = step.ok_or_else(|| damaged("step"))?;
        self.load_all(frame, &step.loads)?;
        self.machine.set_cursor_bytes(context.cursor);
        let outcome = self.work(frame, context, step);
        context.cursor = self.machine.cursor_bytes();
        // A checksum that the interpreter verifies for a packet in a burst; for others the driver finds it.
        context.checksum_error |= u64::from(self.machine.effects.checksum_error);
        let change = self.machine.take_length_change();
        context.length_change = context.length_change.saturating_add(change);
        // Rejected or not, what was written is written.
        self.store_all(frame, &step.stores)?;
        outcome
    }

    fn work(&mut self, frame: &mut [u8], context: &mut Context, step: &Step) -> Result<(), Stop> {
        match &step.kind {
            StepKind::Statement(statement) => {
                let is_emission = matches!(statement.kind, StatementKind::Emit(_));
                let flow = if is_emission {
                    self.emit(context, statement)?
                } else {
                    self.machine.step(statement)?
                };
                match flow {
                    Flow::Next => Ok(()),
                    _ => Err(damaged("statement")),
                }
            }
            StepKind::Evaluate(expression, offset, shape) => {
                let value = self.machine.evaluate(expression)?;
                store(frame, *offset, shape, &value);
                Ok(())
            }
            StepKind::Write(place, type_id, offset, shape) => {
                let mut value = self.machine.initial(*type_id)?;
                load(frame, *offset, shape, &mut value);
                let place = self.machine.resolve(place)?;
                self.machine.write(&place, value)
            }
            StepKind::Select(subjects, cases, to) => {
                let chosen = self.machine.selected(subjects, cases)?;
                let chosen = chosen.unwrap_or(cases.len());
                super::host::write(frame, *to, chosen as u64);
                Ok(())
            }
        }
    }

    /// Emits behind what code has emitted, in the room that is there for it.
    fn emit(&mut self, context: &mut Context, statement: &Statement) -> Result<Flow, Stop> {
        let before = usize::try_from(context.emitted_length).unwrap_or(usize::MAX);
        let emitted = &mut self.machine.scratch.emitted;
        if before > emitted.capacity() {
            return Err(damaged("what is emitted"));
        }
        // SAFETY: code has written so many bytes into the vector's room, which has them as was just checked.
        unsafe { emitted.set_len(before) };
        let room = emitted.as_ptr();
        let flow = self.machine.step(statement);
        let emitted = &self.machine.scratch.emitted;
        debug_assert_eq!(emitted.as_ptr(), room, "more was emitted than there was room for");
        context.emitted_length = emitted.len() as u64;
        flow
    }

    pub(super) fn load_all(&mut self, frame: &[u8], moves: &[Move]) -> Result<(), RunError> {
        for one in moves {
            load_move(frame, one, self.machine.variable_mut(one.variable)?);
        }
        Ok(())
    }

    pub(super) fn store_all(&mut self, frame: &mut [u8], moves: &[Move]) -> Result<(), RunError> {
        for one in moves {
            store_move(frame, one, self.machine.variable_mut(one.variable)?);
        }
        Ok(())
    }

    /// Looks up a table that code does not look up itself, and puts the data of the action into the frame; as
    /// [`Self::apply`].
    pub(super) fn look_up(&mut self, frame: &mut [u8], number: u64) -> Result<u64, Stop> {
        let bound = self.host.bound;
        let position = usize::try_from(number).unwrap_or(usize::MAX);
        let table = bound.tables.get(position).ok_or_else(|| damaged("table"))?;
        let general = table.general.as_ref().ok_or_else(|| damaged("table"))?;
        self.load_all(frame, &general.loads)?;
        let (is_hit, cell) = self.machine.look_up(ir::TableId(position as u32))?;
        self.store_all(frame, &general.stores)?;
        let synchronised =
            self.host.state.tables.get(position).is_some_and(|table| table.synchronised);
        let put = |frame: &mut [u8], ran: usize, values: &[Value]| {
            let data = general.data.get(ran).map_or(&[][..], Vec::as_slice);
            for ((offset, shape), value) in data.iter().zip(values) {
                store(frame, *offset, shape, value);
            }
        };
        let ran = match cell {
            Some(cell) => {
                let ran = self.host.prepare_with(frame, table, synchronised, cell, &put);
                let lookup = self.machine.lookups().last();
                self.host.found_in(lookup.and_then(|lookup| lookup.entry.clone()));
                Some(ran.ok_or_else(|| damaged("action of a table"))?)
            }
            None => None,
        };
        Ok(super::host::looked_up(is_hit, ran))
    }

    /// The action of a table that [`Self::look_up`] found is over.
    pub(super) fn end_look_up(&mut self, frame: &[u8], number: u64) -> Result<(), Stop> {
        self.machine.end_look_up();
        let Some(found) = self.host.found.take() else { return Ok(()) };
        let table =
            usize::try_from(number).ok().and_then(|table| self.host.bound.tables.get(table));
        let table = table.ok_or_else(|| damaged("table"))?;
        let general = table.general.as_ref().ok_or_else(|| damaged("table"))?;
        let action = table.actions.get(found.ran()).ok_or_else(|| damaged("action of a table"))?;
        let data = general.data.get(found.ran()).map_or(&[][..], Vec::as_slice);
        let values = action.references.iter().filter_map(|reference| {
            let (offset, shape) = data.get(*reference)?;
            let mut value = found.argument(*reference)?.clone();
            load(frame, *offset, shape, &mut value);
            Some((*reference, value))
        });
        let values = values.collect();
        self.host.left(number, found, values);
        Ok(())
    }

    /// Sends the message of the digest that a block called for.
    pub(super) fn send_digest(&mut self, frame: &[u8]) -> Result<(), RunError> {
        if self.machine.effects.digest.is_some() {
            let bound = self.host.bound;
            self.load_all(frame, &bound.messages)?;
            self.machine.send_digest()?;
        }
        Ok(())
    }
}

impl Host<'_> {
    /// Keeps why code ended, for who called it.
    pub(super) fn ended<T>(
        &mut self,
        context: &mut Context,
        outcome: Result<T, Stop>,
    ) -> Result<T, i64> {
        use super::context::flow;
        match outcome {
            Ok(done) => Ok(done),
            Err(Stop::Reject(error)) => {
                context.error = u64::from(error);
                Err(flow::REJECT)
            }
            Err(Stop::Fault(fault)) => {
                context.fault = super::context::HOST_FAULT;
                self.fault = Some(fault);
                Err(flow::FAULT)
            }
        }
    }
}
