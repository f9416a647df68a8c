//! Queues of ports: their configuration and counters (specification 1.3.5, sections 7.2.2, 7.3.5.8
//! and 7.3.6).

use super::codec::{
    Wire, begin, body, decode_list, encode_list, put_u16, put_u32, refuse_known, tlv,
};
use crate::PortNumber;
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, EncodeError};

open_enum! {
    /// A queue's id, unique within its port.
    pub QueueId: u32 {
        /// All queues, in requests.
        ALL = 0xffff_ffff,
    }
}

open_enum! {
    /// The type of a queue property, `ofp_queue_properties`.
    pub QueuePropertyType: u16 {
        /// The rate that the queue is guaranteed.
        MIN_RATE = 1,
        /// The highest rate of the queue.
        MAX_RATE = 2,
        /// A property that an experimenter defines.
        EXPERIMENTER = 0xffff,
    }
}

/// A property of a queue, `ofp_queue_prop_header`. Unlike many structures of OpenFlow, it is not
/// padded to a multiple of eight bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueueProperty {
    /// The guaranteed rate, in tenths of a percent of the port's rate. A value above 1000 means
    /// that there is no guarantee.
    MinRate(u16),
    /// The highest rate, in tenths of a percent of the port's rate. A value above 1000 means that
    /// there is no limit.
    MaxRate(u16),
    /// A property that an experimenter defines.
    Experimenter {
        /// The experimenter's id.
        experimenter: u32,
        /// The bytes of the property after the experimenter's id and four bytes of padding.
        data: Vec<u8>,
    },
    /// A property of a type that the specification does not define.
    Unknown {
        /// The type of the property.
        kind: QueuePropertyType,
        /// The bytes of the property after its type, its length and four bytes of padding.
        data: Vec<u8>,
    },
}

impl QueueProperty {
    /// Returns the type of the property.
    pub const fn kind(&self) -> QueuePropertyType {
        match self {
            Self::MinRate(_) => QueuePropertyType::MIN_RATE,
            Self::MaxRate(_) => QueuePropertyType::MAX_RATE,
            Self::Experimenter { .. } => QueuePropertyType::EXPERIMENTER,
            Self::Unknown { kind, .. } => *kind,
        }
    }
}

const LENGTH: &str = "ofp_queue_prop_header.len";

impl Wire for QueueProperty {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (kind, mut body) = tlv(reader, 8, LENGTH)?;
        body.skip(4, "ofp_queue_prop_header.pad")?;
        let rate = |body: &mut Reader<'_>| {
            let rate = body.u16("ofp_queue_prop_rate.rate")?;
            body.skip(6, "ofp_queue_prop_rate.pad")?;
            Ok(rate)
        };
        let property = match QueuePropertyType(kind) {
            QueuePropertyType::MIN_RATE => Self::MinRate(rate(&mut body)?),
            QueuePropertyType::MAX_RATE => Self::MaxRate(rate(&mut body)?),
            QueuePropertyType::EXPERIMENTER => {
                let experimenter = body.u32("ofp_queue_prop_experimenter.experimenter")?;
                body.skip(4, "ofp_queue_prop_experimenter.pad")?;
                Self::Experimenter { experimenter, data: body.rest().to_vec() }
            }
            kind => Self::Unknown { kind, data: body.rest().to_vec() },
        };
        body.finish(LENGTH)?;
        Ok(property)
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = begin(out, self.kind().0);
        pad(out, 4);
        match self {
            Self::MinRate(rate) | Self::MaxRate(rate) => {
                put_u16(out, *rate);
                pad(out, 6);
            }
            Self::Experimenter { experimenter, data } => {
                put_u32(out, *experimenter);
                pad(out, 4);
                out.extend_from_slice(data);
            }
            Self::Unknown { kind, data } => {
                refuse_known(kind.0, kind.name().is_some(), "ofp_queue_prop_header.property")?;
                out.extend_from_slice(data);
            }
        }
        patch_length(out, start, start + 2, LENGTH)
    }
}

/// A queue and its properties, `ofp_packet_queue`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PacketQueue {
    /// The queue's id.
    pub queue_id: QueueId,
    /// The port to which the queue belongs.
    pub port: PortNumber,
    /// The properties of the queue.
    pub properties: Vec<QueueProperty>,
}

impl Wire for PacketQueue {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let queue_id = QueueId(reader.u32("ofp_packet_queue.queue_id")?);
        let port = PortNumber(reader.u32("ofp_packet_queue.port")?);
        let mut body = body(reader, 10, 16, "ofp_packet_queue.len")?;
        body.skip(6, "ofp_packet_queue.pad")?;
        Ok(Self { queue_id, port, properties: decode_list(&mut body)? })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        put_u32(out, self.queue_id.0);
        put_u32(out, self.port.0);
        pad(out, 8);
        encode_list(&self.properties, out)?;
        patch_length(out, start, start + 8, "ofp_packet_queue.len")
    }
}

structure! {
    /// The queues of a port, `ofp_queue_get_config_reply`.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct QueueGetConfigReply = "ofp_queue_get_config_reply" {
        /// The port whose queues were requested.
        pub port: PortNumber; pad 4,
        /// The port's queues.
        pub queues: Vec<PacketQueue>,
    }
}

structure! {
    /// A selection of the queues whose counters are requested, `ofp_queue_stats_request`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct QueueStatsRequest = "ofp_queue_stats_request" {
        /// The port, or [`PortNumber::ANY`] for all ports.
        pub port_no: PortNumber,
        /// The queue, or [`QueueId::ALL`] for all queues of the port.
        pub queue_id: QueueId,
    }
}

structure! {
    /// A queue's counters, `ofp_queue_stats`, 40 bytes.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct QueueStats = "ofp_queue_stats" {
        /// The port to which the queue belongs.
        pub port_no: PortNumber,
        /// The queue that has the counters.
        pub queue_id: QueueId,
        /// The number of bytes sent.
        pub tx_bytes: u64,
        /// The number of packets sent.
        pub tx_packets: u64,
        /// The number of packets dropped because the queue was full.
        pub tx_errors: u64,
        /// The whole seconds for which the queue has been alive.
        pub duration_sec: u32,
        /// The nanoseconds beyond `duration_sec` for which the queue has been alive.
        pub duration_nsec: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_need_not_be_aligned() {
        let reply = QueueGetConfigReply {
            port: PortNumber::ANY,
            queues: vec![
                PacketQueue {
                    queue_id: QueueId(1),
                    port: PortNumber(77),
                    properties: vec![
                        QueueProperty::MinRate(100),
                        QueueProperty::Experimenter { experimenter: 999, data: vec![1] },
                        QueueProperty::Unknown { kind: QueuePropertyType(9), data: vec![] },
                    ],
                },
                PacketQueue { queue_id: QueueId(2), port: PortNumber(77), properties: vec![] },
            ],
        };
        let mut out = Vec::new();
        reply.encode(&mut out).unwrap();
        assert_eq!(out.len(), 8 + (16 + 16 + 17 + 8) + 16);
        assert_eq!(QueueGetConfigReply::decode(&mut Reader::new(&out)), Ok(reply));
        // A rate has two bytes and six bytes of padding.
        out[27] = 24;
        let error = QueueGetConfigReply::decode(&mut Reader::new(&out)).unwrap_err();
        assert_eq!((error.offset, error.field), (40, LENGTH));
    }
}
