//! The controller of the measured switch, on a thread of its own. It answers each digest by making
//! the change that the packet requested, and changes entries on command.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions, WriteError};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::proto::v1::stream_message_response::Update as Message;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::proto::v1::{self, entity::Entity as Kind, p4_data, update::Type};
use p4runtime::value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinSet, LocalSet, spawn_local};

use crate::failure::Failure;

const TIMEOUT: Duration = Duration::from_secs(10);
/// The number of entries that [`Controller::load`] writes in one request.
const BATCH: usize = 500;

/// The times at which a write request was sent and answered by the clock of the system, in
/// nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    pub(super) request: u64,
    pub(super) answer: u64,
}

/// A program for the switch, and the number of entries that its table gets.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// The program as P4 text.
    pub(super) text: String,
    pub(super) p4info: P4Info,
    pub(super) entries: u32,
}

/// A command to the controller's thread, with the channel on which the result is returned.
enum Command {
    Load(Box<Load>, Reply<()>),
    Modify { entry: u32, value: u32, reply: Reply<Written> },
    ModifyFor { time: Duration, window: usize, entries: u32, reply: Reply<f64> },
}

type Reply<T> = Sender<Result<T, String>>;

/// A running controller. Dropping this value ends it.
#[derive(Debug)]
pub(super) struct Controller {
    commands: UnboundedSender<Command>,
}

impl Controller {
    /// Connects to the switch at `address`, which may still be starting, and becomes its primary
    /// controller.
    pub(super) fn start(address: String) -> Result<Self, Failure> {
        let (commands, received) = unbounded_channel();
        let (ready, is_ready) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::run)?;
        // The thread is in the network namespace of the one that starts it.
        let thread = std::thread::Builder::new().name("controller".to_owned());
        let served = move || {
            LocalSet::new().block_on(&runtime, serve(&address, received, &ready));
        };
        thread.spawn(served).map_err(Failure::run)?;
        let () = result(&is_ready)?;
        Ok(Self { commands })
    }

    /// Replaces the program of the switch and fills its table with entries of the value 0.
    pub(super) fn load(&self, load: Load) -> Result<(), Failure> {
        self.call(|reply| Command::Load(Box::new(load), reply))
    }

    /// Begins to change an entry. The result arrives on the returned channel.
    pub(super) fn modify(&self, entry: u32, value: u32) -> Receiver<Result<Written, String>> {
        let (reply, found) = channel();
        let _ = self.commands.send(Command::Modify { entry, value, reply });
        found
    }

    /// Changes entries for a time, such that `window` requests, of one change each, are outstanding
    /// at any time. Returns the number of answers per second.
    pub(super) fn modify_for(
        &self,
        time: Duration,
        window: usize,
        entries: u32,
    ) -> Result<f64, Failure> {
        self.call(|reply| Command::ModifyFor { time, window, entries, reply })
    }

    fn call<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, Failure> {
        let (reply, found) = channel();
        let _ = self.commands.send(command(reply));
        result(&found)
    }
}

/// Waits for the result of a command.
pub(super) fn result<T>(found: &Receiver<Result<T, String>>) -> Result<T, Failure> {
    match found.recv_timeout(TIMEOUT * 2) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(cause)) => Err(Failure::run(format!("the switch's controller: {cause}"))),
        Err(_) => Err(Failure::run("the switch's controller does not answer")),
    }
}

/// Connects to the switch at `address` and reports the outcome to `ready`. Then carries out
/// commands and answers digests, until no more commands can arrive or the stream ends.
async fn serve(address: &str, mut commands: UnboundedReceiver<Command>, ready: &Reply<()>) {
    let connected = connect(address).await;
    let (mut client, sender, mut receiver) = match connected {
        Ok(connected) => connected,
        Err(cause) => {
            let _ = ready.send(Err(cause));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    let mut ids = None;
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                None => return,
                Some(Command::Load(load, reply)) => {
                    let _ = reply.send(match load_program(&mut client, &load).await {
                        Ok(known) => { ids = Some(known); Ok(()) }
                        Err(cause) => Err(cause),
                    });
                }
                Some(Command::Modify { entry, value, reply }) => {
                    let update = ids.map(|ids: Ids| ids.update(Type::Modify, entry, value));
                    let mut client = client.clone();
                    spawn_local(async move {
                        let request = now();
                        let written = write(&mut client, update.into_iter().collect()).await;
                        let _ = reply.send(written.map(|()| Written { request, answer: now() }));
                    });
                }
                Some(Command::ModifyFor { time, window, entries, reply }) => {
                    let found = match ids {
                        Some(ids) => modify_for(&client, ids, time, window, entries).await,
                        None => Err("no program is loaded".to_owned()),
                    };
                    let _ = reply.send(found);
                }
            },
            message = receiver.next() => match message {
                Ok(Some(Message::Digest(list))) => {
                    let updates = ids.map(|ids| ids.changes(&list)).unwrap_or_default();
                    let mut client = client.clone();
                    // A refused change shows as one that packets never see.
                    spawn_local(async move { write(&mut client, updates).await });
                    sender.acknowledge(&list);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return,
            },
        }
    }
}

