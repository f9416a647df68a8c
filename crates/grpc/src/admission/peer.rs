//! The client of one connection: the memory that its calls hold, and its eviction.

use std::{
    collections::HashMap,
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Waker,
    time::Instant,
};

use tokio::{sync::Notify, time};

use super::{
    Address, Admission, ConnectionId, Eviction, Limit, Limits,
    turns::{Answer, Party, Turns},
};

/// The number of bytes that an open call is assumed to hold: its headers, and a batch of messages
/// in flight.
const PER_CALL: usize = 48 << 10;
/// The granularity, in bytes, at which the memory of a connection is accounted. It is so large that
/// single messages rarely change the account.
const PORTION: usize = 64 << 10;

/// The number of connections above which the server limits how long each may use the processor.
/// Each connection's task is then polled only for a short time (its turn), and addresses get fair
/// shares of the time.
const UNLIMITED_CONNECTIONS: usize = 32;

/// A callback that is called when a connection reaches a limit.
pub(crate) type LimitCallback = Arc<dyn Fn(SocketAddr, Limit) + Send + Sync>;

/// The admission state of one server, shared by its connections.
#[derive(Clone)]
pub(crate) struct SharedAdmission(Arc<Shared>);

/// The content of a [`SharedAdmission`].
struct Shared {
    state: Mutex<State>,
    /// The number of open connections.
    open: AtomicUsize,
    on_limit: LimitCallback,
}

/// The part of the admission state that a lock protects.
struct State {
    admission: Admission,
    /// The signals that notify connections of their eviction.
    signals: HashMap<ConnectionId, Signal>,
    turns: Turns,
    /// The wakers of the connections that wait for their turn.
    waiting: HashMap<ConnectionId, Waker>,
}

impl State {
    /// Removes and returns the waker of `next`, the connection whose task is polled next. Returns
    /// `None` if there is no such connection, or if it does not wait for its turn.
    fn waker(&mut self, next: Option<ConnectionId>) -> Option<Waker> {
        self.waiting.remove(&next?)
    }
}

/// A signal that notifies a connection of its eviction, and the address of its client.
struct Signal {
    peer: SocketAddr,
    evicted: Arc<Notify>,
}

impl SharedAdmission {
    pub(crate) fn new(limits: Limits, on_limit: LimitCallback) -> Self {
        let state = State {
            admission: Admission::new(limits),
            signals: HashMap::new(),
            turns: Turns::default(),
            waiting: HashMap::new(),
        };
        Self(Arc::new(Shared { state: Mutex::new(state), open: AtomicUsize::new(0), on_limit }))
    }

    /// Admits a connection from an address. Returns `None` if a limit was reached.
    pub(crate) fn arrive(&self, from: SocketAddr) -> Option<Peer> {
        let signal = Arc::new(Notify::new());
        let arrived = self.act(|state, evicted| {
            let id = state.admission.arrive(from.ip(), Instant::now(), evicted)?;
            state.signals.insert(id, Signal { peer: from, evicted: Arc::clone(&signal) });
            Ok(id)
        });
        match arrived {
            Ok(id) => {
                self.0.open.fetch_add(1, Ordering::Relaxed);
                Some(Peer(Arc::new(Inner {
                    id,
                    address: Address::of(from.ip()),
                    admission: self.clone(),
                    evicted: signal,
                    calls: AtomicUsize::new(0),
                    primaries: AtomicUsize::new(0),
                    is_serving: AtomicBool::new(false),
                })))
            }
            Err(limit) => {
                (self.0.on_limit)(from, limit);
                None
            }
        }
    }

    /// Evicts the connections whose handshake takes too long. Waits until the next handshake
    /// reaches its time limit.
    pub(crate) async fn expired(&self) {
        let deadline = self.lock().admission.deadline();
        match deadline {
            Some(deadline) => time::sleep_until(deadline.into()).await,
            None => std::future::pending().await,
        }
        self.act(|state, evicted| state.admission.expire(Instant::now(), evicted));
    }

