//! The receiving side of an OpenFlow engine thread: messages of the controller, answers to
//! packet-ins, and messages of other engine threads (notes).

use std::io;

use openflow::wire::{FlowMod, FlowModCommand, MessageType, PacketOut};
use openflow::{BufferId, PortNumber};

use super::{BUFFER_BITS, ConnectionError, Shard};
use crate::config::{FlowTables, Matching, Mode};
use crate::engine::mailbox::Note;
use crate::engine::openflow::connection::{HIGH_WATER, State};
use crate::engine::recorder::RuleChange;
use crate::ledger::Answer;
use crate::topology::{Port, SwitchIndex};
use crate::traffic::{is_discovery, read_id};
use openflow_switch::{Arriving, Received, Role};

/// The OpenFlow version numbers that a controller's message may contain, from 1.0 to 1.5.
const VERSIONS: std::ops::RangeInclusive<u8> = 1..=6;

impl Shard {
    pub(super) fn read(&mut self, index: usize, buffer: &mut [u8]) -> Result<(), ConnectionError> {
        let State::Open(transport) = &mut self.members[index].connection.state else {
            return Ok(());
        };
        let count = match transport.read(buffer) {
            Ok(0) => return Err(ConnectionError::Closed),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error.into()),
        };
        let now = self.orders.clock.now();
        // The framer is moved out of `self`, because frames are borrowed from it while `self` is
        // changed.
        let mut framer = std::mem::take(&mut self.members[index].connection.framer);
        let result = self.read_frames(index, &mut framer, &buffer[..count], now);
        self.members[index].connection.framer = framer;
        self.touch(index);
        result
    }

    fn read_frames(
        &mut self,
        index: usize,
        framer: &mut openflow::framing::Framer,
        chunk: &[u8],
        now: u64,
    ) -> Result<(), ConnectionError> {
        let at = self.pace.traffic_time(now);
        if let (Some(at), true, true) =
            (at, self.members[index].flood.is_some(), self.members[index].ready)
        {
            return self.count_flood(index, framer, chunk, now, at);
        }
        for frame in framer.frames(chunk) {
            self.receive(index, frame?, now, at)?;
        }
        // Text and random bytes look like a long message that never ends. Such bytes are rejected
        // now, since waiting for the end would hide the cause.
        match framer.held().first() {
            Some(version) if !VERSIONS.contains(version) => Err(ConnectionError::Foreign(*version)),
            _ => Ok(()),
        }
    }

    fn receive(
        &mut self,
        index: usize,
        frame: &[u8],
        now: u64,
        at: Option<u64>,
    ) -> Result<(), ConnectionError> {
        if self.members[index].ready {
            match MessageType(frame[1]) {
                _ if self.is_slave(index) => self.note_slave(index, frame),
                MessageType::PACKET_OUT => return self.packet_out(index, frame, now, at),
                MessageType::FLOW_MOD => self.flow_mod_releases(index, frame, at),
                _ => {}
            }
        }
        let member = &mut self.members[index];
        let received = member.switch.receive(frame, now, &mut member.connection.out);
        match received {
            Ok(Received::Nothing) => {}
            Ok(Received::Rules { installed, removed, refused }) => {
                for (change, count) in [
                    (RuleChange::Installed, installed),
                    (RuleChange::Removed, removed),
                    (RuleChange::Refused, refused),
                ] {
                    // Rules that arrive before traffic, such as table-miss entries, answer no
                    // packet-in.
                    if let (Some(at), true) = (at, count > 0) {
                        self.recorder.rules(index, change, u64::from(count), at);
                    }
                }
                let answered = member.switch.answered_by_rules();
                if let Some(at) = at {
                    for sequence in answered {
                        let answer = self.recorder.answer(index, sequence, at);
                        self.settle(index, answer);
                    }
                }
            }
            Ok(Received::Malformed(problem)) => {
                self.recorder.counts(index).malformed += 1;
                member.handshake.error = Some(problem);
            }
            Err(error) => return Err(ConnectionError::Session(error.to_string())),
        }
        self.note_stage(index);
        Ok(())
    }

    /// Returns whether the controller of a switch has the role of slave. A switch refuses
    /// packet-outs and flow-mods from a slave (OpenFlow 1.3.5, 6.3.4), so they are not answers to
    /// packet-ins.
    fn is_slave(&self, index: usize) -> bool {
        self.members[index].switch.role() == Role::Slave
    }

    /// Counts a message from a controller in the role of slave if it is a packet-out, which the
    /// switch refuses.
    fn note_slave(&mut self, index: usize, frame: &[u8]) {
        if MessageType(frame[1]) == MessageType::PACKET_OUT {
            self.recorder.counts(index).not_taken += 1;
            let reason = "packet-out refused: the controller is slave";
            self.members[index].handshake.error = Some(reason.to_owned());
        }
    }

    pub(super) fn note_stage(&mut self, index: usize) {
        let member = &mut self.members[index];
        if member.ready {
            return;
        }
        let (rank, stage) = member.switch.stage();
        member.handshake.reach(2 + rank, stage);
        if member.switch.is_ready() {
            member.ready = true;
            let before = std::mem::replace(&mut member.handshake.ready, true);
            self.live.became_ready(!before);
        }
    }

    fn packet_out(
        &mut self,
        index: usize,
        frame: &[u8],
        now: u64,
        at: Option<u64>,
    ) -> Result<(), ConnectionError> {
        let Ok(packet_out) = PacketOut::new_checked(frame) else {
            let member = &mut self.members[index];
            self.recorder.counts(index).malformed += 1;
            // The switch answers malformed messages as the specification requires.
            let _ = member.switch.receive(frame, now, &mut member.connection.out);
            return Ok(());
        };
        let member = &mut self.members[index];
        if self.plan.config.switches.flow_tables == FlowTables::Run && is_processed(&packet_out) {
            member.switch.packet_out(frame, now, &mut member.connection.out);
        } else {
            member.switch.count_outputs(&packet_out);
        }
        let payload = packet_out.payload();
        if is_discovery(payload) {
            self.relay(index, &packet_out);
            return Ok(());
        }
        let Some(at) = at else {
            if read_id(payload, self.plan.run_key).is_some_and(|id| id.is_unmeasured()) {
                self.live.announcement_flooded(now);
            }
            return Ok(());
        };
        self.recorder.packet_out(index, at);
        let buffer_id = packet_out.buffer_id();
        match self.plan.config.traffic.matching {
            Matching::Auto if buffer_id.is_buffered() => {
                self.answered_by_buffer(index, buffer_id, at);
            }
            Matching::Auto | Matching::Payload => match read_id(payload, self.plan.run_key) {
                Some(id) if id.is_unmeasured() => {}
                Some(id) => self.answered(index, id.switch, id.sequence, now, at),
                None => self.recorder.counts(index).unmatched += 1,
            },
            Matching::Xid => {
                let ledger = &self.recorder.switches[index].ledger;
                match ledger.widen(packet_out.xid().0, 32) {
                    Some(sequence) => {
                        let answer = self.recorder.answer(index, sequence, at);
                        self.settle(index, answer);
                    }
                    None => self.recorder.counts(index).unmatched += 1,
                }
            }
            // Under this rule, answers are recorded when flow rules arrive.
            Matching::Rule => {}
            Matching::Order => {
                let answer = self.recorder.answer_oldest(index, at);
                self.settle(index, answer);
            }
        }
        Ok(())
    }

    /// Records a flow-mod that refers to a buffered packet as the answer to that packet's
    /// packet-in, since it releases the packet from the buffer.
    fn flow_mod_releases(&mut self, index: usize, frame: &[u8], at: Option<u64>) {
        if let (Some(at), Matching::Auto, Ok(flow_mod)) =
            (at, self.plan.config.traffic.matching, FlowMod::new_checked(frame))
            && installs(flow_mod.command())
            && flow_mod.buffer_id().is_buffered()
        {
            self.answered_by_buffer(index, flow_mod.buffer_id(), at);
        }
    }

    fn answered_by_buffer(&mut self, index: usize, buffer_id: BufferId, at: u64) {
        let ledger = &self.recorder.switches[index].ledger;
        match ledger.widen(buffer_id.0, BUFFER_BITS) {
            Some(sequence) if buffer_id.0 < 1 << BUFFER_BITS => {
                let answer = self.recorder.answer(index, sequence, at);
                self.settle(index, answer);
            }
            _ => self.recorder.counts(index).unmatched += 1,
        }
    }

    /// Records an answer that has arrived at the switch with the index `index` in this thread. It
    /// answers a packet-in of the switch with the index `owner` in the whole trial, which may
    /// belong to another thread.
    fn answered(&mut self, index: usize, owner: u32, sequence: u64, now: u64, at: u64) {
        let (thread, member) = self.plan.place(owner);
        if self.recorder.switches.get(member).is_some_and(|record| record.index == owner) {
            let answer = self.recorder.answer(member, sequence, at);
            self.settle(member, answer);
        } else if let Some(slot) = self.slots.get(thread) {
            slot.send(Note::Answered { switch: owner, sequence, at: now });
        } else {
            self.recorder.counts(index).unmatched += 1;
        }
    }

    fn settle(&mut self, index: usize, answer: Answer) {
        match answer {
            Answer::First { frees_place } => {
                if frees_place && matches!(self.plan.config.traffic.mode, Mode::Closed { .. }) {
                    self.touch(index);
                }
            }
            Answer::Duplicate => {}
            Answer::Unmatched => self.recorder.counts(index).unmatched += 1,
        }
    }

    /// Forwards a frame for link discovery over the emulated links at its output ports.
    fn relay(&mut self, index: usize, packet_out: &PacketOut<&[u8]>) {
        let here = SwitchIndex(self.recorder.switches[index].index);
        for output in packet_out.outputs() {
            let everywhere =
                matches!(output, openflow::PortNumber::FLOOD | openflow::PortNumber::ALL);
            let plan = self.plan.clone();
            let ports: Vec<Port> = match (everywhere, u16::try_from(output.0)) {
                (true, _) => plan.topology.link_ports(here).collect(),
                (false, Ok(port)) => vec![Port(port)],
                (false, Err(_)) => Vec::new(),
            };
            for port in ports {
                if let Some((SwitchIndex(switch), Port(port))) = plan.topology.peer(here, port) {
                    self.recorder.counts(index).discovery_relayed += 1;
                    let frame = packet_out.payload().to_vec();
                    self.deliver(Note::Arrived { switch, port: port.into(), frame });
                }
            }
        }
    }

    fn deliver(&mut self, note: Note) {
        let switch = note.switch();
        let (thread, member) = self.plan.place(switch);
        if self.recorder.switches.get(member).is_some_and(|record| record.index == switch) {
            self.take(note);
        } else if let Some(slot) = self.slots.get(thread) {
            slot.send(note);
        }
    }

    pub(super) fn take_notes(&mut self) {
        self.mailbox.clear();
        while let Some(note) = self.mailbox.take() {
            self.take(note);
        }
    }

    fn take(&mut self, note: Note) {
        match note {
            Note::Answered { switch, sequence, at } => {
                let (_, member) = self.plan.place(switch);
                if let (Some(at), true) = (self.pace.traffic_time(at), member < self.members.len())
                {
                    let answer = self.recorder.answer(member, sequence, at);
                    self.settle(member, answer);
                }
            }
            Note::Arrived { switch, port, frame } => {
                let (_, index) = self.plan.place(switch);
                if let Some(member) = self.members.get_mut(index)
                    && member.ready
                    && member.connection.backlog() < HIGH_WATER
                {
                    let out = &mut member.connection.out;
                    let now = self.orders.clock.now();
                    member.switch.packet(Arriving::aside(port, &frame), now, out);
                    self.touch(index);
                }
            }
        }
    }

    fn count_flood(
        &mut self,
        index: usize,
        framer: &mut openflow::framing::Framer,
        chunk: &[u8],
        now: u64,
        at: u64,
    ) -> Result<(), ConnectionError> {
        let (mut packet_outs, mut flow_mods) = (0, 0);
        for frame in framer.frames(chunk) {
            let frame = frame?;
            match Flooded::of(frame) {
                _ if self.is_slave(index) => self.receive(index, frame, now, Some(at))?,
                Flooded::Answer => packet_outs += 1,
                Flooded::Rule => flow_mods += 1,
                Flooded::Other => self.receive(index, frame, now, Some(at))?,
            }
        }
        self.recorder.flood_answered(index, packet_outs, at);
        if flow_mods > 0 {
            self.recorder.rules(index, RuleChange::Installed, flow_mods, at);
        }
        Ok(())
    }
}

