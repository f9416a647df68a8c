//! A switch inside another program, without ports and threads. The program that owns it passes in
//! packets and the time, and receives the packets that leave as return values.
//!
//! The P4 program, its entries and its P4Runtime session are those of a [`crate::Switch`]. The
//! owner writes entries without being a controller. Controllers may use the same switch over gRPC
//! while [`InProcessSwitch::serve`] serves it.
//!
//! Packets are processed one after the other, even if several threads call. Messages that the P4
//! program sends to its controllers are kept as [`Event`]s until [`InProcessSwitch::take_events`].

mod observer;
mod serving;

pub use serving::{Passing, ServedInProcess, ServingError};

use self::observer::Observer;
use crate::controller_headers::ControllerHeaders;
use crate::worker::PSA_PORT_CPU;
use bytes::Bytes;
use entities::schema::DigestId;
use entities::{Cursor, Data, Entity, PortNames, Selection, Translations};
use loader::Settings;
use p4runtime::proto::v1::{
    ForwardingPipelineConfig, PacketMetadata, PacketOut, TableEntry, Update,
    write_request::Atomicity,
};
use p4runtime::server::{Clock, DeviceHandle, PacketIn, PacketInMetadata, SetClock};
use p4runtime::session::{Device, DeviceOptions, Pipeline, PipelineRegistry};
use p4runtime::status::EntityError;
use packetio::BURST;
use pipeline::{Batch, Output, Path, RunError, V1ModelSettings, WORKER_STACK_BYTES, Worker};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use traces::{Arrival, Contents, Effects, Traced};

/// The largest number of events that are kept. If there are more, the oldest are lost.
pub const MOST_EVENTS: usize = 65_536;

/// The largest number of deadlines, such as timeouts of entries, at which one advance of the clock
/// stops. After that, the clock advances to its final time in one step.
const MOST_STEPS: usize = 100_000;

/// The largest stack that a packet needs, in bytes: the frames of machine code, and a reserve.
const STACK: usize = WORKER_STACK_BYTES / 2 + (256 << 10);

/// The packets of a batch that were processed.
#[derive(Clone, Debug, Default)]
pub struct Processed {
    /// The number of packets, which are the first of the batch.
    pub count: usize,
    /// The positions of packets with which the program failed, each with the error.
    pub errors: Vec<(usize, RunError)>,
}

/// Packets that are processed in bursts.
struct Bursts<'a> {
    now: Duration,
    /// The port on which each packet arrives, and its bytes.
    packets: &'a [(u32, &'a [u8])],
    /// A function that receives each packet that leaves the switch, after the position in `packets`
    /// of the packet that caused it and the port by which it leaves.
    leave: &'a mut dyn FnMut(usize, u32, &[u8]),
    /// A function that is called after each burst and returns whether the remaining bursts are left
    /// out.
    is_due: &'a mut dyn FnMut() -> bool,
}

/// The configuration of a switch in process.
#[derive(Clone, Copy, Debug)]
pub struct InProcessConfig {
    /// The P4Runtime id of the switch.
    pub id: u64,
    /// The execution path of programs.
    pub path: Path,
    /// The seed of the random numbers that programs draw.
    pub seed: u64,
    /// The port that stands for the controllers.
    pub cpu_port: u32,
    /// The v1model settings that programs run with.
    pub v1model: V1ModelSettings,
}

/// An event that a switch in process reports to its owner. Packets that leave through ports are not
/// events but return values, except those that a controller's packet-out causes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A packet that the program sent to the controllers.
    PacketIn {
        /// The bytes of the packet after the controller header.
        payload: Bytes,
        /// The fields of the controller header.
        metadata: Vec<PacketMetadata>,
    },
    /// A packet that the program sent to the controllers, but whose controller header cannot be
    /// decoded.
    NoPacketIn {
        /// The packet with its header.
        packet: Bytes,
        /// The reason why the header cannot be decoded.
        reason: String,
    },
    /// A digest that the program sent, of a kind that is enabled.
    Digest(DigestId, Data),
    /// An entry that no packet has hit for the duration of its idle timeout.
    Idle(Box<TableEntry>),
    /// A packet that left by a port because of a controller's packet-out.
    Sent {
        /// The port by which the packet left.
        port: u32,
        /// The bytes of the packet.
        packet: Bytes,
    },
    /// The error of a controller's packet-out that the program could not process.
    Failed(RunError),
}

/// The error for an attempt to advance the time of a switch while it is served by the wall clock,
/// in which time passes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the switch is served by the wall clock, so its time passes by itself")]
pub struct ClockRuns;

