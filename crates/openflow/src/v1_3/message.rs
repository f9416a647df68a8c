//! Messages of this version, whole: the header and what follows it (specification 1.3.5, section
//! 7.1).

use super::codec::put_u32;
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
use crate::cursor::{Reader, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::wire::MessageType;
use crate::{PortNumber, Version, Xid};

structure! {
    /// A message that an experimenter defines, `ofp_experimenter_header`; passed through.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct Experimenter = "ofp_experimenter_header" {
        /// The experimenter's id.
        pub experimenter: u32,
        /// The type, in the numbering of the experimenter.
        pub exp_type: u32,
        /// What follows.
        pub data: Vec<u8>,
    }
}

bodies! {
    /// A message, without its transaction id.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum Message by message_type: MessageType {
        /// Opens a connection.
        Hello(Hello) = 0,
        /// Says that a request failed.
        Error(ErrorMessage) = 1,
        /// Asks whether the peer is there; it returns the data.
        EchoRequest(Vec<u8>) = 2,
        /// Answers an echo request with its data.
        EchoReply(Vec<u8>) = 3,
        /// What an experimenter defines.
        Experimenter(Experimenter) = 4,
        /// Asks what the switch is.
        FeaturesRequest = 5,
        /// Says what the switch is.
        FeaturesReply(SwitchFeatures) = 6,
        /// Asks how the switch is configured.
        GetConfigRequest = 7,
        /// Says how the switch is configured.
        GetConfigReply(SwitchConfig) = 8,
        /// Configures the switch.
        SetConfig(SwitchConfig) = 9,
        /// A packet for the controller.
        PacketIn(PacketIn) = 10,
        /// A flow entry is gone.
        FlowRemoved(FlowRemoved) = 11,
        /// A port changed.
        PortStatus(PortStatus) = 12,
        /// A packet for the switch to send.
        PacketOut(PacketOut) = 13,
        /// Changes flow entries.
        FlowMod(FlowMod) = 14,
        /// Changes a group.
        GroupMod(GroupMod) = 15,
        /// Changes a port.
        PortMod(PortMod) = 16,
        /// Changes a table.
        TableMod(TableMod) = 17,
        /// Asks for what may take many messages.
        MultipartRequest(MultipartRequest) = 18,
        /// Answers a multipart request.
        MultipartReply(MultipartReply) = 19,
        /// Asks that all before be done first.
        BarrierRequest = 20,
        /// Says that all before the barrier request is done.
        BarrierReply = 21,
        /// Asks for the queues of this port, or of all if [`PortNumber::ANY`].
        QueueGetConfigRequest(PortNumber; pad 4) = 22,
        /// Says what queues there are.
        QueueGetConfigReply(QueueGetConfigReply) = 23,
        /// Asks for a role.
        RoleRequest(RoleMessage) = 24,
        /// Says what role the controller has.
        RoleReply(RoleMessage) = 25,
        /// Asks which asynchronous messages are sent.
        GetAsyncRequest = 26,
        /// Says which asynchronous messages are sent.
        GetAsyncReply(AsyncConfig) = 27,
        /// Sets which asynchronous messages are sent.
        SetAsync(AsyncConfig) = 28,
        /// Changes a meter.
        MeterMod(MeterMod) = 29,
    }
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
