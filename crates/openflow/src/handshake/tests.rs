//! Tests of the OpenFlow handshake between a switch and a controller, both in memory: version
//! negotiation, the features reply, and errors.

use super::*;
use crate::framing::Framer;
use crate::v1_0::{Message, PhyPort, PortNo};

const BOTH: [Version; 2] = [Version::V1_0, Version::V1_3];

fn identity() -> SwitchIdentity {
    let port = PhyPort { port_no: PortNo(1), ..PhyPort::default() };
    SwitchIdentity { n_buffers: 256, ports: vec![port], ..SwitchIdentity::new(DatapathId(0xab)) }
}

fn switch(versions: &[Version]) -> Handshake {
    Handshake::switch(versions, identity())
}

fn controller(versions: &[Version]) -> Handshake {
    let flags = FragmentHandling::NORMAL;
    Handshake::controller(versions, SwitchConfig { flags, miss_send_len: 0xffff })
}

/// Passes every message in `bytes` to `side`, and returns the events and the answers.
fn deliver(side: &mut Handshake, bytes: &[u8]) -> (Vec<Result<Event, HandshakeError>>, Vec<u8>) {
    let mut out = Vec::new();
    let events =
        Framer::new().frames(bytes).map(|frame| side.receive(frame.unwrap(), &mut out)).collect();
    (events, out)
}

/// Passes messages back and forth until both sides are silent, and returns the events of both.
fn converse(
    switch: &mut Handshake,
    controller: &mut Handshake,
) -> [Vec<Result<Event, HandshakeError>>; 2] {
    let (mut to_controller, mut to_switch) = (Vec::new(), Vec::new());
    switch.start(&mut to_controller);
    controller.start(&mut to_switch);
    let mut events = [Vec::new(), Vec::new()];
    while !to_controller.is_empty() || !to_switch.is_empty() {
        let (seen, answer) = deliver(switch, &std::mem::take(&mut to_switch));
        events[0].extend(seen);
        to_controller.extend(answer);
        let (seen, answer) = deliver(controller, &std::mem::take(&mut to_controller));
        events[1].extend(seen);
        to_switch.extend(answer);
    }
    events
}

#[test]
fn both_sides_open_a_session_in_the_highest_version_in_common() {
    for (switch_speaks, controller_speaks, version) in [
        (&BOTH[..], &BOTH[..], Version::V1_3),
        (&BOTH, &[Version::V1_0], Version::V1_0),
        (&[Version::V1_0], &BOTH, Version::V1_0),
        (&[Version::V1_3], &BOTH, Version::V1_3),
        (&[Version::V1_0], &[Version::V1_0], Version::V1_0),
    ] {
        let (mut switch, mut controller) = (switch(switch_speaks), controller(controller_speaks));
        let [switch_events, controller_events] = converse(&mut switch, &mut controller);
        let config = controller.config();
        assert_eq!(
            switch_events,
            [
                Ok(Event::Negotiated(version)),
                Ok(Event::Ready(version)),
                Ok(Event::Configured(config))
            ]
        );
        assert_eq!(controller_events, [Ok(Event::Negotiated(version)), Ok(Event::Ready(version))]);
        assert!(switch.is_ready() && controller.is_ready());
        let features = controller.features().unwrap();
        assert_eq!((features.datapath_id, features.n_buffers), (DatapathId(0xab), 256));
        assert_eq!((features.n_tables, features.capabilities), (1, 7));
        assert_eq!(switch.config().miss_send_len, 0xffff);
    }
}

#[test]
fn sides_without_a_version_in_common_say_so() {
    let (mut switch, mut controller) = (switch(&[Version::V1_0]), controller(&[Version::V1_3]));
    let [switch_events, controller_events] = converse(&mut switch, &mut controller);
    // The minimum of the headers' versions is 1.0, which the switch speaks and the controller does
    // not, so the switch continues until the controller refuses.
    assert_eq!(switch_events[0], Ok(Event::Negotiated(Version::V1_0)));
    let Err(HandshakeError::Refused { error_type: 0, code: 0, text }) = &switch_events[1] else {
        panic!("{switch_events:?}");
    };
    assert!(text.contains("1.3"), "{text}");
    assert!(matches!(controller_events[0], Err(HandshakeError::Incompatible { .. })));
    assert_eq!(
        controller.diagnosis(),
        "no version in common: the peer offers up to 1.0, this side 1.3 \
         (HELLO sent, waiting for the switch's HELLO)"
    );
    assert!(!switch.is_ready() && !controller.is_ready());
}

#[test]
fn the_features_reply_of_1_0_lists_the_ports() {
    let mut switch = switch(&[Version::V1_0]);
    let hello_and_request = b"\x01\0\0\x08\0\0\0\x01\x01\x05\0\x08\0\0\0\x02";
    let (_, out) = deliver(&mut switch, hello_and_request);
    assert_eq!(out[..8], *b"\x01\0\0\x08\0\0\0\x01", "HELLO goes out unasked");
    let (xid, Message::FeaturesReply(features)) = Message::decode(&out[8..]).unwrap() else {
        panic!("{out:02x?}");
    };
    assert_eq!((xid, features.datapath_id), (Xid(2), DatapathId(0xab)));
    assert_eq!(features.ports, identity().ports);
}

#[test]
fn the_features_reply_of_1_3_has_the_bytes_of_the_specification() {
    let mut switch = switch(&BOTH);
    let (_, out) = deliver(&mut switch, b"\x04\0\0\x08\0\0\0\x01\x04\x05\0\x08\0\0\0\x02");
    assert_eq!(
        out[16..],
        *b"\x04\x06\0\x20\0\0\0\x02\0\0\0\0\0\0\0\xab\0\0\x01\0\x01\0\0\0\0\0\0\x07\0\0\0\0"
    );
}

