//! Matches the packets that were sent to a device with those that came out, by their identifiers.

use std::collections::BTreeMap;

use super::conduct::RunOrder;
use super::traffic::PacketId;
use crate::campaign::{Counts, Picoseconds, Sample};

/// The packets of one run: which of them were sent, and which have arrived.
#[derive(Debug)]
pub struct PacketTracker {
    run: u32,
    /// The number of warm-up packets, which come first and are not counted.
    warm_up: u32,
    packets: BTreeMap<u32, Packet>,
    /// The number of packets that have been sent and lack one of their two timestamps.
    outstanding: usize,
    /// The largest packet number that has arrived, or `None` before the first arrival.
    latest: Option<u32>,
    counts: Counts,
    altered: u64,
    late: u64,
    /// The numbers of the packets that arrived, without warm-up packets, in order of arrival.
    arrivals: Vec<u32>,
}

/// The times, in picoseconds, at which a packet was sent and arrived.
#[derive(Debug, Clone, Copy, Default)]
struct Packet {
    /// Whether the packet was passed to the interface, or a timestamper has reported its
    /// transmission.
    is_known: bool,
    sent: Option<i64>,
    arrived: Option<i64>,
}

impl Packet {
    fn is_outstanding(&self) -> bool {
        self.is_known && (self.sent.is_none() || self.arrived.is_none())
    }
}

/// The result of one run of packets: counts and delays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The packet counts of the run, without warm-up packets.
    pub counts: Counts,
    /// The number of packets that came out with unexpected content. They have no sample and count
    /// as lost.
    pub altered: u64,
    /// The number of packets of other runs that arrived during this run. Their own run had counted
    /// them as lost.
    pub late: u64,
    /// The delay of each packet that arrived, in order of arrival.
    pub samples: Vec<Sample>,
}

impl PacketTracker {
    /// Creates the record of a run before its first packet. The memory for arrivals is reserved,
    /// because a reallocation between two packets would add to the delay of the next one.
    #[must_use]
    pub fn new(order: &RunOrder) -> Self {
        Self {
            run: order.run,
            warm_up: order.warm_up,
            packets: BTreeMap::new(),
            outstanding: 0,
            latest: None,
            counts: Counts::default(),
            altered: 0,
            late: 0,
            arrivals: Vec::with_capacity(order.packets as usize),
        }
    }

    /// Records that a packet is passed to the interface. Its timestamps may follow much later,
    /// because a hardware tap reports a packet long after it left.
    pub fn transmitted(&mut self, id: PacketId) {
        self.change(id, |packet| packet.is_known = true);
    }

    /// Records that a packet was sent, at a timestamp in picoseconds.
    pub fn sent(&mut self, id: PacketId, at: Picoseconds) {
        if id.run == self.run {
            self.change(id, |packet| {
                packet.is_known = true;
                packet.sent.get_or_insert(at.0);
            });
        }
    }

    fn change(&mut self, id: PacketId, change: impl FnOnce(&mut Packet)) {
        let packet = self.packets.entry(id.number).or_default();
        self.outstanding -= usize::from(packet.is_outstanding());
        change(packet);
        self.outstanding += usize::from(packet.is_outstanding());
    }

    /// Records that a packet arrived with the expected content, at a timestamp in picoseconds.
    pub fn arrived(&mut self, id: PacketId, at: Picoseconds) {
        if id.run != self.run {
            self.late += 1;
            return;
        }
        let counted = id.number >= self.warm_up;
        if self.packets.get(&id.number).is_some_and(|packet| packet.arrived.is_some()) {
            self.counts.duplicated += u64::from(counted);
            return;
        }
        self.change(id, |packet| packet.arrived = Some(at.0));
        if counted {
            if self.latest.is_some_and(|latest| latest > id.number) {
                self.counts.reordered += 1;
            }
            self.arrivals.push(id.number);
        }
        self.latest = self.latest.max(Some(id.number));
    }

    /// Records that a packet arrived with unexpected content.
    pub fn altered(&mut self, id: PacketId) {
        if id.run == self.run && id.number >= self.warm_up {
            self.altered += 1;
        }
    }

