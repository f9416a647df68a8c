//! A thin gRPC server around [`Device`]s.
//!
//! One server serves one or several devices on one listener, and a process may run thousands of
//! servers on one runtime. All protocol rules are in [`crate::session`]. This module only
//! transports bytes. For speed, packet-ins that wait together are encoded together and share a
//! frame, and packet-outs that arrived together are passed on together.
//!
//! [`Device`]: crate::session::Device

mod channel;
mod clock;
mod devices;
mod handle;
mod pushing;
mod routes;
mod service;
mod timer;

use std::{collections::HashMap, future::Future, sync::Arc};

pub use grpc::{
    QueueLimit,
    server::{ConnectionObserver, Limit, Limits, ServerOptions, Urgency},
    tls::{ServerTls, TlsError},
};
use thiserror::Error;
use tokio::net::TcpListener;

pub use self::clock::{Clock, SetClock, now};
pub use self::handle::{
    DeviceHandle, DeviceObserver, DigestError, DigestList, IdleTimeoutError, NoObserver, PacketIn,
    PacketInError, PacketInMetadata, PacketOutRefusal,
};
use self::{devices::Devices, routes::Routes, service::Service};
use crate::{control::ControlServer, gnmi::GnmiServer};

/// The reason why a server could not be started.
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

/// A P4Runtime server for one listener.
pub struct Server {
    service: Service,
    server: grpc::server::Server,
}

impl Server {
    /// Creates a server for these devices.
    ///
    /// # Errors
    ///
    /// Returns an error if two devices have the same id, or if the TLS identity cannot be used, for
    /// example because the key does not fit the certificate.
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
            queue_limit: options.queue_limit,
            request_limit: options.request_limit,
        };
        // A controller has one stream per device, so every connection may need that many calls on
        // top of the limit.
        let streams = u32::try_from(service.devices.0.len()).unwrap_or(u32::MAX);
        let calls = options.limits.calls.saturating_add(streams);
        let options = ServerOptions { limits: Limits { calls, ..options.limits }, ..options };
        Ok(Self { service, server: grpc::server::Server::new(options)? })
    }

    /// Serves the listener until `shutdown` completes. Then ends all streams with UNAVAILABLE and
    /// waits for the clients to disconnect, at most for the grace period in the options.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let devices = Arc::clone(&self.service.devices);
        let by_target = move |target: &str| devices.target(target);
        let devices = Arc::clone(&self.service.devices);
        let by_id = move |id| devices.find(id);
        let routes = Routes {
            p4runtime: self.service,
            gnmi: GnmiServer::new(Arc::new(by_target), clock::timestamp),
            control: ControlServer::new(Arc::new(by_id), clock::timestamp),
        };
        self.server.serve(listener, routes, shutdown).await;
    }
}
