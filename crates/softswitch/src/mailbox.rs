//! The mailbox through which other threads send orders and packets to a worker, and wake it.

use crate::injected::Injected;
use crate::queue_state::QueueState;
use bytes::Bytes;
use packetio::Queue;
use pipeline::Content;
use queues::Configuration;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The maximum number of packet-outs that wait in a worker's mailbox. Further packet-outs are
/// dropped.
const MAX_PACKETS: usize = 65_536;

/// The maximum number of packets from other workers that wait in a worker's mailbox. Further ones
/// are dropped.
const MAX_HANDED_OVER: usize = 4096;

/// An order to a worker. Devices are identified by their index in the configuration.
#[derive(Debug)]
pub(crate) enum Order {
    /// Starts to serve a queue of a port, whose packets pass while `enabled` is set.
    Attach { device: usize, port: u32, queue: Box<dyn Queue>, enabled: Arc<AtomicBool> },
    /// Stops serving the queue of a port.
    Detach { device: usize, port: u32 },
    /// Applies another configuration of queues to all ports, and reports the number of packets that
    /// were dropped because their queue no longer exists.
    SetQueues { device: usize, configuration: Configuration, answer: oneshot::Sender<u64> },
    /// Reports the state of the queues of ports.
    ReadQueues { device: usize, answer: oneshot::Sender<QueueState> },
    /// Runs packets as if they had arrived on ports.
    Inject { device: usize, injection: Injected },
}

/// A packet for an output queue, on its way from the worker that received it to the worker that
/// owns the queues.
#[derive(Debug)]
pub(crate) struct HandedOver {
    /// The index of the device in the configuration.
    pub(crate) device: usize,
    /// The port by which the packet is to leave the switch.
    pub(crate) port: u32,
    pub(crate) content: Content,
    /// The frame as it was received. Its ECN codepoint decides whether the packet may be marked.
    pub(crate) received: Bytes,
}

/// The mailbox of one worker.
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Whether the mailbox holds anything. A busy worker checks this without taking the lock.
    is_filled: AtomicBool,
    contents: Mutex<Contents>,
    wake: OwnedFd,
}

/// The contents of a mailbox.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) orders: Vec<Order>,
    /// Packet-outs with their controller headers, each with the index of its device.
    pub(crate) packets: Vec<(usize, Bytes)>,
    /// Packets for queues from other workers. The packets of each worker are in order.
    pub(crate) handed_over: Vec<HandedOver>,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { is_filled: AtomicBool::new(false), contents: Mutex::default(), wake })
    }

    pub(crate) fn order(&self, order: Order) {
        self.put(|contents| contents.orders.push(order));
    }

    /// Posts packet-outs of a device, and returns the number of those that were refused because the
    /// mailbox was full.
    pub(crate) fn packets(&self, device: usize, packets: impl Iterator<Item = Bytes>) -> usize {
        let mut refused = 0;
        self.put(|contents| {
            for packet in packets {
                if contents.packets.len() < MAX_PACKETS {
                    contents.packets.push((device, packet));
                } else {
                    refused += 1;
                }
            }
        });
        refused
    }

    /// Posts packets for queues, and returns the number of those that were refused because the
    /// mailbox was full.
    pub(crate) fn hand_over(&self, mut packets: Vec<HandedOver>) -> usize {
        let mut refused = 0;
        self.put(|contents| {
            let room = MAX_HANDED_OVER.saturating_sub(contents.handed_over.len());
            refused = packets.len().saturating_sub(room);
            packets.truncate(room);
            contents.handed_over.append(&mut packets);
        });
        refused
    }

    /// Wakes the worker if it is waiting in a poll.
    pub(crate) fn wake(&self) {
        // The counter can be full only because of earlier wake-ups, and those wake the worker too.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    pub(crate) fn take(&self) -> Option<Contents> {
        // The worker checks every turn and almost never finds anything. A plain load leaves the
        // cache line shared between cores.
        if !self.is_filled.load(Ordering::Relaxed) || !self.is_filled.swap(false, Ordering::Acquire)
        {
            return None;
        }
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut *contents))
    }

    /// Returns the descriptor that becomes readable when something is posted. Call [`Self::quiet`]
    /// once it has become readable.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    pub(crate) fn quiet(&self) {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
    }

    fn put(&self, put: impl FnOnce(&mut Contents)) {
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        put(&mut contents);
        drop(contents);
        if !self.is_filled.swap(true, Ordering::Release) {
            self.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_beyond_the_capacity_are_refused() {
        let mailbox = Mailbox::new().expect("a descriptor");
        assert!(mailbox.take().is_none());
        let packets = (0..MAX_PACKETS + 3).map(|_| Bytes::new());
        assert_eq!(mailbox.packets(1, packets), 3);
        let contents = mailbox.take().expect("it is filled");
        assert_eq!((contents.packets.len(), contents.orders.len()), (MAX_PACKETS, 0));
        assert!(mailbox.take().is_none());
        mailbox.quiet();
    }

    #[test]
    fn packets_for_queues_beyond_the_capacity_are_refused_and_the_first_are_kept() {
        let mailbox = Mailbox::new().expect("a descriptor");
        let packet = |port| HandedOver {
            device: 0,
            port,
            content: Content::Frame(Vec::new()),
            received: Bytes::new(),
        };
        let most = u32::try_from(MAX_HANDED_OVER).expect("a small number");
        assert_eq!(mailbox.hand_over((0..most - 1).map(packet).collect()), 0);
        assert_eq!(mailbox.hand_over((most - 1..most + 4).map(packet).collect()), 4);
        let handed = mailbox.take().expect("it is filled").handed_over;
        assert!(handed.iter().map(|packet| packet.port).eq(0..most));
        assert_eq!(mailbox.hand_over(vec![packet(1)]), 0);
    }
}
