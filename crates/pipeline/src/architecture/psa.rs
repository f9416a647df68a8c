//! The driver of PSA_Switch (Portable Switch Architecture, version 1.2, section 6): ingress parser,
//! ingress, ingress deparser, packet replication, egress parser, egress, egress deparser, output.
//!
//! PSA does not specify the initial value of user-defined metadata. As in BMv2's psa_switch
//! (`targets/psa_switch/psa_switch.cpp`), the metadata of egress start with the values that ingress
//! left if both have one type and the packet is unicast or multicast, and with zero otherwise. The
//! variable `follows` marks other behaviour that is specific to psa_switch (see
//! [`crate::Switch::follow_psa_switch`]).

pub(super) mod egress;
mod shared;

use self::egress::Egress;
use self::shared::Shared;
use super::engine::{Engine, PARAMETERS};
use super::v1model::LastControl;
use super::waiting::{self, Place};
use super::{
    HandedOver, NO_PASS, Output, PassBudget, TypedBlock, drop_packet, filled, microseconds, output,
    typed_control, typed_parser,
};
use crate::dialect::Dialect;
use crate::error::{LoadError, RunError};
use crate::interpreter::Interpreter;
use crate::layout::{Layout, MetadataField, PacketPath};
use crate::state::{CloneSession, Replica};
use crate::trace::{Detail, Event};
use architectures::{Decision, Fate, Inputs, Known, PSA, Packet, Rules};
use ir::{ControlId, Package, PackageValue, ParserId, Program, TypeId};
use std::collections::VecDeque;

/// The blocks of `PSA_Switch`.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    ingress: Pipeline,
    egress: Pipeline,
}

/// The blocks of `IngressPipeline` or `EgressPipeline`.
#[derive(Clone, Debug)]
struct Pipeline {
    parser: TypedBlock<ParserId>,
    control: TypedBlock<ControlId>,
    deparser: TypedBlock<ControlId>,
}

/// A pass of a packet through ingress or egress that waits to run.
enum Pass<V> {
    Ingress(Ingress<V>),
    Egress(Egress<V>),
}

/// A pass through ingress, with the values with which it starts.
struct Ingress<V> {
    packet: Vec<u8>,
    port: u32,
    path: PacketPath,
    resubmitted: V,
    recirculated: V,
    /// The length in bytes that counters and meters use for the packet.
    counted_length: u64,
    generation: u32,
    /// The number by which traces identify the pass.
    number: u32,
}

/// The properties of a packet for which ingress or egress has just run. After ingress, `port` is
/// the input port; after egress, it is the output port.
struct Passed {
    port: u32,
    /// The length in bytes that counters and meters use for the packet.
    counted_length: u64,
    /// The number of resubmissions, recirculations and clones that led from the received packet to
    /// this one.
    generation: u32,
}

/// The properties that copies of a packet inherit from it, and the PSA packet path of the copies.
struct Copied {
    counted_length: u64,
    generation: u32,
    path: PacketPath,
}

impl Blocks {
    pub(super) fn new(layout: &Layout) -> Result<Self, LoadError> {
        let program = &layout.program;
        let mut pipelines =
            program.main.arguments.iter().filter_map(|argument| match &argument.value {
                PackageValue::Package(package) => Some(package),
                _ => None,
            });
        let missing = |block| LoadError::MissingBlock { package: program.main.name.clone(), block };
        let ingress = pipelines.next().ok_or_else(|| missing("ingress"))?;
        let egress = pipelines.next().ok_or_else(|| missing("egress"))?;
        Ok(Self {
            ingress: Pipeline::new(program, ingress, [5, 4, 6])?,
            egress: Pipeline::new(program, egress, [6, 4, 6])?,
        })
    }

