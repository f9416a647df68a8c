//! A queue: its waiting packets, their admission, and the times at which its shaper releases them.

use crate::clock::Clock;
use crate::config::{Limit, PortConfig, QueueConfig, Shaper, Unit};
use crate::counts::QueueCounts;
use crate::port::{Arrival, Enqueued};
use crate::red::{Length, Red, Verdict};
use crate::units::Nanos;
use std::collections::VecDeque;
use std::fmt;

/// The reason why a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The port has no queue of this number.
    NoQueue,
    /// The queue is full.
    Depth,
    /// The buffer of the port is full.
    Buffer,
    /// Random early detection chose to drop the packet.
    Red,
}

impl Refusal {
    /// Returns the text that describes the refusal as the reason of a drop.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoQueue => "the port has no queue of this priority",
            Self::Depth => "the queue is full",
            Self::Buffer => "the buffer of the port is full",
            Self::Red => "random early detection",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

/// A packet that waits in a queue.
#[derive(Debug)]
pub(crate) struct Waiting<H> {
    pub(crate) arrived: Nanos,
    /// The time at which the queue's shaper releases the packet, from which the scheduler may
    /// choose it.
    pub(crate) released: Nanos,
    pub(crate) length: u32,
    /// The number of packets that waited in the queue when this one arrived.
    pub(crate) depth: u32,
    pub(crate) marked: bool,
    pub(crate) handle: H,
}

/// The token buckets of a shaper: one for bits and one for packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    bits: Option<Clock>,
    packets: Option<Clock>,
}

impl Clocks {
    pub(crate) fn new(shaper: Shaper, full: Nanos) -> Self {
        let clock = |limit| Clock::new(limit, full);
        Self { bits: shaper.bits.map(clock), packets: shaper.packets.map(clock) }
    }

    /// Returns the first whole nanosecond at which both buckets hold enough tokens.
    pub(crate) fn hold(&self, bits: u64, packets: u64) -> Nanos {
        Ord::max(hold(self.bits, bits), hold(self.packets, packets))
    }

    /// Takes the tokens of a packet out of the buckets. `from` is the earliest time at which it
    /// could have taken them. `needed` holds the numbers of bits and packets that the buckets had
    /// to hold.
    pub(crate) fn take(&mut self, from: Nanos, bits: u64, needed: [u64; 2]) {
        // A bucket continues to fill while the packet waits for the other bucket.
        let [of_bits, of_packets] = needed;
        let (other, own) = (hold(self.packets, of_packets), hold(self.bits, of_bits));
        if let Some(clock) = &mut self.bits {
            clock.take(from.max(other), bits);
        }
        if let Some(clock) = &mut self.packets {
            clock.take(from.max(own), 1);
        }
    }

    /// Puts back the tokens of the packet that was charged last.
    fn put_back(&mut self, bits: u64) {
        if let Some(clock) = &mut self.bits {
            clock.put_back(bits);
        }
        if let Some(clock) = &mut self.packets {
            clock.put_back(1);
        }
    }

    /// Returns the buckets for another shaper, which start with the tokens that these buckets hold
    /// at `from`. A bucket for a limit that is new starts full.
    pub(crate) fn changed(&self, shaper: Shaper, from: Nanos) -> Self {
        let change = |clock: Option<Clock>, limit: Option<Limit>| {
            limit.map(|limit| match clock {
                Some(clock) => clock.changed(limit, from),
                None => Clock::new(limit, from),
            })
        };
        Self { bits: change(self.bits, shaper.bits), packets: change(self.packets, shaper.packets) }
    }

    /// Returns the first whole nanosecond at which the bucket of bits is not in debt.
    pub(crate) fn bits_paid(&self) -> Nanos {
        hold(self.bits, 0)
    }
}

fn hold(clock: Option<Clock>, tokens: u64) -> Nanos {
    clock.map_or(Nanos(0), |clock| clock.holds(tokens))
}

/// The properties of a port on which the admission of a packet to a queue depends.
pub(crate) struct Buffer {
    pub(crate) used: u64,
    /// The time in which the port sends a packet of typical length (`TYPICAL_LENGTH`), or zero if
    /// it has no rate.
    pub(crate) typical: u64,
}

/// A queue of a port.
#[derive(Debug)]
pub(crate) struct Queue<H> {
    pub(crate) config: QueueConfig,
    pub(crate) packets: VecDeque<Waiting<H>>,
    pub(crate) bytes: u64,
    clocks: Clocks,
    red: Option<Red>,
    pub(crate) counts: QueueCounts,
}

impl<H> Queue<H> {
    pub(crate) fn new(config: &QueueConfig, now: Nanos, seed: u64) -> Self {
        Self {
            clocks: Clocks::new(config.shaper, now),
            red: config.red.map(|red| Red::new(red, seed)),
            config: config.clone(),
            packets: VecDeque::new(),
            bytes: 0,
            counts: QueueCounts::default(),
        }
    }

