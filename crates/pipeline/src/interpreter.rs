//! The interpreter, which runs one pass of a packet through blocks of the program.
//!
//! [`Interpreter`] walks the IR. All variables are in one flat frame (the IR allocates them
//! statically); a call copies its arguments into the callee's parameters and back. Errors of the
//! program (`verify`, a packet that is too short) are [`Stop::Reject`]; faults that no P4 program
//! should have (a failed assertion, an endless loop) are [`Stop::Fault`], and end the packet.

mod apply;
mod checkpoint;
mod expression;
pub(crate) mod externs;
mod parse;
mod place;
mod scratch;
mod statement;
mod trial;

pub(crate) use scratch::{EndFlag, Scratch};

use crate::callee::Callee;
use crate::dialect::Dialect;
use crate::error::{InternalError, RunError};
use crate::layout::Layout;
use crate::state::State;
use crate::table::Stored;
use crate::trace::{Detail, Event, Trace};
use crate::value::Value;
use architectures::{Request, Requests};
use ir::bits::Bits;
use ir::{
    Block, Control, ControlId, Direction, Expression, ExternId, Location, Parameter, ParserId,
    Place, TableId, VariableId,
};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of states that one parser may visit. Beyond it, the parser's error is
/// `ParserTimeout`.
const MAX_STATES: u64 = 65_536;
/// The stack in bytes that must be free when the interpreter enters a call, a block or an
/// expression. Without compiler optimisation, the Rust functions from one such point to the next
/// take some kilobytes.
const FREE_STACK: usize = 128 << 10;
/// The size in bytes of the stack segment that is allocated when the thread's stack is nearly used
/// up.
const STACK_SEGMENT: usize = 2 << 20;

/// The reason why a block ends before its last statement.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The parser rejects the packet with the error of this number.
    Reject(u32),
    /// The packet cannot be processed, because of this error.
    Fault(RunError),
}

impl From<RunError> for Stop {
    fn from(fault: RunError) -> Self {
        Self::Fault(fault)
    }
}

impl From<InternalError> for Stop {
    fn from(error: InternalError) -> Self {
        Self::Fault(error.into())
    }
}

/// Creates the fault for an invariant whose violation was found at the place where this function is
/// called.
#[track_caller]
pub(crate) const fn internal(what: &'static str) -> Stop {
    Stop::Fault(RunError::internal(what))
}

/// The point at which the execution continues after a statement.
#[derive(Debug)]
pub(crate) enum Flow {
    Next,
    Break,
    Continue,
    Return(Option<Value>),
    Exit,
}

/// The requests that blocks have made to the architecture for a packet, and the flags that both
/// blocks and the architecture use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// v1model: the clone session of the last `clone` call, and the metadata that its clones
    /// preserve.
    pub(crate) clone: Option<(u32, Preserved)>,
    /// v1model: the metadata that the packet preserves when it is resubmitted. `None` if `resubmit`
    /// was not called.
    pub(crate) resubmit: Option<Preserved>,
    /// v1model: the metadata that the packet preserves when it is recirculated. PNA: set if
    /// `recirculate` was called.
    pub(crate) recirculate: Option<Preserved>,
    /// v1model: the receiver and the contents of the last `digest` call.
    pub(crate) digest: Option<(u64, Expression)>,
    /// v1model and uBPF: the number of bytes to which the outgoing packet is truncated.
    pub(crate) truncate: Option<u64>,
    /// v1model: whether a `verify_checksum` has found a wrong checksum.
    pub(crate) checksum_error: bool,
    /// PNA: the output port that the last `send_to_port` has set, or `None` after `drop_packet`.
    pub(crate) destination: Option<u32>,
    /// PNA: the clone session that `mirror_packet` has stored in each mirror slot.
    pub(crate) mirrors: Vec<(u32, u32)>,
    /// PNA: whether an inline accelerator was enabled and not disabled afterwards.
    pub(crate) accelerator: bool,
    /// uBPF: whether `mark_to_drop` was called, without `mark_to_pass` after it.
    pub(crate) dropped: bool,
}

