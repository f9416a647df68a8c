//! Controllers over OpenFlow 1.0 and 1.3. The version is negotiated with each switch.
//!
//! ```no_run
//! use controllers::openflow::{Controller, Options};
//! use std::sync::atomic::AtomicBool;
//!
//! let controller = Controller::bind(([127, 0, 0, 1], 6653).into(), Options::default())?;
//! println!("listening on {}", controller.local_addr());
//! controller.run(&AtomicBool::new(false))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The module `session` contains the protocol state of one switch: it receives bytes and the time,
//! and returns the bytes to send. One thread accepts connections and distributes them in turn to
//! the other threads. Each of these serves its connections in one loop over epoll.

mod connection;
mod listener;
mod messages;
mod network;
mod null;
mod service;
mod session;
mod switch_connection;
mod worker;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use ::openflow::Version;

use crate::application::paths::{Network, SwitchId};
use crate::application::{Application, Rule};
use crate::model::ServiceQueue;
use crate::northbound::{Northbound, Paths};
use crate::{Counters, Journal};
pub use grpc::tls::{ServerTls, TlsError};
pub use network::Part;
use session::Policy;
pub use switch_connection::{SwitchConnection, SwitchConnectionError};
use worker::{Delivery, Slot, Worker};

/// The interval at which threads of a controller check whether they must stop.
const LOOK: Duration = Duration::from_millis(100);
/// The pause after a connection could not be accepted, usually because no file descriptor was free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The options of a controller.
#[derive(Clone, Debug)]
pub struct Options {
    /// The application, which determines how the controller handles packet-ins.
    pub application: Application,
    /// The OpenFlow versions to offer. If the list is empty, both are offered.
    pub versions: Vec<Version>,
    /// The number of threads that serve switches, which is at least one.
    pub threads: usize,
    /// The time in whole seconds after which switches remove a rule that no packet matches, or 0
    /// for never.
    pub idle_timeout: u16,
    /// The number of bytes of a buffered packet that switches send in a packet-in, or 0xffff for
    /// the whole packet.
    pub miss_send_len: u16,
    /// Whether the null responder answers every packet-in with the same prepared bytes: a
    /// packet-out with one output action, without a packet and a buffer. It is then fast enough to
    /// measure the highest rate at which a benchmark can send.
    pub prepared: bool,
    /// The time without a message after which the controller sends an echo request to a switch. If
    /// the switch sends nothing for another period of this length, the controller closes the
    /// connection.
    pub keepalive: Duration,
    /// The queue of a modelled controller in which packet-ins wait to be answered, or `None` for a
    /// controller that answers as fast as it can. Only the forwarding applications use the queue.
    pub queue: Option<ServiceQueue>,
    /// The certificates for TLS and mutual TLS, or `None` for plain TCP.
    pub tls: Option<ServerTls>,
    /// The role of this controller if the switches are connected to several controllers. Only path
    /// provisioning uses it.
    pub part: Part,
    /// The log of switches that connect, disconnect and misbehave.
    pub journal: Journal,
}

impl Default for Options {
    /// Returns options for a learning switch on one thread, with idle timeouts of 10 s. Packet-ins
    /// contain 128 bytes of a buffered packet, the specification's default.
    fn default() -> Self {
        Self {
            application: Application::default(),
            versions: Vec::new(),
            threads: 1,
            idle_timeout: 10,
            miss_send_len: 128,
            prepared: false,
            keepalive: Duration::from_secs(15),
            queue: None,
            tls: None,
            part: Part::Alone,
            journal: Journal::default(),
        }
    }
}

/// The reason why a controller could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The system refuses to listen on the address.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address on which the system refuses to listen.
        address: SocketAddr,
        /// The error of the system.
        cause: io::Error,
    },
    /// Certificates or keys cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A controller to which switches can connect.
#[derive(Debug)]
pub struct Controller {
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
    northbound: Option<Northbound>,
}

/// The state that all threads share.
#[derive(Debug)]
struct Shared {
    policy: Policy,
    /// The network, if the application is path provisioning. In this case, one thread serves all
    /// switches.
    network: Option<Arc<Mutex<Network>>>,
    /// Whether a standby controller must take over from the active controller.
    takeover: Arc<AtomicBool>,
    threads: usize,
    tls: Option<Arc<rustls::ServerConfig>>,
    counters: Arc<Counters>,
    journal: Journal,
    started: Instant,
}

/// Gives the northbound (REST) interface access to the network, and to the worker thread that sends
/// the resulting commands to switches.
struct NorthboundPaths {
    network: Arc<Mutex<Network>>,
    worker: Slot,
}

