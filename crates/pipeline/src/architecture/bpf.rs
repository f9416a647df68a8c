//! The driver of the packages that p4c compiles to BPF, in ebpf_model.p4, ubpf_model.p4 and
//! xdp_model.p4. It follows the include files and the READMEs of p4c's back ends.
//!
//! | package | fate of a packet |
//! | --- | --- |
//! | `ebpfFilter` | It leaves unchanged if the filter accepts it. |
//! | `ubpf` | It leaves as deparsed if `output_action` is `PASS` or `REDIRECT`. |
//! | `xdp` | It leaves as deparsed if `output_action` is `XDP_PASS`, `XDP_TX` or `XDP_REDIRECT`. |
//!
//! The packet leaves through the port on which it arrived, unless it is redirected. In `ubpf`, a
//! packet is also dropped if the last marking call was `mark_to_drop`. A packet that the parser
//! rejects is dropped, except in `ubpf`, which passes it on unchanged: `reject` returns the same
//! code there as a packet that passes (`backends/ubpf/target.h`, `abortReturnCode`). Maps are
//! tables, arrays of counters, and registers like any others.

use super::{Output, TypedBlock, begin, drop_packet, output, typed_control, typed_parser};
use crate::error::{LoadError, RunError};
use crate::interpreter::Interpreter;
use crate::layout::{Layout, MetadataField};
use crate::trace::Event;
use crate::value::Value;
use ir::{ControlId, ParserId, TypeId};

/// The reason that the trace shows if a packet is dropped because the parser rejects it.
const REJECTED: &str = "the parser rejects";

/// The blocks of a program for eBPF, uBPF or XDP.
#[derive(Clone, Debug)]
pub(crate) struct Blocks(Package);

/// The package of a program for BPF: `ebpfFilter`, `ubpf` or `xdp`.
#[derive(Clone, Debug)]
enum Package {
    Filter { parser: TypedBlock<ParserId>, filter: TypedBlock<ControlId> },
    User(Stages),
    Xdp(Stages),
}

/// The blocks of a uBPF or XDP program.
#[derive(Clone, Debug)]
struct Stages {
    parser: TypedBlock<ParserId>,
    pipeline: TypedBlock<ControlId>,
    deparser: TypedBlock<ControlId>,
    /// The fate of a packet (pass, drop or redirect) for each value of `output_action`, an
    /// enumeration. Indexed by the number of the enumeration's member.
    verdicts: Vec<Verdict>,
    /// The number of the enumeration's member `PASS` in a uBPF program, if there is one. The action
    /// of a packet is `PASS` unless the program sets another one.
    pass: Option<u128>,
}

/// The fate of a packet, as the control decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Drop,
    /// The packet leaves through the port on which it arrived. This includes packets that a real
    /// system would pass to the kernel (`XDP_PASS`).
    Pass,
    Redirect,
}

impl Verdict {
    /// Returns the fate for which a member of `xdp_action` or `ubpf_action` stands. Packets that
    /// the program aborts are dropped.
    fn named(member: &str) -> Self {
        match member {
            "XDP_PASS" | "XDP_TX" | "PASS" => Self::Pass,
            "XDP_REDIRECT" | "REDIRECT" => Self::Redirect,
            _ => Self::Drop,
        }
    }
}

impl Blocks {
    pub(super) fn new(layout: &Layout) -> Result<Self, LoadError> {
        let program = &layout.program;
        let main = &program.main;
        let stages = |parameters: [usize; 3]| -> Result<Stages, LoadError> {
            let [parser, pipeline, deparser] = parameters;
            let pipeline = typed_control(program, main, 1, "pipeline", pipeline)?;
            let actions = pipeline.types.get(2).and_then(|type_id| actions(layout, *type_id));
            let actions = actions.unwrap_or_default();
            let pass = actions.iter().position(|member| member == "PASS");
            Ok(Stages {
                parser: typed_parser(program, main, 0, "parser", parser)?,
                pipeline,
                deparser: typed_control(program, main, 2, "deparser", deparser)?,
                verdicts: actions.iter().map(|member| Verdict::named(member)).collect(),
                pass: pass.map(|pass| pass as u128),
            })
        };
        Ok(Self(match main.name.as_str() {
            "ebpfFilter" => Package::Filter {
                parser: typed_parser(program, main, 0, "parser", 1)?,
                filter: typed_control(program, main, 1, "filter", 2)?,
            },
            "xdp" => Package::Xdp(stages([1, 3, 1])?),
            // Versions of the model before May 2020 had no standard metadata.
            _ => Package::User(
                stages([3, 3, 1]).or_else(|error| stages([2, 2, 1]).map_err(|_| error))?,
            ),
        }))
    }

