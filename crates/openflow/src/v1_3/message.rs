//! Messages of this version, whole: the header and what follows it (specification 1.3.5, section
//! 7.1).

use super::codec::{Wire, experimenter, put_u32};
use super::errors::ErrorMessage;
use super::flows::{FlowMod, FlowRemoved};
use super::groups::GroupMod;
use super::hello::Hello;
use super::meters::MeterMod;
use super::multipart::{MultipartReply, MultipartRequest};
use super::packets::{PacketIn, PacketOut};
use super::ports::{PortMod, PortStatus};
use super::queues::QueueGetConfigReply;
use super::switch::{AsyncConfig, RoleMessage, SwitchConfig, SwitchFeatures};
use super::tables::TableMod;
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::wire::MessageType;
use crate::{PortNumber, Version, Xid};

/// `ofp_type`, where it is not the same in all versions.
mod kind {
    use crate::wire::MessageType;

    pub(super) const GROUP_MOD: MessageType = MessageType(15);
    pub(super) const PORT_MOD: MessageType = MessageType(16);
    pub(super) const TABLE_MOD: MessageType = MessageType(17);
    pub(super) const MULTIPART_REQUEST: MessageType = MessageType(18);
    pub(super) const MULTIPART_REPLY: MessageType = MessageType(19);
    pub(super) const BARRIER_REQUEST: MessageType = MessageType(20);
    pub(super) const BARRIER_REPLY: MessageType = MessageType(21);
    pub(super) const QUEUE_GET_CONFIG_REQUEST: MessageType = MessageType(22);
    pub(super) const QUEUE_GET_CONFIG_REPLY: MessageType = MessageType(23);
    pub(super) const ROLE_REQUEST: MessageType = MessageType(24);
    pub(super) const ROLE_REPLY: MessageType = MessageType(25);
    pub(super) const GET_ASYNC_REQUEST: MessageType = MessageType(26);
    pub(super) const GET_ASYNC_REPLY: MessageType = MessageType(27);
    pub(super) const SET_ASYNC: MessageType = MessageType(28);
    pub(super) const METER_MOD: MessageType = MessageType(29);
}

experimenter! {
    /// A message that an experimenter defines, `ofp_experimenter_header`; passed through.
    pub Experimenter, "ofp_experimenter_header"
}

/// A message, without its transaction id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Opens a connection.
    Hello(Hello),
    /// Says that a request failed.
    Error(ErrorMessage),
    /// Asks whether the peer is there; it returns the data.
    EchoRequest(Vec<u8>),
    /// Answers an echo request with its data.
    EchoReply(Vec<u8>),
    /// What an experimenter defines.
    Experimenter(Experimenter),
    /// Asks what the switch is.
    FeaturesRequest,
    /// Says what the switch is.
    FeaturesReply(SwitchFeatures),
    /// Asks how the switch is configured.
    GetConfigRequest,
    /// Says how the switch is configured.
    GetConfigReply(SwitchConfig),
    /// Configures the switch.
    SetConfig(SwitchConfig),
    /// A packet for the controller.
    PacketIn(PacketIn),
    /// A flow entry is gone.
    FlowRemoved(FlowRemoved),
    /// A port changed.
    PortStatus(PortStatus),
    /// A packet for the switch to send.
    PacketOut(PacketOut),
    /// Changes flow entries.
    FlowMod(FlowMod),
    /// Changes a group.
    GroupMod(GroupMod),
    /// Changes a port.
    PortMod(PortMod),
    /// Changes a table.
    TableMod(TableMod),
    /// Asks for what may take many messages.
    MultipartRequest(MultipartRequest),
    /// Answers a multipart request.
    MultipartReply(MultipartReply),
    /// Asks that all before be done first.
    BarrierRequest,
    /// Says that all before the barrier request is done.
    BarrierReply,
    /// Asks for the queues of this port, or of all if [`PortNumber::ANY`].
    QueueGetConfigRequest(PortNumber),
    /// Says what queues there are.
    QueueGetConfigReply(QueueGetConfigReply),
    /// Asks for a role.
    RoleRequest(RoleMessage),
    /// Says what role the controller has.
    RoleReply(RoleMessage),
    /// Asks which asynchronous messages are sent.
    GetAsyncRequest,
    /// Says which asynchronous messages are sent.
    GetAsyncReply(AsyncConfig),
    /// Sets which asynchronous messages are sent.
    SetAsync(AsyncConfig),
    /// Changes a meter.
    MeterMod(MeterMod),
}

