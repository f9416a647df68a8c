//! The driver of v1model, which follows BMv2's simple_switch. A packet goes through the parser,
//! checksum verification and ingress. The outcome of ingress is, in this order, clones,
//! resubmission, multicast, unicast or drop. After egress come clones, drop, checksum update and
//! deparser, recirculation, and output.
//!
//! The driver also reproduces behaviour of simple_switch beyond its documentation
//! (`targets/simple_switch/simple_switch.cpp`, `src/bm_sim/packet.cpp`):
//!
//! * The metadata of a cloned, resubmitted or recirculated packet start at zero (including
//!   `ingress_port` and `ingress_global_timestamp`), except for the fields of the field list.
//! * A packet that leaves ingress for one port has instance type 0, whatever its type was before.
//! * The packet length in egress includes headers that were made valid, and excludes those made
//!   invalid.
//! * `truncate` has no effect on a recirculated packet.
//! * A session number has 15 bits; higher bits are ignored.
//! * The last digest called is sent at the end of ingress, with the values of that moment.
//! * A packet is dropped if its `priority` is not below the number of queues of a port, which is
//!   one by default.

mod again;
pub(crate) mod field_lists;
pub(super) mod passes;
mod queue;

use self::again::{Within, keep_rest};
use self::field_lists::FieldLists;
use self::passes::{Egress, Ingress};
use self::queue::{Pass, Queue};
use super::engine::Engine;
use super::waiting::{self, Place, QueueTimes};
use super::{
    HandedOver, NO_PASS, Output, TypedBlock, assign, drop_packet, microseconds, output,
    typed_control, typed_parser,
};
use crate::error::{LoadError, RunError};
use crate::interpreter::{Effects, Preserved};
use crate::layout::{Layout, MetadataField};
use crate::state::Replica;
use crate::trace::{Detail, Event};
use architectures::{
    AT_INGRESS, Decision, Fate, Input, Inputs, Known, Packet, REPLICA, Requests, Rules, Set,
    TO_GROUP, TO_PORT, V1MODEL, beyond_drop_port, instance,
};
use ir::{ControlId, ParserId, TypeId};
use std::sync::atomic::Ordering;

/// The blocks of `V1Switch`.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    parser: TypedBlock<ParserId>,
    verify: ControlId,
    ingress: ControlId,
    egress: ControlId,
    compute: ControlId,
    deparser: ControlId,
    /// The fields that each field list preserves: first those of the user's metadata, then those of
    /// the standard metadata, which only lists of P4_14 programs contain.
    field_lists: [FieldLists; 2],
}

/// The properties of a packet for which ingress has run.
#[derive(Clone, Copy)]
struct Passed {
    port: u32,
    /// The length in bytes of the packet as it was received.
    length: u64,
    generation: u32,
}

/// The properties of a packet for which egress has run. Fields mean the same as those of [`Egress`]
/// with the same names.
#[derive(Clone, Copy)]
struct PassedEgress {
    port: u32,
    length: u64,
    received_length: u64,
    ingress_port: u32,
    most: Option<u64>,
    truncated: Option<u64>,
    generation: u32,
}

/// A clone of a v1model packet for which machine code has already run egress.
pub(crate) struct CloneAfterEgress {
    /// The port on which the packet was received.
    pub(crate) ingress_port: u32,
    /// The output port of the clone.
    pub(crate) port: u32,
    /// The length in bytes of the packet as it was received.
    pub(crate) length: u64,
    /// The maximum number of bytes of the clone that are transmitted, or `None` for no limit.
    pub(crate) most: Option<u64>,
}

/// A packet that was cloned at the end of ingress. It waits for its egress until the clone is
/// complete.
pub(crate) struct Original<V> {
    pub(crate) port: u32,
    /// The headers, the metadata and the standard metadata at the end of ingress.
    pub(crate) values: [V; 3],
    pub(crate) payload: Vec<u8>,
    /// The length of the packet in bytes that the program reads in egress as `packet_length`.
    pub(crate) length: u64,
    /// The maximum number of bytes that are transmitted, as ingress set it with `truncate`.
    pub(crate) truncated: Option<u64>,
}

