//! Statistics: OpenFlow 1.0.0, 5.3.5.
//!
//! A reply that does not fit one message comes in parts, all but the last of which say that more
//! follow. [`StatsReplyBody::into_parts`] makes them.

mod parts;
mod records;

pub use records::{
    AggregateStats, DescStats, FlowStats, FlowStatsRequest, PortStats, QueueStats,
    QueueStatsRequest, TableStats, UNSUPPORTED_COUNTER,
};

use super::PortNo;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, EncodeError};
use crate::structure::{Wire, decode_list, encode_list};

/// `enum ofp_stats_types`.
mod kind {
    pub(super) const DESC: u16 = 0;
    pub(super) const FLOW: u16 = 1;
    pub(super) const AGGREGATE: u16 = 2;
    pub(super) const TABLE: u16 = 3;
    pub(super) const PORT: u16 = 4;
    pub(super) const QUEUE: u16 = 5;
    pub(super) const VENDOR: u16 = 0xffff;
}

/// Asks for statistics (`ofp_stats_request`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsRequest {
    /// The specification defines no flags for requests.
    pub flags: u16,
    /// What is asked for.
    pub body: StatsRequestBody,
}

impl From<StatsRequestBody> for StatsRequest {
    fn from(body: StatsRequestBody) -> Self {
        Self { flags: 0, body }
    }
}

/// What a [`StatsRequest`] asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatsRequestBody {
    /// Who made the switch.
    Desc,
    /// Flow entries one by one.
    Flow(FlowStatsRequest),
    /// Flow entries in sum.
    Aggregate(FlowStatsRequest),
    /// All tables.
    Table,
    /// A port, or all of them for [`PortNo::NONE`].
    Port(PortNo),
    /// Queues.
    Queue(QueueStatsRequest),
    /// An extension by a vendor.
    Vendor {
        /// The vendor's IEEE OUI, or a number given by the ONF.
        vendor: u32,
        /// What follows the vendor.
        body: Vec<u8>,
    },
    /// Statistics that the specification does not define.
    Other {
        /// The type of statistics.
        kind: u16,
        /// What follows the flags.
        body: Vec<u8>,
    },
}

impl StatsRequest {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = reader.u16("ofp_stats_request.type")?;
        let flags = reader.u16("ofp_stats_request.flags")?;
        let body = match kind {
            kind::DESC => StatsRequestBody::Desc,
            kind::FLOW => StatsRequestBody::Flow(FlowStatsRequest::decode(reader)?),
            kind::AGGREGATE => StatsRequestBody::Aggregate(FlowStatsRequest::decode(reader)?),
            kind::TABLE => StatsRequestBody::Table,
            kind::PORT => {
                let port = PortNo(reader.u16("ofp_port_stats_request.port_no")?);
                reader.skip(6, "ofp_port_stats_request.pad")?;
                StatsRequestBody::Port(port)
            }
            kind::QUEUE => StatsRequestBody::Queue(QueueStatsRequest::decode(reader)?),
            kind::VENDOR => StatsRequestBody::Vendor {
                vendor: reader.u32("ofp_stats_request.vendor")?,
                body: reader.rest().to_vec(),
            },
            kind => StatsRequestBody::Other { kind, body: reader.rest().to_vec() },
        };
        Ok(Self { flags, body })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let kind = match &self.body {
            StatsRequestBody::Desc => kind::DESC,
            StatsRequestBody::Flow(_) => kind::FLOW,
            StatsRequestBody::Aggregate(_) => kind::AGGREGATE,
            StatsRequestBody::Table => kind::TABLE,
            StatsRequestBody::Port(_) => kind::PORT,
            StatsRequestBody::Queue(_) => kind::QUEUE,
            StatsRequestBody::Vendor { .. } => kind::VENDOR,
            StatsRequestBody::Other { kind, .. } => undefined("ofp_stats_request.type", *kind)?,
        };
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&self.flags.to_be_bytes());
        match &self.body {
            StatsRequestBody::Desc | StatsRequestBody::Table => {}
            StatsRequestBody::Flow(request) | StatsRequestBody::Aggregate(request) => {
                request.encode(out)?;
            }
            StatsRequestBody::Port(port) => {
                out.extend_from_slice(&port.0.to_be_bytes());
                pad(out, 6);
            }
            StatsRequestBody::Queue(request) => request.encode(out)?,
            StatsRequestBody::Vendor { vendor, body } => {
                out.extend_from_slice(&vendor.to_be_bytes());
                out.extend_from_slice(body);
            }
            StatsRequestBody::Other { body, .. } => out.extend_from_slice(body),
        }
        Ok(())
    }
}