    pub(super) fn process<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let parser = &self.ingress.parser.types;
        let first = Ingress {
            packet: packet.to_vec(),
            port,
            path: PacketPath::Normal,
            resubmitted: initial(engine, parser, 3)?,
            recirculated: initial(engine, parser, 4)?,
            counted_length: packet.len() as u64,
            generation: 0,
            number: 0,
        };
        self.all(engine, VecDeque::from([Pass::Ingress(first)]), PassBudget::default(), outputs)
    }

    /// Completes the processing of a packet after machine code has run ingress or egress for it.
    /// The arguments are the headers, the metadata, and the control's output metadata. `length` is
    /// the packet's length in bytes as it was received.
    pub(super) fn complete<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        HandedOver { last_control, port, length }: HandedOver,
        arguments: [E::Value; 3],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let (mut queue, mut budget) = (VecDeque::new(), PassBudget::default());
        budget.take(0)?;
        let passed = |port, counted_length| Passed { port, counted_length, generation: 0 };
        match last_control {
            LastControl::Ingress => {
                let mut shared = Shared::default();
                if engine.layout.dialect == Dialect::PsaSwitch {
                    shared.take(engine, &arguments, &self.ingress.control.types, &[1])?;
                }
                self.after_ingress(engine, passed(port, length), arguments, shared, &mut queue)?;
            }
            LastControl::Egress(to) => {
                budget.take(0)?;
                self.after_egress(engine, passed(to, length), arguments, &mut queue, outputs)?;
            }
        }
        self.all(engine, queue, budget, outputs)
    }

    /// Resumes a packet that leaves the queue of its output port: runs egress, and all passes that
    /// follow.
    pub(super) fn resume<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        pass: Egress<E::Value>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let (mut queue, mut budget) = (VecDeque::new(), PassBudget::default());
        budget.take(pass.generation)?;
        self.egress(engine, pass, &mut queue, outputs)?;
        self.all(engine, queue, budget, outputs)
    }

    /// Runs all passes that wait in `queue`, and the further passes that these cause.
    fn all<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        mut queue: VecDeque<Pass<E::Value>>,
        mut budget: PassBudget,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        while let Some(pass) = queue.pop_front() {
            match pass {
                Pass::Ingress(pass) => {
                    budget.take(pass.generation)?;
                    self.ingress(engine, pass, &mut queue)?;
                }
                Pass::Egress(pass) => {
                    budget.take(pass.generation)?;
                    self.egress(engine, pass, &mut queue, outputs)?;
                }
            }
        }
        Ok(())
    }

    /// Runs the pass of a packet through ingress, and queues the passes that follow.
    fn ingress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        pass: Ingress<E::Value>,
        queue: &mut VecDeque<Pass<E::Value>>,
    ) -> Result<(), RunError> {
        let Ingress { packet, port, path, counted_length, generation, number, .. } = pass;
        let length = packet.len();
        engine.event_of(Detail::Passes, |_| Event::Pass {
            number,
            pipeline: "ingress",
            port,
            length,
            path: path.name(),
        });
        engine.begin_pass(counted_length)?;
        if generation > 0 {
            engine.charge_copy(length)?;
        }
        let Pipeline { parser, control, .. } = &self.ingress;
        let layout = engine.layout;
        let follows = engine.layout.dialect == Dialect::PsaSwitch;
        let mut shared = Shared::default();
        // psa_switch clears the port of a resubmitted packet.
        let shown_port = if follows && path == PacketPath::Resubmit { 0 } else { port };
        let inputs = Inputs::all(0)
            .with(Known::Port, shown_port.into())
            .with(Known::Path, layout.names.packet_path(path).into())
            .with(Known::Now, microseconds(engine));

        let input = filled(engine, parser.types.get(2), PSA.before_parser, &inputs)?;
        let headers = initial(engine, &parser.types, 0)?;
        let metadata = initial(engine, &parser.types, 1)?;
        engine.load_packet(packet);
        let mut arguments = [headers, metadata, input, pass.resubmitted, pass.recirculated];
        let outcome = engine.run_parser(parser.id, &mut arguments)?;
        if follows {
            shared.take(engine, &arguments, &parser.types, &[1])?;
        }
        let [headers, metadata, ..] = arguments;

        let inputs = inputs.with(Known::ParserError, outcome.error.into());
        let input = filled(engine, control.types.get(2), PSA.before_ingress, &inputs)?;
        let output = filled(engine, control.types.get(3), PSA.ingress_says, &inputs)?;
        let mut arguments = [headers, metadata, input, output];
        engine.run_control(control.id, &mut arguments)?;
        if follows {
            shared.take(engine, &arguments, &control.types, &[1])?;
        }
        let [headers, metadata, _, decisions] = arguments;
        let passed = Passed { port, counted_length, generation };
        self.after_ingress(engine, passed, [headers, metadata, decisions], shared, queue)
    }

    /// Runs the ingress deparser for a packet, and queues the packet and its copies for their next
    /// passes.
    fn after_ingress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        Passed { port, counted_length, generation }: Passed,
        [headers, metadata, decisions]: [E::Value; 3],
        mut shared: Shared<E::Value>,
        queue: &mut VecDeque<Pass<E::Value>>,
    ) -> Result<(), RunError> {
        let Pipeline { parser, control, deparser } = &self.ingress;
        let follows = engine.layout.dialect == Dialect::PsaSwitch;
        let type_id = *control.types.get(3).ok_or(PARAMETERS)?;
        let decision = decided(engine, &PSA.after_ingress, &decisions, type_id, None);
        let class_of_service =
            engine.field_number(&decisions, type_id, MetadataField::ClassOfService) as u64;

        let mut arguments = [
            initial(engine, &deparser.types, 0)?,
            initial(engine, &deparser.types, 1)?,
            initial(engine, &deparser.types, 2)?,
            headers,
            metadata,
            decisions,
        ];
        // psa_switch does not deparse a packet that does not continue to egress.
        if !follows {
            engine.run_control(deparser.id, &mut arguments)?;
        } else if !matches!(decision.fate, Fate::Drop { .. } | Fate::Resubmit) {
            shared.fill(engine, &mut arguments, &deparser.types, &[0, 1, 2])?;
            engine.run_control(deparser.id, &mut arguments)?;
            shared.take(engine, &arguments, &deparser.types, &[0, 1, 2])?;
        }
        let [cloned_meta, mut resubmit_meta, normal_meta, _, metadata, _] = arguments;
        let modified = engine.take_deparsed_packet();
        let packet = engine.take_packet();

        let copied = Copied { counted_length, generation, path: PacketPath::CloneI2e };
        self.copies(engine, decision.copies, &packet, copied, &cloned_meta, queue)?;
        let (path, replicas) = match decision.fate {
            Fate::Unicast { port } => {
                (PacketPath::NormalUnicast, vec![Replica { port, instance: 0 }])
            }
            Fate::Multicast { group } => {
                (PacketPath::NormalMulticast, engine.state.replicas(group).to_vec())
            }
            Fate::Resubmit => {
                engine.event(|_| Event::Copy { kind: "resubmit" });
                let cleared = initial(engine, &parser.types, 3)?;
                engine.keep(&mut resubmit_meta);
                let path = PacketPath::Resubmit;
                let number = engine.further_pass(path.name());
                queue.push_back(Pass::Ingress(Ingress {
                    packet,
                    port,
                    path,
                    resubmitted: if follows { cleared } else { resubmit_meta },
                    recirculated: initial(engine, &parser.types, 4)?,
                    counted_length,
                    generation: generation + 1,
                    number,
                }));
                return Ok(());
            }
            Fate::Drop { reason } => {
                drop_packet(engine, reason);
                return Ok(());
            }
            Fate::Recirculate => return Err(NO_PASS),
        };
        if replicas.is_empty() {
            drop_packet(engine, "the multicast group has no members");
        }
        let shared = shared.without_headers(engine);
        let stays = control.types.get(1) == self.egress.parser.types.get(1);
        for replica in replicas {
            if path == PacketPath::NormalMulticast {
                engine.charge_copy(modified.len())?;
            }
            let mut pass = self.egress_pass(engine, modified.clone(), path, generation)?;
            pass.port = replica.port;
            pass.instance = replica.instance;
            pass.class_of_service = class_of_service;
            if follows {
                pass.counted_length = counted_length;
                pass.shared = shared.copy(engine);
            } else {
                pass.normal = engine.copy(&normal_meta);
                if stays {
                    pass.metadata = engine.copy(&metadata);
                }
            }
            enqueue(engine, pass, queue)?;
        }
        Ok(())
    }

    /// Queues copies of a packet for egress. Their metadata are those that the deparser has
    /// returned for clones.
    fn copies<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        sessions: Vec<u32>,
        packet: &[u8],
        Copied { counted_length, generation, path }: Copied,
        metadata: &E::Value,
        queue: &mut VecDeque<Pass<E::Value>>,
    ) -> Result<(), RunError> {
        let follows = engine.layout.dialect == Dialect::PsaSwitch;
        let is_of_ingress = path == PacketPath::CloneI2e;
        for session in sessions {
            let Some(config) = engine.state.clone_session(session) else {
                continue;
            };
            let kind = match is_of_ingress {
                true => "clone from ingress to egress",
                false => "clone from egress to egress",
            };
            engine.event(|_| Event::Copy { kind });
            let mut copy = packet.to_vec();
            copy.truncate(most(config.packet_length));
            for replica in replicas(engine, &config) {
                engine.charge_copy(copy.len())?;
                let mut pass = self.egress_pass(engine, copy.clone(), path, generation + 1)?;
                pass.port = replica.port;
                pass.instance = replica.instance;
                pass.class_of_service = u64::from(config.class_of_service);
                if follows {
                    pass.counted_length = counted_length;
                } else if is_of_ingress {
                    pass.cloned_at_ingress = engine.copy(metadata);
                } else {
                    pass.cloned_at_egress = engine.copy(metadata);
                }
                enqueue(engine, pass, queue)?;
            }
        }
        Ok(())
    }

    fn egress_pass<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        packet: Vec<u8>,
        path: PacketPath,
        generation: u32,
    ) -> Result<Egress<E::Value>, RunError> {
        let types = &self.egress.parser.types;
        Ok(Egress {
            port: 0,
            path,
            instance: 0,
            class_of_service: 0,
            metadata: initial(engine, types, 1)?,
            normal: initial(engine, types, 3)?,
            cloned_at_ingress: initial(engine, types, 4)?,
            cloned_at_egress: initial(engine, types, 5)?,
            shared: Shared::default(),
            counted_length: packet.len() as u64,
            packet,
            generation,
            number: 0,
        })
    }

    /// Runs the pass of a packet through egress, and outputs it or queues the passes that follow.
    fn egress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        pass: Egress<E::Value>,
        queue: &mut VecDeque<Pass<E::Value>>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let Egress { packet, port, path, shared, counted_length, generation, .. } = pass;
        let length = packet.len();
        let number = pass.number;
        engine.event_of(Detail::Passes, |_| Event::Pass {
            number,
            pipeline: "egress",
            port,
            length,
            path: path.name(),
        });
        engine.begin_pass(counted_length)?;
        let Pipeline { parser, control, .. } = &self.egress;
        let layout = engine.layout;
        let inputs = Inputs::all(0)
            .with(Known::Port, port.into())
            .with(Known::Path, layout.names.packet_path(path).into())
            .with(Known::Instance, pass.instance.into())
            .with(Known::ClassOfService, pass.class_of_service)
            .with(Known::Now, microseconds(engine));

        let input = filled(engine, parser.types.get(2), PSA.before_egress_parser, &inputs)?;
        let headers = initial(engine, &parser.types, 0)?;
        let metadata = pass.metadata;
        engine.load_packet(packet);
        let (normal, at_ingress) = (pass.normal, pass.cloned_at_ingress);
        let mut arguments = [headers, metadata, input, normal, at_ingress, pass.cloned_at_egress];
        shared.fill(engine, &mut arguments, &parser.types, &[1, 3, 4, 5])?;
        let outcome = engine.run_parser(parser.id, &mut arguments)?;
        let [headers, metadata, ..] = arguments;

        let inputs = inputs.with(Known::ParserError, outcome.error.into());
        let input = filled(engine, control.types.get(2), PSA.before_egress, &inputs)?;
        let decisions = initial(engine, &control.types, 3)?;
        let mut arguments = [headers, metadata, input, decisions];
        engine.run_control(control.id, &mut arguments)?;
        let [headers, metadata, _, decisions] = arguments;
        let passed = Passed { port, counted_length, generation };
        self.after_egress(engine, passed, [headers, metadata, decisions], queue, outputs)
    }

    /// Runs the egress deparser for a packet, and transmits, recirculates or drops it.
    fn after_egress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        Passed { port, counted_length, generation }: Passed,
        [headers, metadata, decisions]: [E::Value; 3],
        queue: &mut VecDeque<Pass<E::Value>>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let Pipeline { control, deparser, .. } = &self.egress;
        let follows = engine.layout.dialect == Dialect::PsaSwitch;
        let type_id = *control.types.get(3).ok_or(PARAMETERS)?;
        let decision = decided(engine, &PSA.after_egress, &decisions, type_id, Some(port));

        let inputs = Inputs::all(0).with(Known::Port, port.into());
        let input = filled(engine, deparser.types.get(5), PSA.before_egress_deparser, &inputs)?;
        let mut arguments = [
            initial(engine, &deparser.types, 0)?,
            initial(engine, &deparser.types, 1)?,
            headers,
            metadata,
            decisions,
            input,
        ];
        engine.run_control(deparser.id, &mut arguments)?;
        let [cloned_meta, mut recirculated_meta, ..] = arguments;
        let modified = engine.take_deparsed_packet();

        let copied = Copied { counted_length, generation, path: PacketPath::CloneE2e };
        self.copies(engine, decision.copies, &modified, copied, &cloned_meta, queue)?;
        if let Fate::Drop { reason } = decision.fate {
            drop_packet(engine, reason);
        } else if decision.fate == Fate::Recirculate {
            engine.event(|_| Event::Copy { kind: "recirculate" });
            let cleared = initial(engine, &self.ingress.parser.types, 4)?;
            engine.keep(&mut recirculated_meta);
            let path = PacketPath::Recirculate;
            let number = engine.further_pass(path.name());
            queue.push_back(Pass::Ingress(Ingress {
                counted_length: if follows { counted_length } else { modified.len() as u64 },
                packet: modified,
                port,
                path,
                resubmitted: initial(engine, &self.ingress.parser.types, 3)?,
                recirculated: if follows { cleared } else { recirculated_meta },
                generation: generation + 1,
                number,
            }));
        } else {
            output(engine, outputs, port, modified, generation);
        }
        Ok(())
    }
}

