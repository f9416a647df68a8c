//! The control channel of a P4Runtime switch, of which this program becomes the primary controller.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use entities::Code;
use p4runtime::arbitration::ElectionId;
use p4runtime::client::{
    ArbitrationFailure, Client, ClientOptions, EncodedUpdates, Standing, StreamReceiver,
    StreamSender, WriteError,
};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, get_forwarding_pipeline_config_request::ResponseType,
    stream_message_response::Update as Message, write_request::Atomicity,
};
use tokio::task::JoinSet;

use grpc::timer::Timer;
use measuring::tcp::Addresses;

use super::Device;
use crate::entries::{EntryFile, EntryMaker, Makers, OwnEntries, key};
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::poll::poll_once;
use crate::sustained::trial::{Request, Step, Trial};
use crate::window::{
    Answered, BatchAtomicity, Operation, Phase, Refusal, Sent, Shape, TIMEOUT, Work, processor_time,
};

/// The largest number of stream messages that are taken at a time.
const MOST: usize = 256;

/// The control channel of a P4Runtime switch: a connection as the only primary controller.
pub(crate) struct P4RuntimeChannel {
    pub(crate) client: Client,
    /// The stream that keeps this client the primary controller as long as it is open.
    stream: (StreamSender, StreamReceiver),
    election_id: ElectionId,
    /// The makers of entries, one for each table of the switch's program.
    makers: Makers,
    maker: EntryMaker,
    version: Option<String>,
    device: Device,
    /// The further controllers, each of which is the primary of another role.
    others: Vec<OtherController>,
    /// The number of controllers that take part in sending the requests of a series.
    active: usize,
}

/// A further controller, which is the primary of another role.
struct OtherController {
    client: Client,
    /// The stream that keeps the controller the primary of its role as long as it is open.
    _stream: (StreamSender, StreamReceiver),
}

/// The sender and the receiver of a connection's stream.
pub(crate) struct Stream<'a> {
    pub(crate) sender: &'a StreamSender,
    pub(crate) receiver: &'a mut StreamReceiver,
}

impl P4RuntimeChannel {
    /// Connects to a switch, becomes its primary controller, and chooses the table to measure: the
    /// one with the given name, or the largest suitable one. The entries are those of the file
    /// `own` if there is one.
    ///
    /// # Errors
    /// See [`DutError`]. If the switch has another primary controller, that controller is not
    /// disturbed.
    pub(crate) async fn open(
        device: &Device,
        table: Option<&str>,
        own: Option<&dyn EntryFile>,
    ) -> Result<Self, DutError> {
        let mut client = connect(device).await?;
        let highest = spectate(&mut client).await?;
        let election_id =
            ElectionId(highest.map_or(1, |ElectionId(highest)| highest.saturating_add(1)));
        let stream = client.become_primary("", election_id, TIMEOUT).await?;
        // Servers before P4Runtime 1.1 do not know the request.
        let version = client.capabilities().await.ok();
        let config = client.get_pipeline(ResponseType::P4infoAndCookie).await;
        let p4info = config.map(|config| config.p4info);
        let p4info = p4info.map_err(|status| status.message().to_owned());
        let p4info = p4info.and_then(|found| found.ok_or_else(|| "it has no P4Info".to_owned()));
        let p4info =
            p4info.map_err(|cause| DutError::NoPipeline { device_id: device.device_id, cause })?;
        let schema = Schema::new(p4info).map_err(|error| DutError::Schema(error.to_string()))?;
        let file = own.map(|file| OwnEntries::new(&schema, file)).transpose()?;
        let makers = Makers::new(schema, file.map(Arc::new));
        let maker = makers.choose(table)?;
        let (device, others) = (device.clone(), Vec::new());
        Ok(Self { client, stream, election_id, makers, maker, version, device, others, active: 1 })
    }

