//! When packets may write entries without a lock although any thread may come and use the table.
//!
//! A lock that nobody contends still costs an exchange for each packet, which waits for all stores before it and keeps
//! the next packet's loads behind it. While a table is calm there is none. Who takes an entry out, gives it another action
//! or otherwise does what packets in the middle of an action must not meet *disturbs* the table first: from then on packets
//! lock, and when every batch that began before has ended, the change is made. That wait is rare and long so that batches
//! are short (biased locks, Kawachiya et al. 2002, with a grace period for the bias to end). A worker that has seen no
//! disturbance for some batches makes the table calm again.
//!
//! Where actions have their entries alone, a worker is calm by itself, and a few workers are if they announce
//! ([`announcement`](crate::announcement)) which entries they use; where there are more, packets lock.
//!
//! So packets of a batch go one of three ways ([`Way`]), and batches that go different ways must not meet. Each change of the
//! way begins an era, and a worker that meets a new era waits, before its first packet, until all batches of
//! earlier eras have ended.

use crate::announcement::{Announcements, Notice, Place, Turn};
use crate::quiescence::Reclaim;
use crate::sync::{AtomicU64, Ordering};

/// Whether and by whom a table is disturbed.
///
/// It shares no cache line with what changes more often.
#[repr(align(128))]
pub(crate) struct Calm {
    /// [`DISTURBED`], the disturbances under way, the workers in whose actions entries are alone, and the era.
    state: AtomicU64,
    /// How many disturbances there were.
    disturbances: AtomicU64,
    announcements: Announcements,
}

/// Packets lock entries.
const DISTURBED: u64 = 1;
/// One disturbance is under way.
const UNDER_WAY: u64 = 2;
const ALL_UNDER_WAY: u64 = WORKER - UNDER_WAY;
/// One worker in whose actions entries are alone.
const WORKER: u64 = 1 << 16;
const ALL_WORKERS: u64 = ERA - WORKER;
/// One era.
const ERA: u64 = 1 << 28;
/// Batches without a disturbance after which a worker makes the table calm.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 64 };

/// How the packets of a batch write their entries.
pub(crate) enum Way<'a> {
    /// Without a lock.
    Free,
    /// Without a lock, in windows that are announced.
    Announced(Turn<'a>),
    /// Under the lock of the bucket.
    Locked,
}

/// A way without its means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Free,
    Announced,
    Locked,
}

impl Kind {
    #[inline(always)]
    fn of(state: u64) -> Self {
        if state & (DISTURBED | ALL_UNDER_WAY) != 0 {
            Self::Locked
        } else if state & ALL_WORKERS > WORKER {
            Self::Announced
        } else {
            Self::Free
        }
    }
}

/// What a worker remembers of a table between its batches.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    era: u64,
    disturbances: u64,
    batches: u32,
}

impl Standing {
    /// The era of the batch that began last.
    pub(crate) fn era(&self) -> u64 {
        self.era
    }
}

/// What a worker of a table is in which actions have their entries alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seating {
    /// It announces what it uses, where it is not the only one.
    Announcing(Place),
    /// One of too many: the table is disturbed for as long as it is there.
    Crowding,
}

impl Seating {
    pub(crate) fn place(self) -> Option<Place> {
        match self {
            Self::Announcing(place) => Some(place),
            Self::Crowding => None,
        }
    }
}

