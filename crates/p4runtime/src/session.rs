//! One device as controllers see it: a state machine without sockets and without a clock.
//!
//! This module makes every decision of a P4Runtime server: which controller is primary, what a
//! request writes, and which message goes to which stream. Messages and the time come in as
//! arguments; messages to send and streams to close come out as [`Effect`]s. The surrounding server
//! only moves bytes, so the rules of the specification can be tested without it.
//!
//! Time is in [`Nanos`] since the Unix epoch, from a clock that never goes backwards.

mod answer;
mod config;
mod digest;
mod entities;
mod initial;
mod loading;
mod log;
mod pipeline;
mod role;
#[cfg(test)]
mod tests;

use std::{
    mem,
    sync::{Arc, Weak},
    time::Duration,
};

use ::entities::{
    Data, Target,
    schema::{DigestId, TableId},
};
use prost_types::Any;

pub(crate) use self::role::passes;
pub use self::{
    answer::{MAX_OPEN_READS, MAX_READ_BYTES, ReadAnswer, ReadMessage, ReadStep},
    config::PushProgress,
    loading::{LoadedPipeline, PipelineLoad, Rehearsal, too_slow},
    log::{Durable, StateVisitor, WriteLog, Written},
    pipeline::{Pipeline, PipelineRegistry},
    role::RoleConfigError,
};
use self::{config::Loaded, digest::Digests, role::RoleAccess};
use crate::{
    arbitration::{Arbitration, ElectionMemory, Notification, PrimaryChange, RoleKey, StreamId},
    emulated::EmulatedTarget,
    packet_io::{ByteString, MissingMetadata},
    proto::{
        roles::PacketFilter,
        v1::{
            self, stream_error::Details, stream_message_request::Update as Request,
            stream_message_response::Update as Response,
        },
    },
    status::{Code, EntityError},
    store::Nanos,
};

/// The options of a P4Runtime device: limits, choices that the specification leaves open, and the
/// deviations from the specification that are permitted.
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    /// The maximum number of open streams per role.
    pub streams_per_role: usize,
    /// The lifetime of the highest election id of a role.
    pub election_memory: ElectionMemory,
    /// The encoding of packet-in metadata.
    pub packet_in_form: ByteString,
    /// The metadata fields that a packet-out may omit.
    pub missing_metadata: MissingMetadata,
    /// Whether refused packet-outs and acknowledgements are answered with a `StreamError`, which
    /// the specification makes optional. Otherwise they are dropped silently.
    pub stream_errors: bool,
    /// The treatment of entries that a new pipeline cannot hold, for pipelines that controllers
    /// push with RECONCILE_AND_COMMIT.
    pub reconcile: Reconcile,
    /// The maximum size in bytes of the metadata that a controller may attach to an entity. By
    /// default only the request size limits it.
    pub metadata: usize,
    /// Whether references between entities (`@refers_to`) are checked, which the specification
    /// leaves to the target.
    pub check_references: bool,
    /// The maximum time for loading a pipeline, after which the request is refused.
    pub load_time: Duration,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            streams_per_role: 64,
            election_memory: ElectionMemory::Kept,
            packet_in_form: ByteString::Canonical,
            missing_metadata: MissingMetadata::AcceptPadding,
            stream_errors: true,
            reconcile: Reconcile::Refuse,
            metadata: usize::MAX,
            check_references: false,
            load_time: Duration::from_secs(30),
        }
    }
}

/// The treatment of entries that a new pipeline cannot hold, for pipelines that controllers push
/// with RECONCILE_AND_COMMIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reconcile {
    /// The request fails with INVALID_ARGUMENT and nothing changes, as the specification requires.
    #[default]
    Refuse,
    /// The entries that the new pipeline cannot hold are dropped, and all others are kept.
    Drop,
}

