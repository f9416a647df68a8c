//! A device that is being served: the state machine behind a lock, its streams' outboxes, and the
//! owner who is told what happens.
//!
//! Lock order: the session first, then the packet-in path. The owner is called with neither held,
//! so that an observer may send packet-ins from within its callbacks.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use entities::{
    Data,
    schema::{DigestId, TableId},
};
use grpc::{Outbox, Weighed, When};
use thiserror::Error;
use tonic::Status;

use super::{clock, timer::Timer};
use crate::{
    arbitration::{RoleKey, StreamId},
    conversion,
    decoding::ReceivedWrite,
    gnmi::{FixedPorts, Port, PortSource},
    proto::v1::{self, stream_message_response::Update},
    session::{Device, Durable, Effect, PacketFilter, Pipeline, ReadAnswer},
    status::{EntityError, refusal},
    store::Nanos,
};

/// About what a packet-in has besides its payload.
const PACKET_IN_BYTES: usize = 64;

/// What the owner of a device hears of it. Every method does nothing unless overridden. Calls
/// come from the tasks that serve the streams, so a slow observer slows its device.
pub trait DeviceObserver: Send + Sync + 'static {
    /// A controller has opened a stream and arbitrated for this device with success.
    fn stream_opened(&self, _device: &DeviceHandle, _stream: StreamId) {}

    /// A stream of this device has ended.
    fn stream_closed(&self, _device: &DeviceHandle, _stream: StreamId) {}

    /// The primary of a role is now `stream`, or nobody. Told again when a primary repeats its
    /// election id.
    fn primary_changed(&self, _device: &DeviceHandle, _role: &RoleKey, _stream: Option<StreamId>) {}

    /// The device runs another pipeline from now on.
    fn pipeline_committed(&self, _device: &DeviceHandle, _pipeline: &Arc<Pipeline>) {}

    /// A Write request of the primary was carried out, with one outcome for each update.
    fn written(
        &self,
        _device: &DeviceHandle,
        _request: &v1::WriteRequest,
        _outcomes: &[Result<(), EntityError>],
    ) {
    }

    /// Packet-outs arrived, in their order, checked against the pipeline. What is left in the
    /// list afterwards is dropped; payloads and metadata share memory with the received frame.
    fn packet_outs(
        &self,
        _device: &DeviceHandle,
        _stream: StreamId,
        _packets: &mut Vec<v1::PacketOut>,
    ) {
    }

    /// So many packet-outs were dropped. The reason is that of the first, as the controller hears
    /// it; there is none if [`DeviceOptions::stream_errors`](crate::session::DeviceOptions) is off.
    fn packet_outs_refused(
        &self,
        _device: &DeviceHandle,
        _count: usize,
        _refusal: PacketOutRefusal,
        _reason: Option<&str>,
    ) {
    }

    /// A packet-in with this tag is being encoded into the buffer that goes to the socket.
    fn packet_in_sent(&self, _tag: u64) {}

    /// A list of digests with this id is being encoded into the buffer that goes to the socket.
    fn digest_list_sent(&self, _list_id: u64) {}

    /// A notification of idle entries is being encoded into the buffer that goes to the socket.
    fn idle_timeout_sent(&self, _notification: &v1::IdleTimeoutNotification) {}

    /// A client of gNMI asked for samples of its ports at a shorter interval than is kept.
    fn sample_interval_raised(&self, _device: &DeviceHandle, _asked: Duration, _kept: Duration) {}

    /// The primary acknowledged a list of digests. That there is one with this id was not checked.
    fn digest_acknowledged(&self, _device: &DeviceHandle, _ack: &v1::DigestListAck) {}
}

/// Why packet-outs were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutRefusal {
    /// Their sender is not primary.
    NotPrimary,
    /// The device has no pipeline yet.
    NoPipeline,
    /// They do not fit the pipeline.
    Misfit,
}

/// An owner that wants to hear nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl DeviceObserver for NoObserver {}

