//! The architecture PNA (Portable NIC Architecture, version 0.7): runs the main parser, the pre
//! control if there is one, the main control and the main deparser. Then recirculates, transmits or
//! drops the packet. What the architecture does between these blocks comes from [`architectures`].
//!
//! A packet that was not sent to a port is dropped. A test cannot declare ports of the host, so
//! packets come from the network.
//!
//! User metadata are undefined when the main parser begins: the section "Initial values of packets
//! processed by main parser" leaves open what they are.

use super::blocks::{self, TypedBlock, typed_control, typed_parser};
use super::copies::CopyTo;
use super::glue::{Destination, Metadata, Numbers};
use super::{End, Event, Executor, Fate, Fill, Unsupported};
use crate::packet::{self, Packet};
use crate::state::{Special, State};
use crate::term::Term;
use architectures::{MetadataField, PNA};
use ir::{ControlId, ParserId, TypeId};
use std::collections::VecDeque;

/// The width in bits of port numbers.
const PORT: u32 = 32;
/// The width in bits of the instance number of a mirrored packet.
const INSTANCE: u32 = 16;
/// The largest number of passes that are executed for one received packet, over all of its layouts.
const MAXIMUM_PASSES: usize = 1_024;

/// The blocks of `PNA_NIC`.
struct Blocks {
    parser: TypedBlock<ParserId, 3>,
    pre: Option<TypedBlock<ControlId, 4>>,
    control: TypedBlock<ControlId, 4>,
    deparser: TypedBlock<ControlId, 3>,
    /// Whether the metadata contain the direction of a packet, from the network or from the host.
    has_direction: bool,
}

/// A pass of a packet through the program.
struct Pass {
    guard: Term,
    packet: Packet,
    /// The number of this pass, counted from 1.
    number: u32,
}

/// The passes that are still to be executed, and what has become of packets.
#[derive(Default)]
struct Agenda {
    waiting: VecDeque<Pass>,
    ends: Vec<End>,
}

