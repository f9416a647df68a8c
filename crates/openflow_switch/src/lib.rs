//! An emulated OpenFlow switch. It receives messages as bytes and appends its answers to a buffer,
//! without sockets or a clock.
//!
//! The switch answers every request that a controller needs in order to accept it as a switch: the
//! handshake, flow, group and meter tables that store entries and return them, expiry, roles and
//! statistics. Packet-outs are left to the caller, which measures their arrival and passes them to
//! [`OpenFlowSwitch::packet_out`] if they must be carried out. Packets that enter a port either
//! bypass the tables, so that the controller's rules do not change its load, or run through them
//! ([`FlowTables`]). Packets that leave by ports are counted, and stored for the caller on request
//! ([`OpenFlowSwitch::hand_out`]). A switch has one controller, or one for each [`Channel`]. Times
//! are nanoseconds on a clock that the caller chooses.

mod awaiting;
mod channel;
mod classifier;
mod flow_key;
mod flow_table;
mod packet;
mod passage;
mod port_counters;
#[cfg(test)]
mod tests;
mod v1_0;
mod v1_3;

use std::collections::BTreeSet;
use std::time::Duration;

use openflow::handshake::{
    Event, Handshake, HandshakeError, Keepalive, Liveness, Stage, SwitchIdentity,
};
use openflow::wire::{Header, PacketInFields, PacketOut, emit_error};
use openflow::{
    BufferId, DatapathId, EncodeError, ErrorReason, MacAddress, PortNumber, Version, Xid,
};

use awaiting::{Awaiting, Waiting};
pub use channel::{Channel, Left, Role};
use flow_key::FlowKey;
pub use packet::Packet;
use passage::Passage;
use port_counters::PortCounters;

/// Whether packets that enter an OpenFlow switch pass its flow tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FlowTables {
    /// Every packet becomes a packet-in, whatever rules the controller has installed.
    #[default]
    Bypass,
    /// The installed rules decide whether a packet becomes a packet-in, is forwarded or is dropped.
    Run,
}

/// The properties of an emulated switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchOptions {
    /// The only version that the switch speaks.
    pub version: Version,
    /// The datapath id by which a controller identifies the switch.
    pub datapath_id: DatapathId,
    /// The number of ports. Ports are numbered from 1.
    pub ports: u16,
    /// The number of packets that the switch can buffer.
    pub buffers: u32,
    /// The capacity of all flow tables together, in entries.
    pub table_size: u32,
    /// Whether packets that enter a port pass the tables.
    pub flow_tables: FlowTables,
    /// The maximum number of packet-ins that are tracked until a rule of the controller answers
    /// them. 0 turns the tracking off.
    pub awaiting: usize,
}

/// A packet that enters the switch by a port.
#[derive(Clone, Copy, Debug)]
pub struct Arriving<'a> {
    /// The packet, from its Ethernet header on, without the FCS.
    pub frame: &'a [u8],
    /// The number of the ingress port, counted from 1.
    pub port: u32,
    /// The transaction id of the resulting packet-ins.
    pub xid: Xid,
    /// The buffer id of the resulting packet-ins. `NO_BUFFER` means that the packet is not buffered
    /// and is sent completely.
    pub buffer_id: BufferId,
    /// The identifier of the packet-in for [`OpenFlowSwitch::answered_by_rules`], which reports it
    /// once a rule of the controller has answered the packet-in. `None` if the packet-in is not
    /// tracked.
    pub awaits: Option<u64>,
}

impl<'a> Arriving<'a> {
    /// Creates a packet that is not part of a measurement, so that its packet-ins are not tracked.
    pub fn aside(port: u32, frame: &'a [u8]) -> Self {
        Self { frame, port, xid: Xid(0), buffer_id: BufferId::NO_BUFFER, awaits: None }
    }
}

