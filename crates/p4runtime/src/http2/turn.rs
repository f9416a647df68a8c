//! A connection in its turn, and out of it.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak},
    task::{Context, Poll},
};

use super::{Gate, Part, Ready};

/// Parts that are polled before other connections have their turn.
const POLLS_PER_TURN: usize = 256;

/// The parts of a connection.
pub(crate) trait Connection: Send + 'static {
    /// Reads and writes; ready when the connection has ended.
    fn poll_transport(&mut self, ready: &Arc<Ready>) -> Poll<()>;

    /// Polls the call in a place.
    fn poll_call(&mut self, place: usize);

    /// Has the call in a place encode what it has to send.
    fn poll_sending(&mut self, place: usize);
}

/// A connection that is polled in its task, and out of turn through its [`Link`]s.
pub(crate) struct Shared<C> {
    /// `None` when it has ended.
    connection: Mutex<Option<C>>,
    gate: Arc<Gate>,
    ready: Arc<Ready>,
}

impl<C: Connection> Shared<C> {
    /// What `make` makes of the parts to wake, and of the way back to itself.
    pub(crate) fn new(
        gate: Arc<Gate>,
        make: impl FnOnce(&Arc<Ready>, &Weak<Self>) -> C,
    ) -> Arc<Self> {
        let ready = Arc::new(Ready::default());
        ready.waker(Part::Transport).wake();
        Arc::new_cyclic(|own| Self { connection: Mutex::new(Some(make(&ready, own))), gate, ready })
    }

    /// Polls what was woken; ready when the connection has ended.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        self.ready.driven_by(context.waker());
        // Only calls could panic in here, and a connection with such a call is better closed.
        let Ok(mut slot) = self.connection.lock() else { return Poll::Ready(()) };
        let Some(connection) = slot.as_mut() else { return Poll::Ready(()) };
        self.ready.begin_turn();
        let mut ended = Poll::Pending;
        for _ in 0..POLLS_PER_TURN {
            match self.ready.next() {
                None => break,
                Some(Part::Call(place)) => connection.poll_call(place),
                Some(Part::Transport) => ended = connection.poll_transport(&self.ready),
            }
            if ended.is_ready() {
                *slot = None;
                break;
            }
        }
        self.ready.end_turn();
        ended
    }

    /// Does something with the connection, unless it has ended.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut C, &Arc<Ready>) -> T) -> Option<T> {
        self.lock().as_mut().map(|connection| act(connection, &self.ready))
    }

    fn lock(&self) -> MutexGuard<'_, Option<C>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a [`Link`] asks of its connection.
pub(crate) trait Turn: Send + Sync {
    /// Has a call encode what it has to send, and writes it. False if the connection has its turn
    /// already, or has ended.
    fn write_out(&self, place: usize) -> bool;
}

impl<C: Connection> Turn for Shared<C> {
    fn write_out(&self, place: usize) -> bool {
        let mut slot = match self.connection.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => return false,
        };
        let Some(connection) = slot.as_mut() else { return false };
        self.ready.begin_turn();
        // What has arrived can wait, and takes longer than to write.
        self.gate.close();
        connection.poll_sending(place);
        // What it was woken for is done now, or is held back.
        self.ready.forget(Part::Transport);
        if connection.poll_transport(&self.ready).is_ready() {
            *slot = None;
            self.ready.wake_task();
        }
        if self.gate.open() {
            self.ready.wake(Part::Transport);
        }
        self.ready.end_turn();
        true
    }
}

/// The way from a call to its connection.
#[derive(Clone)]
pub(crate) struct Link {
    connection: Weak<dyn Turn>,
    place: usize,
}

impl Link {
    /// The way to the call in this place.
    pub(crate) fn new(connection: Weak<dyn Turn>, place: usize) -> Self {
        Self { connection, place }
    }

    /// Has the call encode what it has to send, and the connection write it, now. False if it is
    /// not possible now; the call has to be woken then.
    pub(crate) fn write_out(&self) -> bool {
        self.connection.upgrade().is_some_and(|connection| connection.write_out(self.place))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Link").field("place", &self.place).finish_non_exhaustive()
    }
}
