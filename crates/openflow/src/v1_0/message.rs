//! Any message of OpenFlow 1.0, decoded and encoded.

use super::{
    FeaturesReply, FlowMod, FlowRemoved, PacketIn, PacketOut, PortMod, PortStatus,
    QueueGetConfigReply, QueueGetConfigRequest, StatsReply, StatsRequest, SwitchConfig,
};
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::structure::Wire;
use crate::wire::{HEADER_LENGTH, Header, MessageType};
use crate::{Version, Xid};

/// `enum ofp_type` where it is 1.0's own; the rest is in [`MessageType`].
mod kind {
    use crate::wire::MessageType;

    pub(super) const PORT_MOD: MessageType = MessageType(15);
    pub(super) const STATS_REQUEST: MessageType = MessageType(16);
    pub(super) const STATS_REPLY: MessageType = MessageType(17);
    pub(super) const BARRIER_REQUEST: MessageType = MessageType(18);
    pub(super) const BARRIER_REPLY: MessageType = MessageType(19);
    pub(super) const QUEUE_GET_CONFIG_REQUEST: MessageType = MessageType(20);
    pub(super) const QUEUE_GET_CONFIG_REPLY: MessageType = MessageType(21);
}

/// Something went wrong (`ofp_error_msg`).
///
/// Type and code stay as on the wire; [`ErrorReason`](crate::ErrorReason) names those that the
/// specification defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorMessage {
    /// What kind of thing.
    pub error_type: u16,
    /// What in particular.
    pub code: u16,
    /// The beginning of the message at fault, or a text for a failed HELLO.
    pub data: Vec<u8>,
}

/// A message without its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Opens the connection. 1.0.0 leaves the body empty; 1.0.1 allows elements in it, which
    /// [`handshake`](crate::handshake) reads.
    Hello(Vec<u8>),
    /// Something went wrong.
    Error(ErrorMessage),
    /// Asks for an echo reply with the same body.
    EchoRequest(Vec<u8>),
    /// Answers an echo request.
    EchoReply(Vec<u8>),
    /// An extension by a vendor.
    Vendor {
        /// The vendor's IEEE OUI, or a number given by the ONF.
        vendor: u32,
        /// What follows the vendor.
        body: Vec<u8>,
    },
    /// Asks the switch what it is.
    FeaturesRequest,
    /// The switch's answer.
    FeaturesReply(FeaturesReply),
    /// Asks for the switch's configuration.
    GetConfigRequest,
    /// The switch's answer.
    GetConfigReply(SwitchConfig),
    /// Configures the switch; has no answer.
    SetConfig(SwitchConfig),
    /// A packet for the controller.
    PacketIn(PacketIn),
    /// A flow entry is gone.
    FlowRemoved(FlowRemoved),
    /// A port came, changed or went.
    PortStatus(PortStatus),
    /// A packet for the switch to send.
    PacketOut(PacketOut),
    /// Adds, changes or removes flow entries.
    FlowMod(FlowMod),
    /// Changes a port.
    PortMod(PortMod),
    /// Asks for statistics.
    StatsRequest(StatsRequest),
    /// Statistics, or a part of them.
    StatsReply(StatsReply),
    /// Asks the switch to finish what came before.
    BarrierRequest,
    /// What came before is finished.
    BarrierReply,
    /// Asks which queues a port has.
    QueueGetConfigRequest(QueueGetConfigRequest),
    /// The queues of a port.
    QueueGetConfigReply(QueueGetConfigReply),
}

impl Message {
    /// The message's type.
    pub const fn message_type(&self) -> MessageType {
        match self {
            Self::Hello(_) => MessageType::HELLO,
            Self::Error(_) => MessageType::ERROR,
            Self::EchoRequest(_) => MessageType::ECHO_REQUEST,
            Self::EchoReply(_) => MessageType::ECHO_REPLY,
            Self::Vendor { .. } => MessageType::VENDOR,
            Self::FeaturesRequest => MessageType::FEATURES_REQUEST,
            Self::FeaturesReply(_) => MessageType::FEATURES_REPLY,
            Self::GetConfigRequest => MessageType::GET_CONFIG_REQUEST,
            Self::GetConfigReply(_) => MessageType::GET_CONFIG_REPLY,
            Self::SetConfig(_) => MessageType::SET_CONFIG,
            Self::PacketIn(_) => MessageType::PACKET_IN,
            Self::FlowRemoved(_) => MessageType::FLOW_REMOVED,
            Self::PortStatus(_) => MessageType::PORT_STATUS,
            Self::PacketOut(_) => MessageType::PACKET_OUT,
            Self::FlowMod(_) => MessageType::FLOW_MOD,
            Self::PortMod(_) => kind::PORT_MOD,
            Self::StatsRequest(_) => kind::STATS_REQUEST,
            Self::StatsReply(_) => kind::STATS_REPLY,
            Self::BarrierRequest => kind::BARRIER_REQUEST,
            Self::BarrierReply => kind::BARRIER_REPLY,
            Self::QueueGetConfigRequest(_) => kind::QUEUE_GET_CONFIG_REQUEST,
            Self::QueueGetConfigReply(_) => kind::QUEUE_GET_CONFIG_REPLY,
        }
    }

