//! The state of one P4Runtime engine thread, and the events that change it.
//!
//! One lock protects everything that belongs to the thread's switches. The thread itself holds the
//! lock for a few hundred nanoseconds at a time. Other threads take it only when a controller
//! answers a packet-in at a switch of another thread, so threads almost never wait for it. A thread
//! does not call the server while it holds the lock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bytes::{Bytes, BytesMut};
use entities::schema::DigestId;
use p4runtime::arbitration::{RoleKey, StreamId};
use p4runtime::packet_io::PacketOutLayout;
use p4runtime::proto::v1::{self, entity::Entity, update};
use p4runtime::server::{
    ConnectionObserver, DeviceHandle, DeviceObserver, PacketIn, PacketInMetadata, PacketOutRefusal,
};
use p4runtime::session::Pipeline;
use p4runtime::status::EntityError;
use tokio::sync::Notify;

use super::digest;
use super::load::{Batch, Form, NoForm, Receiver};
use super::pipelines::Pipelines;
use crate::config::{Load, Matching, Mode};
use crate::engine::mailbox::{Deliver, Note, Slot};
use crate::engine::recorder::{Recorder, RuleChange};
use crate::engine::{Live, Orders, SwitchHandshake, TrialPlan};
use crate::ledger::Answer;
use crate::topology::{Port, SwitchIndex};
use crate::traffic::{FrameSource, PacketId, is_discovery, read_id};
use openflow_switch::Packet;

/// The tag of packet-ins that are not measured, such as announcements of hosts.
pub(super) const UNMEASURED: u64 = u64::MAX;
/// The number of bytes that are allocated at once for the frames of packet-ins.
const ARENA: usize = 64 * 1024;

/// The state that all engine threads of a trial share.
pub(super) struct Shared {
    pub(super) plan: Arc<TrialPlan>,
    pub(super) orders: Arc<Orders>,
    pub(super) live: Arc<Live>,
    pub(super) pipelines: Pipelines,
    /// The sender of messages to switches of other ranks, if the trial is spread over several
    /// ranks.
    abroad: Option<Slot>,
    /// All engine threads, from their creation until they end.
    threads: RwLock<Vec<Arc<ThreadState>>>,
}

impl Shared {
    pub(super) fn new(
        plan: Arc<TrialPlan>,
        orders: Arc<Orders>,
        live: Arc<Live>,
        abroad: Option<Slot>,
    ) -> Self {
        let pipelines = Pipelines::default();
        Self { plan, orders, live, pipelines, abroad, threads: RwLock::default() }
    }

    pub(super) fn set_threads(&self, threads: Vec<Arc<ThreadState>>) {
        *self.threads.write().unwrap_or_else(PoisonError::into_inner) = threads;
    }

    fn thread(&self, number: usize) -> Option<Arc<ThreadState>> {
        self.threads.read().unwrap_or_else(PoisonError::into_inner).get(number).cloned()
    }
}

/// The state of one engine thread.
pub(super) struct ThreadState {
    pub(super) shared: Arc<Shared>,
    /// The notification that wakes the pacing task.
    pub(super) wake: Notify,
    record: Mutex<ThreadRecord>,
    /// The devices of the thread in the order of its switches. Empty once the thread has ended.
    devices: RwLock<Vec<DeviceHandle>>,
}

/// The record and the switches of a thread, which one lock protects.
pub(super) struct ThreadRecord {
    pub(super) recorder: Recorder,
    pub(super) members: Vec<Member>,
    /// The indices of those switches of a closed loop that may send another packet-in.
    pub(super) refill: Vec<usize>,
    /// The memory from which the frames of packet-ins are allocated in chunks. A separate
    /// allocation for each frame would cost more than building the frame.
    arena: BytesMut,
    frame: Vec<u8>,
    /// The parsed packet from whose fields the data of a digest are taken.
    packet: Packet,
    closed_loop: bool,
}

