//! The queues of a switch's ports, with the packets that wait in them. The program that uses the
//! switch advances the queues, and passes in the time.

use crate::architecture::waiting::{QueueTimes, Waiting};
use queues::{
    Arrival, Configuration, Departure, Enqueued, Nanos, Port, QueueCounts, QueueId, Refusal, ecn,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// The approximate memory in bytes of a packet that waits, in addition to its payload: its headers
/// and metadata as values.
const PACKET_BYTES: u64 = 1 << 10;

/// The queues of a switch's ports. `T` is the type of the data that the caller stores with each
/// packet.
#[derive(Debug)]
pub struct QueuedPorts<T> {
    ports: BTreeMap<u32, Port<(Content, T)>>,
}

/// A packet in a queue.
#[derive(Clone, Debug)]
pub enum Content {
    /// A packet for which egress runs when it leaves the queue.
    Waiting(Box<Waiting>),
    /// A packet that is transmitted unchanged, because its architecture has no egress. It waits in
    /// queue 0.
    Frame(Vec<u8>),
}

/// A packet that leaves its queue.
#[derive(Debug)]
pub struct Leaving<T> {
    /// The packet that leaves the queue.
    pub content: Content,
    /// The number of the queue.
    pub queue: u8,
    /// The times at which the packet entered the queue and leaves it.
    pub times: QueueTimes,
    /// Whether the packet must be marked as having met congestion ([`queues::ecn::mark`]).
    pub is_marked: bool,
    /// The data that the caller stored with the packet.
    pub tag: T,
}

impl Content {
    fn length(&self) -> u32 {
        let length = match self {
            Self::Waiting(waiting) => waiting.length(),
            Self::Frame(frame) => frame.len() as u64,
        };
        u32::try_from(length).unwrap_or(u32::MAX)
    }

    /// Returns the number of the packet's queue, or `None` if no queue can have this number.
    fn queue(&self) -> Option<QueueId> {
        match self {
            Self::Waiting(waiting) => QueueId::new(waiting.queue()),
            Self::Frame(_) => Some(QueueId::default()),
        }
    }
}

impl<T> QueuedPorts<T> {
    /// Creates empty queues. The random drops of RED depend on `seed`.
    #[must_use]
    pub fn new(configuration: &Configuration, now: Duration, seed: u64) -> Self {
        let of = |(number, config): (&u32, &queues::PortConfig)| {
            (*number, Port::new(config, nanos(now), seed.wrapping_add(u64::from(*number) << 32)))
        };
        Self { ports: configuration.0.iter().map(of).collect() }
    }

    /// Returns the number of queues of each port, for [`crate::Core::set_port_queues`].
    #[must_use]
    pub fn port_queues(&self) -> BTreeMap<u32, u32> {
        let of = |(number, port): (&u32, &Port<_>)| {
            (*number, u32::try_from(port.config().queues.len()).unwrap_or(u32::MAX))
        };
        self.ports.iter().map(of).collect()
    }

    /// Returns the configuration of all ports that have queues.
    #[must_use]
    pub fn configuration(&self) -> Configuration {
        let of = |(number, port): (&u32, &Port<_>)| (*number, port.config().clone());
        Configuration(self.ports.iter().map(of).collect())
    }

    /// Returns whether a port has queues.
    #[must_use]
    pub fn has(&self, port: u32) -> bool {
        self.ports.contains_key(&port)
    }

    /// Returns whether no port has queues.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// Returns the approximate memory in bytes of the packets that wait.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let of = |port: &Port<_>| {
            let packets = u64::try_from(port.waiting()).unwrap_or(u64::MAX);
            port.waiting_bytes().saturating_add(packets.saturating_mul(PACKET_BYTES))
        };
        self.ports.values().map(of).fold(0, u64::saturating_add)
    }

    /// Admits a packet to a queue of a port. `received` is the frame as it was received. Its ECN
    /// codepoint decides whether the packet may be marked.
    ///
    /// # Errors
    /// Returns the reason why the packet was refused. The packet is then dropped.
    pub fn admit(
        &mut self,
        now: Duration,
        port: u32,
        content: Content,
        received: &[u8],
        tag: T,
    ) -> Result<Enqueued, Refusal> {
        let Some(port) = self.ports.get_mut(&port) else { return Err(Refusal::NoQueue) };
        let Some(queue) = content.queue() else { return Err(Refusal::NoQueue) };
        let arrival = Arrival {
            length: content.length(),
            is_capable: ecn::is_capable(received),
            handle: (content, tag),
        };
        port.enqueue(nanos(now), queue, arrival).map_err(|refused| refused.refusal)
    }

    /// Returns the time at which a port starts to send its next packet.
    #[must_use]
    pub fn due(&self, port: u32) -> Option<Duration> {
        self.ports.get(&port)?.due().map(duration)
    }

    /// Returns the earliest time at which a port starts to send its next packet, and the number of
    /// this port.
    #[must_use]
    pub fn next(&self) -> Option<(Duration, u32)> {
        let due = self.ports.iter().filter_map(|(number, port)| Some((port.due()?, *number)));
        due.min().map(|(time, port)| (duration(time), port))
    }

    /// Takes out the packet that a port starts to send at or before `now`. The caller must then
    /// call [`Self::finished`] with the packet's length.
    pub fn take(&mut self, port: u32, now: Duration) -> Option<Leaving<T>> {
        let departure: Departure<(Content, T)> = self.ports.get_mut(&port)?.dequeue(nanos(now))?;
        let (content, tag) = departure.handle;
        Some(Leaving {
            content,
            queue: departure.queue.number(),
            times: QueueTimes {
                entered: duration(departure.arrived),
                left: duration(departure.start),
                depth_before: departure.depth_before,
                depth_after: departure.depth_left,
            },
            is_marked: departure.marked,
            tag,
        })
    }

    /// States the length in bytes with which the packet that was taken out last leaves its port, or
    /// `None` if egress dropped it. Returns the time at which the port has sent the packet.
    pub fn finished(&mut self, port: u32, length: Option<usize>) -> Duration {
        let length = length.map(|length| u32::try_from(length).unwrap_or(u32::MAX));
        let port = self.ports.get_mut(&port);
        port.map_or(Duration::ZERO, |port| duration(port.finished(length)))
    }

    /// Replaces the configuration of all ports ([`Port::configure`]). A port that the new
    /// configuration lacks has no queues afterwards. Packets in queues that no longer exist are
    /// dropped; returns the data that the caller stored with them.
    pub fn configure(&mut self, configuration: &Configuration, now: Duration, seed: u64) -> Vec<T> {
        let mut gone = Vec::new();
        let mut before = std::mem::take(self).ports;
        for (number, config) in &configuration.0 {
            let port = match before.remove(number) {
                Some(port) if port.config() == config => port,
                Some(mut port) => {
                    let dropped = port.configure(nanos(now), config);
                    gone.extend(dropped.into_iter().map(|(_, tag)| tag));
                    port
                }
                None => Port::new(config, nanos(now), seed.wrapping_add(u64::from(*number) << 32)),
            };
            self.ports.insert(*number, port);
        }
        for mut port in before.into_values() {
            while let Some(departure) = port.dequeue(Nanos(u64::MAX)) {
                gone.push(departure.handle.1);
            }
        }
        gone
    }

    /// Returns the counters of all queues, each with its port and its number.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u8, QueueCounts)> + '_ {
        self.ports.iter().flat_map(|(number, port)| {
            (0..).zip(port.counts()).map(|(queue, counts)| (*number, queue, counts))
        })
    }
}

impl<T> Default for QueuedPorts<T> {
    fn default() -> Self {
        Self { ports: BTreeMap::new() }
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(time.0)
}
