//! The state of a device that its worker threads and its control plane share.

use crate::controller_headers::ControllerHeaders;
use crate::entry_controller::EntryController;
use crate::log::{Log, Verbosity};
use crate::mailbox::Mailbox;
use crate::queue_state::QueueState;
use crate::state_log::Durability;
use entities::Translations;
use p4runtime::arbitration::{RoleKey, StreamId};
use p4runtime::packet_io::{PacketInLayout, SplitError};
use p4runtime::proto::v1::{ForwardingPipelineConfig, PacketOut, Update, WriteRequest};
use p4runtime::server::{DeviceHandle, DeviceObserver, PacketOutRefusal};
use p4runtime::session::Pipeline;
use p4runtime::status::EntityError;
use p4runtime::store::Nanos;
use packetio::Port;
use pipeline::{EntryChange, Path, V1ModelSettings};
use queues::Configuration;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use tables::DigestError;
use tokio::sync::Notify;

/// The configuration of one device of a switch.
#[derive(Debug)]
pub struct DeviceConfig {
    /// The P4Runtime id of the device.
    pub id: u64,
    /// The number of the CPU port, which stands for the controllers: packets that the program sends
    /// to it become packet-ins, and packet-outs enter the program through it. PSA's own CPU port
    /// number works as well.
    pub cpu_port: u32,
    /// The execution path of programs, such as the interpreter or machine code. The device refuses
    /// a program that this path does not support.
    pub path: Path,
    /// The v1model settings that programs run with.
    pub v1model: V1ModelSettings,
    /// The pipeline that runs until a controller pushes another one.
    pub pipeline: Option<ForwardingPipelineConfig>,
    /// The updates that are written before any controller connects. They are not written if the
    /// state of an earlier run is restored.
    pub updates: Vec<Update>,
    /// The file in which controllers' writes survive a restart, except those of counters and
    /// registers. With `None`, a restart loses all writes.
    pub state: Option<PathBuf>,
    /// Whether a Write must have reached the storage medium before the controller receives its
    /// answer.
    pub durability: Durability,
    /// The queues of ports between ingress and egress. The first worker owns them. If a client has
    /// set queues in an earlier run, those in the state file apply instead.
    pub queues: Configuration,
    /// Whether clients may inject packets, which run as if they had arrived on ports.
    pub takes_injections: bool,
    /// Whether a Write is refused if it refers to something that does not exist (`@refers_to`), or
    /// deletes what is referred to.
    pub check_references: bool,
    /// The ports by number, each with one queue per worker.
    pub ports: Vec<(u32, Port)>,
}

/// The counters of a device since its start, apart from those of its ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// The number of packets that the program sent to a port that does not exist.
    pub no_such_port: u64,
    /// The number of packets that were dropped because they arrived on a disabled port or were sent
    /// to one.
    pub port_disabled: u64,
    /// The number of packets for queues that were dropped between the worker that received them and
    /// the worker that owns the queues: because too many were waiting for the owner, or because
    /// queues were added while only the first bytes of a TCP super-frame were in memory.
    pub queues_overrun: u64,
    /// The number of packets that the program sent to controllers (packet-ins), including those
    /// that were dropped.
    pub packet_ins: u64,
    /// The number of packet-ins that were dropped because no controller was connected, its queue
    /// was full, or they did not fit the program's header for packet-ins.
    pub packet_ins_dropped: u64,
    /// The number of packets that controllers sent (packet-outs), including those that were
    /// dropped.
    pub packet_outs: u64,
    /// The number of packet-outs that were dropped because they were refused or a queue was full.
    pub packet_outs_dropped: u64,
    /// The number of digests that the program sent to controllers.
    pub digests: u64,
    /// The number of entries that the switch's internal controller wrote on behalf of packets. It
    /// does so in tables with `update = "digest"`, whose entries packets do not write themselves.
    pub entry_changes: u64,
    /// The number of `entry_changes` that overwrote a newer value than the one that the packet had
    /// read. The newer value is lost.
    pub entry_changes_overwritten: u64,
    /// The number of entry changes that packets requested but that were lost, because the channel
    /// to the internal controller was full or the entry no longer existed.
    pub entry_changes_lost: u64,
    /// The number of entities that controllers wrote, including refused ones.
    pub writes: u64,
    /// The number of entities whose write was refused.
    pub writes_refused: u64,
    /// The number of P4Runtime streams of controllers that are open now.
    pub controllers: u64,
    /// The number of pipelines that controllers committed on the device.
    pub pipelines: u64,
}

macro_rules! tallies {
    ($($name:ident),*) => {
        #[derive(Debug, Default)]
        pub(crate) struct Tallies { $(pub(crate) $name: Tally,)* }

        impl Tallies {
            fn values(&self) -> Activity {
                Activity { $($name: self.$name.0.load(Ordering::Relaxed),)* ..Activity::default() }
            }
        }
    };
}
tallies!(
    no_such_port,
    port_disabled,
    queues_overrun,
    packet_ins,
    packet_ins_dropped,
    packet_outs,
    packet_outs_dropped,
    digests,
    writes,
    writes_refused,
    controllers,
    pipelines
);