    pub(super) fn process(
        &self,
        interpreter: &mut Interpreter<'_>,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        begin(interpreter, port, packet)?;
        match &self.0 {
            Package::Filter { parser, filter } => {
                let Some([headers]) = parse(interpreter, parser, |_, _| {})? else {
                    drop_packet(interpreter, REJECTED);
                    return Ok(());
                };
                let mut arguments = [headers, initial(interpreter, filter.types.get(1))?];
                interpreter.run_control(filter.id, &mut arguments)?;
                if arguments.get(1) == Some(&Value::Bool(true)) {
                    output(interpreter, outputs, port, packet.to_vec(), 0);
                } else {
                    drop_packet(interpreter, "the filter refuses");
                }
                Ok(())
            }
            Package::User(stages) => stages.user_space(interpreter, port, packet, outputs),
            Package::Xdp(stages) => stages.xdp(interpreter, port, outputs),
        }
    }
}

impl Stages {
    fn xdp(
        &self,
        interpreter: &mut Interpreter<'_>,
        port: u32,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let Some([headers]) = parse(interpreter, &self.parser, |_, _| {})? else {
            drop_packet(interpreter, REJECTED);
            return Ok(());
        };
        let types = &self.pipeline.types;
        let mut input = initial(interpreter, types.get(1))?;
        set(interpreter, &mut input, types.get(1), MetadataField::InputPort, u128::from(port));
        let mut arguments = [headers, input, initial(interpreter, types.get(2))?];
        interpreter.run_control(self.pipeline.id, &mut arguments)?;
        let [headers, _, result] = arguments;
        let decided = self.decided(interpreter, &result);
        self.leave(interpreter, headers, decided, port, outputs)
    }

    /// Processes a packet with a uBPF program.
    fn user_space(
        &self,
        interpreter: &mut Interpreter<'_>,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let describe = |interpreter: &mut Interpreter<'_>, arguments: &mut [Value]| {
            let type_id = self.parser.types.get(2);
            if let Some(metadata) = arguments.get_mut(2) {
                set(interpreter, metadata, type_id, MetadataField::InputPort, u128::from(port));
                set(
                    interpreter,
                    metadata,
                    type_id,
                    MetadataField::PacketLength,
                    packet.len() as u128,
                );
                // A program that does not set the action passes its packets, like p4c's code.
                if let Some(pass) = self.pass {
                    set(interpreter, metadata, type_id, MetadataField::OutputAction, pass);
                }
            }
        };
        let outcome = match self.parser.types.len() {
            2 => {
                parse(interpreter, &self.parser, describe)?.map(|[headers, own]| vec![headers, own])
            }
            _ => parse(interpreter, &self.parser, describe)?
                .map(|[headers, own, standard]| vec![headers, own, standard]),
        };
        let Some(mut arguments) = outcome else {
            output(interpreter, outputs, port, packet.to_vec(), 0);
            return Ok(());
        };
        interpreter.run_control(self.pipeline.id, &mut arguments)?;
        let mut arguments = arguments.into_iter();
        let headers =
            arguments.next().ok_or_else(|| RunError::internal("parameters of a block"))?;
        let type_id = self.pipeline.types.get(2);
        let (decided, copy) = match arguments.nth(1) {
            Some(standard) => {
                let number = |field| number(interpreter, &standard, type_id, field);
                let wants_copy = number(MetadataField::Clone) != 0;
                let copy = wants_copy.then(|| number(MetadataField::ClonePort) as u32);
                (self.decided(interpreter, &standard), copy)
            }
            None => ((Verdict::Pass, port), None),
        };
        let decided = if interpreter.effects.dropped { (Verdict::Drop, port) } else { decided };
        if let Some(copy) = copy {
            // The deparser runs once for both the copy and the packet.
            let packet = self.deparsed(interpreter, headers)?;
            interpreter.event(|_| Event::Copy { kind: "clone" });
            output(interpreter, outputs, copy, packet.clone(), 1);
            leave(interpreter, packet, decided, port, outputs);
            return Ok(());
        }
        self.leave(interpreter, headers, decided, port, outputs)
    }

