//! The age of a counter's value: how long before the reading the value was the current one.
//!
//! A switch counts a packet between the packet's sending and its arrival. So the counter really had
//! the value `v` at some time between the sending of packet `v` and the arrival of packet `v + 1`,
//! and the switch took the value between the request and its answer. Both together bound the age.
//! Lost packets widen the bounds, because it is unknown whether the switch counted them.

use crate::effects::{Gap, Moment, Range};
use crate::stream::Passage;

/// A value that was read from a counter, with the times of the request and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// The clock reading just before the request was sent.
    pub(super) request: Moment,
    /// The clock reading just after the answer arrived.
    pub(super) answer: Moment,
    /// The number of packets that the counter had counted since the start.
    pub(super) value: u64,
}

/// The times at which packets were sent and at which packets arrived, each list in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// A moment before the first packet was sent.
    begin: Moment,
    sent: Vec<Moment>,
    arrived: Vec<Moment>,
}

impl Counted {
    /// Takes the sending and arrival times of packets that were sent after `begin`.
    pub(super) fn of(begin: Moment, packets: &[Passage]) -> Self {
        let sent = packets.iter().map(|packet| packet.sent.earliest).collect();
        let arrived = packets.iter().filter_map(|packet| Some(packet.arrival?.at.latest));
        let mut arrived: Vec<Moment> = arrived.collect();
        arrived.sort_unstable();
        Self { begin, sent, arrived }
    }

    /// Returns the age of a value that was read. Returns `None` if the value is larger than the
    /// number of packets that had been sent when the answer arrived.
    pub(super) fn age(&self, reading: Reading) -> Option<Range> {
        let value = usize::try_from(reading.value).unwrap_or(usize::MAX);
        let since = match value.checked_sub(1) {
            None => self.begin,
            Some(last) => *self.sent.get(last).filter(|sent| **sent <= reading.answer)?,
        };
        let until = self.arrived.get(value).copied().unwrap_or(reading.answer);
        Some(Range {
            least: reading.request.since(until).max(Gap(0)),
            most: reading.answer.since(since).max(Gap(0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    use crate::effects::Span;
    use crate::stream::Arrival;

    const fn us(microseconds: u64) -> u64 {
        1000 * microseconds
    }

    /// Returns a packet that was sent and arrived at known moments.
    fn packet(sent: u64, arrived: Option<u64>) -> Passage {
        let span = |at| Span { earliest: Moment(at), latest: Moment(at) };
        let arrival = arrived.map(|at| Arrival { at: span(at), class: Some(0) });
        Passage { packet: 0, sent: span(sent), arrival }
    }

    /// Reads the counter of a simulated switch whose values are `stale` old. Packets take 20 to 60
    /// us, may overtake each other, and one in a hundred is lost, before or after it is counted.
    fn ages(stale: u64, seed: u64) -> Vec<Option<Range>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (mut packets, mut counted) = (Vec::new(), Vec::new());
        for number in 0..2000 {
            let sent = us(100 * number);
            let counts = sent + us(random.random_range(10..40));
            let arrived = counts + us(random.random_range(10..20));
            let fate = random.random_range(0..200);
            if fate != 0 {
                counted.push(counts);
            }
            packets.push(packet(sent, (fate > 1).then_some(arrived)));
        }
        let true_packets = Counted::of(Moment(0), &packets);
        let readings = (0..100).map(|_| {
            let request = us(random.random_range(60_000..150_000));
            let taken = request + us(random.random_range(10..300));
            let answer = taken + us(random.random_range(10..300));
            let value = counted.iter().filter(|time| **time + stale <= taken).count() as u64;
            Reading { request: Moment(request), answer: Moment(answer), value }
        });
        readings.map(|reading| true_packets.age(reading)).collect()
    }

    #[test]
    fn every_age_lies_in_its_range() {
        for stale in [us(0), us(700), us(50_000)] {
            for seed in 0..20 {
                for age in ages(stale, seed) {
                    let age = age.expect("the counter is not ahead of the packets");
                    let truth = Gap(stale as i64);
                    assert!(age.contains(truth), "{stale} ns, seed {seed}: {age:?}");
                    // The request takes up to 600 us, and up to 20 packets are lost before it.
                    assert!(age.width() <= Gap(3_000_000), "{stale} ns, seed {seed}: {age:?}");
                }
            }
        }
    }

    #[test]
    fn a_value_beyond_the_packets_has_no_age() {
        let counted = Counted::of(Moment(0), &[packet(us(100), Some(us(150)))]);
        let reading = |value, answer| {
            let (request, answer) = (Moment(us(10)), Moment(us(answer)));
            Reading { request, answer, value }
        };
        assert_eq!(counted.age(reading(2, 500)), None);
        assert_eq!(counted.age(reading(1, 50)), None, "it was read before the packet was sent");
        let fresh = Range { least: Gap(0), most: Gap(400_000) };
        assert_eq!(counted.age(reading(1, 500)), Some(fresh));
    }
}
