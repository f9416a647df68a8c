//! The driver of PNA_NIC (Portable NIC Architecture, version 0.7): main parser, main control, main
//! deparser, then recirculation, output or drop. A packet for which the program chooses no port is
//! dropped. The pre control was removed in version 0.7; programs for earlier versions declare it
//! and its types themselves.

use super::engine::{Engine, PARAMETERS};
use super::{
    NO_PASS, Output, PassBudget, TypedBlock, drop_packet, filled, microseconds, output,
    typed_control, typed_parser,
};
use crate::error::{LoadError, RunError};
use crate::layout::Layout;
use crate::trace::{Detail, Event};
use architectures::{Fate, Inputs, Known, PNA, Packet};
use ir::{ControlId, ParserId, TypeId};

/// The blocks of `PNA_NIC`.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    parser: TypedBlock<ParserId>,
    pre: Option<TypedBlock<ControlId>>,
    control: TypedBlock<ControlId>,
    deparser: TypedBlock<ControlId>,
}

impl Blocks {
    pub(super) fn new(layout: &Layout) -> Result<Self, LoadError> {
        let program = &layout.program;
        let main = &program.main;
        let with_pre = main.arguments.len() > 3;
        let pre = with_pre.then(|| typed_control(program, main, 1, "pre control", 4));
        let next = if with_pre { 2 } else { 1 };
        Ok(Self {
            parser: typed_parser(program, main, 0, "main parser", 3)?,
            pre: pre.transpose()?,
            control: typed_control(program, main, next, "main control", 4)?,
            deparser: typed_control(program, main, next + 1, "main deparser", 3)?,
        })
    }

