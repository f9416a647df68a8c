//! The commit of a pipeline to a P4Runtime switch: how long it takes, whether entries survive it,
//! and how long packets are not forwarded.
//!
//! The action VERIFY_AND_COMMIT loads a pipeline and clears the tables. RECONCILE_AND_COMMIT keeps
//! the entries, and a switch need not support it (P4Runtime 1.5, section 14). At the end, the
//! pipeline that ran before is committed again. A commit deletes entries, so a switch that already
//! has entries is not measured.

mod forwarding;
mod packets;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use p4runtime::client::Client;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, get_forwarding_pipeline_config_request::ResponseType,
    packet_replication_engine_entry::Type as Replication,
    set_forwarding_pipeline_config_request::Action,
};

use self::packets::{Meanwhile, Reached};
use crate::entries::{EntryMaker, key};
use crate::error::DutError;
use crate::live::{Traffic, has_same_tables};
use crate::session::{read_entities, write_updates};
use crate::window::{Operation, Refusal};

pub use self::forwarding::Forwarding;

/// The time to wait for the answer to a commit. A switch may compile the program before it answers.
const PATIENCE: Duration = Duration::from_secs(120);

/// The settings of the test that commits pipelines.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The pipeline that is committed. If the switch already runs a program with the same tables,
    /// the switch's own configuration is committed instead.
    pub config: v1::ForwardingPipelineConfig,
    /// The number of rounds. In each round, the pipeline is committed once with each action.
    pub rounds: u32,
    /// The number of entries that are inserted before RECONCILE_AND_COMMIT, to see whether they
    /// survive.
    pub entries: u64,
}

/// The action with which a pipeline is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// VERIFY_AND_COMMIT, which clears the tables.
    Verify,
    /// RECONCILE_AND_COMMIT, which keeps the entries.
    Reconcile,
}

impl Commit {
    /// Returns the name of the action in the P4Runtime specification.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verify => "VERIFY_AND_COMMIT",
            Self::Reconcile => "RECONCILE_AND_COMMIT",
        }
    }

    fn action(self) -> Action {
        match self {
            Self::Verify => Action::VerifyAndCommit,
            Self::Reconcile => Action::ReconcileAndCommit,
        }
    }
}

/// One commit that the switch accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Committed {
    /// The time from the request for the commit to its answer.
    pub answer: Duration,
    /// The number of entries that the table had before the commit. Entries that only serve the
    /// packets are not counted.
    pub entries: usize,
    /// The number of these entries that were still in the table after the commit.
    pub kept: usize,
    /// The forwarding of the packets that were sent during the commit; `None` without packets.
    pub forwarding: Option<Forwarding>,
}

/// The result of committing a pipeline several times.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Whether the committed pipeline is the one that the switch was already running.
    pub is_same: bool,
    /// The commits with VERIFY_AND_COMMIT, one per round.
    pub verified: Vec<Committed>,
    /// The commits with RECONCILE_AND_COMMIT, one per round.
    pub reconciled: Vec<Committed>,
    /// The answer with which the switch refused RECONCILE_AND_COMMIT; `None` if it accepted it.
    pub refusal: Option<Refusal>,
}

/// Makes all rounds. Afterwards, also after an error, commits the pipeline again that the switch
/// ran before. With `traffic`, sends packets during the commits.
///
/// # Errors
/// Returns an error if the switch has entries, does not return its pipeline, refuses the new one,
/// or cannot be restored.
pub(crate) async fn measure(
    client: &Client,
    settings: &Settings,
    traffic: Option<&Traffic>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let mut switch = Switch { client: client.clone() };
    let before = switch.pipeline().await?;
    let count = switch.occupied().await?;
    if count > 0 {
        return Err(DutError::WouldLose { count });
    }
    let [old, new] =
        [&before, &settings.config].map(|config| config.p4info.clone().unwrap_or_default());
    let is_same = has_same_tables(&old, &new);
    let config = if is_same { before.clone() } else { settings.config.clone() };
    let schema = Schema::new(config.p4info.clone().unwrap_or_default());
    let schema = schema.map_err(|error| DutError::Schema(error.to_string()))?;
    let maker = EntryMaker::new(&schema, None)?;
    let numbers = maker.absent(settings.entries, &[])?;
    let entries: Vec<v1::TableEntry> = numbers
        .into_iter()
        .map(|number| maker.update(number, Operation::Insert))
        .filter_map(entry)
        .collect();
    let stream = traffic.map(Meanwhile::open).transpose()?;
    let of_packets: HashSet<(u32, Vec<u8>)> =
        stream.iter().flat_map(|one| one.flow.entries()).map(identity).collect();
    let entries = entries.into_iter().filter(|one| !of_packets.contains(&identity(one))).collect();
    let mut rounds = Rounds { switch, config, entries, stream };
    let found = rounds.make(settings.rounds, stop, progress).await;
    let back = rounds.switch.commit(Commit::Verify, before).await;
    let measured = found.map(|measured| Measured { is_same, ..measured });
    match back? {
        Ok(_) => measured,
        Err(refusal) => Err(refused("SetForwardingPipelineConfig", &refusal)),
    }
}

