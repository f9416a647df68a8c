//! Messages that are wrong, for 5.3.1: incorrect protocol fields, and notifications of failures.

use openflow::Version;
use openflow::wire::MessageType;
use p4runtime::proto::v1::{self, stream_error::Details, stream_message_response::Update};

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

/// `google.rpc.Code.INTERNAL`.
const INTERNAL: i32 = 13;
/// An id that no P4Info has: of a kind of object that there is none of (P4Runtime 1.5, section "ID Allocation").
const NOTHING: u32 = 0x7e00_0001;

/// The `number`-th of a series of messages of a P4Runtime switch that are well-formed, and whose content is wrong.
pub(crate) fn p4runtime(number: u64) -> v1::StreamMessageResponse {
    let update = match number % KINDS {
        // An error about a packet that the controller never sent.
        0 => Update::Error(v1::StreamError {
            canonical_code: INTERNAL,
            message: "a packet that nobody sent was refused".to_owned(),
            details: Some(Details::PacketOut(v1::PacketOutError { packet_out: None })),
            ..v1::StreamError::default()
        }),
        // A list of a digest that the pipeline does not have.
        1 => Update::Digest(v1::DigestList {
            digest_id: NOTHING,
            list_id: number,
            ..v1::DigestList::default()
        }),
        // A packet-in that does not say where it came in, and ends in its Ethernet header.
        2 => Update::Packet(v1::PacketIn {
            payload: vec![0xff; 8].into(),
            metadata: vec![v1::PacketMetadata {
                metadata_id: NOTHING,
                value: vec![0xff; 8].into(),
            }],
        }),
        // An idle entry of a table that the pipeline does not have.
        _ => Update::IdleTimeoutNotification(v1::IdleTimeoutNotification {
            table_entry: vec![v1::TableEntry { table_id: NOTHING, ..v1::TableEntry::default() }],
            ..v1::IdleTimeoutNotification::default()
        }),
    };
    v1::StreamMessageResponse { update: Some(update) }
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
    #[test]
    fn messages_over_p4runtime_name_nothing_that_a_pipeline_has() {
        let kinds: Vec<_> = (0..KINDS).filter_map(|number| p4runtime(number).update).collect();
        let [Update::Error(error), Update::Digest(digest), Update::Packet(packet), idle] =
            &kinds[..]
        else {
            panic!("{kinds:?}")
        };
        let Update::IdleTimeoutNotification(idle) = idle else { panic!("{idle:?}") };
        assert_eq!(error.canonical_code, 13);
        assert!(packet.payload.len() < 14);
        let ids = [digest.digest_id, packet.metadata[0].metadata_id, idle.table_entry[0].table_id];
        assert_eq!(ids, [NOTHING; 3]);
    }
}
