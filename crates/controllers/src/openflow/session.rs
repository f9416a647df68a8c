//! The protocol state of the connection to one switch, without sockets: it receives bytes and the
//! time, and returns the bytes to send.
//!
//! The handshake and the keep-alives are those of the crate `openflow`. Once the session is open,
//! packet-ins take a fast path that parses them in place. Other messages are rare.

use std::sync::Arc;
use std::time::Duration;

use ::openflow::framing::{Framer, FramingError};
use ::openflow::handshake::{Event, Handshake, HandshakeError, Keepalive, Liveness, Stage};
use ::openflow::v1_0::{FragmentHandling, SwitchConfig};
use ::openflow::wire::{Header, MessageType, PacketIn};
use ::openflow::{DatapathId, DecodeError, EncodeError, PortNumber, Version, Xid};

use super::Options;
use super::messages::{self, answer};
use super::network::{self, NetworkEvent, Part};
use super::null::Prepared;
use super::service::{Service, WaitingAnswers};
use crate::application::paths::Command;
use crate::application::{Application, Decision, Forwarding, Port};
use crate::counters::Tally;

/// The first transaction ID of echo requests, far from those of the handshake.
const KEEPALIVE_XID: Xid = Xid(0x8000_0000);
/// The first transaction ID of the messages after the handshake, which uses lower IDs.
const FIRST_XID: u32 = 0x100;
/// The maximum time from connecting until the session of a switch is open.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(15);

/// The settings that all sessions of a controller share.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    application: Application,
    versions: Vec<Version>,
    idle_timeout: u16,
    miss_send_len: u16,
    prepared: bool,
    keepalive: Duration,
    part: Part,
    /// The queue of a modelled controller, or `None` for a controller that answers as fast as it
    /// can.
    service: Option<Arc<Service>>,
}

impl Policy {
    /// Returns whether the controller is a standby that may have to take over.
    pub(super) fn stands_by(&self) -> bool {
        self.part == Part::Standby
    }

    /// Returns whether a modelled controller delays the answers.
    pub(super) fn delays_answers(&self) -> bool {
        self.service.is_some()
    }

    pub(super) fn new(options: &Options) -> Self {
        Self {
            application: options.application,
            versions: options.versions.clone(),
            idle_timeout: options.idle_timeout,
            miss_send_len: options.miss_send_len,
            prepared: options.prepared && options.application == Application::NullResponder,
            keepalive: options.keepalive,
            part: options.part,
            service: options.queue.clone().map(Service::new).map(Arc::new),
        }
    }
}

