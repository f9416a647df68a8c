//! A view and an emitter of packet-out messages: OpenFlow 1.0.0, 5.3.6; OpenFlow 1.3.5, 7.3.7.

use std::ops::Range;

use super::packet_in::port_v1_0;
use super::{Checked, MessageType, check, header_bytes, message_length, put_at, u16_at, u32_at};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::{BufferId, PortNumber, Version, Xid};

/// Returns the offset of the actions in a packet-out of this version.
const fn fixed(version: Version) -> usize {
    match version {
        Version::V1_0 => 16,
        Version::V1_3 => 24,
    }
}

/// Returns the length in bytes of an action that sends the packet out of a port.
const fn output_length(version: Version) -> usize {
    match version {
        Version::V1_0 => 8,
        Version::V1_3 => 16,
    }
}

/// A view of a packet-out of either version.
#[derive(Clone, Copy, Debug)]
pub struct PacketOut<T> {
    buffer: T,
    version: Version,
    payload: (usize, usize),
}

impl<T: AsRef<[u8]>> PacketOut<T> {
    /// Checks that the buffer holds a whole packet-out and that its actions end within it. The
    /// actions themselves are not checked.
    pub fn new_checked(buffer: T) -> Result<Self, DecodeError> {
        let data = buffer.as_ref();
        let Checked { version, end } =
            check(data, MessageType::PACKET_OUT, "ofp_packet_out", fixed)?;
        let (offset, actions_start) = (actions_len_offset(version), fixed(version));
        let actions_len = usize::from(u16_at(data, offset));
        let start = actions_start + actions_len;
        if start > end {
            let kind =
                DecodeErrorKind::Length { value: actions_len, min: 0, max: end - actions_start };
            return Err(DecodeError { offset, field: "ofp_packet_out.actions_len", kind });
        }
        Ok(Self { buffer, version, payload: (start, end) })
    }

    /// Returns the version of the message.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the transaction id of the message.
    pub fn xid(&self) -> Xid {
        Xid(u32_at(self.buffer.as_ref(), 4))
    }

    /// Returns the buffered packet that the switch must send, or [`BufferId::NO_BUFFER`] if the
    /// payload is the packet.
    pub fn buffer_id(&self) -> BufferId {
        BufferId(u32_at(self.buffer.as_ref(), 8))
    }

    /// Returns the port that is treated as the packet's ingress port.
    pub fn in_port(&self) -> PortNumber {
        let data = self.buffer.as_ref();
        match self.version {
            Version::V1_0 => PortNumber::from_v1_0(u16_at(data, 12)),
            Version::V1_3 => PortNumber(u32_at(data, 12)),
        }
    }

    /// Returns the encoded actions of the packet-out.
    pub fn actions(&self) -> &[u8] {
        self.buffer.as_ref().get(fixed(self.version)..self.payload.0).unwrap_or(&[])
    }

    /// Returns the ports to which the actions send the packet, in order, up to the first malformed
    /// action.
    pub fn outputs(&self) -> Outputs<'_> {
        Outputs { version: self.version, actions: Actions(self.actions()) }
    }

    /// Returns whether an action sends the packet to a group, which only OpenFlow 1.3 has. Only the
    /// actions before the first malformed one are considered.
    pub fn has_group(&self) -> bool {
        self.version == Version::V1_3
            && Actions(self.actions()).any(|action| u16_at(action, 0) == OFPAT_GROUP)
    }

    /// Returns the packet to send, which is empty if the switch must send a buffered packet.
    pub fn payload(&self) -> &[u8] {
        self.buffer.as_ref().get(self.payload_range()).unwrap_or(&[])
    }

    /// Returns the range of bytes that the packet occupies in the message.
    pub fn payload_range(&self) -> Range<usize> {
        self.payload.0..self.payload.1
    }
}

const fn actions_len_offset(version: Version) -> usize {
    match version {
        Version::V1_0 => 14,
        Version::V1_3 => 16,
    }
}