fn entry(update: v1::Update) -> Option<v1::TableEntry> {
    match update.entity?.entity? {
        Kind::TableEntry(entry) => Some(entry),
        _ => None,
    }
}

fn refused(what: &'static str, refusal: &Refusal) -> DutError {
    DutError::Request { what, cause: format!("{} ({})", refusal.message, refusal.code) }
}

/// A measurement of commits in progress.
struct Rounds {
    switch: Switch,
    config: v1::ForwardingPipelineConfig,
    /// The entries that are in a table when a pipeline is committed. Entries that the packets need
    /// are not among them.
    entries: Vec<v1::TableEntry>,
    stream: Option<Meanwhile>,
}

impl Rounds {
    async fn make(
        &mut self,
        rounds: u32,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Measured, DutError> {
        let mut measured = Measured::default();
        for round in 0..rounds {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            // The commit before the measured one clears the tables. In the first round, it may also
            // load another program than the switch ran.
            if measured.refusal.is_none() {
                self.renew().await?;
                match self.commit(Commit::Reconcile).await? {
                    Ok(committed) => measured.reconciled.push(committed),
                    Err(refusal) => measured.refusal = Some(refusal),
                }
            }
            self.renew().await?;
            match self.commit(Commit::Verify).await? {
                Ok(committed) => measured.verified.push(committed),
                Err(refusal) => return Err(refused("SetForwardingPipelineConfig", &refusal)),
            }
            progress(u64::from(round) + 1, rounds.into());
        }
        Ok(measured)
    }

    /// Commits the pipeline without measuring it, which clears the tables, and inserts the entries.
    async fn renew(&mut self) -> Result<(), DutError> {
        match self.switch.commit(Commit::Verify, self.config.clone()).await? {
            Ok(_) => {}
            Err(refusal) => return Err(refused("SetForwardingPipelineConfig", &refusal)),
        }
        self.switch.insert(&self.entries).await?;
        let packets: Vec<v1::TableEntry> =
            self.stream.iter().flat_map(|one| one.flow.entries()).cloned().collect();
        self.switch.insert(&packets).await
    }

    /// Commits the pipeline and counts the entries that survive. With traffic, sends packets
    /// meanwhile. If the commit clears the tables, inserts the entries that the packets need again;
    /// these are not counted. Returns the refusal if the switch refuses the commit.
    async fn commit(&mut self, commit: Commit) -> Result<Result<Committed, Refusal>, DutError> {
        let (mut switch, config) = (self.switch.clone(), self.config.clone());
        let (answer, forwarding) = match &mut self.stream {
            None => (switch.commit(commit, config).await?, None),
            Some(stream) => {
                let packets: Vec<v1::TableEntry> = stream.flow.entries().cloned().collect();
                let call = async move {
                    let began = Instant::now();
                    let answer = switch.commit(commit, config).await?;
                    let answered = began.elapsed();
                    if answer.is_ok() && commit == Commit::Verify {
                        match switch.insert(&packets).await {
                            // A switch that does not clear its tables refuses them.
                            Ok(()) | Err(DutError::Request { .. }) => {}
                            Err(error) => return Err(error),
                        }
                    }
                    Ok(Reached { answer, answered })
                };
                let (reached, forwarding) = stream.observe_commit(call).await?;
                (reached.answer, Some(forwarding))
            }
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let kept = self.switch.kept(&self.entries).await?;
        Ok(Ok(Committed { answer, entries: self.entries.len(), kept, forwarding }))
    }
}

/// The connection to the switch. Each method waits for the answer to its request.
#[derive(Clone, Debug)]
struct Switch {
    client: Client,
}

impl Switch {
    /// Returns the complete forwarding-pipeline configuration that the switch runs.
    async fn pipeline(&mut self) -> Result<v1::ForwardingPipelineConfig, DutError> {
        const WHAT: &str = "GetForwardingPipelineConfig";
        let config = self.client.get_pipeline(ResponseType::All).await;
        let config = config.map_err(|status| DutError::Request {
            what: WHAT,
            cause: format!("{} ({:?})", status.message(), status.code()),
        })?;
        match config.p4_device_config.is_empty() {
            true => Err(DutError::Request {
                what: WHAT,
                cause: "it returns no p4_device_config, so its pipeline could not be put back"
                    .to_owned(),
            }),
            false => Ok(config),
        }
    }

    /// Commits a pipeline. Returns the time until the answer, or the refusal by the switch.
    async fn commit(
        &mut self,
        commit: Commit,
        config: v1::ForwardingPipelineConfig,
    ) -> Result<Result<Duration, Refusal>, DutError> {
        let begin = Instant::now();
        let call = self.client.set_pipeline(commit.action(), Some(config));
        let answer = tokio::time::timeout(PATIENCE, call).await;
        let answer = answer.map_err(|_| DutError::NoAnswer {
            what: "SetForwardingPipelineConfig",
            patience: PATIENCE,
        })?;
        let time = begin.elapsed();
        Ok(match answer {
            Ok(()) => Ok(time),
            Err(status) => Err(Refusal {
                code: format!("{:?}", status.code()),
                message: status.message().to_owned(),
                entry: None,
            }),
        })
    }

    /// Inserts entries into their tables.
    async fn insert(&mut self, entries: &[v1::TableEntry]) -> Result<(), DutError> {
        if entries.is_empty() {
            return Ok(());
        }
        let updates = entries.iter().map(|entry| v1::Update {
            r#type: v1::update::Type::Insert as i32,
            entity: Some(v1::Entity { entity: Some(Kind::TableEntry(entry.clone())) }),
        });
        write_updates(&mut self.client, updates.collect()).await
    }

    /// Returns how many of `entries` are in the switch's tables.
    async fn kept(&mut self, entries: &[v1::TableEntry]) -> Result<usize, DutError> {
        let all = Kind::TableEntry(v1::TableEntry::default());
        let there: HashSet<(u32, Vec<u8>)> = self
            .read(all)
            .await?
            .into_iter()
            .filter_map(|kind| match kind {
                Kind::TableEntry(entry) => Some(identity(&entry)),
                _ => None,
            })
            .collect();
        Ok(entries.iter().filter(|entry| there.contains(&identity(entry))).count())
    }

    /// Returns the number of entities that a commit would delete: table entries, members and groups
    /// of action profiles, multicast groups, and clone sessions.
    async fn occupied(&mut self) -> Result<usize, DutError> {
        let is_written = |kind: &Kind| match kind {
            Kind::TableEntry(entry) => !entry.is_default_action && !entry.is_const,
            _ => true,
        };
        let entries = self.read(Kind::TableEntry(v1::TableEntry::default())).await?;
        let mut count = entries.iter().filter(|kind| is_written(kind)).count();
        let replication = [
            Replication::MulticastGroupEntry(v1::MulticastGroupEntry::default()),
            Replication::CloneSessionEntry(v1::CloneSessionEntry::default()),
        ];
        let replication = replication.map(|one| {
            Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry {
                r#type: Some(one),
            })
        });
        let others = [
            Kind::ActionProfileMember(v1::ActionProfileMember::default()),
            Kind::ActionProfileGroup(v1::ActionProfileGroup::default()),
        ];
        for kind in others.into_iter().chain(replication) {
            // A switch that does not know such entities has none.
            count += self.read(kind).await.map_or(0, |found| found.len());
        }
        Ok(count)
    }

    async fn read(&mut self, kind: Kind) -> Result<Vec<Kind>, DutError> {
        let selected = vec![v1::Entity { entity: Some(kind) }];
        let found = read_entities(&mut self.client, selected).await?;
        Ok(found.into_iter().filter_map(|entity| entity.entity).collect())
    }
}

/// Returns the table and the key of an entry, which together identify it.
fn identity(entry: &v1::TableEntry) -> (u32, Vec<u8>) {
    (entry.table_id, key(entry))
}