impl Calm {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            disturbances: AtomicU64::new(0),
            announcements: Announcements::new(),
        }
    }

    /// How the worker, which is pinned, holds nothing and begins a batch, goes on until the era ends or it is pinned no more.
    #[inline(always)]
    pub(crate) fn begin(
        &self,
        standing: &mut Standing,
        place: Option<Place>,
        reclaim: Reclaim<'_>,
    ) -> Way<'_> {
        let state = self.state.load(Ordering::Acquire);
        let kind = match Kind::of(state) {
            Kind::Locked => self.settle(standing, reclaim),
            kind if state / ERA == standing.era => kind,
            _ => self.settle(standing, reclaim),
        };
        match (kind, place) {
            (Kind::Free, _) => Way::Free,
            (Kind::Announced, Some(place)) => Way::Announced(self.announcements.turn(place)),
            // A worker without a place disturbs the table.
            (Kind::Announced, None) | (Kind::Locked, _) => Way::Locked,
        }
    }

    /// Whether a worker that may have been pinned anew since [`Calm::begin`] may go on as it began.
    #[inline(always)]
    pub(crate) fn lasts(&self, era: u64) -> bool {
        self.state.load(Ordering::Acquire) / ERA == era
    }

    #[cold]
    fn settle(&self, standing: &mut Standing, reclaim: Reclaim<'_>) -> Kind {
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state / ERA != standing.era {
                *standing = Standing { era: state / ERA, ..Standing::default() };
                // The worker is pinned anew meanwhile, so that the era may have ended again.
                reclaim.synchronise();
                continue;
            }
            if Kind::of(state) != Kind::Locked {
                return Kind::of(state);
            }
            let disturbances = self.disturbances.load(Ordering::Relaxed);
            if state & ALL_UNDER_WAY != 0 || disturbances != standing.disturbances {
                (standing.disturbances, standing.batches) = (disturbances, 0);
            }
            if state & ALL_UNDER_WAY != 0 {
                return Kind::Locked;
            }
            standing.batches += 1;
            if standing.batches < PATIENCE {
                return Kind::Locked;
            }
            let calm = (state & !DISTURBED).wrapping_add(ERA);
            let _ = self.state.compare_exchange(state, calm, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Changes the state, and begins an era if packets go another way from now on; the state before.
    fn change(&self, change: impl Fn(u64) -> u64) -> u64 {
        let mut before = self.state.load(Ordering::Relaxed);
        loop {
            let mut after = change(before);
            if Kind::of(before) != Kind::of(after) {
                after = after.wrapping_add(ERA);
            }
            let exchanged =
                self.state.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed);
            match exchanged {
                Ok(_) => return before,
                Err(now) => before = now,
            }
        }
    }

    fn begin_disturbance(&self) -> u64 {
        self.disturbances.fetch_add(1, Ordering::Relaxed);
        self.change(|state| (state | DISTURBED) + UNDER_WAY)
    }

    /// Waits until no packet writes without a lock, and lets none do so until the result is dropped. A pinned caller holds
    /// no entry.
    pub(crate) fn disturb(&self, reclaim: Reclaim<'_>) -> Disturbance<'_> {
        let before = self.begin_disturbance();
        // Where one has ended before, and nobody has made the table calm since, its wait will do.
        if before & DISTURBED == 0 || before & ALL_UNDER_WAY != 0 {
            reclaim.synchronise();
        }
        Disturbance(self)
    }

    /// A worker comes whose actions have their entries alone.
    pub(crate) fn join(&self) -> Seating {
        match self.announcements.join() {
            Some(place) => {
                self.change(|state| state + WORKER);
                Seating::Announcing(place)
            }
            None => {
                self.begin_disturbance();
                Seating::Crowding
            }
        }
    }

    /// A worker goes that joined.
    pub(crate) fn leave(&self, seating: Seating) {
        match seating {
            Seating::Announcing(place) => {
                self.change(|state| state - WORKER);
                self.announcements.leave(place);
            }
            Seating::Crowding => drop(Disturbance(self)),
        }
    }

    /// Where a worker announces what it uses.
    pub(crate) fn notice(&self, place: Place) -> &Notice {
        self.announcements.notice(place)
    }
}

/// While it lives, packets lock entries.
pub(crate) struct Disturbance<'a>(&'a Calm);

