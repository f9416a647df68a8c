//! Statistics in parts: the flag `OFPSF_REPLY_MORE` of OpenFlow 1.0.0, 5.3.5.

use super::{
    FlowStats, PortStats, QueueStats, StatsReply, StatsReplyBody, StatsReplyFlags, TableStats,
};

/// Bytes of records that fit one message: what the header, the type and the flags leave.
const CAPACITY: usize = u16::MAX as usize - 12;

impl StatsReplyBody {
    /// Splits the statistics into replies that each fit a message, all but the last of which say
    /// that more follow.
    ///
    /// What cannot be split is one part, and encoding it fails if it does not fit: a record, a
    /// vendor's body.
    pub fn into_parts(self) -> Vec<StatsReply> {
        let mut parts: Vec<StatsReply> = match self {
            Self::Flow(flows) => split(flows, FlowStats::encoded_length, Self::Flow),
            Self::Table(tables) => split(tables, |_| TableStats::LENGTH, Self::Table),
            Self::Port(ports) => split(ports, |_| PortStats::LENGTH, Self::Port),
            Self::Queue(queues) => split(queues, |_| QueueStats::LENGTH, Self::Queue),
            single @ (Self::Desc(_)
            | Self::Aggregate(_)
            | Self::Vendor { .. }
            | Self::Other { .. }) => vec![single.into()],
        };
        if let Some((_, before_last)) = parts.split_last_mut() {
            before_last.iter_mut().for_each(|part| part.flags = StatsReplyFlags::MORE);
        }
        parts
    }

    /// Appends the records of another part; gives it back if the two do not belong together.
    fn append(&mut self, part: Self) -> Result<(), Self> {
        match (self, part) {
            (Self::Flow(all), Self::Flow(mut more)) => all.append(&mut more),
            (Self::Table(all), Self::Table(mut more)) => all.append(&mut more),
            (Self::Port(all), Self::Port(mut more)) => all.append(&mut more),
            (Self::Queue(all), Self::Queue(mut more)) => all.append(&mut more),
            (Self::Vendor { vendor, body }, Self::Vendor { vendor: other, body: mut more })
                if *vendor == other =>
            {
                body.append(&mut more);
            }
            (Self::Other { kind, body }, Self::Other { kind: other, body: mut more })
                if *kind == other =>
            {
                body.append(&mut more);
            }
            (_, part) => return Err(part),
        }
        Ok(())
    }
}

/// Fills parts one after the other. There is at least one part, which may be empty.
fn split<T>(
    records: Vec<T>,
    length: impl Fn(&T) -> usize,
    body: impl Fn(Vec<T>) -> StatsReplyBody,
) -> Vec<StatsReply> {
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut used = 0;
    for record in records {
        let needed = length(&record);
        if used + needed > CAPACITY && !part.is_empty() {
            parts.push(body(std::mem::take(&mut part)).into());
            used = 0;
        }
        used += needed;
        part.push(record);
    }
    parts.push(body(part).into());
    parts
}

/// Why parts do not make statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// A part is of another type than the one before it, or of one that has no parts.
    #[error("part {part} of the statistics does not continue the parts before it")]
    Mismatch {
        /// Which part, from 1.
        part: usize,
    },
    /// The reply has more parts than are allowed.
    #[error("the statistics go on after {limit} parts, the most that are accepted")]
    TooMany {
        /// The parts that are allowed.
        limit: usize,
    },
}

/// Puts the parts of one reply together.
///
/// The caller keeps one for each transaction id that it awaits statistics for. A switch that never
/// stops saying that more follow is cut off after a number of parts.
#[derive(Clone, Debug)]
pub struct StatsAssembler {
    body: Option<StatsReplyBody>,
    parts: usize,
    limit: usize,
}

impl StatsAssembler {
    /// Accepts up to `limit` parts of up to 65,535 bytes each.
    pub fn new(limit: usize) -> Self {
        Self { body: None, parts: 0, limit }
    }

