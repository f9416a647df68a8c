//! One XDP socket on one queue of an interface.

use super::ring::{Chunks, Ring};
use crate::{Burst, PortCounters, sys};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets, xdp_statistics,
};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING,
    XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{RecvFlags, SendFlags, bind, recv, send};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The number of chunks for incoming packets, of chunks for outgoing packets, and of entries in
/// each ring.
const PACKETS: u32 = 2048;
/// The headroom that the kernel leaves in front of a received packet (XDP_PACKET_HEADROOM), in
/// bytes.
const FRONT: usize = 256;

/// An XDP socket with its rings.
#[derive(Debug)]
pub(super) struct Socket {
    descriptor: OwnedFd,
    chunks: Chunks,
    /// The fill ring: chunks that the kernel may use for incoming packets.
    fill: Ring<u64>,
    received: Ring<libc::xdp_desc>,
    to_transmit: Ring<libc::xdp_desc>,
    /// The completion ring: chunks whose packets have been sent.
    completed: Ring<u64>,
    /// The unused chunks for outgoing packets.
    free: Vec<u64>,
    /// The lengths of packets that were accepted but have not been sent yet.
    lengths: VecDeque<u32>,
    /// The number of dropped packets, as the kernel reported it last.
    dropped: u64,
}

/// The longest packet in bytes that fits into a chunk of one page.
pub(super) const LONGEST: usize = 4096 - FRONT;

impl Socket {
    /// Opens a socket on a queue, for packets of up to `longest` bytes, which must not exceed
    /// [`LONGEST`]. The kernel copies packets only if the driver requires it.
    pub(super) fn open(ifindex: u32, queue: u32, longest: usize) -> io::Result<Self> {
        let descriptor = sys::socket(libc::AF_XDP, libc::SOCK_RAW)?;
        let chunk = (longest + FRONT).next_power_of_two().max(2048);
        let chunks = Chunks::new(chunk, 2 * PACKETS as usize)?;
        let (addr, len) = chunks.region();
        let flags = XdpUmemRegFlags::empty();
        let chunk_size = chunk as u32;
        let region = XdpUmemReg { addr, len, chunk_size, headroom: 0, flags, tx_metadata_len: 0 };
        set_xdp_umem_reg(&descriptor, region)?;
        set_xdp_umem_fill_ring_size(&descriptor, PACKETS)?;
        set_xdp_umem_completion_ring_size(&descriptor, PACKETS)?;
        set_xdp_rx_ring_size(&descriptor, PACKETS)?;
        set_xdp_tx_ring_size(&descriptor, PACKETS)?;
        let at = xdp_mmap_offsets(&descriptor)?;
        let mut fill = Ring::map(&descriptor, XDP_UMEM_PGOFF_FILL_RING, at.fr, PACKETS)?;
        let completed = Ring::map(&descriptor, XDP_UMEM_PGOFF_COMPLETION_RING, at.cr, PACKETS)?;
        let received = Ring::map(&descriptor, XDP_PGOFF_RX_RING, at.rx, PACKETS)?;
        let to_transmit = Ring::map(&descriptor, XDP_PGOFF_TX_RING, at.tx, PACKETS)?;
        let addresses =
            |from: u32| (from..from + PACKETS).map(|index| u64::from(index) * chunk as u64);
        addresses(0).for_each(|address| fill.put(address));
        fill.publish_put();
        let free = addresses(PACKETS).collect();
        let flags = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
        bind(&descriptor, &SocketAddrXdp::new(flags, ifindex, queue))?;
        Ok(Self {
            descriptor,
            chunks,
            fill,
            received,
            to_transmit,
            completed,
            free,
            lengths: VecDeque::new(),
            dropped: 0,
        })
    }

    /// Copies received packets into the burst, and passes each copy to `complete`, which can
    /// complete its checksum. Returns the number of packets and the number of their bytes.
    pub(super) fn receive(
        &mut self,
        burst: &mut Burst,
        complete: impl Fn(&mut [u8]),
    ) -> (u64, u64) {
        let count = self.received.waiting().min(burst.room() as u32);
        if count == 0 {
            return (0, 0);
        }
        let mut bytes = 0;
        for _ in 0..count {
            let packet = self.received.take();
            let taken = self.chunks.bytes(packet.addr, packet.len).unwrap_or_default();
            bytes += taken.len() as u64;
            if let Some(frame) = burst.push_parts(&[taken]) {
                complete(frame);
            }
            // The fill ring has a place for every chunk that is used for receiving, so it has room.
            self.fill.put(packet.addr & !(self.chunks.chunk as u64 - 1));
        }
        self.received.publish_taken();
        self.fill.publish_put();
        if self.fill.needs_wakeup() {
            let _ = recv(&self.descriptor, &mut [0; 0][..], RecvFlags::DONTWAIT);
        }
        (u64::from(count), bytes)
    }

    /// Returns the length of the longest packet that can be transmitted.
    pub(super) fn longest(&self) -> usize {
        self.chunks.chunk
    }

    /// Copies a packet for transmission. Returns false if there is no room for it. The packet must
    /// not be longer than [`Self::longest`].
    pub(super) fn transmit(&mut self, packet: &[u8]) -> bool {
        if self.free.is_empty() {
            self.reap();
        }
        if self.to_transmit.room() == 0 {
            return false;
        }
        let Some(address) = self.free.pop() else { return false };
        self.chunks.write(address, packet);
        let (len, options) = (packet.len() as u32, 0);
        self.to_transmit.put(libc::xdp_desc { addr: address, len, options });
        self.lengths.push_back(len);
        true
    }

    /// Makes the kernel send the accepted packets, and counts those that it sent. Returns false if
    /// packets remain for the next call because the queue is full.
    pub(super) fn flush(&mut self, counters: &PortCounters) -> io::Result<bool> {
        self.to_transmit.publish_put();
        loop {
            if self.lengths.is_empty() {
                return Ok(true);
            }
            let sent = match self.to_transmit.needs_wakeup() {
                true => send(&self.descriptor, &[], SendFlags::DONTWAIT),
                false => Ok(0),
            };
            // The kernel processes only a limited number of packets per call.
            let left = self.to_transmit.unconsumed() as usize;
            let mut gone = self.lengths.len().saturating_sub(left);
            let progress = gone > 0;
            match sent {
                Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => {}
                // The device dropped the last packet that the kernel took.
                Err(Errno::BUSY) => {
                    if progress {
                        gone -= 1;
                        counters.transmit_dropped(1);
                    }
                }
                Err(error) => {
                    counters.transmit_dropped(self.lengths.len() as u64);
                    self.lengths.clear();
                    return Err(error.into());
                }
            }
            let bytes = self.lengths.drain(..gone).map(u64::from).sum();
            counters.transmitted(gone as u64, bytes);
            self.lengths.drain(..self.lengths.len().saturating_sub(left));
            if !progress {
                return Ok(false);
            }
        }
    }

    /// Returns the number of received packets that were dropped for lack of room since the last
    /// call.
    pub(super) fn drops(&mut self) -> u64 {
        let Ok(seen) = xdp_statistics(&self.descriptor) else { return 0 };
        let all = seen.rx_dropped + seen.rx_ring_full.unwrap_or(0);
        let new = all.saturating_sub(self.dropped);
        self.dropped = all;
        new
    }

    fn reap(&mut self) {
        for _ in 0..self.completed.waiting() {
            let address = self.completed.take();
            self.free.push(address);
        }
        self.completed.publish_taken();
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
