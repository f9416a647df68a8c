//! The time at which work is abandoned, and the flag that asks for its end.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// When a search ends, whatever it has found by then. By default it ends by itself only.
///
/// An execution asks before each statement, a search before each query, and the solver before each
/// of its decisions. What was found by then is reported; goals that were not tried remain open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    /// The time at which the search ends; `None` for no limit.
    pub at: Option<Instant>,
    /// A flag that becomes true when the search must end, such as that of Ctrl-C.
    pub asked: Option<&'static AtomicBool>,
}

impl Ends {
    /// Returns whether the search must end now.
    pub(crate) fn are_reached(&self) -> bool {
        self.asked.is_some_and(|asked| asked.load(Ordering::Relaxed))
            || self.at.is_some_and(|at| Instant::now() >= at)
    }
}

/// Flags are equal if they are the same.
impl PartialEq for Ends {
    fn eq(&self, other: &Self) -> bool {
        let [left, right] = [self, other].map(|ends| ends.asked.map(ptr::from_ref));
        self.at == other.at && left == right
    }
}

impl Eq for Ends {}