type Connected = (Client, p4runtime::client::StreamSender, p4runtime::client::StreamReceiver);

async fn connect(address: &str) -> Result<Connected, String> {
    let options = ClientOptions::default();
    let connected = Client::connect_within(address, 1, &options, TIMEOUT).await;
    let mut client = connected.map_err(|error| error.to_string())?;
    let stream = client.become_primary("", ElectionId(1), TIMEOUT).await;
    let (sender, receiver) = stream.map_err(|error| error.to_string())?;
    Ok((client, sender, receiver))
}

async fn load_program(client: &mut Client, load: &Load) -> Result<Ids, String> {
    let ids = Ids::of(&load.p4info).ok_or("the program has no table of values")?;
    let config = v1::ForwardingPipelineConfig {
        p4info: Some(load.p4info.clone()),
        p4_device_config: load.text.clone().into(),
        cookie: None,
    };
    let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(config)).await;
    pushed.map_err(|status| status.message().to_owned())?;
    let updates = (0..load.entries).map(|entry| ids.update(Type::Insert, entry, 0));
    let updates: Vec<v1::Update> = updates.collect();
    for batch in updates.chunks(BATCH) {
        write(client, batch.to_vec()).await?;
    }
    match load.p4info.digests.first().and_then(|digest| digest.preamble.as_ref()) {
        Some(digest) => write(client, vec![enable(digest.id)]).await.map(|()| ids),
        None => Ok(ids),
    }
}

async fn modify_for(
    client: &Client,
    ids: Ids,
    time: Duration,
    window: usize,
    entries: u32,
) -> Result<f64, String> {
    let mut requests = JoinSet::new();
    let mut number = 0_u32;
    let begin = Instant::now();
    let mut answers = 0_u64;
    loop {
        while requests.len() < window && begin.elapsed() < time {
            number += 1;
            let update = ids.update(Type::Modify, number % entries.max(1), number);
            let mut client = client.clone();
            requests.spawn_local(async move { write(&mut client, vec![update]).await });
        }
        match requests.join_next().await {
            None => return Ok(answers as f64 / begin.elapsed().as_secs_f64()),
            Some(Ok(answer)) => answer?,
            Some(Err(error)) => return Err(error.to_string()),
        }
        answers += 1;
    }
}

async fn write(client: &mut Client, updates: Vec<v1::Update>) -> Result<(), String> {
    let written = client.write(updates, Atomicity::ContinueOnError).await;
    written.map_err(|error: WriteError| error.to_string())
}

/// Returns the current time in nanoseconds since 1970, by the clock with which the kernel stamps
/// packets.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The ids of the table and of its action in the program's P4Info.
#[derive(Clone, Copy, Debug)]
struct Ids {
    table: u32,
    action: u32,
}

impl Ids {
    fn of(p4info: &P4Info) -> Option<Self> {
        let table = p4info.tables.first()?.preamble.as_ref()?.id;
        let actions = p4info.actions.iter().filter_map(|action| action.preamble.as_ref());
        let action = actions.into_iter().find(|preamble| preamble.alias == "exchange")?.id;
        Some(Self { table, action })
    }

    /// Returns an update of the entry with this number. It inserts the entry with the value `new`,
    /// or changes its value to `new`.
    fn update(self, operation: Type, entry: u32, new: u32) -> v1::Update {
        let exact = v1::field_match::Exact { value: value::encode(entry.into()) };
        let key = v1::FieldMatch {
            field_id: 1,
            field_match_type: Some(v1::field_match::FieldMatchType::Exact(exact)),
        };
        let param = v1::action::Param { param_id: 1, value: value::encode(new.into()) };
        let call = v1::Action { action_id: self.action, params: vec![param] };
        let entry = v1::TableEntry {
            table_id: self.table,
            r#match: vec![key],
            action: Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(call)) }),
            ..Default::default()
        };
        let entity = v1::Entity { entity: Some(Kind::TableEntry(entry)) };
        v1::Update { r#type: operation as i32, entity: Some(entity) }
    }

    /// Returns the changes of entries that the packets of a list of digests requested.
    fn changes(self, list: &v1::DigestList) -> Vec<v1::Update> {
        let number = |data: &v1::P4Data| match &data.data {
            Some(p4_data::Data::Bitstring(bytes)) => u32::try_from(value::decode(bytes)?).ok(),
            _ => None,
        };
        let change = |data: &v1::P4Data| {
            let Some(p4_data::Data::Struct(fields)) = &data.data else { return None };
            let [entry, wanted] = fields.members.as_slice() else { return None };
            Some(self.update(Type::Modify, number(entry)?, number(wanted)?))
        };
        list.data.iter().filter_map(change).collect()
    }
}

/// Returns the update that makes the switch send each digest immediately.
fn enable(digest: u32) -> v1::Update {
    let config = v1::digest_entry::Config { max_list_size: 1, ..Default::default() };
    let entry = v1::DigestEntry { digest_id: digest, config: Some(config) };
    let entity = v1::Entity { entity: Some(Kind::DigestEntry(entry)) };
    v1::Update { r#type: Type::Insert as i32, entity: Some(entity) }
}
