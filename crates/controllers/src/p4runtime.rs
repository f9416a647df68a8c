//! Controllers over P4Runtime, which connect to their switches.
//!
//! ```no_run
//! use controllers::p4runtime::{Controller, Options, Target};
//! use std::sync::atomic::AtomicBool;
//!
//! let switches = Target::range("127.0.0.1", 50001, 1, 100)?;
//! Controller::new(switches, Options::default())?.run(&AtomicBool::new(false))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There is a task for each switch. It tries to connect until the switch is reached, becomes
//! primary, makes sure that the switch runs the controller's pipeline, installs the application's
//! initial entries, and then answers packet-ins. When the session ends, the task starts over. The
//! module `switch` contains this life cycle. The other modules contain the connections
//! (`connections`), the applications (`serving`), the network of path provisioning (`network`), the
//! state of the written rules (`rules`), and the P4Runtime form of rules (`entities`).

mod connections;
mod depth;
mod entities;
mod fleet;
mod gather;
mod network;
mod rules;
mod service;
mod serving;
mod switch;
mod target;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime;
use tokio::sync::Semaphore;

use crate::application::paths::{self, SwitchId};
use crate::application::{Application, Rule};
use crate::model::ServiceQueue;
use crate::northbound::{Northbound, Paths};
use crate::pipeline::{Pipeline, PipelineError};
use crate::{Counters, Journal};
pub use ::p4runtime::arbitration::ElectionId;
pub use ::p4runtime::client::{ClientOptions, ClientTls};
use connections::Connector;
pub use depth::{AnswerAfter, Description};
pub(crate) use fleet::{Fleet, Served};
use network::Network;
pub use service::ServiceTime;
use service::Station;
pub use target::{Target, TargetError};

/// The interval at which threads of a controller check whether they must stop.
const LOOK: Duration = Duration::from_millis(50);

/// The options of a controller.
#[derive(Clone, Debug)]
pub struct Options {
    /// The application, which determines how the controller handles packet-ins.
    pub application: Application,
    /// The block of the controller after which packet-ins are answered: gRPC, decoding or the
    /// application. A benchmark uses the earlier blocks to find the slowest one.
    pub answer_after: AnswerAfter,
    /// Whether the description of the pipeline (P4Info), by which packet-ins are decoded, is parsed
    /// once or again for every packet-in.
    pub description: Description,
    /// The queue of a modelled controller in which packet-ins wait to be answered, or `None` for a
    /// controller that answers as fast as it can. Path provisioning ignores it.
    pub queue: Option<ServiceQueue>,
    /// The number of threads that serve switches, which is at least one and at most one per switch.
    pub threads: usize,
    /// The time without a matching packet after which a rule is removed, or zero for rules that
    /// stay.
    pub idle_timeout: Duration,
    /// The election ID of this controller. A switch makes the controller with the highest election
    /// ID its primary.
    pub election_id: ElectionId,
    /// Whether the controller is a standby. A standby remains a backup at each switch as long as
    /// the switch has a primary controller. It then becomes primary, with an election ID one above
    /// the highest that the switch has seen.
    pub stands_by: bool,
    /// The number of ports to which flooded packets are sent. They are numbered from 1.
    pub flood_ports: u16,
    /// The time for which a thread waits before it looks for messages, so that it can answer
    /// several at once, or zero not to wait.
    pub gather: Duration,
    /// The compiled form of the program `programs/l2.p4`, for switches that cannot compile P4
    /// themselves. If `None`, switches receive the source, [`crate::pipeline::DEVICE_CONFIG`].
    pub device_config: Option<Bytes>,
    /// The maximum number of switches to which the controller connects at the same time.
    pub parallel_dials: usize,
    /// The longest pause between two attempts to connect to a switch.
    pub retry: Duration,
    /// The pause before the controller connects again to a switch whose session has ended.
    pub redial: Duration,
    /// The maximum time that a switch may take to answer an arbitration request.
    pub patience: Duration,
    /// The TLS settings, timeouts and limits of the connections.
    pub client: ClientOptions,
    /// The log of switches that connect, disconnect and misbehave.
    pub journal: Journal,
}

impl Default for Options {
    /// Returns options for a learning switch with election ID 1 on one thread and 48 ports, idle
    /// timeouts of 10 s, and connections to at most 64 switches at a time.
    fn default() -> Self {
        Self {
            application: Application::default(),
            answer_after: AnswerAfter::default(),
            description: Description::default(),
            queue: None,
            threads: 1,
            idle_timeout: Duration::from_secs(10),
            gather: Duration::ZERO,
            election_id: ElectionId(1),
            stands_by: false,
            flood_ports: 48,
            device_config: None,
            parallel_dials: 64,
            retry: Duration::from_secs(2),
            redial: Duration::from_millis(100),
            patience: Duration::from_secs(10),
            client: ClientOptions::default(),
            journal: Journal::default(),
        }
    }
}

