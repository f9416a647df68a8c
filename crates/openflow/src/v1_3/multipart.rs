//! Requests and replies that may take several messages (specification 1.3.5, section 7.3.5).
//!
//! A body is a list of entries for most types. A list that does not fit one message is sent in
//! parts with the same transaction id, all but the last with the flag `MORE`:
//! [`MultipartReply::split`] makes the parts, [`ReplyJoiner`] puts them together again.

mod join;
mod split;

use super::codec::{Wire, decode_list, encode_list, experimenter, put_u16, put_u32, refuse_known};
use super::flows::{AggregateStats, FlowStats, FlowStatsRequest};
use super::groups::{GroupDesc, GroupFeatures, GroupId, GroupStats};
use super::meters::{MeterConfig, MeterFeatures, MeterId, MeterStats};
use super::ports::{Port, PortStats};
use super::queues::{QueueStats, QueueStatsRequest};
use super::table_features::TableFeatures;
use super::tables::TableStats;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, EncodeError};
use crate::{FixedText, PortNumber};

pub use join::{JoinError, ReplyJoiner, RequestJoiner};

open_enum! {
    /// What a multipart message is about, `ofp_multipart_type`.
    pub MultipartType: u16 {
        /// What the switch is made of.
        DESC = 0,
        /// Flow entries.
        FLOW = 1,
        /// Flow entries in sum.
        AGGREGATE = 2,
        /// Flow tables.
        TABLE = 3,
        /// Counters of ports.
        PORT_STATS = 4,
        /// Queues.
        QUEUE = 5,
        /// Counters of groups.
        GROUP = 6,
        /// Groups and their buckets.
        GROUP_DESC = 7,
        /// What the switch can do with groups.
        GROUP_FEATURES = 8,
        /// Counters of meters.
        METER = 9,
        /// Meters and their bands.
        METER_CONFIG = 10,
        /// What the switch can do with meters.
        METER_FEATURES = 11,
        /// What the tables can do.
        TABLE_FEATURES = 12,
        /// Descriptions of ports.
        PORT_DESC = 13,
        /// Defined by an experimenter.
        EXPERIMENTER = 0xffff,
    }
}

bit_set! {
    /// Whether a message is the last of its kind, `ofp_multipart_request_flags` and
    /// `ofp_multipart_reply_flags`.
    pub MultipartFlags: u16 {
        /// More messages follow, `OFPMPF_REQ_MORE` and `OFPMPF_REPLY_MORE`.
        MORE = 1 << 0,
    }
}

structure! {
    /// What a switch is made of, `ofp_desc`.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SwitchDesc = "ofp_desc" {
        /// Who made it.
        pub mfr_desc: FixedText<256>,
        /// The hardware.
        pub hw_desc: FixedText<256>,
        /// The software.
        pub sw_desc: FixedText<256>,
        /// The serial number.
        pub serial_num: FixedText<32>,
        /// The datapath, in words for people.
        pub dp_desc: FixedText<256>,
    }
}

experimenter! {
    /// A body that an experimenter defines, `ofp_experimenter_multipart_header`.
    pub MultipartExperimenter, "ofp_experimenter_multipart_header"
}

/// A question to the switch, or a part of one, `ofp_multipart_request`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultipartRequest {
    /// Whether more parts follow.
    pub flags: MultipartFlags,
    /// What is asked.
    pub body: MultipartRequestBody,
}

impl From<MultipartRequestBody> for MultipartRequest {
    fn from(body: MultipartRequestBody) -> Self {
        Self { flags: MultipartFlags::NONE, body }
    }
}

/// What a multipart request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MultipartRequestBody {
    /// What the switch is made of.
    Desc,
    /// Flow entries.
    Flow(FlowStatsRequest),
    /// Flow entries in sum.
    Aggregate(FlowStatsRequest),
    /// Flow tables.
    Table,
    /// Counters of this port, or of all if [`PortNumber::ANY`].
    PortStats(PortNumber),
    /// Queues.
    Queue(QueueStatsRequest),
    /// Counters of this group, or of all if [`GroupId::ALL`].
    Group(GroupId),
    /// Groups and their buckets.
    GroupDesc,
    /// What the switch can do with groups.
    GroupFeatures,
    /// Counters of this meter, or of all if [`MeterId::ALL`].
    Meter(MeterId),
    /// This meter and its bands, or all if [`MeterId::ALL`].
    MeterConfig(MeterId),
    /// What the switch can do with meters.
    MeterFeatures,
    /// What the tables can do, if the list is empty; else what they shall do.
    TableFeatures(Vec<TableFeatures>),
    /// Descriptions of ports.
    PortDesc,
    /// What an experimenter defines.
    Experimenter(MultipartExperimenter),
    /// A request of a type that the specification does not define.
    Unknown {
        /// Its type.
        kind: MultipartType,
        /// Its body.
        data: Vec<u8>,
    },
}

