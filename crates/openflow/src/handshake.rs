//! The opening of an OpenFlow session: the exchange of HELLO messages, the negotiation of a
//! version, and the exchange of features and configuration. This module implements both the
//! switch's side and the controller's side.
//!
//! The caller passes every arriving message to [`Handshake`], which appends its answers to a
//! buffer. It parses the few messages that it needs in either version, so the caller need not
//! decode messages first. It keeps answering echo, features and configuration requests after the
//! session is open. All other messages are left to the caller, as [`Event::Message`] says.
//!
//! The first question about a controller that does not answer is where its handshake got stuck.
//! [`Handshake::stage`] returns the stage reached, [`Handshake::failure`] the reason why it went no
//! further, and [`Handshake::diagnosis`] a sentence with both.
//!
//! OpenFlow 1.0.0, 5.5.1; OpenFlow 1.3.5, 6.3.2, 7.3.1, 7.3.2 and 7.5.1.

mod hello;
mod keepalive;

pub use hello::OfferedVersions;
pub use keepalive::{Keepalive, Liveness};

use crate::cursor::{Reader, patch_length};
use crate::error::{DecodeError, EncodeError};
use crate::v1_0::{self, FragmentHandling, SwitchConfig};
use crate::wire::{HEADER_LENGTH, Header, MessageType, emit_echo_reply, emit_empty, emit_error};
use crate::{DatapathId, ErrorReason, Version, Xid};

/// The stage that a session has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// This side has sent no message yet.
    Created,
    /// This side has sent its HELLO and received none.
    HelloSent,
    /// A version is negotiated. The switch waits for a features request.
    Negotiated(Version),
    /// The controller has requested the switch's features and waits for them.
    FeaturesRequested(Version),
    /// The features are exchanged, and the session is open.
    ///
    /// Controllers may have further requests before they accept packets: over 1.3, os-ken ignores
    /// packet-ins until its request for port descriptions is answered.
    Ready(Version),
}

impl Stage {
    /// Returns the negotiated version, or `None` before the negotiation.
    pub const fn version(self) -> Option<Version> {
        match self {
            Self::Created | Self::HelloSent => None,
            Self::Negotiated(version) | Self::FeaturesRequested(version) | Self::Ready(version) => {
                Some(version)
            }
        }
    }
}

/// The meaning of a message that was passed to [`Handshake::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The message was a HELLO, and this version is negotiated.
    Negotiated(Version),
    /// The message opened the session.
    Ready(Version),
    /// The message was a SET_CONFIG, and this is the switch's new configuration.
    Configured(SwitchConfig),
    /// The message was malformed, and was answered with this error.
    Rejected(ErrorReason),
    /// The message was an echo request or a request for features or configuration, which the
    /// handshake has answered, or a HELLO after the negotiation, which is ignored.
    Handled,
    /// The message does not belong to the handshake, and the caller must handle it.
    Message,
}

/// The reason why a session cannot continue. The connection must be closed once the bytes that
/// [`Handshake::receive`] appended are sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The received bytes are not a message, or a message of the handshake is malformed.
    #[error("malformed message from the peer: {0}")]
    Malformed(#[from] DecodeError),
    /// The peer's first message is not a HELLO.
    #[error(
        "the peer's first message is of type {message_type} and version {version:#04x}, \
         not a HELLO: it may not speak OpenFlow"
    )]
    NotHello {
        /// The version in the message's header.
        version: u8,
        /// The type in the message's header.
        message_type: MessageType,
    },
    /// The two sides have no version in common. An error message with this reason was sent to the
    /// peer.
    #[error("no version in common: the peer offers {theirs}, this side {ours}")]
    Incompatible {
        /// The versions that the peer offers.
        theirs: OfferedVersions,
        /// The versions that this side offers.
        ours: OfferedVersions,
    },
    /// The peer ended the handshake with an error message.
    #[error("the peer refused the session with error type {error_type}, code {code}: {text:?}")]
    Refused {
        /// The type of the peer's error, or 0 for a failed HELLO.
        error_type: u16,
        /// The code of the peer's error.
        code: u16,
        /// The beginning of the text in the peer's error message, at most 200 characters, without
        /// control characters.
        text: String,
    },
    /// A message has a version other than the negotiated one. An error message with this reason was
    /// sent to the peer.
    #[error("a message of version {found:#04x} after version {agreed} was agreed on")]
    WrongVersion {
        /// The negotiated version.
        agreed: Version,
        /// The version in the message's header.
        found: u8,
    },
    /// The features of the switch are too long for one message.
    #[error("cannot answer the request for features: {0}")]
    Features(#[from] EncodeError),
}

