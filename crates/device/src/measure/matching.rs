//! What was sent and what came out, brought together: each packet is accounted for by its id.

use std::collections::BTreeMap;

use super::traffic::PacketId;
use crate::campaign::{Counts, Picoseconds, Sample};

/// The books of one run of packets.
#[derive(Debug)]
pub struct Ledger {
    run: u32,
    /// Numbers below this are warm-up: they count nowhere.
    warm_up: u32,
    packets: BTreeMap<u32, Packet>,
    /// Packets that left and have not arrived.
    outstanding: usize,
    /// The greatest number that arrived.
    latest: Option<u32>,
    counts: Counts,
    altered: u64,
    late: u64,
    /// Numbers in order of arrival.
    arrivals: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Packet {
    sent: Option<i64>,
    arrived: Option<i64>,
}

/// What became of a run of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Sent, received, lost and so on; warm-up packets are left out.
    pub counts: Counts,
    /// Packets that came out otherwise than the action should leave them; they have no sample.
    pub altered: u64,
    /// Packets of earlier runs that arrived in this one: given up, and counted as lost there.
    pub late: u64,
    /// (packet, delay) in order of arrival.
    pub samples: Vec<Sample>,
}

impl Ledger {
    /// Books of a run whose first packets are warm-up.
    #[must_use]
    pub fn new(run: u32, warm_up: u32) -> Self {
        Self {
            run,
            warm_up,
            packets: BTreeMap::new(),
            outstanding: 0,
            latest: None,
            counts: Counts::default(),
            altered: 0,
            late: 0,
            arrivals: Vec::new(),
        }
    }

    /// A packet left; the stamp is in picoseconds.
    pub fn sent(&mut self, id: PacketId, at: Picoseconds) {
        if id.run != self.run {
            return;
        }
        let packet = self.packets.entry(id.number).or_default();
        if packet.sent.is_none() {
            packet.sent = Some(at.0);
            self.outstanding += usize::from(packet.arrived.is_none());
        }
    }

    /// A packet came out as it should.
    pub fn arrived(&mut self, id: PacketId, at: Picoseconds) {
        if id.run != self.run {
            self.late += 1;
            return;
        }
        let counted = id.number >= self.warm_up;
        let packet = self.packets.entry(id.number).or_default();
        if packet.arrived.is_some() {
            self.counts.duplicated += u64::from(counted);
            return;
        }
        packet.arrived = Some(at.0);
        self.outstanding -= usize::from(packet.sent.is_some());
        if counted {
            if self.latest.is_some_and(|latest| latest > id.number) {
                self.counts.reordered += 1;
            }
            self.arrivals.push(id.number);
        }
        self.latest = self.latest.max(Some(id.number));
    }

    /// A packet came out, but not as it should.
    pub fn altered(&mut self, id: PacketId) {
        if id.run == self.run && id.number >= self.warm_up {
            self.altered += 1;
        }
    }

    /// How many packets have left and not arrived.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Closes the books. What has not arrived is lost; an arrival that was never seen to leave is unmatched.
    #[must_use]
    pub fn close(self, clock_steps: u64) -> Outcome {
        let mut counts = Counts { clock_steps, unmatched: self.late, ..self.counts };
        for packet in self.packets.range(self.warm_up..).map(|(_, packet)| packet) {
            counts.sent += u64::from(packet.sent.is_some());
            match (packet.sent, packet.arrived) {
                (Some(_), Some(_)) => counts.received += 1,
                (Some(_), None) => counts.lost += 1,
                _ => counts.unmatched += 1,
            }
        }
        let samples = self.arrivals.iter().filter_map(|number| {
            let packet = self.packets.get(number)?;
            let delay = Picoseconds(packet.arrived?.checked_sub(packet.sent?)?);
            Some(Sample { packet: number - self.warm_up, delay })
        });
        Outcome { counts, altered: self.altered, late: self.late, samples: samples.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: u32 = 5;

    fn id(number: u32) -> PacketId {
        PacketId { run: RUN, number }
    }

    #[test]
    fn losses_copies_and_disorder_are_counted_and_not_averaged() {
        let mut ledger = Ledger::new(RUN, 2);
        for number in 0..8 {
            ledger.sent(id(number), Picoseconds(i64::from(number) * 1000));
        }
        // Of the warm-up one is lost and one doubled, which is nobody's business.
        ledger.arrived(id(1), Picoseconds(1_500));
        ledger.arrived(id(1), Picoseconds(1_600));
        for (number, delay) in [(2, 10), (4, 30), (3, 2_000), (4, 99), (6, 50)] {
            ledger.arrived(id(number), Picoseconds(i64::from(number) * 1000 + delay));
        }
        ledger.arrived(PacketId { run: RUN - 1, number: 3 }, Picoseconds(7_000));
        ledger.arrived(id(9), Picoseconds(9_500));
        ledger.altered(id(7));
        assert_eq!(ledger.outstanding(), 3, "0, 5 and 7");
        let outcome = ledger.close(1);
        let expected = Counts {
            sent: 6,
            received: 4,
            lost: 2,
            reordered: 1,
            duplicated: 1,
            unmatched: 2,
            clock_steps: 1,
        };
        assert_eq!((outcome.counts, outcome.altered, outcome.late), (expected, 1, 1));
        let sample = |packet, delay| Sample { packet, delay: Picoseconds(delay) };
        let samples = [sample(0, 10), sample(2, 30), sample(1, 2_000), sample(4, 50)];
        assert_eq!(outcome.samples, samples);
    }

    #[test]
    fn a_clock_that_steps_back_gives_negative_delays_that_are_kept() {
        let mut ledger = Ledger::new(RUN, 0);
        ledger.sent(id(0), Picoseconds(5_000));
        ledger.arrived(id(0), Picoseconds(4_000));
        assert_eq!(ledger.close(1).samples, [Sample { packet: 0, delay: Picoseconds(-1_000) }]);
    }
}
