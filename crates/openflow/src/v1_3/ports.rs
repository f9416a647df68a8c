//! Ports: their numbers, descriptions and counters, and the messages about them (specification
//! 1.3.5, sections 7.2.1, 7.3.4.3, 7.3.5.6, 7.3.5.7 and 7.4.3).

use crate::{FixedText, MacAddress, PortNumber};

bit_set! {
    /// The configuration of a port, `ofp_port_config`.
    pub PortConfig: u32 {
        /// The port is administratively down.
        PORT_DOWN = 1 << 0,
        /// The port drops all packets that it receives.
        NO_RECV = 1 << 2,
        /// The port drops all packets that are forwarded to it.
        NO_FWD = 1 << 5,
        /// Packets received on the port cause no packet-ins.
        NO_PACKET_IN = 1 << 6,
    }
}

bit_set! {
    /// The state of a port, `ofp_port_state`.
    pub PortState: u32 {
        /// There is no link.
        LINK_DOWN = 1 << 0,
        /// A protocol outside OpenFlow blocks the port.
        BLOCKED = 1 << 1,
        /// The port is live in the sense of fast-failover groups.
        LIVE = 1 << 2,
    }
}

bit_set! {
    /// The rates and media of a port, `ofp_port_features`.
    pub PortFeatures: u32 {
        /// The rate 10 Mb/s in half duplex.
        RATE_10MB_HD = 1 << 0,
        /// The rate 10 Mb/s in full duplex.
        RATE_10MB_FD = 1 << 1,
        /// The rate 100 Mb/s in half duplex.
        RATE_100MB_HD = 1 << 2,
        /// The rate 100 Mb/s in full duplex.
        RATE_100MB_FD = 1 << 3,
        /// The rate 1 Gb/s in half duplex.
        RATE_1GB_HD = 1 << 4,
        /// The rate 1 Gb/s in full duplex.
        RATE_1GB_FD = 1 << 5,
        /// The rate 10 Gb/s in full duplex.
        RATE_10GB_FD = 1 << 6,
        /// The rate 40 Gb/s in full duplex.
        RATE_40GB_FD = 1 << 7,
        /// The rate 100 Gb/s in full duplex.
        RATE_100GB_FD = 1 << 8,
        /// The rate 1 Tb/s in full duplex.
        RATE_1TB_FD = 1 << 9,
        /// A rate that is not in this list.
        RATE_OTHER = 1 << 10,
        /// A copper medium.
        COPPER = 1 << 11,
        /// A fibre medium.
        FIBER = 1 << 12,
        /// Auto-negotiation of rate and duplex mode.
        AUTONEG = 1 << 13,
        /// Pause frames of Ethernet flow control.
        PAUSE = 1 << 14,
        /// Asymmetric pause frames: flow control in one direction.
        PAUSE_ASYM = 1 << 15,
    }
}

structure! {
    /// A port's description, `ofp_port`, 64 bytes.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct Port = "ofp_port" {
        /// The number by which flow entries refer to the port.
        pub port_no: PortNumber; pad 4,
        /// The port's Ethernet address.
        pub hw_addr: MacAddress; pad 2,
        /// The port's name, of at most 15 bytes.
        pub name: FixedText<16>,
        /// The configuration of the port.
        pub config: PortConfig,
        /// The state of the port.
        pub state: PortState,
        /// The features that are in use on the port.
        pub curr: PortFeatures,
        /// The features that the port advertises.
        pub advertised: PortFeatures,
        /// The features that the port supports.
        pub supported: PortFeatures,
        /// The features that the other end of the link advertises.
        pub peer: PortFeatures,
        /// The current bit rate in kb/s.
        pub curr_speed: u32,
        /// The highest bit rate in kb/s.
        pub max_speed: u32,
    }
}

