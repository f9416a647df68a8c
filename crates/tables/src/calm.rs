//! When packets may write entries without a lock although any thread may come and use the table.
//!
//! A lock that nobody contends still costs an exchange for each packet, which waits for all stores before it and keeps
//! the next packet's loads behind it. While a table is calm there is none. Who takes an entry out, gives it another action
//! or otherwise does what packets in the middle of an action must not meet *disturbs* the table first: from then on packets
//! lock, and when every batch that began before has ended, the change is made. That wait is rare and long so that batches
//! are short (biased locks, Kawachiya et al. 2002, with a grace period for the bias to end). A worker that has seen no
//! disturbance for some batches makes the table calm again.
//!
//! Where actions have their entries alone, a second worker disturbs the table for as long as it is there.

use crate::quiescence::Reclaim;
use crate::sync::{AtomicU64, Ordering};

/// Whether and by whom a table is disturbed.
///
/// It shares no cache line with what changes more often.
#[repr(align(128))]
pub(crate) struct Calm {
    /// [`DISTURBED`], the disturbances under way, and how many there were.
    state: AtomicU64,
    /// Workers of a table in which actions have their entries alone.
    workers: AtomicU64,
}

/// Packets lock entries.
const DISTURBED: u64 = 1;
/// One disturbance is under way.
const ONE: u64 = 2;
const UNDER_WAY: u64 = GENERATION - ONE;
/// One disturbance has begun.
const GENERATION: u64 = 1 << 32;
/// Batches without a disturbance after which a worker makes the table calm.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 64 };

/// What a worker remembers of a table that is not calm.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    state: u64,
    batches: u32,
}

impl Calm {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU64::new(0), workers: AtomicU64::new(0) }
    }

    /// Whether the worker, which is pinned and asks at the beginning of a batch, may write without locks until it is
    /// pinned no more.
    #[inline(always)]
    pub(crate) fn begin(&self, patience: &mut Patience) -> bool {
        let state = self.state.load(Ordering::Acquire);
        if state & (DISTURBED | UNDER_WAY) == 0 { true } else { self.settle(state, patience) }
    }

    /// Whether a worker that may have been pinned anew since [`Calm::begin`] may still write without locks.
    #[inline(always)]
    pub(crate) fn lasts(&self) -> bool {
        self.state.load(Ordering::Acquire) & (DISTURBED | UNDER_WAY) == 0
    }

    #[cold]
    fn settle(&self, state: u64, patience: &mut Patience) -> bool {
        if state != patience.state {
            *patience = Patience { state, batches: 0 };
        }
        patience.batches = patience.batches.saturating_add(1);
        if patience.batches < PATIENCE || state & UNDER_WAY != 0 {
            return false;
        }
        // The number of disturbances is part of what is compared, so that none came and went unseen.
        let calm = state & !DISTURBED;
        self.state.compare_exchange(state, calm, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Waits until no packet writes without a lock, and lets none do so until the result is dropped. A pinned caller holds
    /// no entry.
    pub(crate) fn disturb(&self, reclaim: Reclaim<'_>) -> Disturbance<'_> {
        let mut before = self.state.load(Ordering::Relaxed);
        loop {
            let disturbed = (before | DISTURBED).wrapping_add(ONE + GENERATION);
            let exchanged =
                self.state.compare_exchange(before, disturbed, Ordering::AcqRel, Ordering::Relaxed);
            match exchanged {
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        // Where one has ended before, and nobody has made the table calm since, its wait will do.
        if before & DISTURBED == 0 || before & UNDER_WAY != 0 {
            reclaim.synchronise();
        }
        Disturbance(self)
    }

    /// A worker comes whose actions have their entries alone. Whether it disturbs the table until [`Calm::leave`]: all but
    /// the first do.
    pub(crate) fn join(&self, reclaim: Reclaim<'_>) -> bool {
        let is_second = self.workers.fetch_add(1, Ordering::AcqRel) > 0;
        if is_second {
            std::mem::forget(self.disturb(reclaim));
        }
        is_second
    }

    /// A worker goes that joined, and disturbed the table or not.
    pub(crate) fn leave(&self, disturbed: bool) {
        if disturbed {
            drop(Disturbance(self));
        }
        self.workers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// While it lives, packets lock entries.
pub(crate) struct Disturbance<'a>(&'a Calm);

impl Drop for Disturbance<'_> {
    fn drop(&mut self) {
        self.0.state.fetch_sub(ONE, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::quiescence::Domain;

    fn settles_after(calm: &Calm) -> Option<u32> {
        let mut patience = Patience::default();
        (1..=2 * PATIENCE).find(|_| calm.begin(&mut patience))
    }

    #[test]
    fn a_table_is_calm_until_it_is_disturbed_and_again_some_batches_later() {
        let (calm, domain) = (Calm::new(), Domain::new());
        let reclaim = Reclaim { domain: &domain, seat: None };
        assert_eq!(settles_after(&calm), Some(1));
        let disturbance = calm.disturb(reclaim);
        assert!(!calm.lasts());
        assert_eq!(settles_after(&calm), None, "not while the disturbance is under way");
        drop(disturbance);
        assert!(!calm.lasts());
        assert_eq!(settles_after(&calm), Some(PATIENCE));
        assert!(calm.lasts());
    }

    #[test]
    fn patience_begins_anew_with_each_disturbance() {
        let (calm, domain) = (Calm::new(), Domain::new());
        let reclaim = Reclaim { domain: &domain, seat: None };
        let mut patience = Patience::default();
        for _ in 0..3 {
            drop(calm.disturb(reclaim));
            assert!((1..PATIENCE).all(|_| !calm.begin(&mut patience)));
        }
        assert!(calm.begin(&mut patience));
    }

    #[test]
    fn one_worker_alone_is_calm() {
        let (calm, domain) = (Calm::new(), Domain::new());
        let reclaim = Reclaim { domain: &domain, seat: None };
        let first = calm.join(reclaim);
        assert!(!first && calm.lasts());
        let second = calm.join(reclaim);
        assert!(second && settles_after(&calm).is_none());
        calm.leave(first);
        assert_eq!(settles_after(&calm), None, "the second was told that it is not alone");
        let third = calm.join(reclaim);
        calm.leave(second);
        assert!(third && settles_after(&calm).is_none());
        calm.leave(third);
        assert!(settles_after(&calm).is_some());
        assert!(!calm.join(reclaim) && calm.lasts());
    }
}
