//! Any message of OpenFlow 1.0, decoded and encoded.

use super::{
    FeaturesReply, FlowMod, FlowRemoved, PacketIn, PacketOut, PortMod, PortStatus,
    QueueGetConfigReply, QueueGetConfigRequest, StatsReply, StatsRequest, SwitchConfig,
};
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::wire::{HEADER_LENGTH, Header, MessageType};
use crate::{Version, Xid};

structure! {
    /// Something went wrong (`ofp_error_msg`).
    ///
    /// Type and code stay as on the wire; [`ErrorReason`](crate::ErrorReason) names those that the
    /// specification defines.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ErrorMessage = "ofp_error_msg" {
        /// What kind of thing.
        pub error_type: u16,
        /// What in particular.
        pub code: u16,
        /// The beginning of the message at fault, or a text for a failed HELLO.
        pub data: Vec<u8>,
    }
}

structure! {
    /// A vendor's message (`ofp_vendor_header`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Vendor = "ofp_vendor_header" {
        /// The vendor's IEEE OUI, or a number given by the ONF.
        pub vendor: u32,
        /// What follows the vendor.
        pub body: Vec<u8>,
    }
}

bodies! {
    /// A message without its header.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Message by message_type: MessageType {
        /// Opens the connection. 1.0.0 leaves the body empty; 1.0.1 allows elements in it, which
        /// [`handshake`](crate::handshake) reads.
        Hello(Vec<u8>) = 0,
        /// Something went wrong.
        Error(ErrorMessage) = 1,
        /// Asks for an echo reply with the same body.
        EchoRequest(Vec<u8>) = 2,
        /// Answers an echo request.
        EchoReply(Vec<u8>) = 3,
        /// An extension by a vendor.
        Vendor(Vendor) = 4,
        /// Asks the switch what it is.
        FeaturesRequest = 5,
        /// The switch's answer.
        FeaturesReply(FeaturesReply) = 6,
        /// Asks for the switch's configuration.
        GetConfigRequest = 7,
        /// The switch's answer.
        GetConfigReply(SwitchConfig) = 8,
        /// Configures the switch; has no answer.
        SetConfig(SwitchConfig) = 9,
        /// A packet for the controller.
        PacketIn(PacketIn) = 10,
        /// A flow entry is gone.
        FlowRemoved(FlowRemoved) = 11,
        /// A port came, changed or went.
        PortStatus(PortStatus) = 12,
        /// A packet for the switch to send.
        PacketOut(PacketOut) = 13,
        /// Adds, changes or removes flow entries.
        FlowMod(FlowMod) = 14,
        /// Changes a port.
        PortMod(PortMod) = 15,
        /// Asks for statistics.
        StatsRequest(StatsRequest) = 16,
        /// Statistics, or a part of them.
        StatsReply(StatsReply) = 17,
        /// Asks the switch to finish what came before.
        BarrierRequest = 18,
        /// What came before is finished.
        BarrierReply = 19,
        /// Asks which queues a port has.
        QueueGetConfigRequest(QueueGetConfigRequest) = 20,
        /// The queues of a port.
        QueueGetConfigReply(QueueGetConfigReply) = 21,
    }
}

impl Message {
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
        let decoded = decoded.ok_or_else(|| DecodeError {
            offset: 1,
            field: "ofp_header.type",
            kind: DecodeErrorKind::UnknownType(header.message_type().0.into()),
        })?;
        message.finish("ofp_header.length")?;
        Ok((header.xid(), decoded))
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
}