/// The reason why a session ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum SessionError {
    #[error("the peer sends no OpenFlow messages: {0}")]
    Framing(#[from] FramingError),
    #[error("{0}")]
    Handshake(#[from] HandshakeError),
    #[error("malformed message: {0}")]
    Malformed(#[from] DecodeError),
    #[error("cannot answer: {0}")]
    Encode(#[from] EncodeError),
    #[error("the handshake took more than {HANDSHAKE_PATIENCE:?}: {0}")]
    Unfinished(String),
    #[error("the switch has been silent for {0:.0?}")]
    Silent(Duration),
}

/// The session with one switch.
#[derive(Debug)]
pub(super) struct Session {
    handshake: Handshake,
    keepalive: Keepalive,
    began: Duration,
    mode: Mode,
    next_xid: u32,
    /// The answers that are not due yet. It is `None` unless a forwarding application runs with the
    /// queue of a modelled controller.
    waiting: Option<WaitingAnswers>,
}

/// The way in which a session processes packet-ins.
#[derive(Debug)]
enum Mode {
    /// The session is not open, so no packet-ins are expected.
    Opening,
    Forward(Version, Box<Forwarding>),
    /// The application is path provisioning, whose decisions depend on all switches of the network.
    Paths(Version),
    Echo(Version),
    Prepared(Version, Prepared),
}

/// The outcome of processing a chunk of received bytes, except for the answers, which are appended
/// to the connection's buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// The datapath ID of the switch and the OpenFlow version, if this chunk has opened the
    /// session.
    pub(super) opened: Option<(DatapathId, Version)>,
    /// The last error with which the switch refused a message in this chunk, if there is one.
    pub(super) refusal: Option<Refusal>,
    /// The events at the switch that path provisioning must process. It is empty for other
    /// applications.
    pub(super) events: Vec<NetworkEvent>,
}

/// The type and the code of an OpenFlow error message, as numbered in the negotiated version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) error_type: u16,
    pub(super) code: u16,
}

impl Session {
    /// Creates the session of a new connection, and appends the controller's first message.
    pub(super) fn new(policy: &Policy, now: Duration, out: &mut Vec<u8>) -> Self {
        let flags = FragmentHandling::NORMAL;
        let config = SwitchConfig { flags, miss_send_len: policy.miss_send_len };
        let mut handshake = Handshake::controller(&policy.versions, config);
        handshake.start(out);
        let keepalive = Keepalive::new(policy.keepalive, policy.keepalive, KEEPALIVE_XID, now);
        Self {
            handshake,
            keepalive,
            began: now,
            mode: Mode::Opening,
            next_xid: FIRST_XID,
            waiting: None,
        }
    }

    /// Returns whether the handshake is complete, so that packet-ins are processed.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.mode, Mode::Opening)
    }

    /// Processes bytes that were read from the connection, and appends the bytes to write.
    ///
    /// After an error the connection must be closed, once the appended bytes are sent.
    pub(super) fn receive(
        &mut self,
        policy: &Policy,
        framer: &mut Framer,
        chunk: &[u8],
        now: Duration,
        out: &mut Vec<u8>,
        tally: &mut Tally,
    ) -> Result<Received, SessionError> {
        self.keepalive.heard(now);
        let mut received = Received::default();
        let mut owed = 0;
        for frame in framer.frames(chunk) {
            let frame = frame?;
            match &mut self.mode {
                Mode::Forward(version, forwarding) if is_packet_in(frame, *version) => {
                    let packet_in = PacketIn::new_checked(frame)?;
                    tally.packet_ins += 1;
                    let decision = decide(forwarding, &packet_in);
                    self.answer_when_due(decision, &packet_in, policy, now, out, tally)?;
                }
                Mode::Paths(version) if is_packet_in(frame, *version) => {
                    let packet_in = PacketIn::new_checked(frame)?;
                    tally.packet_ins += 1;
                    received.events.push(NetworkEvent::PacketIn {
                        port: Port(packet_in.in_port().0),
                        frame: packet_in.payload().to_vec(),
                    });
                }
                Mode::Echo(version) if is_packet_in(frame, *version) => {
                    answer(&PacketIn::new_checked(frame)?, &[PortNumber::IN_PORT], out)?;
                    tally.packet_ins += 1;
                    tally.packet_outs += 1;
                }
                // These packet-ins are answered together below, since all of their answers are
                // equal.
                Mode::Prepared(version, _) if is_packet_in(frame, *version) => owed += 1,
                _ => self.other(policy, frame, now, out, tally, &mut received)?,
            }
        }
        if let Mode::Prepared(_, prepared) = &self.mode {
            prepared.answer(owed, out);
            tally.packet_ins += owed as u64;
            tally.packet_outs += owed as u64;
        }
        Ok(received)
    }

    /// Sends an echo request to the switch if the switch has sent nothing for some time. Returns an
    /// error if the switch has not replied in time.
    pub(super) fn tick(&mut self, now: Duration, out: &mut Vec<u8>) -> Result<(), SessionError> {
        match self.handshake.stage() {
            Stage::Ready(version) => match self.keepalive.poll(version, now, out) {
                Liveness::Dead { silent } => Err(SessionError::Silent(silent)),
                Liveness::Alive { .. } | Liveness::Asked { .. } => Ok(()),
            },
            _ if now.saturating_sub(self.began) > HANDSHAKE_PATIENCE => {
                Err(SessionError::Unfinished(self.handshake.diagnosis()))
            }
            _ => Ok(()),
        }
    }

    /// Appends the answer to a packet-in. With a modelled controller, the answer is stored instead
    /// until the controller's queue has served the packet-in.
    fn answer_when_due(
        &mut self,
        decision: Decision,
        packet_in: &PacketIn<&[u8]>,
        policy: &Policy,
        now: Duration,
        out: &mut Vec<u8>,
        tally: &mut Tally,
    ) -> Result<(), EncodeError> {
        let Some(waiting) = &self.waiting else {
            return self.carry_out(decision, packet_in, policy.idle_timeout, out, tally);
        };
        // A packet-in that the modelled controller loses has no answer.
        let Some(due) = waiting.admit(now) else { return Ok(()) };
        let mut answer = Vec::new();
        self.carry_out(decision, packet_in, policy.idle_timeout, &mut answer, tally)?;
        if let Some(waiting) = &mut self.waiting {
            waiting.keep(due, answer);
        }
        Ok(())
    }

    /// Appends the answers that are due at `now`.
    pub(super) fn release(&mut self, now: Duration, out: &mut Vec<u8>) {
        if let Some(waiting) = &mut self.waiting {
            waiting.release(now, out);
        }
    }

    /// Returns the time at which the next answer is due, or `None` if no answer waits.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.waiting.as_ref().and_then(WaitingAnswers::next_due)
    }

    fn carry_out(
        &mut self,
        decision: Decision,
        packet_in: &PacketIn<&[u8]>,
        idle_timeout: u16,
        out: &mut Vec<u8>,
        tally: &mut Tally,
    ) -> Result<(), EncodeError> {
        let output = match decision {
            // A packet that is not buffered at the switch needs no answer.
            Decision::Drop if !packet_in.buffer_id().is_buffered() => return Ok(()),
            Decision::Drop => None,
            Decision::Flood => Some(PortNumber::FLOOD),
            Decision::Forward { port, rule } => {
                if let Some(rule) = rule {
                    let xid = self.take_xid();
                    messages::install(packet_in.version(), xid, &rule, idle_timeout, out)?;
                    tally.rules += 1;
                }
                Some(PortNumber(port.0))
            }
        };
        tally.packet_outs += 1;
        answer(packet_in, output.as_slice(), out)
    }

    /// Processes a message other than a packet-in, or a packet-in that arrives before the session
    /// is open.
    fn other(
        &mut self,
        policy: &Policy,
        frame: &[u8],
        now: Duration,
        out: &mut Vec<u8>,
        tally: &mut Tally,
        received: &mut Received,
    ) -> Result<(), SessionError> {
        match self.handshake.receive(frame, out)? {
            Event::Ready(version) => {
                self.open(policy, version, out)?;
                if let Mode::Paths(_) = self.mode {
                    received.events.extend(network::event(version, frame));
                }
                let datapath_id = self.handshake.features().map(|features| features.datapath_id);
                received.opened = Some((datapath_id.unwrap_or_default(), version));
            }
            Event::Message => {
                let header = Header::new_checked(frame)?;
                match (header.message_type(), header.body()) {
                    (MessageType::ECHO_REPLY, _) => {
                        self.keepalive.echo_reply(header.xid(), now);
                    }
                    (MessageType::ERROR, &[t0, t1, c0, c1, ..]) => {
                        tally.refused += 1;
                        let error_type = u16::from_be_bytes([t0, t1]);
                        let code = u16::from_be_bytes([c0, c1]);
                        received.refusal = Some(Refusal { error_type, code });
                    }
                    _ if matches!(self.mode, Mode::Paths(_)) => {
                        let version = self.handshake.version();
                        let event = version.and_then(|version| network::event(version, frame));
                        received.events.extend(event);
                    }
                    // The remaining messages are changes of ports and flow entries, answers to
                    // barriers, and extensions.
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Appends the messages that prepare the switch for the application once the handshake is
    /// complete.
    fn open(
        &mut self,
        policy: &Policy,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        if policy.application == Application::Paths {
            self.mode = Mode::Paths(version);
            if policy.part != Part::Alone {
                self.ask_role(policy.part, out)?;
            }
            if policy.part == Part::Standby && version == Version::V1_3 {
                return Ok(());
            }
        }
        messages::forget_all(version, self.take_xid(), out)?;
        // Without a barrier, a switch may process the following messages first (OpenFlow 1.0.0,
        // 5.3.7; 1.3.5, 6.2).
        messages::barrier(version, self.take_xid(), out)?;
        messages::table_miss(version, self.take_xid(), policy.miss_send_len, out)?;
        if policy.application == Application::ReactiveForwarding {
            messages::arp_to_controller(version, self.take_xid(), policy.miss_send_len, out)?;
        }
        if let Mode::Paths(_) = self.mode {
            return messages::ports(version, self.take_xid(), out);
        }
        self.mode = match policy.application.forwarding() {
            Some(forwarding) => {
                self.waiting = policy.service.as_ref().map(WaitingAnswers::open);
                Mode::Forward(version, Box::new(forwarding))
            }
            None if policy.prepared => Mode::Prepared(version, Prepared::new(version)?),
            None => Mode::Echo(version),
        };
        Ok(())
    }

    /// Appends a request for the controller's role at the switch, where several controllers are
    /// connected to it.
    fn ask_role(&mut self, part: Part, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let Some(version) = self.handshake.version() else { return Ok(()) };
        let (role, generation) = part.role();
        messages::role(version, self.take_xid(), role, generation, out)
    }

    /// Makes the controller the master of the switch, in place of the active controller, which is
    /// gone. The rules that the active controller installed remain.
    pub(super) fn take_over(
        &mut self,
        policy: &Policy,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let Mode::Paths(version) = self.mode else { return Ok(()) };
        self.ask_role(Part::Successor, out)?;
        messages::table_miss(version, self.take_xid(), policy.miss_send_len, out)?;
        messages::ports(version, self.take_xid(), out)
    }

    /// Appends the message that makes the switch execute a command of path provisioning.
    pub(super) fn command(
        &mut self,
        policy: &Policy,
        command: &Command,
        out: &mut Vec<u8>,
        tally: &mut Tally,
    ) -> Result<(), EncodeError> {
        let Mode::Paths(version) = self.mode else { return Ok(()) };
        let xid = self.take_xid();
        match command {
            Command::PacketOut { ingress, outputs, frame, .. } => {
                tally.packet_outs += 1;
                messages::send(version, xid, *ingress, outputs, frame, out)
            }
            Command::Install { rule, .. } => {
                tally.rules += 1;
                messages::install(version, xid, rule, policy.idle_timeout, out)
            }
            Command::Remove { flow, .. } => messages::remove(version, xid, flow, out),
        }
    }

    fn take_xid(&mut self) -> Xid {
        let xid = Xid(self.next_xid);
        self.next_xid = self.next_xid.wrapping_add(1);
        xid
    }
}

/// Returns whether a message is a packet-in of the negotiated version.
fn is_packet_in(frame: &[u8], version: Version) -> bool {
    frame.starts_with(&[version.wire(), MessageType::PACKET_IN.0])
}

fn decide(forwarding: &mut Forwarding, packet_in: &PacketIn<&[u8]>) -> Decision {
    match packet_in.in_port() {
        // The ingress port is unknown, so that no address can be learned from the packet.
        PortNumber::ANY => Decision::Flood,
        PortNumber(port) => forwarding.packet_in(Port(port), packet_in.payload()),
    }
}
