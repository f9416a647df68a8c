//! The record of one pass, in which each packet is sent once and emits one digest: when packets
//! were sent, when their digests arrived, and which digests are missing.

use std::time::Duration;

use crate::effects::Moment;

/// The numbers of digests that arrived, were lost, or were repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of packets that were sent.
    pub sent: u64,
    /// The number of packets whose digest did not arrive.
    pub lost: u64,
    /// The number of digests that arrived although no arrival was due: their packet had not been
    /// sent in this pass, or its digest had arrived already.
    pub repeated: u64,
    /// The number of digests that belong to no packet of this measurement.
    pub foreign: u64,
    /// The number of lists of digests that arrived.
    pub lists: u64,
    /// The number of lists that contained more digests than `max_list_size` allows.
    pub oversized: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.foreign += other.foreign;
        self.lists += other.lists;
        self.oversized += other.oversized;
    }
}

/// The packets of a pass, in the order of their sending. A packet is identified by its position.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    packets: Vec<Packet>,
    /// The number of packets whose digests have not arrived.
    waiting: usize,
    repeated: u64,
    foreign: u64,
    lists: u64,
    oversized: u64,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: Moment,
    arrived: Option<Moment>,
}

impl Tally {
    /// Records that the next packet was sent.
    pub(super) fn sent(&mut self, at: Moment) {
        self.packets.push(Packet { sent: at, arrived: None });
        self.waiting += 1;
    }

    /// Records that a list of `length` digests has arrived. `most` is the configured
    /// `max_list_size`; 0 permits any length.
    pub(super) fn list(&mut self, length: usize, most: u32) {
        self.lists += 1;
        self.oversized += u64::from(most > 0 && length > most as usize);
    }

    /// Records the arrival of the digest of the packet at this position. `None` stands for a digest
    /// that no packet of this measurement emits.
    pub(super) fn arrived(&mut self, position: Option<usize>, at: Moment) {
        let Some(position) = position else {
            self.foreign += 1;
            return;
        };
        match self.packets.get_mut(position) {
            None | Some(Packet { arrived: Some(_), .. }) => self.repeated += 1,
            Some(packet) => {
                packet.arrived = Some(at);
                self.waiting -= 1;
            }
        }
    }

    /// Returns the number of packets that were sent.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns the number of packets whose digests have not arrived.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the moment at which the last packet was sent.
    pub(super) fn last_sent(&self) -> Option<Moment> {
        self.packets.last().map(|packet| packet.sent)
    }

    /// Returns the times from the sending of a packet to the arrival of its digest.
    pub(super) fn latencies(&self) -> Vec<Duration> {
        let each = self.packets.iter().filter_map(|packet| {
            Some(Duration::from_nanos(packet.arrived?.0.saturating_sub(packet.sent.0)))
        });
        each.collect()
    }

    /// Returns the number of digests that arrived too early: the switch had already sent them
    /// during the pass `before`, and must not repeat them until `timeout` has passed. The switch
    /// sends a digest after its packet was sent, so a repetition that arrives less than `timeout`
    /// after the packet's first sending is certainly too early.
    pub(super) fn too_early(&self, before: &Self, timeout: Duration) -> u64 {
        let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let both = before.packets.iter().zip(&self.packets);
        let early = both.filter(|(before, again)| {
            let allowed = before.sent.0.saturating_add(timeout);
            before.arrived.is_some() && again.arrived.is_some_and(|at| at.0 < allowed)
        });
        early.count() as u64
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            sent: self.packets.len() as u64,
            lost: self.waiting as u64,
            repeated: self.repeated,
            foreign: self.foreign,
            lists: self.lists,
            oversized: self.oversized,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digest_is_accounted_for() {
        let mut tally = Tally::default();
        // It is one of an earlier pass, since nothing was sent yet.
        tally.arrived(Some(0), Moment(1));
        for at in [10, 20, 30] {
            tally.sent(Moment(at));
        }
        tally.list(2, 2);
        tally.arrived(Some(1), Moment(60));
        tally.arrived(Some(0), Moment(60));
        tally.list(3, 2);
        tally.arrived(Some(1), Moment(70));
        tally.arrived(None, Moment(70));
        let counts = Counts { sent: 3, lost: 1, repeated: 2, foreign: 1, lists: 2, oversized: 1 };
        assert_eq!((tally.counts(), tally.waiting()), (counts, 1));
        assert_eq!(tally.latencies(), [50, 40].map(Duration::from_nanos));
        assert_eq!(tally.last_sent(), Some(Moment(30)));
    }

    #[test]
    fn only_a_digest_within_the_timeout_is_certainly_too_early() {
        let pass = |sent: [u64; 3], arrived: [Option<u64>; 3]| {
            let mut tally = Tally::default();
            sent.iter().for_each(|at| tally.sent(Moment(*at)));
            for (position, at) in arrived.into_iter().enumerate() {
                at.into_iter().for_each(|at| tally.arrived(Some(position), Moment(at)));
            }
            tally
        };
        let before = pass([0, 1, 2], [Some(50), Some(50), None]);
        // The first comes within the timeout, the second after it, and the third was never sent.
        let again = pass([60, 61, 62], [Some(99), Some(101), Some(70)]);
        assert_eq!(again.too_early(&before, Duration::from_nanos(100)), 1);
        assert_eq!(again.waiting(), 0);
    }
}
