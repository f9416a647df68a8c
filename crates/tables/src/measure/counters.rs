//! The cache misses of a thread, from the processor's counters through the kernel. Each lane of a
//! measurement counts its own.

use std::io;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};
use thiserror::Error;

/// The reason why cache misses cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CounterError {
    /// The kernel has no such counter, as in most virtual machines.
    #[error(
        "the kernel offers no hardware counter of cache misses here, as in most virtual machines"
    )]
    NotThere,
    /// The kernel refuses access to the counter.
    #[error(
        "the kernel refuses hardware counters; lower /proc/sys/kernel/perf_event_paranoid to 2"
    )]
    Refused,
    /// Another error, described by the text.
    #[error("hardware counters do not work: {0}")]
    Other(String),
}

impl From<io::Error> for CounterError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::Unsupported => Self::NotThere,
            io::ErrorKind::PermissionDenied => Self::Refused,
            // ENODEV, which means that the processor has no such counter, has no `ErrorKind` of its
            // own.
            _ if error.raw_os_error() == Some(19) => Self::NotThere,
            _ => Self::Other(error.to_string()),
        }
    }
}

/// Checks whether misses of the last-level cache can be counted. If not, returns the reason.
pub fn counters_available() -> Result<(), CounterError> {
    let mut misses = CacheMisses::of_this_thread()?;
    misses.start();
    misses.stop().map(|_| ())
}

/// A counter of the last-level cache's misses in user space by the thread that created it.
pub(super) struct CacheMisses {
    counter: Counter,
    before: u64,
}

impl CacheMisses {
    pub(super) fn of_this_thread() -> Result<Self, CounterError> {
        let counter = Builder::new(Hardware::CACHE_MISSES).exclude_kernel(true).build()?;
        Ok(Self { counter, before: 0 })
    }

    /// Starts counting the cache misses of this thread.
    pub(super) fn start(&mut self) {
        self.before = self.counter.read().unwrap_or(0);
        // If the counter does not start, its running time is zero at the end, which `stop` reports.
        let _ = self.counter.enable();
    }

    /// Returns the number of misses since [`CacheMisses::start`].
    pub(super) fn stop(&mut self) -> Result<u64, CounterError> {
        self.counter.disable()?;
        let now = self.counter.read_full()?;
        if now.time_running().is_some_and(|time| time.is_zero()) {
            // Other users of the processor's counters left none for this one.
            return Err(CounterError::NotThere);
        }
        Ok(now.count().saturating_sub(self.before))
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_reason() {
        let of = |code| CounterError::from(io::Error::from_raw_os_error(code));
        assert_eq!([of(2), of(95), of(19)], [const { CounterError::NotThere }; 3]);
        assert_eq!([of(1), of(13)], [const { CounterError::Refused }; 2]);
        assert!(matches!(of(22), CounterError::Other(_)));
    }

    /// Checks that on machines with counters, reading memory larger than every cache causes misses,
    /// and that other machines report a reason.
    #[test]
    fn misses_are_counted_or_the_reason_is_reported() {
        match counters_available() {
            Err(reason) => eprintln!("SKIPPED: {reason}"),
            Ok(()) => {
                let memory = vec![1_u8; 256 << 20];
                let mut misses = CacheMisses::of_this_thread().unwrap();
                misses.start();
                let sum: u64 = (0..memory.len() / 4096)
                    .map(|page| {
                        u64::from(memory[page.wrapping_mul(40_503) % (memory.len() / 4096) * 4096])
                    })
                    .sum();
                std::hint::black_box(sum);
                assert!(misses.stop().unwrap() > 1000);
            }
        }
    }
}