/// The state of an emulated switch, except for its device and its record.
pub(super) struct Member {
    pub(super) source: FrameSource,
    pub(super) handshake: SwitchHandshake,
    pub(super) ready: bool,
    has_primary: bool,
    /// The pipeline by which packet-outs are decoded, or `None` until the switch has one.
    packet_out: Option<Arc<Pipeline>>,
    /// The kind of message that the switch sends instead of packet-ins, or the reason why its
    /// pipeline has no such message. It is `None` if the switch sends packet-ins, or has no
    /// pipeline yet.
    form: Option<Result<Form, NoForm>>,
    /// Whether the controller has enabled the digest that the switch sends.
    digest_enabled: bool,
}

impl Member {
    pub(super) fn new(source: FrameSource) -> Self {
        let mut handshake = SwitchHandshake::default();
        handshake.reach(0, "listening, not dialled");
        Self {
            source,
            handshake,
            ready: false,
            has_primary: false,
            packet_out: None,
            form: None,
            digest_enabled: false,
        }
    }

    fn form(&self) -> Option<&Form> {
        self.form.as_ref()?.as_ref().ok()
    }

    /// Returns the kind of subscription for which controllers receive the switch's messages.
    pub(super) fn receiver(&self) -> Receiver {
        self.form().map_or(Receiver::Packet, Form::receiver)
    }

    /// Returns the digest that the switch sends, or `None` if the load does not consist of digests.
    fn digest_id(&self) -> Option<DigestId> {
        match self.form()? {
            Form::Digest(form) => Some(form.id),
            Form::IdleTimeout(_) => None,
        }
    }

    /// Returns the stage of the handshake that the switch has reached: its position in the order of
    /// stages, its description, and whether it is the last one. Returns `None` until a controller
    /// is primary.
    fn stage(&self) -> Option<(u32, String, bool)> {
        let waits = |what: String| Some((3, what, false));
        match (self.has_primary, &self.packet_out, &self.form) {
            (false, _, _) => None,
            (true, None, _) => waits("primary elected, waiting for a pipeline".to_owned()),
            (true, Some(_), Some(Err(missing))) => waits(missing.to_string()),
            (true, Some(_), Some(Ok(Form::Digest(digest)))) if !self.digest_enabled => {
                waits(format!(
                    "has a pipeline, waiting for the controller to enable digest \"{}\" (it has \
                 written no DigestEntry for it)",
                    digest.name
                ))
            }
            (true, Some(_), _) => Some((4, "ready".to_owned(), true)),
        }
    }

    fn layout(&self) -> Option<&PacketOutLayout> {
        self.packet_out.as_ref().and_then(|pipeline| pipeline.packet_out())
    }
}

impl ThreadState {
    pub(super) fn new(shared: Arc<Shared>, recorder: Recorder, members: Vec<Member>) -> Self {
        let closed_loop = matches!(shared.plan.config.traffic.mode, Mode::Closed { .. });
        Self {
            shared,
            wake: Notify::new(),
            record: Mutex::new(ThreadRecord {
                recorder,
                members,
                refill: Vec::new(),
                arena: BytesMut::with_capacity(ARENA),
                frame: Vec::new(),
                packet: Packet::default(),
                closed_loop,
            }),
            devices: RwLock::default(),
        }
    }

    pub(super) fn record(&self) -> MutexGuard<'_, ThreadRecord> {
        // A panic in another thread ends the trial anyway.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_devices(&self, devices: Vec<DeviceHandle>) {
        *self.devices.write().unwrap_or_else(PoisonError::into_inner) = devices;
    }

    pub(super) fn devices(&self) -> Vec<DeviceHandle> {
        self.devices.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Breaks the reference cycle between devices, observers and thread, so that the memory of the
    /// trial can be freed.
    pub(super) fn release(&self) {
        self.set_devices(Vec::new());
        self.shared.set_threads(Vec::new());
    }

    /// Returns the time since the start of traffic in nanoseconds, or `None` before that.
    pub(super) fn traffic_time(&self) -> Option<u64> {
        let start = self.shared.orders.traffic_start()?;
        self.shared.orders.clock.now().checked_sub(start)
    }

    /// Sends a frame in a packet-in that is not measured.
    pub(super) fn send_unmeasured(&self, index: usize, port: u32, frame: &[u8]) {
        let devices = self.devices.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = devices.get(index) {
            let packet = PacketIn {
                payload: Bytes::copy_from_slice(frame),
                metadata: PacketInMetadata::IngressPort(port),
                tag: UNMEASURED,
            };
            // A switch that is not ready drops the frame. The controller sends discovery frames
            // again.
            let _ = device.send(packet);
        }
    }
}