/// The identity and the features that an emulated switch reports in the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchIdentity {
    /// The datapath id of the switch.
    pub datapath_id: DatapathId,
    /// The number of packets that the switch can buffer.
    pub n_buffers: u32,
    /// The number of tables of the switch.
    pub n_tables: u8,
    /// The id of an auxiliary connection, or 0 for the main one. OpenFlow 1.0 does not send it.
    pub auxiliary_id: u8,
    /// The capabilities of the switch as bits. OpenFlow 1.0 and 1.3 agree on bits 0 to 2, which
    /// stand for flow, table and port statistics, and on bits 5 and 6.
    pub capabilities: u32,
    /// The actions that the switch supports. OpenFlow 1.3 does not send them.
    pub actions: v1_0::ActionTypes,
    /// The ports of the switch. OpenFlow 1.3 does not send them in the handshake, because its
    /// controllers request port descriptions separately.
    pub ports: Vec<v1_0::PhyPort>,
}

impl SwitchIdentity {
    /// Creates the identity of a switch without buffers and ports. The switch has one table, keeps
    /// statistics of flows, tables and ports, and supports every action.
    pub fn new(datapath_id: DatapathId) -> Self {
        let counts = v1_0::Capabilities::FLOW_STATS
            | v1_0::Capabilities::TABLE_STATS
            | v1_0::Capabilities::PORT_STATS;
        Self {
            datapath_id,
            n_buffers: 0,
            n_tables: 1,
            auxiliary_id: 0,
            capabilities: counts.0,
            actions: v1_0::ActionTypes::ALL,
            ports: Vec::new(),
        }
    }

    /// Appends a features reply. In 1.3, the reply is as long as one of 1.0 without ports, but it
    /// has an auxiliary id in place of padding and a reserved word in place of the actions.
    fn emit(&self, version: Version, xid: Xid, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if version == Version::V1_0 {
            let features = v1_0::FeaturesReply {
                datapath_id: self.datapath_id,
                n_buffers: self.n_buffers,
                n_tables: self.n_tables,
                capabilities: v1_0::Capabilities(self.capabilities),
                actions: self.actions,
                ports: self.ports.clone(),
            };
            return v1_0::Message::FeaturesReply(features).encode(xid, out);
        }
        let start = out.len();
        emit_empty(version, MessageType::FEATURES_REPLY, xid, out);
        out.extend_from_slice(&self.datapath_id.0.to_be_bytes());
        out.extend_from_slice(&self.n_buffers.to_be_bytes());
        out.extend_from_slice(&[self.n_tables, self.auxiliary_id, 0, 0]);
        out.extend_from_slice(&self.capabilities.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        patch_length(out, start, start + 2, "ofp_switch_features")
    }
}

/// The features of a switch that a controller learns while the session opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchFeatures {
    /// The datapath id of the switch.
    pub datapath_id: DatapathId,
    /// The number of packets that the switch can buffer.
    pub n_buffers: u32,
    /// The number of tables of the switch.
    pub n_tables: u8,
    /// The id of an auxiliary connection, or 0 for the main one, and always 0 in OpenFlow 1.0.
    pub auxiliary_id: u8,
    /// The capabilities of the switch, as bits whose meaning depends on the version.
    pub capabilities: u32,
}