    /// Returns the number of packets that have been sent and that lack the timestamp of sending or
    /// the timestamp of arrival.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Ends the run and returns its counts and delays. Packets that have not arrived count as lost.
    /// Arrivals of packets that were not sent, or that belong to another run, count as unmatched.
    #[must_use]
    pub fn close(self, clock_steps: u64) -> Outcome {
        let mut counts = Counts { clock_steps, unmatched: self.late, ..self.counts };
        for packet in self.packets.range(self.warm_up..).map(|(_, packet)| packet) {
            counts.sent += u64::from(packet.sent.is_some());
            match (packet.sent, packet.arrived) {
                (Some(_), Some(_)) => counts.received += 1,
                (Some(_), None) => counts.lost += 1,
                (None, Some(_)) => counts.unmatched += 1,
                // The tap before the device missed the packet, which may therefore never have been
                // sent.
                (None, None) => {}
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

    fn order(warm_up: u32, packets: u32) -> RunOrder {
        RunOrder { run: RUN, warm_up, packets, packets_per_second: None }
    }

    #[test]
    fn arrivals_need_no_memory_during_the_run() {
        let mut tracker = PacketTracker::new(&order(1, 1025));
        let reserved = tracker.arrivals.as_ptr();
        for number in 0..1026 {
            tracker.sent(id(number), Picoseconds(0));
            tracker.arrived(id(number), Picoseconds(1));
        }
        assert_eq!(tracker.arrivals.len(), 1025);
        assert_eq!(tracker.arrivals.as_ptr(), reserved, "the arrivals moved");
    }

    fn id(number: u32) -> PacketId {
        PacketId { run: RUN, number }
    }

    #[test]
    fn losses_copies_and_disorder_are_counted_and_not_averaged() {
        let mut tracker = PacketTracker::new(&order(2, 8));
        for number in 0..8 {
            tracker.sent(id(number), Picoseconds(i64::from(number) * 1000));
        }
        // Warm-up packet 0 is lost and warm-up packet 1 duplicated. Neither counts.
        tracker.arrived(id(1), Picoseconds(1_500));
        tracker.arrived(id(1), Picoseconds(1_600));
        for (number, delay) in [(2, 10), (4, 30), (3, 2_000), (4, 99), (6, 50)] {
            tracker.arrived(id(number), Picoseconds(i64::from(number) * 1000 + delay));
        }
        tracker.arrived(PacketId { run: RUN - 1, number: 3 }, Picoseconds(7_000));
        tracker.arrived(id(9), Picoseconds(9_500));
        tracker.altered(id(7));
        assert_eq!(tracker.outstanding(), 3, "0, 5 and 7");
        let outcome = tracker.close(1);
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

    /// A run must not end, and the next packet must not leave, before both taps have reported the
    /// packet.
    #[test]
    fn a_packet_is_outstanding_before_its_taps_report_it() {
        let mut tracker = PacketTracker::new(&order(0, 3));
        tracker.transmitted(id(0));
        assert_eq!(tracker.outstanding(), 1);
        tracker.sent(id(0), Picoseconds(1_000));
        tracker.transmitted(id(1));
        assert_eq!(tracker.outstanding(), 2);
        // The tap behind the device is faster for one of the packets.
        tracker.arrived(id(1), Picoseconds(3_000));
        tracker.arrived(id(0), Picoseconds(2_500));
        assert_eq!(tracker.outstanding(), 1);
        tracker.sent(id(1), Picoseconds(2_000));
        assert_eq!(tracker.outstanding(), 0);
        // Neither tap reports this packet.
        tracker.transmitted(id(2));
        let counts = tracker.close(0).counts;
        assert_eq!((counts.sent, counts.received, counts.lost, counts.unmatched), (2, 2, 0, 0));
    }

    #[test]
    fn a_clock_that_steps_back_yields_negative_delays_that_are_kept() {
        let mut tracker = PacketTracker::new(&order(0, 1));
        tracker.sent(id(0), Picoseconds(5_000));
        tracker.arrived(id(0), Picoseconds(4_000));
        assert_eq!(tracker.close(1).samples, [Sample { packet: 0, delay: Picoseconds(-1_000) }]);
    }
}