impl Deliver for ThreadState {
    /// Processes a message of another rank for a switch of this thread.
    fn deliver(&self, note: Note) {
        let (_, member) = self.shared.plan.place(note.switch());
        match note {
            Note::Answered { sequence, at, .. } => {
                let start = self.shared.orders.traffic_start().unwrap_or(at);
                let mut record = self.record();
                let answer = record.recorder.answer(member, sequence, at.saturating_sub(start));
                settle(&mut record, member, answer);
                drop(record);
                self.wake.notify_one();
            }
            Note::Arrived { port, frame, .. } => self.send_unmeasured(member, port, &frame),
        }
    }
}

impl ThreadRecord {
    /// Builds the message that has been due at a switch for the longest time, adds it to `batch`,
    /// and returns its sequence number. Returns `None` if no message is due.
    pub(super) fn emit(&mut self, index: usize, batch: &mut Batch) -> Option<u64> {
        let (_, sequence) = self.recorder.issue_waiting(index)?;
        self.frame.clear();
        let port = self.members[index].source.next(sequence, &mut self.frame);
        match self.members[index].form() {
            Some(Form::Digest(form)) => {
                self.packet.load(&self.frame);
                batch.digest(sequence, form.data(&self.packet, port.0, sequence));
            }
            Some(Form::IdleTimeout(form)) => batch.idle(sequence, form),
            None => {
                if self.arena.capacity() < self.frame.len() {
                    self.arena = BytesMut::with_capacity(ARENA.max(self.frame.len()));
                }
                self.arena.extend_from_slice(&self.frame);
                let payload = self.arena.split().freeze();
                let metadata = PacketInMetadata::IngressPort(u32::from(port.0));
                batch.packet(PacketIn { payload, metadata, tag: sequence });
            }
        }
        Some(sequence)
    }
}

/// The observer to which a device reports its events. It updates the state of the engine thread.
pub(super) struct Observer {
    pub(super) thread: Arc<ThreadState>,
    pub(super) index: usize,
}

impl Observer {
    fn update(&self, change: impl FnOnce(&mut Member)) {
        let mut record = self.thread.record();
        let Some(member) = record.members.get_mut(self.index) else { return };
        change(member);
        let stage = member.stage();
        if let Some((rank, stage, _)) = &stage {
            member.handshake.reach(*rank, stage);
        }
        let ready = stage.is_some_and(|(_, _, ready)| ready);
        if ready != member.ready {
            member.ready = ready;
            // `ready` means that the switch was ever ready, and stays true when the trial ends.
            let before = member.handshake.ready;
            member.handshake.ready |= ready;
            match ready {
                true => self.thread.shared.live.became_ready(!before),
                false => self.thread.shared.live.ceased_ready(),
            }
            if ready {
                record.refill.push(self.index);
            } else if !self.thread.shared.orders.is_stopped() {
                record.recorder.counts(self.index).disconnects += 1;
                record.recorder.cut_off(self.index);
            }
        }
        drop(record);
        self.thread.wake.notify_one();
    }

    /// Records that the device has started with a configured pipeline.
    pub(super) fn preloaded(&self, pipeline: Arc<Pipeline>) {
        self.has(pipeline, None);
    }

