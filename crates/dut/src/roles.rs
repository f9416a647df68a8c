//! Hand-overs between controllers of a P4Runtime switch: how long it takes until another controller
//! may write, and whether the former primary can still write then (P4Runtime 1.5, section 5.3).
//!
//! In each round, a second controller with a higher election id takes over while the primary writes
//! without a pause. Then the second controller leaves, and the first, which has been a backup,
//! becomes primary again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions, Standing, StreamReceiver, WriteError};
use p4runtime::proto::v1::{self, write_request::Atomicity};

use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::session::{Device, P4RuntimeChannel};
use crate::window::{Operation, TIMEOUT};

/// The time for which the primary writes before the second controller takes over.
const BEFORE: Duration = Duration::from_millis(20);
/// The time for which the former primary goes on writing after it was displaced.
const AFTER: Duration = Duration::from_millis(50);

/// The settings of the test of hand-overs between controllers.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of rounds. Each consists of a takeover and a fail-over.
    pub rounds: u32,
}

/// A takeover, in which a second controller with a higher election id displaces the primary. All
/// times count from when the second controller sent its arbitration request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takeover {
    /// The time until the switch notified the second controller that it is the primary.
    pub primary: Duration,
    /// The time until the switch accepted the first write of the second controller.
    pub write: Duration,
    /// The time until the switch notified the first controller that it is a backup; `None` if it
    /// did not in time.
    pub backup: Option<Duration>,
    /// The number of writes that the first controller sent after the switch had notified the second
    /// that it is the primary.
    pub later: u64,
    /// The number of these later writes that the switch accepted although it must refuse them.
    pub accepted: u64,
    /// The time from the notification of the second controller until the last of these wrongly
    /// accepted writes was sent; `None` if there was none.
    pub accepted_for: Option<Duration>,
}

/// A fail-over, in which the primary leaves and its backup becomes primary. All times count from
/// when the primary ended its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailOver {
    /// The time until the switch notified the backup that there is no primary.
    pub notice: Duration,
    /// The time until the switch notified the backup that it is the primary, for which the backup
    /// asked after the first notification.
    pub primary: Duration,
    /// The time until the switch accepted the first write of the new primary.
    pub write: Duration,
}

/// The measured hand-overs.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The takeovers, one for each round.
    pub takeovers: Vec<Takeover>,
    /// The fail-overs, one for each round.
    pub fail_overs: Vec<FailOver>,
}

/// Measures hand-overs between the controller of a session and a second one. At the end the
/// session's controller is the primary again, also after an error if the switch permits it.
/// `numbers` are three entries that are not in the switch.
pub(crate) async fn measure(
    channel: &mut P4RuntimeChannel,
    device: &Device,
    numbers: &[EntryNumber],
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let [own, other, back] = numbers else { return Err(DutError::NoRules) };
    let mut measured = Measured::default();
    for round in 0..settings.rounds {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        progress(round.into(), settings.rounds.into());
        let second = Second::connect(device, channel.election_id()).await?;
        let election_id = second.election_id;
        let found = hand_over(channel, second, [*own, *other, *back]).await;
        if found.is_err() {
            // The tests after this one, and the restoration of the switch, need a primary.
            channel.become_primary_after(election_id).await?;
        }
        let (takeover, fail_over) = found?;
        measured.takeovers.push(takeover);
        measured.fail_overs.push(fail_over);
    }
    Ok(measured)
}

/// The second controller, while it is not connected as a primary.
struct Second {
    client: Client,
    election_id: ElectionId,
}

impl Second {
    async fn connect(device: &Device, primary: ElectionId) -> Result<Self, DutError> {
        let options = ClientOptions { tls: device.tls.clone(), ..ClientOptions::default() };
        let connected = Client::connect(&device.address, device.device_id, &options).await;
        let client = connected.map_err(|error| DutError::Connect {
            address: device.address.clone(),
            cause: error.to_string(),
        })?;
        Ok(Self { client, election_id: ElectionId(primary.0.saturating_add(1)) })
    }
}