    /// Changes the admission state, and notifies the connections that are evicted by the change.
    fn act<T>(&self, act: impl FnOnce(&mut State, &mut Vec<Eviction>) -> T) -> T {
        let mut evicted = Vec::new();
        let mut state = self.lock();
        let result = act(&mut state, &mut evicted);
        let notified: Vec<_> = evicted
            .into_iter()
            .filter_map(|Eviction { id, limit }| Some((state.signals.remove(&id)?, limit)))
            .collect();
        drop(state);
        for (signal, limit) in notified {
            signal.evicted.notify_one();
            (self.0.on_limit)(signal.peer, limit);
        }
        result
    }

    fn limits_turns(&self) -> bool {
        self.0.open.load(Ordering::Relaxed) > UNLIMITED_CONNECTIONS
    }

    /// Changes the order in which connections have their turns, and wakes the connection that has
    /// the next turn.
    fn pass_on(&self, act: impl FnOnce(&mut Turns) -> Option<ConnectionId>) {
        let mut state = self.lock();
        let next = act(&mut state.turns);
        let waker = state.waker(next);
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// Adds bytes to the memory that a connection holds.
    fn hold(&self, id: ConnectionId, bytes: usize) -> Result<(), Limit> {
        self.act(|state, evicted| state.admission.hold(id, bytes, evicted))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, so the state is always valid.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client of one connection.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Inner>);

/// The content of a [`Peer`].
struct Inner {
    id: ConnectionId,
    address: Address,
    admission: SharedAdmission,
    evicted: Arc<Notify>,
    /// The number of open calls of the client.
    calls: AtomicUsize,
    /// The number of the client's streams that belong to a primary controller.
    primaries: AtomicUsize,
    /// Whether an open call of the client has received a message.
    is_serving: AtomicBool,
}

impl Peer {
    /// Completes when the connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.0.evicted.notified().await;
    }

    /// Records that the client's SETTINGS frame has arrived.
    pub(crate) fn negotiated(&self) {
        self.0.admission.lock().admission.negotiated(self.0.id, Instant::now());
    }

    /// Records that the client has sent a complete message.
    pub(crate) fn has_sent(&self) {
        if !self.0.is_serving.swap(true, Ordering::Relaxed) {
            self.0.admission.lock().admission.serving(self.0.id, Instant::now());
        }
    }

    /// Returns whether an open call of the client has received a message.
    pub(crate) fn is_serving(&self) -> bool {
        self.0.is_serving.load(Ordering::Relaxed)
    }

    /// Returns whether this connection must keep its turns short: there are many connections, and
    /// no stream of this one belongs to a primary controller.
    pub(crate) fn is_in_a_crowd(&self) -> bool {
        self.0.admission.limits_turns() && !self.has_primary()
    }

    fn has_primary(&self) -> bool {
        self.0.primaries.load(Ordering::Relaxed) > 0
    }

    /// Returns the connection's place in the queue for turns.
    pub(crate) fn seat(&self) -> Seat {
        Seat { peer: self.clone(), is_waiting: false }
    }

    /// Returns whether the connection may have HTTP/2 windows of full size.
    pub(crate) fn widen(&self) -> bool {
        self.0.admission.lock().admission.widen(self.0.id)
    }

    /// Begins a call. Its memory is accounted for the client while the call is open.
    pub(crate) fn begin(&self) -> Result<OpenCall, Limit> {
        self.0.admission.hold(self.0.id, PER_CALL)?;
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        Ok(OpenCall(self.clone()))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.admission.0.open.fetch_sub(1, Ordering::Relaxed);
        let mut state = self.admission.lock();
        state.admission.close(self.id);
        state.signals.remove(&self.id);
        if !state.admission.by_address.contains_key(&self.address) {
            state.turns.close(self.address);
        }
    }
}

/// A connection's place in the queue for turns (polls of the connections' tasks). Only the
/// connection's task owns this value, so that the next connection gets its turn whenever the task
/// ends.
pub(crate) struct Seat {
    peer: Peer,
    is_waiting: bool,
}

impl Seat {
    /// Begins a turn of the connection. Returns `None` if the connection must wait, and wakes the
    /// task when its turn comes. If there are few connections, none of them waits.
    pub(crate) fn begin_turn(&mut self, waker: &Waker) -> Option<TurnTaken<'_>> {
        let Inner { id, address, admission, .. } = &*self.peer.0;
        if !admission.limits_turns() {
            if std::mem::take(&mut self.is_waiting) {
                admission.pass_on(|turns| turns.leave(*id));
            }
            return Some(TurnTaken { accounted: None });
        }
        let party =
            if self.peer.has_primary() { Party::Primary(*id) } else { Party::Address(*address) };
        let mut state = admission.lock();
        let answer = state.turns.ask(*id, party);
        self.is_waiting = answer != Answer::Now;
        match answer {
            Answer::Now => {
                return Some(TurnTaken { accounted: Some((&self.peer, Instant::now())) });
            }
            // The other tasks that are ready run before this task runs again.
            Answer::Next => waker.wake_by_ref(),
            Answer::Wait => drop(state.waiting.insert(*id, waker.clone())),
        }
        None
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Inner { id, admission, .. } = &*self.peer.0;
        admission.pass_on(|turns| turns.leave(*id));
        admission.lock().waiting.remove(id);
    }
}