/// A switch in process. Clones refer to the same switch.
#[derive(Clone, Debug)]
pub struct InProcessSwitch {
    inner: Arc<Inner>,
    handle: DeviceHandle,
}

/// The state of the switch that it shares with the observer of its P4Runtime session.
#[derive(Debug)]
struct Inner {
    cpu_port: u32,
    clock: Arc<SetClock>,
    plane: pipeline::Ports,
    /// The state for processing packets. While a thread holds this lock, it must not lock the
    /// session.
    lane: Mutex<Lane>,
    is_served: Mutex<bool>,
}

/// The state of a switch that is needed to process packets.
#[derive(Debug)]
struct Lane {
    program: Worker,
    batch: Batch,
    /// The running pipeline, which defines the controller headers.
    pipeline: Option<Arc<Pipeline>>,
    events: VecDeque<Event>,
    lost: u64,
}

/// The messages for controllers that the packets of one call have caused.
#[derive(Debug, Default)]
struct Outgoing {
    packet_ins: Vec<PacketIn>,
    digests: Vec<(DigestId, Data)>,
}

impl InProcessSwitch {
    /// Creates a switch that runs a pipeline. Its time is zero.
    ///
    /// # Errors
    /// Returns an error if the pipeline cannot run on the chosen path.
    pub fn new(
        config: InProcessConfig,
        pipeline: ForwardingPipelineConfig,
    ) -> Result<Self, EntityError> {
        let settings =
            Settings { path: config.path, v1model: config.v1model, ..Settings::default() };
        let reserved = [config.cpu_port, PSA_PORT_CPU, config.v1model.drop_port.into()];
        let ports = PortNames { reserved: reserved.into(), ..PortNames::default() };
        let target = settings.target().with_port_names(ports);
        let plane = target.ports();
        let options = settings.device_options(DeviceOptions::default());
        let registry = Arc::new(PipelineRegistry::new());
        let mut device = Device::over(Box::new(target), config.id, options, registry);
        device.preload(pipeline)?;
        let lane = Lane {
            program: plane.worker_with_seed(config.seed),
            batch: Batch::default(),
            pipeline: device.pipeline().cloned(),
            events: VecDeque::new(),
            lost: 0,
        };
        let clock = Arc::new(SetClock::default());
        let inner = Arc::new(Inner {
            cpu_port: config.cpu_port,
            clock: Arc::clone(&clock),
            plane,
            lane: Mutex::new(lane),
            is_served: Mutex::default(),
        });
        let observer = Arc::new(Observer(Arc::clone(&inner)));
        let handle = DeviceHandle::with_clock(device, observer, Clock::Set(clock));
        Ok(Self { inner, handle })
    }