/// An action that the code which owns the connections must take after a call of the state machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Send a message on a stream.
    Send {
        /// The stream to send it on.
        to: StreamId,
        /// The message to send.
        message: v1::StreamMessageResponse,
    },
    /// End a stream with an error, after the messages that were already sent on it. The owner of
    /// the connections then calls [`Device::stream_closed`], as for any stream that ends.
    Close {
        /// The stream to end.
        stream: StreamId,
        /// The error with which the stream ends.
        error: EntityError,
    },
    /// From now on, a role has this primary. The effect is repeated when a primary repeats its
    /// election id, because the role's configuration may have changed.
    Primary {
        /// The role whose primary this is.
        role: RoleKey,
        /// The stream of the role's primary, or `None` if the role has none.
        stream: Option<StreamId>,
    },
    /// A packet to inject into the data plane.
    PacketOut {
        /// The stream that the packet arrived on.
        from: StreamId,
        /// The packet, whose metadata was checked against the pipeline.
        packet: v1::PacketOut,
    },
    /// The device runs another pipeline from now on. Its forwarding state was cleared or
    /// reconciled.
    PipelineCommitted(Arc<Pipeline>),
    /// The primary acknowledged a digest list. There need not be a list with the acknowledged id.
    DigestAcknowledged(v1::DigestListAck),
    /// These entries had no hits for the duration of their idle timeout. Reported whether or not
    /// there is a primary.
    Idle(Vec<v1::TableEntry>),
}

/// One device: its arbitration, pipeline and forwarding state.
#[derive(Debug)]
pub struct Device {
    id: u64,
    options: DeviceOptions,
    registry: Arc<PipelineRegistry>,
    target: Arc<dyn Target>,
    /// The environment in which a pipeline is tried before the target loads it, or `None` to load
    /// it without a trial.
    rehearsal: Option<Arc<dyn Rehearsal>>,
    /// A token that exists while a pipeline is being loaded.
    loading: Weak<()>,
    arbitration: Arbitration,
    /// The restricted roles: those whose primary has sent a configuration that limits their access.
    narrowed: Vec<(RoleKey, RoleAccess)>,
    committed: Option<Loaded>,
    /// The pipeline that VERIFY_AND_SAVE loaded and that is not committed yet.
    saved: Option<Loaded>,
    digests: Digests,
    /// The log in which accepted writes are recorded, or `None` to record none.
    log: Option<Box<dyn WriteLog>>,
    /// A token that the responses to all Reads in progress share, so that its reference count shows
    /// their number.
    reads: Arc<()>,
}

impl Device {
    /// Creates an emulated device without a pipeline, which keeps entities and processes no
    /// packets. Devices with the same registry share equal pipelines.
    #[must_use]
    pub fn new(id: u64, options: DeviceOptions, registry: Arc<PipelineRegistry>) -> Self {
        Self::over(Box::new(EmulatedTarget), id, options, registry)
    }

    /// Creates a device without a pipeline whose pipelines run on `target`.
    #[must_use]
    pub fn over(
        target: Box<dyn Target>,
        id: u64,
        options: DeviceOptions,
        registry: Arc<PipelineRegistry>,
    ) -> Self {
        Self {
            arbitration: Arbitration::new(id, options.streams_per_role, options.election_memory),
            id,
            options,
            registry,
            target: target.into(),
            rehearsal: None,
            loading: Weak::new(),
            narrowed: Vec::new(),
            committed: None,
            saved: None,
            digests: Digests::default(),
            log: None,
            reads: Arc::default(),
        }
    }

    /// Returns the P4Runtime id of the device.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the pipeline that the device runs.
    #[must_use]
    pub fn pipeline(&self) -> Option<&Arc<Pipeline>> {
        self.committed.as_ref().map(|loaded| &loaded.pipeline)
    }

    /// Returns the arbitration state: the roles and their primaries.
    #[must_use]
    pub fn arbitration(&self) -> &Arbitration {
        &self.arbitration
    }

    /// Handles one message that arrived on a stream. A stream exists from its first message until
    /// [`Device::stream_closed`].
    pub fn stream_message(
        &mut self,
        stream: StreamId,
        request: v1::StreamMessageRequest,
        effects: &mut Vec<Effect>,
    ) {
        let stranger = self.arbitration.role_of(stream).is_none();
        match request.update {
            Some(Request::Arbitration(update)) => self.arbitrate(stream, &update, effects),
            Some(update) if stranger => {
                let answer = not_arbitrated(update).filter(|_| self.options.stream_errors);
                effects.extend(answer.map(|error| send(stream, error)));
            }
            Some(Request::Packet(packet)) => {
                let mut packets = vec![packet];
                self.packet_outs(stream, &mut packets, effects);
                let accepted = packets.into_iter();
                effects.extend(accepted.map(|packet| Effect::PacketOut { from: stream, packet }));
            }
            Some(Request::DigestAck(ack)) => self.digest_ack(stream, &ack, effects),
            Some(Request::Other(other)) => {
                let (error, details) = unsupported(other);
                self.refuse(stream, &error, details, effects);
            }
            // An unset update is a message of a later version of the specification, and is ignored.
            None => {}
        }
    }

