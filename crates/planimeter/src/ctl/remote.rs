//! The device of `planimeter ctl`: a P4Runtime server over gRPC.
//!
//! A thread owns the connection and runs one job after the other, so that the connection stays
//! alive while the user is idle. Every job ends soon after an interrupt.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use ::ctl::{Device, DeviceError, Message, PortState, PushAction, Until};
use entities::Code;
use p4runtime::client::{Client, ClientOptions, ClientTls, StreamSender};
use p4runtime::gnmi::PortChange;
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::get_forwarding_pipeline_config_request::ResponseType;
use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime::proto::v1::write_request::Atomicity;
use p4runtime::proto::{switch, v1};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Arguments;
use super::failures::{read_error, refused, without_service, write_error};
use super::link::Link;
use crate::failure::Failure;
use crate::program::{self, Sources};

/// The interval at which the interrupt flag is checked while a job runs.
const LOOK: Duration = Duration::from_millis(20);

/// The time that a server has to end the stream after the session has closed its side.
const FAREWELL: Duration = Duration::from_millis(500);

type Work<'l, T> = Pin<Box<dyn Future<Output = Result<T, DeviceError>> + 'l>>;
type Job = Box<dyn for<'l> FnOnce(&'l mut Link) -> Pin<Box<dyn Future<Output = ()> + 'l>> + Send>;

/// A device behind a P4Runtime server.
pub(super) struct Remote {
    jobs: UnboundedSender<Job>,
    interrupt: Arc<AtomicBool>,
    id: u64,
    role: String,
    sources: Sources,
    /// The P4Info to use instead of that of the device, or `None`.
    p4info: Option<P4Info>,
    /// A hint for error messages about what may be wrong with the connection. It is `None` once the
    /// device has answered.
    suspicion: Cell<Option<&'static str>>,
}

impl Remote {
    /// Connects to the server that the arguments name.
    pub(super) fn connect(
        arguments: &Arguments,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let p4info = arguments.p4info.as_deref().map(program::p4info_in).transpose()?;
        let options = ClientOptions { tls: arguments.tls()?, ..ClientOptions::default() };
        let suspicion = Cell::new(Some(suspicion(options.tls.as_ref())));
        let (id, address, role) =
            (arguments.device_id, arguments.address.clone(), arguments.role.clone());
        let (election_id, takes_over) = (arguments.election_id, arguments.take_over);
        let (jobs, queue) = unbounded_channel();
        let (sender, connected) = channel();
        let interrupted = Arc::clone(interrupt);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::run)?;
        let of_link = role.clone();
        let serve = move || {
            runtime.block_on(async {
                let connecting = Client::connect(&address, id, &options);
                let client = tokio::select! {
                    client = connecting => client.map_err(|error| Failure::OutOfReach(error.to_string())),
                    () = raised(&interrupted) => Err(Failure::Interrupted),
                };
                let client = match client {
                    Ok(client) => client.with_role(&of_link),
                    Err(failure) => {
                        let _ = sender.send(Err(failure));
                        return;
                    }
                };
                let role = of_link;
                let link = Link { client, role, election_id, takes_over, stream: None };
                if sender.send(Ok(())).is_ok() {
                    work(link, queue).await;
                }
            });
        };
        thread::Builder::new().spawn(serve).map_err(Failure::run)?;
        connected.recv().map_err(|_| Failure::run("the thread of the connection ended"))??;
        let interrupt = Arc::clone(interrupt);
        let sources = arguments.sources.clone();
        Ok(Self { jobs, interrupt, id, role, sources, p4info, suspicion })
    }

    /// Runs a job on the thread of the connection and waits for its result.
    fn ask<T: Send + 'static>(
        &self,
        job: impl for<'l> FnOnce(&'l mut Link) -> Work<'l, T> + Send + 'static,
    ) -> Result<T, DeviceError> {
        let (sender, answer) = channel();
        let interrupt = Arc::clone(&self.interrupt);
        let job: Job = Box::new(move |link| {
            Box::pin(async move {
                let outcome = tokio::select! {
                    outcome = job(link) => outcome,
                    () = raised(&interrupt) => Err(DeviceError::Interrupted),
                };
                // Only a session that has ended does not wait for the result.
                let _ = sender.send(outcome);
            })
        });
        let lost = || DeviceError::Connection("the thread of the connection ended".to_owned());
        self.jobs.send(job).map_err(|_| lost())?;
        let answer = answer.recv().map_err(|_| lost())?;
        match (answer, self.suspicion.get()) {
            (Err(DeviceError::Connection(text)), Some(suspicion)) => {
                Err(DeviceError::Connection(format!("{text}; {suspicion}")))
            }
            (answer, _) => {
                self.suspicion.set(None);
                answer
            }
        }
    }
}

