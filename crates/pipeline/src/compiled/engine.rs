//! The [`Engine`] by which the drivers of the architectures run the blocks of a compiled program.
//!
//! A value that a driver passes from block to block stays in the frame where the block left it. The
//! corresponding parameters of the blocks share one offset, so nothing is moved for a packet that
//! passes each block once. A value is copied only if it must outlive the blocks of another packet.

use super::context::{Context, HOST_FAULT, NO_BLOCK, WORK_LIMIT, flow};
use super::host::{Host, read, write};
use super::step::Steps;
use super::tables::Joined;
use super::{Compiled, Memory};
use crate::architecture::Output;
use crate::architecture::engine::{Engine, Held};
use crate::architecture::waiting::{QueueTimes, Waiting};
use crate::dialect::Dialect;
use crate::error::RunError;
use crate::interpreter::{Interpreter, ParserOutcome, Scratch};
use crate::layout::MetadataField;
use crate::resolved::shape::{DATA, Shape};
use crate::resolved::{BlockParameter, Callee};
use crate::switch::{Core, Processor};
use ir::{ControlId, Direction, ParserId, Projection, TypeId};
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// The message of the internal error for a block's parameter whose type the resolved program lacks.
const NO_TYPE: &str = "the type of a value that the architecture passes to a block";

/// The state of one packet while the architecture's driver runs compiled blocks on it.
pub(super) struct Run<'a, 'r> {
    pub(super) code: &'r Compiled,
    pub(super) core: &'r Core,
    pub(super) frame: &'a mut [u64],
    pub(super) context: &'a mut Context,
    pub(super) host: &'a mut Host<'r>,
    pub(super) interpreter: &'a mut Interpreter<'r>,
}

/// A value that the architecture passes from block to block, such as headers or metadata.
pub(super) enum Image {
    /// A value that no block has written yet, so all of its bytes are zero.
    Initial,
    /// A value that is still in the frame (the packet's working memory), where a block left it. It
    /// is overwritten when the blocks run for another packet.
    Here {
        offset: u32,
        size: u32,
    },
    Kept(Box<[u8]>),
}

impl Compiled {
    /// Processes a packet as [`crate::Switch::process`] does, on the same state, but with machine
    /// code.
    ///
    /// # Errors
    /// Returns the errors of [`crate::Switch::process`].
    pub fn process(
        &self,
        core: &Core,
        worker: &mut Processor,
        (port, packet): (u32, &[u8]),
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let before = outputs.len();
        let outcome = self.run(core, &mut worker.scratch, (port, packet), now, outputs);
        if outcome.is_err() {
            outputs.truncate(before);
        }
        outcome
    }

    /// Processes a packet like [`Self::process`]. If an error occurs, the packets that were
    /// transmitted before it are returned with it.
    pub(crate) fn run(
        &self,
        core: &Core,
        scratch: &mut Scratch,
        (port, packet): (u32, &[u8]),
        now: Duration,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        if let Some(way) = self.fast_path_run(core, scratch) {
            return self.process_on_fast_path(way, core, scratch, (port, packet), now, outputs);
        }
        self.run_driver(core, scratch, now, |run| core.driver.process(run, port, packet, outputs))
    }

    /// Resumes a packet that leaves its queue: the architecture's driver runs egress on it.
    pub(crate) fn resume(
        &self,
        core: &Core,
        scratch: &mut Scratch,
        waiting: Waiting,
        times: &QueueTimes,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        self.run_driver(core, scratch, times.left, |run| {
            core.driver.resume(run, waiting.pass, times, outputs)
        })
    }

    /// Runs the driver of the architecture for a packet, in the buffers of a worker.
    fn run_driver<'c>(
        &'c self,
        core: &'c Core,
        scratch: &mut Scratch,
        now: Duration,
        work: impl FnOnce(&mut Run<'_, '_>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut memory = scratch.compiled.take().unwrap_or_default();
        let outcome = self.run_in(&mut memory, core, scratch, now, work);
        scratch.compiled = Some(memory);
        outcome
    }

