//! Explores the interleavings of small models, by the model checker loom, over the source files of
//! the protocols. Models of the gate are explored completely; the others, and one with three
//! threads, only up to two or three preemptions.
//!
//!     RUSTFLAGS="--cfg loom" cargo test -p planimeter-tables --test models
//!
//! The files below are those of the crate, compiled with loom's atomics: bucket locks and versions,
//! entry locks, the gate that keeps packets out, changes in two replicas, quiescence, and trees
//! that are replaced while readers use them. Each property also has a model without the protocol,
//! in which loom must find the failure, so that the checks are known to be able to fail.

#[cfg(not(loom))]
#[test]
fn models_need_a_model_checker() {
    eprintln!("SKIPPED: every interleaving is explored only with RUSTFLAGS=\"--cfg loom\"");
}

#[cfg(loom)]
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
    pub(crate) use loom::sync::{Arc, Condvar, Mutex};
    pub(crate) use loom::thread::yield_now;

    use loom::sync::MutexGuard;
    use std::sync::PoisonError;

    pub(crate) fn fence_of_models() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait<'g, T>(condition: &Condvar, guard: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
        condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Yields, because the thread that a spinning thread waits for must run.
    pub(crate) fn spin_loop() {
        yield_now();
    }
}

#[cfg(loom)]
mod design {
    /// A number that suffices for the models.
    pub(crate) const MAX_WORKERS: usize = 2;
}

#[cfg(loom)]
mod store {
    /// A number that suffices for the models.
    pub(crate) const BATCH: usize = 2;
}

/// One line of memory in loom's words.
#[cfg(loom)]
#[allow(unsafe_code, reason = "the same signatures as in the crate")]
mod region {
    use crate::sync::{AtomicU32, AtomicU64};

    pub(crate) const LINE: usize = 64;

    /// Does nothing, because models have no cache.
    pub(crate) fn prefetch(_: *const u8) {}

    pub(crate) fn prefetch_to_write(_: *const u8) {}

    pub(crate) struct Region {
        words: Vec<AtomicU64>,
        halves: Vec<AtomicU32>,
    }

    impl Region {
        pub(crate) fn new(bytes: usize) -> Option<Self> {
            Some(Self {
                words: (0..bytes / 8).map(|_| AtomicU64::new(0)).collect(),
                halves: (0..LINE / 4).map(|_| AtomicU32::new(0)).collect(),
            })
        }

        pub(crate) fn at(&self, offset: usize) -> *const u8 {
            std::ptr::from_ref(&self.words[offset / 8]).cast()
        }

        pub(crate) fn bytes(&self) -> usize {
            8 * self.words.len()
        }

        pub(crate) fn word32(&self, offset: usize) -> &AtomicU32 {
            &self.halves[offset / 4]
        }

        pub(crate) fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
            &self.words[offset / 8..offset / 8 + count]
        }

        /// # Safety
        /// There is no requirement: a model has one line, and the function checks the index.
        pub(crate) unsafe fn line(&self, index: usize) -> Words<'_> {
            assert_eq!(index, 0, "a model has one line");
            Words(self)
        }
    }

    #[derive(Clone, Copy)]
    pub(crate) struct Words<'a>(&'a Region);

    impl<'a> Words<'a> {
        /// # Safety
        /// The address must be one that [`Self::address`] returned, and its region must be alive.
        pub(crate) unsafe fn at(address: *mut u8) -> Self {
            // SAFETY: the caller guarantees that the address is that of a region, which is a
            // model's line.
            Words(unsafe { &*address.cast::<Region>() })
        }

        pub(crate) fn address(self) -> *mut u8 {
            std::ptr::from_ref(self.0).cast_mut().cast()
        }

        pub(crate) fn word32(self, offset: usize) -> &'a AtomicU32 {
            &self.0.halves[offset / 4]
        }

        pub(crate) fn word64(self, offset: usize) -> &'a AtomicU64 {
            &self.0.words[offset / 8]
        }
    }
}

#[cfg(loom)]
#[path = "../src/arena.rs"]
#[allow(dead_code, reason = "models use a part of each file")]
mod arena;
#[cfg(loom)]
#[path = "../src/gate.rs"]
#[allow(dead_code, unreachable_pub, reason = "models use a part of each file")]
mod gate;
#[cfg(loom)]
#[path = "../src/hash.rs"]
#[allow(dead_code, unreachable_pub, reason = "models use a part of each file")]
mod hash;
#[cfg(loom)]
#[path = "../src/prefix_trie.rs"]
#[allow(dead_code, reason = "models use a part of each file")]
mod prefix_trie;
#[cfg(loom)]
#[path = "../src/quiescence.rs"]
#[allow(dead_code, reason = "models use a part of each file")]
mod quiescence;

#[cfg(loom)]
#[path = "models/protocol.rs"]
#[allow(
    dead_code,
    unsafe_code,
    reason = "models use a part of each file; entries lie at addresses"
)]
mod protocol;

#[cfg(loom)]
#[path = "models/closing.rs"]
mod closing;