impl MultipartRequestBody {
    /// The type of the request.
    pub const fn kind(&self) -> MultipartType {
        match self {
            Self::Desc => MultipartType::DESC,
            Self::Flow(_) => MultipartType::FLOW,
            Self::Aggregate(_) => MultipartType::AGGREGATE,
            Self::Table => MultipartType::TABLE,
            Self::PortStats(_) => MultipartType::PORT_STATS,
            Self::Queue(_) => MultipartType::QUEUE,
            Self::Group(_) => MultipartType::GROUP,
            Self::GroupDesc => MultipartType::GROUP_DESC,
            Self::GroupFeatures => MultipartType::GROUP_FEATURES,
            Self::Meter(_) => MultipartType::METER,
            Self::MeterConfig(_) => MultipartType::METER_CONFIG,
            Self::MeterFeatures => MultipartType::METER_FEATURES,
            Self::TableFeatures(_) => MultipartType::TABLE_FEATURES,
            Self::PortDesc => MultipartType::PORT_DESC,
            Self::Experimenter(_) => MultipartType::EXPERIMENTER,
            Self::Unknown { kind, .. } => *kind,
        }
    }
}

/// Reads the type, flags and padding that both directions begin with.
fn decode_header(reader: &mut Reader<'_>) -> Result<(MultipartType, MultipartFlags), DecodeError> {
    let kind = MultipartType(reader.u16("ofp_multipart.type")?);
    let flags = MultipartFlags(reader.u16("ofp_multipart.flags")?);
    reader.skip(4, "ofp_multipart.pad")?;
    Ok((kind, flags))
}

fn encode_header(kind: MultipartType, flags: MultipartFlags, out: &mut Vec<u8>) {
    put_u16(out, kind.0);
    put_u16(out, flags.0);
    pad(out, 4);
}

/// Reads a 32-bit id that four bytes of padding follow.
fn padded_id(reader: &mut Reader<'_>, field: &'static str) -> Result<u32, DecodeError> {
    let id = reader.u32(field)?;
    reader.skip(4, "ofp_multipart_request.body.pad")?;
    Ok(id)
}

impl Wire for MultipartRequest {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, flags) = decode_header(reader)?;
        let body =
            match kind {
                MultipartType::DESC => MultipartRequestBody::Desc,
                MultipartType::FLOW => MultipartRequestBody::Flow(Wire::decode(reader)?),
                MultipartType::AGGREGATE => MultipartRequestBody::Aggregate(Wire::decode(reader)?),
                MultipartType::TABLE => MultipartRequestBody::Table,
                MultipartType::PORT_STATS => MultipartRequestBody::PortStats(PortNumber(
                    padded_id(reader, "ofp_port_stats_request.port_no")?,
                )),
                MultipartType::QUEUE => MultipartRequestBody::Queue(Wire::decode(reader)?),
                MultipartType::GROUP => MultipartRequestBody::Group(GroupId(padded_id(
                    reader,
                    "ofp_group_stats_request.group_id",
                )?)),
                MultipartType::GROUP_DESC => MultipartRequestBody::GroupDesc,
                MultipartType::GROUP_FEATURES => MultipartRequestBody::GroupFeatures,
                MultipartType::METER => MultipartRequestBody::Meter(MeterId(padded_id(
                    reader,
                    "ofp_meter_multipart_request.meter_id",
                )?)),
                MultipartType::METER_CONFIG => MultipartRequestBody::MeterConfig(MeterId(
                    padded_id(reader, "ofp_meter_multipart_request.meter_id")?,
                )),
                MultipartType::METER_FEATURES => MultipartRequestBody::MeterFeatures,
                MultipartType::TABLE_FEATURES => {
                    MultipartRequestBody::TableFeatures(decode_list(reader)?)
                }
                MultipartType::PORT_DESC => MultipartRequestBody::PortDesc,
                MultipartType::EXPERIMENTER => {
                    MultipartRequestBody::Experimenter(Wire::decode(reader)?)
                }
                kind => MultipartRequestBody::Unknown { kind, data: reader.rest().to_vec() },
            };
        Ok(Self { flags, body })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_header(self.body.kind(), self.flags, out);
        match &self.body {
            MultipartRequestBody::Desc
            | MultipartRequestBody::Table
            | MultipartRequestBody::GroupDesc
            | MultipartRequestBody::GroupFeatures
            | MultipartRequestBody::MeterFeatures
            | MultipartRequestBody::PortDesc => {}
            MultipartRequestBody::Flow(request) | MultipartRequestBody::Aggregate(request) => {
                request.encode(out)?;
            }
            MultipartRequestBody::PortStats(PortNumber(id))
            | MultipartRequestBody::Group(GroupId(id))
            | MultipartRequestBody::Meter(MeterId(id))
            | MultipartRequestBody::MeterConfig(MeterId(id)) => {
                put_u32(out, *id);
                pad(out, 4);
            }
            MultipartRequestBody::Queue(request) => request.encode(out)?,
            MultipartRequestBody::TableFeatures(tables) => encode_list(tables, out)?,
            MultipartRequestBody::Experimenter(body) => body.encode(out)?,
            MultipartRequestBody::Unknown { kind, data } => {
                refuse_known(kind.0, kind.name().is_some(), "ofp_multipart_request.type")?;
                out.extend_from_slice(data);
            }
        }
        Ok(())
    }
}

