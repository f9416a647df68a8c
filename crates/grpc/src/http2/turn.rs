//! Polls a connection and its calls: in turns of the connection's own task, and between these turns
//! when messages must be written immediately.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, TryLockError, Weak},
    task::{Context, Poll, Waker},
};

use super::{
    Gate,
    tasks::{Part, Places, Ready},
};
use crate::admission::{Held, Peer};

/// The number of parts of a connection that are polled in one turn before other connections are
/// polled.
const POLLS_PER_TURN: usize = 256;
/// The number of parts of a connection that are polled in one turn even if the owner of the server
/// has urgent work. Without this minimum, an owner that always has urgent work would hardly ever
/// read.
const POLLS_AT_LEAST: usize = 8;

/// A call on a connection.
pub trait Call: Send + 'static {
    /// Receives and sends until no progress is possible. Returns `Ready` once the call has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Encodes the messages that wait to be sent, for calls that can be written out of turn.
    /// Returns `Ready` once the call has ended.
    fn poll_sending(&mut self, context: &mut Context<'_>) -> Poll<()>;
}

impl Call for Box<dyn Call> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        (**self).poll(context)
    }

    fn poll_sending(&mut self, context: &mut Context<'_>) -> Poll<()> {
        (**self).poll_sending(context)
    }
}

/// The transport of a connection, which carries its calls.
pub(crate) trait Connection: Send + 'static {
    /// The type of the calls.
    type Call: Call;

    /// Reads from and writes to the transport, and begins the calls that arrive. Returns `Ready`
    /// once the connection has ended.
    fn poll(&mut self, calls: &mut Calls<Self::Call>, context: &mut Context<'_>) -> Poll<()>;
}

/// The calls of a connection.
pub(crate) struct Calls<C> {
    places: Places<C>,
    ready: Arc<Ready>,
    connection: Weak<dyn Turn>,
    peer: Option<Peer>,
}

impl<C: Call> Calls<C> {
    /// Adds the call that `make` returns. `make` receives the link from the call to its connection.
    pub(crate) fn begin(&mut self, make: impl FnOnce(Link) -> C) {
        let (connection, peer) = (Weak::clone(&self.connection), self.peer.clone());
        self.places.enter(&self.ready, |place| make(Link { connection, place, peer }));
    }

    /// Applies `act` to each call, and wakes it.
    pub(crate) fn each(&mut self, mut act: impl FnMut(&mut C)) {
        for (call, waker) in self.places.each() {
            act(call);
            waker.wake_by_ref();
        }
    }

    /// Wakes the transport of the connection.
    pub(crate) fn wake_connection(&self) {
        self.ready.wake(Part::Transport);
    }

    fn poll(&mut self, place: usize, poll: impl FnOnce(&mut C, &mut Context<'_>) -> Poll<()>) {
        if let Some((call, waker)) = self.places.get(place)
            && poll(call, &mut Context::from_waker(waker)).is_ready()
        {
            self.places.leave(place);
        }
    }
}

/// A connection and its calls. The connection's own task polls them ([`Shared::poll`]). Between
/// these polls, the waiting messages of a call can be written immediately ([`Link::write_out`]).
pub(crate) struct Shared<C: Connection> {
    /// The connection and its calls, or `None` after the connection has ended.
    connection: Mutex<Option<(C, Calls<C::Call>)>>,
    gate: Arc<Gate>,
    ready: Arc<Ready>,
    /// The waker of [`Part::Transport`], the connection's transport.
    transport: Waker,
}

impl<C: Connection> Shared<C> {
    /// Creates a connection that can be polled in its own turns and between them. `peer` is the
    /// client on a server's connection, and `None` on a client's.
    pub(crate) fn new(connection: C, gate: Arc<Gate>, peer: Option<Peer>) -> Arc<Self> {
        let ready = Arc::new(Ready::default());
        let transport = ready.waker(Part::Transport);
        transport.wake_by_ref();
        Arc::new_cyclic(|own: &Weak<Self>| {
            let calls = Calls {
                places: Places::new(),
                ready: Arc::clone(&ready),
                connection: own.clone(),
                peer,
            };
            Self { connection: Mutex::new(Some((connection, calls))), gate, ready, transport }
        })
    }

    /// Polls the parts of the connection that were woken. After [`POLLS_AT_LEAST`] parts, the
    /// polling stops when `interrupted` returns true. Returns `Ready` once the connection has
    /// ended.
    pub(crate) fn poll(
        &self,
        context: &mut Context<'_>,
        interrupted: impl Fn() -> bool,
    ) -> Poll<()> {
        self.ready.driven_by(context.waker());
        // Only a call could panic while the lock is held, and the connection of such a call must be
        // closed.
        let Ok(mut slot) = self.connection.lock() else { return Poll::Ready(()) };
        let Some((connection, calls)) = slot.as_mut() else { return Poll::Ready(()) };
        self.ready.begin_turn();
        let mut ended = Poll::Pending;
        for polled in 1..=POLLS_PER_TURN {
            match self.ready.next() {
                None => break,
                Some(Part::Call(place)) => calls.poll(place, C::Call::poll),
                Some(Part::Transport) => {
                    ended = connection.poll(calls, &mut Context::from_waker(&self.transport));
                }
            }
            if ended.is_ready() {
                *slot = None;
                break;
            }
            if polled >= POLLS_AT_LEAST && interrupted() {
                break;
            }
        }
        self.ready.end_turn();
        ended
    }

