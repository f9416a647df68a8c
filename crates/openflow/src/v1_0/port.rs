//! Ports: OpenFlow 1.0.0, 5.2.1 (structures), 5.3.1 (features), 5.4.3 (status), 5.3.3 (mod).

use std::fmt;

use crate::{FixedText, MacAddress, PortNumber};

/// A port number (`ofp_port`). Physical ports have numbers below `0xff00`, and higher numbers are
/// reserved.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNo(pub u16);

fields! { PortNo }

impl PortNo {
    /// The exclusive upper limit of the numbers of physical ports (`OFPP_MAX`).
    pub const MAX: Self = Self(0xff00);
    /// The ingress port of the packet.
    pub const IN_PORT: Self = Self(0xfff8);
    /// The flow table, which packet-out messages can use as a port.
    pub const TABLE: Self = Self(0xfff9);
    /// The forwarding by the switch as if it had no OpenFlow.
    pub const NORMAL: Self = Self(0xfffa);
    /// Every port except the ingress port and those that the spanning tree disables.
    pub const FLOOD: Self = Self(0xfffb);
    /// Every port except the ingress port.
    pub const ALL: Self = Self(0xfffc);
    /// The controller, which receives a packet-in.
    pub const CONTROLLER: Self = Self(0xfffd);
    /// The switch's own network stack.
    pub const LOCAL: Self = Self(0xfffe);
    /// No port.
    pub const NONE: Self = Self(0xffff);
}

impl From<PortNo> for PortNumber {
    fn from(port: PortNo) -> Self {
        Self::from_v1_0(port.0)
    }
}

/// The error for a port whose number cannot be expressed in OpenFlow 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("OpenFlow 1.0 has no number for port {0}: it numbers ports up to 65279")]
pub struct PortTooLarge(pub PortNumber);

impl TryFrom<PortNumber> for PortNo {
    type Error = PortTooLarge;

    fn try_from(port: PortNumber) -> Result<Self, PortTooLarge> {
        port.to_v1_0().map(Self).ok_or(PortTooLarge(port))
    }
}

impl fmt::Display for PortNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE { f.write_str("NONE") } else { PortNumber::from(*self).fmt(f) }
    }
}

impl fmt::Debug for PortNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PortNo({self})")
    }
}

bit_set! {
    /// The configuration of a port (`ofp_port_config`), which the controller can change.
    pub PortConfig: u32 {
        /// The port is administratively down.
        PORT_DOWN = 1 << 0,
        /// The port takes no part in the spanning tree protocol.
        NO_STP = 1 << 1,
        /// The port drops received packets, except spanning tree packets.
        NO_RECV = 1 << 2,
        /// The port drops received spanning tree packets.
        NO_RECV_STP = 1 << 3,
        /// Flooded packets are not sent to the port.
        NO_FLOOD = 1 << 4,
        /// The port drops packets that are sent to it.
        NO_FWD = 1 << 5,
        /// Packets received on the port cause no packet-ins.
        NO_PACKET_IN = 1 << 6,
    }
}

bit_set! {
    /// The state of a port (`ofp_port_state`). Bits 8 and 9 together are the state of the spanning
    /// tree.
    pub PortState: u32 {
        /// The port has no link.
        LINK_DOWN = 1 << 0,
    }
}

bit_set! {
    /// Rates and media of a port (`ofp_port_features`).
    pub PortFeatures: u32 {
        /// The rate 10 Mbit/s in half duplex.
        MB10_HALF = 1 << 0,
        /// The rate 10 Mbit/s in full duplex.
        MB10_FULL = 1 << 1,
        /// The rate 100 Mbit/s in half duplex.
        MB100_HALF = 1 << 2,
        /// The rate 100 Mbit/s in full duplex.
        MB100_FULL = 1 << 3,
        /// The rate 1 Gbit/s in half duplex.
        GB1_HALF = 1 << 4,
        /// The rate 1 Gbit/s in full duplex.
        GB1_FULL = 1 << 5,
        /// The rate 10 Gbit/s in full duplex.
        GB10_FULL = 1 << 6,
        /// A copper medium.
        COPPER = 1 << 7,
        /// A fibre medium.
        FIBER = 1 << 8,
        /// Auto-negotiation of rate and duplex mode.
        AUTONEG = 1 << 9,
        /// Pause frames of Ethernet flow control.
        PAUSE = 1 << 10,
        /// Asymmetric pause frames: flow control in one direction.
        PAUSE_ASYM = 1 << 11,
    }
}

structure! {
    /// A port of the switch (`ofp_phy_port`), 48 bytes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PhyPort = "ofp_phy_port" {
        /// The port's number.
        pub port_no: PortNo,
        /// The port's Ethernet address.
        pub hw_addr: MacAddress,
        /// The port's name.
        pub name: FixedText<16>,
        /// The configuration, which the controller can change.
        pub config: PortConfig,
        /// The state that the switch reports.
        pub state: PortState,
        /// The features that are in use on the port.
        pub curr: PortFeatures,
        /// The features that the port advertises.
        pub advertised: PortFeatures,
        /// The features that the port supports.
        pub supported: PortFeatures,
        /// The features that the other end of the link advertises.
        pub peer: PortFeatures,
    }
}

open_enum! {
    /// The kind of change of a port (`ofp_port_reason`).
    pub PortReason: u8 {
        /// The port was added.
        ADD = 0,
        /// The port was removed.
        DELETE = 1,
        /// The description of the port changed.
        MODIFY = 2,
    }
}

structure! {
    /// A notification that a port was added, changed or removed (`ofp_port_status`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PortStatus = "ofp_port_status" {
        /// The kind of change that the port underwent.
        pub reason: PortReason; pad 7,
        /// The port as it is now.
        pub desc: PhyPort,
    }
}

structure! {
    /// A message that changes a port (`ofp_port_mod`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PortMod = "ofp_port_mod" {
        /// The port to change.
        pub port_no: PortNo,
        /// The port's Ethernet address. It must be correct, which protects against changing a wrong
        /// port.
        pub hw_addr: MacAddress,
        /// The new configuration of the port. Only the bits in `mask` apply.
        pub config: PortConfig,
        /// The bits of `config` to change.
        pub mask: PortConfig,
        /// The features to advertise. If no bit is set, the features are unchanged.
        pub advertise: PortFeatures; pad 4,
    }
}
