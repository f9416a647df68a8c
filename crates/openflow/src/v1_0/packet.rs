//! Packets between switch and controller: OpenFlow 1.0.0, 5.4.1 and 5.3.6.
//!
//! These types own their contents. Code that handles millions of packets per second uses the views
//! and emitters in [`wire`](crate::wire).

use super::{Action, PortNo};
use crate::BufferId;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::structure::{Wire, decode_list, encode_list};

open_enum! {
    /// The reason why a packet is sent to the controller (`ofp_packet_in_reason`).
    pub PacketInReason: u8 {
        /// No flow entry matched.
        NO_MATCH = 0,
        /// An action sent the packet.
        ACTION = 1,
    }
}

structure! {
    /// A packet for the controller (`ofp_packet_in`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PacketIn = "ofp_packet_in" {
        /// The buffer in which the switch keeps the packet, or [`BufferId::NO_BUFFER`].
        pub buffer_id: BufferId,
        /// The length of the packet in bytes when it arrived.
        pub total_len: u16,
        /// The port by which the packet entered.
        pub in_port: PortNo,
        /// The reason why the packet is sent.
        pub reason: PacketInReason; pad 1,
        /// The packet, or only its beginning if the switch buffers it.
        pub data: Vec<u8>,
    }
}

/// A packet for the switch to send (`ofp_packet_out`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketOut {
    /// The buffered packet that the switch must send, or [`BufferId::NO_BUFFER`] if `data` is the
    /// packet.
    pub buffer_id: BufferId,
    /// The port that is treated as the packet's ingress port.
    pub in_port: PortNo,
    /// The actions that the switch applies to the packet.
    pub actions: Vec<Action>,
    /// The packet (empty if it is buffered).
    pub data: Vec<u8>,
}

impl Wire for PacketOut {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = BufferId(reader.u32("ofp_packet_out.buffer_id")?);
        let in_port = PortNo(reader.u16("ofp_packet_out.in_port")?);
        let length_at = *reader;
        let length = usize::from(reader.u16("ofp_packet_out.actions_len")?);
        if length > reader.remaining() {
            return Err(length_at.error(
                "ofp_packet_out.actions_len",
                DecodeErrorKind::Length { value: length, min: 0, max: reader.remaining() },
            ));
        }
        let actions = decode_list(&mut reader.sub(length, "ofp_packet_out.actions")?)?;
        Ok(Self { buffer_id, in_port, actions, data: reader.rest().to_vec() })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.buffer_id.0.to_be_bytes());
        out.extend_from_slice(&self.in_port.0.to_be_bytes());
        let length_at = out.len();
        pad(out, 2);
        let start = out.len();
        encode_list(&self.actions, out)?;
        crate::cursor::patch_length(out, start, length_at, "ofp_packet_out.actions")?;
        out.extend_from_slice(&self.data);
        Ok(())
    }
}
