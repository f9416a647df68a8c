//! Requests and replies that may take several messages (specification 1.3.5, section 7.3.5).
//!
//! For most types a body is a list of entries. A list that does not fit into one message is sent in
//! parts with the same transaction id. All parts except the last have the flag `MORE`.
//! [`MultipartReply::split`] splits a reply, and [`ReplyJoiner`] joins the parts again.

mod join;
mod split;

use super::codec::{Wire, put_u16};
use super::flows::{AggregateStats, FlowStats, FlowStatsRequest};
use super::groups::{GroupDesc, GroupFeatures, GroupId, GroupStats};
use super::meters::{MeterConfig, MeterFeatures, MeterId, MeterStats};
use super::ports::{Port, PortStats};
use super::queues::{QueueStats, QueueStatsRequest};
use super::table_features::TableFeatures;
use super::tables::TableStats;
use crate::cursor::{Reader, pad};
use crate::error::{DecodeError, EncodeError};
use crate::structure::Field;
use crate::{FixedText, PortNumber};

pub use join::{JoinError, ReplyJoiner, RequestJoiner};

open_enum! {
    /// The subject of a multipart message, `ofp_multipart_type`.
    pub MultipartType: u16 {
        /// The description of the switch.
        DESC = 0,
        /// Flow entries with their counters.
        FLOW = 1,
        /// The sums of the counters of flow entries.
        AGGREGATE = 2,
        /// The counters of flow tables.
        TABLE = 3,
        /// The counters of ports.
        PORT_STATS = 4,
        /// The counters of queues.
        QUEUE = 5,
        /// The counters of groups.
        GROUP = 6,
        /// The groups and their buckets.
        GROUP_DESC = 7,
        /// The features of the switch's groups.
        GROUP_FEATURES = 8,
        /// The counters of meters.
        METER = 9,
        /// The meters and their bands.
        METER_CONFIG = 10,
        /// The features of the switch's meters.
        METER_FEATURES = 11,
        /// The features of the tables.
        TABLE_FEATURES = 12,
        /// The descriptions of ports.
        PORT_DESC = 13,
        /// A body that an experimenter defines.
        EXPERIMENTER = 0xffff,
    }
}

bit_set! {
    /// The flags that state whether more parts follow (`ofp_multipart_request_flags` and
    /// `ofp_multipart_reply_flags`).
    pub MultipartFlags: u16 {
        /// More messages follow, `OFPMPF_REQ_MORE` and `OFPMPF_REPLY_MORE`.
        MORE = 1 << 0,
    }
}

structure! {
    /// The description of a switch, `ofp_desc`.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SwitchDesc = "ofp_desc" {
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
    /// A body that an experimenter defines, `ofp_experimenter_multipart_header`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct MultipartExperimenter = "ofp_experimenter_multipart_header" {
        /// The experimenter's id.
        pub experimenter: u32,
        /// The type of the body, in the experimenter's numbering.
        pub exp_type: u32,
        /// The bytes of the body after its experimenter type.
        pub data: Vec<u8>,
    }
}

/// A request to the switch, or a part of one, `ofp_multipart_request`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultipartRequest {
    /// The flags, which state whether more parts follow.
    pub flags: MultipartFlags,
    /// The body of the request.
    pub body: MultipartRequestBody,
}

impl From<MultipartRequestBody> for MultipartRequest {
    fn from(body: MultipartRequestBody) -> Self {
        Self { flags: MultipartFlags::NONE, body }
    }
}