    /// Calls `act` with the connection, unless it has ended.
    pub(crate) fn with(&self, act: impl FnOnce(&mut C, &mut Calls<C::Call>)) {
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((connection, calls)) = slot.as_mut() {
            act(connection, calls);
        }
    }
}

/// The time at which messages are written to the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The messages are written when the connection has its next turn.
    InTurn,
    /// The messages are written immediately if the connection has no other calls. Otherwise they
    /// are written in the connection's next turn, together with the messages of the other calls.
    Alone,
    /// The messages are written immediately, even if the connection has other calls.
    Now,
}

/// The functions of a connection that a [`Link`] uses.
trait Turn: Send + Sync {
    /// Lets a call encode its waiting messages, and writes them. Returns false, without writing, if
    /// the connection is being polled or has ended, or if `when` leaves the messages to the next
    /// turn.
    fn write_out(&self, place: usize, when: When) -> bool;
}

impl<C: Connection> Turn for Shared<C> {
    fn write_out(&self, place: usize, when: When) -> bool {
        let mut slot = match self.connection.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => return false,
        };
        let Some((connection, calls)) = slot.as_mut() else { return false };
        match when {
            When::Now => {}
            When::Alone if calls.places.taken() == 1 => {}
            When::Alone | When::InTurn => return false,
        }
        self.ready.begin_turn();
        // Received data can wait, because handling them takes longer than writing.
        self.gate.close();
        calls.poll(place, C::Call::poll_sending);
        // The transport is polled next, so that an earlier wake-up is obsolete. The gate handles
        // refused reads.
        self.ready.forget(Part::Transport);
        if connection.poll(calls, &mut Context::from_waker(&self.transport)).is_ready() {
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

/// The link from a call to its connection.
#[derive(Clone)]
pub struct Link {
    connection: Weak<dyn Turn>,
    place: usize,
    peer: Option<Peer>,
}

impl Link {
    /// Creates an empty account of the bytes that the call holds for its client.
    #[must_use]
    pub fn held(&self) -> Held {
        Held::of(self.peer.clone())
    }

    /// Lets the call encode its waiting messages and the connection write them immediately. Returns
    /// false if this is not possible. The caller must then wake the call.
    pub(crate) fn write_out(&self, when: When) -> bool {
        self.connection.upgrade().is_some_and(|connection| connection.write_out(self.place, when))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Link").field("place", &self.place).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorder of the order in which parts are polled.
    #[derive(Clone, Default)]
    struct Order(Arc<Mutex<Vec<&'static str>>>);

    impl Order {
        fn note(&self, what: &'static str) -> Poll<()> {
            self.0.lock().expect("no test has failed").push(what);
            Poll::Pending
        }

        fn take(&self) -> Vec<&'static str> {
            std::mem::take(&mut self.0.lock().expect("no test has failed"))
        }
    }

    impl Call for Order {
        fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
            self.note("call")
        }

        fn poll_sending(&mut self, _: &mut Context<'_>) -> Poll<()> {
            self.note("send")
        }
    }

    impl Connection for Order {
        type Call = Self;

        fn poll(&mut self, _: &mut Calls<Self>, _: &mut Context<'_>) -> Poll<()> {
            self.note("write")
        }
    }

    #[test]
    fn an_interrupted_turn_continues_in_the_next_poll() {
        let order = Order::default();
        let shared = Shared::new(order.clone(), Arc::default(), None);
        // Including the transport, there are three parts more than the minimum number of polls.
        shared.with(|_, calls| {
            (0..POLLS_AT_LEAST + 2).for_each(|_| calls.begin(|_| order.clone()));
        });
        let mut context = Context::from_waker(Waker::noop());
        for expected in [POLLS_AT_LEAST, 3, 0] {
            assert!(shared.poll(&mut context, || true).is_pending());
            assert_eq!(order.take().len(), expected);
        }
    }

    #[test]
    fn only_urgent_messages_are_written_beside_other_calls() {
        let order = Order::default();
        let shared = Shared::new(order.clone(), Arc::default(), None);
        let mut links = Vec::new();
        let mut begin = || {
            let begun = order.clone();
            shared.with(|_, calls| {
                calls.begin(|link| {
                    links.push(link);
                    begun
                });
            });
            let _ = shared.poll(&mut Context::from_waker(Waker::noop()), || false);
            order.take();
            links[0].clone()
        };
        let alone = begin();
        assert!(!alone.write_out(When::InTurn));
        assert!(alone.write_out(When::Alone));
        assert_eq!(order.take(), ["send", "write"]);
        let beside = begin();
        assert!(!beside.write_out(When::InTurn) && !beside.write_out(When::Alone));
        assert_eq!(order.take(), [""; 0]);
        assert!(beside.write_out(When::Now));
        assert_eq!(order.take(), ["send", "write"]);
    }
}
