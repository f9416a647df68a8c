//! The drivers of architectures. A driver runs the blocks of a package in order and decides what
//! happens to the packet between them.
//!
//! A packet may cause further passes through the blocks, for example by clones or recirculation.
//! Each driver queues these passes and runs them in the order in which they were requested, so
//! outputs appear in a fixed order. Only v1model has ports with priority queues, so its driver runs
//! the packets of a port in the order of their priorities. A port that is declared to have queues
//! of its own interrupts packets between ingress and egress ([`waiting`]).

pub(crate) mod bpf;
pub(crate) mod engine;
mod other;
mod pna;
mod psa;
pub(crate) mod v1model;
pub(crate) mod waiting;

use self::engine::{Engine, InterpreterEngine, PARAMETERS};
use self::waiting::{Pass, QueueTimes};
use crate::error::{LoadError, RunError};
use crate::interpreter::Interpreter;
use crate::layout::Layout;
use crate::trace::{Checkpoint, Detail, Event};
use architectures::{Inputs, Set};
use ir::{Architecture, ControlId, Package, PackageValue, Parameter, ParserId, Program, TypeId};

/// The maximum number of passes through ingress or egress that one received packet may take, with
/// all its copies.
pub(crate) const MAX_PASSES: u64 = 65_536;
/// The maximum length of a chain of recirculations, resubmissions and clones that leads from a
/// received packet to a further pass.
const MAX_GENERATIONS: u32 = 1_024;

/// A packet that the switch transmits.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Output {
    /// The port through which the packet leaves.
    pub port: u32,
    /// The bytes of the packet.
    pub packet: Vec<u8>,
    /// The number of resubmissions, recirculations and clones that led from the received packet to
    /// this one.
    pub generation: u32,
}

/// The driver of a program's architecture: it holds the program's blocks and runs them on a packet.
#[derive(Clone, Debug)]
pub(crate) enum Driver {
    V1model(v1model::Blocks),
    Psa(psa::Blocks),
    Pna(pna::Blocks),
    Bpf(bpf::Blocks),
    Other(other::Blocks),
}

impl Driver {
    pub(crate) fn new(layout: &Layout) -> Result<Self, LoadError> {
        Ok(match layout.program.architecture {
            Architecture::V1model => Self::V1model(v1model::Blocks::new(layout)?),
            Architecture::Psa => Self::Psa(psa::Blocks::new(layout)?),
            Architecture::Pna => Self::Pna(pna::Blocks::new(layout)?),
            ref architecture if architecture.is_for_bpf() => Self::Bpf(bpf::Blocks::new(layout)?),
            _ => Self::Other(other::Blocks::new(layout)?),
        })
    }

    /// Processes a packet in the interpreter.
    pub(crate) fn interpret(
        &self,
        interpreter: &mut Interpreter<'_>,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match self {
            Self::Bpf(blocks) => blocks.process(interpreter, port, packet, outputs),
            Self::Other(blocks) => blocks.process(interpreter, port, packet, outputs),
            _ => self.process(&mut InterpreterEngine(interpreter), port, packet, outputs),
        }
    }

    /// Resumes a packet that leaves the queue of its output port: runs egress and all that follows.
    pub(crate) fn resume<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        pass: Pass,
        times: &QueueTimes,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match (self, pass) {
            (Self::V1model(blocks), Pass::V1model(pass)) => {
                let pass = pass.map(&mut |held| engine.unheld(held))?;
                blocks.resume(engine, pass, times, outputs)
            }
            (Self::Psa(blocks), Pass::Psa(pass)) => {
                let pass = pass.map(&mut |held| engine.unheld(held))?;
                blocks.resume(engine, pass, outputs)
            }
            _ => Err(RunError::internal("package")),
        }
    }

    /// Resumes a trial run of a packet, which has no lasting effects, from a checkpoint.
    pub(crate) fn try_again(
        &self,
        interpreter: &mut Interpreter<'_>,
        checkpoint: &Checkpoint,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match self {
            Self::V1model(blocks) => blocks.try_again(interpreter, checkpoint, outputs),
            // Their packets have no checkpoints.
            Self::Psa(_) | Self::Pna(_) | Self::Bpf(_) | Self::Other(_) => {
                Err(RunError::internal("package"))
            }
        }
    }

    /// Processes a packet on an engine: the interpreter or machine code. Packages for BPF and
    /// user-defined packages run only in the interpreter.
    pub(crate) fn process<'p>(
        &self,
        engine: &mut impl Engine<'p>,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match self {
            Self::V1model(blocks) => blocks.process(engine, port, packet, outputs),
            Self::Psa(blocks) => blocks.process(engine, port, packet, outputs),
            Self::Pna(blocks) => blocks.process(engine, port, packet, outputs),
            Self::Bpf(_) | Self::Other(_) => Err(RunError::internal("package")),
        }
    }

    /// Completes the processing of a packet after machine code has run ingress, egress or PNA's
    /// main control for it.
    pub(crate) fn complete<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        packet: HandedOver,
        arguments: [E::Value; 3],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match self {
            Self::V1model(blocks) => blocks.complete(engine, packet, arguments, outputs),
            Self::Psa(blocks) => blocks.complete(engine, packet, arguments, outputs),
            Self::Pna(blocks) => blocks.complete(engine, packet.port, arguments, outputs),
            _ => Err(RunError::internal("package")),
        }
    }

    /// Completes a clone for which machine code has run egress, and the packet from which the clone
    /// was made; see [`v1model::Blocks::complete_clone`].
    pub(crate) fn complete_clone<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        clone: v1model::CloneAfterEgress,
        arguments: [E::Value; 3],
        original: Option<v1model::Original<E::Value>>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match self {
            Self::V1model(blocks) => {
                blocks.complete_clone(engine, clone, arguments, original, outputs)
            }
            _ => Err(RunError::internal("package")),
        }
    }
}

