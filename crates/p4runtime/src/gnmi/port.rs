//! Ports as gNMI presents them.

use queues::{PortConfig, QueueCounts};

/// One port of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The port number in P4Runtime (`ifindex` in gNMI).
    pub number: u32,
    /// The name of the port in gNMI.
    pub name: String,
    /// Whether the port can forward packets: it is enabled and its link is up.
    pub up: bool,
    /// Whether the port is administratively enabled (`config/enabled`, `admin-status`).
    pub enabled: bool,
}

/// The counters of a port since it was opened, as `openconfig-interfaces` defines them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// The number of received bytes.
    pub in_octets: u64,
    /// The number of received packets.
    pub in_pkts: u64,
    /// The number of received packets that were dropped because a queue was full.
    pub in_discards: u64,
    /// The number of transmitted bytes.
    pub out_octets: u64,
    /// The number of transmitted packets.
    pub out_pkts: u64,
    /// Packets to transmit that were dropped because a queue was full or the port was down.
    pub out_discards: u64,
    /// Packets to transmit that the port does not accept.
    pub out_errors: u64,
}

/// A port, its counters and its queues at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) port: Port,
    pub(super) counters: Option<PortCounters>,
    /// The counters of its queues, by number.
    pub(super) queues: Vec<QueueCounts>,
    /// The configuration of its queues, if it has any.
    pub(super) config: Option<PortConfig>,
}
