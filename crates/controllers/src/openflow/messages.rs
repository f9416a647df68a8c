//! Builds the messages that controllers send to switches, in OpenFlow 1.0 or 1.3.

use ::openflow::v1_0::PortNo;
use ::openflow::wire::{PacketIn, PacketOutFields};
use ::openflow::{BufferId, EncodeError, PortNumber, Version, Xid, v1_0, v1_3};

use crate::application::{Flow, Port, Rule};

/// The priority of the rules that forward packets to a port.
const FORWARD: u16 = 10;
/// The priority of the rules that send packets to the controller, which is higher than that of
/// rules that forward packets.
const ALWAYS_TO_CONTROLLER: u16 = 40_000;
/// The EtherType of ARP.
const ARP: u16 = 0x0806;

/// Appends a flow-mod that deletes all flow entries of the switch, so that it starts in a known
/// state.
pub(super) fn forget_all(version: Version, xid: Xid, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match version {
        Version::V1_0 => {
            let command = v1_0::FlowModCommand::DELETE;
            let delete = v1_0::FlowMod { command, ..v1_0::FlowMod::default() };
            v1_0::Message::FlowMod(delete).encode(xid, out)
        }
        Version::V1_3 => {
            let delete = v1_3::FlowMod::delete(v1_3::Match::any());
            v1_3::Message::FlowMod(delete).encode(xid, out)
        }
    }
}

/// Appends a barrier request, which makes the switch process the previous messages before any later
/// one.
pub(super) fn barrier(version: Version, xid: Xid, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match version {
        Version::V1_0 => v1_0::Message::BarrierRequest.encode(xid, out),
        Version::V1_3 => v1_3::Message::BarrierRequest.encode(xid, out),
    }
}

/// Appends a flow-mod with a table-miss rule, which sends packets that match no other rule to the
/// controller. Without this rule, switches of OpenFlow 1.3 drop these packets (OpenFlow 1.3.5,
/// 5.4). Nothing is appended in OpenFlow 1.0, where switches send them to the controller anyway.
pub(super) fn table_miss(
    version: Version,
    xid: Xid,
    max_len: u16,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match version {
        Version::V1_0 => Ok(()),
        Version::V1_3 => {
            let miss = v1_3::FlowMod {
                priority: 0,
                ..v1_3::FlowMod::add(v1_3::Match::any(), to_controller(max_len))
            };
            v1_3::Message::FlowMod(miss).encode(xid, out)
        }
    }
}

/// Appends a flow-mod with a rule that sends ARP packets to the controller, even if they match
/// another rule.
pub(super) fn arp_to_controller(
    version: Version,
    xid: Xid,
    max_len: u16,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match version {
        Version::V1_0 => {
            let entry = v1_0::FlowMod {
                match_fields: v1_0::Match::any().with_dl_type(ARP),
                priority: ALWAYS_TO_CONTROLLER,
                actions: vec![v1_0::Action::Output { port: PortNo::CONTROLLER, max_len }],
                ..v1_0::FlowMod::default()
            };
            v1_0::Message::FlowMod(entry).encode(xid, out)
        }
        Version::V1_3 => {
            let arp = v1_3::Match::any().with_eth_type(ARP);
            let entry = v1_3::FlowMod {
                priority: ALWAYS_TO_CONTROLLER,
                ..v1_3::FlowMod::add(arp, to_controller(max_len))
            };
            v1_3::Message::FlowMod(entry).encode(xid, out)
        }
    }
}

/// Appends a flow-mod that installs a rule. The flow-mod does not refer to the packet that the
/// switch has buffered, because the packet-out that follows releases it.
pub(super) fn install(
    version: Version,
    xid: Xid,
    rule: &Rule,
    idle_timeout: u16,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let flow = &rule.flow;
    match version {
        Version::V1_0 => {
            let entry = v1_0::FlowMod {
                match_fields: match_v1_0(flow)?,
                idle_timeout,
                priority: FORWARD,
                actions: vec![v1_0::Action::output(port_v1_0(rule.output)?)],
                ..v1_0::FlowMod::default()
            };
            v1_0::Message::FlowMod(entry).encode(xid, out)
        }
        Version::V1_3 => {
            let forward = v1_3::Instruction::ApplyActions(vec![v1_3::Action::output(PortNumber(
                rule.output.0,
            ))]);
            let entry = v1_3::FlowMod {
                idle_timeout,
                priority: FORWARD,
                ..v1_3::FlowMod::add(match_v1_3(flow), vec![forward])
            };
            v1_3::Message::FlowMod(entry).encode(xid, out)
        }
    }
}

