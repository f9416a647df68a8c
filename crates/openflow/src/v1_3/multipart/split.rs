//! Splits multipart bodies that do not fit into one message.

use super::{
    MultipartFlags, MultipartReply, MultipartReplyBody, MultipartRequest, MultipartRequestBody,
};
use crate::error::EncodeError;
use crate::v1_3::codec::Wire;

/// The length in bytes of the headers of the message and of the multipart body.
const HEADERS: usize = 16;

/// The number of bytes that the entries of one message can occupy.
const ROOM: usize = u16::MAX as usize - HEADERS;

impl MultipartReply {
    /// Splits a body into the messages that send it, in order. A list that does not fit into one
    /// message is distributed over several. All messages except the last have the flag that more
    /// follow, and all must be sent with the transaction id of the request.
    ///
    /// # Errors
    ///
    /// Returns an error if a single entry does not fit into a message or cannot be encoded.
    pub fn split(body: MultipartReplyBody) -> Result<Vec<Self>, EncodeError> {
        use MultipartReplyBody as Body;
        let bodies = match body {
            Body::Flow(entries) => wrap(entries, Body::Flow)?,
            Body::Table(entries) => wrap(entries, Body::Table)?,
            Body::PortStats(entries) => wrap(entries, Body::PortStats)?,
            Body::Queue(entries) => wrap(entries, Body::Queue)?,
            Body::Group(entries) => wrap(entries, Body::Group)?,
            Body::GroupDesc(entries) => wrap(entries, Body::GroupDesc)?,
            Body::Meter(entries) => wrap(entries, Body::Meter)?,
            Body::MeterConfig(entries) => wrap(entries, Body::MeterConfig)?,
            Body::TableFeatures(entries) => wrap(entries, Body::TableFeatures)?,
            Body::PortDesc(entries) => wrap(entries, Body::PortDesc)?,
            single @ (Body::Desc(_)
            | Body::Aggregate(_)
            | Body::GroupFeatures(_)
            | Body::MeterFeatures(_)
            | Body::Experimenter(_)
            | Body::Unknown { .. }) => vec![single],
        };
        Ok(flagged(bodies).map(|(flags, body)| Self { flags, body }).collect())
    }
}

impl MultipartRequest {
    /// Splits the body of a request into the messages that send it, in order. Only requests that
    /// set table features are lists, which may need several messages.
    ///
    /// # Errors
    ///
    /// Returns an error if a single table does not fit a message or cannot be written.
    pub fn split(body: MultipartRequestBody) -> Result<Vec<Self>, EncodeError> {
        let bodies = match body {
            MultipartRequestBody::TableFeatures(tables) => {
                wrap(tables, MultipartRequestBody::TableFeatures)?
            }
            single => vec![single],
        };
        Ok(flagged(bodies).map(|(flags, body)| Self { flags, body }).collect())
    }
}

/// Sets the flag `MORE` on all bodies but the last.
fn flagged<B>(bodies: Vec<B>) -> impl Iterator<Item = (MultipartFlags, B)> {
    let last = bodies.len().saturating_sub(1);
    bodies.into_iter().enumerate().map(move |(index, body)| {
        (if index == last { MultipartFlags::NONE } else { MultipartFlags::MORE }, body)
    })
}

/// Splits a list into lists that each fit into one message. An empty list yields one empty part.
fn wrap<T: Wire, B>(entries: Vec<T>, body: impl Fn(Vec<T>) -> B) -> Result<Vec<B>, EncodeError> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut used = 0;
    let mut scratch = Vec::new();
    for entry in entries {
        scratch.clear();
        entry.encode(&mut scratch)?;
        let length = scratch.len();
        if length > ROOM {
            let field = "an entry of ofp_multipart.body";
            return Err(EncodeError::TooLong { field, length, max: ROOM });
        }
        if used + length > ROOM {
            parts.push(body(std::mem::take(&mut part)));
            used = 0;
        }
        used += length;
        part.push(entry);
    }
    parts.push(body(part));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::super::join::ReplyJoiner;
    use super::super::{MultipartExperimenter, SwitchDesc};
    use super::*;
    use crate::v1_3::{Message, PortStats, TableFeatures, TableId};
    use crate::{PortNumber, Xid};

    fn ports(count: u32) -> MultipartReplyBody {
        MultipartReplyBody::PortStats(
            (1..=count).map(|port| PortStats::zero(PortNumber(port))).collect(),
        )
    }

    #[test]
    fn what_fits_stays_whole() {
        // (65535 - 16) / 112 = 584.99
        for count in [0, 1, 584] {
            let parts = MultipartReply::split(ports(count)).unwrap();
            assert_eq!(parts, [MultipartReply::from(ports(count))]);
        }
        let desc = MultipartReplyBody::Desc(Box::<SwitchDesc>::default());
        assert_eq!(MultipartReply::split(desc.clone()).unwrap(), [desc.into()]);
    }

    #[test]
    fn every_part_fits_a_message_and_all_but_the_last_announce_more() {
        let parts = MultipartReply::split(ports(585 + 584)).unwrap();
        assert_eq!(parts.len(), 3);
        for (index, part) in parts.iter().enumerate() {
            let mut out = Vec::new();
            Message::MultipartReply(part.clone()).encode(Xid(1), &mut out).unwrap();
            assert_eq!(part.flags.contains(MultipartFlags::MORE), index < 2);
        }
        let mut joiner = ReplyJoiner::new(10);
        let mut joined = None;
        for part in parts {
            assert_eq!(joined, None);
            joined = joiner.push(part).unwrap();
        }
        assert_eq!(joined, Some(ports(585 + 584)));
    }

    #[test]
    fn requests_are_split_too() {
        let tables = |count| {
            let table = |id| TableFeatures::new(TableId(id), "t", 1);
            MultipartRequestBody::TableFeatures((0..count).map(table).collect())
        };
        assert_eq!(MultipartRequest::split(tables(255)).unwrap(), [tables(255).into()]);
        let many = MultipartRequestBody::TableFeatures(
            (0..1100).map(|_| TableFeatures::new(TableId(0), "t", 1)).collect(),
        );
        assert_eq!(MultipartRequest::split(many).unwrap().len(), 2);
    }

    #[test]
    fn what_has_no_entries_is_not_cut() {
        let data = vec![0; 70_000];
        let body = MultipartExperimenter { experimenter: 1, exp_type: 1, data };
        let parts = MultipartReply::split(MultipartReplyBody::Experimenter(body)).unwrap();
        let [part] = parts.try_into().unwrap();
        assert!(matches!(
            Message::MultipartReply(part).encode(Xid(1), &mut Vec::new()),
            Err(EncodeError::TooLong { .. })
        ));
    }
}
