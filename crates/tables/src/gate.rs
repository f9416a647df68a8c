//! Keeps packets out while the control plane changes several things that they must see as a whole.
//!
//! Each worker has a lane of its own and says there that a packet is inside, so that packets of different
//! workers touch no common line of memory but one that only batches write. Whoever closes the gate says so
//! and then looks into all lanes; a packet says that it is inside and then looks whether the gate is closed. With a
//! sequentially consistent fence between the two steps of each, at least one of them sees the other. Every
//! interleaving is explored in `tests/models.rs`.

use crate::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering, fence, lock, wait};

/// Keeps packets out while the control plane changes several things that they must see as a whole; see the module.
#[derive(Debug)]
pub struct Gate {
    closed: AtomicBool,
    lanes: Mutex<Vec<Arc<Lane>>>,
    /// A packet came out of a closed gate, or it was opened.
    changed: Condvar,
}

/// A worker's way through the gate. Two workers' lanes are on no common line, nor on lines that are fetched in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct Lane {
    inside: AtomicBool,
}

/// A packet inside; it is out when this is dropped.
#[derive(Debug)]
#[must_use = "the packet is out when this is dropped"]
pub struct Inside<'g> {
    gate: &'g Gate,
    lane: &'g Lane,
}

impl Gate {
    /// An open gate.
    #[must_use]
    pub fn new() -> Self {
        Self {
            closed: AtomicBool::new(false),
            lanes: Mutex::new(Vec::new()),
            changed: Condvar::new(),
        }
    }

    /// A lane for one worker.
    pub fn join(&self) -> Arc<Lane> {
        let lane = Arc::new(Lane { inside: AtomicBool::new(false) });
        lock(&self.lanes).push(Arc::clone(&lane));
        lane
    }

    /// The worker of this lane goes.
    pub fn leave(&self, lane: &Arc<Lane>) {
        lock(&self.lanes).retain(|known| !Arc::ptr_eq(known, lane));
    }

    /// Lets a packet in; waits while the gate is closed.
    pub fn enter<'g>(&'g self, lane: &'g Lane) -> Inside<'g> {
        loop {
            lane.inside.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let inside = Inside { gate: self, lane };
            if !self.closed.load(Ordering::Acquire) {
                return inside;
            }
            drop(inside);
            let mut lanes = lock(&self.lanes);
            while self.closed.load(Ordering::Acquire) {
                lanes = wait(&self.changed, lanes);
            }
        }
    }

    /// Does something for a packet that is inside while it is not: whoever closes the gate has their turn. The caller has
    /// what [`Gate::enter`] gave for this lane.
    pub fn outside<R>(&self, lane: &Lane, work: impl FnOnce() -> R) -> R {
        drop(Inside { gate: self, lane });
        let result = work();
        std::mem::forget(self.enter(lane));
        result
    }

    /// Closes the gate and waits until no packet is inside. One at a time may close it.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut lanes = lock(&self.lanes);
        while lanes.iter().any(|lane| lane.inside.load(Ordering::Acquire)) {
            lanes = wait(&self.changed, lanes);
        }
    }

    /// Opens the gate.
    pub fn open(&self) {
        let lanes = lock(&self.lanes);
        self.closed.store(false, Ordering::Release);
        drop(lanes);
        self.changed.notify_all();
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.lane.inside.store(false, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.gate.closed.load(Ordering::Acquire) {
            // Who closes the gate looks with the lock and waits without it: it sees this, or is woken.
            drop(lock(&self.gate.lanes));
            self.gate.changed.notify_all();
        }
    }
}
