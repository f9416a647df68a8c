//! The queues of a device's ports: packets that wait between ingress and egress, and their paced
//! transmission.
//!
//! The model of the `queues` crate decides when each packet leaves. The worker lets it leave as
//! soon as it can after that time, and measures how late that was. Programs read the model's times,
//! which are exact. Lateness does not add up: the next packet is due by the model's clock.

use super::Lane;
use crate::log::{PacketLog, Verbosity};
use pipeline::{Content, Leaving, Output, QueuedPorts};
use queues::{Configuration, QueueCounts, Refusal, ecn};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The interval at which a busy worker publishes the counters of its queues.
const PUBLISH: Duration = Duration::from_millis(50);

/// The number of classes by which lateness is counted. Class `n` is below 2^n nanoseconds.
const CLASSES: usize = 64;

/// The state of a device's queues at one moment.
#[derive(Clone, Debug, Default)]
pub struct QueueState {
    /// The counters of each queue: the port, the number of the queue, and the counters.
    pub queues: Vec<(u32, u8, QueueCounts)>,
    /// The lateness of each port that has queues.
    pub paces: BTreeMap<u32, Pace>,
    /// Packets that were dropped because another pipeline was committed while they waited.
    pub replaced: u64,
}

/// How much later than the model packets left a port.
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
    fn count(&mut self, late: Duration) {
        let late = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.packets += 1;
        self.total = self.total.saturating_add(late);
        self.largest = self.largest.max(late);
        let class = (u64::BITS - late.leading_zeros()) as usize;
        if let Some(class) = self.classes.get_mut(class.min(CLASSES - 1)) {
            *class += 1;
        }
    }

    /// Returns a time that at least 99 % of the packets were not later than. It is a power of two
    /// nanoseconds, or the largest lateness if that is less.
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

/// The queues of a device's ports, and the packets in them.
#[derive(Debug)]
pub(super) struct Queued {
    ports: QueuedPorts<()>,
    state: QueueState,
    published: Instant,
}

impl Queued {
    pub(super) fn new(configuration: &Configuration, seed: u64) -> Self {
        let ports = QueuedPorts::new(configuration, Duration::ZERO, seed);
        let paces = configuration.0.keys().map(|port| (*port, Pace::default())).collect();
        let state = QueueState { paces, ..QueueState::default() };
        Self { ports, state, published: Instant::now() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }
}

impl Lane {
    /// Returns the time until a port with queues starts its next packet.
    pub(super) fn until_due(&self) -> Option<Duration> {
        let (due, _) = self.queued.ports.next()?;
        Some(due.saturating_sub(self.now()))
    }

    /// Processes packets that arrived on one port, of a device whose ports have queues. Packets run
    /// one at a time, so that those that are due in the meantime leave.
    pub(super) fn process_queued(&mut self, port: u32, packets: &[(u32, &[u8])]) {
        let mut outputs = Vec::new();
        for (_, packet) in packets {
            self.serve();
            outputs.clear();
            let now = self.now();
            let outcome = if self.shared.log.wants(Verbosity::Debug) {
                let mut log = PacketLog { log: &self.shared.log, device: self.shared.id };
                self.program.process_traced(port, packet, now, &mut log, &mut outputs)
            } else {
                self.program.process(port, packet, now, &mut outputs)
            };
            if let Err(fault) = outcome {
                self.log_fault(port, &fault);
            }
            self.distribute(now, packet, &mut outputs);
        }
        self.serve();
    }

    /// Sends the packets that the program has produced from a received one, or puts them into
    /// queues.
    fn distribute(&mut self, now: Duration, received: &[u8], outputs: &mut Vec<Output>) {
        for Output { port, packet, .. } in outputs.drain(..) {
            if self.queued.ports.has(port) {
                // The architecture has no egress.
                self.admit(now, port, Content::Frame(packet), received);
            } else {
                self.send(port, &[&packet]);
            }
        }
        for waiting in self.program.take_waiting() {
            self.admit(now, waiting.port(), Content::Waiting(Box::new(waiting)), received);
        }
    }

    fn admit(&mut self, now: Duration, port: u32, content: Content, received: &[u8]) {
        // The model counts packets that it refuses.
        if let Err(refusal) = self.queued.ports.admit(now, port, content, received, ())
            && (refusal == Refusal::NoQueue || self.shared.log.wants(Verbosity::Debug))
        {
            let id = self.shared.id;
            let text = format_args!("device {id}: a packet for port {port} is dropped: {refusal}");
            self.shared.log.line(Verbosity::Debug, text);
        }
    }

    /// Lets all packets leave that are due. Returns whether any did.
    pub(super) fn serve(&mut self) -> bool {
        let mut served = false;
        while let Some((due, port)) = self.queued.ports.next() {
            let now = self.now();
            if due > now {
                break;
            }
            let Some(leaving) = self.queued.ports.take(port, now) else { break };
            self.transmit(port, leaving);
            served = true;
        }
        served
    }

    /// Runs egress for a packet that leaves its queue, and transmits it.
    fn transmit(&mut self, port: u32, leaving: Leaving<()>) {
        let Leaving { content, times, is_marked, .. } = leaving;
        let mut outputs = Vec::new();
        match content {
            Content::Frame(packet) => outputs.push(Output { port, packet, generation: 0 }),
            Content::Waiting(waiting) => {
                match self.program.resume(*waiting, &times, &mut outputs) {
                    Ok(true) => {}
                    Ok(false) => self.queued.state.replaced += 1,
                    Err(fault) => self.log_fault(port, &fault),
                }
            }
        }
        let own = outputs.iter().position(|output| output.port == port);
        let own = own.map(|position| outputs.remove(position));
        self.queued.ports.finished(port, own.as_ref().map(|own| own.packet.len()));
        let mut received = Vec::new();
        if let Some(Output { mut packet, .. }) = own {
            if is_marked {
                ecn::mark(&mut packet);
            }
            self.send(port, &[&packet]);
            self.flush(port);
            let late = self.now().saturating_sub(times.left);
            if let Some(pace) = self.queued.state.paces.get_mut(&port) {
                pace.count(late);
            }
            received = packet;
        }
        self.distribute(times.left, &received, &mut outputs);
    }

    /// Hands the packets of a port to its device.
    fn flush(&mut self, port: u32) {
        if let Some(attached) = self.ports.iter_mut().find(|attached| attached.number == port) {
            attached.is_dirty = !attached.queue.flush();
        }
    }

    /// Publishes the counters of the queues, at once or at most every [`PUBLISH`].
    pub(super) fn publish(&mut self, at_once: bool) {
        if self.queued.is_empty() || !(at_once || self.queued.published.elapsed() >= PUBLISH) {
            return;
        }
        self.queued.published = Instant::now();
        self.queued.state.queues = self.queued.ports.counts().collect();
        self.shared.publish_queues(&self.queued.state);
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