/// The last control that machine code has run for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastControl {
    Ingress,
    /// Egress has run for this output port.
    Egress(u32),
}

impl Blocks {
    pub(super) fn new(layout: &Layout) -> Result<Self, LoadError> {
        let program = &layout.program;
        let main = &program.main;
        let control = |position, block, parameters| {
            typed_control(program, main, position, block, parameters).map(|block| block.id)
        };
        let parser = typed_parser(program, main, 0, "parser", 3)?;
        let lists = |position: usize| {
            let metadata = parser.types.get(position);
            metadata.map(|metadata| FieldLists::new(layout, *metadata)).unwrap_or_default()
        };
        Ok(Self {
            field_lists: [lists(1), lists(2)],
            parser,
            verify: control(1, "checksum verification", 2)?,
            ingress: control(2, "ingress", 3)?,
            egress: control(3, "egress", 3)?,
            compute: control(4, "checksum update", 2)?,
            deparser: control(5, "deparser", 1)?,
        })
    }

    fn type_of(&self, position: usize) -> Result<TypeId, RunError> {
        self.parser.types.get(position).copied().ok_or_else(|| RunError::internal("parser"))
    }

    pub(super) fn process<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let metadata = engine.initial(self.type_of(1)?)?;
        let mut standard = engine.initial(self.type_of(2)?)?;
        let inputs = self.inputs(engine).with(Known::Port, port.into());
        self.assign(engine, &mut standard, V1MODEL.received, &inputs)?;
        let first = Ingress {
            packet: packet.to_vec(),
            port,
            metadata,
            standard,
            path: "normal",
            generation: 0,
            number: 0,
        };
        let mut queue = Queue::default();
        queue.push(Pass::Ingress(first));
        self.all(engine, queue, outputs)
    }

    /// Completes the processing of a packet after machine code has run ingress or egress for it.
    /// The interpreter already holds the packet, the requests of the blocks, the parser's cursor
    /// and the change of the packet's length.
    pub(crate) fn complete<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        HandedOver { last_control, port, length }: HandedOver,
        arguments: [E::Value; 3],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let mut queue = Queue::default();
        queue.budget.take(0)?;
        match last_control {
            LastControl::Ingress => {
                let passed = Passed { port, length, generation: 0 };
                self.after_ingress(engine, passed, arguments, &mut queue)?;
            }
            LastControl::Egress(to) => {
                queue.budget.take(0)?;
                let passed = PassedEgress {
                    port: to,
                    length,
                    received_length: length,
                    ingress_port: port,
                    most: None,
                    truncated: None,
                    generation: 0,
                };
                self.after_egress(engine, passed, arguments, &mut queue, outputs)?;
            }
        }
        self.all(engine, queue, outputs)
    }

    /// Completes a clone for which machine code has run egress, and in which egress has requested
    /// another copy or pass. Then completes the packet that was cloned, unless ingress has dropped
    /// it (`original` is `None`). The interpreter already holds the payload and the requests of the
    /// clone.
    pub(crate) fn complete_clone<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        clone: CloneAfterEgress,
        arguments: [E::Value; 3],
        original: Option<Original<E::Value>>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let CloneAfterEgress { ingress_port, port, length, most } = clone;
        let mut queue = Queue::default();
        queue.budget.take(0)?;
        queue.budget.take(1)?;
        if let Some(Original { port, values, payload, length: in_egress, truncated }) = original {
            let [headers, metadata, mut standard] = values;
            self.assign(engine, &mut standard, TO_PORT, &Inputs::all(0))?;
            let passing = Egress {
                port,
                headers,
                metadata,
                standard,
                payload,
                length: in_egress,
                received_length: length,
                ingress_port,
                most: None,
                truncated,
                priority: 0,
                path: "normal",
                generation: 0,
                number: 0,
            };
            self.enqueue(engine, passing, &mut queue)?;
        }
        let passed = PassedEgress {
            port,
            length,
            received_length: length,
            ingress_port,
            most,
            truncated: None,
            generation: 1,
        };
        self.after_egress(engine, passed, arguments, &mut queue, outputs)?;
        self.all(engine, queue, outputs)
    }

    /// Resumes a packet that leaves the queue of its output port: runs egress, and all passes that
    /// follow.
    pub(super) fn resume<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        pass: Egress<E::Value>,
        times: &QueueTimes,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let mut queue = Queue::default();
        queue.budget.take(pass.generation)?;
        self.egress(engine, pass, Some(times), &mut queue, outputs)?;
        self.all(engine, queue, outputs)
    }

    /// Runs all passes that wait in `queue`, and the further passes that these cause.
    fn all<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        mut queue: Queue<E::Value>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        while let Some(pass) = queue.next() {
            match pass {
                Pass::Ingress(pass) => {
                    queue.budget.take(pass.generation)?;
                    self.ingress(engine, pass, &mut queue)?;
                }
                Pass::Egress(pass) => {
                    queue.budget.take(pass.generation)?;
                    self.egress(engine, *pass, None, &mut queue, outputs)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the given assignments of the architecture to fields of the standard metadata.
    fn assign<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        standard: &mut E::Value,
        sets: &[Set],
        inputs: &Inputs<u64>,
    ) -> Result<(), RunError> {
        assign(engine, standard, self.type_of(2)?, sets, inputs);
        Ok(())
    }

    fn inputs<'p, E: Engine<'p>>(&self, engine: &E) -> Inputs<u64> {
        let drop_port = engine.layout.drop_port;
        let inputs = Inputs::all(0).with(Known::Now, microseconds(engine));
        inputs.with(Known::BehindDropPort, beyond_drop_port(drop_port.into()))
    }

    /// Evaluates rules about a packet on its blocks' requests and its standard metadata, and
    /// returns their decision.
    fn decide<'p, E: Engine<'p>>(
        &self,
        engine: &E,
        rules: &Rules,
        requests: Option<&dyn Requests>,
        standard: &E::Value,
        port: Option<u32>,
    ) -> Result<Decision, RunError> {
        let type_id = self.type_of(2)?;
        let number = |field| engine.field_number(standard, type_id, field);
        let drop_port = engine.layout.drop_port;
        let own = port.and_then(|port| engine.state.port_queues(port));
        let queues = own.unwrap_or_else(|| engine.state.priority_queues.load(Ordering::Relaxed));
        Ok(rules.decide(&Packet { requests, number, port, drop_port, queues }))
    }

    fn number<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        standard: &E::Value,
        field: MetadataField,
    ) -> Result<u128, RunError> {
        Ok(engine.field_number(standard, self.type_of(2)?, field))
    }

    fn ingress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        pass: Ingress<E::Value>,
        queue: &mut Queue<E::Value>,
    ) -> Result<(), RunError> {
        let Ingress { packet, port, metadata, mut standard, path, generation, number } = pass;
        let length = packet.len() as u64 + engine.beyond;
        engine.event_of(Detail::Passes, |_| Event::Pass {
            number,
            pipeline: "ingress",
            port,
            length: packet.len(),
            path,
        });
        engine.begin_pass(length)?;
        if generation > 0 {
            engine.charge_copy(usize::try_from(length).unwrap_or(usize::MAX))?;
        }
        let inputs = self.inputs(engine).with(Known::Length, length);
        self.assign(engine, &mut standard, V1MODEL.before_parser, &inputs)?;

        let mut arguments = self.parse(engine, packet, metadata, standard)?;
        let passed = Passed { port, length, generation };
        keep_rest(engine, self.ingress, Within::Ingress(passed), queue)?;
        engine.run_control_and_send_digest(self.ingress, &mut arguments)?;
        self.after_ingress(engine, passed, arguments, queue)
    }

    /// Decides, by the packet's metadata, what happens to it after ingress: queues copies and
    /// further passes.
    fn after_ingress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        Passed { port, length, generation }: Passed,
        arguments: [E::Value; 3],
        queue: &mut Queue<E::Value>,
    ) -> Result<(), RunError> {
        let effects = std::mem::take(&mut engine.effects);
        let payload_length = engine.payload().len();
        let mut packet = engine.take_packet();
        let length_in_egress = length.saturating_add_signed(engine.take_length_change());
        let [mut headers, mut metadata, mut standard] = arguments;

        let requests: &dyn Requests = &effects;
        let rules = &V1MODEL.after_ingress;
        let decision = self.decide(engine, rules, Some(requests), &standard, None)?;
        if !decision.copies.is_empty() {
            // Parsing the copies runs blocks for other packets.
            for value in [&mut headers, &mut metadata, &mut standard] {
                engine.keep(value);
            }
        }
        let kept = Kept { control: self.ingress, metadata: &metadata, standard: &standard };
        for session in decision.copies {
            let preserved = effects.clone_preserves();
            let copy = Copy { session, preserved, generation, port };
            self.clone_at_ingress(engine, &packet, &kept, &copy, queue)?;
        }
        let (multicast, destination) = match decision.fate {
            Fate::Unicast { port } => (None, port),
            Fate::Multicast { group } => (Some(group), 0),
            Fate::Resubmit => {
                engine.event(|_| Event::Copy { kind: "resubmit" });
                let preserved = effects.resubmit.unwrap_or(Preserved::Nothing);
                let (metadata, standard) =
                    self.preserved(engine, &kept, &preserved, instance::RESUBMITTED)?;
                let generation = generation + 1;
                let path = "resubmitted";
                let number = engine.further_pass(path);
                let pass = Ingress { packet, port, metadata, standard, path, generation, number };
                queue.push(Pass::Ingress(pass));
                return Ok(());
            }
            Fate::Drop { reason } => {
                drop_packet(engine, reason);
                return Ok(());
            }
            Fate::Recirculate => return Err(NO_PASS),
        };
        packet.drain(..packet.len().saturating_sub(payload_length));
        let payload = packet;
        let sets = if multicast.is_some() { TO_GROUP } else { TO_PORT };
        self.assign(engine, &mut standard, sets, &Inputs::all(0))?;
        let passing = Egress {
            port: destination,
            headers,
            metadata,
            standard,
            payload,
            length: length_in_egress,
            received_length: length,
            ingress_port: port,
            most: None,
            // BMv2 stores the length with the packet, and a replica is a new packet without it.
            truncated: if multicast.is_some() { None } else { effects.truncate },
            priority: 0,
            path: if multicast.is_some() { "replicated" } else { "normal" },
            generation,
            number: 0,
        };
        match multicast {
            Some(group) => self.replicate(engine, &passing, group, queue),
            None => self.enqueue(engine, passing, queue),
        }
    }

    /// Runs the parser and checksum verification for a packet.
    fn parse<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        packet: Vec<u8>,
        metadata: E::Value,
        standard: E::Value,
    ) -> Result<[E::Value; 3], RunError> {
        let headers = engine.initial(self.type_of(0)?)?;
        engine.load_packet(packet);
        let mut arguments = [headers, metadata, standard];
        let outcome = engine.run_parser(self.parser.id, &mut arguments)?;
        let [headers, metadata, mut standard] = arguments;
        let mut verified = [headers, metadata];
        engine.run_control(self.verify, &mut verified)?;
        let [headers, metadata] = verified;
        let inputs = Inputs::all(0)
            .with(Known::ParserError, outcome.error.into())
            .with(Known::ChecksumFailed, engine.effects.checksum_error.into());
        self.assign(engine, &mut standard, V1MODEL.before_ingress, &inputs)?;
        Ok([headers, metadata, standard])
    }

    /// Makes the clones that ingress has requested (`clone(CloneType.I2E)`). They contain the
    /// packet as it was received, and are parsed again.
    fn clone_at_ingress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        packet: &[u8],
        kept: &Kept<'_, E::Value>,
        copy: &Copy,
        queue: &mut Queue<E::Value>,
    ) -> Result<(), RunError> {
        if engine.state.clone_session(copy.session).is_none() {
            return Ok(());
        }
        engine.event(|_| Event::Copy { kind: "clone from ingress to egress" });
        let mut standard = engine.initial(self.type_of(2)?)?;
        let inputs = Inputs::all(0).with(Known::Port, copy.port.into());
        self.assign(engine, &mut standard, AT_INGRESS, &inputs)?;
        let fresh = engine.initial(self.type_of(1)?)?;
        let [headers, _, _] = self.parse(engine, packet.to_vec(), fresh, standard)?;
        engine.effects = Effects::default();
        engine.take_length_change();
        let payload = engine.payload().to_vec();
        let (metadata, standard) =
            self.preserved(engine, kept, &copy.preserved, instance::INGRESS_CLONE)?;
        let length = packet.len() as u64 + engine.beyond;
        let passing = Egress {
            port: 0,
            headers,
            metadata,
            standard,
            payload,
            length,
            received_length: length,
            ingress_port: copy.port,
            most: None,
            truncated: None,
            priority: 0,
            path: "cloned at ingress",
            generation: copy.generation + 1,
            number: 0,
        };
        self.clone_to(engine, passing, copy.session, queue)
    }

    /// Queues a clone for each port of its clone session.
    fn clone_to<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        mut passing: Egress<E::Value>,
        session: u32,
        queue: &mut Queue<E::Value>,
    ) -> Result<(), RunError> {
        let Some(config) = engine.state.clone_session(session) else {
            return Ok(());
        };
        if let Some(group) = config.multicast_group {
            self.replicate(engine, &passing, group, queue)?;
        }
        passing.most = config.packet_length;
        self.send_copies(engine, &passing, &config.replicas, queue)
    }

    fn replicate<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        passing: &Egress<E::Value>,
        group: u32,
        queue: &mut Queue<E::Value>,
    ) -> Result<(), RunError> {
        let replicas = engine.state.replicas(group);
        if replicas.is_empty() {
            drop_packet(engine, "the multicast group has no members");
        }
        self.send_copies(engine, passing, &replicas, queue)
    }

    fn send_copies<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        passing: &Egress<E::Value>,
        replicas: &[Replica],
        queue: &mut Queue<E::Value>,
    ) -> Result<(), RunError> {
        for replica in replicas {
            engine.charge_copy(passing.payload.len() + engine.beyond as usize)?;
            let mut copy = passing.copied(engine);
            copy.port = replica.port;
            let inputs = Inputs::all(0).with(Known::Instance, replica.instance.into());
            self.assign(engine, &mut copy.standard, REPLICA, &inputs)?;
            self.enqueue(engine, copy, queue)?;
        }
        Ok(())
    }

    fn enqueue<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        mut passing: Egress<E::Value>,
        queue: &mut Queue<E::Value>,
    ) -> Result<(), RunError> {
        let (rules, port) = (&V1MODEL.before_queue, Some(passing.port));
        let decision = self.decide(engine, rules, None, &passing.standard, port)?;
        if let Fate::Drop { reason } = decision.fate {
            drop_packet(engine, reason);
            return Ok(());
        }
        passing.priority = self.number(engine, &passing.standard, MetadataField::Priority)?;
        if waiting::queues(engine, passing.port).is_some() {
            let place = passing.place();
            let held = passing.map(&mut |value| Ok(engine.held(value)))?;
            waiting::wait(engine, place, waiting::Pass::V1model(Box::new(held)));
            return Ok(());
        }
        passing.number = engine.further_pass(passing.path);
        let queue_depth =
            queue.depth(passing.port, passing.priority) + behind(engine, passing.port);
        let inputs = self.inputs(engine).with(Known::QueueDepth, queue_depth);
        self.assign(engine, &mut passing.standard, V1MODEL.queued, &inputs)?;
        if !queue.is_empty() {
            for value in [&mut passing.headers, &mut passing.metadata, &mut passing.standard] {
                engine.keep(value);
            }
        }
        queue.push(Pass::Egress(Box::new(passing)));
        Ok(())
    }

    /// Runs the pass of a packet through egress. `times` says when the packet entered and left the
    /// queue of its port, if the port has queues of its own.
    fn egress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        pass: Egress<E::Value>,
        times: Option<&QueueTimes>,
        queue: &mut Queue<E::Value>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let Egress { port, headers, metadata, mut standard, payload, path, generation, .. } = pass;
        let passed = PassedEgress {
            port,
            length: pass.length,
            received_length: pass.received_length,
            ingress_port: pass.ingress_port,
            most: pass.most,
            truncated: pass.truncated,
            generation,
        };
        let length = usize::try_from(pass.length).unwrap_or(usize::MAX);
        let number = pass.number;
        engine.event_of(Detail::Passes, |_| Event::Pass {
            number,
            pipeline: "egress",
            port,
            length,
            path,
        });
        engine.begin_pass(pass.received_length)?;
        let queue_depth = match times {
            Some(times) => times.depth_after.into(),
            None => queue.depth(port, pass.priority) + behind(engine, port),
        };
        let inputs = self
            .inputs(engine)
            .with(Known::Port, port.into())
            .with(Known::Length, pass.length)
            .with(Known::QueueDepth, queue_depth);
        self.assign(engine, &mut standard, V1MODEL.before_egress, &inputs)?;
        if let Some(times) = times {
            let (entered, left) = (micros(times.entered), micros(times.left));
            let inputs = Inputs::all(0)
                .with(Known::Now, entered)
                .with(Known::QueueDepth, times.depth_before.into());
            self.assign(engine, &mut standard, V1MODEL.queued, &inputs)?;
            // As in simple_switch, this is the difference of the two timestamps.
            let waited = Input::Number(left.saturating_sub(entered));
            let sets = [(MetadataField::DeqTimedelta, waited)];
            self.assign(engine, &mut standard, &sets, &Inputs::all(0))?;
        }

        // Checksums with payload and the deparser read the payload.
        engine.load_packet(payload);
        let mut arguments = [headers, metadata, standard];
        keep_rest(engine, self.egress, Within::Egress(passed), queue)?;
        engine.run_control(self.egress, &mut arguments)?;
        self.after_egress(engine, passed, arguments, queue, outputs)
    }

    /// Decides what happens to a packet after egress, deparses it and outputs it.
    fn after_egress<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        pass: PassedEgress,
        arguments: [E::Value; 3],
        queue: &mut Queue<E::Value>,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let PassedEgress { port, generation, .. } = pass;
        let effects = std::mem::take(&mut engine.effects);
        let length = pass.length.saturating_add_signed(engine.take_length_change());
        let [headers, metadata, standard] = arguments;

        let kept = Kept { control: self.egress, metadata: &metadata, standard: &standard };
        let requests: &dyn Requests = &effects;
        let rules = &V1MODEL.after_egress;
        let decision = self.decide(engine, rules, Some(requests), &standard, Some(port))?;
        for session in decision.copies {
            if engine.state.clone_session(session).is_none() {
                continue;
            }
            engine.event(|_| Event::Copy { kind: "clone from egress to egress" });
            let (clone_metadata, clone_standard) =
                self.preserved(engine, &kept, &effects.clone_preserves(), instance::EGRESS_CLONE)?;
            let copy = Egress {
                port: 0,
                headers: engine.copy(&headers),
                metadata: clone_metadata,
                standard: clone_standard,
                payload: engine.packet().to_vec(),
                length,
                received_length: pass.received_length,
                ingress_port: pass.ingress_port,
                most: None,
                truncated: None,
                priority: 0,
                path: "cloned at egress",
                generation: generation + 1,
                number: 0,
            };
            self.clone_to(engine, copy, session, queue)?;
        }
        if let Fate::Drop { reason } = decision.fate {
            drop_packet(engine, reason);
            return Ok(());
        }

        let mut checked = [headers, metadata];
        engine.run_control(self.compute, &mut checked)?;
        let [headers, metadata] = checked;
        let mut emitted = [headers];
        engine.run_control(self.deparser, &mut emitted)?;
        let [headers] = emitted;
        let payload = engine.take_packet();
        let mut packet = engine.take_deparsed(&payload);
        packet.truncate(bytes(pass.most));

        if decision.fate == Fate::Recirculate {
            let preserved = effects.recirculate.unwrap_or(Preserved::Nothing);
            engine.event(|_| Event::Copy { kind: "recirculate" });
            let kept = Kept { control: self.egress, metadata: &metadata, standard: &standard };
            let (metadata, standard) =
                self.preserved(engine, &kept, &preserved, instance::RECIRCULATED)?;
            let port = pass.ingress_port;
            let generation = generation + 1;
            let path = "recirculated";
            let number = engine.further_pass(path);
            let again = Ingress { packet, port, metadata, standard, path, generation, number };
            queue.push(Pass::Ingress(again));
            return Ok(());
        }
        packet.truncate(bytes(effects.truncate).min(bytes(pass.truncated)));
        output(engine, outputs, port, packet, generation);
        for (position, value) in [headers, metadata, standard].into_iter().enumerate() {
            engine.done_with(self.type_of(position)?, value);
        }
        Ok(())
    }

    /// Returns the metadata of a clone or of a packet that enters ingress again. They are zero,
    /// except for the fields of the field list and the instance type.
    fn preserved<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        kept: &Kept<'_, E::Value>,
        preserved: &Preserved,
        instance_type: u64,
    ) -> Result<(E::Value, E::Value), RunError> {
        let layout = engine.layout;
        let mut metadata = engine.initial(self.type_of(1)?)?;
        let mut standard = engine.initial(self.type_of(2)?)?;
        match preserved {
            Preserved::Nothing => {}
            Preserved::FieldList(list) => {
                let [of_user, of_switch] = &self.field_lists;
                for path in of_user.of(*list) {
                    engine.copy_part(self.type_of(1)?, path, kept.metadata, &mut metadata);
                }
                for path in of_switch.of(*list) {
                    engine.copy_part(self.type_of(2)?, path, kept.standard, &mut standard);
                }
            }
            Preserved::Places(places) => {
                let control = layout.program.controls.get(kept.control.index());
                let parameters = control.map_or(&[][..], |control| &control.parameters);
                let variable =
                    |position: usize| parameters.get(position).map(|parameter| parameter.variable);
                for place in places {
                    if Some(place.variable) == variable(1) {
                        engine.copy_part(
                            self.type_of(1)?,
                            &place.path,
                            kept.metadata,
                            &mut metadata,
                        );
                    } else if Some(place.variable) == variable(2) {
                        engine.copy_part(
                            self.type_of(2)?,
                            &place.path,
                            kept.standard,
                            &mut standard,
                        );
                    }
                }
            }
        }
        let sets = [(MetadataField::InstanceType, Input::Number(instance_type))];
        self.assign(engine, &mut standard, &sets, &Inputs::all(0))?;
        Ok((metadata, standard))
    }
}