    /// Connects further controllers until there are `count`. Each of the further ones is the
    /// primary of a role of its own. A role without a configuration has full access (P4Runtime 1.5,
    /// section 5.2); each controller proves it by inserting and deleting the entry `tried`. Returns
    /// the answer with which the switch refuses one of the controllers; `None` if it accepts all.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached.
    pub(crate) async fn connect_others(
        &mut self,
        count: usize,
        tried: EntryNumber,
    ) -> Result<Option<Refusal>, DutError> {
        while self.others.len() + 1 < count {
            let role = format!("planimeter-{}", self.others.len() + 2);
            let mut client = connect(&self.device).await?;
            let stream = match arbitrated(&mut client, &role).await {
                Ok(stream) => stream,
                Err(failure) => {
                    let code = "Arbitration".to_owned();
                    return Ok(Some(Refusal { code, message: failure.to_string(), entry: None }));
                }
            };
            let [insert, delete] = [Operation::Insert, Operation::Delete]
                .map(|operation| vec![self.maker.update(tried, operation)]);
            for updates in [insert, delete] {
                if let Err(error) = client.write(updates, Atomicity::ContinueOnError).await {
                    return Ok(Some(refusal_of_role(&role, &error)));
                }
            }
            self.others.push(OtherController { client, _stream: stream });
        }
        Ok(None)
    }

    /// Sets the number of connected controllers that send the requests of the next series.
    pub(crate) fn activate(&mut self, count: usize) {
        self.active = count.clamp(1, self.others.len() + 1);
    }

    /// Returns the addresses of the TCP connections over which the next series of requests is sent.
    pub(crate) fn addresses(&self) -> Vec<Addresses> {
        let others = self.others.iter().map(|other| &other.client);
        let clients = [&self.client].into_iter().chain(others).take(self.active);
        let ends = clients.map(Client::ends);
        ends.map(|ends| Addresses { local: ends.local, remote: ends.remote }).collect()
    }

    /// Disconnects the further controllers.
    pub(crate) fn disconnect_others(&mut self) {
        self.active = 1;
        self.others.clear();
    }

    /// Returns the election id of this client.
    pub(crate) fn election_id(&self) -> ElectionId {
        self.election_id
    }

    /// Returns the receiver of the messages that the switch sends unasked.
    pub(crate) fn receiver(&mut self) -> &mut StreamReceiver {
        &mut self.stream.1
    }

