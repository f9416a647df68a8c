//! Tests of arbitration on the stream of a device: messages before it, the notification of
//! controllers, and the configuration of roles.

use prost_types::Any;

use super::*;

/// Specification 1.5, "Packet I/O": a message that a client may not send is dropped, and may be
/// answered. Only arbitration ends a stream, and arbitration may follow later.
#[test]
fn messages_before_arbitration_are_dropped_and_answered() {
    let mut switch = Switch::ready(DeviceOptions::default());
    let packet = v1::PacketOut::default();
    let ack = v1::DigestListAck { digest_id: DIGEST, list_id: 1 };
    let messages = [
        (
            Request::Packet(packet.clone()),
            Code::PermissionDenied,
            Details::PacketOut(v1::PacketOutError { packet_out: Some(packet) }),
        ),
        (
            Request::DigestAck(ack),
            Code::PermissionDenied,
            Details::DigestListAck(v1::DigestListAckError { digest_list_ack: Some(ack) }),
        ),
        (
            Request::Other(Any::default()),
            Code::Unimplemented,
            Details::Other(v1::StreamOtherError { other: Some(Any::default()) }),
        ),
    ];
    for (message, code, details) in messages {
        switch.message(2, message);
        let sent = switch.sent();
        let [(2, Response::Error(error))] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!(error.canonical_code, code as i32);
        assert_eq!(error.details, Some(details));
        assert!(!error.message.contains("backup"), "{}", error.message);
    }
    let unset = v1::StreamMessageRequest { update: None };
    switch.device.stream_message(StreamId(2), unset, &mut switch.effects);
    assert!(switch.effects.is_empty());
    switch.arbitrate(2, "", 11);
    assert!(switch.device.arbitration().is_primary(StreamId(2)));
}

#[test]
fn a_stream_for_another_device_is_closed() {
    let mut switch = Switch::new(DeviceOptions::default());
    let mut update = arbitration("", id(1));
    update.device_id = DEVICE + 1;
    switch.message(1, Request::Arbitration(update));
    assert_eq!(switch.closed()[0].1, Code::NotFound);
}

#[test]
fn an_election_id_in_use_closes_the_stream_with_the_text_that_clients_match() {
    let mut switch = Switch::new(DeviceOptions::default());
    switch.arbitrate(1, "", 10);
    switch.arbitrate(2, "", 10);
    let expected = (2, Code::InvalidArgument, "Election id already exists".to_owned());
    assert_eq!(switch.closed(), [expected]);
}

#[test]
fn the_owner_is_notified_of_the_primary() {
    let mut switch = Switch::new(DeviceOptions::default());
    let notified = |switch: &mut Switch| {
        let notified: Vec<_> = switch
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Primary { role: RoleKey::Default, stream } => Some(stream.map(|one| one.0)),
                _ => None,
            })
            .collect();
        switch.effects.clear();
        notified
    };
    switch.arbitrate(1, "", 10);
    assert_eq!(notified(&mut switch), [Some(1)]);
    switch.arbitrate(2, "", 9);
    assert_eq!(notified(&mut switch), []);
    switch.arbitrate(2, "", 11);
    assert_eq!(notified(&mut switch), [Some(2)]);
    switch.device.stream_closed(StreamId(1), &mut switch.effects);
    assert_eq!(notified(&mut switch), []);
    switch.device.stream_closed(StreamId(2), &mut switch.effects);
    assert_eq!(notified(&mut switch), [None]);
}

#[test]
fn backups_receive_not_found_when_the_primary_leaves() {
    let mut switch = Switch::new(DeviceOptions::default());
    switch.arbitrate(1, "", 10);
    switch.arbitrate(2, "", 9);
    switch.effects.clear();
    switch.device.stream_closed(StreamId(1), &mut switch.effects);
    let sent = switch.sent();
    let [(2, Response::Arbitration(update))] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(update.status.as_ref().map(|status| status.code), Some(Code::NotFound as i32));
    assert_eq!(update.election_id, id(10));
}

/// Returns an arbitration message with a role configuration.
fn with_config(name: &str, election_id: u128, type_url: &str, value: &[u8]) -> Request {
    let mut update = arbitration(name, id(election_id));
    let config = Any { type_url: type_url.to_owned(), value: value.to_vec() };
    update.role = Some(v1::Role { name: name.to_owned(), config: Some(config), id: 0 });
    Request::Arbitration(update)
}

const STRATUM: &str = "type.googleapis.com/stratum.P4RoleConfig";

#[test]
fn every_controller_of_a_role_receives_its_configuration() {
    let mut switch = Switch::new(DeviceOptions::default());
    switch.message(1, with_config("a", 5, STRATUM, &[0x20, 1]));
    switch.arbitrate(2, "a", 4);
    let configs: Vec<_> = switch
        .sent()
        .into_iter()
        .filter_map(|(_, response)| match response {
            Response::Arbitration(update) => update.role.and_then(|role| role.config),
            _ => None,
        })
        .collect();
    let expected = Any { type_url: STRATUM.to_owned(), value: vec![0x20, 1] };
    assert_eq!(configs, [expected.clone(), expected]);
}

