//! A device behind a P4Runtime server, which Python code controls as it does a switch in process.
//!
//! A thread owns the connection. It carries out one job after the other, and passes the messages
//! on that the device sends by itself. A caller waits without the GIL, and looks for signals
//! meanwhile.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use entities::schema::DigestId;
use entities::{Cells, Code, Entity, EntityError, Selection};
use p4runtime::arbitration::ElectionId;
use p4runtime::client::{
    ArbitrationFailure, Client, ClientOptions, StreamReceiver, StreamSender, WriteError,
};
use p4runtime::p4info::Schema;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1;
use p4runtime::proto::v1::entity::Entity as Message;
use p4runtime::proto::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::proto::v1::packet_replication_engine_entry::Type as Replication;
use p4runtime::proto::v1::stream_message_response::Update as Response;
use p4runtime::proto::v1::write_request::Atomicity;
use prost::Message as _;
use pyo3::prelude::*;
use softswitch::in_process::Event;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::values::entity_fault;
use crate::errors::{Fault, Kind};

/// The time between two looks for signals.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The time within which a device should end the stream of a controller that goes.
const FAREWELL: Duration = Duration::from_millis(500);

/// The device and the standing that an attachment asks for.
pub(super) struct Attachment {
    pub(super) address: String,
    pub(super) device_id: u64,
    /// The name of the role; empty for the default role.
    pub(super) role: String,
    /// The election id, or `None` for the smallest with which the controller becomes primary.
    pub(super) election_id: Option<u128>,
    /// The time within which the device must answer.
    pub(super) patience: Duration,
    /// The P4Info that replaces that of the device.
    pub(super) p4info: Option<Vec<u8>>,
}

/// A message that a device sent by itself.
pub(super) enum Arrived {
    /// An event, as a switch in process has it too.
    Event(Event),
    /// The reason why the device refused something that was sent on the stream.
    Refused(String),
}

/// A job for the thread of the connection, with the sender of its outcome.
enum Job {
    Read(Vec<v1::Entity>, Sender<Result<Vec<v1::Entity>, Fault>>),
    Write(Vec<v1::Update>, Atomicity, Sender<Result<Outcomes, Fault>>),
    Send(v1::PacketOut, Sender<Result<(), Fault>>),
}

/// The outcome of each update of a batch.
type Outcomes = Vec<Result<(), EntityError>>;