/// The fate of a packet that entered a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet went to the controller, and possibly also out of ports.
    ToController,
    /// A rule sent the packet out of a port.
    Forwarded,
    /// The packet was dropped, by a rule or because no rule matched it.
    Dropped,
}

/// The effect of a message that the switch received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// The message was valid and changed no rules.
    Nothing,
    /// The message changed the rules of the switch.
    Rules {
        /// The number of rules that were added or replaced.
        installed: u32,
        /// The number of rules that were removed.
        removed: u32,
        /// The number of rules that were refused with an error.
        refused: u32,
    },
    /// The message could not be decoded, for this reason. The switch answered it with an error.
    Malformed(String),
}

impl Received {
    fn installed(count: usize) -> Self {
        Self::Rules { installed: count as u32, removed: 0, refused: 0 }
    }

    fn removed(count: usize) -> Self {
        Self::Rules { installed: 0, removed: count as u32, refused: 0 }
    }

    fn refused() -> Self {
        Self::Rules { installed: 0, removed: 0, refused: 1 }
    }
}

/// The reason why the session with the controller cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The controller does not speak the version of the switch, or does not begin with a handshake
    /// message.
    #[error("{0}")]
    Handshake(#[from] HandshakeError),
    /// The controller has sent nothing for a long time, although the connection is open.
    #[error("the controller did not answer an echo request within {} s", TIMEOUT.as_secs())]
    Silent,
}

/// The texts by which the switch describes itself to controllers.
struct Description {
    manufacturer: &'static str,
    hardware: &'static str,
    software: &'static str,
    serial: &'static str,
}

const DESCRIPTION: Description = Description {
    manufacturer: "Planimeter",
    hardware: "emulated switch",
    software: concat!("planimeter ", env!("CARGO_PKG_VERSION")),
    serial: "None",
};

/// The time without any message from the controller after which the switch sends an echo request.
const ECHO_INTERVAL: Duration = Duration::from_secs(15);
/// The time for which the switch waits for any message after an echo request, before it ends the
/// session. It is long because the controller under measurement may be loaded.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One emulated OpenFlow switch.
#[derive(Debug)]
pub struct OpenFlowSwitch {
    options: SwitchOptions,
    handshake: Handshake,
    keepalive: Option<Keepalive>,
    tables: Tables,
    /// The results of passing one packet through the tables, whose memory is reused for every
    /// packet.
    passage: Passage,
    awaiting: Option<Awaiting>,
    /// The identifiers ([`Arriving::awaits`]) of the packet-ins that rules have answered since the
    /// last call of [`OpenFlowSwitch::answered_by_rules`].
    answered_by_rules: Vec<u64>,
    next_expiry: u64,
    /// The packets that were sent out of ports and that [`OpenFlowSwitch::take_left`] has not
    /// returned yet.
    left: Vec<Left>,
}

/// The tables and other state that controllers created in the switch. This state survives the end
/// of a connection.
#[derive(Debug)]
enum Tables {
    V1_0(Box<v1_0::Personality>),
    V1_3(Box<v1_3::Personality>),
}

impl OpenFlowSwitch {
    /// Creates a switch that is not connected yet, with empty tables.
    pub fn new(options: SwitchOptions) -> Self {
        let tables = match options.version {
            Version::V1_0 => Tables::V1_0(Box::new(v1_0::Personality::new(&options))),
            Version::V1_3 => Tables::V1_3(Box::new(v1_3::Personality::new(&options))),
        };
        Self {
            options,
            handshake: handshake(&options, &BTreeSet::new()),
            keepalive: None,
            tables,
            passage: Passage::default(),
            awaiting: (options.awaiting > 0).then(|| Awaiting::new(options.awaiting)),
            answered_by_rules: Vec::new(),
            next_expiry: 0,
            left: Vec::new(),
        }
    }

