//! Packet-in: OpenFlow 1.0.0, 5.4.1; OpenFlow 1.3.5, 7.4.1.
//!
//! | version | 8 | 12 | 14 | 15 | 16 | 24 |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 1.0 | buffer id | total length | ingress port | (port) | reason at 16, data at 18 | |
//! | 1.3 | buffer id | total length | reason | table | cookie | match, 2 bytes of padding, data |

use std::ops::Range;

use super::{
    Checked, MessageType, array_at, check, header_bytes, message_length, put_at, u8_at, u16_at,
    u32_at, u64_at,
};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::{BufferId, PortNumber, Version, Xid};

/// The offset of the packet in a packet-in of OpenFlow 1.0, after the fixed fields.
const V1_0_DATA: usize = 18;
/// The offset of the match in a packet-in of OpenFlow 1.3.
const V1_3_MATCH: usize = 24;
/// The length in bytes of the shortest packet-in of OpenFlow 1.3. An empty match occupies 8 bytes,
/// and padding 2 bytes.
const V1_3_MINIMUM: usize = V1_3_MATCH + 8 + 2;
/// The number of bytes before the packet in a packet-in of OpenFlow 1.3 whose match contains only
/// the ingress port.
const V1_3_PORT_ONLY: usize = V1_3_MATCH + 16 + 2;
/// The beginning of an `ofp_match` with one field, the ingress port: the type OFPMT_OXM, the length
/// 12, and the header of OXM_OF_IN_PORT (class 0x8000, field 0, length 4).
const IN_PORT_MATCH: [u8; 8] = [0, 1, 0, 12, 0x80, 0, 0, 4];
/// The header of the match field OXM_OF_IN_PORT.
const OXM_IN_PORT: u32 = 0x8000_0004;

/// A view of a packet-in of either version.
#[derive(Clone, Copy, Debug)]
pub struct PacketIn<T> {
    buffer: T,
    version: Version,
    in_port: PortNumber,
    payload: (usize, usize),
}

impl<T: AsRef<[u8]>> PacketIn<T> {
    /// Checks that the buffer holds a whole packet-in, and finds its ingress port and its packet.
    pub fn new_checked(buffer: T) -> Result<Self, DecodeError> {
        let data = buffer.as_ref();
        let Checked { version, end } = check(data, MessageType::PACKET_IN, "ofp_packet_in", fixed)?;
        let (in_port, start) = match version {
            Version::V1_0 => (PortNumber::from_v1_0(u16_at(data, 14)), V1_0_DATA),
            Version::V1_3 => locate_v1_3(data, end)?,
        };
        Ok(Self { buffer, version, in_port, payload: (start, end) })
    }

    /// Returns the version of the message.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the transaction id of the message.
    pub fn xid(&self) -> Xid {
        Xid(u32_at(self.buffer.as_ref(), 4))
    }

    /// Returns the buffer in which the switch keeps the packet, or [`BufferId::NO_BUFFER`].
    pub fn buffer_id(&self) -> BufferId {
        BufferId(u32_at(self.buffer.as_ref(), 8))
    }

    /// Returns the length in bytes of the packet when it arrived. The payload may be only its
    /// beginning.
    pub fn total_len(&self) -> u16 {
        u16_at(self.buffer.as_ref(), 12)
    }

    /// Returns the ingress port of the packet, or [`PortNumber::ANY`] if the match of a 1.3
    /// packet-in does not contain it.
    pub fn in_port(&self) -> PortNumber {
        self.in_port
    }

    /// Returns the reason why the packet was sent, in the numbering of the message's version. In
    /// both versions, 0 is a table miss.
    pub fn reason(&self) -> u8 {
        u8_at(
            self.buffer.as_ref(),
            match self.version {
                Version::V1_0 => 16,
                Version::V1_3 => 14,
            },
        )
    }

    /// Returns the table whose entry sent the packet, or `None` in 1.0, which has no such field.
    pub fn table_id(&self) -> Option<u8> {
        (self.version == Version::V1_3).then(|| u8_at(self.buffer.as_ref(), 15))
    }

    /// Returns the cookie of the flow entry that sent the packet, or `None` in 1.0, which has no
    /// such field.
    pub fn cookie(&self) -> Option<u64> {
        (self.version == Version::V1_3).then(|| u64_at(self.buffer.as_ref(), 16))
    }

    /// Returns the packet, or only its beginning if the switch buffers it.
    pub fn payload(&self) -> &[u8] {
        self.buffer.as_ref().get(self.payload_range()).unwrap_or(&[])
    }

    /// Returns the range of bytes that the packet occupies in the message.
    pub fn payload_range(&self) -> Range<usize> {
        self.payload.0..self.payload.1
    }
}