/// An answer of the switch, or a part of one, `ofp_multipart_reply`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultipartReply {
    /// Whether more parts follow.
    pub flags: MultipartFlags,
    /// The answer.
    pub body: MultipartReplyBody,
}

impl From<MultipartReplyBody> for MultipartReply {
    fn from(body: MultipartReplyBody) -> Self {
        Self { flags: MultipartFlags::NONE, body }
    }
}

/// What a multipart reply tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MultipartReplyBody {
    /// What the switch is made of.
    Desc(Box<SwitchDesc>),
    /// Flow entries.
    Flow(Vec<FlowStats>),
    /// Flow entries in sum.
    Aggregate(AggregateStats),
    /// Flow tables.
    Table(Vec<TableStats>),
    /// Counters of ports.
    PortStats(Vec<PortStats>),
    /// Queues.
    Queue(Vec<QueueStats>),
    /// Counters of groups.
    Group(Vec<GroupStats>),
    /// Groups and their buckets.
    GroupDesc(Vec<GroupDesc>),
    /// What the switch can do with groups.
    GroupFeatures(GroupFeatures),
    /// Counters of meters.
    Meter(Vec<MeterStats>),
    /// Meters and their bands.
    MeterConfig(Vec<MeterConfig>),
    /// What the switch can do with meters.
    MeterFeatures(MeterFeatures),
    /// What the tables can do.
    TableFeatures(Vec<TableFeatures>),
    /// Descriptions of ports.
    PortDesc(Vec<Port>),
    /// What an experimenter defines.
    Experimenter(MultipartExperimenter),
    /// A reply of a type that the specification does not define.
    Unknown {
        /// Its type.
        kind: MultipartType,
        /// Its body.
        data: Vec<u8>,
    },
}

impl MultipartReplyBody {
    /// The type of the reply, which is that of its request.
    pub const fn kind(&self) -> MultipartType {
        match self {
            Self::Desc(_) => MultipartType::DESC,
            Self::Flow(_) => MultipartType::FLOW,
            Self::Aggregate(_) => MultipartType::AGGREGATE,
            Self::Table(_) => MultipartType::TABLE,
            Self::PortStats(_) => MultipartType::PORT_STATS,
            Self::Queue(_) => MultipartType::QUEUE,
            Self::Group(_) => MultipartType::GROUP,
            Self::GroupDesc(_) => MultipartType::GROUP_DESC,
            Self::GroupFeatures(_) => MultipartType::GROUP_FEATURES,
            Self::Meter(_) => MultipartType::METER,
            Self::MeterConfig(_) => MultipartType::METER_CONFIG,
            Self::MeterFeatures(_) => MultipartType::METER_FEATURES,
            Self::TableFeatures(_) => MultipartType::TABLE_FEATURES,
            Self::PortDesc(_) => MultipartType::PORT_DESC,
            Self::Experimenter(_) => MultipartType::EXPERIMENTER,
            Self::Unknown { kind, .. } => *kind,
        }
    }
}

