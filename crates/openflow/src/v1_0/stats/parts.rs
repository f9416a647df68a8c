//! The division of statistics into parts, and the flag `OFPSF_REPLY_MORE`: OpenFlow 1.0.0, 5.3.5.

use super::{
    FlowStats, PortStats, QueueStats, StatsReply, StatsReplyBody, StatsReplyFlags, TableStats,
};

/// The number of bytes that one message has for records, after its header, the type and the flags.
const CAPACITY: usize = u16::MAX as usize - 12;

impl StatsReplyBody {
    /// Splits the statistics into replies, each of which fits into one message. All replies except
    /// the last have the flag that more follow.
    ///
    /// A single record or a vendor's body cannot be split. It forms one part, whose encoding fails
    /// if it is too long.
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
}

/// Distributes records over parts in order. The result has at least one part, which may be empty.
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

#[cfg(test)]
mod tests {
    use super::super::super::{Action, Match, Message, PortNo};
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
        let mut arrived = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            let mut bytes = Vec::new();
            Message::StatsReply(part).encode(Xid(9), &mut bytes).unwrap();
            if index < most {
                assert!(bytes.len() > 65_535 - 88 - 4 * 8, "part {index} could hold more");
            }
            let Ok((Xid(9), Message::StatsReply(part))) = Message::decode(&bytes) else {
                panic!("part {index} is not a statistics reply");
            };
            assert_eq!(part.flags.contains(StatsReplyFlags::MORE), index < most, "part {index}");
            let StatsReplyBody::Flow(flows) = part.body else { panic!("part {index}") };
            arrived.extend(flows);
        }
        assert_eq!(StatsReplyBody::Flow(arrived), whole);
    }

    #[test]
    fn an_empty_list_is_one_part() {
        let parts = StatsReplyBody::Port(Vec::new()).into_parts();
        assert_eq!(parts, [StatsReply::from(StatsReplyBody::Port(Vec::new()))]);
    }
}
