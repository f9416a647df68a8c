//! The age of a counter's value: how long before it was read the value was the true one.
//!
//! A packet is counted between its sending and its arrival. So the counter truly had the value `v`
//! at some time from the sending of packet `v` to the arrival of packet `v + 1`, and the switch
//! took the value between the request and its answer. Both together bound the age. Lost packets
//! widen the bounds, because the switch may have counted them or not.

use std::time::Duration;

use crate::effects::{Gap, Range};
use crate::stream::Packet;

/// A value that was read. Times are those since the start of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// A reading of the clock before the request was sent.
    pub(super) request: Duration,
    /// A reading of the clock after the answer was received.
    pub(super) answer: Duration,
    /// The packets that the counter had counted since the start.
    pub(super) value: u64,
}

/// Packets, each time in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    sent: Vec<Duration>,
    arrived: Vec<Duration>,
}

impl Counted {
    pub(super) fn of(packets: &[Packet]) -> Self {
        let sent = packets.iter().map(|packet| packet.sent).collect();
        let mut arrived: Vec<Duration> =
            packets.iter().filter_map(|packet| packet.arrived).collect();
        arrived.sort_unstable();
        Self { sent, arrived }
    }

    /// Returns the age of a value; `None` if fewer packets had been sent when the answer came.
    pub(super) fn age(&self, reading: Reading) -> Option<Range> {
        let value = usize::try_from(reading.value).unwrap_or(usize::MAX);
        let since = match value.checked_sub(1) {
            None => Duration::ZERO,
            Some(last) => *self.sent.get(last).filter(|sent| **sent <= reading.answer)?,
        };
        let until = self.arrived.get(value).copied().unwrap_or(reading.answer);
        let gap = |time: Duration| Gap(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
        Some(Range {
            least: gap(reading.request.saturating_sub(until)),
            most: gap(reading.answer.saturating_sub(since)),
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    const fn us(microseconds: u64) -> Duration {
        Duration::from_micros(microseconds)
    }

    /// Reads the counter of a simulated switch whose values are `stale` old. Packets take 20 to 60
    /// us, may overtake each other, and one in a hundred is lost, before or after it is counted.
    fn ages(stale: Duration, seed: u64) -> Vec<Option<Range>> {
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
            packets.push(Packet { sent, arrived: (fate > 1).then_some(arrived) });
        }
        let true_packets = Counted::of(&packets);
        let readings = (0..100).map(|_| {
            let request = us(random.random_range(60_000..150_000));
            let taken = request + us(random.random_range(10..300));
            let answer = taken + us(random.random_range(10..300));
            let value = counted.iter().filter(|time| **time + stale <= taken).count() as u64;
            Reading { request, answer, value }
        });
        readings.map(|reading| true_packets.age(reading)).collect()
    }

    #[test]
    fn every_age_lies_in_its_range() {
        for stale in [us(0), us(700), us(50_000)] {
            for seed in 0..20 {
                for age in ages(stale, seed) {
                    let age = age.expect("the counter is not ahead of the packets");
                    let truth = Gap(stale.as_nanos() as i64);
                    assert!(age.contains(truth), "{stale:?}, seed {seed}: {age:?}");
                    // The request takes up to 600 us, and up to 20 packets are lost before it.
                    assert!(age.width() <= Gap(3_000_000), "{stale:?}, seed {seed}: {age:?}");
                }
            }
        }
    }

    #[test]
    fn a_value_beyond_the_packets_has_no_age() {
        let packet = Packet { sent: us(100), arrived: Some(us(150)) };
        let counted = Counted::of(&[packet]);
        let reading = |value, answer| Reading { request: us(10), answer: us(answer), value };
        assert_eq!(counted.age(reading(2, 500)), None);
        assert_eq!(counted.age(reading(1, 50)), None, "it was read before the packet was sent");
        let fresh = Range { least: Gap(0), most: Gap(400_000) };
        assert_eq!(counted.age(reading(1, 500)), Some(fresh));
    }
}
