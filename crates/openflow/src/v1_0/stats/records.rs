//! The records that statistics consist of: OpenFlow 1.0.0, 5.3.5.

use super::super::{Action, Match, PortNo, Wildcards};
use crate::FixedText;

structure! {
    /// The description of the switch (`ofp_desc_stats`), 1056 bytes.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct DescStats = "ofp_desc_stats" {
        /// The manufacturer of the switch.
        pub mfr_desc: FixedText<256>,
        /// The description of the switch's hardware.
        pub hw_desc: FixedText<256>,
        /// The description of the switch's software.
        pub sw_desc: FixedText<256>,
        /// The serial number of the switch.
        pub serial_num: FixedText<32>,
        /// A human-readable description of the datapath.
        pub dp_desc: FixedText<256>,
    }
}

structure! {
    /// A selection of flow entries (`ofp_flow_stats_request`, `ofp_aggregate_stats_request`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FlowStatsRequest = "ofp_flow_stats_request" {
        /// The match that must cover the selected entries.
        pub match_fields: Match,
        /// The table whose entries are selected, [`FlowStatsRequest::ALL_TABLES`] for all tables,
        /// or 0xfe for the emergency table.
        pub table_id: u8; pad 1,
        /// The port to which selected entries must output, or [`PortNo::NONE`] for all entries.
        pub out_port: PortNo,
    }
}

impl Default for FlowStatsRequest {
    /// Returns a request for every flow entry.
    fn default() -> Self {
        Self { match_fields: Match::any(), table_id: Self::ALL_TABLES, out_port: PortNo::NONE }
    }
}

impl FlowStatsRequest {
    /// The table id that represents all tables.
    pub const ALL_TABLES: u8 = 0xff;
}

structure! {
    /// A flow entry and its counters (`ofp_flow_stats`): 88 bytes, followed by the actions.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FlowStats = "ofp_flow_stats" {
        counts length >= 88;
        /// The table that holds the entry.
        pub table_id: u8; pad 1,
        /// The packets to which the entry applies.
        pub match_fields: Match,
        /// The whole seconds for which the entry has existed.
        pub duration_sec: u32,
        /// The nanoseconds beyond `duration_sec` for which the entry has existed.
        pub duration_nsec: u32,
        /// The entry's priority.
        pub priority: u16,
        /// The time in seconds without a packet after which the entry is removed, or 0 for never.
        pub idle_timeout: u16,
        /// The time in seconds after which the entry is removed, or 0 for never.
        pub hard_timeout: u16; pad 6,
        /// The controller's cookie for the entry.
        pub cookie: u64,
        /// The number of packets that the entry matched.
        pub packet_count: u64,
        /// The number of bytes in the packets that the entry matched.
        pub byte_count: u64,
        /// The actions on the packets that the entry matches.
        pub actions: Vec<Action>,
    }
}

impl FlowStats {
    const FIXED: usize = 88;

    pub(super) fn encoded_length(&self) -> usize {
        Self::FIXED + self.actions.iter().map(Action::encoded_length).sum::<usize>()
    }
}

structure! {
    /// The sums of the counters of a set of flow entries (`ofp_aggregate_stats_reply`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AggregateStats = "ofp_aggregate_stats_reply" {
        /// The number of packets that the entries matched.
        pub packet_count: u64,
        /// The number of bytes in the packets that the entries matched.
        pub byte_count: u64,
        /// The number of flow entries in the set.
        pub flow_count: u32; pad 4,
    }
}

structure! {
    /// A table and its counters (`ofp_table_stats`), 64 bytes.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct TableStats = "ofp_table_stats" {
        /// The table's number.
        pub table_id: u8; pad 3,
        /// The table's name.
        pub name: FixedText<32>,
        /// The fields that the table can wildcard.
        pub wildcards: Wildcards,
        /// The number of entries that the table can hold.
        pub max_entries: u32,
        /// The number of entries that the table holds.
        pub active_count: u32,
        /// The number of packets that were looked up in the table.
        pub lookup_count: u64,
        /// The number of packets that an entry of the table matched.
        pub matched_count: u64,
    }
}

impl TableStats {
    pub(super) const LENGTH: usize = 64;
}

/// The value of a counter that the switch does not keep, in which all bits are set.
pub const UNSUPPORTED_COUNTER: u64 = u64::MAX;

structure! {
    /// A port and its counters (`ofp_port_stats`), 104 bytes. A counter that the switch does not
    /// keep is [`UNSUPPORTED_COUNTER`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PortStats = "ofp_port_stats" {
        /// The port that has the counters.
        pub port_no: PortNo; pad 6,
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
        /// The number of packets dropped instead of sent.
        pub tx_dropped: u64,
        /// The number of receive errors, including frame, overrun and CRC errors.
        pub rx_errors: u64,
        /// The number of transmit errors.
        pub tx_errors: u64,
        /// The number of frame alignment errors.
        pub rx_frame_err: u64,
        /// The number of packets lost because the receiver had no room.
        pub rx_over_err: u64,
        /// The number of CRC errors.
        pub rx_crc_err: u64,
        /// The number of collisions.
        pub collisions: u64,
    }
}

impl PortStats {
    pub(super) const LENGTH: usize = 104;
}

structure! {
    /// A selection of queues (`ofp_queue_stats_request`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct QueueStatsRequest = "ofp_queue_stats_request" {
        /// The port whose queues are selected, or [`PortNo::ALL`] for all ports.
        pub port_no: PortNo; pad 2,
        /// The id of the selected queue, or [`QueueStatsRequest::ALL_QUEUES`] for all queues.
        pub queue_id: u32,
    }
}

impl QueueStatsRequest {
    /// The queue id that represents all queues (`OFPQ_ALL`).
    pub const ALL_QUEUES: u32 = 0xffff_ffff;
}

structure! {
    /// A queue and its counters (`ofp_queue_stats`), 32 bytes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct QueueStats = "ofp_queue_stats" {
        /// The queue's port.
        pub port_no: PortNo; pad 2,
        /// The queue's id.
        pub queue_id: u32,
        /// The number of bytes sent.
        pub tx_bytes: u64,
        /// The number of packets sent.
        pub tx_packets: u64,
        /// The number of packets dropped because the queue was full.
        pub tx_errors: u64,
    }
}

impl QueueStats {
    pub(super) const LENGTH: usize = 32;
}