    /// Runs the driver of the architecture for a packet, in memory that is reused from packet to
    /// packet.
    fn run_in(
        &self,
        Memory { frame, key, data, joined, .. }: &mut Memory,
        core: &Core,
        scratch: &mut Scratch,
        now: Duration,
        work: impl FnOnce(&mut Run<'_, '_>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        // The lock is taken before the worker enters the gate: its holder may itself be waiting for
        // the gate to close.
        let _alone = self.runs_alone.then(|| core.state.alone());
        frame.resize((self.resolved.frame as usize).div_ceil(8), 0);
        let mut interpreter = Interpreter::new(&core.layout, &core.state, scratch, None, now)?;
        let mut host = Host::new(&self.resolved, core, now, (key, data));
        let mut context = Context::new(core.layout.packet_work, now, &core.state.arrays);
        let mut run = Run {
            code: self,
            core,
            frame,
            context: &mut context,
            host: &mut host,
            interpreter: &mut interpreter,
        };
        if self.resolved.packed.is_empty() {
            work(&mut run)?;
        } else {
            Joined::of(joined, &self.resolved, &core.state)?.inside(&core.state, |inside| {
                run.context.set_tables(inside);
                work(&mut run)
            })?;
        }
        run.check()
    }
}

impl Run<'_, '_> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the slice has `8 * len` initialised bytes, every bit pattern of a byte is valid,
        // and the result borrows `self`.
        unsafe { std::slice::from_raw_parts(self.frame.as_ptr().cast(), self.frame.len() * 8) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let length = self.frame.len() * 8;
        // SAFETY: the slice has `length` initialised bytes, every bit pattern of a byte and of a
        // word is valid, and the result borrows `self` mutably.
        unsafe { std::slice::from_raw_parts_mut(self.frame.as_mut_ptr().cast(), length) }
    }

    /// Returns the bytes of a value that the architecture passes to blocks. The result is empty if
    /// no block has written the value yet.
    fn shown<'v>(&'v self, value: &'v Image) -> &'v [u8] {
        match value {
            Image::Initial => &[],
            Image::Here { offset, size } => {
                let start = *offset as usize;
                self.bytes().get(start..start + *size as usize).unwrap_or(&[])
            }
            Image::Kept(bytes) => bytes,
        }
    }

    /// Returns the bytes of a value that the architecture passes to blocks, for writing. If no
    /// block has written the value yet, it first gets zeros in memory of its own.
    fn changed<'v>(&'v mut self, value: &'v mut Image, type_id: TypeId) -> &'v mut [u8] {
        if let Image::Initial = value {
            let known = self.code.resolved.parameter_type(type_id);
            if known.is_none() {
                self.host.broken(NO_TYPE);
            }
            let size = known.map_or(0, |known| known.shape.size());
            *value = Image::Kept(vec![0; size as usize].into());
        }
        match value {
            Image::Initial => &mut [],
            Image::Here { offset, size } => {
                let start = *offset as usize;
                self.bytes_mut().get_mut(start..start + *size as usize).unwrap_or(&mut [])
            }
            Image::Kept(bytes) => bytes,
        }
    }

    /// Copies the arguments of a block to the offsets of its parameters in the frame.
    fn copy_in(&mut self, parameters: &[BlockParameter], arguments: &mut [Image]) {
        // Values that lie at another offset are copied out first, before an argument overwrites
        // them.
        for (argument, to) in arguments.iter_mut().zip(parameters) {
            if matches!(argument, Image::Here { offset, .. } if *offset != to.offset) {
                self.keep(argument);
            }
        }
        let follows = self.core.layout.dialect == Dialect::PsaSwitch;
        for (argument, parameter) in arguments.iter_mut().zip(parameters) {
            let BlockParameter { offset, size, direction } = *parameter;
            let start = offset as usize;
            let is_cleared = direction == Direction::Out && !follows;
            if let Some(to) = self.bytes_mut().get_mut(start..start + size as usize) {
                match argument {
                    Image::Kept(bytes) if !is_cleared && bytes.len() == to.len() => {
                        to.copy_from_slice(bytes);
                    }
                    Image::Here { .. } if !is_cleared => {}
                    _ => to.fill(0),
                }
            }
            *argument = Image::Here { offset, size };
        }
    }