    /// Returns the pipeline that the switch runs, which a controller may have replaced.
    #[must_use]
    pub fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.handle.pipeline()
    }

    /// Returns the strings and numbers of the translated types of the running program.
    #[must_use]
    pub fn translations(&self) -> Option<Arc<Translations>> {
        self.inner.plane.translations()
    }

    /// Returns the handle of the data plane that processes packets. It gives access to the states
    /// of ports, the counters and the tables.
    #[must_use]
    pub fn ports(&self) -> &pipeline::Ports {
        &self.inner.plane
    }

    /// Returns the time since the switch was created.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.inner.now()
    }

    /// Advances the time of the switch by `by`. Events that fall due in between, such as the
    /// timeouts of entries and the sending of digests, happen at their own times.
    ///
    /// # Errors
    /// Returns an error if the switch is served by the wall clock.
    pub fn advance(&self, by: Duration) -> Result<(), ClockRuns> {
        let clock = &self.inner.clock;
        let end = clock.now().0.saturating_add(nanos(by));
        for _ in 0..MOST_STEPS {
            let now = clock.now().0;
            let deadline = self.handle.inspect(Device::deadline);
            match deadline.filter(|deadline| deadline.0 > now && deadline.0 < end) {
                Some(deadline) => self.step(deadline.0 - now)?,
                None => break,
            }
        }
        self.step(end.saturating_sub(clock.now().0))
    }

    fn step(&self, nanos: u64) -> Result<(), ClockRuns> {
        if !self.inner.clock.advance(Duration::from_nanos(nanos)) {
            return Err(ClockRuns);
        }
        self.handle.tick();
        Ok(())
    }

    /// Processes a packet that arrives on a port, and returns the packets that leave by ports.
    ///
    /// # Errors
    /// Returns an error if the program fails with the packet.
    pub fn process(&self, port: u32, packet: &[u8]) -> Result<Vec<Output>, RunError> {
        let mut lane = self.inner.lane();
        let (outputs, out) = on_large_stack(|| self.inner.process(&mut lane, port, packet));
        drop(lane);
        self.inner.send(&self.handle, out);
        outputs
    }

    /// Processes packets in order, all at the present time. `packets` holds, for each, the port on
    /// which it arrives and its bytes. Calls `leave` for each packet that leaves through a port,
    /// with the position in `packets` of the packet that caused it, the port and the bytes. Returns
    /// the errors of packets that the program could not process, with their positions.
    pub fn process_batch(
        &self,
        packets: &[(u32, &[u8])],
        leave: &mut dyn FnMut(usize, u32, &[u8]),
    ) -> Vec<(usize, RunError)> {
        self.process_batch_until(self.now(), packets, leave, &mut || false).errors
    }

    /// Processes packets like [`Self::process_batch`], at the time `now`, until `is_due` returns
    /// true after one of the bursts of packets. While `is_due` runs, the switch is locked, so it
    /// must not use the switch.
    pub fn process_batch_until(
        &self,
        now: Duration,
        packets: &[(u32, &[u8])],
        leave: &mut dyn FnMut(usize, u32, &[u8]),
        is_due: &mut dyn FnMut() -> bool,
    ) -> Processed {
        let mut lane = self.inner.lane();
        let bursts = Bursts { now, packets, leave, is_due };
        let (processed, out) = on_large_stack(|| self.inner.process_batch(&mut lane, bursts));
        drop(lane);
        self.inner.send(&self.handle, out);
        processed
    }

    /// Processes a packet in the interpreter and returns its trace. If `effects` excludes lasting
    /// effects, the state of the switch does not change and no event is kept.
    pub fn trace(&self, port: u32, packet: &[u8], contents: Contents, effects: Effects) -> Traced {
        let now = self.now();
        let mut lane = self.inner.lane();
        let arrival = Arrival { port, packet, now };
        let mut traced =
            on_large_stack(|| traces::trace_packet(&mut lane.program, arrival, contents, effects));
        let to_cpu = |output: &Output| self.inner.is_cpu(output.port);
        let mut packet_ins = Vec::new();
        if let Ok(outputs) = &mut traced.outputs {
            packet_ins.extend(outputs.extract_if(.., |output| to_cpu(output)));
        }
        let out = match effects {
            Effects::Lasting => {
                let packet_ins = packet_ins.into_iter().map(|output| output.packet.into());
                self.inner.collect(&mut lane, packet_ins)
            }
            Effects::None => Outgoing::default(),
        };
        drop(lane);
        self.inner.send(&self.handle, out);
        traced
    }

    /// Processes a packet-out as if the primary controller had sent it, and returns the packets
    /// that leave through ports. Header fields that `metadata` lacks are zero.
    ///
    /// # Errors
    /// Returns an error if the program fails with the packet.
    pub fn packet_out(&self, packet: PacketOut) -> Result<Vec<Output>, RunError> {
        let headers = self.inner.headers(&self.inner.lane());
        let joined = headers.joined(packet);
        // A packet-out with a string that has lost its number is ignored.
        joined.map_or_else(|| Ok(Vec::new()), |packet| self.process(self.inner.cpu_port, &packet))
    }

    /// Returns the events since the last call, the oldest first.
    #[must_use]
    pub fn take_events(&self) -> Vec<Event> {
        self.inner.lane().events.drain(..).collect()
    }

    /// Returns the number of events that were lost because they were not taken in time.
    #[must_use]
    pub fn lost_events(&self) -> u64 {
        self.inner.lane().lost
    }

    /// Writes entities, and returns the outcome of each update.
    ///
    /// # Errors
    /// Returns an error if the switch runs no pipeline.
    pub fn write(
        &self,
        updates: &[Update],
        atomicity: Atomicity,
    ) -> Result<Vec<Result<(), EntityError>>, EntityError> {
        self.handle.write_as_owner(updates, atomicity)
    }

    /// Returns the entities that a selection includes.
    ///
    /// # Errors
    /// Returns an error if the switch runs no pipeline, or if an entity cannot be represented.
    pub fn read(&self, selection: &Selection) -> Result<Vec<Entity>, EntityError> {
        let reader = self.handle.inspect(|device| device.reader(self.inner.clock.now()))?;
        let mut found = Vec::new();
        let _ = reader.read(selection, &mut Cursor::Start, &mut |entity| {
            found.extend(entity);
            ControlFlow::Continue(())
        });
        reader.take_left_out().map_or(Ok(found), Err)
    }
}

