//! Joins the parts of a multipart request or reply.

use super::{
    MultipartFlags, MultipartReply, MultipartReplyBody, MultipartRequest, MultipartRequestBody,
    MultipartType,
};

/// The reason why a part of a multipart message does not continue the parts before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The type of the part differs from that of the first.
    #[error("part of type {part} after parts of type {first}: does another message share its xid?")]
    Type {
        /// The type of the first part.
        first: MultipartType,
        /// The type of this part.
        part: MultipartType,
    },
    /// A second part arrived, although the message cannot have several parts: the body of this type
    /// is not a list. The error also occurs if the parts contain different types of one
    /// experimenter.
    #[error("a second part of type {0}, whose body cannot be continued")]
    NotAList(MultipartType),
    /// The message has more parts than this allowed number.
    #[error("more than {0} parts: raise the limit, or distrust the sender")]
    TooMany(usize),
}

/// A joiner of the parts of one reply, in the order of arrival.
///
/// One joiner is needed per transaction id. It keeps the contents of the parts, each of which has
/// at most 64 KiB, so the number of parts is limited.
#[derive(Clone, Debug)]
pub struct ReplyJoiner(Parts<MultipartReplyBody>);

impl ReplyJoiner {
    /// Creates a joiner for a reply of at most `max_parts` parts.
    pub const fn new(max_parts: usize) -> Self {
        Self(Parts { joined: None, count: 0, most: max_parts })
    }

    /// Receives a part. If it is the last one, returns the whole body, and the joiner is ready for
    /// another reply.
    ///
    /// # Errors
    ///
    /// Returns an error if the part does not continue the previous ones. The previous parts are
    /// dropped, and the joiner starts over.
    pub fn push(&mut self, part: MultipartReply) -> Result<Option<MultipartReplyBody>, JoinError> {
        self.0.push(part.body, part.flags, continue_reply)
    }
}

/// A joiner of the parts of one request, in the order of arrival, like [`ReplyJoiner`] for replies.
#[derive(Clone, Debug)]
pub struct RequestJoiner(Parts<MultipartRequestBody>);

impl RequestJoiner {
    /// Creates a joiner for a request of at most `max_parts` parts.
    pub const fn new(max_parts: usize) -> Self {
        Self(Parts { joined: None, count: 0, most: max_parts })
    }

    /// Receives a part. If it is the last one, returns the whole body, and the joiner is ready for
    /// another request.
    ///
    /// # Errors
    ///
    /// Returns an error if the part does not continue the previous ones. The previous parts are
    /// dropped, and the joiner starts over.
    pub fn push(
        &mut self,
        part: MultipartRequest,
    ) -> Result<Option<MultipartRequestBody>, JoinError> {
        self.0.push(part.body, part.flags, continue_request)
    }
}

/// The parts of a multipart message that have arrived so far.
#[derive(Clone, Debug)]
struct Parts<B> {
    joined: Option<B>,
    count: usize,
    most: usize,
}

impl<B> Parts<B> {
    fn push(
        &mut self,
        body: B,
        flags: MultipartFlags,
        join: fn(B, B) -> Result<B, JoinError>,
    ) -> Result<Option<B>, JoinError> {
        let count = std::mem::take(&mut self.count) + 1;
        let joined = self.joined.take();
        if count > self.most {
            return Err(JoinError::TooMany(self.most));
        }
        let joined = match joined {
            None => body,
            Some(joined) => join(joined, body)?,
        };
        if !flags.contains(MultipartFlags::MORE) {
            return Ok(Some(joined));
        }
        (self.joined, self.count) = (Some(joined), count);
        Ok(None)
    }
}

fn continue_reply(
    mut joined: MultipartReplyBody,
    part: MultipartReplyBody,
) -> Result<MultipartReplyBody, JoinError> {
    use MultipartReplyBody as Body;
    let (first, kind) = (joined.kind(), part.kind());
    match (&mut joined, part) {
        (Body::Flow(all), Body::Flow(more)) => all.extend(more),
        (Body::Table(all), Body::Table(more)) => all.extend(more),
        (Body::PortStats(all), Body::PortStats(more)) => all.extend(more),
        (Body::Queue(all), Body::Queue(more)) => all.extend(more),
        (Body::Group(all), Body::Group(more)) => all.extend(more),
        (Body::GroupDesc(all), Body::GroupDesc(more)) => all.extend(more),
        (Body::Meter(all), Body::Meter(more)) => all.extend(more),
        (Body::MeterConfig(all), Body::MeterConfig(more)) => all.extend(more),
        (Body::TableFeatures(all), Body::TableFeatures(more)) => all.extend(more),
        (Body::PortDesc(all), Body::PortDesc(more)) => all.extend(more),
        (Body::Experimenter(all), Body::Experimenter(more))
            if (all.experimenter, all.exp_type) == (more.experimenter, more.exp_type) =>
        {
            all.data.extend(more.data);
        }
        (Body::Unknown { data, .. }, Body::Unknown { data: more, .. }) if first == kind => {
            data.extend(more);
        }
        _ if first == kind => return Err(JoinError::NotAList(kind)),
        _ => return Err(JoinError::Type { first, part: kind }),
    }
    Ok(joined)
}

