//! A port with queues.

use crate::config::PortConfig;
use crate::counts::QueueCounts;
use crate::queue::{Buffer, Clocks, Queue, Refusal};
use crate::scheduler::{Head, Scheduler};
use crate::units::{Nanos, QueueId};

/// The packet length in bytes that RED assumes when it converts an idle time to the number of
/// packets that the port could have sent in it.
const TYPICAL_LENGTH: u64 = 1_000;

/// A packet that arrives at a port. `H` is a handle by which the caller identifies the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<H> {
    /// The length of the packet in bytes.
    pub length: u32,
    /// Whether the packet may be marked as having met congestion (ECN).
    pub is_capable: bool,
    /// The handle by which the caller identifies the packet.
    pub handle: H,
}

/// The result of a packet's admission to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// The number of packets that waited in the queue before the packet entered.
    pub depth: u32,
    /// Whether the packet must be marked as having met congestion.
    pub marked: bool,
}

/// A packet that was refused, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused<H> {
    /// The reason why the packet was refused.
    pub refusal: Refusal,
    /// The handle by which the caller identifies the packet.
    pub handle: H,
}

/// A packet that leaves its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<H> {
    /// The time at which the port starts to send the packet. It may be before the time at which the
    /// caller takes the packet out.
    pub start: Nanos,
    /// The time at which the packet entered its queue.
    pub arrived: Nanos,
    /// The queue that the packet leaves.
    pub queue: QueueId,
    /// The number of packets that waited in the queue before the packet entered.
    pub depth_before: u32,
    /// The number of packets that wait in the queue after this one has left.
    pub depth_left: u32,
    /// Whether the packet must be marked as having met congestion.
    pub marked: bool,
    /// The length of the packet in bytes when it entered the queue.
    pub length: u32,
    /// The handle by which the caller identifies the packet.
    pub handle: H,
}

/// A packet that has left its queue, before `Port::finished` states its length on the wire.
#[derive(Debug)]
struct InService {
    /// The token buckets of the port's shaper, as they were before the packet was charged.
    clocks: Clocks,
    /// The earliest time at which a waiting packet could have been sent.
    from: Nanos,
    start: Nanos,
    queue: QueueId,
    /// The length in bytes for which the port is charged.
    length: u32,
}

/// The queues of an output port. See the documentation of the crate.
#[derive(Debug)]
pub struct Port<H> {
    config: PortConfig,
    queues: Vec<Queue<H>>,
    scheduler: Scheduler,
    clocks: Clocks,
    /// The number of packets that wait in all queues together.
    packets: usize,
    /// The number of bytes in the packets that wait in all queues together.
    bytes: u64,
    in_service: Option<InService>,
    /// The time at which the port is free after a change of its configuration: the end of the
    /// packet that was on the wire at that time.
    free: Nanos,
    seed: u64,
}

