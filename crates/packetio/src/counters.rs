//! What passed a port.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of a port, which all of its queues add to.
#[derive(Debug, Default)]
pub struct PortCounters {
    received_packets: AtomicU64,
    received_bytes: AtomicU64,
    receive_dropped: AtomicU64,
    transmitted_packets: AtomicU64,
    transmitted_bytes: AtomicU64,
    transmit_dropped: AtomicU64,
    bad_length: AtomicU64,
}

/// The values of [`PortCounters`] at some moment; each is exact, together they may be torn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that were received.
    pub received_packets: u64,
    /// And their bytes.
    pub received_bytes: u64,
    /// Packets that came and found no room.
    pub receive_dropped: u64,
    /// Packets that left.
    pub transmitted_packets: u64,
    /// And their bytes.
    pub transmitted_bytes: u64,
    /// Packets that were to leave and found a full queue, or a port that was down.
    pub transmit_dropped: u64,
    /// Packets that were to leave and had a length that the port does not take.
    pub bad_length: u64,
}

impl PortCounters {
    /// Counts packets that were received.
    pub fn received(&self, packets: u64, bytes: u64) {
        self.received_packets.fetch_add(packets, Ordering::Relaxed);
        self.received_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts packets that came and found no room.
    pub fn receive_dropped(&self, packets: u64) {
        self.receive_dropped.fetch_add(packets, Ordering::Relaxed);
    }

    /// Counts packets that left.
    pub fn transmitted(&self, packets: u64, bytes: u64) {
        self.transmitted_packets.fetch_add(packets, Ordering::Relaxed);
        self.transmitted_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts packets that found a full queue, or a port that was down.
    pub fn transmit_dropped(&self, packets: u64) {
        self.transmit_dropped.fetch_add(packets, Ordering::Relaxed);
    }

    /// Counts packets with a length that the port does not take.
    pub fn bad_length(&self, packets: u64) {
        self.bad_length.fetch_add(packets, Ordering::Relaxed);
    }

    /// All values.
    #[must_use]
    pub fn values(&self) -> Counters {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            received_packets: value(&self.received_packets),
            received_bytes: value(&self.received_bytes),
            receive_dropped: value(&self.receive_dropped),
            transmitted_packets: value(&self.transmitted_packets),
            transmitted_bytes: value(&self.transmitted_bytes),
            transmit_dropped: value(&self.transmit_dropped),
            bad_length: value(&self.bad_length),
        }
    }
}
