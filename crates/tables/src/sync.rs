//! Atomics and waiting of the files whose protocols are checked by exhaustion.
//!
//! `tests/models.rs` takes those files as they are and gives them a model checker's atomics in place of these.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
pub(crate) use std::thread::yield_now;
