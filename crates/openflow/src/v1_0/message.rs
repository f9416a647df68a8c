//! Decoding and encoding of any message of OpenFlow 1.0.

use super::{
    FeaturesReply, FlowMod, FlowRemoved, PacketIn, PacketOut, PortMod, PortStatus,
    QueueGetConfigReply, QueueGetConfigRequest, StatsReply, StatsRequest, SwitchConfig,
};
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::wire::{HEADER_LENGTH, Header, MessageType};
use crate::{Version, Xid};

structure! {
    /// An error (`ofp_error_msg`). Type and code are numbers, as in the message.
    /// [`ErrorReason`](crate::ErrorReason) provides names for the combinations that the
    /// specification defines.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ErrorMessage = "ofp_error_msg" {
        /// The type of the error.
        pub error_type: u16,
        /// The code of the error within its type.
        pub code: u16,
        /// The beginning of the message that caused the error, or a text for a failed HELLO.
        pub data: Vec<u8>,
    }
}

structure! {
    /// A vendor's message (`ofp_vendor_header`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Vendor = "ofp_vendor_header" {
        /// The vendor's IEEE OUI, or a number assigned by the ONF.
        pub vendor: u32,
        /// The bytes of the message after the vendor's number.
        pub body: Vec<u8>,
    }
}

bodies! {
    /// A message of OpenFlow 1.0 without its header.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Message by message_type: MessageType {
        /// A message that opens the connection. OpenFlow 1.0.0 requires an empty body. 1.0.1 allows
        /// elements in the body, which [`handshake`](crate::handshake) reads.
        Hello(Vec<u8>) = 0,
        /// An error, such as the reason why the switch refused a request.
        Error(ErrorMessage) = 1,
        /// An echo request, whose body the reply returns.
        EchoRequest(Vec<u8>) = 2,
        /// An echo reply, with the body of the echo request.
        EchoReply(Vec<u8>) = 3,
        /// An extension by a vendor.
        Vendor(Vendor) = 4,
        /// A request for the switch's features.
        FeaturesRequest = 5,
        /// The features of the switch, in reply to a request for them.
        FeaturesReply(FeaturesReply) = 6,
        /// A request for the switch's configuration.
        GetConfigRequest = 7,
        /// The switch's configuration, in reply to a request for it.
        GetConfigReply(SwitchConfig) = 8,
        /// A new configuration for the switch, to which there is no reply.
        SetConfig(SwitchConfig) = 9,
        /// A packet that the switch sends to the controller.
        PacketIn(PacketIn) = 10,
        /// A notification that a flow entry was removed.
        FlowRemoved(FlowRemoved) = 11,
        /// A notification that a port was added, changed or removed.
        PortStatus(PortStatus) = 12,
        /// A packet that the controller makes the switch send.
        PacketOut(PacketOut) = 13,
        /// A message that adds, changes or removes flow entries.
        FlowMod(FlowMod) = 14,
        /// A message that changes a port.
        PortMod(PortMod) = 15,
        /// A request for statistics of the switch.
        StatsRequest(StatsRequest) = 16,
        /// Statistics, or a part of them.
        StatsReply(StatsReply) = 17,
        /// A request to process all earlier messages before later ones.
        BarrierRequest = 18,
        /// The notice that the messages before the barrier request are processed.
        BarrierReply = 19,
        /// A request for the queues of a port.
        QueueGetConfigRequest(QueueGetConfigRequest) = 20,
        /// The queues of a port.
        QueueGetConfigReply(QueueGetConfigReply) = 21,
    }
}

impl Message {
    /// Reads one message, which must fill `frame` exactly, as [`framing`](crate::framing) yields
    /// it.
    ///
    /// Values that the specification does not define are kept wherever their length is known. The
    /// message encodes to the original bytes, except that padding is zero.
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
        let decoded = decoded.ok_or_else(|| DecodeError {
            offset: 1,
            field: "ofp_header.type",
            kind: DecodeErrorKind::UnknownType(header.message_type().0.into()),
        })?;
        message.finish("ofp_header.length")?;
        Ok((header.xid(), decoded))
    }

    /// Appends the message with its header. If this fails, `out` is unchanged.
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
}
