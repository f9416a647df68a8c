//! Captures before and behind a device, packets matched by what the device leaves alone.

use std::collections::{HashMap, VecDeque};

use super::{Imported, of_samples};
use crate::campaign::{Counts, Picoseconds, Sample};

/// A captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Nanoseconds since any fixed time.
    pub timestamp: u64,
    /// Its bytes.
    pub data: &'a [u8],
}

/// What tells packets apart. Headers change on the way, so it is in the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// So many last bytes of the frame; headers may grow and shrink.
    Tail(usize),
    /// An id at an offset.
    At {
        /// Bytes before it.
        offset: usize,
        /// Its bytes.
        length: usize,
    },
}

impl Identity {
    fn of(self, data: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Tail(length) => data.len().checked_sub(length).map(|start| &data[start..]),
            Self::At { offset, length } => data.get(offset..offset.checked_add(length)?),
        }
    }
}

/// A packet before the device: when, as which number.
type Waiting = VecDeque<(u64, u32)>;

/// Matches packets behind a device with those before it. Packets of one identity are matched in order.
#[must_use]
pub fn match_captures(
    before: &[Captured<'_>],
    after: &[Captured<'_>],
    identity: Identity,
) -> Imported {
    let mut counts = Counts { sent: before.len() as u64, ..Counts::default() };
    let mut waiting: HashMap<&[u8], Waiting> = HashMap::new();
    let mut short = 0;
    for (number, packet) in (0..).zip(before) {
        match identity.of(packet.data) {
            Some(id) => waiting.entry(id).or_default().push_back((packet.timestamp, number)),
            None => short += 1,
        }
    }
    let ambiguous = waiting.values().filter(|packets| packets.len() > 1).count();
    let mut samples = Vec::new();
    let mut newest = None;
    for packet in after {
        let Some(packets) = identity.of(packet.data).and_then(|id| waiting.get_mut(id)) else {
            counts.unmatched += 1;
            continue;
        };
        let Some((sent, number)) = packets.pop_front() else {
            counts.duplicated += 1;
            continue;
        };
        counts.reordered += u64::from(newest.is_some_and(|newest| number < newest));
        newest = newest.max(Some(number));
        let delay = i128::from(packet.timestamp) - i128::from(sent);
        let delay = i64::try_from(delay).unwrap_or(if delay < 0 { i64::MIN } else { i64::MAX });
        samples.push(Sample { packet: number, delay: Picoseconds::from_nanoseconds(delay) });
    }
    counts.received = samples.len() as u64;
    counts.lost = counts.sent - counts.received;
    // A capture is written in order of time: one that goes back is a clock that was set.
    let backwards = |packets: &[Captured<'_>]| {
        packets.windows(2).filter(|pair| pair[1].timestamp < pair[0].timestamp).count()
    };
    counts.clock_steps = (backwards(before) + backwards(after)) as u64;
    let mut remarks = Vec::new();
    if ambiguous > 0 {
        remarks.push(format!(
            "{ambiguous} identities belong to several packets, which were matched in order: a loss among them shifts the others"
        ));
    }
    if short > 0 {
        remarks.push(format!("{short} packets are too short for an identity and count as lost"));
    }
    let first_and_last = before.first().zip(before.last());
    let duration =
        first_and_last.map_or(0, |(first, last)| last.timestamp.saturating_sub(first.timestamp));
    of_samples(samples, counts, duration, remarks)
}
