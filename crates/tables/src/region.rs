//! Zeroed memory, aligned to cache lines, on huge pages if the kernel provides them. Tables, arenas
//! and slabs are allocated from it.
//!
//! A table of 16 MiB on 4 KiB pages misses the translation buffer at nearly every lookup. Large
//! regions are therefore mapped at a 2 MiB boundary with the advice to use huge pages
//! (`MADV_HUGEPAGE`). If the kernel refuses, the region is on base pages and [`Pages`] says so.

use std::alloc;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// The size of a cache line in bytes on the supported machines.
pub const LINE: usize = 64;
const HUGE_PAGE: usize = 2 << 20;

/// The kind of pages under the memory of a table.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Pages {
    /// The memory is smaller than a huge page, so huge pages were not requested.
    Small,
    /// The kernel accepted the advice to use huge pages. It may still use base pages when no huge
    /// page is free.
    HugeAdvised,
    /// The kernel refused huge pages.
    Base,
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Small => "small",
            Self::HugeAdvised => "huge pages advised",
            Self::Base => "base pages",
        })
    }
}

/// An owned range of zeroed memory. Threads share it, so all references into it must be to atomics.
pub(crate) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    origin: Origin,
    pages: Pages,
}

enum Origin {
    Heap(alloc::Layout),
    Map { base: NonNull<u8>, length: usize },
}

// SAFETY: a region owns its memory and hands out only addresses and atomics, none of which is tied
// to a thread.
unsafe impl Send for Region {}
// SAFETY: a shared region exposes its address and length, which never change, and references to
// atomics.
unsafe impl Sync for Region {}

impl Region {
    /// Allocates a region of `bytes` zeroed bytes (at least one line). Returns `None` if the system
    /// has no more memory.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let bytes = bytes.max(LINE).checked_next_multiple_of(LINE)?;
        if bytes < HUGE_PAGE || cfg!(miri) { Self::from_heap(bytes) } else { Self::from_map(bytes) }
    }

    fn from_heap(bytes: usize) -> Option<Self> {
        let layout = alloc::Layout::from_size_align(bytes, LINE).ok()?;
        // SAFETY: `bytes` is at least one line, so the size of the layout is not zero.
        let start = NonNull::new(unsafe { alloc::alloc_zeroed(layout) })?;
        Some(Self { start, bytes, origin: Origin::Heap(layout), pages: Pages::Small })
    }

    fn from_map(bytes: usize) -> Option<Self> {
        let length = bytes.checked_next_multiple_of(HUGE_PAGE)?.checked_add(HUGE_PAGE)?;
        // SAFETY: a private anonymous mapping at an address that the kernel chooses overlaps no
        // other memory of the program.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let base = NonNull::new(base.ok()?.cast::<u8>())?;
        let skip = base.as_ptr().align_offset(HUGE_PAGE);
        // SAFETY: `skip` is less than one huge page, and the mapping is longer than the used part
        // by that much.
        let start = unsafe { base.add(skip) };
        let used = length - HUGE_PAGE;
        // SAFETY: the range is inside the mapping that was just made, and the advice does not
        // change its contents.
        let advised =
            unsafe { rustix::mm::madvise(start.as_ptr().cast(), used, Advice::LinuxHugepage) };
        let pages = if advised.is_ok() { Pages::HugeAdvised } else { Pages::Base };
        Some(Self { start, bytes, origin: Origin::Map { base, length }, pages })
    }

    /// Returns the address of the byte at `offset`. The caller must ensure that the offset is
    /// inside the region before it accesses the address.
    #[inline(always)]
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(offset)
    }

    /// Returns the word at `offset`, a multiple of 8 inside the region.
    #[inline(always)]
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        self.check(offset, 0);
        // SAFETY: `check` has ensured that the word is inside the region and aligned. A region is
        // initialised and accessed only by atomics.
        unsafe { &*self.at(offset).cast::<AtomicU64>() }
    }

    /// Returns the four bytes at `offset`, a multiple of 4 inside the region. A region that is
    /// accessed in words of four bytes must not also be accessed in words of eight.
    #[inline(always)]
    pub(crate) fn word32(&self, offset: usize) -> &AtomicU32 {
        self.check(offset & !7, 0);
        // SAFETY: `check` has ensured that the enclosing word is inside the region. The masked
        // offset is a multiple of 4, and a region is initialised and accessed only by atomics.
        unsafe { &*self.at(offset & !3).cast::<AtomicU32>() }
    }

    /// Returns `count` words from `offset`, a multiple of 8.
    #[inline(always)]
    pub(crate) fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        self.check(offset, count);
        // SAFETY: `check` has ensured that all the words are inside the region and aligned. A
        // region is initialised and accessed only by atomics.
        unsafe { std::slice::from_raw_parts(self.at(offset).cast::<AtomicU64>(), count) }
    }

    /// Panics unless `offset` is a multiple of 8 inside the region and `count` words fit between
    /// the offset and the end.
    #[inline(always)]
    fn check(&self, offset: usize, count: usize) {
        // A region consists of whole lines, so a word that begins inside it also ends inside it.
        let inside = offset < self.bytes && count <= (self.bytes - offset) / 8;
        if !inside || !offset.is_multiple_of(8) {
            outside(offset, count, self.bytes);
        }
    }

    /// Returns the cache line with this index in the region.
    ///
    /// # Safety
    /// The region must have more lines than `index`.
    #[inline(always)]
    pub(crate) unsafe fn line(&self, index: usize) -> Words<'_> {
        debug_assert!(index < self.bytes / LINE);
        Words { start: self.at(index * LINE), region: PhantomData }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn pages(&self) -> Pages {
        self.pages
    }
}