impl NorthboundPaths {
    fn lock(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Paths for NorthboundPaths {
    fn look(&self, look: &mut dyn FnMut(&Network)) {
        look(&self.lock());
    }

    fn install(&self, switch: SwitchId, rule: Rule) -> bool {
        let mut network = self.lock();
        let Some(commands) = network.install(switch, rule) else { return false };
        // The lock is held during the sending, so that rules of a flow are written in the order of
        // the decisions.
        self.worker.send(Delivery::Commands(commands));
        true
    }
}

impl Controller {
    /// Listens on `address`. With port 0, the system chooses a port. Switches can connect from now
    /// on, and are served once [`Controller::run`] is called.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses to listen on the address or if the certificates
    /// cannot be used.
    pub fn bind(address: SocketAddr, options: Options) -> Result<Self, BindError> {
        let tls = options.tls.as_ref().map(ServerTls::config).transpose()?.map(Arc::new);
        let listen = |cause| BindError::Listen { address, cause };
        let listener = listener::listen(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let is_paths = options.application == Application::Paths;
        let shared = Shared {
            network: is_paths.then(Arc::default),
            takeover: Arc::default(),
            threads: if is_paths { 1 } else { options.threads.max(1) },
            tls,
            counters: Arc::default(),
            journal: options.journal.clone(),
            started: Instant::now(),
            policy: Policy::new(&options),
        };
        Ok(Self { listener, address, shared, northbound: None })
    }

    /// Returns the address to which switches connect.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Offers the northbound interface of path provisioning over HTTP while the controller runs:
    /// queries of the topology and of the rules of a switch, and the installation of a rule, as in
    /// Ryu's `rest_topology` and `ofctl_rest`. With port 0 the system chooses a port. With other
    /// applications, no request is answered.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses to listen on the address.
    pub fn offer_northbound(&mut self, address: SocketAddr) -> io::Result<SocketAddr> {
        let northbound = Northbound::bind(address)?;
        Ok(self.northbound.insert(northbound).address())
    }

    /// Returns the counters of the controller, which can be read while it runs.
    pub fn counters(&self) -> Arc<Counters> {
        self.shared.counters.clone()
    }

    /// Returns the network, or `None` if the application keeps no topology.
    pub fn network(&self) -> Option<Arc<Mutex<Network>>> {
        self.shared.network.clone()
    }

    /// Returns the flag that makes a standby controller take over. After the flag is set, the
    /// controller takes over within some milliseconds.
    pub fn takeover(&self) -> Arc<AtomicBool> {
        self.shared.takeover.clone()
    }

    /// Serves switches until `stop` is true. It then closes the connections and returns within a
    /// fraction of a second.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a thread or a poller. Faults of switches are not
    /// reported as errors.
    pub fn run(&self, stop: &AtomicBool) -> io::Result<()> {
        let shared = &self.shared;
        let ended = &AtomicBool::new(false);
        let (workers, slots): (Vec<_>, Vec<_>) = (0..shared.threads)
            .map(|_| Worker::new(shared))
            .collect::<io::Result<Vec<_>>>()?
            .into_iter()
            .unzip();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            let mut outcome = Ok(());
            for (number, worker) in workers.into_iter().enumerate() {
                let run = move || worker.run(|| ended.load(Ordering::Relaxed));
                let name = format!("switches-{number}");
                match std::thread::Builder::new().name(name).spawn_scoped(scope, run) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => outcome = Err(error),
                }
            }
            if let (Some(northbound), Some(network), Some(worker)) =
                (&self.northbound, &shared.network, slots.first())
            {
                let paths =
                    Arc::new(NorthboundPaths { network: network.clone(), worker: worker.clone() });
                let serve = move || northbound.serve(paths, || ended.load(Ordering::Relaxed));
                threads.push(scope.spawn(serve));
            }
            let mut turn = slots.iter().cycle();
            while outcome.is_ok()
                && !stop.load(Ordering::Relaxed)
                && !threads.iter().any(|thread| thread.is_finished())
            {
                outcome = self.accept(|socket| {
                    if let Some(slot) = turn.next() {
                        slot.send(Delivery::Switch(socket));
                    }
                });
            }
            ended.store(true, Ordering::Relaxed);
            for thread in threads {
                let ended = thread.join();
                outcome =
                    outcome.and(ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            outcome
        })
    }

    /// Waits a short time for connections, and passes those that arrive to `hand_over`.
    fn accept(&self, mut hand_over: impl FnMut(std::net::TcpStream)) -> io::Result<()> {
        if !listener::wait(&self.listener, LOOK)? {
            return Ok(());
        }
        loop {
            match self.listener.accept() {
                Ok((socket, _)) => hand_over(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    // The peer disconnected, or the system lacks a resource. In either case, the
                    // connected switches are still served.
                    self.shared.journal.note(format_args!("cannot accept a connection: {error}"));
                    self.shared.counters.failed();
                    std::thread::sleep(ACCEPT_PAUSE);
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