const fn fixed(version: Version) -> usize {
    match version {
        Version::V1_0 => V1_0_DATA,
        Version::V1_3 => V1_3_MINIMUM,
    }
}

/// Returns the ingress port and the offset of the packet in a 1.3 packet-in that ends at `end`.
fn locate_v1_3(data: &[u8], end: usize) -> Result<(PortNumber, usize), DecodeError> {
    // Switches put the ingress port first, and mostly add no other field.
    if array_at(data, V1_3_MATCH) == IN_PORT_MATCH && end >= V1_3_PORT_ONLY {
        return Ok((PortNumber(u32_at(data, V1_3_MATCH + 8)), V1_3_PORT_ONLY));
    }
    let length_at = V1_3_MATCH + 2;
    let length = usize::from(u16_at(data, length_at));
    let start = V1_3_MATCH + length.next_multiple_of(8) + 2;
    if length < 4 || start > end {
        let kind = DecodeErrorKind::Length { value: length, min: 4, max: end - V1_3_MATCH - 2 };
        return Err(DecodeError { offset: length_at, field: "ofp_match.length", kind });
    }
    let mut at = V1_3_MATCH + 4;
    let fields_end = V1_3_MATCH + length;
    let mut in_port = PortNumber::ANY;
    while at + 4 <= fields_end {
        let header = u32_at(data, at);
        let next = at + 4 + (header & 0xff) as usize;
        if next > fields_end {
            let kind = DecodeErrorKind::Length {
                value: (header & 0xff) as usize,
                min: 0,
                max: fields_end - at - 4,
            };
            return Err(DecodeError { offset: at + 3, field: "oxm_header.length", kind });
        }
        if header == OXM_IN_PORT {
            in_port = PortNumber(u32_at(data, at + 4));
            break;
        }
        at = next;
    }
    Ok((in_port, start))
}

/// The fields of a packet-in except for its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInFields {
    /// The buffer in which the switch keeps the packet, or [`BufferId::NO_BUFFER`].
    pub buffer_id: BufferId,
    /// The length of the packet in bytes when it arrived.
    pub total_len: u16,
    /// The port by which the packet entered.
    pub in_port: PortNumber,
    /// The reason why the packet is sent, in the numbering of the message's version. In both
    /// versions, 0 is a table miss.
    pub reason: u8,
    /// The table whose entry sent the packet. OpenFlow 1.0 does not send it.
    pub table_id: u8,
    /// The cookie of the flow entry that sent the packet. OpenFlow 1.0 does not send it.
    pub cookie: u64,
}

impl PacketInFields {
    /// Returns the number of bytes that precede the packet in a packet-in of this version.
    pub const fn overhead(version: Version) -> usize {
        match version {
            Version::V1_0 => V1_0_DATA,
            Version::V1_3 => V1_3_PORT_ONLY,
        }
    }

    /// Appends a packet-in with `payload`, which is the packet or its beginning.
    ///
    /// In 1.3 the match contains the ingress port. If the message does not fit its length field, or
    /// if 1.0 has no number for the port, returns an error and appends nothing.
    pub fn emit(
        &self,
        version: Version,
        xid: Xid,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let length = message_length("ofp_packet_in", Self::overhead(version) + payload.len())?;
        let header = header_bytes(version, MessageType::PACKET_IN, length, xid);
        match version {
            Version::V1_0 => {
                let mut fixed = [0; V1_0_DATA];
                put_at(&mut fixed, 0, header);
                put_at(&mut fixed, 8, self.buffer_id.0.to_be_bytes());
                put_at(&mut fixed, 12, self.total_len.to_be_bytes());
                let port = port_v1_0("ofp_packet_in.in_port", self.in_port)?;
                put_at(&mut fixed, 14, port.to_be_bytes());
                put_at(&mut fixed, 16, [self.reason]);
                out.reserve(usize::from(length));
                out.extend_from_slice(&fixed);
            }
            Version::V1_3 => {
                let mut fixed = [0; V1_3_PORT_ONLY];
                put_at(&mut fixed, 0, header);
                put_at(&mut fixed, 8, self.buffer_id.0.to_be_bytes());
                put_at(&mut fixed, 12, self.total_len.to_be_bytes());
                put_at(&mut fixed, 14, [self.reason, self.table_id]);
                put_at(&mut fixed, 16, self.cookie.to_be_bytes());
                put_at(&mut fixed, V1_3_MATCH, IN_PORT_MATCH);
                put_at(&mut fixed, V1_3_MATCH + 8, self.in_port.0.to_be_bytes());
                out.reserve(usize::from(length));
                out.extend_from_slice(&fixed);
            }
        }
        out.extend_from_slice(payload);
        Ok(())
    }
}