    /// Returns the sender and the receiver of the stream.
    pub(crate) fn stream(&mut self) -> Stream<'_> {
        let (sender, receiver) = &mut self.stream;
        Stream { sender, receiver }
    }

    /// Becomes the primary again after another controller, with the given election id, was the
    /// primary.
    pub(crate) async fn become_primary_after(&mut self, other: ElectionId) -> Result<(), DutError> {
        let own = ElectionId(other.0.saturating_add(1));
        self.stream = self.client.become_primary("", own, TIMEOUT).await?;
        self.election_id = own;
        Ok(())
    }

    /// Returns the maker of entries for the table that is measured.
    pub(crate) fn maker(&self) -> &EntryMaker {
        &self.maker
    }

    /// Returns the makers of entries, one for each table of the switch's program.
    pub(crate) fn makers(&self) -> &Makers {
        &self.makers
    }

    /// Makes another table the one that is measured, and returns the maker of entries for the
    /// previous one.
    pub(crate) fn turn_to(&mut self, maker: EntryMaker) -> EntryMaker {
        std::mem::replace(&mut self.maker, maker)
    }

    /// Tests whether the switch implements an atomicity of requests, by inserting two entries with
    /// it and deleting them again. Returns the answer with which the switch refuses the atomicity;
    /// `None` if it implements it.
    pub(crate) async fn refusal_of(
        &mut self,
        atomicity: BatchAtomicity,
        numbers: [EntryNumber; 2],
    ) -> Result<Option<Refusal>, DutError> {
        let updates = |operation| numbers.map(|one| self.maker.update(one, operation)).to_vec();
        let [insert, delete] = [updates(Operation::Insert), updates(Operation::Delete)];
        let refusal = unimplemented(self.client.write(insert, wire(atomicity)).await)?;
        // Entries that were refused are not there to be deleted.
        match self.client.write(delete, Atomicity::ContinueOnError).await {
            Ok(()) | Err(WriteError::Updates { .. }) => {}
            Err(other) => {
                return Err(DutError::Request { what: "Write", cause: other.to_string() });
            }
        }
        Ok(refusal)
    }

    /// Returns the version of P4Runtime that the switch implements; `None` if the switch does not
    /// report it.
    pub(crate) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns the keys of all entries of the table, in the form that [`key`] returns.
    pub(crate) async fn keys(&mut self) -> Result<Vec<Vec<u8>>, DutError> {
        let mut keys = Vec::new();
        self.each_entry(|entry| keys.push(key(entry))).await?;
        Ok(keys)
    }

    /// Reads all entries of the table, and returns how many there are.
    pub(crate) async fn count(&mut self) -> Result<usize, DutError> {
        let mut count = 0;
        self.each_entry(|_| count += 1).await?;
        Ok(count)
    }

    /// Returns whether the entries of the table have direct counters.
    pub(crate) fn has_counters(&self) -> bool {
        self.maker.table().direct_counter.is_some()
    }

    /// Reads the direct counters of all entries of the table, and returns how many there are.
    pub(crate) async fn count_counters(&mut self) -> Result<usize, DutError> {
        let mut count = 0;
        let table_entry = Some(self.any_entry());
        let selected = Kind::DirectCounterEntry(v1::DirectCounterEntry { table_entry, data: None });
        self.each(selected, |found| {
            if let Kind::DirectCounterEntry(found) = found
                && found.table_entry.as_ref().is_some_and(|entry| !entry.is_default_action)
            {
                count += 1;
            }
        })
        .await?;
        Ok(count)
    }

    /// Returns a table entry without a key, which in a Read request selects all entries of the
    /// table.
    fn any_entry(&self) -> v1::TableEntry {
        v1::TableEntry { table_id: self.maker.table().id.into(), ..Default::default() }
    }

    /// Reads all entries of the table, and calls `act` with each.
    async fn each_entry(&mut self, mut act: impl FnMut(&v1::TableEntry)) -> Result<(), DutError> {
        self.each(Kind::TableEntry(self.any_entry()), |found| match found {
            // The default entry is no entry that was inserted.
            Kind::TableEntry(entry) if !entry.is_default_action => act(entry),
            _ => {}
        })
        .await
    }

    /// Reads all entities that `selected` selects, and calls `act` with each. Holds only one
    /// message of the answer in memory at a time.
    async fn each(&mut self, selected: Kind, mut act: impl FnMut(&Kind)) -> Result<(), DutError> {
        let selected = v1::Entity { entity: Some(selected) };
        let mut messages = in_time(self.client.read_stream(vec![selected])).await?;
        while let Some(message) = in_time(messages.message()).await? {
            message.entities.iter().filter_map(|one| one.entity.as_ref()).for_each(&mut act);
        }
        Ok(())
    }

    /// Sends the requests of `work`, and waits for the answers.
    ///
    /// Stops sending when all requests are sent, `shape.time` is over, `stop` is set, or a request
    /// fails as a whole. At least one window of requests is sent, even if this thread is delayed.
    /// If several controllers are active, the next request is sent by the one with the most room in
    /// its share of the window. Returns the record of the answered requests, and the entries of
    /// those that were not sent.
    pub(crate) async fn send(
        &self,
        work: Work<'_>,
        shape: Shape,
        atomicity: BatchAtomicity,
        stop: &AtomicBool,
    ) -> Result<Sent, DutError> {
        let updates = |numbers: &[EntryNumber]| {
            let updates = numbers.iter().map(|one| self.maker.update(*one, work.operation));
            EncodedUpdates::of(updates.collect())
        };
        let others = self.others.iter().map(|other| &other.client);
        let clients: Vec<&Client> = [&self.client].into_iter().chain(others).collect();
        let clients = clients.get(..self.active).unwrap_or(&clients);
        let windows = (0..clients.len()).map(|place| shape.window_of(place, clients.len()));
        let mut room: Vec<usize> = windows.collect();
        let mut phase = Phase { series: 1, ..Phase::default() };
        if clients.len() > 1 {
            phase.by_controller = vec![0; clients.len()];
        }
        let requests: Vec<&[EntryNumber]> = work.requests().collect();
        let mut waiting: VecDeque<EncodedUpdates> =
            requests.iter().map(|numbers| updates(numbers)).collect();
        let mut sent = 0;
        let mut flying: JoinSet<Ended> = JoinSet::new();
        let mut failure = None;
        let start = Instant::now();
        let processor = processor_time();
        loop {
            let goes_on = failure.is_none()
                && !stop.load(Ordering::Relaxed)
                && shape.time.is_none_or(|time| sent == 0 || start.elapsed() < time);
            loop {
                let most = room.iter_mut().zip(clients).enumerate();
                let most = most.filter(|(_, (room, _))| goes_on && **room > 0);
                // Of several with the same room, the first one sends.
                let chosen = most.rev().max_by_key(|(_, (room, _))| **room);
                let Some((controller, (room, client))) = chosen else { break };
                let Some(updates) = waiting.pop_front() else { break };
                let position = sent;
                sent += 1;
                *room -= 1;
                let mut client = Client::clone(client);
                flying.spawn(async move {
                    let sent = start.elapsed();
                    let outcome = client.write_encoded(updates, wire(atomicity)).await;
                    Ended { position, controller, sent, answered: start.elapsed(), outcome }
                });
            }
            let ended = match tokio::time::timeout(TIMEOUT, flying.join_next()).await {
                Err(_) => return Err(DutError::NoAnswer { what: "Write", patience: TIMEOUT }),
                Ok(None) => break,
                Ok(Some(Err(error))) => {
                    return Err(DutError::Request { what: "Write", cause: error.to_string() });
                }
                Ok(Some(Ok(ended))) => ended,
            };
            let numbers = requests.get(ended.position).copied().unwrap_or_default();
            let before = phase.accepted.len();
            if let Err(error) = self.note(&mut phase, &ended, numbers) {
                failure.get_or_insert(error);
            }
            let accepted = (phase.accepted.len() - before) as u64;
            phase.by_controller.iter_mut().skip(ended.controller).take(1).for_each(|sum| {
                *sum += accepted;
            });
            room.iter_mut().skip(ended.controller).take(1).for_each(|room| *room += 1);
        }
        phase.end(processor);
        match failure {
            None => Ok(Sent::new(phase, work, sent)),
            Some(failure) => Err(failure),
        }
    }
}

