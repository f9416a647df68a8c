//! Tests of a controller's session with a single switch, without sockets: the initial messages,
//! answers to packet-ins, errors and time limits.

use ::openflow::wire::{Header, emit_empty, emit_error};

use super::super::Options;
use super::super::session::{Policy, Received, Refusal, Session, SessionError};
use super::*;
use crate::application::Application;
use crate::counters::Tally;

/// A controller's session with a switch, and the switch's side of it.
struct Pair {
    policy: Policy,
    session: Session,
    framer: Framer,
    switch: SimulatedSwitch,
    /// Bytes that the switch has sent and the controller has not processed yet.
    to_controller: Vec<u8>,
    tally: Tally,
    received: Received,
}

impl Pair {
    /// Opens a session, and returns it with the controller's first messages.
    fn open(version: Version, options: Options) -> (Self, Vec<Vec<u8>>) {
        let policy = Policy::new(&options);
        let (mut to_switch, mut to_controller) = (Vec::new(), Vec::new());
        let session = Session::new(&policy, Duration::ZERO, &mut to_switch);
        let mut switch = SimulatedSwitch::new(&[version], 7, &mut to_controller);
        let mut messages = switch.take(&to_switch, &mut to_controller);
        let mut pair = Self {
            policy,
            session,
            framer: Framer::new(),
            switch,
            to_controller,
            tally: Tally::default(),
            received: Received::default(),
        };
        while !pair.to_controller.is_empty() {
            let bytes = std::mem::take(&mut pair.to_controller);
            messages.extend(pair.send(&bytes).unwrap());
        }
        assert!(pair.session.is_open());
        assert_eq!(pair.switch.handshake.version(), Some(version));
        (pair, messages)
    }