    /// Reads one message, which must fill `frame` exactly, as
    /// [`framing`](crate::framing) yields it.
    ///
    /// Values that the specification does not define are kept wherever their length is known.
    /// Encoding the message again gives the same bytes, except that padding becomes zero.
    pub fn decode(frame: &[u8]) -> Result<(Xid, Self), DecodeError> {
        let header = Header::new_checked(frame)?;
        if header.version() != Version::V1_0.wire() {
            return Err(DecodeError {
                offset: 0,
                field: "ofp_header.version",
                kind: DecodeErrorKind::Version(header.version()),
            });
        }
        let mut reader = Reader::new(frame);
        let mut message = reader.sub(usize::from(header.length()), "ofp_header.length")?;
        reader.finish("ofp_header.length")?;
        message.skip(HEADER_LENGTH, "ofp_header")?;
        let decoded = Self::decode_body(header.message_type(), &mut message)?;
        message.finish("ofp_header.length")?;
        Ok((header.xid(), decoded))
    }

    fn decode_body(
        message_type: MessageType,
        reader: &mut Reader<'_>,
    ) -> Result<Self, DecodeError> {
        Ok(match message_type {
            MessageType::HELLO => Self::Hello(reader.rest().to_vec()),
            MessageType::ERROR => Self::Error(ErrorMessage {
                error_type: reader.u16("ofp_error_msg.type")?,
                code: reader.u16("ofp_error_msg.code")?,
                data: reader.rest().to_vec(),
            }),
            MessageType::ECHO_REQUEST => Self::EchoRequest(reader.rest().to_vec()),
            MessageType::ECHO_REPLY => Self::EchoReply(reader.rest().to_vec()),
            MessageType::VENDOR => Self::Vendor {
                vendor: reader.u32("ofp_vendor_header.vendor")?,
                body: reader.rest().to_vec(),
            },
            MessageType::FEATURES_REQUEST => Self::FeaturesRequest,
            MessageType::FEATURES_REPLY => Self::FeaturesReply(FeaturesReply::decode(reader)?),
            MessageType::GET_CONFIG_REQUEST => Self::GetConfigRequest,
            MessageType::GET_CONFIG_REPLY => Self::GetConfigReply(SwitchConfig::decode(reader)?),
            MessageType::SET_CONFIG => Self::SetConfig(SwitchConfig::decode(reader)?),
            MessageType::PACKET_IN => Self::PacketIn(PacketIn::decode(reader)?),
            MessageType::FLOW_REMOVED => Self::FlowRemoved(FlowRemoved::decode(reader)?),
            MessageType::PORT_STATUS => Self::PortStatus(PortStatus::decode(reader)?),
            MessageType::PACKET_OUT => Self::PacketOut(PacketOut::decode(reader)?),
            MessageType::FLOW_MOD => Self::FlowMod(FlowMod::decode(reader)?),
            kind::PORT_MOD => Self::PortMod(PortMod::decode(reader)?),
            kind::STATS_REQUEST => Self::StatsRequest(StatsRequest::decode(reader)?),
            kind::STATS_REPLY => Self::StatsReply(StatsReply::decode(reader)?),
            kind::BARRIER_REQUEST => Self::BarrierRequest,
            kind::BARRIER_REPLY => Self::BarrierReply,
            kind::QUEUE_GET_CONFIG_REQUEST => {
                Self::QueueGetConfigRequest(QueueGetConfigRequest::decode(reader)?)
            }
            kind::QUEUE_GET_CONFIG_REPLY => {
                Self::QueueGetConfigReply(QueueGetConfigReply::decode(reader)?)
            }
            MessageType(unknown) => {
                return Err(DecodeError {
                    offset: 1,
                    field: "ofp_header.type",
                    kind: DecodeErrorKind::UnknownType(u32::from(unknown)),
                });
            }
        })
    }

    /// Appends the message with its header. On failure `out` is as it was.
    pub fn encode(&self, xid: Xid, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let encoded = self.encode_whole(xid, start, out);
        if encoded.is_err() {
            out.truncate(start);
        }
        encoded
    }

    fn encode_whole(&self, xid: Xid, start: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&[Version::V1_0.wire(), self.message_type().0]);
        pad(out, 2);
        out.extend_from_slice(&xid.0.to_be_bytes());
        self.encode_body(out)?;
        patch_length(out, start, start + 2, "ofp_header.length")
    }

    fn encode_body(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::FeaturesRequest
            | Self::GetConfigRequest
            | Self::BarrierRequest
            | Self::BarrierReply => {}
            Self::Hello(body) | Self::EchoRequest(body) | Self::EchoReply(body) => {
                out.extend_from_slice(body);
            }
            Self::Error(error) => {
                out.extend_from_slice(&error.error_type.to_be_bytes());
                out.extend_from_slice(&error.code.to_be_bytes());
                out.extend_from_slice(&error.data);
            }
            Self::Vendor { vendor, body } => {
                out.extend_from_slice(&vendor.to_be_bytes());
                out.extend_from_slice(body);
            }
            Self::FeaturesReply(features) => features.encode(out)?,
            Self::GetConfigReply(config) | Self::SetConfig(config) => config.encode(out)?,
            Self::PacketIn(packet) => packet.encode(out)?,
            Self::FlowRemoved(removed) => removed.encode(out)?,
            Self::PortStatus(status) => status.encode(out)?,
            Self::PacketOut(packet) => packet.encode(out)?,
            Self::FlowMod(flow_mod) => flow_mod.encode(out)?,
            Self::PortMod(port_mod) => port_mod.encode(out)?,
            Self::StatsRequest(request) => request.encode(out)?,
            Self::StatsReply(reply) => reply.encode(out)?,
            Self::QueueGetConfigRequest(request) => request.encode(out)?,
            Self::QueueGetConfigReply(reply) => reply.encode(out)?,
        }
        Ok(())
    }
}
