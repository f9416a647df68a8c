//! Controllers over P4Runtime, which dial their switches.
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
//! For every switch a task dials until it is there, becomes primary, sees to it that the switch
//! runs our pipeline, installs what the application begins with, and then answers packet-ins; when
//! the session ends it begins again. See `switch` for that life, `connections` for the way there,
//! `serving` for what the applications do meanwhile, `network` for the one that decides over all switches,
//! `rules` for what is written, and `entities` for how.

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

/// How often threads look whether they are to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How a controller behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// What it does with packet-ins.
    pub application: Application,
    /// After which of its blocks it answers.
    pub answer_after: AnswerAfter,
    /// When it reads the description of the pipeline.
    pub description: Description,
    /// The time that it takes for each packet-in; path provisioning has none.
    pub service_time: ServiceTime,
    /// Threads that serve switches; at least one.
    pub threads: usize,
    /// How long no packet may match a rule before it is removed; zero for ever.
    pub idle_timeout: Duration,
    /// The number by which switches choose among controllers; the highest is primary.
    pub election_id: ElectionId,
    /// Whether it stands by: a backup of each switch that has a primary controller, until that is gone. Then it is the
    /// next, with the number after the highest that the switch has seen.
    pub stands_by: bool,
    /// Switches have ports 1 to this one, as far as flooding is concerned.
    pub flood_ports: u16,
    /// How long messages gather before a thread looks for them; zero to look at once.
    pub gather: Duration,
    /// What a compiler made of `programs/l2.p4` for switches that execute it and do not compile. Without it
    /// [`crate::pipeline::DEVICE_CONFIG`], the source.
    pub device_config: Option<Bytes>,
    /// Switches that are dialled and set up at the same time.
    pub parallel_dials: usize,
    /// The longest pause between attempts to reach a switch.
    pub retry: Duration,
    /// The pause before a switch is dialled again whose session ended.
    pub redial: Duration,
    /// How long a switch may take to answer the arbitration.
    pub patience: Duration,
    /// TLS, timeouts and limits of the connections.
    pub client: ClientOptions,
    /// Hears of switches that come, go and misbehave.
    pub journal: Journal,
}

impl Default for Options {
    /// A learning switch with election id 1 on one thread and 48 ports, idle timeouts of 10 s, and
    /// 64 switches dialled at a time.
    fn default() -> Self {
        Self {
            application: Application::default(),
            answer_after: AnswerAfter::default(),
            description: Description::default(),
            service_time: ServiceTime::default(),
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

/// A controller of a list of switches.
#[derive(Debug)]
pub struct Controller {
    targets: Vec<Target>,
    shared: Arc<Shared>,
    northbound: Option<Northbound>,
}

/// What the tasks of all switches use.
#[derive(Debug)]
struct Shared {
    options: Options,
    pipeline: Pipeline,
    dials: Semaphore,
    counters: Arc<Counters>,
    station: Arc<Station>,
    /// For the application that decides over all switches.
    network: Network,
}

impl Shared {
    /// The description of the pipeline by which one packet is decoded.
    fn description(&self) -> Cow<'_, Pipeline> {
        match self.options.description {
            Description::ReadOnce => Cow::Borrowed(&self.pipeline),
            // It was read from the same bytes before, so it can be read again.
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
    /// A controller of `targets`, which it begins to dial when it runs.
    ///
    /// # Errors
    ///
    /// When the built-in pipeline is defect.
    pub fn new(targets: Vec<Target>, options: Options) -> Result<Self, PipelineError> {
        let shared = Shared {
            pipeline: Pipeline::new(options.device_config.clone())?,
            dials: Semaphore::new(options.parallel_dials.clamp(1, Semaphore::MAX_PERMITS)),
            counters: Arc::default(),
            station: Arc::new(Station::new(options.service_time)),
            network: Network::default(),
            options,
        };
        Ok(Self { targets, shared: Arc::new(shared), northbound: None })
    }

    /// Offers, while the controller runs, what path provisioning knows and lets itself be told, over HTTP on that address: the
    /// topology, the rules of a switch, and to install one, as Ryu's `rest_topology` and `ofctl_rest` have it. With port 0 the
    /// system chooses one.
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

    /// Serves the switches until `stop` is true, and returns within a fraction of a second then.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread or a runtime. Nothing that a switch does is an error here.
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

    /// Serves every `threads`-th switch from the one numbered `thread` on.
    fn serve(&self, thread: usize, threads: usize, ended: impl Fn() -> bool) -> io::Result<()> {
        // A runtime of its own for every thread: no task is ever moved to another processor.
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