impl<H> Port<H> {
    /// Creates a port whose queues are empty at `now`. The random drops of RED depend on `seed`.
    #[must_use]
    pub fn new(config: &PortConfig, now: Nanos, seed: u64) -> Self {
        let seeds = (0..).map(|number| seed_of(seed, number));
        let queues = config.queues.iter().zip(seeds);
        Self {
            queues: queues.map(|(queue, seed)| Queue::new(queue, now, seed)).collect(),
            scheduler: Scheduler::new(&config.queues),
            clocks: Clocks::new(config.shaper, now),
            config: config.clone(),
            packets: 0,
            bytes: 0,
            in_service: None,
            free: Nanos(0),
            seed,
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &PortConfig {
        &self.config
    }

    /// Admits a packet to a queue. Times must not go back, and packets that are due before `now`
    /// must have been taken out, or this packet may overtake them.
    ///
    /// # Errors
    /// Returns the packet if it is refused.
    pub fn enqueue(
        &mut self,
        now: Nanos,
        queue: QueueId,
        arrival: Arrival<H>,
    ) -> Result<Enqueued, Refused<H>> {
        let buffer = Buffer { used: self.bytes, typical: self.typical() };
        let length = u64::from(arrival.length);
        let outcome = match self.queues.get_mut(queue.index()) {
            Some(queue) => queue.enqueue(now, arrival, &self.config, &buffer),
            None => Err((Refusal::NoQueue, arrival.handle)),
        };
        match outcome {
            Ok(enqueued) => {
                self.packets += 1;
                self.bytes += length;
                Ok(enqueued)
            }
            Err((refusal, handle)) => Err(Refused { refusal, handle }),
        }
    }

    /// Returns the time at which the port starts its next packet, or `None` if no packet waits.
    #[must_use]
    pub fn due(&self) -> Option<Nanos> {
        Some(self.earliest()?.max(self.clocks.hold(0, 0)).max(self.free))
    }

    /// Returns the earliest time at which the scheduler may choose one of the waiting packets.
    fn earliest(&self) -> Option<Nanos> {
        self.queues.iter().filter_map(Queue::released).min()
    }

    /// Takes out the packet that the port starts to send at or before `now`. If the packet then
    /// leaves with another length than it had in the queue, the caller must state that with
    /// [`Self::finished`].
    pub fn dequeue(&mut self, now: Nanos) -> Option<Departure<H>> {
        let start = self.due().filter(|due| *due <= now)?;
        let from = self.earliest()?;
        let queues = &self.queues;
        let head = |queue: QueueId| {
            let first = queues.get(queue.index())?.packets.front()?;
            Some(Head { queue, released: first.released, length: first.length })
        };
        let queue = self.scheduler.choose(start, head)?;
        let chosen = self.queues.get_mut(queue.index())?;
        let first = chosen.pop(start)?;
        chosen.counts.sent += 1;
        let depth_left = u32::try_from(chosen.packets.len()).unwrap_or(u32::MAX);
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(first.length.into());
        chosen.counts.sent_bytes += u64::from(first.length);
        let length = first.length;
        self.in_service = Some(InService { clocks: self.clocks, from, start, queue, length });
        self.charge(from, length);
        Some(Departure {
            start,
            arrived: first.arrived,
            queue,
            depth_before: first.depth,
            depth_left,
            marked: first.marked,
            length: first.length,
            handle: first.handle,
        })
    }

    /// Charges the port's shaper for a packet of `length` bytes, which could have been sent at
    /// `from`.
    fn charge(&mut self, from: Nanos, length: u32) {
        self.clocks.take(from, self.config.bits(length), [0, 0]);
    }

    /// States the length in bytes with which the packet that was taken out last leaves the port.
    /// `None` stands for a packet that was dropped after it left its queue, and does not occupy the
    /// port. Returns the time at which the last bit of the packet has left, or zero if no packet
    /// was taken out since the last call.
    pub fn finished(&mut self, length: Option<u32>) -> Nanos {
        let Some(service) = self.in_service.take() else { return Nanos(0) };
        self.clocks = service.clocks;
        if let Some(queue) = self.queues.get_mut(service.queue.index()) {
            let counts = &mut queue.counts;
            counts.sent_bytes -= u64::from(service.length);
            counts.sent_bytes += u64::from(length.unwrap_or(0));
            counts.sent -= u64::from(length.is_none());
            counts.dropped_behind += u64::from(length.is_none());
        }
        let Some(length) = length else { return service.start };
        self.charge(service.from, length);
        service.start.max(self.clocks.bits_paid())
    }

    /// Returns the number of packets that wait in all queues.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.packets
    }

    /// Returns the bytes of the packets that wait in all queues.
    #[must_use]
    pub fn waiting_bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the counters of each queue, by number.
    pub fn counts(&self) -> impl Iterator<Item = QueueCounts> + '_ {
        self.queues.iter().map(|queue| QueueCounts {
            waiting: u32::try_from(queue.packets.len()).unwrap_or(u32::MAX),
            waiting_bytes: queue.bytes,
            ..queue.counts
        })
    }

    /// Applies another configuration from `now` on, also to packets that wait. Packets that are due
    /// before `now` must have been taken out.
    ///
    /// A queue keeps its counters, and its packets even if they exceed its new depth. Returns the
    /// packets of queues that no longer exist, in the order in which they arrived at each.
    ///
    /// A token bucket keeps its tokens, up to its new capacity, so a change does not allow another
    /// burst. The packet on the wire is sent to its end at its old rate. The scheduler starts new
    /// rounds if a level or share changes.
    pub fn configure(&mut self, now: Nanos, config: &PortConfig) -> Vec<H> {
        if config.shaper != self.config.shaper {
            self.free = now.max(self.clocks.hold(0, 0)).max(self.free);
            self.clocks = self.clocks.changed(config.shaper, self.free);
        }
        self.in_service = None;
        let mut gone = Vec::new();
        while self.queues.len() > config.queues.len() {
            let Some(queue) = self.queues.pop() else { break };
            self.packets = self.packets.saturating_sub(queue.packets.len());
            self.bytes = self.bytes.saturating_sub(queue.bytes);
            gone.extend(queue.packets.into_iter().map(|waiting| waiting.handle));
        }
        let is_scheduled_alike =
            self.config.queues.len() == config.queues.len()
                && self.config.queues.iter().zip(&config.queues).all(|(before, after)| {
                    (before.level, before.share) == (after.level, after.share)
                });
        for (number, own) in (0..).zip(&config.queues) {
            let seed = seed_of(self.seed, number);
            match self.queues.get_mut(usize::try_from(number).unwrap_or(usize::MAX)) {
                Some(queue) => queue.configure(own, now, [&self.config, config], seed),
                None => self.queues.push(Queue::new(own, now, seed)),
            }
        }
        if !is_scheduled_alike {
            self.scheduler = Scheduler::new(&config.queues);
        }
        self.config = config.clone();
        gone
    }

    fn typical(&self) -> u64 {
        let Some(limit) = self.config.shaper.bits else { return 0 };
        8 * TYPICAL_LENGTH * 1_000_000_000 / limit.rate.get()
    }
}

/// Returns the seed from which the random drops of one queue are drawn.
fn seed_of(seed: u64, queue: u64) -> u64 {
    seed.wrapping_add(queue.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