impl Inner {
    fn lane(&self) -> MutexGuard<'_, Lane> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.clock.now().0)
    }

    fn is_cpu(&self, port: u32) -> bool {
        port == self.cpu_port || port == PSA_PORT_CPU
    }

    fn headers(&self, lane: &Lane) -> ControllerHeaders {
        let pipeline = lane.pipeline.clone();
        ControllerHeaders { pipeline, translations: self.plane.translations() }
    }

    fn process(
        &self,
        lane: &mut Lane,
        port: u32,
        packet: &[u8],
    ) -> (Result<Vec<Output>, RunError>, Outgoing) {
        let mut outputs = Vec::new();
        let outcome = lane.program.process(port, packet, self.now(), &mut outputs);
        let to_cpu = outputs.extract_if(.., |output| self.is_cpu(output.port));
        let packet_ins: Vec<Bytes> = to_cpu.map(|output| output.packet.into()).collect();
        let out = self.collect(lane, packet_ins.into_iter());
        (outcome.map(|()| outputs), out)
    }

    fn process_batch(&self, lane: &mut Lane, bursts: Bursts<'_>) -> (Processed, Outgoing) {
        let Bursts { now, packets, leave, is_due } = bursts;
        let mut processed = Processed::default();
        let mut packet_ins = Vec::new();
        let mut batch = std::mem::take(&mut lane.batch);
        for burst in packets.chunks(BURST) {
            let before = processed.count;
            lane.program.process_batch(burst, now, &mut batch);
            for (position, port, packet) in batch.sent() {
                match self.is_cpu(port) {
                    true => packet_ins.push(Bytes::copy_from_slice(packet)),
                    false => leave(before + position, port, packet),
                }
            }
            let failed = batch.errors().iter();
            let failed = failed.map(|(position, error)| (before + position, error.clone()));
            processed.errors.extend(failed);
            processed.count += burst.len();
            self.change_entries(&lane.program);
            if is_due() {
                break;
            }
        }
        lane.batch = batch;
        (processed, self.collect(lane, packet_ins.into_iter()))
    }

    /// Writes the entry changes that packets requested, in tables with `update = "digest"`. This
    /// replaces the internal controller of a switch with threads, which accepts all changes too.
    fn change_entries(&self, program: &Worker) {
        for change in program.take_entry_changes() {
            // A change whose entry no longer exists has no effect.
            let _ = self.plane.apply_change(&change.to_bytes());
        }
    }

    /// Keeps the messages of packets as events for the owner, and returns them for the controllers.
    fn collect(&self, lane: &mut Lane, packet_ins: impl Iterator<Item = Bytes>) -> Outgoing {
        self.change_entries(&lane.program);
        let mut out = Outgoing::default();
        let mut packet_ins = packet_ins.peekable();
        if packet_ins.peek().is_some() {
            let headers = self.headers(lane);
            for packet in packet_ins {
                let event = match headers.split(packet.clone()) {
                    Ok((metadata, payload)) => {
                        let fields = PacketInMetadata::Fields(metadata.clone());
                        let sent = PacketIn { payload: payload.clone(), metadata: fields, tag: 0 };
                        out.packet_ins.push(sent);
                        Event::PacketIn { payload, metadata }
                    }
                    Err(error) => Event::NoPacketIn { packet, reason: error.to_string() },
                };
                lane.keep(event);
            }
        }
        if lane.program.has_digests() {
            out.digests = self.plane.take_digests();
            for (id, data) in &out.digests {
                lane.keep(Event::Digest(*id, data.clone()));
            }
        }
        out
    }

    /// Sends the messages of packets to the controllers, if there are any.
    fn send(&self, handle: &DeviceHandle, out: Outgoing) {
        if !out.packet_ins.is_empty() {
            // Without a controller, the events suffice.
            let _ = handle.send_batch(out.packet_ins);
        }
        for (id, data) in out.digests {
            handle.digest(id, data);
        }
    }
}

impl Lane {
    fn keep(&mut self, event: Event) {
        if self.events.len() == MOST_EVENTS {
            self.events.pop_front();
            self.lost += 1;
        }
        self.events.push_back(event);
    }
}

/// Runs `work` on a stack as large as that of the threads of a switch.
fn on_large_stack<R>(work: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK, WORKER_STACK_BYTES, work)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
