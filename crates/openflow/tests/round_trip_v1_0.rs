//! Tests that encoded messages decode to equal messages, and that other bytes are rejected without
//! harm.

#[path = "support/messages_v1_0.rs"]
mod messages_v1_0;

use messages_v1_0::message;
use openflow::v1_0::Message;
use openflow::{DecodeErrorKind, Xid};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn every_message_survives_the_wire(message in message(), xid: u32, before in 0..4_usize) {
        let mut bytes = vec![0xee; before];
        message.encode(Xid(xid), &mut bytes).unwrap();
        let (kept, frame) = bytes.split_at(before);
        prop_assert!(kept.iter().all(|&byte| byte == 0xee), "what was there is left alone");
        prop_assert_eq!(Message::decode(frame), Ok((Xid(xid), message)));
    }

    #[test]
    fn every_truncation_is_an_error_or_a_shorter_message(message in message(), at: u16) {
        let mut bytes = Vec::new();
        message.encode(Xid(0), &mut bytes).unwrap();
        let at = usize::from(at) % bytes.len();
        let cut = &mut bytes[..at];
        prop_assert!(Message::decode(cut).is_err(), "the header promises more");
        if at >= 8 {
            // With a correct length in the header, an error must point into the message.
            cut[2..4].copy_from_slice(&(at as u16).to_be_bytes());
            match Message::decode(cut) {
                Ok((_, shorter)) => prop_assert_ne!(shorter, message),
                Err(error) => prop_assert!(error.offset <= at, "{error}"),
            }
        }
    }

    #[test]
    fn trailing_bytes_are_refused(message in message()) {
        let mut bytes = Vec::new();
        message.encode(Xid(0), &mut bytes).unwrap();
        bytes.push(0);
        let error = Message::decode(&bytes).unwrap_err();
        prop_assert_eq!(error.kind, DecodeErrorKind::Trailing(1));
    }
}

/// The constants are the lengths that the specification asserts for its structures.
#[test]
fn fixed_messages_are_as_long_as_the_specification_says() {
    use openflow::v1_0::*;
    let length = |message: Message| {
        let mut bytes = Vec::new();
        message.encode(Xid(0), &mut bytes).unwrap();
        bytes.len()
    };
    let flow = FlowStats {
        table_id: 0,
        match_fields: Match::any(),
        duration_sec: 0,
        duration_nsec: 0,
        priority: 0,
        idle_timeout: 0,
        hard_timeout: 0,
        cookie: 0,
        packet_count: 0,
        byte_count: 0,
        actions: Vec::new(),
    };
    let stats = |body: StatsReplyBody| length(Message::StatsReply(body.into())) - 12;
    assert_eq!(stats(StatsReplyBody::Desc(Box::default())), 1056);
    assert_eq!(stats(StatsReplyBody::Flow(vec![flow])), 88);
    assert_eq!(stats(StatsReplyBody::Aggregate(AggregateStats::default())), 24);
    assert_eq!(stats(StatsReplyBody::Table(vec![TableStats::default()])), 64);
    assert_eq!(stats(StatsReplyBody::Port(vec![PortStats::default()])), 104);
    assert_eq!(stats(StatsReplyBody::Queue(vec![QueueStats::default()])), 32);
    let ask = |body: StatsRequestBody| length(Message::StatsRequest(body.into())) - 12;
    assert_eq!(ask(StatsRequestBody::Flow(FlowStatsRequest::default())), 44);
    assert_eq!(ask(StatsRequestBody::Port(PortNo::NONE)), 8);
    let request = QueueStatsRequest { port_no: PortNo::ALL, queue_id: 0 };
    assert_eq!(ask(StatsRequestBody::Queue(request)), 8);
    assert_eq!(length(Message::FlowMod(FlowMod::default())), 72);
    assert_eq!(length(Message::FeaturesReply(FeaturesReply::default())), 32);
    assert_eq!(length(Message::SetConfig(SwitchConfig::default())), 12);
    let desc = PhyPort::default();
    assert_eq!(length(Message::PortStatus(PortStatus { reason: PortReason::ADD, desc })), 64);
    let port_mod = PortMod {
        port_no: PortNo(1),
        hw_addr: desc.hw_addr,
        config: PortConfig::NONE,
        mask: PortConfig::NONE,
        advertise: PortFeatures::NONE,
    };
    assert_eq!(length(Message::PortMod(port_mod)), 32);
    let removed = FlowRemoved {
        match_fields: Match::any(),
        cookie: 0,
        priority: 0,
        reason: FlowRemovedReason::DELETE,
        duration_sec: 0,
        duration_nsec: 0,
        idle_timeout: 0,
        packet_count: 0,
        byte_count: 0,
    };
    assert_eq!(length(Message::FlowRemoved(removed)), 88);
    let port = PortNo(1);
    assert_eq!(length(Message::QueueGetConfigRequest(QueueGetConfigRequest { port })), 12);
    let queue = PacketQueue { queue_id: 0, properties: vec![QueueProperty::MinRate(1)] };
    let reply = QueueGetConfigReply { port, queues: vec![queue] };
    assert_eq!(length(Message::QueueGetConfigReply(reply)), 16 + 8 + 16);
}

#[test]
fn messages_too_long_for_their_header_are_refused_and_append_nothing() {
    let mut out = b"kept".to_vec();
    assert!(Message::EchoRequest(vec![0; 65_528]).encode(Xid(0), &mut out).is_err());
    assert_eq!(out, b"kept");
    assert!(Message::EchoRequest(vec![0; 65_527]).encode(Xid(0), &mut out).is_ok());
}

#[test]
fn errors_say_where_and_what() {
    for (bytes, text) in [
        (&b"\x04\0\0\x08\0\0\0\0"[..], "ofp_header.version at byte 0: version 0x04 is not"),
        (b"\x01\x16\0\x08\0\0\0\0", "ofp_header.type at byte 1: unknown type 22"),
        (b"\x01\x09\0\x0a\0\0\0\0\0\0", "ofp_switch_config.miss_send_len at byte 10: 2 bytes"),
        (b"\x01\x05\0\x09\0\0\0\0\0", "ofp_header.length at byte 8: 1 bytes too many"),
        (
            b"\x01\x0d\0\x18\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\x10\0\0\0\0",
            "ofp_action_header.len at byte 18: length 16 is outside 8 to 8",
        ),
    ] {
        let error = Message::decode(bytes).unwrap_err().to_string();
        assert!(error.starts_with(text), "{error}");
    }
}