    /// Records that a connection to a controller is established, and appends the switch's HELLO.
    pub fn opened(&mut self, now: u64, out: &mut Vec<u8>) {
        self.handshake = handshake(&self.options, self.down());
        self.handshake.start(out);
        // The transaction ids of echo requests differ from those of packet-ins and the handshake.
        let first = Xid(0xec00_0000);
        self.keepalive =
            Some(Keepalive::new(ECHO_INTERVAL, TIMEOUT, first, Duration::from_nanos(now)));
    }

    /// Records that the connection to the controller has ended. Flow entries are kept.
    pub fn closed(&mut self) {
        self.handshake = handshake(&self.options, self.down());
        self.keepalive = None;
        if let Tables::V1_3(personality) = &mut self.tables {
            personality.closed();
        }
    }

    /// Returns the stage that the session with the controller has reached: a number that increases
    /// from stage to stage, and a description.
    pub fn stage(&self) -> (u32, &'static str) {
        match self.handshake.stage() {
            Stage::Created => (0, "connected, no HELLO sent"),
            Stage::HelloSent => (1, "connected, waiting for the controller's HELLO"),
            Stage::Negotiated(_) => {
                (2, "version agreed on, waiting for the controller to ask for features")
            }
            Stage::FeaturesRequested(_) | Stage::Ready(_) => (3, "ready"),
        }
    }

    /// Returns whether the handshake with the controller is complete, so that the switch may send
    /// packet-ins.
    pub fn is_ready(&self) -> bool {
        self.handshake.is_ready()
    }

    /// Receives one message from the controller and appends the switch's answer. After an error,
    /// the connection must be closed once the appended bytes are sent.
    pub fn receive(
        &mut self,
        frame: &[u8],
        now: u64,
        out: &mut Vec<u8>,
    ) -> Result<Received, SessionError> {
        if let Some(keepalive) = &mut self.keepalive {
            keepalive.heard(Duration::from_nanos(now));
        }
        match self.handshake.receive(frame, out)? {
            Event::Message => Ok(self.message(frame, now, out)),
            Event::Rejected(reason) => Ok(Received::Malformed(reason.name().to_owned())),
            _ => Ok(Received::Nothing),
        }
    }

    /// Handles a message of the controller, and appends the answer to `out`.
    fn message(&mut self, frame: &[u8], now: u64, out: &mut Vec<u8>) -> Received {
        let awaits = self.awaiting.is_some();
        let mut rule = None;
        let result = match &mut self.tables {
            Tables::V1_0(personality) => {
                openflow::v1_0::Message::decode(frame).map(|(xid, message)| {
                    rule = awaits.then(|| v1_0::rule_of(&message)).flatten();
                    personality.receive(&self.options, xid, &message, frame, now, out)
                })
            }
            Tables::V1_3(personality) => {
                openflow::v1_3::Message::decode(frame).map(|(xid, message)| {
                    rule = awaits.then(|| v1_3::rule_of(&message)).flatten();
                    personality.receive(&self.options, xid, message, frame, now, out)
                })
            }
        };
        if let (Some(awaiting), Some(rule), Ok(Received::Rules { installed: 1.., .. })) =
            (&mut self.awaiting, &rule, &result)
        {
            awaiting.answer(rule, &mut self.answered_by_rules);
        }
        result.unwrap_or_else(|error| {
            let reason = match error.kind {
                openflow::DecodeErrorKind::UnknownType(_) if error.offset < 8 => {
                    ErrorReason::BadRequestBadType
                }
                _ => wrong_length(self.options.version, error.field),
            };
            self.refuse(reason, frame, out);
            Received::Malformed(error.to_string())
        })
    }

    fn refuse(&self, reason: ErrorReason, frame: &[u8], out: &mut Vec<u8>) {
        if let Ok(header) = Header::new_checked(frame) {
            refuse(self.options.version, reason, header.xid(), frame, out);
        }
    }

