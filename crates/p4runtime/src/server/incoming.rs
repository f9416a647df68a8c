//! Accepting connections: without delay for small packets, counted, and calm when the process
//! runs out of file descriptors.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::{Sleep, sleep},
};

/// How long accepting rests after an error: it would fail again at once.
const REST: Duration = Duration::from_millis(50);

/// Hears of the connections of one server, TLS handshake or not.
pub trait ConnectionObserver: Send + Sync + 'static {
    /// A connection was accepted.
    fn connection_opened(&self, _peer: SocketAddr) {}

    /// A connection that was accepted is closed.
    fn connection_closed(&self, _peer: SocketAddr) {}

    /// A connection could not be accepted, for instance for lack of file descriptors.
    fn accept_failed(&self, _error: &io::Error) {}
}

/// The connections of a listener.
pub(super) struct Incoming {
    listener: TcpListener,
    observer: Option<Arc<dyn ConnectionObserver>>,
    rest: Option<Pin<Box<Sleep>>>,
}

impl Incoming {
    pub(super) fn new(
        listener: TcpListener,
        observer: Option<Arc<dyn ConnectionObserver>>,
    ) -> Self {
        Self { listener, observer, rest: None }
    }
}

impl Incoming {
    /// The next connection. It never ends, whatever fails.
    pub(super) async fn next(&mut self) -> Socket {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Socket> {
        let this = self;
        loop {
            if let Some(rest) = &mut this.rest {
                ready!(rest.as_mut().poll(context));
                this.rest = None;
            }
            match ready!(this.listener.poll_accept(context)) {
                Ok((stream, peer)) => {
                    // A socket that is closed already fails here and soon after anyway.
                    let _ = stream.set_nodelay(true);
                    let observer = this.observer.clone();
                    if let Some(observer) = &observer {
                        observer.connection_opened(peer);
                    }
                    return Poll::Ready(Socket { stream, peer, observer, gate: Arc::default() });
                }
                Err(error) => {
                    if let Some(observer) = &this.observer {
                        observer.accept_failed(&error);
                    }
                    this.rest = Some(Box::pin(sleep(REST)));
                }
            }
        }
    }
}

/// One accepted connection.
pub(super) struct Socket {
    stream: TcpStream,
    peer: SocketAddr,
    observer: Option<Arc<dyn ConnectionObserver>>,
    gate: Arc<Gate>,
}

/// Keeps what has arrived in the socket while there is something to write that must not wait:
/// h2 reads whenever it is polled.
#[derive(Debug, Default)]
pub(super) struct Gate {
    is_closed: AtomicBool,
    /// Something had arrived when it was asked for.
    held_back: AtomicBool,
}

impl Gate {
    /// Lets nothing in until [`Gate::open`].
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// Whether something was held back, for which its reader has to be woken.
    pub(super) fn open(&self) -> bool {
        self.is_closed.store(false, Ordering::Relaxed);
        self.held_back.swap(false, Ordering::Relaxed)
    }
}

impl Socket {
    pub(super) fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.gate)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(observer) = &self.observer {
            observer.connection_closed(self.peer);
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.gate.is_closed.load(Ordering::Relaxed) {
            if self.stream.poll_read_ready(context).is_ready() {
                self.gate.held_back.store(true, Ordering::Relaxed);
            }
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
