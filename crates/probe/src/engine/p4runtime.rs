//! Emulated P4Runtime switches: gRPC servers to which the controller connects.
//!
//! Each engine thread runs a single-threaded asynchronous runtime. It serves the listening sockets
//! of the thread's switches, and runs the pacing task, which puts packet-ins into the switches'
//! streams when they are due. A packet-in counts as sent when the server encodes it into the buffer
//! that goes to the socket.

mod digest;
mod idle;
mod load;
mod pacer;
mod pipelines;
mod ports;
mod thread;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use p4runtime::arbitration::ElectionMemory;
use p4runtime::gnmi::Port;
use p4runtime::packet_io::ByteString;
use p4runtime::proto::v1;
use p4runtime::server::{DeviceHandle, Limits, ServeError, Server, ServerOptions, ServerTls};
use p4runtime::session::{Device, DeviceOptions, PipelineRegistry};
use ranks::Rank;
use tokio::sync::watch;

use super::mailbox::Slot;
use super::pace::Pace;
use super::{
    Live, Orders, Portion, Recorder, Started, SwitchHandshake, ThreadOutcome, TrialPlan, spawn,
};
use crate::config::{Config, DeviceAddress, PortForm, Protocol};
use crate::ledger::Tally;
use load::Form;
use pacer::Pacing;
pub use ports::{HeldPorts, PortsError};
use thread::{ListenerObserver, Member, Observer, Shared, ThreadState};

/// The reason why the engine could not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("cannot start an engine thread: {0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Listen(#[from] PortsError),
    #[error("{file}: {cause}")]
    File { file: PathBuf, cause: io::Error },
    #[error("{file}: {cause}")]
    P4Info { file: PathBuf, cause: String },
    #[error("{0}")]
    Serve(#[from] ServeError),
    #[error("there is no switch {0}")]
    NoSwitch(u32),
    #[error("the pipeline that switches start with cannot be loaded: {0}")]
    Pipeline(String),
    #[error("{file}: {cause}")]
    Load { file: PathBuf, cause: load::NoForm },
}

/// Returns the address at which controllers can connect to the switches of this process.
pub(crate) fn advertised(config: &Config) -> IpAddr {
    config.p4runtime.advertise.unwrap_or(config.p4runtime.listen)
}

/// Returns for each rank (process) the index of its first switch and the address at which
/// controllers can connect to the rank, in the order of the ranks.
fn hosts(config: &Config) -> Vec<(u32, IpAddr)> {
    let group = config.p4runtime.devices_per_port.max(1);
    let ranks = &config.p4runtime.ranks;
    let of = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
    let first =
        |rank: u32| Portion::new(config.switches.count, group, Rank(rank), of).switches.start;
    let hosts = (0..).zip(ranks).map(|(rank, address)| (first(rank), *address));
    if ranks.is_empty() { vec![(0, advertised(config))] } else { hosts.collect() }
}

/// Returns the addresses of all P4Runtime switches, in the order of the switches.
pub fn addresses(config: &Config) -> Vec<DeviceAddress> {
    let p4runtime = &config.p4runtime;
    let group = p4runtime.devices_per_port.max(1);
    // The configuration checks and the reservation of ports ensure that there are enough ports.
    let ports: Vec<u16> = (p4runtime.first_port..=u16::MAX)
        .filter(|port| p4runtime.passed_over.binary_search(port).is_err())
        .take(config.switches.count.div_ceil(group) as usize)
        .collect();
    let hosts = hosts(config);
    (0..config.switches.count)
        .map(|switch| {
            let host = hosts.partition_point(|(first, _)| *first <= switch).saturating_sub(1);
            let host = hosts.get(host).map_or(p4runtime.listen, |(_, address)| *address);
            let port = ports.get((switch / group) as usize).copied().unwrap_or(u16::MAX);
            let number = config.switches.first_id + u64::from(switch);
            DeviceAddress {
                device_id: if p4runtime.same_device_id { config.switches.first_id } else { number },
                number,
                listen: SocketAddr::new(p4runtime.listen, port),
                dial: SocketAddr::new(host, port),
            }
        })
        .collect()
}

/// Binds all listening sockets, and starts the engine threads, each of which serves some of them.
/// If the trial is spread over several ranks, messages for switches of other ranks are sent to
/// `abroad`.
pub(crate) fn start(
    plan: &Arc<TrialPlan>,
    orders: &Arc<Orders>,
    live: &Arc<Live>,
    abroad: Option<Slot>,
) -> Result<Started, StartError> {
    let shared = Arc::new(Shared::new(plan.clone(), orders.clone(), live.clone(), abroad));
    let preloaded = preloaded(&plan.config)?;
    let registry = Arc::new(PipelineRegistry::new());
    let threads = (0..plan.threads)
        .map(|thread| state(&shared, thread))
        .collect::<Result<Vec<_>, StartError>>()?;
    let mut serving = Vec::new();
    for (number, thread) in threads.iter().enumerate() {
        serving.push(devices(plan, number, thread, &registry, preloaded.as_ref())?);
    }
    shared.set_threads(threads.clone());
    let tls = server_tls(&plan.config)?;
    let slots = threads.iter().map(|thread| Slot::Direct(thread.clone())).collect();
    let started = threads.into_iter().zip(serving).enumerate().map(
        |(number, (thread, servers))| -> Result<_, StartError> {
            let (tls, pace) = (tls.clone(), Pace::new(plan, orders, number));
            Ok(spawn(plan, orders, number, move || run(&thread, pace, servers, tls))?)
        },
    );
    Ok((started.collect::<Result<_, _>>()?, slots))
}

