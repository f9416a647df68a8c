//! The switch: it starts devices, workers and servers, and stops them.

use crate::control::Control;
use crate::device::{Activity, DeviceConfig, Observer, Shared};
use crate::limits::{LimitLog, SwitchLimits};
use crate::log::{Log, Verbosity};
use crate::mailbox::Mailbox;
use crate::ports::{PortState, Ports};
use crate::queue_state::QueueState;
use crate::restored::{self, Restored};
use crate::server::{Look, Served, ServerThread, ThriftPort};
use crate::state_log::StateLog;
use crate::worker::{Lane, PSA_PORT_CPU, Worker};
use entities::{PortNames, Translations};
use journal::OpenError;
use loader::{Isolation, Pushes, RehearsalError, Rehearsals, Settings};
use p4runtime::gnmi::PortSource;
use p4runtime::p4info::GivenNumbers;
use p4runtime::server::{DeviceHandle, ServeError, Server, ServerOptions, ServerTls};
use p4runtime::session::{Device, DeviceOptions, PipelineRegistry};
use p4runtime::status::EntityError;
use packetio::Port;
use pipeline::{PacketCounts, TableUsage, WORKER_STACK_BYTES};
use queues::Configuration;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time that a stopping switch waits for the calls of controllers to end.
const GRACE: Duration = Duration::from_millis(200);

/// The options of a switch.
#[derive(Debug)]
pub struct Options {
    /// The address at which P4Runtime is served.
    pub address: SocketAddr,
    /// The TLS identity. `None` serves plain gRPC.
    pub tls: Option<ServerTls>,
    /// The number of worker threads. At least one is started.
    pub workers: usize,
    /// The address at which Prometheus can fetch `/metrics`. `None` serves no metrics.
    pub metrics: Option<SocketAddr>,
    /// The address at which Thrift clients are referred to P4Runtime. `None` serves no Thrift
    /// clients.
    pub thrift: Option<SocketAddr>,
    /// The limits on the resources that peers can make the switch hold.
    pub limits: SwitchLimits,
    /// The log that all devices write to.
    pub log: Log,
    /// The treatment of TCP segments that arrive as one super-frame.
    pub segments: Segments,
    /// The isolation and the limits under which pushed pipelines are loaded.
    pub pushes: Pushes,
    /// The numbers that are reserved for strings of translated types in every program, by the names
    /// of the types. A program may assign numbers to further strings.
    pub numbers: GivenNumbers,
}

/// The treatment of a super-frame: several TCP segments that the kernel hands over as one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segments {
    /// The program processes the headers of each segment. The segments leave as one frame if their
    /// processed headers allow it. Packets and counters are the same as with [`Self::Split`].
    #[default]
    Whole,
    /// The super-frame is cut into segments before the program runs. Each segment leaves as a
    /// separate packet.
    Split,
}