/// A packet for the controller.
#[derive(Clone, Debug)]
pub struct PacketIn {
    /// The packet, from its first header.
    pub payload: Bytes,
    /// The fields of the controller header.
    pub metadata: PacketInMetadata,
    /// Handed to [`DeviceObserver::packet_in_sent`] when the packet leaves.
    pub tag: u64,
}

/// The fields of the controller header of a packet-in.
#[derive(Clone, Debug, PartialEq)]
pub enum PacketInMetadata {
    /// The field for the ingress port has this value, all others are zero. Resolved by the
    /// pipeline that the device runs when the packet leaves.
    IngressPort(u32),
    /// These fields and no others.
    Fields(Vec<v1::PacketMetadata>),
}

/// Why packet-ins cannot be sent at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PacketInError {
    /// The device runs no pipeline, so packet-ins have no form yet.
    #[error("device {0} runs no pipeline; wait until a controller has pushed one")]
    NoPipeline(u64),
    /// No controller is primary of a role that receives packet-ins.
    #[error("device {0} has no primary; wait until a controller has arbitrated")]
    NoPrimary(u64),
}

/// A list of digests from a data plane that makes its own lists.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestList {
    /// Unique among the lists of the device, which is up to its owner.
    pub list_id: u64,
    /// What was learned.
    pub data: Vec<Data>,
}

/// Why lists of digests cannot be sent at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The controller has not enabled the digest, or the device runs no pipeline that has it.
    #[error(
        "nobody has enabled digest {digest:#x} of device {device}; wait until a controller has \
         written its DigestEntry"
    )]
    NotEnabled {
        /// The device.
        device: u64,
        /// The id of the digest.
        digest: u32,
    },
    /// No controller is primary of a role that covers the digest.
    #[error("device {0} has no primary for digests; wait until a controller has arbitrated")]
    NoPrimary(u64),
}

/// No controller is primary of a role that covers the table whose entries were idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("device {0} has no primary for the table; wait until a controller has arbitrated")]
pub struct IdleTimeoutError(u64);

/// What waits in a stream's outbox.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// From here on packet-ins take the form of this pipeline.
    Pipeline(Arc<Pipeline>),
    /// The stream has found its device.
    Device(DeviceHandle),
    Message(Box<v1::StreamMessageResponse>),
    Packet(PacketIn),
}

impl Weighed for Outgoing {
    fn bytes(&self) -> usize {
        match self {
            Self::Pipeline(_) | Self::Device(_) => 0,
            Self::Message(message) => message.bytes(),
            // Its controller header is a few fields.
            Self::Packet(packet) => packet.payload.len() + PACKET_IN_BYTES,
        }
    }
}

/// A device that is being served. Clones mean the same device.
#[derive(Clone)]
pub struct DeviceHandle {
    shared: Arc<Shared>,
}

struct Shared {
    id: u64,
    observer: Arc<dyn DeviceObserver>,
    session: Mutex<Session>,
    packet_in: Mutex<PacketInPath>,
    timer: Timer,
    ports: Mutex<Arc<dyn PortSource>>,
}

struct Session {
    device: Device,
    streams: Vec<(StreamId, Arc<Outbox<Outgoing>>)>,
}

/// Where packet-ins go: kept apart from the session, so that sending them never waits for a
/// large Write.
#[derive(Default)]
struct PacketInPath {
    has_pipeline: bool,
    receivers: Vec<Receiver>,
}

struct Receiver {
    outbox: Arc<Outbox<Outgoing>>,
    filter: Option<(PacketFilter, Arc<Pipeline>)>,
}

impl fmt::Debug for DeviceHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DeviceHandle").field("id", &self.shared.id).finish_non_exhaustive()
    }
}