    /// Passes bytes to the controller, and returns the messages that it sends.
    fn send(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, SessionError> {
        let mut out = Vec::new();
        let now = Duration::ZERO;
        let Self { policy, session, framer, tally, .. } = self;
        let received = session.receive(policy, framer, bytes, now, &mut out, tally)?;
        if received != Received::default() {
            self.received = received;
        }
        Ok(self.switch.take(&out, &mut self.to_controller))
    }
}

fn options(application: Application) -> Options {
    Options { application, ..Options::default() }
}

#[test]
fn a_switch_is_brought_into_a_known_state() {
    let flow_mod = MessageType::FLOW_MOD;
    for (version, application, expected) in [
        (Version::V1_0, Application::LearningSwitch, &[flow_mod, MessageType(18)][..]),
        (Version::V1_0, Application::ReactiveForwarding, &[flow_mod, MessageType(18), flow_mod]),
        (Version::V1_3, Application::NullResponder, &[flow_mod, MessageType(20), flow_mod]),
        (
            Version::V1_3,
            Application::ReactiveForwarding,
            &[flow_mod, MessageType(20), flow_mod, flow_mod],
        ),
    ] {
        let (pair, messages) = Pair::open(version, options(application));
        assert_eq!(types(&messages), expected, "{version} {application}");
        assert_eq!(messages.iter().filter(|m| m[1] == barrier(version).0).count(), 1);
        assert_eq!(pair.received.opened, Some((DatapathId(7), version)));
        assert_eq!(pair.switch.handshake.config().miss_send_len, 128);
        assert_eq!(pair.tally, Tally::default(), "what a session begins with is not a rule");
    }
}

#[test]
fn the_table_miss_entry_sends_to_the_controller() {
    let options = Options { miss_send_len: 0xffff, ..Options::default() };
    let (_, messages) = Pair::open(Version::V1_3, options);
    let (_, v1_3::Message::FlowMod(delete)) = v1_3::Message::decode(&messages[0]).unwrap() else {
        panic!("{messages:x?}");
    };
    assert_eq!(delete.command, v1_3::FlowModCommand::DELETE);
    assert_eq!((delete.table_id, &delete.match_fields.fields[..]), (v1_3::TableId::ALL, &[][..]));
    let (_, v1_3::Message::FlowMod(miss)) = v1_3::Message::decode(&messages[2]).unwrap() else {
        panic!("{messages:x?}");
    };
    assert_eq!((miss.priority, &miss.match_fields.fields[..]), (0, &[][..]));
    let to_controller = v1_3::Action::to_controller(v1_3::MaxLen::NO_BUFFER);
    assert_eq!(miss.instructions, [v1_3::Instruction::ApplyActions(vec![to_controller])]);
}

#[test]
fn arp_stays_with_a_controller_that_forwards_reactively() {
    for version in BOTH {
        let (_, messages) = Pair::open(version, options(Application::ReactiveForwarding));
        let last = messages.last().unwrap();
        let (ether_type, priority) = match version {
            Version::V1_0 => match v1_0::Message::decode(last).unwrap().1 {
                v1_0::Message::FlowMod(entry) => {
                    assert_eq!(
                        entry.actions,
                        [v1_0::Action::Output { port: v1_0::PortNo::CONTROLLER, max_len: 128 }]
                    );
                    (entry.match_fields.dl_type(), entry.priority)
                }
                other => panic!("{other:?}"),
            },
            Version::V1_3 => match v1_3::Message::decode(last).unwrap().1 {
                v1_3::Message::FlowMod(entry) => {
                    assert_eq!(entry.match_fields.fields.len(), 1);
                    (entry.match_fields.eth_type(), entry.priority)
                }
                other => panic!("{other:?}"),
            },
        };
        assert_eq!((ether_type, priority), (Some(0x0806), 40_000));
    }
}

#[test]
fn each_packet_in_gets_one_prepared_answer() {
    for version in BOTH {
        let null = Options { prepared: true, ..options(Application::NullResponder) };
        let (mut pair, _) = Pair::open(version, null);
        let one = packet_in(version, 9, 1, BufferId::NO_BUFFER, &frame(1, 2, IPV4));
        let mut echo = Vec::new();
        emit_empty(version, MessageType::ECHO_REQUEST, Xid(77), &mut echo);
        let mut stream = one.repeat(1500);
        stream.extend(&echo);
        stream.extend(one.repeat(1500));
        let (mut answers, mut echoes) = (0, 0);
        for chunk in stream.chunks(4000) {
            for message in pair.send(chunk).unwrap() {
                match MessageType(message[1]) {
                    MessageType::PACKET_OUT => {
                        let answer = Answer::read(&message);
                        assert_eq!(answer.outputs, [PortNumber(1)]);
                        assert!(answer.payload.is_empty());
                        answers += 1;
                    }
                    MessageType::ECHO_REPLY => {
                        assert_eq!(Header::new_checked(&message).unwrap().xid(), Xid(77));
                        echoes += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        assert_eq!((answers, echoes), (3000, 1));
        let tally = Tally { packet_ins: 3000, packet_outs: 3000, ..Tally::default() };
        assert_eq!(pair.tally, tally);
    }
}

#[test]
fn a_packet_of_which_the_port_is_unknown_is_flooded() {
    let (mut pair, _) = Pair::open(Version::V1_3, Options::default());
    // The match of a 1.3 packet-in may lack the ingress port.
    let mut message = Vec::new();
    v1_3::Message::PacketIn(v1_3::PacketIn {
        match_fields: v1_3::Match::any(),
        ..v1_3::PacketIn::table_miss(PortNumber(1), frame(2, 1, IPV4))
    })
    .encode(Xid(5), &mut message)
    .unwrap();
    let answers = pair.send(&message).unwrap();
    assert_eq!(types(&answers), [MessageType::PACKET_OUT]);
    let answer = Answer::read(&answers[0]);
    assert_eq!((answer.in_port, answer.xid), (PortNumber::CONTROLLER, 5));
    assert_eq!(answer.outputs, [PortNumber::FLOOD]);
    // No address was learned either.
    let back = packet_in(Version::V1_3, 6, 2, BufferId::NO_BUFFER, &frame(1, 2, IPV4));
    assert_eq!(types(&pair.send(&back).unwrap()), [MessageType::PACKET_OUT]);
}

#[test]
fn refusals_are_counted_and_named() {
    for version in BOTH {
        let (mut pair, _) = Pair::open(version, Options::default());
        let mut error = Vec::new();
        emit_error(version, Xid(0x100), 5, 1, &[0; 64], &mut error).unwrap();
        assert!(pair.send(&error).unwrap().is_empty());
        assert_eq!(pair.tally.refused, 1);
        assert_eq!(pair.received.refusal, Some(Refusal { error_type: 5, code: 1 }));
    }
}

#[test]
fn a_malformed_packet_in_ends_the_session() {
    for application in [Application::LearningSwitch, Application::NullResponder] {
        let (mut pair, _) = Pair::open(Version::V1_3, options(application));
        let mut message = packet_in(Version::V1_3, 1, 1, BufferId::NO_BUFFER, b"");
        message[27] = 200; // the length of the match
        assert!(matches!(pair.send(&message), Err(SessionError::Malformed(_))));
        assert_eq!(pair.tally, Tally::default());
    }
}

#[test]
fn a_message_of_another_version_ends_the_session() {
    let (mut pair, _) = Pair::open(Version::V1_3, Options::default());
    let message = packet_in(Version::V1_0, 1, 1, BufferId::NO_BUFFER, &frame(1, 2, IPV4));
    assert!(matches!(pair.send(&message), Err(SessionError::Handshake(_))));
}

#[test]
fn a_silent_switch_gets_an_echo_request_and_is_then_disconnected() {
    let (mut pair, _) = Pair::open(Version::V1_3, Options::default());
    let mut out = Vec::new();
    let mut tick = |seconds: u64| {
        let outcome = pair.session.tick(Duration::from_secs(seconds), &mut out);
        (outcome.map_err(|error| error.to_string()), out.len())
    };
    assert_eq!(tick(14), (Ok(()), 0));
    assert_eq!(tick(15), (Ok(()), 8));
    assert_eq!(tick(29), (Ok(()), 8));
    assert_eq!(tick(30).0, Err("the switch has been silent for 30s".to_owned()));
    assert_eq!(MessageType(out[1]), MessageType::ECHO_REQUEST);
}

#[test]
fn a_handshake_has_a_time_limit() {
    let mut out = Vec::new();
    let mut session = Session::new(&Policy::new(&Options::default()), Duration::ZERO, &mut out);
    out.clear();
    assert!(session.tick(Duration::from_secs(15), &mut out).is_ok());
    let error = session.tick(Duration::from_secs(16), &mut out).unwrap_err().to_string();
    assert!(error.contains("waiting for the switch's HELLO"), "{error}");
    assert!(out.is_empty());
}
