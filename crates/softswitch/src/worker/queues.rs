//! The queues of a device's ports: packets that wait between ingress and egress, and their paced
//! transmission.
//!
//! The model of the `queues` crate decides when each packet leaves. The worker lets it leave as
//! soon as it can after that time, and measures how late that was. Programs read the model's times,
//! which are exact. Lateness does not add up: the next packet is due by the model's clock.
//!
//! One worker owns the queues of all ports. It runs the egress of the packets in them, and
//! transmits them. Other workers run ingress, and hand the packets over in its mailbox, a burst at
//! a time, so the packets of a worker stay in order. A queue thus needs no lock, and its packets
//! and rate have one clock.

use super::Lane;
use crate::log::Verbosity;
use crate::mailbox::HandedOver;
use crate::queue_state::{Pace, QueueState};
use bytes::Bytes;
use pipeline::{Content, Leaving, Output, QueuedPorts};
use queues::{Configuration, Refusal, ecn};
use std::time::{Duration, Instant};

/// The interval at which a busy worker publishes the counters of its queues.
const PUBLISH: Duration = Duration::from_millis(50);
/// The index of the worker that owns the queues of ports.
const OWNER: usize = 0;
/// The longest time that a busy worker holds back a packet, so that one system call can send
/// several of them. A system call for each packet would take a fifth of the worker's time.
const GATHER: Duration = Duration::from_micros(10);

/// The queues of a device's ports, and the packets in them.
#[derive(Debug)]
pub(super) struct Queued {
    ports: QueuedPorts<()>,
    state: QueueState,
    published: Instant,
    /// The largest memory in bytes that waiting packets may occupy.
    memory: u64,
    unflushed: Unflushed,
}

/// The packets that have left their queues and were given to ports, but that the ports have not
/// flushed yet.
#[derive(Debug, Default)]
struct Unflushed {
    /// The port of each packet, and the time at which the model lets it leave.
    packets: Vec<(u32, Duration)>,
    /// The time at which the first of these packets was given to its port.
    since: Duration,
}

impl Unflushed {
    fn push(&mut self, now: Duration, port: u32, left: Duration) {
        if self.packets.is_empty() {
            self.since = now;
        }
        self.packets.push((port, left));
    }

    fn is_due(&self, now: Duration) -> bool {
        !self.packets.is_empty() && now.saturating_sub(self.since) >= GATHER
    }
}

