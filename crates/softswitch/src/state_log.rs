//! The write log of a device: the journal file of controllers' writes, from which the device is
//! restored after a restart.
//!
//! Records are handed to the kernel before the controller is answered, so every accepted request
//! survives the end of the process. A batch survives as a whole or not at all. A separate thread
//! syncs records to the storage medium: within a second, or, with [`Durability::Medium`], before
//! the answer. One sync then serves all answers that wait for it.

use crate::log::{Log, Verbosity};
use crate::record::{self, PAIRS, PIPELINE, QUEUES, Updates, WRITE};
use entities::TranslationPair;
use journal::{AppendError, Disk, Journal, Kind};
use p4runtime::proto::v1::ForwardingPipelineConfig;
use p4runtime::session::{Durable, StateVisitor, WriteLog, Written};
use p4runtime::status::{Code, EntityError};
use prost::Message;
use queues::Configuration;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::watch;

/// The longest time for which a record may be in the kernel's memory only, before it is synced to
/// the storage medium.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The durability of a Write whose controller has been answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The write survives the end of the process. A power failure may lose the writes of the last
    /// second.
    #[default]
    Kernel,
    /// The write is on the storage medium, and also survives a power failure.
    Medium,
}

/// The write log of one device: the journal, and the thread that syncs it to the storage medium.
#[derive(Debug)]
pub(crate) struct StateLog {
    shared: Arc<Shared>,
    durability: Durability,
    synced: watch::Receiver<Synced>,
    thread: Option<JoinHandle<()>>,
}

/// The handle of a write log by which changes of queues are recorded.
#[derive(Debug)]
pub(crate) struct QueueLog {
    shared: Arc<Shared>,
    durability: Durability,
    synced: watch::Receiver<Synced>,
}

/// The state that the log shares with its syncing thread.
#[derive(Debug)]
struct Shared {
    device: u64,
    state: Mutex<State>,
    /// A signal for the syncing thread that there are records to sync, or that the thread must end.
    wake: Condvar,
    log: Arc<Log>,
}

/// The part of the state that a lock protects.
#[derive(Debug)]
struct State {
    journal: Journal<Disk>,
    /// The number of records that were appended since the device started. Records that a rewrite of
    /// the journal has replaced count too.
    appended: u64,
    /// Whether the answer to a controller waits until its record is on the storage medium.
    is_awaited: bool,
    /// Whether the last request was refused because it could not be recorded. The reason is logged
    /// only for the first such request in a row.
    is_refusing: bool,
    has_ended: bool,
    synced: watch::Sender<Synced>,
    /// The body of the last record of queues, which a rewrite of the journal keeps.
    queues: Option<Vec<u8>>,
}

/// The progress of syncing records to the storage medium.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Synced {
    /// The number of appended records that have reached the storage medium.
    UpTo(u64),
    /// The reason why syncing to the storage medium failed.
    Failed(String),
}

impl StateLog {
    /// Starts the write log of a device on an open journal. Either the journal already describes
    /// the device's state, or the caller must write that state next. `queues` are the queues that
    /// the journal records, if any.
    pub(crate) fn start(
        device: u64,
        journal: Journal<Disk>,
        queues: Option<&Configuration>,
        durability: Durability,
        log: Arc<Log>,
    ) -> io::Result<Self> {
        let (sender, synced) = watch::channel(Synced::UpTo(0));
        let state = State {
            journal,
            appended: 0,
            is_awaited: false,
            is_refusing: false,
            has_ended: false,
            synced: sender,
            queues: queues.map(record::queues),
        };
        let shared =
            Arc::new(Shared { device, state: Mutex::new(state), wake: Condvar::new(), log });
        let syncing = Arc::clone(&shared);
        let thread = thread::Builder::new().name("state".to_owned());
        let thread = Some(thread.spawn(move || syncing.sync_until_the_end())?);
        Ok(Self { shared, durability, synced, thread })
    }

    /// Returns a handle by which changes of queues are recorded.
    pub(crate) fn queues(&self) -> QueueLog {
        let (shared, synced) = (Arc::clone(&self.shared), self.synced.clone());
        QueueLog { shared, durability: self.durability, synced }
    }
}

impl QueueLog {
    /// Records the queues of all ports.
    pub(crate) fn append(&self, queues: &Configuration) -> Result<(), EntityError> {
        let body = record::queues(queues);
        // With one lock, no rewrite of the journal loses the record.
        let mut state = self.shared.lock();
        self.shared.append_to(&mut state, QUEUES, &body)?;
        state.queues = Some(body);
        Ok(())
    }

    /// Returns a future that completes when all records so far are on the storage medium, or `None`
    /// if clients are answered without waiting for that.
    pub(crate) fn durable(&self) -> Option<Durable> {
        self.shared.durable(self.durability, &self.synced)
    }
}

impl WriteLog for StateLog {
    fn append(&mut self, written: Written<'_>) -> Result<(), EntityError> {
        let Written { updates, outcomes, encoded, pairs } = written;
        if !pairs.is_empty() {
            // Pairs whose updates are not recorded after all have no effect.
            self.shared.append(PAIRS, &record::pairs::encode(pairs))?;
        }
        if let Some(encoded) = encoded
            && written.is_accepted()
            && updates.iter().all(record::is_kept_whole)
        {
            return self.shared.append(WRITE, encoded);
        }
        let mut kept = Updates::default();
        let accepted = updates.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
        accepted.for_each(|(update, _)| kept.push(update));
        let Some(body) = kept.take() else { return Ok(()) };
        self.shared.append(WRITE, &body)
    }

    fn begin(&mut self, config: ForwardingPipelineConfig) -> Result<(), EntityError> {
        self.shared.append(PIPELINE, &config.encode_to_vec())
    }

