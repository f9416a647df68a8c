//! An allocator that places some blocks directly before a guard page.
//!
//! AddressSanitizer checks only code that the Rust compiler instruments. It does not notice if the
//! machine code that Planimeter generates accesses memory beyond its frame, packet or output. If
//! the block lies directly before a page that must not be accessed, such an access raises a signal
//! that ends the process. An access to a freed block does the same.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The sizes in bytes of blocks that may be guarded: frames, packets, outputs, short tables.
const SIZES: std::ops::RangeInclusive<usize> = 64..=SLOT - PAGE;
/// The inverse of the share of blocks that are guarded. Not all are, since each guarded block costs
/// two system calls.
const ONE_IN: usize = 8;
const PAGE: usize = 4096;
/// The address space of a block and its guard page.
const SLOT: usize = 32 * PAGE;
const SLOTS: usize = 1 << 18;

/// The allocator of a target that is built with the feature `guard`.
#[derive(Debug)]
pub struct Guarding;

static REQUESTS: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);
static IN_USE: [AtomicBool; SLOTS] = [const { AtomicBool::new(false) }; SLOTS];
static RANGE: OnceLock<usize> = OnceLock::new();

/// Returns the address of the slots, or 0 if the kernel has no room for them.
fn range() -> usize {
    *RANGE.get_or_init(|| {
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new pages at an address that the kernel chooses; no page of them is accessible.
        let pages = unsafe { libc::mmap(null_mut(), SLOT * SLOTS, libc::PROT_NONE, how, -1, 0) };
        if pages == libc::MAP_FAILED { 0 } else { pages as usize }
    })
}

/// Returns a guarded block, or `None` if the next slot is in use or the kernel refuses.
fn guarded(layout: Layout) -> Option<*mut u8> {
    let range = range();
    if range == 0 {
        return None;
    }
    let slot = NEXT.fetch_add(1, Ordering::Relaxed) % SLOTS;
    let in_use = IN_USE.get(slot)?;
    if in_use.swap(true, Ordering::Acquire) {
        return None;
    }
    let pages = layout.size().next_multiple_of(PAGE);
    let guard = range + (slot + 1) * SLOT - PAGE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the pages in front of the slot's last one, which belongs to this call alone.
    if unsafe { libc::mprotect((guard - pages) as *mut _, pages, access) } != 0 {
        in_use.store(false, Ordering::Release);
        return None;
    }
    let block = (guard - layout.size()) & !(layout.align() - 1);
    Some(block as *mut u8)
}

/// Returns the slot of a guarded block.
fn slot_of(block: *mut u8) -> Option<usize> {
    let range = *RANGE.get()?;
    let offset = (block as usize).checked_sub(range)?;
    (range != 0 && offset < SLOT * SLOTS).then_some(offset / SLOT)
}

// SAFETY: a block comes from the system's allocator, or from a slot that no other block has until
// it is freed. Slots are as long and aligned as `layout` asks for: `SIZES` leaves room for the
// guard page, and blocks that need an alignment of more than a page are not guarded.
unsafe impl GlobalAlloc for Guarding {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if SIZES.contains(&layout.size())
            && layout.align() <= PAGE
            && REQUESTS.fetch_add(1, Ordering::Relaxed).is_multiple_of(ONE_IN)
            && let Some(block) = guarded(layout)
        {
            return block;
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(slot) = slot_of(block) else {
            // SAFETY: the block is not of a slot, so it is the system's; the rest is passed on.
            return unsafe { System.dealloc(block, layout) };
        };
        let pages = layout.size().next_multiple_of(PAGE);
        let guard = range() + (slot + 1) * SLOT - PAGE;
        let first = (guard - pages) as *mut _;
        // SAFETY: the pages that `guarded` made accessible; the caller uses them no more.
        unsafe {
            libc::madvise(first, pages, libc::MADV_DONTNEED);
            libc::mprotect(first, pages, libc::PROT_NONE);
        }
        if let Some(in_use) = IN_USE.get(slot) {
            in_use.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_block_ends_at_its_guard_page() {
        let layout = Layout::from_size_align(200, 8).expect("a layout");
        let block = guarded(layout).expect("a block");
        assert_eq!((block as usize + 200) % PAGE, 0);
        // SAFETY: the block is 200 bytes long, and is freed once.
        unsafe {
            block.write_bytes(0xa5, 200);
            Guarding.dealloc(block, layout);
        }
    }
}