#[test]
fn invalid_role_configurations_close_the_stream() {
    let mut switch = Switch::new(DeviceOptions::default());
    switch.message(1, with_config("a", 1, STRATUM, &[0xff]));
    assert_eq!(switch.closed()[0].1, Code::InvalidArgument);
    switch.message(1, with_config("", 1, STRATUM, &[]));
    assert_eq!(switch.closed()[0].1, Code::InvalidArgument);
    // The type is none that was agreed on.
    switch.message(1, with_config("a", 1, "example.org/stranger", b"opaque"));
    assert_eq!(switch.closed()[0].1, Code::InvalidArgument);
    // The bytes encode `exclusive_p4_ids: 1`, which both roles claim.
    switch.message(1, with_config("a", 1, STRATUM, &[0x08, 1]));
    assert_eq!(switch.closed(), []);
    switch.message(2, with_config("b", 1, STRATUM, &[0x08, 1]));
    assert_eq!(switch.closed()[0].1, Code::InvalidArgument);
    switch.message(1, with_config("a", 2, STRATUM, &[0x08, 1]));
    assert_eq!(switch.closed(), []);
}

/// Specification 1.5, "Rules for Handling MasterArbitrationUpdate": the role is checked before its
/// configuration.
#[test]
fn a_changed_role_is_a_graver_mistake_than_its_configuration() {
    let mut switch = Switch::new(DeviceOptions::default());
    switch.arbitrate(1, "a", 1);
    switch.message(1, with_config("b", 2, STRATUM, &[0xff]));
    assert_eq!(switch.closed()[0].1, Code::FailedPrecondition);
    switch.arbitrate(2, "", 1);
    switch.message(2, with_config("b", 2, STRATUM, &[0xff]));
    assert_eq!(switch.closed()[0].1, Code::FailedPrecondition);
}

#[test]
fn a_narrowed_role_writes_and_reads_only_its_own_objects() {
    let mut switch = Switch::ready(DeviceOptions::default());
    // The bytes encode `exclusive_p4_ids: TABLE`, without packet-ins and without pipeline pushes.
    let config = [0x08, 0x81, 0x80, 0x80, 0x10];
    switch.message(2, with_config("a", 7, STRATUM, &config));
    assert_eq!(switch.closed(), []);

    let both = || vec![insert(host(TABLE, 1, 1)), insert(host(OTHER_TABLE, 2, 1))];
    assert_eq!(switch.write_as("a", 7, both()), Ok(vec![Code::Ok, Code::PermissionDenied]));
    assert_eq!(switch.write(both()), Ok(vec![Code::AlreadyExists, Code::Ok]));
    let all = || vec![table(0)];
    assert_eq!(switch.read("", all()).map(|found| found.len()), Ok(2));
    assert_eq!(switch.read("a", all()), Ok(vec![host(TABLE, 1, 1)]));

    let atomic = v1::WriteRequest {
        device_id: DEVICE,
        role: "a".to_owned(),
        election_id: id(7),
        updates: vec![insert(host(TABLE, 3, 1)), insert(host(OTHER_TABLE, 3, 1))],
        atomicity: v1::write_request::Atomicity::RollbackOnError as i32,
        ..Default::default()
    };
    let outcome = switch.write_request(&atomic);
    assert_eq!(outcome, Ok(vec![Code::Aborted, Code::PermissionDenied]));
    assert_eq!(switch.read("a", all()).map(|found| found.len()), Ok(1));

    let push = v1::SetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        role: "a".to_owned(),
        election_id: id(7),
        action: v1::set_forwarding_pipeline_config_request::Action::VerifyAndCommit as i32,
        config: Some(pipeline(p4info(), 2)),
        ..Default::default()
    };
    let refused = switch.device.set_pipeline(push, T0, &mut switch.effects);
    assert_eq!(refused.map_err(|error| error.code()), Err(Code::PermissionDenied));

    // A new primary without a configuration makes the role unrestricted again.
    switch.arbitrate(3, "a", 8);
    assert_eq!(switch.read("a", all()).map(|found| found.len()), Ok(2));
}

#[test]
fn a_refusal_does_not_repeat_a_long_role_name() {
    let options = DeviceOptions { streams_per_role: 1, ..Default::default() };
    let mut switch = Switch::new(options);
    let role = "r".repeat(10_000);
    switch.arbitrate(1, &role, 1);
    switch.arbitrate(2, &role, 2);
    let closed = switch.closed();
    assert_eq!((closed.len(), closed[0].1), (1, Code::ResourceExhausted));
    assert!(closed[0].2.len() < 1000, "{} bytes", closed[0].2.len());
}
