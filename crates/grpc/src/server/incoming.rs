//! Accepts connections. Small packets are sent without delay, an observer is notified, and a pause
//! follows each error, such as a lack of file descriptors.

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
    admission::{Limit, Peer, SharedAdmission},
    http2::{Gate, Socket},
};

/// The pause after an error in accepting a connection, because the error would recur immediately.
const REST: Duration = Duration::from_millis(50);

/// An observer of a server's connections. It is notified before any TLS handshake.
pub trait ConnectionObserver: Send + Sync + 'static {
    /// Called when a connection was accepted and admitted.
    fn connection_opened(&self, _peer: SocketAddr) {}

    /// Called when an accepted connection was closed.
    fn connection_closed(&self, _peer: SocketAddr) {}

    /// Called when the TLS handshake of a connection failed.
    fn handshake_failed(&self, _peer: SocketAddr, _error: &io::Error) {}

    /// Called when a connection was refused or closed because of a limit.
    fn limit_met(&self, _peer: SocketAddr, _limit: Limit) {}

    /// Called when a connection could not be accepted, for example for lack of file descriptors.
    fn accept_failed(&self, _error: &io::Error) {}
}

/// The connections of a listener.
pub(super) struct Incoming {
    listener: TcpListener,
    admission: SharedAdmission,
    observer: Option<Arc<dyn ConnectionObserver>>,
    rest: Option<Pin<Box<Sleep>>>,
}

impl Incoming {
    pub(super) fn new(
        listener: TcpListener,
        admission: SharedAdmission,
        observer: Option<Arc<dyn ConnectionObserver>>,
    ) -> Self {
        // If the system refuses this option, TCP paces answers like those of other programs.
        let _ = crate::tcp::send_unpaced(&listener);
        Self { listener, admission, observer, rest: None }
    }

    /// Returns the next admitted connection. This never fails, because errors are reported to the
    /// observer.
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
                    // Dropping the socket closes it.
                    let Some(peer) = this.admission.arrive(address) else { continue };
                    // This fails if the socket is already closed, which is detected soon
                    // afterwards.
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

/// An accepted connection.
pub(super) struct Accepted {
    pub(super) socket: Socket,
    /// The gate of the socket, which can pause reads.
    pub(super) gate: Arc<Gate>,
    pub(super) peer: Peer,
    /// A guard that reports the end of the connection when it is dropped.
    pub(super) open: Open,
}

/// An open connection, whose end is reported when this guard is dropped.
pub(super) struct Open {
    address: SocketAddr,
    observer: Option<Arc<dyn ConnectionObserver>>,
}

impl Open {
    /// Reports that the TLS handshake failed.
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