impl Executor<'_> {
    /// Executes the program on a received packet. The packet and its copies may pass through the
    /// program up to `passes` times. Returns what becomes of them, and the input for the port of
    /// arrival.
    pub(crate) fn pna(&mut self, passes: u32) -> Result<(Vec<End>, Term), Unsupported> {
        let blocks = self.pna_blocks()?;
        let port = packet::port(&mut self.terms, self.arrival, PORT);
        self.prefer_small(port);
        self.member_widths = [PORT, INSTANCE];
        let guard = self.terms.truth(true);
        let packet = Packet::received(&mut self.terms, self.arrival);
        let mut agenda = Agenda::default();
        agenda.waiting.push_back(Pass { guard, packet, number: 1 });
        let mut executed = 0;
        while let Some(pass) = agenda.waiting.pop_front() {
            if !self.is_feasible(pass.guard)? {
                continue;
            }
            executed += 1;
            if pass.number > passes {
                self.cut_pass(pass.guard, passes);
                continue;
            }
            if executed > MAXIMUM_PASSES {
                self.cut(pass.guard, "a packet with too many layouts", None);
                continue;
            }
            self.pna_pass(&blocks, &pass, port, &mut agenda)?;
        }
        Ok((agenda.ends, port))
    }

    fn pna_blocks(&self) -> Result<Blocks, Unsupported> {
        let program = self.program;
        let main = &program.main;
        let with_pre = main.arguments.len() > 3;
        let pre = with_pre.then(|| typed_control(program, main, 1)).transpose()?;
        let next = if with_pre { 2 } else { 1 };
        let parser: TypedBlock<ParserId, 3> = typed_parser(program, main, 0)?;
        let control: TypedBlock<ControlId, 4> = typed_control(program, main, next)?;
        let pre_input = pre.as_ref().map(|pre: &TypedBlock<ControlId, 4>| pre.types[2]);
        let inputs = [Some(parser.types[2]), Some(control.types[2]), pre_input];
        let has_direction =
            |type_id: TypeId| self.field_named(type_id, MetadataField::Direction.name()).is_some();
        Ok(Blocks {
            has_direction: inputs.into_iter().flatten().any(has_direction),
            parser,
            pre,
            control,
            deparser: typed_control(program, main, next + 1)?,
        })
    }

    /// Returns the numeric properties that a packet has in a pass.
    fn pna_numbers(&mut self, blocks: &Blocks, port: Term, pass: &Pass) -> Numbers {
        let mut numbers = self.numbers(port, pass.packet.length);
        numbers.generation = self.terms.number(32, pass.number.saturating_sub(1).into());
        if blocks.has_direction {
            let is_host = self.host_port();
            let from_host = self.enumerator(&["PNA_Direction_t"], "HOST_TO_NET");
            let from_net = self.enumerator(&["PNA_Direction_t"], "NET_TO_HOST");
            let from_host = self.terms.number(32, from_host.into());
            let from_net = self.terms.number(32, from_net.into());
            numbers.direction = self.terms.if_then_else(is_host, from_host, from_net);
        }
        numbers
    }

    /// Executes one pass of a packet.
    fn pna_pass(
        &mut self,
        blocks: &Blocks,
        pass: &Pass,
        port: Term,
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let Blocks { parser, control, deparser, .. } = blocks;
        self.packet = pass.packet.clone();
        let mut numbers = self.pna_numbers(blocks, port, pass);
        let state = self.initial_state(pass.guard);
        let values = vec![
            self.initial(parser.types[0], Fill::Undefined),
            self.initial(parser.types[1], Fill::Undefined),
            self.filled(parser.types[2], PNA.before_parser, &numbers),
        ];
        let Some((state, values)) = self.parser_block(parser.id, state, values)? else {
            return Ok(());
        };
        let [headers, metadata, _] = blocks::arguments::<3>(values)?;
        numbers.parser_error = state.special(Special::ParserError);
        self.errors.push((state.guard, numbers.parser_error));
        let after = self.pre_control(blocks, state, &headers, metadata, &numbers)?;
        let Some((state, metadata)) = after else { return Ok(()) };

        let values = vec![
            headers,
            metadata,
            self.filled(control.types[2], PNA.before_ingress, &numbers),
            self.initial(control.types[3], Fill::Zero),
        ];
        let Some((state, values)) = self.control_block(control.id, state, values)? else {
            return Ok(());
        };
        let [headers, metadata, _, says] = blocks::arguments::<4>(values)?;
        self.emitted.clear();
        let values = vec![headers, metadata, says];
        let Some((state, values)) = self.control_block(deparser.id, state, values)? else {
            return Ok(());
        };
        let [_, _, says] = blocks::arguments::<3>(values)?;
        self.after_main(&state, &says, control.types[3], pass, agenda)
    }

    /// Runs the pre control on copies of the headers and metadata, of which only the metadata are
    /// taken back. Parameters with types of their own are initially undefined.
    fn pre_control(
        &mut self,
        blocks: &Blocks,
        state: State,
        headers: &[Term],
        metadata: Vec<Term>,
        numbers: &Numbers,
    ) -> Result<Option<(State, Vec<Term>)>, Unsupported> {
        let Some(pre) = &blocks.pre else { return Ok(Some((state, metadata))) };
        let has_headers = pre.types[0] == blocks.parser.types[0];
        let has_metadata = pre.types[1] == blocks.parser.types[1];
        let values = vec![
            if has_headers {
                headers.to_vec()
            } else {
                self.initial(pre.types[0], Fill::Undefined)
            },
            if has_metadata {
                metadata.clone()
            } else {
                self.initial(pre.types[1], Fill::Undefined)
            },
            self.filled(pre.types[2], PNA.before_ingress, numbers),
            self.initial(pre.types[3], Fill::Zero),
        ];
        let Some((state, values)) = self.control_block(pre.id, state, values)? else {
            return Ok(None);
        };
        let [_, changed, ..] = blocks::arguments::<4>(values)?;
        Ok(Some((state, if has_metadata { changed } else { metadata })))
    }

    /// Mirrors, recirculates, transmits or drops the packets that leave the deparser.
    fn after_main(
        &mut self,
        state: &State,
        says: &[Term],
        type_id: TypeId,
        pass: &Pass,
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let emitted = std::mem::take(&mut self.emitted);
        let cursor = state.special(Special::Cursor);
        let port = state.special(Special::Port);
        let nowhere = self.terms.not(state.special(Special::HasPort));
        let destination = Destination { port: Some(port), nowhere: Some(nowhere) };
        let decisions = self.decide_at(
            &PNA.after_ingress,
            state,
            Metadata { leaves: says, type_id },
            destination,
        );
        let unlimited = self.terms.ones(32);
        let sent = |port: Term| Fate::Sent {
            port,
            emitted: emitted.clone(),
            packet: pass.packet.clone(),
            cursor,
            truncate: unlimited,
        };
        let mirrored = self.terms.and(state.guard, state.special(Special::Clone));
        if self.terms.truth_of(mirrored) != Some(false) {
            let number = state.special(Special::CloneSession);
            let member = self.copied(mirrored, CopyTo::Session(number));
            self.events.push((Event::Clone, mirrored));
            self.assume_session_to_cpu(mirrored, number, member);
            let guard = self.terms.and(mirrored, member.exists);
            agenda.ends.push(End { guard, fate: sent(member.port) });
        }
        if let Some(guard) = decisions.recirculated {
            self.events.push((Event::Recirculate, guard));
            match self.layouts(guard, &emitted, &pass.packet, cursor)? {
                None => self.cut(guard, "a recirculated packet of too many layouts", None),
                Some(layouts) => {
                    for (guard, packet) in layouts {
                        let number = pass.number + 1;
                        agenda.waiting.push_back(Pass { guard, packet, number });
                    }
                }
            }
        }
        if let Some(guard) = decisions.dropped {
            agenda.ends.push(End { guard, fate: Fate::Dropped });
        }
        let guard = decisions.otherwise;
        if self.terms.truth_of(guard) != Some(false) {
            agenda.ends.push(End { guard, fate: sent(port) });
        }
        Ok(())
    }
}
