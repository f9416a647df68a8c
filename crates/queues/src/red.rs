//! Random early detection (Floyd and Jacobson, 1993), in integers.

use crate::config::{RedConfig, Unit};
use crate::units::Nanos;

/// The number of fractional bits of the average queue length.
const PLACES: u32 = 16;
/// The number of fractional bits of the factor by which the average decays in an idle time.
const FACTOR_PLACES: u32 = 32;

/// The state of random early detection for one queue: the average length, and the random drops.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    /// The average queue length, with [`PLACES`] fractional bits.
    average: u128,
    /// The number of packets that were accepted since the latest of these events: a packet was
    /// marked or dropped, or the average was below the minimum.
    count: u64,
    /// The time since which the queue is empty. `None` while packets wait.
    idle: Option<Nanos>,
    random: u64,
}

/// The decision of RED about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accept,
    /// The packet is marked if the queue marks packets and this one may be marked, and dropped
    /// otherwise.
    Notify,
    Drop,
}

impl Red {
    pub(crate) fn new(config: RedConfig, seed: u64) -> Self {
        Self { config, average: 0, count: 0, idle: Some(Nanos(0)), random: seed }
    }

    pub(crate) fn config(&self) -> RedConfig {
        self.config
    }

    /// Records that the queue became empty.
    pub(crate) fn empties(&mut self, now: Nanos) {
        self.idle = Some(now);
    }

    /// Decides whether a packet is accepted that arrives while the queue has this length. `typical`
    /// is the time in which the port sends a packet of typical length, or zero if the port has no
    /// rate.
    pub(crate) fn arrives(&mut self, now: Nanos, length: Length, typical: u64) -> Verdict {
        let length = match self.config.unit {
            Unit::Packets => length.packets,
            Unit::Bytes => length.bytes,
        };
        if let Some(idle) = self.idle.take() {
            self.decay(now.0.saturating_sub(idle.0), typical);
        }
        let weight = self.config.weight;
        let current = u128::from(length) << PLACES;
        // The average moves towards the current length by 2^-weight of the difference.
        self.average = if current >= self.average {
            self.average + ((current - self.average) >> weight)
        } else {
            self.average - ((self.average - current) >> weight)
        };
        let minimum = u128::from(self.config.minimum) << PLACES;
        let maximum = u128::from(self.config.maximum) << PLACES;
        if self.average < minimum {
            self.count = 0;
            return Verdict::Accept;
        }
        if self.average >= maximum {
            self.count = 0;
            return Verdict::Drop;
        }
        // With p = share / whole, the probability is p / (1 - count * p), so that the number of
        // packets between two drops is uniformly distributed.
        let share = u128::from(self.config.per_million) * (self.average - minimum);
        let whole = 1_000_000 * (maximum - minimum);
        let rest = whole.saturating_sub(share.saturating_mul(self.count.into()));
        let drawn = u128::from(self.draw());
        if rest == 0 || drawn.saturating_mul(rest) < share << 32 {
            self.count = 0;
            return Verdict::Notify;
        }
        self.count += 1;
        Verdict::Accept
    }

    /// Lets the average decay after an idle time, as if each packet of typical length that could
    /// have been sent in this time had found the queue empty.
    fn decay(&mut self, idle: u64, typical: u64) {
        let Some(mut packets) = idle.checked_div(typical) else {
            self.average = 0;
            return;
        };
        let one = 1_u128 << FACTOR_PLACES;
        let mut base = one - (one >> self.config.weight);
        let mut factor = one;
        while packets > 0 && factor > 0 {
            if packets & 1 == 1 {
                factor = (factor * base) >> FACTOR_PLACES;
            }
            base = (base * base) >> FACTOR_PLACES;
            packets >>= 1;
        }
        self.average = (self.average * factor) >> FACTOR_PLACES;
    }

    /// Returns the next 32 random bits (SplitMix64, Steele, Lea and Flood, 2014).
    fn draw(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 32) as u32
    }
}

/// The length of a queue in packets and in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(per_million: u32) -> Red {
        let config = RedConfig {
            unit: Unit::Packets,
            minimum: 5,
            maximum: 15,
            per_million,
            weight: 0,
            marks: false,
        };
        Red::new(config, 1)
    }

    fn at(packets: u64) -> Length {
        Length { packets, bytes: 0 }
    }

    #[test]
    fn nothing_is_dropped_below_the_minimum_and_all_from_the_maximum() {
        let mut red = red(1_000_000);
        assert!((0..5).all(|length| red.arrives(Nanos(0), at(length), 1) == Verdict::Accept));
        assert!((15..20).all(|length| red.arrives(Nanos(0), at(length), 1) == Verdict::Drop));
    }

    /// Tests the distance between two drops. The average is constant and half way between minimum
    /// and maximum, and the largest probability is 10 %, so p is 5 %. Distances must be uniform
    /// over 1 to 20 (section 4 of the paper): their mean is 10.5, and none is longer.
    #[test]
    fn the_distance_between_drops_is_uniform() {
        let mut red = red(100_000);
        let (mut distance, mut seen) = (0, vec![0_u32; 21]);
        for _ in 0..210_000 {
            distance += 1;
            if red.arrives(Nanos(0), at(10), 1) == Verdict::Notify {
                seen[distance] += 1;
                distance = 0;
            }
        }
        let drops: u32 = seen.iter().sum();
        // 20,000 drops of 20 values: 1,000 each with a standard deviation of 31.
        assert!((19_800..20_200).contains(&drops), "{drops}");
        assert!(seen[1..].iter().all(|count| (850..1_150).contains(count)), "{seen:?}");
    }

    #[test]
    fn the_average_follows_by_its_weight_and_decays_when_idle() {
        let mut red = red(0);
        red.config.weight = 2;
        red.arrives(Nanos(0), at(8), 1);
        assert_eq!(red.average >> PLACES, 2);
        red.arrives(Nanos(0), at(8), 1);
        assert_eq!((red.average * 2) >> PLACES, 7);
        // Three quarters of 3.5 after one idle packet time; then the arrival finds the queue empty.
        red.empties(Nanos(100));
        red.arrives(Nanos(110), at(0), 10);
        let exact = (7_u128 << PLACES) * 9 / 32;
        assert!(red.average.abs_diff(exact) <= 2, "{} {exact}", red.average);
        red.empties(Nanos(200));
        red.arrives(Nanos(u64::MAX), at(0), 10);
        assert_eq!(red.average, 0);
    }
}