    pub(super) fn process<'p>(
        &self,
        engine: &mut impl Engine<'p>,
        port: u32,
        packet: &[u8],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        self.passes(engine, port, (packet.to_vec(), 0), PassBudget::default(), outputs)
    }

    /// Completes the processing of a packet after machine code has run the main control for it. The
    /// arguments are the headers, the metadata, and the main control's output metadata.
    pub(super) fn complete<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        port: u32,
        arguments: [E::Value; 3],
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        let mut budget = PassBudget::default();
        budget.take(0)?;
        match self.after_control(engine, arguments, 0, outputs)? {
            Some(again) => self.passes(engine, port, (again, 1), budget, outputs),
            None => Ok(()),
        }
    }

    /// Runs a pass of a packet, and all further passes that recirculation causes.
    fn passes<'p>(
        &self,
        engine: &mut impl Engine<'p>,
        port: u32,
        (mut packet, mut generation): (Vec<u8>, u32),
        mut budget: PassBudget,
        outputs: &mut Vec<Output>,
    ) -> Result<(), RunError> {
        loop {
            budget.take(generation)?;
            match self.pass(engine, port, packet, generation, outputs)? {
                Some(again) => packet = again,
                None => return Ok(()),
            }
            generation += 1;
        }
    }

    /// Runs one pass of a packet. Returns the packet if it is recirculated.
    fn pass<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        port: u32,
        packet: Vec<u8>,
        generation: u32,
        outputs: &mut Vec<Output>,
    ) -> Result<Option<Vec<u8>>, RunError> {
        let path = if generation == 0 { "normal" } else { "recirculated" };
        let length = packet.len();
        // Only recirculation causes passes, so each is the further pass of the one before it.
        let number = generation;
        engine.event_of(Detail::Passes, |_| Event::Pass {
            number,
            pipeline: "main",
            port,
            length,
            path,
        });
        engine.begin_pass(length as u64)?;
        if generation > 0 {
            engine.charge_copy(length)?;
        }
        let from_host = engine.state.is_host_port(port);
        let inputs = Inputs::all(0)
            .with(Known::Port, port.into())
            .with(Known::Direction, engine.layout.names.direction(from_host).into())
            .with(Known::Now, microseconds(engine))
            .with(Known::Generation, generation.into())
            .with(Known::IsRecirculated, (generation > 0).into());
        let initial =
            |engine: &mut E, type_id: Option<&TypeId>| engine.initial(*type_id.ok_or(PARAMETERS)?);

        let types = &self.parser.types;
        let mut arguments = [
            initial(engine, types.first())?,
            initial(engine, types.get(1))?,
            filled(engine, types.get(2), PNA.before_parser, &inputs)?,
        ];
        engine.load_packet(packet);
        let outcome = engine.run_parser(self.parser.id, &mut arguments)?;
        let [headers, metadata, _] = arguments;
        let inputs = inputs.with(Known::ParserError, outcome.error.into());

        let mut metadata = metadata;
        if let Some(pre) = &self.pre {
            // The pre control may have types of its own. Parameters that have the main blocks'
            // types get the values that the main parser left.
            let types = &pre.types;
            let same = |position: usize| types.get(position) == self.parser.types.get(position);
            let mut arguments = [
                if same(0) { engine.copy(&headers) } else { initial(engine, types.first())? },
                if same(1) { engine.copy(&metadata) } else { initial(engine, types.get(1))? },
                filled(engine, types.get(2), PNA.before_ingress, &inputs)?,
                initial(engine, types.get(3))?,
            ];
            engine.run_control(pre.id, &mut arguments)?;
            let [_, pre_metadata, ..] = arguments;
            if same(1) {
                metadata = pre_metadata;
            }
        }

        let types = &self.control.types;
        let mut arguments = [
            headers,
            metadata,
            filled(engine, types.get(2), PNA.before_ingress, &inputs)?,
            initial(engine, types.get(3))?,
        ];
        engine.run_control(self.control.id, &mut arguments)?;
        let [headers, metadata, _, decisions] = arguments;
        self.after_control(engine, [headers, metadata, decisions], generation, outputs)
    }

    /// Runs the deparser for a packet, and transmits or drops the packet. Returns the packet if it
    /// is recirculated.
    fn after_control<'p, E: Engine<'p>>(
        &self,
        engine: &mut E,
        mut arguments: [E::Value; 3],
        generation: u32,
        outputs: &mut Vec<Output>,
    ) -> Result<Option<Vec<u8>>, RunError> {
        engine.run_control(self.deparser.id, &mut arguments)?;
        let packet = engine.take_deparsed_packet();
        let received = engine.take_packet();

        let effects = std::mem::take(&mut engine.effects);
        engine.from_accelerator = effects.accelerator;
        if effects.accelerator {
            let text = "an inline accelerator is enabled; the packet passes it as it is".to_owned();
            engine.event(|_| Event::Log { text });
        }
        let decision = PNA.after_ingress.decide(&Packet {
            requests: Some(&effects),
            number: |_| 0,
            port: effects.destination,
            drop_port: 0,
            queues: 0,
        });
        for session in decision.copies {
            let Some(config) = engine.state.clone_session(session) else {
                continue;
            };
            engine.event(|_| Event::Copy { kind: "mirror" });
            let group = config.multicast_group.map(|id| engine.state.replicas(id));
            let group = group.unwrap_or_default();
            let replicas: Vec<_> = config.replicas.iter().chain(group.iter()).copied().collect();
            let most = config.packet_length.and_then(|most| usize::try_from(most).ok());
            for replica in replicas {
                engine.charge_copy(received.len().max(packet.len()))?;
                let contents = if config.before_main_control { &received } else { &packet };
                let mut copy = contents.clone();
                copy.truncate(most.unwrap_or(usize::MAX));
                output(engine, outputs, replica.port, copy, generation + 1);
            }
        }
        match decision.fate {
            Fate::Recirculate => {
                engine.event(|_| Event::Copy { kind: "recirculate" });
                engine.further_pass("recirculated");
                return Ok(Some(packet));
            }
            Fate::Unicast { port } => output(engine, outputs, port, packet, generation),
            Fate::Drop { reason } => drop_packet(engine, reason),
            Fate::Resubmit | Fate::Multicast { .. } => return Err(NO_PASS),
        }
        Ok(None)
    }
}
