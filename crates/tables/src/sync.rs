//! The atomics and waiting primitives of the modules whose protocols a model checker explores.
//!
//! `tests/models.rs` includes those modules unchanged and replaces these primitives by those of a
//! model checker.

use std::sync::{MutexGuard, PoisonError};

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub(crate) use std::sync::{Arc, Condvar, Mutex};
pub(crate) use std::thread::yield_now;

/// Does nothing outside of models. In models it is a fence, because the model checker treats
/// sequentially consistent operations as weaker ones but supports fences.
#[inline(always)]
pub(crate) fn fence_of_models() {}

/// Locks a mutex, ignoring poisoning: guarded data is never left partially changed by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on a condition variable and releases the lock meanwhile. May wake up spuriously.
pub(crate) fn wait<'g, T>(condition: &Condvar, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
