//! What one thread at a time uses: a shard while its worker runs a batch.
//!
//! The lock is released by a plain store and not by an exchange as a mutex's, and what needs no lock is reached without:
//! so a processor may begin to fetch a batch's buckets while it still works on the end of the batch before.

use std::ops::Deref;

use crate::quiescence::relax;
use crate::sync::{AtomicBool, Ordering};

/// A value that is sound to share and that one thread at a time has for itself.
///
/// It shares no cache line with its neighbours, and none with the line beside it that processors fetch along:
/// otherwise each core would take the other's line away once per batch.
#[repr(align(128))]
pub(crate) struct Exclusive<T> {
    value: T,
    held: AtomicBool,
}

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value, held: AtomicBool::new(false) }
    }

    /// For what disturbs nobody who holds it.
    #[inline(always)]
    pub(crate) fn shared(&self) -> &T {
        &self.value
    }

    /// Waits for whoever holds it, sees all that they wrote, and keeps others away.
    #[inline(always)]
    pub(crate) fn hold(&self) -> Held<'_, T> {
        let mut spins = 0;
        while self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            relax(&mut spins);
        }
        Held(self)
    }
}

/// The value, until dropped. A panic lets go as well.
pub(crate) struct Held<'a, T>(&'a Exclusive<T>);

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.held.store(false, Ordering::Release);
    }
}