    /// Runs a block. For a parser, returns whether it accepted the packet; a control always accepts
    /// it.
    fn block(
        &mut self,
        callee: Callee,
        arguments: &mut [Image],
        sends_digest: bool,
    ) -> Result<ParserOutcome, RunError> {
        let code = self.code;
        let blocks = &code.resolved.blocks;
        let position = blocks.iter().position(|block| block.callee == callee);
        let position = position.ok_or_else(|| RunError::internal("block"))?;
        let block = blocks.get(position).ok_or_else(|| RunError::internal("block"))?;
        let is_parser = matches!(callee, Callee::Parser(_));
        self.interpreter.begin_block(callee)?;
        self.copy_in(&block.parameters, arguments);
        self.interpreter.clear_checksums();
        self.interpreter.set_in_parser(is_parser);
        self.context.received_length = self.interpreter.received_length;
        let emitted = &mut self.interpreter.scratch.emitted;
        emitted.reserve(code.resolved.emitted as usize);
        self.context.emitted = emitted.as_mut_ptr();
        self.context.emitted_length = emitted.len() as u64;
        let packet = self.interpreter.packet();
        self.context.packet = packet.as_ptr();
        self.context.length = packet.len() as u64;
        self.context.cursor = self.interpreter.cursor_bytes();
        self.context.set_host(self.host);
        self.context.set_interpreter(self.interpreter);
        let stop = self.interpreter.scratch.stop.as_deref().map(|stop| &*stop.flag);
        self.context.begin_work(self.interpreter.work_left(), stop);
        let frame = self.frame.as_mut_ptr().cast();
        // SAFETY: the frame consists of words and is as long as the resolved program says. The
        // packet belongs to the interpreter, which does not change it while a block runs. The
        // output buffer has just been reserved. The host belongs to this run, and only host calls
        // use it until the code returns.
        let how = unsafe { code.machine_code.run(position, frame, self.context) };
        let Self { context, interpreter, .. } = self;
        interpreter.set_in_parser(false);
        interpreter.set_cursor_bytes(context.cursor);
        interpreter.add_length_change(std::mem::take(&mut context.length_change));
        interpreter.effects.checksum_error |= std::mem::take(&mut context.checksum_error) != 0;
        let truncate = std::mem::replace(&mut context.truncate, u64::MAX);
        if truncate < u64::MAX {
            let before = interpreter.effects.truncate.unwrap_or(u64::MAX);
            interpreter.effects.truncate = Some(before.min(truncate));
        }
        if let Some(destination) = context.take_destination() {
            interpreter.effects.destination = destination;
        }
        context.move_requests(&mut interpreter.effects);
        let emitted = usize::try_from(context.emitted_length).unwrap_or(0);
        let room = &mut interpreter.scratch.emitted;
        let emitted = emitted.min(room.capacity());
        // SAFETY: generated code has written the bytes up to `emitted_length`, which is at most the
        // reserved capacity.
        unsafe { room.set_len(emitted) };
        self.interpreter.set_work_left(self.context.end_work());
        if how == flow::FAULT && self.interpreter.scratch.is_stopped() {
            return Err(RunError::Stopped);
        }
        self.check()?;
        let outcome = match how {
            flow::NEXT | flow::EXIT => ParserOutcome { accepted: true, error: 0 },
            flow::REJECT if is_parser => {
                ParserOutcome { accepted: false, error: self.context.error as u32 }
            }
            flow::REJECT => return Err(RunError::internal("parser error in a control")),
            // The code ends with a fault, since there are no other ends.
            _ => return Err(fault(self.code, self.context, self.host)),
        };
        if sends_digest {
            self.send_digest()?;
        }
        Ok(outcome)
    }

    /// Returns an error if a host call has found a violated invariant while the packet was
    /// processed.
    pub(super) fn check(&mut self) -> Result<(), RunError> {
        match self.host.take_broken() {
            Some(broken) => Err(RunError::Internal(broken)),
            None => Ok(()),
        }
    }