/// A line of a region, accessed as atomic words. Each position in the line is accessed with only
/// one width.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    start: *mut u8,
    region: PhantomData<&'a Region>,
}

impl<'a> Words<'a> {
    /// Returns the line at an address.
    ///
    /// # Safety
    /// The address must be that of a line of initialised memory, which is alive during `'a` and
    /// accessed only by atomics.
    #[inline(always)]
    pub(crate) unsafe fn at(start: *mut u8) -> Self {
        Self { start, region: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn address(self) -> *mut u8 {
        self.start
    }

    /// Returns the four bytes at `offset`, which must be a multiple of 4 below [`LINE`]. Debug
    /// builds panic if it is not. Other builds mask the offset, so that it stays inside the line.
    #[inline(always)]
    pub(crate) fn word32(self, offset: usize) -> &'a AtomicU32 {
        debug_assert!(offset.is_multiple_of(4) && offset < LINE);
        // SAFETY: the masked offset is a multiple of 4 inside the line, which is alive during `'a`,
        // aligned and initialised, and this position is accessed only as this atomic.
        unsafe { &*self.start.add(offset & (LINE - 4)).cast::<AtomicU32>() }
    }

    /// Returns the eight bytes at `offset`, which must be a multiple of 8 below [`LINE`]. Debug
    /// builds panic if it is not. Other builds mask the offset, so that it stays inside the line.
    #[inline(always)]
    pub(crate) fn word64(self, offset: usize) -> &'a AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset < LINE);
        // SAFETY: the masked offset is a multiple of 8 inside the line, which is alive during `'a`,
        // aligned and initialised, and this position is accessed only as this atomic.
        unsafe { &*self.start.add(offset & (LINE - 8)).cast::<AtomicU64>() }
    }
}

/// Panics. This is a function of its own, so that the inlined check is only two comparisons.
#[cold]
#[inline(never)]
fn outside(offset: usize, count: usize, bytes: usize) -> ! {
    panic!("{count} words at {offset} are not in a region of {bytes} bytes");
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.origin {
            // SAFETY: the memory was allocated by `from_heap` with this layout and is freed only
            // here.
            Origin::Heap(layout) => unsafe { alloc::dealloc(self.start.as_ptr(), layout) },
            Origin::Map { base, length } => {
                // SAFETY: the memory was mapped by `from_map` with this length and is unmapped only
                // here.
                let unmapped = unsafe { rustix::mm::munmap(base.as_ptr().cast(), length) };
                debug_assert!(unmapped.is_ok());
            }
        }
    }
}

/// Returns unused heap memory to the system, which the allocator would otherwise keep. This takes
/// time proportional to the size of that memory.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        // SAFETY: the declaration has the signature of the function in the GNU C library.
        unsafe extern "C" {
            fn malloc_trim(left: usize) -> std::ffi::c_int;
        }
        // SAFETY: any thread may call the function at any time.
        unsafe { malloc_trim(0) };
    }
}

/// Prefetches the line at `address`.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint: it reads no value and faults on no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Prefetches the line at `address` for a single read, without displacing data from the larger
/// caches.
#[inline(always)]
pub(crate) fn prefetch_once(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint: it reads no value and faults on no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_NTA }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Prefetches the line at `address` for writing: other cores release the line now and not when it
/// is written.
#[inline(always)]
pub(crate) fn prefetch_to_write(address: *const u8) {
    // The intrinsic function emits this instruction only if the target features include it.
    // Processors without the instruction ignore it.
    #[cfg(all(target_arch = "x86_64", not(miri), not(feature = "portable")))]
    // SAFETY: a prefetch is a hint: it changes no value and faults on no address.
    unsafe {
        std::arch::asm!(
            "prefetchw [{}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(feature = "portable"))))]
    prefetch(address);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_and_aligned_on_both_ways() {
        for bytes in [1, 64, 4096, 2 << 20, (2 << 20) + 1] {
            let region = Region::new(bytes).unwrap();
            assert_eq!(region.at(0) as usize % LINE, 0);
            assert!(region.bytes() >= bytes);
            // SAFETY: both offsets are inside the region, which is initialised and used only by
            // this test.
            unsafe {
                assert_eq!(*region.at(0), 0);
                assert_eq!(*region.at(bytes - 1), 0);
            }
        }
    }

    #[test]
    fn words_outside_are_refused_and_not_reached() {
        let region = Region::new(128).unwrap();
        assert_eq!(region.words(0, 16).len(), 16);
        assert_eq!(region.words(120, 1).len(), 1);
        let outside = |offset, count| {
            std::panic::catch_unwind(|| region.words(offset, count).len()).is_err()
                && (count > 1 || std::panic::catch_unwind(|| region.word(offset)).is_err())
        };
        assert!(outside(128, 1) && outside(4, 1) && outside(usize::MAX - 7, 1) && outside(120, 2));
        assert!(outside(8, usize::MAX));
    }

    #[test]
    fn a_region_larger_than_the_address_space_is_not_allocated() {
        if cfg!(miri) {
            eprintln!("SKIPPED: Miri ends the program instead of refusing memory");
            return;
        }
        assert!(Region::new(usize::MAX).is_none());
        assert!(Region::new(1 << 60).is_none());
    }
}
