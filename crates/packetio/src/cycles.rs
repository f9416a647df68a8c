//! The processor's cycle counter, for durations that are too short for clocks.
//!
//! The counter of x86-64 runs at a constant rate, independent of the core frequency, on processors
//! that report `constant_tsc` and `nonstop_tsc`. [`begin`] and [`end`] contain fences, so that the
//! processor does not move the measured instructions out of the interval (Intel, "How to Benchmark
//! Code Execution Times on Intel IA-32 and IA-64 Instruction Set Architectures", 2010; fences
//! replace CPUID, which a hypervisor traps). Other processors are not supported.
#![allow(unsafe_code, reason = "instructions that are intrinsics")]

use std::time::{Duration, Instant};

/// Returns the cycle counter, or 0 on a processor that is not x86-64. It must be called right
/// before the instructions that are measured.
#[must_use]
pub fn begin() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has SSE2 and the counter, and Linux permits user programs to
    // read the counter.
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

/// Returns the cycle counter, or 0 on a processor that is not x86-64. It must be called right after
/// the instructions that are measured.
#[must_use]
pub fn end() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has SSE2. Callers only rely on the counter after `calibrate`
    // has checked that the processor has RDTSCP.
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

/// The frequency of the cycle counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CycleCounter {
    frequency: f64,
}

impl CycleCounter {
    /// Measures the frequency of the cycle counter against the monotonic clock for `duration`.
    /// Returns `None` if the processor has no counter with a constant rate.
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

    /// Returns the frequency of the cycle counter in cycles per second.
    #[must_use]
    pub fn frequency(self) -> f64 {
        self.frequency
    }

    /// Converts a number of cycles to picoseconds.
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
