//! A receive ring that the kernel fills in memory that it shares with us.
//!
//! Version 2 of the ring (Documentation/networking/packet_mmap.rst): each packet has a slot of its
//! own, whose status says at once that it is there. Version 3 packs packets into blocks and shows
//! a block when it is full or a millisecond old: at low load packets wait for that (docs/ports.md
//! has figures).
#![allow(unsafe_code, reason = "memory that is shared with the kernel")]

use super::share::RingMemory;
use crate::sys;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes that are contiguous in the kernel's memory: several pages, few enough to be had always.
const BLOCK: usize = 64 << 10;

/// The ring of one socket.
#[derive(Debug)]
pub(crate) struct Ring {
    /// Mapped, `slot * slots` bytes, until this is dropped.
    memory: NonNull<u8>,
    /// Bytes of a slot: a power of two from 2^11 to [`BLOCK`], so that none crosses a block.
    slot: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping is this ring's alone, and may be used from any thread.
unsafe impl Send for Ring {}

/// A packet in its slot.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) header: libc::tpacket2_hdr,
    slot: &'a [u8],
}

impl Ring {
    /// Gives the socket a ring with slots for packets of so many bytes, if they are not huge.
    pub(crate) fn new(socket: &OwnedFd, packet: usize, memory: RingMemory) -> io::Result<Self> {
        /// What the kernel and virtio's header take in front of the packet, and a tag, amply.
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
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let memory = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, socket, 0) }?;
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory, slot, slots: bytes / slot, next: 0 })
    }

    /// The next packet, if it is there. It stays until [`Self::release`].
    pub(crate) fn peek(&mut self) -> Option<Entry<'_>> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let start = self.slot_start();
        // SAFETY: within the mapping and aligned to a slot, so also for the header; the kernel
        // does not write to a slot whose status it has set to USER, and it has written all of it
        // before (acquired above).
        let (header, slot) = unsafe {
            let slot = std::slice::from_raw_parts(start.as_ptr().cast_const(), self.slot);
            (start.cast::<libc::tpacket2_hdr>().read(), slot)
        };
        Some(Entry { header, slot })
    }

    /// Gives the slot of the packet that was peeked at back to the kernel.
    pub(crate) fn release(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) & (self.slots - 1);
    }

    fn slot_start(&self) -> NonNull<u8> {
        // SAFETY: next is below slots (a power of two), so this is within the mapping.
        unsafe { self.memory.add(self.next * self.slot) }
    }

    /// The header's first field, which both sides write.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: within the mapping, aligned to a slot, and only accessed as an atomic while the
        // kernel may write to it.
        unsafe { self.slot_start().cast::<AtomicU32>().as_ref() }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: what was mapped; entries borrow the ring, so that none is left.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), self.slot * self.slots) };
        debug_assert!(unmapped.is_ok());
    }
}

impl<'a> Entry<'a> {
    /// The packet's bytes, or as many as found room.
    pub(crate) fn packet(&self) -> &'a [u8] {
        let start = usize::from(self.header.tp_mac);
        let end = start.saturating_add(self.header.tp_snaplen as usize);
        self.slot.get(start..end).unwrap_or_default()
    }

    /// Which way the packet went, as `sockaddr_ll` tells it (packet(7)): `PACKET_OUTGOING` is one that this machine
    /// sends.
    pub(crate) fn packet_type(&self) -> Option<u8> {
        // The address follows the header, at a multiple of TPACKET_ALIGNMENT; its type is behind family, protocol,
        // interface and hardware type.
        const ADDRESS: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(16);
        self.slot.get(ADDRESS + 10).copied()
    }

    /// When the kernel saw the packet, in nanoseconds since 1970, as `tp_status` says by whose clock.
    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::from(self.header.tp_sec) * 1_000_000_000 + u64::from(self.header.tp_nsec)
    }

    /// What lies in front of the packet.
    pub(crate) fn in_front<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.slot.get(..usize::from(self.header.tp_mac))?.last_chunk()
    }
}