/// The type of an action that sends the packet out of a port, in both versions.
const OFPAT_OUTPUT: u16 = 0;
/// The type of an action that sends the packet to a group, in 1.3.
const OFPAT_GROUP: u16 = 22;

/// The encoded actions of a packet-out, up to the first malformed one.
#[derive(Clone, Debug)]
struct Actions<'a>(&'a [u8]);

impl<'a> Iterator for Actions<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let actions = std::mem::take(&mut self.0);
        let length = usize::from(u16_at(actions.get(..8)?, 2));
        let (action, rest) = actions.split_at_checked(length).filter(|_| length >= 8)?;
        self.0 = rest;
        Some(action)
    }
}

/// An iterator over the ports of a packet-out's output actions, which [`PacketOut::outputs`]
/// creates.
#[derive(Clone, Debug)]
pub struct Outputs<'a> {
    version: Version,
    actions: Actions<'a>,
}

impl Iterator for Outputs<'_> {
    type Item = PortNumber;

    fn next(&mut self) -> Option<PortNumber> {
        let output = self.actions.find(|action| u16_at(action, 0) == OFPAT_OUTPUT)?;
        Some(match self.version {
            Version::V1_0 => PortNumber::from_v1_0(u16_at(output, 4)),
            Version::V1_3 => PortNumber(u32_at(output, 4)),
        })
    }
}

/// The fields of a packet-out except for its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOutFields<'a> {
    /// The buffered packet that the switch must send, or [`BufferId::NO_BUFFER`] if the payload is
    /// the packet.
    pub buffer_id: BufferId,
    /// The port that is treated as the packet's ingress port. If there is none, it is
    /// [`PortNumber::ANY`] in 1.0 and [`PortNumber::CONTROLLER`] in 1.3.
    pub in_port: PortNumber,
    /// The ports to which actions send the packet. If there are none, the packet is dropped.
    pub outputs: &'a [PortNumber],
}