/// Returns the number of a port in OpenFlow 1.0, or an error if 1.0 cannot express it.
pub(super) fn port_v1_0(field: &'static str, port: PortNumber) -> Result<u16, EncodeError> {
    port.to_v1_0().ok_or(EncodeError::Value {
        field,
        value: u64::from(port.0),
        expected: "OpenFlow 1.0 numbers ports up to 65279 and the reserved ones",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: PacketInFields = PacketInFields {
        buffer_id: BufferId(0x0102_0304),
        total_len: 1500,
        in_port: PortNumber(7),
        reason: 1,
        table_id: 9,
        cookie: 0x1122_3344_5566_7788,
    };

    fn emitted(version: Version, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        FIELDS.emit(version, Xid(0xa1a2_a3a4), payload, &mut out).unwrap();
        assert_eq!(out.len(), PacketInFields::overhead(version) + payload.len());
        out
    }

    #[test]
    fn bytes_on_the_wire_are_those_of_the_specification() {
        assert_eq!(
            emitted(Version::V1_0, b"pkt"),
            b"\x01\x0a\x00\x15\xa1\xa2\xa3\xa4\x01\x02\x03\x04\x05\xdc\x00\x07\x01\x00pkt"
        );
        assert_eq!(
            emitted(Version::V1_3, b"pkt"),
            b"\x04\x0a\x00\x2d\xa1\xa2\xa3\xa4\x01\x02\x03\x04\x05\xdc\x01\x09\
              \x11\x22\x33\x44\x55\x66\x77\x88\
              \x00\x01\x00\x0c\x80\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00pkt"
        );
    }

    #[test]
    fn the_view_reads_what_was_emitted() {
        for version in [Version::V1_0, Version::V1_3] {
            let bytes = emitted(version, b"payload");
            let view = PacketIn::new_checked(&bytes).unwrap();
            assert_eq!(view.version(), version);
            assert_eq!(view.xid(), Xid(0xa1a2_a3a4));
            assert_eq!(view.buffer_id(), FIELDS.buffer_id);
            assert_eq!(view.total_len(), FIELDS.total_len);
            assert_eq!(view.in_port(), FIELDS.in_port);
            assert_eq!(view.reason(), FIELDS.reason);
            let later = version == Version::V1_3;
            assert_eq!(view.table_id(), later.then_some(FIELDS.table_id));
            assert_eq!(view.cookie(), later.then_some(FIELDS.cookie));
            assert_eq!(view.payload(), b"payload");
            assert_eq!(&bytes[view.payload_range()], b"payload");
        }
    }

    #[test]
    fn the_ingress_port_is_found_behind_other_fields() {
        let mut bytes = emitted(Version::V1_3, b"x");
        // OXM_OF_METADATA (field 2, length 8) is inserted before the port. The match length is 24
        // without padding.
        bytes.splice(28..28, [0x80, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 9]);
        bytes.splice(48..52, []);
        bytes[27] = 24;
        bytes[3] += 8;
        let view = PacketIn::new_checked(&bytes).unwrap();
        assert_eq!(view.in_port(), PortNumber(7));
        assert_eq!(view.payload(), b"x");
        bytes[42] = 6; // the second field is now OXM_OF_ETH_DST, and too short for one
        assert_eq!(PacketIn::new_checked(&bytes).unwrap().in_port(), PortNumber::ANY);
        bytes[31] = 200;
        let error = PacketIn::new_checked(&bytes).unwrap_err();
        assert_eq!((error.offset, error.field), (31, "oxm_header.length"));
    }

    #[test]
    fn every_truncation_is_an_error() {
        for version in [Version::V1_0, Version::V1_3] {
            let whole = emitted(version, b"");
            for length in 0..whole.len() {
                let mut bytes = whole[..length].to_vec();
                if length >= 4 {
                    bytes[3] = length as u8;
                }
                assert!(PacketIn::new_checked(&bytes).is_err(), "{version} {length}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_appends_nothing() {
        let mut out = Vec::new();
        let wide = PacketInFields { in_port: PortNumber(70_000), ..FIELDS };
        assert!(wide.emit(Version::V1_0, Xid(0), b"", &mut out).is_err());
        assert!(FIELDS.emit(Version::V1_3, Xid(0), &vec![0; 65_494], &mut out).is_err());
        assert!(out.is_empty());
        FIELDS.emit(Version::V1_3, Xid(0), &vec![0; 65_493], &mut out).unwrap();
        assert_eq!(out.len(), 65_535);
    }
}