impl SwitchFeatures {
    fn read(version: Version, body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let datapath_id = DatapathId(reader.u64("ofp_switch_features.datapath_id")?);
        let n_buffers = reader.u32("ofp_switch_features.n_buffers")?;
        let n_tables = reader.u8("ofp_switch_features.n_tables")?;
        let auxiliary_id = reader.u8("ofp_switch_features.auxiliary_id")?;
        reader.skip(2, "ofp_switch_features.pad")?;
        let capabilities = reader.u32("ofp_switch_features.capabilities")?;
        reader.skip(4, "ofp_switch_features.reserved")?;
        let auxiliary_id = if version == Version::V1_0 { 0 } else { auxiliary_id };
        Ok(Self { datapath_id, n_buffers, n_tables, auxiliary_id, capabilities })
    }
}

/// The side of the session that a `Handshake` represents: a switch, with the identity that it
/// reports, or a controller, with the configuration that it sends to the switch.
#[derive(Clone, Debug)]
enum Role {
    Switch { identity: Box<SwitchIdentity>, config: SwitchConfig },
    Controller { config: SwitchConfig, features: Option<SwitchFeatures> },
}

/// The handshake state of one side of a session, from the start of the connection on.
#[derive(Clone, Debug)]
pub struct Handshake {
    role: Role,
    ours: OfferedVersions,
    stage: Stage,
    failure: Option<HandshakeError>,
    next_xid: u32,
}

impl Handshake {
    /// Creates the switch's side of a handshake. It offers the versions in `supported`, or both
    /// versions if that is empty.
    pub fn switch(supported: &[Version], identity: SwitchIdentity) -> Self {
        let identity = Box::new(identity);
        Self::new(supported, Role::Switch { identity, config: SwitchConfig::default() })
    }

    /// Creates the controller's side of a handshake. It offers the versions in `supported`, or both
    /// versions if that is empty.
    ///
    /// Once the controller knows the switch's features, it sends `config`, whose fields are the
    /// same in both versions.
    pub fn controller(supported: &[Version], config: SwitchConfig) -> Self {
        Self::new(supported, Role::Controller { config, features: None })
    }

    fn new(supported: &[Version], role: Role) -> Self {
        let ours = OfferedVersions::of(supported);
        Self { role, ours, stage: Stage::Created, failure: None, next_xid: 1 }
    }

    /// Returns the stage that the session has reached. A failure leaves the stage unchanged.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Returns the reason why the session cannot continue, or `None` if it can.
    pub fn failure(&self) -> Option<&HandshakeError> {
        self.failure.as_ref()
    }

    /// Returns the negotiated version, or `None` before the negotiation.
    pub fn version(&self) -> Option<Version> {
        self.stage.version()
    }

