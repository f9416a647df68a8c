//! A thin gRPC server around [`Device`]s.
//!
//! One server serves one listener with one or several devices; a process may run thousands of
//! them on one runtime. All rules are in [`crate::session`]; here bytes are moved, and moved
//! fast: packet-ins that wait together are encoded together and share a frame, and packet-outs
//! that came together are handed over together.
//!
//! [`Device`]: crate::session::Device

mod call;
mod channel;
mod clock;
mod connection;
mod deadline;
mod handle;
mod incoming;
mod routes;
mod service;
mod shutdown;
mod timer;
mod trailers;

use std::{collections::HashMap, future::Future, pin::pin, sync::Arc, time::Duration};

pub use packetio::tls::{ServerTls, TlsError};
use thiserror::Error;
use tokio::{net::TcpListener, sync::watch, task::JoinSet, time};
use tokio_rustls::{TlsAcceptor, rustls};
use tonic::Status;

pub use self::{
    handle::{DeviceHandle, DeviceObserver, NoObserver, PacketIn, PacketInError, PacketInMetadata},
    incoming::ConnectionObserver,
};
use self::{incoming::Incoming, routes::Routes, service::Service, shutdown::Streams};
use crate::gnmi::{GnmiServer, Ports};

/// How a server is run.
#[derive(Clone)]
pub struct ServerOptions {
    /// The certificate, and whether clients must show one. `None` serves plain HTTP/2.
    pub tls: Option<ServerTls>,
    /// Messages that may wait on one stream; further packet-ins are dropped.
    pub queue_limit: usize,
    /// The largest request in bytes. Device configurations of real targets are megabytes.
    pub request_limit: usize,
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
    /// for that can be done now, such as [`DeviceHandle::send_now`] of others.
    fn before_turn(&self);

    /// Whether [`Urgency::before_turn`] would have something to do: a connection whose turn it is
    /// breaks off then and goes on in another one.
    fn is_urgent(&self) -> bool;
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            tls: None,
            queue_limit: 65_536,
            request_limit: 64 << 20,
            grace: Duration::from_secs(2),
            observer: None,
            urgency: None,
        }
    }
}

/// Why a server could not be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Two devices have the same id.
    #[error("device id {0} is given to two devices of one server; give each its own")]
    DuplicateDevice(u64),
    /// The TLS identity cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The devices of one server.
#[derive(Debug)]
struct Devices(HashMap<u64, DeviceHandle>);

impl Devices {
    fn find(&self, device_id: u64) -> Result<DeviceHandle, Status> {
        self.0.get(&device_id).cloned().ok_or_else(|| {
            Status::not_found(format!("Device id {device_id} is not known to this server."))
        })
    }

    /// The ports of the device with this id, or without one of the device with the lowest id.
    fn ports(&self, target: &str) -> Option<Arc<Ports>> {
        let id = match target {
            "" => *self.0.keys().min()?,
            target => target.parse().ok()?,
        };
        self.0.get(&id).map(DeviceHandle::ports)
    }
}

/// A P4Runtime server for one listener.
pub struct Server {
    service: Service,
    options: ServerOptions,
}

impl Server {
    /// A server for these devices.
    ///
    /// # Errors
    ///
    /// When two devices have the same id.
    pub fn new(
        devices: impl IntoIterator<Item = DeviceHandle>,
        options: ServerOptions,
    ) -> Result<Self, ServeError> {
        let mut known = HashMap::new();
        for device in devices {
            let id = device.id();
            if known.insert(id, device).is_some() {
                return Err(ServeError::DuplicateDevice(id));
            }
        }
        let service = Service {
            devices: Arc::new(Devices(known)),
            streams: Arc::new(Streams::default()),
            queue_limit: options.queue_limit,
            request_limit: options.request_limit,
        };
        Ok(Self { service, options })
    }

    /// Serves the listener until `shutdown` is ready, then ends all streams with UNAVAILABLE and
    /// waits for the clients to go, for as long as the options say.
    ///
    /// # Errors
    ///
    /// When the TLS identity cannot be used.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let tls = self.options.tls.as_ref().map(acceptor).transpose()?;
        let streams = Arc::clone(&self.service.streams);
        let devices = Arc::clone(&self.service.devices);
        let routes = Routes {
            p4runtime: self.service,
            gnmi: GnmiServer::new(Arc::new(move |target| devices.ports(target)), clock::timestamp),
        };
        let mut incoming = Incoming::new(listener, self.options.observer.clone());
        let (close, closed) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                (socket, gate, open) = incoming.next() => {
                    let (tls, urgency) = (tls.clone(), self.options.urgency.clone());
                    let (routes, mut closed) = (routes.clone(), closed.clone());
                    connections.spawn(async move {
                        let closing = async move {
                            let _ = closed.wait_for(|closed| *closed).await;
                        };
                        // Tells of the end, however it comes.
                        let open = open;
                        match tls {
                            None => connection::serve(socket, gate, routes, urgency, closing).await,
                            Some(tls) => match tls.accept(socket).await {
                                Ok(socket) => {
                                    connection::serve(socket, gate, routes, urgency, closing).await;
                                }
                                Err(error) => open.handshake_failed(&error),
                            },
                        }
                    });
                }
                Some(_) = connections.join_next() => {}
            }
        }
        drop(incoming);
        streams.end_all();
        close.send_replace(true);
        let all = async { while connections.join_next().await.is_some() {} };
        // What is still open then is dropped.
        let _ = time::timeout(self.options.grace, all).await;
        Ok(())
    }
}

fn acceptor(tls: &ServerTls) -> Result<TlsAcceptor, TlsError> {
    let mut config: rustls::ServerConfig = tls.config()?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
