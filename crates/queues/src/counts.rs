//! The packet counters of a queue.

/// The counters of a queue since it was created, and the packets that wait in it. Packets are
/// conserved: each packet that entered was sent, was dropped after it left the queue, or waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// The number of packets that entered the queue.
    pub enqueued: u64,
    /// The bytes of the packets that entered the queue.
    pub enqueued_bytes: u64,
    /// The number of packets that left the queue and were transmitted.
    pub sent: u64,
    /// The bytes of the packets that were transmitted.
    pub sent_bytes: u64,
    /// The number of packets that left the queue and that the program then dropped in egress.
    pub dropped_behind: u64,
    /// The number of packets refused because the queue was full.
    pub dropped_depth: u64,
    /// The number of packets refused because the buffer of the port was full.
    pub dropped_buffer: u64,
    /// The number of packets refused by RED.
    pub dropped_red: u64,
    /// The number of packets that were marked as having met congestion.
    pub marked: u64,
    /// The largest number of packets that waited at once.
    pub deepest: u32,
    /// The number of packets that wait now.
    pub waiting: u32,
    /// The bytes of the packets that wait now.
    pub waiting_bytes: u64,
}

impl QueueCounts {
    /// Returns the number of packets that the queue refused.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_depth + self.dropped_buffer + self.dropped_red
    }
}
