//! Queues of a port: OpenFlow 1.0.0, 5.2.2 and 5.3.4.

use super::PortNo;
use crate::cursor::{Reader, pad, patch_length};
use crate::error::{DecodeError, DecodeErrorKind, EncodeError};
use crate::structure::{Wire, decode_list, encode_list};

/// The length in bytes of two headers: that of a queue, which consists of id, length and padding,
/// and that of a queue property.
const HEADER: usize = 8;

/// The type of the property with the guaranteed rate (`enum ofp_queue_properties`).
const PROPERTY_MIN_RATE: u16 = 1;

/// A property of a queue (`ofp_queue_prop_header` and what follows it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueProperty {
    /// The least share of the port's rate that the queue gets, in tenths of a percent. A value
    /// above 1000 means that there is no guarantee.
    MinRate(u16),
    /// A property that the specification does not define, or `OFPQT_NONE` (0), which has no body.
    Other {
        /// The property's type.
        kind: u16,
        /// The bytes of the property after its header.
        body: Vec<u8>,
    },
}

impl Wire for QueueProperty {
    fn decode(outer: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut peek = *outer;
        let kind = peek.u16("ofp_queue_prop_header.property")?;
        let length_at = peek;
        let length = usize::from(peek.u16("ofp_queue_prop_header.len")?);
        let remaining = outer.remaining();
        let (min, max) =
            if kind == PROPERTY_MIN_RATE { (16, 16.min(remaining)) } else { (HEADER, remaining) };
        if length < min || length > max {
            return Err(length_at.error(
                "ofp_queue_prop_header.len",
                DecodeErrorKind::Length { value: length, min, max },
            ));
        }
        let mut reader = outer.sub(length, "ofp_queue_prop_header")?;
        reader.skip(HEADER, "ofp_queue_prop_header")?;
        Ok(match kind {
            PROPERTY_MIN_RATE => Self::MinRate(reader.u16("ofp_queue_prop_min_rate.rate")?),
            kind => Self::Other { kind, body: reader.rest().to_vec() },
        })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let kind = match self {
            Self::MinRate(_) => PROPERTY_MIN_RATE,
            Self::Other { kind: PROPERTY_MIN_RATE, .. } => {
                return Err(EncodeError::Value {
                    field: "ofp_queue_prop_header.property",
                    value: u64::from(PROPERTY_MIN_RATE),
                    expected: "a type other than the minimum rate, which has a variant of its own",
                });
            }
            Self::Other { kind, .. } => *kind,
        };
        out.extend_from_slice(&kind.to_be_bytes());
        pad(out, 6);
        match self {
            Self::MinRate(rate) => {
                out.extend_from_slice(&rate.to_be_bytes());
                pad(out, 6);
            }
            Self::Other { body, .. } => out.extend_from_slice(body),
        }
        patch_length(out, start, start + 2, "ofp_queue_prop_header")
    }
}

/// A queue of a port (`ofp_packet_queue`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketQueue {
    /// The queue's id, unique on its port.
    pub queue_id: u32,
    /// The queue's properties.
    pub properties: Vec<QueueProperty>,
}

impl Wire for PacketQueue {
    fn decode(outer: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut peek = *outer;
        let queue_id = peek.u32("ofp_packet_queue.queue_id")?;
        let length_at = peek;
        let length = usize::from(peek.u16("ofp_packet_queue.len")?);
        if length < HEADER || length > outer.remaining() {
            return Err(length_at.error(
                "ofp_packet_queue.len",
                DecodeErrorKind::Length { value: length, min: HEADER, max: outer.remaining() },
            ));
        }
        let mut reader = outer.sub(length, "ofp_packet_queue")?;
        reader.skip(HEADER, "ofp_packet_queue")?;
        Ok(Self { queue_id, properties: decode_list(&mut reader)? })
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        out.extend_from_slice(&self.queue_id.to_be_bytes());
        pad(out, 4);
        encode_list(&self.properties, out)?;
        patch_length(out, start, start + 4, "ofp_packet_queue")
    }
}

structure! {
    /// A request for the queues of a port (`ofp_queue_get_config_request`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct QueueGetConfigRequest = "ofp_queue_get_config_request" {
        /// The physical port whose queues are requested.
        pub port: PortNo; pad 2,
    }
}

structure! {
    /// The queues of a port (`ofp_queue_get_config_reply`).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct QueueGetConfigReply = "ofp_queue_get_config_reply" {
        /// The port that has the queues.
        pub port: PortNo; pad 6,
        /// The port's queues.
        pub queues: Vec<PacketQueue>,
    }
}
