//! Memory that an XDP socket shares with the kernel: rings of one producer and one consumer, and
//! the chunks that packets lie in (Documentation/networking/af_xdp.rst).
#![allow(unsafe_code, reason = "memory that is shared with the kernel")]

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::net::xdp::XdpRingOffset;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// Mapped memory.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: memory may be used from any thread; those that own a mapping see to who does.
unsafe impl Send for Mapping {}

impl Mapping {
    const PROTECTION: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

    fn of_socket(socket: &OwnedFd, offset: u64, bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let start =
            unsafe { mmap(ptr::null_mut(), bytes, Self::PROTECTION, flags, socket, offset) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    fn anonymous(bytes: usize) -> io::Result<Self> {
        // SAFETY: as above.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), bytes, Self::PROTECTION, MapFlags::PRIVATE) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: what was mapped; nothing borrows from a mapping longer than its owner.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

/// What the kernel and we hand to each other.
///
/// # Safety
/// Any bytes are a value of it.
pub(super) unsafe trait Item: Copy {}

// SAFETY: an integer.
unsafe impl Item for u64 {}
// SAFETY: of integers.
unsafe impl Item for libc::xdp_desc {}

/// A ring of which we are one end. Which one decides which methods are to be called.
#[derive(Debug)]
pub(super) struct Ring<T> {
    mapping: Mapping,
    offsets: XdpRingOffset,
    /// Items, a power of two.
    size: u32,
    /// Our own count of items, produced or consumed; the low bits are the place of the next.
    position: u32,
    items: PhantomData<T>,
}

impl<T: Item> Ring<T> {
    /// Maps the ring that a socket has at an offset.
    pub(super) fn map(
        socket: &OwnedFd,
        at: u64,
        offsets: XdpRingOffset,
        size: u32,
    ) -> io::Result<Self> {
        let bytes = offsets.desc as usize + size as usize * size_of::<T>();
        let last = offsets.producer.max(offsets.consumer).max(offsets.flags.unwrap_or(0)) + 4;
        // What the kernel says is only used where it can be right.
        if last as usize > bytes || !size.is_power_of_two() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mapping = Mapping::of_socket(socket, at, bytes)?;
        Ok(Self { mapping, offsets, size, position: 0, items: PhantomData })
    }

    /// For the consumer: how many items wait.
    pub(super) fn waiting(&self) -> u32 {
        let produced = self.counter(self.offsets.producer).load(Ordering::Acquire);
        produced.wrapping_sub(self.position).min(self.size)
    }

    /// For the consumer: takes the next item, of which there must be one ([`Self::waiting`]).
    pub(super) fn take(&mut self) -> T {
        // SAFETY: a place of the ring; the kernel wrote it before it counted it, and leaves it
        // alone until we count it (`publish_taken`). Any bytes are a value.
        let item = unsafe { self.place().read() };
        self.position = self.position.wrapping_add(1);
        item
    }

    /// For the consumer: gives the places of what was taken back.
    pub(super) fn publish_taken(&self) {
        self.counter(self.offsets.consumer).store(self.position, Ordering::Release);
    }

    /// For the producer: how many items find room.
    pub(super) fn room(&self) -> u32 {
        self.size - self.unconsumed()
    }

    /// For the producer: how many items the kernel has not consumed, published or not.
    pub(super) fn unconsumed(&self) -> u32 {
        let consumed = self.counter(self.offsets.consumer).load(Ordering::Acquire);
        self.position.wrapping_sub(consumed).min(self.size)
    }

    /// For the producer: puts an item into the ring, in which there must be room.
    pub(super) fn put(&mut self, item: T) {
        // SAFETY: a place of the ring that the kernel has consumed (`room`), and that it does not
        // read before we count it (`publish_put`).
        unsafe { self.place().write(item) };
        self.position = self.position.wrapping_add(1);
    }

    /// For the producer: lets the kernel see what was put.
    pub(super) fn publish_put(&self) {
        self.counter(self.offsets.producer).store(self.position, Ordering::Release);
    }

    /// For the producer: whether the kernel wants to be told.
    pub(super) fn needs_wakeup(&self) -> bool {
        let Some(flags) = self.offsets.flags else { return true };
        self.counter(flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn place(&self) -> NonNull<T> {
        let index = (self.position & (self.size - 1)) as usize;
        // SAFETY: the index is below size, and the mapping has room for size items from there on.
        unsafe { self.mapping.start.add(self.offsets.desc as usize).cast::<T>().add(index) }
    }

    fn counter(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: within the mapping (`map`), aligned by the kernel's layout, and only accessed as
        // an atomic by both sides.
        unsafe { self.mapping.start.add(offset as usize).cast::<AtomicU32>().as_ref() }
    }
}

/// Chunks for packets.
#[derive(Debug)]
pub(super) struct Chunks {
    mapping: Mapping,
    /// Bytes of a chunk, a power of two.
    pub(super) chunk: usize,
}

impl Chunks {
    pub(super) fn new(chunk: usize, count: usize) -> io::Result<Self> {
        Ok(Self { mapping: Mapping::anonymous(chunk * count)?, chunk })
    }

    /// Where they are, for the kernel.
    pub(super) fn region(&self) -> (u64, u64) {
        (self.mapping.start.as_ptr().addr() as u64, self.mapping.bytes as u64)
    }

    /// What lies at an address that the kernel gave.
    pub(super) fn bytes(&self, address: u64, length: u32) -> Option<&[u8]> {
        let start = usize::try_from(address).ok()?;
        let end = start.checked_add(length as usize)?;
        if end > self.mapping.bytes {
            return None;
        }
        // SAFETY: within the mapping; the kernel handed this to us and writes there again only
        // when we hand it back, which needs `&mut` on the socket that owns this.
        Some(unsafe {
            std::slice::from_raw_parts(self.mapping.start.add(start).as_ptr(), length as usize)
        })
    }

    /// Writes a packet into a chunk that is ours; it must not be longer than one.
    pub(super) fn write(&mut self, address: u64, packet: &[u8]) {
        let start = address as usize;
        assert!(packet.len() <= self.chunk && start <= self.mapping.bytes - self.chunk);
        // SAFETY: within the mapping, as was just checked, and not the kernel's (`&mut`).
        unsafe {
            let place = self.mapping.start.add(start).as_ptr();
            ptr::copy_nonoverlapping(packet.as_ptr(), place, packet.len());
        }
    }
}
