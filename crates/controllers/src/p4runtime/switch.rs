//! The life of one switch: dialled until it is there, set up, served, and dialled again.

use std::sync::Arc;
use std::time::Duration;

use ::p4runtime::client::{
    ArbitrationFailure, Client, ConnectError, PipelineOutcome, Standing, StreamReceiver,
    StreamSender, WriteError,
};
use ::p4runtime::proto::v1::stream_message_response::Update as Message;
use ::p4runtime::proto::v1::write_request::Atomicity;
use ::p4runtime::proto::v1::{self, update::Type};
use ::p4runtime::status::Code;
use tokio::sync::mpsc;
use tonic::Status;

use super::connections::Connector;
use super::entities::{self, update};
use super::rules::{Order, Repeated, RuleBook};
use super::{AnswerAfter, Shared};
use crate::Counters;
use crate::application::{Application, Decision, Forwarding, Port};
use crate::counters::Tally;
use crate::pipeline::FLOOD_PORT;

/// Pause before the second attempt to reach a switch; it doubles with every further one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Messages handled before their answers are sent.
const BATCH: usize = 1024;
/// Orders that may wait to be written. Beyond that they are dropped: the next packet of the flow
/// brings another.
const ORDERS: usize = 8192;

/// Why a session ended, or did not begin.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("{0}")]
    Connect(#[from] ConnectError),
    #[error("{0}")]
    Arbitration(#[from] ArbitrationFailure),
    #[error("it does not take the pipeline: {}", .0.message())]
    Pipeline(#[source] Status),
    #[error("its rules cannot be read: {}", .0.message())]
    Read(#[source] Status),
    #[error("{0}")]
    Write(#[from] WriteError),
    #[error("it did not answer within {0:?} while it was set up")]
    NoAnswer(Duration),
    #[error("the stream failed: {}", .0.message())]
    Stream(#[source] Status),
    #[error("it ended the stream")]
    Ended,
    #[error("this controller is no longer primary")]
    NotPrimary,
}

/// Serves a switch for ever.
pub(super) async fn keep(connector: Connector, shared: Arc<Shared>) {
    let target = connector.target();
    let journal = &shared.options.journal;
    let mut pause = FIRST_PAUSE;
    let mut told = String::new();
    loop {
        match Session::open(&connector, &shared).await {
            Ok(session) => {
                pause = FIRST_PAUSE;
                told.clear();
                journal.note(format_args!("{target} is connected"));
                let counted = Counted::new(&shared.counters);
                let problem = session.serve(&shared).await;
                drop(counted);
                // Switches may leave.
                if !matches!(problem, Problem::Ended | Problem::Stream(_)) {
                    shared.counters.failed();
                }
                journal.note(format_args!("{target} is gone: {problem}"));
            }
            Err(problem) => {
                if !matches!(problem, Problem::Connect(_)) {
                    shared.counters.failed();
                }
                let text = problem.to_string();
                if told != text {
                    journal.note(format_args!("{target}: {text}; trying again"));
                    told = text;
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(shared.options.retry.max(FIRST_PAUSE));
    }
}

/// Counts a switch as connected for as long as it lives.
struct Counted<'a>(&'a Counters);

impl<'a> Counted<'a> {
    fn new(counters: &'a Counters) -> Self {
        counters.session_opened();
        Self(counters)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.session_closed();
    }
}

/// A switch of which we are primary, and which is set up.
struct Session {
    client: Client,
    sender: StreamSender,
    receiver: StreamReceiver,
}

impl Session {
    async fn open(connector: &Connector, shared: &Shared) -> Result<Self, Problem> {
        let options = &shared.options;
        let (mut client, _permit) = connector.connect(&options.client, &shared.dials).await?;
        let (sender, receiver) =
            client.become_primary("", options.election_id, options.patience).await?;
        let setting_up = set_up(&mut client, shared);
        tokio::time::timeout(options.patience, setting_up)
            .await
            .map_err(|_| Problem::NoAnswer(options.patience))??;
        Ok(Self { client, sender, receiver })
    }

    /// Answers packet-ins until the session ends.
    async fn serve(self, shared: &Shared) -> Problem {
        let Self { client, sender, receiver } = self;
        let forwarding = match shared.options.answer_after {
            AnswerAfter::Application => shared.options.application.forwarding(),
            AnswerAfter::Grpc | AnswerAfter::Decoding => None,
        };
        match forwarding {
            None => {
                // The connection lives on by its stream, with three quarters of its memory.
                drop(client);
                respond(&sender, receiver, shared).await
            }
            Some(forwarding) => {
                let (orders, inbox) = mpsc::channel(ORDERS);
                // Rules are written beside the packets: an answer does not wait for a rule, and
                // the orders that gather during one Write leave together with the next.
                tokio::select! {
                    problem = forward(forwarding, &sender, receiver, orders, shared) => problem,
                    problem = write_rules(client, inbox, shared) => problem,
                }
            }
        }
    }
}

/// Brings a switch into the state that the application begins with.
async fn set_up(client: &mut Client, shared: &Shared) -> Result<(), Problem> {
    let options = &shared.options;
    let outcome =
        client.ensure_pipeline(shared.pipeline.config()).await.map_err(Problem::Pipeline)?;
    let mut wanted = vec![update(Type::Modify, entities::default_to_controller())];
    match options.application {
        Application::NullResponder => {}
        Application::LearningSwitch | Application::Paths => {
            wanted.push(update(Type::Insert, entities::flood_group(options.flood_ports)));
        }
        Application::ReactiveForwarding => {
            wanted.push(update(Type::Insert, entities::flood_group(options.flood_ports)));
            wanted.push(update(Type::Insert, entities::arp_to_controller()));
        }
    }
    if outcome == PipelineOutcome::AlreadyThere {
        // An earlier controller may have left rules, about which nothing is known.
        let left = client.read(vec![entities::all_rules()]).await.map_err(Problem::Read)?;
        let deletes: Vec<_> = left.into_iter().map(|rule| update(Type::Delete, rule)).collect();
        if !deletes.is_empty() {
            client.write(deletes, Atomicity::ContinueOnError).await?;
        }
    }
    match client.write(wanted.clone(), Atomicity::ContinueOnError).await {
        Err(WriteError::Updates { refused, .. })
            if refused.iter().all(|one| one.code == Code::AlreadyExists) =>
        {
            // What is there may be for other ports.
            let there = refused.iter().filter_map(|one| wanted.get(one.index));
            let modifies =
                there.cloned().map(|one| v1::Update { r#type: Type::Modify as i32, ..one });
            client.write(modifies.collect(), Atomicity::ContinueOnError).await?;
        }
        written => written?,
    }
    Ok(())
}

/// The null responder, and the paths that end before an application: every packet goes back to the port that it came in by,
/// or to port 1 where that is not looked at.
async fn respond(sender: &StreamSender, mut receiver: StreamReceiver, shared: &Shared) -> Problem {
    let mut messages = Vec::new();
    let undecoded = (shared.options.answer_after == AnswerAfter::Grpc)
        .then(|| shared.pipeline.egress(Port(1), None));
    loop {
        let mut tally = match next(&mut receiver, &mut messages).await {
            Ok(tally) => tally,
            Err(problem) => return problem,
        };
        let answers = messages.drain(..).filter_map(|message| match message {
            Message::Packet(packet) => {
                let metadata = undecoded.clone().unwrap_or_else(|| {
                    let pipeline = shared.description();
                    let ingress = pipeline.ingress(&packet.metadata).unwrap_or(Port(0));
                    pipeline.egress(ingress, None)
                });
                Some(v1::PacketOut { payload: packet.payload, metadata })
            }
            _ => None,
        });
        tally.packet_outs = sender.packet_outs(answers) as u64;
        shared.counters.add(&tally);
    }
}

/// The forwarding applications: packets are sent on, and rules ordered.
async fn forward(
    mut forwarding: Forwarding,
    sender: &StreamSender,
    mut receiver: StreamReceiver,
    orders: mpsc::Sender<Order>,
    shared: &Shared,
) -> Problem {
    let mut messages = Vec::new();
    let mut answers = Vec::new();
    loop {
        let mut tally = match next(&mut receiver, &mut messages).await {
            Ok(tally) => tally,
            Err(problem) => return problem,
        };
        for message in messages.drain(..) {
            match message {
                Message::Packet(packet) => {
                    let pipeline = shared.description();
                    let ingress = pipeline.ingress(&packet.metadata);
                    let decision = match ingress {
                        Some(port) => forwarding.packet_in(port, &packet.payload),
                        // Where it came from is unknown, so nothing can be learned from it.
                        None => Decision::Flood,
                    };
                    let output = match decision {
                        Decision::Drop => continue,
                        Decision::Flood => FLOOD_PORT,
                        Decision::Forward { port, rule } => {
                            if let Some(rule) = rule {
                                // A full queue is worth no waiting; see `ORDERS`.
                                let _ = orders.try_send(Order::Install(rule));
                            }
                            port
                        }
                    };
                    let metadata = pipeline.egress(output, ingress);
                    answers.push(v1::PacketOut { payload: packet.payload, metadata });
                }
                Message::IdleTimeoutNotification(idle) => {
                    for flow in idle.table_entry.iter().filter_map(entities::flow_of) {
                        // This one must not be lost: the switch tells only once.
                        if orders.send(Order::Remove(flow)).await.is_err() {
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
        tally.packet_outs = sender.packet_outs(answers.drain(..)) as u64;
        shared.counters.add(&tally);
    }
}

/// Waits for messages, and looks at those that mean the same to all applications.
async fn next(
    receiver: &mut StreamReceiver,
    messages: &mut Vec<Message>,
) -> Result<Tally, Problem> {
    match receiver.next_batch(messages, BATCH).await {
        Ok(0) => return Err(Problem::Ended),
        Ok(_) => {}
        Err(status) => return Err(Problem::Stream(status)),
    }
    let mut tally = Tally::default();
    for message in messages.iter() {
        match message {
            Message::Packet(_) => tally.packet_ins += 1,
            Message::Error(_) => tally.refused += 1,
            Message::Arbitration(update) if Standing::of(update) != Standing::Primary => {
                return Err(Problem::NotPrimary);
            }
            _ => {}
        }
    }
    Ok(tally)
}

/// Writes what is ordered, all that waits at a time.
async fn write_rules(
    mut client: Client,
    mut orders: mpsc::Receiver<Order>,
    shared: &Shared,
) -> Problem {
    let repeated = match shared.options.application {
        Application::ReactiveForwarding => Repeated::Write,
        Application::LearningSwitch | Application::Paths | Application::NullResponder => {
            Repeated::Leave
        }
    };
    let mut book = RuleBook::new(shared.options.idle_timeout, repeated);
    let mut batch = Vec::new();
    while orders.recv_many(&mut batch, BATCH).await > 0 {
        let updates = book.plan(batch.drain(..));
        if updates.is_empty() {
            continue;
        }
        let tally = match client.write(updates, Atomicity::ContinueOnError).await {
            Ok(()) => book.written(&[]),
            Err(WriteError::Updates { refused, .. }) => book.written(&refused),
            Err(error) => return error.into(),
        };
        shared.counters.add(&tally);
    }
    Problem::Ended
}