    /// Receives a packet that enters a port, and appends the packet-ins that result.
    ///
    /// If a packet leads to several packet-ins, because several actions send it to the controller,
    /// all of them carry the same transaction id and buffer id.
    pub fn packet(&mut self, packet: Arriving<'_>, now: u64, out: &mut Vec<u8>) -> Fate {
        let Arriving { frame, port, xid, buffer_id, awaits } = packet;
        self.ports().received(port, frame.len());
        if self.options.flow_tables == FlowTables::Bypass {
            if let (Some(awaiting), Some(sequence)) = (&mut self.awaiting, awaits) {
                let mut packet = Packet::default();
                packet.load(frame);
                let waiting = match &self.tables {
                    Tables::V1_0(_) => {
                        let key = FlowKey::v1_0(&packet, port as u16);
                        Waiting { table: 0, priority: 0, key }
                    }
                    Tables::V1_3(personality) => {
                        let table = personality.table_miss().map_or(0, |(table, _)| table);
                        let key = FlowKey::v1_3(&packet, port, 0);
                        Waiting { table, priority: 0, key }
                    }
                };
                awaiting.add(sequence, waiting);
            }
            self.packet_in(xid, buffer_id, port, frame, out);
            return Fate::ToController;
        }
        let mut passage = std::mem::take(&mut self.passage);
        passage.clear();
        match &mut self.tables {
            Tables::V1_0(personality) => {
                let miss_send_len = self.handshake.config().miss_send_len;
                // OpenFlow 1.0 and the configuration have port numbers of 16 bits.
                let port = port as u16;
                personality.process(&self.options, miss_send_len, port, frame, now, &mut passage);
            }
            Tables::V1_3(personality) => {
                personality.process(&self.options, port, frame, now, &mut passage);
            }
        }
        let fate = self.send(xid, buffer_id, port, &passage, out);
        self.left(port, &mut passage);
        if let (Some(awaiting), Some(sequence), Some(sent)) =
            (&mut self.awaiting, awaits, passage.to_controller.first())
        {
            let waiting = Waiting { table: sent.table_id, priority: sent.priority, key: sent.key };
            awaiting.add(sequence, waiting);
        }
        self.passage = passage;
        fate
    }

