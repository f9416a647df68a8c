//! The records that statistics consist of: OpenFlow 1.0.0, 5.3.5.

use super::super::{Action, Match, PortNo, Wildcards};
use crate::FixedText;

structure! {
    /// Who made the switch (`ofp_desc_stats`), 1056 bytes.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct DescStats = "ofp_desc_stats" {
        /// The manufacturer.
        pub mfr_desc: FixedText<256>,
        /// The hardware.
        pub hw_desc: FixedText<256>,
        /// The software.
        pub sw_desc: FixedText<256>,
        /// The serial number.
        pub serial_num: FixedText<32>,
        /// The datapath, for people to read.
        pub dp_desc: FixedText<256>,
    }
}

structure! {
    /// Which flow entries are asked for (`ofp_flow_stats_request`, `ofp_aggregate_stats_request`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FlowStatsRequest = "ofp_flow_stats_request" {
        /// Entries that this covers.
        pub match_fields: Match,
        /// Entries of this table; [`FlowStatsRequest::ALL_TABLES`] for all, 0xfe for the emergency
        /// table.
        pub table_id: u8; pad 1,
        /// Entries that send to this port; [`PortNo::NONE`] for no restriction.
        pub out_port: PortNo,
    }
}

impl Default for FlowStatsRequest {
    /// Every flow entry.
    fn default() -> Self {
        Self { match_fields: Match::any(), table_id: Self::ALL_TABLES, out_port: PortNo::NONE }
    }
}

impl FlowStatsRequest {
    /// The table id that stands for all tables.
    pub const ALL_TABLES: u8 = 0xff;
}

structure! {
    /// A flow entry and what it counted (`ofp_flow_stats`), 88 bytes and its actions.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FlowStats = "ofp_flow_stats" {
        counts length >= 88;
        /// The table that holds it.
        pub table_id: u8; pad 1,
        /// Its packets.
        pub match_fields: Match,
        /// Whole seconds that it lives.
        pub duration_sec: u32,
        /// Nanoseconds that it lives beyond `duration_sec`.
        pub duration_nsec: u32,
        /// Its priority.
        pub priority: u16,
        /// Seconds without a packet after which it goes; 0 for never.
        pub idle_timeout: u16,
        /// Seconds after which it goes; 0 for never.
        pub hard_timeout: u16; pad 6,
        /// The controller's name for it.
        pub cookie: u64,
        /// Packets that it matched.
        pub packet_count: u64,
        /// Bytes in these packets.
        pub byte_count: u64,
        /// What it does with them.
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
    /// What a set of flow entries counted together (`ofp_aggregate_stats_reply`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AggregateStats = "ofp_aggregate_stats_reply" {
        /// Packets that the entries matched.
        pub packet_count: u64,
        /// Bytes in these packets.
        pub byte_count: u64,
        /// The number of entries.
        pub flow_count: u32; pad 4,
    }
}

structure! {
    /// A table and what it counted (`ofp_table_stats`), 64 bytes.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct TableStats = "ofp_table_stats" {
        /// The table's number.
        pub table_id: u8; pad 3,
        /// The table's name.
        pub name: FixedText<32>,
        /// The fields that the table can ignore.
        pub wildcards: Wildcards,
        /// Entries that it can hold.
        pub max_entries: u32,
        /// Entries that it holds.
        pub active_count: u32,
        /// Packets looked up.
        pub lookup_count: u64,
        /// Packets that an entry matched.
        pub matched_count: u64,
    }
}

impl TableStats {
    pub(super) const LENGTH: usize = 64;
}

/// The value of a counter that the switch does not keep: all ones.
pub const UNSUPPORTED_COUNTER: u64 = u64::MAX;

structure! {
    /// A port and what it counted (`ofp_port_stats`), 104 bytes.
    ///
    /// A counter that the switch does not keep is [`UNSUPPORTED_COUNTER`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PortStats = "ofp_port_stats" {
        /// The port.
        pub port_no: PortNo; pad 6,
        /// Packets received.
        pub rx_packets: u64,
        /// Packets sent.
        pub tx_packets: u64,
        /// Bytes received.
        pub rx_bytes: u64,
        /// Bytes sent.
        pub tx_bytes: u64,
        /// Packets dropped on receipt.
        pub rx_dropped: u64,
        /// Packets dropped instead of sent.
        pub tx_dropped: u64,
        /// Receive errors, including the three kinds below.
        pub rx_errors: u64,
        /// Transmit errors.
        pub tx_errors: u64,
        /// Frame alignment errors.
        pub rx_frame_err: u64,
        /// Packets lost to a full receiver.
        pub rx_over_err: u64,
        /// CRC errors.
        pub rx_crc_err: u64,
        /// Collisions.
        pub collisions: u64,
    }
}

impl PortStats {
    pub(super) const LENGTH: usize = 104;
}

structure! {
    /// Which queues are asked for (`ofp_queue_stats_request`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct QueueStatsRequest = "ofp_queue_stats_request" {
        /// Queues of this port; [`PortNo::ALL`] for all.
        pub port_no: PortNo; pad 2,
        /// The queue with this id; [`QueueStatsRequest::ALL_QUEUES`] for all.
        pub queue_id: u32,
    }
}

impl QueueStatsRequest {
    /// The queue id that stands for all queues (`OFPQ_ALL`).
    pub const ALL_QUEUES: u32 = 0xffff_ffff;
}

structure! {
    /// A queue and what it counted (`ofp_queue_stats`), 32 bytes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct QueueStats = "ofp_queue_stats" {
        /// The queue's port.
        pub port_no: PortNo; pad 2,
        /// The queue's id.
        pub queue_id: u32,
        /// Bytes sent.
        pub tx_bytes: u64,
        /// Packets sent.
        pub tx_packets: u64,
        /// Packets dropped because the queue was full.
        pub tx_errors: u64,
    }
}

impl QueueStats {
    pub(super) const LENGTH: usize = 32;
}