/// Appends a flow-mod that removes the rule that matches a flow.
pub(super) fn remove(
    version: Version,
    xid: Xid,
    flow: &Flow,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match version {
        Version::V1_0 => {
            let entry = v1_0::FlowMod {
                match_fields: match_v1_0(flow)?,
                command: v1_0::FlowModCommand::DELETE_STRICT,
                priority: FORWARD,
                ..v1_0::FlowMod::default()
            };
            v1_0::Message::FlowMod(entry).encode(xid, out)
        }
        Version::V1_3 => {
            let entry = v1_3::FlowMod {
                command: v1_3::FlowModCommand::DELETE_STRICT,
                priority: FORWARD,
                ..v1_3::FlowMod::delete(match_v1_3(flow))
            };
            v1_3::Message::FlowMod(entry).encode(xid, out)
        }
    }
}

fn match_v1_0(flow: &Flow) -> Result<v1_0::Match, EncodeError> {
    Ok(v1_0::Match::any()
        .with_in_port(port_v1_0(flow.ingress)?)
        .with_dl_src(flow.source)
        .with_dl_dst(flow.destination))
}

fn match_v1_3(flow: &Flow) -> v1_3::Match {
    v1_3::Match::any()
        .with_in_port(PortNumber(flow.ingress.0))
        .with_eth_dst(flow.destination)
        .with_eth_src(flow.source)
}

/// Appends a packet-out that sends a packet out of `outputs`. `ingress` is the port by which the
/// packet entered the switch, or `None` if it entered by no port.
pub(super) fn send(
    version: Version,
    xid: Xid,
    ingress: Option<Port>,
    outputs: &[Port],
    frame: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let outputs: Vec<PortNumber> = outputs.iter().map(|port| PortNumber(port.0)).collect();
    let in_port = match (ingress, version) {
        (Some(port), _) => PortNumber(port.0),
        // OpenFlow 1.0 uses OFPP_NONE as the ingress port of such packets, and 1.3 uses
        // OFPP_CONTROLLER (1.3.5, 7.3.7).
        (None, Version::V1_0) => PortNumber::ANY,
        (None, Version::V1_3) => PortNumber::CONTROLLER,
    };
    let fields = PacketOutFields { buffer_id: BufferId::NO_BUFFER, in_port, outputs: &outputs };
    fields.emit(version, xid, frame, out)
}

/// Appends a request for a role of this controller at the switch (OpenFlow 1.3.5, 6.3.6). OpenFlow
/// 1.0 has no roles, so nothing is appended.
pub(super) fn role(
    version: Version,
    xid: Xid,
    role: v1_3::ControllerRole,
    generation_id: u64,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match version {
        Version::V1_0 => Ok(()),
        Version::V1_3 => {
            let request = v1_3::RoleMessage { role, generation_id };
            v1_3::Message::RoleRequest(request).encode(xid, out)
        }
    }
}

/// Appends a request for a list of the switch's ports. Nothing is appended in OpenFlow 1.0, where
/// the switch has already reported its ports in the handshake.
pub(super) fn ports(version: Version, xid: Xid, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match version {
        Version::V1_0 => Ok(()),
        Version::V1_3 => {
            let request = v1_3::MultipartRequest::from(v1_3::MultipartRequestBody::PortDesc);
            v1_3::Message::MultipartRequest(request).encode(xid, out)
        }
    }
}

/// Appends a packet-out in answer to a packet-in. It makes the switch send the packet that it
/// buffered, or the packet in the packet-in message if it buffered none. If `outputs` is empty, the
/// switch drops the packet and frees its buffer.
pub(super) fn answer(
    packet_in: &PacketIn<&[u8]>,
    outputs: &[PortNumber],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let buffer_id = packet_in.buffer_id();
    let payload = if buffer_id.is_buffered() { &[] } else { packet_in.payload() };
    let in_port = match (packet_in.version(), packet_in.in_port()) {
        // A 1.3 packet-in may lack its ingress port, but a packet-out must have one (1.3.5, 7.3.7).
        (Version::V1_3, PortNumber::ANY) => PortNumber::CONTROLLER,
        (_, port) => port,
    };
    let fields = PacketOutFields { buffer_id, in_port, outputs };
    fields.emit(packet_in.version(), packet_in.xid(), payload, out)
}

fn to_controller(max_len: u16) -> Vec<v1_3::Instruction> {
    let output = v1_3::Action::to_controller(v1_3::MaxLen(max_len));
    vec![v1_3::Instruction::ApplyActions(vec![output])]
}

fn port_v1_0(port: Port) -> Result<PortNo, EncodeError> {
    PortNo::try_from(PortNumber(port.0)).map_err(|_| EncodeError::Value {
        field: "ofp_match.in_port",
        value: port.0.into(),
        expected: "ports up to 65279 and reserved ones",
    })
}