    fn has(&self, pipeline: Arc<Pipeline>, device: Option<&DeviceHandle>) {
        let name = self.thread.shared.pipelines.name(&pipeline);
        let plan = &self.thread.shared.plan;
        let form = Form::of(&pipeline, &plan.config, plan.run_key);
        let enabled = match (&form, device) {
            (Some(Ok(Form::Digest(digest))), Some(device)) => is_enabled(device, digest.id),
            _ => false,
        };
        self.update(|member| {
            member.packet_out = Some(pipeline);
            member.handshake.pipeline = Some(name);
            member.form = form;
            member.digest_enabled = enabled;
        });
    }

    /// Records that the message with a given sequence number was sent.
    fn left(&self, sequence: u64) {
        let now = self.thread.shared.orders.clock.now();
        let start = self.thread.shared.orders.traffic_start().unwrap_or(now);
        let mut record = self.thread.record();
        record.recorder.left(self.index, sequence, now.saturating_sub(start));
    }

    /// Records whether the switch's digest is enabled. Called after the controller has written
    /// digest entries.
    fn digests_configured(&self, device: &DeviceHandle) {
        let digest = self.thread.record().members.get(self.index).and_then(Member::digest_id);
        let Some(digest) = digest else { return };
        let enabled = is_enabled(device, digest);
        self.update(|member| member.digest_enabled = enabled);
    }

    /// Records those updates of a Write request that answer idle notifications. An update that
    /// failed is an answer as well.
    fn idle_entries_written(&self, record: &mut ThreadRecord, request: &v1::WriteRequest, at: u64) {
        let Some(Form::IdleTimeout(form)) = record.members[self.index].form() else { return };
        let of_update = |update: &v1::Update| match update.entity.as_ref()?.entity.as_ref()? {
            Entity::TableEntry(entry) => form.sequence_of(entry),
            _ => None,
        };
        let answered: Vec<u64> = request.updates.iter().filter_map(of_update).collect();
        for sequence in answered {
            let answer = record.recorder.answer(self.index, sequence, at);
            settle(record, self.index, answer);
        }
    }

    /// Records an answer to a packet-in. If the packet-in belongs to another thread, adds its ID to
    /// `elsewhere` instead.
    fn answered(
        &self,
        record: &mut ThreadRecord,
        id: PacketId,
        at: u64,
        elsewhere: &mut Vec<PacketId>,
    ) {
        let (_, member) = self.thread.shared.plan.place(id.switch);
        match record.recorder.switches.get(member) {
            Some(switch) if switch.index == id.switch => {
                let answer = record.recorder.answer(member, id.sequence, at);
                settle(record, member, answer);
            }
            _ => elsewhere.push(id),
        }
    }

    fn answered_elsewhere(&self, id: PacketId, at: u64) {
        let (thread, member) = self.thread.shared.plan.place(id.switch);
        if let Some(owner) = self.thread.shared.thread(thread)
            && id.switch < self.thread.shared.plan.config.switches.count
        {
            let mut record = owner.record();
            let answer = record.recorder.answer(member, id.sequence, at);
            settle(&mut record, member, answer);
            owner.wake.notify_one();
        } else if let Some(abroad) = &self.thread.shared.abroad
            && id.switch < self.thread.shared.plan.config.switches.count
        {
            let start = self.thread.shared.orders.traffic_start().unwrap_or(0);
            let at = start.saturating_add(at);
            abroad.send(Note::Answered { switch: id.switch, sequence: id.sequence, at });
        } else {
            self.thread.record().recorder.counts(self.index).unmatched += 1;
        }
    }

    /// Forwards a frame for link discovery over the emulated link at its output port.
    fn relay(&self, here: u32, port: u32, frame: &[u8]) {
        let plan = &self.thread.shared.plan;
        let Ok(port) = u16::try_from(port) else { return };
        let Some((SwitchIndex(switch), Port(port))) =
            plan.topology.peer(SwitchIndex(here), Port(port))
        else {
            return;
        };
        let (thread, member) = plan.place(switch);
        if let Some(owner) = self.thread.shared.thread(thread) {
            self.thread.record().recorder.counts(self.index).discovery_relayed += 1;
            owner.send_unmeasured(member, u32::from(port), frame);
        } else if let Some(abroad) = &self.thread.shared.abroad {
            self.thread.record().recorder.counts(self.index).discovery_relayed += 1;
            abroad.send(Note::Arrived { switch, port: u32::from(port), frame: frame.to_vec() });
        }
    }
}

