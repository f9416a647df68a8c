//! The architecture v1model: runs the blocks of the package in order. What the architecture does
//! between these blocks comes from [`architectures`].
//!
//! A copy exists if the control plane has configured the clone session or multicast group. A packet
//! goes either to one port or to a multicast group, so both cases go through egress together.

mod again;

use super::blocks::{self, parameter_types};
use super::copies::CopyTo;
use super::glue::Metadata;
use super::{End, Event, Executor, Fate, Fill, Member, Unsupported};
use crate::packet::{self, Packet};
use crate::state::{Special, State};
use crate::term::Term;
use architectures::{AT_INGRESS, REPLICA, TO_GROUP, TO_PORT, V1MODEL, instance};
use ir::{ControlId, PackageValue, ParserId, TypeId};
use std::collections::VecDeque;

/// The blocks of `V1Switch`.
struct Blocks {
    parser: ParserId,
    verify: ControlId,
    ingress: ControlId,
    egress: ControlId,
    update: ControlId,
    deparser: ControlId,
    metadata: TypeId,
    standard: TypeId,
}

/// A packet that enters the parser, with its metadata.
struct Ingress {
    guard: Term,
    packet: Packet,
    metadata: Vec<Term>,
    standard: Vec<Term>,
    /// The number of this pass, counted from 1.
    number: u32,
}

/// A packet that enters egress, with its metadata.
struct Egress {
    state: State,
    values: Values,
    packet: Packet,
    port: Term,
    /// The length of the packet in bytes, as egress reads it, in 32 bits.
    length: Term,
    /// The number of bytes to which ingress has truncated the packet.
    truncated: Term,
    number: u32,
}

/// A pass that waits to be executed.
enum Pass {
    Ingress(Ingress),
    Egress(Box<Egress>),
}

/// The passes that are still to be executed, and what has become of packets.
#[derive(Default)]
struct Agenda {
    waiting: VecDeque<Pass>,
    ends: Vec<End>,
}

/// The values that each block hands to the next one.
#[derive(Clone)]
struct Values {
    headers: Vec<Term>,
    metadata: Vec<Term>,
    standard: Vec<Term>,
}