impl Effects {
    /// Returns whether a block has made any request other than to transmit the packet, such as for
    /// a copy (v1model and PNA).
    pub(crate) fn has_requests(&self) -> bool {
        let Self { clone, resubmit, recirculate, digest, mirrors, .. } = self;
        let other_pass = clone.is_some() || resubmit.is_some() || recirculate.is_some();
        other_pass || digest.is_some() || !mirrors.is_empty()
    }

    /// Returns the metadata that the clones of the last `clone` call preserve.
    pub(crate) fn clone_preserves(&self) -> Preserved {
        self.clone.as_ref().map_or(Preserved::Nothing, |(_, preserved)| preserved.clone())
    }
}

impl Requests for Effects {
    fn sessions(&self) -> Vec<u32> {
        let clone = self.clone.iter().map(|(session, _)| *session);
        clone.chain(self.mirrors.iter().map(|(_, session)| *session)).collect()
    }

    fn pass(&self, pass: Request) -> bool {
        match pass {
            Request::Resubmit => self.resubmit.is_some(),
            Request::Recirculate => self.recirculate.is_some(),
        }
    }
}

/// The metadata that a clone of a packet, or the packet in a further pass, preserves. The values
/// are those at the end of ingress or egress.
#[derive(Clone, Debug)]
pub(crate) enum Preserved {
    Nothing,
    /// The fields whose annotation `@field_list` contains this number.
    FieldList(u32),
    /// The variables and fields that the argument of the call names.
    Places(Vec<Place>),
}

/// A table that is being applied, with the results of its lookup.
#[derive(Clone, Debug)]
pub(crate) struct Lookup {
    pub(crate) table: TableId,
    pub(crate) keys: Vec<Bits>,
    pub(crate) entry: Option<Arc<Stored>>,
    /// The colour that each direct meter returned for this lookup. A meter runs only once per
    /// lookup.
    pub(crate) colors: Vec<(ExternId, crate::externs::meter::Color)>,
}

/// The interpreter, with the state of the packet that it processes. See the [module](self).
pub(crate) struct Interpreter<'p> {
    pub(crate) layout: &'p Layout,
    pub(crate) state: &'p State,
    pub(crate) scratch: &'p mut Scratch,
    /// The receiver of the events of the packet, if it is traced.
    trace: Option<&'p mut dyn Trace>,
    /// The parser's position in the packet, in bits.
    cursor: u64,
    /// The number of bits in use in the last byte that was emitted.
    emitted_used: u32,
    pub(crate) now: Duration,
    /// The packet's length in bytes as it was received. Counters and meters use it.
    pub(crate) received_length: u64,
    /// The number of bytes at the end of the packet that are not in memory: see
    /// [`Scratch::beyond`].
    pub(crate) beyond: u64,
    pub(crate) effects: Effects,
    /// PNA: whether an inline accelerator was enabled in the previous pass.
    pub(crate) from_accelerator: bool,
    in_parser: bool,
    /// The number of bytes by which headers that became valid or invalid have changed the packet's
    /// length.
    length_change: i64,
    /// The units of work that the packet may still take.
    work_left: Cell<u64>,
    /// The number of further passes that the packet has caused so far.
    further_passes: u32,
    /// The changes that a packet has made to the switch's state, if they must not last. `None` for
    /// a packet whose changes take effect.
    trial: Option<Box<trial::Trial>>,
    /// The state of the architecture's driver that the checkpoints of the next control include.
    driver_state: Option<checkpoint::DriverState>,
}