    /// Returns whether the session is open: a version is negotiated and the features are exchanged.
    pub fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready(_)) && self.failure.is_none()
    }

    /// Returns the switch's features. Only the controller's side returns them, and only once it has
    /// received them.
    pub fn features(&self) -> Option<&SwitchFeatures> {
        match &self.role {
            Role::Controller { features, .. } => features.as_ref(),
            Role::Switch { .. } => None,
        }
    }

    /// Returns the configuration that the switch has or, on the controller's side, that the
    /// controller sets.
    pub fn config(&self) -> SwitchConfig {
        match &self.role {
            Role::Controller { config, .. } | Role::Switch { config, .. } => *config,
        }
    }

    /// Returns a sentence that states which stage the session has reached, and what is missing
    /// before it is open.
    pub fn diagnosis(&self) -> String {
        let peer = match self.role {
            Role::Switch { .. } => "controller",
            Role::Controller { .. } => "switch",
        };
        let stage = match self.stage {
            Stage::Created => "HELLO not sent yet".to_owned(),
            Stage::HelloSent => format!("HELLO sent, waiting for the {peer}'s HELLO"),
            Stage::Negotiated(version) => {
                format!("version {version} agreed on, waiting for the {peer} to ask for features")
            }
            Stage::FeaturesRequested(version) => {
                format!("version {version} agreed on, waiting for the {peer}'s features")
            }
            Stage::Ready(version) => format!("session open, version {version}"),
        };
        match &self.failure {
            Some(failure) => format!("{failure} ({stage})"),
            None => stage,
        }
    }

    /// Appends this side's HELLO. Both sides send a HELLO as soon as the connection is established.
    pub fn start(&mut self, out: &mut Vec<u8>) {
        if self.stage == Stage::Created {
            let xid = self.take_xid();
            self.ours.emit(xid, out);
            self.stage = Stage::HelloSent;
        }
    }

    /// Receives one message, as [`framing`](crate::framing) yields it, and appends the answer to
    /// `out`.
    ///
    /// After an error the session is over, and every further call returns the same error.
    pub fn receive(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<Event, HandshakeError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.start(out);
        let event = self.dispatch(frame, out);
        if let Err(failure) = &event {
            self.failure = Some(failure.clone());
        }
        event
    }

    /// Handles a message according to the stage of the session.
    fn dispatch(&mut self, frame: &[u8], out: &mut Vec<u8>) -> Result<Event, HandshakeError> {
        let header = Header::new_checked(frame)?;
        let message_type = header.message_type();
        match (message_type, self.stage.version()) {
            (MessageType::HELLO, None) => self.negotiate(&header, out),
            // A HELLO contains the highest version of its sender, independently of the negotiated
            // one.
            (MessageType::HELLO, Some(_)) => Ok(Event::Handled),
            (MessageType::ECHO_REQUEST, None) => {
                emit_echo_reply(&header, out);
                Ok(Event::Handled)
            }
            (MessageType::ERROR, _) if self.is_refusal(&header) => Err(refusal(&header)?),
            (_, None) => Err(HandshakeError::NotHello { version: header.version(), message_type }),
            (_, Some(agreed)) if header.version() != agreed.wire() => {
                emit_reason(agreed, &header, ErrorReason::BadRequestBadVersion, frame, out);
                Err(HandshakeError::WrongVersion { agreed, found: header.version() })
            }
            (MessageType::ECHO_REQUEST, Some(_)) => {
                emit_echo_reply(&header, out);
                Ok(Event::Handled)
            }
            (_, Some(version)) => match self.role {
                Role::Switch { .. } => self.receive_as_switch(version, &header, frame, out),
                Role::Controller { .. } => self.receive_as_controller(version, &header, out),
            },
        }
    }

    /// Returns whether an error message means that the peer refuses the session. This is any error
    /// before the negotiation, and an error about HELLO after it. Other errors after the
    /// negotiation answer messages of the caller.
    fn is_refusal(&self, header: &Header<&[u8]>) -> bool {
        match self.stage {
            Stage::Created | Stage::HelloSent => true,
            Stage::Negotiated(_) | Stage::FeaturesRequested(_) => {
                header.body().starts_with(&[0, 0])
            }
            Stage::Ready(_) => false,
        }
    }

    fn negotiate(
        &mut self,
        hello: &Header<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<Event, HandshakeError> {
        let theirs = OfferedVersions::read(hello);
        let Some(version) = self.ours.choose(theirs) else {
            let ours = self.ours;
            let text = format!("this side speaks OpenFlow {ours}");
            // The error uses a version that the peer speaks, if this crate does as well.
            let wire = theirs.highest.min(ours.highest);
            let version = Version::from_wire(wire).unwrap_or(Version::V1_0);
            // A failed HELLO has equal numbers in both versions. The text fits.
            let _ = emit_error(version, hello.xid(), 0, 0, text.as_bytes(), out);
            return Err(HandshakeError::Incompatible { theirs, ours });
        };
        self.stage = match self.role {
            Role::Switch { .. } => Stage::Negotiated(version),
            Role::Controller { .. } => {
                emit_empty(version, MessageType::FEATURES_REQUEST, self.take_xid(), out);
                Stage::FeaturesRequested(version)
            }
        };
        Ok(Event::Negotiated(version))
    }

    /// Handles a message of the controller, as a switch.
    fn receive_as_switch(
        &mut self,
        version: Version,
        header: &Header<&[u8]>,
        frame: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Event, HandshakeError> {
        let Role::Switch { identity, config } = &mut self.role else { return Ok(Event::Message) };
        match header.message_type() {
            MessageType::FEATURES_REQUEST => {
                identity.emit(version, header.xid(), out)?;
                if self.stage == Stage::Ready(version) {
                    return Ok(Event::Handled);
                }
                self.stage = Stage::Ready(version);
                Ok(Event::Ready(version))
            }
            MessageType::GET_CONFIG_REQUEST => {
                emit_config(version, MessageType::GET_CONFIG_REPLY, header.xid(), *config, out);
                Ok(Event::Handled)
            }
            MessageType::SET_CONFIG => {
                let &[f0, f1, m0, m1] = header.body() else {
                    let reason = ErrorReason::BadRequestBadLen;
                    emit_reason(version, header, reason, frame, out);
                    return Ok(Event::Rejected(reason));
                };
                config.flags = FragmentHandling(u16::from_be_bytes([f0, f1]));
                config.miss_send_len = u16::from_be_bytes([m0, m1]);
                Ok(Event::Configured(*config))
            }
            _ => Ok(Event::Message),
        }
    }

    fn receive_as_controller(
        &mut self,
        version: Version,
        header: &Header<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<Event, HandshakeError> {
        let awaited = self.stage == Stage::FeaturesRequested(version);
        if !awaited || header.message_type() != MessageType::FEATURES_REPLY {
            return Ok(Event::Message);
        }
        let read = SwitchFeatures::read(version, header.body())
            .map_err(|error| DecodeError { offset: error.offset + HEADER_LENGTH, ..error })?;
        let xid = self.take_xid();
        if let Role::Controller { config, features } = &mut self.role {
            *features = Some(read);
            emit_config(version, MessageType::SET_CONFIG, xid, *config, out);
        }
        self.stage = Stage::Ready(version);
        Ok(Event::Ready(version))
    }

    fn take_xid(&mut self) -> Xid {
        let xid = Xid(self.next_xid);
        self.next_xid = self.next_xid.wrapping_add(1);
        xid
    }
}

/// Appends `ofp_switch_config`, which has 12 bytes in both versions.
fn emit_config(
    version: Version,
    message_type: MessageType,
    xid: Xid,
    config: SwitchConfig,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&[version.wire(), message_type.0, 0, 12]);
    out.extend_from_slice(&xid.0.to_be_bytes());
    out.extend_from_slice(&config.flags.0.to_be_bytes());
    out.extend_from_slice(&config.miss_send_len.to_be_bytes());
}

/// Appends an error message in answer to a message. It contains the first 64 bytes of that message.
fn emit_reason(
    version: Version,
    header: &Header<&[u8]>,
    reason: ErrorReason,
    frame: &[u8],
    out: &mut Vec<u8>,
) {
    let beginning = frame.get(..64).unwrap_or(frame);
    if let Some((error_type, code)) = reason.codes(version) {
        // 64 bytes fit the length field.
        let _ = emit_error(version, header.xid(), error_type, code, beginning, out);
    }
}

/// Reads the error message with which the peer ended the handshake.
fn refusal(header: &Header<&[u8]>) -> Result<HandshakeError, DecodeError> {
    let mut reader = Reader::new(header.body());
    let error_type = reader.u16("ofp_error_msg.type")?;
    let code = reader.u16("ofp_error_msg.code")?;
    let text = String::from_utf8_lossy(reader.rest());
    let text: String =
        text.trim_end_matches('\0').chars().take(200).filter(|c| !c.is_control()).collect();
    Ok(HandshakeError::Refused { error_type, code, text })
}

#[cfg(test)]
mod tests;
