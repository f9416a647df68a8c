//! A receive ring in memory that is shared with the kernel.
//!
//! The ring has version 2 (Documentation/networking/packet_mmap.rst): each packet has its own slot,
//! whose status shows immediately that the packet is there. Version 3 would pack packets into
//! blocks and show a block only when it is full or a millisecond old, which delays packets at low
//! load (docs/ports.md has figures).
#![allow(unsafe_code, reason = "memory that is shared with the kernel")]

use super::share::RingMemory;
use crate::sys;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The size in bytes of the contiguous blocks of kernel memory of which a ring consists. A block
/// has several pages, but so few that its allocation succeeds.
const BLOCK: usize = 64 << 10;

/// The receive ring of one socket.
#[derive(Debug)]
pub(crate) struct Ring {
    /// The start of the mapping of `slot * slots` bytes, which exists until this value is dropped.
    memory: NonNull<u8>,
    /// The size of a slot in bytes: a power of two from 2^11 to 2^14. It divides [`BLOCK`], so that
    /// no slot crosses a block.
    slot: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this ring alone, and memory may be accessed from any thread.
unsafe impl Send for Ring {}

/// A packet in its slot of the ring.
#[derive(Debug)]
pub(crate) struct RingPacket<'a> {
    pub(crate) header: libc::tpacket2_hdr,
    slot: &'a [u8],
}

impl Ring {
    /// Creates a receive ring for the socket, with slots for packets of `packet` bytes. The size of
    /// a slot is limited.
    pub(crate) fn new(socket: &OwnedFd, packet: usize, memory: RingMemory) -> io::Result<Self> {
        /// The number of bytes in front of a packet in its slot: for the headers of the kernel and
        /// of virtio and for a VLAN tag, with some reserve.
        const FRONT: usize = 128;
        let slot = (packet + FRONT).next_power_of_two().clamp(2 << 10, 16 << 10);
        let bytes = memory.ring_bytes(slot);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (bytes / BLOCK) as u32,
            tp_frame_size: slot as u32,
            tp_frame_nr: (bytes / slot) as u32,
        };
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the call creates a new mapping at an address that the kernel chooses.
        let memory = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, socket, 0) }?;
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory, slot, slots: bytes / slot, next: 0 })
    }

    /// Returns the next received packet, if there is one. The packet stays in its slot until
    /// [`Self::release`].
    pub(crate) fn peek(&mut self) -> Option<RingPacket<'_>> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let start = self.slot_start();
        // SAFETY: the slot lies within the mapping, and its start is aligned for the header. The
        // kernel does not write to a slot after it has set the status to USER, and the acquire load
        // in this function makes its earlier writes visible.
        let (header, slot) = unsafe {
            let slot = std::slice::from_raw_parts(start.as_ptr().cast_const(), self.slot);
            (start.cast::<libc::tpacket2_hdr>().read(), slot)
        };
        Some(RingPacket { header, slot })
    }

    /// Returns the slot of the last peeked packet to the kernel.
    pub(crate) fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) & (self.slots - 1);
    }

    fn slot_start(&self) -> NonNull<u8> {
        // SAFETY: `next` is less than `slots`, so the result lies within the mapping.
        unsafe { self.memory.add(self.next * self.slot) }
    }

    /// Returns the status field of the slot's header, which both the kernel and this process write.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: the field lies within the mapping, is aligned to a slot, and is only accessed as
        // an atomic while the kernel may write to it.
        unsafe { self.slot_start().cast::<AtomicU32>().as_ref() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the range that was mapped. Entries borrow the ring, so none exists.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), self.slot * self.slots) };
        debug_assert!(unmapped.is_ok());
    }
}

impl<'a> RingPacket<'a> {
    /// Returns the captured bytes of the packet.
    pub(crate) fn packet(&self) -> &'a [u8] {
        let start = usize::from(self.header.tp_mac);
        let end = start.saturating_add(self.header.tp_snaplen as usize);
        self.slot.get(start..end).unwrap_or_default()
    }

    /// Returns the packet type of `sockaddr_ll` (packet(7)). `PACKET_OUTGOING` denotes a packet
    /// that this machine sends.
    pub(crate) fn packet_type(&self) -> Option<u8> {
        // The address follows the header at a multiple of TPACKET_ALIGNMENT. Its packet type
        // follows the family, the protocol, the interface and the hardware type.
        const ADDRESS: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(16);
        self.slot.get(ADDRESS + 10).copied()
    }

    /// Returns the time at which the kernel saw the packet, in nanoseconds since 1970. The field
    /// `tp_status` states which clock was used.
    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::from(self.header.tp_sec) * 1_000_000_000 + u64::from(self.header.tp_nsec)
    }

    /// Returns the `N` bytes in front of the packet in its slot, where the kernel stores the virtio
    /// header.
    pub(crate) fn in_front<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.slot.get(..usize::from(self.header.tp_mac))?.last_chunk()
    }
}