/// Connects to a device.
async fn connect(device: &Device) -> Result<Client, DutError> {
    let options = ClientOptions { tls: device.tls.clone(), ..ClientOptions::default() };
    let connected = Client::connect(&device.address, device.device_id, &options).await;
    connected.map_err(|error| DutError::Connect {
        address: device.address.clone(),
        cause: error.to_string(),
    })
}

/// Becomes the primary of a role. Uses a higher election id than that of an earlier primary of the
/// role, if there was one.
async fn arbitrated(
    client: &mut Client,
    role: &str,
) -> Result<(StreamSender, StreamReceiver), ArbitrationFailure> {
    match client.become_primary(role, ElectionId(1), TIMEOUT).await {
        Err(ArbitrationFailure::NoPrimary { highest: Some(ElectionId(highest)) }) => {
            let next = ElectionId(highest.saturating_add(1));
            client.become_primary(role, next, TIMEOUT).await
        }
        found => found,
    }
}

/// Returns the refusal that says that the switch does not let the primary of a role write.
fn refusal_of_role(role: &str, error: &WriteError) -> Refusal {
    let first = match error {
        WriteError::Updates { refused, .. } => {
            refused.first().map(|first| (format!("{:?}", first.code), first.message.clone()))
        }
        WriteError::Rpc(status) => {
            Some((format!("{:?}", status.code()), status.message().to_owned()))
        }
        _ => None,
    };
    let (code, message) = first.unwrap_or_else(|| ("Write".to_owned(), error.to_string()));
    Refusal { code, message: format!("{message} (a Write of role {role})"), entry: None }
}

