//! A thin gRPC server around [`Device`]s.
//!
//! One server serves one listener with one or several devices; a process may run thousands of
//! them on one runtime. All rules are in [`crate::session`]; here bytes are moved, and moved
//! fast: packet-ins that wait together are encoded together and share a frame, and packet-outs
//! that came together are handed over together.
//!
//! [`Device`]: crate::session::Device

mod clock;
mod handle;
mod incoming;
mod routes;
mod service;
mod shutdown;
mod stream;
mod timer;

use std::{collections::HashMap, future::Future, sync::Arc, time::Duration};

use thiserror::Error;
use tokio::{net::TcpListener, time};
use tonic::{
    Status,
    transport::{self, Certificate, Identity, ServerTlsConfig},
};

pub use self::{
    handle::{DeviceHandle, DeviceObserver, NoObserver, PacketIn, PacketInError, PacketInMetadata},
    incoming::ConnectionObserver,
};
use self::{incoming::Incoming, routes::Routes, service::Service, shutdown::Streams};
use crate::{
    gnmi::{GnmiServer, Ports},
    proto::v1::p4_runtime_server::P4RuntimeServer,
};

/// How a server is run.
#[derive(Clone)]
pub struct ServerOptions {
    /// The certificate, and whether clients must show one. `None` serves plain HTTP/2.
    pub tls: Option<ServerTls>,
    /// Messages that may wait on one stream; further packet-ins are dropped.
    pub queue_limit: usize,
    /// The largest request in bytes. Device configurations of real targets are megabytes.
    pub request_limit: usize,
    /// How often a silent client is asked whether it is still there; `None` never asks, so that a
    /// client whose machine has gone stays primary until TCP notices.
    pub keepalive: Option<Duration>,
    /// How long a shutdown waits for clients to go before it leaves them alone.
    pub grace: Duration,
    /// Hears of connections.
    pub observer: Option<Arc<dyn ConnectionObserver>>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            tls: None,
            queue_limit: 65_536,
            request_limit: 64 << 20,
            keepalive: None,
            grace: Duration::from_secs(2),
            observer: None,
        }
    }
}

/// The identity of a server, in PEM.
#[derive(Clone)]
pub struct ServerTls {
    /// The certificate of the server, followed by those of its issuers.
    pub certificate: Vec<u8>,
    /// The private key of the certificate.
    pub key: Vec<u8>,
    /// If set, clients must show a certificate that one of these has issued (mutual TLS).
    pub client_authorities: Option<Vec<u8>>,
}

/// Why a server could not be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Two devices have the same id.
    #[error("device id {0} is given to two devices of one server; give each its own")]
    DuplicateDevice(u64),
    /// The TLS identity cannot be used.
    #[error("the TLS certificate or key of the server cannot be used: {0}")]
    Tls(#[source] transport::Error),
    /// The server failed while it ran.
    #[error("the server failed: {0}")]
    Transport(#[source] transport::Error),
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
    tls: Option<ServerTlsConfig>,
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
        };
        let tls = options.tls.as_ref().map(|tls| {
            let config =
                ServerTlsConfig::new().identity(Identity::from_pem(&tls.certificate, &tls.key));
            match &tls.client_authorities {
                Some(authorities) => config.client_ca_root(Certificate::from_pem(authorities)),
                None => config,
            }
        });
        Ok(Self { service, tls, options })
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
        let mut server = transport::Server::builder()
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(MAX_FRAME)
            // One connection may carry the streams of any number of devices.
            .max_concurrent_streams(None)
            .http2_keepalive_interval(self.options.keepalive);
        if let Some(tls) = self.tls {
            server = server.tls_config(tls).map_err(ServeError::Tls)?;
        }
        let incoming = Incoming::new(listener, self.options.observer);
        let streams = Arc::clone(&self.service.streams);
        let devices = Arc::clone(&self.service.devices);
        let service = Routes {
            p4runtime: P4RuntimeServer::new(self.service)
                .max_decoding_message_size(self.options.request_limit),
            gnmi: GnmiServer::new(Arc::new(move |target| devices.ports(target)), clock::timestamp),
        };

        let (ended, end) = tokio::sync::oneshot::channel();
        let signal = async {
            shutdown.await;
            streams.end_all();
            // The receiver waits until this function returns.
            let _ = ended.send(());
        };
        let serving = server.serve_with_incoming_shutdown(service, incoming, signal);
        let overdue = async {
            if end.await.is_err() {
                std::future::pending::<()>().await;
            }
            time::sleep(self.options.grace).await;
        };
        tokio::select! {
            served = serving => served.map_err(ServeError::Transport),
            () = overdue => Ok(()),
        }
    }
}

/// What a client may send on a stream, and on a connection, before we have read it. It is a
/// limit and not an allocation.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
/// Fewer, larger frames for batches of packet-outs.
const MAX_FRAME: u32 = 64 << 10;
