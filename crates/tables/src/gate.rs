//! Keeps packets out while the control plane changes several things that they must see as a whole.
//!
//! Each worker has a lane of its own and says there that a packet is inside, so that packets of different
//! workers touch no common line of memory but one that only batches write. Whoever closes the gate says so
//! and then looks into all lanes; a packet says that it is inside and then looks whether the gate is closed. All four
//! steps are sequentially consistent, so that at least one of them sees the other. Every
//! interleaving is explored in `tests/models.rs`.
//!
//! Packets come and go with each batch, and the gate is seldom closed: so a packet that leaves wakes nobody, and whoever
//! closes the gate looks again until all are out.

use crate::quiescence::relax;
use crate::sync::{
    Arc, AtomicBool, AtomicU64, Condvar, Mutex, Ordering, fence_of_models, lock, wait,
};

/// Keeps packets out while the control plane changes several things that they must see as a whole; see the module.
#[derive(Debug)]
pub struct Gate {
    closed: AtomicBool,
    lanes: Mutex<Lanes>,
    /// The gate was opened.
    opened: Condvar,
}

#[derive(Debug, Default)]
struct Lanes {
    all: Vec<Arc<Lane>>,
    /// The number of packets that wait until the gate is opened. If it is zero, opening the gate
    /// saves the system call that wakes them.
    waiting: usize,
}

/// A worker's way through the gate. Two workers' lanes are on no common line, nor on lines that are fetched in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct Lane {
    /// Odd while a packet is inside; grows each time that one comes or goes.
    steps: AtomicU64,
}

impl Lane {
    /// The worker of this lane alone takes steps.
    fn next(&self) -> u64 {
        self.steps.load(Ordering::Relaxed).wrapping_add(1)
    }
}

/// Whether a packet is inside of a lane that has taken so many steps.
fn is_inside(steps: u64) -> bool {
    steps & 1 == 1
}

/// A packet inside; it is out when this is dropped.
#[derive(Debug)]
#[must_use = "the packet is out when this is dropped"]
pub struct Inside<'g> {
    lane: &'g Lane,
}

impl Gate {
    /// An open gate.
    #[must_use]
    pub fn new() -> Self {
        Self {
            closed: AtomicBool::new(false),
            lanes: Mutex::new(Lanes::default()),
            opened: Condvar::new(),
        }
    }

    /// A lane for one worker.
    pub fn join(&self) -> Arc<Lane> {
        let lane = Arc::new(Lane { steps: AtomicU64::new(0) });
        lock(&self.lanes).all.push(Arc::clone(&lane));
        lane
    }

    /// The worker of this lane goes.
    pub fn leave(&self, lane: &Arc<Lane>) {
        lock(&self.lanes).all.retain(|known| !Arc::ptr_eq(known, lane));
    }

    /// Lets a packet in; waits while the gate is closed.
    pub fn enter<'g>(&'g self, lane: &'g Lane) -> Inside<'g> {
        loop {
            // An exchange costs less than a store with a fence behind it.
            lane.steps.swap(lane.next(), Ordering::SeqCst);
            fence_of_models();
            let inside = Inside { lane };
            if !self.closed.load(Ordering::SeqCst) {
                return inside;
            }
            drop(inside);
            let mut lanes = lock(&self.lanes);
            lanes.waiting += 1;
            while self.closed.load(Ordering::Acquire) {
                lanes = wait(&self.opened, lanes);
            }
            lanes.waiting -= 1;
        }
    }

    /// Does something for a packet that is inside while it is not: whoever closes the gate has their turn. The caller has
    /// what [`Gate::enter`] gave for this lane.
    pub fn outside<R>(&self, lane: &Lane, work: impl FnOnce() -> R) -> R {
        drop(Inside { lane });
        let result = work();
        std::mem::forget(self.enter(lane));
        result
    }

    /// Closes the gate and waits until no packet is inside. One at a time may close it.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        fence_of_models();
        let mut spins = 0;
        // Workers may come and go meanwhile, and do so with the lock.
        while lock(&self.lanes).all.iter().any(|lane| is_inside(lane.steps.load(Ordering::SeqCst)))
        {
            relax(&mut spins);
        }
    }

    /// Waits until every packet that is inside now has gone; others may come meanwhile. What the caller stored before, with
    /// sequential consistency, is seen by all packets that are inside when this is over, if they look for it in that order
    /// too.
    pub fn wait_for_those_inside(&self) {
        fence_of_models();
        let inside = |lane: &Arc<Lane>| {
            let steps = lane.steps.load(Ordering::SeqCst);
            is_inside(steps).then(|| (Arc::clone(lane), steps))
        };
        let waited_for: Vec<_> = lock(&self.lanes).all.iter().filter_map(inside).collect();
        let mut spins = 0;
        for (lane, steps) in waited_for {
            while lane.steps.load(Ordering::SeqCst) == steps {
                relax(&mut spins);
            }
        }
    }

    /// Opens the gate.
    pub fn open(&self) {
        let lanes = lock(&self.lanes);
        self.closed.store(false, Ordering::Release);
        let waits = lanes.waiting > 0;
        drop(lanes);
        if waits {
            self.opened.notify_all();
        }
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.lane.steps.store(self.lane.next(), Ordering::Release);
    }
}
