//! A gRPC server: connections, their calls, and an orderly end.
//!
//! One server serves one listener; a process may run thousands of them on one runtime. What calls do is up to the
//! [`Services`] that it is given.

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
    admission::Doors,
    tls::{ServerTls, TlsError},
};

/// What a server serves; every connection has a clone.
pub trait Services: Clone + Send + 'static {
    /// The calls that are served out of turn.
    type Channel: Channel;

    /// Whether the method at this path is served as a [`Channel`]. A call whose messages are compressed goes to
    /// [`Services::call`] all the same.
    fn is_channel(&self, path: &str) -> bool;

    /// Opens such a call. What it sends can be written out of turn through `link`.
    fn open(&self, requests: RecvStream, respond: SendResponse<Bytes>, link: Link)
    -> Self::Channel;

    /// Serves any other call.
    fn call(&mut self, request: http::Request<Body>)
    -> BoxFuture<http::Response<Body>, Infallible>;

    /// The details of a status in fewer bytes, for a client that does not take them whole; empty if they have no
    /// shorter form.
    fn shorter_details(details: &[u8]) -> Bytes;
}

/// A call with messages in both directions that are not served as a future.
pub trait Channel: Call {
    /// Ends the call with a status, after what waits to be sent.
    fn end(&self, status: Status);
}

/// How a server is run.
#[derive(Clone)]
pub struct ServerOptions {
    /// The certificate, and whether clients must show one. `None` serves plain HTTP/2.
    pub tls: Option<ServerTls>,
    /// What may wait on one channel.
    pub queue_limit: QueueLimit,
    /// The largest request in bytes. Device configurations of real targets are megabytes.
    pub request_limit: usize,
    /// What clients may take.
    pub limits: Limits,
    /// How long a shutdown waits for clients to go before it leaves them alone.
    pub grace: Duration,
    /// Hears of connections.
    pub observer: Option<Arc<dyn ConnectionObserver>>,
    /// Hears when a connection has its turn.
    pub urgency: Option<Arc<dyn Urgency>>,
}

/// An owner that has more urgent things to do than to serve.
pub trait Urgency: Send + Sync + 'static {
    /// A connection has something to read or to write and its turn has come: what must not wait
    /// for that can be done now, such as writing to other connections.
    fn before_turn(&self);

    /// Whether [`Urgency::before_turn`] would have something to do: a connection whose turn it is
    /// breaks off then and goes on in another one.
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

/// A server whose options can be used.
pub struct Server {
    tls: Option<TlsAcceptor>,
    options: ServerOptions,
}

impl Server {
    /// Checks the options.
    ///
    /// # Errors
    ///
    /// When the TLS identity cannot be used, as one whose key does not fit its certificate.
    pub fn new(options: ServerOptions) -> Result<Self, TlsError> {
        let tls = options.tls.as_ref().map(acceptor).transpose()?;
        Ok(Self { tls, options })
    }

    /// Serves the listener until `shutdown` is ready, then ends all channels with UNAVAILABLE and
    /// waits for the clients to go, for as long as the options say.
    pub async fn serve(
        self,
        listener: TcpListener,
        services: impl Services,
        shutdown: impl Future<Output = ()>,
    ) {
        let Self { tls, options } = self;
        let observer = options.observer.clone();
        let tell = move |peer, limit| {
            if let Some(observer) = &observer {
                observer.limit_met(peer, limit);
            }
        };
        let doors = Doors::new(options.limits.clone(), Arc::new(tell));
        let mut incoming = Incoming::new(listener, doors.clone(), options.observer.clone());
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
                () = doors.expired() => {}
                Some(_) = connections.join_next() => {}
            }
        }
        drop(incoming);
        close.send_replace(true);
        let all = async { while connections.join_next().await.is_some() {} };
        // What is still open then is dropped.
        let _ = time::timeout(options.grace, all).await;
    }
}

/// Serves a connection until it ends or has to make room for others.
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