/// A controller of a list of P4Runtime switches.
#[derive(Debug)]
pub struct Controller {
    targets: Vec<Target>,
    shared: Arc<Shared>,
    northbound: Option<Northbound>,
}

/// The state that the tasks of all switches share.
#[derive(Debug)]
struct Shared {
    options: Options,
    pipeline: Pipeline,
    dials: Semaphore,
    counters: Arc<Counters>,
    station: Arc<Station>,
    /// The network of all switches. Only path provisioning uses it.
    network: Network,
}

impl Shared {
    /// Returns the pipeline by whose P4Info the next packet-in is decoded. The P4Info is parsed
    /// again if the options ask for that.
    fn description(&self) -> Cow<'_, Pipeline> {
        match self.options.description {
            Description::ReadOnce => Cow::Borrowed(&self.pipeline),
            // The same bytes were parsed before, so that parsing succeeds again.
            Description::ReadPerPacket => Pipeline::new(self.options.device_config.clone())
                .map_or(Cow::Borrowed(&self.pipeline), Cow::Owned),
        }
    }
}

impl Paths for Shared {
    fn look(&self, look: &mut dyn FnMut(&paths::Network)) {
        self.network.look(look);
    }

    fn install(&self, switch: SwitchId, rule: Rule) -> bool {
        self.network.install(switch, rule)
    }
}

impl Controller {
    /// Creates a controller of the switches in `targets`. It begins to connect to them when
    /// [`Controller::run`] is called.
    ///
    /// # Errors
    ///
    /// Returns an error if the built-in pipeline is defective.
    pub fn new(targets: Vec<Target>, options: Options) -> Result<Self, PipelineError> {
        let shared = Shared {
            pipeline: Pipeline::new(options.device_config.clone())?,
            dials: Semaphore::new(options.parallel_dials.clamp(1, Semaphore::MAX_PERMITS)),
            counters: Arc::default(),
            station: Arc::new(Station::new(options.queue.clone())),
            network: Network::default(),
            options,
        };
        Ok(Self { targets, shared: Arc::new(shared), northbound: None })
    }

    /// Offers the northbound interface of path provisioning over HTTP while the controller runs:
    /// queries of the topology and of the rules of a switch, and the installation of a rule, as in
    /// Ryu's `rest_topology` and `ofctl_rest`. With port 0, the system chooses a port.
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

    /// Serves the switches until `stop` is true, and then returns within a fraction of a second.
    ///
    /// # Errors
    ///
    /// Returns an error if the system refuses a thread or a runtime. Faults of switches are not
    /// reported as errors.
    pub fn run(&self, stop: &AtomicBool) -> io::Result<()> {
        let threads = self.shared.options.threads.clamp(1, self.targets.len().max(1));
        let failed = &AtomicBool::new(false);
        let ended = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            let mut started = Vec::new();
            let mut outcome = Ok(());
            if let Some(northbound) = &self.northbound {
                let run = move || {
                    let outcome = northbound.serve(self.shared.clone(), ended);
                    failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    outcome
                };
                started.push(scope.spawn(run));
            }
            for thread in 0..threads {
                let name = format!("controller-{thread}");
                let run = move || {
                    let outcome = self.serve(thread, threads, ended);
                    failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                    outcome
                };
                match std::thread::Builder::new().name(name).spawn_scoped(scope, run) {
                    Ok(thread) => started.push(thread),
                    Err(error) => {
                        failed.store(true, Ordering::Relaxed);
                        outcome = Err(error);
                    }
                }
            }
            for thread in started {
                let ended = thread.join();
                outcome =
                    outcome.and(ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            outcome
        })
    }

    /// Serves those switches of the list that belong to the thread with index `thread`, until
    /// `ended` returns true. They are every `threads`-th switch.
    fn serve(&self, thread: usize, threads: usize, ended: impl Fn() -> bool) -> io::Result<()> {
        // Each thread has its own runtime, so that no task moves to another thread.
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(gather::pause(self.shared.options.gather))
            .build()?;
        runtime.block_on(async {
            let targets = self.targets.iter().skip(thread).step_by(threads);
            for connector in Connector::of(targets.cloned()) {
                tokio::spawn(switch::keep(connector, self.shared.clone(), Arc::default()));
            }
            while !ended() {
                tokio::time::sleep(LOOK).await;
            }
        });
        // Dropping the runtime drops the tasks, which closes their connections.
        Ok(())
    }
}