/// The metadata of a packet at the end of the control that requested a copy of it. The copy may
/// preserve some of their fields.
struct Kept<'v, V> {
    control: ControlId,
    metadata: &'v V,
    standard: &'v V,
}

/// A clone to be made: its clone session, and the properties that it inherits from the packet.
struct Copy {
    session: u32,
    preserved: Preserved,
    generation: u32,
    port: u32,
}

/// Returns the number of packets that the switch has already transmitted to a port and that still
/// wait there, outside of this crate's queues.
fn behind<'p, E: Engine<'p>>(engine: &E, port: u32) -> u64 {
    engine.state.waiting(port).into()
}

fn bytes(most: Option<u64>) -> usize {
    most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
}

/// Returns a time in microseconds, the unit of BMv2's timestamps.
fn micros(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl<V> Egress<V> {
    /// Returns the queue that the packet enters, with the properties that the queue needs. The
    /// length is the one with which the packet would leave if egress did not change it.
    fn place(&self) -> Place {
        let most = self.most.unwrap_or(u64::MAX).min(self.truncated.unwrap_or(u64::MAX));
        Place {
            port: self.port,
            queue: u64::try_from(self.priority).unwrap_or(u64::MAX),
            length: self.length.min(most),
            generation: self.generation,
        }
    }

    fn copied<'p>(&self, engine: &impl Engine<'p, Value = V>) -> Self {
        Self {
            headers: engine.copy(&self.headers),
            metadata: engine.copy(&self.metadata),
            standard: engine.copy(&self.standard),
            payload: self.payload.clone(),
            ..*self
        }
    }
}
