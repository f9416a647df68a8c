//! A pause before a thread looks for messages, so that it can answer several at a time.
//!
//! Waking a thread for every message costs more than processing the message, at both ends of the
//! connection. Network cards moderate their interrupts for the same reason.

use std::num::NonZeroU64;
use std::time::Duration;

/// Prepares the calling thread for short pauses, and returns a function that pauses for `gather`.
/// The thread must call the returned function before it looks for messages.
pub(super) fn pause(gather: Duration) -> impl Fn() + Send + Sync + Copy + 'static {
    if !gather.is_zero() {
        // The default timer slack prolongs pauses by 50 us. If it cannot be changed, pauses remain
        // longer.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
    move || {
        if !gather.is_zero() {
            std::thread::sleep(gather);
        }
    }
}