bodies! {
    /// The body of a multipart request.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum MultipartRequestBody by kind: MultipartType {
        /// A request for the description of the switch.
        Desc = 0,
        /// A request for the counters of individual flow entries.
        Flow(FlowStatsRequest) = 1,
        /// A request for the sums of the counters of flow entries.
        Aggregate(FlowStatsRequest) = 2,
        /// A request for the counters of all flow tables.
        Table = 3,
        /// A request for the counters of this port, or of all ports for [`PortNumber::ANY`].
        PortStats(PortNumber; pad 4) = 4,
        /// A request for the counters of queues.
        Queue(QueueStatsRequest) = 5,
        /// A request for the counters of this group, or of all groups for [`GroupId::ALL`].
        Group(GroupId; pad 4) = 6,
        /// A request for all groups and their buckets.
        GroupDesc = 7,
        /// A request for the features of the switch's groups.
        GroupFeatures = 8,
        /// A request for the counters of this meter, or of all meters for [`MeterId::ALL`].
        Meter(MeterId; pad 4) = 9,
        /// A request for the bands of this meter, or of all meters for [`MeterId::ALL`].
        MeterConfig(MeterId; pad 4) = 10,
        /// A request for the features of the switch's meters.
        MeterFeatures = 11,
        /// A request for the features of the tables if the list is empty, and otherwise a request
        /// to set these features.
        TableFeatures(Vec<TableFeatures>) = 12,
        /// A request for the descriptions of all ports.
        PortDesc = 13,
        /// A body that an experimenter defines.
        Experimenter(MultipartExperimenter) = 0xffff,
    }
    else
    /// A request of a type that the specification does not define.
    Unknown, "ofp_multipart_request.type"
}

/// Reads the type, flags and padding with which requests and replies begin.
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

impl Wire for MultipartRequest {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, flags) = decode_header(reader)?;
        let body = match MultipartRequestBody::decode_body(kind, reader)? {
            Some(body) => body,
            None => MultipartRequestBody::Unknown { kind, data: reader.rest().to_vec() },
        };
        Ok(Self { flags, body })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_header(self.body.kind(), self.flags, out);
        self.body.encode_body(out)
    }
}

/// An answer of the switch, or a part of one, `ofp_multipart_reply`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultipartReply {
    /// The flags, which state whether more parts follow.
    pub flags: MultipartFlags,
    /// The body of the answer.
    pub body: MultipartReplyBody,
}

impl From<MultipartReplyBody> for MultipartReply {
    fn from(body: MultipartReplyBody) -> Self {
        Self { flags: MultipartFlags::NONE, body }
    }
}

impl Field for Box<SwitchDesc> {
    fn read(reader: &mut Reader<'_>, _: &'static str) -> Result<Self, DecodeError> {
        SwitchDesc::decode(reader).map(Self::new)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode(out)
    }
}

bodies! {
    /// The body of a multipart reply.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum MultipartReplyBody by kind: MultipartType {
        /// The description of the switch.
        Desc(Box<SwitchDesc>) = 0,
        /// The selected flow entries with their counters.
        Flow(Vec<FlowStats>) = 1,
        /// The sums of the counters of the selected flow entries.
        Aggregate(AggregateStats) = 2,
        /// The flow tables with their counters.
        Table(Vec<TableStats>) = 3,
        /// The requested ports with their counters.
        PortStats(Vec<PortStats>) = 4,
        /// The requested queues with their counters.
        Queue(Vec<QueueStats>) = 5,
        /// The requested groups with their counters.
        Group(Vec<GroupStats>) = 6,
        /// All groups with their buckets.
        GroupDesc(Vec<GroupDesc>) = 7,
        /// The features of the switch's groups.
        GroupFeatures(GroupFeatures) = 8,
        /// The requested meters with their counters.
        Meter(Vec<MeterStats>) = 9,
        /// The requested meters with their bands.
        MeterConfig(Vec<MeterConfig>) = 10,
        /// The features of the switch's meters.
        MeterFeatures(MeterFeatures) = 11,
        /// The features of the tables.
        TableFeatures(Vec<TableFeatures>) = 12,
        /// The descriptions of all ports.
        PortDesc(Vec<Port>) = 13,
        /// A body that an experimenter defines.
        Experimenter(MultipartExperimenter) = 0xffff,
    }
    else
    /// A reply of a type that the specification does not define.
    Unknown, "ofp_multipart_reply.type"
}

impl Wire for MultipartReply {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, flags) = decode_header(reader)?;
        let body = match MultipartReplyBody::decode_body(kind, reader)? {
            Some(body) => body,
            None => MultipartReplyBody::Unknown { kind, data: reader.rest().to_vec() },
        };
        Ok(Self { flags, body })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_header(self.body.kind(), self.flags, out);
        self.body.encode_body(out)
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