/// Reads the entities that `wanted` selects.
pub(crate) async fn read_entities(
    client: &mut Client,
    wanted: Vec<v1::Entity>,
) -> Result<Vec<v1::Entity>, DutError> {
    in_time(client.read(wanted)).await
}

/// Waits for the answer to a Read request, but not longer than a request may take.
async fn in_time<T>(answer: impl Future<Output = Result<T, tonic::Status>>) -> Result<T, DutError> {
    let answer = tokio::time::timeout(TIMEOUT, answer).await;
    let answer = answer.map_err(|_| DutError::NoAnswer { what: "Read", patience: TIMEOUT })?;
    answer.map_err(|status| DutError::Request {
        what: "Read",
        cause: format!("{} ({:?})", status.message(), status.code()),
    })
}

/// Writes updates in one request. Returns an error if the switch refuses any of them.
pub(crate) async fn write_updates(
    client: &mut Client,
    updates: Vec<v1::Update>,
) -> Result<(), DutError> {
    let answer = client.write(updates, Atomicity::ContinueOnError);
    let answer = tokio::time::timeout(TIMEOUT, answer).await;
    let answer = answer.map_err(|_| DutError::NoAnswer { what: "Write", patience: TIMEOUT })?;
    answer.map_err(|error| refused_write(&error))
}

/// Returns the error for a Write request of which the switch refused some or all updates.
pub(crate) fn refused_write(error: &WriteError) -> DutError {
    let cause = match error {
        WriteError::Updates { refused, .. } => refused
            .first()
            .map_or_else(String::new, |first| format!("{} ({:?})", first.message, first.code)),
        WriteError::Rpc(status) => format!("{} ({:?})", status.message(), status.code()),
        other => other.to_string(),
    };
    DutError::Request { what: "Write", cause }
}

/// Appends the stream messages that have arrived to `messages`, without waiting for further ones.
pub(crate) async fn take_messages(
    receiver: &mut StreamReceiver,
    messages: &mut Vec<Message>,
) -> Result<(), DutError> {
    let failed = |cause| DutError::Request { what: "StreamChannel", cause };
    let mut next = pin!(receiver.next_batch(messages, MOST));
    match poll_once(next.as_mut()).await {
        Poll::Pending | Poll::Ready(Ok(1..)) => Ok(()),
        Poll::Ready(Ok(0)) => Err(failed("the switch has ended the stream".to_owned())),
        Poll::Ready(Err(status)) => {
            Err(failed(format!("{} ({:?})", status.message(), status.code())))
        }
    }
}

