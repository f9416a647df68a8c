//! The interface between the drivers of architectures and the engine that runs a program's blocks.
//! The engine is the interpreter or machine code.
//!
//! A driver passes values from block to block: headers, metadata, and the decisions of a control
//! about the packet. The interpreter represents them as [`Value`]s. Machine code represents them as
//! bytes, which mostly stay where the blocks access them. A driver that switches to another packet
//! while it still needs a value must therefore call [`Engine::keep`].

use crate::error::RunError;
use crate::interpreter::{Interpreter, ParserOutcome};
use crate::layout::MetadataField;
use crate::value::Value;
use ir::{ControlId, ParserId, Projection, TypeId};
use std::ops::DerefMut;

/// The error for a package whose blocks lack the parameters that the architecture expects.
pub(super) const PARAMETERS: RunError = RunError::internal("parameters of a block");

/// A value that a packet keeps while it waits in a queue. It does not refer to the memory of the
/// engine that made it.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    /// A value of the interpreter.
    Interpreted(Value),
    /// The bytes of a value of machine code, or `None` if no block has written the value yet.
    Compiled(Option<Box<[u8]>>),
}

/// An engine that runs the blocks of a program: the interpreter, or machine code. Both use an
/// [`Interpreter`] for the state of the switch, the packet, the requests of blocks and the trace.
pub(crate) trait Engine<'p>: DerefMut<Target = Interpreter<'p>> {
    /// The value of a block's parameter, as this engine represents it.
    type Value;

    /// Whether the engine is machine code.
    const IS_COMPILED: bool;

    /// Converts a value to the form in which a packet keeps it while it waits in a queue.
    fn held(&self, value: Self::Value) -> Held;

    /// Converts a value back that a packet has kept while it waited in a queue. Fails if another
    /// kind of engine made it.
    fn unheld(&self, held: Held) -> Result<Self::Value, RunError>;

    /// Prepares the engine for a pass of a packet: resets local variables, and clears the packet
    /// and the requests of the previous pass. The units of work that the packet has left stay as
    /// they are. `received_length` is the packet's length in bytes as it was received.
    fn begin_pass(&mut self, received_length: u64) -> Result<(), RunError>;

    /// Returns the initial value of a type.
    fn initial(&mut self, type_id: TypeId) -> Result<Self::Value, RunError>;

    /// Takes back a value that is no longer needed. The engine may reuse its memory for later
    /// values of the same type.
    fn done_with(&mut self, type_id: TypeId, value: Self::Value);

    /// Returns a copy of a value. The copy stays valid while blocks run for other packets.
    fn copy(&self, value: &Self::Value) -> Self::Value;

    /// Makes sure that a value stays valid while blocks run for other packets.
    fn keep(&self, value: &mut Self::Value);

    /// Sets a field of a struct to a number, converted to the field's type. Has no effect if there
    /// is no such field.
    fn set_field(
        &mut self,
        value: &mut Self::Value,
        type_id: TypeId,
        field: MetadataField,
        number: u128,
    );

    /// Returns the number in a field of a struct, or zero if there is no such field.
    fn field_number(&self, value: &Self::Value, type_id: TypeId, field: MetadataField) -> u128;

    /// Copies one part of a value, which `path` selects, to another value of the same type.
    fn copy_part(
        &mut self,
        type_id: TypeId,
        path: &[Projection],
        from: &Self::Value,
        to: &mut Self::Value,
    );

    /// Makes all headers in a value invalid.
    fn invalidate(&mut self, type_id: TypeId, value: &mut Self::Value);

    /// Copies to `into` those fields that a block has changed. `change` holds the value before the
    /// block ran and the value after it.
    fn take_changes(
        &mut self,
        type_id: TypeId,
        change: (&Self::Value, &Self::Value),
        into: &mut Self::Value,
    );

    /// Runs a parser of the package, and stores the results of its `out` and `inout` parameters in
    /// `arguments`, whether or not the parser accepts the packet. Returns whether the packet was
    /// accepted, and the parser's error. Fails if the packet cannot be processed.
    fn run_parser(
        &mut self,
        id: ParserId,
        arguments: &mut [Self::Value],
    ) -> Result<ParserOutcome, RunError>;

    /// Runs a control of the package, like [`Self::run_parser`].
    fn run_control(&mut self, id: ControlId, arguments: &mut [Self::Value])
    -> Result<(), RunError>;

