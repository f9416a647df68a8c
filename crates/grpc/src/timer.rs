//! A timer for an asynchronous runtime that is precise to tens of microseconds.
//!
//! The runtime's own timer has a granularity of a millisecond, which is longer than the time
//! between two packet-ins.

use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// A timer of one task that is based on a timer of the operating system.
#[derive(Debug)]
pub struct Timer {
    descriptor: AsyncFd<OwnedFd>,
}

impl Timer {
    /// Creates a timer that belongs to the current runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if the system has no timer left.
    #[expect(
        deprecated,
        reason = "the constructor is unsound for types that may change or share their descriptor; \
                  an OwnedFd does neither, and the replacement is an unsafe function"
    )]
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { descriptor: AsyncFd::new(descriptor)? })
    }

    /// Sleeps for `nanoseconds`.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses to set or to read the timer.
    pub async fn sleep(&self, nanoseconds: u64) -> io::Result<()> {
        let once = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec {
                tv_sec: (nanoseconds / 1_000_000_000) as i64,
                // Zero would disarm the timer.
                tv_nsec: (nanoseconds % 1_000_000_000).max(1) as i64,
            },
        };
        timerfd_settime(self.descriptor.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut guard = self.descriptor.readable().await?;
            match rustix::io::read(guard.get_inner(), &mut [0; 8]) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