/// Returns whether a switch must process the packet of a packet-out in its flow tables or groups,
/// instead of only sending it out of ports.
fn is_processed(packet_out: &PacketOut<&[u8]>) -> bool {
    let beyond_ports = |port| [PortNumber::TABLE, PortNumber::CONTROLLER].contains(&port);
    packet_out.has_group() || packet_out.outputs().any(beyond_ports)
}

/// The kind of message that a controller sends during a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flooded {
    /// A packet-out that may answer a packet-in.
    Answer,
    /// A flow-mod that installs or changes rules.
    Rule,
    /// Any other message, such as a packet-out for link discovery or a flow-mod that deletes rules.
    Other,
}

impl Flooded {
    fn of(frame: &[u8]) -> Self {
        match MessageType(frame[1]) {
            MessageType::PACKET_OUT => match PacketOut::new_checked(frame) {
                Ok(packet_out) if !is_discovery(packet_out.payload()) => Self::Answer,
                _ => Self::Other,
            },
            MessageType::FLOW_MOD => match FlowMod::new_checked(frame) {
                Ok(flow_mod) if installs(flow_mod.command()) => Self::Rule,
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// Returns whether flow-mods with the given command install or change rules.
fn installs(command: FlowModCommand) -> bool {
    matches!(command, FlowModCommand::ADD | FlowModCommand::MODIFY | FlowModCommand::MODIFY_STRICT)
}

#[cfg(test)]
mod tests {
    use openflow::v1_3::{self, Action, Match, Message};

    use super::*;

    #[test]
    fn a_packet_out_to_a_group_is_processed() {
        for (action, expected) in [
            (Action::output(PortNumber(1)), false),
            (Action::output(PortNumber::TABLE), true),
            (Action::output(PortNumber::CONTROLLER), true),
            (Action::Group(v1_3::GroupId(1)), true),
        ] {
            let message = v1_3::PacketOut::unbuffered(PortNumber(2), vec![action], vec![0; 60]);
            let mut frame = Vec::new();
            Message::PacketOut(message).encode(openflow::Xid(1), &mut frame).expect("a message");
            let packet_out = PacketOut::new_checked(frame.as_slice()).expect("a packet-out");
            assert_eq!(is_processed(&packet_out), expected);
        }
    }

    /// During a flood, controllers still discover links, and they clear tables when switches
    /// connect.
    #[test]
    fn discovery_and_deletions_answer_no_flood() {
        let packet_out = |ethernet_type: [u8; 2]| {
            let data = [&[0; 12][..], &ethernet_type, &[0; 46]].concat();
            let actions = vec![Action::output(PortNumber(1))];
            Message::PacketOut(v1_3::PacketOut::unbuffered(PortNumber(2), actions, data))
        };
        let add = v1_3::FlowMod::add(Match::any(), Vec::new());
        for (message, expected) in [
            (packet_out([0x08, 0x00]), Flooded::Answer),
            (packet_out([0x88, 0xcc]), Flooded::Other),
            (Message::FlowMod(add), Flooded::Rule),
            (Message::FlowMod(v1_3::FlowMod::delete(Match::any())), Flooded::Other),
            (Message::BarrierRequest, Flooded::Other),
        ] {
            let mut frame = Vec::new();
            message.encode(openflow::Xid(1), &mut frame).expect("a message");
            assert_eq!(Flooded::of(&frame), expected, "{message:?}");
        }
    }
}
