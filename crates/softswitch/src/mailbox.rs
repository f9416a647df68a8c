//! What other threads ask of a worker, and how they wake it.

use bytes::Bytes;
use packetio::Queue;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Packets of controllers that may wait for a worker; more are dropped, as a full port does.
const MOST_PACKETS: usize = 65_536;

/// Something that a worker is to do. Devices are counted in the order of the configuration.
#[derive(Debug)]
pub(crate) enum Order {
    /// Serve a queue.
    Attach { device: usize, port: u32, queue: Box<dyn Queue> },
    /// Let a port go.
    Detach { device: usize, port: u32 },
    /// Let packets pass a port or not.
    Enable { device: usize, port: u32, enabled: bool },
}

/// A worker's mailbox.
#[derive(Debug)]
pub(crate) struct Mailbox {
    /// Whether there is anything in it, so that a worker that is busy looks without a lock.
    is_filled: AtomicBool,
    contents: Mutex<Contents>,
    wake: OwnedFd,
}

/// What was found in a mailbox.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) orders: Vec<Order>,
    /// Packets from controllers, with their controller headers, by device.
    pub(crate) packets: Vec<(usize, Bytes)>,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { is_filled: AtomicBool::new(false), contents: Mutex::default(), wake })
    }

    pub(crate) fn order(&self, order: Order) {
        self.put(|contents| contents.orders.push(order));
    }

    /// Posts packets; returns how many found no room.
    pub(crate) fn packets(&self, device: usize, packets: impl Iterator<Item = Bytes>) -> usize {
        let mut refused = 0;
        self.put(|contents| {
            for packet in packets {
                if contents.packets.len() < MOST_PACKETS {
                    contents.packets.push((device, packet));
                } else {
                    refused += 1;
                }
            }
        });
        refused
    }

    /// Makes a worker that waits look around.
    pub(crate) fn wake(&self) {
        // The counter can only be full of earlier calls, which wake as well.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    pub(crate) fn take(&self) -> Option<Contents> {
        // Asked in every turn of the worker, and nearly always in vain: then the line stays with all who have it.
        if !self.is_filled.load(Ordering::Relaxed) || !self.is_filled.swap(false, Ordering::Acquire)
        {
            return None;
        }
        let mut contents = self.contents.lock().unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut *contents))
    }

    /// To be polled; [`Self::quiet`] when it was readable.
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
    fn packets_beyond_the_room_are_refused() {
        let mailbox = Mailbox::new().expect("a descriptor");
        assert!(mailbox.take().is_none());
        let packets = (0..MOST_PACKETS + 3).map(|_| Bytes::new());
        assert_eq!(mailbox.packets(1, packets), 3);
        let contents = mailbox.take().expect("it is filled");
        assert_eq!((contents.packets.len(), contents.orders.len()), (MOST_PACKETS, 0));
        assert!(mailbox.take().is_none());
        mailbox.quiet();
    }
}
