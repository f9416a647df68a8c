//! A device: what its worker threads and its control plane share.

use crate::entry_controller::EntryController;
use crate::log::{Log, Verbosity};
use crate::mailbox::Mailbox;
use crate::state_log::Durability;
use bytes::Bytes;
use p4runtime::arbitration::{RoleKey, StreamId};
use p4runtime::packet_io::PacketInLayout;
use p4runtime::proto::v1::{ForwardingPipelineConfig, PacketOut, Update, WriteRequest};
use p4runtime::server::{DeviceHandle, DeviceObserver, PacketOutRefusal};
use p4runtime::session::Pipeline;
use p4runtime::status::EntityError;
use p4runtime::store::Nanos;
use packetio::Port;
use pipeline::{EntryChange, Path, V1ModelSettings};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tables::DigestError;
use tokio::sync::Notify;

/// A device of a switch.
#[derive(Debug)]
pub struct DeviceConfig {
    /// Its id in P4Runtime.
    pub id: u64,
    /// The port that stands for the controllers: packets that leave through it are packet-ins, and
    /// packet-outs come from it. PSA has a number of its own for it, which works as well.
    pub cpu_port: u32,
    /// How packets go through programs. A program that cannot go that way is refused.
    pub path: Path,
    /// What programs of v1model are run with.
    pub v1model: V1ModelSettings,
    /// What it runs before a controller pushes something else.
    pub pipeline: Option<ForwardingPipelineConfig>,
    /// What is written to it before any controller comes.
    pub updates: Vec<Update>,
    /// The file in which what controllers write is kept over a restart; `None` keeps nothing.
    pub state: Option<PathBuf>,
    /// What an answer means for what is kept.
    pub durability: Durability,
    /// Its ports by their number, each with one queue per worker.
    pub ports: Vec<(u32, Port)>,
}

/// What a device did since it started, but for its ports' own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Packets that were to leave through a port that there is not.
    pub no_such_port: u64,
    /// Packets that came in by a port that is disabled, or were to leave through one.
    pub port_disabled: u64,
    /// Packets for controllers.
    pub packet_ins: u64,
    /// Of these, packets that no controller was there for, or that found no room in its queue.
    pub packet_ins_dropped: u64,
    /// Packets of controllers.
    pub packet_outs: u64,
    /// Of these, packets that were refused or found no room.
    pub packet_outs_dropped: u64,
    /// Messages of the program to controllers.
    pub digests: u64,
    /// Entries that the switch's own controller wrote for packets, in tables that packets do not write themselves
    /// (`update = "digest"`).
    pub entry_changes: u64,
    /// Of these, entries that were something else by then than the packet had found, which is lost.
    pub entry_changes_overwritten: u64,
    /// Messages of packets for that controller that found no room, or no entry to change.
    pub entry_changes_lost: u64,
    /// Entities that controllers wrote.
    pub writes: u64,
    /// Of these, entities that were refused.
    pub writes_refused: u64,
    /// Streams of controllers that are open.
    pub controllers: u64,
    /// Pipelines that were committed.
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

/// What threads share of a device.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) id: u64,
    /// Its place in the configuration.
    pub(crate) index: usize,
    /// Where the time of its packets begins.
    pub(crate) started: Nanos,
    pub(crate) cpu_port: u32,
    pub(crate) tallies: Tallies,
    pub(crate) log: Arc<Log>,
    /// There may be digests to fetch.
    pub(crate) digests_wait: Notify,
    /// Of the worker that packets of controllers go to: one, so that they stay in order.
    pub(crate) mailbox: Arc<Mailbox>,
    /// How controller headers are written at the moment. Kept here, since to ask the device would
    /// make packets wait for large writes.
    running: Mutex<Option<Arc<Pipeline>>>,
    /// Once packets have asked for it; nothing if it has no socket.
    entry_controller: OnceLock<Option<EntryController>>,
    plane: pipeline::Ports,
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
            plane,
        }
    }

    pub(crate) fn running(&self) -> Option<Arc<Pipeline>> {
        self.lock().clone()
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

    /// Sends what packets would have their entries be to who writes them.
    pub(crate) fn send_entry_changes(&self, changes: &[EntryChange]) {
        let controller = self.entry_controller.get_or_init(|| {
            let started = EntryController::start(self.plane.clone());
            let say = |error: &DigestError| {
                let id = self.id;
                let said =
                    format_args!("device {id}: packets change no entries by messages: {error}");
                self.log.line(Verbosity::Error, said);
            };
            started.inspect_err(say).ok()
        });
        if let Some(controller) = controller {
            controller.send(changes);
        }
    }

    pub(crate) fn set_running(&self, pipeline: Option<Arc<Pipeline>>) {
        let layout = pipeline.as_deref().and_then(|pipeline| pipeline.packet_in());
        if let Some(Err(error)) = layout.map(PacketInLayout::check_untranslated) {
            let said = format_args!("device {}: packet-ins are dropped: {error}", self.id);
            self.log.line(Verbosity::Warn, said);
        }
        *self.lock() = pipeline;
        for (place, what) in self.plane.interpreted_steps() {
            self.info(format_args!("{place}: the interpreter does this, since {what} is not code"));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Pipeline>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn info(&self, text: std::fmt::Arguments<'_>) {
        self.log.line(Verbosity::Info, format_args!("device {}: {text}", self.id));
    }
}

/// Hears what controllers do.
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
            None => self.0.info(format_args!("{role}: nobody is primary")),
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
        for error in refused.take(1) {
            let others = if count > 1 { " and others" } else { "" };
            self.0.info(format_args!("a write was refused: {}{others}", error.message()));
        }
    }

    fn packet_outs(&self, _device: &DeviceHandle, _stream: StreamId, packets: &mut Vec<PacketOut>) {
        let Some(pipeline) = self.0.running() else { return };
        let tallies = &self.0.tallies;
        tallies.packet_outs.add(packets.len());
        let framed = packets.drain(..).map(|packet| match pipeline.packet_out() {
            Some(layout) => {
                let mut framed = layout.header(&packet.metadata);
                framed.extend_from_slice(&packet.payload);
                Bytes::from(framed)
            }
            None => packet.payload,
        });
        tallies.packet_outs_dropped.add(self.0.mailbox.packets(self.0.index, framed));
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
        let said = format_args!(
            "device {}: a gNMI client asked for samples every {asked:?} and gets them every {kept:?}, which \
             is the shortest interval",
            self.0.id
        );
        self.0.log.line(Verbosity::Warn, said);
    }
}
