//! The machine under a measurement: its memory, caches and cores, and the cost of a dependent
//! memory access.
//!
//! A table's cost per lookup cannot be lower than the cost of its memory accesses. [`latency`]
//! measures that cost by a pointer chase, so that a plot of cost against size shows how far a
//! design is from the limit.

use std::fmt;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::region::{LINE, Pages, Region, prefetch_once};

/// Returns the number of bytes that can still be allocated without swapping (`MemAvailable`), if
/// the kernel reports it.
pub fn available_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Returns the numbers of the processor cores that this process may use.
pub fn cores() -> io::Result<Vec<usize>> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect())
}

/// Pins the calling thread to one core.
pub fn pin_to(core: usize) -> Result<(), PinError> {
    if core >= rustix::thread::CpuSet::MAX_CPU {
        return Err(PinError { core, cause: io::ErrorKind::InvalidInput.into() });
    }
    let mut only = rustix::thread::CpuSet::new();
    only.set(core);
    rustix::thread::sched_setaffinity(None, &only)
        .map_err(|cause| PinError { core, cause: cause.into() })
}

/// The reason why [`pin_to`] could not pin a thread.
#[derive(Debug, Error)]
#[error("cannot stay on core {core}: {cause}; choose one of this process's cores")]
pub struct PinError {
    core: usize,
    #[source]
    cause: io::Error,
}

/// Returns the processor time of the calling thread, which excludes the time for which other
/// threads had its core.
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// A data cache of the first core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cache {
    /// The level of the cache. Level 1 is nearest to the core.
    pub level: u8,
    /// The size of the cache in bytes.
    pub bytes: usize,
    /// The size in bytes that the processor reports, or `None` if `bytes` is that size. If `bytes`
    /// was measured by latency, it may differ from the reported size in a virtual machine.
    pub claimed: Option<usize>,
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{} {} KiB", self.level, self.bytes >> 10)?;
        match self.claimed {
            Some(claimed) if self.agrees() => {
                write!(f, " (measured by latency; {} KiB by the processor)", claimed >> 10)
            }
            Some(claimed) => {
                write!(f, " (measured by latency; the processor says {} KiB)", claimed >> 10)
            }
            None => Ok(()),
        }
    }
}

impl Cache {
    /// The factor within which a measured size agrees with the reported one. A cache that replaces
    /// lines at random seems up to a third larger than it is, and a cache that other programs use
    /// too seems smaller.
    const AGREEMENT: f64 = 1.5;

    /// Returns whether the size that the processor reports is about the measured one, or the cache
    /// was not measured.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.claimed.is_none_or(|claimed| {
            let ratio = claimed as f64 / self.bytes as f64;
            (1.0 / Self::AGREEMENT..=Self::AGREEMENT).contains(&ratio)
        })
    }
}

/// Prefetches values that will be read only once. On processors that support it, the prefetch does
/// not displace other data from the larger caches.
pub fn read_once<T>(values: &[T]) {
    let (start, bytes) = (values.as_ptr().cast::<u8>(), size_of_val(values));
    for at in (0..bytes).step_by(LINE) {
        prefetch_once(start.wrapping_add(at));
    }
    // Prefetches the last line, which the loop misses if the values do not begin at a line.
    prefetch_once(start.wrapping_add(bytes.saturating_sub(1)));
}

/// Returns the data caches of the first core as the kernel describes them, nearest first. The list
/// is empty if the kernel describes none. Under a hypervisor, the last cache may be shared with
/// other guests.
pub fn caches() -> Vec<Cache> {
    let read = |index: usize, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    let mut caches: Vec<Cache> = (0..8)
        .filter_map(|index| {
            if read(index, "type")? == "Instruction" {
                return None;
            }
            let size = read(index, "size")?;
            let kibibytes: usize = size.strip_suffix('K')?.parse().ok()?;
            let level = read(index, "level")?.parse().ok()?;
            Some(Cache { level, bytes: kibibytes << 10, claimed: None })
        })
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// The measured cost of an access to memory of one size, where each access depends on the one
/// before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// The size of the memory in bytes, over which the accesses are spread, one for each cache
    /// line.
    pub bytes: usize,
    /// The mean time of one access in nanoseconds, in the fastest round, since disturbances only
    /// add to it.
    pub nanoseconds: f64,
    /// The median time of one access over the rounds, in nanoseconds.
    pub median: f64,
    /// The kind of pages on which the memory lies.
    pub pages: Pages,
}

/// Measures dependent accesses to `bytes` of memory in random order, for about `time`. Returns
/// `None` if memory does not suffice or the measurement is interrupted before its first round. A
/// later interrupt ends it early.
pub fn latency(bytes: usize, time: Duration, interrupt: &AtomicBool) -> Option<Latency> {
    const HOPS: usize = 1 << 16;
    /// The number of accesses after which the measurement checks whether it was interrupted.
    const LOOK: usize = 1 << 12;
    let lines = (bytes / LINE).max(2);
    let region = Region::new(lines * LINE)?;
    // The order is one cycle through all lines (Sattolo 1986), so that no hardware prefetcher
    // predicts the next line.
    let mut order: Vec<u32> = (0..u32::try_from(lines).ok()?).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let interrupted = |at: usize| at.is_multiple_of(LOOK) && interrupt.load(Ordering::Relaxed);
    for at in (1..lines).rev() {
        if interrupted(at) {
            return None;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let other = ((u128::from(state) * at as u128) >> 64) as usize;
        order.swap(at, other);
    }
    for (line, &next) in order.iter().enumerate() {
        if interrupted(line) {
            return None;
        }
        region.word(line * LINE).store(u64::from(next) * LINE as u64, Ordering::Relaxed);
    }
    let mut at = 0;
    let mut chase = |hops: usize| {
        // Processor time excludes the time for which other processes had the core.
        let start = thread_time();
        for _ in 0..hops {
            at = region.word(at).load(Ordering::Relaxed) as usize;
        }
        black_box(at);
        thread_time().saturating_sub(start).as_secs_f64() * 1e9 / hops as f64
    };
    for _ in 0..lines.min(1 << 22).div_ceil(HOPS) {
        chase(HOPS);
        if interrupt.load(Ordering::Relaxed) {
            return None;
        }
    }
    let end = Instant::now() + time;
    let mut rounds = vec![chase(HOPS)];
    while Instant::now() < end && !interrupt.load(Ordering::Relaxed) {
        rounds.push(chase(HOPS));
    }
    rounds.sort_by(f64::total_cmp);
    Some(Latency {
        bytes,
        nanoseconds: rounds[0],
        median: rounds[rounds.len() / 2],
        pages: region.pages(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_goes_through_every_size() {
        for bytes in [1, 128, 4096, 3 << 20] {
            let latency = latency(bytes, Duration::ZERO, &AtomicBool::new(false)).unwrap();
            assert!(latency.nanoseconds > 0.0 && latency.nanoseconds <= latency.median);
        }
    }

    #[test]
    fn a_core_that_does_not_exist_is_an_error_and_no_crash() {
        assert!(pin_to(usize::MAX).is_err());
        assert!(!cores().unwrap().is_empty());
    }
}
