//! Runs the statements and expressions, called steps, that generated code leaves to the
//! interpreter. The values that a step uses are copied to the interpreter's variables before it,
//! and back to the frame after it.

use super::context::{Context, NEW_PACKET};
use super::exchange::{load, load_move, store, store_move};
use super::host::Host;
use crate::error::{InternalError, RunError};
use crate::interpreter::{Flow, Interpreter, Lookup, Stop, internal};
use crate::resolved::ResolvedProgram;
use crate::resolved::moves::{Move, Step, StepKind};
use crate::table::Stored;
use crate::value::Value;
use ir::bits::Bits;
use ir::{Statement, StatementKind};
use std::sync::Arc;

/// The host and the interpreter, for a program of which generated code leaves some steps to the
/// interpreter.
pub(super) struct Steps<'h, 's> {
    pub(super) host: &'h mut Host<'s>,
    pub(super) interpreter: &'h mut Interpreter<'s>,
}

impl Steps<'_, '_> {
    /// Resets the interpreter for the current packet of a burst, unless it has already run for this
    /// packet.
    pub(super) fn prepare(&mut self, context: &mut Context) {
        if context.requests & NEW_PACKET != 0 {
            context.requests &= !NEW_PACKET;
            self.interpreter.begin_packet_of_code(context.received_length);
        }
    }

    /// Returns whether a step adds an entry to a packed table for the key with which the packet
    /// missed. The packet must hold no lock on an entry during such a step.
    pub(super) fn changes_tables(&self, number: u64) -> bool {
        let ResolvedProgram { steps, tables, .. } = self.host.resolved;
        let step = usize::try_from(number).ok().and_then(|number| steps.get(number));
        let missed = self.interpreter.lookups().last().filter(|lookup| lookup.entry.is_none());
        let table = missed.and_then(|lookup| tables.get(lookup.table.index()));
        step.is_some_and(Step::adds_entry) && table.is_some_and(|table| table.packed.is_some())
    }