impl Message {
    /// Reads a frame: one whole message, no more and no less.
    ///
    /// # Errors
    ///
    /// If the frame is not a message of this version, or a length in it contradicts another. The
    /// error says where; the header can still be read with [`wire`](crate::wire), to answer.
    pub fn decode(frame: &[u8]) -> Result<(Xid, Self), DecodeError> {
        let mut reader = Reader::new(frame);
        let start = reader;
        let version = reader.u8("ofp_header.version")?;
        if version != Version::V1_3.wire() {
            return Err(start.error("ofp_header.version", DecodeErrorKind::Version(version)));
        }
        let at_type = reader;
        let message_type = MessageType(reader.u8("ofp_header.type")?);
        let mut body = super::codec::body(&mut reader, 4, 8, "ofp_header.length")?;
        reader.finish("ofp_header.length")?;
        let xid = Xid(body.u32("ofp_header.xid")?);
        let message = Self::decode_body(message_type, &mut body)?.ok_or_else(|| {
            at_type.error("ofp_header.type", DecodeErrorKind::UnknownType(message_type.0.into()))
        })?;
        body.finish("ofp_header.length")?;
        Ok((xid, message))
    }

    /// Appends the message to `out`. If it cannot be written, `out` is as it was.
    ///
    /// # Errors
    ///
    /// If a part does not fit its length field, or a value cannot stand where it does.
    pub fn encode(&self, xid: Xid, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        out.extend_from_slice(&[Version::V1_3.wire(), self.message_type().0, 0, 0]);
        put_u32(out, xid.0);
        let written = self
            .encode_body(out)
            .and_then(|()| patch_length(out, start, start + 2, "ofp_header.length"));
        if written.is_err() {
            out.truncate(start);
        }
        written
    }

    /// The type of the message.
    pub const fn message_type(&self) -> MessageType {
        match self {
            Self::Hello(_) => MessageType::HELLO,
            Self::Error(_) => MessageType::ERROR,
            Self::EchoRequest(_) => MessageType::ECHO_REQUEST,
            Self::EchoReply(_) => MessageType::ECHO_REPLY,
            Self::Experimenter(_) => MessageType::VENDOR,
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
            Self::GroupMod(_) => kind::GROUP_MOD,
            Self::PortMod(_) => kind::PORT_MOD,
            Self::TableMod(_) => kind::TABLE_MOD,
            Self::MultipartRequest(_) => kind::MULTIPART_REQUEST,
            Self::MultipartReply(_) => kind::MULTIPART_REPLY,
            Self::BarrierRequest => kind::BARRIER_REQUEST,
            Self::BarrierReply => kind::BARRIER_REPLY,
            Self::QueueGetConfigRequest(_) => kind::QUEUE_GET_CONFIG_REQUEST,
            Self::QueueGetConfigReply(_) => kind::QUEUE_GET_CONFIG_REPLY,
            Self::RoleRequest(_) => kind::ROLE_REQUEST,
            Self::RoleReply(_) => kind::ROLE_REPLY,
            Self::GetAsyncRequest => kind::GET_ASYNC_REQUEST,
            Self::GetAsyncReply(_) => kind::GET_ASYNC_REPLY,
            Self::SetAsync(_) => kind::SET_ASYNC,
            Self::MeterMod(_) => kind::METER_MOD,
        }
    }

