//! The records that statistics consist of: OpenFlow 1.0.0, 5.3.5.

use super::super::{Action, Match, PortNo, Wildcards};
use crate::FixedText;
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};

/// Who made the switch (`ofp_desc_stats`), 1056 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescStats {
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

impl DescStats {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            mfr_desc: FixedText(reader.array("ofp_desc_stats.mfr_desc")?),
            hw_desc: FixedText(reader.array("ofp_desc_stats.hw_desc")?),
            sw_desc: FixedText(reader.array("ofp_desc_stats.sw_desc")?),
            serial_num: FixedText(reader.array("ofp_desc_stats.serial_num")?),
            dp_desc: FixedText(reader.array("ofp_desc_stats.dp_desc")?),
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.mfr_desc.0);
        out.extend_from_slice(&self.hw_desc.0);
        out.extend_from_slice(&self.sw_desc.0);
        out.extend_from_slice(&self.serial_num.0);
        out.extend_from_slice(&self.dp_desc.0);
    }
}

/// Which flow entries are asked for (`ofp_flow_stats_request`, `ofp_aggregate_stats_request`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatsRequest {
    /// Entries that this covers.
    pub match_fields: Match,
    /// Entries of this table; [`FlowStatsRequest::ALL_TABLES`] for all, 0xfe for the emergency
    /// table.
    pub table_id: u8,
    /// Entries that send to this port; [`PortNo::NONE`] for no restriction.
    pub out_port: PortNo,
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

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let match_fields = Match::decode(reader)?;
        let table_id = reader.u8("ofp_flow_stats_request.table_id")?;
        reader.skip(1, "ofp_flow_stats_request.pad")?;
        let out_port = PortNo(reader.u16("ofp_flow_stats_request.out_port")?);
        Ok(Self { match_fields, table_id, out_port })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        self.match_fields.encode(out);
        out.push(self.table_id);
        pad(out, 1);
        out.extend_from_slice(&self.out_port.0.to_be_bytes());
    }
}

/// A flow entry and what it counted (`ofp_flow_stats`), 88 bytes and its actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowStats {
    /// The table that holds it.
    pub table_id: u8,
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
    pub hard_timeout: u16,
    /// The controller's name for it.
    pub cookie: u64,
    /// Packets that it matched.
    pub packet_count: u64,
    /// Bytes in these packets.
    pub byte_count: u64,
    /// What it does with them.
    pub actions: Vec<Action>,
}

impl FlowStats {
    const FIXED: usize = 88;

    pub(super) fn encoded_length(&self) -> usize {
        Self::FIXED + self.actions.iter().map(Action::encoded_length).sum::<usize>()
    }

    pub(super) fn decode(outer: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length_at = *outer;
        let mut peek = *outer;
        let length = usize::from(peek.u16("ofp_flow_stats.length")?);
        if length < Self::FIXED || length > outer.remaining() {
            return Err(length_at.error(
                "ofp_flow_stats.length",
                DecodeErrorKind::Length { value: length, min: Self::FIXED, max: outer.remaining() },
            ));
        }
        let mut reader = outer.sub(length, "ofp_flow_stats")?;
        reader.skip(2, "ofp_flow_stats.length")?;
        let table_id = reader.u8("ofp_flow_stats.table_id")?;
        reader.skip(1, "ofp_flow_stats.pad")?;
        let match_fields = Match::decode(&mut reader)?;
        let duration_sec = reader.u32("ofp_flow_stats.duration_sec")?;
        let duration_nsec = reader.u32("ofp_flow_stats.duration_nsec")?;
        let priority = reader.u16("ofp_flow_stats.priority")?;
        let idle_timeout = reader.u16("ofp_flow_stats.idle_timeout")?;
        let hard_timeout = reader.u16("ofp_flow_stats.hard_timeout")?;
        reader.skip(6, "ofp_flow_stats.pad2")?;
        Ok(Self {
            table_id,
            match_fields,
            duration_sec,
            duration_nsec,
            priority,
            idle_timeout,
            hard_timeout,
            cookie: reader.u64("ofp_flow_stats.cookie")?,
            packet_count: reader.u64("ofp_flow_stats.packet_count")?,
            byte_count: reader.u64("ofp_flow_stats.byte_count")?,
            actions: Action::decode_list(reader)?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        pad(out, 2);
        out.push(self.table_id);
        pad(out, 1);
        self.match_fields.encode(out);
        out.extend_from_slice(&self.duration_sec.to_be_bytes());
        out.extend_from_slice(&self.duration_nsec.to_be_bytes());
        for field in [self.priority, self.idle_timeout, self.hard_timeout] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        pad(out, 6);
        for field in [self.cookie, self.packet_count, self.byte_count] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        Action::encode_list(&self.actions, out)?;
        patch_length(out, start, start, "ofp_flow_stats")
    }
}

/// What a set of flow entries counted together (`ofp_aggregate_stats_reply`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregateStats {
    /// Packets that the entries matched.
    pub packet_count: u64,
    /// Bytes in these packets.
    pub byte_count: u64,
    /// The number of entries.
    pub flow_count: u32,
}

impl AggregateStats {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let aggregate = Self {
            packet_count: reader.u64("ofp_aggregate_stats_reply.packet_count")?,
            byte_count: reader.u64("ofp_aggregate_stats_reply.byte_count")?,
            flow_count: reader.u32("ofp_aggregate_stats_reply.flow_count")?,
        };
        reader.skip(4, "ofp_aggregate_stats_reply.pad")?;
        Ok(aggregate)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.packet_count.to_be_bytes());
        out.extend_from_slice(&self.byte_count.to_be_bytes());
        out.extend_from_slice(&self.flow_count.to_be_bytes());
        pad(out, 4);
    }
}

