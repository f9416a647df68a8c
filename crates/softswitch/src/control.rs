//! The queues of a device's ports, as clients read and set them, and the packets that they inject.
//!
//! A change of queues is checked, recorded in the state file and handed to the worker while the
//! known configuration is locked. Changes are therefore in the same order in the file and on the
//! worker, and a change that cannot be recorded has no effect.

use crate::device::Shared;
use crate::injected::{Injected, InjectedPacket, Wanted};
use crate::log::Verbosity;
use crate::mailbox::Order;
use crate::ports::Ports;
use crate::queue_state::QueueState;
use crate::state_log::QueueLog;
use p4runtime::control::{
    About, DeviceQueues, Injection, Lateness, Pending, PortState, QueueChange, QueuesSet,
    SwitchSource,
};
use p4runtime::proto::switch::{
    InjectOutcome, InjectedPacket as Received, Tracing, injected_packet::Ingress,
};
use p4runtime::status::{Code, EntityError};
use pipeline::Detail;
use queues::Configuration;
use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

/// The largest number of injected packets, of all clients together, that wait or run. Clients hold
/// back further packets.
const MAX_INJECTED: u32 = 4096;
/// The largest number of packets in a request whose packets are traced.
const MAX_TRACED: u32 = 256;
/// The largest number of packets in a request whose traces have all outcomes.
const MAX_ENUMERATED: u32 = 16;
/// The largest number of outcomes in a trace.
const MAX_OUTCOMES: u64 = 1 << 16;

/// The control of a device's queues by clients, and of the packets that they inject.
#[derive(Debug)]
pub(crate) struct Control {
    shared: Arc<Shared>,
    ports: Arc<Ports>,
    /// The number of workers of the switch, which clients can read.
    workers: usize,
    known: Mutex<Known>,
    /// The state file, if the device has one.
    log: Option<QueueLog>,
    /// The permits for injected packets, of which each packet holds one until it has run. `None` if
    /// the device accepts no injected packets.
    room: Option<Arc<Semaphore>>,
}

#[derive(Debug)]
struct Known {
    configuration: Configuration,
    revision: u64,
}

/// A change of queues that was checked, and that the worker is applying.
struct Begun {
    /// Receives the number of packets that the worker drops because of the change. `None` if the
    /// change changes nothing.
    dropped: Option<oneshot::Receiver<u64>>,
    revision: u64,
}

impl Control {
    pub(crate) fn new(
        shared: Arc<Shared>,
        ports: Arc<Ports>,
        workers: usize,
        configuration: Configuration,
        log: Option<QueueLog>,
    ) -> Self {
        let known = Mutex::new(Known { configuration, revision: 0 });
        Self { shared, ports, workers, known, log, room: None }
    }