bit_set! {
    /// What a statistics reply says about itself (`ofp_stats_reply_flags`).
    pub StatsReplyFlags: u16 {
        /// More parts of the reply follow.
        MORE = 1 << 0,
    }
}

/// Statistics, or a part of them (`ofp_stats_reply`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatsReply {
    /// Whether more follow.
    pub flags: StatsReplyFlags,
    /// The statistics.
    pub body: StatsReplyBody,
}

impl From<StatsReplyBody> for StatsReply {
    fn from(body: StatsReplyBody) -> Self {
        Self { flags: StatsReplyFlags::NONE, body }
    }
}

/// What a [`StatsReply`] holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatsReplyBody {
    /// Who made the switch.
    Desc(Box<DescStats>),
    /// Flow entries one by one.
    Flow(Vec<FlowStats>),
    /// Flow entries in sum.
    Aggregate(AggregateStats),
    /// Tables.
    Table(Vec<TableStats>),
    /// Ports.
    Port(Vec<PortStats>),
    /// Queues.
    Queue(Vec<QueueStats>),
    /// An extension by a vendor.
    Vendor {
        /// The vendor's IEEE OUI, or a number given by the ONF.
        vendor: u32,
        /// What follows the vendor.
        body: Vec<u8>,
    },
    /// Statistics that the specification does not define.
    Other {
        /// The type of statistics.
        kind: u16,
        /// What follows the flags.
        body: Vec<u8>,
    },
}

impl StatsReply {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let kind = reader.u16("ofp_stats_reply.type")?;
        let flags = StatsReplyFlags(reader.u16("ofp_stats_reply.flags")?);
        let body = match kind {
            kind::DESC => StatsReplyBody::Desc(Box::new(DescStats::decode(reader)?)),
            kind::FLOW => StatsReplyBody::Flow(decode_list(reader)?),
            kind::AGGREGATE => StatsReplyBody::Aggregate(AggregateStats::decode(reader)?),
            kind::TABLE => StatsReplyBody::Table(decode_list(reader)?),
            kind::PORT => StatsReplyBody::Port(decode_list(reader)?),
            kind::QUEUE => StatsReplyBody::Queue(decode_list(reader)?),
            kind::VENDOR => StatsReplyBody::Vendor {
                vendor: reader.u32("ofp_stats_reply.vendor")?,
                body: reader.rest().to_vec(),
            },
            kind => StatsReplyBody::Other { kind, body: reader.rest().to_vec() },
        };
        Ok(Self { flags, body })
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let kind = match &self.body {
            StatsReplyBody::Desc(_) => kind::DESC,
            StatsReplyBody::Flow(_) => kind::FLOW,
            StatsReplyBody::Aggregate(_) => kind::AGGREGATE,
            StatsReplyBody::Table(_) => kind::TABLE,
            StatsReplyBody::Port(_) => kind::PORT,
            StatsReplyBody::Queue(_) => kind::QUEUE,
            StatsReplyBody::Vendor { .. } => kind::VENDOR,
            StatsReplyBody::Other { kind, .. } => undefined("ofp_stats_reply.type", *kind)?,
        };
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&self.flags.0.to_be_bytes());
        match &self.body {
            StatsReplyBody::Desc(desc) => desc.encode(out)?,
            StatsReplyBody::Flow(flows) => encode_list(flows, out)?,
            StatsReplyBody::Aggregate(aggregate) => aggregate.encode(out)?,
            StatsReplyBody::Table(tables) => encode_list(tables, out)?,
            StatsReplyBody::Port(ports) => encode_list(ports, out)?,
            StatsReplyBody::Queue(queues) => encode_list(queues, out)?,
            StatsReplyBody::Vendor { vendor, body } => {
                out.extend_from_slice(&vendor.to_be_bytes());
                out.extend_from_slice(body);
            }
            StatsReplyBody::Other { body, .. } => out.extend_from_slice(body),
        }
        Ok(())
    }
}

/// Passes a type that has no variant of its own, so that no statistics have two representations.
fn undefined(field: &'static str, kind: u16) -> Result<u16, EncodeError> {
    if kind <= kind::QUEUE || kind == kind::VENDOR {
        let expected = "a type that OpenFlow 1.0 does not define";
        return Err(EncodeError::Value { field, value: u64::from(kind), expected });
    }
    Ok(kind)
}