impl<'p> Interpreter<'p> {
    pub(crate) fn new(
        layout: &'p Layout,
        state: &'p State,
        scratch: &'p mut Scratch,
        trace: Option<&'p mut dyn Trace>,
        now: Duration,
    ) -> Result<Self, RunError> {
        if scratch.frame.len() != layout.program.variables.len() {
            scratch.frame = initial_frame(layout)?;
        }
        scratch.lookups.clear();
        let beyond = scratch.beyond;
        Ok(Self {
            layout,
            state,
            scratch,
            trace,
            cursor: 0,
            emitted_used: 8,
            now,
            received_length: 0,
            beyond,
            effects: Effects::default(),
            from_accelerator: false,
            in_parser: false,
            length_change: 0,
            work_left: Cell::new(layout.packet_work.into()),
            further_passes: 0,
            trial: None,
            driver_state: None,
        })
    }

    /// Makes the effects of the packet temporary: the packet sees its own changes of the switch's
    /// state, and they are discarded with it.
    pub(crate) fn try_only(&mut self) {
        self.trial = Some(Box::default());
    }

    /// Prepares a pass of a packet: resets local variables, and clears the packet and the requests
    /// of the previous pass. The units of work that the packet has left stay as they are.
    /// Parameters are not reset, because they are set before they are read.
    pub(crate) fn begin_pass(&mut self, received_length: u64) -> Result<(), RunError> {
        for variable in self.layout.locals() {
            let type_id = self.layout.program.variables.get(variable.index());
            let initial = type_id.and_then(|variable| self.layout.initial(variable.type_id));
            let initial = initial.ok_or_else(|| RunError::internal("type of a variable"))?;
            if let Some(value) = self.scratch.frame.get_mut(variable.index()) {
                value.copy_from(initial);
            }
        }
        self.begin_pass_of_code(received_length);
        Ok(())
    }

    /// Prepares a pass of a packet like [`Self::begin_pass`], but does not reset variables, because
    /// machine code holds them.
    pub(crate) fn begin_pass_of_code(&mut self, received_length: u64) {
        self.load_packet(Vec::new());
        self.emitted_used = 8;
        self.scratch.emitted.clear();
        self.take_length_change();
        self.received_length = received_length;
        self.effects = Effects::default();
    }

    /// Prepares the next packet that machine code processes: clears what the interpreter counted
    /// for the previous one.
    pub(crate) fn begin_packet_of_code(&mut self, received_length: u64) {
        self.begin_pass_of_code(received_length);
        self.clear_checksums();
        self.scratch.lookups.clear();
        self.work_left.set(self.layout.packet_work.into());
    }

    /// Sets the parser's position in the packet, in bytes, because machine code counts it in bytes.
    pub(crate) fn set_cursor_bytes(&mut self, cursor: u64) {
        self.cursor = cursor.saturating_mul(8);
    }

    /// Returns the index of the byte at the parser's position in the packet.
    pub(crate) fn cursor_bytes(&self) -> u64 {
        self.cursor / 8
    }

    /// Sets whether machine code is running a parser. In a parser, `next` and `last` of a header
    /// stack can reject the packet.
    pub(crate) fn set_in_parser(&mut self, in_parser: bool) {
        self.in_parser = in_parser;
    }

    /// Adds the number of bytes by which machine code has changed the packet's length.
    pub(crate) fn add_length_change(&mut self, change: i64) {
        self.length_change = self.length_change.saturating_add(change);
    }

    /// Returns a variable, so that machine code can copy its value from or to the frame.
    pub(crate) fn variable_mut(&mut self, id: VariableId) -> Result<&mut Value, RunError> {
        self.scratch.frame.get_mut(id.index()).ok_or_else(|| RunError::internal("variable"))
    }

    /// Runs a statement that machine code leaves to the interpreter.
    pub(crate) fn step(&mut self, statement: &ir::Statement) -> Result<Flow, Stop> {
        self.statement(statement)
    }

    /// Returns the tables that are being applied, the innermost last.
    pub(crate) fn lookups(&self) -> &[Lookup] {
        &self.scratch.lookups
    }

    pub(crate) fn random_number(&mut self, low: u64, high: u64) -> u64 {
        self.scratch.random_number(low, high)
    }

    pub(crate) fn take_length_change(&mut self) -> i64 {
        std::mem::take(&mut self.length_change)
    }