/// A packet that machine code hands over to the driver of its architecture, which completes its
/// processing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandedOver {
    /// The last control that machine code has run for the packet.
    pub(crate) last_control: v1model::LastControl,
    /// The port on which the packet was received.
    pub(crate) port: u32,
    /// The length in bytes of the packet as it was received.
    pub(crate) length: u64,
}

/// The number of passes that a received packet and its copies have taken so far. A packet that
/// exceeds [`MAX_PASSES`] or [`MAX_GENERATIONS`] ends with an error, so that no program can cause
/// passes forever.
#[derive(Clone, Debug, Default)]
struct PassBudget {
    used: u64,
}

impl PassBudget {
    fn take(&mut self, generation: u32) -> Result<(), RunError> {
        self.used += 1;
        if self.used > MAX_PASSES {
            return Err(RunError::PassLimit(MAX_PASSES));
        }
        if generation > MAX_GENERATIONS {
            return Err(RunError::PassLimit(u64::from(MAX_GENERATIONS)));
        }
        Ok(())
    }
}

/// Returns the time of the current packet in microseconds, the unit of BMv2's timestamps.
fn microseconds(interpreter: &Interpreter<'_>) -> u64 {
    interpreter.now.as_micros() as u64
}

/// Prepares the interpreter for a packet in a package whose packets take only one pass.
fn begin(interpreter: &mut Interpreter<'_>, port: u32, packet: &[u8]) -> Result<(), RunError> {
    let length = packet.len();
    interpreter.event_of(Detail::Passes, |_| Event::Pass {
        number: 0,
        pipeline: "package",
        port,
        length,
        path: "normal",
    });
    interpreter.begin_pass(length as u64)?;
    interpreter.load_packet(packet.to_vec());
    Ok(())
}

fn drop_packet(interpreter: &mut Interpreter<'_>, reason: &'static str) {
    interpreter.event(|_| Event::Drop { reason });
}

fn output(
    interpreter: &mut Interpreter<'_>,
    outputs: &mut Vec<Output>,
    port: u32,
    packet: Vec<u8>,
    generation: u32,
) {
    interpreter.event(|_| Event::Output { port, packet: packet.clone() });
    outputs.push(Output { port, packet, generation });
}

/// The internal error for a rule that resubmits, recirculates or replicates a packet at a point
/// where the architecture does not support that.
const NO_PASS: RunError = RunError::internal("a pass of the architecture");

/// Returns a metadata struct in which the given assignments set fields. All other fields are zero.
fn filled<'p, E: Engine<'p>>(
    engine: &mut E,
    type_id: Option<&TypeId>,
    sets: &[Set],
    inputs: &Inputs<u64>,
) -> Result<E::Value, RunError> {
    let type_id = *type_id.ok_or(PARAMETERS)?;
    let mut value = engine.initial(type_id)?;
    assign(engine, &mut value, type_id, sets, inputs);
    Ok(value)
}

/// Makes the given assignments of the architecture to fields of a metadata struct.
fn assign<'p, E: Engine<'p>>(
    engine: &mut E,
    value: &mut E::Value,
    type_id: TypeId,
    sets: &[Set],
    inputs: &Inputs<u64>,
) {
    for (field, input) in sets {
        engine.set_field(value, type_id, *field, inputs.number(*input).into());
    }
}

/// A parser or control of the package, with the types of its parameters.
#[derive(Clone, Debug)]
struct TypedBlock<Id> {
    id: Id,
    types: Vec<TypeId>,
}

fn types(name: &str, parameters: &[Parameter], expected: usize) -> Result<Vec<TypeId>, LoadError> {
    if parameters.len() != expected {
        let (block, found) = (name.to_owned(), parameters.len());
        return Err(LoadError::BlockParameters { block, found, expected });
    }
    Ok(parameters.iter().map(|parameter| parameter.type_id).collect())
}

fn typed_parser(
    program: &Program,
    package: &Package,
    position: usize,
    block: &'static str,
    parameters: usize,
) -> Result<TypedBlock<ParserId>, LoadError> {
    let missing = || LoadError::MissingBlock { package: package.name.clone(), block };
    match package.arguments.get(position).map(|argument| &argument.value) {
        Some(PackageValue::Parser(id)) => {
            let parser = program.parsers.get(id.index()).ok_or_else(missing)?;
            Ok(TypedBlock { id: *id, types: types(&parser.name, &parser.parameters, parameters)? })
        }
        _ => Err(missing()),
    }
}

fn typed_control(
    program: &Program,
    package: &Package,
    position: usize,
    block: &'static str,
    parameters: usize,
) -> Result<TypedBlock<ControlId>, LoadError> {
    let missing = || LoadError::MissingBlock { package: package.name.clone(), block };
    match package.arguments.get(position).map(|argument| &argument.value) {
        Some(PackageValue::Control(id)) => {
            let control = program.controls.get(id.index()).ok_or_else(missing)?;
            Ok(TypedBlock {
                id: *id,
                types: types(&control.name, &control.parameters, parameters)?,
            })
        }
        _ => Err(missing()),
    }
}