impl Drop for Disturbance<'_> {
    fn drop(&mut self) {
        // The table stays disturbed until a worker makes it calm.
        self.0.state.fetch_sub(UNDER_WAY, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::quiescence::{Domain, Seat};

    /// A worker of a table.
    struct Worker<'a> {
        calm: &'a Calm,
        domain: &'a Domain,
        seat: Seat,
        standing: Standing,
        seating: Option<Seating>,
    }

    impl<'a> Worker<'a> {
        fn new(calm: &'a Calm, domain: &'a Domain) -> Self {
            let (standing, seat) = (Standing::default(), domain.join().unwrap());
            Self { calm, domain, seat, standing, seating: None }
        }

        fn joined(calm: &'a Calm, domain: &'a Domain) -> Self {
            Self { seating: Some(calm.join()), ..Self::new(calm, domain) }
        }

        /// Runs an empty batch; its way.
        fn batch(&mut self) -> Kind {
            self.domain.pin(&self.seat);
            let place = self.seating.and_then(Seating::place);
            let reclaim = Reclaim { seat: Some(&self.seat), ..Reclaim::of(self.domain) };
            let way = self.calm.begin(&mut self.standing, place, reclaim);
            let kind = match way {
                Way::Free => Kind::Free,
                Way::Announced(_) => Kind::Announced,
                Way::Locked => Kind::Locked,
            };
            self.domain.unpin(&self.seat);
            kind
        }

        /// Batches under locks until one goes without.
        fn locked(&mut self) -> Option<usize> {
            (0..2 * PATIENCE as usize).find(|_| self.batch() != Kind::Locked)
        }

        fn leave(self) {
            if let Some(seating) = self.seating {
                self.calm.leave(seating);
            }
        }
    }

    #[test]
    fn a_table_is_calm_until_it_is_disturbed_and_again_some_batches_later() {
        let (calm, domain) = (Calm::new(), Domain::new());
        let mut worker = Worker::new(&calm, &domain);
        assert!(worker.batch() == Kind::Free);
        let era = worker.standing.era();
        assert!(calm.lasts(era));
        let disturbance = calm.disturb(Reclaim::of(&domain));
        assert!(!calm.lasts(era));
        assert_eq!(worker.locked(), None, "not while the disturbance is under way");
        drop(disturbance);
        assert_eq!(worker.locked(), Some(PATIENCE as usize - 1));
        assert!(!calm.lasts(era) && calm.lasts(worker.standing.era()));
    }

    #[test]
    fn patience_begins_anew_with_each_disturbance() {
        let (calm, domain) = (Calm::new(), Domain::new());
        let mut worker = Worker::new(&calm, &domain);
        for _ in 0..3 {
            drop(calm.disturb(Reclaim::of(&domain)));
            assert!((1..PATIENCE).all(|_| worker.batch() == Kind::Locked));
        }
        assert!(worker.batch() == Kind::Free);
    }

    #[test]
    fn one_worker_is_free_a_few_announce_and_many_lock() {
        let (calm, domain) = (Calm::new(), Domain::new());
        let mut first = Worker::joined(&calm, &domain);
        assert!(first.batch() == Kind::Free);
        let mut second = Worker::joined(&calm, &domain);
        assert!(first.batch() == Kind::Announced && second.batch() == Kind::Announced);
        let mut more = Vec::new();
        while more
            .last()
            .is_none_or(|worker: &Worker<'_>| worker.seating != Some(Seating::Crowding))
        {
            more.push(Worker::joined(&calm, &domain));
        }
        let mut crowding = more.pop().unwrap();
        assert!(first.locked().is_none() && crowding.locked().is_none());
        crowding.leave();
        assert!(first.locked().is_some() && second.batch() == Kind::Announced);
        more.into_iter().chain([second]).for_each(Worker::leave);
        assert!(first.batch() == Kind::Free, "it is alone again");
    }

    #[test]
    fn a_worker_waits_for_the_batches_of_an_earlier_era() {
        let (calm, domain) = (Calm::new(), Domain::new());
        let first = Worker::joined(&calm, &domain);
        domain.pin(&first.seat);
        std::thread::scope(|scope| {
            let came = scope.spawn(|| {
                let mut second = Worker::joined(&calm, &domain);
                assert!(second.batch() == Kind::Announced);
            });
            while calm.lasts(0) {
                std::thread::yield_now();
            }
            assert!(!came.is_finished(), "the first worker's batch has not ended");
            domain.unpin(&first.seat);
        });
    }
}