    /// Makes `packet` the packet that the next parser reads.
    pub(crate) fn load_packet(&mut self, packet: Vec<u8>) {
        self.scratch.packet = packet;
        self.cursor = 0;
    }

    /// Returns the packet that the parser reads, unchanged.
    pub(crate) fn packet(&self) -> &[u8] {
        &self.scratch.packet
    }

    /// Removes and returns the packet that the parser reads. The interpreter then has no bytes left
    /// to parse.
    pub(crate) fn take_packet(&mut self) -> Vec<u8> {
        self.cursor = 0;
        std::mem::take(&mut self.scratch.packet)
    }

    /// Returns the payload: the bytes of the packet after the parser's position.
    pub(crate) fn payload(&self) -> &[u8] {
        let start = usize::try_from(self.cursor / 8).unwrap_or(usize::MAX);
        self.scratch.packet.get(start..).unwrap_or(&[])
    }

    /// Returns the outgoing packet: the headers that deparsers emitted, padded to whole bytes,
    /// followed by the payload.
    pub(crate) fn take_deparsed(&mut self, payload: &[u8]) -> Vec<u8> {
        self.emitted_used = 8;
        let mut packet = Vec::with_capacity(self.scratch.emitted.len() + payload.len());
        packet.append(&mut self.scratch.emitted);
        packet.extend_from_slice(payload);
        packet
    }

    /// Returns the outgoing packet like [`Self::take_deparsed`]. The payload is the part of the
    /// packet that the parser has not read.
    pub(crate) fn take_deparsed_packet(&mut self) -> Vec<u8> {
        let packet = std::mem::take(&mut self.scratch.packet);
        let start = usize::try_from(self.cursor / 8).unwrap_or(usize::MAX);
        let deparsed = self.take_deparsed(packet.get(start..).unwrap_or(&[]));
        self.scratch.packet = packet;
        deparsed
    }

    /// Runs a parser of the package. Returns whether it accepted the packet, and the parser's
    /// error. In both cases the arguments of `out` and `inout` parameters are updated. Fails if the
    /// packet cannot be processed.
    pub(crate) fn run_parser(
        &mut self,
        id: ParserId,
        arguments: &mut [Value],
    ) -> Result<ParserOutcome, RunError> {
        let layout = self.layout;
        let parser =
            layout.program.parsers.get(id.index()).ok_or_else(|| RunError::internal("parser"))?;
        self.event(|_| Event::Block { name: parser.name.clone(), is_parser: true });
        let state = self.state;
        let _alone = layout.runs_alone_parser(id).then(|| state.alone());
        self.begin_block(Callee::Parser(id))?;
        self.copy_in(&parser.parameters, arguments)?;
        self.clear_checksums();
        self.in_parser = true;
        let outcome = self.enter(Callee::Parser(id)).map_err(Stop::Fault);
        let outcome = outcome.and_then(|()| self.parse(id, parser));
        self.in_parser = false;
        let outcome = match outcome {
            Ok(_) => ParserOutcome { accepted: true, error: 0 },
            Err(Stop::Reject(error)) => ParserOutcome { accepted: false, error },
            Err(Stop::Fault(fault)) => return Err(fault),
        };
        if !outcome.accepted {
            self.event(|interpreter| Event::Rejected {
                error: interpreter.error_name(outcome.error),
            });
        }
        self.copy_out(&parser.parameters, arguments);
        Ok(outcome)
    }

    /// Runs a control of the package.
    pub(crate) fn run_control(
        &mut self,
        id: ControlId,
        arguments: &mut [Value],
    ) -> Result<(), RunError> {
        self.run_control_and(id, arguments, |_| Ok(()))
    }