async fn hand_over(
    channel: &mut P4RuntimeChannel,
    second: Second,
    [own, other, back]: [EntryNumber; 3],
) -> Result<(Takeover, FailOver), DutError> {
    let updates = |number: EntryNumber| {
        [Operation::Insert, Operation::Delete].map(|one| channel.maker().update(number, one))
    };
    let [first_pair, second_pair, third_pair] = [updates(own), updates(other), updates(back)];
    let [_, cleared] = first_pair.clone();
    let clock = Instant::now();
    let over = Over::default();
    let writer = Writer {
        client: channel.client.clone(),
        updates: first_pair,
        is_over: Arc::clone(&over.0),
        clock,
    };
    let writing = tokio::spawn(writer.write());
    tokio::time::sleep(BEFORE).await;

    let Second { mut client, election_id } = second;
    let begin = clock.elapsed();
    let taking = async {
        let stream = client.become_primary("", election_id, TIMEOUT).await?;
        let primary = clock.elapsed();
        let write = write_until_accepted(&client, &second_pair, clock).await?;
        Ok::<_, DutError>((stream, primary, write))
    };
    let is_backup = |standing| matches!(standing, Standing::Backup { .. });
    let displaced = async {
        let notified = notified(channel.receiver(), is_backup).await;
        notified.is_ok().then(|| clock.elapsed())
    };
    let (taken, backup) = tokio::join!(taking, displaced);
    let (stream, primary, write) = taken?;
    tokio::time::sleep(AFTER).await;
    drop(over);
    let writes = writing
        .await
        .map_err(|error| DutError::Request { what: "Write", cause: error.to_string() })?;
    let later: Vec<&Written> = writes.iter().filter(|one| one.sent > primary).collect();
    let accepted: Vec<&&Written> = later.iter().filter(|one| one.is_accepted).collect();
    let takeover = Takeover {
        primary: primary - begin,
        write: write - begin,
        backup: backup.map(|at| at.saturating_sub(begin)),
        later: later.len() as u64,
        accepted: accepted.len() as u64,
        accepted_for: accepted.last().map(|one| one.sent - primary),
    };

    let begin = clock.elapsed();
    drop(stream);
    let is_none = |standing: Standing| !matches!(standing, Standing::Backup { .. });
    notified(channel.receiver(), is_none).await?;
    let notice = clock.elapsed();
    channel.become_primary_after(election_id).await?;
    let primary = clock.elapsed();
    let write = write_until_accepted(&channel.client, &third_pair, clock).await?;
    let fail_over =
        FailOver { notice: notice - begin, primary: primary - begin, write: write - begin };
    // The displaced primary may have left its entry.
    match channel.client.clone().write(vec![cleared], Atomicity::ContinueOnError).await {
        Ok(()) | Err(WriteError::Updates { .. }) => Ok((takeover, fail_over)),
        Err(error) => Err(failed(&error)),
    }
}

/// A flag that ends the writing thread when it is dropped.
#[derive(Default)]
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A write that the primary sent.
struct Written {
    sent: Duration,
    is_accepted: bool,
}

/// The first controller, as the primary that inserts and deletes an entry again and again.
struct Writer {
    client: Client,
    updates: [v1::Update; 2],
    is_over: Arc<AtomicBool>,
    clock: Instant,
}

impl Writer {
    async fn write(mut self) -> Vec<Written> {
        let mut writes = Vec::new();
        let mut next = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            let sent = self.clock.elapsed();
            let [insert, delete] = &self.updates;
            let update = if next % 2 == 0 { insert } else { delete }.clone();
            let outcome = self.client.write(vec![update], Atomicity::ContinueOnError).await;
            let is_accepted = outcome.is_ok();
            next += usize::from(is_accepted);
            writes.push(Written { sent, is_accepted });
            // An error without a round trip must not keep the other tasks from running.
            tokio::task::yield_now().await;
        }
        writes
    }
}

/// Inserts an entry again and again until the switch accepts it, and then deletes it. Returns the
/// time since `clock` at which the insertion was accepted.
async fn write_until_accepted(
    client: &Client,
    [insert, delete]: &[v1::Update; 2],
    clock: Instant,
) -> Result<Duration, DutError> {
    let mut client = client.clone();
    let begin = Instant::now();
    let accepted = loop {
        match client.write(vec![insert.clone()], Atomicity::ContinueOnError).await {
            Ok(()) => break clock.elapsed(),
            Err(error) if begin.elapsed() > TIMEOUT => return Err(failed(&error)),
            Err(_) => {}
        }
    };
    let deleted = client.write(vec![delete.clone()], Atomicity::ContinueOnError).await;
    deleted.map(|()| accepted).map_err(|error| failed(&error))
}

fn failed(error: &WriteError) -> DutError {
    DutError::Request { what: "Write", cause: error.to_string() }
}

/// Waits until the switch notifies a controller that it has an expected standing, such as primary
/// or backup.
async fn notified(
    receiver: &mut StreamReceiver,
    is_expected: impl Fn(Standing) -> bool,
) -> Result<(), DutError> {
    let hear = async {
        loop {
            match receiver.arbitrated().await {
                Ok(standing) if is_expected(standing) => return Ok(()),
                Ok(_) => {}
                Err(status) => {
                    let cause = format!("{} ({:?})", status.message(), status.code());
                    return Err(DutError::Request { what: "StreamChannel", cause });
                }
            }
        }
    };
    let no_answer = DutError::NoAnswer { what: "StreamChannel", patience: TIMEOUT };
    tokio::time::timeout(TIMEOUT, hear).await.unwrap_or(Err(no_answer))
}