    /// Returns the identifiers ([`Arriving::awaits`]) of the packet-ins that rules have answered
    /// since the last call.
    pub fn answered_by_rules(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.answered_by_rules)
    }

    /// Executes the actions of a packet-out, and counts the packets that it sends out of each port.
    /// An output to [`PortNumber::TABLE`] sends the packet through the tables, and an output to
    /// [`PortNumber::CONTROLLER`] sends it back in a packet-in.
    ///
    /// A packet-out whose actions only send to ports is neither executed nor counted, unless the
    /// switch stores the packets that it sends out of ports ([`OpenFlowSwitch::hand_out`]).
    pub fn packet_out(&mut self, frame: &[u8], now: u64, out: &mut Vec<u8>) {
        if self.options.flow_tables == FlowTables::Bypass && !self.passage.keeps {
            return;
        }
        let mut passage = std::mem::take(&mut self.passage);
        passage.clear();
        let mut direct = passage.alike();
        let in_port = match &mut self.tables {
            Tables::V1_0(personality) => match openflow::v1_0::Message::decode(frame) {
                Ok((_, openflow::v1_0::Message::PacketOut(packet_out))) => {
                    personality.process_packet_out(
                        &self.options,
                        self.handshake.config().miss_send_len,
                        &packet_out,
                        now,
                        &mut passage,
                        &mut direct,
                    );
                    PortNumber::from_v1_0(packet_out.in_port.0)
                }
                _ => PortNumber::ANY,
            },
            Tables::V1_3(personality) => match openflow::v1_3::Message::decode(frame) {
                Ok((_, openflow::v1_3::Message::PacketOut(packet_out))) => {
                    personality.process_packet_out(
                        &self.options,
                        &packet_out,
                        now,
                        &mut passage,
                        &mut direct,
                    );
                    packet_out.in_port
                }
                _ => PortNumber::ANY,
            },
        };
        self.send(Xid(0), BufferId::NO_BUFFER, in_port.0, &passage, out);
        self.left(in_port.0, &mut direct);
        self.left(in_port.0, &mut passage);
        self.passage = passage;
    }

    /// Counts, for each port, the packets that a packet-out would send out of it. The packet-out is
    /// not executed.
    pub fn count_outputs(&mut self, packet_out: &PacketOut<&[u8]>) {
        let (in_port, bytes) = (packet_out.in_port().0, packet_out.payload().len());
        let ports = self.options.ports;
        let counters = self.ports();
        for port in packet_out.outputs() {
            counters.sent(port, in_port, bytes, ports);
        }
    }

    /// Counts, for each port, the packets that the tables sent out of it.
    fn left(&mut self, in_port: u32, passage: &mut Passage) {
        let ports = self.options.ports;
        let counters = self.ports();
        for (port, bytes) in &passage.outputs {
            counters.sent(*port, in_port, *bytes, ports);
        }
        self.hand_over(in_port, passage);
    }

    fn ports(&mut self) -> &mut PortCounters {
        match &mut self.tables {
            Tables::V1_0(personality) => &mut personality.ports,
            Tables::V1_3(personality) => &mut personality.ports,
        }
    }

    /// Appends the packet-ins that result from passing a packet through the tables.
    fn send(
        &self,
        xid: Xid,
        buffer_id: BufferId,
        port: u32,
        passage: &Passage,
        out: &mut Vec<u8>,
    ) -> Fate {
        for packet in &passage.to_controller {
            let buffer_id = if packet.may_buffer { buffer_id } else { BufferId::NO_BUFFER };
            let shown = match buffer_id.is_buffered() {
                true => packet.bytes.len().min(usize::from(packet.max_len)),
                false => packet.bytes.len(),
            };
            let data = &packet.bytes[..shown];
            let total_len = u16::try_from(packet.bytes.len()).unwrap_or(u16::MAX);
            let in_port = PortNumber(port);
            if packet.metadata == 0 {
                let fields = PacketInFields {
                    buffer_id,
                    total_len,
                    in_port,
                    reason: packet.reason,
                    table_id: packet.table_id,
                    cookie: packet.cookie,
                };
                sent(fields.emit(self.options.version, xid, data, out));
            } else {
                // Nonzero metadata is part of the packet-in (OpenFlow 1.3.5, 7.4.1).
                let rule = openflow::v1_3::Match::any().with_in_port(in_port);
                let message = openflow::v1_3::Message::PacketIn(openflow::v1_3::PacketIn {
                    buffer_id,
                    total_len,
                    reason: openflow::v1_3::PacketInReason(packet.reason),
                    table_id: openflow::v1_3::TableId(packet.table_id),
                    cookie: packet.cookie,
                    match_fields: rule.with_metadata(packet.metadata),
                    data: data.to_vec(),
                });
                sent(message.encode(xid, out));
            }
        }
        match (passage.to_controller.is_empty(), passage.forwarded) {
            (false, _) => Fate::ToController,
            (true, true) => Fate::Forwarded,
            (true, false) => Fate::Dropped,
        }
    }

    /// Appends a packet-in, truncated to the configured length if the packet is buffered.
    pub fn packet_in(
        &self,
        xid: Xid,
        buffer_id: BufferId,
        port: u32,
        frame: &[u8],
        out: &mut Vec<u8>,
    ) {
        let shown = match buffer_id.is_buffered() {
            true => frame.len().min(usize::from(self.handshake.config().miss_send_len)),
            false => frame.len(),
        };
        let table_miss = match &self.tables {
            Tables::V1_0(_) => None,
            Tables::V1_3(personality) => personality.table_miss(),
        };
        // If no entry sends unmatched packets to the controller, the packet-in has no cookie.
        let (table_id, cookie) = table_miss.unwrap_or((0, u64::MAX));
        let fields = PacketInFields {
            buffer_id,
            total_len: u16::try_from(frame.len()).unwrap_or(u16::MAX),
            in_port: PortNumber(port),
            // Reason 0 is a table miss.
            reason: 0,
            table_id,
            cookie,
        };
        sent(fields.emit(self.options.version, xid, &frame[..shown], out));
    }

    /// Does the work that depends on time: expires flow entries once a second, and sends an echo
    /// request to a controller that has been silent. Returns an error if the controller has not
    /// answered in time.
    pub fn tick(&mut self, now: u64, out: &mut Vec<u8>) -> Result<(), SessionError> {
        if now >= self.next_expiry {
            self.next_expiry = now + 1_000_000_000;
            match &mut self.tables {
                Tables::V1_0(personality) => personality.expire(now, out),
                Tables::V1_3(personality) => personality.expire(now, out),
            }
        }
        if let (Some(keepalive), Some(version)) = (&mut self.keepalive, self.handshake.version()) {
            let liveness = keepalive.poll(version, Duration::from_nanos(now), out);
            if let Liveness::Dead { .. } = liveness {
                return Err(SessionError::Silent);
            }
        }
        Ok(())
    }
}

