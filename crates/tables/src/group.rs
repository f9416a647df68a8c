//! The threads that run packets on the same tables, and the means to keep them out while a table is
//! changed.
//!
//! A worker enters the [`Gate`] once for a batch of packets. A thread that changes a table closes
//! the gate for each step. A single worker therefore takes no locks, and several workers lock
//! entries only against each other. A worker inside the gate never waits for a thread that may be
//! closing it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::gate::{Gate, Inside, Lane};
use crate::sync::lock;

/// The identity of a worker in its group. No identity is used twice, even after its worker has
/// left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkerId(pub(crate) u64);

/// The threads that run packets on the same tables. Workers join before they use a table, and stay
/// outside the gate while a table is changed.
#[derive(Debug, Default)]
pub struct WorkerGroup {
    gate: Gate,
    /// A lock that a thread holds from before it closes the gate until it has opened it again.
    turn: Mutex<()>,
    workers: AtomicUsize,
    /// A counter that grows with the version of each table, so that a worker reads one word to
    /// learn whether any table has changed.
    version: AtomicU64,
    /// A counter that grows when a worker joins or leaves, which changes how workers access every
    /// table.
    membership: AtomicU64,
    /// The number of workers that have ever joined.
    joined: AtomicU64,
    /// The number that [`WorkerGroup::changes`] returns.
    changes: AtomicU64,
}

/// A guard that keeps the gate closed. Dropping it opens the gate.
pub(crate) struct Closed<'g> {
    group: &'g WorkerGroup,
    _turn: MutexGuard<'g, ()>,
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.group.gate.open();
    }
}

impl WorkerGroup {
    /// Adds a worker, which leaves the group when the result is dropped.
    #[must_use]
    pub fn join(self: &Arc<Self>) -> Worker {
        let closed = self.close_for_workers();
        self.workers.fetch_add(1, Ordering::Relaxed);
        let id = WorkerId(self.joined.fetch_add(1, Ordering::Relaxed));
        let lane = self.gate.join();
        drop(closed);
        Worker { group: Arc::clone(self), id, lane }
    }

    /// Calls `work` while no worker of the group uses a table. Workers wait until it returns.
    pub fn alone<R>(&self, work: impl FnOnce() -> R) -> R {
        let _closed = self.close();
        work()
    }

    /// Returns whether the group has at most one worker. If a worker calls this inside the gate,
    /// the answer remains valid until it leaves the gate, because workers join only while the gate
    /// is closed.
    #[must_use]
    pub fn has_one_worker(&self) -> bool {
        self.workers.load(Ordering::Relaxed) <= 1
    }

    /// Returns the number of entries that were inserted, changed, removed or copied so far, in all
    /// tables. Attempts without an effect count too. A packet that only reads entries leaves the
    /// number unchanged.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Returns a version number that changes whenever workers must renew their access to any of the
    /// group's tables. A worker must read it inside the gate.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    pub(crate) fn count_changes(&self, entries: usize) {
        self.changes.fetch_add(entries as u64, Ordering::Relaxed);
    }

    /// Closes the gate and waits until no worker is inside. The gate is opened when the result is
    /// dropped.
    pub(crate) fn close(&self) -> Closed<'_> {
        let turn = lock(&self.turn);
        self.gate.close();
        Closed { group: self, _turn: turn }
    }

    /// Waits until the gate is not closed, and keeps other threads from closing it while the result
    /// lives.
    pub(crate) fn take_turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Waits until every worker that is inside the gate now has been outside once.
    pub(crate) fn wait_for_those_inside(&self) {
        self.gate.wait_for_those_inside();
    }

    pub(crate) fn membership(&self) -> u64 {
        self.membership.load(Ordering::SeqCst)
    }

    /// Advances the group's version, so that each worker looks up again how it accesses the tables.
    pub(crate) fn moved(&self) {
        self.version.fetch_add(1, Ordering::SeqCst);
    }

    /// Closes the gate because a worker joins or leaves. Each worker then looks up again how it
    /// accesses the tables.
    fn close_for_workers(&self) -> Closed<'_> {
        let closed = self.close();
        self.membership.fetch_add(1, Ordering::SeqCst);
        self.moved();
        closed
    }
}

/// One worker of a group: a thread that runs packets on the group's tables. Dropping the value
/// removes the worker from the group.
#[derive(Debug)]
pub struct Worker {
    group: Arc<WorkerGroup>,
    id: WorkerId,
    lane: Arc<Lane>,
}

impl Worker {
    /// Returns the group that the worker joined.
    #[must_use]
    pub fn group(&self) -> &Arc<WorkerGroup> {
        &self.group
    }

    /// Returns the worker's identity.
    #[must_use]
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// Enters the gate, after waiting until it is open. The worker leaves the gate when the result
    /// is dropped.
    pub fn enter(&self) -> Inside<'_> {
        self.group.gate.enter(&self.lane)
    }

    /// Calls `work` outside the gate, for a worker that is inside, so that a thread that is waiting
    /// to close the gate can do so.
    pub fn outside<R>(&self, work: impl FnOnce() -> R) -> R {
        self.group.gate.outside(&self.lane, work)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _closed = self.group.close_for_workers();
        self.group.workers.fetch_sub(1, Ordering::Relaxed);
        self.group.gate.leave(&self.lane);
    }
}