    /// Sends the digest message that a block has requested, if any, to the control plane.
    pub(super) fn send_digest(&mut self) -> Result<(), RunError> {
        let Self { frame, host, interpreter, .. } = self;
        let length = frame.len() * 8;
        // SAFETY: the frame has `length` initialised bytes, every bit pattern of a byte is valid,
        // and the slice borrows the frame.
        let frame = unsafe { std::slice::from_raw_parts(frame.as_ptr().cast(), length) };
        Steps { host, interpreter }.send_digest(frame)
    }
}

/// Returns the error that describes why generated code ended a packet with a fault.
pub(super) fn fault(code: &Compiled, context: &Context, host: &mut Host<'_>) -> RunError {
    let number = context.fault;
    if number == WORK_LIMIT {
        return RunError::WorkLimit(code.resolved.packet_work.into());
    }
    if number == HOST_FAULT {
        return host
            .fault
            .take()
            .unwrap_or_else(|| RunError::internal("a fault of a host call without an error"));
    }
    if number == NO_BLOCK {
        return RunError::internal("a block that the package does not have");
    }
    let known = usize::try_from(number).ok();
    match known.and_then(|number| code.resolved.faults.get(number)) {
        Some((place, function)) => {
            RunError::Assertion { place: place.clone(), function: function.clone() }
        }
        None => RunError::internal("a fault without a number"),
    }
}

impl<'r> Deref for Run<'_, 'r> {
    type Target = Interpreter<'r>;

    fn deref(&self) -> &Interpreter<'r> {
        self.interpreter
    }
}

impl<'r> DerefMut for Run<'_, 'r> {
    fn deref_mut(&mut self) -> &mut Interpreter<'r> {
        self.interpreter
    }
}

impl<'r> Engine<'r> for Run<'_, 'r> {
    type Value = Image;

    const IS_COMPILED: bool = true;

    fn held(&self, value: Image) -> Held {
        Held::Compiled(match value {
            Image::Initial => None,
            Image::Kept(bytes) => Some(bytes),
            Image::Here { .. } => Some(self.shown(&value).into()),
        })
    }

    fn unheld(&self, held: Held) -> Result<Image, RunError> {
        match held {
            Held::Compiled(Some(bytes)) => Ok(Image::Kept(bytes)),
            Held::Compiled(None) => Ok(Image::Initial),
            Held::Interpreted(_) => Err(RunError::internal("a waiting packet of the interpreter")),
        }
    }

    fn begin_pass(&mut self, received_length: u64) -> Result<(), RunError> {
        self.interpreter.begin_pass_of_code(received_length);
        let locals = (self.code.resolved.locals / 8) as usize;
        if let Some(locals) = self.frame.get_mut(locals..) {
            locals.fill(0);
        }
        Ok(())
    }

    fn initial(&mut self, _: TypeId) -> Result<Image, RunError> {
        Ok(Image::Initial)
    }

    fn done_with(&mut self, _: TypeId, _: Image) {}

    fn copy(&self, value: &Image) -> Image {
        match value {
            Image::Initial => Image::Initial,
            value => Image::Kept(self.shown(value).into()),
        }
    }

    fn keep(&self, value: &mut Image) {
        if let Image::Here { .. } = value {
            *value = self.copy(value);
        }
    }

    fn set_field(
        &mut self,
        value: &mut Image,
        type_id: TypeId,
        field: MetadataField,
        number: u128,
    ) {
        let code = self.code;
        let known = code.resolved.parameter_type(type_id);
        if let Some(field) = known.and_then(|known| known.field(field)) {
            write(self.changed(value, type_id), field, number as u64);
        }
    }

    fn field_number(&self, value: &Image, type_id: TypeId, field: MetadataField) -> u128 {
        let known = self.code.resolved.parameter_type(type_id);
        let field = known.and_then(|known| known.field(field));
        field.map_or(0, |field| u128::from(read(self.shown(value), field)))
    }

