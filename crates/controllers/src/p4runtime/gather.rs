//! A pause before a thread looks for messages, so that several are answered at a time.
//!
//! To wake a thread for every message costs both ends more than the message. Network cards
//! moderate their interrupts for the same reason.

use std::num::NonZeroU64;
use std::time::Duration;

/// Prepares the calling thread, which returns what is to be called before it looks.
pub(super) fn pause(gather: Duration) -> impl Fn() + Send + Sync + Copy + 'static {
    if !gather.is_zero() {
        // Pauses are otherwise longer by 50 us; where that stays so, they are.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
    move || {
        if !gather.is_zero() {
            std::thread::sleep(gather);
        }
    }
}