/// A table and what it counted (`ofp_table_stats`), 64 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStats {
    /// The table's number.
    pub table_id: u8,
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

impl TableStats {
    pub(super) const LENGTH: usize = 64;

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table_id = reader.u8("ofp_table_stats.table_id")?;
        reader.skip(3, "ofp_table_stats.pad")?;
        Ok(Self {
            table_id,
            name: FixedText(reader.array("ofp_table_stats.name")?),
            wildcards: Wildcards(reader.u32("ofp_table_stats.wildcards")?),
            max_entries: reader.u32("ofp_table_stats.max_entries")?,
            active_count: reader.u32("ofp_table_stats.active_count")?,
            lookup_count: reader.u64("ofp_table_stats.lookup_count")?,
            matched_count: reader.u64("ofp_table_stats.matched_count")?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.table_id);
        pad(out, 3);
        out.extend_from_slice(&self.name.0);
        for field in [self.wildcards.0, self.max_entries, self.active_count] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        out.extend_from_slice(&self.lookup_count.to_be_bytes());
        out.extend_from_slice(&self.matched_count.to_be_bytes());
    }
}

/// The value of a counter that the switch does not keep: all ones.
pub const UNSUPPORTED_COUNTER: u64 = u64::MAX;

/// A port and what it counted (`ofp_port_stats`), 104 bytes.
///
/// A counter that the switch does not keep is [`UNSUPPORTED_COUNTER`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// The port.
    pub port_no: PortNo,
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

impl PortStats {
    pub(super) const LENGTH: usize = 104;

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port_no = PortNo(reader.u16("ofp_port_stats.port_no")?);
        reader.skip(6, "ofp_port_stats.pad")?;
        Ok(Self {
            port_no,
            rx_packets: reader.u64("ofp_port_stats.rx_packets")?,
            tx_packets: reader.u64("ofp_port_stats.tx_packets")?,
            rx_bytes: reader.u64("ofp_port_stats.rx_bytes")?,
            tx_bytes: reader.u64("ofp_port_stats.tx_bytes")?,
            rx_dropped: reader.u64("ofp_port_stats.rx_dropped")?,
            tx_dropped: reader.u64("ofp_port_stats.tx_dropped")?,
            rx_errors: reader.u64("ofp_port_stats.rx_errors")?,
            tx_errors: reader.u64("ofp_port_stats.tx_errors")?,
            rx_frame_err: reader.u64("ofp_port_stats.rx_frame_err")?,
            rx_over_err: reader.u64("ofp_port_stats.rx_over_err")?,
            rx_crc_err: reader.u64("ofp_port_stats.rx_crc_err")?,
            collisions: reader.u64("ofp_port_stats.collisions")?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.port_no.0.to_be_bytes());
        pad(out, 6);
        for counter in [
            self.rx_packets,
            self.tx_packets,
            self.rx_bytes,
            self.tx_bytes,
            self.rx_dropped,
            self.tx_dropped,
            self.rx_errors,
            self.tx_errors,
            self.rx_frame_err,
            self.rx_over_err,
            self.rx_crc_err,
            self.collisions,
        ] {
            out.extend_from_slice(&counter.to_be_bytes());
        }
    }
}

/// Which queues are asked for (`ofp_queue_stats_request`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueStatsRequest {
    /// Queues of this port; [`PortNo::ALL`] for all.
    pub port_no: PortNo,
    /// The queue with this id; [`QueueStatsRequest::ALL_QUEUES`] for all.
    pub queue_id: u32,
}

impl QueueStatsRequest {
    /// The queue id that stands for all queues (`OFPQ_ALL`).
    pub const ALL_QUEUES: u32 = 0xffff_ffff;

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port_no = PortNo(reader.u16("ofp_queue_stats_request.port_no")?);
        reader.skip(2, "ofp_queue_stats_request.pad")?;
        Ok(Self { port_no, queue_id: reader.u32("ofp_queue_stats_request.queue_id")? })
    }

    pub(super) fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.port_no.0.to_be_bytes());
        pad(out, 2);
        out.extend_from_slice(&self.queue_id.to_be_bytes());
    }
}

/// A queue and what it counted (`ofp_queue_stats`), 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// The queue's port.
    pub port_no: PortNo,
    /// The queue's id.
    pub queue_id: u32,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped because the queue was full.
    pub tx_errors: u64,
}

impl QueueStats {
    pub(super) const LENGTH: usize = 32;

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let port_no = PortNo(reader.u16("ofp_queue_stats.port_no")?);
        reader.skip(2, "ofp_queue_stats.pad")?;
        Ok(Self {
            port_no,
            queue_id: reader.u32("ofp_queue_stats.queue_id")?,
            tx_bytes: reader.u64("ofp_queue_stats.tx_bytes")?,
            tx_packets: reader.u64("ofp_queue_stats.tx_packets")?,
            tx_errors: reader.u64("ofp_queue_stats.tx_errors")?,
        })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.port_no.0.to_be_bytes());
        pad(out, 2);
        out.extend_from_slice(&self.queue_id.to_be_bytes());
        for counter in [self.tx_bytes, self.tx_packets, self.tx_errors] {
            out.extend_from_slice(&counter.to_be_bytes());
        }
    }
}