    /// Takes the next part, and returns the statistics if it was the last.
    ///
    /// After the last part, and after an error, the next part starts new statistics.
    pub fn push(&mut self, reply: StatsReply) -> Result<Option<StatsReplyBody>, AssembleError> {
        if self.parts == self.limit {
            *self = Self::new(self.limit);
            return Err(AssembleError::TooMany { limit: self.limit });
        }
        self.parts += 1;
        match &mut self.body {
            None => self.body = Some(reply.body),
            Some(body) => {
                if body.append(reply.body).is_err() {
                    let part = self.parts;
                    *self = Self::new(self.limit);
                    return Err(AssembleError::Mismatch { part });
                }
            }
        }
        if reply.flags.contains(StatsReplyFlags::MORE) {
            return Ok(None);
        }
        self.parts = 0;
        Ok(self.body.take())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Action, Match, Message, PortNo};
    use super::super::AggregateStats;
    use super::*;
    use crate::Xid;

    fn flows(count: usize) -> Vec<FlowStats> {
        (0..count)
            .map(|index| FlowStats {
                table_id: 0,
                match_fields: Match::any(),
                duration_sec: 1,
                duration_nsec: 2,
                priority: 3,
                idle_timeout: 4,
                hard_timeout: 5,
                cookie: index as u64,
                packet_count: 6,
                byte_count: 7,
                actions: vec![Action::output(PortNo(1)); index % 5],
            })
            .collect()
    }

    #[test]
    fn long_lists_travel_in_parts_and_arrive_whole() {
        let whole = StatsReplyBody::Flow(flows(5000));
        let parts = whole.clone().into_parts();
        let most = parts.len() - 1;
        assert!(most >= 6, "5000 entries of 88 bytes and more");
        let mut assembler = StatsAssembler::new(parts.len());
        for (index, part) in parts.into_iter().enumerate() {
            let mut bytes = Vec::new();
            Message::StatsReply(part).encode(Xid(9), &mut bytes).unwrap();
            if index < most {
                assert!(bytes.len() > 65_535 - 88 - 4 * 8, "part {index} could hold more");
            }
            let Ok((Xid(9), Message::StatsReply(part))) = Message::decode(&bytes) else {
                panic!("part {index} is not a statistics reply");
            };
            let assembled = assembler.push(part).unwrap();
            assert_eq!(assembled, (index == most).then(|| whole.clone()), "part {index}");
        }
    }

    #[test]
    fn an_empty_list_is_one_part() {
        let parts = StatsReplyBody::Port(Vec::new()).into_parts();
        assert_eq!(parts, [StatsReply::from(StatsReplyBody::Port(Vec::new()))]);
    }

    #[test]
    fn parts_that_do_not_belong_together_are_refused() {
        let more = |body| StatsReply { flags: StatsReplyFlags::MORE, body };
        let mut assembler = StatsAssembler::new(3);
        assert_eq!(assembler.push(more(StatsReplyBody::Port(Vec::new()))), Ok(None));
        let other = StatsReplyBody::Queue(Vec::new());
        assert_eq!(assembler.push(other.clone().into()), Err(AssembleError::Mismatch { part: 2 }));
        assert_eq!(assembler.push(other.clone().into()), Ok(Some(other)));

        let single = StatsReplyBody::Aggregate(AggregateStats::default());
        assert_eq!(assembler.push(more(single.clone())), Ok(None));
        assert_eq!(assembler.push(single.into()), Err(AssembleError::Mismatch { part: 2 }));
    }

    #[test]
    fn endless_statistics_are_cut_off() {
        let part =
            StatsReply { flags: StatsReplyFlags::MORE, body: StatsReplyBody::Flow(flows(1)) };
        let mut assembler = StatsAssembler::new(2);
        assert_eq!(assembler.push(part.clone()), Ok(None));
        assert_eq!(assembler.push(part.clone()), Ok(None));
        assert_eq!(assembler.push(part), Err(AssembleError::TooMany { limit: 2 }));
    }
}