/// A turn of a connection. Dropping this value ends the turn.
pub(crate) struct TurnTaken<'a> {
    /// The connection to which the time of the turn is charged, and the start of the turn. `None`
    /// if time is not charged, because there are few connections.
    accounted: Option<(&'a Peer, Instant)>,
}

impl Drop for TurnTaken<'_> {
    fn drop(&mut self) {
        if let Some((Peer(peer), start)) = self.accounted {
            let spent = start.elapsed();
            peer.admission.pass_on(|turns| turns.end(peer.id, spent));
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Peer").field(&self.0.id).finish()
    }
}

/// An open call. Dropping this value releases the memory that the call holds.
pub(crate) struct OpenCall(Peer);

impl Drop for OpenCall {
    fn drop(&mut self) {
        let Inner { id, admission, calls, is_serving, .. } = &*self.0.0;
        let is_last = calls.fetch_sub(1, Ordering::Relaxed) == 1;
        let mut state = admission.lock();
        state.admission.release(*id, PER_CALL);
        if is_last && is_serving.swap(false, Ordering::Relaxed) {
            state.admission.silent(*id, Instant::now());
        }
    }
}

/// An account of the bytes that are held for a client.
#[derive(Debug, Default)]
pub struct Held {
    /// The client for which the bytes are held, or `None` on the client side of a connection, which
    /// trusts the server.
    peer: Option<Peer>,
    bytes: usize,
    is_primary: bool,
}

impl Held {
    /// Creates an empty account of the bytes that are held for a client.
    pub(crate) fn of(peer: Option<Peer>) -> Self {
        Self { peer, bytes: 0, is_primary: false }
    }

    /// Sets the number of bytes that are held under this account.
    ///
    /// # Errors
    ///
    /// Returns the limit that was reached if the bytes exceed it. The account is then unchanged.
    pub fn set(&mut self, bytes: usize) -> Result<(), Limit> {
        let Some(Peer(peer)) = &self.peer else { return Ok(()) };
        if bytes > self.bytes {
            let whole = bytes.div_ceil(PORTION).saturating_mul(PORTION);
            peer.admission.hold(peer.id, whole - self.bytes)?;
            self.bytes = whole;
        } else if bytes + 2 * PORTION < self.bytes {
            let whole = bytes.div_ceil(PORTION) * PORTION;
            peer.admission.lock().admission.release(peer.id, self.bytes - whole);
            self.bytes = whole;
        }
        Ok(())
    }

    /// Records whether the account belongs to a primary controller, whose connection is protected
    /// from eviction.
    pub(crate) fn set_primary(&mut self, is_primary: bool) {
        if std::mem::replace(&mut self.is_primary, is_primary) != is_primary
            && let Some(Peer(peer)) = &self.peer
        {
            if is_primary {
                peer.primaries.fetch_add(1, Ordering::Relaxed);
            } else {
                peer.primaries.fetch_sub(1, Ordering::Relaxed);
            }
            peer.admission.lock().admission.protect(peer.id, is_primary);
        }
    }

    /// Records that a complete message of the client has arrived.
    pub fn message_arrived(&self) {
        if let Some(peer) = &self.peer {
            peer.has_sent();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set_primary(false);
        if let Some(Peer(peer)) = &self.peer
            && self.bytes > 0
        {
            peer.admission.lock().admission.release(peer.id, self.bytes);
        }
    }
}