/// Queues a packet for its pass through egress. If the output port has queues of its own, the
/// packet enters one of them. Otherwise it is placed behind the passes that wait already.
fn enqueue<'p, E: Engine<'p>>(
    engine: &mut E,
    mut pass: Egress<E::Value>,
    queue: &mut VecDeque<Pass<E::Value>>,
) -> Result<(), RunError> {
    let Some(queues) = waiting::queues(engine, pass.port) else {
        pass.number = engine.further_pass(pass.path.name());
        queue.push_back(Pass::Egress(pass));
        return Ok(());
    };
    let class = pass.class_of_service;
    let place = Place {
        port: pass.port,
        // Section 6.2: a class of service that is not supported becomes class 0.
        queue: if class < u64::from(queues) { class } else { 0 },
        length: pass.packet.len() as u64,
        generation: pass.generation,
    };
    let held = pass.map(&mut |value| Ok(engine.held(value)))?;
    waiting::wait(engine, place, waiting::Pass::Psa(Box::new(held)));
    Ok(())
}

/// Evaluates rules about a packet on the output metadata of a control, and returns their decision.
fn decided<'p, E: Engine<'p>>(
    engine: &E,
    rules: &Rules,
    output_metadata: &E::Value,
    type_id: TypeId,
    port: Option<u32>,
) -> Decision {
    let number = |field| engine.field_number(output_metadata, type_id, field);
    rules.decide(&Packet { requests: None, number, port, drop_port: 0, queues: 0 })
}

impl Pipeline {
    fn new(
        program: &Program,
        package: &Package,
        parameters: [usize; 3],
    ) -> Result<Self, LoadError> {
        let [parser, control, deparser] = parameters;
        Ok(Self {
            parser: typed_parser(program, package, 0, "parser", parser)?,
            control: typed_control(program, package, 1, "control", control)?,
            deparser: typed_control(program, package, 2, "deparser", deparser)?,
        })
    }
}

fn initial<'p, E: Engine<'p>>(
    engine: &mut E,
    types: &[TypeId],
    position: usize,
) -> Result<E::Value, RunError> {
    engine.initial(*types.get(position).ok_or(PARAMETERS)?)
}

fn most(packet_length: Option<u64>) -> usize {
    packet_length.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
}

fn replicas(interpreter: &Interpreter<'_>, session: &CloneSession) -> Vec<Replica> {
    let group = session.multicast_group.map(|group| interpreter.state.replicas(group));
    session.replicas.iter().chain(group.unwrap_or_default().iter()).copied().collect()
}
