//! Tests of packet-ins and packet-outs on the stream of a device: who may send and receive them,
//! and how errors are reported.

use super::*;

fn packet(payload: &'static [u8], metadata: &[(u32, &[u8])]) -> v1::PacketOut {
    let field = |(metadata_id, value): &(u32, &[u8])| v1::PacketMetadata {
        metadata_id: *metadata_id,
        value: Bytes::copy_from_slice(value),
    };
    v1::PacketOut {
        payload: Bytes::from_static(payload),
        metadata: metadata.iter().map(field).collect(),
    }
}

/// Returns the `StreamError`s that were sent: stream, code, and the packet that they contain.
fn errors(switch: &mut Switch) -> Vec<(u64, i32, Option<v1::PacketOut>)> {
    let error = |(stream, response)| match response {
        Response::Error(error) => {
            assert!(!error.message.is_empty());
            let packet = match error.details {
                Some(Details::PacketOut(details)) => details.packet_out,
                _ => None,
            };
            (stream, error.canonical_code, packet)
        }
        other => panic!("{other:?}"),
    };
    switch.sent().into_iter().map(error).collect()
}

#[test]
fn a_packet_out_of_the_primary_is_injected() {
    let mut switch = Switch::ready(DeviceOptions::default());
    // ONOS sends two bytes for nine bits, and no padding field.
    let sent = packet(b"lldp", &[(1, &[0, 1])]);
    switch.message(1, Request::Packet(sent.clone()));
    let effects = std::mem::take(&mut switch.effects);
    let [Effect::PacketOut { from: StreamId(1), packet }] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert_eq!(*packet, sent);
}

#[test]
fn packet_outs_that_must_be_dropped_are_answered() {
    let good = || packet(b"x", &[(1, &[1]), (2, &[0])]);
    let unknown = || packet(b"x", &[(1, &[1]), (7, &[0])]);
    let wide = || packet(b"x", &[(1, &[0xff, 0xff])]);

    let mut switch = Switch::new(DeviceOptions::default());
    switch.arbitrate(1, "", 1);
    switch.effects.clear();
    switch.message(1, Request::Packet(good()));
    let expected = (1, Code::FailedPrecondition as i32, Some(good()));
    assert_eq!(errors(&mut switch), [expected]);

    let mut switch = Switch::ready(DeviceOptions::default());
    switch.arbitrate(2, "", 0);
    switch.effects.clear();
    for (stream, packet, code) in [
        (2, good(), Code::PermissionDenied),
        (1, unknown(), Code::InvalidArgument),
        (1, wide(), Code::InvalidArgument),
    ] {
        switch.message(stream, Request::Packet(packet.clone()));
        assert_eq!(errors(&mut switch), [(stream, code as i32, Some(packet))]);
    }
}

#[test]
fn the_strict_device_wants_every_field() {
    let options =
        DeviceOptions { missing_metadata: MissingMetadata::Refuse, ..DeviceOptions::default() };
    let mut switch = Switch::ready(options);
    switch.message(1, Request::Packet(packet(b"x", &[(1, &[1])])));
    assert_eq!(errors(&mut switch).len(), 1);
    switch.message(1, Request::Packet(packet(b"x", &[(1, &[1]), (2, &[0])])));
    assert_eq!(errors(&mut switch).len(), 0);
}

#[test]
fn a_silent_device_drops_without_an_error() {
    let options = DeviceOptions { stream_errors: false, ..DeviceOptions::default() };
    let mut switch = Switch::ready(options);
    switch.message(1, Request::Packet(packet(b"x", &[(7, &[1])])));
    assert!(switch.effects.is_empty());
}

#[test]
fn many_packet_outs_keep_their_order() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let bad = packet(b"b", &[(7, &[1])]);
    let good = |payload| packet(payload, &[(1, &[1])]);
    let mut packets = vec![good(b"a"), bad.clone(), good(b"c"), good(b"d")];
    switch.device.packet_outs(StreamId(1), &mut packets, &mut switch.effects);
    assert_eq!(packets, [good(b"a"), good(b"c"), good(b"d")]);
    assert_eq!(errors(&mut switch), [(1, Code::InvalidArgument as i32, Some(bad))]);

    let mut packets = vec![good(b"a"), good(b"c")];
    switch.device.packet_outs(StreamId(9), &mut packets, &mut switch.effects);
    assert_eq!(packets, []);
    assert_eq!(errors(&mut switch).len(), 2);
}

#[test]
fn a_program_without_packet_out_header_takes_packets_without_metadata() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let mut bare = p4info();
    bare.controller_packet_metadata.clear();
    switch.commit(pipeline(bare, 2)).expect("committed");
    switch.effects.clear();
    let mut packets = vec![packet(b"a", &[]), packet(b"b", &[(1, &[1])])];
    switch.device.packet_outs(StreamId(1), &mut packets, &mut switch.effects);
    assert_eq!(packets, [packet(b"a", &[])]);
    assert_eq!(errors(&mut switch).len(), 1);
}

#[test]
fn packet_ins_go_to_the_primary_of_every_role_that_receives_them() {
    let receivers = |switch: &Switch| {
        let receivers = switch.device.packet_in_receivers();
        receivers.map(|(stream, filter)| (stream.0, filter.is_some())).collect::<Vec<_>>()
    };
    let mut switch = Switch::new(DeviceOptions::default());
    assert_eq!(receivers(&switch), []);
    switch.arbitrate(1, "", 10);
    switch.arbitrate(2, "", 9);
    switch.arbitrate(3, "a", 1);
    assert_eq!(receivers(&switch), [(1, false), (3, false)]);

    let stratum = |value: &[u8]| {
        let mut update = arbitration("a", id(2));
        let config = prost_types::Any {
            type_url: "type.googleapis.com/stratum.P4RoleConfig".to_owned(),
            value: value.to_vec(),
        };
        update.role = Some(v1::Role { name: "a".to_owned(), config: Some(config), id: 0 });
        Request::Arbitration(update)
    };
    // The configuration grants neither packet-ins nor anything else.
    switch.message(3, stratum(&[]));
    assert_eq!(receivers(&switch), [(1, false)]);
    // The bytes encode
    // `packet_in_filter { metadata_id: 1 value: "\x05" } receives_packet_ins: true`.
    switch.message(3, stratum(&[0x1a, 5, 0x08, 1, 0x12, 1, 5, 0x20, 1]));
    assert_eq!(receivers(&switch), [(1, false), (3, true)]);

    switch.device.stream_closed(StreamId(1), &mut switch.effects);
    assert_eq!(receivers(&switch), [(3, true)]);
}

#[test]
fn messages_of_other_kinds_are_answered_or_ignored() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let other = prost_types::Any { type_url: "example.org/x".to_owned(), value: vec![] };
    switch.message(1, Request::Other(other.clone()));
    let sent = switch.sent();
    let [(1, Response::Error(error))] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(error.canonical_code, Code::Unimplemented as i32);
    let details = Details::Other(v1::StreamOtherError { other: Some(other) });
    assert_eq!(error.details, Some(details));

    let unset = v1::StreamMessageRequest { update: None };
    switch.device.stream_message(StreamId(1), unset, &mut switch.effects);
    assert!(switch.effects.is_empty());
}
