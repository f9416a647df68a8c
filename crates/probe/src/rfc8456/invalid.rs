//! The invalid messages for the test of exception handling (section 5.3.1): messages with incorrect
//! fields, and invalid notifications of failures.

use openflow::Version;
use openflow::wire::MessageType;
use p4runtime::proto::v1::{self, stream_error::Details, stream_message_response::Update};

/// The number of kinds of invalid messages. The kinds are sent in turn.
pub(crate) const KINDS: u64 = 4;

/// Appends an invalid OpenFlow message, the one with the number `number` in a fixed series. Each
/// has a correct length, so that a controller finds the start of the next message, but invalid
/// content.
pub(crate) fn openflow(version: Version, number: u64, out: &mut Vec<u8>) {
    let (kind, body): (u8, &[u8]) = match number % KINDS {
        // This error refers to a request that the controller never sent.
        0 => (MessageType::ERROR.0, &[0, 1, 0, 6, 0xde, 0xad, 0xbe, 0xef]),
        // No version defines this message type.
        1 => (0x7f, &[0; 8]),
        // This packet-in ends within its fixed part.
        2 => (MessageType::PACKET_IN.0, &[0xff; 8]),
        // This port status ends before the port number.
        _ => (MessageType::PORT_STATUS.0, &[0xff; 8]),
    };
    let length = (8 + body.len()) as u16;
    let [high, low] = length.to_be_bytes();
    let xid = (number as u32).to_be_bytes();
    out.extend_from_slice(&[version.wire(), kind, high, low]);
    out.extend_from_slice(&xid);
    out.extend_from_slice(body);
}

/// The gRPC status code `google.rpc.Code.INTERNAL`.
const INTERNAL: i32 = 13;
/// An object ID that no P4Info can contain, because its prefix does not stand for any kind of
/// object (P4Runtime 1.5, section "ID Allocation").
const NOTHING: u32 = 0x7e00_0001;

/// Returns an invalid P4Runtime message, the one with the number `number` in a fixed series. Each
/// is well formed but has invalid content.
pub(crate) fn p4runtime(number: u64) -> v1::StreamMessageResponse {
    let update = match number % KINDS {
        // This error refers to a packet that the controller never sent.
        0 => Update::Error(v1::StreamError {
            canonical_code: INTERNAL,
            message: "a packet that nobody sent was refused".to_owned(),
            details: Some(Details::PacketOut(v1::PacketOutError { packet_out: None })),
            ..v1::StreamError::default()
        }),
        // This list belongs to a digest that the pipeline does not have.
        1 => Update::Digest(v1::DigestList {
            digest_id: NOTHING,
            list_id: number,
            ..v1::DigestList::default()
        }),
        // This packet-in lacks its ingress port, and its payload ends within the Ethernet header.
        2 => Update::Packet(v1::PacketIn {
            payload: vec![0xff; 8].into(),
            metadata: vec![v1::PacketMetadata {
                metadata_id: NOTHING,
                value: vec![0xff; 8].into(),
            }],
        }),
        // This idle entry belongs to a table that the pipeline does not have.
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
