//! The state of the queues of a device's ports: their counters, and how late their packets left.

use queues::QueueCounts;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of classes in which packets are counted by their lateness. The lateness of class `n`
/// is below 2^n nanoseconds.
const CLASSES: usize = 64;

/// The state of a device's queues at one moment.
#[derive(Clone, Debug, Default)]
pub struct QueueState {
    /// The counters of each queue: the port, the number of the queue, and the counters.
    pub queues: Vec<(u32, u8, QueueCounts)>,
    /// The lateness of each port that has queues.
    pub paces: BTreeMap<u32, Pace>,
    /// The number of packets that were dropped because another pipeline was committed while they
    /// waited.
    pub replaced: u64,
    /// The number of packets that were dropped because their queue was removed while they waited.
    pub removed: u64,
    /// The number of packets that were dropped because the waiting packets had reached their limit
    /// of memory.
    pub beyond_memory: u64,
}

/// The lateness of the packets that left a port: the time from the moment at which the queue model
/// lets a packet leave until it was sent.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The number of packets that left.
    pub packets: u64,
    /// The sum of their lateness in nanoseconds.
    pub total: u64,
    /// The largest lateness in nanoseconds.
    pub largest: u64,
    classes: [u64; CLASSES],
}

impl Default for Pace {
    fn default() -> Self {
        Self { packets: 0, total: 0, largest: 0, classes: [0; CLASSES] }
    }
}

impl Pace {
    pub(crate) fn count(&mut self, late: Duration) {
        let late = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.packets += 1;
        self.total = self.total.saturating_add(late);
        self.largest = self.largest.max(late);
        let class = (u64::BITS - late.leading_zeros()) as usize;
        if let Some(class) = self.classes.get_mut(class.min(CLASSES - 1)) {
            *class += 1;
        }
    }

    /// Returns an upper bound of the lateness of at least 99 % of the packets, in nanoseconds. It
    /// is a power of two, or the largest lateness if that is less.
    #[must_use]
    pub fn mostly_within(&self) -> u64 {
        let needed = self.packets.saturating_mul(99).div_ceil(100);
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= needed {
                return self.largest.min(1_u64.checked_shl(class as u32).unwrap_or(u64::MAX));
            }
        }
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lateness_of_most_packets_is_below_a_power_of_two() {
        let mut pace = Pace::default();
        assert_eq!(pace.mostly_within(), 0);
        for _ in 0..99 {
            pace.count(Duration::from_nanos(1000));
        }
        pace.count(Duration::from_nanos(1_000_000));
        assert_eq!((pace.mostly_within(), pace.largest, pace.total), (1024, 1_000_000, 1_099_000));
        pace.count(Duration::from_nanos(1_000_000));
        assert_eq!(pace.mostly_within(), 1_000_000);
    }
}
