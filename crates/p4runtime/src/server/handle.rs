//! A served device: its state machine behind a lock, the queues of outgoing messages of its
//! streams, and an observer that is notified of events.
//!
//! Locks are taken in this order: first the session, then the packet-in path. The observer is
//! called with neither lock held, so that its callbacks can send packet-ins.

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

use super::{clock::Clock, timer::Timer};
use crate::{
    arbitration::{RoleKey, StreamId},
    control::SwitchSource,
    conversion,
    decoding::ReceivedWrite,
    gnmi::{FixedPorts, Port, PortSource},
    proto::{
        roles::PacketFilter,
        v1::{self, stream_message_response::Update},
    },
    session::{Device, Durable, Effect, Pipeline, ReadAnswer, passes},
    status::{EntityError, refusal},
    store::Nanos,
};

/// The approximate number of bytes that a packet-in takes in addition to its payload.
const PACKET_IN_BYTES: usize = 64;

/// An observer of a device, whose methods are called by the tasks that serve its streams. A slow
/// observer therefore slows its device down. Every method does nothing by default.
pub trait DeviceObserver: Send + Sync + 'static {
    /// Called when a controller has opened a stream and successfully arbitrated for this device.
    fn stream_opened(&self, _device: &DeviceHandle, _stream: StreamId) {}

    /// Called when a stream of this device has ended.
    fn stream_closed(&self, _device: &DeviceHandle, _stream: StreamId) {}

    /// Called when `stream` has become the primary of a role, or when the role has lost its primary
    /// (`None`). Also called when a primary repeats its election id.
    fn primary_changed(&self, _device: &DeviceHandle, _role: &RoleKey, _stream: Option<StreamId>) {}

    /// Called when the device begins to run another pipeline.
    fn pipeline_committed(&self, _device: &DeviceHandle, _pipeline: &Arc<Pipeline>) {}

    /// Called after a Write request of the primary was executed, with one outcome per update.
    fn written(
        &self,
        _device: &DeviceHandle,
        _request: &v1::WriteRequest,
        _outcomes: &[Result<(), EntityError>],
    ) {
    }

    /// Called with packet-outs in the order of their arrival, after they were checked against the
    /// pipeline. The observer removes from the list the packets that it processes. Packets that
    /// remain in the list are dropped. Payloads and metadata share memory with the received frame.
    fn packet_outs(
        &self,
        _device: &DeviceHandle,
        _stream: StreamId,
        _packets: &mut Vec<v1::PacketOut>,
    ) {
    }

    /// Called when `_count` packet-outs were dropped. `_reason` is the error message that the
    /// controller receives about the first of them, or `None` if
    /// [`DeviceOptions::stream_errors`](crate::session::DeviceOptions) is off.
    fn packet_outs_refused(
        &self,
        _device: &DeviceHandle,
        _count: usize,
        _refusal: PacketOutRefusal,
        _reason: Option<&str>,
    ) {
    }

    /// Called when the packet-in with this tag has been encoded into the buffer that is written to
    /// the socket.
    fn packet_in_sent(&self, _tag: u64) {}

    /// Called when the digest list with this id has been encoded into the buffer that is written to
    /// the socket.
    fn digest_list_sent(&self, _list_id: u64) {}

    /// Called when an idle timeout notification has been encoded into the buffer that is written to
    /// the socket.
    fn idle_timeout_sent(&self, _notification: &v1::IdleTimeoutNotification) {}

    /// Called when a gNMI client has requested samples of its ports at an interval that is shorter
    /// than supported (`_asked`). The device uses the interval `_kept` instead.
    fn sample_interval_raised(&self, _device: &DeviceHandle, _asked: Duration, _kept: Duration) {}

    /// Called with entries that were idle for their timeout, whether or not a controller receives a
    /// notification.
    fn entries_idle(&self, _device: &DeviceHandle, _entries: &[v1::TableEntry]) {}

    /// Called when the primary has acknowledged a digest list. There need not be a list with the
    /// acknowledged id.
    fn digest_acknowledged(&self, _device: &DeviceHandle, _ack: &v1::DigestListAck) {}
}

/// The reason why packet-outs were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutRefusal {
    /// The sender is not the primary.
    NotPrimary,
    /// The device has no pipeline yet.
    NoPipeline,
    /// The metadata of the packet-outs does not fit the pipeline.
    Misfit,
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl DeviceObserver for NoObserver {}