/// Returns a hint about what may be wrong if a device accepts the connection but does not answer. A
/// TLS server that rejects its client closes the connection without a message.
fn suspicion(tls: Option<&ClientTls>) -> &'static str {
    match tls {
        None => "if it serves TLS, --tls-ca must name its authorities",
        Some(ClientTls { identity: None, .. }) => {
            "if it asks for a certificate, --tls-certificate and --tls-key must name one"
        }
        Some(ClientTls { identity: Some(_), .. }) => {
            "it may not trust the certificate of --tls-certificate"
        }
    }
}

impl Drop for Remote {
    /// Closes the stream, so that this controller is no longer primary, and waits until the device
    /// has noticed. The next command can then become primary without displacing this one.
    fn drop(&mut self) {
        // If the connection is lost, this controller is no longer the primary either.
        let _ = self.ask(|link| {
            Box::pin(async move {
                if let Some((sender, mut receiver)) = link.stream.take() {
                    drop(sender);
                    let ended = async { while let Ok(Some(_)) = receiver.next().await {} };
                    let _ = tokio::time::timeout(FAREWELL, ended).await;
                }
                Ok(())
            })
        });
    }
}

/// Runs jobs until the session ends.
async fn work(mut link: Link, mut queue: UnboundedReceiver<Job>) {
    while let Some(job) = queue.recv().await {
        job(&mut link).await;
    }
}

/// Waits until a flag is set.
async fn raised(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}

impl Device for Remote {
    fn id(&self) -> u64 {
        self.id
    }

    fn role(&self) -> &str {
        &self.role
    }

    fn read(&mut self, requests: &[v1::Entity]) -> Result<Vec<v1::Entity>, DeviceError> {
        let requests = requests.to_vec();
        self.ask(move |link| {
            Box::pin(async move {
                let found = link.client.read(requests).await;
                found.map_err(|status| read_error(&status))
            })
        })
    }

    fn write(&mut self, updates: &[v1::Update]) -> Result<(), DeviceError> {
        let updates = updates.to_vec();
        self.ask(move |link| {
            Box::pin(async move {
                link.become_primary().await?;
                let written = link.client.write(updates, Atomicity::ContinueOnError).await;
                written.map_err(write_error)
            })
        })
    }

    fn pipeline(&mut self) -> Result<Option<P4Info>, DeviceError> {
        if let Some(p4info) = &self.p4info {
            return Ok(Some(p4info.clone()));
        }
        self.ask(|link| {
            Box::pin(async move {
                match link.client.get_pipeline(ResponseType::P4infoAndCookie).await {
                    Ok(config) => Ok(config.p4info),
                    Err(status) if status.code() == tonic::Code::FailedPrecondition => Ok(None),
                    Err(status) => Err(refused(&status)),
                }
            })
        })
    }

    fn push(&mut self, files: &[String], action: PushAction) -> Result<(), DeviceError> {
        let action = match action {
            PushAction::Verify => Action::Verify,
            PushAction::Save => Action::VerifyAndSave,
            PushAction::Commit => Action::VerifyAndCommit,
            PushAction::Reconcile => Action::ReconcileAndCommit,
            PushAction::CommitSaved => Action::Commit,
        };
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let config = match files.is_empty() {
            true => None,
            false => {
                let config = program::pipeline(&files, &self.sources);
                Some(config.map_err(|failure| DeviceError::File(failure.to_string()))?)
            }
        };
        self.ask(move |link| {
            Box::pin(async move {
                link.become_primary().await?;
                let pushed = link.client.set_pipeline(action, config).await;
                pushed.map_err(|status| refused(&status))
            })
        })
    }

    fn send(&mut self, packet: v1::PacketOut) -> Result<(), DeviceError> {
        self.ask(move |link| {
            Box::pin(async move {
                let (sender, _) = link.become_primary().await?;
                let sender = sender.clone();
                match sender.packet_outs([packet]) {
                    0 => {
                        Err(DeviceError::Connection("the packet did not fit the queue".to_owned()))
                    }
                    _ => flushed(link, &sender).await,
                }
            })
        })
    }

    fn listen(
        &mut self,
        until: Until,
        take: &mut dyn FnMut(Message) -> bool,
    ) -> Result<(), DeviceError> {
        let (messages, received) = channel();
        let (more, asked) = unbounded_channel();
        let (done, outcome) = channel();
        let interrupt = Arc::clone(&self.interrupt);
        let job: Job = Box::new(move |link| {
            Box::pin(async move {
                let result = tokio::select! {
                    result = forward(link, until, &messages, asked) => result,
                    () = raised(&interrupt) => Err(DeviceError::Interrupted),
                };
                drop(messages);
                let _ = done.send(result);
            })
        });
        let lost = || DeviceError::Connection("the thread of the connection ended".to_owned());
        self.jobs.send(job).map_err(|_| lost())?;
        while let Ok(message) = received.recv() {
            // A job that has ended does not wait for the decision.
            let _ = more.send(take(message));
        }
        outcome.recv().map_err(|_| lost())?
    }

