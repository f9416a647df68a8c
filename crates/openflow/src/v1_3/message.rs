//! Whole messages of this version: the header and the body (specification 1.3.5, section 7.1).

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
    /// A message that an experimenter defines, `ofp_experimenter_header`, which is passed through
    /// unchanged.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct Experimenter = "ofp_experimenter_header" {
        /// The experimenter's id.
        pub experimenter: u32,
        /// The type of the message, in the experimenter's numbering.
        pub exp_type: u32,
        /// The bytes of the message after its experimenter type.
        pub data: Vec<u8>,
    }
}

bodies! {
    /// A message of OpenFlow 1.3 without its header.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum Message by message_type: MessageType {
        /// A message that opens a connection.
        Hello(Hello) = 0,
        /// An error: the reason why a request failed.
        Error(ErrorMessage) = 1,
        /// An echo request, whose data the reply returns.
        EchoRequest(Vec<u8>) = 2,
        /// An echo reply with the data of the request.
        EchoReply(Vec<u8>) = 3,
        /// A message that an experimenter defines.
        Experimenter(Experimenter) = 4,
        /// A request for the switch's features.
        FeaturesRequest = 5,
        /// The features of the switch.
        FeaturesReply(SwitchFeatures) = 6,
        /// A request for the switch's configuration.
        GetConfigRequest = 7,
        /// The configuration of the switch.
        GetConfigReply(SwitchConfig) = 8,
        /// A new configuration for the switch.
        SetConfig(SwitchConfig) = 9,
        /// A packet that the switch sends to the controller.
        PacketIn(PacketIn) = 10,
        /// A notification that a flow entry was removed.
        FlowRemoved(FlowRemoved) = 11,
        /// A notification that a port was added, changed or removed.
        PortStatus(PortStatus) = 12,
        /// A packet that the controller makes the switch send.
        PacketOut(PacketOut) = 13,
        /// A message that changes flow entries.
        FlowMod(FlowMod) = 14,
        /// A message that changes a group.
        GroupMod(GroupMod) = 15,
        /// A message that changes a port.
        PortMod(PortMod) = 16,
        /// A message that changes a table.
        TableMod(TableMod) = 17,
        /// A multipart request: one that may take several messages, such as a request for
        /// statistics.
        MultipartRequest(MultipartRequest) = 18,
        /// A multipart reply, or a part of one.
        MultipartReply(MultipartReply) = 19,
        /// A request to process all earlier messages before later ones.
        BarrierRequest = 20,
        /// The notice that the messages before the barrier request are processed.
        BarrierReply = 21,
        /// A request for the queues of this port, or of all ports for [`PortNumber::ANY`].
        QueueGetConfigRequest(PortNumber; pad 4) = 22,
        /// The queues of the requested port or ports.
        QueueGetConfigReply(QueueGetConfigReply) = 23,
        /// A request of a controller for a role.
        RoleRequest(RoleMessage) = 24,
        /// The role that the controller now has.
        RoleReply(RoleMessage) = 25,
        /// A request for the selection of asynchronous messages that the controller receives.
        GetAsyncRequest = 26,
        /// The selection of asynchronous messages that the controller receives.
        GetAsyncReply(AsyncConfig) = 27,
        /// A new selection of asynchronous messages that the controller receives.
        SetAsync(AsyncConfig) = 28,
        /// A message that changes a meter.
        MeterMod(MeterMod) = 29,
    }
}

impl Message {
    /// Reads a frame of exactly one message.
    ///
    /// # Errors
    ///
    /// Returns an error if the frame is not a message of this version, or if a length in it
    /// contradicts another. The error contains the position. The header can still be read with
    /// [`wire`](crate::wire), in order to answer.
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

    /// Appends the message to `out`. If this fails, `out` is unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if a part of the message is too long for its length field, or if a field
    /// has a value that is not allowed.
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
