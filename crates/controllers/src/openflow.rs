//! Controllers over OpenFlow 1.0 and 1.3, the version negotiated with each switch.
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
//! What is said to a switch is in `session`, which takes bytes and time and gives bytes back.
//! Around it, one thread accepts connections and hands them out in turn, and each of the others
//! serves its share with one loop over epoll.

mod connection;
mod listener;
mod messages;
mod network;
mod null;
mod session;
mod worker;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use ::openflow::Version;

use crate::application::paths::{Network, SwitchId};
use crate::application::{Application, Rule};
use crate::northbound::{Northbound, Paths};
use crate::{Counters, Journal};
pub use grpc::tls::{ServerTls, TlsError};
pub use network::Part;
use session::Policy;
use worker::{Delivery, Slot, Worker};

/// How often threads look whether they are to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Pause after a connection could not be accepted, mostly because descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How a controller behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it does with packet-ins.
    pub application: Application,
    /// Versions that it offers; both if empty.
    pub versions: Vec<Version>,
    /// Threads that serve switches; at least one.
    pub threads: usize,
    /// Whole seconds without a packet after which switches forget a rule; 0 for never.
    pub idle_timeout: u16,
    /// Bytes of a packet that switches with buffers send along; 0xffff for all.
    pub miss_send_len: u16,
    /// The null responder answers with the same bytes always: a header and one output action, no
    /// packet, no buffer. For calibrating floods.
    pub prepared: bool,
    /// A switch that is silent for this long is asked whether it is there, and given up when it
    /// stays silent for as long again.
    pub keepalive: Duration,
    /// TLS and mutual TLS; none for plain TCP.
    pub tls: Option<ServerTls>,
    /// Its part among several controllers; path provisioning alone minds it.
    pub part: Part,
    /// Hears of switches that come, go and misbehave.
    pub journal: Journal,
}

impl Default for Options {
    /// A learning switch on one thread, with idle timeouts of 10 s and the specification's 128
    /// bytes of buffered packets.
    fn default() -> Self {
        Self {
            application: Application::default(),
            versions: Vec::new(),
            threads: 1,
            idle_timeout: 10,
            miss_send_len: 128,
            prepared: false,
            keepalive: Duration::from_secs(15),
            tls: None,
            part: Part::Alone,
            journal: Journal::default(),
        }
    }
}

/// Why a controller could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        cause: io::Error,
    },
    /// Certificates or keys cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A controller that switches can connect to.
#[derive(Debug)]
pub struct Controller {
    listener: TcpListener,
    address: SocketAddr,
    shared: Shared,
    northbound: Option<Northbound>,
}

/// What all threads use.
#[derive(Debug)]
struct Shared {
    policy: Policy,
    /// The network, where one application decides over all switches; there is one thread then.
    network: Option<Arc<Mutex<Network>>>,
    /// Set when a controller that stands by is to take over.
    takeover: Arc<AtomicBool>,
    threads: usize,
    tls: Option<Arc<rustls::ServerConfig>>,
    counters: Arc<Counters>,
    journal: Journal,
    started: Instant,
}

/// The network and who carries out what is decided about it.
struct Told {
    network: Arc<Mutex<Network>>,
    worker: Slot,
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Paths for Told {
    fn look(&self, look: &mut dyn FnMut(&Network)) {
        look(&self.lock());
    }

    fn install(&self, switch: SwitchId, rule: Rule) -> bool {
        let mut network = self.lock();
        let Some(commands) = network.install(switch, rule) else { return false };
        // With the lock held, so that rules of a flow are written in the order of the decisions.
        self.worker.send(Delivery::Commands(commands));
        true
    }
}

impl Controller {
    /// Listens on `address`; with port 0 the system chooses one. Switches can connect from now
    /// on, and are served once the controller runs.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on or the certificates cannot be used.
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

    /// The address that switches connect to.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Offers, while the controller runs, what path provisioning knows and lets itself be told, over HTTP on that address: the
    /// topology, the rules of a switch, and to install one, as Ryu's `rest_topology` and `ofctl_rest` have it. With port 0 the
    /// system chooses one. Other applications offer nothing.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on.
    pub fn offer_northbound(&mut self, address: SocketAddr) -> io::Result<SocketAddr> {
        let northbound = Northbound::bind(address)?;
        Ok(self.northbound.insert(northbound).address())
    }

    /// The figures, also while the controller runs.
    pub fn counters(&self) -> Arc<Counters> {
        self.shared.counters.clone()
    }

    /// What is known of the network, if the application keeps a topology.
    pub fn network(&self) -> Option<Arc<Mutex<Network>>> {
        self.shared.network.clone()
    }

    /// Set to have a controller that stands by take over; it does within some milliseconds.
    pub fn takeover(&self) -> Arc<AtomicBool> {
        self.shared.takeover.clone()
    }

    /// Serves switches until `stop` is true, and returns within a fraction of a second then. The
    /// connections are closed.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread or a poller. Nothing that a switch does is an error here.
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
                let told = Arc::new(Told { network: network.clone(), worker: worker.clone() });
                let serve = move || northbound.serve(told, || ended.load(Ordering::Relaxed));
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

    /// Waits for connections, but not for long, and hands over those that are there.
    fn accept(&self, mut hand_over: impl FnMut(std::net::TcpStream)) -> io::Result<()> {
        if !listener::wait(&self.listener, LOOK)? {
            return Ok(());
        }
        loop {
            match self.listener.accept() {
                Ok((socket, _)) => hand_over(socket),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    // The peer went away again, or the system is short of something; either way
                    // the switches that are there go on.
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