impl Executor<'_> {
    /// Executes the program on a received packet. The packet and its copies may pass through the
    /// program up to `passes` times. Returns what becomes of them, and the input for the port of
    /// arrival.
    pub(crate) fn v1model(&mut self, passes: u32) -> Result<(Vec<End>, Term), Unsupported> {
        let blocks = self.blocks()?;
        let width = |name: &str| {
            let position = self.field_named(blocks.standard, name)?;
            let field = self.shapes.field(blocks.standard, position)?;
            self.shapes.leaves(field.type_id).first().map(|leaf| leaf.width())
        };
        let port_width = width("ingress_port");
        let port_width =
            port_width.ok_or_else(|| Unsupported::new("metadata without `ingress_port`"))?;
        let spec_width = width("egress_spec").unwrap_or(port_width);
        let rid_width = width("egress_rid").unwrap_or(16);
        self.drop_port = match 1_u64.checked_shl(spec_width) {
            Some(numbers) => self.drop_port & (numbers - 1),
            None => self.drop_port,
        };
        let port = packet::port(&mut self.terms, self.arrival, port_width);
        self.assume_port(port);
        self.member_widths = [port_width, rid_width];

        let guard = self.terms.truth(true);
        let packet = Packet::received(&mut self.terms, self.arrival);
        let metadata = self.initial(blocks.metadata, Fill::Zero);
        let mut standard = self.initial(blocks.standard, Fill::Zero);
        let numbers = self.numbers(port, packet.length);
        self.assign(&mut standard, blocks.standard, V1MODEL.received, &numbers);
        let mut agenda = Agenda::default();
        let first = Ingress { guard, packet, metadata, standard, number: 1 };
        agenda.waiting.push_back(Pass::Ingress(first));
        while let Some(pass) = agenda.waiting.pop_front() {
            let (number, guard) = match &pass {
                Pass::Ingress(pass) => (pass.number, pass.guard),
                Pass::Egress(pass) => (pass.number, pass.state.guard),
            };
            if number > passes {
                self.cut_pass(guard, passes);
                continue;
            }
            match pass {
                Pass::Ingress(pass) => self.ingress(&blocks, pass, port, &mut agenda)?,
                Pass::Egress(pass) => self.egress(&blocks, *pass, &mut agenda)?,
            }
        }
        Ok((agenda.ends, port))
    }

    /// Assumes that a port is one that a switch can have.
    pub(super) fn assume_port(&mut self, port: Term) {
        let beyond = self.terms.number(self.terms.width_of(port), self.drop_port.into());
        let real = self.terms.less(port, beyond);
        self.assumptions.push(real);
    }

    fn blocks(&mut self) -> Result<Blocks, Unsupported> {
        let program = self.program;
        let arguments = &program.main.arguments;
        let argument = |position: usize| arguments.get(position).map(|argument| &argument.value);
        let control = |position: usize| match argument(position) {
            Some(PackageValue::Control(id)) => Ok(*id),
            _ => Err(Unsupported::new("a package without all blocks of V1Switch")),
        };
        let Some(PackageValue::Parser(parser)) = argument(0) else {
            return Err(Unsupported::new("a package without a parser"));
        };
        let (ingress, egress) = (control(2)?, control(3)?);
        let found = program.parsers.get(parser.index());
        let found = found.ok_or_else(|| Unsupported::new("a package without a parser"))?;
        let [_, metadata, standard] = parameter_types(&found.parameters, "parser")?;
        self.standard.clear();
        for control in [ingress, egress] {
            let found = program.controls.get(control.index());
            let standard = found.and_then(|control| control.parameters.get(2));
            self.standard.extend(standard.map(|parameter| parameter.variable));
        }
        self.standard.extend(found.parameters.get(2).map(|parameter| parameter.variable));
        Ok(Blocks {
            parser: *parser,
            verify: control(1)?,
            ingress,
            egress,
            update: control(4)?,
            deparser: control(5)?,
            metadata,
            standard,
        })
    }

    /// Runs the parser and the verification of checksums. Returns `None` if no packet leaves them.
    fn enter_switch(
        &mut self,
        blocks: &Blocks,
        guard: Term,
        metadata: Vec<Term>,
        standard: Vec<Term>,
    ) -> Result<Option<(State, Values)>, Unsupported> {
        let program = self.program;
        let parser = program.parsers.get(blocks.parser.index());
        let parser = parser.ok_or_else(|| Unsupported::new("a package without a parser"))?;
        let state = self.initial_state(guard);
        let headers = match parser.parameters.first() {
            Some(headers) => self.initial(headers.type_id, Fill::Undefined),
            None => Vec::new(),
        };
        let values = Values { headers, metadata, standard };
        let Some((mut state, mut values)) = self.run_parser(blocks.parser, state, values)? else {
            return Ok(None);
        };
        let mut numbers = self.numbers(guard, guard);
        numbers.parser_error = state.special(Special::ParserError);
        self.errors.push((state.guard, numbers.parser_error));
        if !self.run_control(blocks.verify, &mut state, &mut values, 2)? {
            return Ok(None);
        }
        numbers.checksum_error = state.special(Special::ChecksumError);
        self.assign(&mut values.standard, blocks.standard, V1MODEL.before_ingress, &numbers);
        Ok(Some((state, values)))
    }

    /// Executes a pass through the parser and ingress.
    fn ingress(
        &mut self,
        blocks: &Blocks,
        pass: Ingress,
        received_at: Term,
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let Ingress { guard, packet, metadata, mut standard, number } = pass;
        self.packet = packet.clone();
        let numbers = self.numbers(received_at, packet.length);
        self.assign(&mut standard, blocks.standard, V1MODEL.before_parser, &numbers);
        let Some((mut state, mut values)) = self.enter_switch(blocks, guard, metadata, standard)?
        else {
            return Ok(());
        };
        if !self.run_control(blocks.ingress, &mut state, &mut values, 3)? {
            return Ok(());
        }
        let kept = values.clone();
        let decisions = self.decide(
            &V1MODEL.after_ingress,
            &state,
            Metadata { leaves: &kept.standard, type_id: blocks.standard },
        );
        self.clone_at_ingress(blocks, &state, &kept, (&packet, number, received_at), agenda)?;
        if let Some(guard) = decisions.dropped {
            agenda.ends.push(End { guard, fate: Fate::Dropped });
        }
        if let Some(guard) = decisions.resubmitted {
            self.events.push((Event::Resubmit, guard));
            let of = (instance::RESUBMITTED, state.special(Special::ResubmitList));
            let (metadata, standard) =
                self.preserved(of, (&kept, blocks.standard, blocks.metadata));
            let packet = packet.clone();
            let pass = Ingress { guard, packet, metadata, standard, number: number + 1 };
            agenda.waiting.push_back(Pass::Ingress(pass));
        }

        let length = self.terms.zero_extend(packet.length, 32);
        let length = self.terms.add(length, state.special(Special::LengthChange));
        let truncated = state.special(Special::Truncate);
        let spec = decisions.port.unwrap_or_else(|| self.terms.zero(32));
        let mut leaving = Egress {
            port: self.terms.resize(spec, 32),
            state,
            values,
            packet,
            length,
            truncated,
            number,
        };
        leaving.state.guard = decisions.otherwise;
        let numbers = self.numbers(received_at, length);
        let mut to_group = leaving.values.standard.clone();
        self.assign(&mut leaving.values.standard, blocks.standard, TO_PORT, &numbers);
        if let Some((guard, group)) = decisions.replicated {
            self.assign(&mut to_group, blocks.standard, TO_GROUP, &numbers);
            self.replicate(blocks, &mut leaving, (guard, group, to_group), agenda);
        }
        self.enqueue(blocks, leaving, agenda);
        Ok(())
    }

    /// Joins the packets that ingress sends to a multicast group with those that it sends to a
    /// single port.
    fn replicate(
        &mut self,
        blocks: &Blocks,
        leaving: &mut Egress,
        (guard, group, mut standard): (Term, Term, Vec<Term>),
        agenda: &mut Agenda,
    ) {
        let member = self.copied(guard, CopyTo::Group(group));
        let no_group = self.terms.not(member.exists);
        let dropped = self.terms.and(guard, no_group);
        agenda.ends.push(End { guard: dropped, fate: Fate::Dropped });
        let sent = self.terms.and(guard, member.exists);
        if self.terms.truth_of(sent) == Some(false) {
            return;
        }
        let mut numbers = self.numbers(leaving.port, leaving.length);
        numbers.instance = member.instance;
        self.assign(&mut standard, blocks.standard, REPLICA, &numbers);
        let port = self.terms.resize(member.port, 32);
        leaving.port = self.terms.if_then_else(sent, port, leaving.port);
        leaving.values.standard = self.choose(sent, &standard, &leaving.values.standard);
        // BMv2 stores the truncated length with the packet, and a replica is a new packet.
        let unlimited = self.terms.ones(32);
        leaving.truncated = self.terms.if_then_else(sent, unlimited, leaving.truncated);
        leaving.state.guard = self.terms.or(leaving.state.guard, sent);
    }

    /// Makes the clones that ingress has requested. They contain the packet as it was received, and
    /// are parsed again.
    fn clone_at_ingress(
        &mut self,
        blocks: &Blocks,
        state: &State,
        kept: &Values,
        (packet, number, port): (&Packet, u32, Term),
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let Some((guard, member)) = self.cloned(state) else { return Ok(()) };
        let metadata = self.initial(blocks.metadata, Fill::Zero);
        let mut standard = self.initial(blocks.standard, Fill::Zero);
        let numbers = self.numbers(port, packet.length);
        self.assign(&mut standard, blocks.standard, AT_INGRESS, &numbers);
        let parsed = self.enter_switch(blocks, guard, metadata, standard)?;
        let Some((parsed, values)) = parsed else { return Ok(()) };
        let length = self.terms.zero_extend(packet.length, 32);
        let of = (instance::INGRESS_CLONE, state.special(Special::CloneList));
        self.send_clone(
            blocks,
            (of, kept),
            (parsed, values.headers, packet, length),
            (number, member),
            agenda,
        );
        Ok(())
    }

    /// Returns the condition under which packets in a state are cloned, with the member of the
    /// clone session. Returns `None` if no packet is cloned.
    fn cloned(&mut self, state: &State) -> Option<(Term, Member)> {
        let requested = self.terms.and(state.guard, state.special(Special::Clone));
        if self.terms.truth_of(requested) == Some(false) {
            return None;
        }
        let number = state.special(Special::CloneSession);
        let member = self.copied(requested, CopyTo::Session(number));
        self.events.push((Event::Clone, requested));
        let guard = self.terms.and(requested, member.exists);
        (self.terms.truth_of(guard) != Some(false)).then_some((guard, member))
    }

    /// Sends a clone through egress to the port of its clone session.
    fn send_clone(
        &mut self,
        blocks: &Blocks,
        (of, kept): ((u64, Term), &Values),
        (state, headers, packet, length): (State, Vec<Term>, &Packet, Term),
        (number, member): (u32, Member),
        agenda: &mut Agenda,
    ) {
        let (metadata, mut standard) = self.preserved(of, (kept, blocks.standard, blocks.metadata));
        let mut numbers = self.numbers(member.port, length);
        numbers.instance = self.terms.zero(32);
        self.assign(&mut standard, blocks.standard, REPLICA, &numbers);
        let clone = Egress {
            state,
            values: Values { headers, metadata, standard },
            packet: packet.clone(),
            port: self.terms.resize(member.port, 32),
            length,
            truncated: self.terms.ones(32),
            number: number + 1,
        };
        self.enqueue(blocks, clone, agenda);
    }

    /// Makes a packet wait for its pass through egress.
    fn enqueue(&mut self, blocks: &Blocks, mut pass: Egress, agenda: &mut Agenda) {
        if self.terms.truth_of(pass.state.guard) == Some(false) {
            return;
        }
        let standard = pass.values.standard.clone();
        let of = Metadata { leaves: &standard, type_id: blocks.standard };
        let decisions = self.decide(&V1MODEL.before_queue, &pass.state, of);
        if let Some(guard) = decisions.dropped {
            agenda.ends.push(End { guard, fate: Fate::Dropped });
        }
        if self.terms.truth_of(decisions.otherwise) == Some(false) {
            return;
        }
        pass.state.guard = decisions.otherwise;
        let numbers = self.numbers(pass.port, pass.length);
        self.assign(&mut pass.values.standard, blocks.standard, V1MODEL.queued, &numbers);
        agenda.waiting.push_back(Pass::Egress(Box::new(pass)));
    }

    /// Executes a pass through egress and the deparser.
    fn egress(
        &mut self,
        blocks: &Blocks,
        pass: Egress,
        agenda: &mut Agenda,
    ) -> Result<(), Unsupported> {
        let Egress { mut state, mut values, packet, port, length, truncated, number } = pass;
        self.packet = packet.clone();
        // Only the parser's position is left of ingress.
        for special in Special::ALL {
            if special != Special::Cursor {
                let initial = special.initial(&mut self.terms);
                state.set_special(special, initial);
            }
        }
        let numbers = self.numbers(port, length);
        self.assign(&mut values.standard, blocks.standard, V1MODEL.before_egress, &numbers);
        if !self.run_control(blocks.egress, &mut state, &mut values, 3)? {
            return Ok(());
        }
        let kept = values.clone();
        let of = Metadata { leaves: &kept.standard, type_id: blocks.standard };
        let decisions = self.decide(&V1MODEL.after_egress, &state, of);
        if let Some((guard, member)) = self.cloned(&state) {
            let of = (instance::EGRESS_CLONE, state.special(Special::CloneList));
            let mut copy = state.clone();
            copy.guard = guard;
            let length = self.terms.add(length, state.special(Special::LengthChange));
            let headers = values.headers.clone();
            let copy = (copy, headers, &packet, length);
            self.send_clone(blocks, (of, &kept), copy, (number, member), agenda);
        }
        if let Some(guard) = decisions.dropped {
            agenda.ends.push(End { guard, fate: Fate::Dropped });
        }
        let recirculated = decisions.recirculated.unwrap_or_else(|| self.terms.truth(false));
        state.guard = self.terms.or(decisions.otherwise, recirculated);
        if self.terms.truth_of(state.guard) == Some(false) {
            return Ok(());
        }
        let of = (instance::RECIRCULATED, state.special(Special::RecirculateList));
        let here = state.special(Special::Truncate);
        if !self.run_control(blocks.update, &mut state, &mut values, 2)? {
            return Ok(());
        }
        self.emitted.clear();
        if !self.run_control(blocks.deparser, &mut state, &mut values, 1)? {
            return Ok(());
        }
        let emitted = std::mem::take(&mut self.emitted);
        let cursor = state.special(Special::Cursor);
        let again = self.terms.and(state.guard, recirculated);
        if self.terms.truth_of(again) != Some(false) {
            self.events.push((Event::Recirculate, again));
            match self.layouts(again, &emitted, &packet, cursor)? {
                None => self.cut(again, "a recirculated packet of too many layouts", None),
                Some(layouts) => {
                    // The update of checksums may have changed the metadata.
                    let kept = Values { standard: kept.standard, ..values };
                    let (metadata, standard) =
                        self.preserved(of, (&kept, blocks.standard, blocks.metadata));
                    for (guard, packet) in layouts {
                        let (metadata, standard) = (metadata.clone(), standard.clone());
                        let pass =
                            Ingress { guard, packet, metadata, standard, number: number + 1 };
                        agenda.waiting.push_back(Pass::Ingress(pass));
                    }
                }
            }
        }
        let stays = self.terms.not(recirculated);
        let guard = self.terms.and(state.guard, stays);
        if self.terms.truth_of(guard) == Some(false) {
            return Ok(());
        }
        let shorter = self.terms.less(here, truncated);
        let truncate = self.terms.if_then_else(shorter, here, truncated);
        let fate = Fate::Sent { port, emitted, packet, cursor, truncate };
        agenda.ends.push(End { guard, fate });
        Ok(())
    }

    /// Runs the parser. Packets that it rejects continue like those that it accepts.
    fn run_parser(
        &mut self,
        id: ParserId,
        state: State,
        Values { headers, metadata, standard }: Values,
    ) -> Result<Option<(State, Values)>, Unsupported> {
        let after = self.parser_block(id, state, vec![headers, metadata, standard])?;
        let Some((state, arguments)) = after else { return Ok(None) };
        let [headers, metadata, standard] = blocks::arguments(arguments)?;
        Ok(Some((state, Values { headers, metadata, standard })))
    }

    /// Runs a control with values for its first `parameters` parameters. Returns whether any packet
    /// leaves it.
    fn run_control(
        &mut self,
        id: ControlId,
        state: &mut State,
        values: &mut Values,
        parameters: usize,
    ) -> Result<bool, Unsupported> {
        let found = self.program.controls.get(id.index());
        if found.is_none_or(|control| control.parameters.len() != parameters) {
            return Err(Unsupported::new("a control with other parameters than V1Switch has"));
        }
        let Values { headers, metadata, standard } = values.clone();
        let arguments = vec![headers, metadata, standard];
        let Some((after, arguments)) = self.control_block(id, state.clone(), arguments)? else {
            return Ok(false);
        };
        let [headers, metadata, standard] = blocks::arguments(arguments)?;
        *values = Values { headers, metadata, standard };
        *state = after;
        Ok(true)
    }
}
