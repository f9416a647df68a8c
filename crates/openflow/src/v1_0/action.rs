//! The actions on packets: OpenFlow 1.0.0, 5.2.4.
//!
//! An action of a type that the specification does not define is kept as [`Action::Other`]: the
//! switch, and not the decoder, decides whether to answer the action with an error.

use crate::structure::Wire;
use std::net::Ipv4Addr;

use super::PortNo;
use crate::MacAddress;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};

/// The number of bytes of the type and the length with which every action starts.
const HEADER: usize = 4;
/// The number of bytes to a multiple of which every action is padded.
const ALIGNMENT: usize = 8;

/// The values of `enum ofp_action_type`.
mod kind {
    pub(super) const OUTPUT: u16 = 0;
    pub(super) const SET_VLAN_VID: u16 = 1;
    pub(super) const SET_VLAN_PCP: u16 = 2;
    pub(super) const STRIP_VLAN: u16 = 3;
    pub(super) const SET_DL_SRC: u16 = 4;
    pub(super) const SET_DL_DST: u16 = 5;
    pub(super) const SET_NW_SRC: u16 = 6;
    pub(super) const SET_NW_DST: u16 = 7;
    pub(super) const SET_NW_TOS: u16 = 8;
    pub(super) const SET_TP_SRC: u16 = 9;
    pub(super) const SET_TP_DST: u16 = 10;
    pub(super) const ENQUEUE: u16 = 11;
    pub(super) const VENDOR: u16 = 0xffff;
}

/// An action on a packet (`ofp_action_*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends the packet out of a port.
    Output {
        /// The port to which the packet is sent.
        port: PortNo,
        /// The maximum number of bytes of the packet to send, if the port is the controller.
        max_len: u16,
    },
    /// Sets the VLAN id, adding a tag if there is none.
    SetVlanVid(u16),
    /// Sets the VLAN priority, adding a tag if there is none.
    SetVlanPcp(u8),
    /// Removes the VLAN tag.
    StripVlan,
    /// Sets the Ethernet source.
    SetDlSrc(MacAddress),
    /// Sets the Ethernet destination.
    SetDlDst(MacAddress),
    /// Sets the IPv4 source.
    SetNwSrc(Ipv4Addr),
    /// Sets the IPv4 destination.
    SetNwDst(Ipv4Addr),
    /// Sets the IP type of service.
    SetNwTos(u8),
    /// Sets the TCP or UDP source port.
    SetTpSrc(u16),
    /// Sets the TCP or UDP destination port.
    SetTpDst(u16),
    /// Sends the packet out of a port through one of its queues.
    Enqueue {
        /// The port to which the packet is sent: a physical port or `IN_PORT`.
        port: PortNo,
        /// The queue of the port.
        queue_id: u32,
    },
    /// An extension by a vendor.
    Vendor {
        /// The vendor's IEEE OUI, or a number assigned by the ONF.
        vendor: u32,
        /// The bytes of the action after the vendor's number. Their length must be a multiple of 8,
        /// and may be 0.
        body: Vec<u8>,
    },
    /// An action that the specification does not define.
    Other {
        /// The type of the action, which the specification does not define.
        kind: u16,
        /// The bytes of the action after its type and length. Their length must be 4 more than a
        /// multiple of 8.
        body: Vec<u8>,
    },
}

impl Action {
    /// Creates an action that sends the packet out of `port`. If the port is the controller and the
    /// switch buffers the packet, the packet-in contains none of the packet's bytes.
    pub const fn output(port: PortNo) -> Self {
        Self::Output { port, max_len: 0 }
    }

    /// Reads the body of an action, which follows its type and length. Bytes after the fields of
    /// the body are padding.
    fn decode_body(kind: u16, mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match kind {
            kind::OUTPUT => Self::Output {
                port: PortNo(reader.u16("ofp_action_output.port")?),
                max_len: reader.u16("ofp_action_output.max_len")?,
            },
            kind::SET_VLAN_VID => Self::SetVlanVid(reader.u16("ofp_action_vlan_vid.vlan_vid")?),
            kind::SET_VLAN_PCP => Self::SetVlanPcp(reader.u8("ofp_action_vlan_pcp.vlan_pcp")?),
            kind::STRIP_VLAN => Self::StripVlan,
            kind::SET_DL_SRC => {
                Self::SetDlSrc(MacAddress(reader.array("ofp_action_dl_addr.dl_addr")?))
            }
            kind::SET_DL_DST => {
                Self::SetDlDst(MacAddress(reader.array("ofp_action_dl_addr.dl_addr")?))
            }
            kind::SET_NW_SRC => {
                Self::SetNwSrc(reader.array::<4>("ofp_action_nw_addr.nw_addr")?.into())
            }
            kind::SET_NW_DST => {
                Self::SetNwDst(reader.array::<4>("ofp_action_nw_addr.nw_addr")?.into())
            }
            kind::SET_NW_TOS => Self::SetNwTos(reader.u8("ofp_action_nw_tos.nw_tos")?),
            kind::SET_TP_SRC => Self::SetTpSrc(reader.u16("ofp_action_tp_port.tp_port")?),
            kind::SET_TP_DST => Self::SetTpDst(reader.u16("ofp_action_tp_port.tp_port")?),
            kind::ENQUEUE => {
                let port = PortNo(reader.u16("ofp_action_enqueue.port")?);
                reader.skip(6, "ofp_action_enqueue.pad")?;
                Self::Enqueue { port, queue_id: reader.u32("ofp_action_enqueue.queue_id")? }
            }
            kind::VENDOR => Self::Vendor {
                vendor: reader.u32("ofp_action_vendor_header.vendor")?,
                body: reader.rest().to_vec(),
            },
            kind => Self::Other { kind, body: reader.rest().to_vec() },
        })
    }

    /// Returns the number of bytes that the action occupies.
    pub(super) fn encoded_length(&self) -> usize {
        match self {
            Self::SetDlSrc(_) | Self::SetDlDst(_) | Self::Enqueue { .. } => 16,
            Self::Vendor { body, .. } => 8 + body.len(),
            Self::Other { body, .. } => HEADER + body.len(),
            _ => 8,
        }
    }
}

