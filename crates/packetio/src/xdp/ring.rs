//! The memory that an XDP socket shares with the kernel: rings with one producer and one consumer
//! each, and the chunks that hold packets (Documentation/networking/af_xdp.rst).
#![allow(unsafe_code, reason = "memory that is shared with the kernel")]

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use rustix::net::xdp::XdpRingOffset;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// A memory mapping. Dropping this value removes it.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: memory may be accessed from any thread, and the owners of a mapping synchronise their
// accesses.
unsafe impl Send for Mapping {}

impl Mapping {
    const PROTECTION: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

    fn of_socket(socket: &OwnedFd, offset: u64, bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the call creates a new mapping at an address that the kernel chooses.
        let start =
            unsafe { mmap(ptr::null_mut(), bytes, Self::PROTECTION, flags, socket, offset) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    fn anonymous(bytes: usize) -> io::Result<Self> {
        // SAFETY: the call creates a new mapping at an address that the kernel chooses.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), bytes, Self::PROTECTION, MapFlags::PRIVATE) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the range that was mapped, and nothing borrows from it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

/// An item that this process and the kernel exchange through a ring.
///
/// # Safety
/// Any sequence of bytes must be a valid value.
pub(super) unsafe trait Item: Copy {}

// SAFETY: any bytes are a value of an integer.
unsafe impl Item for u64 {}
// SAFETY: the structure consists of integers.
unsafe impl Item for libc::xdp_desc {}

/// This process's end of a ring: either the producer's or the consumer's. Each method is meant for
/// one of the two.
#[derive(Debug)]
pub(super) struct Ring<T> {
    mapping: Mapping,
    offsets: XdpRingOffset,
    /// The number of items for which the ring has room, a power of two.
    size: u32,
    /// The number of items that this end has produced or consumed so far. Its low bits are the
    /// index of the next item.
    position: u32,
    items: PhantomData<T>,
}

impl<T: Item> Ring<T> {
    /// Maps the ring of a socket into memory. `at` is the offset by which mmap(2) identifies the
    /// ring.
    pub(super) fn map(
        socket: &OwnedFd,
        at: u64,
        offsets: XdpRingOffset,
        size: u32,
    ) -> io::Result<Self> {
        let bytes = offsets.desc as usize + size as usize * size_of::<T>();
        let last = offsets.producer.max(offsets.consumer).max(offsets.flags.unwrap_or(0)) + 4;
        // The offsets come from the kernel and are checked before they are used.
        if last as usize > bytes || !size.is_power_of_two() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mapping = Mapping::of_socket(socket, at, bytes)?;
        Ok(Self { mapping, offsets, size, position: 0, items: PhantomData })
    }

    /// Returns the number of items that the consumer can take.
    pub(super) fn waiting(&self) -> u32 {
        let produced = self.counter(self.offsets.producer).load(Ordering::Acquire);
        produced.wrapping_sub(self.position).min(self.size)
    }

    /// Takes the next item as the consumer. An item must be waiting ([`Self::waiting`]).
    pub(super) fn take(&mut self) -> T {
        // SAFETY: the pointer refers to an item of the ring. The kernel wrote the item before it
        // counted it, and leaves it unchanged until `publish_taken` counts it. Any bytes are a
        // value.
        let item = unsafe { self.place().read() };
        self.position = self.position.wrapping_add(1);
        item
    }

    /// Releases the slots of all items that the consumer has taken, so that the producer can reuse
    /// them.
    pub(super) fn publish_taken(&self) {
        self.counter(self.offsets.consumer).store(self.position, Ordering::Release);
    }

    /// Returns the number of items that the producer can put into the ring.
    pub(super) fn room(&self) -> u32 {
        self.size - self.unconsumed()
    }

    /// Returns the number of items that the producer put into the ring and that the kernel has not
    /// consumed yet. It includes items that are not published yet.
    pub(super) fn unconsumed(&self) -> u32 {
        let consumed = self.counter(self.offsets.consumer).load(Ordering::Acquire);
        self.position.wrapping_sub(consumed).min(self.size)
    }

    /// Puts an item into the ring as the producer. The ring must have room.
    pub(super) fn put(&mut self, item: T) {
        // SAFETY: the pointer refers to an item of the ring that the kernel has consumed (`room`),
        // and that the kernel does not read before `publish_put` counts it.
        unsafe { self.place().write(item) };
        self.position = self.position.wrapping_add(1);
    }

    /// Makes all items that the producer put into the ring visible to the kernel.
    pub(super) fn publish_put(&self) {
        self.counter(self.offsets.producer).store(self.position, Ordering::Release);
    }

    /// Returns whether the producer must make a system call, because the kernel would not consume
    /// items otherwise.
    pub(super) fn needs_wakeup(&self) -> bool {
        let Some(flags) = self.offsets.flags else { return true };
        self.counter(flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    fn place(&self) -> NonNull<T> {
        let index = (self.position & (self.size - 1)) as usize;
        // SAFETY: the index is less than `size`, and the mapping has room for `size` items from
        // this offset on.
        unsafe { self.mapping.start.add(self.offsets.desc as usize).cast::<T>().add(index) }
    }

    fn counter(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: `map` checked that the counter lies within the mapping. The kernel's layout
        // aligns it, and both sides access it only as an atomic.
        unsafe { self.mapping.start.add(offset as usize).cast::<AtomicU32>().as_ref() }
    }
}

/// The chunks of memory that hold packets.
#[derive(Debug)]
pub(super) struct Chunks {
    mapping: Mapping,
    /// The size of a chunk in bytes, a power of two.
    pub(super) chunk: usize,
}

impl Chunks {
    pub(super) fn new(chunk: usize, count: usize) -> io::Result<Self> {
        Ok(Self { mapping: Mapping::anonymous(chunk * count)?, chunk })
    }

    /// Returns the address and the length of the memory of all chunks, for the kernel.
    pub(super) fn region(&self) -> (u64, u64) {
        (self.mapping.start.as_ptr().addr() as u64, self.mapping.bytes as u64)
    }

    /// Returns the `length` bytes of a packet at `address`, both of which the kernel returned.
    /// Returns `None` if the bytes lie outside the chunks.
    pub(super) fn bytes(&self, address: u64, length: u32) -> Option<&[u8]> {
        let start = usize::try_from(address).ok()?;
        let end = start.checked_add(length as usize)?;
        if end > self.mapping.bytes {
            return None;
        }
        // SAFETY: the range lies within the mapping. The kernel passed it to this process, and
        // writes to it again only after the socket returns it, which requires `&mut` access to the
        // owner of these chunks.
        Some(unsafe {
            std::slice::from_raw_parts(self.mapping.start.add(start).as_ptr(), length as usize)
        })
    }

    /// Writes a packet into a chunk that this process owns. The packet must fit into the chunk.
    pub(super) fn write(&mut self, address: u64, packet: &[u8]) {
        let start = address as usize;
        assert!(packet.len() <= self.chunk && start <= self.mapping.bytes - self.chunk);
        // SAFETY: the range was just checked to lie within the mapping, and the kernel does not own
        // this chunk.
        unsafe {
            let place = self.mapping.start.add(start).as_ptr();
            ptr::copy_nonoverlapping(packet.as_ptr(), place, packet.len());
        }
    }
}
