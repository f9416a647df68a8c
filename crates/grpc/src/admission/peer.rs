//! The peer of one connection, as its calls see it: what they hold for it, and its end.

use std::{
    collections::HashMap,
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use tokio::{sync::Notify, time};

use super::{Admission, ConnectionId, Eviction, Limit, Limits};

/// The bytes that are held for an open call: its headers, and a batch of messages on its way.
const PER_CALL: usize = 48 << 10;
/// What is held is counted in portions of this many bytes, so that a message more or less seldom
/// changes the account.
const PORTION: usize = 64 << 10;

/// The number of connections above which turns are short.
const CROWD: usize = 32;

/// Hears which connection met which limit.
pub(crate) type Tell = Arc<dyn Fn(SocketAddr, Limit) + Send + Sync>;

/// The admission of one server, shared by its connections.
#[derive(Clone)]
pub(crate) struct Doors(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// The number of connections.
    open: AtomicUsize,
    tell: Tell,
}

struct State {
    admission: Admission,
    /// How connections hear that they were evicted.
    signals: HashMap<ConnectionId, Signal>,
}

struct Signal {
    peer: SocketAddr,
    evicted: Arc<Notify>,
}

impl Doors {
    pub(crate) fn new(limits: Limits, tell: Tell) -> Self {
        let state = State { admission: Admission::new(limits), signals: HashMap::new() };
        Self(Arc::new(Shared { state: Mutex::new(state), open: AtomicUsize::new(0), tell }))
    }

    /// Admits a connection, unless it meets a limit.
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
                    doors: self.clone(),
                    evicted: signal,
                    calls: AtomicUsize::new(0),
                    primaries: AtomicUsize::new(0),
                    is_serving: AtomicBool::new(false),
                })))
            }
            Err(limit) => {
                (self.0.tell)(from, limit);
                None
            }
        }
    }

    /// Waits for the next handshake that takes too long, and evicts it.
    pub(crate) async fn expired(&self) {
        let deadline = self.lock().admission.deadline();
        match deadline {
            Some(deadline) => time::sleep_until(deadline.into()).await,
            None => std::future::pending().await,
        }
        self.act(|state, evicted| state.admission.expire(Instant::now(), evicted));
    }

    /// Does something to the admission and tells those that were evicted for it.
    fn act<T>(&self, act: impl FnOnce(&mut State, &mut Vec<Eviction>) -> T) -> T {
        let mut evicted = Vec::new();
        let mut state = self.lock();
        let result = act(&mut state, &mut evicted);
        let told: Vec<_> = evicted
            .into_iter()
            .filter_map(|Eviction { id, limit }| Some((state.signals.remove(&id)?, limit)))
            .collect();
        drop(state);
        for (signal, limit) in told {
            signal.evicted.notify_one();
            (self.0.tell)(signal.peer, limit);
        }
        result
    }

    /// Holds bytes for a connection.
    fn hold(&self, id: ConnectionId, bytes: usize) -> Result<(), Limit> {
        self.act(|state, evicted| state.admission.hold(id, bytes, evicted))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock, and the account is valid at any moment.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client of a connection.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Inner>);

struct Inner {
    id: ConnectionId,
    doors: Doors,
    evicted: Arc<Notify>,
    /// The number of its open calls.
    calls: AtomicUsize,
    /// The number of its streams that are primary.
    primaries: AtomicUsize,
    /// Whether a call that is open has brought a message.
    is_serving: AtomicBool,
}

impl Peer {
    /// Ready when the connection has to end.
    pub(crate) async fn evicted(&self) {
        self.0.evicted.notified().await;
    }

    /// Records that the client's SETTINGS have come.
    pub(crate) fn negotiated(&self) {
        self.0.doors.lock().admission.negotiated(self.0.id, Instant::now());
    }

    /// Records that a message has come whole.
    pub(crate) fn has_sent(&self) {
        if !self.0.is_serving.swap(true, Ordering::Relaxed) {
            self.0.doors.lock().admission.serving(self.0.id, Instant::now());
        }
    }

    /// Whether a call that is open has brought a message.
    pub(crate) fn is_serving(&self) -> bool {
        self.0.is_serving.load(Ordering::Relaxed)
    }

    /// Whether there are so many connections that this one may have only short turns, for the sake
    /// of those with a primary.
    pub(crate) fn is_in_a_crowd(&self) -> bool {
        self.0.doors.0.open.load(Ordering::Relaxed) > CROWD
            && self.0.primaries.load(Ordering::Relaxed) == 0
    }

    /// Whether the connection may have full windows.
    pub(crate) fn widen(&self) -> bool {
        self.0.doors.lock().admission.widen(self.0.id)
    }

    /// Begins a call.
    pub(crate) fn begin(&self) -> Result<OpenCall, Limit> {
        self.0.doors.hold(self.0.id, PER_CALL)?;
        self.0.calls.fetch_add(1, Ordering::Relaxed);
        Ok(OpenCall(self.clone()))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.doors.0.open.fetch_sub(1, Ordering::Relaxed);
        let mut state = self.doors.lock();
        state.admission.close(self.id);
        state.signals.remove(&self.id);
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Peer").field(&self.0.id).finish()
    }
}

/// A call for as long as it is open.
pub(crate) struct OpenCall(Peer);

impl Drop for OpenCall {
    fn drop(&mut self) {
        let Inner { id, doors, calls, is_serving, .. } = &*self.0.0;
        let is_last = calls.fetch_sub(1, Ordering::Relaxed) == 1;
        let mut state = doors.lock();
        state.admission.release(*id, PER_CALL);
        if is_last && is_serving.swap(false, Ordering::Relaxed) {
            state.admission.silent(*id, Instant::now());
        }
    }
}

/// Bytes that are held for a peer.
#[derive(Debug, Default)]
pub struct Held {
    /// `None` for a server, which a client trusts.
    peer: Option<Peer>,
    bytes: usize,
    is_primary: bool,
}

impl Held {
    /// Nothing yet.
    pub(crate) fn of(peer: Option<Peer>) -> Self {
        Self { peer, bytes: 0, is_primary: false }
    }

    /// Changes how many bytes are held.
    ///
    /// # Errors
    ///
    /// The limit, if they are too many; what was held before stays so.
    pub fn set(&mut self, bytes: usize) -> Result<(), Limit> {
        let Some(Peer(peer)) = &self.peer else { return Ok(()) };
        if bytes > self.bytes {
            let whole = bytes.div_ceil(PORTION).saturating_mul(PORTION);
            peer.doors.hold(peer.id, whole - self.bytes)?;
            self.bytes = whole;
        } else if bytes + 2 * PORTION < self.bytes {
            let whole = bytes.div_ceil(PORTION) * PORTION;
            peer.doors.lock().admission.release(peer.id, self.bytes - whole);
            self.bytes = whole;
        }
        Ok(())
    }

    /// Records whether this is held for a primary, whose connection is protected.
    pub(crate) fn set_primary(&mut self, is_primary: bool) {
        if std::mem::replace(&mut self.is_primary, is_primary) != is_primary
            && let Some(Peer(peer)) = &self.peer
        {
            if is_primary {
                peer.primaries.fetch_add(1, Ordering::Relaxed);
            } else {
                peer.primaries.fetch_sub(1, Ordering::Relaxed);
            }
            peer.doors.lock().admission.protect(peer.id, is_primary);
        }
    }

    /// Records that a message has come whole.
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
            peer.doors.lock().admission.release(peer.id, self.bytes);
        }
    }
}
