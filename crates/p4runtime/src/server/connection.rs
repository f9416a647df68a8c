//! One HTTP/2 connection: its calls, polled in one task, and writing out of turn.
//!
//! This is what lies between h2 and the RPCs. tonic's own server is not used, since it gives no
//! way to write a packet-in when it is due: there the message is queued for a task, that wakes
//! another one, and the runtime comes to both when it has polled everything that woke earlier.
//! Measured over 100 connections, those two layers also took a third of the time that a packet-in
//! and its answer cost beside the system calls.

use std::{
    fmt,
    future::Future,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError, TryLockError, Weak},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use h2::{RecvStream, server::SendResponse};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::coop,
};
use tonic::codegen::http;

use super::{
    Urgency, call,
    channel::Channel,
    incoming::Gate,
    routes::Routes,
    tasks::{Part, Places, Ready},
};

/// What a client may send on a stream, and on a connection, before we have read it. It is a
/// limit and not an allocation.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
/// Fewer, larger frames for batches of packet-outs.
const MAX_FRAME: u32 = 64 << 10;
/// Parts that are polled before other connections have their turn.
const POLLS_PER_TURN: usize = 256;

/// Serves a connection until the client goes, or after `closing` until its calls have ended.
pub(super) async fn serve<T>(
    socket: T,
    gate: Arc<Gate>,
    routes: Routes,
    urgency: Option<Arc<dyn Urgency>>,
    closing: impl Future<Output = ()>,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = h2::server::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .handshake(socket);
    // Whoever does not speak HTTP/2 is closed without a word, as HTTP/2 has none for it.
    let Ok(http2) = handshake.await else { return };
    let ready = Arc::new(Ready::default());
    ready.waker(Part::Transport).wake();
    let turning: Arc<dyn Turn> = Arc::new_cyclic(|own: &Weak<Shared<T>>| Shared {
        gate,
        connection: Mutex::new(Some(Connection {
            transport: ready.waker(Part::Transport),
            http2,
            calls: Places::new(),
            routes,
            own: own.clone(),
        })),
        ready,
    });
    let mut closing = pin!(closing);
    let mut is_closing = false;
    // A connection may be polled in the task of somebody who writes out of turn, so it must not
    // use up the budget of its own.
    let turns = std::future::poll_fn(|context| {
        if let Some(urgency) = &urgency {
            urgency.before_turn();
        }
        if !is_closing && closing.as_mut().poll(context).is_ready() {
            is_closing = true;
            turning.close();
        }
        turning.poll(context)
    });
    coop::unconstrained(turns).await;
}

/// A connection, whatever it runs over.
trait Turn: Send + Sync {
    /// Polls what was woken; ready when the connection has ended.
    fn poll(&self, context: &mut Context<'_>) -> Poll<()>;

    /// Polls one call and writes what it sends. False if the connection has its turn already, has
    /// ended, or is in other hands.
    fn poll_call(&self, place: usize) -> bool;

    /// Takes no new calls from now on.
    fn close(&self);
}

struct Shared<T> {
    /// `None` when it has ended.
    connection: Mutex<Option<Connection<T>>>,
    gate: Arc<Gate>,
    ready: Arc<Ready>,
}

struct Connection<T> {
    http2: h2::server::Connection<T, Bytes>,
    /// Wakes [`Part::Transport`].
    transport: Waker,
    calls: Places<Call>,
    routes: Routes,
    own: Weak<Shared<T>>,
}

enum Call {
    Channel(Box<Channel>),
    Other(Pin<Box<dyn Future<Output = Result<(), h2::Error>> + Send>>),
}

impl<T> Turn for Shared<T>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        self.ready.driven_by(context.waker());
        // Nobody panics in here but calls, and a connection with such a call is better closed.
        let Ok(mut slot) = self.connection.lock() else { return Poll::Ready(()) };
        let Some(connection) = slot.as_mut() else { return Poll::Ready(()) };
        let ended = connection.turn(&self.ready);
        if ended.is_ready() {
            *slot = None;
        }
        ended
    }

    fn poll_call(&self, place: usize) -> bool {
        let mut slot = match self.connection.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => return false,
        };
        let Some(connection) = slot.as_mut() else { return false };
        self.ready.begin_turn();
        self.gate.close();
        connection.poll_sending(place);
        // What it was woken for is done now, or was held back.
        self.ready.forget(Part::Transport);
        let ended = connection.poll_transport(&self.ready);
        if self.gate.open() {
            connection.transport.wake_by_ref();
        }
        self.ready.end_turn();
        if ended.is_ready() {
            *slot = None;
            self.ready.wake_task();
        }
        true
    }

    fn close(&self) {
        let mut slot = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = slot.as_mut() {
            connection.http2.graceful_shutdown();
            connection.transport.wake_by_ref();
        }
    }
}

impl<T> Connection<T>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    fn turn(&mut self, ready: &Arc<Ready>) -> Poll<()> {
        ready.begin_turn();
        self.rest_of_turn(ready)
    }

    fn rest_of_turn(&mut self, ready: &Arc<Ready>) -> Poll<()> {
        let mut ended = Poll::Pending;
        for _ in 0..POLLS_PER_TURN {
            match ready.next() {
                None => break,
                Some(Part::Call(place)) => self.poll_call(place),
                Some(Part::Transport) => ended = self.poll_transport(ready),
            }
            if ended.is_ready() {
                break;
            }
        }
        ready.end_turn();
        ended
    }

    /// Reads and writes, and begins the calls that arrive.
    fn poll_transport(&mut self, ready: &Arc<Ready>) -> Poll<()> {
        let waker = self.transport.clone();
        let mut context = Context::from_waker(&waker);
        loop {
            match self.http2.poll_accept(&mut context) {
                Poll::Ready(Some(Ok((request, respond)))) => self.begin(request, respond, ready),
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn begin(
        &mut self,
        request: http::Request<RecvStream>,
        respond: SendResponse<Bytes>,
        ready: &Arc<Ready>,
    ) {
        let routes = self.routes.clone();
        let own: Weak<dyn Turn> = self.own.clone();
        self.calls.enter(ready, |place| {
            if routes.is_stream_channel(&request) {
                let link = Link { connection: own, place };
                Call::Channel(Box::new(routes.p4runtime.stream_channel(request.into_body(), respond, link)))
            } else {
                Call::Other(Box::pin(call::serve(request, respond, routes)))
            }
        });
    }

    /// Has a call encode what it has to send.
    fn poll_sending(&mut self, place: usize) {
        if let Some((Call::Channel(channel), waker)) = self.calls.get(place)
            && channel.poll_sending(&mut Context::from_waker(waker)).is_ready()
        {
            self.calls.leave(place);
        }
    }

    fn poll_call(&mut self, place: usize) {
        let Some((call, waker)) = self.calls.get(place) else { return };
        let mut context = Context::from_waker(waker);
        let ended = match call {
            Call::Channel(channel) => channel.poll(&mut context).is_ready(),
            Call::Other(call) => call.as_mut().poll(&mut context).is_ready(),
        };
        if ended {
            self.calls.leave(place);
        }
    }
}

/// The way from a call to its connection.
#[derive(Clone)]
pub(crate) struct Link {
    connection: Weak<dyn Turn>,
    place: usize,
}

impl Link {
    /// Has the call encode what it has to send, and the connection write it, now. False if it is
    /// not possible now; the call has to be woken then.
    pub(crate) fn write_out(&self) -> bool {
        self.connection.upgrade().is_some_and(|connection| connection.poll_call(self.place))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Link").field("place", &self.place).finish_non_exhaustive()
    }
}