    /// Informs the interpreter of a lookup that generated code has made: the table, the key, and
    /// the entry that was found, if any. Steps that run later may depend on it.
    ///
    /// `key` holds the words of the packed key, the most significant one first.
    pub(super) fn begin_look_up(&mut self, number: u64, key: &[u64], entry: Option<Arc<Stored>>) {
        let position = usize::try_from(number).unwrap_or(usize::MAX);
        let resolved = self.host.resolved.tables.get(position);
        let Some((_, layout)) = resolved.and_then(|resolved| resolved.packed.as_ref()) else {
            return self.host.broken("a lookup in a table that is not packed");
        };
        let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_be_bytes()).collect();
        let all = bytes.len() as u64 * 8;
        let keys = resolved.into_iter().flat_map(|resolved| &resolved.keys).zip(layout.keys());
        let keys = keys.map(|(field, (width, above))| {
            let start = all.checked_sub(u64::from(above) + u64::from(width))?;
            Bits::read_packet(&bytes, start, width, field.signed)
        });
        let Some(keys) = keys.collect::<Option<Vec<Bits>>>() else {
            return self.host.broken("a key that is wider than its layout");
        };
        let table = ir::TableId(position as u32);
        self.interpreter.begin_look_up(Lookup { table, keys, entry, colors: Vec::new() });
    }

    /// Runs the step with the given number: a statement or expression that generated code leaves to
    /// the interpreter.
    pub(super) fn step(
        &mut self,
        frame: &mut [u8],
        context: &mut Context,
        number: u64,
    ) -> Result<(), Stop> {
        let resolved = self.host.resolved;
        let step = usize::try_from(number).ok().and_then(|number| resolved.steps.get(number));
        let step = step.ok_or_else(|| internal("step"))?;
        self.load_all(frame, &step.loads)?;
        self.interpreter.set_cursor_bytes(context.cursor);
        let outcome = self.work(frame, context, step);
        context.cursor = self.interpreter.cursor_bytes();
        // A packet in a burst reports a checksum error through the context; for others the driver
        // reads it from the interpreter.
        context.checksum_error |= u64::from(self.interpreter.effects.checksum_error);
        let change = self.interpreter.take_length_change();
        context.length_change = context.length_change.saturating_add(change);
        // The values that the step wrote are stored even if the parser rejected the packet.
        self.store_all(frame, &step.stores)?;
        outcome
    }

    /// Runs a step after the values that it uses were copied to the interpreter.
    fn work(&mut self, frame: &mut [u8], context: &mut Context, step: &Step) -> Result<(), Stop> {
        match &step.kind {
            StepKind::Statement(statement) => {
                let is_emission = matches!(statement.kind, StatementKind::Emit(_));
                let flow = if is_emission {
                    self.emit(context, statement)?
                } else {
                    self.interpreter.step(statement)?
                };
                match flow {
                    Flow::Next => Ok(()),
                    Flow::Break | Flow::Continue | Flow::Return(_) | Flow::Exit => {
                        Err(internal("a step of the interpreter that does not go on"))
                    }
                }
            }
            StepKind::Evaluate(expression, offset, shape) => {
                let value = self.interpreter.evaluate(expression)?;
                Ok(store(frame, *offset, shape, &value)?)
            }
            StepKind::Write(place, type_id, offset, shape) => {
                let mut value = self.interpreter.initial(*type_id)?;
                load(frame, *offset, shape, &mut value)?;
                let place = self.interpreter.resolve(place)?;
                self.interpreter.write(&place, value)
            }
            StepKind::Select(subjects, cases, to) => {
                let chosen = self.interpreter.selected(subjects, cases)?;
                let chosen = chosen.unwrap_or(cases.len());
                super::host::write(frame, *to, chosen as u64);
                Ok(())
            }
        }
    }

    /// Runs an emit statement in the interpreter, and appends the emitted bytes to the output of
    /// generated code.
    fn emit(&mut self, context: &mut Context, statement: &Statement) -> Result<Flow, Stop> {
        let before = usize::try_from(context.emitted_length).unwrap_or(usize::MAX);
        let emitted = &mut self.interpreter.scratch.emitted;
        if before > emitted.capacity() {
            return Err(internal("what is emitted"));
        }
        // SAFETY: generated code has written `before` bytes to the vector's buffer, and the check
        // above showed that its capacity is at least `before`.
        unsafe { emitted.set_len(before) };
        let room = emitted.as_ptr();
        let flow = self.interpreter.step(statement);
        let emitted = &self.interpreter.scratch.emitted;
        debug_assert_eq!(emitted.as_ptr(), room, "more was emitted than there was room for");
        context.emitted_length = emitted.len() as u64;
        flow
    }

    pub(super) fn load_all(&mut self, frame: &[u8], moves: &[Move]) -> Result<(), RunError> {
        for one in moves {
            load_move(frame, one, self.interpreter.variable_mut(one.variable)?)?;
        }
        Ok(())
    }

    pub(super) fn store_all(&mut self, frame: &mut [u8], moves: &[Move]) -> Result<(), RunError> {
        for one in moves {
            store_move(frame, one, self.interpreter.variable_mut(one.variable)?)?;
        }
        Ok(())
    }

    /// Looks up the packet in a table that is not packed, and copies the parameters of the action
    /// to run to the frame. Returns the result of [`Host::apply`].
    pub(super) fn look_up(&mut self, frame: &mut [u8], number: u64) -> Result<u64, Stop> {
        let resolved = self.host.resolved;
        let position = usize::try_from(number).unwrap_or(usize::MAX);
        let table = resolved.tables.get(position).ok_or_else(|| internal("table"))?;
        let general = table.general.as_ref().ok_or_else(|| internal("table"))?;
        self.load_all(frame, &general.loads)?;
        let (is_hit, cell) = self.interpreter.look_up(ir::TableId(position as u32))?;
        self.store_all(frame, &general.stores)?;
        let synchronised =
            self.host.state.tables.get(position).is_some_and(|table| table.synchronised);
        let put = |frame: &mut [u8], ran: usize, values: &[Value]| {
            let data = general.data.get(ran);
            let data = data.ok_or_else(|| InternalError::new("the data of an action"))?;
            let mut data = data.iter().zip(values);
            data.try_for_each(|((offset, shape), value)| store(frame, *offset, shape, value))
        };
        let ran = match cell {
            Some(cell) => {
                let ran = self.host.prepare_with(frame, table, synchronised, cell, &put)?;
                let lookup = self.interpreter.lookups().last();
                self.host.found_in(lookup.and_then(|lookup| lookup.entry.clone()));
                Some(ran)
            }
            None => None,
        };
        Ok(super::host::looked_up(is_hit, ran))
    }

    /// Ends the action that [`Self::look_up`] has selected, and writes back the parameters that it
    /// has changed in the frame.
    pub(super) fn end_look_up(&mut self, frame: &[u8], number: u64) -> Result<(), Stop> {
        self.interpreter.end_look_up();
        let Some(found) = self.host.found.take() else {
            // The action writes none of its parameters.
            return Ok(());
        };
        let table =
            usize::try_from(number).ok().and_then(|table| self.host.resolved.tables.get(table));
        let table = table.ok_or_else(|| internal("table"))?;
        let general = table.general.as_ref().ok_or_else(|| internal("table"))?;
        let action = table.actions.get(found.ran()).ok_or_else(|| internal("action of a table"))?;
        let data =
            general.data.get(found.ran()).ok_or_else(|| internal("the data of an action"))?;
        let values = action.references.iter().map(|reference| {
            let (Some((offset, shape)), Some(before)) =
                (data.get(*reference), found.argument(*reference))
            else {
                return Err(InternalError::new("a parameter that an action writes"));
            };
            let mut value = before.clone();
            load(frame, *offset, shape, &mut value)?;
            Ok((*reference, value))
        });
        let values = values.collect::<Result<_, _>>()?;
        self.host.left(number, found, values);
        Ok(())
    }

    /// Sends the digest message that a block has requested, if any, to the control plane.
    pub(super) fn send_digest(&mut self, frame: &[u8]) -> Result<(), RunError> {
        if self.interpreter.effects.digest.is_some() {
            let resolved = self.host.resolved;
            self.load_all(frame, &resolved.messages)?;
            self.interpreter.send_digest()?;
        }
        Ok(())
    }
}

impl Host<'_> {
    /// Converts the outcome of a step to a value of [`flow`](super::context::flow). If the step
    /// failed, also records the parser's error or the fault in the context.
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
