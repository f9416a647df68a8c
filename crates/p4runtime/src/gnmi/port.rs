//! A port as gNMI sees it.

/// One port of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The number by which P4Runtime knows the port (`ifindex` in gNMI).
    pub number: u32,
    /// The name by which gNMI knows it.
    pub name: String,
    /// Whether packets pass it: it is enabled, and its link is there.
    pub up: bool,
    /// Whether its owner wants packets to pass it (`config/enabled`, `admin-status`).
    pub enabled: bool,
}

/// What passed a port since it was opened, as `openconfig-interfaces` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Bytes that were received.
    pub in_octets: u64,
    /// Packets that were received.
    pub in_pkts: u64,
    /// Packets that came and found no room.
    pub in_discards: u64,
    /// Bytes that were sent.
    pub out_octets: u64,
    /// Packets that were sent.
    pub out_pkts: u64,
    /// Packets that were to be sent and found no room, or a port that was down.
    pub out_discards: u64,
    /// Packets that were to be sent and that the port does not take.
    pub out_errors: u64,
}

/// A port as it is at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) port: Port,
    pub(super) counters: Option<PortCounters>,
}