    /// Runs a control of the package, and then calls `then`, while the control's variables still
    /// hold their values.
    pub(crate) fn run_control_and(
        &mut self,
        id: ControlId,
        arguments: &mut [Value],
        then: impl FnOnce(&mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let layout = self.layout;
        let control =
            layout.program.controls.get(id.index()).ok_or_else(|| RunError::internal("control"))?;
        self.event(|_| Event::Block { name: control.name.clone(), is_parser: false });
        let state = self.state;
        let _alone = layout.runs_alone(id).then(|| state.alone());
        self.begin_block(Callee::Control(id))?;
        self.copy_in(&control.parameters, arguments)?;
        self.clear_checksums();
        self.enter(Callee::Control(id))?;
        let flow = self.body(id, &control.body);
        self.end_control(control, flow, arguments, then)
    }

    /// Completes a control of the package whose body has ended with `flow`, and calls `then` before
    /// its variables are reused.
    fn end_control(
        &mut self,
        control: &Control,
        flow: Result<Flow, Stop>,
        arguments: &mut [Value],
        then: impl FnOnce(&mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        match flow {
            Ok(_) => {}
            Err(Stop::Reject(_)) => return Err(RunError::internal("parser error in a control")),
            Err(Stop::Fault(fault)) => return Err(fault),
        }
        then(self)?;
        self.copy_out(&control.parameters, arguments);
        Ok(())
    }

    /// Clears the checksum units, because each parser and control must begin with empty ones (PSA
    /// specification, section 7.6). psa_switch does not clear them: it has one object for all
    /// packets.
    pub(crate) fn clear_checksums(&mut self) {
        if self.layout.dialect != Dialect::PsaSwitch {
            self.scratch.checksums.clear();
        }
    }

    /// Exchanges the arguments of a block with the values of its parameters, so that nothing is
    /// copied. [`Self::copy_out`] exchanges them back. An `out` parameter is set to the initial
    /// value of its type instead.
    fn copy_in(
        &mut self,
        parameters: &[Parameter],
        arguments: &mut [Value],
    ) -> Result<(), RunError> {
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let variable = self.scratch.frame.get_mut(parameter.variable.index());
            let variable = variable.ok_or_else(|| RunError::internal("variable"))?;
            // In psa_switch, the caller sets the initial value of an `out` parameter.
            if parameter.direction != Direction::Out || self.layout.dialect == Dialect::PsaSwitch {
                std::mem::swap(variable, argument);
            } else {
                let initial = self.layout.initial(parameter.type_id);
                variable.copy_from(initial.ok_or_else(|| RunError::internal("type"))?);
            }
        }
        Ok(())
    }

    fn copy_out(&mut self, parameters: &[Parameter], arguments: &mut [Value]) {
        for (parameter, argument) in parameters.iter().zip(arguments) {
            if let Some(value) = self.scratch.frame.get_mut(parameter.variable.index()) {
                std::mem::swap(value, argument);
            }
        }
    }

    pub(crate) fn initial(&self, type_id: ir::TypeId) -> Result<Value, RunError> {
        self.layout.initial(type_id).cloned().ok_or_else(|| RunError::internal("type"))
    }

    /// Returns the initial value of a type like [`Self::initial`]. Reuses the memory of a value
    /// that is no longer needed, if there is one.
    pub(crate) fn initial_again(&mut self, type_id: ir::TypeId) -> Result<Value, RunError> {
        let Some(mut value) = self.scratch.take_spare(type_id) else {
            return self.initial(type_id);
        };
        value.copy_from(self.layout.initial(type_id).ok_or_else(|| RunError::internal("type"))?);
        Ok(value)
    }

    fn set_variable(&mut self, variable: VariableId, value: Value) -> Result<(), RunError> {
        *self
            .scratch
            .frame
            .get_mut(variable.index())
            .ok_or_else(|| RunError::internal("variable"))? = value;
        Ok(())
    }

    fn variable(&self, variable: VariableId) -> Result<&Value, RunError> {
        self.scratch.frame.get(variable.index()).ok_or_else(|| RunError::internal("variable"))
    }

    /// Runs statements in order.
    pub(crate) fn block(&mut self, block: &Block) -> Result<Flow, Stop> {
        deeper(|| self.statements(block))
    }

    fn statements(&mut self, block: &Block) -> Result<Flow, Stop> {
        for statement in block {
            match self.statement(statement)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    /// Charges units of work to the packet. Returns an error if the packet exceeds its limit or the
    /// worker must stop.
    pub(crate) fn charge(&self, units: u64) -> Result<(), RunError> {
        if self.scratch.is_stopped() {
            return Err(RunError::Stopped);
        }
        match self.work_left.get().checked_sub(units) {
            Some(left) => {
                self.work_left.set(left);
                Ok(())
            }
            None => Err(self.layout.work_limit()),
        }
    }

    /// Charges the packet for another pass or a copy of a packet of this length.
    pub(crate) fn charge_copy(&self, bytes: usize) -> Result<(), RunError> {
        self.charge(self.layout.costs.of_copy(bytes))
    }

    /// Charges the packet for a block of the package, before the block runs.
    pub(crate) fn begin_block(&self, block: Callee) -> Result<(), RunError> {
        self.charge(self.layout.costs.of_block(block))
    }

    /// Charges the packet for a parser, control, action or function before it runs, unless the
    /// charge for the caller includes it.
    fn enter(&self, callee: Callee) -> Result<(), RunError> {
        self.charge(self.layout.costs.of_entry(callee).map_or(0, u64::from))
    }

    /// Returns the units of work that the packet may still take, with which machine code continues.
    pub(crate) fn work_left(&self) -> u64 {
        self.work_left.get()
    }

    /// Sets the units of work that the packet may still take after machine code has run.
    pub(crate) fn set_work_left(&self, units: u64) {
        self.work_left.set(units);
    }

    /// Returns whether a trace receives events of this level of detail.
    pub(crate) fn is_traced(&self, detail: Detail) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.detail() >= detail)
    }

    /// Sends an event to the trace, if there is one that receives the steps of the packet. Only
    /// then is `make` called.
    pub(crate) fn event(&mut self, make: impl FnOnce(&Self) -> Event) {
        self.event_of(Detail::Steps, make);
    }

    /// Sends an event of this level of detail to the trace, if there is one that receives it. Only
    /// then is `make` called.
    pub(crate) fn event_of(&mut self, detail: Detail, make: impl FnOnce(&Self) -> Event) {
        if self.is_traced(detail) {
            let event = make(self);
            if let Some(trace) = &mut self.trace {
                trace.event(event);
            }
        }
    }

    /// Assigns a number to a further pass that the current one causes, and reports it to the trace.
    /// Returns the number.
    pub(crate) fn further_pass(&mut self, path: &'static str) -> u32 {
        self.further_passes = self.further_passes.wrapping_add(1);
        let number = self.further_passes;
        self.event_of(Detail::Passes, |_| Event::Further { number, path });
        number
    }

    pub(crate) fn error_name(&self, error: u32) -> String {
        let name = self.layout.program.errors.get(error as usize);
        name.cloned().unwrap_or_else(|| format!("error {error}"))
    }

    pub(crate) fn at(&self, location: Option<Location>) -> String {
        self.layout.place_in_source(location)
    }
}

/// Runs `level`, which interprets a call, a block or an expression. If the stack of the thread is
/// nearly used up, `level` runs on a new segment of stack. All programs that can be loaded can
/// therefore be interpreted on any thread: loading limits the depth of calls, and readers of
/// programs limit the depth of statements and expressions.
fn deeper<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(FREE_STACK, STACK_SEGMENT, level)
}

fn initial_frame(layout: &Layout) -> Result<Vec<Value>, RunError> {
    let variables = layout.program.variables.iter();
    let frame = variables.map(|variable| layout.initial(variable.type_id).cloned());
    frame.collect::<Option<_>>().ok_or_else(|| RunError::internal("type of a variable"))
}

/// The outcome of a parser of the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParserOutcome {
    pub(crate) accepted: bool,
    /// The parser's error. It is 0, which is `NoError`, if the parser accepted the packet. It is
    /// also `NoError` after a transition to `reject`, and in BMv2's dialects if no case of a
    /// `select` matches.
    pub(crate) error: u32,
}
