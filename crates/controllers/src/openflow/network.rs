//! Converts messages of switches to the events on which path provisioning decides. Also defines the
//! role that a controller requests if switches are connected to several controllers.

use ::openflow::v1_3::{ControllerRole, MultipartReplyBody};
use ::openflow::{PortNumber, Version, v1_0, v1_3};

use crate::application::Port;

/// The part of a controller among several controllers of the same switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// This controller is the only one.
    #[default]
    Alone,
    /// The controller requests the role of the master from the start.
    Active,
    /// The controller is a slave until the active controller is gone.
    Standby,
    /// The controller was a standby and has become the master.
    Successor,
}

impl Part {
    /// Returns the role that the controller requests, and the generation ID of the request. The
    /// generation ID of a successor is higher than that of its predecessor, so that switches accept
    /// the successor as the new master (OpenFlow 1.3.5, 6.3.6).
    pub(super) fn role(self) -> (ControllerRole, u64) {
        match self {
            Self::Alone => (ControllerRole::EQUAL, 0),
            Self::Active => (ControllerRole::MASTER, 1),
            Self::Standby => (ControllerRole::SLAVE, 1),
            Self::Successor => (ControllerRole::MASTER, 2),
        }
    }
}

/// An event at a switch that path provisioning must process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NetworkEvent {
    /// The switch is connected, and these ports are up.
    Up(Vec<Port>),
    /// A port went down or came up.
    PortChanged { port: Port, is_up: bool },
    /// A packet entered the switch.
    PacketIn { port: Port, frame: Vec<u8> },
}

/// Returns the event about ports that a switch's message reports, or `None` if the message is about
/// something else.
pub(super) fn event(version: Version, frame: &[u8]) -> Option<NetworkEvent> {
    match version {
        Version::V1_0 => match v1_0::Message::decode(frame).ok()?.1 {
            v1_0::Message::FeaturesReply(features) => Some(NetworkEvent::Up(
                features.ports.iter().filter(is_up_v1_0).map(port_v1_0).collect(),
            )),
            v1_0::Message::PortStatus(status) => Some(NetworkEvent::PortChanged {
                port: port_v1_0(&status.desc),
                is_up: status.reason != v1_0::PortReason::DELETE && is_up_v1_0(&&status.desc),
            }),
            _ => None,
        },
        Version::V1_3 => match v1_3::Message::decode(frame).ok()?.1 {
            v1_3::Message::MultipartReply(reply) => match reply.body {
                MultipartReplyBody::PortDesc(ports) => Some(NetworkEvent::Up(
                    ports.iter().filter(is_up).map(|port| Port(port.port_no.0)).collect(),
                )),
                _ => None,
            },
            v1_3::Message::PortStatus(status) => Some(NetworkEvent::PortChanged {
                port: Port(status.desc.port_no.0),
                is_up: status.reason != v1_3::PortReason::DELETE && is_up(&&status.desc),
            }),
            _ => None,
        },
    }
}

fn is_up(port: &&v1_3::Port) -> bool {
    let down = v1_3::PortState::LINK_DOWN.0;
    port.state.0 & down == 0 && port.port_no.0 <= PortNumber::MAX.0
}

fn is_up_v1_0(port: &&v1_0::PhyPort) -> bool {
    port.state.0 & v1_0::PortState::LINK_DOWN.0 == 0 && port.port_no.0 <= v1_0::PortNo::MAX.0
}

fn port_v1_0(port: &v1_0::PhyPort) -> Port {
    Port(port.port_no.0.into())
}