impl Wire for Action {
    fn decode(outer: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut peek = *outer;
        let kind = peek.u16("ofp_action_header.type")?;
        let length_at = peek;
        let length = usize::from(peek.u16("ofp_action_header.len")?);
        if !length.is_multiple_of(ALIGNMENT) {
            return Err(length_at.error(
                "ofp_action_header.len",
                DecodeErrorKind::Alignment { value: length, multiple: ALIGNMENT },
            ));
        }
        let (min, max) = match kind {
            kind::SET_DL_SRC | kind::SET_DL_DST | kind::ENQUEUE => (16, 16),
            kind::VENDOR => (8, outer.remaining()),
            _ if kind <= kind::ENQUEUE => (8, 8),
            _ => (8, outer.remaining()),
        };
        if length < min || length > max || length > outer.remaining() {
            return Err(length_at.error(
                "ofp_action_header.len",
                DecodeErrorKind::Length { value: length, min, max: max.min(outer.remaining()) },
            ));
        }
        let mut reader = outer.sub(length, "ofp_action_header")?;
        reader.skip(HEADER, "ofp_action_header")?;
        Self::decode_body(kind, reader)
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Output { port, max_len } => {
                let [a, b] = port.0.to_be_bytes();
                let [c, d] = max_len.to_be_bytes();
                short(out, kind::OUTPUT, [a, b, c, d]);
            }
            Self::SetVlanVid(vid) => short(out, kind::SET_VLAN_VID, upper(*vid)),
            Self::SetVlanPcp(pcp) => short(out, kind::SET_VLAN_PCP, [*pcp, 0, 0, 0]),
            Self::StripVlan => short(out, kind::STRIP_VLAN, [0; 4]),
            Self::SetDlSrc(address) => ethernet(out, kind::SET_DL_SRC, *address),
            Self::SetDlDst(address) => ethernet(out, kind::SET_DL_DST, *address),
            Self::SetNwSrc(address) => short(out, kind::SET_NW_SRC, address.octets()),
            Self::SetNwDst(address) => short(out, kind::SET_NW_DST, address.octets()),
            Self::SetNwTos(tos) => short(out, kind::SET_NW_TOS, [*tos, 0, 0, 0]),
            Self::SetTpSrc(port) => short(out, kind::SET_TP_SRC, upper(*port)),
            Self::SetTpDst(port) => short(out, kind::SET_TP_DST, upper(*port)),
            Self::Enqueue { port, queue_id } => {
                header(out, kind::ENQUEUE, 16);
                out.extend_from_slice(&port.0.to_be_bytes());
                pad(out, 6);
                out.extend_from_slice(&queue_id.to_be_bytes());
            }
            Self::Vendor { vendor, body } => {
                let length = extension_length("ofp_action_vendor_header.body", 8, body)?;
                header(out, kind::VENDOR, length);
                out.extend_from_slice(&vendor.to_be_bytes());
                out.extend_from_slice(body);
            }
            Self::Other { kind, body } => {
                if *kind <= kind::ENQUEUE || *kind == kind::VENDOR {
                    return Err(EncodeError::Value {
                        field: "ofp_action_header.type",
                        value: u64::from(*kind),
                        expected: "a type that OpenFlow 1.0 does not define",
                    });
                }
                let length = extension_length("ofp_action_header.body", HEADER, body)?;
                header(out, *kind, length);
                out.extend_from_slice(body);
            }
        }
        Ok(())
    }
}

fn header(out: &mut Vec<u8>, kind: u16, length: u16) {
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
}

/// Appends an action of 8 bytes, whose body has four bytes.
fn short(out: &mut Vec<u8>, kind: u16, body: [u8; 4]) {
    header(out, kind, 8);
    out.extend_from_slice(&body);
}

/// Returns four bytes: a 16-bit field, and two bytes of padding after it.
fn upper(value: u16) -> [u8; 4] {
    let [high, low] = value.to_be_bytes();
    [high, low, 0, 0]
}

