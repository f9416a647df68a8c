//! Accepting connections: without delay for small packets, counted, and calm when the process
//! runs out of file descriptors.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    net::TcpListener,
    time::{Sleep, sleep},
};

use crate::{
    admission::{Doors, Limit, Peer},
    http2::{Gate, Socket},
};

/// How long accepting rests after an error: it would fail again at once.
const REST: Duration = Duration::from_millis(50);

/// Hears of the connections of one server, TLS handshake or not.
pub trait ConnectionObserver: Send + Sync + 'static {
    /// A connection was accepted.
    fn connection_opened(&self, _peer: SocketAddr) {}

    /// A connection that was accepted is closed.
    fn connection_closed(&self, _peer: SocketAddr) {}

    /// The TLS handshake of a connection failed.
    fn handshake_failed(&self, _peer: SocketAddr, _error: &io::Error) {}

    /// A connection was refused or closed, because it met a limit or had to make room for others.
    fn limit_met(&self, _peer: SocketAddr, _limit: Limit) {}

    /// A connection could not be accepted, for instance for lack of file descriptors.
    fn accept_failed(&self, _error: &io::Error) {}
}

/// The connections of a listener.
pub(super) struct Incoming {
    listener: TcpListener,
    doors: Doors,
    observer: Option<Arc<dyn ConnectionObserver>>,
    rest: Option<Pin<Box<Sleep>>>,
}

impl Incoming {
    pub(super) fn new(
        listener: TcpListener,
        doors: Doors,
        observer: Option<Arc<dyn ConnectionObserver>>,
    ) -> Self {
        Self { listener, doors, observer, rest: None }
    }

    /// The next connection that is admitted. It never ends, whatever fails.
    pub(super) async fn next(&mut self) -> Accepted {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Accepted> {
        let this = self;
        loop {
            if let Some(rest) = &mut this.rest {
                ready!(rest.as_mut().poll(context));
                this.rest = None;
            }
            match ready!(this.listener.poll_accept(context)) {
                Ok((stream, address)) => {
                    // To drop the socket closes it.
                    let Some(peer) = this.doors.arrive(address) else { continue };
                    // A socket that is closed already fails here and soon after anyway.
                    let _ = stream.set_nodelay(true);
                    let observer = this.observer.clone();
                    if let Some(observer) = &observer {
                        observer.connection_opened(address);
                    }
                    let gate = Arc::new(Gate::default());
                    let socket = Socket::new(stream, Arc::clone(&gate));
                    let open = Open { address, observer };
                    return Poll::Ready(Accepted { socket, gate, peer, open });
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

/// A connection that was accepted.
pub(super) struct Accepted {
    pub(super) socket: Socket,
    /// Keeps what has arrived in the socket.
    pub(super) gate: Arc<Gate>,
    pub(super) peer: Peer,
    /// Tells of the end.
    pub(super) open: Open,
}

/// A connection for as long as it is open.
pub(super) struct Open {
    address: SocketAddr,
    observer: Option<Arc<dyn ConnectionObserver>>,
}

impl Open {
    /// Tells that the TLS handshake failed.
    pub(super) fn handshake_failed(&self, error: &io::Error) {
        if let Some(observer) = &self.observer {
            observer.handshake_failed(self.address, error);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(observer) = &self.observer {
            observer.connection_closed(self.address);
        }
    }
}
