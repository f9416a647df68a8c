//! An emulated OpenFlow switch: takes frames and appends answers, without sockets or clock.
//!
//! It forwards nothing. It answers whatever a controller asks so that the controller takes it for
//! a switch: the handshake, flow, group and meter tables that keep what they are told and can be
//! read back, expiry, roles, statistics. Packet-outs are the engine's business, since their
//! arrival is what is measured. Times are nanoseconds on the trial's clock.

mod flow_table;
#[cfg(test)]
mod tests;
mod v1_0;
mod v1_3;

use std::time::Duration;

use openflow::handshake::{
    Event, Handshake, HandshakeError, Keepalive, Liveness, Stage, SwitchIdentity,
};
use openflow::wire::{Header, PacketInFields, emit_error};
use openflow::{
    BufferId, DatapathId, EncodeError, ErrorReason, MacAddress, PortNumber, Version, Xid,
};

/// What a switch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SwitchOptions {
    pub(crate) version: Version,
    pub(crate) datapath_id: DatapathId,
    /// Ports, numbered from 1.
    pub(crate) ports: u16,
    /// Packets that can be buffered.
    pub(crate) buffers: u32,
    /// Flow entries that fit.
    pub(crate) table_size: u32,
}

/// What a frame meant to the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing that is counted.
    Nothing,
    /// Changes of rules.
    Rules { installed: u32, removed: u32, refused: u32 },
    /// A message that could not be read, in words; it was answered with an error.
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

/// Why the session with the controller cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("{0}")]
    Handshake(#[from] HandshakeError),
    #[error("the controller did not answer an echo request within {} s", PATIENCE.as_secs())]
    Silent,
}

/// How the switch describes itself.
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

/// The switch asks for an echo after so much silence.
const ECHO_INTERVAL: Duration = Duration::from_secs(15);
/// And gives the controller up after so much more. Long, since a loaded controller is what is
/// being measured.
const PATIENCE: Duration = Duration::from_secs(60);

/// One emulated switch.
#[derive(Debug)]
pub(crate) struct OpenFlowSwitch {
    options: SwitchOptions,
    handshake: Handshake,
    keepalive: Option<Keepalive>,
    tables: Tables,
    next_expiry: u64,
}

/// What the controller told the switch to keep; survives the connection.
#[derive(Debug)]
enum Tables {
    V1_0(v1_0::Personality),
    V1_3(Box<v1_3::Personality>),
}

impl OpenFlowSwitch {
    pub(crate) fn new(options: SwitchOptions) -> Self {
        let tables = match options.version {
            Version::V1_0 => Tables::V1_0(v1_0::Personality::new(&options)),
            Version::V1_3 => Tables::V1_3(Box::new(v1_3::Personality::new(&options))),
        };
        Self { options, handshake: handshake(&options), keepalive: None, tables, next_expiry: 0 }
    }

    /// A connection stands: the switch says hello.
    pub(crate) fn opened(&mut self, now: u64, out: &mut Vec<u8>) {
        self.handshake = handshake(&self.options);
        self.handshake.start(out);
        // Transaction ids of echo requests stay clear of those of packet-ins and the handshake.
        let first = Xid(0xec00_0000);
        self.keepalive =
            Some(Keepalive::new(ECHO_INTERVAL, PATIENCE, first, Duration::from_nanos(now)));
    }

    /// The connection is gone; flow entries stay.
    pub(crate) fn closed(&mut self) {
        self.handshake = handshake(&self.options);
        self.keepalive = None;
        if let Tables::V1_3(personality) = &mut self.tables {
            personality.closed();
        }
    }

    /// How far the session is: a rank that grows, and words.
    pub(crate) fn stage(&self) -> (u32, &'static str) {
        match self.handshake.stage() {
            Stage::Created => (0, "connected, no HELLO sent"),
            Stage::HelloSent => (1, "connected, waiting for the controller's HELLO"),
            Stage::Negotiated(_) => {
                (2, "version agreed on, waiting for the controller to ask for features")
            }
            Stage::FeaturesRequested(_) | Stage::Ready(_) => (3, "ready"),
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.handshake.is_ready()
    }

    /// Takes one message and appends what is to be sent in answer. After an error the connection
    /// is to be closed, once what was appended is sent.
    pub(crate) fn receive(
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

    fn message(&mut self, frame: &[u8], now: u64, out: &mut Vec<u8>) -> Received {
        let result = match &mut self.tables {
            Tables::V1_0(personality) => {
                openflow::v1_0::Message::decode(frame).map(|(xid, message)| {
                    personality.receive(&self.options, xid, &message, frame, now, out)
                })
            }
            Tables::V1_3(personality) => {
                openflow::v1_3::Message::decode(frame).map(|(xid, message)| {
                    personality.receive(&self.options, xid, message, frame, now, out)
                })
            }
        };
        result.unwrap_or_else(|error| {
            let reason = match error.kind {
                openflow::DecodeErrorKind::UnknownType(_) if error.offset < 8 => {
                    ErrorReason::BadRequestBadType
                }
                _ => ErrorReason::BadRequestBadLen,
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

    /// Appends a packet-in, cut as the controller configured if the packet is buffered.
    pub(crate) fn packet_in(
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
        // Without an entry that sends packets to the controller there is no cookie to name.
        let (table_id, cookie) = table_miss.unwrap_or((0, u64::MAX));
        let fields = PacketInFields {
            buffer_id,
            total_len: u16::try_from(frame.len()).unwrap_or(u16::MAX),
            in_port: PortNumber(port),
            // A table miss.
            reason: 0,
            table_id,
            cookie,
        };
        sent(fields.emit(self.options.version, xid, &frame[..shown], out));
    }

    /// Housekeeping: expires flow entries once a second, and asks a silent controller for an echo.
    pub(crate) fn tick(&mut self, now: u64, out: &mut Vec<u8>) -> Result<(), SessionError> {
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

fn handshake(options: &SwitchOptions) -> Handshake {
    let mut identity = SwitchIdentity::new(options.datapath_id);
    identity.n_buffers = options.buffers;
    match options.version {
        Version::V1_0 => {
            identity.ports =
                (1..=options.ports).map(|port| v1_0::phy_port(options, port)).collect();
        }
        Version::V1_3 => {
            identity.n_tables = v1_3::TABLES;
            identity.capabilities |= openflow::v1_3::Capabilities::GROUP_STATS.0;
        }
    }
    Handshake::switch(&[options.version], identity)
}

/// A locally administered address made of the datapath id and the port.
fn hardware_address(datapath_id: DatapathId, port: u16) -> MacAddress {
    let [.., a, b, c] = datapath_id.0.to_be_bytes();
    let [d, e] = port.to_be_bytes();
    MacAddress([0x02, a, b, c, d, e])
}

fn port_name(datapath_id: DatapathId, port: u16) -> String {
    format!("s{}-eth{port}", datapath_id.0)
}

/// Appends an error about a message, of which at least 64 bytes go back (OpenFlow 1.3.5, 7.5.4).
fn refuse(version: Version, reason: ErrorReason, xid: Xid, request: &[u8], out: &mut Vec<u8>) {
    // Every reason that is used with a version exists in it.
    if let Some((error_type, code)) = reason.codes(version) {
        let data = &request[..request.len().min(64)];
        sent(emit_error(version, xid, error_type, code, data, out));
    }
}

/// An answer that does not fit its length field is left out. Only statistics can grow that far,
/// and those are sent in parts.
fn sent(result: Result<(), EncodeError>) {
    debug_assert!(result.is_ok(), "{result:?}");
}