    fn replace(
        &mut self,
        config: ForwardingPipelineConfig,
        pairs: &[TranslationPair],
        visit: &mut StateVisitor<'_>,
    ) -> Result<(), EntityError> {
        let mut unreadable = None;
        let mut state = self.shared.lock();
        let queues = state.queues.clone();
        let replaced = state.journal.replace(|append| {
            if let Some(queues) = &queues {
                append(QUEUES, queues)?;
            }
            append(PIPELINE, &config.encode_to_vec())?;
            if !pairs.is_empty() {
                append(PAIRS, &record::pairs::encode(pairs))?;
            }
            let (mut updates, mut outcome) = (Updates::default(), Ok(()));
            let visited = visit(&mut |update| {
                updates.push(&update);
                if updates.is_full()
                    && outcome.is_ok()
                    && let Some(body) = updates.take()
                {
                    outcome = append(WRITE, &body);
                }
            });
            outcome?;
            if let Err(error) = visited {
                let message = error.message().to_owned();
                unreadable = Some(error);
                return Err(AppendError::Owner(message));
            }
            updates.take().map_or(Ok(()), |body| append(WRITE, &body))
        });
        match (replaced, unreadable) {
            (Ok(()), _) => {
                let all = state.appended;
                state.synced.send_replace(Synced::UpTo(all));
                state.is_refusing = false;
                Ok(())
            }
            (Err(_), Some(error)) => Err(error),
            (Err(error), None) => Err(self.shared.refusal(&mut state, &error)),
        }
    }

    fn is_long(&self) -> bool {
        self.shared.lock().journal.is_long()
    }

    fn not_replaced(&mut self, error: &EntityError) {
        let message = format_args!(
            "device {}: its state file keeps growing, since it cannot be compacted: {}",
            self.shared.device,
            error.message()
        );
        self.shared.log.line(Verbosity::Warn, message);
    }

    fn durable(&self) -> Option<Durable> {
        self.shared.durable(self.durability, &self.synced)
    }
}

impl Drop for StateLog {
    fn drop(&mut self) {
        self.shared.lock().has_ended = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread has logged its errors itself.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a future that completes when all records so far are on the storage medium. Returns
    /// `None` if they are already there, or if clients are answered without waiting for that.
    fn durable(&self, durability: Durability, synced: &watch::Receiver<Synced>) -> Option<Durable> {
        if durability == Durability::Kernel {
            return None;
        }
        let mut state = self.lock();
        let wanted = state.appended;
        let is_there = move |synced: &Synced| match synced {
            Synced::UpTo(count) => *count >= wanted,
            Synced::Failed(_) => true,
        };
        if *synced.borrow() == Synced::UpTo(wanted) {
            return None;
        }
        state.is_awaited = true;
        self.wake.notify_one();
        let mut synced = synced.clone();
        Some(Box::pin(async move {
            let reason = match synced.wait_for(is_there).await.as_deref() {
                Ok(Synced::UpTo(_)) => return Ok(()),
                Ok(Synced::Failed(reason)) => reason.clone(),
                Err(_) => "the switch ends".to_owned(),
            };
            let message = format!(
                "It took effect, but a power failure may lose it, because it could not be written to the disk: \
                 {reason}"
            );
            Err(EntityError::new(Code::Unavailable, message))
        }))
    }

    fn append(&self, kind: Kind, body: &[u8]) -> Result<(), EntityError> {
        self.append_to(&mut self.lock(), kind, body)
    }

    fn append_to(&self, state: &mut State, kind: Kind, body: &[u8]) -> Result<(), EntityError> {
        if let Err(error) = state.journal.append(kind, body) {
            return Err(self.refusal(state, &error));
        }
        state.appended += 1;
        state.is_refusing = false;
        Ok(())
    }

    /// Returns the error for a request that is refused because it could not be recorded. Of several
    /// consecutive failures, only the first is logged.
    fn refusal(&self, state: &mut State, error: &AppendError) -> EntityError {
        if !std::mem::replace(&mut state.is_refusing, true) {
            let message = format_args!("device {}: writes are refused: {error}", self.device);
            self.log.line(Verbosity::Error, message);
        }
        let message = format!("It was undone, because it cannot be stored for a restart: {error}");
        EntityError::new(Code::Unavailable, message)
    }

    fn sync_until_the_end(&self) {
        let mut state = self.lock();
        loop {
            let waited = self.wake.wait_timeout_while(state, SYNC_EVERY, |state| {
                !state.is_awaited && !state.has_ended
            });
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let has_ended = state.has_ended;
            state = self.sync(state);
            if has_ended {
                return;
            }
        }
    }

    fn sync<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.is_awaited = false;
        let reached = state.appended;
        let job = match state.journal.begin_sync() {
            Ok(Some(job)) => job,
            Ok(None) => return state,
            Err(error) => {
                self.report_failure(&state, &error.to_string());
                return state;
            }
        };
        drop(state);
        let outcome = job.run();
        let mut state = self.lock();
        match state.journal.end_sync(&job, outcome) {
            Ok(()) => {
                state.synced.send_if_modified(|synced| match synced {
                    Synced::UpTo(count) if *count >= reached => false,
                    // After a failure that does not close the journal, a later sync may succeed.
                    Synced::UpTo(_) | Synced::Failed(_) => {
                        *synced = Synced::UpTo(reached);
                        true
                    }
                });
            }
            Err(error) => self.report_failure(&state, &error.to_string()),
        }
        state
    }

    fn report_failure(&self, state: &State, reason: &str) {
        let message = format_args!(
            "device {}: a power failure may lose the last writes: {reason}",
            self.device
        );
        self.log.line(Verbosity::Error, message);
        state.synced.send_replace(Synced::Failed(reason.to_owned()));
    }
}
