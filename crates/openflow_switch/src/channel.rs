//! The connections of one switch to several controllers, and access to the packets that the switch
//! sends out of its ports.
//!
//! All controllers share the tables, which belong to the switch. Handshake, liveness, role and the
//! selection of asynchronous messages belong to a connection (OpenFlow 1.3.5, 6.3.4 to 6.3.6). The
//! switch itself contains the state of one connection, that of the current controller. A
//! [`Channel`] contains the state of another connection, and [`OpenFlowSwitch::swap`] exchanges the
//! two.

use std::collections::BTreeSet;
use std::mem;

use openflow::handshake::{Handshake, Keepalive};
use openflow::v1_0::{PortReason as Reason10, PortStatus as PortStatus10};
use openflow::v1_3::{ControllerRole, PacketInReason, PortReason, PortStatus};
use openflow::{PortNumber, Version, Xid};

use super::passage::Passage;
use super::{OpenFlowSwitch, SwitchOptions, Tables, handshake, sent, v1_0, v1_3};

/// The state of a switch's connection to one of its controllers. While that controller is the
/// current one, the switch holds this state instead.
#[derive(Debug)]
pub struct Channel {
    handshake: Handshake,
    keepalive: Option<Keepalive>,
    session: v1_3::Session,
}

impl Channel {
    /// Creates the channel of a controller that is not connected.
    pub fn new(options: &SwitchOptions) -> Self {
        Self {
            handshake: handshake(options, &BTreeSet::new()),
            keepalive: None,
            session: v1_3::Session::default(),
        }
    }

    /// Turns a master into a slave, because another controller has become the master (OpenFlow
    /// 1.3.5, 6.3.6).
    pub fn demote(&mut self) {
        if self.session.role == ControllerRole::MASTER {
            self.session.role = ControllerRole::SLAVE;
        }
    }
}

/// The role of a controller at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A controller with the same rights as all others of this role. OpenFlow 1.0 has only this
    /// role.
    Equal,
    /// The only controller with this role. It may change the switch, as controllers with the role
    /// equal may.
    Master,
    /// A controller that may only read.
    Slave,
}

/// A packet that the switch sent out of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The port by which the packet was sent, counted from 1.
    pub port: u16,
    /// The packet, from its Ethernet header on.
    pub frame: Vec<u8>,
}

impl OpenFlowSwitch {
    /// Makes another controller the current one: exchanges the state of the current connection for
    /// that in `channel`. From then on, the switch receives messages from that other controller and
    /// sends messages to it.
    pub fn swap(&mut self, channel: &mut Channel) {
        mem::swap(&mut self.handshake, &mut channel.handshake);
        mem::swap(&mut self.keepalive, &mut channel.keepalive);
        if let Tables::V1_3(personality) = &mut self.tables {
            mem::swap(&mut personality.session, &mut channel.session);
        }
    }

    /// Returns the role of the current controller.
    pub fn role(&self) -> Role {
        match &self.tables {
            Tables::V1_0(_) => Role::Equal,
            Tables::V1_3(personality) => match personality.session.role {
                ControllerRole::MASTER => Role::Master,
                ControllerRole::SLAVE => Role::Slave,
                _ => Role::Equal,
            },
        }
    }

    /// Returns whether the current controller receives packet-ins for packets that match no entry.
    pub fn sends_packet_ins(&self) -> bool {
        match &self.tables {
            Tables::V1_0(_) => true,
            Tables::V1_3(personality) => {
                let session = &personality.session;
                session.asynchronous.sends_packet_in(session.role, PacketInReason(0))
            }
        }
    }

    /// Makes the switch store the packets that it sends out of ports from now on.
    /// [`OpenFlowSwitch::take_left`] returns them.
    pub fn hand_out(&mut self) {
        self.passage.keeps = true;
    }

    /// Returns the packets that the switch has sent out of ports since the last call.
    pub fn take_left(&mut self) -> Vec<Left> {
        mem::take(&mut self.left)
    }

    /// Sets whether the link at a port is up.
    pub fn set_link(&mut self, port: u16, is_up: bool) {
        let down = match &mut self.tables {
            Tables::V1_0(personality) => &mut personality.down,
            Tables::V1_3(personality) => &mut personality.down,
        };
        if is_up {
            down.remove(&port);
        } else {
            down.insert(port);
        }
    }

    /// Appends a port-status message to the current controller, which reports the state of the link
    /// at a port. Returns false, and appends nothing, if the controller has deselected such
    /// messages.
    pub fn port_status(&self, port: u16, out: &mut Vec<u8>) -> bool {
        match &self.tables {
            Tables::V1_0(personality) => {
                let desc = v1_0::phy_port(&self.options, port, &personality.down);
                let status = PortStatus10 { reason: Reason10::MODIFY, desc };
                sent(openflow::v1_0::Message::PortStatus(status).encode(Xid(0), out));
                true
            }
            Tables::V1_3(personality) => {
                let session = &personality.session;
                let reason = PortReason::MODIFY;
                if !session.asynchronous.sends_port_status(session.role, reason) {
                    return false;
                }
                let desc = personality.describe_port(&self.options, PortNumber(port.into()));
                let status = PortStatus { reason, desc };
                sent(openflow::v1_3::Message::PortStatus(status).encode(Xid(0), out));
                true
            }
        }
    }

    /// Returns the number of entries in all tables.
    pub fn entries(&self) -> usize {
        match &self.tables {
            Tables::V1_0(personality) => personality.entries(),
            Tables::V1_3(personality) => personality.entries(),
        }
    }

    /// Returns the OpenFlow version that the switch speaks.
    pub fn version(&self) -> Version {
        self.options.version
    }

    pub(super) fn down(&self) -> &BTreeSet<u16> {
        match &self.tables {
            Tables::V1_0(personality) => &personality.down,
            Tables::V1_3(personality) => &personality.down,
        }
    }

    /// Moves the packets that `passage` sent out of ports to the list that
    /// `OpenFlowSwitch::take_left` returns. Packets to ports whose links are down are dropped.
    pub(super) fn hand_over(&mut self, in_port: u32, passage: &mut Passage) {
        if passage.left.is_empty() {
            return;
        }
        let down = self.down().clone();
        for (port, frame) in passage.left.drain(..) {
            let ports = match port {
                PortNumber::FLOOD | PortNumber::ALL | PortNumber::NORMAL => 1..=self.options.ports,
                PortNumber::IN_PORT => match u16::try_from(in_port) {
                    Ok(port) => port..=port,
                    Err(_) => continue,
                },
                // A packet leaves by its ingress port only through the reserved port IN_PORT
                // (OpenFlow 1.3.5, 5.12).
                PortNumber(port) if port == in_port => continue,
                PortNumber(port) => match u16::try_from(port) {
                    Ok(port) if (1..=self.options.ports).contains(&port) => port..=port,
                    _ => continue,
                },
            };
            let floods = port != PortNumber::IN_PORT;
            for port in ports {
                let is_back = floods && u32::from(port) == in_port;
                if !is_back && !down.contains(&port) {
                    self.left.push(Left { port, frame: frame.clone() });
                }
            }
        }
    }
}
