//! The control channel of a P4Runtime switch: the connection as the only primary controller.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{
    Client, ClientOptions, Standing, StreamReceiver, StreamSender, WriteError,
};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, get_forwarding_pipeline_config_request::ResponseType,
    write_request::Atomicity,
};
use tokio::task::JoinSet;

use super::Device;
use crate::entries::{EntryMaker, EntryNumber};
use crate::error::DutError;
use crate::window::{Answered, Phase, Refusal, Shape, TIMEOUT, Work, processor_time};

/// A connection to the measured switch, as its only primary controller.
pub(crate) struct P4RuntimeChannel {
    pub(crate) client: Client,
    /// The stream that keeps this client the primary as long as it is open.
    stream: (StreamSender, StreamReceiver),
    election_id: ElectionId,
    maker: EntryMaker,
    version: Option<String>,
}

impl P4RuntimeChannel {
    /// Connects to a switch, becomes its primary controller, and prepares entries of a table: the
    /// one with the given name, or the largest suitable one.
    ///
    /// # Errors
    /// See [`DutError`]. A switch that has another primary controller is not disturbed.
    pub(crate) async fn open(device: &Device, table: Option<&str>) -> Result<Self, DutError> {
        let options = ClientOptions { tls: device.tls.clone(), ..ClientOptions::default() };
        let connected = Client::connect(&device.address, device.device_id, &options).await;
        let mut client = connected.map_err(|error| DutError::Connect {
            address: device.address.clone(),
            cause: error.to_string(),
        })?;
        let highest = spectate(&mut client).await?;
        let own = ElectionId(highest.map_or(1, |ElectionId(highest)| highest.saturating_add(1)));
        let stream = client.become_primary("", own, TIMEOUT).await?;
        // Servers before P4Runtime 1.1 do not know the request.
        let version = client.capabilities().await.ok();
        let config = client.get_pipeline(ResponseType::P4infoAndCookie).await;
        let p4info = config.map(|config| config.p4info);
        let p4info = p4info.map_err(|status| status.message().to_owned());
        let p4info = p4info.and_then(|found| found.ok_or_else(|| "it has no P4Info".to_owned()));
        let p4info =
            p4info.map_err(|cause| DutError::NoPipeline { device_id: device.device_id, cause })?;
        let schema = Schema::new(p4info).map_err(|error| DutError::Schema(error.to_string()))?;
        let maker = EntryMaker::new(schema.objects(), table)?;
        Ok(Self { client, stream, election_id: own, maker, version })
    }

    /// Returns the election id of this client.
    pub(crate) fn election_id(&self) -> ElectionId {
        self.election_id
    }

    /// Returns the receiver of the messages that the switch sends without a request.
    pub(crate) fn receiver(&mut self) -> &mut StreamReceiver {
        &mut self.stream.1
    }

    /// Becomes the primary again after a controller with the given election id was.
    pub(crate) async fn become_primary_after(&mut self, other: ElectionId) -> Result<(), DutError> {
        let own = ElectionId(other.0.saturating_add(1));
        self.stream = self.client.become_primary("", own, TIMEOUT).await?;
        self.election_id = own;
        Ok(())
    }

    /// Returns the maker of the entries of this measurement.
    pub(crate) fn maker(&self) -> &EntryMaker {
        &self.maker
    }

    /// Returns the version of P4Runtime that the switch implements; `None` if it does not say so.
    pub(crate) fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns all entries of the table.
    pub(crate) async fn read(&mut self) -> Result<Vec<v1::TableEntry>, DutError> {
        let selected =
            v1::TableEntry { table_id: self.maker.table().id.into(), ..Default::default() };
        let selected = v1::Entity { entity: Some(Kind::TableEntry(selected)) };
        let entities = read_entities(&mut self.client, vec![selected]).await?;
        let entries = entities.into_iter().filter_map(|entity| match entity.entity {
            // The default entry is no entry that was inserted.
            Some(Kind::TableEntry(entry)) if !entry.is_default_action => Some(entry),
            _ => None,
        });
        Ok(entries.collect())
    }

    /// Sends the requests of `work` until all are sent, `shape.time` is over, `stop` is set or one
    /// fails as a whole. Then waits for the answers of those that were sent. Returns the record of
    /// the answered requests, and the number of requests that were sent.
    pub(crate) async fn send(
        &self,
        work: Work<'_>,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<(Phase, usize), DutError> {
        let updates = |numbers: &[EntryNumber]| -> Vec<v1::Update> {
            numbers.iter().map(|one| self.maker.update(*one, work.operation)).collect()
        };
        let mut phase = Phase { series: 1, ..Phase::default() };
        let requests: Vec<&[EntryNumber]> = work.requests().collect();
        let mut waiting: VecDeque<Vec<v1::Update>> =
            requests.iter().map(|numbers| updates(numbers)).collect();
        let mut sent = 0;
        let mut flying: JoinSet<Ended> = JoinSet::new();
        let mut failure = None;
        let start = Instant::now();
        let processor = processor_time();
        loop {
            let goes_on = failure.is_none()
                && !stop.load(Ordering::Relaxed)
                && shape.time.is_none_or(|time| start.elapsed() < time);
            while goes_on && flying.len() < shape.window {
                let Some(updates) = waiting.pop_front() else { break };
                let position = sent;
                sent += 1;
                let mut client = self.client.clone();
                flying.spawn(async move {
                    let sent = start.elapsed();
                    let outcome = client.write(updates, Atomicity::ContinueOnError).await;
                    Ended { position, sent, answered: start.elapsed(), outcome }
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
            if let Err(error) = note(&mut phase, &ended, numbers) {
                failure.get_or_insert(error);
            }
        }
        phase.end(processor);
        match failure {
            None => Ok((phase, sent)),
            Some(failure) => Err(failure),
        }
    }
}

/// Reads entities.
pub(crate) async fn read_entities(
    client: &mut Client,
    wanted: Vec<v1::Entity>,
) -> Result<Vec<v1::Entity>, DutError> {
    let answer = tokio::time::timeout(TIMEOUT, client.read(wanted)).await;
    let answer = answer.map_err(|_| DutError::NoAnswer { what: "Read", patience: TIMEOUT })?;
    answer.map_err(|status| DutError::Request {
        what: "Read",
        cause: format!("{} ({:?})", status.message(), status.code()),
    })
}

/// Writes updates. Returns an error if the switch refuses one.
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

/// A request that ended, with its position among all requests.
struct Ended {
    position: usize,
    sent: Duration,
    answered: Duration,
    outcome: Result<(), WriteError>,
}

/// Records a request that ended. Returns an error if the request failed as a whole.
fn note(phase: &mut Phase, ended: &Ended, numbers: &[EntryNumber]) -> Result<(), DutError> {
    let refused = match &ended.outcome {
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
    if let (None, Some(first)) = (&phase.refusal, refused.first()) {
        let code = format!("{:?}", first.code);
        phase.refusal = Some(Refusal { code, message: first.message.clone() });
    }
    let refused: Vec<usize> = refused.iter().map(|one| one.index).collect();
    let (sent, answered) = (ended.sent, ended.answered);
    phase.note(&Answered { sent, answered, numbers, refused: &refused });
    Ok(())
}

/// Finds out whether the device has a primary controller, by a stream without an election id, which
/// cannot displace the primary (P4Runtime 1.5, section 5.3). Returns the highest election id that
/// the switch has seen; `None` if it has seen none.
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
