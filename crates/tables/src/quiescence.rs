//! Epoch-based reclamation: determines when memory that readers may still see can be reused (Fraser
//! 2004, Section 5.2.3).
//!
//! Workers are pinned while they run a batch, and use no entry afterwards. Memory that was unlinked
//! is put into a [`Limbo`] with the current epoch. The epoch advances when every pinned worker has
//! seen it, and memory that was unlinked two epochs ago is unreachable for all workers.
//!
//! The tables of programs have a domain without workers, since a gate keeps packets out of them.
//! Tests have workers that read search trees while the trees change.

use crate::design::MAX_WORKERS;
#[cfg(test)]
use crate::sync::AtomicBool;
use crate::sync::{AtomicU64, Ordering, fence, spin_loop, yield_now};

/// A worker's announcement of the epoch in which it is pinned. Each has a pair of cache lines of
/// its own, because processors fetch lines in pairs.
#[repr(align(128))]
#[derive(Default)]
struct Announcement {
    /// The epoch in which the worker is pinned, or 0 while it is not.
    pinned: AtomicU64,
    #[cfg(test)]
    taken: AtomicBool,
}

/// The workers that read one table, and the epochs in which they are pinned.
pub(crate) struct Domain {
    epoch: AtomicU64,
    workers: Box<[Announcement]>,
    /// The number of slots for workers that have ever been used. Slots beyond it are not examined.
    seats: AtomicU64,
}

/// A worker's slot in the domain, which it occupies from [`Domain::join`] to [`Domain::leave`].
#[cfg(test)]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seat(usize);

impl Domain {
    pub(crate) fn new() -> Self {
        Self {
            epoch: AtomicU64::new(1),
            workers: (0..MAX_WORKERS).map(|_| Announcement::default()).collect(),
            seats: AtomicU64::new(0),
        }
    }

    /// Adds a worker to the domain and returns its slot. Returns `None` if all slots are occupied.
    #[cfg(test)]
    pub(crate) fn join(&self) -> Option<Seat> {
        let free = |worker: &Announcement| !worker.taken.swap(true, Ordering::AcqRel);
        let seat = self.workers.iter().position(free)?;
        // The seat is published before the worker is first pinned, so that a thread that sees the
        // worker pinned also sees the seat.
        self.seats.fetch_max(seat as u64 + 1, Ordering::AcqRel);
        Some(Seat(seat))
    }

    fn seats(&self) -> &[Announcement] {
        &self.workers[..self.seats.load(Ordering::Acquire) as usize]
    }

    #[cfg(test)]
    pub(crate) fn leave(&self, seat: &Seat) {
        self.unpin(seat);
        self.workers[seat.0].taken.store(false, Ordering::Release);
    }

    /// Pins the worker: until [`Domain::unpin`], no memory that the worker can reach is reused.
    #[cfg(test)]
    pub(crate) fn pin(&self, seat: &Seat) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.workers[seat.0].pinned.store(epoch, Ordering::Release);
        // The announcement must be visible before anything is read under its protection.
        fence(Ordering::SeqCst);
    }

    #[cfg(test)]
    pub(crate) fn unpin(&self, seat: &Seat) {
        self.workers[seat.0].pinned.store(0, Ordering::Release);
    }

    /// Returns the current epoch, with which memory that has just been unlinked is stamped.
    pub(crate) fn now(&self) -> u64 {
        // Orders the unlinking before the stamp.
        fence(Ordering::SeqCst);
        self.epoch.load(Ordering::Relaxed)
    }

    /// Advances the epoch if every pinned worker has seen the current one. Returns the epoch after
    /// the attempt.
    pub(crate) fn advance(&self) -> u64 {
        let epoch = self.epoch.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        for worker in self.seats() {
            // The acquire load makes the worker's earlier reads happen before the memory is reused.
            let pinned = worker.pinned.load(Ordering::Acquire);
            if pinned != 0 && pinned != epoch {
                return epoch;
            }
        }
        // If another thread has advanced the epoch meanwhile, this attempt has no effect.
        match self.epoch.compare_exchange(epoch, epoch + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => epoch + 1,
            Err(current) => current,
        }
    }

    /// Returns whether memory that was unlinked at `stamp` is unreachable at `epoch`.
    pub(crate) fn is_past(stamp: u64, epoch: u64) -> bool {
        epoch >= stamp + 2
    }

    /// Waits until no worker can reach memory that was unlinked before the call. The caller must
    /// not be pinned.
    pub(crate) fn synchronise(&self) {
        let stamp = self.now();
        let mut spins = 0_u32;
        while !Self::is_past(stamp, self.advance()) {
            relax(&mut spins);
        }
    }
}

/// A guard that keeps a worker pinned until it is dropped.
#[cfg(test)]
pub(crate) struct Pin<'a> {
    domain: &'a Domain,
    seat: &'a Seat,
}

#[cfg(test)]
impl<'a> Pin<'a> {
    #[inline]
    pub(crate) fn new(domain: &'a Domain, seat: &'a Seat) -> Self {
        domain.pin(seat);
        Self { domain, seat }
    }
}

#[cfg(test)]
impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.domain.unpin(self.seat);
    }
}

/// Spins once, and yields the processor every 64th time, because the thread for which the caller
/// waits may need this core.
#[inline]
pub(crate) fn relax(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(64) { yield_now() } else { spin_loop() }
}

/// Memory that was unlinked and that workers may still reach, oldest first.
#[derive(Default)]
pub(crate) struct Limbo<T = u32> {
    waiting: std::collections::VecDeque<(u64, T)>,
}

impl<T: Copy + PartialEq> Limbo<T> {
    /// Adds memory that was unlinked just now.
    pub(crate) fn retire(&mut self, domain: &Domain, record: T) {
        self.waiting.push_back((domain.now(), record));
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the number of elements that wait until no worker can reach them.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Passes the elements that no worker can reach at `epoch` to `reuse`.
    pub(crate) fn collect(&mut self, epoch: u64, mut reuse: impl FnMut(T)) {
        while let Some(&(stamp, record)) = self.waiting.front()
            && Domain::is_past(stamp, epoch)
        {
            self.waiting.pop_front();
            reuse(record);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_epoch_waits_for_a_pinned_worker() {
        let domain = Domain::new();
        let seat = domain.join().unwrap();
        domain.pin(&seat);
        let mut limbo = Limbo::default();
        limbo.retire(&domain, 7);
        let first = domain.advance();
        assert_eq!(domain.advance(), first, "the worker has not seen the new epoch");
        let mut reused = Vec::new();
        limbo.collect(domain.advance(), |record| reused.push(record));
        assert!(reused.is_empty());
        domain.unpin(&seat);
        limbo.collect(domain.advance(), |record| reused.push(record));
        assert_eq!(reused, [7]);
        assert!(limbo.is_empty());
    }

    #[test]
    fn seats_are_reused() {
        let domain = Domain::new();
        let seats: Vec<_> = std::iter::from_fn(|| domain.join()).collect();
        assert_eq!(seats.len(), MAX_WORKERS);
        domain.leave(&seats[3]);
        assert_eq!(domain.join(), Some(Seat(3)));
    }
}