fn state(shared: &Arc<Shared>, thread: usize) -> Result<Arc<ThreadState>, StartError> {
    let plan = &shared.plan;
    let members = plan
        .members(thread)
        .map(|switch| plan.source(switch).map(Member::new).ok_or(StartError::NoSwitch(switch)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(ThreadState::new(shared.clone(), plan.recorder(thread), members)))
}

/// A listening socket and the devices that are reached through it. `from` is the index of the first
/// device among the thread's switches.
struct Listening {
    listener: TcpListener,
    from: usize,
    devices: Vec<DeviceHandle>,
}

fn devices(
    plan: &TrialPlan,
    number: usize,
    thread: &Arc<ThreadState>,
    registry: &Arc<PipelineRegistry>,
    preloaded: Option<&v1::ForwardingPipelineConfig>,
) -> Result<Vec<Listening>, StartError> {
    let addresses = addresses(&plan.config);
    let options = device_options(&plan.config);
    let mut listening: Vec<Listening> = Vec::new();
    let mut all = Vec::new();
    for (index, switch) in plan.members(number).enumerate() {
        let address = addresses.get(switch as usize).ok_or(StartError::NoSwitch(switch))?;
        let mut device = Device::new(address.device_id, options.clone(), registry.clone());
        if let Some(config) = preloaded {
            device
                .preload(config.clone())
                .map_err(|error| StartError::Pipeline(error.to_string()))?;
        }
        let pipeline = device.pipeline().cloned();
        if let (Some(pipeline), Some(file)) = (&pipeline, &plan.config.p4runtime.p4info)
            && let Some(Err(cause)) = Form::of(pipeline, &plan.config, plan.run_key)
        {
            return Err(StartError::Load { file: file.clone(), cause });
        }
        let observer = Arc::new(Observer { thread: thread.clone(), index });
        if let Some(pipeline) = pipeline {
            observer.preloaded(pipeline);
        }
        let handle = DeviceHandle::new(device, observer);
        handle.set_ports(ports(address.number, plan.config.switches.ports));
        all.push(handle.clone());
        if switch.is_multiple_of(plan.group) {
            let listener = listen(address.listen)?;
            listening.push(Listening { listener, from: index, devices: Vec::new() });
        }
        if let Some(last) = listening.last_mut() {
            last.devices.push(handle);
        }
    }
    thread.set_devices(all);
    Ok(listening)
}

/// Returns the options of emulated switches for those points on which the P4Runtime specification
/// leaves a choice.
pub(crate) fn device_options(config: &Config) -> DeviceOptions {
    DeviceOptions {
        packet_in_form: match config.p4runtime.port_form {
            PortForm::FullWidth => ByteString::FullWidth,
            PortForm::Canonical => ByteString::Canonical,
        },
        // A controller that returns with a lower election id than before may become primary if no
        // other controller is connected.
        election_memory: ElectionMemory::ForgottenWhenAlone,
        ..DeviceOptions::default()
    }
}

/// Returns the ports of the switch with number `number`, as gNMI reports them to controllers. All
/// ports are up.
pub(crate) fn ports(number: u64, count: u16) -> Vec<Port> {
    let name = |port| format!("s{number}-eth{port}");
    let port = |port| Port { number: port, name: name(port), up: true, enabled: true };
    (1..=u32::from(count)).map(port).collect()
}

/// Listens on a port that the run reserves ([`HeldPorts`]).
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, PortsError> {
    let failed = |cause| PortsError::Listen { address, cause };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Raises the limit of open files as far as possible. If this process still cannot open enough
/// files for the configured number of devices per port, increases that number and returns a note
/// about the change for the report. A listening socket, the socket that reserves its port, and a
/// connection take one file each.
pub fn fit_to_file_limit(config: &mut Config) -> Option<String> {
    let limit = crate::host::raise_file_limit().saturating_sub(SPARE_FILES);
    let switches = u64::from(config.most_switches());
    let files = |group: u64| switches + 2 * switches.div_ceil(group);
    let wanted = u64::from(config.p4runtime.devices_per_port.max(1));
    // Devices with equal ids can be distinguished only by their ports.
    if config.p4runtime.same_device_id {
        return None;
    }
    if config.protocol != Protocol::P4Runtime || files(wanted) <= limit || limit <= switches {
        return None;
    }
    let group = switches.div_ceil(((limit - switches) / 2).max(1));
    config.p4runtime.devices_per_port = u32::try_from(group).unwrap_or(u32::MAX);
    Some(format!(
        "{group} devices share each port instead of {wanted}, since this process may open only {} \
         files (ulimit -n).",
        limit + SPARE_FILES
    ))
}

/// The number of open files that are left for other purposes than sockets of switches: standard
/// streams, pollers, the controller's `/proc` files, and results.
const SPARE_FILES: u64 = 64;

/// Builds the asynchronous runtime of a thread. The runtime reports to `thread` when it wakes, so
/// that the thread can bound the time for which an answer may have waited to be read.
fn runtime(thread: &Arc<ThreadState>) -> io::Result<tokio::runtime::Runtime> {
    let parked = Arc::new(AtomicU64::new(0));
    let woke = AtomicU64::new(0);
    let (parks, wakes) = ((thread.clone(), parked.clone()), thread.clone());
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || {
            let (thread, parked) = &parks;
            parked.store(thread.traffic_time().unwrap_or(0), Ordering::Relaxed);
        })
        .on_thread_unpark(move || {
            if let Some(at) = wakes.traffic_time() {
                let before = woke.swap(at, Ordering::Relaxed);
                let from = parked.load(Ordering::Relaxed);
                wakes.record().recorder.woke(before, from, at);
            }
        })
        .build()
}

fn run(
    thread: &Arc<ThreadState>,
    pace: Pace,
    servers: Vec<Listening>,
    tls: Option<ServerTls>,
) -> io::Result<ThreadOutcome> {
    let runtime = runtime(thread)?;
    let pacing = Arc::new(Pacing::new(thread, pace));
    runtime.block_on(async {
        let (end, ended) = watch::channel(false);
        let mut tasks = tokio::task::JoinSet::new();
        for listening in servers {
            let to = listening.from + listening.devices.len();
            let listener_observer =
                ListenerObserver { thread: thread.clone(), from: listening.from, to };
            let options = ServerOptions {
                tls: tls.clone(),
                observer: Some(Arc::new(listener_observer)),
                urgency: Some(pacing.clone()),
                // Controllers often keep streams open after the trial. The server does not wait for
                // them.
                grace: Duration::from_millis(100),
                // The server's limits must not restrict a controller under measurement.
                limits: Limits::WIDE,
                ..ServerOptions::default()
            };
            let server = Server::new(listening.devices, options).map_err(io::Error::other)?;
            let listener = tokio::net::TcpListener::from_std(listening.listener)?;
            let mut ended = ended.clone();
            tasks.spawn(server.serve(listener, async move {
                let _ = ended.wait_for(|ended| *ended).await;
            }));
        }
        // The pacing task writes to many connections in one go. The runtime's cooperative budget
        // would interrupt it.
        let result = tokio::task::coop::unconstrained(pacing.pace()).await;
        end.send_replace(true);
        while tasks.join_next().await.is_some() {}
        result
    })?;
    thread.release();
    let mut record = thread.record();
    let handshakes: Vec<SwitchHandshake> =
        record.members.iter().map(|member| member.handshake.clone()).collect();
    let empty =
        Recorder::new(Tally::new(thread.shared.plan.window(), 0, 1), [].into_iter(), false, 1);
    Ok((std::mem::replace(&mut record.recorder, empty), handshakes))
}

/// Returns the pipeline that switches have before a controller pushes one, or `None` if none is
/// configured.
pub(crate) fn preloaded(
    config: &Config,
) -> Result<Option<v1::ForwardingPipelineConfig>, StartError> {
    let p4runtime = &config.p4runtime;
    let Some(file) = &p4runtime.p4info else { return Ok(None) };
    let text = String::from_utf8(read(file)?)
        .map_err(|error| StartError::P4Info { file: file.clone(), cause: error.to_string() })?;
    let p4info = p4runtime::p4info::text::parse(&text)
        .map_err(|error| StartError::P4Info { file: file.clone(), cause: error.to_string() })?;
    let p4_device_config = match &p4runtime.device_config {
        Some(file) => read(file)?.into(),
        None => bytes::Bytes::new(),
    };
    let cookie = v1::forwarding_pipeline_config::Cookie { cookie: p4runtime.cookie };
    Ok(Some(v1::ForwardingPipelineConfig {
        p4info: Some(p4info),
        p4_device_config,
        cookie: Some(cookie),
    }))
}

/// Returns the TLS certificate and key of the servers, or `None` if TLS is not configured.
pub(crate) fn server_tls(config: &Config) -> Result<Option<ServerTls>, StartError> {
    let Some(tls) = &config.tls else { return Ok(None) };
    let (Some(certificate), Some(key)) = (&tls.certificate, &tls.key) else { return Ok(None) };
    Ok(Some(ServerTls {
        certificate: read(certificate)?,
        key: read(key)?,
        client_authorities: tls.ca.as_deref().map(read).transpose()?,
    }))
}

fn read(file: &Path) -> Result<Vec<u8>, StartError> {
    input::read(file).map_err(|cause| StartError::File { file: file.to_owned(), cause })
}
