//! Huge pages for all contenders, and how much of their memory really lies on them.

#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::fs;

use rustix::mm::{Advice, madvise};

/// The system's allocator, which asks for huge pages under what is large, as our tables do by themselves: otherwise a
/// comparison of maps is one of pages.
pub(crate) struct HugePages;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

const HUGE_PAGE: usize = 2 << 20;

impl HugePages {
    /// Large blocks begin at a huge page.
    fn placed(layout: Layout) -> Layout {
        if layout.size() < HUGE_PAGE {
            return layout;
        }
        layout.align_to(HUGE_PAGE).unwrap_or(layout)
    }
}

// SAFETY: what the system's allocator does with a layout of the same size and at least the same alignment; the advice
// changes no contents.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promised for a layout of this size.
        let start = unsafe { System.alloc(Self::placed(layout)) };
        if layout.size() >= HUGE_PAGE && !start.is_null() {
            // SAFETY: the range was just allocated. A refusal leaves it as it is.
            let _ = unsafe { madvise(start.cast(), layout.size(), Advice::LinuxHugepage) };
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: allocated above with this layout.
        unsafe { System.dealloc(start, Self::placed(layout)) };
    }
}

/// Memory that is there, as the kernel counts it (`Rss` and `AnonHugePages` in `/proc/self/smaps`), in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Footprint {
    resident: u64,
    huge: u64,
}

impl Footprint {
    /// What `make` makes, and the memory that came with it. Memory that something else has given back, and that is used
    /// again, is not seen.
    pub(crate) fn of_making<T>(make: impl FnOnce() -> T) -> (T, Self) {
        let before = Self::of_process();
        let made = make();
        let after = Self::of_process();
        let resident = after.resident.saturating_sub(before.resident);
        (made, Self { resident, huge: after.huge.saturating_sub(before.huge).min(resident) })
    }

    /// The mapping around an address.
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