impl Port {
    /// Creates a live port of 10 Gb/s over copper, like the ports of a virtual switch. The name is
    /// truncated to 15 bytes.
    pub fn new(port_no: PortNumber, hw_addr: MacAddress, name: &str) -> Self {
        let features = PortFeatures::RATE_10GB_FD | PortFeatures::COPPER;
        Self {
            port_no,
            hw_addr,
            name: FixedText::truncated(name),
            config: PortConfig::NONE,
            state: PortState::LIVE,
            curr: features,
            advertised: PortFeatures::NONE,
            supported: features,
            peer: PortFeatures::NONE,
            curr_speed: 10_000_000,
            max_speed: 10_000_000,
        }
    }
}

open_enum! {
    /// The kind of change of a port, `ofp_port_reason`.
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
    /// A notification that a port changed, `ofp_port_status`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct PortStatus = "ofp_port_status" {
        /// The kind of change that the port underwent.
        pub reason: PortReason; pad 7,
        /// The port as it is now.
        pub desc: Port,
    }
}

structure! {
    /// A message that changes the configuration of a port, `ofp_port_mod`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct PortMod = "ofp_port_mod" {
        /// The port to change.
        pub port_no: PortNumber; pad 4,
        /// The port's Ethernet address. It must be correct, which protects against changing a wrong
        /// port.
        pub hw_addr: MacAddress; pad 2,
        /// The new configuration of the port. Only the bits in `mask` apply.
        pub config: PortConfig,
        /// The bits of `config` to change.
        pub mask: PortConfig,
        /// The features to advertise. If no bit is set, the features are unchanged.
        pub advertise: PortFeatures; pad 4,
    }
}

structure! {
    /// A port's counters, `ofp_port_stats`, 112 bytes. A counter that the switch does not keep is
    /// [`u64::MAX`].
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct PortStats = "ofp_port_stats" {
        /// The port that has the counters.
        pub port_no: PortNumber; pad 4,
        /// The number of packets received.
        pub rx_packets: u64,
        /// The number of packets sent.
        pub tx_packets: u64,
        /// The number of bytes received.
        pub rx_bytes: u64,
        /// The number of bytes sent.
        pub tx_bytes: u64,
        /// The number of packets dropped on receipt.
        pub rx_dropped: u64,
        /// The number of packets dropped on sending.
        pub tx_dropped: u64,
        /// The number of receive errors of all kinds.
        pub rx_errors: u64,
        /// The number of transmit errors of all kinds.
        pub tx_errors: u64,
        /// The number of frame alignment errors.
        pub rx_frame_err: u64,
        /// The number of packets lost because the receiver had no room.
        pub rx_over_err: u64,
        /// The number of checksum errors.
        pub rx_crc_err: u64,
        /// The number of collisions.
        pub collisions: u64,
        /// The whole seconds for which the port has been alive.
        pub duration_sec: u32,
        /// The nanoseconds beyond `duration_sec` for which the port has been alive.
        pub duration_nsec: u32,
    }
}

impl PortStats {
    /// Returns the counters of a port without traffic.
    pub const fn zero(port_no: PortNumber) -> Self {
        Self {
            port_no,
            rx_packets: 0,
            tx_packets: 0,
            rx_bytes: 0,
            tx_bytes: 0,
            rx_dropped: 0,
            tx_dropped: 0,
            rx_errors: 0,
            tx_errors: 0,
            rx_frame_err: 0,
            rx_over_err: 0,
            rx_crc_err: 0,
            collisions: 0,
            duration_sec: 0,
            duration_nsec: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Reader;
    use crate::structure::Wire;

    #[test]
    fn structures_have_the_sizes_of_the_specification() {
        let port = Port::new(PortNumber(1), MacAddress([2, 0, 0, 0, 0, 1]), "s1-eth1");
        let mut out = Vec::new();
        port.encode(&mut out).unwrap();
        assert_eq!(out.len(), 64);
        assert_eq!(&out[16..24], b"s1-eth1\0");
        assert_eq!(Port::decode(&mut Reader::new(&out)), Ok(port));

        let mut out = Vec::new();
        let mut stats = PortStats::zero(PortNumber(1));
        stats.duration_sec = 1;
        stats.duration_nsec = 4_000_000_000;
        stats.encode(&mut out).unwrap();
        assert_eq!(out.len(), 112);
        assert_eq!(PortStats::decode(&mut Reader::new(&out)), Ok(stats));
    }
}