impl Queued {
    pub(super) fn new(configuration: &Configuration, seed: u64, memory: u64) -> Self {
        let ports = QueuedPorts::new(configuration, Duration::ZERO, seed);
        let paces = configuration.0.keys().map(|port| (*port, Pace::default())).collect();
        let state = QueueState { paces, ..QueueState::default() };
        Self { ports, state, published: Instant::now(), memory, unflushed: Unflushed::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    pub(super) fn state(&mut self) -> &QueueState {
        self.state.queues = self.ports.counts().collect();
        &self.state
    }
}

impl Lane {
    /// Returns whether the queues of ports belong to this worker.
    pub(super) fn owns_queues(&self) -> bool {
        self.worker == OWNER
    }

    /// Returns whether packets that this worker receives may leave through ports with queues.
    pub(super) fn serves_queues(&self) -> bool {
        match self.owns_queues() {
            true => !self.queued.is_empty(),
            false => self.shared.has_queues(),
        }
    }

    /// Returns the time until a port with queues starts its next packet.
    pub(super) fn until_due(&self) -> Option<Duration> {
        let (due, _) = self.queued.ports.next()?;
        Some(due.saturating_sub(self.now()))
    }

    /// Applies another configuration to the queues of the device's ports. Returns the number of
    /// packets that were dropped because their queue no longer exists.
    pub(super) fn set_queues(&mut self, configuration: &Configuration) -> u64 {
        // Packets that are due by the old configuration leave by it.
        self.serve();
        let now = self.now();
        let Queued { ports, state, .. } = &mut self.queued;
        let gone = ports.configure(configuration, now, self.shared.id);
        state.paces.retain(|port, _| ports.has(*port));
        for port in configuration.0.keys() {
            state.paces.entry(*port).or_default();
        }
        let dropped = u64::try_from(gone.len()).unwrap_or(u64::MAX);
        state.removed = state.removed.saturating_add(dropped);
        self.shared.set_port_queues(self.queued.ports.port_queues());
        self.shared.publish_queues(self.queued.state());
        dropped
    }

    /// Returns the state of the queues now.
    pub(super) fn read_queues(&mut self) -> QueueState {
        self.serve();
        self.queued.state().clone()
    }

    /// Processes packets that arrived on one port of a device whose ports have queues. Packets are
    /// processed one at a time, and queued packets that fall due in the meantime are sent in
    /// between. They leave late by at most [`GATHER`] and the time of one packet.
    pub(super) fn process_queued(&mut self, port: u32, packets: &[(u32, &[u8])]) {
        let mut outputs = Vec::new();
        for (_, packet) in packets {
            let (now, _) = self.transmit_due();
            outputs.clear();
            let outcome = if self.shared.log.wants_traces() {
                self.traced(port, packet, now).map(|traced| outputs = traced)
            } else {
                self.program.process(port, packet, now, &mut outputs)
            };
            if let Err(fault) = outcome {
                self.log_fault(port, &fault);
            }
            self.distribute(now, packet, &mut outputs);
        }
        self.serve();
        self.hand_over();
    }

    /// Sends the packets that the program has made from a received packet. Those for ports with
    /// queues enter their queues.
    fn distribute(&mut self, now: Duration, received: &[u8], outputs: &mut Vec<Output>) {
        for Output { port, packet, .. } in outputs.drain(..) {
            let is_queued = match self.owns_queues() {
                true => self.queued.ports.has(port),
                false => self.shared.has_queues_at(port),
            };
            if is_queued {
                // The architecture has no egress.
                self.enqueue(now, port, Content::Frame(packet), received);
            } else {
                self.send(port, &[&packet]);
            }
        }
        for waiting in self.program.take_waiting() {
            self.enqueue(now, waiting.port(), Content::Waiting(Box::new(waiting)), received);
        }
    }

    /// Puts a packet into its queue. If another worker owns the queues, the packet is set aside to
    /// be handed over to that worker.
    fn enqueue(&mut self, now: Duration, port: u32, content: Content, received: &[u8]) {
        match self.owns_queues() {
            true => self.admit(now, port, content, received),
            false => self.set_aside(port, content, received),
        }
    }

    /// Sets a packet aside, to be handed over to the owner of the queues at the end of the burst.
    fn set_aside(&mut self, port: u32, content: Content, received: &[u8]) {
        let (device, received) = (self.shared.index, Bytes::copy_from_slice(received));
        self.handing_over.push(HandedOver { device, port, content, received });
    }

    /// Hands the packets of a burst over to the owner of the queues.
    fn hand_over(&mut self) {
        if !self.handing_over.is_empty() {
            let packets = std::mem::take(&mut self.handing_over);
            let refused = self.shared.mailbox.hand_over(packets);
            self.shared.tallies.queues_overrun.add(refused);
        }
    }

    /// Hands over the packets that now wait for queues because queues were added while their burst
    /// was processed.
    pub(super) fn hand_over_late(&mut self) {
        if self.owns_queues() {
            return;
        }
        for waiting in self.program.take_waiting() {
            // It is not marked, since the frame as it was received is gone.
            self.set_aside(waiting.port(), Content::Waiting(Box::new(waiting)), &[]);
        }
        self.hand_over();
    }

    /// Drops packets that now wait for queues because queues were added while their burst was
    /// processed. Of these packets, only the heads are in memory, so they could not be sent later.
    pub(super) fn drop_late_heads(&mut self) {
        if !self.owns_queues() {
            let late = self.program.take_waiting().len();
            self.shared.tallies.queues_overrun.add(late);
        }
    }

    /// Takes over a packet that another worker has received.
    pub(super) fn take_over(&mut self, port: u32, content: Content, received: &[u8]) {
        let (now, _) = self.transmit_due();
        if self.queued.ports.has(port) {
            self.admit(now, port, content, received);
            return;
        }
        // The port had queues when the packet was received, and has none now.
        let mut outputs = Vec::new();
        match content {
            Content::Frame(packet) => outputs.push(Output { port, packet, generation: 0 }),
            Content::Waiting(waiting) => {
                if let Err(fault) = self.resume_at_once(*waiting, now, &mut outputs) {
                    self.log_fault(port, &fault);
                }
            }
        }
        self.distribute(now, received, &mut outputs);
    }

    fn admit(&mut self, now: Duration, port: u32, content: Content, received: &[u8]) {
        if self.queued.ports.memory() >= self.queued.memory {
            self.queued.state.beyond_memory += 1;
            return;
        }
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
        let (_, served) = self.transmit_due();
        self.flush_sent();
        served
    }

    /// Gives all packets that are due to their ports, and flushes the ports whenever [`GATHER`] has
    /// passed. Returns the time at the end, and whether any packet was due.
    fn transmit_due(&mut self) -> (Duration, bool) {
        let mut served = false;
        loop {
            let now = self.now();
            if self.queued.unflushed.is_due(now) {
                self.flush_sent();
            }
            let due = self.queued.ports.next().filter(|(due, _)| *due <= now);
            let taken = due.and_then(|(_, port)| Some((port, self.queued.ports.take(port, now)?)));
            let Some((port, leaving)) = taken else { return (now, served) };
            self.transmit(now, port, leaving);
            served = true;
        }
    }

    /// Flushes the ports that were given packets from queues, and records the lateness of these
    /// packets.
    pub(super) fn flush_sent(&mut self) {
        if self.queued.unflushed.packets.is_empty() {
            return;
        }
        let mut packets = std::mem::take(&mut self.queued.unflushed.packets);
        for attached in self.ports.iter_mut().filter(|attached| attached.is_dirty) {
            attached.is_dirty = !attached.queue.flush();
        }
        let now = self.now();
        for (port, left) in packets.drain(..) {
            if let Some(pace) = self.queued.state.paces.get_mut(&port) {
                pace.count(now.saturating_sub(left));
            }
        }
        // The allocation is used again.
        self.queued.unflushed.packets = packets;
    }

    /// Runs egress for a packet that leaves its queue, and sends it to its port.
    fn transmit(&mut self, now: Duration, port: u32, leaving: Leaving<()>) {
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
            self.queued.unflushed.push(now, port, times.left);
            received = packet;
        }
        self.distribute(times.left, &received, &mut outputs);
    }

    /// Publishes the counters of the queues, so that clients can read them. Unless `at_once` is
    /// set, this happens at most every [`PUBLISH`].
    pub(super) fn publish(&mut self, at_once: bool) {
        if self.queued.is_empty() || !(at_once || self.queued.published.elapsed() >= PUBLISH) {
            return;
        }
        self.queued.published = Instant::now();
        self.shared.publish_queues(self.queued.state());
    }
}