#[test]
fn questions_are_answered_for_as_long_as_the_session_lasts() {
    let mut switch = switch(&[Version::V1_3]);
    deliver(&mut switch, b"\x04\0\0\x08\0\0\0\x01\x04\x05\0\x08\0\0\0\x02");
    let (events, out) = deliver(
        &mut switch,
        b"\x04\x02\0\x0a\0\0\0\x03hi\x04\x09\0\x0c\0\0\0\x04\0\x01\x02\x03\x04\x07\0\x08\0\0\0\x05",
    );
    let config = SwitchConfig { flags: FragmentHandling::DROP, miss_send_len: 0x0203 };
    assert_eq!(events, [Ok(Event::Handled), Ok(Event::Configured(config)), Ok(Event::Handled)]);
    assert_eq!(
        out, b"\x04\x03\0\x0a\0\0\0\x03hi\x04\x08\0\x0c\0\0\0\x05\0\x01\x02\x03",
        "an echo reply and the configuration"
    );
    let (events, out) = deliver(&mut switch, b"\x04\x05\0\x08\0\0\0\x06");
    assert_eq!((events, out.len()), (vec![Ok(Event::Handled)], 32), "features again");
    let (events, out) = deliver(&mut switch, b"\x04\x14\0\x08\0\0\0\x07");
    assert_eq!((events, out.len()), (vec![Ok(Event::Message)], 0), "a barrier is the caller's");
}

#[test]
fn a_malformed_configuration_is_rejected_and_the_session_goes_on() {
    let mut switch = switch(&[Version::V1_0]);
    deliver(&mut switch, b"\x01\0\0\x08\0\0\0\x01");
    let (events, out) = deliver(&mut switch, b"\x01\x09\0\x0a\0\0\0\x04\0\x01");
    assert_eq!(events, [Ok(Event::Rejected(ErrorReason::BadRequestBadLen))]);
    assert_eq!(out, b"\x01\x01\0\x16\0\0\0\x04\0\x01\0\x06\x01\x09\0\x0a\0\0\0\x04\0\x01");
    assert_eq!(switch.config(), SwitchConfig::default());
    assert_eq!(switch.failure(), None);
}

#[test]
fn another_version_than_agreed_ends_the_session() {
    let mut switch = switch(&BOTH);
    deliver(&mut switch, b"\x04\0\0\x08\0\0\0\x01");
    let (events, out) = deliver(&mut switch, b"\x01\x05\0\x08\0\0\0\x02\x04\x05\0\x08\0\0\0\x03");
    let error = HandshakeError::WrongVersion { agreed: Version::V1_3, found: 1 };
    assert_eq!(events, [Err(error.clone()), Err(error)], "nothing goes on after it");
    assert_eq!(out, b"\x04\x01\0\x14\0\0\0\x02\0\x01\0\0\x01\x05\0\x08\0\0\0\x02");
}

#[test]
fn peers_that_do_not_speak_open_flow_are_found_out() {
    let mut controller = controller(&BOTH);
    let error = controller.receive(b"HT\0\x09/1.1\n", &mut Vec::new()).unwrap_err();
    let message_type = MessageType(b'T');
    assert_eq!(error, HandshakeError::NotHello { version: b'H', message_type });
    let mut switch = switch(&BOTH);
    assert!(matches!(
        switch.receive(b"\x04\0\0\x09\0\0\0\0", &mut Vec::new()),
        Err(HandshakeError::Malformed(_))
    ));
}

#[test]
fn a_short_features_reply_is_named_with_its_offset() {
    let mut controller = controller(&[Version::V1_3]);
    let (_, out) = deliver(&mut controller, b"\x04\0\0\x08\0\0\0\x01");
    assert_eq!(out[16..], *b"\x04\x05\0\x08\0\0\0\x02", "features are asked for at once");
    assert_eq!(controller.diagnosis(), "version 1.3 agreed on, waiting for the switch's features");
    let (events, _) = deliver(&mut controller, b"\x04\x06\0\x10\0\0\0\x02\0\0\0\0\0\0\0\x01");
    let Err(HandshakeError::Malformed(error)) = &events[0] else { panic!("{events:?}") };
    assert_eq!((error.offset, error.field), (16, "ofp_switch_features.n_buffers"));
}

#[test]
fn stages_tell_how_far_a_switch_came() {
    let mut switch = switch(&BOTH);
    assert_eq!(switch.stage(), Stage::Created);
    switch.start(&mut Vec::new());
    assert_eq!(switch.diagnosis(), "HELLO sent, waiting for the controller's HELLO");
    deliver(&mut switch, b"\x01\0\0\x08\0\0\0\x01");
    assert_eq!(switch.stage(), Stage::Negotiated(Version::V1_0));
    assert!(switch.diagnosis().ends_with("waiting for the controller to ask for features"));
    deliver(&mut switch, b"\x01\x05\0\x08\0\0\0\x01");
    assert_eq!(switch.diagnosis(), "session open, version 1.0");
    assert!(Stage::HelloSent < Stage::Negotiated(Version::V1_0));
    assert!(Stage::Negotiated(Version::V1_3) < Stage::Ready(Version::V1_0));
}

#[test]
fn errors_after_opening_are_the_callers() {
    let mut switch = switch(&[Version::V1_0]);
    deliver(&mut switch, b"\x01\0\0\x08\0\0\0\x01\x01\x05\0\x08\0\0\0\x02");
    let (events, _) = deliver(&mut switch, b"\x01\x01\0\x0c\0\0\0\x04\0\0\0\0");
    assert_eq!(events, [Ok(Event::Message)]);
}