/// Returns the error with which a switch answers a structure of wrong length. The error depends on
/// the kind of structure.
fn wrong_length(version: Version, field: &str) -> ErrorReason {
    let reason = match field.split('.').next().unwrap_or_default() {
        structure if structure.starts_with("ofp_action") => ErrorReason::BadActionBadLen,
        structure if structure.starts_with("ofp_instruction") => ErrorReason::BadInstructionBadLen,
        "ofp_match" if field == "ofp_match.type" => ErrorReason::BadMatchBadType,
        structure if structure.starts_with("ofp_match") || structure.starts_with("oxm") => {
            ErrorReason::BadMatchBadLen
        }
        _ => ErrorReason::BadRequestBadLen,
    };
    // OpenFlow 1.0 does not define all of these reasons.
    match reason.codes(version) {
        Some(_) => reason,
        None => ErrorReason::BadRequestBadLen,
    }
}

fn handshake(options: &SwitchOptions, down: &BTreeSet<u16>) -> Handshake {
    let mut identity = SwitchIdentity::new(options.datapath_id);
    identity.n_buffers = options.buffers;
    match options.version {
        Version::V1_0 => {
            identity.ports =
                (1..=options.ports).map(|port| v1_0::phy_port(options, port, down)).collect();
        }
        Version::V1_3 => {
            identity.n_tables = v1_3::TABLES;
            identity.capabilities |= openflow::v1_3::Capabilities::GROUP_STATS.0;
        }
    }
    Handshake::switch(&[options.version], identity)
}

/// Returns the hardware address of a port: a locally administered address made of the datapath id
/// and the port number.
fn hardware_address(datapath_id: DatapathId, port: u16) -> MacAddress {
    let [.., a, b, c] = datapath_id.0.to_be_bytes();
    let [d, e] = port.to_be_bytes();
    MacAddress([0x02, a, b, c, d, e])
}

fn port_name(datapath_id: DatapathId, port: u16) -> String {
    format!("s{}-eth{port}", datapath_id.0)
}

/// Appends an error message in answer to a request. It contains the first 64 bytes of the request,
/// which is the least number that the specification requires (OpenFlow 1.3.5, 7.4.4).
fn refuse(version: Version, reason: ErrorReason, xid: Xid, request: &[u8], out: &mut Vec<u8>) {
    // Every reason that the switch uses in a version exists in that version.
    if let Some((error_type, code)) = reason.codes(version) {
        let data = &request[..request.len().min(64)];
        sent(emit_error(version, xid, error_type, code, data, out));
    }
}

/// Ignores the error for an answer that is too long for its length field. The error cannot occur:
/// only statistics can become so long, and they are sent in parts.
fn sent(result: Result<(), EncodeError>) {
    debug_assert!(result.is_ok(), "{result:?}");
}
