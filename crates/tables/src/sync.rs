//! Atomics and waiting of the files whose protocols are checked by exhaustion.
//!
//! `tests/models.rs` takes those files as they are and gives them a model checker's atomics in place of these.

use std::sync::{MutexGuard, PoisonError};

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Arc, Condvar, Mutex};
pub(crate) use std::thread::yield_now;

/// The model checker takes sequentially consistent operations for weaker ones, and knows fences.
#[inline(always)]
pub(crate) fn fence_of_models() {}

/// What is guarded is never left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits, with the lock given back meanwhile; wakes without a reason too.
pub(crate) fn wait<'g, T>(condition: &Condvar, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