    fn copy_part(&mut self, type_id: TypeId, path: &[Projection], from: &Image, to: &mut Image) {
        let known = self.code.resolved.parameter_type(type_id);
        let Some((start, size)) = known.and_then(|known| part(&known.shape, path)) else {
            return self.host.broken("a part of a value that the architecture copies");
        };
        let range = start as usize..(start + size) as usize;
        let found: Vec<u8> = match self.shown(from).get(range.clone()) {
            Some(found) => found.to_vec(),
            None => vec![0; size as usize],
        };
        match self.changed(to, type_id).get_mut(range) {
            Some(to) => to.copy_from_slice(&found),
            None => self.host.broken("a value that is shorter than its part"),
        }
    }

    fn invalidate(&mut self, type_id: TypeId, value: &mut Image) {
        if matches!(value, Image::Initial) {
            // All headers of a value that was never written are invalid.
            return;
        }
        match self.code.resolved.parameter_type(type_id) {
            Some(known) => invalidate(&known.shape, 0, self.changed(value, type_id)),
            None => self.host.broken(NO_TYPE),
        }
    }

    fn take_changes(
        &mut self,
        type_id: TypeId,
        (before, after): (&Image, &Image),
        into: &mut Image,
    ) {
        let known = self.code.resolved.parameter_type(type_id);
        let Some(Shape::Struct(parts, _)) = known.map(|known| &known.shape) else {
            return self.host.broken("metadata of an architecture that is not a struct");
        };
        for (offset, part) in parts.iter() {
            let range = *offset as usize..(*offset + part.size()) as usize;
            let zeros = vec![0; range.len()];
            let of = |image| self.shown(image).get(range.clone()).unwrap_or(&zeros).to_vec();
            let after = of(after);
            if of(before) != after
                && let Some(into) = self.changed(into, type_id).get_mut(range)
            {
                into.copy_from_slice(&after);
            }
        }
    }

    fn run_parser(
        &mut self,
        id: ParserId,
        arguments: &mut [Image],
    ) -> Result<ParserOutcome, RunError> {
        self.block(Callee::Parser(id), arguments, false)
    }

    fn run_control(&mut self, id: ControlId, arguments: &mut [Image]) -> Result<(), RunError> {
        self.block(Callee::Control(id), arguments, false).map(|_| ())
    }

    fn run_control_and_send_digest(
        &mut self,
        id: ControlId,
        arguments: &mut [Image],
    ) -> Result<(), RunError> {
        self.block(Callee::Control(id), arguments, true).map(|_| ())
    }
}

/// Returns the offset and the size in bytes of the part of a struct that `path` selects.
pub(super) fn part(shape: &Shape, path: &[Projection]) -> Option<(u32, u32)> {
    let (mut offset, mut shape) = (0, shape);
    for step in path {
        let (Projection::Field(position), Shape::Struct(parts, _)) = (step, shape) else {
            return None;
        };
        let (at, inner) = parts.get(*position as usize)?;
        offset += at;
        shape = inner;
    }
    Some((offset, shape.size()))
}

fn invalidate(shape: &Shape, at: u32, bytes: &mut [u8]) {
    match shape {
        Shape::Header(_) | Shape::Loose(..) => {
            if let Some(flag) = bytes.get_mut(at as usize) {
                *flag = 0;
            }
        }
        Shape::Struct(parts, _) | Shape::Union(parts, _) => {
            parts.iter().for_each(|(offset, part)| invalidate(part, at + offset, bytes));
        }
        Shape::Stack { element, size } => {
            let shape = Shape::Header(element.clone());
            let elements = (0..*size).map(|index| DATA + index * element.size());
            elements.for_each(|offset| invalidate(&shape, at + offset, bytes));
        }
        Shape::Row { element, size } => {
            let elements = (0..*size).map(|index| DATA + index * element.size());
            elements.for_each(|offset| invalidate(element, at + offset, bytes));
        }
        Shape::Scalar(_) | Shape::Wide { .. } | Shape::Varbit { .. } | Shape::None(_) => {}
    }
}
