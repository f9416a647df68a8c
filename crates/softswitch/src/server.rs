//! The thread of the control plane, which serves gRPC and fetches digests.

use crate::device::Shared;
use crate::log::{Log, Verbosity};
use crate::metrics;
use crate::ports::Ports;
use crate::switch::DeviceState;
use crate::thrift;
use p4runtime::server::{DeviceHandle, Server};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;

/// The interval between fetches of digests. Digests that packets send within one interval are
/// fetched together.
const DIGEST_SPACING: Duration = Duration::from_micros(500);

/// The interval between checks for packet captures that have ended early.
const RECORDING_SPACING: Duration = Duration::from_secs(1);

/// The number of times that connections with data are served before sockets are polled again. A
/// client whose socket becomes readable waits at most that long while others send without
/// interruption.
const TURNS_BETWEEN_POLLS: u32 = 8;

/// The part of a device that the control plane's thread uses.
pub(crate) struct Served {
    pub(crate) shared: Arc<Shared>,
    pub(crate) handle: DeviceHandle,
    pub(crate) plane: pipeline::Ports,
    pub(crate) ports: Arc<Ports>,
}

/// A function that returns the current state of all devices.
pub(crate) type Look = Arc<dyn Fn() -> Vec<DeviceState> + Send + Sync>;

/// The port on which Thrift clients are referred to P4Runtime, and the address of P4Runtime that
/// they are given.
pub(crate) struct ThriftPort {
    pub(crate) listener: TcpListener,
    pub(crate) grpc: SocketAddr,
    pub(crate) log: Arc<Log>,
}

/// The running thread of the control plane. [`ServerThread::end`] stops it.
#[derive(Debug)]
pub(crate) struct ServerThread {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    pub(crate) fn start(
        listener: TcpListener,
        server: Server,
        served: Vec<Served>,
        metrics: Option<(TcpListener, Look)>,
        thrift: Option<ThriftPort>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(TURNS_BETWEEN_POLLS)
            .build()?;
        let listener = registered(&runtime, listener)?;
        let metrics = metrics
            .map(|(listener, look)| Ok::<_, io::Error>((registered(&runtime, listener)?, look)))
            .transpose()?;
        let thrift = thrift
            .map(|ThriftPort { listener, grpc, log }| {
                Ok::<_, io::Error>(thrift::serve(registered(&runtime, listener)?, grpc, log))
            })
            .transpose()?;
        let (end, ended) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("p4runtime".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let watched = |device: &Served| {
                    let (shared, ports) = (Arc::clone(&device.shared), Arc::clone(&device.ports));
                    tokio::spawn(watch_recordings(shared, ports))
                };
                let mut beside: Vec<_> = served.iter().map(watched).collect();
                beside.extend(served.into_iter().map(|device| tokio::spawn(fetch_digests(device))));
                beside.extend(
                    metrics.map(|(listener, look)| tokio::spawn(metrics::serve(listener, look))),
                );
                beside.extend(thrift.map(tokio::spawn));
                server
                    .serve(listener, async {
                        // Dropping the sender also ends the server.
                        let _ = ended.await;
                    })
                    .await;
                beside.iter().for_each(tokio::task::JoinHandle::abort);
            })
        })?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }

    /// Closes all controllers' streams and stops the thread.
    pub(crate) fn end(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // An error of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}

fn registered(
    runtime: &tokio::runtime::Runtime,
    listener: TcpListener,
) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    let _entered = runtime.enter();
    tokio::net::TcpListener::from_std(listener)
}

/// Fetches the digests that programs have sent, and passes them to the state machine of the
/// P4Runtime session. The session bundles them into digest lists as the controller has configured.
async fn fetch_digests(Served { shared, handle, plane, .. }: Served) {
    loop {
        shared.digests_wait.notified().await;
        let digests = plane.take_digests();
        shared.tallies.digests.add(digests.len());
        for (id, data) in digests {
            handle.digest(id, data);
        }
        tokio::time::sleep(DIGEST_SPACING).await;
    }
}

/// Logs packet captures that ended early, for example because the disk was full.
async fn watch_recordings(shared: Arc<Shared>, ports: Arc<Ports>) {
    loop {
        for (number, name, fault) in ports.ended_recordings() {
            let id = shared.id;
            let message = format_args!(
                "device {id}: port {number}: a capture of {name} has ended: {fault}; the port continues, and packets \
                 that pass it from now on are not recorded"
            );
            shared.log.line(Verbosity::Error, message);
        }
        tokio::time::sleep(RECORDING_SPACING).await;
    }
}