    /// Returns the time from which the scheduler may choose the first packet of the queue, if there
    /// is one.
    pub(crate) fn released(&self) -> Option<Nanos> {
        self.packets.front().map(|first| first.released)
    }

    /// Admits a packet, or returns it with the reason for which it is refused.
    pub(crate) fn enqueue(
        &mut self,
        now: Nanos,
        arrival: Arrival<H>,
        port: &PortConfig,
        buffer: &Buffer,
    ) -> Result<Enqueued, (Refusal, H)> {
        let depth = u32::try_from(self.packets.len()).unwrap_or(u32::MAX);
        let marked = match self.admits(now, depth, &arrival, port, buffer) {
            Ok(marked) => marked,
            Err(refusal) => {
                let counts = &mut self.counts;
                match refusal {
                    Refusal::Depth | Refusal::NoQueue => counts.dropped_depth += 1,
                    Refusal::Buffer => counts.dropped_buffer += 1,
                    Refusal::Red => counts.dropped_red += 1,
                }
                return Err((refusal, arrival.handle));
            }
        };
        let released = self.release(now, arrival.length, port);
        self.bytes += u64::from(arrival.length);
        self.counts.enqueued += 1;
        self.counts.enqueued_bytes += u64::from(arrival.length);
        self.counts.marked += u64::from(marked);
        self.counts.deepest = self.counts.deepest.max(depth.saturating_add(1));
        let Arrival { length, handle, .. } = arrival;
        self.packets.push_back(Waiting { arrived: now, released, length, depth, marked, handle });
        Ok(Enqueued { depth, marked })
    }

    /// Decides whether a packet is admitted. Returns whether it is marked, or the reason why it is
    /// refused.
    fn admits(
        &mut self,
        now: Nanos,
        depth: u32,
        arrival: &Arrival<H>,
        port: &PortConfig,
        buffer: &Buffer,
    ) -> Result<bool, Refusal> {
        let length = u64::from(arrival.length);
        let is_beyond =
            |used: u64, most: Option<u64>| most.is_some_and(|most| used + length > most);
        if depth >= self.config.depth_packets || is_beyond(self.bytes, self.config.depth_bytes) {
            return Err(Refusal::Depth);
        }
        if is_beyond(buffer.used, port.buffer) {
            return Err(Refusal::Buffer);
        }
        let waiting = Length { packets: depth.into(), bytes: self.bytes };
        let mut marked = self.config.threshold.is_some_and(|threshold| match threshold.unit {
            Unit::Packets => waiting.packets >= threshold.length,
            Unit::Bytes => waiting.bytes >= threshold.length,
        }) && arrival.is_capable;
        if let Some(red) = &mut self.red {
            let marks = red.config().marks && arrival.is_capable;
            match red.arrives(now, waiting, buffer.typical) {
                Verdict::Accept => {}
                Verdict::Notify if marks => marked = true,
                Verdict::Notify | Verdict::Drop => return Err(Refusal::Red),
            }
        }
        Ok(marked)
    }

    /// Charges the shaper for a packet, and returns the time at which the packet is released.
    fn release(&mut self, now: Nanos, length: u32, port: &PortConfig) -> Nanos {
        let bits = port.bits(length);
        let released = now.max(self.clocks.hold(bits, 1));
        self.clocks.take(now, bits, [bits, 1]);
        released
    }

    /// Removes the first packet.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<Waiting<H>> {
        let first = self.packets.pop_front()?;
        self.bytes = self.bytes.saturating_sub(first.length.into());
        if self.packets.is_empty()
            && let Some(red) = &mut self.red
        {
            red.empties(now);
        }
        Some(first)
    }

    /// Applies another configuration, also to packets that wait. No packet is dropped. `before` is
    /// the port's old configuration, under which the waiting packets were charged, and `port` the
    /// new one.
    pub(crate) fn configure(
        &mut self,
        config: &QueueConfig,
        now: Nanos,
        [before, port]: [&PortConfig; 2],
        seed: u64,
    ) {
        if config.shaper != self.config.shaper {
            // Packets that are already released remain so. All others are charged again.
            let mut packets = std::mem::take(&mut self.packets);
            let is_pending = |waiting: &&mut Waiting<H>| waiting.released > now;
            for waiting in packets.iter_mut().rev().filter(is_pending) {
                self.clocks.put_back(before.bits(waiting.length));
            }
            self.clocks = self.clocks.changed(config.shaper, now);
            for waiting in packets.iter_mut().filter(is_pending) {
                waiting.released = self.release(now, waiting.length, port);
            }
            self.packets = packets;
        }
        if config.red != self.config.red {
            self.red = config.red.map(|red| Red::new(red, seed));
        }
        self.config = config.clone();
    }
}
