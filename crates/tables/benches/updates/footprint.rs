//! Provides huge pages for all contenders, and measures how much of their memory really is on huge
//! pages.

#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::fs;

use rustix::mm::{Advice, madvise};

/// The system's allocator, which also advises the kernel to use huge pages for large blocks, as the
/// tables of this crate do. Without this advice, a comparison of maps would compare page sizes.
pub(crate) struct HugePages;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

const HUGE_PAGE: usize = 2 << 20;

impl HugePages {
    /// Returns the layout with the alignment of a huge page if the block is large.
    fn placed(layout: Layout) -> Layout {
        if layout.size() < HUGE_PAGE {
            return layout;
        }
        layout.align_to(HUGE_PAGE).unwrap_or(layout)
    }
}

// SAFETY: the implementation calls the system's allocator with a layout of equal size and at least
// the requested alignment; the advice changes no contents.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees that the layout's size is not zero, and `placed` keeps the
        // size.
        let start = unsafe { System.alloc(Self::placed(layout)) };
        if layout.size() >= HUGE_PAGE && !start.is_null() {
            // SAFETY: the range was just allocated. If the advice is refused, the memory is
            // unchanged.
            let _ = unsafe { madvise(start.cast(), layout.size(), Advice::LinuxHugepage) };
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the block was allocated by `alloc` with this layout.
        unsafe { System.dealloc(start, Self::placed(layout)) };
    }
}

/// The resident memory in KiB, as the kernel counts it (`Rss` and `AnonHugePages` in
/// `/proc/self/smaps`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Footprint {
    resident: u64,
    huge: u64,
}

impl Footprint {
    /// Returns the result of `make`, and the memory by which the process has grown. Freed memory
    /// that is reused is not counted.
    pub(crate) fn of_making<T>(make: impl FnOnce() -> T) -> (T, Self) {
        let before = Self::of_process();
        let made = make();
        let after = Self::of_process();
        let resident = after.resident.saturating_sub(before.resident);
        (made, Self { resident, huge: after.huge.saturating_sub(before.huge).min(resident) })
    }

    /// Returns the footprint of the mapping that contains an address.
    #[cfg(feature = "dpdk")]
    pub(crate) fn of_mapping(address: usize) -> Self {
        let text = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let mut around = false;
        let mut found = Self::default();
        for line in text.lines() {
            let range = line.split_whitespace().next().and_then(|range| range.split_once('-'));
            let bounds = range.and_then(|(start, end)| {
                Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
            });
            match bounds {
                Some(bounds) => around = bounds.contains(&address),
                None if around => found.add(line),
                None => {}
            }
        }
        found
    }

    fn of_process() -> Self {
        let mut found = Self::default();
        let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
        text.lines().for_each(|line| found.add(line));
        found
    }

    fn add(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let place = match words.next() {
            Some("Rss:") => &mut self.resident,
            Some("AnonHugePages:") => &mut self.huge,
            _ => return,
        };
        *place += words.next().and_then(|number| number.parse().ok()).unwrap_or(0);
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.resident < 4 << 10 {
            return f.pad("small");
        }
        let huge = 100.0 * self.huge as f64 / self.resident as f64;
        f.pad(&format!("{} MiB, {huge:.0} % huge", self.resident >> 10))
    }
}
