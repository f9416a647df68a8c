//! Computes delays from two captures, taken before and after a device. Packets are matched by bytes
//! that the device does not change.

use std::collections::{HashMap, VecDeque};

use super::{Imported, of_samples};
use crate::campaign::{Counts, Picoseconds, Sample};

/// A packet of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<'a> {
    /// The time of capture in nanoseconds since any fixed time.
    pub timestamp: u64,
    /// The bytes of the frame.
    pub data: &'a [u8],
}

/// The bytes by which a packet is recognised in both captures. They should lie in the payload,
/// because devices may change headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The given number of bytes at the end of the frame, so that headers may grow and shrink.
    Tail(usize),
    /// The bytes at a fixed offset.
    At {
        /// The offset of the identifying bytes from the start of the frame.
        offset: usize,
        /// The number of identifying bytes.
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

/// A queue of packets with equal identities from the capture before the device, in the order of the
/// capture. None of them has been matched with a packet after the device yet. Each element has the
/// timestamp of a packet and its index in the capture.
type Waiting = VecDeque<(u64, u32)>;

/// Matches the packets of a capture after a device with those of a capture before it, and returns
/// their delays. Packets with equal identities are matched in order.
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
    // A capture is in order of time, so a timestamp that goes back means that the clock was set.
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