impl PacketOutFields<'_> {
    /// Appends a packet-out with `payload`.
    ///
    /// If the message does not fit its length field, or if 1.0 has no number for a port, returns an
    /// error and appends nothing.
    pub fn emit(
        &self,
        version: Version,
        xid: Xid,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let actions_len = self.outputs.len().saturating_mul(output_length(version));
        let total = fixed(version).saturating_add(actions_len).saturating_add(payload.len());
        let length = message_length("ofp_packet_out", total)?;
        // The actions are shorter than the message, whose length fits into its field.
        let actions_len = actions_len as u16;
        let header = header_bytes(version, MessageType::PACKET_OUT, length, xid);
        let before = out.len();
        out.reserve(usize::from(length));
        match version {
            Version::V1_0 => {
                let in_port = port_v1_0("ofp_packet_out.in_port", self.in_port)?;
                let mut bytes = [0; 16];
                put_at(&mut bytes, 0, header);
                put_at(&mut bytes, 8, self.buffer_id.0.to_be_bytes());
                put_at(&mut bytes, 12, in_port.to_be_bytes());
                put_at(&mut bytes, 14, actions_len.to_be_bytes());
                out.extend_from_slice(&bytes);
                for &output in self.outputs {
                    let port = match port_v1_0("ofp_action_output.port", output) {
                        Ok(port) => port,
                        Err(error) => {
                            out.truncate(before);
                            return Err(error);
                        }
                    };
                    let [high, low] = port.to_be_bytes();
                    out.extend_from_slice(&[0, 0, 0, 8, high, low, 0, 0]);
                }
            }
            Version::V1_3 => {
                let mut bytes = [0; 24];
                put_at(&mut bytes, 0, header);
                put_at(&mut bytes, 8, self.buffer_id.0.to_be_bytes());
                put_at(&mut bytes, 12, self.in_port.0.to_be_bytes());
                put_at(&mut bytes, 16, actions_len.to_be_bytes());
                out.extend_from_slice(&bytes);
                for output in self.outputs {
                    let mut action = [0; 16];
                    put_at(&mut action, 2, 16_u16.to_be_bytes());
                    put_at(&mut action, 4, output.0.to_be_bytes());
                    out.extend_from_slice(&action);
                }
            }
        }
        out.extend_from_slice(payload);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUTS: [PortNumber; 2] = [PortNumber(3), PortNumber::FLOOD];

    fn emitted(version: Version) -> Vec<u8> {
        let fields = PacketOutFields {
            buffer_id: BufferId(0x0102_0304),
            in_port: PortNumber::CONTROLLER,
            outputs: &OUTPUTS,
        };
        let mut out = Vec::new();
        fields.emit(version, Xid(0xa1a2_a3a4), b"pkt", &mut out).unwrap();
        out
    }

    #[test]
    fn bytes_on_the_wire_are_those_of_the_specification() {
        assert_eq!(
            emitted(Version::V1_0),
            b"\x01\x0d\x00\x23\xa1\xa2\xa3\xa4\x01\x02\x03\x04\xff\xfd\x00\x10\
              \x00\x00\x00\x08\x00\x03\x00\x00\x00\x00\x00\x08\xff\xfb\x00\x00pkt"
        );
        assert_eq!(
            emitted(Version::V1_3),
            b"\x04\x0d\x00\x3b\xa1\xa2\xa3\xa4\x01\x02\x03\x04\xff\xff\xff\xfd\
              \x00\x20\x00\x00\x00\x00\x00\x00\
              \x00\x00\x00\x10\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\
              \x00\x00\x00\x10\xff\xff\xff\xfb\x00\x00\x00\x00\x00\x00\x00\x00pkt"
        );
    }

    #[test]
    fn the_view_reads_what_was_emitted() {
        for version in [Version::V1_0, Version::V1_3] {
            let bytes = emitted(version);
            let view = PacketOut::new_checked(&bytes).unwrap();
            assert_eq!(view.version(), version);
            assert_eq!(view.xid(), Xid(0xa1a2_a3a4));
            assert_eq!(view.buffer_id(), BufferId(0x0102_0304));
            assert_eq!(view.in_port(), PortNumber::CONTROLLER);
            assert_eq!(view.outputs().collect::<Vec<_>>(), OUTPUTS);
            assert_eq!(view.payload(), b"pkt");
            assert_eq!(&bytes[view.payload_range()], b"pkt");
        }
    }

    #[test]
    fn actions_that_overrun_the_message_are_refused() {
        for (version, at) in [(Version::V1_0, 15), (Version::V1_3, 17)] {
            let mut bytes = emitted(version);
            bytes[at] += 3;
            assert_eq!(PacketOut::new_checked(&bytes).unwrap().payload(), b"");
            bytes[at] += 1;
            let error = PacketOut::new_checked(&bytes).unwrap_err();
            assert_eq!((error.offset, error.field), (at - 1, "ofp_packet_out.actions_len"));
        }
    }

    #[test]
    fn malformed_actions_end_the_outputs() {
        for length in [0, 7, 200] {
            let mut bytes = emitted(Version::V1_0);
            bytes[27] = length; // of the second action
            let view = PacketOut::new_checked(&bytes).unwrap();
            assert_eq!(view.outputs().collect::<Vec<_>>(), OUTPUTS[..1]);
        }
        let mut bytes = emitted(Version::V1_0);
        bytes[17] = 3; // the first action is now OFPAT_STRIP_VLAN
        let view = PacketOut::new_checked(&bytes).unwrap();
        assert_eq!(view.outputs().collect::<Vec<_>>(), OUTPUTS[1..]);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_appends_nothing() {
        let fields = PacketOutFields {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNumber::ANY,
            outputs: &[PortNumber(1), PortNumber(70_000)],
        };
        let mut out = b"before".to_vec();
        assert!(fields.emit(Version::V1_0, Xid(0), b"", &mut out).is_err());
        assert!(fields.emit(Version::V1_3, Xid(0), &vec![0; 65_480], &mut out).is_err());
        assert_eq!(out, b"before");
        assert!(fields.emit(Version::V1_3, Xid(0), &vec![0; 65_479], &mut out).is_ok());
    }
}