/// A counter that several threads increment without a lock.
#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicU64);

impl Tally {
    pub(crate) fn add(&self, number: usize) {
        self.0.fetch_add(number as u64, Ordering::Relaxed);
    }

    fn subtract_one(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The part of a device that its worker threads and its control plane share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) id: u64,
    /// The index of the device in the configuration of the switch.
    pub(crate) index: usize,
    /// The time from which the timestamps of packets are counted.
    pub(crate) started: Nanos,
    pub(crate) cpu_port: u32,
    pub(crate) tallies: Tallies,
    pub(crate) log: Arc<Log>,
    /// A signal that wakes the control plane's thread when digests may be waiting.
    pub(crate) digests_wait: Notify,
    /// The mailbox of the worker that processes packet-outs. One worker processes all of them, so
    /// that they stay in order.
    pub(crate) mailbox: Arc<Mailbox>,
    /// The running pipeline, which defines the controller headers. A copy is kept here because
    /// locking the device would make packets wait for large writes.
    running: Mutex<Option<Arc<Pipeline>>>,
    /// The internal controller, which writes entries on behalf of packets. It is started when a
    /// packet first needs it. The inner `None` means that its socket could not be created.
    entry_controller: OnceLock<Option<EntryController>>,
    /// The state of the queues of ports, as the worker published it last.
    queues: Mutex<QueueState>,
    /// The ports that have queues, for workers that do not own the queues.
    queued_ports: RwLock<BTreeSet<u32>>,
    /// Whether any port has queues.
    has_queues: AtomicBool,
    plane: pipeline::Ports,
    /// Whether a line about a dropped packet-in was logged since the current pipeline was
    /// committed.
    has_logged_drop: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        config: &DeviceConfig,
        index: usize,
        started: Nanos,
        mailbox: Arc<Mailbox>,
        log: Arc<Log>,
        plane: pipeline::Ports,
    ) -> Self {
        Self {
            id: config.id,
            index,
            started,
            cpu_port: config.cpu_port,
            tallies: Tallies::default(),
            log,
            digests_wait: Notify::new(),
            mailbox,
            running: Mutex::default(),
            entry_controller: OnceLock::new(),
            queues: Mutex::default(),
            queued_ports: RwLock::default(),
            has_queues: AtomicBool::new(false),
            plane,
            has_logged_drop: AtomicBool::new(false),
        }
    }

    pub(crate) fn running(&self) -> Option<Arc<Pipeline>> {
        self.lock().clone()
    }

    /// Informs programs and all workers of the number of queues that each port has.
    pub(crate) fn set_port_queues(&self, queues: BTreeMap<u32, u32>) {
        let mut ports = self.queued_ports.write().unwrap_or_else(PoisonError::into_inner);
        *ports = queues.keys().copied().collect();
        self.has_queues.store(!ports.is_empty(), Ordering::Release);
        drop(ports);
        self.plane.set_port_queues(queues);
    }

    /// Returns whether any port has queues. If none has, the call costs a single load from memory.
    pub(crate) fn has_queues(&self) -> bool {
        self.has_queues.load(Ordering::Acquire)
    }

    /// Returns whether a port has queues.
    pub(crate) fn has_queues_at(&self, port: u32) -> bool {
        let ports = self.queued_ports.read().unwrap_or_else(PoisonError::into_inner);
        ports.contains(&port)
    }

    /// Publishes the state of the queues of ports.
    pub(crate) fn publish_queues(&self, state: &QueueState) {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).clone_from(state);
    }

    /// Returns the state of the queues of ports, as it was published last.
    pub(crate) fn queues(&self) -> QueueState {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the strings and numbers of the running program's translated types.
    pub(crate) fn translations(&self) -> Option<Arc<Translations>> {
        self.plane.translations()
    }

    /// Returns the controller headers of the running pipeline.
    pub(crate) fn headers(&self) -> ControllerHeaders {
        ControllerHeaders { pipeline: self.running(), translations: self.translations() }
    }

    /// Logs why a packet-in is dropped. Only the first since the pipeline was committed is logged.
    pub(crate) fn log_dropped_packet_in(&self, error: &SplitError) {
        if !self.has_logged_drop.swap(true, Ordering::Relaxed) {
            let message = format_args!(
                "device {}: a packet-in is dropped, and others like it: {error}",
                self.id
            );
            self.log.line(Verbosity::Warn, message);
        }
    }

    /// Logs the strings in the last Write that stand for ports but name no existing port. Only the
    /// first one is named in the log.
    fn log_ports_that_do_not_exist(&self) {
        let translations = self.translations().filter(|translations| !translations.is_empty());
        let without = translations.map_or_else(Vec::new, |all| all.changed_without_port());
        if let Some(pair) = without.first() {
            let text = String::from_utf8_lossy(&pair.text);
            let message = format_args!(
                "device {}: no port is called '{}', which has the number {} of type '{}' now{}; ports have \
                 the names of their interfaces and the digits of their numbers",
                self.id,
                text.escape_debug(),
                pair.number,
                pair.type_name,
                if without.len() > 1 { ", and others" } else { "" },
            );
            self.log.line(Verbosity::Warn, message);
        }
    }

    pub(crate) fn activity(&self) -> Activity {
        let controller = self.entry_controller.get().and_then(Option::as_ref);
        let changes = controller.map(EntryController::counts).unwrap_or_default();
        Activity {
            entry_changes: changes.written,
            entry_changes_overwritten: changes.overwritten,
            entry_changes_lost: changes.lost,
            ..self.tallies.values()
        }
    }

    /// Sends changes of entries, which packets requested, to the internal controller.
    pub(crate) fn send_entry_changes(&self, changes: &[EntryChange]) {
        let controller = self.entry_controller.get_or_init(|| {
            let started = EntryController::start(self.plane.clone());
            let log_error = |error: &DigestError| {
                let id = self.id;
                let message =
                    format_args!("device {id}: packets cannot update entries by digests: {error}");
                self.log.line(Verbosity::Error, message);
            };
            started.inspect_err(log_error).ok()
        });
        if let Some(controller) = controller {
            controller.send(changes);
        }
    }

    pub(crate) fn set_running(&self, pipeline: Option<Arc<Pipeline>>) {
        let layout = pipeline.as_deref().and_then(|pipeline| pipeline.packet_in());
        if let Some(Err(error)) = layout.map(PacketInLayout::check_types) {
            let message = format_args!("device {}: packet-ins are dropped: {error}", self.id);
            self.log.line(Verbosity::Warn, message);
        }
        self.has_logged_drop.store(false, Ordering::Relaxed);
        *self.lock() = pipeline;
        for (place, what) in self.plane.interpreted_steps() {
            self.info(format_args!("{place} is interpreted, since {what} cannot be compiled yet"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Pipeline>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn info(&self, text: std::fmt::Arguments<'_>) {
        self.log.line(Verbosity::Info, format_args!("device {}: {text}", self.id));
    }
}

/// An observer that counts and logs the actions of controllers on one device.
pub(crate) struct Observer(pub(crate) Arc<Shared>);

impl DeviceObserver for Observer {
    fn stream_opened(&self, _device: &DeviceHandle, stream: StreamId) {
        self.0.tallies.controllers.add(1);
        self.0.info(format_args!("a controller opened stream {}", stream.0));
    }

    fn stream_closed(&self, _device: &DeviceHandle, stream: StreamId) {
        self.0.tallies.controllers.subtract_one();
        self.0.info(format_args!("stream {} has ended", stream.0));
    }

    fn primary_changed(&self, _device: &DeviceHandle, role: &RoleKey, stream: Option<StreamId>) {
        match stream {
            Some(stream) => self.0.info(format_args!("{role}: stream {} is primary", stream.0)),
            None => self.0.info(format_args!("{role}: no stream is primary")),
        }
    }

    fn pipeline_committed(&self, _device: &DeviceHandle, pipeline: &Arc<Pipeline>) {
        self.0.set_running(Some(Arc::clone(pipeline)));
        self.0.tallies.pipelines.add(1);
        let tables = pipeline.p4info().tables.len();
        self.0.info(format_args!("a pipeline with {tables} tables was committed"));
    }

    fn written(
        &self,
        _device: &DeviceHandle,
        _request: &WriteRequest,
        outcomes: &[Result<(), EntityError>],
    ) {
        let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        let count = refused.clone().count();
        self.0.tallies.writes.add(outcomes.len());
        self.0.tallies.writes_refused.add(count);
        self.0.log_ports_that_do_not_exist();
        for error in refused.take(1) {
            let others = if count > 1 { " and others" } else { "" };
            self.0.info(format_args!("a write was refused: {}{others}", error.message()));
        }
    }

    fn packet_outs(&self, _device: &DeviceHandle, _stream: StreamId, packets: &mut Vec<PacketOut>) {
        let headers = self.0.headers();
        if headers.pipeline.is_none() {
            return;
        }
        let tallies = &self.0.tallies;
        tallies.packet_outs.add(packets.len());
        let count = packets.len();
        let framed: Vec<_> =
            packets.drain(..).filter_map(|packet| headers.joined(packet)).collect();
        tallies.packet_outs_dropped.add(count - framed.len());
        tallies.packet_outs_dropped.add(self.0.mailbox.packets(self.0.index, framed.into_iter()));
    }

    fn packet_outs_refused(
        &self,
        _device: &DeviceHandle,
        count: usize,
        _refusal: PacketOutRefusal,
        reason: Option<&str>,
    ) {
        self.0.tallies.packet_outs.add(count);
        self.0.tallies.packet_outs_dropped.add(count);
        let reason = reason.unwrap_or("it does not fit the pipeline");
        self.0.info(format_args!("a packet-out was refused: {reason}"));
    }

    fn sample_interval_raised(&self, _device: &DeviceHandle, asked: Duration, kept: Duration) {
        let message = format_args!(
            "device {}: a gNMI client asked for samples every {asked:?} and gets them every {kept:?}, which \
             is the shortest interval",
            self.0.id
        );
        self.0.log.line(Verbosity::Warn, message);
    }
}
