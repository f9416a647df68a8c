//! Packet counters of ports.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a port, to which all of its queues add.
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

/// The values of [`PortCounters`] at the time of reading. Each value is exact, but they may be from
/// slightly different moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of received packets.
    pub received_packets: u64,
    /// The number of bytes in received packets.
    pub received_bytes: u64,
    /// The number of incoming packets that were dropped because the receiver had no room for them
    /// or could not process them.
    pub receive_dropped: u64,
    /// The number of transmitted packets.
    pub transmitted_packets: u64,
    /// The number of bytes in transmitted packets.
    pub transmitted_bytes: u64,
    /// The number of outgoing packets that were dropped because the queue was full or the port was
    /// down.
    pub transmit_dropped: u64,
    /// The number of outgoing packets that were refused because of their length.
    pub bad_length: u64,
}

impl PortCounters {
    /// Counts received packets.
    pub fn received(&self, packets: u64, bytes: u64) {
        self.received_packets.fetch_add(packets, Ordering::Relaxed);
        self.received_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts incoming packets that were dropped because the receiver had no room for them or could
    /// not process them.
    pub fn receive_dropped(&self, packets: u64) {
        self.receive_dropped.fetch_add(packets, Ordering::Relaxed);
    }

    /// Counts transmitted packets.
    pub fn transmitted(&self, packets: u64, bytes: u64) {
        self.transmitted_packets.fetch_add(packets, Ordering::Relaxed);
        self.transmitted_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts outgoing packets that were dropped because the queue was full or the port was down.
    pub fn transmit_dropped(&self, packets: u64) {
        self.transmit_dropped.fetch_add(packets, Ordering::Relaxed);
    }

    /// Counts outgoing packets that were refused because of their length.
    pub fn bad_length(&self, packets: u64) {
        self.bad_length.fetch_add(packets, Ordering::Relaxed);
    }

    /// Returns the values of all counters.
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