    /// Runs a control like [`Self::run_control`], and then sends the message of the last call of
    /// v1model's `digest`, if there was one.
    fn run_control_and_send_digest(
        &mut self,
        id: ControlId,
        arguments: &mut [Self::Value],
    ) -> Result<(), RunError>;
}

/// The engine that runs blocks in the interpreter.
pub(crate) struct InterpreterEngine<'m, 'p>(pub(crate) &'m mut Interpreter<'p>);

impl<'p> std::ops::Deref for InterpreterEngine<'_, 'p> {
    type Target = Interpreter<'p>;

    fn deref(&self) -> &Interpreter<'p> {
        self.0
    }
}

impl<'p> DerefMut for InterpreterEngine<'_, 'p> {
    fn deref_mut(&mut self) -> &mut Interpreter<'p> {
        self.0
    }
}

impl<'p> Engine<'p> for InterpreterEngine<'_, 'p> {
    type Value = Value;

    const IS_COMPILED: bool = false;

    fn held(&self, value: Value) -> Held {
        Held::Interpreted(value)
    }

    fn unheld(&self, held: Held) -> Result<Value, RunError> {
        match held {
            Held::Interpreted(value) => Ok(value),
            Held::Compiled(_) => Err(RunError::internal("a waiting packet of machine code")),
        }
    }

    fn begin_pass(&mut self, received_length: u64) -> Result<(), RunError> {
        self.0.begin_pass(received_length)
    }

    fn initial(&mut self, type_id: TypeId) -> Result<Value, RunError> {
        self.0.initial_again(type_id)
    }

    fn done_with(&mut self, type_id: TypeId, value: Value) {
        self.0.scratch.recycle(type_id, value);
    }

    fn copy(&self, value: &Value) -> Value {
        value.clone()
    }

    fn keep(&self, _: &mut Value) {}

    fn set_field(
        &mut self,
        value: &mut Value,
        type_id: TypeId,
        field: MetadataField,
        number: u128,
    ) {
        self.0.layout.set_field(value, type_id, field, number);
    }

    fn field_number(&self, value: &Value, type_id: TypeId, field: MetadataField) -> u128 {
        self.0.layout.field_number(value, type_id, field)
    }

    fn copy_part(&mut self, _: TypeId, path: &[Projection], from: &Value, to: &mut Value) {
        copy_part(path, from, to);
    }

    fn invalidate(&mut self, _: TypeId, value: &mut Value) {
        invalidate(value);
    }

    fn take_changes(&mut self, _: TypeId, (before, after): (&Value, &Value), into: &mut Value) {
        match (before, after, into) {
            (Value::Struct(before), Value::Struct(after), Value::Struct(into)) => {
                for ((before, after), into) in before.iter().zip(after).zip(into) {
                    if before != after {
                        into.clone_from(after);
                    }
                }
            }
            (before, after, into) if before != after => into.clone_from(after),
            _ => {}
        }
    }

    fn run_parser(
        &mut self,
        id: ParserId,
        arguments: &mut [Value],
    ) -> Result<ParserOutcome, RunError> {
        self.0.run_parser(id, arguments)
    }

    fn run_control(&mut self, id: ControlId, arguments: &mut [Value]) -> Result<(), RunError> {
        self.0.run_control(id, arguments)
    }

    fn run_control_and_send_digest(
        &mut self,
        id: ControlId,
        arguments: &mut [Value],
    ) -> Result<(), RunError> {
        self.0.run_control_and(id, arguments, Interpreter::send_digest)
    }
}

fn copy_part(path: &[Projection], from: &Value, to: &mut Value) {
    match (path.split_first(), from, to) {
        (None, from, to) => to.clone_from(from),
        (Some((Projection::Field(position), rest)), Value::Struct(from), Value::Struct(to)) => {
            let position = *position as usize;
            if let (Some(from), Some(to)) = (from.get(position), to.get_mut(position)) {
                copy_part(rest, from, to);
            }
        }
        _ => {}
    }
}

fn invalidate(value: &mut Value) {
    match value {
        Value::Struct(fields) | Value::Union(fields) => fields.iter_mut().for_each(invalidate),
        Value::Stack { elements, .. } => elements.iter_mut().for_each(invalidate),
        Value::Header { valid, .. } => *valid = false,
        _ => {}
    }
}