    fn ports(&mut self) -> Result<Vec<PortState>, DeviceError> {
        self.ask(|link| {
            Box::pin(async move {
                let failed = |status: &tonic::Status| match status.code() {
                    tonic::Code::Unimplemented => DeviceError::Unsupported(
                        "it does not serve gNMI, which lists ports".to_owned(),
                    ),
                    _ => refused(status),
                };
                let mut watch = link.client.watch_ports().await.map_err(|error| failed(&error))?;
                let mut ports = std::collections::BTreeMap::new();
                while let Some(change) = watch.next().await.map_err(|error| failed(&error))? {
                    match change {
                        PortChange::Is { number, up } => {
                            ports.insert(number, up);
                        }
                        PortChange::Gone { number } => {
                            ports.remove(&number);
                        }
                        PortChange::Synchronized => break,
                    }
                }
                let state = |(number, is_up)| PortState { number, is_up };
                Ok(ports.into_iter().map(state).collect())
            })
        })
    }

    fn configuration(&mut self) -> Result<Vec<u8>, DeviceError> {
        self.ask(|link| {
            Box::pin(async move {
                let config = link.client.get_pipeline(ResponseType::All).await;
                let config = config.map_err(|status| refused(&status))?;
                match config.p4_device_config.is_empty() {
                    false => Ok(config.p4_device_config.to_vec()),
                    true => Err(DeviceError::Unsupported(
                        "it does not give the configuration of its pipeline back".to_owned(),
                    )),
                }
            })
        })
    }

    fn store(&mut self, path: &str, content: &[u8]) -> Result<(), DeviceError> {
        let failed = |error| DeviceError::File(format!("cannot write {path}: {error}"));
        std::fs::write(path, content).map_err(failed)
    }

    fn about(&mut self) -> Result<switch::GetSwitchResponse, DeviceError> {
        self.ask(|link| {
            Box::pin(async move {
                link.client.about_switch().await.map_err(|status| without_service(&status))
            })
        })
    }

    fn queues(&mut self, ports: &[u32]) -> Result<switch::GetQueuesResponse, DeviceError> {
        let ports = ports.to_vec();
        self.ask(move |link| {
            Box::pin(async move {
                link.client.queues(ports).await.map_err(|status| without_service(&status))
            })
        })
    }

    fn set_queues(
        &mut self,
        ports: Vec<switch::PortQueues>,
        revision: u64,
    ) -> Result<switch::SetQueuesResponse, DeviceError> {
        self.ask(move |link| {
            Box::pin(async move {
                let set = link.client.set_queues(ports, Some(revision)).await;
                set.map_err(|status| without_service(&status))
            })
        })
    }

    fn inject(
        &mut self,
        request: switch::InjectRequest,
    ) -> Result<switch::InjectOutcome, DeviceError> {
        self.ask(move |link| {
            Box::pin(async move {
                let outcomes = link.client.inject(request).await;
                let outcomes = outcomes.map_err(|status| without_service(&status))?;
                outcomes.into_iter().next().ok_or_else(|| DeviceError::Refused {
                    code: Code::Internal,
                    message: "the packet, without an outcome".to_owned(),
                })
            })
        })
    }
}

/// Waits until everything that was written to a stream has been sent.
async fn flushed(link: &mut Link, sender: &StreamSender) -> Result<(), DeviceError> {
    while sender.queued() > 0 {
        if sender.is_closed() {
            return Err(DeviceError::Connection("the stream ended".to_owned()));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // A request that is written later and answered proves it. Servers of version 1.0 refuse it.
    let _ = link.client.capabilities().await;
    Ok(())
}

/// Passes messages of the device to the receiver one by one, until the receiver wants no more or
/// the time has passed.
async fn forward(
    link: &mut Link,
    until: Until,
    messages: &Sender<Message>,
    mut asked: UnboundedReceiver<bool>,
) -> Result<(), DeviceError> {
    let (sender, receiver) = link.become_primary().await?;
    let end = async {
        match until.time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(end);
    loop {
        let message = tokio::select! {
            message = receiver.next() => message.map_err(|status| refused(&status))?,
            () = &mut end => return Ok(()),
        };
        let Some(message) = message else {
            return Err(DeviceError::Connection("the device ended the stream".to_owned()));
        };
        if let Message::Digest(list) = &message {
            sender.acknowledge(list);
        }
        let is_wanted = messages.send(message).is_ok() && asked.recv().await.unwrap_or(false);
        if !is_wanted {
            return Ok(());
        }
    }
}
