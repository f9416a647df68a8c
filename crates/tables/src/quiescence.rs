//! When may memory that readers could still see be used again?
//!
//! Workers pin themselves while they run a batch and hold no entry afterwards (epoch-based reclamation, Fraser 2004,
//! Section 5.2.3). What is unlinked goes into a worker's [`Limbo`] with the epoch of that moment. The epoch advances
//! when every pinned worker has seen it, and what was unlinked two epochs ago is out of everybody's reach. A writer
//! can also wait for that point instead of sleeping ([`Domain::synchronise`]).

use crate::announcement::Notice;
use crate::design::MAX_WORKERS;
use crate::sync::{AtomicBool, AtomicU64, Ordering, fence, spin_loop, yield_now};

/// One worker's announcement, alone in its pair of cache lines (processors fetch lines in pairs).
#[repr(align(128))]
#[derive(Default)]
struct Announcement {
    /// The epoch in which the worker is pinned, or 0 while it is not.
    pinned: AtomicU64,
    taken: AtomicBool,
}

/// The workers of one table and their epochs.
pub(crate) struct Domain {
    epoch: AtomicU64,
    workers: Box<[Announcement]>,
    /// Seats beyond this have never been taken, so that nobody looks at them.
    seats: AtomicU64,
}

/// A worker's place in the domain. Given back when dropped by [`Domain::leave`].
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

    /// Takes a seat, or `None` when all are taken.
    pub(crate) fn join(&self) -> Option<Seat> {
        let free = |worker: &Announcement| !worker.taken.swap(true, Ordering::AcqRel);
        let seat = self.workers.iter().position(free)?;
        // Before the worker is pinned first: whoever must see that must see this.
        self.seats.fetch_max(seat as u64 + 1, Ordering::AcqRel);
        Some(Seat(seat))
    }

    fn seats(&self) -> &[Announcement] {
        &self.workers[..self.seats.load(Ordering::Acquire) as usize]
    }

    pub(crate) fn leave(&self, seat: &Seat) {
        self.unpin(seat);
        self.workers[seat.0].taken.store(false, Ordering::Release);
    }

    /// How many seats are taken.
    pub(crate) fn members(&self) -> usize {
        self.seats().iter().filter(|worker| worker.taken.load(Ordering::Acquire)).count()
    }

    /// From here to [`Domain::unpin`] nothing that the worker can reach is used for something else.
    #[inline]
    pub(crate) fn pin(&self, seat: &Seat) {
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.workers[seat.0].pinned.store(epoch, Ordering::Release);
        // The announcement must be visible before anything is read under it.
        fence(Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn unpin(&self, seat: &Seat) {
        self.workers[seat.0].pinned.store(0, Ordering::Release);
    }

    /// The epoch to stamp on what is unlinked now.
    pub(crate) fn now(&self) -> u64 {
        // Orders the unlinking before the stamp.
        fence(Ordering::SeqCst);
        self.epoch.load(Ordering::Relaxed)
    }

    /// Moves on if every pinned worker has seen the current epoch. Returns the epoch after the attempt.
    pub(crate) fn advance(&self) -> u64 {
        let epoch = self.epoch.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        for worker in self.seats() {
            // What the worker read while it was pinned before happens before the memory is used again.
            let pinned = worker.pinned.load(Ordering::Acquire);
            if pinned != 0 && pinned != epoch {
                return epoch;
            }
        }
        // Another thread may have advanced meanwhile; then this attempt counts for nothing.
        match self.epoch.compare_exchange(epoch, epoch + 1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => epoch + 1,
            Err(current) => current,
        }
    }

    /// Whether what was unlinked at `stamp` is out of reach at `epoch`.
    pub(crate) fn is_past(stamp: u64, epoch: u64) -> bool {
        epoch >= stamp + 2
    }

    /// Waits until nobody can reach what was unlinked before the call. A pinned caller passes its own seat and must
    /// hold nothing: it counts as having let go, so that two workers may wait for each other.
    pub(crate) fn synchronise(&self, own: Option<&Seat>) {
        let stamp = self.now();
        let mut spins = 0_u32;
        while !Self::is_past(stamp, self.advance()) {
            if let Some(seat) = own {
                self.repin(seat);
            }
            relax(&mut spins);
        }
        if let Some(seat) = own {
            self.repin(seat);
        }
    }

    fn is_pinned(&self, seat: &Seat) -> bool {
        self.workers[seat.0].pinned.load(Ordering::Relaxed) != 0
    }

    /// A pinned worker that holds nothing moves to the current epoch.
    fn repin(&self, seat: &Seat) {
        if self.is_pinned(seat) {
            self.unpin(seat);
            self.pin(seat);
        }
    }
}

/// What reuse of memory needs to know: who might still see it. A pinned caller passes its seat and holds nothing.
#[derive(Clone, Copy)]
pub(crate) struct Reclaim<'a> {
    pub(crate) domain: &'a Domain,
    pub(crate) seat: Option<&'a Seat>,
    /// What the caller has announced, which it takes back before it waits.
    pub(crate) notice: Option<&'a Notice>,
}