/// A packet for the controllers, which is sent as a packet-in.
#[derive(Clone, Debug)]
pub struct PacketIn {
    /// The packet, starting with its first header.
    pub payload: Bytes,
    /// The fields of the controller header.
    pub metadata: PacketInMetadata,
    /// A tag that is passed to [`DeviceObserver::packet_in_sent`] when the packet is sent.
    pub tag: u64,
}

/// The fields of the controller header of a packet-in.
#[derive(Clone, Debug, PartialEq)]
pub enum PacketInMetadata {
    /// The header's ingress port field has this value, and its other fields are zero. The fields
    /// are those of the pipeline that the device runs when the packet is sent.
    IngressPort(u32),
    /// The header has exactly these fields.
    Fields(Vec<v1::PacketMetadata>),
}

/// The reason why packet-ins cannot be sent at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PacketInError {
    /// The device with this id runs no pipeline, so the fields of packet-ins are unknown.
    #[error("device {0} runs no pipeline; wait until a controller has pushed one")]
    NoPipeline(u64),
    /// No controller of the device with this id receives packet-ins: no role that receives them has
    /// a primary.
    #[error("device {0} has no primary; wait until a controller has arbitrated")]
    NoPrimary(u64),
}

/// A digest list from a data plane that builds its own lists.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestList {
    /// The id of the list. The owner of the device must keep ids unique.
    pub list_id: u64,
    /// The digests in the list.
    pub data: Vec<Data>,
}

/// The reason why digest lists cannot be sent at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DigestError {
    /// No controller has enabled the digest, or the device runs no pipeline that has it.
    #[error(
        "no controller has enabled digest {digest:#x} of device {device}; wait until a controller has \
         written its DigestEntry"
    )]
    NotEnabled {
        /// The id of the device.
        device: u64,
        /// The id of the digest.
        digest: u32,
    },
    /// No controller of the device with this id receives the digest: no role that covers the digest
    /// has a primary.
    #[error("device {0} has no primary for digests; wait until a controller has arbitrated")]
    NoPrimary(u64),
}

/// The error for a notification about idle entries that no controller receives, because no role
/// that covers the table has a primary. The number is the id of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("device {0} has no primary for the table; wait until a controller has arbitrated")]
pub struct IdleTimeoutError(u64);

/// An item in the queue of outgoing messages of a controller's stream.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// The pipeline that defines the fields of all packet-ins after this item.
    Pipeline(Arc<Pipeline>),
    /// The device that the stream belongs to.
    Device(DeviceHandle),
    Message(Box<v1::StreamMessageResponse>),
    Packet(PacketIn),
}

impl Weighed for Outgoing {
    fn bytes(&self) -> usize {
        match self {
            Self::Pipeline(_) | Self::Device(_) => 0,
            Self::Message(message) => message.bytes(),
            // The controller header has only a few fields.
            Self::Packet(packet) => packet.payload.len() + PACKET_IN_BYTES,
        }
    }
}

/// A served device. Clones refer to the same device.
#[derive(Clone)]
pub struct DeviceHandle {
    shared: Arc<Shared>,
}

/// The content of a [`DeviceHandle`], which all of its clones share.
struct Shared {
    id: u64,
    observer: Arc<dyn DeviceObserver>,
    session: Mutex<Session>,
    packet_in: Mutex<PacketInPath>,
    timer: Timer,
    clock: Clock,
    ports: Mutex<Arc<dyn PortSource>>,
    switch: Mutex<Option<Arc<dyn SwitchSource>>>,
}

/// The device, and its open streams.
struct Session {
    device: Device,
    streams: Vec<(StreamId, Arc<Outbox<Outgoing>>)>,
}

/// The streams that receive packet-ins. They have a lock of their own, apart from that of the
/// session, so that sending packet-ins never waits for a large Write.
#[derive(Default)]
struct PacketInPath {
    has_pipeline: bool,
    receivers: Vec<Receiver>,
}

