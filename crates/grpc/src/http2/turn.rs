//! A connection in its turn, and out of it.

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

/// Parts that are polled before other connections have their turn.
const POLLS_PER_TURN: usize = 256;
/// Parts that are polled though something urgent waits: an owner who always has something urgent
/// would otherwise read next to nothing.
const POLLS_AT_LEAST: usize = 8;

/// One call of a connection.
pub trait Call: Send + 'static {
    /// Receives and sends what is possible; ready when the call has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Encodes what there is to send, for calls that can be asked to; ready when the call has
    /// ended.
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

/// What carries the calls of a connection.
pub(crate) trait Connection: Send + 'static {
    /// Its calls.
    type Call: Call;

    /// Reads and writes, and begins the calls that arrive; ready when the connection has ended.
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
    /// Adds what `make` makes of the way from the call to its connection.
    pub(crate) fn begin(&mut self, make: impl FnOnce(Link) -> C) {
        let (connection, peer) = (Weak::clone(&self.connection), self.peer.clone());
        self.places.enter(&self.ready, |place| make(Link { connection, place, peer }));
    }

    /// Does something to each call, and has it polled.
    pub(crate) fn each(&mut self, mut act: impl FnMut(&mut C)) {
        for (call, waker) in self.places.each() {
            act(call);
            waker.wake_by_ref();
        }
    }

    /// Has the connection polled.
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

/// A connection that is polled in its task, and out of turn through its [`Link`]s.
pub(crate) struct Shared<C: Connection> {
    /// `None` when it has ended.
    connection: Mutex<Option<(C, Calls<C::Call>)>>,
    gate: Arc<Gate>,
    ready: Arc<Ready>,
    /// Wakes [`Part::Transport`].
    transport: Waker,
}

impl<C: Connection> Shared<C> {
    /// A connection to `peer`, if it is one of a client.
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

    /// Polls what was woken, after some parts only until `interrupted`; ready when the connection
    /// has ended.
    pub(crate) fn poll(
        &self,
        context: &mut Context<'_>,
        interrupted: impl Fn() -> bool,
    ) -> Poll<()> {
        self.ready.driven_by(context.waker());
        // Only calls could panic in here, and a connection with such a call is better closed.
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

    /// Does something with the connection, unless it has ended.
    pub(crate) fn with(&self, act: impl FnOnce(&mut C, &mut Calls<C::Call>)) {
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((connection, calls)) = slot.as_mut() {
            act(connection, calls);
        }
    }
}

/// When something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When the connection has its turn.
    InTurn,
    /// At once if the connection has no other calls: with them, what several send leaves together
    /// in the next turn.
    Alone,
    /// At once.
    Now,
}

/// What a [`Link`] asks of its connection.
trait Turn: Send + Sync {
    /// Has a call encode what it has to send, and writes it. False if the connection has its turn
    /// already, has ended, or has other calls that `when` waits for.
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
        // What has arrived can wait, and takes longer than to write.
        self.gate.close();
        calls.poll(place, C::Call::poll_sending);
        // What it was woken for is done now, or is held back.
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

/// The way from a call to its connection.
#[derive(Clone)]
pub struct Link {
    connection: Weak<dyn Turn>,
    place: usize,
    peer: Option<Peer>,
}

impl Link {
    /// An account of the bytes that the call holds for its client, without any yet.
    #[must_use]
    pub fn held(&self) -> Held {
        Held::of(self.peer.clone())
    }

    /// Has the call encode what it has to send, and the connection write it, now. False if it is
    /// not possible now; the call has to be woken then.
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

    /// Notes in which order parts are polled.
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
    fn an_interrupted_turn_goes_on_later() {
        let order = Order::default();
        let shared = Shared::new(order.clone(), Arc::default(), None);
        // With the connection itself three parts more than are polled in any case.
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
    fn only_what_must_go_now_is_written_beside_other_calls() {
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