    /// Forgets a stream that ended for any reason.
    pub fn stream_closed(&mut self, stream: StreamId, effects: &mut Vec<Effect>) {
        let role = self.arbitration.role_of(stream).cloned();
        let mut notifications = Vec::new();
        let change = self.arbitration.closed(stream, &mut notifications);
        effects.extend(notifications.into_iter().map(send_arbitration));
        if let (Some(role), PrimaryChange::Lost(_)) = (role, change) {
            effects.push(Effect::Primary { role, stream: None });
        }
    }

    /// Checks packet-outs that arrived on one stream. Those that must be dropped are removed from
    /// the list, and their sender is answered. This does for many packets in one call what
    /// [`Device::stream_message`] does for one.
    pub fn packet_outs(
        &self,
        stream: StreamId,
        packets: &mut Vec<v1::PacketOut>,
        effects: &mut Vec<Effect>,
    ) {
        let refusal = if !self.arbitration.is_primary(stream) {
            Some(EntityError::new(
                Code::PermissionDenied,
                "Only the primary may send packet-outs; this stream is a backup.",
            ))
        } else if self.committed.is_none() {
            Some(no_pipeline())
        } else {
            None
        };
        if let Some(error) = refusal {
            for packet in packets.drain(..) {
                self.refuse(stream, &error, packet_out_error(packet), effects);
            }
            return;
        }
        packets.retain_mut(|packet| match self.check_packet_out(packet) {
            Ok(()) => true,
            Err(error) => {
                let details = packet_out_error(mem::take(packet));
                self.refuse(stream, &error, details, effects);
                false
            }
        });
    }

    /// Returns the streams that receive packet-ins: those of the primaries of all roles that
    /// receive packet-ins. With each stream comes the role's filter on packet-in metadata, if it
    /// has one.
    pub fn packet_in_receivers(&self) -> impl Iterator<Item = (StreamId, Option<&PacketFilter>)> {
        self.arbitration.primaries().filter_map(|(role, stream, _)| {
            let access = self.access(role);
            let receives = access.is_none_or(RoleAccess::receives_packet_ins);
            receives.then(|| (stream, access.and_then(RoleAccess::packet_in_filter)))
        })
    }

    /// Accepts a digest that a packet caused in the data plane. Nothing happens unless a controller
    /// has enabled the digest with a `DigestEntry`.
    pub fn digest(&mut self, digest: DigestId, data: Data, now: Nanos, effects: &mut Vec<Effect>) {
        let config = self.committed.as_ref().and_then(|loaded| loaded.store.digest(digest));
        let Some(config) = config else { return };
        if let Some(list) = self.digests.learn(digest, config, data, now) {
            self.send_digest(list, effects);
        }
    }

    /// Returns whether a controller has enabled the digest with a `DigestEntry`.
    #[must_use]
    pub fn is_digest_enabled(&self, digest: DigestId) -> bool {
        self.committed.as_ref().and_then(|loaded| loaded.store.digest(digest)).is_some()
    }

    /// Returns the streams that receive lists of a digest: the primary of every role that covers
    /// the digest.
    pub fn digest_receivers(&self, digest: DigestId) -> impl Iterator<Item = StreamId> {
        self.primaries_that_cover(digest.0)
    }

    /// Returns the streams that receive idle timeouts of a table: the primary of every role that
    /// covers the table.
    pub fn idle_timeout_receivers(&self, table: TableId) -> impl Iterator<Item = StreamId> {
        self.primaries_that_cover(table.0)
    }

    fn primaries_that_cover(&self, id: u32) -> impl Iterator<Item = StreamId> {
        self.arbitration.primaries().filter_map(move |(role, stream, _)| {
            let covers = self.access(role).is_none_or(|access| access.covers_id(id));
            covers.then_some(stream)
        })
    }

    /// Applies updates that packets caused, such as added or removed entries. They need no primary,
    /// and controllers are not notified. Returns an outcome for each update, or an empty list if
    /// there is no pipeline.
    pub fn write_from_data_plane(
        &mut self,
        updates: &[v1::Update],
        now: Nanos,
    ) -> Vec<Result<(), EntityError>> {
        let Some(loaded) = &mut self.committed else { return Vec::new() };
        updates.iter().map(|update| loaded.store.write(update, now)).collect()
    }

