//! Packets that travel between switch and controller (specification 1.3.5, sections 7.3.7 and
//! 7.4.1).

use super::actions::Action;
use super::codec::{Wire, decode_list, encode_list, put_u32};
use super::matches::Match;
use super::tables::TableId;
use crate::BufferId;
use crate::PortNumber;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};

open_enum! {
    /// The reason why a packet was sent to the controller, `ofp_packet_in_reason`.
    pub PacketInReason: u8 {
        /// No other entry matched, and the table-miss entry sent the packet.
        NO_MATCH = 0,
        /// An action sent the packet.
        ACTION = 1,
        /// The packet's TTL is invalid.
        INVALID_TTL = 2,
    }
}

/// The cookie of a packet-in that no flow entry caused, or whose flow entry the switch does not
/// know.
pub const NO_COOKIE: u64 = u64::MAX;

structure! {
    /// A packet that the switch sends to the controller, `ofp_packet_in`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct PacketIn = "ofp_packet_in" {
        /// The buffer in which the switch keeps the packet, or [`BufferId::NO_BUFFER`].
        pub buffer_id: BufferId,
        /// The length of the packet in bytes. `data` may contain only its beginning.
        pub total_len: u16,
        /// The reason why the packet was sent.
        pub reason: PacketInReason,
        /// The table of the entry that sent the packet.
        pub table_id: TableId,
        /// The cookie of the entry that sent the packet, or [`NO_COOKIE`].
        pub cookie: u64,
        /// The metadata of the packet, such as its ingress port.
        pub match_fields: Match; pad 2,
        /// The packet, or its beginning.
        pub data: Vec<u8>,
    }
}

impl PacketIn {
    /// Returns a packet-in for a packet that entered at `in_port` and matched only the table-miss
    /// entry of table 0, whose cookie is 0. The packet is not buffered, so `data` contains all of
    /// it.
    pub fn table_miss(in_port: PortNumber, data: Vec<u8>) -> Self {
        Self {
            buffer_id: BufferId::NO_BUFFER,
            total_len: u16::try_from(data.len()).unwrap_or(u16::MAX),
            reason: PacketInReason::NO_MATCH,
            table_id: TableId(0),
            cookie: 0,
            match_fields: Match::any().with_in_port(in_port),
            data,
        }
    }

    /// Returns the ingress port of the packet, or `None` if the match does not contain it.
    pub fn in_port(&self) -> Option<PortNumber> {
        self.match_fields.in_port()
    }
}

/// A packet that the controller makes the switch send, `ofp_packet_out`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketOut {
    /// The buffered packet that the switch must send, or [`BufferId::NO_BUFFER`] if `data` contains
    /// the packet.
    pub buffer_id: BufferId,
    /// The port that is treated as the packet's ingress port, or [`PortNumber::CONTROLLER`] if
    /// there is none.
    pub in_port: PortNumber,
    /// The actions that the switch applies to the packet.
    pub actions: Vec<Action>,
    /// The packet (empty if it is buffered).
    pub data: Vec<u8>,
}

impl PacketOut {
    /// Returns a packet-out for the packet in `data`, which the switch does not have in a buffer.
    pub const fn unbuffered(in_port: PortNumber, actions: Vec<Action>, data: Vec<u8>) -> Self {
        Self { buffer_id: BufferId::NO_BUFFER, in_port, actions, data }
    }

    /// Returns a packet-out for a packet in the switch's buffer.
    pub const fn buffered(in_port: PortNumber, actions: Vec<Action>, buffer_id: BufferId) -> Self {
        Self { buffer_id, in_port, actions, data: Vec::new() }
    }
}

impl Wire for PacketOut {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let buffer_id = BufferId(reader.u32("ofp_packet_out.buffer_id")?);
        let in_port = PortNumber(reader.u32("ofp_packet_out.in_port")?);
        let at_length = *reader;
        let actions_len = usize::from(reader.u16("ofp_packet_out.actions_len")?);
        reader.skip(6, "ofp_packet_out.pad")?;
        let max = reader.remaining();
        if actions_len > max {
            let kind = DecodeErrorKind::Length { value: actions_len, min: 0, max };
            return Err(at_length.error("ofp_packet_out.actions_len", kind));
        }
        let mut actions = reader.sub(actions_len, "ofp_packet_out.actions")?;
        let actions = decode_list(&mut actions)?;
        Ok(Self { buffer_id, in_port, actions, data: reader.rest().to_vec() })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        put_u32(out, self.buffer_id.0);
        put_u32(out, self.in_port.0);
        let length_at = out.len();
        pad(out, 8);
        let start = out.len();
        encode_list(&self.actions, out)?;
        crate::cursor::patch_length(out, start, length_at, "ofp_packet_out.actions_len")?;
        out.extend_from_slice(&self.data);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bytes_align_the_packet_of_a_packet_in() {
        let packet_in = PacketIn::table_miss(PortNumber(1), vec![0xaa; 60]);
        assert_eq!((packet_in.total_len, packet_in.in_port()), (60, Some(PortNumber(1))));
        let mut out = Vec::new();
        packet_in.encode(&mut out).unwrap();
        assert_eq!(out.len(), 16 + 16 + 2 + 60);
        assert_eq!(PacketIn::decode(&mut Reader::new(&out)), Ok(packet_in));
        let error = PacketIn::decode(&mut Reader::new(&out[..33])).unwrap_err();
        assert_eq!((error.offset, error.field), (32, "ofp_packet_in.pad"));
    }

    #[test]
    fn the_actions_of_a_packet_out_end_where_it_says() {
        let packet_out = PacketOut::unbuffered(
            PortNumber::CONTROLLER,
            vec![Action::output(PortNumber(1))],
            vec![1, 2],
        );
        let mut out = Vec::new();
        packet_out.encode(&mut out).unwrap();
        assert_eq!(PacketOut::decode(&mut Reader::new(&out)), Ok(packet_out));
        out[9] = 19;
        let error = PacketOut::decode(&mut Reader::new(&out)).unwrap_err();
        assert_eq!((error.offset, error.field), (8, "ofp_packet_out.actions_len"));
        assert_eq!(error.kind, DecodeErrorKind::Length { value: 19, min: 0, max: 18 });
    }
}
