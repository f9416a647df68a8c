//! The processor's cycle counter, for what is too short for clocks.
//!
//! The counter of x86-64 runs at a constant rate on processors that say so (`constant_tsc` and `nonstop_tsc`), whatever
//! their frequency. [`begin`] and [`end`] are fenced so that what is measured stays between them (Intel, "How to Benchmark
//! Code Execution Times on Intel IA-32 and IA-64 Instruction Set Architectures", 2010, with fences in place of CPUID, which
//! a hypervisor traps). On other processors there is none here.
#![allow(unsafe_code, reason = "instructions that are intrinsics")]

use std::time::{Duration, Instant};

/// The counter before something.
#[must_use]
pub fn begin() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE2 and the counter are in every x86-64 processor; Linux leaves the counter to user programs.
    unsafe {
        use std::arch::x86_64::{_mm_lfence, _rdtsc};
        _mm_lfence();
        let counter = _rdtsc();
        _mm_lfence();
        counter
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// The counter behind it.
#[must_use]
pub fn end() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above; processors without RDTSCP have no constant counter, so that none is calibrated there.
    unsafe {
        use std::arch::x86_64::{__rdtscp, _mm_lfence};
        let mut processor = 0;
        let counter = __rdtscp(&raw mut processor);
        _mm_lfence();
        counter
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// How fast the counter runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CycleCounter {
    frequency: f64,
}

impl CycleCounter {
    /// Compares it with the monotonic clock for so long; `None` where there is no counter at a constant rate.
    #[must_use]
    pub fn calibrate(duration: Duration) -> Option<Self> {
        let flags = std::fs::read_to_string("/proc/cpuinfo").ok()?;
        let flags = flags.lines().find(|line| line.starts_with("flags"))?;
        let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
        if !(has("constant_tsc") && has("nonstop_tsc") && has("rdtscp")) {
            return None;
        }
        let (from, counter) = (Instant::now(), begin());
        while from.elapsed() < duration {
            std::hint::spin_loop();
        }
        let (elapsed, cycles) = (from.elapsed(), end().wrapping_sub(counter));
        let frequency = cycles as f64 / elapsed.as_secs_f64();
        (frequency > 0.0).then_some(Self { frequency })
    }

    /// Cycles per second.
    #[must_use]
    pub fn frequency(self) -> f64 {
        self.frequency
    }

    /// How long so many cycles are, in picoseconds.
    #[must_use]
    pub fn picoseconds(self, cycles: u64) -> i64 {
        (cycles as f64 * 1e12 / self.frequency) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_runs_and_cycles_become_time() {
        let counter = CycleCounter { frequency: 2e9 };
        assert_eq!(counter.picoseconds(3), 1_500);
        let before = begin();
        if before > 0 {
            assert!((0..1000).any(|_| end() > before), "it stands still");
        }
    }
}
