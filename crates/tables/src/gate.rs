//! A gate that keeps packets out while the control plane makes several changes that packets must
//! see as one.
//!
//! Each worker has a lane of its own, in which it announces that a packet is inside, so workers
//! write no common cache line. A thread that closes the gate announces that and then reads all
//! lanes. A packet announces that it is inside and then reads whether the gate is closed. All four
//! steps are sequentially consistent, so at least one of the two sides sees the announcement of the
//! other. `tests/models.rs` explores the interleavings.
//!
//! Packets enter and leave with each batch, while the gate is closed rarely. Therefore a packet
//! that leaves wakes no thread, and the thread that closes the gate polls the lanes until all
//! packets are out.

use crate::quiescence::relax;
use crate::sync::{
    Arc, AtomicBool, AtomicU64, Condvar, Mutex, Ordering, fence_of_models, lock, wait,
};

/// A gate that packets enter before they use tables, and that the control plane closes while it
/// makes several changes that packets must see as one.
#[derive(Debug)]
pub struct Gate {
    closed: AtomicBool,
    lanes: Mutex<Lanes>,
    /// A signal that the gate has been opened.
    opened: Condvar,
}

#[derive(Debug, Default)]
struct Lanes {
    all: Vec<Arc<Lane>>,
    /// The number of workers that wait until the gate is opened. If the number is zero, opening the
    /// gate needs no system call to wake them.
    waiting: usize,
}

/// A worker's announcement of whether it is inside the gate. The alignment keeps the lanes of two
/// workers from sharing a cache line, or a pair of lines that the processor fetches together.
#[derive(Debug)]
#[repr(align(128))]
pub struct Lane {
    /// The number of times that the worker entered or left the gate. It is odd while the worker is
    /// inside.
    steps: AtomicU64,
}

impl Lane {
    /// Returns the next value of the lane's counter. Only the worker of this lane changes the
    /// counter.
    fn next(&self) -> u64 {
        self.steps.load(Ordering::Relaxed).wrapping_add(1)
    }
}

/// Returns whether a worker is inside the gate, given the counter of its lane.
fn is_inside(steps: u64) -> bool {
    steps & 1 == 1
}

/// A guard for a packet inside the gate. The packet leaves when the guard is dropped.
#[derive(Debug)]
#[must_use = "the packet is out when this is dropped"]
pub struct Inside<'g> {
    lane: &'g Lane,
}

/// A guard for a packet that has left the gate temporarily while its [`Inside`] guard still exists.
/// Dropping this guard makes the packet enter again, as [`Inside`] requires.
struct Outside<'g> {
    gate: &'g Gate,
    lane: &'g Lane,
}

impl Gate {
    /// Returns an open gate.
    #[must_use]
    pub fn new() -> Self {
        Self {
            closed: AtomicBool::new(false),
            lanes: Mutex::new(Lanes::default()),
            opened: Condvar::new(),
        }
    }

    /// Adds a lane for one worker.
    pub fn join(&self) -> Arc<Lane> {
        let lane = Arc::new(Lane { steps: AtomicU64::new(0) });
        lock(&self.lanes).all.push(Arc::clone(&lane));
        lane
    }

    /// Removes the lane of a worker that ends.
    pub fn leave(&self, lane: &Arc<Lane>) {
        lock(&self.lanes).all.retain(|known| !Arc::ptr_eq(known, lane));
    }

    /// Lets a packet in, after waiting until the gate is open.
    pub fn enter<'g>(&'g self, lane: &'g Lane) -> Inside<'g> {
        loop {
            // An atomic exchange costs less than a store followed by a fence.
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

    /// Calls `work` outside the gate for a packet that is inside, so that a thread that is waiting
    /// to close the gate can do so. When this function returns, or if `work` panics, the packet is
    /// inside again. The caller must hold the guard that [`Gate::enter`] returned for this lane.
    pub fn outside<R>(&self, lane: &Lane, work: impl FnOnce() -> R) -> R {
        drop(Inside { lane });
        let _outside = Outside { gate: self, lane };
        work()
    }

    /// Closes the gate and waits until no packet is inside. Only one thread at a time may close it.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        fence_of_models();
        let mut spins = 0;
        // Workers may join and leave during the wait. They take the lock to do so.
        while lock(&self.lanes).all.iter().any(|lane| is_inside(lane.steps.load(Ordering::SeqCst)))
        {
            relax(&mut spins);
        }
    }

    /// Waits until every packet that is inside now has left. Other packets may enter meanwhile. If
    /// the caller stored a value with sequential consistency before this call, and packets load it
    /// with sequential consistency after they enter, then all packets that are inside when this
    /// returns see that value.
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

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        std::mem::forget(self.gate.enter(self.lane));
    }
}