    /// Reads what follows the header; `None` if there is no such type.
    fn decode_body(
        message_type: MessageType,
        body: &mut Reader<'_>,
    ) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match message_type {
            MessageType::HELLO => Self::Hello(Wire::decode(body)?),
            MessageType::ERROR => Self::Error(Wire::decode(body)?),
            MessageType::ECHO_REQUEST => Self::EchoRequest(body.rest().to_vec()),
            MessageType::ECHO_REPLY => Self::EchoReply(body.rest().to_vec()),
            MessageType::VENDOR => Self::Experimenter(Wire::decode(body)?),
            MessageType::FEATURES_REQUEST => Self::FeaturesRequest,
            MessageType::FEATURES_REPLY => Self::FeaturesReply(Wire::decode(body)?),
            MessageType::GET_CONFIG_REQUEST => Self::GetConfigRequest,
            MessageType::GET_CONFIG_REPLY => Self::GetConfigReply(Wire::decode(body)?),
            MessageType::SET_CONFIG => Self::SetConfig(Wire::decode(body)?),
            MessageType::PACKET_IN => Self::PacketIn(Wire::decode(body)?),
            MessageType::FLOW_REMOVED => Self::FlowRemoved(Wire::decode(body)?),
            MessageType::PORT_STATUS => Self::PortStatus(Wire::decode(body)?),
            MessageType::PACKET_OUT => Self::PacketOut(Wire::decode(body)?),
            MessageType::FLOW_MOD => Self::FlowMod(Wire::decode(body)?),
            kind::GROUP_MOD => Self::GroupMod(Wire::decode(body)?),
            kind::PORT_MOD => Self::PortMod(Wire::decode(body)?),
            kind::TABLE_MOD => Self::TableMod(Wire::decode(body)?),
            kind::MULTIPART_REQUEST => Self::MultipartRequest(Wire::decode(body)?),
            kind::MULTIPART_REPLY => Self::MultipartReply(Wire::decode(body)?),
            kind::BARRIER_REQUEST => Self::BarrierRequest,
            kind::BARRIER_REPLY => Self::BarrierReply,
            kind::QUEUE_GET_CONFIG_REQUEST => {
                let port = PortNumber(body.u32("ofp_queue_get_config_request.port")?);
                body.skip(4, "ofp_queue_get_config_request.pad")?;
                Self::QueueGetConfigRequest(port)
            }
            kind::QUEUE_GET_CONFIG_REPLY => Self::QueueGetConfigReply(Wire::decode(body)?),
            kind::ROLE_REQUEST => Self::RoleRequest(Wire::decode(body)?),
            kind::ROLE_REPLY => Self::RoleReply(Wire::decode(body)?),
            kind::GET_ASYNC_REQUEST => Self::GetAsyncRequest,
            kind::GET_ASYNC_REPLY => Self::GetAsyncReply(Wire::decode(body)?),
            kind::SET_ASYNC => Self::SetAsync(Wire::decode(body)?),
            kind::METER_MOD => Self::MeterMod(Wire::decode(body)?),
            _ => return Ok(None),
        }))
    }

    fn encode_body(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Hello(hello) => hello.encode(out),
            Self::Error(error) => error.encode(out),
            Self::EchoRequest(data) | Self::EchoReply(data) => {
                out.extend_from_slice(data);
                Ok(())
            }
            Self::Experimenter(experimenter) => experimenter.encode(out),
            Self::FeaturesReply(features) => features.encode(out),
            Self::GetConfigReply(config) | Self::SetConfig(config) => config.encode(out),
            Self::PacketIn(packet_in) => packet_in.encode(out),
            Self::FlowRemoved(flow_removed) => flow_removed.encode(out),
            Self::PortStatus(port_status) => port_status.encode(out),
            Self::PacketOut(packet_out) => packet_out.encode(out),
            Self::FlowMod(flow_mod) => flow_mod.encode(out),
            Self::GroupMod(group_mod) => group_mod.encode(out),
            Self::PortMod(port_mod) => port_mod.encode(out),
            Self::TableMod(table_mod) => table_mod.encode(out),
            Self::MultipartRequest(request) => request.encode(out),
            Self::MultipartReply(reply) => reply.encode(out),
            Self::QueueGetConfigRequest(port) => {
                put_u32(out, port.0);
                pad(out, 4);
                Ok(())
            }
            Self::QueueGetConfigReply(reply) => reply.encode(out),
            Self::RoleRequest(role) | Self::RoleReply(role) => role.encode(out),
            Self::GetAsyncReply(config) | Self::SetAsync(config) => config.encode(out),
            Self::MeterMod(meter_mod) => meter_mod.encode(out),
            Self::FeaturesRequest
            | Self::GetConfigRequest
            | Self::BarrierRequest
            | Self::BarrierReply
            | Self::GetAsyncRequest => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_checked() {
        let good = [4, 20, 0, 8, 0, 0, 0, 7];
        assert_eq!(Message::decode(&good), Ok((Xid(7), Message::BarrierRequest)));
        for (frame, offset, field) in [
            (&[1, 20, 0, 8, 0, 0, 0, 7][..], 0, "ofp_header.version"),
            (&[4, 99, 0, 8, 0, 0, 0, 7], 1, "ofp_header.type"),
            (&[4, 20, 0, 7, 0, 0, 0, 7], 2, "ofp_header.length"),
            (&[4, 20, 0, 9, 0, 0, 0, 7], 2, "ofp_header.length"),
            (&[4, 20, 0, 8, 0, 0, 0, 7, 0], 8, "ofp_header.length"),
            (&[4, 20, 0, 9, 0, 0, 0, 7, 0], 8, "ofp_header.length"),
            (&[4, 20, 0], 2, "ofp_header.length"),
            (&[], 0, "ofp_header.version"),
        ] {
            let error = Message::decode(frame).unwrap_err();
            assert_eq!((error.offset, error.field), (offset, field), "{frame:?}");
        }
    }

    #[test]
    fn a_message_that_does_not_fit_leaves_nothing_behind() {
        let mut out = vec![1, 2, 3];
        let message = Message::EchoRequest(vec![0; 65_528]);
        assert!(matches!(message.encode(Xid(1), &mut out), Err(EncodeError::TooLong { .. })));
        assert_eq!(out, [1, 2, 3]);
        let message = Message::EchoRequest(vec![0; 65_527]);
        message.encode(Xid(1), &mut out).unwrap();
        assert_eq!(Message::decode(&out[3..]), Ok((Xid(1), message)));
    }
}