    /// Performs all actions whose time has come: sends digests that have waited long enough, and
    /// expires idle table entries.
    pub fn tick(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        for list in self.digests.due(now) {
            self.send_digest(list, effects);
        }
        let expired = match &mut self.committed {
            Some(loaded) => loaded.expired(now),
            None => Vec::new(),
        };
        if expired.is_empty() {
            return;
        }
        let timestamp = i64::try_from(now.0).unwrap_or(i64::MAX);
        for (role, stream, _) in self.arbitration.primaries() {
            let access = self.access(role);
            let visible = |entry: &&v1::TableEntry| {
                access.is_none_or(|access| access.covers_id(entry.table_id))
            };
            let table_entry: Vec<_> = expired.iter().filter(visible).cloned().collect();
            if !table_entry.is_empty() {
                let update = v1::IdleTimeoutNotification { table_entry, timestamp };
                effects.push(send(stream, Response::IdleTimeoutNotification(update)));
            }
        }
        effects.push(Effect::Idle(expired));
    }

    /// Returns the time at which [`Device::tick`] must be called next. Other calls may change this
    /// time.
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        let idle = self.committed.as_ref().and_then(Loaded::next_expiry);
        [self.digests.deadline(), idle].into_iter().flatten().min()
    }

    /// Returns the implemented version of P4Runtime.
    #[must_use]
    pub fn capabilities() -> v1::CapabilitiesResponse {
        v1::CapabilitiesResponse {
            p4runtime_api_version: "1.5.0".to_owned(),
            ..v1::CapabilitiesResponse::default()
        }
    }

    /// Handles an arbitration update of a stream.
    fn arbitrate(
        &mut self,
        stream: StreamId,
        update: &v1::MasterArbitrationUpdate,
        effects: &mut Vec<Effect>,
    ) {
        let role = RoleKey::of(update.role.as_ref());
        let config = update.role.as_ref().and_then(|role| role.config.as_ref());
        let access = match RoleAccess::parse(&role, config)
            .and_then(|access| self.check_disjoint(&role, access))
        {
            Ok(access) => access,
            // A wrong device or role is the more serious mistake, so the arbitration below reports
            // it first.
            Err(_) if update.device_id != self.id || self.changes_role(stream, &role) => {
                RoleAccess::default()
            }
            Err(error) => {
                let error = EntityError::invalid(error.to_string());
                effects.push(Effect::Close { stream, error });
                return;
            }
        };
        let mut notifications = Vec::new();
        let change = match self.arbitration.update(stream, update, &mut notifications) {
            Ok(change) => change,
            Err(error) => {
                let error = EntityError::new(error.code(), error.to_string());
                effects.push(Effect::Close { stream, error });
                return;
            }
        };
        effects.extend(notifications.into_iter().map(send_arbitration));
        if self.arbitration.is_primary(stream) {
            self.narrowed.retain(|(narrowed, _)| *narrowed != role);
            if !access.is_full() {
                self.narrowed.push((role.clone(), access));
            }
            if matches!(change, PrimaryChange::Became(_)) {
                self.digests.forget_sent();
            }
            effects.push(Effect::Primary { role, stream: Some(stream) });
        } else if matches!(change, PrimaryChange::Lost(_)) {
            effects.push(Effect::Primary { role, stream: None });
        }
    }

    /// Returns whether a message names another role than the one for which its stream arbitrated.
    fn changes_role(&self, stream: StreamId, role: &RoleKey) -> bool {
        self.arbitration.role_of(stream).is_some_and(|bound| bound != role)
    }

    fn check_disjoint(
        &self,
        role: &RoleKey,
        access: RoleAccess,
    ) -> Result<RoleAccess, RoleConfigError> {
        for (owner, other) in self.narrowed.iter().filter(|(owner, _)| owner != role) {
            access.check_disjoint(role, other, owner)?;
        }
        Ok(access)
    }

    /// Returns the access that a role has, or `None` if it is unrestricted.
    fn access(&self, role: &RoleKey) -> Option<&RoleAccess> {
        self.narrowed.iter().find(|(narrowed, _)| narrowed == role).map(|(_, access)| access)
    }

    fn check_packet_out(&self, packet: &v1::PacketOut) -> Result<(), EntityError> {
        let layout = self.committed.as_ref().and_then(|loaded| loaded.pipeline.packet_out());
        let translations = self.committed.as_ref().and_then(|loaded| loaded.store.translations());
        let checked = match (layout, packet.metadata.first()) {
            (Some(layout), _) => layout.check(&packet.metadata, self.options.missing_metadata),
            (None, None) => Ok(()),
            (None, Some(one)) => {
                Err(crate::packet_io::MetadataError::Unknown { id: one.metadata_id })
            }
        };
        let checked = checked.and_then(|()| match (layout, translations) {
            (Some(layout), Some(translations)) => {
                layout.check_translated(&packet.metadata, &translations)
            }
            // Without a program, strings are decimal digits.
            (None, _) | (_, None) => Ok(()),
        });
        checked.map_err(|error| EntityError::new(Code::InvalidArgument, error.to_string()))
    }

    fn digest_ack(&mut self, stream: StreamId, ack: &v1::DigestListAck, effects: &mut Vec<Effect>) {
        let error = if !self.arbitration.is_primary(stream) {
            EntityError::new(Code::PermissionDenied, "Only the primary may acknowledge digests.")
        } else if !self.committed.as_ref().is_some_and(|loaded| loaded.has_digest(ack.digest_id)) {
            EntityError::new(
                Code::InvalidArgument,
                format!("Digest id {:#x} is not part of the pipeline.", ack.digest_id),
            )
        } else {
            self.digests.acknowledge(ack);
            effects.push(Effect::DigestAcknowledged(*ack));
            return;
        };
        self.refuse(stream, &error, digest_ack_error(*ack), effects);
    }

    fn refuse(
        &self,
        stream: StreamId,
        error: &EntityError,
        details: Details,
        effects: &mut Vec<Effect>,
    ) {
        if !self.options.stream_errors {
            return;
        }
        effects.push(send(stream, stream_error(error, details)));
    }

    fn send_digest(&self, list: v1::DigestList, effects: &mut Vec<Effect>) {
        for stream in self.digest_receivers(DigestId(list.digest_id)) {
            effects.push(send(stream, Response::Digest(list.clone())));
        }
    }
}