    /// Lets clients inject packets.
    pub(crate) fn with_injections(self) -> Self {
        Self { room: Some(Arc::new(Semaphore::new(MAX_INJECTED as usize))), ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks a change of queues, and returns the configuration that it leads to.
    fn checked(&self, known: &Known, change: &QueueChange) -> Result<Configuration, EntityError> {
        if change.expected_revision.is_some_and(|expected| expected != known.revision) {
            let message = format!(
                "The queues have revision {}, since they were changed meanwhile; read them again.",
                known.revision
            );
            return Err(EntityError::new(Code::Aborted, message));
        }
        let mut configuration = known.configuration.clone();
        for (port, queues) in &change.ports {
            match queues {
                Some(queues) if self.ports.has(*port) => {
                    configuration.0.insert(*port, queues.clone());
                }
                Some(_) => {
                    return Err(self.no_port(*port));
                }
                None => {
                    configuration.0.remove(port);
                }
            }
        }
        Ok(configuration)
    }

    /// Returns the error for a port that the device does not have.
    fn no_port(&self, port: u32) -> EntityError {
        let (id, names) = (self.shared.id, self.ports.names());
        let numbers: Vec<String> = names.keys().map(u32::to_string).collect();
        EntityError::not_found(match numbers.as_slice() {
            [] => format!(
                "Device {id} has no port {port}, and no others; start the switch with -i NUMBER@INTERFACE for each."
            ),
            [only] => format!("Device {id} has no port {port}; there is {only}."),
            [..] => format!("Device {id} has no port {port}; there are {}.", numbers.join(", ")),
        })
    }

    /// Checks, records and begins a change.
    fn begin(&self, change: &QueueChange) -> Result<Begun, EntityError> {
        let mut known = self.lock();
        let configuration = self.checked(&known, change)?;
        if change.validate_only || configuration == known.configuration {
            return Ok(Begun { dropped: None, revision: known.revision });
        }
        if let Some(log) = &self.log {
            log.append(&configuration)?;
        }
        known.configuration = configuration.clone();
        known.revision += 1;
        let (answer, dropped) = oneshot::channel();
        let device = self.shared.index;
        self.shared.mailbox.order(Order::SetQueues { device, configuration, answer });
        let ports: Vec<String> = change.ports.keys().map(u32::to_string).collect();
        let id = self.shared.id;
        let message =
            format_args!("device {id}: a client set the queues of port {}", ports.join(", "));
        self.shared.log.line(Verbosity::Info, message);
        Ok(Begun { dropped: Some(dropped), revision: known.revision })
    }

    /// Converts the packets of a request: looks up the number of each packet's port.
    fn packets(&self, packets: Vec<Received>) -> Vec<InjectedPacket> {
        let names = self.ports.names();
        let numbers: BTreeMap<&str, u32> =
            names.iter().map(|(number, name)| (name.as_str(), *number)).collect();
        let port = |ingress: Option<Ingress>| match ingress {
            Some(Ingress::Port(number)) => Ok(number),
            Some(Ingress::PortName(name)) => numbers.get(name.as_str()).copied().ok_or_else(|| {
                EntityError::not_found(format!("There is no port called {name:?}."))
            }),
            None => Err(EntityError::invalid("The packet has no port; set port or port_name.")),
        };
        let packet = |Received { tag, payload, ingress }| InjectedPacket {
            tag,
            port: port(ingress),
            payload,
        };
        packets.into_iter().map(packet).collect()
    }
}

impl SwitchSource for Control {
    fn queues(&self) -> Pending<DeviceQueues> {
        let (answer, state) = oneshot::channel();
        let device = self.shared.index;
        let queues = {
            // The worker reads the queues after all changes that are known here, and before others.
            let known = self.lock();
            self.shared.mailbox.order(Order::ReadQueues { device, answer });
            DeviceQueues {
                configuration: known.configuration.clone(),
                states: BTreeMap::new(),
                revision: known.revision,
            }
        };
        Box::pin(async move {
            let state = state.await.map_err(|_| has_ended())?;
            Ok(DeviceQueues { states: states(&state), ..queues })
        })
    }

    fn published_queues(&self) -> DeviceQueues {
        let states = states(&self.shared.queues());
        let known = self.lock();
        DeviceQueues {
            configuration: known.configuration.clone(),
            states,
            revision: known.revision,
        }
    }

    fn about(&self) -> About {
        let now = p4runtime::server::now();
        About {
            version: concat!("planimeter switch ", env!("CARGO_PKG_VERSION")).to_owned(),
            elapsed: Duration::from_nanos(now.0.saturating_sub(self.shared.started.0)),
            cpu_port: self.shared.cpu_port,
            workers: u32::try_from(self.workers).unwrap_or(u32::MAX),
        }
    }

    fn set_queues(&self, change: QueueChange) -> Pending<QueuesSet> {
        let (dropped, revision) = match self.begin(&change) {
            Ok(Begun { dropped: Some(dropped), revision }) => (dropped, revision),
            Ok(Begun { dropped: None, revision }) => {
                return Box::pin(ready(Ok(QueuesSet { dropped: 0, revision })));
            }
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let durable = self.log.as_ref().and_then(QueueLog::durable);
        Box::pin(async move {
            let dropped = dropped.await.map_err(|_| has_ended())?;
            if let Some(durable) = durable {
                durable.await?;
            }
            Ok(QueuesSet { dropped, revision })
        })
    }

    fn inject(&self, injection: Injection) -> Pending<Vec<InjectOutcome>> {
        let refused = |code, message: String| -> Pending<_> {
            Box::pin(ready(Err(EntityError::new(code, message))))
        };
        let Some(room) = &self.room else {
            let message = "The switch takes no injected packets; start it with --inject.";
            return refused(Code::FailedPrecondition, message.to_owned());
        };
        if self.shared.running().is_none() {
            let message = format!("Device {} runs no pipeline yet.", self.shared.id);
            return refused(Code::FailedPrecondition, message);
        }
        let count = u32::try_from(injection.packets.len()).unwrap_or(u32::MAX);
        if count > MAX_INJECTED {
            let message = format!("A request has at most {MAX_INJECTED} packets, not {count}.");
            return refused(Code::ResourceExhausted, message);
        }
        let traced = match injection.tracing.map(|tracing| contents(&tracing, count)).transpose() {
            Ok(traced) => traced,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let wanted = Wanted { treatment: injection.treatment, traced };
        let packets = self.packets(injection.packets);
        let (room, shared) = (Arc::clone(room), Arc::clone(&self.shared));
        Box::pin(async move {
            let room = room.acquire_many_owned(count).await.map_err(|_| has_ended())?;
            let (answer, outcomes) = oneshot::channel();
            let injection = Injected::new(packets, wanted, answer, room);
            shared.mailbox.order(Order::Inject { device: shared.index, injection });
            outcomes.await.map_err(|_| has_ended())
        })
    }
}

/// Returns what the traces of a request with `count` packets must contain.
fn contents(tracing: &Tracing, count: u32) -> Result<traces::Contents, EntityError> {
    let most = if tracing.all_outcomes { MAX_ENUMERATED } else { MAX_TRACED };
    if count > most {
        return Err(EntityError::exhausted(format!(
            "A request with such traces has at most {most} packets, not {count}."
        )));
    }
    let limit = match tracing.outcomes_limit {
        0 => traces::DEFAULT_OUTCOMES,
        limit if limit <= MAX_OUTCOMES => limit,
        limit => {
            return Err(EntityError::invalid(format!(
                "A trace has at most {MAX_OUTCOMES} outcomes, not {limit}."
            )));
        }
    };
    Ok(traces::Contents {
        detail: if tracing.values { Detail::Values } else { Detail::Steps },
        outcomes: tracing.all_outcomes.then_some(limit),
    })
}

/// Returns the state of queues by port.
fn states(state: &QueueState) -> BTreeMap<u32, PortState> {
    let mut ports: BTreeMap<u32, PortState> = BTreeMap::new();
    for (port, _, counts) in &state.queues {
        ports.entry(*port).or_default().queues.push(*counts);
    }
    for (port, pace) in &state.paces {
        let lateness = Lateness { packets: pace.packets, total: pace.total, largest: pace.largest };
        ports.entry(*port).or_default().lateness = Some(lateness);
    }
    ports
}

fn has_ended() -> EntityError {
    EntityError::new(Code::Unavailable, "The switch ends.")
}