fn is_enabled(device: &DeviceHandle, digest: DigestId) -> bool {
    device.inspect(|device| device.is_digest_enabled(digest))
}

fn settle(record: &mut ThreadRecord, index: usize, answer: Answer) {
    match answer {
        Answer::First { frees_place } => {
            if frees_place && record.closed_loop {
                record.refill.push(index);
            }
        }
        Answer::Duplicate => {}
        Answer::Unmatched => record.recorder.counts(index).unmatched += 1,
    }
}

impl DeviceObserver for Observer {
    fn stream_opened(&self, _device: &DeviceHandle, _stream: StreamId) {
        self.update(|member| member.handshake.reach(2, "stream open, no primary elected"));
    }

    fn primary_changed(&self, _device: &DeviceHandle, _role: &RoleKey, stream: Option<StreamId>) {
        self.update(|member| member.has_primary = stream.is_some());
    }

    fn pipeline_committed(&self, device: &DeviceHandle, pipeline: &Arc<Pipeline>) {
        self.has(pipeline.clone(), Some(device));
    }

    fn written(
        &self,
        device: &DeviceHandle,
        request: &v1::WriteRequest,
        outcomes: &[Result<(), EntityError>],
    ) {
        let (mut installed, mut removed, mut refused) = (0, 0, 0);
        let mut digests = false;
        for (update, outcome) in request.updates.iter().zip(outcomes) {
            let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
            match (outcome, entity) {
                (Err(_), _) => refused += 1,
                (Ok(()), Some(Entity::TableEntry(_))) => match update.r#type() {
                    update::Type::Insert | update::Type::Modify => installed += 1,
                    update::Type::Delete => removed += 1,
                    update::Type::Unspecified => {}
                },
                (Ok(()), Some(Entity::DigestEntry(_))) => digests = true,
                (Ok(()), _) => {}
            }
        }
        if digests {
            self.digests_configured(device);
        }
        let at = self.thread.traffic_time();
        let mut record = self.thread.record();
        if let Some(at) = at {
            self.idle_entries_written(&mut record, request, at);
        }
        let refill = !record.refill.is_empty();
        for (change, count) in [
            (RuleChange::Installed, installed),
            (RuleChange::Removed, removed),
            (RuleChange::Refused, refused),
        ] {
            if let (Some(at), true) = (at, count > 0) {
                record.recorder.rules(self.index, change, count, at);
            }
        }
        drop(record);
        if refill {
            self.thread.wake.notify_one();
        }
    }

    fn packet_outs(
        &self,
        _device: &DeviceHandle,
        _stream: StreamId,
        packets: &mut Vec<v1::PacketOut>,
    ) {
        let at = self.thread.traffic_time();
        let plan = &self.thread.shared.plan;
        let (mut elsewhere, mut relays) = (Vec::new(), Vec::new());
        let mut record = self.thread.record();
        let here = record.recorder.switches[self.index].index;
        for packet in packets.drain(..) {
            if is_discovery(&packet.payload) {
                let layout = record.members[self.index].layout();
                if let Some(port) = layout.and_then(|l| l.read_egress_port(&packet.metadata)) {
                    relays.push((port, packet.payload));
                }
                continue;
            }
            let Some(at) = at else {
                if read_id(&packet.payload, plan.run_key).is_some_and(|id| id.is_unmeasured()) {
                    let shared = &self.thread.shared;
                    shared.live.announcement_flooded(shared.orders.clock.now());
                }
                continue;
            };
            record.recorder.packet_out(self.index, at);
            if plan.config.traffic.load != Load::PacketIn {
                continue;
            }
            match plan.config.traffic.matching {
                Matching::Order => {
                    let answer = record.recorder.answer_oldest(self.index, at);
                    settle(&mut record, self.index, answer);
                }
                // P4Runtime has neither buffer ids nor transaction ids, so all these modes match by
                // payload.
                Matching::Auto | Matching::Payload | Matching::Xid | Matching::Rule => {
                    match read_id(&packet.payload, plan.run_key) {
                        Some(id) if id.is_unmeasured() => {}
                        Some(id) => self.answered(&mut record, id, at, &mut elsewhere),
                        None => record.recorder.counts(self.index).unmatched += 1,
                    }
                }
            }
        }
        let refill = !record.refill.is_empty();
        drop(record);
        for id in elsewhere {
            self.answered_elsewhere(id, at.unwrap_or(0));
        }
        for (port, frame) in relays {
            self.relay(here, port, &frame);
        }
        if refill {
            self.thread.wake.notify_one();
        }
    }

    fn packet_outs_refused(
        &self,
        _device: &DeviceHandle,
        count: usize,
        refusal: PacketOutRefusal,
        reason: Option<&str>,
    ) {
        let mut record = self.thread.record();
        let counts = record.recorder.counts(self.index);
        let reason = match refusal {
            // Such a packet-out is well-formed, but was sent too early or by a controller that is
            // not primary. Controllers send discovery frames before they have pushed the pipeline.
            PacketOutRefusal::NoPipeline | PacketOutRefusal::NotPrimary => {
                counts.not_taken += count as u64;
                reason.unwrap_or("the switch has no pipeline yet, or the sender is not primary")
            }
            PacketOutRefusal::Misfit => {
                counts.malformed += count as u64;
                reason.unwrap_or("it does not fit the pipeline")
            }
        };
        record.members[self.index].handshake.error = Some(format!("packet-out refused: {reason}"));
    }

    fn packet_in_sent(&self, tag: u64) {
        if tag == UNMEASURED {
            return;
        }
        self.left(tag);
    }

    fn digest_list_sent(&self, list_id: u64) {
        if let Some(sequence) = digest::sequence_of(list_id) {
            self.left(sequence);
        }
    }

    fn idle_timeout_sent(&self, notification: &v1::IdleTimeoutNotification) {
        let sequence = {
            let record = self.thread.record();
            let Some(Form::IdleTimeout(form)) = record.members[self.index].form() else { return };
            // The device itself also sends notifications about entries that the controller inserted
            // or set again.
            let [entry] = notification.table_entry.as_slice() else { return };
            form.sequence_of(entry)
        };
        if let Some(sequence) = sequence {
            self.left(sequence);
        }
    }

    fn digest_acknowledged(&self, _device: &DeviceHandle, ack: &v1::DigestListAck) {
        let Some(at) = self.thread.traffic_time() else { return };
        let mut record = self.thread.record();
        let Some(digest) = record.members[self.index].digest_id() else { return };
        let answer = digest::acknowledged(&mut record.recorder, self.index, digest, ack, at);
        settle(&mut record, self.index, answer);
        let refill = !record.refill.is_empty();
        drop(record);
        if refill {
            self.thread.wake.notify_one();
        }
    }
}

/// The observer of the connections to one listening socket, through which the thread's switches
/// `from..to` are reached.
pub(super) struct ListenerObserver {
    pub(super) thread: Arc<ThreadState>,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl ConnectionObserver for ListenerObserver {
    fn connection_opened(&self, _peer: std::net::SocketAddr) {
        let mut record = self.thread.record();
        if let Some(members) = record.members.get_mut(self.from..self.to) {
            for member in members {
                member.handshake.reach(1, "connected, no stream opened");
            }
        }
    }

    fn handshake_failed(&self, _peer: std::net::SocketAddr, error: &std::io::Error) {
        self.met(&format!("TLS handshake failed: {error}"));
    }

    fn accept_failed(&self, error: &std::io::Error) {
        self.met(&format!("cannot accept a connection: {error}"));
    }
}

impl ListenerObserver {
    fn met(&self, error: &str) {
        let mut record = self.thread.record();
        if let Some(members) = record.members.get_mut(self.from..self.to) {
            for member in members {
                member.handshake.error = Some(error.to_owned());
            }
        }
    }
}
