//! Architectures: in which order the blocks of a package run, and what becomes of the packet
//! between them.
//!
//! Each driver keeps its packets in a queue of passes and works through it first in, first out,
//! so outputs come in a fixed order.

pub(crate) mod bpf;
pub(crate) mod engine;
pub(crate) mod glue;
mod other;
mod pna;
mod psa;
pub(crate) mod v1model;

use self::engine::{Engine, Interpreter};
use self::glue::{Inputs, Set};
use crate::error::{LoadError, RunError};
use crate::layout::Layout;
use crate::machine::Machine;
use crate::trace::Event;
use ir::{Architecture, ControlId, Package, PackageValue, Parameter, ParserId, Program, TypeId};

/// The port through which PSA recirculates (`PSA_PORT_RECIRCULATE`).
pub(crate) const PSA_PORT_RECIRCULATE: u64 = 0xffff_fffa;

/// Passes that may come out of one packet.
pub(crate) const MAXIMUM_PASSES: u64 = 65_536;
/// How often one packet may be recirculated, resubmitted or cloned in a row.
const MAXIMUM_GENERATIONS: u32 = 1_024;

/// A packet that leaves.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Output {
    /// Through which port.
    pub port: u32,
    /// All of it.
    pub packet: Vec<u8>,
    /// How often it was resubmitted, recirculated or cloned.
    pub generation: u32,
}

/// The driver of a program's architecture, with its blocks.
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
            Architecture::Other(ref package) if bpf::is_package(package) => {
                Self::Bpf(bpf::Blocks::new(layout)?)
            }
            _ => Self::Other(other::Blocks::new(layout)?),
        })
    }

    /// Processes a packet on the interpreter.
    pub(crate) fn interpret(
        &self,
        machine: &mut Machine<'_>,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match self {
            Self::Bpf(blocks) => blocks.process(machine, port, packet, outputs),
            Self::Other(blocks) => blocks.process(machine, port, packet, outputs),
            _ => self.process(&mut Interpreter(machine), port, packet, outputs),
        }
    }

    /// Processes a packet on an engine; packages for BPF and of the user's are for the interpreter alone.
    pub(crate) fn process<'p>(
        &self,
        machine: &mut impl Engine<'p>,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match self {
            Self::V1model(blocks) => blocks.process(machine, port, packet, outputs),
            Self::Psa(blocks) => blocks.process(machine, port, packet, outputs),
            Self::Pna(blocks) => blocks.process(machine, port, packet, outputs),
            Self::Bpf(_) | Self::Other(_) => Err(RunError::Malformed("package")),
        }
    }

    /// Goes on with a packet that code brought to the end of ingress or egress, or of PNA's main control.
    pub(crate) fn go_on<'p, E: Engine<'p>>(
        &self,
        machine: &mut E,
        packet: (v1model::Behind, u32, u64),
        arguments: [E::Value; 3],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        match self {
            Self::V1model(blocks) => blocks.go_on(machine, packet, arguments, outputs),
            Self::Psa(blocks) => blocks.go_on(machine, packet, arguments, outputs),
            Self::Pna(blocks) => blocks.go_on(machine, packet.1, arguments, outputs),
            _ => Err(RunError::Malformed("package")),
        }
    }
}

/// Ends a packet that never ends by itself.
#[derive(Debug, Default)]
struct PassBudget {
    used: u64,
}

impl PassBudget {
    fn take(&mut self, generation: u32) -> Result<(), RunError> {
        self.used += 1;
        if self.used > MAXIMUM_PASSES {
            return Err(RunError::PassLimit(MAXIMUM_PASSES));
        }
        if generation > MAXIMUM_GENERATIONS {
            return Err(RunError::PassLimit(u64::from(MAXIMUM_GENERATIONS)));
        }
        Ok(())
    }
}

/// Microseconds, the unit of BMv2's timestamps.
fn microseconds(machine: &Machine<'_>) -> u64 {
    machine.now.as_micros() as u64
}

/// Begins the pass of a packet through a package of one pass.
fn begin(machine: &mut Machine<'_>, port: u32, packet: &[u8]) -> Result<(), RunError> {
    let length = packet.len();
    machine.event(|_| Event::Pass { pipeline: "package", port, length, path: "normal" });
    machine.begin_pass(length as u64)?;
    machine.load_packet(packet.to_vec());
    Ok(())
}

fn drop_packet(machine: &mut Machine<'_>, reason: &'static str) {
    machine.event(|_| Event::Drop { reason });
}

fn output(
    machine: &mut Machine<'_>,
    outputs: &mut Vec<Output>,
    port: u32,
    packet: Vec<u8>,
    generation: u32,
) {
    machine.event(|_| Event::Output { port, length: packet.len() });
    outputs.push(Output { port, packet, generation });
}

/// The error of a package whose blocks have other parameters than the architecture's.
const PARAMETERS: RunError = RunError::Malformed("parameters of a block");
/// The error of glue that asks for a pass which its architecture does not have there.
const NO_PASS: RunError = RunError::Malformed("a pass of the architecture");

/// Returns metadata with the assignments of the glue; all other fields are zero.
fn filled<'p, E: Engine<'p>>(
    machine: &mut E,
    type_id: Option<&TypeId>,
    sets: &[Set],
    inputs: &Inputs<u64>,
) -> Result<E::Value, RunError> {
    let type_id = *type_id.ok_or(PARAMETERS)?;
    let mut value = machine.initial(type_id)?;
    assign(machine, (&mut value, type_id), sets, inputs);
    Ok(value)
}

/// Runs assignments of the glue on a value.
fn assign<'p, E: Engine<'p>>(
    machine: &mut E,
    (value, type_id): (&mut E::Value, TypeId),
    sets: &[Set],
    inputs: &Inputs<u64>,
) {
    for (field, input) in sets {
        machine.set_field(value, type_id, *field, inputs.number(*input).into());
    }
}

/// A parser or control and the types of its parameters.
#[derive(Clone, Debug)]
struct Bound<Id> {
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

fn bound_parser(
    program: &Program,
    package: &Package,
    position: usize,
    block: &'static str,
    parameters: usize,
) -> Result<Bound<ParserId>, LoadError> {
    let missing = || LoadError::MissingBlock { package: package.name.clone(), block };
    match package.arguments.get(position).map(|argument| &argument.value) {
        Some(PackageValue::Parser(id)) => {
            let parser = program.parsers.get(id.index()).ok_or_else(missing)?;
            Ok(Bound { id: *id, types: types(&parser.name, &parser.parameters, parameters)? })
        }
        _ => Err(missing()),
    }
}

fn bound_control(
    program: &Program,
    package: &Package,
    position: usize,
    block: &'static str,
    parameters: usize,
) -> Result<Bound<ControlId>, LoadError> {
    let missing = || LoadError::MissingBlock { package: package.name.clone(), block };
    match package.arguments.get(position).map(|argument| &argument.value) {
        Some(PackageValue::Control(id)) => {
            let control = program.controls.get(id.index()).ok_or_else(missing)?;
            Ok(Bound { id: *id, types: types(&control.name, &control.parameters, parameters)? })
        }
        _ => Err(missing()),
    }
}
