//! Tests of OpenFlow controllers with simulated switches, which exchange raw messages with them.

mod loopback;
mod sessions;
mod tls;

use std::time::Duration;

use ::openflow::framing::Framer;
use ::openflow::handshake::{Handshake, SwitchIdentity};
use ::openflow::wire::{MessageType, PacketIn, PacketInFields, PacketOut};
use ::openflow::{BufferId, DatapathId, MacAddress, PortNumber, Version, Xid, v1_0, v1_3};

const BOTH: [Version; 2] = [Version::V1_0, Version::V1_3];
const IPV4: u16 = 0x0800;
const LLDP: u16 = 0x88cc;

fn mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

fn frame(destination: u8, source: u8, ether_type: u16) -> Vec<u8> {
    let mut frame = [mac(destination).0, mac(source).0].concat();
    frame.extend(ether_type.to_be_bytes());
    frame.extend([0x5a; 46]);
    frame
}

/// Returns a packet-in message with the given transaction ID.
fn packet_in(version: Version, xid: u32, port: u32, buffer_id: BufferId, frame: &[u8]) -> Vec<u8> {
    let fields = PacketInFields {
        buffer_id,
        total_len: u16::try_from(frame.len()).unwrap(),
        in_port: PortNumber(port),
        reason: 0,
        table_id: 0,
        cookie: 0,
    };
    let mut out = Vec::new();
    fields.emit(version, Xid(xid), frame, &mut out).unwrap();
    assert!(PacketIn::new_checked(&out).is_ok());
    out
}

/// The content of a packet-out, independently of the OpenFlow version.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    xid: u32,
    buffer_id: BufferId,
    in_port: PortNumber,
    outputs: Vec<PortNumber>,
    payload: Vec<u8>,
}

impl Answer {
    fn read(frame: &[u8]) -> Self {
        let view = PacketOut::new_checked(frame).unwrap();
        Self {
            xid: view.xid().0,
            buffer_id: view.buffer_id(),
            in_port: view.in_port(),
            outputs: view.outputs().collect(),
            payload: view.payload().to_vec(),
        }
    }
}

/// The content of a flow-mod that installs a rule, independently of the OpenFlow version.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Installed {
    in_port: u32,
    source: MacAddress,
    destination: MacAddress,
    output: u32,
    idle_timeout: u16,
    buffer_id: BufferId,
}

impl Installed {
    fn read(frame: &[u8]) -> Self {
        if frame[0] == Version::V1_0.wire() {
            let (_, v1_0::Message::FlowMod(rule)) = v1_0::Message::decode(frame).unwrap() else {
                panic!("not a flow-mod: {frame:x?}");
            };
            let [v1_0::Action::Output { port, .. }] = rule.actions[..] else {
                panic!("{:?}", rule.actions);
            };
            assert_eq!(rule.command, v1_0::FlowModCommand::ADD);
            assert_eq!(rule.match_fields.dl_type(), None);
            return Self {
                in_port: rule.match_fields.in_port().unwrap().0.into(),
                source: rule.match_fields.dl_src().unwrap(),
                destination: rule.match_fields.dl_dst().unwrap(),
                output: port.0.into(),
                idle_timeout: rule.idle_timeout,
                buffer_id: rule.buffer_id,
            };
        }
        let (_, v1_3::Message::FlowMod(rule)) = v1_3::Message::decode(frame).unwrap() else {
            panic!("not a flow-mod: {frame:x?}");
        };
        let [v1_3::Instruction::ApplyActions(actions)] = &rule.instructions[..] else {
            panic!("{:?}", rule.instructions);
        };
        let [v1_3::Action::Output { port, .. }] = actions[..] else { panic!("{actions:?}") };
        assert_eq!(rule.command, v1_3::FlowModCommand::ADD);
        assert_eq!(rule.match_fields.fields.len(), 3);
        let exact = |address: Option<v1_3::Masked<MacAddress>>| {
            let address = address.unwrap();
            assert_eq!(address.mask, None);
            address.value
        };
        Self {
            in_port: rule.match_fields.in_port().unwrap().0,
            source: exact(rule.match_fields.eth_src()),
            destination: exact(rule.match_fields.eth_dst()),
            output: port.0,
            idle_timeout: rule.idle_timeout,
            buffer_id: rule.buffer_id,
        }
    }
}

/// The switch's side of an OpenFlow session, without a connection.
struct SimulatedSwitch {
    handshake: Handshake,
    framer: Framer,
}

impl SimulatedSwitch {
    fn new(versions: &[Version], datapath_id: u64, out: &mut Vec<u8>) -> Self {
        let identity = SwitchIdentity::new(DatapathId(datapath_id));
        let mut handshake = Handshake::switch(versions, identity);
        handshake.start(out);
        Self { handshake, framer: Framer::new() }
    }

    /// Returns the messages in `bytes` that do not belong to the handshake. Answers to those that
    /// do are appended to `out`.
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for frame in self.framer.frames(bytes) {
            let frame = frame.unwrap();
            if self.handshake.receive(frame, out).unwrap() == ::openflow::handshake::Event::Message
            {
                messages.push(frame.to_vec());
            }
        }
        messages
    }
}

fn types(messages: &[Vec<u8>]) -> Vec<MessageType> {
    messages.iter().map(|message| MessageType(message[1])).collect()
}

/// Returns the message type of a barrier request in an OpenFlow version.
fn barrier(version: Version) -> MessageType {
    MessageType(if version == Version::V1_0 { 18 } else { 20 })
}

const TIMEOUT: Duration = Duration::from_secs(20);