impl P4RuntimeChannel {
    /// Runs a trial of the search for the sustained rate. Returns the trial, and the share of the
    /// schedule's duration in which this thread was running.
    pub(crate) async fn run(
        &self,
        mut trial: Trial,
        stop: &AtomicBool,
    ) -> Result<(Trial, f64), DutError> {
        let timer = Timer::new()?;
        let mut flying: JoinSet<(Ended, Vec<EntryNumber>)> = JoinSet::new();
        let (start, processor) = (Instant::now(), processor_time());
        let mut busy = None;
        loop {
            let now = start.elapsed();
            if now >= trial.end() {
                busy.get_or_insert_with(|| (processor_time() - processor).div_duration_f64(now));
            }
            if stop.load(Ordering::Relaxed) {
                trial.stop();
            }
            let due = match trial.step(now) {
                Step::Send(Request { position, operation, numbers }) => {
                    let updates = numbers.iter().map(|one| self.maker.update(*one, operation));
                    let updates: Vec<v1::Update> = updates.collect();
                    let mut client = self.client.clone();
                    trial.handed_over(position, start.elapsed());
                    flying.spawn(async move {
                        let sent = start.elapsed();
                        let outcome = client.write(updates, Atomicity::ContinueOnError).await;
                        let answered = start.elapsed();
                        (Ended { position, controller: 0, sent, answered, outcome }, numbers)
                    });
                    // The connection must send this request and receive answers even if a further
                    // request is due.
                    tokio::task::yield_now().await;
                    None
                }
                Step::WaitUntil(due) => Some(due.saturating_sub(start.elapsed())),
                Step::Await => Some(TIMEOUT),
                Step::End => break,
            };
            let mut ended = flying.try_join_next();
            if let (Some(due), None) = (due, &ended) {
                let nanoseconds = u64::try_from(due.as_nanos()).unwrap_or(u64::MAX);
                tokio::select! {
                    Some(next) = flying.join_next() => ended = Some(next),
                    slept = timer.sleep(nanoseconds) => {
                        slept?;
                        if due == TIMEOUT {
                            return Err(DutError::NoAnswer { what: "Write", patience: TIMEOUT });
                        }
                    }
                }
            }
            while let Some(next) = ended {
                let (one, numbers) = next.map_err(|error| DutError::Request {
                    what: "Write",
                    cause: error.to_string(),
                })?;
                let (refused, refusal) = self.refusals(&one.outcome, &numbers)?;
                trial.answered(one.position, one.answered, &refused, refusal);
                ended = flying.try_join_next();
            }
        }
        Ok((trial, busy.unwrap_or(0.0)))
    }

    /// Returns the positions of the updates that the switch refused in a request for these entries,
    /// and the reason for the first of them.
    ///
    /// # Errors
    /// Returns an error if the request failed as a whole.
    fn refusals(
        &self,
        outcome: &Result<(), WriteError>,
        numbers: &[EntryNumber],
    ) -> Result<(Vec<usize>, Option<Refusal>), DutError> {
        let refused = match outcome {
            Ok(()) => &[][..],
            Err(WriteError::Updates { refused, .. }) => refused,
            Err(WriteError::Rpc(status)) => {
                let cause = format!("{} ({:?})", status.message(), status.code());
                return Err(DutError::Request { what: "Write", cause });
            }
            Err(other) => {
                return Err(DutError::Request { what: "Write", cause: other.to_string() });
            }
        };
        let refusal = refused.first().map(|first| Refusal {
            code: format!("{:?}", first.code),
            message: first.message.clone(),
            entry: numbers.get(first.index).and_then(|number| self.maker.quote(*number)),
        });
        Ok((refused.iter().map(|one| one.index).collect(), refusal))
    }

    /// Adds an answered request to the record of its phase. Returns an error if the request failed
    /// as a whole.
    fn note(
        &self,
        phase: &mut Phase,
        ended: &Ended,
        numbers: &[EntryNumber],
    ) -> Result<(), DutError> {
        let (refused, refusal) = self.refusals(&ended.outcome, numbers)?;
        phase.refusal = phase.refusal.take().or(refusal);
        let (sent, answered) = (ended.sent, ended.answered);
        phase.note(&Answered { sent, answered, numbers, refused: &refused });
        Ok(())
    }
}