fn ethernet(out: &mut Vec<u8>, kind: u16, address: MacAddress) {
    header(out, kind, 16);
    out.extend_from_slice(&address.0);
    pad(out, 6);
}

/// Returns the value of the length field of an action whose body a vendor or a later specification
/// defines. `fixed` is the number of bytes before the body.
fn extension_length(field: &'static str, fixed: usize, body: &[u8]) -> Result<u16, EncodeError> {
    let length = fixed.saturating_add(body.len());
    // The largest multiple of 8 that the length field can express.
    let max = 0xfff8;
    if !length.is_multiple_of(ALIGNMENT) || length == 0 {
        return Err(EncodeError::Value {
            field,
            value: body.len() as u64,
            expected: "as many bytes as make the action a multiple of 8 bytes long",
        });
    }
    u16::try_from(length).map_err(|_| EncodeError::TooLong { field, length, max })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::decode_list;

    fn decode(bytes: &[u8]) -> Result<Vec<Action>, DecodeError> {
        decode_list(&mut Reader::new(bytes))
    }

    #[test]
    fn every_action_has_the_bytes_of_the_specification() {
        let mac = MacAddress([1, 2, 3, 4, 5, 6]);
        let address = Ipv4Addr::new(10, 0, 0, 1);
        let cases: [(Action, &[u8]); 14] = [
            (Action::Output { port: PortNo(7), max_len: 9 }, b"\0\0\0\x08\0\x07\0\x09"),
            (Action::SetVlanVid(0x102), b"\0\x01\0\x08\x01\x02\0\0"),
            (Action::SetVlanPcp(5), b"\0\x02\0\x08\x05\0\0\0"),
            (Action::StripVlan, b"\0\x03\0\x08\0\0\0\0"),
            (Action::SetDlSrc(mac), b"\0\x04\0\x10\x01\x02\x03\x04\x05\x06\0\0\0\0\0\0"),
            (Action::SetDlDst(mac), b"\0\x05\0\x10\x01\x02\x03\x04\x05\x06\0\0\0\0\0\0"),
            (Action::SetNwSrc(address), b"\0\x06\0\x08\x0a\0\0\x01"),
            (Action::SetNwDst(address), b"\0\x07\0\x08\x0a\0\0\x01"),
            (Action::SetNwTos(0x20), b"\0\x08\0\x08\x20\0\0\0"),
            (Action::SetTpSrc(80), b"\0\x09\0\x08\0\x50\0\0"),
            (Action::SetTpDst(80), b"\0\x0a\0\x08\0\x50\0\0"),
            (
                Action::Enqueue { port: PortNo(1), queue_id: 2 },
                b"\0\x0b\0\x10\0\x01\0\0\0\0\0\0\0\0\0\x02",
            ),
            (
                Action::Vendor { vendor: 0x2320, body: vec![1; 8] },
                b"\xff\xff\0\x10\0\0\x23\x20\x01\x01\x01\x01\x01\x01\x01\x01",
            ),
            (Action::Other { kind: 12, body: vec![2; 4] }, b"\0\x0c\0\x08\x02\x02\x02\x02"),
        ];
        for (action, bytes) in cases {
            let mut out = Vec::new();
            action.encode(&mut out).unwrap();
            assert_eq!(out, bytes, "{action:?}");
            assert_eq!(action.encoded_length(), bytes.len());
            assert_eq!(decode(bytes), Ok(vec![action]));
        }
    }

    #[test]
    fn wrong_lengths_are_named_where_they_are() {
        let first = b"\0\0\0\x08\0\x07\0\x09";
        for (length, kind) in [
            (0, DecodeErrorKind::Length { value: 0, min: 8, max: 8 }),
            (12, DecodeErrorKind::Alignment { value: 12, multiple: 8 }),
            (16, DecodeErrorKind::Length { value: 16, min: 8, max: 8 }),
        ] {
            let bytes = [&first[..], b"\0\x03\0", &[length], b"\0\0\0\0"].concat();
            let error = decode(&bytes).unwrap_err();
            assert_eq!(error.offset, 10);
            assert_eq!((error.field, error.kind), ("ofp_action_header.len", kind));
        }
        assert!(decode(b"\0\x04\0\x10\0\0\0\0").is_err(), "beyond the end of the list");
        assert!(decode(b"\xff\xff\0\x00").is_err(), "a vendor's action of no length");
        assert!(decode(b"\0\0\0").is_err(), "half a header");
    }

    #[test]
    fn bodies_that_break_the_alignment_are_not_encoded() {
        for action in [
            Action::Vendor { vendor: 1, body: vec![0; 4] },
            Action::Other { kind: 99, body: vec![0; 8] },
            Action::Other { kind: 0, body: vec![0; 4] },
            Action::Vendor { vendor: 1, body: vec![0; 65_528] },
        ] {
            assert!(action.encode(&mut Vec::new()).is_err(), "{action:?}");
        }
    }
}