fn continue_request(
    mut joined: MultipartRequestBody,
    part: MultipartRequestBody,
) -> Result<MultipartRequestBody, JoinError> {
    use MultipartRequestBody as Body;
    let (first, kind) = (joined.kind(), part.kind());
    match (&mut joined, part) {
        (Body::TableFeatures(all), Body::TableFeatures(more)) => all.extend(more),
        (Body::Experimenter(all), Body::Experimenter(more))
            if (all.experimenter, all.exp_type) == (more.experimenter, more.exp_type) =>
        {
            all.data.extend(more.data);
        }
        (Body::Unknown { data, .. }, Body::Unknown { data: more, .. }) if first == kind => {
            data.extend(more);
        }
        _ if first == kind => return Err(JoinError::NotAList(kind)),
        _ => return Err(JoinError::Type { first, part: kind }),
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::super::MultipartExperimenter;
    use super::*;
    use crate::v1_3::{AggregateStats, TableFeatures, TableId};

    fn part(body: MultipartReplyBody, more: bool) -> MultipartReply {
        let flags = if more { MultipartFlags::MORE } else { MultipartFlags::NONE };
        MultipartReply { flags, body }
    }

    fn experimenter(exp_type: u32, data: &[u8]) -> MultipartReplyBody {
        let data = data.to_vec();
        MultipartReplyBody::Experimenter(MultipartExperimenter { experimenter: 1, exp_type, data })
    }

    #[test]
    fn a_joiner_is_ready_again_after_the_last_part() {
        let mut joiner = ReplyJoiner::new(2);
        for _ in 0..2 {
            assert_eq!(joiner.push(part(experimenter(1, &[1]), true)), Ok(None));
            let whole = joiner.push(part(experimenter(1, &[2]), false));
            assert_eq!(whole, Ok(Some(experimenter(1, &[1, 2]))));
        }
    }

    #[test]
    fn parts_must_belong_together() {
        let list = || MultipartReplyBody::Flow(vec![]);
        let single = || MultipartReplyBody::Aggregate(AggregateStats::default());
        let (flow, aggregate) = (MultipartType::FLOW, MultipartType::AGGREGATE);
        for (first, second, error) in [
            (list(), single(), JoinError::Type { first: flow, part: aggregate }),
            (single(), single(), JoinError::NotAList(aggregate)),
            (
                experimenter(1, &[]),
                experimenter(2, &[]),
                JoinError::NotAList(MultipartType::EXPERIMENTER),
            ),
        ] {
            let mut joiner = ReplyJoiner::new(9);
            assert_eq!(joiner.push(part(first, true)), Ok(None));
            assert_eq!(joiner.push(part(second, false)), Err(error));
            assert_eq!(joiner.push(part(list(), false)), Ok(Some(list())));
        }
    }

    #[test]
    fn the_number_of_parts_is_limited() {
        let mut joiner = ReplyJoiner::new(2);
        let list = || part(MultipartReplyBody::Flow(vec![]), true);
        assert_eq!(joiner.push(list()), Ok(None));
        assert_eq!(joiner.push(list()), Ok(None));
        assert_eq!(joiner.push(list()), Err(JoinError::TooMany(2)));
    }

    #[test]
    fn requests_join_as_replies_do() {
        let table = |id| TableFeatures::new(TableId(id), "t", 1);
        let request = |tables, flags| MultipartRequest {
            flags,
            body: MultipartRequestBody::TableFeatures(tables),
        };
        let mut joiner = RequestJoiner::new(2);
        assert_eq!(joiner.push(request(vec![table(0)], MultipartFlags::MORE)), Ok(None));
        let whole = joiner.push(request(vec![table(1)], MultipartFlags::NONE));
        let expected = MultipartRequestBody::TableFeatures(vec![table(0), table(1)]);
        assert_eq!(whole, Ok(Some(expected)));

        let (flags, body) = (MultipartFlags::MORE, MultipartRequestBody::Desc);
        assert_eq!(joiner.push(MultipartRequest { flags, body: body.clone() }), Ok(None));
        let error = joiner.push(body.into());
        assert_eq!(error, Err(JoinError::NotAList(MultipartType::DESC)));
    }
}
