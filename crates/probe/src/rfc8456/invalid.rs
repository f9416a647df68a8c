//! Messages that are wrong, for 5.3.1: incorrect protocol fields, and notifications of failures.

use openflow::Version;
use openflow::wire::MessageType;

/// Kinds of invalid messages, sent in turn.
pub(crate) const KINDS: u64 = 4;

/// Appends the `number`-th of a series of OpenFlow messages whose length is right, so that a
/// controller finds the message behind it, and whose content is wrong.
pub(crate) fn openflow(version: Version, number: u64, out: &mut Vec<u8>) {
    let (kind, body): (u8, &[u8]) = match number % KINDS {
        // An error about a request that the controller never sent.
        0 => (MessageType::ERROR.0, &[0, 1, 0, 6, 0xde, 0xad, 0xbe, 0xef]),
        // A type that no version has.
        1 => (0x7f, &[0; 8]),
        // A packet-in that ends in its fixed part.
        2 => (MessageType::PACKET_IN.0, &[0xff; 8]),
        // A change of a port that does not say which.
        _ => (MessageType::PORT_STATUS.0, &[0xff; 8]),
    };
    let length = (8 + body.len()) as u16;
    let [high, low] = length.to_be_bytes();
    let xid = (number as u32).to_be_bytes();
    out.extend_from_slice(&[version.wire(), kind, high, low]);
    out.extend_from_slice(&xid);
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use openflow::framing::Framer;

    #[test]
    fn every_kind_is_a_whole_message_and_none_is_valid_but_the_error() {
        for version in [Version::V1_0, Version::V1_3] {
            let mut out = Vec::new();
            (0..KINDS).for_each(|number| openflow(version, number, &mut out));
            let mut framer = Framer::new();
            let frames: Vec<Vec<u8>> =
                framer.frames(&out).map(|frame| frame.unwrap().to_vec()).collect();
            assert_eq!(frames.len(), KINDS as usize);
            for (number, frame) in frames.iter().enumerate() {
                let decodes = match version {
                    Version::V1_0 => openflow::v1_0::Message::decode(frame).is_ok(),
                    Version::V1_3 => openflow::v1_3::Message::decode(frame).is_ok(),
                };
                assert_eq!(decodes, number == 0, "{version:?} {number}");
            }
        }
    }
}