fn send(to: StreamId, update: Response) -> Effect {
    Effect::Send { to, message: v1::StreamMessageResponse { update: Some(update) } }
}

/// Returns the answer to a message on a stream that has not arbitrated. The message is dropped,
/// like one from a client without permission. The stream stays open, as in BMv2 and Stratum,
/// because only a refused arbitration update makes the server close a stream (specification 1.5,
/// "Packet I/O" and "Stream Error Reporting").
pub(crate) fn not_arbitrated(update: Request) -> Option<Response> {
    let denied = |what| {
        let message = format!("Only the primary may {what}; this stream has not arbitrated.");
        EntityError::new(Code::PermissionDenied, message)
    };
    let (error, details) = match update {
        Request::Packet(packet) => (denied("send packet-outs"), packet_out_error(packet)),
        Request::DigestAck(ack) => (denied("acknowledge digests"), digest_ack_error(ack)),
        Request::Other(other) => unsupported(other),
        Request::Arbitration(_) => return None,
    };
    Some(stream_error(&error, details))
}

fn stream_error(error: &EntityError, details: Details) -> Response {
    Response::Error(v1::StreamError {
        canonical_code: error.code() as i32,
        message: error.message().to_owned(),
        details: Some(details),
        ..v1::StreamError::default()
    })
}

fn unsupported(other: Any) -> (EntityError, Details) {
    let message = format!("Messages of type {} are not supported.", other.type_url);
    let error = EntityError::new(Code::Unimplemented, message);
    (error, Details::Other(v1::StreamOtherError { other: Some(other) }))
}

fn send_arbitration(notification: Notification) -> Effect {
    send(notification.to, Response::Arbitration(notification.update))
}

fn digest_ack_error(ack: v1::DigestListAck) -> Details {
    Details::DigestListAck(v1::DigestListAckError { digest_list_ack: Some(ack) })
}

fn packet_out_error(packet: v1::PacketOut) -> Details {
    Details::PacketOut(v1::PacketOutError { packet_out: Some(packet) })
}

fn no_pipeline() -> EntityError {
    // Clients compare with this exact text.
    EntityError::new(Code::FailedPrecondition, "No forwarding pipeline config set for this device.")
}