    /// Returns the fate and the output port of the packet, which the control has stored in
    /// `output_action` and `output_port`.
    fn decided(&self, interpreter: &Interpreter<'_>, value: &Value) -> (Verdict, u32) {
        let type_id = self.pipeline.types.get(2);
        let port = number(interpreter, value, type_id, MetadataField::OutputPort);
        let action = type_id.and_then(|type_id| {
            interpreter.layout.field(value, *type_id, MetadataField::OutputAction)
        });
        let verdict = match action {
            Some(Value::Enum(member)) => self.verdicts.get(*member as usize).copied(),
            _ => None,
        };
        (verdict.unwrap_or(Verdict::Drop), port as u32)
    }

    /// Deparses and outputs a packet that is not dropped.
    fn leave(
        &self,
        interpreter: &mut Interpreter<'_>,
        headers: Value,
        decided: (Verdict, u32),
        port: u32,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        if decided.0 == Verdict::Drop {
            drop_packet(interpreter, "at the end of the pipeline");
            return Ok(());
        }
        let packet = self.deparsed(interpreter, headers)?;
        leave(interpreter, packet, decided, port, outputs);
        Ok(())
    }

    fn deparsed(
        &self,
        interpreter: &mut Interpreter<'_>,
        headers: Value,
    ) -> Result<Vec<u8>, RunError> {
        interpreter.run_control(self.deparser.id, &mut [headers])?;
        let mut packet = interpreter.take_deparsed_packet();
        if let Some(most) = interpreter.effects.truncate {
            packet.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        }
        Ok(packet)
    }
}

fn leave(
    interpreter: &mut Interpreter<'_>,
    packet: Vec<u8>,
    (verdict, redirected): (Verdict, u32),
    port: u32,
    outputs: &mut Vec<Output>,
) {
    match verdict {
        Verdict::Drop => drop_packet(interpreter, "at the end of the pipeline"),
        Verdict::Pass => output(interpreter, outputs, port, packet, 0),
        Verdict::Redirect => output(interpreter, outputs, redirected, packet, 0),
    }
}

/// Runs the parser. Returns the values of its parameters, or `None` if it rejects the packet.
/// `describe` sets the parameters' initial values.
fn parse<'p, const PARAMETERS: usize>(
    interpreter: &mut Interpreter<'p>,
    parser: &TypedBlock<ParserId>,
    describe: impl FnOnce(&mut Interpreter<'p>, &mut [Value]),
) -> Result<Option<[Value; PARAMETERS]>, RunError> {
    let values: Vec<Value> = parser
        .types
        .iter()
        .map(|type_id| initial(interpreter, Some(type_id)))
        .collect::<Result<_, _>>()?;
    let mut arguments: [Value; PARAMETERS] =
        values.try_into().map_err(|_| RunError::internal("parameters of a block"))?;
    describe(interpreter, &mut arguments);
    let outcome = interpreter.run_parser(parser.id, &mut arguments)?;
    Ok(outcome.accepted.then_some(arguments))
}

fn initial(interpreter: &Interpreter<'_>, type_id: Option<&TypeId>) -> Result<Value, RunError> {
    interpreter.initial(*type_id.ok_or_else(|| RunError::internal("parameters of a block"))?)
}

fn set(
    interpreter: &Interpreter<'_>,
    value: &mut Value,
    type_id: Option<&TypeId>,
    field: MetadataField,
    number: u128,
) {
    if let Some(type_id) = type_id {
        interpreter.layout.set_field(value, *type_id, field, number);
    }
}

fn number(
    interpreter: &Interpreter<'_>,
    value: &Value,
    type_id: Option<&TypeId>,
    field: MetadataField,
) -> u128 {
    type_id.map_or(0, |type_id| interpreter.layout.field_number(value, *type_id, field))
}

/// Returns the members of the enumeration from which a struct's field `output_action` takes its
/// value.
fn actions(layout: &Layout, type_id: TypeId) -> Option<&[String]> {
    let fields = &layout.composite(type_id)?.fields;
    let field = fields.iter().find(|field| field.name == "output_action")?;
    match layout.get(field.type_id)? {
        ir::Type::Enum(id) => Some(&layout.program.types.enums.get(id.index())?.members),
        _ => None,
    }
}