/// The reason why a switch could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The switch cannot listen on one of its addresses.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address on which the switch cannot listen.
        address: SocketAddr,
        /// The error of the system.
        cause: io::Error,
    },
    /// The P4Runtime server cannot serve a device, or cannot use the TLS identity.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A device cannot run its configured program.
    #[error("device {device} cannot run its program: {}", cause.message())]
    Program {
        /// The P4Runtime id of the device.
        device: u64,
        /// The reason why the device cannot run the program.
        cause: EntityError,
    },
    /// A device refuses one of its configured updates.
    #[error("device {device} refuses entry {position}: {}", cause.message())]
    Entry {
        /// The P4Runtime id of the device.
        device: u64,
        /// The position of the update among all updates, counted from 1.
        position: usize,
        /// The reason why the device refuses the update.
        cause: EntityError,
    },
    /// A port was opened with another number of queues than there are workers.
    #[error("port {port} of device {device} has {queues} queues for {workers} workers")]
    Queues {
        /// The P4Runtime id of the device.
        device: u64,
        /// The number of the port.
        port: u32,
        /// The number of queues of the port.
        queues: usize,
        /// The number of worker threads.
        workers: usize,
    },
    /// The separate process that loads each pushed pipeline first, as a trial, cannot be used.
    #[error("{0}; --push-isolation thread needs no such process")]
    Rehearsal(#[from] RehearsalError),
    /// The file with the saved state of a device cannot be opened.
    #[error(transparent)]
    State(#[from] OpenError),
    /// The state of a device cannot be saved to its file.
    #[error("device {device}: {}", cause.message())]
    Keep {
        /// The P4Runtime id of the device.
        device: u64,
        /// The reason why the state cannot be saved.
        cause: EntityError,
    },
    /// The system has no threads, descriptors or memory left.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

/// A running switch. Dropping it stops the switch.
#[derive(Debug)]
pub struct Switch {
    address: SocketAddr,
    metrics: Option<SocketAddr>,
    thrift: Option<SocketAddr>,
    devices: Arc<Vec<Running>>,
    mailboxes: Vec<Arc<Mailbox>>,
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
    server: ServerThread,
}

/// The parts of a running device that the switch owns.
#[derive(Debug)]
struct Running {
    shared: Arc<Shared>,
    handle: DeviceHandle,
    plane: pipeline::Ports,
    ports: Arc<Ports>,
    queues: Configuration,
}

/// The state of a device at one moment, for reports and metrics.
#[derive(Clone, Debug, Default)]
pub struct DeviceState {
    /// The P4Runtime id of the device.
    pub id: u64,
    /// The counters of controllers' actions, and of the device's messages to controllers.
    pub activity: Activity,
    /// The outcomes of packets that arrived on ports or from controllers.
    pub packets: PacketCounts,
    /// The usage of each table, and the number of its lookups.
    pub tables: Vec<TableUsage>,
    /// The ports, ordered by number.
    pub ports: Vec<PortState>,
    /// The queues of the ports that have any. Their state may be up to 50 ms old.
    pub queues: QueueState,
}

impl Switch {
    /// Starts a switch, which forwards and serves from then on.
    ///
    /// # Errors
    ///
    /// Returns an error if one of the options or devices cannot be used. No thread is left running
    /// in that case.
    pub fn start(options: Options, devices: Vec<DeviceConfig>) -> Result<Self, StartError> {
        let Options {
            address,
            tls,
            workers,
            metrics,
            thrift,
            limits,
            log,
            segments,
            pushes,
            numbers,
        } = options;
        let mut loading = Loading { pushes, numbers, rehearsals: Vec::new() };
        let workers = workers.max(1);
        let log = Arc::new(log);
        let (listener, address) = listen(address)?;
        let metrics = metrics.map(listen).transpose()?;
        let (thrift_listener, thrift) = thrift.map(listen).transpose()?.unzip();

        let mailboxes =
            (0..workers).map(|_| Mailbox::new().map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let mut running = Vec::with_capacity(devices.len());
        let mut ports = Vec::new();
        for (index, mut config) in devices.into_iter().enumerate() {
            let log = Arc::clone(&log);
            let device = Running::new(&mut config, index, &mailboxes, &limits, log, &mut loading)?;
            running.push(device);
            let opened = config.ports.into_iter();
            ports.extend(opened.map(|(port, opened)| (config.id, port, opened)));
        }
        let server_options = ServerOptions {
            tls,
            limits: limits.server,
            observer: Some(Arc::new(LimitLog::new(Arc::clone(&log)))),
            grace: GRACE,
            ..ServerOptions::default()
        };
        let server =
            Server::new(running.iter().map(|device| device.handle.clone()), server_options)?;

        let stop = Arc::new(AtomicBool::new(false));
        let worker = |(number, mailbox): (usize, &Arc<Mailbox>)| {
            let lanes = running.iter().map(|device| {
                let (shared, ports) = (Arc::clone(&device.shared), Arc::clone(&device.ports));
                let handle = device.handle.clone();
                let lane = Lane::new(number, shared, handle, &device.plane, ports)
                    .with_queues(&device.queues, limits.queued);
                if segments == Segments::Whole { lane.with_whole_segments() } else { lane }
            });
            let (mailbox, stop) = (Arc::clone(mailbox), Arc::clone(&stop));
            Worker::new(mailbox, lanes.collect(), stop)
        };
        let ready: Vec<Worker> = mailboxes.iter().enumerate().map(worker).collect();
        let served = running.iter().map(|device| Served {
            shared: Arc::clone(&device.shared),
            handle: device.handle.clone(),
            plane: device.plane.clone(),
            ports: Arc::clone(&device.ports),
        });
        let served = served.collect();
        let running = Arc::new(running);
        let (metrics_listener, metrics) = metrics.unzip();
        let looked_at = Arc::clone(&running);
        let look: Look = Arc::new(move || looked_at.iter().map(Running::state).collect());
        let metrics_listener = metrics_listener.map(|listener| (listener, look));
        let thrift_port =
            thrift_listener.map(|listener| ThriftPort { listener, grpc: address, log });
        let server = ServerThread::start(listener, server, served, metrics_listener, thrift_port)?;
        let devices = running;
        let workers = Vec::with_capacity(ready.len());
        let mut switch =
            Self { address, metrics, thrift, devices, mailboxes, stop, workers, server };
        for (device, number, port) in ports {
            switch.attach(device, number, port)?;
        }
        // Workers start only after all ports are attached. Otherwise a packet could arrive before
        // the port that it must leave by exists.
        for (number, worker) in ready.into_iter().enumerate() {
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            // Programs nest deeply, and with them the calls of the interpreter and of machine code.
            let thread = thread.stack_size(WORKER_STACK_BYTES);
            switch.workers.push(thread.spawn(move || worker.run())?);
        }
        Ok(switch)
    }

    /// Returns the address at which P4Runtime is served.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds a port to a running device, replacing one with the same number. An unknown device is
    /// ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if the port was opened for another number of workers.
    pub fn attach(&self, device: u64, number: u32, port: Port) -> Result<(), StartError> {
        let (queues, workers) = (port.queues.len(), self.mailboxes.len());
        if queues != workers {
            return Err(StartError::Queues { device, port: number, queues, workers });
        }
        let Some(running) = self.device(device) else { return Ok(()) };
        running.ports.attach(number, port);
        Ok(())
    }

    /// Records that the link of a port went up or down. gNMI clients are notified, and groups use
    /// or skip the members that watch the port. Ports that disappear are detected without this
    /// call.
    pub fn set_port_link(&self, device: u64, number: u32, is_up: bool) {
        if let Some(running) = self.device(device) {
            running.ports.set_link(number, is_up);
        }
    }

    /// Enables or disables a port, as gNMI's `config/enabled` does. Returns false if the device has
    /// no port with this number.
    pub fn set_port_enabled(&self, device: u64, number: u32, enabled: bool) -> bool {
        self.device(device).is_some_and(|running| running.ports.set_enabled(number, enabled))
    }

    /// Removes a port from a running device. Returns false if the device has no port with this
    /// number.
    pub fn detach(&self, device: u64, number: u32) -> bool {
        self.device(device).is_some_and(|running| running.ports.detach(number))
    }

    /// Returns the address at which Prometheus can fetch `/metrics`.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Returns the address at which clients of Thrift are referred to P4Runtime.
    #[must_use]
    pub fn thrift_address(&self) -> Option<SocketAddr> {
        self.thrift
    }

    /// Stops the workers, and returns the final state of each device.
    #[must_use]
    pub fn finish(mut self) -> Vec<DeviceState> {
        self.stop_workers();
        self.state()
    }

    fn stop_workers(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.mailboxes.iter().for_each(|mailbox| mailbox.wake());
        for worker in self.workers.drain(..) {
            // A worker that panicked has already printed its message.
            let _ = worker.join();
        }
    }

    /// Returns the current state of each device, in the order of the configuration.
    #[must_use]
    pub fn state(&self) -> Vec<DeviceState> {
        self.devices.iter().map(Running::state).collect()
    }

    /// Returns the strings and numbers of the translated types of the program that a device runs.
    #[must_use]
    pub fn translations(&self, device: u64) -> Option<Arc<Translations>> {
        self.device(device)?.plane.translations()
    }

    fn device(&self, id: u64) -> Option<&Running> {
        self.devices.iter().find(|device| device.shared.id == id)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.server.end();
        self.stop_workers();
    }
}

fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |cause| StartError::Listen { address, cause };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Returns the names of a device's ports, and the set of port numbers that exist.
fn port_names(config: &DeviceConfig) -> PortNames {
    let ports = config.ports.iter();
    let names = ports.clone().map(|(number, port)| (port.name.clone(), *number)).collect();
    let others = [config.cpu_port, PSA_PORT_CPU, config.v1model.drop_port.into()];
    let reserved = ports.map(|(number, _)| *number).chain(others).collect();
    PortNames { names, reserved }
}

/// Returns the queues with which a device starts. They are those that a client set in an earlier
/// run (`kept`), if there are any, and otherwise the configured ones.
fn chosen_queues(config: &DeviceConfig, kept: Option<&Configuration>, log: &Log) -> Configuration {
    let Some(kept) = kept else { return config.queues.clone() };
    let id = config.id;
    let ports: Vec<String> = kept.0.keys().map(u32::to_string).collect();
    let ports = match ports.as_slice() {
        [] => "no port".to_owned(),
        ports => format!("port {}", ports.join(", ")),
    };
    log.line(Verbosity::Info, format_args!("device {id}: the queues of {ports} are restored"));
    if !config.queues.0.is_empty() && config.queues != *kept {
        log.line(
            Verbosity::Warn,
            format_args!("device {id}: the configured queues do not apply, since others were set in an earlier run"),
        );
    }
    kept.clone()
}

/// Loads the configured program of a device, if it has one.
fn preload(device: &mut Device, config: &mut DeviceConfig) -> Result<(), StartError> {
    let refused = |cause| StartError::Program { device: config.id, cause };
    config.pipeline.take().map_or(Ok(()), |pipeline| device.preload(pipeline).map_err(refused))
}

/// The settings for loading pipelines, and the processes that load them first as a trial.
struct Loading {
    pushes: Pushes,
    numbers: GivenNumbers,
    rehearsals: Vec<Arc<Rehearsals>>,
}

impl Loading {
    fn settings(&self, config: &DeviceConfig) -> Settings {
        let (path, v1model) = (config.path, config.v1model);
        Settings { limits: self.pushes.limits, path, v1model }
    }

    /// Returns the processes that load pushed pipelines first, as a trial. Returns `None` if this
    /// isolation is switched off.
    fn rehearsals(
        &mut self,
        settings: Settings,
    ) -> Result<Option<Arc<Rehearsals>>, RehearsalError> {
        let Isolation::Process(executable) = &self.pushes.isolation else { return Ok(None) };
        if let Some(known) = self.rehearsals.iter().find(|known| *known.settings() == settings) {
            return Ok(Some(Arc::clone(known)));
        }
        let rehearsals = Arc::new(Rehearsals::new(executable.clone(), settings)?);
        self.rehearsals.push(Arc::clone(&rehearsals));
        Ok(Some(rehearsals))
    }
}

impl Running {
    fn new(
        config: &mut DeviceConfig,
        index: usize,
        mailboxes: &[Arc<Mailbox>],
        limits: &SwitchLimits,
        log: Arc<Log>,
        loading: &mut Loading,
    ) -> Result<Self, StartError> {
        let mailbox =
            mailboxes.first().map(Arc::clone).ok_or_else(|| io::Error::other("no worker"))?;
        let id = config.id;
        let started = p4runtime::server::now();
        let settings = loading.settings(config);
        let target = settings.target().starting_at(started);
        let target = target.with_searched_entries(limits.searched_entries);
        let target = target.with_port_names(port_names(config));
        let plane = target.ports();
        let registry = Arc::new(PipelineRegistry::giving(loading.numbers.clone()));
        let metadata = limits.metadata;
        let options = DeviceOptions { metadata, ..DeviceOptions::default() };
        let options = settings.device_options(options);
        let mut device = Device::over(Box::new(target), id, options, registry);
        if let Some(rehearsals) = loading.rehearsals(settings)? {
            device.set_rehearsal(rehearsals);
        }
        let kept = config.state.take().map(|path| Restored::read(&path, &log)).transpose()?;
        let (mut restored, journal) = kept.unzip();
        let kept_queues = restored.as_mut().and_then(|restored| restored.queues.take());
        let queues = chosen_queues(config, kept_queues.as_ref(), &log);
        let restored =
            restored.and_then(|restored| restored.take(id, config.pipeline.as_ref(), &log));
        let mut is_recorded = false;
        match restored {
            Some((pipeline, steps)) => {
                config.pipeline = Some(pipeline);
                preload(&mut device, config)?;
                is_recorded = restored::install_all(&mut device, &steps, &log);
            }
            None => {
                preload(&mut device, config)?;
                if !config.updates.is_empty() {
                    let installed = device.install(&config.updates, p4runtime::server::now());
                    installed.map_err(|(before, cause)| StartError::Entry {
                        device: id,
                        position: before + 1,
                        cause,
                    })?;
                }
            }
        }
        if config.check_references {
            let checked = device.check_references(p4runtime::server::now());
            checked.map_err(|cause| StartError::Program { device: id, cause })?;
        }
        let shared =
            Arc::new(Shared::new(config, index, started, mailbox, Arc::clone(&log), plane.clone()));
        let mut queue_log = None;
        if let Some(journal) = journal {
            let is_long = journal.is_long();
            let state_log =
                StateLog::start(id, journal, kept_queues.as_ref(), config.durability, log)?;
            queue_log = Some(state_log.queues());
            device.set_log(Box::new(state_log));
            if !is_recorded || is_long {
                let recorded = device.record_all(p4runtime::server::now());
                recorded.map_err(|cause| StartError::Keep { device: id, cause })?;
            }
        }
        shared.set_running(device.pipeline().cloned());
        let handle = DeviceHandle::new(device, Arc::new(Observer(Arc::clone(&shared))));
        let ports = Arc::new(Ports::new(index, plane.clone(), mailboxes.to_vec()));
        handle.set_port_source(Arc::clone(&ports) as Arc<dyn PortSource>);
        let control = Control::new(
            Arc::clone(&shared),
            Arc::clone(&ports),
            mailboxes.len(),
            queues.clone(),
            queue_log,
        );
        let control = if config.takes_injections { control.with_injections() } else { control };
        handle.set_switch_source(Arc::new(control));
        let of = |(port, own): (&u32, &queues::PortConfig)| {
            (*port, u32::try_from(own.queues.len()).unwrap_or(u32::MAX))
        };
        shared.set_port_queues(queues.0.iter().map(of).collect());
        Ok(Self { shared, handle, plane, ports, queues })
    }

    fn state(&self) -> DeviceState {
        DeviceState {
            id: self.shared.id,
            activity: self.shared.activity(),
            packets: self.plane.packet_counts(),
            tables: self.plane.table_usage(),
            ports: self.ports.state(),
            queues: self.shared.queues(),
        }
    }
}