/// A stream that receives packet-ins, and the filter of its role if it has one.
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
    /// Creates a handle for a device, which a server can then serve.
    #[must_use]
    pub fn new(device: Device, observer: Arc<dyn DeviceObserver>) -> Self {
        Self::with_clock(device, observer, Clock::Unix)
    }

    /// Creates a handle for a device whose time is that of `clock`. While that clock stands still,
    /// the owner of the device must call [`DeviceHandle::tick`] when it has advanced the clock.
    #[must_use]
    pub fn with_clock(device: Device, observer: Arc<dyn DeviceObserver>, clock: Clock) -> Self {
        let packet_in =
            PacketInPath { has_pipeline: device.pipeline().is_some(), receivers: Vec::new() };
        Self {
            shared: Arc::new(Shared {
                id: device.id(),
                observer,
                session: Mutex::new(Session { device, streams: Vec::new() }),
                packet_in: Mutex::new(packet_in),
                timer: Timer::default(),
                clock,
                ports: Mutex::new(Arc::new(FixedPorts::default())),
                switch: Mutex::default(),
            }),
        }
    }

    /// Returns the P4Runtime id of the device.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// Returns the pipeline that the device runs.
    #[must_use]
    pub fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.session().device.pipeline().cloned()
    }

    /// Calls `look` with the device's state machine, which stays locked during the call, and
    /// returns the result of `look`.
    pub fn inspect<T>(&self, look: impl FnOnce(&Device) -> T) -> T {
        look(&self.session().device)
    }

    /// Sends one packet-in; see [`DeviceHandle::send_batch`].
    ///
    /// # Errors
    ///
    /// Returns an error if the device runs no pipeline or no controller receives packet-ins.
    pub fn send(&self, packet: PacketIn) -> Result<usize, PacketInError> {
        self.send_batch([packet])
    }

    /// Queues packet-ins for every controller that receives them: the primary of each role with
    /// this right. Each stream is woken once, and encodes the whole batch together.
    ///
    /// Returns the number of packet-ins that were queued for the first of these controllers. The
    /// remaining ones did not fit into its queue and are lost.
    ///
    /// # Errors
    ///
    /// Returns an error if the device runs no pipeline or no controller receives packet-ins.
    pub fn send_batch(
        &self,
        packets: impl IntoIterator<Item = PacketIn>,
    ) -> Result<usize, PacketInError> {
        self.send_when(packets, When::InTurn)
    }

    /// Sends packet-ins like [`DeviceHandle::send_batch`], but encodes and writes them before it
    /// returns, as far as the socket accepts them, instead of when the runtime next polls the
    /// connection. May be called only on the runtime that serves the device.
    ///
    /// # Errors
    ///
    /// Returns an error if the device runs no pipeline or no controller receives packet-ins.
    pub fn send_now(
        &self,
        packets: impl IntoIterator<Item = PacketIn>,
    ) -> Result<usize, PacketInError> {
        self.send_when(packets, When::Now)
    }

    /// Queues packet-ins for all streams that receive them. Returns the number of those that fit
    /// into the queue of the first stream.
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
                // Writing may call back into this handle, so the lock is released first.
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

    /// Returns the number of messages that wait to be sent to the first controller that receives
    /// packet-ins.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.packet_in_path().receivers.first().map_or(0, |receiver| receiver.outbox.waiting())
    }

    /// Returns whether packet-ins wait because the first controller that receives them has not read
    /// earlier ones, so that neither HTTP/2 nor the socket accepts more.
    pub fn refuses(&self) -> bool {
        self.packet_in_path().receivers.first().is_some_and(|receiver| receiver.outbox.refuses())
    }

    /// Passes a digest from the data plane to the session; see [`Device::digest`].
    pub fn digest(&self, digest: DigestId, data: Data) {
        let now = self.now();
        self.change(|device, effects| device.digest(digest, data, now, effects));
    }

    /// Sends digest lists immediately and unchanged. A `DigestEntry` permits a data plane to bundle
    /// digests, to delay them, and to omit those that were sent before, but it does not require
    /// this, and this method does none of it. The ids must differ from those of lists that
    /// [`DeviceHandle::digest`] creates, so use only one of the two methods.
    ///
    /// Returns the number of lists that were queued for the first controller that receives them.
    /// The remaining ones did not fit into its queue and are lost. Like [`DeviceHandle::send_now`],
    /// this method writes before it returns, and may be called only on the runtime that serves the
    /// device.
    ///
    /// # Errors
    ///
    /// Returns an error if no controller receives the lists.
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
        // Writing may call back into this handle, so the lock is released first.
        drop(session);
        let timestamp = self.shared.clock.timestamp();
        let message = |list: DigestList| {
            let data = list.data.iter().map(conversion::data::message).collect();
            let (digest_id, list_id) = (digest.0, list.list_id);
            Update::Digest(v1::DigestList { digest_id, list_id, data, timestamp })
        };
        send_to_all(&receivers, lists, message).ok_or(DigestError::NoPrimary(self.shared.id))
    }

    /// Applies updates of table entries that packets caused; see [`Device::write_from_data_plane`].
    pub fn write_from_data_plane(&self, updates: &[v1::Update]) -> Vec<Result<(), EntityError>> {
        self.change(|device, _| device.write_from_data_plane(updates, self.now()))
    }

    /// Notifies controllers that entries of a table have been idle, with one notification per
    /// entry. This is for a data plane that watches its entries itself. The entries are sent
    /// unchanged.
    ///
    /// Returns the number of notifications that were queued for the first controller that receives
    /// them. The remaining ones did not fit into its queue and are lost. Like
    /// [`DeviceHandle::send_now`], this method writes before it returns, and may be called only on
    /// the runtime that serves the device.
    ///
    /// # Errors
    ///
    /// Returns an error if no controller is the primary of a role that covers the table.
    pub fn send_idle_timeouts(
        &self,
        table: TableId,
        entries: impl IntoIterator<Item = v1::TableEntry>,
    ) -> Result<usize, IdleTimeoutError> {
        let session = self.session();
        let receivers = outboxes(&session, session.device.idle_timeout_receivers(table));
        drop(session);
        let timestamp = self.shared.clock.timestamp();
        let message = |entry: v1::TableEntry| {
            let table_entry = vec![entry];
            Update::IdleTimeoutNotification(v1::IdleTimeoutNotification { table_entry, timestamp })
        };
        send_to_all(&receivers, entries, message).ok_or(IdleTimeoutError(self.shared.id))
    }

    /// Sends a message, without any check, to the controllers that receive packet-ins. This allows
    /// tests of how controllers react to messages that no switch should send. Like
    /// [`DeviceHandle::send_now`], this method writes before it returns, and may be called only on
    /// the runtime that serves the device. Returns whether the queue of any of these controllers
    /// accepted the message.
    pub fn send_unchecked(&self, message: v1::StreamMessageResponse) -> bool {
        let outboxes: Vec<_> =
            self.packet_in_path().receivers.iter().map(|one| Arc::clone(&one.outbox)).collect();
        let messages = || [Outgoing::Message(Box::new(message.clone()))];
        outboxes.iter().map(|outbox| outbox.push_all(messages(), When::Now)).sum::<usize>() > 0
    }

    /// Sets a fixed list of ports, which gNMI clients see.
    pub fn set_ports(&self, ports: Vec<Port>) {
        self.set_port_source(Arc::new(FixedPorts { ports, ..FixedPorts::default() }));
    }

    /// Sets the source of the ports that gNMI clients see. Must be called before the device is
    /// served: earlier subscribers do not see the new source's ports.
    pub fn set_port_source(&self, source: Arc<dyn PortSource>) {
        *self.shared.ports.lock().unwrap_or_else(PoisonError::into_inner) = source;
    }

    /// Sets the source of the device's queues, which also runs injected packets. A device without
    /// such a source answers requests for either with UNIMPLEMENTED.
    pub fn set_switch_source(&self, source: Arc<dyn SwitchSource>) {
        *self.shared.switch.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
    }

    pub(crate) fn switch_source(&self) -> Option<Arc<dyn SwitchSource>> {
        self.shared.switch.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn ports(&self) -> Arc<dyn PortSource> {
        Arc::clone(&self.shared.ports.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notifies the observer that a gNMI subscription is sampled less often than its client
    /// requested.
    pub(crate) fn sample_interval_raised(&self, asked: Duration, kept: Duration) {
        self.shared.observer.sample_interval_raised(self, asked, kept);
    }

    /// Applies a change to the device's state machine, then performs the effects of the change and
    /// notifies the observer.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Device, &mut Vec<Effect>) -> T) -> T {
        let (result, effects) = self.change_without_notifying(change);
        self.notify(effects);
        result
    }

    /// Applies a change like [`DeviceHandle::change`], but does not notify the observer: the caller
    /// must do so with the returned effects.
    fn change_without_notifying<T>(
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

    /// Handles the first message of a stream: registers the stream's outbox, then arbitrates.
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
        let (accepted, effects) = self.change_without_notifying(|device, effects| {
            device.stream_message(stream, request, effects);
            device.arbitration().role_of(stream).is_some()
        });
        if accepted {
            self.shared.observer.stream_opened(self, stream);
        }
        self.notify(effects);
    }

    /// Handles the end of a stream that had been opened.
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

    /// Handles a message of an open stream that is not a packet-out.
    pub(super) fn message(&self, stream: StreamId, request: v1::StreamMessageRequest) {
        self.change(|device, effects| device.stream_message(stream, request, effects));
    }

    /// Handles all packet-outs in the list, which have arrived on one stream, and empties the list.
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
            let outcomes = device.write_encoded(request, Some(encoded), self.now());
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
        let outcome = session.device.read(request, self.now());
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

    /// Performs those of `effects` that send messages and close streams. The session stays locked,
    /// so that two threads cannot send two arbitration results in the wrong order. Leaves in
    /// `effects` those of which the observer must be notified.
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
                Effect::PacketOut { .. } | Effect::DigestAcknowledged(_) | Effect::Idle(_) => {}
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

    fn notify(&self, effects: Vec<Effect>) {
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
                Effect::Idle(entries) => observer.entries_idle(self, &entries),
                Effect::Send { .. } | Effect::Close { .. } => {}
            }
        }
    }

    /// Performs all actions whose time has come, such as the expiry of idle entries. Returns the
    /// time at which this method must be called next. A server calls it, unless the clock of the
    /// device stands still.
    pub fn tick(&self) -> Option<Nanos> {
        let mut effects = Vec::new();
        let mut session = self.session();
        session.device.tick(self.now(), &mut effects);
        let deadline = session.device.deadline();
        self.apply(&mut session, &mut effects);
        drop(session);
        self.notify(effects);
        deadline
    }

    /// Returns the time of the device's clock.
    pub(super) fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// Returns the clock of the device.
    pub(super) fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// Writes entities on behalf of the device's owner, which need not be a controller. Returns an
    /// outcome for each update. Nothing is recorded in the log.
    ///
    /// # Errors
    ///
    /// Returns an error if the device runs no pipeline.
    pub fn write_as_owner(
        &self,
        updates: &[v1::Update],
        atomicity: v1::write_request::Atomicity,
    ) -> Result<Vec<Result<(), EntityError>>, EntityError> {
        self.change(|device, _| device.write_as_owner(updates, atomicity, self.now()))
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

/// The answer to a request that was executed. It may have to wait until the changes of the request
/// are durable.
pub(super) struct Answer {
    outcome: Result<(), Status>,
    /// A future for which the answer must wait, and which completes when the log is durable. `None`
    /// if the answer can be sent immediately.
    durable: Option<Durable>,
}

impl Answer {
    /// Creates the answer to a request that succeeded completely. It waits for `durable`, if that
    /// is not `None`.
    pub(super) fn done(durable: Option<Durable>) -> Self {
        Self { outcome: Ok(()), durable }
    }

    /// Waits until the changes of the request are durable, and returns the outcome of the request.
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
                PacketInMetadata::Fields(fields) => passes(filter, fields),
                PacketInMetadata::IngressPort(port) => pipeline
                    .packet_in()
                    .is_some_and(|layout| passes(filter, &layout.metadata(*port))),
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

/// Sends the items to each receiver, each item in a message of its own. Returns the number of items
/// that the first receiver accepted, or `None` if there is no receiver.
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

fn send(session: &Session, to: StreamId, message: v1::StreamMessageResponse) {
    let Some(outbox) = find(session, to) else { return };
    // Queues must be bounded, so errors, idle notifications and digests may be lost if a controller
    // does not read. The specification allows this for the first two, and a digest list whose
    // acknowledgement is missing is sent again. Arbitration results are few and must not be lost.
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

/// Returns the error message that a controller receives for a refused message on its stream.
fn stream_error(effect: &Effect) -> Option<String> {
    match effect {
        Effect::Send { message, .. } => match &message.update {
            Some(Update::Error(error)) => Some(error.message.clone()),
            _ => None,
        },
        _ => None,
    }
}