impl DeviceHandle {
    /// Makes a device ready to be served.
    #[must_use]
    pub fn new(device: Device, observer: Arc<dyn DeviceObserver>) -> Self {
        let packet_in =
            PacketInPath { has_pipeline: device.pipeline().is_some(), receivers: Vec::new() };
        Self {
            shared: Arc::new(Shared {
                id: device.id(),
                observer,
                session: Mutex::new(Session { device, streams: Vec::new() }),
                packet_in: Mutex::new(packet_in),
                timer: Timer::default(),
                ports: Mutex::new(Arc::new(FixedPorts::default())),
            }),
        }
    }

    /// The device id.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// The pipeline that the device runs.
    #[must_use]
    pub fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.session().device.pipeline().cloned()
    }

    /// Looks at the state machine, which stays locked meanwhile.
    pub fn inspect<T>(&self, look: impl FnOnce(&Device) -> T) -> T {
        look(&self.session().device)
    }

    /// Sends one packet-in; see [`DeviceHandle::send_batch`].
    ///
    /// # Errors
    ///
    /// When nobody could receive it.
    pub fn send(&self, packet: PacketIn) -> Result<usize, PacketInError> {
        self.send_batch([packet])
    }

    /// Queues packet-ins for the primary of every role that receives them, and returns how many
    /// were queued for the first of them; the rest did not fit its queue and are lost. The
    /// whole batch wakes the stream once and is encoded together.
    ///
    /// # Errors
    ///
    /// When nobody could receive them.
    pub fn send_batch(
        &self,
        packets: impl IntoIterator<Item = PacketIn>,
    ) -> Result<usize, PacketInError> {
        self.send_when(packets, When::InTurn)
    }

    /// As [`DeviceHandle::send_batch`], but the packet-ins are encoded and written before this
    /// returns, as far as the socket takes them, instead of when the runtime comes to the
    /// connection. Only for use on the runtime that serves the device.
    ///
    /// # Errors
    ///
    /// When nobody could receive them.
    pub fn send_now(
        &self,
        packets: impl IntoIterator<Item = PacketIn>,
    ) -> Result<usize, PacketInError> {
        self.send_when(packets, When::Now)
    }

    fn send_when(
        &self,
        packets: impl IntoIterator<Item = PacketIn>,
        when: When,
    ) -> Result<usize, PacketInError> {
        let path = self.packet_in_path();
        if !path.has_pipeline {
            return Err(PacketInError::NoPipeline(self.shared.id));
        }
        match path.receivers.as_slice() {
            [] => Err(PacketInError::NoPrimary(self.shared.id)),
            [only] if only.filter.is_none() => {
                let outbox = Arc::clone(&only.outbox);
                // To write may lead back here.
                drop(path);
                Ok(outbox.push_all(packets.into_iter().map(Outgoing::Packet), when))
            }
            receivers => {
                let packets: Vec<_> = packets.into_iter().collect();
                let of_each = |receiver: &Receiver| {
                    let passing = packets.iter().filter(|packet| receiver.receives(packet));
                    (Arc::clone(&receiver.outbox), passing.cloned().collect::<Vec<_>>())
                };
                let batches: Vec<_> = receivers.iter().map(of_each).collect();
                drop(path);
                let queued = batches
                    .into_iter()
                    .map(|(outbox, batch)| {
                        outbox.push_all(batch.into_iter().map(Outgoing::Packet), when)
                    })
                    .collect::<Vec<_>>();
                Ok(queued.first().copied().unwrap_or_default())
            }
        }
    }

    /// Packet-ins and other messages that wait to be sent to the first receiver of packet-ins.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.packet_in_path().receivers.first().map_or(0, |receiver| receiver.outbox.waiting())
    }

    /// Whether packet-ins wait that the stream refused: the controller has not read what was sent
    /// before, so that neither HTTP/2 nor the socket takes more.
    pub fn refuses(&self) -> bool {
        self.packet_in_path().receivers.first().is_some_and(|receiver| receiver.outbox.refuses())
    }

    /// Hands in what the data plane learned; see [`Device::digest`].
    pub fn digest(&self, digest: DigestId, data: Data) {
        self.change(|device, effects| device.digest(digest, data, clock::now(), effects));
    }

    /// Sends lists of digests at once, each as it is: nothing is bundled, delayed or left out
    /// because it was sent before, which a `DigestEntry` permits a data plane and does not demand.
    /// The ids must not meet those of lists that [`DeviceHandle::digest`] makes, so use one of the
    /// two. Returns how many lists were queued for the first receiver; the rest did not fit its
    /// queue and are lost. As with [`DeviceHandle::send_now`], they are written before this
    /// returns, and it is only for use on the runtime that serves the device.
    ///
    /// # Errors
    ///
    /// When nobody would receive them.
    pub fn send_digest_lists(
        &self,
        digest: DigestId,
        lists: impl IntoIterator<Item = DigestList>,
    ) -> Result<usize, DigestError> {
        let session = self.session();
        if !session.device.is_digest_enabled(digest) {
            return Err(DigestError::NotEnabled { device: self.shared.id, digest: digest.0 });
        }
        let receivers = outboxes(&session, session.device.digest_receivers(digest));
        // To write may lead back here.
        drop(session);
        let message = |list: DigestList| {
            let data = list.data.iter().map(conversion::data::message).collect();
            let (digest_id, list_id) = (digest.0, list.list_id);
            Update::Digest(v1::DigestList { digest_id, list_id, data, timestamp: timestamp() })
        };
        send_to_all(&receivers, lists, message).ok_or(DigestError::NoPrimary(self.shared.id))
    }

    /// Changes entities as packets do; see [`Device::write_from_data_plane`].
    pub fn write_from_data_plane(&self, updates: &[v1::Update]) -> Vec<Result<(), EntityError>> {
        self.change(|device, _| device.write_from_data_plane(updates, clock::now()))
    }

    /// Tells that entries of a table have been idle, each in a notification of its own, for a data
    /// plane that watches its entries itself. The entries are sent as they are. Returns how many
    /// notifications were queued for the first receiver; the rest did not fit its queue and are
    /// lost. As with [`DeviceHandle::send_now`], they are written before this returns, and it is
    /// only for use on the runtime that serves the device.
    ///
    /// # Errors
    ///
    /// When no controller is primary of a role that covers the table.
    pub fn send_idle_timeouts(
        &self,
        table: TableId,
        entries: impl IntoIterator<Item = v1::TableEntry>,
    ) -> Result<usize, IdleTimeoutError> {
        let session = self.session();
        let receivers = outboxes(&session, session.device.idle_timeout_receivers(table));
        drop(session);
        let message = |entry: v1::TableEntry| {
            let (table_entry, timestamp) = (vec![entry], timestamp());
            Update::IdleTimeoutNotification(v1::IdleTimeoutNotification { table_entry, timestamp })
        };
        send_to_all(&receivers, entries, message).ok_or(IdleTimeoutError(self.shared.id))
    }

    /// Sends a message as it is to whoever receives packet-ins, so that a controller can be shown one that no switch
    /// should send. Nothing is checked. As with [`DeviceHandle::send_now`], it is written before this returns, and it is
    /// only for use on the runtime that serves the device. Returns whether there was anybody to send it to.
    pub fn send_unchecked(&self, message: v1::StreamMessageResponse) -> bool {
        let outboxes: Vec<_> =
            self.packet_in_path().receivers.iter().map(|one| Arc::clone(&one.outbox)).collect();
        let messages = || [Outgoing::Message(Box::new(message.clone()))];
        outboxes.iter().map(|outbox| outbox.push_all(messages(), When::Now)).sum::<usize>() > 0
    }

    /// Tells these ports to clients that ask for them over gNMI.
    pub fn set_ports(&self, ports: Vec<Port>) {
        self.set_port_source(Arc::new(FixedPorts { ports, ..FixedPorts::default() }));
    }

    /// Says who has the ports that clients ask for over gNMI. To be said before the device is
    /// served: whoever subscribed before hears nothing of them.
    pub fn set_port_source(&self, source: Arc<dyn PortSource>) {
        *self.shared.ports.lock().unwrap_or_else(PoisonError::into_inner) = source;
    }

    pub(crate) fn ports(&self) -> Arc<dyn PortSource> {
        Arc::clone(&self.shared.ports.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the owner that a subscription over gNMI is sampled less often than its client asked.
    pub(crate) fn sample_interval_raised(&self, asked: Duration, kept: Duration) {
        self.shared.observer.sample_interval_raised(self, asked, kept);
    }

    /// Carries out a change of the state machine and what follows from it.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Device, &mut Vec<Effect>) -> T) -> T {
        let (result, effects) = self.change_untold(change);
        self.tell(effects);
        result
    }

    /// As [`DeviceHandle::change`], but the owner has yet to be told of the effects.
    fn change_untold<T>(
        &self,
        change: impl FnOnce(&mut Device, &mut Vec<Effect>) -> T,
    ) -> (T, Vec<Effect>) {
        let mut effects = Vec::new();
        let mut session = self.session();
        let result = change(&mut session.device, &mut effects);
        let deadline = session.device.deadline();
        self.apply(&mut session, &mut effects);
        drop(session);
        self.shared.timer.set(self, deadline);
        (result, effects)
    }

    /// The first message of a stream: enters its outbox, then arbitrates.
    pub(super) fn open(
        &self,
        stream: StreamId,
        outbox: &Arc<Outbox<Outgoing>>,
        request: v1::StreamMessageRequest,
    ) {
        let mut session = self.session();
        session.streams.push((stream, Arc::clone(outbox)));
        outbox.push_always(Outgoing::Device(self.clone()));
        if let Some(pipeline) = session.device.pipeline() {
            outbox.push_always(Outgoing::Pipeline(Arc::clone(pipeline)));
        }
        drop(session);
        let (accepted, effects) = self.change_untold(|device, effects| {
            device.stream_message(stream, request, effects);
            device.arbitration().role_of(stream).is_some()
        });
        if accepted {
            self.shared.observer.stream_opened(self, stream);
        }
        self.tell(effects);
    }

    /// The end of a stream that was opened.
    pub(super) fn closed(&self, stream: StreamId) {
        let known = self.change(|device, effects| {
            let known = device.arbitration().role_of(stream).is_some();
            device.stream_closed(stream, effects);
            known
        });
        self.session().streams.retain(|(open, _)| *open != stream);
        if known {
            self.shared.observer.stream_closed(self, stream);
        }
    }

    /// Any further message but a packet-out.
    pub(super) fn message(&self, stream: StreamId, request: v1::StreamMessageRequest) {
        self.change(|device, effects| device.stream_message(stream, request, effects));
    }

    /// Packet-outs, as many as are there; the list is empty afterwards.
    pub(super) fn packet_outs(&self, stream: StreamId, packets: &mut Vec<v1::PacketOut>) {
        if packets.is_empty() {
            return;
        }
        let arrived = packets.len();
        let mut effects = Vec::new();
        let mut session = self.session();
        let refusal = match session.device.pipeline() {
            _ if !session.device.arbitration().is_primary(stream) => PacketOutRefusal::NotPrimary,
            None => PacketOutRefusal::NoPipeline,
            Some(_) => PacketOutRefusal::Misfit,
        };
        session.device.packet_outs(stream, packets, &mut effects);
        let refused = arrived - packets.len();
        let reason = effects.iter().find_map(stream_error);
        self.apply(&mut session, &mut effects);
        drop(session);
        if refused > 0 {
            let observer = &self.shared.observer;
            observer.packet_outs_refused(self, refused, refusal, reason.as_deref());
        }
        if !packets.is_empty() {
            self.shared.observer.packet_outs(self, stream, packets);
            packets.clear();
        }
    }

    pub(super) fn write(&self, received: &ReceivedWrite) -> Result<Answer, Status> {
        let ReceivedWrite { request, encoded } = received;
        let (outcomes, durable) = self.change(|device, _| {
            let outcomes = device.write_encoded(request, Some(encoded), clock::now());
            (outcomes, device.durable())
        });
        let outcomes = outcomes.map_err(|error| refusal(&error))?;
        self.shared.observer.written(self, request, &outcomes);
        let status = crate::status::batch_status(&outcomes);
        let outcome = status.map_err(|status| crate::status::to_grpc(&status));
        Ok(Answer { outcome, durable })
    }

    pub(super) fn read(&self, request: v1::ReadRequest) -> Result<ReadAnswer, Status> {
        let session = self.session();
        let outcome = session.device.read(request, clock::now());
        outcome.map_err(|error| refusal(&error))
    }

    pub(super) fn get_pipeline(
        &self,
        request: &v1::GetForwardingPipelineConfigRequest,
    ) -> Result<v1::GetForwardingPipelineConfigResponse, Status> {
        let outcome = self.session().device.get_pipeline(request);
        outcome.map_err(|error| refusal(&error))
    }

    pub(super) fn sent(&self, tag: u64) {
        self.shared.observer.packet_in_sent(tag);
    }

    pub(super) fn digest_list_sent(&self, list_id: u64) {
        self.shared.observer.digest_list_sent(list_id);
    }

    pub(super) fn idle_timeout_sent(&self, notification: &v1::IdleTimeoutNotification) {
        self.shared.observer.idle_timeout_sent(notification);
    }

    /// Sends and closes under the session's lock, so that two threads cannot send two
    /// arbitration results in the wrong order. What the owner is to be told stays in `effects`.
    fn apply(&self, session: &mut Session, effects: &mut Vec<Effect>) {
        let mut receivers_changed = false;
        effects.retain_mut(|effect| {
            match effect {
                Effect::Send { to, message } => {
                    send(session, *to, mem::take(message));
                    return false;
                }
                Effect::Close { stream, error } => {
                    if let Some(outbox) = find(session, *stream) {
                        outbox.end(Some(refusal(error)));
                    }
                    return false;
                }
                Effect::PipelineCommitted(pipeline) => {
                    for (_, outbox) in &session.streams {
                        outbox.push_always(Outgoing::Pipeline(Arc::clone(pipeline)));
                    }
                    receivers_changed = true;
                }
                Effect::Primary { .. } => receivers_changed = true,
                Effect::PacketOut { .. } | Effect::DigestAcknowledged(_) => {}
            }
            true
        });
        if receivers_changed {
            let arbitration = session.device.arbitration();
            for (stream, outbox) in &session.streams {
                outbox.set_primary(arbitration.is_primary(*stream));
            }
            let pipeline = session.device.pipeline();
            let receiver = |(stream, filter): (StreamId, Option<&PacketFilter>)| {
                Some(Receiver {
                    outbox: Arc::clone(find(session, stream)?),
                    filter: filter.cloned().zip(pipeline.cloned()),
                })
            };
            let receivers = session.device.packet_in_receivers().filter_map(receiver).collect();
            let path = PacketInPath { has_pipeline: pipeline.is_some(), receivers };
            *self.packet_in_path() = path;
        }
    }

    fn tell(&self, effects: Vec<Effect>) {
        let observer = &self.shared.observer;
        for effect in effects {
            match effect {
                Effect::Primary { role, stream } => observer.primary_changed(self, &role, stream),
                Effect::PipelineCommitted(pipeline) => {
                    observer.pipeline_committed(self, &pipeline);
                }
                Effect::PacketOut { from, packet } => {
                    observer.packet_outs(self, from, &mut vec![packet]);
                }
                Effect::DigestAcknowledged(ack) => observer.digest_acknowledged(self, &ack),
                Effect::Send { .. } | Effect::Close { .. } => {}
            }
        }
    }

    /// Runs what is due and returns when to come again.
    pub(super) fn tick(&self) -> Option<Nanos> {
        let mut effects = Vec::new();
        let mut session = self.session();
        session.device.tick(clock::now(), &mut effects);
        let deadline = session.device.deadline();
        self.apply(&mut session, &mut effects);
        drop(session);
        self.tell(effects);
        deadline
    }

    pub(super) fn timer(&self) -> &Timer {
        &self.shared.timer
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.shared.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn packet_in_path(&self) -> MutexGuard<'_, PacketInPath> {
        self.shared.packet_in.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to a request that was carried out.
pub(super) struct Answer {
    outcome: Result<(), Status>,
    /// What it has to wait for.
    durable: Option<Durable>,
}

impl Answer {
    /// The answer to a request of which all was carried out.
    pub(super) fn done(durable: Option<Durable>) -> Self {
        Self { outcome: Ok(()), durable }
    }

    /// Waits until what was carried out is kept, and returns the outcome.
    pub(super) async fn kept(self) -> Result<(), Status> {
        if let Some(durable) = self.durable {
            durable.await.map_err(|error| refusal(&error))?;
        }
        self.outcome
    }
}

impl Receiver {
    fn receives(&self, packet: &PacketIn) -> bool {
        match &self.filter {
            None => true,
            Some((filter, pipeline)) => match &packet.metadata {
                PacketInMetadata::Fields(fields) => filter.passes(fields),
                PacketInMetadata::IngressPort(port) => pipeline
                    .packet_in()
                    .is_some_and(|layout| filter.passes(&layout.metadata(*port))),
            },
        }
    }
}

fn find(session: &Session, stream: StreamId) -> Option<&Arc<Outbox<Outgoing>>> {
    session.streams.iter().find(|(open, _)| *open == stream).map(|(_, outbox)| outbox)
}

fn outboxes(
    session: &Session,
    streams: impl Iterator<Item = StreamId>,
) -> Vec<Arc<Outbox<Outgoing>>> {
    streams.filter_map(|stream| find(session, stream)).map(Arc::clone).collect()
}

/// Sends each item to each receiver in a message of its own, and returns how many the first one took; `None` without a
/// receiver.
fn send_to_all<T: Clone>(
    receivers: &[Arc<Outbox<Outgoing>>],
    items: impl IntoIterator<Item = T>,
    update: impl Fn(T) -> Update,
) -> Option<usize> {
    let message = |item| {
        let update = Some(update(item));
        Outgoing::Message(Box::new(v1::StreamMessageResponse { update }))
    };
    let (first, others) = receivers.split_first()?;
    if others.is_empty() {
        return Some(first.push_all(items.into_iter().map(message), When::Now));
    }
    let items: Vec<_> = items.into_iter().collect();
    let queued = first.push_all(items.iter().cloned().map(message), When::Now);
    for outbox in others {
        outbox.push_all(items.iter().cloned().map(message), When::Now);
    }
    Some(queued)
}

/// Now, as messages of the data plane carry it.
fn timestamp() -> i64 {
    i64::try_from(clock::now().0).unwrap_or(i64::MAX)
}

fn send(session: &Session, to: StreamId, message: v1::StreamMessageResponse) {
    let Some(outbox) = find(session, to) else { return };
    // Errors, idle notifications and digests may be lost when a controller does not read: the
    // specification says so of the first two, and of digests that a list whose acknowledgement
    // does not come is sent again. What waits for a controller must have an end. Arbitration
    // results are few, and may not be lost.
    let may_be_lost = matches!(
        message.update,
        Some(Update::Error(_) | Update::IdleTimeoutNotification(_) | Update::Digest(_))
    );
    let item = Outgoing::Message(Box::new(message));
    if may_be_lost {
        outbox.push_all([item], When::InTurn);
    } else {
        outbox.push_always(item);
    }
}

/// What a controller is told about a message of its stream that was refused.
fn stream_error(effect: &Effect) -> Option<String> {
    match effect {
        Effect::Send { message, .. } => match &message.update {
            Some(Update::Error(error)) => Some(error.message.clone()),
            _ => None,
        },
        _ => None,
    }
}