impl<'a> Reclaim<'a> {
    /// For a caller who is not pinned.
    pub(crate) fn of(domain: &'a Domain) -> Self {
        Self { domain, seat: None, notice: None }
    }

    /// Waits until nobody can reach what was unlinked before the call.
    pub(crate) fn synchronise(&self) {
        self.let_go();
        self.domain.synchronise(self.seat);
    }

    /// Runs `wait`, which may block on a thread that itself waits for this one to let go.
    pub(crate) fn while_waiting<R>(&self, wait: impl FnOnce() -> R) -> R {
        let Some(seat) = self.seat.filter(|seat| self.domain.is_pinned(seat)) else {
            return wait();
        };
        self.let_go();
        self.domain.unpin(seat);
        let result = wait();
        self.domain.pin(seat);
        result
    }

    fn let_go(&self) {
        if let Some(notice) = self.notice {
            notice.take_back();
        }
    }
}

/// Pinned until dropped.
pub(crate) struct Pin<'a> {
    domain: &'a Domain,
    seat: &'a Seat,
}

impl<'a> Pin<'a> {
    #[inline]
    pub(crate) fn new(domain: &'a Domain, seat: &'a Seat) -> Self {
        domain.pin(seat);
        Self { domain, seat }
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.domain.unpin(self.seat);
    }
}

/// Busy waiting that gives way when it lasts: the thread waited for may need this core.
#[inline]
pub(crate) fn relax(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(64) { yield_now() } else { spin_loop() }
}

/// What was unlinked and waits to be out of reach, oldest first: numbers of records, or whatever names them.
#[derive(Default)]
pub(crate) struct Limbo<T = u32> {
    waiting: std::collections::VecDeque<(u64, T)>,
}

impl<T: Copy + PartialEq> Limbo<T> {
    /// Adds a record that was unlinked just now.
    pub(crate) fn retire(&mut self, domain: &Domain, record: T) {
        self.waiting.push_back((domain.now(), record));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Number of records that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether this record waits.
    pub(crate) fn holds(&self, record: T) -> bool {
        self.waiting.iter().any(|&(_, waiting)| waiting == record)
    }

    /// Hands out what is out of reach at `epoch`.
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
    fn a_pinned_worker_holds_the_epoch_and_lets_it_go() {
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
    fn a_pinned_caller_does_not_wait_for_itself() {
        let domain = Domain::new();
        let seat = domain.join().unwrap();
        domain.pin(&seat);
        domain.synchronise(Some(&seat));
        domain.unpin(&seat);
        domain.synchronise(None);
    }

    #[test]
    fn seats_are_given_back() {
        let domain = Domain::new();
        let seats: Vec<_> = std::iter::from_fn(|| domain.join()).collect();
        assert_eq!(seats.len(), MAX_WORKERS);
        domain.leave(&seats[3]);
        assert_eq!(domain.join(), Some(Seat(3)));
    }
}
