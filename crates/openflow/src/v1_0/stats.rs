//! Statistics: OpenFlow 1.0.0, 5.3.5.
//!
//! A reply that does not fit into one message is sent in parts. All parts except the last have a
//! flag that states that more parts follow. [`StatsReplyBody::into_parts`] splits a reply.

mod parts;
mod records;

pub use records::{
    AggregateStats, DescStats, FlowStats, FlowStatsRequest, PortStats, QueueStats,
    QueueStatsRequest, TableStats, UNSUPPORTED_COUNTER,
};

use super::{PortNo, Vendor};
use crate::cursor::Reader;
use crate::error::{DecodeError, EncodeError};
use crate::structure::{Field, Wire};

open_enum! {
    /// The subject of statistics (`ofp_stats_types`).
    pub StatsType: u16 {
        /// The description of the switch.
        DESC = 0,
        /// The counters of individual flow entries.
        FLOW = 1,
        /// The sums of the counters of flow entries.
        AGGREGATE = 2,
        /// The counters of tables.
        TABLE = 3,
        /// The counters of ports.
        PORT = 4,
        /// The counters of queues.
        QUEUE = 5,
        /// An extension by a vendor.
        VENDOR = 0xffff,
    }
}

/// A request for statistics (`ofp_stats_request`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsRequest {
    /// The flags of the request, none of which the specification defines.
    pub flags: u16,
    /// The body of the request.
    pub body: StatsRequestBody,
}

impl From<StatsRequestBody> for StatsRequest {
    fn from(body: StatsRequestBody) -> Self {
        Self { flags: 0, body }
    }
}

bodies! {
    /// The body of a [`StatsRequest`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum StatsRequestBody by kind: StatsType {
        /// The description of the switch.
        Desc = 0,
        /// The counters of each flow entry that the request selects.
        Flow(FlowStatsRequest) = 1,
        /// The sums of the counters of the flow entries that the request selects.
        Aggregate(FlowStatsRequest) = 2,
        /// The counters of all tables.
        Table = 3,
        /// The counters of a port, or of all ports for [`PortNo::NONE`].
        Port(PortNo; pad 6) = 4,
        /// The counters of the queues that the request selects.
        Queue(QueueStatsRequest) = 5,
        /// An extension by a vendor.
        Vendor(Vendor) = 0xffff,
    }
    else
    /// Statistics that the specification does not define.
    Other, "ofp_stats_request.type"
}

impl Wire for StatsRequest {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = StatsType(reader.u16("ofp_stats_request.type")?);
        let flags = reader.u16("ofp_stats_request.flags")?;
        let body = match StatsRequestBody::decode_body(kind, reader)? {
            Some(body) => body,
            None => StatsRequestBody::Other { kind, data: reader.rest().to_vec() },
        };
        Ok(Self { flags, body })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.body.kind().0.to_be_bytes());
        out.extend_from_slice(&self.flags.to_be_bytes());
        self.body.encode_body(out)
    }
}

bit_set! {
    /// The flags of a statistics reply (`ofp_stats_reply_flags`).
    pub StatsReplyFlags: u16 {
        /// More parts of the reply follow.
        MORE = 1 << 0,
    }
}

/// Statistics, or a part of them (`ofp_stats_reply`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsReply {
    /// The flags, which state whether more parts follow.
    pub flags: StatsReplyFlags,
    /// The statistics.
    pub body: StatsReplyBody,
}

impl From<StatsReplyBody> for StatsReply {
    fn from(body: StatsReplyBody) -> Self {
        Self { flags: StatsReplyFlags::NONE, body }
    }
}

impl Field for Box<DescStats> {
    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        DescStats::decode(reader).map(Self::new)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode(out)
    }
}

bodies! {
    /// The body of a [`StatsReply`].
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum StatsReplyBody by kind: StatsType {
        /// The description of the switch.
        Desc(Box<DescStats>) = 0,
        /// The selected flow entries with their counters.
        Flow(Vec<FlowStats>) = 1,
        /// The sums of the counters of the selected flow entries.
        Aggregate(AggregateStats) = 2,
        /// The tables with their counters.
        Table(Vec<TableStats>) = 3,
        /// The ports with their counters.
        Port(Vec<PortStats>) = 4,
        /// The queues with their counters.
        Queue(Vec<QueueStats>) = 5,
        /// An extension by a vendor.
        Vendor(Vendor) = 0xffff,
    }
    else
    /// Statistics that the specification does not define.
    Other, "ofp_stats_reply.type"
}

impl Wire for StatsReply {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = StatsType(reader.u16("ofp_stats_reply.type")?);
        let flags = StatsReplyFlags(reader.u16("ofp_stats_reply.flags")?);
        let body = match StatsReplyBody::decode_body(kind, reader)? {
            Some(body) => body,
            None => StatsReplyBody::Other { kind, data: reader.rest().to_vec() },
        };
        Ok(Self { flags, body })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.extend_from_slice(&self.body.kind().0.to_be_bytes());
        out.extend_from_slice(&self.flags.0.to_be_bytes());
        self.body.encode_body(out)
    }
}