/// A device that runs elsewhere.
pub(super) struct Remote {
    schema: Arc<Schema>,
    /// The queue of the thread; `None` after the connection was closed.
    jobs: Mutex<Option<UnboundedSender<Job>>>,
    messages: Mutex<Receiver<Response>>,
    /// Events that arrived together with one that was returned.
    waiting: Mutex<VecDeque<Arrived>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The connection of the thread.
struct Link {
    client: Client,
    sender: StreamSender,
    receiver: StreamReceiver,
    schema: Arc<Schema>,
}

impl Remote {
    /// Connects to a device, and becomes its primary controller.
    pub(super) fn connect(py: Python<'_>, to: Attachment) -> PyResult<Self> {
        let (jobs, queue) = unbounded_channel();
        let (messages, received) = channel();
        let (connected, outcome) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let system = |error: std::io::Error| {
            Fault::new(Kind::System, format!("no thread can be started: {error}"))
        };
        let runtime = runtime.map_err(system)?;
        let serve = move || {
            runtime.block_on(async {
                match Link::open(&to).await {
                    Ok(link) => {
                        if connected.send(Ok(Arc::clone(&link.schema))).is_ok() {
                            link.work(queue, &messages).await;
                        }
                    }
                    Err(fault) => drop(connected.send(Err(fault))),
                }
            });
        };
        let name = "planimeter-attach".to_owned();
        let thread = std::thread::Builder::new().name(name).spawn(serve).map_err(system)?;
        let schema = awaited(py, &Mutex::new(outcome))??;
        Ok(Self {
            schema,
            jobs: Mutex::new(Some(jobs)),
            messages: Mutex::new(received),
            waiting: Mutex::default(),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Returns the objects of the program that the device ran when it was attached to.
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Ends the connection, and waits until the device has noticed, so that a next controller need
    /// not displace this one.
    pub(super) fn close(&self, py: Python<'_>) {
        drop(locked(&self.jobs).take());
        let thread = locked(&self.thread).take();
        if let Some(thread) = thread {
            // The thread returns nothing, and a panic in it was reported.
            let _ = py.detach(|| thread.join());
        }
    }

    /// Reads the entities that a selection includes, cells of arrays by their index.
    pub(super) fn read(&self, py: Python<'_>, selection: &Selection) -> PyResult<Vec<Entity>> {
        let request = request(&self.schema, selection);
        let found = self.ask(py, |answer| Job::Read(vec![request], answer))?;
        let mut entities = Vec::with_capacity(found.len());
        for message in &found {
            let entity = p4runtime::read_entity(&self.schema, message);
            entities.extend(entity.map_err(|error| {
                let what = format!("the device returned an entity that is wrong: {error}");
                Fault::new(Kind::Refused, what)
            })?);
        }
        entities.sort_by_key(index);
        Ok(entities)
    }

    /// Writes updates, several of them all or none.
    pub(super) fn write(&self, py: Python<'_>, updates: &[v1::Update]) -> PyResult<Outcomes> {
        // Devices need not be able to undo updates, which a single one does not need.
        let atomicity = match updates {
            [_] => Atomicity::ContinueOnError,
            _ => Atomicity::RollbackOnError,
        };
        let updates = updates.to_vec();
        self.ask(py, |answer| Job::Write(updates, atomicity, answer))
    }

    /// Sends a packet-out.
    pub(super) fn send(&self, py: Python<'_>, packet: v1::PacketOut) -> PyResult<()> {
        self.ask(py, |answer| Job::Send(packet, answer))
    }

    /// Waits for a message of the device. Returns `None` if none arrives within the time.
    pub(super) fn wait_event(&self, py: Python<'_>, time: Duration) -> PyResult<Option<Arrived>> {
        let end = Instant::now() + time;
        loop {
            if let Some(arrived) = locked(&self.waiting).pop_front() {
                return Ok(Some(arrived));
            }
            let left = end.saturating_duration_since(Instant::now());
            let next = py.detach(|| locked(&self.messages).recv_timeout(left.min(BETWEEN_LOOKS)));
            match next {
                Ok(message) => {
                    let arrived = arrived(&self.schema, message)?;
                    locked(&self.waiting).extend(arrived);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(lost().into()),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            py.check_signals()?;
        }
    }

    /// Carries out a job on the thread of the connection, and waits for its outcome.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(Sender<Result<T, Fault>>) -> Job,
    ) -> PyResult<T> {
        let (sender, answer) = channel();
        {
            let jobs = locked(&self.jobs);
            let jobs = jobs.as_ref().ok_or_else(|| {
                Fault::new(Kind::Refused, "the connection was closed")
                    .mended_by("attach to the device again")
            })?;
            jobs.send(job(sender)).map_err(|_| lost())?;
        }
        Ok(awaited(py, &Mutex::new(answer))??)
    }
}

/// Waits for an outcome without the GIL, and looks for signals meanwhile.
fn awaited<T: Send>(
    py: Python<'_>,
    outcome: &Mutex<Receiver<Result<T, Fault>>>,
) -> PyResult<Result<T, Fault>> {
    loop {
        match py.detach(|| locked(outcome).recv_timeout(BETWEEN_LOOKS)) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Disconnected) => return Err(lost().into()),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lost() -> Fault {
    Fault::new(Kind::Unreachable, "the connection to the device ended")
        .mended_by("attach to the device again")
}

/// Returns the index of a cell of an array, by which cells are sorted. Other entities keep their
/// order.
fn index(entity: &Entity) -> Option<u64> {
    match entity {
        Entity::Counter(cell) => cell.index,
        Entity::Meter(cell) => cell.index,
        Entity::Register(cell) => cell.index,
        Entity::Entry(_)
        | Entity::DirectCounter(..)
        | Entity::DirectMeter(..)
        | Entity::Member(_)
        | Entity::Group(_)
        | Entity::MulticastGroup(_)
        | Entity::CloneSession(_)
        | Entity::ValueSet(_)
        | Entity::Digest(..) => None,
    }
}

impl Link {
    async fn open(to: &Attachment) -> Result<Self, Fault> {
        let options = ClientOptions { connect_timeout: to.patience, ..ClientOptions::default() };
        let client = Client::connect(&to.address, to.device_id, &options).await;
        let client = client.map_err(|error| {
            Fault::new(Kind::Unreachable, error.to_string())
                .at(to.address.as_str())
                .mended_by("check that a P4Runtime server listens there")
        })?;
        let mut client = client.with_role(&to.role);
        let (sender, receiver) = arbitrate(&mut client, to).await?;
        let schema = schema(&mut client, to).await?;
        Ok(Self { client, sender, receiver, schema })
    }

    /// Carries out jobs, and passes messages of the device on, until the session ends.
    async fn work(mut self, mut queue: UnboundedReceiver<Job>, messages: &Sender<Response>) {
        loop {
            tokio::select! {
                job = queue.recv() => match job {
                    Some(job) => self.carry_out(job).await,
                    None => break,
                },
                message = self.receiver.next() => {
                    let Ok(Some(message)) = message else { return };
                    if let Response::Digest(list) = &message {
                        self.sender.acknowledge(list);
                    }
                    // Python code may have dropped the device.
                    let _ = messages.send(message);
                }
            }
        }
        let Self { sender, mut receiver, .. } = self;
        drop(sender);
        let ended = async { while let Ok(Some(_)) = receiver.next().await {} };
        let _ = tokio::time::timeout(FAREWELL, ended).await;
    }

    /// Carries out a job. Its caller may have been interrupted, and then does not wait for it.
    async fn carry_out(&mut self, job: Job) {
        match job {
            Job::Read(request, answer) => {
                let found = self.client.read(request).await;
                let _ = answer.send(found.map_err(|status| read_fault(&status)));
            }
            Job::Write(updates, atomicity, answer) => {
                let count = updates.len();
                let written = self.client.write(updates, atomicity).await;
                let _ = answer.send(outcomes(count, written));
            }
            Job::Send(packet, answer) => {
                let queued = self.sender.packet_outs([packet]);
                let full = || Fault::new(Kind::Limit, "the packet did not fit the queue");
                let _ = answer.send(if queued == 1 { Ok(()) } else { Err(full()) });
            }
        }
    }
}

/// Makes a controller primary. Without an election id, the smallest is tried first, since it
/// displaces nobody; a device that had a primary before names the id that it needs.
async fn arbitrate(
    client: &mut Client,
    to: &Attachment,
) -> Result<(StreamSender, StreamReceiver), Fault> {
    let first = ElectionId(to.election_id.unwrap_or(1));
    let failure = match client.become_primary(&to.role, first, to.patience).await {
        Ok(stream) => return Ok(stream),
        Err(failure) => failure,
    };
    let failure = match failure {
        ArbitrationFailure::NoPrimary { highest: Some(highest) } if to.election_id.is_none() => {
            match client.become_primary(&to.role, highest, to.patience).await {
                Ok(stream) => return Ok(stream),
                Err(failure) => failure,
            }
        }
        other => other,
    };
    let kind = match &failure {
        ArbitrationFailure::NoAnswer { .. } => Kind::Unreachable,
        _ => Kind::Refused,
    };
    Err(Fault::new(kind, failure.to_string())
        .at(to.address.as_str())
        .mended_by("election_id= chooses another election id"))
}

/// Returns the objects of the program that the device runs.
async fn schema(client: &mut Client, to: &Attachment) -> Result<Arc<Schema>, Fault> {
    let p4info = match &to.p4info {
        Some(bytes) => P4Info::decode(bytes.as_slice()).map_err(|error| {
            Fault::new(Kind::Input, format!("it is no P4Info: {error}")).at("p4info")
        })?,
        None => {
            let none = || {
                Fault::new(Kind::Refused, "the device runs no program")
                    .at(to.address.as_str())
                    .mended_by("push one: planimeter ctl ADDRESS pipeline push PROGRAM")
            };
            match client.get_pipeline(ResponseType::P4infoAndCookie).await {
                Ok(config) => config.p4info.ok_or_else(none)?,
                Err(status) if status.code() == tonic::Code::FailedPrecondition => {
                    return Err(none());
                }
                Err(status) => return Err(status_fault(&status)),
            }
        }
    };
    Schema::new(p4info).map_err(|error| {
        Fault::new(Kind::Input, format!("the P4Info of the device is wrong: {error}"))
    })
}

fn status_fault(status: &tonic::Status) -> Fault {
    match status.code() {
        tonic::Code::Unavailable => Fault::new(Kind::Unreachable, status.message()),
        code => entity_fault(&EntityError::new(
            Code::from_number(code as i32),
            status.message().to_owned(),
        )),
    }
}

/// Returns the fault of a Read, whose details say which part of the request was refused.
fn read_fault(status: &tonic::Status) -> Fault {
    let errors = p4runtime::status::batch_errors(status);
    match errors.iter().find(|error| error.canonical_code != Code::Ok as i32) {
        Some(first) => entity_fault(&EntityError::new(
            Code::from_number(first.canonical_code),
            first.message.clone(),
        )),
        None => status_fault(status),
    }
}

/// Returns the outcome of each of `count` updates.
fn outcomes(count: usize, written: Result<(), WriteError>) -> Result<Outcomes, Fault> {
    let mut outcomes: Outcomes = (0..count).map(|_| Ok(())).collect();
    match written {
        Ok(()) => Ok(outcomes),
        Err(WriteError::Rpc(status)) => Err(status_fault(&status)),
        Err(WriteError::Updates { refused, .. }) => {
            for refusal in refused {
                if let Some(outcome) = outcomes.get_mut(refusal.index) {
                    *outcome = Err(EntityError::new(refusal.code, refusal.message));
                }
            }
            Ok(outcomes)
        }
        // The enum may get further errors.
        Err(other) => Err(Fault::new(Kind::Refused, other.to_string())),
    }
}

/// Returns the events in a message of a device.
fn arrived(schema: &Schema, message: Response) -> Result<Vec<Arrived>, Fault> {
    Ok(match message {
        Response::Packet(packet) => {
            let (payload, metadata) = (packet.payload, packet.metadata);
            vec![Arrived::Event(Event::PacketIn { payload, metadata })]
        }
        Response::Digest(list) => {
            let id = DigestId(list.digest_id);
            let digest =
                schema.digests().get(id).ok_or_else(|| super::values::absent("a digest"))?;
            let one = |data: &v1::P4Data| {
                let data = p4runtime::read_data(&digest.data, data);
                data.map(|data| Arrived::Event(Event::Digest(id, data)))
                    .map_err(|error| entity_fault(&error))
            };
            list.data.iter().map(one).collect::<Result<_, _>>()?
        }
        Response::IdleTimeoutNotification(idle) => {
            let entries = idle.table_entry.into_iter();
            entries.map(|entry| Arrived::Event(Event::Idle(Box::new(entry)))).collect()
        }
        Response::Error(error) => vec![Arrived::Refused(error.message)],
        Response::Arbitration(_) | Response::Other(_) => Vec::new(),
    })
}

/// Returns the request that reads what a selection includes.
fn request(schema: &Schema, selection: &Selection) -> v1::Entity {
    let cell = |cells: Cells| match cells {
        Cells::One(index) => Some(v1::Index { index: i64::try_from(index).unwrap_or(i64::MAX) }),
        Cells::All | Cells::Written => None,
    };
    let message = match selection {
        Selection::Entries(entries) => {
            let table = schema.tables().get(entries.table);
            // A device refuses a request for what the table does not have.
            let counter = table.is_some_and(|table| table.direct_counter.is_some());
            let meter = table.is_some_and(|table| table.direct_meter.is_some());
            let idle = table.is_some_and(|table| table.idle_timeout) && !entries.is_default;
            Message::TableEntry(v1::TableEntry {
                table_id: entries.table.0,
                is_default_action: entries.is_default,
                counter_data: counter.then(v1::CounterData::default),
                meter_config: meter.then(v1::MeterConfig::default),
                time_since_last_hit: idle.then(v1::table_entry::IdleTimeout::default),
                ..v1::TableEntry::default()
            })
        }
        Selection::Members(profile, member) => {
            Message::ActionProfileMember(v1::ActionProfileMember {
                action_profile_id: profile.0,
                member_id: member.map_or(0, |member| member.0),
                ..v1::ActionProfileMember::default()
            })
        }
        Selection::Groups(profile, group) => Message::ActionProfileGroup(v1::ActionProfileGroup {
            action_profile_id: profile.0,
            group_id: group.map_or(0, |group| group.0),
            ..v1::ActionProfileGroup::default()
        }),
        Selection::Counters(counter, cells) => Message::CounterEntry(v1::CounterEntry {
            counter_id: counter.0,
            index: cell(*cells),
            ..v1::CounterEntry::default()
        }),
        Selection::Meters(meter, cells) => Message::MeterEntry(v1::MeterEntry {
            meter_id: meter.0,
            index: cell(*cells),
            ..v1::MeterEntry::default()
        }),
        Selection::Registers(register, cells) => Message::RegisterEntry(v1::RegisterEntry {
            register_id: register.0,
            index: cell(*cells),
            ..v1::RegisterEntry::default()
        }),
        Selection::MulticastGroups(group) => {
            replication(Replication::MulticastGroupEntry(v1::MulticastGroupEntry {
                multicast_group_id: group.map_or(0, |group| group.0),
                ..v1::MulticastGroupEntry::default()
            }))
        }
        Selection::CloneSessions(session) => {
            replication(Replication::CloneSessionEntry(v1::CloneSessionEntry {
                session_id: session.map_or(0, |session| session.0),
                ..v1::CloneSessionEntry::default()
            }))
        }
        Selection::ValueSet(set) => Message::ValueSetEntry(v1::ValueSetEntry {
            value_set_id: set.0,
            ..v1::ValueSetEntry::default()
        }),
        Selection::Digest(digest) => Message::DigestEntry(v1::DigestEntry {
            digest_id: digest.0,
            ..v1::DigestEntry::default()
        }),
    };
    v1::Entity { entity: Some(message) }
}

fn replication(of: Replication) -> Message {
    Message::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(of) })
}