impl Wire for MultipartReply {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, flags) = decode_header(reader)?;
        let body = match kind {
            MultipartType::DESC => MultipartReplyBody::Desc(Box::new(Wire::decode(reader)?)),
            MultipartType::FLOW => MultipartReplyBody::Flow(decode_list(reader)?),
            MultipartType::AGGREGATE => MultipartReplyBody::Aggregate(Wire::decode(reader)?),
            MultipartType::TABLE => MultipartReplyBody::Table(decode_list(reader)?),
            MultipartType::PORT_STATS => MultipartReplyBody::PortStats(decode_list(reader)?),
            MultipartType::QUEUE => MultipartReplyBody::Queue(decode_list(reader)?),
            MultipartType::GROUP => MultipartReplyBody::Group(decode_list(reader)?),
            MultipartType::GROUP_DESC => MultipartReplyBody::GroupDesc(decode_list(reader)?),
            MultipartType::GROUP_FEATURES => {
                MultipartReplyBody::GroupFeatures(Wire::decode(reader)?)
            }
            MultipartType::METER => MultipartReplyBody::Meter(decode_list(reader)?),
            MultipartType::METER_CONFIG => MultipartReplyBody::MeterConfig(decode_list(reader)?),
            MultipartType::METER_FEATURES => {
                MultipartReplyBody::MeterFeatures(Wire::decode(reader)?)
            }
            MultipartType::TABLE_FEATURES => {
                MultipartReplyBody::TableFeatures(decode_list(reader)?)
            }
            MultipartType::PORT_DESC => MultipartReplyBody::PortDesc(decode_list(reader)?),
            MultipartType::EXPERIMENTER => MultipartReplyBody::Experimenter(Wire::decode(reader)?),
            kind => MultipartReplyBody::Unknown { kind, data: reader.rest().to_vec() },
        };
        Ok(Self { flags, body })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_header(self.body.kind(), self.flags, out);
        match &self.body {
            MultipartReplyBody::Desc(desc) => desc.encode(out),
            MultipartReplyBody::Flow(entries) => encode_list(entries, out),
            MultipartReplyBody::Aggregate(stats) => stats.encode(out),
            MultipartReplyBody::Table(entries) => encode_list(entries, out),
            MultipartReplyBody::PortStats(entries) => encode_list(entries, out),
            MultipartReplyBody::Queue(entries) => encode_list(entries, out),
            MultipartReplyBody::Group(entries) => encode_list(entries, out),
            MultipartReplyBody::GroupDesc(entries) => encode_list(entries, out),
            MultipartReplyBody::GroupFeatures(features) => features.encode(out),
            MultipartReplyBody::Meter(entries) => encode_list(entries, out),
            MultipartReplyBody::MeterConfig(entries) => encode_list(entries, out),
            MultipartReplyBody::MeterFeatures(features) => features.encode(out),
            MultipartReplyBody::TableFeatures(entries) => encode_list(entries, out),
            MultipartReplyBody::PortDesc(entries) => encode_list(entries, out),
            MultipartReplyBody::Experimenter(body) => body.encode(out),
            MultipartReplyBody::Unknown { kind, data } => {
                refuse_known(kind.0, kind.name().is_some(), "ofp_multipart_reply.type")?;
                out.extend_from_slice(data);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip_request(body: MultipartRequestBody) -> usize {
        let request = MultipartRequest::from(body);
        let mut out = Vec::new();
        request.encode(&mut out).unwrap();
        let mut reader = Reader::new(&out);
        assert_eq!(MultipartRequest::decode(&mut reader), Ok(request));
        assert!(reader.is_empty());
        out.len()
    }

    #[test]
    fn requests_have_the_sizes_of_the_specification() {
        for (body, length) in [
            (MultipartRequestBody::Desc, 8),
            (MultipartRequestBody::Flow(FlowStatsRequest::all()), 48),
            (MultipartRequestBody::PortStats(PortNumber::ANY), 16),
            (MultipartRequestBody::Group(GroupId::ALL), 16),
            (MultipartRequestBody::MeterConfig(MeterId::ALL), 16),
            (MultipartRequestBody::TableFeatures(vec![]), 8),
            (MultipartRequestBody::Unknown { kind: MultipartType(77), data: vec![1] }, 9),
        ] {
            assert_eq!(round_trip_request(body), length);
        }
    }

    #[test]
    fn a_description_is_1056_bytes() {
        let desc = SwitchDesc { serial_num: FixedText::truncated("none"), ..Default::default() };
        let reply = MultipartReply::from(MultipartReplyBody::Desc(Box::new(desc)));
        let mut out = Vec::new();
        reply.encode(&mut out).unwrap();
        assert_eq!(out.len(), 8 + 1056);
        assert_eq!(MultipartReply::decode(&mut Reader::new(&out)), Ok(reply));
    }

    #[test]
    fn an_unknown_type_cannot_pose_as_a_known_one() {
        let kind = MultipartType::DESC;
        let request = MultipartRequestBody::Unknown { kind, data: vec![] };
        assert!(MultipartRequest::from(request).encode(&mut Vec::new()).is_err());
        let reply = MultipartReplyBody::Unknown { kind, data: vec![] };
        assert!(MultipartReply::from(reply).encode(&mut Vec::new()).is_err());
    }
}
