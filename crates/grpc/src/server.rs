//! A gRPC server: its connections, their calls, and an orderly shutdown.
//!
//! One server serves one listener, and a process may run thousands of servers on one runtime. The
//! [`Services`] decide what the calls do.

mod call;
mod connection;
mod deadline;
mod incoming;
mod trailers;

use std::{convert::Infallible, future::Future, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use h2::{RecvStream, server::SendResponse};
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time};
use tokio_rustls::{TlsAcceptor, rustls};
use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, http},
};

pub use self::incoming::ConnectionObserver;
use self::incoming::{Accepted, Incoming};
pub use crate::admission::{Admission, ConnectionId, Eviction, Limit, Limits};
use crate::{
    Call, Link, QueueLimit,
    admission::SharedAdmission,
    tls::{ServerTls, TlsError},
};

/// The services of a server, which determine what its calls do. Every connection has a clone.
pub trait Services: Clone + Send + 'static {
    /// The type of calls whose messages can be written immediately.
    type Channel: Channel;

    /// Returns whether the method at this path is served as a [`Channel`]. A call with compressed
    /// messages is always passed to [`Services::call`].
    fn is_channel(&self, path: &str) -> bool;

    /// Opens a channel for a request. The channel can write its messages immediately through
    /// `link`.
    fn open(&self, requests: RecvStream, respond: SendResponse<Bytes>, link: Link)
    -> Self::Channel;

    /// Serves a call that is not a channel.
    fn call(&mut self, request: http::Request<Body>)
    -> BoxFuture<http::Response<Body>, Infallible>;

    /// Returns the details of a status in fewer bytes, for a client with a small metadata limit.
    /// Returns no bytes if there is no shorter form.
    fn shorter_details(details: &[u8]) -> Bytes;
}

/// A call with messages in both directions whose messages can be written immediately. It is not
/// served as a future.
pub trait Channel: Call {
    /// Ends the call with a status. Messages that wait to be sent are sent first.
    fn end(&self, status: Status);
}

/// The options of a server.
#[derive(Clone)]
pub struct ServerOptions {
    /// The certificate, and whether clients must present one. `None` serves plain HTTP/2.
    pub tls: Option<ServerTls>,
    /// The limit of each channel's queue, for the [`Services`] that create the queues. The server
    /// itself does not use it.
    pub queue_limit: QueueLimit,
    /// The maximum size of a request in bytes. It should permit the push of a pipeline, since the
    /// device configurations of real targets have megabytes.
    pub request_limit: usize,
    /// The limits on the resources that clients may use.
    pub limits: Limits,
    /// The time that a shutdown waits for open calls to end before it closes their connections.
    pub grace: Duration,
    /// The observer that is notified of connections, if there is one.
    pub observer: Option<Arc<dyn ConnectionObserver>>,
    /// The callbacks of an owner that has more urgent work than serving connections, or `None`.
    pub urgency: Option<Arc<dyn Urgency>>,
}

/// The callbacks of a server's owner that has more urgent work than serving connections.
pub trait Urgency: Send + Sync + 'static {
    /// Called when a connection is about to be polled. The owner can do its urgent work now, such
    /// as writing to other connections.
    fn before_turn(&self);

    /// Returns whether the owner has urgent work. If so, the current turn of a connection is
    /// interrupted and continues later, after [`Urgency::before_turn`].
    fn is_urgent(&self) -> bool;
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            tls: None,
            queue_limit: QueueLimit::default(),
            request_limit: 64 << 20,
            limits: Limits::default(),
            grace: Duration::from_secs(2),
            observer: None,
            urgency: None,
        }
    }
}

/// A gRPC server whose options have been checked.
pub struct Server {
    tls: Option<TlsAcceptor>,
    options: ServerOptions,
}

impl Server {
    /// Checks the options and creates a server.
    ///
    /// # Errors
    ///
    /// Returns an error if the TLS identity cannot be used, for example because the key does not
    /// fit the certificate.
    pub fn new(options: ServerOptions) -> Result<Self, TlsError> {
        let tls = options.tls.as_ref().map(acceptor).transpose()?;
        Ok(Self { tls, options })
    }

    /// Serves the listener until `shutdown` completes. Then ends all channels with UNAVAILABLE and
    /// waits for the other calls to end, at most for the grace period in the options.
    pub async fn serve(
        self,
        listener: TcpListener,
        services: impl Services,
        shutdown: impl Future<Output = ()>,
    ) {
        let Self { tls, options } = self;
        let observer = options.observer.clone();
        let on_limit = move |peer, limit| {
            if let Some(observer) = &observer {
                observer.limit_met(peer, limit);
            }
        };
        let admission = SharedAdmission::new(options.limits.clone(), Arc::new(on_limit));
        let mut incoming = Incoming::new(listener, admission.clone(), options.observer.clone());
        let (close, closed) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                accepted = incoming.next() => {
                    let (tls, options) = (tls.clone(), options.clone());
                    let (services, mut closed) = (services.clone(), closed.clone());
                    let closing = async move {
                        let _ = closed.wait_for(|closed| *closed).await;
                    };
                    connections.spawn(attend(accepted, tls, services, options, closing));
                }
                () = admission.expired() => {}
                Some(_) = connections.join_next() => {}
            }
        }
        drop(incoming);
        close.send_replace(true);
        let all = async { while connections.join_next().await.is_some() {} };
        // Connections that are still open are dropped.
        let _ = time::timeout(options.grace, all).await;
    }
}

/// Serves a connection until it ends or is evicted.
async fn attend(
    accepted: Accepted,
    tls: Option<TlsAcceptor>,
    services: impl Services,
    options: ServerOptions,
    closing: impl Future<Output = ()>,
) {
    let Accepted { socket, gate, peer, open } = accepted;
    let connection = async {
        match tls {
            None => {
                connection::serve(socket, gate, peer.clone(), services, options, closing).await;
            }
            Some(tls) => match tls.accept(socket).await {
                Ok(socket) => {
                    connection::serve(socket, gate, peer.clone(), services, options, closing).await;
                }
                Err(error) => open.handshake_failed(&error),
            },
        }
    };
    tokio::select! {
        () = connection => {}
        () = peer.evicted() => {}
    }
}

fn acceptor(tls: &ServerTls) -> Result<TlsAcceptor, TlsError> {
    let mut config: rustls::ServerConfig = tls.config()?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