/// Returns the refusal by which a switch says that it does not implement a kind of Write request.
/// The refusal may concern the request as a whole or one of its updates. Returns `None` if the
/// switch accepted the request, or refused updates for other reasons.
///
/// # Errors
/// Returns an error if the request failed as a whole for another reason.
fn unimplemented(outcome: Result<(), WriteError>) -> Result<Option<Refusal>, DutError> {
    let message = match outcome {
        Ok(()) => None,
        Err(WriteError::Rpc(status)) if status.code() == tonic::Code::Unimplemented => {
            Some(status.message().to_owned())
        }
        Err(WriteError::Updates { refused, .. }) => {
            let first = refused.into_iter().find(|one| one.code == Code::Unimplemented);
            first.map(|one| one.message)
        }
        Err(other) => {
            return Err(DutError::Request { what: "Write", cause: other.to_string() });
        }
    };
    let code = format!("{:?}", Code::Unimplemented);
    Ok(message.map(|message| Refusal { code, message, entry: None }))
}

/// Converts an atomicity to its value in P4Runtime messages.
pub(crate) fn wire(atomicity: BatchAtomicity) -> Atomicity {
    match atomicity {
        BatchAtomicity::ContinueOnError => Atomicity::ContinueOnError,
        BatchAtomicity::RollbackOnError => Atomicity::RollbackOnError,
        BatchAtomicity::DataplaneAtomic => Atomicity::DataplaneAtomic,
    }
}

/// The outcome of a request, with the request's position in the series.
struct Ended {
    position: usize,
    /// The position of the controller that sent the request.
    controller: usize,
    sent: Duration,
    answered: Duration,
    outcome: Result<(), WriteError>,
}

/// Finds out whether the device has a primary controller. For that, opens a stream without an
/// election id, which cannot displace the primary (P4Runtime 1.5, section 5.3). Returns the highest
/// election id that the switch has seen; `None` if it has seen none.
///
/// # Errors
/// Returns an error if there is a primary, if there is no such device, or if the switch does not
/// answer.
async fn spectate(client: &mut Client) -> Result<Option<ElectionId>, DutError> {
    let device_id = client.device_id();
    let ask = async {
        let (_sender, mut receiver) = client.open_stream("", None, None).await?;
        receiver.arbitrated().await
    };
    match tokio::time::timeout(TIMEOUT, ask).await {
        Err(_) => Err(DutError::NoAnswer { what: "StreamChannel", patience: TIMEOUT }),
        Ok(Err(status)) if status.code() == tonic::Code::NotFound => {
            Err(DutError::NoDevice { device_id, cause: status.message().to_owned() })
        }
        Ok(Err(status)) => Err(DutError::Request {
            what: "StreamChannel",
            cause: format!("{} ({:?})", status.message(), status.code()),
        }),
        Ok(Ok(Standing::Backup { highest })) => Err(DutError::Controlled { device_id, highest }),
        Ok(Ok(Standing::NoPrimary { highest })) => Ok(highest),
        Ok(Ok(Standing::Primary)) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use p4runtime::client::UpdateError;

    use super::*;

    #[test]
    fn only_unimplemented_says_that_an_atomicity_is_not_implemented() {
        let request = |code| Err(WriteError::Rpc(Box::new(tonic::Status::new(code, "no"))));
        let found = unimplemented(request(tonic::Code::Unimplemented)).expect("it says why");
        assert_eq!(found.map(|one| one.code), Some("Unimplemented".to_owned()));
        let other = unimplemented(request(tonic::Code::Internal));
        assert!(matches!(other, Err(DutError::Request { .. })), "{other:?}");
        let update = |code| {
            let refused = vec![UpdateError { index: 1, code, message: "no".to_owned() }];
            unimplemented(Err(WriteError::Updates { updates: 2, refused }))
        };
        assert!(update(Code::Unimplemented).expect("it says why").is_some());
        assert!(update(Code::ResourceExhausted).expect("the table may be full").is_none());
        assert!(unimplemented(Ok(())).expect("it is accepted").is_none());
    }
}
