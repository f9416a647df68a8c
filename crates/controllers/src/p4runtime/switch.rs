//! The life cycle of the session with one switch. The controller connects to the switch, sets it up
//! and serves it, and connects again when the session ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::p4runtime::client::{
    ArbitrationFailure, Client, ConnectError, PipelineOutcome, Standing, StreamReceiver,
    StreamSender, WriteError,
};
use ::p4runtime::proto::v1::write_request::Atomicity;
use ::p4runtime::proto::v1::{self, update::Type};
use ::p4runtime::status::Code;
use tokio::sync::mpsc;
use tonic::Status;

use super::connections::Connector;
use super::entities::{self, update};
use super::serving::{forward, provision, respond, write_rules};
use super::{AnswerAfter, ElectionId, Shared};
use crate::Counters;
use crate::application::Application;

/// The pause before the second attempt to connect to a switch. It doubles with every further
/// attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of orders for rules that may wait to be written. Further orders are dropped,
/// which is harmless, since the next packet of their flow causes new ones.
const ORDERS: usize = 8192;

/// The reason why a session with a switch ended, or could not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("{0}")]
    Connect(#[from] ConnectError),
    #[error("{0}")]
    Arbitration(#[from] ArbitrationFailure),
    #[error("it does not accept the pipeline: {}", .0.message())]
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

/// Connects to a switch and serves it, again and again, forever. `is_connected` is set to true as
/// long as there is a session.
pub(super) async fn keep(connector: Connector, shared: Arc<Shared>, is_connected: Arc<AtomicBool>) {
    let target = connector.target();
    let journal = &shared.options.journal;
    let mut pause = FIRST_PAUSE;
    let mut reported = String::new();
    loop {
        match Session::open(&connector, &shared).await {
            Ok(session) => {
                pause = shared.options.redial;
                reported.clear();
                journal.note(format_args!("{target} is connected"));
                let counted = Counted::new(&shared.counters);
                is_connected.store(true, Ordering::Relaxed);
                let problem = session.serve(&shared).await;
                is_connected.store(false, Ordering::Relaxed);
                drop(counted);
                // A switch may disconnect without being at fault.
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
                if reported != text {
                    journal.note(format_args!("{target}: {text}; trying again"));
                    reported = text;
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).clamp(FIRST_PAUSE, shared.options.retry.max(FIRST_PAUSE));
    }
}

/// A guard that counts a switch as connected until it is dropped.
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

/// A session with a switch that has been set up. This controller is the switch's primary.
struct Session {
    client: Client,
    sender: StreamSender,
    receiver: StreamReceiver,
}

impl Session {
    async fn open(connector: &Connector, shared: &Shared) -> Result<Self, Problem> {
        let options = &shared.options;
        let (mut client, permit) = connector.connect(&options.client, &shared.dials).await?;
        let (sender, receiver) = if options.stands_by {
            // A standby may wait forever, and other switches must be dialled in the meantime.
            drop(permit);
            stand_by(&mut client).await?
        } else {
            client.become_primary("", options.election_id, options.patience).await?
        };
        let setting_up = set_up(&mut client, shared);
        tokio::time::timeout(options.patience, setting_up)
            .await
            .map_err(|_| Problem::NoAnswer(options.patience))??;
        Ok(Self { client, sender, receiver })
    }

    /// Serves the switch until the session ends, and returns the reason why it ended.
    async fn serve(self, shared: &Shared) -> Problem {
        let Self { client, sender, receiver } = self;
        let application = match shared.options.answer_after {
            AnswerAfter::Application => shared.options.application,
            AnswerAfter::Grpc | AnswerAfter::Decoding => Application::NullResponder,
        };
        let (orders, inbox) = mpsc::channel(ORDERS);
        // Rules are written concurrently with packets. An answer does not wait for a rule, and the
        // orders that accumulate during one Write are sent together in the next.
        match (application, application.forwarding()) {
            (Application::Paths, _) => {
                let rules = write_rules(client.clone(), inbox, shared);
                tokio::select! {
                    problem = provision(client, &sender, receiver, orders, shared) => problem,
                    problem = rules => problem,
                }
            }
            (_, Some(forwarding)) => tokio::select! {
                problem = forward(forwarding, &sender, receiver, orders, shared) => problem,
                problem = write_rules(client, inbox, shared) => problem,
            },
            (_, None) => {
                // The stream alone keeps the connection open. Dropping the client saves a quarter
                // of the memory.
                drop(client);
                respond(&sender, receiver, shared).await
            }
        }
    }
}

/// Waits until the switch has had a primary controller and that controller is gone. Then becomes
/// primary.
async fn stand_by(client: &mut Client) -> Result<(StreamSender, StreamReceiver), Problem> {
    // Without an election id, this controller cannot become primary, even if there is no other
    // controller.
    let mut election_id = None;
    loop {
        let opened = client.open_stream("", None, election_id).await;
        let (sender, mut receiver) = opened.map_err(Problem::Stream)?;
        let mut had_primary = election_id.is_some();
        election_id = loop {
            match receiver.arbitrated().await.map_err(Problem::Stream)? {
                Standing::Primary => return Ok((sender, receiver)),
                Standing::Backup { .. } => had_primary = true,
                Standing::NoPrimary { highest } if had_primary => {
                    let highest = highest.map_or(0, |highest| highest.0);
                    break Some(ElectionId(highest.saturating_add(1)));
                }
                Standing::NoPrimary { .. } => {}
            }
        };
    }
}

/// Pushes the pipeline to a switch if necessary, removes the rules of earlier controllers, and
/// writes the entries that the application needs from the start.
async fn set_up(client: &mut Client, shared: &Shared) -> Result<(), Problem> {
    let options = &shared.options;
    let outcome =
        client.ensure_pipeline(shared.pipeline.config()).await.map_err(Problem::Pipeline)?;
    let mut wanted = vec![update(Type::Modify, entities::default_to_controller())];
    match options.application {
        Application::NullResponder | Application::Paths => {}
        Application::LearningSwitch => {
            wanted.push(update(Type::Insert, entities::flood_group(options.flood_ports)));
        }
        Application::ReactiveForwarding => {
            wanted.push(update(Type::Insert, entities::flood_group(options.flood_ports)));
            wanted.push(update(Type::Insert, entities::arp_to_controller()));
        }
    }
    if outcome == PipelineOutcome::AlreadyThere {
        // An earlier controller may have left rules that this one does not know.
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
            // Existing entries may refer to other ports.
            let there = refused.iter().filter_map(|one| wanted.get(one.index));
            let modifies =
                there.cloned().map(|one| v1::Update { r#type: Type::Modify as i32, ..one });
            client.write(modifies.collect(), Atomicity::ContinueOnError).await?;
        }
        written => written?,
    }
    Ok(())
}
